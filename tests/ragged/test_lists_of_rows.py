"""A list of rows is a tree of arrays: what `vmap` and `mask` say where a batch is meant."""

from __future__ import annotations

import warnings

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

ROWS = "make a batch of a list of rows, whatever their lengths: ct.ragged(rows)"


def test_rows_of_one_length_are_a_batch_of_rows() -> None:
    rows = [[1.0, 2.0], [3.0, 4.0]]
    assert ct.vmap(ct.mask(cnp.sum))(ct.ragged(rows)).tolist() == [3.0, 7.0]
    assert ct.vmap(ct.mask(cnp.sum))(cnp.array(rows)).tolist() == [3.0, 7.0]
    with pytest.raises(ValueError, match=r"\n  a list of rows is no batch.*ct\.ragged\(rows\) for ct\.mask"):
        ct.vmap(ct.mask(cnp.sum))(rows)


@pytest.mark.parametrize("function", [ct.mask, lambda f: ct.vmap(ct.mask(f)), lambda f: ct.jit(ct.vmap(ct.mask(f)))])
def test_a_list_of_vectors_of_one_length_is_warned_of(function) -> None:
    """It is taken apart as other trees are, so that the sum is over the rows and not along them."""
    rows = [np.array([1.0, 2.0]), np.array([3.0, 5.0])]
    expected = np.sum(rows) if function is ct.mask else np.sum(rows, axis=0)
    with pytest.warns(UserWarning, match="mask of sum: no argument is a Ragged, and lists of arrays") as noted:
        assert function(cnp.sum)(rows).tolist() == expected.tolist()
    assert ROWS in str(noted[0].message)
    assert noted[0].filename == __file__


def test_lists_beside_other_arguments_are_not_warned_of() -> None:
    def loss(weights: list[ct.Array], x: ct.Array) -> ct.Array:
        return cnp.sum(weights[0] * weights[1] * x)

    weights = [np.ones(3), np.ones(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert float(ct.mask(loss)(weights, np.arange(3.0))) == 3.0
        assert float(ct.mask(loss)(weights, ct.Ragged(np.arange(3.0), {0: 3}, {0: "n"}).data)) == 3.0
        assert float(ct.mask(lambda pair: pair[0].sum())((np.ones(3), np.ones(3)))) == 3.0
        assert float(ct.mask(lambda pair: pair[0].sum())([np.ones(3), np.ones(2)])) == 3.0


def test_the_advice_for_lists_of_parameters_stays() -> None:
    with pytest.raises(ValueError, match=r"no axis 0 to map over\n  pass in_axes=None") as raised:
        ct.vmap(lambda p, x: p[0] @ x + p[1])([np.ones((2, 3)), 1.0], np.ones((2, 3)))
    assert "a list of rows is no batch" in str(raised.value)
