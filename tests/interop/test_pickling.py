"""Arrays, functions and programs as others hand them about: pickle, copy, cloudpickle, joblib and multiprocessing."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cotangent as ct
import numpy as np
import pytest
from needs import needed, require

ONES = np.arange(1.0, 4.0, dtype=np.float32)


def loss(x: Any) -> Any:
    return (x * x).sum()


@ct.jit
def decorated(x: Any, *, power: int = 2) -> Any:
    return x**power


@ct.custom_vjp
def doubled(x: Any) -> Any:
    return 2 * x


doubled.defvjp(lambda x: (2 * x, None), lambda _, slope: (5 * slope,))  # wrong on purpose: it shows which rule runs

slope_of_loss = ct.jit(ct.grad(loss))


class Model:
    @ct.jit
    def twice(self: Any) -> Any:
        return 2 * self


class Pair(NamedTuple):
    a: Any
    b: Any


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


COPIES: list[Callable[[Any], Any]] = [again, copy.copy, copy.deepcopy]

ARRAYS = {
    "float32": lambda: ct.numpy.arange(4.0),
    "no elements": lambda: ct.numpy.zeros((0, 3)),
    "scalar": lambda: ct.numpy.asarray(1.5),
    "weak": lambda: ct.numpy.array(3.0),
    "bfloat16": lambda: ct.numpy.arange(3, dtype="bfloat16"),
    "float8": lambda: ct.numpy.ones(3, dtype="float8_e4m3fn"),
    "complex64": lambda: ct.numpy.arange(3.0) * 1j,
    "bool": lambda: ct.numpy.arange(3) > 1,
    "int8": lambda: ct.numpy.arange(3, dtype="int8"),
    "transposed": lambda: ct.numpy.arange(6.0).reshape(2, 3).T,
}


@pytest.mark.parametrize("name", list(ARRAYS))
@pytest.mark.parametrize("copied", COPIES)
def test_arrays(name: str, copied: Callable[[Any], Any]) -> None:
    x = ARRAYS[name]()
    y = copied(x)
    assert (y.dtype, y.shape, y.weak_type) == (x.dtype, x.shape, x.weak_type)
    assert np.asarray(y).tobytes() == np.asarray(x).tobytes()


def test_traced_arrays_are_not_pickled() -> None:
    with pytest.raises(ct.errors.ConcretizationError, match="pickling"):
        ct.jit(lambda x: again(x))(1.0)


@pytest.mark.parametrize("copied", COPIES)
def test_keys_and_ragged_arrays(copied: Callable[[Any], Any]) -> None:
    keys = ct.random.split(ct.random.key(1), 3)
    assert np.array_equal(ct.random.normal(copied(keys)[1], (2,)), ct.random.normal(keys[1], (2,)))
    rows = ct.Ragged(np.arange(6.0).reshape(2, 3), {1: [2, 0]}, names={1: "time"})
    assert copied(rows).tolist() == [[0.0, 1.0], []]
    assert copied(rows).data.shape == (2, 3)


@pytest.mark.parametrize("copied", COPIES)
def test_graphs(copied: Callable[[Any], Any]) -> None:
    graph = ct.make_ir(ct.grad(loss))(ONES)
    found = copied(graph)
    assert found.text() == graph.text()
    assert found.evaluate([ONES])[0].tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(protocol: int) -> None:
    """The first two make objects of base classes, which would end the process where pybind11 has made the class."""
    structure = ct.tree.structure({"a": [1, 2]})
    graph = ct.make_ir(loss)(ONES)
    for value in (structure, graph):
        assert str(pickle.loads(pickle.dumps(value, protocol))) == str(value)
    assert np.array_equal(pickle.loads(pickle.dumps(ct.numpy.asarray(ONES), protocol)), ONES)
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(ct._core.EagerScope(), protocol)


@pytest.mark.parametrize("copied", COPIES)
def test_functions_of_modules_are_themselves(copied: Callable[[Any], Any]) -> None:
    for function in (decorated, doubled, slope_of_loss, Model.twice, ct.numpy.add, ct.nn.relu):
        assert copied(function) is function


def test_what_is_jitted_of_a_function_of_a_module_is_jitted_again() -> None:
    jitted = ct.jit(pow, static_argnums=1, donate_argnums=0, threads=1)
    found = again(jitted)
    assert found is not jitted
    assert found._options == jitted._options
    assert found(ct.numpy.arange(3.0), 2).tolist() == [0.0, 1.0, 4.0]
    assert again(ct.jit(doubled))._cache_size() == 0


def test_other_functions_are_pickled_as_their_programs() -> None:
    scale = np.float32(3)
    ran = []

    def local(tree: Any, x: Any, mode: str, *, power: int = 1) -> Any:
        ran.append(mode)
        return Pair(scale * tree["w"] * x if mode == "times" else tree["w"] + x, x**power)

    jitted = ct.jit(local, static_argnames=("mode", "power"))
    jitted({"w": ONES}, 2.0, "times")
    jitted({"w": ONES}, ONES, "plus", power=2)
    found = again(jitted)
    ran.clear()
    product = found({"w": ONES}, 2.0, "times")
    assert isinstance(product, Pair)
    assert product.a.tolist() == [6.0, 12.0, 18.0]
    assert found({"w": ONES}, ONES, "plus", power=2).b.tolist() == [1.0, 4.0, 9.0]
    assert ran == [], "it is the program that runs"
    # The same transforms apply.
    slope = ct.grad(lambda w: found({"w": w}, 2.0, "times").a.sum())(ONES)
    assert slope.tolist() == [6.0, 6.0, 6.0]
    rows = ct.vmap(lambda w: found({"w": w}, 2.0, "times").a)(np.stack([ONES, -ONES]))
    assert rows.tolist() == [[6.0, 12.0, 18.0], [-6.0, -12.0, -18.0]]
    assert again(found)({"w": ONES}, 2.0, "times").a.tolist() == [6.0, 12.0, 18.0]
    with pytest.raises(TypeError, match=r"(?s)none for \(\[0\]\['w'\]: float32\[2\].*call it so before it is pickled"):
        found({"w": ONES[:2]}, 2.0, "times")
    with pytest.raises(TypeError, match=r"static {'mode': 'minus'}"):
        found({"w": ONES}, 2.0, mode="minus")


def test_programs_of_ragged_arguments() -> None:
    jitted = ct.jit(lambda x: ct.vmap(ct.mask(lambda row: row * row))(x))
    rows = ct.ragged([[1.0, 2.0], []])
    jitted(rows)
    assert again(jitted)(rows).tolist() == [[1.0, 4.0], []]


def test_signatures_that_are_forgotten_are_no_programs() -> None:
    jitted = ct.jit(lambda x: x + 1)
    jitted(1.0)
    jitted.clear_cache()
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(jitted)


def test_a_function_without_a_program_says_what_to_do() -> None:
    with pytest.raises(pickle.PicklingError, match="call it first, define it in a module, or use cloudpickle"):
        pickle.dumps(ct.jit(lambda x: x + 1))


def test_a_program_that_calls_python_is_no_data() -> None:
    jitted = ct.jit(lambda x: ct.pure_callback(np.sin, ct.ShapeDtypeStruct((), "float32"), x))
    jitted(1.0)
    with pytest.raises(NotImplementedError, match="callback"):
        pickle.dumps(jitted)


@pytest.mark.parametrize("copied", COPIES)
def test_stages_and_linear_functions(copied: Callable[[Any], Any]) -> None:
    stages = ct.jit(loss).trace(ONES)
    for stage in (stages.lower().compile(), copied(stages.lower()).compile(), copied(stages).lower().compile()):
        assert float(copied(stage)(ONES)) == 14.0
    assert copied(ct.vjp(loss, ONES)[1])(np.float32(1))[0].tolist() == [2.0, 4.0, 6.0]
    assert float(copied(ct.linearize(loss, ONES)[1])(ONES)) == 28.0
    assert copied(ct.export.function(loss, ONES)).graph.text() == ct.export.function(loss, ONES).graph.text()


PROGRAM = """
import multiprocessing, pickle, sys
import numpy as np
import cotangent as ct

def loss(x):
    return (x * x).sum()

@ct.jit
def decorated(x):
    return 3 * x

gradient = ct.jit(ct.grad(loss))
local = ct.jit(lambda x: x + 1)
x = np.arange(3, dtype=np.float32)

if __name__ == "__main__":
    library = sys.argv[1]
    local(x)
    expected = [decorated(x), gradient(x), local(x)]
    rows = ct.ragged([[1.0, 2.0], []])
    key = ct.random.key(3)
    if library == "multiprocessing":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            results = [pool.apply(f, (x,)) for f in (decorated, gradient, local)]
            ragged, = pool.map(ct.Ragged.tolist, [rows])
            normal = pool.apply(ct.random.normal, (key, (2,)))
    else:
        import joblib
        tasks = [joblib.delayed(f)(x) for f in (decorated, gradient, local)]
        tasks += [joblib.delayed(lambda r: r.tolist())(rows), joblib.delayed(ct.random.normal)(key, (2,))]
        *results, ragged, normal = joblib.Parallel(n_jobs=2)(tasks)
    assert all(np.array_equal(a, b) for a, b in zip(results, expected)), results
    assert all(isinstance(a, ct.Array) for a in results)
    assert ragged == [[1.0, 2.0], []]
    assert np.array_equal(normal, ct.random.normal(key, (2,)))
    print("done")
"""


@pytest.mark.parametrize("library", ["multiprocessing", "joblib"])
def test_other_processes_compute(library: str, tmp_path: Path) -> None:
    if library == "joblib":
        require("joblib")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py", library], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "done\n", done.stderr[-4000:]


WRITER = """
import sys
import cloudpickle, numpy as np
import cotangent as ct
from cotangent import per_example

scale = ct.numpy.asarray(3.0)

def loss(w, x):
    return scale * (w * x).sum()

@ct.jit
def decorated(w, x):
    return loss(w, x)

@ct.custom_vjp
def doubled(w, x):
    return loss(w, x)
doubled.defvjp(lambda w, x: (loss(w, x), (w, x)), lambda saved, slope: (slope * saved[1], slope * saved[0]))

@ct.custom_jvp
def tripled(w, x):
    return loss(w, x)
tripled.defjvp(lambda primals, tangents: (loss(*primals), loss(primals[0], tangents[1])))

@ct.custom_batching.custom_vmap
def mapped(w, x):
    return loss(w, x)
@mapped.def_vmap
def rule(size, batched, w, x):
    return loss(w, x), False

class Doubling(ct.Interpreter):
    def process(self, equation, *values):
        return equation.bind(*values)

w, x = ct.numpy.arange(3.0), ct.numpy.ones(3)
functions = {
    "decorated": decorated, "jit": ct.jit(lambda w, x: loss(w, x)), "grad": ct.grad(loss), "value_and_grad": ct.value_and_grad(loss),
    "jitted grad": ct.jit(ct.grad(loss)), "vmap": ct.vmap(loss), "vmap of grad": ct.vmap(ct.grad(loss)), "mask": ct.mask(loss),
    "jacfwd": ct.jacfwd(loss), "jacrev": ct.jacrev(loss), "hessian": ct.hessian(loss), "checkpoint": ct.checkpoint(loss), "pack": ct.jit(loss),
    "custom_vjp": ct.grad(doubled), "custom_jvp": ct.grad(tripled, 1), "checkify": ct.checkify.checkify(loss),
    "per_example": lambda w, x: per_example.norms(loss)(w, x[:, None]), "interpreter": Doubling()(loss),
    "custom_vmap": mapped, "custom_gradient": ct.custom_gradient(lambda w: (w.sum(), lambda g: 2 * g)),
}
functions["custom_gradient"] = (lambda f: lambda w, x: ct.grad(f)(w[0]))(functions["custom_gradient"])
def plain(tree):
    return [np.asarray(leaf) for leaf in ct.tree.leaves(tree) if not isinstance(leaf, (str, ct.checkify.Error))]
if __name__ == "__main__":
    with open(sys.argv[1], "wb") as file:
        cloudpickle.dump([(name, f, (w, x), plain(f(w, x))) for name, f in functions.items()], file)
"""
READER = """
import pickle, sys
import numpy as np
import cotangent as ct
with open(sys.argv[1], "rb") as file:
    found = pickle.load(file)
for name, f, args, expected in found:
    leaves = [x for x in ct.tree.leaves(f(*args)) if not isinstance(x, (str, ct.checkify.Error))]
    assert len(leaves) == len(expected), name
    for leaf, value in zip(leaves, expected):
        np.testing.assert_allclose(leaf, value, err_msg=name)
print(len(found))
"""


def test_cloudpickle_takes_every_transformed_function_to_another_program(tmp_path: Path) -> None:
    require("cloudpickle")
    (tmp_path / "writer.py").write_text(WRITER)
    (tmp_path / "reader.py").write_text(READER)
    for program in ("writer.py", "reader.py"):
        done = subprocess.run(
            [sys.executable, tmp_path / program, tmp_path / "functions"],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "20\n"


def test_joblib_keeps_results_by_their_arguments(tmp_path: Path) -> None:
    joblib = needed("joblib")
    calls = []

    def computed(x: Any) -> Any:
        calls.append(1)
        return decorated(x)

    cached = joblib.Memory(tmp_path, verbose=0).cache(computed)
    for _ in range(2):
        assert cached(ct.numpy.arange(3.0)).tolist() == [0.0, 1.0, 4.0]
    assert len(calls) == 1
    cached(ct.numpy.arange(3.0) + 1)
    assert len(calls) == 2
    assert joblib.hash(ct.numpy.arange(3.0)) == joblib.hash(ct.numpy.arange(3.0))
