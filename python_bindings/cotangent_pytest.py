"""The pytest plugin of cotangent: the fixture `assert_allclose`. It loads nothing of the package before a test asks for it."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def assert_allclose() -> Any:
    """Gives a test `cotangent.testing.assert_allclose`, which raises where arrays are not close, and says where.

    Returns
    -------
    callable
        The function; its parameters are described there.

    Examples
    --------
    In a test, of which pytest fills the argument::

        def test_sum(assert_allclose):
            assert_allclose(ct.numpy.ones(3).sum(), 3.0)
    """
    from cotangent.testing import assert_allclose

    return assert_allclose
