"""A function with its gradient and Hessian, whose least value a Julia program finds by Newton's method.

    python examples/julia/export.py build/valley
    julia examples/julia/main.jl build/valley

writes the library and its Julia module, and runs main.jl with them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

SIZE = 8


def rosenbrock(x):
    """A bent valley, whose floor is nearly flat; least at x = 1."""
    return cnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def derivatives(x):
    value, gradient = ct.value_and_grad(rosenbrock)(x)
    return {"value": value, "gradient": gradient, "hessian": ct.hessian(rosenbrock)(x)}


def library() -> ct.export.Exported:
    return ct.export.library("valley", {"derivatives": ct.export.function(derivatives, np.zeros(SIZE))})


def main(folder: Path) -> None:
    library().save(folder, files=("jl", "so", "ctir"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "valley"))
