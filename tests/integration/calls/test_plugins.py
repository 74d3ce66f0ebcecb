import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from calls.http_tools import failed
from project.paths import SUPPORT

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.call import ToolCall
from toolc.model.events import ToolEnd, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import ErrorKind
from toolc.runtime.sessions.sandbox_server import SandboxServer
from toolc.runtime.wire.session import EndedError, SessionCall
from toolc.sandbox.oci.engine import OciEngine

PLUGIN = (SUPPORT / "calls/hostile_plugin.py").read_text(encoding="utf-8")
LOST = "this call was not sent, and the state of the process is lost; call again to start a new process"
BROKEN = "the plugin violated the protocol: "
TOO_LATE = (
    "the call did not finish before the time limit of the whole operation and was stopped; request less work per call"
)
TOO_LONG = "the plugin's response is longer than [0-9]+ bytes, its output limit; request less data"
TOO_MUCH = "the call exceeded its memory limit of 128MiB and was stopped; request less data per call"
RULE = "a message is one JSON object on one line, and logs belong on stderr"
ANSWER = re.escape('\'{"content": [{"type": "text", "text": "one"}]}\'')
LATE = re.escape('\'{"content": [{"type": "text", "text": "two"}], "error": false}\'')


def registry(folder: Path, plugin: str = PLUGIN, **backend: JsonValue) -> Registry:
    (folder / "hostile_plugin.py").write_text(plugin, encoding="utf-8")
    spec: JsonObject = {
        "toolc": 1,
        "name": "hostile",
        "description": "Behave as the caller says.",
        "parameters": {"how": {"type": "string"}},
        "backend": {"plugin": {"command": ["python3", "hostile_plugin.py"], "files": ["*.py"], **backend}},
        "sandbox": {"lifetime": "session", "limits": {"timeout": "60s", "memory": "128MiB"}},
    }
    path = folder / "hostile.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return Registry.load(path)


@pytest.fixture(scope="module")
def executor(engine: OciEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Executor]:
    with Executor(registry(tmp_path_factory.mktemp("hostile")), engine=engine) as made:
        yield made


def call(executor: Executor, how: str) -> ToolResult:
    return executor.run("hostile", {"how": how})


def hurried(executor: Executor, how: str) -> ToolResult:
    """Return the result of a call that ends at the time limit of its batch."""
    call, seconds = ToolCall(name="hostile", arguments={"how": how}), 1.5
    while "session" not in (result := executor.run_batch([call], timeout=seconds)[0]).details:
        seconds *= 10  # a machine that stalls may leave no time to begin
    return result


def assert_failed(result: ToolResult, kind: str, message: str) -> None:
    found = failed(result)
    assert found[0] == kind
    assert re.fullmatch(message, found[1]), found[1]


def listen(executor: Executor) -> None:
    """Wait until the plugin's output after its answer has arrived."""
    (session,) = executor._options.sessions._sessions.values()
    assert isinstance(session.server, SandboxServer)
    wire = session.server._wire
    wire.begin(SessionCall(timeout_ms=60_000))
    with suppress(EndedError):
        wire.listen(time.monotonic() + 60)


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("junk", "serialization", rf"{BROKEN}this line is not JSON \(.*\): 'Loading model...'; {RULE}"),
        ("pretty", "serialization", rf"{BROKEN}this line is not JSON \(.*\): '{{'; {RULE}"),
        ("die", "execution", "the plugin's process ended with exit status 3 before it answered"),
        ("be killed", "execution", "the plugin's process was killed by SIGKILL before it answered"),
        ("hang", "timeout", TOO_LATE),
        ("twice", "serialization", f"{BROKEN}it answered more than once: {ANSWER}"),
        ("long", "output_limit", TOO_LONG),
        ("close", "serialization", f"{BROKEN}it closed its stdout before it answered"),
        ("not UTF-8", "serialization", rf"{BROKEN}this line is not JSON \(byte 39 is not UTF-8\): .*"),
        ("NaN", "serialization", rf"{BROKEN}this line is not JSON \(NaN is not JSON\): .*"),
        ("deep", "serialization", rf"{BROKEN}this line is not JSON \(it is nested too deeply\): .*"),
        ("no content", "serialization", f"{BROKEN}its response has no list 'content': .*"),
        ("updates without end", "timeout", TOO_LATE),
        (
            "a bad update", "serialization",
            rf"{BROKEN}content\[0\] of its update declares the type 'image/png', but its data is image/gif",
        ),
        (
            "another call's", "serialization",
            rf"{BROKEN}it answered the call 'call_of_others', but 'call_[0-9a-f]+' was open",
        ),
        (
            "another call's update", "serialization",
            rf"{BROKEN}its update is for the call 'call_of_others', but 'call_[0-9a-f]+' was open",
        ),
        ("no line end", "execution", "the plugin's process ended with exit status 0 before it answered"),
        ("memory", "out_of_memory", TOO_MUCH),
    ],
)  # fmt: skip
def test_invalid_answers_of_a_plugin_are_errors(executor: Executor, how: str, kind: str, message: str) -> None:
    made = hurried if kind == "timeout" else call
    refused, after = made(executor, how), call(executor, "ok")
    assert_failed(refused, kind, message)
    assert (after.text, after.details["session"]) == ("call 1", {"call": 1})


@pytest.mark.parametrize(
    ("how", "first", "kind", "message"),
    [
        (
            "leave afterwards", "bye", "execution",
            f"the plugin's process ended with exit status 0 after its last answer; {LOST}",
        ),
        (
            "leave later", "bye", "execution",
            f"the plugin's process ended with exit status 0 after its last answer; {LOST}",
        ),
        ("twice, late", "one", "serialization", f"{BROKEN}it wrote unexpected output, {LATE}; {LOST}"),
        ("half", "one", "serialization", f"{BROKEN}it wrote unexpected output, '{{\"content\"'; {LOST}"),
    ],
)  # fmt: skip
def test_output_after_an_answer_is_not_used_for_the_next_call(
    executor: Executor, how: str, first: str, kind: str, message: str
) -> None:
    answered = call(executor, how)
    listen(executor)
    refused, after = call(executor, "ok"), call(executor, "ok")
    assert answered.text == first
    assert_failed(refused, kind, message)
    assert (after.text, after.details["session"]) == ("call 1", {"call": 1})


def test_an_immediate_next_call_waits_for_late_output(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = call(executor, "twice, late")
    # The second answer comes after 0.2 s, and ends the wait.
    monkeypatch.setattr("toolc.runtime.sessions.sandbox_server.QUIET_SECONDS", 50.0)
    refused, after = call(executor, "ok"), call(executor, "ok")
    message = f"{BROKEN}it wrote unexpected output, {LATE}; {LOST}"
    assert_failed(refused, "serialization", message)
    assert (answered.text, after.text) == ("one", "call 1")


def test_updates_before_the_answer_are_reported(executor: Executor) -> None:
    events = list(executor.stream("hostile", {"how": "updates"}))
    updates = [each for each in events if isinstance(each, ToolUpdate)]
    assert [(each.percent, each.message, each.content) for each in updates] == [
        (40, "nearly", (Text("so far"), Image(b"GIF89a", "image/gif"))),
        (None, "there", ()),
    ]
    assert isinstance(events[-1], ToolEnd)
    assert events[-1].result.text == "done"


@pytest.fixture
def naming(engine: OciEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Executor]:
    """Return a plugin whose answers have call ids; a wait for further output would never end."""
    monkeypatch.setattr("toolc.runtime.sessions.sandbox_server.QUIET_SECONDS", 1000.0)
    found = registry(tmp_path, command=["python3", "hostile_plugin.py", "name calls"])
    with Executor(found, engine=engine, timeout=100) as made:
        yield made


def test_answers_with_a_call_id_need_no_wait(naming: Executor) -> None:
    calls = [naming.run("hostile", {"how": "ok"}, call_id=f"c{number}") for number in range(5)]
    assert [(each.text, each.details["session"]) for each in calls] == [
        (f"c{number}", {"call": number + 1}) for number in range(5)
    ]


def test_a_second_answer_with_an_id_is_not_used_for_the_next_call(naming: Executor) -> None:
    answered = naming.run("hostile", {"how": "twice, late"}, call_id="c1")
    refused = naming.run("hostile", {"how": "ok"}, call_id="c2")
    assert answered.text == "c1"
    # Whether it comes before the next call is passed on, or in its midst.
    said = re.escape('\'{"content": [{"type": "text", "text": "c1"}], "call_id": "c1"}\'')
    early = f"{BROKEN}it wrote unexpected output, {said}; {LOST}"
    assert_failed(refused, "serialization", f"{early}|{BROKEN}it answered the call 'c1', but 'c2' was open")


def test_a_plugin_that_sends_ids_must_continue(naming: Executor) -> None:
    results = [naming.run("hostile", {"how": how}, call_id=how) for how in ("ok", "without", "without")]
    assert [each.error and each.error.message for each in results] == [
        None, f"{BROKEN}its answer has no 'call_id', but an earlier answer had one", None,
    ]  # fmt: skip


def test_a_repeated_id_makes_the_call_wait(naming: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    # The second answer comes after 0.2 s, and ends the wait.
    monkeypatch.setattr("toolc.runtime.sessions.sandbox_server.QUIET_SECONDS", 50.0)
    answered, refused = (naming.run("hostile", {"how": how}, call_id="c1") for how in ("twice, late", "ok"))
    assert answered.text == "c1"
    assert_failed(refused, "serialization", f"{BROKEN}it wrote unexpected output.*")


def test_a_plugin_that_describes_itself_once_serves_call_after_call(engine: OciEngine, tmp_path: Path) -> None:
    found = registry(tmp_path, command=["python3", "hostile_plugin.py", "describe once"])
    with Executor(found, engine=engine) as executor:
        assert [call(executor, "a").text for _ in range(4)] == ["a 1", "a 2", "a 3", "a 4"]


def test_a_flood_of_answers_is_detected_immediately_or_at_the_next_call(executor: Executor) -> None:
    flooded = [call(executor, how) for how in ("flood", "ok")]
    errors = [each.error for each in flooded if each.error]
    assert [error.kind for error in errors] == ["serialization"]
    assert errors[0].message.startswith(BROKEN)
    assert [each.text for each in flooded if not each.error] in (["call 1"], [""])


@pytest.mark.parametrize(
    ("how", "text"), [("leave a process", "started"), ("log", "said"), ("empty lines", "after them")]
)
def test_valid_answers_of_a_plugin(executor: Executor, how: str, text: str) -> None:
    first, second = call(executor, how), call(executor, "ok")
    assert (first.error, first.text) == (None, text)
    assert first.details["truncated"] is (how == "log")
    assert isinstance(second.details["session"], dict)
    assert isinstance(first.details["session"], dict)
    assert second.details["session"]["call"] == int(str(first.details["session"]["call"])) + 1


@pytest.mark.parametrize(
    ("command", "kind", "message"),
    [
        (["nosuch"], "not_found", "command not found: nosuch"),
        (["true"], "execution", "the plugin's process ended with exit status 0 before its description"),
        (["cat"], "serialization", f"{BROKEN}its description has no object 'parameters'"),
        (
            ["python3", "hostile_plugin.py", "answer first"], "serialization",
            f"{BROKEN}its description has no object 'parameters'",
        ),
        (
            ["python3", "hostile_plugin.py", "answer early"], "serialization",
            f"{BROKEN}it wrote unexpected output, '{{\"content\": []}}'; {LOST}",
        ),
        (["sleep", "1000"], "timeout", TOO_LATE),
    ],
)  # fmt: skip
def test_a_process_that_is_not_a_plugin_is_reported(
    engine: OciEngine, tmp_path: Path, command: list[str], kind: ErrorKind, message: str
) -> None:
    with Executor(registry(tmp_path, command=[*command]), engine=engine) as executor:
        result = (hurried if kind == "timeout" else call)(executor, "ok")
    assert result.error == ToolFailure(kind, message)


def test_a_plugin_that_was_not_reviewed_is_not_called(engine: OciEngine, tmp_path: Path) -> None:
    changed = PLUGIN.replace("Behave as the caller says.", "Behave.").replace('["how"]}', '[], "title": "H"}')
    with Executor(registry(tmp_path, changed), engine=engine) as executor:
        result = call(executor, "die")
    message = (
        "the plugin differs from the reviewed one and was not called: its description is 'Behave.', but "
        "'Behave as the caller says.' was reviewed; it lacks parameters.required; it adds parameters.title"
    )
    assert result.error == ToolFailure("denied", message)


def test_an_executable_file_next_to_the_spec_is_run(engine: OciEngine, tmp_path: Path) -> None:
    script = f"#!/usr/bin/env python3\n{PLUGIN.replace('from __future__ import annotations', '')}"
    (tmp_path / "tool").write_text(script, encoding="utf-8")
    found = registry(tmp_path, command=["./tool"], files=["tool"])
    with Executor(found, engine=engine) as executor:
        assert call(executor, "ok").text == "call 1"
