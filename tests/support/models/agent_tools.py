"""A sub-agent for tests: a spec of a few lines, called with a scripted model behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calls.scripted_tools import captured

from models.scripted_model import Answer, OpenAISpeech, ScriptedModel, Speech
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.call import Confirm
from toolc.model.events import Listener
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Exec, Plan
from toolc.model.result import Outcome, ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.interface import Engine
from toolc.testing.fake_engine import FakeEngine

KEY = "sk-correct-horse-battery-staple"
SAY: JsonObject = {
    "name": "say",
    "description": "Say these words aloud. Use it for words and nothing else at all.",
    "parameters": {"words": {"type": "string", "description": "The words"}},
    "backend": {"shell": {"argv": ["printf", "--", "%s", "{{ words }}"]}},
}
"""A tool whose result are its words."""


def agent_tool(model: ScriptedModel, agent: JsonObject | None = None, **keys: JsonValue) -> JsonObject:
    """Return the agent ``helper`` with the model ``model``; keyword arguments replace its other fields."""
    backend: JsonObject = {
        "provider": model.speech.provider,
        "model": "scripted",
        "base_url": model.base_url,
        "api_key": "{{ secrets.KEY }}",
        "instructions": "You help.",
        "tools": ["say"],
    }
    tool: JsonObject = {
        "name": "helper",
        "description": "Answer a question. Use it for all that takes some thought.",
        "parameters": {"question": {"type": "string", "description": "The question"}},
        "backend": {"agent": {key: value for key, value in (backend | (agent or {})).items() if value is not None}},
        "sandbox": {"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}},
    }
    return tool | keys


def composite_tool(name: str, *steps: JsonObject, parameters: JsonValue = None) -> JsonObject:
    """Return a tool that calls these steps one after the other."""
    return {
        "name": name,
        "description": "Call the other tools in their order. Use it where one is not enough.",
        "parameters": parameters or {},
        "backend": {"composite": {"strategy": "sequential", "steps": [*steps]}},
    }


def registry_of(folder: Path, *tools: JsonObject) -> Registry:
    path = folder / "tools.yaml"
    path.write_text(json.dumps({"toolc": 1, "tools": [*tools]}))
    return Registry.load(path)


def echoing(plan: Plan) -> Outcome:
    assert isinstance(plan.invocation, Exec)
    output = plan.invocation.argv[-1].encode()
    return Outcome(ending="exited", stdout=captured(output))


def executor_of(
    registry: Registry,
    engine: Engine | str | None = None,
    script: Callable[[Plan], Outcome] = echoing,
    timeout: float | None = None,
    secrets: SecretStore | None = None,
) -> Executor:
    """Return an executor with the key; without an engine, calls run ``script``."""
    secrets = secrets or SecretStore({"KEY": LiteralSource(KEY)}, {})
    return Executor(registry, engine=engine or FakeEngine(script), secrets=secrets, timeout=timeout)


def ask_helper(
    model: ScriptedModel,
    folder: Path,
    *,
    agent: JsonObject | None = None,
    tools: tuple[JsonObject, ...] = (SAY,),
    on_event: Listener | None = None,
    cancellation: Cancellation | None = None,
    confirm: Confirm | None = None,
    arguments: JsonObject | None = None,
    script: Callable[[Plan], Outcome] = echoing,
    timeout: float | None = None,
    engine: Engine | str | None = None,
    **keys: JsonValue,
) -> ToolResult:
    registry = registry_of(folder, agent_tool(model, agent, **keys), *tools)
    with executor_of(registry, engine, script, timeout) as executor:
        given: JsonObject = {"question": "why?"} if arguments is None else arguments
        return executor.run("helper", given, call_id="c", on_event=on_event, cancellation=cancellation, confirm=confirm)


def converse(
    folder: Path, *answers: Answer, speech: Speech | None = None, **options: Any
) -> tuple[ToolResult, ScriptedModel]:
    """Ask the helper, whose model gives ``answers``. Return the result, and the model with its requests."""
    with ScriptedModel(speech=speech or OpenAISpeech(), script=[*answers]) as model:
        return ask_helper(model, folder, **options), model


def agent_details(result: ToolResult) -> JsonObject:
    details = result.details["agent"]
    assert isinstance(details, dict)
    return details
