"""``toolc run`` of tools with ``confirm: true`` or ``retry``: prompts and output."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from paths import SUPPORT
from transaction_cases import DONE

from toolc.cli.commands.run import command
from toolc.model.result import Capture, Outcome
from toolc.sandbox import selection
from toolc.testing.fake_engine import FakeEngine

SPEC = """
toolc: 1
name: wipe
description: Wipe one thing away, for tests of toolc itself and for nothing else.
parameters: {thing: {type: string, description: What to wipe}}
confirm: true
backend: {shell: {argv: [wipe, --, "{{ thing }}"]}}
"""

FLAKY = """
toolc: 1
name: flaky
description: Fail once and then succeed, for tests of toolc itself and for nothing else.
parameters: {}
annotations: {idempotent: true}
retry: {kinds: [exit_status], backoff: 1ms}
backend: {shell: {argv: [flaky]}}
"""


def use(monkeypatch: pytest.MonkeyPatch, engine: FakeEngine) -> None:
    monkeypatch.setattr("toolc.client.executor.select", lambda *_: selection.EngineSelection(engine))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use(monkeypatch, FakeEngine(lambda _: DONE))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wipe.yaml").write_text(SPEC)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_without_a_terminal_the_call_is_denied() -> None:
    result = CliRunner().invoke(command, ["wipe.yaml", "--arg", "thing=a"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "toolc: the tool 'wipe' was not called: each call of it must be confirmed, and there is no way to ask; "
        "use toolc run on a terminal or with --yes, toolc serve with a client that supports elicitation, "
        "or Executor(confirm=...) in a program\n"
    )


@pytest.mark.usefixtures("folder")
def test_denied_call_as_json() -> None:
    result = CliRunner().invoke(command, ["wipe.yaml", "--arg", "thing=a", "--json"])
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (2, "denied")


@pytest.mark.usefixtures("folder")
def test_yes_skips_the_prompt() -> None:
    result = CliRunner().invoke(command, ["wipe.yaml", "--arg", "thing=a", "--yes"])
    assert (result.exit_code, result.stdout) == (0, "done\n")


ON_TERMINAL = """
import sys
sys.path.insert(0, {helpers!r})
from transaction_cases import DONE
from toolc.sandbox import selection as select
from toolc.testing.fake_engine import FakeEngine
import toolc.client.executor
engine = FakeEngine(lambda _: DONE)
toolc.client.executor.select = lambda *_: select.EngineSelection(engine)
from toolc.cli.commands.run import command
command(["wipe.yaml", "--arg", "thing=\\x1b[31ma"])
"""

QUESTION = (
    'wipe {\r\n  "thing": "\\u001b[31ma"\r\n}\r\ntoolc: wipe needs confirmation. Run it with these arguments? [y/N]: '
)


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("\n", 2)])
def test_prompt_shows_the_arguments(folder: Path, answer: str, status: int) -> None:
    helpers = str(SUPPORT)
    ours, theirs = pty.openpty()
    script = ON_TERMINAL.format(helpers=helpers)
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        os.write(ours, answer.encode())
        printed = b""
        try:
            while piece := os.read(ours, 4096):
                printed += piece
        except OSError:
            # How Linux says that a terminal's other end is closed.
            pass
        assert process.wait(60) == status, printed
    os.close(ours)
    assert QUESTION in printed.decode()
    assert ("done" in printed.decode()) is (status == 0)


BOTH = """
toolc: 1
tools:
  - name: wipe
    description: Wipe one thing away, for tests of toolc itself and for nothing else.
    parameters: {thing: {type: string, description: What to wipe}}
    confirm: true
    backend: {shell: {argv: [wipe, --, "{{ thing }}"]}}
  - name: report
    description: Say how far it is, for tests of toolc itself and for nothing else.
    parameters: {}
    backend: {shell: {argv: [report], progress: true}}
  - name: both
    description: Wipe two things at once, for tests of toolc itself and for nothing else.
    parameters: {}
    backend:
      composite:
        strategy: parallel
        steps:
          - {id: a, tool: wipe, args: {thing: a}}
          - {id: b, tool: wipe, args: {thing: b}}
          - {id: c, tool: report, args: {}}
"""

SEVERAL = """
import sys, threading
sys.path.insert(0, {helpers!r})
from toolc.sandbox import selection as select
from toolc.testing.fake_engine import FakeEngine
from toolc.model.result import Capture, Outcome
import click
import toolc.client.executor
asked, reported = threading.Event(), threading.Event()
confirm = click.confirm

def ask(*args, **more):
    asked.set()
    reported.wait(60)
    return confirm(*args, **more)

def script(plan):
    if plan.invocation.argv[0] == "report":
        # In the midst of a question.
        asked.wait(60)
        threading.Timer(0.2, reported.set).start()
        said = b"::progress 40 nearly\\n"
        return Outcome(ending="exited", stderr=Capture(said, total_bytes=len(said)))
    return Outcome(ending="exited", stdout=Capture(b"done", total_bytes=4))

click.confirm = ask
engine = FakeEngine(script)
toolc.client.executor.select = lambda *_: select.EngineSelection(engine)
from toolc.cli.commands.run import command
command(["both.yaml#both"])
"""


@pytest.mark.slow
def test_concurrent_prompts_are_shown_one_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text(BOTH)
    ours, theirs = pty.openpty()
    script = SEVERAL.format(helpers=str(SUPPORT))
    printed = b""
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        late = threading.Timer(60, process.kill)
        late.start()
        answers = [b"y\n", b"n\n"]
        try:
            while piece := os.read(ours, 4096):
                printed += piece
                if answers and printed.endswith(b"[y/N]: "):
                    os.write(ours, answers.pop(0))
        except OSError:
            # How Linux says that a terminal's other end is closed.
            pass
        process.wait(60)
        late.cancel()
    os.close(ours)
    asked = re.findall(
        r'wipe \{\r\n  "thing": "(.)"\r\n\}\r\n'
        r"toolc: wipe needs confirmation. Run it with these arguments\? \[y/N\]: ([yn])\r\n",
        printed.decode(),
    )
    assert ({thing for thing, _ in asked}, [answer for _, answer in asked]) == ({"a", "b"}, ["y", "n"]), printed


def test_output_of_a_retried_attempt_is_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [(1, b"half"), (0, b"whole")]

    def answer(_: object) -> Outcome:
        status, printed = left.pop(0)
        return Outcome(ending="exited", status=status, stdout=Capture(printed, total_bytes=len(printed)))

    use(monkeypatch, FakeEngine(answer))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flaky.yaml").write_text(FLAKY)
    result = CliRunner().invoke(command, ["flaky.yaml"])
    assert (result.exit_code, result.stdout) == (0, "whole")
    assert result.stderr == "attempt 1 failed (exit_status); again in 0.001 s\n"
