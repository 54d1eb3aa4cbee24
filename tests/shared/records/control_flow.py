"""Calls, branches, loops and regions, reached through the public functions that make them."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

from records import FLOATS, M, V, constant, ragged, record

WIDE = ("float32", "float64")


def smooth(lib: Any, x: Any) -> Any:
    return lib.sin(x) * x


record("call", lambda x: smooth(np, x), M, call=lambda x: ct.jit(lambda v: smooth(cnp, v))(x), dtypes=FLOATS)
record(
    "call",
    lambda x, y: (x * y, x.sum()),
    M,
    M,
    call=lambda x, y: ct.jit(lambda a, b: (a * b, a.sum()))(x, y),
    dtypes=WIDE,
)

# Inside a jit: outside of a capture the function itself is called.
record(
    "checkpoint",
    lambda x, y: (smooth(np, smooth(np, x)) * y, x.sum() * y),
    M,
    M,
    call=lambda x, y: ct.jit(
        lambda a, b: ct.checkpoint(lambda v, w: (smooth(cnp, smooth(cnp, v)) * w, v.sum() * w))(a, b)
    )(x, y),
    dtypes=FLOATS,
)

record(
    "cond",
    lambda p, x, y: np.sin(x) if p else x * y,
    constant(np.bool_(True), np.bool_(False)),
    V,
    V,
    call=lambda p, x, y: ct.lax.cond(p, lambda a, b: cnp.sin(a), lambda a, b: a * b, x, y),
    dtypes=FLOATS,
    masks=(ragged(None, {0: "n"}, {0: "n"}),),
)
record(
    "cond",
    lambda i, x: (x, np.sum(x)) if i <= 0 else (x * x, np.prod(x)) if i == 1 else (-x, np.max(x, initial=-np.inf)),
    constant(np.int32(1), np.int32(0), np.int32(7)),
    V,
    call=lambda i, x: ct.lax.switch(
        i, [lambda v: (v, v.sum()), lambda v: (v * v, v.prod()), lambda v: (-v, v.max())], x
    ),
    dtypes=WIDE,
    masks=(ragged(None, {0: "n"}, n=(1, 2, 5)),),
)


def recurrence(lib: Any, w: Any, carry: Any, x: Any) -> Any:
    """A step: carry of two, slices of one row."""
    state, total = carry
    state = lib.tanh(state * w + x)
    return (state, total + lib.sum(state * x)), state * total


def unrolled(w: Any, state: Any, xs: Any, reverse: bool) -> Any:
    carry, ys = (state, xs.dtype.type(0)), np.zeros_like(xs)
    for i in reversed(range(len(xs))) if reverse else range(len(xs)):
        carry, ys[i] = recurrence(np, w, carry, xs[i])
    return *carry, ys


def scanned(w: Any, state: Any, xs: Any, reverse: bool) -> Any:
    carry, ys = ct.lax.scan(
        lambda c, x: recurrence(cnp, w, c, x), (state, cnp.zeros((), xs.dtype)), xs, reverse=reverse
    )
    return *carry, ys


for shape in [M, (0, 3)]:
    for reverse in (False, True):
        record(
            "scan",
            lambda w, s, xs, r=reverse: unrolled(w, s, xs, r),
            (3,),
            (3,),
            shape,
            call=lambda w, s, xs, r=reverse: scanned(w, s, xs, r),
            dtypes=WIDE if shape == M else WIDE[:1],
            masks=(
                ragged(None, None, {0: "n"}),
                ragged({0: "m"}, {0: "m"}, {1: "m"}),
                ragged({0: "m"}, {0: "m"}, {0: "n", 1: "m"}),
            ),
        )


def squared_until(x: Any, limit: Any) -> Any:
    while np.sum(x) < limit:
        x = x * x + x
    return x


record(
    "while",
    squared_until,
    V,
    constant(np.float32(20.0), np.float32(0.0), np.float32(90.0)),
    call=lambda x, limit: (
        ct.lax.while_loop(lambda c: cnp.sum(c) < limit.astype(c.dtype), lambda c: c * c + c, x)
        if isinstance(limit, ct.Array)
        else ct.lax.while_loop(lambda c: cnp.sum(c) < cnp.asarray(limit, c.dtype), lambda c: c * c + c, x)
    ),
    dtypes=WIDE,
    domain=(0.3, 2.0),
    masks=(ragged({0: "n"}, None, n=(1, 3, 5)),),
    specials=False,
)


@ct.custom_jvp
def cubed(x: Any, y: Any) -> Any:
    return x * x * x * y


@cubed.defjvp
def _(primals: Any, tangents: Any) -> Any:
    (x, y), (dx, dy) = primals, tangents
    return cubed(x, y), 3 * x * x * y * dx + x * x * x * dy


record("custom_jvp", lambda x, y: x**3 * y, M, M, call=cubed, dtypes=WIDE)


@ct.custom_vjp
def scaled(x: Any, y: Any) -> Any:
    return x * y, cnp.sum(x, 0)


scaled.defvjp(
    lambda x, y: ((x * y, cnp.sum(x, 0)), (x, y)),
    lambda kept, g: (g[0] * kept[1] + g[1], g[0] * kept[0]),
)
record("custom_jvp", lambda x, y: (x * y, x.sum(0)), M, M, call=scaled, dtypes=WIDE, modes=("rev",))


def masked(f: Any, x: Any, n: Any) -> Any:
    result = ct.mask(f)(ct.Ragged(x, {0: n}))
    return tuple(r.data if isinstance(r, ct.Ragged) else r for r in result)


def of_rows(lib: Any, x: Any) -> Any:
    return lib.sum(x * x, 0), lib.cumsum(x, 0) * lib.sin(x)


def exact_then_zeros(x: Any, n: Any) -> Any:
    total, rows = of_rows(np, x[:n])
    return total, np.concatenate([rows, np.zeros((len(x) - n, x.shape[1]), x.dtype)])


LENGTHS = constant(np.int32(3), np.int32(0), np.int32(4))
record(
    "mask",
    exact_then_zeros,
    M,
    LENGTHS,
    call=lambda x, n: masked(lambda v: of_rows(cnp, v), x, n),
    dtypes=WIDE,
    masks=(ragged({1: "m"}, None),),
)
record(
    "vmap_region",
    lambda x, n: tuple(
        np.stack(part) for part in zip(*[exact_then_zeros(row, m) for row, m in zip(x, n, strict=True)], strict=True)
    ),
    (2, 4, 3),
    constant(np.array([3, 4], np.int32), np.array([0, 1], np.int32)),
    call=lambda x, n: ct.vmap(lambda row, m: masked(lambda v: of_rows(cnp, v), row, m))(x, n),
    dtypes=WIDE,
    masks=(ragged({2: "m"}, None),),
)
