"""A Ragged as an array: methods, operators, elements and printing are those of the exact array."""

from __future__ import annotations

import ast
import copy
import operator
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._transforms import ragged_interface
from needs import needed

BOUND = 4
RANDOM = np.random.default_rng(0)


def padded(exact: np.ndarray[Any, Any], ragged: tuple[int, ...] = (0,), padding: float = np.nan) -> ct.Ragged:
    shape = [BOUND if axis in ragged else size for axis, size in enumerate(exact.shape)]
    data = np.full(shape, padding if exact.dtype.kind == "f" else 77, exact.dtype)
    data[tuple(map(slice, exact.shape))] = exact
    return ct.Ragged(data, {axis: exact.shape[axis] for axis in ragged})


def values(x: Any) -> Any:
    return np.asarray(x.unpad() if isinstance(x, ct.Ragged) else x)


def matrix(*shape: int) -> np.ndarray[Any, Any]:
    return RANDOM.uniform(0.5, 2.0, shape).astype("float32")


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "doubled": lambda x: 2 * x,
    "from a number": lambda x: 1 - x / 3,
    "power": lambda x: x**2 + 2.0**x,
    "remainder": lambda x: x % 0.3 + x // 0.3,
    "signs": lambda x: abs(-x) + +x,
    "comparisons": lambda x: (x > 1) | (x <= 0.7),
    "equal": lambda x: (x == x) & ~(x != x),
    "itself": lambda x: x * x - x,
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(),
    "mean of the last": lambda x: x.mean(axis=-1),
    "kept": lambda x: x - x.max(axis=-1, keepdims=True),
    "least": lambda x: x.min(),
    "std": lambda x: x.std(ddof=1),
    "var": lambda x: x.var(axis=(0, 1)),
    "product": lambda x: x.prod(axis=1),
    "all and any": lambda x: (x > 0).all() & (x > 1.9).any(),
    "transposed": lambda x: x.T,
    "gram": lambda x: x @ x.T,
    "reshaped": lambda x: x.reshape(-1, 1, 3),
    "dtype": lambda x: x.astype("int32"),
    "row": lambda x: x[1],
    "last row": lambda x: x[-1],
    "column": lambda x: x[..., 0],
    "slice": lambda x: x[:, 1:],
    "new axis": lambda x: x[:, None],
    "chosen": lambda x: x[:, [2, 0]],
    "running": lambda x: x.cumsum(axis=0),
    "sorted": lambda x: x.sort(axis=0),
    "places": lambda x: x.argmax(axis=0),
    "clipped": lambda x: round(x.clip(0.6, 1.0), 1),
    "array on the right": lambda x: x * np.array([1.0, 2.0, 3.0], "float32"),
    "array on the left": lambda x: np.array([1.0, 2.0, 3.0], "float32") - x,
    "ours on the left": lambda x: cnp.array([[2.0]], "float32") / x,
    "matrix": lambda x: x @ np.ones((3, 2), "float32"),
    "from the left": lambda x: np.ones(3, "float32") @ x.T,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_are_those_of_the_exact_array(name: str) -> None:
    f = OPERATIONS[name]
    for n in (2, 4):
        exact = matrix(n, 3)
        wanted = np.asarray(f(cnp.array(exact)))
        for padding in (np.nan, np.inf, 5.0):
            x = padded(exact, padding=padding)
            for found in (f(x), ct.jit(f)(x), ct.mask(f)(x)):
                np.testing.assert_allclose(values(found), wanted, rtol=1e-5)
                assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", ["doubled", "itself", "sum", "mean", "gram", "column", "std"])
def test_derivatives_and_batches_of_them(name: str) -> None:
    f = OPERATIONS[name]
    exact = matrix(3, 3)
    loss = lambda x: (f(x) ** 2).sum()  # noqa: E731
    gradient = ct.grad(loss)(padded(exact))
    np.testing.assert_allclose(values(gradient), ct.grad(loss)(cnp.array(exact)), rtol=1e-4)
    assert np.all(np.asarray(gradient.data)[3:] == 0)
    rows = [matrix(n, 3) for n in (2, 3, 4)]
    found = ct.vmap(ct.grad(loss))(ct.ragged(rows, bound=[BOUND, None]))
    for row, exact in zip(found.to_list(), rows, strict=True):
        np.testing.assert_allclose(row, ct.grad(loss)(cnp.array(exact)), rtol=1e-4)


ROWS = [np.array(row, "float32") for row in ([1.0, 4.0, 2.0], [], [3.0])]
OF_ROWS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: 2 * x - x / 4,
    "comparison": lambda x: x > 1.5,
    "signs": lambda x: abs(-x),
    "dtype": lambda x: x.astype("int32"),
    "running": lambda x: x.cumsum(axis=-1),
    "sorted": lambda x: x.sort(),
    "conjugate": lambda x: x.conj().real,
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_batches_are_worked_on_row_by_row(name: str) -> None:
    f = OF_ROWS[name]
    x = ct.ragged(ROWS, bound=BOUND)
    for found in (f(x), ct.jit(f)(x)):
        for row, exact in zip(found.to_list(), ROWS, strict=True):
            np.testing.assert_array_equal(row, f(cnp.array(exact)))


def test_batches_with_arrays_of_the_batch() -> None:
    x = ct.ragged(ROWS)
    scale = np.array([[2.0], [3.0], [4.0]], "float32")
    for found in (x * scale, scale * x, cnp.array(scale) * x):
        assert [row.tolist() for row in found.to_list()] == [[2, 8, 4], [], [12]]
    one_each = ct.vmap(ct.mask(lambda row, s: row * s))(x, scale[:, 0])
    assert [row.tolist() for row in one_each.to_list()] == [[2, 8, 4], [], [12]]
    assert [row.tolist() for row in (x + (x + 1)).to_list()] == [[3, 9, 5], [], [7]]
    sets = ct.ragged([np.ones((n, 2), "float32") for n in (1, 3, 0)])
    assert [row.shape for row in (sets @ np.ones((2, 5), "float32")).to_list()] == [(1, 5), (3, 5), (0, 5)]
    gram = sets @ sets.mT
    assert [row.tolist() for row in gram.to_list()] == [[[2]], [[2] * 3] * 3, []]
    assert [row.shape for row in sets.reshape(3, -1).to_list()] == [(2,), (6,), (0,)]


def test_reductions_of_batches_count_real_elements() -> None:
    x = ct.ragged(ROWS, bound=BOUND)
    flat = np.concatenate(ROWS)
    for name in ("sum", "mean", "max", "min", "prod", "var", "std"):
        np.testing.assert_allclose(getattr(x, name)(), getattr(flat, name)(), rtol=1e-6)
        kept = getattr(x, name)(axis=(0, 1), keepdims=True)
        np.testing.assert_allclose(kept, np.full((1, 1), getattr(flat, name)()), rtol=1e-6)
    np.testing.assert_allclose(x.var(ddof=1), flat.var(ddof=1), rtol=1e-6)
    assert bool((x > 0).all()) and not bool((x > 4).any())
    assert x.sum(axis=1).tolist() == [7, 0, 3] and x.sum(axis=-1, keepdims=True).tolist() == [[7], [0], [3]]
    assert x.max(axis=1).tolist() == [4, -np.inf, 3]
    assert ct.ragged([np.array([1, 2]), np.array([4])]).mean().tolist() == pytest.approx(7 / 3)
    pairs = ct.ragged([np.arange(n * 2.0).reshape(n, 2) for n in (2, 1)])
    assert pairs.sum(axis=(0, 1)).tolist() == [2, 5] and pairs.mean(axis=(0, 1)).tolist() == [2 / 3, 5 / 3]
    empty = ct.Ragged(np.zeros((0, 3)), {1: np.zeros(0, int)})
    other = ct.Ragged(np.ones((0, 3)), {1: np.zeros(0, int)})
    assert (empty + other).to_list() == [] and (empty * ct.Ragged(np.ones(3), {0: 2})).to_list() == []
    assert float(empty.sum()) == 0 and (empty * 2).data.shape == (0, 3) and empty.sum(axis=1).shape == (0,)


def test_two_ragged_axes() -> None:
    exact = [matrix(n, m) for n, m in [(2, 3), (0, 2), (3, 1)]]
    x = ct.ragged(exact)
    assert sorted(x.lengths) == [1, 2]
    np.testing.assert_allclose(x.sum(axis=(1, 2)), [m.sum() for m in exact], rtol=1e-6)
    np.testing.assert_allclose(x.mean(), np.concatenate([m.ravel() for m in exact]).mean(), rtol=1e-6)
    for row, m in zip((x.mT * 2).to_list(), exact, strict=True):
        np.testing.assert_array_equal(row, m.T * 2)
    for row, m in zip(x.sum(axis=1).to_list(), exact, strict=True):
        np.testing.assert_allclose(row, m.sum(axis=0), rtol=1e-6)
    np.testing.assert_array_equal(x[2].unpad(), exact[2])
    np.testing.assert_array_equal(values(padded(exact[0], (0, 1)).T), exact[0].T)


def test_elements_and_rows_of_batches() -> None:
    x = ct.ragged(ROWS)
    assert len(x) == 3 and [row.unpad().tolist() for row in x] == [row.tolist() for row in ROWS]
    assert x[-1].shape == (1,) and x[0].lengths[0].ndim == 0
    for index in (slice(1, None), slice(None, None, -1), np.array([2, 0]), [True, False, True]):
        picked = x[index].to_list()
        wanted = [ROWS[i] for i in np.arange(3)[index]]
        assert [row.tolist() for row in picked] == [row.tolist() for row in wanted]
    assert [row.tolist() for row in x[:, 1:].to_list()] == [[4, 2], [], []]
    sets = ct.ragged([np.arange(n * 2.0).reshape(n, 2) for n in (2, 1)])
    assert sets[0, 1].tolist() == [2, 3] and sets[:, 0].tolist() == [[0, 1], [0, 1]]
    assert [row.tolist() for row in sets[..., 1].to_list()] == [[1, 3], [1]]
    assert [float(v) for v in padded(ROWS[0])] == [1, 4, 2]
    total = ct.jit(lambda r: sum(row.sum() for row in r))
    assert float(total(x)) == 10


def test_one_compile_for_all_lengths() -> None:
    traces = []

    @ct.jit
    def f(x: Any) -> Any:
        traces.append(1)
        return (x * 2 + x).mean()

    for n in range(1, BOUND + 1):
        np.testing.assert_allclose(f(padded(np.arange(n) * 1.0)), 3 * np.arange(n).mean(), rtol=1e-6)
    assert len(traces) == 1


def test_lengths_that_are_worked_out_are_known_to_be_equal_under_mask() -> None:
    difference = lambda x: x[1:] - x[:-1]  # noqa: E731
    x = padded(np.array([1.0, 4.0, 2.0]))
    assert difference(x).unpad().tolist() == [3, -2]
    assert ct.jit(ct.mask(difference))(x).unpad().tolist() == [3, -2]
    with pytest.raises(ct.errors.ShapeError, match=r"or compute all of it under ct\.mask"):
        ct.jit(difference)(x)


def test_names_and_lengths_stay() -> None:
    x = ct.Ragged(cnp.arange(4.0), {0: 2}, {0: "n"})
    y = ct.Ragged(cnp.arange(4.0), {0: 2}, {0: "n"})
    assert (x * 2).names == {0: "n"} and ct.mask(lambda v: v * 2)(x).names == {0: "n"}
    assert (x * 2)._lengths[-1] is x._lengths[-1] and ct.mask(lambda v: v[1:])(x).names == {}
    assert ct.jit(lambda a, b: a + b)(x, y).unpad().tolist() == [0, 2]
    assert ct.jit(lambda r: ct.vmap(ct.mask(lambda v: v * 2))(r) + r)(ct.ragged(ROWS)).sum().tolist() == 30


def short(n: int) -> ct.Ragged:
    return ct.Ragged(cnp.arange(4.0), {0: n})


X, B = short(2), ct.ragged(ROWS)
ERRORS: dict[str, tuple[Callable[[], Any], Any, str]] = {
    "different lengths": (lambda: X + short(3), ct.errors.ShapeError, r"\+: axis 0 of a Ragged, and axis 0 of the other, have lengths 2 and 3"),
    "in a batch": (lambda: B * ct.ragged([*ROWS[:2], ROWS[0]]), ct.errors.ShapeError, r"\*: axis 1 .* have lengths 1 and 3 in example 2"),
    "an exact array": (lambda: X - np.ones(4), ct.errors.ShapeError, r"axis 0 of an exact array of shape \(4,\), have lengths 2 and 4"),
    "in a product": (lambda: X @ np.ones((4, 2)), ct.errors.ShapeError, r"@: axis 0 .* exact array .* have lengths 2 and 4"),
    "of two products": (lambda: X @ short(3), ct.errors.ShapeError, "@: axis 0 .* have lengths 2 and 3"),
    "traced": (lambda: ct.jit(lambda a, b: a + b)(X, short(2)), ct.errors.ShapeError, "not known to be equal\n  give both axes one name"),
    "rows of different lengths": (lambda: B.sum(axis=0), ct.errors.ShapeError, "rows have different lengths of axis 1"),
    "axis": (lambda: B.sum(axis=2), ValueError, "axis 2 is out of bounds for a Ragged with 2 axes"),
    "mixed rows": (lambda: B.T, ct.errors.ShapeError, r"T of a batch .*\n.*ct.vmap\(ct.mask\(lambda x: x.T\)\)"),
    "along the batch": (lambda: B.cumsum(axis=0), ct.errors.ShapeError, "axis=0 is along the batch"),
    "reshaped batch": (lambda: B.reshape(-1), ct.errors.ShapeError, r"must begin with that of the batch, \(3,\); got \(-1,\)"),
    "position": (lambda: X[2], IndexError, "index 2 is out of bounds for axis 0 of a Ragged with length 2"),
    "position in a row": (lambda: B[:, 0], IndexError, "axis 1 of a Ragged with length 0, the least"),
    "too many": (lambda: X[0, 0], IndexError, "too many indices: a Ragged with 1 axes, and 2"),
    "truth": (lambda: bool(X), TypeError, "truth of a Ragged is ambiguous"),
    "hash": (lambda: hash(X), TypeError, "unhashable"),
    "length": (lambda: ct.jit(lambda x: x * len(x))(X), ct.errors.ConcretizationError, "axis 0 has a length that is not known"),
    "no such method": (lambda: X.at, AttributeError, r"a Ragged has no at.*\n.*ct.mask"),
    "no such attribute": (lambda: X.nothing, AttributeError, "no attribute 'nothing'"),
    "text": (lambda: X + "a", TypeError, "unsupported operand"),
    "function of arrays": (lambda: cnp.concatenate([B, B]), TypeError, "a Ragged is not an array.*\n.*ct.mask"),
    "to numpy": (lambda: np.asarray(B), TypeError, "a Ragged is not an array"),
    "to numpy of a program": (lambda: ct.jit(lambda x: np.asarray(x))(X), TypeError, r"does not have its values\n.*x.unpad\(\)"),
    "to numpy without a copy": (lambda: np.array(X, copy=False), ValueError, "without a copy\n  allow one"),
    "batches of several sizes": (lambda: B + B[:2], ct.errors.ShapeError, r"axis 1 .* are of batches of shapes \(3,\) and \(2,\)"),
    "inside a mask": (lambda: ct.mask(lambda v: v + X)(X), ct.errors.ShapeError, "hand the Ragged to the masked function as an argument"),
    "ufunc": (lambda: np.add(B, 1, dtype="float32"), TypeError, "numpy.add of a Ragged: it holds a batch"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, kind, pattern = ERRORS[name]
    with pytest.raises(kind, match=pattern):
        call()


FUNCTIONS = [
    "sum",
    "exp",
    "concatenate",
    "where",
    "sort",
    "cumsum",
    "stack",
    "dot",
    "zeros_like",
    "reshape",
    "argmax",
    "linalg.norm",
]


def call_function(name: str, x: Any) -> Any:
    arguments: Any = {
        "where": (x, x, x),
        "dot": (x, x),
        "concatenate": ([x, x],),
        "stack": ([x, x],),
        "reshape": (x, (2,)),
    }
    return operator.attrgetter(name)(cnp)(*arguments.get(name, (x,)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_exact_arrays_name_mask(name: str) -> None:
    with pytest.raises(TypeError, match=r"a Ragged is not an array: the program(.|\n)*x\.unpad(.|\n)*ct\.mask"):
        ct.jit(lambda x: call_function(name, x))(X)
    with pytest.raises(TypeError, match=r"a Ragged is not an array: it holds a batch(.|\n)*unpad(.|\n)*ct\.mask"):
        call_function(name, B)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_exact_arrays_take_one_that_is_known(name: str) -> None:
    found, wanted = call_function(name, X), call_function(name, X.unpad())
    assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


def test_one_array_that_is_known_is_an_array_for_numpy(tmp_path: Path) -> None:
    chosen = ct.jit(lambda x: x[x > 2])(np.array([1.0, 5.0, 3.0, 0.0]))
    assert isinstance(chosen, ct.Ragged)
    for found in (
        np.asarray(chosen),
        np.array(chosen),
        np.sort(chosen)[::-1],
        np.sqrt(chosen) ** 2,
        np.add(chosen, 0.0, where=True),
    ):
        assert type(found) is np.ndarray and found.dtype == np.float64
        np.testing.assert_allclose(found, [5.0, 3.0])
    assert np.asarray(chosen, "float32").dtype == np.float32 and np.array(chosen).flags.writeable
    assert np.allclose(chosen, [5.0, 3.0]) and np.linalg.norm(chosen) == np.sqrt(34.0)
    np.save(tmp_path / "chosen.npy", chosen)
    np.savez(tmp_path / "chosen.npz", x=chosen)
    assert np.load(tmp_path / "chosen.npy").tolist() == np.load(tmp_path / "chosen.npz")["x"].tolist() == [5.0, 3.0]
    low = ct.Ragged(cnp.arange(4, dtype="bfloat16"), {0: 2})
    assert np.asarray(low).dtype == cnp.bfloat16 and np.asarray(low).tolist() == [0.0, 1.0]
    matrix = ct.Ragged(cnp.arange(6.0).reshape(2, 3), {1: 2})
    assert np.asarray(matrix).tolist() == [[0.0, 1.0], [3.0, 4.0]]
    assert np.concatenate([chosen, matrix[0]]).tolist() == [5.0, 3.0, 0.0, 1.0]
    row = ct.ragged([[1, 2], [3]])[1]
    assert np.asarray(row).tolist() == [3]


@pytest.mark.parametrize(
    ("rows", "dtype"),
    [
        ([[1, 2], []], "int32"),
        ([[], [True]], "bool"),
        ([[1, 2], [1.5], []], "float32"),
        ([np.array([1, 2], "int8"), np.array([])], "int8"),
        ([np.ones((2, 3), "int16"), np.ones((0, 3))], "int16"),
        ([[], []], "float32"),
        ([np.zeros(0, "int16"), np.zeros(0, "int8")], "int16"),
    ],
)
def test_the_dtype_is_that_of_rows_with_elements(rows: list[Any], dtype: str) -> None:
    made = ct.ragged(rows)
    assert made.dtype == dtype and made.tolist() == [np.asarray(row).tolist() for row in rows]
    if dtype == "int32":
        assert ct.vmap(ct.mask(lambda ids: cnp.arange(5.0)[ids]))(made).tolist() == [[1.0, 2.0], []]


def test_names_of_rows_are_those_of_axes_of_one_row() -> None:
    matrices = [np.ones((2, 2)), np.ones((1, 3))]
    made = ct.ragged(matrices, names={0: "n", -1: "m"})
    assert made.names == {1: "n", 2: "m"} and made[0].names == {0: "n", 1: "m"}
    assert ct.Ragged.from_offsets([1.0, 2.0], [0, 2], names={0: "n"}).names == {1: "n"}
    pyarrow = needed("pyarrow")
    nested = ct.Ragged.from_arrow(pyarrow.array([[[1.0, 2.0]], [[3.0], [4.0]]]), names={0: "n", -1: "m"})
    assert nested.names == {1: "n", 2: "m"}
    empty = ct.Ragged.from_arrow(pyarrow.array([], pyarrow.list_(pyarrow.list_(pyarrow.float32()))), names={-1: "m"})
    assert empty.names == {2: "m"}


def test_copies_and_pickles() -> None:
    x = ct.Ragged(cnp.arange(4.0), {0: 2}, {0: "n"})
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert repr(y) == repr(x) and (x + y).unpad().tolist() == [0, 2]


def test_type_checkers_see_what_there_is() -> None:
    tree = ast.parse(Path(ragged_interface.__file__).read_text())
    (guarded,) = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    names = {node.target.id if isinstance(node, ast.AnnAssign) else node.name for node in guarded.body}
    plain = {
        "__repr__",
        "__format__",
        "__bool__",
        "__getattr__",
        "__hash__",
        "__module__",
        "__doc__",
        "__slots__",
        "__setitem__",  # an error that says what to write, as type checkers do
        "__delitem__",
        "__init__",
        "__reduce__",
        "tolist",
    }
    plain |= {name for name in vars(ct.Ragged) if name.startswith("_") and not name.endswith("__")}
    plain |= {
        "__array__",
        "__array_interface__",
        "__array_ufunc__",
        "__array_function__",
        "__annotations__",
        "__firstlineno__",
        "__static_attributes__",
    }
    own = {"data", "lengths", "names", "dtype", "ndim", "shape", "unpad", "to_list"}
    assert set(vars(ct.Ragged)) - plain - own == names


def test_printing() -> None:
    assert repr(ct.ragged([[1.0, 2.0], [3.0]])) == "Ragged([[1., 2.], [3.]], lengths={1: [2, 1]}, dtype=float32)"
    assert str(ct.Ragged(np.array([1, 2, 3]), {0: 2}, {0: "n"})).startswith(
        "Ragged([1, 2], lengths={0: 2}, names={0: 'n'}, dtype=int"
    )
    assert repr(ct.ragged([np.ones((1, 2), "float32"), np.ones((2, 1), "float32")])) == (
        "Ragged([[[1., 1.]],\n        [[1.],\n         [1.]]], lengths={1: [1, 2], 2: [2, 1]}, dtype=float32)"
    )
    empty = ct.Ragged(np.zeros((0, 3), "float32"), {1: np.zeros(0, int)})
    assert repr(empty) == "Ragged([], lengths={1: []}, dtype=float32)"
    many = repr(ct.ragged([np.ones(n % 5, "float32") for n in range(500)]))
    assert many.startswith("Ragged([[], [1.], [1., 1.], ..., [1., 1.]") and len(many) < 300
    assert len(repr(ct.ragged([np.ones(10**5)] * 2))) < 300
    texts = []
    ct.jit(lambda r: texts.append(repr(r)) or r.sum())(ct.ragged(ROWS))
    assert texts == ["Ragged(Traced<float32[3,3]>, lengths={1: Traced<int32[3]>})"]
    assert repr(ct.tree.map(lambda _: None, ct.ragged(ROWS))) == "Ragged(None, lengths={-1: None})"


def test_positions_in_rows_without_elements_are_minus_one() -> None:
    """NumPy raises, which data cannot; -1 is what `nanargmax` gives where there is no number. Before, it was the largest int32."""
    rows = ct.ragged([[1.0, 2.0], [], [5.0, 3.0, 4.0]])
    for function, expected in ((cnp.argmax, [1, -1, 0]), (cnp.argmin, [0, -1, 1]), (cnp.nanargmax, [1, -1, 0])):
        assert ct.vmap(ct.mask(function))(rows).tolist() == expected
    assert rows.argmax(axis=1).tolist() == [1, -1, 0]
    assert ct.jit(ct.vmap(ct.mask(lambda x: cnp.argmax(x, 0, keepdims=True))))(rows).tolist() == [[1], [-1], [0]]
    flat = ct.vmap(ct.mask(lambda x: cnp.argmax(cnp.stack([x, x], 1))))(rows)
    assert flat.tolist() == [2, -1, 0]
    with pytest.raises(ValueError, match="argmax of zero elements"):
        cnp.argmax(cnp.zeros(0))


def test_lengths_are_copies() -> None:
    rows = ct.ragged([[1.0, 2.0], [3.0]])
    lengths = rows.lengths
    lengths[1][0] = 1
    lengths[0] = 99
    assert lengths[1].tolist() == [1, 1]
    assert rows.lengths[1].tolist() == [2, 1] and list(rows.lengths) == [1]
    assert [row.tolist() for row in rows.to_list()] == [[1.0, 2.0], [3.0]]
    # They are the same sizes, also where they are traced.
    assert ct.jit(lambda r: ct.Ragged(r.data, r.lengths, r.names))(rows).lengths[1].tolist() == [2, 1]
