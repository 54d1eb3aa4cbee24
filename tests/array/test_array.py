"""The Array type: operators, methods, conversion, printing, exchange."""

from __future__ import annotations

import collections
import copy
import inspect
import pickle

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

A = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]], np.float32)


def check(actual, expected):
    assert isinstance(actual, ct.Array)
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: x * x,
        lambda x: 2 / x,
        lambda x: x // 2,
        lambda x: 7 // x,
        lambda x: x % 2,
        lambda x: 7 % x,
        lambda x: x**2,
        lambda x: abs(x) ** 0.5,
        lambda x: 2.0**x,
        lambda x: divmod(x, 2)[1],
        lambda x: -x,
        lambda x: +x,
        lambda x: x @ x.T,
        lambda x: A.T @ x,
        lambda x: x > 1,
        lambda x: x == x,
        lambda x: ~(x > 1),
        lambda x: abs(x > 1),
        lambda x: (x > 1) & (x < 4),
        lambda x: A + x,
        lambda x: np.float32(2) * x,
        lambda x: x.sum(),
        lambda x: x.sum(0),
        lambda x: x.sum(axis=1, keepdims=True),
        lambda x: x.mean(-1),
        lambda x: x.max(),
        lambda x: x.min(0),
        lambda x: x.prod(1),
        lambda x: x.std(),
        lambda x: x.var(0),
        lambda x: (x > 0).any(),
        lambda x: (x > 0).all(1),
        lambda x: x.argmax(1),
        lambda x: x.argmin(),
        lambda x: x.T,
        lambda x: x.mT if isinstance(x, ct.Array) else x.T,
        lambda x: x.transpose(1, 0),
        lambda x: x.reshape(3, 2),
        lambda x: x.reshape((-1,)),
        lambda x: x.ravel(),
        lambda x: x.flatten(),
        lambda x: x[None].squeeze(0),
        lambda x: x.swapaxes(0, 1),
        lambda x: x.astype(np.int32),
        lambda x: x.dot(x.T),
        lambda x: x.clip(-1, 2),
        lambda x: x.round(),
        lambda x: x.conj(),
        lambda x: x.real,
        lambda x: x.imag,
        lambda x: x.copy(),
        lambda x: x.cumsum(1),
        lambda x: x.cumprod(0),
        lambda x: x.take(np.array([0, 2])),
        lambda x: x.repeat(2, 1),
        lambda x: x.diagonal(),
        lambda x: x.trace(),
        lambda x: x.nonzero()[0],
        lambda x: x.astype(np.float32).view(np.int32),
    ],
)
def test_operators_and_methods_agree_with_numpy(operation):
    check(operation(cnp.array(A)), operation(A))


def test_shift_and_integers():
    x = np.array([1, 5, -8], np.int32)
    check(cnp.array(x) << 2, x << 2)
    check(cnp.array(x) >> 1, x >> 1)
    check(cnp.array(x) ^ 3, x ^ 3)


def test_unknown_operands_are_left_to_the_other_side():
    class Other:
        def __rmatmul__(self, other):
            return "mine"

        def __rpow__(self, other):
            return "mine"

    assert cnp.ones(2) @ Other() == "mine"
    assert cnp.ones(2) ** Other() == "mine"
    with pytest.raises(TypeError):
        cnp.ones(2) @ "text"


def test_attributes():
    x = cnp.ones((2, 3))
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize, len(x)) == ((2, 3), 2, 6, 24, 4, 2)
    assert x.dtype == np.float32
    assert not x.weak_type
    assert cnp.array(1.0).weak_type
    assert x.block_until_ready() is x


def test_to_python():
    x = cnp.array([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x[1, 0].item() == 3
    assert x.item(2) == 3
    assert int(x[0, 0]) == 1
    assert float(cnp.array(1.5)) == 1.5
    assert complex(cnp.array(1 + 2j)) == 1 + 2j
    assert bool(cnp.array(True))
    assert [10, 20, 30][cnp.array(1)] == 20
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x
    assert 7 not in x
    assert round(cnp.array(2.6)).item() == 3.0


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: cnp.array([1.0, 2.0]), "Array([1., 2.], dtype=float32)"),
        (lambda: cnp.array([[1], [2]]), "Array([[1],\n       [2]], dtype=int32)"),
        (lambda: cnp.array(3.0), "Array(3., dtype=float32, weak_type=True)"),
        (lambda: cnp.zeros(()), "Array(0., dtype=float32)"),
        (lambda: cnp.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
        (lambda: cnp.zeros(0, np.int32), "Array([], dtype=int32)"),
        (lambda: cnp.array([True]), "Array([ True], dtype=bool)"),
        (lambda: cnp.ones(2, "bfloat16"), "Array([1, 1], dtype=bfloat16)"),
    ],
)
def test_repr(make, text):
    assert repr(make()) == text


def test_str_and_format():
    assert str(cnp.array([1.0, 2.0])) == "[1. 2.]"
    assert f"{cnp.array(1.2345):.2f}" == "1.23"
    assert f"{cnp.array([1, 2])}" == "[1 2]"


def test_traced_repr():
    seen = []

    def function(x):
        seen.append(repr(x))
        seen.append(str(x))
        return x

    ct.jit(function)(A)
    assert seen == ["Traced<float32[2,3]>"] * 2


def test_numpy_exchange():
    x = cnp.array(A)
    array = np.asarray(x)
    assert not array.flags.writeable
    np.testing.assert_array_equal(array, A)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    copied = np.array(x)
    copied[0, 0] = 100.0
    assert float(x[0, 0]) == 1.0
    np.testing.assert_array_equal(
        np.add(x, x) if isinstance(np.add(x, x), np.ndarray) else np.asarray(np.add(x, x)), A + A
    )
    np.testing.assert_array_equal(np.from_dlpack(x), A)
    check(cnp.from_dlpack(A), A)
    np.testing.assert_array_equal(memoryview(x), A)
    assert x.__dlpack_device__() == (1, 0)
    assert isinstance(A * x, ct.Array)


@pytest.mark.parametrize(
    "unit", [1, 61, 997]
)  # with elements of four bytes: up to 156, 9.5 thousand, 155 thousand bytes
def test_memory_of_freed_arrays_is_not_that_of_living_ones(unit):
    add = ct.jit(lambda x, i: x + i)
    sums, views, kept = [], [], []
    for i in range(1000 if unit == 1 else 400):
        size = i % 40 * unit
        array = add(cnp.zeros(size, np.float32), float(i))
        views.append(np.asarray(array))
        if i % 3 == 0:
            sums.append(add(array, 1.0))
        if size > 2 and i % 2 == 0:
            kept.append((i, array[1], array[2]))
        if unit > 1:
            add(array, 2.0)  # freed at once, with nobody looking at its memory
        del array
    assert all((view == i).all() for i, view in enumerate(views))
    assert all((np.asarray(array) == 3 * i + 1).all() for i, array in enumerate(sums))
    assert all(float(a) == i and float(b) == i for i, a, b in kept)


def test_a_freed_array_leaves_its_memory_to_the_next():
    double = ct.jit(lambda x: x * 2)
    for size in (10, 1000, 16000):
        x = cnp.ones(size, np.float32)
        places = {np.asarray(double(x)).__array_interface__["data"][0] for _ in range(50)}
        assert len(places) < 20


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.uint16, np.int64, np.float16, np.float64, np.complex64, "bfloat16"]
)
def test_round_trips(dtype):
    x = cnp.array([0, 1, 1], dtype)
    for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), cnp.array(np.asarray(x))):
        assert other.dtype == x.dtype
        assert other.tolist() == x.tolist()


def test_arrays_are_not_hashable():
    with pytest.raises(TypeError):
        hash(cnp.ones(2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: bool(x), ValueError, "needs an array of one element"),
        (lambda x: x.item(), TypeError, "item() needs an array of one element"),
        (lambda x: iter(x[0, 0]), TypeError, "iteration over an array without axes"),
        (lambda x: len(x[0, 0]), TypeError, "len() of an array without axes"),
        (lambda x: x.__delitem__(0), TypeError, "the size of an array cannot change"),
        (lambda x: x.reshape(4, 4), TypeError, "cannot reshape"),
        (lambda x: pow(x, 2, 3), TypeError, "takes no modulus"),
        (lambda x: x.__dlpack__(stream=1), ValueError, "has no streams"),
        (lambda x: x.__array__(np.int8, copy=False), ValueError, "without a copy"),
        (lambda x: x[..., :1].view(np.complex128), TypeError, "is not a whole number of"),
        (lambda x: x[0, 0].view(np.int8), TypeError, "cannot change the size of its elements"),
        (lambda x: ct.Array(), TypeError, "make arrays with ct.numpy.array"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error) as caught:
        call(cnp.array(A))
    assert message in str(caught.value)


def test_traced_values_have_no_value_under_jit():
    for use in (bool, float, lambda x: x.item(), lambda x: x.tolist(), np.asarray):
        with pytest.raises(ct.errors.ConcretizationError):
            ct.jit(use)(1.0)


def test_numpy_numbers_yield_to_arrays_while_64_bits_are_not_the_default():
    single, whole = cnp.ones(3), cnp.arange(3)
    assert (single * np.sqrt(2)).dtype == (np.sqrt(2) * single).dtype == np.float32
    assert cnp.where(single > 0, single, np.float64(0)).dtype == np.float32
    assert (single * np.complex128(1j)).dtype == np.complex64
    weak = cnp.array(0.5)
    for product in (weak * np.sqrt(2), np.sqrt(2) / weak, cnp.where(weak > 0, weak, np.float64(0))):
        assert (product.dtype, product.weak_type) == (np.float32, True)
    assert (weak * np.complex128(1j)).dtype == np.complex64 and (cnp.array(3) * np.float64(0.1)).dtype == np.float64
    np.testing.assert_array_equal(whole * np.float64(0.1), np.arange(3) * 0.1)
    assert (single * np.ones(3)).dtype == np.float64  # an array of float64 stays one
    assert float(cnp.multiply(np.float64(0.1), np.float64(0.1))) == 0.1 * 0.1
    with ct.config.enable_x64(True):
        assert (single * np.sqrt(2)).dtype == np.float64


class Metres(float):
    """A number of a user's, as of a package of units."""


class Phase(complex):
    """The same with two parts."""


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_subclasses_of_pythons_numbers_are_numbers(wrap):
    half, single = cnp.ones(2, "float16"), cnp.ones(2)
    for made in (
        half * Metres(3.0),
        Metres(3.0) * half,
        cnp.multiply(half, Metres(3.0)),
        wrap(lambda x: x * half)(Metres(3.0)),
    ):
        assert (str(made.dtype), made.tolist()) == ("float16", [3.0, 3.0])
    found = wrap(cnp.asarray)(Metres(0.5))
    assert (found.dtype, found.weak_type, float(found)) == (np.float32, True, 0.5)
    assert cnp.array([Metres(1.0), 2.0]).dtype == np.float32
    assert (single * Phase(2j)).tolist() == [2j, 2j] and wrap(cnp.negative)(Phase(2j)).dtype == np.complex64
    assert float(wrap(ct.grad(cnp.square))(Metres(3.0))) == 6.0
    assert wrap(cnp.negative)(np.float64(3.0)).dtype == np.float64  # a subclass, too, of a dtype of its own
    step = ct.jit(lambda x: x + 1)
    assert [float(step(x)) for x in (Metres(1.0), 2.0, Metres(3.0))] == [2.0, 3.0, 4.0]
    assert step._cache_size() == 1


@pytest.mark.parametrize(
    "make", [lambda items: items, collections.deque, collections.UserList], ids=["range", "deque", "user's"]
)
def test_sequences_of_pythons_are_arrays_as_lists_are(make):
    items = make(range(1, 4))
    for found in (cnp.array(items), cnp.asarray(items)):
        assert (found.dtype, found.tolist()) == (np.int32, [1, 2, 3])
    assert int(cnp.sum(items)) == int(np.sum(items)) == 6
    assert ct.jit(lambda x: cnp.add(x, items))(cnp.ones(3)).tolist() == [2.0, 3.0, 4.0]
    assert cnp.concatenate([items, items]).tolist() == [1, 2, 3, 1, 2, 3]
    slope = ct.grad(lambda x: cnp.sum(cnp.array(collections.deque([x, 2 * x])) ** 2))(3.0)
    assert float(slope) == 30.0
    for kind, empty in ((range(0), np.int32), (collections.deque(), np.float32)):
        assert cnp.sum(kind).dtype == cnp.sum(list(kind)).dtype and cnp.array(kind).size == 0, empty
    with pytest.raises(TypeError, match="cannot make an array of a str"):
        cnp.sum("123")
    with pytest.raises(TypeError, match="cannot make an array of a generator"):
        cnp.sum(i for i in range(3))


def test_a_shape_is_whatever_can_be_counted_and_indexed() -> None:
    class Shape:
        """Another library's, registered nowhere."""

        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> int:
            return (2, 3)[index]

    assert cnp.zeros(Shape()).shape == (2, 3)
    assert ct.random.normal(ct.random.key(0), Shape()).shape == (2, 3)
    with pytest.raises(TypeError, match="a size must be an integer"):
        cnp.zeros("23")
    with pytest.raises(TypeError, match="a size must be an integer"):
        cnp.zeros({2: 3})


def test_arrays_without_elements_show_their_shape() -> None:
    """As NumPy's do."""
    for shape in ((0,), (0, 3), (2, 0), (1, 0, 2)):
        assert repr(cnp.zeros(shape)) == "Array" + repr(np.zeros(shape, np.float32)).removeprefix("array")
    assert repr(cnp.zeros((0, 3))) == "Array([], shape=(0, 3), dtype=float32)"


def test_an_element_is_asked_for_by_position_only() -> None:
    assert list(inspect.signature(ct.Array.item).parameters) == ["self", "args"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'use'"):
        cnp.ones(1).item(use="it")
    with pytest.raises(TypeError, match=r"complex\(\) needs an array of one element"):
        complex(cnp.ones(2))


@pytest.mark.parametrize("copy", [None, True, False])
def test_copies_of_reshape(copy: bool | None) -> None:
    """Assigning to the result assigns to the operand, but where a copy was asked for."""
    for shape in ((4,), (2, 2)):
        x = cnp.arange(4)
        y = cnp.reshape(x, shape, copy=copy)
        y[...] = 9
        assert x.tolist() == ([0, 1, 2, 3] if copy else [9] * 4) and y.shape == shape
    x = cnp.array([1.0, np.nan])
    assert cnp.nan_to_num(x, copy=bool(copy)).tolist() == [1.0, 0.0]
    assert np.isnan(x).tolist() == [False, True]
