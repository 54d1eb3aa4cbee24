"""What linear algebra shares: dtypes, shapes and batches of matrices ``[..., m, n]``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from numpy.linalg import LinAlgError

from cotangent import _core
from cotangent import _ops as ops
from cotangent._base import primitives
from cotangent._core import Array
from cotangent._ops.binding import convert, kind, literal
from cotangent.errors import DTypeError

Function = TypeVar("Function", bound=Callable[..., Any])


def _one_dtype(operands: tuple[Any, ...], promote: bool, name: str) -> list[Array]:
    arrays = [_core.array(x) for x in operands]
    if promote:
        dtype = _core.promote_types([(x.dtype, x.weak_type) for x in arrays])[0]
        if _core.dtype_kind(dtype) not in ("float", "complex"):
            dtype = _core.default_float_dtype()
        return [convert(x, dtype) for x in arrays]
    if len({x.dtype for x in arrays}) > 1:
        given = ", ".join(x.dtype.name for x in arrays)
        raise DTypeError(f"{name}: arrays must have equal dtypes; got {given}\n  convert them with .astype(...)")
    if _core.dtype_kind(arrays[0].dtype) not in ("float", "complex"):
        raise DTypeError(f"{name} takes floating or complex arrays; got {arrays[0].dtype}\n  convert with .astype(...)")
    return arrays


def matrices(count: int = 1, promote: bool = True) -> Callable[[Function], Function]:
    """Gives a function its first ``count`` arguments as arrays of one dtype, and never of less than 32 bits.

    What it returns as float32 because of that is narrowed again. Without ``promote`` the dtypes must be equal already.
    """

    def decorate(function: Function) -> Function:
        operands = list(inspect.signature(function).parameters.values())[:count]
        named = [each.name for each in operands if each.kind is each.POSITIONAL_OR_KEYWORD]

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            for name in named[len(args) :]:
                if name not in kwargs:
                    break
                args = (*args, kwargs.pop(name))
            if not args:
                return function(**kwargs)  # which says what is missing
            arrays = _one_dtype(args[:count], promote, function.__name__)
            dtype = arrays[0].dtype
            if dtype.itemsize >= 4 or _core.dtype_kind(dtype) != "float":
                return function(*arrays, *args[count:], **kwargs)
            result = function(*[convert(x, "float32") for x in arrays], *args[count:], **kwargs)

            def narrow(r: Any) -> Any:
                return convert(r, dtype) if isinstance(r, Array) and r.dtype == "float32" else r

            if not isinstance(result, tuple):
                return narrow(result)
            parts = map(narrow, result)
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)

        return run  # type: ignore[return-value]

    return decorate


def check_matrix(x: Array, name: str) -> None:
    """Raises LinAlgError when there are fewer than two axes."""
    if x.ndim < 2:
        raise LinAlgError(
            f"{name} takes matrices, with at least two axes; got shape {x.shape}\n"
            "  add an axis: x[:, None] is a column, x[None] a row"
        )


def check_square(x: Array, name: str) -> None:
    """Raises LinAlgError when the last two axes differ."""
    check_matrix(x, name)
    if x._bound_shape[-1] != x._bound_shape[-2]:
        raise LinAlgError(
            f"{name}: the argument must have shape [..., n, n]; got {x.shape}\n"
            "  pinv, lstsq, qr and svd take matrices that are not square"
        )


def adjoint(x: Array) -> Array:
    """The conjugate transpose of the last two axes."""
    return primitives.conj(x.mT) if kind(x) == "complex" else x.mT


def symmetrized(x: Array) -> Array:
    """The Hermitian part."""
    return (x + adjoint(x)) / 2


def identity(x: Array) -> Array:
    """The identity matrix of the size of the last axis of ``x``, which may be ragged."""
    return ops.eye(x.shape[-1], dtype=x.dtype)


def identities(x: Array) -> Array:
    """The identity matrix for each of square matrices: [..., n, n], ragged where ``x`` is."""
    return ops.broadcast_to(identity(x), x.shape)


def with_batch(x: Array, batch: tuple[int, ...], kept: int) -> Array:
    """``x`` with its axes before the last ``kept`` ones broadcast to ``batch``."""
    shape = [*batch, *x._bound_shape[x.ndim - kept :]]
    return _core.broadcast_to(x, shape) if list(x._bound_shape) != shape else x


def one_batch(*operands: tuple[Array, int]) -> list[Array]:
    """Operands, given with their number of axes that are no batch, with batch axes broadcast against each other."""
    batch = _core.broadcast_shapes([x._bound_shape[: x.ndim - kept] for x, kept in operands])
    return [with_batch(x, batch, kept) for x, kept in operands]


def diagonal(x: Array) -> Array:
    """The main diagonal of square matrices: [..., n], which may be ragged."""
    shape, rank = list(x._bound_shape), x.ndim
    int32 = _core.canonical_dtype("int32")
    rows, columns = (primitives.iota(shape=shape, dtype=int32, axis=axis) for axis in (rank - 2, rank - 1))
    return primitives.reduce_sum(primitives.select(primitives.eq(rows, columns), x, literal(x, 0)), axes=[rank - 1])


def trace(x: Array) -> Array:
    """The sum of the main diagonal of square matrices."""
    return ops.sum(diagonal(x), -1)


def to_complex(x: Array) -> Array:
    """``x`` with a complex dtype."""
    return x if kind(x) == "complex" else convert(x, "complex128" if x.dtype.itemsize == 8 else "complex64")
