"""The loader of tests for ``absltest.main(testLoader=JaxTestLoader())``, and marks for runners with threads, of which there is none here.

``JAX_TEST_TARGETS`` and ``JAX_EXCLUDE_TEST_TARGETS`` are patterns of tests to run, and not to run.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from absl.testing import absltest

from cotangent.jax.mirror._src.config import Flag

__all__ = ["TEST_NUM_THREADS", "JaxTestLoader", "thread_unsafe_test", "thread_unsafe_test_class"]

TEST_NUM_THREADS = Flag("jax_test_num_threads", 0)


class JaxTestLoader(absltest.TestLoader):
    """Finds tests whose names, ``Class.test``, fit."""

    def getTestCaseNames(self, testCaseClass: Any) -> list[str]:  # noqa: N802 (unittest's names)
        """The names of the tests of a class."""
        wanted, unwanted = (os.environ.get(f"JAX_{name}TEST_TARGETS") for name in ("", "EXCLUDE_"))

        def fits(name: str) -> bool:
            whole = f"{testCaseClass.__name__}.{name}"
            return (not wanted or bool(re.search(wanted, whole))) and not (unwanted and re.search(unwanted, whole))

        return [name for name in super().getTestCaseNames(testCaseClass) if fits(name)]


@contextlib.contextmanager
def thread_unsafe_test(condition: bool = True) -> Iterator[None]:
    """A block or function that no other test is to run beside; none does."""
    yield


def thread_unsafe_test_class(condition: bool = True) -> Callable[[type], type]:
    """The decorator of a class of such tests."""
    return lambda kind: kind
