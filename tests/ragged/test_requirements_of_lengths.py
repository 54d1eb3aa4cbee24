"""What exact programs refuse for the size at hand, masked ones refuse for a length that is known; `checkify` reports it for others."""

import re
from collections.abc import Callable
from typing import Any

import cotangent as ct
import numpy as np
import pytest

cnp, lax = ct.numpy, ct.lax


def ragged(length: Any) -> ct.Ragged:
    return ct.Ragged(np.arange(6.0), {0: length})


# A program, a length that it refuses with what it says, and one that it takes.
CASES: dict[str, tuple[Callable[[Any], Any], int, str, int]] = {
    "choice": (lambda x: ct.random.choice(ct.random.key(0), x, (3,), replace=False), 2, "choice.* 3 different", 3),
    "choice, p": (
        lambda x: cnp.sort(ct.random.choice(ct.random.key(0), x, (3,), replace=False, p=x * 0 + 1 / x.shape[0])),
        2,
        "choice.* 3 different",
        3,
    ),
    "split": (lambda x: cnp.split(x, 2), 5, "split.* 2 equal parts", 4),
    "hsplit": (lambda x: cnp.hsplit(x, 3), 5, "hsplit.* 3 equal parts", 6),
    "lax.split": (lambda x: lax.split(x, (2, 2)), 5, r"lax.split.* sizes \(2, 2\) do not add up to axis 0", 4),
    "lax.split, a size": (lambda x: lax.split(x, (2, x.shape[0] - 2)), 1, "lax.split.* is negative", 5),
    "delete": (lambda x: cnp.delete(x, 4), 4, "delete.* index 4", 5),
    "delete, from the end": (lambda x: cnp.delete(x, -4), 3, "delete.* index -4", 4),
    "delete, several": (lambda x: cnp.delete(x, [0, 3]), 3, "delete.* index 3", 4),
    "delete, a size": (lambda x: cnp.delete(x, 2 * x.shape[0] - 4), 5, "delete.* index", 3),
    "insert": (lambda x: cnp.insert(x, 4, 1.0), 3, "insert.* index 4", 4),
    "insert, a size": (lambda x: cnp.insert(x, 2 * x.shape[0] - 4, 1.0), 5, "insert.* index", 4),
    "a size as index": (lambda x: x[2 * x.shape[0] - 4], 4, "index", 3),
    "at": (lambda x: x.at[4].set(1.0), 4, "index 4", 5),
    "at, add": (lambda x: x.at[-4].add(1.0), 3, "index -4", 4),
    "at, a size": (lambda x: x.at[2 * x.shape[0] - 4].set(1.0), 4, "index", 3),
    "at, get": (lambda x: x.at[4].get(), 4, "index 4", 5),
    "at, apply": (lambda x: x.at[4].apply(cnp.negative), 4, "index 4", 5),
    "partition": (lambda x: cnp.partition(x, 3), 3, "partition.* kth=3", 4),
    "argpartition": (lambda x: cnp.argpartition(x, -3), 2, "argpartition.* kth=-3", 3),
    "top_k, a size": (lambda x: lax.top_k(x, 2 * x.shape[0] - 4), 5, "top_k.* largest", 4),
    "top_k": (lambda x: lax.top_k(x, 3), 2, "top_k.* 3 largest", 3),
}


@pytest.mark.parametrize("name", CASES)
def test_a_length_that_is_known_is_looked_at(name: str) -> None:
    program, refused, text, accepted = CASES[name]
    with pytest.raises((ValueError, IndexError), match=rf"(?s){text}.*with length {refused}"):
        ct.mask(program)(ragged(refused))
    with pytest.raises((ValueError, IndexError)):
        program(cnp.arange(float(refused)))
    results = ct.mask(program)(ragged(accepted))
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    found = [x.unpad() if isinstance(x, ct.Ragged) else x for x in results]
    exact = ct.tree.leaves(program(cnp.arange(float(accepted))))
    assert [np.asarray(x).tolist() for x in found] == [np.asarray(x).tolist() for x in exact]


@pytest.mark.parametrize("name", CASES)
def test_a_length_that_is_computed_is_reported(name: str) -> None:
    program, refused, text, accepted = CASES[name]
    checked = ct.jit(ct.checkify.checkify(lambda n: ct.mask(program)(ragged(n)), errors=ct.checkify.index_checks))
    message = checked(refused)[0].get()
    assert message is not None and re.search(text, message)
    assert checked(accepted)[0].get() is None


def test_a_mode_says_what_a_position_outside_means() -> None:
    x = ragged(2)
    assert ct.mask(lambda x: x.at[4].set(1.0, mode="drop"))(x).tolist() == [0.0, 1.0]
    assert np.isnan(ct.mask(lambda x: x.at[4].get(mode="fill"))(x))
    assert ct.mask(lambda x: cnp.array_split(x, 2))(ragged(5))[0].tolist() == [0.0, 1.0, 2.0]
    assert float(ct.jit(ct.mask(lambda x: x[x.shape[0]]))(x)) == 1.0


def test_partition_of_all_elements() -> None:
    rows = ct.Ragged(np.arange(6.0).reshape(2, 3)[::-1].copy(), {1: 2})
    assert ct.mask(lambda m: cnp.partition(m, 0, axis=None))(rows).tolist() == [0.0, 1.0, 3.0, 4.0]
    assert ct.mask(lambda m: cnp.argpartition(m, 0, axis=None))(rows).tolist() == [2, 3, 0, 1]
    assert cnp.partition(np.array([[3.0, 1.0], [2.0, 0.0]]), 1, axis=None).tolist() == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="kth=4"):
        ct.mask(lambda m: cnp.partition(m, 4, axis=None))(rows)


def test_parts_that_never_add_up() -> None:
    with pytest.raises(ValueError, match=r"sizes \(4, 4\) do not add up to 6, the bound of axis 0"):
        ct.jit(ct.mask(lambda x: lax.split(x, (4, 4))))(ragged(5))


def test_a_report_says_once_where() -> None:
    def second(x: Any) -> Any:
        return x[4]

    f = ct.mask(second)
    message = ct.jit(ct.checkify.checkify(lambda n: f(ragged(n)), errors=ct.checkify.index_checks))(2)[0].get()
    first, where = message.splitlines()
    assert first == "index 4 is out of bounds for axis 0, which is shorter"
    assert where.endswith(f"test_requirements_of_lengths.py:{second.__code__.co_firstlineno + 1} (second)")


def test_an_ellipsis_takes_no_axis_of_its_own() -> None:
    """``x[..., None, :]`` of a vector: the ellipsis stands for nothing."""
    x = ct.Ragged(np.arange(4.0), {0: 3})
    np.testing.assert_array_equal(ct.mask(lambda x: x[..., None, :])(x).unpad(), [[0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(ct.mask(lambda x: x[..., 2])(x), 2.0)
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0"):
        ct.mask(lambda x: x[..., 3])(x)
