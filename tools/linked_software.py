"""What of other people's software is inside of a wheel: found from the build, not from a list.

Three sources say it: the linker's map, which has each archive of which something was left in the extension module; the dependencies that
the compiler wrote, which have each header; and the wheel, which has the shared libraries that it names. Each file is asked for at dpkg, or
found in the environment, and has to have an entry in linked_software.toml, where its licence is.
"""

from __future__ import annotations

import fnmatch
import functools
import importlib.metadata
import os
import re
import subprocess
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from development import ROOT, dev

TABLE = ROOT / "tools" / "linked_software.toml"
NOTICES = ROOT / "tools" / "notices"
COMMON_LICENCES = Path("/usr/share/common-licenses")
DPKG_LISTS = Path("/var/lib/dpkg/info")
OWN_LICENCE = "Apache-2.0"


class UnknownSoftwareError(Exception):
    """Something is linked that the table does not have."""


@dataclass(frozen=True)
class Component:
    """A package whose code is in the wheel."""

    name: str  # of the software
    package: str  # of Debian's or PyPI's
    version: str
    home: str
    licence: str  # SPDX; empty: `terms`
    terms: str
    how: tuple[str, ...]  # of "static", "headers", "shared"
    origin: str  # "debian" or "pypi"
    notice: Path  # the file with its copyright and licence
    part: str = ""  # of the package: where that has it; empty: all of it

    @property
    def key(self) -> str:
        """Another one for each component."""
        return f"{self.package}.{Path(self.part).stem}" if self.part else self.package

    @property
    def address(self) -> str:
        """Its package URL."""
        kind = "deb/debian" if self.origin == "debian" else "pypi"
        version = self.version.replace(":", "%3A").replace("+", "%2B").replace("~", "%7E")
        return f"pkg:{kind}/{self.package}@{version}{'#' if self.part else ''}{self.part}"


def key_of(address: str) -> str:
    """The key of the component that has an address."""
    package, _, part = address.partition("#")
    name = package.rpartition("@")[0].rpartition("/")[2]
    return f"{name}.{Path(part).stem}" if part else name


@functools.cache
def table() -> list[dict[str, Any]]:
    """The entries of linked_software.toml."""
    return list(tomllib.loads(TABLE.read_text())["software"])


@functools.cache
def table_of_parts() -> list[dict[str, Any]]:
    """The entries of what packages have from elsewhere."""
    return list(tomllib.loads(TABLE.read_text())["part"])


def entry_of(package: str) -> dict[str, Any]:
    """The entry of a package.

    Raises:
        UnknownSoftwareError: there is none.
    """
    for entry in table():
        if any(fnmatch.fnmatchcase(package, pattern) for pattern in entry["packages"]):
            return entry
    raise UnknownSoftwareError(
        f"{package} is linked into the wheel, and {TABLE.name} has no entry for it\n  read its licence, and add one"
    )


# ---------------------------------------------------------------------------------------------------- files


def linked_archives(link_map: str) -> set[str]:
    """The archives and object files outside of the build of which the linker's map (of mold) has sections."""
    return set(re.findall(r"(?<=\s)(/[^\s:()]+\.(?:a|o))(?=[(:])", link_map))


def linked_members(link_map: str) -> set[tuple[str, str]]:
    """The archives outside of the build and their members of which the linker's map has sections."""
    return set(re.findall(r"(?<=\s)(/[^\s:()]+\.a)\(([^)\s]+)\)", link_map))


def used_headers(dependencies: str) -> set[str]:
    """The headers of others in what ``ninja -t deps`` prints: absolute paths, and those of packages of Python beside the sources."""
    lines = [line.strip() for line in dependencies.splitlines() if line.startswith("    ")]
    return {line for line in lines if line.startswith("/") or "/site-packages/" in line}


def of_build(directory: Path, link_map: Path) -> list[Component]:
    """What a build compiled and linked."""
    sections = link_map.read_text(errors="replace")
    archives = linked_archives(sections)
    if not archives:
        raise UnknownSoftwareError(f"{link_map} has no archive in it: is the linker mold?")
    listed = subprocess.run(
        [dev.VENV / "bin" / "ninja", "-C", directory, "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    source = str(directory.parent)
    headers = {path for path in used_headers(listed) if not path.startswith(source) or "/site-packages/" in path}
    return merged([*components(archives, "static"), *components(headers, "headers"), *parts(linked_members(sections))])


def shared_libraries(wheel: Path) -> list[Component]:
    """What the extension modules of a wheel load and a machine may not have: what auditwheel copies into it."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        modules = [archive.extract(name, folder) for name in archive.namelist() if name.endswith(".so")]
        lines: list[str] = []
        for module in modules:
            lines += subprocess.run(["ldd", module], capture_output=True, text=True, check=True).stdout.splitlines()
    files = {found.group(1) for line in lines if (found := re.search(r"=> (/\S+)", line))}
    return components({file for file in files if not any(part in file for part in _OF_EVERY_LINUX)}, "shared")


def parts(members: Iterable[tuple[str, str]]) -> list[Component]:
    """What the members of archives are made of that came to their package from elsewhere.

    Raises:
        UnknownSoftwareError: a member looks as if it did, and the table does not have it.
    """
    found: dict[str, tuple[str, dict[str, Any]]] = {}  # by the name of the part: an archive with it, and its entry
    for archive, member in sorted(members):
        name = f"{Path(archive).name}({member})"
        entry = next(
            (entry for entry in table_of_parts() for each in entry["members"] if fnmatch.fnmatchcase(name, each)), None
        )
        if entry is not None:
            found.setdefault(entry["name"], (archive, entry))
        elif re.match(r"lib(LLVM|lld)\w*\.a\(.*\.(c|S|s)\.o\)", name):
            raise UnknownSoftwareError(
                f"{name} is linked into the wheel, is no C++, and {TABLE.name} has no part for it\n  read its licence, and add one"
            )
    result = []
    for archive, entry in found.values():
        (package, version, origin, _) = next(iter(_owners([archive])))
        notice = NOTICES / entry["notice"]
        licence, terms = entry.get("licence", ""), entry.get("terms", "")
        result.append(
            Component(
                entry["name"],
                package,
                version,
                entry["home"],
                licence,
                terms,
                ("static",),
                origin,
                notice,
                entry["source"],
            )
        )
    return result


# auditwheel's policies name these as there on every system; they are not copied.
_OF_EVERY_LINUX = ("/libc.so", "/libm.so", "/libdl.so", "/libpthread.so", "/librt.so", "/libstdc++.so", "/libgcc_s.so")


def components(files: Iterable[str], how: str) -> list[Component]:
    """The packages that files come from."""
    found: dict[str, tuple[str, str]] = {}  # by package: its version and origin
    notices: dict[str, Path] = {}
    for package, version, origin, notice in _owners(sorted(set(files))):
        found[package], notices[package] = (version, origin), notice
    result = []
    for package, (version, origin) in found.items():
        entry = entry_of(package)
        if how == "headers" and not entry.get("headers", True):
            continue
        result.append(
            Component(
                entry["name"],
                package,
                version,
                entry["home"],
                entry.get("licence", ""),
                entry.get("terms", ""),
                (how,),
                origin,
                notices[package],
            )
        )
    return result


def _owners(files: Sequence[str]) -> Iterable[tuple[str, str, str, Path]]:
    """Package, version, origin and notice of each file."""
    rest = []
    for file in files:
        if "/include/python3." in file and "/site-packages/" not in file:
            yield "python", "", "debian", Path()
        elif "/site-packages/" in file:
            name = file.partition("/site-packages/")[2].partition("/")[0]
            distribution = importlib.metadata.distribution(name)
            notice = next(
                (Path(str(distribution.locate_file(f))) for f in distribution.files or [] if f.name == "LICENSE"),
                Path(),
            )
            yield name, distribution.version, "pypi", notice
        else:
            rest.append(os.path.realpath(file))
    for package in sorted(_debian_packages(rest)):
        query = ["dpkg-query", "-W", "-f=${Version}", package]
        version = subprocess.run(query, capture_output=True, text=True, check=True).stdout
        yield (
            package.partition(":")[0],
            version,
            "debian",
            Path("/usr/share/doc") / package.partition(":")[0] / "copyright",
        )


def _debian_packages(files: Sequence[str]) -> set[str]:
    if not files:
        return set()
    # Since Debian's /lib is a link to /usr/lib, a file is known by either name.
    spellings = {file: {file, file.removeprefix("/usr")} for file in files}
    every = set().union(*spellings.values())
    packages: set[str] = set()
    known: set[str] = set()
    # What `dpkg -S` reads, too; that looks through all of it for each file.
    for listing in DPKG_LISTS.glob("*.list"):
        if has := every.intersection(listing.read_text().splitlines()):
            packages.add(listing.stem)
            known |= has
    unknown = [file for file, names in spellings.items() if not known.intersection(names)]
    if unknown:
        raise UnknownSoftwareError(f"no package has {', '.join(unknown[:5])}, which the wheel is made of")
    return packages


def merged(parts: Iterable[Component]) -> list[Component]:
    """One for each package or part of one, with all ways in which it is in the wheel."""
    result: dict[str, Component] = {}
    for part in parts:
        before = result.get(part.key)
        how = tuple(sorted({*part.how, *(before.how if before else ())}))
        result[part.key] = Component(**{**part.__dict__, "how": how})
    return sorted(result.values(), key=lambda component: (component.name.lower(), component.key))


# ---------------------------------------------------------------------------------------------------- licences


def expression(software: Sequence[Component]) -> str:
    """The licences of a wheel, ours first."""
    others = sorted({component.licence for component in software if component.licence} - {OWN_LICENCE})
    return " AND ".join([OWN_LICENCE, *others])


def write_notices(software: Sequence[Component], folder: Path) -> list[str]:
    """Writes each package's copyright file, and the licences that those refer to; the names of the files."""
    others = folder / "linked"
    others.mkdir(parents=True, exist_ok=True)
    referred: set[str] = set()
    for component in software:
        if not component.notice.is_file():
            raise UnknownSoftwareError(f"{component.key} has no copyright file {component.notice}")
        text = component.notice.read_text(errors="replace")
        referred |= {name.rstrip(".") for name in re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]+)", text)}
        where = f"{component.package} {component.version}{', ' if component.part else ''}{component.part}"
        head = f"{component.name}: {where}, {' and '.join(component.how)}\n{component.home}\n\n"
        (others / f"{component.key}.txt").write_text(head + text)
    for name in referred:
        if (COMMON_LICENCES / name).is_file():
            (others / f"{name}.txt").write_text((COMMON_LICENCES / name).read_text())
    return [str(file.relative_to(folder)) for file in others.iterdir()]
