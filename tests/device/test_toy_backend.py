"""The operations' records on a back end that a test brings along, tests/cpp/toy_backend.h: plans of host functions, on
a device whose queue writes down what it is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cotangent as ct
import numpy as np
from needs import require_built
from op_records import RECORDS
from places import ROOT
from record_checks import close, exact_result, operands

PROGRAM = ROOT / "build-release" / "tests" / "cpp" / "toy_records"


def test_records_pass_on_a_back_end_of_a_test(tmp_path: Path) -> None:
    require_built(PROGRAM)
    cases = {}
    for number, (record, dtype) in enumerate((record, dtype) for record in RECORDS for dtype in record.dtypes):
        args = operands(record, dtype)
        graph = ct.make_ir(record)(*args)
        name = str(number)
        (tmp_path / f"{name}.graph").write_bytes(graph.serialize())
        inputs = b"".join(np.asarray(a).tobytes() for a in args)
        (tmp_path / f"{name}.in").write_bytes(inputs)
        cases[name] = (record, dtype, args, graph)
    ended = subprocess.run([PROGRAM, tmp_path], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr[-4000:]
    for name, (record, dtype, args, graph) in cases.items():
        data, at, results = (tmp_path / f"{name}.out").read_bytes(), 0, []
        for shape, out_dtype, *_ in graph.out_avals:
            size = int(np.prod(shape)) * np.dtype(out_dtype).itemsize
            results.append(np.frombuffer(data[at : at + size], out_dtype).reshape(shape))
            at += size
        assert at == len(data), record.id
        close(results, exact_result(record, args, dtype), record, dtype)
        log = (tmp_path / f"{name}.log").read_text().splitlines()
        assert sum(line.startswith("copy ") for line in log) == len(results), record.id
        assert len(log) == len(results) + len(graph.equations()), record.id
