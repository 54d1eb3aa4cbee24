"""Batches of any iterable: equal shapes become arrays, others ragged ones."""

from __future__ import annotations

import cotangent as ct
import numpy as np
import pytest

data = ct.interop.data


def test_leaves_of_equal_shapes_are_arrays() -> None:
    batch = data.collate([(np.ones(2, np.float32), 1, True, None), (np.zeros(2, np.float32), 2, False, None)])
    assert batch[0].tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert (batch[0].dtype, batch[1].dtype, batch[2].dtype, batch[3]) == ("float32", "int32", "bool", None)


def test_other_leaves_are_ragged() -> None:
    batch = data.collate([{"x": np.ones((2, 3)), "y": [1.0]}, {"x": np.zeros((1, 3)), "y": [2.0]}])
    assert isinstance(batch["x"], ct.Ragged)
    assert batch["x"].data.shape == (2, 2, 3)
    assert batch["x"].tolist() == [np.ones((2, 3)).tolist(), np.zeros((1, 3)).tolist()]
    assert batch["y"][0].tolist() == [1.0, 2.0]


def test_bounds_make_every_batch_one_type() -> None:
    rows = [np.arange(float(n)) for n in (1, 3, 0, 2, 2, 2)]
    shapes = {batch.data.shape for batch in data.batches(rows, 2, bound=4)}
    assert shapes == {(2, 4)}
    assert [b.data.shape[1] for b in data.batches(rows, 2, buckets=[2, 4])] == [4, 2, 2]
    with pytest.raises(ct.errors.ShapeError):
        list(data.batches(rows, 2, bound=2))


def test_the_last_batch_is_what_is_left() -> None:
    assert [b.tolist() for b in data.batches(iter(range(5)), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in data.batches(range(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(data.batches([], 2)) == []


def test_keys_bfloat16_and_texts() -> None:
    keys = data.collate(list(ct.random.split(ct.random.key(0), 3)))
    assert keys.shape == (3,)
    assert ct.random.key_data(keys).tolist() == ct.random.key_data(ct.random.split(ct.random.key(0), 3)).tolist()
    rows = data.collate([ct.numpy.ones(2, dtype="bfloat16"), ct.numpy.ones(1, dtype="bfloat16")])
    assert rows.data.dtype == "bfloat16"
    assert data.collate(["a", "b"]) == ["a", "b"]


def test_errors() -> None:
    with pytest.raises(ValueError, match="there are no examples"):
        data.collate([])
    with pytest.raises(ValueError, match="example 1 has"):
        data.collate([(1,), (1, 2)])
    with pytest.raises(ValueError, match="size=0"):
        data.batches([1], 0)
    with pytest.raises(ct.errors.ShapeError):
        data.collate([np.ones(2), np.ones((2, 2))])
