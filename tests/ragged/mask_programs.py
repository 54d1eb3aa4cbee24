"""Random programs for the law of mask: each is a list of steps on arrays of known kinds, drawn from a seed.

The kind of an array is a tuple of sizes: numbers, or names of lengths: "n" and "m" are those of the arguments, others are made by steps
that change a length. A step is chosen among those that fit the kinds that are there; its function is written with `cotangent.numpy` and
its relatives, for exact arrays. `program(seed)` is deterministic.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from cotangent import lax, nn

Kind = tuple[Any, ...]
ARGUMENTS: dict[str, Kind] = {"x": ("n",), "y": ("n",), "a": ("n", 3), "z": ("m",), "c": (3,), "b": (2, "n")}
KERNEL = np.array([0.5, -1.0, 0.25])
WEIGHTS = np.linspace(-1.0, 1.0, 6).reshape(3, 2)


@dataclass
class Step:
    """One kind of step: for operands that `fits` accepts, `result` gives the kinds of what `run` returns."""

    name: str
    count: int
    fits: Callable[..., bool]
    result: Callable[..., Kind]
    run: Callable[..., Any]
    least: int = 0  # the smallest length for which the program without padding means something
    at: Callable[[Kind, np.random.Generator], int] | None = None  # the axis, handed to `run` as the last argument
    smooth: bool = True  # whether second derivatives exist


def is_length(size: Any) -> bool:
    return isinstance(size, str)


def ragged_axis(kind: Kind, random: np.random.Generator) -> int:
    return int(random.choice([axis for axis, size in enumerate(kind) if is_length(size)]))


def has_length(kind: Kind) -> bool:
    return any(is_length(size) for size in kind)


def drop(kind: Kind, axis: int) -> Kind:
    return kind[:axis] + kind[axis + 1 :]


# Steps that change a length alike: what they return can be added.
ALIKE = {"from 1": "less 1", "without last": "less 1", "differences": "less 1", "diff": "less 1"}
ALIKE |= {"second differences": "less 2", "inner": "less 2", "window of two": "half", "odds": "half"}
ALIKE |= {"repeat": "twice", "tile": "twice", "first two": "up to 2", "last two": "up to 2", "set the half": "twice"}
ALIKE |= {"first half": "half", "half of pairs": "half", "second half": "upper half", "other half": "upper half"}
ALIKE |= {"evens": "upper half"}


def with_length(change: str) -> Callable[[Kind, int], Kind]:
    """The kind with another length along the axis: ``n`` becomes ``change(n)``, a name of its own."""
    change = ALIKE.get(change, change)
    return lambda kind, axis: (*kind[:axis], f"{change}({kind[axis]})", *kind[axis + 1 :])


def along(axis: int, window: Any) -> tuple[Any, ...]:
    return (slice(None),) * axis + (window,)


STEPS: list[Step] = []


def step(name: str, run: Callable[..., Any], fits: Any, result: Any, count: int = 1, **options: Any) -> None:
    STEPS.append(Step(name, count, fits, result, run, **options))


def any_kind(*kinds: Kind) -> bool:
    return True


def same(*kinds: Kind) -> Kind:
    return kinds[0]


def equal_kinds(*kinds: Kind) -> bool:
    return all(kind == kinds[0] for kind in kinds)


def kinds(*wanted: Callable[[Kind], bool]) -> Callable[..., bool]:
    return lambda *found: all(test(kind) for test, kind in zip(wanted, found, strict=True))


def vector(kind: Kind) -> bool:
    return len(kind) == 1 and is_length(kind[0])


def matrix(kind: Kind) -> bool:
    return len(kind) == 2 and has_length(kind)


def rows(kind: Kind) -> bool:
    return len(kind) == 2 and is_length(kind[0]) and not is_length(kind[1])


def square(kind: Kind) -> bool:
    return len(kind) == 2 and kind[0] == kind[1]


def scalar(kind: Kind) -> bool:
    return kind == ()


ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "sin": cnp.sin,
    "tanh": cnp.tanh,
    "square": lambda v: v * v,
    "exp": lambda v: cnp.exp(0.3 * v),
    "log1p": lambda v: cnp.log1p(v * v),
    "sqrt": lambda v: cnp.sqrt(1.0 + v * v),
    "reciprocal": lambda v: 1.0 / (1.5 + cnp.cos(v)),
    "sigmoid": nn.sigmoid,
    "arctan": cnp.arctan,
    "power": lambda v: (v * v + 0.5) ** 1.5,
    "logarithm of padding": lambda v: cnp.log(cnp.abs(v) + 0.1),
    "expm1": lambda v: cnp.expm1(0.2 * v),
    "negative": lambda v: -v,
    "jit": lambda v: ct.jit(lambda u: u * cnp.sin(u))(v),
    "checkpoint": lambda v: ct.checkpoint(lambda u: cnp.sin(u) * u)(v),
    "where": lambda v: cnp.where(v > 0.1, v, 0.2 * v * v),
    "abs": cnp.abs,
    "clip": lambda v: cnp.clip(v, -0.4, 0.6) + 0.1 * v,
    "maximum": lambda v: cnp.maximum(v, 0.15),
    "zeros like": lambda v: v + cnp.zeros_like(v),
    "zeros": lambda v: v + cnp.zeros(v.shape, v.dtype),
    "full": lambda v: v * cnp.full(v.shape, 0.5, v.dtype),
    "stop gradient": lambda v: v * ct.lax.stop_gradient(v),
    "nan to num": cnp.nan_to_num,
    "cond": lambda v: lax.cond(True, lambda u: cnp.sin(u), lambda u: 0.5 * u, v),
    "fori": lambda v: lax.fori_loop(0, 2, lambda i, u: cnp.sin(u) + 0.1 * i, v),
    "reshape to its shape": lambda v: cnp.reshape(v, v.shape),
}
ROUGH = {"where", "abs", "clip", "maximum"}
for _name, _run in ELEMENTWISE.items():
    step(_name, _run, any_kind, same, smooth=_name not in ROUGH)

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda u, v: u + v,
    "sub": lambda u, v: u - v,
    "mul": lambda u, v: u * v,
    "div": lambda u, v: u / (1.0 + v * v),
    "arctan2": lambda u, v: cnp.arctan2(u, 1.0 + v * v),
    "hypot": lambda u, v: cnp.hypot(u, 1.0 + cnp.abs(v)),
    "logaddexp": cnp.logaddexp,
    "larger": cnp.maximum,
    "choose": lambda u, v: cnp.where(u > v, u, v * 0.5),
    "scan of pairs": lambda u, v: lax.fori_loop(0, 2, lambda i, c: c * 0.5 + v, u),
}
for _name, _run2 in BINARY.items():
    step(_name, _run2, equal_kinds, same, count=2, smooth=_name not in {"larger", "choose", "hypot"})
step("times scalar", lambda v, s: v * s, kinds(any_kind, scalar), same, count=2)
step("less scalar", lambda v, s: v - s, kinds(any_kind, scalar), same, count=2)
step(
    "of rows",
    lambda v, u: v * u[:, None],
    lambda v, u: rows(v) and u == v[:1],
    same,
    count=2,
)
step("broadcast to", lambda v, s: v + cnp.broadcast_to(s, v.shape), kinds(has_length, scalar), same, count=2)

ALONG: dict[str, tuple[Callable[[Any, int], Any], int, bool]] = {
    "cumsum": (lambda v, k: cnp.cumsum(v, k), 0, True),
    "cumsum reverse": (lambda v, k: lax.cumsum(v, k, reverse=True), 0, True),
    "cumprod": (lambda v, k: cnp.cumprod(v, k), 0, True),
    "cumprod reverse": (lambda v, k: lax.cumprod(v, k, reverse=True), 0, True),
    "cummax": (lambda v, k: lax.cummax(v, k), 0, False),
    "cummin reverse": (lambda v, k: lax.cummin(v, k, reverse=True), 0, False),
    "cumlogsumexp": (lambda v, k: lax.cumlogsumexp(v, k), 0, True),
    "cumlogsumexp reverse": (lambda v, k: lax.cumlogsumexp(v, k, reverse=True), 0, True),
    "flip": (lambda v, k: cnp.flip(v, k), 0, True),
    "roll": (lambda v, k: cnp.roll(v, 1, k), 0, True),
    "roll back": (lambda v, k: cnp.roll(v, -2, k), 0, True),
    "sort": (lambda v, k: cnp.sort(v, axis=k), 0, False),
    "sort backwards": (lambda v, k: cnp.sort(v, axis=k, descending=True), 0, False),
    "take sorted": (lambda v, k: cnp.take_along_axis(v, cnp.argsort(v, axis=k), k), 0, False),
    "softmax": (lambda v, k: nn.softmax(v, k), 1, True),
    "log softmax": (lambda v, k: nn.log_softmax(v, k), 1, True),
    "centre": (lambda v, k: v - v.mean(k, keepdims=True), 1, True),
    "standardize": (lambda v, k: nn.standardize(v, k), 1, True),
    "less the largest": (lambda v, k: v - v.max(k, keepdims=True), 1, False),
    "over norm": (lambda v, k: v / cnp.sqrt(1.0 + cnp.sum(v * v, k, keepdims=True)), 0, True),
    "by position": (lambda v, k: v * cnp.expand_dims(cnp.arange(v.shape[k]) + 1, tuple(range(1, v.ndim - k))), 0, True),
    "by size": (lambda v, k: v / (1.0 + v.shape[k]), 0, True),
    "associative": (lambda v, k: lax.associative_scan(lambda p, q: p * q + 0.0 * q, v, axis=k), 0, True),
    "window sums": (
        lambda v, k: lax.reduce_window(v, 0.0, lax.add, tuple(3 if i == k else 1 for i in range(v.ndim)),
                                       (1,) * v.ndim, "SAME"), 0, True,
    ),
    "add at first": (lambda v, k: v.at[along(k, 0)].add(2.0), 1, True),
    "multiply at last": (lambda v, k: v.at[along(k, -1)].multiply(0.5), 1, True),
    "set at last": (lambda v, k: v.at[along(k, -1)].set(0.5), 1, True),
}  # fmt: skip
for _name, (_along, _least, _smooth) in ALONG.items():
    step(_name, _along, has_length, lambda kind, axis: kind, at=ragged_axis, least=_least, smooth=_smooth)

REDUCE: dict[str, tuple[Callable[[Any, int], Any], int, bool]] = {
    "sum": (lambda v, k: cnp.sum(v, k), 0, True),
    "mean": (lambda v, k: cnp.mean(v, k), 1, True),
    "average": (lambda v, k: cnp.average(v, k, weights=1.0 + v * v), 1, True),
    "largest": (lambda v, k: cnp.max(v, k), 1, False),
    "smallest": (lambda v, k: cnp.min(v, k), 1, False),
    "prod": (lambda v, k: cnp.prod(v, k), 0, True),
    "var": (lambda v, k: cnp.var(v, k), 1, True),
    "var 1": (lambda v, k: cnp.var(v, k, ddof=1), 2, True),
    "std": (lambda v, k: cnp.std(v, k), 1, True),
    "norm": (lambda v, k: cnp.linalg.norm(v, axis=k), 0, True),
    "norm 1": (lambda v, k: cnp.linalg.norm(v, 1, axis=k), 0, False),
    "norm inf": (lambda v, k: cnp.linalg.norm(v, np.inf, axis=k), 1, False),
    "logsumexp": (lambda v, k: nn.logsumexp(v, k), 1, True),
    "nansum": (lambda v, k: cnp.nansum(v, k), 0, True),
    "nanmean": (lambda v, k: cnp.nanmean(v, k), 1, True),
    "median": (lambda v, k: cnp.median(v, k), 1, False),
    "quantile": (lambda v, k: cnp.quantile(v, 0.3, axis=k), 1, False),
    "ptp": (lambda v, k: cnp.ptp(v, k), 1, False),
    "first": (lambda v, k: v[along(k, 0)], 1, True),
    "last": (lambda v, k: v[along(k, -1)], 1, True),
    "at largest": (
        lambda v, k: cnp.squeeze(cnp.take_along_axis(v, cnp.argmax(v, k, keepdims=True), k), k), 1, False,
    ),
    "mean of positive": (lambda v, k: cnp.sum(v, k, where=v > 0) / (1 + cnp.count_nonzero(v > 0, k)), 0, False),
    "scan": (lambda v, k: lax.scan(lambda c, r: (cnp.sin(c) + r, c * r), v[along(k, 0)] * 0.0,
                                   cnp.moveaxis(v, k, 0))[0], 1, True),
    "trapezoid": (lambda v, k: cnp.trapezoid(v, axis=k), 1, True),
    "reduce": (lambda v, k: lax.reduce(v, 0.0, lambda p, q: p + q * 1.0, (k,)), 0, True),
}  # fmt: skip
for _name, (_reduce, _least, _smooth) in REDUCE.items():
    step(_name, _reduce, has_length, drop, at=ragged_axis, least=_least, smooth=_smooth)

RESIZE: dict[str, Callable[[Any, int], Any]] = {
    "from 1": lambda v, k: v[along(k, slice(1, None))],
    "without last": lambda v, k: v[along(k, slice(None, -1))],
    "differences": lambda v, k: v[along(k, slice(1, None))] - v[along(k, slice(None, -1))],
    "second differences": lambda v, k: (
        v[along(k, slice(2, None))] - 2 * v[along(k, slice(1, -1))] + v[along(k, slice(None, -2))]
    ),
    "evens": lambda v, k: v[along(k, slice(None, None, 2))],
    "odds": lambda v, k: v[along(k, slice(1, None, 2))],
    "first two": lambda v, k: v[along(k, slice(None, 2))],
    "last two": lambda v, k: v[along(k, slice(-2, None))],
    "inner": lambda v, k: v[along(k, slice(1, -1))],
    "diff": lambda v, k: cnp.diff(v, axis=k),
    "repeat": lambda v, k: cnp.repeat(v, 2, k),
    "tile": lambda v, k: cnp.tile(v, tuple(2 if i == k else 1 for i in range(v.ndim))),
    "twice": lambda v, k: cnp.concatenate([v, v * 2], k),
    "with zeros": lambda v, k: cnp.pad(v, [(1, 2) if i == k else (0, 0) for i in range(v.ndim)]),
    "between zeros": lambda v, k: lax.pad(v, cnp.zeros((), v.dtype), [(1, 0, 1) if i == k else (0, 0, 0) for i in range(v.ndim)]),
    "with ones": lambda v, k: cnp.concatenate([cnp.ones_like(v[along(k, slice(None, 1))]), v], k),
    "window of two": lambda v, k: lax.reduce_window(v, 0.0, lax.add, tuple(2 if i == k else 1 for i in range(v.ndim)),
                                                    tuple(2 if i == k else 1 for i in range(v.ndim)), "VALID"),
    # Sizes that are calculated with.
    "first half": lambda v, k: v[along(k, slice(None, v.shape[k] // 2))],
    "second half": lambda v, k: v[along(k, slice(v.shape[k] // 2, None))],
    "other half": lambda v, k: cnp.array_split(v, 2, axis=k)[0] * 2,
    "half of pairs": lambda v, k: cnp.split(v, [v.shape[k] // 2], axis=k)[0] + 1,
    "middle": lambda v, k: v[along(k, slice(v.shape[k] // 3, v.shape[k] // 3 + 2))],
    "by threes": lambda v, k: v[along(k, slice(None, None, -3))],
    "but the remainder": lambda v, k: v[along(k, slice(None, v.shape[k] // 2 * 2))],
    "longer by half": lambda v, k: cnp.concatenate([v, v[along(k, slice(v.shape[k] - v.shape[k] // 2, None))]], k),
    "repeat of size": lambda v, k: cnp.repeat(v, v.shape[k] // 2 + 1, k),
    "padded to even": lambda v, k: cnp.concatenate([v, cnp.zeros_like(v[along(k, slice(None, v.shape[k] % 2))])], k),
    "set the half": lambda v, k: cnp.concatenate([v.at[along(k, slice(v.shape[k] // 2, None))].set(0.5)] * 2, k),
}  # fmt: skip
for _name, _along in RESIZE.items():
    least = 2 if "two" in _name or "diff" in _name or "inner" in _name else 1
    step(
        _name, _along, has_length, with_length(_name), at=ragged_axis, least=0 if _name in {"repeat", "tile"} else least
    )

ANEW = itertools.count()


def chosen_by_values(kind: Kind) -> Kind:
    """A length that depends on values is like no other."""
    return (f"chosen {next(ANEW)} of {kind[0]}", *kind[1:])


step("positive", lambda v: v[v > 0], vector, chosen_by_values, smooth=False)
step("rows of positive sum", lambda v: v[v.sum(1) > 0], rows, chosen_by_values, smooth=False)
step("up to the largest", lambda v: v[: cnp.argmax(v)], vector, chosen_by_values, least=1, smooth=False)
step("unique", cnp.unique, vector, chosen_by_values, smooth=False)
step(
    "all of a matrix",
    lambda v: v.ravel(),
    lambda v: matrix(v) and all(map(is_length, v)),
    lambda v: (f"{v[0]}*{v[1]}",),
)
step("all of a turned matrix", lambda v: v.T.reshape(-1), rows, lambda v: (f"{v[1]} rows of {v[0]}",))
step("pairs", lambda v: v[: v.shape[0] // 2 * 2].reshape(-1, 2), vector, lambda v: (f"half({v[0]})", 2))
step("two rows", lambda v: v[: v.shape[0] // 2 * 2].reshape(2, -1), vector, lambda v: (2, f"half({v[0]})"))
step("there and back", lambda v: v.T.ravel().reshape(v.shape[1], v.shape[0]).T, matrix, same)
step("tile by sizes", lambda v: cnp.tile(v, v.shape[0]), vector, lambda v: (f"square({v[0]})",))
step("line", lambda v: v * cnp.linspace(0.0, 1.0, v.shape[0], dtype=v.dtype), vector, same)
step("set a part", lambda v: v.at[1::2].multiply(0.5).at[: v.shape[0] // 2].add(0.25), vector, same)
step("dot", lambda u, v: u @ v, lambda u, v: vector(u) and u == v, lambda u, v: (), count=2)
step("outer", lambda u, v: cnp.outer(u, v), kinds(vector, vector), lambda u, v: u + v, count=2)
step("by weights", lambda v: v @ WEIGHTS.astype(v.dtype), lambda v: rows(v) and v[1] == 3, lambda v: (v[0], 2))
step("gram", lambda v: v.T @ v, rows, lambda v: (v[1], v[1]))
step("outer gram", lambda v: v @ v.T, rows, lambda v: (v[0], v[0]))
step("rows times vector", lambda v, u: u @ v, lambda v, u: matrix(v) and vector(u) and u[0] == v[0],
     lambda v, u: v[1:], count=2)  # fmt: skip
step("einsum", lambda v, u: cnp.einsum("ij,kj->ik", v, u), lambda v, u: matrix(v) and matrix(u) and u[1] == v[1],
     lambda v, u: (v[0], u[0]), count=2)  # fmt: skip
step("transpose", lambda v: v.T, matrix, lambda v: v[::-1])
step("flatten", lambda v: v.reshape(-1), rows, lambda v: (f"{v[1]}*{v[0]}",))
step("column", lambda v: v[:, 0], rows, lambda v: v[:1])
step("expand", lambda v: v[:, None], vector, lambda v: (v[0], 1))
step("stack", lambda u, v: cnp.stack([u, v]), lambda u, v: vector(u) and u == v, lambda u, v: (2, *u), count=2)
step("stack columns", lambda u, v: cnp.stack([u, v], 1), lambda u, v: vector(u) and u == v, lambda u, v: (*u, 2),
     count=2)  # fmt: skip
step("join", lambda u, v: cnp.concatenate([u, v]), kinds(vector, vector), lambda u, v: (f"{u[0]}+{v[0]}",), count=2)
step("join rows", lambda u, v: cnp.concatenate([u, v]), lambda u, v: rows(u) and rows(v) and u[1] == v[1],
     lambda u, v: (f"{u[0]}+{v[0]}", u[1]), count=2)  # fmt: skip
step("trace", lambda v: cnp.trace(v), square, lambda v: ())
step("diagonal", lambda v: cnp.diagonal(v), square, lambda v: v[:1])
step("diag", cnp.diag, vector, lambda v: v + v)
step("tril", cnp.tril, square, same)
step("triu", lambda v: cnp.triu(v, 1), square, same)
step("solve", lambda v, u: cnp.linalg.solve(v @ v.T + 2 * cnp.eye(v.shape[0], dtype=v.dtype), u),
     lambda v, u: square(v) and u == v[:1] and has_length(v), lambda v, u: u, count=2, least=1)  # fmt: skip
step("cholesky", lambda v: cnp.linalg.cholesky(v @ v.T + 2 * cnp.eye(v.shape[0], dtype=v.dtype)),
     lambda v: square(v) and has_length(v), same, least=1)  # fmt: skip
step("inv", lambda v: cnp.linalg.inv(v @ v.T + 2 * cnp.eye(v.shape[0], dtype=v.dtype)),
     lambda v: square(v) and has_length(v), same, least=1)  # fmt: skip
step("cov", lambda v: cnp.cov(v), vector, lambda v: (), least=2)
step("cov of rows", lambda v: cnp.cov(v.T), lambda v: rows(v) and v[1] > 1, lambda v: (v[1], v[1]), least=2)
step("convolve", lambda v: lax.conv_general_dilated(v[None, None], KERNEL.astype(v.dtype)[None, None], (1,), "SAME")[0, 0],
     vector, same)  # fmt: skip
step("polyval", lambda v: cnp.polyval(cnp.array(KERNEL), v), vector, same)
step("map", lambda v: lax.map(lambda r: cnp.sin(r) * 2, v), lambda v: bool(v) and is_length(v[0]), same)
step("vmap", lambda v: ct.vmap(lambda r: r * cnp.sum(r * r))(v), lambda v: bool(v) and is_length(v[0]), same)
step("vmap with a sum", lambda v, u: ct.vmap(lambda r: r * cnp.sum(u))(v), kinds(vector, vector), same, count=2)
step("scanned rows", lambda v: lax.scan(lambda c, r: (c + cnp.sum(r), r * c), cnp.zeros((), v.dtype), v)[1],
     lambda v: bool(v) and is_length(v[0]), same)  # fmt: skip
step("scan backwards", lambda v: lax.scan(lambda c, r: (c * 0.5 + cnp.sum(r), r + c), cnp.zeros((), v.dtype), v,
                                          reverse=True)[1], lambda v: bool(v) and is_length(v[0]), same)  # fmt: skip
step("gradient inside", lambda v: ct.grad(lambda u: cnp.sum(cnp.sin(u) * cnp.sum(u * u)))(v), has_length, same)
step("jvp inside", lambda v: ct.jvp(lambda u: cnp.sin(u) * cnp.sum(u), (v,), (v * 0.5,))[1], has_length, same)
# fmt: off
SMOOTH_JVP = ct.custom_jvp(lambda v: cnp.sin(v) * cnp.mean(v * v))
SMOOTH_JVP.defjvp(lambda p, t: (SMOOTH_JVP(*p), ct.jvp(lambda v: cnp.sin(v) * cnp.mean(v * v), p, t)[1]))
step("custom jvp", lambda v: SMOOTH_JVP(v), has_length, same, least=1)
step("linearize inside", lambda v: ct.linearize(lambda u: u * cnp.sum(u), v)[1](cnp.sin(v)), has_length, same)
step("vjp inside", lambda v: ct.vjp(lambda u: cnp.cumsum(u * u), v)[1](cnp.cos(v))[0], vector, same)
step("jacobian inside", lambda v: ct.jacrev(lambda u: u * cnp.sum(u * u))(v), vector, lambda v: v + v)
step("forward jacobian inside", lambda v: ct.jacfwd(lambda u: cnp.sin(u) * cnp.sum(u))(v), vector, lambda v: v + v)
step("take two", lambda v: cnp.take(v, np.array([1, 0, 1]), axis=0), lambda v: bool(v) and is_length(v[0]),
     lambda v: (3, *v[1:]), least=2)
step("dynamic slice", lambda v: lax.dynamic_slice_in_dim(v, 1, 2, 0), lambda v: bool(v) and is_length(v[0]),
     lambda v: (2, *v[1:]), least=2)
step("loop with roll", lambda v: lax.fori_loop(0, 2, lambda i, c: cnp.roll(c, 1, 0) + 0.5 * v, v),
     lambda v: bool(v) and is_length(v[0]), same)
step("scan of rows across", lambda v: lax.scan(lambda c, r: (c + cnp.sum(r), r - cnp.mean(r)), cnp.zeros((), v.dtype), v)[1],
     lambda v: len(v) == 2 and v[0] == 2 and is_length(v[1]), same, least=1)
step("ragged carry", lambda v: lax.scan(lambda c, r: (c * 0.5 + r, cnp.sum(c)), cnp.zeros_like(v[0]), v)[0],
     lambda v: len(v) == 2 and v[0] == 2 and is_length(v[1]), lambda v: v[1:])
step("scan of cond", lambda v: lax.scan(
    lambda c, r: (lax.cond(c > 0.2, lambda q: cnp.sin(q) + c, lambda q: 2 * q - c, r), c), cnp.zeros((), v.dtype), v
)[1], vector, same, smooth=False)
step("checkpointed scan", lambda v: ct.checkpoint(
    lambda u: lax.scan(lambda c, r: (cnp.sin(c + r), c), cnp.zeros((), u.dtype), u)[1]
)(v), vector, same)
step("linear scan", lambda v: lax.scan(lambda c, r: (0.5 * c + r, None), cnp.zeros((), v.dtype), v)[0],
     vector, lambda v: ())
step("linear scan backwards", lambda v: lax.scan(lambda c, r: (0.5 * c + r, c), cnp.zeros((), v.dtype), v, reverse=True)[1],
     vector, same)
step("jit of scan", lambda v: ct.jit(lambda u: lax.scan(lambda c, r: (c * r + 0.3, r - c), cnp.ones((), u.dtype), u)[1])(v),
     vector, same)
step("branches of windows", lambda v: lax.cond(cnp.sum(v) > 0, lambda u: u[1:], lambda u: u[:-1] * 2, v), vector,
     lambda v: (f"less 1({v[0]})",), least=1, smooth=False)
step("draws", lambda v: v * ct.random.uniform(ct.random.key(3), v.shape, v.dtype), vector, same)
step("one hot", lambda v: nn.one_hot(cnp.argmax(v), 4, dtype=v.dtype) * cnp.sum(v), vector, lambda v: (4,), least=1,
     smooth=False)
step("ranks", lambda v: v * cnp.argsort(cnp.argsort(v)), vector, same, smooth=False)
step("segment sums", lambda v: ct.ops.segment_sum(v, cnp.arange(v.shape[0]) // 2, 3), vector, lambda v: (3,))
step("vander", lambda v: cnp.vander(v, 3), vector, lambda v: (v[0], 3))
step("det", lambda v: cnp.linalg.det(v @ v.T + 2 * cnp.eye(v.shape[0], dtype=v.dtype)),
     lambda v: square(v) and has_length(v), lambda v: (), least=1)
step("triangular solve", lambda v, u: lax.linalg.triangular_solve(
    v + 3 * cnp.eye(v.shape[0], dtype=v.dtype), u[:, None], left_side=True, lower=True
)[:, 0], lambda v, u: square(v) and u == v[:1] and has_length(v), lambda v, u: u, count=2, least=1)
step("flatten both ways", lambda v: v.reshape(-1).reshape(v.shape), rows, same)
step("valid convolution", lambda v: lax.conv_general_dilated(
    v[None, None], KERNEL.astype(v.dtype)[None, None], (1,), "VALID")[0, 0], vector, lambda v: (f"less 2({v[0]})",), least=3)
step("largest windows", lambda v: lax.reduce_window(v, -np.inf, lax.max, (2,), (1,), "SAME"), vector, same, smooth=False)
step("nested mask", lambda v: ct.mask(lambda u: cnp.sum(u * u) / (1 + u.shape[0]))(
    ct.Ragged(v, {0: cnp.minimum(v.shape[0], 2)})), vector, lambda v: ())
step("select", lambda v: cnp.select([v > 0.3, v < -0.3], [v * 2, v * v], 0.5 * v), any_kind, same, smooth=False)
step("meshgrid", lambda u, v: cnp.meshgrid(u, v)[0], kinds(vector, vector), lambda u, v: v + u, count=2)
step("tensordot", lambda u, v: cnp.tensordot(u, v, 1), lambda u, v: matrix(u) and vector(v) and u[1] == v[0],
     lambda u, v: u[:1], count=2)
step("scan that only counts", lambda v: lax.scan(lambda c, r: (cnp.sin(c) * 1.3, None), cnp.sum(v), v)[0],
     vector, lambda v: ())
step("scan of a carry", lambda v: lax.scan(lambda c, r: (c * 0.9, cnp.sin(c)), cnp.sum(v), v)[1], vector, same)
step("scan of a number of steps", lambda v: lax.scan(
    lambda c, r: (cnp.sin(c) * 1.3, c), cnp.sum(v), None, length=v.shape[0])[1], vector, same)
step("scan that ignores one of two", lambda v: lax.scan(
    lambda c, r: (c * 0.5 + 0.1, r[1] * c), cnp.sum(v), (v, cnp.cos(v)), reverse=True)[1], vector, same)
step("map of what is closed over", lambda v: lax.map(lambda r: cnp.sum(v), v), vector, same)
step("padded by a size", lambda v: cnp.pad(v, (v.shape[0], 1))[1 : v.shape[0] + 1], vector, same)
step("half of the largest", lambda v: cnp.sum(lax.top_k(v, v.shape[0] // 2)[0]), vector, lambda v: (), smooth=False)
# fmt: on
step("sum of all", cnp.sum, has_length, lambda v: ())
step("mean of all", cnp.mean, has_length, lambda v: (), least=1)
step("size", lambda v: cnp.sum(v) / (1 + v.size), has_length, lambda v: ())


@dataclass
class Program:
    """A program of named arguments: what it computes, and for which lengths it means something."""

    seed: int
    arguments: dict[str, Kind]
    steps: list[tuple[Step, tuple[int, ...], int | None]]
    outputs: list[int]
    kinds: list[Kind]
    dtype: Any
    least: int = 0
    smooth: bool = True
    names: list[str] = field(default_factory=list)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        values = list(args)
        for chosen, operands, axis in self.steps:
            extra = () if axis is None else (axis,)
            values.append(chosen.run(*(values[i] for i in operands), *extra))
        return tuple(values[i] for i in self.outputs)

    def loss(self, *args: Any) -> Any:
        """A sum of all outputs with weights that differ from element to element."""
        return sum(cnp.sum(value * position_weights(value)) for value in self(*args))

    def __str__(self) -> str:
        names = list(self.arguments)
        lines = [f"# seed {self.seed}, {np.dtype(self.dtype).name}, lengths from {self.least}"]
        for k, (chosen, operands, axis) in enumerate(self.steps):
            names.append(f"v{k}")
            where = "" if axis is None else f", axis {axis}"
            lines.append(
                f"v{k} {self.kinds[len(self.arguments) + k]} = {chosen.name}({', '.join(names[i] for i in operands)}{where})"
            )
        return "\n".join([*lines, "return " + ", ".join(names[i] for i in self.outputs)])


def position_weights(x: Any) -> Any:
    """Weights of the shape of x, another one for each element."""
    weights = cnp.full(x.shape, 0.7, x.dtype)
    for axis in range(x.ndim):
        positions = cnp.arange(x.shape[axis]).astype(x.dtype)
        weights = weights * cnp.expand_dims(cnp.cos(positions * 1.3 + axis), tuple(range(1, x.ndim - axis)))
    return weights


def program(seed: int) -> Program:
    """The program of a seed."""
    random = np.random.default_rng(seed)
    chosen = ["x"] + [name for name in ARGUMENTS if name != "x" and random.random() < 0.5]
    arguments = {name: ARGUMENTS[name] for name in ARGUMENTS if name in chosen}
    found = list(arguments.values())
    steps: list[tuple[Step, tuple[int, ...], int | None]] = []
    for _ in range(int(random.integers(1, 6))):
        for _attempt in range(40):
            candidate = STEPS[int(random.integers(len(STEPS)))]
            # Later values are preferred: programs are chains with side branches.
            odds = np.arange(1.0, len(found) + 1) ** 2
            operands = tuple(int(i) for i in random.choice(len(found), candidate.count, p=odds / odds.sum()))
            shapes = [found[i] for i in operands]
            if not candidate.fits(*shapes):
                continue
            if candidate.least and any("chosen" in str(size) for kind in shapes for size in kind):
                continue  # which may be none
            axis = candidate.at(shapes[0], random) if candidate.at else None
            result = candidate.result(*shapes, *(() if axis is None else (axis,)))
            if len(result) > 3 or sum(is_length(size) for size in result) > 2 or any(len(str(s)) > 60 for s in result):
                continue
            steps.append((candidate, operands, axis))
            found.append(result)
            break
    used = {i for _, operands, _ in steps for i in operands}
    first = len(arguments)
    outputs = [i for i in range(first, len(found)) if i not in used] or [len(found) - 1]
    dtype = np.float32 if random.random() < 0.2 else np.float64
    least = max([0] + [s.least for s, _, _ in steps])
    return Program(seed, arguments, steps, outputs, found, dtype, least, all(s.smooth for s, _, _ in steps))
