"""Public functions with sizes near the end of 64 bits and with arguments of wrong types: see `call_fuzz.py`."""

from __future__ import annotations

import inspect
import json
import os
import pkgutil
import types
from typing import Any

import call_fuzz
import cotangent as ct
import numpy as np
import pytest
from cotangent._base import arguments as _arguments

COUNTS = {"sizes": (500, 50_000), "flags": (800, 50_000)}  # by default, and with --long


@pytest.mark.parametrize("kind", COUNTS)
def test_calls_end_in_errors_or_results(kind: str, long_run: bool) -> None:
    count = COUNTS[kind][long_run]
    # The calls of one number differ only in which argument is replaced: a stride visits all functions.
    problems = call_fuzz.fuzz(kind, 0, count, stride=1 if long_run else 7)
    assert not problems, "\n".join(f"{problem}\n    {text}" for text, problem in problems)


@pytest.mark.long
@pytest.mark.skipif("COTANGENT_SANITIZED" not in os.environ, reason="./dev test --long builds what this runs")
@pytest.mark.parametrize("kind", COUNTS)
def test_calls_under_the_address_sanitizer(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in json.loads(os.environ["COTANGENT_SANITIZED"]).items():
        monkeypatch.setenv(name, value)
    problems = call_fuzz.fuzz(kind, 0, 10_000)
    assert not problems, "\n".join(f"{problem}\n    {text}" for text, problem in problems)


def public_functions() -> dict[str, Any]:
    found = {}
    for info in pkgutil.walk_packages(ct.__path__, "cotangent."):
        # The names of cotangent.jax are JAX's, with JAX's arguments.
        if info.name.startswith(("cotangent._core", "cotangent._base", "cotangent.jax")):
            continue
        module = __import__(info.name, fromlist=["x"])
        for name in getattr(module, "__all__", ()):
            member = getattr(module, name)
            if getattr(member, "__module__", None) == info.name:
                found[f"{info.name}.{name}"] = member
    return found


def test_every_public_function_looks_at_its_flags() -> None:
    """A module whose functions have flags ends with ``check_arguments(globals())``."""
    functions = public_functions()
    assert len(functions) > 800
    unchecked = [
        name
        for name, member in functions.items()
        if isinstance(member, types.FunctionType)
        and _arguments.checked(member) is not member
        and not inspect.isgeneratorfunction(inspect.unwrap(member))
    ]
    assert not unchecked


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ct.numpy.sum(x, keepdims="no"), "sum: keepdims must be True or False; got 'no'"),
        (lambda x: ct.numpy.sort(x, descending=None), "sort: descending must be True or False; got None"),
        (lambda x: ct.numpy.linspace(0, 1, "3"), "linspace: num must be an integer; got '3'"),
        (lambda x: ct.numpy.diff(x, 1.5), "diff: n must be an integer; got 1.5"),
        (lambda x: ct.lax.cumsum(x, 0, "x"), "cumsum: reverse must be True or False; got 'x'"),
        (lambda x: ct.numpy.meshgrid(x, indexing=1), "meshgrid: indexing must be a string; got 1"),
        (lambda x: ct.grad(lambda y: y, has_aux="yes")(1.0), "grad: has_aux must be True or False; got 'yes'"),
        (lambda x: x.sum(keepdims=1.5), "sum: keepdims must be True or False; got 1.5"),
        (lambda x: ct.numpy.sum(x, axis=1.5), "an axis must be an integer; got 1.5"),
        (lambda x: ct.scipy.fft.idctn(x, axes=""), "idctn: axes must be integers or None; got ''"),
        (lambda x: ct.lax.reduce_sum(x, axes=""), "reduce_sum: axes must be integers; got ''"),
        (lambda x: ct.lax.reduce_or(x > 0, b""), "reduce_or: axes must be integers; got b''"),
        (
            lambda x: ct.lax.dynamic_slice(x, (1,), (1,), allow_negative_indices="no"),
            "dynamic_slice: allow_negative_indices must be True or False, or several of them; got 'no'",
        ),
        (
            lambda x: ct.lax.dynamic_update_slice(x, x[:1], (1,), allow_negative_indices=np.array([1.0])),
            "dynamic_update_slice: allow_negative_indices must be True or False, or several of them; got float64[1]",
        ),
        (lambda x: ct.numpy.zeros(3, dtype=object), "object"),
        (lambda x: ct.nn.initializers.kaiming_normal(dtype=object), "object"),
        (lambda x: ct.lax.sort((x, x), num_keys=x), "sort: num_keys must be an integer; got float32[3]"),
        (
            lambda x: ct._core.primitives["sort"](x, axis=0, num_keys="x"),
            "sort: attribute 'num_keys' is missing or has another type",
        ),
    ],
)
def test_wrong_types_are_type_errors(call: Any, message: str) -> None:
    x = ct.numpy.arange(3.0)
    with pytest.raises(TypeError) as error:
        call(x)
    assert message in str(error.value)


def test_flags_may_be_what_is_true_or_false() -> None:
    x = ct.numpy.ones((2, 3))
    for flag in (True, np.True_, 1, ct.numpy.array(True), np.array(True)):
        assert ct.numpy.var(x, keepdims=flag).shape == (1, 1)
    for flags in (False, np.False_, [False], (np.False_,), np.array([False])):
        with pytest.raises(ValueError, match="allow_negative_indices is false"):
            ct.lax.dynamic_slice(ct.numpy.arange(5), (-1,), (1,), allow_negative_indices=flags)
    assert ct.numpy.linspace(0, 1, np.int8(3)).shape == (3,)


@pytest.mark.parametrize("update", [np.float32(1), np.ones((1, 3, 4))])
def test_an_update_has_the_axes_of_the_array_or_one_fewer(update: Any) -> None:
    with pytest.raises(
        ct.errors.ShapeError, match=r"the update has \d axes; an array with 2 needs as many, or one fewer"
    ):
        ct.lax.dynamic_update_index_in_dim(ct.numpy.ones((3, 4)), update, 2, 1)
