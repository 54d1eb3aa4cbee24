"""Minimisation of a smooth function, under the names of `scipy.optimize`; every iteration is traced, so ``jit`` compiles it whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cotangent import lax
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._base.names import suggest_names
from cotangent._core import Array
from cotangent._transforms.reverse import value_and_grad
from cotangent.errors import DTypeError, ShapeError

__all__ = ["OptimizeResults", "minimize"]

Objective = Callable[[Array], tuple[Array, Array]]  # x -> (value, gradient)

# Wolfe's conditions: enough decrease, and a slope that has flattened enough (Nocedal & Wright, 2006, chapter 3).
_DECREASE, _CURVATURE = 1e-4, 0.9
_HISTORY = 10


class OptimizeResults(NamedTuple):
    """What `minimize` found. All fields are arrays.

    ``x`` is the minimiser, ``fun`` the value and ``jac`` the gradient there; ``success`` says whether ``status`` is
    0, which is 1 when the iterations ran out and 3 when a line search failed; ``hess_inv`` is the estimate of the
    inverse Hessian (BFGS) or None (L-BFGS); ``nfev``, ``njev`` and ``nit`` count values, gradients and iterations.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _Search(NamedTuple):
    """A line search under way. The trial is ``step``; lo and hi are ends of a bracket once ``zooming``, before that lo is the last trial."""

    trials: Array
    done: Array
    zooming: Array
    step: Array
    lo: Array
    f_lo: Array
    slope_lo: Array
    hi: Array
    f_hi: Array
    best: Array  # the step with the lowest value that decreases enough
    f_best: Array
    g_best: Array


def _where(condition: Array, a: Any, b: Any) -> Any:
    return cnp.where(condition, a, b)


def _line_search(f: Objective, x: Array, value: Array, gradient: Array, direction: Array, limit: int) -> _Search:
    """A step along the direction that fulfils Wolfe's strong conditions (Nocedal & Wright, 2006, algorithms 3.5 and 3.6)."""
    start = cnp.vdot(gradient, direction)
    zero, one = cnp.zeros_like(value), cnp.ones_like(value)

    def body(s: _Search) -> _Search:
        trial, g = f(x + s.step * direction)
        slope = cnp.vdot(g, direction)
        low = cnp.isfinite(trial) & (trial <= value + _DECREASE * s.step * start)
        too_far = ~low | ((trial >= s.f_lo) & ((s.trials > 0) | s.zooming))
        flat = cnp.abs(slope) <= -_CURVATURE * start
        done = ~too_far & flat
        # Before there is a bracket: go on doubling, or take the last two trials as its ends.
        rising = ~too_far & (slope >= 0)
        opens = too_far | rising
        # Inside one: the trial replaces an end.
        crosses = slope * (s.hi - s.lo) >= 0
        keep_lo = too_far
        hi = _where(s.zooming, _where(keep_lo, s.step, _where(crosses, s.lo, s.hi)), _where(too_far, s.step, s.lo))
        f_hi = _where(
            s.zooming, _where(keep_lo, trial, _where(crosses, s.f_lo, s.f_hi)), _where(too_far, trial, s.f_lo)
        )
        lo = _where(keep_lo, s.lo, s.step)
        f_lo = _where(keep_lo, s.f_lo, trial)
        slope_lo = _where(keep_lo, s.slope_lo, slope)
        zooming = s.zooming | opens
        # The lowest point of the parabola through lo with its slope and hi, unless it is close to an end.
        width = hi - lo
        bend = f_hi - f_lo - slope_lo * width
        parabola = lo - 0.5 * slope_lo * width * width / _where(bend == 0, one, bend)
        inside = (bend > 0) & cnp.isfinite(f_hi) & (cnp.abs(parabola - lo - 0.5 * width) <= 0.4 * cnp.abs(width))
        step = _where(zooming, _where(inside, parabola, lo + 0.5 * width), 2 * s.step)
        better = low & (trial <= s.f_best)
        return _Search(
            s.trials + 1,
            done,
            zooming,
            _where(done, s.step, step),
            lo,
            f_lo,
            slope_lo,
            hi,
            f_hi,
            _where(better | done, s.step, s.best),
            _where(better | done, trial, s.f_best),
            _where(better | done, g, s.g_best),
        )

    initial = _Search(
        cnp.asarray(0, "int32"),
        cnp.asarray(False),
        cnp.asarray(False),
        one,
        zero,
        value,
        start,
        zero,
        value,
        zero,
        value,
        gradient,
    )
    return _Search(*lax.while_loop(lambda s: ~s.done & (s.trials < limit), body, initial))


class _State(NamedTuple):
    iteration: Array
    evaluations: Array
    status: Array  # -1 while it goes on
    x: Array
    f: Array
    g: Array
    memory: Any


def _iterate(
    f: Objective,
    x0: Array,
    memory: Any,
    direction_of: Callable[[Any, Array], Array],
    remember: Callable[[Any, Array, Array], Any],
    gtol: float,
    norm: Any,
    maxiter: int,
    line_search_maxiter: int,
) -> _State:
    """Quasi-Newton iterations. ``remember(memory, s, y)`` learns from a step s and the change y of the gradient."""

    def size(g: Array) -> Array:
        if norm == cnp.inf:
            return cnp.max(cnp.abs(g), initial=0)
        result: Array = cnp.sum(cnp.abs(g) ** norm) ** (1 / norm)
        return result

    def body(state: _State) -> _State:
        direction = direction_of(state.memory, state.g)
        # A direction that does not descend comes from rounding: start again from the gradient.
        direction = _where(cnp.vdot(direction, state.g) < 0, direction, -state.g)
        search = _line_search(f, state.x, state.f, state.g, direction, line_search_maxiter)
        step = search.best * direction
        failed = search.best == 0
        memory = remember(state.memory, step, search.g_best - state.g)
        converged = size(search.g_best) < gtol
        status = _where(converged, 0, _where(failed, 3, _where(state.iteration + 1 >= maxiter, 1, -1)))
        return _State(
            state.iteration + 1,
            state.evaluations + search.trials,
            status.astype("int32"),
            state.x + step,
            search.f_best,
            search.g_best,
            memory,
        )

    value, gradient = f(x0)
    status = _where(size(gradient) < gtol, 0, -1 if maxiter > 0 else 1).astype("int32")
    state = _State(cnp.asarray(0, "int32"), cnp.asarray(1, "int32"), status, x0, value, gradient, memory)
    return _State(*lax.while_loop(lambda s: s.status < 0, body, state))


def _first_scale(f: Objective, x0: Array) -> Array:
    """The first step goes at most the distance 1: nothing is known of the curvature yet."""
    gradient = f(x0)[1]
    result: Array = 1 / cnp.maximum(1, cnp.sqrt(cnp.vdot(gradient, gradient)))
    return result


def _bfgs(f: Objective, x0: Array, gtol: float, norm: Any, maxiter: int, line_search_maxiter: int) -> _State:
    identity = cnp.eye(x0.shape[0], dtype=x0.dtype)

    def remember(memory: Any, s: Array, y: Array) -> Any:
        """Nocedal & Wright, equation 6.17; a step that says nothing about the curvature is skipped."""
        inverse, first = memory
        product, square = cnp.vdot(y, s), cnp.vdot(y, y)
        useful = product > 0
        # The first curvature seen sets the scale of the matrix that it then updates: equation 6.20.
        inverse = _where(first, identity * (product / _where(square > 0, square, 1)), inverse)
        rho = 1 / _where(useful, product, 1)
        left = identity - rho * cnp.outer(s, y)
        return _where(useful, left @ inverse @ left.T + rho * cnp.outer(s, s), memory[0]), first & ~useful

    memory = (identity * _first_scale(f, x0), cnp.asarray(True))
    return _iterate(f, x0, memory, lambda m, g: -(m[0] @ g), remember, gtol, norm, maxiter, line_search_maxiter)


def _lbfgs(
    f: Objective, x0: Array, gtol: float, norm: Any, maxiter: int, line_search_maxiter: int, history: int
) -> _State:
    empty = cnp.zeros((history, x0.shape[0]), x0.dtype)
    memory = (empty, empty, cnp.zeros(history, x0.dtype), _first_scale(f, x0))

    def direction_of(memory: Any, g: Array) -> Array:
        """The two loops of Nocedal & Wright, algorithm 7.4. The newest pair comes last; rho is 0 for pairs not there yet."""
        steps, changes, rhos, scale = memory

        def down(q: Array, pair: Any) -> Any:
            s, y, rho = pair
            alpha = rho * cnp.vdot(s, q)
            return q - alpha * y, alpha

        q, alphas = lax.scan(down, g, (steps, changes, rhos), reverse=True)

        def up(r: Array, pair: Any) -> Any:
            s, y, rho, alpha = pair
            return r + s * (alpha - rho * cnp.vdot(y, r)), None

        r, _ = lax.scan(up, scale * q, (steps, changes, rhos, alphas))
        result: Array = -r
        return result

    def remember(memory: Any, s: Array, y: Array) -> Any:
        steps, changes, rhos, _ = memory
        product, square = cnp.vdot(s, y), cnp.vdot(y, y)
        useful = product > 0

        def shift(rows: Array, row: Any) -> Array:
            shifted: Array = cnp.concatenate([rows[1:], cnp.asarray(row)[None]])
            return shifted

        new = (
            shift(steps, s),
            shift(changes, y),
            shift(rhos, 1 / _where(useful, product, 1)),
            product / _where(square > 0, square, 1),
        )
        return tuple(_where(useful, a, b) for a, b in zip(new, memory, strict=True))

    return _iterate(f, x0, memory, direction_of, remember, gtol, norm, maxiter, line_search_maxiter)


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimises ``fun(x, *args)`` over a vector, from a start.

    Every iteration is traced, so that ``jit`` compiles it whole.

    Parameters
    ----------
    fun : callable
        Of a vector to a real scalar, differentiable by `cotangent.grad`.
    x0 : array, shape (n,)
        The start; floating.
    args : tuple
        Further arguments of ``fun``.
    method : str
        "BFGS" or "L-BFGS" (also under the name "l-bfgs-experimental-do-not-rely-on-this").
    tol : float, optional
        The same as the option ``gtol``.
    options : mapping, optional
        ``gtol`` (1e-5: iterations end when the gradient's norm is below), ``norm`` (infinity), ``maxiter`` (200 n),
        ``line_search_maxiter`` (10 for BFGS, 20 for L-BFGS), ``maxcor`` (10: pairs that L-BFGS keeps).

    Returns
    -------
    OptimizeResults
        What was found.

    Raises
    ------
    ValueError
        The method or an option is unknown.
    DTypeError
        ``x0`` is not floating.
    ShapeError
        ``x0`` is no vector.

    References
    ----------
    Jorge Nocedal and Stephen J. Wright, "Numerical Optimization", 2nd edition, 2006, chapters 3, 6 and 7.

    Examples
    --------
    >>> result = ct.scipy.optimize.minimize(lambda x: ((x - 3.0) ** 2).sum(), ct.numpy.zeros(2), method="BFGS")
    >>> bool(result.success), result.x.round(3).tolist()
    (True, [3.0, 3.0])
    """
    x = cnp.asarray(x0)
    if not cnp.issubdtype(x.dtype, cnp.floating):
        raise DTypeError(f"minimize: x0 must be floating; got {x.dtype}\n  convert it: x0.astype('float32')")
    if x.ndim != 1:
        raise ShapeError(
            f"minimize: x0 must be a vector; got shape {x.shape}\n"
            "  pass x0.ravel(); ct.flatten_util.ravel_pytree makes a vector of a nest, and a function back"
        )
    if not isinstance(args, tuple):
        raise TypeError(
            f"minimize: args must be a tuple; got {type(args).__name__}\n  write args=(value,) for one argument"
        )
    settings = dict(options or {})
    if tol is not None:
        settings.setdefault("gtol", tol)
    name = method.lower()
    limited = name in ("l-bfgs", "lbfgs", "l-bfgs-experimental-do-not-rely-on-this")
    if name != "bfgs" and not limited:
        raise ValueError(
            f"minimize: unknown method {method!r}; choose 'BFGS' or 'L-BFGS'\n"
            "  pass method='BFGS' for few variables, 'L-BFGS' for many"
        )
    gtol = settings.pop("gtol", 1e-5)
    norm = settings.pop("norm", cnp.inf)
    maxiter = settings.pop("maxiter", None)
    line_search_maxiter = settings.pop("line_search_maxiter", 20 if limited else 10)
    history = settings.pop("maxcor", _HISTORY) if limited else 0
    if settings:
        known = ["gtol", "norm", "maxiter", "line_search_maxiter", *(["maxcor"] if limited else [])]
        raise ValueError(
            f"minimize: unknown options {sorted(settings)} for method {method!r}{suggestion(min(settings), known)}\n"
            f"  the options are {', '.join(known)}"
        )
    iterations = 200 * x.shape[0] if maxiter is None else int(maxiter)

    def objective(x: Array) -> tuple[Array, Array]:
        value, gradient = value_and_grad(fun)(x, *args)
        return value, gradient

    if limited:
        state = _lbfgs(objective, x, gtol, norm, iterations, line_search_maxiter, int(history))
    else:
        state = _bfgs(objective, x, gtol, norm, iterations, line_search_maxiter)
    return OptimizeResults(
        x=state.x,
        success=state.status == 0,
        status=state.status,
        fun=state.f,
        jac=state.g,
        hess_inv=None if limited else state.memory[0],
        nfev=state.evaluations,
        njev=state.evaluations,
        nit=state.iteration,
    )


check_arguments(globals())
suggest_names(globals())
