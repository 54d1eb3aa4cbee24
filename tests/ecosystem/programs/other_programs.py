"""Smaller libraries: distrax, tinygp, jraph, dm_pix, evosax, e3nn_jax."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def distrax_distributions():
    import distrax

    key = jax.random.key(0)
    normal = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2))
    flow = distrax.Transformed(distrax.Normal(0.0, 1.0), distrax.Tanh())
    return normal.sample(seed=key, sample_shape=3), flow.log_prob(0.3), distrax.Categorical(jnp.arange(3.0)).entropy()


def distrax_bijectors():
    import distrax

    chain = distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Sigmoid()])
    return chain.forward_and_log_det(jnp.arange(3.0))


def distrax_kl_divergence():
    import distrax

    return distrax.Normal(0.0, 1.0).kl_divergence(distrax.Normal(1.0, 2.0)), jax.grad(
        lambda s: distrax.Normal(0.0, s).kl_divergence(distrax.Normal(1.0, 2.0))
    )(1.0)


def tinygp_regression():
    from tinygp import GaussianProcess, kernels

    x = jnp.linspace(0, 1, 10)

    def loss(p):
        return -GaussianProcess(jnp.exp(p[0]) * kernels.Matern32(jnp.exp(p[1])), x, diag=0.1).log_probability(
            jnp.sin(5 * x)
        )

    return jax.value_and_grad(loss)(jnp.zeros(2))


def tinygp_prediction():
    from tinygp import GaussianProcess, kernels

    x = jnp.linspace(0, 1, 10)
    process = GaussianProcess(kernels.ExpSquared(0.3), x, diag=0.05)
    return process.predict(jnp.sin(5 * x), jnp.linspace(0, 1, 4), return_var=True)


def jraph_network():
    import jraph

    graph = jraph.GraphsTuple(
        nodes=jnp.arange(6.0).reshape(3, 2),
        edges=jnp.ones((4, 2)),
        senders=jnp.array([0, 1, 2, 0]),
        receivers=jnp.array([1, 2, 0, 2]),
        n_node=jnp.array([3]),
        n_edge=jnp.array([4]),
        globals=jnp.zeros((1, 2)),
    )
    net = jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, g: e + s * r,
        update_node_fn=lambda n, s, r, g: jnp.tanh(n + r),
        update_global_fn=lambda n, e, g: n + e,
    )
    out = jax.jit(net)(graph)
    return out.nodes, out.edges, out.globals


def jraph_batches():
    import jraph

    one = jraph.GraphsTuple(
        nodes=jnp.ones((2, 1)),
        edges=jnp.ones((1, 1)),
        senders=jnp.array([0]),
        receivers=jnp.array([1]),
        n_node=jnp.array([2]),
        n_edge=jnp.array([1]),
        globals=jnp.zeros((1, 1)),
    )
    padded = jraph.pad_with_graphs(jraph.batch([one, one]), 6, 4, 3)
    return padded.nodes, jraph.get_node_padding_mask(padded)


def dm_pix_images():
    import dm_pix

    image = jax.random.uniform(jax.random.key(0), (8, 8, 3))
    return (
        dm_pix.rgb_to_hsv(image),
        dm_pix.gaussian_blur(image, 1.0, 3),
        dm_pix.adjust_contrast(image, 1.5),
        dm_pix.ssim(image, image[::-1]),
    )


def dm_pix_random():
    import dm_pix

    image = jax.random.uniform(jax.random.key(0), (8, 8, 3))
    return dm_pix.random_crop(jax.random.key(1), image, (4, 4, 3)), dm_pix.random_flip_left_right(
        jax.random.key(2), image
    )


def evosax_strategies():
    from evosax.algorithms import CMA_ES, Open_ES

    found = []
    for kind in (CMA_ES, Open_ES):
        strategy = kind(population_size=8, solution=jnp.zeros(3))
        params = strategy.default_params
        state = strategy.init(jax.random.key(0), jnp.zeros(3), params)
        for key in jax.random.split(jax.random.key(1), 4):
            population, state = strategy.ask(key, state, params)
            state, _ = strategy.tell(key, population, jnp.sum(population**2, 1), state, params)
        found.append(state.mean)
    return found


def e3nn_spherical_harmonics():
    import e3nn_jax as e3nn

    x = jnp.array([[0.3, 0.5, 0.8]])
    return e3nn.spherical_harmonics("0e + 1o + 2e", x, True).array


def e3nn_tensor_product():
    import e3nn_jax as e3nn

    a = e3nn.normal("0e + 1o", jax.random.key(0), (2,))
    b = e3nn.normal("1o", jax.random.key(1), (2,))
    return e3nn.tensor_product(a, b).array
