"""JAX's phrases in errors: programs and tests look for them in the text of an error, where ours says the same in other words.

`add_phrase` is called for errors that leave functions that programs call as JAX's (`tracebacks.api_boundary`): it appends a line with JAX's phrase
to our text. The table has our wording, as a pattern, and the phrase, in which groups of the pattern stand for themselves.
"""

from __future__ import annotations

import re

__all__ = ["add_phrase"]

_PHRASES: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), phrase)
    for pattern, phrase in [
        # Trees
        (r"tree_transpose: mismatch of (.+) and (.+), the outer", "Mismatch of {1} and {2}"),
        (r"flatten_one_level: (\w+) is a leaf", "can't tree-flatten type: {1}"),
        (r"fields both in data_fields and in meta_fields: \[(.*)\]", "data_fields and meta_fields must not overlap. Overlapping fields: {{{1}}}"),
        (r"must return \(children, auxiliary data\) with children that can be iterated over; it returned (.+)",
         "The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple where 'children' is iterable, got {1}"),
        (r"must return \(children, auxiliary data\); it returned (.+)",
         "The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple, got {1}"),
        # Functions with rules of their own
        (r"(\w+) is a custom_jvp function without a rule", "No JVP defined for custom_jvp function {1} using defjvp."),
        (r"(\w+) is a custom_vjp function without rules", "No VJP defined for custom_vjp function {1} using defvjp."),
        (r"(\w+) is a custom_vmap function without a rule", "No batching rule defined for custom_vmap function {1}"),
        (r"forward-mode differentiation through a custom_vjp function", "can't apply forward-mode autodiff (jvp) to a custom_vjp function."),
        (r"the backward rule of (.+) must return a tuple of (\d+) cotangents", "Custom VJP bwd rule for function {1} must produce a tuple of {2}"),
        (r"cotangent of argument (\d+) from the backward rule of (.+) must have the structure", "Custom VJP bwd rule for function {2} must produce"),
        (r"keyword-only arguments cannot be passed to a custom_(?:jvp|vjp|vmap) function: \['(.*)'\]",
         "The following keyword arguments could not be resolved to positions: {1}"),
        # Maps
        (r"vmap: output \S* ?differs from example to example, but its out_axes", "vmap has mapped output but out_axes is None, at vmap out_axes"),
    ]
]  # fmt: skip


def _phrase_for(text: str) -> str | None:
    for pattern, phrase in _PHRASES:
        found = pattern.search(text)
        if found is not None:
            return phrase.format(*(found.group(0), *found.groups()))
    return None


def add_phrase(error: BaseException) -> None:
    """Appends JAX's phrase to the text of an error that has one of our wordings; once."""
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    text = error.args[0]
    phrase = _phrase_for(text)
    if phrase is not None and phrase not in text:
        error.args = (f"{text}\n  {phrase}",)
