"""The saved form of libraries: golden files of every version, damaged and hostile ones, structures, mapped arrays."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import inspect
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent.export import _saved

GOLDEN = Path(__file__).parent / "golden"
X = np.arange(1, 6, dtype=np.float32)


def save(f: Any, *arguments: Any, directory: Path, **options: Any) -> Path:
    ct.export.compile(f, *arguments, name="step", **options).save(directory, files=("ctir",))
    return directory / "step.ctir"


def scaled(params: Any, x: Any, *, power: Any) -> Any:
    return {"y": [params["w"] * x**power, (params["b"], x.sum())], "none": None}


# ---- golden files ----------------------------------------------------------------------------------------------------
# Written by `python tests/ir/test_saved_files.py`, once for each version of the format; never changed afterwards.


def golden_library() -> ct.export.Exported:
    table = cnp.arange(2000, dtype=cnp.float32)
    params = {"w": cnp.ones(5, cnp.float32), "b": cnp.zeros((), cnp.float32)}
    ragged = ct.Ragged(cnp.zeros((3, 4), cnp.float32), {1: cnp.zeros(3, cnp.int32)})
    return ct.export.library(
        "golden",
        {
            "scaled": ct.export.function(scaled, params, X, power=2),
            "step": ct.export.function(
                lambda params, lr: {"params": {k: p - lr for k, p in params.items()}}, params, 0.1, donate="params"
            ),
            "lookup": ct.export.function(lambda i: table[i] + table.sum(), cnp.zeros(3, cnp.int32)),
            "ragged": ct.export.function(lambda r: ct.vmap(ct.mask(cnp.cumsum))(r), ragged),
        },
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("library_*.ctir")), ids=lambda p: p.stem)
def test_golden_libraries(path: Path) -> None:
    loaded = ct.export.load(path, verify="all")
    params = {"w": cnp.array(X), "b": cnp.float32(3)}
    results = loaded.scaled(params, 2 * X, power=3)
    assert results["none"] is None
    np.testing.assert_allclose(results["y"][0], X * (2 * X) ** 3)
    assert [float(v) for v in results["y"][1]] == [3, 30]
    assert ct.grad(lambda x: loaded.scaled(params, x, power=2)["y"][1][1])(X).tolist() == [1] * 5
    np.testing.assert_allclose(loaded.lookup(np.array([0, 7, 1999], np.int32)), np.array([0, 7, 1999]) + 1999000.0)
    stepped = loaded.step(params, 0.5)["params"]
    assert stepped["w"].tolist() == (X - 0.5).tolist()
    ragged = ct.Ragged(np.ones((3, 4), np.float32), {1: np.array([4, 0, 2], np.int32)})
    found = loaded.ragged(ragged)
    np.testing.assert_array_equal(found.data, [[1, 2, 3, 4], [0] * 4, [1, 2, 0, 0]])


def test_there_is_a_golden_file_of_this_version() -> None:
    assert [path.name for path in GOLDEN.glob("library_3.ctir")] == ["library_3.ctir"]
    assert int.from_bytes((GOLDEN / "library_3.ctir").read_bytes()[8:12], "little") == 3
    written = golden_library()
    described = json.loads(ct._core.SavedFile(str(GOLDEN / "library_3.ctir")).section("library"))
    assert {f["name"] for f in described["functions"]} == set(written.functions)


# ---- damaged files ---------------------------------------------------------------------------------------------------


def test_every_truncation_is_an_error(tmp_path: Path) -> None:
    table = cnp.arange(64, dtype=cnp.float32)
    path = save(lambda x: x + table[:5], X, directory=tmp_path)
    whole = path.read_bytes()
    cut = tmp_path / "cut.ctir"
    for end in [*range(0, len(whole), 7), len(whole) - 1]:
        cut.write_bytes(whole[:end])
        with pytest.raises(ct.errors.CorruptFileError):
            ct.export.load(cut)
    cut.write_bytes(whole + b"\0")
    with pytest.raises(ct.errors.CorruptFileError, match="something behind its parts"):
        ct.export.load(cut)


def test_every_mutant_is_an_error(tmp_path: Path, long_run: bool) -> None:
    """Of what is verified: the arrays' values only where that is asked for."""
    table = cnp.arange(2000, dtype=cnp.float32)
    path = save(lambda x, p: (x + table[:5], p), X, {"a": (X, [X])}, directory=tmp_path)
    whole = path.read_bytes()
    draw = np.random.default_rng(0)
    mutant = tmp_path / "mutant.ctir"
    for _ in range(100_000 if long_run else 2_000):
        data = bytearray(whole)
        for _ in range(int(draw.integers(1, 4))):
            at = int(draw.integers(len(data)))
            data[at] ^= int(draw.integers(1, 256))
        if data == whole:
            continue
        mutant.write_bytes(data)
        with pytest.raises(ct.errors.CorruptFileError):
            ct.export.load(mutant, verify="all")


def reseal(sections: dict[str, bytes]) -> bytes:
    return ct._core.save_sections(list(sections.items()), [])


def test_hostile_files_are_errors(tmp_path: Path, long_run: bool) -> None:
    """Whoever writes a file can give it the right checksums."""
    path = save(scaled, {"w": X, "b": np.float32(1)}, X, power=2, directory=tmp_path)
    saved = ct._core.SavedFile(str(path))
    sections = {name: saved.section(name) for name in ("library", "functions", "graph 0")}
    draw = np.random.default_rng(1)
    hostile = tmp_path / "hostile.ctir"
    outcomes = {"error": 0, "loaded": 0}
    for _ in range(20_000 if long_run else 600):
        name = str(draw.choice(list(sections)))
        data = bytearray(sections[name])
        for _ in range(int(draw.integers(1, 4))):
            data[int(draw.integers(len(data)))] = int(draw.integers(256))
        if draw.random() < 0.1:
            del data[int(draw.integers(len(data))) :]
        hostile.write_bytes(reseal({**sections, name: bytes(data)}))
        try:
            loaded = ct.export.load(hostile)
            outcomes["loaded"] += 1
            loaded({"w": X, "b": np.float32(1)}, X, power=2)
        except (
            ct.errors.CorruptFileError,
            TypeError,
            ValueError,
            NotImplementedError,
            MemoryError,
            AttributeError,
        ):
            outcomes["error"] += 1
    assert outcomes["error"] > 100


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ("[]", "describes other functions"),
        ("{}", "describes other functions"),
        ("null", "is not a valid saved file"),
        ("[1]", "is not a valid saved file"),
        ("[", "is not a valid saved file"),
        ('[{"name": "step"}]', "is not a valid saved file"),
    ],
)
def test_other_descriptions_are_errors(functions: str, message: str, tmp_path: Path) -> None:
    path = save(lambda x: x, X, directory=tmp_path)
    saved = ct._core.SavedFile(str(path))
    path.write_bytes(
        reseal(
            {"library": saved.section("library"), "functions": functions.encode(), "graph 0": saved.section("graph 0")}
        )
    )
    with pytest.raises(ct.errors.CorruptFileError, match=message):
        ct.export.load(path)


def test_newer_files_say_so(tmp_path: Path) -> None:
    path = save(lambda x: x, X, directory=tmp_path)
    data = bytearray(path.read_bytes())
    data[8] = 9
    path.write_bytes(data)
    with pytest.raises(ct.errors.CorruptFileError, match="was saved by a newer cotangent, as version 9 of the format"):
        ct.export.load(path)


def test_damaged_values_are_found_where_that_is_asked_for(tmp_path: Path) -> None:
    table = cnp.arange(4000, dtype=cnp.float32)
    path = save(lambda x: x + table[:5], X, directory=tmp_path)
    data = bytearray(path.read_bytes())
    data[-4000] ^= 1
    path.write_bytes(data)
    assert ct.export.load(path)(X).shape == (5,)
    with pytest.raises(ct.errors.CorruptFileError, match="its section 'weights' is damaged"):
        ct.export.load(path, verify="all")


# ---- structures ------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


@ct.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class State:
    params: Any
    name: str = dataclasses.field(metadata={"static": True})
    shape: tuple[int, ...] = dataclasses.field(default=(2, 3), metadata={"static": True})


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Settings:
    """Static data: no pytree."""

    depth: int
    color: Color
    point: Point

    def __post_init__(self) -> None:
        assert self.depth != 13, "made by a call"


@ct.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Odd:
    x: Any
    thing: Any = dataclasses.field(metadata={"static": True})


def test_structures_come_back(tmp_path: Path) -> None:
    state = State(Point(X, {"a": [X, None, (X,)]}), "adam")
    path = save(lambda state, flag: (state, Point(flag, state.params.x)), state, True, directory=tmp_path)
    result, point = ct.export.load(path)(state, True)
    assert isinstance(result, State) and (result.name, result.shape) == ("adam", (2, 3))
    assert isinstance(result.params, Point) and isinstance(point, Point)
    assert result.params.y["a"][1] is None
    np.testing.assert_array_equal(result.params.y["a"][2][0], X)
    with pytest.raises(TypeError, match="the static data of a class among them differ"):
        ct.export.load(path)(dataclasses.replace(state, name="sgd"), True)


def test_static_data(tmp_path: Path) -> None:
    """Frozen dataclasses, which are made without a call of theirs; enums, named tuples, structures, types, functions of cotangent's."""
    static = (
        Settings(3, Color.RED, Point(1.5, "y")),
        ct.tree_util.tree_structure({"a": 1, "b": (2, None)}),
        [np.float32, np.dtype("int8"), ct.nn.relu, cnp.tanh],
        {"rate": 2 - 1j, 3: (True, None)},
    )
    odd = Odd(X, static)
    result = ct.export.load(save(lambda odd: odd, odd, directory=tmp_path))(odd)
    assert result.thing == static
    assert [type(item) for item in result.thing] == [type(item) for item in static]
    assert result.thing[2][2] is ct.nn.relu and isinstance(result.thing[0].point, Point)
    settings = Settings(3, Color.RED, Point(0, 0))
    object.__setattr__(settings, "depth", 13)
    result = ct.export.load(save(lambda odd: odd.x, Odd(X, settings), directory=tmp_path))
    np.testing.assert_array_equal(result(Odd(X, settings)), X)


def test_static_data_of_another_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(lambda odd: odd.x, Odd(X, Settings(3, Color.RED, Point(1, 2))), directory=tmp_path)
    here = sys.modules[__name__]
    for name, replacement in (
        ("Settings", dataclasses.make_dataclass("Settings", ["depth"], frozen=True)),
        ("Color", int),
        ("Point", State),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(here, name, replacement)
            with pytest.raises(
                TypeError, match=f"has a .*:{name} among its static data, and that of this process is another class"
            ):
                ct.export.load(path)


@pytest.mark.parametrize("kind", ["dataclass", "named tuple"])
def test_fields_in_another_order(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children are kept by their places: another order would exchange them."""

    def made(*names: str) -> Any:
        if kind == "named tuple":
            return collections.namedtuple("Changing", names, module=__name__)
        new = dataclasses.make_dataclass("Changing", names, frozen=True)
        new.__module__, new.__qualname__ = __name__, "Changing"
        return ct.tree_util.register_dataclass(new)

    monkeypatch.setattr(sys.modules[__name__], "Changing", first := made("gain", "bias"), raising=False)
    path = save(lambda p: p.gain - 10 * p.bias, first(gain=X, bias=X + 1), directory=tmp_path)
    assert ct.export.load(path)(first(gain=X, bias=X + 1)).tolist() == (X - 10 * (X + 1)).tolist()
    for names in (("bias", "gain"), ("gain", "offset"), ("gain", "bias", "more")):
        monkeypatch.setattr(sys.modules[__name__], "Changing", made(*names))
        with pytest.raises(
            TypeError, match=f"with the fields gain, bias; in this process these are {', '.join(names)}\n"
        ):
            ct.export.load(path)


def test_a_file_names_no_function_but_ours(tmp_path: Path) -> None:
    path = save(lambda odd: odd.x, Odd(X, ct.nn.relu), directory=tmp_path)
    nodes = _saved.tree_to_json(ct.tree_util.tree_structure(Odd(X, ct.nn.relu)))
    for name in ("os:system", "cotangent.export._saved:sys.exit", "cotangent.nn:no_such_thing", "cotangent:__doc__"):
        changed = json.loads(json.dumps(nodes).replace(_saved._name_of(ct.nn.relu), name))
        with pytest.raises(TypeError, match="which this version does not have"):
            _saved.tree_from_json(changed)
    assert ct.export.load(path)(Odd(X, ct.nn.relu)).shape == X.shape


def test_checkified_functions_come_back(tmp_path: Path) -> None:
    def positive(x: Any) -> Any:
        ct.checkify.check(x.sum() > 0, "a sum of {total}, {name}", total=x.sum(), name="too small")
        return 2 * x

    load = ct.export.load(save(ct.checkify.checkify(positive), X, directory=tmp_path))
    error, out = load(abs(X))
    assert error.get() is None
    np.testing.assert_array_equal(out, 2 * abs(X))
    error, _ = load(-abs(X))
    assert error.get().startswith("a sum of -15.0, too small (`check` failed)")


def test_static_data_that_cannot_be_saved(tmp_path: Path) -> None:
    """The library can be made; the file says why it cannot be called from Python."""
    path = save(lambda odd: odd.x, Odd(X, len), directory=tmp_path)
    with pytest.raises(
        TypeError, match=r"Odd among its arguments, whose static data could not be saved: .*built-in function len"
    ):
        ct.export.load(path)


def test_classes_that_are_not_there(tmp_path: Path) -> None:
    """Reading a file imports nothing."""
    path = save(lambda p: p.x + p.y, Point(X, X), directory=tmp_path)
    program = f"import cotangent as ct\nct.export.load({str(path)!r})"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "the saved function takes or returns test_saved_files:Point, which this process does not have" in ran.stderr
    assert "import test_saved_files before it is loaded" in ran.stderr


# ---- arrays ----------------------------------------------------------------------------------------------------------


def test_large_arrays_are_mapped(tmp_path: Path) -> None:
    """64 MiB: as fast as without them. They stay when the file is replaced."""
    table = cnp.arange(1 << 24, dtype=cnp.float32)
    path = save(lambda i: table[i], np.int32(0), directory=tmp_path)
    small = save(lambda i: i + 1, np.int32(0), directory=tmp_path / "small")
    assert path.stat().st_size > 1 << 26

    def seconds(file: Path) -> float:
        start = time.perf_counter()
        ct.export.load(file)
        return time.perf_counter() - start

    assert min(seconds(path) for _ in range(5)) < 10 * min(seconds(small) for _ in range(5)) + 2e-3
    loaded = ct.export.load(path)
    save(lambda i: i * 2, np.int32(0), directory=tmp_path)
    assert float(loaded(np.int32(12345678))) == 12345678
    assert int(ct.export.load(path)(np.int32(4))) == 8


def test_numbers_for_numbers(tmp_path: Path) -> None:
    path = save(lambda x, lr, n: x * lr + n, X, 0.5, 3, directory=tmp_path)
    loaded = ct.export.load(path)
    for arguments in ((0.5, 3), (np.float32(0.5), 3), (1, 3), (cnp.float32(0.5), cnp.int32(3))):
        np.testing.assert_allclose(loaded(X, *arguments), X * float(arguments[0]) + 3)
    with pytest.raises(TypeError, match="n is int32, called with a float number"):
        loaded(X, 0.5, 3.5)
    with pytest.raises(TypeError, match=r"lr is float32\[\], called with float64\[\]"):
        loaded(X, np.float64(0.5), 3)


def test_a_function_says_what_it_takes(tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    words = ct.Ragged(np.zeros((2, 5), np.float32), {1: np.array([1, 2], np.int32)})

    def f(tree: Any, words: Any, *, rate: Any) -> Any:
        return {"y*": tree["*"][0] * rate}

    step = ct.export.load(save(f, {"*": [x, x[0]]}, words, rate=0.5, directory=tmp_path)).step
    text = (
        "(tree: {'*': [float32[2, 3], float32[3]]}, words: Ragged(float32[2, 5], int32[2]), rate: float32[])"
        " -> {'y*': float32[2, 3]}"
    )
    assert str(inspect.signature(step)) == text
    assert repr(step) == f"<jitted step{text}>"
    assert repr(ct.jit(f)) == "<jitted f>"


def test_arguments_by_position_and_by_name(tmp_path: Path) -> None:
    def f(a: Any, b: Any, *, c: Any) -> Any:
        return a + 10 * b + 100 * c

    loaded = ct.export.load(save(f, 1.0, b=2.0, c=3.0, directory=tmp_path))
    step = loaded.step
    for call in (
        lambda: step(1.0, 2.0, 3.0),
        lambda: step(1.0, b=2.0, c=3.0),
        lambda: step(c=3.0, b=2.0, a=1.0),
        lambda: loaded(1.0, 2.0, c=3.0),
    ):
        assert float(call()) == 321
    assert list(inspect.signature(step).parameters) == ["a", "b", "c"]
    with pytest.raises(TypeError, match="step has no argument 'd'\n  its arguments: a, b, c"):
        step(1.0, 2.0, d=3.0)
    with pytest.raises(TypeError, match=r"step was called without 'b', 'c'\n  call step\(a, b, c\)"):
        step(1.0)
    with pytest.raises(TypeError, match="step was given 'a' by position and by name"):
        step(1.0, 2.0, a=3.0)
    with pytest.raises(TypeError, match=r"step takes 3 arguments, called with 4\n  call step\(a, b, c\)"):
        step(1.0, 2.0, 3.0, 4.0)


def test_libraries_that_are_cut_off_are_not_opened(tmp_path: Path) -> None:
    """Opening one would end the process."""
    ct.export.compile(lambda x: cnp.sort(x) + 1, X, name="step").save(tmp_path)
    library = tmp_path / "libstep.so"
    whole = library.read_bytes()
    for part in (
        b"",
        whole[:100],
        whole[: len(whole) // 2],
        whole[:-1],
        whole + b"x",
        whole[:5000] + b"?" + whole[5001:],
    ):
        library.write_bytes(part)
        loaded = ct.export.load(tmp_path)
        assert not loaded.native
        assert loaded(X).shape == (5,)
        with pytest.raises(ValueError, match="not the one that was written with the file, or not all of it"):
            ct.export.load(tmp_path, native=True)


LOOP = """
import signal, sys, threading, time
import cotangent as ct, cotangent.numpy as cnp, numpy as np
loop = ct.export.load(sys.argv[1], native=True).loop
x = np.ones(4, np.float32)
loop(x, 10)
ticks = 0
def tick():
    global ticks
    while True:
        ticks += 1
        time.sleep(0.001)
threading.Thread(target=tick, daemon=True).start()
threading.Timer(0.5, lambda: signal.raise_signal(signal.SIGINT)).start()
start = time.monotonic()
try:
    loop(x, 2**31 - 1)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start, ticks)
"""


def test_a_loaded_loop_is_interrupted_and_leaves_others_the_interpreter(tmp_path: Path) -> None:
    def loop(x: Any, n: Any) -> Any:
        return ct.lax.while_loop(lambda s: s[1] > 0, lambda s: (cnp.sin(s[0]) + 1, s[1] - 1), (x, n))[0]

    ct.export.compile(loop, X[:4], 10, name="loop").save(tmp_path)
    ran = subprocess.run([sys.executable, "-c", LOOP, tmp_path], capture_output=True, text=True, timeout=100)
    word, seconds, ticks = ran.stdout.split()
    assert word == "interrupted", ran.stderr
    assert float(seconds) < 20 and int(ticks) > 50


def test_copies_and_libraries_for_other_machines(tmp_path: Path) -> None:
    ct.export.compile(lambda x: x + 1, X, name="step").save(tmp_path, target="aarch64")
    loaded = ct.export.load(tmp_path)
    assert not loaded.native
    assert copy.copy(loaded).step is loaded.step
    assert not hasattr(loaded, "_repr_html_")
    with pytest.raises(ValueError, match="it was made for aarch64, which this machine is not"):
        ct.export.load(tmp_path, native=True)
    with pytest.raises(TypeError, match="target must be a string or None; got 5"):
        ct.export.compile(lambda x: x, X, target=5)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    golden_library().save(GOLDEN, files=("ctir",))
    (GOLDEN / "golden.ctir").rename(GOLDEN / "library_3.ctir")
