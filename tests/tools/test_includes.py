"""The layering of the C++ folders: the tree obeys it, and the check would notice if it did not."""

from __future__ import annotations

import check_includes


def test_every_folder_includes_only_what_it_may() -> None:
    assert check_includes.check_tree() == []


def test_the_check_notices_each_kind_of_violation() -> None:
    assert check_includes.violations("ir/a.cc", '#include "jit/compile.h"\n') == [
        "ir/a.cc:1: ir may not include jit/compile.h"
    ]
    assert check_includes.violations("jit/a.cc", "\n#include <llvm/IR/Module.h>\n") == [
        "jit/a.cc:2: llvm/IR/Module.h belongs in jit/llvm only"
    ]
    assert check_includes.violations("jit/loop/a.cc", '#include "jit/lower/lower.h"\n') == [
        "jit/loop/a.cc:1: jit/loop may not include jit/lower/lower.h"
    ]
    assert check_includes.violations("ir/a.cc", "#include <Python.h>\n") == [
        "ir/a.cc:1: Python.h belongs in python_bindings only"
    ]
    assert check_includes.violations("device/a.cc", '#include "ir/graph.h"\n') != []


def test_allowed_includes_pass() -> None:
    text = (
        '#include "ir/graph.h"\n#include "transforms/transforms.h"\n#include <vector>\n#include <absl/types/span.h>\n'
    )
    assert check_includes.violations("jit/a.cc", text) == []
    assert check_includes.violations("jit/llvm/a.cc", "#include <llvm/IR/Module.h>\n") == []
