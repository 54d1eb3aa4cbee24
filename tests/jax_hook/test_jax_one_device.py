"""`cotangent.jax`: meshes, shards and processes, of which there is one each, and Taylor's series."""

from __future__ import annotations

import pytest
from jax_hook_process import run

HEAD = """
import inspect
import numpy as np, jax, jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec as P
from jax.experimental.shard_map import shard_map
from jax.experimental import mesh_utils, multihost_utils
from jax.experimental.jet import jet
from jax.extend.core.primitives import add_p, dot_general_p
mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("a", "b"))
x = jnp.arange(4.0)
"""

EXPRESSIONS = {
    "jax.shard_map(lambda x, y: jax.lax.psum(x, 'a') + y * jax.lax.axis_index('b'), mesh=mesh, in_specs=(P('a'), P()), out_specs=P('a'))(x, 2.0)": (
        "[0. 1. 2. 3.]"
    ),
    "jax.jit(jax.grad(lambda x: jax.shard_map(lambda x: jax.lax.pmean(x**2, ('a', 'b')), mesh=mesh, in_specs=P('a'), out_specs=P('a'))(x).sum()))(x)": (
        "[0. 2. 4. 6.]"
    ),
    "shard_map(lambda x: {'all': jax.lax.all_gather(x, 'a', tiled=True)}, mesh, in_specs=P('a'), out_specs=P())(x)['all']": (
        "[0. 1. 2. 3.]"
    ),
    "x.addressable_shards[0].data, x.on_device_size_in_bytes(), x.sharding.is_equivalent_to(jnp.ones(2).sharding, 1)": (
        "[0. 1. 2. 3.] 16 True"
    ),
    "mesh.shape_tuple, mesh.device_ids.tolist(), mesh.size": "(('a', 1), ('b', 1)) [[0]] 1",
    "multihost_utils.process_allgather(x).shape, mesh_utils.create_device_mesh((1, 1)).shape": "(1, 4) (1, 1)",
    "[float(d) for d in jet(lambda x: x**3, (2.0,), ((1.0, 0.0, 0.0),))[1]]": "[12.0, 12.0, 6.0]",
    "[float(d) for d in jet(lambda x, y: x * y, (2.0, 3.0), ((1.0, 2.0), (4.0, 0.0)))[1]]": "[11.0, 14.0]",
    "inspect.signature(jax.jit(lambda x, y=1: x), follow_wrapped=False)": "(x, y=1)",
    "add_p is jax.lax.add_p, dot_general_p": "True dot_general",
    "jax.make_jaxpr(jnp.sin)(1.0).pretty_print()": "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }",
    "len(jax.make_jaxpr(jnp.sin)(1.0).invars), jax.config.jax_traceback_filtering": "1 auto",
    "jax.dlpack.from_dlpack(np.arange(3.0, dtype=np.float32))": "[0. 1. 2.]",
    "jax.ops.segment_sum(jnp.ones(()), jnp.array([0, 1]), 3)": "[1. 1. 0.]",
    "jax.extend.backend.get_backend().platform": "cpu",
    "jax.lax.composite(lambda x, *, k: x * k, 'my.scale')(x, k=3)": "[0. 3. 6. 9.]",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_values(expression: str) -> None:
    assert run(f"{HEAD}import jax.extend.backend\nprint({expression})") == EXPRESSIONS[expression]


def test_several_processes_are_refused() -> None:
    program = """
        import jax
        jax.distributed.initialize()
        print(jax.distributed.is_initialized())
        try:
            jax.distributed.initialize(num_processes=2)
        except ValueError as error:
            print("2 processes" in str(error))
    """
    assert run(program).splitlines() == ["True", "True"]


def test_events_reach_their_listeners() -> None:
    program = """
        import jax.monitoring as m
        m.register_event_listener(lambda event, **details: print(event, details))
        m.register_event_duration_secs_listener(lambda event, seconds, **_: print(event, seconds))
        m.record_event("a", k=1); m.record_event_duration_secs("b", 2.5)
        m.clear_event_listeners(); m.record_event("c")
    """
    assert run(program).splitlines() == ["a {'k': 1}", "b 2.5"]


def test_the_platform_is_in_use_when_its_devices_were_asked_for() -> None:
    program = """
        import jax
        from jax._src import xla_bridge
        print(list(xla_bridge._backends))
        jax.devices()
        print(list(xla_bridge._backends))
    """
    assert run(program).splitlines() == ["[]", "['cpu']"]
