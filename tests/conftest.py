"""What every test shares: a private cache directory, so that no test reads what another run compiled; and `--long`."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from collected import Collected

# Set before cotangent is imported anywhere, subprocesses included; each pytest worker gets its own directory. On the
# emulated GPU, which compiles each operation, the workers of a run share one, and runs may (`./dev test --device`).
SHARES_CACHE = "PYTEST_XDIST_WORKER" in os.environ and os.environ.get("CT_DEVICE") == "cuda-emulated"
KEPT_CACHE = os.environ.get("CT_TEST_CACHE_DIR", "")
if not SHARES_CACHE:
    os.environ["CT_CACHE_DIR"] = KEPT_CACHE or tempfile.mkdtemp(prefix="cotangent-test-cache-")
CACHE = os.environ["CT_CACHE_DIR"]
ERROR_SITES: set[tuple[str, int]] = set()  # where errors were made, if CT_ERROR_SITES asks for it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run fuzzers and repeated runs at their full number")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: runs only with --long")
    config.addinivalue_line(
        "markers", "processor(reason): of programs of the processor: not with CT_DEVICE of another device"
    )
    config.pluginmanager.register(Collected(config))


def pytest_sessionstart() -> None:
    if "CT_ERROR_SITES" in os.environ:  # `raises.py` counts them
        from cotangent import _core

        _core.note_error_sites(True)


def pytest_runtest_teardown() -> None:
    if "CT_ERROR_SITES" in os.environ:  # after each test: programs of tests/errors ask for theirs, which ends it
        from cotangent import _core

        ERROR_SITES.update(_core.note_error_sites(True))


def pytest_sessionfinish() -> None:
    if folder := os.environ.get("CT_ERROR_SITES"):
        from cotangent import _core

        ERROR_SITES.update(_core.note_error_sites(False))
        (Path(folder) / f"{os.getpid()}.json").write_text(json.dumps(sorted(ERROR_SITES)))


def pytest_unconfigure() -> None:
    if not SHARES_CACHE and not KEPT_CACHE:
        shutil.rmtree(CACHE, ignore_errors=True)


def pytest_collection_finish() -> None:
    """What has been collected stays: collections of garbage need not look at hundreds of thousands of objects each time."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        skip = pytest.mark.skip(reason="runs with --long")
        for item in items:
            if "long" in item.keywords:
                item.add_marker(skip)
    if os.environ.get("CT_DEVICE", "cpu") not in ("", "cpu", "llvm"):
        for item in items:
            if mark := item.get_closest_marker("processor"):
                item.add_marker(pytest.mark.skip(reason=f"of the processor: {mark.args[0]}"))


@pytest.fixture(scope="session")
def long_run(request: pytest.FixtureRequest) -> bool:
    """Whether fuzzers and repeated runs take their full number of cases: `./dev test --long`."""
    return bool(request.config.getoption("--long"))


@pytest.fixture(scope="session")
def share(long_run: bool) -> Callable[[int, int], int]:
    """How many of a test's random cases are run: some, with --long all; a fifth of some on the emulated GPU, which compiles each operation."""
    emulated = os.environ.get("CT_DEVICE") == "cuda-emulated"
    return lambda some, every: every if long_run else max(1, some // 5) if emulated else some


@pytest.fixture
def names_devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests that say themselves where each program runs: what names no device runs on the processor, here and in their processes, whatever CT_DEVICE is."""
    if "CT_DEVICE" not in os.environ:
        yield
        return
    import cotangent as ct

    monkeypatch.delenv("CT_DEVICE")
    of_the_environment = ct.config.read("default_device")
    ct.config.update("default_device", "cpu")
    yield
    ct.config.update("default_device", of_the_environment)
