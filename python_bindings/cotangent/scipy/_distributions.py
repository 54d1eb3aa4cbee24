"""What the distributions of `cotangent.scipy.stats` share: arguments, location and scale, and functions that follow from others."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import checked, leaving_methods, suggestion
from cotangent._core import Array
from cotangent.scipy._distribution_texts import describe, overview

Function = Callable[..., Array]


@leaving_methods
class Distribution:
    """A distribution whose functions are given by name, each of a variable and the shape parameters.

    Args:
        name: of the distribution, for errors.
        shapes: the names of the shape parameters.
        functions: the functions by name, of the standardised variable (location 0, scale 1).
        valid: which shape parameters make a distribution; of others every function is NaN.
        scaled: whether there is a scale beside the location.
    """

    _variable = "x"

    def __init__(
        self,
        name: str,
        shapes: Sequence[str],
        functions: dict[str, Function],
        valid: Function | None = None,
        scaled: bool = True,
    ) -> None:
        self._name = name
        self._shapes = tuple(shapes)
        self._functions = functions
        self._valid = valid
        self._defaults = {"loc": 0.0, "scale": 1.0} if scaled else {"loc": 0.0}
        self.__doc__ = overview(name)

    def __repr__(self) -> str:
        return f"<distribution {self._name}: {', '.join(sorted(self._names()))}>"

    def __dir__(self) -> list[str]:
        return sorted(self._names())

    def _names(self) -> set[str]:
        raise NotImplementedError

    def _describe(self, apply: Any, function: str, variable: str) -> None:
        """Gives a function its name, its signature and a docstring."""
        names = [name for name in (variable, *self._shapes, *self._defaults) if name]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [
            inspect.Parameter(name, kind, default=int(self._defaults[name]))
            if name in self._defaults
            else inspect.Parameter(name, kind)
            for name in names
        ]
        apply.__name__ = function
        apply.__signature__ = inspect.Signature(parameters)
        apply.__doc__ = describe(self._name, function, names)

    def _where_valid(
        self, value: Array, shapes: Sequence[Array], scale: Array | None = None, variable: Array | None = None
    ) -> Array:
        """The value where the shapes, and the scale if there is one, make a distribution; NaN elsewhere, and of a variable that is NaN, as in SciPy."""
        if self._valid is not None:
            value = inside(self._valid(*shapes), value, math.nan)
        if variable is not None:
            value = inside(variable == variable, value, math.nan)  # comparisons with NaN put it out of the support
        return value if scale is None else inside(scale > 0, value, math.nan)

    def _probability(self, function: str) -> Function:
        """``cdf``, ``sf`` or the logarithm of one, from what is given."""
        given = self._functions
        if function in given:
            return given[function]
        tail = function.removeprefix("log")
        other = "sf" if tail == "cdf" else "cdf"
        if tail == function:
            return lambda *a: 1 - given[other](*a)
        this, rest = self._probability(tail), self._probability(other)

        def logarithm(*a: Array) -> Array:
            probability = this(*a)
            small = probability < 0.5
            near_nothing = cnp.log(safe(small & (probability > 0), probability, 0.5))
            # Close to 1 the digits are those of the other tail.
            near_one = cnp.log1p(0.0 - safe(~small, rest(*a), 0.5))  # of 0 it is 0, and not -0
            result: Array = cnp.where(small, inside(probability > 0, near_nothing), near_one)
            return result

        return logarithm

    def _arguments(self, function: str, first: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Array]:
        """The variable, the shapes, the location and the scale if it is not 1 by default, as arrays of one floating dtype and shape."""
        names = [first, *self._shapes, *self._defaults]
        if len(args) > len(names):
            raise TypeError(
                f"{self._name}.{function} takes at most {len(names)} arguments; got {len(args)}\n"
                f"  its arguments are {', '.join(names)}"
            )
        given = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names:
                raise TypeError(
                    f"{self._name}.{function} has no argument {key!r}{suggestion(key, names)}\n"
                    f"  its arguments are {', '.join(names)}"
                )
            if key in given:
                raise TypeError(f"{self._name}.{function} got {key!r} twice\n  pass it by its position or by its name")
            given[key] = value
        missing = [name for name in names if name not in given and name not in self._defaults]
        if missing:
            raise TypeError(
                f"{self._name}.{function} needs {' and '.join(missing)}\n"
                f"  its arguments are {', '.join(names)}; those behind the shapes may be left out"
            )
        given = {"loc": 0.0} | given
        values = [given[name] for name in names if name in given]
        return _core.promote(values, inexact=True)


@leaving_methods
class Continuous(Distribution):
    """A distribution with a density; see `Distribution`.

    Given: ``logpdf`` (minus infinity outside of the support), and any of ``cdf``, ``sf``, ``logcdf``, ``logsf``, ``ppf``, ``isf``.
    """

    def _names(self) -> set[str]:
        names = {"logpdf", "pdf", *self._functions}
        if "cdf" in names or "sf" in names:
            names |= {"cdf", "sf", "logcdf", "logsf"}
        return names

    def __getattr__(self, function: str) -> Any:
        if function.startswith("_") or function not in self._names():
            raise AttributeError(
                f"the distribution {self._name} has no function {function!r}{suggestion(function, self._names())}\n"
                f"  it has {', '.join(dir(self))}"
            )
        inverse = function in ("ppf", "isf")

        def apply(*args: Any, **kwargs: Any) -> Array:
            x, *rest = self._arguments(function, "q" if inverse else "x", args, kwargs)
            shapes, (loc, *scales) = rest[: len(self._shapes)], rest[len(self._shapes) :]
            scale = scales[0] if scales else None
            if inverse:
                value = self._functions[function](x, *shapes)
                return self._where_valid((value if scale is None else value * scale) + loc, shapes, scale, x)
            z = x - loc if scale is None else (x - loc) / scale
            if function in ("logpdf", "pdf"):
                value = self._functions["logpdf"](z, *shapes)
                value = self._where_valid(value if scale is None else value - cnp.log(scale), shapes, scale, z)
                return value if function == "logpdf" else cnp.exp(value)
            return self._where_valid(self._probability(function)(z, *shapes), shapes, scale, z)

        self._describe(apply, function, "q" if inverse else "x")
        return checked(apply)


@leaving_methods
class Discrete(Distribution):
    """A distribution of whole numbers; see `Distribution`. Given: ``logpmf``, and any of ``cdf``, ``sf``, ``ppf``, ``entropy``."""

    _variable = "k"

    def __init__(self, name: str, shapes: Sequence[str], functions: dict[str, Function], valid: Function) -> None:
        super().__init__(name, shapes, functions, valid, scaled=False)

    def _names(self) -> set[str]:
        return {"logpmf", "pmf", *self._functions} | ({"logcdf", "sf", "logsf"} if "cdf" in self._functions else set())

    def __getattr__(self, function: str) -> Any:
        if function.startswith("_") or function not in self._names():
            raise AttributeError(
                f"the distribution {self._name} has no function {function!r}{suggestion(function, self._names())}\n"
                f"  it has {', '.join(dir(self))}"
            )

        def apply(*args: Any, **kwargs: Any) -> Array:
            if function == "entropy":
                kwargs = {"k": 0.0, **dict(zip([*self._shapes, "loc"], args, strict=False)), **kwargs}
                _, *shapes, _ = self._arguments(function, "k", (), kwargs)
                return self._where_valid(self._functions[function](*shapes), shapes)
            k, *shapes, loc = self._arguments(function, "q" if function == "ppf" else "k", args, kwargs)
            if function == "ppf":
                return self._where_valid(self._functions[function](k, *shapes) + loc, shapes, variable=k)
            k = k - loc
            if function in ("logpmf", "pmf"):
                value = self._functions["logpmf"](k, *shapes)
                value = self._where_valid(cnp.where(k == cnp.floor(k), value, -math.inf), shapes, variable=k)
                return value if function == "logpmf" else cnp.exp(value)
            return self._where_valid(self._probability(function)(cnp.floor(k), *shapes), shapes, variable=k)

        self._describe(apply, function, "" if function == "entropy" else "q" if function == "ppf" else "k")
        return checked(apply)


def inside(condition: Array, value: Array, outside: float = -math.inf) -> Array:
    """The value in the support; computed from harmless numbers elsewhere, so that derivatives stay finite."""
    result: Array = cnp.where(condition, value, outside)
    return result


def safe(condition: Array, x: Array, instead: float = 1.0) -> Array:
    """``x`` in the support, else a number at which the formulas are defined."""
    result: Array = cnp.where(condition, x, instead)
    return result
