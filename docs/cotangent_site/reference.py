"""The reference: a page for each public namespace, made from the package. No name is listed here by hand.

A page has a table of one-line summaries, in the groups that the modules of the package are, and below it each entry with its signature,
its docstring and what is known of its support (`support.py`). A namespace that would be a very long page has its tables there, and entries on
a page for each group, or for each class; a link to an entry that leads to the namespace's page ends at the row of the table. What two
namespaces have is documented in one of them.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import re
import types
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import public_api
from public_api import Entry

from cotangent_site import docstrings, support

GROUPS_FROM = 30  # names in a namespace from which on its table is cut into groups
LONGEST_PAGE = 80_000  # letters of entries on a page, which is five times as many bytes of HTML
LONGEST_TITLE = 80


def default_text(value: Any) -> str:
    """A default as a reader writes it."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, type | types.FunctionType):
        return value.__name__
    text = repr(value)
    return text if re.fullmatch(r"[\w.\-+'\"(), \[\]{}]+", text) else "..."


def signature_text(entry: Entry) -> str:
    """The parameters and their defaults; types are in the docstring."""
    signature = entry.signature
    if signature is None:
        return "(...)"
    shown = []
    for parameter in signature.parameters.values():
        default = parameter.default
        if default is not inspect.Parameter.empty:
            default = _Shown(default_text(default))
        shown.append(parameter.replace(annotation=inspect.Parameter.empty, default=default))
    return str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))


class _Shown:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def indented(lines: Iterable[str], by: int = 3) -> list[str]:
    return [" " * by + line if line.strip() else "" for line in lines]


def directive(kind: str, heading: str, body: list[str]) -> list[str]:
    return [f".. py:{kind}:: {heading}", "", *indented(body), ""]


def section(title: str, underline: str) -> list[str]:
    return [title, underline * len(title), ""]


def described(entry: Entry) -> list[str]:
    """One entry in full."""
    home = public_api.homes().get(id(entry.value))
    if home is not None and home != entry.path:
        same = [f"The same as :py:obj:`{home}`: {docstrings.plain(entry.summary)}"]
        return directive("class" if entry.is_class else "function", entry.name + call_of(entry), same)
    if entry.is_class:
        return class_entry(entry)
    if entry.is_function:
        body = docstrings.as_rst(entry.doc, entry.name, "function")
        return directive("function", entry.name + call_of(entry), [*body, "", *support.lines(entry)])
    if entry.is_object:
        return directive("data", entry.name, with_members(entry))
    lines = docstrings.as_rst(entry.doc, entry.name, "class") if entry.doc else [f"``{default_text(entry.value)}``"]
    return directive("data", entry.name, lines)


def call_of(entry: Entry) -> str:
    if entry.is_class and issubclass(entry.value, BaseException):
        return ""
    return signature_text(entry)


def class_entry(entry: Entry) -> list[str]:
    kind = "exception" if issubclass(entry.value, BaseException) else "class"
    return directive(kind, entry.name + call_of(entry), with_members(entry))


def with_members(entry: Entry) -> list[str]:
    """What a class or an object says of itself, and its methods and properties."""
    body = docstrings.as_rst(entry.doc, entry.name, "class")  # napoleon takes the first words of others for a type
    for member in public_api.members(entry):
        name = member.name.rpartition(".")[2]
        what, heading = ("method", name + signature_text(member)) if callable(member.value) else ("property", name)
        if not entry.is_class:  # a name of Python's domain, which knows members of classes only
            heading = f"{entry.name}.{heading}"
        body += ["", *directive(what, heading, member_text(member))]
    return body


def member_text(member: Entry) -> list[str]:
    """What a method or property says of itself; a function that is a method, too, is described as a function."""
    home = public_api.homes().get(id(member.value))
    if home is not None:
        return [f"As the function :py:obj:`{home}`. {docstrings.plain(member.summary)}"]
    return docstrings.as_rst(member.doc, member.name, "method") if member.doc else []


def row(entry: Entry, anchor: bool = False) -> list[str]:
    """A line of the table; with anchors for the entry and its members where these are on another page."""
    says = docstrings.plain(entry.summary) if entry.doc else "A value."
    inner = public_api.members(entry) if entry.is_class or entry.is_object else []
    place = "".join(f":anchor:`{one.path}` " for one in [entry, *inner]) if anchor else ""
    return [f"   * - {place}:py:obj:`~{entry.path}`", *indented([f"- {says}"], 5)]


def table(entries: list[Entry], elsewhere: set[str]) -> list[str]:
    """The summaries, with anchors at those that are described on other pages."""
    if not entries:
        return []
    lines = [".. list-table::", "   :class: summaries", "   :widths: 30 70", ""]
    for entry in entries:
        lines += row(entry, entry.name in elsewhere)
    return [*lines, ""]


@dataclass(frozen=True)
class Group:
    """Names that belong together: those of a module of the package, that are written in it."""

    title: str
    name: str  # of its page


OTHERS, VALUES, ALL = Group("Others", "others"), Group("Values", "values"), Group("", "all")


def group_of(entry: Entry) -> Group:
    """What it is among: the module where it is written."""
    if not (entry.is_class or entry.is_function or entry.is_object):
        return VALUES
    home = str(getattr(entry.value, "__module__", None) or entry.namespace)
    if home == entry.namespace or not home.startswith("cotangent."):
        return OTHERS
    doc = inspect.cleandoc(importlib.import_module(home).__doc__ or "")
    sentence = re.split(r"[.:;](?:\s|$)", " ".join(doc.split("\n\n")[0].split()))[0].replace("`", "")
    name = home.rpartition(".")[2].strip("_")
    words = name.replace("_", " ")
    return Group(sentence if 0 < len(sentence) <= LONGEST_TITLE else words[0].upper() + words[1:], name)


def grouped(entries: tuple[Entry, ...]) -> dict[Group, list[Entry]]:
    """Entries by groups; one group without a title where there are few, or where groups would be of one name each."""
    groups: dict[Group, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(group_of(entry), []).append(entry)
    single = [group for group, members in groups.items() if len(members) == 1]
    if len(entries) < GROUPS_FROM or 3 * len(single) > len(groups):
        return {ALL: list(entries)}
    for group in set(single) - {OTHERS, VALUES}:
        groups.setdefault(OTHERS, []).extend(groups.pop(group))
    groups.get(OTHERS, []).sort(key=lambda entry: entry.name)
    return dict(sorted(groups.items(), key=lambda item: (item[0] == VALUES, item[0] == OTHERS, item[0].title.lower())))


@cache
def entry_text(namespace: str, name: str) -> str:
    """One entry in full."""
    (entry,) = (entry for entry in public_api.entries(namespace) if entry.name == name)
    return "\n".join(described(entry))


def is_long(entries: Iterable[Entry]) -> bool:
    """Whether one page of these entries would be too long."""
    return sum(len(entry_text(entry.namespace, entry.name)) for entry in entries) > LONGEST_PAGE


@dataclass
class Part:
    """What is described together on a page beside that of the namespace."""

    name: str
    title: str
    entries: list[Entry]


@cache
def parts(namespace: str) -> tuple[Part, ...]:
    """The pages of a namespace beside its own: none, or one for each group, and for each class or object of a group that is still too long."""
    entries = public_api.entries(namespace)
    if not is_long(entries):
        return ()
    found = []
    for group, members in grouped(entries).items():
        alone = []
        if is_long(members):
            alone = [entry for entry in members if (entry.is_class or entry.is_object) and public_api.members(entry)]
        found += [Part(entry.name, entry.path, [entry]) for entry in alone]
        rest = [entry for entry in members if entry not in alone]
        if group is not ALL and rest:
            found.append(Part(group.name, group.title, rest))
    assert len({part.name for part in found}) == len(found), "two parts would have one page"
    return tuple(found)


def page(namespace: str) -> str:
    """The text of a namespace's page."""
    module = importlib.import_module(namespace)
    entries = public_api.entries(namespace)
    elsewhere = {entry.name: part for part in parts(namespace) for entry in part.entries}
    lines = [*section(namespace, "="), f".. py:module:: {namespace}", ""]
    lines += [docstrings.prose(inspect.cleandoc(module.__doc__ or "")), ""]
    if elsewhere:
        lines += [".. toctree::", "   :hidden:", ""]
        lines += [*(f"   {namespace}/{part.name}" for part in parts(namespace)), ""]
    for group, members in grouped(entries).items():
        lines += section(group.title, "-") if group.title else []
        if group.name in (part.name for part in parts(namespace)):
            lines += [f":doc:`All of these in full <{namespace}/{group.name}>`", ""]
        lines += table(members, set(elsewhere))
    here = [entry for entry in entries if entry.name not in elsewhere]
    if here:
        lines += section("Entries", "-")
        lines += [entry_text(namespace, entry.name) for entry in here]
    return "\n".join(lines) + "\n"


def pages_of_parts(namespace: str) -> dict[str, str]:
    """The pages of entries that are not on their namespace's."""
    made = {}
    for part in parts(namespace):
        lines = [*section(part.title, "="), f".. py:currentmodule:: {namespace}", "", f"Of :py:mod:`{namespace}`.", ""]
        lines += [entry_text(namespace, entry.name) for entry in part.entries]
        made[f"reference/{namespace}/{part.name}.rst"] = "\n".join(lines) + "\n"
    return made


INDEX = """Reference
=========

Every public name, from the package itself: what is here is what ``import cotangent`` has. Names in code on all pages of this site are links to
these.

Below functions of arrays stands what is known of their support, from the calls that :doc:`the table of masks </masks>` tries: how they are called with ragged
arrays, whether what they compute can be :doc:`exported </export>` and becomes kernels of :doc:`a GPU </gpu>`, and the :doc:`primitives </primitives>` that
it consists of.

.. toctree::
   :hidden:
   :caption: Namespaces

{pages}

.. list-table::
   :class: summaries
   :widths: 30 10 60
   :header-rows: 1

   * - namespace
     - names
     - what it is
{rows}

.. toctree::
   :maxdepth: 1
   :caption: What they stand on

   ../primitives
   ../masks
   ../environment
   cpp_headers
"""


def pages() -> dict[str, str]:
    """All pages of the reference by their names."""
    made = {f"reference/{namespace}.rst": page(namespace) for namespace in public_api.namespaces()}
    rows = []
    for namespace in public_api.namespaces():
        made |= pages_of_parts(namespace)
        doc = inspect.cleandoc(importlib.import_module(namespace).__doc__ or "").split("\n\n")[0]
        rows += [f"   * - :doc:`{namespace}`", f"     - {len(public_api.entries(namespace))}"]
        rows += [f"     - {docstrings.plain(' '.join(doc.split()))}"]
    names = "\n".join(f"   {namespace}" for namespace in public_api.namespaces())
    made["reference/index.rst"] = INDEX.format(rows="\n".join(rows), pages=names)
    return made
