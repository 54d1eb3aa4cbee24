"""Shapes, slices, folds, products, windows and scatters of ``ct.lax``. JAX is the oracle."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from function_cases import Family, bools, draw, ints

lax = Family("jax.lax")
ANY = ("float32", "int32", "complex64", "bfloat16", "bool")
X = draw(3, 4)
DISTINCT = draw(3, 4, distinct=True)

# ---- shapes -----------------------------------------------------------------------------------------------------------

lax.record("broadcast", X, (2,), dtypes=ANY, oracle=lambda x, s: np.broadcast_to(x, (2, 3, 4)))
lax.record("broadcast_in_dim", draw(3, 1), (3, 2, 4), (0, 2), ragged=())
lax.record("broadcast_like", draw(4), np.zeros((3, 4), np.float32), call=lambda f, x, y: f(x, y), ragged=())
lax.record("broadcast_to_rank", X, 4, oracle=lambda x, r: x[None, None])
lax.record("collapse", draw(2, 3, 4), 1, 3, ragged=(0,), oracle=lambda x, a, b: x.reshape(2, 12))
lax.record("concatenate", [X, draw(2, 4)], 0, dtypes=ANY, oracle=np.concatenate)
lax.record("expand_dims", X, (0, 3), oracle=np.expand_dims)
lax.record("reshape", X, (2, 6), dtypes=ANY, oracle=np.reshape, ragged=())
lax.record("reshape", draw(), (1, 1), oracle=np.reshape)
lax.record("reshape", draw(0, 3), (3, 0, 2), oracle=np.reshape, ragged=())
lax.record("rev", X, (0,), dtypes=ANY, oracle=lambda x, d: x[::-1])
lax.record("split", draw(5, 3), (2, 3), oracle=lambda x, s: [x[:2], x[2:]], ragged=(-1,))
lax.record("squeeze", draw(1, 3, 1), (0, 2), oracle=np.squeeze, ragged=(1,))
lax.record("stack", [X, X], 1, oracle=np.stack)
lax.record("tile", X, (2, 1), oracle=np.tile)
lax.record("transpose", draw(2, 3, 4), (2, 0, 1), dtypes=ANY, oracle=np.transpose)
lax.record("transpose", draw(2, 0), (1, 0), oracle=np.transpose, ragged=())
lax.record("unstack", X, 1, oracle=lambda x, a: [x[:, i] for i in range(4)], ragged=(0,))
lax.record("pad", X, draw(), [(1, 2, 1), (-1, 0, 0)])
lax.record("dtype", X, call=lambda f, x: np.zeros(0, f(x)), grads="no numbers", batch="no numbers", ragged=())
lax.record("bitcast_convert_type", X, "int32", oracle=lambda x, d: x.view(d), loose=True, grads="bits")

lax.record("full", (2, 3), np.float32(1.5))
lax.record("empty", (2, 0), np.int32)
lax.record("full_like", X, 2, dtypes=ANY, grads="constant")
lax.record("iota", "int32", 5)
lax.record("broadcasted_iota", "float32", (2, 3), 1)
lax.record("broadcast_shapes", (3, 1), (1, 4), oracle=None)

# ---- slices -----------------------------------------------------------------------------------------------------------

lax.record("slice", X, (1, 0), (2, 3), (1, 2), dtypes=ANY, oracle=lambda x, a, b, s: x[1:2, 0:3:2])
lax.record("slice_in_dim", X, 1, 3, 1, 1, oracle=lambda x, *_: x[:, 1:3], ragged=(0,))
lax.record("index_in_dim", X, -1, 1, oracle=lambda x, *_: x[:, -1:])
lax.record("dynamic_slice", X, (ints(low=0, high=3), ints(low=0, high=3)), (2, 2), ragged=())
lax.record("dynamic_slice_in_dim", X, ints(low=0, high=2), 2, 1, ragged=(0,))
lax.record("dynamic_index_in_dim", X, ints(low=0, high=2), 1, False, ragged=(0,))
lax.record("dynamic_update_slice", X, draw(2, 2), (ints(low=0, high=2), ints(low=0, high=2)), ragged=())
lax.record("dynamic_update_slice_in_dim", X, draw(3, 2), ints(low=0, high=2), 1, ragged=(0,))
lax.record("dynamic_update_index_in_dim", X, draw(3), ints(low=0, high=3), 1, ragged=({0: 0, 1: 0},))

ROWS = ints(2, 1, low=0, high=3)


def by_rows(f: Any, kind: str) -> Any:
    """The dimension numbers, of the function's library, of whole rows of a matrix."""
    space = importlib.import_module("cotangent.lax" if f.__module__.startswith("cotangent") else "jax.lax")
    return getattr(space, f"{kind}DimensionNumbers")((1,), (0,), (0,))


def gathered(f: Any, x: Any, rows: Any) -> Any:
    return f(x, rows, by_rows(f, "Gather"), (1, 4))


def scattered(f: Any, x: Any, rows: Any, updates: Any) -> Any:
    return f(x, rows, updates, by_rows(f, "Scatter"))


ONCE = np.array([[2], [0]], np.int32)
lax.record("gather", X, ROWS, call=gathered, ragged=())
lax.record("scatter", X, ONCE, draw(2, 4), call=scattered, ragged=())
for name in ["scatter_add", "scatter_sub", "scatter_mul", "scatter_max", "scatter_min"]:
    lax.record(name, X, ONCE, draw(2, 4), call=scattered, ragged=())

lax.record(
    "scatter_apply",
    X,
    ONCE,
    call=lambda f, x, rows: f(x, rows, lambda v: v * v, by_rows(f, "Scatter"), update_shape=(2, 4)),
    ragged=(),
)

# ---- folds ------------------------------------------------------------------------------------------------------------

for name, theirs in [("sum", np.sum), ("prod", np.prod)]:
    lax.record(
        f"reduce_{name}", X, (0,), dtypes=("float32", "int32", "complex64"), oracle=theirs, tolerance=4, loose=True
    )
    lax.record(f"reduce_{name}", draw(0, 3), (0,), oracle=theirs, ragged=())
for name, theirs in [("max", np.max), ("min", np.min)]:
    lax.record(
        f"reduce_{name}", DISTINCT, (1,), dtypes=("float32", "int8", "float16"), oracle=lambda x, a, f=theirs: f(x, a)
    )
lax.record("reduce_and reduce_or reduce_xor", bools(3, 4), (0,), dtypes=("bool",))
lax.record("reduce", X, np.float32(0), call=lambda f, x, i: f(x, i, lambda a, b: a + b, (0,)), tolerance=4)
lax.record("argmax argmin", DISTINCT, 1, "int32", dtypes=("float32", "int8"), grads="positions")
for name, theirs in [
    ("cumsum", np.cumsum),
    ("cumprod", np.cumprod),
    ("cummax", np.maximum.accumulate),
    ("cummin", np.minimum.accumulate),
]:
    lax.record(name, DISTINCT, 1, dtypes=("float32", "int32", "float16"), oracle=theirs, tolerance=4, loose=True)
    lax.record(
        name,
        DISTINCT,
        0,
        call=lambda f, x, a: f(x, a, reverse=True),
        oracle=lambda x, a, f=theirs: f(x[::-1], a)[::-1],
        tolerance=4,
    )
lax.record("cumlogsumexp", X, 1, oracle=lambda x, a: np.logaddexp.accumulate(x, a), tolerance=4)
lax.record("sort", DISTINCT, 0, dtypes=("float32", "int32", "bfloat16"), oracle=np.sort)
lax.record(
    "sort", DISTINCT, call=lambda f, x: f((x, -x), dimension=1, num_keys=1), oracle=lambda x: (np.sort(x), -np.sort(x))
)
lax.record("sort_key_val", DISTINCT, X, 0)
lax.record("top_k", DISTINCT, 2, dtypes=("float32", "int32"))
lax.record(
    "associative_scan",
    X,
    call=lambda f, x: f(lambda a, b: a * b, x, axis=1),
    oracle=lambda x: np.cumprod(x, 1),
    tolerance=4,
)

lax.record(
    "approx_max_k", DISTINCT, 2, oracle=lambda x, k: (-np.sort(-x)[:, :k], np.argsort(-x)[:, :k].astype(np.int32))
)
lax.record("approx_min_k", DISTINCT, 2, oracle=lambda x, k: (np.sort(x)[:, :k], np.argsort(x)[:, :k].astype(np.int32)))
lax.record(
    "index_take",
    X,
    ints(2, low=0, high=3),
    call=lambda f, x, i: f(x, (i, i), (0, 1)),
    oracle=lambda x, i: x[i, i],
    ragged=(),
)
lax.record("reduce_precision", X, 5, 10, grads="the derivative of the identity: test_lax_precision.py")

# ---- products ---------------------------------------------------------------------------------------------------------

A, B = draw(3, 4), draw(4, 2)
lax.record(
    "dot",
    A,
    B,
    dtypes=("float32", "complex64", "int32"),
    oracle=np.dot,
    tolerance=4,
    ragged=({0: 0}, {1: 1}, {0: 1, 1: 0}),
)
lax.record("dot", draw(4), draw(4), oracle=np.dot, tolerance=4, ragged=({0: 0, 1: 0},))
lax.record("dot", draw(3, 0), draw(0, 2), oracle=np.dot, ragged=())
lax.record(
    "batch_matmul", draw(2, 3, 4), draw(2, 4, 2), oracle=np.matmul, tolerance=4, ragged=({0: 0, 1: 0}, {0: 2, 1: 1})
)
lax.record(
    "dot_general", draw(2, 3, 4), draw(2, 4, 2), (((2,), (1,)), ((0,), (0,))), dtypes=("float32", "bfloat16", "complex64"),
    tolerance=4, ragged=({0: 0, 1: 0}, {0: 1}, {0: 2, 1: 1}),
)  # fmt: skip
lax.record(
    "ragged_dot", draw(5, 3), draw(2, 3, 4), np.array([2, 3], np.int32), tolerance=4, ragged=({0: 1, 1: 1}, {1: 2})
)

# ---- windows ----------------------------------------------------------------------------------------------------------

IMAGE, KERNEL = draw(2, 3, 7), draw(4, 3, 3)
lax.record("conv", IMAGE, KERNEL, (2,), "SAME", tolerance=8, ragged=(0,))
lax.record("conv_with_general_padding", IMAGE, KERNEL, (1,), [(1, 2)], (1,), (2,), tolerance=8, ragged=(0,))
lax.record(
    "conv_general_dilated",
    IMAGE,
    KERNEL,
    (1,),
    [(1, 1)],
    tolerance=8,
    ragged=(0, -1),
    dtypes=("float32", "complex64"),
)
lax.record(
    "conv_general_dilated",
    draw(2, 4, 7),
    draw(4, 2, 3),
    (2,),
    "VALID",
    feature_group_count=2,
    rhs_dilation=(2,),
    tolerance=8,
    ragged=(0,),
)
lax.record("conv_transpose", draw(2, 5, 3), draw(3, 3, 4), (2,), "SAME", tolerance=8, ragged=(0,))
lax.record("conv_general_dilated_patches", IMAGE, (3,), (1,), "VALID", ragged=(0,))
lax.record(
    "reduce_window",
    draw(3, 6, distinct=True),
    call=lambda f, x: f(x, np.zeros((), x.dtype), lambda a, b: a + b, (1, 3), (1, 2), "SAME"),
    tolerance=4,
)
lax.record("conv_general_dilated_local", draw(2, 3, 5), draw(4, 9, 3), (1,), "VALID", (3,), tolerance=8, ragged=(0,))
lax.record(
    "fft", draw(3, 4), "FFT", (4,), dtypes=("complex64",), oracle=lambda x, *_: np.fft.fft(x), tolerance=4, ragged=(0,)
)
lax.record(
    "fft",
    draw(3, 4),
    "RFFT",
    (4,),
    dtypes=("float32",),
    oracle=lambda x, *_: np.fft.rfft(x),
    tolerance=4,
    loose=True,
    refuses={-1: "one length"},
)
lax.record("conv_dimension_numbers padtype_to_pads", call=lambda f: 0, oracle=None)


def lambda_of(f: Any) -> Any:
    """``f`` of the name of an axis, as a function of a row, too."""
    found = lambda row, name: f(name)  # noqa: E731
    found.__module__ = f.__module__
    return found


# ---- collectives, on one named axis --------------------------------------------------------------------------------


def named(f: Any, x: Any, *rest: Any) -> Any:
    """``f`` of rows, whose axis has a name."""
    module = importlib.import_module("cotangent" if f.__module__.startswith("cotangent") else "jax")
    return module.vmap(lambda row: f(row, "i", *rest), axis_name="i")(x)


ALONE = {-1: "collective over axis 'i' of a ragged array"}
lax.record("psum pmax pmin pmean", draw(3, 4, distinct=True), call=named, tolerance=4, ragged=(-1,), refuses=ALONE)
for name, *args in [("all_gather",), ("ppermute", [(0, 1), (1, 2), (2, 0)]), ("pshuffle", [1, 2, 0])]:
    lax.record(name, X, *args, call=named, ragged=(-1,), refuses=ALONE)
lax.record(
    "pbroadcast", X, 1, call=named, oracle=lambda x, i: np.broadcast_to(x[i], x.shape), ragged=(-1,), refuses=ALONE
)
lax.record("all_to_all", draw(3, 3, 2), 0, 0, call=named, ragged=(-1,), refuses=ALONE)
lax.record("psum_scatter", draw(3, 3), call=named, ragged=(-1,), refuses=ALONE, tolerance=4)
lax.record("pswapaxes", draw(3, 3, 2), 0, call=named, ragged=(-1,), refuses=ALONE)
lax.record(
    "axis_index",
    draw(3),
    call=lambda f, x: named(lambda_of(f), x),
    oracle=lambda x: np.arange(3, dtype=np.int32),
    grads="positions",
    ragged=(),
)
lax.record(
    "axis_size",
    draw(3),
    call=lambda f, x: named(lambda_of(f), x),
    oracle=lambda x: np.full(3, 3),
    loose=True,
    grads="sizes",
    ragged=(),
)
lax.no_record(
    "takes functions: test_control_flow.py, test_inactive_rows.py, test_ops.py",
    "cond switch while_loop fori_loop scan map",
)
lax.no_record("takes functions: test_solvers.py", "custom_root custom_linear_solve")
lax.no_record("nothing to do on one device: test_collectives.py", "pcast")
lax.no_record("the general form of ragged_dot, which has a record; test_lax_structure.py", "ragged_dot_general")
lax.no_record(
    "sizes and platforms, not arrays: test_lax_precision.py",
    "conv_general_permutations conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple platform_dependent "
    "reduce_window_shape_tuple",
)
lax.no_record(
    "no function of arrays",
    "ConvDimensionNumbers DotAlgorithmPreset FftType GatherDimensionNumbers GatherScatterMode Precision RaggedDotDimensionNumbers "
    "RoundingMethod ScatterDimensionNumbers",
)
