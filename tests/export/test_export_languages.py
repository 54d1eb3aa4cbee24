"""Exported libraries as other build systems and languages find them."""

import shutil
import subprocess
from pathlib import Path

import cotangent as ct
import cotangent.numpy as cnp
import pytest
from needs import needs

PROGRAM = """\
#include <stdio.h>
#include "demo.h"
int main(void) {
  const float x[3] = {1, 2, 3};
  float y[3];
  const int status = demo(x, y, NULL);
  printf("%d %g %g %g\\n", status, (double)y[0], (double)y[1], (double)y[2]);
  return status;
}
"""
PROJECT = """\
cmake_minimum_required(VERSION 3.16)
project(user C)
find_package(demo REQUIRED CONFIG)
add_executable(with_static main.c)
target_link_libraries(with_static PRIVATE demo::demo_static)
add_executable(with_shared main.c)
target_link_libraries(with_shared PRIVATE demo::demo_shared)
add_executable(with_either main.c)
target_link_libraries(with_either PRIVATE demo::demo)
"""


def saved_and_moved(directory: Path) -> Path:
    made = ct.export.compile(lambda x: x * 2 + 1, cnp.ones(3), name="demo", results="y")
    made.save(directory / "first", files=("h", "a", "so", "cmake", "pc"), version="1.2.3")
    return Path(shutil.move(directory / "first", directory / "a folder"))


def output(*command: object) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


@needs("cmake")
def test_cmake_finds_a_moved_library(tmp_path: Path) -> None:
    folder = saved_and_moved(tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    output("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Ddemo_DIR={folder}")
    output("cmake", "--build", tmp_path / "build")
    for name in ("with_static", "with_shared", "with_either"):
        assert output(tmp_path / "build" / name) == "0 3 5 7\n"


@needs("cmake")
@pytest.mark.parametrize(
    ("asked", "found"), [("1.2", True), ("1.2.0 EXACT", True), ("1.3", False), ("2", False), ("0.9", False)]
)
def test_cmake_finds_a_version_below_a_prefix(asked: str, found: bool, tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x * 2 + 1, cnp.ones(3), name="demo", results="y")
    made.save(tmp_path / "made", files=("h", "a", "so", "cmake"), version="1.2.0")
    for kind, folder in (("h", "include"), ("a", "lib"), ("so", "lib"), ("cmake", "lib/cmake/demo")):
        (tmp_path / "prefix" / folder).mkdir(parents=True, exist_ok=True)
        for file in (tmp_path / "made").glob(f"*.{kind}"):
            shutil.copy(file, tmp_path / "prefix" / folder)
    (tmp_path / "main.c").write_text(PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.replace("demo REQUIRED", f"demo {asked} REQUIRED"))
    configure = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={tmp_path / 'prefix'}"]
    if not found:
        with pytest.raises(subprocess.CalledProcessError):
            output(*configure)
        return
    output(*configure)
    output("cmake", "--build", tmp_path / "build")
    for name in ("with_static", "with_shared", "with_either"):
        assert output(tmp_path / "build" / name) == "0 3 5 7\n"


def test_a_version_is_numbers(tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x, cnp.ones(3), name="demo")
    with pytest.raises(
        ValueError,
        match=r"save: version='v1' is not one to four numbers with points between them\n  write version='1\.2\.0', say",
    ):
        made.save(tmp_path, version="v1")


@needs("pkg-config")
def test_pkg_config_finds_a_moved_library(tmp_path: Path) -> None:
    folder = saved_and_moved(tmp_path)
    (tmp_path / "main.c").write_text(PROGRAM)
    assert output("env", f"PKG_CONFIG_PATH={folder}", "pkg-config", "--modversion", "demo") == "1.2.3\n"
    flags = output("env", f"PKG_CONFIG_PATH={folder}", "pkg-config", "--cflags", "--libs", "demo")
    output("sh", "-c", f"cc '{tmp_path}/main.c' {flags.strip()} -lm -o '{tmp_path}/run' -Wl,-rpath,'{folder}'")
    assert output(tmp_path / "run") == "0 3 5 7\n"


def test_unknown_kinds_list_all(tmp_path: Path) -> None:
    made = ct.export.compile(lambda x: x, cnp.ones(3), name="demo")
    with pytest.raises(
        ValueError,
        match="files='hs' is no kind of file; did you mean 'h'\\?\n  the kinds: h, c, a, so, wasm, mjs, ctir, cmake, pc, hpp, rs, py, jl",
    ):
        made.save(tmp_path, files=("hs",))
