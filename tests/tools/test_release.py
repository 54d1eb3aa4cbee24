"""The pieces of `./dev release`: what it refuses, what it finds linked, what it writes. The release itself runs in no test."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cotangent as ct
import pytest
from needs import has, needed

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tools() -> Iterator[Any]:
    """Imports a module of tools/ by its name."""
    sys.path.insert(0, str(ROOT / "tools"))
    yield importlib.import_module
    sys.path.remove(str(ROOT / "tools"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository, committed, tested, and ready to be released as 1.2.3."""
    files = {
        "VERSION": "1.2.3\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.3 — 2026-01-31\n\n- something new\n\n## 1.2.2 — 2025-12-01\n\n- old\n",
        "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\ndate-released: 2026-01-31\n",
        "python_bindings/cotangent/__init__.py": '__version__ = "1.2.3"\n',
        ".gitignore": "/.cache/\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    identity = ["-c", "user.name=tests", "-c", "user.email=tests@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-qm", "1.2.3"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "tested").write_text(head)
    return tmp_path


# ---- versions and the changelog --------------------------------------------------------------------------------------


def test_versions_of_this_repository_agree(tools: Any) -> None:
    checks = tools("release_checks")
    assert checks.versions_agree() == []
    assert ct.__version__ == checks.version()


def test_a_repository_that_is_ready_is_not_refused(tools: Any, repository: Path) -> None:
    checks = tools("release_checks")
    for check in (checks.versions_agree, checks.changelog_dated, checks.committed, checks.passed_all_tests):
        assert check(repository) == [], check.__name__


@pytest.mark.parametrize(
    ("file", "old", "new", "check", "message"),
    [
        ("VERSION", "1.2.3", "1.2.4", "versions_agree", "cotangent.__version__ is 1.2.3, and VERSION 1.2.4"),
        ("VERSION", "1.2.3", "one", "versions_agree", "VERSION is 'one', no version"),
        ("CITATION.cff", "version: 1.2.3", "version: 1.2.0", "versions_agree", "CITATION.cff has version 1.2.0"),
        ("CHANGELOG.md", "## 1.2.3", "## 1.3.0", "versions_agree", "the newest section of CHANGELOG.md is 1.3.0"),
        ("CHANGELOG.md", "2026-01-31", "unreleased", "changelog_dated", "CHANGELOG.md says 1.2.3 is 'unreleased'"),
        ("CHANGELOG.md", "- something new\n", "", "changelog_dated", "CHANGELOG.md says nothing of 1.2.3"),
        ("CHANGELOG.md", "## 1.2.3", "## 1.2", "changelog_dated", "CHANGELOG.md has no section '## 1.2.3 — DATE'"),
        ("CITATION.cff", "2026-01-31", "2026-02-01", "changelog_dated", "CITATION.cff has date-released 2026-02-01"),
        ("VERSION", "\n", "\n\n", "committed", "1 files are not committed, among them VERSION"),
    ],
)
def test_refusals(tools: Any, repository: Path, file: str, old: str, new: str, check: str, message: str) -> None:
    text = (repository / file).read_text()
    assert old in text
    (repository / file).write_text(text.replace(old, new, 1))
    found = getattr(tools("release_checks"), check)(repository)
    assert len(found) >= 1 and any(message in refusal for refusal in found), found


def test_a_commit_whose_tests_were_not_run_is_refused(tools: Any, repository: Path) -> None:
    (repository / ".cache" / "tested").write_text("0123456789abcdef\n")
    (refusal,) = tools("release_checks").passed_all_tests(repository)
    assert refusal.startswith("the tests were last passed on 0123456789ab, and this is ") and "./dev test" in refusal
    (repository / ".cache" / "tested").unlink()
    (refusal,) = tools("release_checks").passed_all_tests(repository)
    assert "the tests were last passed on no commit" in refusal


def test_a_version_that_was_released_is_refused(tools: Any, repository: Path) -> None:
    subprocess.run(["git", "tag", "v1.2.3"], cwd=repository, check=True)
    assert tools("release_checks").committed(repository) == ["there is a tag v1.2.3 already"]


def test_a_refused_release_makes_nothing(tools: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    release = tools("release")
    monkeypatch.setattr(release, "refused", lambda: ["the moon is full"])
    monkeypatch.setattr(release.sdists, "make", lambda folder: pytest.fail("something was made"))
    monkeypatch.setattr(sys, "argv", ["release"])
    with pytest.raises(SystemExit):
        release.main()
    written = capsys.readouterr()
    assert "a release is refused: the moon is full" in written.out and "nothing was made" in written.err


def test_the_citation_is_of_this_software(tools: Any) -> None:
    fields = tools("release_checks").citation()
    assert fields["cff-version"] == "1.2.0" and fields["type"] == "software" and fields["license"] == "Apache-2.0"
    if all(has(name) for name in ("cffconvert", "jsonschema", "yaml")):
        assert tools("release_checks").valid_citation() == []


# ---- what is linked --------------------------------------------------------------------------------------------------

MAP = """\
               VMA       Size Align Out     In      Symbol
            0x5230        185    16         /usr/lib/gcc/x86_64-linux-gnu/12/crtbeginS.o:(.text)
            0x52e9         57     1         python_bindings/_core.p/array.cc.o:(.text)
            0x5300        100    16         ir/libct_ir.a(graph.cc.o):(.text)
            0x5330       2237    16         /usr/lib/x86_64-linux-gnu/libz.a(adler32.o):(.text)
            0x5a20          0     0                 adler32
"""


def test_archives_of_a_link_map_are_those_of_others(tools: Any) -> None:
    found = tools("linked_software").linked_archives(MAP)
    assert found == {"/usr/lib/gcc/x86_64-linux-gnu/12/crtbeginS.o", "/usr/lib/x86_64-linux-gnu/libz.a"}


def test_parts_of_packages_are_found_by_the_members_of_archives(
    tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    linked = tools("linked_software")
    assert linked.linked_members(MAP) == {("/usr/lib/x86_64-linux-gnu/libz.a", "adler32.o")}
    owner = ("llvm-22-dev", "1:22.1.8-1~deb12u1", "debian", tmp_path / "copyright")
    monkeypatch.setattr(linked, "_owners", lambda files: iter([owner]))
    archive = "/usr/lib/llvm-22/lib/libLLVMSupport.a"
    members = ["regcomp.c.o", "regexec.c.o", "blake3_avx512_x86-64_unix.S.o", "MD5.cpp.o", "APInt.cpp.o"]
    found = linked.parts({(archive, member) for member in members} | {("/usr/lib/libz.a", "adler32.o")})
    assert {(one.name, one.key, one.licence or one.terms) for one in found} == {
        ("Henry Spencer's regular expressions", "llvm-22-dev.regcomp", "BSD-3-Clause"),
        ("BLAKE3", "llvm-22-dev.BLAKE3", "CC0-1.0"),
        ("Alexander Peslyak's MD5", "llvm-22-dev.MD5", "public domain"),
    }
    address = next(one.address for one in found if one.name == "BLAKE3")
    assert address == "pkg:deb/debian/llvm-22-dev@1%3A22.1.8-1%7Edeb12u1#llvm/lib/Support/BLAKE3"
    assert {linked.key_of(one.address) for one in found} == {one.key for one in found}
    assert linked.key_of("pkg:pypi/pybind11@3.1.0") == "pybind11"
    assert len(linked.merged([*found, *found])) == 3
    files = linked.write_notices(found, tmp_path / "licenses")
    assert {"linked/llvm-22-dev.regcomp.txt", "linked/llvm-22-dev.BLAKE3.txt", "linked/llvm-22-dev.MD5.txt"} <= set(
        files
    )
    text = (tmp_path / "licenses" / "linked" / "llvm-22-dev.regcomp.txt").read_text()
    assert text.startswith(
        "Henry Spencer's regular expressions: llvm-22-dev 1:22.1.8-1~deb12u1, llvm/lib/Support/regcomp.c"
    )
    assert "The Regents of the University of California" in text
    with pytest.raises(linked.UnknownSoftwareError) as stopped:
        linked.parts({(archive, "lz4.c.o")})
    assert str(stopped.value) == (
        "libLLVMSupport.a(lz4.c.o) is linked into the wheel, is no C++, and linked_software.toml has no part for it\n"
        "  read its licence, and add one"
    )


def test_headers_are_those_that_the_compiler_read(tools: Any) -> None:
    printed = (
        "ir/graph.cc.o: #deps 3, deps mtime 1 (VALID)\n    ../ir/graph.h\n    /usr/include/absl/types/span.h\n"
        "    ../.venv/lib/python3.11/site-packages/pybind11/include/pybind11/cast.h\n\n"
    )
    assert tools("linked_software").used_headers(printed) == {
        "/usr/include/absl/types/span.h",
        "../.venv/lib/python3.11/site-packages/pybind11/include/pybind11/cast.h",
    }


def test_software_without_an_entry_stops_the_release(tools: Any) -> None:
    linked = tools("linked_software")
    assert linked.entry_of("llvm-22-dev")["name"] == "LLVM" and linked.entry_of("libabsl20220623")["name"] == "Abseil"
    with pytest.raises(linked.UnknownSoftwareError, match="libreadline-dev is linked into the wheel"):
        linked.entry_of("libreadline-dev")
    with pytest.raises(linked.UnknownSoftwareError, match=r"no package has /nowhere/libx\.a"):
        linked.components(["/nowhere/libx.a"], "static")


def test_each_entry_has_a_licence_or_says_why_not(tools: Any) -> None:
    for entry in tools("linked_software").table():
        assert ("licence" in entry) != ("terms" in entry), entry["name"]
        assert entry["packages"] and entry["home"].startswith("https://")
    notices = []
    for entry in tools("linked_software").table_of_parts():
        assert ("licence" in entry) != ("terms" in entry), entry["name"]
        assert entry["members"] and entry["source"] and entry["home"].startswith("https://")
        notices.append(tools("linked_software").NOTICES / entry["notice"])
        assert len(notices[-1].read_text()) > 90
    assert sorted(notices) == sorted(tools("linked_software").NOTICES.iterdir())


@pytest.fixture
def software(tools: Any, tmp_path: Path) -> Any:
    """What a wheel might be made of: three packages, of which one asks for nothing."""
    linked = tools("linked_software")
    notice = tmp_path / "copyright"
    notice.write_text("Copyright somebody.\nThe text is in /usr/share/common-licenses/Apache-2.0.\n")
    make = lambda name, package, licence, terms, how, origin="debian": linked.Component(  # noqa: E731
        name, package, "1:2.0+dfsg-1~deb12u1", "https://example.org", licence, terms, (how,), origin, notice
    )
    return linked.merged(
        [
            make("zlib", "zlib1g-dev", "Zlib", "", "static"),
            make("zlib", "zlib1g-dev", "Zlib", "", "headers"),
            make("pybind11", "pybind11", "BSD-3-Clause", "", "headers", "pypi"),
            make("start files", "libc6-dev", "", "anything", "static"),
        ]
    )


def test_notices_have_every_package_and_the_licences_they_refer_to(tools: Any, software: Any, tmp_path: Path) -> None:
    linked = tools("linked_software")
    files = linked.write_notices(software, tmp_path / "licenses")
    wanted = {f"linked/{one.package}.txt" for one in software}
    if (linked.COMMON_LICENCES / "Apache-2.0").exists():
        wanted.add("linked/Apache-2.0.txt")
    assert set(files) == wanted
    text = (tmp_path / "licenses" / "linked" / "zlib1g-dev.txt").read_text()
    assert text.startswith("zlib: zlib1g-dev 1:2.0+dfsg-1~deb12u1, headers and static") and "Copyright somebody" in text
    assert linked.expression(software) == "Apache-2.0 AND BSD-3-Clause AND Zlib"
    (tmp_path / "copyright").unlink()
    with pytest.raises(linked.UnknownSoftwareError, match="has no copyright file"):
        linked.write_notices(software, tmp_path / "others")


def test_the_bill_of_materials_has_every_package(tools: Any, software: Any, tmp_path: Path) -> None:
    sbom = tools("sbom")
    document = sbom.of_wheel("cotangent-1.2.3-cp311-cp311-any.whl", "1.2.3", software, 1_700_000_000)
    assert [part["name"] for part in document["components"]] == ["pybind11", "start files", "zlib"]
    assert document == sbom.of_wheel("cotangent-1.2.3-cp311-cp311-any.whl", "1.2.3", software, 1_700_000_000)
    zlib = document["components"][2]
    assert zlib["purl"] == "pkg:deb/debian/zlib1g-dev@1%3A2.0%2Bdfsg-1%7Edeb12u1"
    assert zlib["licenses"] == [{"expression": "Zlib"}]
    assert [entry["value"] for entry in zlib["properties"]] == ["headers", "static"]
    assert document["components"][1]["licenses"] == [{"license": {"name": "anything"}}]
    assert document["dependencies"][0]["dependsOn"] == [part["bom-ref"] for part in document["components"]]
    assert document["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
    wheel = tmp_path / "x.whl"
    wheel.write_bytes(b"wheel")
    hashed = sbom.with_hash(document, wheel)["metadata"]["component"]["hashes"]
    assert hashed == [{"alg": "SHA-256", "content": "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91"}]
    if has("cyclonedx"):
        assert sbom.complaints(document) == []
        assert sbom.complaints({**document, "specVersion": 5}) != []


# ---- wheels and the source distribution ------------------------------------------------------------------------------

METADATA = """\
Metadata-Version: 2.4
Name: cotangent
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Dist: numpy>=1.26
Requires-Dist: ml_dtypes>=0.4; extra == "dtypes"

License-File: is a word of the text, too
"""


def wheel_of(folder: Path, name: str, metadata: str, files: dict[str, bytes]) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cotangent-1.dist-info/METADATA", metadata)
        for file, content in files.items():
            archive.writestr(file, content)
    return path


def test_metadata_names_all_licences(tools: Any) -> None:
    written = tools("wheels").with_licences(METADATA, "Apache-2.0 AND Zlib", ["linked/a.txt", "linked/b.txt"])
    head, _, body = written.partition("\n\n")
    assert "License-Expression: Apache-2.0 AND Zlib\n" in head and body == METADATA.partition("\n\n")[2]
    assert [line for line in head.split("\n") if line.startswith("License-File")] == [
        "License-File: LICENSE",
        "License-File: linked/a.txt",
        "License-File: linked/b.txt",
    ]
    with pytest.raises(ValueError, match="no License-Expression"):
        tools("wheels").with_licences("Name: x\n\n", "MIT", [])


def test_complaints_about_wheels(tools: Any, tmp_path: Path) -> None:
    complaints = tools("wheels").complaints
    licence = {"cotangent-1.dist-info/licenses/LICENSE": b"text"}
    right = "cotangent-1-cp311-cp311-manylinux_2_35_x86_64.whl"
    assert complaints(wheel_of(tmp_path, right, METADATA, licence), 1) == []
    (big,) = complaints(wheel_of(tmp_path, right, METADATA, licence | {"x": bytes(2**21)}), 1)
    assert big.endswith("has 2.0 MiB, more than 1")
    (tag,) = complaints(wheel_of(tmp_path, "cotangent-1-cp311-cp311-linux_x86_64.whl", METADATA, licence), 1)
    assert "has no manylinux tag" in tag
    needs = METADATA.replace('ml_dtypes>=0.4; extra == "dtypes"', "ml_dtypes>=0.4")
    (more,) = complaints(wheel_of(tmp_path, right, needs, licence), 1)
    assert "needs more than NumPy" in more and "ml_dtypes" in more
    (missing,) = complaints(wheel_of(tmp_path, right, METADATA, {}), 1)
    assert "names the licence file LICENSE, and has none" in missing
    (compiled,) = complaints(wheel_of(tmp_path, right, METADATA, licence | {"cotangent/__pycache__/a.pyc": b""}), 1)
    assert "compiled Python files" in compiled


def test_complaints_about_licences_of_wheels(tools: Any, tmp_path: Path) -> None:
    needed("packaging.licenses")
    wheels = tools("wheels")
    zlib, xxhash, absl = "pkg:deb/debian/zlib1g-dev@1.2", "pkg:deb/debian/llvm@2#a/xxhash.cpp", "pkg:deb/debian/absl@3"
    licences = {zlib: "Zlib", xxhash: "BSD-2-Clause", absl: "Apache-2.0"}

    def found(expression: str, notices: list[str], addresses: list[str], copied: list[str]) -> list[str]:
        components = [{"purl": one, "licenses": [{"expression": licences[one]}]} for one in addresses]
        files = {f"cotangent-1.dist-info/licenses/linked/{name}.txt": b"text" for name in notices}
        files["cotangent-1.dist-info/sboms/cotangent.cdx.json"] = json.dumps({"components": components}).encode()
        files["cotangent.libs/libabsl.so"] = b""
        if copied:
            parts = [{"purl": one} for one in ["pkg:pypi/cotangent@1?file_name=x.whl", *copied]]
            files["cotangent-1.dist-info/sboms/auditwheel.cdx.json"] = json.dumps({"components": parts}).encode()
        metadata = METADATA.replace("License-Expression: Apache-2.0", f"License-Expression: {expression}")
        return list(wheels.complaints_about_licences(wheel_of(tmp_path, "x.whl", metadata, files)))

    every, names = "Apache-2.0 AND BSD-2-Clause AND Zlib", ["zlib1g-dev", "llvm.xxhash", "absl"]
    assert found(every, names, [zlib, xxhash, absl], [absl]) == []
    assert found("Apache-2.0 AND Zlib", names, [zlib, xxhash, absl], [absl]) == [
        "x.whl is under BSD-2-Clause, too, which its License-Expression does not say"
    ]
    assert found(f"{every} AND MIT", names, [zlib, xxhash, absl], [absl]) == [
        "x.whl says MIT, and nothing in it is under that"
    ]
    assert found(every, ["zlib1g-dev", "absl"], [zlib, xxhash, absl], [absl]) == [
        f"x.whl has {xxhash}, and no notice of it"
    ]
    assert found(every, names, [zlib, xxhash], [absl]) == [
        f"x.whl has {absl}, which the bill of materials does not name"
    ]
    assert found(every, names, [zlib, xxhash, absl], []) == [
        "x.whl has shared libraries, and no account of auditwheel's of them"
    ]
    (unknown,) = found("Apache-2.0 AND Nonsense", names, [zlib, xxhash, absl], [absl])
    assert unknown.startswith("x.whl: ") and "nonsense" in unknown.lower()


def test_complaints_about_source_distributions(tools: Any) -> None:
    sdists = tools("sdists")
    whole = [*sdists.EXPECTED, "ir/graph.cc", "docs/index.md"]
    assert sdists.complaints(whole) == []
    assert sdists.complaints(name for name in whole if name != "LICENSE") == ["the source distribution has no LICENSE"]
    for made in ("build-release/x", "ir/__pycache__/a.py", "tests/x.pyc", ".cache/roots/x", "dist/x.whl", "a/b.so"):
        (found,) = sdists.complaints([*whole, made])
        assert found == f"the source distribution has {made}, which is made"


def test_what_git_has_is_a_right_source_distribution(tools: Any) -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is no git repository")
    assert tools("sdists").complaints([*listed.stdout.split("\n")[:-1], "PKG-INFO"]) == []


def test_interpreters_that_no_wheel_can_be_built_for(tools: Any, tmp_path: Path) -> None:
    wheels = tools("wheels")
    assert wheels.look_at(tmp_path / "nothing").endswith(
        "No such file or directory: '" + str(tmp_path / "nothing") + "'"
    )
    other = tmp_path / "python"
    for answer, wanted in [
        ('"3.11", "3.11.2", "/opt/a", "pypy", true, false', f"{other} is not CPython with its lock"),
        ('"3.14", "3.14.0", "/opt/a", "cpython", true, true', f"{other} is not CPython with its lock"),
        ('"3.12", "3.12.1", "/opt/a", "cpython", false, false', f"{other} has no Python.h"),
        (
            '"3.12", "3.12.1", "/opt/a", "cpython", true, false',
            wheels.Interpreter(other, "3.12", "3.12.1", Path("/opt/a")),
        ),
    ]:
        other.write_text(f"#!/bin/sh\necho '[{answer}]'\n")
        other.chmod(0o755)
        assert wheels.look_at(other) == wanted
    assert wheels.look_at(other).tag == "cp312"


def test_interpreters_are_looked_for_in_order(tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheels = tools("wheels")
    given, path, pyenv = tmp_path / "given", tmp_path / "path", tmp_path / ".pyenv" / "versions"
    versions = {
        given: "3.12",
        path: "3.13",
        **{pyenv / f"{version}.1" / "bin" / "python3": version for version in ("3.9", "3.12", "3.13", "3.14")},
    }
    for command in versions:
        command.parent.mkdir(parents=True, exist_ok=True)
        command.touch()
    looked = {
        command: wheels.Interpreter(command, version, f"{version}.1", tmp_path) for command, version in versions.items()
    }
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(wheels.shutil, "which", lambda name: str(path) if name == "python3.13" else None)
    monkeypatch.setattr(wheels, "look_at", lambda command: looked.get(command, "not one of ours"))
    assert {version: one.command for version, one in wheels.interpreters([given]).items()} == {
        "3.12": given,
        "3.13": path,
        "3.14": pyenv / "3.14.1" / "bin" / "python3",
    }
    assert wheels.interpreters()["3.12"].command == pyenv / "3.12.1" / "bin" / "python3"


def test_what_decides_the_tag(tools: Any) -> None:
    printed = (
        'x.whl is consistent with the\nfollowing platform tag: "linux_x86_64".\n\nThe wheel references external versioned symbols in these\n'
        "system-provided shared libraries: libc.so.6 with versions\n{'GLIBC_2.2.5', 'GLIBC_2.34', 'GLIBC_2.4'}, libstdc++.so.6 with versions "
        "{'GLIBCXX_3.4.9',\n'GLIBCXX_3.4.30'}\n\nThis constrains the platform tag to \"manylinux_2_35_x86_64\".\n"
    )
    (line,) = tools("wheels").what_decides(printed)
    assert "manylinux_2_35_x86_64" in line and "'libc.so.6': 'GLIBC_2.34'" in line and "'GLIBCXX_3.4.30'" in line


# ---- bare systems ----------------------------------------------------------------------------------------------------


def test_bare_roots_say_what_is_missing(tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    roots = tools("bare_roots")
    monkeypatch.setattr(roots, "ROOTS", tmp_path)
    monkeypatch.setattr(roots.os, "geteuid", lambda: 1000)
    with pytest.raises(roots.CannotBeMadeError, match="need root"):
        roots.make(roots.DISTRIBUTIONS[0])
    monkeypatch.setattr(roots.os, "geteuid", lambda: 0)
    monkeypatch.setattr(roots.shutil, "which", lambda name: None if name == "debootstrap" else f"/usr/bin/{name}")
    with pytest.raises(roots.CannotBeMadeError, match=r"missing: debootstrap \(apt-get install debootstrap\)"):
        roots.make(roots.DISTRIBUTIONS[0])


def test_commands_in_roots_have_no_network_unless_it_is_asked_for(tools: Any) -> None:
    roots = tools("bare_roots")
    assert "--net" in roots.command_in(Path("/root"), ["true"])
    assert "--net" not in roots.command_in(Path("/root"), ["true"], network=True)


def test_interpreters_are_put_into_roots_as_they_were_made(tools: Any, tmp_path: Path) -> None:
    roots = tools("bare_roots")
    prefix, root = tmp_path / "opt" / "python", tmp_path / "root"
    for name in (
        "bin/python3.12",
        "lib/python3.12/os.py",
        "lib/python3.12/site-packages/a.py",
        "lib/python3.12/test/b.py",
    ):
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_text("")
    (prefix / "bin" / "python3").symlink_to("python3.12")
    roots.put_interpreter(root, prefix)
    there = root / prefix.relative_to("/")
    assert {str(file.relative_to(there)) for file in there.rglob("*") if not file.is_dir()} == {
        "bin/python3",
        "bin/python3.12",
        "lib/python3.12/os.py",
    }
    assert (there / "bin" / "python3").is_symlink()
    for place in (Path("/usr"), tmp_path / "nothing"):
        with pytest.raises(roots.CannotBeMadeError, match=f"a Python in {place} has no folder of its own"):
            roots.put_interpreter(root, place)


def test_the_root_of_this_machine_is_that_of_its_release(tools: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    roots = tools("bare_roots")
    monkeypatch.setattr(roots, "codename", lambda: "trixie")
    assert roots.of_this_machine().name == "Debian 13"
    monkeypatch.setattr(roots, "codename", lambda: "noble")
    with pytest.raises(roots.CannotBeMadeError, match="this machine runs none of Debian 12, Debian 13, Debian testing"):
        roots.of_this_machine()


def test_each_wheel_is_tried_in_the_barest_system_that_can_be_had(
    tools: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    release, roots = tools("release"), tools("bare_roots")
    interpreter = release.wheels.Interpreter(Path("python"), "3.12", "3.12.1", Path("/opt/python"))
    monkeypatch.setattr(release.smoke, "in_root", lambda distribution, wheel: distribution.name)
    monkeypatch.setattr(release.smoke, "in_root_with", lambda interpreter, wheel: f"with {interpreter.exact}")
    monkeypatch.setattr(release.smoke, "here", lambda interpreter, wheel: "here")
    tried = {version: release.tried(version, Path("x.whl"), interpreter) for version in release.wheels.VERSIONS}
    assert tried == {
        "3.11": ["Debian 12"],
        "3.12": ["with 3.12.1"],
        "3.13": ["Debian 13"],
        "3.14": ["Debian testing (14)"],
    }

    def cannot(*_: object) -> None:
        raise roots.CannotBeMadeError("it rains")

    monkeypatch.setattr(release.smoke, "in_root", cannot)
    monkeypatch.setattr(release.smoke, "in_root_with", cannot)
    for version in ("3.11", "3.12"):
        assert release.tried(version, Path("x.whl"), interpreter) == ["here"]
        assert f"no bare system with Python {version}: it rains" in capsys.readouterr().out


def test_wheels_beside_a_bill_of_materials_carry_one(tools: Any, tmp_path: Path) -> None:
    content = {"cotangent-1.dist-info/sboms/cotangent.cdx.json": json.dumps({"version": 1}).encode()}
    wheel = wheel_of(tmp_path, "x.whl", METADATA, content)
    assert tools("wheels").bill_of_materials(wheel) == {"version": 1}


# ---- 64-bit ARM ------------------------------------------------------------------------------------------------------


def test_programs_for_arm_are_those_that_are_linked_without_llvm(tools: Any) -> None:
    listed = (ROOT / "tests" / "cpp" / "meson.build").read_text().partition("cpp_tests = {")[2].partition("\n}")[0]
    needs = dict(re.findall(r"^  '(\w+)': (.*),$", listed, re.MULTILINE))
    assert sorted(tools("arm64").WITHOUT_LLVM) == sorted(name for name in needs if "jit_dep" not in needs[name])


def test_the_emulator_is_borrowed_where_that_of_this_machine_is_old(
    tools: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    arm64 = tools("arm64")
    here = tmp_path / "qemu-aarch64"

    def version(text: str) -> None:
        here.write_text(f"#!/bin/sh\necho 'qemu-aarch64 version {text}'\n")
        here.chmod(0o755)
        arm64.emulator.cache_clear()

    monkeypatch.setattr(arm64.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(arm64.shutil, "which", lambda name: str(here) if name == "qemu-aarch64" else None)
    monkeypatch.setattr(arm64.bare_roots, "program", lambda one, package, name: Path("/roots") / one.suite / name)
    version("10.0.2 (Debian 1:10.0.2+ds-2)")
    assert arm64.version_of(str(here)) == (10, 0) and arm64.emulator() == str(here)
    version("7.2.17 (Debian 1:7.2+dfsg-7)")
    assert arm64.emulator() == "/roots/trixie/qemu-aarch64"

    def cannot(*_: object) -> None:
        raise arm64.bare_roots.CannotBeMadeError("it rains")

    monkeypatch.setattr(arm64.bare_roots, "program", cannot)
    version("7.2.17")
    assert arm64.emulator() == str(here)
    assert "qemu 7.2 fails in children of programs with threads; no newer: it rains" in capsys.readouterr().out
    monkeypatch.setattr(arm64.shutil, "which", lambda name: None)
    arm64.emulator.cache_clear()
    with pytest.raises(SystemExit):
        arm64.emulator()
    assert (
        "qemu-aarch64 is missing (apt-get install qemu-user), and that of Debian 13: it rains"
        in capsys.readouterr().err
    )
    monkeypatch.setattr(arm64.platform, "machine", lambda: "aarch64")
    arm64.emulator.cache_clear()
    assert arm64.emulator() == ""
    arm64.emulator.cache_clear()


def test_borrowed_programs_run_with_the_libraries_of_their_root(
    tools: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    roots = tools("bare_roots")
    monkeypatch.setattr(roots, "make", lambda distribution: tmp_path / distribution.suite)
    monkeypatch.setattr(roots, "with_packages", lambda root, packages: root / packages[0])
    trixie = roots.DISTRIBUTIONS[1]
    for root in ("qemu-user", "libpython3.13-dev"):
        (tmp_path / "trixie" / root / "usr" / "local" / "bin").mkdir(parents=True)
    text = roots.program(trixie, "qemu-user", "qemu-aarch64").read_text()
    root = f"{tmp_path}/trixie/qemu-user"
    assert text == (
        f'#!/bin/sh\nexec {root}/lib64/ld-linux-x86-64.so.2 --argv0 "$0" --library-path {root}/usr/lib/x86_64-linux-gnu '
        f'{root}/usr/bin/qemu-aarch64 "$@"\n'
    )
    command = roots.interpreter(trixie)
    assert command == tmp_path / "trixie" / "libpython3.13-dev" / "usr" / "local" / "bin" / "python3.13"
    assert command.stat().st_mode & 0o100
    include = command.parents[2] / "include"
    processor = f"{roots.platform.machine()}-linux-gnu"
    assert (include / "python3.13" / processor / "python3.13").readlink() == include / processor / "python3.13"
    # What it starts is another Python with a library of its own.
    assert "PYTHONHOME" not in command.read_text()
