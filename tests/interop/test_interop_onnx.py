"""Programs as models of ONNX: onnxruntime computes what the functions do, and what is read back does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cotangent as ct
import cotangent.numpy as cnp
import numpy as np
import pytest
from needs import needed

onnx = needed("onnx")
runtime = needed("onnxruntime")
interop = ct.interop.onnx
table = pytest.importorskip("cotangent.interop.onnx._table")

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)

PROGRAMS: dict[str, Callable[..., Any]] = {
    "layers": lambda x: ct.nn.softmax(ct.nn.relu(x @ W + 1) @ W),
    "attention": lambda x: ct.nn.softmax(x @ x.T / 2) @ x,
    "normalized": lambda x: (x - x.mean(-1, keepdims=True)) / cnp.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "activations": lambda x: [f(x) for f in (ct.nn.silu, ct.nn.gelu, ct.nn.elu, ct.nn.softplus, ct.nn.sigmoid, cnp.tanh)],
    "elements": lambda x: [cnp.sin(x), cnp.cos(x), cnp.exp(x), cnp.log(abs(x)), cnp.sqrt(abs(x)), cnp.sign(x), -x, abs(x) ** 2.5],
    "rounded": lambda x: [cnp.round(x * 3), cnp.floor(x * 3), cnp.ceil(x * 3), x // 0.3, cnp.mod(x, 0.7), cnp.clip(x, -1, 1)],
    "small": lambda x: [cnp.log1p(x * x * 1e-6), cnp.expm1(x * 1e-6), cnp.expm1(10 * x), cnp.log1p(abs(x) * 10)],
    "compared": lambda x: [x > 0, x >= 0, x < 0, x <= 0, x == x[0], x != x[0], cnp.isfinite(x)],
    "bools": lambda x: [(x > 0) & ~(x < 1) | (x == 2), (x > 0) ^ (x < 1), (x > 0).any(1), (x > 0).all()],
    "chosen": lambda x: [cnp.where(x > 0, x, 2 * x), cnp.maximum(x, 0.5), cnp.minimum(x, x[0])],
    "converted": lambda x: [(3 * x).astype(np.int32), (x > 0).astype(np.float32), x.astype(np.float64), x.astype(bool)],
    "shapes": lambda x: [x.T, x.reshape(-1), x[None], cnp.stack([x, x], 1), cnp.concatenate([x, x]), x[::-1], x[1:, ::2]],
    "padded": lambda x: [cnp.pad(x, 1), cnp.pad(x, ((0, 1), (2, 0)), constant_values=3.0), cnp.tril(x)],
    "reduced": lambda x: [x.sum(0), x.max(1), x.min(), cnp.prod(x, 1), x.mean(), cnp.std(x, 0), ct.nn.logsumexp(x, 1)],
    "positions": lambda x: [cnp.argmax(x, 1), cnp.argmin(x, 0), x[np.array([1, 0])], cnp.take(x, np.array([-1, 2]), 1)],
    "running": lambda x: [cnp.cumsum(x, 0), cnp.cumsum(x, 1)],
    "products": lambda x: [cnp.einsum("ij,kj->ik", x, x), cnp.einsum("bij,bkj->bki", x[None], x[None]), x[0] @ W, cnp.outer(x[0], x[1])],
    "integers": lambda x: [(n := (5 * x).astype(np.int32)) + 2, n * n, n & 3, n | 1, ~n, n.sum(0)],
    "constants": lambda x: [x + cnp.linspace(0, 1, 4), cnp.arange(3), cnp.zeros((0, 2)), x[:0]],
    "steps": lambda x: ct.lax.scan(lambda c, v: (c + v, c * v), x[0], x, reverse=True),
    "loops": lambda x: ct.lax.while_loop(lambda v: v.sum() < 50, lambda v: v * v + 1, x),
    "branches": lambda x: ct.lax.cond(x.sum() > 0, cnp.sin, cnp.cos, x),
    "sorted": lambda x: [cnp.sort(x, 1), cnp.argsort(x, 0)],
    "convolved": lambda x: ct.lax.conv_general_dilated(x[None, None], W[None, None, :2, :3], (1, 2), "SAME"),
    "gradient": ct.grad(lambda x: (cnp.tanh(x) @ W).sum()),
    "mapped": ct.vmap(lambda row: row.sum() * row),
    "calls": ct.jit(lambda x: ct.checkpoint(cnp.sin)(ct.jit(lambda y: 2 * y)(x))),
}  # fmt: skip


def computed(model: Any, *arrays: Any) -> list[Any]:
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {f"input{i}": np.asarray(x) for i, x in enumerate(arrays)}))


def agree(found: Any, expected: Any, rtol: float = 2e-5) -> None:
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_programs(name: str) -> None:
    program = PROGRAMS[name]
    model = interop.export(program, X)
    expected = ct.tree.leaves(program(cnp.asarray(X)))
    agree(computed(model, X), expected)
    back = interop.load(model)
    agree(ct.tree.leaves(back(X)), expected)
    agree(ct.tree.leaves(ct.jit(back)(X)), expected)


def test_every_row_is_used_by_a_program() -> None:
    written = {node.op_type for program in PROGRAMS.values() for node in interop.export(program, X).graph.node}
    others = {
        "Gather",
        "GatherElements",
        "TopK",
        "IsNaN",
        "Loop",
        "Scan",
        "If",
        "Conv",
        "ScatterND",
        "Identity",
        "Einsum",
        "MatMul",
        "Expand",
        "Pad",
    }  # of primitives that need more than a row
    assert written - others <= {row.operator for row in table.ROWS}
    missing = {row.operator for row in table.ROWS} - written
    assert missing <= {"BitwiseXor", "Erf"}


def test_rows_name_primitives_and_operators_with_their_attributes() -> None:
    for row in table.ROWS:
        schema = onnx.defs.get_schema(row.operator, interop.OPSET)
        ours = {name for name, *_ in ct._core.primitives[row.primitive].attributes}
        assert {*row.places, *row.needs} <= ours, row
        assert ours - {*row.places, *row.needs} <= {"weak"}, row
        assert {p for p in row.places.values() if isinstance(p, str)} | set(row.fixed) <= set(schema.attributes), row
        assert all(p < len(schema.inputs) for p in row.places.values() if isinstance(p, int)), row


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_other_widths(dtype: str) -> None:
    def program(x: Any) -> Any:
        return [cnp.tanh(x) + 1, x @ x.T, x.sum(0), x > 0]

    x = X.astype(dtype)
    agree(
        computed(interop.export(program, x), x), ct.tree.leaves(program(x)), rtol=1e-2 if dtype == "float16" else 1e-12
    )


def test_bfloat16_is_written_and_read() -> None:
    x = cnp.asarray(X, dtype="bfloat16")
    model = interop.export(lambda x: x * 2 + cnp.asarray(0.5, dtype="bfloat16"), x)
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16
    agree([interop.load(model)(x)], [x * 2 + cnp.asarray(0.5, dtype="bfloat16")])


def test_nan_and_signed_zeros_go_through() -> None:
    x = np.array([[np.nan, -0.0, np.inf, -np.inf]], np.float32)
    for program in (
        lambda x: cnp.maximum(x, 1.0),
        lambda x: cnp.sign(x),
        lambda x: x.max(1),
        lambda x: cnp.where(x > 0, x, -x),
    ):
        np.testing.assert_array_equal(computed(interop.export(program, x), x)[0], program(x))


def test_arguments_are_leaves_and_closures_are_inside(tmp_path: Path) -> None:
    def program(params: Any, x: Any) -> Any:
        return {"out": x @ params["w"] + params["b"], "sum": x.sum()}

    params = {"w": W, "b": np.ones(4, np.float32)}
    model = interop.export(program, params, X, name="layer")
    assert [value.name for value in model.graph.input] == ["input0", "input1", "input2"]
    agree(computed(model, params["b"], params["w"], X), ct.tree.leaves(program(params, X)))
    onnx.save(model, tmp_path / "layer.onnx")
    for given in (tmp_path / "layer.onnx", str(tmp_path / "layer.onnx"), model.SerializeToString()):
        layer = interop.load(given)
        assert layer.__name__ == "layer"
        agree(layer(params["b"], params["w"], X), ct.tree.leaves(program(params, X)))
    with pytest.raises(TypeError, match=r"layer takes 3 arrays \(input0, input1, input2\), called with 1"):
        layer(X)


def test_what_is_read_has_derivatives() -> None:
    program = interop.load(interop.export(lambda x: cnp.tanh(x @ W), X))
    found = ct.grad(lambda x: (program(x) ** 2).sum())(X)
    np.testing.assert_allclose(found, ct.grad(lambda x: (cnp.tanh(x @ W) ** 2).sum())(X), rtol=1e-5)


def test_models_have_no_derivative_rules() -> None:
    stopped = interop.export(lambda x: ct.lax.stop_gradient(x) * 2, X)
    assert [node.op_type for node in stopped.graph.node] == ["Expand", "Mul", "Identity"]


def test_models_of_others() -> None:
    """As exporters of other packages write them: Gemm, Relu, negative axes, defaults of attributes, constants as nodes."""
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    nodes = [
        helper.make_node("Constant", [], ["shape"], value=numpy_helper.from_array(np.array([0, -1]))),
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w", "b"], ["h"], transB=1, alpha=0.5),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("ReduceMax", ["r", "last"], ["m"]),
        helper.make_node("Sub", ["r", "m"], ["d"]),
        helper.make_node("Softmax", ["d"], ["s"]),
        helper.make_node("Slice", ["s", "first", "end", "last"], ["t"]),
        helper.make_node("Unsqueeze", ["t", "last"], ["u"]),
        helper.make_node("Squeeze", ["u", "last"], ["v"]),
        helper.make_node("Identity", ["v"], ["y"]),
        helper.make_node("Cast", ["y"], ["z"], to=onnx.TensorProto.DOUBLE),
    ]
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(5, 6)).astype(np.float32), rng.normal(size=5).astype(np.float32)
    given = {"w": w, "b": b, "last": np.array([-1]), "first": np.array([1]), "end": np.array([np.iinfo(np.int64).max])}
    graph = helper.make_graph(
        nodes,
        "theirs",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 2, 3])],
        [helper.make_tensor_value_info("z", onnx.TensorProto.DOUBLE, [2, 4])],
        [numpy_helper.from_array(value, name) for name, value in given.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    x = rng.normal(size=(2, 2, 3)).astype(np.float32)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    [expected] = session.run(None, {"x": x})
    found = ct.jit(interop.load(model))(x)
    assert found.dtype == "float64"
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_what_is_no_operator_is_named() -> None:
    with pytest.raises(
        NotImplementedError, match=r"onnx.export: .*is no operator of ONNX here\n  at .*test_interop_onnx"
    ):
        interop.export(lambda x: cnp.fft.rfft(x).real, X)
    with pytest.raises(NotImplementedError, match="ONNX has no random keys"):
        interop.export(lambda key: key, ct.random.key(0))
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("NonZero", ["x"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2])],
        [onnx.helper.make_tensor_value_info("y", 7, [1, None])],
    )
    with pytest.raises(NotImplementedError, match="operators that are not read: NonZero"):
        interop.load(onnx.helper.make_model(graph))
