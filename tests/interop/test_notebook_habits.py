"""What people look at arrays with: IPython's completion, printing, matplotlib, pandas."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import needed, require

COMPLETED = """
import time, warnings
warnings.simplefilter("ignore")
from IPython.core.completer import provisionalcompleter
from IPython.testing.globalipapp import start_ipython
import cotangent as ct
shell = start_ipython()
shell.user_ns.update(ct=ct, cnp=ct.numpy, x=ct.numpy.ones(3), rows=ct.ragged([[1.0], []]), f=ct.jit(lambda a: a), d={"alpha": ct.numpy.ones(3)})
expected = {
    "x.cums": "cumsum", "x.at[0].se": "set", "cnp.cumulative_s": "cumulative_sum", "cnp.linalg.eig": "eigh", "ct.random.norm": "normal",
    "rows.to_o": "to_offsets", "f.low": "lower", "ct.interop.to": "torch", 'd["al': "alpha", "ct.value_and_g": "value_and_grad",
}
for text, name in expected.items():
    for number in range(2):
        start = time.perf_counter()
        with provisionalcompleter():
            found = [completion.text.strip(".[]'\\"") for completion in shell.Completer.completions(text, len(text))]
        seconds = time.perf_counter() - start
    assert any(name in one for one in found), (text, found)
    assert seconds < 2, (text, seconds)
text = shell.display_formatter.format(shell.user_ns["x"])[0]["text/plain"]
assert text == "Array([1., 1., 1.], dtype=float32)", text
found = shell.object_inspect("ct.numpy.cumsum")
assert found["found"] and "running" in found["docstring"].lower() or "sum" in found["docstring"].lower()
print("done")
"""


def test_ipython_completes(tmp_path: Path) -> None:
    require("IPython")
    done = subprocess.run(
        [sys.executable, "-c", COMPLETED],
        env=os.environ | {"IPYTHONDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.endswith("done\n"), done.stdout + done.stderr[-3000:]


LARGE: dict[str, Callable[[], Any]] = {
    "array": lambda: cnp.ones(10**6),
    "matrix": lambda: cnp.ones((1000, 1000), dtype="bfloat16"),
    "ragged": lambda: ct.Ragged(np.ones((1000, 1000)), {1: np.arange(1000)}),
    "keys": lambda: ct.random.split(ct.random.key(0), 10**5),
}


@pytest.mark.parametrize("kind", list(LARGE))
def test_what_is_large_is_printed_by_its_corners(kind: str) -> None:
    x = LARGE[kind]()
    start = time.perf_counter()
    text = repr(x)
    assert time.perf_counter() - start < 2
    assert len(text) < 6000
    assert "..." in text


def test_matplotlib_takes_arrays() -> None:
    matplotlib = needed("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    x, image = cnp.arange(10.0), cnp.arange(16.0).reshape(4, 4)
    figure, axes = pyplot.subplots()
    (line,) = axes.plot(x, x**2)
    assert line.get_ydata().tolist() == (np.arange(10.0) ** 2).tolist()
    axes.plot(cnp.arange(4, dtype="bfloat16"))
    axes.scatter(x, x, c=x, s=x)
    assert axes.imshow(image).get_array().max() == 15
    axes.imshow(image > 3)
    axes.contourf(image)
    axes.pcolormesh(image)
    assert axes.hist(x)[0].sum() == 10
    axes.bar(x, x)
    axes.errorbar(x, x, yerr=x)
    axes.fill_between(x, x, x + 1)
    axes.boxplot(image)
    axes.axhline(x[2])
    axes.set_xlim(x[0], x[-1])
    figure.canvas.draw()
    pyplot.close(figure)


def test_pandas_takes_arrays() -> None:
    pandas = needed("pandas")
    x = cnp.arange(4.0)
    assert pandas.Series(x).dtype == "float32"
    assert pandas.Series(x * 1j).dtype == "complex64"
    table = pandas.DataFrame({"a": x, "b": cnp.arange(4) > 1}, index=list("wxyz"))
    assert table.dtypes.astype(str).tolist() == ["float32", "bool"]
    assert table.assign(c=x + 1)["c"].sum() == 10
    table["d"] = x
    assert table.iloc[cnp.arange(2)]["d"].tolist() == [0.0, 1.0]
    assert pandas.Series([1.0, 9.0]).isin(np.asarray(x)).tolist() == [True, False]
    assert pandas.DataFrame(cnp.ones((2, 3))).shape == (2, 3)
    assert pandas.Index(np.asarray(x)).tolist() == [0.0, 1.0, 2.0, 3.0]
    # Labels stay, whichever side the array is on.
    for found in (table["a"] + x, x + table["a"]):
        assert isinstance(found, pandas.Series)
        assert found.to_dict() == {"w": 0.0, "x": 2.0, "y": 4.0, "z": 6.0}
    assert isinstance(x @ pandas.DataFrame(np.ones((4, 2))), pandas.Series)
    # And back.
    assert cnp.asarray(table["a"]).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert ct.jit(lambda v: 2 * v)(table["a"]).tolist() == [0.0, 2.0, 4.0, 6.0]


CELL = "def f(x):\n    return x + 'a'\n\ndef g(x):\n    return x * 2\n"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("<ipython-input-7-0123456789ab>", "In[7]"),
        ("/tmp/ipykernel_4242/1234567890.py", "<cell>"),
        ("C:\\Temp\\ipykernel_4242\\1234567890.py", "<cell>"),
        ("/home/someone/ipykernel_notes.py", "/home/someone/ipykernel_notes.py"),
        ("<stdin>", "<stdin>"),
    ],
)
def test_cells_are_named_as_the_notebook_names_them(file: str, shown: str) -> None:
    """The temporary files that a kernel compiles cells as are not there, and say nothing: errors and programs show the cell."""
    namespace: dict[str, Any] = {}
    exec(compile(CELL, file, "exec"), namespace)
    assert f", {shown}:5 (g)\n" in str(ct.make_ir(namespace["g"])(1.0))


def test_cells_of_a_kernel_have_the_number_of_their_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    file = "/tmp/ipykernel_4242/1234567890.py"
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(_filename_map={file: 3}))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    namespace: dict[str, Any] = {"ct": ct}
    exec(compile("def f(x):\n    return ct.numpy.bitwise_or(x, 1)\n", file, "exec"), namespace)
    with pytest.raises(ct.errors.DTypeError, match=r"\n  at In\[3\]:2 \(f\)\n"):
        ct.jit(namespace["f"])(1.0)
