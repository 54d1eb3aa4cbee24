"""Layers of sequences [t, d] and images [c, h, w] for random models, and how one becomes the other: see `random_layers.py`."""

from __future__ import annotations

import math
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from cotangent import lax, nn
from random_layers import Draft, Example, Run, layer


@layer(2)
def positions(draft: Draft, shape: tuple[int, ...]) -> Run:
    table = draft.new(shape[0] + 1, shape[1], scale=0.5)
    return lambda p, h, e: h + table(p)[: shape[0]]


@layer(2, ragged=True)
def self_attention(draft: Draft, shape: tuple[int, ...]) -> Run:
    d, k, heads = shape[1], draft.number(1, 3), draft.number(1, 2)
    q, key, v = (draft.weight(d, heads * k) for _ in range(3))
    o = draft.weight(heads * k, d)
    is_causal = draft.flip()

    def run(p: list[Any], h: Any, e: Example) -> Any:
        split = lambda x: cnp.reshape(x, (h.shape[0], heads, k))  # noqa: E731
        scores = cnp.einsum("qhc,khc->hqk", split(h @ q(p)), split(h @ key(p))) / math.sqrt(k)
        if is_causal:
            at = cnp.arange(h.shape[0])
            scores = cnp.where(at[:, None] >= at[None, :], scores, -1e9)
        mixed = cnp.einsum("hqk,khc->qhc", nn.softmax(scores, axis=-1), split(h @ v(p)))
        return h + cnp.reshape(mixed, (h.shape[0], heads * k)) @ o(p)

    return run


@layer(2, ragged=True)
def cross_attention(draft: Draft, shape: tuple[int, ...]) -> Run:
    """What is asked for is a parameter."""
    d, n = shape[1], draft.number(1, 4)
    queries, key, v = draft.new(3, n, scale=1.0), draft.weight(d, n), draft.weight(d, draft.number(1, 5))
    return lambda p, h, e: nn.softmax(queries(p) @ (h @ key(p)).T, axis=-1) @ (h @ v(p))


@layer(2)
def convolution_of_sequence(draft: Draft, shape: tuple[int, ...]) -> Run:
    t, d = shape
    depthwise = draft.flip(0.3)
    groups = d if depthwise else (2 if d % 2 == 0 and draft.flip(0.3) else 1)
    size, stride, dilation = draft.number(1, min(3, t)), draft.number(1, 2), draft.number(1, 2)
    padding = (
        draft.pick(["SAME", [(1, 0)], [(2, 1)]])
        if dilation * (size - 1) >= t
        else draft.pick(["SAME", "VALID", [(1, 0)]])
    )
    if dilation * (size - 1) >= t + 1:
        padding = "SAME"
    w = draft.new(groups * draft.number(1, 3), d // groups, size, scale=0.6)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        y = lax.conv_general_dilated(
            h.T[None], w(p), (stride,), padding, rhs_dilation=(dilation,), feature_group_count=groups
        )
        return y[0].T

    return run


@layer(2)
def convolution_by_windows(draft: Draft, shape: tuple[int, ...]) -> Run:
    """As sums of shifted sequences."""
    w = draft.new(2, shape[1], draft.number(1, 4), scale=0.6)
    return lambda p, h, e: h @ w(p)[0] + cnp.concatenate([cnp.zeros_like(h[:1]), h[:-1]], axis=0) @ w(p)[1]


@layer(2, ragged=True)
def recurrent(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(1, 6)
    wx, wh, b = draft.weight(shape[1], n), draft.weight(n, n), draft.new(n)
    gives_all, is_kept, is_reversed = draft.flip(), draft.flip(0.3), draft.flip(0.2)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        def step(s: Any, x: Any) -> Any:
            s = cnp.tanh(x @ wx(p) + s @ wh(p) + b(p))
            return s, s

        last, states = lax.scan(
            ct.checkpoint(step) if is_kept else step, cnp.zeros(n, "float64"), h, reverse=is_reversed
        )
        return states if gives_all else last

    return run


@layer(2)
def unrolled(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(1, 5)
    wx, wh = draft.weight(shape[1], n), draft.weight(n, n)
    gives_all = draft.flip()

    def run(p: list[Any], h: Any, e: Example) -> Any:
        states = [cnp.zeros(n, "float64")]
        for t in range(shape[0]):
            states.append(cnp.tanh(h[t] @ wx(p) + states[-1] @ wh(p)))
        return cnp.stack(states[1:]) if gives_all else states[-1]

    return run


@layer(2, ragged=True)
def gated(draft: Draft, shape: tuple[int, ...]) -> Run:
    """A GRU."""
    n = draft.number(1, 4)
    wx, wh, wn = draft.weight(shape[1], 3 * n), draft.weight(n, 2 * n), draft.weight(n, n)
    gives_all = draft.flip()

    def run(p: list[Any], h: Any, e: Example) -> Any:
        def step(s: Any, x: Any) -> Any:
            z = x @ wx(p)
            r, u = cnp.split(nn.sigmoid(z[: 2 * n] + s @ wh(p)), 2)
            s = u * s + (1 - u) * cnp.tanh(z[2 * n :] + (r * s) @ wn(p))
            return s, s

        last, states = lax.scan(step, cnp.zeros(n, "float64"), h)
        return states if gives_all else last

    return run


@layer(2)
def lstm(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(1, 4)
    wx, wh, b = draft.weight(shape[1], 4 * n), draft.weight(n, 4 * n), draft.new(4 * n)
    is_kept, is_unrolled = draft.flip(0.3), draft.flip(0.3)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        def step(state: Any, x: Any) -> Any:
            s, cell = state
            i, f, g, o = cnp.split(x @ wx(p) + s @ wh(p) + b(p), 4)
            cell = nn.sigmoid(f) * cell + nn.sigmoid(i) * cnp.tanh(g)
            return (nn.sigmoid(o) * cnp.tanh(cell), cell), None

        state: Any = (cnp.zeros(n, "float64"), cnp.zeros(n, "float64"))
        if is_unrolled:
            for t in range(shape[0]):
                state = step(state, h[t])[0]
            return state[0]
        return lax.scan(ct.checkpoint(step) if is_kept else step, state, h)[0][0]

    return run


@layer(2)
def experts_of_positions(draft: Draft, shape: tuple[int, ...]) -> Run:
    """Each position takes the weights of one expert."""
    count, d, n = draft.number(2, 3), shape[1], draft.number(1, 4)
    router, w = draft.weight(d, count), draft.new(count, d, n, scale=0.5)
    is_gathered = draft.flip()

    def run(p: list[Any], h: Any, e: Example) -> Any:
        gates = nn.softmax(h @ router(p), axis=-1)
        best = cnp.argmax(gates, axis=-1)
        most = cnp.max(gates, axis=-1, keepdims=True)
        if is_gathered:
            return most * cnp.einsum("td,tdn->tn", h, w(p)[best])
        one_hot = (best[:, None] == cnp.arange(count)).astype("float64")
        return most * cnp.einsum("te,td,edn->tn", one_hot, h, w(p))

    return run


@layer(2, ragged=True)
def running_sum(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: cnp.cumsum(h, axis=0) / 3


@layer(2)
def over_time(draft: Draft, shape: tuple[int, ...]) -> Run:
    """Mixes positions, as mixers do."""
    w = draft.weight(shape[0], draft.number(1, 4))
    return lambda p, h, e: cnp.transpose(cnp.transpose(h) @ w(p))


@layer(2)
def turned_around(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: h.T


@layer(2, ragged=True)
def pooled(draft: Draft, shape: tuple[int, ...]) -> Run:
    of = draft.pick([cnp.mean, cnp.sum, cnp.max, nn.logsumexp])
    return lambda p, h, e: of(h, axis=0)


@layer(2)
def last_or_flat(draft: Draft, shape: tuple[int, ...]) -> Run:
    return (lambda p, h, e: h[-1]) if draft.flip() else (lambda p, h, e: cnp.ravel(h))


@layer(2)
def attention_pool(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.new(shape[1], scale=1.0)
    return lambda p, h, e: nn.softmax(h @ w(p)) @ h


@layer(2)
def as_image(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: h[None]


@layer(1)
def as_sequence(draft: Draft, shape: tuple[int, ...]) -> Run:
    t = draft.pick([k for k in (1, 2, 3, 5) if shape[0] % k == 0])
    return lambda p, h, e: cnp.reshape(h, (t, -1))


@layer(1)
def outer_of_vector(draft: Draft, shape: tuple[int, ...]) -> Run:
    """An activation that grows as a gradient does."""
    w = draft.weight(shape[0], draft.number(2, 4))
    return lambda p, h, e: cnp.tanh(h[:, None] * (h @ w(p))[None, :])


@layer(3)
def convolution(draft: Draft, shape: tuple[int, ...]) -> Run:
    c, height, width = shape
    groups = draft.pick([k for k in {1, 2, c} if c % k == 0])
    kernel = draft.number(1, min(3, height)), draft.number(1, min(3, width))
    strides = draft.number(1, 2), draft.number(1, 2)
    padding = draft.pick(["SAME", "VALID", [(1, 0), (0, 2)]])
    dilation = (draft.number(1, 2), 1) if padding == "SAME" else (1, 1)
    w = draft.new(groups * draft.number(1, 3), c // groups, *kernel, scale=0.5)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        y = lax.conv_general_dilated(h[None], w(p), strides, padding, rhs_dilation=dilation, feature_group_count=groups)
        return y[0]

    return run


@layer(3)
def convolution_up(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.new(shape[0], draft.number(1, 2), 2, 2, scale=0.5)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        return lax.conv_transpose(h[None], w(p), (2, 1), "SAME", dimension_numbers=("NCHW", "IOHW", "NCHW"))[0]

    return run


@layer(3)
def channels(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.weight(draft.number(1, 4), shape[0])
    return lambda p, h, e: cnp.einsum("oc,chw->ohw", w(p), h)


@layer(3)
def window_pool(draft: Draft, shape: tuple[int, ...]) -> Run:
    sizes = (1, min(2, shape[1]), min(2, shape[2]))
    strides = (1, draft.number(1, 2), draft.number(1, 2))
    padding = draft.pick(["SAME", "VALID"])
    if draft.flip():
        return lambda p, h, e: lax.reduce_window(h, -np.inf, lax.max, sizes, strides, padding)
    return lambda p, h, e: lax.reduce_window(h, 0.0, lax.add, sizes, strides, padding) / 4


@layer(3)
def whole_pool(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: cnp.mean(h, axis=(1, 2))


@layer(3)
def patches(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: cnp.reshape(cnp.transpose(h, (1, 2, 0)), (-1, h.shape[0]))
