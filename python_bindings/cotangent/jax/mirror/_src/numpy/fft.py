"""``jax._src.numpy.fft``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cotangent.numpy as cnp

__all__ = ["_fft_norm"]


def _fft_norm(s: Sequence[int] | Any, func_name: str, norm: str) -> Any:
    """What a transform of some sizes is multiplied by.

    Raises:
        ValueError: there is no such norm.
    """
    if norm not in ("backward", "forward", "ortho"):
        raise ValueError(f"Invalid norm value {norm!r}; should be 'backward', 'ortho' or 'forward'.")
    back, count = func_name.startswith("i"), cnp.prod(cnp.asarray(s, float))
    if norm == "backward":
        return 1 / count if back else cnp.ones(())
    size = cnp.sqrt(count) if norm == "ortho" else count
    return size if back else 1 / size
