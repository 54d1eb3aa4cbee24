"""Arguments that are one of a few words, ``mode="same"``: what is said of another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cotangent._base.arguments import nearest


def check_word(function: str, parameter: str, word: Any, words: Sequence[Any]) -> None:
    """ValueError unless ``word`` is one of ``words``, as `not_among` says it."""
    if not any(word is known or (isinstance(word, str) and word == known) for known in words):
        raise not_among(function, parameter, word, words)


def not_among(function: str, parameter: str, word: Any, words: Sequence[Any]) -> ValueError:
    """The error of an argument that is none of the words which a function takes: which those are, and the one that was meant.

    The first of ``words`` is the parameter's default, or an example.
    """
    *others, last = map(repr, words)
    known = [each for each in words if isinstance(each, str)]
    alike = [each for each in known if isinstance(word, str) and each.lower() == word.lower()]
    meant = alike[0] if alike else nearest(word, known)
    near = "" if meant is None else f"; did you mean {meant!r}?"
    if meant is not None:
        hint = f"pass {parameter}={meant!r}"
    elif words[0] is None:
        hint = f"leave {parameter} out, or pass {parameter}={known[0]!r}"
    else:
        hint = f"pass {parameter}={words[0]!r}, for example"
    return ValueError(f"{function}: {parameter} must be {', '.join(others)} or {last}; got {word!r}{near}\n  {hint}")
