"""Tracebacks show the frames of the user's program; those of the package only on request, or where nobody raised the error on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core

PACKAGE = str(Path(ct.__file__).parent)
X = np.ones(3, np.float32)


def frames_of(error: BaseException) -> tuple[list[str], int]:
    """The names of the frames that are not the package's, and how many are."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    return [frame.name for frame in frames if frame not in own], len(own)


def raised(function: Callable[[], Any]) -> BaseException:
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("no error")


@pytest.fixture
def full() -> Iterator[None]:
    before = ct.config.read("traceback")
    ct.config.update("traceback", "full")
    yield
    ct.config.update("traceback", before)


def fails(x: Any) -> Any:
    raise KeyError("own")


WAYS: dict[str, Callable[[], Any]] = {
    "function": lambda: cnp.sum(X, axis=7),
    "nested in functions": lambda: cnp.linalg.norm(X, axis=(4, 5)),
    "method": lambda: cnp.asarray(X).sum(axis=7),
    "operator": lambda: cnp.asarray(X) + cnp.ones(2),
    "index": lambda: cnp.asarray(X)[7],
    "update": lambda: cnp.asarray(X).at["a"].set(1),
    "property": lambda: cnp.asarray(X).mT,
    "scipy": lambda: ct.scipy.special.logsumexp(X, axis=9),
    "class": lambda: ct.Ragged(np.zeros((2, 3)), {0: 5}),
    "ragged": lambda: ct.ragged([[1.0], [2.0, 3.0]]) + cnp.ones((7, 7)),
    "vmap": lambda: ct.vmap(lambda x, y: x)(np.ones(2), np.ones(3)),
    "pullback": lambda: ct.vjp(cnp.sin, X)[1](np.ones(2)),
    "linear map": lambda: ct.linearize(cnp.sin, X)[1](np.ones(2)),
    "loop": lambda: ct.lax.scan(lambda c, x: (c, x, x), 0.0, X),
    "key": lambda: ct.random.normal(3),
    "decorated": lambda: ct.custom_vjp(lambda x: x)(1.0),
}


@pytest.mark.parametrize("name", WAYS)
def test_frames_of_the_package_are_left_out(name: str) -> None:
    names, own = frames_of(raised(WAYS[name]))
    assert own == 0
    assert names[:2] == ["raised", "<lambda>"]


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "jit": ct.jit,
    "grad": ct.grad,
    "value_and_grad": ct.value_and_grad,
    "vmap": ct.vmap,
    "jacfwd": ct.jacfwd,
    "hessian": ct.hessian,
    "make_ir": ct.make_ir,
    "checkpoint": ct.checkpoint,
    "mask": ct.mask,
    "all of them": lambda f: ct.jit(ct.vmap(ct.grad(ct.checkpoint(f)))),
    "loop": lambda f: lambda x: ct.lax.scan(lambda c, x: (c, f(x)), 0.0, x),
    "branch": lambda f: lambda x: ct.lax.cond(True, f, f, x),
    "map": lambda f: lambda x: ct.tree.map(f, x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_frames_of_the_function_stay(name: str) -> None:
    error = raised(lambda: TRANSFORMED[name](fails)(X))
    names, own = frames_of(error)
    assert own == 0
    assert names[-1] == "fails"
    assert isinstance(error, KeyError)


def test_frames_of_where_it_came_from_are_left_out_too() -> None:
    error = raised(lambda: ct.vmap(lambda x: x, in_axes=({"v": 0},))({"w": X}))
    cause: BaseException | None = error
    while cause is not None:
        assert frames_of(cause)[1] == 0
        cause = cause.__cause__ or cause.__context__


@pytest.mark.usefixtures("full")
def test_all_are_shown_on_request() -> None:
    assert frames_of(raised(lambda: cnp.linalg.norm(X, axis=(4, 5))))[1] > 0
    assert frames_of(raised(lambda: ct.grad(fails)(1.0)))[1] > 0


def test_the_environment_asks_for_all() -> None:
    program = "import cotangent as ct; print(ct.config.read('traceback')); ct.numpy.sum(1.0, axis=5)"
    for value, shown in (("full", True), ("", False)):
        environment = {**os.environ, "CT_TRACEBACK": value}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
        assert done.stdout == ("full\n" if shown else "short\n")
        assert (PACKAGE in done.stderr) == shown
        assert "AxisError" in done.stderr


def test_a_defect_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    from cotangent._transforms import reverse

    def defective(*_: Any) -> Any:
        assert X is None

    defective.__code__ = defective.__code__.replace(co_filename=reverse.__file__)
    monkeypatch.setattr(reverse, "_normalize_argnums", defective)
    assert frames_of(raised(lambda: ct.grad(fails)(1.0)))[1] > 0


def test_a_word_for_tracebacks() -> None:
    with pytest.raises(ValueError, match=r"traceback='long'\n  set one of 'short', 'full'"):
        ct.config.update("traceback", "long")


def test_errors_that_come_from_each_other_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, None

    def circle(x: Any) -> Any:
        second.__context__ = first
        raise first

    assert frames_of(raised(lambda: ct.grad(circle)(1.0)))[1] == 0


def test_where_errors_were_made_is_noted() -> None:
    _core.note_error_sites(True)
    raised(WAYS["function"])
    raised(WAYS["operator"])
    sites = _core.note_error_sites(False)
    assert any(file.endswith("_ops/sizes.py") for file, _ in sites)
    assert any(file == "python_bindings/bind.cc" for file, _ in sites)
    assert _core.note_error_sites(False) == set()
