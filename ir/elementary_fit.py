"""Print the polynomial coefficients in elementary_tables.h: near-minimax fits, by interpolation at Chebyshev nodes.

Run with mpmath installed: `python ir/elementary_fit.py > ir/elementary_tables.h`. Each fit's worst error, relative to the function that it
is part of, is printed with it; degrees are chosen so that this is well below the rounding error of the result.
"""

from collections.abc import Callable

from mpmath import atan, atanh, chebyfit, cos, erf, erfc, exp, linspace, log, mp, mpf, sin, sqrt, tanh

mp.dps = 60


def fit(
    name: str,
    function: Callable[[mpf], mpf],
    low: mpf,
    high: mpf,
    terms: int,
    relative: Callable[[mpf], mpf],
) -> None:
    """Fit `function` on [low, high]; `relative(t)` scales its error to one of the final result."""
    coefficients, _ = chebyfit(function, [low, high], terms, error=True)
    worst = mpf(0)
    for t in linspace(low, high, 400):
        value = mpf(0)
        for c in coefficients:
            value = value * t + mpf(float(c))
        worst = max(worst, abs((value - function(t)) * relative(t)))
    print(f"// Worst relative error of the result: 2^{float(log(worst, 2)):.1f}.")
    print(f"inline constexpr double {name}[] = {{")
    for c in reversed(coefficients):
        print(f"    {float(c)!r},")
    print("};\n")


def main() -> None:
    """Print the header."""
    print("// Polynomial coefficients, lowest degree first. Written by elementary_fit.py: do not edit.")
    print("#pragma once\n\nnamespace ct::tables {\n")
    half = log(2) / 2 * mpf("1.01")

    def near(f: Callable[[mpf], mpf], at_zero: mpf) -> Callable[[mpf], mpf]:
        return lambda t: f(t) if abs(t) > mpf("1e-12") else at_zero

    print("// (exp(r) - 1 - r) / r^2 on |r| <= log(2) / 2.")
    exp_rest = near(lambda r: (exp(r) - 1 - r) / r**2, mpf(1) / 2)
    fit("kExpFloat", exp_rest, -half, half, 6, lambda r: r**2)
    fit("kExpDouble", exp_rest, -half, half, 11, lambda r: r**2)

    print("// (2 atanh(s) / s - 2) / z with z = s^2: log((1 + s) / (1 - s)) = 2 s + s z P(z).")
    z_high = ((sqrt(2) - 1) / (sqrt(2) + 1)) ** 2 * mpf("1.01")
    log_rest = near(lambda z: (2 * atanh(sqrt(z)) / sqrt(z) - 2) / z, mpf(2) / 3)
    fit("kLogFloat", log_rest, mpf(0), z_high, 4, lambda z: z / 2)
    fit("kLogDouble", log_rest, mpf(0), z_high, 8, lambda z: z / 2)

    print("// (atanh(s) / s - 1 - z / 3) / z^2 with z = s^2, for pow.")
    pow_rest = near(
        lambda z: (atanh(sqrt(z)) / sqrt(z) - 1 - z / 3) / z**2 if z > mpf("1e-9") else mpf(1) / 5 + z / 7, mpf(1) / 5
    )
    fit("kPowDouble", pow_rest, mpf(0), z_high, 9, lambda z: z**2)

    print("// (tanh(x) / x - 1) / z with z = x^2.")
    tanh_rest = near(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, mpf(-1) / 3)
    fit("kTanhFloat", tanh_rest, mpf(0), mpf("0.625") ** 2, 6, lambda z: z)
    fit("kTanhDouble", tanh_rest, mpf(0), mpf("0.625") ** 2, 15, lambda z: z)

    print("// erf(x) / x - 1 with z = x^2, |x| <= 1; and erfc(x) exp(x^2) with u = (x - 2) / (x + 2), x > 1.")
    erf_rest = near(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(mp.pi) - 1)
    fit("kErfFloat", erf_rest, mpf(0), mpf(1), 8, lambda z: mpf(1))
    fit("kErfDouble", erf_rest, mpf(0), mpf(1), 15, lambda z: mpf(1))

    def scaled(u: mpf) -> mpf:
        x = 2 * (1 + u) / (1 - u)
        return erfc(x) * exp(x * x)

    def erfc_share(u: mpf) -> mpf:
        x = 2 * (1 + u) / (1 - u)
        return exp(-x * x)

    fit("kErfcFloat", scaled, mpf(-1) / 3, mpf(1) / 3, 8, erfc_share)
    fit("kErfcDouble", scaled, mpf(-1) / 3, mpf(1) / 2, 18, erfc_share)

    print("// (sin(r) / r - 1) / z and (cos(r) - 1 + z / 2) / z^2 with z = r^2, |r| <= pi / 4.")
    quarter = (mp.pi / 4) ** 2 * mpf("1.01")
    sin_rest = near(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, mpf(-1) / 6)
    cos_rest = near(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24)
    fit("kSinFloat", sin_rest, mpf(0), quarter, 4, lambda z: z)
    fit("kCosFloat", cos_rest, mpf(0), quarter, 3, lambda z: z**2)
    fit("kSinDouble", sin_rest, mpf(0), quarter, 7, lambda z: z)
    fit("kCosDouble", cos_rest, mpf(0), quarter, 7, lambda z: z**2)

    print("// (atan(t) / t - 1) / z with z = t^2, |t| <= tan(pi / 8).")
    atan_rest = near(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, mpf(-1) / 3)
    fit("kAtanDouble", atan_rest, mpf(0), (sqrt(2) - 1) ** 2 * mpf("1.01"), 12, lambda z: z)

    print("// 2/pi in binary, 64 bits a word, most significant first.")
    mp.prec = 1400
    digits = int(2 / mp.pi * mpf(2) ** (64 * 20))
    words = [(digits >> (64 * (19 - i))) & (2**64 - 1) for i in range(20)]
    print("inline constexpr unsigned long long kTwoOverPi[] = {")
    for word in words:
        print(f"    0x{word:016x}ull,")
    print("};\n\n}  // namespace ct::tables")


if __name__ == "__main__":
    main()
