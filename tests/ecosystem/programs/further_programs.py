"""Further libraries: mctx, rlax, kfac_jax, penzai, quax, flowjax, ott, interpax, jaxlie, signax, sparsejac, tensorflow_probability."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def mctx_search():
    import mctx

    def step(params, key, action, embedding):
        value = embedding * 0.5 + action
        out = mctx.RecurrentFnOutput(
            reward=value, discount=jnp.full_like(value, 0.9), prior_logits=jnp.zeros((2, 3)), value=value
        )
        return out, embedding + 1.0

    root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.arange(2.0))
    found = mctx.muzero_policy((), jax.random.key(0), root, step, num_simulations=8)
    return found.action, found.action_weights


def mctx_gumbel_search():
    import mctx

    def step(params, key, action, embedding):
        value = jnp.sin(embedding + action)
        out = mctx.RecurrentFnOutput(
            reward=value, discount=jnp.full_like(value, 0.9), prior_logits=jnp.zeros((2, 3)), value=value
        )
        return out, embedding + 1.0

    root = mctx.RootFnOutput(prior_logits=jnp.zeros((2, 3)), value=jnp.zeros(2), embedding=jnp.arange(2.0))
    return jax.jit(lambda key: mctx.gumbel_muzero_policy((), key, root, step, num_simulations=6).action_weights)(
        jax.random.key(0)
    )


def rlax_losses():
    import rlax

    q, a = jnp.array([1.0, 2.0, 0.5]), jnp.array(1)
    rewards, discounts, values = jnp.arange(4.0), jnp.full(4, 0.9), jnp.ones(4)
    return (
        rlax.q_learning(q, a, jnp.array(1.0), jnp.array(0.9), q[::-1]),
        rlax.lambda_returns(rewards, discounts, values, 0.9),
        rlax.vtrace(values, values, rewards, discounts, jnp.ones(4)),
        jax.grad(lambda logits: rlax.policy_gradient_loss(logits, jnp.array([0, 1]), jnp.ones(2), jnp.ones(2)))(
            jnp.zeros((2, 3))
        ),
    )


def rlax_transforms():
    import rlax

    x = jnp.array([-2.0, 0.0, 3.0])
    return rlax.signed_hyperbolic(x), rlax.signed_parabolic(x), rlax.transform_to_2hot(x, -5.0, 5.0, 11)


def kfac_curvature():
    import kfac_jax

    def loss(params, x):
        y = x @ params["w"] + params["b"]
        y = kfac_jax.register_dense(y, x, params["w"], params["b"])
        kfac_jax.register_squared_error_loss(y, jnp.zeros_like(y))
        return jnp.mean(y**2)

    params = {"w": jnp.ones((3, 2)) * 0.5, "b": jnp.zeros(2)}
    x = jax.random.normal(jax.random.key(0), (8, 3))
    estimator = kfac_jax.BlockDiagonalCurvature(loss, params_index=0)
    state = estimator.init(
        jax.random.key(1), (params, x), exact_powers_to_cache=None, approx_powers_to_cache=-1, cache_eigenvalues=False
    )
    return jax.tree.leaves(state)[:1], jax.grad(lambda p: loss(p, x))(params)


def penzai_model():
    from penzai import pz
    from penzai.models import simple_mlp

    model = simple_mlp.MLP.from_config(name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[3, 4, 2])
    return model(pz.nx.wrap(jnp.ones(3), "features")).unwrap("features")


def penzai_selectors():
    from penzai import pz

    tree = {"a": jnp.arange(3.0), "b": [jnp.ones(2), 1]}
    return pz.select(tree).at_instances_of(jax.Array).apply(lambda x: x * 2)


def penzai_named_axes():
    from penzai import pz

    x = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3), "row", "column")
    return pz.nx.nmap(jnp.sum)(x.untag("column")).unwrap("row")


def quax_unit():
    import equinox as eqx
    import quax

    class Doubled(quax.ArrayValue):
        array: jax.Array = eqx.field(converter=jnp.asarray)

        def aval(self):
            return jax.core.ShapedArray(self.array.shape, self.array.dtype)

        def materialise(self):
            return self.array * 2

        @staticmethod
        def default(primitive, values, params):
            raise NotImplementedError

    @quax.register(jax.lax.mul_p)
    def multiply(x: Doubled, y: Doubled, **params):
        return Doubled(x.array * y.array * 2)

    return quax.quaxify(lambda x, y: x * y)(Doubled(jnp.ones(2)), Doubled(jnp.arange(2.0))).array


def flowjax_flow():
    import flowjax.distributions as dist
    from flowjax.flows import masked_autoregressive_flow

    flow = masked_autoregressive_flow(jax.random.key(0), base_dist=dist.Normal(jnp.zeros(2)), flow_layers=2, nn_width=4)
    return flow.log_prob(jnp.ones((3, 2)) * 0.3), flow.sample(jax.random.key(1), (2,))


def ott_sinkhorn():
    from ott.geometry import pointcloud
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import sinkhorn

    x, y = jax.random.normal(jax.random.key(0), (6, 2)), jax.random.normal(jax.random.key(1), (5, 2)) + 1.0

    def cost(x):
        geometry = pointcloud.PointCloud(x, y, epsilon=0.5)
        return sinkhorn.Sinkhorn()(linear_problem.LinearProblem(geometry)).reg_ot_cost

    return cost(x), jax.grad(cost)(x)


def interpax_splines():
    import interpax

    x = jnp.linspace(0, 1, 8)
    points = jnp.array([0.11, 0.52, 0.93])
    kinds = ("linear", "cubic", "cubic2", "catmull-rom")
    return [interpax.interp1d(points, x, jnp.sin(5 * x), method=kind) for kind in kinds]


def jaxlie_rotations():
    import jaxlie

    rotation = jaxlie.SO3.exp(jnp.array([0.1, -0.3, 0.2]))
    pose = jaxlie.SE3.from_rotation_and_translation(rotation, jnp.ones(3))
    return (
        pose.apply(jnp.arange(3.0)),
        pose.log(),
        jax.grad(lambda w: jaxlie.SO3.exp(w).apply(jnp.ones(3))[0])(jnp.array([0.1, 0.2, 0.3])),
    )


def signax_signatures():
    import signax

    path = jnp.cumsum(jax.random.normal(jax.random.key(0), (9, 2)), 0)
    return (
        signax.signature(path, 3),
        signax.logsignature(path, 3),
        jax.grad(lambda p: signax.signature(p, 2).sum())(path),
    )


def sparsejac_jacobian():
    import sparsejac
    from jax.experimental import sparse

    structure = sparse.BCOO.fromdense(jnp.eye(4))
    return sparsejac.jacrev(jnp.sin, structure)(jnp.arange(4.0)).todense()


def probability_distributions():
    from tensorflow_probability.substrates import jax as tfp

    d = tfp.distributions
    mixture = d.MixtureSameFamily(
        d.Categorical(probs=jnp.array([0.3, 0.7])), d.Normal(jnp.array([-1.0, 1.0]), jnp.ones(2))
    )
    return (
        mixture.log_prob(jnp.arange(3.0)),
        mixture.sample(3, seed=jax.random.key(0)),
        d.WishartTriL(4, jnp.eye(2)).mean(),
    )


def probability_bijectors():
    from tensorflow_probability.substrates import jax as tfp

    b = tfp.bijectors
    chain = b.Chain([b.Softplus(), b.Scale(2.0), b.Shift(0.5)])
    x = jnp.arange(3.0)
    return chain.forward(x), chain.forward_log_det_jacobian(x, 0), chain.inverse(jnp.ones(2) * 3)


def probability_sampling():
    from tensorflow_probability.substrates import jax as tfp

    kernel = tfp.mcmc.HamiltonianMonteCarlo(lambda x: -0.5 * (x - 1.0) ** 2, step_size=0.3, num_leapfrog_steps=3)
    run = jax.jit(lambda key: tfp.mcmc.sample_chain(20, jnp.zeros(()), kernel=kernel, trace_fn=None, seed=key))
    return run(jax.random.key(0))


def tree_math_conjugate_gradients():
    import tree_math as tm

    @tm.wrap
    def step(x, r, p):
        alpha = (r @ r) / (p @ (2.0 * p + p))
        x, new = x + alpha * p, r - alpha * (2.0 * p + p)
        return x, new, new + ((new @ new) / (r @ r)) * p

    tree = {"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}
    vector = tm.Vector(tree)
    return step(jax.tree.map(jnp.zeros_like, tree), tree, tree), (vector * 2 + 1).tree, vector @ vector


def pytreeclass_layer():
    import pytreeclass as tc

    @tc.autoinit
    class Linear(tc.TreeClass):
        weight: jax.Array
        bias: jax.Array
        name: str = tc.field(default="linear", on_setattr=[tc.freeze], on_getattr=[tc.unfreeze])

        def __call__(self, x):
            return x @ self.weight + self.bias

    layer = Linear(jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.zeros(3))
    x = jnp.ones((4, 2))
    gradient = jax.grad(lambda layer: jnp.mean((layer(x) - 1) ** 2))(layer)
    moved = jax.tree.map(lambda p, g: p - 0.1 * g, layer, gradient)
    return moved(x), layer.at["weight"].set(jnp.ones((2, 3)))(x), layer.at[...].apply(lambda leaf: leaf * 2).weight
