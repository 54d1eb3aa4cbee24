"""`cumlogsumexp` of ragged arrays: values, gradients and reports of the exact array, infinities included."""

from __future__ import annotations

import itertools
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import checkify, lax

NUMBERS = (0.5, np.inf, -np.inf)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", range(4))
def test_values_gradients_and_reports(length: int, reverse: bool) -> None:
    def f(x: Any) -> Any:
        return lax.cumlogsumexp(x, reverse=reverse)

    def loss(x: Any) -> Any:
        return (f(x) * cnp.arange(1, x.shape[0] + 1)).sum()

    check = lambda g: checkify.checkify(g, errors=checkify.all_checks)  # noqa: E731
    for elements in itertools.product(NUMBERS, repeat=length):
        x = np.full(4, np.nan)
        x[:length] = elements
        exact, ragged = cnp.array(x[:length]), ct.Ragged(x, {0: length})
        error, values = check(f)(exact)
        found, padded = check(ct.mask(f))(ragged)
        np.testing.assert_allclose(padded.unpad(), values)
        assert (found.get() is None) == (error.get() is None)
        np.testing.assert_allclose(ct.grad(ct.mask(loss))(ragged).unpad(), ct.grad(loss)(exact))
