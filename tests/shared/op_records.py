"""The records of all primitives, which drive every check in test_ops.py.

They stand by family in the modules of `records/`; all of these are imported here. `records.record` adds one; a
primitive without a record must be in `ELSEWHERE` with the reason.
"""

from __future__ import annotations

import importlib
import pkgutil

import records
from records import RECORDS, Record

for module in pkgutil.iter_modules(records.__path__):
    importlib.import_module(f"records.{module.name}")

__all__ = ["ELSEWHERE", "RECORDS", "Record"]

# What cannot have a record: primitive -> why, and the tests that cover it.
ELSEWHERE = {
    "linear_solve": "is recorded inside of a capture only, with functions for operands; test_solvers.py",
    **dict.fromkeys(
        ("psum", "all_gather", "all_to_all", "ppermute", "axis_index"),
        "is between the examples of a vmap, which makes other primitives of it; test_collectives.py",
    ),
    "custom_vjp_linear": "has no value, only a transpose; the derivatives of custom_vjp functions go through it",
    "host_callback": "what it computes is the callback's: tests/transforms/test_callbacks.py, tests/transforms/test_debug.py",
}
