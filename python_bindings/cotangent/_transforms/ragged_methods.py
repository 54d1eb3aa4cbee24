"""Methods and operators of a `Ragged`: each is the operation of the exact array, run under `mask`.

There is one way to do it, `masked`: the operation under ``mask``, mapped by ``vmap`` over the batch that stands in front, if there is one. A
batch is an array whose first axes are exact and whose rows have lengths of their own, so ``rows.sum()`` is the sum of all, and
``rows.sum(axis=1)`` that of each row.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import suggestion
from cotangent._base.messages import placed
from cotangent._core import Array
from cotangent._transforms.lengths import check_position
from cotangent._transforms.ragged import Ragged
from cotangent._transforms.ragged_documentation import docstring
from cotangent._transforms.ragged_operands import _as_operands, _check_alignment, _check_axes, element_wise, masked
from cotangent._transforms.ragged_text import ragged_format, ragged_repr
from cotangent.errors import ConcretizationError, ShapeError

Function = Callable[..., Any]


# ---- the mechanism -----------------------------------------------------------------------------------------------------


def _is_operand(x: Any) -> bool:
    return (
        isinstance(x, (Ragged, Array, np.ndarray, np.generic)) or _core.is_python_scalar(x) or _core.has_array_method(x)
    )


def _matmul(left: Any, right: Any) -> Any:
    ranks = [x.ndim - len(x._batch) if isinstance(x, Ragged) else _core.array(x).ndim for x in (left, right)]
    for x, rank, other in ((left, ranks[0], ranks[1]), (right, ranks[1], ranks[0])):
        if isinstance(x, Ragged) and x._batch and rank < 2 < other:
            raise ShapeError(
                f"@: a batch of vectors, and an array with {other} axes\n  call ct.vmap(ct.mask(lambda x, y: x @ y)) with in_axes"
            )
    if all(isinstance(x, Ragged) and x._batch and rank < 2 for x, rank in zip((left, right), ranks, strict=True)):
        return _of_vectors(left, right, [True, True])
    second = -1 if _core.array(right.data if isinstance(right, Ragged) else right).ndim == 1 else -2
    if isinstance(left, Ragged) and -1 in left._lengths:
        _check_axes(left, -1, right, second, "@")
    if isinstance(right, Ragged) and second in right._lengths:
        _check_axes(right, second, left, -1, "@")
    batched = [isinstance(x, Ragged) and bool(x._batch) for x in (left, right)]
    if not any(batched):
        return masked(operator.matmul, (left, right), "@")
    if any(b and r < 2 for r, b in zip(ranks, batched, strict=True)):
        return _of_vectors(left, right, batched)
    return masked(operator.matmul, (left, right), "@", max(r for r, b in zip(ranks, batched, strict=True) if b))


def _of_vectors(left: Any, right: Any, batched: Sequence[bool]) -> Any:
    node = left if batched[0] else right
    if not batched[0] or (batched[1] and left.ndim != right.ndim):
        raise ShapeError("@: the right operand is a batch of vectors\n  call ct.vmap(ct.mask(lambda x, y: x @ y))")
    if batched[1]:
        raise ShapeError(
            "@: both operands are batches of vectors\n  for the product of each pair call ct.vmap(ct.mask(ct.numpy.dot))"
        )
    if len(node._batch) != 1:
        raise ShapeError(
            "@: a batch of batches of vectors\n  map over both: ct.vmap(ct.vmap(ct.mask(lambda x: x @ y)))(ragged)"
        )
    return masked(lambda row: row @ right, (left,), "@")


def _binary(function: Function, sign: str) -> tuple[Function, Function]:
    def forward(self: Ragged, other: Any) -> Any:
        return _operate(function, self, other, sign) if _is_operand(other) else NotImplemented

    def reflected(self: Ragged, other: Any) -> Any:
        return _operate(function, other, self, sign) if _is_operand(other) else NotImplemented

    return forward, reflected


def _divmod(self: Ragged, other: Any) -> Any:
    return (self // other, self % other) if _is_operand(other) else NotImplemented


def _reflected_divmod(self: Ragged, other: Any) -> Any:
    return (other // self, other % self) if _is_operand(other) else NotImplemented


def _operate(function: Function, left: Any, right: Any, sign: str) -> Any:
    if function is operator.matmul:
        return _matmul(left, right)
    # Python's numbers stay such: they take the dtype of the array.
    if not isinstance(left, Ragged) and _core.is_python_scalar(left):
        return element_wise(lambda x: function(left, x), (right,), sign)
    if not isinstance(right, Ragged) and _core.is_python_scalar(right):
        return element_wise(lambda x: function(x, right), (left,), sign)
    return element_wise(function, (left, right), sign)


_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNARY = ("neg", "pos", "abs", "invert")


# ---- reductions --------------------------------------------------------------------------------------------------------


def _axes(axis: Any, ndim: int, name: str) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for a in axes:
        if isinstance(a, bool) or not isinstance(a, (int, np.integer)):
            raise TypeError(
                f"{name}: axis must be of integers; got {axis!r}\n  number the axes from 0: axis={ndim - 1} is the last"
            )
        if not -ndim <= a < ndim:
            raise ValueError(
                f"{name}: axis {a} is out of bounds for a Ragged with {ndim} axes\n"
                + (f"  its axes are 0 … {ndim - 1}" if ndim else "  it has none: leave axis out")
                + "\n  see docs/errors.md#axis-out-of-range"
            )
    return tuple(int(a) % ndim for a in axes)


def _divided(self: Ragged, axis: Any, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes that a reduction takes: those of the batch, and those of its examples."""
    axes, depth = _axes(axis, self.ndim, name), len(self._batch)
    outer, inner = tuple(a for a in axes if a < depth), tuple(a - depth for a in axes if a >= depth)
    ragged = {a - depth for a in self.lengths}
    if outer and not ragged <= set(inner):
        left = sorted(a + depth for a in ragged - set(inner))
        raise ShapeError(
            f"{name}: along axis {outer[0]} rows have different lengths of axis {left[0]}, which stays\n"
            f"  name axis {left[0]} too, or call ct.vmap(ct.mask(f)) for each row"
        )
    return outer, inner


def _reduction(name: str) -> Function:
    def method(self: Ragged, axis: Any = None, dtype: Any = None, keepdims: bool = False, **options: Any) -> Any:
        outer, inner = _divided(self, axis, name)
        if dtype is not None:
            options["dtype"] = dtype
        arrays = _as_operands({key: options.pop(key) for key in ("where", "mean") if key in options})
        _check_operands(self, arrays, name)
        if outer and name in ("mean", "var", "std"):
            return _moment(self, name, axis, keepdims, **arrays, **options)
        later = dict(options)
        if outer and name in ("sum", "prod"):
            options.pop("initial", None)  # once, and not for each row

        def of_row(x: Any, *more: Any) -> Any:
            given = dict(zip(arrays, more, strict=True))
            return getattr(x, name)(axis=inner, keepdims=keepdims, **options, **given)

        rows = masked(of_row, (self, *arrays.values()), name)
        return getattr(rows, name)(axis=outer, keepdims=keepdims, **later) if outer else rows

    return method


def _check_operands(self: Ragged, arrays: Mapping[str, Any], name: str) -> None:
    """Raises ShapeError for an array beside a reduced one that does not broadcast to its shape."""
    for key, array in arrays.items():
        depth = len(array._batch) if isinstance(array, Ragged) else 0
        if array.ndim > self.ndim or depth > len(self._batch):
            raise ShapeError(
                f"{name}: {key} has {array.ndim} axes, {depth} of a batch; the Ragged has {self.ndim}, {len(self._batch)} of a batch\n"
                f"  {key} is broadcast to the shape of the Ragged, and not the other way round"
            )
        for axis in range(-array.ndim, 0):
            _check_size(self, axis, array, name, key)
    _check_alignment((self, *arrays.values()), name)


def _check_size(self: Ragged, axis: int, array: Any, name: str, key: str) -> None:
    data = array.data if isinstance(array, Ragged) else array
    ragged = isinstance(array, Ragged) and axis in array._lengths
    size, wanted = data._bound_shape[axis], self.data._bound_shape[axis]
    if axis not in self._lengths and (ragged or size not in (1, wanted)):
        text = "a ragged length" if ragged else f"size {size}"
        raise ShapeError(
            f"{name}: {key} has {text} in axis {axis + array.ndim}, and the Ragged size {wanted} in axis {axis + self.ndim}\n"
            f"  {key} is broadcast to the shape of the Ragged: sizes must be equal, or 1"
        )


def _moment(
    self: Ragged,
    name: str,
    axis: Any,
    keepdims: bool,
    dtype: Any = None,
    ddof: float = 0,
    correction: float | None = None,
    where: Any = None,
    mean: Any = None,
    out: None = None,
) -> Any:
    """Mean, variance and standard deviation along the batch and the ragged axes: of all elements alike."""
    if out is not None:
        raise NotImplementedError(
            f"{name}: out must be None: methods return what they make\n  take the result: y = x.{name}()"
        )
    if correction is not None and ddof:
        raise ValueError(
            f"{name}: give ddof or correction, not both\n  they are two names of one number: pass ddof={ddof!r}"
        )
    rows: Any = self if dtype is None else self.astype(dtype)
    if rows.dtype.kind in "iub":
        rows = rows * 1.0
    count = element_wise(lambda x: (x == x) | True, (rows,), name).astype("int32")
    count = count.sum(axis=axis, keepdims=True, where=where)
    if mean is None:
        mean = rows.sum(axis=axis, keepdims=True, where=where) / count
    if name != "mean":
        deviations = rows - mean
        squares = (deviations * deviations.conj()).real if rows.dtype.kind == "c" else deviations * deviations
        divisor = count - (ddof if correction is None else correction)
        mean = squares.sum(axis=axis, keepdims=True, where=where) / divisor
    if name == "std":
        mean = mean**0.5
    return mean if keepdims else mean.squeeze(_axes(axis, self.ndim, name))


def _of_a_batch(name: str, why: str, call: str = "") -> ShapeError:
    return ShapeError(
        f"{name} of a batch of arrays of different sizes: {why}\n"
        f"  for each of them: ct.vmap(ct.mask(lambda x: {call or f'x.{name}(...)'}))(ragged)"
    )


def _element_wise_method(name: str) -> Function:
    def method(self: Ragged, *args: Any, **options: Any) -> Any:
        return element_wise(lambda x: getattr(x, name)(*args, **options), (self,), name)

    return method


def _clip(self: Ragged, *args: Any, **options: Any) -> Any:
    arrays = _as_operands({**dict(enumerate(args)), **options})

    def of_row(x: Any, *more: Any) -> Any:
        given = dict(zip(arrays, more, strict=True))
        bounds = (given.get(place, bound) for place, bound in enumerate(args))
        return x.clip(*bounds, **{key: given.get(key, bound) for key, bound in options.items()})

    return element_wise(of_row, (self, *arrays.values()), "clip")


_ATTRIBUTES = {
    "T": "The array with its axes reversed; of a batch it is an error that says how to map it over the rows.",
    "mT": "The matrices of the last two axes transposed.",
    "real": "The real parts of the elements.",
    "imag": "The imaginary parts of the elements.",
}


def _attribute(name: str, of_elements: bool) -> property:
    def get(self: Ragged) -> Any:
        if of_elements or (name == "mT" and self.ndim - len(self._batch) >= 2):
            return masked(lambda x: getattr(x, name), (self,), name)
        if self._batch:
            raise _of_a_batch(name, "it would move the axes of the batch", f"x.{name}")
        return masked(lambda x: getattr(x, name), (self,), name)

    return property(get, doc=_ATTRIBUTES[name])


def _reshape(self: Ragged, *shape: Any, order: str = "C") -> Any:
    wanted = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    depth = len(self._batch)
    if wanted[:depth] != self._batch:
        raise _of_a_batch("reshape", f"the shape must begin with that of the batch, {self._batch}; got {wanted}")
    return masked(lambda x: x.reshape(wanted[depth:], order=order), (self,), "reshape")


# ---- elements ----------------------------------------------------------------------------------------------------------


def _get_item(self: Ragged, index: Any) -> Any:
    items = index if isinstance(index, tuple) else (index,)
    if any(isinstance(item, Ragged) for item in items):
        if self._batch or len(items) != 1:
            raise (
                _of_a_batch("an index", "it is ragged", "x[...]")
                if self._batch
                else NotImplementedError(
                    "an index of several parts, of which one is ragged\n  ct.mask(lambda x, i: x[i, 0])(x, i)"
                )
            )
        return masked(lambda x, i: x[i], (self, index), "indexing")
    items = _written_out(items, self.ndim)
    cut = _end_of_batch(items, len(self._batch))
    front, rest = items[:cut], items[cut:]
    result = self
    if not all(item == slice(None) for item in front if isinstance(item, slice)) or any(
        not isinstance(item, slice) for item in front
    ):
        if any(_is_list(item) for item in front) and any(_is_list(item) for item in rest):
            raise _of_a_batch("an index", "arrays index the batch and the rows together", "x[...]")
        data = self.data[(*front, ...)]
        result = Ragged._make(data, {a: x[front] if x.ndim else x for a, x in self._lengths.items()}, self._names)
    if all(isinstance(item, slice) and item == slice(None) for item in rest):
        return result
    _check_positions(result, (*(slice(None) for _ in result._batch), *rest))
    return masked(lambda x: x[rest], (result,), "indexing")


def _is_list(item: Any) -> bool:
    return not (item is None or isinstance(item, (slice, int, np.integer)))


def _written_out(items: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """An index with an item for each axis: ``...`` and what is missing at the end as slices of everything."""
    places = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError(
            "an index can only have a single ellipsis ('...')\n  write : for the axes that one of them stands for"
        )
    taken = sum(
        (_core.array(item).ndim or 1) if _is_bool_array(item) else 1
        for item in items
        if item is not None and item is not Ellipsis
    )
    if taken > ndim:
        raise IndexError(
            f"too many indices: a Ragged with {ndim} axes, and {taken} were indexed\n  give {ndim} at most, and None for a new axis"
        )
    fill = (slice(None),) * (ndim - taken)
    return (*items[: places[0]], *fill, *items[places[0] + 1 :]) if places else (*items, *fill)


def _is_bool_array(item: Any) -> bool:
    return isinstance(item, (list, Array, np.ndarray)) and _core.kind(_core.array(item)) == "bool"


def _end_of_batch(items: Sequence[Any], depth: int) -> int:
    """How many of an index' items are of the axes of the batch."""
    count = 0
    for place, item in enumerate(items):
        if count == depth:
            return place
        count += item is not None
    return len(items)


def _check_positions(self: Ragged, items: Sequence[Any]) -> None:
    """Raises IndexError for positions outside of the known lengths of ragged axes; of others `checkify` is told."""
    axis = 0
    for item in items:
        if item is None:
            continue
        length = self._lengths.get(axis - self.ndim)
        if length is not None and isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            if _core.is_traced(length):
                check_position(length, int(item), f"index {item} is out of bounds for axis {axis} of a Ragged")
                axis += 1
                continue
            known = _core.to_numpy(length)
            least = int(known.min()) if known.size else None
            if least is not None and not -least <= item < least:
                where = "" if known.ndim == 0 else ", the least of the lengths"
                raise IndexError(
                    f"index {item} is out of bounds for axis {axis} of a Ragged with length {least}{where}\n"
                    + (f"  positions are 0 … {least - 1}" if least else "  there are no elements there")
                    + ("" if known.ndim == 0 else "; of longer rows alone: ragged[row]")
                    + "\n  see docs/errors.md#index-out-of-bounds"
                )
        axis += 1


def _length(self: Ragged) -> int:
    if self.ndim == 0:
        raise TypeError("len() of a Ragged without axes\n  its value is x.data")
    size = self.shape[0]
    if not isinstance(size, int):
        raise ConcretizationError(
            placed("len() of a Ragged whose axis 0 has a length that is not known", "x.shape[0] is it as a value")
        )
    return size


def _iterate(self: Ragged) -> Any:
    if self.ndim and not isinstance(self.shape[0], int):
        raise ConcretizationError(
            placed(
                "iteration over a Ragged whose axis 0 has a length that is not known",
                "call a function of arrays as ct.mask(f)(x), with ct.lax.scan or ct.vmap over the axis",
            )
        )
    return (self[i] for i in range(len(self)))


def _truth(self: Ragged) -> bool:
    raise TypeError(placed("the truth of a Ragged is ambiguous", "use x.any() or x.all()"))


def _assign(self: Ragged, index: Any, value: Any) -> None:
    batch = any(length.ndim for length in self._lengths.values())
    call = "ct.vmap(ct.mask(lambda row: row.at[i].set(y)))(x)" if batch else "ct.mask(lambda x: x.at[i].set(y))(x)"
    rows = "; to replace a row, rows = x.to_list(); rows[i] = y; x = ct.ragged(rows)" if batch else ""
    raise TypeError(
        "x[i] = y: a Ragged is not assigned to\n"
        f"  write x = {call} for elements{' of each row' if batch else ''}, where assignment works, too{rows}"
    )


def _delete_item(self: Ragged, index: Any) -> None:
    raise TypeError(
        "del x[i]: a Ragged keeps its elements\n"
        "  take what is left: x[:i], x[[0, 2]], or ct.mask(lambda x: ct.numpy.delete(x, i))(x) for elements"
    )


# What other libraries' sequences of arrays have, or is looked for here, and what to write.
_ELSEWHERE = {
    "append": "a Ragged does not change: rows are appended by ct.ragged(x.to_list() + rows)",
    "extend": "a Ragged does not change: rows are appended by ct.ragged(x.to_list() + rows)",
    "mask": "a function f of one array is called as ct.mask(f)(x), for each row of a batch as ct.vmap(ct.mask(f))(x)",
    "map": "a function f of one array is called as ct.mask(f)(x), for each row of a batch as ct.vmap(ct.mask(f))(x)",
    "pad": "x.data is the padded array",
    "to_padded": "x.data is the padded array",
    "to_padded_tensor": "x.data is the padded array",
    "to_tensor": "x.data is the padded array",
}


def _missing(self: Ragged, name: str) -> Any:
    if name in _ELSEWHERE:
        raise AttributeError(f"'Ragged' object has no attribute {name!r}\n  {_ELSEWHERE[name]}")
    if not name.startswith("_") and hasattr(Array, name):
        raise AttributeError(
            f"a Ragged has no {name}: it is for exact arrays\n"
            f"  take the array without padding, x.unpad().{name} (of a row of a batch, x[0].unpad().{name}), or compute with ct.mask(f)(x)"
        )
    near = "" if name.startswith("_") else f"{suggestion(name, dir(Ragged))}\n  dir(ct.Ragged) lists what there is"
    raise AttributeError(f"'Ragged' object has no attribute {name!r}{near}")


def attach() -> None:
    """Gives `Ragged` the methods and operators of an array."""
    members: dict[str, Any] = {
        "__getitem__": _get_item, "__setitem__": _assign, "__delitem__": _delete_item, "__len__": _length,
        "__iter__": _iterate, "__bool__": _truth, "__hash__": None,
        "__getattr__": _missing, "__round__": _element_wise_method("round"), "__repr__": ragged_repr, "__format__": ragged_format,
        "reshape": _reshape, "clip": _clip, "__divmod__": _divmod, "__rdivmod__": _reflected_divmod,
    }  # fmt: skip
    for name, sign in _BINARY.items():
        word = name if name not in ("and", "or") else f"{name}_"
        members[f"__{name}__"], members[f"__r{name}__"] = _binary(getattr(operator, word), sign)
    for name, sign in _COMPARISONS.items():
        members[f"__{name}__"] = _binary(getattr(operator, name), sign)[0]
    for name in _UNARY:
        function = getattr(operator, name)
        members[f"__{name}__"] = lambda self, function=function, name=name: element_wise(function, (self,), name)
    members |= {name: _reduction(name) for name in ("all", "any", "max", "mean", "min", "prod", "std", "sum", "var")}
    members |= {name: _element_wise_method(name) for name in ("astype", "conj", "conjugate", "copy", "round")}
    members |= {name: _attribute(name, name in ("real", "imag")) for name in ("T", "mT", "real", "imag")}
    give_members(members)


def give_members(members: Mapping[str, Any]) -> None:
    """Sets members of `Ragged`, with the names that methods of an array have, and docstrings."""
    for name, member in members.items():
        if callable(member):
            member.__name__, member.__qualname__ = name, f"Ragged.{name}"
            model = getattr(Array, name, None)
            member.__doc__ = docstring(name) or getattr(model, "__doc__", None)
        setattr(Ragged, name, member)
