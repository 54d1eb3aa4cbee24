"""Checks "who may include whom": each folder includes only from the folders below it, and only its own third parties.

Run by `./dev lint` and by the tests; prints each offending line and exits with 1.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

BASE = {"runtime", "ir", "interpreter", "transforms", "device"}  # the interpreter is one of the compiler's back ends
COMPILER = {
    f"jit/{part}"
    for part in ("c", "cost", "fuse", "kernels", "llvm", "loop", "lower", "machine", "runtime", "schedule", "store")
}

# folder → folders whose headers it may include, besides its own. Longest matching prefix wins.
ALLOWED: dict[str, set[str]] = {
    "runtime": set(),  # what computes without a graph: arrays, threads, sorting, LAPACK
    "device": {"runtime"},
    "ir": {"runtime"},
    "ir/ops": {"runtime", "ir"},
    "interpreter": {"runtime", "ir"},
    "transforms": {"runtime", "ir", "interpreter"},
    # The compiler as a pipeline: graph, fused steps, loops, schedule, machine code, what is stored.
    "jit/loop": BASE,  # with its expansions and passes
    "jit/cost": BASE | {"jit/loop"},
    "jit/schedule": BASE | {"jit/loop", "jit/cost"},
    "jit/kernels": BASE | {"jit/loop"},
    "jit/fuse": BASE | {"jit/loop"},
    "jit/runtime": BASE,
    "jit/lower": BASE | {"jit/loop", "jit/fuse", "jit/kernels", "jit/runtime"},
    "jit/machine": BASE | {"jit/loop", "jit/cost"},
    "jit/llvm": BASE | {"jit/loop", "jit/cost", "jit/machine"},
    "jit/c": BASE | {"jit/loop", "jit/cost", "jit/machine"},
    "jit/store": BASE,
    "jit": BASE | COMPILER,
    "jit/export": BASE | COMPILER | {"jit"},
    "python_bindings": BASE | COMPILER | {"ir/ops", "jit", "jit/export"},
    "tests/cpp": BASE | COMPILER | {"ir/ops", "jit", "jit/export"},
}

# header prefix → the folders that may include it; every other folder may not.
THIRD_PARTIES: dict[str, tuple[str, ...]] = {
    "llvm/": ("jit/llvm",),
    "llvm-c/": ("jit/llvm",),
    "lld/": ("jit/llvm",),
    "cuda": ("device/cuda", "tests/cpp"),
    "cublas": ("device/cuda", "tests/cpp"),
    "Python.h": ("python_bindings",),
    "pybind11/": ("python_bindings",),
    "numpy/": ("python_bindings",),
    "gtest/": ("tests/cpp",),
    "gmock/": ("tests/cpp",),
}

INCLUDE = re.compile(r'^[ \t]*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)


def folder_of(path: str) -> str | None:
    """The key of ALLOWED that a repository path belongs to."""
    matches = [folder for folder in ALLOWED if path.startswith(folder + "/")]
    return max(matches, key=len, default=None)


def violations(path: str, text: str) -> list[str]:
    """One message per include of the file that the rules forbid."""
    folder = folder_of(path)
    assert folder is not None
    found = []
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        header = match.group(2)
        target = folder_of(header)
        if target is not None:
            if target not in ALLOWED[folder] | {folder}:
                found.append(f"{path}:{line}: {folder} may not include {header}")
        elif match.group(1) == '"' and (ROOT / Path(path).parent / header).exists():
            found.append(f'{path}:{line}: write the path from the repository root, not "{header}"')
        for prefix, homes in THIRD_PARTIES.items():
            if header.startswith(prefix) and not any(path.startswith(home + "/") for home in homes):
                found.append(f"{path}:{line}: {header} belongs in {' or '.join(homes)} only")
    return found


def check_tree(root: Path = ROOT) -> list[str]:
    """All violations of the tree below `root`."""
    found = []
    for top in sorted({folder.split("/")[0] for folder in ALLOWED}):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix in {".cc", ".h"} and folder_of(path):
                found += violations(path, file.read_text())
    return found


if __name__ == "__main__":
    problems = check_tree()
    print("\n".join(problems) if problems else "includes: every folder includes only what it may")
    sys.exit(1 if problems else 0)
