"""Derivatives where a factor of the chain rule has no bound: finite where the program's meaning is clear."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

INF, NAN = np.inf, np.nan


def gradient(f, x):
    """Of the sum, the same by both modes, eager and compiled."""
    x = np.asarray(x, np.float64)

    def total(y):
        return cnp.sum(f(y))

    reverse = np.asarray(ct.grad(total)(x))
    np.testing.assert_array_equal(np.asarray(ct.jit(ct.grad(total))(x)), reverse)
    np.testing.assert_array_equal(np.asarray(ct.jacfwd(total)(x)), reverse)
    return reverse


# name, function, point, gradient
CASES = [
    # What `where` does not choose has no influence, whatever its value or slope.
    ("sqrt", lambda x: cnp.where(x > 0, cnp.sqrt(x), 0), [-1.0, 0.0, 4.0], [0, 0, 0.25]),
    ("log", lambda x: cnp.where(x > 0, cnp.log(x), 0), [-1.0, 0.0, 4.0], [0, 0, 0.25]),
    ("reciprocal", lambda x: cnp.where(x != 0, 1 / x, 0), [0.0, 2.0], [0, -0.25]),
    ("exp overflows", lambda x: cnp.where(x < 9, cnp.exp(x), 9), [0.0, 1e4], [1, 0]),
    ("power", lambda x: cnp.where(x > 0, x**0.5, x**2), [-1.0, 0.0, 4.0], [-2, 0, 0.25]),
    ("arcsin", lambda x: cnp.where(cnp.abs(x) < 1, cnp.arcsin(x), x), [-1.0, 0.0, 1.0], [1, 1, 1]),
    ("arctanh", lambda x: cnp.where(cnp.abs(x) < 1, cnp.arctanh(x), 0), [-1.0, 0.0, 1.0], [0, 1, 0]),
    ("log of log", lambda x: cnp.where(x > 1, cnp.log(cnp.log(x)), 0), [0.0, 1.0, np.e], [0, 0, 1 / np.e]),
    ("factor NaN", lambda x: cnp.where(np.array([True, False]), x * np.array([2.0, NAN]), 0), [1.0, 1.0], [2, 0]),
    ("factor inf", lambda x: cnp.where(np.array([True, False]), x * np.array([2.0, INF]), 0), [1.0, 1.0], [2, 0]),
    ("shared factor", lambda w: cnp.where(np.array([True, False]), w * np.array([3.0, NAN]), 0), 2.0, 3),
    ("nested", lambda x: cnp.where(x > 0, cnp.where(x < 1, cnp.sqrt(x), cnp.log(x - 1)), 0), [-1.0, 0.25, 1.5, 2.0], [0, 1, 2, 1]),
    ("both sides", lambda x: cnp.where(x > 0, cnp.sqrt(x), -cnp.sqrt(-x)), [-4.0, 4.0], [0.25, 0.25]),
    ("piecewise", lambda x: cnp.piecewise(x, [x > 0], [cnp.log, 0]), [-1.0, 0.0, 2.0], [0, 0, 0.5]),
    ("select", lambda x: cnp.select([x > 1, x > 0], [cnp.sqrt(x - 1), cnp.log(x)], 0), [-1.0, 0.5, 1.0, 2.0], [0, 2, 1, 0.5]),
    # A zero that something else cut off stays zero.
    ("slice", lambda x: cnp.sqrt(x)[1:], [0.0, 4.0], [0, 0.25]),
    ("index", lambda x: cnp.log(x)[np.array([1, 1])], [0.0, 4.0], [0, 0.5]),
    ("take along", lambda x: cnp.take_along_axis(cnp.sqrt(x), np.array([1]), 0), [0.0, 4.0], [0, 0.25]),
    ("times 0 rows", lambda x: cnp.where(np.array([[False], [True]]), x / cnp.sqrt(cnp.sum(x * x, 1, keepdims=True)), 0)[:, 0],
     [[0.0, 0.0], [0.0, 2.0]], [[0, 0], [0.5, 0]]),
    # Norms: even functions have derivative zero at zero.
    ("norm", lambda x: cnp.sqrt(cnp.sum(x * x)), [0.0, 0.0], [0, 0]),
    ("norm of squares", lambda x: cnp.sqrt(cnp.sum(x**2)), [0.0, 0.0], [0, 0]),
    ("norm by square", lambda x: cnp.sqrt(cnp.sum(cnp.square(x))), [0.0, 0.0], [0, 0]),
    ("norm by dot", lambda x: cnp.sqrt(x @ x), [0.0, 0.0], [0, 0]),
    ("norms by einsum", lambda x: cnp.sqrt(cnp.einsum("ij,ij->i", x, x)), [[0.0, 0.0], [3.0, 4.0]], [[0, 0], [0.6, 0.8]]),
    ("4-norm", lambda x: cnp.sum(x**4) ** 0.25, [0.0, 0.0], [0, 0]),
    ("hypot", lambda x: cnp.hypot(x[0], x[1]), [0.0, 0.0], [0, 0]),
    ("root of magnitude", lambda x: cnp.sqrt(cnp.abs(x)), 0.0, 0),
    ("x / norm where not 0", lambda x: (lambda n: cnp.where(n > 0, x / n, 0))(cnp.sqrt(cnp.sum(x * x)))[0], [0.0, 0.0], [0, 0]),
    ("std of equal numbers", lambda x: cnp.std(x), [2.0, 2.0, 2.0], [0, 0, 0]),
    # Ties, kinks and steps.
    ("abs", cnp.abs, [-2.0, 0.0, 3.0], [-1, 0, 1]),
    ("maximum", lambda x: cnp.maximum(x, 0), [-1.0, 0.0, 1.0], [0, 0.5, 1]),
    ("max", cnp.max, [1.0, 2.0, 2.0], [0, 0.5, 0.5]),
    ("min", cnp.min, [1.0, 1.0, 2.0], [0.5, 0.5, 0]),
    ("root of relu", lambda x: cnp.sqrt(cnp.maximum(x, 0)), [-1.0, 4.0], [0, 0.25]),
    ("root of max", lambda x: cnp.sqrt(cnp.max(x)), [-1.0, 4.0], [0, 0.25]),
    ("sign", cnp.sign, [-1.0, 0.0, 1.0], [0, 0, 0]),
    ("clip", lambda x: cnp.sqrt(cnp.clip(x, 0, 9)), [-1.0, 4.0, 16.0], [0, 0.25, 0]),
    # Powers at 0.
    ("0**0", lambda x: x**0, 0.0, 0),
    ("0**1", lambda x: x**1, 0.0, 1),
    ("0**2", lambda x: x**2, 0.0, 0),
    ("0**3", lambda x: x**3, 0.0, 0),
    ("0.0**0.0 by x", lambda x: cnp.power(x, np.float64(0)), 0.0, 0),
    ("0.0**1.0 by x", lambda x: cnp.power(x, np.float64(1)), 0.0, 1),
    ("0.0**2.5 by x", lambda x: cnp.power(x, np.float64(2.5)), 0.0, 0),
    ("0.0**y by y", lambda y: cnp.power(np.float64(0), y), [0.5, 2.0], [0, 0]),
    ("sinc", cnp.sinc, [0.0, 1.0], [0, -1]),
    ("arctan2 by y", lambda y: cnp.arctan2(y, np.zeros(2)), [0.0, 2.0], [0, 0]),
    ("arctan2 by x", lambda x: cnp.arctan2(np.array([0.0, 2.0]), x), [0.0, 0.0], [0, -0.5]),
    ("arctan2 tiny", lambda x: cnp.arctan2(np.array([1e-200, 1e200]), x), [0.0, 0.0], [-1e200, -1e-200]),
    # Rows of minus infinity.
    ("logaddexp", lambda x: cnp.logaddexp(x, -INF), [-INF, 1.0], [0.5, 1]),
    ("logsumexp", lambda x: ct.nn.logsumexp(x, axis=1), [[-INF, -INF], [-INF, 1.0]], [[0, 0], [0, 1]]),
    ("softmax", lambda x: ct.nn.softmax(x, axis=1)[1:, 1:], [[-INF, -INF], [-INF, 1.0]], [[0, 0], [0, 0]]),
    ("logsumexp.reduce", lambda x: cnp.logaddexp.reduce(x), [-INF, -INF], [0, 0]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "f", "point", "expected"), CASES, ids=[case[0] for case in CASES])
def test_gradient(name, f, point, expected):
    np.testing.assert_allclose(gradient(f, point), expected, rtol=1e-12)


def test_what_has_no_bound_is_infinite():
    for f, point in [(cnp.sqrt, 0.0), (cnp.log, 0.0), (lambda x: x**0.5, 0.0), (cnp.arcsin, 1.0), (cnp.cbrt, 0.0)]:
        assert float(ct.grad(f)(np.float64(point))) == INF
    assert float(ct.grad(lambda x: 1 / x)(np.float64(0))) == -INF


SECOND = [
    ("sqrt", lambda x: cnp.where(x > 0, cnp.sqrt(x), 0), [-1.0, 0.0, 4.0], [0, 0, -1 / 32]),
    ("log", lambda x: cnp.where(x > 0, cnp.log(x), 0), [-1.0, 0.0, 4.0], [0, 0, -1 / 16]),
    ("exp overflows", lambda x: cnp.where(x < 9, cnp.exp(x), 9), [0.0, 1e4], [1, 0]),
    ("reciprocal", lambda x: cnp.where(x != 0, 1 / x, 0), [0.0, 2.0], [0, 0.25]),
    ("slice", lambda x: cnp.sqrt(x)[1:], [0.0, 4.0], [0, -1 / 32]),
    ("0**2", lambda x: x**2, [0.0], [2]),
    ("0**3", lambda x: x**3, [0.0], [0]),
    ("0.0**2.0", lambda x: cnp.power(x, np.float64(2)), [0.0], [2]),
    ("sinc", cnp.sinc, [0.0], [-(np.pi**2) / 3]),
    ("abs", cnp.abs, [-1.0, 0.0], [0, 0]),
    ("root of relu", lambda x: cnp.sqrt(cnp.maximum(x, 0)), [-1.0, 4.0], [0, -1 / 32]),
    ("arctan2", lambda x: cnp.arctan2(np.array([0.0, 1.0]), x), [0.0, 1.0], [0, 0.5]),
]


@pytest.mark.parametrize(("name", "f", "point", "expected"), SECOND, ids=[case[0] for case in SECOND])
def test_second_derivative(name, f, point, expected):
    x = np.asarray(point)

    def total(y):
        return cnp.sum(f(y))

    for first in (ct.grad, ct.jacfwd):
        for second in (ct.jacrev, ct.jacfwd):
            hessian = np.asarray(ct.jit(second(first(total)))(x))
            np.testing.assert_allclose(np.diagonal(hessian), expected, rtol=1e-12)
            np.testing.assert_array_equal(hessian - np.diag(np.diagonal(hessian)), 0)


def test_one_select_serves_value_and_derivative():
    """The zeros are put in once, behind the chain rule and not in front of it."""
    graph = ct.make_ir(ct.value_and_grad(lambda x: cnp.sum(cnp.where(x > 0, cnp.log(cnp.sin(x) * 2), 0))))(np.ones(3))
    assert str(graph).count("= select") == 2  # the value's and the derivative's


def test_two_sides_of_one_select_join_in_one():
    graph = ct.make_ir(ct.value_and_grad(lambda x: cnp.sum(cnp.where(x > 0, cnp.sin(x), cnp.exp(x)))))(np.ones(3))
    assert str(graph).count("= select") == 2  # the value's and the derivative's
    assert "= add" not in str(graph)


def test_under_vmap_and_in_a_loop():
    def f(x):
        return cnp.where(x > 0, cnp.sqrt(x), 0)

    x = np.array([-1.0, 0.0, 4.0])
    np.testing.assert_array_equal(np.asarray(ct.vmap(ct.grad(f))(x)), [0, 0, 0.25])

    def total(y):
        return ct.lax.scan(lambda c, e: (c + f(e), None), 0.0, y)[0]

    np.testing.assert_array_equal(np.asarray(ct.grad(total)(x)), [0, 0, 0.25])
    np.testing.assert_array_equal(np.asarray(ct.grad(lambda y: cnp.sum(ct.vmap(f)(y)))(x)), [0, 0, 0.25])


def test_slopes_that_are_constants_need_no_look_for_zeros():
    """The products with 0, 0.5 and 1 are chosen from: whatever arrives, where the slope is 0 it stays out, infinite or not."""
    x = np.array([-2.0, -1, 0, 1, 2, 3, np.nan], np.float32)
    f = ct.jit(lambda x, arriving: ct.vjp(lambda y: cnp.clip(y, -1, 2), x)[1](arriving)[0])
    for arriving in (1.0, -0.0, INF, -INF, NAN):
        expected = np.where((x > -1) & (x < 2), arriving, np.where((x == -1) | (x == 2), arriving * 0.5, 0))
        expected[-1] = f(x, np.full(7, 1.0, np.float32))[-1]
        found = np.asarray(f(x, np.full(7, arriving, np.float32)))
        np.testing.assert_array_equal(found[:-1], expected[:-1])
    loops = f.lower(x, x).compile().as_text()
    assert " = ne " not in loops
    assert " = and " not in loops
