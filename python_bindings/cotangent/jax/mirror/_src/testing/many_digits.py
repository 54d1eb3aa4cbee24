"""Functions of NumPy's arrays that are computed with as many digits as they need, by mpmath, and what compares results with theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

__all__ = ["complex_plane_sample", "numpy_with_mpmath", "vectorize_with_mpmath"]


def _axis_points(size: int, info: Any) -> Any:
    """From minus infinity to infinity: the largest and smallest numbers, 0, and powers between them."""
    points = np.zeros(3 + 2 * size, info.dtype)
    digits = np.log2(10)
    with np.errstate(all="ignore"):
        half = np.logspace(info.minexp / digits, info.maxexp / digits, size, dtype=info.dtype)
    if size > 0:
        half[0] = info.tiny
    if size > 1:
        half[-1] = info.max
    points[size + 2 : -1] = half
    points[1 : size + 1] = -half[::-1]
    points[0], points[-1] = -np.inf, np.inf
    return points


def complex_plane_sample(dtype: Any, size_re: int = 10, size_im: int | None = None) -> Any:
    """A grid over the complex plane with infinities, the largest and smallest numbers, and the axes: (3 + 2 `size_im`, 3 + 2 `size_re`)."""
    info = np.finfo(dtype)
    size_im = size_re if size_im is None else size_im
    grid = np.zeros((3 + 2 * size_im, 3 + 2 * size_re), dtype)
    grid.real, grid.imag = _axis_points(size_re, info), _axis_points(size_im, info)[:, None]
    return grid


class vectorize_with_mpmath:  # noqa: N801 (JAX's name)
    """A function of mpmath's numbers, applied to each element of arrays of NumPy's."""

    map_float_to_complex: ClassVar[dict[str, str]] = {"float32": "complex64", "float64": "complex128"}
    map_complex_to_float: ClassVar[dict[str, str]] = {slim: name for name, slim in map_float_to_complex.items()}
    float_prec: ClassVar[dict[str, int]] = {"float32": 24, "float64": 53}

    def __init__(
        self, pyfunc: Callable[..., Any], *, mpmath: Any, extra_prec_multiplier: int = 0, extra_prec: int = 0
    ) -> None:
        self.pyfunc, self.mpmath = pyfunc, mpmath
        self.extra_prec_multiplier, self.extra_prec = extra_prec_multiplier, extra_prec
        self.contexts: dict[str, Any] = {}
        for name, bits in self.float_prec.items():
            self.contexts[name] = mpmath.mp.clone()
            self.contexts[name].prec = bits

    def get_context(self, x: Any) -> Any:
        """The context that numbers of the dtype of an array are in."""
        name = str(x.dtype)
        return self.contexts[self.map_complex_to_float.get(name, name)]

    def nptomp(self, x: Any) -> Any:
        """An array, or a number, of mpmath's numbers."""
        if isinstance(x, np.ndarray):
            return np.fromiter(map(self.nptomp, x.ravel()), object, x.size).reshape(x.shape)
        context = self.get_context(x)
        return context.mpc(complex(x)) if np.iscomplexobj(x) else context.mpf(float(x))

    def _rounded(self, x: Any, name: str) -> Any:
        context, info = self.contexts[name], np.finfo(name)
        dtype = np.dtype(name).type
        if not context.isfinite(x):
            return dtype(float(x))
        x = +x  # to the precision of the dtype
        exponent = context.frexp(x)[1]
        if x == 0 or exponent - 1 < info.minexp:
            return dtype(-0.0 if x < 0 else 0.0)
        if exponent > info.maxexp:
            return dtype(-np.inf if x < 0 else np.inf)
        return dtype(float(x))

    def mptonp(self, x: Any) -> Any:
        """An array, or a number, of NumPy's: infinite beyond the range of the dtype, and 0 below its smallest normal number."""
        if isinstance(x, np.ndarray):
            items = [self.mptonp(item) for item in x.ravel()]
            return np.array(items, items[0].dtype).reshape(x.shape)
        name = next(name for name, context in self.contexts.items() if context is x.context)
        if isinstance(x, x.context.mpf):
            return self._rounded(x, name)
        made = np.zeros((), self.map_float_to_complex[name])
        made.real, made.imag = self._rounded(x.real, name), self._rounded(x.imag, name)
        return made[()]

    def __call__(self, *args: Any) -> Any:
        context = self.get_context(args[0])
        columns = [self.nptomp(np.asarray(arg)) for arg in args]
        with context.extraprec(int(context.prec * self.extra_prec_multiplier) + self.extra_prec):
            results = [self.pyfunc(*items) for items in zip(*(column.ravel() for column in columns), strict=True)]
        if isinstance(results[0], tuple):
            return tuple(self._array(list(items), columns[0].shape) for items in zip(*results, strict=True))
        return self._array(results, columns[0].shape)

    def _array(self, items: list[Any], shape: tuple[int, ...]) -> Any:
        return self.mptonp(np.fromiter(items, object, len(items)).reshape(shape))


_MPMATH = {"log": "ln", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
           "arctanh": "atanh", "absolute": "absmin", "abs": "absmin", "conjugate": "conj"}  # fmt: skip
_OWN: dict[str, Callable[[Any], Any]] = {
    "exp2": lambda x: x.context.exp(x * x.context.ln2),
    "log2": lambda x: x.context.ln(x) / x.context.ln2,
    "log10": lambda x: x.context.ln(x) / x.context.ln10,
    "negative": lambda x: -x,
    "positive": lambda x: x,
    "sinc": lambda x: x.context.sincpi(x),
    "square": lambda x: x * x,
}
# Limits by NumPy, where it has them.
_LIMITS: dict[str, Callable[[Any], Any]] = {"expm1": lambda x: np.exp(x) - 1}
_OTHERS = ("sqrt", "exp", "expm1", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sign")


def _computed(name: str) -> Callable[[Any], Any]:
    own = _OWN.get(name)

    def compute(x: Any) -> Any:
        context = x.context
        is_complex = isinstance(x, context.mpc)
        if name != "sign" and (not context.isfinite(x) or (is_complex and 0 in (x.real, x.imag))):
            # mpmath does not know the limits of all functions, and no signs of zeros, by which the sides of a branch cut differ.
            with np.errstate(all="ignore"):
                limit = _LIMITS.get(name, getattr(np, name))(np.complex128(complex(x)) if is_complex else np.float64(x))
            found = context.mpc(complex(limit)) if np.iscomplexobj(limit) else context.mpf(float(limit))
            if not context.isfinite(x):
                return found
            value = context.convert(own(x) if own else getattr(context, _MPMATH.get(name, name))(x))
            return _with_signs(context, value, found) if isinstance(value, context.mpc) else value
        return context.convert(own(x) if own else getattr(context, _MPMATH.get(name, name))(x))

    return compute


def _with_signs(context: Any, value: Any, other: Any) -> Any:
    parts = []
    for own, part in ((value.real, other.real), (value.imag, other.imag)):
        parts.append(-own if (own < 0 < part) or (part < 0 < own) else own)
    return context.mpc(*parts)


def _normalize(exact: Any, reference: Any, value: Any) -> tuple[Any, Any]:
    """Both without the digits in which the reference is not exact, as fractions of the largest number among all."""
    context = exact.context
    if not isinstance(exact, context.mpc):
        return _fractions(context, abs(exact), exact, reference, value)
    scale = abs(exact)
    real = _fractions(context, scale, exact.real, reference.real, value.real)
    imag = _fractions(context, scale, exact.imag, reference.imag, value.imag)
    return context.mpc(real[0], imag[0]), context.mpc(real[1], imag[1])


def _fractions(context: Any, scale: Any, exact: Any, reference: Any, value: Any) -> tuple[Any, Any]:
    if not all(context.isfinite(x) for x in (scale, exact, reference, value)):
        return reference, value
    bits = context.frexp(max(scale, abs(exact), abs(reference), abs(value)))[1]
    wrong = abs(exact - reference)
    unit = context.frexp(wrong)[1]

    def fraction(x: Any) -> Any:
        if wrong:
            x = context.sign(x) * context.ldexp(context.floor(context.ldexp(abs(x), -unit)), unit)
        return context.ldexp(x, -bits)

    return fraction(reference), fraction(value)


class numpy_with_mpmath:  # noqa: N801 (JAX's name)
    """Functions by NumPy's names that mpmath computes."""

    def __init__(self, mpmath: Any, extra_prec_multiplier: int = 0, extra_prec: int = 0) -> None:
        self.mpmath = mpmath
        functions: dict[str, Callable[..., Any]] = {name: _computed(name) for name in (*_MPMATH, *_OWN, *_OTHERS)}
        for name, function in {**functions, "normalize": _normalize}.items():
            made = vectorize_with_mpmath(
                function, mpmath=mpmath, extra_prec_multiplier=extra_prec_multiplier, extra_prec=extra_prec
            )
            setattr(self, name, made)
