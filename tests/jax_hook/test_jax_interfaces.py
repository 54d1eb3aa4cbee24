"""`cotangent.jax`: parts of JAX around its arrays that libraries ask for: callbacks, files, devices, formats, literals, transformations of functions."""

from __future__ import annotations

from pathlib import Path

from jax_hook_process import run


def test_callbacks_are_given_arrays_and_their_errors_name_themselves() -> None:
    program = """
        import numpy as np, jax, jax.numpy as jnp
        kinds = []
        def f(x):
            kinds.append(isinstance(x, jax.Array))
            return np.asarray(x) + 1
        print(jax.jit(lambda x: jax.pure_callback(f, x, x) * 2)(jnp.ones(2)), kinds)
        jax.debug.callback(lambda x: print(repr(x)), jnp.float32(2))
        class OwnError(RuntimeError): ...
        def fail(x):
            raise OwnError("too large")
        try:
            jax.jit(lambda x: jax.pure_callback(fail, x, x))(1.0)
        except jax.errors.JaxRuntimeError as error:
            print(isinstance(error, OwnError), "OwnError: too large" in str(error))
    """
    assert run(program).splitlines() == ["[4. 4.] [True]", "Array(2., dtype=float32)", "True True"]


def test_files_hold_what_is_given() -> None:
    program = """
        import io, numpy as np, jax.numpy as jnp
        file = io.BytesIO()
        jnp.save(file, np.float64(1e-8))
        file.seek(0)
        found = np.load(file)
        print(found == 1e-8, found.dtype)
        file = io.BytesIO()
        jnp.save(file, 1e-8)
        file.seek(0)
        print(np.load(file) == 1e-8)
    """
    assert run(program).splitlines() == ["True float64", "True"]


def test_an_object_that_is_mapped_keeps_its_attributes() -> None:
    program = """
        import jax, jax.numpy as jnp
        class Scale:
            def __init__(self):
                self.factor = 3.0
            def __call__(self, x):
                return x * self.factor
        mapped = jax.vmap(jax.grad(Scale()))
        print(mapped(jnp.ones(2)), mapped.factor)
    """
    assert run(program) == "[3. 3.] 3.0"


def test_options_of_xla_are_taken_where_a_program_is_compiled() -> None:
    program = """
        import jax
        lowered = jax.jit(lambda x: x + 1).lower(1.0)
        print(lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})(2.0))
        try:
            lowered.compile(compiler_options={"no option": 1})
        except jax.errors.JaxRuntimeError as error:
            print(str(error).splitlines()[0])
    """
    assert run(program).splitlines() == ["3.0", "INVALID_ARGUMENT: No such compile option: 'no option'"]


def test_numbers_with_dtypes() -> None:
    program = """
        import copy, numpy as np, jax.numpy as jnp
        from jax._src.literals import TypedComplex, TypedFloat, TypedInt
        for x in (TypedInt(3, np.dtype("int32")), TypedFloat(0.5, np.dtype("float32")), TypedComplex(1j, np.dtype("complex64"))):
            array = jnp.asarray(x, x.dtype)
            print(repr(x), x + 1, array.item(), array.dtype, x.aval.weak_type, copy.deepcopy(x).dtype)
    """
    assert run(program).splitlines() == [
        "TypedInt(3, dtype=int32) 4 3 int32 True int32",
        "TypedFloat(0.5, dtype=float32) 1.5 0.5 float32 True float32",
        "TypedComplex(1j, dtype=complex64) (1+1j) 1j complex64 True complex64",
    ]


def test_words_of_the_default_generator() -> None:
    program = """
        import numpy as np, jax, jax.numpy as jnp
        from jax._src.random import threefry2x32 as own
        key = jax.random.PRNGKey(7)
        words = own.threefry_seed(jnp.asarray(7))
        print(np.array_equal(words, key))
        print(np.array_equal(own.threefry_split(words, (3,)), jax.random.split(key, 3)))
        print(np.array_equal(own.threefry_fold_in(words, 5), jax.random.fold_in(key, 5)))
        print(np.array_equal(own.threefry_random_bits(words, 16, (4,)), jax.random.bits(key, (4,), jnp.uint16)))
    """
    assert run(program).splitlines() == ["True"] * 4


def test_transformations_of_functions_with_stores() -> None:
    program = """
        from jax.extend import linear_util as lu
        @lu.transformation_with_aux2
        def counted(f, store, scale, *args):
            store.store(len(args))
            return scale * f(*args)
        @lu.transformation2
        def doubled(f, *args):
            return 2 * f(*args)
        fun, count = counted(lu.wrap_init(lambda x, y: x + y), 10)
        other, its_count = counted(lu.wrap_init(lambda x: x), 1)
        try:
            lu.merge_linear_aux(count, its_count)
        except lu.StoreException as error:
            print(str(error).splitlines()[0])
        print(doubled(fun).call_wrapped(1, 2), lu.merge_linear_aux(its_count, count), count())
    """
    assert run(program).splitlines() == ["neither store occupied", "60 (False, 2) 2"]


def test_devices_formats_and_functions_beside_them() -> None:
    program = """
        import jax, jax.numpy as jnp
        from jax._src.distributed import global_state
        from jax.experimental import colocated_python
        from jax.experimental.layout import Format, Layout
        from jax.sharding import make_single_device_sharding
        (device,) = jax.devices("cpu")
        print(device.client.platform, [m.kind for m in device.addressable_memories()], device.default_memory().device == device)
        placed = jax.device_put(jnp.arange(3.0), Format(Layout((0,)), make_single_device_sharding(device)))
        print(placed, placed.devices() == {device}, global_state.client, global_state.num_processes)
        try:
            jax.device_put(jnp.ones((2, 2)), Format(Layout((1, 0)), None))
        except NotImplementedError as error:
            print(str(error).splitlines()[0])
        @colocated_python.colocated_python
        def f(x):
            return x + 1
        print(f(jnp.ones(2)), colocated_python.colocated_cpu_devices([device]) == (device,))
        fixed = f.specialize(in_specs=(jax.ShapeDtypeStruct((2,), jnp.float32),), out_specs_fn=lambda x: x)
        print(fixed(jnp.zeros(2)))
        for wrong in (lambda: fixed(jnp.ones(3)), lambda: f(1.0), lambda: fixed.specialize(out_specs_fn=lambda x: x)):
            try:
                wrong()
            except ValueError as error:
                print(str(error).splitlines()[0])
        @colocated_python.colocated_python_class
        class Counter:
            def __init__(self, start):
                self.value = start
            def add(self, x):
                self.value = self.value + x
                return self.value
        counter = Counter(jnp.ones(()))
        counter.add(jnp.ones(()))
        print(counter.add(jnp.ones(())))
    """
    assert run(program).splitlines() == [
        "cpu ['device'] True",
        "[0. 1. 2.] True None 1",
        "an array with the layout (1, 0): elements lie in the order of the axes here",
        "[2. 2.] True",
        "[1. 1.]",
        "the arguments must be float32[2]; got float32[3]",
        "colocated_python only supports jax.Array as input and output, but got <class 'float'>.",
        "out_specs_fn already specified",
        "3.0",
    ]


def test_primitives_with_rules_as_methods() -> None:
    """`VJPHiPrimitive`: what it computes, each kind of rule, cotangents that are None, under jit, vmap and itself."""
    program = """
        import jax, jax.numpy as jnp
        from jax.experimental.hijax import VJPHiPrimitive

        class Clipped(VJPHiPrimitive):
            def __init__(self, x_aval, bound_aval, power):
                self.in_avals = (x_aval, bound_aval)
                self.out_aval = x_aval
                self.params = {"power": power}
                super().__init__()
            def expand(self, x, bound):
                return x**self.power
            def vjp_fwd(self, nonzeros, x, bound):
                return self(x, bound), (x, bound)
            def vjp_bwd_retval(self, residuals, g):
                x, bound = residuals
                return jnp.clip(g * self.power * x, -bound, bound), None

        f = lambda x, bound=5.0: Clipped(jax.typeof(x), jax.typeof(bound), 2)(x, bound)
        print(f(3.0), jax.grad(f)(3.0), jax.jit(jax.grad(f))(1.5), jax.grad(f, 1)(3.0, 5.0))
        print(jax.vmap(jax.grad(f))(jnp.array([1.0, 2.0, 3.0])), jax.vmap(f)(jnp.array([1.0, 2.0])))

        class Doubled(VJPHiPrimitive):
            def __init__(self, aval):
                self.in_avals, self.out_aval, self.params = (aval,), aval, {}
                super().__init__()
            def expand(self, x):
                return 2 * x
            def jvp(self, primals, tangents):
                return self(*primals), 7 * tangents[0]

        g = lambda x: Doubled(jax.typeof(x))(x)
        print(g(1.0), jax.jvp(g, (1.0,), (1.0,)), jax.grad(g)(1.0))

        class Unfinished(VJPHiPrimitive):
            def __init__(self):
                super().__init__()

        try:
            Unfinished()
        except AttributeError as error:
            print(str(error).splitlines()[0])
    """
    assert run(program).splitlines() == [
        "9.0 5.0 3.0 0.0",
        "[2. 4. 5.] [1. 4.]",
        "2.0 (Array(2., dtype=float32, weak_type=True), Array(7., dtype=float32, weak_type=True)) 7.0",
        "Unfinished has no in_avals, out_aval, params",
    ]


def test_stages_say_what_a_call_costs() -> None:
    program = """
        import jax, jax.numpy as jnp
        traced = jax.jit(lambda x: x @ x + 1).trace(jax.ShapeDtypeStruct((8, 8), "float32"))
        print([equation.primitive.name for equation in traced.jaxpr.eqns][0], traced.jaxpr.in_avals)
        lowered = traced.lower()
        compiled = lowered.compile()
        print(lowered.cost_analysis() == compiled.cost_analysis(), compiled.cost_analysis()["flops"], compiled.cost_analysis()["bytes accessed"] >= 512)
        used = compiled.memory_analysis()
        print(used.argument_size_in_bytes, used.output_size_in_bytes, used["temp_size_in_bytes"] == used.temp_size_in_bytes)
        try:
            used.other
        except AttributeError as error:
            print(str(error).splitlines()[0])
    """
    assert run(program).splitlines() == [
        "dot_general [ShapedArray(float32[8,8])]",
        "True 1088.0 True",
        "256 256 True",
        "a memory analysis has no 'other'",
    ]


def test_formatted_numbers_have_the_digits_of_numpy() -> None:
    program = """
        import jax, jax.numpy as jnp, numpy as np
        x = jnp.float32(0.1)
        print(f"{x} {x:.3f} {jnp.int32(3)} {jnp.ones(2)} {jnp.bfloat16(0.1)} {jnp.bool_(True)} {jnp.complex64(1)}", x)
        print(f"{np.float32(0.1)} {np.float32(0.1):.3f}")
    """
    lines = ["0.10000000149011612 0.100 3 [1. 1.] 0.10009765625 True (1+0j) 0.1", "0.10000000149011612 0.100"]
    assert run(program).splitlines() == lines


def test_layers_with_windows_of_the_example_library() -> None:
    program = """
        import jax, numpy as np, jax.numpy as jnp
        from jax.example_libraries import stax
        def shape(layer, input_shape):
            made, params = layer[0](jax.random.key(0), input_shape)
            return made, params
        conv = stax.Conv(4, (3, 2), (2, 1), "SAME")
        made, (weight, bias) = shape(conv, (-1, 5, 6, 3))
        x = np.random.default_rng(0).normal(size=(2, 5, 6, 3)).astype(np.float32)
        expected = jax.lax.conv_general_dilated(x, weight, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        print(made, weight.shape, bias.shape, bool(jnp.allclose(conv[1]((weight, bias), x), expected + bias)))
        print(shape(stax.ConvTranspose(2, (3, 3), (2, 2)), (7, 4, 4, 3))[0], shape(stax.Conv1DTranspose(2, (2,), (2,)), (7, 4, 3))[0])
        print(shape(stax.GeneralConv(("NCHW", "OIHW", "NHWC"), 5, (2, 2)), (2, 3, 4, 5))[0])
        y = np.arange(16.0, dtype=np.float32).reshape(1, 4, 4, 1)
        for pool in (stax.MaxPool, stax.SumPool, stax.AvgPool):
            layer = pool((2, 2), (2, 2))
            print(shape(layer, (1, 4, 4, 1))[0], layer[1]((), y).ravel())
        print(stax.AvgPool((3, 3), padding="SAME")[1]((), np.ones((1, 3, 3, 1), np.float32)).ravel())
        print(shape(stax.MaxPool((2, 3), spec="WHCN"), (5, 6, 4, 2))[0])
        made, params = shape(stax.BatchNorm(axis=(0, 1, 2)), (2, 5, 6, 3))
        z = stax.BatchNorm(axis=(0, 1, 2))[1]((jnp.array([1.0, 2.0, 3.0]), 2 * params[1]), x)
        print(made, z.mean((0, 1, 2)).round(3), z.std((0, 1, 2)).round(3), stax.BatchNorm(center=False, scale=False)[0](jax.random.key(0), (1, 2, 2, 3))[1])
    """
    assert run(program).splitlines() == [
        "(-1, 3, 6, 4) (3, 2, 3, 4) (1, 1, 1, 4) True",
        "(7, 9, 9, 2) (7, 8, 2)",
        "(2, 3, 4, 5)",
        "(1, 2, 2, 1) [ 5.  7. 13. 15.]",
        "(1, 2, 2, 1) [10. 18. 42. 50.]",
        "(1, 2, 2, 1) [ 2.5  4.5 10.5 12.5]",
        "[1. 1. 1. 1. 1. 1. 1. 1. 1.]",
        "(4, 4, 4, 2)",
        "(2, 5, 6, 3) [1. 2. 3.] [2. 2. 2.] ((), ())",
    ]


def test_private_names_that_test_suites_use() -> None:
    program = """
        import jax, numpy as np, jax.numpy as jnp
        from jax._src import dispatch, dtypes
        from jax._src.lax import control_flow, linalg, parallel
        from jax._src.tpu.linalg import svd
        x = np.array([[3.0, 1.0, 3.0], [0.0, 1.0, 4.0]], np.float32)
        for name in ("pargmax", "pargmin"):
            print(jax.vmap(lambda row: getattr(parallel, name)(row, "i"), axis_name="i", in_axes=1, out_axes=None)(x))
        control_flow.common._dedup_consts.cache_clear()
        control_flow.common._pad_constvars.cache_clear()
        dispatch.runtime_tokens.clear()
        print([a.shape for a in linalg._lu_python(np.eye(2))], [a.dtype for a in svd.svd(np.eye(2), False)])
        print(np.dtype(jnp.float8_e5m2) in dtypes._float8_dtypes, np.dtype("float16") in dtypes._float8_dtypes)
        class Wrapped:
            value = 3
        dtypes.register_canonicalize_value_handler(Wrapped, lambda w: w.value)
        print(dtypes.canonicalize_value(Wrapped()))
    """
    assert run(program).splitlines() == [
        "[0 2]",
        "[1 0]",
        "[(2, 2), (2,), (2,)] [dtype('float32'), dtype('float32'), dtype('float32')]",
        "True False",
        "3",
    ]


def test_more_private_names_and_float0_under_the_hook() -> None:
    program = """
        import jax, numpy as np, jax.numpy as jnp
        from jax import lax
        from jax._src import api, config, test_util as jtu
        from jax._src.lax import windowed_reductions
        x = np.array([3.0, 1, 2, 9, 7, 5])
        window = ((2,), (2,), ((0, 0),))
        for select in (lax.ge_p, lax.le_p):
            print(windowed_reductions._select_and_gather_add(np.arange(6.0), x, select, *window, (1,), (1,)).tolist())
            print(windowed_reductions._select_and_scatter_add(np.arange(1.0, 4.0), x, select, *window).tolist())
        print(api.ShapeDtypeStruct is jax.ShapeDtypeStruct, jax.config.jax_pprint_use_color)
        print(jax.dtypes.canonicalize_dtype(jax.dtypes.float0) == jax.dtypes.float0)
        slow = jtu.skip_on_flag("jax_skip_slow_tests", True)(lambda test: "run")
        print(slow(None), config.Flag.by_name["jax_skip_slow_tests"].value)
        hand_on = lambda w, n: lax.cond(n > 1, lambda: (w, n), lambda: (w, n + 1))
        print(*jax.vmap(hand_on, (None, 0), (None, 0))(jnp.ones(2), jnp.arange(3)))
        print(*jax.jit(jax.vjp(lambda x, y: x + y, 2, 1)[1])(np.zeros((), jax.dtypes.float0)))
    """
    assert run(program).splitlines() == [
        "[0.0, 3.0, 4.0]",
        "[1.0, 0.0, 0.0, 2.0, 3.0, 0.0]",
        "[1.0, 2.0, 5.0]",
        "[0.0, 1.0, 2.0, 0.0, 0.0, 3.0]",
        "True True",
        "True",
        "run False",
        "[1. 1.] [1 2 2]",
        "False False",
    ]


def test_the_namespace_of_arrays_is_jax_numpy_by_the_array_api_standard() -> None:
    program = """
    import jax, jax.numpy as jnp
    info = jnp.__array_namespace_info__()
    print(jnp.ones(2).__array_namespace__() is jnp, jnp.__array_api_version__, info.default_device())
    print(info.capabilities()["boolean indexing"], set(jax.devices()) <= set(info.devices()), None in info.devices())
    print(list(info.dtypes(kind=("real floating", "complex floating"))), info.default_dtypes()["integral"])
    print(jax.jit(lambda x: x.__array_namespace__(api_version="2024.12").negative(x))(jnp.ones(2)))
    try:
        jnp.ones(2).__array_namespace__(api_version="1999.01")
    except ValueError as error:
        print("1999.01" in str(error))
    with jax.enable_x64(True):
        print(list(info.dtypes(kind="complex floating")))
    """
    assert run(program).splitlines() == [
        "True 2024.12 None",
        "False True True",
        "['float32', 'complex64'] int32",
        "[-1. -1.]",
        "True",
        "['complex64', 'complex128']",
    ]


def test_traces_have_the_marks_of_a_program(tmp_path: Path) -> None:
    program = f"""
    import gzip, json, pathlib, threading
    import jax, jax.numpy as jnp
    folder = pathlib.Path({str(tmp_path)!r})
    @jax.profiler.annotate_function
    def load(n): return jnp.ones(n)
    with jax.profiler.TraceAnnotation("before"):
        pass
    with jax.profiler.trace(folder, create_perfetto_trace=True):
        for step in range(2):
            with jax.profiler.StepTraceAnnotation("train", step_num=step):
                load(3)
        try:
            jax.profiler.start_trace(folder)
        except RuntimeError as error:
            print(str(error).splitlines()[0])
    for file in sorted(folder.glob("plugins/profile/*/*.json.gz")):
        events = json.load(gzip.open(file))["traceEvents"]
        print(file.name == "perfetto_trace.json.gz", [(e["name"], e["args"].get("step_num")) for e in events])
    inner, outer = events[:2]
    print(outer["ts"] <= inner["ts"] and inner["dur"] <= outer["dur"])
    try:
        jax.profiler.stop_trace()
    except RuntimeError as error:
        print(str(error).splitlines()[0])
    """
    marks = "[('load', None), ('train', '0'), ('load', None), ('train', '1')]"
    lines = run(program).splitlines()
    assert sorted(lines[1:3]) == [f"False {marks}", f"True {marks}"]
    assert [lines[0], *lines[3:]] == [
        "Profile has already been started. Only one profile may be run at a time.",
        "True",
        "No profile started",
    ]


def test_decompositions_of_lax_that_others_are_made_of() -> None:
    program = """
    import jax, jax.numpy as jnp, numpy as np
    from jax._src.tpu.linalg import eigh, qdwh
    x = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    u, h, iterations, is_done = jax.jit(jax.lax.linalg.qdwh)(x)
    print(np.allclose(u @ h, x, atol=1e-5), np.allclose(u.T @ u, np.eye(4), atol=1e-5), np.allclose(h, h.T, atol=1e-5), bool(is_done))
    padded = jnp.full((8, 6), jnp.nan).at[:6, :4].set(x)
    u, h, _, _ = qdwh.qdwh(padded, dynamic_shape=(6, 4))
    print(np.allclose((u @ h)[:6, :4], x, atol=1e-5), float(jnp.abs(u[6:]).sum() + jnp.abs(h[:, 4:]).sum()))
    s = x.T @ x
    values, vectors = eigh.eigh(s)
    print(np.allclose(s @ vectors, vectors * values, atol=1e-4), values.shape, eigh.eigh(s, subset_by_index=(1, 3))[0].shape)
    values, vectors = eigh.eigh(jnp.full((6, 6), 9.0).at[:4, :4].set(s), n=4)
    print(np.allclose(values[:4], eigh.eigh(s)[0], atol=1e-4), values[4:].tolist())
    print(jax.lax.linalg.SvdAlgorithm.POLAR.value, jax.lax.dce_sink({"a": x}), jax.jit(jax.lax.stage)(2).dtype)
    """
    assert run(program).splitlines() == [
        "True True True True",
        "True 0.0",
        "True (4,) (2,)",
        "True [0.0, 0.0]",
        "polar None int32",
    ]
