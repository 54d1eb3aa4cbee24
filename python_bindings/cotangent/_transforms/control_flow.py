"""Control flow on traced values: loops and branches whose bodies are captured once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core, config
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.callbacks import bind_debug
from cotangent._base.capture import Captured, check_callable, flatten_arguments, function_name, set_length, wraps
from cotangent._base.dimensions import Dim, not_negative, size_if_computed
from cotangent._base.progress import REPORTS, Progress, Reporter
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms import python_control as _python_control
from cotangent._transforms.lengths import may_not_run
from cotangent._transforms.ragged import check_names_of_batch
from cotangent._transforms.returned_sizes import AxesOf, axes_returned, check_one_size
from cotangent._transforms.sized import capture_sized
from cotangent.errors import DTypeError, ShapeError

__all__ = ["cond", "fori_loop", "platform_dependent", "scan", "switch", "while_loop"]


def _capture_body(
    function: Callable[..., Any],
    sources: list[Any],
    structures: list[PyTreeDef],
    name: str,
    author: Callable[..., Any] | None = None,
) -> Captured:
    """``author``: what the function calls, if it is not the user's itself."""
    author = function if author is None else author
    return capture_sized(lambda body: _capture_known(body, sources, structures, name, author), function)


def _capture_known(
    function: Callable[..., Any],
    sources: list[Any],
    structures: list[PyTreeDef],
    name: str,
    author: Callable[..., Any],
) -> Captured:
    """Captures ``function(*trees)`` on inputs like the given arrays, cut into trees by their structures."""
    out_structure: PyTreeDef | None = None
    axes: list[AxesOf] | None = None

    def run(inputs: list[Array]) -> tuple[list[Any], None]:
        nonlocal out_structure, axes
        trees, offset = [], 0
        for structure in structures:
            trees.append(structure.unflatten(inputs[offset : offset + structure.num_leaves]))
            offset += structure.num_leaves
        leaves, out_structure = flatten_arguments(function(*trees), f"the output of {name}")
        axes = axes_returned(leaves, author)
        return leaves, None

    graph, closure, _ = _core.capture(run, sources, [], _core.capture_mode() or "jit", name)
    assert out_structure is not None
    return Captured(graph, closure, out_structure, axes)


def _width_hint(x: Any, y: Any, graphs: Sequence[Graph]) -> str:
    """What to do about two dtypes: where a 64-bit value entered if they differ in width only, which is where."""
    if _core.dtype_kind(x) != _core.dtype_kind(y) or x.itemsize == y.itemsize:
        return "\n  convert one of them with .astype(...)"
    wide, narrow = (x, y) if x.itemsize > y.itemsize else (y, x)
    entered = [
        eqn["location"]
        for graph in graphs
        for eqn in graph.equations()
        if any(graph.aval(var)[1] == wide for var in eqn["outputs"]) and eqn["location"]
    ]
    where = f", first at {entered[0]}" if entered else ""
    # JAX has no 64 bits unless asked for.
    jax = f", where JAX makes it {narrow}" if wide.itemsize in (8, 16) and not config.read("enable_x64") else ""
    return (
        f"\n  a {wide} value entered{where}: arrays keep their width here{jax}\n"
        f'  fix: convert that value with .astype("{narrow}"), or the result'
    )


def _match_carry(
    captured: Captured, count: int, carry_leaves: list[Array], structure: PyTreeDef, what: str, out_structure: PyTreeDef
) -> None:
    """Raises when a body does not return the carry it was given."""
    if out_structure != structure:
        raise TypeError(
            f"{what} must return a carry of the structure it was given\n  given: {structure}\n  returned: {out_structure}"
        )
    for leaf, (shape, dtype, _), path in zip(
        carry_leaves, captured.graph.out_avals[:count], structure.paths(), strict=True
    ):
        if tuple(shape) != leaf._bound_shape:
            raise ShapeError(
                f"{what}: carry{path} has shape {leaf._bound_shape} on entry but the body returns {tuple(shape)}"
            )
        if dtype != leaf.dtype:
            raise DTypeError(
                f"{what}: carry{path} has dtype {leaf.dtype} on entry but the body returns {dtype}"
                + _width_hint(leaf.dtype, dtype, [captured.graph])
            )
    for leaf, axes, path in zip(carry_leaves, captured.aux or (), structure.paths(), strict=False):
        check_one_size(what, path, AxesOf(leaf), axes)


def _promote_carry(
    body: Callable[..., Any], leaves: list[Array], run: Callable[[list[Array]], Captured], count: int
) -> tuple[list[Array], Captured]:
    """Captures a body; weakly typed initial carries (Python numbers) take the dtype that the body returns."""
    captured = run(leaves)
    changed = False
    for index, (leaf, aval) in enumerate(zip(leaves, captured.graph.out_avals[:count], strict=False)):
        if leaf.weak_type and leaf.dtype != aval[1] and leaf._bound_shape == tuple(aval[0]):
            leaves = [*leaves[:index], _core.convert(leaf, aval[1]), *leaves[index + 1 :]]
            changed = True
    return (leaves, run(leaves)) if changed else (leaves, captured)


def _check_unroll(unroll: Any, what: str) -> None:
    """Steps are not repeated in the body: measured, that makes compiled loops no faster (docs/design/017-reverse-while.md)."""
    if not isinstance(unroll, (bool, int)) or (not isinstance(unroll, bool) and unroll < 0):
        raise ValueError(f"{what}: `unroll` must be a bool or a non-negative int; got {unroll!r}")


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | Dim | None = None,
    reverse: bool = False,
    unroll: int = 1,
    _split_transpose: bool = False,
    *,
    progress: Progress = None,
) -> tuple[Any, Any]:
    """A loop that carries state along the leading axis of arrays and stacks what each step yields.

    The body is captured once. Reverse-mode derivatives keep what they need of every step.

    Parameters
    ----------
    f : callable
        ``(carry, x) -> (carry, y)``.
    init : pytree of arrays
        The first carry; the carry keeps its structure, shapes and dtypes. Python numbers take the dtype that ``f``
        returns.
    xs : pytree of arrays, optional
        Scanned over their leading axes, which have one size.
    length : int, optional
        The number of steps, inside ``mask`` also a size; needed when ``xs`` has no leaves.
    reverse : bool
        Whether to go from the last element to the first.
    unroll : int or bool
        Accepted for compatibility: compiled loops do not get faster by repeating steps in the body.
    _split_transpose : bool
        Accepted for compatibility: how the backward loop is cut is the compiler's business.
    progress : bool, str or callable, optional
        Tells how far the loop is, some hundred times: True or a text shows a bar of the package tqdm, also in
        notebooks; a function is called with the number of steps that are done and that of all steps. It is told by
        the loop that computes the values, once for all examples of a ``vmap``.

    Returns
    -------
    carry : pytree of arrays
        The last carry.
    ys : pytree of arrays
        What the steps yielded, along a new leading axis, in the order of ``xs``.

    Raises
    ------
    ImportError
        ``progress`` asks for tqdm, which is not installed.
    TypeError
        ``f`` does not return a pair, or ``progress`` is asked of a loop whose number of steps is a size.
    ShapeError
        The carry changes its shape.
    DTypeError
        The carry changes its dtype.

    Examples
    --------
    >>> total, partial = ct.lax.scan(lambda c, x: (c + x, c), 0.0, ct.numpy.arange(4.0))
    >>> float(total), partial.tolist()
    (6.0, [0.0, 0.0, 1.0, 3.0])
    """
    del _split_transpose
    _check_unroll(unroll, "scan")
    if progress is not None and progress is not False:
        f, xs, length = _telling(f, xs, length, reverse, progress)
    return scan_with(f, init, xs, length=length, reverse=reverse)


def _telling(
    f: Callable[..., Any], xs: Any, length: Any, reverse: bool, progress: bool | str | Callable[[int, int], Any]
) -> tuple[Callable[..., Any], Any, Any]:
    """The arguments of a scan that tells how far it is: its steps are numbered."""
    check_callable(f, "scan")
    leaves = flatten_arguments(xs, "scan's xs")[0]
    sizes = [leaf.shape[0] for leaf in leaves if leaf.ndim] + ([] if length is None else [length])
    if not sizes or any(isinstance(size, Dim | Array) for size in sizes):
        if not sizes:
            return f, xs, length  # which is an error that scan has a message for
        raise TypeError("scan: progress is told of loops whose number of steps is known when the program is captured")
    steps = int(sizes[0])
    report = Reporter(progress, steps)
    every = max(1, steps // REPORTS)

    @wraps(f)
    def step(carry: Any, x: Any) -> Any:
        number, own = x
        result = f(carry, own)
        done = steps - number if reverse else number + 1
        due = (done % every == 0) | (done == steps)
        cond(due, lambda done: bind_debug(report, (done,), {}), lambda done: None, done)
        return result

    return step, (np.arange(steps, dtype=np.int32), xs), length


def scan_with(
    f: Callable[..., Any], init: Any, xs: Any, *, length: int | Dim | None = None, reverse: bool = False, **flags: bool
) -> tuple[Any, Any]:
    """`scan` with flags that only this package sets.

    Args:
        flags: ``pieces=True`` for a loop that divides a computation to bound its memory: nothing of all steps is stored for speed.
    """
    check_callable(f, "scan")
    name = function_name(f)
    carry, carry_structure = flatten_arguments(init, "scan's init")
    sequences, sequence_structure = flatten_arguments(xs, "scan's xs")
    for leaf, path in zip(sequences, sequence_structure.paths(), strict=True):
        if leaf.ndim == 0:
            raise ShapeError(f"scan: xs{path} is a scalar; scanned arrays need a leading axis")
    length = size_if_computed(length, "scan: length")
    if isinstance(length, Dim):
        if not sequences:
            return scan(_without_elements(f, xs), init, _numbers(length), reverse=reverse)
        length = _agreed(length, sequences)
    lengths = {leaf._bound_shape[0] for leaf in sequences} | ({int(length)} if length is not None else set())
    if not lengths:
        raise ValueError("scan: pass xs with at least one array, or length=")
    if len(lengths) > 1:
        raise ValueError(f"scan: leading axes and length differ: {sorted(lengths)}")
    _core.check_sizes(sequences, [0] * len(sequences))
    check_names_of_batch(xs, [0] * len(sequences), f"scan of {name}")
    steps = lengths.pop()
    if steps > 0 and _python_control.wanted():
        return _python_control.scan(f, carry_structure.unflatten(carry), sequences, sequence_structure, steps, reverse)
    slices = [(leaf, 0) for leaf in sequences]

    def run(carries: list[Array]) -> Captured:
        return _capture_body(f, [*carries, *slices], [carry_structure, sequence_structure], name)

    carry, captured = _promote_carry(f, carry, run, len(carry))
    template = captured.structure.unflatten(list(range(captured.structure.num_leaves)))
    if not isinstance(template, tuple) or len(template) != 2:
        raise TypeError(f"scan: {name} must return a pair (carry, y); it returned {captured.structure}")
    out_carry_structure = _core.tree_flatten(template[0], None)[1]
    y_structure = _core.tree_flatten(template[1], None)[1]
    _match_carry(captured, len(carry), carry, carry_structure, f"scan: {name}", out_carry_structure)
    graph = _constants_first(captured, [*carry, *slices])
    outputs = primitives.scan(
        *captured.closure + carry + sequences,
        graph=graph,
        num_constants=len(captured.closure),
        num_carries=len(carry),
        length=steps,
        reverse=reverse,
        **flags,
    )
    return carry_structure.unflatten(outputs[: len(carry)]), y_structure.unflatten(outputs[len(carry) :])


def _numbers(size: Dim) -> Array:
    """0, 1, … below a size."""
    count = primitives.iota(shape=[max(size.bound, 0)], dtype=np.dtype("int32"), axis=0)
    return set_length(count, not_negative(size).value, 0)


def _without_elements(f: Callable[..., Any], xs: Any) -> Callable[..., Any]:
    @wraps(f)
    def step(carry: Any, number: Array) -> Any:
        del number
        return f(carry, xs)

    return step


def _agreed(length: Dim, sequences: list[Array]) -> int:
    """The bound of sequences that have a size.

    Raises:
        ValueError: one of them is of another.
    """
    for leaf in sequences:
        if leaf.shape[0] is not length and (leaf.shape[0] == length) is not True:
            raise ValueError(
                f"scan: length is the size {length.owner}; the leading axis of xs, {leaf.shape[0]!r}, is another"
            )
    return sequences[0]._bound_shape[0]


def _constants_first(captured: Captured, sources: list[Any]) -> Any:
    """The graph with its closed-over inputs before the others, which are like ``sources``."""
    constants = len(captured.closure)
    if constants == 0:
        return captured.graph
    run = lambda xs: (_core.apply_graph(captured.graph, xs[constants:] + xs[:constants]), None)  # noqa: E731
    return _core.capture(run, [*captured.closure, *sources], [], "rearrange", "reorder")[0]


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Repeats a function while a condition holds.

    Forward-mode derivatives run in the same loop. Reverse mode keeps no more than 32 carries, however many steps
    there are, and makes the others again: a loop of 33 steps runs once more, one of 561 at most twice, of 6545
    three times, of 58905 four times. A `scan` keeps all of them instead, which is faster where the memory is there.
    JAX has no reverse mode here.

    Parameters
    ----------
    cond_fun : callable
        ``carry -> bool``, a scalar.
    body_fun : callable
        ``carry -> carry``, of the same structure, shapes and dtypes.
    init_val : pytree of arrays
        The first carry.

    Returns
    -------
    pytree of arrays
        The carry for which the condition does not hold.

    Raises
    ------
    TypeError
        ``cond_fun`` does not return one bool, or ``body_fun`` another structure.
    ShapeError
        The carry changes its shape.
    DTypeError
        The carry changes its dtype.

    Examples
    --------
    >>> int(ct.lax.while_loop(lambda i: i < 10, lambda i: i + 3, 0))
    12
    >>> float(ct.grad(lambda x: ct.lax.while_loop(lambda y: y < 10, lambda y: y * y, x))(2.0))
    32.0
    """
    check_callable(cond_fun, "while_loop")
    check_callable(body_fun, "while_loop")
    carry, structure = flatten_arguments(init_val, "while_loop's init_val")
    if _python_control.wanted():
        reached, ended = _python_control.while_loop(cond_fun, body_fun, structure.unflatten(carry))
        if ended:
            return reached
        carry, structure = flatten_arguments(reached, "while_loop's carry")

    def run(carries: list[Array]) -> Captured:
        with may_not_run():
            return _capture_body(body_fun, carries, [structure], function_name(body_fun))

    carry, body = _promote_carry(body_fun, carry, run, len(carry))
    _match_carry(body, len(carry), carry, structure, f"while_loop: {function_name(body_fun)}", body.structure)
    condition = _capture_body(cond_fun, carry, [structure], function_name(cond_fun))
    shape, dtype, _ = condition.graph.out_avals[0] if condition.graph.out_avals else ((), None, False)
    if len(condition.graph.out_avals) != 1 or tuple(shape) != () or dtype != bool:
        raise TypeError(
            f"while_loop: {function_name(cond_fun)} must return one bool scalar; it returned {[a[:2] for a in condition.graph.out_avals]}"
        )
    outputs = primitives.while_(
        *condition.closure + body.closure + carry,
        condition=_constants_first(condition, carry),
        body=_constants_first(body, carry),
        num_condition_constants=len(condition.closure),
        num_body_constants=len(body.closure),
    )
    return structure.unflatten(outputs)


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Calls a function for each number of a range: ``for i in range(lower, upper): val = body_fun(i, val)``.

    With Python ints as bounds it is a `scan`; with traced bounds a `while_loop`.

    Parameters
    ----------
    lower : int
        The first number; may be traced.
    upper : int
        The number behind the last; may be traced.
    body_fun : callable
        ``(i, val) -> val``, of the same structure, shapes and dtypes.
    init_val : pytree of arrays
        The first ``val``.
    unroll : int or bool, optional
        Accepted for compatibility, as of `scan`.

    Returns
    -------
    pytree of arrays
        The last ``val``.

    Examples
    --------
    >>> int(ct.lax.fori_loop(0, 5, lambda i, total: total + i, 0))
    10
    """
    _check_unroll(True if unroll is None else unroll, "fori_loop")
    check_callable(body_fun, "fori_loop")
    if isinstance(lower, (int, np.integer)) and isinstance(upper, (int, np.integer)):
        weak = isinstance(lower, int) and isinstance(upper, int)
        lower, upper = int(lower), int(upper)

        def step(carry: tuple[Any, Any], _: None) -> tuple[Any, None]:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        step.__wrapped__ = body_fun  # type: ignore[attr-defined]
        start = _core.full((), lower, _core.default_int_dtype(), weak)
        (_, value), _ = scan(step, (start, init_val), None, length=max(upper - lower, 0))
        return value

    low, high = _core.promote([lower, upper])

    def condition(carry: tuple[Any, Any, Any]) -> Any:
        return carry[0] < carry[1]

    def body(carry: tuple[Any, Any, Any]) -> Any:
        i, end, value = carry
        return i + 1, end, body_fun(i, value)

    body.__wrapped__ = body_fun  # type: ignore[attr-defined]
    return while_loop(condition, body, (low, high, init_val))[2]


_NO_OPERAND = object()


def _operands(name: str, operands: tuple[Any, ...], operand: Any) -> tuple[Any, ...]:
    if operand is _NO_OPERAND:
        return operands
    if operands:
        raise TypeError(f"{name}: give operands by position, or one by the keyword operand, not both")
    return (operand,)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NO_OPERAND) -> Any:
    """Calls one of several functions, by number.

    All branches are captured; one of them runs. Under `vmap` with a mapped index those run that some example
    chooses.

    Parameters
    ----------
    index : int
        A scalar, may be traced; it is moved into range.
    branches : sequence of callable
        Of ``operands``; all return the same structure, shapes and dtypes.
    *operands : pytree of arrays
        What the branch is called with.
    operand : pytree of arrays, optional
        A single operand, given by keyword.

    Returns
    -------
    pytree of arrays
        What the branch returns.

    Raises
    ------
    TypeError
        The index is no integer scalar, or the branches return different structures or types.
    ValueError
        There are no branches.

    Examples
    --------
    >>> float(ct.lax.switch(1, [lambda x: x, lambda x: x * x, lambda x: -x], 3.0))
    9.0
    """
    operands = _operands("switch", operands, operand)
    if not branches:
        raise ValueError("switch needs at least one branch")
    for branch in branches:
        check_callable(branch, "switch")
    index = _core.array(index)
    if index.ndim != 0 or _core.dtype_kind(index.dtype) not in ("signed", "unsigned"):
        raise TypeError(f"switch: the index must be an integer scalar; got {index.dtype} of shape {index.shape}")
    if _python_control.wanted(index):
        return _python_control.switch(index, branches, operands)
    leaves, structure = flatten_arguments(tuple(operands), "the operands")
    call = [(lambda tree, branch=branch: branch(*tree)) for branch in branches]
    with may_not_run():
        captured = [
            _capture_body(run, leaves, [structure], function_name(branch), branch)
            for run, branch in zip(call, branches, strict=True)
        ]
    first = captured[0]
    for branch, other in zip(branches[1:], captured[1:], strict=True):
        if other.structure != first.structure:
            raise TypeError(
                f"cond: branches return different structures\n  {function_name(branches[0])}: {first.structure}\n  {function_name(branch)}: {other.structure}"
            )
        for a, b, path in zip(first.graph.out_avals, other.graph.out_avals, first.structure.paths(), strict=True):
            if tuple(a[0]) != tuple(b[0]) or a[1] != b[1]:
                raise TypeError(
                    f"cond: branches return different types for output{path}: {function_name(branches[0])} {a[1]}{list(a[0])}, "
                    f"{function_name(branch)} {b[1]}{list(b[0])}"
                    + (_width_hint(a[1], b[1], [first.graph, other.graph]) if a[1] != b[1] else "")
                )
    for one, other in itertools.combinations(captured, 2):
        for x, y, path in zip(one.aux or (), other.aux or (), first.structure.paths(), strict=False):
            check_one_size("cond", path, x, y)
    closure = [x for branch in captured for x in branch.closure]
    graphs = []
    offset = len(leaves)
    for branch in captured:  # type: ignore[assignment]
        begin, end = offset, offset + len(branch.closure)  # type: ignore[attr-defined]
        run = lambda xs, b=branch, i=begin, j=end: (_core.apply_graph(b.graph, xs[: len(leaves)] + xs[i:j]), None)  # noqa: E731
        graphs.append(_core.capture(run, [*leaves, *closure], [], "rearrange", "branch")[0])
        offset = end
    outputs = primitives.cond(_core.convert(index, "int32"), *leaves, *closure, branches=graphs)
    return first.structure.unflatten(outputs)


def cond(
    pred: Any,
    true_fun: Any,
    false_fun: Any,
    *operands: Any,
    operand: Any = _NO_OPERAND,
) -> Any:
    """Calls one of two functions: ``true_fun(*operands)`` if ``pred`` holds, else ``false_fun(*operands)``.

    The form ``cond(pred, true_operand, true_fun, false_operand, false_fun)`` is accepted, too. Under `vmap` with a
    mapped predicate a function runs if some example chooses it.

    Parameters
    ----------
    pred : bool
        A scalar, may be traced; numbers count as whether they are not 0.
    true_fun, false_fun : callable
        Of ``operands``; both return the same structure, shapes and dtypes.
    *operands : pytree of arrays
        What the function is called with.
    operand : pytree of arrays, optional
        A single operand, given by keyword.

    Returns
    -------
    pytree of arrays
        What the function returns.

    Raises
    ------
    TypeError
        The predicate is no scalar, or the functions return different structures or types.

    Examples
    --------
    >>> float(ct.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 1.0))
    2.0
    """
    if len(operands) == 2 and not callable(true_fun) and callable(false_fun) and callable(operands[1]):
        # The form with an operand for each function: cond(pred, true_operand, true_fun, false_operand, false_fun).
        first, second = false_fun, operands[1]
        return cond(pred, lambda x, _: first(x), lambda _, y: second(y), true_fun, operands[0])
    operands = _operands("cond", operands, operand)
    check_callable(true_fun, "cond")
    check_callable(false_fun, "cond")
    pred = _core.array(pred)
    if pred.ndim != 0:
        raise TypeError(
            f"cond: the predicate must be a scalar; it has shape {pred.shape}\n  use ct.numpy.where for element-wise choices"
        )
    if pred.dtype != bool:
        pred = pred != 0
    return switch(_core.convert(pred, "int32"), (false_fun, true_fun), *operands)


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Calls the function for the platform that programs run on, ``cpu``, or else the default.

    Parameters
    ----------
    *args : any
        What the function is called with.
    default : callable, optional
        For platforms that no function is given for.
    **per_platform : callable
        Functions by the name of their platform.

    Returns
    -------
    any
        What the function returns.

    Raises
    ------
    NotImplementedError
        There is neither a function for the platform nor a default.

    Examples
    --------
    >>> ct.lax.platform_dependent(2, cpu=lambda x: x + 1, default=lambda x: x - 1)
    3
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        given = ", ".join(sorted(per_platform)) or "none"
        raise NotImplementedError(
            f"platform_dependent: no function for the platform 'cpu' and no default; there are: {given}\n"
            "  pass cpu=... or default=..."
        )
    return chosen(*args)


check_arguments(globals())
