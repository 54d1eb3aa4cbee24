"""Array functions on ragged arrays: the mask of a function equals the function of the exact array."""

from __future__ import annotations

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import nn

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)
FOLD = cnp.frompyfunc(lambda x, y: x - 2 * y, 2, 1)
FUNCTIONS = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "var": lambda x: cnp.var(x, 0),
    "max": lambda x: x.max(0),
    "argmax": lambda x: cnp.argmax(x, 0),
    "last": lambda x: x[-1],
    "drop_last": lambda x: x[:-1],
    "from1": lambda x: x[1:],
    "flip": lambda x: x[::-1],
    "step": lambda x: x[::2],
    "last2": lambda x: x[-2:],
    "first2": lambda x: x[:2],
    "softmax": lambda x: nn.softmax(x, 0),
    "lse": lambda x: nn.logsumexp(x, 0),
    "diff": lambda x: cnp.diff(x, axis=0),
    "roll": lambda x: cnp.roll(x, 1, axis=0),
    "cumsum": lambda x: cnp.cumsum(x, 0),
    "gram": lambda x: x.T @ x,
    "outer": lambda x: x @ x.T,
    "einsum": lambda x: cnp.einsum("ij,kj->ik", x, x),
    "arange": lambda x: cnp.arange(x.shape[0]),
    "zeros": lambda x: cnp.zeros(x.shape) + x,
    "zl": lambda x: cnp.zeros_like(x),
    "concat": lambda x: cnp.concatenate([x, x]),
    "stack": lambda x: cnp.stack([x, x]),
    "flat": lambda x: x.reshape(-1),
    "resh": lambda x: x.reshape(x.shape[0], -1),
    "idx": lambda x: x[np.array([0, 1])],
    "at": lambda x: x.at[0].set(1.0),
    "atm": lambda x: x.at[np.array([0, 1])].add(1.0),
    "atlast": lambda x: x.at[-1].set(0.0),
    "tile": lambda x: cnp.tile(x, (2, 1)),
    "repeat": lambda x: cnp.repeat(x, 2, 0),
    "pad": lambda x: cnp.pad(x, ((1, 1), (0, 0))),
    "rand": lambda x: ct.random.uniform(ct.random.PRNGKey(0), x.shape),
    "randT": lambda x: ct.random.normal(ct.random.PRNGKey(0), (3, x.shape[0])),
    "expand": lambda x: x[:, None] * 2,
    "where": lambda x: cnp.where(x > 0, x, 0.0),
    "std": lambda x: nn.standardize(x, 0),
    "count": lambda x: cnp.mean(x, where=x > 0),
    "onehot": lambda x: nn.one_hot(cnp.argmax(x, 1), 3),
    "tka": lambda x: cnp.take_along_axis(x, cnp.argmax(x, 1, keepdims=True), 1),
    "mean_all": lambda x: x.mean(),
    "norm": lambda x: (x - x.mean(0)) / x.std(0),
    "col": lambda x: x[:, 0],
    "argmaxall": lambda x: cnp.argmax(x[:, 0]),
    "largest of no complex numbers": lambda x: ct.lax.reduce_max(cnp.asarray(x + 0j)[:, :0], (1,)),
    "bits of nothing": lambda x: ct.lax.reduce_and(cnp.asarray(x > 0)[:, :0], (1,)),
    "a ufunc of nothing": lambda x: cnp.bitwise_or.reduce(cnp.asarray(x > 0)[:, :0], axis=1),
    "a fold in order": lambda x: FOLD.reduce(x, axis=1, initial=1.0),
    "a fold of nothing": lambda x: FOLD.reduce(x[:, :0], axis=1, initial=1.0),
    "slices folded": lambda x: ct.jit(lambda x, i: FOLD.reduceat(x, i, axis=1))(x, np.array([0, 2])),
    "a polynomial without coefficients": lambda x: cnp.polyval(cnp.asarray(x).T[:0], 2.0),
    "powers 0": lambda x: cnp.linalg.matrix_power(cnp.asarray(x)[:, :, None] * np.ones(3, np.float32), 0),
    "inverses": lambda x: cnp.linalg.inv(np.eye(3, dtype=np.float32) * (2 + abs(x))[:, None]),
    "interpolation of one point": lambda x: cnp.interp(x[:, 0], np.array([0.0]), np.array([5.0])),
    "tiles": lambda x: ct.lax.tile(x, (2, 2)),
    "pieces": lambda x: cnp.piecewise(x, [x > 0], [lambda x: x * x, -1.0]),
    "no pieces": lambda x: cnp.piecewise(x, [], [2.0]),
    "vectorized": lambda x: cnp.vectorize(lambda row: row.sum(), signature="(n)->()")(x),
    "solutions of factors": lambda x: ct.scipy.linalg.lu_solve(
        ct.scipy.linalg.lu_factor(np.diag(np.float32([1, 2, 4]))), cnp.asarray(x).T
    ),
    "companions": lambda x: ct.scipy.linalg.companion(2 + abs(x)),
    "toeplitz": lambda x: ct.scipy.linalg.toeplitz(x),
    "leslie": lambda x: ct.scipy.linalg.leslie(x, x[:, 1:]),
    "transforms": lambda x: ct.scipy.fft.dct(x, axis=1),
    "prepended": lambda x: cnp.diff(x, axis=1, prepend=1.0),
    "repeated in a new axis": lambda x: nn.one_hot(cnp.argmax(x, 1), 3, axis=0),
    "weighted quantiles": lambda x: cnp.quantile(x, 0.5, axis=1, weights=abs(x), method="inverted_cdf"),
    "reflections": lambda x: ct.lax.linalg.householder_product(x[:, :2], x[0, :2] * 0 + 0.5),
}


def padded(n):
    data = np.full((6, 3), np.nan, np.float32)
    data[:n] = X[:n]
    return ct.Ragged(data, {0: n})


@pytest.mark.parametrize("n", [2, 4, 6])
@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_mask_agrees_with_the_exact_array(name, n):
    result = ct.mask(FUNCTIONS[name])(padded(n))
    if isinstance(result, ct.Ragged):
        result = result.unpad()
    expected = np.asarray(FUNCTIONS[name](cnp.array(X[:n])))
    assert np.shape(result) == expected.shape
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-5)


KEY = ct.random.key(0)
# Functions of a shape, or of parameters, that is symbolic in either axis.
OF_SHAPES = {
    "reshape": lambda x: cnp.reshape(cnp.ones(x.shape), x.shape),
    "reshape of what is exact": lambda x: cnp.reshape(cnp.ones((*x._bound_shape, 1)), (1, *x.shape, 1))[0, ..., 0],
    "reshape in column-major order": lambda x: cnp.reshape(cnp.ones((*x._bound_shape, 1)), (*x.shape, 1), "F")[..., 0],
    "broadcast_to": lambda x: cnp.broadcast_to(1.0, x.shape),
    "broadcast_to of ragged": lambda x: cnp.broadcast_to(x, (2, *x.shape)),
    "broadcast_shapes": lambda x: cnp.zeros(cnp.broadcast_shapes(x.shape, (1,))),
    "lax.broadcast_shapes": lambda x: cnp.zeros(ct.lax.broadcast_shapes(x.shape, (1, 1))),
    "lax.broadcast_like": lambda x: ct.lax.broadcast_like(1.0, x),
    "indices": lambda x: cnp.indices(x.shape),
    "sparse indices": lambda x: cnp.indices(x.shape, sparse=True),
    "tri": lambda x: cnp.tri(x.shape[0], x.shape[1], -1),
    "diag_indices": lambda x: cnp.diag_indices(x.shape[0]),
    "vander": lambda x: cnp.vander(cnp.array([1.0, 2.0]), x.shape[0]),
    "one_hot": lambda x: nn.one_hot(cnp.array([0, 1]), x.shape[1], axis=0),
    "resize": lambda x: cnp.resize(cnp.arange(2), x.shape),
    "unravel_index": lambda x: cnp.unravel_index(cnp.array([0, 1, -1, 77]), x.shape),
    "ravel_multi_index": lambda x: cnp.ravel_multi_index((np.array([0, 5]),) * 2, x.shape, mode="clip"),
    "bernoulli": lambda x: ct.random.bernoulli(KEY, x, mode="high"),
    "choice": lambda x: ct.random.choice(KEY, 5, x.shape, p=cnp.ones(5) / 5),
    "gumbel": lambda x: ct.random.gumbel(KEY, x.shape, mode="high"),
    "highest gumbel": lambda x: ct.random.gumbel(KEY, x.shape, mode="highest"),
    "categorical": lambda x: ct.random.categorical(KEY, cnp.ones((2, 4)), shape=(*x.shape, 2)),
    "categorical of ragged": lambda x: ct.random.categorical(KEY, x[:2, None], axis=0),
    "truncated_normal": lambda x: ct.random.truncated_normal(KEY, -abs(x), abs(x)),
    "gamma": lambda x: ct.random.gamma(KEY, abs(x)),
    "loggamma": lambda x: ct.random.loggamma(KEY, 2.0, x.shape),
    "beta": lambda x: ct.random.beta(KEY, 1.0, abs(x)),
    "dirichlet": lambda x: ct.random.dirichlet(KEY, abs(x)),
    "t": lambda x: ct.random.t(KEY, 3.0, x.shape),
    "ball": lambda x: ct.random.ball(KEY, x.shape[1], shape=x.shape[0]),
    "lognormal": lambda x: ct.random.lognormal(KEY, x),
    "wald": lambda x: ct.random.wald(KEY, abs(x)),
    "triangular": lambda x: ct.random.triangular(KEY, x - 1, x, x + 1),
    "maxwell": lambda x: ct.random.maxwell(KEY, x.shape),
    "double_sided_maxwell": lambda x: ct.random.double_sided_maxwell(KEY, x, 1.0),
    "multivariate_normal": lambda x: ct.random.multivariate_normal(KEY, x[:, :2], cnp.eye(2)),
    "geometric": lambda x: ct.random.geometric(KEY, nn.sigmoid(x)),
    "poisson": lambda x: ct.random.poisson(KEY, abs(x) * 9),
    "binomial": lambda x: ct.random.binomial(KEY, 30, nn.sigmoid(x)),
    "multinomial": lambda x: ct.random.multinomial(KEY, 4, cnp.ones(3) / 3, shape=(*x.shape, 3)),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", list(OF_SHAPES))
def test_what_is_made_of_a_shape(name, axis):
    data = X[:, :4] if axis == 0 else X.T
    for length in (2, data.shape[axis]):
        if name in ("categorical of ragged", "multivariate_normal") and axis == 1:
            continue
        exact = np.take(data, range(length), axis)
        widths = [(0, data.shape[i] - exact.shape[i]) for i in range(2)]
        ragged = ct.Ragged(np.pad(exact, widths, constant_values=np.nan), {axis: length})
        results = ct.tree_util.tree_leaves(
            ct.mask(OF_SHAPES[name])(ragged), is_leaf=lambda leaf: isinstance(leaf, ct.Ragged)
        )
        expected = ct.tree_util.tree_leaves(OF_SHAPES[name](cnp.array(exact)))
        for result, wanted in zip(results, expected, strict=True):
            got = result.unpad() if isinstance(result, ct.Ragged) else result
            assert got.shape == wanted.shape
            np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: cnp.diag_indices_from(x @ x.T), "diag_indices_from: axis 0 is ragged"),
        (lambda x: ct.lax.unstack(x), "lax.unstack: axis 0 is ragged"),
    ],
)
def test_what_needs_exact_sizes(call, message):
    with pytest.raises(NotImplementedError, match=message):
        ct.mask(call)(padded(4))


def test_an_axis_that_may_have_one_element_is_not_squeezed_out():
    x = ct.Ragged(np.ones((1, 3), np.float32), {0: 0})
    with pytest.raises(ValueError, match="has not size 1"):
        ct.mask(lambda x: ct.lax.squeeze(x, (0,)))(x)


def test_iteration_over_a_ragged_axis():
    with pytest.raises(ct.errors.ConcretizationError, match="iteration over a ragged axis"):
        ct.mask(lambda x: next(iter(x)))(padded(4))


REPEATED = {
    "times": lambda x, counts: cnp.repeat(x, 2, total_repeat_length=7),
    "same count": lambda x, counts: cnp.repeat(x, cnp.array(3), total_repeat_length=9),
    "counts": lambda x, counts: cnp.repeat(x, counts, total_repeat_length=20),
    "cut": lambda x, counts: cnp.repeat(x, counts, total_repeat_length=3),
}
SIZED = {
    **{
        f"{name} {size}": lambda x, name=name, size=size: getattr(cnp, name)(x, size=size)
        for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values", "nonzero", "flatnonzero")
        for size in (2, 5)
    },
    "unique rows": lambda x: cnp.unique(cnp.stack([x, x % 2], 1), True, True, True, 0, size=5),
    "bincount": lambda x: cnp.bincount(x, length=4),
    "histogram": lambda x: cnp.histogram(x, bins=3),
    "histogramdd": lambda x: cnp.histogramdd(cnp.stack([x, x + 1], 1), bins=2),
    "packbits": lambda x: cnp.packbits(x),
}


@pytest.mark.parametrize("length", [0, 1, 2, 5, 6])
@pytest.mark.parametrize("name", [*SIZED, *REPEATED])
def test_results_of_a_given_size_do_not_count_the_padding(name: str, length: int) -> None:
    """Padding equals elements in one filling and lies outside of them in the others; no length of it is counted."""
    x, counts = np.array([2, 0, 2, 1, 1, 0], np.int32), np.array([2, 1, 0, 3, 1, 2], np.int32)
    arrays = (x,) if name in SIZED else (x, counts)
    function = SIZED.get(name) or REPEATED[name]
    expected = ct.tree_util.tree_leaves(function(*(cnp.array(array[:length]) for array in arrays)))
    for filling in (-7, 2, 77):
        padded = [np.where(np.arange(6) < length, array, filling).astype(np.int32) for array in arrays]
        found = ct.mask(function)(*(ct.Ragged(array, {0: length}, names={0: "n"}) for array in padded))
        leaves = ct.tree_util.tree_leaves(found, is_leaf=lambda leaf: isinstance(leaf, ct.Ragged))
        assert len(leaves) == len(expected)
        for leaf, wanted in zip(leaves, expected, strict=True):
            np.testing.assert_array_equal(leaf.unpad() if isinstance(leaf, ct.Ragged) else leaf, wanted)


def test_points_without_coordinates_have_no_histogram() -> None:
    with pytest.raises(ValueError, match="needs points of one coordinate or more"):
        cnp.histogramdd(np.zeros((20, 0), np.float32))
