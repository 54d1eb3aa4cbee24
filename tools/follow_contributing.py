"""Follows CONTRIBUTING.md to the letter, in the clone that it stands in: every command of "One change", and the edits that its steps name.

Run it in a clone that nobody needs, on a machine that has nothing yet: the proof that the walk leads through. The clone itself is made
before. Each command and its time are printed; the first that fails ends it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def sections() -> list[tuple[str, str]]:
    """The steps of the walk, each with its block of commands, if it has one."""
    walk = (ROOT / "CONTRIBUTING.md").read_text().split("## One change", 1)[1].split("\n## ", 1)[0]
    steps = re.split(r"^\d+\. ", walk, flags=re.MULTILINE)[1:]
    blocks = (re.search(r"^ *```sh\n(.*?)^ *```$", step, re.MULTILINE | re.DOTALL) for step in steps)
    return [(step, block[1] if block else "") for step, block in zip(steps, blocks, strict=True)]


def blocks_of_page() -> dict[str, str]:
    """The code of docs/adding_a_primitive.md by title."""
    text = (ROOT / "docs" / "adding_a_primitive.md").read_text()
    return dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', text, re.MULTILINE | re.DOTALL))


def edit(step: str) -> None:
    """What a step says to write, done as its author would."""
    blocks = blocks_of_page()
    if step.startswith("The source"):
        (ROOT / "ir/ops/logistic.cc").write_text(blocks["ir/ops/logistic.cc"])
        build = ROOT / "ir/ops/meson.build"
        files = build.read_text()
        build.write_text(files.replace("\n)", "\n" + blocks["ir/ops/meson.build"].rstrip("\n") + "\n)", 1))
    elif step.startswith("The test"):
        record = next(title for title in blocks if title.endswith("records/elementwise.py"))
        with (ROOT / record).open("a") as file:
            file.write("\n\n" + blocks[record])
    elif step.startswith("The changelog"):
        line = re.search(r"`` (- .*?) ``", step, re.DOTALL)
        assert line, step
        changelog = ROOT / "CHANGELOG.md"
        before, newest, *older = changelog.read_text().split("\n## ")
        newest = newest.rstrip("\n") + "\n" + " ".join(line[1].split()) + "\n"
        changelog.write_text("\n## ".join([before, newest, *(["\n" + older[0], *older[1:]] if older else [])]))


def main() -> int:
    """Follows the walk; 0 if every command of it succeeded."""
    for number, (step, commands) in enumerate(sections(), start=1):
        print(f"\n{number}. {step.split('.')[0].split(':')[0]}", flush=True)
        edit(step)
        for line in commands.splitlines():
            command = line.strip()
            if not command or command.startswith("git clone"):
                continue
            print(f"$ {command}", flush=True)
            start = time.monotonic()
            status = subprocess.run(["bash", "-c", command], cwd=ROOT, check=False).returncode
            print(f"# {time.monotonic() - start:.0f} s", flush=True)
            if status != 0:
                print(f"status {status}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
