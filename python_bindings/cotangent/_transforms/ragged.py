"""Ragged arrays as values.

A `Ragged` is a pytree node: data padded to a static bound, and one integer length for each ragged axis. ``mask(f)`` runs ``f``, written
for exact sizes, on such values; padding reaches no result and no gradient. For transforms data and lengths are leaves, so everything
composes: ``vmap(mask(f))(ragged(rows))`` is ragged batching, and ``jit`` compiles once for all lengths. What computes with leaves,
``tree.map`` and its like, is given the data only (docs/design/032).

Inside the node axes are counted from the end, so that a batch axis in front changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core, tree_util
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.carriers import Carrier, note_opened, register_carrier
from cotangent._core import Array
from cotangent._transforms.lengths import are_lengths, check_equal, checked_batch, checked_length
from cotangent._transforms.ragged_interface import Interface
from cotangent.errors import ConcretizationError, ShapeError

__all__ = ["Ragged"]

_Aux = tuple[tuple[int, ...], tuple[str, ...]]  # axes from the end in ascending order, and their names


class Ragged(Interface):
    """An array padded to a bound, with the real length of each ragged axis.

    For transforms it is a pytree of data and lengths. `mask` gives a function of exact arrays the real elements;
    methods and operators do so by themselves, and those of a batch (`ragged`) count along the rows:
    ``rows.sum(axis=1)``. It does not change.

    Parameters
    ----------
    data : array, shape (..., bound, ...)
        The padded array; padding may hold anything.
    lengths : dict from int to int or integer array
        Axis -> length: an int or an integer scalar array; or an integer vector, one length for each example, where a
        batch axis stands in front.
    names : dict from int to str, optional
        Axis -> name; axes of one name have one length.

    Raises
    ------
    ShapeError
        An axis the data does not have, an axis given twice, a concrete length outside ``0 … bound``, lengths that are
        not one an example, a name for an axis that is not ragged, or one name for different lengths.
    DTypeError
        A length that is not an integer.

    Examples
    --------
    >>> x = ct.Ragged(np.float32([1, 2, 9]), {0: 2})
    >>> x, float(x.sum())
    (Ragged([1., 2.], lengths={0: 2}, dtype=float32), 3.0)
    >>> (x * 10).unpad().tolist()
    [10.0, 20.0]
    """

    __slots__ = ("_kept", "_parts")

    _parts: tuple[
        tuple[Any, ...], _Aux
    ]  # data and lengths, in the order of the axes: the node, as every call takes it apart
    _kept: Any

    def __init__(
        self, data: Any, lengths: Mapping[int, Any] | None = None, names: Mapping[int, str] | None = None
    ) -> None:
        if not isinstance(lengths, Mapping):
            raise TypeError(
                f"Ragged: lengths must be a dict from axes to lengths; got {lengths!r}\n"
                "  for a length of axis 0 write ct.Ragged(data, {0: 3}); of rows of different lengths make a batch, ct.ragged(rows)"
            )
        data = data if isinstance(data, Array) else _core.array(data)
        shape = data._bound_shape
        found: dict[int, Any] = {}
        for axis, length in lengths.items():
            axis = _axis_from_end(axis, shape)
            if axis in found:
                raise ShapeError(
                    f"Ragged: axis {axis + len(shape)} is given two lengths, once as axis {axis}\n"
                    f"  name it once: {{{axis + len(shape)}: length}}"
                )
            array = checked_length(length, axis + len(shape), shape[axis])
            checked_batch(array, axis + len(shape), shape)
            found[axis] = array
        _check_batches(found, shape)
        self._set(data, found, _names_from_end(names, found, shape))

    def _set(self, data: Any, lengths: dict[int, Any], names: Mapping[int, str]) -> None:
        axes = tuple(sorted(lengths))
        self._parts = (data, *(lengths[axis] for axis in axes)), (axes, tuple(names.get(axis, "") for axis in axes))

    @classmethod
    def _make(cls, data: Any, lengths: dict[int, Any], names: Mapping[int, str]) -> Ragged:
        """A node of children that may be anything: axes from the end, nothing checked."""
        result = object.__new__(cls)
        result._set(data, lengths, names)
        return result

    @property
    def data(self) -> Any:
        """The padded array. It is not replaced: lengths and names belong to it."""
        return self._parts[0][0]

    @data.setter
    def data(self, value: Any) -> None:
        raise AttributeError("a Ragged does not change\n  make another: ct.Ragged(data, x.lengths, x.names)")

    @property
    def _lengths(self) -> dict[int, Any]:
        (_, *lengths), (axes, _) = self._parts
        return dict(zip(axes, lengths, strict=True))

    @property
    def _aux(self) -> _Aux:
        return self._parts[1]

    @property
    def _names(self) -> dict[int, str]:
        return dict(zip(*self._aux, strict=True))

    @property
    def _batch(self) -> tuple[int, ...]:
        """The shape of the batch in front: lengths have an entry for each of its examples."""
        return max((tuple(_core.array(x)._bound_shape) for x in self._lengths.values()), key=len, default=())

    @property
    def lengths(self) -> dict[int, Any]:
        """Axis -> length. Under a batch axis in front, lengths are vectors along it. They are copies: a Ragged does not change."""
        return {axis + self.data.ndim: _own(length) for axis, length in self._lengths.items()}

    @property
    def names(self) -> dict[int, str]:
        """Axis -> name, for axes that have one."""
        return {axis + self.data.ndim: name for axis, name in self._names.items() if name}

    @property
    def dtype(self) -> Any:
        """The dtype of the data."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of axes, those of a batch in front included."""
        return self.data.ndim  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[Any, ...]:
        """The size of each axis: an int, or of a ragged one its length as `lengths` has it, an int where it is a known number.

        >>> import cotangent as ct
        >>> ct.Ragged(ct.numpy.ones((2, 5)), {1: 3}).shape
        (2, 3)
        """
        sizes: list[Any] = list(self.data._bound_shape)
        for axis, length in self._lengths.items():
            known = _core.array(length).ndim == 0 and not _core.is_traced(length)
            sizes[axis] = int(length) if known else length
        return tuple(sizes)

    def unpad(self) -> Array:
        """Returns the exact-size array.

        Returns
        -------
        array
            Without padding; a copy.

        Raises
        ------
        ShapeError
            The lengths are of a batch: use `to_list`.
        ConcretizationError
            The values are traced.

        Examples
        --------
        >>> ct.Ragged(np.float32([1, 2, 9]), {0: 2}).unpad()
        Array([1., 2.], dtype=float32)
        """
        array = _core.array(self.data)
        limit = list(array._bound_shape)
        for axis, length in self.lengths.items():
            if _core.array(length).ndim != 0:
                raise ShapeError(
                    "unpad: the lengths are per example\n  use to_list(), or unpad one of them: ragged[0].unpad()"
                )
            checked_length(length, axis, limit[axis], "unpad")
            limit[axis] = int(length)
        return primitives.slice(array, start=[0] * len(limit), limit=limit, stride=[1] * len(limit))

    def to_list(self) -> list[Array]:
        """Lists the exact-size arrays of a batch.

        Returns
        -------
        list of array
            One for each position along axis 0.

        Raises
        ------
        ShapeError
            There is no batch: axis 0 is ragged, or there is none.
        ConcretizationError
            The values are traced.

        Examples
        --------
        >>> [row.tolist() for row in ct.ragged([[1.0, 2.0], [], [3.0]]).to_list()]
        [[1.0, 2.0], [], [3.0]]
        """
        return [_core.array(np.ascontiguousarray(row)) for row in numpy_rows(self, "to_list")]

    def tolist(self) -> list[Any]:
        """Returns the elements as nested lists of Python numbers, without padding.

        Returns
        -------
        list
            As deep as there are axes.

        Raises
        ------
        ConcretizationError
            The values are traced.

        Examples
        --------
        >>> ct.ragged([[1.0, 2.0], []]).tolist()
        [[1.0, 2.0], []]
        """
        depth = max(_core.array(length).ndim for length in self._lengths.values())
        if depth == 1:
            return [row.tolist() for row in numpy_rows(self, "tolist")]
        if depth > 1:
            return [self[i].tolist() for i in range(len(self))]
        return self.unpad().tolist()  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return Ragged._make, (self.data, self._lengths, self._names)

    # NumPy looks both up, this one first. A Ragged that is known is converted by the other; one that is not has no other, so that
    # what asks whether there is one takes it for a sequence, and this says why it is no array.
    @property
    def __array_interface__(self) -> Any:
        check_known(self, "a Ragged is not an array")
        raise AttributeError("__array_interface__")

    @property
    def __array__(self) -> Any:
        if _why_unknown(self):
            raise AttributeError("__array__")
        return _core.leaving(self._to_numpy)

    def _to_numpy(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements without padding."""
        if copy is False:
            raise ValueError("a Ragged cannot become an array without a copy\n  allow one: leave copy out")
        return self.unpad().__array__(dtype, copy)


def check_known(value: Ragged, what: str, place: str = "") -> None:
    """Raises TypeError unless a Ragged is one array whose elements are known: that is what it stands for then.

    ``what`` begins the message.
    """
    if unknown := _why_unknown(value):
        why, advice = unknown
        raise TypeError(f"{what}: {why}{place}\n  {advice}\n  see docs/errors.md#ragged-as-array")


def _why_unknown(value: Ragged) -> tuple[str, str] | None:
    """Why a Ragged does not stand for one array of known elements, and what to do; None if it does."""
    if value._batch:
        return (
            "it holds a batch of rows with lengths of their own",
            "of one row take x[0].unpad(), of all x.to_list(), or x.data with the padding;"
            " call a function f of each row as ct.vmap(ct.mask(f))(x); rows of another are appended by ct.ragged(x.to_list() + y.to_list())",
        )
    if any(map(_core.is_traced, (value.data, *value._lengths.values()))):
        return (
            "the program that is captured does not have its values",
            "take x.unpad() of what the program returns; in the program call a function f of arrays as ct.mask(f)(x)",
        )
    return None


def _own(length: Any) -> Any:
    """The same length as an array of its own: who assigns to it changes no Ragged."""
    return _core.share_array(length) if isinstance(length, Array) else length


def numpy_rows(value: Ragged, name: str) -> list[np.ndarray[Any, Any]]:
    """The examples of a batch without padding, as views; ``name`` is the function that asks, for errors."""
    array = _core.array(value.data)
    if array.ndim == 0 or -array.ndim in value._lengths:
        raise ShapeError(
            f"{name}: there is no batch: axis 0 is {'ragged' if array.ndim else 'absent'}\n  use unpad() for one array"
        )
    traced = any(_core.is_traced(x) for x in (array, *value._lengths.values()))
    if traced:
        raise ConcretizationError(f"{name}: the rows of a traced Ragged are not known\n  return it from the program")
    data = _core.to_numpy(array)
    lengths = {}
    for axis, length in value._lengths.items():
        checked_length(length, axis + array.ndim, array._bound_shape[axis], name)
        known = _core.to_numpy(length)
        if known.ndim > 1:
            raise ShapeError(f"{name}: the batch has {known.ndim} axes\n  index it: {name} of ragged[i]")
        lengths[axis] = np.broadcast_to(known, data.shape[:1])
    rows = []
    for index in range(data.shape[0]):
        cut = [slice(None)] * (data.ndim - 1)
        for axis, length in lengths.items():
            cut[axis] = slice(0, int(length[index]))
        rows.append(data[index][tuple(cut)])
    return rows


# ---- what is checked ---------------------------------------------------------------------------------------------------


def _axis_from_end(axis: int, shape: Sequence[int], name: str = "Ragged", of_rows: bool = False) -> int:
    """The axis counted from the end, of the data or of one row of a batch."""
    if isinstance(axis, (bool, np.bool_)) or not isinstance(axis, (int, np.integer)):
        raise TypeError(
            f"{name}: an axis must be an integer; got {axis!r}\n"
            + (
                "  number the axes of a row from 0: {0: 'n'}"
                if of_rows
                else "  number the axes of the data from 0: {0: 3}"
            )
        )
    if of_rows and not -len(shape) <= axis < len(shape):
        raise ShapeError(
            f"{name}: axis {axis} is out of bounds for rows of shape {tuple(shape)}\n  {_OF_ROWS.format(len(shape) - 1)}"
            "\n  see docs/errors.md#axis-out-of-range"
        )
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(
            f"{name}: axis {axis} is out of bounds for data of shape {tuple(shape)}\n"
            + (f"  its axes are 0 … {len(shape) - 1}" if shape else "  data of a length has an axis: give an array")
            + "\n  see docs/errors.md#axis-out-of-range"
        )
    return axis % len(shape) - len(shape)


def _check_batches(lengths: Mapping[int, Any], shape: Sequence[int]) -> None:
    """Raises ShapeError where a length has more entries than another has axes in front, or an axis of the batch is ragged itself."""
    depth = max((length.ndim for length in lengths.values()), default=0)
    for axis in lengths:
        if axis + len(shape) < depth:
            raise ShapeError(
                f"Ragged: axis {axis + len(shape)} is ragged, and there is a batch of examples along it\n"
                "  a batch axis is exact: give lengths of that axis' own examples"
            )


_OF_ROWS = (
    "names= numbers the axes of one row, 0 … {}, without that of the batch, which x.names and x.lengths count as axis 0"
)


def _names_from_end(
    names: Mapping[int, str] | None,
    lengths: Mapping[int, Any],
    shape: Sequence[int],
    name: str = "Ragged",
    of_rows: bool = False,
) -> dict[int, str]:
    """The names by axes from the end, of data of a shape or of rows of it. Axes of one name are checked to have one length."""
    if names is not None and not isinstance(names, Mapping):
        raise TypeError(
            f"{name}: names must be a dict from axes to names; got {names!r}\n"
            f"  write names={{0: {names if isinstance(names, str) else 'n'!r}}}"
            + (f"; {_OF_ROWS.format(len(shape) - 1)}" if of_rows else " for axis 0 of the data")
        )
    found: dict[int, str] = {}
    by_name: dict[str, int] = {}
    for given, text in (names or {}).items():
        axis = _axis_from_end(given, shape, name, of_rows)
        if not isinstance(text, str):
            raise TypeError(
                f"{name}: the name of axis {given} must be a string; got {type(text).__name__}\n  write names={{{given}: 'n'}}"
            )
        if axis not in lengths:
            raise ShapeError(
                f"{name}: axis {given} has the name {text!r} and no length\n  names are for ragged axes: give it one"
            )
        found[axis] = text
        if text and (first := by_name.setdefault(text, axis)) != axis:
            check_equal(
                lengths[first],
                lengths[axis],
                f"{name}: axes {first + len(shape)} and {axis + len(shape)}, both named {text!r},",
                "; equal names mean equal lengths\n  give axes of different lengths different names, or none",
            )
    return found


def check_names_of_batch(tree: Any, axes: Sequence[int], name: str) -> None:
    """Raises ShapeError where equally named axes of an example would have different lengths, as far as these are known.

    The examples that are mapped are not known, so `mask` cannot tell.

    Args:
        tree: the arguments of a function that is mapped.
        axes: for each leaf the axis that is the batch, -1 for none.
        name: begins the message.
    """
    given = iter(axes)
    by_name: dict[str, tuple[Any, int]] = {}
    for item in _core.tree_flatten(tree, lambda node: isinstance(node, Ragged))[0]:
        next(given, -1)  # of the data, or of an array
        if not isinstance(item, Ragged):
            continue
        for axis, length in item._lengths.items():
            place, text = next(given, -1), item._names[axis]
            if not text or not are_lengths(length):
                continue
            first, first_place = by_name.setdefault(text, (length, place))
            what, advice = f"{name}: axes named {text!r}", "; equal names mean equal lengths"
            if first is length and first_place == place:
                continue
            if _core.is_traced(first) or _core.is_traced(length):
                if first_place == place and np.shape(first) == np.shape(length):
                    check_equal(first, length, what, advice)
                continue
            pair = [_batch_first(x, at) for x, at in ((first, first_place), (length, place))]
            rank = max(x.ndim for x in pair)
            aligned = [x.reshape(*x.shape, *[1] * (rank - x.ndim)) if x.ndim == 1 else x for x in pair]
            sizes = zip(aligned[0].shape, aligned[1].shape, strict=False)
            if aligned[0].ndim == aligned[1].ndim and all(m == n or 1 in (m, n) for m, n in sizes):
                left, right = np.broadcast_arrays(*aligned)
                check_equal(left, right, what, advice)


def _batch_first(length: Any, axis: int) -> np.ndarray[Any, Any]:
    known = _core.to_numpy(_core.array(length))
    return known[None] if axis < 0 else np.moveaxis(known, axis, 0)


# ---- the pytree node ---------------------------------------------------------------------------------------------------


def _flatten_ragged(value: Ragged) -> tuple[tuple[Any, ...], _Aux]:
    note_opened()
    return value._parts


def _unflatten_ragged(aux: _Aux, children: Iterable[Any]) -> Ragged:
    result = object.__new__(Ragged)
    result._parts = tuple(children), aux
    return result


def _flatten_with_keys(value: Ragged) -> tuple[list[tuple[Any, Any]], _Aux]:
    keys = [tree_util.GetAttrKey("data"), *(tree_util.GetAttrKey(f"_lengths[{axis}]") for axis in value._lengths)]
    children, aux = _flatten_ragged(value)
    return list(zip(keys, children, strict=True)), aux


def _with_data(nodes: Sequence[Any], data: Any) -> Ragged:
    """The result of `tree.map`: its data, with the lengths of the nodes.

    These have to be equal, unless the function stacks: then each is that of its example.
    """
    model = next((node for node in nodes if all(map(are_lengths, node._lengths.values()))), nodes[0])
    for node in nodes:
        if node._aux[0] != model._aux[0]:
            raise ValueError(
                f"tree.map: the structures differ: one Ragged has the ragged axes {model._aux[0]}, another {node._aux[0]}, counted"
                " from the end\n  give both lengths of the same axes"
            )
    lengths = dict(model._lengths)
    if hasattr(data, "shape"):
        if len(nodes) > 1 and _is_stack(nodes, data):
            lengths = {axis: _stack([node._lengths[axis] for node in nodes]) for axis in lengths}
        else:
            _check_equal_lengths(nodes, model)
            lengths = {axis: _kept(length, axis, data, model.data) for axis, length in lengths.items()}
    elif not any(hasattr(leaf, "shape") for leaf in _core.tree_flatten(data)[0]):
        lengths = dict.fromkeys(lengths, data)  # says something of the leaf, as the axes of `vmap` do, None or a label
    else:
        _check_equal_lengths(nodes, model)
    return keeping_lengths(_unflatten_ragged(model._aux, (data, *lengths.values())))


def _check_equal_lengths(nodes: Sequence[Any], model: Any) -> None:
    for node in nodes:
        for axis, length in node._lengths.items():
            if are_lengths(length) and are_lengths(model._lengths[axis]):
                rank = getattr(model.data, "ndim", 0)
                what = f"tree.map: the axes {axis + rank if rank else axis} of two Ragged arrays"
                check_equal(model._lengths[axis], length, what, "\n  take parts of equal lengths, or call ct.mask(f)")


def _is_stack(nodes: Sequence[Any], data: Any) -> bool:
    """Whether a result has an axis more than all of the nodes, in front, with an entry for each."""
    if not all(hasattr(node.data, "shape") and all(map(are_lengths, node._lengths.values())) for node in nodes):
        return False
    shape, shapes = tuple(_shape_of(data)), {tuple(_shape_of(node.data)) for node in nodes}
    return shapes == {shape[1:]} and shape[0] == len(nodes)


def _stack(lengths: Sequence[Any]) -> Array:
    rank = max(len(_shape_of(x)) for x in lengths)
    largest = next(tuple(_shape_of(x)) for x in lengths if len(_shape_of(x)) == rank)
    return primitives.concatenate(*(_core.broadcast_to(x, (1, *largest)) for x in lengths), axis=0)


def _kept(length: Any, axis: int, data: Any, before: Any) -> Any:
    """The length beside new data, one an example where a batch was stacked in front."""
    if not are_lengths(length) or not hasattr(before, "shape"):
        return length
    shape, bound = tuple(_shape_of(data)), _shape_of(before)[axis]
    entries = tuple(_shape_of(length))
    where = f"axis {axis + len(_shape_of(before))} of a Ragged, of bound {bound} and with "
    where += f"{'lengths of shape ' + str(entries) if entries else 'one length'},"
    advice = "\n  index a Ragged itself, call a function of rows as ct.mask(f)(ragged), or map with is_leaf"
    if len(shape) < -axis or shape[axis] != bound:
        raise ShapeError(f"tree.map: {where} is not there in the result of shape {shape}{advice}")
    more = len(shape) - len(_shape_of(before))
    if more > 0 and isinstance(length, Array):
        return _stacked(length, shape[:more])
    if shape[: len(entries)] != entries:
        raise ShapeError(f"tree.map: {where} does not fit the result of shape {shape}{advice}")
    return length


def keeping_lengths(value: Ragged) -> Ragged:
    """The node, whose lengths may be another's too: while it is there, these are not taken from it by donating the other."""
    known = [x for x in value._lengths.values() if isinstance(x, Array) and not _core.is_traced(x)]
    value._kept = [_core.to_numpy(x) for x in known]  # another user of the memory, which is then not written to
    return value


def _stacked(length: Array, batch: tuple[int, ...]) -> Array:
    return _core.broadcast_to(length, (*batch, *length._bound_shape))


def _shape_of(value: Any) -> Sequence[int]:
    return value._bound_shape if isinstance(value, Array) else value.shape


tree_util.register_pytree_node(Ragged, _flatten_ragged, _unflatten_ragged, _flatten_with_keys)
register_carrier(Ragged, Carrier(tree_util.GetAttrKey("data"), lambda node: node.data, _with_data))

# ---- results -----------------------------------------------------------------------------------------------------------


def held_results(result: Any, arguments: Any) -> Any:
    """The results of a compiled program, with lengths that it computes held to their bounds, as they are where they are used.

    Those of its arguments are what calls check; and one that goes out twice stays one array.
    """

    def is_ragged(leaf: Any) -> bool:
        return isinstance(leaf, Ragged)

    inputs = tree_util.tree_leaves(arguments, is_leaf=is_ragged)
    given = {id(length) for leaf in inputs if is_ragged(leaf) for length in leaf._lengths.values()}
    made: dict[tuple[int, int], Array] = {}

    def held(length: Any, bound: int) -> Any:
        if id(length) in given or not _core.is_traced(length) or not are_lengths(length):
            return length
        key = (id(length), bound)
        if key not in made:
            made[key] = primitives.clamp_length(length, _core.full(length._bound_shape, bound, "int32"))
        return made[key]

    def of_leaf(leaf: Any) -> Any:
        if not is_ragged(leaf) or not isinstance(leaf.data, Array):
            return leaf
        lengths = {axis: held(length, leaf.data._bound_shape[axis]) for axis, length in leaf._lengths.items()}
        return Ragged._make(leaf.data, lengths, leaf._names)

    leaves, structure = _core.tree_flatten(result, is_ragged)
    return structure.unflatten([of_leaf(leaf) for leaf in leaves]) if any(map(is_ragged, leaves)) else result


check_arguments(globals())
