"""What `./dev test --device cuda-emulated` leaves out: the marks `processor(reason)` in the tests, as docs/tests.md lists them.

python tests/tools/left_out.py            prints the list
python tests/tools/left_out.py --write    writes it into the page
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tests.md"
BEGIN, END = "<!-- written by tests/tools/left_out.py: -->", "<!-- end of what is left out -->"


def texts(module: ast.Module, reason: ast.expr) -> list[str]:
    """What a mark says: a text, or one of those of a dict of the module."""
    if isinstance(reason, ast.Constant):
        return [str(reason.value)]
    if isinstance(reason, ast.Subscript):
        name = ast.unparse(reason.value)
        for statement in module.body:
            if isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == [name]:
                return [str(text) for text in ast.literal_eval(statement.value).values()]
    raise ValueError(f"the reason of a mark is a text or OF_THE_PROCESSOR[name]: {ast.unparse(reason)}")


def reasons(tests: Path = ROOT / "tests") -> Iterator[tuple[str, str]]:
    """Of every mark: why, and in which file."""
    for file in sorted(tests.glob("*/test_*.py")):
        source = file.read_text()
        if ".mark.processor(" not in source:
            continue
        module = ast.parse(source)
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.processor":
                for text in texts(module, node.args[0]):
                    yield text, file.relative_to(tests).as_posix()


def section(found: Iterator[tuple[str, str]]) -> str:
    """What stands between the marks of the page."""
    files: dict[str, set[str]] = {}
    for reason, file in found:
        files.setdefault(reason, set()).add(file)
    rows = [f"| {', '.join(f'`{file}`' for file in sorted(files[reason]))} | {reason} |" for reason in files]
    return "\n".join([BEGIN, "", "| tests in | why they are the processor's |", "|---|---|", *sorted(rows), "", END])


def written() -> str:
    return BEGIN + PAGE.read_text().split(BEGIN)[1].split(END)[0] + END


def main(arguments: list[str]) -> int:
    text = section(reasons())
    if "--write" in arguments:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(before + text + rest.split(END)[1])
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
