"""Files of exported libraries for other languages: they compute what Python does, and their errors are those of their language."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_bindings import library, results, run, same

ALL = ("h", "hpp", "rs", "py", "jl", "a", "so", "ctir")
STRICT = (
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wold-style-cast",
    "-Wshadow",
)
COMPILERS = [name for name in ("g++", "clang++", "clang++-22") if shutil.which(name)]
needs_rust = pytest.mark.skipif(not shutil.which("rustc"), reason="needs rustc")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library().save(tmp_path_factory.mktemp("demo"), files=ALL)


@pytest.fixture(scope="module")
def expected(saved: Path) -> list[float]:
    return results(saved)


def refused(*command: object, folder: Path) -> str:
    """What a compiler says of a program that it does not take."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300, cwd=folder)
    assert done.returncode != 0
    return done.stderr


# ---- C++ -----------------------------------------------------------------------------------------------------------------

CPP = """\
#include "demo.hpp"

#include <array>
#include <cstdio>
#include <vector>

template <class T>
void print(T number) { std::printf("%.9g ", static_cast<double>(number)); }

int main() {
  demo::Model model = demo::Model::init(5);
  const std::vector<float> halves(24, 0.5f);
  const float zeros[6][4] = {};
  print(model.step(halves, 0.1f));
  print(model.step(zeros, 0.1f));

  demo::Words words{};
  words.n[0] = 5;
  words.n[1] = 2;
  for (auto& sentence : words.data)
    for (auto& word : sentence)
      for (float& x : word) x = 0.25f;
  demo::Workspace<DEMO_PREDICT_WORKSPACE> workspace;
  std::uint8_t any;
  std::complex<float> z;
  std::array<double, 12> scores;
  const demo::Model& constant = model;
  constant.predict(words, true, 2.0, any, scores, z, workspace);
  print(any);
  for (double score : scores) print(score);
  print(z.real());
  print(z.imag());

  const std::complex<float> numbers[2][3] = {{{1, 2}, {1, 2}, {1, 2}}, {{1, 2}, {1, 2}, {1, 2}}};
  const std::complex<float> total = demo::total(numbers, 0x4200);
  print(total.real());
  print(total.imag());
  const demo::State& state = constant.state();
  print(state.count);
  print(state.key & 0xffffffffu);
  print(state.params.layers[1].w[3][2]);
  print(state.params.small[3]);
  print(state.params.half[1]);
  print(state.params.flags[1]);
  std::puts("");

  words.n[0] = 6;
  try {
    constant.predict(words, true, 2.0, any, scores, z, workspace);
  } catch (const demo::Error& error) {
    std::printf("%d %s\\n", error.status() == CT_LENGTH, error.what());
  }
  try {
    model.step(std::vector<float>(23), 0.1f);
  } catch (const std::invalid_argument& error) {
    std::puts(error.what());
  }
  try {
    demo::total(demo::View<const std::complex<float>, 2, 3>(nullptr), 0);
  } catch (const demo::Error& error) {
    std::printf("%d\\n", error.status() == CT_NULL);
  }
  std::printf("%d\\n", constant.state().count);
  return 0;
}
"""


def check_cpp(printed: str, expected: list[float]) -> None:
    numbers, *errors = printed.splitlines()
    same(numbers, expected)
    assert errors == [
        "1 a length is negative or above its bound",
        "demo: an array of 23 elements instead of 24",
        "1",
        "2",
    ]


@pytest.mark.skipif(not COMPILERS, reason="needs g++ or clang++")
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_cpp(compiler: str, standard: str, saved: Path, expected: list[float], tmp_path: Path) -> None:
    (tmp_path / "main.cc").write_text(CPP)
    run(
        compiler,
        f"-std={standard}",
        *STRICT,
        f"-I{saved}",
        tmp_path / "main.cc",
        saved / "libdemo.a",
        "-o",
        tmp_path / "main",
    )
    check_cpp(run(tmp_path / "main"), expected)


@pytest.mark.skipif(not COMPILERS or not shutil.which("valgrind"), reason="needs valgrind and a compiler")
def test_cpp_with_valgrind(saved: Path, expected: list[float], tmp_path: Path) -> None:
    (tmp_path / "main.cc").write_text(CPP)
    made = library().save(tmp_path, target="x86-64-v2", files=("h", "hpp", "a"))
    run(COMPILERS[0], "-std=c++17", "-g", "main.cc", made / "libdemo.a", "-o", "main", folder=tmp_path)
    printed = run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", tmp_path / "main")
    found = np.array(printed.splitlines()[0].split(), np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.skipif(not COMPILERS, reason="needs g++ or clang++")
def test_cpp_finds_mistakes(saved: Path, tmp_path: Path) -> None:
    def said(line: str) -> str:
        (tmp_path / "wrong.cc").write_text(f'#include "demo.hpp"\nvoid f(demo::Model& model) {{ {line} }}\n')
        return refused(COMPILERS[0], "-std=c++17", "-fsyntax-only", f"-I{saved}", "wrong.cc", folder=tmp_path)

    assert "the array has another number of elements" in said("float x[6][5] = {}; model.step(x, 0.1f);")
    assert "error" in said("double x[6][4] = {}; model.step(x, 0.1f);")
    small = "demo::Workspace<64> w; demo::Words words{}; std::uint8_t a; std::complex<float> z; double s[3][4];"
    assert "less than DEMO_PREDICT_WORKSPACE" in said(small + " model.predict(words, true, 2.0, a, s, z, w);")
    # What it owns cannot be changed through a constant model.
    assert "error" in said("const demo::Model& c = model; c.state().count = 1;")


# ---- Rust ----------------------------------------------------------------------------------------------------------------

RUST = """\
#![deny(warnings)]
mod demo;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    demo::check()?;
    let mut state = demo::State::zeroed();
    demo::init(5, &mut state)?;
    let mut workspace = demo::Workspace::<{ demo::PREDICT_WORKSPACE }>::new();
    for value in [0.5, 0.0] {
        print!("{} ", demo::step(&mut state, &[[value; 4]; 6], 0.1, &mut workspace)?);
    }
    let mut words = demo::Words::zeroed();
    words.n = [5, 2, 0];
    words.data = [[[0.25; 4]; 5]; 3];
    let (mut any, mut scores, mut z) = (false, [[0.0; 4]; 3], [0.0; 2]);
    demo::predict(&state.params, &words, true, 2.0, &mut any, &mut scores, &mut z, &mut workspace)?;
    print!("{} ", u8::from(any));
    for score in scores.iter().flatten() {
        print!("{score} ");
    }
    let [real, imaginary] = demo::total(&[[[1.0, 2.0]; 3]; 2], 0x4200)?;
    print!("{} {} {real} {imaginary} {} {} ", z[0], z[1], state.count, state.key as u32);
    let params = &state.params;
    println!("{} {} {} {}", params.layers[1].w[3][2], params.small[3], params.half[1], u8::from(params.flags[1]));
    words.n[0] = 6;
    let error = demo::predict(&state.params, &words, true, 2.0, &mut any, &mut scores, &mut z, &mut workspace).unwrap_err();
    println!("{error}, {}", error == demo::Error::LENGTH);
    Ok(())
}
"""


@needs_rust
@pytest.mark.parametrize("edition", ["2018", "2024"])
def test_rust(edition: str, saved: Path, expected: list[float], tmp_path: Path) -> None:
    (tmp_path / "main.rs").write_text(RUST)
    shutil.copy(saved / "demo.rs", tmp_path)
    run("rustc", f"--edition={edition}", "-L", saved, "main.rs", "-o", "main", folder=tmp_path)
    numbers, error = run(tmp_path / "main").splitlines()
    same(numbers, expected)
    assert error == "a length is negative or above its bound, true"


@needs_rust
def test_rust_finds_mistakes(saved: Path, tmp_path: Path) -> None:
    shutil.copy(saved / "demo.rs", tmp_path)

    def said(line: str) -> str:
        (tmp_path / "main.rs").write_text(f"mod demo;\nfn main() {{ {line} }}\n")
        return refused("rustc", "-L", saved, "main.rs", folder=tmp_path)

    assert "expected an array with a size of 3" in said("let _ = demo::total(&[[[1.0, 2.0]; 4]; 2], 0);")
    assert "expected `f32`, found `bool`" in said("let _ = demo::total(&[[[true, false]; 3]; 2], 0);")
    step = "let mut s = demo::State::zeroed(); let mut w = demo::Workspace::<8>::new();"
    assert "BYTES >= STEP_WORKSPACE" in said(step + "let _ = demo::step(&mut s, &[[0.0; 4]; 6], 0.1, &mut w);")


@needs_rust
def test_rust_needs_no_std_and_is_laid_out_as_usual(saved: Path, tmp_path: Path) -> None:
    shutil.copy(saved / "demo.rs", tmp_path)
    (tmp_path / "user.rs").write_text("#![no_std]\n#![deny(warnings)]\npub mod demo;\n")
    run("rustc", "--crate-type=rlib", "--emit=metadata", "-L", saved, "user.rs", folder=tmp_path)
    if shutil.which("rustfmt"):
        run("rustfmt", "--check", "--edition=2021", "demo.rs", folder=tmp_path)


# ---- Python without cotangent --------------------------------------------------------------------------------------------


def module(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


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
    cffi = pytest.importorskip("cffi")
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
    numba = pytest.importorskip("numba")
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


@pytest.mark.skipif(not shutil.which("julia"), reason="needs julia")
def test_julia(saved: Path, expected: list[float], tmp_path: Path) -> None:
    (tmp_path / "main.jl").write_text(JULIA)
    numbers, error = run("julia", "--startup-file=no", tmp_path / "main.jl", saved).splitlines()
    same(numbers, expected)
    assert error == "predict: a length is negative or above its bound"


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


# ---- All -----------------------------------------------------------------------------------------------------------------


CPP_STOPPED = """\
#include "spin.hpp"
int main() {
  const volatile int stop = 1;
  spin_library::Workspace<spin_library::workspace_bytes> workspace;
  try {
    spin_library::spin(1e18, workspace, &stop);
  } catch (const spin_library::Error& error) {
    return error.status() == CT_STOPPED ? 0 : 1;
  }
  return 2;
}
"""
RUST_STOPPED = """\
mod spin;
fn main() {
    let stop = std::sync::atomic::AtomicI32::new(1);
    let mut workspace = spin::Workspace::<{ spin::WORKSPACE }>::new();
    assert_eq!(spin::spin(1e18, &mut workspace, Some(&stop)), Err(spin::Error::STOPPED));
    assert_eq!(spin::spin(3.0, &mut workspace, None), Ok(3.0));
}
"""


def test_calls_that_are_stopped(tmp_path: Path) -> None:
    made = ct.export.compile(
        lambda n: ct.lax.while_loop(lambda x: x < n, lambda x: x + 1, 0.0 * n), np.float64(1), name="spin"
    )
    made.save(tmp_path, files=ALL)
    if COMPILERS:
        (tmp_path / "main.cc").write_text(CPP_STOPPED)
        run(COMPILERS[0], "-std=c++17", *STRICT, "main.cc", "libspin.a", "-o", "main", folder=tmp_path)
        run(tmp_path / "main")
    if shutil.which("rustc"):
        (tmp_path / "main.rs").write_text(RUST_STOPPED)
        run("rustc", "-L.", "main.rs", "-o", "main_of_rust", folder=tmp_path)
        run(tmp_path / "main_of_rust")
    assert module(tmp_path / "spin.py", "spin").spin(5) == 5


_ODD = "self type lambda fn View Error workspace stop np check bytes Run end core result"


def test_names_that_languages_use(tmp_path: Path) -> None:
    """Keywords, and names of the files themselves: they compile, and compute what they should."""
    x = cnp.zeros(2)
    names = _ODD.split()

    def f(tree: Any, **named: Any) -> Any:
        return {"match": sum(named.values()), "tree": {name: leaf + 1 for name, leaf in tree.items()}}

    made = ct.export.function(f, dict.fromkeys(names, x), **dict.fromkeys(names, x), donate="tree")
    functions = dict.fromkeys(("new", "match", "check_", "Model", "Error", "f", "import", "step"), made)
    ct.export.library("odd", functions).save(tmp_path, files=ALL)
    odd = module(tmp_path / "odd.py", "odd")
    tree = odd.zeros(odd.Tree)
    assert tree.dtype.names is not None and len(tree.dtype.names) == len(names)
    found = odd.f(tree, *[np.full(2, 2, np.float32)] * len(names))
    assert found.tolist() == [2.0 * len(names)] * 2 and all(tree[name].tolist() == [1, 1] for name in tree.dtype.names)
    if COMPILERS:
        (tmp_path / "main.cc").write_text(
            '#include "odd.hpp"\nint main() { odd::Model m; return m.tree().fn[0] != 0; }\n'
        )
        run(
            COMPILERS[0],
            "-std=c++17",
            *STRICT,
            "-Wno-float-equal",
            "main.cc",
            "libodd.a",
            "-o",
            "main",
            folder=tmp_path,
        )
        run(tmp_path / "main")
    if shutil.which("rustc"):
        (tmp_path / "main.rs").write_text("#![deny(warnings)]\nmod odd;\nfn main() { odd::check().unwrap() }\n")
        run("rustc", "-L.", "main.rs", "-o", "main_of_rust", folder=tmp_path)
        run(tmp_path / "main_of_rust")


def test_one_function_of_the_librarys_name(tmp_path: Path) -> None:
    """No structures, no workspace, no state: what is not needed is not there."""
    ct.export.compile(lambda x: (x > 0).all(), np.ones(3, np.float32), name="positive").save(tmp_path, files=ALL)
    assert "Workspace" not in (tmp_path / "positive.hpp").read_text() + (tmp_path / "positive.rs").read_text()
    assert bool(module(tmp_path / "positive.py", "positive").positive([1, 2, 3]))
    if COMPILERS:
        main = '#include "positive.hpp"\nint main() { const float x[3] = {1, 2, 3}; return positive_library::positive(x) ? 0 : 1; }\n'
        (tmp_path / "main.cc").write_text(main)
        run(COMPILERS[0], "-std=c++17", *STRICT, "main.cc", "libpositive.a", "-o", "main", folder=tmp_path)
        run(tmp_path / "main")
    if shutil.which("rustc"):
        main = "mod positive;\nfn main() { assert!(positive::positive(&[1.0, 2.0, 3.0]).unwrap()) }\n"
        (tmp_path / "main.rs").write_text(main)
        run("rustc", "-L.", "main.rs", "-o", "main_of_rust", folder=tmp_path)
        run(tmp_path / "main_of_rust")


def test_for_other_targets() -> None:
    made = ct.export.compile(lambda x: x, cnp.ones(3), name="demo")
    with pytest.raises(
        ValueError, match=r"there is no file 'py' for cortex-m7; there are h, c, a, ctir, cmake, pc, hpp, rs$"
    ):
        made.save("nowhere", target="cortex-m7", files=("h", "py"))
