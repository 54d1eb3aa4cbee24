"""The tests that libraries bring with them, run with `import jax` answered by this package; those that fail run on JAX, too.

    python tests/ecosystem/suites.py [--only optax,chex] [--workers 2] [--out FOLDER]

Tests come with a library's wheel, or with its source archive, which pip downloads from PyPI at the version that `requirements/ecosystem.txt`
pins. `SUITES` says where they are, and what is left out for its time. A suite's result is a file of JSON: counts, and failures by message.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import environments
from environments import CACHE, WITH_HOOK, WITH_JAX, Environment

TEST_SECONDS = 120  # what one test may take
LIKE_IT = 3  # so many of the failures with one message run on JAX, too


@dataclass(frozen=True)
class Suite:
    """Where a library's tests are: folders in what it installs, or in its source archive."""

    folders: tuple[str, ...]
    sources: bool = False  # the archive, not the wheel
    start: str = ""  # the folder to start in, where tests look for files from there
    left_out: dict[str, str] = field(default_factory=dict)  # files, or parts of names, with the reason
    share: int = 1  # of that many tests, one is run


SUITES: dict[str, Suite] = {
    "mctx": Suite(("_src",), start="mctx"),
    "jmp": Suite(("jmp",)),
    "jraph": Suite(("jraph",)),
    "dm_pix": Suite(("dm_pix",)),
    "chex": Suite(("chex",)),
    "tinygp": Suite(("tests",), sources=True),
    "sparsejac": Suite(("tests",), sources=True),
    "signax": Suite(("tests",), sources=True),
    "interpax": Suite(("tests",), sources=True),
    "quadax": Suite(("tests",), sources=True),
    "orthax": Suite(("tests",), sources=True),
    "quax": Suite(("tests",), sources=True),
    "flowjax": Suite(("tests",), sources=True),
    "gymnax": Suite(("tests",), sources=True),
    "kfac-jax": Suite(("tests",), sources=True),
    "numpyro": Suite(("test",), sources=True, share=4),
    "flax": Suite(("tests",), sources=True, share=4),
    "rlax": Suite(("rlax",), share=2),
    "penzai": Suite(("tests",), sources=True, share=2),
    "dm-haiku": Suite(("haiku",), share=8),
    "blackjax": Suite(("tests",), sources=True, share=8),
    "e3nn-jax": Suite(("tests",), sources=True, share=4),
    "distrax": Suite(("distrax",), share=16),
    "gpjax": Suite(("tests",), sources=True, share=8),
    "optax": Suite(("optax",)),
}

# Libraries whose tests cannot be run, with the reason.
NOT_RUN = {
    "equinox, diffrax, lineax, optimistix, jaxtyping, jaxopt, evosax, jumanji, ott-jax, sympy2jax": "their archives on PyPI hold no tests",
    "jaxlie": "its archive lacks a module that all its tests import",
    "matfree": "its tests need pytest-cases, which does not run with the pinned pytest",
    "brax, pgx, orbax-checkpoint, traceax": "not tried yet",
}


def source_of(library: str) -> Path:
    """The folder of a library's source archive, downloaded the first time."""
    version = environments.versions()[library]
    folder = CACHE / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    there = [found for found in folder.iterdir() if found.is_dir() and same_name(found.name, f"{library}-{version}")]
    if not there:
        options = ["download", "--quiet", "--no-deps", "--no-binary", library, "-d", folder, f"{library}=={version}"]
        environments.pip(WITH_HOOK, *options)
        archive = next(file for file in folder.glob("*.tar.gz") if same_name(file.name, f"{library}-{version}.tar.gz"))
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="data")
        return folder / archive.name.removesuffix(".tar.gz")
    return there[0]


def same_name(a: str, b: str) -> bool:
    """Whether two names of a distribution are one."""
    return re.sub(r"[-_.]+", "-", a).lower() == re.sub(r"[-_.]+", "-", b).lower()


def pytest(environment: Environment, root: Path, arguments: Iterable[str], report: Path, workers: int) -> int:
    """Runs tests in an environment; what it says goes beside the report."""
    command = [
        str(environment.python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", "--import-mode=prepend",
        "-c", os.devnull, f"--rootdir={root}", f"--timeout={TEST_SECONDS}", f"--junitxml={report}", "--continue-on-collection-errors",
        *(["-n", str(workers), "--dist", "worksteal"] if workers > 1 else ["-p", "no:xdist"]), *arguments,
    ]  # fmt: skip
    report.parent.mkdir(parents=True, exist_ok=True)
    with report.with_suffix(".log").open("w") as log:
        return subprocess.run(
            command, cwd=root, env=os.environ | environment.variables, stdout=log, stderr=log, check=False
        ).returncode


def message_of(element: ElementTree.Element) -> str:
    """The first line of a failure's message, without what differs from test to test."""
    text = (element.get("message") or element.text or "").strip()
    lines = [line for line in text.splitlines() if line.strip()] or ["no message"]
    line = lines[0] if not lines[0].startswith("collection failure") else last_error(element.text or "")
    if line.rstrip().endswith(":") and len(lines) > 1:
        line = f"{line.rstrip()} {lines[1].strip()}"
    line = re.sub(r"(?<![\w.:/])/(?:[\w.+-]+/)+", "", line)  # folders of this machine
    line = re.sub(r"0x[0-9a-f]+", "…", line)
    line = re.sub(r"\b\d+(\.\d+)?(e[-+]?\d+)?\b", "…", line)
    return line[:160]


def last_error(text: str) -> str:
    """The error at the end of a traceback."""
    return next((line[2:].strip() for line in reversed(text.splitlines()) if line.startswith("E ")), "not collected")


def results(report: Path) -> dict[str, Any]:
    """What a report of pytest says: how many passed, and the failures with their messages."""
    found: dict[str, Any] = {"passed": 0, "skipped": 0, "failures": {}}
    if not report.exists():
        return found
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}" if case.get("classname") else str(case.get("name"))
        wrong = next((child for tag in ("failure", "error") for child in case.findall(tag)), None)
        if wrong is not None:
            found["failures"][name] = message_of(wrong)
        elif case.find("skipped") is not None:
            found["skipped"] += 1
        else:
            found["passed"] += 1
    return found


def run(library: str, workers: int, folder: Path) -> dict[str, Any]:
    """Runs a library's tests here, and those that fail on JAX."""
    suite = SUITES[library]
    root = (source_of(library) if suite.sources else WITH_HOOK.site) / suite.start
    start = time.monotonic()
    arguments = [*suite.folders, "-p", "suites_plugin"]
    report = folder / f"{library}.xml"
    here = Path(__file__).resolve().parent
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here), str(root)])
    os.environ["ECOSYSTEM_LEFT_OUT"] = json.dumps(list(suite.left_out))
    os.environ["ECOSYSTEM_SHARE"] = str(suite.share)
    os.environ.pop("ECOSYSTEM_THESE", None)
    report.unlink(missing_ok=True)
    status = pytest(WITH_HOOK, root, arguments, report, workers)
    found = results(report)
    found |= {"library": library, "version": environments.versions()[library], "status": status}
    found["seconds"] = time.monotonic() - start
    found["on_jax"] = on_jax(library, asked_of_jax(found["failures"]), arguments, folder, workers)
    (folder / f"{library}.json").write_text(json.dumps(found, indent=1))
    return found


def asked_of_jax(failures: dict[str, str]) -> set[str]:
    """Which failures run on JAX, too: a few of each message."""
    by_message: dict[str, list[str]] = {}
    for name, message in failures.items():
        by_message.setdefault(message, []).append(name)
    return {name for names in by_message.values() for name in sorted(names)[:LIKE_IT]}


def on_jax(library: str, names: set[str], arguments: list[str], folder: Path, workers: int) -> dict[str, str]:
    """What tests say on JAX: their failures' messages, nothing for those that pass. It is kept, as it does not change with this package."""
    suite = SUITES[library]
    kept = folder / f"{library}-{environments.versions()[library]}.jax.json"
    known: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
    unknown = names - set(known)
    if unknown:
        these, report = folder / f"{library}.failed.json", folder / f"{library}.jax.xml"
        these.write_text(json.dumps(sorted(unknown)))
        report.unlink(missing_ok=True)
        root = (source_of(library) if suite.sources else WITH_JAX.site) / suite.start
        os.environ["ECOSYSTEM_THESE"] = str(these)
        pytest(WITH_JAX, root, arguments, report, workers)
        wrong = results(report)["failures"]
        known |= {name: wrong.get(name, "") for name in unknown if "Timeout" not in wrong.get(name, "")}
        kept.write_text(json.dumps(known, indent=1))
    return {name: known[name] for name in sorted(names) if name in known}


def fails_on_jax(found: dict[str, Any]) -> set[str]:
    """Those of a suite's failures that fail on JAX, too."""
    return {name for name, message in found["on_jax"].items() if message}


def line(found: dict[str, Any]) -> str:
    """A suite's result in one line."""
    failed, asked, too = len(found["failures"]), len(found["on_jax"]), len(fails_on_jax(found))
    tried = found["passed"] + failed
    share = 100 * found["passed"] / max(tried, 1)
    return (
        f"{found['library']} {found['version']}: {found['passed']} of {tried} pass ({share:.1f} %), {too} of {asked} failures that ran on JAX fail there, too; "
        f"{found['skipped']} skipped, {found['seconds']:.0f} s"
    )


def main() -> None:
    """Runs the suites."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="libraries, with commas between them")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=CACHE / "suites")
    given = parser.parse_args()
    for library in SUITES:
        if not given.only or library in given.only.split(","):
            print(line(run(library, given.workers, given.out)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
