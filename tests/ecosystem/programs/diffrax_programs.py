"""Differential equations with diffrax."""

from __future__ import annotations

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp


def _solve(rate, **options):
    term = diffrax.ODETerm(lambda t, y, rate: -rate * y + jnp.sin(t))
    return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 2.0, 0.1, jnp.array([1.0, 2.0]), args=rate, **options)


def fixed_steps():
    return _solve(1.5).ys


def adaptive_steps():
    controller = diffrax.PIDController(rtol=1e-5, atol=1e-5)
    return _solve(1.5, stepsize_controller=controller, saveat=diffrax.SaveAt(ts=jnp.linspace(0, 2, 5))).ys


def gradient_by_checkpoints():
    return jax.grad(lambda r: _solve(r).ys.sum())(1.5)


def gradient_by_adjoint_equation():
    return jax.grad(lambda r: _solve(r, adjoint=diffrax.BacksolveAdjoint()).ys.sum())(1.5)


def stiff_implicit():
    term = diffrax.ODETerm(lambda t, y, args: -50.0 * (y - jnp.cos(t)))
    controller = diffrax.PIDController(rtol=1e-4, atol=1e-4)
    return diffrax.diffeqsolve(
        term, diffrax.Kvaerno3(), 0.0, 1.0, 0.01, jnp.array(0.0), stepsize_controller=controller
    ).ys


def stochastic():
    motion = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=jax.random.key(0))
    terms = diffrax.MultiTerm(diffrax.ODETerm(lambda t, y, a: -y), diffrax.ControlTerm(lambda t, y, a: 0.1, motion))
    return diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.05, jnp.array(1.0)).ys


def neural_equation():
    field = eqx.nn.MLP(2, 2, 8, 1, key=jax.random.key(0))
    term = diffrax.ODETerm(lambda t, y, field: field(y))

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(field):
        return diffrax.diffeqsolve(term, diffrax.Heun(), 0.0, 1.0, 0.1, jnp.ones(2), args=field).ys.sum()

    return eqx.filter(gradient(field), eqx.is_array)


def batch_of_solutions():
    return jax.vmap(lambda r: _solve(r).ys)(jnp.array([0.5, 1.0, 2.0]))


def event():
    term = diffrax.ODETerm(lambda t, y, args: jnp.array([y[1], -9.8]))
    stop = diffrax.Event(lambda t, y, args, **kwargs: y[0] < 0)
    solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 10.0, 0.05, jnp.array([5.0, 0.0]), event=stop)
    return solution.ys, solution.ts
