"""What an index outside of its axis reads, writes and differentiates to, for each mode and in every tier.

The values are those of JAX's modes. A derivative is that of the value: a read that is clipped is one of the element at the end.
"""

import math

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax
from needs import needed

nan = math.nan
X = [1.5, 2.5, 4.0]
INDICES = [0, 2, 3, 9, -1, -3, -4, -9]
WEIGHTS = np.arange(1.0, 9.0)
# Which element each index stands for; None: none.
CLIPPED = [0, 2, 2, 2, 2, 0, 0, 0]
INSIDE = [0, 2, None, None, 2, 0, None, None]
PLAIN_CLIPPED = [0, 2, 2, 2, 0, 0, 0, 0]  # negative ones do not count from the end
PLAIN_INSIDE = [0, 2, None, None, None, None, None, None]
AROUND = [0, 2, 0, 0, 2, 0, 2, 0]

ONE_AXIS = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))

READS = {
    "x[i]": (lambda x, i: x[i], CLIPPED, None),
    "get": (lambda x, i: x.at[i].get(), CLIPPED, None),
    "get clip": (lambda x, i: x.at[i].get(mode="clip"), CLIPPED, None),
    "get promise_in_bounds": (lambda x, i: x.at[i].get(mode="promise_in_bounds"), CLIPPED, None),
    "get fill": (lambda x, i: x.at[i].get(mode="fill"), INSIDE, nan),
    "get drop": (lambda x, i: x.at[i].get(mode="drop"), INSIDE, nan),
    "get plain": (lambda x, i: x.at[i].get(wrap_negative_indices=False), PLAIN_CLIPPED, None),
    "get plain clip": (lambda x, i: x.at[i].get(mode="clip", wrap_negative_indices=False), PLAIN_CLIPPED, None),
    "get plain fill": (lambda x, i: x.at[i].get(mode="fill", wrap_negative_indices=False), PLAIN_INSIDE, nan),
    "get fill 7": (lambda x, i: x.at[i].get(mode="fill", fill_value=7.0), INSIDE, 7.0),
    "take": (lambda x, i: cnp.take(x, i), INSIDE, nan),
    "take fill": (lambda x, i: cnp.take(x, i, mode="fill", fill_value=7.0), INSIDE, 7.0),
    "take clip": (lambda x, i: cnp.take(x, i, mode="clip"), PLAIN_CLIPPED, None),
    "take wrap": (lambda x, i: cnp.take(x, i, mode="wrap"), AROUND, None),
    "take_along_axis": (lambda x, i: cnp.take_along_axis(x, i, 0), INSIDE, nan),
    "take_along_axis clip": (lambda x, i: cnp.take_along_axis(x, i, 0, mode="clip"), CLIPPED, None),
    "gather": (lambda x, i: lax.gather(x, i[:, None], ONE_AXIS, (1,)), PLAIN_CLIPPED, None),
    "gather clip": (lambda x, i: lax.gather(x, i[:, None], ONE_AXIS, (1,), mode="clip"), PLAIN_CLIPPED, None),
    "gather fill": (lambda x, i: lax.gather(x, i[:, None], ONE_AXIS, (1,), mode="fill"), PLAIN_INSIDE, nan),
}


def in_every_tier(function, x, i):
    """Results of the function of an array and indices; what differs from tier to tier shows up as a second element."""
    yield "eager", function(x, i)
    yield "jit", ct.jit(function)(x, i)
    yield "interpreter", ct.jit(function, backend="interpreter")(x, i)
    yield "vmap of the indices", ct.vmap(function, (None, 0))(x, i[None])[0]
    yield "vmap of both", ct.jit(ct.vmap(function))(x[None], i[None])[0]
    yield "scan", ct.jit(lambda x, i: lax.scan(lambda c, i: (c, function(x, i)), 0, i[None])[1][0])(x, i)


@pytest.mark.parametrize("index_dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("name", list(READS))
def test_reads_outside(name, index_dtype):
    function, elements, fill = READS[name]
    x, i = cnp.array(X, "float32"), cnp.array(INDICES, index_dtype)
    expected = np.array([fill if k is None else X[k] for k in elements], "float32")
    slope = np.zeros(3, "float32")
    for k, weight in zip(elements, WEIGHTS, strict=True):
        if k is not None:
            slope[k] += weight

    def loss(x, i):
        return (cnp.where(cnp.isnan(function(x, i)), 0, function(x, i)) * WEIGHTS.astype("float32")).sum()

    for tier, result in in_every_tier(function, x, i):
        np.testing.assert_array_equal(np.asarray(result), expected, err_msg=tier)
    for tier, result in in_every_tier(ct.grad(loss), x, i):
        np.testing.assert_array_equal(np.asarray(result), slope, err_msg=f"gradient: {tier}")
    for tier, result in in_every_tier(ct.jacfwd(loss), x, i):
        np.testing.assert_array_equal(np.asarray(result), slope, err_msg=f"forward: {tier}")


@pytest.mark.parametrize("mode", [None, "drop", "fill", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("operation", ["set", "add", "multiply", "max"])
def test_writes_outside(operation, mode):
    x, values = cnp.array(X, "float32"), cnp.array([10.0, 20.0, 30.0, 40.0], "float32")
    i = cnp.array([1, 3, -4, -3])  # inside, beyond, before, the first element
    elements = [1, 2, 0, 0] if mode == "clip" else [1, None, None, 0]

    def function(x, i):
        return getattr(x.at[i], operation)(values, mode=mode)

    steps = {
        "set": lambda old, new: new,
        "add": lambda old, new: old + new,
        "multiply": lambda old, new: old * new,
        "max": max,
    }
    expected = list(X)
    for k, value in zip(elements, values.tolist(), strict=True):
        if k is not None:
            expected[k] = steps[operation](expected[k], value)
    for tier, result in in_every_tier(function, x, i):
        np.testing.assert_array_equal(np.asarray(result), np.array(expected, "float32"), err_msg=tier)
    by_values = np.array([1 if k is not None else 0 for k in elements], "float32")
    if operation == "add":
        gradient = ct.jit(ct.grad(lambda v: x.at[i].add(v, mode=mode).sum()))(values)
        np.testing.assert_array_equal(np.asarray(gradient), by_values)
        for tier, result in in_every_tier(ct.grad(lambda x, i: function(x, i).sum()), x, i):
            np.testing.assert_array_equal(np.asarray(result), [1, 1, 1], err_msg=tier)
    if operation == "set":
        untouched = np.array([float(k not in elements) for k in range(3)], "float32")
        for tier, result in in_every_tier(ct.grad(lambda x, i: function(x, i).sum()), x, i):
            np.testing.assert_array_equal(np.asarray(result), untouched, err_msg=tier)


def test_slices_start_inside():
    x = cnp.array(X, "float32")
    for start, element in (
        (-5, 1),
        (-2, 1),
        (0, 0),
        (1, 1),
        (9, 1),
    ):  # negative ones count from the end, and are clipped
        i = cnp.array([start])
        for tier, result in in_every_tier(lambda x, i: lax.dynamic_slice(x, (i[0],), (2,)), x, i):
            first = 0 if start == -5 else element
            np.testing.assert_array_equal(
                np.asarray(result), np.float32(X[first : first + 2]), err_msg=f"{tier} {start}"
            )
        slope = np.zeros(3, "float32")
        slope[first : first + 2] = 1
        for tier, result in in_every_tier(ct.grad(lambda x, i: lax.dynamic_slice(x, (i[0],), (2,)).sum()), x, i):
            np.testing.assert_array_equal(np.asarray(result), slope, err_msg=f"{tier} {start}")


def test_large_unsigned_indices_are_outside():
    x = cnp.array(X, "float32")
    for dtype, value in (("uint32", 3_000_000_000), ("uint64", 2**63 + 5), ("uint8", 200)):
        i = cnp.array(np.array([1, value], dtype))
        for _, result in in_every_tier(lambda x, i: x[i], x, i):
            assert result.tolist() == [2.5, 4.0]
        for _, result in in_every_tier(lambda x, i: cnp.take(x, i, mode="clip"), x, i):
            assert result.tolist() == [2.5, 4.0]
        for _, result in in_every_tier(lambda x, i: cnp.take(x, i, mode="fill", fill_value=0.0), x, i):
            assert result.tolist() == [2.5, 0.0]
        for _, result in in_every_tier(lambda x, i: x.at[i].add(1.0), x, i):
            assert result.tolist() == [1.5, 3.5, 4.0]


@pytest.mark.parametrize("mode", [None, "drop", "fill", "clip", "promise_in_bounds"])
@pytest.mark.parametrize("method", ["get", "set", "add", "multiply", "divide", "power", "min", "max", "apply"])
def test_negative_indices_that_do_not_count_from_the_end_are_outside(method, mode):
    """By JAX, for index arrays, numbers and lists of them beside slices, None, an ellipsis and masks; a number is no error there."""
    jnp = needed("jax.numpy")
    x = np.arange(2.0, 26.0, dtype=np.float32).reshape(2, 3, 4)
    indices = [
        np.array([-1, 0, 7, 1], np.int8), -1, (-1, 1), (slice(None), np.array([[-2, 1], [9, -9]])), (..., -3), (None, 1, ..., np.array([0, -1])),
        (np.array([-1, 1]), slice(0, 2), np.array([2, -4])), (np.array([True, False]), np.array([-1])), (slice(-1, None), 0), np.array([3, 1], np.uint8),
    ]  # fmt: skip
    options = {"mode": mode, "wrap_negative_indices": False}
    arguments = {"get": (), "apply": (lambda x: x * 2,)}.get(method, (3.0,))
    for index in indices:
        expected = getattr(jnp.array(x).at[index], method)(*arguments, **options)
        for run in (lambda f: f, ct.jit):
            found = run(lambda x, index=index: getattr(x.at[index], method)(*arguments, **options))(cnp.array(x))
            np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=f"{index}")
    ragged = ct.Ragged(np.arange(1.0, 5.0), {0: 2})
    if method == "get":
        read = ct.mask(lambda x: x.at[np.array([-1, 0, 3])].get(mode="fill", wrap_negative_indices=False))
        np.testing.assert_array_equal(np.asarray(read(ragged)), [nan, 1.0, nan])
