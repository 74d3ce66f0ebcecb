"""Calls of tools with parameters ``from: caller.CLAIM``: who sets their values, and who cannot."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from calls.scripted_tools import captured

from toolc import Allow, Executor, Registry, ToolCall, ToolDenied, ToolResult, UsageError
from toolc.model.call import BoundCall
from toolc.model.events import Event
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Exec, Plan
from toolc.model.registry import RegisteredTool
from toolc.model.registry_io import registry_bytes, registry_of
from toolc.model.result import Outcome
from toolc.testing.fake_engine import FakeEngine

TOOLS = """\
toolc: 1
tools:
  - name: orders
    description: List the orders of the user, for tests of toolc itself and for nothing else.
    annotations: {idempotent: true}
    parameters:
      tenant: {type: string, from: caller.sub, pattern: "^[a-z0-9-]+$"}
      state: {type: string, description: The state, default: open}
    retry: {kinds: [exit_status], attempts: 2, backoff: 1ms}
    backend: {shell: {argv: [echo, --, "{{ tenant }}", "{{ state }}"]}}
  - name: wipe
    description: Wipe the orders of the user, for tests of toolc itself and for nothing else.
    confirm: true
    parameters:
      tenant: {type: string, from: caller.sub}
      state: {type: string, description: The state, default: open}
    backend: {shell: {argv: [echo, --, "{{ tenant }}", "{{ state }}"]}}
  - name: twice
    description: List the orders of the user two times, for tests of toolc itself only.
    parameters: {}
    backend:
      composite:
        strategy: parallel
        steps: [{id: a, tool: orders}, {id: b, tool: orders, args: {state: done}}]
"""
ONE = {"sub": "tenant-1"}


def echo(plan: Plan) -> Outcome:
    assert isinstance(plan.invocation, Exec)
    words = " ".join(plan.invocation.argv[2:])
    return Outcome(ending="exited", status=3 if "fail" in words else 0, stdout=captured(words.encode()))


@pytest.fixture
def executor(tmp_path: Path) -> Executor:
    (tmp_path / "tools.yaml").write_text(TOOLS)
    return Executor(Registry.load(tmp_path / "tools.yaml"), engine=FakeEngine(echo))


def name_of(tool: RegisteredTool) -> str:
    return tool.spec.name


def kind(result: ToolResult) -> str | None:
    return result.error.kind if result.error else None


def test_the_program_says_who_is_calling(executor: Executor) -> None:
    assert executor.run("orders", {}, caller=ONE).text == "tenant-1 open"
    assert asyncio.run(executor.arun("orders", {}, caller=ONE)).text == "tenant-1 open"
    (result,) = executor.run_batch([ToolCall(name="orders", arguments={"state": "done"})], caller=ONE)
    assert result.text == "tenant-1 done"


@pytest.mark.parametrize("caller", [None, {}, {"name": "tenant-1"}])
def test_without_what_it_needs_to_know_a_call_is_denied(executor: Executor, caller: dict[str, str] | None) -> None:
    events: list[Event] = []
    result = executor.run("orders", {}, caller=caller, on_event=events.append)
    assert kind(result) == "denied"
    assert result.text == "the tool 'orders' needs to know 'sub' of its caller, which is not known"
    assert isinstance(events[0], ToolDenied)


@pytest.mark.parametrize("value", ["tenant-1", "tenant-2", None, 1])
def test_an_argument_cannot_set_it_not_even_to_the_same_value(executor: Executor, value: JsonValue) -> None:
    result = executor.run("orders", {"tenant": value}, caller=ONE)
    assert (kind(result), result.text) == (
        "denied",
        "'tenant' is set by the host and cannot be an argument; leave it out",
    )


def test_json_text_cannot_set_it(executor: Executor) -> None:
    (result,) = executor.run_batch([ToolCall(name="orders", arguments='{"tenant": "tenant-2"}')], caller=ONE)
    assert kind(result) == "invalid_args"


def test_the_value_is_validated_and_no_message_contains_it(executor: Executor) -> None:
    result = executor.run("orders", {}, caller={"sub": "x; rm -rf /"})
    assert kind(result) == "denied"
    assert result.text == "'sub' of the caller is not valid for 'tenant' of the tool 'orders'"


@pytest.mark.parametrize("caller", ["tenant-1", ["sub"], {"sub": 1}, {1: "a"}, {"sub": "\ud800"}])
def test_other_forms_of_caller_are_refused(executor: Executor, caller: Any) -> None:
    with pytest.raises(UsageError, match="caller"):
        executor.run("orders", {}, caller=caller)


def test_steps_have_the_caller_of_the_composite(executor: Executor) -> None:
    result = executor.run("twice", {}, caller=ONE)
    assert result.text == "a: tenant-1 open\nb: tenant-1 done\n"
    assert kind(executor.run("twice", {})) == "denied"


def test_another_attempt_has_the_same_caller(executor: Executor) -> None:
    result = executor.run("orders", {"state": "fail"}, caller=ONE)
    attempts = result.details["attempts"]
    assert (kind(result), isinstance(attempts, list) and len(attempts)) == ("exit_status", 2)


def test_a_confirmation_sees_the_value_and_cannot_change_it(executor: Executor) -> None:
    def confirm(edits: JsonObject) -> ToolResult:
        def decide(call: BoundCall) -> Allow:
            assert call.arguments["tenant"] == "tenant-1"
            return Allow({**call.arguments, **edits})

        return executor.run("wipe", {}, caller=ONE, confirm=decide)

    assert confirm({"state": "done"}).text == "tenant-1 done"
    assert kind(confirm({"tenant": "tenant-2"})) == "denied"


def test_concurrent_calls_do_not_mix_callers(executor: Executor) -> None:
    found: dict[int, str] = {}

    def call(number: int) -> None:
        found[number] = executor.run("twice", {}, caller={"sub": f"tenant-{number}"}).text

    threads = [threading.Thread(target=call, args=[number]) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {n: f"a: tenant-{n} open\nb: tenant-{n} done\n" for n in range(16)}


def test_a_registry_file_keeps_it(executor: Executor, tmp_path: Path) -> None:
    file = registry_of([*executor.registry], {})
    (tmp_path / "registry.json").write_bytes(
        registry_bytes(replace(file, tools=tuple(sorted(file.tools, key=name_of))))
    )
    with Executor(Registry.load(tmp_path / "registry.json"), engine=FakeEngine(echo)) as other:
        assert other.run("orders", {}, caller=ONE).text == "tenant-1 open"
        assert kind(other.run("orders", {})) == "denied"


def test_a_value_is_that_of_its_own_claim(executor: Executor) -> None:
    claims = {"name": "tenant-0", "sub": "tenant-1", "tenant": "tenant-2"}
    assert executor.run("orders", {}, caller=claims).text == "tenant-1 open"
