"""Models of sequences whose steps follow one another: state spaces, linear attention, alignments."""

from __future__ import annotations

from typing import Any

import numpy as np

from workloads.models.layers import (
    Draw,
    adam_step,
    cross_entropy,
    functional,
    is_torch,
    layer_norm,
    linear,
    model,
    moments_of,
    norm_parameters,
    silu,
    softplus,
)

# ------------------------------------------------------------------------------------------ selective state spaces

ROWS, TIME, VOCABULARY, WIDTH, INNER, STATES, RANK, WINDOW = 4, 128, 64, 32, 64, 8, 4, 4


def mamba_parameters() -> Any:
    draw = Draw(10)

    def layer() -> Any:
        return {
            "norm": norm_parameters(WIDTH), "in": draw.dense(WIDTH, 2 * INNER), "kernel": draw.normal(WINDOW, 1, INNER, scale=0.5),
            "bias": draw.normal(INNER, scale=0.01), "project": draw.dense(INNER, RANK + 2 * STATES), "delta": draw.linear(RANK, INNER),
            "log_a": np.log(np.tile(np.arange(1, STATES + 1, dtype=np.float32), (INNER, 1))), "skip": np.ones(INNER, np.float32),
            "out": draw.dense(INNER, WIDTH),
        }  # fmt: skip

    return {
        "embed": draw.normal(VOCABULARY, WIDTH),
        "layers": [layer(), layer()],
        "norm": norm_parameters(WIDTH),
        "head": draw.dense(WIDTH, VOCABULARY),
    }


def causal_convolution(library: Any, x: Any, kernel: Any) -> Any:
    """Of each channel with its own window of the past."""
    if is_torch(library):
        x, kernel = x.transpose(1, 2), kernel.permute(2, 1, 0)
        return (
            functional(library)
            .conv1d(functional(library).pad(x, (WINDOW - 1, 0)), kernel, groups=INNER)
            .transpose(1, 2)
        )
    names = ("NWC", "WIO", "NWC")
    return library.lax.conv_general_dilated(
        x, kernel, (1,), ((WINDOW - 1, 0),), dimension_numbers=names, feature_group_count=INNER
    )


def by_associative_scan(library: Any, decay: Any, drive: Any, c: Any) -> Any:
    def joined(left: Any, right: Any) -> Any:
        return left[0] * right[0], right[0] * left[1] + right[1]

    _, h = library.lax.associative_scan(joined, (decay, drive), axis=1)
    return library.xp.einsum("btds,bts->btd", h, c)


def by_scan(library: Any, decay: Any, drive: Any, c: Any) -> Any:
    xp = library.xp

    def step(h: Any, now: Any) -> Any:
        decay, drive, c = now
        h = decay * h + drive
        return h, xp.einsum("bds,bs->bd", h, c)

    inputs = (xp.swapaxes(part, 0, 1) for part in (decay, drive, c))
    return xp.swapaxes(library.lax.scan(step, xp.zeros_like(drive[:, 0]), tuple(inputs))[1], 0, 1)


def by_loop(library: Any, decay: Any, drive: Any, c: Any) -> Any:
    """Torch's way."""
    h, found = library.torch.zeros_like(drive[:, 0]), []
    for decay_now, drive_now, c_now in zip(decay.unbind(1), drive.unbind(1), c.unbind(1), strict=True):
        h = decay_now * h + drive_now
        found.append((h @ c_now[..., None])[..., 0])
    return library.torch.stack(found, 1)


def mamba(recurrence: Any) -> Any:
    """A language model of two layers of selective state spaces, by Adam with clipped gradients."""

    def make(library: Any) -> Any:
        if not library.functional or library.name == "torch.compile":
            return None
        xp = library.xp
        run = by_loop if is_torch(library) else recurrence

        def layer(p: Any, x: Any) -> Any:
            u, gate = xp.split(layer_norm(library, p["norm"], x) @ p["in"], 2, axis=-1)
            u = silu(library, causal_convolution(library, u, p["kernel"]) + p["bias"])
            delta, b, c = xp.split(u @ p["project"], (RANK, RANK + STATES), axis=-1)
            delta = softplus(library, linear(p["delta"], delta))
            decay = xp.exp(-delta[..., None] * xp.exp(p["log_a"]))
            drive = (delta * u)[..., None] * b[:, :, None, :]
            y = run(library, decay, drive, c) + p["skip"] * u
            return x + (y * silu(library, gate)) @ p["out"]

        def loss(params: Any, tokens: Any) -> Any:
            x = params["embed"][tokens[:, :-1]]
            for p in params["layers"]:
                x = layer(p, x)
            return cross_entropy(library, layer_norm(library, params["norm"], x) @ params["head"], tokens[:, 1:])

        params = mamba_parameters()
        tokens = Draw(11).integers(VOCABULARY, ROWS, TIME + 1)
        return library.thunk(adam_step(library, loss, clip=1.0), params, moments_of(params), tokens)

    return make


# ------------------------------------------------------------------------------------------------- linear attention

HEADS, SIZE, CHUNK = 4, 16, 32


def recurrent_attention(library: Any, q: Any, k: Any, v: Any, decay: Any) -> Any:
    """The state of a head is the decayed sum of all products of keys and values."""
    xp = library.xp

    def step(state: Any, now: Any) -> Any:
        q, k, v = now
        state = decay[:, None, None] * state + k[..., :, None] * v[..., None, :]
        return state, xp.einsum("bhi,bhij->bhj", q, state)

    start = xp.zeros((q.shape[0], HEADS, SIZE, SIZE), dtype=q.dtype)
    if is_torch(library):
        found = []
        for now in zip(q.unbind(1), k.unbind(1), v.unbind(1), strict=True):
            start, y = step(start, now)
            found.append(y)
        return xp.stack(found, 1)
    inputs = tuple(xp.swapaxes(part, 0, 1) for part in (q, k, v))
    return xp.swapaxes(library.lax.scan(step, start, inputs)[1], 0, 1)


def chunked_attention(library: Any, q: Any, k: Any, v: Any, decay: Any) -> Any:
    """Products within chunks, and a state from one to the next."""
    xp = library.xp
    rows, length = q.shape[:2]
    place = library.array(np.arange(CHUNK, dtype=np.float32))
    log_decay = xp.log(decay)
    since = place[:, None] - place[None, :]
    causal = library.array(np.tril(np.ones((CHUNK, CHUNK), bool)))
    within = xp.where(causal, xp.exp(log_decay[:, None, None] * xp.where(causal, since, 0.0)), 0.0)
    entering = xp.exp(log_decay[:, None] * (place + 1))
    leaving = xp.exp(log_decay[:, None] * (CHUNK - 1 - place))
    whole = xp.exp(log_decay * CHUNK)

    def step(state: Any, now: Any) -> Any:
        q, k, v = now
        scores = xp.einsum("bihd,bjhd->bhij", q, k) * within
        y = xp.einsum("bhij,bjhd->bihd", scores, v) + xp.einsum("bihd,bhde,hi->bihe", q, state, entering)
        state = whole[:, None, None] * state + xp.einsum("bjhd,bjhe,hj->bhde", k, v, leaving)
        return state, y

    def cut(x: Any) -> Any:
        return xp.swapaxes(x.reshape(rows, length // CHUNK, CHUNK, HEADS, SIZE), 0, 1)

    state = xp.zeros((rows, HEADS, SIZE, SIZE), dtype=q.dtype)
    if is_torch(library):
        found = []
        for now in zip(cut(q), cut(k), cut(v), strict=True):
            state, y = step(state, now)
            found.append(y)
        return xp.stack(found, 1).reshape(rows, length, HEADS, SIZE)
    _, y = library.lax.scan(step, state, (cut(q), cut(k), cut(v)))
    return xp.swapaxes(y, 0, 1).reshape(rows, length, HEADS, SIZE)


def linear_attention(mix: Any, length: int) -> Any:
    """A layer's loss and its gradient with respect to weights and input."""

    def make(library: Any) -> Any:
        if not library.functional or library.name == "torch.compile":
            return None
        xp, width = library.xp, HEADS * SIZE

        def loss(params: Any, x: Any, y: Any) -> Any:
            rows = len(x)
            q, k, v = (part.reshape(rows, length, HEADS, SIZE) for part in xp.split(x @ params["qkv"], 3, axis=-1))
            found = mix(library, q, k * SIZE**-0.5, v, library.nn.sigmoid(params["decay"]))
            found = layer_norm(library, params["norm"], found)  # of each head
            found = found.reshape(rows, length, width) * silu(library, x @ params["gate"])
            return xp.mean((found @ params["out"] - y) ** 2)

        draw = Draw(12)
        params = {
            "qkv": draw.dense(width, 3 * width), "gate": draw.dense(width, width), "out": draw.dense(width, width),
            "decay": np.linspace(2, 5, HEADS, dtype=np.float32), "norm": norm_parameters(SIZE),
        }  # fmt: skip
        x, y = draw.normal(ROWS, length, width), draw.normal(ROWS, length, width)
        return library.thunk(library.value_and_grad(loss, (0, 1)), params, x, y)

    return make


# ----------------------------------------------------------------------------------------------------- alignments


def ctc_losses(library: Any, log_p: Any, lengths: Any, labels: Any, label_lengths: Any) -> Any:
    """Of rows: less the log of the sum over all alignments, by the recursion of probabilities of prefixes."""
    xp, lax = library.xp, library.lax
    rows, _, _ = log_p.shape
    never, blank = -1e5, 0
    count = labels.shape[1]
    # Labels with blanks around: b l b l b.
    extended = xp.full((rows, 2 * count + 1), blank, labels.dtype).at[:, 1::2].set(labels)
    before = xp.pad(extended, ((0, 0), (2, 0)), constant_values=-1)[:, :-2]
    may_skip = (extended != blank) & (extended != before)
    emitted = xp.take_along_axis(
        log_p, xp.broadcast_to(extended[:, None, :], (rows, log_p.shape[1], 2 * count + 1)), axis=2
    )

    def step(alpha: Any, now: Any) -> Any:
        emission, inside = now
        one = xp.pad(alpha, ((0, 0), (1, 0)), constant_values=never)[:, :-1]
        two = xp.where(may_skip, xp.pad(alpha, ((0, 0), (2, 0)), constant_values=never)[:, :-2], never)
        found = xp.logaddexp(xp.logaddexp(alpha, one), two) + emission
        return xp.where(inside[:, None], found, alpha), None

    start = xp.full((rows, 2 * count + 1), never, log_p.dtype).at[:, :2].set(emitted[:, 0, :2])
    inside = xp.arange(log_p.shape[1])[:, None] < lengths
    alpha, _ = lax.scan(step, start, (xp.swapaxes(emitted, 0, 1)[1:], inside[1:]))
    ends = xp.stack([2 * label_lengths - 1, 2 * label_lengths], axis=1)
    return -library.nn.logsumexp(xp.take_along_axis(alpha, ends, axis=1), axis=1)


def ctc(library: Any) -> Any:
    """The loss of a speech recognizer, value and gradient, of rows and labels of different lengths."""
    if not library.functional or library.name not in ("cotangent", "jax", "torch"):
        return None
    rows, time, classes, longest = 16, 100, 32, 20

    def loss(params: Any, x: Any, lengths: Any, labels: Any, label_lengths: Any) -> Any:
        logits = linear(params, x)
        if is_torch(library):
            log_p = logits.log_softmax(-1).transpose(0, 1)
            losses = functional(library).ctc_loss(log_p, labels, lengths, label_lengths, reduction="none")
        else:
            losses = ctc_losses(library, library.nn.log_softmax(logits, axis=-1), lengths, labels, label_lengths)
        return library.xp.mean(losses)

    draw = Draw(13)
    lengths, label_lengths = 60 + draw.integers(time - 59, rows), 8 + draw.integers(longest - 7, rows)
    labels = 1 + draw.integers(classes - 1, rows, longest)
    arguments = draw.linear(32, classes), draw.normal(rows, time, 32), lengths, labels, label_lengths
    return library.thunk(library.value_and_grad(loss), *arguments)


WORKLOADS = [
    model("state-space language model by associative_scan, training step", mamba(by_associative_scan)),
    model("state-space language model by scan, training step", mamba(by_scan)),
    model("linear attention by scan of steps, value and gradient", linear_attention(recurrent_attention, 128)),
    model("linear attention by chunks, value and gradient", linear_attention(chunked_attention, 256)),
    model("CTC loss, 16 rows of up to 100 steps, value and gradient", ctc),
]
