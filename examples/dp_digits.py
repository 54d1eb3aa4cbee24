"""Differentially private training on handwritten digits, with per-example gradients from ``vmap(grad(loss))``.

The data are the UCI handwritten digits that ship inside scikit-learn (1,797 real images of 8 by 8 pixels). The user code is a loss for ONE
example; `jax`-style transforms do the rest: per-example gradients, clipping, summing, noise and the update in one jitted step. The
privacy budget is computed by Google's `dp-accounting` (Rényi accountant of the subsampled Gaussian mechanism, Mironov et al. 2019).
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np

BATCH = 128  # expected size: each example joins a batch with the same probability (Poisson sampling)
BOUND = 192  # rows of the padded batch, six standard deviations above
STEPS = 400
CLIP_NORM = 1.0
NOISE_MULTIPLIER = 1.6
LEARNING_RATE = 1.0
DELTA = 1e-5
HIDDEN = 64


def load_digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images and labels, test images and labels; pixels in 0 … 1."""
    from sklearn.datasets import load_digits as bundled
    from sklearn.model_selection import train_test_split

    digits = bundled()
    images = (digits.data / 16.0).astype(np.float32)
    labels = digits.target.astype(np.int32)
    train_x, test_x, train_y, test_y = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
    return train_x, train_y, test_x, test_y


def init_params(seed: int) -> dict[str, Any]:
    """A two-layer perceptron, 64 -> HIDDEN -> 10."""
    rng = np.random.default_rng(seed)
    scale = lambda fan_in: np.sqrt(2.0 / fan_in)  # noqa: E731
    return {
        "w1": cnp.array((rng.standard_normal((64, HIDDEN)) * scale(64)).astype(np.float32)),
        "b1": cnp.zeros(HIDDEN, dtype="float32"),
        "w2": cnp.array((rng.standard_normal((HIDDEN, 10)) * scale(HIDDEN)).astype(np.float32)),
        "b2": cnp.zeros(10, dtype="float32"),
    }


def logits(params: dict[str, Any], image: Any) -> Any:
    hidden = cnp.tanh(image @ params["w1"] + params["b1"])
    return hidden @ params["w2"] + params["b2"]


def loss(params: dict[str, Any], image: Any, label: Any) -> Any:
    """The cross-entropy of ONE example."""
    scores = logits(params, image)
    target = (cnp.arange(10) == label).astype("float32")
    return ct.nn.logsumexp(scores) - cnp.sum(scores * target)


def gradient_norm(gradient: dict[str, Any]) -> Any:
    return cnp.sqrt(sum(cnp.sum(leaf * leaf) for leaf in ct.tree.leaves(gradient)))


# By hand, to show it: ct.per_example.dp_sgd_step does this, and the noise and the update below.
def clipped(gradient: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """One example's gradient, scaled down to norm CLIP_NORM, and its norm before."""
    norm = gradient_norm(gradient)
    factor = cnp.minimum(1.0, CLIP_NORM / cnp.maximum(norm, 1e-12))
    return ct.tree.map(lambda leaf: leaf * factor, gradient), norm


def noisy_update(params: dict[str, Any], summed: dict[str, Any], key: Any) -> dict[str, Any]:
    keys = ct.random.split(key, 4)
    leaves, structure = ct.tree.flatten(summed)
    noise = [
        ct.random.normal(keys[i], leaf.shape, "float32") * (NOISE_MULTIPLIER * CLIP_NORM)
        for i, leaf in enumerate(leaves)
    ]
    noisy = structure.unflatten([leaf + n for leaf, n in zip(leaves, noise, strict=True)])
    return ct.tree.map(lambda p, g: p - LEARNING_RATE / BATCH * g, params, noisy)


def dp_step(
    params: dict[str, Any], images: Any, labels: Any, present: Any, key: Any
) -> tuple[dict[str, Any], Any, Any]:
    """One step: (new parameters, mean loss, per-example gradient norms). Rows where ``present`` is 0 are padding."""
    losses, gradients = ct.vmap(ct.value_and_grad(loss), in_axes=(None, 0, 0))(params, images, labels)
    gradients, norms = ct.vmap(clipped)(gradients)
    summed = ct.tree.map(lambda leaf: cnp.tensordot(present, leaf, axes=1), gradients)
    return noisy_update(params, summed, key), cnp.sum(losses * present) / cnp.sum(present), norms


def poisson_batch(
    rng: np.random.Generator, images: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each example with probability BATCH / len(images), padded to BOUND rows: images, labels, and 1 for real rows."""
    rows = np.flatnonzero(rng.random(len(images)) < BATCH / len(images))
    assert len(rows) <= BOUND, "a batch six standard deviations above its expected size"
    padded = np.concatenate([rows, np.zeros(BOUND - len(rows), rows.dtype)])
    return images[padded], labels[padded], (np.arange(BOUND) < len(rows)).astype(np.float32)


def looped_step(params: dict[str, Any], images: Any, labels: Any, key: Any) -> dict[str, Any]:
    """The same step as a Python loop over examples, eagerly."""
    summed = ct.tree.map(cnp.zeros_like, params)
    for image, label in zip(images, labels, strict=True):
        gradient, _ = clipped(ct.grad(loss)(params, image, label))
        summed = ct.tree.map(lambda s, g: s + g, summed, gradient)
    return noisy_update(params, summed, key)


def privacy_spent(steps: int, sampling: float) -> float:
    """ε at DELTA after so many steps of the Poisson-subsampled Gaussian mechanism."""
    import dp_accounting

    event = dp_accounting.PoissonSampledDpEvent(sampling, dp_accounting.GaussianDpEvent(NOISE_MULTIPLIER))
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(event, steps)
    return float(accountant.get_epsilon(DELTA))


def measure(function: Any, repeats: int) -> float:
    """The least wall-clock time of a call, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def run(output: Path) -> dict[str, float]:
    """Trains, measures, plots, exports and checks the C program; returns the figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from tqdm import tqdm

    train_x, train_y, test_x, test_y = load_digits()
    params = init_params(0)
    step = ct.jit(dp_step)
    rng = np.random.default_rng(1)
    key = ct.random.PRNGKey(2)
    losses, norms = [], np.zeros(0)
    sampling = BATCH / len(train_x)
    for index in tqdm(range(STEPS), desc="private training", unit="step"):
        images, labels, present = poisson_batch(rng, train_x, train_y)
        params, batch_loss, batch_norms = step(params, images, labels, present, ct.random.fold_in(key, index))
        losses.append(float(batch_loss))
        norms = np.concatenate([norms, np.asarray(batch_norms)[present > 0]])[-20 * BATCH :]
    predicted = np.asarray(ct.jit(ct.vmap(logits, in_axes=(None, 0)))(params, test_x)).argmax(axis=1)
    accuracy = float((predicted == test_y).mean())
    epsilon = privacy_spent(STEPS, sampling)
    print(
        f"test accuracy {accuracy:.1%} at epsilon = {epsilon:.2f}, delta = {DELTA:g} ({STEPS} steps, noise multiplier {NOISE_MULTIPLIER})"
    )

    images, labels, present = cnp.array(train_x[:BATCH]), cnp.array(train_y[:BATCH]), cnp.ones(BATCH, dtype="float32")
    step(params, images, labels, present, key)
    dp_step(params, images, labels, present, key)
    times = {
        "Python loop over examples, eager": measure(lambda: looped_step(params, images, labels, key), 2),
        "vmap(grad), eager": measure(lambda: dp_step(params, images, labels, present, key), 5),
        "vmap(grad), jitted": measure(lambda: step(params, images, labels, present, key), 50),
    }
    slowest = max(times.values())
    print(f"one step, batch of {BATCH}, measured in this run:")
    for label, seconds in times.items():
        print(f"  {label:34s} {seconds * 1e3:10.3f} ms   {slowest / seconds:8.1f}x")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    left.plot(losses)
    left.set(
        xlabel="step",
        ylabel="mean loss of the batch",
        title=f"Private training, accuracy {accuracy:.1%} at ε = {epsilon:.2f}",
    )
    right.hist(norms, bins=60)
    right.axvline(CLIP_NORM, color="black", linestyle="--", label="clipping norm")
    right.set(xlabel="gradient norm of one example", ylabel="examples", title="Last 20 batches, before clipping")
    right.legend()
    figure.tight_layout()
    output.mkdir(parents=True, exist_ok=True)
    figure.savefig(output / "dp_digits.png", dpi=120)
    print("wrote dp_digits.png")

    difference = check_exported_step(params, *map(cnp.array, poisson_batch(rng, train_x, train_y)), key, output)
    speedup = times["Python loop over examples, eager"] / times["vmap(grad), jitted"]
    return {"accuracy": accuracy, "epsilon": epsilon, "speedup": speedup, "c_difference": difference}


def check_exported_step(
    params: dict[str, Any], images: Any, labels: Any, present: Any, key: Any, output: Path
) -> float:
    """Exports the step as C, builds a C program on its header, runs it on the same batch; the largest difference of any parameter."""
    directory = output / "train_step"
    names = ("params", "loss", "norms")
    ct.export.compile(
        dp_step, params, images, labels, present, key, name="train_step", donate="params", results=names
    ).save(directory)
    expected, _, _ = ct.jit(dp_step)(params, images, labels, present, key)
    for name, array in {**params, "images": images, "labels": labels, "present": present, "key": key}.items():
        np.asarray(array).tofile(directory / f"{name}.bin")
    program = Path(__file__).with_name("train_step_main.c")
    binary = directory / "train_step_main"
    command = ["cc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", f"-I{directory}"]
    subprocess.run([*command, str(program), str(directory / "libtrain_step.a"), "-o", str(binary)], check=True)
    subprocess.run([str(binary), str(directory)], check=True)
    largest = 0.0
    for name, array in expected.items():
        values = np.fromfile(directory / f"{name}.bin", dtype=np.float32).reshape(array.shape)
        largest = max(largest, float(np.abs(values - np.asarray(array)).max()))
    print(f"C program on the same batch: parameters differ by at most {largest:.2e}")
    return largest


if __name__ == "__main__":
    run(Path(__file__).with_name("output"))
