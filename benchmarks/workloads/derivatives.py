"""Second derivatives and Jacobians."""

from __future__ import annotations

from typing import Any

from judge import AtMost, TimesBest, Workload

from workloads.data import normal


def hessian(library: Any) -> Any:
    if not library.functional:
        return None
    xp = library.xp
    return library.thunk(library.hessian(lambda x: xp.sum(xp.sin(x) * xp.sum(x * x))), normal(20))


def hvp(library: Any) -> Any:
    if not library.functional:
        return None
    xp = library.xp
    return library.thunk(library.hvp(lambda x: xp.sum(xp.sin(x) * xp.sum(x * x))), normal(1000), normal(1000, seed=1))


def jacobian(library: Any) -> Any:
    if not library.functional:
        return None
    matrix = library.array(normal(100, 100, scale=0.1))
    return library.thunk(library.jacrev(lambda x: library.xp.tanh(matrix @ x)), normal(100, seed=1))


WORKLOADS = [
    Workload("hessian of 20 parameters", hessian, (AtMost(8, jax=30, torch=240), TimesBest(1.0))),
    Workload("hvp, n=1000", hvp, (AtMost(1.5, jax=8.4, torch=70), TimesBest(1.0))),
    Workload("jacobian 100×100", jacobian, (AtMost(25, jax=67, torch=163), TimesBest(1.0))),
]
