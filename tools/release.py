"""`./dev release`: from a commit to what is published, in one command; ``--dry-run`` does all of it but the tag.

In this order, each step in a file of its own: checks of the repository (release_checks.py); the source distribution (sdists.py); from it,
without a network, a wheel for each Python that can be had (wheels.py), with what is linked into it, its licences and the bill of
materials (linked_software.py, sbom.py); the smoke suite of each wheel in bare Debian systems (smoke.py, bare_roots.py); the tag.
docs/releasing.md says how a release is made with it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import time
from functools import partial
from pathlib import Path

import bare_roots
import linked_software
import release_checks
import sbom
import sdists
import smoke
import wheels
from development import ROOT, dev

DIST = ROOT / "dist"
MOST_MIB = 30.0  # of a wheel


def main() -> int:
    """Makes a release, or does as if."""
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="everything but the tag; what a release needs is listed")
    parser.add_argument("--python", action="append", default=[], type=Path, help="a Python to build a wheel for, too")
    parser.add_argument(
        "--only", action="append", choices=wheels.VERSIONS, help="wheels for these versions (with --dry-run)"
    )
    parser.add_argument("--arm64", action="store_true", help="cross-build the C++ core, and run its tests under qemu")
    arguments = parser.parse_args()
    if arguments.arm64:
        import arm64

        return arm64.main()
    if arguments.only and not arguments.dry_run:
        parser.error("--only is for dry runs: a release has every wheel that can be built")
    start = time.monotonic()
    dev.say(f"cotangent {release_checks.version()}{', dry run' if arguments.dry_run else ''}")
    refusals = refused()
    for refusal in refusals:
        dev.say(f"   a release is refused: {refusal}")
    if refusals and not arguments.dry_run:
        dev.fail("nothing was made")

    shutil.rmtree(DIST / "release", ignore_errors=True)
    complaints: list[str] = []
    sdist = sdists.make(DIST / "release")
    complaints += sdists.complaints(sdists.names(sdist))
    dev.say(f"   {sdist.name}: {len(sdists.names(sdist))} files, {sdists.total_size(sdist):.1f} MiB")
    source = sdists.unpack(sdist, wheels.WORK / "source")

    pythons = every_python(arguments.python, arguments.only or wheels.VERSIONS)
    finished: dict[str, Path] = {}
    for version, interpreter in pythons.items():
        finished[version] = one_wheel(interpreter, source, complaints)
    results = [result for version, wheel in finished.items() for result in tried(version, wheel, pythons[version])]
    complaints += [f"{result.wheel} on {result.system}: {result.line}" for result in results if not result.passed]
    if not results:
        complaints.append("no wheel was tried")

    summary(sdist, finished, results, time.monotonic() - start)
    for complaint in complaints:
        dev.say(f"   not as it should be: {complaint}")
    if complaints:
        return 1
    if arguments.dry_run:
        dev.say(
            "dry run: no tag was made" + (f"; a release is refused for {len(refusals)} reasons" if refusals else "")
        )
        return 0
    return tag()


def refused() -> list[str]:
    """Why this commit cannot be released."""
    checks = [
        release_checks.versions_agree,
        release_checks.changelog_dated,
        release_checks.valid_citation,
        release_checks.committed,
        release_checks.passed_all_tests,
    ]
    return [refusal for check in checks for refusal in check()]


def every_python(given: list[Path], wanted: list[str]) -> dict[str, wheels.Interpreter]:
    """The interpreters to build for: those of this machine, and else those of other releases of Debian."""
    found = {version: one for version, one in wheels.interpreters(given).items() if version in wanted}
    for version in wanted:
        if version in found:
            continue
        lends = next((one for one in bare_roots.DISTRIBUTIONS if one.python == version), None)
        why = f"there is no python{version} here, and no release of Debian has it"
        if lends is not None:
            try:
                looked = wheels.look_at(bare_roots.interpreter(lends))
                if isinstance(looked, wheels.Interpreter):
                    found[version] = looked
                    continue
                why = looked
            except (bare_roots.CannotBeMadeError, SystemExit) as error:
                why = f"there is none here, and not of {lends.name} either: {error}"
        dev.say(f"   no wheel for Python {version}: {why}")
    return {version: found[version] for version in wanted if version in found}


def one_wheel(interpreter: wheels.Interpreter, source: Path, complaints: list[str]) -> Path:
    """Builds a wheel, and says what is in it."""
    built = wheels.build(interpreter, source)
    repaired = wheels.repair(built)
    wheel = wheels.finish(repaired, DIST / "release")
    complaints += wheels.complaints(wheel, MOST_MIB) + wheels.complaints_about_licences(wheel)
    document = sbom.with_hash(wheels.bill_of_materials(wheel), wheel)
    complaints += sbom.complaints(document)
    (DIST / "release" / f"{wheel.name}.cdx.json").write_text(json.dumps(document, indent=2) + "\n")
    dev.say(f"   {wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
    dev.say("   " + "; ".join(f"{one.name} {one.version} ({'+'.join(one.how)})" for one in repaired.software))
    dev.say(f"   {linked_software.expression(repaired.software)}")
    for line in wheels.what_decides(repaired.explanation):
        dev.say(f"   {line}")
    return wheel


def tried(version: str, wheel: Path, interpreter: wheels.Interpreter) -> list[smoke.Result]:
    """The smoke suite in each bare system with that Python, or in one that it is put into, or else here."""
    tries = [partial(smoke.in_root, one, wheel) for one in bare_roots.DISTRIBUTIONS if one.python == version]
    results = []
    for attempt in tries or [partial(smoke.in_root_with, interpreter, wheel)]:
        try:
            results.append(attempt())
        except bare_roots.CannotBeMadeError as error:
            dev.say(f"   no bare system with Python {version}: {error}")
    return results or [smoke.here(interpreter, wheel)]


def summary(sdist: Path, finished: dict[str, Path], results: list[smoke.Result], seconds: float) -> None:
    """What was made, and how it did."""
    dev.say(f"\nmade in {seconds:.0f} s, in {DIST.relative_to(ROOT)}/release:")
    for file in [sdist, *finished.values()]:
        dev.say(f"  {file.name}  {file.stat().st_size / 2**20:.1f} MiB")
    for version in wheels.VERSIONS:
        if version not in finished:
            dev.say(f"  no wheel for Python {version}")
    for result in results:
        word = "passed" if result.passed else "FAILED"
        dev.say(f"  {word}: {result.wheel} on {result.system}: {result.line}, {result.seconds:.0f} s with installing")


def tag() -> int:
    """Tags the commit; what was made is uploaded by who may."""
    name = f"v{release_checks.version()}"
    subprocess.run(["git", "tag", "-a", name, "-m", f"cotangent {name[1:]}"], cwd=ROOT, check=True)
    dev.say(
        f"tagged {name}; publish it by:\n  git push origin {name}\n  twine upload dist/release/*.whl dist/release/*.tar.gz"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
