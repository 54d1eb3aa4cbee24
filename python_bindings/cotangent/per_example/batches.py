"""What the functions of this package share: gradients of examples, and sums over chunks of a batch.

`over_chunks` is the heart: a function of a batch that returns sums over its examples and results for each of them is run on some examples
at a time, so that gradients of a whole batch never exist at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from cotangent import numpy as cnp
from cotangent._core import Array
from cotangent._transforms.batching import vmap
from cotangent._transforms.chunks import scan_pieces
from cotangent._transforms.memory_limits import DIVISION, with_division
from cotangent._transforms.programs import eval_shape
from cotangent._transforms.reverse import grad
from cotangent.ad_checkpoint import checkpoint
from cotangent.custom_derivatives import custom_jvp
from cotangent.per_example.caller import Caller, Function, Tree
from cotangent.tree_util import tree_flatten, tree_leaves, tree_map


def gradients(loss: Function, params: Tree, batch: Sequence[Any], has_aux: bool = False) -> Any:
    """The gradients of examples, stacked along axis 0, in float32 where parameters have less; and what the loss returns beside."""
    found = vmap(grad(loss, has_aux=has_aux), in_axes=(None, *(0 for _ in batch)))(params, *batch)
    gradient, aux = found if has_aux else (found, None)
    return tree_map(wide, gradient), aux


def weighted(weights: Array, gradient: Tree) -> Tree:
    """The sum over examples of their gradients, each times a weight.

    The compiler finds the products of weighted activations where there are some.
    """
    return tree_map(lambda g: cnp.einsum("i,i...->...", weights.astype(g.dtype), g), gradient)


def goes_in_front(pull: Any, params: Tree) -> bool:
    """Whether a weight of an example may be multiplied with its cotangent, so that gradients are never those of single examples.

    Backward rules of `custom_vjp` need not be linear, as those that clip are not: what they make of a weighted cotangent is another thing
    than their weighted result. And sums in the dtypes of half precision would overflow.

    Args:
        pull: what `vjp` of the losses has returned.
    """
    return not pull.func.has_rule_of_user() and all(cnp.asarray(p).dtype.itemsize >= 4 for p in tree_leaves(params))


def inner_products(gradient: Tree, vector: Tree) -> Array:
    """The inner product of each example's gradient with one direction: [b]."""
    pairs = zip(tree_leaves(gradient), tree_leaves(vector), strict=True)
    return total([cnp.tensordot(g, v.astype(g.dtype), axes=v.ndim) for g, v in pairs])


def losses(loss: Function, batch: Sequence[Any]) -> Function:
    """What each example gives, as a function of the parameters."""
    mapped = vmap(loss, in_axes=(None, *(0 for _ in batch)))
    return lambda params: mapped(params, *batch)


def wide(x: Array) -> Array:
    """In at least float32, which sums and squares of many numbers need."""
    return x.astype("float32") if x.dtype.itemsize < 4 else x


def scalar(x: Any, dtype: Any) -> Any:
    """A known number as a literal of the program, which takes the dtype beside it; an array in that dtype."""
    return float(x) if isinstance(x, np.float64) else x.astype(dtype)


def narrow(sums: Tree, params: Tree) -> Tree:
    """Sums in the dtypes of the parameters."""
    return tree_map(lambda x, like: x.astype(cnp.asarray(like).dtype), sums, params)


def total(leaves: Sequence[Array]) -> Array:
    """The sum of arrays of one shape."""
    result = leaves[0]
    for leaf in leaves[1:]:
        result = result + leaf
    return result


def divided(sums: Array, count: Any) -> Array:
    """A sum as a mean; of nothing it is NaN."""
    quotient: Array = sums / cnp.asarray(count, sums.dtype)
    return quotient


def sum_over_axes(x: Array) -> Array:
    """The sum over all axes but the first: [b]."""
    return cnp.sum(x, axis=tuple(range(1, x.ndim)))


@custom_jvp
def norm(*arrays: Array) -> Array:
    """The norm of several arrays for each place of their leading axis: [b], in float64.

    Squares of float32 and their sums are made in float64, where they neither overflow nor underflow. The derivative is made in the dtypes of
    the arrays; where all are zero, where a norm has none, it is 0.
    """
    root: Array = cnp.sqrt(total([sum_over_axes(cnp.square(x.astype("float64"))) for x in arrays]))
    return root


@norm.defjvp
def _norm_jvp(primals: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, Array]:
    result = norm(*primals)

    def slope(x: Array, tangent: Array) -> Array:
        divisor = result.astype(x.dtype)
        divisor = cnp.where(divisor == 0, 1, divisor).reshape((-1, *(1 for _ in x.shape[1:])))
        return sum_over_axes(x / divisor * tangent).astype("float64")

    return result, total([slope(x, tangent) for x, tangent in zip(primals, tangents, strict=True)])


def over_chunks(
    function: Function, batch: tuple[Any, ...], caller: Caller, merge: Callable[[Tree, Tree], Tree] | None = None
) -> tuple[Tree, Tree]:
    """Sums over all examples of a batch, and results for each of them.

    Args:
        function: of a part of the batch, ``(sums, each)``: ``each`` has the examples along axis 0.
        caller: says how many examples are computed at a time.
        merge: how the sums of two parts become those of both, where they are not added; of all zeros and others it gives the others.
    """
    size, chunk = caller.size(batch), caller.chunk_size
    if chunk is not None and not isinstance(size, int):
        raise ValueError(
            f"{caller.text}: chunk_size={chunk}, but the number of examples is ragged\n  leave chunk_size out"
        )
    division, within_limit = DIVISION.get(), False
    if division is not None and chunk is None and isinstance(size, int):
        chunk, division = division.chunk(size)
        within_limit = chunk < size
    with with_division(division):
        return _over_chunks(function, batch, size, chunk, merge, within_limit)


def _over_chunks(
    function: Function, batch: tuple[Any, ...], size: Any, chunk: int | None, merge: Any, within_limit: bool
) -> tuple[Tree, Tree]:
    """The same for chunks that are chosen."""
    if chunk is None or size <= chunk:
        result: tuple[Tree, Tree] = function(*batch)
        return result
    merge = merge or (lambda a, b: tree_map(cnp.add, a, b))
    leaves, structure = tree_flatten(batch)
    arrays = [cnp.asarray(leaf) for leaf in leaves]

    def part(first: int, last: int) -> list[Array]:
        return [x[first:last] for x in arrays]

    example = structure.unflatten(part(0, chunk))
    sums = tree_map(lambda s: cnp.zeros(s.shape, s.dtype), eval_shape(lambda *b: function(*b)[0], *example))

    def step(sums: Tree, part: Sequence[Array]) -> tuple[Tree, Tree]:
        more, each = function(*structure.unflatten(list(part)))
        return merge(sums, more), each

    chunks, rest = divmod(size, chunk)
    stacked = [x[: chunks * chunk].reshape((chunks, chunk, *x.shape[1:])) for x in arrays]
    sums, each = scan_pieces(step, sums, stacked, chunks, within_limit)
    outputs, out_structure = tree_flatten(each)
    outputs = [y.reshape((chunks * chunk, *y.shape[2:])) for y in outputs]
    if rest:
        sums, last = (checkpoint(step) if within_limit else step)(sums, part(size - rest, size))
        outputs = [cnp.concatenate([y, z]) for y, z in zip(outputs, tree_flatten(last)[0], strict=True)]
    return sums, out_structure.unflatten(outputs)


class Reduction(NamedTuple):
    """What `over_chunks` has found, and what it is of."""

    sums: Tree
    each: Tree
    params: Tree
    size: Any  # the number of examples


def reduced(
    caller: Caller,
    part: Function,
    finish: Function,
    params: Tree,
    batch: tuple[Any, ...],
    by_name: dict[str, Any],
    *,
    directions: tuple[Tree, ...] = (),
    merge: Callable[[Tree, Tree], Tree] | None = None,
) -> Any:
    """What most functions of this package do: check what they are given, go over chunks of the batch, and finish, as one program.

    Args:
        part: of ``(loss, *directions, params, *examples)``, otherwise as of `over_chunks`.
        finish: of the `Reduction`: the result.
        by_name: the arrays of the batch that were given by name.
        directions: trees like ``params``.
        merge: as of `over_chunks`.
    """
    caller.check_params(params)
    directions = tuple(caller.check_like_params(direction, params) for direction in directions)
    size = caller.size(batch, by_name)
    function, batch = caller.by_position(batch, by_name)
    loss = caller.loss(function)

    def program(directions: tuple[Tree, ...], params: Tree, *batch: Any) -> Any:
        def of_chunk(*examples: Any) -> tuple[Tree, Tree]:
            found: tuple[Tree, Tree] = part(loss, *directions, params, *examples)
            return found

        return finish(Reduction(*over_chunks(of_chunk, batch, caller, merge), params, size))

    return caller.evaluate(program, directions, params, *batch)


def means(found: Reduction) -> Tree:
    """Sums as means over examples: a way to finish.

    They are of squares of gradients, which have twice their range: what fits half precision need not fit it squared, so they stay in float32.
    """
    return tree_map(lambda s: divided(s, found.size), found.sums)


def of_each(found: Reduction) -> Tree:
    """The results for each example: a way to finish."""
    return found.each


def with_stand_ins(batch: tuple[Any, ...], present: Array, caller: Caller) -> tuple[Any, ...]:
    """A batch in which the first example that is there stands in for all that are not.

    What is made of absent examples is dropped afterwards; here they become something that a derivative exists at. Zero times the
    derivative at an example that is not a number would be none, and zeros need not be in the domain of the loss. Zeros they are
    if nobody is there.
    """
    if caller.size(batch) == 0:
        return batch
    first, any_present = cnp.argmax(present), cnp.any(present)

    def filled(x: Any) -> Array:
        x = cnp.asarray(x)
        stand_in = cnp.where(any_present, x[first], cnp.zeros_like(x[0]))
        result: Array = cnp.where(present.reshape((-1, *(1 for _ in x.shape[1:]))), x, stand_in)
        return result

    filled_batch: tuple[Any, ...] = tree_map(filled, batch)
    return filled_batch
