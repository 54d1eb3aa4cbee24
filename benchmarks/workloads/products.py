"""Matrix products."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from judge import OfLimit, TimesBest, Workload

from workloads.data import normal


def product(n: int, dtype: Any = np.float32, batch: tuple[int, ...] = ()) -> Any:
    def make(library: Any) -> Any:
        shape = (*batch, n, n)
        if library.name == "numpy" and dtype == ml_dtypes.bfloat16:
            return None
        if library.name == "jax" and dtype == np.float64:
            import jax

            with jax.enable_x64(True):
                inputs = [jax.numpy.asarray(normal(*shape, seed=seed, dtype=dtype)) for seed in (0, 1)]
            compiled = jax.jit(lambda a, b: a @ b)

            def run() -> Any:
                with jax.enable_x64(True):
                    return compiled(*inputs).block_until_ready()

            return run
        return library.thunk(lambda a, b: a @ b, normal(*shape, dtype=dtype), normal(*shape, seed=1, dtype=dtype))

    return make


def record(n: int, **more: Any) -> Workload:
    targets = (TimesBest(1.0),) if n < 16 else (OfLimit(0.9), TimesBest(1.0))
    return Workload(f"product {n}³", product(n), targets, flops=2 * n**3, compiled_peer=False, **more)


WORKLOADS = [
    *(record(n) for n in (8, 16, 32, 64, 128, 512)),
    record(2048),
    Workload(
        "64 products 32³", product(32, batch=(64,)), (OfLimit(0.9), TimesBest(1.0)), flops=64 * 2 * 32**3, compiled_peer=False
    ),
    Workload(
        "product 512³, float64", product(512, np.float64), (OfLimit(0.9), TimesBest(1.0)),
        flops=2 * 512**3, double=True, compiled_peer=False,
    ),
    *(
        Workload(f"product {n}³, bfloat16", product(n, ml_dtypes.bfloat16), (TimesBest(1.0),), tolerance=1e-2, compiled_peer=False)
        for n in (128, 512, 2048)
    ),
]  # fmt: skip
