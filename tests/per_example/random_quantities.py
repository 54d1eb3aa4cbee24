"""Quantities of the gradients of random models: as users write them, ``vmap(grad(loss))`` and a reduction, and by `ct.per_example`.

Each is compared with its plain program on gradients that are evaluated as they are written (`products` "off"), or, where it has derivatives of
its own, with the whole program evaluated so. ``compared(seed)`` draws a model, batches and quantities, and gives what differs.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from contract_models import column, gradients, products, rows, squares, vectors
from cotangent import per_example as pe
from random_models import Model, model

SIZES = (0, 1, 3, 3, 7)
ORDERS = ("direct", "gram", "always", "blocks")


@dataclass(frozen=True)
class Case:
    """What a quantity is taken of."""

    model: Model
    batch: tuple[Any, Any]
    others: tuple[Any, Any]  # a second batch
    direction: Any  # like the parameters
    weights: Any  # [b]


Tree = Any
Of = Callable[[Tree, Tree, Case], Any]  # of the gradients of the batch and of the other one


def scaled_sum(scales: Any, g: Tree) -> Tree:
    return ct.tree.map(lambda a: cnp.einsum("i,i...->...", scales, a), g)


def lengths(g: Tree) -> Any:
    return cnp.sqrt(squares(g))


def safe_lengths(g: Tree) -> Any:
    return cnp.sqrt(squares(g) + 0.01)


def inner(g: Tree, v: Tree) -> Any:
    return sum(
        cnp.sum(a * b, axis=tuple(range(1, a.ndim))) for a, b in zip(ct.tree.leaves(g), ct.tree.leaves(v), strict=True)
    )


def deviations(g: Tree) -> Tree:
    return ct.tree.map(lambda a: cnp.mean((a - cnp.mean(a, axis=0)) ** 2, axis=0), g)


PLAIN: dict[str, Of] = {
    "squared norms": lambda g, h, c: squares(g),
    "norms": lambda g, h, c: lengths(g),
    "norms of leaves": lambda g, h, c: ct.tree.map(lambda a: cnp.sqrt(cnp.sum(a * a, axis=tuple(range(1, a.ndim)))), g),
    "norms by linalg": lambda g, h, c: [cnp.linalg.norm(a, axis=1) for a in rows(g)],
    "norms by ravel": lambda g, h, c: cnp.linalg.norm(vectors(g), axis=1),
    "norms by vdot": lambda g, h, c: sum(ct.vmap(cnp.vdot)(a, a) for a in rows(g)),
    "absolute sums": lambda g, h, c: [cnp.sum(cnp.abs(a), axis=1) for a in rows(g)],
    "largest": lambda g, h, c: [cnp.sum(cnp.max(cnp.abs(a), axis=0)) for a in rows(g) if a.size],
    "clipped": lambda g, h, c: scaled_sum(cnp.minimum(1.0, 0.5 / (1e-3 + lengths(g))), g),
    "clipped by division": lambda g, h, c: (
        lambda n: ct.tree.map(lambda a: cnp.sum(a / column(n, a), axis=0), g)
    )(cnp.maximum(lengths(g) / 0.5, 1.0)),
    "clipped where long": lambda g, h, c: (
        lambda n: ct.tree.map(lambda a: cnp.sum(cnp.where(column(n > 0.5, a), a * column(0.5 / n, a), a), axis=0), g)
    )(safe_lengths(g)),
    "clipped vectors": lambda g, h, c: cnp.minimum(1.0, 0.5 / safe_lengths(g)) @ vectors(g),
    "clipped leaves": lambda g, h, c: ct.tree.map(
        lambda a: cnp.sum(a * column(cnp.minimum(1.0, 0.2 / safe_lengths([a])), a), axis=0), g
    ),
    "weighted": lambda g, h, c: scaled_sum(c.weights, g),
    "chosen": lambda g, h, c: ct.tree.map(lambda a: cnp.sum(cnp.where(column(c.weights > 0, a), a, 0.0), axis=0), g),
    "mean and variance": lambda g, h, c: (ct.tree.map(lambda a: cnp.mean(a, axis=0), g), deviations(g)),
    "second moment": lambda g, h, c: ct.tree.map(lambda a: cnp.mean(a * a, axis=0), g),
    "second moment of sums": lambda g, h, c: ct.tree.map(lambda a: cnp.sum(a, axis=0) ** 2, g),
    "third moment": lambda g, h, c: ct.tree.map(lambda a: cnp.sum(a * a * a, axis=0), g),
    "kernel": lambda g, h, c: sum(a @ a.T for a in rows(g)),
    "kernel of vectors": lambda g, h, c: (lambda v: v @ v.T)(vectors(g)),
    "kernel of two": lambda g, h, c: sum(a @ b.T for a, b in zip(rows(g), rows(h), strict=True)),
    "distances": lambda g, h, c: sum(cnp.sum((a[:, None] - b[None]) ** 2, axis=2) for a, b in zip(rows(g), rows(h), strict=True)),
    "dot": lambda g, h, c: inner(g, c.direction),
    "with the mean": lambda g, h, c: inner(g, ct.tree.map(lambda a: cnp.mean(a, axis=0), g)),
    "with the second": lambda g, h, c: inner(g, ct.tree.map(lambda a: cnp.sum(a, axis=0), h)),
    "Fisher": lambda g, h, c: scaled_sum(inner(g, c.direction), g),
    "with decay": lambda g, h, c: sum(cnp.sum((a + 0.5) ** 2) for a in ct.tree.leaves(g)),
    "scaled by parameters": lambda g, h, c: inner(ct.tree.map(lambda a, p: a / (1 + p * p), g, c.model.params), c.direction),
    "squares of rows": lambda g, h, c: [cnp.sum(a * a, axis=-1) for a in ct.tree.leaves(g) if a.ndim > 1],
    "squares of columns": lambda g, h, c: [cnp.sum(a * a, axis=(0, 1)) for a in ct.tree.leaves(g) if a.ndim > 2],
    "fourth powers": lambda g, h, c: cnp.sum(squares(g) ** 2),
    "covariance along": lambda g, h, c: cnp.var(inner(g, c.direction)),
    "gradients and norms": lambda g, h, c: (g, lengths(g)),
    "everything": lambda g, h, c: (
        squares(g), scaled_sum(c.weights, g), sum(a @ b.T for a, b in zip(rows(g), rows(h), strict=True)), deviations(g), inner(g, c.direction),
    ),
}  # fmt: skip


def as_written(of: Of) -> Callable[[Model], Callable[[Any, Case], Any]]:
    def make(model: Model) -> Callable[[Any, Case], Any]:
        return lambda p, c: of(gradients(model.loss, p, *c.batch), gradients(model.loss, p, *c.others), c)

    return make


def smooth(values: Any) -> Any:
    """A number of any tree."""
    return sum(cnp.sum(cnp.sin(a)) for a in ct.tree.leaves(values))


def tested(model: Model, c: Case, chunk: int | None) -> Any:
    checkpoints = ct.tree.map(lambda a: cnp.stack([cnp.asarray(a), cnp.asarray(a) * 0.5]), model.params)
    return pe.influence(model.loss, chunk_size=chunk)(checkpoints, np.array([0.5, 0.25]), c.batch, c.others)


def plain_influence(p: Any, c: Case) -> Any:
    def of(p: Any) -> Any:
        g, h = (rows(gradients(c.model.loss, p, *b)) for b in (c.batch, c.others))
        return sum(a @ b.T for a, b in zip(g, h, strict=True))

    return 0.5 * of(p) + 0.25 * of(ct.tree.map(lambda a: a * np.asarray(0.5, a.dtype), p))


def plain_gauss_newton(p: Any, c: Case) -> Any:
    inputs, target = c.batch
    m = c.model
    j = ct.vmap(ct.jacrev(m.outputs), in_axes=(None, 0))(p, inputs)
    h = ct.vmap(ct.hessian(m.objective))(ct.vmap(m.outputs, in_axes=(None, 0))(p, inputs), target)
    b, o = h.shape[0], h.shape[1]
    along = sum(
        cnp.reshape(a, (b, o, math.prod(v.shape))) @ cnp.ravel(v)
        for a, v in zip(ct.tree.leaves(j), ct.tree.leaves(c.direction), strict=True)
    )
    curved = cnp.einsum("bop,bp->bo", h, along)
    return ct.tree.map(lambda a: cnp.einsum("bo,bo...->...", curved, a) / b, j)


def plain_jacobian_kernel(p: Any, c: Case) -> Any:
    j = ct.vmap(ct.jacrev(c.model.outputs), in_axes=(None, 0))(p, c.batch[0])
    flat = [cnp.reshape(a, (*a.shape[:2], math.prod(a.shape[2:]))) for a in ct.tree.leaves(j)]
    return sum(cnp.einsum("iop,jqp->ijoq", a, a) for a in flat)


# Programs with derivatives of their own: what is compiled, and what it is compared with.
Program = Callable[[Any, Case], Any]
WHOLE: dict[str, tuple[Callable[[Case, int | None], Callable[[Any], Any]], Program]] = {
    "gradient penalty": (
        lambda c, k: lambda p: ct.grad(lambda p: cnp.sum(safe_lengths(gradients(c.model.loss, p, *c.batch))))(p),
        lambda p, c: ct.grad(lambda p: cnp.sum(safe_lengths(gradients(c.model.loss, p, *c.batch))))(p),
    ),
    "gradient penalty of norms": (
        lambda c, k: lambda p: ct.grad(lambda p: cnp.sum(pe.norms(c.model.loss, chunk_size=k)(p, *c.batch) ** 2))(p),
        lambda p, c: ct.grad(lambda p: cnp.sum(squares(gradients(c.model.loss, p, *c.batch))))(p),
    ),
    "gradient of a second moment": (
        lambda c, k: lambda p: ct.grad(lambda p: smooth(pe.second_moment(c.model.loss, chunk_size=k)(p, *c.batch)))(p),
        lambda p, c: ct.grad(lambda p: smooth(PLAIN["second moment"](gradients(c.model.loss, p, *c.batch), None, c)))(
            p
        ),
    ),
    "gradient of a kernel": (
        lambda c, k: (
            lambda p: ct.grad(lambda p: smooth(pe.kernel(c.model.loss, chunk_size=k)(p, *c.batch, others=c.others)))(p)
        ),
        lambda p, c: ct.grad(lambda p: smooth(as_written(PLAIN["kernel of two"])(c.model)(p, c)))(p),
    ),
    "norms along a direction": (
        lambda c, k: (
            lambda p: ct.jvp(lambda p: pe.norms(c.model.loss, chunk_size=k)(p, *c.batch) ** 2, (p,), (c.direction,))[1]
        ),
        lambda p, c: ct.jvp(lambda p: squares(gradients(c.model.loss, p, *c.batch)), (p,), (c.direction,))[1],
    ),
    "Gauss-Newton": (
        lambda c, k: (
            lambda p: pe.gauss_newton_vector_product(c.model.outputs, c.model.objective, chunk_size=k)(
                c.direction, p, *c.batch
            )
        ),
        plain_gauss_newton,
    ),
    "influence": (lambda c, k: lambda p: tested(c.model, c, k), plain_influence),
    "kernel of outputs": (
        lambda c, k: lambda p: pe.kernel(c.model.outputs, chunk_size=k)(p, c.batch[0]),
        plain_jacobian_kernel,
    ),
}
FORWARD = (
    "gradient times vector",
    "Fisher",
    "Gauss-Newton",
    "norms along a direction",
)  # not for rules of reverse mode alone

# By ct.per_example, and the plain name or program.
NAMED: dict[str, tuple[Callable[[Case, int | None], Callable[[Any], Any]], Of]] = {
    "norms": (lambda c, k: lambda p: pe.norms(c.model.loss, chunk_size=k)(p, *c.batch), PLAIN["norms"]),
    "norms per leaf": (
        lambda c, k: lambda p: pe.norms(c.model.loss, per_leaf=True, chunk_size=k)(p, *c.batch), PLAIN["norms of leaves"]),
    "clipped sum": (
        lambda c, k: lambda p: pe.clipped_sum(c.model.loss, 0.5, chunk_size=k)(p, *c.batch),
        lambda g, h, c: scaled_sum(cnp.where(lengths(g) > 0.5, 0.5 / lengths(g), 1.0), g)),
    "clipped sum of some": (
        lambda c, k: lambda p: pe.clipped_sum(c.model.loss, 0.5, chunk_size=k)(p, *c.batch, present=c.weights > 0),
        lambda g, h, c: scaled_sum(cnp.where(c.weights > 0, cnp.where(lengths(g) > 0.5, 0.5 / lengths(g), 1.0), 0), g)),
    "weighted sum": (
        lambda c, k: lambda p: pe.weighted_sum(c.model.loss, chunk_size=k)(c.weights, p, *c.batch), PLAIN["weighted"]),
    "mean and variance": (
        lambda c, k: lambda p: pe.mean_and_variance(c.model.loss, chunk_size=k)(p, *c.batch), PLAIN["mean and variance"]),
    "second moment": (
        lambda c, k: lambda p: pe.second_moment(c.model.loss, chunk_size=k)(p, *c.batch), PLAIN["second moment"]),
    "kernel": (lambda c, k: lambda p: pe.kernel(c.model.loss, chunk_size=k)(p, *c.batch), PLAIN["kernel"]),
    "kernel of two": (
        lambda c, k: lambda p: pe.kernel(c.model.loss, chunk_size=k)(p, *c.batch, others=c.others), PLAIN["kernel of two"]),
    "dot": (lambda c, k: lambda p: pe.dot(c.model.loss, chunk_size=k)(c.direction, p, *c.batch), PLAIN["dot"]),
    "gradient times vector": (
        lambda c, k: lambda p: pe.gradient_times_vector(c.model.loss, chunk_size=k)(c.direction, p, *c.batch), PLAIN["dot"]),
    "Fisher": (
        lambda c, k: lambda p: pe.fisher_vector_product(c.model.loss, chunk_size=k)(c.direction, p, *c.batch),
        lambda g, h, c: ct.tree.map(lambda a: a / len(c.weights), PLAIN["Fisher"](g, h, c))),
}  # fmt: skip


def case(m: Model, seed: int, size: int | None = None) -> Case:
    rng = np.random.default_rng([seed, 1])
    b, other = (int(rng.choice(SIZES)) if size is None else size for _ in range(2))
    direction = ct.tree.map(lambda p: rng.normal(size=p.shape).astype(p.dtype), m.params)
    return Case(m, m.batch(seed, b), m.batch(seed + 1, max(other, 1)), direction, rng.normal(size=b))


def differences(found: Any, expected: Any, m: Model, is_gram: bool) -> Iterator[str]:
    if ct.tree.structure(found) != ct.tree.structure(expected):
        yield f"structure {ct.tree.structure(found)} for {ct.tree.structure(expected)}"
        return
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or (a.dtype != b.dtype and not m.is_rounded):
            yield f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
            continue
        finite = np.isfinite(b)
        if not np.array_equal(np.isfinite(a), finite):
            yield f"not finite in other places: {a!r} for {b!r}"
            continue
        scale = float(np.max(np.abs(b[finite]), initial=0.0))
        rtol, atol = (2e-4, 2e-4 * scale + 1e-5) if m.is_rounded else (1e-8, 1e-10 * scale + 1e-11)
        if is_gram:
            atol = max(atol, 1e-7)
        wrong = np.abs(a[finite] - b[finite]) > atol + rtol * np.abs(b[finite])
        if wrong.any():
            yield f"{a[finite][wrong]!r} for {b[finite][wrong]!r}"


def evaluated(program: Callable[[Any], Any], params: Any, order: str) -> Any:
    with products(order):
        return ct.jit(program)(params)


def compared(seed: int, count: int | None = 4) -> Iterator[tuple[str, str]]:
    """Of some quantities: what is compared, and what is wrong, or nothing."""
    m = model(seed)
    c = case(m, seed)
    rng = np.random.default_rng([seed, 2])
    with products("off"):
        g, h = (ct.jit(lambda p, b=b: gradients(m.loss, p, *b))(m.params) for b in (c.batch, c.others))
    choices = (
        [("plain", name) for name in PLAIN] + [("named", name) for name in NAMED] + [("whole", name) for name in WHOLE]
    )
    picked = choices if count is None else [choices[i] for i in rng.choice(len(choices), count, replace=False)]
    for kind, name in picked:
        if m.is_reverse_only and kind != "plain" and name in FORWARD:
            continue
        chunk = [None, None, 1, 2, 3, 9][int(rng.integers(6))]
        if kind == "plain":
            program = lambda p, name=name: as_written(PLAIN[name])(m)(p, c)  # noqa: E731
            expected = PLAIN[name](g, h, c)
        elif kind == "named":
            program = NAMED[name][0](c, chunk)
            expected = NAMED[name][1](g, h, c)
        else:
            program = WHOLE[name][0](c, chunk)
            expected = evaluated(lambda p, name=name: WHOLE[name][1](p, c), m.params, "off")
        orders = ORDERS if count is None else [ORDERS[zlib.crc32(f"{seed} {name}".encode()) % 4], "always"]
        for order in orders:
            text = f"seed {seed}, {len(c.weights)} examples, {name} ({kind}), chunks of {chunk}, {order}: {m.text}"
            try:
                problems = list(
                    differences(evaluated(program, m.params, order), expected, m, order in ("gram", "always"))
                )
            except Exception as error:  # whatever it is, it is what is looked for
                problems = [f"{type(error).__name__}: {error}"]
            yield text, "; ".join(problems)


def contaminated(seed: int) -> Iterator[tuple[str, str]]:
    """With an example that is not a number, or infinite: what else becomes so is what does in the program as it is written."""
    m = model(seed)
    c = case(m, seed, 4)
    x = c.batch[0]["x"]
    if (
        m.has_words or "n" in c.batch[0]
    ):  # words that are not there add nothing to other rows; padding is not a number anyway
        return
    x[1] = np.nan if seed % 2 else np.inf
    with products("off"):
        g, h = (ct.jit(lambda p, b=b: gradients(m.loss, p, *b))(m.params) for b in (c.batch, c.others))
    for name in ("squared norms", "weighted", "second moment", "kernel", "clipped vectors", "chosen"):
        if (
            name == "clipped vectors" and "expert" in m.text
        ):  # rows that nobody names do not count, whatever they are scaled by
            continue
        expected = PLAIN[name](g, h, c)
        for order in ("direct", "always", "blocks"):
            found = evaluated(lambda p, name=name: as_written(PLAIN[name])(m)(p, c), m.params, order)
            problems = differences(found, expected, m, order == "always")
            yield f"seed {seed}, {x[1].flat[0]}, {name}, {order}: {m.text}", "; ".join(problems)
