"""Docstrings of the methods that a `Ragged` shares with arrays: what each computes and an example; what is common is said here once.

Each method is that of an array, run under `mask`. An entry of `METHODS` has a first line, what is special (or nothing), and examples.
"""

from __future__ import annotations

from typing import NamedTuple

from cotangent._base.arguments import check_arguments

__all__ = ["METHODS", "docstring"]


class Method(NamedTuple):
    """A method: its first line, its parameters and what it returns, a sentence more, and examples."""

    summary: str
    parameters: str
    example: str
    more: str = ""
    returns: str = "Ragged\n    Of the same lengths."
    raises: str = ""


_ROWS = ">>> rows = ct.ragged([[1.0, 2.0], [3.0]])"
_ONE = ">>> x = ct.Ragged(np.float32([[1, 2, 9], [3, 4, 9]]), {1: 2})"

_REDUCED = """axis : int or tuple of int, optional
    The axes, those of a batch in front among them; default all.
dtype : dtype, optional
    Of the result, for sums, products and moments.
keepdims : bool, default False
    Whether the axes stay, with size 1.
**options : object
    Further options of the method of an array: ``where``, ``initial``, ``ddof``."""
_ALONG = """axis : int{default}
    The axis, those of a batch in front counted.
**options : object
    Further options of the method of an array."""
_NONE = """*args, **options : object
    Those of the method of an array: {what}."""
_OF_ROWS = "Of a batch it is that of each row; axes are counted with that of the batch, which cannot be named."
_OF_ONE = "It is for one array: of a batch it is an error that says how to map it over the rows."
_NO_BATCH = "ShapeError\n    It is called of a batch."
_BATCH_AXIS = "ShapeError\n    An axis of the batch is named, or, of a batch, none."


def _reduction(summary: str, example: str, more: str = "") -> Method:
    returns = "array or Ragged\n    A `Ragged` where a ragged axis stays."
    raises = "ShapeError\n    The axis of a batch is reduced, and a ragged one stays."
    return Method(summary, _REDUCED, f"{_ROWS}\n{example}", more, returns, raises)


def _along(summary: str, example: str, default: str = ", optional", returns: str = "") -> Method:
    parameters = _ALONG.format(default=default)
    found = returns or "Ragged\n    Of the same lengths."
    return Method(summary, parameters, f"{_ROWS}\n{example}", "", found, _BATCH_AXIS)


def _whole(
    summary: str, what: str, example: str, returns: str = "array or Ragged\n    As of the exact array."
) -> Method:
    return Method(summary, _NONE.format(what=what), f"{_ONE}\n{example}", _OF_ONE, returns, _NO_BATCH)


def _rows(
    summary: str, what: str, example: str, returns: str = "array or Ragged\n    As of the exact arrays."
) -> Method:
    return Method(summary, _NONE.format(what=what), example, _OF_ROWS, returns, _BATCH_AXIS)


METHODS = {
    "all": _reduction("Returns whether all elements are true.", ">>> (rows > 1).all(axis=1).tolist()\n[False, True]"),
    "any": _reduction("Returns whether any element is true.", ">>> (rows > 2).any(axis=1).tolist()\n[False, True]"),
    "max": _reduction(
        "Returns the largest element.",
        ">>> rows.max(axis=1).tolist()\n[2.0, 3.0]",
        "Of no elements it is the least value of the dtype.",
    ),
    "min": _reduction(
        "Returns the smallest element.",
        ">>> rows.min(axis=1).tolist()\n[1.0, 3.0]",
        "Of no elements it is the largest value of the dtype.",
    ),
    "mean": _reduction("Returns the mean of the elements.", ">>> rows.mean(axis=1).tolist()\n[1.5, 3.0]"),
    "prod": _reduction("Returns the product of the elements.", ">>> rows.prod(axis=1).tolist()\n[2.0, 3.0]"),
    "std": _reduction(
        "Returns the standard deviation of the elements.", ">>> rows.std(axis=1).tolist()\n[0.5, 0.0]"
    ),
    "sum": _reduction(
        "Returns the sum of the elements.", ">>> rows.sum(axis=1).tolist(), float(rows.sum())\n([3.0, 3.0], 6.0)"
    ),
    "var": _reduction("Returns the variance of the elements.", ">>> rows.var(axis=1).tolist()\n[0.25, 0.0]"),
    "ptp": Method(
        "Returns the difference of the largest and the smallest element.",
        "axis : int or tuple of int, optional\n    The axes, those of a batch in front among them; default all.\n"
        "keepdims : bool, default False\n    Whether the axes stay, with size 1.",
        f"{_ROWS}\n>>> rows.ptp(axis=1).tolist()\n[1.0, 0.0]",
        returns="array or Ragged\n    A `Ragged` where a ragged axis stays.",
    ),
    "argmax": _along(
        "Returns the position of the largest element along an axis.",
        ">>> rows.argmax(axis=1).tolist()\n[1, 0]",
        returns="array or Ragged\n    Integers.",
    ),
    "argmin": _along(
        "Returns the position of the smallest element along an axis.",
        ">>> rows.argmin(axis=1).tolist()\n[0, 0]",
        returns="array or Ragged\n    Integers.",
    ),
    "cumprod": _along(
        "Returns the products of the elements up to each along an axis.",
        ">>> rows.cumprod(axis=1).tolist()\n[[1.0, 2.0], [3.0]]",
    ),
    "cumsum": _along(
        "Returns the sums of the elements up to each along an axis.",
        ">>> rows.cumsum(axis=1).tolist()\n[[1.0, 3.0], [3.0]]",
    ),
    "argsort": _along(
        "Returns the positions of the elements along an axis, in ascending order.",
        ">>> (-rows).argsort(axis=1).tolist()\n[[1, 0], [0]]",
        ", default -1",
        "Ragged\n    Integers, of the same lengths.",
    ),
    "sort": _along(
        "Returns the elements along an axis in ascending order.",
        ">>> (-rows).sort(axis=1).tolist()\n[[-2.0, -1.0], [-3.0]]",
        ", default -1",
    ),
    "astype": Method(
        "Returns the elements in another dtype.",
        _NONE.format(what="``dtype``"),
        f'{_ROWS}\n>>> rows.astype("int32").tolist()\n[[1, 2], [3]]',
    ),
    "conj": Method(
        "Returns the complex conjugates of the elements.",
        _NONE.format(what="none"),
        ">>> ct.ragged([[1 + 2j], []]).conj().tolist()\n[[(1-2j)], []]",
    ),
    "conjugate": Method(
        "Returns the complex conjugates of the elements; another name of `conj`.",
        _NONE.format(what="none"),
        ">>> ct.ragged([[1 + 2j], []]).conjugate().tolist()\n[[(1-2j)], []]",
    ),
    "copy": Method(
        "Returns a copy, with memory of its own.",
        _NONE.format(what="``order``, of no effect"),
        f"{_ROWS}\n>>> rows.copy().tolist()\n[[1.0, 2.0], [3.0]]",
    ),
    "round": Method(
        "Returns the elements rounded to a number of decimals, halves to even.",
        _NONE.format(what="``decimals``"),
        ">>> ct.ragged([[1.26, 2.5], [3.5]]).round().tolist()\n[[1.0, 2.0], [4.0]]",
    ),
    "clip": Method(
        "Returns the elements held between two bounds.",
        "*args, **options : object\n    ``min`` and ``max``: each a number, an array or a Ragged, aligned as operands of operators"
        " are.",
        f"{_ROWS}\n>>> rows.clip(1.5, 2.5).tolist()\n[[1.5, 2.0], [2.5]]",
    ),
    "reshape": Method(
        "Returns the elements under another shape.",
        "*shape : int\n    The sizes, or one tuple of them; that of a batch begins with the shape of the batch.\n"
        'order : str, default "C"\n    As of the method of an array.',
        f"{_ROWS}\n>>> rows.reshape(2, -1, 1).tolist()\n[[[1.0], [2.0]], [[3.0]]]",
        returns="array or Ragged\n    As of the exact array.",
        raises="ShapeError\n    The shape does not begin with that of the batch, or has another number of elements.",
    ),
    "flatten": _whole(
        "Returns the elements along one axis.", "``order``", ">>> x.flatten().tolist()\n[1.0, 2.0, 3.0, 4.0]"
    ),
    "ravel": _whole(
        "Returns the elements along one axis.", "``order``", ">>> x.ravel().tolist()\n[1.0, 2.0, 3.0, 4.0]"
    ),
    "choose": _whole(
        "Returns elements of several arrays, as the integers here say.",
        "``choices`` and ``mode``",
        '>>> x.astype("int32").choose(np.arange(10), mode="clip").tolist()\n[[1, 2], [3, 4]]',
    ),
    "searchsorted": _whole(
        "Returns where elements belong among the sorted ones of a vector.",
        "``v``, ``side`` and ``sorter``",
        ">>> ct.Ragged(np.float32([1, 2, 9]), {0: 2}).searchsorted(np.float32([1.5, 5])).tolist()\n[1, 2]",
        "array\n    Integers.",
    ),
    "diagonal": _rows(
        "Returns the diagonal of matrices.",
        "``offset``, ``axis1`` and ``axis2``",
        f"{_ONE}\n>>> x.diagonal().tolist()\n[1.0, 4.0]",
    ),
    "trace": _rows(
        "Returns the sum of the diagonal of matrices.",
        "``offset``, ``axis1`` and ``axis2``",
        f"{_ONE}\n>>> float(x.trace())\n5.0",
    ),
    "dot": _rows(
        "Returns the product with a vector or a matrix.",
        "``b``",
        f"{_ONE}\n>>> x.dot(ct.Ragged(np.float32([1, 10, 9]), {{0: 2}})).tolist()\n[21.0, 43.0]",
    ),
    "repeat": _rows(
        "Returns each element several times.",
        "``repeats`` and ``axis``",
        f"{_ROWS}\n>>> rows.repeat(2, axis=1).tolist()\n[[1.0, 1.0, 2.0, 2.0], [3.0, 3.0]]",
    ),
    "squeeze": _rows(
        "Returns the array without axes of size 1.",
        "``axis``",
        ">>> ct.ragged([[[1.0], [2.0]], [[3.0]]]).squeeze(-1).tolist()\n[[1.0, 2.0], [3.0]]",
    ),
    "swapaxes": _rows(
        "Returns the array with two axes exchanged.",
        "``axis1`` and ``axis2``",
        f"{_ONE}\n>>> x.swapaxes(0, 1).tolist()\n[[1.0, 3.0], [2.0, 4.0]]",
    ),
    "take": _rows(
        "Returns the elements at some positions along an axis.",
        "``indices``, ``axis``, ``mode`` and ``fill_value``",
        f"{_ROWS}\n>>> rows.take(np.array([0]), axis=1).tolist()\n[[1.0], [3.0]]",
    ),
    "transpose": _rows(
        "Returns the array with its axes in another order, by default reversed.",
        "``axes``",
        f"{_ONE}\n>>> x.transpose().tolist()\n[[1.0, 3.0], [2.0, 4.0]]",
    ),
}  # fmt: skip


def docstring(name: str) -> str | None:
    """The docstring of a method; None for what is not in the table."""
    method = METHODS.get(name)
    if method is None:
        return None
    sections = [method.summary]
    if method.more:
        sections.append(method.more)
    sections.append(f"Parameters\n----------\n{method.parameters}")
    sections.append(f"Returns\n-------\n{method.returns}")
    if method.raises:
        sections.append(f"Raises\n------\n{method.raises}")
    sections.append(f"Examples\n--------\n{method.example}")
    return "\n\n".join(sections)


check_arguments(globals())
