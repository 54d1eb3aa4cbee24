"""odeint against closed forms and jax.experimental.ode, with gradients by difference quotients."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.experimental.ode import odeint
from needs import needed

TIMES = np.array([0.0, 0.3, 0.5, 1.7, 2.0])
TIGHT = {"rtol": 1e-9, "atol": 1e-9}


def pendulum(y, t, length):
    return cnp.stack([y[1], -9.81 / length * cnp.sin(y[0])])


def test_closed_forms():
    y = odeint(lambda y, t: -2.0 * t * y, np.float64(3.0), TIMES, **TIGHT)
    np.testing.assert_allclose(y, 3 * np.exp(-(TIMES**2)), rtol=1e-7)
    rotation = odeint(lambda z, t: 1j * z, np.complex128(1.0), TIMES, **TIGHT)
    np.testing.assert_allclose(rotation, np.exp(1j * TIMES), rtol=1e-7)
    single = odeint(lambda y, t: -y, 1.0, TIMES.astype(np.float32), rtol=1e-5, atol=1e-5)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.exp(-TIMES), rtol=1e-4)


def test_pytrees():
    start = {"a": np.ones((2, 2)), "b": [np.float64(2.0)]}
    y = odeint(lambda y, t: {"a": -y["a"], "b": [y["a"].sum()]}, start, TIMES, **TIGHT)
    assert y["a"].shape == (5, 2, 2) and y["b"][0].shape == (5,)
    np.testing.assert_allclose(y["a"][:, 0, 1], np.exp(-TIMES), rtol=1e-7)
    np.testing.assert_allclose(y["b"][0], 2 + 4 * (1 - np.exp(-TIMES)), rtol=1e-7)


def test_derivatives_in_another_structure():
    path = odeint(pendulum, np.array([1.2, 0.0]), TIMES, np.float64(1.5), **TIGHT)
    of_list = odeint(lambda y, t: [y[1], -9.81 / 1.5 * cnp.sin(y[0])], np.array([1.2, 0.0]), TIMES, **TIGHT)
    of_array = odeint(lambda y, t: pendulum(y, t, 1.5), [np.float64(1.2), np.float64(0.0)], TIMES, **TIGHT)
    np.testing.assert_allclose(of_list, path, rtol=1e-9)
    np.testing.assert_allclose(np.stack(of_array, 1), path, rtol=1e-9)


def test_precision_of_times_and_state():
    single = odeint(lambda y, t: -y * t, np.float32(1.0), TIMES, rtol=1e-5, atol=1e-5)
    assert single.dtype == np.float32
    number = odeint(lambda y, t: -y, 1.0, TIMES, **TIGHT)
    assert number.dtype == np.float64
    np.testing.assert_allclose(number, np.exp(-TIMES), rtol=1e-7)
    slope = ct.grad(lambda rate: odeint(lambda y, t: -rate * y, 1.0, TIMES, rtol=1e-6, atol=1e-6)[-1])(0.5)
    np.testing.assert_allclose(slope, -2 * np.exp(-1.0), rtol=1e-4)


def test_against_jax():
    jax_ode = needed("jax.experimental.ode")
    import jax
    import jax.numpy as jnp

    start, times = np.array([1.2, 0.0], np.float32), TIMES.astype(np.float32)
    options = {"rtol": 1e-6, "atol": 1e-6}
    theirs = lambda y, t, l: jnp.stack([y[1], -9.81 / l * jnp.sin(y[0])])  # noqa: E731
    np.testing.assert_allclose(
        odeint(pendulum, start, times, 1.5, **options), jax_ode.odeint(theirs, start, times, 1.5, **options), atol=2e-4
    )
    gradients = jax.grad(lambda *a: (jax_ode.odeint(theirs, *a, **options) ** 2).sum(), argnums=(0, 1, 2))(
        start, times, 1.5
    )
    ours = ct.grad(lambda *a: (odeint(pendulum, *a, **options) ** 2).sum(), argnums=(0, 1, 2))(start, times, 1.5)
    for a, b in zip(ours, gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


def test_gradients():
    start = np.array([1.2, 0.0])

    def loss(start, times, length):
        return (odeint(pendulum, start, times, length, **TIGHT) * np.arange(10.0).reshape(5, 2)).sum()

    values = (start, TIMES, np.float64(1.5))
    gradients = ct.jit(ct.grad(loss, argnums=(0, 1, 2)))(*values)
    for number, (value, gradient) in enumerate(zip(values, gradients, strict=True)):
        for index in np.ndindex(np.shape(value)):
            ends = []
            for step in (1e-5, -1e-5):
                moved = np.array(value)
                moved[index] += step
                ends.append(float(loss(*values[:number], moved, *values[number + 1 :])))
            slope = (ends[0] - ends[1]) / 2e-5
            assert float(np.asarray(gradient)[index]) == pytest.approx(slope, rel=1e-4, abs=1e-5)


def test_gradients_reach_what_the_dynamics_close_over():
    def final(rate):
        return odeint(lambda y, t: -rate * y, np.float64(1.0), TIMES, **TIGHT)[-1]

    assert float(ct.grad(final)(np.float64(0.5))) == pytest.approx(-2 * np.exp(-1.0), rel=1e-6)
    assert float(ct.jit(ct.grad(final))(np.float64(0.5))) == pytest.approx(-2 * np.exp(-1.0), rel=1e-6)


def test_batches():
    rates = np.array([0.1, 1.0, 20.0])
    solve = lambda rate: odeint(lambda y, t: -rate * y, np.float64(1.0), TIMES, **TIGHT)  # noqa: E731
    np.testing.assert_allclose(ct.vmap(solve)(rates), np.exp(-rates[:, None] * TIMES), rtol=1e-6, atol=1e-9)
    gradients = ct.vmap(ct.grad(lambda rate: solve(rate)[1]))(rates)
    np.testing.assert_allclose(gradients, -0.3 * np.exp(-rates * 0.3), rtol=1e-5, atol=1e-9)


def test_a_step_limit_and_an_explosion_end():
    assert np.isfinite(odeint(lambda y, t: -y, 1.0, TIMES.astype(np.float32), mxstep=3)).all()
    y = odeint(lambda y, t: y**2, np.float64(1.0), np.array([0.0, 2.0]), mxstep=200)
    assert y.shape == (2,)


def test_errors():
    with pytest.raises(ct.errors.DTypeError, match="y0"):
        odeint(lambda y, t: y, 1, TIMES)
    with pytest.raises(ct.errors.ShapeError, match="shape"):
        odeint(lambda y, t: cnp.stack([y, y]), 1.0, TIMES)
    with pytest.raises(TypeError, match="structure"):
        odeint(lambda y, t: (y, y), 1.0, TIMES)
    with pytest.raises(ct.errors.ShapeError, match="t must"):
        odeint(lambda y, t: y, 1.0, 1.0)


def test_times_that_decrease_are_refused_and_time_goes_backwards_by_the_negative():
    with pytest.raises(ValueError, match=r"t must increase; t\[2\] is 0\.5, after 1\.0\n.*-func"):
        odeint(lambda y, t: -y, 1.0, np.array([0.0, 1.0, 0.5]))
    assert odeint(lambda y, t: -y, 1.0, np.array([0.0, 0.0, 1.0]))[1] == 1.0
    times = np.array([1.0, 0.0])
    back = odeint(lambda y, s: y, 1.0, -times)
    np.testing.assert_allclose(back[-1], np.e, rtol=1e-6)
