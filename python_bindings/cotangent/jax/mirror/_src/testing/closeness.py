"""Comparisons to tolerances that dtypes have, and derivatives against differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

import cotangent as ct
from cotangent import tree_util
from cotangent._base.small_floats import has_small_floats
from cotangent.jax.internals import transforms
from cotangent.jax.mirror.dtypes import canonicalize_dtype

__all__ = [
    "ToleranceDict",
    "assert_numpy_allclose",
    "check_close",
    "check_dtypes_match",
    "check_eq",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "default_gradient_tolerance",
    "default_tolerance",
    "dtype_of",
    "join_tolerance",
    "rand_like",
    "tolerance",
]

ToleranceDict: TypeAlias = dict[Any, float]
Given: TypeAlias = float | Mapping[Any, float] | None

has_small_floats()  # NumPy has their names from here on
_SMALL = ("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
          "float8_e5m2fnuz")  # fmt: skip
_EXACT = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_PYTHON: dict[type, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def _table(**others: float) -> ToleranceDict:
    table: ToleranceDict = {}
    for name, value in [
        *((name, 0.1) for name in _SMALL),
        ("float8_e8m0fnu", 1.0),
        ("float4_e2m1fn", 1.0),
        *others.items(),
    ]:
        try:
            table[np.dtype(name)] = value
        except TypeError:  # an older ml_dtypes has fewer
            continue
    return table


_TOLERANCE = _table(**dict.fromkeys(_EXACT, 0), bfloat16=1e-2, float16=1e-3, float32=1e-6, float64=1e-15,
                    complex64=1e-6, complex128=1e-15)  # fmt: skip
_TOLERANCE[ct.dtypes.float0] = 0
default_gradient_tolerance = _table(
    bfloat16=1e-1, float16=1e-2, float32=2e-3, float64=1e-5, complex64=1e-3, complex128=1e-5
)

_FOREIGN = {key for key in default_gradient_tolerance if key.name == "bfloat16" or "_e" in key.name}


def default_tolerance() -> ToleranceDict:
    """By how much results of a dtype may differ."""
    return _TOLERANCE


def dtype_of(x: Any) -> Any:
    """The dtype of an array or of a number of Python's."""
    if hasattr(x, "dtype"):
        return x.dtype
    return np.dtype(_PYTHON[type(x)]) if type(x) in _PYTHON else np.asarray(x).dtype


def tolerance(dtype: Any, tol: Given = None) -> float:
    """What is given for all dtypes, or for this one; or what the dtype has by itself."""
    if tol is not None and not isinstance(tol, Mapping):
        return tol
    kind = canonicalize_dtype(np.dtype(dtype))
    given = {np.dtype(key): value for key, value in (tol or {}).items()}
    return given[kind] if kind in given else _TOLERANCE[kind]


def join_tolerance(tol1: Given, tol2: Given) -> ToleranceDict:
    """The larger of two, for each dtype."""
    tables = [
        {np.dtype(key): value for key, value in tol.items()}
        if isinstance(tol, Mapping)
        else dict.fromkeys(_TOLERANCE, tol or 0)
        for tol in (tol1, tol2)
    ]
    return {key: max(table.get(key, 0) for table in tables) for key in (*tables[0], *tables[1])}


def _wide(x: Any) -> Any:
    """NumPy compares no floats that it does not know."""
    return x.astype(np.float32) if x.dtype in _FOREIGN else x


def assert_numpy_allclose(
    a: Any, b: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Raises AssertionError where arrays differ by more than tolerances, NumPy's where none are given."""
    if a.dtype == b.dtype == ct.dtypes.float0:
        np.testing.assert_array_equal(a, b, err_msg=err_msg)
        return
    given: Any = {name: value for name, value in (("atol", atol), ("rtol", rtol)) if value}
    with np.errstate(invalid="ignore", over="ignore"):
        np.testing.assert_allclose(_wide(np.asarray(a)), _wide(np.asarray(b)), err_msg=err_msg, **given)


def check_close(xs: Any, ys: Any, atol: Given = None, rtol: Given = None, err_msg: str = "") -> None:
    """Raises AssertionError where two trees differ by more than their dtypes' precision, or what is given."""

    def check(x: Any, y: Any) -> None:
        a, b = np.asarray(x), np.asarray(y)
        assert a.shape == b.shape, f"shapes {a.shape} and {b.shape} differ {err_msg}"
        absolute, relative = (max(tolerance(a.dtype, given), tolerance(b.dtype, given)) for given in (atol, rtol))
        # The more elements, the larger the largest difference may be.
        assert_numpy_allclose(a, b, atol=absolute * a.size, rtol=relative * b.size, err_msg=err_msg)

    tree_util.tree_map(check, xs, ys)


def check_eq(xs: Any, ys: Any, err_msg: str = "") -> None:
    """Raises AssertionError where two trees differ."""
    tree_util.tree_map(functools.partial(assert_numpy_allclose, err_msg=err_msg), xs, ys)


def check_dtypes_match(xs: Any, ys: Any) -> None:
    """Raises AssertionError where leaves of two trees have different dtypes."""

    def check(x: Any, y: Any) -> None:
        a, b = canonicalize_dtype(dtype_of(x)), canonicalize_dtype(dtype_of(y))
        assert a == b, f"dtypes {a} and {b} differ"

    tree_util.tree_map(check, xs, ys)


def rand_like(rng: np.random.RandomState, x: Any) -> Any:
    """Random numbers in the place of an array's."""
    dtype, shape = np.dtype(dtype_of(x)), np.shape(x)
    drawn = np.asarray(rng.randn(*shape), dtype)
    if dtype.kind == "c":
        drawn = drawn + dtype.type(1j) * np.asarray(rng.randn(*shape), dtype)
    return drawn.item() if type(x) in _PYTHON else drawn


def _numbers(x: Any) -> Any:
    """In 64 bits, so that differences lose nothing."""
    found = np.asarray(x)
    return (
        found
        if found.dtype == ct.dtypes.float0
        else found.astype(np.complex128 if found.dtype.kind == "c" else np.float64)
    )


def _moved(xs: Any, direction: Any, step: float) -> Any:
    def move(x: Any, t: Any) -> Any:
        moved = np.asarray(x) + np.asarray(t) * np.asarray(step, np.asarray(t).real.dtype)
        return moved.item() if type(x) in _PYTHON else np.asarray(moved, dtype_of(x))

    return tree_util.tree_map(move, xs, direction)


def _difference(f: Callable[..., Any], primals: Any, tangents: Any, eps: float) -> Any:
    """The derivative along tangents, by a difference on both sides."""
    above, below = f(*_moved(primals, tangents, eps)), f(*_moved(primals, tangents, -eps))

    def quotient(x: Any, y: Any) -> Any:
        dtype = np.dtype(dtype_of(x))
        if dtype.kind in "biu" or dtype == ct.dtypes.float0:
            return np.zeros(np.shape(x), ct.dtypes.float0)
        return np.asarray((_numbers(x) - _numbers(y)) * (0.5 / eps)).astype(dtype)

    return tree_util.tree_map(quotient, above, below)


def _merged(given: Given) -> Given:
    if given is None or isinstance(given, Mapping):
        return {**default_gradient_tolerance, **{np.dtype(key): value for key, value in (given or {}).items()}}
    return given


_EPS = 1e-4


def check_jvp(f: Callable[..., Any], f_jvp: Callable[..., Any], args: Any, atol: Given = None, rtol: Given = None,
              eps: float = _EPS, err_msg: str = "") -> None:  # fmt: skip
    """Raises AssertionError where a derivative in a random direction is not what differences are."""
    tangents = tree_util.tree_map(functools.partial(rand_like, np.random.RandomState(0)), args)
    value, slope = f_jvp(args, tangents)
    check_dtypes_match(value, slope)
    expected = f(*args)
    check_dtypes_match(value, expected)
    limits = {"atol": _merged(atol), "rtol": _merged(rtol)}
    check_close(value, expected, err_msg=f"{err_msg} primal".strip(), **limits)
    check_close(slope, _difference(f, args, tangents, eps), err_msg=f"{err_msg} tangent".strip(), **limits)


def _inner(xs: Any, ys: Any) -> Any:
    def product(x: Any, y: Any) -> Any:
        return np.real(np.vdot(np.asarray(x), np.asarray(y)))

    return sum(tree_util.tree_leaves(tree_util.tree_map(product, xs, ys)))


def check_vjp(f: Callable[..., Any], f_vjp: Callable[..., Any], args: Any, atol: Given = None, rtol: Given = None,
              eps: float = _EPS, err_msg: str = "") -> None:  # fmt: skip
    """Raises AssertionError where a pullback is not the adjoint of what differences are."""
    draw = functools.partial(rand_like, np.random.RandomState(0))
    value, pull_back = f_vjp(*args)
    limits = {"atol": _merged(atol), "rtol": _merged(rtol)}
    check_close(value, f(*args), err_msg=f"{err_msg} primal".strip(), **limits)
    tangents = tree_util.tree_map(draw, args)
    moved = _difference(f, args, tangents, eps)
    cotangents = tree_util.tree_map(draw, value)
    pulled = tree_util.tree_map(np.conj, pull_back(tree_util.tree_map(np.conj, cotangents)))
    message = f"{err_msg} cotangent projection".strip()
    check_close(_inner(tangents, pulled), _inner(moved, cotangents), err_msg=message, **limits)


def check_grads(f: Callable[..., Any], args: Any, order: int, modes: Any = ("fwd", "rev"), atol: Given = None, rtol: Given = None,
                eps: float | None = None) -> None:  # fmt: skip
    """Raises AssertionError where derivatives up to an order are not what differences are, in one random direction.

    The tolerances are those of `check_jvp` and `check_vjp`. ``modes`` names "fwd", "rev" and "lin", the derivative that `linearize` gives.
    """
    limits: Any = {"atol": atol, "rtol": rtol, "eps": eps or _EPS}

    def pulled(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            value, pull_back = transforms.vjp(f, *args)
            return pull_back(value)

        return run

    def linear(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(primals: Any, tangents: Any) -> Any:
            value, push = transforms.linearize(f, *primals)
            return value, push(*tangents)

        return run

    def check(f: Callable[..., Any], args: Any, order: int, before: str) -> None:
        for mode, name, forward in (("fwd", "JVP", functools.partial(transforms.jvp, f)), ("lin", "LIN", linear(f))):
            if mode in modes:
                message = f"{name} of {before}" if before else name
                check_jvp(f, forward, args, err_msg=message, **limits)
                if order > 1:
                    check(forward, (args, args), order - 1, message)
        if "rev" in modes:
            message = f"VJP of {before}" if before else "VJP"
            check_vjp(f, functools.partial(transforms.vjp, f), args, err_msg=message, **limits)
            if order > 1:
                check(pulled(f), args, order - 1, message)

    check(f, tuple(args), order, "")
