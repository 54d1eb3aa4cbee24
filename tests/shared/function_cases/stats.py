"""``ct.scipy.stats`` against SciPy: all functions of a distribution are one record. `test_stats.py` has the edges of the supports."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.stats

from function_cases import Draw, Family, draw

stats = Family("jax.scipy.stats")
FLOATS = ("float32", "float64", "bfloat16")
LINE = draw(2, 3)
POSITIVE = draw(2, 3, domain=(0.3, 3.0))
UNIT = draw(2, 3, domain=(0.1, 0.9))
SHAPE = draw(2, 3, domain=(1.2, 3.0))


def all_of(names: list[str]) -> Any:
    """The functions of SciPy of these names, one after the other."""

    def found(*args: Any) -> list[Any]:
        results = []
        for name in names:
            distribution, function = name.split(".")
            results.append(getattr(getattr(scipy.stats, distribution), function)(*args))
        return results

    return found


def distribution(
    name: str, functions: str, x: Draw, *shapes: Draw, quantiles: str = "", tolerance: float = 32.0, **options: Any
) -> None:
    named = [f"{name}.{function}" for function in functions.split()]
    stats.elements(" ".join(named), x, *shapes, dtypes=FLOATS, oracle=all_of(named), tolerance=tolerance, **options)
    if quantiles:
        named = [f"{name}.{function}" for function in quantiles.split()]
        stats.elements(" ".join(named), UNIT, *shapes, dtypes=FLOATS, oracle=all_of(named), tolerance=tolerance)


LOGS = "cdf logcdf logpdf logsf pdf sf"
distribution("norm", LOGS, LINE, quantiles="ppf isf")
distribution("cauchy", LOGS, LINE, quantiles="ppf isf")
distribution("gumbel_l", LOGS, LINE, quantiles="ppf")
distribution("gumbel_r", LOGS, LINE, quantiles="ppf")
distribution("logistic", "cdf logpdf pdf sf", LINE, quantiles="ppf isf")
distribution("laplace", "cdf logpdf pdf", LINE)
distribution("expon", LOGS, POSITIVE, quantiles="ppf")
distribution("uniform", "cdf logpdf pdf", UNIT, quantiles="ppf")
distribution("gamma", LOGS, POSITIVE, SHAPE, tolerance=128)
distribution("chi2", LOGS, POSITIVE, SHAPE, tolerance=128)
distribution("beta", LOGS, UNIT, SHAPE, SHAPE, tolerance=128)
distribution("pareto", LOGS, draw(2, 3, domain=(1.2, 3)), SHAPE, quantiles="ppf")
distribution("t", "logpdf pdf", LINE, SHAPE)
distribution("gennorm", "cdf logpdf pdf", POSITIVE, SHAPE, tolerance=128)
distribution(
    "truncnorm",
    LOGS,
    draw(2, 3, domain=(-0.8, 0.8)),
    draw(2, 3, domain=(-2, -1)),
    draw(2, 3, domain=(1, 2)),
    tolerance=128,
)
distribution("vonmises", "logpdf pdf", LINE, SHAPE)
distribution("wrapcauchy", "logpdf pdf", POSITIVE, UNIT, tolerance=64)
# Of whole numbers: not differentiated by them.


def discrete(name: str, functions: str, *shapes: Draw, quantiles: str = "", **options: Any) -> None:
    """At whole numbers of the support, each with all parameters."""
    named = [f"{name}.{function}" for function in functions.split()]
    points = np.asarray([[1.0], [0.0 if name == "bernoulli" else 2.0]], np.float32)
    theirs = all_of(named)
    stats.record(
        " ".join(named),
        *shapes,
        call=lambda f, *given: f(points.astype(given[0].dtype), *given),
        oracle=lambda *given: theirs(points, *given),
        dtypes=("float32", "float64"),
        tolerance=64,
        **options,
    )
    if quantiles:
        stats.record(
            f"{name}.{quantiles}",
            *shapes,
            call=lambda f, *given: f(np.float32(0.4), *given),
            oracle=lambda *given: all_of([f"{name}.{quantiles}"])(0.4, *given),
            grads="whole numbers",
        )


P = draw(3, domain=(0.2, 0.8))
R = draw(3, domain=(1.2, 3.0))
discrete("bernoulli", "cdf logpmf pmf", P, quantiles="ppf")
discrete("geom", "logpmf pmf", P)
discrete("poisson", "cdf logpmf pmf", R)
stats.record("poisson.entropy", R, oracle=lambda mu: scipy.stats.poisson.entropy(mu), tolerance=64, grads=True)
stats.record(
    "binom.logpmf binom.pmf",
    P,
    call=lambda f, p: f(np.asarray([[0], [2]], p.dtype), np.asarray(5.0, p.dtype), p),
    oracle=lambda p: all_of(["binom.logpmf", "binom.pmf"])(np.asarray([[0], [2]]), 5, p),
    tolerance=64,
)
stats.record(
    "betabinom.logpmf betabinom.pmf",
    R,
    R,
    call=lambda f, a, b: f(np.asarray([[0], [2]], a.dtype), np.asarray(5.0, a.dtype), a, b),
    oracle=lambda a, b: all_of(["betabinom.logpmf", "betabinom.pmf"])(np.asarray([[0], [2]]), 5, a, b),
    tolerance=128,
)
discrete("nbinom", "logpmf pmf", R, P)
stats.record(
    "multinomial.logpmf multinomial.pmf",
    draw(3, domain=(0.3, 0.8)),
    call=lambda f, p: f(np.asarray([1, 2, 0], p.dtype), 3, p / p.sum()),
    oracle=lambda p: all_of(["multinomial.logpmf", "multinomial.pmf"])([1, 2, 0], 3, p / p.sum()),
    tolerance=64,
    ragged=(),
)
stats.record(
    "dirichlet.logpdf dirichlet.pdf",
    draw(3, domain=(0.3, 0.8)),
    R,
    call=lambda f, x, a: f(x / x.sum(), a),
    oracle=lambda x, a: all_of(["dirichlet.logpdf", "dirichlet.pdf"])(x.astype(float) / x.astype(float).sum(), a),
    tolerance=64,
)
stats.record(
    "multivariate_normal.logpdf multivariate_normal.pdf",
    draw(4, 2),
    draw(2),
    draw(2, 2),
    call=lambda f, x, m, c: f(x, m, c @ c.T + np.eye(2, dtype=x.dtype)),
    oracle=lambda x, m, c: all_of(["multivariate_normal.logpdf", "multivariate_normal.pdf"])(
        x, m, c @ c.T + np.eye(2, dtype=x.dtype)
    ),
    tolerance=64,
    ragged=(0,),
)
stats.record(
    "mode",
    draw(4, 3, integers=(0, 2)),
    dtypes=("int32", "float32"),
    oracle=lambda x: scipy.stats.mode(x),
    loose=True,
    grads="a value that is chosen",
)
stats.record(
    "rankdata",
    draw(4, 3, distinct=True),
    axis=0,
    dtypes=("float32", "int32"),
    oracle=lambda x: scipy.stats.rankdata(x, axis=0),
    loose=True,
    grads="positions",
)
stats.record("sem", draw(4, 3), dtypes=("float32", "float64"), oracle=scipy.stats.sem, tolerance=16)
stats.record(
    "gaussian_kde",
    draw(8),
    call=lambda f, x: f(x)(np.asarray([0.1, 0.5], x.dtype)),
    oracle=lambda x: scipy.stats.gaussian_kde(x)([0.1, 0.5]),
    tolerance=64,
    ragged=(),
)
