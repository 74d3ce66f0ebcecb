"""What the catalog says about each tool."""

from dataclasses import replace
from typing import Any, cast

import pytest
from calls.fake_tools import registry, tool

from toolc.client.registry import Registry
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.lock_file import Lock, lock_tools
from toolc.model.names import PROVIDER_NAMES
from toolc.model.spec.sandbox import Destination, NetworkSpec, SandboxSpec
from toolc.model.spec.tool import Test
from toolc.runtime.execution.admission import ReviewedTools
from toolc.serve.page.catalog import Catalog, TokenEstimates

READ = replace(tool("read", workspace="ro", path={"type": "string"}), tags=("files",), tests=(Test(), Test(), Test()))
HOST = Destination(kind="exact", host="api.example.com", port=443)
FETCH = replace(
    tool("fetch"), sandbox=SandboxSpec(network=NetworkSpec(allow=(HOST,))), confirm=True, deprecated="Use read"
)


def catalog(tools: Registry, **more: Any) -> Catalog:
    registered = [tools.registered(name) for name in tools.names]
    return Catalog(tools=registered, others=ReviewedTools(tools.called), **{"toolsets": {}} | more)


def locked(tools: Registry) -> Lock:
    return lock_tools([tools.registered(name) for name in tools.names], lambda _: (None, ()), "toolc.lock", "any")


def listed(shown: Catalog, provider: str = "anthropic") -> dict[str, Any]:
    tools = cast("list[Any]", shown.to_json(TokenEstimates(), provider)["tools"])
    return {each["name"]: each for each in tools}


def test_each_tool_is_listed_with_its_permissions_marks_and_toolsets() -> None:
    tools = listed(catalog(registry(READ, FETCH), toolsets={"web": ["fetch"]}, denied={"read"}))
    assert tools["fetch"]["grants"] == {
        "hosts": ["api.example.com:443"], "secrets": [], "workspaces": [], "tools": [],
    }  # fmt: skip
    assert tools["read"]["grants"]["workspaces"] == ["ro"]
    assert {name: (each["confirm"], each["deprecated"], each["denied"]) for name, each in tools.items()} == {
        "fetch": (True, "Use read", False),
        "read": (False, None, True),
    }
    assert [tools["fetch"]["toolsets"], tools["read"]["tags"]] == [["web"], ["files"]]


def test_tokens_are_those_of_the_provider() -> None:
    shown = catalog(registry(READ))
    counted = {name: listed(shown, name)["read"]["tokens"] for name in PROVIDER_NAMES}
    entry = cast("Any", shown.entry(TokenEstimates(), "read"))
    assert counted == {name: entry["providers"][name]["tokens"] for name in PROVIDER_NAMES}
    assert len(set(counted.values())) > 1


def test_a_tool_that_differs_from_the_lock_file_is_marked() -> None:
    approved = registry(READ, FETCH, tool("same"))
    now = registry(replace(READ, description="Another text."), replace(FETCH, confirm=False), tool("same"), tool("new"))
    states = {name: each["lock"] for name, each in listed(catalog(now, lock=locked(approved))).items()}
    assert states == {"read": "changed", "fetch": "changed", "same": "approved", "new": "new"}
    assert listed(catalog(now))["same"]["lock"] is None


def test_results_of_another_version_of_the_tool_are_outdated() -> None:
    now = registry(READ).registered("read")
    digests: JsonObject = {"surface": now.surface_digest, "effect": now.effect_digest}
    result: JsonObject = {"number": 1, "outcome": "passed", "digests": digests}
    other: JsonObject = {"number": 2, "outcome": "failed", "digests": digests | {"effect": "sha256:other"}}
    shown = catalog(registry(READ), results={"read": [result, other]})
    assert listed(shown)["read"]["outcomes"] == ["passed", "outdated", "unknown"]
    entry = cast("Any", shown.entry(TokenEstimates(), "read"))
    assert (entry["results"], entry["digests"]) == ([result, other], digests)


def test_an_entry_has_the_definition_of_each_provider_with_its_losses() -> None:
    shown = cast("Any", catalog(registry(READ)).entry(TokenEstimates(), "read"))
    assert [*shown["providers"]] == [*PROVIDER_NAMES]
    gemini = shown["providers"]["gemini"]
    assert gemini["definition"]["name"] == "read"
    assert {"pointer", "action", "message", "sdk"} == set(gemini["losses"][0])
    assert shown["programs"] == [{"path": "t.py", "text": ""}]
    assert shown["permissions"]["workspaces"] == [{"value": "ro", "by": [""]}]


def test_an_alias_leads_to_its_tool_and_another_name_to_none() -> None:
    shown = catalog(registry(replace(READ, aliases=("cat",))))
    assert cast("Any", shown.entry(TokenEstimates(), "cat"))["name"] == "read"
    with pytest.raises(UsageError, match="there is no tool 'missing'"):
        shown.entry(TokenEstimates(), "missing")


def test_a_definition_is_lowered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens, shown = TokenEstimates(), catalog(registry(READ))
    entry = cast("Any", shown.entry(tokens, "read"))
    monkeypatch.setattr("toolc.serve.page.catalog.load_provider", None)
    assert (
        cast("Any", shown.to_json(tokens, "anthropic"))["tools"][0]["tokens"]
        == entry["providers"]["anthropic"]["tokens"]
    )
