"""The same elements in another arrangement, and arrays from nothing."""

from __future__ import annotations

import numpy as np

from numpy_cases import ALL, case, draw, ints

T = (2, 3, 4)
D = ("float32", "int32", "bool", "bfloat16", "complex64")

case("reshape", draw(*T), (4, 6), dtypes=ALL)
case("reshape", draw(*T), (-1, 8))
case("reshape", draw(*T), -1)
case("reshape", draw(4, 6), (4, 2, 3))
case("reshape", draw(4, 6), (2, 2, 6))
case("reshape", draw(0, 3), (3, 0), grads=False)
case("ravel", draw(*T), "F")
case("reshape", draw(4, 6), (3, -1), order="F")
case("reshape", draw(*T), (6, 4), order="F")
case("ravel", draw(*T), dtypes=D)
case("ravel", draw(4), ragged=0)
case("transpose", draw(*T), dtypes=D, ragged=0)
case("transpose", draw(*T), (1, 0, -1))
case("permute_dims", draw(*T), (2, 0, 1), ragged=1)
case("matrix_transpose", draw(*T), ragged=1)
case("swapaxes", draw(*T), 0, -1, ragged=0)
case("moveaxis", draw(*T), 0, -1, ragged=0)
case("moveaxis", draw(*T), (0, 1), (-1, 0))
case("rollaxis", draw(*T), 2)
case("rollaxis", draw(*T), 0, 3)
case("expand_dims", draw(3, 2), 1, dtypes=D, ragged=0)
case("expand_dims", draw(3, 2), (0, -1))
case("squeeze", draw(1, 3, 1), dtypes=D)
case("squeeze", draw(1, 3, 1), 0, ragged=1)
case("squeeze", draw(1, 3, 1), (0, -1))
case("broadcast_to", draw(3, 1), (2, 3, 4), dtypes=D)
case("broadcast_to", draw(), (2, 0), grads=False)
case("broadcast_arrays", draw(3, 1), draw(4), 1.0, dtypes=("float32",))
for rank in (1, 2, 3):
    case(f"atleast_{rank}d", draw(), dtypes=D)
    case(f"atleast_{rank}d", draw(4))
    case(f"atleast_{rank}d", draw(2, 3), draw(2, 2, 2), dtypes=("float32",))
case("concatenate", [draw(2, 3), draw(1, 3)], dtypes=ALL, ragged=0)
case("concatenate", [draw(2, 3), draw(2, 1)], -1)
case("concatenate", [draw(2, 3), draw(4)], None)
case("concatenate", [draw(2, 3), ints(2, 3)], dtypes=("float32", "float16"))
case("concatenate", [draw(2, 3), draw(0, 3)], 0)
case("concat", [draw(2, 3), draw(2, 3)], axis=1)
case("stack", [draw(3, 2), draw(3, 2)], 1, dtypes=D, ragged=0)
case("stack", [draw(3, 2), draw(3, 2)], -1)
case("unstack", draw(3, 2), axis=1, oracle=lambda x: tuple(np.moveaxis(x, 1, 0)))
case("vstack", [draw(3), draw(3)])
case("vstack", [draw(2, 3), draw(1, 3)])
case("hstack", [draw(3), draw(2)])
case("hstack", [draw(2, 3), draw(2, 1)])
case("dstack", [draw(2, 3), draw(2, 3)])
case("column_stack", [draw(3), draw(3, 2), draw(3)])
case("append", draw(2, 3), draw(4))
case("append", draw(2, 3), draw(2, 1), axis=1)
case("block", [[draw(2, 2), draw(2, 1)], [draw(1, 2), draw(1, 1)]])
case("block", [draw(3), 1.0], dtypes=("float32",))
case("split", draw(4, 3), 2)
case("split", draw(4, 6), [1, 3], 1)
case("split", draw(4, 6), 2)
case("array_split", draw(5, 3), 3)
case("array_split", draw(5, 3), [2, 9])
case("vsplit", draw(4, 3), 2)
case("hsplit", draw(4, 6), 3)
case("hsplit", draw(6), 3)
case("dsplit", draw(2, 2, 4), 2)
case("tile", draw(2, 3), 2, dtypes=D)
case("tile", draw(3, 2), (2, 1, 3))
case("tile", draw(3, 2), (2, 1), ragged=0)
case("tile", draw(2, 3), (0, 2), grads=False)
case("repeat", draw(2, 3), 2, dtypes=D)
case("repeat", draw(3, 2), 2, 0, ragged=0)
case("repeat", draw(2, 3), np.array([1, 0, 2]), 1)
case("repeat", draw(2, 3), np.array([1, 0, 2]), axis=1, total_repeat_length=4, oracle="jax")
case("flip", draw(*T), dtypes=D, ragged=0)
case("flip", draw(*T), (0, -1))
case("fliplr", draw(3, 2))
case("flipud", draw(3, 2), ragged=0)
case("rot90", draw(3, 2))
case("rot90", draw(*T), 3, (1, 2))
case("rot90", draw(*T), -2)
case("roll", draw(4, 3), 5, dtypes=D)
case("roll", draw(4, 3), -1, 1)
case("roll", draw(4, 3), 1, 0, ragged=0)
case("roll", draw(4, 3), (1, 2), (0, 1))
case("roll", draw(4, 3), np.array([1, 2]), (0, 1))
case("roll", draw(4, 3), (1, 2), 0)
case("roll", draw(4, 3), 5, (0, 1))
for mode in [
    "constant",
    "edge",
    "reflect",
    "symmetric",
    "wrap",
    "empty",
    "linear_ramp",
    "maximum",
    "minimum",
    "mean",
    "median",
]:
    case(
        "pad",
        draw(3, 4, distinct=True),
        ((1, 2), (0, 2)),
        mode,
        dtypes=("float32", "int32"),
        oracle=(lambda x, *_: np.pad(x, ((1, 2), (0, 2)))) if mode == "empty" else None,
    )
case("pad", draw(3, 4), 1, constant_values=2, dtypes=("float32", "int32", "bool", "float16"), ragged=0)
case("pad", draw(3, 4), ((1, 0), (2, 1)), constant_values=((1, 2), (3, 4)))
case("pad", draw(5), (7, 9), "wrap")
case("pad", draw(3, 4), ((1, 1), (1, 0)), "wrap")
case("pad", draw(3, 4), ((1, 1), (1, 0)), "wrap")
case("pad", draw(5), (7, 9), "reflect")
for mode in ["reflect", "symmetric"]:
    for widths in [(2, 3), (7, 0), (9, 11)]:
        case("pad", draw(4), widths, mode, reflect_type="odd", tolerance=4)
    case("pad", draw(1, 3), ((2, 1), (1, 2)), mode, reflect_type="odd")


def ends(line, width, axis, options):  # type: ignore[no-untyped-def]
    """Fills what was added in front: NumPy's lines in place, ours as a new one."""
    value = options["value"] + axis
    if isinstance(line, np.ndarray):
        line[: width[0]] = value
        return None
    return line.at[: width[0]].set(value)


case("pad", draw(2, 3), ((1, 2), (2, 0)), ends, value=7.0, dtypes=("float32",))
case("pad", draw(6, distinct=True), (2, 3), "maximum", stat_length=2)
case("pad", draw(3, 4), ((1, 0), (0, 0)), "edge", ragged=0)
case("resize", draw(2, 3), (4, 2), dtypes=D)
case("resize", draw(2, 3), 4)
case("tril", draw(*T), dtypes=D)
case("triu", draw(3, 4), 1)
case("tril", draw(3, 4), -1, ragged=0)
case("diag", draw(4), dtypes=D, ragged=0)
case("diag", draw(4), -2, ragged=0)
case("diag", draw(3, 4), 1, ragged=1)
case("diagonal", draw(*T), 1, ragged=0)
case("diagonal", draw(*T), -1, 1, 2, ragged=1)
case("diagflat", draw(2, 2), 1)
case("trace", draw(3, 4), dtypes=("float32", "int32", "complex64"), ragged=0)
case("trace", draw(*T), 1, 1, 2, ragged=2)
case("vander", draw(4), dtypes=("float32", "int32"), tolerance=8, ragged=0)
case("vander", draw(4), 3, True, tolerance=8, ragged=0)
case("tri", 3, 4, -1, same_dtype=False)
for diagonal in (-(2**40), 2**40):
    case("tri", 3, 4, diagonal, same_dtype=False)
case("copy", draw(2, 3), dtypes=D)
case("asarray", draw(2, 3), dtypes=D)
case("array", draw(2, 3), dtypes=D, ndmin=3)
for dtype in (None, "int8", "float16", "complex64", "bfloat16"):
    make = lambda np_, name, *args, dtype=dtype: getattr(np_, name)(*args, dtype=dtype and getattr(np_, dtype))  # noqa: E731
    plain = dtype and dtype.replace("bfloat16", "float32")
    for name, args in [
        ("zeros", ((2, 3),)),
        ("ones", ((0, 2),)),
        ("full", ((2,), 7)),
        ("eye", (3,)),
        ("identity", (2,)),
        ("arange", (5,)),
        ("empty", ((2, 2),)),
    ]:
        # The dtype that NumPy chooses is 64 bits wide; the values are what is compared.
        case(
            name,
            call=lambda np_, name=name, args=args, make=make, plain=plain, dtype=dtype: (
                make(np_, name, *args)
                if np_ is not np
                else (np.zeros if name == "empty" else getattr(np, name))(*args, **({"dtype": plain} if plain else {}))
            ),
            dtypes=("float32", "float64"),
            same_dtype=True,
        )
case("eye", 3, 4, 1)
for k in (-(2**31), 2**31):
    case("eye", 3, k=k)
    case("tri", 3, k=k, same_dtype=False)
    case("tril", draw(2, 3), k, dtypes=("float32",), same_dtype=False)
case("linspace", 16777217.0, 0.0, 2, dtype="float64", same_dtype=False)
case("full", (2, 2), np.array([1.0, 2.0], np.float32))
case("full", (), 1.5)
for name in ["zeros_like", "ones_like"]:
    case(name, draw(3, 2), dtypes=D, grads=False, ragged=0)
    case(name, draw(3, 2), dtype="int8", grads=False)
    case(name, draw(3, 2), shape=(4,), grads=False)
case("empty_like", draw(3, 2), dtypes=D, grads=False, oracle=np.zeros_like)
case("full_like", draw(3, 2), 3, dtypes=D, grads=False)
case("arange", 2, 9, 3)
case("arange", 5, 0, -2)
case("arange", 0.0, 1.0, 0.25)
case("arange", 5, 2)
case("arange", 3.0)
for args in [(0, 1, 5), (2.0, -3.0, 7), (0, 1, 1), (0, 1, 4, False), (0, 1, 0), (3, 3, 4)]:
    case("linspace", *args)
case("linspace", draw(2), draw(2), 3, dtypes=("float32",))
case("linspace", draw(2), draw(2), 3, axis=-1, endpoint=False, dtypes=("float32",))
case("linspace", 0, 10, 5, dtype="int32")
case("linspace", draw(), draw(), 4, call=lambda np_, a, b, n: np_.linspace(a, b, n, retstep=True), dtypes=("float32",))
case("logspace", 0, 2, 4, tolerance=4)
case("logspace", 0, 2, 4, base=2.0, endpoint=False, tolerance=4)
case("geomspace", 1.0, 100.0, 3, tolerance=4)
case("geomspace", -1.0, -100.0, 4, False, tolerance=4)
case("geomspace", draw(2, domain=(1.0, 2.0)), 8.0, 3, dtypes=("float32",), tolerance=8)
case(
    "geomspace", draw(2, 1, domain=(1.0, 2.0)), draw(3, domain=(3.0, 8.0)), 4, axis=-1, dtypes=("float32",), tolerance=8
)
case("geomspace", draw(2, domain=(1.0, 2.0)), 8.0, 5, False, axis=1, dtypes=("float16", "float64"), tolerance=8)
for options in [{}, {"indexing": "ij"}, {"sparse": True}, {"indexing": "ij", "sparse": True}]:
    case("meshgrid", draw(3), draw(2), dtypes=("float32", "int32"), **options)
case("meshgrid", draw(3), dtypes=("float32",))
case("indices", (2, 3))
case("indices", (2, 3), sparse=True)
for name in ["tril_indices", "triu_indices"]:
    case(name, 3)
    case(name, 3, 1, 4)
case("diag_indices", 3)
case("diag_indices", 2, 3)
for name in ["bartlett", "blackman", "hamming", "hanning"]:
    for size in (0, 1, 2, 8):
        case(name, size, tolerance=8)
case("kaiser", 6, 3.5, tolerance=32)
case("i0", draw(2, 3), dtypes=("float32", "float64"), tolerance=32, ragged=0)
