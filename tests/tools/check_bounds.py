"""Checks that nothing above `cotangent._ops` reads ``_bound_shape``: its functions are of exact and ragged arrays alike.

Code that handles the bounds of ragged axes by itself works until someone masks. What it needs is in `cotangent._ops.extents` and
`cotangent._ops.sizes`. Run by `./dev lint` and by the tests; prints each offending line and exits with 1.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python_bindings" / "cotangent"
WORD = "_bound_shape"


def layers_above(name: str) -> list[str]:
    """The modules of the layers above the one of that name, from the contract in pyproject.toml."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    above = layers[: layers.index(name)]
    return [module.strip() for layer in above for module in layer.split(":")]


def violations(path: str, text: str) -> list[str]:
    """One message per line that reads the bounds."""
    return [
        f"{path}:{number}: {WORD} is for cotangent._ops and below: use cotangent._ops.extents"
        for number, line in enumerate(text.splitlines(), 1)
        if WORD in line
    ]


def check_tree(package: Path = PACKAGE) -> list[str]:
    """All violations in a package."""
    found = []
    for module in layers_above("_ops"):
        files = [package / f"{module}.py"] if (package / f"{module}.py").exists() else (package / module).rglob("*.py")
        for file in sorted(files):
            found += violations(file.relative_to(package).as_posix(), file.read_text())
    return found


if __name__ == "__main__":
    problems = check_tree()
    print("\n".join(problems) if problems else "bounds: nothing above _ops reads them")
    sys.exit(1 if problems else 0)
