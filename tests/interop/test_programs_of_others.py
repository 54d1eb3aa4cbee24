"""What programs written for JAX need: questions about types, axes, callables without names, keywords, placements."""

from __future__ import annotations

import functools
import unittest.mock
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import needed

X = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
SPEC = ct.ShapeDtypeStruct((2, 3), "complex64")


def test_questions_about_types_take_what_only_has_a_shape_and_a_dtype() -> None:
    class Duck:
        shape, dtype = (2, 3), np.dtype("float16")

    assert cnp.iscomplexobj(SPEC) and not cnp.isrealobj(SPEC) and cnp.isrealobj(Duck())
    for dtype in (np.dtype("complex64"), cnp.complex64, np.complex64, complex):
        assert cnp.iscomplexobj(dtype) and not cnp.isrealobj(dtype)
        assert (cnp.shape(dtype), cnp.ndim(dtype), cnp.size(dtype)) == ((), 0, 1)
    for thing in (SPEC, Duck()):
        assert (cnp.shape(thing), cnp.ndim(thing), cnp.size(thing), cnp.size(thing, 1)) == ((2, 3), 2, 6, 3)
    assert cnp.result_type(SPEC, 1.0) == np.complex64
    weak = ct.ShapeDtypeStruct((), "float32", weak_type=True)
    assert cnp.result_type(Duck(), weak) == np.float16 and cnp.result_type(np.dtype("int8"), Duck()) == np.float16
    assert cnp.result_type(None) == np.float32
    assert not cnp.iscomplexobj(None) and not cnp.isscalar(np.dtype("float32"))
    assert ct.jit(lambda x: x + cnp.ndim(x) + cnp.size(x, (0, 1)))(X[0])[0, 0] == 14


def test_eval_shape_of_a_function_that_returns_shapes() -> None:
    spec = ct.ShapeDtypeStruct((3,), "float16")
    found = ct.eval_shape(lambda x: {"a": spec, "b": x * 2, "c": None}, ct.ShapeDtypeStruct((2,), "float32"))
    assert found == {"a": spec, "b": ct.ShapeDtypeStruct((2,), "float32"), "c": None}
    assert ct.eval_shape(lambda: 1.0) == ct.ShapeDtypeStruct((), "float32", weak_type=True)
    with pytest.raises(TypeError, match=r"the output of .*\[1\]"):
        ct.eval_shape(lambda: (1.0, "text"))


def test_presets_of_products_have_the_names_of_jax() -> None:
    jax = needed("jax")
    assert set(jax.lax.DotAlgorithmPreset.__members__) == set(ct.lax.DotAlgorithmPreset.__members__)
    assert list(ct.lax.Precision.__members__) == ["DEFAULT", "HIGH", "HIGHEST"]
    product = ct.lax.dot(X[0].T, X[0], precision=ct.lax.DotAlgorithmPreset.ANY_F8_ANY_F8_F32)
    np.testing.assert_allclose(product, X[0].T @ X[0])


AXES: dict[str, Any] = {
    "sum": lambda m, a: m.sum(X, axis=a),
    "max": lambda m, a: m.max(X, axis=a),
    "var": lambda m, a: m.var(X, axis=a),
    "median": lambda m, a: m.median(X, axis=a),
    "average": lambda m, a: m.average(X, axis=a),
    "nanmean": lambda m, a: m.nanmean(X, axis=a),
    "expand_dims": lambda m, a: m.expand_dims(X, a),
    "squeeze": lambda m, a: m.squeeze(X[:1, :1], a),
    "flip": lambda m, a: m.flip(X, axis=a),
    "roll": lambda m, a: m.roll(X, a, axis=a),
    "norm": lambda m, a: m.linalg.norm(X, axis=a),
    "fftshift": lambda m, a: m.fft.fftshift(X, axes=a),
    "gradient": lambda m, a: m.stack(m.gradient(X, axis=a)),
    "reduce": lambda m, a: m.add.reduce(X, axis=a),
    "transpose": lambda m, a: m.asarray(X[0]).transpose(a),
    "tile": lambda m, a: m.tile(X, a),
    "zeros": lambda m, a: m.zeros(a) + 1,
}


@pytest.mark.parametrize("name", AXES)
def test_axes_and_sizes_may_be_any_sequence(name: str) -> None:
    expected = AXES[name](np, (0, 1))
    np.testing.assert_allclose(AXES[name](cnp, cnp.array([0, 1])), expected, rtol=1e-6)
    for axes in (range(2), [0, 1], np.array([0, 1])):
        np.testing.assert_allclose(AXES[name](cnp, axes), expected, rtol=1e-6)
        np.testing.assert_allclose(ct.jit(lambda axes=axes: AXES[name](cnp, axes))(), expected, rtol=1e-6)


class _Callable:
    __name__ = 3  # no text

    def __call__(self, x: Any) -> Any:
        return cnp.sum(x * x)


CALLABLES: dict[str, Any] = {
    "partial": functools.partial(lambda k, x: cnp.sum(x * x) + k, 1.0),
    "object": _Callable(),
    "mock": unittest.mock.Mock(side_effect=lambda x: cnp.sum(x * x), __name__=3),
    "method": _Callable().__call__,
}


@pytest.mark.parametrize("name", CALLABLES)
def test_transforms_of_callables_without_names(name: str) -> None:
    f = CALLABLES[name]
    x = X[0, 0]
    np.testing.assert_allclose(ct.grad(f)(x), 2 * x)
    np.testing.assert_allclose(ct.vmap(ct.grad(f))(X[0]), 2 * X[0])
    for transform in (
        ct.jit,
        ct.checkpoint,
        ct.hessian,
        ct.jacfwd,
        ct.jacrev,
        ct.value_and_grad,
        ct.make_ir,
        ct.named_call,
    ):
        transform(f)(x)
    assert ct.eval_shape(f, x).shape == ()


def test_names_in_messages_of_partials_are_those_of_their_functions() -> None:
    def loss(scale: float, x: Any) -> Any:
        return x * scale

    with pytest.raises(ct.errors.ShapeError, match="grad needs loss to return a scalar"):
        ct.grad(functools.partial(loss, 2.0))(X)


def test_private_keywords_of_jax() -> None:
    calls = []

    def product(x: Any, y: Any, dimension_numbers: Any, precision: Any, preferred_element_type: Any = None) -> Any:
        calls.append(dimension_numbers)
        return 2 * ct.lax.dot_general(x, y, dimension_numbers, precision, preferred_element_type)

    result = cnp.einsum("bij,bkj->bik", X, X, _dot_general=product)
    np.testing.assert_allclose(result, 2 * np.einsum("bij,bkj->bik", X, X))
    assert calls == [(((2,), (2,)), ((0,), (0,)))]
    carry, _ = ct.lax.scan(lambda c, x: (c + x, None), 0.0, X[0, 0], _split_transpose=True)
    assert carry == 6.0
    with ct.disable_jit(disable=True):
        assert ct.jit(lambda x: 1 if float(x) > 0 else 0)(1.0) == 1


class _Of:
    """A sharding of another library."""

    def __init__(self, devices: int) -> None:
        self.num_devices = devices


class PartitionSpec(tuple):
    __slots__ = ()


def test_placements_on_one_device_are_accepted_and_others_say_so() -> None:
    single = ct.sharding.SingleDeviceSharding(ct.devices()[0])
    for sharding in (None, ct.devices()[0], single, _Of(1), PartitionSpec((None, None))):
        assert ct.device_put(X, sharding).shape == X.shape
        assert cnp.zeros((2,), out_sharding=sharding).shape == (2,)
        assert ct.jit(lambda x, y: x + y, in_shardings=(sharding, {"a": sharding}), out_shardings=sharding)(1, 2) == 3
        assert ct.ShapeDtypeStruct((2,), "float32", sharding=sharding).shape == (2,)
    assert cnp.ones(2, device=single).tolist() == [1, 1] and single.device_set == {ct.devices()[0]}
    assert single == ct.sharding.SingleDeviceSharding(ct.devices()[0]) and hash(single) == hash(single)
    for sharding in (_Of(2), PartitionSpec(("x", None))):
        for place in (
            lambda s: ct.device_put(X, {"a": s}),
            lambda s: cnp.zeros((2,), out_sharding=s),
            lambda s: ct.jit(lambda x: x, out_shardings=[s]),
            lambda s: ct.ShapeDtypeStruct((2,), "float32", sharding=s),
        ):
            with pytest.raises(ValueError, match="asks for several devices"):
                place(sharding)
    for other in ("tpu:1", 5):
        with pytest.raises(
            ValueError, match=rf"device_put: unknown device {other!r}; the devices are .cpu. and .cuda."
        ):
            ct.device_put(X, other)
    if len(ct.devices()) == 1:
        with pytest.raises(ct.errors.DeviceError, match="there is no NVIDIA driver"):
            ct.device_put(X, "gpu")
    with pytest.raises(ValueError, match="one kind of memory"):
        ct.sharding.SingleDeviceSharding(ct.devices()[0], memory_kind="pinned_host")
    with pytest.raises(ValueError, match="compiler options"):
        ct.jit(lambda x: x, compiler_options={"xla_dump": 1})


def test_text_of_other_compilers_is_not_there() -> None:
    lowered = ct.jit(lambda x: x + 1).lower(1.0)
    assert lowered.as_text() == lowered.as_text("cotangent", debug_info=True)
    for dialect in ("hlo", "stablehlo"):
        with pytest.raises(ValueError, match=rf"(?s){dialect}.*not by XLA.*compile\(\)\.as_text\(\)"):
            lowered.as_text(dialect)
        with pytest.raises(ValueError, match="compiler_ir"):
            lowered.compiler_ir(dialect=dialect)


def test_tolerances_of_check_grads_may_differ_by_dtype() -> None:
    f = ct.custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (f(*primals), 2.05 * primals[0] * tangents[0]))
    x = np.array(3.0)
    ct.test_util.check_grads(f, (x,), 1, modes=["fwd"], atol={np.float64: 0.5}, rtol={np.float32: 0.5})
    for loose in ({np.float32: 0.5}, {"float32": 0.5, cnp.float64: 1e-6}):
        with pytest.raises(AssertionError, match="against differences"):
            ct.test_util.check_grads(f, (x,), 1, modes=["fwd"], atol=loose, rtol=loose)


def test_arrays_say_where_they_are() -> None:
    x = cnp.ones(3)
    place = cnp.__array_namespace_info__().default_device()
    assert x.sharding == ct.sharding.SingleDeviceSharding(place) and ct.device_put(x, x.sharding) is x
    assert (x.is_fully_addressable, x.is_fully_replicated, x.is_ready()) == (True, True, True)
    assert x.committed == (place != ct.devices("cpu")[0])  # programs run where arrays of a GPU are
    assert x.copy_to_host_async() is None  # type: ignore[func-returns-value]
