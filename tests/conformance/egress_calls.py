"""Calls that connect to local servers: the spec, the sandbox, and the result."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from clients_image import clients_image
from conformance_case import Case
from engines.configurations import CONFIGURATIONS, Configuration, available
from local_servers import Servers

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.client.serialization import result_to_json
from toolc.config.configuration import Configuration as UserConfiguration
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.polling import ResolvedHost
from toolc.sandbox.interface import Engine

CA: Final = 'printf %s "$CA" >/tmp/ca.pem\n'
"""The line of a script that writes the certificate of the servers' authority to a file."""

everywhere = pytest.mark.parametrize("name", list(CONFIGURATIONS))
"""Runs a test with the argument ``name`` in each configuration."""


class Call:
    """Runs a script in a sandbox that may connect to ``allow``, and to the addresses of the servers."""

    def __init__(self, folder: Path, there: Servers) -> None:
        self.folder = folder
        self.there = there

    def __call__(self, name: str, script: str, *allow: str, literals: bool = True) -> JsonObject:
        configuration = available(name)
        ports = (self.there.http, self.there.https, self.there.database, self.there.banner)
        named = [f"127.0.0.1:{port}" for port in ports] if literals else []
        image = clients_image(name)
        sandbox: JsonObject = {"network": {"allow": [*allow, *named]}, "env": {"CA": self.there.authority}}
        image_key: JsonObject = {"image": image} if image else {}
        return run(configuration, {"shell": {"script": script}}, sandbox | image_key, self.folder)


def run(
    configuration: Configuration,
    backend: JsonObject,
    sandbox: JsonObject,
    folder: Path,
    *,
    args: JsonObject | None = None,
    cancel_at: str = "",
) -> JsonObject:
    """Return the result of a call of this backend, cancelled when its output contains ``cancel_at``."""
    case = Case("a client connects", backend, {}, sandbox=sandbox, args=args or {})
    path = folder / "spec.yaml"
    path.write_text(case.spec(configuration.sandbox), encoding="utf-8")
    registry = Registry.load(path)

    def work(engine: Engine) -> JsonValue:
        # Without an image, the clients are programs of the host.
        with (
            Cancellation() as cancellation,
            Executor(registry, engine=engine, configuration=UserConfiguration(host_programs=True)) as executor,
        ):

            def on_event(event: Event) -> None:
                if cancel_at and isinstance(event, ToolUpdate) and cancel_at in (event.text or event.message):
                    cancellation.cancel()

            return result_to_json(executor.run(case.tool, {**case.args}, on_event=on_event, cancellation=cancellation))

    found = configuration.run(work)
    assert isinstance(found, dict)
    return found


def look_up(host: str) -> ResolvedHost:
    """Resolve names below ``toolc.test`` to this machine and no others; replaces the system's resolver."""
    return (
        ResolvedHost(host, ("127.0.0.1",))
        if host.endswith(".toolc.test")
        else ResolvedHost(host, reason="no such name")
    )


def text(result: JsonObject) -> str:
    """Return the output of a tool that succeeded."""
    assert not result["is_error"], result["content"]
    return output(result)


def output(result: JsonObject) -> str:
    content = result["content"]
    assert isinstance(content, list)
    return "".join(str(block["text"]) for block in content if isinstance(block, dict))


def network(result: JsonObject) -> list[JsonObject]:
    details = result["details"]
    assert isinstance(details, dict)
    found = details.get("network", [])
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]
