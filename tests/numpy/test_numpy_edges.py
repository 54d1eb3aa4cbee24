"""Functions of `ct.numpy` at the edges of what they take: indices outside, nothing to work on, NaN, sizes that are values, weak types."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


@pytest.mark.parametrize("mode", ["clip", "wrap"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_choose_moves_numbers_outside_as_numpy_does(mode: str, dtype: str) -> None:
    a = np.array([[-7, -1, 0], [2, 3, 100]], dtype)
    choices = [np.full(3, 10.0), np.full(3, 20.0), np.full((2, 3), 30.0)]
    expected = np.choose(a, choices, mode=mode)
    assert np.array_equal(cnp.choose(a, choices, mode=mode), expected)
    assert np.array_equal(ct.jit(lambda a: cnp.choose(a, choices, mode=mode))(a), expected)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_choices_may_be_more_than_the_dtype_of_the_numbers_holds(mode: str) -> None:
    a, choices = np.array([-1, 3, 127], np.int8), [np.int32(i) for i in range(31)] * 5
    assert len(choices) == 155
    expected = np.array(choices)[np.clip(a.astype(int), 0, 154) if mode == "clip" else a.astype(int) % 155]
    assert np.array_equal(cnp.choose(a, choices, mode=mode), expected)


@pytest.mark.parametrize("divisor", [[0.0, 1.0], [0.0, 0.0, 2.0]])
def test_a_remainder_of_nan_is_kept(divisor: list[float]) -> None:
    with np.errstate(all="ignore"):
        quotient, rest = np.polydiv(np.array([1.0, 2.0, 3.0, 4.0]), np.array(divisor))
    ours = cnp.polydiv(np.array([1.0, 2.0, 3.0, 4.0]), np.array(divisor), trim_leading_zeros=True)
    assert [x.shape for x in ours] == [quotient.shape, rest.shape]
    assert np.array_equal(np.isnan(ours[1]), np.isnan(rest))


@pytest.mark.parametrize("total", [0, 1, 4])
def test_elements_are_repeated_as_often_as_values_say(total: int) -> None:
    def repeat(x: Any, n: Any) -> Any:
        return cnp.repeat(x, n, axis=0, total_repeat_length=total)

    x = np.arange(6.0).reshape(3, 2)
    expected = np.repeat(x, [2, 0, 3], axis=0)[:total]
    assert np.array_equal(ct.jit(repeat)(x, np.array([2, 0, 3])), expected)
    assert np.array_equal(repeat(x, np.array([2, 0, 3])), expected)


def test_nothing_is_repeated_to_nothing() -> None:
    repeat = ct.jit(lambda x, n: cnp.repeat(x, n, axis=0, total_repeat_length=0))
    assert repeat(np.ones((0, 2)), 3).shape == (0, 2)
    assert cnp.repeat(np.ones((0, 2)), np.array([], int), axis=0, total_repeat_length=0).shape == (0, 2)


@pytest.mark.parametrize("at", [[0, 5, 11, -1, -12], [[50], [-50]], 7])
def test_positions_are_unravelled_by_sizes_that_are_values(at: Any) -> None:
    index = np.array(at)
    inside = np.clip(index, -12, 11)
    expected = np.unravel_index(np.where(inside < 0, inside + 12, inside), (3, 4))
    for found in (
        ct.jit(cnp.unravel_index)(index, (3, 4)),
        ct.jit(lambda i, n: cnp.unravel_index(i, (n, 4)))(index, 3),
        ct.vmap(lambda n: cnp.stack(cnp.unravel_index(index, (n, 4))))(np.array([3, 3]))[1],
        cnp.unravel_index(index, (3, 4)),
    ):
        assert np.array_equal(np.stack(found), np.stack(expected))


@pytest.mark.parametrize("wrap", [lambda f: f, ct.jit], ids=["eager", "jit"])
def test_positions_of_more_elements_than_their_dtype_counts(wrap: Any) -> None:
    for shape in ((2**20, 2**20), (2**40, 3), (3, 2**40), (300,), (2, 2**31)):
        for order in ("C", "F"):
            for dtype in ("int8", "int32", "int64", "uint8"):
                at = np.array([0, 5, 100], dtype)
                found = wrap(lambda at, shape=shape, order=order: cnp.unravel_index(at, shape, order))(at)
                expected = np.unravel_index(at.astype(np.int64), shape, order)
                assert [x.tolist() for x in found] == [x.tolist() for x in expected], (shape, order, dtype)
    last = wrap(lambda at: cnp.unravel_index(at, (2**20, 2**20)))(np.int32(-1))
    assert ([int(x) for x in last], last[0].dtype) == ([2**20 - 1] * 2, np.int32)
    assert int(cnp.unravel_index(np.int8(-1), (300,))[0]) == 299
    assert [x.dtype for x in cnp.unravel_index(np.int8(3), (3, 4))] == [np.int8, np.int8]
    with pytest.raises(ValueError, match=r"unravel_index: an array of .* elements is too large"):
        cnp.unravel_index(5, (2**40, 2**40))


def test_ranges_without_a_number_of_elements() -> None:
    for arguments in ((np.inf,), (0, np.inf, 0.5), (np.nan,), (0, 1, np.nan), (-np.inf, 0)):
        with pytest.raises(ValueError, match="is no number of elements"):
            cnp.arange(*arguments)
    for arguments in ((None,), (None, 3)):
        with pytest.raises(TypeError, match=r"arange: .*; got None"):
            cnp.arange(*arguments)
    assert cnp.arange(0, 3, np.inf).tolist() == [] and cnp.arange(0, None, None).tolist() == []


def test_a_range_is_an_index() -> None:
    x = cnp.arange(12.0).reshape(3, 4)
    for index in (range(2), range(2, 0, -1), range(0), (slice(None), range(1, 4, 2)), (range(2), range(1, 3))):
        assert np.array_equal(x[index], np.asarray(x)[index])
        assert np.array_equal(
            ct.jit(lambda x, index=index: x.at[index].add(1.0))(x) - np.asarray(x), x.at[index].add(1.0) - x
        )
    assert x.at[range(2)].set(0.0)[:, 0].tolist() == [0.0, 0.0, 8.0]


def test_the_symmetric_difference_of_what_is_not_unique_is_numpys() -> None:
    x, y = np.array([3, 1, 1, 2, 7]), np.array([2, 2, 5, 3])
    for unique in (False, True):
        assert np.array_equal(cnp.setxor1d(x, y, unique), np.setxor1d(x, y, unique))
        sized = cnp.setxor1d(x, y, unique, size=6, fill_value=-1)
        expected = np.setxor1d(x, y, unique)
        assert np.array_equal(sized, [*expected, *([-1] * (6 - len(expected)))])
        assert cnp.setxor1d(np.array([]), np.array([]), unique).shape == (0,)


def test_arrays_are_made_like_what_has_a_shape_and_a_dtype() -> None:
    class Said:
        shape, dtype = (2, 3), np.dtype("int16")

    for make, value in ((cnp.zeros_like, 0), (cnp.ones_like, 1), (lambda x: cnp.full_like(x, 7), 7)):
        found = make(Said())
        assert (found.shape, found.dtype, found.tolist()) == ((2, 3), "int16", [[value] * 3] * 2)
    assert cnp.empty_like(Said(), dtype="float32").dtype == "float32"
    assert cnp.zeros_like(Said(), shape=(4,)).shape == (4,)


def test_zeros_of_a_scalar_are_not_trimmed() -> None:
    assert cnp.trim_zeros(np.array(0)).shape == ()
    assert float(cnp.trim_zeros(np.array(2.0))) == 2.0


@pytest.mark.parametrize(
    ("dtype", "kind", "answer"),
    [
        ("float32", object, False),
        (object, np.floating, False),
        (object, object, True),
        (np.str_, np.character, True),
        (cnp.bfloat16, object, False),
        (cnp.bfloat16, np.floating, True),
    ],
)
def test_dtypes_that_arrays_have_not_are_of_no_kind_of_theirs(dtype: Any, kind: Any, answer: bool) -> None:
    assert cnp.issubdtype(dtype, kind) is answer
    assert cnp.issubdtype(ct.random.key(0).dtype, np.generic)


def test_a_difference_begins_with_a_number_and_leaves_elements_out() -> None:
    x, where = np.arange(12.0).reshape(3, 4), np.array([[True, False, True, True], [False] * 4, [True] * 4])
    expected = np.subtract.reduce(x, axis=1, where=where, initial=5.0)
    assert np.array_equal(cnp.subtract.reduce(x, axis=1, where=where, initial=5.0), expected)


def test_updates_of_weak_arrays_by_numbers_are_weak() -> None:
    x = cnp.full((3,), 1.0)
    weak = cnp.broadcast_to(1.0, (3,))
    assert (weak.weak_type, x.weak_type) == (True, cnp.full((3,), 1.0).weak_type)
    for method in ("set", "add", "multiply", "min", "max"):
        assert getattr(weak.at[0], method)(2.0).weak_type
        assert not getattr(weak.at[0], method)(np.float32(2)).weak_type
        assert not getattr(cnp.ones(3).at[0], method)(2.0).weak_type
    assert (weak.at[1].set(3.0) * cnp.ones(3, "float16")).dtype == "float16"
