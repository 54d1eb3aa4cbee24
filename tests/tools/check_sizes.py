"""Checks sizes: no file above 600 lines but tables, no class above 40 methods, no Python function above 100 lines.

The lines of C++ functions are clang-tidy's to check (.clang-tidy). Run by `./dev lint` and by the tests; prints each offender
and exits with 1.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("runtime", "ir", "interpreter", "transforms", "device", "jit", "python_bindings")
LINES_OF_FILE, LINES_OF_FUNCTION, METHODS = 600, 100, 40

# Files that are above the limit, and why.
TABLES = {
    "ir/elementary_tables.h": "numbers",
    "python_bindings/cotangent/_base/primitives.pyi": "a signature of each primitive, generated",
}

# Classes that are a list of functions and nothing else, so that there is nothing to split.
VOCABULARIES = {
    "ir/elementary.h:Elementary": "one function of mathematics each",
    "jit/loop/loop.h:Builder": "one kind of statement each",
}

CLASS = re.compile(r"\b(?:class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)(?:\s+final)?\s*(?::[^;{()]*)?\{")
NOT_METHODS = ("using ", "friend ", "typedef ", "static_assert", "enum ", "class ", "struct ", "template class")


def without_text(source: str) -> str:
    """The source without comments, strings and characters; lines stay where they are."""
    pattern = r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
    return re.sub(pattern, lambda match: "\n" * match.group().count("\n"), source, flags=re.DOTALL)


def end_of_block(source: str, opening: int) -> int:
    """The position after the bracket that closes the one at `opening`."""
    depth = 0
    for position in range(opening, len(source)):
        depth += {"{": 1, "}": -1}.get(source[position], 0)
        if depth == 0:
            return position + 1
    return len(source)


def members(body: str) -> list[str]:
    """The declarations of a class, without what is in braces."""
    found, start, position = [], 0, 0
    while position < len(body):
        character = body[position]
        if character == "{":
            found.append(body[start:position])
            position = start = end_of_block(body, position)
            continue
        if character == ";":
            found.append(body[start:position])
            start = position + 1
        position += 1
    return [re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", member).strip() for member in found]


def is_method(member: str) -> bool:
    """Whether a declaration is one of a function, and does something that a reader has to know."""
    if member.endswith(("= default", "= delete")) or member.startswith(NOT_METHODS):
        return False
    head = member.split("=")[0] if "operator" not in member else member
    return re.search(r"[\w>=\]]\s*\(", head) is not None and not re.search(r"function<[^;]*$", head.split("(")[0])


def large_classes(path: str, source: str) -> list[str]:
    """One message for each C++ class of too many methods."""
    code = without_text(source)
    problems = []
    for match in CLASS.finditer(code):
        body = code[match.end() : end_of_block(code, match.end() - 1) - 1]
        methods = {
            m.group(1)
            for member in members(body)
            if is_method(member)
            if (m := re.search(r"(\w+|operator\S+)\s*\(", member))
        }
        if len(methods) > METHODS and f"{path}:{match.group(1)}" not in VOCABULARIES:
            line = code.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{line}: {match.group(1)} has {len(methods)} methods; {METHODS} are the most")
    return problems


def large_python(path: str, source: str) -> list[str]:
    """One message for each Python function or class that is too large; docstrings and signatures do not count."""
    problems = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
            lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > LINES_OF_FUNCTION:
                problems.append(
                    f"{path}:{node.lineno}: {node.name} has {lines} lines; {LINES_OF_FUNCTION} are the most"
                )
        if isinstance(node, ast.ClassDef):
            methods = {m.name for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("__")}
            if len(methods) > METHODS:
                problems.append(f"{path}:{node.lineno}: {node.name} has {len(methods)} methods; {METHODS} are the most")
    return problems


def check_tree(root: Path = ROOT) -> list[str]:
    """All that is too large in the repository."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=root, capture_output=True, text=True, check=True)
    problems = []
    for path in listed.stdout.split():
        file = root / path
        if file.suffix not in (".cc", ".h", ".py", ".pyi") or not file.exists():
            continue
        source = file.read_text()
        lines = source.count("\n")
        if lines > LINES_OF_FILE and path not in TABLES:
            problems.append(f"{path}: {lines} lines; {LINES_OF_FILE} are the most")
        if file.suffix in (".cc", ".h"):
            problems += large_classes(path, source)
        elif file.suffix == ".py":
            problems += large_python(path, source)
    return problems


if __name__ == "__main__":
    found = check_tree()
    print("\n".join(found) if found else "sizes: no file, class or function is too large")
    sys.exit(1 if found else 0)
