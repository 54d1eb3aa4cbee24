"""What a pytree is in C: structures with the arrays in them, as gcc and clang lay them out, in place where that was asked for."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from exported_calls import STRICT, Library, aligned, forms, save
from needs import has, require
from places import ROOT

COMPILERS = [c for c in ("gcc", "clang-22") if has(c)]
compilers = pytest.mark.parametrize("compiler", COMPILERS)


@ct.tree_util.register_dataclass
@dataclasses.dataclass
class Adam:
    count: Any
    mu: Any
    nu: Any


class Pair(NamedTuple):
    first: Any
    while_: Any


def build(
    folder: Path, compiler: str, source: str, name: str, *options: str, standard: str = "c11", form: str = "library"
) -> str:
    """Compiles a program on the library's header and runs it; what it prints."""
    library = f"lib{name}.a"
    if form == "source":
        library = f"{name}.o"
        command = [compiler, "-std=c11", "-O2", *STRICT, "-c", f"{name}.c", "-o", library]
        subprocess.run(command, cwd=folder, check=True)
    suffix = "c" if standard.startswith("c1") else "cc"
    (folder / f"main.{suffix}").write_text(source)
    tool = compiler if suffix == "c" else {"gcc": "g++", "clang-22": "clang++-22"}[compiler]
    command = [tool, f"-std={standard}", *STRICT, *options, f"main.{suffix}", library, "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout


# ---- names and offsets -----------------------------------------------------------------------------------------------


def declared(header: str, name: str) -> str:
    return next(line for line in header.splitlines() if line.startswith(f"int {name}("))


def test_parameters_of_every_kind() -> None:
    f32, i32 = cnp.float32(1), cnp.int32(1)

    def f(x: Any, n: Any, z: Any, flag: Any, half: Any, key: Any, empty: Any, none: Any, *, lr: Any, tree: Any) -> Any:
        return x + n + lr + half + empty.sum() + tree[0]

    header = ct.export.compile(
        f,
        f32,
        i32,
        cnp.complex64(1j),
        cnp.bool_(True),
        cnp.zeros(3, cnp.float16),
        ct.random.key(0),
        cnp.zeros((0, 4)),
        None,
        lr=0.1,
        tree=(f32, i32, [cnp.zeros((2, 3)), cnp.zeros((2, 3))]),
        name="step",
    ).header()
    assert declared(header, "step") == (
        "int step(float x, int32_t n, const float* z /* [2] */, uint8_t flag, const uint16_t* half /* [3] */, uint64_t key, "
        "const float* empty /* [0][4] */, float lr, const step_tree* tree, float* out /* [3] */, const ct_run* run);"
    )
    assert "typedef struct step_tree {\n  float _0;\n  int32_t _1; /* int32[] */\n  float _2[2][2][3];\n" in header


def test_structures_and_where_their_arrays_are() -> None:
    def layer(rows: int, columns: int) -> Any:
        return {"w": cnp.zeros((rows, columns), cnp.float32), "b": cnp.zeros(columns, cnp.float32)}

    params = {"layers": [layer(8, 4), layer(4, 4), layer(4, 4)], "scale": cnp.float32(1), "a b": cnp.zeros(2, cnp.int8)}
    state = Adam(cnp.int32(0), params, params)
    pair = Pair(cnp.zeros(17, cnp.float64), cnp.zeros(2))
    made = ct.export.compile(lambda params, state, pair: (params, pair.first), params, state, pair, name="net")
    header = made.header()
    # Equal structures have one name, whatever holds them.
    assert header.count("typedef struct net_params {") == 1
    assert "typedef struct net_state {\n  int32_t count; /* int32[] */\n" in header
    assert "  net_params mu;\n  net_params nu;\n" in header
    assert "  int8_t a_b[2]; /* ['a b']: int8[2] */\n" in header
    # Of three layers only two are equal: no array.
    assert "  net_params_layers _0;\n  net_params_layers_2 _1;\n  net_params_layers_2 _2;\n" in header
    assert "  double first[17];\n" in header and " while_[2];\n" in header
    for structure in made._library.structures:
        end = 0
        for member in structure.members:
            assert member.offset >= end
            assert member.offset % (64 if member.type.bytes >= 64 else member.type.alignment) == 0
            end = member.offset + member.type.bytes
        assert end <= structure.bytes < end + 64


def test_equal_items_are_arrays() -> None:
    def layers(count: int, columns: int) -> Any:
        return [{"w": cnp.zeros((4, columns)), "b": cnp.zeros(columns)} for _ in range(count)]

    def header(tree: Any) -> str:
        return ct.export.compile(lambda tree: ct.tree.leaves(tree)[0], tree, name="f").header()

    assert "const f_tree* tree /* [3] */" in header(layers(3, 16))
    assert "const f_tree* tree /* [2][3] */" in header([layers(3, 16), layers(3, 16)])
    assert "const float* tree /* [5][2] */" in header([cnp.zeros(2)] * 5)
    # 68 bytes: in a row the second one would not begin at a multiple of 64.
    assert "  float _0[17];\n  unsigned char pad0[60];\n  float _1[17];\n" in header([cnp.zeros(17)] * 2)


def test_names_that_clash() -> None:
    tree = {"a b": cnp.zeros(1), "a_b": cnp.zeros(2), "for": cnp.zeros(3), "2d": cnp.zeros(4), "pad0": cnp.zeros(33)}
    header = ct.export.compile(lambda tree: tree["for"], tree, name="f").header()
    for line in ("float a_b_2[1];", "float a_b[2];", "float for_[3];", "float _2d[4];", "float pad0[33];", "pad0_2["):
        assert line in header, line
    with pytest.raises(ValueError, match="'check' would define lib_check, which the library has already"):
        ct.export.library("lib", {"check": ct.export.function(lambda x: x, cnp.zeros(1))})
    one = ct.export.function(lambda x: x, cnp.zeros(1))
    with pytest.raises(ValueError, match="'f_leaves' would define lib_f_leaves, which the library has already"):
        ct.export.library("lib", {"f": one, "f_leaves": one})


@compilers
def test_names_of_headers_and_of_this_header(compiler: str, tmp_path: Path) -> None:
    """Macros that C programs may have included before, types, and what the header defines itself."""
    names = [
        "errno",
        "stdout",
        "M_PI",
        "M_2_SQRTPI",
        "M_PIf64x",
        "st_atime",
        "sched_priority",
        "h_errno",
        "CT_ASSERT",
        "CT_ABI_1",
        "LIB_SIGNATURE",
        "COTANGENT_lib_H",
        "COTANGENT_lib_H_",
        "ct_run",
        "run",
        "lib_d",
        "lib",
        "size_t",
    ]
    x = cnp.zeros(2)
    tree = dict.fromkeys(names, x)
    arguments = {name: {"a": x} if name == "ct_run" else x for name in names}

    def f(d: Any, **named: Any) -> Any:
        return {"lib_d": d["errno"] + named["run"], "out": d}

    ct.export.library("lib", {"d": ct.export.function(f, tree, **arguments)}).save(tmp_path)
    program = '#include <errno.h>\n#include <math.h>\n#include <netdb.h>\n#include <sched.h>\n#include <stdio.h>\n#include <sys/stat.h>\n#include "lib.h"\n'
    program += "int main(void) { puts(lib_error(lib_check())); return 0; }\n"
    for standard in ("c11", "c++17"):
        all_macros = ["-D_DEFAULT_SOURCE"] if standard == "c11" else []  # compilers for C++ define more than that
        assert build(tmp_path, compiler, program, "lib", "-Wshadow", *all_macros, standard=standard) == "done\n"


def test_results_are_named() -> None:
    x = cnp.zeros(2)

    def names(result: Any, **options: Any) -> list[str]:
        made = ct.export.compile(lambda x: ct.tree.map(lambda leaf: leaf + x, result), x, name="f", **options)
        return [part.name for part in made.functions["f"].results]

    assert names(x) == ["out"]
    assert names((x, x)) == ["out0", "out1"]
    assert names([x, x]) == ["out"]
    assert names({"b": x, "a": x}) == ["a", "b"]
    assert names(Pair(x, x)) == ["first", "while_"]
    assert names(Adam(x, x, x)) == ["count", "mu", "nu"]
    assert names(x, results="y") == ["y"]
    assert names((x, x), results=("y", "z")) == ["y", "z"]
    assert names((x, x), results="both") == ["both"]
    with pytest.raises(ValueError, match=r"results=\['y'\] must name each of its 2 results once"):
        names((x, x), results=["y"])


def test_donated_arguments_need_a_result_of_their_own() -> None:
    x, y = cnp.zeros(3), cnp.zeros(4)
    with pytest.raises(ValueError, match="donate='z' is no argument\n  its arguments: x, y"):
        ct.export.function(lambda x, y: {"x": x}, x, y, donate="z")
    with pytest.raises(ValueError, match=r"no result is called 'y'.*; the results are x\n  name them by results="):
        ct.export.function(lambda x, y: {"x": x}, x, y, donate=("x", "y"))
    with pytest.raises(ValueError, match="only equal structures can have one place"):
        ct.export.function(lambda x: {"x": [x]}, x, donate="x")
    with pytest.raises(ValueError, match=r"x\['b'\] is float32\[4\] as an argument and float32\[3\] as a result"):
        ct.export.function(lambda x: {"x": {"a": x["a"], "b": x["a"]}}, {"a": x, "b": y}, donate="x")


@compilers
def test_the_programs_of_the_documentation(compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "export.md").read_text()
    (first, second), (first_c, second_c) = (
        [part.split("```")[0] for part in text.split(f"```{language}\n")[1:3]] for language in ("pycon", "c")
    )
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for python in (first, second):
        exec("\n".join(line[4:] for line in python.splitlines() if line.startswith((">>> ", "... "))), names)
    compiled, run = text.split("```sh\n")[1].split("```")[0].splitlines()
    (tmp_path / "main.c").write_text(first_c)
    assert compiled.split()[0] == "cc"
    subprocess.run([compiler, *STRICT, *compiled.split()[1:]], check=True)
    program, says = run.split("  # ")
    assert subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip() == says
    names["library"].save(tmp_path)
    assert build(tmp_path, compiler, second_c, "model") == ""
    names["folder"].cleanup()


# ---- C programs ------------------------------------------------------------------------------------------------------

RUN = """
#include <stdio.h>
#include <stdlib.h>
static ct_run make_run(size_t bytes) {
  ct_run run = {sizeof(ct_run), NULL, bytes, NULL, NULL, NULL};
  run.workspace = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  return run;
}
"""


def rotate(state: Any, x: Any) -> Any:
    """Results that cannot be written in place of what they are called like: the others read it still."""
    first, second = state["first"], state["second"]
    return {
        "state": {"first": second * x, "second": cnp.cumsum(first[::-1]) + second, "count": state["count"] + 1},
        "total": first.sum() + second.sum(),
    }


STATE = {
    "first": np.arange(40, dtype=np.float32),
    "second": np.linspace(-1, 1, 40, dtype=np.float32),
    "count": np.int32(7),
}


@forms
@compilers
@pytest.mark.parametrize("standard", ["c11", "c++17"])
def test_in_place(compiler: str, standard: str, form: str, tmp_path: Path) -> None:
    made = ct.export.compile(rotate, STATE, 1.5, name="rotate", donate="state")
    made.save(tmp_path, files=("h", "c", "a", "so"))
    described = Library(tmp_path, "rotate").function()
    assert described["copied_bytes"] in (160, 320)
    assert (
        f" * {described['copied_bytes']} bytes of what is updated in place pass through the workspace." in made.header()
    )
    program = (
        '#include "rotate.h"\n'
        + RUN
        + """
int main(void) {
  static rotate_state s;
  for (int i = 0; i < 40; ++i) { s.first[i] = (float)i; s.second[i] = -1.0f + 2.0f * (float)i / 39.0f; }
  s.count = 7;
  ct_run run = make_run(ROTATE_WORKSPACE);
  float total = 0;
  if (rotate_signature() != ROTATE_SIGNATURE || rotate_check() != CT_OK) return 1;
  for (int i = 0; i < 3; ++i) {
    const int status = rotate(&s, 1.5f, &total, &run);
    if (status != CT_OK) return status;
  }
  printf("%d %.9g\\n", (int)s.count, (double)total);
  for (int i = 0; i < 40; ++i) printf("%.9g %.9g\\n", (double)s.first[i], (double)s.second[i]);
  free(run.workspace);
  return 0;
}
"""
    )
    found = np.array(
        build(tmp_path, compiler, program, "rotate", standard=standard, form=form).split(), dtype=np.float64
    )
    state = STATE
    for _ in range(3):
        results = ct.jit(rotate)(state, 1.5)
        state = results["state"]
    np.testing.assert_allclose(found[:2], [10, results["total"]], rtol=1e-6)
    np.testing.assert_allclose(found[2::2], state["first"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found[3::2], state["second"], rtol=1e-5, atol=1e-5)


@forms
def test_in_place_by_leaves(form: str, tmp_path: Path) -> None:
    """An output may be the input that it is paired with, and nothing else."""
    save(ct.export.compile(rotate, STATE, 1.5, name="rotate", donate="state"), tmp_path, form)
    library = Library(tmp_path, "rotate")
    pairs = [output.get("in_place_of") for output in library.function()["outputs"]]
    assert pairs == [0, 1, 2, None]
    arrays = [np.array(STATE[name]) for name in ("count", "first", "second")]
    x, total = np.array(1.5, np.float32), np.zeros((), np.float32)
    others = [np.empty_like(a) for a in arrays]
    assert library.call([*arrays, x], [*others, total]) == 0
    assert arrays[0] == 7
    expected = ct.jit(rotate)(STATE, 1.5)
    for output, name in zip(others, ("count", "first", "second"), strict=True):
        np.testing.assert_allclose(output, expected["state"][name], rtol=1e-6)
    assert library.call([*arrays, x], [arrays[0], arrays[2], arrays[1], total]) == 3
    assert library.call([*arrays, x], [*arrays, x]) == 3
    assert arrays[0] == 7
    assert library.call([*arrays, x], [*arrays, total]) == 0
    for output, same in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(output, same)


@forms
def test_checks_come_before_anything_is_written(form: str, tmp_path: Path) -> None:
    x = np.linspace(0, 1, 3000, dtype=np.float32)
    save(ct.export.compile(lambda x: cnp.sort(x * 2), x, name="f"), tmp_path, form)
    library = Library(tmp_path, "f")
    size = library.function()["workspace_bytes"]
    assert size > 0
    out = np.full_like(x, 7)
    memory = np.zeros(8 * 3000, np.uint8)
    odd = memory[1:][: 4 * 3000].view(np.uint8)
    cases: list[tuple[int, Any, Any, dict[str, Any]]] = [
        (2, odd, out, {}),
        (2, x, odd, {}),
        (3, x, x, {}),
        (3, x, x[1:], {}),
        (4, x, out, {"workspace": 0}),
        (4, x, out, {"workspace": "odd"}),
        (4, x, out, {"workspace_bytes": size - 1}),
        (8, x, out, {"size": 40}),
        (8, x, out, {"size": 0}),
    ]
    for status, given, result, changes in cases:
        run = library.run()
        if changes.get("workspace") == "odd":
            changes = {"workspace": run.workspace + 8}
        for member, value in changes.items():
            setattr(run, member, value)
        assert library.call([given], [result], run=run) == status, changes
        assert (out == 7).all()
    assert library.c.f(None, None, None) == 1
    assert library.c.f(int(x.ctypes.data), int(out.ctypes.data), None) == 4 if x.ctypes.data < 2**31 else True
    larger = library.run()
    larger.size += 16
    assert library.call([x], [out], run=larger) == 0
    np.testing.assert_array_equal(out, np.sort(x * 2))


@forms
def test_the_workspace_overlaps_nothing(form: str, tmp_path: Path) -> None:
    x = np.linspace(0, 1, 3000, dtype=np.float32)
    save(ct.export.compile(lambda x: cnp.sort(x * 2), x, name="f"), tmp_path, form)
    library = Library(tmp_path, "f")
    run = library.run()
    inside = run.kept[64 : 64 + 4 * 3000].view(np.float32)
    out = np.full_like(x, 7)
    assert library.call([inside], [out], run=run) == 3
    assert library.call([x], [inside], run=run) == 3
    assert (out == 7).all()
    assert library.call([x], [out], run=run) == 0


def test_many_parameters(tmp_path: Path) -> None:
    """Each result is compared with all others: in loops, or compiling it would take minutes."""
    arrays = [np.full(3, n, np.float32) for n in range(90)]
    made = ct.export.compile(lambda *leaves: tuple(leaf + 1 for leaf in leaves), *arrays, name="f")
    start = time.process_time()
    made.save(tmp_path)
    assert time.process_time() - start < 30
    library = Library(tmp_path, "f")
    outputs = [np.empty(3, np.float32) for _ in arrays]
    assert library.call(arrays, outputs) == 0
    assert [o[0] for o in outputs] == [n + 1 for n in range(90)]
    run = library.run()

    def call(given: list[np.ndarray], results: list[np.ndarray]) -> int:
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*given, *results)]
        return int(library.c.f(*pointers, ctypes.byref(run)))

    assert call(arrays, outputs) == 0
    assert call(arrays, [*outputs[:-1], outputs[3][1:]]) == 3
    assert call([*arrays[:-1], outputs[40]], outputs) == 3
    assert call([*arrays[:-1], arrays[0]], outputs) == 0


@forms
@pytest.mark.parametrize("count", [20, 64, 160])
def test_many_leaves_in_place(count: int, form: str, tmp_path: Path) -> None:
    tree = {f"p{i}": np.full(3, i, np.float32) for i in range(count)}
    double = ct.export.function(lambda d: {"d": {k: v * 2 for k, v in d.items()}}, tree, donate="d")
    save(ct.export.library("q", {"f": double}), tmp_path, form)
    arrays = [a.copy() for a in ct.tree.leaves(tree)]
    assert Library(tmp_path, "q").call(arrays, arrays) == 0
    for found, wanted in zip(arrays, ct.tree.leaves(tree), strict=True):
        np.testing.assert_array_equal(found, 2 * wanted)


def test_names_of_libraries_of_the_system() -> None:
    for name in ("m", "c", "pthread"):
        with pytest.raises(ValueError, match=f"lib{name} is one of the system"):
            ct.export.compile(lambda x: x, cnp.zeros(1), name=name)


@forms
def test_without_checks_they_are_left_out(form: str, tmp_path: Path) -> None:
    x = np.linspace(0, 1, 30, dtype=np.float32)
    for checks in (True, False):
        save(ct.export.compile(lambda x: x * 2, x, name="f", checks=checks), tmp_path / str(checks), form)
        library = Library(tmp_path / str(checks), "f")
        memory = aligned(4 * 30).view(np.float32)
        memory[:] = x
        assert library.call([memory], [memory]) == (3 if checks else 0)
        np.testing.assert_array_equal(memory, x if checks else x * 2)


@forms
@compilers
def test_many_leaves_and_values(compiler: str, form: str, tmp_path: Path) -> None:
    """More pointers than there is room for on the stack, numbers of every type, complex numbers, bools, keys."""
    tree = [cnp.full((n % 5 + 1,), n, cnp.float32) for n in range(150)]
    numbers = {
        "a": cnp.int8(-3),
        "b": cnp.uint16(65535),
        "c": cnp.float64(0.5),
        "d": cnp.int64(-(2**40)),
        "e": cnp.bool_(True),
    }

    def f(tree: Any, a: Any, b: Any, c: Any, d: Any, e: Any, z: Any, key: Any) -> Any:
        total = sum(leaf.sum() for leaf in tree)
        return {
            "total": total,
            "numbers": {"a": a + 1, "b": b - 1, "c": c * 3, "d": d - 1, "e": ~e},
            "z": z * 1j,
            "draw": ct.random.uniform(key, (3,)),
        }

    key = ct.random.key(9)
    z = cnp.complex64(2 + 3j)
    made = ct.export.compile(f, tree, *numbers.values(), z, key, name="f")
    made.save(tmp_path, files=("h", "c", "a", "so"))
    fill = "".join(f"  for (int i = 0; i < {n % 5 + 1}; ++i) t._{n}[i] = {n};\n" for n in range(150))
    high, low = (int(word) for word in ct.random.key_data(key))
    bits = high << 32 | low
    program = (
        '#include "f.h"\n'
        + RUN
        + "int main(void) {\n  static f_tree t;\n"
        + fill
        + f"""
  const float z[2] = {{2, 3}};
  float total = 0, iz[2], draw[3];
  f_numbers n;
  ct_run run = make_run(F_WORKSPACE);
  const int status = f(&t, -3, 65535, 0.5, -INT64_C(1099511627776), 1, z, UINT64_C({bits}), draw, &n, &total, iz, &run);
  printf("%d %.9g %d %d %g %lld %d %g %g %.9g %.9g %.9g\\n", status, (double)total, n.a, n.b, n.c, (long long)n.d, n.e,
         (double)iz[0], (double)iz[1], (double)draw[0], (double)draw[1], (double)draw[2]);
  free(run.workspace);
  return 0;
}}
"""
    )
    found = [float(word) for word in build(tmp_path, compiler, program, "f", form=form).split()]
    expected = f(tree, *numbers.values(), z, key)
    assert found[:2] == [0, float(expected["total"])]
    assert found[2:7] == [-2, 65534, 1.5, -(2**40) - 1, 0]
    assert found[7:9] == [-3, 2]
    np.testing.assert_allclose(found[9:], expected["draw"], rtol=1e-6)


@forms
@compilers
def test_ragged_arguments_are_structures_with_lengths(compiler: str, form: str, tmp_path: Path) -> None:
    words = ct.Ragged(np.zeros((4, 6, 3), np.float32), {1: np.array([6, 2, 0, 4], np.int32)})

    def tag(sentences: Any) -> Any:
        return ct.vmap(ct.mask(lambda s: cnp.tanh(s) + s.sum(axis=0)))(sentences)

    made = ct.export.compile(tag, words, name="tagger", results="tags")
    made.save(tmp_path, files=("h", "c", "a", "so"))
    header = made.header()
    assert "  float data[4][6][3];\n  int32_t n[4]; /* int32[4] */\n" in header
    assert "sentences.n: 0 to 6, else CT_LENGTH" in header
    program = (
        '#include "tagger.h"\n#include <math.h>\n'
        + RUN
        + """
int main(void) {
  static tagger_sentences s, t;
  ct_run run = make_run(TAGGER_WORKSPACE);
  const int32_t lengths[4] = {6, 2, 0, 4};
  for (int i = 0; i < 4; ++i) {
    s.n[i] = lengths[i];
    for (int j = 0; j < 6; ++j) for (int k = 0; k < 3; ++k) s.data[i][j][k] = j < lengths[i] ? (float)(i + j * k) / 8.0f : NAN;
  }
  int status = tagger(&s, &t, &run);
  if (status) return status;
  for (int i = 0; i < 4; ++i) for (int j = 0; j < t.n[i]; ++j) for (int k = 0; k < 3; ++k) printf("%.9g ", (double)t.data[i][j][k]);
  s.n[2] = 7;
  t.data[0][0][0] = 99;
  printf("%d %g\\n", tagger(&s, &t, &run), (double)t.data[0][0][0]);
  free(run.workspace);
  return 0;
}
"""
    )
    found = [float(word) for word in build(tmp_path, compiler, program, "tagger", form=form).split()]
    expected = []
    for i, length in enumerate((6, 2, 0, 4)):
        s = np.array([[(i + j * k) / 8 for k in range(3)] for j in range(length)]).reshape(length, 3)
        expected += (np.tanh(s) + s.sum(axis=0)).ravel().tolist()
    np.testing.assert_allclose(found[:-2], expected, rtol=1e-5)
    assert found[-2:] == [5, 99]


def test_valgrind(tmp_path: Path) -> None:
    require("valgrind", "gcc|clang-22")
    ct.export.compile(rotate, STATE, 1.5, name="rotate", donate="state", target="x86-64-v2").save(tmp_path)
    program = (
        '#include "rotate.h"\n'
        + RUN
        + """
int main(void) {
  rotate_state* s = malloc(sizeof *s);
  for (int i = 0; i < 40; ++i) s->first[i] = s->second[i] = (float)i;
  s->count = 0;
  ct_run run = make_run(ROTATE_WORKSPACE);
  float total;
  const int status = rotate(s, 1.5f, &total, &run);
  printf("%d %g\\n", status, (double)total);
  free(run.workspace);
  free(s);
  return 0;
}
"""
    )
    build(tmp_path, COMPILERS[0], program, "rotate", "-g")
    checked = subprocess.run(
        ["valgrind", "--error-exitcode=9", "--leak-check=full", tmp_path / "main"], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stderr


STACK = """
#include <pthread.h>
#include <string.h>
enum { SIZE = 1 << 20 };
static unsigned char stack[SIZE] __attribute__((aligned(4096)));
static void* nothing(void* unused) { return unused; }
static long used_by(void* (*body)(void*)) {
  memset(stack, 0xa5, SIZE);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, SIZE);
  if (pthread_create(&thread, &attributes, body, NULL) || pthread_join(thread, NULL)) return -1;
  long untouched = 0;
  while (untouched < SIZE && stack[untouched] == 0xa5) ++untouched;
  return SIZE - untouched;
}
"""


@pytest.mark.parametrize("name", ["step", "sort", "eigh", "fft", "leaves"])
def test_a_call_takes_as_much_of_the_stack_as_is_said(name: str, tmp_path: Path) -> None:
    """Measured by painting."""
    a = np.random.default_rng(0).standard_normal((20, 20)).astype(np.float32)
    functions: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "step": (lambda a, b: ct.grad(lambda a: cnp.tanh(a @ b).sum())(a), (a, a)),
        "sort": (lambda a: cnp.sort(a.ravel()), (a,)),
        "eigh": (lambda a: cnp.linalg.eigh(a @ a.T), (a,)),
        "fft": (lambda a: cnp.abs(cnp.fft.fft(a)), (a,)),
        "leaves": (lambda *leaves: sum(leaf.sum() for leaf in leaves), (a,) * 25),
    }
    f, arguments = functions[name]
    made = ct.export.compile(f, *arguments, name="f", target="x86-64-v3")
    made.save(tmp_path)
    said = Library(tmp_path, "f").function()
    count = sum(part.count for part in made.functions["f"].arguments)
    sizes = [int(np.prod(shape)) * 4 for shape, _ in made.functions["f"].out_avals]
    program = (
        '#define _GNU_SOURCE\n#include "f.h"\n'
        + RUN
        + STACK
        + f"""
static float in[400];
static const void* inputs[{count}];
static void* outputs[{len(sizes)}];
static ct_run run;
static int status;
static void* call(void* unused) {{
  status = f_leaves(inputs, outputs, &run);
  return unused;
}}
int main(void) {{
  run = make_run(F_WORKSPACE);
  for (int i = 0; i < {count}; ++i) inputs[i] = in;
  for (int i = 0; i < 400; ++i) in[i] = (float)(i % 7);
  {"".join(f"outputs[{i}] = malloc({size});" for i, size in enumerate(sizes))}
  const long before = used_by(nothing), with_it = used_by(call);
  printf("%d %ld", status, with_it - before);
  return 0;
}}
"""
    )
    status, used = (int(w) for w in build(tmp_path, COMPILERS[0], program, "f", "-pthread").split())
    assert status == 0
    assert 0 <= used <= said["stack_bytes"]
    assert f"Stack: at most {said['stack_bytes']} bytes." in made.header()
