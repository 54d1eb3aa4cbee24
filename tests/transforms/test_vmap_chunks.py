"""vmap with ``chunk_size``: the results of vmap, some examples at a time."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

rng = np.random.default_rng(0)
A, X, Y = rng.normal(size=3), rng.normal(size=(3, 7)), np.arange(7)


def identity(f: Any) -> Any:
    return f


def several(a: Any, x: Any, y: Any) -> Any:
    return {"batched": (cnp.tanh(x @ a + y), cnp.outer(x, a)), "same": a.sum(), "weak": 2 * y}


OUT_AXES = {"batched": (0, -1), "same": None, "weak": 0}


def same(actual: Any, expected: Any) -> None:
    assert ct.tree.structure(actual) == ct.tree.structure(expected)
    for a, b in zip(ct.tree.leaves(actual), ct.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type)
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("run", [identity, ct.jit])
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 6, 7, 100])
def test_axes_and_remainders(run: Any, chunk_size: int) -> None:
    axes: Any = {"in_axes": (None, -1, 0), "out_axes": OUT_AXES}
    same(
        run(ct.vmap(several, chunk_size=chunk_size, **axes))(A, X, Y),
        ct.vmap(several, **axes)(A, X, Y),
    )


@pytest.mark.parametrize("size", [0, 1])
def test_few_examples(size: int) -> None:
    f = ct.vmap(lambda x: cnp.stack([x, x * x]), chunk_size=2)
    same(f(np.ones((size, 3))), cnp.ones((size, 2, 3), np.float64))
    same(f(np.ones((4, 0))), cnp.ones((4, 2, 0), np.float64))


def test_derivatives_of_both_modes_and_orders() -> None:
    def total(f: Any) -> Any:
        return lambda a: (f(a, X)[0] ** 2).sum()

    def example(a: Any, x: Any) -> Any:
        return cnp.tanh(x @ a), x

    whole = total(ct.vmap(example, in_axes=(None, 1)))
    for f in (example, ct.checkpoint(example)):
        parts = total(ct.vmap(f, in_axes=(None, 1), chunk_size=3))
        for transform in (ct.grad, ct.jacfwd, ct.hessian, lambda g: ct.jit(ct.grad(g))):
            np.testing.assert_allclose(transform(parts)(A), transform(whole)(A), rtol=1e-12)
    tangent = ct.jvp(ct.vmap(cnp.sin, chunk_size=2), (A,), (A,))[1]
    np.testing.assert_allclose(tangent, np.cos(A) * A, rtol=1e-13)


def test_nested_vmaps() -> None:
    x = rng.normal(size=(5, 4, 3))
    whole = ct.vmap(ct.vmap(lambda row: row.sum() * row))(x)
    inner = ct.vmap(lambda row: row.sum() * row, chunk_size=3)
    np.testing.assert_allclose(ct.vmap(inner)(x), whole, rtol=1e-13)
    np.testing.assert_allclose(ct.vmap(inner, chunk_size=2)(x), whole, rtol=1e-13)
    outer = ct.vmap(
        lambda rows: rows - ct.lax.psum(ct.vmap(lambda r: r * 2, chunk_size=3)(rows), "i"),
        axis_name="i",
    )
    np.testing.assert_allclose(outer(x), x - 2 * x.sum(0), rtol=1e-12)
    within = ct.vmap(
        lambda rows: ct.vmap(lambda r: ct.lax.psum(r, "i"), chunk_size=3)(rows),
        axis_name="i",
    )
    np.testing.assert_allclose(within(x)[0], x.sum(0), rtol=1e-12)


def test_keys_and_keyword_arguments() -> None:
    keys = ct.random.split(ct.random.key(0), 5)
    draw = lambda key, *, scale: scale * ct.random.normal(key, (2,))  # noqa: E731
    same(
        ct.vmap(draw, chunk_size=2)(keys, scale=cnp.arange(5)),
        ct.vmap(draw)(keys, scale=cnp.arange(5)),
    )


def test_ragged_examples() -> None:
    rows = ct.ragged([np.arange(n, dtype=np.float32) for n in (3, 0, 5, 1, 2)])
    mean = ct.mask(lambda row: row.sum() / (row.shape[0] + 1))
    np.testing.assert_allclose(ct.vmap(mean, chunk_size=2)(rows), [3 / 4, 0, 10 / 6, 0, 1 / 3], rtol=1e-6)
    doubled = ct.vmap(ct.mask(lambda row: row * 2), chunk_size=2)(rows)
    assert [r.tolist() for r in ct.vmap(ct.mask(lambda row: row * 2))(rows).to_list()] == [
        r.tolist() for r in doubled.to_list()
    ]


def test_ragged_axes_that_are_not_mapped() -> None:
    x = rng.normal(size=(5, 4))
    f = ct.mask(lambda x: ct.vmap(lambda row: row.sum(), chunk_size=2)(x))
    np.testing.assert_allclose(f(ct.Ragged(x, {1: 3})), x[:, :3].sum(1), rtol=1e-13)


def test_nothing_mapped_and_nothing_returned() -> None:
    same(ct.vmap(lambda x: x, in_axes=None, axis_size=5, chunk_size=2)(A), cnp.stack([cnp.asarray(A)] * 5))
    same(ct.vmap(lambda x: 3.0, chunk_size=2)(Y), ct.vmap(lambda x: 3.0)(Y))
    assert ct.vmap(lambda x: (), chunk_size=2)(Y) == ()


def test_the_function_is_captured_once() -> None:
    calls = []
    ct.vmap(lambda x: calls.append(0) or x, chunk_size=2)(np.arange(7))
    assert len(calls) == 1


def test_memory_is_that_of_a_chunk() -> None:
    def f(chunk_size: int | None) -> Any:
        return ct.vmap(lambda x: cnp.sum(cnp.sort(cnp.outer(x, x), axis=0)[0]), chunk_size=chunk_size)

    x = np.ones((64, 32), np.float32)
    whole, parts = (ct.explain(f(size))(x).scratch_bytes for size in (None, 4))
    assert parts < whole / 4


def test_errors() -> None:
    f = lambda x: x  # noqa: E731
    with pytest.raises(ValueError, match=r"chunk_size must be positive; got 0\n  None computes all"):
        ct.vmap(f, chunk_size=0)
    with pytest.raises(TypeError, match=r"vmap: chunk_size must be an integer or None; got 2\.5"):
        ct.vmap(f, chunk_size=2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="axis_name='i': a collective over the axis needs all examples at once"):
        ct.vmap(f, axis_name="i", chunk_size=2)
    with pytest.raises(ValueError, match="mapped axes have different sizes"):
        ct.vmap(lambda x, y: x, chunk_size=2)(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="chunk_size=2, but the mapped axis is ragged"):
        ct.mask(ct.vmap(f, chunk_size=2))(ct.Ragged(np.ones(5), {0: 3}))
    with pytest.raises(ValueError, match="out_axes"):
        ct.vmap(f, out_axes=None, chunk_size=2)(np.ones(5))


def curved(params: Any, x: Any) -> Any:
    hidden = cnp.tanh(params["w"] @ x)
    return {"value": hidden * params["b"], "total": hidden.sum()}, hidden


PARAMS = {"w": rng.normal(size=(3, 4)), "b": rng.normal(size=3)}
POINT = rng.normal(size=4)


@pytest.mark.parametrize("run", [identity, ct.jit])
@pytest.mark.parametrize("transform", [ct.jacfwd, ct.jacrev])
@pytest.mark.parametrize("chunk_size", [1, 3, 4, 19, 100])
def test_jacobians_in_chunks_of_vectors(run: Any, transform: Any, chunk_size: int) -> None:
    options: Any = {"argnums": (0, 1), "has_aux": True}
    same(
        run(transform(curved, **options, chunk_size=chunk_size))(PARAMS, POINT),
        transform(curved, **options)(PARAMS, POINT),
    )


def test_jacobians_in_chunks_nest() -> None:
    f = lambda x: cnp.sin(x) * x.sum()  # noqa: E731
    inner = lambda x: ct.jacrev(f, chunk_size=2)(x)  # noqa: E731
    same(ct.jacfwd(inner, chunk_size=3)(X[0]), ct.jacfwd(ct.jacrev(f))(X[0]))
    same(ct.vmap(inner)(X), ct.vmap(ct.jacrev(f))(X))
    same(ct.grad(lambda x: (inner(x) ** 2).sum())(X[0]), ct.grad(lambda x: (ct.jacrev(f)(x) ** 2).sum())(X[0]))
    assert ct.jacrev(cnp.sin, chunk_size=2)(cnp.zeros(0)).shape == (0, 0)


def spread(x: Any) -> Any:
    return cnp.sort(cnp.cumsum(cnp.sort(cnp.outer(cnp.sin(x), x), axis=0), axis=1), axis=1).std(axis=0)


@pytest.mark.parametrize("transform", [ct.jacfwd, ct.jacrev])
def test_jacobians_in_chunks_need_less_memory(transform: Any) -> None:
    def temporary(**options: Any) -> int:
        jacobian = ct.jit(transform(spread, **options), backend="llvm")
        bytes_: int = jacobian.lower(cnp.ones(64)).compile().memory_analysis()["temp_size_in_bytes"]
        return bytes_

    assert temporary(chunk_size=2) < temporary() / 4


@pytest.mark.parametrize("transform", [ct.jacfwd, ct.jacrev])
def test_jacobians_of_ragged_arguments_in_chunks(transform: Any) -> None:
    lines = ct.ragged([rng.normal(size=n) for n in (2, 4, 3)])
    of_line = lambda **options: ct.vmap(ct.mask(transform(lambda x: cnp.cumsum(x * x), **options)))  # noqa: E731
    for a, b in zip(of_line(chunk_size=3)(lines), of_line()(lines), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
