"""Programs of JAX alone, as its documentation writes them: transforms, control flow, random numbers, trees, custom rules, callbacks."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree


def per_example_gradients():
    loss = lambda w, x, y: (jnp.tanh(x @ w) - y) ** 2
    return jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))(
        jnp.ones(3), jnp.arange(12.0).reshape(4, 3), jnp.ones(4)
    )


def hessian_vector_products():
    f = lambda x: jnp.sum(jnp.sin(x) * x**2)
    x, v = jnp.arange(3.0), jnp.ones(3)
    return jax.jvp(jax.grad(f), (x,), (v,)), jax.hessian(f)(x) @ v, jax.jacfwd(jax.jacrev(f))(x)


def custom_clip_gradient():
    @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
    def clip(limit, x):
        return x

    clip.defvjp(lambda limit, x: (x, None), lambda limit, _, g: (jnp.clip(g, -limit, limit),))
    return jax.grad(lambda x: (clip(0.5, x) ** 3).sum())(jnp.arange(3.0))


def custom_jvp_log1pexp():
    @jax.custom_jvp
    def f(x):
        return jnp.log(1.0 + jnp.exp(x))

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), (1 - 1 / (1 + jnp.exp(x))) * t

    return jax.vmap(jax.grad(jax.grad(f)))(jnp.array([0.0, 1.0, 50.0]))


def loops():
    fib = lax.fori_loop(0, 10, lambda i, s: (s[1], s[0] + s[1]), (0, 1))
    root = lax.while_loop(lambda x: abs(x * x - 2.0) > 1e-5, lambda x: 0.5 * (x + 2.0 / x), 1.0)
    carry, ys = lax.scan(lambda c, x: (c + x, c * x), 0.0, jnp.arange(5.0), reverse=True)
    return (
        fib,
        root,
        carry,
        ys,
        lax.map(lambda x: x**2, jnp.arange(3.0)),
        lax.associative_scan(jnp.add, jnp.arange(5.0)),
    )


def branches():
    f = lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x**2], x)
    return (
        f(1, 2.0),
        f(9, 2.0),
        jax.grad(lambda x: lax.cond(x > 0, jnp.log, lambda y: y, x))(2.0),
        jax.vmap(f)(jnp.arange(3), jnp.ones(3)),
    )


def random_numbers():
    key = jax.random.PRNGKey(42)
    a, b, c = jax.random.split(key, 3)
    draws = [
        jax.random.normal(a, (3,)),
        jax.random.uniform(b, (2,), minval=-1),
        jax.random.permutation(c, 5),
        jax.random.categorical(a, jnp.zeros(4), shape=(3,)),
    ]
    more = [
        jax.random.gamma(a, 2.0, (2,)),
        jax.random.bernoulli(b, 0.3, (4,)),
        jax.random.truncated_normal(c, -1, 1, (2,)),
        jax.random.choice(a, 10, (3,), replace=False),
    ]
    return draws, more, jax.random.fold_in(key, 7), jax.random.key_data(jax.random.key(3)), jax.random.bits(a, (2,))


def trees_with_paths():
    tree = {"b": [1.0, 2.0], "a": (3.0, None)}
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    assert paths == ["['a'][0]", "['b'][0]", "['b'][1]"], paths
    return jax.tree.map(lambda x, y: x * y, tree, tree), ravel_pytree(tree)[0]


def registered_class():
    @jax.tree_util.register_pytree_node_class
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

        def tree_flatten(self):
            return (self.x, self.y), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    return jax.grad(lambda p: p.x * p.y)(Pair(2.0, 3.0))


def callbacks():
    def host(x):
        return np.asarray(x) * 2

    f = lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    seen = []
    jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(float(v)), x))(3.0)
    jax.effects_barrier()
    return jax.jit(f)(jnp.arange(3.0)), seen


def dtypes_and_promotion():
    one = jnp.ones(2, jnp.bfloat16)
    pairs = [
        one + 1,
        one * jnp.float16(2),
        jnp.int8(3) + jnp.uint8(4),
        jnp.arange(3) / 2,
        jnp.int32(7) // 2,
        2 ** jnp.arange(3),
    ]
    return [x.astype(jnp.float32) for x in pairs], [
        str(jnp.result_type(a, b)) == c
        for a, b, c in [("int32", "float16", "float16"), ("bfloat16", "float16", "float32"), (int, "int8", "int8")]
    ]


def indexing_and_updates():
    x = jnp.arange(12.0).reshape(3, 4)
    i = jnp.array([0, 2, 5])
    return (
        x[i],
        x.at[i].add(1.0),
        x.at[1, 2:].set(0.0),
        x.at[:, 0].multiply(3),
        x.at[i, i].get(mode="fill", fill_value=-1),
        lax.dynamic_slice(x, (1, 2), (2, 2)),
        lax.dynamic_update_slice(x, jnp.zeros((2, 2)), (5, 5)),
    )


def linear_algebra():
    a = jax.random.normal(jax.random.key(0), (4, 4))
    s = a @ a.T + jnp.eye(4)
    return (
        jnp.linalg.cholesky(s),
        jnp.linalg.solve(s, jnp.ones(4)),
        jnp.linalg.slogdet(s),
        jnp.linalg.eigvalsh(s),
        jax.grad(lambda s: jnp.linalg.slogdet(s)[1])(s),
        jnp.linalg.svd(a, compute_uv=False),
    )


def convolutions_and_pooling():
    x = jax.random.normal(jax.random.key(0), (1, 8, 8, 3))
    w = jax.random.normal(jax.random.key(1), (3, 3, 3, 4))
    f = lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return (
        f(x, w),
        jax.grad(lambda w: f(x, w).sum())(w),
        lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    )


def checkpointed_layers():
    def layer(x, w):
        return jnp.tanh(x @ w)

    def net(ws, x):
        for w in ws:
            x = jax.checkpoint(layer)(x, w)
        return x.sum()

    ws = jax.random.normal(jax.random.key(0), (3, 4, 4))
    return jax.grad(net)(list(ws), jnp.ones((2, 4)))


def named_axes():
    f = lambda x: x / lax.psum(x, "i") + lax.axis_index("i")
    return jax.vmap(f, axis_name="i")(jnp.arange(1.0, 5.0)), jax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(
        jnp.arange(3.0)
    )


def ahead_of_time():
    lowered = jax.jit(lambda x, n: x * n, static_argnums=1).lower(jnp.ones(3), 2)
    return lowered.compile()(jnp.arange(3.0)), jax.eval_shape(
        lambda x: x @ x, jax.ShapeDtypeStruct((3, 3), jnp.float32)
    ).shape


def vectorized_and_piecewise():
    f = jnp.vectorize(lambda a, b: jnp.dot(a, b), signature="(n),(n)->()")
    x = jnp.linspace(-2, 2, 5)
    return (
        f(jnp.ones((4, 3)), jnp.arange(3.0)),
        jnp.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x**2]),
        jnp.select([x < -1, x > 1], [x, -x], 0.0),
    )


def activations_and_initializers():
    x = jnp.linspace(-3, 3, 7)
    names = (
        "relu",
        "gelu",
        "silu",
        "softplus",
        "elu",
        "leaky_relu",
        "celu",
        "selu",
        "hard_tanh",
        "log_sigmoid",
        "softmax",
        "log_softmax",
        "glu",
    )
    kinds = [
        jax.nn.initializers.glorot_normal(),
        jax.nn.initializers.he_uniform(),
        jax.nn.initializers.orthogonal(),
        jax.nn.initializers.lecun_normal(),
    ]
    return [getattr(jax.nn, name)(x[:6]) for name in names], [kind(jax.random.key(0), (4, 3)) for kind in kinds]


def scipy_functions():
    x = jnp.linspace(0.1, 3, 5)
    s = jax.scipy.special
    return (
        s.gammaln(x),
        s.erf(x),
        s.logsumexp(x),
        s.digamma(x),
        s.betainc(2.0, 3.0, x / 4),
        jax.scipy.stats.norm.logpdf(x),
        jax.scipy.linalg.expm(jnp.eye(2)),
        s.i0e(x),
        s.xlogy(x, x),
    )


def ordinary_differential_equation():
    from jax.experimental.ode import odeint

    return jax.grad(lambda a: odeint(lambda y, t, a: -a * y, jnp.array([1.0]), jnp.linspace(0.0, 1.0, 4), a).sum())(1.3)


def minimization():
    from jax.scipy.optimize import minimize

    return minimize(lambda x: jnp.sum((x - jnp.array([1.0, 2.0])) ** 2), jnp.zeros(2), method="BFGS").x


def checked_programs():
    from jax.experimental import checkify

    def f(x):
        checkify.check(jnp.all(x > 0), "not positive: {x}", x=x)
        return jnp.log(x)

    error, out = jax.jit(checkify.checkify(f))(jnp.array([1.0, -1.0]))
    return error.get() is not None, jnp.isnan(out)


def einsum_and_tensordot():
    a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4)
    return (
        jnp.einsum("ij,jk->ik", a, b),
        jnp.einsum("ij->ji", a),
        jnp.tensordot(a, b, 1),
        jnp.einsum("...i,i", a, jnp.ones(3)),
        lax.dot_general(a, b, (((1,), (0,)), ((), ()))),
    )


def transposed_and_linearized():
    f = lambda x: jnp.sin(x) * 2
    y, linear = jax.linearize(f, jnp.arange(3.0))
    return (
        y,
        linear(jnp.ones(3)),
        jax.linear_transpose(lambda x: 3 * x[::-1], jnp.ones(3))(jnp.arange(3.0)),
        jax.vjp(f, jnp.ones(2))[1](jnp.ones(2)),
    )
