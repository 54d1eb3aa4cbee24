"""What `assert_allclose` says of arrays that differ, and the pytest plugin that has it."""

from __future__ import annotations

import doctest
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from cotangent import testing
from cotangent.testing import assert_allclose
from places import ROOT

CLOSE: list[tuple[Any, Any, dict[str, Any]]] = [
    (ct.numpy.ones(3), [1.0, 1.0, 1.0], {}),
    ({"w": ct.numpy.ones(3), "n": 2}, {"w": 1.0, "n": 2}, {}),
    (np.float32(1), np.float32(1) + np.float32(1e-6), {}),
    (1.0, 1.001, {"rtol": 1e-2}),
    (0.0, 1e-9, {"atol": 1e-8}),
    (np.zeros((0, 3)), np.zeros((0, 3)), {}),
    ([np.nan, np.inf], [np.nan, np.inf], {}),
    (ct.numpy.asarray([1, 2], dtype="bfloat16"), [1.0, 2.01], {}),
    (np.array([1 + 2j]), np.array([1 + 2j]), {}),
    (ct.random.key(0), ct.random.key(0), {}),
    (ct.Ragged(np.array([[1.0, 9.0]]), {1: [1]}), ct.Ragged(np.array([[1.0, 5.0]]), {1: [1]}), {}),
]
DIFFERENT: list[tuple[Any, Any, dict[str, Any], str]] = [
    ([1.0, 2.0], (1.0, 2.0), {}, "are of other structures"),
    ({"a": 1}, {"b": 1}, {}, "Dict key mismatch"),
    (np.zeros(2), np.zeros(3), {}, "the shape is (2,) instead of (3,)"),
    (np.float32(1), np.float64(1), {"same_dtype": True}, "the dtype is float32 instead of float64"),
    (ct.random.key(0), ct.random.key(1), {}, "1 of 2 elements (50%) of uint32[2]; rtol=0, atol=0"),
    (ct.random.key(0), np.zeros(()), {}, "the dtype is key<fry> instead of float64"),
    (ct.ragged([[1.0], [2.0, 3.0]]), ct.ragged([[1.0, 1.0], [2.0, 3.0]]), {}, "the lengths are {1: [1, 2]} instead of"),
    (ct.ragged([[1.0], [2.0, 3.0]]), ct.numpy.ones((2, 2)), {}, "a Ragged is compared with a Array"),
    (np.array([np.nan]), np.array([np.nan]), {"equal_nan": False}, "1 of 1 elements"),
    (np.inf, 1e300, {}, "inf"),
    (np.uint64(2**63), np.uint64(2**63 + 1), {}, "9223372036854775808  9223372036854775809"),
    (True, False, {}, "1 of 1 elements (100%) of bool[]"),
    (3, 2, {}, "1 of 1 elements (100%) of int64[]; rtol=0"),
    (np.float32(1), np.nextafter(np.float32(1), np.float32(2)), {"rtol": 0.0}, "inf  1"),
    (-np.float32(1e-45), np.float32(1e-45), {}, "  2"),
]


@pytest.mark.parametrize(("actual", "desired", "options"), CLOSE)
def test_what_is_close(actual: Any, desired: Any, options: dict[str, Any]) -> None:
    assert_allclose(actual, desired, **options)


@pytest.mark.parametrize(("actual", "desired", "options", "message"), DIFFERENT)
def test_what_differs(actual: Any, desired: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_allclose(actual, desired, **options)
    assert message in str(caught.value)


def test_the_largest_differences_are_shown_with_their_places() -> None:
    desired = np.ones((3, 4), np.float32)
    actual = desired.copy()
    actual[1, 2] += 0.5
    actual[2, 0] += 2.0
    actual[0, 0] += 0.25
    with pytest.raises(AssertionError) as caught:
        assert_allclose({"layer": {"w": actual}}, {"layer": {"w": desired}}, rtol=1e-3, shown=2)
    assert str(caught.value).splitlines() == [
        "actual and desired differ",
        "  at ['layer']['w']:",
        "  3 of 12 elements (25%) of float32[3, 4]; rtol=0.001, atol=0",
        "  at      actual  desired  difference  of tolerance  ulps",
        "  [2, 0]     3.0      1.0           2          2000  12582912",
        "  [1, 2]     1.5      1.0         0.5           500  4194304",
        "  and 1 more",
    ]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64", "float8_e4m3fn"])
def test_ulps_are_numbers_between(dtype: str) -> None:
    one = ct.numpy.asarray(1.0, dtype=dtype)
    eps = float(ct.numpy.finfo(dtype).eps)
    with pytest.raises(AssertionError, match=r"\b3$"):
        assert_allclose(ct.numpy.asarray(1 + 3 * eps, dtype=dtype), one, rtol=0.0)


def test_traced_arrays_are_not_compared() -> None:
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(lambda x: assert_allclose(x, x))(1.0)


def test_the_example(capsys: Any) -> None:
    [found] = doctest.DocTestFinder(recurse=False).find(testing.assert_allclose, "assert_allclose", globs={"ct": ct})
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found).failed == 0


def test_the_plugin(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"cotangent": "cotangent_pytest"}
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_nothing_is_loaded(): assert 'cotangent' not in sys.modules\n"
        "def test_fails(assert_allclose): assert_allclose([1.0, 2.0], [1.0, 3.0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "cotangent_pytest", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in done.stdout
    assert "at [1]:" in done.stdout
    assert "testing.py" not in done.stdout.split("short test summary")[0], "frames of the assertion are hidden"
