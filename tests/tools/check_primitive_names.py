"""Checks that no pass, transform or back end asks which primitive it has before it, except that primitive's own rules.

What they may ask about are properties of the record (ir/primitive.h). To bind an equation by a handle or a function of
ir/ops.h is not to ask. Run by `./dev lint` and by the tests; prints each offending line and exits with 1.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("ir", "interpreter", "transforms", "device", "jit", "python_bindings")
RULES = "ir/ops/"  # records with their rules
RECORDS = "python_bindings/cotangent/_base/primitives.pyi"

# file → why it names primitives.
ALLOWED = {
    "interpreter/kernels/table.cc": "the slot `kernel`, which no record can fill: they stand in the layer below",
    "jit/lower/library_calls.cc": "the same of loops that stand for libraries",
    "transforms/higher_order/checkpoint.cc": "policies are about tags by definition",
}
MOST_ALLOWED = 5

DEFINED = re.compile(r"const Primitive& (k\w+) = define\(")
OWN_NAME = re.compile(r'(?:\.name = |PrimitiveRef self\(|\b(?:expanding|applied)\()"(\w+)"')
# The address of a handle is for comparing and for tables; `made_by` takes what it compares with.
HANDLE = re.compile(r"&(?:\w+::)?(k[A-Z]\w*)|\bmade_by\([^;]*?[^:\w](k[A-Z]\w*)\)")
TEXT = re.compile(
    r'\b(?:find_primitive|get_primitive|PrimitiveRef(?: \w+)?)[({]"(\w+)"'
    r'|\bname(?:\(\))? ?[!=]= ?"(\w+)"|"(\w+)" ?[!=]= ?\w*(?:->|\.)?name\b'
)
LIST = re.compile(r'\{\s*("\w+"(?:,\s*"\w+")+)\s*\}')


def names_of_primitives() -> set[str]:
    """The records, as Python's stubs list them."""
    return {name.rstrip("_") for name in re.findall(r"^(\w+): _", (ROOT / RECORDS).read_text(), re.MULTILINE)}


def sources() -> dict[str, str]:
    """Every C++ file by its path from the root."""
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in {".cc", ".h"})
    return {file.relative_to(ROOT).as_posix(): file.read_text() for file in files}


def violations(path: str, text: str, handles: set[str], names: set[str]) -> list[str]:
    """One message for each place of the file that asks for a primitive that it does not define."""
    if path.startswith(RULES) or "rimitive" not in text:
        return []
    code = re.sub(r"//.*", "", text)
    own = {*DEFINED.findall(code), *OWN_NAME.findall(code)}
    found = []
    for pattern in (HANDLE, TEXT, LIST):
        for match in pattern.finditer(code):
            words = {word for group in match.groups() if group for word in re.findall(r"\w+", group)}
            known = handles if pattern is HANDLE else names
            if pattern is LIST and not words <= known:
                continue
            for word in sorted((words & known) - own):
                line = code.count("\n", 0, match.start()) + 1
                found.append(f"{path}:{line}: asks for {word}: a property of its record should tell (ir/primitive.h)")
    return found


def check_tree(allowed: dict[str, str]) -> list[str]:
    """All violations, and the files that are allowed some and have none."""
    files = sources()
    handles = {handle for text in files.values() for handle in DEFINED.findall(text)}
    names = names_of_primitives()
    found = {path: violations(path, text, handles, names) for path, text in files.items()}
    needless = [f"{path}: names no primitive: strike it from the list" for path in allowed if not found.get(path)]
    return needless + [line for path, lines in found.items() if path not in allowed for line in lines]


if __name__ == "__main__":
    problems = check_tree(ALLOWED)
    print("\n".join(problems) if problems else "primitives: nobody asks for one by name")
    sys.exit(1 if problems else 0)
