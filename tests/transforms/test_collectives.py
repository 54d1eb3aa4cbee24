"""Collectives over named axes under vmap, against JAX."""

from __future__ import annotations

import itertools
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 4, 3))
GROUPS = [[0, 2], [1, 3]]


@pytest.fixture(autouse=True)
def _double_precision():
    """For this file only: other tests compare with JAX's defaults."""
    with jax.enable_x64(True):
        yield


def allclose(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype or a.dtype.kind == "i" == b.dtype.kind
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


# Functions of one example (4, 3), written for either library.
CASES = {
    "psum": lambda lax, x: lax.psum(x * x, "i"),
    "psum of a constant": lambda lax, x: lax.psum(3, "i") * x,
    "psum of a bool": lambda lax, x: lax.psum(x > 0, "i"),
    "psum of a tree": lambda lax, x: lax.psum({"a": x, "b": (x[0],)}, "i")["a"],
    "pmean": lambda lax, x: x - lax.pmean(x, "i"),
    "pmax": lambda lax, x: lax.pmax(x, "i") - x,
    "pmin": lambda lax, x: lax.pmin(x, axis_name="i"),
    "all_gather": lambda lax, x: lax.all_gather(x, "i"),
    "all_gather axis": lambda lax, x: lax.all_gather(x, "i", axis=1) * 2,
    "all_gather last": lambda lax, x: lax.all_gather(x, "i", axis=-1),
    "all_gather tiled": lambda lax, x: lax.all_gather(x, "i", axis=1, tiled=True),
    "all_to_all": lambda lax, x: lax.all_to_all(x, "i", 0, 0),
    "all_to_all axes": lambda lax, x: lax.all_to_all(x, "i", 0, 1),
    "psum_scatter": lambda lax, x: lax.psum_scatter(x, "i"),
    "psum_scatter tiled": lambda lax, x: lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True),
    "ppermute": lambda lax, x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "pshuffle": lambda lax, x: lax.pshuffle(x, "i", [2, 0, 3, 1]),
    "pswapaxes": lambda lax, x: lax.pswapaxes(x, "i", 0),
    "axis_index": lambda lax, x: x * lax.axis_index("i"),
    "axis_size": lambda lax, x: x * lax.axis_size("i"),
    "psum along axes": lambda lax, x: lax.psum(x * x, (1, "i", 0)) * x,
    "psum along an axis alone": lambda lax, x: lax.psum(x * x, 0) * x,
    "psum of a bool along an axis": lambda lax, x: lax.psum(x > 0, ("i", 1)),
    "psum of a constant along an axis": lambda lax, x: lax.psum(np.ones((4, 3)), ("i", 0)) * x,
    "psum of a tree along an axis": lambda lax, x: lax.psum({"a": x, "b": x[0]}, (0, "i"))["b"],
    "pmax along axes": lambda lax, x: lax.pmax(x, ("i", 1))[:, None] - x,
    "pmin along an axis alone": lambda lax, x: lax.pmin(x, (0,)),
    "normalised": lambda lax, x: (x - lax.pmean(x, "i")) / lax.psum((x - lax.pmean(x, "i")) ** 2, "i"),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    f = CASES[name]
    expected = jax.vmap(lambda x: f(jax.lax, x), axis_name="i")(X)
    mine = ct.vmap(lambda x: f(ct.lax, x), axis_name="i")
    allclose(mine(X), expected)
    allclose(ct.jit(mine)(X), expected)
    allclose(ct.vmap(ct.jit(lambda x: f(ct.lax, x)), axis_name="i")(X), expected)
    # Batched again outside, and with the axis elsewhere.
    allclose(
        ct.vmap(mine)(np.stack([X, -X])), jax.vmap(jax.vmap(lambda x: f(jax.lax, x), axis_name="i"))(np.stack([X, -X]))
    )
    elsewhere = ct.vmap(lambda x: f(ct.lax, x), in_axes=1, out_axes=-1, axis_name="i")(np.moveaxis(X, 0, 1))
    allclose(np.moveaxis(np.asarray(elsewhere), -1, 0), expected)


DIFFERENTIABLE = [n for n in CASES if not n.startswith("psum of a bool")]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives(name: str) -> None:
    """Outside of vmap against finite differences; inside against JAX, or outside of it where JAX has no rule."""
    f = CASES[name]
    batched = ct.vmap(lambda x: f(ct.lax, x), axis_name="i")
    ct.test_util.check_grads(batched, (X,), order=2)
    weights = RNG.standard_normal(np.shape(batched(X))[1:])
    # Each example's gradient of its own result, in which the others' part by what they have sent.
    inside = ct.vmap(ct.grad(lambda x: cnp.sum(f(ct.lax, x) * weights)), axis_name="i")(X)
    outside = ct.grad(lambda x: cnp.sum(batched(x) * weights))(X)
    allclose(inside, outside)
    allclose(ct.jit(ct.vmap(ct.grad(lambda x: cnp.sum(f(ct.lax, x) * weights)), axis_name="i"))(X), outside)
    if not name.startswith(("pmax", "pmin")):
        theirs = jax.grad(lambda x: jnp.sum(jax.vmap(lambda x: f(jax.lax, x), axis_name="i")(x) * weights))(X)
        allclose(outside, theirs)


GROUPED = {
    "psum": lambda x: ct.lax.psum(x, "i", axis_index_groups=GROUPS),
    "pmax": lambda x: ct.lax.pmax(x, "i", axis_index_groups=GROUPS),
    "pmean": lambda x: ct.lax.pmean(x, "i", axis_index_groups=GROUPS),
    "all_gather": lambda x: ct.lax.all_gather(x, "i", axis_index_groups=GROUPS),
    "all_to_all": lambda x: ct.lax.all_to_all(x[:2], "i", 0, 0, axis_index_groups=GROUPS),
    "all_to_all tiled": lambda x: ct.lax.all_to_all(x, "i", 0, 1, axis_index_groups=GROUPS, tiled=True),
    "psum_scatter": lambda x: ct.lax.psum_scatter(x[:2], "i", axis_index_groups=GROUPS),
    "psum_scatter tiled": lambda x: ct.lax.psum_scatter(x, "i", axis_index_groups=GROUPS, tiled=True),
}
UNGROUPED = {
    "psum": lambda x: ct.lax.psum(x, "j"),
    "pmax": lambda x: ct.lax.pmax(x, "j"),
    "pmean": lambda x: ct.lax.pmean(x, "j"),
    "all_gather": lambda x: ct.lax.all_gather(x, "j"),
    "all_to_all": lambda x: ct.lax.all_to_all(x[:2], "j", 0, 0),
    "all_to_all tiled": lambda x: ct.lax.all_to_all(x, "j", 0, 1, tiled=True),
    "psum_scatter": lambda x: ct.lax.psum_scatter(x[:2], "j"),
    "psum_scatter tiled": lambda x: ct.lax.psum_scatter(x, "j", tiled=True),
}


@pytest.mark.parametrize("name", GROUPED)
def test_groups_are_batches_of_their_own(name: str) -> None:
    grouped = np.asarray(ct.jit(ct.vmap(GROUPED[name], axis_name="i"))(X))
    for group in GROUPS:
        allclose(grouped[group], ct.vmap(UNGROUPED[name], axis_name="j")(X[group]))
    ct.test_util.check_grads(ct.vmap(GROUPED[name], axis_name="i"), (X,), order=1)


def test_several_names() -> None:
    grid = RNG.standard_normal((2, 3, 6, 5))

    def over(f: Any, axes: Any) -> Any:
        return ct.vmap(ct.vmap(lambda x: f(x, axes), axis_name="b"), axis_name="a")(grid)

    flat = grid.reshape(6, 6, 5)
    functions = {
        "psum": ct.lax.psum,
        "pmean": ct.lax.pmean,
        "pmax": ct.lax.pmax,
        "all_gather": lambda x, n: ct.lax.all_gather(x, n, axis=1),
        "all_to_all": lambda x, n: ct.lax.all_to_all(x, n, 0, 1),
        "psum_scatter": ct.lax.psum_scatter,
        "ppermute": lambda x, n: ct.lax.ppermute(x, n, [(0, 4), (4, 1), (2, 2)]),
        "index": lambda x, n: x * ct.lax.axis_index(n) + ct.lax.axis_size(n),
        "pbroadcast": lambda x, n: ct.lax.pbroadcast(x, n, 4),
    }
    for f in functions.values():
        product = np.asarray(over(f, ("a", "b")))
        expected = np.asarray(ct.vmap(lambda x, f=f: f(x, "k"), axis_name="k")(flat))
        allclose(product.reshape(expected.shape), expected)
    # One of them at a time.
    allclose(over(ct.lax.psum, "a"), np.broadcast_to(grid.sum(0, keepdims=True), grid.shape))
    allclose(over(ct.lax.psum, "b"), np.broadcast_to(grid.sum(1, keepdims=True), grid.shape))
    allclose(over(lambda x, n: ct.lax.all_gather(x, n), "a")[0, 1], grid[:, 1])
    mixed = jax.vmap(
        jax.vmap(lambda x: jax.lax.all_to_all(x[:2], "a", 0, 1) * jax.lax.axis_index("b"), axis_name="b"), axis_name="a"
    )
    allclose(over(lambda x, n: ct.lax.all_to_all(x[:2], n, 0, 1) * ct.lax.axis_index("b"), "a"), mixed(grid))


def test_in_control_flow_and_calls() -> None:
    def programs(lax: Any, jit: Any) -> dict[str, Any]:
        return {
            "scan": lambda x: lax.scan(lambda c, v: (lax.psum(c * v, "i"), c), x[0], x)[1],
            "scan of constants": lambda x: (
                lax.scan(lambda c, v: (c + lax.axis_index("i"), c), 0, None, length=3)[1] + x[0, 0]
            ),
            "cond": lambda x: lax.cond(lax.psum(x[0, 0], "i") > 0, lambda v: lax.pmean(v, "i"), lambda v: v, x),
            "while": lambda x: lax.while_loop(
                lambda c: lax.pmax(c[0], "i") < 9.0, lambda c: (c[0] * 2 + 1, c[1] + 1), (x[0, 0], 0)
            ),
            "jit": lambda x: jit(lambda v: lax.psum(v, "i") * lax.axis_size("i"))(x),
            "map": lambda x: lax.map(lambda v: lax.psum(v, "i"), x),
        }

    mine, theirs = programs(ct.lax, ct.jit), programs(jax.lax, jax.jit)
    for name, f in mine.items():
        got = ct.vmap(f, axis_name="i")(X)
        expected = jax.vmap(theirs[name], axis_name="i")(X)
        for a, b in zip(ct.tree.leaves(got), jax.tree.leaves(expected), strict=True):
            allclose(a, b)
    grad = ct.grad(lambda x: cnp.sum(ct.vmap(mine["scan"], axis_name="i")(x)))(X)
    allclose(grad, jax.grad(lambda x: jnp.sum(jax.vmap(theirs["scan"], axis_name="i")(x)))(X))


def test_a_jitted_function_is_traced_for_every_size_of_the_axis() -> None:
    share = ct.jit(lambda x: x / ct.lax.axis_size("i"))
    for size in (2, 4, 2):
        assert ct.vmap(share, axis_name="i")(np.ones(size)).tolist() == [1 / size] * size
    with pytest.raises(NameError, match="'i' is not bound"):
        share(1.0)


def test_custom_rules_checkpoint_and_named_axes() -> None:
    @ct.custom_vjp
    def synced(x: Any) -> Any:
        return x

    synced.defvjp(lambda x: (x, None), lambda _, g: (ct.lax.pmean(g, "i"),))
    gradient = ct.vmap(ct.grad(lambda x, w: synced(x) * w), axis_name="i")(np.ones(3), np.array([1.0, 2.0, 6.0]))
    assert np.asarray(gradient).tolist() == [3.0, 3.0, 3.0]
    f = lambda x: cnp.sum(ct.lax.psum(cnp.sin(x), "i") * x)  # noqa: E731
    allclose(ct.vmap(ct.grad(ct.checkpoint(f)), axis_name="i")(X), ct.vmap(ct.grad(f), axis_name="i")(X))


def test_ragged() -> None:
    rows = [np.arange(1.0, n + 1) for n in (2, 4, 1)]
    batch = ct.ragged(rows)
    result = ct.vmap(ct.mask(lambda x: x / ct.lax.psum(cnp.sum(x), "i")), axis_name="i")(batch)
    total = sum(r.sum() for r in rows)
    for got, row in zip(result.to_list(), rows, strict=True):
        np.testing.assert_allclose(got, row / total)
    gradient = ct.grad(
        lambda b: cnp.sum(ct.vmap(ct.mask(lambda x: cnp.sum(x) * ct.lax.psum(cnp.sum(x * x), "i")), axis_name="i")(b))
    )(batch)
    squares = sum((r * r).sum() for r in rows)
    for got, row in zip(gradient.to_list(), rows, strict=True):
        np.testing.assert_allclose(got, squares + 2 * row * total)
    with pytest.raises(NotImplementedError, match="ragged array"):
        ct.vmap(ct.mask(lambda x: ct.lax.psum(x, "i")), axis_name="i")(batch)


def test_names() -> None:
    assert ct.vmap(lambda x: ct.lax.psum(x, ("a",)), axis_name="a")(np.arange(3)).tolist() == [3, 3, 3]
    key = object()
    assert ct.vmap(lambda x: ct.lax.psum(x, key), axis_name=key)(np.arange(3)).tolist() == [3, 3, 3]
    assert ct.vmap(lambda: ct.lax.axis_index(0), axis_name=0, axis_size=3)().tolist() == [0, 1, 2]
    # The inner of two equal names.
    inner = ct.vmap(ct.vmap(lambda x: ct.lax.psum(x, "a"), axis_name="a"), axis_name="a")(np.arange(6).reshape(2, 3))
    assert inner.tolist() == [[3] * 3, [12] * 3]
    assert ct.vmap(lambda x: x, axis_name="a", spmd_axis_name="z")(np.arange(2)).tolist() == [0, 1]
    assert ct.vmap(lambda x: ct.lax.pcast(x, "a", to="varying"), axis_name="a")(np.arange(2)).tolist() == [0, 1]


def test_integers_are_axes_of_the_array() -> None:
    for axes, numbers in [(0, 0), (-1, 2), ((0, -1), (0, 2)), ((), ()), ((0, 1, 2), (0, 1, 2))]:
        allclose(ct.lax.psum(X, axes), X.sum(numbers))
        allclose(ct.lax.pmean(X, axes), X.mean(numbers))
        allclose(ct.lax.pmax(X, axes), X.max(numbers))
        allclose(ct.jit(lambda x, axes=axes: ct.lax.pmin(x, axes))(X), X.min(numbers))
    allclose(ct.vmap(lambda x: ct.lax.pmean(x, ("i", 0)), axis_name="i")(X), np.broadcast_to(X.mean((0, 1)), (4, 3)))
    allclose(ct.vmap(lambda x: ct.lax.psum(x, -1), in_axes=1)(X), X.sum(2).T)
    ragged = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})
    assert float(ct.mask(lambda x: ct.lax.psum(x, 0))(ragged)) == 3.0
    assert float(ct.mask(lambda x: ct.lax.pmean(x, 0))(ragged)) == 1.5
    ct.test_util.check_grads(lambda x: ct.lax.pmean(x**3, (0, 2)), (X,), order=2)


def test_the_largest_bool_is_a_bool() -> None:
    for name, expected in (("pmax", (X > 0).max(0)), ("pmin", (X > 0).min(0))):
        result = ct.vmap(lambda x, name=name: getattr(ct.lax, name)(x > 0, "i"), axis_name="i")(X)
        assert result.dtype == bool and result[0].tolist() == expected.tolist()


def test_all_dtypes() -> None:
    for dtype, f in itertools.product(
        ["int8", "uint32", "int64", "float16", "float32", "complex64"],
        [
            lambda x: ct.lax.psum(x, "i"),
            lambda x: ct.lax.all_gather(x, "i"),
            lambda x: ct.lax.ppermute(x, "i", [(0, 2)]),
        ],
    ):
        x = np.arange(3).astype(dtype)
        assert ct.vmap(f, axis_name="i")(x).dtype == dtype
    assert ct.vmap(lambda x: ct.lax.all_gather(x, "i"), axis_name="i")(np.array([True, False])).dtype == bool
    assert ct.vmap(lambda x: ct.lax.psum(x, "i"), axis_name="i")(np.zeros((0, 2))).shape == (0, 2)


ERRORS = [
    (lambda x: ct.lax.psum(x, "j"), NameError, "'j' is not bound; bound here: 'i'"),
    (lambda x: ct.lax.axis_index(("i", "k")), NameError, "'k' is not bound"),
    (lambda x: ct.lax.ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "source once"),
    (lambda x: ct.lax.ppermute(x, "i", [(0, 9)]), ValueError, "4 examples"),
    (lambda x: ct.lax.all_to_all(x, "i", 1, 0), TypeError, "size of the named axis, 4"),
    (lambda x: ct.lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), TypeError, "cannot be divided"),
    (lambda x: ct.lax.all_gather(x, "i", axis=5), ValueError, "no axis 5"),
    (lambda x: ct.lax.psum(x, "i", axis_index_groups=[[0, 1]]), ValueError, "each of the 4 examples once"),
    (lambda x: ct.lax.psum(x, "i", axis_index_groups=[[0], [1, 2, 3]]), ValueError, "one size"),
    (lambda x: ct.lax.pshuffle(x, "i", [0, 0, 1, 2]), ValueError, "permutation"),
    (lambda x: ct.lax.psum(x, ("i", 2)), ValueError, "psum: axis 2 is out of bounds"),
    (lambda x: ct.lax.psum(x, (0, -2)), ValueError, "names an axis twice"),
    (lambda x: ct.lax.psum(3, ("i", 0)), ValueError, "axis 0 is out of bounds"),
    (lambda x: ct.lax.pmax(x, ("i", 0), axis_index_groups=[[0, 1], [2, 3]]), ValueError, "of named axes alone"),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    f, error, message = ERRORS[case]
    with pytest.raises(error, match=message):
        ct.vmap(f, axis_name="i")(X)


def test_a_permutation_that_leaves_examples_out() -> None:
    f = ct.vmap(lambda x: ct.lax.ppermute(x, "i", [(0, 3), (2, 1)]), axis_name="i")
    allclose(f(X), np.stack([0 * X[0], X[2], 0 * X[0], X[0]]))
    ct.test_util.check_grads(f, (X,), order=2)
    assert ct.vmap(lambda: ct.lax.ppermute(7, "i", [(0, 1)]), axis_name="i", axis_size=3)().tolist() == [0, 7, 0]


def test_outside_of_vmap() -> None:
    with pytest.raises(NameError, match=r"psum: the axis name 'i' is not bound; no axis is bound here"):
        ct.lax.psum(1.0, "i")


def test_a_ragged_axis_of_examples():
    """Sums, means and gathers leave padding out; what needs a number of examples says that it is not known."""
    rows = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})

    def over(f):
        return ct.mask(lambda x: ct.vmap(f, axis_name="i")(x))(rows)

    assert over(lambda r: r + ct.lax.psum(r, "i")).unpad().tolist() == [4.0, 5.0]
    assert over(lambda r: ct.lax.pmax(r, "i")).unpad().tolist() == [2.0, 2.0]
    assert over(lambda r: ct.lax.all_gather(r, "i").sum()).unpad().tolist() == [3.0, 3.0]
    assert over(lambda r: ct.lax.axis_index("i")).unpad().tolist() == [0, 1]
    assert over(lambda r: ct.numpy.float32(1.0)).unpad().tolist() == [1.0, 1.0]
    assert over(lambda r: ct.lax.pmean(r, "i")).unpad().tolist() == [1.5, 1.5]
    assert over(lambda r: r * ct.lax.axis_size("i")).unpad().tolist() == [2.0, 4.0]
    assert over(lambda r: ct.lax.psum(1, "i")).unpad().tolist() == [2, 2]
    with pytest.raises(NotImplementedError, match="the axis named 'i' is ragged"):
        over(lambda r: ct.lax.ppermute(r, "i", [(0, 1)]))
