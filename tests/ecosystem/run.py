"""Runs programs of unmodified libraries on JAX and on cotangent and compares: a table of library, version, program, result and reason.

    python tests/ecosystem/run.py --jax JAX_PYTHON --cotangent COTANGENT_PYTHON [--only PART]

The first Python has JAX and the libraries; the second has the libraries and cotangent, and no JAX. Each file of `programs/` runs in a
process of its own, twice: on both. A function of it is a program, and what it returns is compared, to a relative 1e-3.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import environments

HERE = Path(__file__).resolve().parent
FILES = sorted((HERE / "programs").glob("*_programs.py"))
TOLERANCE = 1e-3
# Programs' files, and beginnings of programs' names, that differ from what PyPI calls a library.
_DISTRIBUTIONS = {
    "nnx_and_linen_further": "flax",
    "numpyro_further": "numpyro",
    "flax_linen": "flax",
    "flax_nnx": "flax",
    "haiku": "dm-haiku",
    "e3nn": "e3nn-jax",
    "kfac": "kfac-jax",
    "ott": "ott-jax",
    "probability": "tfp-nightly",
}


def leaves(value: Any) -> list[Any]:
    """The numbers of a result, flattened by what the libraries registered."""
    import jax
    import numpy as np

    found = []
    for leaf in jax.tree_util.tree_leaves(value):
        if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        array = np.asarray(leaf)
        found.append(
            [
                str(array.dtype),
                list(array.shape),
                array.astype(complex if array.dtype.kind == "c" else float).ravel().tolist(),
            ]
        )
    return found


def child(file: str, only: str, out: str) -> None:
    """Runs the programs of a file in this process and writes what they return, a line each."""
    spec = importlib.util.spec_from_file_location("programs", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["programs"] = module  # where dataclasses look for their annotations
    with Path(out).open("w") as stream:
        try:
            spec.loader.exec_module(module)
            names = [
                n
                for n, f in vars(module).items()
                if getattr(f, "__module__", "") == "programs" and callable(f) and not n.startswith("_")
            ]
        except Exception as error:
            stream.write(json.dumps({"program": "import", "error": reason(error)}) + "\n")
            return
        for name in [name for name in names if only in f"{Path(file).stem}.{name}"]:
            line: dict[str, Any] = {"program": name}
            start = time.perf_counter()
            try:
                line["values"] = leaves(getattr(module, name)())
            except Exception as error:
                line["error"] = reason(error)
                if os.environ.get("ECOSYSTEM_TRACEBACK"):
                    traceback.print_exc()
            line["seconds"] = time.perf_counter() - start
            stream.write(json.dumps(line) + "\n")
            stream.flush()


def reason(error: Exception) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


def run(python: str, prefix: list[str], file: Path, only: str) -> dict[str, dict[str, Any]]:
    """The lines of a file's programs, by their names."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lines"
        environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
        command = [
            python,
            *prefix,
            str(Path(__file__).resolve()),
            "--child",
            str(file),
            "--only",
            only,
            "--out",
            str(out),
        ]
        done = subprocess.run(command, env=environment, check=False, timeout=1200)
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        found = {line["program"]: line for line in lines}
        if done.returncode != 0:
            found["process"] = {"program": "process", "error": f"ended with {done.returncode}"}
        return found


def difference(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    """Why two runs of a program are not equal; empty if they are."""
    import numpy as np

    if "error" in theirs:
        return f"fails on JAX, too: {theirs['error']}"
    if "error" in ours:
        return str(ours["error"])
    if len(theirs["values"]) != len(ours["values"]):
        return f"{len(ours['values'])} leaves for {len(theirs['values'])}"
    for (their_type, their_shape, x), (own_type, own_shape, y) in zip(theirs["values"], ours["values"], strict=True):
        if (their_type, their_shape) != (own_type, own_shape):
            return f"{own_type}{own_shape} for {their_type}{their_shape}"
        if not np.allclose(y, x, rtol=TOLERANCE, atol=1e-5, equal_nan=True):
            worst = float(np.max(np.abs(np.asarray(x) - np.asarray(y))))
            return f"values differ by up to {worst:.2g}"
    return ""


def library_of(file: Path, program: str) -> str:
    """The name that PyPI has for the library of a program: its file's name says it, or, in a file of several, the program's."""
    stem = file.stem.removesuffix("_programs")
    names = {key.lower().replace("-", "_"): key for key in environments.versions()} | _DISTRIBUTIONS
    parts = [stem, program.split("_")[0], "_".join(program.split("_")[:2])]
    return next((names[part] for part in parts if part in names), "jax")


def rows(file: Path, theirs: dict[str, Any], ours: dict[str, Any], only: str = "") -> list[dict[str, Any]]:
    """What is to be said of each program of a file: its library, why it is not equal if it is not, and its seconds on both."""
    found = []
    for name, line in theirs.items():
        if only not in f"{file.stem}.{name}":
            continue
        own = ours.get(name) or ours.get("import") or ours.get("process") or {"error": "did not run"}
        seconds = {"jax": line.get("seconds", 0.0), "cotangent": own.get("seconds", 0.0)}
        why = difference(line, own)
        found.append({"library": library_of(file, name), "program": name, "error": why, "seconds": seconds})
    return found


def compare(file: Path, jax: str, cotangent: str, only: str = "", kept: Path | None = None) -> list[dict[str, Any]]:
    """Runs a file's programs on both sides, and compares. What JAX gives for all of them is kept in a folder, where one is named."""
    digest = hashlib.sha256(file.read_bytes() + environments.REQUIREMENTS.read_bytes()).hexdigest()
    reference = kept / f"{file.stem}-{digest[:16]}.json" if kept else None
    if reference and reference.exists():
        theirs = json.loads(reference.read_text())
    else:
        theirs = run(jax, [], file, only)
        if reference:
            reference.parent.mkdir(parents=True, exist_ok=True)
            reference.write_text(json.dumps(theirs))
    return rows(file, theirs, run(cotangent, ["-m", "cotangent.jax"], file, only), only)


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax", default=sys.executable, help="a Python with JAX and the libraries")
    parser.add_argument("--cotangent", default=sys.executable, help="a Python with cotangent and the libraries")
    parser.add_argument("--only", default="", help="a part of FILE.PROGRAM")
    parser.add_argument("--out", help=argparse.SUPPRESS)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child, given.only, given.out)
        return
    found = []
    for file in FILES:
        if given.only and given.only.split(".")[0] not in file.stem:
            continue
        for row in compare(file, given.jax, given.cotangent, given.only):
            found.append(row)
            times = " | ".join(f"{row['seconds'][of]:.2f}" for of in ("jax", "cotangent"))
            result = "differs" if row["error"] else "equal"
            print(f"| {row['library']} | {row['program']} | {result} | {times} | {row['error']} |", flush=True)
    print(f"{sum(not row['error'] for row in found)} of {len(found)} programs give JAX's results.")


if __name__ == "__main__":
    main()
