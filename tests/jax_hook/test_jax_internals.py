"""`cotangent.jax`: counterparts of JAX's internals that libraries are built on: primitives with rules, programs, references, meshes."""

from __future__ import annotations

import pytest
from jax_hook_process import run

PRIMITIVE = """
import jax, jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
p = Primitive("cubed")
p.def_impl(lambda x, *, by: by * x**3)
p.def_abstract_eval(lambda x, *, by: x)
f = lambda x: p.bind(x, by=2.0)
"""


def test_a_primitive_with_its_rules() -> None:
    program = """
ad.primitive_jvps[p] = lambda primals, tangents, by: (p.bind(*primals, by=by), 3 * by * primals[0] ** 2 * tangents[0])
batching.primitive_batchers[p] = lambda args, axes, by: (p.bind(*args, by=by), axes[0])
mlir.register_lowering(p, mlir.lower_fun(lambda x, by: by * x**3, multiple_results=False))
x = jnp.arange(3.0)
print(f(2.0), jax.jit(f)(2.0), jax.grad(f)(2.0), jax.jit(jax.vmap(jax.grad(f)))(x), jax.grad(jax.grad(f))(2.0))
(eqn,) = jax.make_jaxpr(f)(1.0).eqns
print(eqn.primitive is p, eqn.params)
"""
    assert run(PRIMITIVE + program).splitlines() == ["16.0 16.0 24.0 [ 0.  6. 24.] 24.0", "True {'by': 2.0}"]


def test_a_rule_that_is_missing_raises_and_is_named() -> None:
    program = """
for transform in (jax.grad, jax.vmap):
    try:
        transform(f)(jnp.ones(()) if transform is jax.grad else jnp.ones(2))
    except NotImplementedError as error:
        print(str(error).splitlines()[0])
batching.primitive_batchers[p] = lambda args, axes, by: (p.bind(*args, by=by), axes[0])
print(jax.vmap(f)(jnp.ones(2)))
"""
    assert run(PRIMITIVE + program).splitlines() == [
        "differentiation rule for 'cubed' not implemented",
        "batching rule for 'cubed' not implemented",
        "[2. 2.]",
    ]


def test_a_linear_primitive_of_several_results_is_transposed() -> None:
    program = """
        import jax, jax.numpy as jnp
        from jax.extend.core import Primitive
        from jax.interpreters import ad
        p = Primitive("twice")
        p.multiple_results = True
        p.def_impl(lambda x: [x, 2 * x])
        p.def_abstract_eval(lambda x: [x, x])
        def jvp(primals, tangents):
            return p.bind(*primals), p.bind(*[ad.instantiate_zeros(t) for t in tangents])
        def transpose(cotangents, x):
            assert ad.is_undefined_primal(x) and x.aval.shape == (3,)
            first, second = cotangents
            assert type(first) is ad.Zero or first.shape == (3,)
            return [2 * second]
        ad.primitive_jvps[p], ad.primitive_transposes[p] = jvp, transpose
        print(jax.grad(lambda x: p.bind(x)[1].sum())(jnp.ones(3)))
    """
    assert run(program) == "[2. 2. 2.]"


def test_rules_made_by_combinators() -> None:
    program = """
        import jax
        from jax.extend.core import Primitive
        from jax.interpreters import ad, batching
        p = Primitive("product")
        p.def_impl(lambda x, y: x * y)
        p.def_abstract_eval(lambda x, y: x)
        ad.defjvp(p, lambda t, x, y: t * y, lambda t, x, y: t * x)
        batching.defbroadcasting(p)
        f = lambda x, y: p.bind(x, y)
        print(jax.grad(f, (0, 1))(2.0, 5.0), jax.vmap(f, (0, None))(jax.numpy.arange(2.0), 3.0))
    """
    assert run(program) == "(Array(5., dtype=float32), Array(2., dtype=float32)) [0. 3.]"


def test_programs_are_read_replaced_and_evaluated() -> None:
    program = """
        import jax, jax.numpy as jnp
        w = jnp.arange(3.0)
        closed, shapes = jax.make_jaxpr(lambda x, n: {"y": jnp.sin(x * w) * x}, return_shape=True)(jnp.ones(3), 1.0)
        print([eqn.primitive.name for eqn in closed.eqns], closed.eqns[1].primitive is jax.lax.sin_p, shapes)
        print(closed.in_avals, closed.out_avals, closed.consts)
        print(jax.core.eval_jaxpr(closed.jaxpr, closed.consts, jnp.ones(3), 2.0)[0])
        halves = closed.jaxpr.replace(outvars=closed.eqns[0].outvars, eqns=closed.eqns[:1])
        print(jax.jit(lambda x: jax.core.eval_jaxpr(halves, closed.consts, x, 0.0))(jnp.ones(3))[0])
    """
    lines = run(program).splitlines()
    assert lines[0] == "['mul', 'sin', 'mul'] True {'y': ShapeDtypeStruct(shape=(3,), dtype=float32)}"
    assert lines[1].startswith(
        "[ShapedArray(float32[3]), ShapedArray(float32[], weak_type=True)] [ShapedArray(float32[3])] [Array("
    )
    assert lines[2:] == ["[0.        0.841471  0.9092974]", "[0. 1. 2.]"]


def test_programs_print_as_jax_prints_them() -> None:
    program = """
        import jax, jax.numpy as jnp
        print(jax.make_jaxpr(lambda x: x * 2)(1.0))
        print(jax.make_jaxpr(lambda x, y: jnp.sin(x) * y)(1.0, 2.0))
    """
    assert run(program).splitlines() == [
        "{ lambda ; a:f32[]. let b:f32[] = mul a 2.0:f32[] in (b,) }",
        "{ lambda ; a:f32[] b:f32[]. let",
        "    c:f32[] = sin a",
        "    d:f32[] = mul c b",
        "  in (d,) }",
    ]


def test_a_reference_is_data_flow_where_it_is_made() -> None:
    program = """
        import jax, jax.numpy as jnp
        def f(x):
            ref = jax.new_ref(jnp.zeros(3))
            ref[1] = x
            ref[...] = ref[...] * 2
            return jax.freeze(ref)
        print(jax.jit(f)(3.0), jax.jacobian(f)(3.0))
        outside = jax.new_ref(jnp.zeros(2))
        outside[0] = 1.0
        print(outside[...], outside.shape, isinstance(outside, jax.Ref))
    """
    assert run(program).splitlines() == [
        "[0. 6. 0.] [0. 2. 0.]",
        "[1. 0.] (2,) True",
    ]


def test_traces_are_told_apart() -> None:
    program = """
        import jax
        from jax._src.core import trace_state_clean
        from jax.extend.core import get_opaque_trace_state
        outside, seen = get_opaque_trace_state(), []
        def f(x):
            inside = get_opaque_trace_state()
            seen.extend([inside == outside, inside == get_opaque_trace_state(), trace_state_clean(), isinstance(x, jax.core.Tracer)])
            return x
        jax.jit(f)(1.0)
        print(seen, outside == get_opaque_trace_state(), trace_state_clean())
    """
    assert run(program) == "[False, True, False, True] True True"


def test_a_mesh_of_one_device_and_none_of_several() -> None:
    program = """
        import jax, numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        mesh = jax.make_mesh((1,), ("x",))
        x = jax.device_put(jax.numpy.arange(4.0), NamedSharding(mesh, P("x")))
        with mesh:
            print(jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P("x"))))(x), mesh.shape["x"])
        try:
            jax.make_mesh((2,), ("x",))
        except ValueError as error:
            print(str(error).splitlines()[0])
    """
    assert run(program).splitlines() == [
        "[0. 2. 4. 6.] 1",
        "make_mesh: (2,) asks for 2 devices; there is 1, where every array is",
    ]


def test_a_map_over_the_one_device() -> None:
    program = """
        import jax, jax.numpy as jnp
        print(jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(jnp.ones((1, 2))))
        try:
            jax.pmap(lambda x: x)(jnp.ones((2, 2)))
        except ValueError as error:
            print(str(error).splitlines()[0])
    """
    assert run(program).splitlines() == [
        "[[1. 1.]]",
        "pmap: an axis of size 2 is mapped over devices, of which there is 1",
    ]


def test_known_results_of_unknown_arguments() -> None:
    program = """
        import jax
        from jax.extend import linear_util as lu
        from jax.interpreters import partial_eval as pe
        fun = lu.wrap_init(lambda x: (jax.numpy.sin(2.0) * 2, x * 3, 5.0))
        unknown = [pe.PartialVal.unknown(jax.core.ShapedArray((2,), "float32"))]
        _, out, _ = pe.trace_to_jaxpr_nounits(fun, unknown)
        print([value.is_known() for value in out], out[1][0], float(out[2].get_known()), round(float(out[0].get_known()), 3))
    """
    assert run(program) == "[True, False, True] float32[2] 5.0 1.819"


def test_optimizers_of_the_examples() -> None:
    program = """
        import jax
        from jax.example_libraries import optimizers
        for make in (lambda: optimizers.sgd(0.1), lambda: optimizers.momentum(0.05, 0.5), lambda: optimizers.adam(0.3), lambda: optimizers.sm3(0.5)):
            init, update, params = make()
            state = init({"w": 3.0, "m": jax.numpy.full((2, 3), 2.0)})
            step = jax.jit(lambda i, state: update(i, jax.grad(lambda p: p["w"] ** 2 + (p["m"] ** 2).sum())(params(state)), state))
            for i in range(150):
                state = step(i, state)
            assert abs(float(params(state)["w"])) < 0.1 and abs(params(state)["m"]).max() < 0.1, params(state)
        again = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
        print(jax.tree.structure(again) == jax.tree.structure(state))
    """
    assert run(program) == "True"


def test_sparse_matrices_equal_dense_ones() -> None:
    program = """
        import jax, jax.numpy as jnp
        from jax.experimental.sparse import BCOO
        dense = jnp.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
        m = BCOO.fromdense(dense)
        print(m, (m @ jnp.arange(3.0)).tolist(), (jnp.ones(2) @ m).tolist(), (m.T.todense() == dense.T).all())
        print((m + m).todense().tolist(), (2 * m).sum(), m.indices.tolist())
        slope = jax.grad(lambda data: (BCOO((data, m.indices), shape=m.shape) @ jnp.arange(3.0)).sum())(m.data)
        print(slope, jax.jit(lambda m: m.todense().sum())(m), BCOO.fromdense(dense, nse=5).data)
    """
    assert run(program).splitlines() == [
        "BCOO(float32[2, 3], nse=3) [2.0, 6.0] [1.0, 2.0, 3.0] True",
        "[[0.0, 4.0, 0.0], [2.0, 0.0, 6.0]] 12.0 [[0, 1], [1, 0], [1, 2]]",
        "[1. 0. 2.] 6.0 [2. 1. 3. 0. 0.]",
    ]


def test_equations_are_in_the_words_of_jax() -> None:
    program = """
        import jax, jax.numpy as jnp
        from jax import lax
        x, y = jnp.ones((2, 3)), jnp.ones((3, 4))
        def show(f, *args):
            for eqn in jax.make_jaxpr(f)(*args).eqns:
                print(eqn.primitive, {k: v for k, v in sorted(eqn.params.items()) if v is not None and "jaxpr" not in k})
        show(lambda a, b: a @ b, x, y)
        show(lambda a: a.reshape(6)[None], x)
        show(lambda a: jnp.concatenate([a, a])[0:1, ::2], x)
        show(lambda a: a.astype(jnp.int32), x)
        show(lambda a: jnp.pad(a, ((1, 0), (0, 2))), x)
        show(lambda a: lax.scan(lambda c, row: (c + row, c), a, x), x[0])
        show(lambda a: lax.while_loop(lambda c: c < 3, lambda c: c + 1, a), 0.0)
        show(lambda a, b: lax.dynamic_slice(a, (b, b), (1, 2)), x, 0)
        """
    got = run(program).splitlines()
    assert got[0] == (
        "dot_general {'dimension_numbers': (((1,), (0,)), ((), ())), 'preferred_element_type': dtype('float32')}"
    )
    assert got[1:3] == [
        "reshape {'new_sizes': (6,)}",
        "broadcast_in_dim {'broadcast_dimensions': (1,), 'shape': (1, 6)}",
    ]
    assert got[3:6] == [
        "concatenate {'dimension': 0}",
        "slice {'limit_indices': (1, 3), 'start_indices': (0, 0), 'strides': (1, 2)}",
        "convert_element_type {'new_dtype': dtype('int32'), 'weak_type': False}",
    ]
    assert got[6] == "pad {'padding_config': ((1, 0, 0), (0, 2, 0))}"
    assert "'length': 2, 'linear': (False, False), 'num_carry': 1, 'num_consts': 0, 'reverse': False" in got[7]
    assert got[8] == "while {'body_nconsts': 0, 'cond_nconsts': 0}"
    assert got[-1] == "dynamic_slice {'slice_sizes': (1, 2)}"


@pytest.mark.parametrize(
    "function",
    [
        "lambda a: (a @ a.T).reshape(4)[::-1] * 2",
        "lambda a: jnp.where(a > 0, a, -1.0).sum(0)",
        "lambda a: lax.scan(lambda c, row: (c + row, 2 * c), a[0], a, reverse=True)",
        "lambda a: lax.cond(a[0, 0] > 0, jnp.sin, jnp.cos, a)",
        "lambda a: lax.while_loop(lambda c: c[0, 0] < a[1, 1], lambda c: c + a[0, 2], a)",
        "lambda a: jax.jit(jnp.sin)(a) + jax.checkpoint(jnp.cos)(a) + lax.rsqrt(a + 3)",
        "lambda a: jax.random.normal(jax.random.PRNGKey(0), (2,)) * a[:, 1]",
        "lambda a: lax.top_k(a, 2)",
        "lambda a: lax.dynamic_update_slice(a, a[:1] * 2, (jnp.argmax(a[:, 0]), 0))",
        "lambda a: (jnp.pad(a, 1, constant_values=3), jnp.concatenate([a, a[:1]]), jnp.sort(a), a.astype(int))",
    ],
)
def test_equations_are_evaluated_one_by_one(function: str) -> None:
    program = f"""
        import numpy as np, jax, jax.numpy as jnp
        from jax import lax
        from jax.extend.core import Literal
        f = {function}
        x = jnp.array([[0.5, -1.0, 2.0], [1.5, 3.0, -0.25]])
        closed = jax.make_jaxpr(f)(x)
        values = dict(zip(closed.jaxpr.constvars + closed.jaxpr.invars, [*closed.consts, x]))
        read = lambda var: var.val if isinstance(var, Literal) else values[var]
        for eqn in closed.jaxpr.eqns:
            params = eqn.primitive.get_bind_params(eqn.params)
            results = eqn.primitive.bind(*map(read, eqn.invars), **params)
            values.update(zip(eqn.outvars, results if eqn.primitive.multiple_results else [results]))
        expected = jax.tree.leaves(f(x))
        for got in (list(map(read, closed.jaxpr.outvars)), jax.core.eval_jaxpr(closed.jaxpr, closed.consts, x)):
            for a, b in zip(got, expected, strict=True):
                assert a.dtype == b.dtype, (a.dtype, b.dtype)
                np.testing.assert_allclose(a, b, rtol=1e-6)
        print("equal")
    """
    assert run(program) == "equal"


def test_classes_of_the_extension_module() -> None:
    program = """
        import functools, jax, jax.numpy as jnp
        from jaxlib._jax import ArrayImpl, PjitFunction
        from jaxlib.xla_client import XlaRuntimeError
        kind = functools.singledispatch(lambda x: "other")
        kind.register(PjitFunction)(lambda f: "jitted")
        kind.register(ArrayImpl)(lambda x: "array")
        print(kind(jax.jit(jnp.sin)), kind(jnp.ones(1)), kind(1), issubclass(XlaRuntimeError, RuntimeError))
    """
    assert run(program) == "jitted array other True"


def test_private_packages_have_their_modules() -> None:
    program = """
        import jax._src.numpy, jax._src.interpreters
        from jax._src.numpy.util import promote_dtypes_inexact
        print(jax._src.numpy.util.promote_dtypes_inexact is promote_dtypes_inexact, promote_dtypes_inexact(1, 2)[0].dtype)
    """
    assert run(program) == "True float32"


def test_tolerances_by_names_of_dtypes() -> None:
    program = """
        import numpy as np
        from jax._src.public_test_util import check_close
        check_close(np.float32(1), np.float32(1.0001), rtol={"float32": 5e-4})
        try:
            check_close(np.float32(1), np.float32(1.01), rtol={np.float32: 5e-4, "float64": 1})
        except AssertionError:
            print("differ")
    """
    assert run(program) == "differ"


def test_a_stateful_generator_draws_what_its_keys_say() -> None:
    program = """
        import jax, jax.numpy as jnp, numpy as np
        from jax.experimental.random import StatefulPRNG, stateful_rng
        rng, key = stateful_rng(7), jax.random.key(7)
        first, second = rng.uniform(2, 5, size=3), jax.jit(lambda rng: rng.normal(size=2))(rng)
        assert np.array_equal(first, jax.random.uniform(jax.random.fold_in(key, 0), (3,), minval=2, maxval=5))
        assert np.allclose(second, jax.random.normal(jax.random.fold_in(key, 1), (2,)))
        assert int(rng._counter[...]) == 2
        drawn = jax.vmap(lambda rng: rng.integers(0, 1000))(rng.split(3))
        one, other = rng.spawn(2)
        assert one.key() != other.key()
        try:
            StatefulPRNG(jnp.zeros(2, "uint32"), jax.new_ref(0))
        except ValueError as error:
            print(len(set(drawn.tolist())), str(error).split(";")[0])
    """
    assert run(program) == "3 Expected base_key to be a typed PRNG key"


def test_ufuncs_dtypes_and_algorithms_have_their_kinds() -> None:
    program = """
        import jax, jax.numpy as jnp, numpy as np
        from jax import lax
        from jax._src import dtypes
        assert isinstance(jnp.add, jnp.ufunc) and jnp.add.nin == 2 and jnp.add.reduce(np.arange(4)).dtype == jnp.int32
        assert jnp.add(np.float64(1), np.arange(2)).dtype == jnp.float32
        print(dtypes.default_int_dtype(), dtypes.default_float_dtype(), dtypes.to_numeric_dtype(bool))
        algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
        print(lax.dot(jnp.arange(3.0), jnp.ones(3), precision=algorithm), lax.DotAlgorithmPreset.F32_F32_F32.name)
        before = dict(jax.config.values)
        with jax.enable_checks(True):
            pass
        print(before == dict(jax.config.values), before["jax_numpy_rank_promotion"])
    """
    assert run(program).splitlines() == ["int32 float32 int32", "3.0 F32_F32_F32", "True allow"]


def test_the_bits_of_xlas_generators() -> None:
    run(
        """
        import jax, numpy as np
        from jax import lax
        fry, philox = lax.RandomAlgorithm.RNG_THREE_FRY, lax.RandomAlgorithm.RNG_PHILOX
        key = np.array([1, 2, 0, 0], np.uint32)
        # What JAX gives on a CPU.
        state, bits = lax.rng_bit_generator(key, (3, 3), algorithm=fry)
        assert state.tolist() == [1, 2, 6, 0] and bits.tolist() == [
            [629071667, 2271449651, 2527474599], [2343584484, 1211544305, 2772174290], [2392469163, 297241529, 4189447344]]
        assert lax.rng_bit_generator(key, (1, 4), algorithm=fry)[1].tolist() == [[629071667, 2343584484, 2271449651, 1211544305]]
        assert lax.rng_bit_generator(key, (5,), np.uint16, fry)[1].tolist() == [57139, 17124, 37427, 45809, 13223]
        carried = lax.rng_bit_generator(np.array([1, 2, 0xFFFFFFFE, 7], np.uint32), (5,), algorithm=fry)
        assert carried[0].tolist() == [1, 2, 1, 8]
        assert carried[1].tolist() == [641073729, 1796599304, 3056124836, 2463641163, 3856022808]
        drawn = [4209315136, 341168666, 2449953600, 292023979, 744469413]
        for options in ({}, {"algorithm": philox}):
            state, bits = jax.jit(lambda key: lax.rng_bit_generator(key, (5,), **options))(key)
            assert state.tolist() == [1, 2, 2, 0] and bits.tolist() == drawn
        # Under vmap all bits come from the first state.
        states, bits = jax.vmap(lambda key: lax.rng_bit_generator(key, (2,)))(np.stack([key, key + 5]))
        assert states.tolist() == [[1, 2, 1, 0], [6, 7, 5, 5]] and bits.tolist() == [drawn[:2], drawn[2:4]]
        for bad in (lambda: lax.rng_bit_generator(key, (5,), np.int32), lambda: lax.rng_bit_generator(key[:3], (5,))):
            try:
                bad()
            except TypeError as error:
                assert "rng_bit_generator" in str(error)
            else:
                raise AssertionError("no error")
        jax.config.update("jax_enable_x64", True)
        state, bits = lax.rng_bit_generator(np.array([5, 2**40], np.uint64), (3,), algorithm=philox)
        assert state.tolist() == [5, 2**40 + 1] and bits.tolist() == [3193145062, 3007272200, 2804981422]
        assert lax.rng_bit_generator(key, (2,), np.uint64, fry)[1].tolist() == [10065618714822106931, 5203543169901498931]
        """
    )


def test_constants_of_lax_and_dtypes_that_only_yield() -> None:
    program = """
    import jax, jax.numpy as jnp, numpy as np
    from jax._src import dtypes
    from jax._src.lax import lax
    print(lax._delta(np.float32, (2, 3, 2), (0, 2))[:, 1].tolist(), lax._delta(np.int32, (2, 2, 2), (0, 1, 2)).sum())
    print(lax._const(np.float16(1), 3).dtype, lax._const(2.5, 3), lax._const(jnp.ones(2, jnp.bfloat16), 1).dtype)
    print(lax.asarray(np.float64(1)).dtype)
    weak = [lax._convert_element_type(0, dtype, weak_type=True) for dtype in ("int8", "uint16", "bfloat16", "float8_e5m2", "bool")]
    print([str(dtypes.result_type(x)) for x in weak], [str(x.dtype) for x in weak])
    print(jnp.result_type(weak[0], 1), jnp.result_type(jnp.int8(1), weak[1]), jnp.result_type(weak[2], 1.5))
    """
    assert run(program).splitlines() == [
        "[[1.0, 0.0], [0.0, 1.0]] 2",
        "float16 3.0 bfloat16",
        "float32",
        "['int32', 'uint32', 'float32', 'float32', 'bool'] ['int8', 'uint16', 'bfloat16', 'float8_e5m2', 'bool']",
        "int32 int8 float32",
    ]
