"""Models of text: decoding with a cache, experts, adapters, embeddings, translation."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.models.layers import (
    Draw,
    adam_step,
    block_parameters,
    cross_entropy,
    functional,
    is_torch,
    layer_norm,
    linear,
    model,
    moments_of,
    norm_parameters,
    transformer_block,
)

# --------------------------------------------------------------------------------------------------------- decoding

LAYERS, WIDTH, HEADS, VOCABULARY, LONGEST, PROMPT = 3, 64, 4, 128, 64, 16
SIZE = WIDTH // HEADS


def decoder_parameters() -> Any:
    draw = Draw(30)
    return {
        "embed": draw.normal(VOCABULARY, WIDTH), "position": draw.normal(LONGEST, WIDTH, scale=0.5),
        "blocks": [block_parameters(draw, WIDTH) for _ in range(LAYERS)],
        "norm": norm_parameters(WIDTH), "head": draw.normal(WIDTH, VOCABULARY, scale=0.5),
    }  # fmt: skip


def write(library: Any, cache: Any, layer: int, part: Any, start: Any) -> Any:
    """Keys or values of some places of all rows, into the cache (layers, rows, places, heads, size)."""
    if is_torch(library):
        cache[layer, :, start : start + part.shape[1]] = part
        return cache
    return library.lax.dynamic_update_slice(cache, part[None], (layer, 0, start, 0, 0))


def decode(library: Any, params: Any, caches: Any, tokens: Any, start: Any) -> Any:
    """Scores of what comes after `tokens` (rows, length), the first of which is at place `start`; and the caches with them."""
    xp = library.xp
    rows, length = tokens.shape
    keys, values = caches
    where = start + xp.arange(length)
    x = params["embed"][tokens] + params["position"][where]
    seen = xp.arange(LONGEST)[None, :] <= where[:, None]
    for layer, p in enumerate(params["blocks"]):
        qkv = linear(p["attention"]["qkv"], layer_norm(library, p["norm1"], x)).reshape(rows, length, 3, HEADS, SIZE)
        keys = write(library, keys, layer, qkv[:, :, 1], start)
        values = write(library, values, layer, qkv[:, :, 2], start)
        scores = xp.einsum("bqhd,bkhd->bhqk", qkv[:, :, 0], keys[layer]) * SIZE**-0.5
        share = library.nn.softmax(xp.where(seen, scores, -1e9), axis=-1)
        mixed = xp.einsum("bhqk,bkhd->bqhd", share, values[layer]).reshape(rows, length, WIDTH)
        x = x + linear(p["attention"]["out"], mixed)
        x = x + linear(p["down"], library.nn.gelu(linear(p["up"], layer_norm(library, p["norm2"], x))))
    return layer_norm(library, params["norm"], x[:, -1]) @ params["head"], (keys, values)


def empty(library: Any, rows: int) -> Any:
    return tuple(library.xp.zeros((LAYERS, rows, LONGEST, HEADS, SIZE), dtype=library.xp.float32) for _ in range(2))


def greedy(library: Any) -> Any:
    """The likeliest token, 48 times."""
    if not library.functional or library.name in ("torch.func", "torch.compile"):
        return None
    xp, rows = library.xp, 4

    def generate(params: Any, prompt: Any) -> Any:
        scores, caches = decode(library, params, empty(library, rows), prompt, 0)

        def step(carry: Any, place: Any) -> Any:
            token, caches = carry
            scores, caches = decode(library, params, caches, token[:, None], place)
            return (xp.argmax(scores, axis=-1), caches), token

        carry = xp.argmax(scores, axis=-1), caches
        (token, _), tokens = library.lax.scan(step, carry, xp.arange(PROMPT, LONGEST))
        return xp.concatenate([prompt.T, tokens, token[None]])

    def by_torch(params: Any, prompt: Any) -> Any:
        torch = library.torch
        with torch.no_grad():
            scores, caches = decode(library, params, empty(library, rows), prompt, 0)
            found = [scores.argmax(-1)]
            for place in range(PROMPT, LONGEST):
                scores, caches = decode(library, params, caches, found[-1][:, None], place)
                found.append(scores.argmax(-1))
        return torch.cat([prompt.T, torch.stack(found)])

    prompt = Draw(31).integers(VOCABULARY, rows, PROMPT)
    return library.thunk(by_torch if is_torch(library) else generate, decoder_parameters(), prompt)


def beam_search(library: Any) -> Any:
    """The four likeliest texts, until all have ended or are full."""
    if not library.functional or library.name in ("torch.func", "torch.compile"):
        return None
    xp, beams, end, never = library.xp, 4, 0, -1e9

    def first(params: Any, prompt: Any) -> Any:
        """All beams are the prompt, and one of them counts."""
        scores, caches = decode(library, params, empty(library, beams), xp.broadcast_to(prompt, (beams, PROMPT)), 0)
        start = library.array(np.where(np.arange(beams) == 0, 0, never).astype(np.float32))
        return scores, caches, start

    def extend(sums: Any, ended: Any, scores: Any) -> Any:
        """Sums of logarithms of the beams' best continuations, which beam each continues, and by what."""
        log_p = scores - library.nn.logsumexp(scores, axis=-1, keepdims=True)
        only_end = xp.where(xp.arange(VOCABULARY) == end, 0.0, never)
        total = (sums[:, None] + xp.where(ended[:, None], only_end, log_p)).reshape(-1)
        sums, index = library.torch.topk(total, beams) if is_torch(library) else library.lax.top_k(total, beams)
        return sums, index // VOCABULARY, index % VOCABULARY

    def search(params: Any, prompt: Any) -> Any:
        lax = library.lax
        scores, caches, sums = first(params, prompt)
        texts = xp.zeros((beams, LONGEST), np.int32).at[:, :PROMPT].set(prompt)

        def going_on(state: Any) -> Any:
            place, ended = state[0], state[3]
            return (place < LONGEST) & ~xp.all(ended)

        def step(state: Any) -> Any:
            place, texts, sums, ended, scores, (keys, values) = state
            sums, parent, token = extend(sums, ended, scores)
            texts = lax.dynamic_update_slice(texts[parent], token[:, None], (0, place))
            ended = ended[parent] | (token == end)
            scores, caches = decode(library, params, (keys[:, parent], values[:, parent]), token[:, None], place)
            return place + 1, texts, sums, ended, scores, caches

        state = PROMPT, texts, sums, xp.zeros(beams, bool), scores, caches
        place, texts, sums, *_ = lax.while_loop(going_on, step, state)
        return texts, sums, place

    def by_torch(params: Any, prompt: Any) -> Any:
        torch = library.torch
        with torch.no_grad():
            scores, (keys, values), sums = first(params, prompt)
            texts, ended = torch.zeros((beams, LONGEST), dtype=torch.int32), torch.zeros(beams, dtype=torch.bool)
            texts[:, :PROMPT] = prompt
            place = PROMPT
            while place < LONGEST and not ended.all():
                sums, parent, token = extend(sums, ended, scores)
                texts = texts[parent]
                texts[:, place] = token
                ended = ended[parent] | (token == end)
                scores, (keys, values) = decode(
                    library, params, (keys[:, parent], values[:, parent]), token[:, None], place
                )
                place += 1
        return texts, sums, torch.tensor(place)

    prompt = Draw(32).integers(VOCABULARY, PROMPT)
    return library.thunk(by_torch if is_torch(library) else search, decoder_parameters(), prompt)


# ---------------------------------------------------------------------------------------------------------- experts

EXPERTS, CHOICES, TOKENS, INNER = 8, 2, 512, 128
CAPACITY = TOKENS * CHOICES // EXPERTS * 5 // 4


def one_hot(library: Any, index: Any, count: int) -> Any:
    return functional(library).one_hot(index, count).float() if is_torch(library) else library.nn.one_hot(index, count)


def by_products(library: Any, params: Any, x: Any, share: Any, choice: Any) -> Any:
    """Each expert gets its tokens by products with 0 and 1."""
    xp, nn = library.xp, library.nn
    chosen = one_hot(library, choice.T.reshape(-1), EXPERTS)  # first choices come first
    place = xp.sum((xp.cumsum(chosen, axis=0) - 1) * chosen, axis=-1)
    # Nothing is sent beyond the capacity.
    sent = chosen[:, :, None] * (place[:, None] == xp.arange(CAPACITY))[:, None, :]
    sent = sent.reshape(CHOICES, TOKENS, EXPERTS, CAPACITY)
    inputs = xp.einsum("ktec,td->ecd", sent, x)
    found = xp.einsum("ech,ehd->ecd", nn.gelu(xp.einsum("ecd,edh->ech", inputs, params["up"])), params["down"])
    return xp.einsum("ktec,tk,ecd->td", sent, share, found)


def by_indices(library: Any, params: Any, x: Any, share: Any, choice: Any) -> Any:
    """Each expert gets its tokens by writes to the places that they have in its queue."""
    if is_torch(library):
        return by_torch_index(library, params, x, share, choice)
    xp, nn = library.xp, library.nn
    expert = choice.T.reshape(-1)
    chosen = nn.one_hot(expert, EXPERTS, dtype=np.int32)
    place = xp.take_along_axis(xp.cumsum(chosen, axis=0) - 1, expert[:, None], axis=1)[:, 0]
    sent = xp.tile(x, (CHOICES, 1))
    inputs = xp.zeros((EXPERTS, CAPACITY, WIDTH), x.dtype).at[expert, place].set(sent, mode="drop")
    found = xp.einsum("ech,ehd->ecd", nn.gelu(xp.einsum("ecd,edh->ech", inputs, params["up"])), params["down"])
    back = found.at[expert, place].get(mode="fill", fill_value=0)
    return xp.sum(back.reshape(CHOICES, TOKENS, WIDTH) * share.T[:, :, None], axis=0)


def by_torch_index(library: Any, params: Any, x: Any, share: Any, choice: Any) -> Any:
    """One expert after the other."""
    torch = library.torch
    out = torch.zeros_like(x)
    for expert in range(EXPERTS):
        slot, token = torch.where(choice.T.eq(expert))
        slot, token = slot[:CAPACITY], token[:CAPACITY]
        found = library.nn.gelu(x[token] @ params["up"][expert]) @ params["down"][expert]
        out = out.index_add(0, token, found * share[token, slot][:, None])
    return out


def experts(mix: Any) -> Any:
    """A layer of experts of which each token takes two, with the loss that balances them."""

    def make(library: Any) -> Any:
        if not library.functional or library.name in ("torch.func", "torch.compile"):
            return None
        xp, nn = library.xp, library.nn

        def loss(params: Any, x: Any, y: Any) -> Any:
            likely = nn.softmax(x @ params["router"], axis=-1)
            if is_torch(library):
                share, choice = library.torch.topk(likely, CHOICES)
            else:
                share, choice = library.lax.top_k(likely, CHOICES)
            share = share / xp.sum(share, axis=-1, keepdims=True)
            found = mix(library, params, x, share, choice)
            used = one_hot(library, choice[:, 0], EXPERTS)
            balance = EXPERTS * xp.sum(xp.mean(used, axis=0) * xp.mean(likely, axis=0))
            return xp.mean((x + found - y) ** 2) + 0.01 * balance

        draw = Draw(33)
        params = {
            "router": draw.dense(WIDTH, EXPERTS), "up": draw.normal(EXPERTS, WIDTH, INNER, scale=WIDTH**-0.5),
            "down": draw.normal(EXPERTS, INNER, WIDTH, scale=INNER**-0.5),
        }  # fmt: skip
        data = draw.normal(TOKENS, WIDTH), draw.normal(TOKENS, WIDTH)
        return library.thunk(adam_step(library, loss), params, moments_of(params), *data)

    return make


# --------------------------------------------------------------------------------------------------------- adapters


def adapters(library: Any) -> Any:
    """Fine-tuning by matrices of low rank beside those of queries and values, which stay."""
    if not library.functional:
        return None
    width, heads, rank, rows, length = 192, 6, 8, 4, 64

    def adapted(p: Any, adapter: Any, x: Any) -> Any:
        return linear(p, x) + x @ adapter["a"] @ adapter["b"] * 2.0

    def block(p: Any, adapter: Any, x: Any) -> Any:
        h = layer_norm(library, p["norm1"], x)
        q, k, v = adapted(p["q"], adapter["q"], h), linear(p["k"], h), adapted(p["v"], adapter["v"], h)
        q, k, v = (part.reshape(rows, length, heads, width // heads) for part in (q, k, v))
        if is_torch(library):
            parts = (part.transpose(1, 2) for part in (q, k, v))
            mixed = functional(library).scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2)
        else:
            mixed = library.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(p["out"], mixed.reshape(rows, length, width))
        return x + linear(p["down"], library.nn.gelu(linear(p["up"], layer_norm(library, p["norm2"], x))))

    def loss(adapter: Any, base: Any, tokens: Any) -> Any:
        x = base["embed"][tokens[:, :-1]] + base["position"]
        for p, own in zip(base["blocks"], adapter, strict=True):
            x = block(p, own, x)
        return cross_entropy(library, layer_norm(library, base["norm"], x) @ base["embed"].T, tokens[:, 1:])

    draw = Draw(34)
    blocks = [
        {
            **{name: draw.linear(width, width) for name in ("q", "k", "v", "out")}, "norm1": norm_parameters(width),
            "up": draw.linear(width, 4 * width), "down": draw.linear(4 * width, width), "norm2": norm_parameters(width),
        }
        for _ in range(2)
    ]  # fmt: skip
    base = {
        "embed": draw.normal(256, width, scale=width**-0.5), "position": draw.normal(length, width, scale=0.02),
        "blocks": blocks, "norm": norm_parameters(width),
    }  # fmt: skip
    adapter = [
        {part: {"a": draw.dense(width, rank), "b": draw.normal(rank, width, scale=0.01)} for part in ("q", "v")}
        for _ in blocks
    ]
    step = adam_step(library, loss)
    return library.thunk(step, adapter, moments_of(adapter), base, draw.integers(256, rows, length + 1))


# ------------------------------------------------------------------------------------------------------- embeddings


def word_vectors(library: Any) -> Any:
    """Skip-grams with drawn words that do not fit: one step of SGD on two tables."""
    if not library.functional or library.name in ("torch.func", "torch.compile"):
        return None
    xp, words, size, rows, others, rate = library.xp, 5000, 64, 512, 5, 0.5

    def taken(table: Any, index: Any) -> Any:
        return functional(library).embedding(index, table, sparse=True) if is_torch(library) else table[index]

    def log_sigmoid(x: Any) -> Any:
        return functional(library).logsigmoid(x) if is_torch(library) else library.nn.log_sigmoid(x)

    def loss(tables: Any, center: Any, context: Any, unfit: Any) -> Any:
        c = taken(tables["center"], center)
        fit = xp.einsum("bd,bd->b", c, taken(tables["context"], context))
        bad = xp.einsum("bd,bkd->bk", c, taken(tables["context"], unfit))
        return -xp.mean(log_sigmoid(fit) + xp.sum(log_sigmoid(-bad), axis=-1))

    def step(tables: Any, *batch: Any) -> Any:
        value, gradients = library.value_and_grad(loss)(tables, *batch)
        update = (lambda p, g: p.add(g, alpha=-rate)) if is_torch(library) else (lambda p, g: p - rate * g)
        return library.tree_map(update, tables, gradients), value

    draw = Draw(35)
    tables = {"center": draw.normal(words, size, scale=0.1), "context": draw.normal(words, size, scale=0.1)}
    batch = draw.integers(words, rows), draw.integers(words, rows), draw.integers(words, rows, others)
    return library.thunk(step, tables, *batch)


# ------------------------------------------------------------------------------------------------------ translation


def gated(library: Any, p: Any, h: Any, x: Any) -> Any:
    """A gated recurrent unit."""
    if is_torch(library):
        return library.torch.gru_cell(x, h, p["w"].T, p["u"].T, p["b"], p["c"])
    xp, nn = library.xp, library.nn
    reset, update, new = xp.split(x @ p["w"] + p["b"], 3, axis=-1)
    reset_h, update_h, new_h = xp.split(h @ p["u"] + p["c"], 3, axis=-1)
    update = nn.sigmoid(update + update_h)
    return (1 - update) * xp.tanh(new + nn.sigmoid(reset + reset_h) * new_h) + update * h


def translation(library: Any) -> Any:
    """Recurrent networks with attention, for sentences of different lengths."""
    if not library.functional or library.name in ("torch.func", "torch.compile"):
        return None
    xp, rows, time, hidden, words = library.xp, 16, 24, 64, 128

    def encode(p: Any, x: Any, lengths: Any) -> Any:
        if is_torch(library):
            torch = library.torch
            weights = {"weight_ih_l0": p["w"].T, "weight_hh_l0": p["u"].T, "bias_ih_l0": p["b"], "bias_hh_l0": p["c"]}
            packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths.long(), batch_first=True, enforce_sorted=False)
            found, h = torch.func.functional_call(torch.nn.GRU(hidden, hidden, batch_first=True), weights, (packed,))
            return torch.nn.utils.rnn.pad_packed_sequence(found, batch_first=True, total_length=time)[0], h[0]

        def step(h: Any, now: Any) -> Any:
            x, inside = now
            h = xp.where(inside[:, None], gated(library, p, h, x), h)
            return h, h

        inside = xp.arange(time)[:, None] < lengths
        h, found = library.lax.scan(step, xp.zeros((rows, hidden), x.dtype), (xp.swapaxes(x, 0, 1), inside))
        return xp.swapaxes(found, 0, 1), h

    def loss(params: Any, source: Any, lengths: Any, target: Any, target_lengths: Any) -> Any:
        states, h = encode(params["encoder"], params["source"][source], lengths)
        keys = states @ params["match"]
        outside = xp.where(xp.arange(time) < lengths[:, None], 0.0, -1e9)

        def step(carry: Any, y: Any) -> Any:
            h, context = carry
            h = gated(library, params["decoder"], h, xp.concatenate([y, context], axis=-1))
            share = library.nn.softmax(xp.einsum("bh,bth->bt", h, keys) + outside, axis=-1)
            context = xp.einsum("bt,bth->bh", share, states)
            return (h, context), xp.tanh(linear(params["join"], xp.concatenate([h, context], axis=-1)))

        inputs = xp.swapaxes(params["target"][target[:, :-1]], 0, 1)
        carry = h, xp.zeros_like(h)
        if is_torch(library):
            outputs = []
            for y in inputs:
                carry, found = step(carry, y)
                outputs.append(found)
            found = xp.stack(outputs)
        else:
            _, found = library.lax.scan(step, carry, inputs)
        logits = xp.swapaxes(found @ params["head"], 0, 1)
        wanted = target[:, 1:]
        if is_torch(library):
            losses = functional(library).cross_entropy(logits.transpose(1, 2), wanted.long(), reduction="none")
        else:
            log_p = library.nn.log_softmax(logits, axis=-1)
            losses = -xp.take_along_axis(log_p, wanted[..., None], axis=-1)[..., 0]
        counted = xp.arange(time) < target_lengths[:, None]
        return xp.sum(xp.where(counted, losses, 0.0)) / xp.sum(target_lengths)

    def unit(into: int) -> Any:
        return {
            "w": draw.dense(into, 3 * hidden), "u": draw.dense(hidden, 3 * hidden),
            "b": draw.normal(3 * hidden, scale=0.01), "c": draw.normal(3 * hidden, scale=0.01),
        }  # fmt: skip

    draw = Draw(36)
    params = {
        "source": draw.normal(words, hidden), "target": draw.normal(words, hidden), "encoder": unit(hidden), "decoder": unit(2 * hidden),
        "match": draw.dense(hidden, hidden), "join": draw.linear(2 * hidden, hidden), "head": draw.dense(hidden, words),
    }  # fmt: skip
    source, target = draw.integers(words, rows, time), draw.integers(words, rows, time + 1)
    lengths, target_lengths = (8 + draw.integers(time - 7, rows) for _ in range(2))
    lengths[0] = time
    step = adam_step(library, loss, clip=1.0)
    return library.thunk(step, params, moments_of(params), source, lengths, target, target_lengths)


# ----------------------------------------------------------------------------------------------- layers in one loop


def layers_in_a_loop(library: Any) -> Any:
    """A language model whose equal layers are one scan over stacked weights, with what is within them computed again backwards."""
    if not library.functional or library.name in ("torch.func", "torch.compile"):
        return None
    width, depth, heads, rows, length, words = 64, 6, 4, 4, 64, 128

    def layer(p: Any, x: Any) -> Any:
        return transformer_block(library, p, x, heads, causal=True)

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embed"][tokens[:, :-1]] + params["position"]
        if is_torch(library):
            from torch.utils.checkpoint import checkpoint

            for i in range(depth):
                x = checkpoint(
                    layer, library.tree_map(lambda leaf, i=i: leaf[i], params["layers"]), x, use_reentrant=False
                )
        else:
            again = library.module.checkpoint(lambda x, p: (layer(p, x), None))
            x, _ = library.lax.scan(again, x, params["layers"])
        return cross_entropy(library, layer_norm(library, params["norm"], x) @ params["embed"].T, tokens[:, 1:])

    draw = Draw(37)
    layers = [block_parameters(draw, width) for _ in range(depth)]
    params = {
        "embed": draw.normal(words, width, scale=width**-0.5), "position": draw.normal(length, width, scale=0.02),
        "layers": stacked(layers), "norm": norm_parameters(width),
    }  # fmt: skip
    tokens = draw.integers(words, rows, length + 1)
    return library.thunk(adam_step(library, loss, clip=1.0, decay=0.01), params, moments_of(params), tokens)


def stacked(trees: list[Any]) -> Any:
    """One tree of arrays with an axis more."""
    if isinstance(trees[0], dict):
        return {key: stacked([tree[key] for tree in trees]) for key in trees[0]}
    return np.stack(trees)


WORKLOADS = [
    model("greedy decoding with a cache, 4 texts of 64 tokens", greedy),
    model("beam search with a cache, 4 beams of 64 tokens", beam_search),
    model("mixture of experts by products with 0 and 1, training step", experts(by_products)),
    model("mixture of experts by indices, training step", experts(by_indices)),
    model("adapters of low rank in a transformer, training step", adapters),
    model("word vectors by skip-grams, batch 512, training step", word_vectors),
    model("translation by recurrent networks with attention, training step", translation),
    model("language model of 6 layers in one scan, computed again backwards, training step", layers_in_a_loop),
]
