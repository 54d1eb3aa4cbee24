"""What bindings for other languages share: names, and which result a function returns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from cotangent.export._layout import ArrayType, Library, unique
from cotangent.export._signature import Parameter, Signature


class Names:
    """The names of a scope, where a language has keywords of its own: those get an underscore behind, equal ones a number."""

    def __init__(self, taken: Iterable[str] = (), keywords: frozenset[str] = frozenset()) -> None:
        self._taken = set(taken)
        self._keywords = keywords

    def take(self, word: str) -> str:
        """The word, or what stands for it."""
        return unique(f"{word}_" if word in self._keywords else word, self._taken)

    def inner(self, *more: str) -> Names:
        """A scope inside, which must not hide any of these, nor has more names."""
        return Names((*self._taken, *more), self._keywords)


def function_word(name: str) -> str:
    """What a function is called where there is no prefix in front: no name begins with a digit."""
    return f"_{name}" if name[0].isdigit() else name


def pascal(name: str) -> str:
    """``layers_1`` as ``Layers1``."""
    made = "".join(word[:1].upper() + word[1:] for word in name.split("_"))
    return made if re.match(r"[A-Za-z]", made) else f"Type{made}"


def structure_names(library: Library, names: Names) -> dict[str, str]:
    """What structures are called where they need no prefix: ``mlp_params_layers`` is ``ParamsLayers``."""
    return {each.name: names.take(pascal(each.name.removeprefix(f"{library.name}_"))) for each in library.structures}


def is_number(parameter: Parameter) -> bool:
    """Whether it is one element, a complex number perhaps."""
    kind = parameter.type
    return isinstance(kind, ArrayType) and kind.shape == () and kind.rows == ()


def returned(signature: Signature) -> Parameter | None:
    """The result that a function returns, where languages have exceptions for statuses: its only number, if that is its only new result."""
    results = [parameter for parameter in signature.parameters if parameter.role == "out"]
    return results[0] if len(results) == 1 and is_number(results[0]) else None


def wrapped(head: str, parts: Sequence[str], tail: str, indent: int = 0) -> str:
    """A declaration or call with its parts in brackets, on as many lines as it takes."""
    text = f"{' ' * indent}{head}({', '.join(parts)}){tail}"
    if len(text) <= 120:
        return text
    inner = " " * (indent + 4)
    # Only the commas between parts are places to break.
    lines = textwrap.wrap(
        ", ".join(part.replace(" ", "\0") for part in parts) + f"){tail}".replace(" ", "\0"),
        116 - indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join([f"{' ' * indent}{head}(", *(inner + line.replace("\0", " ") for line in lines)])
