"""The exceptions of this package.

Wrong values, types and indices raise the builtin ``ValueError``, ``TypeError`` and ``IndexError``; what the program could not
have known has a class of its own here. Every message says what is wrong, where in the user's program, and what to do.
"""

from cotangent._core import (
    ConcretizationError,
    CorruptFileError,
    DeviceError,
    DTypeError,
    InternalError,
    NotDifferentiableError,
    ShapeError,
    TracerLeakError,
    leaving,
)

__all__ = [
    "ConcretizationError",
    "ConcretizationTypeError",
    "CorruptFileError",
    "DTypeError",
    "DataDependentShapeError",
    "DeletedArrayError",
    "DeviceError",
    "InternalError",
    "MemoryLimitError",
    "MismatchError",
    "NonConcreteBooleanIndexError",
    "NotDifferentiableError",
    "ShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TracerLeakError",
    "UnexpectedTracerError",
    "explain",
]


class MismatchError(ShapeError, DTypeError, ValueError):
    """A tangent or cotangent that has not the structure, shape or dtype of what it belongs to.

    Raised by `jvp`, and by the functions that `vjp`, `linearize` and `linear_transpose` return. Give it the structure, shapes
    and dtypes that the message names; float0 for integers. It is a ShapeError, a DTypeError and a ValueError.

    Examples
    --------
    >>> ct.jvp(ct.numpy.sin, (1.0,), (np.ones(2, np.float32),))
    Traceback (most recent call last):
        ...
    cotangent.errors.MismatchError: ...
    """


class MemoryLimitError(MemoryError):
    """A program needs more temporary memory than `jit` was told to use, however few examples it computes at a time.

    Raised by calls of functions that are jitted with ``memory_limit``. Raise the limit, map with `vmap` what stands in a
    batch, or compute intermediate results again with `checkpoint`. It is a MemoryError.

    Examples
    --------
    >>> f = ct.jit(lambda x: ct.numpy.sort(ct.numpy.exp(x) @ x), memory_limit=16)
    >>> f(np.ones((64, 64), np.float32))
    Traceback (most recent call last):
        ...
    cotangent.errors.MemoryLimitError: ...
    """


class DeletedArrayError(ValueError, RuntimeError):
    """An array that was deleted or donated is used.

    Raised by whatever needs its elements, after ``x.delete()``, or after a call of a function with ``donate_argnums`` that has
    written results to its memory. Use the result, or do not donate. It is a ValueError and a RuntimeError.

    Examples
    --------
    >>> x = ct.numpy.ones(3)
    >>> x.delete()
    >>> x + 1
    Traceback (most recent call last):
        ...
    cotangent.errors.DeletedArrayError: ...
    """


class DataDependentShapeError(ConcretizationError):
    """A shape that depends on values that are not known, in a program whose shapes are.

    Raised under `linear_transpose`, and by what is captured without running, for ``nonzero(x)``, ``x[: argmax(x)]`` and the
    like. `jit`, `vmap` and loops run such functions as `mask` does, where sizes are values. Give ``size=`` to functions that
    have it, or compute under `ct.mask`. It is a ConcretizationError.

    Examples
    --------
    >>> ct.linear_transpose(ct.numpy.nonzero, np.float32([0, 1]))
    Traceback (most recent call last):
        ...
    cotangent.errors.DataDependentShapeError: ...
    >>> ct.jit(ct.numpy.flatnonzero)(np.float32([0, 1, 1])).unpad().tolist()
    [1, 2]
    """


class NonConcreteBooleanIndexError(DataDependentShapeError, IndexError):
    """A bool index whose values are not known, so that neither is the shape of what it selects.

    Raised where DataDependentShapeError is, by ``x[x > 0]``. Use the three-argument ``ct.numpy.where``, or compute under
    `ct.mask`. It is a DataDependentShapeError and an IndexError.

    Examples
    --------
    >>> ct.linear_transpose(lambda x: x[x > 0], np.float32([1, -2, 3]))
    Traceback (most recent call last):
        ...
    cotangent.errors.NonConcreteBooleanIndexError: ...
    >>> ct.jit(lambda x: x[x > 0])(np.float32([1, -2, 3])).unpad().tolist()
    [1.0, 3.0]
    """


# JAX's names, for programs that catch them.
ConcretizationTypeError = TracerBoolConversionError = TracerArrayConversionError = ConcretizationError
TracerIntegerConversionError = ConcretizationError
UnexpectedTracerError = TracerLeakError


@leaving
def explain(section: str) -> str:
    """Returns what the page of errors says of a kind of error: the smallest program that causes it, and its repair.

    Parameters
    ----------
    section : str
        What the last line of a message names: ``"docs/errors.md#shape-mismatch"``, or ``"shape-mismatch"``.

    Returns
    -------
    str
        The section, in Markdown.

    Raises
    ------
    ValueError
        The page has no such section.

    Examples
    --------
    >>> ct.errors.explain("shape-mismatch").splitlines()[0]
    '### Shapes that do not broadcast'
    """
    import difflib
    import re
    from pathlib import Path

    name = section.rpartition("#")[2]
    text = (Path(__file__).parent / "errors.md").read_text()
    parts = re.split(r"^\(([\w-]+)\)=\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    if name not in sections:
        near = "".join(f"; did you mean {meant!r}?" for meant in difflib.get_close_matches(name, sections, 1))
        raise ValueError(f"errors.explain: there is no section {name!r}{near}\n  it has {', '.join(sections)}")
    return re.split(r"^## ", sections[name], flags=re.MULTILINE)[0].strip()
