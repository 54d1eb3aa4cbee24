"""Exact arrays of the bound's size that meet a ragged axis: an error whatever the function does with them, and never cut."""

from __future__ import annotations

import functools
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
    "vmap": lambda x: ct.vmap(lambda a, b: a + b)(x, EXACT),
    "vmap, of an array": lambda x: ct.vmap(lambda a, _: a)(cnp.asarray(EXACT), x),
    "vmap, axes": lambda x: ct.vmap(lambda a, b: a + b, in_axes=(0, 1))(x, np.ones((2, 5))),
    "vmap, by name": lambda x: ct.vmap(lambda a, b: a + b)(x, b=EXACT),
    "vectorize": lambda x: cnp.vectorize(lambda a, b: a + b)(x, EXACT),
    "vectorize, signature": lambda x: cnp.vectorize(lambda a, b: a[0] + b[0], signature="(n),(n)->()")(x, EXACT),
    "vectorize, axes in front": lambda x: cnp.vectorize(lambda a, b: a, signature="(n),()->(n)")(x[:, None], EXACT),
    "frompyfunc": lambda x: cnp.frompyfunc(lambda a, b: a + b, 2, 1)(x, EXACT),
    "associative_scan": lambda x: lax.associative_scan(lambda a, b: (a[0] + b[0], a[1] * b[1]), (x, EXACT)),
    "full": lambda x: cnp.full(x.shape, EXACT),
    "full of the bound": lambda x: cnp.full((5,), x),
    "full_like": lambda x: cnp.full_like(x, EXACT),
    "repeat, counts": lambda x: cnp.repeat(x, np.array([1, 2, 1, 1, 1])),
    "repeat, elements": lambda x: cnp.repeat(EXACT, x.astype(int)),
    "repeat to a length": lambda x: cnp.repeat(EXACT, x.astype(int), total_repeat_length=8),
    "repeat to a length, counts": lambda x: cnp.repeat(x, np.array([1, 2, 1, 1, 1]), total_repeat_length=8),
    "pairs of positions": lambda x: cnp.ones((6, 6))[x.astype(int), PLACES],
    "pairs of positions, the other way": lambda x: cnp.ones((6, 6))[PLACES, x.astype(int)],
    "updates at pairs": lambda x: cnp.zeros((6, 6)).at[x.astype(int), PLACES].add(1.0),
    "c_": lambda x: cnp.c_[x, EXACT],
    "r_": lambda x: cnp.r_["0,2", x, EXACT],
    "eigh_tridiagonal": lambda x: ct.scipy.linalg.eigh_tridiagonal(x, np.ones(4), eigvals_only=True),
    "jvp": lambda x: ct.jvp(cnp.sin, (x,), (EXACT,)),
    "cond": lambda x: lax.cond(cnp.sum(x) > 0, lambda: x, lambda: cnp.asarray(EXACT)),
    "cond, NumPy's array": lambda x: lax.cond(cnp.sum(x) > 0, lambda: x, lambda: EXACT),
    "cond, the other way": lambda x: lax.cond(cnp.sum(x) > 0, lambda: cnp.zeros(5, x.dtype), lambda: x),
    "cond, partial": lambda x: lax.cond(cnp.sum(x) > 0, functools.partial(lambda a, b: a, x), lambda b: b, EXACT),
    "switch": lambda x: lax.switch(0, [lambda: x, lambda: 2 * x, lambda: cnp.ones(5, x.dtype)]),
    "scan, carry": lambda x: lax.scan(lambda c, a: (EXACT, a), x, x),
    "scan, carry on entry": lambda x: lax.scan(lambda c, a: (x, a), EXACT, x),
    "while_loop": lambda x: lax.while_loop(lambda c: c[2] < 2, lambda c: (c[1], c[1], c[2] + 1), (x, EXACT, 0)),
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: cnp.asarray(EXACT), x),
    "fori_loop, computed": lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: cnp.asarray(EXACT), x),
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
    "full": lambda m, x: m.full((2, x.shape[0]), x) + m.full_like(x, 2.0) + m.full_like(x, x),
    "repeat": lambda m, x: m.repeat(x, 2),
    "pairs of positions": lambda m, x: m.asarray(np.ones((6, 6)))[x.astype(int), x.astype(int) - 1],
    "a position beside a number": lambda m, x: m.asarray(np.eye(6))[x.astype(int), 2],
    "columns": lambda m, x: m.stack([x, 2 * x], 1)[:, np.array([0, 1, 0, 1, 0])],
    "c_": lambda m, x: m.c_[x, 2 * x],
    "cond": lambda m, x: lax.cond(m.sum(x) > 0, lambda: x, lambda: m.zeros(x.shape[0], x.dtype)),
    "scan": lambda m, x: lax.scan(lambda c, a: (c + a * x, c), m.zeros(x.shape, x.dtype), x)[0],
    "fori_loop": lambda m, x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x, m.zeros_like(x)),
    "while_loop": lambda m, x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] + x), (0, x))[1],
    "piecewise": lambda m, x: m.piecewise(x, [x > 2], [lambda v: v, lambda v: v + 1]),
    "take_along_axis": lambda m, x: m.take_along_axis(x, np.array([0, 1, 2, 0, 1]), 0),
}


@pytest.mark.parametrize("name", MEETS_NOT)
def test_what_meets_no_other_size_is_that_of_the_exact_program(name: str) -> None:
    expected = MEETS_NOT[name](np, DATA[:3])
    for wrap in (lambda f: f, ct.jit):
        found = wrap(ct.mask(lambda x: MEETS_NOT[name](cnp, x)))(ragged())
        found = found.unpad() if isinstance(found, ct.Ragged) else found
        np.testing.assert_allclose(found, expected, rtol=1e-6)
