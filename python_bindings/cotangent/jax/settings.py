"""``jax.config``: the options that have an effect here are cotangent's, the others hold what they are set to.

A `State` is one option by itself, ``jax.numpy_rank_promotion``: its ``value``, and a ``with`` block of another value for the thread that runs it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from cotangent import _core
from cotangent import config as own
from cotangent._base.arguments import leaving_methods
from cotangent._ops import index_plans
from cotangent.random import sequences

__all__ = [
    "STATES",
    "Config",
    "State",
    "StateContextManager",
    "config",
    "enable_x64",
    "listeners",
    "threefry_partitionable",
]


# What options have that nothing acts on here, until they are set.
_UNUSED: dict[str, Any] = {
    "allow_f16_reductions": True,
    "array_garbage_collection_guard": None,
    "auto_pcast": True,
    "bcoo_cusparse_lowering": False,
    "captured_constants_report_frames": 0,
    "captured_constants_warn_bytes": 2_000_000_000,
    "check_static_indices": False,
    "compilation_cache_dir": None,
    "compilation_cache_max_size": -1,
    "cpu_collectives_implementation": "gloo",
    "custom_vjp3": False,
    "debug_key_reuse": False,
    "disable_bwd_checks": False,
    "disable_vmap_shmap_error": False,
    "enable_checks": False,
    "enable_compilation_cache": True,
    "enable_custom_prng": False,
    "enable_pgle": False,
    "error_checking_behavior_divide": "ignore",
    "error_checking_behavior_nan": "ignore",
    "error_checking_behavior_oob": "ignore",
    "explain_cache_misses": False,
    "explicit_x64_dtypes": "warn",
    "jax2tf_associative_scan_reductions": False,
    "legacy_prng_key": "allow",
    "log_checkpoint_residuals": False,
    "logging_level": "",
    "memory_fitting_effort": 0.0,
    "mutable_array_checks": True,
    "no_execution": False,
    "no_tracing": False,
    "num_cpu_devices": -1,
    "optimization_level": "UNKNOWN",
    "persistent_cache_enable_xla_caches": "xla_gpu_per_fusion_autotune_cache_dir",
    "persistent_cache_min_compile_time_secs": 1.0,
    "persistent_cache_min_entry_size_bytes": 0,
    "pprint_use_color": True,
    "raise_persistent_cache_errors": False,
    "random_seed_offset": 0,
    "refs_to_pins": False,
    "remat3": False,
    "remove_size_one_mesh_axis_from_type": False,
    "scan3": False,
    "softmax_custom_jvp": False,
    "thread_guard": False,
    "traceback_filtering": "auto",
    "transfer_guard": None,
    "transfer_guard_device_to_device": None,
    "transfer_guard_device_to_host": None,
    "transfer_guard_host_to_device": None,
    "use_direct_linearize": True,
    "use_high_dynamic_range_gumbel": False,
    "use_shardy_partitioner": True,
    "use_simplified_jaxpr_constants": False,
}

# What options can be set to that take words.
_CHOICES: dict[str, tuple[str, ...]] = {
    "error_checking_behavior_divide": ("ignore", "raise"),
    "error_checking_behavior_nan": ("ignore", "raise"),
    "error_checking_behavior_oob": ("ignore", "raise"),
    "legacy_prng_key": ("allow", "warn", "error"),
    "numpy_dtype_promotion": ("standard", "strict"),
    "numpy_rank_promotion": ("allow", "warn", "raise"),
    "traceback_filtering": ("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
}

# What `Config.read` answers itself.
_READ_ONCE = ("threefry_partitionable",)


# Options that captured programs depend on: under another value of one, functions are captured anew.
_IN_PROGRAMS = (
    "check_static_indices",
    "default_matmul_precision",
    "error_checking_behavior_divide",
    "error_checking_behavior_nan",
    "error_checking_behavior_oob",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "softmax_custom_jvp",
    "threefry_partitionable",
    "use_high_dynamic_range_gumbel",
)

# Called after one of these was set, for this thread or for the process.
listeners: list[Callable[[bool], None]] = []


class _Local(threading.local):
    """What ``with`` blocks of this thread have set options to."""

    def __init__(self) -> None:
        self.held: dict[str, Any] = {}


_local = _Local()


def _plain(name: str) -> str:
    return name.removeprefix("jax_")


def _read(held: dict[str, Any], name: str) -> Any:
    if name == "jax_threefry_partitionable":
        return not sequences.chosen()
    for values in (_local.held, held):
        if name in values:
            return values[name]
    try:
        return own.read(name)
    except ValueError:
        if _plain(name) in _UNUSED:
            return _UNUSED[_plain(name)]
        raise AttributeError(
            f"jax.config has no option {name!r} here, and the program has not set it\n"
            f"  set it first: jax.config.update({name!r}, value)"
        ) from None


def _check(name: str, value: Any) -> None:
    choices = _CHOICES.get(_plain(name))
    if choices is not None and getattr(value, "value", value) not in choices:
        raise ValueError(f"{name} cannot be {value!r}: new enum value must be in {list(choices)}\n  set one of them")


def _show_frames(mode: str) -> None:
    """What the hook filters itself, it wants to have whole."""
    own.update("traceback", "short" if mode == "auto" else "full")


@leaving_methods
class Config:
    """The object ``jax.config``."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def update(self, name: str, value: Any) -> None:
        """Sets an option. An option of JAX that has nothing to act on here is remembered."""
        if name == "jax_threefry_partitionable":
            sequences.choose(not value)
            _changed(name, False)
            return
        _check(name, value)
        if name == "jax_check_static_indices":  # which are clamped otherwise, as those in arrays are
            index_plans.constants_are_as_arrays = not value
        if name == "jax_traceback_filtering":
            _show_frames(value)
        try:
            own.update(name, value)
            self._held.pop(name, None)
        except ValueError:
            if _plain(name) in own._CHOSEN:
                raise
            self._held[name] = value
        _changed(name, False)

    def read(self, name: str) -> Any:
        """The value of an option."""
        return _read(self._held, name)

    _read = read

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


def _in_programs() -> tuple[Any, ...]:
    return tuple(config.read(f"jax_{name}") for name in _IN_PROGRAMS)


_usual = _in_programs()


def _changed(name: str, of_thread: bool) -> None:
    """What follows from an option that was set: the core tells captured programs apart by a number of all of these options."""
    if _plain(name) not in _IN_PROGRAMS:
        return
    values = _in_programs()
    number = 0 if values == _usual else hash(values) & 0x7FFFFFFFFFFFFFFE | 2
    if not of_thread:
        _core.set_context(number)
    elif any(f"jax_{option}" in _local.held for option in _IN_PROGRAMS):
        _core.override_context(number or 1)
    else:
        _core.override_context(0)
    for listener in listeners:
        listener(of_thread)


@contextlib.contextmanager
def _held(name: str, value: Any) -> Iterator[None]:
    """A block in which an option of this thread has a value that is only looked up."""
    _check(name, value)
    is_held, before = name in _local.held, _local.held.get(name)
    _local.held[name] = value
    _changed(name, True)
    try:
        yield
    finally:
        if is_held:
            _local.held[name] = before
        else:
            del _local.held[name]
        _changed(name, True)


@contextlib.contextmanager
def _filtering(value: Any) -> Iterator[None]:
    before = config.read("jax_traceback_filtering")
    with _held("jax_traceback_filtering", value):
        _show_frames(value)
        try:
            yield
        finally:
            _show_frames(before)


@contextlib.contextmanager
def _partitionable(value: Any) -> Iterator[None]:
    before = sequences.chosen()
    sequences.choose(not value)
    _changed("jax_threefry_partitionable", False)
    try:
        yield
    finally:
        sequences.choose(before)
        _changed("jax_threefry_partitionable", False)


@contextlib.contextmanager
def _seldom(name: str, value: Any) -> Iterator[None]:
    """An option that is settled here: remembered, with no effect."""
    try:
        own.update(name, value)
    except ValueError:
        if _plain(name) == "default_matmul_precision":
            raise
    with _held(name, value):
        yield


@contextlib.contextmanager
def _known_indices(checked: Any) -> Iterator[None]:
    before = index_plans.constants_are_as_arrays
    with _held("jax_check_static_indices", checked):
        index_plans.constants_are_as_arrays = not checked
        try:
            yield
        finally:
            index_plans.constants_are_as_arrays = before


@contextlib.contextmanager
def _keys_used_again(forbidden: Any) -> Iterator[None]:
    if forbidden:
        raise NotImplementedError(
            "jax.debug_key_reuse(True): whether a random key is used twice is not checked\n"
            "  pass False, or leave it out"
        )
    yield


# How options that act are set for a block.
_BLOCKS: dict[str, Callable[[Any], contextlib.AbstractContextManager[Any]]] = {
    "check_static_indices": _known_indices,
    "debug_infs": own.debug_infs,
    "debug_key_reuse": _keys_used_again,
    "debug_nans": own.debug_nans,
    "default_device": own.default_device,
    "disable_jit": own.disable_jit,
    "enable_x64": own.enable_x64,
    "threefry_partitionable": _partitionable,
    "traceback_filtering": _filtering,
}

_MISSING = object()

# The options whose blocks need no value, and have this one.
_WITHOUT_VALUE = {
    "check_tracer_leaks": True,
    "debug_infs": True,
    "debug_key_reuse": True,
    "debug_nans": True,
    "disable_jit": True,
    "enable_checks": True,
    "enable_custom_prng": True,
    "enable_x64": True,
    "explain_cache_misses": True,
    "log_compiles": True,
    "no_execution": True,
    "no_tracing": True,
    "softmax_custom_jvp": True,
    "thread_guard": True,
    "threefry_partitionable": True,
}


@leaving_methods
class StateContextManager(contextlib.ContextDecorator):
    """A ``with`` block, or a decorator, in which an option has a value."""

    def __init__(self, state: State, new_val: Any) -> None:
        self.state, self.new_val = state, new_val
        self._open: list[contextlib.AbstractContextManager[Any]] = []

    def __enter__(self) -> None:
        block = self.state.block(self.new_val)
        block.__enter__()
        self._open.append(block)

    def __exit__(self, *exception: Any) -> None:
        self._open.pop().__exit__(*exception)


@leaving_methods
class State:
    """One option: its ``value``, and, called with another value, the ``with`` block or decorator in which it has that."""

    def __init__(self, name: str) -> None:
        self.name = self._name = name
        self.__name__ = _plain(name)

    @property
    def value(self) -> Any:
        """What holds in this thread."""
        return config.read(self.name)

    def get_global(self) -> Any:
        """What holds where no block is open."""
        return config._held.get(self.name, self.value)

    def block(self, value: Any) -> contextlib.AbstractContextManager[Any]:
        """A block in which the option has a value."""
        plain = _plain(self.name)
        acting = _BLOCKS.get(plain)
        if acting is not None:
            return acting(value)
        return _seldom(self.name, value) if plain in own._SETTLED else _held(self.name, value)

    def _set(self, value: Any) -> None:
        config.update(self.name, value)

    def __call__(self, new_val: Any = _MISSING) -> StateContextManager:
        """A block, or a decorator, in which the option has a value."""
        if new_val is _MISSING:
            new_val = _WITHOUT_VALUE.get(_plain(self.name), _MISSING)
        if new_val is _MISSING:
            raise TypeError(
                f"Context manager for {self.__name__} config option requires an argument: the value in the block\n"
                f"  write jax.{self.__name__}(value)"
            )
        _check(self.name, new_val)
        return StateContextManager(self, new_val)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.value!r}>"


# Every option, by its name in JAX.
STATES = {f"jax_{name}": State(f"jax_{name}") for name in sorted({*_UNUSED, *_BLOCKS, *own._SETTLED})}


def state(name: str) -> State:
    """The option of a name, without ``jax_`` in front."""
    return STATES[f"jax_{name}"]


enable_x64, threefry_partitionable = state("enable_x64"), state("threefry_partitionable")
