"""The lint of sizes finds what is too large, and nothing is."""

import check_sizes as check


def test_nothing_is_too_large() -> None:
    assert check.check_tree() == []


def test_a_class_of_many_methods_is_found() -> None:
    methods = "".join(f"  void f{i}(int x) const {{ g({i}); }}\n  int a{i} = 0;\n" for i in range(41))
    source = (
        f"// class Comment {{\nclass Few {{ void f(); }};\nclass Many final : public Few {{\n public:\n{methods}}};\n"
    )
    assert check.large_classes("a.h", source) == ["a.h:3: Many has 41 methods; 40 are the most"]
    assert check.large_classes("a.h", source.replace("f40(", "f39(")) == []


def test_overloads_and_members_that_hold_functions_are_not_methods() -> None:
    members = [" void f(int)", " void f(double) {}", " std::function<void(int)> g", " A() = default", " int h = k(3)"]
    assert sum(map(check.is_method, members)) == 2


def test_a_long_python_function_is_found() -> None:
    lines = "\n".join("    x += 1" for _ in range(101))
    source = f'def f(x):\n    """What it does.\n\n    More.\n    """\n{lines}\n'
    assert check.large_python("a.py", source) == ["a.py:1: f has 101 lines; 100 are the most"]
    assert check.large_python("a.py", source.replace("    x += 1\n", "", 1)) == []


def test_a_python_class_of_many_methods_is_found() -> None:
    source = "class A:\n" + "".join(f"    def f{i}(self): pass\n" for i in range(41))
    assert check.large_python("a.py", source) == ["a.py:1: A has 41 methods; 40 are the most"]
