"""Every public function outside of ``ct.numpy`` (`test_numpy.py`) and the transforms: the checks of the records in `function_cases/`."""

from __future__ import annotations

import importlib
import math
import pkgutil
import warnings
import zlib
from collections.abc import Sequence
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import function_cases
import numpy as np
import public_names
import pytest
from cotangent import tree_util
from function_cases import FAMILIES, RECORDS, Record
from function_laws import (
    TOLERANCE,
    WIDE,
    are_slices,
    batch_is_a_loop,
    compare,
    derivatives_are_right,
    leaves,
    mask_is_never_wrong,
    ragged_values,
)
from needs import needed
from numpy_cases import Draw, draws, fill, replace

for module in pkgutil.iter_modules(function_cases.__path__):
    importlib.import_module(f"function_cases.{module.name}")

jax = needed("jax")


def label(record: Record) -> str:
    return f"{record.space.removeprefix('jax.')}.{record.names[0]}"


def over(chosen: Sequence[Record]) -> Any:
    count: dict[str, int] = {}
    params = []
    for each in chosen:
        count[label(each)] = count.get(label(each), 0) + 1
        params.append(pytest.param(each, id=f"{label(each)}-{count[label(each)]}"))
    return pytest.mark.parametrize("record", params)


def call(record: Record, space: str, args: Sequence[Any]) -> list[Any]:
    """The leaves of the results of all functions of the record, those of JAX or SciPy, or ours."""
    found = []
    for name in record.names:
        function = public_names.resolve(space)
        for part in name.split("."):
            function = getattr(function, part)
        result = record.call(function, *args) if record.call else function(*args, **record.kwargs)
        found += leaves(result)
    return found


def ours(record: Record, args: Sequence[Any]) -> list[Any]:
    return call(record, public_names.NAMESPACES[record.space], args)


def specs_of(record: Record) -> list[Draw]:
    return [spec for arg in record.args for spec in draws(arg)]


def filled(record: Record, dtype: str, salt: int = 0) -> list[Any]:
    rng = np.random.default_rng(zlib.crc32("".join(record.names).encode()) + salt)
    return [fill(spec, dtype, rng) for spec in specs_of(record)]


def arguments(record: Record, values: Sequence[Any]) -> list[Any]:
    pending = list(values)
    return [replace(arg, pending) for arg in record.args]


def reshaped(values: Sequence[Any], shape: tuple[int, ...]) -> list[Any]:
    return [np.resize(value, shape) if math.prod(shape) else np.zeros(shape, value.dtype) for value in values]


def wide(x: Any) -> Any:
    """Short floats as what NumPy and SciPy can compute with."""
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype.name in ("bfloat16", "float16") else x


def expected(record: Record, args: list[Any]) -> list[Any]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if record.oracle == "jax":
            with jax.enable_x64(True):
                return [np.asarray(x) for x in call(record, record.space, args)]
        assert callable(record.oracle)
        return leaves(record.oracle(*tree_util.tree_map(wide, args)))


def of_the_dtype(record: Record, args: Sequence[Any], actual: Sequence[Any], target: Sequence[Any]) -> None:
    """Results have the dtype of JAX's; with another oracle, inexact results of inexact arguments keep their width."""
    for x, y in zip(actual, target, strict=True):
        if record.oracle == "jax":
            assert x.dtype == y.dtype
        elif np.asarray(y).dtype.kind not in "fcV":
            assert x.dtype == np.asarray(y).dtype
        else:
            widths = {
                np.zeros(0, a.dtype).real.dtype for a in args if hasattr(a, "dtype") and a.dtype.name in TOLERANCE
            }
            assert not widths or cnp.real(x).dtype in widths


@over([record for record in RECORDS if record.oracle is not None])
def test_values_and_dtypes(record: Record) -> None:
    for dtype in record.dtypes:
        values = filled(record, dtype)
        for shape in (None, *record.shapes):
            given = values if shape is None else reshaped(values, shape)
            args = arguments(record, given)
            with ct.config.enable_x64(dtype in WIDE):
                actual = ours(record, args)
            target = expected(record, args)
            assert len(actual) == len(target)
            if not record.loose:
                of_the_dtype(record, given, actual, target)
            for x, y in zip(actual, target, strict=True):
                try:
                    compare(x, y, record.tolerance)
                except AssertionError as error:
                    raise AssertionError(f"{dtype}, shape {shape}: {error}") from None


@over([record for record in RECORDS if record.batch is True and specs_of(record)])
def test_vmap_is_a_loop(record: Record) -> None:
    dtype = record.dtypes[0]
    rows = [filled(record, dtype, salt) for salt in (1, 2)]
    with ct.config.enable_x64(dtype in WIDE):
        batch_is_a_loop(lambda *values: ours(record, arguments(record, values)), rows, 8 * record.tolerance)


def moving(record: Record) -> list[int]:
    """The draws that derivatives are taken by."""
    return [i for i, spec in enumerate(specs_of(record)) if spec.dtype is None]


@over([r for r in RECORDS if r.grads is True and moving(r) and {"float32", "float64", "complex64"} & {*r.dtypes}])
def test_derivatives(record: Record) -> None:
    dtype = "float64" if {"float32", "float64"} & {*record.dtypes} else "complex128"
    values = filled(record, dtype, 3)
    with ct.config.enable_x64(True):
        function = lambda *values: ours(record, arguments(record, values))  # noqa: E731
        derivatives_are_right(function, values, moving(record), record.step, record.tolerance)


@over([record for record in RECORDS if record.ragged])
def test_ragged_is_the_slice(record: Record) -> None:
    """On a ragged axis: the result of the exact array, whatever the padding holds, or an error that says why not."""
    dtype = record.dtypes[0]
    function = lambda *values: ours(record, arguments(record, values))  # noqa: E731
    for ragged in record.ragged:
        padded, exact = ragged_values(filled(record, dtype, 4), ragged)
        key = ragged if isinstance(ragged, int) else str(ragged)
        with ct.config.enable_x64(dtype in WIDE):
            if key in record.refuses:
                with pytest.raises((NotImplementedError, TypeError, ValueError), match=record.refuses[key]):
                    ct.mask(function)(*padded)
                continue
            found = ct.mask(function)(*padded)
            target = function(*exact)
        are_slices(found, target, 8 * record.tolerance, f"ragged {ragged}")


def other_raggeds(record: Record) -> list[dict[int, int]]:
    """What the record says nothing of: the first and last axis of each of the first draws, and those as long as it."""
    specs, found = specs_of(record), []
    shapes = [spec.shape for spec in specs]
    for which, shape in enumerate(shapes[:3]):
        for axis in sorted({0, len(shape) - 1}) if shape else ():
            stated = any(isinstance(r, int) and r % len(shape) == axis for r in record.ragged)
            if shape[axis] < 3 or specs[which].dtype == "uint32" or (which == 0 and stated):
                continue
            if which == 0:
                alike = [len(other) == len(shape) and other[axis] == shape[axis] for other in shapes]
                ragged = {i: axis for i, same in enumerate(alike) if same}
            else:
                ragged = {which: axis}
            if ragged not in record.ragged:
                found.append(ragged)
    return found


@over([record for record in RECORDS if other_raggeds(record)])
def test_other_ragged_axes_are_never_wrong(record: Record) -> None:
    """The result of the exact array, or an error."""
    function = lambda *values: ours(record, arguments(record, values))  # noqa: E731
    for ragged in other_raggeds(record):
        padded, exact = ragged_values(filled(record, record.dtypes[0], 4), ragged)
        mask_is_never_wrong(function, padded, exact, 8 * record.tolerance)


# ---- every function has a record -------------------------------------------------------------------------------------

UNCOUNTED = {
    "jax.numpy": "test_numpy.py",
    "array API 2024.12": "the same",
    "jax.tree_util": "trees, not arrays: test_tree.py",
    "jax.Array": "methods, which are functions of ct.numpy: test_array.py",
}


def test_every_public_function_has_a_record() -> None:
    missing = []
    for space in public_names.NAMESPACES.keys() - UNCOUNTED:
        known = {name for record in RECORDS if record.space == space for name in record.names}
        known |= {name for family in FAMILIES if family.space == space for name in family.elsewhere}
        missing += [f"{space}: {name}" for name in public_names.measure(space).present if name not in known]
    assert missing == []


def test_every_record_is_of_a_public_function() -> None:
    for space in public_names.NAMESPACES.keys() - UNCOUNTED:
        named = {name for record in RECORDS if record.space == space for name in record.names}
        named |= {name for family in FAMILIES if family.space == space for name in family.elsewhere}
        # Also those that JAX lacks and SciPy has.
        ours = public_names.resolve(public_names.NAMESPACES[space])
        assert [name for name in named if not public_names.has(ours, name)] == []
