"""JAX's phrases in errors: programs and tests look for them in the text of an error, where ours says the same in other words.

`add_phrase` is called for errors that leave functions that programs call as JAX's (`tracebacks.api_boundary`): it appends a line with JAX's phrase
to our text. The table has our wording, as a pattern, and the phrase, in which groups of the pattern stand for themselves.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from cotangent.errors import ConcretizationError
from cotangent.jax.phrases_of_arrays import PHRASES_OF_ARRAYS
from cotangent.jax.phrases_of_lax import PHRASES_OF_LAX

__all__ = ["CONVERSIONS", "add_phrase", "converting"]

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
        (r"but data_fields and meta_fields name \[.*\]\n  name (\w+), too",
         "data_fields and meta_fields must include all dataclass fields and only them. Missing fields: {{'{1}'}}"),
        (r"but data_fields and meta_fields name \[.*\]\n  leave out (\w+)",
         "data_fields and meta_fields must include all dataclass fields and only them. Unexpected fields: {{'{1}'}}"),
        (r"in a pytree's structure cannot be compared", "Exception raised while checking equality of metadata fields of pytree."),
        (r"a dict in a pytree has keys that cannot be sorted", "Comparator raised exception while sorting pytree dictionary keys."),
        (r"^the vector must have shape .* and dtype (\w+), as ravel_pytree gave; got \(.*\) and (\w+)",
         "unravel function given array of dtype {2}, but expected dtype {1}"),
        # Functions with rules of their own
        (r"^the jvp rule of (\w+) must return \(output, output tangent\); it returned (.+)",
         "Custom JVP rule for function {1} must produce a pair (list or tuple of length two) representing primal and tangent outputs, but got {2}"),
        (r"^the output of the forward rule of (\w+) must have the structure",
         "Custom VJP fwd rule for function {1} must produce a pair (list or tuple of length two)"),
        (r"(\w+) is a custom_jvp function without a rule", "No JVP defined for custom_jvp function {1} using defjvp."),
        (r"(\w+) is a custom_vjp function without rules", "No VJP defined for custom_vjp function {1} using defvjp."),
        (r"(\w+) is a custom_vmap function without a rule", "No batching rule defined for custom_vmap function {1}"),
        (r"forward-mode differentiation through a custom_vjp function", "can't apply forward-mode autodiff (jvp) to a custom_vjp function."),
        (r"the backward rule of (.+) must return a tuple of (\d+) cotangents", "Custom VJP bwd rule for function {1} must produce a tuple of {2}"),
        (r"cotangent of argument (\d+) from the backward rule of (.+) must have the structure", "Custom VJP bwd rule for function {2} must produce"),
        (r"keyword-only arguments cannot be passed to a custom_(?:jvp|vjp|vmap) function: \['(.*)'\]",
         "The following keyword arguments could not be resolved to positions: {1}"),
        (r"^the tangent output of the jvp rule of (.+) has shape (.+); it must have (.+)",
         "Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes."),
        (r"^closure_convert: .* was converted for arguments (.+); called with (.+)",
         "The inputs to the closure produced by closure_convert must have the structure {1}, and have {2}"),
        # Derivatives
        (r"^(.+) must return a pair \(output, aux\)", "with has_aux=True, {1} should return a two-element tuple"),
        (r"^grad\(holomorphic=True\) of .* needs complex arguments; got (.+)",
         "grad with holomorphic=True requires inputs with complex dtype, but got {1}"),
        (r"^grad needs .* to return a real floating scalar; it returned (complex\w+)",
         "grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), but got {1}"),
        (r"^grad of .* has dtype ((?:u?int|bool)\w*), which has no derivative",
         "grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got {1}."),
        (r"^jacfwd of .*: complex arguments need holomorphic=True",
         "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got complex ones."),
        (r"^grad: argnums=(\S+) needs at least (\d+) positional arguments; got (\d+)",
         "differentiating with respect to argnums={1} requires at least {2} positional arguments to be passed by the caller, "
         "but got only {3} positional arguments."),
        (r"^linearize: the tangent at", "linearized function called on tangent values inconsistent with the original primal values"),
        (r"^vjp of .*: the cotangent must have the structure", "unexpected tree structure"),
        (r"^vjp of .*: the cotangent has (shape|dtype)", "unexpected JAX type (e.g. shape/dtype)"),
        (r"^transpose needs inputs of float or complex dtype", "linear_transpose only supports float and complex inputs"),
        (r"^jac(fwd|rev)\(holomorphic=True\) needs .* complex arrays; it returned (.+)",
         "jac{1} with holomorphic=True requires inputs with complex dtype, but got {2}."),
        (r"^jvp: primals and tangents must be tuples or lists", "primal and tangent arguments to jax.jvp must be tuples or lists"),
        (r"^vjp of (.+): the pullback takes one cotangent, of the structure of the output; got (\d+)",
         "The function returned by `jax.vjp` applied to {1} was called with {2} arguments, but it takes one, the cotangents of the output"),
        # Functions that are captured
        (r"^ShapeDtypeStruct: a dtype is needed", "ShapeDtypeStruct: dtype must be specified."),
        (r"^len\(\) of a ShapeDtypeStruct without axes", "len() of unsized object"),
        (r"escaped from the capture of '(.+)' by .*: it was used after that capture had ended",
         "Encountered an unexpected tracer: a transformed function had the side effect of saving it to global state"),
        (r"^static arguments must be hashable; got an? (.+)", "Non-hashable static arguments are not supported: {1}"),
        (r"^unsupported type (\w+) at the output of (\w+)(\S*)", "{2} returned a value of type {1} at output component {3}, which is not a valid JAX type"),
        (r"^unsupported type (\w+) at", "an argument of type <class '{1}'> is not a valid JAX type"),
        (r"^arrays of dtype (\w+) are not supported", "an array of dtype {1} is not a valid JAX type"),
        (r"was compiled for arguments of the structure", "Function compiled with input pytree does not match the input pytree it was called with"),
        (r"argument \S+ is both static and donated", "static_argnames and donate_argnames cannot intersect, nor can their positions"),
        (r"is compiled, so no transform can look into it",
         "Cannot apply JAX transformations to a function lowered and compiled for a particular signature."),
        (r"^the value of an array of type (\w+\[[^\]]*\])\*? .*is needed here",
         "Abstract tracer value encountered where concrete value is expected: traced array with shape {1}"),
        (r"^only integer scalar arrays can be used as an index", "Only integer scalar arrays can be converted to a scalar index. "
         "Abstract tracer value encountered where concrete value is expected."),
        (r"^a masked array of NumPy has elements", "numpy masked arrays are not supported"),
        (r"^structures differ: expected", "pytree structure error: different structures"),
        # Maps
        (r"^vmap(?: of .*)?: (in|out)_axes must be made of ints and None; got (.+)",
         "vmap {1}_axes must be an int, None, or a pytree of these (each entry must be an int); got {2}"),
        (r"^vmap of .*: in_axes has (\d+) entries, but there are (\d+) positional arguments",
         "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the function, "
         "but got len(in_axes)={1}, len(args)={2}"),
        (r"^vmap of .*: at least one argument must be mapped over, or axis_size given",
         "vmap wrapped function must be passed at least one argument containing an array or axis_size must be specified"),
        (r"^vmap of .*: argument (\S+) has shape (.+), which has no axis (-?\d+)",
         "vmap was requested to map its argument along axis {3}, of rank less than that: shape {2}"),
        (r"^vmap of .*: the mapped axes have different sizes \((.*)\)", "vmap got inconsistent sizes for array axes to be mapped: {1}"),
        (r"^vmap takes options after the function", "vmap in_axes must be an int, None, or a tuple; vmap out_axes must be an int, None, or a tuple"),
        (r"^vmap of .*: in_axes=(.*) does not match the structure of the arguments",
         "vmap in_axes specification must be a tree prefix of the corresponding value"),
        *PHRASES_OF_LAX,
        *PHRASES_OF_ARRAYS,
        (r"vmap: output \S* ?differs from example to example, but its out_axes", "vmap has mapped output but out_axes is None, at vmap out_axes"),
    ]
]  # fmt: skip


def _phrase_for(text: str, name: str) -> str | None:
    for pattern, phrase in _PHRASES:
        found = pattern.search(text)
        if found is not None:
            return phrase.format(*(found.group(0), *found.groups()), name=name)
    return None


def add_phrase(error: BaseException, name: str = "") -> None:
    """Appends JAX's phrase to the text of an error, of the function of a name, that has one of our wordings; once."""
    _append(error, lambda text: _phrase_for(text, name))


def _append(error: BaseException, phrase_for: Callable[[str], str | None]) -> None:
    if len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    text = error.args[0]
    phrase = phrase_for(text)
    if phrase is not None and phrase not in text:
        error.args = (f"{text}\n  {phrase}",)


# What converts an array to a value of Python, and JAX's phrase for one that has no value yet.
CONVERSIONS = {
    "__bool__": "Attempted boolean conversion of traced array",
    "__index__": "The __index__() method was called on traced array",
    "__array__": "The numpy.ndarray conversion method __array__() was called on traced array",
    "__int__": "Abstract tracer value encountered where concrete value is expected: try using `x.astype(int)` instead of int(x)",
    "tobytes": "The tobytes() method was called on traced array",
    "tolist": "The tolist() method was called on traced array",
    "__float__": "Abstract tracer value encountered where concrete value is expected: try using `x.astype(float)` instead of float(x)",
}


def converting(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion of an array, whose error says in JAX's words which one it was."""

    def convert(x: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return own(x, *args, **kwargs)
        except ConcretizationError as error:
            sizes = ",".join(map(str, x.shape))
            _append(error, lambda _: f"{CONVERSIONS[name]} with shape {x.dtype}[{sizes}].")
            raise

    return functools.wraps(own)(convert)
