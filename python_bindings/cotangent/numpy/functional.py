"""Functions that take functions: over elements, along axes, over pieces of the domain, over indices."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import as_list, check_arguments
from cotangent._base.boundary import leaving
from cotangent._base.capture import wraps
from cotangent._base.carriers import map_every_leaf
from cotangent._core import Array
from cotangent._ops.binding import convert
from cotangent._ops.broadcasting import broadcast_to
from cotangent._ops.choice import where
from cotangent._ops.comparisons import truth
from cotangent._ops.extents import capacities
from cotangent._ops.ranges import arange
from cotangent._ops.shapes import expand_dims, moveaxis
from cotangent._ops.sizes import insert_axes, normalize_axis, several
from cotangent._transforms.batching import vmap
from cotangent.errors import ShapeError

__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction", "piecewise", "vectorize"]

Function = Callable[..., Any]
Dims = tuple[str, ...]

_DIMS = r"\(\s*(?:\w+\s*(?:,\s*\w+\s*)*,?\s*)?\)"
_SIGNATURE = rf"\s*({_DIMS}\s*(?:,\s*{_DIMS}\s*)*)?->\s*({_DIMS}\s*(?:,\s*{_DIMS}\s*)*)\s*"


def _parse_signature(text: str) -> tuple[list[Dims], list[Dims]]:
    """``"(m,n),(n)->(m)"``: the names of the core dimensions of the arguments and of the results."""
    match = re.fullmatch(_SIGNATURE, text)
    if match is None:
        raise ValueError(f"vectorize: {text!r} is not a signature\n  write it like '(m,n),(n)->(m)'")

    def groups(part: str | None) -> list[Dims]:
        return [tuple(re.findall(r"\w+", group)) for group in re.findall(_DIMS, part or "")]

    return groups(match[1]), groups(match[2])


def vectorize(
    pyfunc: Function | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Collection[int | str] | None = frozenset(),
    cache: bool = False,
    signature: str | None = None,
) -> Function:
    """A function of arrays that applies another one to each element, or to each sub-array, with broadcasting.

    It is `vmap` for every axis: the function is called once, on traced values.

    Parameters
    ----------
    pyfunc : callable
        A function of scalars, or of arrays with the axes that ``signature`` names. Without it, what takes one is
        returned: a decorator.
    otypes : str or sequence of dtype, optional
        The dtype of each result: characters, such as ``"fd"``, or dtypes. None: as the function returns them.
    doc : str, optional
        The docstring. None: that of the function.
    excluded : collection of int and str, default none
        Positions and names of arguments that are passed on as they are.
    cache : bool, default False
        Without effect: the function is called once.
    signature : str, optional
        Such as ``"(m,n),(n)->(m)"``: the last axes of each argument that one call takes, and of each result.

    Returns
    -------
    callable
        Takes arrays, whose other axes are broadcast.

    Raises
    ------
    ValueError
        The signature cannot be read.
    TypeError
        It has another number of arguments or results.
    ShapeError
        Sizes of one name differ.

    Examples
    --------
    >>> inner = ct.numpy.vectorize(ct.numpy.dot, signature="(n),(n)->()")
    >>> inner(ct.numpy.array([[1.0, 2.0], [3.0, 4.0]]), ct.numpy.array([10.0, 1.0]))
    Array([12., 34.], dtype=float32)
    """
    if pyfunc is None:
        return functools.partial(vectorize, otypes=otypes, doc=doc, excluded=excluded, cache=cache, signature=signature)
    excluded = frozenset() if excluded is None else excluded
    dtypes = None if otypes is None else [_core.canonical_dtype(item) for item in otypes]
    for item in excluded:
        if not isinstance(item, (int, str)):
            raise TypeError(
                f"vectorize: excluded holds positions and names of arguments; got {item!r}\n"
                f"  write them as excluded={{0, 'scale'}}"
            )
        if isinstance(item, int) and item < 0:
            raise ValueError(
                f"vectorize: excluded positions must not be negative; got {item}\n"
                "  count from the front: the first argument is 0"
            )
    parsed = None if signature is None else _parse_signature(signature)

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        kept = {name: value for name, value in kwargs.items() if name in excluded}
        names = [name for name in kwargs if name not in excluded]
        # None is no array: it is passed on as it is.
        absent = {i for i, value in enumerate(args) if value is None and i not in excluded}
        if parsed is not None and names:
            raise TypeError(
                f"vectorize: arguments of a signature are positional; got {names} by name\n"
                f"  give them by position, or leave them to the function: excluded={{{', '.join(map(repr, names))}}}"
            )
        mapped = [i for i in range(len(args)) if i not in excluded and i not in absent]
        inputs = parsed and _inputs_of_given(parsed[0], [i for i in range(len(args)) if i not in excluded], absent)

        @wraps(pyfunc)
        def core(*arrays: Any) -> Any:
            values = list(args)
            for i, value in zip(mapped, arrays, strict=False):
                values[i] = value
            return pyfunc(*values, **dict(zip(names, arrays[len(mapped) :], strict=True)), **kept)

        arrays = [_core.array(args[i]) for i in mapped] + [_core.array(kwargs[name]) for name in names]
        for meeting in _meetings(arrays, inputs):
            _core.check_sizes([x for x, _ in meeting], [axis for _, axis in meeting])
        result = _broadcast_map(core, arrays, inputs, parsed and parsed[1])
        return result if dtypes is None else _of_dtypes(result, dtypes)

    named = leaving(vectorized)
    named.__name__ = getattr(pyfunc, "__name__", "vectorized")
    named.__doc__ = getattr(pyfunc, "__doc__", None) if doc is None else doc
    named.__wrapped__ = pyfunc  # type: ignore[attr-defined]
    return named


def _of_dtypes(result: Any, dtypes: list[Any]) -> Any:
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(dtypes):
        raise ValueError(
            f"vectorize: otypes has {len(dtypes)} dtypes; the function returned {len(results)} results\n"
            "  give one dtype for each result"
        )
    converted = tuple(convert(_core.array(x), dtype) for x, dtype in zip(results, dtypes, strict=True))
    return converted if isinstance(result, tuple) else converted[0]


def _inputs_of_given(inputs: list[Dims], positions: list[int], absent: set[int]) -> list[Dims]:
    """The parts of a signature for the arguments that are not None."""
    if len(inputs) != len(positions):
        raise TypeError(
            f"vectorize: the signature has {len(inputs)} arguments, but {len(positions)} are given\n"
            f"  write one (...) for each argument, with commas between them, or exclude some: excluded={{1}}"
        )
    for i, dims in zip(positions, inputs, strict=True):
        if i in absent and dims:
            raise ValueError(
                f"vectorize: argument {i} is None, but the signature gives it the axes ({','.join(dims)})\n"
                "  write () for an argument that may be None"
            )
    return [dims for i, dims in zip(positions, inputs, strict=True) if i not in absent]


def _meetings(arrays: list[Array], inputs: list[Dims] | None) -> Iterable[list[tuple[Array, int]]]:
    """The axes that are of one size: those of a name, and those that are mapped, counted from the last."""
    found: dict[int | str, list[tuple[Array, int]]] = {}
    for i, x in enumerate(arrays):
        dims = () if inputs is None or i >= len(inputs) else inputs[i]
        split = x.ndim - len(dims)
        for axis in range(x.ndim):
            found.setdefault(dims[axis - split] if axis >= split else axis - split, []).append((x, axis))
    return found.values()


def _broadcast_map(core: Function, arrays: list[Array], inputs: list[Dims] | None, outputs: list[Dims] | None) -> Any:
    inputs = [()] * len(arrays) if inputs is None else inputs
    sizes: dict[str, int] = {}
    leads: list[tuple[int, ...]] = []
    for i, (x, dims) in enumerate(zip(arrays, inputs, strict=True)):
        if x.ndim < len(dims):
            raise ShapeError(
                f"vectorize: argument {i} of shape {x.shape} needs the axes ({','.join(dims)})\n"
                "  give it the axes first: x[None], or write fewer names in the signature"
            )
        split = x.ndim - len(dims)
        leads.append(capacities(x)[:split])
        for name, size in zip(dims, capacities(x)[split:], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ShapeError(
                    f"vectorize: dimension {name!r} is {sizes[name]}, but {size} in argument {i}\n"
                    "  write two names in the signature, or cut the arrays to one size"
                )
    lead = _core.broadcast_shapes(leads)
    rank = len(lead)
    # An axis of size 1 that others stretch is dropped, and not mapped.
    mapped: list[list[bool]] = []
    squeezed: list[Array] = []
    for x, own in zip(arrays, leads, strict=True):
        wide = (1,) * (rank - len(own)) + own
        mapped.append([size != 1 for size in wide])
        kept = [size for size in own if size != 1]
        shape = [*kept, *capacities(x)[len(own) :]]
        squeezed.append(x if len(kept) == len(own) else primitives.reshape(x, shape=shape))
    function = _checked(core, outputs, sizes)
    for axis in reversed(range(rank)):
        in_axes = tuple(0 if flags[axis] else None for flags in mapped)
        if any(item is not None for item in in_axes):
            function = vmap(function, in_axes=in_axes)
    result = function(*squeezed)
    single = [axis for axis in range(rank) if not any(flags[axis] for flags in mapped)]
    if not single:
        return result

    def widen(x: Any) -> Array:
        array = _core.array(x)
        return insert_axes(array, single)

    return tuple(widen(x) for x in result) if isinstance(result, tuple) else widen(result)


def _checked(core: Function, outputs: list[Dims] | None, sizes: dict[str, int]) -> Function:
    """The function, with its results compared with the signature."""
    if outputs is None:
        return core

    def function(*arrays: Any) -> Any:
        result = core(*arrays)
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(outputs):
            raise TypeError(
                f"vectorize: the signature has {len(outputs)} results; the function returned {len(results)}\n"
                "  return a tuple of as many results as the signature has after ->"
            )
        known = dict(sizes)
        for dims, x in zip(outputs, results, strict=True):
            shape = capacities(_core.array(x))
            if len(shape) != len(dims) or any(known.setdefault(n, s) != s for n, s in zip(dims, shape, strict=True)):
                raise ShapeError(
                    f"vectorize: the function returned shape {shape}, but the signature has ({','.join(dims)}) "
                    f"with {', '.join(f'{name}={size}' for name, size in sizes.items())}\n"
                    "  write the sizes of what it returns after ->"
                )
        return result

    return function


def apply_along_axis(func1d: Function, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of every line of an array along an axis.

    Parameters
    ----------
    func1d : callable
        Of an array of one axis; called once, on traced values.
    axis : int
        Along which axis the lines are.
    arr : array
        Numbers of any dtype.
    *args, **kwargs : object
        Handed to the function.

    Returns
    -------
    array
        The axes of the function's result take the place of the axis. Of a pytree of arrays, one of such.

    Examples
    --------
    >>> ct.numpy.apply_along_axis(ct.numpy.cumsum, 0, np.array([[1, 2], [3, 4]]))
    Array([[1, 2],
           [4, 6]], dtype=int64)
    """
    x = _core.array(arr)
    axis = normalize_axis(axis, x.ndim, "apply_along_axis")

    def function(line: Array) -> Any:
        return func1d(line, *args, **kwargs)

    for _ in range(x.ndim - 1):
        function = vmap(function)
    result = function(moveaxis(x, axis, -1))
    lead = x.ndim - 1

    def place(y: Any) -> Array:
        array = _core.array(y)
        count = array.ndim - lead
        return moveaxis(array, tuple(range(lead, array.ndim)), tuple(range(axis, axis + count)))

    return map_every_leaf(place, result)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Any) -> Array:
    """A function that reduces an axis, of one axis after the other.

    Parameters
    ----------
    func : callable
        Called as ``func(a, axis)``; an axis that it removes is put back with size 1.
    a : array
        Numbers of any dtype.
    axes : int or sequence of int
        Which axes.

    Returns
    -------
    array
        With as many axes as ``a``.

    Raises
    ------
    ValueError
        The function's result has another number of axes.

    Examples
    --------
    >>> ct.numpy.apply_over_axes(ct.numpy.sum, [[1, 2], [3, 4]], (0, 1))
    Array([[10]], dtype=int32)
    """
    x = _core.array(a)
    rank = x.ndim
    for axis in axes if several(axes) else (axes,):
        position = normalize_axis(axis, rank, "apply_over_axes")
        result = _core.array(func(x, position))
        if result.ndim == rank - 1:
            result = expand_dims(result, position)
        if result.ndim != rank:
            raise ValueError(
                f"apply_over_axes: the function returned {result.ndim} axes of an array with {rank}; "
                "it must keep them, or remove the one that it is given\n"
                "  sum with keepdims=True, or over the one axis that the function is given"
            )
        x = result
    return x


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Array:
    """A function that is defined by pieces, at each element of an array.

    Where several conditions hold, the last one counts.

    Parameters
    ----------
    x : array
        The elements.
    condlist : sequence of array
        Bools of the shape of ``x``, or one array of them.
    funclist : sequence of callable and number
        One for each condition, and possibly one more for where none holds, which is 0 otherwise.
    *args, **kw : object
        Handed to the functions.

    Returns
    -------
    array
        Of the dtype and the shape of ``x``.

    Raises
    ------
    ValueError
        The sequences do not have fitting lengths.

    Examples
    --------
    >>> x = ct.numpy.array([-2.0, 0.0, 3.0])
    >>> ct.numpy.piecewise(x, [x < 0, x > 0], [lambda t: -t, lambda t: 10 * t])
    Array([ 2.,  0., 30.], dtype=float32)
    """
    array = _core.array(x)
    if not isinstance(condlist, (list, tuple)):
        whole = _core.array(condlist)
        condlist = [whole] if whole.shape == array.shape else list(whole)
    elif condlist and not isinstance(condlist[0], (list, tuple, np.ndarray, Array)) and array.ndim:
        condlist = [condlist]
    of_each = "give one function for each condition, and one more for where none holds"
    functions = as_list("piecewise", "funclist", funclist, of_each)
    if len(functions) == len(condlist) + 1:
        other = functions.pop()
    elif len(functions) == len(condlist):
        other = 0
    else:
        raise ValueError(
            f"piecewise: {len(condlist)} conditions take as many functions, or one more; got {len(functions)}\n"
            f"  {of_each}"
        )

    def value(function: Any) -> Array:
        made = _core.array(function(array, *args, **kw) if callable(function) else function)
        return broadcast_to(_core.convert(made, array.dtype), array.shape)

    result = value(other)
    for condition, function in zip(condlist, functions, strict=True):
        result = where(truth(condition), value(function), result)
    return result


def fromfunction(function: Function, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """The array whose element at an index is a function of the index.

    Parameters
    ----------
    function : callable
        Of one integer for each axis; called once, on traced scalars.
    shape : int or sequence of int
        The sizes of the axes.
    dtype : dtype, default float
        Of the indices: float is the default floating dtype.
    **kwargs : object
        Handed to the function.

    Returns
    -------
    array
        Of the shape. Of a pytree of results, one of arrays.

    Examples
    --------
    >>> ct.numpy.fromfunction(lambda i, j: 10 * i + j, (2, 2), dtype=int)
    Array([[ 0,  1],
           [10, 11]], dtype=int32)
    """
    sizes = tuple(shape) if isinstance(shape, (tuple, list, np.ndarray)) else (shape,)

    @wraps(function)
    def mapped(*index: Any) -> Any:
        return function(*index, **kwargs)

    for position in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple(0 if i == position else None for i in range(len(sizes))))
    return mapped(*(arange(size, dtype=dtype) for size in sizes))


check_arguments(globals())
