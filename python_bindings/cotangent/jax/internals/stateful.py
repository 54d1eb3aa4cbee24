"""JAX's transforms on functions that read and write references (`references`): values go in, what was written comes out.

A transform of JAX's is one of ours with a step before and after: where the process has no references it is ours alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import cotangent as ct
from cotangent import _core, tree_util
from cotangent._base.capture import wraps
from cotangent.jax.internals import batched_objects, references
from cotangent.jax.internals.references import (
    Frame,
    Ref,
    ReferenceAsArrayError,
    ReferenceNeededError,
    RefView,
    with_references,
)

__all__ = [
    "cond",
    "fori_loop",
    "map_",
    "of_jit",
    "scan",
    "stateful_checkpoint",
    "stateful_derivative",
    "stateful_direct",
    "stateful_vmap",
    "switch",
    "while_loop",
]

Function = Callable[..., Any]


class _Held:
    """A reference among arguments, as a container of no arrays. It is equal to others of the same reference."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref


class _Slot:
    """A reference among arguments of a program that is kept: the program is the same for others in its place."""

    def __init__(self, number: int) -> None:
        self.number = number


tree_util.register_pytree_node(_Held, lambda held: ((), held.ref), lambda ref, _: _Held(ref))
tree_util.register_pytree_node(_Slot, lambda slot: ((), slot.number), lambda number, _: _Slot(number))


def _hold(tree: Any) -> Any:
    return tree_util.tree_map(lambda leaf: _Held(leaf) if isinstance(leaf, Ref) else leaf, tree)


def _release(tree: Any) -> Any:
    def is_held(x: Any) -> bool:
        return isinstance(x, _Held)

    return tree_util.tree_map(lambda leaf: leaf.ref if is_held(leaf) else leaf, tree, is_leaf=is_held)


def _write(refs: Sequence[Ref], values: Any) -> None:
    for i, value in values.items() if isinstance(values, dict) else enumerate(values):
        refs[i]._replace(value)


def _values(refs: Sequence[Ref]) -> list[Any]:
    return [ref.get() for ref in refs]


# ---- Loops and branches


def _stateful(plain: Function) -> Callable[[Function], Function]:
    """Ours, where no references have been made; else the function that is decorated."""

    def decorate(function: Function) -> Function:
        @functools.wraps(plain)
        def run(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) if references.used() else plain(*args, **kwargs)

        return run

    return decorate


@_stateful(ct.lax.scan)
def scan(f: Function, init: Any = None, xs: Any = None, length: int | None = None, **options: Any) -> Any:
    """`ct.lax.scan`. References among ``xs`` are those of their slices along the first axis."""
    leaves, structure = tree_util.tree_flatten(xs)
    sliced = [leaf for leaf in leaves if isinstance(leaf, Ref)]

    def attempt(owner: object, refs: list[Ref]) -> Any:
        def body(carry: Any, row: Any) -> Any:
            state, own = carry
            with Frame(owner, refs, state, inputs_only=False) as frame:
                row = [Ref(part) if isinstance(leaf, Ref) else part for part, leaf in zip(row, leaves, strict=True)]
                own, out = f(_release(own), structure.unflatten(row))
            parts = [part.get() for part, leaf in zip(row, leaves, strict=True) if isinstance(leaf, Ref)]
            return (frame.outputs(), _hold(own)), (parts, out)

        rows = [leaf.get() if isinstance(leaf, Ref) else leaf for leaf in leaves]
        (state, carry), (parts, out) = ct.lax.scan(body, (_values(refs), _hold(init)), rows, length, **options)
        _write(refs, state)
        _write(sliced, parts)
        return _release(carry), out

    return with_references(attempt)


@_stateful(ct.lax.map)
def map_(f: Function, xs: Any, *, batch_size: int | None = None) -> Any:
    """`ct.lax.map`."""
    if batch_size is not None:
        return ct.lax.map(f, xs, batch_size=batch_size)
    return scan(lambda carry, x: (carry, f(x)), (), xs)[1]


@_stateful(ct.lax.while_loop)
def while_loop(cond_fun: Function, body_fun: Function, init_val: Any) -> Any:
    """`ct.lax.while_loop`."""

    def attempt(owner: object, refs: list[Ref]) -> Any:
        def run(function: Function, carry: Any) -> Any:
            with Frame(owner, refs, carry[0], inputs_only=False) as frame:
                return function(_release(carry[1])), frame

        def body(carry: Any) -> Any:
            result, frame = run(body_fun, carry)
            return frame.outputs(), _hold(result)

        state, carry = ct.lax.while_loop(lambda c: run(cond_fun, c)[0], body, (_values(refs), _hold(init_val)))
        _write(refs, state)
        return _release(carry)

    return with_references(attempt)


@_stateful(ct.lax.fori_loop)
def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Any, **options: Any) -> Any:
    """`ct.lax.fori_loop`."""

    def attempt(owner: object, refs: list[Ref]) -> Any:
        def body(i: Any, carry: Any) -> Any:
            with Frame(owner, refs, carry[0], inputs_only=False) as frame:
                result = body_fun(i, _release(carry[1]))
            return frame.outputs(), _hold(result)

        state, carry = ct.lax.fori_loop(lower, upper, body, (_values(refs), _hold(init_val)), **options)
        _write(refs, state)
        return _release(carry)

    return with_references(attempt)


def _branches(call: Callable[[list[Function]], Any], branches: Sequence[Function]) -> Any:
    """The result of one of the branches, which ``call`` chooses, given them."""

    def attempt(owner: object, refs: list[Ref]) -> Any:
        state = _values(refs)

        def framed(branch: Function) -> Function:
            @wraps(branch)
            def run(*operands: Any, **named: Any) -> Any:
                with Frame(owner, refs, state, inputs_only=False) as frame:
                    result = branch(*_release(operands), **_release(named))
                return result, frame.outputs()

            return run

        result, state_after = call([framed(branch) for branch in branches])
        _write(refs, state_after)
        return result

    return with_references(attempt)


@_stateful(ct.lax.switch)
def switch(index: Any, branches: Sequence[Function], *operands: Any, **options: Any) -> Any:
    """`ct.lax.switch`."""
    held = _hold(operands)
    return _branches(lambda framed: ct.lax.switch(index, framed, *held, **_hold(options)), branches)


@_stateful(ct.lax.cond)
def cond(pred: Any, true_fun: Any, false_fun: Any = None, *operands: Any, **options: Any) -> Any:
    """`ct.lax.cond`."""
    if not callable(true_fun) or not callable(false_fun):  # the older form, of two operands
        return ct.lax.cond(pred, true_fun, false_fun, *operands, **options)
    held = _hold(operands)
    return _branches(lambda framed: ct.lax.cond(pred, *framed, *held, **_hold(options)), [true_fun, false_fun])


# ---- Derivatives and maps


def _with_state(fun: Function, has_aux: bool, owner: object, refs: list[Ref]) -> Function:
    """The function with what it has written as auxiliary results: derivatives do not go into references from outside."""
    state = _values(refs)

    @wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        with Frame(owner, refs, state, inputs_only=False) as frame:
            result = fun(*_release(args), **_release(kwargs))
        result, aux = result if has_aux else (result, None)
        return result, (aux, frame.outputs())

    return run


def stateful_derivative(transform: Function, with_value: bool) -> Function:
    """The transform (`ct.grad` and its like) of functions with references. ``with_value``: its results are pairs with the value."""

    @functools.wraps(transform)
    def apply(fun: Function, *args: Any, has_aux: bool = False, **options: Any) -> Function:
        plain = transform(fun, *args, has_aux=has_aux, **options)

        @wraps(plain)
        def run(*inputs: Any, **kwargs: Any) -> Any:
            if not references.used():
                return plain(*inputs, **kwargs)

            def attempt(owner: object, refs: list[Ref]) -> Any:
                framed = _with_state(fun, has_aux, owner, refs)
                made = transform(framed, *args, has_aux=True, **options)(*_hold(inputs), **_hold(kwargs))
                if with_value:
                    (value, (aux, state)), derivative = made
                    result = ((value, aux) if has_aux else value, derivative)
                else:
                    derivative, (aux, state) = made
                    result = (derivative, aux) if has_aux else derivative
                _write(refs, state)
                return result

            return with_references(attempt)

        return run

    return apply


def stateful_direct(transform: Function) -> Function:
    """`ct.jvp`, `ct.vjp` or `ct.linearize` of functions with references: their results end with the auxiliary ones."""

    @functools.wraps(transform)
    def apply(fun: Function, *args: Any, has_aux: bool = False, **options: Any) -> Any:
        if not references.used():
            return transform(fun, *args, **({"has_aux": True} if has_aux else {}), **options)

        def attempt(owner: object, refs: list[Ref]) -> Any:
            made = transform(_with_state(fun, has_aux, owner, refs), *_hold(args), has_aux=True, **options)
            *results, (aux, state) = made
            _write(refs, state)
            return (*results, aux) if has_aux else tuple(results)

        return with_references(attempt)

    return apply


def stateful_checkpoint(transform: Function) -> Function:
    """`ct.checkpoint` of functions with references."""

    @functools.wraps(transform)
    def apply(fun: Any = None, **options: Any) -> Any:
        if fun is None:
            return lambda given: apply(given, **options)
        plain = transform(fun, **options)

        @wraps(plain)
        def run(*args: Any, **kwargs: Any) -> Any:
            if not references.used():
                return plain(*args, **kwargs)

            def attempt(owner: object, refs: list[Ref]) -> Any:
                framed = _with_state(fun, False, owner, refs)
                result, (_, state) = transform(framed, **options)(*_hold(args), **_hold(kwargs))
                _write(refs, state)
                return result

            return with_references(attempt)

        return run

    return apply


def _mapped_references(args: tuple[Any, ...], in_axes: Any) -> tuple[Any, list[tuple[Ref, int]]]:
    """The arguments with references in place of which there are mapped ones, and these with their axes."""
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    mapped: list[tuple[Ref, int]] = []

    def place(leaf: Any, axis: Any) -> Any:
        if isinstance(leaf, RefView) and axis is not None:
            raise ValueError(
                "vmap: a view of a reference, ref.at[...], among mapped arguments: TransformedRefs are not allowed\n"
                "  pass the reference, and take the view of it inside"
            )
        if isinstance(leaf, RefView):
            return RefView(_Held(leaf._ref), leaf._index) if isinstance(leaf._ref, Ref) else leaf
        if not isinstance(leaf, Ref):
            return leaf
        if axis is None:
            return _Held(leaf)
        if not isinstance(axis, int):
            raise NotImplementedError(
                "vmap: a reference in an argument whose axes are given leaf by leaf\n"
                "  pass the reference as an argument of its own, with one axis"
            )
        mapped.append((leaf, axis))
        return _Slot(len(mapped) - 1)

    placed = tuple(
        tree_util.tree_map(lambda leaf, a=axis: place(leaf, a), arg, is_leaf=lambda x: isinstance(x, RefView))
        for arg, axis in zip(args, axes, strict=False)
    )
    return placed + tuple(args[len(placed) :]), mapped


def _filled(tree: Any, refs: Sequence[Ref]) -> Any:
    def is_slot(x: Any) -> bool:
        return isinstance(x, _Slot)

    return tree_util.tree_map(lambda leaf: refs[leaf.number] if is_slot(leaf) else leaf, tree, is_leaf=is_slot)


def stateful_vmap(fun: Function, in_axes: Any = 0, out_axes: Any = 0, **options: Any) -> Function:
    """`ct.vmap` of functions with references: those among mapped arguments are mapped, those from outside are shared."""
    plain = ct.vmap(fun, in_axes, out_axes, **options)

    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        return batched_objects.stacks_of(on_elements(*batched_objects.elements_of(args, in_axes), **kwargs), out_axes)

    def on_elements(*args: Any, **kwargs: Any) -> Any:
        if not references.used():
            return plain(*args, **kwargs)
        placed, mapped = _mapped_references(args, in_axes)
        axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)

        def attempt(owner: object, refs: list[Ref]) -> Any:
            state = _values(refs)

            def body(rows: Any, *inputs: Any, **named: Any) -> Any:
                with Frame(owner, refs, state, inputs_only=False) as frame:
                    own = [Ref(row) for row in rows]
                    result = fun(*_release(_filled(inputs, own)), **_release(named))
                return result, [ref.get() for ref in own], frame.outputs()

            along = [axis for _, axis in mapped]
            made = ct.vmap(body, (along or None, *axes), (out_axes, along or None, None), **options)
            result, rows, after = made([ref.get() for ref, _ in mapped], *placed, **_hold(kwargs))
            _write([ref for ref, _ in mapped], rows)
            _write(refs, after)
            return result

        return with_references(attempt)

    return run


# ---- Jitted functions


def _shifted(positions: Any) -> Any:
    if positions is None:
        return None
    each = (positions,) if isinstance(positions, int) else tuple(positions)
    return tuple(position + 2 if position >= 0 else position for position in each)


class _StatefulJit:
    """A jitted function whose references are inputs of its program, and what it writes results."""

    def __init__(self, fun: Function, options: dict[str, Any]) -> None:
        self._fun = fun
        self._refs: list[Ref] = []
        options = dict(options)
        for name in ("static_argnums", "donate_argnums"):
            if name in options:
                options[name] = _shifted(options[name])
        run = self._run

        def program(outside: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
            return run(outside, given, *args, **kwargs)

        kind = inspect.Parameter.POSITIONAL_ONLY
        try:
            own = list(inspect.signature(fun).parameters.values())
        except (TypeError, ValueError):
            pass
        else:
            extra = [inspect.Parameter(name, kind) for name in ("outside_", "given_")]
            program.__signature__ = inspect.Signature([*extra, *own])  # type: ignore[attr-defined]
        program.__name__ = getattr(fun, "__name__", "program")
        self._jitted = ct.jit(program, **options)

    def _run(self, outside: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
        with Frame(self, self._refs[: len(outside)], outside, inputs_only=True) as frame:
            own = [Ref(value) for value in given]
            before = [ref.get() for ref in own]
            args, kwargs = _filled((args, kwargs), own)
            result = self._fun(*args, **kwargs)
        written = {i: ref.get() for i, ref in enumerate(own) if ref.get() is not before[i]}
        return result, frame.changes(), written

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given: list[Ref] = []

        def place(leaf: Any) -> Any:
            if not isinstance(leaf, Ref):
                return leaf
            if any(leaf is other for other in given):
                raise ValueError(
                    f"only one reference to a mutable array may be passed as an argument to a function; got {leaf.aval!r} twice\n"
                    "  pass it once, and use it twice inside"
                )
            given.append(leaf)
            return _Slot(len(given) - 1)

        placed, named = tree_util.tree_map(place, (args, kwargs))
        while True:
            try:
                result, outside, written = self._jitted(_values(self._refs), _values(given), *placed, **named)
            except ReferenceNeededError as needed:
                if needed.owner is not self:
                    raise
                self._refs.append(needed.ref)
                continue
            _write(self._refs, outside)
            _write(given, written)
            return result


def of_jit(fun: Function, options: dict[str, Any]) -> tuple[object, Callable[[Any], Function]]:
    """What a jitted function needs for references: the owner of its frames, and what makes the function that goes in its place."""

    def substitute(jitted: Any) -> Function:
        made = _StatefulJit(fun, options)
        _core.substitute_jit(jitted, made)
        return made

    return object(), substitute


def _after_refusal(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A jitted function was called that needs references: from now on another is called in its place."""
    refusal = references.last_refusal()
    assert refusal is not None
    owner, substitute = getattr(jitted, "_references", (None, None))
    if substitute is None:
        raise refusal
    if isinstance(refusal, ReferenceNeededError):
        if refusal.owner is not owner:
            raise refusal
    elif not any(isinstance(leaf, Ref) for leaf in tree_util.tree_leaves((args, kwargs))):
        raise refusal
    return substitute(jitted)(*args, **kwargs)


_core.set_jit_refusal((ReferenceNeededError, ReferenceAsArrayError), _after_refusal)
