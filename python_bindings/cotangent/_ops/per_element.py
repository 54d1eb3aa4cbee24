"""Functions written for one element and applied to arrays: how the special functions are made.

An `Elementwise` is captured once for each combination of dtypes, on scalars; a call is one equation, however long the
program and whatever it loops over. Its derivative is a product with a partial derivative, which is given, or taken from
the program in forward mode; so reverse mode works where the program has data-dependent loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._core import Array, Graph
from cotangent._ops.binding import kind
from cotangent._transforms.forward import jvp

Program = Callable[..., Array]

# Partial derivatives that need each other's functions (those of two Bessel functions, say) are captured to this depth.
# Beyond, derivatives are those of the approximation.
_DEEPEST = 4


class Elementwise:
    """A function of scalars of floating or complex dtype, applied element by element.

    Args:
        program: the function of one element: takes and returns scalar arrays.
        partials: for each floating or complex operand a function ``(*operands, result) -> derivative``, or None to
            differentiate the program. Without any, all are differentiated.
        name: of the program, for printing.

    Operands of half precision are computed in float32.
    """

    def __init__(self, program: Program, partials: tuple[Program | None, ...] = (), name: str | None = None) -> None:
        self.__doc__ = program.__doc__
        self.__name__ = name or program.__name__
        self.program = program
        self.partials = partials
        self._captured: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._depth = 0

    def __call__(self, *operands: Array) -> Array:
        """The function of arrays of one shape."""
        key = (self._depth, *[x.dtype for x in operands])
        attributes = self._captured.get(key)
        if attributes is None:
            narrow = next((x.dtype for x in operands if x.dtype.itemsize == 2 and kind(x) == "float"), None)
            if narrow is not None:
                wide = [_core.convert(x, "float32") if kind(x) == "float" else x for x in operands]
                return _core.convert(self(*wide), narrow)
            attributes = self._captured[key] = self._capture(key[1:])
        return primitives.elementwise(*operands, **attributes)

    def _capture(self, dtypes: tuple[Any, ...]) -> dict[str, Any]:
        scalars = [((), dtype, False) for dtype in dtypes]
        graph = _capture(self.program, scalars, self.__name__)
        attributes: dict[str, Any] = {"name": self.__name__, "graph": graph}
        if self.partials and self._depth < _DEEPEST:
            given = [*scalars, *graph.out_avals]
            inexact = [i for i, dtype in enumerate(dtypes) if _core.dtype_kind(dtype) in ("float", "complex")]
            self._depth += 1
            try:
                attributes["partials"] = [
                    _capture(self.partials[k] or self.forward(i), given, f"derivative of {self.__name__}")
                    for k, i in enumerate(inexact)
                ]
            finally:
                self._depth -= 1
        return attributes

    def forward(self, operand: int) -> Program:
        """The partial derivative that follows from the program, in forward mode."""

        def partial(*given: Array) -> Array:
            operands = list(given[:-1])

            def moved(x: Array) -> Array:
                return self.program(*operands[:operand], x, *operands[operand + 1 :])

            x = operands[operand]
            return jvp(moved, (x,), (_core.full((), 1, x.dtype),))[1]  # type: ignore[no-any-return]

        return partial


def elementwise(*partials: Program | None) -> Callable[[Program], Elementwise]:
    """Decorates the program of one element; see `Elementwise`."""
    return lambda program: Elementwise(program, partials)


def _capture(program: Program, avals: list[Any], name: str) -> Graph:
    graph, closure, _ = _core.capture(lambda inputs: ([program(*inputs)], None), avals, [], "jit", name)
    assert not closure
    return graph


def pick(condition: Array, x: Any, y: Any) -> Array:
    """``x`` where the condition holds, else ``y``; one of them may be a number."""
    like = x if isinstance(x, Array) else y
    return primitives.select(
        condition,
        *(z if isinstance(z, Array) else _core.full((), z, like.dtype, like.weak_type) for z in (x, y)),
    )


def polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """By Horner's rule; the highest coefficient comes first."""
    result = _core.full((), coefficients[0], x.dtype, x.weak_type)
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def by_precision(x: Array, single: Any, double: Any) -> Any:
    """What belongs to the precision of ``x``."""
    return single if x.dtype.itemsize == 4 or x.dtype == "complex64" else double
