"""Layers that random models (`random_models.py`) are composed of.

A layer looks at the shape of one example's activations, registers its parameters with a `Draft`, and gives ``run(p, h, e)``: of all
parameters as a list, the activations and what else belongs to the example (`Example`). Its result is a vector [d], a sequence [t, d] or an
image [c, h, w]. `Draft.weight` makes a matrix of parameters in many ways: a parameter, one that is used elsewhere too, a product of two, a
piece of a longer one. Nothing here depends on anything but the draft's generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
from cotangent import lax, nn

Example = dict[str, Any]
Get = Callable[[list[Any]], Any]  # of all parameters: an array that is made of them
Run = Callable[[list[Any], Any, Example], Any]
Make = Callable[["Draft", tuple[int, ...]], Run]


@dataclass
class Draft:
    """What has been drawn of a model so far."""

    rng: np.random.Generator
    params: list[np.ndarray] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of its layers, for people
    weights: list[tuple[tuple[int, ...], Get]] = field(default_factory=list)  # matrices so far: their shapes
    is_rounded: bool = False  # something is single precision
    is_reverse_only: bool = False  # it has rules for reverse mode alone

    def flip(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def number(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def new(self, *shape: int, scale: float | None = None) -> Get:
        """A parameter of its own."""
        fan_in = math.prod(shape[:-1]) if len(shape) > 1 else 1
        index = len(self.params)
        factor = 1 / math.sqrt(max(1, fan_in)) if scale is None else scale
        self.params.append(np.asarray(self.rng.normal(size=shape) * factor))
        return lambda p: p[index]

    def constant(self, *shape: int) -> np.ndarray:
        return np.asarray(self.rng.normal(size=shape))

    def weight(self, m: int, n: int) -> Get:
        """A matrix of parameters."""
        made = self.pick(WEIGHTS)(self, m, n) if self.flip(0.4) else None
        get = self.new(m, n) if made is None else made
        self.weights.append(((m, n), get))
        return get


def used_before(draft: Draft, m: int, n: int) -> Get | None:
    found = [get for shape, get in draft.weights if shape == (m, n)]
    return draft.pick(found) if found else None


def turned(draft: Draft, m: int, n: int) -> Get | None:
    found = [get for shape, get in draft.weights if shape == (n, m)]
    get = draft.pick(found) if found else draft.new(n, m)
    return lambda p: get(p).T


def with_adapter(draft: Draft, m: int, n: int) -> Get:
    whole, a, b = draft.new(m, n), draft.new(m, 2), draft.new(2, n)
    frozen = draft.flip()
    return lambda p: (lax.stop_gradient(whole(p)) if frozen else whole(p)) + 0.5 * (a(p) @ b(p))


def of_low_rank(draft: Draft, m: int, n: int) -> Get:
    a, b = draft.new(m, 2), draft.new(2, n)
    return lambda p: a(p) @ b(p)


def outer(draft: Draft, m: int, n: int) -> Get:
    a, b = draft.new(m, scale=1.0), draft.new(n, scale=1.0)
    return lambda p: a(p)[:, None] * b(p)[None, :]


def piece_of_vector(draft: Draft, m: int, n: int) -> Get:
    before, after = draft.number(0, 3), draft.number(0, 3)
    flat = draft.new(before + m * n + after, scale=0.5)
    return lambda p: cnp.reshape(flat(p)[before : before + m * n], (m, n))


def piece_of_matrix(draft: Draft, m: int, n: int) -> Get:
    wide = draft.new(m, n + 2)
    return (lambda p: wide(p)[:, 1 : n + 1]) if draft.flip() else (lambda p: cnp.split(wide(p), [n], axis=1)[0])


def every_second(draft: Draft, m: int, n: int) -> Get:
    long = draft.new(2 * m, n)
    return lambda p: long(p)[::2]


def one_of_stack(draft: Draft, m: int, n: int) -> Get:
    stack, index = draft.new(3, m, n), draft.number(0, 2)
    return lambda p: stack(p)[index]


def joined(draft: Draft, m: int, n: int) -> Get | None:
    if n < 2:
        return None
    a, b = draft.new(m, n - 1), draft.new(m, 1)
    return lambda p: cnp.concatenate([a(p), b(p)], axis=1)


def divided(draft: Draft, m: int, n: int) -> Get:
    whole, by = draft.new(m, n), draft.new(*draft.pick([(), (n,), (m, 1), (m, n)]), scale=1.0)
    return lambda p: whole(p) / (1.5 + by(p) ** 2)


def normalized(draft: Draft, m: int, n: int) -> Get:
    whole, scale = draft.new(m, n), draft.new(n, scale=1.0)
    return lambda p: whole(p) * (scale(p) / cnp.sqrt(0.1 + cnp.sum(whole(p) ** 2, axis=0)))


def masked(draft: Draft, m: int, n: int) -> Get:
    whole, mask = draft.new(m, n), draft.constant(m, n) > 0
    return (lambda p: cnp.where(mask, whole(p), 0)) if draft.flip() else (lambda p: whole(p) * mask)


def symmetric(draft: Draft, m: int, n: int) -> Get | None:
    if m != n:
        return None
    whole = draft.new(m, n)
    return (lambda p: whole(p) + whole(p).T) if draft.flip() else (lambda p: whole(p) @ whole(p).T)


def single_precision(draft: Draft, m: int, n: int) -> Get:
    draft.is_rounded = True
    index = len(draft.params)
    draft.new(m, n)
    draft.params[index] = draft.params[index].astype(np.float32)
    return lambda p: p[index].astype("float64")


def through_single_precision(draft: Draft, m: int, n: int) -> Get:
    draft.is_rounded = True
    whole = draft.new(m, n)
    return lambda p: whole(p).astype("float32").astype("float64")


def triangle(draft: Draft, m: int, n: int) -> Get:
    whole = draft.new(m, n)
    return lambda p: cnp.tril(whole(p))


def scaled(draft: Draft, m: int, n: int) -> Get:
    whole, scale = draft.new(m, n), draft.new(scale=1.0)
    return lambda p: scale(p) * whole(p)


def repeated(draft: Draft, m: int, n: int) -> Get:
    row = draft.new(n, scale=0.5)
    return lambda p: cnp.broadcast_to(row(p), (m, n))


def diagonal(draft: Draft, m: int, n: int) -> Get | None:
    if m != n:
        return None
    values = draft.new(m, scale=1.0)
    return lambda p: cnp.diag(values(p))


WEIGHTS: list[Callable[[Draft, int, int], Get | None]] = [
    used_before, used_before, turned, with_adapter, of_low_rank, outer, piece_of_vector, piece_of_matrix, every_second, one_of_stack,
    joined, divided, normalized, masked, symmetric, single_precision, through_single_precision, triangle, scaled, repeated, diagonal,
]  # fmt: skip

LAYERS: dict[
    str, tuple[Make, tuple[int, ...], bool]
] = {}  # with the ranks that they take, and whether lengths may vary


def layer(*ranks: int, ragged: bool = False) -> Callable[[Make], Make]:
    def add(make: Make) -> Make:
        LAYERS[make.__name__] = make, ranks, ragged
        return make

    return add


ACTIVATIONS: list[Callable[[Any], Any]] = [
    cnp.tanh, nn.relu, nn.gelu, nn.sigmoid, nn.silu, cnp.sin, nn.softplus, cnp.abs, nn.softmax, lambda h: 0.3 * h * h,
]  # fmt: skip


@layer(1, 2, 3, ragged=True)
def activation(draft: Draft, shape: tuple[int, ...]) -> Run:
    of = draft.pick(ACTIVATIONS)
    return lambda p, h, e: of(h)


@layer(1, 2, ragged=True)
def dense(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(1, 7)
    w = draft.weight(shape[-1], n)
    if draft.flip():
        return lambda p, h, e: h @ w(p)
    bias, of = draft.new(n), draft.pick(ACTIVATIONS)
    return lambda p, h, e: of(h @ w(p) + bias(p))


@layer(1, 2, ragged=True)
def dense_by_einsum(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(1, 6)
    w = draft.weight(n, shape[-1])
    return lambda p, h, e: cnp.einsum("om,...m->...o", w(p), h)


@layer(1, 2, ragged=True)
def dense_by_broadcast(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.weight(shape[-1], draft.number(1, 6))
    return lambda p, h, e: cnp.sum(h[..., :, None] * w(p), axis=-2)


@layer(1, 2, ragged=True)
def twice(draft: Draft, shape: tuple[int, ...]) -> Run:
    """One weight in two places, and turned."""
    w = draft.weight(shape[-1], draft.number(1, 6))
    return lambda p, h, e: h + cnp.tanh(cnp.sin(h) @ w(p)) @ w(p).T


@layer(1, 2, ragged=True)
def both_factors(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.weight(shape[-1], shape[-1])
    if draft.flip():
        return lambda p, h, e: h @ (w(p) @ w(p)) / 2
    return lambda p, h, e: cnp.tanh((h @ w(p)) * (w(p) @ w(p))[0])


@layer(1)
def bilinear(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.new(shape[0], draft.number(1, 4), shape[0])
    return lambda p, h, e: cnp.tanh(cnp.einsum("i,ioj,j->o", h, w(p), cnp.sin(h)))


@layer(1, 2)
def kronecker(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(1, 3)
    a, b = draft.new(shape[-1], n), draft.new(2, 2)
    return lambda p, h, e: cnp.reshape(cnp.einsum("...m,mn,kl->...nkl", h, a(p), b(p)), (*h.shape[:-1], 4 * n))


@layer(1, 2, 3, ragged=True)
def bias(draft: Draft, shape: tuple[int, ...]) -> Run:
    b = draft.new(*draft.pick([(), shape[-1:], (1,)]), scale=0.5)
    return lambda p, h, e: h + b(p)


@layer(1, 2, ragged=True)
def layer_norm(draft: Draft, shape: tuple[int, ...]) -> Run:
    g, b = draft.new(shape[-1], scale=1.0), draft.new(shape[-1])

    def run(p: list[Any], h: Any, e: Example) -> Any:
        m = cnp.mean(h, axis=-1, keepdims=True)
        return (h - m) / cnp.sqrt(cnp.mean((h - m) ** 2, axis=-1, keepdims=True) + 0.1) * g(p) + b(p)

    return run


@layer(1, 2, ragged=True)
def rms_norm(draft: Draft, shape: tuple[int, ...]) -> Run:
    g = draft.new(shape[-1], scale=1.0)
    return lambda p, h, e: h * lax.rsqrt(cnp.mean(h * h, axis=-1, keepdims=True) + 0.1) * (1 + g(p))


@layer(3)
def group_norm(draft: Draft, shape: tuple[int, ...]) -> Run:
    g = draft.new(shape[0], scale=1.0)
    groups = next(k for k in (3, 2, 1) if shape[0] % k == 0)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        x = cnp.reshape(h, (groups, -1))
        x = (x - cnp.mean(x, axis=1, keepdims=True)) / cnp.sqrt(cnp.var(x, axis=1, keepdims=True) + 0.1)
        return cnp.reshape(x, h.shape) * g(p)[:, None, None]

    return run


@layer(1, 2, 3, ragged=True)
def scale_by_scalars(draft: Draft, shape: tuple[int, ...]) -> Run:
    a, b = draft.new(scale=1.0), draft.new(scale=1.0)
    return lambda p, h, e: cnp.tanh(a(p) * h / (1 + b(p) ** 2))


@layer(1, 2, ragged=True)
def division(draft: Draft, shape: tuple[int, ...]) -> Run:
    d = draft.new(shape[-1], scale=1.0)
    return lambda p, h, e: h / (1.5 + cnp.sin(d(p)))


@layer(1, 2, ragged=True)
def chosen(draft: Draft, shape: tuple[int, ...]) -> Run:
    v, w = draft.new(shape[-1], scale=1.0), draft.weight(shape[-1], shape[-1])
    return lambda p, h, e: cnp.where(h > 0.1, h * v(p), h @ w(p))


@layer(1, 2, ragged=True)
def fixed_mask(draft: Draft, shape: tuple[int, ...]) -> Run:
    mask = draft.constant(shape[-1]) > -0.5
    return lambda p, h, e: cnp.where(mask, h, 0.25)


@layer(1, 2, 3)
def dropout(draft: Draft, shape: tuple[int, ...]) -> Run:
    salt = draft.number(0, 9)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        key = ct.random.fold_in(ct.random.fold_in(ct.random.key(7), salt), e["seed"])
        return cnp.where(ct.random.bernoulli(key, 0.7, h.shape), h / 0.7, 0)

    return run


@layer(1, 2, 3, ragged=True)
def stopped(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: h * lax.stop_gradient(nn.sigmoid(h)) + 0.1 * h


@layer(1, 2, 3)
def by_weight_of_example(draft: Draft, shape: tuple[int, ...]) -> Run:
    return lambda p, h, e: h * e["weight"]


@ct.custom_vjp
def _product(w: Any, h: Any) -> Any:
    return cnp.tanh(h @ w)


def _product_forward(w: Any, h: Any) -> Any:
    y = _product(w, h)
    return y, (w, h, y)


def _product_back(kept: Any, cotangent: Any) -> Any:
    w, h, y = kept
    d = cotangent * (1 - y * y)
    return cnp.einsum("...m,...n->mn", h, d), d @ w.T


_product.defvjp(_product_forward, _product_back)


@layer(1, 2)
def own_reverse_rule(draft: Draft, shape: tuple[int, ...]) -> Run:
    draft.is_reverse_only = True
    w = draft.weight(shape[-1], draft.number(1, 5))
    return lambda p, h, e: _product(w(p), h)


@ct.custom_jvp
def _gate(x: Any, g: Any) -> Any:
    return x * nn.sigmoid(g)


@_gate.defjvp
def _gate_jvp(primals: Any, tangents: Any) -> Any:
    (x, g), (dx, dg) = primals, tangents
    s = nn.sigmoid(g)
    return x * s, s * dx + x * (s * (1 - s)) * dg


@layer(1, 2)
def own_forward_rule(draft: Draft, shape: tuple[int, ...]) -> Run:
    w = draft.weight(shape[-1], shape[-1])
    return lambda p, h, e: _gate(h, h @ w(p))


@layer(1, 2, 3)
def residual(draft: Draft, shape: tuple[int, ...]) -> Run:
    inner, _ = drawn_layer(draft, shape, keeps=True)
    return lambda p, h, e: h + 0.5 * inner(p, h, e)


@layer(1, 2, 3)
def remembered(draft: Draft, shape: tuple[int, ...]) -> Run:
    inner, _ = drawn_layer(draft, shape)
    return lambda p, h, e: ct.checkpoint(lambda p, h: inner(p, h, e))(p, h)


@layer(1, 2)
def branches(draft: Draft, shape: tuple[int, ...]) -> Run:
    """Two weights, each for a part of what comes in."""
    k = draft.number(0, shape[-1])
    a, b = draft.weight(k, 3) if k else None, draft.weight(shape[-1], 2)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        first = h[..., :k] @ a(p) if a else cnp.cos(h)
        return cnp.concatenate([first, cnp.tanh(h @ b(p))], axis=-1)

    return run


@layer(1, 2, 3)
def pieces(draft: Draft, shape: tuple[int, ...]) -> Run:
    axis = draft.number(0, len(shape) - 1)
    how = draft.number(0, 3)
    last = shape[axis]

    def run(p: list[Any], h: Any, e: Example) -> Any:
        along = lambda part: (slice(None),) * axis + (part,)  # noqa: E731
        if how == 0:
            return h[along(slice(None, None, -1))]
        if how == 1:
            return cnp.roll(h, 1, axis=axis)
        if how == 2:
            return h[along(slice(0, max(1, last - 1)))]
        return h[along(np.arange(last + 1) % last)]

    return run


@layer(1, 2)
def learned_token(draft: Draft, shape: tuple[int, ...]) -> Run:
    token = draft.new(*(1 for _ in shape[:-1]), shape[-1], scale=1.0)
    return lambda p, h, e: cnp.concatenate([token(p), h], axis=0)


@layer(1, 2)
def low_rank_adapter(draft: Draft, shape: tuple[int, ...]) -> Run:
    n = draft.number(2, 6)
    w, a, b = draft.new(shape[-1], n), draft.new(shape[-1], 2), draft.new(2, n)
    return lambda p, h, e: h @ lax.stop_gradient(w(p)) + (h @ a(p)) @ b(p)


@layer(1, 2)
def stacked_layers(draft: Draft, shape: tuple[int, ...]) -> Run:
    count, d = draft.number(1, 3), shape[-1]
    w, b = draft.new(count, d, d, scale=0.5), draft.new(count, d)
    keep = draft.flip(0.3)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        def step(h: Any, of: Any) -> Any:
            return cnp.tanh(h @ of[0] + of[1]), None

        return lax.scan(ct.checkpoint(step) if keep else step, h, (w(p), b(p)))[0]

    return run


@layer(1, 2)
def repeated_layer(draft: Draft, shape: tuple[int, ...]) -> Run:
    """One weight in a loop with a number of steps that is known, or that differs between examples."""
    w = draft.weight(shape[-1], shape[-1])
    body = lambda p, h: cnp.tanh(h @ w(p)) + 0.1  # noqa: E731
    if draft.flip():
        steps = draft.number(0, 3)
        return lambda p, h, e: lax.fori_loop(0, steps, lambda i, h: body(p, h), h)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        last = e["seed"] % 4
        return lax.while_loop(lambda s: s[0] < last, lambda s: (s[0] + 1, body(p, s[1])), (0 * last, h))[1]

    return run


@layer(1, 2)
def choice_of_branches(draft: Draft, shape: tuple[int, ...]) -> Run:
    v, w = draft.weight(shape[-1], 4), draft.weight(shape[-1], 4)
    return lambda p, h, e: lax.cond(e["seed"] % 2 == 0, lambda h: h @ v(p), lambda h: cnp.sin(h @ w(p)), h)


@layer(1)
def experts(draft: Draft, shape: tuple[int, ...]) -> Run:
    count, d, n = draft.number(2, 4), shape[0], draft.number(2, 5)
    router, w = draft.weight(d, count), draft.new(count, d, n, scale=0.5)
    how = draft.number(0, 2)

    def run(p: list[Any], h: Any, e: Example) -> Any:
        gates = nn.softmax(h @ router(p))
        if how == 0:
            return cnp.einsum("e,d,edn->n", gates, h, w(p))
        best = cnp.argmax(gates)
        if how == 1:
            return gates[best] * (h @ w(p)[best])
        only = cnp.where(cnp.arange(count) == best, gates, 0)
        return cnp.einsum("e,en->n", only, cnp.einsum("d,edn->en", h, w(p)))

    return run


def drawn_layer(draft: Draft, shape: tuple[int, ...], keeps: bool = False, ragged: bool = False) -> tuple[Run, Any]:
    """A layer that takes this shape, and the shape of what it gives. `keeps`: which must be the same."""
    fitting = [name for name, (_, ranks, may) in LAYERS.items() if len(shape) in ranks and (may or not ragged)]
    while True:
        before = len(draft.params), len(draft.weights), len(draft.names), draft.is_rounded, draft.is_reverse_only
        name = draft.pick(fitting)
        run = LAYERS[name][0](draft, shape)
        result = result_shape(draft, run, shape)
        if (not keeps or result == shape) and 0 < math.prod(result) <= 200:
            draft.names.append(name)
            return run, result
        del draft.params[before[0] :], draft.weights[before[1] :], draft.names[before[2] :]
        draft.is_rounded, draft.is_reverse_only = before[3:]


def result_shape(draft: Draft, run: Run, shape: tuple[int, ...]) -> tuple[int, ...]:
    example = {"seed": ct.ShapeDtypeStruct((), "int32"), "weight": ct.ShapeDtypeStruct((), "float64")}
    return tuple(ct.eval_shape(run, draft.params, ct.ShapeDtypeStruct(shape, "float64"), example).shape)
