"""The entrances of array functions record what the Python functions behind them record, and so does indexing."""

from __future__ import annotations

import contextlib
import inspect
import pickle
import re
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from cotangent import numpy as jnp
from cotangent._ops import arithmetic as elementwise
from cotangent._ops import (
    choice,
    comparisons,
    creation,
    exponentials,
    functions,
    indexing,
    means,
    products,
    reductions,
    shapes,
)

MODULES = (choice, comparisons, creation, elementwise, exponentials, functions, means, products, reductions, shapes)
ENTRANCES = {
    f"{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
    for module in MODULES
    for name in vars(module)
    if type(getattr(module, name)).__name__ == "Entrance" and getattr(module, name).__module__ == module.__name__
}

X = np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
ARRAYS: list[Any] = [
    X,
    X.astype(np.float64),
    X.astype(np.float16),
    X.astype(np.int32),
    X.astype(np.int8),
    X > 0,
    (X + 1j).astype(np.complex64),
    np.float32(1.5),
    np.zeros((0, 3), np.float32),
    X[None],
]
SCALARS: list[Any] = [2, 0.5, True, 1j, np.float64(0.25)]
CASES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "unary": [((x,), {}) for x in ARRAYS],
    "binary": [
        *(((x, y), {}) for x in ARRAYS[:8] for y in [X, X[:, :1], X[0].astype(np.int16), *SCALARS]),
        *(((y, x), {}) for x in ARRAYS[:7] for y in SCALARS),
    ],
    "where": [
        ((X > 0, X, X), {}),
        ((X > 0, X, 0), {}),
        ((X > 0, 1.5, 2), {}),
        ((X[0] > 0, X, X[:, :1].astype(np.float64)), {}),
        ((X, X, X), {}),
        ((X > 0, X.astype(np.int32), 2.5), {}),
    ],
    "reduce": [
        *(((x,), {}) for x in ARRAYS[:8]),
        *(((x,), {"axis": axis}) for x in ARRAYS[:7] for axis in (0, -1, (0, 1), (1,), (), None)),
        *(((x, 1), {"keepdims": keep}) for x in ARRAYS[:7] for keep in (True, False)),
        *(((x,), {"axis": (1, 0), "keepdims": True}) for x in ARRAYS[:7]),
        ((X, 1), {"where": X > 0, "initial": 0.0}),
        ((X, 1), {"initial": 2.0}),
        ((np.zeros((2, 0), np.float32), 0), {}),
        ((X, 0), {"where": None}),
        ((X,), {"axis": 2}),
        ((X,), {"axis": (0, 0)}),
        ((X,), {"nonsense": None}),
        ((X, 0), {"axis": 0}),
    ],
    "matmul": [
        ((x.astype(dtype), y.astype(other)), {})
        for x in (X, X[0], X[None])
        for y in (X.T, X.T[:, 0], X[None].transpose(0, 2, 1), X)
        for dtype, other in ((np.float32, np.float32), (np.int32, np.int32), (np.float16, np.float32), (bool, bool))
    ],
    "reshape": [
        *(((X, shape), {}) for shape in ((12,), 12, -1, (2, 6), (2, -1), (3, 4), [4, 3], (5, -1), (-1, -1), (0, -1))),
        ((X, (2, 6)), {"order": "C"}),
        ((np.float32(1), (1, 1)), {}),
        ((np.zeros((0, 3), np.float32), (3, 0)), {}),
    ],
    "transpose": [
        ((X,), {}),
        ((X, (1, 0)), {}),
        ((X, (0, 1)), {}),
        ((X, (-1, 0)), {}),
        ((X, [1, 0]), {}),
        ((X, None), {}),
        ((X, (0, 0)), {}),
        ((X, (0,)), {}),
        ((X[None], (2, 0, 1)), {}),
        ((np.float32(1),), {}),
    ],
    "array": [((x,), {}) for x in [*ARRAYS, *SCALARS, [1, 2.5], "text"]],
}
CASES["asarray"] = CASES["array"]


def cases_of(function: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    if function.__name__ in CASES:
        return CASES[function.__name__]
    parameters = list(inspect.signature(function).parameters)
    if "keepdims" in parameters:
        return CASES["reduce"]
    return CASES["unary" if len(parameters) == 1 else "binary"]


def recorded(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What a call records, or the error that it raises."""
    traced = [x for x in args if isinstance(x, np.ndarray | np.generic)]

    def call(*values: Any) -> Any:
        given = iter(values)
        return function(*[next(given) if isinstance(x, np.ndarray | np.generic) else x for x in args], **kwargs)

    try:
        return ct.make_ir(call)(*traced).text()
    except Exception as error:
        return re.sub(r"\S+\.py:\d+", "here", f"{type(error).__name__}: {error}".splitlines()[0])


def computed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        result = function(*[jnp.asarray(x) if isinstance(x, np.ndarray | np.generic) else x for x in args], **kwargs)
    except Exception as error:
        return type(error)
    return result.dtype, result.weak_type, result.shape, np.asarray(result).tobytes()


def test_there_are_entrances() -> None:
    assert len(ENTRANCES) >= 30


@pytest.mark.parametrize("name", ENTRANCES)
def test_an_entrance_is_its_function(name: str) -> None:
    entrance = ENTRANCES[name]
    function = entrance.__wrapped__
    for args, kwargs in cases_of(entrance):
        expected = recorded(function, args, kwargs)
        # Errors of the bare function are in the name of the primitive within it; those of what users call in its own.
        in_own_name = re.sub(r"(?<=Error: )\w+(?=: )", function.__name__, expected)
        assert recorded(entrance, args, kwargs) in (expected, in_own_name), (args, kwargs)
        assert computed(entrance, args, kwargs) == computed(function, args, kwargs), (args, kwargs)


@pytest.mark.parametrize("name", ENTRANCES)
def test_an_entrance_looks_like_its_function(name: str) -> None:
    entrance = ENTRANCES[name]
    assert inspect.signature(entrance) == inspect.signature(entrance.__wrapped__)
    assert entrance.__doc__ == entrance.__wrapped__.__doc__
    assert pickle.loads(pickle.dumps(entrance)) is entrance


FOREIGN: list[Any] = [
    *ARRAYS,
    X.T,
    X[::-1, ::2],
    X.astype(">f4"),
    X[:0],
    np.array("text"),
    np.array([None]),
    np.zeros(2, "datetime64[s]"),
    np.ma.masked_array([1.0, 2.0]),
]


@pytest.mark.parametrize("function", [jnp.array, jnp.asarray])
def test_conversion_of_numpy_arrays(function: Any) -> None:
    def outcome(convert: Any, x: Any) -> Any:
        try:
            result = convert(x)
        except Exception as error:
            return type(error), str(error)
        return type(result), result.dtype, result.weak_type, result.shape, np.asarray(result).tobytes()

    for x in FOREIGN:
        assert outcome(function, x) == outcome(function.__wrapped__, x)
        once, again = (
            (ct.make_ir(lambda y, f=f: y + f(x).sum())(1.0) for f in (function, function.__wrapped__))
            if (isinstance(x, np.ndarray) and x.dtype.kind in "fiub" and x.dtype.isnative)
            else ("", "")
        )
        assert str(once) == str(again)
    mutable = X.copy()
    made = function(mutable)
    mutable[:] = 0
    np.testing.assert_array_equal(made, X)


def test_an_entrance_under_masks_is_the_function() -> None:
    f = ct.mask(lambda x: jnp.mean(x))
    np.testing.assert_allclose(f(ct.Ragged(jnp.asarray([1.0, 3.0, 99.0]), {0: 2})), 2.0)


INDEXES = [
    0, -1, 2, (0, 1), (-1, -2), slice(1, 3), slice(None, None, 2), slice(None, None, -1), slice(3, 0, -2), slice(5, 2),
    slice(-100, 100), slice(2**70), (slice(None), 1), (slice(1, None), slice(None, 2)), None, (None, 0), (0, None),
    (slice(None), None, 1), ..., (..., 0), (0, ...), (..., None), (None, ..., 1, None), (slice(0, 0), 2), (), (0, 0),
    (0, 0, ...), (slice(None, None, -1), slice(None, None, -2)), (slice(None, None, 3), -1),
    # What the Python function answers, or refuses.
    3, (0, 4), (0, 0, 0), True, (..., ...), 1.0, slice(None, None, 0), slice(0, 1.5), [0, 2], np.array([0, 1]),
    np.int64(1), (np.int32(1), slice(None)), (slice(None), [1, 2]), 2**70, -(2**70),
]  # fmt: skip


@pytest.mark.parametrize("index", INDEXES, ids=str)
@pytest.mark.parametrize("x", [X, X[:1], X.astype(np.int8)], ids=["float32", "one row", "int8"])
def test_indexing(x: Any, index: Any) -> None:
    fast = recorded(lambda x: x[index], (x,), {})
    expected = None  # where NumPy checks index arrays and this does not
    with contextlib.suppress(IndexError, ValueError, TypeError):
        expected = x[index]
    if fast.startswith("graph") and expected is not None:
        np.testing.assert_array_equal(jnp.asarray(x)[index], expected)
        np.testing.assert_array_equal(ct.jit(lambda x: x[index])(x), expected)
    slow = recorded(lambda x: indexing.get_item(x, index), (x,), {})
    assert fast == slow
    assert computed(lambda x: x[index], (x,), {}) == computed(lambda x: indexing.get_item(x, index), (x,), {})


def test_indexing_of_nothing() -> None:
    with pytest.raises(IndexError, match="array is 0-dimensional, but 1 were indexed"):
        jnp.asarray(1.0)[0]
    assert jnp.zeros((0, 3))[:, 1].shape == (0,)
    assert jnp.zeros((0, 3))[::-1].shape == (0, 3)
    assert jnp.asarray(1.0)[()].shape == ()
    assert jnp.asarray(1.0)[None].shape == (1,)


def test_a_row_is_not_the_array() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    assert x[...].tolist() == x.tolist()
    assert x[1:].tolist() == [[3.0, 4.0, 5.0]]
    assert jnp.asarray(2)[...].weak_type == jnp.asarray(2).weak_type
