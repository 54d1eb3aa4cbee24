"""Primitives as functions of Python: `cotangent._base.primitives`."""

from __future__ import annotations

import ast
from pathlib import Path

import cotangent as ct
import numpy as np
import pytest
from cotangent import _core
from cotangent._base import primitives

PACKAGE = Path(ct.__file__).parent


def test_results_are_arrays_or_lists() -> None:
    x = np.array([3.0, 1.0, 2.0])
    assert primitives.sin(x).tolist() == np.sin(x).tolist()
    assert primitives.reshape(x, shape=[3, 1]).shape == (3, 1)
    (result,) = primitives.sort(x, axis=0, num_keys=1)
    assert result.tolist() == [1, 2, 3]


def test_functions_know_their_records() -> None:
    assert repr(primitives.and_) == "<primitive and>"
    assert primitives.cumsum.name == "cumsum"
    assert primitives.sort.several_results
    assert not primitives.cumsum.several_results
    assert primitives.cumsum.attributes == (("axis", "integer", False), ("reverse", "flag", False))


def test_records_say_which_attributes_there_are() -> None:
    with pytest.raises(TypeError, match="cumsum has no attribute 'axes'"):
        _core.bind("cumsum", [np.ones(3)], axes=0, reverse=False)
    with pytest.raises(TypeError, match="cumsum: attribute 'reverse' must be a flag"):
        _core.bind("cumsum", [np.ones(3)], axis=0, reverse=1)
    with pytest.raises(TypeError, match="cumsum: attribute 'reverse' is missing"):
        _core.bind("cumsum", [np.ones(3)], axis=0)
    with pytest.raises(TypeError, match="the name of a primitive must be a str"):
        _core.bind(3, [np.ones(3)])  # type: ignore[arg-type]


def test_every_equation_fits_its_record() -> None:
    """Of programs with most of what has attributes: their text, which is checked against the records, is read back."""

    def program(x: ct.Array) -> ct.Array:
        y = ct.numpy.linalg.solve(x, x.T) + ct.numpy.fft.fft(x).real + ct.numpy.sort(x, axis=0)
        y = ct.lax.fori_loop(0, 3, lambda i, y: y + ct.lax.dynamic_slice(y, (i, 0), (1, 3)), y)
        return ct.numpy.where(y > 0, y, 0).at[0].add(1.0).sum()

    graph = ct.make_ir(ct.value_and_grad(ct.checkpoint(program)))(np.eye(3) + 1)
    assert ct.ir.parse(graph.text()) == graph


def test_the_package_calls_no_primitive_by_its_name() -> None:
    named = {
        (file.relative_to(PACKAGE).as_posix(), node.lineno)
        for file in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "bind" and ast.unparse(node.value) == "_core"
    }
    assert {file for file, _ in named} == {"extend.py", "jax/internals/dialect.py"}, (
        "primitives of programs alone are known by name"
    )
