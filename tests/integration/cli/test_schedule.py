"""``toolc schedule``: due entries are printed, given to a program, or call their tool; each run once."""

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from cli.cli_engines import engines
from cli.command_line import run
from project.paths import SPECS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonValue
from toolc.sandbox.oci.engine import OciEngine

TOOLS = """\
toolc: 1
tools:
  - name: greet
    description: Greet somebody. Use it for greetings only.
    parameters: {name: {type: string, maxLength: 20, description: "The name, e.g. 'Ada'"}}
    backend: {shell: {argv: [echo, "hello {{ name }}"]}}
  - name: pay
    description: Pay a sum. Use it when the user asked to pay.
    confirm: true
    parameters: {}
    backend: {shell: {argv: [echo, paid]}}
"""


PROGRAM = """\
import json, sys
entry = json.load(sys.stdin)
print(json.dumps(entry), file=open("got", "a"))
sys.exit(3 if entry["missed"] else 0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    return tmp_path


def plan(engine: OciEngine | str, folder: Path, *entries: dict[str, JsonValue]) -> None:
    registry = Registry.load(f"{SPECS}/schedule.yaml#schedule_create")
    with Executor(registry, workspace=folder, engine=engine) as executor:
        for number, each in enumerate(entries):
            entry = {"what": f"entry {number + 1}", "at": f"2099-01-01T00:00:0{number}Z", **each}
            assert executor.run("schedule_create", entry).error is None
    # The entries of 2099 were due in 2026: schedule_create refuses a time in the past.
    with closing(sqlite3.connect(folder / "schedule.sqlite")) as store, store:
        store.execute("UPDATE entries SET at = replace(at, '2099', '2026')")


def schedule(*arguments: str) -> int:
    return run("schedule", *arguments)


@pytest.mark.parametrize("engine", engines())
def test_due_entries_are_printed_and_stay_due(engine: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert schedule("due", "--engine", engine) == 0
    assert capsys.readouterr().out == ""
    plan(engine, folder, {}, {"at": "2999-01-01T00:00:00Z"}, {"what": "two\nlines", "every": "365d"})
    for _ in range(2):
        assert schedule("due", "--engine", engine) == 0
        first, second = capsys.readouterr().out.splitlines()
        assert first == "1  2026-01-01T00:00:00Z  entry 1"
        assert second.startswith("3  2026-01-01T00:00:02Z  two lines")
    assert schedule("due", "--json", "--limit", "1", "--engine", engine) == 0
    assert json.loads(capsys.readouterr().out) == [
        {"id": 1, "what": "entry 1", "due": "2026-01-01T00:00:00Z", "missed": 0, "tool": None, "arguments": {}}
    ]


def test_a_program_gets_each_entry_once(engine: OciEngine, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan(engine, folder, {"tool": "greet", "arguments": {"name": "Ada"}}, {"what": "größe", "every": "1h"})
    (folder / "got.py").write_text(PROGRAM, encoding="utf-8")
    command = f"{sys.executable} got.py"
    assert schedule("run", "--exec", command) == 1
    lines = [json.loads(line) for line in (folder / "got").read_text(encoding="utf-8").splitlines()]
    assert [each["what"] for each in lines] == ["entry 1", "größe"]
    assert lines[0]["arguments"] == {"name": "Ada"}
    assert lines[1]["missed"] > 1000
    first, second = capsys.readouterr().out.splitlines()
    assert first == "1  2026-01-01T00:00:00Z  entry 1: ok: exit status 0"
    assert second.endswith(" more missed): FAILED: exit status 3")
    assert schedule("run", "--exec", command) == 0
    assert capsys.readouterr().out == ""


def test_the_tool_of_an_entry_is_called_under_its_gates(
    engine: OciEngine, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entries: list[dict[str, JsonValue]] = [
        {"tool": "greet", "arguments": {"name": "Ada"}}, {"tool": "pay"}, {"tool": "nothing"}, {}, {"tool": "greet"},
    ]  # fmt: skip
    plan(engine, folder, *entries)
    assert schedule("run", "tools.yaml", "--json") == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["ok"], each["message"].partition(";")[0]) for each in found] == [
        (True, "hello Ada"),
        (False, found[1]["message"].partition(";")[0]),
        (False, "there is no tool 'nothing'"),
        (True, "it has no tool to call"),
        (False, found[4]["message"].partition(";")[0]),
    ]
    assert found[1]["message"].startswith("denied: the tool 'pay' was not called: each call must be confirmed")
    assert found[4]["message"].startswith("invalid_args: ")
    plan(engine, folder, {"tool": "pay"}, {"tool": "greet", "arguments": {"name": "Ada"}})
    assert schedule("run", "tools.yaml", "--yes", "--deny", "greet") == 1
    paid, denied = capsys.readouterr().out.splitlines()
    assert paid.endswith("entry 1: ok: paid")
    assert "entry 2: FAILED: denied: " in denied


def test_only_approved_tools_are_called(engine: OciEngine, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("lock", "tools.yaml")
    (folder / "tools.yaml").write_text(TOOLS.replace("hello", "bye"), encoding="utf-8")
    plan(engine, folder, {"tool": "greet", "arguments": {"name": "Ada"}})
    capsys.readouterr()
    assert schedule("run", "tools.yaml", "--locked") == 1
    assert "the tool greet is not the one" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "TARGET is missing"),
        (("--exec", "true", "tools.yaml"), "--exec runs every entry"),
        (("--exec", "no-such-program -x"), "there is no program 'no-such-program'"),
        (("--exec", "'"), "is not a command"),
    ],
)
def test_wrong_usage_takes_no_entry(
    arguments: tuple[str, ...], message: str, engine: OciEngine, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(engine, folder, {})
    assert schedule("run", *arguments) == 2
    assert message in capsys.readouterr().err
    assert schedule("due") == 0
    assert "entry 1" in capsys.readouterr().out


def test_a_damaged_schedule_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "schedule.sqlite").write_text("not a database at all", encoding="utf-8")
    assert schedule("due") == 2
    assert "schedule.sqlite: file is not a database" in capsys.readouterr().err


KILLER = """\
import json, os, signal, sys
print(json.load(sys.stdin)["id"], file=open("got", "a"))
os.kill(os.getppid(), signal.SIGKILL)
"""


@pytest.mark.integrations
def test_a_runner_that_is_killed_loses_only_the_entry_that_it_runs(
    engine: OciEngine, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(engine, folder, {}, {"every": "1min"}, {})
    (folder / "kill.py").write_text(KILLER, encoding="utf-8")
    argv = [sys.executable, "-m", "toolc", "schedule", "run", "--exec", f"{sys.executable} kill.py"]
    assert subprocess.run(argv, cwd=folder, capture_output=True, check=False).returncode == -9
    assert (folder / "got").read_text(encoding="utf-8") == "1\n"
    assert schedule("due") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["2", "3"]


def test_a_folder_without_a_schedule_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert schedule("due") == 0
    assert capsys.readouterr() == ("", "toolc: there is no schedule.sqlite in .\n")
    assert schedule("due", "--workspace", "nowhere") == 2
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.integrations
def test_two_runners_never_run_an_entry_twice(engine: OciEngine, folder: Path) -> None:
    plan(engine, folder, *({} for _ in range(9)))
    argv = [sys.executable, "-m", "toolc", "schedule", "run", "--exec", "true", "--json", "--limit", "2"]

    def run(_: int) -> list[int]:
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line)["entry"]["id"] for line in done.stdout.splitlines()]

    with ThreadPoolExecutor(3) as runners:
        taken = [number for numbers in runners.map(run, range(6)) for number in numbers]
    assert sorted(taken) == list(range(1, 10))
