"""Views: what is assigned to a part of an array that has a name is assigned to the array, as by NumPy, which is asked here."""

from __future__ import annotations

import gc
import inspect
import random
import weakref
from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

VALUES = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)

# Expressions of x, and what may be named as xp: NumPy or cotangent.numpy.
PARTS = [
    "x[0]",
    "x[-1]",
    "x[0, 1]",
    "x[..., 2]",
    "x[:]",
    "x[...]",
    "x[1:, ::2]",
    "x[:, ::-1]",
    "x[None]",
    "x[:, None, 1]",
    "x[xp.int32(1)]",
    "x[2:]",
    "x[0, 1, 2, ...]",
    "x[..., 0, 1, 2]",
    "x.view()",
    "x.view('float32')",
    "x.conj()",
    "xp.conj(x)",
    "x.ravel('F')",
    "x.T.ravel('F')",
    "x.T.reshape((6, 4), order='F')",
    "x.reshape((6, 4), order='F')",
    "x[[0, 1]]",
    "x[[1]]",
    "x[xp.asarray([0])]",
    "x[True]",
    "x.T",
    "x.T[1]",
    "x[0].T[2:]",
    "x.transpose(1, 0, 2)",
    "x.swapaxes(0, -1)",
    "x.reshape(6, 4)",
    "x.reshape(-1)",
    "x.reshape(2, 3, 4)",
    "x.ravel()",
    "x.flatten()",
    "x.copy()",
    "x.T.reshape(-1)",
    "x.T.ravel()",
    "x.T.reshape(4, 3, 1, 2)",
    "x[:, 1:].reshape(-1)",
    "x[:, 1:].reshape(2, 8)",
    "x[1].reshape(-1)",
    "x[:, :, ::2].reshape(6, 2)",
    "x[None].squeeze()",
    "x.squeeze()",
    "x[1, 1, ::2].ravel()",
    "x[1, 1, ::-1].ravel()",
    "x[:, 1, 1].ravel()",
    "x[1, 1].ravel()",
    "x[1, 1].ravel('F')",
    "x[:, 1].T.ravel('F')",
    "x[1, 1, :1].ravel()",
    "x.real",
    "x.astype('float32')",
    "+x",
    "x + 0",
    "xp.array(x)",
    "xp.asarray(x)",
    "xp.transpose(x, (2, 0, 1))",
    "xp.moveaxis(x, 0, 2)",
    "xp.rollaxis(x, 2)",
    "xp.expand_dims(x, 1)",
    "xp.squeeze(x[:, :1], 1)",
    "xp.atleast_1d(x)",
    "xp.atleast_2d(x[0, 0])",
    "xp.atleast_3d(x[0])",
    "xp.flip(x)",
    "xp.flip(x, 1)",
    "xp.fliplr(x)",
    "xp.flipud(x)",
    "xp.rot90(x)",
    "xp.rot90(x, 2)",
    "xp.rot90(x, 4)",
    "xp.split(x, 3, axis=1)[1]",
    "xp.array_split(x, 3, axis=2)[0]",
    "xp.vsplit(x, 2)[1]",
    "xp.hsplit(x, [1])[1]",
    "xp.roll(x, 1)",
    "xp.repeat(x, 1)",
    "xp.tile(x, 1)",
    "xp.concatenate([x])",
    "xp.stack([x])",
    "xp.sort(x)",
    "xp.take(x, 0, axis=0)",
    "xp.where(x > 5, x, x)",
    "xp.pad(x, 0)",
    "xp.abs(x)",
    "list(x)[1]",
    "[row for plane in x for row in plane][4]",
]


def parts(xp: Any, source: str) -> Callable[[Any], tuple[Any, Any, Any, Any]]:
    """The array and its part after the part was assigned to, then after the array was."""

    def function(x: Any) -> tuple[Any, Any, Any, Any]:
        x = xp.array(x)
        part = eval(source, {"x": x, "xp": xp})
        part[...] = 50.0
        first = x + 0, part + 0
        x[0, 1] = x[1, 2] + 1
        return (*first, x, part)

    return function


@pytest.mark.parametrize(
    "run", [lambda f: f, ct.jit, lambda f: lambda x: ct.jvp(f, (x,), (x,))[0]], ids=["eager", "jit", "jvp"]
)
@pytest.mark.parametrize("source", PARTS)
def test_as_numpy(source: str, run: Any) -> None:
    expected = parts(np, source)(VALUES)
    found = run(parts(cnp, source))(cnp.asarray(VALUES))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_chosen_elements_are_a_copy() -> None:
    x = cnp.asarray(VALUES)
    part = x[x > 5]
    part[...] = 50.0
    np.testing.assert_array_equal(x, VALUES)


def test_complex_parts() -> None:
    def f(xp: Any, x: Any) -> Any:
        x = xp.array(x)
        x.real[1:] = 5.0
        imaginary = x.imag
        imaginary[0] = -1.0
        x[2] = 3 + 4j
        return x, imaginary

    z = np.array([1 + 2j, 3 - 1j, 2j], np.complex64)
    for run in (f, lambda xp, x: ct.jit(lambda x: f(xp, x))(x)):
        for a, b in zip(run(cnp, z), f(np, z), strict=True):
            np.testing.assert_array_equal(a, b)


def test_iteration_and_unpacking() -> None:
    def f(x: Any) -> Any:
        for i, row in enumerate(x):
            row[:] = row * i
        _first, second, third = x
        second[0] = third[1] = -1.0
        x.flat[-1] = 9.0
        x.T.flat[1] = 7.0
        return x

    values = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    expected = f(values.copy())
    np.testing.assert_array_equal(ct.jit(f)(values), expected)
    x = cnp.asarray(values)
    f(x)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(ct.vmap(f)(np.stack([values] * 2)), np.stack([expected] * 2))


def test_derivatives() -> None:
    def f(x: Any) -> Any:
        u = cnp.zeros((3, 4))
        inner = u[1:-1, 1:-1]
        inner[...] = x * x
        u.T[0] = x[0]
        row = u[1]
        row[3] = row[1] * row[2]
        return u

    def plain(x: Any) -> Any:
        squares = x * x
        rows = [[x[0], 0.0, 0.0, 0.0], [x[0], squares[0], squares[1], squares[0] * squares[1]], [x[0], 0.0, 0.0, 0.0]]
        return cnp.stack([cnp.stack([cnp.asarray(e, "float32") for e in row]) for row in rows])

    x = cnp.array([2.0, 3.0])
    for transform in (
        ct.jit,
        ct.jacrev,
        ct.jacfwd,
        ct.hessian,
        lambda f: ct.vmap(ct.jacrev(f), in_axes=None, axis_size=2),
    ):
        np.testing.assert_allclose(transform(f)(x), transform(plain)(x), rtol=1e-6)


@pytest.mark.parametrize(
    "run", [lambda f: f, ct.jit, lambda f: lambda x: ct.jvp(f, (x,), (x,))[0]], ids=["eager", "jit", "jvp"]
)
def test_an_array_is_assigned_to_itself(run: Any) -> None:
    def f(x: Any) -> Any:
        x = x + 0
        row, whole = x[0], x[:]
        x[:] = x
        x[...] = whole
        whole[:] = whole
        row[...] = row
        x[:] = x[::-1]
        row[0] = 7.0
        return x, row, whole

    x = cnp.arange(4.0).reshape(2, 2)
    for found, expected in zip(
        run(f)(x), ([[7.0, 3.0], [0.0, 1.0]], [7.0, 3.0], [[7.0, 3.0], [0.0, 1.0]]), strict=True
    ):
        assert found.tolist() == expected
    y = cnp.array(3.0)
    y[...] = y
    assert y.item() == 3.0


def test_views_that_left_their_capture() -> None:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x[1:])
        return x

    ct.jit(f)(cnp.arange(3.0))
    with pytest.raises(ct.errors.TracerLeakError, match="escaped from the capture of 'f' by jit"):
        kept[0][0] = 1.0


def test_positions_that_are_computed() -> None:
    def f(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            row = x[i]
            row[0] = row[1] + 1
            before = x[i - 1]
            before[1] = x[i, 0]
            return x

        return ct.lax.fori_loop(1, 3, step, x)

    expected = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    for i in range(1, 3):
        expected[i][0] = expected[i][1] + 1
        expected[i - 1][1] = expected[i, 0]
    np.testing.assert_array_equal(f(cnp.arange(9.0).reshape(3, 3)), expected)


def test_inside_a_mask() -> None:
    def f(x: Any) -> Any:
        tail = x[1:]
        tail[0] = 10.0
        x[-1] = -1.0
        back = x[::-1]
        back[1] *= 2
        return x, tail

    rows = [np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0, 7.0], np.float32)]
    found = ct.vmap(ct.mask(f))(ct.ragged(rows))
    for i, row in enumerate(rows):
        for a, b in zip(found, f(row.copy()), strict=True):
            assert list(a)[i].tolist() == b.tolist()


def test_augmented_assignment_of_a_name_is_none_of_the_array() -> None:
    """``r += 1`` gives the name another array, as in JAX, where that is how programs are written."""
    x = cnp.zeros((2, 2))
    row = x[0]
    row += 1
    assert (x.tolist(), row.tolist()) == ([[0.0, 0.0], [0.0, 0.0]], [1.0, 1.0])
    row[0] = 5.0
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("transform", [ct.jit, ct.grad, ct.vmap, lambda f: lambda x: ct.lax.map(f, x)])
def test_views_of_arrays_from_outside(transform: Any) -> None:
    outside = cnp.zeros((2, 3))
    row = outside[1]

    def made_inside(x: Any) -> Any:
        part = outside[0]
        part[0] = 1.0
        return x

    def made_outside(x: Any) -> Any:
        row[0] = 1.0
        return x

    def copied(x: Any) -> Any:
        part = outside[0].copy()
        part[0] = x
        return part.sum()

    x = cnp.asarray(1.0) if transform in (ct.jit, ct.grad) else cnp.ones(2)
    with pytest.raises(TypeError, match=r"x is a view of an array that was made outside(.|\n)*x = x.copy\(\)"):
        transform(made_inside)(x)
    with pytest.raises(TypeError, match="made outside of the function that is captured"):
        transform(made_outside)(x)
    assert np.asarray(transform(copied)(x)).max() == 1.0
    assert outside.tolist() == [[0.0] * 3] * 2


def test_errors_leave_all() -> None:
    x = cnp.zeros((2, 3))
    row = x[0]
    with pytest.raises(TypeError):
        row[:] = np.ones(7, np.float32)
    with pytest.raises(IndexError):
        row[5] = 1.0
    assert (x.tolist(), row.tolist()) == ([[0.0] * 3] * 2, [0.0] * 3)


def test_no_array_is_kept_alive() -> None:
    x = cnp.zeros((2, 3))
    held = weakref.ref(x)
    row = x[0]
    middle = weakref.ref(x.T)
    assert middle() is None
    column = x.T[1]
    column[0] = 3.0
    assert row.tolist() == [0.0, 3.0, 0.0]
    del x
    assert held() is None
    row[0] = 1.0
    assert (row.tolist(), column.tolist()) == ([1.0, 3.0, 0.0], [3.0, 0.0])


def test_deleted_arrays() -> None:
    x = cnp.zeros((2, 3))
    row = x[0]
    x.delete()
    row[0] = 1.0
    assert row.tolist() == [1.0, 0.0, 0.0]


def test_bytes_read_as_another_dtype() -> None:
    def f(xp: Any, x: Any) -> Any:
        x = xp.array(x)
        x.view("uint32")[1] = 0x40000000
        parts = x.view("complex64")
        parts[1] = 5 + 6j
        x[0] = 9.0
        return x, parts

    values = np.arange(4, dtype=np.float32)
    for a, b in zip(f(cnp, values), f(np, values), strict=True):
        np.testing.assert_array_equal(a, b)


def test_many_views_that_are_held() -> None:
    """Each assignment looks at the views that can have changed: 2,000 rows were read again for each of them, a minute in all."""
    x = cnp.zeros((2000, 8))
    rows, tiles = list(x), [x[i : i + 4, :4] for i in range(0, 2000, 4)]
    for i, row in enumerate(rows):
        row[i % 8] = i
    expected = np.zeros((2000, 8), np.float32)
    expected[np.arange(2000), np.arange(2000) % 8] = np.arange(2000)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(np.stack(rows), expected)
    np.testing.assert_array_equal(np.concatenate(tiles), expected[:, :4])


def test_memory_of_links() -> None:
    """Twenty thousand views of views: ends without deep recursion, and leaves nothing."""
    whole = x = cnp.zeros(8)
    for _ in range(20_000):
        x = x[::-1]
    x[0] = 1.0
    assert float(whole[0]) == 1.0
    del whole
    x[1] = 2.0
    assert x.tolist()[:2] == [1.0, 2.0]
    gc.collect()


# ---- Functions of the package ------------------------------------------------------------------------------------------


def functions_of_both() -> list[Any]:
    found = []
    for name in cnp.__all__:
        ours, theirs = getattr(cnp, name), getattr(np, name, None)
        if callable(ours) and callable(theirs) and not inspect.isclass(theirs):
            found.append(pytest.param(ours, theirs, id=name))
    return found


# Of what NumPy makes views or hands back, copies here.
COPIES = {
    "broadcast_arrays",  # to be read only in NumPy, which warns
    "diff",  # of no differences
    "polyder",  # of no derivatives
    "polyint",  # of no integrals
    "einsum",
    "nan_to_num",  # writes over its argument where copy is false
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("ours", "theirs"), functions_of_both())
def test_functions_make_views_where_numpy_does(ours: Any, theirs: Any, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.id
    for dtype in ("float32", "complex64", "bool"):
        for shape in ((3,), (1, 3), (2, 2), (2, 3, 1)):
            for rest in ((), (0,), (1,), (0, 1), (shape,)):
                values = np.ones(shape, dtype)
                x = cnp.asarray(values)
                try:
                    expected, found = theirs(values, *rest), ours(x, *rest)
                except BaseException:
                    continue
                pairs = zip(
                    expected if isinstance(expected, (list, tuple)) else [expected],
                    found if isinstance(found, (list, tuple)) else [found],
                    strict=False,
                )
                for a, b in pairs:
                    if (
                        not isinstance(a, np.ndarray)
                        or not isinstance(b, cnp.ndarray)
                        or a.ndim == 0
                        or a.shape != b.shape
                    ):
                        continue
                    shares = np.shares_memory(a, values) and a.flags.writeable and name not in COPIES
                    before = np.array(x)
                    b[...] = 0 if dtype == "bool" else 7
                    assert (not np.array_equal(x, before)) == bool(shares and a.size), (dtype, shape, rest)
                    x = cnp.asarray(values)
                    break


# ---- Random programs ----------------------------------------------------------------------------------------------------


def random_program(seed: int) -> str:
    """A function of NumPy's ways: names for views of views, names that go, and assignments by all of them."""
    dice = random.Random(seed)
    shapes = {"x": (3, 4)}
    lines = ["def program(x):"]
    for number in range(dice.randrange(4, 14)):
        name = dice.choice(list(shapes))
        shape = shapes[name]
        kind = dice.randrange(8)
        if kind < 3:
            made = f"v{number}"
            expression, result = _random_part(dice, name, shape)
            lines.append(f"    {made} = {expression}")
            shapes[made] = result
        elif kind == 3 and len(shapes) > 2:
            gone = dice.choice([other for other in shapes if other != "x"])
            del shapes[gone]
            lines.append(f"    del {gone}")
        else:
            expression, result = _random_part(dice, name, shape, assigned=True)
            operator = dice.choice(["=", "=", "+=", "*="])
            source = dice.choice(list(shapes))
            value = (
                f"{source}.reshape(-1)[{dice.randrange(np.prod(shapes[source]))}]" if np.prod(shapes[source]) else "1.0"
            )
            lines.append(f"    {expression} {operator} {value} * {dice.choice([0.5, 1.0, 2.0])} + {number}")
    return "\n".join([*lines, f"    return ({', '.join(f'{name} + 0' for name in shapes)},)"])


def _random_part(
    dice: random.Random, name: str, shape: tuple[int, ...], *, assigned: bool = False
) -> tuple[str, tuple[int, ...]]:
    while True:
        items = []
        for size in shape[: dice.randrange(len(shape) + 1)]:
            start, stop = sorted((dice.randrange(size + 1), dice.randrange(size + 1)))
            position = str(dice.randrange(-size, size)) if size else ":"
            items.append(dice.choice([":", "::-1", f"{start}:{stop}", f"{start}:", "::2", position]))
        index = f"[{', '.join(items) or '...'}]"
        # What NumPy may copy has a name, else nobody could see an assignment to it.
        reshaped = [] if assigned else [".reshape(-1)", f".reshape({', '.join(map(str, shape[::-1]))})"]
        first = dice.choice([".T", "[None]", "", "", *reshaped])
        expression = f"{name}{first or index}" if not assigned else f"{name}{first}{index if not first else '[...]'}"
        result = np.shape(eval(expression, {name: np.empty(shape)}))
        if assigned or (0 < len(result) < 5 and 0 not in result):
            return expression, result


@pytest.mark.parametrize("first", range(0, 200, 10))
def test_random_programs(first: int) -> None:
    values = np.arange(12.0, dtype=np.float64).reshape(3, 4) / 8
    for seed in range(first, first + 10):
        source = random_program(seed)
        scope: dict[str, Any] = {}
        exec(source, scope)
        program = scope["program"]
        expected = program(values.copy())
        for run in (lambda x: program(x), ct.jit(program), lambda x: ct.jvp(program, (x,), (x,))[0]):
            for a, b in zip(run(cnp.array(values)), expected, strict=True):
                np.testing.assert_allclose(a, b, err_msg=source, rtol=1e-12)
