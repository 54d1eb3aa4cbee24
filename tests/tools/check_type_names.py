"""Checks that no two files define different types of one name in one namespace, of which the linker would keep the functions of either.

Run by the tests; prints each offender and exits with 1.
"""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("runtime", "ir", "interpreter", "transforms", "device", "jit", "python_bindings")
OPENED = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
CLOSED = re.compile(r"^\}  // namespace")
TYPE = re.compile(r"^(?:struct|class|enum class|union) (\w+)(?: final)?(?: : .*| ?\{.*)$")


def types_of(source: str) -> list[str]:
    """The types that a file defines in namespaces with names, not inside other types, with these names."""
    inside: list[str | None] = []
    found = []
    for line in source.splitlines():
        if opened := OPENED.match(line):
            inside.append(opened.group(1))
        elif CLOSED.match(line) and inside:
            inside.pop()
        elif (defined := TYPE.match(line)) and None not in inside:
            found.append("::".join([str(name) for name in inside] + [defined.group(1)]))
    return found


def check_tree(root: Path = ROOT) -> list[str]:
    """One message for each name of several types."""
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=root, capture_output=True, text=True, check=True)
    places = defaultdict(list)
    for path in listed.stdout.split():
        if path.endswith((".cc", ".h")) and (root / path).exists():
            for name in types_of((root / path).read_text()):
                if path not in places[name]:  # under several conditions, maybe
                    places[name].append(path)
    return [f"{name} is defined in {' and in '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


if __name__ == "__main__":
    problems = check_tree()
    print("\n".join(problems))
    sys.exit(bool(problems))
