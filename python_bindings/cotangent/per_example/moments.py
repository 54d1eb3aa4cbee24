"""Sums over the gradients of a batch that need no norms: weighted sums, moments, and how noisy the gradient is."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._transforms.reverse import vjp
from cotangent.per_example.batches import (
    Reduction,
    goes_in_front,
    gradients,
    losses,
    means,
    narrow,
    norm,
    over_chunks,
    reduced,
    total,
    weighted,
    wide,
)
from cotangent.per_example.caller import Caller, Function, Tree
from cotangent.tree_util import tree_leaves, tree_map

__all__ = ["NoiseScale", "mean_and_variance", "noise_scale", "second_moment", "weighted_sum"]


def weighted_sum(loss: Function, *, chunk_size: int | None = None, has_aux: bool = False) -> Function:
    """Makes a function that returns the sum of the gradients of examples, each times a weight.

    Costs one gradient of the mean loss, compiled or not: it is the gradient of the weighted sum of the losses, unless a
    rule of `custom_vjp` is a part of them.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.
    has_aux : bool, default False
        Whether ``loss`` returns ``(value, aux)``; the result is then ``(sum, aux)``, where ``aux`` is stacked.

    Returns
    -------
    callable
        A function of ``(weights, params, *batch)``, where ``weights`` has shape (b,) and every array of the batch has
        the examples along axis 0. It gives a tree like ``params``. A weight of 0 does not hide a NaN. A weight that is
        NaN or infinite reaches the parameters that the example's loss depends on, and no others, where a product with a
        gradient of 0 is NaN.

    Raises
    ------
    DTypeError
        A parameter is not a real floating array.
    ShapeError
        ``weights`` has not shape (b,), arrays of the batch differ in the number of examples, or the loss is not a
        scalar.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> weights = cnp.array([0.5, 2.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> cnp.einsum("i,i...->...", weights, g).tolist()
    [3.0, 0.0]
    >>> ct.per_example.weighted_sum(loss)(weights, w, x, y).tolist()
    [3.0, 0.0]
    """
    caller = Caller("weighted_sum", loss, chunk_size, has_aux)

    def weighted_sum_fun(weights: Any, params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        caller.check_params(params)
        weights = caller.check_vector(weights, caller.size(batch, by_name), "weights")
        function, batch = caller.by_position(batch, by_name)
        loss = caller.loss(function)

        def program(weights: Array, params: Tree, *batch: Any) -> Any:
            def part(weights: Array, *batch: Any) -> Any:
                found, pull, *aux = vjp(losses(loss, batch), params, has_aux=has_aux)
                if goes_in_front(pull, params):
                    return tree_map(wide, pull(weights.astype(found.dtype))[0]), aux
                return weighted(weights, gradients(loss, params, batch, has_aux)[0]), aux

            sums, aux = over_chunks(part, (weights, *batch), caller)
            return (narrow(sums, params), *aux) if has_aux else narrow(sums, params)

        return caller.evaluate(program, weights, params, *batch)

    return caller.named(weighted_sum_fun)


def second_moment(loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the mean of the squares of the gradients of examples.

    For each parameter: the diagonal of the empirical Fisher matrix. Costs about one gradient of the mean loss: where an
    example has one product a layer, its squares are a product of squares. Of a table of which an example reads several
    rows it costs up to two and a half.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.

    Returns
    -------
    callable
        A function of ``(params, *batch)``, where every array of the batch has the examples along axis 0. It gives a
        tree like ``params``, in float32 where they have less; of no examples NaN.

    Raises
    ------
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> cnp.mean(g * g, axis=0).tolist()
    [18.0, 34.0]
    >>> ct.per_example.second_moment(loss)(w, x, y).tolist()
    [18.0, 34.0]
    """
    caller = Caller("second_moment", loss, chunk_size)

    def part(loss: Function, params: Tree, *batch: Any) -> Any:
        return tree_map(lambda g: cnp.sum(g * g, axis=0), gradients(loss, params, batch)[0]), ()

    def second_moment_fun(params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        return reduced(caller, part, means, params, batch, by_name)

    return caller.named(second_moment_fun)


def mean_and_variance(loss: Function, *, ddof: int = 0, chunk_size: int | None = None) -> Function:
    """Makes a function that returns mean and variance of the gradients of examples, for each parameter.

    Costs two to three gradients of the mean loss; five to eight where deviations are made one by one, as those of
    float64 ``params`` and in chunks of few examples. Means, deviations from them and squares are put together in
    float64, chunks by the formula of Chan, Golub and LeVeque, where ``second_moment - mean**2`` would be rounding
    errors. What is left is the rounding of the gradients themselves, in the dtype of ``params``: with ρ the ratio of
    the mean to the standard deviation, a relative error of up to about 1e-7 ρ in float32 (one per mille where ρ is 10⁴,
    some per cent where it is 10⁶), of 1e-16 ρ in float64.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    ddof : int, default 0
        The sum of squared deviations is divided by the number of examples less this: 1 for the unbiased estimate.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.

    Returns
    -------
    callable
        A function of ``(params, *batch)``, where every array of the batch has the examples along axis 0. It gives a
        pair of trees like ``params``: the gradient of the mean loss, and the variances, in float32 where ``params``
        have less. Of no examples both are NaN.

    Raises
    ------
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array.

    References
    ----------
    T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
    Stanford technical report STAN-CS-79-773, 1979.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> cnp.mean(g, axis=0).tolist(), cnp.var(g, axis=0).tolist()
    ([3.0, 3.0], [9.0, 25.0])
    >>> mean, variance = ct.per_example.mean_and_variance(loss)(w, x, y)
    >>> mean.tolist(), variance.tolist()
    ([3.0, 3.0], [9.0, 25.0])
    """
    caller = Caller("mean_and_variance", loss, chunk_size)

    def part(loss: Function, params: Tree, *batch: Any) -> Any:
        gradient, _ = gradients(loss, params, batch)
        count = cnp.asarray(caller.size(batch), "float64")
        mean = tree_map(lambda g: cnp.sum(g.astype("float64"), axis=0) / count, gradient)
        return (count, mean, tree_map(lambda g, m: _squared_deviations(g, m, count), gradient, mean)), ()

    def finish(found: Reduction) -> tuple[Tree, Tree]:
        _, mean, squares = found.sums
        variance = means(found._replace(sums=squares, size=cnp.maximum(found.size - ddof, 0)))
        return narrow(mean, found.params), tree_map(
            lambda v, p: v.astype(cnp.result_type(p, "float32")), variance, found.params
        )

    def mean_and_variance_fun(params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        return reduced(caller, part, finish, params, batch, by_name, merge=_merged_moments)

    return caller.named(mean_and_variance_fun)


def _squared_deviations(gradient: Array, mean: Array, count: Array) -> Array:
    """The sum of squared deviations from a mean in float64, of which gradients of float32 take the nearest number of their own.

    A difference of two numbers of float32 that are close has no rounding; what the nearest number lacks is taken off the sum. The compiler may multiply
    the squares out, as all of them are float64.
    """
    centre = mean.astype(gradient.dtype)
    squares = cnp.sum(cnp.square((gradient - centre).astype("float64")), axis=0)
    found = squares - count * cnp.square(mean - centre)
    result: Array = cnp.where(found < 0, 0, found)
    return result


def _between(x: Array, y: Array, share: Array) -> Array:
    """The mean of two parts, of which the second has a share; an infinite one is infinite, as it is of all examples taken together."""
    difference = y - x
    result: Array = cnp.where(cnp.isfinite(difference), x + difference * share, x * (1 - share) + y * share)
    return result


def _merged_moments(a: Tree, b: Tree) -> Tree:
    """Count, mean and squared deviations of two parts taken together."""
    count = a[0] + b[0]
    share = b[0] / count
    mean = tree_map(lambda x, y: _between(x, y, share), a[1], b[1])
    between = tree_map(lambda x, y: cnp.square(y - x) * (a[0] * share), a[1], b[1])
    return count, mean, tree_map(lambda x, y, z: x + y + z, a[2], b[2], between)


class NoiseScale(NamedTuple):
    """How noisy the gradient of a batch is; what `noise_scale` gives.

    ``scale`` is ``trace / squared_norm``. Both are unbiased estimates, their quotient is not: over several batches,
    average them and then divide. Both are differences of squared norms. Gradients of float32 leave ``trace`` a relative
    error of about 1e-7 over ``scale``, where that is below 1, and ``squared_norm`` one of 1e-7 ``scale`` over the
    number of examples, where that is above 1; of float64 1e-16 takes the place of 1e-7. `mean_and_variance` is exact to
    more digits of a small trace.

    Attributes
    ----------
    scale : scalar array
        The simple noise scale, ``trace / squared_norm``.
    trace : scalar array
        Of the covariance of the gradients of examples, an unbiased estimate.
    squared_norm : scalar array
        Of the expected gradient, an unbiased estimate, which may be negative.

    Examples
    --------
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = np.float32([1, 0]), np.float32([[3, 4], [0, 2]]), np.float32([1, -3])
    >>> found = ct.per_example.noise_scale(loss)(w, x, y)
    >>> float(found.trace), float(found.squared_norm)
    (20.0, 48.0)
    """

    scale: Any
    trace: Any  # of the covariance of the gradients of examples
    squared_norm: Any  # of the true gradient; the estimate may be negative where noise is all there is


def noise_scale(loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the simple noise scale of the gradient.

    About the largest batch size that still speeds up training in proportion: B = tr(Σ) / |G|², where Σ is the
    covariance of the gradients of examples and G their expectation, estimated from batches of 1 and of b. Costs what
    norms and the gradient of the mean loss do.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.

    Returns
    -------
    callable
        A function of ``(params, *batch)``, where every array of the batch has the examples along axis 0. It gives a
        `NoiseScale` of scalars; of a ragged batch with less than two examples NaN.

    Raises
    ------
    ValueError
        The batch is known to have less than two examples.
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array.

    References
    ----------
    S. McCandlish, J. Kaplan, D. Amodei, OpenAI Dota Team, "An empirical model of large-batch training",
    arXiv:1812.06162, 2018, appendix A.1.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, -3.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> each, mean = cnp.mean(cnp.sum(g * g, axis=1)), cnp.sum(cnp.mean(g, axis=0) ** 2)
    >>> trace, squared_norm = (each - mean) * 2 / (2 - 1), (2 * mean - each) / (2 - 1)
    >>> float(trace / squared_norm), float(trace), float(squared_norm)
    (0.416666..., 20.0, 48.0)
    >>> ct.per_example.noise_scale(loss)(w, x, y).scale.tolist()
    0.416666...
    """
    caller = Caller("noise_scale", loss, chunk_size)

    def part(loss: Function, params: Tree, *batch: Any) -> Any:
        gradient = tree_leaves(gradients(loss, params, batch)[0])
        squares = cnp.sum(norm(*gradient) ** 2)
        return (squares, [cnp.sum(g, axis=0) for g in gradient]), ()

    def finish(found: Reduction) -> NoiseScale:
        squares, sums = found.sums
        count = cnp.asarray(found.size, squares.dtype)
        of_one = squares / count
        mean = total([cnp.sum(cnp.square((s / count.astype(s.dtype)).astype("float64"))) for s in sums])
        # How many examples there are, data may decide: of less than two, all three are NaN.
        freedom = cnp.where(count > 1, count - 1, float("nan"))
        trace = (of_one - mean) * count / freedom
        squared_norm = (count * mean - of_one) / freedom
        dtype = cnp.result_type(*sums)
        return NoiseScale(*(x.astype(dtype) for x in (trace / squared_norm, trace, squared_norm)))

    def noise_scale_fun(params: Tree, /, *batch: Any, **by_name: Any) -> NoiseScale:
        size = caller.size(batch, by_name)
        if isinstance(size, int) and size < 2:
            raise ValueError(
                f"{caller.text}: noise is a difference between examples; the batch has {size}, and needs 2\n"
                "  give a batch of at least two examples"
            )

        result: NoiseScale = reduced(caller, part, finish, params, batch, by_name)
        return result

    return caller.named(noise_scale_fun)


check_arguments(globals())
