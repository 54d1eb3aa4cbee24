"""`limits_law.py FIRST END`: the law of mask on compiled random programs, single and in batches (`mask_law.py`).

Run with CT_CHECK_LIMITS=1, memory holds NaN and -1 before it is written.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import SimpleNamespace
from typing import Any

import cotangent as ct
import mask_law
from mask_programs import program


def compiled_vmap(f: Any, *args: Any, **options: Any) -> Any:
    return ct.jit(ct.vmap(f, *args, **options))


def main(first: int, end: int) -> int:
    mask_law.WAYS = {"jit": (mask_law.check_jit, 1.0), "batch": (mask_law.check_batch, 0.4)}
    names = {name: getattr(ct, name) for name in dir(ct) if not name.startswith("__")}
    mask_law.ct = SimpleNamespace(**{**names, "vmap": compiled_vmap})  # type: ignore[attr-defined]
    tried: Counter[str] = Counter()
    broken = 0
    for seed in range(first, end):
        try:
            mask_law.check(program(seed), tried)
        except mask_law.Broken as error:
            broken += 1
            print(error)
        except NotImplementedError:  # counted as refused
            continue
    print(f"{end - first} programs, {broken} broken, {dict(tried)}")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
