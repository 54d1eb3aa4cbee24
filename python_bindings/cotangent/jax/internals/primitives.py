"""`Primitive` and the registries of rules: an operation that a library defines in JAX's way is one of `ct.primitive`'s.

The rules are looked up when the primitive is first bound on traced values, or again when one was registered since: libraries register
rules in any order, after the primitive was made. A transform that needs a rule that nobody registered raises and names it.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cotangent import _core, extend
from cotangent._base.capture import FLOAT0, ShapeDtypeStruct
from cotangent.jax.internals.avals import UndefinedPrimal, Zero, own_trace, set_current_trace, shaped, typeof
from cotangent.jax.internals.lowerings import NotWrittenError, Registry, lowered, lowerings

__all__ = [
    "OWNERS",
    "Params",
    "Primitive",
    "axis_primitive_batchers",
    "defbroadcasting",
    "defjvp",
    "deflinear",
    "deflinear2",
    "defvectorized",
    "fancy_primitive_batchers",
    "is_shown",
    "primitive_batchers",
    "primitive_jvps",
    "primitive_transposes",
    "to_be_shown",
]

Rule = Callable[..., Any]


primitive_jvps = Registry()
primitive_transposes = Registry()
primitive_batchers = Registry()
fancy_primitive_batchers = Registry()


class _AxisBatchers:
    """The registry of an older form of batching rules, which are told of the axis in three arguments."""

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        def fancy(axis: AxisData, operands: Any, axes: Any, **params: Any) -> Any:
            return rule(axis.size, axis.name, None, operands, axes, **params)

        fancy_primitive_batchers[primitive] = fancy


axis_primitive_batchers = _AxisBatchers()

_numbers = itertools.count()
OWNERS: dict[str, Primitive] = {}  # by the names that they have in graphs


class Params:
    """The parameters of one binding. They may be anything; two whose values are equal, and can tell so, are equal."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Params) or self.values.keys() != other.values.keys():
            return False
        try:
            return all(x is other.values[key] or _equal(x, other.values[key]) for key, x in self.values.items())
        except Exception:  # what cannot be compared is not equal
            return False

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.values)))


def _equal(x: Any, y: Any) -> bool:
    return type(x) is type(y) and not isinstance(x, float) and bool(x == y)


class _Mode(threading.local):
    shows = False


_mode = _Mode()


@contextlib.contextmanager
def to_be_shown() -> Iterator[None]:
    """A scope in which programs are captured to be shown: operations of libraries are recorded whether or not their results are used."""
    before, _mode.shows = _mode.shows, True
    try:
        yield
    finally:
        _mode.shows = before


def is_shown() -> bool:
    """Whether what is captured now is to be shown."""
    return _mode.shows


class Primitive:
    """An operation with rules, as libraries for JAX define it."""

    multiple_results = False
    call_primitive = False
    map_primitive = False
    ref_primitive = False
    skip_canonicalization = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._defined: dict[bool, tuple[int, extend.Primitive]] = {}

    def __repr__(self) -> str:
        return self.name

    def def_impl(self, impl: Rule) -> Rule:
        """How it is computed on known values."""
        self.impl = impl  # type: ignore[method-assign]
        return impl

    def def_abstract_eval(self, rule: Rule) -> Rule:
        """The type of its results."""
        self.abstract_eval = lambda *avals, **params: (rule(*avals, **params), frozenset())  # type: ignore[method-assign]
        return rule

    def def_effectful_abstract_eval(self, rule: Rule) -> Rule:
        """The type of its results, with effects beside it, which the library orders by itself."""
        self.abstract_eval = rule  # type: ignore[method-assign]
        return rule

    def def_bind_with_trace(self, bind: Rule) -> Rule:
        """How it is bound to operands in a trace."""
        self.bind_with_trace = bind  # type: ignore[method-assign]
        return bind

    def def_custom_bind(self, bind: Rule) -> Rule:
        """How it is bound to operands."""
        self.bind = bind  # type: ignore[method-assign]
        return bind

    def impl(self, *args: Any, **params: Any) -> Any:
        """Its results for known values."""
        raise NotImplementedError(
            f"Evaluation rule for '{self.name}' not implemented\n  register one with {self.name}_p.def_impl(function)"
        )

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """The type of its results, and its effects."""
        raise NotImplementedError(
            f"Abstract evaluation for '{self.name}' not implemented\n"
            f"  register one with {self.name}_p.def_abstract_eval(function)"
        )

    def _is_computed(self) -> bool:
        return "impl" in vars(self) or type(self).impl is not Primitive.impl

    def _types(self, avals: list[Any], params: dict[str, Any]) -> Any:
        return self.abstract_eval(*avals, **params)[0]

    def bind(self, *args: Any, **params: Any) -> Any:
        """Its results: computed, or recorded where an operand is traced, or what the library's trace that is the current one says."""
        trace = own_trace()
        if trace is not None:
            return trace.process_primitive(self, args, params)
        if self._is_computed() and not any(_core.is_traced(arg) for arg in args):
            return self.impl(*args, **params)
        kept = _mode.shows
        changes, defined = self._defined.get(kept, (-1, None))
        if defined is None or changes != Registry.changes:
            defined = self._define(kept)
            self._defined[kept] = Registry.changes, defined
        return defined(*args, _params=Params(params))

    def bind_with_trace(self, trace: Any, args: Sequence[Any], *avals_and_params: Any) -> Any:
        """Its results in a trace; the parameters are the last argument."""
        with set_current_trace(trace):
            return self.bind(*args, **avals_and_params[-1])

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters of an equation as `bind` takes them."""
        return dict(params)

    def _results(self, results: Any) -> Any:
        return list(results) if self.multiple_results else results

    def _define(self, kept: bool) -> extend.Primitive:
        name = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in self.name)
        rules: dict[str, Any] = {}
        if self in primitive_jvps:
            rules |= {"jvp": self._jvp, "symbolic_zeros": True}
        else:
            rules["jvp"] = self._refuse("differentiation", "jax.interpreters.ad.primitive_jvps")
        if self in primitive_transposes:
            rules["transpose"] = self._transpose
        if self in primitive_batchers or self in fancy_primitive_batchers:
            rules["batch"] = self._batch
        else:
            rules["batch"] = self._refuse("batching", "jax.interpreters.batching.primitive_batchers")
        if "transpose" in rules and self not in primitive_jvps:
            rules["jvp"] = self._linear_jvp
        own = f"jax_{name}_{next(_numbers)}"
        OWNERS[own] = self
        return extend.primitive(
            own,
            type=self._type,
            expand=self._expand,
            multiple_results=self.multiple_results,
            has_side_effects=kept,  # which are not dropped
            **rules,
        )

    def _refuse(self, what: str, registry: str) -> Rule:
        def rule(*args: Any, **params: Any) -> Any:
            raise NotImplementedError(
                f"{what} rule for '{self.name}' not implemented\n  register one: {registry}[{self.name}_p] = rule"
            )

        return rule

    def _type(self, *operands: Any, _params: Params) -> Any:
        return self._results(self._types([shaped(x) for x in operands], _params.values))

    def _expand(self, *operands: Any, _params: Params) -> Any:
        unwritten: NotWrittenError | None = None
        if self in lowerings:
            try:
                types = self._types([shaped(x) for x in operands], _params.values)
                found = lowered(self, types if self.multiple_results else [types], operands, _params.values)
                return found if self.multiple_results else found[0]
            except NotWrittenError as error:
                unwritten = error
        if not self._is_computed():
            raise NotImplementedError(
                f"'{self.name}' has no rule that computes it here\n"
                f"  register one with {self.name}_p.def_impl(function), or mlir.register_lowering({self.name}_p, mlir.lower_fun(function))"
            ) from unwritten
        return self._results(self.impl(*operands, **_params.values))

    def _jvp(self, primals: Any, tangents: Any, *, _params: Params) -> Any:
        given = [
            Zero(typeof(x).to_tangent_aval()) if tangent is None else tangent
            for x, tangent in zip(primals, tangents, strict=True)
        ]
        out, tangent_out = primitive_jvps[self](tuple(primals), tuple(given), **_params.values)
        if self.multiple_results:
            return list(out), [_none_if_zero(t) for t in tangent_out]
        return out, _none_if_zero(tangent_out)

    def _linear_jvp(self, primals: Any, tangents: Any, *, _params: Params) -> Any:
        zeros = [
            Zero.from_primal_value(x).instantiate() if t is None else t for x, t in zip(primals, tangents, strict=True)
        ]
        return self.bind(*primals, **_params.values), self.bind(*zeros, **_params.values)

    def _transpose(self, cotangent: Any, *operands: Any, _params: Params) -> Any:
        given = [UndefinedPrimal(shaped(x)) if isinstance(x, ShapeDtypeStruct) else x for x in operands]
        if self.multiple_results:
            given_types = [x.aval if isinstance(x, UndefinedPrimal) else typeof(x) for x in given]
            avals = self._types(given_types, _params.values)
            cotangent = [
                Zero(shaped(aval).to_tangent_aval()) if c is None else c
                for c, aval in zip(cotangent, avals, strict=True)
            ]
        found = primitive_transposes[self](cotangent, *given, **_params.values)
        return [
            None if not isinstance(x, UndefinedPrimal) else _none_if_zero(c) for c, x in zip(found, given, strict=True)
        ]

    def _batch(self, operands: Any, axes: Any, *, _params: Params) -> Any:
        if self in primitive_batchers:
            out, axis = primitive_batchers[self](tuple(operands), tuple(axes), **_params.values)
        else:
            size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
            data = AxisData(None, size)
            out, axis = fancy_primitive_batchers[self](data, tuple(operands), tuple(axes), **_params.values)
        return self._results(out), list(axis) if self.multiple_results else axis


class AxisData:
    """A mapped axis, as batching rules are given it."""

    def __init__(self, name: Any, size: int) -> None:
        self.name = name
        self.size = size
        self.spmd_name = None
        self.explicit_mesh_axis = None


def _none_if_zero(tangent: Any) -> Any:
    return None if tangent is None or type(tangent) is Zero or getattr(tangent, "dtype", None) == FLOAT0 else tangent


def deflinear(primitive: Primitive, rule: Rule) -> None:
    """A primitive that is linear in all operands; ``rule`` gives the cotangents, of the result's alone."""
    deflinear2(primitive, lambda cotangent, *primals, **params: rule(cotangent, **params))


def deflinear2(primitive: Primitive, rule: Rule) -> None:
    """A primitive that is linear in all operands; ``rule`` gives the cotangents, of the result's and the operands."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        zeros = [t.instantiate() if type(t) is Zero else t for t in tangents]
        return primitive.bind(*primals, **params), primitive.bind(*zeros, **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = rule


def defjvp(primitive: Primitive, *rules: Rule | None) -> None:
    """The derivative by each operand: ``rule(tangent, *primals)``, summed."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        total: Any = Zero.from_primal_value(out)
        for rule, tangent in zip(rules, tangents, strict=True):
            if rule is not None and type(tangent) is not Zero:
                part = rule(tangent, *primals, **params)
                total = part if type(total) is Zero else total + part
        return out, total

    primitive_jvps[primitive] = jvp


def defvectorized(primitive: Primitive) -> None:
    """A primitive of one operand whose elements do not mix."""

    def batch(operands: Sequence[Any], axes: Sequence[Any], **params: Any) -> Any:
        return primitive.bind(*operands, **params), axes[0]

    primitive_batchers[primitive] = batch


def defbroadcasting(primitive: Primitive) -> None:
    """A primitive of several operands of one shape whose elements do not mix."""

    def batch(operands: Sequence[Any], axes: Sequence[Any], **params: Any) -> Any:
        moved = []
        size = next(x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None)
        for x, axis in zip(operands, axes, strict=True):
            if axis is None:
                moved.append(_core.broadcast_to(x, (size, *x.shape)))
            else:
                others = [a for a in range(x.ndim) if a != axis]
                moved.append(x.transpose([axis, *others]))
        return primitive.bind(*moved, **params), 0

    primitive_batchers[primitive] = batch
