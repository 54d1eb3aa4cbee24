"""ops, image and flatten_util against their namesakes in jax."""

from __future__ import annotations

import cotangent as ct
import numpy as np
import pytest
from needs import needed

jax = needed("jax")
for module in ("flatten_util", "image", "ops"):
    needed(f"jax.{module}")

rng = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_segments(name, dtype, shape):
    data = (rng.standard_normal(shape) * 4).astype(dtype)
    ids = np.array([0, 3, 0, -1, 7, 2])
    for count in (5, 0):
        expected = getattr(jax.ops, name)(data, ids, count)
        actual = getattr(ct.ops, name)(data, ids, count)
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
    inside = np.array([0, 3, 0, 1, 1, 2])
    np.testing.assert_allclose(getattr(ct.ops, name)(data, inside), getattr(jax.ops, name)(data, inside), rtol=1e-6)
    jitted = ct.jit(lambda d, i: getattr(ct.ops, name)(d, i, 4))
    np.testing.assert_allclose(jitted(data, inside), getattr(jax.ops, name)(data, inside, 4), rtol=1e-6)


def test_segment_gradients_and_batches():
    data, ids = rng.standard_normal((5, 2)).astype(np.float32), np.array([0, 2, 0, 1, 2])
    weights = rng.standard_normal((3, 2)).astype(np.float32)
    products = np.stack([data[0] * data[2], data[3], data[1] * data[4]])
    gradient = ct.grad(lambda d: (ct.ops.segment_prod(d, ids, 3) * weights).sum())(data)
    np.testing.assert_allclose(gradient, (weights * products)[ids] / data, rtol=1e-5)
    for name in ["segment_sum", "segment_max", "segment_min"]:
        expected = jax.grad(lambda d: (getattr(jax.ops, name)(d, ids, 3) * weights).sum())(data)
        actual = ct.grad(lambda d: (getattr(ct.ops, name)(d, ids, 3) * weights).sum())(data)
        np.testing.assert_allclose(actual, expected, rtol=1e-5)
    batch = ct.vmap(lambda d: ct.ops.segment_sum(d, ids, 3))(np.stack([data, 2 * data]))
    np.testing.assert_allclose(batch[1], jax.ops.segment_sum(2 * data, ids, 3), rtol=1e-6)


@pytest.mark.parametrize("name", ["segment_max", "segment_min"])
def test_extrema_of_segments_of_complex_numbers_are_of_real_parts_then_of_imaginary_ones(name):
    data = np.array([1 + 2j, 1 - 1j, 3j, -2j, 5 - 1j, 5, 1 + 3j], np.complex64)
    ids = np.array([0, 0, 2, 4, 5, 5, 0])
    for shaped in (data, np.stack([data, -data], 1)):
        expected = getattr(jax.ops, name)(shaped, ids, 7)
        for run in (lambda f: f, ct.jit):
            actual = run(lambda x: getattr(ct.ops, name)(x, ids, 7))(shaped)
            assert actual.dtype == expected.dtype
            np.testing.assert_array_equal(actual, expected)
    undefined = getattr(ct.ops, name)(np.array([5, complex(0, np.nan), 1]), np.array([0, 0, 2]), 3)
    assert np.isnan(np.asarray(undefined)).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", [3, 0, 4]), ("prod", [2, 1, 4]), ("max", [2, -np.inf, 4]), ("min", [1, np.inf, 4])],
)
@pytest.mark.parametrize("run", [lambda f: f, ct.jit])
def test_segment_ids_outside_are_clipped(name, expected, run):
    data = np.array([1, 2, 4], np.float32)
    for dtype in ("int8", "int32", "int64"):
        ids = np.array([0, -1, 9], dtype)
        function = run(lambda d, i: getattr(ct.ops, f"segment_{name}")(d, i, 3, mode="clip"))
        assert function(data, ids).tolist() == expected
        assert getattr(jax.ops, f"segment_{name}")(data, ids, 3, mode="clip").tolist() == expected


def test_segments_more_than_the_ids_dtype_holds():
    for dtype in ("int8", "uint8"):
        ids = np.array([0, 3, -1 if dtype == "int8" else 200], dtype)
        result = np.asarray(ct.ops.segment_sum(np.ones(3, np.float32), ids, 300))
        assert result.sum() == (2 if dtype == "int8" else 3)
        assert result[[0, 3]].tolist() == [1, 1]


def test_segment_errors():
    with pytest.raises(ct.errors.DTypeError, match="integers"):
        ct.ops.segment_sum(np.ones(3), np.ones(3), 2)
    with pytest.raises(ValueError, match=r"segment_ids.shape\[0\] is 4 and data.shape\[0\] is 3; they must be equal"):
        ct.ops.segment_sum(np.ones(3), np.zeros(4, int), 2)
    with pytest.raises(ValueError, match=r"segment_ids \(3, 1\) must have the leading axes"):
        ct.ops.segment_sum(np.ones(3), np.zeros((3, 1), int), 2)


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"])
@pytest.mark.parametrize("antialias", [True, False])
def test_resize(method, antialias):
    image = rng.standard_normal((7, 5, 3)).astype(np.float32)
    for shape in [(14, 10, 3), (3, 4, 3), (7, 5, 3), (9, 2, 3)]:
        expected = jax.image.resize(image, shape, method, antialias)
        np.testing.assert_allclose(ct.image.resize(image, shape, method, antialias), expected, atol=2e-5)


def test_resize_of_other_dtypes_and_its_gradient():
    image = rng.integers(0, 255, (6, 6)).astype(np.uint8)
    expected = jax.image.resize(image, (4, 9), "linear")
    actual = ct.image.resize(image, (4, 9), "linear")
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    x = rng.standard_normal((5, 5)).astype(np.float32)
    weights = rng.standard_normal((3, 8)).astype(np.float32)
    expected = jax.grad(lambda x: (jax.image.resize(x, (3, 8), "cubic") * weights).sum())(x)
    np.testing.assert_allclose(
        ct.grad(lambda x: (ct.image.resize(x, (3, 8), "cubic") * weights).sum())(x), expected, atol=1e-5
    )
    with pytest.raises(ValueError, match="unknown resize method"):
        ct.image.resize(x, (3, 8), "bicubical")
    with pytest.raises(ValueError, match="axes"):
        ct.image.resize(x, (3,), "linear")


def test_scale_and_translate():
    image = rng.standard_normal((6, 8)).astype(np.float32)
    arguments = ((5, 9), (0, 1), np.array([0.7, 1.3], np.float32), np.array([0.4, -1.1], np.float32), "linear")
    expected = jax.image.scale_and_translate(image, *arguments)
    np.testing.assert_allclose(ct.image.scale_and_translate(image, *arguments), expected, atol=1e-5)


def test_the_way_back_of_ravel_pytree():
    tree = {"a": np.ones((2, 2), np.float32), "b": np.zeros(3, np.float32)}
    (vector, unravel), (_, again) = ct.flatten_util.ravel_pytree(tree), ct.flatten_util.ravel_pytree(tree)
    assert unravel == again and hash(unravel) == hash(again)  # so a static argument of one compiled program
    assert unravel(vector < 0.5)["b"].tolist() == [True] * 3
    vector, unravel = ct.flatten_util.ravel_pytree({**tree, "c": np.arange(2)})
    with pytest.raises(TypeError, match="must have shape"):
        unravel(vector < 0.5)


def test_names_of_the_environment():
    with ct.default_device("cpu"):
        assert ct.default_backend() == ct.devices()[0].platform == "cpu"
    assert ct.device_count() == ct.local_device_count() == len(ct.local_devices()) == ct.process_count() == 1
    assert ct.process_index() == 0
    assert ct.config.jax_enable_x64 is False
    with pytest.raises(AttributeError, match="no attribute"):
        ct.config.jax_unknown
    with pytest.raises(ct.errors.ConcretizationTypeError):
        ct.jit(bool)(1.0)
    spec = ct.core.get_aval(np.ones((2, 3), np.int16))
    assert (
        ct.numpy.zeros_like(spec).dtype == np.int16 and ct.numpy.full_like(spec, 2.5, dtype=float).tolist()[0][0] == 2.5
    )
    assert ct.numpy.ones_like(spec, shape=(4,)).shape == (4,)


def test_ravel_pytree():
    tree = {"w": rng.standard_normal((2, 3)).astype(np.float32), "n": np.int32(4), "z": [np.complex64(1 + 2j)]}
    vector, unravel = ct.flatten_util.ravel_pytree(tree)
    expected, _ = jax.flatten_util.ravel_pytree(tree)
    assert vector.dtype == expected.dtype
    np.testing.assert_array_equal(vector, expected)
    back = unravel(vector)
    assert [x.dtype for x in ct.tree.leaves(back)] == [np.asarray(x).dtype for x in ct.tree.leaves(tree)]
    for a, b in zip(ct.tree.leaves(back), ct.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(a, b)
    gradient = ct.grad(lambda t: (ct.flatten_util.ravel_pytree(t)[0] ** 2).sum())(
        {"a": 2.0, "b": np.ones(2, np.float32)}
    )
    assert float(gradient["a"]) == 4.0
    with pytest.raises(TypeError, match="shape"):
        unravel(vector[:-1])
    empty, unravel_empty = ct.flatten_util.ravel_pytree({})
    assert empty.shape == (0,) and unravel_empty(empty) == {}


def test_options_of_jax_that_are_settled():
    ct.config.update("jax_platform_name", "cpu")
    ct.config.update("jax_numpy_rank_promotion", "allow")
    assert ct.config.jax_default_prng_impl == ct.config.read("default_prng_impl") == "threefry2x32"
    for name, value in [("jax_platforms", "gpu"), ("jax_numpy_rank_promotion", "raise"), ("jax_log_compiles", True)]:
        with pytest.raises(ValueError, match=f"{name.removeprefix('jax_')} cannot be {value!r}\n  (set one of|leave it)"):
            ct.config.update(name, value)
    with ct.default_matmul_precision("highest"):
        assert float(ct.numpy.dot(2.0, 3.0)) == 6
    with pytest.raises(ValueError, match="precision cannot be"), ct.default_matmul_precision("low"):
        pass


def test_types_of_values():
    assert ct.typeof(np.ones((2, 3))) == ct.ShapeDtypeStruct((2, 3), "float64")
    assert ct.typeof(1).weak_type
    seen = []
    ct.vmap(lambda x: seen.append(ct.typeof(x)) or x)(np.ones((4, 3), np.float32))
    assert seen == [ct.ShapeDtypeStruct((3,), "float32")]
    assert ct.float0 == ct.dtypes.float0
