"""``x[i] = y`` makes an object another array: as NumPy's assignment for who holds the object, and nothing else changes."""

from __future__ import annotations

import contextlib
import copy
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

VALUES = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

# An index, and what is assigned.
CASES: dict[str, tuple[Any, Any]] = {
    "position": ((1, 2, 3), 50.0),
    "negative": (-1, 50),
    "whole": (..., 7.5),
    "no axes": ((), VALUES[::-1]),
    "row": ((0, 1), np.arange(4)),
    "slice": (slice(None, None, -1), VALUES),
    "steps": ((slice(None), slice(0, 3, 2)), np.ones((2, 1), np.float32)),
    "empty slice": (slice(2, 2), 1.0),
    "new axis": ((None, 0), np.full((1, 3, 4), 9.0)),
    "ellipsis": ((..., 1), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "array of positions": (np.array([1, 0]), np.arange(12.0).reshape(3, 4)),
    "two arrays": ((np.array([0, 1]), np.array([2, -1])), 3.0),
    "array and slice": ((slice(None), np.array([2, 0])), np.arange(8.0).reshape(2, 4)),
    "mask": (VALUES > 7, 0.0),
    "mask, value for each": (VALUES > 20, np.array([1.0, 2.0, 3.0])),
    "mask of an axis": ((slice(None), np.array([True, False, True])), np.array([[1.0], [2.0]])),
    "mask of nothing": (VALUES > 100, 1.0),
    "bool": (True, 3.0),
}


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64", "bool", "float16", "uint8"])
@pytest.mark.parametrize("case", CASES)
def test_as_numpy(case: str, dtype: str) -> None:
    index, value = CASES[case]
    value = np.asarray(value).astype(dtype)
    expected = VALUES.astype(dtype)
    x = cnp.asarray(expected)
    expected[index] = value
    x[index] = value
    assert x.dtype == dtype
    np.testing.assert_array_equal(x, expected)


def test_arrays_as_indices_and_values() -> None:
    x = cnp.zeros((2, 3))
    x[cnp.asarray([1]), cnp.asarray(2)] = cnp.asarray(4.0)
    x[x == 0] = cnp.asarray(-1, dtype="int8")
    assert x.tolist() == [[-1.0, -1.0, -1.0], [-1.0, -1.0, 4.0]]


def test_dtype_and_weakness_stay() -> None:
    x = cnp.arange(3, dtype="int8")
    x[0] = 5
    assert (x.dtype, x.weak_type, x.tolist()) == ("int8", False, [5, 1, 2])
    x = cnp.asarray(1.0)
    weak = x.weak_type
    x[()] = 2.0
    assert (x.weak_type, float(x)) == (weak, 2.0)


@pytest.mark.parametrize("index", [slice(None), ..., (), None, 0, [0, 1]])
def test_numbers_of_python_leave_the_type(index: Any) -> None:
    for dtype in ("int32", "float32", "float64", "complex128"):
        for assign in (lambda x: x.__setitem__(index, 100), lambda x: None):
            x = cnp.zeros(2, dtype)
            y = x.at[index].set(100)
            assign(x)
            assert not x.weak_type and not y.weak_type
            assert (x + cnp.full(2, 100, "int8")).dtype == x.dtype == y.dtype == dtype
    jitted = ct.jit(lambda x: (x.__setitem__(index, 1), x)[1])
    assert not jitted(cnp.zeros(2)).weak_type


def test_numbers_of_python_keep_their_digits() -> None:
    x = cnp.zeros(2, "float64")
    x[0] = 1.7
    x[1:] = [0.1]
    assert x.tolist() == [1.7, 0.1]
    assert x.at[0].add(16777217.0).tolist() == [16777218.7, 0.1]
    z = cnp.zeros(1, "complex128")
    z[0] = 1.7 + 0.1j
    assert z.tolist() == [1.7 + 0.1j]
    assert ct.jit(lambda x: x.at[0].set(1.7))(x).tolist() == [1.7, 0.1]


def test_positive_is_a_copy_where_it_is_traced() -> None:
    def f(x: Any) -> Any:
        y = +x
        y[0] = 9.0
        return x

    for transform in (ct.jit, ct.vmap):
        assert transform(f)(cnp.zeros((1, 2))).tolist() == [[0.0, 0.0]]


def test_augmented() -> None:
    x = cnp.arange(4.0)
    x[1:3] *= 10
    x[0] -= 1
    assert x.tolist() == [-1.0, 10.0, 20.0, 3.0]


def test_nothing_else_changes() -> None:
    x = cnp.asarray(VALUES)
    same = x
    before = {
        "view of NumPy": np.asarray(x),
        "memory": np.asarray(memoryview(x)),
        "capsule": np.from_dlpack(x),
        "copy": x.copy(),
        "shallow copy": copy.copy(x),
        "deep copy": copy.deepcopy(x),
        "cast": cnp.astype(x, x.dtype),
        "method's cast": x.astype(x.dtype),
        "array": cnp.array(x),
        "positive": +x,
        "reshaped copy": cnp.reshape(x, (6, 4), copy=True).reshape(x.shape),
        "flattened": x.flatten().reshape(x.shape),
        "stopped": ct.lax.stop_gradient(x),
        "jitted": ct.jit(lambda x: x)(x),
        "pickled": pickle.loads(pickle.dumps(x)),
        "identity": ct.jit(lambda: x)(),
    }
    add = ct.jit(lambda y: x + y)
    add(0.0)
    x[0, 0] = 100.0
    assert same is x
    assert float(same[0, 0, 0]) == 100.0
    for name, y in before.items():
        np.testing.assert_array_equal(y, VALUES, err_msg=name)
    np.testing.assert_array_equal(add(0.0), VALUES, err_msg="programs keep what they were captured with")


def functions_of_one_array() -> list[Any]:
    spaces = {
        "numpy": cnp,
        "lax": ct.lax,
        "nn": ct.nn,
        "linalg": cnp.linalg,
        "fft": cnp.fft,
        "special": ct.scipy.special,
    }
    return [
        pytest.param(getattr(space, name), id=f"{prefix}.{name}")
        for prefix, space in spaces.items()
        for name in getattr(space, "__all__", dir(space))
        if not name.startswith("_") and callable(getattr(space, name)) and not isinstance(getattr(space, name), type)
    ]


@pytest.mark.parametrize("function", functions_of_one_array())
def test_results_are_objects_of_their_own(function: Any) -> None:
    """Where a function has nothing to do, too: an assignment to the result is none to the argument."""
    if function in (cnp.asarray, cnp.from_dlpack):
        pytest.skip("says that it hands the argument on")
    for dtype in ("float32", "int32", "bool"):
        for shape in ((), (1,), (1, 3), (2, 2)):
            x = cnp.ones(shape, dtype)
            for rest in ((), (0,), (1,), (shape,), (x.dtype,), ([],)):
                result = None
                with contextlib.suppress(Exception), np.printoptions():
                    result = function(x, *rest)
                assert not any(leaf is x for leaf in ct.tree.leaves(result)), rest


def test_views_outlive_the_memory() -> None:
    x = cnp.arange(1000.0)
    views = []
    for step in range(50):
        views.append(np.asarray(x))
        x[step] = -1.0
    for step, view in enumerate(views):
        assert (view[:step] == -1).all()
        assert (view[step:] == np.arange(step, 1000)).all()


# ---- Inside captured functions ---------------------------------------------------------------------------------------


def squares(x: Any) -> Any:
    """The square of the first element, the product of the others and what was written over an argument."""
    out = cnp.zeros(3)
    out[0] = x[0] ** 2
    out[1] = x[1] * x[2]
    x[1] = 5.0
    out[2] = x[1] * x[0]
    return out


def plain(x: Any) -> Any:
    return cnp.stack([x[0] ** 2, x[1] * x[2], 5.0 * x[0]])


X = np.array([2.0, 3.0, 4.0], np.float32)
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "jit": ct.jit,
    "jacrev": ct.jacrev,
    "jacfwd": ct.jacfwd,
    "hessian": ct.hessian,
    "jit of jacrev": lambda f: ct.jit(ct.jacrev(f)),
    "jacrev of jit": lambda f: ct.jacrev(ct.jit(f)),
    "linearize": lambda f: lambda x: ct.linearize(f, x)[1](cnp.ones(3)),
    "vmap": lambda f: lambda x: ct.vmap(f)(cnp.stack([x, x * 2])),
    "vmap of gradients": lambda f: lambda x: ct.vmap(ct.grad(lambda x: f(x).sum()))(cnp.stack([x, x * 2])),
    "checkpoint": lambda f: ct.jacrev(ct.checkpoint(f)),
    "scan": lambda f: lambda x: ct.lax.scan(lambda c, y: (f(c * y), c), x, cnp.arange(3.0)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(transform: str) -> None:
    x = cnp.asarray(X)
    found, expected = TRANSFORMS[transform](squares)(x), TRANSFORMS[transform](plain)(x)
    for a, b in zip(ct.tree.leaves(found), ct.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert x.tolist() == X.tolist(), "the caller's array is its own"


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "bool"])
def test_an_assigned_argument_of_vmap_is_returned_as_it_is_then(dtype: str) -> None:
    # Integers that a function hands through are known by their object, which an assignment makes another array.
    def first(x: Any, value: Any) -> Any:
        x[0] = value
        return x

    def masked(x: Any, mask: Any, values: Any) -> Any:
        x[mask] = values
        return x, mask

    x = np.array([[0, 1, 1, 0], [1, 0, 1, 1]], dtype)
    expected = x.copy()
    expected[:, 0] = [1, 0]
    value = np.array([1, 0], dtype)
    assert ct.vmap(first)(x, value).tolist() == expected.tolist()
    assert ct.jit(ct.vmap(first))(x, value).tolist() == expected.tolist()
    mask, values = np.array([[1, 1, 0, 0], [0, 1, 1, 0]], bool), np.array([[1, 0], [0, 0]], dtype)
    expected = x.copy()
    for row in range(2):
        expected[row][mask[row]] = values[row]
    found, same = ct.vmap(masked)(x, mask, values)
    assert found.tolist() == expected.tolist() and same.tolist() == mask.tolist()


def test_eager_functions_change_what_they_are_given() -> None:
    x = cnp.asarray(X)
    squares(x)
    assert x.tolist() == [2.0, 5.0, 4.0]


def test_constants_made_in_the_function() -> None:
    @ct.jit
    def f(x: Any) -> Any:
        out = cnp.asarray([1.0, 2.0, 3.0])
        y = out.copy()
        out[1] = x
        out[out > 2] = 2 * x
        return out, y

    assert [part.tolist() for part in f(4.0)] == [[1.0, 8.0, 8.0], [1.0, 2.0, 3.0]]


def test_traced_copies_are_apart() -> None:
    @ct.jit
    def f(x: Any) -> Any:
        y, z = x.copy(), copy.deepcopy(x)
        y[0] = 1.0
        return x, y, z

    assert [part.tolist() for part in f(cnp.zeros(2))] == [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


def test_ragged_data() -> None:
    rows = [np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0, 5.0], np.float32)]

    def f(x: Any) -> Any:
        x[1] = 10.0
        x[x > 4] *= 2
        return cnp.sum(x * x), x

    sums, changed = ct.vmap(ct.mask(f))(ct.ragged(rows))
    assert sums.tolist() == [401.0, 509.0]
    assert [row.tolist() for row in changed] == [[1.0, 20.0], [3.0, 20.0, 10.0]]
    slopes = ct.vmap(ct.grad(ct.mask(lambda x: f(x)[0])))(ct.ragged(rows))
    assert [row.tolist() for row in slopes] == [[2.0, 0.0], [6.0, 0.0, 40.0]]


@pytest.mark.parametrize("transform", ["jit", "jacrev", "jacfwd", "vmap", "checkpoint", "scan"])
def test_arrays_from_outside_are_refused(transform: str) -> None:
    outside = cnp.zeros(3)

    def f(x: Any) -> Any:
        outside[0] = 1.0
        return x * outside

    with pytest.raises(
        TypeError, match=r"was made outside of the function that is captured.*\n  at .*\n.*part of the carry"
    ):
        TRANSFORMS[transform](f)(cnp.asarray(X))
    assert outside.tolist() == [0.0, 0.0, 0.0]


def test_values_of_an_enclosing_function_are_refused() -> None:
    def outer(x: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            x[0] = total
            return total

        return ct.lax.fori_loop(0, 3, body, x.sum())

    with pytest.raises(TypeError, match="was made outside of the function that is captured"):
        ct.jit(outer)(cnp.asarray(X))


def test_after_a_capture_arrays_are_assignable_again() -> None:
    x = cnp.zeros(2)
    ct.jit(lambda y: y + x)(1.0)
    x[0] = 3.0
    with pytest.raises(ZeroDivisionError):
        ct.jit(lambda y: y / (1 // 0))(1.0)
    x[1] = 4.0
    y = ct.jit(lambda y: y + 1)(x)
    y[0] = 9.0
    assert (x.tolist(), y.tolist()) == ([3.0, 4.0], [9.0, 5.0])


def test_arrays_of_callbacks_are_assignable() -> None:
    def host(x: Any) -> Any:
        y = cnp.asarray(x)
        z = cnp.zeros(2) + y
        z[0] = 7.0
        return np.asarray(z)

    x = cnp.ones(2)
    assert ct.jit(lambda x: ct.pure_callback(host, x, x))(x).tolist() == [7.0, 1.0]


def test_threads() -> None:
    x = cnp.zeros(8)
    seen: list[Any] = []

    def work(i: int) -> None:
        ct.jit(lambda y: y * i)(1.0)
        x[i] = float(i)
        seen.append(ct.jit(lambda y: y.sum())(x))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.tolist() == [float(i) for i in range(8)]
    assert len(seen) == 8


@pytest.mark.parametrize("way", ["array", "view"])
def test_threads_that_assign_at_once(way: str) -> None:
    """None undoes what another does, as in NumPy; large arrays take long enough for one to be in the midst of it."""
    count, each = 4, 8
    x = cnp.zeros((2, 1 << 16))
    places = [x[1] if way == "view" else x for _ in range(count)]
    ready = threading.Barrier(count)

    def work(first: int) -> None:
        ready.wait()
        for i in range(first, count * each, count):
            places[first][i if way == "view" else (1, i)] = 1.0

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert x[1, : count * each].tolist() == [1.0] * (count * each)
    assert [place[..., : count * each].sum() for place in places] == [count * each] * count


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_assigns() -> None:
    x, stop = cnp.zeros(1 << 16), threading.Event()

    def work() -> None:
        while not stop.is_set():
            x[0] = 1.0

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                try:
                    signal.alarm(60)  # ends a process that waits for ever
                    y = cnp.zeros(2)
                    y[1] = 3.0
                    os._exit(int(y[1]))
                finally:
                    os._exit(1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, np.ones(7, np.float32), TypeError, "broadcast"),
        (5, 1.0, IndexError, "out of bounds"),
        ("a", 1.0, (TypeError, IndexError), ""),
        (np.array([True]), 1.0, IndexError, "does not fit"),
        (0, "text", TypeError, ""),
        (0, None, TypeError, ""),
        (0, 1 + 2j, TypeError, "y is complex64, and x is float32"),
    ],
)
def test_errors_leave_the_array(index: Any, value: Any, error: Any, message: str) -> None:
    x = cnp.asarray(X)
    with pytest.raises(error) as caught:
        x[index] = value
    assert message in str(caught.value)
    assert x.tolist() == X.tolist()


@pytest.mark.parametrize(
    "target", ["x[[0]][0]", "x.T.ravel()[0]", "x.flatten()[0]", "(x + 0)[0]", "cnp.sum(x, 0)[0]", "x.copy()[0]"]
)
@pytest.mark.parametrize("operator", ["=", "+="])
def test_assignments_that_nobody_could_see_are_refused(target: str, operator: str) -> None:
    x = cnp.asarray(VALUES)
    with pytest.raises(TypeError, match=r"nobody holds the array(.|\n)*write one index"):
        exec(f"{target} {operator} 1.0", {"x": x, "cnp": cnp})
    np.testing.assert_array_equal(x, VALUES)


def test_what_holds_an_array() -> None:
    class Holder:
        x = cnp.zeros(2)

    arrays = {"x": cnp.zeros(2)}
    listed = [cnp.zeros(2)]
    arrays["x"][0] = listed[0][0] = Holder.x[0] = 1.0
    (lambda x: x.__setitem__(1, 2.0))(listed[0])
    assert [x.tolist() for x in (arrays["x"], listed[0], Holder.x)] == [[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]]
    with pytest.raises(TypeError, match="the size of an array cannot change"):
        del listed[0][0]


def test_deleted_arrays() -> None:
    x = cnp.zeros(2)
    x.delete()
    with pytest.raises(ValueError, match=r"donated|deleted"):
        x[0] = 1.0
