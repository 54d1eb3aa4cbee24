"""Ragged programs next to what they would cost if nothing were padded: a recurrent network at many lengths, and a transformer on sentences.

Both are written once, for one exact sequence, `loss(params, sequence…)`. Ours runs it under `mask`; a peer pads and masks by hand, and its
lines show what a careful hand gets. `cotangent.exact` and the like are programs of ours that pad nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from judge import OURS, TimesBest, TimesOwn, Workload
from libraries import Library

from workloads.data import normal

Thunk = Callable[[], Any]

# ------------------------------------------------------------------------------------------- a recurrent network at 20 lengths

INPUT, HIDDEN, BOUND = 64, 128, 100
LENGTHS = tuple(int(n) for n in np.linspace(5, BOUND, 20))


def recurrent_parameters() -> dict[str, np.ndarray]:
    return {
        "w": normal(INPUT, HIDDEN, seed=1, scale=INPUT**-0.5),
        "u": normal(HIDDEN, HIDDEN, seed=2, scale=HIDDEN**-0.5),
        "b": np.zeros(HIDDEN, np.float32),
    }


def recurrent_loss(library: Any) -> Any:
    """Of one sequence: the mean square of all states."""
    xp = library.xp

    def loss(p: Any, x: Any) -> Any:
        def cell(h: Any, x: Any) -> Any:
            h = xp.tanh(x @ p["w"] + h @ p["u"] + p["b"])
            return h, h

        return xp.mean(library.lax.scan(cell, xp.zeros((HIDDEN,), np.float32), x)[1] ** 2)

    return loss


def recurrent_masked(library: Any) -> Thunk:
    """One program for all lengths."""
    ct = library.module
    gradient = ct.jit(ct.value_and_grad(ct.mask(recurrent_loss(library))))
    params, x = library.arrays((recurrent_parameters(), normal(BOUND, INPUT)))
    sequences = [ct.Ragged(x, {0: n}) for n in LENGTHS]
    return lambda: [gradient(params, sequence) for sequence in sequences]


def recurrent_exact(library: Any) -> Thunk:
    """A program for each length."""
    gradient = library.jit(library.value_and_grad(recurrent_loss(library)))
    sequences = [normal(BOUND, INPUT)[:n] for n in LENGTHS]
    thunks = [library.eager(gradient, recurrent_parameters(), x) for x in sequences]
    return lambda: [thunk() for thunk in thunks]


def recurrent_by_hand(library: Any) -> Thunk:
    """One program for all lengths: steps behind the length leave the state alone and do not count."""
    xp = library.xp

    def loss(p: Any, x: Any, n: Any) -> Any:
        def cell(h: Any, step: Any) -> Any:
            x, present = step
            h = xp.where(present, xp.tanh(x @ p["w"] + h @ p["u"] + p["b"]), h)
            return h, xp.sum(xp.where(present, h * h, 0))

        steps = x, xp.arange(BOUND) < n
        return xp.sum(library.lax.scan(cell, xp.zeros((HIDDEN,), np.float32), steps)[1]) / (n * HIDDEN)

    gradient = library.jit(library.value_and_grad(loss))
    thunks = [library.eager(gradient, recurrent_parameters(), normal(BOUND, INPUT), np.asarray(n)) for n in LENGTHS]
    return lambda: [thunk() for thunk in thunks]


def recurrent_torch(library: Any) -> Thunk:
    """torch.nn.RNN, which takes any length."""
    torch, weights = library.torch, recurrent_parameters()
    network = torch.nn.RNN(INPUT, HIDDEN)
    with torch.no_grad():
        network.weight_ih_l0.copy_(torch.from_numpy(weights["w"].T.copy()))
        network.weight_hh_l0.copy_(torch.from_numpy(weights["u"].T.copy()))
        network.bias_ih_l0.zero_()
        network.bias_hh_l0.zero_()
    learned = [network.weight_ih_l0, network.weight_hh_l0, network.bias_ih_l0]
    sequences = [torch.from_numpy(normal(BOUND, INPUT)[:n]) for n in LENGTHS]

    def gradient(x: Any) -> Any:
        value = (network(x)[0] ** 2).mean()
        w, u, b = torch.autograd.grad(value, learned)
        return value.detach(), {"w": w.T, "u": u.T, "b": b}

    return lambda: [gradient(x) for x in sequences]


def recurrent(library: Any) -> Thunk | None:
    makers = {OURS: recurrent_masked, "jax": recurrent_by_hand, "torch": recurrent_torch}
    return makers[library.name](library) if library.name in makers else None


# ------------------------------------------------------------------------------------------- a transformer on sentences

WIDTH, HEADS, LAYERS = 128, 4, 2


def sentences() -> list[np.ndarray]:
    """Of the licence: the numbers of the words of each."""
    text = (Path(__file__).resolve().parents[2] / "LICENSE").read_text().lower()
    words = [re.findall(r"\w+", part) for part in re.split(r"(?<=[.;:])\s+|\n\n+", text)]
    number = {word: i for i, word in enumerate(sorted({word for part in words for word in part}))}
    return [np.array([number[word] for word in part], np.int32) for part in words if len(part) > 1]


SENTENCES = sentences()
COUNT = sum(len(s) for s in SENTENCES)
VOCABULARY = 1 + max(int(s.max()) for s in SENTENCES)
LONGEST = max(len(s) for s in SENTENCES)


def transformer_parameters() -> dict[str, Any]:
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "out": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    return {
        "embed": normal(VOCABULARY, WIDTH, seed=90),
        "head": normal(WIDTH, VOCABULARY, seed=91, scale=WIDTH**-0.5),
        "blocks": [
            {name: normal(*s, seed=10 * k + i, scale=s[0] ** -0.5) for i, (name, s) in enumerate(shapes.items())}
            for k in range(LAYERS)
        ],
    }


def hidden_words(words: np.ndarray) -> np.ndarray:
    """Every fourth word is hidden: it is word 0 for the model, which is to guess all of them."""
    return np.where(np.arange(words.shape[-1]) % 4 == 1, 0, words).astype(np.int32)


def padded_sentences() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, words and lengths."""
    words = np.zeros((len(SENTENCES), LONGEST), np.int32)
    for row, sentence in zip(words, SENTENCES, strict=True):
        row[: len(sentence)] = sentence
    return hidden_words(words), words, np.array([len(s) for s in SENTENCES], np.int32)


def normalised(library: Any, x: Any) -> Any:
    x = x - library.xp.mean(x, axis=-1, keepdims=True)
    return x * (library.xp.mean(x * x, axis=-1, keepdims=True) + 1e-5) ** -0.5


def surprise(library: Any, scores: Any, words: Any) -> Any:
    """Cross entropy of each word."""
    if library.name.startswith("torch"):
        losses = library.torch.nn.functional.cross_entropy(
            scores.reshape((-1, VOCABULARY)), words.reshape(-1), reduction="none"
        )
        return losses.reshape(words.shape)
    xp = library.xp
    return library.nn.logsumexp(scores, axis=-1) - xp.take_along_axis(scores, words[..., None], -1)[..., 0]


def encoder_loss(library: Any, attend: Any = None) -> Any:
    """Of one sentence, or of what has more axes in front: the cross entropies of its words."""
    xp, nn = library.xp, library.nn

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = xp.einsum("...ihd,...jhd->...hij", q, k) * (WIDTH // HEADS) ** -0.5
        return xp.einsum("...hij,...jhd->...ihd", nn.softmax(scores, axis=-1), v)

    def losses(p: Any, inputs: Any, words: Any, *mask: Any) -> Any:
        x = p["embed"][inputs]
        shape = (*inputs.shape, 3, HEADS, WIDTH // HEADS)
        for w in p["blocks"]:
            qkv = xp.reshape(normalised(library, x) @ w["qkv"], shape)
            mixed = (attend or attention)(qkv[..., 0, :, :], qkv[..., 1, :, :], qkv[..., 2, :, :], *mask)
            x = x + xp.reshape(mixed, x.shape) @ w["out"]
            x = x + nn.gelu(normalised(library, x) @ w["up"]) @ w["down"]
        return surprise(library, normalised(library, x) @ p["head"], words)

    return losses


def sentence_loss(library: Any) -> Any:
    losses = encoder_loss(library)
    return lambda p, inputs, words: library.xp.sum(losses(p, inputs, words))


def transformer_ragged(library: Any, packed: bool = False) -> Thunk:
    """The loss of one sentence under `vmap(mask(…))`, or under `pack`."""
    ct, loss = library.module, sentence_loss(library)
    rows = ct.pack(loss, in_axes=(None, 0, 0)) if packed else ct.vmap(ct.mask(loss), in_axes=(None, 0, 0))
    gradient = ct.jit(ct.value_and_grad(lambda p, inputs, words: library.xp.sum(rows(p, inputs, words)) / COUNT))
    params, inputs, words = library.arrays((transformer_parameters(), *padded_sentences()[:2]))
    lengths = padded_sentences()[2]
    return partial(gradient, params, *(ct.Ragged(x, {1: lengths}, {1: "words"}) for x in (inputs, words)))


def groups() -> list[tuple[np.ndarray, np.ndarray]]:
    """Inputs and words of the sentences of each length."""
    lengths = sorted({len(s) for s in SENTENCES})
    batches = [np.stack([s for s in SENTENCES if len(s) == n]) for n in lengths]
    return [(hidden_words(words), words) for words in batches]


def transformer_groups(library: Any) -> Thunk:
    """One program with a batch for each length in it, compiled for these lengths."""
    xp, losses = library.xp, encoder_loss(library)

    def loss(p: Any, batches: Any) -> Any:
        return sum(xp.sum(losses(p, *batch)) for batch in batches) / COUNT

    return library.thunk(library.value_and_grad(loss), transformer_parameters(), groups())


def transformer_exact(library: Any, single: bool) -> Thunk:
    """A program for each length, called for each sentence or for each group; each adds to what it is given."""
    xp, losses = library.xp, encoder_loss(library)

    def add(total: Any, p: Any, inputs: Any, words: Any) -> Any:
        found = library.value_and_grad(lambda p: xp.sum(losses(p, inputs, words)) / COUNT)(p)
        return library.tree_map(lambda a, b: a + b, total, found)

    add = library.jit(add)
    params = library.arrays(transformer_parameters())
    start = library.arrays((np.zeros((), np.float32), tree_zeros(transformer_parameters())))
    batches = library.arrays([(hidden_words(s), s) for s in SENTENCES] if single else groups())

    def run() -> Any:
        total = start
        for batch in batches:
            total = add(total, params, *batch)
        return library.wait(total)

    return run


def tree_zeros(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: tree_zeros(value) for key, value in tree.items()}
    return [tree_zeros(value) for value in tree] if isinstance(tree, list) else np.zeros_like(tree)


def transformer_dense(library: Any) -> Thunk:
    """As many words in as many sentences, all of one length."""
    xp, losses = library.xp, encoder_loss(library)
    length = round(COUNT / len(SENTENCES))
    words = np.resize(np.concatenate(SENTENCES), (len(SENTENCES), length))
    loss = lambda p, inputs, words: xp.mean(losses(p, inputs, words))  # noqa: E731
    return library.thunk(library.value_and_grad(loss), transformer_parameters(), hidden_words(words), words)


def transformer_padded(library: Any) -> Thunk:
    """A batch padded to the longest sentence: keys behind a length have no weight, words there no loss."""
    xp = library.xp
    inputs, words, lengths = padded_sentences()
    present = np.arange(LONGEST) < lengths[:, None]

    def attention(q: Any, k: Any, v: Any, present: Any) -> Any:
        if library.name.startswith("torch"):
            turned = (x.transpose(1, 2) for x in (q, k, v))
            mask = present[:, None, None, :]
            return library.torch.nn.functional.scaled_dot_product_attention(*turned, attn_mask=mask).transpose(1, 2)
        scores = xp.einsum("bihd,bjhd->bhij", q, k) * (WIDTH // HEADS) ** -0.5
        weights = library.nn.softmax(xp.where(present[:, None, None], scores, -1e9), axis=-1)
        return xp.einsum("bhij,bjhd->bihd", weights, v)

    losses = encoder_loss(library, attention)

    def loss(p: Any, inputs: Any, words: Any, present: Any) -> Any:
        return xp.sum(xp.where(present, losses(p, inputs, words, present), 0)) / COUNT

    if library.name.startswith("torch"):
        words = words.astype(np.int64)
    return library.thunk(library.value_and_grad(loss), transformer_parameters(), inputs, words, present)


def transformer_nested(library: Any) -> Thunk:
    """Words one after the other; attention by nested tensors of the jagged layout.

    Those have no mask of the future on CPUs, which is why this is a transformer without one, and they want values that lie next to each other.
    """
    torch = library.torch
    lengths = [len(s) for s in SENTENCES]
    offsets = torch.tensor(np.cumsum([0, *lengths]))

    def jagged(x: Any) -> Any:
        nested = torch.nested.nested_tensor_from_jagged(
            x.contiguous(), offsets, min_seqlen=min(lengths), max_seqlen=max(lengths)
        )
        return nested.transpose(1, 2)

    def attention(q: Any, k: Any, v: Any) -> Any:
        mixed = torch.nn.functional.scaled_dot_product_attention(jagged(q), jagged(k), jagged(v))
        return mixed.transpose(1, 2).values()

    losses = encoder_loss(library, attention)
    words = np.concatenate(SENTENCES).astype(np.int64)
    inputs = np.concatenate([hidden_words(s) for s in SENTENCES])
    loss = lambda p, inputs, words: losses(p, inputs, words).sum() / COUNT  # noqa: E731
    return library.thunk(library.value_and_grad(loss), transformer_parameters(), inputs, words)


def transformer(library: Any) -> Thunk | None:
    makers = {OURS: transformer_ragged, "jax": transformer_padded, "torch": transformer_padded}
    return makers[library.name](library) if library.name in makers else None


# ------------------------------------------------------------------------------------------- the table


def with_ours(make: Callable[..., Thunk], *arguments: Any) -> Callable[[], Thunk]:
    def made() -> Thunk:
        import cotangent

        return make(Library(OURS, cotangent, cotangent.numpy), *arguments)

    return made


def with_jax(make: Callable[..., Thunk]) -> Callable[[], Thunk]:
    def made() -> Thunk:
        import jax

        return make(Library("jax", jax, jax.numpy))

    return made


def with_torch(make: Callable[..., Thunk]) -> Callable[[], Thunk]:
    def made() -> Thunk:
        from libraries import Torch

        return make(Torch())

    return made


WITHOUT_PADDING = ("cotangent.one by one", "cotangent.by length", "cotangent.in one program")

RECURRENT = [
    Workload(
        "RNN at 20 lengths from 5 to 100, value and gradient", recurrent, (TimesOwn(1.15, ("cotangent.exact",)),), "ms",
        processor_time=True, compiled_peer=False, tolerance=5e-3,
        others={
            "cotangent.exact": with_ours(recurrent_exact),
            "cotangent.by hand": with_ours(recurrent_by_hand),
            "jax.exact": with_jax(recurrent_exact),
        },
    ),
]  # fmt: skip

TRANSFORMER = [
    Workload(
        f"transformer on {len(SENTENCES)} sentences, value and gradient", transformer,
        (TimesOwn(1.1, WITHOUT_PADDING), TimesBest(1.0, ("torch.nested",))), "ms",
        compiled_peer=False, tolerance=1e-2, unlike=("cotangent.dense",),
        others={
            "cotangent.pack": with_ours(transformer_ragged, True),
            "cotangent.one by one": with_ours(transformer_exact, True),
            "cotangent.by length": with_ours(transformer_exact, False),
            "cotangent.in one program": with_ours(transformer_groups),
            "cotangent.dense": with_ours(transformer_dense),
            "cotangent.padded": with_ours(transformer_padded),
            "torch.nested": with_torch(transformer_nested),
        },
    ),
]  # fmt: skip
