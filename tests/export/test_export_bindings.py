"""Files of exported libraries for C++ and Rust: they compute what Python does, and their errors are those of their language."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_bindings import ALL, library, module, results, run, same
from needs import has, needs
from places import ROOT

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
COMPILERS = [name for name in ("g++", "clang++", "clang++-22") if has(name)]
needs_rust = needs("rustc")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library().save(tmp_path_factory.mktemp("demo"), files=ALL)


@pytest.fixture(scope="module")
def expected(saved: Path) -> list[float]:
    return results(saved)


def run_cpp(program: str, library: str, folder: Path) -> None:
    (folder / "main.cc").write_text(program)
    run(COMPILERS[0], "-std=c++17", *STRICT, "main.cc", library, "-o", "main", folder=folder)
    run(folder / "main")


def run_rust(program: str, folder: Path) -> None:
    (folder / "main.rs").write_text(program)
    run("rustc", "-L.", "main.rs", "-o", "main_of_rust", folder=folder)
    run(folder / "main_of_rust")


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


@needs("g++|clang++|clang++-22")
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


@needs("g++|clang++|clang++-22", "valgrind")
def test_cpp_with_valgrind(saved: Path, expected: list[float], tmp_path: Path) -> None:
    (tmp_path / "main.cc").write_text(CPP)
    made = library().save(tmp_path, target="x86-64-v2", files=("h", "hpp", "a"))
    run(COMPILERS[0], "-std=c++17", "-g", "main.cc", made / "libdemo.a", "-o", "main", folder=tmp_path)
    printed = run("valgrind", "-q", "--error-exitcode=9", "--leak-check=full", tmp_path / "main")
    found = np.array(printed.splitlines()[0].split(), np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@needs("g++|clang++|clang++-22")
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

static STATE: std::sync::Mutex<demo::State> = std::sync::Mutex::new(demo::State::zeroed());

fn main() -> Result<(), Box<dyn std::error::Error>> {
    demo::check()?;
    let mut state = STATE.lock()?;
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
    if has("rustfmt"):
        run("rustfmt", "--check", "--edition=2021", "demo.rs", folder=tmp_path)


# ---- All -----------------------------------------------------------------------------------------------------------------


CPP_STOPPED = """\
#include "spin.hpp"
int main() {
  const volatile int stop = 1;
  try {
    spin_library::spin(1e18, &stop);
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
    assert_eq!(spin::spin(1e18, Some(&stop)), Err(spin::Error::STOPPED));
    assert_eq!(spin::spin(3.0, None), Ok(3.0));
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
    if has("rustc"):
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
    if has("rustc"):
        (tmp_path / "main.rs").write_text("#![deny(warnings)]\nmod odd;\nfn main() { odd::check().unwrap() }\n")
        run("rustc", "-L.", "main.rs", "-o", "main_of_rust", folder=tmp_path)
        run(tmp_path / "main_of_rust")


KINDS = """\
#include "kinds.hpp"
int main() {
  kinds::Model model = kinds::Model::reset();
  model.count() = 5;
  const float empty = 0;
  const std::uint16_t brain[3] = {0x3f80, 0, 0};  // 1 as a bfloat16
  std::uint16_t twice[3];
  std::uint64_t big;
  kinds::Pair given{};
  given._0[1] = 4;
  given._1 = 7;
  kinds::Nested2 nested;
  model.f(kinds::View<const float, 0, 4>(&empty), brain, std::uint64_t{1} << 63, given, big, twice, nested);
  std::int32_t made[3];
  kinds::make(made);
  kinds::nothing();
  const bool same = twice[0] == 0x4000 && big == (std::uint64_t{1} << 63) + 1 && model.rows()[2].w[3][15] > 1.5f &&
                    model.arrays()[4][1] > 1.5f && model.z() == std::complex<float>(0, 1) && model.count() == 6 &&
                    nested._0.a[1] > 3.5f && nested._1 == 7 && made[2] == 2 && model.read() > 389.5f;
  model.just();
  return same && model.count() == 7 ? 0 : 1;
}
"""


def test_parameters_of_every_kind(tmp_path: Path) -> None:
    """Rows of structures and of arrays, what is empty, bits of bfloat16, numbers in place, and functions without arguments or results."""
    rows = [{"w": np.ones((4, 16), np.float32), "b": np.zeros(16, np.float32)}] * 3
    arrays, pair = [np.ones(2, np.float32)] * 5, (np.ones(2, np.float32), np.int16(3))

    def f(rows: Any, arrays: Any, empty: Any, none: Any, brain: Any, z: Any, big: Any, pair: Any, count: Any) -> Any:
        new = {"rows": ct.tree.map(lambda x: x * 2, rows), "arrays": [a + 1 for a in arrays], "count": count + 1}
        return {**new, "brain": brain * 2, "z": z * 1j, "big": big + 1, "nested": ({"a": pair[0]}, pair[1])}

    brain = cnp.zeros(3, cnp.bfloat16)
    arguments = (
        rows,
        arrays,
        np.zeros((0, 4), np.float32),
        None,
        brain,
        np.complex64(1),
        np.uint64(1),
        pair,
        np.int32(1),
    )
    results = ("rows", "arrays", "count", "z")
    functions = {
        "f": ct.export.function(f, *arguments, donate=results),
        "nothing": ct.export.function(dict),
        "make": ct.export.function(lambda: cnp.arange(3)),
        "read": ct.export.function(lambda rows, count: rows[0]["w"].sum() * 3 + count, rows, np.int32(0)),
        "reset": ct.export.function(lambda: (rows, arrays, cnp.int32(0), cnp.complex64(1)), results=results),
        "just": ct.export.function(lambda: cnp.int32(7), results="count"),
    }
    ct.export.library("kinds", functions).save(tmp_path, files=ALL)
    kinds = module(tmp_path / "kinds.py", "kinds")
    assert kinds.nothing() is None and kinds.just() == 7 and kinds.make().tolist() == [0, 1, 2]
    state = kinds.reset()
    z, count = np.ones((), np.complex64), np.zeros((), np.int32)
    out = kinds.f(
        state.rows,
        state.arrays,
        np.zeros((0, 4), np.float32),
        [0x3F80, 0, 0],
        z,
        2**63,
        np.zeros((), kinds.Pair),
        count,
    )
    assert out.big == 2**63 + 1 and out.brain.tolist() == [0x4000, 0, 0] and out._fields == ("big", "brain", "nested")
    assert (state.rows["w"] == 2).all() and (state.arrays == 2).all() and z == 1j and count == 1
    if COMPILERS:
        run_cpp(KINDS, "libkinds.a", tmp_path)
    if has("rustc"):
        text = "#![deny(warnings)]\nmod kinds;\nfn main() { kinds::nothing().unwrap(); assert_eq!(kinds::just(), Ok(7)); }\n"
        run_rust(text, tmp_path)
        if has("rustfmt"):
            run("rustfmt", "--check", "--edition=2021", "kinds.rs", folder=tmp_path)


@needs("g++|clang++|clang++-22")
def test_a_model_and_what_is_made_of_it(tmp_path: Path) -> None:
    """A function that does not update the state in place reads the model's, and writes another one."""
    state = {"x": np.ones(20, np.float32)}

    def double(state: Any) -> Any:
        return {"state": {"x": state["x"] * 2}}

    functions = {
        "double": ct.export.function(double, state, donate="state"),
        "twice": ct.export.function(double, state),
    }
    ct.export.library("pair", functions).save(tmp_path, files=("h", "hpp", "a"))
    main = """\
#include "pair.hpp"
int main() {
  pair::Model model;
  model.state().x[19] = 3;
  model.double_();
  pair::State other;
  const pair::Model& constant = model;
  constant.twice(other);
  return constant.state().x[19] > 5.5f && constant.state().x[19] < 6.5f && other.x[19] > 11.5f ? 0 : 1;
}
"""
    (tmp_path / "main.cc").write_text(main)
    run(COMPILERS[0], "-std=c++17", *STRICT, "main.cc", "libpair.a", "-o", "main", folder=tmp_path)
    run(tmp_path / "main")


def test_one_function_of_the_librarys_name(tmp_path: Path) -> None:
    """No structures, no workspace, no state: what is not needed is not there."""
    ct.export.compile(lambda x: (x > 0).all(), np.ones(3, np.float32), name="positive").save(tmp_path, files=ALL)
    assert "Workspace" not in (tmp_path / "positive.hpp").read_text() + (tmp_path / "positive.rs").read_text()
    assert bool(module(tmp_path / "positive.py", "positive").positive([1, 2, 3]))
    if COMPILERS:
        main = '#include "positive.hpp"\nint main() { const float x[3] = {1, 2, 3}; return positive_library::positive(x) ? 0 : 1; }\n'
        run_cpp(main, "libpositive.a", tmp_path)
    if has("rustc"):
        main = "mod positive;\nfn main() { assert!(positive::positive(&[1.0, 2.0, 3.0]).unwrap()) }\n"
        run_rust(main, tmp_path)


def test_the_snippets_of_the_docs(tmp_path: Path) -> None:
    """Those in C++ and Rust; the ones in Python run with the page."""
    page = (ROOT / "docs" / "export.md").read_text()
    cpp, rust = (
        re.search(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1] for language in ("cpp", "rust")
    )
    params = {"w": np.ones((4, 3), np.float32), "b": np.zeros(3, np.float32)}
    x, y = np.ones((8, 4), np.float32), np.zeros((8, 3), np.float32)

    def predict(params: Any, x: Any) -> Any:
        return cnp.tanh(x @ params["w"] + params["b"])

    def step(params: Any, x: Any, y: Any, rate: Any) -> Any:
        value, gradient = ct.value_and_grad(lambda params: cnp.mean((predict(params, x) - y) ** 2))(params)
        return {"params": ct.tree.map(lambda p, g: p - rate * g, params, gradient), "loss": value}

    functions = {
        "step": ct.export.function(step, params, x, y, 0.1, donate="params"),
        "predict": ct.export.function(predict, params, x, results="y"),
    }
    ct.export.library("model", functions).save(tmp_path, files=ALL)
    if COMPILERS:
        (tmp_path / "snippet.cc").write_text(f"#include <vector>\n{cpp}")
        run(COMPILERS[0], "-std=c++17", "-fsyntax-only", *STRICT, "snippet.cc", folder=tmp_path)
    if has("rustc"):
        main = f"mod model;\nfn main() -> Result<(), model::Error> {{\n{rust}assert!(loss == 0.0);\nOk(())\n}}\n"
        (tmp_path / "main.rs").write_text(main)
        run("rustc", "-L.", "main.rs", "-o", "main", folder=tmp_path)
        run(tmp_path / "main")


def test_for_other_targets() -> None:
    made = ct.export.compile(lambda x: x, cnp.ones(3), name="demo")
    with pytest.raises(
        ValueError,
        match=r"there is no file 'py' for cortex-m7\n  those that there are: h, c, a, ctir, cmake, pc, hpp, rs$",
    ):
        made.save("nowhere", target="cortex-m7", files=("h", "py"))
