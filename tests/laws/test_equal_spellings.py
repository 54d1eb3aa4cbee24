"""One quantity, however it is written, is computed alike: the same values, and no memory that one spelling needs."""

from __future__ import annotations

import itertools

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.flatten_util import ravel_pytree

RNG = np.random.default_rng(0)
SHAPES = [(), (7,), (1,), (5, 3), (4, 1, 6), (3, 0)]

SUMS_OF_SQUARES = {
    "sum": lambda x: cnp.sum(x * x),
    "vdot": lambda x: cnp.vdot(x, x),
    "einsum": lambda x: cnp.einsum("...,...->...", cnp.ravel(x), cnp.ravel(x)).sum(),
    "einsum of indices": lambda x: cnp.einsum("i,i->", cnp.ravel(x), cnp.ravel(x)),
    "tensordot": lambda x: cnp.tensordot(x, x, axes=x.ndim),
    "matmul": lambda x: cnp.ravel(x) @ cnp.ravel(x),
    "row by column": lambda x: (x.reshape(1, -1) @ x.reshape(-1, 1))[0, 0],
    "norm": lambda x: cnp.linalg.norm(cnp.ravel(x)) ** 2,
    "sums of sums": lambda x: cnp.sum(cnp.sum(x * x, 0)) if x.ndim else cnp.sum(x * x),
    "ravel_pytree": lambda x: cnp.sum(ravel_pytree({"a": x})[0] ** 2),
}


@pytest.mark.parametrize("spelling", SUMS_OF_SQUARES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_of_squares(spelling, shape):
    f = SUMS_OF_SQUARES[spelling]
    x = RNG.normal(size=shape)
    np.testing.assert_allclose(ct.jit(f)(x), np.sum(x * x), rtol=1e-12)
    np.testing.assert_allclose(ct.jit(ct.grad(f))(x), 2 * x, rtol=1e-12)
    batch = RNG.normal(size=(2, *shape))
    expected = np.sum((batch * batch).reshape(2, -1), 1)
    np.testing.assert_allclose(ct.jit(ct.vmap(f))(batch), expected, rtol=1e-12)


@pytest.mark.parametrize("spelling", ["sum", "vdot", "einsum of indices", "tensordot", "norm", "ravel_pytree"])
def test_norms_of_per_example_gradients_need_no_gradients_in_memory(spelling):
    x, w, y = (RNG.normal(size=shape).astype(np.float32) for shape in [(16, 40), (40, 30), (16, 30)])

    def norms(w, x, y):
        gradients = ct.vmap(ct.grad(lambda w, x, y: cnp.sum(x @ w * y)), (None, 0, 0))(w, x, y)
        return ct.vmap(SUMS_OF_SQUARES[spelling])(gradients)

    np.testing.assert_allclose(ct.jit(norms)(w, x, y), np.sum(x * x, 1) * np.sum(y * y, 1), rtol=1e-5)
    stored = ct.explain(norms)(w, x, y).stored
    assert max(variable.bytes for variable in stored) < 4 * 16 * 40 * 30, "per-example gradients lie in memory"


PIECES = [RNG.normal(size=(2, n)) for n in (3, 0, 5, 1)]


@pytest.mark.parametrize("fold", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("axis", [0, 1, (0, 1)], ids=str)
def test_folds_of_pieces(fold, axis):
    whole = np.concatenate(PIECES, 1)
    other = RNG.normal(size=whole.shape)

    def f(pieces, other):
        together = cnp.concatenate(pieces, 1)
        return getattr(cnp, fold)(cnp.tanh(together) * other + together, axis)

    expected = getattr(np, fold)(np.tanh(whole) * other + whole, axis)
    np.testing.assert_allclose(ct.jit(f)(PIECES, other), expected, rtol=1e-12)
    stored = ct.explain(f)(PIECES, other).stored
    assert all(variable.bytes <= 8 * np.size(expected) for variable in stored), "pieces are put together in memory"


def test_many_pieces():
    pieces = [RNG.normal(size=(n,)).astype(np.float32) for n in range(1, 120)]
    whole = np.concatenate(pieces)
    norm = ct.jit(lambda *pieces: cnp.linalg.norm(cnp.concatenate(pieces)))
    np.testing.assert_allclose(norm(*pieces), np.linalg.norm(whole), rtol=1e-5)
    gradients = ct.jit(ct.grad(lambda pieces: cnp.linalg.norm(cnp.concatenate(pieces))))(pieces)
    for gradient, piece in zip(gradients, pieces, strict=True):
        np.testing.assert_allclose(gradient, piece / np.linalg.norm(whole), rtol=1e-5)


def test_slices_of_pieces():
    x, y, w = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 2)), RNG.normal(size=(7, 2))

    def f(x, y, w):
        both = cnp.concatenate([x, y]) * w
        return both[:3], both[3:7:2, ::-1], both[2:4], both[4]

    both = np.concatenate([x, y]) * w
    for result, expected in zip(ct.jit(f)(x, y, w), (both[:3], both[3:7:2, ::-1], both[2:4], both[4]), strict=True):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "int8", "uint32"])
def test_inner_products_of_every_type(dtype):
    x = ct.numpy.asarray(RNG.integers(0, 11, size=(3, 50))).astype(dtype)
    y = ct.numpy.asarray(RNG.integers(0, 11, size=(3, 50))).astype(dtype)
    expected = np.sum(np.asarray(x).astype(complex) * np.asarray(y).astype(complex), 1)
    result = ct.jit(ct.vmap(cnp.vdot))(x, y)
    assert result.dtype == x.dtype
    wrapped = expected.real.astype(np.int64).astype(dtype) if dtype in ("int8", "uint32") else expected
    np.testing.assert_allclose(np.asarray(result).astype(complex), wrapped, rtol=1e-2 if "16" in dtype else 1e-6)


@pytest.mark.parametrize("subscripts", ["b,bij->ij", "b,bij->ji", "ab,bij->jia", "ab,bij->iaj", "ab,bij->aij"])
@pytest.mark.parametrize("rows", [1, 2, 64])
def test_products_with_transposed_results(subscripts, rows):
    s, g = RNG.normal(size=(rows, 6)).astype(np.float32), RNG.normal(size=(6, 40, 24)).astype(np.float32)
    if subscripts[0] == "b":
        s = s[0]
    result = ct.jit(lambda s, g: cnp.einsum(subscripts, s, g))(s, g)
    np.testing.assert_allclose(result, np.einsum(subscripts, s, g), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 8, 64])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 1, 3, 2), (0, 3, 2, 1), (3, 0, 1, 2), (2, 3, 1, 0)], ids=str)
def test_products_with_transposed_operands(order, rows):
    s, g = RNG.normal(size=(rows, 5, 6)).astype(np.float32), RNG.normal(size=(5, 6, 20, 12)).astype(np.float32)
    axes = ([1, 2], [order.index(0), order.index(1)])
    result = ct.jit(lambda s, g: cnp.tensordot(s, cnp.transpose(g, order), axes))(s, g)
    np.testing.assert_allclose(result, np.tensordot(s, np.transpose(g, order), axes), rtol=1e-4, atol=1e-5)
    swapped = ct.jit(lambda s, g: cnp.tensordot(cnp.transpose(g, order), s, axes[::-1]))(s, g)
    np.testing.assert_allclose(swapped, np.tensordot(np.transpose(g, order), s, axes[::-1]), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("names_devices")  # loops as the processor has them
@pytest.mark.parametrize("rows", [1, 8])
def test_products_do_not_read_across_the_order_of_their_operand(rows):
    s, g = np.ones((rows, 32), np.float32), np.ones((32, 64, 32), np.float32)
    for f in (
        lambda s, g: cnp.tensordot(s, cnp.transpose(g, (0, 2, 1)), 1),
        lambda s, g: cnp.swapaxes(cnp.tensordot(s, g, 1), 1, 2),
    ):
        assert f"gemm {rows}x2048x32" in ct.explain(f)(s, g).loops


@pytest.mark.usefixtures("names_devices")  # loops as the processor has them
def test_products_of_few_rows_read_their_operand_in_order():
    s, g = np.ones(32, np.float32), np.ones((32, 64, 128), np.float32)
    explanation = ct.explain(lambda s, g: cnp.einsum("b,bij->ji", s, g))(s, g)
    assert "gemm 1x8192x32" in explanation.loops


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "bool"])
@pytest.mark.parametrize("length", [10, 300_001])
def test_what_is_only_handed_on_is_copied_whole(dtype, length):
    x, y = (RNG.integers(0, 2, size=length).astype(dtype) for _ in range(2))
    swapped = ct.jit(lambda x, y: (y, x, cnp.concatenate([x, y]), cnp.zeros_like(x), cnp.ones_like(y)))(x, y)
    expected = (y, x, np.concatenate([x, y]), np.zeros_like(x), np.ones_like(y))
    for result, value in zip(swapped, expected, strict=True):
        np.testing.assert_array_equal(result, value)
        assert result.dtype == value.dtype


@pytest.mark.usefixtures("names_devices")  # loops as the processor has them
def test_long_copies_are_loops_that_threads_share():
    x = np.ones(300_000, np.float32)
    loops = ct.explain(lambda x: (x, x + 1))(x).loops
    assert "copy" not in loops and loops.count("parallel") == 2


ROWS, COLUMNS = 40, 6
STACKS = {
    "concatenate": lambda xp, x: xp.concatenate([x[i : i + 1] for i in range(ROWS)]),
    "hstack": lambda xp, x: xp.hstack([x[i] for i in range(ROWS)]),
    "vstack": lambda xp, x: xp.vstack([x[i] for i in range(ROWS)]),
    "column_stack": lambda xp, x: xp.column_stack([x[i] for i in range(ROWS)]),
    "dstack": lambda xp, x: xp.dstack([x[i] for i in range(ROWS)]),
    "stack": lambda xp, x: xp.stack([x[i] for i in range(ROWS)], 1),
    "unstack": lambda xp, x: xp.stack(xp.unstack(x)) if xp is cnp else np.stack(list(x)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.complex128], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("spelling", STACKS)
def test_stacks_of_rows_are_the_array(spelling, dtype):
    def random(shape):
        return (RNG.normal(size=shape) + (1j * RNG.normal(size=shape) if dtype is np.complex128 else 0)).astype(dtype)

    x = random((ROWS, COLUMNS))
    expected = STACKS[spelling](np, x)
    cotangent = random(expected.shape)
    stack = ct.jit(lambda x: STACKS[spelling](cnp, x))
    np.testing.assert_array_equal(stack(x), expected)

    def pullback(x, cotangent):
        return ct.vjp(lambda x: STACKS[spelling](cnp, x), x)[1](cotangent)[0]

    positions = STACKS[spelling](np, np.arange(x.size).reshape(x.shape))
    gradient = np.empty_like(x)
    gradient.ravel()[positions.ravel()] = cotangent.ravel()
    np.testing.assert_array_equal(ct.jit(pullback)(x, cotangent), gradient)
    for explained in [ct.explain(lambda x: STACKS[spelling](cnp, x))(x), ct.explain(pullback)(x, cotangent)]:
        assert explained.loops.count("for ") <= 8, "rows are copied one by one"


def test_a_gradient_of_slices_keeps_numbers_that_are_not_finite():
    cotangent = np.array([np.inf, -np.inf, np.nan, 1.0, -2.0, 0.0])

    def pullback(x, cotangent):
        return ct.vjp(lambda x: cnp.concatenate([x[4:], x[1:3], x[:1], x[3:4]]), x)[1](cotangent)[0]

    result = ct.jit(pullback)(np.zeros(6), cotangent)
    np.testing.assert_array_equal(result, cotangent[[4, 2, 3, 5, 0, 1]])


def test_windows_that_meet_are_summed():
    x, kernel = RNG.normal(size=50), RNG.normal(size=4)

    def f(x):
        return cnp.concatenate([cnp.dot(x[i : i + 4], kernel)[None] for i in range(47)])

    cotangent = RNG.normal(size=47)
    gradient = ct.jit(lambda x, cotangent: ct.vjp(f, x)[1](cotangent)[0])(x, cotangent)
    np.testing.assert_allclose(gradient, np.convolve(cotangent, kernel), rtol=1e-12)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("places", [2, -1, [1, 2], [3, 0], slice(0, 2), []], ids=str)
def test_insertions_and_deletions_at_known_places_are_slices(places, axis):
    x = RNG.normal(size=(4, 5))
    weights = RNG.normal(size=40)
    for function, oracle in [
        (lambda x: cnp.insert(x, places, 7.0, axis), lambda x: np.insert(x, places, 7.0, axis)),
        (lambda x: cnp.delete(x, places, axis), lambda x: np.delete(x, places, axis)),
    ]:
        np.testing.assert_array_equal(ct.jit(function)(x), oracle(x))
        # By an element's number in `x`: what it is multiplied with.
        numbers = oracle(np.arange(1.0, 21).reshape(4, 5)).ravel()
        numbers = np.where(oracle(np.zeros((4, 5))).ravel() == 7, 0, numbers).astype(int)
        expected = np.bincount(numbers, weights[: len(numbers)], minlength=21)[1:].reshape(4, 5)

        def loss(x, function=function):
            result = cnp.ravel(function(x))
            return cnp.sum(result * weights[: result.shape[0]])

        np.testing.assert_allclose(ct.jit(ct.grad(loss))(x), expected)
        for program in (function, ct.grad(loss)):
            text = str(ct.make_ir(program)(x))
            assert not any(name in text for name in ("gather", "scatter", "sort"))


PARTS = {
    "trace": lambda xp, p: xp.trace(p, 1),
    "diagonal": lambda xp, p: xp.diagonal(p, -2),
    "diag of the transposed": lambda xp, p: xp.diag(p.T, 3),
    "an element": lambda xp, p: p[1, 2],
    "elements": lambda xp, p: p[xp.asarray([0, 7, 3]), xp.asarray([8, 0, 3])],
    "a row": lambda xp, p: p[3],
    "gathered columns": lambda xp, p: p[:, xp.asarray([[1], [7]])],
    "a part with a stride": lambda xp, p: p[1::5, 6:2:-2],
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "int8", "uint32"])
@pytest.mark.parametrize("part", PARTS)
def test_small_parts_of_a_product_need_no_whole_product(part, dtype):
    a, b = (RNG.integers(0, 9, size=size) for size in [(11, 50), (50, 9)])
    f = PARTS[part]
    result = ct.jit(lambda a, b: f(cnp, a @ b))(cnp.asarray(a, dtype), cnp.asarray(b, dtype))
    product = a @ b
    expected = f(np, product.astype(dtype) if "int" in dtype else product)
    np.testing.assert_allclose(np.asarray(result).astype(complex), expected, rtol=1e-2 if "16" in dtype else 1e-6)
    if part != "trace":
        assert result.dtype == dtype
    assert "[11,9]" not in str(ct.explain(lambda a, b: f(cnp, a @ b))(a, b)), "the whole product is computed"


@pytest.mark.parametrize("part", ["trace", "an element", "elements", "a row", "gathered columns"])
@pytest.mark.parametrize("in_axes", [(0, 0), (1, None), (None, 2)], ids=str)
def test_small_parts_of_products_of_a_batch(part, in_axes):
    a = RNG.normal(size=(11, 6) if in_axes[0] is None else (4, 11, 6))
    b = RNG.normal(size=(6, 9) if in_axes[1] is None else (4, 6, 9))
    f = PARTS[part]
    matrices = np.broadcast_to(a @ b, (4, 11, 9))
    a, b = (x if axis is None else np.moveaxis(x, 0, axis) for x, axis in zip((a, b), in_axes, strict=True))
    mapped = ct.vmap(lambda a, b: f(cnp, a @ b), in_axes)
    np.testing.assert_allclose(ct.jit(mapped)(a, b), np.stack([f(np, p) for p in matrices]), rtol=1e-10)
    plain = ct.grad(lambda a, b: cnp.sum(cnp.sin(mapped(a, b))), (0, 1))
    for gradient, expected in zip(ct.jit(plain)(a, b), plain(cnp.asarray(a), cnp.asarray(b)), strict=True):
        np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-12)


def test_diagonals_of_products_over_any_axes():
    a, b = RNG.normal(size=(3, 4, 5, 6)), RNG.normal(size=(3, 6, 5, 2))
    product = np.einsum("baij,bjkc->baikc", a, b)
    for axes in itertools.permutations(range(5), 2):
        for offset in (0, 1, -2):
            diagonal = ct.jit(lambda a, b, o=offset, t=axes: cnp.diagonal(cnp.einsum("baij,bjkc->baikc", a, b), o, *t))
            np.testing.assert_allclose(diagonal(a, b), np.diagonal(product, offset, *axes), rtol=1e-9, atol=1e-12)


def test_parts_of_products_keep_numbers_that_are_not_finite_where_they_are():
    a, b = np.ones((12, 5)), np.ones((5, 12))
    a[0, 0], b[3, 2], a[4, 4] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        product = a @ b
    indices = np.array([0, 4, 13, -14])
    for f in (
        lambda xp, p: xp.diagonal(p),
        lambda xp, p: p[3:5, 1:4],
        lambda xp, p: p[4],
        lambda xp, p: xp.take(p, indices[:2], 1),
    ):
        np.testing.assert_array_equal(ct.jit(lambda a, b, f=f: f(cnp, a @ b))(a, b), f(np, product))
    # What lies outside is filled, whatever it would have been multiplied with.
    filled = ct.jit(lambda a, b, i: cnp.take(a @ b, i, 0, mode="fill", fill_value=0.0))(a, b, indices)
    np.testing.assert_array_equal(filled, np.concatenate([product[[0, 4]], np.zeros((2, 12))]))


@pytest.mark.usefixtures("names_devices")  # loops as the processor has them
def test_a_product_that_is_needed_as_a_whole_is_computed_once():
    a, b = np.ones((64, 32), np.float32), np.ones((32, 64), np.float32)
    for f in (
        lambda a, b: (a @ b, cnp.trace(a @ b)),
        lambda a, b: cnp.split(a @ b, 8, 1),
        lambda a, b: (lambda p: (p[0], cnp.diag(p)))(a @ b),
    ):
        assert ct.explain(f)(a, b).loops.count("gemm") == 1


@pytest.mark.parametrize("shape", [(32, 65536), (33, 40, 130), (35, 1031), (1000, 100)], ids=str)
def test_weighted_sums_of_rows_go_row_by_row(shape):
    s, g = (RNG.normal(size=size).astype(np.float32) for size in [shape[:1], shape])
    weights = s.reshape(-1, *[1] * (len(shape) - 1))
    total = ct.jit(lambda s, g: cnp.sum(s * g, 0))
    np.testing.assert_allclose(total(weights, g), np.sum(weights.astype(float) * g, 0), rtol=1e-4, atol=1e-4)
    loops = ct.explain(lambda s, g: cnp.sum(s * g, 0))(weights, g).loops
    assert "carry" not in loops.split("store", 1)[0], "each sum goes down a column of the array"
