"""Writes docs/gallery.md, the page of the examples, from their files. Run by `./dev docs`; a test compares.

    python docs/generate_gallery.py                  writes the page; draws what has no picture, or whose files have changed since
    python docs/generate_gallery.py --draw [NAME…]   draws these pictures, or all (gallery_pictures.py), into docs/gallery/
    python docs/generate_gallery.py --measure [NAME…]  runs the commands that the examples name, and keeps how long they took

An example is a folder of `examples/` with one Python file, a Python file of a folder of several, or a file that stands in `examples/` itself.
Its title is the first sentence of what its main file opens with, its text the rest, and its commands are the first lines there that are
indented. What was measured, and the files of which pictures were drawn, is in docs/gallery/record.json.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import platform
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EXAMPLES = ROOT / "examples"
PICTURES = HERE / "gallery"
RECORD = PICTURES / "record.json"
SOURCES = {".py", ".c", ".cc", ".rs", ".jl", ".html", ".ld", ".txt"}
LARGEST = 60_000  # bytes of a picture

HEAD = """# Gallery

The programs of `examples/`, each with something that it computes. Titles and texts are what the files open with, the pictures are drawn by
`docs/gallery_pictures.py` from runs of them. Times are seconds of a processor, of all its cores together, that the commands took which the files
name, compiling included; measured once on {machine} by `python docs/generate_gallery.py --measure`.
"""
SECTIONS = {
    "": "Programs of this library",
    "languages": "Functions that are exported, and programs in other languages that call them",
    "ports": "Programs that were written for JAX",
}


@dataclass(frozen=True)
class Example:
    """A program of `examples/`: its main file and all of its files."""

    main: Path
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        """Of its picture: that of the folder it has for itself, else that of its file."""
        return self.main.parent.name if self.section == "languages" else self.main.stem

    @property
    def section(self) -> str:
        """Which part of the page it is in."""
        if self.main.parent == EXAMPLES:
            return ""
        return "languages" if len(list(self.main.parent.glob("*.py"))) == 1 else self.main.parent.name

    @cached_property
    def opening(self) -> str:
        """What the main file says of itself."""
        text = self.main.read_text()
        if self.main.suffix == ".py":
            return ast.get_docstring(ast.parse(text)) or ""
        found = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
        return re.sub(r"^ \* ?", "", found[1].strip(), flags=re.MULTILINE) if found else ""

    @property
    def title(self) -> str:
        """The first sentence."""
        return self.sentences[0].removesuffix(".")

    @property
    def text(self) -> str:
        """The prose behind it, as paragraphs."""
        return self.sentences[1]

    @cached_property
    def sentences(self) -> tuple[str, str]:
        """The first sentence, and the others but for those that speak of the commands around them, or of usage."""
        kept: list[str] = []
        after_commands = False
        for part in self.opening.split("\n\n"):
            if part.startswith("    "):
                after_commands = True
                continue
            found = re.split(r"(?<=[.:]) (?=[A-Z])", " ".join(re.sub(r"usage:.*", "", part, flags=re.DOTALL).split()))
            if after_commands and found[0][:1].islower():
                found = found[1:]
            if found and found[-1].endswith(":"):
                found = found[:-1]
            kept += [*found, ""]
            after_commands = False
        paragraphs = [part.strip() for part in " ".join(one or "\n\n" for one in kept[1:]).split("\n\n")]
        return kept[0], "\n\n".join(part for part in paragraphs if part)

    @property
    def commands(self) -> list[list[str]]:
        """How it is run."""
        if self.main.suffix != ".py":
            return []
        blocks = [part for part in self.opening.split("\n\n") if part.startswith("    ")]
        lines = blocks[0].splitlines() if blocks else [f"python {self.main.relative_to(ROOT)}"]
        return [shlex.split(line) for line in lines]

    @property
    def lines(self) -> int:
        """Of all its files."""
        return sum(len(file.read_text().splitlines()) for file in self.files)

    @property
    def digest(self) -> str:
        """Of what its files hold."""
        return hashlib.sha256(b"\0".join(file.read_bytes() for file in self.files)).hexdigest()[:16]

    @property
    def picture(self) -> Path | None:
        """The file that was drawn."""
        return next((file for ending in ("svg", "png") if (file := PICTURES / f"{self.name}.{ending}").exists()), None)


def examples() -> list[Example]:
    """All of them, in the order of the page."""
    found = []
    for entry in sorted(EXAMPLES.iterdir()):
        if entry.is_file() and entry.suffix in SOURCES:
            found.append(Example(entry, (entry,)))
        elif programs := sorted(entry.glob("*.py")) if entry.is_dir() else []:
            if len(programs) > 1:
                found += [Example(program, (program,)) for program in programs]
            else:
                files = [file for file in sorted(entry.iterdir()) if file.is_file() and file.suffix in SOURCES]
                found.append(Example(programs[0], tuple(sorted(files, key=lambda file: file.suffix != ".py"))))
    return sorted(found, key=lambda one: list(SECTIONS).index(one.section))


def record() -> dict[str, Any]:
    """What is kept of earlier runs."""
    return json.loads(RECORD.read_text()) if RECORD.exists() else {"machine": "", "examples": {}}


def keep(kept: dict[str, Any]) -> None:
    kept["examples"] = dict(sorted(kept["examples"].items()))
    RECORD.write_text(json.dumps(kept, indent=1) + "\n")


def facts(example: Example, kept: dict[str, Any]) -> str:
    """The line below an example: its files, its length, its time."""
    files = ", ".join(f"[`{file.name}`](../{file.relative_to(ROOT).as_posix()})" for file in example.files)
    parts = [files, f"{example.lines} lines"]
    if (seconds := kept.get("seconds")) is not None:
        parts.append(f"{seconds:.1f} s" + (f" of {', '.join(kept['ran'])}" if "ran" in kept else ""))
    return " · ".join(parts)


def described(example: Example, kept: dict[str, Any]) -> str:
    """An example's part of the page."""
    from gallery_pictures import PICTURE_OF  # imports nothing that draws

    caption = " ".join((PICTURE_OF[example.name].__doc__ or "").split())
    picture = example.picture
    shown = f"![{caption}](gallery/{picture.name})\n\n*{caption}*" if picture else ""
    parts = [f"### {example.title}", shown, example.text, facts(example, kept)]
    return "\n\n".join(part for part in parts if part) + "\n"


def page() -> str:
    """The text of the page."""
    kept = record()
    parts = [HEAD.format(machine=kept["machine"])]
    for section, title in SECTIONS.items():
        of_it = [example for example in examples() if example.section == section]
        parts.append(f"## {title}\n")
        parts += [described(example, kept["examples"].get(example.name, {})) for example in of_it]
    return "\n".join(parts)


def draw(example: Example) -> None:
    """Runs what its picture is of, and stores it."""
    import gallery_pictures

    for old in PICTURES.glob(f"{example.name}.*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        file = gallery_pictures.draw(example.name, PICTURES, Path(folder))
    if file.stat().st_size > LARGEST:
        raise ValueError(f"{file.name} has {file.stat().st_size} bytes, more than {LARGEST}")


def spent() -> float:
    """The seconds that processes which have ended took of processors: others on the machine do not change them much."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(example: Example) -> dict[str, Any]:
    """The processor's seconds of its commands, and which of them ran where a program for the others is missing."""
    commands = example.commands
    if not commands:
        return {}
    able = [*commands]
    for at, command in enumerate(commands):
        built = command[0].startswith("build/")
        if not built and command[0] != "python" and shutil.which(command[0]) is None:
            able = commands[:at]
            break
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(EXAMPLES, Path(folder) / "examples", ignore=shutil.ignore_patterns("output", "__pycache__"))
        shutil.copy(ROOT / "LICENSE", folder)
        (Path(folder) / "build").mkdir()
        environment = {**os.environ, "CT_CACHE_DIR": str(Path(folder) / "cache"), "MPLBACKEND": "agg"}
        before = spent()
        for command in able:
            words = [sys.executable if word == "python" else word for word in command]
            subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True)
        seconds = round(spent() - before, 1)
    return {"seconds": seconds} | ({"ran": [Path(command[1]).name for command in able]} if able != commands else {})


def main() -> None:
    """Called by `./dev docs`, and by hand."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draw", nargs="*", metavar="NAME")
    parser.add_argument("--measure", nargs="*", metavar="NAME")
    options = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    kept = record()
    for example in examples():
        of_it = kept["examples"].setdefault(example.name, {})
        chosen = options.draw is not None and (not options.draw or example.name in options.draw)
        stale = options.draw is None and options.measure is None and of_it.get("files") != example.digest
        if chosen or stale:
            print(f"draw {example.name}", flush=True)
            draw(example)
            of_it["files"] = example.digest
        if options.measure is not None and (not options.measure or example.name in options.measure):
            kept["machine"] = f"{os.cpu_count()} cores of {platform.machine()}"
            found = measured(example)
            print(f"measure {example.name}: {found}", flush=True)
            kept["examples"][example.name] = {"files": of_it.get("files", ""), **found}
        keep(kept)
    names = {example.name for example in examples()}
    kept["examples"] = {name: of_it for name, of_it in kept["examples"].items() if name in names}
    keep(kept)
    HERE.joinpath("gallery.md").write_text(page())


if __name__ == "__main__":
    main()
