"""Looking into running programs: `print` and `callback`, which work under every transform and in compiled code.

Both see the values of the program itself, not of its derivative: they run once, in the order of the program, whatever is
differentiated. Under ``vmap`` they run once for each example if anything that they are given differs between examples. Inside of
``mask`` they are given the real elements without the padding.
"""

from __future__ import annotations

import builtins
import functools
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.callbacks import bind_debug
from cotangent._base.capture import check_callable
from cotangent._base.carriers import map_every_leaf
from cotangent._base.messages import warn_user
from cotangent._base.names import suggest_names
from cotangent.ir import slot_matrix

__all__ = ["callback", "print", "slot_matrix"]


def callback(callback: Callable[..., Any], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """Calls a Python function with values of the running program.

    It is called once for each time that the program gets there, in the program's order, also inside of `jit`, loops and
    branches; under `vmap` once for each example, if they differ in what it is given. Derivatives pass it by.

    Parameters
    ----------
    callback : callable
        Takes read-only NumPy arrays in place of arrays; what it returns is ignored.
    *args : pytrees
        Pytrees; leaves that are no arrays or numbers are passed on as they are.
    ordered : bool, default False
        Accepted for compatibility: calls are always in the program's order.
    **kwargs : pytrees
        Keyword arguments, the same.

    Raises
    ------
    TypeError
        ``callback`` cannot be called.

    Examples
    --------
    >>> seen = []
    >>> @ct.jit
    ... def f(x):
    ...     ct.debug.callback(lambda v: seen.append(float(v)), x * 2)
    ...     return x
    >>> _ = f(3.0); seen
    [6.0]
    """
    del ordered
    check_callable(callback, "debug.callback")
    bind_debug(callback, args, kwargs)


class _Anything:
    """Stands for a value that is not known yet while a format is checked."""

    def __getattr__(self, name: str) -> _Anything:
        return self

    def __getitem__(self, key: Any) -> _Anything:
        return self

    def __format__(self, spec: str) -> str:
        return ""


class _Text(str):
    """A message that a KeyError shows as it is: it shows others as Python would write them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _plain(value: Any) -> Any:
    """A scalar within a container, as Python shows numbers there: with its own digits, and without the name of its type."""
    if not isinstance(value, np.generic) or isinstance(value, np.void) or value.dtype.kind in "SUOmM":
        return value
    kind = _core.dtype_kind(value.dtype)
    return {"bool": bool, "signed": int, "unsigned": int, "complex": complex}.get(kind, float)(
        str(value) if kind in ("float", "complex") else value
    )


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, (tuple, list, dict)):
            value = map_every_leaf(_plain, value)
        # A float32 in its own digits: as a Python float, 0.1 would be 0.10000000149011612.
        return str(value) if isinstance(value, np.generic) and not format_spec else str(format(value, format_spec))

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if isinstance(key, int) and key >= len(args):
            raise IndexError(
                f"debug.print: the format asks for argument {key}, and there are {len(args)}\n  give it behind the format, or double"
                " braces that are meant as such: {{ }}"
            )
        if isinstance(key, str) and key not in kwargs:
            raise KeyError(
                _Text(
                    f"debug.print: the format asks for {key!r}, which is not given{suggestion(key, kwargs)}\n  give it by name: {key}=...,"
                    " or double braces that are meant as such: {{ }}"
                )
            )
        return super().get_value(key, args, kwargs)

    def check_unused_args(self, used_args: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [str(i) for i in range(len(args)) if i not in used_args] + [k for k in kwargs if k not in used_args]
        if unused:
            raise ValueError(
                f"debug.print: the format does not use these arguments: {', '.join(unused)}\n  name them in it: {{{unused[0]}}}"
            )


_FORMATTER = _Formatter()


def _number(value: Any) -> Any:
    """An argument whose scalars print, and take format specifications, like numbers."""
    return map_every_leaf(lambda x: x[()] if isinstance(x, np.ndarray) and x.ndim == 0 else x, value)


@functools.lru_cache(maxsize=4096)
def _printer(fmt: str) -> Callable[..., None]:
    """One function a format, so that programs captured again are equal."""

    def printed(*args: Any, **kwargs: Any) -> None:
        shown = {key: _number(x) for key, x in kwargs.items()}
        builtins.print(_FORMATTER.vformat(fmt, [_number(x) for x in args], shown))

    printed.__name__ = "print"
    return printed


def print(fmt: str | Any, *args: Any, ordered: bool = False, **kwargs: Any) -> None:  # noqa: A001
    """Prints values when the program runs.

    Parameters
    ----------
    fmt : str
        A format as of ``str.format``: ``"x = {x}, loss = {:.3f}"``; no f-string, whose values are those of the capture.
        Without a format values are printed one after the other: ``print(x, y)``.
    *args : pytrees
        What ``{}`` and ``{0}`` stand for; pytrees of arrays, or any Python values.
    ordered : bool, default False
        Accepted for compatibility: calls are always in the program's order.
    **kwargs : pytrees
        What ``{name}`` stands for.

    Raises
    ------
    ValueError
        The format does not use one of the arguments.
    KeyError, IndexError
        It uses one that is not there.

    Examples
    --------
    >>> @ct.jit
    ... def f(x):
    ...     ct.debug.print("x = {x}, x² = {:.1f}", x * x, x=x)
    ...     return x
    >>> _ = f(3.0)
    x = 3.0, x² = 9.0
    """
    del ordered
    if not isinstance(fmt, str):
        fmt, args = " ".join(["{}"] * (len(args) + 1)), (fmt, *args)
    if "Traced<" in fmt:
        warn_user(
            f"debug.print: the format has the text of an array that has no values yet, {fmt!r}: it was put in when the program was captured\n"
            '  leave a place for the value, without f in front of the text: ct.debug.print("x = {}", x)'
        )
    _FORMATTER.vformat(fmt, [_Anything()] * len(args), dict.fromkeys(kwargs, _Anything()))
    bind_debug(_printer(fmt), args, kwargs)


check_arguments(globals())
suggest_names(globals())
