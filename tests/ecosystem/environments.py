"""The two environments of `./dev ecosystem`: `requirements/ecosystem.txt` beside JAX in one, beside this package in the other.

Both hold the same versions of the same libraries, installed without their dependencies: those are in the list, too, except JAX, which
`requirements/constraints.txt` pins. This package is a link to the build's, so that the second environment is never behind it.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
REQUIREMENTS = ROOT / "requirements" / "ecosystem.txt"
CONSTRAINTS = ROOT / "requirements" / "constraints.txt"
CACHE = ROOT / ".cache" / "ecosystem"


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the libraries, and what `import jax` gives there."""

    folder: Path
    hook: bool

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Where packages are."""
        return next((self.folder / "lib").glob("python3*")) / "site-packages"

    @property
    def variables(self) -> dict[str, str]:
        """What switches JAX, or the hook, on in all processes of it."""
        return {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", "COTANGENT_JAX": "1" if self.hook else "0"}


WITH_JAX = Environment(ROOT / ".venv-ecosystem-jax", hook=False)
WITH_HOOK = Environment(ROOT / ".venv-ecosystem", hook=True)


def versions() -> dict[str, str]:
    """The version of every library in the list, by the name that PyPI has for it."""
    lines = [line.strip() for line in REQUIREMENTS.read_text().splitlines()]
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def pip(environment: Environment, *arguments: str | Path) -> None:
    """Runs pip of an environment; its output is shown when it fails."""
    command = [environment.python, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


def prepare(environment: Environment) -> None:
    """Makes an environment, or does nothing where it is up to date."""
    digest = hashlib.sha256(f"{REQUIREMENTS.read_text()}{constrained('jax')}{sys.version}".encode()).hexdigest()
    stamp = environment.folder / "libraries.stamp"
    if not stamp.exists() or stamp.read_text() != digest:
        print(f"── libraries for {environment.folder.name}", flush=True)
        if not environment.python.exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(environment.folder)], check=True)
        pip(environment, "install", "--no-deps", "--progress-bar", "off", "-r", REQUIREMENTS)
        if not environment.hook:
            pip(environment, "install", "--no-deps", "--progress-bar", "off", "-c", CONSTRAINTS, "jax", "jaxlib")
        stamp.write_text(digest)
    if environment.hook:
        import cotangent

        package = Path(cotangent.__file__).parent
        for source in (package, package.parent / "cotangent_jax.pth"):
            link = environment.site / source.name
            link.unlink(missing_ok=True)
            link.symlink_to(source)


def build_of(environment: Environment) -> str:
    """What tells one build of what `import jax` gives from another: results of the one are not those of the other."""
    if not environment.hook:
        return f"JAX {constrained('jax')}"
    digest = hashlib.sha256()
    for file in sorted((environment.site / "cotangent").rglob("*")):
        if file.suffix in (".py", ".so", ".txt"):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def constrained(name: str) -> str:
    """The version of a package that the constraints pin."""
    return next(
        line.split("==")[1] for line in CONSTRAINTS.read_text().splitlines() if line.lower().startswith(f"{name}==")
    )
