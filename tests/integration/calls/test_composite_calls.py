import json
import threading
import time
from pathlib import Path

import pytest
from calls.scripted_server import Answer, ScriptedServer, json_reply
from calls.scripted_tools import error_kind
from project.paths import DOCS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.files import load_secrets
from toolc.config.secret_sources import SecretStore
from toolc.model.events import Event, ToolEnd, ToolStart
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.oci.engine import OciEngine

SECRET = "correct-horse-battery-staple"
SPEC = """\
toolc: 1
tools:
  - name: spill
    description: Say what a secret is, which a tool should not do.
    backend: {shell: {script: 'echo "{\\"key\\": \\"$TOKEN\\"}"'}}
    result: {format: json}
    sandbox: {secrets: {TOKEN: {expose: env}}}
  - name: say
    description: Say a text that is given.
    parameters: {text: {type: string, maxLength: 9000, description: A text.}}
    backend: {shell: {script: 'printf %s "$ARG_text"'}}
  - name: nap
    description: Sleep for a while, and say so.
    backend: {shell: {script: 'sleep 1000; echo slept'}}
    sandbox: {limits: {timeout: 1000s}}
  - name: give
    description: Give any JSON that a file of the workspace has.
    backend: {shell: {argv: [cat, data.json]}}
    result: {format: json}
    sandbox: {workspace: ro}
"""


def registry(folder: Path, *composites: tuple[str, str, list[JsonObject]], timeout: str = "1000s") -> Registry:
    """Return the tools above, and composites with these names, strategies and steps."""
    tools: list[JsonValue] = [
        {
            "name": name,
            "description": f"Calls others, in the way of {name}.",
            "backend": {"composite": {"strategy": strategy, "steps": [*steps]}},
            "sandbox": {"limits": {"timeout": timeout}},
        }
        for name, strategy, steps in composites
    ]
    (folder / "parts.yaml").write_text(SPEC, encoding="utf-8")
    (folder / "whole.yaml").write_text(json.dumps({"toolc": 1, "tools": tools}), encoding="utf-8")
    return Registry.load(folder)


def test_a_step_s_secret_reaches_no_other_step(engine: OciEngine, tmp_path: Path) -> None:
    spill: JsonObject = {"id": "spill", "tool": "spill"}
    keys = ("{{ steps.spill.outputs.key }}", "{{ steps.spill.text }}")
    says: list[JsonObject] = [{"id": f"say{at}", "tool": "say", "args": {"text": key}} for at, key in enumerate(keys)]
    secrets = tmp_path / "secrets.yaml"
    secrets.write_text(f"TOKEN: {SECRET}\n", encoding="utf-8")
    secrets.chmod(0o600)
    events: list[Event] = []
    specs = tmp_path / "specs"
    specs.mkdir()
    found = registry(specs, ("all", "sequential", [spill, *says]))
    with Executor(found, engine=engine, secrets=SecretStore(load_secrets(secrets))) as executor:
        result = executor.run("all", {}, on_event=events.append)
    assert result.structured
    assert result.structured[0] == {
        "spill": {"key": "[secret TOKEN]"},
        "say0": "[secret TOKEN]",
        "say1": '{"key": "[secret TOKEN]"}',
    }
    assert SECRET not in repr(result)
    assert SECRET not in repr(events)


def test_events_have_the_parent_call_id(engine: OciEngine, tmp_path: Path) -> None:
    say: JsonObject = {"id": "say", "tool": "say", "args": {"text": "hi"}}
    found = registry(tmp_path, ("inner", "parallel", [say]), ("outer", "conditional", [{"id": "in", "tool": "inner"}]))
    events: list[Event] = []
    with Executor(found, engine=engine) as executor:
        executor.run("outer", {}, call_id="c", on_event=events.append)
    calls = [(each.name, each.call_id, each.parent_call_id) for each in events if isinstance(each, ToolStart)]
    assert calls == [("outer", "c", None), ("inner", "c.in", "c"), ("say", "c.in.say", "c.in")]
    ends = [each.call_id for each in events if isinstance(each, ToolEnd)]
    assert ends == ["c.in.say", "c.in", "c"]
    assert isinstance(events[-1], ToolEnd)


@pytest.mark.parametrize("strategy", ["sequential", "parallel", "conditional", "pipeline"])
def test_a_cancellation_ends_every_sandbox(engine: OciEngine, tmp_path: Path, strategy: str) -> None:
    steps: list[JsonObject] = [{"id": "a", "tool": "nap"}]
    steps += [{"id": "b", "tool": "nap"}] if strategy == "parallel" else []
    running = threading.Event()

    def receive(event: Event) -> None:
        if isinstance(event, ToolStart) and event.name == "nap":
            running.set()

    def cancel() -> None:
        assert running.wait(60)
        time.sleep(0.3)
        cancellation.cancel()

    found = registry(tmp_path, ("all", strategy, steps))
    with Cancellation() as cancellation, Executor(found, engine=engine) as executor:
        threading.Thread(target=cancel).start()
        result = executor.run("all", {}, on_event=receive, cancellation=cancellation)
    assert error_kind(result) == "cancelled"
    assert Owner.current().label() not in {each.owner for each in engine.leftovers()}


@pytest.mark.parametrize("strategy", ["sequential", "parallel"])
def test_the_composites_limit_covers_all_steps(engine: OciEngine, tmp_path: Path, strategy: str) -> None:
    steps: list[JsonObject] = [
        {"id": "a", "tool": "nap", "continue_on_error": True},
        {"id": "b", "tool": "nap", "continue_on_error": True},
    ]
    with Executor(registry(tmp_path, ("all", strategy, steps), timeout="1s"), engine=engine) as executor:
        result = executor.run("all", {})
    steps_taken = result.details["steps"]
    assert isinstance(steps_taken, list)
    assert [each["error"] for each in steps_taken if isinstance(each, dict)] == ["timeout", "timeout"]


HOSTILE = {
    "deep": "[" * 100_000 + "]" * 100_000,
    "deep in a map": '{"a":' * 50_000 + "1" + "}" * 50_000,
    "long": json.dumps(["x" * 100] * 2000),
    "no JSON": '{"a": NaN, "b": 1e999',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_output_does_not_hang_a_step(engine: OciEngine, tmp_path: Path, name: str) -> None:
    specs, work = tmp_path / "specs", tmp_path / "work"
    specs.mkdir()
    work.mkdir()
    (work / "data.json").write_text(HOSTILE[name], encoding="utf-8")
    steps: list[JsonObject] = [
        {"id": "a", "tool": "give", "continue_on_error": True},
        {"id": "b", "tool": "say", "args": {"text": "x {{ steps.a.outputs }}"}, "continue_on_error": True},
        {"id": "c", "tool": "say", "args": {"text": "hi"}, "if": "sort(steps.a.outputs[]) || steps.a.error"},
    ]
    with Executor(registry(specs, ("all", "sequential", steps)), engine=engine, workspace=work) as executor:
        before = time.process_time()
        result = executor.run("all", {})
        used = time.process_time() - before  # a machine that stalls takes longer, but not more of a processor
    assert used < 30
    steps_taken = result.details["steps"]
    assert isinstance(steps_taken, list)
    assert len(steps_taken) == 3


EXAMPLE = DOCS / "guides" / "examples" / "research_note.yaml"


@pytest.mark.parametrize(
    ("pages", "noted"),
    [([{"title": "Holidays", "url": "https://wiki.example.com/h", "rank": 1}], True), ([], False), (None, False)],
)
def test_the_example_searches_and_notes(
    engine: OciEngine, tmp_path: Path, pages: list[JsonValue] | None, *, noted: bool
) -> None:
    answers: dict[str, Answer | bytes] = {"/api/pages": json_reply({"pages": pages})}
    specs, work, secrets = tmp_path / "specs.yaml", tmp_path / "work", tmp_path / "secrets.yaml"
    work.mkdir()
    secrets.write_text(f"SEARCH_TOKEN: {SECRET}\n", encoding="utf-8")
    secrets.chmod(0o600)
    with ScriptedServer(answers) as server:
        here = f"127.0.0.1:{server.port}"
        text = EXAMPLE.read_text(encoding="utf-8").replace("https://search.example.com", f"http://{here}")
        specs.write_text(text.replace("search.example.com", "127.0.0.1"), encoding="utf-8")
        store = SecretStore(load_secrets(secrets))
        with Executor(Registry.load(specs), engine=engine, workspace=work, secrets=store) as executor:
            result = executor.run("research_note", {"query": "holidays"})
        (request,) = server.received
    assert (request.path, request.headers["authorization"]) == ("/api/pages?n=10&q=holidays", f"Bearer {SECRET}")
    if pages is None:
        assert result.error
        return
    found: list[JsonValue] = [{"title": "Holidays", "url": "https://wiki.example.com/h"}] if pages else []
    assert result.structured == ({"found": found, "noted": noted},)
    notes = work / "notes.md"
    assert notes.exists() is noted
    if noted:
        assert notes.read_text() == "## holidays\n\n1. Holidays: https://wiki.example.com/h\n\n"
