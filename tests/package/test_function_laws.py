"""The laws of public functions (`function_laws.py`) are not kept by functions that are wrong."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import function_laws as laws
import numpy as np
import pytest

ROWS = [[np.array([1.0, 2.0, 3.0], np.float32)], [np.array([4.0, 5.0, 7.0], np.float32)]]


@ct.custom_jvp
def half_derivative(x: Any) -> Any:
    return cnp.sum(x * x)


half_derivative.defjvp(lambda primals, tangents: (half_derivative(*primals), cnp.sum(primals[0] * tangents[0])))


def test_comparisons_are_of_shapes_and_of_values_to_their_precision() -> None:
    x = np.array([1.0, 2.0], np.float32)
    laws.compare(x, x * (1 + 1e-6), 1.0)
    laws.compare(x.astype("float16"), x * 1.001, 1.0)
    for other in (x * 1.001, x[:1], x * np.nan):
        with pytest.raises(AssertionError):
            laws.compare(x, other, 1.0)
    with pytest.raises(AssertionError):
        laws.compare(np.array([1, 2]), np.array([1, 3]), 1e9)


def test_a_batch_that_is_no_loop_is_found() -> None:
    laws.batch_is_a_loop(lambda x: [cnp.sum(x), x], ROWS, 1.0)
    calls: list[int] = []

    def counting(x: Any) -> list[Any]:
        calls.append(1)
        return [x * len(calls)]

    with pytest.raises(AssertionError):
        laws.batch_is_a_loop(counting, ROWS, 1.0)


def test_a_wrong_derivative_is_found() -> None:
    values = [np.array([0.5, 2.0, -1.0])]
    with ct.config.enable_x64(True):
        laws.derivatives_are_right(lambda x: [cnp.sum(x * x)], values, [0], None, 1.0)
        with pytest.raises(AssertionError):
            laws.derivatives_are_right(lambda x: [half_derivative(x)], values, [0], None, 1.0)
        with pytest.raises(AssertionError, match="nothing of the result can be differentiated"):
            laws.derivatives_are_right(lambda x: [cnp.argmax(x)], values, [0], None, 1.0)


def test_garbage_stands_behind_a_length_and_axes_that_are_as_long_are_ragged_too() -> None:
    x, y, other = np.ones((3, 2), np.float32), np.ones((3, 4), np.int32), np.ones((2, 2), np.float32)
    padded, exact = laws.ragged_values([x, y, other], 0)
    assert [value.shape for value in exact] == [(2, 2), (2, 4), (2, 2)]
    assert np.isnan(np.asarray(padded[0].data)[2]).all() and (np.asarray(padded[1].data)[2] == 77).all()
    assert padded[2] is other
    assert laws.ragged_values([x], {0: (0, 1)}, 1)[1][0].shape == (1, 1)


def test_a_wrong_mask_is_found() -> None:
    padded, exact = laws.ragged_values(ROWS[0], 0)
    laws.mask_is_never_wrong(lambda x: [cnp.sum(x)], padded, exact, 1.0)
    laws.mask_is_never_wrong(lambda x: [x.reshape(5)], padded, exact, 1.0)  # refused for the exact array, too
    with pytest.raises(AssertionError):
        laws.mask_is_never_wrong(lambda x: [cnp.sum(x)], padded, [exact[0] + 1], 1.0)
    with pytest.raises(AssertionError, match="by ragged axes"):
        laws.are_slices([padded[0]], [exact[0] + 1], 1.0, "by ragged axes")
