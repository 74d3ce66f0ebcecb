"""Agents of LangChain (on LangGraph) with tools in sandboxes and a scripted model."""

import asyncio
import base64
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from calls.framework_tools import (
    COUNT,
    COUNT_DESCRIPTION,
    NESTED,
    PNG,
    SIZE,
    TOOLS,
    WAIT,
    echoing,
    executor_of,
    failing,
)
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command

from toolc import Allow, Executor, SandboxDiedError
from toolc.adapters import langchain
from toolc.providers.json_schema.portable import portable

ASK: Any = {"messages": [{"role": "user", "content": "How many words are in notes.md?"}]}


class Scripted(BaseChatModel):
    """Says the messages of ``script``, in order."""

    script: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> BaseChatModel:
        for tool in tools:
            convert_to_openai_tool(tool)
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        said = [each for each in messages if isinstance(each, AIMessage)]
        return ChatResult(generations=[ChatGeneration(message=self.script[len(said)])])


def asking(*calls: tuple[str, dict[str, Any]]) -> Scripted:
    """Return a model that makes these calls in one message, and then ends the conversation."""
    made: Any = [{"name": name, "args": args, "id": f"id_{index}"} for index, (name, args) in enumerate(calls, 1)]
    return Scripted(script=[AIMessage("", tool_calls=made), AIMessage("Done.")])


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    assert state["messages"][-1].content == "Done."
    return [each for each in state["messages"] if isinstance(each, ToolMessage)]


@pytest.mark.needs_engine
def test_an_agent_calls_a_tool_in_a_sandbox(executor: Executor) -> None:
    agent = create_agent(asking(("count_words", {"path": "notes.md"})), tools=langchain.tools(executor))
    [answer] = answers(agent.invoke(ASK))
    assert (answer.content, answer.status, answer.tool_call_id) == ("2 notes.md\n", "success", "id_1")
    assert answer.artifact["details"]["exit_status"] == 0


@pytest.mark.needs_engine
def test_an_asynchronous_agent_makes_three_calls_and_one_fails(executor: Executor) -> None:
    calls: Any = [("count_words", {"path": path}) for path in ("notes.md", "missing.md", "./notes.md")]
    agent = create_agent(asking(*calls), tools=langchain.tools(executor))
    found = answers(asyncio.run(agent.ainvoke(ASK)))
    assert [each.tool_call_id for each in found] == ["id_1", "id_2", "id_3"]
    assert [each.status for each in found] == ["success", "error", "success"]
    assert "missing.md: No such file" in str(found[1].content)
    assert found[2].content == "2 ./notes.md\n"


@pytest.mark.needs_engine
def test_a_picture_is_a_block_that_a_model_can_see(executor: Executor) -> None:
    [answer] = answers(create_agent(asking(("draw", {})), tools=langchain.tools(executor)).invoke(ASK))
    assert answer.content == [{"type": "image", "base64": base64.b64encode(PNG).decode(), "mime_type": "image/png"}]


def test_names_descriptions_and_schemas_are_those_of_the_specs(tmp_path: Path) -> None:
    found = {tool.name: tool for tool in langchain.tools(executor_of(tmp_path))}
    assert {name: tool.description for name, tool in found.items()} == {
        tool["name"]: tool["description"] for tool in TOOLS
    }
    assert found["nested"].args_schema == portable(NESTED)[0]
    sent = convert_to_openai_tool(found["nested"])["function"]["parameters"]
    assert sent["properties"]["list"]["properties"]["value"] == {"type": "integer", "minimum": 1}
    assert sent["properties"]["size"] == SIZE


def test_parameters_may_have_names_that_functions_reserve(tmp_path: Path) -> None:
    arguments = {"list": {"value": 1}, "size": "small", "config": "abc", "run_manager": ["x"]}
    tools = {tool.name: tool for tool in langchain.tools(executor_of(tmp_path, engine=echoing()))}
    call: Any = {"name": "nested", "args": arguments, "id": "1", "type": "tool_call"}
    assert tools["nested"].invoke(call).artifact["structured"] == arguments
    assert asyncio.run(tools["nested"].ainvoke(call)).artifact["structured"] == arguments


def test_invalid_arguments_are_an_error_for_the_model(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing())
    agent = create_agent(asking(("count_words", {"file": "a"})), tools=langchain.tools(executor))
    [answer] = answers(agent.invoke(ASK))
    assert answer.status == "error"
    assert "path" in str(answer.content)


def test_the_executor_confirms_calls(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing(), confirm=lambda _: Allow())
    model = asking(("delete_all", {"reason": "cleaning"}))
    assert answers(create_agent(model, tools=langchain.tools(executor)).invoke(ASK))[0].status == "success"


def test_calls_without_anyone_to_confirm_them_are_denied(tmp_path: Path) -> None:
    model = asking(("delete_all", {"reason": "cleaning"}))
    agent = create_agent(model, tools=langchain.tools(executor_of(tmp_path, engine=echoing())))
    assert "must be confirmed" in str(answers(agent.invoke(ASK))[0].content)


def test_a_failure_of_the_sandbox_ends_the_run(tmp_path: Path) -> None:
    tools = langchain.tools(executor_of(tmp_path, engine=failing()))
    with pytest.raises(SandboxDiedError):
        create_agent(asking(("draw", {})), tools=tools).invoke(ASK)


@pytest.mark.needs_engine
def test_a_cancelled_task_ends_its_call(tmp_path: Path) -> None:
    with executor_of(tmp_path, tools=[WAIT]) as executor:
        [tool] = langchain.tools(executor)
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(tool.ainvoke({"seconds": "240"}), 3))
        assert time.monotonic() - started < 200


def test_a_graph_of_its_own_calls_tools(tmp_path: Path) -> None:
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(langchain.tools(executor_of(tmp_path, engine=echoing()))))
    graph.add_edge(START, "tools")
    call: Any = {"name": "count_words", "args": {"path": "notes.md"}, "id": "id_1"}
    state = graph.compile().invoke({"messages": [AIMessage("", tool_calls=[call])]})
    assert state["messages"][-1].content == "wc -w -- notes.md"


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_the_middleware_of_langchain_can_ask_before_calls(tmp_path: Path, decision: str) -> None:
    tools = langchain.tools(executor_of(tmp_path, engine=echoing(), confirm=lambda _: Allow()))
    agent = create_agent(
        asking(("delete_all", {"reason": "cleaning"})),
        tools=tools,
        middleware=[HumanInTheLoopMiddleware(interrupt_on={"delete_all": True})],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    assert "__interrupt__" in agent.invoke(ASK, config)
    [answer] = answers(agent.invoke(Command(resume={"decisions": [{"type": decision}]}), config))
    assert ("deleted: " in str(answer.content)) == (decision == "approve")


def test_denied_tools_are_left_out(tmp_path: Path) -> None:
    executor = executor_of(tmp_path)
    executor.deny("delete_all", "draw")
    assert [tool.name for tool in langchain.tools(executor)] == ["count_words", "nested"]


def test_a_description_contains_the_result_schema(tmp_path: Path) -> None:
    with executor_of(tmp_path, tools=[COUNT], engine=echoing()) as executor:
        [tool] = langchain.tools(executor)
    assert tool.description == COUNT_DESCRIPTION
