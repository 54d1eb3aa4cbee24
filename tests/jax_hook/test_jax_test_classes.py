"""`cotangent.jax`: the private modules on which test suites of JAX and of its libraries are built."""

from __future__ import annotations

import pytest
from jax_hook_process import run
from needs import needed

needed("absl")

SUITE = """
import unittest
import numpy as np
import jax, jax.numpy as jnp
from absl.testing import parameterized
from jax._src import config
from jax._src import test_util as jtu

config.parse_flags_with_absl()
seen = []

class Sums(jtu.JaxTestCase):
    @jtu.sample_product(
        [dict(shape=shape, axis=axis) for shape in [(3,), (2, 3)] for axis in (0, -1)],
        dtype=jtu.dtypes.floating + jtu.dtypes.complex + [np.int8],
    )
    def test_sum(self, shape, axis, dtype):
        seen.append((shape, axis, np.dtype(dtype).name))
        rng = jtu.rand_default(self.rng())
        draw = lambda: [rng(shape, dtype)]
        self._CheckAgainstNumpy(lambda x: np.sum(x, axis=axis), lambda x: jnp.sum(x, axis=axis), draw, tol=1e-5)
        self._CompileAndCheck(lambda x: jnp.sum(x, axis=axis), draw, tol=1e-5)

    def test_wrong_values(self):
        with self.assertRaises(AssertionError):
            self._CheckAgainstNumpy(np.sin, jnp.cos, lambda: [np.ones(3, np.float32)])

    def test_wrong_dtype(self):
        with self.assertRaises(AssertionError):
            self.assertAllClose(np.ones(2, np.int8), jnp.ones(2))

    def test_called_again(self):
        with self.assertRaisesRegex(AssertionError, "called again"):
            sizes = iter((2, 3))
            self._CompileAndCheck(jnp.sin, lambda: [np.ones(next(sizes), np.float32)])

    def test_cached_once(self):
        f = jax.jit(lambda x: x + 1)
        with jtu.count_jit_tracing_cache_miss() as count:
            f(1.0), f(2.0), f(3)
        self.assertEqual(count(), 2)

    @jtu.run_on_devices("gpu")
    def test_elsewhere(self):
        raise AssertionError("not on a processor")

    @parameterized.parameters(1, 2)
    def test_options(self, n):
        self.assertEqual(config.numpy_rank_promotion.value, "raise")
        self.assertTrue(config.enable_checks.value)

result = unittest.TextTestRunner(stream=open("/dev/null", "w")).run(unittest.defaultTestLoader.loadTestsFromTestCase(Sums))
print(result.testsRun, len(result.failures), len(result.errors), len(result.skipped), len(set(seen)))
for _, text in result.failures + result.errors:
    print(text)
"""


def test_a_suite_of_jax_runs() -> None:
    """10 samples of 12 combinations, all different, and 7 tests by themselves, one of which skips itself."""
    assert run(SUITE) == "17 0 0 1 10"


def test_samples_are_those_that_their_names_say() -> None:
    program = """
    import numpy as np
    import jax.numpy as jnp
    from jax._src import test_util as jtu
    rng = np.random.RandomState(0)
    x = jtu.rand_positive(rng)((1000,), np.float32)
    print(x.dtype, bool((x >= 1).all()), bool((x <= 3).all()), x.shape)
    print(jtu.rand_nonzero(rng)((1000,), np.int8).all(), jtu.rand_int(rng, -2, 2)((1000,), np.int32).tolist().count(2))
    some = jtu.rand_some_inf_and_nan(rng)((1000,), jnp.bfloat16)
    print(some.dtype, bool(np.isnan(some).any()), bool(np.isinf(some).any()), bool(np.isfinite(some).any()))
    print(type(jtu.rand_default(rng)(jtu.PYTHON_SCALAR_SHAPE, np.float64)), type(jtu.rand_default(rng)(jtu.NUMPY_SCALAR_SHAPE, np.float32)))
    index = jtu.rand_indices_unique_along_axis(rng)(5, (3, 4), 1, allow_negative=False)
    print(index.shape, all(len(set(row)) == 4 for row in index.tolist()))
    print(jtu.format_shape_dtype_string((2, 3), np.float32), jtu.format_shape_dtype_string(jtu.PYTHON_SCALAR_SHAPE, np.int64))
    """
    assert run(program).splitlines() == [
        "float32 True True (1000,)",
        "True 0",
        "bfloat16 True True True",
        "<class 'float'> <class 'numpy.float32'>",
        "(3, 4) True",
        "float32[2,3] pyint64",
    ]


def test_derivatives_are_checked_to_the_tolerances_of_their_dtypes() -> None:
    program = """
    import numpy as np
    import jax, jax.numpy as jnp
    from jax.test_util import check_grads, check_jvp, check_vjp

    check_grads(lambda x, y: jnp.sin(x) * y, (np.float64(0.5), np.ones(3, np.float32)), order=2, modes=["fwd", "rev", "lin"])

    @jax.custom_jvp
    def wrong(x):
        return x * x

    wrong.defjvp(lambda xs, ts: (xs[0] * xs[0], 2.1 * xs[0] * ts[0]))
    for check in (lambda: check_grads(wrong, (1.0,), 1, ["fwd"]), lambda: check_grads(wrong, (1.0,), 1, ["rev"])):
        try:
            check()
        except AssertionError as error:
            print(next(word for word in str(error).split() if word in ("JVP", "VJP")))
    """
    assert run(program).splitlines() == ["JVP", "VJP"]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("jax.numpy_rank_promotion.value", "allow"),
        ("within(jax.numpy_rank_promotion('raise'), lambda: jax.numpy_rank_promotion.value)", "raise"),
        ("within(jax.enable_x64(), lambda: (jnp.zeros(2).dtype, jax.enable_x64.value))", "(dtype('float64'), True)"),
        ("jax.enable_x64(True)(lambda: jnp.zeros(2).dtype)()", "float64"),
        ("within(jax.debug_nans(True), lambda: jax.debug_nans.value)", "True"),
        ("jax._src.config.config_states['jax_enable_checks'].value", "False"),
        (
            "within(jax.numpy_dtype_promotion('strict'), lambda: refused(jnp.promote_types, 'int32', 'float32'))",
            "TypePromotionError",
        ),
        ("within(jax.numpy_dtype_promotion('strict'), lambda: jnp.promote_types('float32', int))", "float32"),
        (
            "within(jax.numpy_dtype_promotion('strict'), lambda: refused(jnp.result_type, jnp.arange(3), 1.0))",
            "TypePromotionError",
        ),
        ("refused(jax.numpy_rank_promotion, 'nonsense')", "ValueError"),
        ("refused(jax.numpy_rank_promotion)", "TypeError"),
    ],
)
def test_options_have_values_and_blocks(expression: str, value: str) -> None:
    program = f"""
    import jax, jax.numpy as jnp
    import jax._src.config
    def within(block, f):
        with block:
            return f()
    def refused(f, *args):
        try:
            f(*args)
        except Exception as error:
            return type(error).__name__
    print({expression})
    """
    assert run(program) == value


def test_other_names_of_one_function_are_functions_of_those_names() -> None:
    program = """
    import jax.numpy as jnp
    import jax.scipy.special, jax.nn
    print(jnp.abs.__name__, jnp.absolute.__name__, jnp.abs is jnp.absolute, jnp.abs.__doc__.split(".")[0], jnp.abs(-2.0))
    print(jax.nn.logsumexp is jax.scipy.special.logsumexp)
    print(jnp.int_ == jnp.int64, jnp.array([1], jnp.int_).dtype, jnp.promote_types("int64", float), jnp.dtype(jnp.int4))
    """
    assert run(program).splitlines() == [
        "abs absolute False Alias of `absolute` 2.0",
        "True",
        "True int32 float64 int4",
    ]


REFERENCES = """
import numpy as np
import jax.numpy as jnp
from jax import lax
from jax._src import lax_reference as reference

rng = np.random.default_rng(0)
x, y = rng.normal(size=(2, 3, 8, 9)).astype(np.float32), rng.normal(size=(4, 3, 3, 2)).astype(np.float32)
n, m = np.array([-7, 7, -8, 5, -128, 9], np.int8), np.array([2, -2, 0, 0, -1, 3], np.int8)
ties = np.array([[3, 1, 3, 2], [0, 0, 0, 5]], np.int32)
calls = {
    "div": (n, m), "rem": (n, m), "clz": (n,), "population_count": (n,), "mulhi": (n, m),
    "round": (np.array([-2.5, -0.5, 0.5, 1.4], np.float32),), "erf_inv": (np.float32([0.5, -0.25]),), "rsqrt": (np.float32([4, 0.25]),),
    "conv": (x, y, (2, 1), "SAME"), "conv_with_general_padding": (x, y, (1, 2), [(1, -1), (0, 2)], (2, 1), (1, 3)),
    "dot_general": (x, y, (([1], [1]), ([], []))), "pad": (ties, np.int32(9), [(1, -1, 0), (-1, 2, 2)]),
    "dynamic_slice": (ties, (1, 3), (1, 2)), "dynamic_update_slice": (ties, ties[:1, :2], (5, 1)), "broadcast_in_dim": (ties, (2, 3, 4), (0, 2)),
    "top_k": (ties, 3), "sort_key_val": (ties, ties + 1, 1), "bitcast_convert_type": (ties, np.int16), "clamp": (1, ties, 2),
    "ragged_dot": (x[0, 0], x[0, :2].swapaxes(1, 2), np.array([3, 4], np.int32)),
}
for name, arguments in calls.items():
    expected = getattr(lax, name)(*(jnp.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments))
    got = getattr(reference, name)(*arguments)
    for ours, theirs in zip(*((each if isinstance(each, (tuple, list)) else (each,)) for each in (got, expected))):
        np.testing.assert_allclose(ours, np.asarray(theirs), 1e-5, 1e-5, err_msg=name)
        assert np.asarray(ours).dtype == theirs.dtype, name
window = (ties.astype(np.float32), np.float32(0), np.add, (1, 3), (1, 2), "SAME", (1, 2))
expected = lax.reduce_window(jnp.asarray(window[0]), window[1], lax.add, *window[3:])
np.testing.assert_array_equal(reference.reduce_window(*window), np.asarray(expected))
print(len(calls), reference.max is np.maximum, reference.reduce(ties, 0, np.add, (0,)).tolist())
"""


def test_functions_of_lax_have_references() -> None:
    assert run(REFERENCES) == "20 True [3, 1, 3, 7]"


def test_functions_are_computed_with_many_digits() -> None:
    needed("mpmath")
    program = """
    import mpmath, numpy as np
    from jax._src import test_util as jtu
    sample = jtu.complex_plane_sample(np.complex64, 2)
    print(sample.shape, sample[0, 0], sample[-2, -2], sample[3, 4])
    exact, near = (jtu.numpy_with_mpmath(mpmath, extra_prec=bits) for bits in (60, 1))
    x = np.array([3e-20 + 2e5j, -2 + 0j, 2 - 0j, 1e300 + 1j, complex(np.inf, 1)])
    with np.errstate(all="ignore"):
        for name in ("arcsin", "log", "sqrt", "tanh"):
            found = getattr(exact, name)(x)
            print(name, found.dtype, np.allclose(found, getattr(np, name)(x), rtol=1e-14, equal_nan=True))
    print(exact.exp(np.float32([200, -200, 1])), exact.absolute(np.complex64([3 + 4j])))
    ufunc = jtu.vectorize_with_mpmath(lambda x: x * x, mpmath=mpmath)
    print(ufunc(np.float32([1.5, 1e-30])), ufunc.mptonp(ufunc.nptomp(sample)).tolist() == sample.tolist())
    print(near.normalize(*(np.float64([v]) for v in (1.0, 1.0 + 2**-20, 1.0 + 2**-30))))
    """
    lines = run(program).splitlines()
    assert lines[0] == "(7, 7) (-inf-infj) (3.4028235e+38+3.4028235e+38j) (1.1754944e-38+0j)"
    assert lines[1:5] == [f"{name} complex128 True" for name in ("arcsin", "log", "sqrt", "tanh")]
    assert lines[5:7] == ["[      inf 0.        2.7182817] [5.]", "[2.25 0.  ] True"]
    assert lines[7] == "(array([0.5]), array([0.5]))"
