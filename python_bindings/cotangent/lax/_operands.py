"""What the functions of this package take: arrays of one dtype, of equal shapes.

Python numbers (and other weakly typed values) take the dtype of the arrays beside them when they are of its kind. Scalars
go with every shape, and axes of size 1 with every size, among arrays of equally many axes. Anything else is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import as_list
from cotangent._base.messages import marked
from cotangent._core import Array, Primitive
from cotangent._ops.extents import alike, capacities, capacity
from cotangent.errors import DTypeError, ShapeError

INTEGERS = ("signed", "unsigned")
FLOATS = ("float",)
INEXACTS = ("float", "complex")
REALS = (*INTEGERS, *FLOATS)
NUMBERS = (*INTEGERS, *INEXACTS)
BITS = ("bool", *INTEGERS)
ORDERED = ("bool", *REALS)
ANY = ("bool", *NUMBERS)

_WORDS = {
    "bool": "bool",
    "signed": "signed integer",
    "unsigned": "unsigned integer",
    "float": "float",
    "complex": "complex",
}
_SAME_AS_NUMPY = {  # where ct.numpy's function, which promotes, has another name
    "sub": "subtract", "mul": "multiply", "div": "divide", "rem": "fmod", "max": "maximum", "min": "minimum",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "select": "where", "clamp": "clip", "pad": "", "shift_left": "left_shift", "shift_right_arithmetic": "right_shift",
}  # fmt: skip


def as_array(name: str, x: Any) -> Array:
    """An operand as an array.

    Raises:
        TypeError: it is a list, a tuple or another nest.
    """
    if isinstance(x, Array):
        return x
    if isinstance(x, (list, tuple, dict)):
        raise TypeError(
            f"lax.{name} takes arrays and numbers; got {type(x).__name__}\n  make an array with ct.numpy.array"
        )
    return _core.array(x)


def listed(function: str, what: str, values: Any, instead: str = "") -> list[Any]:
    """What there is one of for each axis, or for each array, as a list; TypeError if it cannot be iterated over."""
    return as_list(f"lax.{function}", what, values, instead)


def check_square(function: str, matrix: Array) -> None:
    """Raises ShapeError unless the last two axes have equal sizes."""
    if matrix.ndim < 2 or capacity(matrix, -1) != capacity(matrix, -2):
        raise ShapeError(
            f"{function} takes square matrices; got shape {matrix.shape}\n"
            "  the last two axes must have equal sizes: cut the longer one, or take the product with x.mT"
        )


def numbered(count: int) -> str:
    """The numbers of ``count`` things, as errors name them."""
    return ["none", "0", "0 or 1"][count] if count < 3 else f"0 … {count - 1}"


def _kinds(dtype: Any) -> str:
    kind = _core.dtype_kind(dtype)
    return "integer" if kind in INTEGERS else kind


def _is_weak(given: Any, array: Array) -> bool:
    # NumPy's scalars of Python's types yield as they do everywhere, while 64 bits are not the default.
    return array.weak_type or (isinstance(given, (float, complex)) and not _core.get_enable_x64())


def one_dtype(name: str, operands: Sequence[Any]) -> list[Array]:
    """The operands as arrays of one dtype.

    Raises:
        DTypeError: they have several, beyond Python numbers of the same kind.
    """
    arrays = [as_array(name, x) for x in operands]
    first = arrays[0].dtype
    if all(x.dtype == first for x in arrays):
        return arrays
    strong = {x.dtype for given, x in zip(operands, arrays, strict=True) if not _is_weak(given, x)}
    if len(strong) > 1 or len({_kinds(x.dtype) for x in arrays}) > 1:
        dtypes = ", ".join(str(x.dtype) for x in arrays)
        other = _SAME_AS_NUMPY.get(name, name)
        promoting = (
            f", or use ct.numpy.{other}, which promotes" if hasattr(sys.modules["cotangent.numpy"], other) else ""
        )
        raise DTypeError(
            f"lax.{name} takes operands of one dtype; got {dtypes}\n  convert them with lax.convert_element_type{promoting}"
            "\n  see docs/errors.md#dtypes-of-lax"
        )
    target = next(iter(strong)) if strong else _core.promote_types([(x.dtype, True) for x in arrays])[0]
    return [x if x.dtype == target else _core.convert(x, target) for x in arrays]


def check_kind(name: str, array: Array, kinds: Sequence[str]) -> None:
    """Raises DTypeError when the elements are of none of ``kinds``."""
    if _core.dtype_kind(array.dtype) not in kinds:
        wanted = " or ".join(_WORDS[kind] for kind in kinds)
        raise DTypeError(
            f"lax.{name} takes {wanted} arrays; got {array.dtype}\n  convert with lax.convert_element_type"
        )


def one_shape(name: str, arrays: Sequence[Array]) -> list[Array]:
    """The arrays broadcast to one shape.

    Raises:
        ShapeError: they have unequal numbers of axes, or sizes that do not fit.
    """
    if alike(*arrays):
        return list(arrays)
    shapes = [capacities(x) for x in arrays if x.ndim]
    if len({len(shape) for shape in shapes}) > 1:
        listed = ", ".join(map(str, shapes))
        raise ShapeError(
            f"lax.{name} takes arrays with equally many axes; got shapes {listed}\n  add axes with lax.expand_dims"
        )
    shape = _core.broadcast_shapes(shapes)
    return [x if capacities(x) == shape else _core.broadcast_to(x, shape) for x in arrays]


def operands(name: str, given: Sequence[Any], kinds: Sequence[str]) -> list[Array]:
    """Arrays of one dtype, of one of ``kinds``, and of one shape."""
    arrays = one_dtype(name, given)
    check_kind(name, arrays[0], kinds)
    return one_shape(name, arrays)


def first_difference(shapes: Sequence[Sequence[Any]], but: int = -1) -> str:
    """The first shape and the first that differs from it, with the axes where it does marked; ``but`` is an axis that may differ."""
    first = shapes[0]
    for shape in shapes[1:]:
        if len(shape) != len(first):
            return ""
        axes = [i for i, sizes in enumerate(zip(first, shape, strict=True)) if i != but and sizes[0] != sizes[1]]
        if axes:
            return marked((first, axes), (shape, axes))
    return ""


def as_weak_as(result: Array, operands: Sequence[Array]) -> Array:
    """``result`` with a dtype that is weak if those of all operands are, as all functions of `jax.lax` have it but few."""
    weak = all(x.weak_type for x in operands)
    return result if result.weak_type == weak else primitives.convert(result, dtype=result.dtype, weak=weak)


def unary(primitive: Primitive, x: Any, kinds: Sequence[str], name: str = "") -> Array:
    """A primitive of one operand."""
    array = as_array(name or primitive.name, x)
    check_kind(name or primitive.name, array, kinds)
    return primitive(array)


def binary(primitive: Primitive, x: Any, y: Any, kinds: Sequence[str], name: str = "") -> Array:
    """A primitive of two operands."""
    return primitive(*operands(name or primitive.name, (x, y), kinds))
