"""Unusual standard streams: closed, with limited encodings, terminals without colours."""

import contextlib
import fcntl
import os
import pty
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

TOOLC = f"{sys.executable} -m toolc"
DESCRIPTION = "A tool that exists for the tests of the command line and for nothing else."
SPEC = f"""\
toolc: 1
name: größe
description: {DESCRIPTION}
backend: {{shell: {{argv: ['true']}}}}
"""


@pytest.fixture(autouse=True)
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(SPEC, encoding="utf-8")
    Path("good.yaml").write_text(SPEC.replace("größe", "hello\nlabel: größe"), encoding="utf-8")


def sh(command: str, environment: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | (environment or {}), capture_output=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "expected"),
    [
        ("<&-", (0, f"hello  größe  {DESCRIPTION}\n", "")),
        (">&-", (0, "", "")),
        ("2>&-", (0, f"hello  größe  {DESCRIPTION}\n", "")),
    ],
)
def test_closed_streams_are_accepted(closed: str, expected: tuple[int, str, str]) -> None:
    assert sh(f"{TOOLC} list good.yaml {closed}") == expected


@pytest.mark.slow
def test_closed_stdin_has_no_arguments() -> None:
    code, out, err = sh(f"{TOOLC} run good.yaml --args - <&-")
    assert (code, out) == (2, "")
    assert err.startswith("toolc: --args - is not JSON: line 1 column 1: ")


@pytest.mark.slow
def test_unencodable_characters_are_escaped() -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    assert sh(f"{TOOLC} list good.yaml", ascii_only) == (0, f"hello  gr\\xf6\\xdfe  {DESCRIPTION}\n", "")
    code, out, err = sh(f"{TOOLC} check bad.yaml", ascii_only)
    assert (code, err) == (1, "")
    assert "2 | name: gr\\xf6" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "colored"),
    [({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_are_used_on_a_terminal(environment: dict[str, str], *, colored: bool) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        command = [*TOOLC.split(" "), "check", "bad.yaml"]
        subprocess.run(command, stdout=theirs, env=inherited | environment, check=False)
        os.close(theirs)
        output = b""
        # A terminal that its last user has closed ends with EIO.
        with contextlib.suppress(OSError):
            while piece := screen.read(4096):
                output += piece
    assert b"TC201" in output
    assert (b"\x1b[" in output) is colored


@pytest.mark.slow
def test_non_blocking_pipe_receives_everything() -> None:
    command = [*TOOLC.split(" "), "schema"]
    whole = subprocess.run(command, capture_output=True, check=True).stdout
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writer, False)
    with subprocess.Popen(command, stdout=writer) as process, os.fdopen(reader, "rb") as expected:
        os.close(writer)
        # The test reads only when the pipe is full.
        time.sleep(1)
        assert expected.read() == whole
    assert len(whole) > 4096
    assert process.returncode == 0
