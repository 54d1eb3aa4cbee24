"""Exported functions that a library computes in this process: what the C library takes, and what the jitted function does.

    python benchmarks/exported.py [words of the names to run]

Run it with OPENBLAS_NUM_THREADS=1 to compare single threads of LAPACK.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

rng = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def definite(n: int) -> Any:
    a = rng.standard_normal((n, n))
    return (a @ a.T + n * np.eye(n)).astype(np.float32)


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "sort 1e5": (cnp.sort, [normal(100_000)]),
    "argsort 1e5": (cnp.argsort, [normal(100_000)]),
    "sort 1000 x 1000": (cnp.sort, [normal(1000, 1000)]),
    "sort 1000 x 64": (cnp.sort, [normal(1000, 64)]),
    "top_k 10 of 1e4": (lambda x: ct.lax.top_k(x, 10), [normal(10_000)]),
    "top_k 100 of 1e4": (lambda x: ct.lax.top_k(x, 100), [normal(10_000)]),
    "permutation 1e5": (lambda key: ct.random.permutation(key, 100_000), [np.array([0, 5], np.uint32)]),
    "eigh 100": (cnp.linalg.eigh, [definite(100)]),
    "eigvalsh 100": (cnp.linalg.eigvalsh, [definite(100)]),
    "cholesky 300": (cnp.linalg.cholesky, [definite(300)]),
    "cholesky 1000 x 4": (cnp.linalg.cholesky, [np.stack([definite(4)] * 1000)]),
    "lu 300": (ct.lax.linalg.lu, [definite(300)]),
    "solve 300, 300": (cnp.linalg.solve, [definite(300), normal(300, 300)]),
    "solve 300, 1": (cnp.linalg.solve, [definite(300), normal(300)]),
    "svd 30": (cnp.linalg.svd, [normal(30, 30)]),
    "svd 100": (cnp.linalg.svd, [normal(100, 100)]),
    "eig 30": (cnp.linalg.eig, [normal(30, 30)]),
    "eig 100": (cnp.linalg.eig, [normal(100, 100)]),
    "qr 100": (cnp.linalg.qr, [normal(100, 100)]),
    "qr 300": (cnp.linalg.qr, [normal(300, 300)]),
}


def best(f: Callable[[], Any], seconds: float = 0.4) -> float:
    f()
    least, end, calls = float("inf"), time.perf_counter() + seconds, 0
    while time.perf_counter() < end or calls < 3:
        start = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - start)
        calls += 1
    return least


def main() -> None:
    print(f"{'milliseconds':20s} {'exported':>10s} {'in process':>10s} {'ratio':>8s}")
    for name, (f, arguments) in CASES.items():
        if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            loaded = ct.export.load(ct.export.compile(f, *arguments, name="step").save(folder), native=True)
        jitted, arrays = ct.jit(f), [cnp.array(x) for x in arguments]
        exported = best(lambda loaded=loaded, arrays=arrays: loaded.step(*arrays))
        inside = best(lambda jitted=jitted, arrays=arrays: jitted(*arrays))
        print(f"{name:20s} {exported * 1e3:10.3f} {inside * 1e3:10.3f} {exported / inside:8.2f}", flush=True)


if __name__ == "__main__":
    main()
