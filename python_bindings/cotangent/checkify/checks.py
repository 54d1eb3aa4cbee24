"""Checks, and the errors that say which of them failed."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._base.callbacks import bind_callback
from cotangent._core import Array, PyTreeDef
from cotangent._ops import indexing
from cotangent._ops.extents import capacities, stretched
from cotangent._transforms import lengths
from cotangent.tree_util import register_pytree_node

__all__ = [
    "CheckError",
    "Error",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "debug_check",
    "div_checks",
    "empty_checks",
    "float_checks",
    "index_checks",
    "nan_checks",
    "user_checks",
]

Checks = frozenset[str]

empty_checks: Checks = frozenset()
user_checks: Checks = frozenset({"user"})
nan_checks: Checks = frozenset({"nan"})
div_checks: Checks = frozenset({"div"})
index_checks: Checks = frozenset({"index"})
float_checks: Checks = nan_checks | div_checks
automatic_checks: Checks = float_checks | index_checks
all_checks: Checks = automatic_checks | user_checks

# Checks of lengths are among those of indices, but made where the user's program is at fault: inside of a mask, too.
length_checks: Checks = frozenset({"length"})


class CheckError(ValueError):
    """A check failed: its message says which, and where it stands.

    Raised by `check` where the value is known or the program runs, and by `Error.throw`. What the program was given is
    not what it is made for: look at the line, or call it through `checkify` to get the error as a value.

    Examples
    --------
    >>> ct.checkify.check(False, "the rate is negative")
    Traceback (most recent call last):
        ...
    cotangent.checkify.CheckError: the rate is negative
    """


JaxRuntimeError = CheckError


# ---- what is checked ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Check:
    """What the equation of a check calls with ``[pred, *values]``; `checkify` recognises it by its type."""

    kind: str
    text: str
    structure: PyTreeDef | None  # of (args, kwargs) of the format
    static: tuple[Any, ...]  # (position, value) of its leaves that are no arrays
    silent: bool  # outside of checkify
    location: str = ""  # of the operation that is checked, where that is another

    def __hash__(self) -> int:
        return hash((self.kind, self.text, self.silent, self.location))  # what is in `static` may have no hash

    def message(self, values: Sequence[Any]) -> str:
        leaves = [value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value for value in values]
        if self.structure is None:
            return self.text
        for position, value in self.static:
            leaves.insert(position, value)
        args, kwargs = self.structure.unflatten(leaves)
        return self.text.format(*args, **kwargs)

    def __call__(self, arrays: list[np.ndarray[Any, Any]]) -> Sequence[Any]:
        held, *values = arrays
        if self.silent or held.all():
            return ()
        # Under vmap everything has the batch in front.
        first = np.unravel_index(np.argmin(held), held.shape)
        raise CheckError(self.message([value[first] for value in values]))

    def __repr__(self) -> str:
        return f"check {self.text!r}"


@dataclasses.dataclass(frozen=True)
class _ErrorCheck(_Check):
    """Of `check_error`: the values are an `Error`."""

    records: tuple[_Record, ...] = ()

    __hash__ = _Check.__hash__

    def message(self, values: Sequence[Any]) -> str:
        code, *payload = values
        return _message(int(code), payload, self.records)


_made = functools.lru_cache(maxsize=4096)(_Check)
_made_of_error = functools.lru_cache(maxsize=4096)(functools.partial(_ErrorCheck, "user", "", None, (), False, ""))


def _bind_check(what: _Check, pred: Array, values: Sequence[Any]) -> None:
    bind_callback(what, [pred, *values], "debug", (), "broadcast_all")


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Checks that a condition holds, where the program runs.

    Parameters
    ----------
    pred : bool scalar array
        Whether it holds.
    msg : str
        What is wrong if not, a format as of ``str.format``.
    *fmt_args : arrays or objects
        What the fields of ``msg`` stand for.
    debug : bool, default False
        Whether the check counts only in functions given to `checkify`.
    **fmt_kwargs : arrays or objects
        The same by name.

    Raises
    ------
    CheckError
        It does not hold; when the value is known, and else when the compiled program runs. Inside of `checkify` the
        error is returned instead.

    Examples
    --------
    >>> def f(x):
    ...     ct.checkify.check(x > 0, "x must be positive, got {x}", x=x)
    ...     return ct.numpy.log(x)
    >>> err, out = ct.jit(ct.checkify.checkify(f))(-1.0)
    >>> print(err.get().splitlines()[0])
    x must be positive, got -1.0 (`check` failed)
    """
    held = _core.array(pred)
    if held.ndim != 0 or held.dtype != bool:
        raise TypeError(
            f"check: pred must be a bool scalar; got {held.dtype} of shape {held.shape}\n  reduce it with .all() or .any()"
        )
    leaves, structure = _core.tree_flatten((fmt_args, fmt_kwargs), None)
    values: list[Any] = []
    static: list[tuple[int, Any]] = []
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, (Array, np.ndarray, np.generic)) or _core.is_python_scalar(leaf):
            values.append(leaf)
        else:
            static.append((position, leaf))
    key = ("user", msg, structure, tuple(static), debug)
    try:
        what = _made(*key)
    except TypeError:  # a value that cannot be hashed
        what = _Check(*key)
    _bind_check(what, held, values)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """Checks that a condition holds, in functions given to `checkify` only.

    Parameters
    ----------
    pred : bool scalar array
        Whether it holds.
    msg : str
        What is wrong if not, a format as of ``str.format``.
    *fmt_args : arrays or objects
        What the fields of ``msg`` stand for.
    **fmt_kwargs : arrays or objects
        The same by name.

    Examples
    --------
    >>> def f(x):
    ...     ct.checkify.debug_check(x > 0, "x must be positive")
    ...     return 2 * x
    >>> float(f(-1.0))
    -2.0
    >>> err, _ = ct.checkify.checkify(f)(-1.0)
    >>> err.get().splitlines()[0]
    'x must be positive (`check` failed)'
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raises an error that a checkified function found, or hands it on to an enclosing `checkify`.

    Parameters
    ----------
    error : Error
        What `checkify` functions return first; one that holds none does nothing.

    Raises
    ------
    CheckError
        It holds one; when the value is known, and else when the compiled program runs.

    Examples
    --------
    >>> err, _ = ct.checkify.checkify(lambda x: ct.checkify.check(x > 0, "x must be positive"))(-1.0)
    >>> ct.checkify.check_error(err)
    Traceback (most recent call last):
        ...
    cotangent.checkify.CheckError: x must be positive (`check` failed)...
    """
    if not isinstance(error, Error):
        raise TypeError(
            f"check_error: expected an Error, got {type(error).__name__}\n"
            "  pass the first of the pair that a checkified function returns: error, result = checkify(f)(x)"
        )
    if not error._records:
        return
    code, payload = _first_of_batch(error)
    held = primitives.eq(code, _core.full((), 0, "int32"))
    _bind_check(_made_of_error(error._records), held, [code, *payload])


shows_counted_from_front = False  # negative indices as what they are counted from the front; `cotangent.jax` sets it


def index_check(x: Array, axis: int, size: Any, index: Array, wrong: Array, counted: bool = False) -> None:
    """Records that indexing was out of bounds where ``wrong``; for what takes indices, while `checkify` asks for it.

    ``counted``: negative indices have been counted from the front already.
    """
    before = _core.override_flag("index_checks", False)  # not for what is computed here
    try:
        if shows_counted_from_front and _core.dtype_kind(index.dtype) == "signed" and not counted:
            index = cnp.where(index < 0, index + size, index)
        value = index
        if wrong.ndim:
            position = cnp.argmax(cnp.ravel(wrong))
            value = cnp.take(cnp.ravel(stretched(index, wrong)), position, mode="clip")
        held = cnp.logical_not(cnp.any(wrong))
    finally:
        _core.override_flag("index_checks", before)
    text = "out-of-bounds indexing for array of shape {0}: index {2} is out-of-bounds for axis {1} with size {3}"
    _, structure = _core.tree_flatten(((0, 0, 0, 0), {}), None)
    static = ((0, str(tuple(capacities(x)))), (1, axis))
    _bind_check(_made("index", text, structure, static, True), held, [value, size])


def length_check(equal: Array, text: str, location: str = "") -> None:
    """Records that lengths of ragged axes were not equal; for what makes them one length, while `checkify` asks for it."""
    before = _core.override_flag("index_checks", False)  # not for what is computed here
    try:
        held = cnp.all(equal)
    finally:
        _core.override_flag("index_checks", before)
    _bind_check(_made("length", text, None, (), True, location), held, [])


indexing.report_outside = index_check
lengths.report_unequal = length_check


# ---- errors ------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Record:
    """A check that a checkified program may fail: how to tell what happened from the values that were kept."""

    what: _Check
    location: str
    dtypes: tuple[Any, ...]
    ragged: tuple[int, ...]  # triples (value, axis, length)
    lengths: int  # how many of the values are lengths, the last ones

    def message(self, payload: Sequence[Any]) -> str:
        values = [_decode(np.asarray(x), dtype) for x, dtype in zip(payload, self.dtypes, strict=True)]
        count = len(values) - self.lengths
        for value, axis, length in _triples(self.ragged):
            cut = [slice(None)] * values[value].ndim
            cut[axis] = slice(0, int(values[count + length]))
            values[value] = values[value][tuple(cut)]
        text = self.what.message(values[:count])
        if self.what.kind == "user" and not isinstance(self.what, _ErrorCheck):
            text += " (`check` failed)"
        return text + (f"\n  at {self.location}" if self.location else "")


def _triples(numbers: Sequence[int]) -> list[tuple[int, int, int]]:
    return [(numbers[i], numbers[i + 1], numbers[i + 2]) for i in range(0, len(numbers), 3)]


@leaving_methods
class Error:
    """What a checkified function found: nothing, or the first check that failed.

    A pytree of arrays; under ``vmap`` it is a batch of them, one for each example.

    Parameters
    ----------
    code : integer array
        Which check failed first; 0: none.
    payload : sequence of arrays
        The values that messages show.
    records : tuple
        The checks of the program.

    Examples
    --------
    >>> err, _ = ct.checkify.checkify(lambda x: ct.numpy.log(x), errors=ct.checkify.nan_checks)(-1.0)
    >>> err.get().splitlines()[0]
    'nan generated by primitive: log.'
    """

    def __init__(self, code: Any, payload: Sequence[Any], records: tuple[_Record, ...]) -> None:
        self._code = code
        self._payload = tuple(payload)
        self._records = records

    def get(self) -> str | None:
        """Returns the message of the check that failed.

        Returns
        -------
        str or None
            None if none did; for a batch a line for each example that failed.

        Raises
        ------
        ConcretizationError
            While a transform is capturing there is no value yet; use `check_error`.

        Examples
        --------
        >>> err, _ = ct.checkify.checkify(lambda x: 1 / x, errors=ct.checkify.div_checks)(2.0)
        >>> err.get() is None
        True
        """
        code = np.asarray(self._code)
        payload = [np.asarray(x) for x in self._payload]
        if code.ndim == 0:
            return _message(int(code), payload, self._records) if code else None
        lines = []
        for position in np.argwhere(code):
            at = tuple(int(i) for i in position)
            message = _message(int(code[at]), [x[at] for x in payload], self._records)
            lines.append(f"at mapped index {', '.join(map(str, at))}: {message}")
        return "\n".join(lines) or None

    def throw(self) -> None:
        """Raises CheckError if a check failed; inside of `checkify` or a compiled program as `check_error`.

        Raises
        ------
        CheckError
            A check failed.

        Examples
        --------
        >>> err, _ = ct.checkify.checkify(lambda x: 1 / x, errors=ct.checkify.div_checks)(0.0)
        >>> err.throw()
        Traceback (most recent call last):
            ...
        cotangent.checkify.CheckError: division by zero...
        """
        check_error(self)

    def __repr__(self) -> str:
        if _core.is_traced(self._code):
            return "Error(traced)"
        return f"Error({self.get()})"


def _head(children: Any) -> tuple[Any, list[Any]]:
    code, *payload = children
    return code, payload


register_pytree_node(
    Error,
    lambda error: ((error._code, *error._payload), error._records),
    lambda records, children: Error(*_head(children), records),
)


def _message(code: int, payload: Sequence[Any], records: tuple[_Record, ...]) -> str:
    """Of the check number ``code``, counted from 1."""
    start = sum(len(record.dtypes) for record in records[: code - 1])
    record = records[code - 1]
    return record.message(payload[start : start + len(record.dtypes)])


def _first_of_batch(error: Error) -> tuple[Array, list[Array]]:
    """The code and the values of the first example that failed."""
    code = _core.array(error._code)
    payload = [_core.array(x) for x in error._payload]
    if code.ndim == 0:
        return code, payload
    batch = code.ndim
    flat = cnp.ravel(code)
    first = cnp.argmax(flat != 0)
    rows = [cnp.reshape(x, (flat.shape[0], *x.shape[batch:])) for x in payload]
    return cnp.take(flat, first, mode="clip"), [cnp.take(x, first, axis=0, mode="clip") for x in rows]


# Kept values are integers, so that no derivative ever looks at them.


def _encode(x: Array) -> Array:
    kind = _core.dtype_kind(x.dtype)
    if kind == "complex":
        return _encode(cnp.stack([cnp.real(x), cnp.imag(x)], axis=-1))
    if kind != "float":
        return x
    return primitives.bitcast(x, dtype=np.dtype(f"uint{8 * x.dtype.itemsize}"))


def _decode(x: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    kind = _core.dtype_kind(dtype)
    if kind == "complex":
        parts = x.view(f"float{4 * np.dtype(dtype).itemsize}")
        return (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    return x.view(dtype) if kind == "float" else x


check_arguments(globals())
