"""A character-level recurrent network on lines of every length, trained through ``mask`` with one compile.

The text is a licence that every Debian system ships. The loss is written for ONE line of its own length; ``vmap(mask(loss))`` runs it
on a batch of ragged lines, and padding reaches neither the loss nor a gradient.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

HIDDEN = 48
BOUND = 80
BATCH = 32
STEPS = 150
LEARNING_RATE = 0.5
LICENCES = (
    "/usr/share/common-licenses/Apache-2.0",
    "/usr/share/common-licenses/GPL-3",
    "/usr/share/common-licenses/Artistic",
)


def load_lines() -> tuple[list[np.ndarray], int]:
    """Lines as arrays of character numbers, and the size of the alphabet."""
    text = next(Path(path).read_text(encoding="utf-8", errors="replace") for path in LICENCES if Path(path).exists())
    lines = [line.strip() for line in text.splitlines()]
    lines = [line[: BOUND - 1] for line in lines if len(line) > 1]
    alphabet = sorted(set("".join(lines)))
    number = {character: index for index, character in enumerate(alphabet)}
    return [np.array([number[c] for c in line], dtype=np.int32) for line in lines], len(alphabet)


def init_params(alphabet: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    draw = lambda *shape: cnp.array((rng.standard_normal(shape) * 0.1).astype(np.float32))  # noqa: E731
    return {
        "embed": draw(alphabet, HIDDEN),
        "recur": draw(HIDDEN, HIDDEN),
        "out": draw(HIDDEN, alphabet),
        "bias": cnp.zeros(alphabet, "float32"),
    }


def line_loss(params: dict[str, Any], line: Any) -> Any:
    """The mean cross-entropy of predicting each character of ONE line from those before it."""

    def step(state: Any, character: Any) -> tuple[Any, Any]:
        scores = state @ params["out"] + params["bias"]
        cost = ct.nn.logsumexp(scores) - scores[character]
        return cnp.tanh(params["embed"][character] + state @ params["recur"]), cost

    _, costs = ct.lax.scan(step, cnp.zeros(HIDDEN, "float32"), line)
    return cnp.mean(costs)


def train_step(params: dict[str, Any], lines: ct.Ragged) -> tuple[dict[str, Any], Any]:
    def batch_loss(params: dict[str, Any]) -> Any:
        return cnp.mean(ct.vmap(ct.mask(line_loss), in_axes=(None, 0))(params, lines))

    value, gradient = ct.value_and_grad(batch_loss)(params)
    return ct.tree.map(lambda p, g: p - LEARNING_RATE * g, params, gradient), value


def run() -> dict[str, float]:
    """Trains; returns the first and last loss and how many signatures were compiled."""
    from tqdm import tqdm

    lines, alphabet = load_lines()
    params = init_params(alphabet, 0)
    step = ct.jit(train_step)
    rng = np.random.default_rng(3)
    losses = []
    lengths = [len(line) for line in lines]
    print(f"{len(lines)} lines of {min(lengths)} to {max(lengths)} characters, alphabet of {alphabet}")
    for _ in tqdm(range(STEPS), desc="ragged training", unit="step"):
        chosen = [lines[i] for i in rng.choice(len(lines), BATCH, replace=False)]
        params, value = step(params, ct.ragged(chosen, bound=BOUND))
        losses.append(float(value))
    print(
        f"loss {np.mean(losses[:5]):.3f} -> {np.mean(losses[-5:]):.3f} nats a character; compiled {step._cache_size()} time(s) for all lengths"
    )
    return {
        "first": float(np.mean(losses[:5])),
        "last": float(np.mean(losses[-5:])),
        "compiles": float(step._cache_size()),
    }


if __name__ == "__main__":
    run()
