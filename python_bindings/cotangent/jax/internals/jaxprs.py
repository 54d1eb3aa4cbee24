"""Programs in JAX's form: `make_jaxpr` captures one, and `Jaxpr` shows its equations as objects that can be read, replaced and evaluated.

An equation of a graph keeps the graph that it is from, so that evaluating it binds exactly what was captured; one that a library makes
itself binds its primitive.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import cotangent as ct
from cotangent import _core, ir
from cotangent._base.attributes import from_attribute
from cotangent._base.capture import Captured, ShapeDtypeStruct, capture, flatten_arguments, function_name, wraps
from cotangent._core import Graph
from cotangent.jax import narrowing
from cotangent.jax.internals.avals import AbstractValue, ShapedArray, own_trace, typeof
from cotangent.jax.internals.dialect import HAS_MANY_RESULTS, WITH_NUMBERS, bind_by_jax_name, in_jax_words
from cotangent.jax.internals.functions import wrap_init
from cotangent.jax.internals.graph_variables import MAKING_ARRAYS, GraphVariables
from cotangent.jax.internals.indexing_words import INDEXING_NAMES, indexing_params
from cotangent.jax.internals.literals import TypedComplex, TypedFloat, TypedInt
from cotangent.jax.internals.primitives import OWNERS, Primitive, to_be_shown
from cotangent.jax.internals.source_info import SourceInfo
from cotangent.jax.names import NAMES
from cotangent.jax.narrowing import narrow_tree, traceable

__all__ = [
    "ClosedJaxpr",
    "DropVar",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Var",
    "as_number",
    "as_operand",
    "built_in",
    "built_ins_named_in",
    "captured",
    "closed_jaxpr_of",
    "eval_jaxpr",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "make_jaxpr",
    "new_jaxpr_eqn",
    "subjaxprs",
]

_counts = itertools.count()
_LINE = 80  # longer programs are printed with a line for each equation


class Var:
    """A variable of a program."""

    def __init__(self, aval: Any, *_: Any) -> None:
        self.aval = aval
        self.count = next(_counts)

    def __repr__(self) -> str:
        return f"Var(id={self.count}):{self.aval}"


class DropVar(Var):
    """A result that nothing uses."""


class Literal:
    """A constant in the place of a variable."""

    def __init__(self, val: Any, aval: Any = None) -> None:
        self.val = val
        self.aval = typeof(val) if aval is None else aval

    def __repr__(self) -> str:
        return f"{self.val}"


class BuiltIn(Primitive):
    """An operation of cotangent's own, in an equation."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.multiple_results = name in HAS_MANY_RESULTS

    @_core.leaving
    def bind(self, *args: Any, **params: Any) -> Any:
        """Its result, or a list of them, for parameters in JAX's words."""
        trace = own_trace()
        if trace is not None and self.name == "custom_jvp_call":
            subfuns: tuple[Any, ...] = params.pop("subfuns", ())
            fun, jvp, *operands = (*subfuns, *args)
            return trace.process_custom_jvp_call(self, fun, jvp, operands, **params)
        if trace is not None:
            return trace.process_primitive(self, args, params)
        results = bind_by_jax_name(self.name, args, params)
        return results if self.multiple_results else results[0]

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters that `bind` takes; a function with its derivative is two, ``subfuns``."""
        if self.name != "custom_jvp_call" or "call_jaxpr" not in params:
            return super().get_bind_params(params)
        rest = {key: value for key, value in params.items() if key not in ("call_jaxpr", "jvp_jaxpr_fun", "num_consts")}
        return {**rest, "subfuns": (wrap_init(params["call_jaxpr"].results), params["jvp_jaxpr_fun"])}


_built_in: dict[str, BuiltIn] = {}


@dataclasses.dataclass
class JaxprEqn:
    """One equation: ``outvars = primitive(*invars, **params)``."""

    invars: list[Any]
    outvars: list[Any]
    primitive: Any
    params: dict[str, Any]
    effects: Any = frozenset()
    source_info: Any = dataclasses.field(default_factory=SourceInfo)
    ctx: Any = None
    _source: tuple[Graph, int, tuple[int, ...] | None] | None = None  # where ours is, and its operands among these
    _shape: tuple[int, ...] | None = None  # of its operands, where some of these are single numbers

    def replace(self, **changes: Any) -> JaxprEqn:
        """The same with other parts; with other parameters or another primitive it binds these."""
        same = changes.keys() <= {"invars", "outvars", "effects", "source_info", "ctx"}
        if not same:
            changes["_source"] = None
        return dataclasses.replace(self, **changes)

    def evaluate(self, *values: Any) -> list[Any]:
        """Its results for values of its variables."""
        if self._source is not None:
            graph, index, order = self._source
            ours = list(values) if order is None else [values[i] for i in order]
            if self._shape is not None:  # which a number among the operands stands for
                ours = [_core.broadcast_to(value, self._shape) for value in ours]
            return list(graph.bind_equation(index, ours, {}))
        found = self.primitive.bind(*values, **self.params)
        return list(found) if self.primitive.multiple_results else [found]

    def __repr__(self) -> str:
        return _equation_text(self, _Names())


class _Names:
    """Names of variables in a text: a, b, ..., z, aa, ab, ... in the order in which they appear."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}

    def use(self, var: Any) -> str:
        """The variable where it is used."""
        if isinstance(var, Literal):
            return f"{var.val}:{var.aval.str_short(short_dtypes=True)}"
        if isinstance(var, DropVar):
            return "_"
        if var not in self._names:
            number, name = len(self._names) + 1, ""
            while number:
                number, letter = divmod(number - 1, 26)
                name = chr(ord("a") + letter) + name
            self._names[var] = name
        return self._names[var]

    def bind(self, var: Any) -> str:
        """The variable where it gets its value, with its type."""
        aval = var.aval
        text = aval.str_short(short_dtypes=True) if hasattr(aval, "str_short") else str(aval)
        return f"{self.use(var)}:{text}"


def _equation_text(eqn: JaxprEqn, names: _Names) -> str:
    right = " ".join(names.use(var) for var in eqn.invars)
    left = " ".join(names.bind(var) for var in eqn.outvars)
    return f"{left} = {eqn.primitive}{_params_text(eqn.params)} {right}".rstrip()


def _params_text(params: dict[str, Any]) -> str:
    shown = [f"{name}={params[name]}" for name in sorted(params) if params[name] is not None]
    return "[" + " ".join(shown) + "]" if shown else ""


class Jaxpr:
    """A program: results of equations of inputs and constants."""

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Any],
        eqns: Sequence[JaxprEqn],
        effects: Any = frozenset(),
        debug_info: Any = None,
        is_high: bool = False,
    ) -> None:
        self.constvars = list(constvars)
        self.invars = list(invars)
        self.outvars = list(outvars)
        self.eqns = list(eqns)
        self.effects = effects
        self.debug_info = debug_info
        self.is_high = is_high

    def replace(self, **changes: Any) -> Jaxpr:
        """The same with other parts."""
        own = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")
        return Jaxpr(**{**{name: getattr(self, name) for name in own}, **changes})

    @property
    def in_avals(self) -> list[Any]:
        """The types of the inputs."""
        return [var.aval for var in self.invars]

    @property
    def out_avals(self) -> list[Any]:
        """The types of the results."""
        return [var.aval for var in self.outvars]

    def __repr__(self) -> str:
        names = _Names()
        constants = " ".join(names.bind(var) for var in self.constvars)
        inputs = " ".join(names.bind(var) for var in self.invars)
        lines = [_equation_text(eqn, names) for eqn in self.eqns]
        outputs = ", ".join(names.use(var) for var in self.outvars)
        head = f"{{ lambda {constants} ; {inputs}. let" if constants else f"{{ lambda ; {inputs}. let"
        tail = f"in ({outputs}{',' if len(self.outvars) == 1 else ''}) }}"
        short = " ".join([head, "; ".join(lines), tail]) if lines else f"{head}  {tail}"
        if len(short) <= _LINE and len(lines) <= 1:
            return short
        return "\n".join([head, *(f"    {line}" for line in lines), f"  {tail}"])

    def pretty_print(self, **_: Any) -> str:
        """The program as text."""
        return repr(self)


class ClosedJaxpr:
    """A program with the values of its constants."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any]) -> None:
        self.jaxpr = jaxpr
        self.consts = list(consts)

    @property
    def literals(self) -> list[Any]:
        """The constants."""
        return self.consts

    @property
    def eqns(self) -> list[JaxprEqn]:
        """The equations."""
        return self.jaxpr.eqns

    @property
    def effects(self) -> Any:
        """The side effects."""
        return self.jaxpr.effects

    @property
    def constvars(self) -> list[Var]:
        """The variables of the constants."""
        return self.jaxpr.constvars

    @property
    def invars(self) -> list[Var]:
        """The variables of the inputs."""
        return self.jaxpr.invars

    @property
    def outvars(self) -> list[Any]:
        """The variables, or constants, of the results."""
        return self.jaxpr.outvars

    @property
    def debug_info(self) -> Any:
        """Where the program is from."""
        return self.jaxpr.debug_info

    @property
    def is_high(self) -> bool:
        """Whether values are of types of a library's own."""
        return self.jaxpr.is_high

    def pretty_print(self, **options: Any) -> str:
        """The program as text."""
        return self.jaxpr.pretty_print(**options)

    @property
    def in_avals(self) -> list[Any]:
        """The types of the inputs."""
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[Any]:
        """The types of the results."""
        return self.jaxpr.out_avals

    def replace(self, *, jaxpr: Jaxpr | None = None, consts: Sequence[Any] | None = None) -> ClosedJaxpr:
        """The same with another program or other constants."""
        return ClosedJaxpr(self.jaxpr if jaxpr is None else jaxpr, self.consts if consts is None else consts)

    map_jaxpr: Callable[..., Any]

    def results(self, *args: Any) -> list[Any]:
        """The results for values of the inputs."""
        return eval_jaxpr(self.jaxpr, self.consts, *args)

    def __repr__(self) -> str:
        return repr(self.jaxpr)


def _aval(parts: tuple[Any, Any, bool]) -> ShapedArray:
    return ShapedArray(*parts)


def _words(eqn: ir.Equation, operand: Any, out: Any) -> tuple[Any, dict[str, Any], tuple[int, ...] | None]:
    """The primitive, the parameters and the order of the operands of an equation, as JAX has them: programs in them are jaxprs."""
    held = eqn.attributes.get("_params")
    if held is not None:
        owner = OWNERS.get(eqn.primitive)
        values = from_attribute(held).values
        return (owner or BuiltIn(eqn.primitive)), dict(values), None

    def converted(value: Any) -> Any:
        if isinstance(value, Graph):
            return _nested(value)
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], Graph):
            return tuple(_nested(graph) for graph in value)
        return value

    ours = {"jaxpr" if key == "graph" else key: converted(value) for key, value in eqn.attributes.items()}
    name, params, order = in_jax_words(eqn.primitive, ours, operand, out)
    primitive = built_in(name)
    if len(eqn.outputs) != 1:
        primitive.multiple_results = True
    return primitive, params, order


@functools.lru_cache(maxsize=1024)
def _nested(graph: Graph) -> ClosedJaxpr:
    """A program in an equation: one object for equal ones, as libraries keep what they make of it by its identity."""
    return closed_jaxpr_of(graph, [])


def _literal(value: Any, dtype: Any) -> Any:
    """A constant: a Python number, or one of NumPy's where its dtype is not that of Python's numbers."""
    plain = (
        ("bool", "int32", "float32", "complex64")
        if not _core.get_enable_x64()
        else ("bool", "int64", "float64", "complex128")
    )
    if dtype in plain or np.dtype(dtype).kind == "V":
        return bool(value) if dtype == "bool" else complex(*value) if isinstance(value, (list, tuple)) else value
    kind = np.dtype(dtype)
    if kind == np.uint64 and value < 0:  # held by its bits
        value += 2**64
    return kind.type(complex(*value) if isinstance(value, (list, tuple)) else value)


def _filling(aval: ShapedArray) -> dict[str, Any]:
    return {"shape": aval.shape, "broadcast_dimensions": (), "sharding": None}


def _column(indices: Any) -> JaxprEqn:
    """Indices with an axis of size 1 behind theirs, as JAX's operations have them."""
    shape = (*indices.aval.shape, 1)
    params = {"shape": shape, "broadcast_dimensions": tuple(range(len(shape) - 1)), "sharding": None}
    return JaxprEqn([indices], [Var(indices.aval.update(shape=shape))], built_in("broadcast_in_dim"), params)


def _derivative_of(graph: Graph, index: int) -> Callable[..., list[Any]]:
    """The function of operands and their tangents that gives the results of an equation and theirs, by its own rule."""

    def jvp(*args: Any) -> list[Any]:
        if own_trace() is not None and any(getattr(type(arg), "is_of_own_trace", False) for arg in args):
            return list(narrowing.through_trace(jvp, args, {}))
        half = len(args) // 2
        run = lambda *xs: tuple(graph.bind_equation(index, list(xs), {}))  # noqa: E731
        values, tangents = ct.jvp(run, args[:half], args[half:])
        return [*values, *tangents]

    return jvp


def closed_jaxpr_of(graph: Graph, consts: Sequence[Any], inputs: int | None = None) -> ClosedJaxpr:
    """A graph in JAX's form; its last inputs are constants where only the first ``inputs`` are not."""
    eqns: list[JaxprEqn] = []
    variables = GraphVariables(eqns)
    variables.update((index, Var(_aval(graph.aval(index)))) for index in range(graph.num_inputs))
    for index, eqn in enumerate(ir.equations(graph)):
        invars = variables.operands(eqn.operands, eqn.primitive in WITH_NUMBERS)
        avals = [_aval(graph.aval(number)) for number in eqn.outputs]
        order: tuple[int, ...] | None = ()
        if eqn.primitive == "full":
            literal = Literal(_literal(eqn.attributes["value"], eqn.attributes["dtype"]), avals[0].update(shape=()))
            if not avals[0].shape:
                variables[eqn.outputs[0]] = literal
                continue
            primitive, params, invars = built_in("broadcast_in_dim"), _filling(avals[0]), [literal]
        elif eqn.primitive in INDEXING_NAMES:
            params = indexing_params(eqn.primitive, dict(eqn.attributes), invars[0].aval, invars[1].aval)
            column = _column(invars[1])
            eqns.append(column)
            invars[1] = column.outvars[0]
            primitive, order = built_in(INDEXING_NAMES[eqn.primitive]), None
        else:
            first = invars[0].aval if invars else None
            primitive, params, order = _words(eqn, first, avals[0] if avals else None)
            if order is not None:
                invars = [invars[i] for i in order]
        if eqn.primitive == "custom_jvp":
            params["jvp_jaxpr_fun"] = wrap_init(_derivative_of(graph, index))
        outvars = [Var(aval) for aval in avals]
        source = None if eqn.primitive in INDEXING_NAMES or eqn.primitive in OWNERS else (graph, index, order)
        made = JaxprEqn(
            invars, outvars, primitive, params, source_info=SourceInfo(location=eqn.location), _source=source
        )
        if eqn.primitive in MAKING_ARRAYS and not invars[0].aval.shape and avals[0].shape:
            variables.wait(eqn.outputs[0], made)
            continue
        if eqn.primitive in WITH_NUMBERS and any(not var.aval.shape for var in invars):
            made._shape = tuple(avals[0].shape) or None
        variables.update(zip(eqn.outputs, outvars, strict=True))
        eqns.append(made)
    count = graph.num_inputs if inputs is None else inputs
    outvars = [variables[number] for number in graph.outputs]
    jaxpr = Jaxpr(
        [variables[index] for index in range(count, graph.num_inputs)],
        [variables[index] for index in range(count)],
        outvars,
        eqns,
    )
    return ClosedJaxpr(jaxpr, consts)


def _is_static(index: int, static: Any, count: int) -> bool:
    numbers = (static,) if isinstance(static, int) else tuple(static or ())
    return index in {number % count for number in numbers}


def captured(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Captured, list[Any]]:
    """The program of a function of arrays or types of arrays, and these."""
    name = function_name(fun)
    leaves, structure = flatten_arguments((args, kwargs), name, described=True)
    with to_be_shown():
        return capture(fun, leaves, structure, "jit", name=name), leaves


def traced_jaxpr(stage: Any) -> ClosedJaxpr:
    """The program of ``jit(f).trace(*args)``."""
    call = stage._call
    return closed_jaxpr_of(call.captured.graph, call.captured.closure, call.in_tree.num_leaves)


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """A function of arrays, or of types of arrays, that returns the program of ``fun``."""

    @wraps(fun)
    def make(*args: Any, **kwargs: Any) -> Any:
        fixed = {i for i in range(len(args)) if _is_static(i, static_argnums, len(args))}
        dynamic = tuple(arg for i, arg in enumerate(args) if i not in fixed)

        @wraps(fun)
        def run(*values: Any, **named: Any) -> Any:
            given = iter(values)
            return fun(*[args[i] if i in fixed else next(given) for i in range(len(args))], **named)

        program, leaves = captured(run, narrow_tree(dynamic), narrow_tree(kwargs))
        closed = closed_jaxpr_of(program.graph, program.closure, len(leaves))
        if not return_shape:
            return closed
        shapes = [ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.out_avals]
        return closed, program.structure.unflatten(shapes)

    return make


def _fits(value: Any, aval: Any) -> Any:
    """The value with the dtype of its variable, as JAX takes it."""
    if isinstance(aval, ShapedArray) and not isinstance(value, AbstractValue):
        array = _core.array(value)
        return array if array.dtype == aval.dtype or aval.dtype.kind == "V" else _core.convert(array, aval.dtype)
    return value


def as_operand(literal: Literal) -> Any:
    """A constant as an operand. One of NumPy's has the dtype that it has in the program."""
    return _core.array(literal.val) if isinstance(literal.val, np.generic) else _fits(literal.val, literal.aval)


_TYPED = {int: TypedInt, float: TypedFloat, complex: TypedComplex}


def as_number(literal: Literal) -> Any:
    """A constant as an operand that a library's rule is given: a Python number stays one."""
    kind = _TYPED.get(type(literal.val))
    return as_operand(literal) if kind is None or literal.aval.shape else kind(literal.val, literal.aval.dtype)


@traceable
def eval_jaxpr(jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, **_: Any) -> list[Any]:
    """The results of a program for values of its constants and inputs."""
    values: dict[Var, Any] = {}
    for var, value in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True):
        values[var] = _fits(value, var.aval)

    def read(var: Any) -> Any:
        return as_operand(var) if isinstance(var, Literal) else values[var]

    for eqn in jaxpr.eqns:
        results = eqn.evaluate(*[read(var) for var in eqn.invars])
        values.update(zip(eqn.outvars, results, strict=True))
    return [read(var) for var in jaxpr.outvars]


def jaxpr_as_fun(closed: ClosedJaxpr) -> Callable[..., list[Any]]:
    """The function that a program is."""

    def run(*args: Any) -> list[Any]:
        return eval_jaxpr(closed.jaxpr, closed.consts, *args)

    return run


def jaxprs_in_params(params: dict[str, Any]) -> list[Jaxpr]:
    """The programs among parameters of an equation."""
    found: list[Jaxpr] = []
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(item, Jaxpr):
                found.append(item)
            elif isinstance(item, ClosedJaxpr):
                found.append(item.jaxpr)
    return found


def subjaxprs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """The programs in the equations of a program."""
    return [inner for eqn in jaxpr.eqns for inner in jaxprs_in_params(eqn.params)]


def new_jaxpr_eqn(
    invars: Sequence[Any], outvars: Sequence[Any], primitive: Any, params: dict[str, Any], effects: Any = frozenset(),
    source_info: Any = None, ctx: Any = None,
) -> JaxprEqn:  # fmt: skip
    """An equation of the library's own."""
    return JaxprEqn(list(invars), list(outvars), primitive, params, effects, source_info or SourceInfo(), ctx)


def built_in(name: str) -> BuiltIn:
    """The operation of cotangent's own with a name."""
    return _built_in.setdefault(name, BuiltIn(name))


# What operations are called, where it is not what they are found under.
_NAMES_OF_PRIMITIVES = {
    "add_jaxvals_p": "add_any",
    "linear_solve_p": "custom_linear_solve",
    "remat_p": "remat2",
    **{f"scatter_{what}_p": f"scatter-{what}" for what in ("add", "max", "min", "mul", "sub")},
}


def built_ins_named_in(module: str, besides: Sequence[str] = ()) -> dict[str, BuiltIn]:
    """The operations that a module of JAX's has under names that end with ``_p``, by these names."""
    names = [name for name in NAMES[module] if name.endswith("_p") and name not in besides]
    return {name: built_in(_NAMES_OF_PRIMITIVES.get(name, name.removesuffix("_p"))) for name in names}
