"""Checks on values inside of programs, as values: `checkify` turns a function that may fail into one that also returns an `Error`.

``check(x > 0, "x must be positive, got {}", x)`` raises at once when it is evaluated, and when a compiled program runs. Inside of a function
given to `checkify` it raises nothing: the first check that fails is recorded in the error that the function returns, which can be
looked at, batched and handed on like any array. NaN, division by zero and indices out of bounds can be checked for everywhere.

    err, out = ct.checkify.checkify(f, errors=ct.checkify.all_checks)(x)
    err.throw()
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.callbacks import bind_callback
from cotangent._base.capture import capture, check_callable, flatten_arguments, function_name, wraps
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._ops import indexing
from cotangent.ir import Equation, Interpreter, equations
from cotangent.tree_util import register_pytree_node

__all__ = [
    "CheckError",
    "Error",
    "JaxRuntimeError",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "checkify",
    "debug_check",
    "div_checks",
    "empty_checks",
    "float_checks",
    "index_checks",
    "nan_checks",
    "user_checks",
]

Checks = frozenset[str]

empty_checks: Checks = frozenset()
user_checks: Checks = frozenset({"user"})
nan_checks: Checks = frozenset({"nan"})
div_checks: Checks = frozenset({"div"})
index_checks: Checks = frozenset({"index"})
float_checks: Checks = nan_checks | div_checks
automatic_checks: Checks = float_checks | index_checks
all_checks: Checks = automatic_checks | user_checks


class CheckError(ValueError):
    """A check that failed."""


JaxRuntimeError = CheckError


# ---- what is checked ---------------------------------------------------------------------------------------------------


class _Check:
    """What the equation of a check calls with ``[pred, *values]``; `checkify` recognises it by its type."""

    def __init__(self, kind: str, message: str, structure: PyTreeDef | None, static: tuple[Any, ...], silent: bool):
        self.kind = kind
        self.text = message
        self.structure = structure  # of (args, kwargs) of the format
        self.static = static  # (position, value) of its leaves that are no arrays
        self.silent = silent  # outside of checkify

    def message(self, values: Sequence[Any]) -> str:
        leaves = [value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value for value in values]
        if self.structure is None:
            return self.text
        for position, value in self.static:
            leaves.insert(position, value)
        args, kwargs = self.structure.unflatten(leaves)
        return self.text.format(*args, **kwargs)

    def __call__(self, arrays: list[np.ndarray[Any, Any]]) -> Sequence[Any]:
        held, *values = arrays
        if self.silent or held.all():
            return ()
        # Under vmap everything has the batch in front.
        first = np.unravel_index(np.argmin(held), held.shape)
        raise CheckError(self.message([value[first] for value in values]))

    def __repr__(self) -> str:
        return f"check {self.text!r}"


class _ErrorCheck(_Check):
    """Of `check_error`: the values are an `Error`."""

    def __init__(self, records: tuple[_Record, ...]):
        super().__init__("user", "", None, (), False)
        self.records = records

    def message(self, values: Sequence[Any]) -> str:
        code, *payload = values
        return _message(int(code), payload, self.records)


_made = functools.lru_cache(maxsize=4096)(_Check)
_made_of_error = functools.lru_cache(maxsize=4096)(_ErrorCheck)


def _bind_check(what: _Check, pred: Array, values: Sequence[Any]) -> None:
    bind_callback(what, [pred, *values], "debug", (), "broadcast_all")


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Checks that ``pred`` holds.

    Args:
        pred: a bool scalar.
        msg: what is wrong if not, a format as of ``str.format``.
        fmt_args, fmt_kwargs: what its fields stand for: arrays, or any Python values.
        debug: whether the check counts only in functions given to `checkify`.

    Raises:
        CheckError: it does not hold; when the value is known, and else when the compiled program runs. Inside of `checkify` the
            error is returned instead.

    >>> import cotangent as ct
    >>> def f(x):
    ...     ct.checkify.check(x > 0, "x must be positive, got {x}", x=x)
    ...     return ct.numpy.log(x)
    >>> err, out = ct.jit(ct.checkify.checkify(f))(-1.0)
    >>> print(err.get().splitlines()[0])
    x must be positive, got -1.0 (`check` failed)
    """
    if not isinstance(msg, str):
        raise TypeError(f"check: the message must be a string; got {type(msg).__name__}")
    held = _core.array(pred)
    if held.ndim != 0 or held.dtype != bool:
        raise TypeError(
            f"check: pred must be a bool scalar; got {held.dtype} of shape {held.shape}\n  reduce it with .all() or .any()"
        )
    leaves, structure = _core.tree_flatten((fmt_args, fmt_kwargs), None)
    values: list[Any] = []
    static: list[tuple[int, Any]] = []
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, (Array, np.ndarray, np.generic)) or _core.is_python_scalar(leaf):
            values.append(leaf)
        else:
            static.append((position, leaf))
    key = ("user", msg, structure, tuple(static), debug)
    try:
        what = _made(*key)
    except TypeError:  # a value that cannot be hashed
        what = _Check(*key)
    _bind_check(what, held, values)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A `check` that does nothing except in functions given to `checkify`."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Checks that ``error`` holds none: raises it, or hands it on to an enclosing `checkify`.

    Raises:
        CheckError: as `check`.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error: expected an Error, got {type(error).__name__}")
    if not error._records:
        return
    code, payload = _first_of_batch(error)
    held = primitives.eq(code, _core.full((), 0, "int32"))
    _bind_check(_made_of_error(error._records), held, [code, *payload])


def index_check(x: Array, axis: int, size: Any, index: Array, wrong: Array) -> None:
    """Records that indexing was out of bounds where ``wrong``; for `ct.numpy`'s indexing, while `checkify` asks for it."""
    value = index
    before = _core.override_flag("index_checks", False)  # not for what is computed here
    try:
        if wrong.ndim:
            position = cnp.argmax(cnp.ravel(wrong))
            value = cnp.take(cnp.ravel(cnp.broadcast_to(index, wrong._bound_shape)), position, mode="clip")
        held = cnp.logical_not(cnp.any(wrong))
    finally:
        _core.override_flag("index_checks", before)
    text = "out-of-bounds indexing for array of shape {0}: index {2} is out-of-bounds for axis {1} with size {3}"
    _, structure = _core.tree_flatten(((0, 0, 0, 0), {}), None)
    static = ((0, str(tuple(x._bound_shape))), (1, axis))
    _bind_check(_made("index", text, structure, static, True), held, [value, size])


indexing.report_outside = index_check


# ---- errors ------------------------------------------------------------------------------------------------------------


class _Record:
    """A check that a checkified program may fail: how to tell what happened from the values that were kept."""

    def __init__(self, what: _Check, location: str, dtypes: tuple[Any, ...], ragged: tuple[int, ...], lengths: int):
        self.what = what
        self.location = location
        self.dtypes = dtypes
        self.ragged = ragged  # triples (value, axis, length)
        self.lengths = lengths  # how many of the values are lengths, the last ones

    def message(self, payload: Sequence[Any]) -> str:
        values = [_decode(np.asarray(x), dtype) for x, dtype in zip(payload, self.dtypes, strict=True)]
        count = len(values) - self.lengths
        for value, axis, length in _triples(self.ragged):
            cut = [slice(None)] * values[value].ndim
            cut[axis] = slice(0, int(values[count + length]))
            values[value] = values[value][tuple(cut)]
        text = self.what.message(values[:count])
        if self.what.kind == "user" and not isinstance(self.what, _ErrorCheck):
            text += " (`check` failed)"
        return text + (f"\n  at {self.location}" if self.location else "")


def _triples(numbers: Sequence[int]) -> list[tuple[int, int, int]]:
    return [(numbers[i], numbers[i + 1], numbers[i + 2]) for i in range(0, len(numbers), 3)]


class Error:
    """What a checkified function found: nothing, or the first check that failed. A pytree of arrays; under ``vmap`` one an example."""

    def __init__(self, code: Any, payload: Sequence[Any], records: tuple[_Record, ...]) -> None:
        self._code = code
        self._payload = tuple(payload)
        self._records = records

    def get(self) -> str | None:
        """The message of the check that failed, None if none did; for a batch a line for each example that failed.

        Raises:
            ConcretizationError: while a transform is capturing there is no value yet; use `check_error`.
        """
        code = np.asarray(self._code)
        payload = [np.asarray(x) for x in self._payload]
        if code.ndim == 0:
            return _message(int(code), payload, self._records) if code else None
        lines = []
        for position in np.argwhere(code):
            at = tuple(int(i) for i in position)
            message = _message(int(code[at]), [x[at] for x in payload], self._records)
            lines.append(f"at mapped index {', '.join(map(str, at))}: {message}")
        return "\n".join(lines) or None

    def throw(self) -> None:
        """Raises CheckError if a check failed; inside of `checkify` or a compiled program as `check_error`."""
        check_error(self)

    def __repr__(self) -> str:
        if _core.is_traced(self._code):
            return "Error(traced)"
        return f"Error({self.get()})"


def _head(children: Any) -> tuple[Any, list[Any]]:
    code, *payload = children
    return code, payload


register_pytree_node(
    Error,
    lambda error: ((error._code, *error._payload), error._records),
    lambda records, children: Error(*_head(children), records),
)


def _message(code: int, payload: Sequence[Any], records: tuple[_Record, ...]) -> str:
    """Of the check number ``code``, counted from 1."""
    start = sum(len(record.dtypes) for record in records[: code - 1])
    record = records[code - 1]
    return record.message(payload[start : start + len(record.dtypes)])


def _first_of_batch(error: Error) -> tuple[Array, list[Array]]:
    """The code and the values of the first example that failed."""
    code = _core.array(error._code)
    payload = [_core.array(x) for x in error._payload]
    if code.ndim == 0:
        return code, payload
    batch = code.ndim
    flat = cnp.ravel(code)
    first = cnp.argmax(flat != 0)
    rows = [cnp.reshape(x, (flat.shape[0], *x.shape[batch:])) for x in payload]
    return cnp.take(flat, first, mode="clip"), [cnp.take(x, first, axis=0, mode="clip") for x in rows]


# Kept values are integers, so that no derivative ever looks at them.


def _encode(x: Array) -> Array:
    kind = _core.dtype_kind(x.dtype)
    if kind == "complex":
        return _encode(cnp.stack([cnp.real(x), cnp.imag(x)], axis=-1))
    if kind != "float":
        return x
    return primitives.bitcast(x, dtype=np.dtype(f"uint{8 * x.dtype.itemsize}"))


def _decode(x: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    kind = _core.dtype_kind(dtype)
    if kind == "complex":
        parts = x.view(f"float{4 * np.dtype(dtype).itemsize}")
        return (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    return x.view(dtype) if kind == "float" else x


# ---- the transform -----------------------------------------------------------------------------------------------------


def checkify(f: Callable[..., Any], errors: Checks = user_checks) -> Callable[..., tuple[Error, Any]]:
    """A function that returns an `Error` and what ``f`` returns, instead of raising.

    Args:
        f: any function of pytrees of arrays. Checks count wherever they are: in loops, branches, jitted and mapped functions.
        errors: which checks: ``user_checks`` (`check`), ``nan_checks`` (an operation made a NaN), ``div_checks`` (a division by zero),
            ``index_checks`` (an index, or the length of a ragged axis, out of bounds), their unions ``float_checks``, ``automatic_checks``,
            ``all_checks``, or any union
            made with ``|``.

    The error is the first in the order of the program; the function goes on after it. It can be jitted, mapped and differentiated (pass
    ``has_aux`` or take the gradient inside). Inside of `ct.mask` only `check` counts: padding may hold anything.

    >>> import cotangent as ct
    >>> err, _ = ct.checkify.checkify(lambda x: ct.numpy.sin(x) / x, errors=ct.checkify.float_checks)(0.0)
    >>> print(err.get().splitlines()[0])
    division by zero
    """
    check_callable(f, "checkify")
    wanted = frozenset(errors)
    if not wanted <= all_checks:
        raise ValueError(f"checkify: errors must be made of {sorted(all_checks)}; got {sorted(map(str, wanted))}")
    name = function_name(f)

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, structure = flatten_arguments((args, kwargs), name)
        before = _core.override_flag("index_checks", _core.get_flag("index_checks") or "index" in wanted)
        try:
            captured = capture(f, leaves, structure, "transform", name=name, concrete=True)
        finally:
            _core.override_flag("index_checks", before)
        graph, records = _with_errors(captured.graph, wanted)
        results = _core.apply_graph(graph, leaves + captured.closure)
        count = captured.structure.num_leaves
        code = results[count] if records else _core.full((), 0, "int32")
        return Error(code, results[count + 1 :], records), captured.structure.unflatten(results[:count])

    return checked


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


class _Checker(Interpreter):
    """Runs a program and keeps the first error."""

    def __init__(self, wanted: Checks) -> None:
        self.wanted = wanted
        self.records: list[_Record] = []
        self.code: Array = _core.full((), 0, "int32")
        self.payload: list[Array] = []

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
        if eqn.subgraphs:
            checked = [_has_checks(graph) or bool(_with_errors(graph, self._inside(eqn))[1]) for graph in eqn.subgraphs]
            return self.expanded(eqn, *values) if any(checked) else eqn.bind(*values)
        results = eqn.bind(*values)
        self.automatic(eqn, values, results)
        return results

    def report_length(self, length: Array, size: Any, location: str) -> None:
        """A length is held to its bound: what is computed is of a shorter or longer array than was asked for."""
        if isinstance(size, int):
            size = _core.full(length._bound_shape, size, "int32")
        wrong = _core.convert(primitives.clamp_length(length, size), length.dtype) != length
        self.report(
            cnp.any(wrong), "index", "the length of a ragged axis is negative or larger than its bound", location
        )

    def _inside(self, eqn: Equation) -> Checks:
        """Padding is nobody's business, and sizes inside of a mask are not what they seem."""
        return self.wanted & user_checks if eqn.primitive in ("mask", "vmap_region") else self.wanted

    def expanded(self, eqn: Equation, *values: Any) -> Any:
        graph = eqn.expand()
        if graph is None:
            raise NotImplementedError(
                f"checkify: a check inside of {eqn.primitive} cannot be taken out\n  at {eqn.location}"
            )
        everything, self.wanted = self.wanted, self._inside(eqn)
        try:
            return self.run(graph, *values)
        finally:
            self.wanted = everything

    def automatic(self, eqn: Equation, values: Sequence[Any], results: Sequence[Array]) -> None:
        if "div" in self.wanted and eqn.primitive in ("div", "rem"):
            self.report(cnp.any(values[1] == 0), "div", "division by zero", eqn.location)
        if "nan" not in self.wanted:
            return
        for result in results:
            if _core.dtype_kind(result.dtype) in ("float", "complex"):
                text = f"nan generated by primitive: {eqn.primitive}."
                self.report(cnp.any(result != result), "nan", text, eqn.location)

    def user_check(self, eqn: Equation, held: Array, *values: Array) -> list[Array]:
        what = eqn.attributes["callback"]
        if what.kind not in self.wanted:
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
        record = _Record(what, eqn.location, dtypes, triples, eqn.attributes["lengths"])
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
