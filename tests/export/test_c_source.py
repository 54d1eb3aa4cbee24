"""C source of exported programs: equal bits with the machine code, by every compiler, and text that people can read."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import STRICT, Library, compile_source, empty_results, leaves_of
from exported_machines import Program, export, lacks, run
from exported_programs import models, recorded
from needs import has, needs, require
from test_export_machines import bits, possible

COMPILERS = [c for c in ("gcc", "clang-22", "clang-19", "clang-14") if has(c)]
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


@cache
def lacks_level(level: str) -> bool:
    """Whether this processor does not run code for the level."""
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
    wanted = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512bw"}[level]
    return wanted not in flags.split()


def called(made: ct.export.Exported, folder: Path, programs: Sequence[Program]) -> list[list[np.ndarray]]:
    """What each function of the library in a folder computes."""
    library = Library(folder, "programs")
    results = []
    for (name, function), (_, arguments) in zip(made.functions.items(), programs, strict=True):
        outputs = empty_results(function)
        assert library.call(leaves_of(arguments), outputs, name) == 0
        results.append(outputs)
    return results


def compare_bits(names: Sequence[str], found: list[list[np.ndarray]], wanted: list[list[np.ndarray]]) -> None:
    different = [
        name
        for name, mine, theirs in zip(names, found, wanted, strict=True)
        if [bits(a) for a in mine] != [bits(b) for b in theirs]
    ]
    assert different == []


def check(programs: dict[str, Program], compiler: str, level: str, folder: Path) -> None:
    if lacks_level(level):
        pytest.skip(f"this processor has no {level}")
    made = export(list(programs.values()), level)
    made.save(folder, files=("h", "c", "so"))
    wanted = called(made, folder, list(programs.values()))
    compile_source(folder, "programs", compiler, f"-march={level}")
    compare_bits(list(programs), called(made, folder, list(programs.values())), wanted)


@needs("gcc")
@pytest.mark.parametrize("option", ["-ffast-math", "-Ofast", "-ffinite-math-only"])
def test_fast_math_is_an_error(option: str, tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: ct.lax.cummax(x), ct.ShapeDtypeStruct((4,), "float32"), name="step")
    made.save(tmp_path, target="x86-64-v2", files=("h", "c"))
    done = subprocess.run(
        ["gcc", option, "-march=x86-64-v2", "-c", "step.c", "-o", "step.o"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "compile without -ffast-math" in done.stderr


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_equal_bits(compiler: str, level: str, tmp_path: Path, long_run: bool) -> None:
    if not long_run and (compiler, level) not in (("gcc", "x86-64-v3"), (COMPILERS[-1], "x86-64-v2")):
        pytest.skip("all levels by all compilers: with --long")
    check(models(), compiler, level, tmp_path)


@pytest.mark.parametrize("level", LEVELS)
def test_equal_bits_of_operations(level: str, tmp_path: Path, long_run: bool) -> None:
    require("gcc|clang-22|clang-19|clang-14")
    if not long_run and level != "x86-64-v3":
        pytest.skip("all levels: with --long")
    programs = {
        name: program
        for index, (name, program) in enumerate(recorded().items())
        if (long_run or index % 9 == 0) and can_be_exported(program)
    }
    check(programs, COMPILERS[0], level, tmp_path)


@needs("gcc")
def test_equal_bits_without_optimisation(tmp_path: Path) -> None:
    """What GCC is told in the source has it optimise nothing then, so that a debugger is of use."""
    if lacks_level("x86-64-v3"):
        pytest.skip("this processor has no x86-64-v3")
    programs = {name: program for index, (name, program) in enumerate(models().items()) if index % 3 == 0}
    made = export(list(programs.values()), "x86-64-v3")
    made.save(tmp_path, files=("h", "c", "so"))
    wanted = called(made, tmp_path, list(programs.values()))
    compile_source(tmp_path, "programs", "gcc", "-march=x86-64-v3", "-O0")
    compare_bits(list(programs), called(made, tmp_path, list(programs.values())), wanted)
    text = (tmp_path / "programs.c").read_text()
    assert text.index("#ifdef __OPTIMIZE__\n#pragma GCC optimize") > 0


def interrupted(seed: Any) -> Any:
    """Functions of real numbers whose statements are apart, with what writes to memory between them."""
    keys = ct.random.split(ct.random.key(seed), 12)
    return ct.random.ball(keys[7], 3), ct.random.exponential(keys[10], (3,)), ct.random.bits(keys[11], (5,))


def bools(a: Any, b: Any, c: Any, d: Any) -> Any:
    return ~c | (d & c), ~(a > 1) | ((b >= a) & c), ~(~(a > b) ^ d), (a > b) == c, ~c == d


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_written_where_it_is_used_is_evaluated_once(compiler: str, tmp_path: Path) -> None:
    true = np.bool_(True)
    programs = {f"interrupted {seed}": (interrupted, (np.int32(seed),)) for seed in (0, 2, 11)}
    programs["bools"] = (bools, (np.float32(1), np.float32(2), true, ~true))
    programs["arrays of bools"] = (
        bools,
        (np.float32([1, 2, np.nan]), np.float32(2), np.array([True, False, True]), true),
    )
    check(programs, compiler, "x86-64-v2", tmp_path)


@needs("gcc")
def test_nothing_is_unused(tmp_path: Path) -> None:
    """In loops until no element is left, whether bools are NaN was asked."""
    made = ct.export.compile(ct.lax.igamma, np.ones(3, np.float32), np.ones(3, np.float32), name="igamma")
    made.save(tmp_path, files=("h", "c"))
    compile_source(tmp_path, "igamma")


@pytest.mark.parametrize("compiler", ["g++", "clang++-22"])
def test_source_is_cpp_too(compiler: str, tmp_path: Path) -> None:
    require(compiler)
    export(list(models().values()), "x86-64-v3").save(tmp_path, files=("h", "c"))
    command = [compiler, "-x", "c++", "-std=c++17", "-march=x86-64-v3", *STRICT, "-fsyntax-only", "programs.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


def can_be_exported(program: Program) -> bool:
    try:
        ct.export.compile(program[0], *program[1], name="f").describe()
    except (NotImplementedError, ct.errors.CotangentError):
        return False
    return True


@pytest.mark.parametrize(
    "target", ["aarch64", "riscv64", "riscv64-v", "armv7", "cortex-m4f", "cortex-m7", "cortex-m33"]
)
def test_equal_bits_on_machines(target: str, tmp_path: Path, long_run: bool) -> None:
    if (why := lacks(target)) is not None:
        pytest.skip(why)
    if not long_run and target not in ("aarch64", "cortex-m4f"):
        pytest.skip("all machines: with --long")
    programs = possible("models", target)
    if not long_run:
        names = ("training", "reductions", "random", "cholesky", "fourier", "functions", "masked mean", "float16")
        programs = {name: programs[name] for name in names}
    wanted = run(list(programs.values()), tmp_path / "library", target)
    found = run(list(programs.values()), tmp_path / "source", target, source=True)
    compare_bits(list(programs), found, wanted)


def test_portable_source_is_the_same_for_all_targets() -> None:
    x = np.linspace(-1, 1, 100, dtype=np.float32)
    texts = set()
    for target in ("x86-64", "aarch64", "riscv64"):
        made = ct.export.compile(lambda x: cnp.sum(cnp.tanh(x)) * x, x, name="f", numerics="portable")
        text = made.c_source(target=target)
        texts.add(text[text.index("static int f_program(") : text.index("/* What functions find out")])
    assert len(texts) == 1


# ---- text ------------------------------------------------------------------------------------------------------------


def layer(params: Any, x: Any) -> Any:
    return cnp.tanh(x @ params["w"] + params["b"])


PARAMS = {"w": np.ones((4, 8), np.float32), "b": np.zeros(8, np.float32)}


def body(text: str, head: str) -> str:
    """The definition that begins so."""
    start = text.index(head)
    return text[start : text.index("\n}\n", start) + 3]


def test_a_fused_layer_reads_as_it_was_written() -> None:
    text = ct.export.compile(layer, PARAMS, np.ones((8, 4), np.float32), name="layer").c_source(target="x86-64-v3")
    assert text.count("CT_INLINE float ct_tanh_f32(float x) {") == 1
    line = layer.__code__.co_firstlineno + 1
    assert f"test_c_source.py:{line} (layer) */\nstatic void layer_program_" in text
    assert body(text, "static void layer_program_2") == (
        "static void layer_program_2(const float* temporary4, const float* params_b, float* out) {\n"
        "  for (int64_t i = 0; i < 8; ++i) {\n"
        "    CT_INDEPENDENT\n"
        "    for (int64_t j = 0; j < 8; ++j) {\n"
        "      out[8 * i + j] = ct_tanh_f32(temporary4[8 * i + j] + params_b[j]);\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_a_sum_in_lanes_says_its_order() -> None:
    text = ct.export.compile(lambda x: cnp.sum(x), np.ones(100, np.float32), name="f").c_source(target="x86-64-v3")
    sum_of_lanes = body(text, "static void f_program_1")
    assert "ct_f32x8 lanes2[4]" in sum_of_lanes
    assert "for (; i + 32 <= 100; i += 32)" in sum_of_lanes
    assert "sum1 = sum1 + ct_f32x8_fold_add(" in sum_of_lanes


def test_rare_branches_are_asked_for_at_once() -> None:
    text = ct.export.compile(lambda x: cnp.sin(x), np.ones(128, np.float32), name="f").c_source(target="x86-64-v3")
    assert body(text, "CT_INLINE bool ct_sin_f32_is_rare") == (
        "CT_INLINE bool ct_sin_f32_is_rare(float x) {\n"
        "  const double v1 = (double)x;\n"
        "  return !(ct_abs_f64(v1) < 1048576.0);\n"
        "}\n"
    )
    assert "if" not in body(text, "CT_INLINE float ct_sin_f32_usual")
    assert body(text, "static void f_program_1").endswith(
        "  {\n"
        "    int32_t rare1 = 0;\n"
        "    CT_INDEPENDENT\n"
        "    for (int64_t i = 0; i < 128; ++i) {\n"
        "      rare1 = rare1 | ct_sin_f32_is_rare(x[i]);\n"
        "    }\n"
        "    if (rare1 == 0) {\n"
        "      CT_INDEPENDENT\n"
        "      for (int64_t i = 0; i < 128; ++i) {\n"
        "        out[i] = ct_sin_f32_usual(x[i]);\n"
        "      }\n"
        "    } else {\n"
        "      for (int64_t i = 0; i < 128; ++i) {\n"
        "        out[i] = ct_sin_f32(x[i]);\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_columns_are_summed_side_by_side() -> None:
    x = np.ones((10, 64), np.float32)
    text = ct.export.compile(lambda x: cnp.cumsum(x * x, axis=0), x, name="f").c_source(target="x86-64-v3")
    assert body(text, "static void f_program_1").endswith(
        "    for (int64_t j = 0; j < 10; ++j) {\n"
        "      CT_INDEPENDENT\n"
        "      for (int64_t i = 0; i < 64; ++i) {\n"
        "        const float v2 = x[i + 64 * j];\n"
        "        const double v3 = carried1[i] + (double)CT_ROUNDED(v2 * v2);\n"
        "        out[i + 64 * j] = (float)v3;\n"
        "        carried1[i] = v3;\n"
        "      }\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_lines_of_users_are_no_code() -> None:
    x = np.ones(3, np.float32)
    source = "def f(x):\n    return x * 2 + 1\n"
    names: dict[str, Any] = {}
    exec(compile(source, "odd */ name \\\n.py", "exec"), names)
    text = ct.export.compile(names["f"], x, name="f").c_source()
    assert "odd * / name" in text
    assert "*/ name" not in text


def test_names_of_arguments_are_not_taken(tmp_path: Path) -> None:
    """Arguments that are called like what the source declares itself."""

    def f(i: Any, v1: Any, sum1: Any, arena: Any, stop: Any, lane: Any, x: Any, int_: Any, ct_f32x8: Any) -> Any:
        return cnp.sum(cnp.tanh(i + v1 * sum1 - arena) * stop + lane) + x + int_ * ct_f32x8

    arguments = [np.linspace(n, n + 1, 40, dtype=np.float32) for n in range(9)]
    made = ct.export.compile(f, *arguments, name="f")
    made.save(tmp_path, files=("h", "c"))
    require("gcc|clang-22|clang-19|clang-14")
    compile_source(tmp_path, "f", COMPILERS[0])
    outputs = empty_results(made.functions["f"])
    assert Library(tmp_path, "f").call(arguments, outputs) == 0
    np.testing.assert_allclose(outputs[0], f(*map(cnp.asarray, arguments)), rtol=1e-5)


def test_two_writings_are_equal(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 30, dtype=np.float32)
    texts = {ct.export.compile(lambda x: cnp.sort(cnp.sin(x)), x, name="f").c_source() for _ in range(2)}
    assert len(texts) == 1
    assert str(tmp_path) not in texts.pop()


def test_closed_over_arrays_are_in_the_source(tmp_path: Path) -> None:
    table = cnp.asarray(np.linspace(-3, 3, 3000, dtype=np.float32))
    made = ct.export.compile(lambda i: table[i] * 2, np.int32(5), name="f")
    made.save(tmp_path, files=("h", "c"))
    require("gcc|clang-22|clang-19|clang-14")
    compile_source(tmp_path, "f", COMPILERS[0])
    outputs = empty_results(made.functions["f"])
    assert Library(tmp_path, "f").call([np.array(17, np.int32)], outputs) == 0
    assert outputs[0] == 2 * np.asarray(table)[17]


def test_what_runs_in_this_process_has_no_source() -> None:
    def f(x: Any) -> Any:
        return ct.pure_callback(np.sin, ct.ShapeDtypeStruct((3,), np.float32), x)

    with pytest.raises(NotImplementedError, match=r"export: ct\.pure_callback: runs in this process"):
        ct.export.compile(f, np.ones(3, np.float32), name="f").c_source()


def test_the_processor_must_be_named(tmp_path: Path) -> None:
    """Code with fused products compiled without them would call the C library for each."""
    require("gcc|clang-22|clang-19|clang-14")
    made = ct.export.compile(lambda x: cnp.exp(x), np.ones(30, np.float32), name="f", target="x86-64-v3")
    made.save(tmp_path, files=("h", "c"))
    with pytest.raises(AssertionError, match="compile with -march=x86-64-v3"):
        compile_source(tmp_path, "f", COMPILERS[0])
