"""The pictures of docs/gallery.md: a function for each example, which runs a part of it and draws what comes out. Its docstring is the caption.

`PICTURE_OF` has the functions by the names of examples. Each gets an empty folder and returns a figure of matplotlib, or the bytes of a PNG.
Colours are readable on light and on dark pages, and what is not drawn is transparent.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#4c8dd6", "#d9862b", "#3fa37c", "#d0605e", "#9a7fd1", "#7b8592"
STYLE = {
    "figure.figsize": (4.8, 2.9),
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": GREY,
    "axes.labelcolor": GREY,
    "axes.edgecolor": GREY,
    "axes.titlecolor": GREY,
    "axes.titlesize": 10,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "font.size": 9.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "cotangent",
    "savefig.dpi": 110,
}
PICTURE_OF: dict[str, Callable[[Path], Any]] = {}


def picture(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Registers a function as the picture of the example of its name."""
    PICTURE_OF[function.__name__] = function
    return function


def draw(name: str, to: Path, scratch: Path) -> Path:
    """Draws an example's picture into a folder, and gives the file."""
    import matplotlib as mpl

    mpl.use("agg")
    import cycler
    import matplotlib.pyplot as plt

    colours = cycler.cycler(color=[BLUE, ORANGE, GREEN, RED, PURPLE])
    with mpl.rc_context({**STYLE, "axes.prop_cycle": colours}):
        made = PICTURE_OF[name](scratch)
        file = to / f"{name}.{'png' if isinstance(made, bytes) else 'svg'}"
        if isinstance(made, bytes):
            file.write_bytes(made)
        else:
            made.tight_layout()
            made.savefig(file, metadata={"Date": None, "Creator": None})
            plt.close(made)
            file.write_text(re.sub(r"[ \t]+$", "", file.read_text(), flags=re.MULTILINE))
    return file


# ---- what the functions share ----------------------------------------------------------------------------------------


def example(path: str) -> ModuleType:
    """The Python file of an example as a module."""
    name = Path(path).stem
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def recorded(module: ModuleType, name: str) -> list[tuple[tuple[Any, ...], Any]]:
    """Replaces a function of the module by one that keeps its arguments and results; gives the list that it keeps them in."""
    calls: list[tuple[tuple[Any, ...], Any]] = []
    function = getattr(module, name)

    def keeping(*arguments: Any) -> Any:
        result = function(*arguments)
        calls.append((arguments, result))
        return result

    setattr(module, name, keeping)
    return calls


def run(*command: object) -> str:
    """Runs a program; what it prints."""
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout


def in_c(folder: str, library: str, scratch: Path) -> tuple[ModuleType, Path]:
    """Exports an example's library and compiles its C program: the module and the program."""
    module = example(f"{folder}/export.py")
    module.main(scratch)
    program = scratch / "program"
    archive = scratch / f"lib{library}.a"
    run("cc", "-std=c11", "-O2", f"-I{scratch}", EXAMPLES / folder / "main.c", archive, "-lm", "-o", program)
    return module, program


def figure(rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, **options)


def images(axis: Axes, pictures: Any, columns: int, limit: float | None = None) -> None:
    """Small pictures beside each other: blue is positive, orange negative, zero is not drawn. Each has its own scale, or one is given."""
    import numpy as np
    from matplotlib.colors import LinearSegmentedColormap

    map_ = LinearSegmentedColormap.from_list("signs", [ORANGE, "#d9862b00", "#4c8dd600", BLUE])
    shown = np.asarray(pictures, float)
    shown = shown / (limit or abs(shown).max(axis=(1, 2), keepdims=True))
    count, height, width = shown.shape
    apart = np.full((count, height + 1, width + 1), np.nan)  # what is between them is not drawn either
    apart[:, 1:, 1:] = shown
    field = apart.reshape(-1, columns, height + 1, width + 1).swapaxes(1, 2).reshape(-1, columns * (width + 1))[1:, 1:]
    axis.imshow(field, cmap=map_, vmin=-1, vmax=1, interpolation="nearest")
    axis.set_axis_off()
    for at in range(count):
        corner = (at % columns * (width + 1) - 0.5, at // columns * (height + 1) - 0.5)
        axis.add_patch(_frame(corner, width, height))


def _frame(corner: tuple[float, float], width: float, height: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, width, height, fill=False, edgecolor=GREY, linewidth=0.4)


def faint(colour: str) -> Any:
    """A map from nothing to a colour."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("faint", [f"{colour}00", colour])


def smooth(values: Any, width: int = 10) -> Any:
    """The mean of the values around each, that many on either side; of fewer at the ends, as many on one side as on the other."""
    import numpy as np

    sums = np.concatenate([[0.0], np.cumsum(np.asarray(values, float))])
    at = np.arange(len(values))
    reach = np.minimum(width, np.minimum(at, len(values) - 1 - at))
    return (sums[at + reach + 1] - sums[at - reach]) / (2 * reach + 1)


def losses(axis: Axes, values: Any, **options: Any) -> None:
    """A loss at each step: its values, faint, and their mean."""
    axis.plot(values, color=BLUE, alpha=0.3, linewidth=0.8)
    axis.plot(smooth(values), color=BLUE)
    axis.set(**{"xlabel": "step", "ylabel": "loss", **options})


def learned(axis: Axes, x: Any, curve: Any, found: Any) -> None:
    """A curve, and what was learned of it."""
    axis.plot(x, curve, "--", color=ORANGE, label="curve")
    axis.plot(x, found, color=BLUE, label="learned")
    axis.set(ylim=(None, 1.9))
    axis.legend(loc="upper left")


def ellipse(axis: Axes, mean: Any, covariance: Any, deviations: float, **options: Any) -> None:
    """The points that are so many deviations away."""
    import numpy as np

    turn = np.linspace(0, 2 * np.pi, 100)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    points = np.asarray(mean)[:, None] + deviations * np.linalg.cholesky(np.asarray(covariance, float)) @ circle
    axis.plot(*points, **options)


# ---- programs --------------------------------------------------------------------------------------------------------


@picture
def demo(scratch: Path) -> Any:
    """One step of private training on 128 digits, by a Python loop over examples, by `vmap(grad)`, and by `jit` of it."""
    import cotangent as ct
    import cotangent.numpy as cnp

    module = example("dp_digits.py")
    x, y, *_ = module.load_digits()
    batch = cnp.array(x[: module.BATCH]), cnp.array(y[: module.BATCH])
    present, key, params = cnp.ones(module.BATCH, dtype="float32"), ct.random.PRNGKey(2), module.init_params(0)
    step = ct.jit(module.dp_step)
    for function in (step, module.dp_step):
        function(params, *batch, present, key)
    times = {
        "loop over examples": module.measure(lambda: module.looped_step(params, *batch, key), 2),
        "vmap(grad)": module.measure(lambda: module.dp_step(params, *batch, present, key), 5),
        "jit(vmap(grad))": module.measure(lambda: step(params, *batch, present, key), 50),
    }
    made, axis = figure(figsize=(4.8, 2.2))
    bars = axis.barh(list(times), [1e3 * seconds for seconds in times.values()], color=[GREY, ORANGE, BLUE])
    axis.bar_label(bars, [f" {1e3 * seconds:.3g} ms" for seconds in times.values()])
    axis.set(xscale="log", xlabel="milliseconds")
    axis.set_xlim(1e3 * min(times.values()) / 5, 1e3 * max(times.values()) * 10)
    axis.invert_yaxis()
    return made


@picture
def dp_digits(scratch: Path) -> Any:
    """The loss of private training, and the norms of single gradients in the last 20 batches before they are clipped at 1."""
    import cotangent as ct
    import numpy as np

    module = example("dp_digits.py")
    x, y, *_ = module.load_digits()
    params, step, rng, key = (
        module.init_params(0),
        ct.jit(module.dp_step),
        np.random.default_rng(1),
        ct.random.PRNGKey(2),
    )
    found, norms = [], []
    for at in range(module.STEPS):
        batch = module.poisson_batch(rng, x, y)
        params, value, of_examples = step(params, *batch, ct.random.fold_in(key, at))
        found.append(float(value))
        norms.append(np.asarray(of_examples)[batch[2] > 0])
    made, (left, right) = figure(1, 2)
    losses(left, found)
    right.hist(np.concatenate(norms[-20:]), bins=40, color=BLUE)
    right.axvline(module.CLIP_NORM, color=ORANGE, linestyle="--", label="clipped here")
    right.set(xlabel="norm of a gradient", ylabel="examples", yscale="log")
    right.legend()
    return made


@picture
def ragged_rnn(scratch: Path) -> Any:
    """The loss of a character while the network trains on lines of every length, and how long the lines are; one program takes them all."""
    import cotangent as ct
    import numpy as np

    module = example("ragged_rnn.py")
    lines, alphabet = module.load_lines()
    params, step, rng, found = module.init_params(alphabet, 0), ct.jit(module.train_step), np.random.default_rng(3), []
    for _ in range(module.STEPS):
        chosen = [lines[at] for at in rng.choice(len(lines), module.BATCH, replace=False)]
        params, value = step(params, ct.ragged(chosen, bound=module.BOUND))
        found.append(float(value))
    made, (left, right) = figure(1, 2)
    losses(left, found, ylabel="nats a character")
    right.hist([len(line) for line in lines], bins=40, color=BLUE)
    right.set(xlabel="length of a line", ylabel="lines")
    return made


@picture
def train_step_main(scratch: Path) -> Any:
    """By how much a step changes each of the 4,810 parameters: in the C program and in Python."""
    import cotangent as ct
    import numpy as np

    module = example("dp_digits.py")
    x, y, *_ = module.load_digits()
    params, key = module.init_params(0), ct.random.PRNGKey(2)
    batch = [ct.numpy.array(part) for part in module.poisson_batch(np.random.default_rng(1), x, y)]
    module.check_exported_step(params, *batch, key, scratch)
    after, _, _ = ct.jit(module.dp_step)(params, *batch, key)
    names = sorted(params)
    before = np.concatenate([np.ravel(params[name]) for name in names])
    in_python = np.concatenate([np.ravel(after[name]) for name in names]) - before
    of_c = np.concatenate([np.fromfile(scratch / "train_step" / f"{name}.bin", np.float32) for name in names]) - before
    made, axis = figure()
    axis.plot(in_python, of_c, ".", color=BLUE, markersize=3, rasterized=True)
    axis.axline((0, 0), slope=1, color=ORANGE, linewidth=0.8)
    axis.set(xlabel="in Python", ylabel="in C", aspect="equal")
    most = abs(of_c - in_python).max()
    axis.set_title(f"they differ by {most:.0e} at most" if most else "all of them are equal to the last bit")
    return made


# ---- programs in other languages -------------------------------------------------------------------------------------


@picture
def browser(scratch: Path) -> Any:
    """The page in Chromium: it has trained for 500 steps and is shown a seven."""
    import io

    from PIL import Image

    page, shot = scratch / "digits.html", scratch / "shot.png"
    page.write_text(example("browser/page.py").page())
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=20000"]
    run(browser, *options, "--window-size=860,820", f"--screenshot={shot}", f"{page.as_uri()}#demo")
    small = Image.open(shot).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    file = io.BytesIO()
    small.save(file, "png", optimize=True)
    return file.getvalue()


@picture
def control(scratch: Path) -> Any:
    """The first ten seconds of the loop: the angle that is wanted and the one that is measured, and the torque within the motor's limits."""
    import numpy as np

    module, program = in_c("control", "control", scratch)
    run(program, 1000, scratch / "ticks.bin")
    measured, target, torque = np.fromfile(scratch / "ticks.bin", np.float32).reshape(-1, 3).T
    time = module.PERIOD * np.arange(len(measured))
    made, (above, below) = figure(2, 1, sharex=True, gridspec_kw={"height_ratios": (2, 1)})
    above.plot(time, target, "--", color=ORANGE, linewidth=1.2, label="wanted")
    above.plot(time, measured, color=BLUE, label="measured")
    above.set(ylabel="angle, rad")
    above.legend(loc="lower left", ncols=2)
    below.plot(time, torque, color=GREEN, linewidth=0.8)
    below.set(xlabel="seconds", ylabel="torque")
    return made


@picture
def cpp_server(scratch: Path) -> Any:
    """Sixty of the server's answers: the probabilities of four classes, for requests in the order of their lengths."""
    import numpy as np

    example("cpp_server/export.py").main(scratch)
    program, answers = scratch / "serve", scratch / "answers.bin"
    source = EXAMPLES / "cpp_server" / "main.cc"
    run("c++", "-std=c++17", "-O2", f"-I{scratch}", source, scratch / "libclassifier.a", "-pthread", "-o", program)
    run(program, 50, answers)
    row = np.dtype([("length", np.int32), ("tokens", np.int32, 64), ("classes", np.float32, 4)])
    rows = np.sort(np.fromfile(answers, row)[:60], order="length")
    made, (above, below) = figure(2, 1, sharex=True, gridspec_kw={"height_ratios": (1, 2)})
    above.stairs(rows["length"], fill=True, color=GREY)
    above.set(ylabel="tokens")
    heights = np.cumsum(rows["classes"], axis=1)
    for at, colour in enumerate((BLUE, ORANGE, GREEN, PURPLE)):
        below.stairs(heights[:, at], baseline=heights[:, at - 1] if at else 0, fill=True, color=colour, linewidth=0)
    below.set(xlabel="request", ylabel="probability", ylim=(0, 1))
    return made


@picture
def digits(scratch: Path) -> Any:
    """What 32 of the 64 hidden units look for, as the C program has learned it: blue where ink speaks for, orange where it speaks against."""
    import json

    import numpy as np

    module, program = in_c("digits", "model", scratch)
    run(program, scratch / "digits.bin", 1500, scratch / "state.bin")
    described = json.loads(module.library().describe())
    (step,) = (function for function in described["functions"] if function["name"] == "step")
    (place,) = (one for one in step["inputs"] if one["path"].endswith("['params']['w1']"))
    state = (scratch / "state.bin").read_bytes()
    weights = np.frombuffer(state, np.float32, 64 * module.HIDDEN, place["offset"]).reshape(8, 8, module.HIDDEN)
    made, axis = figure(figsize=(4.8, 2.6))
    images(axis, weights.transpose(2, 0, 1)[:32], 8)
    return made


@picture
def hmc(scratch: Path) -> Any:
    """How often the C program's 4,000 draws of two weights fall where; rings are one and two deviations of the exact posterior."""
    import cotangent as ct
    import numpy as np

    module, program = in_c("hmc", "regression", scratch)
    run(program, scratch / "draws.bin")
    draws = np.fromfile(scratch / "draws.bin", np.float32).reshape(-1, module.WEIGHTS)
    x, y = (np.asarray(module.data(ct.random.key(1))[name], float) for name in ("x", "y"))
    covariance = np.linalg.inv(x.T @ x / module.NOISE**2 + np.eye(module.WEIGHTS) / module.PRIOR**2)
    mean = covariance @ x.T @ y / module.NOISE**2
    made, axis = figure()
    density, *edges = np.histogram2d(draws[:, 0], draws[:, 1], bins=45)
    sides = [side for edge in edges for side in (edge[0], edge[-1])]
    axis.imshow(density.T, cmap=faint(BLUE), origin="lower", extent=sides, aspect="auto", interpolation="nearest")
    for deviations in (1, 2):
        ellipse(axis, mean[:2], covariance[:2, :2], deviations, color=ORANGE)
    axis.set(xlabel="first weight", ylabel="second weight")
    return made


@picture
def julia(scratch: Path) -> Any:
    """Newton's method with the exported derivatives, called by Python: the valley's height above its least value, and the way that is left."""
    import cotangent as ct
    import numpy as np

    module = example("julia/export.py")
    module.main(scratch)
    derivatives = ct.export.load(scratch, native=True).derivatives
    x, values, distances = np.zeros(module.SIZE), [], []
    for _ in range(100):
        at = derivatives(x)
        values.append(float(at["value"]))
        distances.append(float(np.abs(x - 1).max()))
        if values[-1] < 1e-20:
            break
        move, scale = -np.linalg.solve(at["hessian"], at["gradient"]), 1.0
        while float(derivatives(x + scale * move)["value"]) > values[-1] and scale > 1e-8:
            scale /= 2
        x = x + scale * move
    made, axis = figure()
    axis.semilogy(values, ".-", color=BLUE, label="value")
    axis.semilogy(distances, ".-", color=ORANGE, label="farthest coordinate from 1")
    axis.set(xlabel="step", ylim=(1e-18, 1e3))
    axis.legend()
    return made


@picture
def microcontroller(scratch: Path) -> Any:
    """The loss that the emulated board prints, next to each step of the same training on this machine; and the curve that was learned."""
    import cotangent as ct
    import numpy as np

    module = example("microcontroller/train.py")
    printed = re.findall(r"step (\d+), loss (\d+)e-6", module.run(scratch))
    params, step, found = ct.jit(module.init)(ct.random.key(1)), ct.jit(module.step), []
    for number in range(1001):
        result = step(params, ct.numpy.uint32(number))
        params = result["params"]
        found.append(float(result["loss"]))
    made, (left, right) = figure(1, 2)
    left.semilogy(found, color=BLUE, alpha=0.6, linewidth=0.6, label="this machine")
    left.semilogy(
        [int(at) for at, _ in printed], [int(loss) / 1e6 for _, loss in printed], "o", color=ORANGE, label="board"
    )
    left.set(xlabel="step", ylabel="loss")
    left.legend()
    x = np.linspace(-2, 2, 100, dtype=np.float32)
    learned(right, x, 2 * x * np.exp(-(x**2)), np.asarray(module.predict(params, x[:, None]))[:, 0])
    return made


@picture
def private_training(scratch: Path) -> Any:
    """The accuracy on digits that were not seen, and the privacy that was spent for it, in one run of the exported function from Python."""
    import cotangent as ct
    import numpy as np

    module = example("private_training/export.py")
    module.main(scratch)
    images, labels = module.data()
    learner = ct.export.load(scratch, native=True)
    state, spent, found = learner.init(ct.random.key(1)), [], []
    for at in range(1, module.STEPS + 1):
        state = learner.step(state, images[: module.TRAIN], labels[: module.TRAIN])["state"]
        if at in (1, 3, 6) or at % 12 == 0:
            options = {"sampling_probability": module.PROBABILITY, "noise_multiplier": module.NOISE, "delta": 1e-4}
            spent.append(ct.per_example.epsilon(steps=at, **options))
            share = learner.accuracy(state["params"], images[module.TRAIN :], labels[module.TRAIN :])
            found.append(100 * float(np.ravel(ct.tree.leaves(share)[0])[0]))
    made, axis = figure()
    axis.plot(spent, found, ".-", color=BLUE)
    axis.set(xlabel="ε spent, at δ = 10⁻⁴", ylabel="test accuracy, %", xlim=(0, None))
    return made


@picture
def rust(scratch: Path) -> Any:
    """The curve and what was learned of it, by the library that the Rust program links, called from Python for as many steps."""
    import cotangent as ct
    import numpy as np

    module = example("rust/export.py")
    module.main(scratch)
    curve = ct.export.load(scratch, native=True)
    x = np.linspace(-1, 1, module.POINTS, dtype=np.float32)
    state, found = curve.init(ct.random.key(1)), []
    for _ in range(3001):
        result = curve.step(state, x, np.sin(4 * x), 0.05)
        state = result["state"]
        found.append(float(result["loss"]))
    made, (left, right) = figure(1, 2)
    left.semilogy(found, color=BLUE, linewidth=1)
    left.set(xlabel="step", ylabel="loss")
    learned(right, x, np.sin(4 * x), np.asarray(curve.predict(state["params"], x)))
    return made


# ---- programs that were written for JAX ------------------------------------------------------------------------------


@picture
def cnn_classifier(scratch: Path) -> Any:
    """The loss of each step, and the eight kernels of the first convolution after the last."""
    import numpy as np

    module = example("ports/cnn_classifier.py")
    calls = recorded(module, "step")
    module.main()
    made, (left, right) = figure(1, 2, gridspec_kw={"width_ratios": (3, 2)})
    losses(left, [float(value) for _, (_, value) in calls])
    images(right, np.asarray(calls[-1][1][0][0]["conv1"])[:, :, 0].transpose(2, 0, 1), 2)
    return made


@picture
def fixed_point(scratch: Path) -> Any:
    """How far iterations are from the fixed point that the trained layer returns, for five digits; its gradient sees none of them."""
    import numpy as np

    module = example("ports/fixed_point.py")
    calls = recorded(module, "step")
    module.main()
    params = calls[-1][1][0]
    x = calls[-1][0][1][:5]
    recurrent = 0.9 * params["recurrent"] / max(1.0, float(np.sqrt((np.asarray(params["recurrent"]) ** 2).sum())))
    layer = (recurrent, x @ params["input"])
    path = [np.zeros((5, module.WIDTH), np.float32)]
    for _ in range(40):
        path.append(np.asarray(module.layer(layer, path[-1])))
    distances = np.abs(np.stack(path[:-1]) - path[-1]).max(2)
    made, axis = figure()
    axis.semilogy(np.where(distances > 1e-6, distances, np.nan)[:20], ".-", color=BLUE, linewidth=1, markersize=4)
    axis.axhline(1e-5, color=ORANGE, linestyle="--", linewidth=1, label="where the solver stops")
    axis.set(xlabel="iteration", ylabel="distance")
    axis.legend()
    return made


@picture
def gaussian_mixture(scratch: Path) -> Any:
    """The three components that were found among the iris flowers, at two deviations; shapes are species, colours the likeliest component."""
    import numpy as np
    from sklearn.datasets import load_iris

    module = example("ports/gaussian_mixture.py")
    calls = recorded(module, "fit")
    module.main()
    params = max((result for _, result in calls), key=lambda result: float(result[2]))[0]
    iris = load_iris()
    groups = np.asarray(module.log_densities(params, iris.data.astype(np.float32))).argmax(1)
    made, axis = figure()
    colours = np.array([BLUE, ORANGE, GREEN])
    for species, marker in enumerate("os^"):
        of_it = iris.target == species
        points = iris.data[of_it][:, [2, 3]]
        axis.scatter(*points.T, s=16, marker=marker, color=colours[groups[of_it]], alpha=0.7, linewidths=0)
    for mean, covariance, colour in zip(*map(np.asarray, params[1:]), colours, strict=True):
        ellipse(axis, mean[2:], covariance[2:, 2:], 2, color=colour)
    axis.set(xlabel="length of the petals, cm", ylabel="width, cm")
    return made


@picture
def gaussian_process(scratch: Path) -> Any:
    """The progression that is predicted from body mass and blood pressure; dots are the patients that it was learned from."""
    import numpy as np

    module = example("ports/gaussian_process.py")
    calls = recorded(module, "predict")
    module.main()
    (params, x, y, _), _ = calls[0]
    side = np.linspace(-2.5, 3.2, 60, dtype=np.float32)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    mean = np.asarray(module.predict(params, x, y, grid)[0]).reshape(60, 60)
    made, axis = figure()
    shown = axis.imshow(
        mean, cmap="viridis", origin="lower", extent=(side[0], side[-1], side[0], side[-1]), aspect="auto"
    )
    axis.plot(*x.T, ".", color="white", markersize=2.5, alpha=0.8, rasterized=True)
    axis.set(xlabel="body mass, standardized", ylabel="blood pressure")
    made.colorbar(shown, label="progression").outline.set_visible(False)
    return made


@picture
def hamiltonian_monte_carlo(scratch: Path) -> Any:
    """Where the chains put each coefficient of the logistic regression: the mean, and the range of 90 % of the draws."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer

    module = example("ports/hamiltonian_monte_carlo.py")
    calls = recorded(module, "sample")
    module.main()
    draws = np.asarray(calls[0][1][0])[:, module.WARM_UP :].reshape(-1, 11)[:, 1:]
    names = [name.removeprefix("mean ") for name in load_breast_cancer().feature_names[:10]]
    made, axis = figure(figsize=(4.8, 3.0))
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    axis.hlines(range(10), low, high, color=BLUE, linewidth=3, alpha=0.5)
    axis.plot(draws.mean(0), range(10), "o", color=BLUE, markersize=4)
    axis.axvline(0, color=GREY, linewidth=0.8)
    axis.set(yticks=range(10), yticklabels=names, xlabel="coefficient")
    axis.invert_yaxis()
    return made


@picture
def lstm(scratch: Path) -> Any:
    """A series that was not trained on, and what the network says of each next value."""
    import numpy as np

    module = example("ports/lstm.py")
    calls = recorded(module, "step")
    module.main()
    params = calls[-1][1][0]
    fresh = module.series(np.random.default_rng(7), 1)[0]
    said = np.asarray(module.predict(params, fresh[:-1]))[:, 0]
    made, axis = figure()
    axis.plot(fresh[:, 0], ".", color=ORANGE, label="series")
    axis.plot(np.arange(1, len(fresh)), said, color=BLUE, label="predicted one step before")
    axis.set(xlabel="time", ylim=(None, fresh.max() + 0.5))
    axis.legend(ncols=2, loc="upper center")
    return made


@picture
def mlp_classifier(scratch: Path) -> Any:
    """The training loss of each step, and the accuracy on unseen digits after each epoch."""
    import numpy as np
    from sklearn.datasets import load_digits

    module = example("ports/mlp_classifier.py")
    calls = recorded(module, "update")
    module.main()
    data = load_digits()
    x, y = (data.data[1400:] / 16).astype(np.float32), data.target[1400:].astype(np.int32)
    every = len(calls) // module.EPOCHS
    found = [100 * float(module.accuracy(result[0], x, y)) for _, result in calls[every - 1 :: every]]
    made, (left, right) = figure(1, 2)
    losses(left, [float(result[2]) for _, result in calls])
    right.plot(range(1, len(found) + 1), found, ".-", color=BLUE)
    right.set(xlabel="epoch", ylabel="test accuracy, %")
    return made


@picture
def ode_fit(scratch: Path) -> Any:
    """The Hudson Bay Company's pelts, in thousands, and the solution of the fitted equations."""
    import cotangent.numpy as cnp
    import numpy as np

    module = example("ports/ode_fit.py")
    calls = recorded(module, "step")
    module.main()
    params = calls[-1][1][0]
    times = np.linspace(0, 20, 201, dtype=np.float32)
    path = np.asarray(module.odeint(module.dynamics, cnp.exp(params["start"]), times, cnp.exp(params["rates"])))
    made, axis = figure()
    for data, line, colour, name in (
        (module.HARE, path[:, 0], BLUE, "hare"),
        (module.LYNX, path[:, 1], ORANGE, "lynx"),
    ):
        axis.plot(1900 + np.arange(21), data, "o", color=colour, markersize=4)
        axis.plot(1900 + times, line, color=colour, label=name)
    axis.set(ylabel="thousands of pelts", xticks=range(1900, 1921, 5))
    axis.legend()
    return made


@picture
def transformer_lm(scratch: Path) -> Any:
    """The loss of each step, and how the trained model goes on after 16 characters of the licence."""
    module = example("ports/transformer_lm.py")
    calls = recorded(module, "step")
    result = module.main()
    made, axis = figure()
    losses(axis, [float(value) for _, (*_, value) in calls], ylabel="nats a character")
    given, said = result["sample"][:16], result["sample"][16:]
    for at, (title, text) in enumerate((("given", given), ("said", said))):
        axis.text(
            0.42, 0.92 - 0.13 * at, f"{title}: {text!r}", transform=axis.transAxes, family="monospace", fontsize=7.5
        )
    return made


@picture
def vae(scratch: Path) -> Any:
    """Digits that the decoder draws where two of the four latent numbers go from -2 to 2 and the others are 0."""
    import numpy as np

    module = example("ports/vae.py")
    calls = recorded(module, "epoch")
    module.main()
    params = calls[-1][1][0][0]
    first, second = np.meshgrid(np.linspace(-2, 2, 12), np.linspace(-2, 2, 6))
    z = np.stack([first, second, 0 * first, 0 * first], axis=-1).reshape(-1, 4).astype(np.float32)
    hidden = np.tanh(np.asarray(module.apply(params["dec"], z)))
    ink = 1 / (1 + np.exp(-np.asarray(module.apply(params["out"], hidden))))
    made, axis = figure(figsize=(4.8, 2.5))
    images(axis, ink.reshape(-1, 8, 8), 12, 1.0)
    return made
