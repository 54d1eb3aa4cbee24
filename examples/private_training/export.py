"""Training with differential privacy in a C program: what it learns says little of any single example.

    python examples/private_training/export.py build/private
    cc -std=c11 -O2 -Ibuild/private examples/private_training/main.c build/private/liblearner.a -o build/private/train
    build/private/train build/private/digits.bin

In each step an example takes part with the same probability, its gradient is clipped to norm 1, and normal noise is added to the sum. Draws and
noise come from the random key that is part of the state, so a key has to be secret, and each run needs one of its own. What has leaked is
``ct.per_example.epsilon``, which export.py prints where `dp-accounting` is installed. The data are the UCI digits of scikit-learn.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

TRAIN, TEST, HIDDEN = 1437, 360, 64
EXPECTED, BOUND, NOISE, STEPS = (
    128,
    200,
    1.6,
    300,
)  # examples of a batch; the most there is space for; noise over clipping norm
PROBABILITY = EXPECTED / TRAIN


def init(key):
    w1, w2, rest = ct.random.split(key, 3)
    params = {
        "w1": ct.random.normal(w1, (64, HIDDEN)) / 6,
        "b1": cnp.zeros(HIDDEN),
        "w2": ct.random.normal(w2, (HIDDEN, 10)) / 6,
        "b2": cnp.zeros(10),
    }
    return {"params": params, "key": rest}


def scores(params, image):
    return cnp.tanh(image / 16 @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params, image, label):
    """The cross-entropy of ONE example."""
    found = scores(params, image)
    return ct.nn.logsumexp(found) - found[label.astype("int32")]


def batch(key):
    """A batch that each example joins by itself: rows, which of them are of the batch, and their number, which may be too large."""
    joined = ct.random.bernoulli(key, PROBABILITY, (TRAIN,))
    rows, count = cnp.flatnonzero(joined, size=BOUND, fill_value=0), cnp.sum(joined.astype("int32"))
    return rows, cnp.arange(BOUND) < count, count


def step(state, images, labels):
    """The state after a step, and how many examples took part.

    With more than there is space for, once in a billion steps, weights become NaN: to leave some out would not be private.
    """
    sampling, noise, key = ct.random.split(state["key"], 3)
    rows, present, count = batch(sampling)
    update = ct.per_example.dp_sgd_step(
        loss, learning_rate=1.0, clip_norm=1.0, noise_multiplier=NOISE, expected_batch_size=EXPECTED
    )
    params = update(noise, state["params"], images[rows], labels[rows], present=present)
    params = ct.tree.map(lambda leaf: cnp.where(count <= BOUND, leaf, cnp.nan), params)
    return {"state": {"params": params, "key": key}, "count": count}


def accuracy(params, images, labels):
    return cnp.mean((cnp.argmax(scores(params, images), axis=1) == labels).astype("float32"))


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images and labels as bytes, in a random order: the first TRAIN are for training."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(0).permutation(TRAIN + TEST)
    return digits.data[order].astype(np.uint8), digits.target[order].astype(np.uint8)


def library() -> ct.export.Exported:
    state, (images, labels) = ct.jit(init)(ct.random.key(0)), data()
    functions = {
        "init": ct.export.function(init, ct.random.key(0), results="state"),
        "step": ct.export.function(step, state, images[:TRAIN], labels[:TRAIN], donate="state"),
        "accuracy": ct.export.function(accuracy, state["params"], images[TRAIN:], labels[TRAIN:], results="share"),
    }
    return ct.export.library("learner", functions)


def main(folder: Path) -> None:
    library().save(folder)
    images, labels = data()
    (folder / "digits.bin").write_bytes(images.tobytes() + labels.tobytes())
    if importlib.util.find_spec("dp_accounting") is not None:
        spent = ct.per_example.epsilon(
            steps=STEPS, sampling_probability=PROBABILITY, noise_multiplier=NOISE, delta=1e-4
        )
        print(f"{STEPS} steps: epsilon {spent:.2f} at delta 1e-4")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "private"))
