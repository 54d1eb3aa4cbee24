"""Optimization with jaxopt."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jaxopt


def _loss(w, data):
    x, y = data
    return jnp.mean((x @ w - y) ** 2) + 0.1 * jnp.sum(w**2)


def _data():
    x = jax.random.normal(jax.random.key(0), (20, 3))
    return x, x @ jnp.array([1.0, -2.0, 0.5])


def gradient_descent():
    return jaxopt.GradientDescent(_loss, maxiter=50).run(jnp.zeros(3), data=_data()).params


def lbfgs():
    return jaxopt.LBFGS(_loss, maxiter=30).run(jnp.zeros(3), data=_data()).params


def proximal_gradient():
    loss = lambda w, data: jnp.mean((data[0] @ w - data[1]) ** 2)
    solver = jaxopt.ProximalGradient(loss, jaxopt.prox.prox_lasso, maxiter=50)
    return solver.run(jnp.zeros(3), hyperparams_prox=0.1, data=_data()).params


def implicit_gradient():
    def ridge(penalty):
        loss = lambda w, penalty: jnp.mean((_data()[0] @ w - _data()[1]) ** 2) + penalty * jnp.sum(w**2)
        return jaxopt.GradientDescent(loss, maxiter=200, implicit_diff=True).run(jnp.zeros(3), penalty).params.sum()

    return jax.grad(ridge)(0.5)


def projections():
    x = jnp.array([0.5, 1.2, -0.3])
    return (
        jaxopt.projection.projection_simplex(x),
        jaxopt.projection.projection_l1_ball(x, 1.0),
        jaxopt.projection.projection_l2_ball(x, 0.5),
    )


def quadratic_program():
    q, c = jnp.array([[2.0, 0.5], [0.5, 1.0]]), jnp.array([1.0, 1.0])
    a, b = jnp.array([[1.0, 1.0]]), jnp.array([1.0])
    return jaxopt.EqualityConstrainedQP().run(params_obj=(q, c), params_eq=(a, b)).params.primal


def bisection():
    return jaxopt.Bisection(lambda x: x**3 - x - 2, 1.0, 2.0).run().params


def levenberg_marquardt():
    x = jnp.linspace(0, 1, 10)
    residual = lambda p: p[0] * jnp.exp(-p[1] * x) - 2.0 * jnp.exp(-1.5 * x)
    return jaxopt.LevenbergMarquardt(residual, maxiter=30).run(jnp.array([1.0, 1.0])).params
