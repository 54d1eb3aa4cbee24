"""Public functions are called as JAX's are: the names, order, kinds and defaults of their parameters."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import cotangent as ct
import numpy as np
import public_names
import pytest
from needs import needed

jax = needed("jax")

# Parameters about places, of which there is one, and JAX's private ones.
NOT_COUNTED = {"out_sharding", "sharding"}
# What differs on purpose: name -> why.
DIFFERENT = {
    "jax.numpy.array": "copy, order and ndmin may be given by position, as in NumPy",
    "jax.numpy.astype": "copy, as in NumPy and the array API standard: arrays can be assigned to",
    "jax.numpy.permute_dims": "axes may be left out, as in transpose",
    "jax.scipy.stats.gumbel_l.ppf": "q, as in SciPy",
    "jax.scipy.stats.gumbel_r.ppf": "q, as in SciPy",
    "jax.scipy.stats.logistic.isf": "q, as in SciPy",
    "jax.scipy.stats.logistic.ppf": "q, as in SciPy",
    "jax.numpy.fromfile": "JAX names no parameters",
    "jax.numpy.fromiter": "JAX names no parameters",
    "jax.lax.random_gamma_grad": "JAX names no parameters",
    **{
        f"jax.numpy.{name}": "JAX's ufuncs name no parameters"
        for name, value in vars(ct.numpy).items()
        if isinstance(value, ct.numpy.ufunc)
    },
    "jax.numpy.vectorize": "NumPy's parameters in NumPy's order; pyfunc may be left out, to make a decorator",
    "jax.checkpoint": "fun may be left out, to make a decorator",
    "jax.remat": "fun may be left out, to make a decorator",
    "jax.debug.breakpoint": "the files of the prompt have names",
    "jax.debug_infs": "a scoped option of ours",
    "jax.debug_nans": "a scoped option of ours",
    "jax.default_device": "a scoped option of ours",
    "jax.default_matmul_precision": "a scoped option of ours",
    "jax.disable_jit": "a scoped option of ours",
    "jax.enable_x64": "a scoped option of ours",
    "jax.device_put": "there is one device, and nothing to donate to",
    "jax.grad": "reduce_axes belongs to pmap",
    "jax.value_and_grad": "reduce_axes belongs to pmap",
    "jax.vjp": "reduce_axes belongs to pmap",
    "jax.linear_transpose": "reduce_axes belongs to pmap",
    "jax.jit": "no shardings and devices; backend has a default",
    "jax.make_jaxpr": "axis_env belongs to pmap",
    "jax.vmap": "sum_match belongs to shardings",
    "jax.jacrev": "allow_int: a Jacobian of integers is zero",
}


def callables(theirs: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if theirs == "jax":
            return [name for name in dir(jax) if name[0] != "_"]
        return public_names.public(theirs) if theirs.startswith("jax.") else dir(public_names.resolve(theirs))


def member(path: str, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = public_names.resolve(path)
        for part in name.split("."):
            target = getattr(target, part, None)
    return target


def parameters(function: Any) -> list[inspect.Parameter] | None:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [p for p in found if p.name not in NOT_COUNTED and not p.name.startswith("_")]


def default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is inspect.Parameter.empty:
        return ""
    value = value.item() if isinstance(value, np.generic) else value
    plain = value is None or isinstance(value, (bool, int, float, str, tuple))
    return f"={value!r}" if plain else "=..."


def shown(items: list[inspect.Parameter], skip: int = 0) -> list[str]:
    """One text a parameter; the names of positional-only ones do not matter."""
    texts = []
    for p in items[skip:]:
        name = "" if p.kind is p.POSITIONAL_ONLY else p.name
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            texts.append("*args" if p.kind is p.VAR_POSITIONAL else "**kwargs")
        else:
            texts.append(("*" if p.kind is p.KEYWORD_ONLY else "") + name + default(p))
    return texts


def differences(theirs: str, ours: str) -> dict[str, str]:
    found = {}
    for name in callables(theirs):
        function, other = member(theirs, name), member(ours, name)
        if other is None or not callable(function) or isinstance(function, type):
            continue
        expected, actual = parameters(function), parameters(other)
        if expected is None:
            continue
        if actual is None:
            found[name] = "no signature"
            continue
        want, have = shown(expected), shown(actual)
        # What JAX takes by position only may have a name here.
        for i, (p, text) in enumerate(zip(expected, want, strict=True)):
            if p.kind is p.POSITIONAL_ONLY and i < len(have) and actual[i].kind is p.POSITIONAL_OR_KEYWORD:
                have[i] = text[: len(text) - len(default(p))] + default(actual[i])
        positional = [text for text in want if text[:1] != "*"]
        keywords = {text for text in want if text[:1] == "*"}
        # Further parameters with defaults are no difference to a caller.
        more = have[len(positional) :]
        fits = have[: len(positional)] == positional and keywords <= {*more, *(f"*{text}" for text in more)}
        fits = fits and all("=" in text or text in keywords for text in more)
        if not fits:
            found[name] = f"({', '.join(have)}) for ({', '.join(want)})"
    return found


NAMESPACES = {
    **{theirs: ours for theirs, ours in public_names.NAMESPACES.items() if theirs.startswith("jax.")},
    "jax": "cotangent",
    "jax.numpy.linalg": "cotangent.numpy.linalg",
    "jax.numpy.fft": "cotangent.numpy.fft",
}


@pytest.mark.parametrize("theirs", [name for name in NAMESPACES if name != "jax.Array"])
def test_parameters_are_those_of_jax(theirs):
    found = differences(theirs, NAMESPACES[theirs])
    undeclared = {name: text for name, text in found.items() if f"{theirs}.{name}" not in DIFFERENT}
    assert undeclared == {}
