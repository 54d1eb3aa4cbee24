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
]


class MismatchError(ShapeError, DTypeError, ValueError):
    """A tangent or cotangent that has not the structure, shape or dtype of what it belongs to."""


class MemoryLimitError(MemoryError):
    """A program needs more temporary memory than `jit` was told to use, however few examples it computes at a time."""


class DeletedArrayError(ValueError, RuntimeError):
    """An array that was deleted or donated is used."""


class DataDependentShapeError(ConcretizationError):
    """A shape that depends on values that are not known, in a program whose shapes are: sizes are values inside of ``ct.mask``."""


class NonConcreteBooleanIndexError(DataDependentShapeError, IndexError):
    """A bool index whose values are not known, so that neither is the shape of what it selects."""


# JAX's names, for programs that catch them.
ConcretizationTypeError = TracerBoolConversionError = TracerArrayConversionError = ConcretizationError
TracerIntegerConversionError = ConcretizationError
UnexpectedTracerError = TracerLeakError
