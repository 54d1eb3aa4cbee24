"""Settings of the process: ``ct.config.update("enable_x64", True)``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from cotangent import _core

_NAMES = {"enable_x64": "enable_x64", "jax_enable_x64": "enable_x64"}


def update(name: str, value: bool) -> None:
    """Sets an option.

    Args:
        name: ``"enable_x64"`` (alias ``"jax_enable_x64"``): the default dtype of new arrays and of Python numbers is 64 bits wide.
            Arrays that are 64 bits wide already stay so under either setting.
        value: the new value.

    Raises:
        ValueError: for an unknown name.
    """
    if name not in _NAMES:
        raise ValueError(f"unknown option {name!r}; the options are {sorted(set(_NAMES.values()))}")
    _core.set_enable_x64(bool(value))


def read(name: str) -> bool:
    """The value of an option."""
    if name not in _NAMES:
        raise ValueError(f"unknown option {name!r}; the options are {sorted(set(_NAMES.values()))}")
    return _core.get_enable_x64()


@contextlib.contextmanager
def enable_x64(value: bool = True) -> Iterator[None]:
    """Sets 64-bit defaults inside a ``with`` block."""
    previous = _core.get_enable_x64()
    _core.set_enable_x64(value)
    try:
        yield
    finally:
        _core.set_enable_x64(previous)
