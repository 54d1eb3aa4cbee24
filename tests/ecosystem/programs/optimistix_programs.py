"""Roots, minima and least squares with optimistix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optimistix as optx


def root():
    return optx.root_find(lambda y, a: y - jnp.tanh(y + a), optx.Newton(1e-5, 1e-5), jnp.array(0.5), args=1.0).value


def root_gradient():
    f = lambda a: optx.root_find(lambda y, a: y**2 - a, optx.Newton(1e-6, 1e-6), jnp.array(1.0), args=a).value
    return f(2.0), jax.grad(f)(2.0)


def chord_and_bisection():
    f = lambda y, a: y**3 - 2.0
    bisected = optx.root_find(f, optx.Bisection(1e-5, 1e-5), jnp.array(1.0), options={"lower": 0.0, "upper": 2.0}).value
    return optx.root_find(f, optx.Chord(1e-5, 1e-5), jnp.array(1.2), max_steps=100).value, bisected


def minimum():
    rosenbrock = lambda y, _: (1 - y[0]) ** 2 + 10 * (y[1] - y[0] ** 2) ** 2
    return optx.minimise(rosenbrock, optx.BFGS(1e-5, 1e-5), jnp.zeros(2)).value


def nelder_mead():
    return optx.minimise(lambda y, _: jnp.sum((y - 2.0) ** 2), optx.NelderMead(1e-4, 1e-4), jnp.zeros(2)).value


def least_squares():
    x = jnp.linspace(0, 1, 10)
    residual = lambda p, _: p[0] * jnp.exp(-p[1] * x) - 2.0 * jnp.exp(-1.5 * x)
    solvers = (optx.LevenbergMarquardt(1e-6, 1e-6), optx.GaussNewton(1e-6, 1e-6), optx.Dogleg(1e-6, 1e-6))
    return [optx.least_squares(residual, solver, jnp.array([1.0, 1.0])).value for solver in solvers]


def fixed_point():
    return optx.fixed_point(
        lambda y, a: jnp.cos(y * a), optx.FixedPointIteration(1e-5, 1e-5), jnp.array(0.5), args=0.9
    ).value
