"""The links of the built site: `python tests/docs/site_links.py dist/site` prints those within it that lead nowhere, and those that leave it.

A page is read once: where its links and pictures lead, and the names that links may end at. Nothing is fetched.
"""

from __future__ import annotations

import html
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

BY_SCRIPT = {"", "top", "pst-back-to-top"}


@dataclass
class Page:
    """What a page's links need and offer."""

    targets: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)


ELEMENT = re.compile(r"<(\w+)\b([^<>]*)>")
ATTRIBUTE = re.compile(r'(?<![\w-])(id|name|href|src)="([^"]*)"')


def read(text: str) -> Page:
    """Reads a page of HTML, as Sphinx writes it: with double quotes."""
    page = Page()
    for tag, attributes in ELEMENT.findall(text):
        for name, value in ATTRIBUTE.findall(attributes):
            if name == "id" or (tag == "a" and name == "name"):
                page.names.add(html.unescape(value))
            elif (name == "href" and tag in ("a", "link")) or (name == "src" and tag in ("img", "script")):
                page.targets.add(html.unescape(value))
    return page


def pages(site: Path) -> dict[Path, Page]:
    """All pages of a site by their files."""
    found = {}
    for file in sorted(site.rglob("*.html")):
        if "_static" in file.relative_to(site).parts:  # templates of the theme
            continue
        found[file.resolve()] = read(file.read_text())
    return found


def check(site: Path) -> tuple[list[str], dict[str, list[str]]]:
    """The links within the site that lead nowhere, and the others with the pages that have them."""
    known = pages(site)
    broken, outside = [], {}
    for file, page in known.items():
        here = file.relative_to(site.resolve()).as_posix()
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if parts.scheme in ("http", "https", ""):
                    outside.setdefault(target, []).append(here)
                continue
            there = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchor = unquote(parts.fragment)
            if not there.is_file():
                broken.append(f"{here}: {target} is no file")
            elif there in known and anchor not in BY_SCRIPT and anchor not in known[there].names:
                broken.append(f"{here}: {target} has no such place")
    return broken, outside


def main() -> None:
    """Prints both."""
    broken, outside = check(Path(sys.argv[1] if len(sys.argv) > 1 else "dist/site"))
    print(f"{len(outside)} links leave the site:")
    for target, where in sorted(outside.items()):
        print(f"  {target}  ({where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''})")
    print(f"{len(broken)} links within it lead nowhere" + (":" if broken else ""))
    print("".join(f"  {line}\n" for line in broken), end="")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
