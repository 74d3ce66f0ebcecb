"""Calls that connect to local servers: the spec, the sandbox, and what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest
from clients_image import clients_image
from configurations import CONFIGURATIONS, Configuration
from local_servers import Servers

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.client.serialization import result_to_json
from toolc.config.user_config import Configuration as UserConfiguration
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.runtime.egress.polling import ResolvedHost
from toolc.sandbox.base import Engine

CA: Final = 'printf %s "$CA" >/tmp/ca.pem\n'
"""The line of a script that leaves the servers' authority in a file."""

everywhere = pytest.mark.parametrize("name", list(CONFIGURATIONS))
"""For a test that takes the ``name`` of a configuration: on each."""


class Call:
    """Runs a script in a sandbox that may connect to ``allow``, and the servers' own addresses by name."""

    def __init__(self, folder: Path, there: Servers) -> None:
        self.folder = folder
        self.there = there

    def __call__(self, name: str, script: str, *allow: str, literals: bool = True) -> JsonObject:
        configuration = available(name)
        ports = (self.there.http, self.there.https, self.there.database, self.there.banner)
        named = [f"127.0.0.1:{port}" for port in ports] if literals else []
        image = clients_image(name)
        sandbox: JsonObject = {
            "network": {"allow": [*allow, *named]},
            "env": {"CA": self.there.authority},
            **configuration.sandbox,
            **({"image": image} if image else {}),
        }
        spec: JsonObject = {
            "toolc": 1,
            "name": "client",
            "description": "Reach a server, to show how. Use it in the conformance suite and nowhere else.",
            "parameters": {},
            "backend": {"shell": {"script": script}},
            "sandbox": sandbox,
        }
        return run(configuration, spec, self.folder)


def available(name: str) -> Configuration:
    configuration = CONFIGURATIONS[name]
    if reason := configuration.lacks():
        pytest.skip(reason)
    return configuration


def run(configuration: Configuration, spec: JsonObject, folder: Path) -> JsonObject:
    path = folder / "spec.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    registry = Registry.load(path)

    def work(engine: Engine) -> JsonValue:
        executor = Executor(registry, engine=engine, configuration=UserConfiguration())
        return result_to_json(executor.run("client", {}))

    found = configuration.run(work)
    assert isinstance(found, dict)
    return found


def look_up(host: str) -> ResolvedHost:
    """In place of the resolver: names below ``toolc.test`` lead to this machine, and others nowhere."""
    return (
        ResolvedHost(host, ("127.0.0.1",))
        if host.endswith(".toolc.test")
        else ResolvedHost(host, reason="no such name")
    )


def text(result: JsonObject) -> str:
    """What a tool said that did not fail."""
    assert not result["is_error"], result["content"]
    return said(result)


def said(result: JsonObject) -> str:
    """What a tool said."""
    content = result["content"]
    assert isinstance(content, list)
    return "".join(str(block["text"]) for block in content if isinstance(block, dict))


def network(result: JsonObject) -> list[JsonObject]:
    details = result["details"]
    assert isinstance(details, dict)
    found = details.get("network", [])
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]
