"""Powers whose exponent is a number of Python's: roots and products, the same in both tiers."""

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

POINTS = np.array([0.0, 1e-30, 0.3, 1.0, 2.0, 7.0, 1e30, np.inf], np.float32)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -1.5, 2.0, 3.0, -1.0, 2.5])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values(exponent: float, dtype: str) -> None:
    x = np.abs(np.random.default_rng(0).standard_normal(100)).astype(dtype) + np.asarray(0.1, dtype)
    exact = x.astype(np.float64) ** exponent
    for power in (lambda a: a**exponent, lambda a: cnp.power(a, exponent)):
        eager, jitted = np.asarray(power(cnp.array(x))), np.asarray(ct.jit(power)(x))
        assert eager.dtype == jitted.dtype == dtype
        np.testing.assert_array_equal(eager, jitted)
        error = np.abs(eager.astype(np.float64) - exact) / np.spacing(np.abs(eager)).astype(np.float64)
        assert error.max() <= (1.5 if exponent != 2.5 or dtype != "float64" else 2)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, -1.5, 2.0, 3.0, -1.0])
def test_ends(exponent: float) -> None:
    with np.errstate(all="ignore"):
        expected = POINTS**exponent
    np.testing.assert_allclose(np.asarray(cnp.array(POINTS) ** exponent), expected, rtol=2e-7)
    assert np.isnan(np.asarray(cnp.array([-4.0]) ** 0.5)).all()


def test_derivatives_at_the_end() -> None:
    assert float(ct.grad(lambda x: x**0.5)(0.0)) == np.inf
    assert float(ct.grad(lambda x: x**-0.5)(4.0)) == -1 / 16
    assert float(ct.grad(ct.grad(lambda x: x**0.5))(4.0)) == -1 / 32
    assert float(ct.grad(lambda x: x**1.5)(0.0)) == 0
    assert float(ct.grad(lambda x: x**1.5)(4.0)) == 3
    assert float(ct.grad(lambda x: x**2.0)(0.0)) == 0
    assert float(ct.grad(lambda x: x**3.0)(-2.0)) == 12


def primitives_of(function: Any, x: Any) -> set[str]:
    lines = ct.jit(function).lower(x).as_text().splitlines()
    return {line.split(" = ")[1].split()[0] for line in lines if " = " in line}


def test_roots_are_no_powers() -> None:
    x = np.ones(3, np.float32)
    assert primitives_of(lambda a: a**0.5, x) == {"sqrt"}
    assert primitives_of(lambda a: a**-0.5, x) == {"sqrt", "full", "div"}
    assert primitives_of(lambda a: a**1.5, x) == {"sqrt", "mul"}
    assert primitives_of(lambda a: a**3.0, x) == {"mul"}
    assert "pow" in primitives_of(lambda a: a**0.5, x.astype(np.float16))  # the reciprocal of a rounded root is off
    assert "pow" in primitives_of(lambda a: a**0.25, x)
    assert "pow" in primitives_of(lambda a: a ** np.float32(0.5), x)
    assert primitives_of(lambda a: a**0.5, np.ones(3, np.int32)) == {"convert", "sqrt"}
    assert (cnp.ones(2, "int32") ** 0.5).dtype == np.float32
