"""More of flax: training loops with metrics, checkpointing of state dicts, lifted transforms, shared parameters, filters."""

from __future__ import annotations

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx, serialization, traverse_util


def state_dict_round_trip():
    params = nn.Dense(3).init(jax.random.key(0), jnp.ones((1, 2)))
    data = serialization.to_bytes(params)
    return serialization.from_bytes(jax.tree.map(jnp.zeros_like, params), data)


def flattened_parameters():
    params = nn.Sequential([nn.Dense(3), nn.relu, nn.Dense(2)]).init(jax.random.key(0), jnp.ones((1, 2)))
    flat = traverse_util.flatten_dict(params["params"], sep="/")
    return {name.replace("/", "_"): value for name, value in flat.items()}


def frozen_dict():
    frozen = flax.core.freeze({"a": {"b": jnp.arange(3.0)}})
    return jax.grad(lambda d: (d["a"]["b"] ** 2).sum())(frozen), flax.core.unfreeze(frozen)


def struct_dataclass():
    @flax.struct.dataclass
    class State:
        x: jax.Array
        name: str = flax.struct.field(pytree_node=False, default="s")

    return jax.jit(lambda s: s.replace(x=s.x + 1))(State(jnp.ones(2))).x


def setup_style_and_sharing():
    class Tied(nn.Module):
        def setup(self):
            self.embed = nn.Embed(5, 4)

        def __call__(self, tokens):
            return self.embed.attend(self.embed(tokens))

    return Tied().init_with_output(jax.random.key(0), jnp.array([1, 3]))


def lifted_while_and_cond():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            dense = nn.Dense(2)
            dense(x)
            return nn.cond(x.sum() > 0, lambda m, x: m(x), lambda m, x: m(-x), dense, x)

    return Net().init_with_output(jax.random.key(0), jnp.ones(2))


def intermediates_and_sow():
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.Dense(2)(x)
            self.sow("intermediates", "h", x)
            return x.sum()

    variables = Net().init(jax.random.key(0), jnp.ones(3))
    return Net().apply({"params": variables["params"]}, jnp.ones(3), mutable=["intermediates"])


def custom_variables():
    class Counter(nn.Module):
        @nn.compact
        def __call__(self):
            count = self.variable("counter", "n", lambda: jnp.zeros(()))
            count.value = count.value + 1
            return count.value

    variables = Counter().init(jax.random.key(0))
    return Counter().apply(variables, mutable=["counter"])


def weight_norm_and_spectral_norm():
    x = jnp.arange(6.0).reshape(2, 3)
    model = nn.WeightNorm(nn.Dense(4))
    variables = model.init(jax.random.key(0), x)
    return model.apply(variables, x)


def bidirectional_rnn():
    model = nn.Bidirectional(nn.RNN(nn.GRUCell(3)), nn.RNN(nn.GRUCell(3)))
    return model.init_with_output(jax.random.key(0), jnp.ones((1, 4, 2)))[0]


def convolution_variants():
    x = jax.random.normal(jax.random.key(0), (1, 6, 6, 2))
    return [
        nn.ConvTranspose(3, (2, 2), strides=(2, 2)).init_with_output(jax.random.key(1), x)[0],
        nn.Conv(4, (3, 3), feature_group_count=2).init_with_output(jax.random.key(1), x)[0],
    ]


def nnx_metrics():
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), accuracy=nnx.metrics.Accuracy())
    metrics.update(loss=jnp.array(2.0), logits=jnp.eye(3), labels=jnp.array([0, 1, 1]))
    return metrics.compute()


def nnx_filters_and_freezing():
    model = nnx.Sequential(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.Linear(3, 1, rngs=nnx.Rngs(1)))
    trained = nnx.All(nnx.Param, lambda path, _: "kernel" in path)
    gradient = nnx.grad(lambda m: m(jnp.ones((1, 2))).sum(), argnums=nnx.DiffState(0, trained))(model)
    return jax.tree.leaves(gradient)


def nnx_recurrent():
    cell = nnx.LSTMCell(3, 4, rngs=nnx.Rngs(0))
    rnn = nnx.RNN(cell)
    return rnn(jnp.ones((2, 5, 3)))


def nnx_remat_and_jit_with_rng():
    class Net(nnx.Module):
        def __init__(self, rngs):
            self.linear = nnx.Linear(3, 3, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

        def __call__(self, x):
            return self.dropout(nnx.remat(lambda m, x: jnp.tanh(m(x)))(self.linear, x))

    model = Net(nnx.Rngs(0))
    step = nnx.jit(lambda m, x: m(x))
    return step(model, jnp.ones((2, 3))), step(model, jnp.ones((2, 3)))


def nnx_train_state_with_optax():
    model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.chain(optax.clip(0.1), optax.sgd(0.5)), wrt=nnx.Param)
    for _ in range(3):
        gradient = nnx.grad(lambda m: jnp.mean(m(jnp.ones((4, 2))) ** 2))(model)
        optimizer.update(model, gradient)
    return model.kernel[...], model.bias[...]
