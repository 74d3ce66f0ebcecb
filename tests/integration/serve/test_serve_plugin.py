"""``toolc serve --plugin``, started by a host of plugins."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from engines.waiting_sandboxes import until

SPEC = """\
toolc: 1
tools:
  - name: mean
    description: Compute the mean of some numbers, and nothing else.
    parameters: {numbers: {type: array, items: {type: number}, minItems: 1}}
    backend: {python: {code: "def mean(numbers):\\n    return sum(numbers) / len(numbers)\\n"}}
  - name: sleep
    description: Sleep for ten minutes. Use it to wait for the end of its host.
    parameters: {}
    backend: {shell: {argv: [sleep, "SECONDS"]}}
    sandbox: {limits: {timeout: 10m}}
"""
SECONDS = str(60_000 + os.getpid() % 10_000)


class Host:
    """A host of plugins: writes a line and reads a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def ask(self, line: str) -> object:
        self.send(line)
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@contextmanager
def hosting(folder: Path, *names: str) -> Iterator[Host]:
    (folder / "tools.yaml").write_text(SPEC.replace("SECONDS", SECONDS), encoding="utf-8")
    options = [word for name in names for word in ("--plugin", name)]
    command = [sys.executable, "-m", "toolc", "serve", *options, "tools.yaml"]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield Host(process)


def asleep() -> bool:
    """Return whether the tool ``sleep`` runs on this machine."""
    arguments = f"sleep\0{SECONDS}\0".encode()
    for entry in Path("/proc").glob("[0-9]*"):
        # It may exit while it is read.
        with suppress(OSError):
            if (entry / "cmdline").read_bytes().endswith(arguments):
                return True
    return False


@pytest.mark.slow
@pytest.mark.needs_engine
def test_a_host_describes_calls_and_disconnects(tmp_path: Path) -> None:
    with hosting(tmp_path, "mean") as host:
        described = host.ask('{"type":"describe"}')
        assert isinstance(described, dict)
        assert [*described] == ["name", "description", "parameters"]
        assert (described["name"], described["parameters"]["required"]) == ("mean", ["numbers"])
        for numbers, words in (("[1,2,3,4,5]", "3.0"), ("[1]", "1.0")):
            answer = host.ask(f'{{"type":"call","call_id":"call_abc123","params":{{"numbers":{numbers}}}}}')
            assert answer == {"content": [{"type": "text", "text": words}], "error": False}
        invalid = host.ask("nonsense")
        assert isinstance(invalid, dict)
        assert invalid["error"] is True
        assert invalid["content"][0]["text"].startswith("Error: the request cannot be read: this line is not JSON ")
        out, err = host.process.communicate(timeout=60)
    assert (host.process.returncode, out, err) == (0, "", "")


@pytest.mark.slow
@pytest.mark.needs_engine
def test_several_tools_are_served_as_one_plugin(tmp_path: Path) -> None:
    with hosting(tmp_path, "mean", "sleep") as host:
        described = host.ask('{"type":"describe"}')
        assert isinstance(described, dict)
        assert [each["name"] for each in described["tools"]] == ["mean", "sleep"]
        answer = host.ask('{"type":"call","call_id":"c","tool":"mean","params":{"numbers":[2]}}')
        assert answer == {"content": [{"type": "text", "text": "2.0"}], "error": False}


@pytest.mark.slow
@pytest.mark.needs_engine
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_running_call_and_its_sandbox(tmp_path: Path, number: int, status: int) -> None:
    with hosting(tmp_path, "sleep") as host:
        host.send('{"type":"call","call_id":"c","params":{}}')
        until(asleep)
        host.process.send_signal(number)
        out, err = host.process.communicate(timeout=60)
    assert (host.process.returncode, out) == (status, "")
    assert "Traceback" not in err
    assert not asleep()


@pytest.mark.slow
def test_an_unknown_tool_is_rejected_at_the_start(tmp_path: Path) -> None:
    with hosting(tmp_path, "men") as host:
        out, err = host.process.communicate(timeout=60)
    assert (host.process.returncode, out, err) == (2, "", "toolc: there is no tool 'men'; did you mean 'mean'?\n")
