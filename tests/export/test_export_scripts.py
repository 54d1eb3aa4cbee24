"""Files of exported libraries for Python without cotangent, cffi, numba and Julia."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import cotangent as ct
import numpy as np
import pytest
from exported_bindings import ALL, library, module, results, run, same
from needs import needed, needs
from places import ROOT


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library().save(tmp_path_factory.mktemp("demo"), files=ALL)


@pytest.fixture(scope="module")
def expected(saved: Path) -> list[float]:
    return results(saved)


# ---- Python without cotangent --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(saved: Path) -> ModuleType:
    return module(saved / "demo.py", "demo")


def test_python(demo: ModuleType, expected: list[float]) -> None:
    state = demo.init(5)
    assert state.dtype == demo.State and state.ctypes.data % 64 == 0
    found = [demo.step(state, np.full((6, 4), x, np.float32), 0.1) for x in (0.5, 0)]
    assert found[0].dtype == np.float32
    words = demo.zeros(demo.Words)
    words["n"] = [5, 2, 0]
    words["data"] = 0.25
    out = demo.predict(state["params"], words, flag=True, scale=2)
    assert out._fields == ("any", "scores", "z")
    of_total = demo.total([[1 + 2j] * 3] * 2, 3)
    found += [out.any, *out.scores.ravel(), out.z.real, out.z.imag, of_total.real, of_total.imag]
    params = state["params"]
    found += [state["count"], state["key"] & 0xFFFFFFFF, params["layers"]["w"][1, 3, 2], params["small"][3]]
    found += [params["half"][1].view(np.uint16), params["flags"][1]]
    same(" ".join(repr(float(x)) for x in found), expected)


def test_errors_in_python(demo: ModuleType) -> None:
    state, x = demo.init(0), np.ones((6, 4), np.float32)
    before = state.tobytes()
    for wrong, kind, text in (
        (
            lambda: demo.step(state, x.astype(float), 0.1),
            TypeError,
            "step: x must be float32[6, 4], called with float64[6, 4]",
        ),
        (lambda: demo.step(state, x[:5], 0.1), TypeError, "step: x must be float32[6, 4], called with float32[5, 4]"),
        (
            lambda: demo.step(state["params"], x, 0.1),
            TypeError,
            "step: state must be State[], called with StateParams[]",
        ),
        (
            lambda: demo.step(None, x, 0.1),
            TypeError,
            "step: state is updated in place: it must be a NumPy array, and is a NoneType",
        ),
        (lambda: demo.step(state, x, 1j), TypeError, "step: rate must be float32[], called with complex128[]"),
        (lambda: demo.init(1.5), TypeError, "init: key must be uint64[], called with float64[]"),
        (
            lambda: demo.total([[1, 2, 3]], 1),
            TypeError,
            "total: z must be complex64[2, 3], called with complex64[1, 3]",
        ),
    ):
        with pytest.raises(kind, match=re.escape(text)):
            wrong()
    fixed = demo.init(0)
    fixed.flags.writeable = False
    with pytest.raises(
        ValueError, match="step: state is updated in place: it must be contiguous, aligned and writable"
    ):
        demo.step(fixed, x, 0.1)
    words = demo.zeros(demo.Words)
    words["n"][1] = -1
    with pytest.raises(demo.Error, match="predict: a length is negative or above its bound") as error:
        demo.predict(state["params"], words, True, 1)
    assert error.value.status == 5
    assert state.tobytes() == before
    # What is not contiguous is copied.
    assert demo.step(state, np.asfortranarray(x), 0.1) == demo.step(demo.init(0), x, 0.1)


def test_python_on_threads(demo: ModuleType) -> None:
    words = demo.zeros(demo.Words)
    words["n"], words["data"] = 5, np.linspace(-1, 1, 60).reshape(3, 5, 4)
    params = demo.init(1)["params"]
    expected, found = demo.predict(params, words, True, 1).scores, []

    def work() -> None:
        found.extend(demo.predict(params, words, True, 1).scores for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 100 and all((scores == expected).all() for scores in found)


def test_python_needs_numpy_only_and_its_own_library(saved: Path, tmp_path: Path) -> None:
    script = "import sys, demo; print(demo.total([[1] * 3] * 2, 2), 'cotangent' in sys.modules)"
    assert run(sys.executable, "-c", script, folder=saved) == "(12+0j) False\n"
    shutil.copy(saved / "demo.py", tmp_path)
    ct.export.compile(lambda x: x, 1.0, name="demo").save(tmp_path, files="so")
    with pytest.raises(ImportError, match=r"libdemo\.so is of another export than demo\.py"):
        module(tmp_path / "demo.py", "other")


def test_cffi(saved: Path, demo: ModuleType) -> None:
    cffi = needed("cffi")
    text = (saved / "demo.h").read_text()
    declared = re.findall(
        r"^typedef struct .*?^\} \w+;|^(?:int|const char\*) \w+\(.*?\);", text, re.MULTILINE | re.DOTALL
    )
    ffi = cffi.FFI()
    ffi.cdef("\n".join(declared))
    c = ffi.dlopen(str(saved / "libdemo.so"))
    assert ffi.sizeof("demo_state") == demo.State.itemsize
    state, expected = ffi.new("demo_state*"), demo.init(7)
    assert c.demo_init(7, state, ffi.NULL) == 0
    assert bytes(ffi.buffer(state)) == expected.tobytes()
    z, out = np.full((2, 3), 1j, np.complex64), np.zeros((), np.complex64)
    n = np.float16(2)
    inputs = ffi.new("void*[]", [ffi.cast("void*", array.ctypes.data) for array in (z, np.asarray(n))])
    outputs = ffi.new("void*[]", [ffi.cast("void*", out.ctypes.data)])
    assert c.demo_total_leaves(inputs, outputs, ffi.NULL) == 0
    assert out == 12j
    assert ffi.string(c.demo_error(c.demo_total_leaves(ffi.NULL, outputs, ffi.NULL))) == b"a pointer is NULL"


def test_numba(saved: Path) -> None:
    numba = needed("numba")
    leaves = ctypes.CDLL(str(saved / "libdemo.so")).demo_total_leaves
    leaves.argtypes = [ctypes.c_void_p] * 3

    @numba.njit
    def totals(z: Any, n: Any, out: Any) -> int:
        status = 0
        for row in range(len(z)):
            inputs = np.array([z[row].ctypes.data, n.ctypes.data])
            outputs = np.array([out[row:].ctypes.data])
            status += leaves(inputs.ctypes, outputs.ctypes, 0)
        return status

    z = np.arange(24, dtype=np.complex64).reshape(4, 2, 3)
    out = np.zeros(4, np.complex64)
    assert totals(z, np.full(1, np.float16(2)).view(np.uint16), out) == 0
    np.testing.assert_array_equal(out, 2 * z.sum(axis=(1, 2)))


# ---- Julia ---------------------------------------------------------------------------------------------------------------

JULIA = """\
include(joinpath(ARGS[1], "demo.jl"))
state = Demo.init(5)
found = Any[Demo.step!(state, fill(x, 4, 6), 0.1) for x in (0.5f0, 0f0)]
words = (data = fill(0.25f0, 4, 5, 3), n = Int32[5, 2, 0])
out = Demo.predict(state.params, words, true, 2)
push!(found, out.any, out.scores..., real(out.z), imag(out.z))
z = Demo.total(fill(1f0 + 2f0im, 3, 2), 3)
params = state.params
push!(found, real(z), imag(z), state.count[], state.key[] % UInt32, params.layers[2].w[3, 4], params.small[4])
push!(found, reinterpret(UInt16, params.half[2]), params.flags[2])
println(join(map(Float64, found), " "))
words.n[1] = 6
try
    Demo.predict(params, words, true, 2)
catch failure
    println(sprint(showerror, failure))
end
"""


@needs("julia")
def test_julia(saved: Path, expected: list[float], tmp_path: Path) -> None:
    (tmp_path / "main.jl").write_text(JULIA)
    numbers, error = run("julia", "--startup-file=no", tmp_path / "main.jl", saved).splitlines()
    same(numbers, expected)
    assert error == "predict: a length is negative or above its bound"


def test_julia_by_its_grammar(saved: Path, tmp_path: Path) -> None:
    """That it is Julia at all, where there is none to run it; with names that it has no other place for than quotes."""
    tree_sitter = needed("tree_sitter")
    grammar = needed("tree_sitter_julia")
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    odd = {"a b": np.ones(2, np.float32), "end": (np.ones(1, np.float32), None), 'q"$x\\': np.float32(1)}
    twice = ct.export.function(lambda begin: ct.tree.map(lambda x: x * 2, begin), odd)
    ct.export.library("odd", {"end": twice, "nothing": ct.export.function(dict)}).save(tmp_path, files=("jl", "so"))
    example = ROOT / "examples" / "julia" / "main.jl"
    for text in (
        (saved / "demo.jl").read_bytes(),
        (tmp_path / "odd.jl").read_bytes(),
        example.read_bytes(),
        JULIA.encode(),
    ):
        assert not parser.parse(text).root_node.has_error


JULIA_TYPES = {
    "bool": "Bool",
    "key": "UInt64",
    "complex64": "ComplexF32",
    "int8": "Int8",
    "int32": "Int32",
    "uint64": "UInt64",
}
JULIA_TYPES |= {f"float{bits}": f"Float{bits}" for bits in (16, 32, 64)}


def test_julia_has_the_leaves_of_the_library(saved: Path) -> None:
    """Its text, where there is no Julia to run it."""
    text = (saved / "demo.jl").read_text()

    def shown(leaf: dict[str, Any]) -> str:
        size = tuple(reversed(leaf["shape"]))
        return f"{JULIA_TYPES[leaf['dtype']]}, {size}"

    for function in json.loads(library().describe())["functions"]:
        body = text.split(f"\nfunction {function['name']}", 1)[1].split("\nend\n", 1)[0]
        inputs, outputs = body.split("    outputs = (", 1)
        found = re.findall(r"(given|updated)\(\"[^\"]*\", (.+?), (\w+, \(.*?\))\),\n", inputs)
        donated = {leaf["in_place_of"] for leaf in function["outputs"] if "in_place_of" in leaf}
        expected = [("updated" if i in donated else "given", shown(leaf)) for i, leaf in enumerate(function["inputs"])]
        assert [(check, what) for check, _, what in found] == expected
        paths = [re.sub(r"\[(\d+)\]", lambda n: f"[{int(n[1]) - 1}]", access) for _, access, _ in found]
        assert paths == [re.sub(r"\['(\w+)'\]", r".\1", leaf["path"]) for leaf in function["inputs"]]
        made = re.findall(r"^        (?:Array\{(\w+)\}\(undef, (\(.*?\))\)|inputs\[(\d+)\]),$", outputs, re.MULTILINE)
        assert len(made) == len(function["outputs"])
        for (kind, size, of), leaf in zip(made, function["outputs"], strict=True):
            assert (int(of) - 1 == leaf["in_place_of"]) if of else (f"{kind}, {size}" == shown(leaf))
        assert f"ccall((:{function['symbol']}_leaves, LIBRARY)" in outputs
        assert f'call("{function["name"]}", {function["workspace_bytes"]}, inputs, outputs) do' in outputs
