"""Derivatives of complex functions follow JAX's conventions, compared number for number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import needed

jax = needed("jax")

Z = np.array([1.0 + 2.0j, -0.5 + 0.3j, 0.7 - 1.1j], np.complex64)
W = np.array([0.3 - 0.2j, 1.5 + 0.4j, -0.8 + 0.6j], np.complex64)
X = np.array([1.5, -0.3, 0.8], np.float32)

# Functions of (z, w, x): two complex vectors and a real one. Not the complex sign z / |z|: JAX takes it for constant,
# here its derivative is that of z / |z|, which the records compare with differences.
FUNCTIONS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "add real": lambda np, z, w, x: z + x,
    "mul": lambda np, z, w, x: z * w * x,
    "div": lambda np, z, w, x: z / w + x / z,
    "power": lambda np, z, w, x: z**w,
    "square": lambda np, z, w, x: z**2,
    "abs": lambda np, z, w, x: np.abs(z),
    "angle": lambda np, z, w, x: np.angle(z),
    "conj": lambda np, z, w, x: np.conj(z) * w,
    "real": lambda np, z, w, x: np.real(z) * x,
    "imag": lambda np, z, w, x: np.imag(z * w),
    "abs squared": lambda np, z, w, x: np.real(z * np.conj(z)),
    "exp": lambda np, z, w, x: np.exp(z),
    "expm1": lambda np, z, w, x: np.expm1(z),
    "log": lambda np, z, w, x: np.log(z),
    "log1p": lambda np, z, w, x: np.log1p(z),
    "sqrt": lambda np, z, w, x: np.sqrt(z),
    "sin": lambda np, z, w, x: np.sin(z),
    "cos": lambda np, z, w, x: np.cos(z),
    "tanh": lambda np, z, w, x: np.tanh(z),
    "dot": lambda np, z, w, x: np.dot(z, w),
    "vdot": lambda np, z, w, x: np.vdot(z, w),
    "outer": lambda np, z, w, x: np.outer(z, np.conj(w)),
    "sum": lambda np, z, w, x: np.sum(z) * np.sum(x),
    "prod": lambda np, z, w, x: np.prod(z),
    "cumsum": lambda np, z, w, x: np.cumsum(z * z),
    "where": lambda np, z, w, x: np.where(np.real(z) > 0, z, w),
    "from parts": lambda np, z, w, x: x + 1j * np.sin(x),
    "astype": lambda np, z, w, x: x.astype("complex64") * z,
    "indexing": lambda np, z, w, x: z[::-1] * w[np.array([0, 0, 2])],
    "linalg norm": lambda np, z, w, x: np.sqrt(np.sum(np.abs(z) ** 2)),
}


def close(a: Any, b: Any) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_jvp_and_vjp_are_those_of_jax(name: str) -> None:
    f = FUNCTIONS[name]
    ours, theirs = (lambda *a: f(cnp, *a)), (lambda *a: f(jax.numpy, *a))
    tangents = (W * (0.5 + 1j), Z - 1, X * 2)
    value, tangent = ct.jvp(ours, (Z, W, X), tangents)
    expected, expected_tangent = jax.jvp(theirs, (Z, W, X), tangents)
    close(value, expected)
    close(tangent, expected_tangent)
    assert str(tangent.dtype) == str(expected_tangent.dtype)
    draw = np.random.default_rng(0).standard_normal((2, *expected.shape))
    cotangent = (
        (draw[0] + 1j * draw[1]).astype(expected.dtype) if expected.dtype.kind == "c" else draw[0].astype("float32")
    )
    for a, b in zip(ct.vjp(ours, Z, W, X)[1](cotangent), jax.vjp(theirs, Z, W, X)[1](cotangent), strict=True):
        close(a, b)
        assert str(a.dtype) == str(b.dtype)


@pytest.mark.parametrize("name", ["mul", "exp", "square", "prod", "tanh"])
def test_holomorphic_gradients_are_those_of_jax(name: str) -> None:
    f = FUNCTIONS[name]
    ours = ct.grad(lambda z: cnp.sum(f(cnp, z, W, X)), holomorphic=True)
    theirs = jax.grad(lambda z: jax.numpy.sum(f(jax.numpy, z, W, X)), holomorphic=True)
    close(ours(Z), theirs(Z))
    close(ct.jit(ct.vmap(ours))(np.stack([Z, W])), jax.vmap(theirs)(np.stack([Z, W])))
    jacobian = ct.jacrev(lambda z: f(cnp, z, W, X), holomorphic=True)(Z)
    close(jacobian, jax.jacrev(lambda z: f(jax.numpy, z, W, X), holomorphic=True)(Z))
    close(ct.jacfwd(lambda z: f(cnp, z, W, X), holomorphic=True)(Z), jacobian)


def test_jacobians_of_real_outputs_by_complex_inputs() -> None:
    def norms(np_: Any, z: Any) -> Any:
        return np_.stack([np_.cos(np_.linalg.norm(2 * z)), np_.sum(np_.abs(z) ** 2)])

    ours = ct.jacrev(lambda z: norms(cnp, z))(Z)
    np.testing.assert_allclose(ours, jax.jacrev(lambda z: norms(jax.numpy, z))(Z), rtol=1e-5)
    with pytest.raises(ct.errors.DTypeError, match="jacrev takes them"):
        ct.jacfwd(lambda z: norms(cnp, z))(Z)
