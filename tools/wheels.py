"""Wheels: one for each Python, built from the source distribution without a network, with the libraries that they need inside.

A wheel is built in three steps. `build` compiles, and has the linker write what went into the extension module. auditwheel copies shared
libraries into the wheel, and finds which glibc it needs (`repair`). `finish` adds the notices of what is linked in and the bill of
materials, and says all licences in the metadata.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import linked_software
import sbom
import sdists
from development import ROOT, dev
from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

VERSIONS = ["3.11", "3.12", "3.13", "3.14"]
WORK = ROOT / ".cache" / "release"


@dataclass(frozen=True)
class Interpreter:
    """A Python that wheels can be built for: it has its headers, and the lock that the extension relies on."""

    command: Path
    version: str  # such as 3.11
    exact: str  # such as 3.11.7
    prefix: Path  # the folder with its library and its standard library

    @property
    def tag(self) -> str:
        """Such as cp311."""
        return f"cp{self.version.replace('.', '')}"


_QUESTION = (
    "import json, os, sys, sysconfig; print(json.dumps(['%d.%d' % sys.version_info[:2], sys.version.split()[0], sys.base_prefix, sys.implementation.name, "
    "os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h')), bool(sysconfig.get_config_var('Py_GIL_DISABLED'))]))"
)


def look_at(command: Path) -> Interpreter | str:
    """The interpreter of a command, or why no wheel can be built for it."""
    try:
        done = subprocess.run([str(command), "-c", _QUESTION], capture_output=True, text=True, check=True, timeout=60)
        version, exact, prefix, implementation, has_headers, free_threaded = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return f"{command} does not run: {error}"
    if implementation != "cpython" or free_threaded:
        return f"{command} is not CPython with its lock"
    if not has_headers:
        return f"{command} has no Python.h"
    return Interpreter(command, version, exact, Path(prefix))


def interpreters(given: Sequence[Path] = ()) -> dict[str, Interpreter]:
    """By version: those that were given, then those on the path, then those of pyenv."""
    candidates = list(given)
    candidates += [Path(sys.executable)]
    candidates += [Path("/usr/bin") / f"python{version}" for version in VERSIONS]
    candidates += [Path(found) for version in VERSIONS if (found := shutil.which(f"python{version}"))]
    candidates += sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"), reverse=True)
    result: dict[str, Interpreter] = {}
    for command in candidates:
        if not command.exists():
            if command in given:
                dev.fail(f"there is no {command}")
            continue
        found = look_at(command)
        if isinstance(found, str):
            if command in given:
                dev.fail(found)
        elif found.version in VERSIONS:
            result.setdefault(found.version, found)
    return result


@dataclass(frozen=True)
class Built:
    """A wheel as it was built, and what its extension module was made of."""

    wheel: Path
    software: list[linked_software.Component]


def build(interpreter: Interpreter, source: Path) -> Built:
    """Builds a wheel from unpacked sources without a network."""
    folder = WORK / interpreter.tag
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Beside the sources as build-release is, for ccache to find what that has compiled.
    directory = source / f"build-{interpreter.tag}"
    link_map = folder / "link.map"
    llvm = shutil.which(f"llvm-config-{dev.llvm_version()}")
    arguments = [
        *([f"-Dllvm_config={llvm}"] if llvm else []),
        f"-Dcpp_link_args=-Wl,-Map={link_map}",
    ]
    settings = {"build-dir": str(directory), "setup-args": arguments}
    program = f"import mesonpy; mesonpy.build_wheel({str(folder)!r}, {settings!r})"
    site = Path(sysconfig.get_path("purelib"))
    # Where a clone has it, and by the same relative path: what a clone compiled, ccache then has for us, too.
    beside = source / site.relative_to(ROOT)
    shutil.copytree(site / "pybind11", beside / "pybind11", dirs_exist_ok=True)
    env = (
        dev.environment()
        | {
            "PYTHONPATH": f"{beside}{os.pathsep}{site}",  # meson-python is pure Python: any interpreter can run that of .venv
            "PYTHONDONTWRITEBYTECODE": "1",
            "SOURCE_DATE_EPOCH": sdists.commit_time(),
            "CCACHE_BASEDIR": str(source),
        }
    )
    command = ["env", "-C", str(source), str(interpreter.command), "-c", program]
    dev.step(f"wheel for Python {interpreter.version}", sdists.without_network(command), env)
    wheel = next(folder.glob("*.whl"))
    software = linked_software.of_build(directory, link_map)
    return Built(wheel, software)


@dataclass(frozen=True)
class Repaired:
    """A wheel that any Linux with the glibc of its tag can load."""

    wheel: Path
    explanation: str  # what auditwheel says decides the tag
    software: list[linked_software.Component]


def repair(built: Built) -> Repaired:
    """Copies the shared libraries that it needs into the wheel, and names the oldest glibc that it works with."""
    folder = built.wheel.parent / "repaired"
    explanation = subprocess.run(
        [dev.PYTHON, "-m", "auditwheel", "show", built.wheel],
        capture_output=True,
        text=True,
        check=True,
        env=dev.environment(),
    ).stdout
    shared = linked_software.shared_libraries(built.wheel)
    command = [dev.PYTHON, "-m", "auditwheel", "repair", "--strip", "-w", folder, built.wheel]
    dev.step("copy shared libraries into the wheel", command)
    wheel = next(folder.glob("*.whl"))
    return Repaired(wheel, explanation, linked_software.merged([*built.software, *shared]))


def finish(repaired: Repaired, folder: Path) -> Path:
    """Adds notices and the bill of materials, and writes the wheel into a folder."""
    work = repaired.wheel.parent / "unpacked"
    shutil.rmtree(work, ignore_errors=True)
    dev.step("unpack the wheel", [dev.PYTHON, "-m", "wheel", "unpack", "-d", work, repaired.wheel])
    tree = next(work.iterdir())
    info = next(tree.glob("*.dist-info"))
    version = re.search(r"^Version: (.*)$", (info / "METADATA").read_text(), re.MULTILINE)
    assert version is not None
    files = linked_software.write_notices(repaired.software, info / "licenses")
    (info / "sboms").mkdir(exist_ok=True)
    materials = sbom.of_wheel(repaired.wheel.name, version.group(1), repaired.software, int(sdists.commit_time()))
    (info / "sboms" / "cotangent.cdx.json").write_text(json.dumps(materials, indent=2) + "\n")
    metadata = with_licences(
        (info / "METADATA").read_text(), linked_software.expression(repaired.software), sorted(files)
    )
    (info / "METADATA").write_text(metadata)
    folder.mkdir(parents=True, exist_ok=True)
    env = dev.environment() | {"SOURCE_DATE_EPOCH": sdists.commit_time()}
    dev.step("pack the wheel", [dev.PYTHON, "-m", "wheel", "pack", "-d", folder, tree], env)
    return folder / repaired.wheel.name


def bill_of_materials(wheel: Path) -> dict[str, Any]:
    """Ours, out of a finished wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/sboms/cotangent.cdx.json"))
        return dict(json.loads(archive.read(name)))


def what_decides(explanation: str) -> list[str]:
    """The lines of auditwheel's explanation that say which tag, and which versions of symbols it comes from."""
    text = " ".join(explanation.split())
    tags = re.findall(r'following platform tag: "([^"]+)"', text) + re.findall(
        r'constrains the platform tag to "([^"]+)"', text
    )
    symbols = re.findall(
        r"(libc\.so\.6|libstdc\+\+\.so\.6|libm\.so\.6|libgcc_s\.so\.1) with versions (\{[^}]*\})", text
    )
    newest = {}
    for library, versions in symbols:
        names = re.findall(r"'([A-Z]+_[0-9.]+)'", versions)
        newest[library] = max(names, key=lambda name: [int(part) for part in name.split("_")[1].split(".")], default="")
    return [f"auditwheel: {', '.join(dict.fromkeys(tags))}; newest symbols: {newest}"]


def with_licences(metadata: str, expression: str, files: Sequence[str]) -> str:
    """METADATA that says which licences a wheel is under, and which files tell of them."""
    head, separator, body = metadata.partition("\n\n")
    lines = head.split("\n")
    if not any(line.startswith("License-Expression:") for line in lines):
        raise ValueError("the metadata has no License-Expression")
    lines = [f"License-Expression: {expression}" if line.startswith("License-Expression:") else line for line in lines]
    last = max(i for i, line in enumerate(lines) if line.startswith(("License-File:", "License-Expression:")))
    lines[last + 1 : last + 1] = [f"License-File: {name}" for name in files]
    return "\n".join(lines) + separator + body


def complaints(wheel: Path, most_mib: float) -> list[str]:
    """What is wrong with a finished wheel."""
    found = []
    size = wheel.stat().st_size / 2**20
    if size > most_mib:
        found.append(f"{wheel.name} has {size:.1f} MiB, more than {most_mib:.0f}")
    if "-manylinux_" not in wheel.name:
        found.append(f"{wheel.name} has no manylinux tag")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    head = metadata.partition("\n\n")[0]
    required = [line for line in head.split("\n") if line.startswith("Requires-Dist:")]
    always = [line for line in required if "extra ==" not in line]
    if [line.split()[1].split(">")[0] for line in always] != ["numpy"]:
        found.append(f"{wheel.name} needs more than NumPy: {always}")
    listed = re.findall(r"^License-File: (.*)$", head, re.MULTILINE)
    for file in listed:
        if not any(name.endswith(f".dist-info/licenses/{file}") for name in names):
            found.append(f"{wheel.name} names the licence file {file}, and has none")
    if any("__pycache__" in name or name.endswith(".pyc") for name in names):
        found.append(f"{wheel.name} has compiled Python files")
    return found


def complaints_about_licences(wheel: Path) -> list[str]:
    """What is wrong with what a finished wheel says of the software in it: its metadata, notices and bills of materials together."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
        bills = {Path(name).name: json.loads(archive.read(name)) for name in names if ".dist-info/sboms/" in name}
    found = []
    stated = re.findall(r"^License-Expression: (.*)$", metadata.partition("\n\n")[0], re.MULTILINE)
    try:
        licences = set(canonicalize_license_expression(stated[0]).split(" AND ")) if stated else set()
    except InvalidLicenseExpression as error:
        return [f"{wheel.name}: {error}"]
    components = bills["cotangent.cdx.json"]["components"]
    named = {licence["expression"] for one in components for licence in one["licenses"] if "expression" in licence}
    for licence in sorted(named - licences):
        found.append(f"{wheel.name} is under {licence}, too, which its License-Expression does not say")
    for licence in sorted(licences - named - {linked_software.OWN_LICENCE}):
        found.append(f"{wheel.name} says {licence}, and nothing in it is under that")
    notices = {Path(name).name for name in names if ".dist-info/licenses/linked/" in name}
    for one in components:
        if f"{linked_software.key_of(one['purl'])}.txt" not in notices:
            found.append(f"{wheel.name} has {one['purl']}, and no notice of it")
    # What auditwheel has copied, by its own account.
    copied = {one["purl"] for one in bills.get("auditwheel.cdx.json", {}).get("components", [])}
    ours = {one["purl"] for one in components}
    for address in sorted(address for address in copied - ours if not address.startswith("pkg:pypi/cotangent@")):
        found.append(f"{wheel.name} has {address}, which the bill of materials does not name")
    if any(".libs/" in name for name in names) and not copied:
        found.append(f"{wheel.name} has shared libraries, and no account of auditwheel's of them")
    return found
