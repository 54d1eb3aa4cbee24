"""What is said where sizes do not fit: of which function and argument, on which line of the user's, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.errors import ConcretizationError, ShapeError

DATA = np.arange(1.0, 6.0)
HERE = r"\n  at .*test_ragged_messages\.py:\d+ .*\n  "
NAMES = HERE + r"where their lengths are one, give both axes the same name in ct\.Ragged\(\.\.\., names=\.\.\.\)"
CUT = HERE + r"make the array of the size of the other's axis, or cut it to that: y\[:x\.shape\[axis\]\]"
Program = Callable[..., Any]


def pair() -> tuple[Any, Any]:
    return ct.Ragged(DATA, {0: 3}), ct.Ragged(DATA, {0: 2})


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (
            lambda x, y: cnp.vdot(x, y),
            ShapeError,
            r"vdot: a\.size is x\.shape\[0\] and b\.size is y\.shape\[0\]; they must be equal" + NAMES,
        ),
        (
            lambda x, y: cnp.interp(1.5, x, y),
            ValueError,
            r"interp: xp\.size is x\.shape\[0\] and fp\.size is y\.shape\[0\]; .*" + NAMES,
        ),
        (
            lambda x, y: cnp.interp(1.5, x, DATA),
            ValueError,
            r"interp: xp\.size is x\.shape\[0\] and fp\.size is 5; .*" + CUT,
        ),
        (
            lambda x, y: ct.ops.segment_sum(x, y.astype("int32"), 3),
            ValueError,
            r"segment_sum: segment_ids\.shape\[0\] is y\.shape\[0\] and data\.shape\[0\] is x\.shape\[0\]; .*" + NAMES,
        ),
        (
            lambda x, y: cnp.gradient(x, y),
            ShapeError,
            r"gradient: f\.shape\[0\] is x\.shape\[0\] and the size of its coordinates is y\.shape\[0\]; .*" + NAMES,
        ),
        (
            lambda x, y: cnp.gradient(x, y[1:]),
            ShapeError,
            r"gradient: f\.shape\[0\] is x\.shape\[0\] and .* is max\(y\.shape\[0\] - 1, 0\); .*"
            + HERE
            + "they must be equal for every length",
        ),
        (
            lambda x, y: cnp.place(x, y > 1, 2.0, inplace=False),
            ValueError,
            r"place: arr\.size is x\.shape\[0\] and mask\.size is y\.shape\[0\]; .*" + NAMES,
        ),
        (
            lambda x, y: ct.random.choice(ct.random.key(0), x, p=y),
            ValueError,
            r"choice: p\.size is y\.shape\[0\] and the number of elements is x\.shape\[0\]; .*" + NAMES,
        ),
        (
            lambda x, y: ct.random.choice(ct.random.key(0), x, p=DATA),
            ValueError,
            r"choice: p\.size is 5 and the number of elements is x\.shape\[0\]; .*" + CUT,
        ),
        (lambda x, y: x.at[:].set(y), ShapeError, r"x\.at\[\.\.\.\]: .*" + HERE + r".*names=\.\.\.\)"),
        (lambda x, y: x if x.shape == y.shape else y, ConcretizationError, r"cannot be settled: .*" + NAMES),
        (lambda x, y: x[: x.shape[0] / 2], TypeError, "slice bounds .*" + HERE + r"for a whole number divide with //"),
        (lambda x, y: x[x.shape[0] / 2], TypeError, "used as indices .*" + HERE + r"for a whole number divide with //"),
        (lambda x, y: cnp.zeros(x.shape[0] / 2), TypeError, "integer .*" + HERE + "for a whole number divide with //"),
        (lambda x, y: cnp.add(x, DATA), ShapeError, "^add: an axis of 5 elements meets a ragged one"),
        (lambda x, y: np.add(x, DATA), ShapeError, "^add: an axis of 5 elements meets a ragged one"),
        (
            lambda x, y: cnp.zeros(cnp.sum(x).astype("int32")),
            ConcretizationError,
            "nothing says how large it can be" + HERE + r"name a bound: ct\.dimension\(value, bound=",
        ),
    ],
)
def test_sizes_that_do_not_fit(f: Program, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ct.mask(f)(*pair())


def test_a_question_to_a_size_says_which_function_asks() -> None:
    with pytest.raises(ConcretizationError, match=r"^split: .* cannot be settled: .*" + HERE):
        ct.mask(lambda x, y: cnp.split(x, x.shape[0]))(*pair())


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        (
            {0: -1},
            ShapeError,
            "axis 0 has length -1, outside 0 … 5, .*\n  a length is the number of elements that are there",
        ),
        ({0: 6}, ShapeError, "axis 0 has length 6, outside 0 … 5, .*\n  pad the data to a larger bound"),
        ({0: True}, TypeError, "the length of axis 0 must be of integers; got bool\n  give an integer"),
        ({0: 3.0}, TypeError, "the length of axis 0 must be of integers; got float32\n  give an integer"),
        ({0: "3"}, TypeError, "the length of axis 0 must be an integer; got '3'\n  give a number from 0 to the bound"),
        (
            {0: None},
            TypeError,
            "the length of axis 0 must be an integer; got None\n  give a number from 0 to the bound",
        ),
        ({"a": 1}, TypeError, "an axis must be an integer; got 'a'\n  number the axes of the data from 0"),
        ({True: 1}, TypeError, "an axis must be an integer; got True\n  number the axes of the data from 0"),
        (
            3,
            TypeError,
            r"lengths must be a dict from axes to lengths; got 3\n  for a length of axis 0 write ct\.Ragged\(data, \{0: 3\}\)",
        ),
        ([3], TypeError, r"lengths must be a dict from axes to lengths; got \[3\]\n  for a length"),
    ],
)
def test_lengths_that_are_none(lengths: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^Ragged: {message}"):
        ct.Ragged(DATA, lengths)


def test_values_of_any_number_are_repeated_where_they_are_put() -> None:
    x, y = pair()
    np.testing.assert_array_equal(
        ct.mask(lambda x, y: cnp.place(x, x > 1, 10 * y, inplace=False))(x, y).unpad(), [1, 10, 20]
    )
    np.testing.assert_array_equal(
        ct.mask(lambda x, y: cnp.put(x, y.astype("int32"), 10 * x, inplace=False))(x, y).unpad(), [1, 10, 20]
    )
    np.testing.assert_array_equal(
        ct.mask(lambda x, y: cnp.put(x, cnp.arange(3), y, inplace=False))(x, y).unpad(), [1, 2, 1]
    )
    square = ct.Ragged(np.ones((5, 5)), {0: 3, 1: 3})
    filled = ct.mask(lambda a, y: cnp.fill_diagonal(a, 10 * y, inplace=False))(square, y)
    expected = np.ones((3, 3))
    np.fill_diagonal(expected, [10, 20])
    np.testing.assert_array_equal(filled.unpad(), expected)
    whole = ct.mask(lambda y: cnp.fill_diagonal(cnp.zeros((3, 3)), y, inplace=False))(y)
    np.testing.assert_array_equal(whole, np.diag([1.0, 2.0, 1.0]))


def test_results_of_callbacks_are_exact() -> None:
    x = ct.Ragged(np.array([2.0, 1.0, 7.0]), {0: 2})
    with pytest.raises(
        ct.errors.ConcretizationError, match=r"(?s)pure_callback: a result of .* ragged size.*\[:x.shape\[0\]\]"
    ):
        ct.mask(lambda x: ct.pure_callback(np.sort, x, x))(x)

    def padded(x: Any) -> Any:
        return np.pad(np.sort(x), (0, 3 - len(x)))

    cut = ct.mask(lambda x: ct.pure_callback(padded, ct.ShapeDtypeStruct((3,), "float64"), x)[: x.shape[0]])
    assert cut(x).tolist() == [1.0, 2.0]


def test_numpy_does_not_take_sizes() -> None:
    x = ct.Ragged(np.arange(3.0), {0: 2})
    with pytest.raises(TypeError, match=r"ct.numpy.zeros\(x.shape\[0\]\) for np.zeros"):
        ct.mask(lambda x: np.zeros(x.shape[0]))(x)
    assert ct.mask(lambda x: ct.numpy.zeros(x.shape[0]))(x).tolist() == [0.0, 0.0]


def test_arrays_of_numpy_do_not_take_traced_indices() -> None:
    table = np.arange(6.0)
    for index in (np.array([1, 2]), 1):
        with pytest.raises(ct.errors.ConcretizationError, match=r"ct.numpy.asarray\(a\)\[i\]"):
            ct.jit(lambda i: table[i])(index)
        assert ct.jit(lambda i: ct.numpy.asarray(table)[i])(index).tolist() == table[index].tolist()

    def write(i: Any) -> Any:
        table[i] = 0.0
        return i

    with pytest.raises(ct.errors.ConcretizationError, match=r"write a\[i\] = x into that"):
        ct.jit(write)(1)
    with pytest.raises(ct.errors.ConcretizationError) as error:
        ct.jit(lambda i: np.asarray(i))(1)
    assert "asarray(a)" not in str(error.value)
