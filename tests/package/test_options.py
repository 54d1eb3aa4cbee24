"""Options of public functions: what has no effect only permits or promises something, and all else is honoured or rejected."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import lax
from places import ROOT

PACKAGE = ROOT / "python_bindings" / "cotangent"

# Parameters that public functions do not read, and why the result is what was asked for whatever they are.
PERMISSIONS = {
    *("overwrite_a", "overwrite_b", "overwrite_c", "overwrite_ab", "donate"),  # memory of arguments may be reused
    *("copy", "src"),  # arrays are values: nothing sees who holds them
    *(
        "inline",
        "keep_unused",
        "optimize_remat",
        "concrete",
        "offload_src",
        "offload_dst",
    ),  # how it is compiled, and where kept
    *("unroll", "bucket_size", "lwork", "turbo", "use_magma", "reduction_input_size_override"),  # how fast it is
    *("algorithm", "implementation"),  # ways to one result
    *("eps", "tol", "max_iterations", "accuracy"),  # errors that are accepted are larger than those there are
    *("sorted", "stable", "is_stable", "ordered", "sort_eigenvalues", "symmetrize_output"),  # it always is
    *(
        "enable_eigvec_derivs",
        "debug",
        "debug_info",
    ),  # they always have derivatives, and there is nothing to add to texts
    *("spmd_axis_name", "partitioned"),  # there is one device
}
PROMISES = {"assume_unique", "indices_are_sorted", "unique_indices", "check_finite"}
OTHERS = {
    "key": "what is not random needs none",
    "lower": "the Hermitian part has both triangles",
    "weights": "edges of equal bins depend on the range",
    "original": "keep_axes counts axes of the result",
}


def public_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from public_functions(node.body)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def unread(source: str) -> set[str]:
    """The parameters of public functions that these do not read."""
    found = set()
    for function in public_functions(ast.parse(source).body):
        if all(isinstance(node, (ast.Expr, ast.Raise)) for node in function.body):
            continue  # a signature alone, or an error whatever is given
        given = function.args
        parameters = [item for item in [*given.posonlyargs, *given.args, *given.kwonlyargs, given.kwarg] if item]
        # A placement is read by what stands in front of the function (`_base/arguments.py`).
        names = {
            item.arg for item in parameters if not (item.annotation and ast.unparse(item.annotation) == "Placement")
        }
        used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        found |= {name for name in names - used if not name.startswith("_") and name not in ("self", "cls")}
    return found


def test_what_is_not_read_only_permits_or_promises() -> None:
    # Not what has the parameters of JAX's internals: it is called by libraries, as these are.
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "jax"]
    found = {name for path in files for name in unread(path.read_text())}
    assert found - PERMISSIONS - PROMISES - OTHERS.keys() == set()
    assert (PERMISSIONS | PROMISES | OTHERS.keys()) - found == set()
    assert unread("def f(x, *, how=None):\n    del how\n    return x\n") == {"how"}


class PartitionSpec(tuple[str, ...]):
    """As other libraries say that arrays are cut along an axis of several devices."""


SEVERAL = PartitionSpec(("x",))
X = cnp.arange(4.0)
KEY = ct.random.key(0)
REJECTED: dict[str, tuple[Callable[[], Any], str]] = {
    "a placement of draws": (lambda: ct.random.normal(KEY, (2,), out_sharding=SEVERAL), "normal: .*several devices"),
    "a placement of choices": (lambda: ct.random.categorical(KEY, X, out_sharding=SEVERAL), "several devices"),
    "a placement of a permutation": (lambda: ct.random.permutation(KEY, X, out_sharding=SEVERAL), "several devices"),
    "a placement of shapes": (lambda: lax.reshape(X, (2, 2), out_sharding=SEVERAL), "reshape: .*several devices"),
    "a placement of constants": (lambda: lax.full((2,), 0, sharding=SEVERAL), "full: .*several devices"),
    "a placement of products": (lambda: lax.dot(X, X, out_sharding=SEVERAL), "several devices"),
    "a placement of updates": (lambda: X.at[0].set(1.0, out_sharding=SEVERAL), "several devices"),
    "a device of frequencies": (lambda: cnp.fft.fftfreq(4, device="tpu"), "fftfreq: unknown device 'tpu'"),
    "a precision of products": (lambda: cnp.matmul(X, X, precision="exact"), "unknown precision 'exact'"),
    "a precision of convolutions": (lambda: cnp.convolve(X, X, precision="exact"), "unknown precision"),
    "a precision of images": (lambda: ct.image.resize(X[:, None], (2, 1), "linear", precision="exact"), "precision"),
    "an order of memory": (lambda: cnp.array([1.0], order="Z"), "order must be"),
    "another process": (lambda: ct.local_devices(1), "unknown process 1"),
    "a method of derivatives": (
        lambda: ct.scipy.linalg.expm_frechet(cnp.eye(2), cnp.eye(2), method="quick"),
        "method must be",
    ),
    "a driver": (lambda: ct.scipy.linalg.svd(cnp.eye(2), lapack_driver="quick"), "lapack_driver must be"),
    "an order of a series": (lambda: ct.scipy.special.log_ndtr(X, series_order=-1), "must not be negative"),
    "a platform": (lambda: ct.jit(cnp.sin).trace(X).lower(lowering_platforms=("tpu",)), "lowering_platforms"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_cannot_be_is_rejected(name: str) -> None:
    call, message = REJECTED[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_options_of_updates() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'unique'"):
        X.at[0].set(1.0, unique=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'sorted'"):
        X.at[0].get(sorted=True)
    hints = {"indices_are_sorted": True, "unique_indices": True, "wrap_negative_indices": True, "out_sharding": None}
    assert X.at[np.array([1, 2])].add(1.0, **hints).tolist() == [0, 2, 3, 3]
    assert X.at[np.array([1, 2])].get(**hints).tolist() == [1, 2]


@pytest.mark.parametrize(
    "precision", ["highest", lax.Precision.HIGH, ("high", "default"), lax.DotAlgorithmPreset.DEFAULT]
)
def test_precisions_are_satisfied(precision: Any) -> None:
    assert float(cnp.dot(X, X, precision=precision)) == 14
    assert cnp.convolve(X, X, "valid", precision=precision).tolist() == [4]
