"""Interpolation on grids under its name in `scipy.interpolate`."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import cotangent.numpy as cnp
from cotangent import _core
from cotangent._base.arguments import as_list, check_arguments, suggestion
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent._ops.binding import inexact
from cotangent._ops.extents import capacity
from cotangent.errors import ShapeError

__all__ = ["RegularGridInterpolator"]

_METHODS = ("linear", "nearest")


class RegularGridInterpolator:
    """Interpolates values that are given at the points of a rectangular grid.

    Parameters
    ----------
    points : sequence of array
        For each of D axes its coordinates, increasing, at least two.
    values : array, shape (n_1, ..., n_D, ...)
        The values at the grid's points; further axes are kept.
    method : str
        "linear" (the default) or "nearest".
    bounds_error : bool
        Must be false: a compiled program cannot raise on values.
    fill_value : float or None
        The result outside of the grid, by default NaN; None to extrapolate.

    Raises
    ------
    ShapeError
        Points and values do not fit.
    NotImplementedError
        ``bounds_error`` is true.

    Examples
    --------
    >>> f = ct.scipy.interpolate.RegularGridInterpolator(([0.0, 1.0], [0.0, 2.0]), [[0.0, 2.0], [1.0, 3.0]])
    >>> f(ct.numpy.array([0.5, 1.0]))
    Array([1.5], dtype=float32)
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: Any,
        method: str = "linear",
        bounds_error: bool = False,
        fill_value: float | None = math.nan,
    ) -> None:
        of_each = "pass a tuple of one vector for each axis of values: (x, y)"
        self.grid = tuple(inexact(axis) for axis in as_list("RegularGridInterpolator", "points", points, of_each))
        self.values = inexact(values)
        self.method, self.bounds_error, self.fill_value = _known(method), bounds_error, fill_value
        if bounds_error:
            raise NotImplementedError(
                "RegularGridInterpolator: bounds_error=True is not supported\n  use fill_value, which marks points outside"
            )
        shape = self.values.shape
        if len(self.grid) > len(shape):
            raise ShapeError(
                f"RegularGridInterpolator: {len(self.grid)} axes of points for values of shape {shape}\n  {of_each}"
            )
        for i, axis in enumerate(self.grid):
            if axis.ndim != 1 or capacity(axis, 0) < 2 or axis.shape[0] != shape[i]:
                raise ShapeError(
                    f"RegularGridInterpolator: the coordinates of axis {i} have shape {axis.shape}; "
                    f"they must be {shape[i]}, as the values have shape {shape}, and at least 2\n"
                    f"  pass a vector of {shape[i]} numbers for axis {i}, in increasing order"
                )

    def __call__(self, xi: Any, method: str | None = None) -> Array:
        """The interpolated values at points.

        Parameters
        ----------
        xi : array, shape (..., D), or tuple of D arrays
            The points.
        method : str, optional
            "linear" or "nearest"; by default that of the object.

        Returns
        -------
        array
            The leading axes of the points, then the further axes of the values.

        Raises
        ------
        ShapeError
            The points do not have D coordinates.

        Examples
        --------
        >>> f = ct.scipy.interpolate.RegularGridInterpolator(([0.0, 1.0],), [0.0, 2.0])
        >>> f(ct.numpy.array([[0.25], [2.0]]))
        Array([0.5, nan], dtype=float32)
        """
        method = self.method if method is None else _known(method)
        parts = cnp.broadcast_arrays(*xi) if isinstance(xi, tuple) else None
        at = cnp.stack([inexact(x) for x in parts], -1) if parts is not None else inexact(xi)
        count = len(self.grid)
        if at.ndim == 0 or at.shape[-1] != count:
            if count != 1:
                raise ShapeError(
                    f"RegularGridInterpolator: points of shape {at.shape} for a grid of {count} axes\n"
                    f"  put the {count} coordinates of each point into the last axis: ct.numpy.stack([x, y], axis=-1)"
                )
            at = at[..., None]
        at = cnp.atleast_2d(at)
        lead = at.shape[:-1]
        at = at.reshape(-1, count)
        lower, fractions = [], []
        outside: Any = False
        for i, axis in enumerate(self.grid):
            x = at[:, i]
            cell = cnp.clip(cnp.searchsorted(axis, x, side="right") - 1, 0, axis.shape[0] - 2)
            lower.append(cell)
            fractions.append((x - axis[cell]) / (axis[cell + 1] - axis[cell]))
            outside = outside | (x < axis[0]) | (x > axis[-1])
        rest = self.values.ndim - count
        if method == "nearest":
            corner = tuple(
                cell + (fraction > 0.5).astype(cell.dtype) for cell, fraction in zip(lower, fractions, strict=True)
            )
            result = self.values[corner]
        else:
            terms = []
            for steps in itertools.product((0, 1), repeat=count):
                weight: Any = 1.0
                for step, fraction in zip(steps, fractions, strict=True):
                    weight = weight * (fraction if step else 1 - fraction)
                corner = tuple(cell + step for cell, step in zip(lower, steps, strict=True))
                terms.append(self.values[corner] * weight.reshape(-1, *[1] * rest))
            result = functools.reduce(operator.add, terms)
        if self.fill_value is not None:
            fill = _core.convert(self.fill_value, result.dtype)
            result = cnp.where(outside.reshape(-1, *[1] * rest), fill, result)
        final: Array = result.reshape(*lead, *self.values.shape[count:])
        return final


def _known(method: str) -> str:
    if method not in _METHODS:
        near = suggestion(method, _METHODS)
        raise ValueError(
            f"RegularGridInterpolator: unknown method {method!r}; choose 'linear' or 'nearest'{near}\n"
            "  pass method='linear', which has a derivative"
        )
    return method


check_arguments(globals())
suggest_names(globals())
