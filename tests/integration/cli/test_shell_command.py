"""``toolc shell``: on a terminal, with pipes, and what it refuses."""

import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from cli.cli_engines import engines

SPEC = """\
toolc: 1
name: lines
description: Count the lines of all files, for the tests of the command and for nothing else.
backend: {shell: {script: "wc -l *"}}
sandbox: {workspace: rw, env: {COLOR: red}, limits: {timeout: 1s}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.yaml").write_text(SPEC, encoding="utf-8")
    return tmp_path


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "toolc", "shell", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=100, check=False)


def on_terminal(*arguments: str, answers: dict[bytes, bytes]) -> tuple[int, bytes]:
    """Write each answer when its key was printed. Return the exit code and everything that was printed."""
    ours, theirs = pty.openpty()
    printed, left = b"", answers.copy()
    with (
        os.fdopen(ours, "r+b", buffering=0) as screen,
        subprocess.Popen(
            [sys.executable, "-m", "toolc", "shell", *arguments], stdin=theirs, stdout=theirs, stderr=theirs
        ) as process,
    ):
        os.close(theirs)
        try:
            with suppress(OSError):  # Linux reports EIO when the other end of a terminal is closed.
                while piece := screen.read(4096):
                    printed += piece
                    for key in [each for each in left if each in printed]:
                        screen.write(left.pop(key))
            return process.wait(100), printed
        finally:
            process.kill()


@pytest.mark.parametrize("engine", engines())
def test_a_shell_on_a_terminal_receives_keys_and_ctrl_c(folder: Path, engine: str) -> None:
    answers = {
        # Ctrl-C has no effect while the shell starts a program: the program itself says that it runs.
        b"to remove the sandbox: exit": b"test -t 0 && sh -c 'echo $COLOR-$((6 * 7)); exec cat'\n",
        b"red-42\r\n": b"\x03",
        # The shell's own newline: the dying program may still read what arrives before it.
        b"^C\r\n": b"echo code $?; touch made; exit 5\n",
    }
    code, printed = on_terminal("--engine", engine, "lines.yaml", answers=answers)
    assert (code, (folder / "made").exists()) == (5, True)
    assert b"code 130" in printed
    assert b"lines $ " in printed


def test_the_policy_of_the_project_file_forbids_a_shell(folder: Path) -> None:
    (folder / "toolc.yaml").write_text("policy: {lifetime: [call]}\n", encoding="utf-8")
    for _ in range(2):  # the second time, the registry of the spec is stored
        result = run("lines.yaml", "true")
        assert (result.returncode, result.stdout) == (2, b"")
        assert b"calls have one sandbox per session, which toolc.yaml does not allow" in result.stderr


@pytest.mark.parametrize("engine", engines())
def test_without_a_terminal_the_streams_are_pipes(folder: Path, engine: str) -> None:
    script = b"cat /tool/script; echo error >&2; sleep 1.5; exit 3\n"
    result = run("--engine", engine, "lines.yaml", stdin=script)
    assert (result.returncode, result.stdout, result.stderr) == (3, b"wc -l *", b"error\n")


@pytest.mark.needs_engine
def test_a_terminal_of_another_program_can_change_its_size(folder: Path) -> None:
    command = [sys.executable, "-m", "toolc", "shell", "lines.yaml", "sh", "-c", "echo ready; cat"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGWINCH)
            time.sleep(0.2)
            assert process.communicate(b"text", timeout=100) == (b"text", b"")
        finally:
            process.kill()


@pytest.mark.needs_engine
def test_a_command_has_the_streams_and_its_exit_code_is_returned(folder: Path) -> None:
    data = os.urandom(3_000_000)
    assert run("lines.yaml", "cat", stdin=data).stdout == data
    assert run("lines.yaml", "sh", "-c", "kill -TERM $$").returncode == 143
    missing = run("lines.yaml", "missing")
    assert (missing.returncode, missing.stderr) == (127, b"toolc: command not found: missing\n")


def test_a_lock_file_must_approve_the_tool(folder: Path) -> None:
    (folder / "toolc.lock").write_text("# toolc lock, format 1\n", encoding="utf-8")
    assert run("--locked", "lines.yaml").returncode == 2
