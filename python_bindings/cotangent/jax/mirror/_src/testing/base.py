"""`JaxTestCase`: the class of tests, with comparisons of arrays, and of functions with NumPy's and with themselves compiled."""

# ruff: noqa: N802, PT009 (the names of unittest, whose methods these stand beside and call)

from __future__ import annotations

import contextlib
import re
import textwrap
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from absl.testing import parameterized

from cotangent import tree_util
from cotangent.jax.internals.transforms import jit
from cotangent.jax.mirror._src.testing import closeness, warned
from cotangent.jax.mirror._src.testing.counting import count_jit_and_pmap_lowerings, count_jit_tracing_cache_miss
from cotangent.jax.mirror.dtypes import canonicalize_dtype
from cotangent.jax.settings import STATES, config

__all__ = [
    "JIT_IMPLEMENTATION",
    "BufferDonationTestCase",
    "JaxTestCase",
    "assert_global_configs_unchanged",
    "global_config_context",
    "thread_local_config_context",
    "with_config",
    "with_global_config",
]


@contextlib.contextmanager
def global_config_context(**kwds: Any) -> Iterator[None]:
    """A block in which options of the process have values."""
    before = {name: config.read(name) for name in kwds}
    try:
        for name, value in kwds.items():
            config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            config.update(name, value)


@contextlib.contextmanager
def thread_local_config_context(**kwds: Any) -> Iterator[None]:
    """A block in which options have values for this thread."""
    with contextlib.ExitStack() as blocks:
        for name, value in kwds.items():
            blocks.enter_context(STATES[name](value))
        yield


@contextlib.contextmanager
def assert_global_configs_unchanged() -> Iterator[None]:
    """A block after which options are to be what they were.

    Raises:
        AssertionError: they are not.
    """
    before = config.values
    yield
    after = config.values
    changed = {
        name: (before.get(name), after.get(name)) for name in {*before, *after} if before.get(name) != after.get(name)
    }
    assert not changed, f"the test has left options changed: {changed}"


def _joined(cls: Any, name: str, given: dict[str, Any]) -> None:
    inherited = [getattr(base, name) for base in reversed(cls.__bases__) if hasattr(base, name)]
    table: dict[str, Any] = {}
    for values in inherited:
        table |= values
    setattr(cls, name, table | given)


def with_config(**kwds: Any) -> Callable[[Any], Any]:
    """The decorator of a class of tests that have options set for their thread."""

    def decorate(cls: Any) -> Any:
        _joined(cls, "_default_thread_local_config", kwds)
        return cls

    return decorate


def with_global_config(**kwds: Any) -> Callable[[Any], Any]:
    """The decorator of a class of tests that have options set for the process."""

    def decorate(cls: Any) -> Any:
        _joined(cls, "_default_global_config", kwds)
        return cls

    return decorate


def _is_array(x: Any) -> bool:
    return hasattr(x, "__array__") or bool(np.isscalar(x))


def _is_sequence(x: Any) -> bool:
    return hasattr(x, "__iter__") and not hasattr(x, "__array__") and not isinstance(x, str)


class JaxTestCase(parameterized.TestCase):
    """A test that compares arrays, and functions with what they are to be."""

    _default_global_config: ClassVar[dict[str, Any]] = {}
    _default_thread_local_config: ClassVar[dict[str, Any]] = {
        "jax_enable_checks": True,
        "jax_numpy_dtype_promotion": "strict",
        "jax_numpy_rank_promotion": "raise",
        "jax_traceback_filtering": "off",
        "jax_legacy_prng_key": "error",
    }

    def setUp(self) -> None:
        """Sets the options of the class, and a generator of random numbers that depends on the test's name."""
        super().setUp()
        self.enterContext(assert_global_configs_unchanged())
        self._rng = np.random.RandomState(zlib.adler32(self._testMethodName.encode()))
        self.enterContext(global_config_context(**self._default_global_config))
        self.enterContext(thread_local_config_context(**self._default_thread_local_config))

    def rng(self) -> np.random.RandomState:
        """The generator of the test's random numbers."""
        return self._rng

    # ---- Comparisons -----------------------------------------------------------------------------------------------

    def assertArraysEqual(self, actual: Any, desired: Any, *, check_dtypes: bool = True, err_msg: str = "",
                          allow_object_dtype: bool = False, verbose: bool = True) -> None:  # fmt: skip
        """Fails where two arrays differ at all."""
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)
        one, other = np.asarray(actual), np.asarray(desired)
        if not allow_object_dtype and object in (one.dtype, other.dtype):
            raise TypeError(
                "assertArraysEqual: NumPy has no array of this but one of objects\n  pass allow_object_dtype=True"
            )
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(one, other, err_msg=err_msg, verbose=verbose)

    def assertArraysAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True, atol: Any = None,
                             rtol: Any = None, err_msg: str = "") -> None:  # fmt: skip
        """Fails where two arrays differ by more than a tolerance, by default that of their dtypes."""
        self.assertEqual(actual.shape, desired.shape)
        kinds = closeness.dtype_of(actual), closeness.dtype_of(desired)
        absolute, relative = (max(closeness.tolerance(kind, given) for kind in kinds) for given in (atol, rtol))
        closeness.assert_numpy_allclose(actual, desired, atol=absolute, rtol=relative, err_msg=err_msg)
        if check_dtypes:
            self.assertDtypesMatch(actual, desired)

    def assertDtypesMatch(self, actual: Any, desired: Any, *, canonicalize_dtypes: bool = True) -> None:
        """Fails where two have different dtypes; those of 64 bits are those of 32 while these are off."""
        kinds = [closeness.dtype_of(actual), closeness.dtype_of(desired)]
        if canonicalize_dtypes and not config.x64_enabled:
            kinds = [canonicalize_dtype(kind, allow_extended_dtype=True) for kind in kinds]
        self.assertEqual(*kinds)

    def assertAllClose(self, actual: Any, desired: Any, *, check_dtypes: bool = True, atol: Any = None, rtol: Any = None,
                       canonicalize_dtypes: bool = True, err_msg: str = "") -> None:  # fmt: skip
        """Fails where arrays, or dicts or sequences of them, differ by more than a tolerance."""

        def compare(one: Any, other: Any) -> None:
            self.assertAllClose(one, other, check_dtypes=check_dtypes, atol=atol, rtol=rtol,
                                canonicalize_dtypes=canonicalize_dtypes, err_msg=err_msg)  # fmt: skip

        if isinstance(actual, dict):
            self.assertIsInstance(desired, dict)
            self.assertEqual(actual.keys(), desired.keys())
            for key in actual:
                compare(actual[key], desired[key])
        elif _is_sequence(actual):
            if not _is_sequence(desired):
                self.fail(f"a sequence was expected, not {desired}")
            self.assertEqual(len(actual), len(desired))
            for one, other in zip(actual, desired, strict=True):
                compare(one, other)
        elif _is_array(actual):
            if not _is_array(desired):
                self.fail(f"an array was expected, not {desired}")
            if check_dtypes:
                self.assertDtypesMatch(actual, desired, canonicalize_dtypes=canonicalize_dtypes)
            self.assertArraysAllClose(np.asarray(actual), np.asarray(desired), check_dtypes=False, atol=atol, rtol=rtol,
                                      err_msg=err_msg)  # fmt: skip
        elif actual != desired:
            raise TypeError(f"{type(actual)} and {type(desired)} are not compared")

    def assertMultiLineStrippedEqual(self, expected: str, what: str) -> None:
        """Fails where two texts differ in more than spaces at the ends of their lines."""
        one, other = (re.sub(r"\s*\n\s*", "\n", textwrap.dedent(text).strip()) for text in (expected, what))
        self.assertMultiLineEqual(one, other, msg=f"found\n{what}\nexpected\n{expected}")

    # ---- Warnings --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def assertNoWarnings(self) -> Iterator[None]:
        """A block in which a warning is an error."""
        with warned.raise_on_warnings():
            yield

    @contextlib.contextmanager
    def assertWarns(self, warning: Any, *, msg: str | None = None) -> Iterator[None]:
        """A block that has to warn, with a text that holds another."""
        with self.assertWarnsRegex(warning, None if msg is None else re.escape(msg)):
            yield

    @contextlib.contextmanager
    def assertWarnsRegex(self, warning: Any, regex: Any) -> Iterator[None]:
        """A block that has to warn, with a text in which a pattern is."""
        with warned.record_warnings() as found:
            yield
        texts = [str(each.message) for each in found if isinstance(each.message, warning)]
        if not any(regex is None or re.search(regex, text) for text in texts):
            self.fail(f"no {warning} with {regex!r}; there were {[str(each.message) for each in found]}")

    def assertDeprecationWarnsOrRaises(
        self, deprecation_id: str, message: str, *, error_class: Any = ValueError
    ) -> Any:
        """A block that has to warn of what will not be there any more."""
        return self.assertWarnsRegex(DeprecationWarning, message)

    # ---- Functions -------------------------------------------------------------------------------------------------

    def _CheckAgainstNumpy(self, numpy_reference_op: Any, lax_op: Any, args_maker: Any, check_dtypes: bool = True,
                           tol: Any = None, atol: Any = None, rtol: Any = None,
                           canonicalize_dtypes: bool = True) -> None:  # fmt: skip
        """Fails where a function gives other arrays than NumPy's."""
        args = args_maker()
        found = lax_op(*args)
        self.assertAllClose(found, numpy_reference_op(*args), check_dtypes=check_dtypes, atol=atol or tol, rtol=rtol or tol,
                            canonicalize_dtypes=canonicalize_dtypes)  # fmt: skip

    def _CompileAndCheck(self, fun: Any, args_maker: Any, *, check_dtypes: bool = True, tol: Any = None, rtol: Any = None,
                         atol: Any = None, check_cache_misses: bool = True) -> None:  # fmt: skip
        """Fails where a compiled function gives other arrays than the function itself, or calls Python again for other values."""
        limits = {"check_dtypes": check_dtypes, "atol": atol or tol, "rtol": rtol or tol}
        called = 0

        def counted(*args: Any) -> Any:
            nonlocal called
            called += 1
            return fun(*args)

        args = args_maker()
        direct = fun(*args)
        shapes = [tree_util.tree_map(shape, direct) for shape in (np.shape, lambda x: np.shape(np.asarray(x)))]
        self.assertEqual(*shapes)
        compiled = jit(counted)
        self.assertAllClose(compiled(*args), direct, **limits)
        before = called
        self.assertAllClose(compiled(*args), direct, **limits)
        args = args_maker()
        direct = fun(*args)
        self.assertAllClose(compiled(*args), direct, **limits)
        self.assertEqual(called, before, "the function was called again for arguments of the same types")

    def assertCacheMisses(self, func: Callable[[], Any], *, cpp: int | None = None, aot_call: int | None = None,
                          tracing: int | None = None, lowering: int | None = None,
                          compilation_after_persistent_cache_miss: int | None = None) -> None:  # fmt: skip
        """Fails where a function captures jitted functions more or less often. What is XLA's is not looked at."""
        with count_jit_tracing_cache_miss() as captured, count_jit_and_pmap_lowerings() as lowered:
            func()
        for wanted, found in ((cpp, captured), (tracing, captured), (lowering, lowered)):
            if wanted is not None:
                self.assertEqual(wanted, found())


class BufferDonationTestCase(JaxTestCase):
    """Tests of donated arrays."""

    def assertDeleted(self, x: Any) -> None:
        """Fails where an array is still there."""
        self.assertTrue(x.is_deleted())

    def assertNotDeleted(self, x: Any) -> None:
        """Fails where an array is not there any more."""
        self.assertFalse(x.is_deleted())


class _NoJit:
    """In the place of `jit`: the function as it is."""

    _name = "noop"

    def __call__(self, fun: Any, *_: Any, **__: Any) -> Any:
        return fun


class _Jit:
    """`jit`, with the name that tests give it."""

    _name = "jit"

    def __call__(self, fun: Any, *args: Any, **kwargs: Any) -> Any:
        return jit(fun, *args, **kwargs)


JIT_IMPLEMENTATION = (_Jit(), _NoJit())
