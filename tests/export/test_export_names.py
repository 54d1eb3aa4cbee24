"""Names of arguments, results and functions that meet each other, or what generated files call their own; and arguments that are none."""

from __future__ import annotations

import importlib.util
import json
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import Library, empty_results
from needs import has, needs, program_of, require

X = np.arange(1, 4, dtype=np.float32)
Y = np.full(3, 2, np.float32)


def saved(f: Any, *arguments: Any, directory: Path, **options: Any) -> Any:
    ct.export.compile(f, *arguments, name="step", **options).save(directory)
    return ct.export.load(directory, native=True).step


def names(exported: Any) -> list[str]:
    return [parameter["name"] for parameter in json.loads(exported.describe())["functions"][0]["parameters"]]


def module(folder: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"{name}_{folder.name}", folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


# ---- Arguments and results ------------------------------------------------------------------------------------------


def test_results_whose_names_differ_by_an_underscore(tmp_path: Path) -> None:
    def f(w: Any, v: Any) -> Any:
        return {"_w": w + 1, "w": w * v, "": v, "out0": v + 5}

    captured = ct.export.function(f, X, Y, donate="w")
    assert [part.name for part in captured.results] == ["out0_2", "w_2", "out0", "w"]
    assert captured.pairs == [-1, -1, -1, 0]
    ct.export.compile(f, X, Y, donate="w", name="step").save(tmp_path, files=("py", "so"))
    w = X.copy()
    got = module(tmp_path, "step").step(w, Y)
    np.testing.assert_array_equal(got.w_2, X + 1)
    np.testing.assert_array_equal(got.out0_2, Y)
    np.testing.assert_array_equal(w, X * 2)


def test_positional_arguments_without_names_beside_keywords(tmp_path: Path) -> None:
    def f(*given: Any, arg0: Any, scale: Any) -> Any:
        return {"arg0": given[0] * scale + arg0 * given[1]}

    assert ct.export.function(f, X, Y, arg0=Y, scale=3.0, donate="arg0").pairs == [2]
    loaded = saved(f, X, Y, directory=tmp_path, arg0=Y, scale=3.0)
    np.testing.assert_array_equal(loaded(X, Y, arg0=X, scale=2.0)["arg0"], X * 4)

    def g(arg1: Any, *given: Any) -> Any:
        return arg1 - given[0]

    np.testing.assert_array_equal(saved(g, X, Y, directory=tmp_path)(X, Y), X - Y)


def test_batches_of_functions_per_example_are_called_as_the_examples_are() -> None:
    def loss(w: Any, x: Any, label: Any, scale: Any = 1.0) -> Any:
        return ((x @ w - label) ** 2).sum() * scale

    w, x, labels = np.ones(3, np.float32), np.ones((5, 3), np.float32), np.ones(5, np.float32)

    def names(fun: Any, *arguments: Any, **by_name: Any) -> list[str]:
        return [part.name for part in ct.export.function(fun, *arguments, **by_name).arguments]

    assert names(ct.per_example.norms(loss), w, x, labels) == ["params", "x", "label"]
    assert names(ct.jit(ct.per_example.clipped_sum(loss, 1.0)), w, x, labels) == ["params", "x", "label"]
    assert names(ct.per_example.weighted_sum(loss), labels, w, x, labels) == ["weights", "params", "x", "label"]
    assert names(ct.per_example.norms(loss), w, x, label=labels) == ["params", "x", "label"]
    assert names(ct.per_example.norms(lambda w, *example: loss(w, *example)), w, x, labels) == [
        "params",
        "arg1",
        "arg2",
    ]
    product = ct.per_example.gauss_newton_vector_product(lambda w, x: x @ w, lambda y, t: (y - t) ** 2)
    assert names(product, w, w, x, labels) == ["vector", "params", "inputs", "arg3"]


def test_an_argument_called_self(tmp_path: Path) -> None:
    ct.export.compile(lambda self: self * 2, X, name="step").save(tmp_path)
    loaded = ct.export.load(tmp_path)
    np.testing.assert_array_equal(loaded(self=X), X * 2)
    np.testing.assert_array_equal(loaded.step(self=X), X * 2)


# ---- Generated files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word",
    ["status", "ranges", "workspace", "pairs", "temporary12", "ct_check_run", "STEP_SIGNATURE", "step_program_1"],
)
def test_c_source_with_arguments_called_like_its_own(word: str, tmp_path: Path) -> None:
    require("gcc|clang")
    compiler = str(program_of("gcc", "clang"))
    scope: dict[str, Any] = {"cnp": cnp}
    exec(f"def f({word}, i): return cnp.cumsum(cnp.sort({word} @ i), axis=0), {word} + i", scope)
    a = np.ones((3, 3), np.float32)
    exported = ct.export.compile(scope["f"], a, a, name="step", target="x86-64-v2")
    folder = exported.save(tmp_path, files=("h", "c"))
    line = [compiler, "-std=c11", "-march=x86-64-v2", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "step.c"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_c_source_of_lengths_beside_an_argument_called_i(tmp_path: Path) -> None:
    rows = ct.ragged([[1.0, 2.0], [3.0]])
    exported = ct.export.compile(lambda i: ct.vmap(ct.mask(cnp.sum))(i), rows, name="step")
    text = exported.c_source(target="x86-64-v2")
    assert "(&i->n[0])[i_2] < 0" in text


def test_python_module_of_keys_that_are_numbers(tmp_path: Path) -> None:
    library = ct.export.library(
        "keyed",
        {"1": ct.export.function(lambda x: {1: x, 2: x + 1}, X), "f": ct.export.function(lambda x: x, {(1, 2): X})},
    )
    library.save(tmp_path, files=("py", "so"))
    made = getattr(module(tmp_path, "keyed"), "_1")(X)
    np.testing.assert_array_equal(made.out_1, X)
    np.testing.assert_array_equal(made.out_2, X + 1)


def test_other_languages_have_names_for_numbers_and_letters(tmp_path: Path) -> None:
    f = ct.export.function(lambda μ, é: {"数": μ + é}, X, Y)
    ct.export.library("named", {"1": f}).save(tmp_path, files=("rs", "jl"))
    assert "\nfunction _1(" in (tmp_path / "named.jl").read_text()
    rust = (tmp_path / "named.rs").read_text()
    assert "pub fn _1(" in rust
    assert "mu: &[f32; 3]" in rust
    if has("rustc"):
        line = ["rustc", "--edition", "2021", "--crate-type", "lib", "--emit", "metadata", "named.rs"]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_words_that_are_names_in_c_keep_them() -> None:
    keyed = {"a b": X, "a-b": X, "a_b": X}
    exported = ct.export.compile(lambda p: {"y-z": p["a b"], "y_z": p["a_b"]}, keyed, name="step")
    described = json.loads(exported.describe())
    assert [member["name"] for member in described["structures"][0]["members"]] == ["a_b_2", "a_b_3", "a_b"]
    assert names(exported) == ["p", "y_z_2", "y_z"]


def test_letters_beyond_ascii() -> None:
    exported = ct.export.compile(lambda μ, Σ, größe, 数: μ * Σ + größe + 数, X, X, X, X, name="step")
    assert names(exported)[:4] == ["mu", "Sigma", "gro_e", "x3"]


def test_comments_show_characters_that_turn_the_line() -> None:
    exported = ct.export.compile(lambda x: x["a\u202eb\0"], {"a\u202eb\0": X}, name="step", results="r\u202es")
    header = exported.header()
    assert "r\\u202es" in header
    assert "\u202e" not in header + exported.c_source()
    assert "\0" not in header


def test_names_that_the_library_has_already() -> None:
    f = ct.export.function(lambda x: x, X)
    for other in ("f_entry_0", "f_program", "f_program_12"):
        with pytest.raises(ValueError, match=f"'{other}' would define nf_{other}"):
            ct.export.library("nf", {"f": f, other: f})
    program = ct.export.compile(lambda program: program, {"w": X}, name="program")
    assert "} program_program;" not in program.header()


# ---- Arguments of the functions of export ---------------------------------------------------------------------------


def test_what_is_no_function_of_a_library() -> None:
    f = ct.export.function(lambda x: x, X)
    with pytest.raises(TypeError, match="got a function"):
        ct.export.library("model", {"f": lambda x: x})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="the name of a function must be a string; got 1"):
        ct.export.library("model", {1: f})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="functions must be a dict"):
        ct.export.library("model", [f])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"target='cuda:sm_90' is one for GPUs"):
        ct.export.library("model", {"f": f}, target="cuda:sm_90")
    with pytest.raises(TypeError, match="donate takes names of arguments; got 0"):
        ct.export.function(lambda x: x, X, donate=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(("target", "count"), [("wasm32", 1 << 40), ("armv7", 1 << 29), ("cortex-m4f", 1 << 29)])
def test_arrays_that_a_target_cannot_address(target: str, count: int) -> None:
    exported = ct.export.compile(lambda x: x * 2, ct.ShapeDtypeStruct((count,), "float32"), name="big", target=target)
    with pytest.raises(ValueError, match=rf"big for {target}: x takes {4 * count} bytes"):
        exported.header()


# ---- Loading --------------------------------------------------------------------------------------------------------


def test_classes_of_cotangent_are_imported(tmp_path: Path) -> None:
    ct.export.compile(cnp.linalg.eigh, np.eye(2, dtype=np.float32), name="step").save(tmp_path)
    program = (
        "import sys, numpy, cotangent\n"
        f"values = cotangent.export.load({str(tmp_path)!r})(2 * numpy.eye(2, dtype='float32')).eigenvalues\n"
        "assert values.tolist() == [2, 2]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_changed_byte_is_found(tmp_path: Path) -> None:
    ct.export.compile(lambda x: x * 2, X, name="step").save(tmp_path / "whole")
    data = (tmp_path / "whole" / "step.ctir").read_bytes()
    file = tmp_path / "changed.ctir"
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(ct.errors.CorruptFileError):
            ct.export.load(file)


def test_files_without_programs_say_what_to_load(tmp_path: Path) -> None:
    ct.export.compile(lambda x: x * 2, X, name="step").save(tmp_path)
    with pytest.raises(
        ValueError, match=r"libstep\.so has no programs in it\n  give the folder of the library, or its file step\.ctir"
    ):
        ct.export.load(tmp_path / "libstep.so")
    (tmp_path / "libstep.so").unlink()
    with pytest.raises(
        ValueError, match=r"there is no libstep\.so beside .*step\.ctir, whose code could be run; it was saved for"
    ):
        ct.export.load(tmp_path, native=True)


@pytest.mark.parametrize("native", [True, False])
def test_loaded_functions_are_pickled_by_their_file(native: bool, tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x * 2, X, name="step")
    made.save(tmp_path)
    loaded = ct.export.load(tmp_path, native=native)
    again = pickle.loads(pickle.dumps(loaded))
    assert again.native is native and again(X).tolist() == [2, 4, 6]
    assert dir(again).count("step") == 1
    with pytest.raises(TypeError, match="cannot be pickled\n  save it, and load the folder elsewhere"):
        pickle.dumps(made)


def test_a_private_batch_with_its_check(tmp_path: Path) -> None:
    """Checks are calls of the host; `checkify` makes a result of them."""
    draw = ct.checkify.checkify(
        lambda key, probability: ct.per_example.poisson_batch(key, size=1000, probability=probability, bound=150)
    )
    made = ct.export.compile(draw, ct.random.key(0), np.float32(0.1), name="draw")
    made.save(tmp_path)
    library, key = Library(tmp_path, "draw"), np.array(3, np.uint64)
    expected = ct.per_example.poisson_batch(ct.random.key(3), size=1000, probability=np.float32(0.1), bound=150)
    results = empty_results(made.functions["draw"])
    assert library.call([key, np.array(0.1, np.float32)], results) == 0
    code, rows, present = results[0], *results[-2:]
    assert code == 0 and rows.tolist() == expected[0].tolist() and present.tolist() == expected[1].tolist()
    assert library.call([key, np.array(0.9, np.float32)], results) == 0
    assert results[0] != 0


def test_static_arguments_are_inside_of_the_program(tmp_path: Path) -> None:
    """By position or name, as `jit` was told; the C function has the others."""

    @partial(ct.jit, static_argnames=("power", "mode"))
    def f(x: Any, power: int, y: Any, mode: str = "scale") -> Any:
        return x**power * y if mode == "scale" else x**power + y

    made = ct.export.compile(f, X, 3, Y, name="step")
    assert names(made) == ["x", "y", "out"]
    made = ct.export.compile(f, X, y=Y, power=2, mode="shift", name="step")
    assert names(made) == ["x", "y", "out"]
    made.save(tmp_path)
    assert ct.export.load(tmp_path).step(X, y=Y).tolist() == (X**2 + Y).tolist()
    with pytest.raises(ValueError, match="static arguments must be hashable; got a list"):
        ct.export.compile(f, X, [3], Y, name="step")


def test_members_say_what_python_calls_them() -> None:
    params = {"a-b": X, "class": {"int": np.int8(1), "w": Y}, "plain": Y}
    header = ct.export.compile(lambda p: p["a-b"] + p["class"]["w"], params, name="step").header()
    assert "  float a_b[3]; /* ['a-b'] */" in header
    assert "  step_p_class_ class_; /* ['class'] */\n" in header
    assert "  int8_t int_; /* ['int']: int8[] */" in header
    assert "  float plain[3];\n" in header


@pytest.mark.parametrize("name", ["ct", "CT", "ct_tanh_f32", "stdint", "string", "m"])
def test_libraries_in_the_place_of_others(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' cannot name a library: "):
        ct.export.compile(lambda x: x, X, name=name)


def test_functions_whose_macros_are_one() -> None:
    function = ct.export.function(lambda x: x * 2, X)
    with pytest.raises(
        ValueError, match=r"'F' would define the macro L_F_WORKSPACE, which 'f' has: macros are in capitals"
    ):
        ct.export.library("l", {"f": function, "F": function})


@pytest.mark.parametrize("name", ["None", "import", "match"])
def test_python_modules_of_libraries_that_are_keywords(name: str, tmp_path: Path) -> None:
    ct.export.compile(lambda x: x * 2, X, name=name).save(tmp_path, files=("py", "so", "h"))
    made = module(tmp_path, name)
    (function,) = [value for key, value in vars(made).items() if key in (name, f"{name}_")]
    assert function(X).tolist() == [2, 4, 6]


@needs("rustc")
@pytest.mark.parametrize("name", ["self", "fn", "impl", "crate", "type"])
def test_rust_modules_of_libraries_that_are_keywords(name: str, tmp_path: Path) -> None:
    ct.export.compile(lambda x: x * 2, X, name=name).save(tmp_path, files=("rs", "a"))
    compile_rust(tmp_path, name)


@needs("rustc")
def test_rust_functions_that_the_prelude_has(tmp_path: Path) -> None:
    function = ct.export.function(lambda x: x.sum(), X)
    ct.export.library("l", {"Ok": function, "Err": function, "None": function}).save(tmp_path, files=("rs", "a"))
    compile_rust(tmp_path, "l")


def compile_rust(folder: Path, name: str) -> None:
    (folder / f"{name}.rs").rename(folder / "module.rs")
    (folder / "main.rs").write_text("mod module;\nfn main() { module::check().unwrap(); }\n")
    done = subprocess.run(
        ["rustc", "-D", "warnings", "-L", ".", "main.rs", "-o", "main"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[:2000]
    subprocess.run([str(folder / "main")], check=True)


def test_no_name_has_two_underscores(tmp_path: Path) -> None:
    def double(double: Any, double_: Any) -> Any:
        return double + double_

    header = ct.export.compile(double, X, Y, name="double_it").header()
    assert "double__" not in header
