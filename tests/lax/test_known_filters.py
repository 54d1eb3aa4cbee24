"""Filters of single features whose numbers are known when a function is captured are numbers of the program."""

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

RING = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], np.float32)[None, None]


def convolved(x: Any, filters: Any, groups: int = 1) -> Any:
    return lax.conv_general_dilated(x, filters, (1, 1), "SAME", feature_group_count=groups)


def operations(function: Any, *arguments: Any) -> list[str]:
    lines = ct.jit(function).lower(*arguments).as_text().splitlines()
    return [line.split(" = ")[1].split()[0] for line in lines if " = " in line]


def test_ones_are_no_products() -> None:
    x = np.random.default_rng(0).standard_normal((2, 1, 6, 7)).astype(np.float32)
    made = operations(lambda x: convolved(x, cnp.array(RING)), x)
    assert made.count("mul") == 1
    assert made.count("add") == 8
    assert operations(convolved, x, RING).count("mul") == 9


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "complex64"])
@pytest.mark.parametrize("each", [1, 2])
def test_values_are_those_of_filters_that_are_given(dtype: str, each: int) -> None:
    random = np.random.default_rng(0)
    x = (random.standard_normal((2, 3, 6, 7)) * 4).astype(dtype)
    filters = random.integers(-2, 3, (3 * each, 1, 3, 2)).astype(dtype)
    filters[:, :, 0] = 2  # one number for all features
    filters[:, :, 1, 0] = 1
    known = ct.jit(lambda x: convolved(x, cnp.array(filters), 3))(x)
    given = ct.jit(lambda x, filters: convolved(x, filters, 3))(x, filters)
    assert known.dtype == given.dtype == dtype
    np.testing.assert_array_equal(np.asarray(known), np.asarray(given))


def test_zeros_keep_what_is_not_a_number() -> None:
    x = np.zeros((1, 1, 3, 3), np.float32)
    x[0, 0, 1, 1] = np.nan
    assert np.isnan(np.asarray(ct.jit(lambda x: convolved(x, cnp.array(RING)))(x))).all()


def test_loops_and_derivatives() -> None:
    x = np.random.default_rng(0).standard_normal((1, 1, 8, 8)).astype(np.float32)

    def loss(x: Any, filters: Any) -> Any:
        return cnp.sum(lax.fori_loop(0, 3, lambda _, x: cnp.tanh(convolved(x, filters)), x) ** 2)

    known = ct.jit(ct.grad(lambda x: loss(x, cnp.array(RING))))(x)
    given = ct.jit(ct.grad(loss))(x, RING)
    np.testing.assert_allclose(np.asarray(known), np.asarray(given), rtol=1e-5, atol=1e-6)
