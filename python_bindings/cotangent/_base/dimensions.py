"""The symbolic size of a ragged axis, which programs inside ``mask`` see where exact ones have an integer.

A `Dim` is an int32 scalar of the program and the numbers that it lies between. What integers do to it gives another: ``x[: n // 2]``,
``zeros(2 * n + 1)`` and ``reshape(n // 2, 2)`` are what they are in an exact program, padded to the most that the size can be.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from cotangent import _core
from cotangent._base import primitives
from cotangent._base.arguments import check_arguments, leaving_methods
from cotangent._base.comparisons import Comparison
from cotangent._base.messages import outermost_function, placed
from cotangent._base.numpy_calls import numpy_call
from cotangent._core import Array
from cotangent.errors import ConcretizationError, DataDependentShapeError, ShapeError

__all__ = ["Dim", "dimension"]

_MOST = 2**31 - 1
SAME_NAME = "where their lengths are one, give both axes the same name in ct.Ragged(..., names=...)"


def _is_int(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _int32(value: Any) -> Array:
    return value.value if isinstance(value, Dim) else _core.full((), int(value), "int32")


@leaving_methods
class Dim:
    """The size of a ragged axis inside ``mask``, and what integers make of it: sizes, usable as numbers and in shapes.

    Sums, differences, products, ``//``, ``%`` and powers of sizes and integers are sizes; `ct.numpy.minimum` and `ct.numpy.maximum` say which of
    two is smaller or larger. Other arithmetic gives arrays. Comparisons are settled by the bounds where these tell; else they are bool arrays,
    for `ct.numpy.where`, and asking for their truth raises ConcretizationError.
    """

    __slots__ = ("_owner", "bound", "least", "value")
    __array_ufunc__: Any = None  # NumPy's functions of it: see _numpy_dispatch

    def __init__(self, bound: int, value: Array, owner: str | int, least: int = 0) -> None:
        self.bound = bound  # the most that it is
        self.value = value
        self._owner = owner  # an axis by its number, or what else this is the size of
        self.least = least

    @property
    def owner(self) -> str:
        """What this is the size of, as the program writes it where messages can know."""
        if isinstance(self._owner, str):
            return self._owner
        text = _core.length_texts(self.value, self.value)[0]
        return text if len(text) > 2 else f"axis {self._owner} (bound {self.bound})"

    def __ct_array__(self) -> Array:
        """As a number: of no particular width, as the int of an exact program is."""
        return primitives.convert(self.value, dtype=_core.default_int_dtype(), weak=True)

    def __repr__(self) -> str:
        return f"Dim(<={self.bound})"

    def undecided(self, text: str, instead: str = "", also: str = "") -> ConcretizationError:
        """The error of a program that depends on what is not known; ``instead``: what does the same and does not; ``also``: another hint."""
        instead = instead or (
            "use ct.numpy.where or ct.lax.cond on the size as a value, ct.numpy.minimum or maximum for the smaller or larger of two,"
            " or make the program independent of it"
        )
        function = outermost_function()
        named = not function or text.startswith(f"{function}:")
        what = f"{'' if named else function + ': '}{text} cannot be settled:"
        asking = numpy_call()
        if asking is not None:
            name, instead = asking
            what, also = f"{name} asks for a number:", ""
        return ConcretizationError(
            placed(
                f"{what} the ragged size {self.owner} is anything from {self.least} to {self.bound}",
                f"{also}\n  {instead}" if also else instead,
                "length-as-condition",
            )
        )

    def __bool__(self) -> bool:
        if self.least > 0:
            return True
        raise self.undecided(f"the truth of {self.owner}")

    def __int__(self) -> int:
        if self.least == self.bound:
            return self.least
        raise self.undecided(
            f"int({self.owner})",
            "the size is a size everywhere in this package: for range(n) use ct.lax.fori_loop or ct.lax.scan, for a NumPy array or a list"
            " a[:n] use ct.numpy.array(a)[:n], and for int(n) the size itself",
        )

    __index__ = __int__

    def __float__(self) -> float:
        if self.least == self.bound:
            return float(self.least)
        raise self.undecided(
            f"float({self.owner})",
            "it is a number as it is: 2.0 * n, x / n; for a function of math use that of ct.numpy: ct.numpy.sqrt(n) for math.sqrt(n)",
        )

    # ---- comparisons

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Dim) and (other.value is self.value or _core.same_length(self.value, other.value)):
            return True
        return self._compare(other, "==", lambda a, b: a == b, lambda low, high: None if low <= 0 <= high else False)

    def __ne__(self, other: object) -> Any:
        equal = self == other
        if isinstance(equal, Comparison):
            return Comparison(~equal.value, equal.text.replace("==", "!="), self, equal.hint)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(Dim)  # equal sizes may belong to other axes, with other bounds

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=", operator.le, lambda low, high: True if high <= 0 else low <= 0 and None)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<", operator.lt, lambda low, high: True if high < 0 else low < 0 and None)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, ">=", operator.ge, lambda low, high: True if low >= 0 else high >= 0 and None)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, ">", operator.gt, lambda low, high: True if low > 0 else high > 0 and None)

    def _compare(self, other: Any, sign: str, compare: Callable[[Any, Any], Any], settled: Any) -> Any:
        """``settled``: what is known for a difference between two numbers; None: nothing."""
        if isinstance(other, (Array, np.ndarray)):
            return compare(self.__ct_array__(), other)
        if not isinstance(other, (Dim, int, float, np.integer, np.floating)):
            return NotImplemented
        least, most = _bounds(other) if isinstance(other, Dim) else (other, other)
        answer = settled(self.least - most, self.bound - least)
        if answer is not None:
            return bool(answer)
        text = f"{self.owner} {sign} {other.owner if isinstance(other, Dim) else other}"
        value = compare(self.value, other.value if isinstance(other, Dim) else other)
        return Comparison(value, text, self, SAME_NAME if isinstance(other, Dim) and sign == "==" else "")

    # ---- arithmetic

    def _array(self, other: Any, operation: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
        """What is not a size: of arrays."""
        size, other = self.__ct_array__(), other.__ct_array__() if isinstance(other, Dim) else other
        return operation(other, size) if swapped else operation(size, other)

    def _size(self, other: Any, sign: str, operation: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
        """``operation`` of bounds and of values, which grows or shrinks with each operand."""
        if not (_is_int(other) or isinstance(other, Dim)):
            return self._array(other, operation, swapped)
        left, right = (other, self) if swapped else (self, other)
        corners: list[int] = [operation(a, b) for a in _bounds(left) for b in _bounds(right)]
        least, most = min(corners), max(corners)
        if most > _MOST or least < -_MOST:
            # No size of an axis: a number, of int64 where that holds it.
            held = max(most, -least, *map(abs, _bounds(left)), *map(abs, _bounds(right))) < 2**63
            wide = np.dtype("int64" if held else "float64")
            return operation(*(_number(x, wide) for x in (left, right)))
        return Dim(most, operation(_int32(left), _int32(right)), f"({_text(left)} {sign} {_text(right)})", least)

    def __add__(self, other: Any) -> Any:
        return self._size(other, "+", operator.add)

    def __radd__(self, other: Any) -> Any:
        return self._size(other, "+", operator.add, True)

    def __sub__(self, other: Any) -> Any:
        return self if _is_int(other) and int(other) == 0 else self._size(other, "-", operator.sub)

    def __rsub__(self, other: Any) -> Any:
        return self._size(other, "-", operator.sub, True)

    def __mul__(self, other: Any) -> Any:
        return self if _is_int(other) and int(other) == 1 else self._size(other, "*", operator.mul)

    def __rmul__(self, other: Any) -> Any:
        return self if _is_int(other) and int(other) == 1 else self._size(other, "*", operator.mul, True)

    def __neg__(self) -> Any:
        return Dim(-self.least, -self.value, f"-{self.owner}", -self.bound)

    def __pos__(self) -> Dim:
        return self

    def __abs__(self) -> Any:
        return self if self.least >= 0 else largest(self, -self)

    def __floordiv__(self, other: Any) -> Any:
        if _is_int(other) and int(other) == 1:
            return self
        if _is_int(other):
            return _quotient(self, int(other))
        if isinstance(other, Dim) and self.least >= 0 and other.least >= 0:
            return _quotient_of_sizes(self, other)
        return self._array(other, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Any:
        if _is_int(other) and other >= 0 and self.least >= 0:
            return _quotient_of_sizes(Dim(int(other), _int32(other), str(other), int(other)), self)
        return self._array(other, operator.floordiv, True)

    def __mod__(self, other: Any) -> Any:
        if _is_int(other) and int(other) != 0:
            return self._remainder(int(other))
        if isinstance(other, Dim) and self.least >= 0 and other.least >= 0:
            return _remainder_of_sizes(self, other)
        return self._array(other, operator.mod)

    def __rmod__(self, other: Any) -> Any:
        if _is_int(other) and other >= 0 and self.least >= 0:
            return _remainder_of_sizes(Dim(int(other), _int32(other), str(other), int(other)), self)
        return self._array(other, operator.mod, True)

    def _remainder(self, divisor: int) -> Any:
        value = self - (self // divisor) * divisor
        if not isinstance(value, Dim):
            return value
        least, most = (0, divisor - 1) if divisor > 0 else (divisor + 1, 0)
        if divisor > 0 and self.least >= 0:
            most = min(most, self.bound)
        return Dim(most, value.value, f"({self.owner} % {divisor})", least)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        if _is_int(other) and other >= 0:
            most = max(abs(self.least), abs(self.bound)) ** min(int(other), 64)
            if most < 2**63:
                return math.prod([self] * int(other))
            return _number(self, np.dtype("float64")) ** int(other)
        return self._power(other) if isinstance(other, Dim) else self._array(other, operator.pow)

    def _power(self, other: Any, swapped: bool = False) -> Any:
        """A power whose exponent is a size: a size, where the most that it can be is one."""
        base, exponent = (other, self) if swapped else (self, other)
        least, most = _bounds(exponent)
        from_zero, largest_base = _bounds(base)
        if least < 0 or from_zero < 0 or most * (max(largest_base, 1).bit_length() - 1) > 31:
            return self._array(other, operator.pow, swapped)
        return self._size(other, "**", operator.pow, swapped)

    def __lshift__(self, other: Any) -> Any:
        return self * 2 ** int(other) if _is_int(other) and other >= 0 else self._array(other, operator.lshift)

    def __rshift__(self, other: Any) -> Any:
        return self // 2 ** int(other) if _is_int(other) and other >= 0 else self._array(other, operator.rshift)

    def __and__(self, other: Any) -> Any:
        # The last bits are a remainder.
        if _is_int(other) and other >= 0 and (int(other) + 1) & int(other) == 0:
            return self % (int(other) + 1)
        return self._array(other, operator.and_)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._array(other, operator.or_)

    def __xor__(self, other: Any) -> Any:
        return self._array(other, operator.xor)

    __ror__, __rxor__ = __or__, __xor__

    def __invert__(self) -> Any:
        return -self - 1

    def __round__(self, digits: int | None = None) -> Any:
        return self if digits is None or digits >= 0 else self._array(digits, round)

    def __trunc__(self) -> Any:
        return self

    __floor__ = __ceil__ = __trunc__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec.rstrip("dn"))

    def __reduce__(self) -> Any:
        raise self.undecided(f"a number to store of {self.owner}")

    def __rpow__(self, other: Any) -> Any:
        return self._power(other, True) if _is_int(other) else self._array(other, operator.pow, True)

    def __truediv__(self, other: Any) -> Any:
        return self._array(other, operator.truediv)

    def __rtruediv__(self, other: Any) -> Any:
        return self._array(other, operator.truediv, True)


def check_equal_sizes(
    function: str, first: str, x: Any, second: str, y: Any, error: type[Exception] = ShapeError
) -> None:
    """Raises where two sizes are not one for every length; ``first`` and ``second`` say what has them."""
    equal = x == y
    if isinstance(equal, (bool, np.bool_)) and equal:
        return
    texts: tuple[str, ...]
    if isinstance(x, Dim) and isinstance(y, Dim):
        texts = _core.length_texts(x.value, y.value)
        named = not any(set(text) & set(" (") for text in texts)
        hint = SAME_NAME if named else "they must be equal for every length that there may be: cut the longer one"
    else:
        texts = tuple(_core.length_texts(n.value, n.value)[0] if isinstance(n, Dim) else str(n) for n in (x, y))
        ragged = isinstance(x, Dim) or isinstance(y, Dim)
        if ragged:
            hint = "make the array of the size of the other's axis, or cut it to that: y[:x.shape[axis]]"
        else:
            hint = f"cut the longer one to {min(x, y)}, or give as many as there are of the other"
    text = f"{function}: {first} is {texts[0]} and {second} is {texts[1]}; they must be equal"
    raise error(placed(text, hint))


def _bounds(x: Any) -> tuple[int, int]:
    return (x.least, x.bound) if isinstance(x, Dim) else (int(x), int(x))


def _number(x: Any, dtype: Any) -> Array:
    """A size or an int as a scalar of no particular width."""
    if isinstance(x, Dim):
        return primitives.convert(x.value, dtype=dtype, weak=True)
    return _core.full((), int(x) if dtype.kind == "i" else float(x), dtype, True)


def _text(x: Any) -> str:
    return x.owner if isinstance(x, Dim) else str(x)


def _divided(value: Array, divisor: Any) -> Array:
    """Of numbers that are not negative."""
    return primitives.div(value, _int32(divisor))


def _quotient(size: Dim, divisor: int) -> Any:
    """Rounded down, in the form in which multiples of the divisor come out of it."""
    if divisor == 0:
        raise ZeroDivisionError(f"{size.owner} // 0: a size divided by zero\n  divide by a number that is not 0")
    if divisor < 0:
        return _quotient(-size, -divisor)
    if size.least >= 0:
        value = _divided(size.value, divisor)
    elif size.bound <= 0:
        value = -_divided(_int32(divisor - 1) - size.value, divisor)
    else:
        periods = -(size.least // divisor)
        if size.bound + periods * divisor > _MOST:
            return size._array(divisor, operator.floordiv)
        value = _divided(size.value + _int32(periods * divisor), divisor) - _int32(periods)
    return Dim(size.bound // divisor, value, f"({size.owner} // {divisor})", size.least // divisor)


def _quotient_of_sizes(size: Dim, divisor: Dim) -> Dim:
    # Where the divisor is 0 an exact program has an error; the result is 0 then, as of arrays.
    value = _divided(size.value, largest(divisor, 1))
    if divisor.least < 1:
        value = primitives.mul(value, _int32(smallest(divisor, 1)))
    least = size.least // divisor.bound if divisor.bound else 0
    return Dim(size.bound // max(divisor.least, 1), value, f"({size.owner} // {divisor.owner})", least)


def _remainder_of_sizes(size: Dim, divisor: Dim) -> Dim:
    value = primitives.rem(size.value, _int32(largest(divisor, 1)))
    return Dim(min(size.bound, max(divisor.bound - 1, 0)), value, f"({size.owner} % {divisor.owner})")


def smallest(x: Any, y: Any) -> Any:
    """The smaller of two sizes."""
    if not isinstance(x, Dim) and not isinstance(y, Dim):
        return min(x, y)
    (a, b), (c, d) = _bounds(x), _bounds(y)
    if b <= c or d <= a:
        return x if b <= c else y
    return Dim(min(b, d), primitives.min(_int32(x), _int32(y)), f"min({_text(x)}, {_text(y)})", min(a, c))


def largest(x: Any, y: Any) -> Any:
    """The larger of two sizes. Where only the bound says that it is the number, it stays a value, as for a larger bound."""
    if not isinstance(x, Dim) and not isinstance(y, Dim):
        return max(x, y)
    (a, b), (c, d) = _bounds(x), _bounds(y)
    if a >= d and isinstance(x, Dim):
        return x
    if c >= b and isinstance(y, Dim):
        return y
    return Dim(max(b, d), primitives.max(_int32(x), _int32(y)), f"max({_text(x)}, {_text(y)})", max(a, c))


def bound_of(size: Any) -> int:
    """The most elements that an axis of a size can have."""
    return max(size.bound, 0) if isinstance(size, Dim) else int(size)


def not_negative(size: Any) -> Any:
    """A number of elements: none where the size is negative."""
    return largest(size, 0)


def narrowed(size: Any) -> Any:
    """The size with the bounds that its expression has: those of n - max(n - 3, 0) say less than that it is at most 3."""
    found = _core.range_of_size(size.value) if isinstance(size, Dim) else None
    if found is None:
        return size
    least, bound = max(size.least, found[0]), min(size.bound, found[1])
    return Dim(bound, size.value, size.owner, least)


# ---- Sizes that a program computes -------------------------------------------------------------------------------------


def is_scalar_integer(value: Any) -> bool:
    """Whether a value is a traced integer without axes."""
    return (
        isinstance(value, Array)
        and value.ndim == 0
        and _core.is_traced(value)
        and _core.kind(value) in ("signed", "unsigned")
    )


# What is said besides where the arguments of a program could be known instead.
OR_STATIC: ContextVar[str] = ContextVar("OR_STATIC", default="")


def as_dimension(value: Array, what: str, most: int | None = None, bounded: str = "") -> Dim:
    """An integer scalar that the program computes, as a size of ``most`` at most; ``bounded``: how the user says that.

    Raises DataDependentShapeError outside of masks, and ConcretizationError where nothing says how large it can be.
    """
    if not _core.in_mask():
        raise DataDependentShapeError(
            f"{what} is a value that is not known when the program is captured\n"
            "  ct.mask(f) makes results of such sizes Ragged; or make the size static"
        )
    found = _core.range_of_size(value)
    if found is None and most is None:
        raise ConcretizationError(
            placed(
                f"{what} is a value that the program computes, and nothing says how large it can be",
                f"name a bound: {bounded}"
                if bounded
                else f"{OR_STATIC.get()}name a bound: ct.dimension(value, bound=...)",
                "size-without-a-bound",
            )
        )
    exact = _core.convert(_held(value, found), "int32")
    if exact.weak_type:
        exact = primitives.convert(exact, dtype=np.dtype("int32"))
    least, bound = (-_MOST, _MOST) if found is None else found
    return Dim(bound, exact, f"{what} (bound {bound})", least)


def size_if_computed(value: Any, what: str) -> Any:
    """A `Dim` for an integer that the program computes inside of a mask; else the value as it is."""
    computed = is_scalar_integer(value) and _core.in_mask()
    return as_dimension(value, what) if computed else value


def _held(value: Array, found: tuple[int, int] | None) -> Array:
    """Within int32, where the conversion could wrap it around; ``found``: the range that is known."""
    if value.dtype.itemsize < 4 or value.dtype == np.int32:
        return value
    if found is None:
        value = primitives.min(value, _core.full((), _MOST, value.dtype))
    if _core.kind(value) == "unsigned" or (found is not None and found[0] > -_MOST):
        return value
    return primitives.max(value, _core.full((), -_MOST, value.dtype))


# What looks at a size that a program computes when it is known: `_transforms/lengths.py` puts its function here.
require_within: Callable[[Any, int], None] | None = None


def dimension(value: Any, bound: int) -> Any:
    """Makes a size for shapes of an integer that the program computes: inside of `mask`, and under `jit`.

    Parameters
    ----------
    value : int or integer scalar array
        From 0 to ``bound``. One that a program computes is held to that, and `checkify` with ``index_checks`` reports it.
    bound : int
        The most that it can be: what results are padded to.

    Returns
    -------
    int or Dim
        ``value`` as an int where it is known. Else a size, whose arithmetic gives sizes.

    Raises
    ------
    TypeError
        It is no integer scalar.
    ValueError
        It is known, and outside of ``0 … bound``; or the bound is negative.

    Examples
    --------
    >>> ct.jit(lambda n: ct.numpy.arange(ct.dimension(n, bound=5)))(3)
    Ragged([0, 1, 2], lengths={0: 3}, dtype=int32)
    """
    most = operator.index(bound)
    if most < 0:
        raise ValueError(
            f"dimension: the bound must not be negative; got {most}\n  pass the largest size that there can be: bound=8"
        )
    if isinstance(value, Dim):
        return smallest(largest(value, 0), most)
    if not is_scalar_integer(value):
        if isinstance(value, (bool, np.bool_)):
            raise TypeError("dimension: a size must be an integer scalar; got a bool\n  pass a number of elements")
        try:
            size = operator.index(value)
        except TypeError:
            raise TypeError(
                f"dimension: a size must be an integer scalar; got {value!r}\n  convert it with int(n) or n.astype('int32')"
            ) from None
        if not 0 <= size <= most:
            raise ValueError(
                f"dimension: the size is {size}, outside of 0 … {most}\n  "
                + ("a size is 0 at least: ct.numpy.maximum(n, 0)" if size < 0 else f"pass a larger bound: bound={size}")
            )
        return size
    try:
        known = int(_core.peek_numpy(value))
    except ConcretizationError:
        computed = as_dimension(value, "the size given to dimension", most)
        assert require_within is not None
        require_within(value, most)
        return smallest(largest(computed, 0), most)
    return dimension(known, bound)


def _symbolic_shape(array: Array, axes: list[int]) -> tuple[Any, ...]:
    """The shape of a traced array with ragged axes: called by the `shape` attribute."""
    shape: list[Any] = list(array._bound_shape)
    for axis in axes:
        length = _core.length_of(array, axis)
        if length is not None:
            shape[axis] = Dim(shape[axis], length, axis)
    return tuple(shape)


def _symbolic_size(array: Array, axes: list[int]) -> Any:
    """The number of elements of a traced array with ragged axes: called by the `size` attribute."""
    count = math.prod(_symbolic_shape(array, axes))
    if isinstance(count, Dim):
        count._owner = f"number of elements (bound {count.bound})"
    return count


_core.set_shape_hooks(_symbolic_shape, _symbolic_size)

check_arguments(globals())
