"""Functions of elements as objects: ``add(x, y)``, and ``add.reduce``, ``accumulate``, ``outer``, ``at``, ``reduceat``.

A `ufunc` is a function of elements with, for its methods, the array functions that do the same faster (`sum` for
``add.reduce``) where there are some. The others are folds: a tree of halves for functions that are associative, a scan from
left to right for what `frompyfunc` makes.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import as_ragged_as
from cotangent._base.pickling import own_name
from cotangent._core import Array
from cotangent._ops import arithmetic as elementwise
from cotangent._ops import comparisons
from cotangent._ops.binding import convert, empty_fold, is_host_value, kind, no_out
from cotangent._ops.choice import where as _where
from cotangent._ops.extents import capacities, capacity, drop_axes, join_axes, shaped_like, stretched
from cotangent._ops.positions import known
from cotangent._ops.shapes import moveaxis
from cotangent._ops.sizes import bound_size, insert_axes, keep_axes, move_last, normalize_axes, normalize_axis
from cotangent._transforms.control_flow import scan
from cotangent.numpy.functional import vectorize

__all__ = ["frompyfunc", "ufunc"]


Function = Callable[..., Any]
Result = TypeVar("Result")


class ufunc(Generic[Result]):  # noqa: N801 (NumPy's name)
    """A function of elements as an object, with methods that fold it, such as ``add`` and ``add.reduce``.

    `frompyfunc` makes one of a Python function. Two are equal that are made of equal functions. Attributes cannot be
    set.

    Parameters
    ----------
    function : callable
        Of ``nin`` arrays, with broadcasting; returns ``nout``.
    nin, nout : int
        How many arrays it takes and returns.
    name : str, optional
        Its name. None: that of the function.
    identity : number, optional
        The element that changes nothing, which is the result of folding none.
    associative : bool, default False
        Whether folds may take elements in pairs; else they go from left to right.
    reduce, accumulate : callable, optional
        Functions of (array, axis, dtype, …) that do the same as folding with this one.
    at : str, optional
        The name of the method of ``x.at[...]`` that does the same.
    key : hashable, optional
        What it is equal by, with the counts and the identity. None: the function.

    Examples
    --------
    >>> ct.numpy.multiply.reduce([2, 3, 4])
    Array(24, dtype=int32)
    """

    nin: int
    nout: int
    identity: Any
    __name__: str
    _func: Function
    _associative: bool
    _reduce: Function | None
    _accumulate: Function | None
    _at: str | None
    _key: tuple[Any, ...]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return own_name(self) or super().__reduce_ex__(protocol)

    def __copy__(self) -> ufunc[Result]:
        return self

    def __deepcopy__(self, memo: Any) -> ufunc[Result]:
        return self

    def __init__(
        self,
        function: Function,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        identity: Any = None,
        associative: bool = False,
        reduce: Function | None = None,
        accumulate: Function | None = None,
        at: str | None = None,
        key: Any = None,
    ) -> None:
        vars(self).update(
            _func=function,
            nin=nin,
            nout=nout,
            identity=identity,
            __name__=name or getattr(function, "__name__", "ufunc"),
            __doc__=function.__doc__,
            _associative=associative,
            _reduce=reduce,
            _accumulate=accumulate,
            _at=at,
            _key=(function if key is None else key, nin, nout, identity),
        )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "__signature__":  # as `inspect` and `help` show it: that of the function
                return inspect.signature(self._func)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{self.__name__}.{name} cannot be set\n  write a function of your own around it")

    @property
    def nargs(self) -> int:
        """How many arguments it takes: ``nin``, as there is no ``out``.

        Examples
        --------
        >>> ct.numpy.add.nargs
        2
        """
        return self.nin

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ufunc) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"<ct.numpy.ufunc '{self.__name__}'>"

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Result:
        """The function of the elements of the arguments, which are broadcast.

        Parameters
        ----------
        *args : array
            As many as ``nin``.
        out, where : None
            Must be None.

        Returns
        -------
        array, or tuple of array
            As many as ``nout``.

        Raises
        ------
        TypeError
            There are more or fewer arguments.
        NotImplementedError
            ``out`` or ``where`` is given.

        Examples
        --------
        >>> ct.numpy.add([1, 2], 10)
        Array([11, 12], dtype=int32)
        """
        if out is not None or where is not None:
            raise NotImplementedError(
                f"{self.__name__}: the arguments out and where are not supported\n"
                f"  assign what it returns, out[...] = {self.__name__}(...), and choose with ct.numpy.where"
            )
        if len(args) != self.nin:
            call = f"{self.__name__}({', '.join('xyz'[: self.nin])})"
            instead = f", and assign what it returns: out[...] = {call}" if len(args) > self.nin else f": {call}"
            raise TypeError(f"{self.__name__} takes {self.nin} arguments; got {len(args)}\n  give {self.nin}{instead}")
        return self._func(*args)  # type: ignore[no-any-return]

    def _of_two(self, method: str) -> None:
        if self.nin != 2 or self.nout != 1:
            raise ValueError(
                f"{self.__name__}.{method}: only functions of two arguments with one result have it\n"
                "  write it with ct.lax.scan or ct.vmap, or choose a function of two arguments"
            )

    def reduce(
        self,
        a: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Array:
        """The fold of the elements along axes: ``add.reduce`` is `sum`.

        Parameters
        ----------
        a : array
            Numbers.
        axis : int, sequence of int or None, default 0
            The axes that are folded and removed. None: all.
        dtype : dtype, optional
            Of the result, and of what is folded.
        out : None
            Must be None: write ``out[...] = `` what is returned.
        keepdims : bool, default False
            Whether reduced axes stay, with size 1.
        initial : number, optional
            A number that takes part, too.
        where : array of bool, optional
            Which elements take part; broadcast with ``a``.

        Returns
        -------
        array
            Without the folded axes.

        Raises
        ------
        ValueError
            There are several axes and the function is not associative; there are no elements and no identity; or
            ``where`` is given without identity or ``initial``.

        Examples
        --------
        >>> ct.numpy.maximum.reduce([[1, 5], [4, 2]], axis=1)
        Array([5, 4], dtype=int32)
        """
        self._of_two("reduce")
        no_out(out, f"{self.__name__}.reduce")
        x = _core.array(a)
        axes = normalize_axes(axis, x.ndim, f"{self.__name__}.reduce")
        if self._reduce is not None:
            return self._reduce(x, tuple(axes), dtype, keepdims, initial, where)  # type: ignore[no-any-return]
        if self.identity is None and len(axes) != 1:
            raise ValueError(
                f"{self.__name__}.reduce: the order of {len(axes)} axes would matter\n  reduce one axis at a time"
            )
        if where is not None and self.identity is None and initial is None:
            raise ValueError(
                f"{self.__name__}.reduce: where needs initial, as there is no identity\n"
                "  give what it begins with: initial="
            )
        result = x if dtype is None else convert(x, dtype)
        if where is not None:
            where = stretched(comparisons.truth(_core.array(where)), x)
        if self._associative:
            if where is not None:
                result = _where(where, result, _core.convert(self.identity, result.dtype))
            for position in reversed(axes):
                result = self._fold(result, position)
            if initial is not None:
                result = self._func(_core.convert(initial, result.dtype), result)
        else:
            result = self._fold_in_order(result, axes, initial, where)
        return keep_axes(result, x, axes) if keepdims else result

    def _padded(self, x: Array, axes: Sequence[int]) -> Array:
        """The array with the identity beyond the lengths of ragged axes."""
        for axis in set(axes).intersection(_core.ragged_axes(x)):
            if self.identity is None:
                raise NotImplementedError(
                    f"{self.__name__}.reduce along a ragged axis needs an identity\n"
                    "  make a function with one: ct.numpy.frompyfunc(f, 2, 1, identity=0)"
                )
            # All bits of an unsigned integer, where -1 would be cut off to 0.
            low = self.identity == -1 and kind(x) == "unsigned"
            x = primitives.fill_padding(x, axes=[axis], value=2.0**64 if low else float(self.identity))
        return x

    def _fold(self, x: Array, axis: int) -> Array:
        """All elements along one axis, in pairs; there is an identity."""
        x = move_last(self._padded(x, [axis]), axis)
        size = capacity(x, -1)
        if size == 0:
            return empty_fold(x, [x.ndim - 1], self.identity)
        while size > 1:
            half = size // 2
            pairs = convert(self._func(x[..., :half], x[..., half : 2 * half]), x.dtype)
            x = primitives.concatenate(pairs, x[..., 2 * half :], axis=x.ndim - 1) if size % 2 else pairs
            size = capacity(x, -1)
        return drop_axes(x, [x.ndim - 1])

    def _fold_in_order(self, x: Array, axes: Sequence[int], initial: Any, where: Array | None) -> Array:
        """All elements along axes, from first to last."""
        x = _rows(self._padded(x, axes), axes)
        inside = None if where is None else _rows(where, axes)
        start = self.identity if initial is None else initial
        if start is not None:
            first = empty_fold(x, [0], 0) + _core.convert(start, x.dtype)
        elif capacity(x, 0) == 0:
            raise ValueError(
                f"{self.__name__}.reduce of zero elements has no value, as there is no identity\n"
                "  give what it begins with: initial="
            )
        else:
            first, x = x[0], x[1:]
        return _running(self._func, first, x, inside)[0]

    def accumulate(self, a: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """The running folds along an axis: ``add.accumulate`` is `cumsum`.

        Parameters
        ----------
        a : array
            Numbers.
        axis : int, default 0
            Along which axis.
        dtype : dtype, optional
            Of the result, and of what is folded.
        out : None
            Must be None: write ``out[...] = `` what is returned.

        Returns
        -------
        array
            Of the shape of ``a``.

        Examples
        --------
        >>> ct.numpy.maximum.accumulate([1, 5, 4, 7])
        Array([1, 5, 5, 7], dtype=int32)
        """
        self._of_two("accumulate")
        no_out(out, f"{self.__name__}.accumulate")
        x = _core.array(a)
        position = normalize_axis(axis, x.ndim, f"{self.__name__}.accumulate")
        if self._accumulate is not None:
            return self._accumulate(x, position, dtype)  # type: ignore[no-any-return]
        return _accumulated(self._func, x if dtype is None else convert(x, dtype), position)

    def outer(self, A: Any, B: Any, /) -> Array:
        """The function of all pairs of elements of two arrays.

        Parameters
        ----------
        A, B : array
            Numbers.

        Returns
        -------
        array
            The axes of ``A``, then those of ``B``.

        Examples
        --------
        >>> ct.numpy.subtract.outer(ct.numpy.array([10, 20]), ct.numpy.array([1, 2]))
        Array([[ 9,  8],
               [19, 18]], dtype=int32)
        """
        self._of_two("outer")
        x, y = _core.array(A), _core.array(B)
        if y.ndim:
            x = insert_axes(x, list(range(x.ndim, x.ndim + y.ndim)))
        return self._func(x, y)  # type: ignore[no-any-return]

    def at(self, a: Any, indices: Any, b: Any = None, *, inplace: bool = True) -> Array:
        """An array with the function applied to some of its elements, once for each time that one is named.

        Parameters
        ----------
        a : array
            Numbers.
        indices : index
            As in ``a[indices]``.
        b : array, optional
            The second operand, of functions of two; broadcast to the elements.
        inplace : bool, default True
            Must be given as False: the result is another array.

        Returns
        -------
        array
            Of the dtype and the shape of ``a``.

        Raises
        ------
        ValueError
            ``inplace`` is True, or ``b`` is missing or too much.

        Examples
        --------
        >>> ct.numpy.add.at(np.array([1, 2, 3]), np.array([0, 0, 2]), 10, inplace=False)
        Array([21,  2, 13], dtype=int64)
        """
        if inplace:
            raise ValueError(
                f"{self.__name__}.at: inplace=True is not supported\n  keep what it returns: x = {self.__name__}.at(x, i, y, inplace=False)"
            )
        if (b is None) != (self.nin == 1) or self.nout != 1:
            raise ValueError(
                f"{self.__name__}.at takes {'an array' if self.nin == 2 else 'no second operand'}\n"
                f"  write {self.__name__}.at(x, i{', y' if self.nin == 2 else ''}, inplace=False)"
            )
        x = _core.array(a)
        if self._at is not None:
            return getattr(x.at[indices], self._at)(b)  # type: ignore[no-any-return]
        return _one_by_one(self._func, x, indices, b)

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """The folds of slices along an axis: of those from each index to the next; the element at an index that is not below the next.

        Parameters
        ----------
        a : array
            Numbers.
        indices : array of int, shape (n,)
            Where the slices begin.
        axis : int, default 0
            Along which axis.
        dtype : dtype, optional
            Of the result, and of what is folded.
        out : None
            Must be None: write ``out[...] = `` what is returned.

        Returns
        -------
        array
            With n folds along the axis.

        Raises
        ------
        TypeError
            The indices are not integers along one axis.
        IndexError
            An index is outside.

        Examples
        --------
        >>> ct.numpy.add.reduceat([1, 2, 3, 4], np.array([0, 2]))
        Array([3, 7], dtype=int32)
        """
        self._of_two("reduceat")
        no_out(out, f"{self.__name__}.reduceat")
        x, index = _core.array(a), _core.array(indices)
        if index.ndim != 1 or kind(index) not in ("signed", "unsigned"):
            raise TypeError(
                f"{self.__name__}.reduceat: indices must be integers along one axis\n"
                "  convert them first: indices.astype('int32').ravel()"
            )
        axis = normalize_axis(axis, x.ndim, f"{self.__name__}.reduceat")
        x = move_last(x, axis)
        size = capacity(x, -1)
        if not is_host_value(index):
            folds = self._scanned_folds if self.identity is None else self._masked_folds
            return move_last(folds(x, index, dtype), axis, back=True)
        starts = [int(i) for i in known(index, f"{self.__name__}.reduceat", "")]
        if any(not 0 <= i < size for i in starts):
            raise IndexError(
                f"{self.__name__}.reduceat: an index is outside of [0, {size})\n  give positions from 0 to {size - 1}"
            )
        parts = []
        for start, limit in itertools.pairwise([*starts, size]):
            part = x[..., start : max(limit, start + 1)]
            parts.append(self.reduce(part, -1, dtype, keepdims=True))
        if not parts:
            return move_last(x[..., :0], axis, back=True)
        return move_last(primitives.concatenate(*parts, axis=x.ndim - 1), axis, back=True)

    def _masked_folds(self, x: Array, index: Array, dtype: Any) -> Array:
        """Slices along the last axis whose bounds are values: every fold goes over the whole axis, with a mask."""
        size, count = capacity(x, -1), index.size
        starts, ends = _bounds(index, size)
        position = primitives.iota(shape=[count, size], dtype=np.dtype("int32"), axis=1)
        inside = (position >= starts[:, None]) & (position < ends[:, None])
        row = x[..., None, :]
        wide = stretched(row, row, {row.ndim - 2: count})
        return self.reduce(wide, -1, dtype, where=inside)

    def _scanned_folds(self, x: Array, index: Array, dtype: Any) -> Array:
        """The same without an identity: one scan over the axis, in which a fold begins at its first element."""
        x = x if dtype is None else convert(x, dtype)
        starts, ends = _bounds(index, capacity(x, -1))
        rows = _rows(x, [x.ndim - 1])

        def step(folds: Array, item: tuple[Array, Array]) -> tuple[Array, None]:
            row, position = item
            row = stretched(insert_axes(row, [row.ndim]), folds)
            longer = convert(self._func(folds, row), folds.dtype)
            within = (position > starts) & (position < ends)
            return _where(position == starts, row, _where(within, longer, folds)), None

        positions = primitives.iota(shape=[capacity(rows, 0)], dtype=np.dtype("int32"), axis=0)
        start = _core.full((*capacities(x)[:-1], index.size), 0, x.dtype)
        folds: Array = scan(step, start, (rows, positions))[0]
        return folds


def _bounds(index: Array, size: int) -> tuple[Array, Array]:
    """Where the slices of reduceat begin and end."""
    starts = _core.convert(index, "int32")
    ends = primitives.concatenate(starts[1:], _core.full((min(index.size, 1),), size, "int32"), axis=0)
    return starts, elementwise.maximum(ends, starts + 1)


def _rows(x: Array, axes: Sequence[int]) -> Array:
    """The array with the axes, as one, in front."""
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    x = primitives.transpose(x, permutation=[*axes, *rest])
    return x if len(axes) == 1 else join_axes(x, 0, len(axes))


def _running(function: Function, first: Array, rows: Array, inside: Array | None = None) -> tuple[Array, Array]:
    """Folds from left to right over the first axis, of the elements inside: the last fold, and all of them."""
    dtype = function(first, first).dtype

    def step(fold: Array, item: Any) -> tuple[Array, Array]:
        row, valid = item if inside is not None else (item, None)
        longer = convert(function(fold, row), dtype)
        fold = longer if valid is None else _where(valid, longer, fold)
        return fold, fold

    last, folds = scan(step, convert(first, dtype), rows if inside is None else (rows, inside))
    return last, folds


def _accumulated(function: Function, x: Array, axis: int) -> Array:
    """The folds of the first 1, 2, 3, … elements along an axis."""
    rows = _rows(x, [axis])
    if capacity(rows, 0) > 1:
        rest = _running(function, rows[0], rows[1:])[1]
        rows = primitives.concatenate(convert(rows[:1], rest.dtype), rest, axis=0)
    return moveaxis(rows, 0, axis)


def _one_by_one(function: Function, x: Array, indices: Any, b: Any) -> Array:
    """The function applied at each index in turn, so that an element named twice is changed twice."""
    places = _core.array(np.arange(bound_size(x), dtype=np.int32).reshape(capacities(x)))
    places = as_ragged_as(places, x)[indices]
    flat = primitives.reshape(x, shape=[bound_size(x)])
    order = primitives.reshape(places, shape=[bound_size(places)])
    if b is None:
        operands: Any = order
    else:
        values = stretched(_core.array(b), places)
        operands = (order, primitives.reshape(values, shape=[bound_size(places)]))

    def step(carry: Array, item: Any) -> tuple[Array, None]:
        place, *rest = (item,) if b is None else item
        return carry.at[place].set(convert(function(carry[place], *rest), carry.dtype)), None

    changed, _ = scan(step, flat, operands)
    return as_ragged_as(shaped_like(changed, x), x)  # type: ignore[no-any-return]


def frompyfunc(func: Function, /, nin: int, nout: int, *, identity: Any = None) -> ufunc[Any]:
    """A `ufunc` of a Python function of scalars.

    Parameters
    ----------
    func : callable
        Of ``nin`` scalars; called once for each combination of types, on traced values.
    nin : int
        How many arguments it takes.
    nout : int
        How many results it returns.
    identity : number, optional
        The element that changes nothing, which is the result of folding none.

    Returns
    -------
    ufunc
        A function of arrays, with the methods ``reduce``, ``accumulate``, ``outer``, ``at`` and ``reduceat``.

    Raises
    ------
    ValueError
        A count is not positive.

    Examples
    --------
    >>> f = ct.numpy.frompyfunc(lambda x, y: 10 * x + y, 2, 1)
    >>> int(f.reduce(ct.numpy.array([1, 2, 3])))
    123
    """
    if operator.index(nin) < 1 or operator.index(nout) < 1:
        raise ValueError(
            f"frompyfunc: nin and nout must be positive; got {nin} and {nout}\n"
            "  write frompyfunc(f, 2, 1) for a function of two numbers"
        )
    return ufunc(vectorize(func), nin, nout, name=getattr(func, "__name__", None), identity=identity, key=func)


check_arguments(globals())
# Where those that have a name are found by it, when they are pickled.
ufunc.__module__ = "cotangent.numpy"
