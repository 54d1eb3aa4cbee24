"""Convolutions and pooling, against JAX."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import numpy as np
import pytest
from needs import needed

jax = needed("jax")

RNG = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


CONVOLUTIONS = [
    ((2, 3, 8, 7), (4, 3, 3, 2), {"window_strides": (1, 1), "padding": "SAME"}),
    ((2, 3, 8, 7), (4, 3, 3, 2), {"window_strides": (2, 1), "padding": "VALID"}),
    ((2, 3, 8, 7), (4, 3, 3, 2), {"window_strides": (2, 3), "padding": "SAME_LOWER"}),
    ((2, 3, 5, 7), (4, 3, 3, 2), {"window_strides": (1, 2), "padding": [(2, 1), (-1, 3)], "lhs_dilation": (2, 3)}),
    (
        (2, 3, 5, 4),
        (4, 3, 3, 2),
        {"window_strides": (2, 1), "padding": [(3, 1), (0, -2)], "lhs_dilation": (5, 3), "rhs_dilation": (2, 1)},
    ),
    ((2, 3, 9, 7), (4, 3, 3, 2), {"window_strides": (1, 1), "padding": "SAME", "rhs_dilation": (2, 3)}),
    ((2, 4, 8, 7), (6, 2, 3, 2), {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2}),
    ((2, 4, 8, 7), (8, 1, 3, 2), {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 4}),
    (
        (2, 3, 5, 4),
        (6, 1, 3, 2),
        {
            "window_strides": (2, 1),
            "padding": [(3, 1), (0, -2)],
            "lhs_dilation": (5, 3),
            "rhs_dilation": (2, 1),
            "feature_group_count": 3,
        },
    ),
    ((2, 3, 12, 11), (3, 1, 9, 8), {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 3}),
    (
        (2, 8, 7, 3),
        (3, 2, 1, 6),
        {
            "window_strides": (2, 1),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NHWC"),
            "feature_group_count": 3,
        },
    ),
    (
        (2, 12, 11, 3),
        (9, 8, 1, 6),
        {
            "window_strides": (2, 1),
            "padding": "SAME",
            "dimension_numbers": ("NHWC", "HWIO", "NCHW"),
            "feature_group_count": 3,
        },
    ),
    ((2, 1, 8, 7), (1, 1, 3, 2), {"window_strides": (1, 1), "padding": "SAME"}),
    (
        (2, 8, 1, 7),
        (3, 2, 1, 1),
        {"window_strides": (1, 2), "padding": "VALID", "dimension_numbers": ("NHCW", "HWIO", "NCHW")},
    ),
    ((4, 3, 8, 7), (6, 3, 3, 2), {"window_strides": (1, 1), "padding": "SAME", "batch_group_count": 2}),
    ((2, 3, 9), (4, 3, 3), {"window_strides": (2,), "padding": "SAME", "window_reversal": (True,)}),
    ((2, 3, 4, 5, 6), (4, 3, 2, 3, 2), {"window_strides": (1, 1, 2), "padding": "VALID"}),
    (
        (2, 8, 7, 3),
        (3, 2, 3, 4),
        {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("NHWC", "HWIO", "NHWC")},
    ),
    (
        (7, 2, 8, 3),
        (3, 2, 3, 4),
        {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("WNHC", "HWIO", "CHWN")},
    ),
]


@pytest.mark.parametrize(("lhs", "rhs", "options"), CONVOLUTIONS)
def test_convolution_and_its_gradients(lhs: Any, rhs: Any, options: Any) -> None:
    x, w = draw(*lhs), draw(*rhs)

    def ours(x: Any, w: Any) -> Any:
        return ct.lax.conv_general_dilated(x, w, **options)

    def theirs(x: Any, w: Any) -> Any:
        known = dict(options)
        turned = known.pop("window_reversal", ())
        return jax.lax.conv_general_dilated(x, jax.numpy.flip(w, [2 + i for i, r in enumerate(turned) if r]), **known)

    expected = theirs(x, w)
    for f in (ours, ct.jit(ours)):
        np.testing.assert_allclose(f(x, w), expected, rtol=2e-5, atol=2e-5)
    weights = draw(*expected.shape)
    wanted = jax.grad(lambda x, w: (theirs(x, w) * weights).sum(), argnums=(0, 1))(x, w)
    found = ct.jit(ct.grad(lambda x, w: (ours(x, w) * weights).sum(), argnums=(0, 1)))(x, w)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("groups", [1, 3])
def test_convolution_under_vmap_is_a_loop(groups: int) -> None:
    x, w = draw(3, 2, 3, 6, 5), draw(3, 6, 3 // groups, 3, 3)
    f = lambda x, w: ct.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=groups)  # noqa: E731
    expected = np.stack([np.asarray(f(a, b)) for a, b in zip(x, w, strict=True)])
    np.testing.assert_allclose(ct.jit(ct.vmap(f))(x, w), expected, rtol=1e-5, atol=1e-5)


def test_filters_of_single_features_are_summed_in_float32() -> None:
    x, w = np.abs(draw(2, 3, 12, 11)), np.abs(draw(3, 1, 7, 7))
    f = ct.jit(lambda x, w: ct.lax.conv_general_dilated(x, w, (1, 1), "SAME", feature_group_count=3))
    half = [ct.numpy.asarray(value, "bfloat16") for value in (x, w)]
    found, exact = f(*half), f(*[value.astype("float32") for value in half])
    assert found.dtype == "bfloat16"
    # One rounding, of the sum: 8 bits.
    np.testing.assert_allclose(np.asarray(found.astype("float32")), exact, rtol=2**-8)


POOLINGS = [
    ((2, 6, 7), (1, 3, 2), (1, 2, 1), "VALID", None, None),
    ((2, 6, 7), (1, 3, 2), (1, 1, 2), "SAME", None, None),
    ((6, 7), (2, 3), (1, 2), [(1, 0), (2, 3)], None, (2, 1)),
    ((5, 4), (2, 3), (1, 1), "VALID", (2, 3), None),
    ((6, 7), (1, 1), (2, 1), "VALID", None, None),
]


@pytest.mark.parametrize(("shape", "window", "strides", "padding", "base", "spacing"), POOLINGS)
@pytest.mark.parametrize(("name", "init"), [("max", -np.inf), ("min", np.inf), ("add", 0.0), ("mul", 1.0)])
def test_pooling_and_its_gradients(
    name: str, init: float, shape: Any, window: Any, strides: Any, padding: Any, base: Any, spacing: Any
) -> None:
    # Whole numbers: extrema have ties, which the first element wins.
    x = RNG.integers(1, 4, shape).astype(np.float32)
    init = np.float32(init)

    def ours(x: Any) -> Any:
        return ct.lax.reduce_window(x, init, getattr(ct.lax, name), window, strides, padding, base, spacing)

    def theirs(x: Any) -> Any:
        return jax.lax.reduce_window(x, init, getattr(jax.lax, name), window, strides, padding, base, spacing)

    expected = theirs(x)
    for f in (ours, ct.jit(ours)):
        np.testing.assert_allclose(f(x), expected, rtol=1e-5)
    if name == "mul" or ((base, spacing) != (None, None) and name in ("max", "min")):
        return  # JAX has no derivative here
    weights = draw(*expected.shape)
    wanted = jax.grad(lambda x: (theirs(x) * weights).sum())(x)
    np.testing.assert_allclose(ct.jit(ct.grad(lambda x: (ours(x) * weights).sum()))(x), wanted, rtol=1e-4, atol=1e-5)


def test_pooling_with_another_function_folds_in_order() -> None:
    x = RNG.integers(0, 7, (5, 6)).astype(np.int32)
    f = lambda x: ct.lax.reduce_window(x, np.int32(1), lambda a, b: (a * b) % 7, (2, 2), (1, 1), "VALID")  # noqa: E731
    expected = x[:-1, :-1] * x[:-1, 1:] * x[1:, :-1] * x[1:, 1:] % 7
    np.testing.assert_array_equal(ct.jit(f)(x), expected)


def test_features_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(ct.errors.ShapeError, match="the input has 3 features"):
        ct.lax.conv(draw(2, 3, 8), draw(4, 2, 3), (1,), "SAME")


@pytest.mark.parametrize("padding", ["SAME", "VALID", [(1, 2), (0, 1)]])
@pytest.mark.parametrize("strides", [(1, 1), (2, 3), (4, 1)])
@pytest.mark.parametrize("turned", [False, True])
def test_transposed_convolution(padding: Any, strides: Any, turned: bool) -> None:
    x, w = draw(2, 4, 5, 3), draw(3, 2, 4, 3) if turned else draw(3, 2, 3, 4)
    expected = jax.lax.conv_transpose(x, w, strides, padding, transpose_kernel=turned)
    found = ct.lax.conv_transpose(x, w, strides, padding, transpose_kernel=turned)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("padding", [[(1, 0), (0, 1)], [(2, 2), (0, 0)], "SAME", "VALID"])
def test_transposed_convolution_with_the_padding_of_the_convolution(padding: Any) -> None:
    x, w = draw(2, 4, 5, 3), draw(3, 2, 4, 3)
    options = {"rhs_dilation": (1, 2), "transpose_kernel": True, "use_consistent_padding": True}
    expected = jax.lax.conv_transpose(x, w, (2, 1), padding, **options)
    np.testing.assert_allclose(ct.lax.conv_transpose(x, w, (2, 1), padding, **options), expected, rtol=2e-5, atol=2e-5)


def test_patches() -> None:
    x = draw(2, 3, 6, 5)
    for arguments in [((3, 2), (1, 2), "SAME"), ((2, 2), (1, 1), [(1, 0), (0, 2)], (2, 1), (1, 2))]:
        expected = jax.lax.conv_general_dilated_patches(x, *arguments)
        np.testing.assert_allclose(
            ct.jit(lambda x, a=arguments: ct.lax.conv_general_dilated_patches(x, *a))(x), expected
        )


def test_padding_by_name_only() -> None:
    for name in ("SAME", "same", "SAME_LOWER", "valid"):
        expected = jax.lax.padtype_to_pads((5, 6), (3, 2), (1, 2), name)
        assert ct.lax.padtype_to_pads((5, 6), (3, 2), (1, 2), name) == list(expected)
        sizes = np.array([5, 6]), np.array([3, 2]), np.array([1, 2])
        assert ct.lax.padtype_to_pads(*sizes, name) == list(expected)
    for wrong in (0, 1, 2.0, None, [(1, 1)]):
        for module in (ct.lax, jax.lax):
            with pytest.raises(TypeError):
                module.padtype_to_pads((5, 6), (3, 2), (1, 2), wrong)
