"""`einsum`: sums of products that subscripts describe."""

from __future__ import annotations

import functools
import importlib.util
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments
from cotangent._base.device import Placement
from cotangent._base.messages import marked
from cotangent._base.missing import needed
from cotangent._core import Array
from cotangent._ops.binding import no_out, own
from cotangent._ops.contraction_order import MOST_SEARCHED, Step, contraction_order
from cotangent._ops.diagonals import diagonal
from cotangent._ops.extents import drop_axes
from cotangent._ops.products import dot_general
from cotangent._ops.reductions import sum as _sum
from cotangent._ops.sizes import several
from cotangent.errors import ShapeError

__all__ = ["einsum", "einsum_path"]


def _letters(count: int, used: str) -> list[str]:
    """Labels that do not occur yet."""
    free = [letter for letter in map(chr, range(0x100, 0x100 + count + len(used))) if letter not in used]
    return free[:count]


def _parse(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, ellipses written out."""
    text = subscripts.replace(" ", "")
    for character in text.replace("->", "").replace("...", "").replace(",", ""):
        if not character.isalpha():
            raise ValueError(
                f"einsum: {character!r} in {subscripts!r} is not a label; labels are letters\n"
                "  label axes with letters, as in 'ij,jk->ik'"
            )
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(
            f"einsum: {subscripts!r} describes {len(terms)} operands, but there are {len(ranks)}\n"
            "  write one term for each operand, with commas between them"
        )
    widest = 0
    for term, rank in zip(terms, ranks, strict=True):
        if "..." in term:
            widest = max(widest, rank - (len(term) - 3))
    broadcast = "".join(_letters(widest, text))
    written = []
    for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        if "..." in term:
            count = rank - (len(term) - 3)
            if count < 0:
                raise ValueError(
                    f"einsum: operand {i} has {rank} axes, {term!r} needs at least {len(term) - 3}\n"
                    "  leave labels out of the term, or give the operand more axes: x[None]"
                )
            term = term.replace("...", broadcast[widest - count :])
        elif len(term) != rank:
            raise ValueError(
                f"einsum: operand {i} has {rank} axes, but {term!r} has {len(term)} labels\n"
                "  write one label for each axis, or ... for those in front"
            )
        written.append(term)
    if not arrow:
        joined = "".join(written)
        labels = sorted(label for label in set(joined) if joined.count(label) == 1 and label not in broadcast)
        return written, broadcast + "".join(labels)
    result = result.replace("...", broadcast)
    if len(set(result)) != len(result):
        raise ValueError(
            f"einsum: a label occurs twice in the result of {subscripts!r}\n"
            "  write each label once in the result, and take what is on a diagonal with ct.numpy.diag of it"
        )
    for label in result:
        if label not in "".join(written):
            raise ValueError(
                f"einsum: the result of {subscripts!r} has label {label!r}, which no operand has\n"
                f"  leave {label!r} out, or write it in an operand's term"
            )
    return written, result


def _diagonals(x: Array, labels: str) -> tuple[Array, str]:
    """A label that occurs twice in an operand is its diagonal."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            if x._bound_shape[i] != x._bound_shape[j]:
                raise ShapeError(
                    f"einsum: label {label!r} has sizes {x._bound_shape[i]} and {x._bound_shape[j]} in one operand\n"
                    "  write two labels, or cut the axes to one size"
                )
            x = diagonal(x, 0, i, j)
            labels = "".join(other for k, other in enumerate(labels) if k not in (i, j)) + label
    return x, labels


def _sum_labels(x: Array, labels: str, keep: set[str]) -> tuple[Array, str]:
    axes = [i for i, label in enumerate(labels) if label not in keep]
    if not axes:
        return x, labels
    summed = _core.convert(_sum(x, tuple(axes)), x.dtype)
    return summed, "".join(label for label in labels if label in keep)


Product = Callable[[Array, Array, tuple[list[int], list[int]], tuple[list[int], list[int]]], Array]


def _contract(
    x: Array, x_labels: str, y: Array, y_labels: str, keep: set[str], product: Product = dot_general
) -> tuple[Array, str]:
    """The product of two operands, summed over labels that nobody needs any more."""
    x, x_labels = _sum_labels(x, x_labels, keep | set(y_labels))
    y, y_labels = _sum_labels(y, y_labels, keep | set(x_labels))
    shared = [label for label in x_labels if label in y_labels]
    # Axes of size 1 that are broadcast against a longer one are no contraction: they are summed or dropped first.
    for label in shared:
        m, n = x._bound_shape[x_labels.index(label)], y._bound_shape[y_labels.index(label)]
        if m != n and m == 1:
            i = x_labels.index(label)
            x, x_labels = drop_axes(x, [i]), x_labels.replace(label, "")
        elif m != n and n == 1:
            j = y_labels.index(label)
            y, y_labels = drop_axes(y, [j]), y_labels.replace(label, "")
    x, x_labels = _sum_labels(x, x_labels, keep | set(y_labels))
    y, y_labels = _sum_labels(y, y_labels, keep | set(x_labels))
    shared = [label for label in x_labels if label in y_labels]
    batch = [label for label in shared if label in keep]
    summed = [label for label in shared if label not in keep]
    result = product(
        x,
        y,
        ([x_labels.index(label) for label in summed], [y_labels.index(label) for label in summed]),
        ([x_labels.index(label) for label in batch], [y_labels.index(label) for label in batch]),
    )
    rest = [label for label in x_labels if label not in shared] + [label for label in y_labels if label not in shared]
    return result, "".join(batch + rest)


def _as_text(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The form ``einsum(x, [0, 1], y, [1, 2], [0, 2])`` as subscripts and operands."""
    behind = len(operands) // 2 * 2
    arrays = list(operands[:behind:2])
    lists, result = [list(item) for item in operands[1:behind:2]], [list(item) for item in operands[behind:]]
    labels = sorted({label for item in [*lists, *result] for label in item if label is not Ellipsis})
    letters = dict(zip(labels, _letters(len(labels), ""), strict=True))

    def term(item: Any) -> str:
        return "".join("..." if label is Ellipsis else letters[label] for label in item)

    return "->".join([",".join(map(term, lists)), *map(term, result)]), arrays


def _is_labels(item: Any) -> bool:
    return several(item) and not isinstance(item, Array)


def _operands(subscripts: Any, operands: tuple[Any, ...]) -> tuple[str, list[Array]]:
    arrays: list[Any] = list(operands)
    if not isinstance(subscripts, str):
        if not operands or not _is_labels(operands[0]):
            raise TypeError(
                "einsum: the first argument must be the subscripts, a string such as 'ij,jk->ik'\n"
                "  write einsum('ij,jk->ik', x, y)"
            )
        subscripts, arrays = _as_text((subscripts, *operands))
    if not arrays:
        raise ValueError("einsum needs at least one operand\n  give an array for each term, after the subscripts")
    return subscripts, [_core.array(x) for x in arrays]


@functools.lru_cache(maxsize=1024)
def _path(terms: tuple[str, ...], result: str, shapes: tuple[tuple[int, ...], ...], optimize: str) -> list[Step]:
    """The order of contraction: positions of operands, of which each step takes some and appends their product."""
    if optimize == "auto" or (optimize == "optimal" and len(terms) <= MOST_SEARCHED):
        sizes: dict[str, int] = {}
        for labels, shape in zip(terms, shapes, strict=True):
            for label, size in zip(labels, shape, strict=True):
                sizes[label] = max(size, sizes.get(label, size))
        return contraction_order(terms, result, sizes)
    if optimize in ("greedy", "optimal") and importlib.util.find_spec("opt_einsum") is None:
        return _path(terms, result, shapes, "auto")  # NumPy has these names without that package, too
    opt_einsum = needed("opt_einsum", f"einsum with optimize={optimize!r}")
    path, _ = opt_einsum.contract_path(_text(terms, result), *shapes, shapes=True, optimize=optimize)
    return [tuple(step) for step in path]


def _text(terms: Sequence[str], result: str) -> str:
    return ",".join(terms) + "->" + result


def _order(terms: list[str], result: str, arrays: list[Array], optimize: Any) -> list[Step]:
    if isinstance(optimize, (list, tuple)) and len(optimize) == 2 and optimize[0] in ("greedy", "optimal", "auto"):
        optimize = optimize[0]  # behind it is a limit of memory, which no step here goes beyond but the last one
    if isinstance(optimize, (list, tuple)):
        return [tuple(step) for step in optimize if not isinstance(step, str)]
    if len(arrays) <= 2 or optimize is False:
        return [tuple(range(len(arrays)))]
    name = "auto" if optimize is True else optimize
    return _path(tuple(terms), result, tuple(x._bound_shape for x in arrays), name)


def _report(text: str, shapes: list[tuple[int, ...]], path: list[Step]) -> Any:
    """What an order costs: opt_einsum's object, or NumPy's text where that package is not installed."""
    try:
        import opt_einsum  # type: ignore[import-untyped, unused-ignore]
    except ModuleNotFoundError:
        labels = sorted(set(text) - set(",->"))  # those of ellipses are no letters of NumPy's
        text = text.translate(dict(zip(map(ord, labels), string.ascii_letters, strict=False)))
        without_elements = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
        return np.einsum_path(text, *without_elements, optimize=["einsum_path", *path])[1]
    return opt_einsum.contract_path(text, *shapes, shapes=True, optimize=path)[1]


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[list[tuple[int, ...]], Any]:
    """The order in which `einsum` contracts its operands, and a report on its cost.

    Parameters
    ----------
    subscripts : str
        As for `einsum`.
    *operands : array
        As for `einsum`.
    optimize : bool or str, default "auto"
        As for `einsum`.

    Returns
    -------
    tuple of a list and a report
        The positions of the operands that each step contracts, whose product comes last then; and what it costs, to
        print: an object of the package opt_einsum, or NumPy's text where that is not installed.

    Raises
    ------
    ImportError
        The order is one of opt_einsum's, which is not installed.

    Examples
    --------
    >>> path, _ = ct.numpy.einsum_path("ij,jk,kl->il", np.ones((2, 9)), np.ones((9, 9)), np.ones((9, 3)))
    >>> path
    [(0, 1), (0, 1)]
    """
    text, arrays = _operands(subscripts, operands)
    terms, result = _parse(text, [x.ndim for x in arrays])
    path = _order(terms, result, arrays, optimize)
    return path, _report(_text(terms, result), [x._bound_shape for x in arrays], path)


@own
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] | None = None,
    out_sharding: Placement = None,
) -> Array:
    """The sum of products that subscripts describe.

    Operands are contracted in pairs by matrix products, where there are any. A label that occurs twice in one operand
    is its diagonal.

    Parameters
    ----------
    subscripts : str
        The labels of the axes of each operand, and after ``->`` those of the result; ``...`` stands for further axes,
        which are broadcast. Without ``->`` the result has the labels that occur once, sorted. Or arrays and lists of
        integer labels in turn.
    *operands : array
        Numbers; promoted to a common dtype. Axes of one label have one size, or 1.
    out : None
        Must be None: write ``out[...] = `` what is returned.
    optimize : bool, str or list, default "auto"
        In which order more than two operands are contracted. "auto" and True: in that of the fewest products for up
        to 8 operands, and in a good one for more. False: all in one step, from left to right. A list of steps, as
        `einsum_path` returns it; or the name of an algorithm of the package opt_einsum, if that is installed. Without
        it, NumPy's names "greedy" and "optimal" are as "auto"; of a pair of a name and a limit of memory, only the name
        counts.
    precision : str, Precision or None, default None
        Looked at only: products have at least the precision of their dtype, which satisfies all of them.
    preferred_element_type : dtype, optional
        What the operands are converted to; the dtype of the result. None: their common dtype.
    _dot_general : callable, optional
        What makes the products in place of `ct.lax.dot_general`, with its arguments: quantized ones, say.
    out_sharding : Device, str or sharding, optional
        Where the result is made. None: where the operands are.

    Returns
    -------
    array
        With the axes that the result's labels say.

    Raises
    ------
    ValueError
        The subscripts do not fit the operands.
    ShapeError
        A label has two sizes.
    ImportError
        The order is one of opt_einsum's, which is not installed.

    Examples
    --------
    >>> ct.numpy.einsum("ij,j->i", [[1, 2], [3, 4]], [10, 1])
    Array([12, 34], dtype=int32)

    >>> ct.numpy.einsum("ii", [[1, 2], [3, 4]])
    Array(5, dtype=int32)
    """
    no_out(out, "einsum")
    product: Product = dot_general
    if _dot_general is not None:

        def product(x: Array, y: Array, contracted: Any, batched: Any) -> Array:
            numbers = tuple(map(tuple, contracted)), tuple(map(tuple, batched))
            return _core.array(_dot_general(x, y, numbers, precision, preferred_element_type=preferred_element_type))

    text, arrays = _operands(subscripts, operands)
    dtype = (
        _core.promote_types([(x.dtype, x.weak_type) for x in arrays])[0]
        if preferred_element_type is None
        else _core.canonical_dtype(preferred_element_type)
    )
    arrays = [_core.convert(x, dtype) for x in arrays]
    terms, result = _parse(text, [x.ndim for x in arrays])
    sizes: dict[str, tuple[int, int, int]] = {}
    for i, (x, term) in enumerate(zip(arrays, terms, strict=True)):
        for axis, (label, size) in enumerate(zip(term, x._bound_shape, strict=True)):
            known, other, place = sizes.get(label, (1, i, axis))
            if known != 1 and size not in (1, known):
                meeting = (
                    [(x.shape, [place, axis])] if other == i else [(arrays[other].shape, [place]), (x.shape, [axis])]
                )
                name = f"label {label!r}" if label in text else "an axis of ..."
                raise ShapeError(
                    f"einsum: {name} has size {known} in operand {other}, and {size} in operand {i}{marked(*meeting)}\n"
                    "  transpose or cut an operand so that axes of one label have one size, or write two labels\n"
                    "  see docs/errors.md#product-mismatch"
                )
            sizes[label] = (size, i, axis) if known == 1 else (known, other, place)
    pending = [_diagonals(x, term) for x, term in zip(arrays, terms, strict=True)]
    for step in _order([labels for _, labels in pending], result, [x for x, _ in pending], optimize):
        taken = [pending[i] for i in step]
        pending = [pair for i, pair in enumerate(pending) if i not in step]
        current, labels = taken[0]
        for position in range(1, len(taken)):
            later = [other for _, other in [*taken[position + 1 :], *pending]]
            current, labels = _contract(current, labels, *taken[position], set(result).union(*later), product)
        pending.append((current, labels))
    if len(pending) != 1:
        raise ValueError(
            f"einsum: the steps of optimize leave {len(pending)} operands\n"
            "  name all operands: the last step takes all that are left, as in optimize=[(0, 1)] for two"
        )
    current, labels = _sum_labels(*pending[0], set(result))
    order = [labels.index(label) for label in result]
    if order != list(range(len(order))):
        current = primitives.transpose(current, permutation=order)
    return current


check_arguments(globals())
