"""Every function keeps the bound that its record states, in the eager tier and compiled: see accuracy_records.py.

By default on a small sample; with --long on one of the size that `./dev accuracy` takes, with another seed.
"""

from __future__ import annotations

from typing import Any

import accuracy
import cotangent as ct
import cotangent.numpy as cnp
import cotangent.scipy.special as special
import numpy as np
import pytest
from accuracy_records import FOLDS, RECORDS, Fold, Record
from mpmath import mp, mpf
from needs import needed

mpmath = needed("mpmath")


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_bounds(record: Record, long_run: bool) -> None:
    for dtype in accuracy.dtypes_of(record):
        result = accuracy.measure(record, dtype, accuracy.POINTS if long_run else 40, seed=int(long_run))
        assert result.worst <= result.bound, f"{result.worst:.1f} ulp of {dtype} at {result.where}"
        assert not result.differ, f"eager and compiled {dtype} differ in {result.differ:.0%}"


@pytest.mark.parametrize("fold", FOLDS, ids=lambda fold: fold.name)
def test_bounds_of_sums_and_products(fold: Fold) -> None:
    for dtype in accuracy.TYPES:
        result = accuracy.measure_fold(fold, dtype, seed=1)
        assert result.worst <= fold.bound, dtype
        assert result.distance <= fold.bound, f"eager and compiled {dtype}"


def test_ulps_are_counted_from_the_exact_value() -> None:
    with mp.workdps(45):
        assert accuracy.error(1.0, mpf(1) + mpf(2) ** -53, "float64", 0.0) == 0.5
        assert accuracy.error(1.0, mpf(1) - mpf(2) ** -54, "float64", 0.0) == 0.5
        assert accuracy.error(2.0**-1074, mpf(0), "float64", 0.0) == 1.0
        assert accuracy.error(0.0, mpf(2) ** -30, "float32", 1.0) == 2.0**-7
        assert accuracy.error(float("inf"), mpf(10) ** 39, "float32", 0.0) == 0.0
        assert accuracy.error(float("inf"), mpf(10) ** 37, "float32", 0.0) == float("inf")
        assert accuracy.error(float("nan"), mpf(1), "float32", 0.0) == float("inf")


def test_the_page_is_written_from_the_records(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert accuracy.main(["--print", "nn.silu", "--points", "10"]) == 0
    assert "| nn.silu | float32 |" in capsys.readouterr().out
    rows = list(accuracy.measurements([record for record in RECORDS if record.name == "sqrt"], 10))
    text = accuracy.page({"Elementary functions": rows}, 10)
    assert text.count("\n| sqrt |") == 4
    page = accuracy.PAGE.read_text()
    missing = [record.name for record in RECORDS if f"\n| {record.name} |" not in page]
    assert not missing, "run ./dev accuracy"


def test_slopes_of_activations_and_tails() -> None:
    """Derivatives were rewritten with the values: against mpmath's, also where values are subnormal."""
    cases = [
        (ct.nn.silu, lambda x: x / (1 + mp.exp(-x))),
        (ct.nn.mish, lambda x: x * mp.tanh(mp.log1p(mp.exp(x)))),
        (lambda x: ct.nn.gelu(x, approximate=False), lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2),
        (special.ndtr, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2),
        (ct.lax.exp2, lambda x: mpf(2) ** x),
        (ct.lax.sinh, mp.sinh),
        (ct.lax.cosh, mp.cosh),
        (ct.lax.asinh, mp.asinh),
        (lambda x: ct.lax.asin(x / 32), lambda x: mp.asin(x / 32)),
        (lambda x: ct.lax.acosh(x + 32), lambda x: mp.acosh(x + 32)),
        (lambda x: ct.lax.rsqrt(x + 32), lambda x: 1 / mp.sqrt(x + 32)),
        (lambda x: ct.nn.log1mexp(x + 32), lambda x: mp.log(-mp.expm1(-x - 32))),
        (ct.nn.squareplus, lambda x: (x + mp.sqrt(x * x + 4)) / 2),
    ]
    points = np.array([-30.0, -11.0, -3.0, -0.2, 0.0, 0.3, 2.0, 9.0])
    for function, exact in cases:
        slopes = ct.vmap(ct.grad(function))(points)
        curvatures = ct.vmap(ct.grad(ct.grad(function)))(points)
        with mp.workdps(60):
            np.testing.assert_allclose(slopes, [float(mp.diff(exact, x)) for x in points], rtol=1e-12)
            np.testing.assert_allclose(
                curvatures, [float(mp.diff(exact, x, 2)) for x in points], rtol=1e-11, atol=1e-73
            )


def test_slopes_of_numbers_that_are_large_or_small() -> None:
    """Where squares and exponentials of the argument overflow or underflow, and the derivative does not."""
    one = np.float32
    cases: list[tuple[Any, float, Any]] = [
        (ct.lax.asinh, 1e30, lambda x: 1 / mp.sqrt(1 + x * x)),
        (ct.lax.asinh, -3.0, lambda x: 1 / mp.sqrt(1 + x * x)),
        (ct.lax.acosh, 1e30, lambda x: 1 / mp.sqrt(x * x - 1)),
        (ct.lax.acosh, 1.0001, lambda x: 1 / mp.sqrt(x * x - 1)),
        (ct.lax.rsqrt, 1e20, lambda x: -1 / (2 * mp.sqrt(x) ** 3)),
        (ct.lax.rsqrt, 1e-20, lambda x: -1 / (2 * mp.sqrt(x) ** 3)),
        (ct.lax.sinh, 89.0, mp.cosh),
        (ct.lax.sinh, 1e-45, mp.cosh),
        (ct.lax.cosh, -89.0, mp.sinh),
        (ct.nn.soft_sign, 1e18, lambda x: 1 / (1 + x) ** 2),
        (ct.nn.soft_sign, -50.0, lambda x: 1 / (1 - x) ** 2),
        (ct.nn.log1mexp, 1e-30, lambda x: 1 / mp.expm1(x)),
        (ct.nn.log1mexp, 86.0, lambda x: 1 / mp.expm1(x)),
        (ct.nn.squareplus, -50.0, lambda x: (1 + x / mp.sqrt(x * x + 4)) / 2),
        (ct.nn.squareplus, -1e17, lambda x: (1 + x / mp.sqrt(x * x + 4)) / 2),
    ]
    for function, point, exact in cases:
        with mp.workdps(80):
            expected = float(exact(mpf(float(one(point)))))
        for slope in (ct.grad(function), ct.jit(ct.grad(function))):
            assert float(slope(one(point))) == pytest.approx(expected, rel=5e-7)


def test_powers_of_two() -> None:
    whole = np.arange(-149, 128)
    np.testing.assert_array_equal(ct.lax.exp2(whole.astype(np.float32)), np.ldexp(np.float32(1), whole))
    whole = np.arange(-1074, 1024)
    np.testing.assert_array_equal(ct.jit(ct.lax.exp2)(whole.astype(np.float64)), np.ldexp(1.0, whole))
    ends = np.float32([-np.inf, -1e30, -151, 128, 1e30, np.inf, np.nan])
    np.testing.assert_array_equal(ct.lax.exp2(ends), [0, 0, 0, np.inf, np.inf, np.inf, np.nan])
    halves = np.float16([-24, -14, 0.5, 15])
    np.testing.assert_array_equal(ct.lax.exp2(halves), np.exp2(halves))


def test_points_where_functions_change_formula() -> None:
    """Values with no digits right before: sums that stopped early or cancelled, and recurrences that overflowed."""
    with mp.workdps(60):
        for a, b, x in [
            (3.7e-18, 0.66, 48.5),
            (-4e-18, 5.4, 50.8),
            (-2e-24, 3.3, 60.5),
            (1e-18, 0.28, 78.4),
            (-2e-27, 1.7, 700.0),
        ]:
            expected = float(mp.hyp1f1(mpf(a), mpf(b), mpf(x)))
            assert float(special.hyp1f1(np.float64(a), b, x)) == pytest.approx(expected, rel=1e-12)
        for a, b, c, x in [(-3.9, -0.0245, 4.07, -4.05), (-3.6, 8e-301, 2.0, -4.5), (0.00299, -3.04, 3.74, -3.87)]:
            expected = float(mp.hyp2f1(mpf(a), mpf(b), mpf(c), mpf(x)))
            assert float(special.hyp2f1(np.float64(a), b, c, x)) == pytest.approx(expected, rel=1e-13)
        for x in (1e-30, 1e-3, 0.02, 70.0, 1000.0):
            expected = [float(mp.besselj(k, mpf(x))) for k in range(4)]
            np.testing.assert_allclose(special.bessel_jn(np.float64(x), v=3), expected, rtol=1e-12)
        assert np.isnan(np.asarray(special.bessel_jn(np.float64(2e5), v=1))).all()
        for s, q in [(2.0, -1e-71), (3.0, -2e-15), (5.0, -0.00062), (4.0, -3.0001), (3.0, -2.5)]:
            expected = float(mp.zeta(mpf(s), mpf(q)))
            assert float(special.zeta(np.float64(s), q)) == pytest.approx(expected, rel=1e-13)
    slope = ct.grad(lambda x: special.bessel_jn(x, v=3)[2])(np.float64(60.0))
    assert float(slope) == pytest.approx(float(mp.diff(lambda x: mp.besselj(2, x), 60.0)), rel=1e-11)


def test_edges_of_functions_of_several_arguments() -> None:
    """Against closed forms: poles that meet, large numbers whose logarithms cancel, results that overflow."""
    numbers = np.array
    expected = [1 / 20, 1 / 6, 0.5, 0.0, np.inf, 1e5 * (1e5 + 1), 1e-150, 40.0 * 41 * 42]
    z = numbers([-3.0, -1.0, 0.0, -3.0, 0.5, 1e5, 1e300, 40.0])
    m = numbers([-2.0, -2.0, -2.0, 0.5, -2.5, 2.0, -0.5, 3.0])
    np.testing.assert_allclose(special.poch(z, m), expected, rtol=1e-13)
    # T(h, 1) is half the product of the probabilities above and below h.
    h = numbers([8.0, 20.0, 30.5])
    np.testing.assert_allclose(
        special.owens_t(h, 1.0), 0.5 * np.asarray(special.ndtr(-h) * special.ndtr(h)), rtol=1e-13
    )
    np.testing.assert_allclose(special.hyp1f1(-2.0, numbers([-2.0, -3.0]), 1.0), [2.5, 11 / 6], rtol=1e-15)
    assert float(special.hyp1f1(-4.0, np.float64(-3.0), 1.0)) == np.inf
    assert float(special.hyp2f1(-2.0, 1.5, np.float64(-3.0), 0.5)) == pytest.approx(
        1 + 0.5 + 7.5 / 12 * 0.25, rel=1e-15
    )
    assert np.isnan(float(special.hyp2f1(1.0, 1.0, 1.0, np.nan)))
    below = special.wofz(numbers([-100j, 1 - 30j, -5 - 30j]))
    assert np.isinf(np.asarray(below.real)).all()
    np.testing.assert_array_equal(below.imag, [0.0, -np.inf, np.inf])
    with mp.workdps(60):
        exact = complex(mp.exp(-(mp.mpc(0.3, -4.0) ** 2)) * mp.erfc(-1j * mp.mpc(0.3, -4.0)))
        gammas = [float(mp.gamma(mpf(x))) for x in (-175.2, -171.5)]
        singles = [float(mp.gamma(mpf(float(np.float32(x))))) for x in (-34.9, -36.3)]
    assert complex(special.wofz(0.3 - 4.0j + np.complex128(0))) == pytest.approx(exact, rel=1e-14)
    np.testing.assert_allclose(special.gamma(numbers([-175.2, -171.5])), gammas, rtol=1e-12)
    np.testing.assert_allclose(special.gamma(numbers([-34.9, -36.3], np.float32)), singles, rtol=0, atol=3e-45)


def test_infinities_and_nan() -> None:
    line = np.array([np.inf, -np.inf, np.nan, 0.0])
    sine, cosine = special.sici(line)
    np.testing.assert_array_equal(sine, [np.pi / 2, -np.pi / 2, np.nan, 0])
    np.testing.assert_array_equal(cosine, [0, np.nan, np.nan, -np.inf])
    np.testing.assert_array_equal(special.fresnel(line)[0], [0.5, -0.5, np.nan, 0])
    np.testing.assert_array_equal(special.exp1(line), [0, np.nan, np.nan, np.inf])
    np.testing.assert_array_equal(special.expi(line), [np.inf, 0, np.nan, -np.inf])
    np.testing.assert_array_equal(special.ndtr(line), [1, 0, np.nan, 0.5])
    np.testing.assert_array_equal(ct.nn.gelu(cnp.asarray(line), approximate=False)[0], np.inf)
