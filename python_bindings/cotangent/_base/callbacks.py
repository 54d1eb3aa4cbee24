"""Python functions called by running programs: `pure_callback`, `io_callback`, and what `cotangent.debug` is made of.

All are one primitive, ``host_callback``. What it calls takes and returns lists of arrays; `_Adapter` makes that of a function of pytrees.
An adapter is made once for a function and a structure, so that programs captured again with the same callback are equal and are not
compiled again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.capture import ShapeDtypeStruct, check_callable, flatten_arguments, function_name
from cotangent._base.dimensions import Dim, bound_of
from cotangent._base.keys import KEY_DTYPE
from cotangent._base.messages import indented, placed, sizes_of
from cotangent._core import Array, PyTreeDef
from cotangent.errors import ConcretizationError

# What the exceptions of callbacks become; `cotangent.jax` makes them JAX's. None: they stay what they are.
raised_as: Callable[[Exception], Exception] | None = None
# What callbacks are given for an array of NumPy; `cotangent.jax` gives them arrays of JAX's. None: NumPy's.
given_as: Callable[[np.ndarray[Any, Any]], Any] | None = None

_UINT64 = np.dtype("uint64")

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


class _Adapter:
    """A function of pytrees as one of lists of arrays."""

    def __init__(
        self,
        callback: Callable[..., Any],
        structure: PyTreeDef,
        out_structure: PyTreeDef | None,
        static: tuple[Any, ...],
        keys: tuple[int, ...],
    ) -> None:
        self.callback = callback
        self.structure = structure  # of (args, kwargs)
        self.out_structure = out_structure  # None: what the function returns does not matter
        self.static = static  # (position, value) of leaves that are no arrays
        self.keys = keys  # which of the arrays are random keys, given as numbers of 64 bits

    def __call__(self, arrays: list[np.ndarray[Any, Any]]) -> Sequence[Any]:
        leaves: list[Any] = [
            primitives.bitcast(array, dtype=KEY_DTYPE)
            if position in self.keys
            else array
            if given_as is None
            else given_as(array)
            for position, array in enumerate(arrays)
        ]
        for position, value in self.static:
            leaves.insert(position, value)
        args, kwargs = self.structure.unflatten(leaves)
        try:
            result = self.callback(*args, **kwargs)
        except Exception as error:
            if raised_as is None:
                raise
            raise raised_as(error) from error
        if self.out_structure is None:
            return ()
        try:
            return self.out_structure.flatten_up_to(result)
        except ValueError as error:
            raise TypeError(
                f"the callback {function_name(self.callback)} must return what result_shape_dtypes says\n{indented(error)}\n"
                "  return the containers of result_shape_dtypes, an array for each of its leaves"
                "\n  see docs/errors.md#callback-result"
            ) from None

    def __repr__(self) -> str:
        return function_name(self.callback)


_cached_adapter = functools.lru_cache(maxsize=4096)(_Adapter)


def _adapter(
    callback: Callable[..., Any],
    structure: PyTreeDef,
    out_structure: PyTreeDef | None = None,
    static: tuple[Any, ...] = (),
    keys: tuple[int, ...] = (),
) -> _Adapter:
    try:
        return _cached_adapter(callback, structure, out_structure, static, keys)
    except TypeError:  # something is not hashable
        return _Adapter(callback, structure, out_structure, static, keys)


def _without_keys(operands: Sequence[Any]) -> tuple[list[Any], tuple[int, ...]]:
    """Operands with numbers for random keys, of which NumPy has no arrays, and the positions of these."""
    keys = tuple(i for i, x in enumerate(operands) if isinstance(x, Array) and _core.dtype_kind(x.dtype) == "key")
    return [primitives.bitcast(x, dtype=_UINT64) if i in keys else x for i, x in enumerate(operands)], keys


def bind_callback(
    adapter: Callable[..., Any],
    operands: Sequence[Any],
    effect: str,
    results: Sequence[tuple[tuple[int, ...], Any]] = (),
    batching: str = "sequential",
) -> list[Array]:
    """One ``host_callback`` equation: ``adapter(list of NumPy arrays)`` returns a sequence of ``results``."""
    types = " ".join(f"{_core.dtype_name(dtype)}[{','.join(map(str, shape))}]" for shape, dtype in results)
    return primitives.host_callback(
        *operands,
        callback=adapter,
        effect=effect,
        results=types,
        batching=batching,
        ragged=[],
        lengths=0,
    )


def bind_debug(callback: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Calls for the effect alone. Leaves that are no arrays are handed to the callback as they are."""
    leaves, structure = _core.tree_flatten((args, kwargs), None)
    operands: list[Any] = []
    static: list[tuple[int, Any]] = []
    for position, leaf in enumerate(leaves):
        if (
            isinstance(leaf, (Array, np.ndarray, np.generic))
            or _core.is_python_scalar(leaf)
            or _core.has_array_method(leaf)
        ):
            operands.append(leaf)
        else:
            static.append((position, leaf))
    operands, keys = _without_keys(operands)
    bind_callback(_adapter(callback, structure, None, tuple(static), keys), operands, "debug")


def _is_type(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _result_types(result_shape_dtypes: Any, transform: str) -> tuple[list[tuple[tuple[int, ...], Any]], PyTreeDef]:
    leaves, structure = _core.tree_flatten(result_shape_dtypes, _is_type)
    types: list[tuple[tuple[int, ...], Any]] = []
    for leaf in leaves:
        if _core.is_python_scalar(leaf):
            types.append(((), _core.scalar_type(leaf)[0]))
            continue
        if not _is_type(leaf):
            raise TypeError(
                f"{transform}: result_shape_dtypes must be made of things with shape and dtype (ct.ShapeDtypeStruct, arrays) or numbers; "
                f"got {type(leaf).__name__}\n  of a float32 scalar write ct.ShapeDtypeStruct((), 'float32')"
            )
        if any(isinstance(size, Dim) and size.least != size.bound for size in leaf.shape):
            sizes = tuple(bound_of(size) for size in leaf.shape)
            raise ConcretizationError(
                placed(
                    f"{transform}: a result of shape ({', '.join(sizes_of(leaf.shape))}) has a ragged size, and those of callbacks are exact",
                    "let the callback pad its result to the bound, and cut it behind the call:"
                    f" {transform}(callback, ct.ShapeDtypeStruct({sizes}, {str(np.dtype(leaf.dtype))!r}), x)[:x.shape[0]]",
                )
            )
        shape = _core.broadcast_shapes([tuple(int(size) for size in leaf.shape)])  # whose sizes have 64 bits
        spec = ShapeDtypeStruct(shape, leaf.dtype)
        types.append((spec.shape, spec.dtype))
    return types, structure


def _call(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    effect: str,
    batching: str,
    transform: str,
) -> Any:
    check_callable(callback, transform)
    types, out_structure = _result_types(result_shape_dtypes, transform)
    operands, structure = flatten_arguments((args, kwargs), function_name(callback))
    operands, keys = _without_keys(operands)
    adapter = _adapter(callback, structure, out_structure, keys=keys)
    results = bind_callback(adapter, operands, effect, types, batching)
    return out_structure.unflatten(results)


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Calls a Python function without side effects, also from inside of compiled programs.

    An exception of the callback ends the program and is raised where the program was called.

    Parameters
    ----------
    callback : callable
        A function of pytrees of read-only NumPy arrays; random keys are arrays of keys. It may be called any number of times, or never when nothing
        uses its results.
    result_shape_dtypes : pytree of ShapeDtypeStruct
        A pytree of `ShapeDtypeStruct` (or arrays, or numbers): what it returns. Widths are converted (float64 to
        float32, say); shapes and kinds of dtype must be these.
    *args : pytrees of arrays
        Positional arguments, pytrees of arrays.
    sharding : None
        Only None: there is one device.
    vmap_method : str, optional
        What ``vmap`` does. ``"sequential"`` calls once for each example. The others call once for all, with a batch
        axis in front of every batched argument and expect one in front of every result: arguments that are not batched
        get an axis of size 1 (``"expand_dims"``), are repeated (``"broadcast_all"``) or stay as they are
        (``"legacy_vectorized"``). None: an error under ``vmap``.
    **kwargs : pytrees of arrays
        Keyword arguments, the same.

    Returns
    -------
    pytree of arrays
        Arrays in the structure of ``result_shape_dtypes``.

    Raises
    ------
    ShapeError, DTypeError, TypeError
        The callback returns something else than ``result_shape_dtypes`` says: of another shape, kind of dtype, or
        structure.
    ValueError
        ``vmap_method`` is none of these.
    NotImplementedError
        It is mapped with `vmap`, and ``vmap_method`` is None.
    NotDifferentiableError
        It is differentiated; wrap the call in a `custom_jvp` or `custom_vjp` function.

    Examples
    --------
    >>> f = ct.jit(lambda x: ct.pure_callback(np.sinh, x, x, vmap_method="broadcast_all") + 1)
    >>> float(f(0.0))
    1.0
    >>> ct.vmap(f)(np.zeros(3, np.float32)).tolist()
    [1.0, 1.0, 1.0]
    """
    if sharding is not None:
        raise ValueError("pure_callback: sharding must be None: there is one device\n  leave sharding out")
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"pure_callback: vmap_method must be None or one of {list(VMAP_METHODS)}; got {vmap_method!r}"
            f"{suggestion(vmap_method, VMAP_METHODS)}\n  pass vmap_method='sequential' to call it once for each example"
        )
    # Calls in a sequence are calls in a sequence, whether the loop is unrolled or not.
    batching = "sequential" if vmap_method == "sequential_unrolled" else vmap_method or ""
    return _call(callback, result_shape_dtypes, args, kwargs, "none", batching, "pure_callback")


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function with side effects, exactly once wherever the program gets there, in program order.

    Under `vmap` the function is called once for each example, from the first to the last. It cannot be differentiated.

    Parameters
    ----------
    callback : callable
        A function of pytrees of read-only NumPy arrays.
    result_shape_dtypes : pytree of ShapeDtypeStruct
        What it returns; arrays and numbers say it, too.
    *args : pytrees of arrays
        Positional arguments.
    sharding : None
        Only None: there is one device.
    ordered : bool, default False
        Accepted for compatibility: calls are always in the program's order.
    **kwargs : pytrees of arrays
        Keyword arguments.

    Returns
    -------
    pytree of arrays
        In the structure of ``result_shape_dtypes``.

    Raises
    ------
    ShapeError, DTypeError, TypeError
        The callback returns something else than ``result_shape_dtypes`` says: of another shape, kind of dtype, or
        structure.

    Examples
    --------
    >>> log = []
    >>> def take(x):
    ...     log.append(float(x))
    ...     return np.int32(len(log))
    >>> f = ct.jit(lambda x: ct.experimental.io_callback(take, ct.ShapeDtypeStruct((), "int32"), x))
    >>> int(f(1.0)), int(f(2.0)), log
    (1, 2, [1.0, 2.0])
    """
    del ordered
    if sharding is not None:
        raise ValueError("io_callback: sharding must be None: there is one device\n  leave sharding out")
    return _call(callback, result_shape_dtypes, args, kwargs, "io", "sequential", "io_callback")


def effects_barrier() -> None:
    """Waits until all side effects of programs have happened.

    That is at once, because programs run to their end before they return.

    Examples
    --------
    >>> ct.jit(lambda x: ct.debug.print("x = {}", x))(1)
    x = 1
    >>> ct.effects_barrier()
    """


check_arguments(globals())
