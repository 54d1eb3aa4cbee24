"""The examples of exported programs: on a microcontroller, in a browser, and in programs in C, C++, Rust and Julia."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from needs import has, needs, program_of, require
from places import ROOT

EXAMPLES = ROOT / "examples"


def example(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_microcontroller_learns_what_this_machine_does(tmp_path: Path) -> None:
    for tool in ("clang", "ld.lld", "qemu-system-arm"):
        require(tool)
    train = example("microcontroller/train.py")
    printed = train.run(tmp_path)
    losses = [int(found) / 1e6 for found in re.findall(r"loss (\d+)e-6", printed)]
    assert losses == pytest.approx(train.losses(), rel=0.02, abs=2e-6)
    assert losses[0] > 0.5 and losses[-1] < 0.002 and printed.endswith("done\n")


def test_a_page_learns_digits(tmp_path: Path) -> None:
    require("chromium-headless-shell|chromium")
    browser = str(program_of("chromium-headless-shell", "chromium"))
    require("sklearn")
    page = tmp_path / "digits.html"
    page.write_text(example("browser/page.py").page())
    assert not re.search(r"""(src|href)=["']|https?://""", page.read_text())  # it loads nothing
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run(
        [browser, *options, f"{page.as_uri()}#demo"], capture_output=True, text=True, timeout=120, check=True
    )
    found = re.search(r'data-ready="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    state = json.loads(html.unescape(found[1]))
    assert state["losses"] == 500 and state["accuracy"] > 0.93


# ---- Programs in C --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InC:
    """An example of which main.c is the program, and arguments with which it ends soon."""

    folder: str
    library: str
    soon: tuple[str, ...] = ()
    data: str = ""

    def export(self, folder: Path) -> ModuleType:
        """Writes its library and data."""
        if self.data:
            require("sklearn")
        module = example(f"{self.folder}/export.py")
        module.main(folder)
        return module

    def build(self, compiler: str, folder: Path, *options: str) -> Path:
        program = folder / f"program_of_{compiler}"
        source, library = EXAMPLES / self.folder / "main.c", folder / f"lib{self.library}.a"
        run(compiler, *STRICT, *options, f"-I{folder}", source, library, "-lm", "-o", program)
        return program

    def arguments(self, folder: Path) -> list[str]:
        return [str(folder / self.data)] if self.data else []


STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion")
COMPILERS = [name for name in ("gcc", "clang") if has(name)]
DIGITS = InC("digits", "model", ("40",), "digits.bin")
HMC = InC("hmc", "regression")
CONTROL = InC("control", "control", ("120",))
PRIVATE = InC("private_training", "learner", ("3",), "digits.bin")
ALL = (DIGITS, HMC, CONTROL, PRIVATE)
needs_compiler = needs("gcc|clang")


def run(*command: object) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def in_memory(tree: Any) -> list[np.ndarray]:
    """The leaves as C has them: a key as a number."""
    leaves = []
    for leaf in ct.tree.leaves(tree):
        if ct.dtypes.issubdtype(leaf.dtype, ct.dtypes.prng_key):
            first, second = (int(word) for word in np.asarray(ct.random.key_data(leaf)))
            leaves.append(np.uint64(first << 32 | second))
        else:
            leaves.append(np.asarray(leaf))
    return leaves


def equal_to_structure(tree: Any, structure: bytes, described: str, function: str) -> None:
    """That the bytes of a function's first parameter are this state."""
    functions = {f["name"]: f for f in json.loads(described)["functions"]}
    places = [place for place in functions[function]["inputs"] if place["parameter"] == 0]
    assert len(structure) == functions[function]["parameters"][0]["bytes"]
    for place, leaf in zip(places, in_memory(tree), strict=True):
        there = structure[place["offset"] : place["offset"] + leaf.nbytes]
        assert there == leaf.tobytes(), place["path"]


@pytest.mark.usefixtures("names_devices")  # bits of exported libraries are those of the processor's programs
@needs_compiler
def test_a_c_program_learns_digits(tmp_path: Path) -> None:
    module = DIGITS.export(tmp_path)
    printed = {run(DIGITS.build(name, tmp_path), tmp_path / "digits.bin") for name in COMPILERS}
    assert len(printed) == 1  # all compilers call the same code
    accuracy = float(re.search(r"test accuracy (\S+)", printed.pop())[1])
    assert accuracy > 0.95

    out = run(DIGITS.build(COMPILERS[0], tmp_path), tmp_path / "digits.bin", 300, tmp_path / "state.bin")
    images, labels = (array[: module.TRAIN] for array in module.data())
    loaded = ct.export.load(tmp_path, native=True)
    for init, step, exact in ((loaded.init, loaded.step, True), (ct.jit(module.init), ct.jit(module.step), False)):
        state, losses = init(ct.random.key(1)), []
        for _ in range(300):
            result = step(state, images, labels, 0.1)
            state = result["state"]
            losses.append(float(result["loss"]))
        loss = float(re.search(r"step 250, loss (\S+)", out)[1])
        assert losses[249] == pytest.approx(loss, rel=1e-8 if exact else 0.05)
        if exact:
            equal_to_structure(state, (tmp_path / "state.bin").read_bytes(), module.library().describe(), "step")


@needs_compiler
def test_cmake_builds_it(tmp_path: Path) -> None:
    require("cmake")
    DIGITS.export(tmp_path)
    run("cmake", "-S", EXAMPLES / "digits", "-B", tmp_path / "build", f"-Dmodel_DIR={tmp_path}")
    run("cmake", "--build", tmp_path / "build")
    assert "test accuracy" in run(tmp_path / "build" / "train", tmp_path / "digits.bin", 40)


@pytest.mark.usefixtures("names_devices")  # bits of exported libraries are those of the processor's programs
@needs_compiler
def test_a_c_program_draws_from_a_posterior(tmp_path: Path) -> None:
    module = HMC.export(tmp_path)
    printed = {run(HMC.build(name, tmp_path), tmp_path / "draws.bin") for name in COMPILERS}
    (text,) = printed
    found = np.array(
        re.findall(r"mean (\S+) \(exact (\S+)\), deviation (\S+) \(exact (\S+)\)", text), np.float64
    )  # a row for each weight
    assert float(text.split()[0]) > 0.9

    loaded = ct.export.load(tmp_path, native=True)
    points = loaded.data(ct.random.key(1))
    x, y = (np.asarray(points[name], np.float64) for name in ("x", "y"))
    covariance = np.linalg.inv(x.T @ x / module.NOISE**2 + np.eye(module.WEIGHTS) / module.PRIOR**2)
    exact = np.stack([covariance @ x.T @ y / module.NOISE**2, np.sqrt(np.diag(covariance))], axis=1)
    np.testing.assert_allclose(found[:, 1::2], exact, atol=1e-4)
    assert (np.abs(found[:, 0] - exact[:, 0]) < 0.1 * exact[:, 1]).all()
    np.testing.assert_allclose(found[:, 2], exact[:, 1], rtol=0.1)

    draws = np.fromfile(tmp_path / "draws.bin", np.float32)
    np.testing.assert_array_equal(draws, np.ravel(loaded.sample(ct.random.key(2), **points)["draws"]))
    jitted = ct.jit(module.sample)(ct.random.key(2), **points)["draws"]
    np.testing.assert_allclose(np.mean(jitted, axis=(0, 1)), found[:, 0], atol=0.1 * exact[:, 1].min())


@pytest.mark.usefixtures("names_devices")  # bits of exported libraries are those of the processor's programs
@needs_compiler
def test_a_controller_in_c_has_bounded_time_and_holds_its_target(tmp_path: Path) -> None:
    module = CONTROL.export(tmp_path)
    described = {f["name"]: f for f in json.loads(module.library().describe())["functions"]}
    assert described["tick"]["bounded"]
    program = CONTROL.build(COMPILERS[0], tmp_path)
    text = run(program, 10_000, tmp_path / "ticks.bin")
    assert text.startswith("10000 ticks: median ")
    root, worst = (float(found) for found in re.search(r"mean square (\S+) rad, worst (\S+) rad", text).groups())
    assert root < 2e-3 and worst < 1e-2

    measured, target, torque = np.fromfile(tmp_path / "ticks.bin", np.float32).reshape(-1, 3).T
    assert len(measured) == 10_000 and np.abs(torque).max() == module.LIMIT
    loaded = ct.export.load(tmp_path, native=True)
    state, jitted, of_jitted = loaded.start(), ct.jit(module.tick), module.start()
    for at in range(1000):
        result = loaded.tick(state, measured[at], target[at])
        state = result["state"]
        assert np.float32(result["torque"]) == torque[at], at
        if at < 50:
            result = jitted(of_jitted, measured[at], target[at])
            of_jitted = result["state"]
            assert float(result["torque"]) == pytest.approx(torque[at], abs=2e-2)


@pytest.mark.usefixtures("names_devices")  # bits of exported libraries are those of the processor's programs
@needs_compiler
def test_a_c_program_learns_in_private(tmp_path: Path) -> None:
    module = PRIVATE.export(tmp_path)
    programs = [PRIVATE.build(name, tmp_path) for name in COMPILERS]
    text = run(programs[0], tmp_path / "digits.bin")
    assert float(re.search(r"test accuracy (\S+)", text)[1]) > 0.9
    least, most = (int(count) for count in re.search(r"batches of (\d+) to (\d+) examples", text).groups())
    assert 80 < least < module.EXPECTED < most < module.BOUND

    images, labels = (array[: module.TRAIN] for array in module.data())
    loaded = ct.export.load(tmp_path, native=True)
    for program in programs:
        run(program, tmp_path / "digits.bin", 5, tmp_path / "state.bin")
        state, counts = loaded.init(ct.random.key(1)), []
        for _ in range(5):
            result = loaded.step(state, images, labels)
            state = result["state"]
            counts.append(int(result["count"]))
        equal_to_structure(state, (tmp_path / "state.bin").read_bytes(), module.library().describe(), "step")
    jitted, expected = ct.jit(module.step), ct.jit(module.init)(ct.random.key(1))
    for count in counts:
        result = jitted(expected, images, labels)
        expected = result["state"]
        assert int(result["count"]) == count
    for a, b in zip(in_memory(state), in_memory(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_batch_without_space_makes_weights_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    require("sklearn")
    module = example("private_training/export.py")
    monkeypatch.setattr(module, "BOUND", 100)  # expected are 128
    images, labels = (array[: module.TRAIN] for array in module.data())
    result = ct.jit(module.step)(module.init(ct.random.key(0)), images, labels)
    assert int(result["count"]) > 100
    assert all(np.isnan(leaf).all() for leaf in ct.tree.leaves(result["state"]["params"]))


def test_a_batch_that_is_checked_in_python_is_not_for_c() -> None:
    batch = lambda key: ct.per_example.poisson_batch(key, size=50, probability=0.1, bound=20)  # noqa: E731
    with pytest.raises(NotImplementedError, match="runs in this process"):
        ct.export.compile(batch, ct.random.key(0)).describe()


@needs_compiler
@pytest.mark.parametrize("which", ALL, ids=lambda which: which.folder)
def test_memory_of_programs_in_c(which: InC, tmp_path: Path) -> None:
    which.export(tmp_path)
    arguments = [*which.arguments(tmp_path), *which.soon]
    checked = False
    for compiler in COMPILERS:
        # A compiler may come without the sanitizers' libraries.
        options = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
        (tmp_path / "empty.c").write_text("int main(void) { return 0; }\n")
        probe = [compiler, *options, str(tmp_path / "empty.c"), "-o", str(tmp_path / "empty")]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            run(which.build(compiler, tmp_path, *options), *arguments)
            checked = True
    if has("valgrind"):
        program = which.build(COMPILERS[0], tmp_path, "-g")
        run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program, *arguments)
        checked = True
    if not checked:
        pytest.skip("needs valgrind or a compiler's sanitizers")


# ---- Programs in other languages -------------------------------------------------------------------------------------


def checked_server(program: Path, of_each_client: int, answers: Path) -> np.ndarray:
    """Runs it; a row for each request: its length, tokens and answer."""
    text = run(program, of_each_client, answers)
    requests, calls = (int(found) for found in re.search(r"(\d+) requests in (\d+) calls", text).groups())
    latencies = [int(found) for found in re.findall(r" us +(\d+) \*+", text)]
    assert requests == sum(latencies) == 16 * of_each_client and requests / 8 <= calls <= requests
    assert text.endswith("each answer is that of the request alone\n")
    row = np.dtype([("length", np.int32), ("tokens", np.int32, 64), ("classes", np.float32, 4)])
    return np.fromfile(answers, row)


@pytest.mark.usefixtures("names_devices")  # bits of exported libraries are those of the processor's programs
def test_a_server_in_cpp(tmp_path: Path) -> None:
    require("g++|clang++")
    compilers = [name for name in ("g++", "clang++") if has(name)]
    module = example("cpp_server/export.py")
    module.main(tmp_path)
    strict = ("-std=c++17", "-O2", *STRICT[2:], "-Wold-style-cast", "-Wshadow", f"-I{tmp_path}")
    source, program = EXAMPLES / "cpp_server" / "main.cc", tmp_path / "serve"
    for compiler in compilers:
        run(compiler, *strict, source, tmp_path / "libclassifier.a", "-pthread", "-o", program)
        answers = checked_server(program, 100, tmp_path / "answers.bin")
    loaded = ct.export.load(tmp_path, native=True)
    for first in range(0, 160, module.ROWS):
        rows = answers[first : first + module.ROWS]
        found = loaded.answer(ct.Ragged(rows["tokens"], {1: rows["length"]}))
        np.testing.assert_array_equal(found, rows["classes"])
    params = ct.tree.map(ct.numpy.asarray, module.weights())
    for row in answers[:3]:
        expected = module.classify(params, ct.numpy.asarray(row["tokens"][: row["length"]]))
        np.testing.assert_allclose(row["classes"], expected, rtol=1e-4)

    # A compiler may come without the sanitizer's library.
    (tmp_path / "empty.cc").write_text("int main() { return 0; }\n")
    races = [
        compilers[0],
        "-g",
        "-O1",
        "-fsanitize=thread",
        "-std=c++17",
        f"-I{tmp_path}",
        "-pthread",
        "-o",
        str(program),
    ]
    probe = subprocess.run([*races, str(tmp_path / "empty.cc")], capture_output=True, check=False)
    if probe.returncode == 0 and subprocess.run([program], capture_output=True, check=False).returncode == 0:
        run(*races, source, tmp_path / "libclassifier.a")
        checked_server(program, 10, tmp_path / "answers.bin")


@needs("cmake", "c++")
def test_cmake_builds_the_server(tmp_path: Path) -> None:
    example("cpp_server/export.py").main(tmp_path)
    run("cmake", "-S", EXAMPLES / "cpp_server", "-B", tmp_path / "build", f"-Dclassifier_DIR={tmp_path}")
    run("cmake", "--build", tmp_path / "build")
    assert len(checked_server(tmp_path / "build" / "serve", 5, tmp_path / "answers.bin")) == 80


def test_a_rust_program_fits_a_curve(tmp_path: Path) -> None:
    require("rustc")
    module = example("rust/export.py")
    module.main(tmp_path)
    link = ("-O", "-L", tmp_path)
    run("rustc", *link, "--crate-type=rlib", tmp_path / "curve.rs", "--out-dir", tmp_path)
    crate = f"curve={tmp_path / 'libcurve.rlib'}"
    run("rustc", *link, "--edition=2021", "--extern", crate, EXAMPLES / "rust" / "main.rs", "-o", tmp_path / "fit")
    text = run(tmp_path / "fit")
    assert float(re.search(r"at most (\S+) off", text)[1]) < 0.1
    losses = [float(found) for found in re.findall(r"loss (\S+)", text)]
    loaded = ct.export.load(tmp_path, native=True)
    x = (2 * np.arange(module.POINTS, dtype=np.float32) / (module.POINTS - 1) - 1).astype(np.float32)
    state = loaded.init(ct.random.key(1))
    for step in range(501):
        out = loaded.step(state, x, np.sin(4 * x), 0.05)
        state = out["state"]
        if step % 500 == 0:  # Rust's sine is not NumPy's to the last bit
            assert float(out["loss"]) == pytest.approx(losses[step // 500], rel=1e-3)


def test_a_julia_program_finds_the_least_value(tmp_path: Path) -> None:
    require("julia")
    example("julia/export.py").main(tmp_path)
    text = run("julia", "--startup-file=no", EXAMPLES / "julia" / "main.jl", tmp_path)
    steps, off = re.search(r"(\d+) steps, at most (\S+) off", text).groups()
    assert int(steps) < 100 and float(off) < 1e-8


def test_what_the_julia_program_calls(tmp_path: Path) -> None:
    """The same by Python, where there is no Julia."""
    module = example("julia/export.py")
    module.main(tmp_path)
    derivatives = ct.export.load(tmp_path, native=True).derivatives
    x = np.zeros(module.SIZE)
    for _ in range(100):
        at = derivatives(x)
        move, scale = -np.linalg.solve(at["hessian"], at["gradient"]), 1.0
        while float(derivatives(x + scale * move)["value"]) > float(at["value"]) and scale > 1e-8:
            scale /= 2
        x = x + scale * move
    np.testing.assert_allclose(x, 1, atol=1e-8)
    assert re.search(r"^function derivatives\(x\)$", (tmp_path / "valley.jl").read_text(), re.MULTILINE)
