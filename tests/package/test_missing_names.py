"""Each public module says of a name that it lacks where it is, what is written for it, or which one was meant."""

from __future__ import annotations

import importlib
import re

import cotangent as ct
import public_api
import pytest
from cotangent._base import names

NAMESPACES = [name for name in public_api.namespaces() if name != "cotangent.jax"]


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_a_misspelled_name_is_told_which_was_meant(namespace: str) -> None:
    module = importlib.import_module(namespace)
    meant = max((entry.name for entry in public_api.entries(namespace)), key=len, default=None)
    if meant is None:
        pytest.skip("a package of packages")
    with pytest.raises(AttributeError) as raised:
        getattr(module, f"{meant}_")
    assert str(raised.value) == (f"module {namespace!r} has no attribute '{meant}_'; did you mean {meant!r}?")
    assert not hasattr(module, "_no_such_name")


@pytest.mark.parametrize("namespace", [name for name in names._NAMESPACES if name])
def test_a_name_of_another_module_is_found_there(namespace: str) -> None:
    module = importlib.import_module(f"cotangent.{namespace}")
    found = [name for name in names._public(module) if names._elsewhere("", name) == f"write ct.{namespace}.{name}"]
    assert found, "no name that is not in an earlier module"
    with pytest.raises(AttributeError, match=rf"\n  write ct\.{re.escape(namespace)}\.{found[0]}$"):
        getattr(ct.checkify, found[0])


def test_what_is_written_for_names_of_others_exists() -> None:
    for name, instead in names._ELSEWHERE.items():
        for path in re.findall(r"\bct((?:\.[a-zA-Z_]+)+)", instead):
            value: object = ct
            for part in path[1:].split("."):
                value = getattr(value, part)
        assert not names._has(ct.numpy, name) and not names._has(ct, name), f"{name} is there"
