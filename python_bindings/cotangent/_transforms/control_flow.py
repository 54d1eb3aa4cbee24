"""Loops on traced values: scan, while_loop, fori_loop. Their bodies are captured once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.callbacks import bind_debug
from cotangent._base.capture import Captured, check_callable, flatten_arguments, function_name, set_length, wraps
from cotangent._base.dimensions import Dim, not_negative, size_if_computed
from cotangent._base.messages import marked_axes, marked_difference, missing_return, returned, structure_text
from cotangent._base.progress import REPORTS, Progress, Reporter
from cotangent._core import Array, Graph, PyTreeDef
from cotangent._transforms import python_control as _python_control
from cotangent._transforms.bodies import _capture_body, _constants_first, _width_hint
from cotangent._transforms.branches import cond
from cotangent._transforms.lengths import may_not_run
from cotangent._transforms.ragged import check_names_of_batch
from cotangent._transforms.returned_sizes import AxesOf, check_one_size
from cotangent.errors import DTypeError, ShapeError

__all__ = ["fori_loop", "scan", "while_loop"]


def _match_carry(
    captured: Captured,
    count: int,
    carry_leaves: list[Array],
    structure: PyTreeDef,
    loop: _Loop,
    out_structure: PyTreeDef,
) -> None:
    """Raises when a body does not return the carry it was given."""
    what = loop.text
    if loop.own is not None:
        given, made = (each.children()[loop.own] for each in (structure, out_structure))
    else:
        given, made = structure, out_structure
    if out_structure != structure:
        raise TypeError(
            f"{what} must return a carry of the structure it was given\n    given: {structure_text(given)}\n    returned: {structure_text(made)}"
            + (
                missing_return(made, function_name(loop.body))
                or "\n  return containers like those that it was given, and begin with all that a step makes"
            )
            + "\n  see docs/errors.md#scan-carry"
        )
    for leaf, (shape, dtype, _), path in zip(
        carry_leaves, captured.graph.out_avals[:count], structure.paths(), strict=True
    ):
        if tuple(shape) != leaf._bound_shape:
            raise ShapeError(
                f"{what}: {loop.carry}{loop.path(path)} has shape {leaf._bound_shape} on entry but the body returns {tuple(shape)}"
                f"{marked_difference(leaf._bound_shape, shape)}\n"
                f"  begin with an array of the shape that a step makes: ct.numpy.zeros({tuple(shape)}, {str(dtype)!r})"
                "\n  see docs/errors.md#scan-carry"
            )
        if dtype != leaf.dtype:
            raise DTypeError(
                f"{what}: {loop.carry}{loop.path(path)} has dtype {leaf.dtype} on entry but the body returns {dtype}"
                + _width_hint(leaf.dtype, dtype, [captured.graph])
                + "\n  see docs/errors.md#scan-carry"
            )
    for leaf, axes, path in zip(carry_leaves, captured.aux or (), structure.paths(), strict=False):
        check_one_size(what, loop.path(path), AxesOf(leaf), axes)


class _Loop(NamedTuple):
    """How errors name a loop, its function, and its carry, which may be one of several that the loop carries itself."""

    name: str
    body: Callable[..., Any]
    carry: str = "carry"
    own: int | None = None

    @property
    def text(self) -> str:
        return f"{self.name}: {function_name(self.body)}"

    def path(self, path: str) -> str:
        """Where in the user's carry a leaf is."""
        return path if self.own is None else path.removeprefix(f"[{self.own}]")


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
        raise ValueError(
            f"{what}: `unroll` must be a bool or a non-negative int; got {unroll!r}\n  leave it out: it does not make loops faster here"
        )


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
        raise TypeError(
            "scan: progress is told of loops whose number of steps is known when the program is captured\n"
            "  leave progress out, or print with ct.debug.print in a step"
        )
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
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    *,
    length: int | Dim | None = None,
    reverse: bool = False,
    loop: _Loop | None = None,
    **flags: bool,
) -> tuple[Any, Any]:
    """`scan` with flags that only this package sets.

    Args:
        loop: what the user called, if it was not `scan`.
        flags: ``pieces=True`` for a loop that divides a computation to bound its memory: nothing of all steps is stored for speed.
    """
    check_callable(f, "scan", (init, xs), "lax.scan(f, init, xs)")
    name = function_name(f)
    carry, carry_structure = flatten_arguments(init, "scan's init")
    sequences, sequence_structure = flatten_arguments(xs, "scan's xs")
    for leaf, path in zip(sequences, sequence_structure.paths(), strict=True):
        if leaf.ndim == 0:
            raise ShapeError(
                f"scan: xs{path} is a scalar; scanned arrays need a leading axis\n"
                "  let the function close over what is the same for all steps, and pass length= if nothing is scanned"
            )
    length = size_if_computed(length, "scan: length")
    if isinstance(length, Dim):
        if not sequences:
            return scan(_without_elements(f, xs), init, _numbers(length), reverse=reverse)
        length = _agreed(length, sequences)
    lengths = {leaf._bound_shape[0] for leaf in sequences} | ({int(length)} if length is not None else set())
    if not lengths:
        raise ValueError(
            "scan: pass xs with at least one array, or length=\n  scan(f, init, length=3) calls f(carry, None) three times"
        )
    if len(lengths) > 1:
        marked = marked_axes([leaf.shape for leaf in sequences[:4]], [0] * len(sequences[:4]))
        raise ValueError(
            f"scan: leading axes and length differ: {sorted(lengths)}{marked}\n"
            "  scan arrays with an entry for each step, and leave out length=, which is theirs"
        )
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
        raise TypeError(
            f"scan: {name} must return a pair (carry, y); it returned {returned(captured.structure)}"
            + (missing_return(captured.structure, name) or "\n  return (carry, None) if a step yields nothing")
            + "\n  see docs/errors.md#scan-result"
        )
    out_carry_structure = _core.tree_flatten(template[0], None)[1]
    y_structure = _core.tree_flatten(template[1], None)[1]
    _match_carry(captured, len(carry), carry, carry_structure, loop or _Loop("scan", f), out_carry_structure)
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
    reached = _handed_on(graph, len(captured.closure), carry, outputs[: len(carry)])
    return carry_structure.unflatten(reached), y_structure.unflatten(outputs[len(carry) :])


def _handed_on(body: Graph, constants: int, carry: list[Array], outputs: list[Array]) -> list[Array]:
    """What a loop ends with: for what each step hands on as it is, the value from before, of which as much is known afterwards.

    One that all examples share is shared behind the loop.
    """
    return [
        _core.share_array(before)
        if body.outputs[i] == constants + i and _core.is_traced(before) and not _core.ragged_axes(before)
        else after
        for i, (before, after) in enumerate(zip(carry, outputs, strict=True))
    ]


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
        size: Any = leaf.shape[0]
        if size is not length and (size == length) is not True:
            raise ValueError(
                f"scan: length is the size {length.owner}; the leading axis of xs, {getattr(size, 'owner', size)}, is another\n"
                "  leave length= out: it is the size of the leading axis of xs"
            )
    return sequences[0]._bound_shape[0]


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

    References
    ----------
    Andreas Griewank and Andrea Walther, "Algorithm 799: revolve: an implementation of checkpointing for the reverse
    or adjoint mode of computational differentiation", 2000.

    Examples
    --------
    >>> int(ct.lax.while_loop(lambda i: i < 10, lambda i: i + 3, 0))
    12
    >>> float(ct.grad(lambda x: ct.lax.while_loop(lambda y: y < 10, lambda y: y * y, x))(2.0))
    32.0
    """
    return _while_with(cond_fun, body_fun, init_val, _Loop("while_loop", body_fun))


def _while_with(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any, loop: _Loop) -> Any:
    for function in (cond_fun, body_fun):
        check_callable(
            function, "while_loop", (cond_fun, body_fun, init_val), "lax.while_loop(cond_fun, body_fun, init_val)"
        )
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
    _match_carry(body, len(carry), carry, structure, loop, body.structure)
    condition = _capture_body(cond_fun, carry, [structure], function_name(cond_fun))
    shape, dtype, _ = condition.graph.out_avals[0] if condition.graph.out_avals else ((), None, False)
    result = ", ".join(f"{each[1]}{list(each[0])}" for each in condition.graph.out_avals)
    if len(condition.graph.out_avals) != 1 or tuple(shape) != () or dtype != bool:
        raise TypeError(
            f"while_loop: {function_name(cond_fun)} must return one bool scalar; it returned {result or 'nothing'}"
            + (
                missing_return(condition.structure, function_name(cond_fun))
                or "\n  compare something, `lambda x: x > 0`, or reduce with .all() or .any()"
            )
            + "\n  see docs/errors.md#loop-condition"
        )
    graph = _constants_first(body, carry)
    outputs = primitives.while_(
        *condition.closure + body.closure + carry,
        condition=_constants_first(condition, carry),
        body=graph,
        num_condition_constants=len(condition.closure),
        num_body_constants=len(body.closure),
    )
    return structure.unflatten(_handed_on(graph, len(body.closure), carry, outputs))


def _counter_dtype(lower: Any, upper: Any) -> Any:
    """That of the scalars of NumPy among the bounds, where it is no wider than integers are and holds both."""
    default = _core.default_int_dtype()
    given = [bound.dtype for bound in (lower, upper) if isinstance(bound, np.integer)]
    dtype = np.result_type(*given) if given else default
    info = np.iinfo(dtype)
    fits = info.bits <= np.iinfo(default).bits and info.min <= int(lower) and int(upper) <= info.max
    return dtype if fits else default


def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any, Any], Any], init_val: Any, *, unroll: int | bool | None = None
) -> Any:
    """Calls a function for each number of a range: ``for i in range(lower, upper): val = body_fun(i, val)``.

    With Python ints as bounds it is a `scan`; with traced bounds, and floating ones, a `while_loop`.

    Parameters
    ----------
    lower : int or float
        The first number; may be traced.
    upper : int or float
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
    check_callable(body_fun, "fori_loop", (lower, upper, init_val), "lax.fori_loop(lower, upper, body_fun, init_val)")
    if isinstance(lower, (int, np.integer)) and isinstance(upper, (int, np.integer)):
        weak = isinstance(lower, int) and isinstance(upper, int)
        dtype = _counter_dtype(lower, upper)
        lower, upper = int(lower), int(upper)

        @wraps(body_fun)
        def step(carry: tuple[Any, Any], _: None) -> tuple[Any, None]:
            i, value = carry
            return (i + 1, body_fun(i, value)), None

        start = _core.full((), lower, dtype, weak)
        (_, value), _ = scan_with(
            step, (start, init_val), None, length=max(upper - lower, 0), loop=_Loop("fori_loop", body_fun, "val", 1)
        )
        return value

    for bound in (lower, upper):
        aval = _core.array(bound)
        if aval.ndim != 0 or _core.dtype_kind(aval.dtype) not in ("signed", "unsigned", "float"):
            raise TypeError(
                f"fori_loop: the bounds must be real scalars; got {aval.dtype} of shape {aval.shape}\n"
                "  give two numbers, or count within ct.lax.while_loop"
            )
    low, high = _core.promote([lower, upper])

    def condition(carry: tuple[Any, Any, Any]) -> Any:
        return carry[0] < carry[1]

    @wraps(body_fun)
    def body(carry: tuple[Any, Any, Any]) -> Any:
        i, end, value = carry
        return i + 1, end, body_fun(i, value)

    return _while_with(condition, body, (low, high, init_val), _Loop("fori_loop", body_fun, "val", 2))[2]


check_arguments(globals())
