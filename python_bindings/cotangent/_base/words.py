"""Arguments that are one of a few words: what is said of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent._base.arguments import suggestion


def check_word(function: str, parameter: str, word: Any, words: Sequence[Any]) -> None:
    """ValueError unless ``word`` is one of ``words``: it lists them, and says which one was meant."""
    if any(word is known or (isinstance(word, str) and word == known) for known in words):
        return
    *others, last = map(repr, words)
    near = suggestion(word, [known for known in words if isinstance(known, str)])
    meant = next((known for known in words if near and repr(known) in near), words[0])
    raise ValueError(
        f"{function}: {parameter} must be {', '.join(others)} or {last}; got {word!r}{near}\n"
        f"  pass {parameter}={meant!r}{'' if near else ', for example'}"
    )
