"""Structured control flow and the primitives by name.

``scan``, ``while_loop``, ``fori_loop``, ``cond``, ``switch`` and ``map`` take pytrees and Python functions; the functions are captured
once, as sub-graphs.
"""

from cotangent.lax.control_flow import cond, fori_loop, map, scan, switch, while_loop  # noqa: A004
from cotangent.lax.operations import (
    concatenate,
    convert_element_type,
    cumsum,
    dot_general,
    dynamic_index_in_dim,
    erf,
    expand_dims,
    iota,
    pad,
    rev,
    rsqrt,
    select,
    slice,  # noqa: A004
    slice_in_dim,
    stop_gradient,
    transpose,
)

__all__ = [
    "concatenate",
    "cond",
    "convert_element_type",
    "cumsum",
    "dot_general",
    "dynamic_index_in_dim",
    "erf",
    "expand_dims",
    "fori_loop",
    "iota",
    "map",
    "pad",
    "rev",
    "rsqrt",
    "scan",
    "select",
    "slice",
    "slice_in_dim",
    "stop_gradient",
    "switch",
    "transpose",
    "while_loop",
]
