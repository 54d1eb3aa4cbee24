"""Floats that a captured function stores as integers: their fractions are lost, and gradients would be 0 without a word."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest


def assigned(x: Any) -> Any:
    out = cnp.array([0, 0, 0])
    out[1] = x * x  # the line
    return out.sum().astype("float32")


def updated(x: Any) -> Any:
    return cnp.zeros(3, "uint8").at[1].set(x).sum().astype("float32")  # the line


def added(x: Any) -> Any:
    return cnp.zeros(3, "int32").at[1].add(x).sum().astype("float32")  # the line


def subtracted(x: Any) -> Any:
    return cnp.zeros(3, "int32").at[1].subtract(x).sum().astype("float32")  # the line


def as_bools(x: Any) -> Any:
    out = x > 5
    out[...] = x  # the line
    return out.astype("float32")


@pytest.mark.parametrize("transform", [ct.jit, ct.grad, lambda f: lambda x: ct.vmap(f)(cnp.array([x]))])
@pytest.mark.parametrize("function", [assigned, updated, added, subtracted, as_bools])
def test_warns_at_the_line(function: Callable[[Any], Any], transform: Any) -> None:
    with pytest.warns(UserWarning, match=r"fractions are lost, and with them derivatives\n  make x floating") as caught:
        transform(function)(1.5)
    (warning,) = caught
    assert linecache.getline(warning.filename, warning.lineno).endswith("# the line\n")


def test_message() -> None:
    with pytest.warns(UserWarning, match="x is int32") as caught:
        ct.jit(assigned)(1.5)
    assert str(caught[0].message) == (
        "x[i] = y: y is float32, and x is int32: fractions are lost, and with them derivatives\n"
        "  make x floating, as by x = x.astype('float32'); if that is meant, write y.astype('int32')"
    )


def test_remedies_do_not_warn() -> None:
    def floating(x: Any) -> Any:
        out = cnp.array([0, 0, 0]).astype("float32")
        out[1] = x * x
        return out.sum()

    def meant(x: Any) -> Any:
        out = cnp.array([0, 0, 0])
        out[1] = (x * x).astype("int32")
        return out.at[0].add(x.astype("int32"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ct.grad(floating)(1.5) == 3.0
        assert ct.jit(meant)(1.5).tolist() == [1, 2, 0]
        x = cnp.array([0, 0])
        x[0] = cnp.asarray(1.5)  # outside of captures, as in NumPy
        x[1] = np.float32(2.5)
        assert x.tolist() == [1, 2]
