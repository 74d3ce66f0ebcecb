"""Agents of smolagents with tools in sandboxes and a scripted model."""

import json
from pathlib import Path
from typing import Any

import pytest
from calls.framework_tools import COUNT, COUNT_DESCRIPTION, SIZE, TOOLS, echoing, executor_of, failing
from smolagents import AgentImage, ChatMessage, CodeAgent, MessageRole, Model, Tool, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, get_tool_json_schema

from toolc import Allow, Executor, UsageError
from toolc.adapters import smolagents
from toolc.model.json_schema import JsonObject


class Scripted(Model):
    """Says the messages of ``script``, in order. ``received`` are the messages of each request, as text."""

    def __init__(self, *script: ChatMessage) -> None:
        super().__init__(model_id="scripted")
        self.script = [*script]
        self.received: list[str] = []

    def generate(self, messages: list[ChatMessage], *_: Any, **__: Any) -> ChatMessage:
        blocks = [block for message in messages for block in message.content or [] if isinstance(block, dict)]
        self.received.append("\n".join(str(block.get("text")) for block in blocks))
        return self.script[len(self.received) - 1]


def asking(*calls: tuple[str, dict[str, Any]]) -> Scripted:
    """Return a model that makes these calls in one message, and then ends the conversation."""
    return Scripted(message(*calls), message(("final_answer", {"answer": "Done."})))


def message(*calls: tuple[str, dict[str, Any]]) -> ChatMessage:
    made = [
        ChatMessageToolCall(ChatMessageToolCallFunction(arguments, name), f"id_{index}", "function")
        for index, (name, arguments) in enumerate(calls, 1)
    ]
    return ChatMessage(MessageRole.ASSISTANT, "", made)


def run_agent(model: Scripted, executor: Executor) -> ToolCallingAgent:
    """Run an agent to its final answer."""
    agent = ToolCallingAgent(tools=smolagents.tools(executor), model=model, verbosity_level=0)
    assert agent.run("Please help.") == "Done."
    return agent


def tools_by_name(executor: Executor) -> dict[str, Tool]:
    return {tool.name: tool for tool in smolagents.tools(executor)}


@pytest.mark.needs_engine
def test_an_agent_makes_three_parallel_calls_in_sandboxes(executor: Executor) -> None:
    model = asking(*[("count_words", {"path": path}) for path in ("notes.md", "./notes.md", ".//notes.md")])
    run_agent(model, executor)
    assert "2 notes.md\n2 ./notes.md\n2 .//notes.md" in model.received[1]


@pytest.mark.needs_engine
def test_an_error_is_shown_to_the_model(executor: Executor) -> None:
    model = asking(("count_words", {"path": "missing.md"}))
    run_agent(model, executor)
    assert "ToolCallError: wc: missing.md: No such file" in model.received[1]


@pytest.mark.needs_engine
def test_a_program_of_a_code_agent_calls_tools(executor: Executor) -> None:
    program = """<code>
words = count_words("notes.md")
node = nested(list={"value": 1}, size="small")["list"]
final_answer([words, node, draw().size])
</code>"""
    model = Scripted(ChatMessage(MessageRole.ASSISTANT, program))
    agent = CodeAgent(tools=smolagents.tools(executor), model=model, verbosity_level=0)
    assert agent.run("Please help.") == ["2 notes.md\n", {"value": 1}, (1, 1)]


@pytest.mark.needs_engine
def test_a_picture_is_stored_in_the_memory_of_the_agent(executor: Executor) -> None:
    model = asking(("draw", {}))
    agent = run_agent(model, executor)
    assert "Stored 'image.png' in memory." in model.received[1]
    assert isinstance(agent.state["image.png"], AgentImage)


def test_names_and_descriptions_are_those_of_the_specs(tmp_path: Path) -> None:
    found = tools_by_name(executor_of(tmp_path))
    assert {name: tool.description for name, tool in found.items()} == {
        tool["name"]: tool["description"] for tool in TOOLS
    }


def test_a_hyphen_in_a_name_becomes_an_underscore(tmp_path: Path) -> None:
    tools = [{**TOOLS[0], "name": "count-words"}]
    assert list(tools_by_name(executor_of(tmp_path, tools=tools))) == ["count_words"]


@pytest.mark.parametrize(("name", "reason"), [("count-words", "also the name of another tool"), ("async", "a keyword")])
def test_a_name_that_cannot_be_a_function_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    executor = executor_of(tmp_path, tools=[TOOLS[0], {**TOOLS[0], "name": name}])
    with pytest.raises(UsageError, match=reason):
        smolagents.tools(executor)


def test_references_are_inlined_and_unions_are_kept(tmp_path: Path) -> None:
    sent = get_tool_json_schema(tools_by_name(executor_of(tmp_path))["nested"])["function"]["parameters"]
    assert sent["required"] == ["list", "size"]
    assert sent["properties"]["size"] == {"type": ["integer", "string"], "description": "", "allOf": [SIZE]}
    first = sent["properties"]["list"]
    assert first["description"] == "The first node"
    assert (first["required"], "additionalProperties" in first) == (["value"], False)
    assert first["properties"] == {
        "value": {"type": "integer", "minimum": 1},
        "next": {"description": "The same as the value that contains it (#/$defs/node)"},
    }


ANY = ["array", "boolean", "integer", "null", "number", "object", "string"]


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"enum": ["a", 1, 1.5]}, ["integer", "number", "string"]),
        ({"const": None}, "null"),
        ({"type": ["number", "null"]}, ["integer", "null", "number"]),
        ({"oneOf": [{"type": "array"}, {"const": True}]}, ["array", "boolean"]),
        ({"allOf": [{"type": ["string", "null"]}, {"type": "string"}]}, "string"),
        ({"description": "anything"}, ANY),
    ],
)
def test_each_parameter_has_the_types_of_its_values(tmp_path: Path, schema: JsonObject, types: object) -> None:
    parameters: JsonObject = {"type": "object", "properties": {"path": schema}, "required": ["path"]}
    tool: JsonObject = {**TOOLS[0], "parameters": parameters}
    found = tools_by_name(executor_of(tmp_path, tools=[tool]))["count_words"]
    assert json.loads(json.dumps(found.inputs))["path"]["type"] == types


def test_the_executor_confirms_calls(tmp_path: Path) -> None:
    executor = executor_of(tmp_path, engine=echoing(), confirm=lambda _: Allow())
    assert "deleted: " in tools_by_name(executor)["delete_all"](reason="cleaning")


def test_calls_without_anyone_to_confirm_them_are_denied(tmp_path: Path) -> None:
    with pytest.raises(smolagents.ToolCallError, match="must be confirmed"):
        tools_by_name(executor_of(tmp_path, engine=echoing()))["delete_all"](reason="cleaning")


def test_too_many_positional_arguments_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(smolagents.ToolCallError, match="count_words takes 1 arguments, not 2"):
        tools_by_name(executor_of(tmp_path, engine=echoing()))["count_words"]("a", "b")


def test_a_failure_of_the_sandbox_is_an_error_in_the_memory_of_the_agent(tmp_path: Path) -> None:
    model = asking(("draw", {}))
    run_agent(model, executor_of(tmp_path, engine=failing()))
    assert "SandboxDiedError: the sandbox exited" in model.received[1]


def test_a_description_contains_the_result_schema(tmp_path: Path) -> None:
    [tool] = smolagents.tools(executor_of(tmp_path, tools=[COUNT], engine=echoing()))
    assert tool.description == COUNT_DESCRIPTION
