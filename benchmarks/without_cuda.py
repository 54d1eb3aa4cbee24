"""Lets torch's wheel from PyPI load where its CUDA libraries, several gigabytes, are not installed: `without_cuda.py SITE_PACKAGES`.

The wheel's own libraries name those of CUDA and want their symbols when they are loaded, though nothing on a CPU calls them. For each
library that is missing this makes one of the same name and symbol versions, in which every function answers "no device".
PyPI has no other build of torch for Linux on x86-64; where torch's own index of CPU builds can be reached, take that one.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

NO_DEVICE = 100  # cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE


def lines(*command: str | Path) -> list[str]:
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout.splitlines()


def needed(library: Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", "\n".join(lines("readelf", "-d", library)))


def versions_of(library: Path) -> dict[str, str]:
    """Symbol version -> the library that it is wanted of."""
    of, file = {}, ""
    for line in lines("readelf", "-VW", library):
        file = found[1] if (found := re.search(r"File: (\S+)", line)) else file
        if found := re.search(r"Name: (\S+)", line):
            of[found[1]] = file
    return of


def make(name: str, symbols: dict[str, set[str]], folder: Path) -> None:
    """A shared library `name` with functions under the given symbol versions ("" is none)."""
    with tempfile.TemporaryDirectory() as scratch:
        source, versions = Path(scratch) / "stub.s", Path(scratch) / "stub.map"
        functions = [".text"]
        for _version, functions_of in sorted(symbols.items()):
            for symbol in sorted(functions_of):
                functions.append(f".globl {symbol}\n.type {symbol}, @function\n{symbol}: movl ${NO_DEVICE}, %eax\nret")
        source.write_text("\n".join([*functions, '.section .note.GNU-stack,"",@progbits', ""]))
        versions.write_text("".join(f"{v} {{ {'; '.join(sorted(s))}; }};\n" for v, s in symbols.items() if v and s))
        script = [f"-Wl,--version-script={versions}"] if versions.read_text() else []
        lines("gcc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", *script, "-o", folder / name, source)


def main(site_packages: Path) -> None:
    folder = site_packages / "torch" / "lib"
    libraries = sorted(folder.glob("*.so*"))
    # Libraries that are neither torch's nor the system's.
    missing = {name for library in libraries for name in needed(library)} - {library.name for library in libraries}
    missing = {name for name in missing if re.match(r"lib(cu|nccl|nv)", name)}
    if not missing:
        return
    defined = {
        line.split()[-1].split("@")[0] for library in libraries for line in lines("nm", "-D", "--defined-only", library)
    }
    stubs: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in missing}
    for library in libraries:
        home = versions_of(library)
        for line in lines("nm", "-D", "--undefined-only", library):
            symbol, _, version = line.split()[-1].partition("@")
            version = version.lstrip("@")
            if home.get(version) in missing:
                stubs[home[version]][version].add(symbol)
            elif not version and symbol not in defined and re.match(r"_*(cu|nccl|nv|curand)", symbol):
                stubs["libcudart.so.13"][""].add(symbol)  # without a version any library that is loaded will do
    for name, symbols in stubs.items():
        make(name, symbols, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
