"""How primitives are compiled: `mlir.register_lowering`, and the part of lowering rules that needs no MLIR.

A rule is called with a context and the operands, and what it returns are the results. Here operands are arrays in the place of MLIR's values, so
that rules made of functions (`lower_fun`) and of calls of Python (`emit_python_callback`) do here what they do in JAX. Those that write MLIR
find no such modules: `NotWrittenError` tells so, and the primitive's `def_impl` says what is computed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent import experimental
from cotangent.jax.internals.avals import shaped
from cotangent.jax.missing import MissingNameError

__all__ = [
    "LoweringRuleContext",
    "ModuleContext",
    "NotWrittenError",
    "Registry",
    "emit_python_callback",
    "lower_fun",
    "lowered",
    "lowerings",
    "register_lowering",
]

Rule = Callable[..., Any]


class Registry(dict[Any, Rule]):
    """Rules by primitive. It counts changes, after which primitives are defined anew."""

    changes = 0

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        Registry.changes += 1
        super().__setitem__(primitive, rule)


lowerings = Registry()


class NotWrittenError(Exception):
    """A lowering rule writes MLIR, which there is none of."""


class ModuleContext:
    """The program that a rule adds to."""

    platforms = ("cpu",)

    def __init__(self) -> None:
        self.keepalives: list[Any] = []

    def add_keepalive(self, keepalive: Any) -> None:
        """Holds an object as long as the program."""
        self.keepalives.append(keepalive)


@dataclasses.dataclass
class LoweringRuleContext:
    """What a rule is told of the equation."""

    primitive: Any
    avals_in: Sequence[Any]
    avals_out: Sequence[Any] | None
    module_context: ModuleContext = dataclasses.field(default_factory=ModuleContext)
    platforms: Sequence[str] | None = None
    tokens_in: Any = None
    tokens_out: Any = None

    def set_tokens_out(self, tokens_out: Any) -> None:
        """The order of side effects is the program's."""
        self.tokens_out = tokens_out

    def replace(self, **changes: Any) -> LoweringRuleContext:
        """The same with other parts."""
        return dataclasses.replace(self, **changes)


def lower_fun(fun: Rule, multiple_results: bool = True) -> Rule:
    """A rule that is a function of arrays."""

    def rule(ctx: Any, *args: Any, **params: Any) -> list[Any]:
        found = fun(*args, **params)
        return list(found) if multiple_results else [found]

    rule._is_function = True  # type: ignore[attr-defined]
    return rule


def register_lowering(primitive: Any, rule: Rule | None = None, platform: str | None = None, **_: Any) -> Any:
    """Says how a primitive is compiled; of the rules for single platforms, that for processors."""
    if rule is None:
        return lambda given: register_lowering(primitive, given, platform)
    if platform in (None, "cpu"):
        lowerings[primitive] = rule
    return rule


def lowered(primitive: Any, avals_out: Sequence[Any], operands: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The results of an operation by its lowering rule.

    Raises:
        NotWrittenError: the rule writes MLIR.
    """
    context = LoweringRuleContext(primitive, [shaped(x) for x in operands], list(avals_out))
    rule = lowerings[primitive]
    if getattr(rule, "_is_function", False):
        return _flat(rule(context, *operands, **params))
    try:
        found = rule(context, *operands, **params)
    except (AttributeError, ImportError, MissingNameError) as error:  # of MLIR's modules, and of its values
        raise NotWrittenError(f"the lowering rule of '{primitive.name}' writes MLIR, of which there is none") from error
    return _flat(found)


def _flat(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple)):
        return [value for item in found for value in _flat(item)]
    return [found]


def emit_python_callback(
    ctx: LoweringRuleContext,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[Any],
    operand_avals: Sequence[Any],
    result_avals: Sequence[Any],
    *,
    has_side_effect: bool,
    returns_token: bool = True,
    **_: Any,
) -> tuple[list[Any], Any, Any]:
    """A call of a Python function in a rule: its results, the token that was given, and what is to be kept alive."""
    types = [ct.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in result_avals]
    call = experimental.io_callback if has_side_effect else ct.pure_callback
    return list(call(lambda *xs: list(callback(*xs)), types, *operands)), token, callback
