"""A network that a C program trains on handwritten digits.

    python examples/digits/export.py build/digits
    cc -std=c11 -O2 -Ibuild/digits examples/digits/main.c build/digits/libmodel.a -o build/digits/train
    build/digits/train build/digits/digits.bin

writes the library and the data, and compiles and runs main.c. With CMake:

    cmake -S examples/digits -B build/cmake -Dmodel_DIR=$PWD/build/digits
    cmake --build build/cmake

The data are the UCI handwritten digits that scikit-learn brings: 1,797 images of 8 by 8 pixels from 0 to 16.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

TRAIN, TEST, BATCH, HIDDEN = 1437, 360, 32, 64


def init(key):
    """What training carries from step to step; the key is for the batches."""
    w1, w2, rest = ct.random.split(key, 3)
    params = {
        "w1": ct.random.normal(w1, (64, HIDDEN)) / 8,
        "b1": cnp.zeros(HIDDEN),
        "w2": ct.random.normal(w2, (HIDDEN, 10)) / 8,
        "b2": cnp.zeros(10),
    }
    return {"params": params, "velocity": ct.tree.map(cnp.zeros_like, params), "key": rest}


def scores(params, image):
    return cnp.tanh(image / 16 @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss(params, images, labels):
    """The mean cross-entropy."""
    found = ct.nn.log_softmax(scores(params, images))
    return -cnp.mean(cnp.take_along_axis(found, labels[:, None].astype("int32"), axis=1))


def step(state, images, labels, rate):
    """Gradient descent with momentum, on a batch that is drawn from all images."""
    key, draw = ct.random.split(state["key"])
    rows = ct.random.randint(draw, (BATCH,), 0, TRAIN)
    value, gradient = ct.value_and_grad(loss)(state["params"], images[rows], labels[rows])
    velocity = ct.tree.map(lambda v, g: 0.9 * v + g, state["velocity"], gradient)
    params = ct.tree.map(lambda p, v: p - rate * v, state["params"], velocity)
    return {"state": {"params": params, "velocity": velocity, "key": key}, "loss": value}


def predict(params, image):
    """The digit that one image shows."""
    return cnp.argmax(scores(params, image)).astype("int32")


def data() -> tuple[np.ndarray, np.ndarray]:
    """Images and labels as bytes, in a random order: the first TRAIN are for training."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(0).permutation(TRAIN + TEST)
    return digits.data[order].astype(np.uint8), digits.target[order].astype(np.uint8)


def library() -> ct.export.Exported:
    state = ct.jit(init)(ct.random.key(0))
    images, labels = np.zeros((TRAIN, 64), np.uint8), np.zeros(TRAIN, np.uint8)
    functions = {
        "init": ct.export.function(init, ct.random.key(0), results="state"),
        "step": ct.export.function(step, state, images, labels, 0.1, donate="state"),
        "predict": ct.export.function(predict, state["params"], images[0], results="digit"),
    }
    return ct.export.library("model", functions)


def main(folder: Path) -> None:
    library().save(folder, files=("h", "a", "so", "ctir", "cmake"))
    images, labels = data()
    (folder / "digits.bin").write_bytes(images.tobytes() + labels.tobytes())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "digits"))
