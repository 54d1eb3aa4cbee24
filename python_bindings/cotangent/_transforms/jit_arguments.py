"""The arguments that options of `jit` are about, by position and by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cotangent._base.arguments import suggestion
from cotangent._base.capture import function_name

Function = Callable[..., Any]


def numbers_of(value: Any) -> list[int]:
    """Positions of arguments: an int or several, which callers have looked at (`check_arguments`)."""
    if value is None:
        return []
    return [int(item) for item in ((value,) if isinstance(value, (int, np.integer)) else value)]


def names_of(value: Any, option: str) -> list[str]:
    """Names of arguments: a str or several."""
    if value is None:
        return []
    items = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    for item in items:
        if not isinstance(item, str):
            raise TypeError(
                f"jit: {option} must be a str or a sequence of strs; got {value!r}\n"
                f"  for positions pass {option.replace('names', 'nums')}="
            )
    return list(items)


class Arguments:
    """The arguments of a function that is jitted, by position and by name; where its signature is unknown any may exist."""

    def __init__(self, fun: Function) -> None:
        self.name = function_name(fun)
        try:
            parameters = list(inspect.signature(fun).parameters.values())
        except (ValueError, TypeError):
            parameters = []
        self.names = {p.name for p in parameters}
        self.positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.takes_any_position = not parameters or any(p.kind == p.VAR_POSITIONAL for p in parameters)
        self.takes_any_name = not parameters or any(p.kind == p.VAR_KEYWORD for p in parameters)

    def has(self, position: int) -> bool:
        return -len(self.positional) <= position < len(self.positional)

    def check_position(self, position: int, argnums: Any, option: str) -> None:
        if not self.has(position) and not self.takes_any_position:
            last = f": the last is {len(self.positional) - 1}, {self.positional[-1]!r}" if self.positional else ""
            raise ValueError(
                f"jit of {self.name}: {option}={argnums} but the function takes {len(self.positional)} positional arguments\n"
                f"  count them from 0{last}, or pass {option.replace('nums', 'names')}= for arguments that are given by name"
            )

    def check_name(self, name: str, option: str) -> None:
        if name not in self.names and not self.takes_any_name:
            raise ValueError(
                f"jit of {self.name}: {option} names {name!r}, which is no argument of the function"
                f"{suggestion(name, self.names)}\n  its arguments: {', '.join(sorted(self.names)) or 'none'}"
            )

    def static(self, argnums: Any, argnames: Any) -> tuple[list[int], list[str]]:
        """Both ways to say it, each with what only the other said."""
        positions, names = numbers_of(argnums), names_of(argnames, "static_argnames")
        for position in list(positions):
            self.check_position(position, argnums, "static_argnums")
            if self.has(position):
                names.append(self.positional[position])
        for name in list(names):
            self.check_name(name, "static_argnames")
            if name in self.positional:
                positions.append(self.positional.index(name))
        return positions, names

    def donated(self, argnums: Any, argnames: Any) -> tuple[list[int], list[str]]:
        """By position and by keyword; where one of the two is given, the other follows from it."""
        positions, names = numbers_of(argnums), names_of(argnames, "donate_argnames")
        for name in names:
            self.check_name(name, "donate_argnames")
        if argnames is None:
            names += [self.positional[position] for position in positions if self.has(position)]
        if argnums is None:
            positions += [self.positional.index(name) for name in names if name in self.positional]
        for position in positions:
            self.check_position(position, argnums, "donate_argnums")
        return positions, names
