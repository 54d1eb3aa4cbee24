"""Sizes near the end of 64 bits, arrays of many axes, and arrays whose memory is gone: errors, or the right result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax

X = np.arange(3, dtype=np.float32)

TOO_LARGE: dict[str, Callable[[int], Any]] = {
    "zeros": lambda n: cnp.zeros(n),
    "ones in two axes": lambda n: cnp.ones((n // 4, 4)),
    "full": lambda n: cnp.full(n, 2.0),
    "broadcast_to": lambda n: cnp.broadcast_to(X, (n, 3)),
    "tile": lambda n: cnp.tile(X, n),
    "repeat": lambda n: cnp.repeat(X, n),
    "pad": lambda n: cnp.pad(X, n // 2),
    "arange": lambda n: cnp.arange(n),
    "eye": lambda n: cnp.eye(n // 2, 2),
    "iota": lambda n: lax.iota("int32", n),
    "lax.pad": lambda n: lax.pad(X, np.float32(0), [(0, n // 4, 0)]),
    "lax.pad inside": lambda n: lax.pad(X, np.float32(0), [(0, 0, n // 4)]),
    "convolution": lambda n: lax.conv_general_dilated(X[None, None], X[None, None], (1,), [(0, n // 4)]),
    "reduce_window": lambda n: lax.reduce_window(X, np.float32(0), lax.add, (2,), (1,), [(n // 4, 0)]),
    "one_hot": lambda n: ct.nn.one_hot(np.arange(3), n),
    "uniform": lambda n: ct.random.uniform(ct.random.key(0), (n,)),
}


@pytest.mark.parametrize("size", [2**60, 2**61, 2**62, 2**63 - 1])
@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_cannot_be_addressed_is_an_error(name: str, size: int) -> None:
    kinds = (MemoryError, ValueError, OverflowError)
    with pytest.raises(kinds):
        TOO_LARGE[name](size)
    with pytest.raises(kinds):
        ct.jit(lambda: TOO_LARGE[name](size) + 0)()


def test_the_message_names_the_shape() -> None:
    with pytest.raises(
        MemoryError, match=r"an array of float32 of shape \(2305843009213693952,\) is too large to address"
    ):
        cnp.zeros(2**61)
    with pytest.raises(MemoryError, match="could not allocate"):
        cnp.zeros(2**58)
    with pytest.raises(OverflowError, match="1000000000000000000000000000000"):
        ct._core.bind("iota", [], dtype=np.dtype("int32"), shape=[10**30], axis=0)
    with pytest.raises(ValueError, match="the low padding of axis 0 is"):
        lax.pad(X, np.float32(0), [(-(2**62), 2**62 - 3, 0)])


def test_sizes_of_more_than_64_bits_are_named() -> None:
    huge = 2**70
    for call in (
        lambda: cnp.zeros(huge),
        lambda: cnp.full((2, huge), 1.0),
        lambda: cnp.broadcast_to(1.0, (huge,)),
        lambda: lax.full((huge,), 1.0),
        lambda: ct.random.normal(ct.random.key(0), (huge,)),
        lambda: ct.nn.one_hot(np.arange(3), huge),
        lambda: ct.eval_shape(lambda x: x, ct.ShapeDtypeStruct((huge,), np.float32)),
        lambda: ct.make_ir(lambda x: ct.pure_callback(abs, ct.ShapeDtypeStruct((huge,), np.float32), x))(X),
    ):
        with pytest.raises(OverflowError, match=f"{huge} is out of range: sizes .* have 64 bits"):
            call()
    for k in (4, 2**40, huge, -1):
        with pytest.raises(ValueError, match=f"k must be from 0 to 3, the size of axis 0; got {k}"):
            lax.top_k(X, k)


def test_a_jacobian_that_cannot_be_addressed_says_so() -> None:
    many = ct.ShapeDtypeStruct((2**31,), np.float32)
    for jacobian in (ct.jacrev(lambda x: x), ct.jacfwd(lambda x: x), ct.hessian(lambda x: (x**2).sum())):
        with pytest.raises(MemoryError, match="too large to address"):
            ct.eval_shape(jacobian, many)
    quick = ct.ShapeDtypeStruct((2**20,), np.float32)
    assert ct.eval_shape(ct.jacrev(lambda x: x), quick).shape == (2**20, 2**20)  # of which nothing is made


def test_a_grid_that_cannot_be_addressed_is_an_error_before_memory_is_taken() -> None:
    with pytest.raises(MemoryError, match=r"iota: an array of int32 of shape .* is too large to address"):
        cnp.indices((2**31, 2**31))
    assert [x.shape for x in cnp.indices((3, 2), sparse=True)] == [(3, 1), (1, 2)]


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_large_arrays_without_elements(mode: str) -> None:
    run: Callable[[Any], Any] = (lambda f: f()) if mode == "eager" else (lambda f: ct.jit(f)())
    assert run(lambda: cnp.zeros((2**62, 0))).shape == (2**62, 0)
    assert run(lambda: lax.broadcasted_iota("int32", (2**62, 0), 0) + 1).shape == (2**62, 0)
    assert float(run(lambda: cnp.sum(cnp.ones((2**62, 0))))) == 0
    assert run(lambda: cnp.sum(cnp.ones((2**62, 0)), axis=0)).shape == (0,)
    assert run(lambda: cnp.cumsum(cnp.ones((2**62, 0)), axis=0)).shape == (2**62, 0)
    assert run(lambda: cnp.ones((0, 2**62)) @ cnp.ones((2**62, 0))).shape == (0, 0)


def test_large_arrays_that_never_are() -> None:
    assert ct.eval_shape(lambda: cnp.zeros(2**59)).shape == (2**59,)
    assert float(ct.jit(lambda: cnp.sum(cnp.zeros(2**59)))()) == 0.0


@pytest.mark.parametrize("mode", ["eager", "jit", "grad"])
def test_steps_past_the_end(mode: str) -> None:
    def taken(x: Any) -> Any:
        return lax.slice(x, (1,), (3,), (2**62,)), x[:: 2**62], x[:: -(2**62)]

    if mode == "grad":
        gradient = ct.grad(lambda x: sum(cnp.sum(part * (i + 1)) for i, part in enumerate(taken(x))))(X)
        np.testing.assert_array_equal(gradient, [2, 1, 3])
    else:
        parts = (ct.jit(taken) if mode == "jit" else taken)(X)
        assert [part.tolist() for part in parts] == [[1.0], [0.0], [2.0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda shape: cnp.zeros(shape),
        lambda shape: cnp.reshape(X[:1], shape),
        lambda shape: cnp.broadcast_to(X[:1], shape),
        lambda shape: cnp.expand_dims(cnp.zeros(()), tuple(range(len(shape)))),
        lambda shape: cnp.zeros(())[(None,) * len(shape)],
        lambda shape: ct.eval_shape(lambda: cnp.zeros(shape)),
        lambda shape: ct.vmap(lambda x: cnp.zeros(shape[1:]) + x)(X),
        lambda shape: cnp.tensordot(cnp.zeros(shape[:40]), cnp.zeros(shape[40:]), 0),
        lambda shape: ct.random.uniform(ct.random.key(0), shape),
    ],
)
def test_arrays_have_at_most_64_axes(make: Any) -> None:
    assert len(make((1,) * 64).shape) == 64
    for rank in (65, 100, 10_000):
        with pytest.raises(ValueError, match="an array has at most 64 axes; got"):
            make((1,) * rank)


@pytest.mark.parametrize("rank", [65, 2**31, 2**60])
def test_ranks_are_looked_at_before_lists_of_axes_are_made(rank: int) -> None:
    for make in (
        lambda: lax.broadcast_to_rank(X, rank),
        lambda: lax.expand_dims(X, range(rank)),
        lambda: cnp.expand_dims(X, range(rank)),
    ):
        with pytest.raises(ValueError, match="an array has at most 64 axes; got"):
            make()


def test_few_values_fill_many_places() -> None:
    """By one equation, not one a repetition."""
    np.testing.assert_array_equal(cnp.resize(X, (1_000_001,)), np.resize(X, (1_000_001,)))
    assert len(ct.make_ir(lambda x: cnp.resize(x, (100_000,)))(X).equations()) < 10
    for make in (lambda: cnp.resize(X, 2**40), lambda: ct.jit(lambda x: cnp.resize(x, 2**40))(X)):
        with pytest.raises(MemoryError):
            make()
    y = np.zeros(1001, np.float32)
    np.testing.assert_array_equal(cnp.put(y, np.arange(1001), X, inplace=False), np.resize(X, 1001))


DELETED: dict[str, Callable[[Any], Any]] = {
    "format": lambda x: f"{x:.2f}",
    "equal": lambda x: x == x,
    "less": lambda x: x < 1.0,
    "complex": lambda x: x < 1j,
    "reflected": lambda x: np.ones(3) == x,
    "sum": lambda x: cnp.sum(x),
    "index": lambda x: x[0],
    "bool": bool,
    "float": float,
    "negative": lambda x: -x,
    "NumPy": np.asarray,
    "copy": cnp.copy,
    "jit": ct.jit(lambda x: x),
}


@pytest.mark.parametrize("name", DELETED)
@pytest.mark.parametrize("how", ["deleted", "donated"])
def test_arrays_whose_memory_is_gone(name: str, how: str) -> None:
    x = cnp.array(X)
    if how == "deleted":
        x.delete()
    else:
        ct.jit(lambda x: x + 1, donate_argnums=0)(x)
    with pytest.raises(ValueError, match=r"float32\[3\] was deleted, or donated"):
        DELETED[name](x)
    # What needs no elements goes on.
    assert "deleted" in repr(x)
    assert "deleted" in str(x)
    assert (x.shape, x.ndim, x.size, x.nbytes, len(x), x.dtype) == ((3,), 1, 3, 12, 3, np.float32)


def test_orders_of_differences_and_integrals_are_not_steps() -> None:
    assert cnp.diff(X, n=2**62).shape == (0,)
    with pytest.raises(MemoryError):
        cnp.polyint(X, m=2**60)
    for m in (0, 1, 2, 5, 171, 200):
        constants = np.linspace(-1, 1, m)
        np.testing.assert_allclose(
            cnp.polyint(np.arange(7.0), m, constants), np.polyint(np.arange(7.0), m, constants), rtol=1e-14, atol=1e-300
        )


def test_orders_and_dimensions_of_special_functions_are_not_steps() -> None:
    x = np.linspace(0.1, 30, 7)
    from scipy import special

    bessel = ct.scipy.special.bessel_jn(x, v=3, n_iter=2**62)
    np.testing.assert_allclose(bessel, [special.jv(n, x) for n in range(4)], rtol=1e-12, atol=1e-14)
    for d in (0, 1, 5):
        np.testing.assert_allclose(
            ct.scipy.special.multigammaln(x + 5, d), special.multigammaln(x + 5, d) if d else x * 0
        )
    with pytest.raises(MemoryError):
        ct.scipy.special.multigammaln(x, 2**60)
    with pytest.raises(ValueError, match="multigammaln: the dimension must not be negative; got -1"):
        ct.scipy.special.multigammaln(x, -1)
