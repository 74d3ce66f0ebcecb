"""Live output of ``toolc run``: each tool waits until its output was seen."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

import pytest
from cli.cli_engines import engines

from toolc.cli.output import live
from toolc.cli.output.live import Live, LiveDisplay, Progress
from toolc.cli.output.result import print_details
from toolc.model.events import ToolUpdate
from toolc.model.result import ToolResult

TOOLC = (sys.executable, "-m", "toolc")
SPECS = """\
toolc: 1
defaults: {sandbox: {workspace: ro, limits: {timeout: 100s}}}
tools:
  - name: talk
    description: &description A tool that exists for the tests of the command line and for nothing else.
    backend:
      shell:
        progress: true
        script: |
          echo one
          echo "::progress 40 halfway" >&2
          echo noted >&2
          until [ -e go ]; do sleep 0.05; done
          echo two
  - name: fail
    description: *description
    backend: {shell: {script: "echo half; until [ -e go ]; do sleep 0.05; done; exit 3"}}
  - name: complain
    description: *description
    backend: {shell: {script: "echo bad >&2; until [ -e go ]; do sleep 0.05; done; echo worse >&2; exit 3"}}
  - name: flood
    description: *description
    backend: {shell: {argv: ["yes"]}}
  - name: much
    description: *description
    backend: {shell: {script: "yes | head -c 1000000; exit 3"}}
  - name: drip
    description: *description
    backend: {shell: {script: "while :; do echo y; sleep 0.05; done"}}
  - name: data
    description: *description
    backend: {shell: {script: "echo '{'; sleep 0.1; echo '\\"a\\": 1}'"}}
    result: {format: json}
  - name: watch
    description: *description
    backend:
      python:
        function: watch
        code: |
          import os, time
          def watch():
              yield 10, "waiting"
              yield "seen "
              while not os.path.exists("go"):
                  time.sleep(0.05)
              yield "done"
"""


@pytest.fixture(autouse=True)
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.yaml").write_text(SPECS, encoding="utf-8")


def go() -> None:
    Path("go").touch()


def start(tool: str, *options: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE) -> Process:
    command = [*TOOLC, "run", f"tools.yaml#{tool}", *options]
    return subprocess.Popen(command, stdout=stdout, stderr=stderr)


Process = subprocess.Popen[bytes]


def line(pipe: IO[bytes] | None) -> bytes:
    assert pipe
    return pipe.readline()


@pytest.mark.parametrize("engine", engines())
def test_output_and_progress_arrive_while_the_tool_runs(engine: str) -> None:
    with start("talk", "--engine", engine) as process:
        assert line(process.stdout) == b"one\n"
        assert line(process.stderr) == b" 40% halfway\n"
        go()
        assert process.communicate(timeout=60) == (b"two\n", b"noted\n")
    assert process.returncode == 0


@pytest.mark.parametrize("engine", engines())
def test_failure_continues_the_output(engine: str) -> None:
    with start("fail", "--engine", engine) as process:
        assert line(process.stdout) == b"half\n"
        go()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, b"[exit status 3]\n")
    assert err == b"toolc: the tool failed (exit_status): the command ended with exit status 3\n"


@pytest.mark.needs_engine
def test_stopped_call_prints_its_output_once() -> None:
    printed = message = ""
    for seconds in ("0.7", "10", "60"):  # a machine that stalls may leave no time to say anything
        command = [*TOOLC, "run", "tools.yaml#fail", "--timeout", f"{seconds}s"]
        printed = subprocess.run(command, capture_output=True, check=False).stdout.decode()
        message = f"the call did not finish within {seconds} s and was stopped; request less work per call\n"
        if printed != message:
            break
    assert printed == f"half\n{message}"


@pytest.mark.needs_engine
def test_truncated_output_matches_the_result() -> None:
    plain, as_json = (
        subprocess.run([*TOOLC, "run", "tools.yaml#much", *options], capture_output=True, check=False).stdout
        for options in ((), ("--json",))
    )
    head = b"y\n" * (256 * 1024 // 4)
    assert plain.startswith(head)
    assert plain.count(b" bytes cut]\n") == 1
    # Head, tail and status: nothing of it twice.
    assert abs(len(plain) - len(json.loads(as_json)["content"][0]["text"])) < 100


@pytest.mark.needs_engine
def test_json_data_is_printed_at_the_end(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert subprocess.run([*TOOLC, "run", "tools.yaml#data"], check=False).returncode == 0
    assert capfdbinary.readouterr().out == b'{\n"a": 1}\n'


@pytest.mark.needs_engine
def test_json_prints_nothing_before_the_end() -> None:
    with start("talk", "--json") as process:
        assert process.stdout
        assert process.stderr
        assert select.select([process.stdout, process.stderr], [], [], 1.5)[0] == []
        go()
        out, err = process.communicate(timeout=60)
    assert (json.loads(out)["content"][0]["text"], err) == ("one\ntwo\n", b"")


@pytest.mark.parametrize("engine", engines())
def test_events_are_lines_of_json_and_the_last_is_the_result(engine: str) -> None:
    with start("watch", "--events", "--engine", engine) as process:
        lines = [json.loads(line(process.stdout)) for _ in range(3)]
        go()
        lines += map(json.loads, process.communicate()[0].splitlines())
    call_id = lines[0]["call_id"]
    about = {"name": "watch", "call_id": call_id}
    assert lines[0] == {"event": "start", **about}
    assert {"event": "update", **about, "percent": 10.0, "message": "waiting"} in lines[1:3]
    assert {"event": "update", **about, "stream": "content", "text": "seen "} in lines[1:3]
    assert lines[3] == {"event": "update", **about, "stream": "content", "text": "done"}
    assert lines[4]["event"] == "end"
    assert lines[4]["result"]["content"] == [{"type": "text", "text": "seen done"}]
    assert len(lines) == 5


def test_invalid_arguments_are_an_event() -> None:
    done = subprocess.run(
        [*TOOLC, "run", "tools.yaml#talk", "--arg", "a=1", "--events"], capture_output=True, check=False
    )
    (event,) = map(json.loads, done.stdout.splitlines())
    assert (done.returncode, event["event"], event["result"]["error"]["kind"]) == (2, "end", "invalid_args")


def test_json_and_events_cannot_be_combined(capfd: pytest.CaptureFixture[str]) -> None:
    assert subprocess.run([*TOOLC, "run", "tools.yaml#talk", "--json", "--events"], check=False).returncode == 2
    assert capfd.readouterr() == (
        "",
        "toolc: --json and --events cannot be combined; the last line of --events has the result\n",
    )


@pytest.mark.parametrize("engine", engines())
def test_interrupt_during_output_is_130(engine: str) -> None:
    with start("flood", "--engine", engine) as process:
        assert line(process.stdout) == b"y\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err.strip()) == (130, b"")


@pytest.mark.needs_engine
def test_closed_pipe_ends_the_call() -> None:
    with start("drip") as process:
        assert line(process.stdout) == b"y\n"
        assert process.stdout
        process.stdout.close()
        assert process.wait(60) == 141
        assert process.stderr
        assert process.stderr.read() == b""


@pytest.mark.needs_engine
def test_a_timing_table_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    go()
    subprocess.run([*TOOLC, "run", "tools.yaml#data", "--json", "--timing"], check=False)
    out, err = capfd.readouterr()
    rows = [line.split() for line in err.splitlines()]
    names = ["load", "bind", "plan", "choose", "create", "start", "ready", "run", "frames", "close", "read", "total"]
    assert [row[0] for row in rows] == names
    assert {row[2] for row in rows} == {"ms"}
    measured = json.loads(out)["details"]["timing_ms"]
    assert [*measured] == names[1:-1]
    assert float(rows[-1][1]) == pytest.approx(sum(float(row[1]) for row in rows[:-1]), abs=1)


class Screen:
    """A terminal with 40 columns that records its output."""

    def __init__(self) -> None:
        self._ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        self.seen = b""

    def until(self, condition: Callable[[bytes], bool]) -> None:
        deadline = time.monotonic() + 60
        while not condition(self.seen):
            assert time.monotonic() < deadline, self.seen
            if select.select([self._ours], [], [], 0.1)[0]:
                self.seen += os.read(self._ours, 4096)

    def close(self) -> bytes:
        os.close(self.theirs)
        # A terminal that its last user has closed ends with EIO.
        with suppress(OSError):
            while piece := os.read(self._ours, 4096):
                self.seen += piece
        os.close(self._ours)
        return self.seen


BAR = b"\r\x1b[K[##########..............]  40% halfway"
CLEAR = b"\r\x1b[K"


@pytest.mark.needs_engine
def test_the_progress_bar_is_below_the_output() -> None:
    screen = Screen()
    with start("talk", stdout=screen.theirs, stderr=screen.theirs) as process:
        screen.until(lambda seen: all(each in seen for each in (BAR, b"one\r\n", b"noted\r\n")))
        go()
        process.wait(60)
    shown = screen.close()
    assert shown.endswith(BAR + CLEAR + b"two\r\n" + BAR + CLEAR)
    assert shown.count(b"noted\r\n") == 1


@pytest.mark.needs_engine
def test_stderr_is_not_repeated_on_a_terminal() -> None:
    screen = Screen()
    with start("complain", stdout=screen.theirs, stderr=screen.theirs) as process:
        screen.until(lambda seen: seen == b"bad\r\n")
        go()
        assert process.wait(60) == 1
    assert screen.close() == b"bad\r\nworse\r\n[exit status 3]\r\ntoolc: the tool failed (exit_status)\r\n"


@pytest.mark.parametrize("noted", ["", "bad", "bad\nwor", "bad\nworse"])
def test_remaining_stderr_follows(noted: str, capfd: pytest.CaptureFixture[str]) -> None:
    sys.stderr.write(noted)
    print_details(ToolResult(content=(), details={"stderr": "bad\nworse"}), noted)
    assert capfd.readouterr().err == "bad\nworse\n"


@pytest.mark.needs_engine
def test_redirected_result_is_complete() -> None:
    go()
    screen = Screen()
    process = start("complain", stderr=screen.theirs)
    assert process.communicate(timeout=60)[0] == b"bad\nworse\n[exit status 3]\n"
    assert screen.close().startswith(b"bad\r\nworse\r\ntoolc: the tool failed")


@pytest.mark.needs_engine
def test_yielded_output_is_shown_on_a_terminal() -> None:
    screen = Screen()
    with start("watch", stdout=screen.theirs, stderr=subprocess.DEVNULL) as process:
        screen.until(lambda seen: seen == b"seen ")
        go()
        process.wait(60)
    assert screen.close() == b"seen done\r\n"


@pytest.mark.needs_engine
def test_yielded_output_of_a_stopped_call_is_shown() -> None:
    shown, late = b"", ""
    for seconds in ("0.7", "10", "50"):  # a machine that stalls may leave no time to yield anything
        screen = Screen()
        start("watch", "--timeout", f"{seconds}s", stdout=screen.theirs, stderr=subprocess.DEVNULL).wait(90)
        shown = screen.close()
        late = f"the call did not finish within {seconds} s and was stopped; request less work per call"
        if shown.startswith(b"seen"):
            break
    assert shown.decode() == f"seen \r\n{late}\r\n"


@pytest.mark.needs_engine
def test_yielded_output_is_written_to_a_pipe() -> None:
    with start("watch") as process:
        assert line(process.stderr) == b" 10% waiting\n"
        assert process.stdout
        assert select.select([process.stdout], [], [], 0.5)[0] == []
        go()
        assert process.communicate(timeout=60)[0] == b"seen done\n"


@pytest.mark.needs_engine
def test_progress_is_shown_on_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    go()
    screen = Screen()
    start("talk", stdout=subprocess.DEVNULL, stderr=screen.theirs).wait(60)
    assert screen.close() == b" 40% halfway\r\nnoted\r\n"


@pytest.mark.needs_engine
def test_interrupt_removes_the_bar() -> None:
    screen = Screen()
    with start("talk", stdout=subprocess.DEVNULL, stderr=screen.theirs) as process:
        screen.until(lambda seen: seen.endswith(b"noted\r\n" + BAR))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert screen.close().endswith(b"noted\r\n" + BAR + CLEAR + b"\r\n")


class Terminal(io.StringIO):
    """A stream that reports to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("percent", "message", "line"),
    [
        (0.0, "", "[........................]   0% "),
        (100.0, "done", "[########################] 100% done"),
        (None, "no number", "no number"),
        (None, "a\x1b[2J\nb", "a\\x1b[2J b"),
        (None, "a\tb\r\nc", "a b c"),
        (None, "x" * 100, "x" * 39),
        (None, "漢" * 100, "漢" * 19),
    ],
)
def test_progress_line_fits_the_terminal(
    percent: float | None, message: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(live, "_columns", lambda: 40)
    progress = Progress()
    progress.report(percent, message)
    progress.draw()
    assert screen.getvalue() == f"\r\x1b[K{line}"


def test_progress_waits_for_the_end_of_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    with os.fdopen(os.dup(screen.theirs), "w") as both:
        monkeypatch.setattr(sys, "stdout", both)
        monkeypatch.setattr(sys, "stderr", both)
        shown = Live({"stdout": LiveDisplay(100, both)})
        for update in ("half a ", 10.0, 50.0, "line\n"):
            if isinstance(update, str):
                shown.show(ToolUpdate(name="t", call_id="c", stream="stdout", text=update))
            else:
                shown.show(ToolUpdate(name="t", call_id="c", percent=update))
    bar = b"[############............]  50% "
    screen.until(lambda seen: seen.endswith(bar))
    assert screen.close() == b"half a line\r\n" + CLEAR + bar


def test_output_outside_the_result_is_not_shown(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output = LiveDisplay(5, sys.stdout)
    for piece in ("aü", "büb", "c"):
        output.show(piece)
    assert output.written == "aüb"
    assert capfdbinary.readouterr().out == "aüb".encode()
