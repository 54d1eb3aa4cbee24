"""Looking into running programs: `print`, `callback` and `breakpoint`, which work under every transform and in compiled code.

All see the values of the program itself, not of its derivative: they run once, in the order of the program, whatever is
differentiated. Under ``vmap`` they run once for each example if anything that they are given differs between examples. Inside of
``mask`` they are given the real elements without the padding.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import string
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import numpy as np

from cotangent import _core, _debugger
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.callbacks import bind_debug, pure_callback
from cotangent._base.capture import check_callable
from cotangent._base.carriers import map_every_leaf
from cotangent._base.messages import warn_user
from cotangent._base.names import suggest_names
from cotangent.ir import slot_matrix
from cotangent.lax.comparisons import stop_gradient

__all__ = ["breakpoint", "callback", "print", "slot_matrix"]


def callback(
    callback: Callable[..., Any] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls a Python function with values of the running program.

    It is called once for each time that the program gets there, in the program's order, also inside of `jit`, loops and
    branches; under `vmap` once for each example, if they differ in what it is given. Derivatives pass it by.
    Options may come in a call of their own: ``callback(ordered=True)(function, x)``.

    Parameters
    ----------
    callback : callable, optional
        Takes read-only NumPy arrays in place of arrays; what it returns is ignored.
    *args : pytrees
        Pytrees; leaves that are no arrays or numbers are passed on as they are.
    ordered : bool, default False
        Accepted for compatibility: calls are always in the program's order.
    partitioned : bool, default False
        Accepted for compatibility: an array is on one device.
    **kwargs : pytrees
        Keyword arguments, the same.

    Returns
    -------
    None or callable
        Without arguments, this function; it takes no options then.

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
    del ordered, partitioned
    if callback is None and not args and not kwargs:
        return _callback
    check_callable(callback, "debug.callback")
    assert callback is not None
    bind_debug(callback, args, kwargs)
    return None


def _callback(callback: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """`callback` without options, so that the function may have keywords of their names."""
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


def _chosen_options() -> tuple[tuple[str, Any], ...]:
    """How NumPy is asked to print arrays here, where that is not its way; functions among these it has no names for are left out."""
    chosen = np.get_printoptions()
    return tuple((name, value) for name, value in chosen.items() if name != "override_repr" and value != _OPTIONS[name])


_OPTIONS: dict[str, Any] = dict(np.get_printoptions())


@functools.lru_cache(maxsize=4096)
def _printer(fmt: str, options: tuple[tuple[str, Any], ...]) -> Callable[..., None]:
    """One function a format, so that programs captured again are equal."""

    def printed(*args: Any, **kwargs: Any) -> None:
        shown = {key: _number(x) for key, x in kwargs.items()}
        with np.printoptions(**dict(options)) if options else contextlib.nullcontext():
            builtins.print(_FORMATTER.vformat(fmt, [_number(x) for x in args], shown))

    printed.__name__ = "print"
    return printed


def print(  # noqa: A001
    fmt: str | Any = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Prints values when the program runs.

    Options may come in a call of their own: ``print(ordered=True)("x = {}", x)``. Arrays are printed by the options that NumPy has
    where the program is captured (``numpy.printoptions``).

    Parameters
    ----------
    fmt : str, optional
        A format as of ``str.format``: ``"x = {x}, loss = {:.3f}"``; no f-string, whose values are those of the capture.
        Without a format values are printed one after the other: ``print(x, y)``.
    *args : pytrees
        What ``{}`` and ``{0}`` stand for; pytrees of arrays, or any Python values.
    ordered : bool, default False
        Accepted for compatibility: calls are always in the program's order.
    partitioned : bool, default False
        Accepted for compatibility: an array is on one device.
    skip_format_check : bool, default False
        Whether a format with the text of a traced array in it is no reason for a warning.
    **kwargs : pytrees
        What ``{name}`` stands for.

    Returns
    -------
    None or callable
        Without arguments, this function; it takes no options then.

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
    del ordered, partitioned
    if fmt is None and not args and not kwargs:
        return functools.partial(_print, not skip_format_check)
    _print(not skip_format_check, fmt, *args, **kwargs)
    return None


def _print(checked: bool, fmt: str | Any, /, *args: Any, **kwargs: Any) -> None:
    """`print` without options."""
    if not isinstance(fmt, str):
        fmt, args = " ".join(["{}"] * (len(args) + 1)), (fmt, *args)
    if checked and "Traced<" in fmt:
        warn_user(
            f"debug.print: the format has the text of an array that has no values yet, {fmt!r}: it was put in when the program was captured\n"
            '  leave a place for the value, without f in front of the text: ct.debug.print("x = {}", x)'
        )
    _FORMATTER.vformat(fmt, [_Anything()] * len(args), dict.fromkeys(kwargs, _Anything()))
    bind_debug(_printer(fmt, _chosen_options()), args, kwargs)


_BACKENDS = ("cli", "colab", "web")
_prompts = threading.Lock()  # one prompt at a time


def breakpoint(  # noqa: A001
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    stdin: IO[str] | None = None,
    stdout: IO[str] | None = None,
) -> Any:
    r"""Stops the program when it gets there, and shows variables with the values that they have then.

    The prompt takes expressions of the variables, and commands: ``p`` and ``pp`` print an expression, ``u`` and ``d`` go to the
    function that called and back, ``l`` lists the source, ``w`` the functions, ``c`` goes on and ``q`` ends the process. It stops
    inside of `jit`, loops and branches, under `vmap` once for each example; derivatives pass it by.

    Parameters
    ----------
    backend : {"cli", "web", "colab"}, optional
        Accepted for compatibility: it is always a prompt where the program runs.
    filter_frames : bool, default True
        Whether functions of this package are left out.
    num_frames : int, optional
        How many functions are shown, from the innermost; None: all.
    ordered : bool, default False
        Accepted for compatibility: it is always in the program's order.
    token : pytree of arrays, optional
        The program stops when these are known, and not at all if nothing uses what is returned for them.
    stdin : text file, optional
        Where commands are read from; None: the terminal.
    stdout : text file, optional
        Where answers are written to; None: standard output.

    Returns
    -------
    pytree of arrays
        ``token``.

    Raises
    ------
    ValueError
        There is no such backend, or ``ordered`` and ``token`` are given both.

    Examples
    --------
    >>> import io
    >>> @ct.jit
    ... def f(x):
    ...     y = x * 2
    ...     ct.debug.breakpoint(stdin=io.StringIO("p y + 1\nc\n"))
    ...     return y
    >>> _ = f(3.0)
    Entering jdb:
    (jdb) Array(7., dtype=float32)
    (jdb)
    """
    if backend is not None and backend not in _BACKENDS:
        raise ValueError(
            f"debug.breakpoint: backend must be one of {list(_BACKENDS)}; got {backend!r}{suggestion(backend, _BACKENDS)}\n"
            "  leave it out"
        )
    if ordered and token is not None:
        raise ValueError(
            "debug.breakpoint: ordered and token are given both\n"
            "  give the token alone: the program stops when it is known"
        )
    frames = _debugger.frames_around(1, filtered=filter_frames, count=num_frames)
    arrays = _debugger.traced(frames)
    filled = _debugger.with_values(frames, arrays)

    def stop(values: Sequence[Any]) -> None:
        with _prompts:
            _debugger.Prompt(filled([_core.array(value) for value in values]), stdin, stdout).cmdloop()

    if token is None:
        bind_debug(stop, (arrays,), {})
        return None

    def stop_at(known: Any, values: Sequence[Any]) -> Any:
        stop(values)
        return known

    shapes = map_every_leaf(_core.array, token)
    return pure_callback(stop_at, shapes, *stop_gradient((token, arrays)), vmap_method="sequential")


check_arguments(globals())
suggest_names(globals())
