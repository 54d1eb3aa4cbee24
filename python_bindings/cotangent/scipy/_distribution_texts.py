"""What the docstrings of the distributions of `cotangent.scipy.stats` are made of: a row for each distribution."""

from __future__ import annotations

from typing import NamedTuple

_CONTINUOUS = 'Norman L. Johnson, Samuel Kotz and N. Balakrishnan, "Continuous Univariate Distributions", 2nd edition'
_FIRST, _SECOND = (f"{_CONTINUOUS}, volume {number}, {year}, chapter " for number, year in ((1, 1994), (2, 1995)))
_DISCRETE = 'Norman L. Johnson, Adrienne W. Kemp and Samuel Kotz, "Univariate Discrete Distributions", 3rd edition, 2005, chapter '
_DIRECTIONS = 'Kanti V. Mardia and Peter E. Jupp, "Directional Statistics", 2000, section '


class Text(NamedTuple):
    """A distribution in words, and what its functions give in the examples."""

    what: str
    formula: str  # the density, or the probability, at location 0 and scale 1
    where: str  # it is more than 0
    shapes: dict[str, str]
    variable: str  # in the examples
    parameters: str  # the shape parameters in the examples
    results: dict[str, str]  # of each function, to four digits; of quantiles at 0.25
    reference: str


TEXTS = {
    "norm": Text(
        "the normal distribution",
        "exp(-x**2 / 2) / sqrt(2 * pi)",
        "",
        {},
        "0.5",
        "",
        {
            "cdf": "0.6915",
            "isf": "0.6745",
            "logcdf": "-0.3689",
            "logpdf": "-1.0439",
            "logsf": "-1.1759",
            "pdf": "0.3521",
            "ppf": "-0.6745",
            "sf": "0.3085",
        },
        _FIRST + "13",
    ),
    "uniform": Text(
        "the uniform distribution",
        "1",
        " for 0 <= x <= 1",
        {},
        "0.25",
        "",
        {
            "cdf": "0.25",
            "logcdf": "-1.3863",
            "logpdf": "0.0",
            "logsf": "-0.2877",
            "pdf": "1.0",
            "ppf": "0.25",
            "sf": "0.75",
        },
        _SECOND + "26",
    ),
    "expon": Text(
        "the exponential distribution",
        "exp(-x)",
        " for x >= 0",
        {},
        "0.5",
        "",
        {
            "cdf": "0.3935",
            "logcdf": "-0.9328",
            "logpdf": "-0.5",
            "logsf": "-0.5",
            "pdf": "0.6065",
            "ppf": "0.2877",
            "sf": "0.6065",
        },
        _FIRST + "19",
    ),
    "laplace": Text(
        "the Laplace distribution",
        "exp(-|x|) / 2",
        "",
        {},
        "0.5",
        "",
        {
            "cdf": "0.6967",
            "logcdf": "-0.3614",
            "logpdf": "-1.1931",
            "logsf": "-1.1931",
            "pdf": "0.3033",
            "ppf": "-0.6931",
            "sf": "0.3033",
        },
        _SECOND + "24",
    ),
    "logistic": Text(
        "the logistic distribution",
        "exp(-x) / (1 + exp(-x))**2",
        "",
        {},
        "0.5",
        "",
        {
            "cdf": "0.6225",
            "isf": "1.0986",
            "logcdf": "-0.4741",
            "logpdf": "-1.4482",
            "logsf": "-0.9741",
            "pdf": "0.235",
            "ppf": "-1.0986",
            "sf": "0.3775",
        },
        _SECOND + "23",
    ),
    "cauchy": Text(
        "the Cauchy distribution",
        "1 / (pi * (1 + x**2))",
        "",
        {},
        "0.5",
        "",
        {
            "cdf": "0.6476",
            "isf": "1.0",
            "logcdf": "-0.4345",
            "logpdf": "-1.3679",
            "logsf": "-1.0429",
            "pdf": "0.2546",
            "ppf": "-1.0",
            "sf": "0.3524",
        },
        _FIRST + "16",
    ),
    "gumbel_r": Text(
        "the Gumbel distribution of largest values",
        "exp(-x - exp(-x))",
        "",
        {},
        "0.5",
        "",
        {
            "cdf": "0.5452",
            "isf": "1.2459",
            "logcdf": "-0.6065",
            "logpdf": "-1.1065",
            "logsf": "-0.788",
            "pdf": "0.3307",
            "ppf": "-0.3266",
            "sf": "0.4548",
        },
        _SECOND + "22",
    ),
    "gumbel_l": Text(
        "the Gumbel distribution of smallest values",
        "exp(x - exp(x))",
        "",
        {},
        "0.5",
        "",
        {
            "cdf": "0.8077",
            "isf": "0.3266",
            "logcdf": "-0.2136",
            "logpdf": "-1.1487",
            "logsf": "-1.6487",
            "pdf": "0.317",
            "ppf": "-1.2459",
            "sf": "0.1923",
        },
        _SECOND + "22",
    ),
    "gamma": Text(
        "the gamma distribution",
        "x**(a - 1) * exp(-x) / gamma(a)",
        " for x >= 0",
        {"a": "The shape parameter, above 0."},
        "0.5",
        "2.0",
        {
            "cdf": "0.0902",
            "logcdf": "-2.4057",
            "logpdf": "-1.1931",
            "logsf": "-0.0945",
            "pdf": "0.3033",
            "sf": "0.9098",
        },
        _FIRST + "17",
    ),
    "chi2": Text(
        "the chi-square distribution",
        "x**(df / 2 - 1) * exp(-x / 2) / (2**(df / 2) * gamma(df / 2))",
        " for x >= 0",
        {"df": "The degrees of freedom, above 0."},
        "0.5",
        "3.0",
        {"cdf": "0.0811", "logcdf": "-2.512", "logpdf": "-1.5155", "logsf": "-0.0846", "pdf": "0.2197", "sf": "0.9189"},
        _FIRST + "18",
    ),
    "beta": Text(
        "the beta distribution",
        "x**(a - 1) * (1 - x)**(b - 1) / beta(a, b)",
        " for 0 <= x <= 1",
        {"a": "The first shape parameter, above 0.", "b": "The second shape parameter, above 0."},
        "0.5",
        "2.0, 3.0",
        {"cdf": "0.6875", "logcdf": "-0.3747", "logpdf": "0.4055", "logsf": "-1.1632", "pdf": "1.5", "sf": "0.3125"},
        _SECOND + "25",
    ),
    "pareto": Text(
        "the Pareto distribution",
        "b / x**(b + 1)",
        " for x >= 1",
        {"b": "The exponent, above 0."},
        "1.5",
        "2.0",
        {
            "cdf": "0.5556",
            "logcdf": "-0.5878",
            "logpdf": "-0.5232",
            "logsf": "-0.8109",
            "pdf": "0.5926",
            "ppf": "1.1547",
            "sf": "0.4444",
        },
        _FIRST + "20",
    ),
    "t": Text(
        "Student's t distribution",
        "(1 + x**2 / df)**(-(df + 1) / 2) / (sqrt(df) * beta(df / 2, 1 / 2))",
        "",
        {"df": "The degrees of freedom, above 0."},
        "0.5",
        "3.0",
        {"cdf": "0.6743", "logcdf": "-0.3941", "logpdf": "-1.161", "logsf": "-1.1217", "pdf": "0.3132", "sf": "0.3257"},
        _SECOND + "28",
    ),
    "gennorm": Text(
        "the generalised normal distribution",
        "beta * exp(-|x|**beta) / (2 * gamma(1 / beta))",
        "",
        {"beta": "The exponent, above 0: 1 for the Laplace distribution, 2 for a normal one."},
        "0.5",
        "1.5",
        {
            "cdf": "0.7417",
            "logcdf": "-0.2987",
            "logpdf": "-0.9444",
            "logsf": "-1.3538",
            "pdf": "0.3889",
            "sf": "0.2583",
        },
        'M. T. Subbotin, "On the law of frequency of error", 1923',
    ),
    "vonmises": Text(
        "the von Mises distribution",
        "exp(kappa * cos(x)) / (2 * pi * I0(kappa))",
        "",
        {"kappa": "The concentration, from 0 on."},
        "0.5",
        "2.0",
        {"logpdf": "-0.9067", "pdf": "0.4039"},
        _DIRECTIONS + "3.5.4",
    ),
    "wrapcauchy": Text(
        "the wrapped Cauchy distribution",
        "(1 - c**2) / (2 * pi * (1 + c**2 - 2 * c * cos(x)))",
        " for 0 <= x <= 2 * pi",
        {"c": "The concentration, between 0 and 1."},
        "0.5",
        "0.5",
        {"logpdf": "-1.1378", "pdf": "0.3205"},
        _DIRECTIONS + "3.5.7",
    ),
    "truncnorm": Text(
        "the normal distribution cut at two ends",
        "exp(-x**2 / 2) / (sqrt(2 * pi) * (Phi(b) - Phi(a)))",
        " for a <= x <= b, Phi being the normal distribution function",
        {
            "a": "The lower end, in standard deviations from the mean.",
            "b": "The upper end, in standard deviations from the mean.",
        },
        "0.5",
        "-1.0, 2.0",
        {
            "cdf": "0.6509",
            "logcdf": "-0.4294",
            "logpdf": "-0.8438",
            "logsf": "-1.0523",
            "pdf": "0.4301",
            "sf": "0.3491",
        },
        _FIRST + "13",
    ),
    "bernoulli": Text(
        "the Bernoulli distribution",
        "p**k * (1 - p)**(1 - k)",
        " for k = 0, 1",
        {"p": "The probability of 1."},
        "1",
        "0.25",
        {"cdf": "1.0", "logcdf": "0.0", "logpmf": "-1.3863", "logsf": "-inf", "pmf": "0.25", "ppf": "0.0", "sf": "0.0"},
        _DISCRETE + "3",
    ),
    "binom": Text(
        "the binomial distribution",
        "(n choose k) * p**k * (1 - p)**(n - k)",
        " for k = 0, ..., n",
        {"n": "The number of trials.", "p": "The probability of success in each."},
        "2",
        "5, 0.25",
        {"logpmf": "-1.333", "pmf": "0.2637"},
        _DISCRETE + "3",
    ),
    "betabinom": Text(
        "the beta-binomial distribution",
        "(n choose k) * beta(k + a, n - k + b) / beta(a, b)",
        " for k = 0, ..., n",
        {
            "n": "The number of trials.",
            "a": "The first parameter of the beta distribution of the probability of success.",
            "b": "The second parameter of that distribution.",
        },
        "2",
        "5, 2.0, 3.0",
        {"logpmf": "-1.4351", "pmf": "0.2381"},
        _DISCRETE + "6",
    ),
    "geom": Text(
        "the geometric distribution",
        "(1 - p)**(k - 1) * p",
        " for k = 1, 2, ...",
        {"p": "The probability of success in each trial."},
        "2",
        "0.25",
        {"logpmf": "-1.674", "pmf": "0.1875"},
        _DISCRETE + "5",
    ),
    "nbinom": Text(
        "the negative binomial distribution",
        "(k + n - 1 choose k) * p**n * (1 - p)**k",
        " for k = 0, 1, ...",
        {
            "n": "The number of successes after which trials end; a real number above 0.",
            "p": "The probability of success in each trial.",
        },
        "2",
        "3, 0.5",
        {"logpmf": "-1.674", "pmf": "0.1875"},
        _DISCRETE + "5",
    ),
    "poisson": Text(
        "the Poisson distribution",
        "mu**k * exp(-mu) / k!",
        " for k = 0, 1, ...",
        {"mu": "The mean, from 0 on."},
        "2",
        "3.0",
        {
            "cdf": "0.4232",
            "entropy": "1.9315",
            "logcdf": "-0.8599",
            "logpmf": "-1.4959",
            "logsf": "-0.5502",
            "pmf": "0.224",
            "sf": "0.5768",
        },
        _DISCRETE + "4",
    ),
}

_SUMMARIES = {
    "pdf": "The density of {what}.",
    "logpdf": "The logarithm of the density of {what}.",
    "pmf": "The probability of a number, of {what}.",
    "logpmf": "The logarithm of the probability of a number, of {what}.",
    "cdf": "The probability of a number up to ``{variable}``, of {what}.",
    "logcdf": "The logarithm of the probability of a number up to ``{variable}``, of {what}.",
    "sf": "The probability of a number above ``{variable}``, of {what}.",
    "logsf": "The logarithm of the probability of a number above ``{variable}``, of {what}.",
    "ppf": "The quantile of {what}: the number that ``cdf`` takes to ``q``.",
    "isf": "The upper quantile of {what}: the number that ``sf`` takes to ``q``.",
    "entropy": "The entropy of {what}, in natural units.",
}
_VARIABLES = {
    "q": "Probabilities; NaN comes of those outside of [0, 1].",
    "k": "Numbers; only whole ones are possible.",
    "x": "Real numbers.",
}


def overview(name: str) -> str:
    """The docstring of a distribution."""
    text = TEXTS[name]
    return f"{text.what[0].upper()}{text.what[1:]}: ``{text.formula}``{text.where}."


def describe(name: str, function: str, names: list[str]) -> str:
    """The docstring of a function of a distribution with parameters of these names."""
    text = TEXTS[name]
    scaled = "scale" in names
    if scaled:
        where = "``loc`` is subtracted first, then it is divided by ``scale``."
        moved = [("loc, scale : array", "The location, by default 0, and the scale, by default 1.")]
    else:
        where = "``loc`` is subtracted first."
        moved = [("loc : array", "What is added to the numbers, by default 0.")]
    variable = next((known for known in names if known in _VARIABLES), None)
    kind = "density" if scaled else "probability"
    lines = [_SUMMARIES[function].format(what=text.what, variable=variable), ""]
    lines += [f"The {kind} is ``{text.formula}``{text.where}.", *([where] if variable in ("x", "k") else []), ""]
    entries = [] if variable is None else [(f"{variable} : array", _VARIABLES[variable])]
    entries += [(f"{shape} : array", says) for shape, says in text.shapes.items()]
    lines += _section("Parameters", entries + moved)
    lines += _section(
        "Returns", [("array", "Of the common shape, floating; of parameters that make no distribution NaN.")]
    )
    lines += ["References", "----------", f"{text.reference}.", ""]
    at = {None: "", "q": "0.25"}.get(variable, text.variable)
    given = ", ".join(part for part in (at, text.parameters) if part)
    lines += [
        "Examples",
        "--------",
        f">>> round(float(ct.scipy.stats.{name}.{function}({given})), 4)",
        text.results[function],
        "",
    ]
    return "\n".join(lines)


def _section(title: str, entries: list[tuple[str, str]]) -> list[str]:
    return [title, "-" * len(title), *(line for head, says in entries for line in (head, f"    {says}")), ""]
