"""The function that ``jax.vjp`` returns, and what its ``with_refs`` is given and gives back: where cotangents go to references."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cotangent import tree_util
from cotangent.jax.internals.references import Ref, RefView, addupdate
from cotangent.jax.narrowing import narrow_tree
from cotangent.jax.tracebacks import api_boundary
from cotangent.tree_util import Partial

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue", "pullback_of"]


@dataclass(frozen=True)
class GradValue:
    """To `Pullback.with_refs`: the cotangent of the argument is returned."""


@dataclass(frozen=True)
class DontWant:
    """To `Pullback.with_refs`: the cotangent of the argument is not computed."""


@tree_util.register_dataclass
@dataclass(frozen=True)
class GradRef:
    """In place of a cotangent that was added to a reference."""


@tree_util.register_dataclass
@dataclass(frozen=True)
class DidntWant:
    """In place of a cotangent that nobody asked for."""


def _is_view(x: Any) -> bool:
    return isinstance(x, RefView)


class _Sinks:
    """What `Pullback.with_refs` was given, as a container of no arrays; equal to others of the same objects."""

    def __init__(self, given: tuple[Any, ...]) -> None:
        self.given = given

    def _key(self) -> tuple[Any, ...]:
        leaves, structure = tree_util.tree_flatten(self.given, is_leaf=_is_view)
        return structure, tuple(type(x) if isinstance(x, (DontWant, GradValue)) else id(x) for x in leaves)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Sinks) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _taken(cotangent: Any, sink: Any) -> Any:
    if isinstance(sink, (Ref, RefView)):
        addupdate(sink, None, cotangent)
        return GradRef()
    return DidntWant() if isinstance(sink, DontWant) else cotangent


@api_boundary
def _pull(function: Any, *cotangents: Any) -> tuple[Any, ...]:
    result: tuple[Any, ...] = function(*narrow_tree(cotangents))
    return result


@api_boundary
def _pull_into(sinks: _Sinks, function: Any, *cotangents: Any) -> tuple[Any, ...]:
    results = _pull(function, *cotangents)
    given, structure = tree_util.tree_flatten(sinks.given, is_leaf=_is_view)
    expected = tree_util.tree_structure(results)
    if structure != expected:
        raise ValueError(
            f"with_refs: {structure} was given, and the arguments of the function that is differentiated are {expected}\n"
            "  give a reference for each array among the arguments, jax.ad.GradValue() or jax.ad.DontWant()"
        )
    pairs = zip(tree_util.tree_leaves(results), given, strict=True)
    return structure.unflatten([_taken(cotangent, sink) for cotangent, sink in pairs])  # type: ignore[no-any-return]


class Pullback(Partial):
    """The function of cotangents that ``jax.vjp`` returns, a pytree."""

    def with_refs(self, *refs: Any) -> Partial:
        """The same function with a reference for each array among the arguments, to which its cotangent is added.

        In place of a reference there may be `GradValue`, for a cotangent that is returned, or `DontWant`.
        """
        return Partial(_pull_into, _Sinks(refs), *self.args)


def pullback_of(function: Any) -> Pullback:
    """What ``jax.vjp`` returns for what ours does."""
    return Pullback(_pull, function)


tree_util.register_pytree_node(_Sinks, lambda sinks: ((), sinks), lambda sinks, _: sinks)
tree_util.register_pytree_node(Pullback, lambda node: (node.args, None), lambda _, args: Pullback(_pull, *args))
