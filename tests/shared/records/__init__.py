"""One record per case of a primitive; the checks of `test_ops.py` follow from it.

A record says how to call the primitive and what NumPy says the result is. The families are the modules of this package,
each primitive's records in one place; `op_records.py` collects them. Start with `record`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cotangent import _core

FLOATS = ("float32", "float64", "float16")
COMPLEXES = ("complex64", "complex128")
SIGNED = ("int32", "int8", "int16", "int64")
INTEGERS = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
BOOLS = ("bool",)
NUMBERS = FLOATS + INTEGERS

V, M = (5,), (4, 3)
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Constant:
    """An operand of fixed values and dtype, not differentiated: indices, a predicate, a length.

    The alternatives are the examples of a batch; outside of `vmap` the first one is used.
    """

    alternatives: tuple[Any, ...]

    @property
    def shape(self) -> Shape:
        return np.shape(self.alternatives[0])


def constant(*alternatives: Any) -> Constant:
    return Constant(alternatives)


@dataclass(frozen=True)
class Ragged:
    """A case of the mask check: which axes of which operands are ragged.

    `axes[i]` says it of operand i: axis -> name of a length, None for an exact operand, or the name itself for an
    operand that is that length (an int32 scalar).
    """

    axes: tuple[Mapping[int, str] | str | None, ...]
    lengths: Mapping[str, Sequence[int]]  # the lengths to try; a name that is missing tries all, or a few pairs
    like: Callable[..., Any] | None  # what the exact-size program is, where it is not the primitive itself
    error: str | None  # the NotImplementedError that is expected instead of a result


def ragged(
    *axes: Mapping[int, str] | str | None,
    like: Callable[..., Any] | None = None,
    error: str | None = None,
    **lengths: Sequence[int],
) -> Ragged:
    return Ragged(axes, lengths, like, error)


@dataclass(frozen=True)
class Record:
    """How to call a primitive, and what it should give. See `record`."""

    name: str
    oracle: Callable[..., Any]
    operands: tuple[Shape | Constant, ...]
    attrs: Mapping[str, Any] | Callable[..., Mapping[str, Any]] = field(default_factory=dict)
    call: Callable[..., Any] | None = None
    dtypes: tuple[str, ...] = FLOATS
    domain: tuple[float, float] = (-2.0, 2.0)
    integers: tuple[int, int] = (-3, 6)
    differentiable: bool = True
    modes: tuple[str, ...] = ("fwd", "rev")
    masks: tuple[Ragged, ...] | None = None
    unbatched: Mapping[int, str] = field(default_factory=dict)
    specials: bool = True
    rtol: float = 1e-5
    known_failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        shapes = [x.shape if isinstance(x, Constant) else x for x in self.operands]
        return f"{self.name}-{'x'.join(map(str, shapes[0])) or 'scalar'}" if shapes else self.name

    @property
    def drawn(self) -> tuple[int, ...]:
        """The operands that are drawn at random and differentiated: all but the constants."""
        return tuple(i for i, x in enumerate(self.operands) if not isinstance(x, Constant))

    def __call__(self, *operands: Any) -> Any:
        """The primitive, or `call`, on operands: one result, or a tuple of several."""
        if self.call is not None:
            return self.call(*operands)
        attrs = self.attrs
        if callable(attrs):
            attrs = attrs(*[x._bound_shape if isinstance(x, _core.Array) else np.shape(x) for x in operands])
        results = _core.bind(self.name, list(operands), **attrs)
        return results[0] if len(results) == 1 else tuple(results)

    def ragged_cases(self) -> tuple[Ragged, ...]:
        """`masks`; by default each axis that all operands share, and all of these axes at once."""
        if self.masks is not None:
            return self.masks
        shapes = {x.shape if isinstance(x, Constant) else x for x in self.operands}
        if len(shapes) != 1:
            return ()
        rank = len(next(iter(shapes)))
        choices = [(axis,) for axis in range(rank)] + ([tuple(range(rank))] if rank > 1 else [])
        return tuple(ragged(*[{a: f"n{a}" for a in chosen}] * len(self.operands)) for chosen in choices)


RECORDS: list[Record] = []


def record(name: str, oracle: Callable[..., Any], *operands: Shape | Any, **options: Any) -> None:
    """Adds a record.

    Args:
        name: the primitive.
        oracle: NumPy's function of the same operands; several results are a tuple.
        operands: a shape, for an operand drawn at random in each of `dtypes` and differentiated; or an array (or
            `constant(...)`, with other values for the examples of a batch) that is always the same.
        options:
            attrs: the attributes, or a function of the operands' shapes that gives them.
            call: the public function to call, for primitives that are not bound by name: loops and custom rules. The
                graph of it must contain the primitive.
            dtypes: those of the drawn operands. The first one is used for the checks that need only one.
            domain, integers: from where floats and integers are drawn. Unsigned ones are drawn from 0.
            differentiable: False when there is nothing to differentiate: results or operands that are not floats, or a
                derivative that is on purpose not the function's.
            modes: of differentiation: ("fwd",), or ("rev",) for those without the other.
            masks: the ragged cases, `ragged(...)`; by default see `Record.ragged_cases`. () where no axis can be.
            unbatched: operand -> the NotImplementedError that mapping over it raises.
            specials: whether NaN, infinities and signed zeros give what the oracle says.
            rtol: of float32; the other dtypes have theirs in proportion.
            known_failures: check -> reason, for strict expected failures.
    """
    wrapped = tuple(x if isinstance(x, (tuple, Constant)) else constant(x) for x in operands)
    RECORDS.append(Record(name, oracle, wrapped, **options))
