"""Arguments that are one of a few words: ``mode="same"``."""

from __future__ import annotations

from collections.abc import Sequence

from cotangent._base.arguments import suggestion


def not_among(name: str, argument: str, value: object, words: Sequence[str | None]) -> ValueError:
    """What a function says whose argument is none of the words that it takes: which those are, and the one that was meant.

    The first of ``words`` is the argument's default.
    """
    *rest, last = (repr(word) for word in words)
    known = [word for word in words if word is not None]
    meant = [word for word in known if isinstance(value, str) and word.lower() == value.lower()]
    near = f"; did you mean {meant[0]!r}?" if meant else suggestion(value, known)
    if near:
        hint = f"pass {argument}={near.split(' mean ')[1][:-1]}"
    else:
        hint = (
            f"leave {argument} out{'' if words[0] is None else f' for {words[0]!r}'}, or pass {argument}={words[1]!r}"
        )
    return ValueError(f"{name}: {argument} must be {', '.join(rest)} or {last}; got {value!r}{near}\n  {hint}")
