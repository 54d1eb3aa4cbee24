"""`Ref`: a box whose array can be read and written. Inside of a captured program it holds a traced value, so that writes become data flow.

A program that is captured around a reference gets its value as an input and hands back what was written as an output (`stateful`
does so for JAX's transforms). Which references those are is found out while capturing: a `Frame` is the scope of one captured function,
and where a function uses a reference from outside of it that is no input yet, `ReferenceNeededError` ends the capture, which starts again with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core, tree_util
from cotangent._base.arguments import leaving_methods
from cotangent.jax.internals.avals import AbstractValue, ShapedArray
from cotangent.jax.narrowing import narrow

__all__ = [
    "AbstractRef",
    "Frame",
    "Ref",
    "ReferenceAsArrayError",
    "ReferenceNeededError",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "last_refusal",
    "new_ref",
    "outer_ref",
    "set_",
    "swap",
    "used",
    "with_references",
]


class ReferenceNeededError(NotImplementedError):
    """A function that is being captured uses a reference from outside of it, which has to become an input of its program."""

    def __init__(self, ref: Ref, frame: Frame) -> None:
        super().__init__("a reference of an enclosing function is used where its value is not an input")
        self.ref = ref
        self.owner = frame.owner
        _frames.refusal = self


class ReferenceAsArrayError(TypeError):
    """A reference is used where an array is needed."""

    def __init__(self, ref: Ref) -> None:
        super().__init__(
            f"a reference {ref.aval!r} is used where an array is needed\n"
            "  read it with ref[...], or pass the reference to a function"
        )
        _frames.refusal = self


class _Frames(threading.local):
    def __init__(self) -> None:
        self.stack: list[Frame] = []
        self.refusal: BaseException | None = None  # the last one: a jitted function's call ends with it


_frames = _Frames()
_made: list[bool] = []  # not empty as soon as there was a reference


def last_refusal() -> BaseException | None:
    """What ended the last capture of this thread that could not go on because of a reference."""
    return _frames.refusal


def used() -> bool:
    """Whether the process has made a reference."""
    return bool(_made)


class Frame:
    """The scope of a captured function: the references from outside that it uses, and what it has written to them.

    Args:
        owner: what captures; it gets the `ReferenceNeededError` of this scope.
        refs: references that the function gets as inputs.
        values: their values in it.
        inputs_only: whether one that is read must be an input as well: the program outlives the values that it is captured with.
    """

    def __init__(
        self, owner: object, refs: Sequence[Ref] = (), values: Sequence[Any] = (), *, inputs_only: bool
    ) -> None:
        self.owner = owner
        self.refs = list(refs)
        self.inputs_only = inputs_only
        self.values = {id(ref): value for ref, value in zip(refs, values, strict=True)}
        self.written: set[int] = set()

    def __enter__(self) -> Frame:
        self.capture = _core.capture_number()
        _frames.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _frames.stack.pop()

    def outputs(self) -> list[Any]:
        """The values of all references at the end."""
        return [self.values[id(ref)] for ref in self.refs]

    def changes(self) -> dict[int, Any]:
        """By position, the values of those that were written."""
        return {i: self.values[id(ref)] for i, ref in enumerate(self.refs) if id(ref) in self.written}


class AbstractRef(AbstractValue):
    """The type of a reference to an array."""

    def __init__(self, inner_aval: ShapedArray, memory_space: Any = None) -> None:
        self.inner_aval = inner_aval
        self.memory_space = memory_space

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """That of the array."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"Ref{{{self.inner_aval.str_short()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractRef) and self.inner_aval == other.inner_aval

    def __hash__(self) -> int:
        return hash(self.inner_aval)


@leaving_methods
class Ref:
    """A mutable reference to an array, made by `new_ref`."""

    __hash__ = object.__hash__

    def __init__(self, value: Any) -> None:
        _made[:] = [True]
        array = ct.numpy.array(value)
        self._shape, self._dtype = array.shape, array.dtype
        self._depth = len(_frames.stack)
        self._value: Any = _core.convert(array, array.dtype) if not array.weak_type else _strong(array)
        self._frozen = False
        self._capture = _core.capture_number()

    @property
    def _jax_aval(self) -> AbstractRef:
        return AbstractRef(ShapedArray(self._shape, self._dtype))

    aval = _jax_aval

    def __ct_array__(self) -> Any:
        raise ReferenceAsArrayError(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """That of the array."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self._current().size)

    @property
    def weak_type(self) -> bool:
        """A reference keeps its dtype."""
        return False

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Any:
        return iter(self._current())

    def _frame(self) -> Frame | None:
        """The innermost captured function that the reference is from outside of."""
        return _frames.stack[-1] if len(_frames.stack) > self._depth else None

    def _current(self) -> Any:
        """The array. A function that is captured reads what enclosing ones have written."""
        if self._frozen:
            raise ValueError(
                "the reference was frozen, and cannot be read or written any more\n"
                "  make another of the array that freeze has returned: jax.new_ref(array)"
            )
        for frame in reversed(_frames.stack[self._depth :]):
            if id(self) in frame.values:
                return frame.values[id(self)]
            if frame.inputs_only:
                raise ReferenceNeededError(self, frame)
        return self._value

    def _replace(self, value: Any) -> None:
        frame = self._frame()
        if _core.capture_number() != (self._capture if frame is None else frame.capture):
            raise NotImplementedError(
                "a reference is written inside of a function that is captured by a transform that hands out no references\n"
                "  make it in there with jax.new_ref, or pass the array in and return it"
            )
        if frame is None:
            self._value = value
        elif id(self) not in frame.values:
            raise ReferenceNeededError(self, frame)
        else:
            frame.values[id(self)] = value
            frame.written.add(id(self))

    def __getitem__(self, index: Any) -> Any:
        return self._current()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._replace(self._current().at[index].set(_stored(value, self.dtype)))

    def get(self) -> Any:
        """The array."""
        return self._current()

    def set(self, value: Any) -> None:
        """Replaces all elements."""
        self[...] = value

    def swap(self, value: Any) -> Any:
        """Replaces all elements, and returns what they were."""
        return swap(self, ..., value)

    def addupdate(self, value: Any) -> None:
        """Adds to all elements."""
        addupdate(self, ..., value)

    @property
    def at(self) -> _Indexer:
        """``ref.at[index]``: a reference to the elements at an index."""
        return _Indexer(self)

    def unsafe_buffer_pointer(self) -> int:
        """Where the array lies."""
        return int(self._current().unsafe_buffer_pointer())

    def __repr__(self) -> str:
        return repr(self._current()).replace("Array(", "Ref(", 1)


class _Indexer:
    """What makes views of a reference."""

    def __init__(self, ref: Ref | RefView) -> None:
        self._ref = ref

    def __getitem__(self, index: Any) -> RefView:
        return RefView(self._ref, index)


@leaving_methods
class RefView:
    """A reference to the elements at an index of another: reads and writes are those of the other.

    >>> from cotangent.jax.internals.references import new_ref
    >>> ref = new_ref(ct.numpy.zeros(3))
    >>> ref.at[1:].at[0].set(2.0)
    >>> ref
    Ref([0., 2., 0.], dtype=float32)
    """

    def __init__(self, ref: Any, index: Any) -> None:
        self._ref = ref  # or what stands for it in a pytree
        self._index = index

    @property
    def at(self) -> _Indexer:
        """``view.at[index]``: a reference to the elements at an index of these."""
        return _Indexer(self)

    def _current(self) -> Any:
        return self._ref._current()[self._index]

    def _replace(self, value: Any) -> None:
        self._ref._replace(self._ref._current().at[self._index].set(value))

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the elements."""
        return tuple(self._current().shape)

    @property
    def dtype(self) -> Any:
        """That of the array."""
        return self._ref.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __ct_array__(self) -> Any:
        base = self._ref
        while isinstance(base, RefView):
            base = base._ref
        raise ReferenceAsArrayError(base)

    __getitem__, __setitem__ = Ref.__getitem__, Ref.__setitem__
    get, set, swap, addupdate = Ref.get, Ref.set, Ref.swap, Ref.addupdate


class _Placed:
    """An index with numbers in the place of its arrays, as data of a pytree: equal to others of the same slices and numbers."""

    def __init__(self, index: Any) -> None:
        self.items = index if isinstance(index, tuple) else (index,)
        self.is_tuple = isinstance(index, tuple)

    def _key(self) -> tuple[Any, ...]:
        slices = [
            ("slice", item.start, item.stop, item.step) if isinstance(item, slice) else item for item in self.items
        ]
        return self.is_tuple, *slices

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Placed) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class _Given:
    """An array of an index."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Given)

    def __hash__(self) -> int:
        return hash(_Given)


def _parts_of_view(view: RefView) -> tuple[tuple[Any, ...], _Placed]:
    index = view._index if isinstance(view._index, tuple) else (view._index,)
    arrays = [item for item in index if hasattr(item, "dtype") or isinstance(item, list)]
    placed = tuple(_Given() if any(item is array for array in arrays) else item for item in index)
    return (view._ref, *arrays), _Placed(placed if isinstance(view._index, tuple) else placed[0])


def _view_of_parts(placed: _Placed, parts: Iterable[Any]) -> RefView:
    ref, *arrays = parts
    given = iter(arrays)
    index = tuple(next(given) if isinstance(item, _Given) else item for item in placed.items)
    return RefView(ref, index if placed.is_tuple else index[0])


def _stored(value: Any, dtype: Any) -> Any:
    """The value, where a reference of the dtype can hold it. JAX asks for the same dtype, and lets integers be of any width."""
    if isinstance(value, (Ref, RefView)):
        raise ValueError(
            "Cannot store a Ref into another Ref. Did you forget to load from it using `[...]`?\n  read it first: ref[...]"
        )
    array = ct.numpy.asarray(narrow(value))
    kinds = {_core.dtype_kind(array.dtype), _core.dtype_kind(dtype)}
    if array.dtype == dtype or kinds <= {"signed", "unsigned"}:
        return array
    if "key" in kinds or _core.promote([_core.full((), 0, dtype), array])[0].dtype != dtype:
        raise ValueError(
            f"a value of dtype {array.dtype} is written to a reference of dtype {dtype}, which does not hold it: Invalid dtype for `swap`\n"
            f"  convert it: value.astype({str(dtype)!r})"
        )
    return array


def _strong(array: Any) -> Any:
    """The same array with a dtype that does not yield."""
    return ct.lax.convert_element_type(array, array.dtype)


def outer_ref(value: np.generic) -> Ref:
    """A reference from outside of everything that is being captured."""
    with ct.ensure_compile_time_eval():
        ref = Ref(value)
    ref._depth = ref._capture = 0
    return ref


def new_ref(init_val: Any, *, memory_space: Any = None, **_: Any) -> Ref:
    """A reference to a copy of an array.

    >>> from cotangent.jax.internals.references import new_ref
    >>> ref = new_ref(ct.numpy.zeros(2))
    >>> ref[0] = 3.0
    >>> ref
    Ref([3., 0.], dtype=float32)
    """
    if isinstance(init_val, Ref):
        raise TypeError("new_ref: a reference to a reference is asked for\n  read it first: new_ref(ref[...])")
    return Ref(init_val)


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to an array of zeros of a type."""
    return Ref(ct.numpy.zeros(ty.shape, ty.dtype))


def freeze(ref: Ref) -> Any:
    """The array, after which the reference cannot be used."""
    if ref._frame() is not None:
        raise ValueError(
            "freeze: the reference is from outside of the function that is captured\n  freeze it where it was made"
        )
    value = ref._current()
    ref._value, ref._frozen = None, True
    return value


def free_ref(ref: Ref) -> None:
    """Ends the reference."""
    freeze(ref)


def get(ref: Ref, idx: Any = None) -> Any:
    """The elements at an index; all without one."""
    return ref[... if idx is None else idx]


def set_(ref: Ref, idx: Any, value: Any) -> None:
    """Replaces the elements at an index; all of them where it is None."""
    ref[... if idx is None else idx] = value


def swap(ref: Ref, idx: Any, value: Any) -> Any:
    """Replaces the elements at an index, and returns what they were."""
    before = get(ref, idx)
    set_(ref, idx, value)
    return before


def addupdate(ref: Ref | RefView, idx: Any, x: Any) -> None:
    """Adds to the elements at an index."""
    ref._replace(ref._current().at[... if idx is None else idx].add(_stored(x, ref.dtype)))


def with_references(attempt: Callable[[object, list[Ref]], Any]) -> Any:
    """What ``attempt(owner, refs)`` returns, called with more references as long as it needs more."""
    owner = object()
    refs: list[Ref] = []
    while True:
        try:
            return attempt(owner, refs)
        except ReferenceNeededError as needed:
            if needed.owner is not owner:
                raise
            refs.append(needed.ref)


# A view is a container of its reference, and goes where that does.
tree_util.register_pytree_node(RefView, _parts_of_view, _view_of_parts)
