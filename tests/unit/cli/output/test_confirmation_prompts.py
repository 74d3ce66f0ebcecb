"""``toolc run`` of tools with ``confirm: true`` or ``retry``: prompts and output."""

import re
from pathlib import Path

import pytest
from calls.scripted_tools import captured
from cli.terminal import run_on_terminal
from click.testing import CliRunner
from workspaces.transaction_cases import DONE

from toolc.cli.commands.run import command
from toolc.model.result import Outcome
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
        "toolc: the tool 'wipe' was not called: each call must be confirmed, and there is no way to ask; "
        "use toolc run on a terminal or with --yes, toolc serve with a client that supports elicitation, "
        "or Executor(confirm=...) in a program\n"
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("option", "status", "part"), [("--json", 2, '"kind": "denied"'), ("--yes", 0, "done\n")])
def test_denied_call_as_json_and_a_confirmed_call(option: str, status: int, part: str) -> None:
    result = CliRunner().invoke(command, ["wipe.yaml", "--arg", "thing=a", option])
    assert (result.exit_code, part in result.stdout) == (status, True)


ENGINE = """
from workspaces.transaction_cases import DONE
from toolc.testing.fake_engine import FakeEngine
engine = FakeEngine(lambda _: DONE)
"""

QUESTION = (
    'wipe {\r\n  "thing": "\\u001b[31ma"\r\n}\r\ntoolc: wipe needs confirmation. Run it with these arguments? [y/N]: '
)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("answer", "expected"), [("y\n", 0), ("\n", 2)])
def test_prompt_shows_the_arguments(answer: str, expected: int) -> None:
    status, printed = run_on_terminal(["wipe.yaml", "--arg", "thing=\x1b[31ma"], ENGINE, [answer])
    assert status == expected, printed
    assert QUESTION in printed
    assert ("done" in printed) is (expected == 0)


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

REPORTS_DURING_A_PROMPT = """
import threading
import click
from calls.scripted_tools import captured
from toolc.model.result import Outcome
from toolc.testing.fake_engine import FakeEngine
prompted, reported = threading.Event(), threading.Event()
confirm = click.confirm

def prompt(*args, **more):
    prompted.set()
    reported.wait(60)
    return confirm(*args, **more)

def script(plan):
    if plan.invocation.argv[0] == "report":
        prompted.wait(60)
        threading.Timer(0.2, reported.set).start()
        line = b"::progress 40 nearly\\n"
        return Outcome(ending="exited", stderr=captured(line))
    return Outcome(ending="exited", stdout=captured(b"done"))

click.confirm = prompt
engine = FakeEngine(script)
"""


@pytest.mark.slow
def test_concurrent_prompts_are_shown_one_at_a_time(folder: Path) -> None:
    (folder / "both.yaml").write_text(BOTH)
    _, printed = run_on_terminal(["both.yaml#both"], REPORTS_DURING_A_PROMPT, ["y\n", "n\n"])
    prompts = re.findall(
        r'wipe \{\r\n  "thing": "(.)"\r\n\}\r\n'
        r"toolc: wipe needs confirmation. Run it with these arguments\? \[y/N\]: ([yn])\r\n",
        printed,
    )
    assert ({thing for thing, _ in prompts}, [answer for _, answer in prompts]) == ({"a", "b"}, ["y", "n"]), printed


def test_output_of_a_retried_attempt_is_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [(1, b"half"), (0, b"whole")]

    def answer(_: object) -> Outcome:
        status, printed = left.pop(0)
        return Outcome(ending="exited", status=status, stdout=captured(printed))

    use(monkeypatch, FakeEngine(answer))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flaky.yaml").write_text(FLAKY)
    result = CliRunner().invoke(command, ["flaky.yaml"])
    assert (result.exit_code, result.stdout) == (0, "whole\n")
    assert result.stderr == "attempt 1 failed (exit_status); retrying in 0.001 s\n"
