"""``jax._src.config``: the options one by one, and flags, which hold a number or a word each."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from cotangent.jax.settings import STATES, Config, State, StateContextManager, config

__all__ = [
    "Config",
    "ExplicitX64Mode",
    "Flag",
    "LegacyPrngKeyState",
    "NumpyDtypePromotion",
    "State",
    "StateContextManager",
    "_read",
    "bool_env",
    "bool_flag",
    "bool_state",
    "checking_leaks",
    "config",
    "config_states",
    "enum_flag",
    "enum_state",
    "float_flag",
    "int_env",
    "int_flag",
    "int_state",
    "optional_string_state",
    "parse_flags_with_absl",
    "string_flag",
    "string_state",
    "update",
]

config_states = STATES
update, _read, parse_flags_with_absl = config.update, config.read, config.parse_flags_with_absl


class _Word(enum.StrEnum):
    """Words that options take; each equals its text."""


class LegacyPrngKeyState(_Word):
    """What is done with random keys that are arrays of words."""

    ALLOW, WARN, ERROR = "allow", "warn", "error"


class NumpyDtypePromotion(_Word):
    """Which dtypes meet in a common one."""

    STANDARD, STRICT = "standard", "strict"


class ExplicitX64Mode(_Word):
    """What is done with dtypes of 64 bits that are named while these are off."""

    WARN, ERROR, ALLOW = "warn", "error", "allow"


class Flag:
    """A value by a name."""

    by_name: ClassVar[dict[str, Flag]] = {}

    def __init__(self, name: str, default: Any) -> None:
        self._name = self.name = name
        self.by_name[name] = self
        self.value = default

    def _set(self, value: Any) -> None:
        self.value = value


def _flag(name: str, default: Any, *_: Any, **__: Any) -> Flag:
    return Flag(name, default)


bool_flag = int_flag = float_flag = string_flag = enum_flag = _flag


def _state(name: str, default: Any, *_: Any, **__: Any) -> State:
    if name not in STATES:
        config._held.setdefault(name, default)
        STATES[name] = State(name)
    return STATES[name]


bool_state = int_state = string_state = optional_string_state = _state


def enum_state(name: str, enum_values: Sequence[str], default: Any, *_: Any, **__: Any) -> State:
    """An option that takes words."""
    return _state(name, default)


def _from_environment(read: Callable[[str], Any]) -> Callable[[str, Any], Any]:
    def find(name: str, default: Any) -> Any:
        text = os.environ.get(name)
        return default if text is None else read(text)

    return find


_TRUE, _FALSE = ("y", "yes", "t", "true", "on", "1"), ("n", "no", "f", "false", "off", "0", "")


def _truth(text: str) -> bool:
    if text.lower() not in (*_TRUE, *_FALSE):
        raise ValueError(f"{text!r} is neither true nor false\n  write one of {', '.join((*_TRUE, *_FALSE))}")
    return text.lower() in _TRUE


bool_env, int_env = _from_environment(_truth), _from_environment(int)

# Each option by its name.
_BY_NAME = {name.removeprefix("jax_"): option for name, option in STATES.items()}
globals().update(_BY_NAME)
__all__ += list(_BY_NAME)
checking_leaks = STATES["jax_check_tracer_leaks"]
