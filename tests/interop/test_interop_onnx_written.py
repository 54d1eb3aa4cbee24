"""What is written as several operators of ONNX: onnxruntime computes the same values, and so does what is read back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from test_interop_onnx import agree, computed, onnx

interop = ct.interop.onnx
RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 5)).astype(np.float32)
U = RNG.normal(size=(6, 5)).astype(np.float32)
CUBE = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
LINE = RNG.normal(size=(2, 3, 9)).astype(np.float32)
IMAGE = RNG.normal(size=(2, 4, 7, 8)).astype(np.float32)
SOLID = RNG.normal(size=(1, 2, 5, 6, 4)).astype(np.float32)
ROWS = np.array([0, 2, 0, -1, 2, 0], np.int32)
FAR = np.array([0, 9, 0, -1, 2, -9], np.int32)
NANS = np.array([[3, np.nan, -np.inf, 1, -0.0], [np.inf, 2, 0.0, np.nan, -3]], np.float32)
MANY = np.array([[3, 1, 3, 1, 2], [0, 0, 0, -5, 7]], np.int32)

Program = Callable[..., Any]
CASES: dict[str, tuple[Any, ...]] = {}


def case(name: str, program: Program, *arrays: Any) -> None:
    CASES[name] = (program, *arrays)


def check(program: Program, *arrays: Any, rtol: float = 2e-5) -> None:
    """Against the function: what onnxruntime computes, and what is read back, jitted and not."""
    model = interop.export(program, *arrays)
    onnx.checker.check_model(model, full_check=True)
    expected = ct.tree.leaves(program(*map(cnp.asarray, arrays)))
    agree(computed(model, *arrays), expected, rtol)
    back = interop.load(model)
    agree(ct.tree.leaves(back(*arrays)), expected, rtol)
    agree(ct.tree.leaves(ct.jit(back)(*arrays)), expected, rtol)


# ---- Scatter and gather ----------------------------------------------------------------------------------------------

for kind in ("add", "multiply", "min", "max", "set"):

    def scattered(x: Any, at: Any, u: Any, kind: str = kind) -> Any:
        return getattr(x.at[at], kind)(u)

    case(f"scatter_{kind}", scattered, X, ROWS, U)
    case(f"scatter_{kind}_outside", scattered, X, FAR, U)
    case(f"scatter_{kind}_constant", lambda x, u, f=scattered: f(x, ROWS, u), X, U)
    case(f"scatter_{kind}_constant_outside", lambda x, u, f=scattered: f(x, FAR, u), X, U)
    case(f"scatter_{kind}_int", lambda x, at, u, f=scattered: f(x, at, u), MANY, np.array([1, 1, 0]), MANY[[0, 1, 0]])
    case(
        f"scatter_{kind}_second",
        lambda x, at, u, kind=kind: getattr(x.at[:, at], kind)(u),
        X,
        np.array([1, 1, 4, -1]),
        U[:4, :4],
    )
    case(f"scatter_{kind}_grid", lambda x, at, u, f=scattered: f(x, at, u), X, ROWS.reshape(2, 3), U.reshape(2, 3, 5))
    case(
        f"scatter_{kind}_vmap",
        ct.vmap(scattered),
        CUBE[0],
        RNG.integers(-5, 6, (3, 6)),
        np.tile(U, (3, 1, 1)) * np.arange(1, 4, dtype=np.float32)[:, None, None],
    )
    case(
        f"scatter_{kind}_vmap_second",
        ct.vmap(lambda x, at, u, kind=kind: getattr(x.at[:, at], kind)(u)),
        CUBE[0],
        RNG.integers(-5, 6, (3, 6)),
        RNG.normal(size=(3, 4, 6)).astype(np.float32),
    )
    case(
        f"scatter_{kind}_pairs",
        lambda x, i, j, u, kind=kind: getattr(x.at[i, j], kind)(u),
        X,
        np.array([0, 1, 0, -1]),
        np.array([2, 2, 2, 7]),
        U[0, :4],
    )
case("scatter_bool", lambda x, at: (x > 0).at[at].set(True), X, ROWS)
case("scatter_nothing", lambda x, u: x.at[np.zeros(0, int)].add(u), X, U[:0])
case("scatter_gradient", ct.grad(lambda x, at: (x[at] ** 2).sum()), X, ROWS)
case("scatter_half", lambda x, at, u: x.at[at].add(u), X.astype(np.float16), ROWS, U.astype(np.float16))
case("gather_outside", lambda x, at: x[at], X, FAR)
case("gather_fill", lambda x, at: cnp.take(x, at, 1, mode="fill", fill_value=7.0), X, FAR)
case("gather_clip", lambda x, at: cnp.take(x, at, 1, mode="clip"), X, FAR)
case("gather_wrap", lambda x, at: cnp.take(x, at, 1, mode="wrap"), X, FAR)
case("gather_grid", lambda x, at: x[:, at], CUBE, np.array([[0, 2], [-1, 1]]))
case("gather_vmap", ct.vmap(lambda x, at: x[at]), CUBE, RNG.integers(-4, 5, (2, 3)))
case("gather_vmap_second", ct.vmap(lambda x, at: x[:, at]), CUBE, RNG.integers(-4, 5, (2, 3, 2)))
case("gather_vmap_twice", ct.vmap(ct.vmap(lambda x, at: x[:, at])), CUBE, RNG.integers(-4, 5, (2, 3, 2)))
case("gather_pairs", lambda x, i, j: x[i, :, j], CUBE, np.array([0, 1, 5]), np.array([3, -1, 0]))
case("along", lambda x, at: cnp.take_along_axis(x, at, 1), X, RNG.integers(0, 5, (4, 2)))
case("gather_bool", lambda x, at: (x > 0)[at], X, FAR)

# ---- Slices ----------------------------------------------------------------------------------------------------------

for start in (-3, 0, 2, 9):
    at = np.int32(start)
    case(f"dynamic_slice_{start}", lambda x, i: ct.lax.dynamic_slice(x, (i, 1), (2, 3)), X, at)
    case(f"dynamic_update_{start}", lambda x, u, i: ct.lax.dynamic_update_slice(x, u, (i, i)), X, U[:2, :3], at)
case("dynamic_slice_row", lambda x, i: ct.lax.dynamic_index_in_dim(x, i, 1, keepdims=False), X, np.int64(3))
case(
    "dynamic_slice_vmap",
    ct.vmap(lambda x, i: ct.lax.dynamic_slice(x, (i, 0 * i), (2, 3))),
    CUBE[0],
    np.array([-1, 1, 7]),
)
case("dynamic_slice_vmap_starts", ct.vmap(lambda i: ct.lax.dynamic_slice(cnp.asarray(X), (i, i), (2, 3))), np.arange(4))
case(
    "dynamic_update_vmap",
    ct.vmap(lambda x, u, i: ct.lax.dynamic_update_slice(x, u, (i, i))),
    CUBE[0],
    CUBE[1, :, :2, :2],
    np.array([0, 3, 1]),
)
case("dynamic_slice_none", lambda x, i: ct.lax.dynamic_slice(x, (i, 0), (0, 3)), X, np.int32(1))
case("dynamic_gradient", ct.grad(lambda x, i: (ct.lax.dynamic_slice(x, (i, 1), (2, 3)) ** 2).sum()), X, np.int32(1))

# ---- Shifts ----------------------------------------------------------------------------------------------------------

for dtype in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
    bits = 8 * np.dtype(dtype).itemsize
    limits = np.iinfo(dtype)
    numbers = np.array([1, 3, 100, limits.max // 2 + 9 if dtype[0] == "u" else -7, limits.max, limits.min], dtype)
    by = np.array([0, 1, bits - 1, 2, 3, bits // 2], dtype)
    for shift in ("shift_left", "shift_right_logical", "shift_right_arithmetic"):
        case(f"{shift}_{dtype}", getattr(ct.lax, shift), numbers, by)
        if dtype in ("int32", "uint8"):
            past = np.array([bits, bits + 1, 2 * bits, bits, 120, bits], dtype)
            case(f"{shift}_{dtype}_past", getattr(ct.lax, shift), numbers, past)
    for count in ("population_count", "clz"):
        case(f"{count}_{dtype}", getattr(ct.lax, count), numbers)

# ---- Padding ---------------------------------------------------------------------------------------------------------

for name, amounts in {
    "interior": [(0, 0, 1), (1, 2, 2)],
    "negative": [(-1, 0, 0), (2, -2, 0)],
    "both": [(-1, 1, 2), (-2, -3, 1)],
    "none_left": [(-2, -2, 0), (0, 0, 0)],
    "past": [(-5, 3, 0), (1, 7, 0)],
    "past_the_end": [(3, -5, 0), (1, -7, 1)],
}.items():
    case(f"pad_{name}", lambda x, v, a=amounts: ct.lax.pad(x, v, a), X, np.float32(9))
case("pad_int", lambda x: ct.lax.pad(x, np.int32(-1), [(1, 0, 1), (-1, 1, 0)]), MANY)
case("pad_bool", lambda x: ct.lax.pad(x > 0, np.bool_(True), [(1, 0, 1), (-1, 1, 0)]), MANY)
case("pad_empty", lambda x: ct.lax.pad(x[:0], np.float32(2), [(1, 2, 1), (0, 0, 1)]), X)

# ---- Windows ---------------------------------------------------------------------------------------------------------

for kind, first in (("max", -np.inf), ("add", 0.0), ("min", np.inf)):
    for name, how in {
        "plain": ((1, 1, 2, 3), (1, 1, 1, 1), "VALID", {}),
        "strided": ((1, 1, 2, 3), (1, 1, 2, 2), "VALID", {}),
        "same": ((1, 1, 3, 3), (1, 1, 2, 1), "SAME", {}),
        "padded": ((1, 1, 3, 2), (1, 1, 1, 2), [(0, 0), (0, 0), (2, 1), (0, 1)], {}),
        "dilated": ((1, 1, 2, 3), (1, 1, 1, 2), "VALID", {"window_dilation": (1, 1, 3, 2)}),
        "spread": ((1, 1, 2, 3), (1, 1, 1, 1), "VALID", {"base_dilation": (1, 1, 2, 1)}),
        "channels": ((1, 2, 2, 2), (1, 2, 1, 1), "VALID", {}),
        "cut": ((1, 1, 2, 2), (1, 1, 1, 1), [(0, 0), (0, 0), (-1, 0), (0, -2)], {}),
    }.items():
        window, strides, padding, more = how
        case(
            f"reduce_window_{kind}_{name}",
            lambda x, k=kind, f=first, w=window, s=strides, p=padding, m=more: ct.lax.reduce_window(
                x, np.float32(f), getattr(ct.lax, k), w, s, p, **m
            ),
            IMAGE,
        )
case("reduce_window_int", lambda x: ct.lax.reduce_window(x, np.int32(0), ct.lax.add, (1, 3), (1, 1), "SAME"), MANY)
case(
    "reduce_window_gradient",
    ct.grad(
        lambda x: (
            ct.lax.reduce_window(x, np.float32(-np.inf), ct.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") ** 2
        ).sum()
    ),
    IMAGE,
)

for name, (image, rank) in {"1": (LINE, 1), "2": (IMAGE, 2), "3": (SOLID, 3)}.items():
    channels = image.shape[1]
    kernel = RNG.normal(size=(4, channels, *(3, 2, 2)[:rank])).astype(np.float32)
    for how, keywords in {
        "plain": {"padding": "VALID"},
        "same": {"padding": "SAME"},
        "strided": {"padding": "SAME", "window_strides": (2, 1, 2)[:rank]},
        "dilated": {"padding": [(2, 1)] * rank, "rhs_dilation": (2, 1, 2)[:rank]},
        "spread": {"padding": [(1, 1)] * rank, "lhs_dilation": (2, 3, 1)[:rank]},
        "cut": {"padding": [(-1, 2)] * rank},
        "grouped": {"padding": "SAME", "feature_group_count": channels},
        "batch_grouped": {"padding": "VALID", "batch_group_count": image.shape[0]},
    }.items():
        filters = kernel
        if how == "grouped":
            filters = np.ascontiguousarray(np.tile(kernel[:, :1], (channels // 2 or 1, *[1] * (rank + 1))))
            filters = RNG.normal(size=(2 * channels, 1, *kernel.shape[2:])).astype(np.float32)

        def convolved(x: Any, w: Any, keywords: Any = keywords, rank: int = rank) -> Any:
            return ct.lax.conv_general_dilated(x, w, **{"window_strides": (1,) * rank, **keywords})

        case(f"conv{name}_{how}", convolved, image, filters)
        case(
            f"conv{name}_{how}_gradients",
            ct.grad(lambda x, w, f=convolved: (f(x, w) ** 2).sum() / 50, argnums=(0, 1)),
            image,
            filters,
        )
    case(
        f"conv{name}_last",
        lambda x, w, rank=rank: ct.lax.conv_general_dilated(
            x,
            w,
            (1,) * rank,
            "SAME",
            dimension_numbers=(
                "NDHWC"[0] + "DHW"[3 - rank :] + "C",
                "DHW"[3 - rank :] + "IO",
                "N" + "DHW"[3 - rank :] + "C",
            ),
        ),
        np.moveaxis(image, 1, -1),
        np.moveaxis(kernel, (0, 1), (-1, -2)),
    )
case(
    "conv_vmap",
    ct.vmap(lambda x, w: ct.lax.conv(x, w, (1, 1), "SAME")),
    np.stack([IMAGE, -2 * IMAGE]),
    RNG.normal(size=(2, 3, 4, 2, 2)).astype(np.float32),
)
case("convolve", lambda a, b: cnp.convolve(a, b, "full"), X[0], U[0, :3])
case("conv_double", lambda x, w: ct.lax.conv(x, w, (1,), "SAME"), LINE.astype(np.float64), RNG.normal(size=(2, 3, 3)))

# ---- Orders ----------------------------------------------------------------------------------------------------------

SORT = ct._core.primitives["sort"]
case("sort_nan", lambda x: [cnp.sort(x, 1), cnp.argsort(x, 1)], NANS)
case("sort_nan_down", lambda x: list(SORT(x, MANY, axis=1, num_keys=1, descending=True)), NANS)
case("sort_ties", lambda x: [cnp.argsort(x, 1), cnp.argsort(x, 0)], MANY)
case("sort_ties_down", lambda x: [cnp.argsort(x, 1, descending=True), cnp.argsort(-x, 0)], MANY)
case("sort_keys", lambda x, y: ct.lax.sort([x, y, x + 1], num_keys=2), MANY, np.abs(NANS).astype(np.float32))
case("sort_keys_first", lambda x, y: ct.lax.sort([x, y, y], num_keys=2, dimension=0), MANY, NANS)
case("lexsort", lambda x, y: cnp.lexsort((y, x)), MANY[0], NANS[0])
for count in (0, 1, 3, 5):
    case(
        f"sort_count_{count}",
        lambda x, y, n=count: list(SORT(x, y, axis=1, num_keys=1, count=n)),
        NANS,
        MANY,
    )
    case(
        f"sort_keys_count_{count}",
        lambda x, y, n=count: list(SORT(x, y, axis=1, num_keys=2, count=n, descending=True)),
        MANY,
        NANS,
    )
case("top_k", lambda x: ct.lax.top_k(x, 2), X)
case("top_k_nan", lambda x: ct.lax.top_k(x, 3), NANS)
for dtype in ("int8", "uint8", "int16", "uint16", "uint32", "int64", "float16", "float64"):
    case(f"sort_{dtype}", lambda x: [cnp.sort(x), cnp.argsort(x)], np.array([3, 100, 7, 0, 100, 5]).astype(dtype))
case("sort_extremes", lambda x: cnp.argsort(x), np.array([np.iinfo(np.int64).min, 0, np.iinfo(np.int64).max, -1]))
case("sort_uint32_extremes", lambda x: cnp.argsort(x), np.array([2**32 - 1, 0, 2**31, 5], np.uint32))
case("sort_bool", lambda x: [cnp.sort(x > 0), cnp.argsort(x > 0)], X)
case("median", lambda x: [cnp.median(x, 1), cnp.quantile(x, 0.3, axis=0)], X)
case("searchsorted", lambda x, v: cnp.searchsorted(cnp.sort(x), v), X[0], U[0])
case("sort_gradient", ct.grad(lambda x: (cnp.sort(x, 1) * cnp.arange(5)).sum()), X)
case("sort_empty", lambda x: cnp.argsort(x[:0], 0), X)

# ---- Programs inside -------------------------------------------------------------------------------------------------

BRANCHES = [lambda x: x + 1, cnp.sin, lambda x: x * x, lambda x: x[::-1]]
for which in (-2, 0, 1, 2, 3, 8):
    case(f"switch_{which}", lambda i, x: ct.lax.switch(i, BRANCHES, x), np.int32(which), X)
case("switch_one", lambda i, x: ct.lax.switch(i, BRANCHES[:1], x), np.int32(1), X)
case("switch_tuple", lambda i, x: ct.lax.switch(i, [lambda x: (x, 2 * x), lambda x: (x[::-1], x), lambda x: (x, x)], x), np.int32(1), X)  # fmt: skip
case("switch_vmap", ct.vmap(lambda i, x: ct.lax.switch(i, BRANCHES, x)), np.array([3, 0, 1, 2], np.int32), X)
case("cond_closure", lambda x, y: ct.lax.cond(x[0, 0] > y[0], lambda: x * y, lambda: x - y), X, U[0])
case("cond_nested", lambda x: ct.lax.cond(x[0, 0] > 9, cnp.sin, lambda x: ct.lax.cond(x[0, 1] > 9, cnp.cos, cnp.exp, x), x), X)  # fmt: skip


def cumulated(c: Any, v: Any) -> Any:
    return c * 0.5 + v, (c * v, v.sum())


case("scan_none", lambda x: ct.lax.scan(cumulated, x[0], x[:0]), X)
case("scan", lambda x: ct.lax.scan(cumulated, x[0], x), X)
case("scan_reverse", lambda x: ct.lax.scan(cumulated, x[0], x, reverse=True), X)
case("scan_counted", lambda x: ct.lax.scan(lambda c, _: (c * 2, c), x, None, length=3), X)
case("scan_counted_reverse", lambda x: ct.lax.scan(lambda c, _: (c * 2, c), x, None, length=3, reverse=True), X)
case("scan_no_carry", lambda x: ct.lax.map(lambda v: v * v.sum(), x), X)
case("scan_two", lambda x, y: ct.lax.scan(lambda c, vw: (c + vw[0] * vw[1].sum(), vw), x[0], (x, y)), X, U[:4, :3])
case(
    "scan_nested",
    lambda x: ct.lax.scan(
        lambda c, v: ct.lax.scan(
            lambda d, w: (d + w * c.sum(), d * w), c, v[:, None] * np.ones(5, np.float32), reverse=True
        ),
        x[0],
        x,
    ),
    X,
)
case(
    "scan_of_while",
    lambda x: ct.lax.scan(
        lambda c, v: (ct.lax.while_loop(lambda d: d.sum() < 20, lambda d: d + abs(v) + 1, c * 0), c), x[0], x
    ),
    X,
)
case("scan_of_cond", lambda x: ct.lax.scan(lambda c, v: (ct.lax.cond(v[0] > 0, lambda: c + v, lambda: c - v), c), x[0], x), X)  # fmt: skip
case("scan_gradient", ct.grad(lambda x: ct.lax.scan(lambda c, v: (cnp.tanh(c + v), c * v), x[0], x)[0].sum()), X)
case("scan_vmap", ct.vmap(lambda x: ct.lax.scan(cumulated, x[0], x, reverse=True)), CUBE[0])
case("fori", lambda x, n: ct.lax.fori_loop(0, n, lambda i, v: v + i * x, x), X, np.int32(4))
case("fori_none", lambda x, n: ct.lax.fori_loop(0, n, lambda i, v: v + i * x, x), X, np.int32(0))
case("fori_constant", lambda x: ct.lax.fori_loop(1, 4, lambda i, v: v * i + x, x), X)
case(
    "while_nested",
    lambda x: ct.lax.while_loop(
        lambda v: v.sum() < 90, lambda v: ct.lax.fori_loop(0, 2, lambda i, w: w + i + 1, v) + x * 0, x
    ),
    X,
)
case("while_vmap", ct.vmap(lambda x: ct.lax.while_loop(lambda v: v.sum() < 50, lambda v: v * v + 1, x)), X)
case("associative", lambda x: ct.lax.associative_scan(cnp.add, x), X)
case("cumulative", lambda x: [cnp.cumprod(x, 1), ct.lax.cummax(x, 0), ct.lax.cummin(x, 1, reverse=True)], X)
case("cumsum_reverse", lambda x: ct.lax.cumsum(x, 1, reverse=True), X)

# ---- Functions -------------------------------------------------------------------------------------------------------

case("erf", lambda x: [ct.lax.erf(x), ct.lax.erf_inv(x / 4)], np.linspace(-3, 3, 25, dtype=np.float32))
case("rounded_int", lambda x, y: [x // y, x % y, cnp.remainder(x, -y), ct.lax.rem(x, y), ct.lax.div(x, y)], MANY, np.full_like(MANY, 2))  # fmt: skip
case("inverse", lambda x: [cnp.arctan(x), cnp.arcsin(x / 4), cnp.arccos(x / 4), cnp.tan(x), cnp.cosh(x)], X)
ENDS = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-30, -3e30], np.float32)
case("atan2", lambda y, x: cnp.arctan2(y[:, None], x), ENDS, ENDS)
case("products_of_batches", lambda x: [cnp.einsum("bcij,bdij->bcd", x, x), x @ cnp.swapaxes(x, -1, -2)], CUBE)
case("reduced_bools", lambda x: [cnp.any(x > 1, 0), cnp.all(x < 1, 1), (x > 0).sum(0)], X)


def rebuilt(x: Any) -> Any:
    values, vectors = cnp.linalg.eigh(x @ x.T)
    return values, vectors @ cnp.diag(values) @ vectors.T


SQUARE = X @ X.T + np.eye(4, dtype=np.float32)
case("cholesky", lambda x: cnp.linalg.cholesky(x), SQUARE)
case("eigh", rebuilt, SQUARE / 4)
case("inverse_matrix", lambda x: [cnp.linalg.inv(x), cnp.linalg.norm(x)], SQUARE)
case("solve", lambda x, y: cnp.linalg.solve(x, y), SQUARE[::-1].copy(), X)
case("solve_vmap", ct.vmap(lambda x, y: cnp.linalg.solve(x, y)), CUBE[0, :, :, :4], CUBE[1])
case(
    "triangular",
    lambda x, y: ct.lax.linalg.triangular_solve(x, y, left_side=True, lower=True, transpose_a=True),
    SQUARE,
    X,
)

EACH: dict[str, Program] = {
    "places": lambda x, i: [x[i], x.at[i].set(x[:3]), x[::-1], cnp.concatenate([x, x]), ct.lax.dynamic_slice(x, (i[1],), (2,))],
    "pad": lambda x, i: [ct.lax.pad(x, x[0], [(1, 2, 1)]), ct.lax.pad(x, x[0], [(-1, 1, 0)])],
    "where": lambda x, i: [cnp.where(x == x[0], x, x[::-1]), cnp.where(x[:3] == x[0], x[:3], x[1:4])],
    "sort": lambda x, i: [cnp.sort(x), cnp.argsort(x), cnp.argmax(x)],
    "loop": lambda x, i: ct.lax.scan(lambda c, v: (v, c), x[0], x, reverse=True),
    "compared": lambda x, i: [x == x[0], x != x[0], x < x[1], x >= x[1], x.astype(np.int32), x.astype(bool)],
}  # fmt: skip
NUMBERS: dict[str, Program] = {
    "add": lambda x, i: [x + x, x * x, x - x[::-1], -x, abs(x), cnp.sign(x), x * x * x * x * x],
    "divided": lambda x, i: [x // x[1], x % x[1], ct.lax.rem(x, x[1]), cnp.power(x, 3), cnp.clip(x, x[1], x[2])],
    "largest": lambda x, i: [cnp.maximum(x, x[0]), cnp.minimum(x, x[0]), x.max(), x.min(), ct.lax.cummax(x)],
    "sum": lambda x, i: [ct.lax.reduce_sum(x, (0,)), ct.lax.reduce_prod(x, (0,)), ct.lax.cumsum(x), ct.lax.cumprod(x)],
    "products": lambda x, i: [ct.lax.dot(x, x), cnp.einsum("i,j->ji", x, x), x.reshape(2, 2) @ x.reshape(2, 2)],
    "scatter": lambda x, i: [x.at[i].add(x[:3]), x.at[i].multiply(x[:3]), x.at[i].max(x[:3]), x.at[i].min(x[:3])],
    "window": lambda x, i: ct.lax.reduce_window(x, np.zeros((), x.dtype), ct.lax.add, (2,), (1,), "SAME"),
    "bits": lambda x, i: [x & 3, x | 5, x ^ x[0], ~x] if x.dtype.kind != "f" else x,
}  # fmt: skip
DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in (*EACH, *NUMBERS) for dtype in DTYPES if name in EACH or dtype != "bool"],
)
def test_dtypes(name: str, dtype: str) -> None:
    limits = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    x = np.array([7, 3, limits.max - 1, limits.max // 3] if limits else [2, 1, 0, 3], dtype)
    check({**EACH, **NUMBERS}[name], x, np.array([1, 0, 1]), rtol=5e-3 if dtype == "float16" else 5e-5)


@pytest.mark.parametrize("name", list(CASES))
def test_values(name: str) -> None:
    program, *arrays = CASES[name]
    check(program, *arrays, rtol=5e-3 if arrays[0].dtype == np.float16 else 5e-5)


@pytest.mark.parametrize(
    ("what", "program"),
    [
        ("bitcast", ct.lax.erfc),
        ("bitcast", lambda x: ct.nn.gelu(x, approximate=False)),
        ("bitcast", lambda x: ct.random.normal(ct.random.fold_in(ct.random.key(0), x[0, 0].astype(int)))),
        ("bitcast", cnp.linalg.svd),
        ("complex", lambda x: cnp.fft.fft(x).real),
    ],
)
def test_what_cannot_be_written_is_named(what: str, program: Program) -> None:
    with pytest.raises(NotImplementedError, match=rf"onnx\.export: {what} of .*\n  at "):
        interop.export(program, X)
