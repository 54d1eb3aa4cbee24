"""`cotangent.jax`: JAX's semantics where cotangent's differ, and only while the hook is installed."""

from __future__ import annotations

import pytest
from jax_hook_process import run

DTYPES = {
    "jnp.array(a)": "float32",
    "jnp.asarray(np.arange(3))": "int32",
    "jnp.zeros(2, np.float64)": "float32",
    "jnp.zeros(2, 'float64')": "float32",
    "jnp.zeros(2, jnp.int64)": "int32",
    "jnp.float64(1.0)": "float32",
    "jnp.linspace(0, 1, 3, dtype=float)": "float32",
    "x.astype(np.float64)": "float32",
    "x.astype(complex)": "complex64",
    "jnp.sin(a)": "float32",
    "x * a": "float32",
    "a * x": "float32",
    "x + np.arange(3)": "float32",
    "jax.jit(lambda y: y * 2)(a)": "float32",
    "jax.jit(lambda y: np.arange(3.0) - y)(x)": "float32",
    "jax.grad(lambda y: (y * y).sum())(a)": "float32",
    "jax.vmap(lambda y: y * y)(a)": "float32",
    "jax.vjp(lambda y: y * y, a)[0]": "float32",
    "jax.eval_shape(lambda y: y, a)": "float32",
    "jax.device_put(a)": "float32",
    "jax.lax.scan(lambda c, y: (c + y, None), 0.0, a)[0]": "float32",
    "jax.lax.cond(True, lambda y: y, lambda y: y, a)": "float32",
    "jax.lax.scan(lambda c, y: (np.float64(c.ndim), None), np.float64(1), a)[0]": "float32",
    "jax.lax.fori_loop(0, 3, lambda i, c: [jnp.sin(c[0])], [np.float64(1)])[0]": "float32",
    "jax.lax.cond(True, lambda: a, lambda: a + 1)": "float32",
    "jax.linearize(jnp.sin, a)[1](a)": "float32",
    "jax.vjp(jnp.sin, a)[1](a)[0]": "float32",
    "jax.jvp(jnp.sin, (x,), (a,))[1]": "float32",
    "jax.jit(lambda: a)()": "float32",
    "jax.checkpoint(jnp.sin)(a)": "float32",
    "x.astype(np.uint32) + x.astype(np.int32)": "int32",
    "jnp.add(x.astype(np.uint32), x.astype(np.int8))": "int32",
    "jax.random.randint(jax.random.key(0), (2,), 0, 5, dtype=np.int64)": "int32",
    "jnp.zeros(2, jnp.result_type(np.uint32, np.int32))": "int32",
    "jnp.promote_types('float64', 'int8').type(0)": "float64",
    "jnp.array(np.ones(2, complex))": "complex64",
    "i + u": "int32",
    "u * i": "int32",
    "jnp.concatenate([i, u])": "int32",
    "jnp.where(i > 0, i, u)": "int32",
    "jax.jit(lambda i, u: i - u)(i, u)": "int32",
    "i + np.int64(1)": "int32",
    "np.int64(1) + i": "int32",
    "u + np.uint64(1)": "uint32",
    "x.astype(jnp.float16) * np.float64(2)": "float32",
    "np.float64(2) * x.astype(jnp.float16)": "float32",
    "i * np.float64(2)": "float32",
    "i + np.complex128(1j)": "complex64",
    "jnp.array([np.float64(1), 2])": "float32",
    "jax.grad(lambda y: y * y)(np.float64(3))": "float32",
    "jax.lax.scan(lambda c, _: (c + jnp.float32(1), None), np.float64(3), None, length=3)[0]": "float32",
    "jax.lax.while_loop(lambda c: c < 5, lambda c: c + jnp.float32(1), np.float64(3))": "float32",
    "jax.linearize(lambda y: y * y, x)[1](a)": "float32",
    "jax.vjp(lambda y: y * y, x)[1](a)[0]": "float32",
    "round(jnp.float32(2.5))": "int32",
    "jax.scipy.signal.convolve(i, i)": "float32",
    "jax.scipy.signal.correlate2d(jnp.eye(2, dtype=int), jnp.eye(2, dtype=int))": "float32",
}


VALUES = "a, x, i, u = np.arange(3.0), jnp.ones(3), jnp.arange(3), jnp.arange(3, dtype='uint32')"


def test_dtypes_are_those_of_jax_without_64_bits() -> None:
    lines = "\n".join(f"print(({expression}).dtype)" for expression in DTYPES)
    got = run(f"import numpy as np, jax, jax.numpy as jnp\n{VALUES}\n{lines}").splitlines()
    assert dict(zip(DTYPES, got, strict=True)) == DTYPES


def test_integers_that_32_bits_do_not_hold_are_an_error() -> None:
    program = """
        import jax, jax.numpy as jnp
        for f in (jnp.array, jnp.ones(3, int).__add__, jax.jit(lambda x: x), lambda x: jnp.add(1, x)):
            try:
                print(f(2**40))
            except OverflowError as error:
                print(error.args[0].splitlines()[0])
        with jax.enable_x64(True):
            print(jnp.array(2**40))
    """
    error = "the Python int 1099511627776 does not fit int32"
    assert run(program).splitlines() == [
        "Python int 1099511627776 too large to convert to int32",
        error,
        "an argument is a Python int that does not fit int32",
        error,
        "1099511627776",
    ]


def test_programs_have_no_equation_for_arrays_that_are_narrowed() -> None:
    program = """
        import numpy as np, jax
        print(len(jax.make_jaxpr(lambda x: (np.ones(3), x))(1.0).eqns))
    """
    assert run(program) == "0"


def test_64_bits_where_they_are_asked_for() -> None:
    program = """
        import numpy as np, jax, jax.numpy as jnp
        with jax.enable_x64(True):
            print(jnp.array(np.arange(3.0)).dtype, (jnp.ones(3) * np.arange(3)).dtype, jnp.ones(2).astype(np.float32).dtype)
        jax.config.update("jax_enable_x64", True)
        print(jax.grad(lambda y: y * y)(np.float64(2)).dtype, jnp.zeros(2, np.int64).dtype, jax.config.jax_enable_x64)
    """
    assert run(program).splitlines() == ["float64 float64 float32", "float64 int64 True"]


def test_what_is_known_of_dtypes_of_64_bits_is_so() -> None:
    program = """
        import numpy as np, jax, jax.numpy as jnp
        print(jnp.finfo(jnp.float64).bits, jnp.issubdtype(jnp.float32, np.float64), np.dtype(jnp.float64), jnp.float64 == np.float64)
    """
    assert run(program) == "64 False float64 True"


def test_constant_indices_outside_are_clamped_and_dropped() -> None:
    program = """
        import jax, jax.numpy as jnp
        x = jnp.arange(3.0)
        print(x[5], x[-5], x[jnp.array([0, 9])], x.at[5].set(9.0), jax.jit(lambda x: x[7])(x), jax.grad(lambda x: x[1])(x))
    """
    assert run(program) == "2.0 0.0 [0. 2.] [0. 1. 2.] 2.0 [0. 1. 0.]"


def test_an_array_is_iterated_to_its_end() -> None:
    assert run("import jax.numpy as jnp; print([float(x) for x in jnp.arange(3.0)], len(list(jnp.ones((2, 3)))))") == (
        "[0.0, 1.0, 2.0] 2"
    )


@pytest.mark.parametrize(
    ("error", "expression"),
    [
        ("TracerBoolConversionError", "1 if y > 0 else 2"),
        ("TracerArrayConversionError", "np.asarray(y)"),
        ("TracerIntegerConversionError", "range(3)[y.astype(int)]"),
        ("ConcretizationTypeError", "float(y)"),
    ],
)
def test_errors_are_caught_by_their_names_in_jax(error: str, expression: str) -> None:
    program = f"""
        import numpy as np, jax
        try:
            jax.jit(lambda y: {expression})(1.0)
        except jax.errors.{error}:
            print("caught")
    """
    assert run(program) == "caught"


def test_options_without_effect_are_remembered() -> None:
    program = """
        import jax
        jax.config.update("jax_compilation_cache_dir", "somewhere")
        print(jax.config.jax_compilation_cache_dir, hasattr(jax.config, "jax_no_such_option"))
    """
    assert run(program) == "somewhere False"


def test_nothing_of_it_is_left_outside() -> None:
    """The rules of this package, in a process that never installs the hook but imports the module."""
    program = """
        import numpy as np, cotangent as ct, cotangent.jax
        x = ct.numpy.ones(3)
        print((x * np.arange(3.0)).dtype, x.astype(np.float64).dtype)
        with cotangent.jax.installed():
            print((x * np.arange(3.0)).dtype, x.astype(np.float64).dtype)
        print((x * np.arange(3.0)).dtype, x.astype(np.float64).dtype)
    """
    assert run(program, install=False).splitlines() == ["float64 float64", "float32 float32", "float64 float64"]


@pytest.mark.parametrize(
    "expression", ["jnp.array([2**40])", "jax.jit(lambda y: y)(2**40)", "i + 2**40", "jnp.array(2**31)"]
)
def test_ints_beyond_32_bits_are_refused(expression: str) -> None:
    program = f"""
        import jax, jax.numpy as jnp
        i = jnp.arange(3)
        try:
            print({expression})
        except OverflowError as error:
            print("int32" in str(error))
    """
    assert run(program) == "True"


def test_positions_of_numpy_beside_an_ellipsis() -> None:
    program = """
        import numpy as np, jax, jax.numpy as jnp
        x = np.arange(24.0).reshape(2, 3, 4)
        print((jnp.array(x)[np.arange(2), ..., np.arange(2)] == x[np.arange(2), ..., np.arange(2)]).all())
        with jax.enable_x64(True):
            print((jnp.arange(3, dtype="uint32") + jnp.arange(3, dtype="int32")).dtype)
    """
    assert run(program) == "True\nint64"


def test_members_of_enumerations_of_ints_are_numbers() -> None:
    program = """
        import enum, jax, jax.numpy as jnp
        class Status(enum.IntEnum):
            RUNNING = 1
            DONE = 2
        print(jnp.where(True, Status.DONE, 0), jax.lax.scan(lambda c, _: (c + 1, None), Status.RUNNING, None, length=2)[0])
        print(jax.lax.cond(True, lambda s: s, lambda s: -s, Status.DONE), repr(jnp.asarray(Status.DONE)))
    """
    assert run(program) == "2 3\n2 Array(2, dtype=int32, weak_type=True)"


def test_random_keys_are_compared() -> None:
    program = """
        import jax, jax.numpy as jnp
        key = jax.random.key(0)
        print(jnp.equal(key, key), jnp.not_equal(key, key), jnp.array_equal(key, jax.random.key(1)))
        print(jax.vmap(lambda k: jnp.equal(k, key))(jnp.stack([key, jax.random.key(1)])), jnp.equal(1, 1))
    """
    assert run(program) == "True False False\n[ True False] True"


def test_conditions_of_piecewise_that_are_one_bool_each() -> None:
    program = """
        import jax.numpy as jnp
        print(jnp.piecewise(jnp.arange(4), jnp.array([False, True, False]), [lambda x: 0 * x, lambda x: 10 * x, lambda x: 100 * x]))
    """
    assert run(program) == "[ 0 10 20 30]"


def test_the_older_layout_of_random_words() -> None:
    program = """
        import numpy as np, jax, jax.numpy as jnp
        key = jax.random.PRNGKey(42)
        jitted = jax.jit(jax.random.split)
        newer = jitted(key).tolist()
        with jax.threefry_partitionable(False):
            print(np.asarray(jax.random.split(key, 3)).tolist(), jax.random.bits(key, (5,)).tolist())
            print(jax.random.bits(key, (5,), "uint8").tolist(), jax.random.bits(key, (3,), "uint16").tolist(), jax.random.bits(key))
            print(jax.random.permutation(key, 5).tolist(), jax.random.randint(key, (3,), 0, 10).tolist())
            print(jax.vmap(lambda k: jax.random.bits(k, (2,)))(jax.random.split(key, 2))[0] == jax.random.bits(jax.random.split(key)[0], (2,)))
        jax.config.update("jax_threefry_partitionable", False)
        print(jitted(key).tolist(), jax.config.jax_threefry_partitionable)
        with jax.enable_x64(True):
            print(jax.random.bits(key, (3,), "uint64").tolist())
        jax.config.update("jax_threefry_partitionable", True)
        print(jax.random.split(key).tolist(), jax.config.jax_threefry_partitionable, newer == jitted(key).tolist())
    """
    assert run(program).splitlines() == [
        "[[3134548294, 3733159049], [3746501087, 894150801], [801545058, 2363201431]] "
        "[3134548294, 3733159049, 843694964, 894150801, 801545058]",
        "[45, 179, 215, 3, 244] [45869, 983, 33780] 1832780943",
        "[2, 3, 0, 1, 4] [5, 8, 7]",
        "[ True  True]",
        "[[2465931498, 3679230171], [255383827, 267815257]] False",
        "[13462782411356743825, 16033796027023006562, 16091099645456652183]",
        "[[1832780943, 270669613], [64467757, 2916123636]] True True",
    ]


def test_traced_values_are_told_from_others_and_stay_where_they_are() -> None:
    program = """
        import jax, jax.numpy as jnp
        from jax.interpreters.partial_eval import DynamicJaxprTracer
        print(jax.vmap(jax.grad(lambda x: jax.device_get(x) ** 2))(jnp.arange(3.0)), type(jax.device_get(jnp.ones(1))).__name__)
        seen = []
        jax.jit(lambda x: seen.append(isinstance(x, DynamicJaxprTracer)))(1.0)
        print(seen, isinstance(jnp.ones(1), DynamicJaxprTracer))
        print(jax.lax.dynamic_slice_p.bind(jnp.arange(8.0), 1, slice_sizes=(3,)), jax.lax.mul_p.bind(jnp.ones(2), 2.0 * jnp.ones(2)))
    """
    assert run(program).splitlines() == ["[0. 2. 4.] ndarray", "[True] False", "[1. 2. 3.] [2. 2.]"]


def test_legendre_functions() -> None:
    program = """
        import numpy as np, jax.numpy as jnp
        from jax.scipy.special import lpmn, lpmn_values
        x = 0.3
        values, slopes = lpmn(2, 2, jnp.array([x, -0.5]))
        across = np.sqrt(1 - x * x)
        np.testing.assert_allclose(values[:, :, 0], [[1, x, 1.5 * x * x - 0.5], [0, -across, -3 * x * across], [0, 0, 3 * across**2]], rtol=1e-6)
        np.testing.assert_allclose(slopes[:, :, 0], [[0, 1, 3 * x], [0, x / across, -3 * (1 - 2 * x * x) / across], [0, 0, -6 * x]], rtol=1e-6)
        norms = np.sqrt([[1, 3, 5], [0, 3 / 2, 5 / 6], [0, 0, 5 / 24]]) / np.sqrt(4 * np.pi)
        np.testing.assert_allclose(lpmn_values(2, 2, jnp.array([x]), True)[:, :, 0], norms * values[:, :, 0], rtol=1e-5)
        print(values.shape, values.dtype)
    """
    assert run(program) == "(3, 3, 2) float32"


def test_errors_of_callbacks_are_of_both_classes() -> None:
    program = """
        import jax, numpy as np
        class Odd(Exception):
            def __init__(self, a, b): super().__init__("odd")
        def fail(x):
            if x > 1: raise Odd(1, 2)
            if x > 0: raise OSError(2, "no file")
            raise ValueError("below")
        def f(x): return jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.float32), x)
        for value in (-1.0, 0.5, 2.0):
            try:
                jax.jit(f)(value)
            except jax.errors.JaxRuntimeError as error:
                print(isinstance(error, ValueError), isinstance(error, OSError), str(error).splitlines()[0])
    """
    assert run(program).splitlines() == ["True False below", "False True [Errno 2] no file", "False False odd"]


@pytest.mark.usefixtures("names_devices")  # XLA makes subnormal numbers zeros on processors, and not on GPUs
def test_subnormal_numbers_are_zeros() -> None:
    """As in XLA on processors; NumPy's beside it are as they were, and so are ours before and after."""
    program = """
        import numpy as np, cotangent as ct, cotangent.jax
        def count(many):
            x = ct.numpy.asarray(many)
            f = ct.jit(lambda x: x * 0.5)
            both = np.asarray(x * 0.5), np.asarray(f(x)), np.asarray(ct.lax.linalg.cholesky(ct.numpy.diag(x[:2] + x[:2] * 0.25)))
            return [int(np.count_nonzero(y)) for y in both], int(np.count_nonzero(many * np.float32(0.5)))
        for size in (8, 3_000_000):
            many = np.full(size, 2e-38, np.float32)
            print(count(many))
            with cotangent.jax.installed():
                print(count(many))
                import jax, jax.numpy as jnp
                print(jnp.float32(1e-40) * 1 == 0, jax.jit(lambda x: x == 0)(np.float32(1e-40)), np.float32(1e-40) * np.float32(1) == 0)
            print(count(many))
    """
    kept, flushed = ("([{0}, {0}, 2], {0})", "([0, 0, 2], {0})")
    lines = run(program, install=False).splitlines()
    for start, size in ((0, 8), (4, 3_000_000)):
        assert lines[start] == lines[start + 3] == kept.format(size)
        assert lines[start + 1 : start + 3] == [flushed.format(size), "True True False"]


def test_numbers_that_only_small_floats_have_as_subnormals_are_kept() -> None:
    """Those of float16 are normal numbers of float32, which is what they are computed in: read eagerly, too."""
    program = """
        import numpy as np, jax, jax.numpy as jnp
        x = np.array([6e-8, 1e-7, 1.0], np.float16)
        print(bool((np.asarray(jnp.asarray(x) * 2) == x * 2).all()), bool((np.asarray(jax.jit(lambda x: x * 2)(x)) == x * 2).all()))
        print(float(jnp.asarray(x)[0]) == float(x[0]), float(jnp.asarray(2.0**-9, jnp.float8_e4m3fn)) == 2.0**-9)
    """
    assert run(program).splitlines() == ["True True", "True True"]


def test_the_nearest_of_two_elements_as_near_is_the_lower() -> None:
    run(
        """
        import jax.numpy as jnp, numpy as np
        levels = np.float32([0.1, 0.3, 0.5])
        assert jnp.quantile(jnp.arange(1.0, 7.0), levels, method="nearest").tolist() == [1.0, 2.0, 3.0]
        assert float(jnp.percentile(jnp.arange(1.0, 5.0), 50.0, method="nearest")) == 2.0
        """
    )


def test_64_bits_are_kept_where_they_are_asked_for() -> None:
    program = """
        import jax, numpy as np
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp, jax.scipy.signal, jax.scipy.special
        x = np.array([1 + 2.0**-40, 2.0])
        program = jax.make_jaxpr(lambda x: jnp.sin(x))(x)
        print(program.in_avals[0].dtype, program.out_avals[0].dtype, jax.make_jaxpr(jnp.sin)(jnp.asarray(x)).in_avals[0].dtype)
        print(jax.make_jaxpr(jnp.sin)(jax.ShapeDtypeStruct((2,), np.float64)).in_avals[0].dtype)
        same = np.array([1.0])
        for result in (jax.scipy.signal.convolve(x, same), jax.jit(lambda x: x)(x), jax.vjp(lambda x: x, x)[0], jax.device_put(x), jax.vmap(lambda x: x)(x)):
            print(result.dtype, bool((np.asarray(result) == x).all()))
        print(jax.scipy.special.lpmn_values(1, 1, x * 0.1, False).dtype, jnp.ones(2, np.int64).dtype)
        with jax.enable_x64(False):
            print(jax.make_jaxpr(jnp.sin)(x).in_avals[0].dtype, jax.vmap(lambda x: x)(x).dtype)
    """
    lines = run(program).splitlines()
    assert lines == ["float64 float64 float64", "float64", *["float64 True"] * 5, "float64 int64", "float32 float32"]


def test_ints_of_more_than_32_bits_that_functions_return_overflow() -> None:
    program = """
        import jax, numpy as np
        returning = (
            jax.jit(lambda: 2**31), lambda: jax.vmap(lambda x: -(2**31) - 1)(np.ones(2)), lambda: jax.eval_shape(lambda: 2**63),
            lambda: jax.lax.scan(lambda c, x: (c, 2**40), 0, np.ones(2)),
        )
        for f in returning:
            try:
                f()
            except OverflowError as error:
                print(str(error).splitlines()[0])
        print(jax.jit(lambda: 2**31 - 1)(), jax.jit(lambda: -(2**31))())
    """
    assert run(program).splitlines() == [
        "the Python int 2147483648 does not fit int32",
        "the Python int -2147483649 does not fit int32",
        "the Python int 9223372036854775808 does not fit uint32",
        "the Python int 1099511627776 does not fit int32",
        "2147483647 -2147483648",
    ]


def test_checked_indices_are_counted_from_the_front() -> None:
    program = """
        import jax, numpy as np
        from jax.experimental import checkify
        for i in (5, -5):
            error, _ = checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks)(np.ones(2), i)
            print(error.get().splitlines()[0])
    """
    assert run(program).splitlines() == [
        f"out-of-bounds indexing for array of shape (2,): index {i} is out-of-bounds for axis 0 with size 2"
        for i in (5, -3)
    ]


def test_shifts_of_bools_are_of_ints_and_negative_powers_of_ints_are_refused() -> None:
    program = """
        import jax, jax.numpy as jnp
        b = jnp.array([True, False])
        print(jnp.left_shift(b, 1), jnp.left_shift(b, b).dtype, jnp.right_shift(b, b), jnp.right_shift(b, b).dtype)
        for function in (lambda x: jax.lax.integer_pow(x, -2), lambda x: jnp.power(x, -1)):
            try:
                function(jnp.ones(2, int))
            except TypeError as error:
                print("Integers cannot be raised to negative powers" in str(error))
    """
    assert run(program).splitlines() == ["[2 0] int32 [0 0] int32", "True", "True"]


def test_an_array_of_numpy_that_is_reshaped_stays_one() -> None:
    program = """
        import jax, jax.numpy as jnp, numpy as np
        x = np.arange(6) > 2
        print(type(jnp.reshape(x, (2, -1))).__name__, jnp.reshape(x, (2, 3)).all(-1), isinstance(jnp.reshape(jnp.ones(2), 2), jax.Array))
        def f(y):
            return y * 2 if jnp.reshape(x, (2, 3)).any() else y
        print(jax.jit(f)(1.0), jnp.reshape([1, 2, 3, 4], (2, 2)).dtype, jnp.reshape(np.arange(4.0), (2, 2), order="F").tolist())
        try:
            jnp.reshape(x, (4, 2))
        except (TypeError, ValueError) as error:
            print(str(error).splitlines()[0])
    """
    lines = run(program).splitlines()
    assert lines[:2] == ["ndarray [False  True] True", "2.0 int32 [[0.0, 2.0], [1.0, 3.0]]"]
    assert "(4, 2)" in lines[2]
