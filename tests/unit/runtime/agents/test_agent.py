"""The loop of a sub-agent: the requests to its model, how responses are handled, and the reported details and events.

The SDKs are the real ones, in every wire format; the responses of the model are scripted.
"""

import contextvars
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from calls.scripted_server import Request, json_reply
from calls.scripted_tools import error_kind
from models.agent_tools import (
    KEY,
    SAY,
    agent_details,
    agent_tool,
    ask_helper,
    composite_tool,
    converse,
    echoing,
    executor_of,
    registry_of,
)
from models.scripted_model import (
    SPEECHES,
    OpenAISpeech,
    ResponsesSpeech,
    ScriptedModel,
    Speech,
    inner,
    messages,
    objects,
)

from toolc.model.call import Allow, BoundCall, Deny, ToolCall
from toolc.model.errors import InfrastructureError
from toolc.model.events import Event, ToolConnect, ToolDenied, ToolEnd, ToolStart, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Plan
from toolc.model.result import Outcome, Text, ToolFailure
from toolc.providers.calls import members
from toolc.runtime.agents.agent import MAX_CALLS, MAX_PARALLEL

OPENAI = OpenAISpeech()
both_formats = pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: str(speech.provider))


def question(words: str = "why?") -> JsonObject:
    return {"role": "user", "content": words}


def saying(words: str) -> tuple[str, JsonValue]:
    return "say", {"words": words}


@pytest.mark.slow
@both_formats
def test_the_model_gets_its_instructions_and_the_argument(speech: Speech, tmp_path: Path) -> None:
    result, model = converse(tmp_path, speech.text("Because."), speech=speech)
    (request,) = model.requests
    assert (result.content, result.structured, result.error) == ((Text("Because."),), None, None)
    assert (request["model"], speech.system(request), speech.tools(request)) == ("scripted", "You help.", ["say"])
    assert messages(request)[-1] == question()


@pytest.mark.slow
@both_formats
def test_output_is_sent_back_with_the_call_id(speech: Speech, tmp_path: Path) -> None:
    script = [speech.calls(saying("one"), saying("two")), speech.text("one, two")]
    result, model = converse(tmp_path, *script, speech=speech)
    assert result.text == "one, two"
    assert speech.results(model.requests[1]) == [("id_1", "one"), ("id_2", "two")]


@both_formats
def test_each_request_has_the_whole_conversation(speech: Speech, tmp_path: Path) -> None:
    first = speech.calls(saying("one"), text="I will say it.")
    _, model = converse(tmp_path, first, speech.text("done"), speech=speech)
    roles = [message.get("role", message.get("type")) for message in messages(model.requests[1])]
    assert (
        roles
        == {
            "openai": ["system", "user", "assistant", "tool"],
            "anthropic": ["user", "assistant", "user"],
            "openai_responses": ["user", "assistant", "function_call", "function_call_output"],
        }[speech.provider]
    )
    assert "I will say it." in str(messages(model.requests[1]))


@both_formats
def test_invalid_calls_are_reported_to_the_model(speech: Speech, tmp_path: Path) -> None:
    calls = speech.calls(("say", {"word": "x"}), ("helper", {}), ("say", "[1"), ("say", [1]), saying("ok"))
    result, model = converse(tmp_path, calls, speech.text("sorry"), speech=speech)
    errors = [text.removeprefix("ERROR (") for _, text in speech.results(model.requests[1])]
    assert result.text == "sorry"
    assert "- words: required but missing" in errors[0]
    assert errors[1].endswith("there is no tool 'helper'; known tools: say")
    assert "arguments: expected an object, got a string that is not JSON (line 1 column 3" in errors[2]
    assert "arguments: expected an object, got an array of 1" in errors[3]
    assert errors[4] == "ok"
    assert [(call["tool"], call["error"]) for call in objects(agent_details(result)["calls"])] == [
        ("say", "invalid_args"),
        ("helper", "not_found"),
        ("say", "invalid_args"),
        ("say", "invalid_args"),
        ("say", None),
    ]


@both_formats
def test_a_failing_tool_is_reported_to_the_model(speech: Speech, tmp_path: Path) -> None:
    def script(plan: Plan) -> Outcome:
        return Outcome(ending="exited", status=3)

    answers = [speech.calls(saying("one")), speech.text("It failed.")]
    result, model = converse(tmp_path, *answers, speech=speech, script=script)
    assert not result.is_error
    (call,) = objects(agent_details(result)["calls"])
    assert call == {"tool": "say", "turn": 1, "call_id": "c.1.1", "error": "exit_status"}
    assert "exit" in speech.results(model.requests[1])[0][1]


@both_formats
def test_details_count_turns_and_tokens_and_list_connections(speech: Speech, tmp_path: Path) -> None:
    result, model = converse(tmp_path, speech.calls(saying("a")), speech.text("b"), speech=speech)
    details = agent_details(result)
    assert {key: details[key] for key in ("provider", "model", "turns", "tokens_in", "tokens_out")} == {
        "provider": speech.provider,
        "model": "scripted",
        "turns": 2,
        "tokens_in": 17,
        "tokens_out": 8,
    }
    network = objects(result.details["network"])
    assert [(each["entry"], each["allowed"]) for each in network] == [(f"127.0.0.1:{model.port}", True)] * 2


def test_events_of_the_model_and_of_its_calls_are_emitted(tmp_path: Path) -> None:
    events: list[Event] = []
    script = [OPENAI.calls(saying("one"), text="Well:"), OPENAI.text("one")]
    result, _ = converse(tmp_path, *script, on_event=events.append)
    calls = [
        (type(each), each.name, each.call_id, each.parent_call_id)
        for each in events
        if not isinstance(each, ToolConnect)
    ]
    assert calls == [
        (ToolStart, "helper", "c", None),
        (ToolUpdate, "helper", "c", None),
        (ToolUpdate, "helper", "c", None),
        (ToolStart, "say", "c.1.1", "c"),
        (ToolUpdate, "say", "c.1.1", "c"),
        (ToolEnd, "say", "c.1.1", "c"),
        (ToolUpdate, "helper", "c", None),
        (ToolEnd, "helper", "c", None),
    ]
    updates = [each for each in events if isinstance(each, ToolUpdate) and each.name == "helper"]
    assert [(each.stream, each.text, each.message) for each in updates] == [
        ("content", "Well:\n", ""),
        (None, "", "turn 1: say"),
        ("content", "one", ""),
    ]
    assert isinstance(events[-1], ToolEnd)
    assert events[-1].result == result


def test_the_calls_of_one_answer_run_in_parallel(tmp_path: Path) -> None:
    meeting = threading.Barrier(MAX_PARALLEL, timeout=60)

    def script(plan: Plan) -> Outcome:
        meeting.wait()
        return echoing(plan)

    calls = OPENAI.calls(*map(saying, map(str, range(MAX_PARALLEL))))
    result, model = converse(tmp_path, calls, OPENAI.text("done"), script=script)
    assert result.text == "done"
    assert [text for _, text in OPENAI.results(model.requests[1])] == [str(each) for each in range(MAX_PARALLEL)]


def test_parallel_calls_see_the_context_variables_of_the_call(tmp_path: Path) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("set")
    found: list[str] = []

    def on_event(event: Event) -> None:
        if isinstance(event, ToolStart) and event.call_id != "c":
            found.append(variable.get())

    converse(tmp_path, OPENAI.calls(saying("one"), saying("two")), OPENAI.text("done"), on_event=on_event)
    assert found == ["set", "set"]


def test_sequential_calls_run_in_order_and_independently(tmp_path: Path) -> None:
    events: list[Event] = []
    calls = OPENAI.calls(saying("one"), ("say", {}), saying("three"))
    _, model = converse(tmp_path, calls, OPENAI.text("done"), agent={"parallel": False}, on_event=events.append)
    assert [text for _, text in OPENAI.results(model.requests[1])][::2] == ["one", "three"]
    order = [(type(each), each.call_id) for each in events if isinstance(each, ToolStart | ToolEnd)]
    assert order == [
        (ToolStart, "c"),
        (ToolStart, "c.1.1"),
        (ToolEnd, "c.1.1"),
        (ToolEnd, "c.1.2"),
        (ToolStart, "c.1.3"),
        (ToolEnd, "c.1.3"),
        (ToolEnd, "c"),
    ]


def test_excess_calls_of_an_answer_get_an_error(tmp_path: Path) -> None:
    calls = OPENAI.calls(*[saying("x")] * 1000)
    result, model = converse(tmp_path, calls, OPENAI.text("done"))
    assert result.text == "done"
    results = [text for _, text in OPENAI.results(model.requests[1])]
    assert results[:MAX_CALLS] == ["x"] * MAX_CALLS
    assert results[MAX_CALLS:] == [
        f"ERROR (rate_limit): only the first {MAX_CALLS} calls of an answer are made; repeat this one"
    ] * (1000 - MAX_CALLS)


def test_a_dead_sandbox_ends_all_calls_of_the_answer(tmp_path: Path) -> None:
    events: list[Event] = []

    def script(plan: Plan) -> Outcome:
        raise RuntimeError("lost")

    with ScriptedModel(script=[OPENAI.calls(*[saying("x")] * MAX_CALLS)]) as model:
        with pytest.raises(InfrastructureError):
            ask_helper(model, tmp_path, script=script, on_event=events.append)
        assert len(model.requests) == 1
    assert len([each for each in events if isinstance(each, ToolStart)]) < MAX_CALLS // 2


@both_formats
def test_a_denied_tool_is_not_offered_and_a_call_gets_an_error(speech: Speech, tmp_path: Path) -> None:
    events: list[Event] = []
    script = [speech.calls(saying("x")), speech.text("I may not.")]
    with ScriptedModel(speech=speech, script=[*script]) as model:
        registry = registry_of(tmp_path, agent_tool(model), SAY)
        with executor_of(registry) as executor:
            executor.deny("say")
            result = executor.run("helper", {"question": "why?"}, call_id="c", on_event=events.append)
    assert result.text == "I may not."
    assert speech.tools(model.requests[0]) == []
    assert "denied" in speech.results(model.requests[1])[0][1]
    assert [each.call_id for each in events if isinstance(each, ToolDenied)] == ["c.1.1"]


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({}, {}, "Begin."),
        ({"n": {"type": "integer", "description": "n"}}, {"n": 3}, "3"),
        ({"a": {"type": "string", "description": "a"}}, {"a": '"quoted"'}, '"quoted"'),
        (
            {"a": {"type": "string", "description": "a"}, "b": {"type": "string", "description": "b", "default": "y"}},
            {"a": "x"},
            '{"a":"x","b":"y"}',
        ),
    ],
    ids=["none", "a number", "a text", "several"],
)
def test_the_arguments_are_the_users_message_to_the_model(
    parameters: JsonObject, arguments: JsonObject, message: str, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"agent": {"tools": []}, "tools": (), "parameters": parameters, "arguments": arguments}
    _, model = converse(tmp_path, OPENAI.text("ok"), **given)
    assert messages(model.requests[0])[-1] == question(message)
    assert "tools" not in model.requests[0]


def test_instructions_are_a_template_of_the_arguments(tmp_path: Path) -> None:
    _, model = converse(tmp_path, OPENAI.text("ok"), agent={"instructions": "Answer: {{ question }}"})
    assert messages(model.requests[0])[0] == {"role": "system", "content": "Answer: why?"}


SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@both_formats
def test_declared_data_is_requested_and_checked(speech: Speech, tmp_path: Path) -> None:
    script: list[JsonObject] = [speech.text("three"), speech.text('{"n": "3"}'), speech.text('```json\n{"n": 3}\n```')]
    result, model = converse(tmp_path, *script, speech=speech, result={"schema": SCHEMA})
    assert (result.structured, result.text) == (({"n": 3},), '{"n":3}')
    assert speech.system(model.requests[0]).endswith(
        'It must satisfy this JSON Schema:\n{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"}'
    )
    assert [str(messages(request)[-1]["content"]).partition("\n")[0] for request in model.requests[1:]] == [
        "the model's answer is not JSON (line 1 column 1: Expecting value)",
        "the tool's data does not match the result.schema of its spec:",
    ]


def test_data_that_is_still_wrong_in_the_last_turn_is_an_error(tmp_path: Path) -> None:
    result, _ = converse(
        tmp_path, OPENAI.text("three"), OPENAI.text("four"), agent={"max_turns": 2}, result={"format": "json"}
    )
    assert result.error == ToolFailure(
        "serialization", "the model's answer is not JSON (line 1 column 1: Expecting value)"
    )


@pytest.mark.parametrize(
    ("agent", "script", "error"),
    [
        (
            {"max_turns": 1},
            [OPENAI.calls(saying("x"))],
            ToolFailure("execution", "the model did not answer within 1 turn; request less, or raise 'max_turns'"),
        ),
        (
            {"token_budget": 15},
            [OPENAI.calls(saying("x"))],
            ToolFailure(
                "output_limit", "the model used 15 tokens, but the limit is 15; request less, or raise 'token_budget'"
            ),
        ),
        (
            {"max_tokens": 9},
            [OPENAI.text("It was a dark", stop="length")],
            ToolFailure(
                "output_limit",
                "the model's answer was truncated at 9 tokens; request less, or raise 'max_tokens'\nIt was a dark",
            ),
        ),
        (
            {},
            [OPENAI.text("", stop="content_filter")],
            ToolFailure("denied", "the model refused to answer: it gave no reason"),
        ),
        ({}, [OPENAI.text(" ")], ToolFailure("execution", "the model's answer is empty; rephrase the task")),
    ],
    ids=["turns", "tokens", "length", "refusal", "nothing"],
)
def test_calls_without_an_answer_have_a_reason(
    agent: JsonObject, script: list[JsonObject], error: ToolFailure, tmp_path: Path
) -> None:
    result, _ = converse(tmp_path, *script, agent=agent)
    assert result.error == error
    assert agent_details(result)["turns"] == 1


def test_the_length_of_answers_is_limited(tmp_path: Path) -> None:
    for speech, key in zip(SPEECHES, ("max_completion_tokens", "max_tokens", "max_output_tokens"), strict=True):
        _, model = converse(tmp_path, speech.text("ok"), speech=speech, agent={"max_tokens": 77})
        assert model.requests[0][key] == 77


def test_an_answer_beyond_the_output_limit_keeps_its_head_and_tail(tmp_path: Path) -> None:
    sandbox: JsonObject = {"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}, "limits": {"output": "1KiB"}}
    events: list[Event] = []
    result, _ = converse(tmp_path, OPENAI.text("a" * 2000 + "b" * 2000), on_event=events.append, sandbox=sandbox)
    assert result.text == f"{'a' * 512}\n[2976 bytes cut]\n{'b' * 512}"
    assert result.details["truncated"] is True
    assert sum(len(each.text) for each in events if isinstance(each, ToolUpdate)) == 1024


def test_a_sub_agent_may_call_another(tmp_path: Path) -> None:
    events: list[Event] = []
    inner = [OPENAI.calls(saying("deep")), OPENAI.text("deep, it said")]
    with ScriptedModel(script=[*inner]) as deeper:
        outer: list[JsonObject] = [OPENAI.calls(("expert", {"question": "how?"})), OPENAI.text("all good")]
        with ScriptedModel(script=[*outer]) as model:
            expert = agent_tool(deeper) | {"name": "expert", "description": "Answer what is hard. Use it for that."}
            result = ask_helper(
                model, tmp_path, agent={"tools": ["expert"]}, tools=(expert, SAY), on_event=events.append
            )
    assert result.text == "all good"
    assert OPENAI.results(model.requests[1]) == [("id_1", "deep, it said")]
    starts = [(each.name, each.call_id, each.parent_call_id) for each in events if isinstance(each, ToolStart)]
    assert starts == [("helper", "c", None), ("expert", "c.1.1", "c"), ("say", "c.1.1.1.1", "c.1.1")]


@pytest.mark.parametrize(
    ("ids", "used"),
    [
        (("", "same", "same"), ("toolc_call_1", "same", "toolc_call_3")),
        (("toolc_call_2", "", "toolc_call_2"), ("toolc_call_2", "toolc_call_2_", "toolc_call_3")),
        (("a", "b", 3), ("a", "b", "toolc_call_3")),
    ],
)
def test_missing_and_duplicate_ids_are_replaced(
    ids: tuple[JsonValue, ...], used: tuple[str, ...], tmp_path: Path
) -> None:
    first = OPENAI.calls(saying("one"), saying("two"), saying("three"))
    calls = members(first, "choices", 0, "message", "tool_calls")
    for call, given in zip(calls, ids, strict=True):
        call["id"] = given
    _, model = converse(tmp_path, first, OPENAI.text("ok"))
    assert OPENAI.results(model.requests[1]) == [*zip(used, ("one", "two", "three"), strict=True)]


def test_content_in_parts_is_read_as_text_and_sent_back_unchanged(tmp_path: Path) -> None:
    parts: list[JsonValue] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Well."}]
    first = OPENAI.calls(saying("one"))
    message = inner(objects(first["choices"])[0], "message")
    message["content"] = parts
    _, model = converse(tmp_path, first, OPENAI.text("ok"))
    assert messages(model.requests[1])[2]["content"] == parts


def test_arguments_as_an_object_are_accepted_and_sent_back_as_text(tmp_path: Path) -> None:
    first = OPENAI.calls(saying("one"))
    (call,) = members(first, "choices", 0, "message", "tool_calls")
    inner(call, "function")["arguments"] = {"words": "one"}
    _, model = converse(tmp_path, first, OPENAI.text("ok"))
    assert OPENAI.results(model.requests[1]) == [("id_1", "one")]
    (back,) = objects(messages(model.requests[1])[2]["tool_calls"])
    assert inner(back, "function")["arguments"] == '{"words":"one"}'


def test_reasoning_is_sent_back_unchanged_and_not_stored(tmp_path: Path) -> None:
    speech = ResponsesSpeech()
    thought: JsonObject = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "xyz"}
    first = speech.calls(("say", '{"words": '), saying("two"))
    first["output"] = [thought, *objects(first["output"])]
    _, model = converse(tmp_path, first, speech.text("ok"), speech=speech)
    assert model.requests[0]["store"] is False
    assert messages(model.requests[1])[1:4] == [
        thought,
        {"type": "function_call", "call_id": "id_1", "name": "say", "arguments": "{}"},
        {"type": "function_call", "call_id": "id_2", "name": "say", "arguments": '{"words":"two"}'},
    ]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ResponsesSpeech().text("It was a dark", stop="max_output_tokens"), "output_limit"),
        (ResponsesSpeech().text("", stop="content_filter"), "denied"),
        ({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}]}, "denied"),
        ({"output": [{"type": "reasoning", "summary": []}]}, "execution"),
    ],
    ids=["length", "filter", "refusal", "nothing"],
)
def test_an_invalid_response_is_an_error(answer: JsonObject, error: str, tmp_path: Path) -> None:
    result, _ = converse(tmp_path, answer, speech=ResponsesSpeech())
    assert error_kind(result) == error


def test_invalid_arguments_are_not_sent_back(tmp_path: Path) -> None:
    _, model = converse(tmp_path, OPENAI.calls(("say", '{"words": ')), OPENAI.text("ok"))
    (call,) = objects(messages(model.requests[1])[2]["tool_calls"])
    assert call["function"] == {"name": "say", "arguments": "{}"}


def test_the_key_is_only_in_the_request_even_if_the_model_repeats_it(tmp_path: Path) -> None:
    events: list[Event] = []
    answers: list[JsonObject] = [OPENAI.calls(("say", {"words": f"a {KEY}"}), text=KEY), OPENAI.text(f"It is {KEY}.")]
    result, model = converse(tmp_path, *answers, on_event=events.append)
    assert {each.headers["authorization"] for each in model.received} == {f"Bearer {KEY}"}
    assert result.text == "It is [secret KEY]."
    assert KEY not in repr((result, events, model.requests))
    assert OPENAI.results(model.requests[1]) == [("id_1", "a [secret KEY]")]


def test_composites_call_sub_agents_and_sub_agents_call_composites(tmp_path: Path) -> None:
    events: list[Event] = []
    says: list[JsonObject] = [{"id": id_, "tool": "say", "args": {"words": "{{ words }}"}} for id_ in ("one", "two")]
    twice = composite_tool("twice", *says, parameters=SAY["parameters"])
    asks: JsonObject = {"id": "help", "tool": "helper", "args": {"question": "{{ words }}"}}
    outer = composite_tool("outer", asks, parameters=SAY["parameters"])
    with ScriptedModel(script=[OPENAI.calls(("twice", {"words": "hi"})), OPENAI.text("said")]) as model:
        registry = registry_of(tmp_path, agent_tool(model, {"tools": ["twice"]}), twice, outer, SAY)
        with executor_of(registry) as executor:
            result = executor.run("outer", {"words": "why?"}, call_id="c", on_event=events.append)
    assert not result.is_error
    assert [(each.name, each.call_id) for each in events if isinstance(each, ToolStart)] == [
        ("outer", "c"),
        ("helper", "c.help"),
        ("twice", "c.help.1.1"),
        ("say", "c.help.1.1.one"),
        ("say", "c.help.1.1.two"),
    ]


def test_a_tool_with_confirm_is_confirmed_for_each_call(tmp_path: Path) -> None:
    confirmed: list[tuple[str, JsonObject]] = []

    def confirm(call: BoundCall) -> Allow | Deny:
        confirmed.append((call.call_id, call.arguments))
        return Allow() if len(confirmed) == 1 else Deny("not twice")

    script = [OPENAI.calls(saying("one")), OPENAI.calls(saying("two")), OPENAI.text("ok")]
    _, model = converse(tmp_path, *script, tools=(SAY | {"confirm": True},), confirm=confirm)
    assert confirmed == [("c.1.1", {"words": "one"}), ("c.2.1", {"words": "two"})]
    assert OPENAI.results(model.requests[1]) == [("id_1", "one")]
    assert "not twice" in OPENAI.results(model.requests[2])[0][1]


def test_confirmations_are_sequential_and_on_the_thread_of_the_call(tmp_path: Path) -> None:
    threads: list[str] = []

    def confirm(call: BoundCall) -> Allow | Deny:
        threads.append(threading.current_thread().name)
        return Allow()

    calls = OPENAI.calls(saying("one"), saying("two"), saying("three"))
    converse(tmp_path, calls, OPENAI.text("ok"), tools=(SAY | {"confirm": True},), confirm=confirm)
    assert threads == [threading.current_thread().name] * 3


def test_many_sub_agents_run_concurrently(tmp_path: Path) -> None:

    def answer(received: Request, connection: socket.socket) -> None:
        request = json.loads(received.body)
        response = OPENAI.text("ok") if OPENAI.results(request) else OPENAI.calls(saying(str(request["messages"][-1])))
        connection.sendall(json_reply(response))

    with ScriptedModel(script=[answer] * 40) as model:
        registry = registry_of(tmp_path, agent_tool(model), SAY)
        calls = [ToolCall(name="helper", arguments={"question": str(n)}, call_id=f"c{n}") for n in range(20)]
        with executor_of(registry) as executor:
            results = executor.run_batch(calls)
    assert [result.text for result in results] == ["ok"] * 20
