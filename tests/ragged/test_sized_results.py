"""``size=`` of functions that find elements takes a size that the program computes, as it takes a number."""

from __future__ import annotations

from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

X = np.array([0.0, 3.0, 1.0, 3.0, 0.0, 2.0])

FINDING: dict[str, Any] = {
    "nonzero": lambda x, n: cnp.nonzero(x, size=n)[0],
    "nonzero with a fill value": lambda x, n: cnp.nonzero(x, size=n, fill_value=-1)[0],
    "nonzero of a matrix": lambda x, n: cnp.nonzero(cnp.outer(x, x), size=n),
    "method": lambda x, n: x.nonzero(size=n)[0],
    "argwhere": lambda x, n: cnp.argwhere(cnp.outer(x, x), size=n),
    "flatnonzero": lambda x, n: cnp.flatnonzero(x, size=n),
    "where": lambda x, n: cnp.where(x > 1, size=n)[0],
    "extract": lambda x, n: cnp.extract(x > 1, x, size=n),
    "compress": lambda x, n: cnp.compress(x > 1, cnp.outer(x, x), axis=0, size=n, fill_value=7.0),
    "unique": lambda x, n: cnp.unique(x, size=n),
    "unique with all": lambda x, n: cnp.unique(x, True, True, True, size=n, fill_value=9.0),
    "unique rows": lambda x, n: cnp.unique(cnp.outer(x, np.ones(2)), axis=0, size=n),
    "union1d": lambda x, n: cnp.union1d(x, x + 1, size=n),
    "intersect1d": lambda x, n: cnp.intersect1d(x, x + 1, return_indices=True, size=n),
    "setdiff1d": lambda x, n: cnp.setdiff1d(x, x + 1, size=n),
    "setxor1d": lambda x, n: cnp.setxor1d(x, x + 1, size=n),
}

SIZES: dict[str, Any] = {
    "all": lambda n: n,
    "half": lambda n: n // 2,
    "more": lambda n: n + 2,
    "less than none": lambda n: cnp.maximum(n - 3, 0) if isinstance(n, ct.Array) else n - 3,
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FINDING)
def test_sizes_of_results(name: str, size: str) -> None:
    find, of = FINDING[name], SIZES[size]
    masked = ct.mask(lambda x: find(x, of(x.shape[0])))
    jitted = ct.jit(masked)
    for length in (1, 2, 4, 6):
        wanted = ct.tree.leaves(find(cnp.array(X[:length]), max(of(length), 0)))
        ragged = ct.Ragged(np.where(np.arange(6) < length, X, np.nan), {0: length})
        for run in (masked, jitted):
            found = ct.tree.leaves(run(ragged), is_leaf=lambda leaf: isinstance(leaf, ct.Ragged))
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a.unpad(), b)
                assert a.data.dtype == b.dtype


def test_a_size_that_is_counted() -> None:
    f = ct.jit(lambda x: cnp.nonzero(x > 1, size=cnp.sum(x > 2))[0])
    assert f(X).unpad().tolist() == [1, 3]


def test_results_of_that_size_meet_others() -> None:
    f = ct.mask(lambda x: x[cnp.nonzero(x, size=x.shape[0])[0]] + x)
    exact = cnp.array(X[:4])
    wanted = exact[cnp.nonzero(exact, size=4)[0]] + exact
    np.testing.assert_array_equal(f(ct.Ragged(X, {0: 4})).unpad(), wanted)


def test_the_gradient_of_what_is_found() -> None:
    loss = lambda x: (cnp.extract(x > 1, x, size=x.shape[0] // 2) ** 2).sum()  # noqa: E731
    for length in (0, 3, 6):
        found = ct.grad(ct.mask(loss))(ct.Ragged(X, {0: length})).unpad()
        np.testing.assert_array_equal(found, ct.grad(loss)(cnp.array(X[:length])))


def test_a_negative_number_is_an_error() -> None:
    with pytest.raises(ValueError, match="nonzero: size must not be negative; got -1"):
        cnp.nonzero(X, size=-1)
