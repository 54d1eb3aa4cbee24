"""Ordinary differential equations with an adaptive step and gradients by the adjoint equation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from cotangent import lax, tree_util
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments
from cotangent._base.capture import capture, flatten_arguments
from cotangent._base.names import suggest_names
from cotangent._core import Array, apply_graph, is_traced
from cotangent._ops.binding import real_dtype
from cotangent._transforms.custom_rules import custom_vjp
from cotangent._transforms.reverse import vjp
from cotangent.errors import DTypeError, ShapeError
from cotangent.flatten_util import ravel_pytree

__all__ = ["odeint"]

Dynamics = Callable[..., Array]  # (flat state, time, *arguments) -> flat derivative

# The pair of order 5 and 4 of Dormand & Prince, "A family of embedded Runge-Kutta formulae", 1980. Row i weighs the slopes of the
# stages before i; the last row is the step itself, so that its slope is the next step's first.
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_TIMES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
# Continuous output of order 4 inside a step: Hairer, Norsett & Wanner, "Solving Ordinary Differential Equations I", II.6.
_DENSE = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
_SAFETY, _SHRINK, _GROW = 0.9, 0.2, 10.0


def _combine(weights: tuple[float, ...], slopes: list[Array]) -> Array:
    return functools.reduce(lambda a, b: a + b, [w * k for w, k in zip(weights, slopes, strict=False) if w != 0.0])


def _step(f: Dynamics, y: Array, slope: Array, t: Array, dt: Array) -> tuple[Array, Array, Array, Array]:
    """One step: the new state and slope, the error's estimate, and the interpolant's coefficients (5, n)."""
    slopes = [slope]
    state = y
    for weights, time in zip(_STAGES, _TIMES, strict=True):
        state = y + dt * _combine(weights, slopes)
        slopes.append(f(state, t + time * dt))
    change = state - y
    bend = dt * slopes[0] - change
    coefficients = cnp.stack([y, change, bend, change - dt * slopes[-1] - bend, dt * _combine(_DENSE, slopes)])
    return state, slopes[-1], dt * _combine(_ERROR, slopes), coefficients


def _interpolate(coefficients: Array, theta: Array) -> Array:
    start, change, bend, twist, last = (coefficients[i] for i in range(5))
    rest = 1 - theta
    return start + theta * (change + rest * (bend + theta * (twist + rest * last)))


def _ratio(error: Array, y: Array, new: Array, rtol: float, atol: float) -> Array:
    """The error in units of the tolerance, as a root mean square."""
    scale = atol + rtol * cnp.maximum(cnp.abs(y), cnp.abs(new))
    return cnp.sqrt(cnp.mean(cnp.square(cnp.abs(error / scale))))


def _size(x: Array) -> Array:
    return cnp.sqrt(cnp.sum(cnp.square(cnp.abs(x))))


def _first_step(f: Dynamics, y: Array, slope: Array, t: Array, rtol: float, atol: float) -> Array:
    """Hairer, Norsett & Wanner, II.4."""
    scale = atol + cnp.abs(y) * rtol
    d0, d1 = _size(y / scale), _size(slope / scale)
    tiny = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = cnp.where(tiny, 1e-6, 0.01 * d0 / cnp.where(tiny, 1.0, d1))
    d2 = _size((f(y + h0 * slope, t + h0) - slope) / scale) / h0
    largest = cnp.maximum(d1, d2)
    flat = largest <= 1e-15
    h1 = cnp.where(flat, cnp.maximum(1e-6, h0 * 1e-3), (0.01 / cnp.where(flat, 1.0, largest)) ** 0.2)
    step: Array = cnp.minimum(100.0 * h0, h1)
    return step


def _integrate(f: Dynamics, y0: Array, times: Array, rtol: float, atol: float, mxstep: float, hmax: float) -> Array:
    """The states at all times, of shape (times, n); the first is y0."""
    limit = min(mxstep, 2**31 - 1)

    def to(carry: Any, target: Array) -> tuple[Any, Array]:
        def unfinished(state: Any) -> Array:
            count, _, _, t, dt, _, _ = state
            more: Array = (t < target) & (count < limit) & (dt > 0)
            return more

        def body(state: Any) -> Any:
            count, y, slope, t, dt, last, coefficients = state
            new, new_slope, error, new_coefficients = _step(f, y, slope, t, dt)
            ratio = _ratio(error, y, new, rtol, atol)
            accepted = ratio <= 1.0  # not for NaN, which shrinks the step
            factor = cnp.where(ratio == 0.0, _GROW, _SAFETY * cnp.where(ratio == 0.0, 1.0, ratio) ** -0.2)
            factor = cnp.clip(cnp.nan_to_num(factor, nan=_SHRINK), cnp.where(accepted, 1.0, _SHRINK), _GROW)
            next_dt = cnp.minimum(dt * factor, hmax).astype(dt.dtype)

            def choose(a: Array, b: Array) -> Array:
                chosen: Array = cnp.where(accepted, a, b)
                return chosen

            return (
                count + 1,
                choose(new, y),
                choose(new_slope, slope),
                choose(t + dt, t),
                next_dt,
                choose(t, last),
                choose(new_coefficients, coefficients),
            )

        state = lax.while_loop(unfinished, body, (0, *carry))
        _, _, _, t, _, last, coefficients = state
        span = t - last
        theta = cnp.where(span > 0, (target - last) / cnp.where(span > 0, span, 1), 0.0)
        reached = _interpolate(coefficients, theta.astype(coefficients.dtype))
        return state[1:], reached

    slope = f(y0, times[0])
    dt = cnp.minimum(_first_step(f, y0, slope, times[0], rtol, atol), hmax).astype(times.dtype)
    # Before the first step the interpolant is the constant y0.
    constant = cnp.concatenate([y0[None], cnp.zeros((4, *y0.shape), y0.dtype)])
    carry = (y0, slope, times[0], dt, times[0], constant)
    _, path = lax.scan(to, carry, times[1:])
    return cnp.concatenate([y0[None], path])


@functools.partial(custom_vjp, nondiff_argnums=(0, 1, 2, 3, 4))
def _solve(
    f: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, y0: Array, times: Array, args: Any
) -> Array:
    return _integrate(lambda y, t: f(y, t, *args), y0, times, rtol, atol, mxstep, hmax)


def _forward(
    f: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, y0: Array, times: Array, args: Any
) -> Any:
    path = _solve(f, rtol, atol, mxstep, hmax, y0, times, args)
    return path, (path, times, args)


def _backward(f: Dynamics, rtol: float, atol: float, mxstep: float, hmax: float, residuals: Any, g: Array) -> Any:
    """The adjoint equation (Pontryagin, 1962; Chen et al., "Neural Ordinary Differential Equations", 2018), backwards in time.

    Between two outputs the state is integrated back together with its cotangent and the cotangents of the arguments; at an output
    the state is set to the stored one and the output's cotangent is added.
    """
    path, times, args = residuals
    flat_args, unravel_args = ravel_pytree(args)
    n = path.shape[1]

    def augmented(state: Array, minus_t: Array) -> Array:
        y, a = state[:n], state[n : 2 * n]
        slope, pull = vjp(lambda y, args: f(y, -minus_t, *args), y.astype(path.dtype), args)
        from_y, from_args = pull(a.astype(path.dtype))
        return cnp.concatenate([-slope, from_y, ravel_pytree(from_args)[0].astype(state.dtype)])

    def back(carry: Any, index: Array) -> tuple[Any, Array]:
        a, total, from_start = carry
        # How a later output moves when its time moves.
        from_time = cnp.vdot(cnp.conj(f(path[index], times[index], *args)), g[index])
        start = cnp.concatenate([path[index], a, total])
        span = cnp.stack([-times[index], -times[index - 1]])
        end = _integrate(augmented, start, span, rtol, atol, mxstep, hmax)[1]
        return (end[n : 2 * n] + g[index - 1], end[2 * n :], from_start - from_time), from_time

    dtype = cnp.result_type(path, flat_args)
    start = (
        g[-1].astype(dtype),
        cnp.zeros(flat_args.shape, dtype),
        cnp.zeros((), cnp.result_type(path)),
    )
    (from_y0, from_args, _), from_times = lax.scan(back, start, cnp.arange(len(times) - 1, 0, -1))
    # The start's time moves every later state the other way.
    slope = f(path[0], times[0], *args)
    from_first = -cnp.vdot(cnp.conj(slope), from_y0.astype(path.dtype) - g[0])
    from_times = cnp.concatenate([from_first[None], from_times[::-1]])
    real = cnp.real(from_times) if cnp.iscomplexobj(from_times) else from_times
    return from_y0.astype(path.dtype), real.astype(times.dtype), unravel_args(from_args.astype(flat_args.dtype))


_solve.defvjp(_forward, _backward)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> Any:
    """Solves an ordinary differential equation, ``dy/dt = func(y, t, *args)``, from ``y0`` at ``t[0]``.

    The step is chosen so that the local error stays within ``atol + rtol * |y|`` (Dormand-Prince, orders 5 and 4);
    outputs between steps are interpolated to order 4. Gradients with respect to ``y0``, ``t``, ``args`` and whatever
    ``func`` closes over solve the adjoint equation backwards, so their memory does not grow with the number of steps.

    There is no forward mode through the adjoint: `jvp`, and so `jacfwd` and `hessian`, are errors. Second derivatives are
    ``jacrev(grad(f))``.

    Parameters
    ----------
    func : callable
        ``func(state, time, *args)`` returns the derivative, a pytree like the state, or of as many elements in the same
        order.
    y0 : pytree of floating arrays
        The state at ``t[0]``.
    t : array, shape (n,)
        Increasing times. Decreasing ones are an error where their values are known; where they are traced, as under `jit`,
        they go unnoticed, and the results mean nothing: solve ``-func(y, -t)`` for increasing ``-t`` instead.
    *args : pytrees of floating arrays
        Further arguments of ``func``.
    rtol : float, default 1.4e-8
        Relative tolerance. In float32, values below about 1e-6 ask for more than the numbers can hold and cost many
        steps.
    atol : float, default 1.4e-8
        Absolute tolerance.
    mxstep : float, default inf
        The most steps between two outputs.
    hmax : float, default inf
        The longest step.

    Returns
    -------
    pytree of arrays
        Like ``y0``, with a leading axis for the times.

    Raises
    ------
    TypeError
        An argument is not floating.
    ShapeError
        ``func`` gives other shapes than the state's.
    ValueError
        ``t`` decreases somewhere, as far as its values are known.

    References
    ----------
    J. R. Dormand, P. J. Prince, "A family of embedded Runge-Kutta formulae", Journal of Computational and Applied
    Mathematics 6 (1), 1980.

    L. F. Shampine, "Some practical Runge-Kutta formulas", Mathematics of Computation 46 (173), 1986.

    R. T. Q. Chen, Y. Rubanova, J. Bettencourt, D. Duvenaud, "Neural ordinary differential equations", NeurIPS 2018.

    Examples
    --------
    >>> from cotangent.experimental.ode import odeint
    >>> y = odeint(lambda y, t, rate: -rate * y, 1.0, np.float32([0, 1]), 0.5, rtol=1e-5, atol=1e-5)
    >>> round(float(y[-1]), 4)
    0.6065

    The Hessian, which is exp(-rate) here at the rate 0.5:

    >>> def last(rate):
    ...     return odeint(lambda y, t: -rate * y, 1.0, np.float32([0, 1]), rtol=1e-5, atol=1e-5)[-1]
    >>> round(float(ct.jacrev(ct.grad(last))(0.5)), 2)
    0.61
    """
    times = cnp.asarray(t)
    if times.ndim != 1 or times.shape[0] == 0:
        raise ShapeError(
            f"odeint: t must have shape (n,) with n > 0; got {times.shape}\n"
            "  give the times of the results, the first of which is that of y0: ct.numpy.array([0.0, 1.0])"
        )
    for what, tree in [("y0", y0), ("args", args)]:
        for path, leaf in tree_util.tree_leaves_with_path(tree):
            dtype = cnp.asarray(leaf).dtype
            if not cnp.issubdtype(dtype, cnp.inexact):
                raise DTypeError(
                    f"odeint: {what}{tree_util.keystr(path)} has dtype {dtype}; the solver needs floating arrays\n"
                    "  convert it, or let func close over it"
                )
    if not cnp.issubdtype(times.dtype, cnp.floating):
        times = times.astype(cnp.result_type(times, 1.0))
    if not is_traced(times):
        _check_increasing(np.asarray(times))
    # Plain numbers take the precision of the times, and the times that of the state.
    y0 = tree_util.tree_map(lambda x: x.astype(cnp.result_type(x, times)) if x.weak_type else x, _arrays(y0))
    args = tree_util.tree_map(cnp.asarray, args)
    flat, unravel = ravel_pytree(y0)
    times = times.astype(real_dtype(flat.dtype))

    def dynamics(state: Any, time: Any, *args: Any) -> Any:
        return func(unravel(state), time, *args)

    # What func closes over becomes further arguments, so that it gets gradients.
    leaves, structure = flatten_arguments(((flat, times[0], *args), {}), "odeint")
    captured = capture(dynamics, leaves, structure, "jit", name=getattr(func, "__name__", "func"))
    expected = tree_util.tree_structure(y0)
    shapes = [tuple(shape) for shape, _, _ in captured.graph.out_avals]
    wanted = [leaf.shape for leaf in tree_util.tree_leaves(y0)]
    # Another structure will do if it has as many elements: a list of numbers for a vector, for example.
    if shapes != wanted if captured.structure == expected else sum(map(math.prod, shapes)) != flat.size:
        raise ShapeError(
            f"odeint: func must return the shapes and structure of the state, {wanted} in {expected}; "
            f"it returned {shapes} in {captured.structure}\n"
            "  return the derivative of each array of the state, in the same containers"
        )

    def run(state: Array, time: Array, args: Any, closure: list[Array]) -> Array:
        operands = [
            state.astype(flat.dtype),
            cnp.asarray(time, times.dtype),
            *tree_util.tree_flatten(args)[0],
            *closure,
        ]
        outputs = apply_graph(captured.graph, operands)
        if not outputs:
            return state
        vector: Array = cnp.concatenate([cnp.ravel(x) for x in outputs]).astype(flat.dtype)
        return vector

    path = _solve(
        run, float(rtol), float(atol), float(mxstep), float(hmax), flat, times, (args, list(captured.closure))
    )
    return tree_util.tree_unflatten(expected, _columns(path, y0))


def _check_increasing(times: np.ndarray) -> None:
    """Against a step backwards, which the solver would not take: what is in front of t[0] would be y0 itself."""
    (places,) = np.nonzero(np.diff(times) < 0)
    if places.size:
        i = int(places[0]) + 1
        raise ValueError(
            f"odeint: t must increase; t[{i}] is {times[i]}, after {times[i - 1]}\n"
            "  to go back in time, solve for -t: lambda y, s: -func(y, -s), at the times -t"
        )


def _arrays(tree: Any) -> Any:
    return tree_util.tree_map(cnp.asarray, tree)


def _columns(path: Array, y0: Any) -> list[Array]:
    """The leaves' parts of the flat states, with a leading axis for the times."""
    leaves, start = [], 0
    for leaf in tree_util.tree_leaves(y0):
        size = math.prod(leaf.shape)
        leaves.append(path[:, start : start + size].reshape(path.shape[0], *leaf.shape).astype(leaf.dtype))
        start += size
    return leaves


check_arguments(globals())
suggest_names(globals())
