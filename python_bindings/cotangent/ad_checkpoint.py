"""Checkpointing: trading computation for memory in reverse mode.

`checkpoint` (also called `remat`) marks a function whose intermediate results are computed again when a derivative runs backward
through it, rather than kept from the forward pass. A policy says which of them are kept after all.
"""

from __future__ import annotations

import functools
import inspect
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
    transformed,
)
from cotangent._base.misplaced import Positions, check_positions
from cotangent._base.names import suggest_names as _suggest_names
from cotangent._core import PyTreeDef

Function = Callable[..., Any]
T = TypeVar("T")


class Policy:
    """Which intermediate results of a checkpointed function are kept: clauses, of which one must hold.

    `checkpoint_policies` has those that there are, and makes others.

    Parameters
    ----------
    clauses : tuple of str, default ()
        What is kept, as `checkpoint_policies` writes it.

    Examples
    --------
    >>> ct.checkpoint_policies.dots_saveable
    Policy(clauses=('dots',))
    """

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
    """The name of a primitive, which is also its attribute ``name``: what a policy that is a function is asked about.

    Examples
    --------
    >>> keep_sines = lambda primitive: primitive.name == "sin"
    >>> f = ct.checkpoint(lambda x: ct.numpy.sin(x) ** 2, policy=keep_sines)
    >>> round(float(ct.grad(f)(1.0)), 4)
    0.9093
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name itself."""
        return str(self)


def _meant(policy: Any) -> str:
    """The policy of a name."""
    known = isinstance(policy, str) and policy.isidentifier() and hasattr(checkpoint_policies, policy)
    return f"ct.checkpoint_policies.{policy if known else 'dots_saveable'}"


def _clauses(policy: Policy | Callable[..., Any] | None) -> str:
    if policy is None:
        return ""
    if isinstance(policy, Policy):
        return "|".join(policy.clauses)
    if not callable(policy):
        raise TypeError(
            f"checkpoint: policy must be one of ct.checkpoint_policies, or a function; got {policy!r}\n  pass policy={_meant(policy)}"
        )
    names = sorted(_core.slot_matrix())
    kept = [name for name in names if policy(PrimitiveName(name))]
    return "everything" if len(kept) == len(names) else f"primitives:{','.join(kept)}" if kept else ""


def _named(kind: str, names: tuple[Any, ...]) -> Policy:
    for name in names:
        if not isinstance(name, str) or not name or set(name) & set(",|"):
            raise ValueError(
                f"checkpoint policies: a name is a non-empty str without ',' and '|'; got {name!r}\n"
                "  give several names as several arguments: save_only_these_names('x', 'y')"
            )
    return Policy((f"{kind}:{','.join(names)}",))


class checkpoint_policies:  # noqa: N801
    """The policies of `checkpoint`: which intermediate results are kept rather than computed again.

    ``everything_saveable``, ``nothing_saveable``, ``dots_saveable`` (products of matrices; also ``checkpoint_dots``)
    and ``dots_with_no_batch_dims_saveable`` (those without batch dimensions; also
    ``checkpoint_dots_with_no_batch_dims``) are policies; the methods make further ones, of names that `checkpoint_name`
    gives.

    Examples
    --------
    >>> f = lambda x: ct.numpy.sin(ct.numpy.exp(x))
    >>> policy = ct.checkpoint_policies.everything_saveable
    >>> len(ct.ad_checkpoint.saved_residuals(ct.checkpoint(f, policy=policy), 0.0))
    2
    """

    everything_saveable = Policy(("everything",))
    nothing_saveable = Policy()
    dots_saveable = Policy(("dots",))
    checkpoint_dots = dots_saveable
    dots_with_no_batch_dims_saveable = Policy(("dots_without_batch",))
    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
        """Keeps what `checkpoint_name` gave one of these names.

        Parameters
        ----------
        *names_which_can_be_saved : str
            The names.

        Returns
        -------
        Policy
            For `checkpoint`.

        Raises
        ------
        ValueError
            A name is empty, or has ``,`` or ``|`` in it.

        Examples
        --------
        >>> name = ct.ad_checkpoint.checkpoint_name
        >>> f = lambda x: ct.numpy.sin(name(ct.numpy.exp(x), "hidden"))
        >>> policy = ct.checkpoint_policies.save_only_these_names("hidden")
        >>> [where for _, where in ct.ad_checkpoint.saved_residuals(ct.checkpoint(f, policy=policy), 0.0)]
        ['from the argument x', 'output of checkpoint at ...']
        """
        return _named("names", names_which_can_be_saved)

    @staticmethod
    def save_any_names_but_these(*names_not_to_save: str) -> Policy:
        """Keeps what `checkpoint_name` gave a name, except for these.

        Parameters
        ----------
        *names_not_to_save : str
            The names.

        Returns
        -------
        Policy
            For `checkpoint`.

        Raises
        ------
        ValueError
            A name is empty, or has ``,`` or ``|`` in it.

        Examples
        --------
        >>> name = ct.ad_checkpoint.checkpoint_name
        >>> f = lambda x: ct.numpy.sin(name(ct.numpy.exp(x), "hidden"))
        >>> policy = ct.checkpoint_policies.save_any_names_but_these("other")
        >>> round(float(ct.grad(ct.checkpoint(f, policy=policy))(0.0)), 4)
        0.5403
        """
        return _named("other_names", names_not_to_save)

    @staticmethod
    def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
        """Keeps everything but what `checkpoint_name` gave one of these names.

        Parameters
        ----------
        *names_not_to_save : str
            The names.

        Returns
        -------
        Policy
            For `checkpoint`.

        Raises
        ------
        ValueError
            A name is empty, or has ``,`` or ``|`` in it.

        Examples
        --------
        >>> name = ct.ad_checkpoint.checkpoint_name
        >>> f = lambda x: ct.numpy.sin(name(ct.numpy.exp(x), "hidden"))
        >>> policy = ct.checkpoint_policies.save_anything_except_these_names("hidden")
        >>> round(float(ct.grad(ct.checkpoint(f, policy=policy))(0.0)), 4)
        0.5403
        """
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
        """Keeps what `checkpoint_name` gave one of these names.

        Arrays have one memory to be in: what would be moved to the host is kept where it is.

        Parameters
        ----------
        names_which_can_be_saved, names_which_can_be_offloaded : sequence of str
            The names.
        offload_src, offload_dst : str
            Of no effect.

        Returns
        -------
        Policy
            For `checkpoint`.

        Raises
        ------
        ValueError
            A name is empty, or has ``,`` or ``|`` in it.

        Examples
        --------
        >>> name = ct.ad_checkpoint.checkpoint_name
        >>> f = lambda x: ct.numpy.sin(name(ct.numpy.exp(x), "hidden"))
        >>> policy = ct.checkpoint_policies.save_and_offload_only_these_names(
        ...     names_which_can_be_saved=[], names_which_can_be_offloaded=["hidden"]
        ... )
        >>> round(float(ct.grad(ct.checkpoint(f, policy=policy))(0.0)), 4)
        0.5403
        """
        del offload_src, offload_dst
        return _named("names", (*names_which_can_be_saved, *names_which_can_be_offloaded))

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str = "device", offload_dst: str = "pinned_host") -> Policy:
        """Keeps products of matrices without batch dimensions.

        Arrays have one memory to be in: what would be moved to the host is kept where it is.

        Parameters
        ----------
        offload_src, offload_dst : str
            Of no effect.

        Returns
        -------
        Policy
            For `checkpoint`.

        Examples
        --------
        >>> policy = ct.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
        >>> policy is ct.checkpoint_policies.dots_with_no_batch_dims_saveable
        True
        """
        del offload_src, offload_dst
        return checkpoint_policies.dots_with_no_batch_dims_saveable

    @staticmethod
    def save_from_both_policies(policy_1: Policy, policy_2: Policy) -> Policy:
        """Keeps what either policy keeps.

        Parameters
        ----------
        policy_1, policy_2 : Policy
            Of `checkpoint_policies`.

        Returns
        -------
        Policy
            For `checkpoint`.

        Examples
        --------
        >>> policies = ct.checkpoint_policies
        >>> both = policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("hidden"))
        >>> f = ct.checkpoint(lambda x: ct.numpy.sin(x @ x), policy=both)
        >>> len(ct.ad_checkpoint.saved_residuals(f, np.ones((2, 2), np.float32)))
        2
        """
        return Policy(policy_1.clauses + policy_2.clauses)


def checkpoint_name(x: T, name: str) -> T:
    """Returns a value under a name by which checkpoint policies know it.

    Parameters
    ----------
    x : pytree of arrays
        The value.
    name : str
        Not empty, without ``,`` and ``|``.

    Returns
    -------
    pytree of arrays
        ``x``, of the same structure.

    Raises
    ------
    ValueError
        ``name`` is not one.

    Examples
    --------
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
    static_argnums: Positions = (),
    policy: Policy | Callable[..., Any] | None = None,
) -> Any:
    """Makes reverse mode compute the intermediate results of a function again, instead of keeping them.

    Values and derivatives are the same; the backward pass costs a forward pass more, and the memory is that of the
    arguments. A loop inside ``fun`` is computed again as a whole; to keep part of what its steps compute, checkpoint
    its body. `remat` is another name of it.

    Parameters
    ----------
    fun : callable, optional
        Any function of pytrees of arrays; without it a decorator is returned.
    concrete : bool, default False
        Accepted for compatibility; values may be looked at whenever the enclosing transform allows it.
    prevent_cse : bool or pytree of bool, default True
        Whether the compiler must not find that the second computation equals the first. Switch it off inside a `scan`,
        where the two are in different loops anyway. A tree of bools, one for each argument, is True if one of them is.
    static_argnums : int or sequence of int, default ()
        Positions of arguments that are plain Python values.
    policy : Policy or callable, optional
        Which intermediate results are kept after all, one of `checkpoint_policies`; None keeps nothing but the
        arguments. A function is asked once for each primitive, ``policy(primitive)``, whether to keep its results: it
        must not need more of JAX's arguments (types and parameters) than the primitive, a str that has a ``name``.

    Returns
    -------
    callable
        A function of the arguments of ``fun`` that returns what it does. Without ``fun``, a decorator.

    Raises
    ------
    ValueError
        By a call: ``static_argnums`` names an argument that there is not.
    TypeError
        ``policy`` is neither one of `checkpoint_policies` nor a function.

    References
    ----------
    A. Griewank, A. Walther, "Algorithm 799: revolve: an implementation of checkpointing for the reverse or adjoint mode
    of computational differentiation", ACM Transactions on Mathematical Software 26 (1), 2000.

    T. Chen, B. Xu, C. Zhang, C. Guestrin, "Training deep nets with sublinear memory cost", arXiv:1604.06174, 2016.

    Examples
    --------
    >>> f = lambda x: ct.numpy.sin(ct.numpy.exp(x))
    >>> round(float(ct.grad(ct.checkpoint(f))(0.0)), 4)
    0.5403
    >>> kept = ct.ad_checkpoint.saved_residuals
    >>> len(kept(f, 0.0)), len(kept(ct.checkpoint(f), 0.0))
    (2, 1)
    """
    del concrete
    if fun is None:
        return functools.partial(checkpoint, prevent_cse=prevent_cse, static_argnums=static_argnums, policy=policy)
    check_callable(fun, "checkpoint")
    check_positions("checkpoint", fun, "static_argnums", static_argnums)
    clauses = _clauses(policy)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    name = function_name(fun)

    @transformed(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        for number in static:
            if not -len(args) <= number < len(args):
                raise ValueError(
                    f"checkpoint of {name}: static_argnums={static_argnums}, but there are {len(args)} arguments\n"
                    "  number the positional arguments from 0"
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
    """Lists what reverse mode through a function keeps from the forward pass.

    Parameters
    ----------
    f : callable
        A function of pytrees of arrays.
    *args : pytrees of arrays
        The positional arguments.
    **kwargs : pytrees of arrays
        The keyword arguments.

    Returns
    -------
    list of tuple
        For each value its type, a `ShapeDtypeStruct`, and where it comes from, a str.

    Examples
    --------
    >>> [where for _, where in ct.ad_checkpoint.saved_residuals(ct.numpy.sin, 1.0)]
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
            where = f"from the argument {_argument_texts(f, len(args), structure)[var]}"
        else:
            where = f"from a value that {name} closes over"
        residuals.append((ShapeDtypeStruct(shape, dtype, weak_type=weak), where))
    return residuals


def _argument_texts(f: Function, count: int, structure: PyTreeDef) -> list[str]:
    """What the leaves of ``count`` positional and of keyword arguments are called: ``x``, ``params['w']``."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (ValueError, TypeError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    more = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), "args")
    called = [*names, *(f"{more}[{i}]" for i in range(count - len(names)))]
    texts = []
    for path in structure.paths():  # [0][2]['w'], or [1]['params']['w']
        first, rest = path[4:].split("]", 1)
        texts.append(called[int(first)] + rest if path.startswith("[0]") else first.strip("'") + rest)
    return texts


def print_saved_residuals(f: Function, *args: Any, **kwargs: Any) -> None:
    """Writes what `saved_residuals` lists to standard output, a line for each value.

    Parameters
    ----------
    f : callable
        A function of pytrees of arrays.
    *args : pytrees of arrays
        The positional arguments.
    **kwargs : pytrees of arrays
        The keyword arguments.

    Examples
    --------
    >>> ct.ad_checkpoint.print_saved_residuals(lambda w, x: (w * x).sum(), np.float32([1, 2]), np.float32([3, 4]))
    float32[2] from the argument x
    float32[2] from the argument w
    """
    for spec, where in saved_residuals(f, *args, **kwargs):
        shape = ",".join(str(size) for size in spec.shape)
        sys.stdout.write(f"{spec.dtype}[{shape}] {where}\n")


check_arguments(globals())
_suggest_names(globals())
