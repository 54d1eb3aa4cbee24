"""Functions of ours in torch, functions and modules of torch in ours, and batches of what a DataLoader gives."""

from __future__ import annotations

import warnings
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
import torch_here

if torch_here.LACKING:
    pytest.skip(torch_here.LACKING, allow_module_level=True)
torch = torch_here.torch
interop = ct.interop.torch
ROW = [0.5, -1.0, 2.0]


def tensors(**options: Any) -> tuple[Any, Any]:
    return torch.tensor(ROW, **options), torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]], **options)


# ---- Arrays and tensors ------------------------------------------------------------------------------------------------

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
def test_arrays_and_tensors(dtype: str, shape: tuple[int, ...]) -> None:
    x = cnp.asarray(np.arange(np.prod(shape)).reshape(shape) % 2, dtype=dtype)
    made = interop.tensor(x)
    assert (str(made.dtype), tuple(made.shape)) == (f"torch.{dtype}", shape)
    assert made.tolist() == x.tolist()
    for copy in (True, False):
        back = interop.array(made, copy=copy)
        assert (back.dtype, back.shape, back.tolist()) == (x.dtype, shape, x.tolist())


def test_tensors_have_memory_of_their_own() -> None:
    x = cnp.arange(3.0)
    interop.tensor(x).add_(1)
    assert x.tolist() == [0.0, 1.0, 2.0]
    given = torch.ones(3)
    made = interop.array(given)
    given.add_(1)
    assert made.tolist() == [1.0, 1.0, 1.0]
    shared = interop.array(given, copy=False)
    assert np.asarray(shared).__array_interface__["data"][0] == given.data_ptr()


def test_views_and_histories() -> None:
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert interop.array(x.T).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert interop.array(x.T, copy=False).tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert interop.array((torch.ones(2) * 1j).conj()).tolist() == [-1j, -1j]


def test_what_is_no_tensor_says_so() -> None:
    with pytest.raises(TypeError, match="torch has no random keys"):
        interop.tensor(ct.random.key(0))
    with pytest.raises(ct.errors.ConcretizationError):
        ct.jit(interop.tensor)(1.0)


# ---- wrap --------------------------------------------------------------------------------------------------------------


def ours(x: Any, y: Any) -> Any:
    return {"a": cnp.tanh(x * y).sum(0), "count": cnp.argmax(y, 1), "b": [x * 2]}


def theirs(x: Any, y: Any) -> Any:
    return {"a": torch.tanh(x * y).sum(0), "count": torch.argmax(y, 1), "b": [x * 2]}


def test_values_and_structures() -> None:
    x, y = tensors()
    found, expected = interop.wrap(ours)(x, y), theirs(x, y)
    assert torch.allclose(found["a"], expected["a"])
    assert found["count"].tolist() == [2, 2]
    assert not found["a"].requires_grad
    assert interop.wrap(lambda x, *, scale: x * scale)(x, scale=2.0).tolist() == [1.0, -2.0, 4.0]
    assert interop.wrap(lambda x: x[:0])(x).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients(dtype: str) -> None:
    results = []
    for f in (interop.wrap(ours), theirs):
        x, y = tensors(dtype=getattr(torch, dtype), requires_grad=True)
        out = f(x, y)
        assert not out["count"].requires_grad
        ((out["a"] ** 2).sum() + out["b"][0].sum()).backward()
        results.append((x.grad, y.grad))
    for found, expected in zip(*results, strict=True):
        assert found.dtype == expected.dtype
        assert torch.allclose(found, expected, rtol=1e-5)


def test_gradients_of_some_arguments() -> None:
    x, y = tensors()
    y.requires_grad_()
    interop.wrap(lambda x, y: (x * y).sum())(x, y).backward()
    assert x.grad is None
    assert y.grad.tolist() == [ROW, ROW]
    with torch.no_grad():
        assert not interop.wrap(lambda y: y * 2)(y).requires_grad


def test_outputs_that_are_not_used_have_no_part() -> None:
    x, y = tensors(requires_grad=True)
    interop.wrap(ours)(x, y)["b"][0].sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    assert y.grad.tolist() == [[0.0] * 3] * 2


def test_derivatives_of_derivatives() -> None:
    f = interop.wrap(lambda x: (x**4).sum())
    x = torch.tensor(ROW, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    assert torch.allclose(slope, 4 * x**3)
    assert torch.allclose(second, 12 * x**2)
    assert torch.allclose(third, 24 * x)


def test_torch_checks_the_gradients() -> None:
    x, y = tensors(dtype=torch.float64, requires_grad=True)
    f = interop.wrap(lambda x, y: cnp.sin(x) @ cnp.exp(y.T))
    assert torch.autograd.gradcheck(f, (x, y))
    assert torch.autograd.gradgradcheck(f, (x, y))


def test_complex_gradients_are_conjugated() -> None:
    x = torch.tensor([1 + 2j, -0.5j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(interop.wrap(lambda x: cnp.exp(x) * x), (x,))
    assert torch.autograd.gradgradcheck(interop.wrap(lambda x: x * x * x), (x,))


def test_a_training_step_of_torch() -> None:
    layer = torch.nn.Linear(3, 1)
    loss = interop.wrap(lambda out: (out**2).mean())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]])
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        value = loss(layer(x))
        value.backward()
        optimizer.step()
        losses.append(float(value))
    assert losses[-1] < 0.1 * losses[0]


def test_functions_are_compiled_once_for_each_type() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        return (x * x).sum()

    wrapped = interop.wrap(f)
    for _ in range(3):
        wrapped(torch.ones(3, requires_grad=True)).backward()
    count = len(runs)
    wrapped(torch.ones(3, requires_grad=True)).backward()
    assert len(runs) == count
    wrapped(torch.ones(4, requires_grad=True)).backward()
    assert len(runs) > count


def test_errors_of_the_function_come_through() -> None:
    with pytest.raises(ct.errors.ShapeError):
        interop.wrap(lambda x, y: x + y)(torch.ones(2, requires_grad=True), torch.ones(3))


def test_beside_compiled_code_of_torch() -> None:
    if not hasattr(torch, "compile"):
        pytest.skip("this torch has no torch.compile")
    compiled = torch.compile(lambda x: torch.sin(x) * 2, backend="aot_eager")
    x = torch.tensor(ROW, requires_grad=True)
    interop.wrap(lambda x: (x * x).sum())(compiled(x)).backward()
    assert torch.allclose(x.grad, 8 * torch.sin(x) * torch.cos(x))
    assert torch.allclose(torch.compile(interop.wrap(lambda x: x * 2))(x), 2 * x)


# ---- function and module -------------------------------------------------------------------------------------------------


def test_functions_of_torch_in_our_programs() -> None:
    f = interop.function(lambda x, y: torch.sin(x) * y)
    x, y = cnp.asarray(ROW), cnp.asarray([1.0, 2.0, 3.0])
    expected = np.sin(ROW) * [1, 2, 3]
    np.testing.assert_allclose(f(x, y), expected, rtol=1e-6)
    np.testing.assert_allclose(ct.jit(f)(x, y), expected, rtol=1e-6)
    slopes = ct.jit(ct.grad(lambda x, y: f(x, y).sum(), (0, 1)))(x, y)
    np.testing.assert_allclose(slopes[0], np.cos(ROW) * [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(slopes[1], np.sin(ROW), rtol=1e-6)
    rows = ct.vmap(f, in_axes=(0, None))(cnp.stack([x, 2 * x]), y)
    np.testing.assert_allclose(rows[1], np.sin(2 * np.array(ROW)) * [1, 2, 3], rtol=1e-6)
    second = ct.grad(lambda v: ct.grad(lambda x: f(x, y).sum())(v).sum())(x)
    np.testing.assert_allclose(second, -expected, rtol=1e-5)


def test_structures_and_integers_of_functions_of_torch() -> None:
    f = interop.function(lambda tree, i: {"picked": tree["w"][i.long()], "rank": torch.argsort(tree["w"])})
    tree, i = {"w": cnp.asarray(ROW), "unused": cnp.ones(2)}, cnp.asarray([2, 0])
    found = f(tree, i)
    assert found["picked"].tolist() == [2.0, 0.5]
    assert found["rank"].tolist() == [1, 0, 2]
    slope = ct.grad(lambda t: f(t, i)["picked"].sum())(tree)
    assert slope["w"].tolist() == [1.0, 0.0, 1.0]
    assert slope["unused"].tolist() == [0.0, 0.0]


def test_complex_functions_of_torch() -> None:
    f = interop.function(lambda z: z * z)
    z = cnp.asarray([1 + 2j, -1j])
    found, expected = (ct.vjp(g, z)[1](cnp.ones_like(z) * (1 - 1j))[0] for g in (f, lambda z: z * z))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_does_not_return_tensors() -> None:
    with pytest.raises(TypeError, match="must return tensors; got float"):
        interop.function(lambda x: float(x.sum()))(cnp.ones(2))


def test_modules() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    parameters, apply = interop.module(model)
    assert set(parameters) == {"0.weight", "0.bias", "2.weight", "2.bias"}
    x = [[1.0, 2.0, 3.0], [0.0, -1.0, 1.0]]
    loss = ct.jit(ct.value_and_grad(lambda p, x: (apply(p, x) ** 2).sum(), (0, 1)))
    value, (slopes, slope) = loss(parameters, cnp.asarray(x))
    given = torch.tensor(x, requires_grad=True)
    expected = (model(given) ** 2).sum()
    expected.backward()
    assert float(value) == pytest.approx(float(expected), rel=1e-5)
    for name, parameter in model.named_parameters():
        np.testing.assert_allclose(slopes[name], parameter.grad.tolist(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(slope, given.grad.tolist(), rtol=1e-4, atol=1e-6)
    # Training here: the module keeps the parameters that it had.
    for _ in range(10):
        _, (slopes, _) = loss(parameters, cnp.asarray(x))
        parameters = ct.tree.map(lambda p, g: p - 0.05 * g, parameters, slopes)
    assert float(loss(parameters, cnp.asarray(x))[0]) < 0.2 * float(value)
    assert float((model(given) ** 2).sum()) == float(expected)


# ---- Batches -------------------------------------------------------------------------------------------------------------


class Examples(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> Any:
        return {
            "row": torch.arange(float(index)),
            "image": torch.full((2, 2), index),
            "label": index,
            "name": f"n{index}",
        }


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_of_torch_makes_batches(workers: int) -> None:
    loader = torch.utils.data.DataLoader(
        Examples(), batch_size=2, collate_fn=ct.interop.data.collate, num_workers=workers
    )
    batches = list(loader)
    assert [batch["label"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert batches[1]["row"].tolist() == [[0.0, 1.0], [0.0, 1.0, 2.0]]
    assert isinstance(batches[1]["row"], ct.Ragged)
    assert batches[1]["image"].shape == (2, 2, 2)
    assert batches[1]["image"].dtype == "int64"
    assert batches[1]["name"] == ["n2", "n3"]
    total = ct.vmap(ct.mask(cnp.sum))(batches[1]["row"])
    assert total.tolist() == [1.0, 3.0]


@pytest.mark.skipif(
    not hasattr(getattr(torch, "compiler", None), "disable"), reason="torch.compile of torch 2.1 and newer"
)
def test_compiled_functions_of_torch_beside() -> None:
    """Run with torch of PyPI: Debian's has no ``torch.compile``."""
    compiled = torch.compile(lambda x: torch.sin(x) * x + x.sum())
    outside = interop.function(compiled)
    x = np.arange(4, dtype=np.float32)
    assert outside(x).tolist() == pytest.approx((np.sin(x) * x + x.sum()).tolist())
    slope = ct.grad(lambda x: outside(x).sum())(x)
    np.testing.assert_allclose(slope, np.sin(x) + x * np.cos(x) + 4, rtol=1e-5)

    smooth = torch.compiler.disable(interop.wrap(lambda a: cnp.sum(cnp.tanh(a))))
    step = torch.compile(lambda x: smooth(x * 2) + x.sum())
    given = torch.ones(3, requires_grad=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Dynamo does not know")
        step(given).backward()
    np.testing.assert_allclose(given.grad.tolist(), [2 * (1 - np.tanh(2.0) ** 2) + 1] * 3, rtol=1e-5)
