"""One HTML file that trains a network on handwritten digits in the browser, and on those that one draws there.

    python examples/browser/page.py digits.html

The step is exported for WebAssembly; the page holds the module, its loader and the UCI digits that scikit-learn brings, and loads nothing.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

HERE = Path(__file__).resolve().parent
BATCH = 32


def init(key):
    w1, w2 = ct.random.split(key)
    return {
        "w1": ct.random.normal(w1, (64, 48)) / 6,
        "b1": cnp.zeros(48),
        "w2": ct.random.normal(w2, (48, 10)) / 7,
        "b2": cnp.zeros(10),
    }


def logits(params, x):
    return cnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def predict(params, x):
    return ct.nn.softmax(logits(params, x))


def step(params, x, y, rate):
    """Gradient descent on the cross-entropy of a batch."""

    def loss(params):
        return -cnp.mean(cnp.take_along_axis(ct.nn.log_softmax(logits(params, x)), y[:, None], axis=1))

    value, gradient = ct.value_and_grad(loss)(params)
    return {"params": ct.tree_util.tree_map(lambda p, g: p - rate * g, params, gradient), "loss": value}


def library() -> ct.export.Exported:
    params = ct.jit(init)(ct.random.key(0))
    image, images = np.zeros(64, np.float32), np.zeros((BATCH, 64), np.float32)
    functions = {
        "init": ct.export.function(init, ct.random.key(0), results="params"),
        "step": ct.export.function(step, params, images, np.zeros(BATCH, np.int32), np.float32(0.1), donate="params"),
        "predict": ct.export.function(predict, params, image, results="p"),
    }
    return ct.export.library("digits", functions, target="wasm32")


def page() -> str:
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images, labels = data.data[order].astype(np.uint8), data.target[order].astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        library().save(folder, files=("wasm", "mjs"))
        module = base64.b64encode((Path(folder) / "digits.wasm").read_bytes()).decode()
        loader = base64.b64encode((Path(folder) / "digits.mjs").read_bytes()).decode()
    text = (HERE / "page.html").read_text()
    for name, value in {
        "MODULE": module,
        "LOADER": loader,
        "IMAGES": base64.b64encode(images.tobytes()).decode(),
        "LABELS": base64.b64encode(labels.tobytes()).decode(),
    }.items():
        text = text.replace(f"@{name}@", value)
    return text


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "digits.html")
    out.write_text(page())
    print(f"{out}: {out.stat().st_size / 1e3:.0f} kB")
