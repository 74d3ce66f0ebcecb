"""``toolc lock``, and ``--locked`` where tools are called."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOLC = (sys.executable, "-m", "toolc")
SPEC = """\
toolc: 1
name: hello
description: A tool that exists for the tests of the command line and for nothing else.
backend: {shell: {argv: [echo, hello]}}
tests: [{expect: {text: "hello\\n"}}]
"""


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/hello.yaml").write_text(SPEC, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "specs"


def toolc(*message: str) -> tuple[int, str, str]:
    done = subprocess.run((*TOOLC, *message), capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.needs_engine
def test_locked_tool_can_be_called_until_it_changes(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert toolc("lock", "specs") == (0, "", "toolc: toolc.lock approves 1 tool; have the change reviewed\n")
    assert toolc("lock", "specs", "--check")[0] == 0
    monkeypatch.chdir(specs)
    status, text, _ = toolc("run", "hello.yaml", "--locked")
    assert (status, text) == (0, "hello\n")
    assert toolc("test", ".", "--locked")[0] == 0
    (specs / "hello.yaml").write_text(SPEC.replace("[echo, hello]", "[echo, hello, again]"), encoding="utf-8")
    for message in (("run", "hello.yaml"), ("serve", "."), ("run", "hello.yaml", "--json")):
        status, text, output = toolc(*message, "--locked")
        assert (status, text) == (2, "")
        assert "the tool hello is not the one that ../toolc.lock approves: its effect (what a call does)" in output
    monkeypatch.chdir(specs.parent)
    status, text, _ = toolc("lock", "specs", "--check")
    assert status == 1
    assert text.startswith("TOOL   CHANGE  DETAILS\nhello  effect  Git has no version with the approved digest")


@pytest.mark.slow
def test_builtin_tools_are_locked_by_toolset(specs: Path) -> None:
    assert toolc("lock", "--builtin", "readonly", "--engine", "oci")[0] == 0
    lines = Path("toolc.lock").read_text(encoding="utf-8").splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("file", "json", "word"))] == [
        "file_info", "file_list", "file_read", "json_query", "word_count",
    ]  # fmt: skip
    assert toolc("lock", "--builtin", "readonly", "--check")[0] == 0
    assert toolc("lock", "--builtin", "data", "--check")[0] == 1
    status, _, output = toolc("lock", "specs", "--builtin", "readonly")
    assert (status, output) == (2, "toolc: --builtin replaces PATHS; remove 'specs' or --builtin readonly\n")


@pytest.mark.slow
def test_errors_in_specs_are_findings_of_a_check(specs: Path) -> None:
    (specs / "hello.yaml").write_text("toolc: 1\nname: hello\n", encoding="utf-8")
    assert toolc("lock", "specs", "--check")[0] == 1
    assert toolc("lock", "specs")[0] == 2


@pytest.mark.slow
def test_without_a_lock_nothing_is_approved(specs: Path) -> None:
    message = "toolc: toolc.lock does not exist, so no tool is approved; create it with: toolc lock\n"
    assert toolc("run", "specs/hello.yaml", "--locked") == (2, "", message)
    assert toolc("lock", "specs", "--check") == (2, "", message)
    assert toolc("run", "specs/hello.yaml", "--lock", "other")[0] == 2


@pytest.mark.slow
def test_lock_is_written_atomically(specs: Path) -> None:
    assert toolc("lock", "specs")[0] == 0
    before = Path("toolc.lock").read_bytes()
    (specs / "hello.yaml").write_text(SPEC.replace("argv", "args"), encoding="utf-8")
    assert toolc("lock", "specs")[0] == 2
    assert Path("toolc.lock").read_bytes() == before
    (specs / "hello.yaml").write_text(SPEC, encoding="utf-8")
    assert toolc("lock", "specs")[0] == 0
    assert Path("toolc.lock").read_bytes() == before
    status, _, output = toolc("lock", "specs", "--lock", "nowhere/toolc.lock")
    assert (status, output) == (2, "toolc: nowhere/toolc.lock cannot be written: no such file or directory\n")
    assert sorted(each.name for each in specs.parent.iterdir()) == [".git", "specs", "toolc.lock"]


@pytest.mark.slow
@pytest.mark.needs_engine
def test_a_lock_with_a_base_image_refuses_calls_in_another_one(specs: Path) -> None:
    status, text, _ = toolc("lock", "specs", "--pin-base-image")
    written = Path("toolc.lock").read_text(encoding="utf-8")
    (base,) = re.findall(r"^base=(sha256:[0-9a-f]{64})$", written, re.MULTILINE)
    assert (status, text) == (0, "")
    assert toolc("check", "specs")[2] == ""
    assert toolc("lock", "specs", "--check") == (0, "", "toolc: toolc.lock approves 1 tool\n")
    assert toolc("run", "specs/hello.yaml", "--locked")[:2] == (0, "hello\n")
    other = f"sha256:{'0' * 64}"
    Path("toolc.lock").write_text(written.replace(base, other), encoding="utf-8")
    status, text, output = toolc("run", "specs/hello.yaml", "--locked")
    assert (status, text) == (2, "")
    assert f"tree {base}, approved the tree {other}; get the approved one from a machine that has it" in output
    status, text, _ = toolc("lock", "--pin-base-image", "specs")
    assert (status, text) == (0, f"TOOL  CHANGE  DETAILS\n*     base    {other[:19]} to {base[:19]}\n")
    assert Path("toolc.lock").read_text(encoding="utf-8") == written


@pytest.mark.slow
def test_any_base_image_is_noted_and_changes_no_exit_code(specs: Path) -> None:
    (specs / "hello.yaml").write_text(SPEC, encoding="utf-8")
    assert toolc("check", "specs") == (0, "1 tool: no errors\n", "")
    assert toolc("lock", "specs")[0] == 0
    note = (
        "toolc: toolc.lock says base=any: tools without an image may run in any base image; to pin it: "
        "toolc lock --pin-base-image\n"
    )
    assert toolc("check", "specs", "--strict") == (0, "1 tool: no errors\n", note)
    assert toolc("check", "specs", "--format", "json")[2] == note
    assert toolc("lock", "specs", "--check") == (0, "", f"toolc: toolc.lock approves 1 tool\n{note}")


@pytest.mark.slow
def test_base_is_for_check_and_a_pin_is_not(specs: Path) -> None:
    status, _, output = toolc("lock", "specs", "--check", "--pin-base-image")
    assert (status, "--pin-base-image changes the lock file and cannot be used with --check" in output) == (2, True)
    for before in (["lock", "specs", "--base", "main"], ["lock", "--base", "specs"]):
        status, _, output = toolc(*before)
        assert (status, "--base REF needs --check; to approve only the base image" in output) == (2, True)
