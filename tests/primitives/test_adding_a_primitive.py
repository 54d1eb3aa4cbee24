"""Does what docs/adding_a_primitive.md says: builds its files, adds their records to the others, runs every check of them.

The new files are compiled with the flags of ir/ops/erf.cc and linked into a copy of the extension module, next to a
copy of the package, so the tree and the installed package stay as they are.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from needs import require_built
from places import ROOT

BUILD = ROOT / "build-release"
PAGE = ROOT / "docs" / "adding_a_primitive.md"
# primitive → where its record goes
RECORDS = {"logistic": "tests/shared/records/elementwise.py", "discounted_sum": "tests/shared/records/reductions.py"}


def blocks() -> dict[str, str]:
    """The page's code blocks by title."""
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE.read_text(), re.MULTILINE | re.DOTALL))


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (
        f"{' '.join(str(c) for c in command)[:500]}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    )
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory from which `import cotangent` has the page's primitives."""
    require_built(BUILD / "build.ninja")
    site = tmp_path_factory.mktemp("site")
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    compile_erf = next(c["command"] for c in commands if c["file"].endswith("ir/ops/erf.cc"))
    arguments = [a for a in shlex.split(compile_erf) if a not in {"-MD", "-c"} and not a.endswith("erf.cc")]
    for option in ("-o", "-MF", "-MQ"):
        at = arguments.index(option)
        del arguments[at : at + 2]
    objects = []
    for name in RECORDS:
        source = site / f"{name}.cc"
        source.write_text(blocks()[f"ir/ops/{name}.cc"])
        objects.append(str(source.with_suffix(".o")))
        run(*arguments, "-c", source, "-o", objects[-1], cwd=BUILD)

    ninja = shutil.which("ninja", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert ninja is not None
    link = shlex.split(run(ninja, "-C", BUILD, "--quiet", "-t", "commands", "python").strip().splitlines()[-1])
    shutil.copytree(
        ROOT / "python_bindings" / "cotangent", site / "cotangent", ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    at = link.index("-o")
    module = site / "cotangent" / Path(link[at + 1]).name
    link[at + 1 : at + 2] = [str(module), *objects]
    run(*link, cwd=BUILD)
    return site


def environment(site: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(site), "CT_CACHE_DIR": str(site / "cache")}


def test_the_build_line_has_the_form_of_the_others() -> None:
    for title in ["ir/ops/meson.build", "ir/ops/meson.build of discounted_sum"]:
        assert re.fullmatch(r"  '\w+\.cc',\n", blocks()[title])
    assert re.search(r"^  'erf\.cc',$", (ROOT / "ir/ops/meson.build").read_text(), re.MULTILINE)


def test_a_user_can_call_it(site: Path) -> None:
    script = site / "use.py"
    script.write_text(blocks()["use"])
    run(sys.executable, script, env=environment(site))


@pytest.mark.parametrize("name", RECORDS)
def test_its_record_passes_every_check(site: Path, name: str) -> None:
    tests = site / f"{name}_tests" / "tests"
    shutil.copytree(ROOT / "tests", tests, ignore=shutil.ignore_patterns("__pycache__", "cpp"))
    shutil.copy(ROOT / "pyproject.toml", tests.parent)
    with (tests.parent / RECORDS[name]).open("a") as records:
        records.write("\n\n" + blocks()[RECORDS[name]])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-q",
        "tests/primitives/test_ops.py",
        "-k",
        name,
    ]
    summary = run(*command, cwd=tests.parent, env=environment(site)).strip().splitlines()[-1]
    passed = re.search(r"(\d+) passed", summary)
    assert passed, summary
    assert int(passed.group(1)) >= 5, summary
    assert "failed" not in summary, summary
