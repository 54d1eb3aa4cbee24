"""Inner products of the gradients of examples: with a direction, and with each other."""

from __future__ import annotations

import math
from typing import Any

from cotangent import _core, lax
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._transforms.batching import vmap
from cotangent._transforms.forward import jvp
from cotangent._transforms.jacobians import jacrev
from cotangent._transforms.programs import eval_shape
from cotangent._transforms.reverse import grad, vjp
from cotangent.errors import DTypeError, ShapeError
from cotangent.per_example.batches import (
    Reduction,
    gradients,
    inner_products,
    losses,
    of_each,
    over_chunks,
    reduced,
    total,
    wide,
)
from cotangent.per_example.caller import Caller, Function, Tree
from cotangent.tree_util import keystr, tree_flatten_with_path, tree_leaves, tree_map

__all__ = ["dot", "gradient_times_vector", "influence", "kernel"]


def dot(loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the inner product of each example's gradient with a direction.

    Costs one pass forward and back. `gradient_times_vector` gives the same for less; this one is for many directions:
    under `vmap` over ``vector`` the gradients are computed once.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.

    Returns
    -------
    callable
        A function of ``(vector, params, *batch)``, where ``vector`` is a tree like ``params`` and every array of the
        batch has the examples along axis 0. It gives an array, shape (b,).

    Raises
    ------
    MismatchError
        ``vector`` has not the structure, shapes or dtypes of ``params``.
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
    >>> direction = cnp.array([1.0, 0.5])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> (g @ direction).tolist()
    [10.0, -1.0]
    >>> ct.per_example.dot(loss)(direction, w, x, y).tolist()
    [10.0, -1.0]
    """
    caller = Caller("dot", loss, chunk_size)

    def part(loss: Function, vector: Tree, params: Tree, *batch: Any) -> Any:
        return (), inner_products(gradients(loss, params, batch)[0], vector)

    def dot_fun(vector: Tree, params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        return reduced(caller, part, of_each, params, batch, by_name, directions=(vector,))

    return caller.named(dot_fun)


def gradient_times_vector(loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the derivative of each example's loss in a direction.

    Costs about two passes forward and no gradient at all, compiled or not; of parameters in float16 three, as one more
    direction that is smaller stands in where the derivative overflows on the way. Of a loss with a rule of
    `custom_vjp`, which is for reverse mode alone, it costs what `dot` does. A derivative that is infinite on the way
    (of ``sqrt`` at 0) and then multiplied with 0 is NaN in forward mode, where the gradient is 0: `dot` takes the
    gradient.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.

    Returns
    -------
    callable
        A function of ``(vector, params, *batch)``, where ``vector`` is a tree like ``params`` and every array of the
        batch has the examples along axis 0. It gives an array, shape (b,).

    Raises
    ------
    MismatchError
        ``vector`` has not the structure, shapes or dtypes of ``params``.
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
    >>> direction = cnp.array([1.0, 0.5])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> (g @ direction).tolist()
    [10.0, -1.0]
    >>> ct.per_example.gradient_times_vector(loss)(direction, w, x, y).tolist()
    [10.0, -1.0]
    """
    caller = Caller("gradient_times_vector", loss, chunk_size)

    def part(loss: Function, vector: Tree, params: Tree, *batch: Any) -> Any:
        of_params = losses(loss, batch)
        _, pull = vjp(of_params, params)
        if pull.func.has_rule_of_user():
            return (), inner_products(gradients(loss, params, batch)[0], vector)
        if not any(_overflows_early(leaf) for leaf in tree_leaves(params)):
            return (), wide(jvp(of_params, (params,), (vector,))[1])
        both = tree_map(lambda v: cnp.stack([v, v * _SMALLER]), vector)
        slope, smaller = wide(vmap(lambda v: jvp(of_params, (params,), (v,))[1])(both))
        return (), cnp.where(cnp.isfinite(slope), slope, smaller / _SMALLER)

    def in_dtypes_of_params(found: Reduction) -> Array:
        """As a product with gradients is, whatever the loss has."""
        result: Array = found.each.astype(cnp.result_type("float32", *tree_leaves(found.params)))
        return result

    def gradient_times_vector_fun(vector: Tree, params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        return reduced(caller, part, in_dtypes_of_params, params, batch, by_name, directions=(vector,))

    return caller.named(gradient_times_vector_fun)


# A derivative in a direction is linear in it: where one overflows that is not as small as this, the smaller one may not.
_SMALLER = 2.0**-12


def _overflows_early(x: Any) -> bool:
    """Whether sums of ordinary numbers of this dtype overflow."""
    return float(cnp.finfo(cnp.result_type(x)).max) < 1e6


def kernel(function: Function, *, trace: bool = False, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the inner products of the gradients of examples with each other.

    Of a model's outputs they are the empirical neural tangent kernel. Costs the gradients and, where compiling finds it
    cheaper than products of stored gradients, for each layer the products of its inputs and of the derivatives at its
    outputs.

    Parameters
    ----------
    function : callable
        Of one example, ``function(params, *example)``, a real floating array of any shape: a loss, or a model's
        outputs.
    trace : bool, default False
        Whether the kernel of outputs that are not scalars is summed over equal outputs: shape (b, b2).
    chunk_size : int, optional
        How many examples are computed at a time, by default all. The gradients of the second batch are then computed
        again for each chunk of the first.

    Returns
    -------
    callable
        A function of ``(params, *batch, others=None)``, where every array of the batch has the examples along axis 0.
        ``others`` is a second batch, a tuple of as many arguments, or a dict where all are given by name, by default
        the first. It gives an array, shape (b, b2, *output, *output), with output's shape twice.

    Raises
    ------
    TypeError
        ``function`` returns more than one array, or ``others`` has other arguments than the batch.
    ShapeError
        Arrays of a batch differ in the number of examples.
    DTypeError
        A parameter, or what ``function`` returns, is not a real floating array.

    References
    ----------
    A. Jacot, F. Gabriel, C. Hongler, "Neural tangent kernel: convergence and generalization in neural networks",
    NeurIPS 2018.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> (g @ g.T).tolist()
    [[100.0, -16.0], [-16.0, 4.0]]
    >>> ct.per_example.kernel(loss)(w, x, y).tolist()
    [[100.0, -16.0], [-16.0, 4.0]]
    >>> ct.per_example.kernel(loss)(w, x, y, others=(x[:1], y[:1])).tolist()
    [[100.0], [-16.0]]
    """
    caller = Caller("kernel", function, chunk_size)

    def kernel_fun(params: Tree, /, *batch: Any, others: Any = None, **by_name: Any) -> Any:
        caller.check_params(params)
        caller.size(batch, by_name)
        if others is not None:
            others = _second_batch(others, batch, by_name, caller)
        function, batch = caller.by_position(batch, by_name)

        def program(params: Tree, batch: Any, others: Any) -> Array:
            return gram(caller, function, params, batch, others, trace)

        return caller.evaluate(program, params, batch, others)

    return caller.named(kernel_fun)


def _second_batch(others: Any, batch: tuple[Any, ...], by_name: dict[str, Any], caller: Caller) -> tuple[Any, ...]:
    """The arguments of the second batch, in the order of those of the first."""
    if isinstance(others, dict) and by_name and not batch:
        if others.keys() != by_name.keys():
            raise TypeError(
                f"{caller.text}: others has the arguments {sorted(others)}, the batch {sorted(by_name)}\n"
                "  give the same arguments of both batches"
            )
        caller.size((), others, "others")
        return tuple(others[name] for name in by_name)
    if not isinstance(others, tuple):
        raise TypeError(
            f"{caller.text}: others must be a tuple of the arguments of the second batch; got {type(others).__name__}\n"
            "  a dict of them is for a batch that is given by name alone"
        )
    count = len(batch) + len(by_name)
    if len(others) != count:
        raise TypeError(
            f"{caller.text}: others needs as many arguments as the batch has, {count}; got {len(others)}\n"
            "  give all arguments of the function but params, those by name last"
        )
    caller.size(others, called="others")
    return others


def gram(caller: Caller, function: Function, params: Tree, batch: Any, others: Any, trace: bool = False) -> Array:
    """The kernel of two batches, in the program that is being captured or evaluated."""
    output = _output_shape(function, params, batch, caller)
    derivative = jacrev(function) if output else grad(function)
    axes = (None, *(0 for _ in batch))

    def rows(batch: Any) -> list[Array]:
        """For each parameter a matrix, [b * output, parameter] or [b, output * parameter]."""
        size = caller.size(batch)
        result = []
        for j, p in zip(tree_leaves(vmap(derivative, in_axes=axes)(params, *batch)), tree_leaves(params), strict=True):
            repeats, columns = math.prod(output), math.prod(cnp.shape(p))
            result.append(wide(j).reshape((size, repeats * columns) if trace else (size * repeats, columns)))
        return result

    def tile(left: list[Array], right: list[Array]) -> Array:
        return total([a @ b.T for a, b in zip(left, right, strict=True)])

    def part(*batch: Any) -> Any:
        left = rows(batch)
        size = caller.size(batch)
        if others is None and size == caller.size(whole):
            return (), _by_examples(tile(left, left), size, size, output, trace)

        def column(*other: Any) -> Any:
            count = caller.size(other)
            block = _by_examples(tile(left, rows(other)), size, count, output, trace)
            return (), cnp.swapaxes(block, 0, 1)

        return (), cnp.swapaxes(over_chunks(column, whole if others is None else others, caller)[1], 0, 1)

    whole = batch
    result: Array = over_chunks(part, batch, caller)[1]
    return result


def _by_examples(block: Array, size: Any, count: Any, output: tuple[int, ...], trace: bool) -> Array:
    """[b * output, b2 * output] as [b, b2, *output, *output]."""
    if trace or not output:
        return block
    split = block.reshape((size, *output, count, *output))
    return cnp.moveaxis(split, 1 + len(output), 1)


def _output_shape(function: Function, params: Tree, batch: Any, caller: Caller) -> tuple[int, ...]:
    """The shape of what the function gives for one example."""
    entries = tree_flatten_with_path(eval_shape(lambda params, *b: losses(function, b)(params), params, *batch))[0]
    if len(entries) != 1 or entries[0][0]:
        raise TypeError(
            f"{caller.text}: it must return one array; it returned a tree with {len(entries)}\n"
            "  return the outputs alone, or put several together (concatenate, ravel)"
        )
    found = entries[0][1]
    if _core.dtype_kind(found.dtype) != "float":
        raise DTypeError(
            f"{caller.text}: it returned {found.dtype}; gradients are of real floating outputs\n"
            "  convert them with .astype, or take the real part"
        )
    return tuple(found.shape[1:])


def influence(loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns how much training on each example has changed the loss of each test example.

    By TracIn: Σ over checkpoints of learning rate times <gradient of a training example, gradient of a test example>,
    positive where the example has helped. Costs a `kernel` a checkpoint.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all. The gradients of test examples are then computed again
        for each chunk of training examples.

    Returns
    -------
    callable
        A function of ``(checkpoints, learning_rates, train, test)``: trees like ``params`` stacked along axis 0
        (``ct.tree.map(lambda *xs: ct.numpy.stack(xs), *list_of_params)``), their learning rates, shape (k,), and two
        tuples of the other arguments of ``loss`` with the examples along axis 0. It gives an array, shape (b_train,
        b_test).

    Raises
    ------
    TypeError
        ``train`` or ``test`` is not a tuple, or they have not the same arguments.
    ShapeError
        The numbers of checkpoints or of examples differ, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array.

    References
    ----------
    G. Pruthi, F. Liu, S. Kale, M. Sundararajan, "Estimating training data influence by tracing gradient descent",
    NeurIPS 2020 (TracInCP).

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> checkpoints, rates = cnp.array([[1.0, 0.0], [0.5, 0.5]]), cnp.array([0.5, 0.25])
    >>> x, y = cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> test_x, test_y = cnp.array([[1.0, 1.0]]), cnp.array([0.0])
    >>> g = ct.vmap(ct.vmap(ct.grad(loss), in_axes=(None, 0, 0)), in_axes=(0, None, None))
    >>> cnp.einsum("k,kip,kjp->ij", rates, g(checkpoints, x, y), g(checkpoints, test_x, test_y)).tolist()
    [[11.375], [-1.0]]
    >>> ct.per_example.influence(loss)(checkpoints, rates, (x, y), (test_x, test_y)).tolist()
    [[11.375], [-1.0]]
    """
    caller = Caller("influence", loss, chunk_size)

    def influence_fun(checkpoints: Tree, learning_rates: Any, train: Any, test: Any) -> Any:
        for called, batch in (("train", train), ("test", test)):
            if not isinstance(batch, tuple):
                raise TypeError(
                    f"{caller.text}: {called} must be a tuple of the arguments of its examples; got {type(batch).__name__}\n"
                    f"  pass ({called},)"
                )
        caller.check_params(checkpoints, "checkpoints")
        if len(train) != len(test):
            arguments = "argument" if len(train) == 1 else "arguments"
            raise TypeError(
                f"{caller.text}: train has {len(train)} {arguments}, test {len(test)}\n"
                "  give all arguments of the loss but params in both"
            )
        rates = caller.check_vector(learning_rates, "k", "learning_rates", "checkpoints")
        _check_stacked(checkpoints, rates.shape[0], caller)
        sizes = caller.size(train, called="train"), caller.size(test, called="test")
        one = caller.loss(loss)

        def program(checkpoints: Tree, rates: Array, train: Any, test: Any) -> Any:
            dtype = cnp.result_type("float32", *tree_leaves(checkpoints))

            def step(so_far: Array, point: Any) -> Any:
                params, rate = point
                return so_far + rate.astype(dtype) * gram(caller, one, params, train, test).astype(dtype), None

            return lax.scan(step, cnp.zeros(sizes, dtype), (checkpoints, rates))[0]

        try:
            return caller.evaluate(program, tree_map(cnp.asarray, checkpoints), rates, train, test)
        except Exception as error:
            if isinstance(checkpoints, (list, tuple)):
                error.add_note(f"{caller.text}: {_STACKED}")
            raise

    return caller.named(influence_fun)


_STACKED = (
    "checkpoints are one tree like params, whose arrays have the checkpoints along axis 0\n"
    "  stack those of a list: ct.tree.map(lambda *leaves: ct.numpy.stack(leaves), *list_of_params)"
)


def _check_stacked(checkpoints: Tree, count: Any, caller: Caller) -> None:
    """Every array has the checkpoints along axis 0. A list of trees is a tree, too, of other arrays."""
    for path, leaf in tree_flatten_with_path(checkpoints)[0]:
        shape = cnp.shape(leaf)
        if shape[:1] != (count,):
            raise ShapeError(
                f"{caller.text}: checkpoints{keystr(path)} has shape {shape}, and learning_rates is ({count},); {_STACKED}"
            )


check_arguments(globals())
