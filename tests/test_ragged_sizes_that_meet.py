"""Exact arrays of the bound's size that meet a ragged axis: an error whatever the function does with them, and never cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax, random
from cotangent.scipy import special

DATA = np.arange(1.0, 6.0)
EXACT = np.array([0.5, 0.4, 0.3, 0.2, 0.1])
PLACES = np.array([0, 1, 2, 3, 4])
KEY = random.key(0)
Program = Callable[[Any], Any]


def ragged() -> ct.Ragged:
    return ct.Ragged(DATA, {0: 3})


MEETS: dict[str, Program] = {
    "select": lambda x: lax.select(x > 0, x, EXACT),
    "select_n": lambda x: lax.select_n(x > 0, x, EXACT),
    "sort_key_val": lambda x: lax.sort_key_val(x, EXACT),
    "sort_key_val, keys": lambda x: lax.sort_key_val(EXACT, x),
    "sort of several": lambda x: lax.sort((x, EXACT)),
    "sort of several keys": lambda x: lax.sort([x, cnp.asarray(EXACT)], num_keys=2),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, EXACT, (0,)),
    "dynamic_update_index_in_dim": lambda x: lax.dynamic_update_index_in_dim(cnp.stack([x, x]), EXACT, 0, 0),
    "histogram": lambda x: cnp.histogram(x, bins=2, range=(0, 6), weights=EXACT),
    "histogram2d": lambda x: cnp.histogram2d(x, EXACT, bins=2, range=((0, 6), (0, 1))),
    "histogramdd": lambda x: cnp.histogramdd((x, x), bins=2, range=((0, 6), (0, 6)), weights=EXACT),
    "betainc": lambda x: special.betainc(x, EXACT, 0.5),
    "lax.betainc": lambda x: lax.betainc(x, cnp.asarray(EXACT), x / 8),
    "igamma": lambda x: lax.igamma(x, EXACT),
    "hyp2f1": lambda x: special.hyp2f1(x, 1.0, 2.0, EXACT),
    "logsumexp": lambda x: special.logsumexp(x, b=EXACT),
    "bernoulli": lambda x: random.bernoulli(KEY, EXACT, x.shape),
    "binomial": lambda x: random.binomial(KEY, 3.0, EXACT, x.shape),
    "uniform": lambda x: random.uniform(KEY, x.shape, minval=EXACT),
    "gamma": lambda x: random.gamma(KEY, EXACT, x.shape),
    "beta": lambda x: random.beta(KEY, x, EXACT),
    "poisson": lambda x: random.poisson(KEY, EXACT, x.shape),
    "truncated_normal": lambda x: random.truncated_normal(KEY, EXACT - 1, EXACT, x.shape),
    "multivariate_normal": lambda x: random.multivariate_normal(KEY, x, np.eye(5)),
    "multivariate_normal, mean": lambda x: random.multivariate_normal(KEY, EXACT, cnp.eye(x.shape[0])),
    "tridiagonal_solve": lambda x: lax.linalg.tridiagonal_solve(x, EXACT, x, x[:, None]),
    "reduce of several": lambda x: lax.reduce((x, EXACT), (0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), (0,)),
    "scan": lambda x: lax.scan(lambda c, a: (c, a[0] + a[1]), 0.0, (x, EXACT)),
    "scan, closed over": lambda x: lax.scan(lambda c, a: (cnp.add(c, EXACT), a), x, x),
    "map, closed over": lambda x: lax.map(lambda a: cnp.where(a > 0, x, EXACT), x),
    "map": lambda x: lax.map(lambda a: a[0] + a[1], (x, EXACT)),
    "choose": lambda x: cnp.choose(np.array([0, 1, 0, 1, 0]), [x, x]),
    "choose, choices": lambda x: cnp.choose(cnp.zeros_like(x, int), [x, EXACT], mode="clip"),
    "cond, operands": lambda x: lax.cond(cnp.sum(x) > 0, lambda a, _: a, lambda _, b: b, x, EXACT),
    "scatter of values": lambda x: cnp.zeros(6).at[x.astype(int)].add(EXACT),
    "map_coordinates": lambda x: ct.scipy.ndimage.map_coordinates(np.ones((5, 5)), [x, EXACT], order=1),
    "apply_along_axis": lambda x: cnp.apply_along_axis(lambda row: row + EXACT, 1, cnp.stack([x, x])),
    "insert": lambda x: cnp.insert(cnp.stack([x, x]), 0, EXACT, axis=0),
    "append": lambda x: cnp.append(cnp.stack([x, x]), EXACT[None], axis=0),
    "polyfit": lambda x: cnp.polyfit(x, EXACT, 1),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", MEETS)
def test_an_exact_array_of_the_bound_is_an_error(name: str, jitted: bool) -> None:
    masked = ct.mask(MEETS[name])
    with pytest.raises(ct.errors.ShapeError, match="they are of one size for one length only"):
        (ct.jit(masked) if jitted else masked)(ragged())


# (of the exact program, its result is that of the ragged one)
MEETS_NOT: dict[str, Callable[[Any, Any], Any]] = {
    "arrays of its size": lambda m, x: m.ones_like(x) * x + m.arange(x.shape[0]) + m.zeros(x.shape),
    "one element": lambda m, x: m.add(x, np.ones(1)) + m.maximum(np.zeros(1), x),
    "what is cut": lambda m, x: m.add(x, m.asarray(EXACT)[: x.shape[0]]),
    "another axis": lambda m, x: m.multiply(m.stack([x] * 5), EXACT[:, None]).sum(axis=0),
    "a product": lambda m, x: m.matmul(EXACT[:, None], x[None]).sum(axis=0),
    "positions": lambda m, x: m.take(m.asarray(EXACT), x.astype(int) - 1),
    "outer": lambda m, x: m.outer(x, EXACT),
    "searchsorted": lambda m, x: m.searchsorted(m.asarray(DATA), x),
    "interp": lambda m, x: m.interp(x, DATA, EXACT),
    "concatenate": lambda m, x: m.concatenate([x, EXACT]),
    "convolve": lambda m, x: m.convolve(x, EXACT),
    "sort": lambda m, x: m.sort(-x)[::-1],
    "pad": lambda m, x: m.pad(x, 2, mode="reflect"),
    "cumsum": lambda m, x: m.cumsum(x) + m.flip(x),
    "median": lambda m, x: m.median(x) + m.var(x),
    "take_along_axis": lambda m, x: m.take_along_axis(x, np.array([0, 1, 2, 0, 1]), 0),
}


@pytest.mark.parametrize("name", MEETS_NOT)
def test_what_meets_no_other_size_is_that_of_the_exact_program(name: str) -> None:
    expected = MEETS_NOT[name](np, DATA[:3])
    for wrap in (lambda f: f, ct.jit):
        found = wrap(ct.mask(lambda x: MEETS_NOT[name](cnp, x)))(ragged())
        found = found.unpad() if isinstance(found, ct.Ragged) else found
        np.testing.assert_allclose(found, expected, rtol=1e-6)
