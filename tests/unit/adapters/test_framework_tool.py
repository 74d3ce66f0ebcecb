"""What the adapters share: definitions, calls, approval, and the error for a missing framework."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from calls.framework_tools import COUNT, COUNT_DESCRIPTION, TOOLS, echoing, executor_of

from toolc import Allow, MissingExtraError, UsageError
from toolc.adapters.framework_tool import AdaptedTool, adapt
from toolc.model.json_schema import JsonObject

MODULES = {
    "google_adk": "google-adk",
    "inspect_ai": "inspect",
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai",
    "smolagents": "smolagents",
}
"""The adapters and their extras."""

CONFIRMED: JsonObject = {"reason": "cleaning"}

TWICE: JsonObject = {
    "name": "twice",
    "description": "Delete everything twice. Use it only if the user asks for it.",
    "parameters": {"reason": {"type": "string", "description": "Why"}},
    "confirm": True,
    "backend": {
        "composite": {
            "strategy": "sequential",
            "steps": [{"id": "first", "tool": "delete_all", "args": {"reason": "{{ reason }}"}}],
        }
    },
}


def adapted(folder: Path, name: str, *, tools: tuple[JsonObject, ...] = (), **options: object) -> AdaptedTool:
    executor = executor_of(folder, tools=[*TOOLS, *tools], engine=echoing(), **options)
    return next(tool for tool in adapt(executor, "mcp") if tool.spec.name == name)


def approved(tool: AdaptedTool, *, is_approved: bool = True) -> str:
    """Call ``tool`` and return the kind of its error; empty if it succeeded."""
    result = asyncio.run(tool.arun(CONFIRMED, is_approved=is_approved))
    return result.error.kind if result.error else ""


@pytest.mark.parametrize("provider", ["gemini", "mcp", "openai_responses"])
def test_each_tool_has_its_definition_for_the_provider(tmp_path: Path, provider: str) -> None:
    executor = executor_of(tmp_path, engine=echoing())
    tools = adapt(executor, provider)
    assert [tool.spec.name for tool in tools] == [tool.definition["name"] for tool in tools]
    assert [tool.spec.name for tool in tools] == ["count_words", "delete_all", "draw", "nested"]


def test_a_definition_is_not_shared_with_the_registry(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing())
    before = executor.definitions("mcp")
    for tool in adapt(executor, "mcp"):
        tool.definition["inputSchema"].clear()  # type: ignore[union-attr]  # each is an object
    assert executor.definitions("mcp") == before


def test_a_description_contains_the_result_schema(tmp_path: Path) -> None:
    assert adapted(tmp_path, "count", tools=(COUNT,)).description == COUNT_DESCRIPTION


def test_a_call_has_the_id_of_the_framework(tmp_path: Path) -> None:
    tool = adapted(tmp_path, "count_words")
    assert tool.run({"path": "a"}, call_id="c1").details["call_id"] == "c1"
    assert asyncio.run(tool.arun({"path": "a"}, call_id="c2")).details["call_id"] == "c2"


def test_a_framework_asks_its_user_unless_the_executor_can(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert adapted(tmp_path, "delete_all").needs_approval
    assert not adapted(tmp_path / "other", "delete_all", confirm=lambda _: Allow()).needs_approval


def test_only_an_approved_call_runs(tmp_path: Path) -> None:
    tool = adapted(tmp_path, "delete_all")
    assert approved(tool) == ""
    assert approved(tool, is_approved=False) == "denied"


def test_an_approval_is_not_one_of_the_calls_that_a_call_makes(tmp_path: Path) -> None:
    assert approved(adapted(tmp_path, "twice", tools=(TWICE,))) == "denied"


@pytest.mark.parametrize(("module", "extra"), MODULES.items())
def test_a_missing_framework_is_an_error_with_its_extra(module: str, extra: str) -> None:
    packages = ("agents", "google.adk", "langchain_core", "pydantic_ai", "smolagents")
    program = f"import sys\nsys.modules |= dict.fromkeys({packages})\nimport toolc.adapters.{module}"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    error = f"{MissingExtraError.__module__}.{MissingExtraError.__name__}: toolc.adapters.{module} needs packages"
    remedy = f"that are not installed; install them with: pip install 'toolc[{extra}]'"
    assert ended.stderr.splitlines()[-1] == f"{error} {remedy}"


def test_more_tools_than_a_provider_accepts_are_an_error(tmp_path: Path) -> None:
    tools = [{**TOOLS[0], "name": f"count_{number}"} for number in range(129)]
    with pytest.raises(UsageError, match="openai_responses does not accept 129 tools"):
        adapt(executor_of(tmp_path, tools=tools), "openai_responses")
