"""Statistics and numerics: gpjax, matfree, orthax, quadax, traceax, sympy2jax, orbax's checkpoints."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def gpjax_kernels():
    import gpjax as gpx

    x = jnp.linspace(0, 1, 6)[:, None]
    kinds = [gpx.kernels.RBF(lengthscale=0.5), gpx.kernels.Matern32(), gpx.kernels.Periodic()]
    return [
        kernel.gram(x).to_dense() if hasattr(kernel.gram(x), "to_dense") else kernel.gram(x).as_matrix()
        for kernel in kinds
    ]


def gpjax_posterior_objective():
    import gpjax as gpx

    x = jnp.linspace(-1, 1, 12)[:, None]
    data = gpx.Dataset(X=x, y=jnp.sin(4 * x))
    prior = gpx.gps.Prior(mean_function=gpx.mean_functions.Zero(), kernel=gpx.kernels.RBF())
    posterior = prior * gpx.likelihoods.Gaussian()
    return gpx.objectives.conjugate_mll(posterior, data)


def matfree_trace():
    from matfree import stochtrace

    matrix = jnp.diag(jnp.arange(1.0, 9.0)) + 0.1
    estimate = stochtrace.estimator_monte_carlo(
        stochtrace.monte_carlo_trace(), stochtrace.sampler_signs(jnp.ones(8), num=64)
    )
    return estimate(lambda v: matrix @ v, jax.random.key(0))


def orthax_polynomials():
    import orthax

    x = jnp.linspace(-1, 1, 5)
    nodes, weights = orthax.legendre.leggauss(6)
    return orthax.legendre.legval(x, jnp.arange(4.0)), orthax.chebyshev.chebval(x, jnp.ones(5)), nodes, weights


def quadax_integrals():
    import quadax

    value, _ = quadax.quadgk(lambda t: t * jnp.log(1 + t), [0.0, 1.0])
    slope = jax.grad(lambda a: quadax.quadgk(lambda t: jnp.exp(-a * t), [0.0, 2.0])[0])(1.3)
    return value, slope, quadax.simpson(jnp.sin(jnp.linspace(0, 3, 31)), x=jnp.linspace(0, 3, 31))


def traceax_hutchinson():
    import lineax as lx
    import traceax as tx

    operator = lx.MatrixLinearOperator(jnp.diag(jnp.arange(1.0, 6.0)) + 0.2)
    return tx.HutchinsonEstimator().estimate(jax.random.key(0), operator, 10)[0]


def sympy2jax_expression():
    import sympy
    import sympy2jax

    x, y = sympy.symbols("x y")
    module = sympy2jax.SymbolicModule([sympy.sin(x) * y + 0.5, x**2 + sympy.exp(-y)])
    return module(x=jnp.array(0.3), y=jnp.array([1.0, 2.0])), jax.grad(lambda v: module(x=v, y=2.0)[0])(0.3)


def orbax_checkpoint_round_trip():
    import tempfile

    import orbax.checkpoint as ocp

    tree = {"w": jnp.arange(6.0).reshape(2, 3), "step": jnp.int32(7)}
    with tempfile.TemporaryDirectory() as folder:
        checkpointer = ocp.StandardCheckpointer()
        checkpointer.save(f"{folder}/state", tree)
        checkpointer.wait_until_finished()
        return checkpointer.restore(f"{folder}/state", tree)


def flax_checkpoint_bytes():
    from flax import serialization

    tree = {"params": {"kernel": jnp.ones((2, 3)), "bias": jnp.arange(3.0)}, "count": jnp.int32(4)}
    return serialization.from_bytes(jax.tree.map(jnp.zeros_like, tree), serialization.to_bytes(tree))


def distrax_hidden_markov_model():
    import distrax

    model = distrax.HMM(
        init_dist=distrax.Categorical(probs=jnp.array([0.5, 0.5])),
        trans_dist=distrax.Categorical(probs=jnp.array([[0.8, 0.2], [0.3, 0.7]])),
        obs_dist=distrax.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2)),
    )
    states, observations = model.sample(seed=jax.random.key(0), seq_len=12)
    return states, model.forward_backward(observations)[-1], model.viterbi(observations)


def tinygp_quasiseparable():
    from tinygp import GaussianProcess
    from tinygp.kernels import quasisep

    x = jnp.linspace(0, 5, 30)
    return jax.value_and_grad(lambda s: GaussianProcess(quasisep.Matern32(s), x, diag=0.1).log_probability(jnp.sin(x)))(
        0.7
    )


def penzai_transformer_layer():
    from penzai import pz

    layer = pz.nn.Sequential([
        pz.nn.Linear.from_config("a", jax.random.key(0), {"features": 4}, {"features": 8}),
        pz.nn.Elementwise(jax.nn.gelu),
        pz.nn.Linear.from_config("b", jax.random.key(1), {"features": 8}, {"features": 4}),
    ])  # fmt: skip
    out = layer(pz.nx.wrap(jnp.ones((2, 4)), "batch", "features"))
    return out.unwrap("batch", "features")


def evosax_gradient_free_training():
    from evosax.algorithms import Sep_CMA_ES

    x, y = jnp.linspace(-1, 1, 20)[:, None], jnp.linspace(-1, 1, 20) ** 2
    params = {"a": jnp.zeros((1, 4)), "b": jnp.zeros((4, 1))}
    strategy = Sep_CMA_ES(population_size=12, solution=params)
    defaults = strategy.default_params
    state = strategy.init(jax.random.key(0), params, defaults)

    def loss(p):
        return jnp.mean((jnp.tanh(x @ p["a"] + 1) @ p["b"] - y[:, None]) ** 2)

    @jax.jit
    def generation(state, key):
        ask, tell = jax.random.split(key)
        population, state = strategy.ask(ask, state, defaults)
        fitness = jax.vmap(loss)(population)
        state, _ = strategy.tell(tell, population, fitness, state, defaults)
        return state, fitness.min()

    return jax.lax.scan(generation, state, jax.random.split(jax.random.key(1), 8))[1]


def e3nn_linear_and_gate():
    import e3nn_jax as e3nn

    x = e3nn.normal("4x0e + 2x1o", jax.random.key(0), (3,))
    gated = e3nn.gate(e3nn.concatenate([x, e3nn.normal("2x0e", jax.random.key(1), (3,))]).regroup())
    return gated.array, e3nn.norm(x).array, x.transform_by_angles(0.1, 0.2, 0.3).array


def jraph_attention_network():
    import jraph

    nodes = jax.random.normal(jax.random.key(0), (5, 4))
    senders, receivers = jnp.array([0, 1, 2, 3, 4, 0]), jnp.array([1, 2, 3, 4, 0, 2])
    graph = jraph.GraphsTuple(nodes, None, senders, receivers, jnp.array([5]), jnp.array([6]), None)
    w = jax.random.normal(jax.random.key(1), (4, 3))
    net = jraph.GAT(
        attention_query_fn=lambda n: n @ w,
        attention_logit_fn=lambda s, r, e: jax.nn.leaky_relu(jnp.sum(s * r, -1, keepdims=True)),
        node_update_fn=jax.nn.elu,
    )
    return jax.jit(lambda g: net(g).nodes)(graph), jraph.GraphConvolution(lambda n: n @ w)(graph).nodes
