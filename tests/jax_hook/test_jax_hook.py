"""`cotangent.jax`: how `import jax` comes to be answered by this package, and what names do that are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cotangent.jax
import pytest
from cotangent.jax.names import JAX_VERSION, MODULES, NAMES
from jax_hook_process import run
from places import ROOT


def test_modules_of_jax_resolve_here() -> None:
    program = """
        import jax, jax.numpy as jnp, jaxlib
        from jax import lax
        from jax.scipy.special import erf
        import cotangent as ct
        assert jax.Array is ct.Array and jax.tree_util.tree_map is ct.tree_util.tree_map
        assert isinstance(jnp.ones(2), ct.Array)
        print(jax.__version__, jaxlib.__version__, jax.version.__version__, jax.lib.__version__, float(jax.grad(lambda x: lax.sin(x) * erf(x))(0.0)))
    """
    assert run(program) == f"{JAX_VERSION} {JAX_VERSION} {JAX_VERSION} {JAX_VERSION} 0.0"


def test_the_installed_distribution_is_jax() -> None:
    assert (
        run("import importlib.metadata as m; print(m.version('jax'), m.version('jaxlib'))")
        == f"{JAX_VERSION} {JAX_VERSION}"
    )


def test_installing_after_jax_itself_says_so() -> None:
    program = """
        import sys, types
        sys.modules["jax"] = types.ModuleType("jax")
        import cotangent.jax
        try:
            cotangent.jax.install()
        except RuntimeError as error:
            print(error)
    """
    first, second = run(program, install=False).splitlines()
    assert first.startswith("cotangent.jax.install: jax itself has been imported in this process")
    assert "python -m cotangent.jax" in second


def test_a_block_ends_it() -> None:
    program = """
        import importlib.util, sys
        import cotangent as ct, cotangent.jax
        with cotangent.jax.installed():
            import jax
            assert cotangent.jax.is_installed()
            assert float(ct.numpy.ones(3)[5]) == 1.0
        assert not cotangent.jax.is_installed() and "jax" not in sys.modules and "jax.numpy" not in sys.modules
        assert not hasattr(ct.numpy.ones(3), "_trace")
        try:
            ct.numpy.ones(3)[5]
        except IndexError:
            print("ended", float(jax.numpy.sin(0.0)))
    """
    assert run(program, install=False) == "ended 0.0"


def test_a_block_inside_of_an_installation_does_not_end_it() -> None:
    program = """
        with cotangent.jax.installed():
            pass
        print(cotangent.jax.is_installed())
    """
    assert run(program) == "True"


def test_names_that_jax_lacks_are_attribute_errors() -> None:
    program = """
        import jax, jax.numpy
        print(hasattr(jax, "no_such_name"), hasattr(jax.numpy, "masked"), hasattr(jax, "jax"))
        try:
            jax.numpy.no_such_name
        except AttributeError as error:
            print(error)
        try:
            import jax.no_such_module
        except ModuleNotFoundError as error:
            print(error)
        try:
            from jax.lax import no_such_function
        except ImportError as error:
            print("ImportError")
    """
    assert run(program).splitlines() == [
        "False False False",
        "module 'jax.numpy' has no attribute 'no_such_name'",
        "No module named 'jax.no_such_module'",
        "ImportError",
    ]


def test_names_that_are_missing_here_raise_when_they_are_used() -> None:
    program = """
        from typing import Optional
        import jax.lax
        from jax.lax import ragged_all_to_all
        print(ragged_all_to_all)
        class Sub(ragged_all_to_all): pass
        def f(x: ragged_all_to_all | None, y: Optional[ragged_all_to_all]) -> "ragged_all_to_all[int]": ...
        assert not isinstance(1, ragged_all_to_all) and ragged_all_to_all.inner is ragged_all_to_all.inner
        try:
            ragged_all_to_all(1)
        except NotImplementedError as error:
            print(type(error).__name__, error)
    """
    shown, first, second = run(program).splitlines()
    assert shown == "<jax.lax.ragged_all_to_all, which cotangent lacks>"
    assert first == "MissingNameError jax.lax.ragged_all_to_all is used, which JAX has and cotangent has not"
    assert "cotangent.jax.uninstall" in second


def test_a_name_may_stand_for_none() -> None:
    assert run("import jax.numpy as jnp; print(jnp.newaxis is None, jnp.ones(2)[jnp.newaxis].shape)") == "True (1, 2)"


def test_one_function_is_one_object() -> None:
    program = """
        import jax, jax.numpy as jnp
        from jax._src.numpy.lax_numpy import where
        print(jnp.exp is jax.numpy.exp, where is jnp.where, jax._src.core.Primitive is jax.extend.core.Primitive)
    """
    assert run(program) == "True True True"


PROGRAM = "import sys, jax\nprint(jax.numpy.ones(2).sum(), type(jax.Array).__module__, sys.argv[1:], __name__)\n"


@pytest.mark.parametrize("form", ["file", "module"])
def test_the_command_runs_a_program(form: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    target = ["program.py"] if form == "file" else ["-m", "program"]
    done = subprocess.run(
        [sys.executable, "-m", "cotangent.jax", *target, "--flag", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "2.0 builtins ['--flag', '1'] __main__"


def test_the_command_says_that_there_is_no_file(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cotangent.jax", "none.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and "there is no file none.py" in done.stderr


@pytest.mark.parametrize(("value", "expected"), [("1", "True"), ("0", "False"), ("", "False")])
def test_the_environment_variable(value: str, expected: str, tmp_path: Path) -> None:
    """The line that the interpreter runs at its start, in a folder of its own: whatever is installed beside it."""
    (line,) = (ROOT / "python_bindings" / "cotangent_jax.pth").read_text().splitlines()
    program = f"import os\nos.environ['COTANGENT_JAX'] = {value!r}\n{line}\nimport sys\n" + (
        "print('cotangent.jax' in sys.modules and sys.modules['cotangent.jax'].is_installed())"
    )
    assert run(program, install=False) == expected


def test_the_list_of_names() -> None:
    assert {"jax", "jax.numpy", "jax._src.core", "jax.extend.core.primitives"} <= MODULES
    assert NAMES["jax._src.core"]["Primitive"] == "jax.extend.core.Primitive"
    assert NAMES["jax.numpy"]["sin"] is None and "masked" not in NAMES["jax.numpy"]
    assert not cotangent.jax.is_installed()


def test_names_of_older_versions_are_not_there() -> None:
    """Libraries ask whether they are, and go by the answer."""
    program = """
        import jax.core, jax.extend.core, jax.interpreters.xla
        print(hasattr(jax.core, "Primitive"), hasattr(jax.extend.core, "Primitive"), hasattr(jax.core, "thread_local_state"))
    """
    assert run(program) == "False True False"
