"""What tests ask about the machine: there is one processor, and nothing of XLA's or CUDA's."""

from __future__ import annotations

import functools
import re
import sys
import unittest
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

import cotangent.numpy as cnp
from cotangent import _core, tree_util
from cotangent.jax.mirror._src.config import Flag
from cotangent.jax.mirror.dtypes import canonicalize_dtype
from cotangent.jax.settings import config

__all__ = [
    "device_kind_match",
    "device_supports_buffer_donation",
    "device_under_test",
    "get_tpu_version",
    "is_asan",
    "is_cloud_tpu",
    "is_cloud_tpu_at_least",
    "is_cuda_compute_capability_at_least",
    "is_cuda_compute_capability_equal",
    "is_cuda_version_at_least",
    "is_device_cuda",
    "is_device_oneapi",
    "is_device_rocm",
    "is_device_tpu",
    "is_device_tpu_at_least",
    "is_gil_disabled",
    "is_libtpu_at_least",
    "is_msan",
    "is_optimized_build",
    "is_running_under_pytest",
    "is_sanitized",
    "is_test_rbe",
    "is_tsan",
    "num_float_bits",
    "numpy_version",
    "parse_version",
    "pattern_search",
    "pjrt_c_api_version_at_least",
    "pytest_mark_if_available",
    "request_cpu_devices",
    "run_on_devices",
    "runtime_environment",
    "skip_on_devices",
    "skip_on_flag",
    "skip_under_pytest",
    "stablehlo_version_at_least",
    "supported_dtypes",
    "test_device_matches",
    "to_default_dtype",
    "with_jax_dtype_defaults",
]

Function = Callable[..., Any]


def device_under_test() -> str:
    """The kind of device that tests are about."""
    return "cpu"


def _none(*_: Any, **__: Any) -> bool:
    """Whether there is some machine, compiler or sanitizer, which there is not."""
    return False


is_device_rocm = is_device_cuda = is_device_oneapi = is_cloud_tpu = is_device_tpu = is_device_tpu_at_least = _none
is_cuda_compute_capability_at_least = is_cuda_compute_capability_equal = is_cuda_version_at_least = _none
is_asan = is_msan = is_tsan = is_sanitized = is_test_rbe = is_libtpu_at_least = _none


def _always(*_: Any, **__: Any) -> bool:
    """Whether something is new enough, or not there at all."""
    return True


is_optimized_build = pjrt_c_api_version_at_least = stablehlo_version_at_least = is_cloud_tpu_at_least = _always


def is_gil_disabled() -> bool:
    """Whether Python runs threads at the same time."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def get_tpu_version() -> int:
    """The number of a kind of processor that there is not.

    Raises:
        ValueError: always.
    """
    raise ValueError("get_tpu_version: the device is a CPU\n  ask is_device_tpu() first")


def test_device_matches(device_types: Iterable[str]) -> bool:
    """Whether the device is of one of some kinds."""
    assert not isinstance(device_types, str), "device_types is a list of words"
    return device_under_test() in device_types


test_device_matches.__test__ = False  # type: ignore[attr-defined]  # nothing that pytest runs


def _skipping(skipped: Callable[[], bool], reason: Callable[[Function], str]) -> Callable[[Function], Function]:
    def decorate(test_method: Function) -> Function:
        @functools.wraps(test_method)
        def run(*args: Any, **kwargs: Any) -> Any:
            if skipped():
                raise unittest.SkipTest(reason(test_method))
            return test_method(*args, **kwargs)

        return run

    return decorate


def skip_on_devices(*disabled_devices: str, skip_reason: str | None = None) -> Callable[[Function], Function]:
    """The decorator of a test that some kinds of devices do not run."""
    reason = skip_reason or f"not on {', '.join(disabled_devices)}"
    return _skipping(lambda: test_device_matches(disabled_devices), lambda _: reason)


def run_on_devices(*enabled_devices: str, skip_reason: str | None = None) -> Callable[[Function], Function]:
    """The decorator of a test that only some kinds of devices run."""
    reason = skip_reason or f"only on {', '.join(enabled_devices)}"
    return _skipping(lambda: not test_device_matches(enabled_devices), lambda _: reason)


def device_supports_buffer_donation() -> Callable[[Function], Function]:
    """The decorator of a test that looks at donated arrays, which stay as they are here."""
    return _skipping(_always, lambda _: "arrays that are donated stay as they are")


def skip_on_flag(flag_name: str, skip_value: Any) -> Callable[[Function], Function]:
    """The decorator of a test that is not run where an option has a value."""

    def has_value() -> bool:
        flag = Flag.by_name.get(flag_name)
        return bool((flag.value if flag else config.read(flag_name)) == skip_value)

    return _skipping(has_value, lambda test: f"{test.__name__}: {flag_name} is {skip_value}")


def is_running_under_pytest() -> bool:
    """Whether pytest is there."""
    return "pytest" in sys.modules


def skip_under_pytest(reason: str) -> Callable[[Function], Function]:
    """The decorator of a test that pytest does not run."""
    return unittest.skipIf(is_running_under_pytest(), f"under pytest: {reason}")


def pytest_mark_if_available(marker: str) -> Callable[[Any], Any]:
    """The decorator that gives a test one of pytest's marks, where pytest is installed."""

    def mark(test: Any) -> Any:
        try:
            import pytest
        except ImportError:
            return test
        return getattr(pytest.mark, marker)(test)

    return mark


def request_cpu_devices(nr_devices: int) -> None:
    """Asks for a number of devices; there stays one, and tests of more skip themselves."""


def runtime_environment() -> str | None:
    """What runs the tests."""
    return "pytest" if sys.executable else None


def pattern_search(patterns: str | Sequence[str], string: str) -> str | None:
    """The first pattern that is in a text."""
    for pattern in (patterns,) if isinstance(patterns, str) else patterns:
        if re.search(pattern, string):
            return pattern
    return None


def device_kind_match(device_patterns: str | Sequence[str]) -> str | None:
    """The first pattern that is in the name of the device's kind."""
    return pattern_search(device_patterns, device_under_test())


def parse_version(v: str) -> tuple[int, ...]:
    """The numbers of a version, without what follows them.

    Raises:
        ValueError: there are none.
    """
    found = re.match(r"[0-9]+(?:\.[0-9]+)*", v)
    if found is None:
        raise ValueError(f"{v!r} is no version: it does not begin with numbers")
    return tuple(int(part) for part in found[0].split("."))


def numpy_version() -> tuple[int, ...]:
    """That of NumPy."""
    return parse_version(np.__version__)


_NARROW = ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "complex64")
_WIDE = ("int64", "uint64", "float64", "complex128")


def supported_dtypes() -> set[Any]:
    """The types of elements that arrays have."""
    names = (*_NARROW, *_WIDE) if _core.get_enable_x64() else _NARROW
    return {np.dtype(cnp.bfloat16).type, *(np.dtype(name).type for name in names)}


def num_float_bits(dtype: Any) -> int:
    """The bits of the floating dtype that is computed with where this one is named."""
    return int(cnp.finfo(canonicalize_dtype(dtype)).bits)


def to_default_dtype(arr: Any) -> Any:
    """An array of NumPy's with the dtype that Python numbers of its kind have."""
    found = np.asarray(arr)
    defaults = {
        "b": lambda: np.dtype(bool),
        "i": _core.default_int_dtype,
        "u": lambda: canonicalize_dtype("uint64"),
        "f": _core.default_float_dtype,
        "c": _core.default_complex_dtype,
    }
    return found.astype(defaults[found.dtype.kind]()) if found.dtype.kind in defaults else found


def with_jax_dtype_defaults(func: Function, use_defaults: Any = True) -> Function:
    """The function, whose results, or those of them that a tree of truth values names, have default dtypes."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if isinstance(use_defaults, bool):
            return tree_util.tree_map(to_default_dtype, result) if use_defaults else result
        return tree_util.tree_map(lambda x, use: to_default_dtype(x) if use else x, result, use_defaults)

    return run
