"""Codes of observations under their name in `scipy.cluster.vq`."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._ops.binding import inexact
from cotangent.errors import ShapeError

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest row of ``code_book`` for each row of ``obs``.

    Args:
        obs: observations, shape (N, D), or (N,) of one feature.
        code_book: codes, shape (K, D), or (K,).
        check_finite: whether elements may be trusted to be finite; they need not be.

    Returns:
        The position of the nearest code of each observation, and the distance to it, both of shape (N,).

    Raises:
        ShapeError: the numbers of axes or features differ.

    >>> import cotangent as ct
    >>> codes, distances = ct.scipy.cluster.vq.vq([[0.0, 1.0], [4.0, 4.0]], [[0.0, 0.0], [4.0, 4.0]])
    >>> codes.tolist(), distances.tolist()
    ([0, 1], [1.0, 0.0])
    """
    del check_finite
    x, codes = inexact(obs), inexact(code_book)
    if x.ndim not in (1, 2) or x.ndim != codes.ndim or x.shape[1:] != codes.shape[1:]:
        raise ShapeError(
            f"vq: observations of shape {x.shape} and codes of shape {codes.shape} must have one or two axes each, "
            "and the same number of features"
        )
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    distances = cnp.linalg.norm(x[:, None, :] - codes[None, :, :], axis=-1)
    nearest = cnp.argmin(distances, axis=1)
    return nearest, cnp.min(distances, axis=1)


check_arguments(globals())
