"""`ct.per_example` of losses that look rows of a table up: values, in loops over examples, and that no example has a table of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from contract_models import products
from per_example_models import clip, cross_entropy, flat, normal

PE = ct.per_example
Loss = Callable[..., Any]
PAD = 0


def head(p: Any, h: Any, y: Any) -> Any:
    return cross_entropy(cnp.tanh(h) @ p["out"], y)


def mean_of_words(p: Any, ids: Any, y: Any) -> Any:
    return head(p, p["table"][ids].mean(0), y)


def bag_of_words(p: Any, ids: Any, y: Any) -> Any:
    """How often each word occurs, times the table."""
    counts = cnp.zeros(p["table"].shape[0], p["table"].dtype).at[ids].add(1.0, mode="drop")
    return head(p, counts @ p["table"], y)


def padded(p: Any, ids: Any, y: Any) -> Any:
    """A mean of the words that are no padding; an example may be nothing else."""
    is_word = (ids != PAD)[:, None]
    rows = cnp.where(is_word, p["table"][ids], 0.0)
    return head(p, rows.sum(0) / cnp.maximum(is_word.sum(), 1), y)


def filled(p: Any, ids: Any, y: Any) -> Any:
    """What names no row is zeros."""
    return head(p, p["table"].at[ids].get(mode="fill", fill_value=0.0).sum(0), y)


def wrapped(p: Any, ids: Any, y: Any) -> Any:
    return head(p, cnp.tanh(cnp.take(p["table"], ids, axis=0, mode="wrap")).sum(0), y)


def clamped(p: Any, ids: Any, y: Any) -> Any:
    return head(p, cnp.tanh(cnp.take(p["table"], ids, axis=0, mode="clip")).sum(0), y)


def positions(p: Any, ids: Any, y: Any) -> Any:
    """Rows of one table beside rows of another, which are the same for all examples."""
    h = cnp.tanh((p["table"][ids] + p["positions"]) @ p["square"])
    return head(p, h.mean(0), y)


def tied(p: Any, ids: Any, y: Any) -> Any:
    """The next word, by the rows that were looked up: the table is the last layer, too."""
    h = cnp.tanh((p["table"][ids[:-1]] + p["positions"][:-1]) @ p["square"])
    scores = h @ p["table"].T
    return cnp.mean(ct.vmap(cross_entropy)(scores, cnp.clip(ids[1:], 0, p["table"].shape[0] - 1))) + 0.1 * y


def pairs(p: Any, ids: Any, y: Any) -> Any:
    """Two texts by the same table."""
    first, second = ids[: len(ids) // 2], ids[len(ids) // 2 :]
    return head(p, p["table"][first].mean(0) * p["table"][second].sum(0), y)


def lstm(p: Any, ids: Any, y: Any) -> Any:
    d = p["table"].shape[1]

    def step(state: Any, x: Any) -> Any:
        hidden, cell = state
        z = x @ p["gates"] + hidden @ p["again"]
        i, f, g, o = (z[k * d : (k + 1) * d] for k in range(4))
        cell = ct.nn.sigmoid(f) * cell + ct.nn.sigmoid(i) * cnp.tanh(g)
        return (ct.nn.sigmoid(o) * cnp.tanh(cell), cell), None

    zero = cnp.zeros(d, p["table"].dtype)
    (hidden, _), _ = ct.lax.scan(step, (zero, zero), p["table"][ids])
    return head(p, hidden, y)


LOSSES: dict[str, Loss] = {
    "mean of words": mean_of_words, "bag of words": bag_of_words, "padded": padded, "filled": filled, "wrapped": wrapped,
    "clamped": clamped, "positions": positions, "tied": tied, "pairs": pairs, "lstm": lstm,
}  # fmt: skip
CLASSES = 3
USED = {"positions": ("positions", "square"), "tied": ("positions", "square"), "lstm": ("gates", "again")}


def made(name: str, b: int, t: int, v: int, d: int, dtype: Any = np.float64) -> tuple[Loss, Any, tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    shapes = {
        "table": (v, d), "out": (d, CLASSES), "positions": (t, d), "square": (d, d), "gates": (d, 4 * d),
        "again": (d, 4 * d),
    }  # fmt: skip
    wanted = ("table", *(() if name == "tied" else ("out",)), *USED.get(name, ()))
    params = {key: normal(rng, *shapes[key]).astype(dtype) for key in wanted}
    params["table"] = rng.normal(size=(v, d)).astype(dtype)
    return LOSSES[name], params, (rng.integers(0, v, (b, t)).astype(np.int32), rng.integers(0, CLASSES, b))


def examples(name: str) -> tuple[Loss, Any, tuple[Any, Any]]:
    """With one word throughout, words from the end, words that there are not, and padding."""
    loss, params, (ids, y) = made(name, 7, 6, 11, 4)
    ids[1] = 5
    ids[2] = [3, -1, 10, -11, 3, -8]  # -8 is 3, and -11 is 0
    ids[3] = [11, 2, 40, -12, 2, -100]
    ids[4] = PAD
    ids[5] = [4, 4, PAD, 7, PAD, PAD]
    return loss, params, (ids, y)


QUANTITIES: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "norms": (lambda loss, p, *b: PE.norms(loss)(p, *b), lambda g: np.linalg.norm(flat(g), axis=1)),
    "norms of leaves": (
        lambda loss, p, *b: PE.norms(loss, per_leaf=True)(p, *b),
        lambda g: ct.tree.map(lambda x: np.linalg.norm(x.reshape(len(x), -1), axis=1), g),
    ),
    "clipped sum": (lambda loss, p, *b: PE.clipped_sum(loss, 0.3)(p, *b), lambda g: clip(g, 0.3)),
    "weighted sum": (
        lambda loss, p, *b: PE.weighted_sum(loss)(np.arange(len(b[1])) - 1.0, p, *b),
        lambda g: ct.tree.map(lambda x: np.einsum("i,i...->...", np.arange(len(x)) - 1.0, x), g),
    ),
    "second moment": (
        lambda loss, p, *b: PE.second_moment(loss)(p, *b),
        lambda g: ct.tree.map(lambda x: (x * x).mean(0), g),
    ),
    "kernel": (lambda loss, p, *b: PE.kernel(loss)(p, *b), lambda g: flat(g) @ flat(g).T),
}


def one_by_one(loss: Loss, params: Any, batch: Any) -> Any:
    """The gradient of each example alone, by no compiled program."""
    gradient, known = ct.grad(loss), ct.tree.map(cnp.asarray, params)
    with ct.disable_jit():
        each = [gradient(known, *(cnp.asarray(x[i]) for x in batch)) for i in range(len(batch[1]))]
    return ct.tree.map(lambda *rows: np.stack([np.asarray(row) for row in rows]), *each)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_of_examples(name: str) -> None:
    """What everything below is compared with: `vmap(grad)` evaluated eagerly, and each example alone."""
    loss, params, batch = examples(name)
    with ct.disable_jit():
        together = ct.vmap(ct.grad(loss), (None, 0, 0))(*ct.tree.map(cnp.asarray, (params, *batch)))
    alone = one_by_one(loss, params, batch)
    of_words = [b for b in range(len(batch[1])) if name != "padded" or (batch[0][b] != PAD).any()]
    assert np.linalg.norm(flat(alone), axis=1)[of_words].min() > 1e-3
    for a, b in zip(ct.tree.leaves(together), ct.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order", ["direct", "gram", "always", "blocks"])
@pytest.mark.parametrize("of", QUANTITIES)
@pytest.mark.parametrize("name", LOSSES)
def test_values(name: str, of: str, order: str) -> None:
    loss, params, batch = examples(name)
    program, plain = QUANTITIES[of]
    expected = plain(one_by_one(loss, params, batch))
    with products(order):
        found = program(loss, params, *batch)
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        assert a.shape == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ["direct", "blocks"])
@pytest.mark.parametrize("of", QUANTITIES)
@pytest.mark.parametrize("name", LOSSES)
def test_values_in_single_precision(name: str, of: str, order: str) -> None:
    loss, params, batch = examples(name)
    program, plain = QUANTITIES[of]
    expected = plain(one_by_one(loss, params, batch))
    with products(order):
        found = program(loss, ct.tree.map(lambda x: x.astype(np.float32), params), *batch)
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6 * np.abs(b).max())


@pytest.mark.parametrize("chunk_size", [1, 3])
@pytest.mark.parametrize("name", LOSSES)
def test_chunks(name: str, chunk_size: int) -> None:
    loss, params, batch = examples(name)
    g = one_by_one(loss, params, batch)
    norms = PE.norms(loss, chunk_size=chunk_size)(params, *batch)
    np.testing.assert_allclose(norms, np.linalg.norm(flat(g), axis=1), rtol=1e-9)
    clipped = PE.clipped_sum(loss, 0.3, chunk_size=chunk_size)(params, *batch)
    for a, b in zip(ct.tree.leaves(clipped), ct.tree.leaves(clip(g, 0.3)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_by_hand() -> None:
    """A loss whose gradient is known: each row gets the example's direction as often as it is named."""
    ids = np.array([[1, 1, 1], [0, -1, 4], [-5, 0, 3], [2, 7, -9]])
    u = np.random.default_rng(0).normal(size=(4, 3))

    def loss(table: Any, ids: Any, u: Any) -> Any:
        return table[ids].sum(0) @ u

    g = np.zeros((4, 5, 3))
    for b, row in enumerate(ids):
        for i in row:
            # Counted from the end once; what is outside then reads the nearest row.
            g[b, np.clip(i + 5 if i < 0 else i, 0, 4)] += u[b]
    table = np.zeros((5, 3))
    norms = np.linalg.norm(g.reshape(4, -1), axis=1)
    np.testing.assert_allclose(norms[0], 3 * np.linalg.norm(u[0]))
    np.testing.assert_allclose(PE.norms(loss)(table, ids, u), norms, rtol=1e-12)
    np.testing.assert_allclose(PE.kernel(loss)(table, ids, u), np.einsum("avd,bvd->ab", g, g), rtol=1e-12, atol=1e-14)
    clipped = np.einsum("b,bvd->vd", np.minimum(1, 0.5 / norms), g)
    np.testing.assert_allclose(PE.clipped_sum(loss, 0.5)(table, ids, u), clipped, rtol=1e-12, atol=1e-14)


def test_padding_counts_for_nothing() -> None:
    loss, params, (ids, y) = examples("padded")
    ids, y = ids[[0, 4, 5]], y[[0, 4, 5]]  # those whose words are counted from the front
    g = PE.weighted_sum(loss)(np.ones(len(y)), params, ids, y)
    np.testing.assert_array_equal(g["table"][PAD], np.zeros(4))
    shorter = ids[2:][:, [0, 1, 3]]
    norm = PE.norms(loss)
    np.testing.assert_allclose(norm(params, ids[2:], y[2:]), norm(params, shorter, y[2:]), rtol=1e-12)
    # A row of padding that is no number is not read into anything.
    params["table"][PAD] = np.nan
    found = PE.norms(loss, per_leaf=True)(params, ids, y)
    assert np.isfinite(found["table"]).all()
    assert np.isfinite(found["out"]).all()
    np.testing.assert_array_equal(found["table"][1], 0)


SIZES = (32, 8, 4000, 48)  # b, t, v, d
# A weighted sum is the gradient of a weighted loss, whatever it is of.
MEMORY = [(of, name) for of in ("norms", "clipped sum", "weighted sum", "kernel") for name in LOSSES]


@pytest.mark.parametrize(("of", "name"), MEMORY)
def test_no_example_has_a_table_of_its_own(of: str, name: str) -> None:
    """Temporaries are a few tables, of the sums, scores and activations; those of all examples would be 32."""
    b, t, v, d = SIZES
    loss, params, batch = made(name, *SIZES, dtype=np.float32)
    program, _ = QUANTITIES[of]

    def f(params: Any, *batch: Any) -> Any:
        return program(loss, params, *batch)

    report = ct.explain(f)(params, *batch)
    table, rows = 4 * v * d, 4 * b * t * d
    # In a tied table the derivatives of scores are stored in float64 beside them.
    scores = 4 * b * v * (t if name == "tied" else 1)
    bound = 2 * table + 3 * scores + 40 * rows
    assert bound < b * table
    assert report.scratch_bytes < bound
    assert not re.search(rf"float\d\d\[{b},{v},{d}\]", str(report.groups))
    if of in ("norms", "kernel"):
        assert report.contractions
    if name != "lstm":  # matrices of the recurrence are made in blocks
        assert all(one.blocks == 1 for one in report.contractions)
    found = ct.jit(f)(params, *batch)
    with products("off"):
        expected = ct.jit(f)(params, *batch)
    for x, y in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-5 * float(np.max(np.abs(y))))
