"""Arrays in the memory of a device, as an emulated GPU has it: where they are, and that everything may be done with them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("names_devices")

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)
THERE = "cuda-emulated:0"


def there(x: Any = DATA) -> Any:
    return ct.device_put(x, "cuda-emulated")


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1,
    "method": lambda x: x.sum(0),
    "product": lambda x: x @ x.T,
    "element": lambda x: x[1, 2],
    "row": lambda x: x[-1],
    "window": lambda x: x[1:, ::2],
    "reversed": lambda x: x[::-1],
    "update": lambda x: x.at[0].set(1.0),
    "gathered": lambda x: x[np.array([2, 0])],
    "sorted": lambda x: cnp.sort(-x),
    "library": lambda x: cnp.linalg.norm(x @ x.T),
    "gradient": lambda x: ct.grad(lambda y: (y**3).sum())(x),
    "second": lambda x: ct.hessian(lambda y: (y**3).sum())(x[0]),
    "batch": lambda x: ct.vmap(lambda row: row.sum())(x),
    "scan": lambda x: ct.lax.scan(lambda c, row: (c + row, c.sum()), x[0], x)[1],
    "jitted": lambda x: ct.jit(cnp.tanh)(x),
    "callback": lambda x: ct.pure_callback(lambda v: np.asarray(v) * 2, x, x),
    "with an array of the host": lambda x: x * DATA,
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_is_made_of_it_is_there(name: str) -> None:
    found = EXPRESSIONS[name](there())
    assert str(found.device) == THERE and found.committed
    np.testing.assert_allclose(found, EXPRESSIONS[name](cnp.array(DATA)), rtol=1e-6)


def test_what_asks_for_elements_gets_them() -> None:
    x = there()
    assert x.tolist() == DATA.tolist() and float(x[0, 1]) == 1.0 and repr(x) == repr(cnp.array(DATA))
    np.testing.assert_array_equal(np.asarray(x), DATA)
    np.testing.assert_array_equal(ct.device_get({"a": x})["a"], DATA)
    assert bool((x == DATA).all()) and ct.block_until_ready(x) is x


def test_pytrees_are_put_leaf_by_leaf() -> None:
    x, nested = ct.device_put([DATA, {"a": 1.0, "b": 2.0}], ["cpu", "cuda-emulated"])
    assert str(x.device) == "cpu:0" and {str(leaf.device) for leaf in nested.values()} == {THERE}
    assert str(ct.device_put(nested["a"], "cpu").device) == "cpu:0"
    assert str(ct.device_put(DATA, there().sharding).device) == THERE
    assert str(there().to_device("cpu").device) == "cpu:0" and there().sharding != cnp.array(1.0).sharding


def test_a_function_runs_where_its_arguments_are() -> None:
    f = ct.jit(lambda x, y: x * y)
    for x, y, device in ((there(), 2.0, THERE), (DATA, 2.0, "cpu:0"), (DATA, there(2.0), THERE), (there(), 2.0, THERE)):
        found = f(x, y)
        assert str(found.device) == device
        np.testing.assert_array_equal(found, 2 * DATA)
    assert f._cache_size() == 2
    assert str(ct.jit(lambda x: x + 1, backend="cpu")(there()).device) == "cpu:0"
    assert "kernel" in f.lower(there(), 2.0).compile().as_text()


def test_an_array_that_was_brought_is_not_written_over() -> None:
    """The processor may not overwrite an array whose copy a device has: it would be another one there."""
    x = cnp.array(DATA)
    on_device = ct.jit(lambda x: x + 1, backend="cuda-emulated")
    np.testing.assert_array_equal(on_device(x), DATA + 1)
    y = ct.jit(lambda x: x * 2, donate_argnums=0)(x)
    np.testing.assert_array_equal(y, DATA * 2)
    np.testing.assert_array_equal(on_device(y), DATA * 2 + 1)


def test_an_array_of_somebody_else_is_brought_each_time() -> None:
    data = DATA.copy()
    f = ct.jit(lambda x: x + 1, backend="cuda-emulated")
    np.testing.assert_array_equal(f(data), DATA + 1)
    data += 5
    np.testing.assert_array_equal(f(data), DATA + 6)


def test_a_donated_array_is_gone() -> None:
    f = ct.jit(lambda x: x + 1, donate_argnums=0)
    x = there()
    np.testing.assert_array_equal(f(x), DATA + 1)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="donated"):
        x + 1


def test_arrays_without_elements_and_of_all_dtypes() -> None:
    f = ct.jit(lambda x: x[::-1])
    for dtype in ("bool", "int8", "uint16", "int32", "float16", "float32", "complex64"):
        for shape in ((0,), (1,), (5,), (0, 3)):
            x = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
            found = f(there(x))
            assert str(found.device) == THERE and found.dtype == x.dtype
            np.testing.assert_array_equal(found, x[::-1])


def test_ragged_arrays() -> None:
    ragged = ct.Ragged(there(np.arange(5.0, dtype=np.float32)), {0: 3})
    assert float(ct.jit(ct.mask(cnp.sum))(ragged)) == 3.0
    assert ct.jit(ct.mask(lambda x: x * 2))(ragged).tolist() == [0.0, 2.0, 4.0]


def test_nan_checks() -> None:
    f = ct.jit(lambda x: cnp.log(x - 1))
    with ct.config.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        f(there())


# ---- where it is said, and the default -------------------------------------------------------------------------------

MADE: dict[str, Callable[..., Any]] = {
    "zeros": lambda **where: cnp.zeros(3, **where),
    "full of an array": lambda **where: cnp.full((2, 2), np.arange(2.0), **where),
    "zeros_like": lambda **where: cnp.zeros_like(DATA, **where),
    "array": lambda **where: cnp.array(DATA, **where),
    "asarray": lambda **where: cnp.asarray([1, 2], **where),
    "astype": lambda **where: cnp.astype(cnp.array(DATA), int, **where),
    "arange": lambda **where: cnp.arange(4, **where),
    "linspace": lambda **where: cnp.linspace(0, 1, 5, retstep=True, **where),
    "eye": lambda **where: cnp.eye(3, **where),
    "frequencies": lambda **where: cnp.fft.fftfreq(4, **where),
}


@pytest.mark.parametrize("name", MADE)
def test_arrays_are_made_where_it_is_said(name: str) -> None:
    expected = ct.tree.leaves(MADE[name]())
    with ct.default_device("cuda-emulated"):
        by_default = ct.tree.leaves(MADE[name]())
        at_home = ct.tree.leaves(MADE[name](device="cpu"))
    said = ct.tree.leaves(MADE[name](device="cuda-emulated"))
    by_device = ct.tree.leaves(MADE[name](device=there().device))
    for found, place in ((said, THERE), (by_device, THERE), (by_default, THERE), (at_home, "cpu:0")):
        assert {str(x.device) for x in found} == {place}
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)
            assert x.dtype == y.dtype and x.weak_type == y.weak_type
    with pytest.raises(ValueError, match="unknown device 'tpu'"):
        MADE[name](device="tpu")


def test_a_sharding_says_where_draws_and_products_are() -> None:
    where = ct.sharding.SingleDeviceSharding(there().device)
    key = ct.random.key(3)
    drawn = ct.random.normal(key, (3,), out_sharding=where)
    assert str(drawn.device) == THERE
    np.testing.assert_array_equal(drawn, ct.random.normal(key, (3,)))
    product = cnp.matmul(DATA, DATA.T, out_sharding=where)
    assert str(product.device) == THERE and str(cnp.matmul(DATA, DATA.T).device) == "cpu:0"
    np.testing.assert_allclose(product, DATA @ DATA.T)


def test_arrays_like_another_are_where_it_is() -> None:
    assert str(cnp.zeros_like(there()).device) == THERE
    assert str(cnp.full_like(there(), 2.0, shape=(2,)).device) == THERE
    assert str(cnp.ones_like(there(), device="cpu").device) == "cpu:0"


def test_what_is_traced_is_not_put_anywhere() -> None:
    f = ct.jit(lambda x: cnp.zeros(3, device="cuda-emulated") + x)
    assert str(f(1.0).device) == "cpu:0" and f(1.0).tolist() == [1, 1, 1]


def test_programs_run_on_the_default_device() -> None:
    f = ct.jit(lambda x: x * 2)
    assert str(f(DATA).device) == "cpu:0"
    with ct.default_device("cuda-emulated"):
        assert str(f(DATA).device) == THERE and str(ct.grad(cnp.sum)(DATA).device) == THERE
        assert (
            str((cnp.array(DATA) + 1).device) == THERE
            and str(ct.jit(lambda x: x, backend="cpu")(DATA).device) == "cpu:0"
        )
        assert ct.default_backend() == "cuda-emulated" and str(ct.config.read("default_device")) == THERE
        with ct.default_device("cpu"):
            assert str(f(DATA).device) == "cpu:0"
        with ct.default_device(None):
            assert str(f(DATA).device) == THERE
        assert str(f(DATA).device) == THERE
    assert str(f(DATA).device) == "cpu:0" and ct.default_backend() == "cpu"


def test_one_program_for_arrays_of_the_default_device_and_of_the_host() -> None:
    traced = []

    def f(x: Any) -> Any:
        traced.append(x)
        return x + 1

    jitted = ct.jit(f)
    with ct.default_device("cuda-emulated"):
        for x in (DATA, there(), DATA, cnp.array(DATA)):
            np.testing.assert_array_equal(jitted(x), DATA + 1)
    assert len(traced) == 1
    assert str(jitted(there()).device) == THERE and str(jitted(DATA).device) == "cpu:0"


def test_what_is_the_users_stays_so_on_the_default_device() -> None:
    """Functions that take where to make arrays bring the user's there: its size still is one that no ragged axis has."""
    weights = np.linspace(0.1, 0.5, 5)

    def f(x: Any) -> Any:
        return cnp.histogram(x, bins=2, range=(0, 6), weights=weights)

    with (
        ct.default_device("cuda-emulated"),
        pytest.raises(ct.errors.ShapeError, match="they are of one size for one length only"),
    ):
        ct.mask(f)(ct.Ragged(np.arange(5.0), {0: 3}))


def test_what_makes_itself_an_array_is_where_that_is() -> None:
    class Wrapped:
        def __jax_array__(self) -> Any:
            return there()

    result = ct.jit(lambda x: x + 1)(Wrapped())
    np.testing.assert_array_equal(result, DATA + 1)
    assert str(result.device) == THERE
    info = cnp.__array_namespace_info__()
    with ct.default_device("cuda-emulated"):
        assert info.default_device() in info.devices() and info.devices()[0] == ct.devices("cpu")[0]


def test_the_default_device_is_the_threads_own_or_the_process() -> None:
    with ct.default_device("cuda-emulated"), ThreadPoolExecutor(1) as pool:
        assert str(pool.submit(cnp.zeros, 2).result().device) == "cpu:0"
    ct.config.update("jax_default_device", there().device)
    try:
        with ThreadPoolExecutor(1) as pool:
            assert str(pool.submit(cnp.zeros, 2).result().device) == THERE == str(cnp.zeros(2).device)
    finally:
        ct.config.update("default_device", None)
    assert str(cnp.zeros(2).device) == "cpu:0"
    with pytest.raises(ValueError, match="default_device: unknown device 'tpu'"):
        ct.config.update("default_device", "tpu")
    with pytest.raises(ValueError, match="default_device: unknown device 'tpu'"), ct.default_device("tpu"):
        pass


def test_jit_takes_what_says_where_an_array_is() -> None:
    x = there()
    for place in (x.device, str(x.device), x.sharding, "cuda-emulated"):
        assert str(ct.jit(lambda x: x + 1, device=place)(DATA).device) == THERE
    assert float(ct.jit(lambda x: x + 1, backend="cpu:0")(1.0)) == 2.0
    for wrong in (object(), "", 1.5):
        with pytest.raises(ValueError, match="jit: unknown device"):
            ct.jit(lambda x: x, device=wrong)
        with pytest.raises(ValueError, match="zeros: unknown device"):
            cnp.zeros(2, device=wrong)
    assert len(ct.explain(lambda x: x * 2)(x).steps) == 1


def test_what_calls_a_function_that_is_jitted_for_a_device_runs_there() -> None:
    f = ct.jit(lambda x: cnp.sin(x) * 2, backend="cuda-emulated")
    x = np.linspace(0, 1, 5, dtype=np.float32)

    def total(x: Any) -> Any:
        return f(x).sum()

    ragged = ct.Ragged(x, {0: 3})
    made: list[tuple[Any, Any]] = [
        (ct.grad(total)(x), 2 * np.cos(x)),
        (ct.jit(ct.grad(total))(x), 2 * np.cos(x)),
        (ct.vmap(f)(x), 2 * np.sin(x)),
        (ct.jit(lambda x: f(x) + 1)(x), 2 * np.sin(x) + 1),
        (ct.jit(ct.jit(lambda x: f(x) + 1))(x), 2 * np.sin(x) + 1),
        (ct.linearize(f, x)[1](x), 2 * np.cos(x) * x),
        (ct.vjp(f, x)[1](x)[0], 2 * np.cos(x) * x),
        (ct.hessian(total)(x), np.diag(-2 * np.sin(x))),
        (ct.lax.scan(lambda c, row: (c, f(row)), 0, x)[1], 2 * np.sin(x)),
        (ct.lax.cond(True, f, lambda x: x, x), 2 * np.sin(x)),
        (ct.checkpoint(f)(x), 2 * np.sin(x)),
        (ct.mask(f)(ragged).data[:3], 2 * np.sin(x[:3])),
        (ct.grad(lambda x: ct.mask(total)(ct.Ragged(x, {0: 3})))(x), 2 * np.cos(x) * (np.arange(5) < 3)),
    ]
    for value, expected in made:
        np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-5, atol=1e-6)
    assert [str(value.device) for value, _ in made] == [THERE] * len(made)
    assert (
        ct.explain(lambda x: f(x) + 1)(x).steps
        == ct.explain(ct.jit(lambda x: f(x) + 1, backend="cuda-emulated"))(x).steps
    )
    assert "kernel" in ct.jit(lambda x: f(x) + 1).lower(x).compile().as_text()


def test_a_program_that_names_two_devices_is_an_error() -> None:
    def first(x: Any) -> Any:
        return x + 1

    def second(x: Any) -> Any:
        return x + 2

    f, g = ct.jit(first, backend="cuda-emulated"), ct.jit(second, backend="cpu")

    def both(x: Any) -> Any:
        return f(x) * g(x)

    for call in (ct.jit(both), ct.grad(both), ct.jit(both).lower):
        with pytest.raises(ct.errors.DeviceError, match="first is jitted for cuda-emulated, and second for llvm"):
            call(2.0)
    for call in (ct.jit(first, backend="cpu"), ct.vmap(g), ct.jit(g, backend="interpreter")):
        assert str(call(np.ones(2)).device) == "cpu:0"

    def outer(x: Any) -> Any:
        return f(x)

    with pytest.raises(
        ct.errors.DeviceError, match=r"outer is jitted for llvm, and first for cuda-emulated\n.*same device"
    ):
        ct.jit(outer, backend="cpu")(2.0)


def test_a_function_runs_where_the_arrays_are_that_it_closes_over() -> None:
    w = there()
    f = ct.jit(lambda x: x @ w)
    x = np.ones((2, 3), np.float32)
    for _ in range(2):
        assert str(f(x).device) == THERE
    np.testing.assert_array_equal(f(x), x @ DATA)
    assert str(ct.jit(ct.grad(lambda x: (x @ w).sum()))(x).device) == THERE
    assert str(ct.jit(lambda x: x @ w, backend="cpu")(x).device) == "cpu:0"


@pytest.mark.parametrize("compiled", [False, True])
def test_results_that_depend_on_no_element_are_beside_the_arguments(compiled: bool) -> None:
    x = there()
    wrap: Any = ct.jit if compiled else lambda f: f
    assert str(wrap(ct.hessian(lambda x: x.sum()))(x[0]).device) == THERE
    assert str(wrap(ct.jacrev(lambda x: x * 2))(x[0]).device) == THERE
    assert str(wrap(ct.jacfwd(lambda x: x * 2))(x[0]).device) == THERE


POSITIONS: dict[str, Callable[[Any], Any]] = {
    "nonzero": lambda x: cnp.nonzero(x)[1],
    "argwhere": cnp.argwhere,
    "flatnonzero": cnp.flatnonzero,
    "where": lambda x: cnp.where(x > 3)[0],
    "unique_counts": lambda x: cnp.unique_counts(x)[1],
    "unique_inverse": lambda x: cnp.unique_inverse(x)[1],
    "unique_all": lambda x: cnp.unique_all(x)[1],
    "compress": lambda x: cnp.compress(x[0] > 1, x, axis=1),
    "diag_indices_from": lambda x: cnp.diag_indices_from(x[:, :3])[0],
    "ragged": lambda x: ct.ragged([x[0], x[1, :2]]).data,
    "lengths": lambda x: next(iter(ct.ragged([x[0], x[1, :2]]).lengths.values())),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_are_where_their_array_is(name: str) -> None:
    found = POSITIONS[name](there())
    assert str(found.device) == THERE
    np.testing.assert_array_equal(found, POSITIONS[name](cnp.array(DATA)))


def test_a_function_that_is_not_compiled_leaves_its_results_on_the_device() -> None:
    with ct.disable_jit():
        assert str(ct.jit(lambda x: cnp.sin(x) + 1)(there()).device) == THERE


def test_arrays_made_of_buffers_files_and_seeds_are_on_the_default_device(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", DATA)
    with ct.default_device("cuda-emulated"):
        made = [
            cnp.fromiter([1.0, 2.0], dtype="float32"),
            cnp.frombuffer(b"abcd", dtype="uint8"),
            cnp.fromstring("1 2", sep=" "),
            cnp.load(tmp_path / "x.npy"),
            ct.device_put(DATA),
            ct.random.PRNGKey(3),
            ct.random.normal(ct.random.key(3), (2,)),
        ]
        assert str(cnp.__array_namespace_info__().default_device()) == THERE
    assert [str(x.device) for x in made] == [THERE] * len(made)
    assert str(ct.device_put(made[0]).device) == THERE and str(ct.device_put(DATA).device) == "cpu:0"


def test_memory_that_is_shared_stays_where_it_is() -> None:
    theirs = DATA.copy()
    with ct.default_device("cuda-emulated"):
        shared, copied = cnp.from_dlpack(theirs, copy=False), cnp.from_dlpack(theirs)
        assert str((shared + 1).device) == THERE
    theirs[:] = 7
    assert (str(shared.device), str(copied.device)) == ("cpu:0", THERE)
    assert (shared.tolist(), copied.tolist()) == (theirs.tolist(), DATA.tolist())
    assert str(cnp.from_dlpack(there(), device="cpu").device) == "cpu:0"
    assert str(cnp.from_dlpack(there(), copy=False).device) == THERE


def test_jit_runs_where_its_shardings_say() -> None:
    place = there().sharding
    for given in ({"in_shardings": place}, {"out_shardings": place}, {"in_shardings": (place,), "out_shardings": None}):
        assert str(ct.jit(lambda x: x + 1, **given)(DATA).device) == THERE
    with pytest.raises(ValueError, match=r"jit: asked for cpu:0 and cuda-emulated:0; a program runs on one device"):
        ct.jit(lambda x: x, in_shardings=place, out_shardings="cpu")
    with pytest.raises(ValueError, match=r"jit: asked for cpu:0 and cuda-emulated:0"):
        ct.jit(lambda x: x, device="cpu", out_shardings=place)
