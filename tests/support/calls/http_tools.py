"""Specs and calls of HTTP tools for tests, with fixtures for a server and a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from calls.scripted_server import Answer, ScriptedServer, reply
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.sandbox.interface import Engine
from toolc.sandbox.oci.engine import OciEngine

Ask: TypeAlias = Callable[..., ToolResult]
"""The fixture ``ask`` of the tests of HTTP tools."""

KEY_IN_HEADER: JsonObject = {"headers": {"X-Key": "{{ secrets.KEY }}"}}
KEY_OF_THIS_HOST: JsonObject = {"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}}


def http_spec(
    http: JsonObject,
    *,
    parameters: JsonObject | None = None,
    result: JsonObject | None = None,
    sandbox: JsonObject | None = None,
) -> str:
    spec: JsonObject = {
        "toolc": 1,
        "name": "ask",
        "description": "Ask the server of a test. Use it there and nowhere else at all.",
        "parameters": parameters or {},
        "backend": {"http": http},
        "result": result or {},
        "sandbox": sandbox or {},
        "annotations": {"open_world": True},
    }
    return json.dumps(spec)


def call_http(
    engine: Engine | str,
    folder: Path,
    spec: str,
    arguments: JsonObject | None = None,
    secrets: dict[str, str] | None = None,
    workspace: Path | None = None,
    timeout: float = 100,
) -> ToolResult:
    path = folder / "ask.json.yaml"
    path.write_text(spec)
    store = SecretStore({name: LiteralSource(value) for name, value in (secrets or {}).items()}, {})
    registry = Registry.load(path)
    with Executor(registry, engine=engine, secrets=store, workspace=workspace, timeout=timeout) as executor:
        return executor.run("ask", arguments or {})


def failed(result: ToolResult) -> tuple[JsonValue, str]:
    assert result.error is not None, result
    return result.error.kind, result.error.message


def text(result: ToolResult) -> str:
    assert not result.is_error, result
    return result.text


def redirect(to: str, status: int = 302) -> bytes:
    return reply(b"", status=status, Location=to)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def ask(engine: OciEngine, server: ScriptedServer, tmp_path: Path) -> Ask:
    """Call a tool that requests ``/`` from the server, which sends ``answer``. Return the result."""

    def ask(
        answer: Answer | bytes | None = None,
        *,
        http: JsonObject | None = None,
        result: JsonObject | None = None,
        sandbox: JsonObject | None = None,
        parameters: JsonObject | None = None,
        arguments: JsonObject | None = None,
        timeout: float = 100,
        secrets: dict[str, str] | None = None,
        workspace: Path | None = None,
    ) -> ToolResult:
        if answer is not None:
            server.answers["/"] = answer
        spec = http_spec(
            {"url": f"{server.url}/", **(http or {})}, result=result, sandbox=sandbox, parameters=parameters
        )
        return call_http(engine, tmp_path, spec, arguments, secrets, workspace, timeout)

    return ask
