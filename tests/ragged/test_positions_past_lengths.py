"""Positions behind a length, and lengths beyond their bound: errors where they are known, else reported by `checkify`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.checkify import checkify, index_checks

DATA = np.arange(1.0, 6.0)
OUTSIDE = "the length of a ragged axis is negative or larger than its bound"


def ragged() -> ct.Ragged:
    return ct.Ragged(DATA, {0: 3})


READS: dict[str, Callable[[Any, int], Any]] = {
    "an element": lambda x, i: x[i],
    "of a matrix": lambda x, i: cnp.stack([x, x])[0, i],
    "of the last axis": lambda x, i: cnp.stack([x, x])[..., i],
    "beside positions": lambda x, i: cnp.stack([x, x])[np.array([0, 1, 0]), i],
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("index", [3, 4, -4, -5])
def test_a_position_behind_a_known_length(name: str, index: int) -> None:
    masked = ct.mask(lambda x: READS[name](x, index))
    with pytest.raises(IndexError, match=rf"(?s)index {index} .* with length 3\n  at .*test_positions_past_lengths.py"):
        masked(ragged())
    for program in (checkify(masked, errors=index_checks), ct.jit(checkify(masked, errors=index_checks))):
        assert f"index {index}" in program(ragged())[0].get()


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("index", [0, 2, -1, -3])
def test_a_position_before_the_length(name: str, index: int) -> None:
    expected = np.asarray(DATA[:3])[index]
    masked = ct.mask(lambda x: READS[name](x, index))
    for program in (masked, ct.jit(masked)):
        np.testing.assert_array_equal(np.unique(np.asarray(program(ragged()))), expected)
    error, found = ct.jit(checkify(masked, errors=index_checks))(ragged())
    assert error.get() is None
    np.testing.assert_array_equal(np.unique(np.asarray(found)), expected)


WITHIN: dict[str, Callable[[Any], Any]] = {
    "a derivative": lambda x: ct.jvp(lambda y: y[4], (x,), (x,))[0],
    "a jitted function": lambda x: ct.jit(lambda y: y[4])(x),
    "a map": lambda x: ct.vmap(lambda k: x[4] * k)(np.ones(2))[0],
    "a loop": lambda x: ct.lax.scan(lambda c, _: (x[4], None), np.float64(0), None, length=2)[0],
    "the branch that is taken": lambda x: ct.lax.cond(x.shape[0] > 2, lambda: x[4], lambda: np.float64(0)),
}


@pytest.mark.parametrize("name", WITHIN)
def test_what_a_program_runs_within_a_mask_is_reported(name: str) -> None:
    masked = ct.mask(WITHIN[name])
    for program in (checkify(masked, errors=index_checks), ct.jit(checkify(masked, errors=index_checks))):
        assert "index 4" in program(ragged())[0].get()
        error, found = program(ct.Ragged(DATA, {0: 5}))
        assert (error.get(), float(found)) == (None, 5)


BRANCHES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "closed over": (lambda x: ct.lax.cond(x.shape[0] > 4, lambda: x[4], lambda: np.float64(0)), 5),
    "an operand": (lambda x: ct.lax.cond(x.shape[0] > 4, lambda y: y[4], lambda y: np.float64(0), x), 5),
    "computed": (lambda x: ct.lax.cond(x.shape[0] > 4, lambda y: (2 * y)[1:][3], lambda y: np.float64(0), x), 10),
    "reshape": (
        lambda x: ct.lax.cond(x.shape[0] % 5 == 0, lambda y: cnp.sum(y.reshape(-1, 5)[0]), lambda y: np.float64(0), x),
        15,
    ),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_that_is_not_taken(name: str) -> None:
    function, expected = BRANCHES[name]
    masked = ct.mask(function)
    for program in (masked, ct.jit(masked)):
        assert float(program(ragged())) == 0
        assert float(program(ct.Ragged(DATA, {0: 5}))) == expected
    error, found = ct.jit(checkify(masked, errors=index_checks))(ragged())
    assert (error.get(), float(found)) == (None, 0)


@pytest.mark.parametrize("index", [3, -4])
def test_operators_report_a_length_that_a_program_computes(index: int) -> None:
    program = ct.jit(checkify(lambda n: ct.Ragged(DATA, {0: n})[index], errors=index_checks))
    assert f"index {index} is out of bounds for axis 0 of a Ragged" in program(3)[0].get()
    error, found = program(4)
    assert error.get() is None
    assert float(found) == DATA[:4][index]


MADE: dict[str, Callable[[Any], Any]] = {
    "an argument of a mask": lambda n: ct.mask(cnp.sum)(ct.Ragged(DATA, {0: n})),
    "an operator": lambda n: (ct.Ragged(DATA, {0: n}) * 1).sum(),
    "a result": lambda n: ct.Ragged(DATA, {0: n}),
    "of 64 bits": lambda n: ct.Ragged(DATA, {0: cnp.asarray(n).astype(np.int64)}),
}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("length", [-1, 6])
def test_a_computed_length_beyond_its_bound_is_reported(name: str, length: int) -> None:
    program = ct.jit(checkify(MADE[name], errors=index_checks))
    assert OUTSIDE in program(length)[0].get()
    error, found = program(4)
    assert error.get() is None
    assert float(found.sum()) == 10


def test_a_size_beyond_the_bound_that_it_is_given() -> None:
    def program(n: Any) -> Any:
        return cnp.sum(cnp.arange(ct.dimension(n, bound=6)))

    assert int(ct.jit(program)(9)) == 15  # held to the bound
    checked = ct.jit(checkify(program, errors=index_checks))
    assert "dimension: the size is outside of 0 … 6" in checked(9)[0].get()
    error, found = checked(4)
    assert (error.get(), int(found)) == (None, 6)
    narrow = ct.jit(checkify(lambda n: cnp.sum(cnp.arange(ct.dimension(n, bound=300))), errors=index_checks))
    error, found = narrow(np.int8(4))
    assert (error.get(), int(found)) == (None, 6)
    assert "outside of 0 … 300" in narrow(np.int8(-4))[0].get()
    with pytest.raises(ct.errors.ShapeError, match="dimension: the size is 9, outside of 0 … 6"):
        ct.mask(lambda x: program(cnp.max(x).astype(int)))(ct.Ragged(np.array([9.0, 1.0]), {0: 1}))


def assigned(x: Any, i: Any) -> Any:
    x = x.copy()
    x[i] = 7.0
    return cnp.sum(x)


# What reads or writes at a position that is constant in the program, or computed by it.
AT: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda x, i: x[i],
    "of a tuple": lambda x, i: x[(i,)],
    "before an ellipsis": lambda x, i: x[i, ...],
    "of what is computed": lambda x, i: cnp.exp(x)[i],
    "of the reverse": lambda x, i: x[::-1][i],
    "a row": lambda x, i: cnp.stack([x, 2 * x], axis=1)[i],
    "a ragged row": lambda x, i: cnp.sum((x[:, None] * x)[i]),
    "of a ragged row": lambda x, i: (x[:, None] * x)[i, i],
    "of a column": lambda x, i: cnp.stack([x, x])[:, i],
    "at": lambda x, i: x.at[i].get(),
    "take": lambda x, i: cnp.take(x, i, mode="clip"),
    "at, set": lambda x, i: cnp.sum(x.at[i].set(7.0)),
    "at, multiply": lambda x, i: cnp.sum(x.at[i].multiply(7.0)),
    "assignment": assigned,
    "delete": lambda x, i: cnp.sum(cnp.delete(x, i)),
    "insert": lambda x, i: cnp.sum(cnp.insert(x, i, 7.0)),
}


def padded_rows() -> ct.Ragged:
    """Rows of 1, 2 and 3 elements, with NaN behind them."""
    data = np.full((3, 3), np.nan)
    for n in (1, 2, 3):
        data[n - 1, :n] = DATA[:n]
    return ct.Ragged(data, {1: [1, 2, 3]})


@pytest.mark.parametrize("name", AT)
@pytest.mark.parametrize("index", [0, 1, 2, -1, -2, -3])
def test_constant_and_computed_positions_find_the_same(name: str, index: int) -> None:
    """Where the length is a value, what is found is what a program of exact arrays finds at a position that it computes."""
    function, rows = AT[name], padded_rows()
    exact = [np.asarray(ct.jit(function)(DATA[:n], index)).tolist() for n in (1, 2, 3)]
    slopes = [ct.grad(lambda x: cnp.sum(ct.jit(function)(x, index)))(DATA[:n]).tolist() for n in (1, 2, 3)]
    constant = ct.vmap(ct.mask(lambda x: function(x, index)))
    computed = ct.vmap(ct.mask(function), in_axes=(0, None))
    programs: list[Callable[[Any], Any]] = [constant, ct.jit(constant)]
    programs += [lambda rows: computed(rows, index), lambda rows: ct.jit(computed)(rows, index)]
    for program in programs:
        assert program(rows).tolist() == exact
        assert ct.grad(lambda rows: cnp.sum(program(rows)))(rows).tolist() == slopes
    alone = ct.jit(ct.mask(lambda x: function(x, index)))
    for n in (1, 2, 3):
        x = ct.Ragged(padded_rows().data[n - 1], {0: n})
        assert np.asarray(alone(x)).tolist() == exact[n - 1]
        assert ct.grad(lambda x: cnp.sum(alone(x)))(x).tolist() == slopes[n - 1]


@pytest.mark.parametrize("index", [0, 1, -1, -2])
def test_a_position_of_a_row_without_elements_reads_no_padding(index: int) -> None:
    rows = ct.Ragged(np.full((1, 2), np.nan), {1: [0]})
    read = ct.vmap(ct.mask(lambda x: x[index]))
    for program in (read, ct.jit(read)):
        assert program(rows).tolist() == [0.0]
        assert ct.grad(lambda rows: cnp.sum(program(rows)))(rows).data.tolist() == [[0.0, 0.0]]
