"""The transform `checkify`: a program that returns the first check that failed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import capture, check_callable, flatten_arguments, function_name, transformed
from cotangent._base.objects import hand_objects_through
from cotangent._core import Array, Graph
from cotangent._ops.binding import literal
from cotangent.checkify.checks import (
    Checks,
    Error,
    _Check,
    _encode,
    _made,
    _Record,
    _triples,
    all_checks,
    automatic_checks,
    index_checks,
    length_checks,
    user_checks,
)
from cotangent.checkify.placing import Constants, automatic_failures, with_checks_placed
from cotangent.ir import Equation, Interpreter, equations

__all__ = [
    "checkify",
]


def checkify(f: Callable[..., Any], errors: Checks = user_checks) -> Callable[..., tuple[Error, Any]]:
    """Makes a function that returns an `Error` and what a function returns, instead of raising.

    The error is the first in the order of the program; the function goes on after it. It can be jitted, mapped and
    differentiated (pass ``has_aux`` or take the gradient inside). Inside of `ct.mask` elements are checked; padding may
    hold anything.

    Parameters
    ----------
    f : callable
        Any function of pytrees of arrays. Checks count wherever they are: in loops, branches, jitted and mapped
        functions.
    errors : set of checks, default user_checks
        Which checks: ``user_checks`` (`check`), ``nan_checks`` (an operation made a NaN of its operands),
        ``div_checks`` (a division by zero), ``index_checks`` (an index, or the length of a ragged axis, out of bounds;
        lengths that differ where they must not), their unions ``float_checks``, ``automatic_checks``, ``all_checks``,
        or any union made with ``|``.

    Returns
    -------
    callable
        A function of the same arguments that returns ``(error, output)``. ``error`` is a pytree of arrays;
        ``error.get()`` is its message and ``error.throw()`` raises it. ``output`` is what ``f`` returns.

    Raises
    ------
    TypeError
        ``f`` cannot be called.

    Examples
    --------
    >>> err, _ = ct.checkify.checkify(lambda x: ct.numpy.sin(x) / x, errors=ct.checkify.float_checks)(0.0)
    >>> print(err.get().splitlines()[0])
    division by zero
    """
    check_callable(f, "checkify")
    wanted = frozenset(errors)
    if not wanted <= all_checks:
        raise ValueError(
            f"checkify: errors must be made of {sorted(all_checks)}; got {sorted(map(str, wanted))}\n"
            "  pass one of the sets, checkify.float_checks, or several as their union with |"
        )
    if index_checks <= wanted:
        wanted |= length_checks
    name = function_name(f)

    @transformed(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        # Numbers are arrays, whose operations are checked; flags and objects that are none stay what they are.
        function, args, kwargs = hand_objects_through(f, args, kwargs, lambda: _not_numbers((args, kwargs)))
        leaves, structure = flatten_arguments((args, kwargs), name)
        before = _core.override_flag("index_checks", _core.get_flag("index_checks") or "index" in wanted)
        try:
            captured = capture(function, leaves, structure, "transform", name=name, concrete=True)
        finally:
            _core.override_flag("index_checks", before)
        graph, records = _with_errors(captured.graph, wanted)
        results = _core.apply_graph(graph, leaves + captured.closure)
        count = captured.structure.num_leaves
        code = results[count] if records else _core.full((), 0, "int32")
        return Error(code, results[count + 1 :], records), captured.structure.unflatten(results[:count])

    return checked


def _not_numbers(tree: Any) -> list[bool]:
    return [
        isinstance(leaf, bool) or not isinstance(leaf, (int, float, complex, np.generic))
        for leaf in _core.tree_flatten(tree)[0]
    ]


@functools.lru_cache(maxsize=1024)
def _with_errors(graph: Graph, wanted: Checks) -> tuple[Graph, tuple[_Record, ...]]:
    """The graph with the code of the first check that failed (int32, 0: none) and the values of all as further outputs.

    Checks that are not wanted are gone. Without records there are no further outputs.
    """
    records: tuple[_Record, ...] = ()

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal records
        checker = _Checker(wanted)
        outputs = checker.run(_core.with_rules_captured(graph), *inputs)
        records = tuple(checker.records)
        return [*outputs, *(checker.state() if records else [])], None

    new, closure, _ = _core.capture(run, graph.in_avals, graph.input_names, "transform", "checkify")
    assert not closure
    return new, records


@functools.lru_cache(maxsize=1024)
def _has_checks(graph: Graph) -> bool:
    return any(
        isinstance(eqn.attributes.get("callback"), _Check) or any(_has_checks(inner) for inner in eqn.subgraphs)
        for eqn in equations(graph)
    )


def _first(state: list[Array], later: list[Array]) -> list[Array]:
    """The state of the check that failed first."""
    failed_before = state[0] != 0
    return [cnp.where(failed_before, a, b) for a, b in zip(state, later, strict=True)]


def _zeros(types: Sequence[Any]) -> list[Array]:
    return [_core.full(tuple(shape), 0, dtype) for shape, dtype, _ in types]


def _lengths(eqn: Equation, values: Sequence[Any]) -> Iterator[tuple[Array, Any]]:
    """The lengths of ragged axes that an equation is given, with the sizes that bound them; ``values`` may be known in part."""
    attributes = eqn.attributes
    found: list[tuple[Any, Any]] = []
    if eqn.primitive == "clamp_length":
        found = [(values[0], values[1])]
    elif eqn.primitive == "mask":
        arrays = eqn.in_types[attributes["num_lengths"] :]
        found = [(values[n], arrays[array].shape[axis]) for array, axis, n in _triples(attributes["in_ragged"])]
    elif eqn.primitive == "vmap_region":
        for inner in equations(attributes["graph"]):
            given = [values[v] if v < len(values) else None for v in inner.operands]
            found += _lengths(inner, given)
    return ((length, size) for length, size in found if length is not None and size is not None)


_REGIONS = ("mask", "vmap_region")


def _placed(kind: str) -> str:
    """The kind of checks that count where those of a kind were placed before, and are not to be made of each operation."""
    return f"placed {kind}"


class _Checker(Interpreter):
    """Runs a program and keeps the first error."""

    def __init__(self, wanted: Checks) -> None:
        self.wanted = wanted
        self.records: list[_Record] = []
        self.code: Array = _core.full((), 0, "int32")
        self.payload: list[Array] = []
        self.constants = Constants()

    def state(self) -> list[Array]:
        return [self.code, *self.payload]

    def fail(self, code: Any, records: Sequence[_Record], payload: Sequence[Array]) -> None:
        """``code``: of which of ``records`` failed, counted from 1; 0 of none."""
        code = cnp.where(code != 0, code + len(self.records), 0)
        self.code = _core.convert(cnp.where(self.code != 0, self.code, code), "int32")
        self.records += records
        self.payload += payload

    def report(self, failed: Array, kind: str, text: str, location: str) -> None:
        record = _Record(_made(kind, text, None, (), True), location, (), (), 0)
        self.fail(_core.convert(failed, "int32"), [record], [])

    # ---- equations ---------------------------------------------------------------------------------------------------

    def process(self, eqn: Equation, *values: Any) -> Any:
        if eqn.primitive == "host_callback" and isinstance(eqn.attributes["callback"], _Check):
            return self.user_check(eqn, *values)
        if eqn.primitive == "call":
            return self.run(eqn.attributes["graph"], *values)
        if "index" in self.wanted:
            for length, size in _lengths(eqn, values):
                self.report_length(length, size, eqn.location)
        loop = getattr(self, f"process_{eqn.primitive}", None)
        if loop is not None:
            return loop(eqn, *values)
        if eqn.primitive in _REGIONS:
            eqn = with_checks_placed(eqn, self.wanted)
        if eqn.subgraphs:
            checked = [_has_checks(graph) or bool(_with_errors(graph, self._inside(eqn))[1]) for graph in eqn.subgraphs]
            return self.expanded(eqn, *values) if any(checked) else eqn.bind(*values)
        results = eqn.bind(*values)
        self.automatic(eqn, values, results)
        return results

    def report_length(self, length: Array, size: Any, location: str) -> None:
        """A length is held to its bound: what is computed is of a shorter or longer array than was asked for."""
        if isinstance(size, int):
            size = literal(length, size, "int32")
        wrong = _core.convert(primitives.clamp_length(length, size), length.dtype) != length
        self.report(
            cnp.any(wrong), "index", "the length of a ragged axis is negative or larger than its bound", location
        )

    def _inside(self, eqn: Equation) -> Checks:
        """In what a region is made of padding is nobody's business, and sizes are not what they seem: there, checks that were placed."""
        if eqn.primitive not in _REGIONS:
            return self.wanted
        return self.wanted & (user_checks | length_checks) | {_placed(kind) for kind in self.wanted & automatic_checks}

    def expanded(self, eqn: Equation, *values: Any) -> Any:
        graph = eqn.expand()
        if graph is None:
            raise NotImplementedError(
                f"checkify: a check inside of {eqn.primitive} cannot be taken out\n  at {eqn.location}\n"
                "  define the primitive with expand=, which says in other operations what it computes"
            )
        everything, self.wanted = self.wanted, self._inside(eqn)
        try:
            return self.run(graph, *values)
        finally:
            self.wanted = everything

    def automatic(self, eqn: Equation, values: Sequence[Any], results: Sequence[Array]) -> None:
        self.constants.note(values, results)
        for failed, kind, text in automatic_failures(self.wanted, eqn, values, results, self.constants):
            self.report(failed, kind, text, eqn.location)

    def user_check(self, eqn: Equation, held: Array, *values: Array) -> list[Array]:
        what = eqn.attributes["callback"]
        if not {what.kind, _placed(what.kind)} & self.wanted:
            return []
        # The first example of a batch that fails.
        batch = held.ndim
        if batch:
            flat = cnp.ravel(held)
            position = cnp.argmin(flat)
            rows = [cnp.reshape(x, (flat.shape[0], *x.shape[batch:])) for x in values]
            values = tuple(cnp.take(x, position, axis=0, mode="clip") for x in rows)
            held = cnp.all(flat)
        # Axes of ragged values count from behind the batch; the condition is operand 0.
        ragged = eqn.attributes["ragged"]
        triples = tuple(
            part for value, axis, length in _triples(ragged) for part in (value - 1, axis - batch, length) if value > 0
        )
        dtypes = tuple(x.dtype for x in values)
        record = _Record(what, what.location or eqn.location, dtypes, triples, eqn.attributes["lengths"])
        self.fail(_core.convert(cnp.logical_not(held), "int32"), [record], [_encode(x) for x in values])
        return []

    # ---- sub-graphs --------------------------------------------------------------------------------------------------

    def process_scan(self, eqn: Equation, *values: Array) -> list[Array]:
        attributes = eqn.attributes
        body, constants, carries = attributes["graph"], attributes["num_constants"], attributes["num_carries"]
        inner, records = _with_errors(body, self.wanted)
        if not records:
            return eqn.bind(*values, graph=inner)
        outputs = len(body.outputs)
        types = inner.out_avals[outputs:]
        begin, end = constants + carries, constants + carries + len(types)

        def step(inputs: list[Array]) -> tuple[list[Any], None]:
            results = _core.apply_graph(inner, inputs[:begin] + inputs[end:])
            state = _first(inputs[begin:end], results[outputs:])
            return [*results[:carries], *state, *results[carries:outputs]], None

        avals = [*body.in_avals[:begin], *types, *body.in_avals[begin:]]
        graph = _core.capture(step, avals, [], "transform", "scan")[0]
        operands = [*values[:begin], *_zeros(types), *values[begin:]]
        results = eqn.bind(*operands, graph=graph, num_carries=carries + len(types))
        code, *payload = results[carries : carries + len(types)]
        self.fail(code, records, payload)
        return results[:carries] + results[carries + len(types) :]

    def process_while(self, eqn: Equation, *values: Array) -> list[Array]:
        attributes = eqn.attributes
        tests, bodies = attributes["num_condition_constants"], attributes["num_body_constants"]
        test, test_records = _with_errors(attributes["condition"], self.wanted)
        body, body_records = _with_errors(attributes["body"], self.wanted)
        records = body_records + test_records
        if not records:
            return eqn.bind(*values, condition=test, body=body)
        carries = len(attributes["body"].outputs)
        test_types, body_types = test.out_avals[1:], body.out_avals[carries:]
        # One code for both; then the values of the body's checks, then of the condition's.
        types = [(test_types or body_types)[0], *body_types[1:], *test_types[1:]]
        body_values = max(len(body_types) - 1, 0)

        def joined(of_body: list[Array], of_test: list[Array]) -> list[Array]:
            of_body = of_body or [_core.full((), 0, "int32")]
            of_test = of_test or [_core.full((), 0, "int32")]
            later = cnp.where(of_test[0] != 0, of_test[0] + len(body_records), 0)
            code = _core.convert(cnp.where(of_body[0] != 0, of_body[0], later), "int32")
            return [code, *of_body[1:], *of_test[1:]]

        def step(inputs: list[Array]) -> tuple[list[Any], None]:
            condition_constants, constants = inputs[:tests], inputs[tests : tests + bodies]
            carry = inputs[tests + bodies : tests + bodies + carries]
            state = inputs[tests + bodies + carries :]
            results = _core.apply_graph(body, constants + carry)
            tested = _core.apply_graph(test, condition_constants + results[:carries])[1:] if test_records else []
            return [*results[:carries], *_first(state, joined(results[carries:], tested))], None

        def goes_on(inputs: list[Array]) -> tuple[list[Any], None]:
            return _core.apply_graph(test, inputs[: tests + carries])[:1], None

        condition_avals, body_avals = attributes["condition"].in_avals, attributes["body"].in_avals
        before = values[:tests] + values[tests + bodies :]
        start = _core.apply_graph(test, list(before))[1:] if test_records else []
        state = joined(_zeros([types[0], *types[1 : 1 + body_values]]), start)
        results = eqn.bind(
            *values[:tests],
            *values[:tests],
            *values[tests:],
            *state,
            condition=_core.capture(goes_on, [*condition_avals, *types], [], "transform", "while")[0],
            body=_core.capture(step, [*condition_avals[:tests], *body_avals, *types], [], "transform", "while")[0],
            num_body_constants=tests + bodies,
        )
        code, *payload = results[carries:]
        self.fail(code, records, payload)
        return results[:carries]

    def process_cond(self, eqn: Equation, *values: Array) -> list[Array]:
        branches = eqn.attributes["branches"]
        checked = [_with_errors(branch, self.wanted) for branch in branches]
        records = tuple(record for _, found in checked for record in found)
        if not records:
            return eqn.bind(*values, branches=[graph for graph, _ in checked])
        outputs = len(branches[0].outputs)
        types = [graph.out_avals[outputs + 1 :] for graph, _ in checked]

        def run(which: int) -> Callable[[list[Array]], tuple[list[Any], None]]:
            def branch(inputs: list[Array]) -> tuple[list[Any], None]:
                results = _core.apply_graph(checked[which][0], inputs)
                code = results[outputs] if checked[which][1] else _core.full((), 0, "int32")
                offset = sum(len(found) for _, found in checked[:which])
                code = _core.convert(cnp.where(code != 0, code + offset, 0), "int32")
                payload = [
                    x for i, of in enumerate(types) for x in (results[outputs + 1 :] if i == which else _zeros(of))
                ]
                return [*results[:outputs], code, *payload], None

            return branch

        graphs = [
            _core.capture(run(i), branch.in_avals, [], "transform", "cond")[0] for i, branch in enumerate(branches)
        ]
        results = eqn.bind(*values, branches=graphs)
        self.fail(results[outputs], records, results[outputs + 1 :])
        return results[:outputs]

    def process_custom_vjp_linear(self, eqn: Equation, *values: Array) -> list[Array]:
        """The backward rule runs when the derivative is taken, behind what is checked here: it stays as it is."""
        return eqn.bind(*values)

    def process_custom_jvp(self, eqn: Equation, *values: Array) -> list[Array]:
        """The rule computes the outputs, and more: the checks of function or rule count when it is what runs."""
        outputs = len(eqn.attributes["graph"].outputs)
        graphs: dict[str, Graph] = {name: eqn.attributes[name] for name in ("graph", "jvp") if name in eqn.attributes}
        checked = {name: _with_errors(graph, self.wanted) for name, graph in graphs.items()}
        records = tuple(record for _, found in checked.values() for record in found)
        if not records:
            return eqn.bind(*values, **{name: graph for name, (graph, _) in checked.items()})
        counts = {name: len(graph.outputs) for name, graph in graphs.items()}
        types = {name: checked[name][0].out_avals[counts[name] + 1 :] for name in graphs}

        def run(which: str) -> Callable[[list[Array]], tuple[list[Any], None]]:
            def with_state(inputs: list[Array]) -> tuple[list[Any], None]:
                results = _core.apply_graph(checked[which][0], inputs)
                own, state = results[: counts[which]], results[counts[which] :]
                offset = 0 if which == "graph" else len(checked["graph"][1])
                code = state[0] if state else _core.full((), 0, "int32")
                code = _core.convert(cnp.where(code != 0, code + offset, 0), "int32")
                payload = [x for name, of in types.items() for x in (state[1:] if name == which else _zeros(of))]
                return [*own[:outputs], code, *payload, *own[outputs:]], None

            return with_state

        changes = {
            name: _core.capture(run(name), graph.in_avals, [], "transform", eqn.primitive)[0]
            for name, graph in graphs.items()
        }
        results = eqn.bind(*values, **changes)
        self.fail(results[outputs], records, results[outputs + 1 :])
        return results[:outputs]


check_arguments(globals())
