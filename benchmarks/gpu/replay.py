"""Every operation of the tests' records on the GPU, compared bit by bit with its run on the emulated one: `replay.py RESULTS [DEVICE [STRIDE]]`.

A stride leaves out all records but each so-and-so-manieth.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import cotangent as ct
import numpy as np
from op_records import RECORDS
from record_checks import operands


def same_bits(x: Any, y: Any) -> bool:
    """Whether two arrays are of one type and of the same bytes; two NaN are the same whatever their bits."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    same = x == y
    if x.dtype.kind in "fcV":
        same = same | ((x != x) & (y != y))
    return bool(np.all(same))


def main(results: Path, device: str = "cuda", stride: int = 1) -> int:
    found: dict[str, Any] = {"equal": 0, "different": [], "errors": []}
    started = time.monotonic()
    for record in RECORDS[::stride]:
        for dtype in record.dtypes:
            arguments = operands(record, dtype)
            name = f"{record.id} {dtype}"
            try:
                there = ct.tree.leaves(ct.jit(record, backend=device)(*arguments))
                emulated = ct.tree.leaves(ct.jit(record, backend="cuda-emulated")(*arguments))
                equal = all(same_bits(x, y) for x, y in zip(there, emulated, strict=True))
            except Exception as error:
                found["errors"].append([name, f"{type(error).__name__}: {error}"])
                continue
            if equal:
                found["equal"] += 1
            else:
                found["different"].append(name)
        found["seconds"] = time.monotonic() - started
        (results / "replay.json").write_text(json.dumps(found, indent=1))
    print(
        f"{found['equal']} equal, {len(found['different'])} different, {len(found['errors'])} errors, {found['seconds']:.0f} s"
    )
    for name in found["different"][:20]:
        print(f"  different: {name}")
    for name, message in found["errors"][:20]:
        print(f"  {name}: {message.splitlines()[0]}")
    return 1 if found["different"] or found["errors"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:4])))
