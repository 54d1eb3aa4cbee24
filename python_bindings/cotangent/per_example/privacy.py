"""Differentially private training: noisy sums of clipped gradients, batches by Poisson sampling, and the privacy that it costs.

The guarantee is about adding or removing one example. It needs all of it: batches that each example joins by itself with one
probability (`poisson_batch`), the noise of `private_gradient`, keys that are used once, and the count of steps that `epsilon` is given.
Gaussian noise in floating point is an approximation: its last bits tell something to somebody who sees exact values (Mironov 2012, "On
significance of the least significant bits for differential privacy").
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import math
import operator
import threading
from collections.abc import Callable, Iterator
from typing import Any

from cotangent import _core, random
from cotangent import numpy as cnp
from cotangent._base.arguments import check_arguments, suggestion
from cotangent._core import Array
from cotangent.checkify import check
from cotangent.errors import ShapeError
from cotangent.per_example.batches import narrow, scalar
from cotangent.per_example.caller import Caller, Function, Tree, check_key, checked_scalar
from cotangent.per_example.clipping import Clipping, checked_present, clipped
from cotangent.tree_util import tree_flatten, tree_map

__all__ = ["adaptive_private_gradient", "dp_sgd_step", "epsilon", "poisson_batch", "private_gradient"]


def private_gradient(
    loss: Function,
    *,
    clip_norm: Any,
    noise_multiplier: float,
    expected_batch_size: float,
    per_leaf: bool = False,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Function:
    """Makes a function that returns the gradient of differentially private training.

    Clipped for each example, summed, with Gaussian noise, over the expected batch size. Costs what `clipped_sum` does,
    about one gradient of the mean loss, and the noise. Any optimizer can take the result.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    clip_norm : float, scalar array, or a pytree of them
        As of `clipped_sum`: of the whole gradient, or of each part of it.
    noise_multiplier : float or scalar array
        The standard deviation of the noise of the sum, over the norm that a clipped gradient can have.
    expected_batch_size : float or scalar array
        What the noisy sum is divided by. The real size of a batch is private. It and ``noise_multiplier`` may be traced
        scalars; one that is not valid gives NaN, as does noise whose deviation is infinite in the dtype of ``params``.
    per_leaf : bool, default False
        As of `clipped_sum`: whether each array of ``params`` is clipped for itself.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.
    has_aux : bool, default False
        Whether ``loss`` returns ``(value, aux)``; the result is then ``(gradient, aux)``, where ``aux`` is stacked. It
        is not private.

    Returns
    -------
    callable
        A function of ``(key, params, *batch, present=None)``, where every array of the batch has the examples along
        axis 0. It gives a tree like ``params``. ``present``, bools of shape (b,), says which examples are there, as of
        `clipped_sum`.

    Raises
    ------
    ValueError
        ``clip_norm`` or ``expected_batch_size`` is not positive, ``noise_multiplier`` is negative, or ``clip_norm`` is
        infinite and ``noise_multiplier`` is not 0: noise has the standard deviation ``noise_multiplier * clip_norm``.
    TypeError
        ``key`` is no random key.
    ShapeError
        Arrays of the batch differ in the number of examples, or the loss is not a scalar.
    DTypeError
        A parameter is not a real floating array; ``present`` is not of bools.

    References
    ----------
    M. Abadi, A. Chu, I. Goodfellow, H. B. McMahan, I. Mironov, K. Talwar, L. Zhang, "Deep learning with differential
    privacy", ACM CCS 2016.

    Examples
    --------
    Without noise it equals:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> g = ct.vmap(ct.grad(loss), in_axes=(None, 0, 0))(w, x, y)
    >>> scale = cnp.minimum(1.0, 5.0 / cnp.sqrt(cnp.sum(g * g, axis=1)))
    >>> (cnp.einsum("i,i...->...", scale, g) / 2).tolist()
    [1.5, 1.0]
    >>> private = ct.per_example.private_gradient(loss, clip_norm=5.0, noise_multiplier=0.0, expected_batch_size=2)
    >>> private(ct.random.key(0), w, x, y).tolist()
    [1.5, 1.0]
    """
    caller = Caller("private_gradient", loss, chunk_size, has_aux)
    return _private_gradient(caller, clip_norm, noise_multiplier, expected_batch_size, per_leaf)


def _private_gradient(
    caller: Caller, clip_norm: Any, noise_multiplier: Any, expected_batch_size: Any, per_leaf: bool
) -> Function:
    """The same for whom errors are about."""
    has_aux = bool(caller.has_aux)
    clipping = Clipping(clip_norm, per_leaf, caller)
    noise_multiplier = _checked_noise(noise_multiplier, "noise_multiplier", caller)
    expected_batch_size = _checked_size(expected_batch_size, caller)
    clipping.check_noise(noise_multiplier)

    def private_gradient_fun(key: Any, params: Tree, /, *batch: Any, present: Any = None, **by_name: Any) -> Any:
        check_key(key, caller.text, "key, params, *batch")
        caller.check_params(params)
        clipping.check_structure(params)
        here = checked_present(present, caller.size(batch, by_name), caller)
        function, batch = caller.by_position(batch, by_name)
        loss = caller.loss(function)

        def program(key: Array, bounds: list[Any], params: Tree, here: Any, *batch: Any) -> Any:
            bounds = clipping.valid(bounds)
            sums, (_, aux) = clipped(loss, clipping, bounds, params, batch, here, has_aux)
            deviation = clipping.deviation(noise_multiplier, bounds)
            gradient = _noisy_mean(key, sums, deviation, expected_batch_size, params)
            return (gradient, aux) if has_aux else gradient

        return caller.evaluate(program, key, clipping.bounds, params, here, *batch)

    return caller.named(private_gradient_fun)


def _checked_noise(x: Any, called: str, caller: Caller) -> Any:
    """A standard deviation, or a multiple of one."""
    return checked_scalar(x, called, caller.text, lambda x: (x >= 0) & (x < math.inf), "finite and not negative", 1.0)


def _checked_rate(x: Any, called: str, caller: Caller) -> Any:
    return checked_scalar(x, called, caller.text, lambda x: abs(x) < math.inf, "finite", 0.2)


def _checked_size(expected_batch_size: Any, caller: Caller) -> Any:
    called = "expected_batch_size"
    return checked_scalar(
        expected_batch_size, called, caller.text, lambda x: (x > 0) & (x < math.inf), "finite and positive", 256
    )


def _noisy_mean(key: Array, sums: Tree, deviation: Any, count: float, params: Tree) -> Tree:
    """Sums with noise, over the expected number of examples, in the dtypes of the parameters.

    Noise that is infinite in these would be a result that is not, here and there: all are NaN.
    """
    leaves, structure = tree_flatten(sums)
    keys = random.split(key, len(leaves))

    def noise(key: Array, like: Array) -> Array:
        scale = deviation.astype(like.dtype)
        result: Array = random.normal(key, like.shape, like.dtype) * cnp.where(cnp.isfinite(scale), scale, cnp.nan)
        return result

    noisy = [(leaf + noise(keys[index], leaf)) / count for index, leaf in enumerate(leaves)]
    return narrow(structure.unflatten(noisy), params)


def adaptive_private_gradient(
    loss: Function,
    *,
    noise_multiplier: float,
    expected_batch_size: float,
    quantile: float = 0.5,
    clip_learning_rate: float = 0.2,
    count_noise: float | None = None,
    chunk_size: int | None = None,
    has_aux: bool = False,
) -> Function:
    """Makes a `private_gradient` with a clipping norm that follows a quantile of the norms.

    The share of examples whose norm is within the bound is estimated with noise, and the bound is multiplied by
    ``exp(-clip_learning_rate * (share - quantile))``. The noise of the gradient is raised so that both together cost
    the privacy of ``noise_multiplier`` (theorem 1 of the reference), which is the one to give to `epsilon`.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    noise_multiplier : float or scalar array
        The privacy of a step, as of `private_gradient`.
    expected_batch_size : float or scalar array
        What the noisy sum is divided by.
    quantile : float or scalar array, default 0.5
        The share of examples whose gradients are to keep their norm.
    clip_learning_rate : float or scalar array, default 0.2
        How fast the bound follows.
    count_noise : float or scalar array, optional
        The standard deviation of the noise of the count of examples within the bound; by default ``expected_batch_size
        / 20``.
    chunk_size : int, optional
        How many examples are computed at a time, by default all.
    has_aux : bool, default False
        Whether ``loss`` returns ``(value, aux)``; the result is then ``(gradient, clip_norm, aux)``, where ``aux`` is
        stacked. It is not private.

    Returns
    -------
    callable
        A function of ``(key, clip_norm, params, *batch, present=None)``, otherwise as of `private_gradient`. It gives
        ``(gradient, clip_norm)``, with the bound for the next step, a float64. Where a traced ``clip_norm`` is not
        positive, or a traced option not valid, all is NaN.

    Raises
    ------
    ValueError
        ``quantile`` is not between 0 and 1, or ``count_noise`` is not more than half of ``noise_multiplier``; and as of
        `private_gradient`.

    References
    ----------
    G. Andrew, O. Thakkar, H. B. McMahan, S. Ramaswamy, "Differentially private learning with adaptive clipping",
    NeurIPS 2021.

    Examples
    --------
    Without noise:

    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> private = ct.per_example.adaptive_private_gradient(
    ...     loss, noise_multiplier=0.0, count_noise=0.0, expected_batch_size=2, quantile=1.0)
    >>> gradient, clip_norm = private(ct.random.key(0), 5.0, w, x, y)
    >>> gradient.tolist(), round(float(clip_norm), 4)  # one of two is within the bound: 5 * exp(0.2 / 2)
    ([1.5, 1.0], 5.5259)
    """
    caller = Caller("adaptive_private_gradient", loss, chunk_size, has_aux)
    noise_multiplier = _checked_noise(noise_multiplier, "noise_multiplier", caller)
    expected_batch_size = _checked_size(expected_batch_size, caller)
    quantile = checked_scalar(quantile, "quantile", caller.text, lambda x: (x >= 0) & (x <= 1), "between 0 and 1", 0.5)
    clip_learning_rate = _checked_rate(clip_learning_rate, "clip_learning_rate", caller)
    given = expected_batch_size / 20 if count_noise is None else count_noise
    count_deviation = _checked_noise(given, "count_noise", caller)
    gradient_multiplier = _share_of_gradient(noise_multiplier, count_deviation, caller)

    def adaptive_private_gradient_fun(
        key: Any, clip_norm: Any, params: Tree, /, *batch: Any, present: Any = None, **by_name: Any
    ) -> Any:
        check_key(key, caller.text, "key, clip_norm, params, *batch")
        caller.check_params(params)
        here = checked_present(present, caller.size(batch, by_name), caller)
        function, batch = caller.by_position(batch, by_name)
        loss = caller.loss(function)
        clipping = Clipping(clip_norm, False, caller)
        if clipping.structure.num_nodes != 1:
            raise ShapeError(
                f"{caller.text}: clip_norm must be one scalar; got a tree of {len(clipping.bounds)}\n"
                "  pass one number; private_gradient takes one for each part of params"
            )
        clipping.check_noise(gradient_multiplier)

        def program(key: Array, bounds: list[Any], params: Tree, here: Any, *batch: Any) -> Any:
            bounds = clipping.valid(bounds)
            sums, ((norms,), aux) = clipped(loss, clipping, bounds, params, batch, here, has_aux)
            gradient_key, count_key = random.split(key, 2)
            deviation = clipping.deviation(gradient_multiplier, bounds)
            gradient = _noisy_mean(gradient_key, sums, deviation, expected_batch_size, params)
            # Halves make one example change the count by 1/2, whichever way; absent ones count nothing.
            halves = cnp.where(norms <= scalar(bounds[0], norms.dtype), 0.5, -0.5).astype(norms.dtype)
            count = cnp.sum(halves if here is None else cnp.where(here, halves, 0))
            noise = count_deviation * random.normal(count_key, (), norms.dtype)
            share = 0.5 + (count + noise) / expected_batch_size
            bound = scalar(bounds[0], norms.dtype) * cnp.exp(-clip_learning_rate * (share - quantile))
            bound = cnp.where(cnp.isfinite(deviation), bound, cnp.nan)
            return (gradient, bound, aux) if has_aux else (gradient, bound)

        return caller.evaluate(program, key, clipping.bounds, params, here, *batch)

    return caller.named(adaptive_private_gradient_fun)


def _share_of_gradient(noise_multiplier: Any, count_deviation: Any, caller: Caller) -> Any:
    """The noise of the gradient over the bound that together with that of the count costs what ``noise_multiplier`` does."""
    if isinstance(noise_multiplier, float) and isinstance(count_deviation, float):
        if noise_multiplier == 0:
            return 0.0
        if not 2 * count_deviation > noise_multiplier:
            raise ValueError(
                f"{caller.text}: count_noise={count_deviation:g} is too little: the count alone would cost more privacy than"
                f" noise_multiplier={noise_multiplier:g} allows\n  it must be more than {noise_multiplier / 2:g}"
            )
        return (noise_multiplier**-2 - (2 * count_deviation) ** -2) ** -0.5
    some = noise_multiplier != 0
    ratio = cnp.where(some, noise_multiplier / cnp.where(some, 2 * count_deviation, 1), 0)
    return cnp.where(ratio < 1, noise_multiplier / cnp.sqrt(1 - ratio**2), cnp.nan)


def dp_sgd_step(
    loss: Function,
    *,
    learning_rate: float,
    clip_norm: Any,
    noise_multiplier: float,
    expected_batch_size: float,
    per_leaf: bool = False,
    chunk_size: int | None = None,
) -> Function:
    """Makes a step of differentially private gradient descent.

    ``params - learning_rate * private_gradient``.

    Parameters
    ----------
    loss : callable
        The loss of one example, ``loss(params, *example)``, a real floating scalar.
    learning_rate : float or scalar array
        A scalar, which may be a traced array.
    clip_norm : float, scalar array, or a pytree of them
        As of `private_gradient`.
    noise_multiplier : float or scalar array
        As of `private_gradient`.
    expected_batch_size : float or scalar array
        As of `private_gradient`.
    per_leaf : bool, default False
        As of `private_gradient`.
    chunk_size : int, optional
        As of `private_gradient`.

    Returns
    -------
    callable
        A function of ``(key, params, *batch, present=None)`` that gives new parameters, a tree like ``params``.

    Examples
    --------
    >>> import cotangent.numpy as cnp
    >>> loss = lambda w, x, y: (x @ w - y) ** 2 / 2
    >>> w, x, y = cnp.array([1.0, 0.0]), cnp.array([[3.0, 4.0], [0.0, 2.0]]), cnp.array([1.0, 1.0])
    >>> step = ct.jit(
    ...     ct.per_example.dp_sgd_step(
    ...         loss, learning_rate=0.5, clip_norm=5.0, noise_multiplier=0.0, expected_batch_size=2
    ...     )
    ... )
    >>> step(ct.random.key(1), w, x, y).tolist()
    [0.25, -0.5]
    """
    caller = Caller("dp_sgd_step", loss, chunk_size, False)
    gradient = _private_gradient(caller, clip_norm, noise_multiplier, expected_batch_size, per_leaf)
    rate = _checked_rate(learning_rate, "learning_rate", caller)

    def dp_sgd_step_fun(key: Any, params: Tree, /, *batch: Any, present: Any = None, **by_name: Any) -> Any:
        update = gradient(key, params, *batch, present=present, **by_name)
        return tree_map(lambda p, g: (p - rate * g).astype(g.dtype), params, update)

    return caller.named(dp_sgd_step_fun)


def poisson_batch(key: Any, *, size: int, probability: float, bound: int) -> tuple[Array, Array]:
    """Draws a batch that each example joins by itself with a probability, in arrays of a fixed size.

    Parameters
    ----------
    key : random key
        Of `ct.random`, one for each batch.
    size : int
        The number of examples that there are.
    probability : float or scalar array
        With which each of them joins, which may be a traced scalar.
    bound : int
        How many there is space for. ``probability * size + 6 * sqrt(probability * size)`` is exceeded once in a billion
        batches.

    Returns
    -------
    tuple
        ``(rows, present)``: positions int32 of shape (bound,) among the examples, and bools of shape (bound,) that say
        which of them belong to the batch. The others are 0. ``step(key, params, xs[rows], ys[rows], present=present)``
        is one compiled program for all of them.

    Raises
    ------
    ValueError
        ``probability`` is not between 0 and 1, or ``size`` or ``bound`` is negative.
    CheckError
        More examples joined than ``bound``; to leave some out would not be private. A compiled program raises it, too,
        and where a traced ``probability`` is not between 0 and 1.

    Examples
    --------
    >>> rows, present = ct.per_example.poisson_batch(ct.random.key(1), size=6, probability=0.5, bound=6)
    >>> rows.shape, present.shape
    ((6,), (6,))
    """
    text = "per_example.poisson_batch"
    check_key(key, text, "key, *, size, probability, bound")
    checked = checked_scalar(probability, "probability", text, lambda p: (p >= 0) & (p <= 1), "between 0 and 1", 0.01)
    if _core.is_traced(probability):
        check(
            checked == checked,  # NaN where it was not valid
            f"{text}: probability must be between 0 and 1; got {{probability}}",
            probability=probability,
        )
    size, bound = operator.index(size), operator.index(bound)
    if size < 0 or bound < 0:
        raise ValueError(
            f"per_example.poisson_batch: size and bound must not be negative; got {size} and {bound}\n"
            "  pass the number of examples as size, and the space of a batch as bound"
        )

    # In float64: probabilities are multiples of 2**-53, not of 2**-24.
    joined = random.uniform(key, (size,), "float64") < checked
    count = cnp.sum(joined.astype("int32"))
    check(
        count <= bound,
        "per_example.poisson_batch: {count} examples joined a batch with space for {bound}\n  raise bound",
        count=count,
        bound=bound,
    )
    rows = cnp.nonzero(joined, size=bound, fill_value=0)[0].astype("int32")
    return rows, cnp.arange(bound) < count


_ACCOUNTANTS = ("pld", "rdp")


def epsilon(
    *,
    steps: int,
    sampling_probability: float,
    noise_multiplier: float,
    delta: float,
    accountant: str = "pld",
) -> float:
    """Returns the ε of (ε, δ)-differential privacy that training has cost.

    Where one example is added or removed. Computed by Google's ``dp-accounting`` for the Gaussian mechanism on
    Poisson-sampled batches. Install it with ``pip install dp-accounting``, or with this package as
    ``cotangent[privacy]``. The first call imports it, and makes the distribution of one step: seconds, where other
    steps and ``delta`` with the same probability and noise are found in less than one.

    Parameters
    ----------
    steps : int
        How many batches were seen.
    sampling_probability : float
        With which each example joined each of them.
    noise_multiplier : float
        That of `private_gradient` or `adaptive_private_gradient`.
    delta : float
        The probability with which ε may be exceeded; less than one over the number of examples.
    accountant : str, default "pld"
        ``"pld"``, privacy loss distributions, which are exact up to rounding upwards, or ``"rdp"``, Rényi divergences,
        an upper bound that is found faster.

    Returns
    -------
    float
        The least ε that holds with ``delta``, or a bound above it.

    Raises
    ------
    ImportError
        ``dp-accounting`` is not installed.
    ValueError
        An argument is out of its range.
    TypeError
        An argument is traced.

    References
    ----------
    A. Koskela, J. Jälkö, A. Honkela, "Computing tight differential privacy guarantees using FFT", AISTATS 2020.

    I. Mironov, K. Talwar, L. Zhang, "Rényi differential privacy of the sampled Gaussian mechanism", arXiv:1908.10530,
    2019.

    Examples
    --------
    >>> spent = ct.per_example.epsilon(steps=400, sampling_probability=0.1, noise_multiplier=1.6, delta=1e-5)
    >>> 5.0 < spent < 7.0
    True
    """
    text = "per_example.epsilon"

    def known(x: Any, name: str, valid: Callable[[Any], Any], requirement: str, typical: float) -> float:
        if _core.is_traced(x):
            raise TypeError(
                f"{text}: {name} is traced, and the accountant needs its value\n  call epsilon outside of jit, vmap and grad"
            )
        return float(checked_scalar(x, name, text, valid, requirement, typical))

    def is_probability(p: Any) -> Any:
        return (p >= 0) & (p <= 1)

    probability = known(sampling_probability, "sampling_probability", is_probability, "between 0 and 1", 0.01)
    noise = known(noise_multiplier, "noise_multiplier", lambda z: z >= 0, "at least 0", 1.0)
    delta = known(delta, "delta", is_probability, "between 0 and 1", 1e-5)
    if accountant not in _ACCOUNTANTS:
        raise ValueError(
            f"{text}: accountant must be one of {_ACCOUNTANTS}; got {accountant!r}{suggestion(accountant, _ACCOUNTANTS)}\n"
            "  pass accountant='pld' for the tight bound, or 'rdp' for the fast one"
        )
    if steps < 0:
        raise ValueError(
            f"{text}: steps must not be negative; got {steps}\n  pass how many batches were seen, from 0 on"
        )
    if steps == 0 or probability == 0 or noise == math.inf:
        return 0.0
    if noise == 0:
        return math.inf
    try:
        library: Any = importlib.import_module("dp_accounting")
    except ImportError as error:
        raise ImportError(
            f"{text} needs the package dp-accounting, which is not installed\n  pip install dp-accounting"
        ) from error
    count = operator.index(steps)
    try:
        if accountant == "pld":
            return float(
                _loss_of_one_step(library, probability, noise).self_compose(count).get_epsilon_for_delta(delta)
            )
        event = library.PoissonSampledDpEvent(probability, library.GaussianDpEvent(noise))
        books = library.rdp.RdpAccountant()
        with _without_warnings_of_orders():
            books.compose(event, count)
        return float(books.get_epsilon(delta))
    except (ValueError, ArithmeticError, MemoryError) as error:
        raise ValueError(
            f"{text}: the accountant {accountant!r} fails at steps={steps}, sampling_probability={probability:g},"
            f' noise_multiplier={noise:g}, delta={delta:g}: {error}\n  with little noise, try accountant="rdp"'
        ) from error


@functools.lru_cache(maxsize=8)  # most of the time that an ε takes, and the same for all numbers of steps
def _loss_of_one_step(library: Any, probability: float, noise: float) -> Any:
    """The distribution of the privacy loss of one batch: what `PLDAccountant` composes."""
    return library.pld.privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=noise, value_discretization_interval=1e-4, sampling_prob=probability
    )


@contextlib.contextmanager
def _without_warnings_of_orders() -> Iterator[None]:
    """Without what the accountant logs of Rényi orders that it leaves out: its bound is that of the others.

    What other threads log meanwhile is not touched.
    """
    here = threading.get_ident()

    def is_another(record: logging.LogRecord) -> bool:
        return record.thread != here or "Excluding this order" not in str(record.msg)

    logger = logging.getLogger("absl")
    logger.addFilter(is_another)
    try:
        yield
    finally:
        logger.removeFilter(is_another)


check_arguments(globals())
