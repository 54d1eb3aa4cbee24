"""Values and derivatives at the edges of what a dtype holds, the same in every tier: eagerly, compiled and interpreted.

The expected numbers are of mpmath at 60 digits where nothing else is said.
"""

import math

import cotangent as ct
import cotangent.numpy as cnp
import cotangent.scipy.special as special
import numpy as np
import pytest
from cotangent import lax

inf, nan = math.inf, math.nan

TIERS = {
    "eager": lambda function: function,
    "jit": ct.jit,
    "interpreter": lambda function: ct.jit(function, backend="interpreter"),
}


@pytest.fixture(params=list(TIERS))
def tier(request):
    return TIERS[request.param]


def close(result, expected, dtype, ulps=16):
    np.testing.assert_allclose(
        np.asarray(result, "float64"), np.asarray(expected, "float64"), rtol=ulps * float(np.finfo(dtype).eps)
    )


# ---- Integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "preferred", "value", "expected"),
    [
        ("uint8", "int32", 255, 300 * 255**2),
        ("uint8", "int64", 255, 300 * 255**2),
        ("uint8", "uint32", 255, 300 * 255**2),
        ("int8", "uint16", -100, 300 * 100**2 % 2**16),
        ("int8", "int16", -100, np.int64(300 * 100**2).astype("int16")),
        ("uint16", "int32", 300, 300 * 300**2),
        ("bool", "uint16", True, 300),
        ("int32", "int8", 1000, np.int64(300 * 1000**2).astype("int8")),
    ],
)
def test_products_of_narrow_integers_are_summed_in_the_preferred_dtype(tier, given, preferred, value, expected):
    x = cnp.full(300, value, given)
    for product in (lax.dot, cnp.dot, cnp.vdot, cnp.inner):
        if product is not lax.dot and preferred == "int8":
            continue
        result = tier(lambda x, product=product: product(x, x, preferred_element_type=preferred))(x)
        assert result.dtype == preferred
        assert int(result) == int(expected)
    rows = tier(lambda x: lax.dot(x, x.T, preferred_element_type=preferred))(cnp.full((2, 300), value, given))
    assert rows.tolist() == [[int(expected)] * 2] * 2


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_integers_divided_by_zero_are_zero_as_numpys(tier, dtype):
    x = np.array([5, 250 if dtype.startswith("u") else -5, 0, 7], dtype)
    y = np.array([0, 0, 0, 3], dtype)
    for name in ("remainder", "floor_divide", "fmod", "mod"):
        with np.errstate(divide="ignore"):
            expected = getattr(np, name)(x, y)
        result = tier(getattr(cnp, name))(x, y)
        assert result.dtype == dtype
        assert result.tolist() == expected.tolist(), name
    x, y = cnp.array(x), cnp.array(y)
    assert tier(lambda x: x % 0)(x).tolist() == [0, 0, 0, 0]
    assert tier(lambda x: x // 0)(x).tolist() == [0, 0, 0, 0]
    assert tier(lambda y: 7 % y)(y).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_divisors_and_multiples_of_the_lowest_integer(tier, dtype):
    lowest = np.iinfo(dtype).min
    x = np.array([lowest, 6, lowest, lowest, 0], dtype)
    y = np.array([6, lowest, lowest, 0, lowest], dtype)
    assert tier(cnp.gcd)(x, y).tolist() == [2, 2, lowest, lowest, lowest]
    with np.errstate(all="ignore"):
        assert tier(cnp.gcd)(x, y).tolist() == np.gcd(x, y).tolist()
    assert tier(cnp.lcm)(np.array([-4, lowest], dtype), np.array([6, 1], dtype)).tolist() == [12, lowest]


# ---- Gamma -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "x"),
    [
        ("float32", [-4.4e-23, -1e-25, -1e-38, -1e-9, -1.1e-8, 1e-25, -0.3]),
        ("float64", [-1e-176, -1e-300, -4.4e-23, -1.1e-16, -0.9e-16, 1e-300, -0.3]),
    ],
)
def test_gamma_close_to_zero(tier, dtype, x):
    x = np.array(x, dtype)
    # 1/x - 0.5772 + 0.9891 x
    expected = [1 / float(v) - 0.5772156649015329 if abs(v) < 0.1 else math.gamma(float(v)) for v in x]
    close(tier(special.gamma)(x), expected, dtype)


@pytest.mark.parametrize(("dtype", "x"), [("float32", [-1e-15, -1e-18, 1e-10]), ("float64", [-1e-76, -1e-150, 1e-140])])
def test_gradient_of_gamma_close_to_zero(tier, dtype, x):
    x = np.array(x, dtype)
    close(tier(ct.vmap(ct.grad(special.gamma)))(x), -1 / x.astype("float64") ** 2, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_polygamma_in_the_middle_of_two_poles(tier, dtype):
    # Of even orders only what lies beyond the reflection of x is left.
    orders, x = np.array([2, 6, 20, 20, 6], dtype), np.array([-0.5, -2.5, -0.5, -1.5, -7.5], dtype)
    expected = [
        -0.828796644234319996,
        -0.138358107550035202,
        -487772949462609.874,
        -10709198259.1241325,
        -0.000445639875254325043,
    ]
    close(tier(special.polygamma)(orders, x), expected, dtype)
    close(tier(special.zeta)(np.array([7.0], dtype), np.array([-2.5], dtype)), [expected[1] / -720], dtype)


def test_logarithm_of_gamma_at_the_ends_of_the_dtype(tier):
    big, bigger = np.finfo("float32").max, np.finfo("float64").max
    single = np.array([-1e-45, 1e-45, -1e-40, -big, big, -inf, -8388609.0], "float32")
    close(tier(special.gammaln)(single), [103.27892990343185] * 2 + [92.10340371976183, inf, inf, inf, inf], "float32")
    double = np.array([-5e-324, -1e-310, -bigger, bigger, -1e-19, -0.5], "float64")
    expected = [744.4400719213812, 713.8013788281542, inf, inf, 43.74911676688687, 1.2655121234846454]
    close(tier(special.gammaln)(double), expected, "float64")


# ---- Bessel functions ------------------------------------------------------------------------------------------------

BESSEL_AT = [1e-20, 1e-6, 1e-3, 0.1, 1.0, 5.0, 8.5]
BESSEL = {
    ("i1", 2): [3.75e-21, 3.7500000000005205e-07, 0.00037500005208333564, 0.037552106124675105, 0.42941143422544675, 20.83451914912568, 579.0090156980481],
    ("i1", 3): [0.375, 0.37500000000015626, 0.3750001562500114, 0.3765636396647695, 0.5429906790681531, 19.606288762619144, 554.2904982190477],
    ("i0", 3): [3.75e-21, 3.7500000000005205e-07, 0.00037500005208333564, 0.037552106124675105, 0.42941143422544675, 20.83451914912568, 579.0090156980481],
    ("i0e", 3): [-2.5, -2.4999956250039377, -2.495628935094867, -2.0995764076908334, -0.4576042998208261, -0.0034812036587208526, -0.00047304389449926527],
    ("i1e", 2): [-1.0, -0.99999812500175, -0.9981267489067654, -0.828955917831943, -0.1498163306826706, 0.0028614342819426684, 0.0010731843678164705],
    ("i1e", 3): [1.875, 1.8749965000032813, 1.8715032791884771, 1.5558441454713177, 0.2914773535925269, -0.0007727120867101569, -0.0002695454735102504],
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "order"), list(BESSEL))
def test_higher_derivatives_of_bessel_functions(dtype, name, order):
    function = getattr(special, name)
    for _ in range(order):
        function = ct.grad(function)
    x = np.array(BESSEL_AT, dtype)
    absolute = (
        256 * float(np.finfo(dtype).eps) if name.endswith("e") else 0
    )  # of functions that are differences of 1 and 1
    result = np.asarray(ct.vmap(function)(x), "float64")
    np.testing.assert_allclose(result, BESSEL[name, order], rtol=64 * float(np.finfo(dtype).eps), atol=absolute)
    np.testing.assert_allclose(
        np.asarray(ct.jit(ct.vmap(function))(x)), result, rtol=64 * float(np.finfo(dtype).eps), atol=absolute
    )
    odd = -1 if (order + (name[1] == "1")) % 2 else 1
    close(ct.vmap(function)(-x), odd * result, dtype)


# ---- Integrals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_dawsons_integral_far_out(tier, dtype):
    x = np.array([5.5, -30.0, 1e3, 1e6], dtype)
    first = [-0.017425555418302360, -0.00055648406355054791, -5.0000075000187501e-07, -5.0000000000075e-13]
    second = [0.0066946449798164361, -3.7161010914522772e-05, 1.0000030000112501e-09, 1.000000000003e-18]
    close(tier(ct.vmap(ct.grad(special.dawsn)))(x), first, dtype)
    close(tier(ct.vmap(ct.grad(ct.grad(special.dawsn))))(x), second, dtype, ulps=64)


def test_derivatives_of_the_sine_integral_at_zero(tier):
    function, expected = lambda x: special.sici(x)[0], [1.0, 0.0, -1 / 3, 0.0, 0.2]
    for value in expected:
        function = ct.grad(function)
        assert float(tier(function)(np.float64(0))) == pytest.approx(value, abs=1e-15)


def test_wofz_at_infinity(tier):
    below = np.asarray(tier(special.wofz)(np.array([inf - 1j, -inf - 3e38j, complex(0, -inf), complex(0, inf), inf])))
    assert below.tolist() == [0, 0, complex(inf, 0), 0, 0]


def test_derivative_of_poch_by_a_step_of_nothing(tier):
    # That of the logarithm of the gamma function: 1 - Euler's constant at 2.
    assert float(tier(ct.grad(special.poch, 1))(np.float64(2), np.float64(0))) == pytest.approx(0.42278433509846713)


# ---- The normal distribution -----------------------------------------------------------------------------------------

LOG_NDTR = {
    # x: first, second and third derivative
    -1e8: (100000000.00000001, -0.9999999999999999, 2.000000000000008e-24),
    -1e5: (100000.00001, -0.9999999999, 1.9999999976e-15),
    -1e4: (10000.000099999997, -0.9999999900000006, 1.99999976000003e-12),
    -20.0: (20.04975306852785, -0.9975367383849478, 0.00024272657893584202),
    -5.5: (5.671410313897305, -0.9721382221455538, 0.008618943522316106),
    -4.5: (4.704319844827732, -0.9611859007152245, 0.013795416560255427),
    -1.0: (1.525135276160981, -0.8009023344296512, 0.11693119540604884),
    0.5: (0.5091604338370335, -0.5138245643036329, 0.27099012446870785),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivatives_of_the_logarithm_of_the_normal_distribution(tier, dtype):
    x = np.array(list(LOG_NDTR), dtype)
    function = special.log_ndtr
    for order in range(3):
        function = ct.grad(function)
        expected = [values[order] for values in LOG_NDTR.values()]
        close(tier(ct.vmap(function))(x), expected, dtype, ulps=(4, 64, 4096)[order])
    close(tier(ct.vmap(ct.grad(special.log_ndtr)))(np.array([-inf, -1e30, 40.0], dtype))[:2], [inf, 1e30], dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_derivative_of_erfcx(tier, dtype):
    x = np.array([1e5, 100.0, 4.0, 3.0, 0.5, -1.0], dtype)
    expected = [
        -5.641895834631278e-11, -5.6410497625993184e-05, -0.032383506095021455, -0.05437226000717287,
        -0.5126888229025867, -11.14633932862008,
    ]  # fmt: skip
    close(tier(ct.vmap(ct.grad(special.erfcx)))(x), expected, dtype, ulps=64)


# ---- Norms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "scales"), [("float32", [3e-25, 1e-38, 1.0, 3e25]), ("float64", [1e-200, 1e-300, 1e200])]
)
@pytest.mark.parametrize("ord", [None, 2, 3, "fro"])
def test_norms_of_tiny_and_huge_numbers(tier, dtype, scales, ord):
    shape = (2, 1) if ord == "fro" else (2,)

    def size(x):
        return cnp.linalg.norm(x, ord)

    unit = np.array([3.0, 4.0]) / (5.0 if ord != 3 else 91.0 ** (1 / 3))
    slope = unit if ord != 3 else unit**2
    for scale in scales:
        x = np.reshape(np.array([3.0, 4.0]) * scale / 4, shape).astype(dtype)
        expected = (5.0 if ord != 3 else 91.0 ** (1 / 3)) * scale / 4
        close(tier(size)(x), expected, dtype)
        close(tier(ct.grad(size))(x).reshape(-1), slope, dtype)
        # Along an axis of several rows.
        rows = np.stack([x, x])
        if ord != "fro":
            close(tier(lambda x: cnp.linalg.norm(x, ord, axis=1))(rows), [expected] * 2, dtype)
            close(tier(ct.grad(lambda x: cnp.linalg.norm(x, ord, axis=1).sum()))(rows), [slope] * 2, dtype)


@pytest.mark.parametrize("ord", [-0.5, -1, -2, -3, -7.5, 0.02, 0.5])
def test_norms_of_low_orders_do_not_depend_on_the_scale(tier, ord):
    def size(x):
        return cnp.linalg.norm(x, ord)

    unit = (3.0**ord + 4.0**ord) ** (1 / ord)
    slope = (np.array([3.0, 4.0]) / unit) ** (ord - 1)
    # Roots of a low order magnify the rounding of the sum.
    ulps = 16 * max(1, 1 / abs(ord))
    for dtype, scales in (("float32", [1e-30, 1.0, 1e30]), ("float64", [1e-290, 1e200])):
        for scale in scales:
            if unit * scale > 1e35 and dtype == "float32":
                continue
            x = (np.array([3.0, 4.0]) * scale).astype(dtype)
            close(tier(size)(x), unit * scale, dtype, ulps)
            close(tier(ct.grad(size))(x), slope, dtype, ulps * 4)
            close(tier(lambda x: cnp.linalg.norm(x, ord, axis=1))(np.stack([x, x])), [unit * scale] * 2, dtype, ulps)
    # The root is out of the range of float32 and the norm is in it.
    close(tier(lambda x: cnp.linalg.norm(x, 0.02))(np.full(8, 1e-30, "float32")), 8.0**50 * 1e-30, "float32", 800)


def test_norms_of_low_orders_of_zeros_and_infinities(tier):
    for ord in (-0.5, -1, -2, -3):
        norm = tier(lambda x, ord=ord: cnp.linalg.norm(x, ord))
        assert float(norm(np.array([0.0, 3e30], "float32"))) == 0
        assert float(norm(np.zeros(2, "float32"))) == 0
        assert float(norm(np.array([inf, inf], "float32"))) == inf
        assert float(norm(np.array([inf, 2.0], "float32"))) == 2
        assert math.isnan(norm(np.array([nan, 2.0], "float32")))
    close(tier(lambda x: cnp.linalg.norm(x, -2))(np.array([3e30, 4e30], "float32")), 2.4e30, "float32")


def test_parts_of_numbers_keep_the_sign_of_zero_and_the_fraction_has_slope_one(tier):
    x = np.array([-2.0, -0.0, 0.0, 3.0, -1.5, 2.5, inf, -inf], "float32")
    fraction, whole = tier(cnp.modf)(x)
    for result, expected in zip((fraction, whole), np.modf(x), strict=True):
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    assert tier(ct.grad(lambda x: cnp.modf(x)[0].sum()))(x).tolist() == [1] * 8
    assert tier(ct.grad(lambda x: cnp.modf(x)[1].sum()))(x).tolist() == [0] * 8
    assert tier(ct.vmap(ct.grad(ct.grad(lambda x: cnp.modf(x)[0] ** 2))))(x[:6]).tolist() == [2] * 6
    assert tier(lambda x: ct.jvp(lambda x: cnp.modf(x)[0], (x,), (x,))[1])(x[:6]).tolist() == x[:6].tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_next_number_has_slope_one_and_the_gap_to_it_has_slope_zero(tier, dtype):
    x = np.array([-1.3, -0.0, 0.5, 1.0, 300.0], dtype)
    for toward in (-2.0, 500.0):
        grad = ct.grad(lambda x, y: cnp.nextafter(x, y).sum(), argnums=(0, 1))
        slopes = tier(grad)(x, np.full(5, toward, dtype))
        assert [slope.tolist() for slope in slopes] == [[1] * 5, [0] * 5]
        assert [slope.dtype for slope in slopes] == [np.dtype(dtype)] * 2
    assert tier(ct.vmap(ct.grad(cnp.spacing)))(x).tolist() == [0] * 5
    assert tier(ct.vmap(ct.grad(ct.grad(lambda x: cnp.nextafter(x, 9) ** 2))))(x).tolist() == [2] * 5


def test_norm_at_zero_has_gradient_zero_and_no_hessian(tier):
    for dtype in ("float32", "float64", "complex64"):
        assert tier(ct.grad(cnp.linalg.norm))(np.zeros(2, dtype)).tolist() == [0, 0]
    hessian = np.asarray(tier(ct.hessian(cnp.linalg.norm))(np.zeros(2, "float32")))
    assert not np.isfinite(np.diag(hessian)).any()
    away = np.asarray(tier(ct.hessian(cnp.linalg.norm))(np.array([3.0, 4.0])))
    np.testing.assert_allclose(away, [[0.128, -0.096], [-0.096, 0.072]], rtol=1e-6)


def test_norms_of_what_is_not_finite(tier):
    assert float(tier(cnp.linalg.norm)(np.array([inf, 1.0]))) == inf
    assert math.isnan(tier(cnp.linalg.norm)(np.array([nan, 1.0])))
    assert float(tier(cnp.linalg.norm)(np.array([complex(inf, 1.0)]))) == inf
    assert tier(lambda x: cnp.linalg.norm(x, axis=1))(np.array([[inf, 1.0], [0.0, 0.0]])).tolist() == [inf, 0]
    close(tier(cnp.linalg.norm)(np.array([3e-30 + 4e-30j], "complex64")), 5e-30, "float32")
    close(tier(ct.grad(cnp.linalg.norm))(np.array([3e-30], "float32")), [1.0], "float32")
    assert float(cnp.linalg.norm(np.full(4, 300.0, "float16"))) == 600


# ---- Infinities ------------------------------------------------------------------------------------------------------


def test_hypot_is_infinite_where_one_side_is(tier):
    x, y = np.array([nan, inf, nan, -inf, nan, 3.0]), np.array([inf, nan, -inf, 1.0, 1.0, 4.0])
    for dtype in ("float32", "float64"):
        result = tier(cnp.hypot)(x.astype(dtype), y.astype(dtype))
        np.testing.assert_array_equal(np.asarray(result), np.hypot(x, y).astype(dtype))


def test_logarithms_of_sums_with_infinities_have_the_derivative_of_the_shares(tier):
    gradient = tier(ct.grad(cnp.logaddexp, (0, 1)))
    for dtype in ("float32", "float64"):

        def at(x, y, dtype=dtype):
            return tuple(map(float, gradient(np.array(x, dtype), np.array(y, dtype))))

        assert at(-inf, -inf) == (0.5, 0.5)
        assert at(inf, inf) == (0.5, 0.5)
        assert at(inf, 0.0) == (1, 0)
        assert at(0.0, -inf) == (1, 0)
        of_sum = tier(ct.grad(special.logsumexp))
        assert of_sum(np.array([inf, 0.0], dtype)).tolist() == [1, 0]
        assert of_sum(np.array([inf, 0.0, inf], dtype)).tolist() == [0.5, 0, 0.5]
        assert of_sum(np.array([-inf, 0.0], dtype)).tolist() == [0, 1]
        weighted = tier(ct.grad(lambda x: special.logsumexp(x, b=np.array([2.0, 1.0], dtype))))
        assert weighted(np.array([inf, 0.0], dtype)).tolist() == [1, 0]
        running = tier(ct.grad(lambda x: lax.cumlogsumexp(x)[1]))
        assert running(np.array([-inf, -inf, 0.0], dtype)).tolist() == [0.5, 0.5, 0]
        assert running(np.array([inf, 1.0, 0.0], dtype)).tolist() == [1, 0, 0]
        assert float(tier(special.logsumexp)(np.array([inf, 0.0], dtype))) == inf
        assert float(tier(special.logsumexp)(np.array([-inf, -inf], dtype))) == -inf
        assert math.isnan(tier(special.logsumexp)(np.array([inf, nan], dtype)))


def test_relative_entropy_where_the_quotient_overflows(tier):
    p, q = np.array([1e30, 1e-30, 1.0], "float32"), np.array([1e-30, 1e30, 1e-40], "float32")
    logarithms = np.array([138.15510557964275, -138.15510557964275, 92.10340371976183])
    close(tier(special.rel_entr)(p, q), p * logarithms, "float32")
    close(tier(special.kl_div)(p, q), p * logarithms - p + q, "float32")
    slopes = tier(ct.grad(lambda p, q: special.rel_entr(p, q).sum(), (0, 1)))(p[:2], q[:2])
    close(slopes[0], logarithms[:2] + 1, "float32")
    assert float(tier(special.rel_entr)(np.float64(1e200), np.float64(1e-200))) == pytest.approx(
        9.210340371976184e202, rel=1e-15
    )


def test_relative_entropy_without_probabilities(tier):
    for dtype in ("float32", "float64"):
        zero = np.array(0, dtype)
        assert tuple(map(float, tier(ct.grad(special.rel_entr, (0, 1)))(zero, zero))) == (0, 0)
        assert tuple(map(float, tier(ct.grad(special.kl_div, (0, 1)))(zero, zero))) == (-1, 1)
        assert tuple(map(float, tier(ct.grad(special.kl_div, (0, 1)))(zero, zero + 1))) == (-inf, 1)


@pytest.mark.parametrize(("name", "factor"), [("log2", 1 / math.log(2)), ("log10", 1 / math.log(10))])
def test_complex_logarithms_to_other_bases_at_special_points(tier, name, factor):
    ends = [0.0, -0.0, 1.0, -1.0, inf, -inf, nan]
    x = np.array([complex(a, b) for a in ends for b in ends])
    with np.errstate(all="ignore"):
        logarithm = np.log(x)
    for dtype in ("complex64", "complex128"):
        result = np.asarray(tier(getattr(cnp, name))(x.astype(dtype)))
        for part in ("real", "imag"):
            expected = getattr(logarithm, part) * factor
            np.testing.assert_allclose(getattr(result, part), expected, rtol=1e-6 if dtype == "complex64" else 1e-14)


def test_truncated_normal_takes_numpys_numbers():
    key = ct.random.PRNGKey(0)
    expected = ct.random.truncated_normal(key, -1.0, 1.0, (3,)).tolist()
    for convert in (np.float64, np.float32, np.asarray, int):
        assert ct.random.truncated_normal(key, convert(-1), convert(1), (3,)).tolist() == expected
    assert cnp.full(2, np.float64(3.0)).tolist() == [3, 3]
    assert cnp.full(2, np.complex128(3.0j)).tolist() == [3j, 3j]


# ---- Complex numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_functions_where_the_scale_overflows(dtype):
    ends = [0.0, -0.0, 1.0, -1.0, 1e-3, inf, -inf, nan, 711.0, -711.0, 1e200, -1e200, 1e308, 1e-310]
    x = cnp.array(np.array([complex(a, b) for a in ends for b in ends])).astype(dtype)
    tolerance = 1e-5 if dtype == "complex64" else 1e-12
    for name in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log2", "log10"):
        function = getattr(cnp, name)
        eager, compiled = np.asarray(function(x)), np.asarray(ct.jit(function)(x))
        for part in ("real", "imag"):
            expected, result = getattr(eager, part), getattr(compiled, part)
            np.testing.assert_allclose(result, expected, rtol=tolerance, atol=1e-300, err_msg=f"{name}.{part}")
    small = np.array([complex(1e-5, 711.0), complex(711.0, 1e-5), complex(1e-5, -711.0)])
    for name in ("sin", "cos", "sinh", "cosh", "exp"):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(small)
        np.testing.assert_allclose(np.asarray(ct.jit(getattr(cnp, name))(small)), expected, rtol=1e-12)
    assert ct.jit(cnp.sin)(np.array(711j)) == complex(0, inf)
    assert ct.jit(cnp.cosh)(np.array(complex(1e200, 0))) == complex(inf, 0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_powers_of_two(dtype):
    """Zeros and infinities as C has them, and what is finite does not overflow on the way."""
    ends = [0.0, -0.0, 1.0, -3.0, 0.3, 1e300, -1e300, inf, -inf, nan]
    edges = np.array([complex(a, b) for a in ends for b in ends])
    random = np.random.default_rng(0)
    inside = (random.uniform(-120, 120, 500) + 1j * random.uniform(-20, 20, 500)).astype(dtype).astype(complex)
    exact = np.exp2(inside.real) * np.exp(1j * math.log(2) * inside.imag)
    for exp2 in (cnp.exp2, ct.jit(cnp.exp2)):
        result = np.asarray(exp2(inside.astype(dtype)))
        assert np.max(np.abs(result - exact) / np.abs(exact)) < 4 * np.finfo(dtype).eps
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(np.asarray(exp2(edges)), np.exp2(edges), rtol=1e-14)
        if dtype == "complex128":
            large = np.asarray(exp2(np.array([complex(1024, 1.57 / math.log(2))])))
            np.testing.assert_allclose(large, [complex(1.4315e305, 1.797692e308)], rtol=1e-4)


def test_complex_expm1_is_finite_where_only_its_magnitude_is_not(tier):
    for b, part in ((1.2, "real"), (0.7, "imag")):
        found = np.asarray(tier(cnp.expm1)(np.full(3, 89 + 1j * b, np.complex64)))
        np.testing.assert_allclose(getattr(found, part), getattr(np.expm1(89 + 1j * b), part), rtol=1e-5)


# ---- Quantiles -------------------------------------------------------------------------------------------------------

METHODS = [
    "linear", "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", "lower", "higher", "midpoint",
    "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
]  # fmt: skip


@pytest.mark.parametrize("skip", ["", "nan"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [5, 11, 65536])
def test_quantiles_of_float32_lie_where_those_of_float64_do(size, method, skip):
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    levels = [0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 0.9, 1.0]
    expected = np.quantile(x.astype(np.float64), levels, method=method)
    for given in (levels, np.array(levels, np.float32)):
        found = getattr(cnp, f"{skip}quantile")(x, given, method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
        found = getattr(cnp, f"{skip}percentile")(x, [100 * q for q in levels], method=method)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.processor("a sort of 16 million numbers takes minutes where a GPU's threads run one by one")
def test_the_middle_and_the_end_of_more_elements_than_float32_counts(tier):
    x = np.zeros(2**24 + 2, np.float32)
    x[2**23 + 1 :], x[-1] = 1, 2
    assert tier(lambda x: cnp.stack([cnp.quantile(x, 0.5), cnp.quantile(x, 1.0)]))(cnp.array(x)).tolist() == [0.5, 2.0]


@pytest.mark.parametrize("skip", ["", "nan"])
@pytest.mark.parametrize("size", [11, 1000, 65536])
def test_gradients_of_quantiles_are_those_of_float64(tier, size, skip):
    quantile = getattr(cnp, f"{skip}quantile")
    x = np.random.default_rng(0).normal(size=size).astype(np.float32)
    order = np.argsort(x)
    for q in (0.1, 0.3, 0.5, 0.77):
        at = round(q * (size - 1), 6)
        low = math.floor(at)
        expected = np.zeros(size)
        expected[order[low : low + 2]] = 1 - (at - low), at - low
        np.testing.assert_allclose(tier(ct.grad(lambda x, q=q: quantile(x, q)))(x), expected, atol=1e-6)
        # By the level: at an element, the slope toward the next one.
        slope = (size - 1) * float(x[order[low + 1]] - x[order[low]])
        assert float(tier(ct.grad(lambda q: quantile(x, q)))(np.float32(q))) == pytest.approx(slope, rel=1e-5)


def test_negative_numbers_count_as_zero():
    assert [cnp.bincount(cnp.array(x)).tolist() for x in ([-1], [-1, 2], [-7, -7])] == [[1], [1, 0, 1], [2]]
    assert cnp.bincount(cnp.zeros(0, "int32")).tolist() == []


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_transforms_of_wide_integers(dtype):
    x = np.array([2**40 + 1, 2**40 + 3, 5], dtype)
    with ct.enable_x64():
        for ours, theirs in ((cnp.fft.fft, np.fft.fft), (cnp.fft.rfft, np.fft.rfft), (cnp.fft.fftn, np.fft.fftn)):
            assert ours(x).dtype == np.complex128
            np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-14)
    assert cnp.fft.fft(x).dtype == np.complex64


@pytest.mark.parametrize(("dtype", "count"), [("float16", 70_000), ("float32", 2**24 + 4), ("int8", 300)])
def test_counts_of_histograms_are_exact(dtype, count):
    counts, _ = cnp.histogram(cnp.ones(count, dtype), bins=2, range=(0, 2))
    assert counts.tolist() == [0.0, count]
    weighted, _ = cnp.histogram(cnp.ones(300, dtype), bins=2, range=(0, 2), weights=cnp.full(300, 0.5, "float16"))
    assert weighted.tolist() == [0.0, 150.0]
    density, _ = cnp.histogram(cnp.ones(300, dtype), bins=2, range=(0, 2), density=True)
    assert density.tolist() == [0.0, 1.0]


def test_quantiles_at_nan_are_nan(tier):
    x = np.array([[3.0, 1.0, 2.0], [np.nan, 5.0, 4.0]], np.float32)
    levels = np.array([np.nan, 0.5, 1.0], np.float32)
    for ours, theirs in ((cnp.quantile, np.quantile), (cnp.nanquantile, np.nanquantile)):
        got = tier(lambda x, q, ours=ours: ours(x, q, axis=1))(x, levels)
        np.testing.assert_array_equal(got[0], [math.nan, math.nan])
        np.testing.assert_array_equal(got[1:], theirs(x, levels[1:], axis=1))
    assert np.isnan(tier(lambda x: cnp.quantile(x, math.nan))(x[0]))
    assert np.isnan(tier(lambda x: cnp.percentile(x, [math.nan, 50.0]))(x[0])).tolist() == [True, False]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_quantiles_between_the_ends_of_a_dtype_and_next_to_infinity(tier, dtype):
    top = float(np.finfo(dtype).max)
    quarter = tier(lambda x: cnp.quantile(x, 0.25))
    assert float(quarter(np.array([-top, top], dtype))) == pytest.approx(-top / 2, rel=1e-3)
    assert float(quarter(np.array([1, 2, 3, 4, inf], dtype))) == 2
    assert float(tier(lambda x: cnp.quantile(x, 0.3))(np.array([1, 2, inf], dtype))) == pytest.approx(1.6, rel=1e-3)
    assert tier(lambda x: cnp.quantile(x, 0.75))(np.array([1, 2, inf], dtype)) == inf
    assert tier(lambda x: cnp.quantile(x, 0.5))(np.array([1, 2, inf], dtype)) == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_statistics_of_narrow_numbers_are_computed_in_wider_ones(dtype):
    rng = np.random.default_rng(0)
    small = cnp.asarray(rng.normal(size=(4, 300)) * 1e-3).astype(dtype)
    large = cnp.asarray(rng.normal(size=(4, 300)) * 100).astype(dtype)
    for x in (small, large):
        exact = np.asarray(x).astype(np.float64)
        for function in ("std", "nanstd"):
            result = ct.jit(lambda x, f=function: getattr(cnp, f)(x, axis=1))(x)
            assert result.dtype == dtype
            np.testing.assert_allclose(np.asarray(result).astype(float), np.std(exact, 1), rtol=8e-3)
            given = getattr(cnp, function)(x.astype("float32"), axis=1, dtype=dtype)
            assert given.dtype == dtype
            np.testing.assert_allclose(np.asarray(given).astype(float), np.std(exact, 1), rtol=8e-3)
        correlation = cnp.corrcoef(x)
        assert correlation.dtype == dtype
        np.testing.assert_allclose(np.asarray(correlation).astype(float), np.corrcoef(exact), rtol=8e-3, atol=4e-3)
    covariance = cnp.cov(large * 0.5)
    assert covariance.dtype == dtype
    expected = np.cov(np.asarray(large).astype(float) * 0.5)
    np.testing.assert_allclose(np.asarray(covariance).astype(float), expected, rtol=2e-2, atol=2)
    many = cnp.asarray(rng.uniform(size=20000)).astype(dtype)
    counts, edges = cnp.histogram(many, 4, (0.0, 1.0))
    assert counts.dtype == "float32"  # which holds more than 65504 of them
    wanted = np.histogram(np.asarray(many).astype(float), np.asarray(edges).astype(float))[0]
    np.testing.assert_allclose(np.asarray(counts).astype(float), wanted, rtol=8e-3)
    weighted = cnp.histogramdd(many[:, None], [4], [(0.0, 1.0)], weights=cnp.ones_like(many))[0]
    assert weighted.dtype == dtype
    np.testing.assert_allclose(np.asarray(weighted).astype(float), wanted, rtol=8e-3)


def test_slopes_of_samples_do_not_depend_on_the_element_between(tier):
    samples = np.array([1.0, np.inf, 3.0, 4.0, np.nan, 7.0], np.float32)
    gradient = tier(cnp.gradient)
    np.testing.assert_array_equal(gradient(samples), [np.inf, 1, -np.inf, np.nan, 1.5, np.nan])
    # Here the slopes on both sides would cancel.
    samples = np.array([[0.0, 1e4, 0.001], [2.0, -3e4, 2.5]], np.float32)
    np.testing.assert_array_equal(
        np.asarray(tier(lambda x: cnp.gradient(x, 0.25, axis=1))(samples))[:, 1],
        np.gradient(samples, np.float32(0.25), axis=1)[:, 1],
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_integrals_and_weighted_means_of_narrow_numbers_are_summed_in_wider_ones(tier, dtype):
    rng = np.random.default_rng(0)
    x = np.asarray(cnp.array(rng.standard_normal((8, 257)), dtype))
    w = np.asarray(cnp.array(rng.random(257) + 0.5, dtype))
    wide, weights = x.astype(np.float64), w.astype(np.float64)
    cases = [
        (lambda x, w: cnp.trapezoid(x, axis=1), np.trapezoid(wide, axis=1)),
        (
            lambda x, w: cnp.trapezoid(x, cnp.cumsum(w), axis=1),
            np.trapezoid(wide, np.asarray(cnp.cumsum(w)).astype(float), axis=1),
        ),
        (lambda x, w: cnp.average(x, 1, w), np.average(wide, 1, weights)),
        (lambda x, w: cnp.average(x, 1, w, returned=True)[1][:1], weights.sum()[None]),
    ]
    for function, expected in cases:
        result = tier(function)(x, w)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, np.asarray(cnp.array(expected, "float32").astype(dtype)))
    if dtype == "float16":
        assert tier(cnp.average)(np.full(4, 300, dtype), None, np.full(4, 300, dtype)) == 300


def test_limits_beyond_the_dtype_limit_nothing(tier):
    for dtype, low, high in [
        ("uint8", -1, 300),
        ("int8", -200, 200),
        ("int16", -(2**31), 2**40),
        ("uint32", -5, 2**32),
    ]:
        limits = np.iinfo(dtype)
        x = np.array([limits.min, 1, limits.max], dtype)
        for clip in (cnp.clip, lambda x, low, high: cnp.asarray(x).clip(low, high)):
            result = tier(lambda x, c=clip, low=low, high=high: c(x, low, high))(x)
            assert result.dtype == dtype
            np.testing.assert_array_equal(result, x)
            np.testing.assert_array_equal(tier(lambda x, c=clip, low=low: c(x, low, 1))(x), np.minimum(x, 1))
            np.testing.assert_array_equal(tier(lambda x, c=clip, high=high: c(x, 1, high))(x), np.maximum(x, 1))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_elements_on_an_edge_are_in_the_bin_that_it_begins(tier, dtype):
    for count, low, high in [(3, -2, 4), (3, -3, 3), (7, -3, 4), (10, 0, 10), (49, 0, 49), (6, -1, 2)]:
        x = np.arange(low, high + 1).astype(dtype)
        counts, edges = tier(lambda x, n=count, a=low, b=high: cnp.histogram(x, n, (a, b)))(x)
        expected, exact = np.histogram(x.astype(np.float64), count, (low, high))
        np.testing.assert_array_equal(counts, expected)
        np.testing.assert_array_equal(edges, exact.astype(edges.dtype))
        pairs = tier(lambda x, n=count, a=low, b=high: cnp.histogram2d(x, x, n, ((a, b), (a, b)))[0])(x)
        np.testing.assert_array_equal(pairs, np.diag(expected))


@pytest.mark.parametrize(
    ("x", "decimals", "expected"),
    [
        (np.float64(1e300), 40, 1e300),  # numpy: inf, as 1e340 is none
        (np.float64(1.2345), 400, 1.2345),
        (np.float64(-12345.6), -400, -0.0),
        (np.float32(1.55), 40, np.float32(1.55)),
        (np.float64(-np.inf), 2, -np.inf),
        (np.float64(1.2345), 3, 1.234),
        (np.float64(12345.6), -2, 12300.0),
    ],
)
def test_rounding_to_any_number_of_decimals(tier, x, decimals, expected):
    result = np.asarray(tier(lambda v: cnp.round(v, decimals))(x))
    np.testing.assert_array_equal(result, expected)
    assert np.signbit(result) == np.signbit(expected)


def test_logarithm_to_base_2_of_equal_powers_is_exact(tier):
    x = np.array([3, 500, -1000, 2.0**20, -inf, inf], np.float32)
    np.testing.assert_array_equal(tier(cnp.logaddexp2)(x, x), x + 1)
    np.testing.assert_array_equal(tier(cnp.logaddexp2)(x[:3], x[:3] - 2000), x[:3])
    second = tier(ct.grad(ct.grad(lambda x: cnp.logaddexp2(x, np.float64(0)))))(np.float64(0))
    np.testing.assert_allclose(second, math.log(2) / 4, rtol=1e-14)


def test_logarithm_to_base_2_of_complex_powers_has_an_angle_within_half_a_turn(tier):
    x, y = np.array([1 + 2j, 0.5 - 9j]), np.array([1.5 - 2j, 0.25 + 1j])
    np.testing.assert_allclose(tier(cnp.logaddexp2)(x, y), np.log(2**x + 2**y) / math.log(2), rtol=1e-12)


@pytest.mark.parametrize("order", [None, 2, -2, 1, "fro"])
def test_the_condition_number_of_zero_is_infinite(tier, order):
    result = np.asarray(tier(lambda x: cnp.linalg.cond(x, order))(np.zeros((2, 3, 3))))
    np.testing.assert_array_equal(result, [inf, inf])
    assert np.isnan(tier(lambda x: cnp.linalg.cond(x, order))(np.full((2, 2), nan)))
