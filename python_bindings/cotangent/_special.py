"""Special functions that are compositions of primitives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._core import Array
from cotangent.errors import DTypeError
from cotangent.numpy._support import bind1, inexact, kind, literal

# erfinv(x) / x as polynomials, the highest coefficient first: Chebyshev interpolation computed with 80 digits. Near 0
# the variable is
# w = -log(1 - x**2), further out sqrt(w); each less the centre of its interval. Relative errors are below 3e-8 and
# 9e-16.
_NEAR32 = (2.5, (-8.93192597e-9, 2.33359672e-8, 4.681313481e-7, -3.463985268e-6, -4.972419689e-6, 0.0002183493862, -0.001252726392, -0.004177392875, 0.2466402791, 1.50140936))  # fmt: skip # noqa: E501
_FAR32 = (3.2430339887498948482, (8.611455584e-5, -8.238408538e-5, -0.0003646337515, 0.001054683324, -0.001726159207, 0.002521611098, -0.0038217099, 0.005453691499, 1.005183596, 3.076883153))  # fmt: skip # noqa: E501
_NEAR64 = (3.125, (-2.3623696985661074151e-22, -1.6787330615256771869e-19, 1.1027771591500032941e-18, 1.1125794759379464874e-17, -1.2907023546130730434e-16, 2.1669946262835739661e-17, 6.5819553059292388607e-15, -4.0554139746886005127e-14, -8.1065944564384951179e-14, 2.6335724924608484059e-12, -1.2977505202014966524e-11, -5.4154417754696635046e-11, 1.0512202440121784072e-9, -4.1126331042976139132e-9, -2.9070386660191429466e-8, 4.2347877672780652969e-7, -1.3654691796592068361e-6, -0.000013882523361276876215, 0.00018673420802124271572, -0.00074070253416694010806, -0.0060336708714270112969, 0.24015818242558970989, 1.653654562683102712))  # fmt: skip # noqa: E501
_MIDDLE64 = (3.25, (-3.8310399460724113797e-10, 9.0719505710299225305e-8, -2.6860975725571460947e-7, 1.8323999881328577679e-8, 1.4958263152984917443e-6, -4.0139463981902918841e-6, 2.9273722115986925899e-6, 0.000012475343474376930773, -0.000047319529183371890164, 0.000068284840522929233718, 0.000024031363245440548101, -0.00035503751863069760148, 0.00095328935211181777561, -0.0016882755561681802984, 0.0024914420976198812115, -0.0037512085075638537904, 0.0053709145535581983223, 1.0052589676941592026, 3.0838856104922206763))  # fmt: skip # noqa: E501
_FAR64 = (5.125, (2.3402867757000538538e-11, -2.2716279001208751287e-10, 8.3498383485523663114e-10, -1.860475032569399579e-9, 3.5245414184684880797e-9, -6.8381445707138102255e-9, 1.4562970273695557901e-8, -4.1656650460922573889e-8, 1.6932274733409747276e-7, -7.9619811826836309068e-7, 3.7475843790911169786e-6, -0.000016589903771827145348, 0.000064690757173895425518, -0.00017993907179259796106, -0.00021259950368371439827, 1.0102562759886416563, 4.9761913900162999132))  # fmt: skip # noqa: E501


def _polynomial(variable: Array, fit: tuple[float, Sequence[float]]) -> Array:
    """A fit at values of its variable."""
    centre, coefficients = fit
    t = variable - literal(variable, centre)
    result = literal(t, coefficients[0])
    for coefficient in coefficients[1:]:
        result = result * t + literal(t, coefficient)
    return result


def erf_inv(x: Any) -> Array:
    """The inverse of the error function: infinite at -1 and 1, NaN beyond.

    >>> import cotangent as ct
    >>> float(erf_inv(0.0))
    0.0
    """
    array = inexact(x)
    if kind(array) != "float":
        raise DTypeError(f"erf_inv takes real arrays; got {array.dtype}")
    if array.dtype.itemsize == 2:
        return _core.convert(erf_inv(_core.convert(array, "float32")), array.dtype)
    one = literal(array, 1.0)
    magnitude = bind1("abs", array)
    # At the ends and beyond: away from the logarithm, so that its derivative stays defined.
    inside = bind1("lt", magnitude, one)
    safe = bind1("select", inside, array, literal(array, 0.0))
    # Factored away from 0: squaring would lose digits of 1 - x**2.
    w = bind1("neg", bind1("log1p", bind1("neg", safe * safe)))
    factored = bind1("neg", bind1("log", (one - safe) * (one + safe)))
    w = bind1("select", bind1("lt", w, one), w, factored)
    limit = 5.0 if array.dtype.itemsize == 4 else 6.25
    near = bind1("lt", w, literal(w, limit))
    root = bind1("sqrt", bind1("select", near, literal(w, limit), w))
    close = bind1("select", near, w, literal(w, 0.0))
    if array.dtype.itemsize == 4:
        ratio = bind1("select", near, _polynomial(close, _NEAR32), _polynomial(root, _FAR32))
    else:
        middle = bind1("lt", w, literal(w, 16.0))
        far = bind1("select", middle, _polynomial(root, _MIDDLE64), _polynomial(root, _FAR64))
        ratio = bind1("select", near, _polynomial(close, _NEAR64), far)
    ends = bind1("select", bind1("eq", magnitude, one), literal(array, math.inf), literal(array, math.nan))
    return bind1(
        "select",
        inside,
        ratio * safe,
        ends * bind1("select", bind1("lt", array, literal(array, 0.0)), bind1("neg", one), one),
    )
