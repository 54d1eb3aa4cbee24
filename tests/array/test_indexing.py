"""``x[...]`` and ``x.at[...]`` against NumPy."""

from __future__ import annotations

import itertools

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)
I = np.array([1, 0, 1])
J = np.array([[2], [0]])
INDICES = [
    0,
    -1,
    np.int32(1),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, -1),
    slice(2, 0, -2),
    slice(0, 0),
    slice(-100, 100),
    (0, 1),
    (0, 1, 2, 3),
    (Ellipsis, 0),
    (0, Ellipsis, 1),
    Ellipsis,
    None,
    (None, 0),
    (0, None, 1, None),
    (Ellipsis, None),
    (slice(None), slice(0, 3, 2), -1),
    (slice(None, None, -1), slice(None), slice(3, None, -2)),
    I,
    [0, 1],
    (I,),
    (slice(None), I),
    (slice(None), I, slice(None), 0),
    (I, I),
    (I, slice(None), I),
    (I, 1),
    (0, slice(None), I),
    (slice(None), I, J),
    (slice(None), I, slice(None), J),
    (None, I),
    (I, None, I),
    (slice(None), None, I, None),
    (Ellipsis, I),
    (I, Ellipsis, I),
    (slice(None), I, slice(None), Ellipsis, I),
    (0, I, slice(None), Ellipsis, 1),
    (slice(None), I, None, Ellipsis, J, slice(1, 2)),
    np.array([[1], [0]]),
    (slice(1), slice(None, None, -1), I),
    (slice(None), slice(0, 2), I, 1),
    np.zeros((0,), int),
    X[:, 0, 0, 0] > 0,
    (slice(None), np.array([True, False, True])),
    X > 50,
    (0, np.array([True, False, True]), slice(1, 3)),
    True,
    (0, np.array(False)),
    (Ellipsis, True, slice(1, 3)),
    (None, I, True),
    (True, slice(None), I),
    (slice(None), np.array([-1, -2])),
]
IDS = [str(i) for i in range(len(INDICES))]


def check(actual, expected):
    actual = np.asarray(actual)
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("index", INDICES, ids=IDS)
def test_reading(index):
    check(cnp.array(X)[index], X[index])


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("shape", [(5,), (1,), (3, 2), (1, 4), (3, 0), (2, 3, 7, 11)])
def test_elements(shape, dtype):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    ours = cnp.array(x)
    for i in range(-shape[0], shape[0]):
        element = ours[i]
        assert isinstance(element, ct.Array)
        assert element.dtype == x.dtype
        check(element, np.asarray(x[i]))
    for i in (-shape[0] - 1, shape[0], 2**70):
        with pytest.raises(IndexError, match="out of bounds for axis 0"):
            ours[i]


@pytest.mark.parametrize("index", INDICES[:-1], ids=IDS[:-1])
def test_reading_under_jit(index):
    check(ct.jit(lambda x: x[index])(X), X[index])


@pytest.mark.parametrize("index", INDICES, ids=IDS)
def test_gradient_of_reading(index):
    weights = np.random.default_rng(0).standard_normal(X[index].shape).astype(np.float32)
    expected = np.zeros_like(X)
    np.add.at(
        expected,
        tuple(index) if isinstance(index, tuple) else (np.asarray(index) if isinstance(index, list) else index),
        weights,
    )
    gradient = ct.grad(lambda x: (x[index] * weights).sum())(X)
    np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-5)


@pytest.mark.parametrize("index", INDICES, ids=IDS)
@pytest.mark.parametrize("method", ["set", "add"])
def test_updates(index, method):
    values = -np.arange(1, X[index].size + 1, dtype=np.float32).reshape(X[index].shape)
    expected = X.copy()
    if isinstance(index, list):
        index = np.asarray(index)
    if method == "set":
        expected[index] = values
    else:
        np.add.at(expected, index, values)
    check(getattr(cnp.array(X).at[index], method)(values), expected)
    check(ct.jit(lambda x, v: getattr(x.at[index], method)(v))(X, values), expected)


def test_every_order_of_the_parts_of_an_index():
    x = np.arange(27.0, dtype=np.float32).reshape(3, 3, 3)
    parts = [0, slice(None), slice(2, 0, -1), None, Ellipsis, I, J, np.ones(3, bool)]
    count = 0
    for index in itertools.product(parts, repeat=4):
        if sum(part is Ellipsis for part in index) > 1 or sum(part is None or part is Ellipsis for part in index) == 0:
            continue
        expected = x[index]
        check(cnp.array(x)[index], expected)
        if count % 7 == 0 and np.unique(expected).size == expected.size:
            values = -np.arange(1.0, 1.0 + expected.size, dtype=np.float32).reshape(expected.shape)
            updated = x.copy()
            updated[index] = values
            check(cnp.array(x).at[index].set(values), updated)
        count += 1
    assert count > 2000


@pytest.mark.parametrize("index", [0, slice(1, None), (slice(None), slice(0, 3, 2)), (Ellipsis, 1)])
@pytest.mark.parametrize(
    ("method", "operation"),
    [
        ("multiply", np.multiply),
        ("divide", np.divide),
        ("max", np.maximum),
        ("min", np.minimum),
        ("subtract", np.subtract),
    ],
)
def test_other_updates(index, method, operation):
    expected = X.copy()
    expected[index] = operation(expected[index], 7.0)
    np.testing.assert_allclose(np.asarray(getattr(cnp.array(X).at[index], method)(7.0)), expected, rtol=1e-6)


def test_update_broadcasts_and_converts():
    check(cnp.zeros((2, 3)).at[0].set([1, 2, 3]), np.array([[1, 2, 3], [0, 0, 0]], np.float32))
    check(cnp.zeros((2, 3), np.int32).at[:, 1].add(2), np.array([[0, 2, 0], [0, 2, 0]]))
    check(cnp.zeros(3, bool).at[np.array([0, 2])].set(True), np.array([True, False, True]))
    check(cnp.zeros(3, bool).at[1].set(True), np.array([False, True, False]))


def test_set_keeps_the_last_of_equal_indices():
    indices = np.array([1, 2, 1, 1, 0, 2])
    values = np.arange(6, dtype=np.float32)
    expected = np.full(4, -1, np.float32)
    expected[indices] = values
    check(ct.jit(lambda i, v: cnp.full(4, -1.0).at[i].set(v))(indices, values), expected)
    check(cnp.full(4, -1.0).at[indices].set(values), expected)


def test_updates_at_unique_indices():
    x = cnp.arange(4.0)
    check(x.at[np.array([0, 2])].multiply(10.0), np.array([0, 1, 20, 3], np.float32))
    check(x.at[np.array([0, 2])].apply(lambda v: v + 5), np.array([5, 1, 7, 3], np.float32))
    check(x.at[np.array([0, 2])].get(), np.array([0, 2], np.float32))


@pytest.mark.parametrize("i", [-7, -3, -1, 0, 2, 3, 9])
def test_dynamic_scalar_index_clamps(i):
    x = X[0]
    expected = x[min(max(i + 3 if i < 0 else i, 0), 2)]
    check(ct.jit(lambda x, i: x[i])(x, i), expected)
    check(ct.jit(lambda x, i: x[:, i, 1:])(x.transpose(1, 0, 2), i), expected_of(x, i))


def expected_of(x, i):
    return x.transpose(1, 0, 2)[:, min(max(i + 3 if i < 0 else i, 0), 2), 1:]


@pytest.mark.parametrize("i", [-4, -1, 0, 2, 5])
def test_dynamic_scalar_update_drops_outside(i):
    expected = np.zeros((3, 2), np.float32)
    if -3 <= i < 3:
        expected[i] = 1.0
    check(ct.jit(lambda i: cnp.zeros((3, 2)).at[i].set(1.0))(i), expected)
    check(ct.jit(lambda i: cnp.zeros((3, 2)).at[i].add(1.0))(i), expected)
    check(ct.jit(lambda i: cnp.zeros((3, 2)).at[i].max(1.0))(i), expected)


def test_get_with_a_fill_value():
    x = cnp.arange(3.0)
    check(x.at[np.array([0, 5])].get(mode="fill", fill_value=-1.0), np.array([0, -1], np.float32))
    assert np.isnan(x.at[np.array([5])].get(mode="fill")[0])


@pytest.mark.parametrize("mode", [None, "clip", "wrap", "fill"])
def test_take_outside(mode):
    indices = np.array([-12, -1, 0, 9, 10, 25])
    x = np.arange(10, dtype=np.float32)
    expected = {
        None: np.array([np.nan, 9, 0, 9, np.nan, np.nan], np.float32),
        "fill": np.array([np.nan, 9, 0, 9, np.nan, np.nan], np.float32),
        "clip": np.array([0, 0, 0, 9, 9, 9], np.float32),
        "wrap": np.array([8, 9, 0, 9, 0, 5], np.float32),
    }[mode]
    check(cnp.take(x, indices, mode=mode), expected)


def test_gradient_of_updates():
    x, v = X[0, 0], np.array([1.0, 2.0], np.float32)

    def loss(x, v):
        return (x.at[np.array([1, 1]), 2].add(v) ** 2).sum() + (x.at[0, :2].set(v) ** 2).sum()

    dx, dv = ct.grad(loss, argnums=(0, 1))(x, v)
    expected = x.copy()
    np.add.at(expected, (np.array([1, 1]), 2), v)
    replaced = x.copy()
    replaced[0, :2] = 0
    np.testing.assert_allclose(np.asarray(dx), 2 * expected + 2 * replaced, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(dv), 2 * expected[1, 2] + 2 * v, rtol=1e-6)


def test_vmap_of_indexing():
    x, i = X[0], np.array([0, 2, 1])
    check(ct.vmap(lambda row, j: row[j])(x, i), np.stack([x[k, j] for k, j in enumerate(i)]))
    expected = x.copy()
    expected[np.arange(3), i] = 9.0
    check(ct.vmap(lambda row, j: row.at[j].set(9.0))(x, i), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x[2], IndexError, "index 2 out of bounds for axis 0 with size 2"),
        (lambda x: x[0, -4], IndexError, "index -4 out of bounds for axis 1 with size 3"),
        (lambda x: x[0, 0, 0, 0, 0], IndexError, "Too many indices: array is 4-dimensional, but 5 were indexed"),
        (lambda x: x[..., 0, ...], IndexError, "only one ellipsis"),
        (lambda x: x[::0], ValueError, "slice step cannot be zero"),
        (lambda x: x["a"], TypeError, "cannot index axis 0 with str"),
        (lambda x: x[1.5], TypeError, "cannot index axis 0 with float"),
        (lambda x: x[np.array([1.5])], TypeError, "must be of integers or bools"),
        (
            lambda x: x[np.array([True, False, True])],
            IndexError,
            "a bool index of shape (3,) does not fit axes of sizes (2,)",
        ),
        (lambda x: x["a":"b"], TypeError, "slice bounds must be integers or None"),
        (lambda x: x[:, :0][:, I], IndexError, "has no elements"),
        (lambda x: cnp.array(1.0)[0], IndexError, "Too many indices"),
        (lambda x: cnp.array(1.0)[0, True], IndexError, "Too many indices"),
        (lambda x: cnp.array([1.0]).at[0, 0, True].set(1.0), IndexError, "Too many indices"),
        (lambda x: x.at[0].set(np.ones(7, np.float32)), TypeError, "broadcast"),
        (lambda x: x.at[0].get(mode="strange"), ValueError, "mode must be None, 'clip' or 'fill'"),
        (lambda x: x.at[0].set(1.0, mode="strange"), ValueError, "mode must be None, 'drop' or 'clip'"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call(cnp.array(X))
    assert message in str(caught.value)


@pytest.mark.parametrize("stop", [-9, -1, 0, 1, 2, 9])
def test_a_slice_bound_that_the_program_computes(stop):
    np.testing.assert_array_equal(ct.jit(lambda x, i: x[:i])(X, stop).unpad(), X[:stop])
    np.testing.assert_array_equal(ct.jit(lambda x, i: x[i:])(X, stop).unpad(), X[stop:])


def test_a_mask_that_the_program_computes():
    np.testing.assert_array_equal(ct.jit(lambda x: x[x > 1])(X).unpad(), np.asarray(X)[np.asarray(X) > 1])
