"""``jax.example_libraries.optimizers``: optimizers as three functions of pytrees, in the interface that JAX's examples have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import cotangent.numpy as cnp
from cotangent import _core, tree_util

__all__ = [
    "JoinPoint",
    "Optimizer",
    "OptimizerState",
    "adagrad",
    "adam",
    "adamax",
    "clip_grads",
    "constant",
    "exponential_decay",
    "inverse_time_decay",
    "l2_norm",
    "make_schedule",
    "momentum",
    "nesterov",
    "optimizer",
    "pack_optimizer_state",
    "piecewise_constant",
    "polynomial_decay",
    "rmsprop",
    "rmsprop_momentum",
    "sgd",
    "sm3",
    "unpack_optimizer_state",
]

Schedule = Callable[[Any], Any]


class OptimizerState(NamedTuple):
    """The states of all parameters, flat, and the structures of the parameters and of each state."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree_util.register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda structures, packed: OptimizerState(*packed, *structures),
)


class Optimizer(NamedTuple):
    """``init_fn(params)``, ``update_fn(step, gradients, state)`` and ``params_fn(state)``."""

    init_fn: Callable[[Any], OptimizerState]
    update_fn: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], Any]


def optimizer(make: Callable[..., Any]) -> Callable[..., Optimizer]:
    """Makes an optimizer of pytrees of one whose functions are of one array."""

    @functools.wraps(make)
    def make_for_trees(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, params_of = make(*args, **kwargs)

        def init_fn(params: Any) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(params)
            return _packed([init(leaf) for leaf in leaves], structure)

        def update_fn(step: Any, gradients: Any, state: OptimizerState) -> OptimizerState:
            leaves, structure = tree_util.tree_flatten(gradients)
            if structure != state.tree_def:
                raise TypeError(
                    f"the gradients have structure {structure}; the parameters have {state.tree_def}\n"
                    "  pass the gradients by the parameters that opt_init was given"
                )
            return _packed([update(step, g, s) for g, s in zip(leaves, _states(state), strict=True)], structure)

        def params_fn(state: OptimizerState) -> Any:
            return state.tree_def.unflatten([params_of(one) for one in _states(state)])

        return Optimizer(init_fn, _core.leaving(update_fn), params_fn)

    return make_for_trees


def _packed(states: list[Any], structure: Any) -> OptimizerState:
    flat = [tree_util.tree_flatten(state) for state in states]
    return OptimizerState(tuple(tuple(leaves) for leaves, _ in flat), structure, tuple(inner for _, inner in flat))


def _states(state: OptimizerState) -> list[Any]:
    return [inner.unflatten(leaves) for inner, leaves in zip(state.subtree_defs, state.packed_state, strict=True)]


class JoinPoint:
    """Where the state of one parameter hangs in a tree of parameters."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree


def unpack_optimizer_state(state: OptimizerState) -> Any:
    """The parameters' tree with the state of each in a `JoinPoint`: what can be saved."""
    return state.tree_def.unflatten([JoinPoint(one) for one in _states(state)])


def pack_optimizer_state(marked: Any) -> OptimizerState:
    """The state of what `unpack_optimizer_state` returned."""
    points, structure = tree_util.tree_flatten(marked, is_leaf=lambda node: isinstance(node, JoinPoint))
    return _packed([point.subtree for point in points], structure)


def constant(step_size: Any) -> Schedule:
    """The same step size always."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """A step size that is multiplied by the rate every so many steps."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """A step size that falls as the inverse of the number of steps."""

    def schedule(i: Any) -> Any:
        passed = cnp.floor(i / decay_steps) if staircase else i / decay_steps
        return step_size / (1 + decay_rate * passed)

    return schedule


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """A step size that falls to another in so many steps."""

    def schedule(i: Any) -> Any:
        left = 1 - cnp.minimum(i, decay_steps) / decay_steps
        return (step_size - final_step_size) * left**power + final_step_size

    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """The value of the interval between boundaries in which the step is."""
    limits, steps = cnp.array(boundaries), cnp.array(values)
    if not limits.ndim == steps.ndim == 1 or steps.shape[0] != limits.shape[0] + 1:
        raise ValueError(
            "piecewise_constant: boundaries and values are lists, and there is one value more\n"
            "  pass piecewise_constant([100], [0.1, 0.01]), say"
        )
    return lambda i: steps[cnp.sum(i > limits)]


def make_schedule(size_or_schedule: Any) -> Schedule:
    """A schedule of a step size, or the schedule that it is."""
    return size_or_schedule if callable(size_or_schedule) else constant(size_or_schedule)


@optimizer
def sgd(step_size: Any) -> Any:
    """Gradient descent."""
    rate = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - rate(i) * g, lambda x: x


@optimizer
def momentum(step_size: Any, mass: Any) -> Any:
    """Gradient descent with momentum."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * velocity, velocity

    return lambda x: (x, cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def nesterov(step_size: Any, mass: Any) -> Any:
    """Gradient descent with Nesterov's momentum."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - rate(i) * (mass * velocity + g), velocity

    return lambda x: (x, cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Any:
    """Steps divided by the root of the sum of squared gradients."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, total, mean = state
        total = total + cnp.square(g)
        scale = cnp.where(total > 0, 1.0 / cnp.sqrt(total), 0.0)
        mean = (1.0 - momentum) * (g * scale) + momentum * mean
        return x - rate(i) * mean, total, mean

    return lambda x: (x, cnp.zeros_like(x), cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Any:
    """Steps divided by the root of the running mean of squared gradients."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean = state
        mean = mean * gamma + cnp.square(g) * (1.0 - gamma)
        return x - rate(i) * g / cnp.sqrt(mean + eps), mean

    return lambda x: (x, cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Any:
    """`rmsprop` with momentum."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, moved = state
        mean = mean * gamma + cnp.square(g) * (1.0 - gamma)
        moved = momentum * moved + rate(i) * g / cnp.sqrt(mean + eps)
        return x - moved, mean, moved

    return lambda x: (x, cnp.zeros_like(x), cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Adam: running means of gradients and of their squares, corrected for their start at zero."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, first, second = state
        first = (1 - b1) * g + b1 * first
        second = (1 - b2) * cnp.square(g) + b2 * second
        mean = first / (1 - cnp.asarray(b1, first.dtype) ** (i + 1))
        square = second / (1 - cnp.asarray(b2, first.dtype) ** (i + 1))
        return x - rate(i) * mean / (cnp.sqrt(square) + eps), first, second

    return lambda x: (x, cnp.zeros_like(x), cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Any:
    """Adam with the largest gradient in place of the root of the squares' mean."""
    rate = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, first, largest = state
        first = (1 - b1) * g + b1 * first
        largest = cnp.maximum(b2 * largest, cnp.abs(g))
        scale = rate(i) / (1 - cnp.asarray(b1, first.dtype) ** (i + 1))
        return x - scale * first / (largest + eps), first, largest

    return lambda x: (x, cnp.zeros_like(x), cnp.zeros_like(x)), update, lambda state: state[0]


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Any:
    """Adagrad that keeps a sum for each row and each column of an array in place of one for each element.

    R. Anil, V. Gupta, T. Koren, Y. Singer, "Memory-efficient adaptive optimization", NeurIPS 2019.
    """
    rate = make_schedule(step_size)

    def init(x: Any) -> Any:
        x = cnp.asarray(x)
        return x, cnp.zeros_like(x), [cnp.zeros(size, x.dtype) for size in x.shape or (1,)]

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, bounds = state
        rank = max(g.ndim, 1)
        square = cnp.square(g).reshape(g.shape or (1,))
        spread = [cnp.expand_dims(v, [other for other in range(rank) if other != j]) for j, v in enumerate(bounds)]
        sums = functools.reduce(cnp.minimum, spread) + square
        scale = cnp.where(sums > 0, 1 / cnp.sqrt(sums), 0.0).reshape(g.shape)
        mean = (1 - momentum) * (g * scale) + momentum * mean
        bounds = [cnp.max(sums, axis=tuple(other for other in range(rank) if other != j)) for j in range(rank)]
        return x - rate(i) * mean, mean, bounds

    return init, update, lambda state: state[0]


def l2_norm(tree: Any) -> Any:
    """The norm of all leaves together."""
    return cnp.sqrt(sum(cnp.vdot(leaf, leaf) for leaf in tree_util.tree_leaves(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The gradients, scaled down where their norm is larger than this."""
    norm = l2_norm(grad_tree)
    return tree_util.tree_map(lambda g: cnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)
