"""Differential equations, linear systems and solvers: diffrax, lineax, optimistix, jaxopt."""

from __future__ import annotations

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jaxopt
import lineax as lx
import numpy as np
import optax
import optimistix as optx


def _normal(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def diffrax_neural_equation_reverse_mode():
    class Field(eqx.Module):
        mlp: eqx.nn.MLP

        def __call__(self, t, y, args):
            return self.mlp(y)

    model = Field(eqx.nn.MLP(2, 2, 32, 2, jax.nn.softplus, final_activation=jnp.tanh, key=jax.random.key(0)))
    times = jnp.linspace(0.0, 2.0, 10)
    start = _normal(0, 16, 2)
    target = jnp.stack([jnp.cos(times), -jnp.sin(times)], -1)
    optimizer = optax.adabelief(3e-3)

    def solve(model, y):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(model), diffrax.Tsit5(), times[0], times[-1], 0.1, y, saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
        ).ys  # fmt: skip

    def loss(model):
        return jnp.mean((jax.vmap(solve, (None, 0))(model, start) - target) ** 2)

    @eqx.filter_jit
    def step(state):
        model, moments = state
        value, gradients = eqx.filter_value_and_grad(loss)(model)
        updates, moments = optimizer.update(gradients, moments)
        return (eqx.apply_updates(model, updates), moments), value

    return step, (model, optimizer.init(eqx.filter(model, eqx.is_inexact_array)))


def diffrax_adaptive_solution():
    def lorenz(t, y, args):
        s, r, b = args
        return jnp.stack([s * (y[1] - y[0]), y[0] * (r - y[2]) - y[1], y[0] * y[1] - b * y[2]])

    @jax.jit
    def step(y):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lorenz), diffrax.Dopri5(), 0.0, 0.5, 0.01, y, args=(10.0, 28.0, 8 / 3),
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4),
        )  # fmt: skip
        return y, solution.ys[-1]

    return step, jnp.array([1.0, 1.0, 1.0])


def diffrax_stiff_implicit():
    def robertson(t, y, args):
        a, b, c = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2, 0.0
        return jnp.stack([a, -a - b, b + c])

    @jax.jit
    def step(y):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(robertson), diffrax.Kvaerno5(), 0.0, 10.0, 2e-4, y,
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6), max_steps=2000,
        )  # fmt: skip
        return y, solution.ys[-1]

    return step, jnp.array([1.0, 0.0, 0.0])


def diffrax_stochastic_equation():
    def path(key):
        motion = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-3, shape=(), key=key)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: -y), diffrax.ControlTerm(lambda t, y, args: 0.3 * y, motion)
        )
        return diffrax.diffeqsolve(terms, diffrax.Euler(), 0.0, 1.0, 0.05, 1.0).ys[-1]

    @jax.jit
    def step(key):
        key, now = jax.random.split(key)
        return key, jax.vmap(path)(jax.random.split(now, 32)).mean()

    return step, jax.random.key(0)


def lineax_solutions_and_gradient():
    matrix, target = _normal(0, 32, 32) + 8 * jnp.eye(32), _normal(1, 32)

    def loss(matrix):
        return jnp.sum(lx.linear_solve(lx.MatrixLinearOperator(matrix), target).value ** 2)

    @jax.jit
    def step(matrix):
        value, gradient = jax.value_and_grad(loss)(matrix)
        return matrix - 0.1 * gradient, value

    return step, matrix


def lineax_conjugate_gradients():
    diagonal, target = jnp.linspace(1.0, 5.0, 256), _normal(0, 256)

    @jax.jit
    def step(diagonal):
        def apply(x):
            return diagonal * x - 0.3 * (jnp.roll(x, 1) + jnp.roll(x, -1))

        operator = lx.FunctionLinearOperator(
            apply, jax.ShapeDtypeStruct((256,), jnp.float32), lx.positive_semidefinite_tag
        )
        return diagonal, lx.linear_solve(operator, target, lx.CG(rtol=1e-5, atol=1e-5)).value

    return step, diagonal


def optimistix_newton_root():
    matrix = _normal(0, 16, 16) / 8

    @jax.jit
    def step(y):
        solver = optx.Newton(rtol=1e-5, atol=1e-5)
        return y, optx.root_find(lambda y, args: y - jnp.tanh(matrix @ y + 1), solver, y).value

    return step, jnp.zeros(16)


def optimistix_levenberg_marquardt():
    x = jnp.linspace(0.0, 3.0, 50)
    y = 2.5 * jnp.exp(-1.3 * x) + 0.5

    @jax.jit
    def step(start):
        def residuals(p, args):
            return p[0] * jnp.exp(-p[1] * x) + p[2] - y

        solver = optx.LevenbergMarquardt(rtol=1e-5, atol=1e-5)
        return start, optx.least_squares(residuals, solver, start).value

    return step, jnp.ones(3)


def optimistix_bfgs():
    @jax.jit
    def step(start):
        def rosenbrock(y, args):
            return jnp.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2)

        return start, optx.minimise(rosenbrock, optx.BFGS(rtol=1e-4, atol=1e-4), start, max_steps=500).value

    return step, jnp.zeros(4)


def jaxopt_lbfgs():
    x, y = _normal(0, 128, 16), jnp.sign(_normal(1, 128))

    def loss(w, penalty):
        return jnp.mean(jax.nn.softplus(-y * (x @ w))) + penalty * w @ w

    solver = jaxopt.LBFGS(loss, maxiter=30)

    @jax.jit
    def step(w):
        return w, solver.run(w, penalty=0.01).params

    return step, jnp.zeros(16)


def jaxopt_implicit_gradient():
    x, y = _normal(0, 64, 8), _normal(1, 64)

    def loss(w, penalty):
        return jnp.mean((x @ w - y) ** 2) + penalty * w @ w

    solver = jaxopt.GradientDescent(loss, maxiter=100, implicit_diff=True)

    @jax.jit
    def step(penalty):
        def outer(penalty):
            return jnp.mean((x[:16] @ solver.run(jnp.zeros(8), penalty).params - y[:16]) ** 2)

        value, gradient = jax.value_and_grad(outer)(penalty)
        return penalty - 0.01 * gradient, value

    return step, jnp.array(0.1)
