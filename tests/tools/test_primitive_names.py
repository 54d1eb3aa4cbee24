"""Primitives are asked for by properties of their records: the tree does so, and the check would notice if it did not."""

from __future__ import annotations

import check_primitive_names as check
import pytest


def test_nobody_asks_for_a_primitive_by_name() -> None:
    assert check.check_tree(check.ALLOWED) == []
    assert len(check.ALLOWED) <= check.MOST_ALLOWED


def test_every_file_on_the_list_needs_to_be_there() -> None:
    assert check.check_tree({**check.ALLOWED, "ir/graph.cc": "no reason"}) != []


@pytest.mark.parametrize(
    "text",
    [
        "if (equation.primitive == &kAdd) return;",
        "if (&primitive != &kAdd) return;",
        "if (&linalg::kAdd == primitive) return;",
        "const Primitive* const all[] = {&kAdd, &kMul};",
        "const Equation* sum = made_by(operand(equation, 1), kAdd);",
        'static const Primitive* const add = find_primitive("add");',
        'const PrimitiveRef add("add");',
        'if (equation.primitive->name == "add") return;',
        'const std::string_view names[] = {"add", "mul"};',
    ],
)
def test_the_check_notices_each_way_of_asking(text: str) -> None:
    text = f"const Primitive& primitive = *equation.primitive;\n{text}"
    assert check.violations("transforms/a.cc", text, {"kAdd", "kMul"}, {"add", "mul"}) != []
    assert check.violations("ir/ops/a.cc", text, {"kAdd", "kMul"}, {"add", "mul"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "return builder.bind1(kAdd, {x, y});",
        "if (equation.primitive->computes(ScalarOp::kAdd)) return;",
        "if (made_by(x, Arrangement::kAdd)) return;",
        'return {{"add", AttributeKind::kFlag}};',
        "const Primitive& kAdd = define(sum()); bool is_add = equation.primitive == &kAdd;",
    ],
)
def test_binding_and_asking_for_properties_and_for_oneself_pass(text: str) -> None:
    text = f"const Primitive& primitive = *equation.primitive;\n{text}"
    assert check.violations("transforms/a.cc", text, {"kAdd"}, {"add"}) == []
