"""Blocks that count what happens in them: here captures of jitted functions. What tests count of XLA beside that does not happen."""

from __future__ import annotations

import contextlib
import unittest
from collections.abc import Callable, Iterator
from typing import Any

from cotangent.jax.internals import captures

__all__ = [
    "assert_num_jit_and_pmap_compilations",
    "collect_lowered_jaxprs",
    "count_aot_jit_cpp_cache_miss",
    "count_compilation_after_persistent_cache_miss",
    "count_device_put",
    "count_device_put_fast_path_hit",
    "count_events",
    "count_infer_params_cache_miss",
    "count_internal_device_puts",
    "count_jax_array_shard_arg_calls",
    "count_jit_and_pmap_lowerings",
    "count_jit_compilation_cache_miss",
    "count_jit_tracing_cache_miss",
    "count_pjit_cpp_cache_miss",
    "count_primitive_compiles",
    "count_subjaxpr_to_hlo_conversion",
    "register_event_duration_listener",
]

# A function is captured, lowered and compiled together, once for each signature.
_OF_CAPTURES = ("jit_cpp_cache_miss", "trace_to_jaxpr", "lower_jaxpr_to_module", "pxla_cached_compilation")

Counter = Callable[[], int]


@contextlib.contextmanager
def _captures() -> Iterator[Counter]:
    before = captures.count()
    yield lambda: captures.count() - before


class _uncounted(contextlib.AbstractContextManager[Counter]):  # noqa: N801 (it is called as a function is)
    """A block of which nothing is counted: the test skips itself."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> Counter:
        raise unittest.SkipTest("what this test counts is XLA's, and does not happen here")

    def __exit__(self, *exception: object) -> None: ...


def count_events(event: str) -> Callable[[], contextlib.AbstractContextManager[Counter]]:
    """What makes blocks that count an event."""
    return _captures if event in _OF_CAPTURES else _uncounted


count_pjit_cpp_cache_miss = count_jit_tracing_cache_miss = _captures
count_jit_and_pmap_lowerings = count_jit_compilation_cache_miss = _captures
count_device_put = count_device_put_fast_path_hit = count_internal_device_puts = _uncounted
count_aot_jit_cpp_cache_miss = count_compilation_after_persistent_cache_miss = _uncounted
count_jax_array_shard_arg_calls = count_infer_params_cache_miss = count_primitive_compiles = _uncounted
count_subjaxpr_to_hlo_conversion = collect_lowered_jaxprs = register_event_duration_listener = _uncounted


@contextlib.contextmanager
def assert_num_jit_and_pmap_compilations(times: int) -> Iterator[None]:
    """A block in which so many jitted functions are to be compiled.

    Raises:
        AssertionError: there were more, or fewer.
    """
    with _captures() as count:
        yield
    assert count() == times, f"{times} programs were to be compiled, and {count()} were"
