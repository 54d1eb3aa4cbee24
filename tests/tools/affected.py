"""Which tests a change can affect: `./dev test --changed [REF]` runs them.

    python tests/tools/affected.py [REF]    what has changed since REF, and the tests that are chosen, each with the reason

Without REF it is what a branch has changed since it left main, and on main what is not yet committed; files that git does not know
count too. What is chosen:

- of the Python package: the tests that name a definition whose lines changed, or one that needs it at any distance
  (`definitions.py`), also as a method or in a string, as records name functions;
- of a C++ file: the tests that `SUITES` has for its folder. What lies below all others, `runtime` or `ir`, can change any result: these
  are the tests about it, and continuous integration runs all;
- of a test, or of what tests import: it, and the tests that import it;
- of any other file: the tests that name it, and those that `SUITES` has.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from definitions import Definition, Package, Source

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
from made_of import made_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python_bindings" / "cotangent"
EVERYTHING = "every test stands on it"
CPP_CHECKS = (
    "cpp tools/test_includes.py tools/test_primitive_names.py tools/test_size_limits.py tools/test_type_names.py"
)
PYTHON_CHECKS = "tools/test_imports.py tools/test_size_limits.py docs/test_docstrings.py package/test_stubs.py"

# Beginning of a path → the tests of it, below tests/. Of several the longest counts.
SUITES = {
    "runtime/": f"{CPP_CHECKS} runtime array",
    "ir/": f"{CPP_CHECKS} ir primitives laws transforms ragged",
    "ir/ops/": f"{CPP_CHECKS} primitives laws docs/test_docs.py",
    "interpreter/": f"{CPP_CHECKS} primitives laws transforms errors",
    "transforms/": f"{CPP_CHECKS} primitives laws transforms ragged",
    "transforms/contract/": f"{CPP_CHECKS} laws per_example",
    "transforms/higher_order/": f"{CPP_CHECKS} primitives laws transforms ragged/test_masked_loops.py",
    "device/": f"{CPP_CHECKS} device runtime",
    "jit/": f"{CPP_CHECKS} primitives laws jit device export ragged/test_limits.py",
    "jit/c/": f"{CPP_CHECKS} export",
    "jit/export/": f"{CPP_CHECKS} export ir/test_saved_files.py",
    "jit/store/": f"{CPP_CHECKS} jit runtime/test_exit_and_fork.py",
    "python_bindings/": f"{CPP_CHECKS} array package runtime transforms errors",
    "python_bindings/cotangent/": PYTHON_CHECKS,
    "python_bindings/cotangent/jax/": f"{PYTHON_CHECKS} jax_hook",
    "docs/": "docs/test_docs.py docs/test_site.py",
    "docs/adding_a_primitive.md": "docs/test_docs.py docs/test_site.py primitives/test_adding_a_primitive.py",
    "notebooks/": "docs/test_notebooks.py docs/test_site.py",
    "examples/": "export/test_export_examples.py",
    "examples/ports/": "docs/test_examples.py",
    "benchmarks/": "tools/test_benchmarks.py",
    "benchmarks/gpu/": "device/test_gpu_folder.py",
    "requirements/": "tools/test_dev.py",
    "dev": "tools/test_dev.py",
    "tools/": "tools",
    "tests/cpp/": "cpp",
    "tests/ecosystem/": "jax_hook/test_jax_libraries.py",
    "tests/conftest.py": ".",
    "pyproject.toml": "tools",
    "README.md": "docs/test_docs.py docs/test_site.py",
    "CONTRIBUTING.md": "docs/test_docs.py docs/test_site.py",
    "CHANGELOG.md": "docs/test_docs.py docs/test_site.py",
    "SECURITY.md": "docs/test_docs.py docs/test_site.py",
}


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def where_it_left() -> str:
    """The commit at which this branch left main; on main, and without one, the last commit."""
    if git("rev-parse", "--abbrev-ref", "HEAD") == ["main"]:
        return "HEAD"
    base = subprocess.run(["git", "merge-base", "HEAD", "main"], cwd=ROOT, capture_output=True, text=True, check=False)
    return base.stdout.strip() or "HEAD"


def changed(reference: str) -> list[str]:
    """The paths that differ from a commit, and those that git does not know."""
    return sorted({*git("diff", "--name-only", reference, "--"), *git("ls-files", "--others", "--exclude-standard")})


# ---- tests: what they import and name ----------------------------------------------------------------------------------


def tests_below(root: Path) -> list[Path]:
    return sorted((root / "tests").rglob("test_*.py"))


@cache
def source(file: Path) -> Source:
    return Source(file.read_text())


@cache
def attributes(file: Path) -> frozenset[str]:
    return frozenset(node.attr for node in ast.walk(source(file).tree) if isinstance(node, ast.Attribute))


# ---- the package --------------------------------------------------------------------------------------------------------


def module_of(path: str) -> str | None:
    """The module that a path of the package is."""
    inside = Path(path)
    if inside.parts[:2] != ("python_bindings", "cotangent") or inside.suffix != ".py":
        return None
    return ".".join(inside.parts[1:-1] if inside.stem == "__init__" else [*inside.parts[1:-1], inside.stem])


def changed_lines(path: str, reference: str) -> list[range] | None:
    """Where a file differs from a commit, by its lines now; None for a file that the commit has not."""
    if subprocess.run(["git", "cat-file", "-e", f"{reference}:{path}"], cwd=ROOT, capture_output=True).returncode != 0:
        return None
    hunks = re.findall(
        r"^@@ .*\+(\d+)(?:,(\d+))? @@", "\n".join(git("diff", "-U0", reference, "--", path)), re.MULTILINE
    )
    return [range(int(start), int(start) + max(int(count or 1), 1)) for start, count in hunks]


def changed_definitions(module: str, package: Package, lines: list[range] | None) -> set[Definition]:
    """Those that stand on the lines; all that the module has, where a line is of none and says something."""
    source = package.sources[module]
    found: set[Definition] = set()
    for row in (row for each in lines or () for row in each if row <= len(source.lines)):
        on = {
            Definition(module, name)
            for name, nodes in source.defined.items()
            if any(row in rows_of(node) for node in nodes)
        }
        if not on and source.lines[row - 1].split("#")[0].strip():
            return package.members_of(module)
        found |= on
    return package.members_of(module) if lines is None else found


def rows_of(node: ast.stmt) -> range:
    """The lines of a definition, with its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or first) + 1)


@cache
def the_package() -> Package:
    return Package(PACKAGE)


@cache
def needs(file: Path, package: Package) -> set[Definition]:
    return package.needs([source(file).tree], source(file))


def of_package(paths: list[str], reference: str, root: Path) -> dict[str, str]:
    """The tests of what changed in the Python package."""
    package = the_package()
    found: dict[str, str] = {}
    at_import = {
        each.module for each in package.needs(package.sources[package.name].other, package.sources[package.name])
    }
    for path in paths:
        module = module_of(path)
        if module not in package.sources or module.startswith("cotangent.jax"):
            continue  # what answers for JAX has its own folder of tests
        if module in at_import | {package.name}:
            return {"tests": f"{path}: {EVERYTHING}"}
        affected = package.affected(changed_definitions(module, package, changed_lines(path, reference)))
        affected = {each: origin for each, origin in affected.items() if not each.module.startswith("cotangent.jax")}
        public = {each.name: each for each in affected if each in package.public}
        methods = {name: each for name, each in public.items() if "cotangent.numpy" in package.public[each]}
        for test in tests_below(root):
            named: set[Definition] = set()
            for file in made_of(test):
                named |= needs(file, package) & affected.keys()
                named |= {public[word] for word in source(file).texts & public.keys()}
                named |= {methods[word] for word in attributes(file) & methods.keys()}
            if named:
                first = min(named, key=lambda each: (each.module != module, each))
                through = "" if first.module == module else f", which needs {affected[first].name}"
                found.setdefault(str(test.relative_to(root)), f"{path}: it names {first.name}{through}")
    return found


# ---- the choice ---------------------------------------------------------------------------------------------------------


def suite_of(path: str) -> list[str]:
    begins = [prefix for prefix in SUITES if path == prefix or (prefix.endswith("/") and path.startswith(prefix))]
    return SUITES[max(begins, key=len)].split() if begins else []


@cache
def files_named(file: Path) -> frozenset[str]:
    return frozenset(Path(word).name for word in re.findall(r"[\w./-]*\w\.\w+", file.read_text()))


def chosen(paths: list[str], reference: str = "HEAD", root: Path = ROOT) -> dict[str, str]:
    """The test files and folders to run, each with the first reason for it."""
    found = of_package(paths, reference, root) if any(map(module_of, paths)) else {}
    for path in paths:
        for suite in suite_of(path):
            if (target := root / "tests" / suite).exists():
                found.setdefault(str(target.relative_to(root)), f"{path}: the tests of its folder")
        for test in tests_below(root):
            name = str(test.relative_to(root))
            if root / path in made_of(test):
                found.setdefault(name, "it changed" if path == name else f"{path}: it imports it")
            elif Path(path).suffix in (".py", ".cc", ".h"):
                continue
            elif any(Path(path).name in files_named(file) for file in made_of(test)):
                found.setdefault(name, f"{path}: it names it")
    return without_nested(found)


def without_nested(found: dict[str, str]) -> dict[str, str]:
    """Without the files of folders that are run as a whole."""
    return {path: why for path, why in sorted(found.items()) if not any(str(up) in found for up in Path(path).parents)}


def main(arguments: list[str]) -> int:
    reference = arguments[0] if arguments else where_it_left()
    paths = changed(reference)
    tests = chosen(paths, reference)
    print(
        f"{len(paths)} changed files, {len(tests)} of {len(tests_below(ROOT))} test files or folders:", file=sys.stderr
    )
    width = max(map(len, tests), default=0)
    for path, why in tests.items():
        print(f"  {path:{width}}  {why}", file=sys.stderr)
    print("\n".join(tests))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
