"""What `./dev accuracy` measures: one record a function, with its range, its reference in mpmath and its stated bound.

A bound is in units in the last place (ulp) of the exact result for the exact value of the arguments. Where a function
goes through 0, relative error means little: a record's ``floor`` is the magnitude below which the error counts in ulp of
the floor instead. tests/laws/test_accuracy.py holds every record to its bound on a small sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cotangent as ct
import cotangent.lax as lax
import cotangent.nn as nn
import cotangent.numpy as cnp
import cotangent.scipy.special as special
from mpmath import mp, mpf

Interval = tuple[float, float]


@dataclass(frozen=True)
class Record:
    """One function.

    Attributes:
        name: as on the page.
        call: of arrays, one for each argument.
        reference: of mpmath numbers.
        arguments: for each argument the intervals that it is sampled in. Those of one sign are sampled by magnitude.
        float32: the bound in ulp. float64: likewise.
        points: hard ones, tuples of arguments, rounded to the precision that is measured.
        floor: smaller results count in ulp of this: a number, or a function of the arguments.
        small: the bound in ulp of float16 and bfloat16, which are measured where it is given.
        slow: how many times fewer points are sampled, for references that take long.
        whole: arguments that are whole numbers.
        digits: that mpmath computes with.
        note: what the page says about the floor.
    """

    name: str
    call: Callable[..., Any]
    reference: Callable[..., Any]
    arguments: tuple[tuple[Interval, ...], ...]
    float32: float
    float64: float
    points: tuple[tuple[float, ...], ...] = ()
    floor: float | Callable[..., Any] = 0.0
    small: float = 0.0
    slow: int = 1
    whole: tuple[int, ...] = ()
    digits: int = 45
    note: str = ""


def at(*values: float) -> tuple[tuple[float, ...], ...]:
    """Points of a function of one argument."""
    return tuple((value,) for value in values)


def _unary(
    name: str, call: Any, reference: Any, *intervals: Interval, bounds: tuple[float, float], **more: Any
) -> Record:
    return Record(name, call, reference, (intervals,), *bounds, **more)


# ---- references that mpmath lacks ------------------------------------------------------------------------------------


def _ndtr(x: mpf) -> mpf:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _log_ndtr(x: mpf) -> mpf:
    return mp.log(_ndtr(x)) if x < 0 else mp.log1p(-_ndtr(-x))


def _owens_t(h: mpf, a: mpf) -> mpf:
    return (
        a * mp.quad(lambda t: mp.exp(-h * h * (1 + (a * t) ** 2) / 2) / (1 + (a * t) ** 2), [0, 0.5, 1]) / (2 * mp.pi)
    )


def _spence(x: mpf) -> mpf:
    return mp.re(mp.polylog(2, 1 - x))


def _dawsn(x: mpf) -> mpf:
    # The terms of mpmath's series are positive after Kummer's transformation.
    return x * mp.hyp1f1(1, mpf(3) / 2, -x * x)


def _softplus(x: mpf) -> mpf:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def _sigmoid(x: mpf) -> mpf:
    return 1 / (1 + mp.exp(-x))


def _gelu_tanh(x: mpf) -> mpf:
    # x sigmoid(2 u): without the cancellation of 1 + tanh.
    return x * _sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3))


def _zeta(s: mpf, q: mpf) -> mpf:
    return mp.zeta(s, q)


def _rel_entr(p: mpf, q: mpf) -> mpf:
    return p * mp.log(p / q)


def _boxcox(x: mpf, power: mpf) -> mpf:
    return _boxcox_of_log(mp.log(x), power)


def _boxcox_of_log(logarithm: mpf, power: mpf) -> mpf:
    return mp.expm1(power * logarithm) / power if power else logarithm


def _log1mexp(x: mpf) -> mpf:
    return mp.log(-mp.expm1(-x)) if x < 1 else mp.log1p(-mp.exp(-x))


def _wofz(x: mpf, y: mpf) -> Any:
    z = mp.mpc(x, y)
    return mp.exp(-z * z) * mp.erfc(-1j * z)


def _of_complex(part: str) -> Callable[..., Any]:
    return lambda x, y: getattr(special.wofz(lax.complex(x, y)), part)


def _bessel_floor(x: mpf) -> mpf:
    return min(mpf(0.25), 0.4 / mp.sqrt(abs(x)))


_BESSEL_NOTE = "0.4 / sqrt(x), at most 1/4"


def _polygamma_floor(n: mpf, x: mpf) -> mpf:
    return mp.factorial(n) * 2 ** (n + 1) if x < 0 else mpf(0)


def _size_of_wofz(x: mpf, y: mpf) -> mpf:
    return abs(_wofz(x, y))


# ---- the records -----------------------------------------------------------------------------------------------------

ALL = (-1e30, 1e30)
_LOG_MAX32 = 87.0

ELEMENTARY = [
    _unary("exp", cnp.exp, mp.exp, (-104.0, 88.7), (-740.0, 709.0), bounds=(2, 2), small=1),
    _unary("exp2", cnp.exp2, lambda x: mpf(2) ** x, (-149.0, 127.9), (-1070.0, 1023.0), bounds=(2, 2)),
    _unary("expm1", cnp.expm1, mp.expm1, (-60.0, 88.7), (-1.0, 1.0), bounds=(2, 2), small=1),
    _unary("log", cnp.log, mp.log, (1e-300, 1e300), (0.5, 2.0), bounds=(1, 1), small=1),
    _unary("log2", cnp.log2, lambda x: mp.log(x, 2), (1e-300, 1e300), (0.5, 2.0), bounds=(2, 2)),
    _unary("log10", cnp.log10, mp.log10, (1e-300, 1e300), (0.5, 2.0), bounds=(3, 3)),
    _unary("log1p", cnp.log1p, mp.log1p, (-0.9999, 4.0), (1e-30, 1e30), bounds=(2, 2), small=1),
    _unary("sqrt", cnp.sqrt, mp.sqrt, (1e-300, 1e300), bounds=(0.5, 0.5), small=1),
    _unary("rsqrt", lax.rsqrt, lambda x: 1 / mp.sqrt(x), (1e-300, 1e300), bounds=(2, 2)),
    _unary("cbrt", cnp.cbrt, lambda x: mp.sign(x) * mp.cbrt(abs(x)), ALL, bounds=(2, 2)),
    _unary("sin", cnp.sin, mp.sin, (-10.0, 10.0), (1.0, 1e30), bounds=(2, 2), small=1, points=at(math.pi, 22.0, 1e22)),
    _unary("cos", cnp.cos, mp.cos, (-10.0, 10.0), (1.0, 1e30), bounds=(2, 2), small=1, points=at(math.pi / 2, 11.0, 1e22)),
    _unary("tan", cnp.tan, mp.tan, (-10.0, 10.0), (1.0, 1e30), bounds=(4, 4), small=1, points=at(math.pi / 2, 11.0)),
    _unary("arcsin", cnp.arcsin, mp.asin, (-1.0, 1.0), bounds=(4, 4), points=at(0.9999999, 1.0)),
    _unary("arccos", cnp.arccos, mp.acos, (-1.0, 1.0), bounds=(4, 4), points=at(0.9999999, -0.9999999)),
    _unary("arctan", cnp.arctan, mp.atan, ALL, bounds=(1, 3), small=1),
    _unary("sinh", cnp.sinh, mp.sinh, (-88.0, 88.0), (-700.0, 700.0), bounds=(4, 4)),
    _unary("cosh", cnp.cosh, mp.cosh, (-88.0, 88.0), (-700.0, 700.0), bounds=(4, 4)),
    _unary("tanh", cnp.tanh, mp.tanh, (-20.0, 20.0), bounds=(2, 2), small=1),
    _unary("arcsinh", cnp.arcsinh, mp.asinh, ALL, bounds=(4, 4)),
    _unary("arccosh", cnp.arccosh, mp.acosh, (1.0, 3.0), (1.0, 1e30), bounds=(4, 4)),
    _unary("arctanh", cnp.arctanh, mp.atanh, (-0.9999, 0.9999), bounds=(4, 4)),
    _unary("sinc", cnp.sinc, mp.sincpi, (-20.0, 20.0), bounds=(16, 16)),
    Record("arctan2", cnp.arctan2, mp.atan2, (((-1e3, 1e3),), ((-1e3, 1e3),)), 1, 3),
    Record("hypot", cnp.hypot, mp.hypot, (((-1e30, 1e30),), ((-1e30, 1e30),)), 2, 2),
    Record("power", cnp.power, mp.power, (((1e-3, 1e3),), ((-12.0, 12.0),)), 1, 2, small=1),
    Record("logaddexp", cnp.logaddexp, lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), (((-30.0, 30.0),), ((-30.0, 30.0),)),
           4, 4, floor=1.0, points=((-math.log(2), -math.log(2)), (-0.3, -1.35), (-1e-3, -6.9), (-0.6931, -0.6932))),
    Record("logaddexp2", cnp.logaddexp2, lambda x, y: mp.log(mpf(2) ** x + mpf(2) ** y, 2),
           (((-30.0, 30.0),), ((-30.0, 30.0),)), 4, 4, floor=1.0, points=((-1.0, -1.0), (-0.5, -1.7716), (-1e-3, -10.5))),
]  # fmt: skip

ACTIVATIONS = [
    _unary("nn.sigmoid", nn.sigmoid, _sigmoid, (-103.0, 40.0), (-740.0, 40.0), bounds=(4, 4), small=4),
    _unary("nn.log_sigmoid", nn.log_sigmoid, lambda x: -_softplus(-x), (-700.0, 40.0), bounds=(4, 4)),
    _unary("nn.softplus", nn.softplus, _softplus, (-103.0, 100.0), (-740.0, 100.0), bounds=(4, 4), small=4),
    _unary("nn.silu", nn.silu, lambda x: x * _sigmoid(x), (-108.0, 40.0), (-750.0, 40.0), bounds=(8, 8), small=4),
    _unary("nn.mish", nn.mish, lambda x: x * mp.tanh(_softplus(x)), (-108.0, 40.0), (-750.0, 40.0), bounds=(8, 8)),
    _unary("nn.gelu, tanh", nn.gelu, _gelu_tanh, (-5.0, 10.0), bounds=(32, 32)),
    _unary("nn.gelu, exact", lambda x: nn.gelu(x, approximate=False), lambda x: x * _ndtr(x), (-14.5, 10.0), (-38.5, 10.0),
           bounds=(16, 16)),
    _unary("nn.elu", nn.elu, lambda x: x if x > 0 else mp.expm1(x), (-60.0, 10.0), bounds=(2, 2)),
    _unary("nn.log1mexp", nn.log1mexp, _log1mexp, (1e-30, 100.0), bounds=(4, 4)),
]  # fmt: skip

_DIGAMMA_ROOTS = at(1.4616321449683622, -0.5040830082644554, -1.5734984731623904, -2.610720868444145, -3.635293366436901,
                    -4.6532377617431424, -9.70267)  # fmt: skip
_LGAMMA_ROOTS = at(-2.4570247382208006, -2.7476826467274127, -3.143580888349980, -3.955294284858598, -4.039361839740537,
                   -4.991544640560048, 0.9999, 1.0001, 1.9999, 2.0001, -1e-40, -1e-4)  # fmt: skip


def _ndtri(p: Any) -> Any:
    """By Newton's method on the logarithm, as mpmath's erfinv does not end close to -1."""
    if p > 0.5:
        return -_ndtri(1 - p)
    logarithm = mp.log(2 * p)
    y = mp.sqrt(max(-logarithm, mpf(0)))
    for _ in range(60):
        tail = mp.erfc(y)
        y += (mp.log(tail) - logarithm) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return -mp.sqrt(2) * y


SPECIAL = [
    _unary("erf", special.erf, mp.erf, (-6.0, 6.0), bounds=(2, 2), small=1),
    _unary("erfc", special.erfc, mp.erfc, (-6.0, 10.2), (-6.0, 27.2), bounds=(8, 8)),
    _unary("erfcx", special.erfcx, lambda x: mp.exp(x * x) * mp.erfc(x), (-9.0, 1e8), (-26.0, 10.0), bounds=(8, 8)),
    _unary("erfinv", special.erfinv, mp.erfinv, (-0.9999, 0.9999), bounds=(8, 8), slow=4),
    _unary("ndtr", special.ndtr, _ndtr, (-14.4, 10.0), (-38.4, 10.0), bounds=(16, 16)),
    _unary("log_ndtr", special.log_ndtr, _log_ndtr, (-100.0, 14.0), (-10.0, 38.0), bounds=(16, 16),
           points=at(-1e4, -30.0)),
    _unary("ndtri", special.ndtri, _ndtri, (1e-30, 0.99), bounds=(16, 16), slow=10,
           points=at(1e-44, 3e-9, 1e-7, 6e-4, 0.4999, 0.9999999, 1e-20, 1e-38, 1e-310)),
    _unary("gamma", special.gamma, mp.gamma, (-30.0, 35.0), (-180.0, 171.0), bounds=(16, 16),
           points=at(-1e-30, -1e-44, -34.9, -40.3, -4.4e-23)),
    _unary("gammaln", special.gammaln, lambda x: mp.re(mp.loggamma(x)), (-10.0, 10.0), (1e-30, 1e30), (-200.0, 0.0),
           bounds=(16, 16), floor=1.0, points=_LGAMMA_ROOTS),
    _unary("digamma", special.digamma, mp.digamma, (-10.0, 10.0), (1e-30, 1e30), bounds=(16, 16), floor=1.0,
           points=_DIGAMMA_ROOTS),
    Record("polygamma", special.polygamma, lambda n, x: mp.psi(int(n), x), (((1, 6),), ((0.05, 100.0), (-5.0, 0.0))), 32, 32,
           whole=(0,), slow=4, floor=_polygamma_floor, note="n! 2^(n + 1) for negative x", digits=100),
    Record("zeta", special.zeta, _zeta, (((1.05, 30.0),), ((0.05, 100.0),)), 16, 16, slow=4, digits=150),
    _unary("zeta(x, 1)", special.zeta, mp.zeta, (1.01, 50.0), bounds=(16, 16), slow=2),
    Record("beta", special.beta, mp.beta, (((0.05, 12.0),), ((0.05, 12.0),)), 128, 128),
    Record("betaln", special.betaln, lambda a, b: mp.log(mp.beta(a, b)), (((0.05, 100.0),), ((0.05, 100.0),)), 32, 32,
           floor=1.0),
    Record("poch", special.poch, mp.rf, (((0.05, 10.0),), ((0.0, 10.0),)), 64, 64, points=((-3.5, 2.25), (40.0, 3.0), (1e5, 2.0))),
    Record("gammainc", special.gammainc, lambda a, x: mp.gammainc(a, 0, x, regularized=True),
           (((0.05, 20.0),), ((0.5, 60.0),)), 64, 512, slow=8),
    Record("gammaincc", special.gammaincc, lambda a, x: mp.gammainc(a, x, regularized=True),
           (((0.05, 50.0),), ((0.01, 60.0),)), 64, 128, slow=8),
    Record("betainc", special.betainc, lambda a, b, x: mp.betainc(a, b, 0, x, regularized=True),
           (((0.05, 20.0),), ((0.05, 20.0),), ((1e-6, 1.0),)), 256, 256, slow=8),
    _unary("i0", special.i0, lambda x: mp.besseli(0, x), (-80.0, 80.0), bounds=(8, 8)),
    _unary("i0e", special.i0e, lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), (-1e3, 1e3), bounds=(8, 8)),
    _unary("i1", special.i1, lambda x: mp.besseli(1, x), (-80.0, 80.0), bounds=(8, 8)),
    _unary("i1e", special.i1e, lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), (-1e3, 1e3), bounds=(8, 8)),
    _unary("dawsn", special.dawsn, _dawsn, (-60.0, 60.0), (-4.0, 4.0), bounds=(4, 4), points=at(1.49999, 1.5, 4.99999, 5.0, 1e8)),
    _unary("expi", special.expi, mp.ei, (-80.0, 0.0), (0.0, 80.0), bounds=(16, 16), floor=0.25, points=at(0.37250741078136663),
           slow=4),
    _unary("exp1", special.exp1, mp.e1, (1e-30, 80.0), (0.5, 3.0), bounds=(16, 16), slow=4),
    Record("expn", special.expn, lambda n, x: mp.expint(int(n), x), (((0, 12),), ((0.01, 60.0),)), 8, 8, whole=(0,), slow=8,
           points=((2, 1.617),)),
    _unary("fresnel S", lambda x: special.fresnel(x)[0], mp.fresnels, (-6.0, 6.0), (1.0, 1e7), bounds=(16, 16), slow=4),
    _unary("fresnel C", lambda x: special.fresnel(x)[1], mp.fresnelc, (-6.0, 6.0), (1.0, 1e7), bounds=(16, 16), slow=4),
    _unary("sici Si", lambda x: special.sici(x)[0], mp.si, (-100.0, 100.0), bounds=(4, 4), slow=2),
    _unary("sici Ci", lambda x: special.sici(x)[1], mp.ci, (1e-30, 100.0), (0.3, 8.0), bounds=(16, 16), slow=2,
           floor=lambda x: min(0.25, 0.5 / x), note="1 / (2 x), at most 1/4",
           points=at(0.6165054856207162, 3.3841804225511886)),
    _unary("spence", special.spence, _spence, (0.0, 100.0), bounds=(4, 4), slow=2, points=at(0.0907, 0.0908, 11.02, 11.03)),
    Record("owens_t", special.owens_t, _owens_t, (((0.0, 5.0),), ((-3.0, 3.0),)), 32, 32, slow=10,
           points=((8.0, 1.0), (8.0, 0.3))),
    Record("wofz, real part", _of_complex("real"), lambda x, y: mp.re(_wofz(x, y)), (((-20.0, 20.0),), ((0.0, 20.0),)), 32, 32, floor=_size_of_wofz,
           note="the magnitude of the complex result"),
    Record("wofz, imaginary part", _of_complex("imag"), lambda x, y: mp.im(_wofz(x, y)), (((-20.0, 20.0),), ((0.0, 20.0),)),
           32, 32, floor=_size_of_wofz, note="the magnitude of the complex result"),
    Record("hyp1f1", special.hyp1f1, mp.hyp1f1, (((-5.0, 5.0),), ((0.2, 6.0),), ((-100.0, 80.0),)), 4096, 4096, slow=4),
    Record("hyp2f1", special.hyp2f1, mp.hyp2f1, (((-4.0, 4.0),), ((-4.0, 4.0),), ((0.2, 6.0),), ((-5.0, 0.99),)), 8192, 8192, slow=8),
    _unary("bessel_jn, order 0", lambda x: special.bessel_jn(x, v=3)[0], lambda x: mp.besselj(0, x), (-20.0, 20.0), (20.0, 300.0),
           bounds=(128, 128), floor=_bessel_floor, note=_BESSEL_NOTE),
    _unary("bessel_jn, order 3", lambda x: special.bessel_jn(x, v=3)[3], lambda x: mp.besselj(3, x), (-20.0, 20.0), (20.0, 300.0),
           bounds=(128, 128), floor=_bessel_floor, note=_BESSEL_NOTE),
    _unary("j0", special.j0, lambda x: mp.besselj(0, x), (-20.0, 20.0), (20.0, 3e3), bounds=(16, 16), floor=_bessel_floor, note=_BESSEL_NOTE,
           points=at(7.9999, 8.0, 8.0001)),
    _unary("j1", special.j1, lambda x: mp.besselj(1, x), (-20.0, 20.0), (20.0, 3e3), bounds=(16, 16), floor=_bessel_floor, note=_BESSEL_NOTE,
           points=at(1e-6, 7.9999, 8.0, 8.0001)),
    _unary("y0", special.y0, lambda x: mp.bessely(0, x), (1e-6, 20.0), (20.0, 3e3), bounds=(16, 32), floor=_bessel_floor, note=_BESSEL_NOTE,
           points=at(7.9999, 8.0, 8.0001)),
    _unary("y1", special.y1, lambda x: mp.bessely(1, x), (1e-6, 20.0), (20.0, 3e3), bounds=(16, 32), floor=_bessel_floor, note=_BESSEL_NOTE,
           points=at(7.9999, 8.0, 8.0001)),
    _unary("yn, order 5", lambda x: special.yn(5, x), lambda x: mp.bessely(5, x), (0.5, 20.0), (20.0, 3e3), bounds=(32, 32),
           floor=_bessel_floor, note=_BESSEL_NOTE),
    Record("ive", special.ive, lambda v, x: mp.exp(-abs(x)) * mp.besseli(v, x), (((0.0, 10.0),), ((0.1, 300.0),)), 128, 256, slow=8),
    Record("iv", special.iv, mp.besseli, (((0.0, 10.0),), ((0.1, 80.0),)), 128, 256, slow=8),
    _unary("rgamma", special.rgamma, mp.rgamma, (-20.0, 30.0), bounds=(8, 8)),
    _unary("erfcinv", special.erfcinv, lambda y: mp.erfinv(1 - y), (1e-3, 1.999), bounds=(16, 16), points=at(0.4999, 0.5, 1.0001)),
    _unary("logit", special.logit, lambda p: mp.log(p / (1 - p)), (1e-30, 0.9999), bounds=(4, 4), points=at(0.0899, 0.0901, 0.9099, 0.9101)),
    Record("xlogy", special.xlogy, lambda x, y: x * mp.log(y), (((-9.0, 9.0),), ((1e-9, 1e9),)), 3, 3),
    Record("xlog1py", special.xlog1py, lambda x, y: x * mp.log1p(y), (((-9.0, 9.0),), ((-0.9, 1e9),)), 3, 3),
    _unary("entr", special.entr, lambda x: -x * mp.log(x), (1e-30, 1e6), bounds=(3, 3)),
    Record("rel_entr", special.rel_entr, _rel_entr, (((1e-6, 1e3),), ((1e-6, 1e3),)), 4, 4, points=((1.0, 1.0001), (600.0, 599.9))),
    Record("boxcox", special.boxcox, _boxcox, (((1e-3, 1e3),), ((-3.0, 3.0),)), 4, 4, points=((590.0, 2.94), (20.0, 1e-30))),
    Record("boxcox1p", special.boxcox1p, lambda x, power: _boxcox_of_log(mp.log1p(x), power), (((-0.999, 0.0), (1e-9, 1e3)), ((-30.0, 30.0),)), 4, 4),
]  # fmt: skip


@dataclass(frozen=True)
class Fold:
    """A sum, a product, or what is made of them; its reference is the same call in float64.

    Attributes:
        name: as on the page.
        call: of arrays.
        shapes: of the arguments, drawn from the normal distribution.
        bound: in ulp of what the call gives for the arguments' magnitudes: where terms cancel, errors are relative to the terms.
        positive: whether the arguments' magnitudes are taken.
    """

    name: str
    call: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    bound: float
    positive: bool = False


def _convolution(x: Any, kernel: Any) -> Any:
    return lax.conv(x, kernel, (1, 1), "SAME")


def _slope_of_convolution(argument: int) -> Callable[..., Any]:
    # The cotangent is an argument, so that it has the precision that is measured.
    return lambda x, kernel, out: ct.vjp(_convolution, x, kernel)[1](out)[argument]


_IMAGES, _KERNEL, _RESULTS = (2, 8, 20, 20), (4, 8, 3, 3), (2, 4, 20, 20)

FOLDS = [
    Fold("sum of 100,000", cnp.sum, ((100000,),), 1),
    Fold("sum of 50,000 positive", cnp.sum, ((50000,),), 4, positive=True),
    Fold("sum(axis=0) of 1,000 x 1,000", lambda x: cnp.sum(x, 0), ((1000, 1000),), 1),
    Fold("sum(axis=1) of 1,000 x 1,000", lambda x: cnp.sum(x, 1), ((1000, 1000),), 1),
    Fold("cumsum of 100,000", cnp.cumsum, ((100000,),), 4),
    Fold("prod of 20", cnp.prod, ((20,),), 16),
    Fold("var of 100,000", cnp.var, ((100000,),), 8, positive=True),
    Fold("logsumexp of 100,000", nn.logsumexp, ((100000,),), 8, positive=True),
    Fold("softmax of 1,000 x 100", nn.softmax, ((1000, 100),), 16, positive=True),
    Fold("dot of 100,000", cnp.dot, ((100000,), (100000,)), 1),
    Fold("matmul of 200 x 200", cnp.matmul, ((200, 200), (200, 200)), 8),
    Fold("convolution", _convolution, (_IMAGES, _KERNEL), 4),
    Fold("convolution, gradient in images", _slope_of_convolution(0), (_IMAGES, _KERNEL, _RESULTS), 4),
    Fold("convolution, gradient in kernel", _slope_of_convolution(1), (_IMAGES, _KERNEL, _RESULTS), 4),
]

RECORDS = [*ELEMENTARY, *ACTIVATIONS, *SPECIAL]
GROUPS = {"Elementary functions": ELEMENTARY, "Activations": ACTIVATIONS, "Special functions": SPECIAL}
