"""Definitions within the limits of a provider, and what belongs to a request."""

from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from models.provider_cases import tool

from toolc import Executor, Registry, UsageError
from toolc.client.definitions import definitions_for, limit_problem
from toolc.model.names import PROVIDER_NAMES
from toolc.providers.provider_limits import limits_of

MANY = tuple(tool(f"tool_{number:03}") for number in range(130))


def limited(monkeypatch: pytest.MonkeyPatch, provider: str, name: str, value: int) -> None:
    monkeypatch.setitem(limits_of(provider), name, replace(limits_of(provider)[name], value=value))


def unused() -> NoReturn:
    raise AssertionError("it takes long to load the tools")


def test_too_many_tools_for_a_provider_are_an_error_that_says_how_to_split_them() -> None:
    message = (
        r"openai_chat does not accept 130 tools in one request \(at most 128, as of 2025-11-29\); "
        r"define at least 2 toolsets of up to 65 tools in the project file, and use registry.toolset\(NAME\)"
    )
    with pytest.raises(UsageError, match=message):
        definitions_for("openai_chat", MANY, {})


def test_the_number_of_tools_per_toolset_is_enough_for_all_tools() -> None:
    many = tuple(tool(f"tool_{number:03}") for number in range(257))
    with pytest.raises(UsageError, match="define at least 3 toolsets of up to 86 tools"):
        definitions_for("openai_chat", many, {})


def test_the_error_names_the_toolsets_that_fit() -> None:
    names = [each.name for each in MANY]
    toolsets = {"most": names[:129], "some": names[:3], "one": names[-1:], "others": ["unknown"]}
    with pytest.raises(UsageError, match=r"use a toolset that fits, .*: one \(tools: 1\), some \(tools: 3\)$"):
        definitions_for("openai_chat", MANY, toolsets)


def test_a_build_has_no_problem_if_every_toolset_fits() -> None:
    names = [each.name for each in MANY]
    fitting, others = ({"first": names[:each], "second": names[each:]} for each in (100, 129))
    assert limit_problem("openai_chat", names, 0, fitting, lambda: MANY) == ""
    assert limit_problem("openai_chat", names[:128], 0, {}, unused) == ""
    too_large = limit_problem("openai_chat", names, 0, others, lambda: MANY)
    assert too_large.endswith("use a toolset that fits, with registry.toolset(NAME): second (tools: 1)")


def test_a_limit_of_one_provider_does_not_affect_the_others() -> None:
    for name in PROVIDER_NAMES:
        if "tools" not in limits_of(name) or limits_of(name)["tools"].value >= len(MANY):
            assert definitions_for(name, MANY, {})


def test_a_long_name_and_a_large_request_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, "gemini", "name_length", 7)
    with pytest.raises(UsageError, match=r"8 characters in a tool's name .*; give the tool 'tool_000' a shorter name"):
        definitions_for("gemini", MANY[:1], {})
    limited(monkeypatch, "anthropic", "size", 1000)
    with pytest.raises(UsageError, match=r"bytes of definitions in one request .*define at least 18 toolsets"):
        definitions_for("anthropic", MANY, {})


def test_an_executor_and_a_registry_apply_the_limits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    registry = Registry.builtin("coding")
    limited(monkeypatch, "openai_responses", "tools", 1)
    with pytest.raises(UsageError, match="openai_responses does not accept"):
        registry.definitions("openai_responses")
    with Executor(registry, workspace=tmp_path) as executor:
        with pytest.raises(UsageError, match="openai_responses does not accept"):
            executor.definitions("openai_responses")
        assert executor.definitions("anthropic") == registry.definitions("anthropic")


def test_a_build_has_a_problem_if_its_definitions_are_too_large() -> None:
    size = limits_of("anthropic")["size"].value
    assert limit_problem("anthropic", ["look"], size, {}, unused) == ""
    assert "33554433 bytes of definitions" in limit_problem("anthropic", ["look"], size + 1, {}, unused)


def test_an_unknown_provider_is_an_error() -> None:
    with pytest.raises(UsageError, match="there is no provider 'openai'"):
        Registry().request_options("openai")
