"""Bare Debian systems in folders: what a new user's machine has, and nothing more. What a release installs is tried in them.

A root is made once by debootstrap, with Python and what makes virtual environments, and kept in ``.cache/roots``. Commands run in a copy of
it, which is thrown away, in namespaces of their own: they see no network, and nothing that they mount or start is left behind.

A root also lends its Python: `interpreter` makes a command of it that runs outside of the root, with the root's C library, and to
which this machine's compiler can be pointed. So wheels are built on the oldest system for Pythons that only newer ones have.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from development import ROOT, dev

ROOTS = ROOT / ".cache" / "roots"
SCRIPTS = Path("/usr/share/debootstrap/scripts")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PACKAGES = ["python3", "python3-venv"]


@dataclass(frozen=True)
class Distribution:
    """A release of Debian, and the version of its Python."""

    suite: str
    name: str
    python: str


DISTRIBUTIONS = [
    Distribution("bookworm", "Debian 12", "3.11"),
    Distribution("trixie", "Debian 13", "3.13"),
    Distribution("forky", "Debian testing (14)", "3.14"),
]


class CannotBeMadeError(Exception):
    """A root is not to be had on this machine; the text says what is missing."""


def codename() -> str:
    """The release of Debian that this machine runs, such as bookworm; nothing: it runs none."""
    lines = Path("/etc/os-release").read_text().splitlines()
    named = dict(line.split("=", 1) for line in lines if "=" in line)
    return named.get("VERSION_CODENAME", "").strip('"')


def of_this_machine() -> Distribution:
    """The release of Debian whose libraries the interpreters of this machine were made with.

    Raises:
        CannotBeMadeError: there is no root of it.
    """
    for distribution in DISTRIBUTIONS:
        if distribution.suite == codename():
            return distribution
    raise CannotBeMadeError(f"this machine runs none of {', '.join(one.name for one in DISTRIBUTIONS)}")


def what_is_missing() -> str:
    """Why this machine cannot make roots; nothing: it can."""
    if os.geteuid() != 0:
        return "bare Debian roots need root (chroot, mount)"
    needed = [name for name in ("debootstrap", "chroot", "unshare", "mount") if not shutil.which(name)]
    return f"missing: {', '.join(needed)} (apt-get install debootstrap)" if needed else ""


def debian_archive() -> str:
    """Where this machine's apt gets Debian's packages from."""
    texts = [file.read_text() for file in Path("/etc/apt/sources.list.d").glob("*.sources")]
    for text in texts:
        for paragraph in text.split("\n\n"):
            uris = re.search(r"^URIs:\s*(\S+)", paragraph, re.MULTILINE)
            suites = re.search(r"^Suites:\s*(.*)$", paragraph, re.MULTILINE)
            if uris and suites and any(suite in _SUITES for suite in suites.group(1).split()):
                return uris.group(1)
    lists = [*Path("/etc/apt/sources.list.d").glob("*.list"), Path("/etc/apt/sources.list")]
    for file in lists:
        for line in file.read_text().splitlines() if file.exists() else []:
            found = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s", line)
            if found and found.group(2) in _SUITES:
                return found.group(1)
    raise CannotBeMadeError("apt has no source of Debian's packages")


_SUITES = {"bookworm", "trixie", "forky", "sid", "stable", "testing"}


def make(distribution: Distribution) -> Path:
    """The root of a distribution, made if it is not there.

    Raises:
        CannotBeMadeError: something for it is missing, or the archive does not have it.
    """
    root = ROOTS / distribution.suite
    complete = root / ".complete"
    if complete.exists():
        return root
    if missing := what_is_missing():
        raise CannotBeMadeError(missing)
    if root.exists():
        shutil.rmtree(root)
    ROOTS.mkdir(parents=True, exist_ok=True)
    known = SCRIPTS / distribution.suite
    command = [
        "debootstrap",
        "--variant=minbase",
        f"--include={','.join(PACKAGES)}",
        distribution.suite,
        str(root),
        debian_archive(),
        *([] if known.exists() else [str(SCRIPTS / "sid")]),  # all newer ones are made alike
    ]
    try:
        dev.step(f"bare {distribution.name} (debootstrap {distribution.suite})", command, dict(os.environ))
    except SystemExit as error:
        raise CannotBeMadeError(f"debootstrap of {distribution.suite} failed") from error
    complete.touch()
    return root


@contextlib.contextmanager
def copy(root: Path) -> Iterator[Path]:
    """A copy of a root to do anything in, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"{root.name}-", dir=ROOTS))
    try:
        subprocess.run(["cp", "-a", "--reflink=auto", f"{root}/.", str(folder)], check=True)
        yield folder
    finally:
        # Nothing is mounted in it: mounts live in the namespace of the command. The option is for safety.
        subprocess.run(["rm", "-rf", "--one-file-system", str(folder)], check=False)


# The namespaces end with the command, and what is mounted and runs in them with it.
_IN_ROOT = """
set -e
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/tmp"
ip link set lo up 2>/dev/null || true
root=$1; shift
exec chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
"""


def command_in(root: Path, command: Sequence[str], network: bool = False) -> list[str]:
    """The command that runs another as root in a root, by default without a network."""
    namespaces = ["--mount", "--pid", "--fork", "--kill-child", *([] if network else ["--net"])]
    return ["unshare", *namespaces, "sh", "-c", _IN_ROOT, "sh", str(root), *command]


def with_packages(root: Path, packages: Sequence[str]) -> Path:
    """A root beside another, with more of Debian's packages in it."""
    other = root.with_name(f"{root.name}-with-{'-'.join(packages)}")
    complete = other / ".complete-packages"
    if complete.exists():
        return other
    if other.exists():
        shutil.rmtree(other)
    subprocess.run(["cp", "-a", "--reflink=auto", f"{root}/.", str(other)], check=True)
    shutil.copytree("/etc/apt/apt.conf.d", other / "etc/apt/apt.conf.d", dirs_exist_ok=True)
    for name in ("resolv.conf", "hosts"):
        shutil.copy(Path("/etc") / name, other / "etc" / name)
    install = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
    dev.step(f"packages for {other.name}", command_in(other, ["sh", "-c", install], network=True), dict(os.environ))
    complete.touch()
    return other


def put_interpreter(root: Path, prefix: Path) -> None:
    """Puts a Python of this machine into a root, at the same place and as it was made: without packages installed for it.

    Nothing else comes with it: libraries that its modules load are the root's, which has them for its own Python.

    Raises:
        CannotBeMadeError: the Python has no folder of its own.
    """
    if not prefix.is_dir() or prefix in (Path("/"), Path("/usr")):
        raise CannotBeMadeError(f"a Python in {prefix} has no folder of its own that could be put there")
    unwanted = shutil.ignore_patterns("site-packages", "__pycache__", "test")
    shutil.copytree(prefix, root / prefix.relative_to("/"), symlinks=True, ignore=unwanted)


def interpreter(distribution: Distribution) -> Path:
    """A command that runs the Python of a distribution here, with its headers, as ``sys.executable`` too."""
    name = f"python{distribution.python}"
    command = program(distribution, f"lib{name}-dev", name)
    # Debian's pyconfig.h includes that of the processor, from a folder that the compiler knows of this system's alone.
    include = command.parents[2] / "include"
    processor = f"{platform.machine()}-linux-gnu"
    link = include / name / processor / name
    if not link.exists():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(include / processor / name)
    return command


def program(distribution: Distribution, package: str, name: str) -> Path:
    """A command that runs a program of a distribution here: it has that root's libraries and this machine's files."""
    root = with_packages(make(distribution), [package])
    # From here Python finds the folder of its library, upwards; PYTHONHOME would say so to every other Python that it starts, too.
    command = root / "usr" / "local" / "bin" / name
    command.write_text(
        f'#!/bin/sh\nexec {root}/lib64/ld-linux-x86-64.so.2 --argv0 "$0" --library-path {root}/usr/lib/x86_64-linux-gnu '
        f'{root}/usr/bin/{name} "$@"\n'
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return command
