"""Random models of one example, composed of the layers of `random_layers.py` and `random_sequence_layers.py`, each drawn from a seed.

``model(seed)`` gives a function of parameters and inputs, a loss of its outputs, a random tree of parameters, and batches of any size. The
inputs of an example are a tree: ``x`` (an array, or words), ``seed``, ``weight``, and ``n``, how long it is, where examples are ragged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import random_sequence_layers  # noqa: F401  # adds its layers
from cotangent import nn
from random_layers import Draft, Example, Run, drawn_layer

WORDS = 7


@dataclass(frozen=True)
class Model:
    """Of one example; `text` says what it is made of."""

    text: str
    params: Any
    outputs: Callable[[Any, Any], Any]  # (params, inputs)
    objective: Callable[[Any, Any], Any]  # (outputs, target)
    inputs: Callable[[np.random.Generator, int], Any]  # for so many examples
    targets: Callable[[np.random.Generator, int], Any]
    has_words: bool
    is_rounded: bool
    is_reverse_only: bool

    def loss(self, params: Any, inputs: Any, target: Any) -> Any:
        return self.objective(self.outputs(params, inputs), target)

    def batch(self, seed: int, size: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        return self.inputs(rng, size), self.targets(rng, size)


def looked_up(draft: Draft, steps: int) -> tuple[Run, tuple[int, ...]]:
    """Words, some of which are repeated and some outside of the table, as vectors; or as one, the sum of all of them."""
    d = draft.number(1, 5)
    table = draft.weight(WORDS, d) if draft.flip(0.3) else draft.new(WORDS, d, scale=0.5)
    draft.weights.append(((WORDS, d), table))
    how = draft.pick(["rows", "rows", "filled", "bag", "weighted bag", "one hot", "twice"])
    draft.names.append(f"embedding ({how})")
    weights = draft.new(steps, scale=1.0) if how == "weighted bag" else None

    def run(p: list[Any], words: Any, e: Example) -> Any:
        if how == "one hot":
            return nn.one_hot(words, WORDS, dtype="float64") @ table(p)
        if how == "filled":
            return cnp.take(table(p), words, axis=0, mode="fill", fill_value=0.0)
        rows = table(p)[words]
        if how == "bag":
            return cnp.mean(rows, axis=0)
        if weights is not None:
            return cnp.einsum("t,td->d", weights(p), rows)
        return rows + cnp.roll(rows, 1, axis=0) * table(p)[words[::-1]] if how == "twice" else rows

    return run, (d,) if "bag" in how else (steps, d)


def head(draft: Draft, shape: tuple[int, ...]) -> Run:
    """Whatever is there as a vector of outputs; where it fits, by a weight that was used before."""
    fitting = [get for before, get in draft.weights if before[1] == shape[-1]]
    if fitting and draft.flip(0.4):
        draft.names.append("tied head")
        table = draft.pick(fitting)
        return lambda p, h, e: cnp.ravel(h @ table(p).T)
    if draft.flip(0.3):
        return lambda p, h, e: cnp.ravel(h)
    w = draft.weight(shape[-1], draft.number(1, 4))
    return lambda p, h, e: cnp.ravel(h @ w(p))


def tree_of(draft: Draft, items: list[int], depth: int = 0) -> Any:
    """A random tree with these leaves."""
    if len(items) == 1 and (depth > 0 or draft.flip()):
        return items[0]
    cuts = sorted({draft.number(1, len(items)) for _ in range(draft.number(1, 4))} | {len(items)})
    parts = [items[i:j] for i, j in zip([0, *cuts], cuts, strict=False)]
    children = [tree_of(draft, part, depth + 1) if depth < 3 else tuple(part) for part in parts]
    kind = draft.number(0, 2)
    if kind == 0:
        return {f"{draft.pick('abcxyz')}{i}": child for i, child in enumerate(children)}
    return children if kind == 1 else (*children, None)


OBJECTIVES: dict[str, Callable[[Any, Any], Any]] = {
    "cross entropy": lambda o, y: nn.logsumexp(o) - o[y % o.shape[0]],
    "cross entropy by one hot": lambda o, y: nn.logsumexp(o) - cnp.sum(o * (cnp.arange(o.shape[0]) == y % o.shape[0])),
    "squares": lambda o, y: cnp.sum((o - 0.1 * y) ** 2),
    "mean of log cosh": lambda o, y: cnp.mean(cnp.log(cnp.cosh(o - y))),
    "product": lambda o, y: cnp.sum(cnp.sin(o) * cnp.cos(o[::-1])) + cnp.sum(o),
}


def model(seed: int) -> Model:
    rng = np.random.default_rng(seed)
    draft = Draft(rng)
    is_ragged = draft.flip(0.15)
    kind = draft.pick(["vector", "sequence", "sequence", "image", "words"])
    steps, d = draft.number(1, 5), draft.number(1, 6)
    shape: tuple[int, ...] = {"vector": (d,), "sequence": (steps, d), "image": (draft.number(1, 2), steps + 1, 4)}.get(
        kind, (steps,)
    )
    if is_ragged:
        steps = max(steps, 2)  # a ragged axis of bound 1 among other axes of size 1 cannot be reshaped
        kind, shape = "sequence", (steps, d)
    runs: list[Run] = []
    now = shape
    if kind == "words":
        first, now = looked_up(draft, steps)
        runs.append(first)
    for _ in range(draft.number(1, 5)):
        run, now = drawn_layer(draft, now, ragged=is_ragged)
        runs.append(run)
        if is_ragged and (len(now) == 1 or now[0] != steps):
            break
    if is_ragged and len(now) == 2:
        runs.append(lambda p, h, e: cnp.sum(h, axis=0))
        now = now[1:]
    if len(now) == 3 or draft.flip(0.6):
        if len(now) == 3:
            runs.append(lambda p, h, e: cnp.mean(h, axis=(1, 2)))
            now = now[:1]
        runs.append(head(draft, now))
    else:
        runs.append(lambda p, h, e: cnp.ravel(h))
    return finished(draft, runs, kind, shape, is_ragged)


def finished(draft: Draft, runs: list[Run], kind: str, shape: tuple[int, ...], is_ragged: bool) -> Model:
    if draft.flip(0.15) or not draft.params:
        draft.new(2, 3)  # nobody uses it
        draft.names.append("unused")
    tree = tree_of(draft, [int(i) for i in draft.rng.permutation(len(draft.params))])
    places = ct.tree.leaves(tree)
    params = ct.tree.map(lambda i: draft.params[i], tree)
    objective = draft.pick(list(OBJECTIVES))
    is_weighted = draft.flip(0.2)

    def exact(p: list[Any], x: Any, e: Example) -> Any:
        for run in runs:
            x = run(p, x, e)
        return x

    def outputs(params: Any, inputs: Any) -> Any:
        leaves = dict(zip(places, ct.tree.leaves(params), strict=True))
        p = [leaves[i] for i in range(len(leaves))]
        if is_ragged:
            return ct.mask(lambda x: exact(p, x, inputs))(ct.Ragged(inputs["x"], {0: inputs["n"]}))
        return exact(p, inputs["x"], inputs)

    def of_outputs(o: Any, target: Any) -> Any:
        value = OBJECTIVES[objective](o, target["y"])
        return value * target["weight"] if is_weighted else value

    def inputs(rng: np.random.Generator, b: int) -> Any:
        x = (
            rng.integers(-1, WORDS + 1, (b, *shape)).astype(np.int32)
            if kind == "words"
            else rng.normal(size=(b, *shape))
        )
        found = {"x": x, "seed": rng.integers(0, 1000, b).astype(np.int32), "weight": rng.normal(size=b)}
        if is_ragged:
            found["n"] = rng.integers(1, shape[0] + 1, b).astype(np.int32)
            for row, n in zip(x, found["n"], strict=True):
                row[n:] = np.nan
        return found

    def targets(rng: np.random.Generator, b: int) -> Any:
        return {"y": rng.integers(0, 5, b).astype(np.int32), "weight": rng.normal(size=b)}

    text = " > ".join([("ragged " if is_ragged else "") + f"{kind} {list(shape)}", *draft.names, objective])
    return Model(
        text, params, outputs, of_outputs, inputs, targets, kind == "words", draft.is_rounded, draft.is_reverse_only
    )
