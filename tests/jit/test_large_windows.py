"""Windows that are too large to be looked at all at once: their memory is that of the array."""

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax
from numpy.lib.stride_tricks import sliding_window_view

FOLDS = {
    "add": (lax.add, 0.0, np.sum),
    "max": (lax.max, -np.inf, np.max),
    "min": (lax.min, np.inf, np.min),
    "mul": (lax.mul, 1.0, np.prod),
    "other": (lambda x, y: x + y + 0.0 * x, 0.0, np.sum),
}


@pytest.mark.parametrize("name", list(FOLDS))
def test_one_window_of_everything(name):
    computation, init, expected = FOLDS[name]
    count = 100_000 if name != "other" else 3_000
    x = np.random.default_rng(0).uniform(0.999, 1.001, size=count)
    for tier in (lambda f: f, ct.jit, lambda f: ct.jit(f, backend="interpreter")):
        result = tier(lambda x: lax.reduce_window(x, init, computation, (count,)))(cnp.array(x))
        np.testing.assert_allclose(np.asarray(result), [expected(x)], rtol=1e-11)


@pytest.mark.parametrize("name", list(FOLDS))
@pytest.mark.parametrize(
    ("window", "stride", "spacing", "padding"),
    [(70, 1, 1, (0, 0)), (65, 3, 1, (5, 7)), (100, 100, 1, (0, 0)), (67, 90, 1, (20, 0)), (80, 2, 3, (30, 30)), (128, 1, 1, (0, 0))],
)  # fmt: skip
def test_large_windows_along_an_axis(name, window, stride, spacing, padding):
    computation, init, expected = FOLDS[name]
    x = np.random.default_rng(1).uniform(0.9, 1.1, size=(2, 331)).astype("float32")
    filled = np.pad(x, ((0, 0), padding), constant_values=init)
    seen = sliding_window_view(filled, (window - 1) * spacing + 1, axis=1)[:, ::stride, ::spacing]

    def function(x):
        return lax.reduce_window(
            x, init, computation, (1, window), (1, stride), [(0, 0), padding], window_dilation=(1, spacing)
        )

    for tier in (lambda f: f, ct.jit):
        np.testing.assert_allclose(np.asarray(tier(function)(x)), expected(seen, -1), rtol=3e-5)
    weights = np.random.default_rng(2).normal(size=seen.shape[:2]).astype("float32")
    gradient = np.asarray(ct.jit(ct.grad(lambda x: (function(x) * weights).sum()))(x))
    places = sliding_window_view(np.arange(filled.shape[1]), (window - 1) * spacing + 1)[::stride, ::spacing]
    exact = np.zeros(filled.shape)
    for row in range(2):
        for place, (w, values) in enumerate(zip(weights[row], seen[row], strict=True)):
            if name in ("add", "other"):
                exact[row, places[place]] += w
            elif name == "mul":
                exact[row, places[place]] += w * np.prod(values.astype("float64")) / values
            else:
                exact[row, places[place][getattr(np, "arg" + name)(values)]] += w
    exact = exact[:, padding[0] : filled.shape[1] - padding[1]]
    np.testing.assert_allclose(gradient, exact, rtol=2e-4, atol=2e-4)


def test_the_first_of_equal_elements_has_the_derivative_of_a_large_window():
    x = np.zeros(200, "float32")
    x[[20, 50, 150]] = 1
    for computation, sign in ((lax.max, 1), (lax.min, -1)):
        given = sign * x
        gradient = ct.grad(lambda x, c=computation, s=sign: lax.reduce_window(x, -s * np.inf, c, (200,)).sum())(given)
        assert np.flatnonzero(np.asarray(gradient)).tolist() == [20]
    x[100] = np.nan
    assert np.isnan(np.asarray(lax.reduce_window(x, -np.inf, lax.max, (100,), (100,)))).tolist() == [False, True]


def test_large_windows_of_two_axes_and_of_pairs():
    x = np.random.default_rng(3).normal(size=(40, 50)).astype("float32")
    seen = sliding_window_view(x, (9, 11))
    for tier in (lambda f: f, ct.jit):
        np.testing.assert_allclose(
            np.asarray(tier(lambda x: lax.reduce_window(x, 0.0, lax.add, (9, 11)))(x)), seen.sum((-1, -2)), atol=2e-5
        )
        pair = tier(
            lambda x: lax.reduce_window((x, -x), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (9, 11), (2, 3))
        )(x)
        np.testing.assert_allclose(np.asarray(pair[0]), seen.sum((-1, -2))[::2, ::3], atol=2e-5)
        np.testing.assert_allclose(np.asarray(pair[1]), -seen.sum((-1, -2))[::2, ::3], atol=2e-5)
