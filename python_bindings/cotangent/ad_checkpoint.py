"""Checkpointing: trading computation for memory in reverse mode.

`checkpoint` (also called `remat`) marks a function whose intermediate results are computed again when a derivative runs backward
through it, rather than kept from the forward pass. A policy says which of them are kept after all.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import (
    ShapeDtypeStruct,
    aval_of,
    capture,
    check_callable,
    flatten_arguments,
    function_name,
    is_inexact_dtype,
    structure_names,
    wraps,
)

Function = Callable[..., Any]
T = TypeVar("T")


class Policy:
    """Which intermediate results of a checkpointed function are kept: clauses, of which one must hold."""

    __slots__ = ("clauses",)

    def __init__(self, clauses: tuple[str, ...] = ()) -> None:
        self.clauses = clauses

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.clauses == other.clauses

    def __hash__(self) -> int:
        return hash(self.clauses)

    def __repr__(self) -> str:
        return f"Policy(clauses={self.clauses!r})"


class PrimitiveName(str):
    """The name of a primitive, which is also its attribute ``name``: what a policy that is a function is asked about."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name itself."""
        return str(self)


def _clauses(policy: Policy | Callable[..., Any] | None) -> str:
    if policy is None:
        return ""
    if isinstance(policy, Policy):
        return "|".join(policy.clauses)
    if not callable(policy):
        raise TypeError(f"checkpoint: policy must be one of ct.checkpoint_policies, or a function; got {policy!r}")
    names = sorted(_core.slot_matrix())
    kept = [name for name in names if policy(PrimitiveName(name))]
    return "everything" if len(kept) == len(names) else f"primitives:{','.join(kept)}" if kept else ""


def _named(kind: str, names: tuple[Any, ...]) -> Policy:
    for name in names:
        if not isinstance(name, str) or not name or set(name) & set(",|"):
            raise ValueError(f"checkpoint policies: a name is a non-empty str without ',' and '|'; got {name!r}")
    return Policy((f"{kind}:{','.join(names)}",))


class checkpoint_policies:  # noqa: N801
    """The policies of `checkpoint`: which intermediate results are kept rather than computed again."""

    everything_saveable = Policy(("everything",))
    nothing_saveable = Policy()
    dots_saveable = Policy(("dots",))
    checkpoint_dots = dots_saveable
    dots_with_no_batch_dims_saveable = Policy(("dots_without_batch",))
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
        """Keeps what `checkpoint_name` gave one of these names."""
        return _named("names", names_which_can_be_saved)

    @staticmethod
    def save_any_names_but_these(*names_not_to_save: str) -> Policy:
        """Keeps what `checkpoint_name` gave a name, except for these."""
        return _named("other_names", names_not_to_save)

    @staticmethod
    def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
        """Keeps everything but what has one of these names."""
        return _named("all_but_names", names_not_to_save)

    # Arrays have one memory to be in: what JAX would offload to the host is kept where it is.
    @staticmethod
    def save_and_offload_only_these_names(
        *,
        names_which_can_be_saved: Sequence[str],
        names_which_can_be_offloaded: Sequence[str],
        offload_src: str = "device",
        offload_dst: str = "pinned_host",
    ) -> Policy:
        """Keeps what `checkpoint_name` gave one of these names."""
        del offload_src, offload_dst
        return _named("names", (*names_which_can_be_saved, *names_which_can_be_offloaded))

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str = "device", offload_dst: str = "pinned_host") -> Policy:
        """Keeps products of matrices without batch dimensions."""
        del offload_src, offload_dst
        return checkpoint_policies.dots_with_no_batch_dims_saveable

    @staticmethod
    def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
        """Keeps what either policy keeps."""
        return Policy(policy_1.clauses + policy_2.clauses)


def checkpoint_name(x: T, name: str) -> T:
    """``x`` itself, under a name by which checkpoint policies know it.

    >>> import cotangent as ct
    >>> policy = ct.checkpoint_policies.save_only_these_names("hidden")
    >>> f = ct.checkpoint(lambda x: ct.numpy.sin(ct.ad_checkpoint.checkpoint_name(ct.numpy.exp(x), "hidden")), policy=policy)
    >>> round(float(ct.grad(f)(0.0)), 4)
    0.5403
    """
    _named("names", (name,))
    leaves, structure = flatten_arguments(x, "checkpoint_name's argument")
    return structure.unflatten([primitives.tag(leaf, name=name) for leaf in leaves])  # type: ignore[no-any-return]


def checkpoint(
    fun: Function | None = None,
    *,
    concrete: bool = False,
    prevent_cse: Any = True,
    static_argnums: int | Sequence[int] = (),
    policy: Policy | Callable[..., Any] | None = None,
) -> Any:
    """``fun``, whose intermediate results reverse mode computes again instead of keeping them.

    Args:
        fun: any function of pytrees of arrays; without it a decorator is returned.
        concrete: accepted for compatibility; values may be looked at whenever the enclosing transform allows it.
        prevent_cse: whether the compiler must not find that the second computation equals the first. Switch it off inside a `scan`,
            where the two are in different loops anyway. A tree of bools, one for each argument, is True if one of them is.
        static_argnums: positions of arguments that are plain Python values.
        policy: which intermediate results are kept after all, one of `checkpoint_policies`; None keeps nothing but the arguments. A
            function is asked once for each primitive, ``policy(primitive)``, whether to keep its results: it must not need more of
            JAX's arguments (types and parameters) than the primitive, a str that has a ``name``.

    A loop inside ``fun`` is computed again as a whole; to keep part of what its steps compute, checkpoint its body.

    >>> import cotangent as ct
    >>> f = ct.checkpoint(lambda x: ct.numpy.sin(ct.numpy.sin(x)))
    >>> float(ct.grad(f)(0.0))
    1.0
    """
    del concrete
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, static_argnums=static_argnums, policy=policy)
    check_callable(fun, "checkpoint")
    clauses = _clauses(policy)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    name = function_name(fun)

    @wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        for number in static:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"checkpoint of {name}: static_argnums={static_argnums}, but there are {len(args)} arguments"
                )
        fixed = {number % len(args): args[number % len(args)] for number in static}
        dynamic = tuple(arg for number, arg in enumerate(args) if number not in fixed)

        def run(*xs: Any, **keywords: Any) -> Any:
            given = iter(xs)
            return fun(*[fixed[i] if i in fixed else next(given) for i in range(len(args))], **keywords)

        leaves, structure = flatten_arguments((dynamic, kwargs), name)
        if not _core.is_capturing():
            xs, keywords = structure.unflatten(leaves)
            return run(*xs, **keywords)
        captured = capture(run, leaves, structure, _core.capture_mode() or "jit", name=name, concrete=True)
        outputs = primitives.checkpoint(
            *leaves + captured.closure,
            graph=captured.graph,
            policy=clauses,
            prevent_cse=any(_core.tree_flatten(prevent_cse)[0]),
            recomputes=False,
        )
        return captured.structure.unflatten(outputs)

    return checkpointed


remat = checkpoint


def saved_residuals(f: Function, *args: Any, **kwargs: Any) -> list[tuple[ShapeDtypeStruct, str]]:
    """What reverse mode through ``f`` keeps from the forward pass: types, and where each value comes from.

    >>> import cotangent as ct
    >>> [where for _, where in ct.ad_checkpoint.saved_residuals(ct.numpy.sin, 1.0)]  # doctest: +ELLIPSIS
    ['output of cos at ...']
    """
    check_callable(f, "saved_residuals")
    name = function_name(f)
    leaves, structure = flatten_arguments((args, kwargs), name)
    captured = capture(f, leaves, structure, "transform", name=name, concrete=True)
    wrt = [is_inexact_dtype(aval_of(leaf)[1]) for leaf in leaves] + [False] * len(captured.closure)
    primal, _, count = _core.graph_linearize(captured.graph, wrt)
    equations = {var: equation for equation in primal.equations() for var in equation["outputs"]}
    residuals = []
    for var in primal.outputs[len(primal.outputs) - count :]:
        shape, dtype, weak = primal.aval(var)
        if var in equations:
            equation = equations[var]
            where = f"output of {equation['primitive']}"
            if equation.get("location"):
                where += f" at {equation['location']}"
        elif var < len(leaves):
            where = f"from the argument {structure_names(structure)[var]}"
        else:
            where = f"from a value that {name} closes over"
        residuals.append((ShapeDtypeStruct(shape, dtype, weak_type=weak), where))
    return residuals


def print_saved_residuals(f: Function, *args: Any, **kwargs: Any) -> None:
    """Writes `saved_residuals` to standard output, a line for each."""
    for spec, where in saved_residuals(f, *args, **kwargs):
        shape = ",".join(str(size) for size in spec.shape)
        sys.stdout.write(f"{spec.dtype}[{shape}] {where}\n")


check_arguments(globals())
