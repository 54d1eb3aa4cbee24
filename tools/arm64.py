"""`./dev release --arm64`: the C++ core cross-built for 64-bit ARM, and its unit tests under qemu.

The compiler is Debian's cross compiler; the libraries for ARM (LLVM among them) are Debian's packages, which an apt with folders of its own
fetches into ``~/.cache/cotangent-arm64`` and which are unpacked there: nothing of them is installed on this machine. meson runs the programs by
qemu-aarch64.

What is tested: the programs of tests/cpp that need no code generation, or with ``CT_ARM64=all`` all of them.
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import bare_roots
from development import ROOT, dev

# Outside of the sources: meson takes no headers of libraries from inside.
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cotangent-arm64"
SYSROOT = FOLDER / "sysroot"
BUILD = ROOT / "build-arm64"
# What is compiled against or linked, and what the programs load.
LIBRARIES = ["libabsl-dev", "nlohmann-json3-dev", "zlib1g-dev", "libzstd-dev", "libgtest-dev", "libgmock-dev"]
LLVM_LIBRARIES = ["llvm-{llvm}-dev", "liblld-{llvm}-dev"]
LOADED = ["libc6", "libstdc++6", "libgcc-s1"]
LEAST_QEMU = (10, 0)  # Debian 12's, 7.2, fails; none between was tried
# Programs of tests/cpp/meson.build that are linked without LLVM.
WITHOUT_LLVM = [
    "dtype",
    "interpreter",
    "trace",
    "structure_ops",
    "structure_rules",
    "serialize",
    "op_rules",
    "ops",
    "lengths",
]
WITHOUT_LLVM += [
    "bfloat16_products",
    "marked_shapes",
    "pool",
    "sharing_trials",
    "transforms",
    "ir_text",
    "higher_order",
    "nesting",
    "simplify_fuzz",
]


def main() -> int:
    """Cross-builds, tests, and says how it went."""
    sysroot()
    configure()
    everything = os.environ.get("CT_ARM64") == "all"
    programs = [] if everything else [f"tests/cpp/{name}_test" for name in WITHOUT_LLVM]
    dev.step("cross-compile for arm64", [dev.VENV / "bin" / "ninja", "-C", BUILD, *(programs or ["cpp_tests"])])
    kind = subprocess.run(["file", "-b", BUILD / "tests/cpp/dtype_test"], capture_output=True, text=True, check=False)
    dev.say(f"   {kind.stdout.split(',')[1].strip() if ',' in kind.stdout else 'programs'}, run by {emulator()}")
    command = [dev.VENV / "bin" / "meson", "test", "-C", BUILD, "--no-rebuild", "--print-errorlogs", "-t", "10"]
    return dev.run(*command, *([] if everything else WITHOUT_LLVM))


@functools.cache
def emulator() -> str:
    """The program that runs those of ARM; nothing where this machine is one.

    Where this machine's is older than LEAST_QEMU it is Debian 13's: the older one stops by assertions of its own when a child of a
    program with threads makes a thread.
    """
    if platform.machine() == "aarch64":
        return ""
    found = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    version = version_of(found) if found else ()
    if version >= LEAST_QEMU:
        return str(found)
    newer = next(one for one in bare_roots.DISTRIBUTIONS if one.suite == "trixie")
    try:
        return str(bare_roots.program(newer, "qemu-user", "qemu-aarch64"))
    except (bare_roots.CannotBeMadeError, SystemExit) as error:
        if not found:
            dev.fail(f"qemu-aarch64 is missing (apt-get install qemu-user), and that of {newer.name}: {error}")
        dev.say(f"   qemu {'.'.join(map(str, version))} fails in children of programs with threads; no newer: {error}")
        return found


def version_of(qemu: str) -> tuple[int, ...]:
    """The version of an emulator, such as (7, 2)."""
    printed = subprocess.run([qemu, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r" version (\d+)\.(\d+)", printed)
    return tuple(int(part) for part in found.groups()) if found else ()


def apt(*arguments: str) -> list[str]:
    """An apt for ARM's packages whose lists, packages and state are in our folder."""
    own = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "Dir::State": str(FOLDER / "state"),
        "Dir::State::status": str(FOLDER / "state" / "status"),
        "Dir::Cache": str(FOLDER / "cache"),
        "Dir::Etc::sourcelist": str(FOLDER / "sources.list"),
        "Dir::Etc::sourceparts": "/dev/null",
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    return [
        "apt-get",
        *(part for name, value in own.items() if value for part in ("-o", f"{name}={value}")),
        *arguments,
    ]


def sysroot() -> None:
    """Fetches and unpacks what the programs are made with."""
    llvm = dev.llvm_version()
    packages = [name.format(llvm=llvm) for name in (*LIBRARIES, *LLVM_LIBRARIES, *LOADED)]
    complete = FOLDER / "complete"
    if complete.exists() and complete.read_text() == " ".join(packages):
        return
    shutil.rmtree(SYSROOT, ignore_errors=True)
    for part in ("state/lists/partial", "cache/archives/partial"):
        (FOLDER / part).mkdir(parents=True, exist_ok=True)
    (FOLDER / "state" / "status").touch()
    archive = bare_roots.debian_archive()
    suite = bare_roots.codename() or dev.fail("this is no release of Debian")
    security = archive.rstrip("/").removesuffix("/debian") + "/debian-security"
    trusted = f"[signed-by={bare_roots.KEYRING}]"
    (FOLDER / "sources.list").write_text(
        f"deb {trusted} {archive} {suite} main\ndeb {trusted} {archive} {suite}-updates main\n"
        f"deb {trusted} {security} {suite}-security main\n"
    )
    dev.step("apt package lists of arm64", apt("update"), dict(os.environ))
    dev.step("packages of arm64", apt("install", "-y", "--download-only", *packages), dict(os.environ))
    SYSROOT.mkdir(parents=True)
    dev.say("── unpack them")
    for package in sorted((FOLDER / "cache" / "archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, SYSROOT], check=True)
    complete.write_text(" ".join(packages))


def configure() -> None:
    """Sets the build up; meson's cross file says where everything is."""
    llvm = dev.llvm_version()
    host = shutil.which(f"llvm-config-{llvm}") or dev.fail(f"llvm-config-{llvm} is missing: run ./dev setup")
    # ARM's llvm-config would run only under qemu; this machine's has the same answers, for other folders.
    config = FOLDER / "llvm-config"
    config.write_text(f'#!/bin/sh\n{host} "$@" | sed "s#/usr/lib/llvm-{llvm}#{SYSROOT}/usr/lib/llvm-{llvm}#g"\n')
    config.chmod(0o755)
    cross = FOLDER / "cross.ini"
    ccache = "'ccache', " if shutil.which("ccache") else ""
    runs = f"exe_wrapper = ['{emulator()}', '-L', '{SYSROOT}']\n" if emulator() else ""
    cross.write_text(
        "[binaries]\n"
        f"c = ['aarch64-linux-gnu-gcc', '--sysroot={SYSROOT}']\n"
        f"cpp = [{ccache}'aarch64-linux-gnu-g++', '--sysroot={SYSROOT}']\n"
        "ar = 'aarch64-linux-gnu-ar'\nstrip = 'aarch64-linux-gnu-strip'\npkg-config = 'pkg-config'\n"
        f"{runs}\n"
        "[properties]\n"
        f"sys_root = '{SYSROOT}'\n"
        f"pkg_config_libdir = ['{SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig', '{SYSROOT}/usr/share/pkgconfig']\n\n"
        "[built-in options]\n"
        f"cpp_link_args = ['-Wl,-rpath-link,{SYSROOT}/usr/lib/aarch64-linux-gnu:{SYSROOT}/lib/aarch64-linux-gnu']\n\n"
        "[host_machine]\nsystem = 'linux'\ncpu_family = 'aarch64'\ncpu = 'aarch64'\nendian = 'little'\n"
    )
    # As the builds with sanitizers: warnings are those of the release build, and most of the work is reading headers.
    options = ["-Dpython=false", "-Dtests=true", "-Dwerror=false", "-Db_pch=true", "-Dunity=on", "-Dunity_size=8"]
    options += [f"-Dllvm_config={config}"]
    stamp = BUILD / "dev.stamp"
    wanted = cross.read_text() + config.read_text() + " ".join(options)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(BUILD, ignore_errors=True)
    dev.step("configure build-arm64", [dev.VENV / "bin" / "meson", "setup", BUILD, "--cross-file", cross, *options])
    stamp.write_text(wanted)
