"""`jit` with ``memory_limit``: the values of the program without it, in chunks whose temporary memory is within the limit."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.errors import MemoryLimitError

rng = np.random.default_rng(0)
A, X = rng.normal(size=(40, 40)), rng.normal(size=(37, 40))


def example(a: Any, x: Any) -> Any:
    return cnp.sort(cnp.outer(x, x) @ a, axis=0)[0].sum()


mapped = ct.vmap(example, in_axes=(None, 0))


def total(a: Any, x: Any) -> Any:
    return (mapped(a, x) ** 2).sum()


def temporary(jitted: Any, *args: Any) -> int:
    bytes_: int = jitted.lower(*args).compile().memory_analysis()["temp_size_in_bytes"]
    return bytes_


def scans(function: Any, *args: Any) -> int:
    return str(ct.make_ir(function)(*args).text()).count(" scan ")


@pytest.mark.parametrize("part", [1, 2, 8, 20])
def test_values_and_temporary_memory(part: int) -> None:
    limit = temporary(ct.jit(mapped, backend="llvm"), A, X) // part
    limited = ct.jit(mapped, memory_limit=limit, backend="llvm")
    np.testing.assert_allclose(limited(A, X), mapped(A, X), rtol=1e-12)
    assert temporary(limited, A, X) <= limit
    assert ct.explain(limited)(A, X).scratch_bytes <= limit
    assert scans(limited, A, X) == (part > 1)
    assert limited._cache_size() == 1


@pytest.mark.parametrize("part", [2, 8])
def test_gradients_compute_chunks_again(part: int) -> None:
    plain = ct.grad(total)
    limit = temporary(ct.jit(plain), A, X) // part
    limited = ct.jit(plain, memory_limit=limit)
    np.testing.assert_allclose(limited(A, X), plain(A, X), rtol=1e-10, atol=1e-10)
    assert temporary(limited, A, X) <= limit
    hessian = ct.hessian(lambda s: total(s * A, X))
    np.testing.assert_allclose(ct.jit(hessian, memory_limit=2 * limit)(1.0), hessian(1.0), rtol=1e-10)


def test_transforms_of_a_limited_function() -> None:
    limited = ct.jit(total, memory_limit=temporary(ct.jit(total), A, X) // 4)
    np.testing.assert_allclose(ct.grad(limited)(A, X), ct.grad(total)(A, X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ct.jit(ct.grad(limited))(A, X), ct.grad(total)(A, X), rtol=1e-10, atol=1e-10)
    tangents = (np.ones_like(A), np.ones_like(X))
    for actual, expected in zip(ct.jvp(limited, (A, X), tangents), ct.jvp(total, (A, X), tangents), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-10)
    several = np.stack([X, 2 * X])
    np.testing.assert_allclose(
        ct.vmap(limited, in_axes=(None, 0))(A, several), [total(A, x) for x in several], rtol=1e-12
    )


def test_jitted_functions_are_divided_with_what_calls_them() -> None:
    inner = ct.jit(mapped)
    inner(A, X)  # a program that is not divided is kept from here on
    before = temporary(inner, A, X)
    outer = ct.jit(lambda a, x: inner(a, x) + 1, memory_limit=before // 4)
    np.testing.assert_allclose(outer(A, X), mapped(A, X) + 1, rtol=1e-12)
    assert temporary(outer, A, X) <= before // 4
    assert temporary(inner, A, X) == before
    assert scans(inner, A, X) == 0
    loose = ct.jit(lambda a, x: ct.jit(mapped, memory_limit=before // 4)(a, x) + 1)
    np.testing.assert_allclose(loose(A, X), mapped(A, X) + 1, rtol=1e-12)
    assert scans(loose, A, X) == 1


def test_loops_stay_loops() -> None:
    def f(a: Any, x: Any) -> Any:
        return ct.lax.scan(lambda c, _: (c + mapped(a, x + c.sum()), c), cnp.zeros(37, "float64"), None, length=3)

    limited = ct.jit(f, memory_limit=temporary(ct.jit(f), A, X) // 3)
    for actual, expected in zip(limited(A, X), f(A, X), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9)
    assert scans(limited, A, X) == 2  # the loop, and the chunks in its body


def test_inner_axes_are_divided_where_one_outer_example_is_too_large() -> None:
    x = rng.normal(size=(2, 37, 40))
    f = ct.vmap(mapped, in_axes=(None, 0))
    limit = temporary(ct.jit(f), A, x) // 10
    limited = ct.jit(f, memory_limit=limit)
    np.testing.assert_allclose(limited(A, x), f(A, x), rtol=1e-12)
    assert temporary(limited, A, x) <= limit
    assert scans(limited, A, x) == 2


def test_chunk_sizes_and_collectives_are_kept() -> None:
    own = ct.vmap(example, in_axes=(None, 0), chunk_size=5)
    limit = temporary(ct.jit(own), A, X)
    assert ct.jit(own, memory_limit=limit).lower(A, X).as_text() == ct.jit(own).lower(A, X).as_text()

    def summed(a: Any, x: Any) -> Any:
        return ct.vmap(lambda x: ct.lax.psum(example(a, x), "i"), axis_name="i")(x)

    with pytest.raises(MemoryLimitError):
        ct.jit(summed, memory_limit=1000)(A, X)


def test_quantities_of_single_examples() -> None:
    def loss(p: Any, x: Any) -> Any:
        return (cnp.tanh(cnp.outer(x, x) @ p["w"]) @ p["v"]).sum() ** 2

    p = {"w": A, "v": rng.normal(size=(40, 30))}
    quantities = {
        "norms": ct.per_example.norms(loss),
        "clipped_sum": ct.per_example.clipped_sum(loss, clip_norm=1.0),
        "second_moment": ct.per_example.second_moment(loss),
        "noise_scale": ct.per_example.noise_scale(loss),
    }
    for name, function in quantities.items():
        limit = temporary(ct.jit(function), p, X) // 3
        limited = ct.jit(function, memory_limit=limit)
        for actual, expected in zip(ct.tree.leaves(limited(p, X)), ct.tree.leaves(function(p, X)), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-7, err_msg=name)
        assert temporary(limited, p, X) <= limit, name
    penalty = lambda p: cnp.mean(ct.per_example.norms(loss)(p, X))  # noqa: E731
    limit = temporary(ct.jit(ct.grad(penalty)), p) // 3
    limited = ct.jit(ct.grad(penalty), memory_limit=limit)
    for actual, expected in zip(ct.tree.leaves(limited(p)), ct.tree.leaves(ct.grad(penalty)(p)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-7)


def test_ragged_examples() -> None:
    lines = ct.ragged([rng.normal(size=(n, 40)) for n in (3, 0, 7, 5, 7, 1, 2, 6)])
    f = ct.vmap(ct.mask(lambda rows: cnp.sum(cnp.sort((rows @ A)[:, None] * rows, axis=0) ** 2)))
    limit = temporary(ct.jit(f, backend="llvm"), lines) // 2
    assert scans(ct.jit(f, memory_limit=limit, backend="llvm"), lines) > scans(f, lines)
    np.testing.assert_allclose(ct.jit(f, memory_limit=limit)(lines), f(lines), rtol=1e-12)
    # A mapped axis that is ragged stays whole.
    whole = ct.mask(lambda x: ct.vmap(lambda row: example(A, row))(x).sum())
    ragged = ct.Ragged(X, {0: 20}, {0: "n"})
    np.testing.assert_allclose(ct.jit(whole, memory_limit=10**9)(ragged), mapped(A, X[:20]).sum(), rtol=1e-12)


@pytest.mark.parametrize("size", [0, 1])
def test_few_examples(size: int) -> None:
    limited = ct.jit(mapped, memory_limit=10**6)
    np.testing.assert_allclose(limited(A, X[:size]), mapped(A, X[:size]), rtol=1e-12)


def test_options_together() -> None:
    limit = temporary(ct.jit(mapped), A, X) // 4
    scaled = lambda n, a, x: n * mapped(a, x)  # noqa: E731
    limited = ct.jit(scaled, static_argnums=0, memory_limit=limit)
    np.testing.assert_allclose(limited(3, A, X), 3 * mapped(A, X), rtol=1e-12)
    decorated = ct.jit(memory_limit=limit)(mapped)
    np.testing.assert_allclose(decorated(A, X), mapped(A, X), rtol=1e-12)
    donated = ct.jit(mapped, donate_argnums=1, memory_limit=limit)
    np.testing.assert_allclose(donated(A, cnp.array(X)), mapped(A, X), rtol=1e-12)
    assert ct.jit(mapped, memory_limit=limit).eval_shape(A, X).shape == (37,)
    interpreted = ct.jit(mapped, memory_limit=limit, backend="interpreter")
    np.testing.assert_allclose(interpreted(A, X), mapped(A, X), rtol=1e-12)


def test_a_limit_that_cannot_be_kept() -> None:
    with pytest.raises(
        MemoryLimitError,
        match=r"jit of example: memory_limit=1,000, but the program needs [\d,]+ bytes of temporary memory, even one example at a"
        r" time\n  a chunk takes [\d,]+ of them; the largest arrays in it:\n    12,800 bytes: .*float64\[1,40,40\].*\n(?s:.*)raise the limit, or",
    ) as caught:
        ct.jit(mapped, memory_limit=1000)(A, X)
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(
        MemoryLimitError, match=r"in chunks\n  the largest arrays that it stores:\n    12,800 bytes: .*sort"
    ):
        ct.jit(lambda a: cnp.sort(a @ a, axis=0).sum(), memory_limit=0)(A)
    assert ct.jit(lambda x: x + 1, memory_limit=0)(1.0) == 2.0
    with pytest.raises(ValueError, match=r"memory_limit=-1\n  pass a number of bytes, or memory_limit=None"):
        ct.jit(mapped, memory_limit=-1)
    with pytest.raises(TypeError, match=r"memory_limit must be an integer or None; got 'much'"):
        ct.jit(mapped, memory_limit="much")  # type: ignore[call-overload]


def test_a_limit_below_what_chunks_do_not_change() -> None:
    """It is told apart from what they do, and results are no temporaries."""

    def loss(p: Any, x: Any) -> Any:
        return cnp.sum(cnp.tanh(cnp.tanh(x @ p) @ p))

    def norms(p: Any, x: Any) -> Any:
        g = ct.vmap(ct.grad(loss), in_axes=(None, 0))(p, x)
        return cnp.sum(g * g, axis=(1, 2)), cnp.max(g, axis=(1, 2))

    p, x = rng.normal(size=(100, 100)), rng.normal(size=(64, 100))
    with pytest.raises(MemoryLimitError) as caught:
        ct.jit(norms, memory_limit=50_000)(p, x)
    chunk, fixed, last = str(caught.value).split("of them")[0], *str(caught.value).split("of them")[1:]
    within = int(chunk.split()[-1].replace(",", ""))
    outside = fixed.splitlines()[-1].split()[0]
    assert within < 20_000 < 64 * 80_000 <= int(outside.replace(",", ""))
    assert "float64[1,100]" in fixed and "float64[64,1,100,100]" not in fixed
    assert "5,120,000 bytes: scan -> float64[64,1,100,100]" in last
    assert f"raise the limit above {outside}, or reduce what belongs to one example" in last
    fits = int(outside.replace(",", "")) + within
    np.testing.assert_allclose(ct.jit(norms, memory_limit=fits)(p, x)[0], norms(p, x)[0], rtol=1e-10)
    # All gradients are the result, which lies nowhere else.
    with pytest.raises(MemoryLimitError, match="a chunk takes") as of_results:
        ct.jit(ct.vmap(ct.grad(loss), in_axes=(None, 0)), memory_limit=1000)(p, x)
    assert "[64,1,100,100]" not in str(of_results.value)
