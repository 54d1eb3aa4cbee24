"""Windows that are far larger than the array, and values of `reduce_window` by a direct loop: only elements are combined."""

import itertools
import time

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax
from needs import needed

FOLDS = {
    "add": (lax.add, np.add, 0.5),
    "mul": (lax.mul, np.multiply, 2.0),
    "max": (lax.max, np.maximum, -0.25),
    "min": (lax.min, np.minimum, 0.25),
    "other": (lambda x, y: 0.5 * x + y, lambda x, y: 0.5 * x + y, 0.75),
}
VAST = 2**31


def folded(x, init, combine, window, strides, pads, base, spacing):
    """The definition: the initial value and the elements that the window sees, in order."""
    sizes = [(size - 1) * gap + 1 if size else 0 for size, gap in zip(x.shape, base, strict=True)]
    counts = [
        max((size + low + high - (w - 1) * d - 1) // s + 1, 0)
        for size, (low, high), w, s, d in zip(sizes, pads, window, strides, spacing, strict=True)
    ]
    result = np.full(counts, init, x.dtype)
    for place in np.ndindex(*counts):
        for at in np.ndindex(*x.shape):
            distances = [a * g + p[0] - o * s for a, g, p, o, s in zip(at, base, pads, place, strides, strict=True)]
            if all(q >= 0 and q % d == 0 and q // d < w for q, d, w in zip(distances, spacing, window, strict=True)):
                result[place] = combine(result[place], x[at])
    return result


@pytest.mark.parametrize("name", list(FOLDS))
def test_windows_of_any_geometry(name):
    computation, combine, init = FOLDS[name]
    random = np.random.default_rng(len(name) + ord(name[0]))
    sparse = 0
    for _ in range(12):
        rank = int(random.integers(1, 3))
        shape = tuple(random.integers(1, 5, rank))
        base, spacing = random.integers(1, 4, rank), random.choice([1, 2, 3, 700], rank)
        window, strides = random.choice([1, 2, 3, 40, 900], rank), random.choice([1, 2, 500], rank)
        pads = []
        for size, gap, w, d, s in zip(shape, base, window, spacing, strides, strict=True):
            extent, dilated = (w - 1) * d + 1, (size - 1) * gap + 1
            total = max(extent - dilated, 0) + int(random.integers(0, 4)) * s
            low = int(random.integers(0, total + 1))
            pads.append((low, total - low))
        sparse += max(window) == 900
        x = random.uniform(-1, 1, shape)
        expected = folded(x, init, combine, window, strides, pads, base, spacing)

        def function(x, window=window, strides=strides, pads=pads, base=base, spacing=spacing):
            return lax.reduce_window(x, init, computation, window, strides, pads, base, spacing)

        for tier in (function, ct.jit(function)):
            np.testing.assert_allclose(tier(x), expected, rtol=1e-12, atol=1e-14)
        gradient = np.asarray(ct.jit(ct.grad(lambda x, f=function: f(x).sum()))(x))
        step = 1e-6 * random.standard_normal(shape)
        ends = [folded(x + sign * step, init, combine, window, strides, pads, base, spacing).sum() for sign in (1, -1)]
        np.testing.assert_allclose((gradient * step).sum(), (ends[0] - ends[1]) / 2, rtol=1e-4, atol=1e-11)
    assert sparse


@pytest.mark.parametrize("name", list(FOLDS))
def test_the_cost_is_that_of_the_array(name):
    computation, combine, init = FOLDS[name]
    x = np.array([3.0, 1.0, 3.0])
    whole = init
    for value in x:
        whole = combine(whole, value)
    begin = time.monotonic()
    for tier in (lambda f: f, ct.jit, ct.vmap):
        given = x[None] if tier is ct.vmap else x
        for padding, strides in (("SAME", (1,)), ("SAME_LOWER", (1,)), ([(VAST, VAST)], (VAST,))):
            result = tier(lambda x, p=padding, s=strides: lax.reduce_window(x, init, computation, (VAST,), s, p))(given)
            expected = [whole] * 3 if isinstance(padding, str) else [init, whole]
            np.testing.assert_allclose(np.asarray(result).ravel(), expected, rtol=1e-12)
        result = tier(lambda x: lax.reduce_window(x, init, computation, (3,), (1,), [(2**40, 0)], None, (2**40,)))(
            given
        )
        assert np.asarray(result).size == 0
    with pytest.raises(ValueError, match="positive"):
        lax.reduce_window(x, init, computation, (0,))
    assert time.monotonic() - begin < 20


def test_the_first_of_equal_elements_has_the_derivative_of_a_vast_window():
    x = np.array([[3.0, 1.0, 3.0], [0.0, 3.0, 3.0]])
    for sign, computation in ((1, lax.max), (-1, lax.min)):
        pool = lambda x, s=sign, c=computation: lax.reduce_window(x, -s * np.inf, c, (VAST, VAST), None, "SAME")  # noqa: E731
        gradient = np.asarray(ct.grad(lambda x, f=pool: f(x)[0, 0])(sign * x))
        assert np.argwhere(gradient).tolist() == [[0, 0]]
        np.testing.assert_array_equal(pool(np.array([[1.0, np.nan]])), [[np.nan, np.nan]])


def test_vast_windows_of_pairs():
    x = np.array([3.0, 1.0, 2.0])
    pair = lambda x: lax.reduce_window(  # noqa: E731
        (x, -x), (0.0, 0.0), lambda a, b: (a[0] + b[0], cnp.minimum(a[1], b[1])), (VAST,), None, [(VAST - 1, 0)]
    )
    for tier in (pair, ct.jit(pair)):
        sums, least = tier(x)
        np.testing.assert_array_equal(sums, [3.0, 4.0, 6.0])
        np.testing.assert_array_equal(least, [-3.0, -3.0, -3.0])


def test_values_beside_jax():
    """Whatever the initial value, and with holes and padding, which JAX's windows do not combine either."""
    jax = needed("jax")
    x = np.arange(1.0, 7.0, dtype="float32").reshape(2, 3)
    options = itertools.product(["SAME", "VALID", [(1, 2), (2, 0)]], [(1, 1), (2, 3)], [(1, 1), (1, 2)])
    for padding, base, spacing in options:
        for name in ("add", "mul", "max", "min", "other"):
            init = np.float32(2.0)
            found, expected = (
                module.reduce_window(
                    x,
                    init,
                    (lambda a, b: a + b + 0 * a) if name == "other" else getattr(module, name),
                    (2, 2),
                    (1, 2),
                    padding,
                    base,
                    spacing,
                )
                for module in (lax, jax.lax)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-6)
