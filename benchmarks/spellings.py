"""One quantity written in several ways, measured next to each other: part of `./dev bench --sweep`.

A group is correct when its spellings agree; the page shows each spelling's time as a multiple of the group's fastest one. More than
`LIMIT` is a cliff: whoever writes a program should not have to know which spelling the compiler likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

LIMIT = 1.2


@dataclass
class Group:
    title: str
    times: dict[str, float]  # µs, by spelling
    wrong: str = ""

    def slower(self) -> dict[str, float]:
        """By how much, of the spellings that are above the limit."""
        best = min(self.times.values())
        return {spelling: time / best for spelling, time in self.times.items() if time > LIMIT * best}


Spellings = dict[str, Callable[..., Any]]


def groups(ct: Any) -> dict[str, tuple[Spellings, list[np.ndarray]]]:
    from cotangent.flatten_util import ravel_pytree

    xp = ct.numpy
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    squares: Spellings = {
        "sum(x * x)": lambda x: xp.sum(x * x),
        "sum(square(x))": lambda x: xp.sum(xp.square(x)),
        "vdot": lambda x: xp.vdot(x, x),
        "einsum of indices": lambda x: xp.einsum("i,i->", xp.ravel(x), xp.ravel(x)),
        "tensordot": lambda x: xp.tensordot(x, x, axes=x.ndim),
        "matmul of ravel": lambda x: xp.ravel(x) @ xp.ravel(x),
        "row by column": lambda x: (x.reshape(1, -1) @ x.reshape(-1, 1))[0, 0],
        "ravel_pytree": lambda x: xp.sum(ravel_pytree({"a": x})[0] ** 2),
    }
    sizes = [(128, 256), (256, 256), (256, 10)]
    weights = [0.1 * normal(*size) for size in sizes]

    def loss(parameters: list[Any], x: Any, y: Any) -> Any:
        for w in parameters[:-1]:
            x = xp.tanh(x @ w)
        return xp.sum((x @ parameters[-1] - y) ** 2)

    def per_example(square: Callable[..., Any]) -> Callable[..., Any]:
        def norms(x: Any, y: Any, *parameters: Any) -> Any:
            gradients = ct.vmap(ct.grad(loss), (None, 0, 0))(list(parameters), x, y)
            return sum(ct.vmap(square)(g) for g in gradients)

        return norms

    def whole_tree(x: Any, y: Any, *parameters: Any) -> Any:
        gradients = ct.vmap(ct.grad(loss), (None, 0, 0))(list(parameters), x, y)
        return ct.vmap(lambda tree: xp.sum(ravel_pytree(tree)[0] ** 2))(gradients)

    norms = {name: per_example(square) for name, square in squares.items()} | {"ravel_pytree of all": whole_tree}
    batch = [normal(32, 128), normal(32, 10), *weights]
    rows: Spellings = {
        "concatenate": lambda x: xp.concatenate([x[i : i + 1] * 2 for i in range(len(x))]),
        "stack": lambda x: xp.stack([x[i] * 2 for i in range(len(x))]),
        "vstack": lambda x: xp.vstack([x[i] * 2 for i in range(len(x))]),
        "array of a list": lambda x: xp.array([x[i] * 2 for i in range(len(x))]),
    }
    products: Spellings = {
        "x @ w": lambda x, w: x @ w,
        "dot": lambda x, w: xp.dot(x, w),
        "einsum": lambda x, w: xp.einsum("ij,jk->ik", x, w),
        "tensordot": lambda x, w: xp.tensordot(x, w, 1),
        "inner": lambda x, w: xp.inner(x, w.T),
        "vmap of rows": lambda x, w: ct.vmap(lambda row: row @ w)(x),
        "vmap of columns": lambda x, w: ct.vmap(lambda column: x @ column, 1, 1)(w),
        "(w.T @ x.T).T": lambda x, w: (w.T @ x.T).T,
    }
    return {
        "sum of squares, 256 x 256": (squares, [normal(256, 256)]),
        "sum of squares, 1,000,000": (squares, [normal(1000, 1000)]),
        "norms of per-example gradients": (norms, batch),
        "norm": (
            {
                "norm": lambda x: xp.linalg.norm(x),
                "norm of ravel": lambda x: xp.linalg.norm(xp.ravel(x)),
                "norm of ravel_pytree": lambda x: xp.linalg.norm(ravel_pytree({"a": x})[0]),
                "norm of norms": lambda x: xp.linalg.norm(xp.linalg.norm(x, axis=1)),
            },
            [normal(512, 512)],
        ),
        "product, 256 x 256": (products, [normal(256, 256), normal(256, 256)]),
        "product with one row, transposed": (
            {
                "einsum": lambda s, g: xp.einsum("b,bij->ji", s, g),
                "transpose(tensordot)": lambda s, g: xp.transpose(xp.tensordot(s, g, 1)),
                "transpose first": lambda s, g: xp.tensordot(s, xp.transpose(g, (0, 2, 1)), 1),
                "sum of a product": lambda s, g: xp.sum(s[:, None, None] * g, 0).T,
            },
            [normal(32), normal(32, 512, 128)],
        ),
        "batch of products": (
            {
                "matmul": lambda a, b: a @ b,
                "einsum": lambda a, b: xp.einsum("bij,bjk->bik", a, b),
                "vmap": lambda a, b: ct.vmap(xp.matmul)(a, b),
                "transposed twice": lambda a, b: xp.swapaxes(xp.swapaxes(b, 1, 2) @ xp.swapaxes(a, 1, 2), 1, 2),
            },
            [normal(16, 64, 64), normal(16, 64, 64)],
        ),
        "trace of a product": (
            {
                "sum(a * b.T)": lambda a, b: xp.sum(a * b.T),
                "einsum": lambda a, b: xp.einsum("ij,ji->", a, b),
                "trace": lambda a, b: xp.trace(a @ b),
                "vdot": lambda a, b: xp.vdot(a, b.T),
            },
            [normal(256, 256), normal(256, 256)],
        ),
        "outer product": (
            {
                "broadcast": lambda x, y: x[:, None] * y,
                "outer": lambda x, y: xp.outer(x, y),
                "einsum": lambda x, y: xp.einsum("i,j->ij", x, y),
                "tensordot": lambda x, y: xp.tensordot(x, y, 0),
                "column by row": lambda x, y: x[:, None] @ y[None, :],
                "vmap": lambda x, y: ct.vmap(lambda a: a * y)(x),
            },
            [normal(512), normal(512)],
        ),
        "rows scaled": (
            {
                "broadcast": lambda s, x: s[:, None] * x,
                "einsum": lambda s, x: xp.einsum("i,ij->ij", s, x),
                "vmap": lambda s, x: ct.vmap(xp.multiply)(s, x),
                "transposed": lambda s, x: (x.T * s).T,
            },
            [normal(512), normal(512, 512)],
        ),
        "mean of rows": (
            {
                "mean": lambda x: xp.mean(x, 0),
                "sum / n": lambda x: xp.sum(x, 0) / len(x),
                "average": lambda x: xp.average(x, 0),
                "vmap over columns": lambda x: ct.vmap(xp.mean, 1)(x),
                "einsum": lambda x: xp.einsum("ij->j", x) / len(x),
            },
            [normal(512, 512)],
        ),
        "softmax": (
            {
                "nn.softmax": lambda x: ct.nn.softmax(x, -1),
                "exp and sum": lambda x: (lambda e: e / xp.sum(e, -1, keepdims=True))(
                    xp.exp(x - xp.max(x, -1, keepdims=True))
                ),
                "vmap": lambda x: ct.vmap(ct.nn.softmax)(x),
            },
            [normal(512, 512)],
        ),
        "rows put together": (rows, [normal(256, 256)]),
        "gradient of rows put together": (
            {name: ct.grad(lambda x, f=f: xp.sum(xp.sin(f(x)))) for name, f in rows.items()},
            [normal(256, 256)],
        ),
    }


def measure(ct: Any, seconds: float, least: Callable[..., list[float]], show: Callable[[str], None]) -> list[Group]:
    """Each group's spellings, jitted, called in turn."""
    measured = []
    for title, (spellings, arrays) in groups(ct).items():
        jitted = {name: ct.jit(f) for name, f in spellings.items()}
        given = [ct.numpy.asarray(array) for array in arrays]
        results = {name: np.asarray(f(*given)) for name, f in jitted.items()}
        first = next(iter(results.values()))
        tolerance = 1e-3 * float(np.max(np.abs(first)))
        wrong = [name for name, result in results.items() if not np.allclose(result, first, 1e-3, tolerance)]
        times = least([lambda f=f, given=given: f(*given) for f in jitted.values()], seconds)
        group = Group(title, dict(zip(jitted, times, strict=True)), f"{', '.join(wrong)} differ" if wrong else "")
        measured.append(group)
        show(f"{title:34} {min(times):10.1f} µs  {group.wrong or group.slower() or ''}")
    return measured


def section(measured: list[Group]) -> list[str]:
    """Lines of the page."""
    lines = [
        "",
        "## One quantity, written in several ways",
        "",
        f"Times of the slowest spelling as a multiple of the fastest one; those above {LIMIT} are named.",
        "",
        "| quantity | spellings | fastest, µs | slowest / fastest | above |",
        "|---|---|---|---|---|",
    ]
    for group in measured:
        best, worst = min(group.times.values()), max(group.times.values())
        above = ", ".join(f"{spelling} {ratio:.2f}" for spelling, ratio in group.slower().items())
        note = f"WRONG: {group.wrong}" if group.wrong else above
        lines.append(f"| {group.title} | {len(group.times)} | {best:.1f} | {worst / best:.2f} | {note} |")
    return lines
