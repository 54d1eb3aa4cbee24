"""Print cotangent/_special/tables.py: the polynomials that the special functions are made of.

Run with mpmath installed: `python python_bindings/special_fit.py > python_bindings/cotangent/_special/tables.py`. Each is
a near-minimax fit, by interpolation at Chebyshev nodes with 80 digits; its worst relative error is printed with it.
"""

from collections.abc import Callable

from mpmath import (
    atanh,
    besseli,
    besselj,
    bessely,
    chebyfit,
    ci,
    cos,
    digamma,
    e1,
    erfc,
    erfinv,
    euler,
    exp,
    expj,
    expm1,
    fac2,
    factorial,
    findroot,
    fresnelc,
    fresnels,
    hyp1f1,
    linspace,
    log,
    log1p,
    loggamma,
    mp,
    mpc,
    mpf,
    pi,
    polylog,
    polyval,
    psi,
    re,
    si,
    sin,
    sqrt,
    workdps,
)

mp.dps = 80

Function = Callable[[mpf], mpf]


def numbers(values: list[mpf], digits: int) -> str:
    """As Python text."""
    text = ", ".join(mp.nstr(value, digits, strip_zeros=True) for value in values)
    return f"({text},)" if len(values) == 1 else f"({text})"


def fit(
    name: str, function: Function, low: mpf, high: mpf, single: int, double: int, through_zero: bool = False
) -> None:
    """Fit with `single` terms for float32 and `double` terms for float64, in the variable less its centre.

    The error of a function that goes through zero is absolute.
    """
    low, high = mpf(low), mpf(high)
    centre = mpf(float((low + high) / 2))
    for precision, terms, digits in [("32", single, 10), ("64", double, 19)]:
        if not terms:
            continue
        coefficients = chebyfit(lambda t: function(t + centre), [low - centre, high - centre], terms)
        worst = max(
            abs(polyval(coefficients, t) - function(t + centre)) / (1 if through_zero else abs(function(t + centre)))
            for t in linspace(low - centre, high - centre, 300)
        )
        print(f"# Error {mp.nstr(worst, 2)}.")
        print(f"{name}{precision} = ({float(centre)!r}, {numbers(coefficients, digits)})  # fmt: skip")


def scaled_erfc(t: mpf) -> mpf:
    """(1 + 2 x) exp(x^2) erfc(x) at t = (x - 3.75) / (x + 3.75)."""
    if t > 1 - mpf("1e-9"):
        return 2 / sqrt(pi)
    x = mpf("3.75") * (1 + t) / (1 - t)
    if x > 10000:  # the asymptotic series
        return (
            (1 + 2 * x) / (x * sqrt(pi)) * (1 - 1 / (2 * x**2) + 3 / (4 * x**4) - 15 / (8 * x**6) + 105 / (16 * x**8))
        )
    return (1 + 2 * x) * exp(x * x) * erfc(x)


def ratio_of_erf_inv(w: mpf) -> mpf:
    """erf_inv(x) / x at w = -log(1 - x^2)."""
    if w < mpf("1e-40"):
        return sqrt(pi) / 2
    x = sqrt(-expm1(-w))
    return erfinv(x) / x


def outer_ratio_of_erf_inv(root: mpf) -> mpf:
    """erf_inv(x) / x at root = sqrt(-log(1 - x^2)) > 2, where x is close to 1: from the logarithm of 1 - x, by Newton's method."""
    w = root * root
    x = sqrt(-expm1(-w))
    wanted = -w - log1p(x)
    y = sqrt(w - log(sqrt(pi * w)))
    change = mpf(1)
    while abs(change) > mpf("1e-60"):
        tail = erfc(y)
        change = (log(tail) - wanted) * tail * sqrt(pi) / 2 * exp(y * y)
        y += change
    return y / x


def near_zero(function: Function, at_zero: mpf) -> Function:
    """The function, and its limit where it would cancel."""
    return lambda t: function(t) if abs(t) > mpf("1e-40") else at_zero


def stirling(u: mpf) -> mpf:
    """What Stirling's formula for log gamma(x) lacks, times x, at u = 1 / x^2."""
    x = 1 / sqrt(u)
    return (loggamma(x) - ((x - mpf(1) / 2) * log(x) - x + log(2 * pi) / 2)) * x


def digamma_tail(u: mpf) -> mpf:
    """(log(x) - 1 / (2 x) - digamma(x)) x^2 at u = 1 / x^2."""
    x = 1 / sqrt(u)
    return (log(x) - 1 / (2 * x) - digamma(x)) * x**2


def bessel(order: int) -> tuple[Function, Function]:
    """exp(-x) I_order(x) / x^order, and at u = 1 / x times sqrt(x) instead."""

    def far(u: mpf) -> mpf:
        x = 1 / u
        return exp(-x) * besseli(order, x) * sqrt(x)

    return near_zero(lambda x: exp(-x) * besseli(order, x) / x**order, mpf(1) / 2**order), near_zero(
        far, 1 / sqrt(2 * pi)
    )


def oscillating(order: int) -> dict[str, Function]:
    """What the Bessel functions J and Y of order 0 or 1 are made of.

    J / x^order in x^2, what Y / x^order has beside logarithm and pole in x^2, and in (8 / x)^2 the parts P and x Q / 8
    of the waves J + i Y = sqrt(2 / (pi x)) exp(i (x - (2 order + 1) pi / 4)) (P + i Q).
    """

    def rest_of_y(t: mpf) -> mpf:
        x = sqrt(t)
        pole = -1 / x if order else mpf(0)
        return (bessely(order, x) - 2 / pi * (log(x) * besselj(order, x) + pole)) / x**order

    def wave(w: mpf) -> tuple[mpf, mpf]:
        x = 8 / sqrt(w)
        turned = expj(-(x - (2 * order + 1) * pi / 4)) * sqrt(pi * x / 2)
        value = (besselj(order, x) + mpc(0, 1) * bessely(order, x)) * turned
        return re(value), value.imag * x / 8

    # Near 0 the functions are smooth: a close argument, to a millionth of a rounding error.
    away = lambda t: max(t, mpf("1e-25"))  # noqa: E731
    return {
        "J": lambda t: besselj(order, sqrt(away(t))) / sqrt(away(t)) ** order,
        "Y": lambda t: rest_of_y(away(t)),
        "P": lambda w: wave(away(w))[0],
        "Q": lambda w: wave(away(w))[1],
    }


def scaled_exp1(t: mpf) -> mpf:
    """The values x exp(x) E1(x) at t = (x - 2) / (x + 2)."""
    if t > 1 - mpf("1e-9"):
        return mpf(1)
    x = 2 * (1 + t) / (1 - t)
    if x > 150:  # the asymptotic series
        return sum((-1) ** k * factorial(k) / x**k for k in range(60))
    return x * exp(x) * e1(x)


def fresnel_pair(v: mpf) -> tuple[mpf, mpf]:
    """The values pi x f(x) and pi^2 x^3 g(x) at v = 1 / x^2, of the auxiliary functions f and g (DLMF 7.5.3 and 7.5.4)."""
    if v < mpf(1) / 900:
        y = (pi / v) ** 2 if v > 0 else mpf("1e80")
        return tuple(sum((-1) ** k * fac2(4 * k + first) / y**k for k in range(20)) for first in (-1, 1))
    x = 1 / sqrt(v)
    with workdps(120):
        rest_c, rest_s = mpf(1) / 2 - fresnelc(x), mpf(1) / 2 - fresnels(x)
        c, s = cos(pi * x * x / 2), sin(pi * x * x / 2)
        return (rest_s * c - rest_c * s) * pi * x, (rest_c * c + rest_s * s) * pi**2 * x**3


def sici_pair(t: mpf) -> tuple[mpf, mpf]:
    """The values x f(x) and x^2 g(x) at t = (x - 8) / (x + 8), of the auxiliary functions f and g (DLMF 6.2.17 and 6.2.18)."""
    x = 8 * (1 + t) / (1 - t) if t < 1 - mpf("1e-30") else mpf("1e30")
    if x > 300:  # the asymptotic series
        return tuple(sum((-1) ** k * factorial(2 * k + more) / x ** (2 * k) for k in range(60)) for more in (0, 1))
    with workdps(100):
        rest = pi / 2 - si(x)
        return (ci(x) * sin(x) + rest * cos(x)) * x, (rest * sin(x) - ci(x) * cos(x)) * x**2


def dawson(s: mpf) -> mpf:
    """Dawson's integral over x at s = x^2."""
    return hyp1f1(1, mpf(3) / 2, -s)


def dawson_far(u: mpf) -> mpf:
    """Dawson's integral times 2 x, less 1, over u = 1 / x^2."""
    if u < mpf("1e-3"):  # the asymptotic series
        return sum(fac2(2 * k - 1) * (u / 2) ** (k - 1) / 2 for k in range(1, 60))
    return (2 * dawson(1 / u) / u - 1) / u


def odd_part_of_spence(v: mpf) -> mpf:
    """The part of the dilogarithm of 1 - exp(-w) that is odd in w, over w, at v = w^2."""
    w = sqrt(v)
    return (re(polylog(2, 1 - exp(-w))) + v / 4) / w


def log_log_ndtr(x: mpf) -> mpf:
    """The logarithm of minus the logarithm of the standard normal distribution function."""
    return log(-log(erfc(-x / sqrt(2)) / 2))


def split_root(name: str, root: mpf) -> None:
    """A root as two numbers, for float64 and for float32, where the first has 21 bits after the point."""
    head = mpf(float(root))
    print(f"{name} = ({float(head)!r}, {float(root - head)!r})")
    head = mp.ldexp(mp.nint(mp.ldexp(root, 20)), -20)
    print(f"{name}32 = ({float(head)!r}, {mp.nstr(root - head, 12)})")


def temme(orders: int, terms: list[int]) -> list[list[mpf]]:
    """Taylor coefficients of the functions c_k in Temme's expansion of the incomplete gamma function.

    With l = x / a and eta^2 / 2 = l - 1 - log(l): c_0 = 1 / (l - 1) - 1 / eta, and
    c_k = (d c_(k-1) / d eta) / eta + g_k / (l - 1), where sum g_k a^-k is Stirling's series of 1 / gamma*(a).
    """
    count = max(terms) + 2 * orders + 4
    # l - 1 as a series in eta, from eta d eta = (l - 1) / l dl, so m m' = eta (1 + m).
    m = [mpf(0), mpf(1)]
    for n in range(2, count + 2):
        # The coefficient of eta^n in m m' = eta + eta m.
        known = sum(m[i] * (n + 1 - i) * m[n + 1 - i] for i in range(2, n))
        m.append((m[n - 1] - known) / (n + 1))
    # 1 / m = 1 / eta * 1 / (m / eta).
    ratio, inverse = m[1:], [mpf(1)]
    for n in range(1, count + 1):
        inverse.append(-sum(ratio[i] * inverse[n - i] for i in range(1, n + 1)))
    # 1 / gamma*(a) as a series in 1 / a: exp of minus Stirling's series of the logarithm.
    logarithm = [mpf(0)] * (orders + 2)
    for k in range(1, orders // 2 + 2):
        if 2 * k - 1 < len(logarithm):
            logarithm[2 * k - 1] = -mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    g = [mpf(1)]
    for n in range(1, orders + 1):
        g.append(sum(i * logarithm[i] * g[n - i] for i in range(1, n + 1)) / n)
    # Coefficients of eta^-1, eta^0, ...; the poles cancel.
    c = inverse[1:]
    result = [c[: terms[0]]]
    for k in range(1, orders):
        # (c' / eta) has coefficients n c_n at eta^(n - 2): its pole is that of -g_k / (l - 1).
        c = [(n + 2) * c[n + 2] + g[k] * inverse[n + 1] for n in range(len(c) - 2)]
        result.append(c[: terms[k]])
    return result


def main() -> None:
    """Print the module."""
    print(
        '"""Polynomials of the special functions: (centre, coefficients, the highest first). Written by special_fit.py."""'
    )
    print("# ruff: noqa: E501")
    print("\n# (1 + 2 x) exp(x^2) erfc(x) in (x - 3.75) / (x + 3.75), for x >= 0.")
    fit("ERFCX", scaled_erfc, -1, 1, 12, 25)
    print("\n# erf_inv(x) / x in w = -log(1 - x^2), and further out in sqrt(w).")
    at_root = lambda r: ratio_of_erf_inv(r * r)  # noqa: E731
    fit("ERF_INV_NEAR", ratio_of_erf_inv, 0, 5, 10, 0)
    fit("ERF_INV_FAR", at_root, mpf(5) ** 0.5, 4.25, 10, 0)
    fit("ERF_INV_NEAR", ratio_of_erf_inv, 0, 6.25, 0, 23)
    fit("ERF_INV_MIDDLE", at_root, 2.5, 4, 0, 19)
    fit("ERF_INV_FAR", at_root, 4, 6.25, 0, 17)
    fit("ERF_INV_OUTER", outer_ratio_of_erf_inv, 4, 10.25, 10, 0)
    fit("ERF_INV_OUTER", outer_ratio_of_erf_inv, 6.125, 13, 0, 19)
    fit("ERF_INV_LAST", outer_ratio_of_erf_inv, 13, 27.5, 0, 18)
    print("\n# log gamma(2 + t) / t.")
    fit("LGAMMA", near_zero(lambda t: loggamma(2 + t) / t, digamma(2)), -0.5, 0.5, 10, 21)
    print("\n# log gamma(1 + a) / a.")
    fit("LGAMMA_ABOVE_ONE", near_zero(lambda a: loggamma(1 + a) / a, digamma(1)), 0, 1.65, 15, 29)
    print("\n# What Stirling's formula for log gamma(x) lacks, times x, in 1 / x^2, for x >= 2.5.")
    fit("STIRLING", near_zero(stirling, mpf(1) / 12), 0, 0.16, 5, 16)
    print("\n# digamma(x) / (x - its root) on [1, 2].")
    root = findroot(digamma, mpf("1.4616"))
    split_root("DIGAMMA_ROOT", root)
    fit("DIGAMMA", lambda x: digamma(x) / (x - root) if abs(x - root) > 1e-40 else psi(1, root), 1, 2, 10, 22)
    print("\n# (log(x) - 1 / (2 x) - digamma(x)) x^2 in 1 / x^2, for x >= 2.")
    fit("DIGAMMA_TAIL", near_zero(digamma_tail, mpf(1) / 12), 0, 0.25, 7, 20)
    for order in (0, 1):
        near, far = bessel(order)
        print(f"\n# exp(-x) I{order}(x){' / x' * order} on [0, 8]; exp(-x) I{order}(x) sqrt(x) in 1 / x, for x >= 8.")
        fit(f"I{order}E_NEAR", near, 0, 8, 17, 29)
        fit(f"I{order}E_FAR", far, 0, 0.125, 6, 22)
    for order in (0, 1):
        parts = oscillating(order)
        print(
            f"\n# J{order}(x){' / x' * order} on [0, 8] and what Y{order}(x){' / x' * order} has beside logarithm and pole, in x^2."
        )
        fit(f"J{order}_NEAR", parts["J"], 0, 64, 11, 17, through_zero=True)
        fit(f"Y{order}_NEAR", parts["Y"], 0, 64, 11, 17, through_zero=True)
        print(f"\n# P and x Q / 8 of J{order} and Y{order} in (8 / x)^2, for x >= 8.")
        fit(f"JY{order}_P", parts["P"], 0, 1, 4, 14)
        fit(f"JY{order}_Q", parts["Q"], 0, 1, 4, 14)
    print("\n# x exp(x) E1(x) in (x - 2) / (x + 2), for x >= 1.")
    fit("E1_FAR", scaled_exp1, mpf(-1) / 3, 1, 12, 28)
    print("\n# pi x f(x) and pi^2 x^3 g(x) of the Fresnel integrals' auxiliary functions, in 1 / x^2, for x >= 1.6.")
    fit("FRESNEL_F", lambda v: fresnel_pair(v)[0], 0, 1 / mpf("2.56"), 10, 30)
    fit("FRESNEL_G", lambda v: fresnel_pair(v)[1], 0, 1 / mpf("2.56"), 11, 30)
    print("\n# Ci(x) / (x - its root) on [2, 4].")
    root_of_ci = findroot(ci, mpf("3.384"))
    split_root("CI_ROOT", root_of_ci)
    fit("CI", lambda x: ci(x) / (x - root_of_ci) if abs(x - root_of_ci) > 1e-40 else cos(x) / x, 2, 4, 11, 23)
    print(
        "\n# x f(x) and x^2 g(x) of the sine and cosine integrals' auxiliary functions, in (x - 8) / (x + 8), for x >= 4."
    )
    fit("SICI_F", lambda t: sici_pair(t)[0], mpf(-1) / 3, 1, 11, 27)
    fit("SICI_G", lambda t: sici_pair(t)[1], mpf(-1) / 3, 1, 11, 26)
    print("\n# Si(x) / x on [0, 4] and (Ci(x) - log(x) - Euler's constant) / x^2 on [0, 2], in x^2.")
    fit("SI_NEAR", near_zero(lambda s: si(sqrt(s)) / sqrt(s), mpf(1)), 0, 16, 7, 13)
    fit("CI_NEAR", near_zero(lambda s: (ci(sqrt(s)) - log(s) / 2 - euler) / s, -mpf(1) / 4), 0, 4, 5, 10)
    print("\n# Dawson's integral: over x in x^2, for x < 1.5; times (1 + 2 x^2) / x in x, up to 5.")
    fit("DAWSON_NEAR", dawson, 0, 2.25, 10, 17)
    fit("DAWSON_MIDDLE", lambda x: dawson(x * x) * (1 + 2 * x * x), 1.5, 5, 16, 30)
    print("\n# x^2 times (2 x times that, less 1) in 1 / x^2, for x >= 5.")
    fit("DAWSON_FAR", dawson_far, 0, 0.04, 6, 20)
    print("\n# The part of the dilogarithm of 1 - exp(-w) that is odd in w, over w, in w^2, for |w| < 2.4.")
    fit("SPENCE", near_zero(odd_part_of_spence, mpf(1)), 0, 5.76, 6, 12)
    print("\n# log(-log(the standard normal distribution function)) on [-1, 1].")
    fit("LOG_NDTR", log_log_ndtr, -1, 1, 11, 19, through_zero=True)
    print("\n# (2 artanh(t) / t - 2) / t^2 in t^2, for |t| < 0.82.")
    fit("LOGIT", near_zero(lambda s: (2 * atanh(sqrt(s)) / sqrt(s) - 2) / s, mpf(2) / 3), 0, 0.6724, 12, 26)
    print("\n# Bernoulli's numbers B_2j over (2j)!, from j = 1.")
    bernoulli = [mp.bernoulli(2 * j) / mp.factorial(2 * j) for j in range(1, 19)]
    print(f"BERNOULLI = {numbers(bernoulli, 19)}  # fmt: skip")
    print("\n# Temme's eta / (x / a - 1) in x / a - 1.")
    fit(
        "TEMME_ETA",
        near_zero(lambda u: sqrt(2 * (u - log1p(u))) / abs(u), mpf(1)),
        -0.35,
        0.35,
        0,
        24,
    )
    print("\n# Temme's functions c_0, c_1, ... in eta.")
    print("TEMME = (")
    for row in temme(12, [16, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4]):
        print(f"    {numbers(row[::-1], 19)},")
    print(")  # fmt: skip")


if __name__ == "__main__":
    main()
