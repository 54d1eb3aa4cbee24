"""``jax.config``: the options that have an effect here are cotangent's, the others hold what they are set to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cotangent import config as own
from cotangent._base.arguments import leaving_methods
from cotangent.random import sequences

__all__ = ["Config", "config", "enable_x64", "scoped", "threefry_partitionable"]


# What options have that nothing acts on here, until they are set.
_UNUSED: dict[str, Any] = {
    "compilation_cache_dir": None,
    "cpu_collectives_implementation": "gloo",
    "debug_key_reuse": False,
    "enable_checks": False,
    "enable_compilation_cache": True,
    "enable_custom_prng": False,
    "explain_cache_misses": False,
    "legacy_prng_key": "allow",
    "logging_level": "",
    "num_cpu_devices": -1,
    "persistent_cache_min_compile_time_secs": 1.0,
    "persistent_cache_min_entry_size_bytes": 0,
    "raise_persistent_cache_errors": False,
    "softmax_custom_jvp": True,
    "traceback_filtering": "auto",
    "transfer_guard": None,
    "use_shardy_partitioner": True,
}


# What `Config.read` answers itself.
_READ_ONCE = ("threefry_partitionable",)


def _read(held: dict[str, Any], name: str) -> Any:
    if name == "jax_threefry_partitionable":
        return not sequences.chosen()
    if name in held:
        return held[name]
    try:
        return own.read(name)
    except ValueError:
        if name.removeprefix("jax_") in _UNUSED:
            return _UNUSED[name.removeprefix("jax_")]
        raise AttributeError(
            f"jax.config has no option {name!r} here, and the program has not set it\n"
            f"  set it first: jax.config.update({name!r}, value)"
        ) from None


@leaving_methods
class Config:
    """The object ``jax.config``."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def update(self, name: str, value: Any) -> None:
        """Sets an option. An option of JAX that has nothing to act on here is remembered."""
        if name == "jax_threefry_partitionable":
            sequences.choose(not value)
            return
        if name == "jax_traceback_filtering":  # what the hook filters itself, it wants to have whole
            own.update("traceback", "short" if value == "auto" else "full")
        try:
            own.update(name, value)
        except ValueError:
            if name.removeprefix("jax_") in own._CHOSEN:
                raise
            self._held[name] = value

    def read(self, name: str) -> Any:
        """The value of an option."""
        return _read(self._held, name)

    @property
    def x64_enabled(self) -> bool:
        """Whether 64 bits are the default."""
        return bool(own.read("enable_x64"))

    @property
    def values(self) -> dict[str, Any]:
        """The options by their names in JAX."""
        acting = {f"jax_{name}": own.read(name) for name in own._SETTLED if name not in _READ_ONCE}
        return acting | {f"jax_{name}": value for name, value in _UNUSED.items()} | self._held

    def parse_flags_with_absl(self) -> None:
        """Options of a command line, of which none are read."""

    config_with_absl = parse_flags_with_absl

    def __getattr__(self, name: str) -> Any:
        return _read(self.__dict__.get("_held", {}), name)  # a copy that is being made has nothing yet


config = Config()


@contextlib.contextmanager
def scoped(name: str, value: Any) -> Iterator[None]:
    """A ``with`` block in which an option has a value."""
    is_held, before = name in config._held, config._held.get(name)
    config._held[name] = value
    try:
        yield
    finally:
        if is_held:
            config._held[name] = before
        else:
            config._held.pop(name, None)


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """A ``with`` block in which 64 bits are the default."""
    return own.enable_x64(new_val)


@contextlib.contextmanager
def threefry_partitionable(new_val: bool = True) -> Iterator[None]:
    """A ``with`` block in which random words are laid out so that they can be made where they are needed, or in the older way."""
    before = sequences.chosen()
    sequences.choose(not new_val)
    try:
        yield
    finally:
        sequences.choose(before)
