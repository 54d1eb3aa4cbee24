"""Codes of observations under their name in `scipy.cluster.vq`."""

from __future__ import annotations

from typing import Any

import cotangent.numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent._ops.binding import inexact
from cotangent.errors import ShapeError

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Array, Array]:
    """The nearest code for each observation.

    Parameters
    ----------
    obs : array, shape (N, D)
        The observations; or (N,) of one feature.
    code_book : array, shape (K, D)
        The codes; or (K,).
    check_finite : bool
        Accepted for SciPy's signature: elements need not be finite.

    Returns
    -------
    array of int, shape (N,)
        The position of the nearest code of each observation.
    array, shape (N,)
        The distance to it.

    Raises
    ------
    ShapeError
        The numbers of axes or features differ.

    Examples
    --------
    >>> codes, distances = ct.scipy.cluster.vq.vq(ct.numpy.array([[0.0, 1.0], [4.0, 4.0]]), ct.numpy.array([[0.0, 0.0], [4.0, 4.0]]))
    >>> codes.tolist(), distances.tolist()
    ([0, 1], [1.0, 0.0])
    """
    del check_finite
    x, codes = inexact(obs), inexact(code_book)
    if x.ndim not in (1, 2) or x.ndim != codes.ndim or x.shape[1:] != codes.shape[1:]:
        raise ShapeError(
            f"vq: observations of shape {x.shape} and codes of shape {codes.shape} must have one or two axes each, "
            "and the same number of features\n  pass (n, features) and (k, features), or two vectors"
        )
    if x.ndim == 1:
        x, codes = x[:, None], codes[:, None]
    distances = cnp.linalg.norm(x[:, None, :] - codes[None, :, :], axis=-1)
    nearest = cnp.argmin(distances, axis=1)
    return nearest, cnp.min(distances, axis=1)


check_arguments(globals())
suggest_names(globals())
