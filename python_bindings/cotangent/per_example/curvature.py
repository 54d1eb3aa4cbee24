"""Products of curvature matrices with vectors: the empirical Fisher matrix, and the Gauss–Newton matrix. Neither is formed."""

from __future__ import annotations

from typing import Any, NamedTuple

from cotangent import _core
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._core import Array
from cotangent._transforms.batching import vmap
from cotangent._transforms.forward import jvp
from cotangent._transforms.jacobians import jacrev
from cotangent._transforms.reverse import grad, vjp
from cotangent.errors import DTypeError
from cotangent.per_example.batches import (
    goes_in_front,
    gradients,
    inner_products,
    losses,
    means,
    reduced,
    total,
    weighted,
    wide,
)
from cotangent.per_example.caller import Caller, Function, Tree
from cotangent.tree_util import keystr, tree_flatten_with_path, tree_leaves, tree_map, tree_structure

__all__ = ["fisher_vector_product", "gauss_newton_vector_product"]


def fisher_vector_product(loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the empirical Fisher matrix times a vector.

    The matrix is the mean of the outer squares of the gradients of examples. Costs a derivative in a direction and one
    gradient of the mean loss, compiled or not. An example whose product with the vector is NaN makes the result NaN in
    the parameters that its loss depends on; see `gradient_times_vector` and `weighted_sum` for what is not finite.

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
        batch has the examples along axis 0. It gives a tree like ``params``, in float32 where they have less; of no
        examples NaN.

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
    >>> vector = cnp.array([1.0, 0.5])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> ((g @ vector) @ g / 2).tolist()
    [30.0, 41.0]
    >>> ct.per_example.fisher_vector_product(loss)(vector, w, x, y).tolist()
    [30.0, 41.0]
    """
    caller = Caller("fisher_vector_product", loss, chunk_size)

    def part(loss: Function, vector: Tree, params: Tree, *batch: Any) -> Any:
        of_params = losses(loss, batch)
        _, pull = vjp(of_params, params)
        if goes_in_front(pull, params):
            return tree_map(wide, pull(jvp(of_params, (params,), (vector,))[1])[0]), ()
        gradient, _ = gradients(loss, params, batch)
        return weighted(inner_products(gradient, vector), gradient), ()

    def fisher_vector_product_fun(vector: Tree, params: Tree, /, *batch: Any, **by_name: Any) -> Any:
        return reduced(caller, part, means, params, batch, by_name, directions=(vector,))

    return caller.named(fisher_vector_product_fun)


def gauss_newton_vector_product(model: Function, loss: Function, *, chunk_size: int | None = None) -> Function:
    """Makes a function that returns the generalised Gauss–Newton matrix times a vector.

    The matrix is the mean over examples of Jᵀ H J: J is the Jacobian of the model's outputs in the parameters, and H
    the Hessian of the loss in the outputs. It is never indefinite where the loss is convex. For losses that are
    log-likelihoods of exponential families it is the Fisher matrix. Costs a derivative in a direction and one gradient
    of the mean loss; of a model with a rule of `custom_vjp`, which is for reverse mode alone, the Jacobians of the
    examples.

    Parameters
    ----------
    model : callable
        Of one example, ``model(params, inputs)``: an array, or a tree of them.
    loss : callable
        Of the outputs of one example, ``loss(outputs, *targets)``, a real floating scalar.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.

    Returns
    -------
    callable
        A function of ``(vector, params, inputs, *targets)``, where ``vector`` is a tree like ``params`` and inputs and
        targets, which may be trees, have the examples along axis 0. It gives a tree like ``params``, in float32 where
        they have less; of no examples NaN.

    Raises
    ------
    MismatchError
        ``vector`` has not the structure, shapes or dtypes of ``params``.
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array.

    References
    ----------
    N. N. Schraudolph, "Fast curvature matrix-vector products for second-order gradient descent", Neural Computation 14
    (7), 2002.

    Examples
    --------
    It equals:

    >>> import cotangent.numpy as cnp
    >>> model = lambda w, x: cnp.tanh(x @ w)
    >>> loss = lambda output, y: cnp.sum((output - y) ** 4)
    >>> w, x, y = cnp.array([[1.0], [0.0]]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([[1.0], [0.5]])
    >>> vector = cnp.array([[1.0], [0.5]])
    >>> j = ct.vmap(ct.jacrev(model), in_axes=(None, 0))(w, x)
    >>> h = ct.vmap(ct.hessian(loss))(ct.vmap(model, in_axes=(None, 0))(w, x), y)
    >>> plain = cnp.einsum("iopq,ior,irst,st->pq", j, h, j, vector) / 2
    >>> product = ct.per_example.gauss_newton_vector_product(model, loss)(vector, w, x, y)
    >>> bool(cnp.allclose(product, plain)), product.shape
    (True, (2, 1))
    """
    caller = Caller("gauss_newton_vector_product", model, chunk_size)
    of_loss = Caller("gauss_newton_vector_product", loss)

    def part(loss: Function, vector: Tree, params: Tree, inputs: Any, *targets: Any) -> Any:
        def curved(outputs: Tree, tangent: Tree, *targets: Any) -> Tree:
            def of_outputs(outputs: Tree) -> Any:
                return loss(outputs, *targets)

            return jvp(grad(of_outputs), (outputs,), (tangent,))[1]

        of_params = losses(model, (inputs,))
        outputs, pull = vjp(of_params, params)
        _check_outputs(outputs, caller)
        if pull.func.has_rule_of_user():
            of_jacobian = _by_jacobians(model, params, inputs)
            tangent = tree_structure(outputs).unflatten(of_jacobian.times(vector))
            return of_jacobian.transposed_times(vmap(curved)(outputs, tangent, *targets)), ()
        cotangents = vmap(curved)(outputs, jvp(of_params, (params,), (vector,))[1], *targets)
        if goes_in_front(pull, params):
            return tree_map(wide, pull(cotangents)[0]), ()

        def pulled_back(inputs: Any, cotangent: Tree) -> Tree:
            return vjp(lambda params: model(params, inputs), params)[1](cotangent)[0]

        return tree_map(lambda g: cnp.sum(wide(g), axis=0), vmap(pulled_back)(inputs, cotangents)), ()

    def gauss_newton_vector_product_fun(vector: Tree, params: Tree, inputs: Any, *targets: Any, **by_name: Any) -> Any:
        caller.size((inputs, *targets), by_name)
        of_loss.before = caller.before
        function, targets = of_loss.by_position(targets, by_name)
        checked = of_loss.loss(function)

        def of_batch(_: Function, vector: Tree, params: Tree, *batch: Any) -> Any:
            return part(checked, vector, params, *batch)

        return reduced(caller, of_batch, means, params, (inputs, *targets), {}, directions=(vector,))

    return caller.named(gauss_newton_vector_product_fun)


def _check_outputs(outputs: Tree, caller: Caller) -> None:
    """What the Hessian of a loss is by."""
    for path, output in tree_flatten_with_path(outputs)[0]:
        if _core.dtype_kind(output.dtype) != "float":
            raise DTypeError(
                f"{caller.text}: it returned {output.dtype} as outputs{keystr(path)}; the loss has a Hessian by real floating outputs\n"
                "  return what is constant as a target instead"
            )


class Jacobians(NamedTuple):
    """Those of the examples, by leaf of the outputs and of the parameters: [b, *output, *parameter].

    A model with a rule of `custom_vjp` has no derivative in a direction but as a product with its Jacobian.
    """

    rows: list[list[Array]]
    structure: Any  # of the parameters

    def times(self, vector: Tree) -> list[Array]:
        """The tangents of the outputs."""
        leaves = tree_leaves(vector)
        return [
            total([cnp.tensordot(j, v, axes=v.ndim) for j, v in zip(row, leaves, strict=True)]) for row in self.rows
        ]

    def transposed_times(self, cotangents: Tree) -> Tree:
        """The sum over examples, in at least float32."""
        pairs = list(zip(self.rows, tree_leaves(cotangents), strict=True))
        sums = [
            total([cnp.tensordot(wide(c), wide(row[index]), axes=c.ndim) for row, c in pairs])
            for index in range(self.structure.num_leaves)
        ]
        return self.structure.unflatten(sums)


def _by_jacobians(model: Function, params: Tree, inputs: Any) -> Jacobians:
    structure = tree_structure(params)
    found = tree_leaves(vmap(jacrev(model), in_axes=(None, 0))(params, inputs))
    count = structure.num_leaves
    return Jacobians([found[start : start + count] for start in range(0, len(found), count)], structure)


check_arguments(globals())
