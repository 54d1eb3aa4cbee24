"""A controller whose time is bounded: a pendulum with a motor, of which only the angle is measured.

    python examples/control/export.py build/control
    cc -std=c11 -O2 -Ibuild/control examples/control/main.c build/control/libcontrol.a -lm -o build/control/loop
    build/control/loop

In each tick an extended Kalman filter estimates angle, speed and the torque that the model does not know of; then a fixed number of
Gauss-Newton steps improves the plan of the next torques, of which the first is applied. Jacobians of model and plan are derivatives.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp

PERIOD = 0.01  # seconds between ticks
HORIZON, ITERATIONS = 25, 2
INERTIA, WEIGHT, FRICTION, LIMIT = 0.02, 1.0, 0.01, 2.5  # of the model, and the greatest torque of the motor
TRUST = (1e-7, 1e-3, 1e-3)  # variances of what the model gets wrong in a tick: angle, speed, unknown torque
SENSOR = 1e-6  # variance of a measured angle
SPEED, EFFORT = 0.1, 0.05  # weights of the plan's speeds and of its changes of torque; the angle's is 1


def model(state, torque):
    """The state after a tick."""
    angle, speed, unknown = state
    speed = speed + PERIOD / INERTIA * (torque + unknown - WEIGHT * cnp.sin(angle) - FRICTION * speed)
    return cnp.stack([angle + PERIOD * speed, speed, unknown])


def corrected(estimate, covariance, angle):
    """The estimate, knowing a measurement."""
    gain = covariance[:, 0] / (covariance[0, 0] + SENSOR)
    return estimate + gain * (angle - estimate[0]), covariance - cnp.outer(gain, covariance[0])


def improved(plan, estimate, target, before):
    """A Gauss-Newton step of the plan: torques within the motor's limits."""

    def residuals(plan):
        def follow(state, torque):
            state = model(state, torque)
            return state, cnp.stack([state[0] - target, SPEED * state[1]])

        changes = cnp.diff(cnp.concatenate([before[None], plan]))
        return cnp.concatenate([ct.lax.scan(follow, estimate, plan)[1].ravel(), EFFORT * changes])

    r, jacobian = residuals(plan), ct.jacfwd(residuals)(plan)
    return cnp.clip(plan - cnp.linalg.solve(jacobian.T @ jacobian, jacobian.T @ r), -LIMIT, LIMIT)


def tick(state, angle, target):
    """The torque to apply now."""
    estimate, covariance = corrected(state["estimate"], state["covariance"], angle)
    before, shifted = state["plan"][0], cnp.concatenate([state["plan"][1:], state["plan"][-1:]])
    plan = ct.lax.fori_loop(0, ITERATIONS, lambda _, plan: improved(plan, estimate, target, before), shifted)
    torque, change = plan[0], ct.jacfwd(model)(estimate, plan[0])
    ahead = {
        "estimate": model(estimate, torque),
        "covariance": change @ covariance @ change.T + cnp.diag(cnp.array(TRUST)),
        "plan": plan,
    }
    return {"state": ahead, "torque": torque}


def start():
    """The pendulum hangs, as far as one knows."""
    return {"estimate": cnp.zeros(3), "covariance": cnp.eye(3), "plan": cnp.zeros(HORIZON)}


def library() -> ct.export.Exported:
    functions = {
        "start": ct.export.function(start, results="state"),
        "tick": ct.export.function(tick, start(), 0.0, 0.0, donate="state"),
    }
    return ct.export.library("control", functions)


def main(folder: Path) -> None:
    library().save(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "control"))
