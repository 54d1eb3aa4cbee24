"""Errors that a program notes while it runs, and that are raised when they are asked for: ``jax._src.error_check``.

What was noted is the number of an error in the list of all, in a reference that captured functions write: the first one stays.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import traceback as tracebacks_of_python
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core, tree_util
from cotangent.jax.internals.references import Ref, outer_ref
from cotangent.jax.tracebacks import include_frame

__all__ = [
    "ErrorState",
    "JaxValueError",
    "error_checking_context",
    "raise_if_error",
    "set_error_if",
    "unwrap_from_import",
    "wrap_for_export",
]


class JaxValueError(ValueError):
    """An error that was found inside of a program."""


_NO_ERROR = np.uint32(np.iinfo(np.uint32).max)
_Place = tuple[str, int, str]  # file, line and function
_Noted = tuple[str, tuple[_Place, ...] | str]  # a message, and where it was noted; as text, where another process did

_lock = threading.RLock()
_noted: list[_Noted] = []


class _Storage(threading.local):
    """The reference of each thread."""

    def __init__(self) -> None:
        self.ref: Ref = outer_ref(_NO_ERROR)


_storage = _Storage()


class error_checking_context:  # noqa: N801 (JAX's name)
    """A block with a state of its own: errors that it notes are asked for inside of it."""

    def __init__(self) -> None:
        self._before: list[Ref] = []

    def __enter__(self) -> error_checking_context:
        self._before.append(_storage.ref)
        _storage.ref = outer_ref(_NO_ERROR)
        return self

    def __exit__(self, *exception: object) -> None:
        _storage.ref = self._before.pop()


def _places() -> tuple[_Place, ...]:
    """The lines of the user's program that are running, from the outermost."""
    frame: types.FrameType | None = sys._getframe(1)
    places: list[_Place] = []
    while frame is not None:
        if include_frame(frame):
            places.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(reversed(places))


def _traceback_at(places: tuple[_Place, ...]) -> types.TracebackType | None:
    """A traceback of lines: the frames that ran there are let go of, with what they held."""
    result = None
    for file, line, name in reversed(places):
        code = compile("\n" * (line - 1) + "raise error", file, "exec").replace(co_name=name)
        error = ValueError()
        with contextlib.suppress(ValueError):
            exec(code, {"error": error})
        own = error.__traceback__.tb_next if error.__traceback__ is not None else None
        if own is not None:
            result = types.TracebackType(result, own.tb_frame, own.tb_lasti, line)
    return result


def set_error_if(pred: Any, /, msg: str) -> None:
    """Notes an error where any element is True, unless one has been noted already; what runs goes on.

    Args:
        pred: an array of bools.
        msg: the text of the error, which `raise_if_error` raises.
    """
    with _lock:
        number = np.uint32(len(_noted))
        _noted.append((msg, _places()))
    _note(ct.numpy.any(pred), number)


def _note(is_wrong: Any, number: Any) -> None:
    ref = _storage.ref
    before = ref[...]
    is_first = ct.numpy.logical_and(ct.lax.eq(before, ct.numpy.uint32(_NO_ERROR)), is_wrong)
    ref[...] = ct.numpy.where(is_first, ct.numpy.uint32(number), before)


def raise_if_error() -> None:
    """Raises the error that was noted first since this was asked last, if there is one.

    Raises:
        JaxValueError: what was noted.
        ValueError: a function is being captured, in which nothing is known yet.
    """
    noted = _storage.ref[...]
    if _core.is_traced(noted):
        raise ValueError(
            "raise_if_error() should not be called within a traced context, such as within a jitted function.\n"
            "  call it where the function's results are used"
        )
    number = int(noted)
    if number == _NO_ERROR:
        return
    _storage.ref[...] = ct.numpy.uint32(_NO_ERROR)
    with _lock:
        if number >= len(_noted):
            raise JaxValueError(
                "An unknown error occurred in a function that was imported: it gives an error that it does not list\n"
                "  export it again; what was saved may be of another version, or damaged"
            )
        message, places = _noted[number]
    if isinstance(places, str):
        raise JaxValueError(f"{message}\nThe original traceback is shown below:\n{places}")
    raise JaxValueError(message).with_traceback(_traceback_at(places))


class ErrorState:
    """What a function that is exported hands back besides its result: the error that it noted, and a list of what it can note."""

    def __init__(self, error_code: Any, error_list: Any) -> None:
        self.error_code = error_code
        self.error_list = tuple(error_list)


tree_util.register_dataclass(ErrorState, data_fields=["error_code"], meta_fields=["error_list"])


def wrap_for_export(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its errors among its results, so that it can be exported."""

    @functools.wraps(f)
    def inner(*args: Any, **kwargs: Any) -> Any:
        before = _storage.ref
        _storage.ref = Ref(_NO_ERROR)
        try:
            with _lock:
                first = len(_noted)
                result = f(*args, **kwargs)
                noted = _storage.ref[...]
                own, _noted[first:] = _noted[first:], []
        finally:
            _storage.ref = before
        listed = [(message, _text(places)) for message, places in own]
        is_none = ct.lax.eq(noted, ct.numpy.uint32(_NO_ERROR))
        return result, ErrorState(ct.numpy.where(is_none, noted, noted - ct.numpy.uint32(first)), listed)

    return inner


def _text(places: tuple[_Place, ...] | str) -> str:
    if isinstance(places, str):
        return places
    frames = tracebacks_of_python.extract_tb(_traceback_at(places))
    return "".join(tracebacks_of_python.format_list(frames)).rstrip("\n")


def unwrap_from_import(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function that `wrap_for_export` made and that was imported, whose errors are noted here."""

    @functools.wraps(f)
    def inner(*args: Any, **kwargs: Any) -> Any:
        result, state = f(*args, **kwargs)
        with _lock:
            first = np.uint32(len(_noted))
            _noted.extend(state.error_list)
        code = ct.numpy.asarray(state.error_code)
        _note(ct.lax.ne(code, ct.numpy.uint32(_NO_ERROR)), code + ct.numpy.uint32(first))
        return result

    return inner
