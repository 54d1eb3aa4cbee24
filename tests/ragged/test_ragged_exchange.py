"""Batches of rows from and to lists, offsets, other libraries and files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent._transforms import ragged_exchange
from needs import needed, require

ROWS = [[1.0, 4.0, 2.0], [], [3.0]]


def batch() -> ct.Ragged:
    x = ct.ragged([np.array(row, "float32") for row in ROWS], bound=5)
    return ct.Ragged(cnp.where(cnp.arange(5) < x.lengths[1][:, None], x.data, cnp.nan), x.lengths)  # type: ignore[no-any-return]


def rows(x: Any) -> list[Any]:
    return [row.tolist() for row in x.to_list()]


def vectors(dtype: str = "float32") -> ct.Ragged:
    return ct.ragged([np.arange(n * 2).reshape(n, 2).astype(dtype) for n in (2, 0, 3)])


def matrices() -> ct.Ragged:
    return ct.ragged([np.arange(n * m * 1.0, dtype="float32").reshape(n, m) for n, m in [(2, 3), (1, 1), (3, 2)]])


# ---- offsets and lists -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_offsets(dtype: str) -> None:
    values, offsets = batch().to_offsets(dtype)
    assert values.tolist() == [1, 4, 2, 3] and offsets.tolist() == [0, 3, 3, 4] and offsets.dtype == dtype
    back = ct.Ragged.from_offsets(values, offsets, names={0: "n"})
    assert rows(back) == ROWS and back.data.shape == (3, 3) and back.names == {1: "n"}
    assert back.data.tolist()[1] == [0, 0, 0] and back.lengths[1].dtype == np.int32
    assert ct.Ragged.from_offsets(values, offsets, bound=7).data.shape == (3, 7)
    assert ct.Ragged.from_offsets(values, offsets, buckets=[2, 4]).data.shape == (3, 4)
    assert rows(ct.Ragged.from_offsets(values, [1, 3])) == [[4, 2]]
    of_vectors, starts = vectors().to_offsets()
    assert of_vectors.shape == (5, 2) and rows(ct.Ragged.from_offsets(of_vectors, starts)) == rows(vectors())


def test_no_rows_and_only_empty_rows() -> None:
    none = ct.Ragged.from_offsets(np.zeros(0, "float32"), [0])
    assert none.data.shape == (0, 0) and none.to_list() == [] and float(none.sum()) == 0
    values, offsets = none.to_offsets()
    assert values.shape == (0,) and offsets.tolist() == [0]
    empty = ct.Ragged.from_offsets(np.zeros((0, 3)), [0, 0, 0], bound=4)
    assert empty.data.shape == (2, 4, 3) and [row.shape for row in empty.to_list()] == [(0, 3)] * 2
    assert empty.to_offsets()[0].shape == (0, 3)


def test_lists() -> None:
    x = ct.Ragged.from_list([[1, 2], [3.5]], buckets=[3])
    assert x.data.shape == (2, 3) and rows(x) == [[1, 2], [3.5]]
    assert [m.tolist() for m in matrices().to_list()][1:] == [[[0]], [[0, 1], [2, 3], [4, 5]]]


OFFSETS = {
    "floats": ([0.0, 1.0], ct.errors.DTypeError, "offsets must be integers; got float64"),
    "bools": ([True, False], ct.errors.DTypeError, "offsets must be integers; got bool"),
    "decreasing": ([0, 2, 1], ct.errors.ShapeError, "must not decrease; row 1 goes from 2 to 1"),
    "decreasing unsigned": (np.array([0, 2, 1], "uint64"), ct.errors.ShapeError, "row 1 goes from 2 to 1"),
    "behind the values": ([0, 4], ct.errors.ShapeError, "offsets from 0 to 4 are outside of 3 values"),
    "negative": ([-1, 2], ct.errors.ShapeError, "offsets from -1 to 2 are outside"),
    "none": (np.zeros(0, int), ct.errors.ShapeError, r"shape \(rows \+ 1,\); got \(0,\)"),
    "matrix": ([[0, 1]], ct.errors.ShapeError, r"got \(1, 2\)"),
}


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_that_are_wrong(name: str) -> None:
    offsets, kind, pattern = OFFSETS[name]
    with pytest.raises(kind, match=f"from_offsets: .*{pattern}"):
        ct.Ragged.from_offsets(np.ones(3), offsets)


def test_errors() -> None:
    with pytest.raises(ct.errors.ShapeError, match="size 3 in axis 0, above the bound 2"):
        ct.Ragged.from_offsets(np.ones(3), [0, 3], bound=2)
    with pytest.raises(ct.errors.ShapeError, match="axis 0 is ragged"):
        ct.Ragged(np.ones(3), {0: 2}).to_offsets()
    with pytest.raises(ct.errors.ShapeError, match=r"here these are \[2\]"):
        ct.Ragged(np.ones((2, 3, 4)), {2: [1, 2]}).to_offsets()
    with pytest.raises(ct.errors.ShapeError, match="axis 2 is ragged too"):
        matrices().to_offsets()
    with pytest.raises(ct.errors.DTypeError, match="offsets are of int32 or int64; got float32"):
        batch().to_offsets("float32")
    with pytest.raises(ct.errors.ConcretizationError, match="rows of a traced Ragged"):
        ct.jit(lambda x: x.to_offsets()[0])(batch())


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(ragged_exchange.importlib, "import_module", absent)
    for call, package in [
        (lambda: batch().to_torch(), "torch"),
        (lambda: batch().to_arrow(), "pyarrow"),
        (lambda: ct.Ragged.from_awkward([[1]]), "awkward"),
        (lambda: ct.Ragged.from_csr(None), "scipy"),
        (lambda: ct.Ragged.load("x.safetensors"), "safetensors"),
    ]:
        with pytest.raises(ImportError, match=f"needs {package}\n  install it: pip install {package}"):
            call()


# ---- other libraries ---------------------------------------------------------------------------------------------------


def torch_with_rows() -> Any:
    torch = needed("torch")
    if not hasattr(torch, "jagged"):
        pytest.skip("this torch has no jagged layout")
    return torch


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8"])
def test_torch(dtype: str) -> None:
    torch = torch_with_rows()
    x = vectors(dtype)
    nested = x.to_torch()
    assert nested.layout == torch.jagged and [row.tolist() for row in nested.unbind()] == rows(x)
    back = ct.Ragged.from_torch(nested)
    assert rows(back) == rows(x) and back.dtype == x.dtype
    made = torch.nested.nested_tensor([torch.tensor(row) for row in ROWS], layout=torch.jagged)
    assert rows(ct.Ragged.from_torch(made, bound=4)) == ROWS
    with pytest.raises(TypeError, match=r"layout=torch\.jagged is needed"):
        ct.Ragged.from_torch(torch.ones(3))


def test_torch_bfloat16() -> None:
    torch = torch_with_rows()
    x = batch().astype("bfloat16")
    assert x.to_torch().dtype == torch.bfloat16
    back = ct.Ragged.from_torch(x.to_torch())
    assert rows(back) == ROWS and back.dtype.name == "bfloat16"


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_arrow(dtype: str) -> None:
    arrow = needed("pyarrow")
    for x, offsets in [
        (vectors(dtype), "int64"),
        (batch().astype(dtype), "int32"),
        (matrices().astype(dtype), "int32"),
    ]:
        array = x.to_arrow(offsets)
        assert array.to_pylist() == rows(x)
        back = ct.Ragged.from_arrow(array)
        assert rows(back) == rows(x) and back.dtype == x.dtype
    assert arrow.types.is_large_list(batch().to_arrow("int64").type)


def test_arrow_arrays_of_others() -> None:
    arrow = needed("pyarrow")
    array = arrow.array([[9.0], *ROWS, [8.0]])
    assert rows(ct.Ragged.from_arrow(array.slice(1, 3), bound=4)) == ROWS
    chunks = arrow.chunked_array([array.slice(1, 1), array.slice(2, 2)])
    assert rows(ct.Ragged.from_arrow(chunks)) == ROWS
    nested = arrow.array([[[9, 9]], [[1, 2], [3, 4]], [], [[5]]])
    found = ct.Ragged.from_arrow(nested.slice(1), bound=3)
    assert rows(found) == [[[1, 2], [3, 4]], [], [[5]]] and found.data.shape == (3, 3, 3)
    for wrong, kind, pattern in [
        (arrow.array([[1.0], None]), ValueError, "1 of the lists are null"),
        (arrow.array([[1.0, None]]), ValueError, "1 of the elements are null"),
        (arrow.array([["a"]]), TypeError, "elements are string"),
        (arrow.array([1.0]), TypeError, "a list array is needed; got double"),
        (arrow.array([[[1], [2, 3]]]), ct.errors.ShapeError, r"parts of row 0 have different lengths, \[1, 2\]"),
        (arrow.array([[[[1]]]]), TypeError, "ragged lists too deep"),
    ]:
        with pytest.raises(kind, match=pattern):
            ct.Ragged.from_arrow(wrong)
    with pytest.raises(ct.errors.DTypeError, match="to_arrow: the library has no arrays of complex64"):
        (batch() * 1j).to_arrow()


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_awkward(dtype: str) -> None:
    awkward = needed("awkward")
    for x in (vectors(dtype), batch().astype(dtype), matrices().astype(dtype)):
        array = x.to_awkward()
        assert awkward.to_list(array) == rows(x)
        back = ct.Ragged.from_awkward(array)
        assert rows(back) == rows(x) and back.dtype == x.dtype
    assert rows(ct.Ragged.from_awkward(awkward.Array([[9.0], *ROWS])[1:], buckets=[8])) == ROWS
    for wrong, kind, pattern in [
        (awkward.Array([1.0]), TypeError, "lists of numbers are needed"),
        (awkward.Array([[1.0], None]), ValueError, "missing lists"),
        (awkward.Array([[1.0, None]]), ValueError, "without missing ones"),
        (awkward.Array([[[1], [2, 3]]]), ct.errors.ShapeError, "parts of row 0 have different lengths"),
    ]:
        with pytest.raises(kind, match=pattern):
            ct.Ragged.from_awkward(wrong)


def test_sparse_rows() -> None:
    sparse = needed("scipy.sparse")
    dense = np.array([[0, 5, 0], [0, 0, 0], [6, 0, 7]], "float32")
    columns, elements = ct.Ragged.from_csr(sparse.coo_array(dense), bound=3, names={0: "n"})
    assert rows(columns) == [[1], [], [0, 2]] and rows(elements) == [[5], [], [6, 7]]
    assert columns._lengths[-1] is elements._lengths[-1] and columns.names == elements.names == {1: "n"}
    vector = np.array([1.0, 10.0, 100.0], "float32")
    products = ct.vmap(ct.mask(lambda c, e: cnp.sum(cnp.asarray(vector)[c] * e)))(columns, elements)
    np.testing.assert_array_equal(products, dense @ vector)
    np.testing.assert_array_equal((2 * elements).to_csr(columns, (3, 4)).toarray()[:, :3], 2 * dense)
    assert elements.to_csr(columns).shape == (3, 3)
    with pytest.raises(ValueError, match=r"3 rows with columns up to 2 do not fit in shape \(3, 2\)"):
        elements.to_csr(columns, (3, 2))
    with pytest.raises(ct.errors.ShapeError, match="batches of vectors of equal lengths"):
        elements.to_csr(columns[::-1])
    with pytest.raises(ct.errors.DTypeError, match="columns must be integers"):
        elements.to_csr(elements)
    with pytest.raises(TypeError, match="a sparse matrix of scipy is needed; got ndarray"):
        ct.Ragged.from_csr(dense)


# ---- files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_files(tmp_path: Path, suffix: str, dtype: str) -> None:
    if suffix == "safetensors":
        require("safetensors")
    one = ct.Ragged(cnp.arange(6).reshape(2, 3).astype(dtype), {1: 2, 0: 1}, {1: "width"})
    empty = ct.Ragged(cnp.zeros((0, 2), dtype), {1: np.zeros(0, int)})
    for x in (batch().astype(dtype) if dtype != "int8" else vectors(dtype), one, empty, matrices().astype(dtype)):
        file = tmp_path / f"x.{suffix}"
        x.save(file)
        back = ct.Ragged.load(file)
        assert repr(back) == repr(x) and back.names == x.names and back.data.shape == x.data.shape
        assert back.dtype == x.dtype and sorted(back.lengths) == sorted(x.lengths)


def test_padding_is_not_written_and_files_may_be_open() -> None:
    file = io.BytesIO()
    batch().save(file)
    file.seek(0)
    back = ct.Ragged.load(file)
    assert rows(back) == ROWS and back.data.tolist() == [[1, 4, 2, 0, 0], [0] * 5, [3, 0, 0, 0, 0]]


def test_files_that_are_wrong(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.npz or \.safetensors; got 'x\.bin'"):
        batch().save("x.bin")
    np.savez(tmp_path / "x.npz", a=np.ones(3))
    with pytest.raises(ct.errors.CorruptFileError, match="not those of a Ragged"):
        ct.Ragged.load(tmp_path / "x.npz")
    arrays = batch().to_arrays()
    arrays["length_1"] = np.array([1, 2, 99])
    with pytest.raises(ct.errors.CorruptFileError, match="outside 0 … 5"):
        ct.Ragged.from_arrays(arrays)
