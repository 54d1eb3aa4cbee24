"""What docs/determinism.md promises: the eager tier and compiled code agree in every bit, element by element."""

from __future__ import annotations

import cotangent as ct
import cotangent.lax as lax
import cotangent.numpy as cnp
import cotangent.scipy.special as special
import ml_dtypes
import numpy as np
import pytest

UNARY = {
    "exp": cnp.exp, "expm1": cnp.expm1, "log": cnp.log, "log1p": cnp.log1p, "tanh": cnp.tanh, "erf": lax.erf,
    "sin": cnp.sin, "cos": cnp.cos, "sqrt": cnp.sqrt, "cbrt": cnp.cbrt, "arcsinh": cnp.arcsinh,
}  # fmt: skip
BINARY = {"pow": lax.pow, "atan2": lax.atan2, "rem": lax.rem, "div": lax.div, "logaddexp": cnp.logaddexp}
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}


def patterns(dtype: str, count: int, seed: int) -> np.ndarray:
    """Half random bits, so all exponents, infinities and NaN; half numbers of ordinary size."""
    random = np.random.default_rng(seed)
    unsigned = np.dtype(f"uint{8 * np.dtype(TYPES[dtype]).itemsize}")
    bits = random.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True).view(TYPES[dtype])
    return np.concatenate([bits, (4 * random.standard_normal(count)).astype(TYPES[dtype])])


def assert_same_bits(first: object, second: object) -> None:
    first, second = np.asarray(first), np.asarray(second)
    unsigned = np.dtype(f"uint{8 * first.dtype.itemsize}")
    both_nan = np.isnan(first.astype(np.float64)) & np.isnan(second.astype(np.float64))
    np.testing.assert_array_equal(
        np.where(both_nan, 0, first.view(unsigned)), np.where(both_nan, 0, second.view(unsigned))
    )


@pytest.mark.parametrize("dtype", TYPES)
def test_elementwise_operations_have_the_same_bits_in_both_tiers(dtype: str, long_run: bool) -> None:
    count = 1 << (18 if long_run else 13)
    x, y = cnp.asarray(patterns(dtype, count, 0)), cnp.asarray(patterns(dtype, count, 1)[::-1].copy())
    for function, operands in [*((f, (x,)) for f in UNARY.values()), *((f, (x, y)) for f in BINARY.values())]:
        with ct.disable_jit():
            eager = function(*operands)
        assert_same_bits(eager, ct.jit(function)(*operands))


def test_lengths_that_fill_no_register() -> None:
    """The interpreter's loops take what is left over by other instructions than the rest."""
    x = patterns("float32", 300, 2)
    for function in (cnp.exp, cnp.sin, cnp.log):
        whole = np.asarray(function(x))
        for start, stop in [(0, 1), (3, 10), (17, 290), (5, 262), (255, 258)]:
            assert_same_bits(function(x[start:stop]), whole[start:stop])
        assert_same_bits(np.array([function(number) for number in x[:20]]), whole[:20])


def test_the_first_eager_derivative_has_the_bits_of_the_second() -> None:
    """The first is interpreted, later ones are compiled."""
    x = np.random.default_rng(3).standard_normal(200).astype(np.float32)

    def function(x: ct.Array) -> ct.Array:
        return ct.nn.gelu(x) * cnp.sin(x) + special.gammaln(cnp.exp(x))

    slope = ct.vmap(ct.grad(function))
    assert_same_bits(slope(x), slope(x))
