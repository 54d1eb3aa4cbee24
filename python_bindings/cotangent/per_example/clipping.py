"""Norms of the gradients of examples, and their sum with each held to a norm."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent.errors import DTypeError, ShapeError
from cotangent.per_example.batches import (
    gradients,
    narrow,
    norm,
    of_each,
    over_chunks,
    reduced,
    scalar,
    total,
    with_stand_ins,
)
from cotangent.per_example.caller import Caller, Function, Tree, is_real
from cotangent.tree_util import tree_flatten, tree_leaves, tree_map, tree_structure

__all__ = ["clipped_sum", "norms"]


def norms(loss: Function, *, per_leaf: bool = False, chunk_size: int | None = None, has_aux: bool = False) -> Function:
    """Makes a function that returns the norm of each example's gradient.

    Costs one pass forward and back, less than a gradient of the mean loss: no gradient of an example is stored where
    compiling finds that products of what makes it are cheaper. ``chunk_size`` bounds the memory of everything else.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    per_leaf : bool, default False
        Whether each array of ``params`` has a norm of its own.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.
    has_aux : bool, default False
        Whether ``loss`` returns ``(value, aux)``; the result is then ``(norms, aux)``, where ``aux`` is stacked.

    Returns
    -------
    callable
        A function of ``(params, *batch)``, where every array of the batch has the examples along axis 0. It gives an
        array, shape (b,); with ``per_leaf`` a tree like ``params`` of those. Where a gradient is zero, the derivative
        of its norm is. Squares are made in float64: of float32 no norm overflows that float32 has; of float64
        ``params`` one above 1e154 is infinite, and one below 1e-162 is 0.

    Raises
    ------
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array.

    References
    ----------
    I. Goodfellow, "Efficient per-example gradient computations", arXiv:1510.01799, 2015.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> cnp.sqrt(cnp.sum(g * g, axis=1)).tolist()
    [10.0, 2.0]
    >>> ct.per_example.norms(loss)(w, x, y).tolist()
    [10.0, 2.0]
    """
    caller = Caller("norms", loss, chunk_size, has_aux)

    def part(loss: Function, params: Tree, *batch: Any) -> Any:
        gradient, aux = gradients(loss, params, batch, has_aux)

        def norm_of(*leaves: Array) -> Array:
            found: Array = norm(*leaves).astype(cnp.result_type(*leaves))
            return found

        found = tree_map(norm_of, gradient) if per_leaf else norm_of(*tree_leaves(gradient))
        return (), (found, aux) if has_aux else found

    def norms_fun(params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        return reduced(caller, part, of_each, params, batch, by_name)

    return caller.named(norms_fun)


class Clipping:
    """Which parts of a gradient are held to which norm.

    A number is the bound of the whole gradient; ``per_leaf`` shares it out, so that the whole has it again. A tree with the first levels of
    ``params`` has a bound for each part.
    """

    def __init__(self, clip_norm: Any, per_leaf: bool, caller: Caller) -> None:
        self.structure = tree_structure(clip_norm)
        self.per_leaf = per_leaf
        self.caller = caller
        leaves = tree_leaves(clip_norm)
        if not leaves:
            raise TypeError(
                f"{caller.text}: clip_norm must be a positive scalar, or a tree of them; got {clip_norm!r}\n"
                "  pass clip_norm=1.0, say, or one number for each part of params"
            )
        if per_leaf and (len(leaves) != 1 or self.structure.num_nodes != 1):
            raise ValueError(
                f"{caller.text}: per_leaf=True shares out one clip_norm; got a tree of them\n  leave out per_leaf, or give a number"
            )
        # In float64 what is a number: it takes the dtype of the norms. As an argument of the program, another one is compiled for.
        self.bounds = [_checked_bound(bound, caller) for bound in leaves]

    def parts(self, gradient: Tree) -> list[list[Array]]:
        """The arrays of each part that has a bound."""
        if self.per_leaf:
            return [[leaf] for leaf in tree_leaves(gradient)]
        return [tree_leaves(part) for part in self.structure.flatten_up_to(gradient)]

    def check_structure(self, params: Tree) -> None:
        """Each bound is that of a part of the parameters."""
        structure = tree_structure(params)
        try:
            self.structure.flatten_up_to(structure.unflatten([0] * structure.num_leaves))
        except ValueError:
            raise ValueError(
                f"{self.caller.text}: clip_norm has not the structure of params, nor that of its first levels: it has"
                f" {self.structure}, params {structure}\n  give one number, or one for each part of params"
            ) from None

    def valid(self, bounds: list[Any]) -> list[Any]:
        """The bounds, NaN where one that was traced before is not positive: so is all that is made of it, noise as well."""
        return [bound if isinstance(bound, np.float64) else cnp.where(bound > 0, bound, cnp.nan) for bound in bounds]

    def bounds_of(self, bounds: list[Any], parts: int) -> list[Any]:
        """The bound of each part."""
        return [bounds[0] / math.sqrt(parts)] * parts if self.per_leaf else bounds

    def check_noise(self, multiplier: Any) -> None:
        """Noise is as large as what one example can change, which has to be bounded."""
        infinite = any(not _core.is_traced(bound) and float(bound) == math.inf for bound in self.bounds)
        if infinite and isinstance(multiplier, float) and multiplier > 0:
            raise ValueError(
                f"{self.caller.text}: clip_norm must be finite where there is noise, whose standard deviation is"
                " noise_multiplier * clip_norm; got inf\n  give a finite clip_norm, or noise_multiplier=0 for neither clipping nor noise"
            )

    def deviation(self, multiplier: Any, bounds: list[Any]) -> Any:
        """The standard deviation of the noise of the sum: a multiple of the largest norm that a clipped gradient can have."""
        largest = bounds[0] if len(bounds) == 1 else total([bound * bound for bound in bounds]) ** 0.5
        is_noisy = cnp.asarray(multiplier) != 0
        return cnp.where(is_noisy, multiplier * cnp.where(is_noisy, largest, 1), 0)

    def clip(self, gradient: Tree, bounds: list[Any]) -> tuple[list[Array], list[Array]]:
        """What each example is scaled by, for each array of the gradient; and the norm of each part."""
        parts = self.parts(gradient)
        scales, found = [], []
        for part, bound in zip(parts, self.bounds_of(bounds, len(parts)), strict=True):
            if not part:
                continue
            norm_of_part = norm(*part)
            limit = scalar(bound, norm_of_part.dtype)
            over = ~(norm_of_part <= limit)  # NaN, too
            scale = cnp.where(over, limit / cnp.where(over, norm_of_part, 1), 1)
            scales += [scale.astype(leaf.dtype) for leaf in part]
            found.append(norm_of_part)
        return scales, found


def _checked_bound(bound: Any, caller: Caller) -> Any:
    if not is_real(bound):
        raise TypeError(
            f"{caller.text}: clip_norm must be a positive scalar, or a tree of them; got {bound!r}\n"
            "  pass clip_norm=1.0, say, or one number for each part of params"
        )
    array = bound if isinstance(bound, Array) else np.asarray(bound, np.float64)
    if array.shape != ():
        raise ShapeError(
            f"{caller.text}: clip_norm must be a scalar, or a tree of scalars; it has shape {array.shape}\n"
            "  pass one number, or a tree of numbers with the first levels of params"
        )
    if not _core.is_traced(array) and not array > 0:
        raise ValueError(
            f"{caller.text}: clip_norm must be positive; got {bound}\n  pass clip_norm=1.0, say, or math.inf for no clipping"
        )
    return array if isinstance(array, Array) else array[()]


def clipped(
    loss: Function,
    clipping: Clipping,
    bounds: list[Any],
    params: Tree,
    batch: tuple[Any, ...],
    present: Any,
    has_aux: bool,
) -> tuple[Tree, tuple[list[Array], Any]]:
    """The sum of clipped gradients in at least float32; the norms of the parts of each example's gradient, and what the loss returns beside."""

    def part(here: Any, *batch: Any) -> Any:
        gradient, aux = gradients(loss, params, batch, has_aux)
        leaves, structure = tree_flatten(gradient)
        if here is not None:
            leaves = [cnp.where(here.reshape((-1, *(1 for _ in g.shape[1:]))), g, 0) for g in leaves]
        scales, found = clipping.clip(structure.unflatten(leaves), bounds)
        sums = [cnp.einsum("i,i...->...", scale, g) for scale, g in zip(scales, leaves, strict=True)]
        return structure.unflatten(sums), (found, aux)

    if present is not None:
        batch = with_stand_ins(batch, present, clipping.caller)
    return over_chunks(part, (present, *batch), clipping.caller)


def checked_present(present: Any, size: Any, caller: Caller) -> Any:
    """Which examples are there."""
    if present is None:
        return None
    array = caller.check_vector(present, size, "present")
    if array.dtype != bool:
        raise DTypeError(
            f"{caller.text}: present has dtype {array.dtype}; it says of each example whether it is there\n  pass present != 0"
        )
    return array


def clipped_sum(
    loss: Function,
    clip_norm: Any,
    *,
    per_leaf: bool = False,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Function:
    """Makes a function that returns the sum of the gradients of examples, each scaled down to a norm.

    Those whose norm is smaller are not scaled. The core of differentially private training; `private_gradient` adds
    noise to it. Costs about one gradient of the mean loss, and its memory: the gradients of examples are not stored
    where products of what makes them are cheaper.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    clip_norm : float, scalar array, or a pytree of them
        The largest norm that the gradient of an example keeps, a positive scalar, which may be a traced array (one that
        is not positive gives NaN). A tree of them, with the first levels of ``params``, clips each part for itself:
        ``{"layer1": 0.5, "layer2": 1.0}``.
    per_leaf : bool, default False
        Whether each array of ``params`` is clipped for itself, to ``clip_norm / sqrt(number of arrays)``: so the norm
        of the whole is at most ``clip_norm``, as it is without.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.
    has_aux : bool, default False
        Whether ``loss`` returns ``(value, aux)``; the result is then ``(sum, aux)``, where ``aux`` is stacked.

    Returns
    -------
    callable
        A function of ``(params, *batch, present=None)``, where every array of the batch has the examples along axis 0.
        It gives a tree like ``params``. ``present``, bools of shape (b,), says which examples are there: others
        contribute exactly nothing, to the sum and to its derivatives, even where their loss is NaN, so batches of all
        sizes up to a bound are one compiled program. ``aux`` of an absent example is that of another one. Norms are
        those of `norms`: an example of float64 whose norm is above 1e154 adds nothing.

    Raises
    ------
    ValueError
        ``clip_norm`` is not positive, or is a tree of another structure than ``params``.
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array; ``present`` is not of bools.

    References
    ----------
    M. Abadi, A. Chu, I. Goodfellow, H. B. McMahan, I. Mironov, K. Talwar, L. Zhang, "Deep learning with differential
    privacy", ACM CCS 2016.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> scale = cnp.minimum(1.0, 5.0 / cnp.sqrt(cnp.sum(g * g, axis=1)))
    >>> cnp.einsum("i,i...->...", scale, g).tolist()
    [3.0, 2.0]
    >>> ct.per_example.clipped_sum(loss, 5.0)(w, x, y).tolist()
    [3.0, 2.0]
    >>> ct.per_example.clipped_sum(loss, 5.0)(w, x, y, present=cnp.array([True, False])).tolist()
    [3.0, 4.0]
    """
    caller = Caller("clipped_sum", loss, chunk_size, has_aux)
    clipping = Clipping(clip_norm, per_leaf, caller)

    def clipped_sum_fun(params: Tree, /, *batch: Any, present: Any = None, **by_name: Any) -> Any:
        caller.check_params(params)
        clipping.check_structure(params)
        here = checked_present(present, caller.size(batch, by_name), caller)
        function, batch = caller.by_position(batch, by_name)
        loss = caller.loss(function)

        def program(bounds: list[Any], params: Tree, here: Any, *batch: Any) -> Any:
            bounds = clipping.valid(bounds)
            sums, (_, aux) = clipped(loss, clipping, bounds, params, batch, here, has_aux)
            sums = narrow(sums, params)
            return (sums, aux) if has_aux else sums

        return caller.evaluate(program, clipping.bounds, params, here, *batch)

    return caller.named(clipped_sum_fun)


check_arguments(globals())
