"""The options of the transforms against JAX: one list of calls, made with both libraries.

Each call has to give the same values and dtypes (of Python numbers: the same kind of dtype, as JAX is run with double precision), or
an error of the same builtin class. What differs on purpose is in DIFFERENT, with the reason.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import jax
import jax.ad_checkpoint
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    """JAX keeps float64 in these tests."""
    with jax.enable_x64(True):
        yield


X = np.array([1.0, 2.0, 3.0])
ZERO = np.zeros((), jax.dtypes.float0)

# t: the library, n: its NumPy.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    # jit
    "jit static_argnums": lambda t, n: t.jit(lambda x, k: x * k, static_argnums=1)(X, 3),
    "jit static_argnums -1": lambda t, n: t.jit(lambda x, k: x * k, static_argnums=-1)(X, 3),
    "jit static_argnums unhashable": lambda t, n: t.jit(lambda x, k: x * k[0], static_argnums=1)(X, [3]),
    "jit static_argnums out of range": lambda t, n: t.jit(lambda x: x, static_argnums=3)(X),
    "jit static kw": lambda t, n: t.jit(lambda x, k: x * k, static_argnums=1)(X, k=3),
    "jit static_argnames": lambda t, n: t.jit(lambda x, *, k: x * k, static_argnames=("k",))(X, k=3),
    "jit static_argnames unknown": lambda t, n: t.jit(lambda x, *, k: x * k, static_argnames=("z",))(X, k=3),
    "jit static_argnames int": lambda t, n: t.jit(lambda x, *, k: x * k, static_argnames=(1,))(X, k=3),
    "jit static_argnums str": lambda t, n: t.jit(lambda x, k: x * k, static_argnums="k")(X, 3),
    "jit donate_argnums": lambda t, n: t.jit(lambda x, k: x * k, donate_argnums=(0,))(n.array(X), 3.0),
    "jit donate_argnames": lambda t, n: t.jit(lambda x, k: x * k, donate_argnames="x")(n.array(X), 3.0),
    "jit donate and static": lambda t, n: t.jit(lambda x, k: x * k, donate_argnums=0, static_argnums=0)(
        n.array(X), 3.0
    ),
    "jit donate out": lambda t, n: t.jit(lambda x, k: x * k, donate_argnums=5)(n.array(X), 3.0),
    "jit keep_unused": lambda t, n: t.jit(lambda x, k: x, keep_unused=True)(X, 3.0),
    "jit inline": lambda t, n: t.jit(lambda x: t.jit(lambda y: y + 1, inline=True)(x))(X),
    "jit device": lambda t, n: t.jit(lambda x: x, device=None)(X),
    "jit not callable": lambda t, n: t.jit(3),
    "jit str argument": lambda t, n: t.jit(lambda x: x)("a"),
    "jit returns str": lambda t, n: t.jit(lambda x: "a")(X),
    "jit returns None": lambda t, n: t.jit(lambda x: None)(X),
    "jit generator": lambda t, n: t.jit(lambda: (yield)),
    "jit static missing": lambda t, n: t.jit(lambda x, k=2: x * k, static_argnums=1)(X),
    "jit lower compile": lambda t, n: t.jit(lambda x: x + 1).lower(X).compile()(X),
    "jit lower specs": lambda t, n: t.jit(lambda x: x + 1).lower(t.ShapeDtypeStruct((3,), np.float64)).compile()(X),
    "jit compile other shape": lambda t, n: t.jit(lambda x: x + 1).lower(X).compile()(X[:2]),
    "jit compile other structure": lambda t, n: t.jit(lambda x: x + 1).lower(X).compile()((X,)),
    "jit lower static": lambda t, n: t.jit(lambda x, k: x + k, static_argnums=1).lower(X, 2).compile()(X),
    "jit lower kw": lambda t, n: t.jit(lambda x, k: x + k).lower(X, k=2.0).compile()(X, k=3.0),
    "jit trace": lambda t, n: t.jit(lambda x: x + 1).trace(X).lower().compile()(X),
    "jit trace out_info": lambda t, n: [t.jit(lambda x: {"a": x + 1}).trace(X).out_info["a"].shape],
    "jit lower out_info": lambda t, n: [str(t.jit(lambda x: {"a": x + 1}).lower(X).out_info["a"].dtype)],
    "jit lower in_tree": lambda t, n: t.jit(lambda x: {"a": x + 1}).lower(X).in_tree.num_leaves,
    "jit eval_shape": lambda t, n: [t.jit(lambda x: x + 1).eval_shape(X).shape],
    "jit clear_cache": lambda t, n: t.jit(lambda x: x + 1).clear_cache(),
    "jit wrapped": lambda t, n: t.jit(lambda x: x + 1).__wrapped__(1.0),
    "jit decorator args": lambda t, n: t.jit(static_argnames="k")(lambda x, k: x * k)(X, k=2),
    "jit method": lambda t, n: type("A", (), {"f": t.jit(lambda self, x: x + self.v, static_argnums=0), "v": 3})().f(X),
    # grad
    "grad": lambda t, n: t.grad(lambda x: (x**2).sum())(X),
    "grad neg argnums": lambda t, n: t.grad(lambda x, y: (x * y).sum(), argnums=-1)(X, X),
    "grad tuple": lambda t, n: t.grad(lambda x, y: (x * y).sum(), argnums=(1, 0))(X, 2 * X),
    "grad list": lambda t, n: t.grad(lambda x, y: (x * y).sum(), argnums=[1, 0])(X, 2 * X),
    "grad dup": lambda t, n: t.grad(lambda x, y: (x * y).sum(), argnums=(0, 0))(X, 2 * X),
    "grad empty": lambda t, n: t.grad(lambda x, y: (x * y).sum(), argnums=())(X, 2 * X),
    "grad out of range": lambda t, n: t.grad(lambda x: x, argnums=2)(1.0),
    "grad neg out of range": lambda t, n: t.grad(lambda x: x, argnums=-2)(1.0),
    "grad kw only": lambda t, n: t.grad(lambda x: x)(x=1.0),
    "grad float argnums": lambda t, n: t.grad(lambda x: x, argnums=1.0)(1.0),
    "grad str argnums": lambda t, n: t.grad(lambda x: x, argnums="x")(1.0),
    "grad int": lambda t, n: t.grad(lambda x: x * 1.0)(1),
    "grad bool": lambda t, n: t.grad(lambda x: x * 1.0)(True),
    "grad allow_int": lambda t, n: t.grad(lambda x: x * 1.0, allow_int=True)(1),
    "grad vector": lambda t, n: t.grad(lambda x: x)(X),
    "grad tuple out": lambda t, n: t.grad(lambda x: (x, x))(1.0),
    "grad None out": lambda t, n: t.grad(lambda x: None)(1.0),
    "grad int out": lambda t, n: t.grad(lambda x: n.int32(3))(1.0),
    "grad python out": lambda t, n: t.grad(lambda x: 3.0)(1.0),
    "grad python int out": lambda t, n: t.grad(lambda x: 3)(1.0),
    "grad complex in": lambda t, n: t.grad(lambda x: x)(1j),
    "grad complex out": lambda t, n: t.grad(lambda x: x * 1j)(1.0),
    "grad holo": lambda t, n: t.grad(lambda x: x * x * x, holomorphic=True)(1 + 2j),
    "grad holo real": lambda t, n: t.grad(lambda x: x * x * x, holomorphic=True)(1.0),
    "grad holo real out": lambda t, n: t.grad(lambda x: x.real, holomorphic=True)(1.0j),
    "grad aux": lambda t, n: t.grad(lambda x: (x * x, {"a": x}), has_aux=True)(3.0),
    "grad aux bad": lambda t, n: t.grad(lambda x: x * x, has_aux=True)(3.0),
    "grad aux triple": lambda t, n: t.grad(lambda x: (x, x, x), has_aux=True)(3.0),
    "grad aux str": lambda t, n: t.grad(lambda x: (x, "a"), has_aux=True)(3.0),
    "vag aux": lambda t, n: t.value_and_grad(lambda x: (x * x, {"a": x}), has_aux=True)(3.0),
    "grad reduce_axes": lambda t, n: t.grad(lambda x: x * x, reduce_axes=())(3.0),
    "vag reduce_axes": lambda t, n: t.value_and_grad(lambda x: x * x, reduce_axes=())(3.0),
    "grad not callable": lambda t, n: t.grad(1),
    "grad str arg": lambda t, n: t.grad(lambda x: x)("a"),
    "grad kwargs": lambda t, n: t.grad(lambda x, k: x * k)(2.0, k=3.0),
    # vjp jvp
    "vjp": lambda t, n: t.vjp(lambda x, y: x * y, 2.0, 3.0)[1](1.0),
    "vjp aux": lambda t, n: (lambda r: (r[0], r[1](1.0), r[2]))(t.vjp(lambda x: (x * x, x + 1), 2.0, has_aux=True)),
    "vjp aux bad": lambda t, n: t.vjp(lambda x: x * x, 2.0, has_aux=True),
    "vjp aux triple": lambda t, n: t.vjp(lambda x: (x, x, x), 2.0, has_aux=True),
    "vjp ct shape": lambda t, n: t.vjp(lambda x: x * x, X)[1](X[:2]),
    "vjp ct dtype": lambda t, n: t.vjp(lambda x: x * x, X)[1](X.astype(np.float32)),
    "vjp ct int": lambda t, n: t.vjp(lambda x: x * x, X)[1](np.array([1, 2, 3])),
    "vjp ct python int": lambda t, n: t.vjp(lambda x: x * x, 2.0)[1](1),
    "vjp ct structure": lambda t, n: t.vjp(lambda x: (x, x), 2.0)[1](1.0),
    "vjp ct structure2": lambda t, n: t.vjp(lambda x: (x, x), 2.0)[1]([1.0, 1.0]),
    "vjp ct none": lambda t, n: t.vjp(lambda x: x, 2.0)[1](None),
    "vjp two cts": lambda t, n: t.vjp(lambda x: (x, x), 2.0)[1](1.0, 1.0),
    "vjp int in": lambda t, n: t.vjp(lambda x, i: x * i, 2.0, 3)[1](1.0)[0],
    "vjp int out": lambda t, n: t.vjp(lambda x: (x, 3), 2.0)[1]((1.0, ZERO)),
    "vjp no args": lambda t, n: t.vjp(lambda: 3.0)[1](1.0),
    "vjp reduce_axes": lambda t, n: t.vjp(lambda x: x * x, 2.0, reduce_axes=())[1](1.0),
    "vjp not callable": lambda t, n: t.vjp(1, 2.0),
    "jvp": lambda t, n: t.jvp(lambda x, y: x * y, (2.0, 3.0), (1.0, 0.5)),
    "jvp list": lambda t, n: t.jvp(lambda x, y: x * y, [2.0, 3.0], [1.0, 0.5]),
    "jvp not tuple": lambda t, n: t.jvp(lambda x: x, 2.0, 1.0),
    "jvp mixed": lambda t, n: t.jvp(lambda x: x, (2.0,), [1.0]),
    "jvp len": lambda t, n: t.jvp(lambda x: x, (2.0,), (1.0, 2.0)),
    "jvp shape": lambda t, n: t.jvp(lambda x: x, (X,), (X[:2],)),
    "jvp dtype": lambda t, n: t.jvp(lambda x: x, (X,), (X.astype(np.float32),)),
    "jvp int tangent": lambda t, n: t.jvp(lambda x: x, (2.0,), (1,)),
    "jvp int primal": lambda t, n: t.jvp(lambda x: x * 2, (2,), (1,)),
    "jvp int primal float0": lambda t, n: t.jvp(lambda x: x * 2.0, (2,), (ZERO,)),
    "jvp structure": lambda t, n: t.jvp(lambda x: x, ((2.0,),), ([1.0],)),
    "jvp aux": lambda t, n: t.jvp(lambda x: (x * x, {"a": x}), (2.0,), (1.0,), has_aux=True),
    "jvp aux bad": lambda t, n: t.jvp(lambda x: x, (2.0,), (1.0,), has_aux=True),
    "jvp none tangent": lambda t, n: t.jvp(lambda x: x, (2.0,), (None,)),
    "jvp not callable": lambda t, n: t.jvp(1, (2.0,), (1.0,)),
    "linearize": lambda t, n: (lambda r: (r[0], r[1](2.0)))(t.linearize(lambda x: x * x, 3.0)),
    "linearize aux": lambda t, n: (lambda r: (r[0], r[1](2.0), r[2]))(
        t.linearize(lambda x: (x * x, x), 3.0, has_aux=True)
    ),
    "linearize shape": lambda t, n: t.linearize(lambda x: x * x, X)[1](X[:2]),
    "linearize dtype": lambda t, n: t.linearize(lambda x: x * x, X)[1](X.astype(np.float32)),
    "linearize structure": lambda t, n: t.linearize(lambda x: x * x, X)[1](X, X),
    "linearize int": lambda t, n: t.linearize(lambda x: x * x, 3)[0],
    "linear_transpose": lambda t, n: t.linear_transpose(lambda x: 2 * x, X)(X),
    "linear_transpose spec": lambda t, n: t.linear_transpose(lambda x: 2 * x, t.ShapeDtypeStruct((3,), np.float64))(X),
    "linear_transpose two": lambda t, n: t.linear_transpose(lambda x, y: 2 * x + y, X, X)(X),
    "linear_transpose nonlinear": lambda t, n: t.linear_transpose(lambda x: x * x, X)(X),
    "linear_transpose shape": lambda t, n: t.linear_transpose(lambda x: 2 * x, X)(X[:2]),
    "linear_transpose dtype": lambda t, n: t.linear_transpose(lambda x: 2 * x, X)(X.astype(np.float32)),
    "linear_transpose structure": lambda t, n: t.linear_transpose(lambda x: (x, x), X)(X),
    "linear_transpose int": lambda t, n: t.linear_transpose(lambda x: 2 * x, 3)(3),
    "linear_transpose tree": lambda t, n: t.linear_transpose(lambda d: d["a"] * 2, {"a": X})(X),
    "linear_transpose jit": lambda t, n: t.jit(lambda v: t.linear_transpose(lambda x: 2 * x, X)(v))(X),
    "linear_transpose affine": lambda t, n: t.linear_transpose(lambda x: 2 * x + 1, X)(X),
    # jac
    "jacfwd": lambda t, n: t.jacfwd(lambda x: x**2)(X),
    "jacrev": lambda t, n: t.jacrev(lambda x: x**2)(X),
    "jacrev allow_int": lambda t, n: t.jacrev(lambda x: x * 1.0, allow_int=True)(np.array([1, 2])),
    "jacrev allow_int mixed": lambda t, n: t.jacrev(lambda x, y: y * x, argnums=1, allow_int=True)(
        np.array([1, 2]), X[:2]
    ),
    "jacfwd int": lambda t, n: t.jacfwd(lambda x: x * 1.0)(np.array([1, 2])),
    "jacrev int": lambda t, n: t.jacrev(lambda x: x * 1.0)(np.array([1, 2])),
    "jacfwd complex": lambda t, n: t.jacfwd(lambda x: x)(1j * X),
    "jacrev complex": lambda t, n: t.jacrev(lambda x: x)(1j * X),
    "jacrev complex out": lambda t, n: t.jacrev(lambda x: x * 1j)(X),
    "jacfwd complex out": lambda t, n: t.jacfwd(lambda x: x * 1j)(X),
    "jacfwd holo": lambda t, n: t.jacfwd(lambda x: x**2, holomorphic=True)(1j * X),
    "jacrev holo": lambda t, n: t.jacrev(lambda x: x**2, holomorphic=True)(1j * X),
    "jacfwd holo real": lambda t, n: t.jacfwd(lambda x: x**2, holomorphic=True)(X),
    "jacrev holo real": lambda t, n: t.jacrev(lambda x: x**2, holomorphic=True)(X),
    "jacfwd aux": lambda t, n: t.jacfwd(lambda x: (x**2, x), has_aux=True)(X),
    "jacrev aux": lambda t, n: t.jacrev(lambda x: (x**2, x), has_aux=True)(X),
    "jacrev argnums": lambda t, n: t.jacrev(lambda x, y: x * y, argnums=(0, -1))(X, X),
    "jacfwd tree": lambda t, n: t.jacfwd(lambda x: {"a": x["b"] ** 2})({"b": X}),
    "jacrev int out": lambda t, n: t.jacrev(lambda x: x.astype(int))(X),
    "jacfwd int out": lambda t, n: t.jacfwd(lambda x: x.astype(int))(X),
    "hessian": lambda t, n: t.hessian(lambda x: (x**3).sum())(X),
    "hessian argnums": lambda t, n: t.hessian(lambda x, y: (x**3 * y).sum(), argnums=(0, 1))(X, X),
    "hessian aux": lambda t, n: t.hessian(lambda x: ((x**3).sum(), x), has_aux=True)(X),
    "hessian holo": lambda t, n: t.hessian(lambda x: (x**3).sum(), holomorphic=True)(1j * X),
    # vmap
    "vmap": lambda t, n: t.vmap(lambda x, y: x * y)(X, X),
    "vmap in_axes list": lambda t, n: t.vmap(lambda x, y: x * y, in_axes=[0, None])(X, 2.0),
    "vmap in_axes nested": lambda t, n: t.vmap(lambda x: x["a"] * x["b"], in_axes=({"a": 0, "b": None},))(
        {"a": X, "b": 2.0}
    ),
    "vmap in_axes prefix": lambda t, n: t.vmap(lambda x: x[0] * x[1], in_axes=(0,))((X, X)),
    "vmap in_axes bad struct": lambda t, n: t.vmap(lambda x: x["a"], in_axes=({"b": 0},))({"a": X}),
    "vmap in_axes len": lambda t, n: t.vmap(lambda x: x, in_axes=(0, 0))(X),
    "vmap in_axes str": lambda t, n: t.vmap(lambda x: x, in_axes="a")(X),
    "vmap in_axes float": lambda t, n: t.vmap(lambda x: x, in_axes=1.0)(X),
    "vmap in_axes bool": lambda t, n: t.vmap(lambda x: x, in_axes=False)(X),
    "vmap neg": lambda t, n: t.vmap(lambda x: x, in_axes=-1)(np.ones((2, 3))),
    "vmap out of range": lambda t, n: t.vmap(lambda x: x, in_axes=2)(X),
    "vmap scalar": lambda t, n: t.vmap(lambda x: x)(1.0),
    "vmap sizes": lambda t, n: t.vmap(lambda x, y: x)(X, X[:2]),
    "vmap all None": lambda t, n: t.vmap(lambda x: x, in_axes=None)(X),
    "vmap axis_size": lambda t, n: t.vmap(lambda x: x, in_axes=None, axis_size=2)(X),
    "vmap axis_size conflict": lambda t, n: t.vmap(lambda x: x, axis_size=2)(X),
    "vmap no args": lambda t, n: t.vmap(lambda: 3.0, axis_size=2)(),
    "vmap out_axes": lambda t, n: t.vmap(lambda x: (x, x.sum()), out_axes=(1, 0))(np.ones((2, 3))),
    "vmap out_axes none": lambda t, n: t.vmap(lambda x: 3.0, out_axes=None)(X),
    "vmap out_axes none bad": lambda t, n: t.vmap(lambda x: x, out_axes=None)(X),
    "vmap out_axes bad": lambda t, n: t.vmap(lambda x: x, out_axes=3)(X),
    "vmap out_axes struct": lambda t, n: t.vmap(lambda x: x, out_axes=(0, 0))(X),
    "vmap out_axes dict": lambda t, n: t.vmap(lambda x: {"a": x, "b": x}, out_axes={"a": 0, "b": -1})(np.ones((2, 3))),
    "vmap out_axes list for tuple": lambda t, n: t.vmap(lambda x: (x, x), out_axes=[0, 0])(X),
    "vmap axis_name": lambda t, n: t.vmap(lambda x: t.lax.psum(x, "i"), axis_name="i")(X),
    "vmap axis_name wrong": lambda t, n: t.vmap(lambda x: t.lax.psum(x, "j"), axis_name="i")(X),
    "vmap spmd": lambda t, n: t.vmap(lambda x: x, spmd_axis_name="i")(X),
    "vmap kwargs": lambda t, n: t.vmap(lambda x, y: x * y)(X, y=X),
    "vmap kw in_axes": lambda t, n: t.vmap(lambda x, y: x * y, in_axes=(None,))(2.0, y=X),
    "vmap not callable": lambda t, n: t.vmap(2),
    "vmap None leaf": lambda t, n: t.vmap(lambda x: x[0], in_axes=((0, None),))((X, None)),
    "vmap args none in tree": lambda t, n: t.vmap(lambda x: x[0])((X, None)),
    "vmap in_axes None tree": lambda t, n: t.vmap(lambda x, y: x * y["a"], in_axes=(0, {"a": None}))(X, {"a": 2.0}),
    # checkpoint
    "checkpoint": lambda t, n: t.grad(t.checkpoint(lambda x: n.sin(n.sin(x))))(1.0),
    "checkpoint static": lambda t, n: t.grad(t.checkpoint(lambda x, k: n.sin(x) * k, static_argnums=(1,)))(1.0, 3),
    "checkpoint static neg": lambda t, n: t.grad(
        t.checkpoint(lambda x, k: n.sin(x) * (2 if k else 1), static_argnums=-1)
    )(1.0, True),
    "checkpoint policy": lambda t, n: t.grad(
        t.checkpoint(lambda x: n.sin(n.sin(x)), policy=t.checkpoint_policies.everything_saveable)
    )(1.0),
    "checkpoint cse": lambda t, n: t.grad(t.checkpoint(lambda x: n.sin(n.sin(x)), prevent_cse=False))(1.0),
    "checkpoint decorator": lambda t, n: t.grad(
        t.checkpoint(policy=t.checkpoint_policies.dots_saveable)(lambda x: n.sin(x))
    )(1.0),
    "remat": lambda t, n: t.grad(t.remat(lambda x: n.sin(x)))(1.0),
    "checkpoint static out": lambda t, n: t.grad(t.checkpoint(lambda x, k: x, static_argnums=(4,)))(1.0, 3),
    "checkpoint static unhash": lambda t, n: t.grad(t.checkpoint(lambda x, k: x * k[0], static_argnums=(1,)))(1.0, [3]),
    "checkpoint not callable": lambda t, n: t.checkpoint(3),
    "checkpoint bad policy": lambda t, n: t.grad(t.checkpoint(lambda x: x, policy=3))(1.0),
    "checkpoint jvp": lambda t, n: t.jvp(t.checkpoint(lambda x: n.sin(x)), (1.0,), (1.0,)),
    # eval_shape
    "eval_shape": lambda t, n: [t.eval_shape(lambda x: x[None], X).shape],
    "eval_shape spec": lambda t, n: [t.eval_shape(lambda x: x[None], t.ShapeDtypeStruct((3,), np.float32)).shape],
    "eval_shape kw": lambda t, n: [t.eval_shape(lambda x, k: x * k, X, k=2.0).shape],
    "eval_shape bad": lambda t, n: t.eval_shape(lambda x: x @ x[:2], X),
    "sds": lambda t, n: [
        t.ShapeDtypeStruct((3, 4), np.float32).size,
        t.ShapeDtypeStruct((3, 4), np.float32).ndim,
        len(t.ShapeDtypeStruct((3, 4), np.float32)),
    ],
    "sds eq": lambda t, n: t.ShapeDtypeStruct((3, 4), np.float32) == t.ShapeDtypeStruct([3, 4], "float32"),
    "sds hash": lambda t, n: len({t.ShapeDtypeStruct((3, 4), np.float32), t.ShapeDtypeStruct((3, 4), np.float32)}),
    "sds none dtype": lambda t, n: t.ShapeDtypeStruct((3, 4), None),
    "sds weak": lambda t, n: t.ShapeDtypeStruct((3, 4), np.float32, weak_type=True).weak_type,
    "sds update": lambda t, n: [t.ShapeDtypeStruct((3, 4), np.float32).update(shape=(2,)).shape],
    "sds sharding": lambda t, n: t.ShapeDtypeStruct((3, 4), np.float32, sharding=None).sharding is None,
    "sds len0": lambda t, n: len(t.ShapeDtypeStruct((), np.float32)),
    "device_put": lambda t, n: t.device_put({"a": X, "b": 2})["a"],
    "device_get": lambda t, n: t.device_get({"a": n.array(X)})["a"],
    "device_get type": lambda t, n: type(t.device_get({"a": n.array(X)})["a"]) is np.ndarray,
    "device_get scalar": lambda t, n: type(t.device_get(2.0)).__name__,
    "block": lambda t, n: t.block_until_ready({"a": n.array(X)})["a"],
    "block method": lambda t, n: n.array(X).block_until_ready(),
    "is_deleted": lambda t, n: n.array(X).is_deleted(),
    "delete": lambda t, n: (lambda a: (a.delete(), a.is_deleted())[1])(n.array(X)),
    "custom_jvp not callable": "JAX notices when it is called",
    "custom_vjp not callable": "JAX notices when it is called",
    "custom_jvp nondiff_argnames unknown": "a name of no argument is an error, as with jit",
    "defjvps all None": "a function without derivative has zero derivatives; JAX fails",
    "use deleted": lambda t, n: (lambda a: (a.delete(), a + 1)[1])(n.array(X)),
    "delete twice": lambda t, n: (lambda a: (a.delete(), a.delete(), a.is_deleted())[2])(n.array(X)),
    "deleted shape": lambda t, n: (lambda a: (a.delete(), a.shape)[1])(n.array(X)),
    "deleted repr": lambda t, n: (lambda a: (a.delete(), isinstance(repr(a), str))[1])(n.array(X)),
    "donated is_deleted": lambda t, n: (lambda a: (t.jit(lambda x: x + 1, donate_argnums=0)(a), a.is_deleted())[1])(
        n.array(X) + 0
    ),
    "wrapped vmap": lambda t, n: t.vmap(lambda x: x + 1).__wrapped__(1.0),
    "wrapped grad": lambda t, n: t.grad(lambda x: x + 1).__wrapped__(1.0),
    "make_jaxpr": lambda t, n: t.make_jaxpr(lambda x: x + 1)(1.0) is not None,
    "make_jaxpr static": lambda t, n: t.make_jaxpr(lambda x, k: x + k, static_argnums=1)(1.0, 2) is not None,
    "make_jaxpr shape": lambda t, n: [t.make_jaxpr(lambda x, k: (x + k, x), return_shape=True)(X, 2.0)[1][0].shape],
    "fwd_and_bwd": lambda t, n: (lambda fb: (lambda r: fb[1](r[1], 1.0))(fb[0](2.0, 3.0)))(
        t.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    ),
    "fwd_and_bwd int": lambda t, n: (lambda fb: (lambda r: fb[1](r[1], 1.0))(fb[0](2.0, 3.0)))(
        t.fwd_and_bwd(lambda x, y: x * y, argnums=0)
    ),
    "fwd_and_bwd aux": lambda t, n: (lambda fb: (lambda r: (r[0], r[1], fb[1](r[2], 1.0)))(fb[0](2.0, 3.0)))(
        t.fwd_and_bwd(lambda x, y: (x * y, x), argnums=(0, 1), has_aux=True)
    ),
}


def jvp_function(t: Any, rule: Any = None, **options: Any) -> Any:
    """x y, with ten times its derivative unless the rule says something else."""
    defjvp = {k: options.pop(k) for k in ("symbolic_zeros",) if k in options}
    f = t.custom_jvp(lambda x, y: x * y, **options)
    f.defjvp(rule or (lambda p, d: (p[0] * p[1], 10 * (d[0] * p[1] + p[0] * d[1]))), **defjvp)
    return f


def jvps_function(t: Any, *rules: Any, **options: Any) -> Any:
    f = t.custom_jvp(lambda x, y: x * y, **options)
    f.defjvps(*rules)
    return f


def vjp_function(t: Any, bwd: Any = None, fwd: Any = None, **options: Any) -> Any:
    """x y, with ten times its derivative unless the rules say something else."""
    defvjp = {k: options.pop(k) for k in ("symbolic_zeros", "optimize_remat") if k in options}
    f = t.custom_vjp(lambda x, y: x * y, **options)
    f.defvjp(fwd or (lambda x, y: (x * y, (x, y))), bwd or (lambda r, g: (10 * g * r[1], 10 * g * r[0])), **defvjp)
    return f


BOTH = {"argnums": (0, 1)}
CALLS |= {
    "custom_jvp": lambda t, n: t.grad(jvp_function(t), **BOTH)(2.0, 3.0),
    "custom_jvp jvp": lambda t, n: t.jvp(jvp_function(t), (2.0, 3.0), (1.0, 1.0)),
    "custom_jvp keywords": lambda t, n: t.grad(lambda x: jvp_function(t)(y=x, x=2.0))(3.0),
    "custom_jvp no rule": lambda t, n: t.grad(t.custom_jvp(lambda x: x))(2.0),
    "custom_jvp not callable": lambda t, n: t.custom_jvp(3),
    "custom_jvp rule returns one": lambda t, n: t.grad(jvp_function(t, lambda p, d: p[0]))(2.0, 3.0),
    "custom_jvp rule returns three": lambda t, n: t.grad(jvp_function(t, lambda p, d: (p[0], d[0], d[0])))(2.0, 3.0),
    "custom_jvp tangent shape": lambda t, n: t.grad(jvp_function(t, lambda p, d: (p[0], n.stack([d[0]] * 2))))(
        2.0, 3.0
    ),
    "custom_jvp tangent structure": lambda t, n: t.grad(jvp_function(t, lambda p, d: (p[0], (d[0],))))(2.0, 3.0),
    "custom_jvp output shape": lambda t, n: t.grad(jvp_function(t, lambda p, d: (n.ones(2), n.ones(2))))(2.0, 3.0),
    "custom_jvp nondiff_argnums": lambda t, n: t.grad(
        jvp_function(t, lambda y, p, d: (p[0] * y, 7 * d[0]), nondiff_argnums=(1,))
    )(2.0, 3.0),
    "custom_jvp nondiff_argnames": lambda t, n: t.grad(
        jvp_function(t, lambda y, p, d: (p[0] * y, 7 * d[0]), nondiff_argnames=("y",))
    )(2.0, 3.0),
    "custom_jvp nondiff_argnames unknown": lambda t, n: jvp_function(t, nondiff_argnames=("z",))(2.0, 3.0),
    "custom_jvp symbolic_zeros": lambda t, n: t.grad(
        jvp_function(t, lambda p, d: (p[0] * p[1], d[0] * 5), symbolic_zeros=True)
    )(2.0, 3.0),
    "custom_jvp vmap": lambda t, n: t.vmap(t.grad(jvp_function(t), **BOTH), (0, None))(X, 3.0),
    "custom_jvp jit": lambda t, n: t.jit(t.grad(t.jit(jvp_function(t)), **BOTH))(2.0, 3.0),
    "defjvps": lambda t, n: t.grad(
        jvps_function(t, lambda d, out, x, y: 3 * d * y, lambda d, out, x, y: 5 * d * out), **BOTH
    )(2.0, 3.0),
    "defjvps None": lambda t, n: t.grad(jvps_function(t, lambda d, out, x, y: 3 * d * y, None), **BOTH)(2.0, 3.0),
    "defjvps all None": lambda t, n: t.grad(jvps_function(t, None, None), **BOTH)(2.0, 3.0),
    "defjvps too few": lambda t, n: t.grad(jvps_function(t, None), **BOTH)(2.0, 3.0),
    "defjvps nondiff_argnums": lambda t, n: jvps_function(t, None, None, nondiff_argnums=(1,)),
    "custom_vjp": lambda t, n: t.grad(vjp_function(t), **BOTH)(2.0, 3.0),
    "custom_vjp keywords": lambda t, n: t.grad(lambda x: vjp_function(t)(y=x, x=2.0))(3.0),
    "custom_vjp no rule": lambda t, n: t.grad(t.custom_vjp(lambda x: x))(2.0),
    "custom_vjp not callable": lambda t, n: t.custom_vjp(3),
    "custom_vjp jvp": lambda t, n: t.jvp(vjp_function(t), (2.0, 3.0), (1.0, 1.0)),
    "custom_vjp jacfwd": lambda t, n: t.jacfwd(vjp_function(t))(2.0, 3.0),
    "custom_vjp None": lambda t, n: t.grad(vjp_function(t, lambda r, g: (g, None)), **BOTH)(2.0, 3.0),
    "custom_vjp list": lambda t, n: t.grad(vjp_function(t, lambda r, g: [g, g]), **BOTH)(2.0, 3.0),
    "custom_vjp too few": lambda t, n: t.grad(vjp_function(t, lambda r, g: (g,)), **BOTH)(2.0, 3.0),
    "custom_vjp not a tuple": lambda t, n: t.grad(vjp_function(t, lambda r, g: g), **BOTH)(2.0, 3.0),
    "custom_vjp shape": lambda t, n: t.grad(vjp_function(t, lambda r, g: (n.ones(2), g)), **BOTH)(2.0, 3.0),
    "custom_vjp structure": lambda t, n: t.grad(vjp_function(t, lambda r, g: ((g,), g)), **BOTH)(2.0, 3.0),
    "custom_vjp forward returns one": lambda t, n: t.grad(vjp_function(t, None, lambda x, y: x * y))(2.0, 3.0),
    "custom_vjp forward shape": lambda t, n: t.grad(vjp_function(t, None, lambda x, y: (n.ones(2), (x, y))))(2.0, 3.0),
    "custom_vjp forward structure": lambda t, n: t.grad(vjp_function(t, None, lambda x, y: ((x,), (x, y))))(2.0, 3.0),
    "custom_vjp nondiff_argnums": lambda t, n: t.grad(
        vjp_function(t, lambda y, r, g: (7 * g * y,), lambda x, y: (x * y, None), nondiff_argnums=(1,))
    )(2.0, 3.0),
    "custom_vjp nondiff_argnames": lambda t, n: t.grad(
        vjp_function(t, lambda y, r, g: (7 * g * y,), lambda x, y: (x * y, None), nondiff_argnames=["y"])
    )(2.0, 3.0),
    "custom_vjp symbolic_zeros": lambda t, n: t.grad(
        vjp_function(t, lambda r, g: (g * r, g), lambda x, y: (x.value * y.value, 5.0 * y.value), symbolic_zeros=True)
    )(2.0, 3.0),
    "custom_vjp optimize_remat": lambda t, n: t.grad(t.checkpoint(vjp_function(t, optimize_remat=True)))(2.0, 3.0),
    "custom_vjp integers": lambda t, n: t.grad(vjp_function(t, lambda r, g: (g, None)))(2.0, 3),
    "custom_vjp vmap": lambda t, n: t.vmap(t.grad(vjp_function(t), **BOTH), (0, None))(X, 3.0),
    "custom_vjp grad of vmap": lambda t, n: t.grad(lambda x, y: t.vmap(vjp_function(t), (0, None))(x, y).sum(), **BOTH)(
        X, 3.0
    ),
    "custom_vjp scan": lambda t, n: t.grad(
        lambda x: t.lax.scan(lambda c, y: (vjp_function(t)(c, y), None), x, n.asarray(X))[0]
    )(2.0),
    "closure_convert": lambda t, n: t.grad(
        lambda x: (lambda f, c: f(2.0, *c))(*t.closure_convert(lambda y: y * x, 2.0))
    )(3.0),
    "custom_gradient": lambda t, n: t.grad(t.custom_gradient(lambda x: (x * x, lambda g: (g * 9,))))(3.0),
    "named_call": lambda t, n: t.grad(t.named_call(lambda x: x * x, name="square"))(3.0),
    "named_call name": lambda t, n: t.named_call(lambda x: x * x, name=3)(3.0),
}
for _policy in [name for name in dir(jax.checkpoint_policies) if not name.startswith("_")]:
    CALLS[f"policy {_policy}"] = lambda t, n, name=_policy: hasattr(t.checkpoint_policies, name)  # type: ignore[misc]

DIFFERENT = {
    "grad dup": "an argument that is named twice gets its gradient twice",
    "linear_transpose nonlinear": "JAX fails an assertion",
    "linear_transpose int": "integers have no transpose",
    "jacrev allow_int": "blocks of integers are float0, as gradients of integers are",
    "jacfwd int out": "an output without derivative is an error, as it is with jacrev",
    "checkpoint decorator": "without a function a decorator is returned, as jit does",
    "checkpoint not callable": "JAX notices when it is called",
    "checkpoint bad policy": "JAX notices when the policy is asked",
    "fwd_and_bwd aux": "JAX's combination of jitted and has_aux fails",
    "custom_jvp not callable": "JAX notices when it is called",
    "custom_vjp not callable": "JAX notices when it is called",
    "custom_jvp nondiff_argnames unknown": "a name of no argument is an error, as with jit",
    "defjvps all None": "a function without derivative has zero derivatives; JAX fails",
    "deleted repr": "as it can be printed that it is deleted, it is; JAX: RuntimeError",
}
CLASSES = (TypeError, ValueError, AttributeError, NameError, RuntimeError, KeyError)


def outcome(call: Callable[[Any, Any], Any], library: Any, numpy: Any) -> tuple[bool, Any]:
    try:
        return True, call(library, numpy)
    except Exception as error:
        return False, error


def same(mine: Any, theirs: Any) -> None:
    if theirs is None or isinstance(theirs, (bool, str)):
        assert mine == theirs
        return
    found, expected = ct.tree.leaves(mine), jax.tree.leaves(theirs)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, str):
            assert a == b
            continue
        x, y = np.asarray(a), np.asarray(b)
        assert (x.shape, x.dtype.kind) == (y.shape, y.dtype.kind)
        if y.dtype != jax.dtypes.float0:
            np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", CALLS)
def test_call(name: str) -> None:
    theirs = outcome(CALLS[name], jax, jnp)
    mine = outcome(CALLS[name], ct, cnp)
    if name in DIFFERENT:
        with pytest.raises(AssertionError):
            compare(mine, theirs)
    else:
        compare(mine, theirs)


def compare(mine: tuple[bool, Any], theirs: tuple[bool, Any]) -> None:
    assert mine[0] == theirs[0], (mine[1], theirs[1])
    if mine[0]:
        same(mine[1], theirs[1])
    else:
        classes = [kind for kind in CLASSES if isinstance(theirs[1], kind)]
        assert isinstance(mine[1], tuple(classes)), (mine[1], theirs[1])


def test_stages() -> None:
    """What the stages of a jitted call say about it."""
    f = ct.jit(lambda x, k, scale: {"y": x * k * scale}, static_argnames="k")
    traced = f.trace(X, 3, scale=2.0)
    assert "mul" in traced.ir.text() and traced.ir is traced.jaxpr
    assert traced.out_info == {"y": ct.ShapeDtypeStruct((3,), "float64")}
    assert traced.args_info[0][0].shape == (3,)
    assert traced.args_info[1]["scale"].weak_type
    lowered = traced.lower()
    assert lowered.as_text() == traced.ir.text()
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(X, scale=5.0)["y"], X * 15)
    assert compiled.memory_analysis()["output_size_in_bytes"] == 24
    assert len(compiled.as_text()) > 0
    with pytest.raises(TypeError, match=r"compiled for float64\[3\].*got float64\[2\]"):
        compiled(X[:2], scale=5.0)
    with pytest.raises(TypeError, match="leave static arguments out"):
        compiled(X, 3, scale=5.0)
    with pytest.raises(TypeError, match="no transform can look into it"):
        ct.grad(lambda x: compiled(x, scale=5.0)["y"].sum())(X)
    with pytest.raises(ValueError, match="no compiler options"):
        lowered.compile({"fast": True})


def test_stages_of_closures_and_of_methods() -> None:
    table = cnp.array(X)
    assert float(ct.jit(lambda i: table[i]).lower(0).compile()(2)) == 3.0
    shape = ct.jit(lambda x: x[None]).eval_shape(ct.ShapeDtypeStruct((4,), "int8"))
    assert (shape.shape, shape.dtype) == ((1, 4), np.dtype("int8"))


def test_donation_by_name_deletes() -> None:
    x = cnp.arange(1000.0) + 0.0
    y = ct.jit(lambda k, x: x + k, donate_argnames="x")(1.0, x)
    assert x.is_deleted() and not y.is_deleted()
    assert x.shape == (1000,)
    with pytest.raises(ValueError, match="deleted, or donated"):
        x + 1


@pytest.mark.parametrize("options", [{"donate_argnames": ("d", "e")}, {"donate_argnums": (1, 2)}])
def test_donation_by_keyword(options: dict[str, Any]) -> None:
    for t, n in ((jax, jnp), (ct, cnp)):
        c, d, e = (n.arange(1000.0) + k for k in range(3))
        f = t.jit(lambda c, d, e: (d + 1.0, e["w"] * c[1]), **options)
        f(c, d=d, e={"w": e})
        assert [x.is_deleted() for x in (c, d, e)] == [False, True, True]


def test_donation_by_both() -> None:
    for t, n in ((jax, jnp), (ct, cnp)):
        x, y, z = (n.arange(1000.0) + k for k in range(3))
        f = t.jit(lambda x, y, z: (x + z[0], y + 1.0), donate_argnums=0, donate_argnames="y")
        f(x, y=y, z=z)
        assert [v.is_deleted() for v in (x, y, z)] == [True, True, False]
        x, y = n.arange(1000.0) + 1, n.arange(1000.0) + 2
        f(y=y, x=x, z=z)
        assert [v.is_deleted() for v in (x, y)] == [False, True]


def test_the_pullback_is_a_pytree() -> None:
    """So it can be returned by a jitted function, and passed to one."""
    pull = ct.jit(lambda x: ct.vjp(cnp.sin, x)[1])(X)
    np.testing.assert_allclose(ct.jit(lambda p, g: p(g))(pull, X)[0], np.cos(X) * X)
    np.testing.assert_allclose(pull(X)[0], np.cos(X) * X)


def test_linear_transpose_inside_of_a_mask() -> None:
    f = lambda x: ct.linear_transpose(lambda v: cnp.cumsum(v) * 2.0, x)(x)[0]  # noqa: E731
    padded = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})
    np.testing.assert_allclose(ct.mask(f)(padded).unpad(), f(X[:2]))


def test_saved_residuals(capsys: pytest.CaptureFixture[str]) -> None:
    f = lambda x, y: cnp.sin(x) * y  # noqa: E731
    found = ct.ad_checkpoint.saved_residuals(f, X, X)
    assert all(spec.shape == (3,) for spec, _ in found)
    assert any("argument" in where for _, where in found)
    assert any("output of" in where and "test_api_options" in where for _, where in found)
    ct.ad_checkpoint.print_saved_residuals(f, X, X)
    assert capsys.readouterr().out.count("float64[3]") == len(found)
    kept = ct.ad_checkpoint.saved_residuals(ct.checkpoint(f), X, X)
    assert all("argument" in where for _, where in kept)


def test_saved_residuals_name_arguments_as_the_function_does() -> None:
    f = lambda p, *xs, scale: (p["w"] * xs[1] * scale).sum()  # noqa: E731
    found = ct.ad_checkpoint.saved_residuals(ct.checkpoint(f), {"w": X}, X, X, scale=X)
    named = {where.removeprefix("from the argument ") for _, where in found}
    assert named == {"p['w']", "xs[1]", "scale"}
    partial = functools.partial(f, {"w": X})
    found = ct.ad_checkpoint.saved_residuals(ct.checkpoint(partial), X, X, scale=X)
    assert {where.removeprefix("from the argument ") for _, where in found} >= {"xs[1]", "scale"}


@pytest.mark.parametrize("batch_size", [None, 0, 1, 2, 3, 7, 10])
def test_map_in_batches(batch_size: int | None) -> None:
    xs = {"a": np.arange(14.0).reshape(7, 2), "b": np.arange(7)}
    f = lambda t: {"s": t["a"].sum() * t["b"], "v": t["a"] + 1}  # noqa: E731
    same(ct.lax.map(f, xs, batch_size=batch_size), jax.lax.map(f, jax.tree.map(jnp.asarray, xs), batch_size=batch_size))


@pytest.mark.parametrize("unroll", [-2, -1, 1.5, "a"])
def test_unroll_must_not_be_negative(unroll: Any) -> None:
    kind = ValueError if isinstance(unroll, int) else TypeError
    with pytest.raises(kind, match="unroll"):
        ct.lax.scan(lambda c, x: (c, x), 0.0, X, unroll=unroll)
    with pytest.raises((ValueError, kind), match="unroll"):
        ct.lax.fori_loop(0, 3, lambda i, c: c, 0.0, unroll=unroll)
    with pytest.raises(ValueError, match="batch_size"):
        ct.lax.map(lambda x: x, X, batch_size=-1)


def test_check_grads_of_rounded_and_infinite_values() -> None:
    check = ct.test_util.check_grads
    rng = np.random.default_rng(0)
    # Whole steps between points of 8 bits: what is rounded is not held against the derivative.
    for dtype in ("bfloat16", "float16"):
        x, matrix = cnp.asarray(3 * rng.normal(size=(6, 4)), dtype), cnp.asarray(rng.normal(size=(4, 3)), dtype)
        check(lambda x: x.reshape(4, 6), (x,), 2, eps=1.0)
        check(lambda x: x @ matrix, (x,), 2, eps=1.0)
    # The same infinity on both sides has no slope; one that comes and goes has none that is finite.
    check(lambda x: cnp.concatenate([x, cnp.full(2, -np.inf)]), (np.ones(3),), 2)
    for wrong in (lambda x: cnp.where(x > 1, np.inf, x), _wrong_by(1.1)):
        with pytest.raises(AssertionError):
            check(wrong, (np.ones(3),), 1)
    with pytest.raises(AssertionError, match="of output 0 against differences"):
        check(_wrong_by(1.5), (cnp.asarray([1.0, 2.0], "bfloat16"),), 1, eps=0.5)


def _wrong_by(factor: float) -> Any:
    wrong = ct.custom_jvp(lambda x: x * x)
    wrong.defjvp(lambda xs, ts: (xs[0] * xs[0], factor * 2 * xs[0] * ts[0]))
    return wrong


def test_check_grads_holds_what_is_not_floating() -> None:
    check = ct.test_util.check_grads
    check(lambda x, i: x[i] ** 3 * i, (np.arange(3.0), 1), order=2)
    check(lambda tree: tree["x"] * tree["n"] + tree["mask"], ({"x": 2.0, "n": np.arange(3), "mask": True},), order=2)
    check(lambda i: i * 2, (3,), order=1)
    with pytest.raises(AssertionError):
        check(lambda x, i: ct.lax.stop_gradient(x) * i, (2.0, 3), order=1)
