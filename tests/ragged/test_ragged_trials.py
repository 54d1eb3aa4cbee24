"""What users of `Ragged` found: arrays beside a batch, lengths that must be equal, derivatives, files."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import require

ROWS = [[1.0, 2.0], [5.0], [4.0]]
MATRICES = [np.ones((2, 3)), np.ones((1, 3))]


def batch() -> ct.Ragged:
    return ct.ragged(ROWS, bound=4)


def matrices() -> ct.Ragged:
    return ct.ragged(MATRICES)


def rows_of(x: Any) -> list[Any]:
    return [row.tolist() for row in x.to_list()] if isinstance(x, ct.Ragged) else np.asarray(x).tolist()


# ---- arrays beside a batch ---------------------------------------------------------------------------------------------

COLUMN = np.array([[True], [False], [False]])
REDUCTIONS = {
    "a bool a row": (lambda b: b.sum(axis=1, where=COLUMN), [3, 0, 0]),
    "one for all": (lambda b: b.sum(axis=1, where=np.array([[True]])), [3, 5, 4]),
    "no axis": (lambda b: b.sum(axis=1, where=np.array(True)), [3, 5, 4]),
    "over the batch": (lambda b: b.sum(where=COLUMN), 3),
    "ragged": (lambda b: b.sum(axis=1, where=b > 1), [2, 5, 4]),
    "ragged, over the batch": (lambda b: b.sum(where=b > 1), 11),
    "keepdims": (lambda b: b.sum(axis=1, where=COLUMN, keepdims=True), [[3], [0], [0]]),
    "prod": (lambda b: b.prod(axis=1, where=b > 1), [2, 5, 4]),
    "any": (lambda b: (b > 1).any(axis=1, where=COLUMN), [True, False, False]),
    "all": (lambda b: (b > 1).all(axis=1, where=COLUMN), [False, True, True]),
    "min": (lambda b: b.min(axis=1, where=b > 1, initial=9), [2, 5, 4]),
    "max": (lambda b: b.max(where=COLUMN, initial=-1), 2),
    "max by row": (lambda b: b.max(axis=1, where=COLUMN, initial=-1), [2, -1, -1]),
    "mean": (lambda b: b.mean(where=b > 1), 11 / 3),
    "mean of rows": (lambda b: b.mean(axis=1, where=b > 0.5), [1.5, 5, 4]),
    "mean over the batch": (lambda b: b.mean(where=np.array([[True], [True], [False]])), 8 / 3),
    "var": (lambda b: b.var(where=b > 1), np.var([2, 5, 4])),
    "std, its mean given": (lambda b: b.std(axis=1, mean=b.mean(axis=1, keepdims=True)), [0.5, 0, 0]),
    "std of all, its mean given": (lambda b: b.std(mean=np.array([[3.0]])), np.std([1, 2, 5, 4])),
    "correction": (lambda b: b.var(correction=1), np.var([1, 2, 5, 4], ddof=1)),
    "initial": (lambda b: b.sum(initial=1), 13),
    "initial by row": (lambda b: b.sum(axis=1, initial=1), [4, 6, 5]),
    "initial of a product": (lambda b: b.prod(initial=2.0), 80),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_arrays_beside_reductions_of_batches(name: str, jitted: bool) -> None:
    function, expected = REDUCTIONS[name]
    function = ct.jit(function) if jitted else function
    np.testing.assert_allclose(np.asarray(function(batch())), expected, rtol=1e-6)


def test_where_beside_batches_of_matrices() -> None:
    x = matrices()
    assert rows_of(x.sum(axis=2, where=np.array([[[True]], [[False]]]))) == [[3, 3], [0]]
    assert rows_of(x.sum(axis=1, where=np.ones((2, 1, 3), bool))) == [[2, 2, 2], [1, 1, 1]]
    assert rows_of(x.sum(axis=1, where=np.array([True, False, True]))) == [[2, 0, 2], [1, 0, 1]]
    assert rows_of(x.sum(axis=(), where=np.array([[[True]], [[False]]]))) == [[[1] * 3] * 2, [[0] * 3]]
    empty = ct.ragged([[], [1.0]])
    assert rows_of(empty.sum(axis=1, where=np.array([[True], [True]]))) == [0, 1]


def test_a_batch_of_batches_with_where() -> None:
    inner = np.array([[[1.0, 2.0], [3.0, 9.0]], [[4.0, 5.0], [9.0, 9.0]]])
    x = ct.Ragged(inner, {2: np.array([[2, 1], [2, 0]])})
    assert rows_of(x.sum(axis=2, where=np.array([[[True]], [[False]]]))) == [[3, 3], [0, 0]]
    assert rows_of(x.sum(axis=2, where=np.array([[True], [False]]))) == [[3, 0], [9, 0]]


def test_gradients_with_where() -> None:
    gradient = ct.grad(lambda b: (b**2).sum(where=COLUMN))(batch())
    assert rows_of(gradient) == [[2, 4], [0], [0]]


def test_bounds_of_clip_are_aligned_with_the_batch() -> None:
    b = batch()
    clipped = b.clip(np.array([[1.5], [1.5], [9.0]]))
    assert rows_of(clipped) == [[1.5, 2], [5], [9]]
    assert np.asarray(clipped.shape[1]).tolist() == [2, 1, 1]
    assert rows_of(b.clip(max=np.array([[1.5], [1.5], [9.0]]))) == [[1, 1.5], [1.5], [4]]
    assert rows_of(b.clip(b - 1, b - 0.5)) == [[0.5, 1.5], [4.5], [3.5]]
    assert rows_of(b.clip(np.array([[2.0]]), b)) == [[1, 2], [5], [4]]
    assert rows_of(b.clip(2, 4)) == [[2, 2], [4], [4]]
    assert b.clip(2, 4).dtype == b.dtype
    assert rows_of(ct.jit(lambda x: x.clip(x - 1, x - 0.5))(b)) == [[0.5, 1.5], [4.5], [3.5]]
    one = ct.Ragged(cnp.array([1.0, 2.0, np.nan]), {0: 2})
    assert one.clip(one + 1, 2.5).unpad().tolist() == [2, 2.5]


OTHER = ct.ragged([[1.0], [5.0], [4.0, 3.0]], bound=4)
MISFITS: dict[str, Callable[[], Any]] = {
    "where of another length": lambda: batch().sum(axis=1, where=OTHER > 1),
    "where of the bound": lambda: batch().sum(axis=1, where=np.ones(4, bool)),
    "where of more rows": lambda: batch().sum(axis=1, where=np.ones((2, 1), bool)),
    "where of more axes": lambda: batch().sum(axis=1, where=np.ones((1, 3, 1), bool)),
    "where of a larger exact axis": lambda: ct.ragged([np.ones((2, 1)), np.ones((1, 1))]).sum(where=np.ones(3, bool)),
    "where of a batch beside one": lambda: batch()[0].sum(where=batch() > 1),
    "bounds of another length": lambda: batch().clip(OTHER),
    "bounds, the last of another length": lambda: batch().clip(batch(), OTHER),
    "bounds of more rows": lambda: batch().clip(np.ones((2, 1))),
}


@pytest.mark.parametrize("name", MISFITS)
def test_arrays_that_do_not_fit(name: str) -> None:
    with pytest.raises(ct.errors.ShapeError, match=r"^(sum|clip): "):
        MISFITS[name]()


# ---- lengths that must be equal ----------------------------------------------------------------------------------------


def named(lengths: Any, second: float = np.nan) -> ct.Ragged:
    return ct.Ragged(np.array([[1.0, 2.0], [second] * 2, [4.0, 0.0]]), {1: lengths}, {1: "n"})


def product(x: Any, y: Any) -> Any:
    return x @ y


def test_equal_names_in_a_batch_mean_equal_lengths() -> None:
    a, b, same = named([2, 0, 1]), named([2, 1, 1], 3.0), named([2, 0, 1])
    mapped = ct.vmap(ct.mask(product))
    message = "axes named 'n' have lengths 0 and 1 in example 1; equal names mean equal lengths"
    with pytest.raises(ct.errors.ShapeError, match=f"vmap of product: {message}"):
        mapped(a, b)
    with pytest.raises(ct.errors.ShapeError, match=message):
        ct.vmap(lambda pair: ct.mask(product)(*pair))({"pair": (a, b)}["pair"])
    with pytest.raises(ct.errors.ShapeError, match=message):
        ct.lax.map(lambda pair: ct.mask(product)(*pair), (a, b))
    assert mapped(a, same).tolist() == [5, 0, 16]
    assert ct.lax.map(lambda pair: ct.mask(product)(*pair), (a, same)).tolist() == [5, 0, 16]
    one = ct.Ragged(np.ones(2), {0: 2}, {0: "n"})
    with pytest.raises(ct.errors.ShapeError, match="lengths 0 and 2 in example 1"):
        ct.vmap(ct.mask(product), in_axes=(0, None))(a, one)
    twos = ct.Ragged(np.ones((3, 2)), {1: 2}, {1: "n"})
    axes = ct.Ragged._make(0, {-1: None}, {-1: "n"})
    with pytest.raises(ct.errors.ShapeError, match="lengths 0 and 2 in example 1"):
        ct.vmap(ct.mask(product), in_axes=(0, axes))(a, twos)


def test_equal_names_in_batches_of_batches() -> None:
    lengths = np.array([[2, 1], [0, 2]])
    x = ct.Ragged(np.ones((2, 2, 2)), {2: lengths}, {2: "n"})
    other = ct.Ragged(np.ones((2, 2, 2)), {2: lengths.T}, {2: "n"})
    twice = ct.vmap(ct.vmap(ct.mask(product)))
    assert twice(x, x).tolist() == lengths.tolist()
    assert ct.vmap(ct.vmap(ct.mask(product)), in_axes=(0, 1))(x, other).tolist() == lengths.tolist()
    with pytest.raises(ct.errors.ShapeError, match="lengths 1 and 0 in example 0, 1"):
        twice(x, other)


def test_tangents_and_cotangents_have_the_lengths_of_what_they_belong_to() -> None:
    u, v = named([2, 0, 1]), named([2, 1, 1])

    def square(r: Any) -> Any:
        return r**2

    end = "have lengths 1 and 0 in example 1"
    with pytest.raises(ct.errors.MismatchError, match=f"vjp of square: the cotangent and the output {end}"):
        ct.vjp(square, u)[1](v)
    with pytest.raises(ct.errors.MismatchError, match=f"jvp: the tangent and the primal {end}"):
        ct.jvp(square, (u,), (v,))
    with pytest.raises(ct.errors.MismatchError, match=f"linearize: the tangent and the primal {end}"):
        ct.linearize(square, u)[1](v)
    with pytest.raises(ct.errors.ShapeError, match=end):
        ct.hvp(lambda r: (r**3).sum(), (u,), (v,))
    (pulled,) = ct.vjp(square, u)[1](named([2, 0, 1]))
    assert rows_of(pulled) == [[2, 8], [], [32]]
    forward, backward = ct.fwd_and_bwd(square, 0)
    assert rows_of(backward(forward(u)[1], u)) == [[2, 8], [], [32]]


# ---- derivatives are Ragged arrays -------------------------------------------------------------------------------------

DERIVATIVES: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "jvp": (lambda u: ct.jvp(lambda r: r**2, (u,), (u,))[1], [[2, 8], [], [32]]),
    "linearize": (lambda u: ct.linearize(lambda r: r**2, u)[1](u), [[2, 8], [], [32]]),
    "hvp": (lambda u: ct.hvp(lambda r: (r**3).sum(), (u,), (u,)), [[6, 24], [], [96]]),
    "jacfwd": (ct.jacfwd(lambda r: (r**3).sum()), [[3, 12], [], [48]]),
    "jacrev": (ct.jacrev(lambda r: (r**3).sum()), [[3, 12], [], [48]]),
    "jvp of a number": (lambda u: ct.jvp(lambda a: a * u, (2.0,), (1.0,))[1], [[1, 2], [], [4]]),
    "jvp in vmap": (
        ct.vmap(lambda r: ct.jvp(ct.mask(lambda x: x**2), (r,), (r,))[1]),
        [[2, 8], [], [32]],
    ),
    "jvp of jvp": (
        lambda u: ct.jvp(lambda a: ct.jvp(lambda r: r**3, (a,), (u,))[1], (u,), (u,))[1],
        [[6, 48], [], [384]],
    ),
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_have_the_lengths_of_the_primal(name: str, jitted: bool) -> None:
    function, expected = DERIVATIVES[name]
    result = (ct.jit(function) if jitted else function)(named([2, 0, 1]))
    assert rows_of(result) == expected
    assert float(result.sum()) == sum(map(sum, expected))
    assert np.asarray(result.data)[1].tolist() == [0, 0] or "number" in name


@pytest.mark.parametrize("jacobian", [ct.jacfwd, ct.jacrev])
def test_jacobians_of_rows(jacobian: Any) -> None:
    blocks = jacobian(lambda r: (r**3).sum(axis=1))(named([2, 0, 1]))
    assert rows_of(blocks[0]) == [[3, 12], [], [0]]
    assert rows_of(blocks[2]) == [[0, 0], [], [48]]
    one = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})
    exact = jacobian(lambda r: cnp.stack([r.sum(), (r**2).sum()]))(one)
    assert exact.shape == (2, 2)
    assert exact.unpad().tolist() == [[1, 1], [2, 4]]


def test_jacobians_of_ragged_outputs_say_what_to_call() -> None:
    one = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})
    with pytest.raises(TypeError, match=r"jacfwd of .*: the output is a Ragged"):
        ct.jacfwd(lambda r: r**3)(one)
    with pytest.raises(TypeError, match=r"jacrev of .*: the output is a Ragged"):
        ct.jacrev(lambda a: a * one)(2.0)
    with pytest.raises(TypeError, match=r"hessian of .*: argument 0 has a Ragged[\s\S]*ct.mask\(ct.hessian"):
        ct.hessian(lambda r: (r**3).sum())(one)
    assert ct.mask(ct.hessian(lambda r: (r**3).sum()))(one).unpad().tolist() == [[6, 0], [0, 12]]
    assert ct.hessian(lambda a: (a * one).sum() ** 2)(2.0).tolist() == 18


def test_a_ragged_does_not_change() -> None:
    b = batch()
    with pytest.raises(AttributeError, match="a Ragged does not change"):
        b.data = cnp.zeros((3, 4))
    with pytest.raises(AttributeError):
        b.lengths = {1: 2}  # type: ignore[misc]
    assert rows_of(b) == ROWS


# ---- files -------------------------------------------------------------------------------------------------------------


def written(file: Path) -> bytes:
    batch().save(file)
    return file.read_bytes()


def changed(content: bytes) -> bytes:
    middle = content.index(b"\x93NUMPY") + 140
    return content[:middle] + bytes(255 - byte for byte in content[middle : middle + 40]) + content[middle + 40 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "text": lambda content: b"these are no arrays\n",
    "empty": lambda content: b"",
    "one byte": lambda content: b"P",
    "cut in half": lambda content: content[: len(content) // 2],
    "cut at the end": lambda content: content[:-1],
    "the end alone": lambda content: content[-100:],
    "other bytes": changed,
    "pickle": lambda content: pickle.dumps([1.0]),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files(name: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.npz"
    file.write_bytes(DAMAGE[name](written(file)))
    with pytest.raises(ct.errors.CorruptFileError) as caught:
        ct.Ragged.load(file)
    assert "allow_pickle" not in str(caught.value)


def test_files_of_other_arrays(tmp_path: Path) -> None:
    file = tmp_path / "rows.npz"
    np.savez(file, data=np.array([None, 1]))
    with pytest.raises(ct.errors.CorruptFileError) as caught:
        ct.Ragged.load(file)
    assert "allow_pickle" not in str(caught.value)
    description = np.frombuffer(b'{"dtype": "float32", "names": []}', np.uint8)
    np.savez(file, data=np.zeros((2, 2), np.float32), description=description)
    with pytest.raises(ct.errors.CorruptFileError):
        ct.Ragged.load(file)
    with pytest.raises(FileNotFoundError):
        ct.Ragged.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("content", [b"", b"text", b"\xff" * 64])
def test_damaged_files_of_safetensors(content: bytes, tmp_path: Path) -> None:
    require("safetensors")
    file = tmp_path / "rows.safetensors"
    file.write_bytes(content)
    with pytest.raises(ct.errors.CorruptFileError):
        ct.Ragged.load(file)


# ---- methods that name axes --------------------------------------------------------------------------------------------


def table() -> ct.Ragged:
    return ct.ragged([np.arange(6.0).reshape(2, 3), np.array([[7.0, 9.0, 8.0]])])


ROW_BY_ROW: dict[str, Callable[[Any], Any]] = {
    "swapaxes(1, 2)": lambda x: x.swapaxes(0, 1),
    "swapaxes(-1, 1)": lambda x: x.swapaxes(0, 1),
    "transpose(0, 2, 1)": lambda x: x.T,
    "transpose((0, -1, 1))": lambda x: x.T,
    "dot(np.array([1.0, 2.0, 3.0]))": lambda x: x.dot(np.array([1.0, 2.0, 3.0])),
    "dot(np.ones((3, 2)))": lambda x: x.dot(np.ones((3, 2))),
    "dot(2.0)": lambda x: x * 2,
    "take(0, axis=1)": lambda x: x.take(0, axis=0),
    "take(np.array([2, 0]), axis=2)": lambda x: x.take([2, 0], axis=1),
    "repeat(2, axis=1)": lambda x: x.repeat(2, axis=0),
    "repeat(2, axis=2)": lambda x: x.repeat(2, axis=1),
    "squeeze()": lambda x: x,
    "diagonal(axis1=1, axis2=2)": lambda x: x.diagonal(),
    "diagonal(1, 1, 2)": lambda x: x.diagonal(1),
    "trace(axis1=1, axis2=2)": lambda x: x.trace(),
    "ptp(axis=(1, 2))": np.ptp,
    "ptp(axis=1)": lambda x: np.ptp(x, axis=0),
    "ptp(axis=())": lambda x: np.zeros_like(x),
    "cumsum(axis=1)": lambda x: x.cumsum(axis=0),
    "argsort(axis=2)": lambda x: x.argsort(axis=1),
}


@pytest.mark.parametrize("call", ROW_BY_ROW)
def test_methods_within_rows(call: str) -> None:
    result = eval(f"x.{call}", {"x": table(), "np": np})
    expected = [np.asarray(ROW_BY_ROW[call](np.asarray(row))).tolist() for row in table().to_list()]
    assert rows_of(result) == expected


def test_extent_over_the_batch_and_exact_axes_of_size_one() -> None:
    assert float(table().ptp()) == 9
    assert table().ptp(keepdims=True).tolist() == [[[9]]]
    column = ct.ragged([np.ones((2, 1)), np.ones((1, 1))])
    assert rows_of(column.squeeze()) == rows_of(column.squeeze(2)) == rows_of(column.squeeze(-1)) == [[1, 1], [1]]
    assert rows_of(batch().squeeze()) == ROWS


def test_divmod() -> None:
    b = batch()
    assert [rows_of(x) for x in divmod(b, 2)] == [[[0, 1], [2], [2]], [[1, 0], [1], [0]]]
    assert [rows_of(x) for x in divmod(9, b)] == [[[9, 4], [1], [2]], [[0, 1], [4], [1]]]
    assert [rows_of(x) for x in divmod(b, np.array([[1.0], [2.0], [3.0]]))] == [
        [[1, 2], [2], [1]],
        [[0, 0], [1], [1]],
    ]
    with pytest.raises(TypeError, match="unsupported operand"):
        divmod(b, "2")


@pytest.mark.parametrize("name", ["argmax", "argmin", "argsort", "cumprod", "cumsum", "sort"])
def test_an_axis_is_one_integer(name: str) -> None:
    for axis in ((), (1,), 1.0, True):
        with pytest.raises(TypeError, match=f"{name}: axis must be an integer or None; got "):
            getattr(batch(), name)(axis=axis)


NOT_OF_ROWS = {
    "swapaxes(0, 1)": "axis=0 is along the batch",
    "transpose()": "it would move the axes of the batch",
    "transpose(1, 0, 2)": "it would move the axes of the batch",
    "T": "it would move the axes of the batch",
    "take(0)": "axis=None takes the elements of all of them",
    "take(0, axis=0)": "axis=0 is along the batch",
    "take(1, axis=1)": "index 1 is out of bounds for axis 1",
    "repeat(2)": "axis=None takes the elements of all of them",
    "repeat(np.array([1, 2]), axis=1)": "repeats has an entry for each element",
    "squeeze(0)": "axis=0 is along the batch",
    "diagonal()": "axis=0 is along the batch",
    "dot(np.ones((2, 3, 2)))": "dot is for them and one vector or one matrix",
    "flatten()": "it would lay rows of different lengths end to end",
    "sort(axis=None)": "axis=None takes the elements of all of them",
    "transpose(0, 1, 1)": "are not each of the 3 axes once",
}


@pytest.mark.parametrize("call", NOT_OF_ROWS)
def test_methods_across_rows_say_why_not(call: str) -> None:
    with pytest.raises((ct.errors.ShapeError, IndexError, ValueError)) as caught:
        eval(f"x.{call}", {"x": table(), "np": np})
    assert NOT_OF_ROWS[call] in str(caught.value)


def test_means_count_no_padding_where_one_bool_is_for_a_whole_axis() -> None:
    alternating = np.array([[True], [False], [True]])
    np.testing.assert_array_equal(batch().mean(axis=1, where=alternating), [1.5, np.nan, 4])
    np.testing.assert_array_equal(batch().std(axis=1, where=alternating), [0.5, np.nan, 0])
    np.testing.assert_array_equal(batch().var(axis=1, where=np.array(True)), [0.25, 0, 0])
    one = ct.Ragged(np.array([1.0, 2.0, np.nan]), {0: 2})
    assert float(one.mean(where=np.array([True]))) == 1.5
    assert float(ct.mask(lambda x: cnp.mean(x, where=True))(one)) == 1.5
