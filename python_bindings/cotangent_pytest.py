"""The pytest plugin of cotangent: the fixture `assert_allclose`. It loads nothing of the package before a test asks for it."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def assert_allclose() -> Any:
    """`cotangent.testing.assert_allclose`: arrays are close, or an error says where they are not."""
    from cotangent.testing import assert_allclose

    return assert_allclose
