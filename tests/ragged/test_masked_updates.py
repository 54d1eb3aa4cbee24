"""``x.at[mask]`` whose mask is a value: a select, compared with NumPy's assignment."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

random = np.random.default_rng(0)
FLOATS = random.normal(size=(3, 4, 2)).astype(np.float32)
POSITIVE = FLOATS > 0
ARRAYS = [np.abs(FLOATS) + 0.5, random.integers(1, 5, size=(3, 4, 2)).astype(np.int32), POSITIVE[::-1].copy()]
# The index as a function of its mask, the mask, and the axis of the result where the chosen elements stand.
INDICES: list[tuple[Any, Any, int]] = [
    (lambda m: m, POSITIVE, 0),
    (lambda m: m, POSITIVE[..., 0], 0),
    (lambda m: m, np.array([True, False, True]), 0),
    (lambda m: (m, ...), np.array([True, False, True]), 0),
    (lambda m: (..., m), np.array([True, False]), 2),
    (lambda m: (slice(None), slice(None), m), np.array([False, False]), 2),
    (lambda m: (slice(None), m), POSITIVE[0], 1),
    (lambda m: (..., m, slice(None)), POSITIVE[..., 0], 0),
]
OPERATIONS: dict[str, Any] = {
    "set": lambda s, v: np.broadcast_to(v, s.shape),
    "add": lambda s, v: s + v,
    "multiply": lambda s, v: s * v,
    "max": np.maximum,
    "min": np.minimum,
    "divide": lambda s, v: s / v,
    "power": lambda s, v: s**v,
}


CASES = [
    (array, operation)
    for array in ARRAYS
    for operation in OPERATIONS
    if operation not in {"b": ("divide", "power"), "i": ("divide",), "f": ()}[array.dtype.kind]
]


@pytest.mark.parametrize("number", range(len(INDICES)))
@pytest.mark.parametrize(("array", "operation"), CASES, ids=[f"{a.dtype}-{o}" for a, o in CASES])
def test_values_with_one_for_all_chosen(array, number, operation) -> None:
    index, mask, axis = INDICES[number]
    chosen = array[index(mask)]
    one = list(chosen.shape)
    one[axis] = 1
    for shape in ((), tuple(one), tuple(one[axis + 1 :])):
        values = random.integers(1, 3, size=shape).astype(array.dtype)
        expected = array.copy()
        expected[index(mask)] = OPERATIONS[operation](chosen, values)
        update = lambda x, m, v: getattr(x.at[index(m)], operation)(v)  # noqa: E731
        for function in (update, ct.jit(update), lambda x, m, v: ct.vmap(update)(x[None], m[None], v[None])[0]):
            result = function(cnp.asarray(array), cnp.asarray(mask), cnp.asarray(values))
            assert result.dtype == array.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_values_of_their_own() -> None:
    mask = FLOATS > 0
    values = np.arange(mask.sum(), dtype=np.float32)
    expected = FLOATS.copy()
    expected[mask] = values
    np.testing.assert_array_equal(ct.jit(lambda x: x.at[mask].set(values))(FLOATS), expected)
    np.testing.assert_array_equal(ct.jit(lambda x: x.at[x > 0].set(values))(FLOATS), expected)
    weights = ct.grad(lambda v: (ct.jit(lambda x, v: x.at[x > 0].set(v))(FLOATS, v) * FLOATS).sum())(cnp.array(values))
    np.testing.assert_array_equal(weights, FLOATS[mask])
    rows = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    chosen = rows.sum(1) > 10
    wanted = rows.copy()
    wanted[chosen] = -rows[chosen]
    found = ct.jit(lambda x, v: x.at[x.sum(1) > 10].set(v))(rows, -rows[chosen])
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("rest", [np.array([1, 0]), [1, 0], 1, slice(1, None), slice(None, None, -1)], ids=str)
def test_a_mask_beside_other_items(rest: Any) -> None:
    mask = np.array([True, False, True])
    expected = FLOATS.copy()
    expected[mask, rest] = 7.0
    np.testing.assert_array_equal(cnp.asarray(FLOATS).at[mask, rest].set(7.0), expected)
    np.testing.assert_array_equal(ct.jit(lambda x: x.at[mask, rest].set(7.0))(FLOATS), expected)


def test_derivatives() -> None:
    def program(x, v):
        return x.at[x > 0].multiply(v).at[x < -1].apply(cnp.sin)

    ct.test_util.check_grads(program, (FLOATS.astype(np.float64), np.float64(3.0)), order=2)
    # What is not chosen has no influence: the root of a negative number is never looked at.
    roots = ct.grad(lambda x: cnp.sum(x.at[x > 0].apply(cnp.sqrt) ** 2))(FLOATS)
    np.testing.assert_allclose(roots, np.where(FLOATS > 0, 1, 2 * FLOATS), rtol=1e-5)


def test_a_ragged_axis() -> None:
    x = ct.Ragged(cnp.array([1.0, -2.0, cnp.nan]), {0: 2})
    result = ct.mask(lambda x: x.at[x > 0].set(7.0))(x)
    assert result.unpad().tolist() == [7.0, -2.0]


@pytest.mark.parametrize("index", [lambda x: x[0] > 0, lambda x: (slice(None), x > 0), lambda x: (x[0] > 0, ...)])
def test_a_mask_that_does_not_fit(index) -> None:
    with pytest.raises(IndexError, match=r"a bool index of shape .* does not fit"):
        ct.jit(lambda x: x.at[index(x)].set(1.0))(FLOATS)
