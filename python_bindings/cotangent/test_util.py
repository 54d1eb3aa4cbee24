"""`check_grads`: derivatives against differences and against each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cotangent import _core, tree_util
from cotangent._base.arguments import check_arguments
from cotangent._base.names import suggest_names as _suggest_names
from cotangent._ops.dtypes import finfo
from cotangent._transforms.forward import jvp
from cotangent._transforms.reverse import vjp
from cotangent.errors import DTypeError

_TOLERANCE = {"float64": 1e-5, "complex128": 1e-5, "float32": 2e-2, "complex64": 2e-2}
_STEP = {"float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3}


def _random_like(rng: np.random.Generator, tree: Any) -> Any:
    def leaf(x: Any) -> Any:
        array = _core.to_numpy(x)
        draw = rng.standard_normal(array.shape)
        if array.dtype.kind == "c":
            draw = draw + 1j * rng.standard_normal(array.shape)
        return _core.array(np.asarray(draw, dtype=array.dtype))

    return tree_util.tree_map(leaf, tree)


def _inner(a: Any, b: Any) -> float:
    pairs = zip(tree_util.tree_leaves(a), tree_util.tree_leaves(b), strict=True)
    return sum(
        float(
            np.real(
                np.sum(np.asarray(_core.to_numpy(x)).astype(complex) * np.asarray(_core.to_numpy(y)).astype(complex))
            )
        )
        for x, y in pairs
    )


def _name_of(dtype: Any) -> str:
    """The dtype that is computed with where this one is named; the tolerances of others, such as float0, are for no derivative."""
    try:
        return str(np.dtype(_core.canonical_dtype(dtype)))
    except DTypeError:
        return str(np.dtype(dtype))


def _tolerance(given: float | Mapping[Any, float] | None, dtypes: list[str]) -> float:
    if isinstance(given, Mapping):
        by_dtype = {**_TOLERANCE, **{_name_of(d): value for d, value in given.items()}}
    elif given is None:
        by_dtype = _TOLERANCE
    else:
        return given
    return max((by_dtype.get(d, 1e-2) for d in dtypes), default=1e-2)


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | Mapping[Any, float] | None = None,
    rtol: float | Mapping[Any, float] | None = None,
    eps: float | None = None,
) -> None:
    """Checks the derivatives of a function at a point.

    Forward mode is compared with central differences in a random direction; reverse mode with forward mode (with the
    differences where ``modes`` has no ``"fwd"``) by the inner-product identity <cotangent, J tangent> = <Jᵀ cotangent,
    tangent>. Higher orders check the derivative functions in the same way. Arguments of integers and bools are held
    fixed.

    Parameters
    ----------
    f : callable
        A function of pytrees of arrays.
    args : sequence of pytrees of arrays
        The point: the positional arguments.
    order : int
        Up to which order derivatives are checked.
    modes : sequence of str, default ("fwd", "rev")
        ``"fwd"`` for forward mode, ``"rev"`` for reverse mode.
    atol : float or dict from dtypes to float, optional
        One number, or one for each of some dtypes of arguments; the others have a tolerance that suits their precision.
    rtol : float or dict from dtypes to float, optional
        Likewise.
    eps : float, optional
        The step of the differences; by default one that suits the precision.

    Raises
    ------
    AssertionError
        A derivative is wrong: with mode, order and both numbers.

    Examples
    --------
    >>> from cotangent.test_util import check_grads
    >>> check_grads(lambda x: ct.numpy.sin(x) * x, (0.5,), order=2)
    >>> wrong = ct.custom_jvp(lambda x: x * x)
    >>> _ = wrong.defjvp(lambda xs, ts: (xs[0] * xs[0], 3 * xs[0] * ts[0]))
    >>> check_grads(wrong, (1.0,), order=1)
    Traceback (most recent call last):
        ...
    AssertionError: ...
    """
    leaves, structure = tree_util.tree_flatten(tuple(args))
    leaves = [_core.array(leaf) for leaf in leaves]
    varied = [i for i, leaf in enumerate(leaves) if _core.kind(leaf) in ("float", "complex")]

    def of_varied(*values: Any) -> Any:
        filled = list(leaves)
        for i, value in zip(varied, values, strict=True):
            filled[i] = value
        return f(*structure.unflatten(filled))

    if not varied:
        return
    args = tuple(leaves[i] for i in varied)
    dtypes = [str(x.dtype) for x in args]
    step = eps if eps is not None else max((_STEP.get(d, 1e-2) for d in dtypes), default=1e-3)
    rng = np.random.default_rng(0)
    _check(of_varied, args, order, tuple(modes), _tolerance(atol, dtypes), _tolerance(rtol, dtypes), step, rng, "")


def _difference(above: Any, below: Any, step: float) -> Any:
    """Half the slope's rise over the step, as float64 or complex128: 0 where both sides are the same infinity."""
    a, b = _core.to_numpy(above), _core.to_numpy(below)
    a = a.astype(np.result_type(a, np.float64))
    with np.errstate(invalid="ignore"):
        return np.where(a == b, 0, a - b) / (2 * step)


def _as_rounded(tangent: Any, ahead: Any, behind: Any, step: float) -> Any:
    """The direction between two points as their dtype has them; the tangent itself where that cannot tell them apart."""
    between = _difference(ahead, behind, step)
    return _core.array(np.asarray(between, dtype=tangent.dtype)) if between.any() else tangent


def _rounding(leaf: Any, step: float) -> float:
    """How far the rounding of values to the dtype moves their differences, which are divided by the step."""
    values = np.abs(_core.to_numpy(leaf).astype(complex))
    values = values[np.isfinite(values)]
    if _core.kind(leaf) not in ("float", "complex") or not values.size:
        return 0.0
    return float(values.max()) * float(finfo(leaf.dtype).eps) / step


def _check(
    f: Any, args: Any, order: int, modes: Any, atol: float, rtol: float, step: float, rng: Any, label: str
) -> None:
    tangent = _random_like(rng, args)
    if "rev" in modes:
        value, pull = vjp(f, *args)
    shift = lambda sign: tree_util.tree_map(  # noqa: E731
        lambda x, t: _core.array(np.asarray(_core.to_numpy(x) + sign * step * _core.to_numpy(t), dtype=x.dtype)),
        args,
        tangent,
    )
    ahead, behind = shift(1.0), shift(-1.0)  # type: ignore[no-untyped-call]
    tangent = tree_util.tree_map(lambda t, a, b: _as_rounded(t, a, b, step), tangent, ahead, behind)
    above, below = f(*ahead), f(*behind)
    forward = tree_util.tree_map(lambda a, b: _difference(a, b, step), above, below)
    moved = sum(_rounding(leaf, step) for leaf in tree_util.tree_leaves(above))
    if "fwd" in modes:
        difference, forward = forward, jvp(f, args, tangent)[1]
        for index, (exact, approximate) in enumerate(
            zip(tree_util.tree_leaves(forward), tree_util.tree_leaves(difference), strict=True)
        ):
            np.testing.assert_allclose(
                _core.to_numpy(exact),
                approximate,
                atol=atol + moved,
                rtol=rtol,
                err_msg=f"jvp{label} of output {index} against differences",
            )
    if "rev" in modes:
        cotangent = _random_like(rng, value)
        left, right = _inner(cotangent, forward), _inner(pull(cotangent), tangent)
        np.testing.assert_allclose(
            left, right, atol=atol, rtol=rtol, err_msg=f"vjp{label}: inner products of cotangents and tangents"
        )
    if order > 1:
        if "fwd" in modes:
            _check(
                lambda *xs: jvp(f, xs, tangent)[1],
                args,
                order - 1,
                modes,
                atol * 10,
                rtol * 10,
                step,
                rng,
                f"{label} of jvp",
            )
        if "rev" in modes:
            cotangent = _random_like(rng, value)
            _check(
                lambda *xs: vjp(f, *xs)[1](cotangent),
                args,
                order - 1,
                modes,
                atol * 10,
                rtol * 10,
                step,
                rng,
                f"{label} of vjp",
            )


check_arguments(globals())
_suggest_names(globals())
