"""Exported libraries where something is wrong: targets, names, lengths, damaged and stale files, full disks; and what they need of others."""

from __future__ import annotations

import ctypes
import gc
import re
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from cotangent import _core
from exported_calls import Library
from needs import has, needs
from op_records import RECORDS
from records import Constant

X = np.arange(1, 6, dtype=np.float32)
TARGETS = _core.library_targets()
LIBC = {"memcpy", "memset", "memmove"}
nm = needs("nm")


def exported(f: Any, *arguments: Any, directory: Path, name: str = "step", **options: Any) -> Any:
    ct.export.compile(f, *arguments, name=name, **options).save(directory)
    loaded = ct.export.load(directory, name)
    assert loaded.native
    return loaded


def undefined(library: Path) -> set[str]:
    lines = subprocess.run(["nm", "-u", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines if " U " in line}


# ---- Loaded functions are differentiated, mapped and masked ---------------------------------------------------------


def test_loaded_function_under_transforms(tmp_path: Path) -> None:
    weights = cnp.array(np.linspace(0.5, 1.5, 5, dtype=np.float32))

    def f(x: Any) -> Any:
        return cnp.sum(cnp.sin(x) ** 2 * weights)

    loaded = exported(f, X, directory=tmp_path)
    batch = np.stack([X, 2 * X, -X])
    for transform in (
        ct.grad,
        ct.hessian,
        ct.jacfwd,
        ct.jit,
        lambda g: ct.jit(ct.grad(g)),
        lambda g: lambda x: ct.jvp(g, (x,), (X[::-1].copy(),))[1],
        lambda g: lambda x: ct.linearize(g, x)[1](X[::-1].copy()),
        lambda g: lambda x: ct.vmap(g)(batch),
        lambda g: lambda x: ct.vmap(ct.grad(g))(batch),
        lambda g: ct.grad(lambda x: ct.vmap(g)(x * batch).sum()),
        lambda g: lambda x: ct.jit(g)(x),
    ):
        np.testing.assert_allclose(transform(loaded)(X), transform(f)(X), rtol=1e-5, atol=1e-6)
    assert np.abs(np.asarray(ct.grad(loaded)(X))).max() > 0.1


def test_rules_of_the_users_are_saved(tmp_path: Path) -> None:
    @ct.custom_jvp
    def f(x: Any) -> Any:
        return cnp.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    loaded = exported(lambda x: f(x).sum(), X, directory=tmp_path)
    assert ct.grad(loaded)(X).tolist() == [3] * 5


def test_loaded_function_under_mask(tmp_path: Path) -> None:
    loaded = exported(lambda x: cnp.cumsum(x * x), X, directory=tmp_path)
    ragged = ct.Ragged(np.array([1, 2, 3, 99, np.nan], np.float32), {0: 3})
    np.testing.assert_allclose(ct.mask(lambda x: loaded(x))(ragged).unpad(), [1, 5, 14])
    gradient = exported(ct.grad(lambda x: cnp.sum(x * x)), X, directory=tmp_path)
    np.testing.assert_allclose(ct.mask(lambda x: gradient(x))(ragged).unpad(), [2, 4, 6])


def test_compiled_code_refuses_traced_arrays() -> None:
    executable = _core.compile_graph(ct.make_ir(lambda x: x * x)(X))
    with pytest.raises(TypeError, match="takes values, not what a transform traces"):
        ct.grad(lambda x: executable([x])[0].sum())(X)


def test_loaded_function_checks_its_arguments(tmp_path: Path) -> None:
    loaded = exported(lambda x, y: x + y, X, X, directory=tmp_path)
    with pytest.raises(TypeError, match=r"step was called without 'y'\n  call step\(x, y\)"):
        loaded(X)
    with pytest.raises(TypeError, match=r"y is float32\[5\], called with a list of 1 item\n  make an array of it"):
        loaded(X, [X])
    with pytest.raises(TypeError, match=r"step was exported for arguments .*, called with"):
        loaded(X, {"y": X})
    with pytest.raises(TypeError, match=r"y is float32\[5\], called with float64\[5\]"):
        loaded(X, X.astype(np.float64))
    with pytest.raises(TypeError, match=r"x is float32\[5\], called with float32\[4\]"):
        ct.jit(lambda x: loaded(x[:4], X))(X)


# ---- Targets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "i686",
        "x86-64-v1",
        "x86_64-linux-gnu",
        "nvptx64",
        "wasm64",
        "aarch64_be",
        "arm64e",
        "AARCH64",
        "x86-64-v2\n",
        "native ",
        "",
        "garbage",
    ],
)
def test_targets_that_nobody_tested_are_refused(target: str, tmp_path: Path) -> None:
    message = f"no tested code generation for the target '{target}'\n  choose one of: {', '.join(TARGETS)}"
    with pytest.raises(ValueError, match=re.escape(message)):
        exported(lambda x: x + 1, X, directory=tmp_path / "out", target=target)
    with pytest.raises(ValueError, match=re.escape(message)):
        ct.export.compile(lambda x: x + 1, X).save(tmp_path / "out", target=target)
    assert not (tmp_path / "out").exists()


# ---- What libraries need of others ----------------------------------------------------------------------------------


def programs(long_run: bool) -> Iterator[tuple[Any, list[Any]]]:
    """The records that can be exported, in one of their dtypes, by turns, or in all; with operands to trace them for."""
    for number, record in enumerate(RECORDS):
        turn = number % len(record.dtypes)
        for dtype in record.dtypes if long_run else record.dtypes[turn : turn + 1]:
            operands = [
                x.alternatives[0] if isinstance(x, Constant) else ct.ShapeDtypeStruct(x, dtype) for x in record.operands
            ]
            yield record, operands


@nm
@pytest.mark.parametrize("target", ["x86-64-v2", "aarch64"])
def test_no_primitive_needs_more_than_memory_functions(target: str, tmp_path: Path, long_run: bool) -> None:
    chosen = list(programs(long_run))
    assert len({record.name for record, _ in chosen}) >= 100
    for start in range(0, len(chosen), 100):  # many in a library, as each has a price
        part = chosen[start : start + 100]

        def all_of_them(*groups: Any, part: Any = part) -> list[Any]:
            return [record(*group) for (record, _), group in zip(part, groups, strict=True)]

        f = ct.export.compile(all_of_them, *[operands for _, operands in part], name="all_of_them")
        f.save(tmp_path, target=target, files=("so",))
        assert undefined(tmp_path / "liball_of_them.so") <= LIBC, [record.id for record, _ in part]


# ---- Names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("malloc", "the C library has a function of this name"),
        ("main", "the C library has a function of this name"),
        ("sin", "the C library has a function of this name"),
        ("while", "keyword of C or C++"),
        ("co_await", "keyword of C or C++"),
        ("int32_t", "a type of C's headers"),
        ("NULL", "a macro of C's headers"),
        ("SIGINT", "a macro of C's headers"),
        ("linux", "a macro of C's headers"),
        ("std", "a namespace of C\\+\\+"),
        ("std2", "a namespace of C\\+\\+"),
        ("abi", "a namespace of C\\+\\+"),
        ("uint", "a type of C's headers"),
        ("pid_t", "a type of C's headers"),
        ("sinf32", "whose place it would take"),
        ("lgammaf64x_r", "whose place it would take"),
        ("x" * 250, "use up to 249 letters"),
        ("_Bool", "begin with an underscore"),
        ("_mine", "begin with an underscore"),
        ("größe", "use letters, digits and underscores"),
        ("2d", "use letters, digits and underscores"),
        ("", "use letters, digits and underscores"),
    ],
)
def test_names_that_clash_are_refused_at_once(name: str, problem: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}' cannot name a C function: .*{problem}"):
        ct.export.compile(lambda x: x, X, name=name)


def test_long_names_are_those_of_files(tmp_path: Path) -> None:
    name = "x" * 249
    ct.export.compile(lambda x: x + 1, X, name=name).save(tmp_path)
    assert (tmp_path / f"lib{name}.so").exists()


def test_parameters_are_renamed_where_names_clash(tmp_path: Path) -> None:
    def f(int8_t: Any, I: Any, new: Any, run: Any, step: Any, _Bool: Any, __x: Any, größe: Any) -> Any:
        return int8_t + I + new + run + step + _Bool + __x + größe

    exported(f, *[X] * 8, directory=tmp_path)
    header = (tmp_path / "step.h").read_text()
    names = ("int8_t_", "I_", "new_", "run_2", "step_2", "x5", "x6", "gro_e")
    declared = ", ".join(f"const float* {n} /* [5] */" for n in names)
    assert f"int step({declared}, float* out /* [5] */, const ct_run* run);" in header
    for compiler, suffix in (("cc", "c"), ("c++", "cc")):
        if has(compiler):
            (tmp_path / f"user.{suffix}").write_text('#include <complex.h>\n#include "step.h"\n')
            command = [compiler, "-Wall", "-Wextra", "-Werror", "-Wshadow", "-fsyntax-only", f"user.{suffix}"]
            subprocess.run(command, cwd=tmp_path, check=True)


# ---- Lengths --------------------------------------------------------------------------------------------------------


def test_lengths_out_of_range_are_an_error_code(tmp_path: Path) -> None:
    x = ct.Ragged(X, {0: 3})
    loaded = exported(ct.mask(lambda x: x * 2), x, directory=tmp_path)
    assert "x.n: 0 to 5, else CT_LENGTH" in (tmp_path / "step.h").read_text()
    library = Library(tmp_path, "step")
    for length in (-1, 6, 2**31 - 1, -(2**31), 0, 3, 5):
        out, count = np.full(5, 7, np.float32), np.full((), 7, np.int32)
        status = library.call([X, np.array(length, np.int32)], [out, count])
        if 0 <= length <= 5:
            assert status == 0 and count == length
            np.testing.assert_array_equal(out, np.where(np.arange(5) < length, 2 * X, 0))
        else:
            assert status == 5 and count == 7 and (out == 7).all()
    saved = ct.export.load(tmp_path, native=False)
    for length in (-1, 6):
        for function in (loaded, saved):
            with pytest.raises(ct.errors.ShapeError, match=f"length .*{length}"):
                function(ct.Ragged(X, {0: np.int32(length)}))


def test_lengths_that_were_put_into_a_structure_are_checked_in_every_call(tmp_path: Path) -> None:
    rows = ct.Ragged(np.ones((2, 4), np.float32), {1: np.array([3, 4], np.int32)})
    exported(ct.vmap(ct.mask(cnp.sum)), rows, directory=tmp_path)
    (data, lengths), structure = ct.tree.flatten(rows)

    def called(function: Any, lengths: Any) -> Any:
        return function(ct.tree.unflatten(structure, [data, lengths]))

    for native in (False, True):
        step = ct.export.load(tmp_path, native=native).step
        for function in (
            step,
            ct.jit(step),
            ct.jit(lambda r, step=step: 2 * step(r)),
            ct.grad(lambda r, f=step: f(r).sum()),
        ):
            for right, wrong in ((lengths, lengths + 1), (lengths - 3, lengths - 4)):
                called(function, right)
                for _ in range(2):  # what was compiled looks at them, too
                    with pytest.raises(ct.errors.ShapeError, match=r"is a length of .*, outside 0 … 4"):
                        called(function, wrong)
        assert called(step, lengths).tolist() == [3, 4] and called(step, lengths - 3).tolist() == [0, 1]
        both = ct.jit(lambda r, step=step: (step(r), step(r)))
        assert called(both, lengths - 1)[1].tolist() == [2, 3]
        with pytest.raises(ct.errors.ShapeError, match="outside 0 … 4"):
            called(both, lengths + 1)


def test_lengths_of_every_example_and_through_calls_are_checked(tmp_path: Path) -> None:
    @ct.jit
    def total(data: Any, length: Any) -> Any:
        return ct.checkpoint(ct.mask(cnp.sum))(ct.Ragged(data, {0: length}))

    data, lengths = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([0, 1, 3, 2], np.int64)
    exported(ct.vmap(total), data, lengths, directory=tmp_path)
    library = Library(tmp_path, "step")
    out = np.full(4, 7, np.float32)
    assert library.call([data, lengths], [out]) == 0
    np.testing.assert_array_equal(out, [0, 3, 21, 19])
    for wrong in ([0, 1, 4, 2], [0, 1, 3, -1], [2**32, 1, 3, 2]):
        out[:] = 7
        assert library.call([data, np.array(wrong, np.int64)], [out]) == 5
        assert (out == 7).all()


# ---- Files ----------------------------------------------------------------------------------------------------------


def test_constants_belong_to_their_program(tmp_path: Path) -> None:
    first, second = cnp.array(X), cnp.array(10 * X)
    assert exported(lambda x: x + first, X, directory=tmp_path)(X).tolist() == (2 * X).tolist()
    assert exported(lambda x: x + second, X, directory=tmp_path)(X).tolist() == (11 * X).tolist()
    assert exported(lambda x, y: x - y, X, X, directory=tmp_path)(X, X).tolist() == [0] * 5
    assert sorted(p.name for p in tmp_path.iterdir()) == ["libstep.a", "libstep.so", "step.ctir", "step.h"]
    # What an earlier version wrote beside a graph without saying which.
    data = bytearray(ct.make_ir(lambda x: x + 1)(X).serialize())
    data[8] = 1
    (tmp_path / "step.ctir").write_bytes(data)
    np.savez(tmp_path / "step.constants.npz", X)
    with pytest.raises(ct.errors.CorruptFileError, match="may belong to another program\n  export the function again"):
        ct.export.load(tmp_path)


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """What a full disk is to writers: OSError. Python ignores the signal."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk(tmp_path: Path) -> None:
    big = cnp.array(np.random.default_rng(0).standard_normal(50_000).astype(np.float32))
    exported(lambda x: x + 1, X, directory=tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    f = ct.export.compile(lambda x: x.sum() + big, X, name="step")
    for limit in (100, 5_000, 100_000):
        with file_size_limit(limit), pytest.raises(OSError, match="File too large"):
            f.save(tmp_path)
        assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
    assert ct.export.load(tmp_path)(X).tolist() == (X + 1).tolist()


def test_what_cannot_be_written_is_an_os_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = ct.export.compile(lambda x: x + 1, X, name="step")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        f.save(tmp_path / "file")
    # A directory where a file should go: found at the end, when everything else is written.
    (tmp_path / "out" / "step.ctir").mkdir(parents=True)
    with pytest.raises(OSError):
        f.save(tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir() if p.name.endswith(".part")] == []
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(OSError, match="temporary directory"):
        f.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_library_that_others_keep_open_is_not_taken_for_the_next_one(tmp_path: Path) -> None:
    """The loader knows libraries by names, and a file that is opened later may get the number of one before."""
    kept = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        name = f"scaled{number}"
        ct.export.compile(lambda x, number=number: x * (number + 2), X, name=name).save(folder)
        loaded = ct.export.load(folder, native=True)
        kept.append(ctypes.CDLL(str(folder / f"lib{name}.so")))
        np.testing.assert_array_equal(getattr(loaded, name)(X), (number + 2) * X)
        del loaded
        gc.collect()
