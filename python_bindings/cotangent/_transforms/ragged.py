"""Ragged arrays as values, and `mask`: exact-size programs run on padded data.

A `Ragged` is a pytree node: data padded to a static bound, and one integer length for each ragged axis. ``mask(f)`` runs ``f``, written
for exact sizes, on such values; padding reaches no result and no gradient. Data and lengths are leaves, so everything composes:
``vmap(mask(f))(ragged(rows))`` is ragged batching, and ``jit`` compiles once for all lengths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import aval_of, check_callable, flatten_arguments, function_name, wraps
from cotangent._core import Array, PyTreeDef
from cotangent.errors import ConcretizationError, DTypeError, ShapeError

__all__ = ["Dim", "Ragged", "mask", "ragged"]

_LONGEST = 2**31 - 1


class Ragged:
    """An array padded to a bound, with the real length of each ragged axis.

    Args:
        data: the padded array.
        lengths: axis -> length, a Python int or an integer scalar array (an integer vector when a leading batch axis was stacked in front).
        names: axis -> name; axes of one name have one length.

    Raises:
        ShapeError: an axis the data does not have, an axis given twice, or a concrete length outside ``0 … bound``.
        TypeError: a length that is not an integer.

    >>> import cotangent as ct
    >>> x = ct.Ragged(ct.numpy.array([1.0, 2.0, 9.0]), {0: 2})
    >>> x.unpad().tolist()
    [1.0, 2.0]
    """

    def __init__(self, data: Any, lengths: Mapping[int, Any], names: Mapping[int, str] | None = None) -> None:
        self.data = data if isinstance(data, Array) else _core.array(data)
        shape = self.data._bound_shape
        self._names: dict[int, str] = {}
        self._lengths: dict[int, Any] = {}
        # Axes are kept as counted from the end.
        names_from_end = {axis - len(shape) if axis >= 0 else axis: name for axis, name in (names or {}).items()}
        for axis, length in lengths.items():
            if not -len(shape) <= axis < len(shape):
                raise ShapeError(f"Ragged: axis {axis} is out of bounds for data of shape {shape}")
            axis %= len(shape)
            if axis - len(shape) in self._lengths:
                raise ShapeError(f"Ragged: axis {axis} is given two lengths, once as axis {axis - len(shape)}")
            self._lengths[axis - len(shape)] = _checked_length(length, axis, shape[axis])
            self._names[axis - len(shape)] = names_from_end.get(axis - len(shape), "")

    @classmethod
    def _make(cls, data: Any, lengths: dict[int, Any], names: dict[int, str]) -> Ragged:
        result = object.__new__(cls)
        result.data, result._lengths, result._names = data, lengths, names
        return result

    @property
    def lengths(self) -> dict[int, Any]:
        """Axis -> length. Under a batch axis in front, lengths are vectors along it."""
        return {axis + self.data.ndim: length for axis, length in self._lengths.items()}

    @property
    def names(self) -> dict[int, str]:
        """Axis -> name, for axes that have one."""
        return {axis + self.data.ndim: name for axis, name in self._names.items() if name}

    @property
    def dtype(self) -> Any:
        """The dtype of the data."""
        return self.data.dtype

    def unpad(self) -> Array:
        """The exact-size array; lengths must be concrete scalars."""
        array = _core.array(self.data)
        limit = list(array._bound_shape)
        for axis, length in self.lengths.items():
            if _core.array(length).ndim != 0:
                raise ShapeError("unpad: the lengths are per example; use to_list()")
            limit[axis] = int(length)
        return primitives.slice(array, start=[0] * len(limit), limit=limit, stride=[1] * len(limit))

    def to_list(self) -> list[Array]:
        """The exact-size arrays of a batch stacked along axis 0, with per-example lengths."""
        data = _core.to_numpy(self.data)
        lengths = {
            axis: np.broadcast_to(_core.to_numpy(length), data.shape[:1]) for axis, length in self.lengths.items()
        }
        rows = []
        for index in range(data.shape[0]):
            cut = [slice(None)] * (data.ndim - 1)
            for axis, length in lengths.items():
                cut[axis - 1] = slice(0, int(length[index]))
            rows.append(_core.array(np.ascontiguousarray(data[index][tuple(cut)])))
        return rows

    def __ct_array__(self) -> Array:
        raise TypeError(
            "a Ragged is not an array: its length is known inside ct.mask only\n"
            "  call a function f of arrays as ct.mask(f)(ragged), or as ct.vmap(ct.mask(f))(ragged) if it holds a batch"
        )

    def __repr__(self) -> str:
        return f"Ragged({self.data!r}, lengths={self.lengths!r})"


def _checked_length(length: Any, axis: int, bound: int) -> Array:
    """The length as int32, which holds every size.

    The conversion could wrap it around: before, one that is known is checked, and one that a program computes held to the bound.
    """
    known: Any = length if isinstance(length, int) else None  # may have more bits than any dtype
    if known is None:
        array = _core.array(length)
        if _core.kind(array) not in ("signed", "unsigned", "bool"):
            raise DTypeError(
                f"Ragged: the length of axis {axis} must be of integers; got {array.dtype}\n  convert it with .astype('int32')"
            )
        if _core.is_traced(array):
            if array.dtype == np.int32 or _core.kind(array) == "bool":
                return _core.convert(array, "int32")  # held where the region begins
            return primitives.clamp_length(array, _core.full(array._bound_shape, min(bound, _LONGEST), "int32"))
        known = _core.to_numpy(array).tolist()
    values = np.asarray(known, dtype=object)
    if values.size and (values.min() < 0 or values.max() > bound):
        raise ShapeError(
            f"Ragged: axis {axis} has length {known}, outside 0 … {bound}, the bound that the data is padded to\n"
            "  pad the data to a larger bound"
        )
    return _core.convert(_core.array(length), "int32")


# Inside the node axes are counted from the end, so that a batch axis in front changes nothing.
def _flatten_ragged(value: Ragged) -> tuple[tuple[Any, ...], Any]:
    axes = sorted(value._lengths)
    return (value.data, *(value._lengths[a] for a in axes)), (tuple(axes), tuple(value._names.get(a, "") for a in axes))


def _unflatten_ragged(aux: Any, children: Iterable[Any]) -> Ragged:
    axes, names = aux
    data, *lengths = children
    return Ragged._make(data, dict(zip(axes, lengths, strict=True)), dict(zip(axes, names, strict=True)))


tree_util.register_pytree_node(Ragged, _flatten_ragged, _unflatten_ragged)


def ragged(
    arrays: Sequence[Any], bound: int | Sequence[int] | None = None, names: Mapping[int, str] | None = None
) -> Ragged:
    """A batch of arrays whose sizes differ, padded with zeros and stacked along a new axis 0.

    Args:
        arrays: arrays of one rank and dtype. Axes whose sizes differ become ragged; all axes that differ from ``bound`` too.
        bound: what ragged axes are padded to: for all, or an entry an axis; default the largest size.

    Returns:
        A `Ragged` for ``vmap``: its lengths are vectors along the batch axis, and its axes those of one example.

    >>> import cotangent as ct
    >>> rows = ct.ragged([[1.0, 2.0, 3.0], [4.0]])
    >>> ct.vmap(ct.mask(ct.numpy.sum))(rows).tolist()
    [6.0, 4.0]
    """
    items = [_core.to_numpy(_core.array(a)) for a in arrays]
    if not items:
        raise ValueError("ragged needs at least one array")
    rank = items[0].ndim
    if rank == 0 or any(item.ndim != rank for item in items):
        raise ShapeError(
            f"ragged: arrays must have one rank of at least 1; got ranks {sorted({item.ndim for item in items})}"
        )
    largest = [max(item.shape[axis] for item in items) for axis in range(rank)]
    wanted = list(bound) if isinstance(bound, (tuple, list)) else [bound] * rank
    if len(wanted) != rank:
        raise ShapeError(f"ragged: bound has {len(wanted)} entries for arrays with {rank} axes")
    varies = [len({item.shape[axis] for item in items}) > 1 for axis in range(rank)]
    if not any(varies) and rank >= 1 and (bound is None or isinstance(bound, int)):
        varies[0] = True
    if not isinstance(bound, (tuple, list)):
        wanted = [w if v else None for w, v in zip(wanted, varies, strict=True)]
    shape = [size if w is None else int(w) for size, w in zip(largest, wanted, strict=True)]  # type: ignore[arg-type]
    for axis in range(rank):
        if largest[axis] > shape[axis]:
            raise ShapeError(f"ragged: an array has size {largest[axis]} in axis {axis}, above the bound {shape[axis]}")
    padded = np.zeros((len(items), *shape), dtype=items[0].dtype)
    for index, item in enumerate(items):
        padded[(index, *(slice(0, size) for size in item.shape))] = item  # type: ignore[index]
    axes = [axis for axis in range(rank) if varies[axis] or shape[axis] != largest[axis]]
    lengths = {axis: _core.array(np.array([item.shape[axis] for item in items], dtype=np.int32)) for axis in axes}
    by_axis = {axis - rank: length for axis, length in lengths.items()}
    return Ragged._make(_core.array(padded), by_axis, {axis - rank: (names or {}).get(axis, "") for axis in axes})


class Dim:
    """The size of a ragged axis inside ``mask``: usable as a number, and in comparisons that its bound settles.

    Arithmetic gives arrays; a comparison that the bound cannot settle raises ConcretizationError.
    """

    def __init__(self, bound: int, value: Array, owner: str) -> None:
        self.bound = bound
        self.value = value
        self.owner = owner

    def __ct_array__(self) -> Array:
        return self.value

    def __repr__(self) -> str:
        return f"Dim(<={self.bound})"

    def _undecided(self, text: str) -> ConcretizationError:
        return ConcretizationError(
            f"{text} cannot be settled: the ragged size {self.owner} is anything from 0 to {self.bound}\n"
            "  use ct.numpy.where or ct.lax.cond on the size as a value, or make the program independent of it"
        )

    def __bool__(self) -> bool:
        raise self._undecided(f"the truth of {self.owner}")

    def __int__(self) -> int:
        raise self._undecided(f"int({self.owner})")

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim):
            if other.value is self.value or _core.same_length(self.value, other.value):
                return True
            raise self._undecided(f"{self.owner} == {other.owner} of another array")
        if isinstance(other, int):
            if other < 0 or other > self.bound:
                return False
            raise self._undecided(f"{self.owner} == {other}")
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(Dim)  # equal sizes may belong to other axes, with other bounds

    def __le__(self, other: Any) -> bool:
        return self._compare(other, "<=", other >= self.bound, other < 0)

    def __lt__(self, other: Any) -> bool:
        return self._compare(other, "<", other > self.bound, other <= 0)

    def __ge__(self, other: Any) -> bool:
        return self._compare(other, ">=", other <= 0, other > self.bound)

    def __gt__(self, other: Any) -> bool:
        return self._compare(other, ">", other < 0, other >= self.bound)

    def _compare(self, other: Any, sign: str, always: bool, never: bool) -> bool:
        if not isinstance(other, int):
            raise self._undecided(f"{self.owner} {sign} {other}")
        if always or never:
            return always
        raise self._undecided(f"{self.owner} {sign} {other}")

    def _arithmetic(self, other: Any, name: str) -> Any:
        return getattr(self.value, name)(other.value if isinstance(other, Dim) else other)

    def __add__(self, other: Any) -> Any:
        return self._arithmetic(other, "__add__")

    def __radd__(self, other: Any) -> Any:
        return self._arithmetic(other, "__radd__")

    def __sub__(self, other: Any) -> Any:
        return self._arithmetic(other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return self._arithmetic(other, "__rsub__")

    def __mul__(self, other: Any) -> Any:
        return self._arithmetic(other, "__mul__")

    def __rmul__(self, other: Any) -> Any:
        return self._arithmetic(other, "__rmul__")

    def __truediv__(self, other: Any) -> Any:
        return self._arithmetic(other, "__truediv__")

    def __rtruediv__(self, other: Any) -> Any:
        return self._arithmetic(other, "__rtruediv__")

    def __floordiv__(self, other: Any) -> Any:
        return self._arithmetic(other, "__floordiv__")

    def __mod__(self, other: Any) -> Any:
        return self._arithmetic(other, "__mod__")

    def __pow__(self, other: Any) -> Any:
        return self._arithmetic(other, "__pow__")

    def __neg__(self) -> Any:
        return -self.value


def _symbolic_shape(array: Array, axes: list[int]) -> tuple[Any, ...]:
    """The shape of a traced array with ragged axes: called by the `shape` attribute."""
    shape: list[Any] = list(array._bound_shape)
    for axis in axes:
        length = _core.length_of(array, axis)
        if length is not None:
            shape[axis] = Dim(shape[axis], length, f"axis {axis} (bound {shape[axis]})")
    return tuple(shape)


def _symbolic_size(array: Array, axes: list[int]) -> Dim:
    """The number of elements of a traced array with ragged axes: called by the `size` attribute."""
    bound = math.prod(array._bound_shape)
    count: Any = math.prod(size for axis, size in enumerate(array._bound_shape) if axis not in axes)
    for axis in axes:
        count = _core.length_of(array, axis) * count
    return Dim(bound, count, f"number of elements (bound {bound})")


_core.set_shape_hooks(_symbolic_shape, _symbolic_size)


def mask(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a function written for exact-size arrays on padded ones.

    Args:
        fun: a function of pytrees of arrays; inside, `Ragged` arguments are plain arrays whose ragged axes have a symbolic size.

    Returns:
        A function of the same arguments, any of them `Ragged`; outputs whose shape depends on a length come back as `Ragged`.

    The law: for every length and every padding, NaN and infinity included, ``unpad(mask(f)(pad(x))) == f(x)``; gradients agree on the valid
    elements and are exactly 0 on padding. Where the length is 0 and NumPy has an error, results are those of no elements: ``max`` is the
    least value of the dtype (-inf), ``min`` the largest, and ``argmax`` and ``argmin`` a position that is outside of every array.

    >>> import cotangent as ct
    >>> x = ct.Ragged(ct.numpy.array([3.0, 4.0, ct.numpy.nan]), {0: 2})
    >>> float(ct.mask(ct.numpy.mean)(x))
    3.5
    """
    check_callable(fun, "mask")
    name = function_name(fun)

    @wraps(fun)
    def mask_fun(*args: Any, **kwargs: Any) -> Any:
        is_ragged = lambda v: isinstance(v, Ragged)  # noqa: E731
        items, outer = _core.tree_flatten((args, kwargs), is_ragged)
        lengths: list[Array] = []
        by_name: dict[str, int] = {}
        data: list[Any] = []
        axes_of: list[dict[int, int]] = []
        for item in items:
            if not is_ragged(item):  # type: ignore[no-untyped-call]
                data.append(item if isinstance(item, Array) else _core.leaf(item, f"the arguments of {name}"))
                axes_of.append({})
                continue
            axes: dict[int, int] = {}
            for axis, length in item.lengths.items():
                array = _core.array(length)
                # A function of pytrees may have changed the leaves.
                checked = _checked_length(array, axis, _core.array(item.data)._bound_shape[axis])
                if array.dtype != np.int32:  # else itself: one array is one length
                    array = checked
                if array.ndim != 0:
                    raise ShapeError(
                        f"mask of {name}: a length has shape {array.shape}, so the argument is a batch\n  map over it with vmap(mask(f))"
                    )
                axes[axis] = _length_position(lengths, by_name, item.names.get(axis), array)
            data.append(_core.array(item.data))
            axes_of.append(axes)
        out_structure: PyTreeDef | None = None
        out_ragged: list[dict[int, int]] = []

        def run(inputs: list[Array]) -> tuple[list[Any], None]:
            nonlocal out_structure
            call_args, call_kwargs = outer.unflatten(inputs[len(lengths) :])
            leaves, out_structure = flatten_arguments(fun(*call_args, **call_kwargs), f"the output of {name}")
            out_lengths: list[Array] = []
            for leaf in leaves:
                found: dict[int, int] = {}
                for axis in _core.ragged_axes(leaf):
                    found[axis] = len(out_lengths)
                    out_lengths.append(_core.length_of(leaf, axis))  # type: ignore[arg-type]
                out_ragged.append(found)
            return leaves, None

        avals = [((), "int32", False)] * len(lengths) + [aval_of(x) for x in data]
        spec: list[dict[int, int]] = [{} for _ in lengths] + axes_of
        graph, closure, _ = _core.capture(run, avals, [], "mask", name, None, spec)
        in_ragged = [
            v
            for operand, axes in enumerate(axes_of)
            for axis, position in sorted(axes.items())
            for v in (operand, axis, position)
        ]
        flat_out: list[int] = []
        count = 0
        for output, found in enumerate(out_ragged):
            for axis in sorted(found):
                flat_out += [output, axis, count]
                count += 1
        operands = lengths + data + closure
        results = primitives.mask(
            *operands, graph=graph, num_lengths=len(lengths), in_ragged=in_ragged, out_ragged=flat_out
        )
        outputs: list[Any] = []
        total = len(out_ragged)
        position = 0
        for value, found in zip(results[:total], out_ragged, strict=True):
            if not found:
                outputs.append(value)
                continue
            out_lengths = {}
            for axis in sorted(found):
                out_lengths[axis - value.ndim] = results[total + position]
                position += 1
            outputs.append(Ragged._make(value, out_lengths, dict.fromkeys(out_lengths, "")))
        assert out_structure is not None
        return out_structure.unflatten(outputs)

    return mask_fun


def _length_position(lengths: list[Array], by_name: dict[str, int], name: str | None, array: Array) -> int:
    """The position of a length among the region's, shared by axes of one name."""
    key = name or None
    if key is not None and key in by_name:
        position = by_name[key]
        if not (_core.is_traced(array) or _core.is_traced(lengths[position])) and int(array) != int(lengths[position]):
            raise ShapeError(
                f"mask: axes named {key!r} have lengths {int(lengths[position])} and {int(array)}; equal names mean equal lengths"
            )
        return position
    for position, known in enumerate(lengths):
        if known is array:
            return position
    lengths.append(array)
    if key is not None:
        by_name[key] = len(lengths) - 1
    return len(lengths) - 1


check_arguments(globals())
