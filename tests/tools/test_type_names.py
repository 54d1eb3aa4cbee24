"""Types of one name in one namespace are one type."""

from __future__ import annotations

import check_type_names as check


def test_no_two_types_have_one_name() -> None:
    assert check.check_tree() == []


def test_types_in_namespaces_are_found() -> None:
    source = """
namespace ct::jit {
struct A {
  struct Inner {
  };
};
namespace {
struct Hidden {
};
}  // namespace
class B final : public A {
};
struct Declared;
}  // namespace ct::jit
"""
    assert check.types_of(source) == ["ct::jit::A", "ct::jit::B"]
