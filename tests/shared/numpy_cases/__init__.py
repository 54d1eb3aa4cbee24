"""Cases of the functions of ``cotangent.numpy``; the checks of `test_numpy.py` follow from them.

A case says how to call a function; NumPy's function of the same name says what the result is, and JAX's which dtype it has.
The families are the modules of this package. Start with `case`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FLOATS = ("float32", "float64", "float16", "bfloat16")
WIDE = ("float32", "float64")
COMPLEXES = ("complex64", "complex128")
INTEGERS = ("int32", "int8", "int16", "int64", "uint8", "uint16", "uint32", "uint64")
BOOLS = ("bool",)
NUMBERS = FLOATS + INTEGERS
ALL = NUMBERS + COMPLEXES + BOOLS

Shape = tuple[int, ...]
ERROR = "error"


@dataclass(frozen=True)
class Draw:
    """An argument that is drawn at random: floating numbers of a domain, or integers."""

    shape: Shape
    domain: tuple[float, float] = (-2.0, 2.0)
    integers: tuple[int, int] = (-3, 6)
    dtype: str | None = None  # fixed, and not differentiated; None: that of the check
    distinct: bool = False  # no two numbers are equal, or close


def draw(
    *shape: int, domain: tuple[float, float] = (-2.0, 2.0), integers: tuple[int, int] = (-3, 6), **options: Any
) -> Draw:
    return Draw(shape, domain, integers, **options)


def ints(*shape: int, low: int = -3, high: int = 6, dtype: str = "int32") -> Draw:
    return Draw(shape, integers=(low, high), dtype=dtype)


def bools(*shape: int) -> Draw:
    return Draw(shape, dtype="bool")


@dataclass(frozen=True)
class Case:
    """How to call a function. See `case`."""

    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    call: Callable[..., Any] | None
    oracle: Callable[..., Any] | str | None
    dtypes: tuple[str, ...]
    grads: bool
    jit: bool
    ragged: Any
    tolerance: float
    same_dtype: bool
    step: float | None

    def __call__(self, namespace: Any, *args: Any) -> Any:
        if self.call is not None:
            return self.call(namespace, *args)
        function = namespace
        for part in self.name.split("."):
            function = getattr(function, part)
        return function(*args, **self.kwargs)


CASES: list[Case] = []


def case(
    name: str,
    *args: Any,
    call: Callable[..., Any] | None = None,
    oracle: Callable[..., Any] | str | None = None,
    dtypes: tuple[str, ...] = ("float32", "int32"),
    grads: bool = True,
    jit: bool = True,
    ragged: Any = None,
    tolerance: float = 1.0,
    same_dtype: bool = True,
    step: float | None = None,
    **kwargs: Any,
) -> None:
    """Adds a case.

    Args:
        name: the function, or a method of one (``"add.reduce"``).
        args: numbers, arrays, and `Draw`s, which are filled in at random; lists and tuples of them.
        call: instead of the function, called with the namespace and the arguments.
        oracle: instead of NumPy's function of the name: ``"jax"``, or a function of the arguments.
        dtypes: of the draws.
        grads: whether derivatives to order 2 are checked, for draws of a floating dtype.
        jit: whether it can be compiled and batched; False for results whose shape depends on values.
        ragged: None; an axis of the first draw, which is then made ragged and the result compared with that of the exact
            array; or (axis, ERROR), where that has to be an error.
        tolerance: a factor for all tolerances.
        same_dtype: whether the dtype of the result has to be JAX's.
        step: of the difference quotients.
        kwargs: passed on to the function.
    """
    CASES.append(Case(name, args, kwargs, call, oracle, dtypes, grads, jit, ragged, tolerance, same_dtype, step))


def numpy_dtype(name: str) -> Any:
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def fill(spec: Any, dtype: str, rng: np.random.Generator) -> Any:
    """An argument with its draws made."""
    if isinstance(spec, (list, tuple)) and not hasattr(spec, "_fields"):
        return type(spec)(fill(item, dtype, rng) for item in spec)
    if not isinstance(spec, Draw):
        return spec
    target = numpy_dtype(spec.dtype or dtype)
    if target.kind in "iu":
        low = max(spec.integers[0], 0) if target.kind == "u" else spec.integers[0]
        return rng.integers(low, spec.integers[1], spec.shape).astype(target)
    if target.kind == "b":
        return rng.random(spec.shape) < 0.5
    low, high = spec.domain
    if spec.distinct:
        count = int(np.prod(spec.shape))
        values = low + (high - low) * (rng.permutation(count) + rng.uniform(0.3, 0.7, count)) / max(count, 1)
        values = values.reshape(spec.shape)
    else:
        values = rng.uniform(low, high, spec.shape)
    if target.kind == "c":
        values = values + 1j * rng.uniform(low, high, spec.shape)
    return values.astype(target)


def draws(spec: Any) -> list[Draw]:
    """The draws of an argument, in order."""
    if isinstance(spec, (list, tuple)):
        return [found for item in spec for found in draws(item)]
    return [spec] if isinstance(spec, Draw) else []


def replace(spec: Any, values: list[Any]) -> Any:
    """An argument with its draws replaced by the next of ``values``."""
    if isinstance(spec, (list, tuple)) and not hasattr(spec, "_fields"):
        return type(spec)(replace(item, values) for item in spec)
    return values.pop(0) if isinstance(spec, Draw) else spec
