"""How each provider's calls are read from a response: its JSON, or the object of its SDK."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.model_responses import Asked, response
from models.sdk_objects import read_response
from schemas.random_json import with_one_change

from toolc import Executor, Registry, ToolCall, tool, tool_calls, tool_messages
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.providers.response_streams import STREAMING

ASKED = (Asked("c1", "look", '{"at": "moon"}'), Asked("c2", "list", ""))
CALLS = (
    ToolCall(name="look", arguments={"at": "moon"}, call_id="c1"),
    ToolCall(name="list", arguments={}, call_id="c2"),
)
NUMBERED = tuple(
    ToolCall(name=each.name, arguments=each.arguments, call_id=f"toolc_call_{at}") for at, each in enumerate(CALLS)
)
"""Ollama gives its calls no ids."""

MESSAGE = {
    "openai_chat": ("choices", 0, "message"), "openai_responses": (), "anthropic": (),
    "gemini": ("candidates", 0, "content"), "bedrock": ("output", "message"), "mistral": ("choices", 0, "message"),
    "cohere": ("message",), "ollama": ("message",),
}  # fmt: skip
"""The path of the message in a response, which is part of the conversation. It may be read instead of the response."""


def part(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = getattr(value, step) if isinstance(step, str) and not isinstance(value, dict) else value[step]
    return value


@pytest.mark.parametrize("provider", STREAMING)
def test_calls_are_read_from_json_and_from_objects_of_the_sdk(provider: str) -> None:
    value = response(provider, "I will look.", ASKED)
    expected = NUMBERED if provider == "ollama" else CALLS
    for each in (value, read_response(provider, value)):
        assert tool_calls(provider, each) == expected
        assert tool_calls(provider, part(each, MESSAGE[provider])) == expected


@pytest.mark.parametrize("provider", STREAMING)
def test_a_response_without_calls_has_none(provider: str) -> None:
    value = response(provider, "done", [])
    assert tool_calls(provider, value) == ()
    assert tool_calls(provider, read_response(provider, value)) == ()
    assert tool_calls(provider, {}) == ()


def test_a_dataclass_is_read_like_json() -> None:
    @dataclass
    class Function:
        name: str
        arguments: str

    @dataclass
    class Call:
        id: str
        function: Function

    @dataclass
    class Message:
        tool_calls: list[Call]

    assert tool_calls("openai_chat", Message([Call("c1", Function("look", '{"at": "moon"}'))])) == CALLS[:1]


def test_objects_of_the_sdk_may_be_in_json() -> None:
    value = read_response("openai_chat", response("openai_chat", "", ASKED))
    assert tool_calls("openai_chat", {"choices": value.choices}) == CALLS


def test_mcp_reads_its_request() -> None:
    request: JsonObject = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {"name": "look", "arguments": {"at": "moon"}},
    }
    assert tool_calls("mcp", request) == (ToolCall(name="look", arguments={"at": "moon"}, call_id="7"),)
    assert tool_calls("mcp", {"method": "tools/list", "params": {}}) == ()
    assert tool_calls("mcp", {"id": 7, "method": "tools/call", "params": {"name": "list"}}) == (
        ToolCall(name="list", arguments={}, call_id="7"),
    )
    without_id = ToolCall(name="look", arguments={"at": "moon"})
    assert tool_calls("mcp", read_response("mcp", request)) == (without_id,)


def test_ids_that_toolc_adds_are_not_sent_to_the_model() -> None:
    content: JsonObject = {
        "parts": [
            {"functionCall": {"id": "c1", "name": "look", "args": {"at": "moon"}}},
            {"functionCall": {"name": "list"}},
            {"functionCall": {"name": "list", "args": None}},
        ]
    }
    calls = tool_calls("gemini", content)
    assert calls == (CALLS[0], *(ToolCall(name="list", arguments={}, call_id=f"toolc_call_{at}") for at in (1, 2)))
    (message,) = tool_messages("gemini", calls, [ToolResult.success("done")] * 3)
    assert [each["functionResponse"].get("id") for each in message["parts"]] == ["c1", None, None]
    first, second = tool_messages("ollama", calls[:2], [ToolResult.success("done")] * 2)
    assert (first.get("tool_call_id"), second.get("tool_call_id")) == ("c1", None)


@pytest.mark.parametrize("provider", ["openai_chat", "openai_responses", "mistral", "cohere"])
@pytest.mark.parametrize("arguments", ['{"at": ', "[1]", "NaN?", '{"at": 1} and more', "\ud800"])
def test_arguments_that_are_not_an_object_are_unchanged(provider: str, arguments: str) -> None:
    (call,) = tool_calls(provider, response(provider, "", [Asked("c1", "look", arguments)]))
    assert (call.name, call.call_id) == ("look", "c1")
    assert call.arguments in (arguments, [1])


@pytest.mark.parametrize("provider", ["gemini", "mcp", "anthropic", "bedrock", "ollama"])
@pytest.mark.parametrize("arguments", [[], "moon", 7])
def test_arguments_of_the_wrong_type_are_unchanged(provider: str, arguments: Any) -> None:
    found: dict[str, JsonObject] = {
        "anthropic": {"content": [{"type": "tool_use", "name": "look", "input": arguments}]},
        "bedrock": {"content": [{"toolUse": {"name": "look", "input": arguments}}]},
        "gemini": {"parts": [{"functionCall": {"name": "look", "args": arguments}}]},
        "mcp": {"method": "tools/call", "params": {"name": "look", "arguments": arguments}},
        "ollama": {"tool_calls": [{"function": {"name": "look", "arguments": arguments}}]},
    }
    (call,) = tool_calls(provider, found[provider])
    assert call.arguments == arguments


CUT_OFF: dict[str, JsonObject] = {
    "openai_chat": {"choices": [{"finish_reason": "length"}]},
    "openai_responses": {"status": "incomplete"},
    "anthropic": {"stop_reason": "max_tokens"},
    "bedrock": {"stopReason": "max_tokens"},
    "mistral": {"choices": [{"finish_reason": "length"}]},
    "cohere": {"finish_reason": "MAX_TOKENS"},
}
"""How a response says that it ended at the maximum number of tokens."""


def merge(value: Any, changes: Any) -> Any:
    if isinstance(value, dict):
        return value | {key: merge(value[key], each) for key, each in changes.items()}
    return [merge(value[0], changes[0])] if isinstance(value, list) else changes


@pytest.mark.parametrize("provider", CUT_OFF)
def test_the_last_call_of_a_response_that_was_cut_off_does_not_run(provider: str) -> None:
    """Its arguments are not complete. Without any, it would otherwise be a call without arguments."""
    value = merge(response(provider, "", [*ASKED, Asked("c3", "list", "")]), CUT_OFF[provider])
    if provider == "openai_responses":
        value["output"][-1]["status"] = "incomplete"
    first, second, third = tool_calls(provider, value)
    assert (first, second) == CALLS
    assert (third.name, third.call_id) == ("list", "c3")
    assert isinstance(third.arguments, str)


def test_tools_that_the_provider_runs_are_not_calls() -> None:
    assert tool_calls("anthropic", {"content": [{"type": "server_tool_use", "name": "web_search", "input": {}}]}) == ()
    use: JsonObject = {"toolUseId": "c1", "name": "search", "input": {}, "type": "server_tool_use"}
    assert tool_calls("bedrock", {"content": [{"toolUse": use}]}) == ()
    assert tool_calls("openai_responses", {"output": [{"type": "web_search_call", "id": "w"}]}) == ()
    assert tool_calls("openai_chat", {"tool_calls": [{"type": "custom", "custom": {"name": "x", "input": ""}}]}) == ()


@tool
def look(at: str = "") -> str:
    """Look at one thing, to see what it is."""
    return f"seen {at}"


@pytest.mark.parametrize("provider", STREAMING)
def test_a_broken_call_reports_the_problem_and_the_others_run(provider: str) -> None:
    value = response(provider, "", [Asked("c1", "look", '{"at": "moon"}'), Asked("c2", "look", '{"at": "sun"}')])
    text = json.dumps(value)
    in_text = '\\"sun\\"}'  # where arguments are a text, it is cut off
    cut = text.replace(in_text, "") if in_text in text else text.replace('{"at": "sun"}', '"the sun"')
    assert cut != text
    registry = Registry()
    registry.add(look)
    with Executor(registry) as executor:
        calls = tool_calls(provider, json.loads(cut))
        first, second = executor.run_batch(calls)
    assert first.text == "seen moon"
    assert second.error
    assert second.error.kind == "invalid_args"
    assert "expected an object, got " in second.text
    assert tool_messages(provider, calls, [first, second])


@pytest.mark.slow
@pytest.mark.parametrize("provider", STREAMING)
@given(data=st.data())
def test_no_response_makes_reading_fail(provider: str, data: st.DataObject) -> None:
    value = data.draw(with_one_change(response(provider, "I will look.", ASKED)))
    for call in tool_calls(provider, value):
        assert isinstance(call.name, str)
        assert isinstance(call.call_id, str)
