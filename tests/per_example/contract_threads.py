"""A program: prints a digest of the bits of each quantity, made in each order, for `test_contract_threads.py` to run with several CT_THREADS."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
from contract_models import products
from random_models import model
from random_quantities import PLAIN, as_written, case

ORDERS = ("direct", "gram", "always", "blocks", "off")
Forms = dict[str, Callable[[Any], Any]]

# Of gradients [b, m, n], in single precision and large enough for several threads.
QUANTITIES: Forms = {
    "norms": lambda g: cnp.sum(g * g, axis=(1, 2)),
    "clipped": lambda g: cnp.einsum("b,bmn->mn", cnp.minimum(1.0, 20 / cnp.sqrt(cnp.sum(g * g, axis=(1, 2)))), g),
    "weighted": lambda g: cnp.einsum("b,bmn->mn", cnp.linspace(-1.0, 1.0, g.shape[0], dtype=g.dtype), g),
    "second moment": lambda g: cnp.mean(g * g, axis=0),
    "variance": lambda g: cnp.var(g, axis=0),
    "kernel": lambda g: (lambda v: v @ v.T)(cnp.reshape(g, (g.shape[0], -1))),
    "fourth powers": lambda g: cnp.sum(cnp.sum(g * g, axis=(1, 2)) ** 2),
    "rows": lambda g: cnp.sum(g * g, axis=2),
    "along the mean": lambda g: cnp.einsum("bmn,mn->b", g, cnp.mean(g, axis=0)),
}


def gradients_of(rng: np.random.Generator) -> dict[str, tuple[Callable[..., Any], list[np.ndarray]]]:
    """By the form of the sum: what makes [b, m, n], and of what."""
    of = lambda *shape: rng.normal(size=shape).astype(np.float32)  # noqa: E731
    b, t, m, n = 48, 12, 96, 160
    words = rng.integers(-1, m + 1, (b, t)).astype(np.int32)

    def looked_up(words: Any, d: Any) -> Any:
        return ct.vmap(lambda words, d: cnp.zeros((m, n), "float32").at[words].add(d))(words, d)

    def tied(words: Any, d: Any, a: Any) -> Any:
        return looked_up(words, d) + cnp.einsum("btm,btn->bmn", a, d)

    return {
        "one product": (lambda a, d: cnp.einsum("bm,bn->bmn", a, d), [of(b, m), of(b, n)]),
        "broadcast": (lambda a, d: a[:, :, None] * d[:, None], [of(b, m), of(b, n)]),
        "steps": (lambda a, d: cnp.einsum("tbm,tbn->bmn", cnp.tanh(a), d), [of(t, b, m), of(t, b, n)]),
        "words": (looked_up, [words, of(b, t, n)]),
        "tied": (tied, [words, of(b, t, n), of(b, t, m)]),
    }


def digest(tree: Any) -> str:
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in ct.tree.leaves(tree))).hexdigest()[:16]


def main() -> None:
    for order in ORDERS:
        with products(order):
            for form, (gradient, arrays) in gradients_of(np.random.default_rng(0)).items():
                for name, of in QUANTITIES.items():
                    program = lambda *arrays, f=gradient, of=of: of(f(*arrays))  # noqa: E731
                    print(order, form, name, digest(ct.jit(program)(*arrays)))
            for seed in range(6):
                m = model(seed)
                c = case(m, seed, 7)
                print(
                    order, seed, digest(ct.jit(lambda p, m=m, c=c: as_written(PLAIN["everything"])(m)(p, c))(m.params))
                )


if __name__ == "__main__":
    main()
