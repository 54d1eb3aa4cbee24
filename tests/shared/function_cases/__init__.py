"""One record for every public function outside of ``ct.numpy`` and the transforms; `test_functions.py` checks them all alike.

A record says how to call a function and what its results are compared with. The checks that follow from it: values and dtypes, also
of scalars and empty arrays; ``jit`` of ``vmap`` against a loop; derivatives to order 2; a ragged first and last axis against the
exact array, or the error that says why not. The families are the modules of this package; each begins with a `Family`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy_cases import BOOLS, COMPLEXES, FLOATS, INTEGERS, NUMBERS, Draw, bools, draw, ints

__all__ = [
    "BOOLS",
    "COMPLEXES",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "Draw",
    "Family",
    "Record",
    "bools",
    "draw",
    "ints",
]

Shape = tuple[int, ...]
RAGGED = (0, -1)
EMPTY: tuple[Shape, ...] = ((), (0, 3))


@dataclass(frozen=True)
class Record:
    """How to call a function. See `Family.record`."""

    space: str
    names: tuple[str, ...]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    call: Callable[..., Any] | None
    oracle: Callable[..., Any] | str | None
    dtypes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    grads: bool | str
    batch: bool | str
    ragged: tuple[Any, ...]
    refuses: Mapping[Any, str]
    tolerance: float
    step: float | None
    loose: bool


@dataclass
class Family:
    """The records of a namespace, by its name in `public_names.NAMESPACES`."""

    space: str
    elsewhere: dict[str, str] = field(default_factory=dict)  # name -> why it has no record

    def record(
        self,
        names: str,
        *args: Any,
        call: Callable[..., Any] | None = None,
        oracle: Callable[..., Any] | str | None = "jax",
        dtypes: tuple[str, ...] = ("float32",),
        shapes: tuple[Shape, ...] = (),
        grads: bool | str = True,
        batch: bool | str = True,
        ragged: tuple[Any, ...] | None = None,
        refuses: Mapping[Any, str] | None = None,
        tolerance: float = 1.0,
        step: float | None = None,
        loose: bool = False,
        **kwargs: Any,
    ) -> None:
        """Adds a record.

        Args:
            names: the function, or several that take the same arguments, separated by spaces.
            args: numbers, arrays, and `Draw`s, which are filled in at random; lists and tuples of them.
            call: instead of calling the function with the arguments: called with the function and the arguments.
            oracle: a function of the arguments; ``"jax"``: JAX's function of the name; None: values are checked elsewhere.
            dtypes: of the draws.
            shapes: other shapes of the draws whose values are checked, too.
            grads: whether derivatives to order 2 are checked; a string: not, and why.
            batch: the same for ``vmap``.
            ragged: axes of the first draw that are made ragged, as those of other draws that are as long; or mappings from the
                position of a draw to its axis. None: the first axis and the last.
            refuses: of these, what cannot be, with a part of the error's message.
            tolerance: a factor for all tolerances.
            step: of the difference quotients.
            loose: the dtype may differ from the oracle's.
            kwargs: passed on to the function.
        """
        if ragged is None:
            first = next((spec for arg in args for spec in draws_of(arg)), None)
            ragged = () if first is None or not first.shape else RAGGED if len(first.shape) > 1 else (0,)
        RECORDS.append(
            Record(
                self.space,
                tuple(names.split()),
                args,
                kwargs,
                call,
                oracle,
                dtypes,
                shapes,
                grads,
                batch,
                ragged,
                refuses or {},
                tolerance,
                step,
                loose,
            )
        )

    def elements(self, names: str, *args: Any, **options: Any) -> None:
        """A record of functions of single elements: also of scalars and empty arrays."""
        self.record(names, *args, **{"shapes": EMPTY, **options})

    def no_record(self, reason: str, names: str) -> None:
        """Names without a record, and why."""
        self.elsewhere |= dict.fromkeys(names.split(), reason)

    def __post_init__(self) -> None:
        FAMILIES.append(self)


RECORDS: list[Record] = []
FAMILIES: list[Family] = []


def draws_of(spec: Any) -> list[Draw]:
    """The draws of an argument, in order."""
    if isinstance(spec, (list, tuple)):
        return [found for item in spec for found in draws_of(item)]
    return [spec] if isinstance(spec, Draw) else []
