"""What becomes of matrix products: how operands are stored, how long sums are cut, and that results do not depend on either."""

from __future__ import annotations

import re
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def loops_of(function: Any, *arguments: Any) -> str:
    """As the processor has them, whatever device the tests run on."""
    with ct.default_device("cpu"):
        return ct.explain(function)(*arguments).loops


def products(function: Any, *arguments: Any) -> list[str]:
    """The sizes of the products of a program, as rows x columns x steps."""
    return re.findall(r"gemm (\d+x\d+x\d+)", loops_of(function, *arguments))


def convolve(padding: Any) -> Any:
    return lambda x, w: ct.lax.conv_general_dilated(x, w, (1, 1), padding)


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (0, 1)]])
def test_a_convolution_is_one_product_an_image(padding: Any) -> None:
    x, w = normal(2, 3, 12, 12), normal(8, 3, 3, 3, seed=1)
    places = int(np.prod(convolve(padding)(x, w).shape[2:]))
    assert products(convolve(padding), x, w) == [f"{places}x8x27"]
    gradients = products(ct.grad(lambda x, w: cnp.sum(convolve(padding)(x, w) ** 2), (0, 1)), x, w)
    assert sorted(gradients) == sorted([f"{places}x8x27", f"8x27x{places}", f"{places}x27x8"])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_convolution_with_features_last_is_one_product_without_transposes(padding: Any) -> None:
    def apply(x: Any, w: Any) -> Any:
        return ct.lax.conv_general_dilated(x, w, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    x, w = normal(2, 12, 12, 3), normal(3, 3, 3, 8, seed=1)
    places = int(np.prod(apply(x, w).shape[1:3]))
    assert products(apply, x, w) == [f"{2 * places}x8x27"]
    expected = np.moveaxis(np.asarray(convolve(padding)(np.moveaxis(x, 3, 1), np.transpose(w, (3, 2, 0, 1)))), 1, 3)
    np.testing.assert_allclose(apply(x, w), expected, rtol=1e-4, atol=1e-4)


def test_a_convolution_along_one_axis_stores_no_windows() -> None:
    x, y = normal(5000), normal(100, seed=1)
    report = ct.explain(cnp.convolve)(x, y)
    assert report.scratch_bytes < 2**16
    np.testing.assert_allclose(cnp.convolve(x, y), np.convolve(x.astype(float), y), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("mode", "rows"), [("full", 599), ("same", 400), ("valid", 201)])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions_make_only_the_rows_of_their_mode(name: str, mode: str, rows: int) -> None:
    x, y = normal(400), normal(200, seed=1)
    assert products(lambda x, y: getattr(cnp, name)(x, y, mode), x, y) == [f"{rows}x1x200"]


# In mode "full" and for kernels much shorter than the array the derivative is a product, but for its ends in other modes.
@pytest.mark.parametrize(
    ("mode", "sizes", "expected"),
    [
        ("full", (400, 200), ["400x1x200"]),
        ("full", (400, 400), ["400x1x400"]),
        ("same", (400, 100), ["301x1x100"]),
        ("valid", (400, 100), ["202x1x100"]),
        ("valid", (400, 390), ["1x380x11"]),
    ],
)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_derivatives_of_convolutions_are_products(
    name: str, mode: str, sizes: tuple[int, int], expected: list[str]
) -> None:
    def loss(x: Any, y: Any) -> Any:
        result = getattr(cnp, name)(x, y, mode)
        return cnp.sum(result * (1 + np.arange(result.shape[0]) % 7))

    x, y = normal(sizes[0]), normal(sizes[1], seed=1)
    assert products(ct.grad(loss), x, y) == expected
    count = len(getattr(np, name)(x, y, mode))
    basis = np.array([getattr(np, name)(row, y, mode) for row in np.eye(sizes[0])])
    np.testing.assert_allclose(ct.jit(ct.grad(loss))(x, y), basis @ (1 + np.arange(count) % 7), rtol=1e-3, atol=1e-3)
    batch = normal(3, sizes[0], seed=2)
    each = [ct.grad(loss)(row, y) for row in batch]
    np.testing.assert_allclose(ct.jit(ct.vmap(ct.grad(loss), (0, None)))(batch, y), each, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("place", [0, 5, 15])
@pytest.mark.parametrize("sizes", [(60, 16), (20, 16)])
def test_what_a_window_does_not_see_does_not_reach_a_derivative(mode: str, place: int, sizes: tuple[int, int]) -> None:
    """An infinite element of the kernel reaches the elements that it is multiplied with, and no others."""
    x, y = np.ones(sizes[0], np.float32), np.ones(sizes[1], np.float32)
    y[place] = np.inf
    marked = np.array([np.convolve(row, np.isinf(y), mode) for row in np.eye(sizes[0])]).sum(1)
    finite = np.array([np.convolve(row, np.isfinite(y), mode) for row in np.eye(sizes[0])]).sum(1)
    got = ct.jit(ct.grad(lambda x, y: cnp.sum(cnp.convolve(x, y, mode))))(x, y)
    np.testing.assert_allclose(got, np.where(marked > 0, np.inf, finite), rtol=1e-5)


@pytest.mark.parametrize("shape", [(16, 27, 32768), (4, 5, 2**20), (1, 16, 2**21), (31, 33, 100003)])
@pytest.mark.parametrize("along", [True, False])
def test_long_sums_of_few_results(shape: tuple[int, int, int], along: bool) -> None:
    m, n, k = shape
    a, b = normal(m, k) if along else normal(k, m), normal(n, k, seed=1) if along else normal(k, n, seed=1)
    spec = "mk,nk->mn" if along else "km,kn->mn"
    one, two = (np.asarray(ct.jit(lambda a, b: cnp.einsum(spec, a, b), threads=t)(a, b)) for t in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(
        one, np.einsum(spec, a.astype(float), b, optimize=True), atol=2e-5 * np.sqrt(k), rtol=1e-4
    )


@pytest.mark.parametrize("sums", [1, 3])
def test_products_of_two_factors_along_the_sum(sums: int) -> None:
    """Dot products by tiles, with and without loops around them, of every remainder."""
    for m, n, k in [(2, 3, 64), (5, 7, 77), (9, 4, 260), (17, 25, 1023)]:
        a, b = normal(sums, m, k).astype(np.float64), normal(sums, n, k, seed=1).astype(np.float64)
        for dtype, tolerance in [(np.float32, 1e-5), (np.float64, 1e-13)]:
            x, y = cnp.asarray(a.astype(dtype)), cnp.asarray(b.astype(dtype))
            for spec in ["smk,snk->mn", "smk,snk->nm", "smk,snk->smn"]:
                got = ct.jit(lambda x, y, spec=spec: cnp.einsum(spec, x, y))(x, y)
                want = np.einsum(spec, np.asarray(x, np.float64), np.asarray(y, np.float64))
                np.testing.assert_allclose(got, want, atol=tolerance * k**0.5 * 4, rtol=tolerance)


# Few rows, whose b is not packed: at all strides, and with its rows a power of two apart; the first with more rows; blocks of k.
@pytest.mark.parametrize(
    "shape", [(40, 200, 300), (100, 1024, 1024), (192, 513, 130), (193, 513, 130), (33, 3000, 96), (9, 4097, 257)]
)
@pytest.mark.parametrize("layout", ["mk,kn", "km,kn", "mk,nk", "km,nk"])
def test_products_of_few_rows(shape: tuple[int, int, int], layout: str) -> None:
    sizes = dict(zip("mkn", shape, strict=True))
    a, b = (normal(*(sizes[axis] for axis in operand), seed=seed) for seed, operand in enumerate(layout.split(",")))
    one, two = (np.asarray(ct.jit(lambda a, b: cnp.einsum(layout + "->mn", a, b), threads=t)(a, b)) for t in (1, 2))
    np.testing.assert_array_equal(one, two)
    expected = np.einsum(layout + "->mn", a.astype(float), b, optimize=True)
    np.testing.assert_allclose(one, expected, atol=2e-5 * np.sqrt(shape[1]), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("rows", "steps", "columns"), [(601, 1301, 131), (997, 600, 257), (600, 1200, 65), (2000, 700, 64)]
)
def test_the_transpose_of_a_large_matrix_is_multiplied_with(rows: int, steps: int, columns: int, dtype: str) -> None:
    a, b = normal(steps, rows).astype(dtype), normal(steps, columns, seed=1).astype(dtype)
    expected = a.T.astype(np.float64) @ b.astype(np.float64)
    # Terms added one after the other, as a thread of a GPU does, are off by up to 57 of these.
    tolerance = 60 * np.sqrt(steps) * np.finfo(dtype).eps
    np.testing.assert_allclose(ct.jit(lambda a, b: a.T @ b)(a, b), expected, rtol=0, atol=tolerance)
    added = ct.jit(lambda a, b: (b.T @ a).T + 1)(a, b)
    np.testing.assert_allclose(added, expected + 1, rtol=0, atol=tolerance)
    # A row of ones that is nowhere stored: all of its places are one.
    ones = ct.jit(lambda b: cnp.ones((steps, rows), dtype).T @ b)(b)
    np.testing.assert_allclose(
        ones, np.broadcast_to(b.sum(0, dtype=np.float64), (rows, columns)), rtol=0, atol=tolerance
    )


# Sizes of complex products from which on they are products of real matrices, and below.
COMPLEX_SIZES = [(3, 5, 7), (3, 40, 40), (4, 300, 9), (300, 5, 33), (17, 19, 23), (64, 64, 64), (201, 37, 301)]


def complex_normal(*shape: int, dtype: str = "complex64", seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def assert_near(result: Any, expected: np.ndarray, steps: int) -> None:
    result = np.asarray(result)
    assert result.shape == expected.shape
    bound = np.sqrt(steps) * 64 * np.finfo(result.dtype).eps
    np.testing.assert_allclose(result, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("m", "n", "k"), COMPLEX_SIZES)
def test_complex_products_of_every_layout(m: int, n: int, k: int, dtype: str) -> None:
    for layout in range(8):

        def f(a: Any, b: Any, layout: int = layout) -> Any:
            product = (a.T if layout & 1 else a) @ (b.conj().T if layout & 2 else b)
            return product.T if layout & 4 else product

        a = complex_normal(*((k, m) if layout & 1 else (m, k)), dtype=dtype)
        b = complex_normal(*((n, k) if layout & 2 else (k, n)), dtype=dtype, seed=1)
        # In more digits: an error of the reference is no error here.
        assert_near(ct.jit(f)(a, b), f(a.astype("clongdouble"), b.astype("clongdouble")), k)


def test_large_complex_products_are_products_of_matrices() -> None:
    a, b = complex_normal(40, 30), complex_normal(30, 20, seed=1)
    assert products(lambda a, b: a @ b, a, b) == ["40x20x30"]
    assert products(lambda a, b: a @ b, a[:3], b) == []
    # Parts are read where they are: nothing of the size of an operand is stored.
    large = complex_normal(500, 500)
    assert ct.explain(lambda a, b: a @ b)(large, large).scratch_bytes < 3 * large.nbytes


@pytest.mark.parametrize(
    "subscripts",
    ["bij,bjk->bik", "bij,jk->bik", "ij,bjk->bki", "bij,bkj->bik", "bji,bjk->ibk", "ibj,jck->bick", "abij,abjk->ik"],
)
def test_complex_products_of_batches(subscripts: str) -> None:
    sizes = dict(zip("abcijk", (2, 3, 4, 19, 21, 27), strict=True))
    a, b = (
        complex_normal(*[sizes[x] for x in axes], seed=i) for i, axes in enumerate(subscripts.split("->")[0].split(","))
    )
    expected = np.einsum(subscripts, a.astype("complex128"), b.astype("complex128"))
    assert_near(ct.jit(lambda a, b: cnp.einsum(subscripts, a, b))(a, b), expected, 6 * 27)


def test_views_of_complex_matrices_are_multiplied_where_they_are() -> None:
    a, b = complex_normal(90, 80), complex_normal(80, 70, seed=1)
    wide = [x.astype("complex128") for x in (a, b)]

    def sliced(a: Any, b: Any) -> Any:
        return a[1::2, 3:70:2] @ b[5:73:2, ::3]

    def turned(a: Any, b: Any) -> Any:
        return a[::-1, ::-1] @ b[::-1]

    for f in (sliced, turned):
        assert_near(ct.jit(f)(a, b), f(*wide), 80)


def test_complex_products_of_what_is_not_finite_are_as_their_parts() -> None:
    for m, n in ((2, 2), (40, 40)):  # a loop, and a product of real matrices
        a, b = complex_normal(m, 9), complex_normal(9, n, seed=1)
        a[0, 3], a[1, 2], b[4, 1] = np.nan, np.inf, complex(0, -np.inf)
        with np.errstate(invalid="ignore"):
            real, imaginary = a.real @ b.real - a.imag @ b.imag, a.real @ b.imag + a.imag @ b.real
        result = np.asarray(ct.jit(lambda a, b: a @ b)(a, b))
        assert (np.isnan(result.real) == np.isnan(real)).all()
        assert (np.isnan(result.imag) == np.isnan(imaginary)).all()
        assert (np.isinf(result.real) == np.isinf(real)).all()
        assert np.isfinite(result[2:, 2:]).all()


def test_gradients_of_complex_products() -> None:
    a, b = complex_normal(33, 21, dtype="complex128"), complex_normal(21, 27, dtype="complex128", seed=1)
    weights = complex_normal(33, 27, dtype="complex128", seed=2)
    of_a, of_b = ct.jit(ct.grad(lambda a, b: cnp.sum(cnp.real(weights * (a @ b))), (0, 1)))(a, b)
    np.testing.assert_allclose(of_a, weights @ b.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(of_b, a.T @ weights, rtol=0, atol=1e-12)
    doubled = ct.jit(ct.jvp, static_argnums=0)(lambda a: a @ b, (a,), (a,))[1]
    np.testing.assert_allclose(doubled, a @ b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.int32])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [1, 2, 6, 16, 17])
def test_products_with_stacks(dtype: type, axis: int, count: int) -> None:
    """A vector times a stack, which is not stacked where its arrays are few: values, both derivatives, and batches of either."""
    rng = np.random.default_rng(count)
    x = (rng.integers(-4, 5, (3, 5)) / 2).astype(dtype)
    v = rng.integers(-4, 5, count).astype(dtype)

    def of(x, v, numpy=cnp):
        return numpy.tensordot(numpy.stack([x * i for i in range(count)], axis), v, (axis, 0))

    jitted = ct.jit(of)
    np.testing.assert_array_equal(np.asarray(jitted(x, v)), of(x, v, np).astype(dtype))
    assert jitted(x, v).dtype == dtype
    swapped = ct.jit(lambda x, v: cnp.tensordot(v, cnp.stack([x * i for i in range(count)], axis), (0, axis)))
    np.testing.assert_array_equal(np.asarray(swapped(x, v)), of(x, v, np).astype(dtype))
    many, several = np.stack([x, x + dtype(1), x * dtype(2)]), np.stack([v, v, v * dtype(2)])
    for arguments, axes in [((many, v), (0, None)), ((x, several), (None, 0)), ((many, several), (0, 0))]:
        for i, row in enumerate(np.asarray(ct.jit(ct.vmap(of, axes))(*arguments))):
            one = [argument if axis is None else argument[i] for argument, axis in zip(arguments, axes, strict=True)]
            np.testing.assert_array_equal(row, of(*one, np).astype(dtype))
    if np.issubdtype(dtype, np.floating):
        by_x, by_v = ct.jit(ct.grad(lambda x, v: cnp.sum(of(x, v) * x), (0, 1)))(x, v)
        tolerance = 1e-2 if dtype == np.float16 else 1e-6
        stack = np.stack([x * i for i in range(count)])
        np.testing.assert_allclose(np.asarray(by_v), np.einsum("kij,ij->k", stack.astype(float), x), rtol=tolerance)
        np.testing.assert_allclose(
            np.asarray(by_x),
            2 * x * np.dot(np.arange(count), v.astype(float)),
            rtol=tolerance,
        )


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sums_over_several_axes_are_not_rounded_in_between(dtype: str) -> None:
    """Where two axes are no run in both operands, one product is added up for each index of one of them."""
    x, y = np.asarray(cnp.ones((16, 50, 50), dtype)), np.asarray(cnp.ones((50, 50, 16), dtype))
    product = ct.jit(lambda x, y: cnp.einsum("ijk,kjl->il", x, y))
    assert re.search(r"gemm .* \+= ", loops_of(product, x, y))
    assert (np.asarray(product(x, y)).astype(np.float64) == {"bfloat16": 2496, "float16": 2500}[dtype]).all()
