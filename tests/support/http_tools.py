"""HTTP tools for tests: a spec of a few lines, called against a server of the test's own."""

from __future__ import annotations

import json
from pathlib import Path

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult
from toolc.sandbox.base import Engine


def http_spec(
    http: JsonObject,
    *,
    parameters: JsonObject | None = None,
    result: JsonObject | None = None,
    sandbox: JsonObject | None = None,
) -> str:
    """The text of a spec with this backend."""
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
    """Compile ``spec`` in ``folder`` and call it."""
    path = folder / "ask.json.yaml"
    path.write_text(spec)
    store = SecretStore({name: LiteralSource(value) for name, value in (secrets or {}).items()}, {})
    registry = Registry.load(path)
    with Executor(registry, engine=engine, secrets=store, workspace=workspace, timeout=timeout) as executor:
        return executor.run("ask", arguments or {})


def failed(result: ToolResult) -> tuple[JsonValue, str]:
    """The kind and the message of an error."""
    assert result.error is not None, result
    return result.error.kind, result.error.message
