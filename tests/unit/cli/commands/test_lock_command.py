"""``toolc lock``, and ``--locked`` where tools are called."""

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
    assert toolc("lock", "specs") == (0, "", "toolc: toolc.lock approves 1 tool: have the change reviewed\n")
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
    assert text.startswith("TOOL   CHANGE  FIELDS\nhello  effect  unknown")


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
