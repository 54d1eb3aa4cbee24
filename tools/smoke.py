"""The smoke suite in bare systems: a wheel is installed there from a folder, with NumPy alone, and then tried with pytest."""

from __future__ import annotations

import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import bare_roots
import sdists
import wheels
from development import ROOT, dev

SUITE = ROOT / "tests" / "smoke"
LOGS = ROOT / ".cache" / "logs"

# In a folder with the wheels and the suite; $1 is the Python. What is there after `pip install cotangent` is looked at before pytest comes.
_PROGRAM = """
set -e
cd "$2"
"$1" -m venv environment
environment/bin/python -m pip install --quiet --no-index --find-links wheels --only-binary :all: --no-cache-dir cotangent
echo "installed: $(environment/bin/python -m pip list --format=freeze --exclude pip --exclude setuptools --exclude wheel | tr '\\n' ' ')"
environment/bin/python -c 'import importlib.metadata as m, cotangent as ct; assert m.version("cotangent") == ct.__version__'
environment/bin/python -c 'import cotangent as ct; assert float(ct.jit(ct.grad(lambda x: x**3))(2.0)) == 12'
environment/bin/python -m pip install --quiet --no-index --find-links wheels --only-binary :all: --no-cache-dir pytest
environment/bin/python -m pytest -p no:cacheprovider -ra smoke
"""


@dataclass(frozen=True)
class Result:
    """How a wheel did on a system."""

    system: str
    wheel: str
    passed: bool
    line: str  # pytest's last line, or what went wrong
    seconds: float


def gather(wheel: Path, version: str, folder: Path) -> Path:
    """A folder with the wheel, those of NumPy and pytest for its Python, and the suite."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "wheels").mkdir(parents=True)
    shutil.copy(wheel, folder / "wheels")
    glibc = ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
    command = [dev.PYTHON, "-m", "pip", "download", "--progress-bar", "off", "--only-binary", ":all:"]
    command += ["--python-version", version, *(part for name in glibc for part in ("--platform", name))]
    command += ["-d", folder / "wheels", "-c", ROOT / "requirements" / "constraints.txt", "numpy", "pytest"]
    dev.step(f"wheels of NumPy and pytest for Python {version}", command)
    shutil.copytree(SUITE, folder / "smoke", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def in_root(distribution: bare_roots.Distribution, wheel: Path) -> Result:
    """Installs and tries a wheel in a copy of a bare root, by the Python that it has, without a network."""
    with bare_roots.copy(bare_roots.make(distribution)) as copy:
        return _in_copy(distribution.name, copy, distribution.python, "python3", wheel)


def in_root_with(interpreter: wheels.Interpreter, wheel: Path) -> Result:
    """The same for a Python that no release of Debian has: this machine's own is put into the root of the release that it runs."""
    distribution = bare_roots.of_this_machine()
    with bare_roots.copy(bare_roots.make(distribution)) as copy:
        bare_roots.put_interpreter(copy, interpreter.prefix)
        system = f"{distribution.name} with CPython {interpreter.exact}"
        command = str(interpreter.prefix / "bin" / f"python{interpreter.version}")
        return _in_copy(system, copy, interpreter.version, command, wheel)


def _in_copy(system: str, copy: Path, version: str, python: str, wheel: Path) -> Result:
    gather(wheel, version, copy / "root" / "smoke")
    command = bare_roots.command_in(copy, ["sh", "-c", _PROGRAM, "sh", python, "/root/smoke"])
    compiler = (copy / "usr/bin/cc").exists()
    return _run(f"{system}, bare{', with a compiler' if compiler else ''}", wheel, command)


def here(interpreter: wheels.Interpreter, wheel: Path) -> Result:
    """Installs and tries a wheel in a virtual environment of this machine, without a network."""
    folder = gather(wheel, interpreter.version, wheels.WORK / "smoke")
    command = sdists.without_network(["sh", "-c", _PROGRAM, "sh", str(interpreter.command), str(folder)])
    return _run(f"this machine, {interpreter.command}", wheel, command)


def _run(system: str, wheel: Path, command: list[str]) -> Result:
    dev.say(f"── smoke suite of {wheel.name} on {system}")
    start = time.monotonic()
    env = {name: value for name, value in dev.environment().items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, env=env)
    seconds = time.monotonic() - start
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"smoke-{system.split(',')[0].replace(' ', '-').lower()}-{wheel.name.split('-')[2]}.log"
    log.write_text(done.stdout + done.stderr)
    lines = (done.stdout + done.stderr).strip().splitlines()
    installed = next((line for line in lines if line.startswith("installed: ")), "installed: nothing")
    dev.say(f"   {installed}")
    names = {package.split("==")[0] for package in installed.split()[1:]}
    if done.returncode != 0:
        print("\n".join(lines[-25:]))
        return Result(system, wheel.name, False, f"status {done.returncode}: {lines[-1] if lines else ''}", seconds)
    if names != {"cotangent", "numpy"}:
        return Result(system, wheel.name, False, f"pip installed {', '.join(sorted(names))}", seconds)
    return Result(system, wheel.name, True, lines[-1].strip("= "), seconds)
