"""What has to be true of the repository before a release: each check returns what is wrong, in words for the one who releases."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from development import ROOT

TESTED = ".cache/tested"  # `./dev test` writes the commit into it that all tests passed on


def version(root: Path = ROOT) -> str:
    """The version that the file VERSION names; everything else has to agree with it."""
    return (root / "VERSION").read_text().strip()


def versions_agree(root: Path = ROOT) -> list[str]:
    """VERSION against the package, the changelog's newest section and CITATION.cff."""
    wanted = version(root)
    found = [] if re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", wanted) else [f"VERSION is {wanted!r}, no version"]
    package = (root / "python_bindings" / "cotangent" / "__init__.py").read_text()
    stated = re.findall(r'^__version__ = "(.*)"$', package, re.MULTILINE)
    if stated != [wanted]:
        found.append(f"cotangent.__version__ is {', '.join(stated) or 'missing'}, and VERSION {wanted}")
    newest = re.search(r"^## (\S+)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if newest is None or newest.group(1) != wanted:
        found.append(f"the newest section of CHANGELOG.md is {newest and newest.group(1)}, and VERSION {wanted}")
    cited = citation(root).get("version")
    if cited != wanted:
        found.append(f"CITATION.cff has version {cited}, and VERSION is {wanted}")
    return found


def citation(root: Path = ROOT) -> dict[str, str]:
    """The fields of CITATION.cff that have one line."""
    lines = (root / "CITATION.cff").read_text().splitlines()
    pairs = [line.split(":", 1) for line in lines if re.match(r"[a-z-]+: \S", line)]
    return {name: value.strip().strip('"') for name, value in pairs}


def changelog_dated(root: Path = ROOT) -> list[str]:
    """The section of the version has lines, and its date, which CITATION.cff has, too."""
    wanted = version(root)
    text = (root / "CHANGELOG.md").read_text()
    section = re.search(rf"^## {re.escape(wanted)} — ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        return [f"CHANGELOG.md has no section '## {wanted} — DATE'"]
    found = []
    date = section.group(1)
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        found.append(f"CHANGELOG.md says {wanted} is {date!r}; a release has its date, as 2026-01-31")
    if not re.search(r"^- ", section.group(2), re.MULTILINE):
        found.append(f"CHANGELOG.md says nothing of {wanted}")
    released = citation(root).get("date-released")
    if released != date:
        found.append(f"CITATION.cff has date-released {released}, and CHANGELOG.md {date}")
    return found


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def committed(root: Path = ROOT) -> list[str]:
    """Everything is committed, and the version was not released before."""
    found = []
    if changed := _git(root, "status", "--porcelain").splitlines():
        found.append(f"{len(changed)} files are not committed, among them {changed[0].split()[-1]}")
    if _git(root, "tag", "--list", f"v{version(root)}"):
        found.append(f"there is a tag v{version(root)} already")
    return found


def passed_all_tests(root: Path = ROOT) -> list[str]:
    """All tests passed on this commit."""
    head, stamp = _git(root, "rev-parse", "HEAD"), root / TESTED
    last = stamp.read_text().strip() if stamp.exists() else ""
    if last == head:
        return []
    return [f"the tests were last passed on {last[:12] or 'no commit'}, and this is {head[:12]}: run ./dev test"]


def valid_citation(root: Path = ROOT) -> list[str]:
    """CITATION.cff against the schema of its format, which cffconvert brings."""
    import importlib.util

    import jsonschema
    import yaml

    found = importlib.util.find_spec("cffconvert")
    if found is None or not found.submodule_search_locations:
        return ["cffconvert is not installed, which has the schema of CITATION.cff"]
    text = (root / "CITATION.cff").read_text()
    # Dates stay texts, as the schema wants them.
    document: Any = yaml.load(text, Loader=yaml.BaseLoader)
    schema = Path(next(iter(found.submodule_search_locations))) / "schemas" / document["cff-version"] / "schema.json"
    validator = jsonschema.Draft7Validator(yaml.safe_load(schema.read_text()))
    return [f"CITATION.cff: {error.message}" for error in validator.iter_errors(document)]
