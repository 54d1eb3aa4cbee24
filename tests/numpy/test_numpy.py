"""cotangent.numpy against NumPy and jax.numpy: values, dtypes, derivatives, transforms, ragged axes, for every case.

The cases stand in `numpy_cases/`, by family.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import warnings
import zlib
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import numpy_cases
import pytest
from cotangent import tree_util
from function_laws import (
    are_slices,
    batch_is_a_loop,
    compare,
    derivatives_are_right,
    leaves,
    mask_is_never_wrong,
    ragged_values,
)
from numpy_cases import CASES, ERROR, Case, Draw, draws, fill, replace

for module in pkgutil.iter_modules(numpy_cases.__path__):
    importlib.import_module(f"numpy_cases.{module.name}")

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    jax = jnp = None  # type: ignore[assignment]


def ids(cases: list[Case]) -> list[str]:
    count: dict[str, int] = {}
    names = []
    for each in cases:
        count[each.name] = count.get(each.name, 0) + 1
        names.append(f"{each.name}-{count[each.name]}")
    return names


IDS = dict(zip(map(id, CASES), ids(CASES), strict=True))


def over(condition: Any = lambda case: True, dtypes: bool = False) -> Any:
    chosen = [case for case in CASES if condition(case)]
    if not dtypes:
        return pytest.mark.parametrize("case", [pytest.param(case, id=IDS[id(case)]) for case in chosen])
    pairs = [(case, dtype) for case in chosen for dtype in case.dtypes]
    return pytest.mark.parametrize(("case", "dtype"), [pytest.param(c, d, id=f"{IDS[id(c)]}-{d}") for c, d in pairs])


def arguments(case: Case, dtype: str, salt: int = 0) -> list[Any]:
    rng = np.random.default_rng(zlib.crc32(IDS[id(case)].encode()) + salt)
    return [fill(spec, dtype, rng) for spec in case.args]


def wide(x: Any) -> Any:
    """bfloat16 as what NumPy can compute with."""
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype.name == "bfloat16" else x


def expected_values(case: Case, args: list[Any]) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.oracle == "jax":
            with jax.enable_x64(True):
                return tree_util.tree_map(np.asarray, case(jnp, *args))
        args = tree_util.tree_map(wide, args)
        return case.oracle(*args) if callable(case.oracle) else case(np, *args)


def as_function(case: Case) -> Any:
    """The case as a function of its draws."""

    def function(*values: Any) -> list[Any]:
        pending = list(values)
        return leaves(case(cnp, *[replace(arg, pending) for arg in case.args]))

    return function


def specs_of(case: Case) -> list[Draw]:
    return [spec for arg in case.args for spec in draws(arg)]


def drawn(case: Case, dtype: str, salt: int) -> list[Any]:
    rng = np.random.default_rng(salt)
    return [fill(spec, dtype, rng) for spec in specs_of(case)]


@over(dtypes=True)
def test_values_and_dtypes(case: Case, dtype: str) -> None:
    args = arguments(case, dtype)
    bits64 = dtype in ("float64", "complex128", "int64", "uint64")
    with ct.config.enable_x64(bits64):
        actual = leaves(case(cnp, *args))
        if jax is not None and case.same_dtype:
            with jax.enable_x64(bits64), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                described = None
                # JAX does not have every form of every function.
                with contextlib.suppress(NotImplementedError, TypeError, ValueError, AttributeError, RuntimeError):
                    described = jax.eval_shape(lambda: case(jnp, *args)) if case.jit else case(jnp, *args)
            if described is not None:
                want = [getattr(x, "dtype", np.asarray(x).dtype) for x in leaves(described)]
                assert [x.dtype for x in actual] == want
    expected = leaves(expected_values(case, args))
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected, strict=True):
        compare(x, y, case.tolerance)


def varying(case: Case) -> bool:
    return any(draws(spec) for spec in case.args)


@over(lambda case: case.jit and varying(case))
def test_compiled_batches(case: Case) -> None:
    """`jit` of `vmap` is a loop over the examples."""
    batch_is_a_loop(as_function(case), [drawn(case, case.dtypes[0], salt) for salt in (1, 2)], 4 * case.tolerance)


def differentiable(case: Case) -> bool:
    return (
        case.grads and "float32" in case.dtypes and any(spec.dtype is None for arg in case.args for spec in draws(arg))
    )


@over(differentiable)
def test_derivatives(case: Case) -> None:
    moving = [i for i, spec in enumerate(specs_of(case)) if spec.dtype is None]
    derivatives_are_right(as_function(case), drawn(case, "float64", 3), moving, case.step, case.tolerance)


@over(lambda case: case.ragged is not None)
def test_ragged(case: Case) -> None:
    """On a ragged axis: the result of the exact array, whatever the padding holds, or an error that says why not."""
    axis, error = case.ragged if isinstance(case.ragged, tuple) else (case.ragged, None)
    padded, exact = ragged_values(drawn(case, case.dtypes[0], 4), axis)
    function = as_function(case)
    if error is ERROR:
        with pytest.raises((NotImplementedError, TypeError, ValueError)):
            ct.mask(function)(*padded)
        return
    are_slices(leaves(ct.mask(function)(*padded)), function(*exact), 4 * case.tolerance)


def other_axes(case: Case) -> list[int]:
    """The first and the last axis of the first draw, where the case says nothing of them."""
    specs = [spec for arg in case.args for spec in draws(arg)]
    if not specs or not specs[0].shape or min(specs[0].shape) == 0:
        return []
    rank = len(specs[0].shape)
    stated = case.ragged[0] if isinstance(case.ragged, tuple) else case.ragged
    # One element less than two is one that broadcasts.
    return [k for k in sorted({0, rank - 1}) if (stated is None or stated % rank != k) and specs[0].shape[k] > 2]


@over(lambda case: other_axes(case))
def test_ragged_is_never_wrong(case: Case) -> None:
    """On any ragged axis, of any length: the result of the exact array, or an error."""
    shape = next(spec for arg in case.args for spec in draws(arg)).shape
    # One or two elements become one that broadcasts against an exact axis, which a ragged one does not.
    lengths = {
        axis: sorted({length for length in (0, shape[axis] // 2) if length not in (1, 2)} | {shape[axis] - 1})
        for axis in other_axes(case)
    }
    for axis, length in [(axis, length) for axis in lengths for length in lengths[axis]]:
        padded, exact = ragged_values(drawn(case, case.dtypes[0], 4), axis, length)
        mask_is_never_wrong(as_function(case), padded, exact, 4 * case.tolerance)


# ---- Every function has a case ---------------------------------------------------------------------------------------

# Checked elsewhere, or not a function of arrays.
ELSEWHERE = {
    "test_numpy_functional.py": "apply_along_axis apply_over_axes fromfunction frompyfunc piecewise vectorize ufunc einsum_path "
    "c_ r_ s_ index_exp mgrid ogrid broadcast_shapes iscomplexobj isrealobj isscalar ndim shape size array2string array_repr "
    "array_str get_printoptions printoptions set_printoptions from_dlpack frombuffer fromfile fromiter fromstring load save "
    "savez savez_compressed iterable can_cast dtype finfo iinfo isdtype issubdtype promote_types result_type astype",
    "test_array.py": "ndarray",
}


def test_every_function_has_a_case() -> None:
    known = {case.name.split(".")[0] for case in CASES} | {
        name for names in ELSEWHERE.values() for name in names.split()
    }
    public = [name for name in cnp.__all__ if callable(getattr(cnp, name)) and not isinstance(getattr(cnp, name), type)]
    aliases = {id(getattr(cnp, name)) for name in known if hasattr(cnp, name)}
    assert [name for name in public if name not in known and id(getattr(cnp, name)) not in aliases] == []


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanstd", "nanvar"])
def test_where_of_functions_that_skip_nan(name, axis):
    x = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, -1.0]], "float32")
    where = np.array([[True, True, False], [False, True, True]])
    initial = {"initial": 0.5} if name in ("nanmax", "nanmin") else {}
    expected = getattr(np, name)(x, axis=axis, where=where, **initial)
    function = lambda x: getattr(cnp, name)(x, axis=axis, where=where, **initial)  # noqa: E731
    for tier in (function, ct.jit(function)):
        np.testing.assert_allclose(tier(x), expected, rtol=1e-6)


def test_floats_of_nan_to_num_are_not_weak():
    for value in (2.0, 2):
        weak = ct.lax.broadcast(value, (3,))
        assert weak.weak_type
        for tier in (cnp.nan_to_num, ct.jit(cnp.nan_to_num)):
            # As in JAX, where integers are returned as they are.
            assert tier(weak).weak_type == isinstance(value, int)


@pytest.mark.parametrize("dtype", [bool, "int32", "int8"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "nansum", "nanprod", "trace"])
def test_reductions_to_bools_and_integers(name, dtype):
    """A sum of bools is whether any element is not zero, a product whether none is."""
    for values in ([[True, False], [True, True]], [[1, 2], [0, 4]], [[1.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]):
        x = np.array(values)
        if name in ("var", "std") and x.dtype == bool and dtype is bool:
            continue  # NumPy subtracts no bools
        expected = getattr(np, name)(x, dtype=dtype)
        actual = getattr(cnp, name)(x, dtype=dtype)
        assert actual.dtype == expected.dtype
        np.testing.assert_array_equal(actual, expected)
    assert cnp.sum(np.zeros((0, 2)), 0, bool).tolist() == [False, False]
    assert cnp.prod(np.zeros((0, 2)), 0, bool).tolist() == [True, True]
    assert bool(cnp.sum(np.array([0, 0]), dtype=bool, initial=1))
    assert not cnp.sum(np.array([1, 0]), dtype=bool, where=np.array([False, True]))


@pytest.mark.parametrize(("size", "dtype"), [(2**31 - 1, "int32"), (2**31, "int64"), (2**32, "int64")])
def test_positions_along_axes_that_int32_does_not_count(size, dtype):
    x = ct.ShapeDtypeStruct((size,), "int8")
    for function in (
        cnp.argsort,
        cnp.argmax,
        cnp.argmin,
        cnp.count_nonzero,
        lambda x: cnp.lexsort((x,)),
        lambda x: cnp.searchsorted(x, x[:3]),
        lambda x: ct.lax.top_k(x, 3)[1],
        lambda x: ct.lax.top_k(x, 1)[1],
    ):
        assert ct.eval_shape(function, x).dtype == dtype


def test_least_common_multiples_wrap():
    x, y = np.int8([100, -100, -128, 64, 0, -6]), np.int8([63, 63, 3, -128, 5, 4])
    assert cnp.lcm(x, y).tolist() == np.lcm(x, y).tolist() == [-100, -100, -128, -128, 0, 12]


@pytest.mark.parametrize("mode", ["wrap", "reflect", "symmetric", "edge"])
@pytest.mark.parametrize("widths", [(1, 1), (1, 2), (2, 1)], ids=str)
def test_padding_with_elements_takes_slices(mode, widths):
    program = ct.make_ir(lambda x: cnp.pad(x, widths, mode))(np.arange(6.0))
    assert "gather" not in str(program)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint64"])
def test_known_indices_are_positions_in_the_program(dtype):
    x = np.arange(24.0).reshape(4, 3, 2)
    rows, columns = np.array([[-1, 0, 7], [-9, 3, 2]]).astype(dtype), np.array([[2], [-3]]).astype(dtype)
    programs = [
        lambda x, i, j: x[i],
        lambda x, i, j: x[i, j],
        lambda x, i, j: x[i, :, j % 2],
        lambda x, i, j: x.at[i, j].add(1.0),
        lambda x, i, j: x.at[:, j].set(0.0),
        lambda x, i, j: x.at[i, 1].multiply(2.0),
    ]
    for program in programs:
        known = lambda x, program=program: program(x, rows, columns)  # noqa: E731
        expected = ct.jit(program)(x, rows, columns)
        np.testing.assert_array_equal(ct.jit(known)(x), expected)
        np.testing.assert_array_equal(known(cnp.asarray(x)), expected)
        found = ct.jit(ct.grad(lambda x, known=known: (known(x) ** 2).sum()))(x)
        wanted = ct.jit(ct.grad(lambda x, i, j, program=program: (program(x, i, j) ** 2).sum()))(x, rows, columns)
        np.testing.assert_array_equal(found, wanted)
        assert not any(f" {word} " in str(ct.make_ir(known)(x)) for word in ("lt", "max", "select"))
