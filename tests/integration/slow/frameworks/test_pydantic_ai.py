"""Agents of Pydantic AI with tools in sandboxes and a scripted model."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from calls.framework_tools import COUNT, COUNT_DESCRIPTION, NESTED, PNG, TOOLS, echoing, executor_of, failing
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolDenied,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from toolc import Allow, Executor, SandboxDiedError
from toolc.adapters import pydantic_ai
from toolc.providers.json_schema.portable import portable


def asking(*calls: tuple[str, dict[str, Any]], seen: list[AgentInfo] | None = None) -> FunctionModel:
    """Return a model that makes these calls in one message, and then ends the conversation."""

    def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(info)
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse(parts=[TextPart("Done.")])
        made = [ToolCallPart(name, args, tool_call_id=f"id_{index}") for index, (name, args) in enumerate(calls, 1)]
        return ModelResponse(parts=[*made])

    return FunctionModel(respond)


def agent_of(model: FunctionModel, executor: Executor) -> Agent[None, str]:
    return Agent(model, tools=pydantic_ai.tools(executor))


def answers(messages: list[ModelMessage]) -> dict[str, ToolReturnPart]:
    """Return what the model received for each call, by the id of the call."""
    parts = [part for message in messages for part in message.parts]
    return {part.tool_call_id: part for part in parts if isinstance(part, ToolReturnPart)}


@pytest.mark.needs_engine
def test_an_agent_calls_a_tool_in_a_sandbox(executor: Executor) -> None:
    result = agent_of(asking(("count_words", {"path": "notes.md"})), executor).run_sync("Please help.")
    answer = answers(result.all_messages())["id_1"]
    assert (result.output, answer.content, answer.outcome) == ("Done.", "2 notes.md\n", "success")
    assert answer.metadata["details"]["exit_status"] == 0


@pytest.mark.needs_engine
def test_an_asynchronous_agent_makes_three_calls_and_one_fails(executor: Executor) -> None:
    calls = [("count_words", {"path": path}) for path in ("notes.md", "missing.md", "./notes.md")]
    result = asyncio.run(agent_of(asking(*calls), executor).run("Please help."))
    found = answers(result.all_messages())
    assert list(found) == ["id_1", "id_2", "id_3"]
    assert [each.outcome for each in found.values()] == ["success", "failed", "success"]
    assert "missing.md: No such file" in str(found["id_2"].content)
    assert found["id_3"].content == "2 ./notes.md\n"


@pytest.mark.needs_engine
def test_a_picture_is_content_that_a_model_can_see(executor: Executor) -> None:
    result = agent_of(asking(("draw", {})), executor).run_sync("Draw.")
    assert answers(result.all_messages())["id_1"].content == [BinaryContent(PNG, media_type="image/png")]
    assert result.all_messages_json()


def test_names_descriptions_and_schemas_are_those_of_the_specs(tmp_path: Path) -> None:
    seen: list[AgentInfo] = []
    agent_of(asking(("draw", {}), seen=seen), executor_of(tmp_path, engine=echoing())).run_sync("Draw.")
    found = {tool.name: tool for tool in seen[0].function_tools}
    assert {name: tool.description for name, tool in found.items()} == {
        tool["name"]: tool["description"] for tool in TOOLS
    }
    assert found["nested"].parameters_json_schema == portable(NESTED)[0]


def test_a_model_corrects_invalid_arguments(tmp_path: Path) -> None:
    model = asking(("count_words", {"file": "a"}))
    result = agent_of(model, executor_of(tmp_path, engine=echoing())).run_sync("Please help.")
    answer = answers(result.all_messages())["id_1"]
    assert answer.outcome == "retried"
    assert "path" in str(answer.content)


@pytest.mark.parametrize("approves", [True, False])
def test_a_call_to_confirm_is_deferred(tmp_path: Path, approves: bool) -> None:
    model = asking(("delete_all", {"reason": "cleaning"}))
    tools = pydantic_ai.tools(executor_of(tmp_path, engine=echoing()))
    agent = Agent(model, tools=tools, output_type=[str, DeferredToolRequests])
    first = agent.run_sync("Delete all.")
    assert isinstance(first.output, DeferredToolRequests)
    [request] = first.output.approvals
    decision = DeferredToolResults(approvals={request.tool_call_id: True if approves else ToolDenied("no")})
    second = agent.run_sync(message_history=first.all_messages(), deferred_tool_results=decision)
    answer = answers(second.all_messages())["id_1"]
    assert second.output == "Done."
    assert ("deleted: " in str(answer.content)) == approves


def test_the_executor_confirms_calls_if_it_can(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing(), confirm=lambda _: Allow())
    result = agent_of(asking(("delete_all", {"reason": "cleaning"})), executor).run_sync("Delete all.")
    assert "deleted: " in str(answers(result.all_messages())["id_1"].content)


def test_a_failure_of_the_sandbox_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(SandboxDiedError):
        agent_of(asking(("draw", {})), executor_of(tmp_path, engine=failing())).run_sync("Draw.")


def test_a_description_contains_the_result_schema(tmp_path: Path) -> None:
    [tool] = pydantic_ai.tools(executor_of(tmp_path, tools=[COUNT], engine=echoing()))
    assert tool.description == COUNT_DESCRIPTION
