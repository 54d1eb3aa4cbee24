"""Draws who uses whom, from the includes and imports as they stand: docs/structure/*.svg. Run by `./dev docs`; a test compares.

Each picture has the users above what they use. Arrows that follow from others are left out; a circle is an error.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("runtime", "ir", "interpreter", "transforms", "device", "jit", "python_bindings")
Arrows = dict[str, set[str]]  # user -> what it uses


def folder_of(path: Path, compiler: bool) -> str | None:
    """The room that a C++ file stands in: a folder of the repository or, with `compiler`, of jit/."""
    parts = path.parts
    if parts[0] not in FOLDERS or path.suffix not in {".h", ".cc"}:
        return None
    if not compiler:
        return parts[0]
    if parts[0] != "jit":
        return None
    return parts[1] if len(parts) > 2 else "driver"


def includes(compiler: bool) -> Arrows:
    """The folders of C++ files, and whose headers they include."""
    arrows: Arrows = {}
    for top in FOLDERS:
        for file in (ROOT / top).rglob("*"):
            user = folder_of(file.relative_to(ROOT), compiler)
            if user is None:
                continue
            arrows.setdefault(user, set())
            for header in re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE):
                used = folder_of(Path(header), compiler)
                if used is not None and used != user:
                    arrows[user].add(used)
    return arrows


def imports() -> Arrows:
    """The rooms of the Python package: folders, and the modules beside them as one."""
    package = ROOT / "python_bindings" / "cotangent"
    rooms = {path.name for path in package.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    modules = {path.stem for path in package.glob("*.py")}
    arrows: Arrows = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package).parts
        if parts == ("__init__.py",):
            continue
        user = parts[0] if len(parts) > 1 else file.stem
        arrows.setdefault(user, set())
        for node in ast.walk(ast.parse(file.read_text())):
            names: list[str] = []
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "cotangent":
                parts_used = node.module.split(".")[1:]
                names = [parts_used[0]] if parts_used else [alias.name for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [name.name.split(".")[1] for name in node.names if name.name.startswith("cotangent.")]
            arrows[user] |= {name for name in names if name in rooms | modules and name != user}
    return arrows


def levels(arrows: Arrows) -> dict[str, int]:
    """How high each stands: above all that it uses."""
    found: dict[str, int] = {}

    def level(name: str, above: tuple[str, ...]) -> int:
        if name in above:
            raise ValueError(f"a circle: {' -> '.join([*above[above.index(name) :], name])}")
        if name not in found:
            found[name] = max((level(used, (*above, name)) + 1 for used in sorted(arrows[name])), default=0)
        return found[name]

    for name in sorted(arrows):
        level(name, ())
    return found


def reach(name: str, arrows: Arrows) -> set[str]:
    """All that `name` uses, by way of others too."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for used in arrows[waiting.pop()] - found:
            found.add(used)
            waiting.append(used)
    return found


def essential(arrows: Arrows) -> Arrows:
    """Without the arrows that follow from others."""
    return {
        user: {used for used in direct if not any(used in reach(other, arrows) for other in direct - {used})}
        for user, direct in arrows.items()
    }


def drawing(title: str, arrows: Arrows) -> str:
    """The picture as SVG."""
    height = levels(arrows)
    rows: list[list[str]] = [[] for _ in range(max(height.values()) + 1)]
    for name in sorted(height):
        rows[-1 - height[name]].append(name)
    high, gap, wide_gap = 34, 44, 18
    width = {name: 9 * len(name) + 24 for name in height}
    total = max(sum(width[name] for name in row) + wide_gap * (len(row) - 1) for row in rows) + 40
    place: dict[str, tuple[float, float]] = {}
    for i, row in enumerate(rows):
        x = (total - sum(width[name] for name in row) - wide_gap * (len(row) - 1)) / 2
        for name in row:
            place[name] = (x + width[name] / 2, 20 + i * (high + gap))
            x += width[name] + wide_gap
    tall = len(rows) * (high + gap)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total:g}" height="{tall}" viewBox="0 0 {total:g} {tall}" role="img" '
        f'font-family="monospace" font-size="14"><title>{title}</title>',
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
    ]
    lines += _curves(essential(arrows), place, high)
    for name, (x, y) in sorted(place.items()):
        lines.append(
            f'<rect x="{x - width[name] / 2:g}" y="{y:g}" width="{width[name]}" height="{high}" rx="6" fill="#eef3fb" '
            f'stroke="#3b5b92"/><text x="{x:g}" y="{y + 22:g}" text-anchor="middle">{name}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _curves(arrows: Arrows, place: dict[str, tuple[float, float]], high: int) -> Iterable[str]:
    for user in sorted(arrows):
        for used in sorted(arrows[user]):
            (x, y), (to_x, to_y) = place[user], place[used]
            middle = (y + high + to_y) / 2
            yield (
                f'<path d="M{x:g},{y + high:g} C{x:g},{middle:g} {to_x:g},{middle:g} {to_x:g},{to_y:g}" fill="none" '
                'stroke="#777" marker-end="url(#tip)"/>'
            )


def pictures() -> dict[str, str]:
    """File names under docs/structure and their contents."""
    return {
        "folders.svg": drawing("The folders of the repository", includes(compiler=False)),
        "compiler.svg": drawing("The folders of the compiler, jit/", includes(compiler=True)),
        "package.svg": drawing("The Python package", imports()),
    }


if __name__ == "__main__":
    directory = Path(__file__).with_name("structure")
    directory.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (directory / name).write_text(text)
