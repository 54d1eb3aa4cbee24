"""A C++ server that answers requests of different lengths, several in one call.

    python examples/cpp_server/export.py build/server
    c++ -std=c++17 -O2 -Ibuild/server examples/cpp_server/main.cc build/server/libclassifier.a -pthread -o build/server/serve
    build/server/serve

writes the library with its C++ header, and compiles and runs main.cc. With CMake:

    cmake -S examples/cpp_server -B build/cmake -Dclassifier_DIR=$PWD/build/server
    cmake --build build/cmake

A request is a text of up to 64 tokens. The function takes eight of them, a `Ragged` array: what lies behind a length is never read, and a
row without tokens costs next to nothing. So a worker takes what waits in the queue, up to eight requests, without sorting or padding them.
The program checks that each answer is the one of a call with this request alone, and prints how long requests took.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

ROWS, LONGEST, TOKENS, WIDTH, CLASSES = 8, 64, 256, 32, 4


def weights(seed: int = 0) -> dict[str, np.ndarray]:
    """Of a network that has learned nothing: this is about serving."""
    draw = np.random.default_rng(seed).standard_normal
    shapes = {"table": (TOKENS, WIDTH), "query": (WIDTH,), "hidden": (WIDTH, WIDTH), "out": (WIDTH, CLASSES)}
    return {name: (draw(shape) / np.sqrt(shape[-1])).astype(np.float32) for name, shape in shapes.items()}


def classify(params, tokens):
    """The probability of each class for one text: attention, then two layers."""
    x = params["table"][tokens]
    attention = ct.nn.softmax(x @ params["query"])
    return ct.nn.softmax(cnp.tanh(attention @ x @ params["hidden"]) @ params["out"])


def answer(texts):
    """Of a batch of texts, whose lengths differ."""
    params = ct.tree.map(cnp.asarray, weights())
    return ct.vmap(ct.mask(lambda tokens: classify(params, tokens)))(texts)


def library() -> ct.export.Exported:
    texts = ct.Ragged(np.zeros((ROWS, LONGEST), np.int32), {1: np.ones(ROWS, np.int32)})
    return ct.export.library("classifier", {"answer": ct.export.function(answer, texts, results="classes")})


def main(folder: Path) -> None:
    library().save(folder, files=("h", "hpp", "a", "so", "ctir", "cmake"))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "server"))
