"""The plugin backend: the plan of a call, the check of descriptions, and the results of responses."""

import json
from dataclasses import replace

import pytest
from calls.scripted_tools import captured

from toolc.backends.plugin import Plugin, difference
from toolc.backends.plugin_protocol import Description, Offer
from toolc.model.call import BoundCall
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.plan import PluginCall, Profile
from toolc.model.result import Capture, Ending, Outcome, Text, ToolFailure, ToolResult
from toolc.model.spec.code_backends import File, PluginBackend
from toolc.model.spec.tool import ResultFormat, ResultSpec, ToolSpec

BACKEND = PluginBackend(
    command=("python3", "./tool.py", "--verbose", "lib/b.py"),
    files=(File(path="lib/b.py", text=""), File(path="tool.py", text="")),
)
PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}, "a": {}},
    "required": ["a", "n"],
    "additionalProperties": False,
}
REVIEWED = PluginCall(argv=(), tool="t", description="Do it.", parameters=PARAMETERS, arguments={})


def read(outcome: Outcome, form: ResultFormat = "text") -> ToolResult:
    return Plugin().read(BACKEND, ResultSpec(format=form), outcome)


def answered(value: object, stderr: bytes = b"") -> Outcome:
    return Outcome(ending="answered", reply=captured(json.dumps(value).encode()), stderr=captured(stderr))


def texts(*values: str) -> list[JsonObject]:
    return [{"type": "text", "text": each} for each in values]


def test_the_plan_has_the_paths_of_files_in_the_sandbox() -> None:
    tool = ToolSpec(name="t", description="Do it.", parameters=Schema(PARAMETERS), backend=BACKEND)
    plan = Plugin().plan(BACKEND, BoundCall(tool=tool, arguments={"n": 1}, call_id="c"), Profile())
    assert plan.invocation == PluginCall(
        argv=("python3", "/tool/tool.py", "--verbose", "/tool/lib/b.py"),
        tool="t",
        description="Do it.",
        parameters=PARAMETERS,
        arguments={"n": 1},
        files=BACKEND.files,
    )


def test_a_tool_is_called_by_its_name_in_the_plugin() -> None:
    backend = replace(BACKEND, tool="notes.add")
    tool = ToolSpec(name="t", description="Do it.", parameters=Schema(PARAMETERS), backend=backend)
    invocation = Plugin().plan(backend, BoundCall(tool=tool, arguments={}, call_id="c"), Profile()).invocation
    assert isinstance(invocation, PluginCall)
    assert invocation.tool == "notes.add"


def offer(parameters: JsonObject = PARAMETERS, name: str = "t", description: str = "Do it.") -> Offer:
    return Offer((Description(name, description, parameters),), has_several=False)


REORDERED: JsonObject = {"a": {}, "n": {"minimum": 1.0, "type": "integer"}}


@pytest.mark.parametrize(
    "parameters",
    [
        PARAMETERS,
        {key: value for key, value in PARAMETERS.items() if key != "additionalProperties"},
        {**PARAMETERS, "required": ["n", "a"]},
        {**PARAMETERS, "properties": REORDERED},
    ],
    ids=["the same", "no additionalProperties", "another order", "another order of keys"],
)
def test_equivalent_descriptions_do_not_differ(parameters: JsonObject) -> None:
    assert difference(REVIEWED, offer(parameters)) is None


LACKING: JsonObject = {"n": {"type": "string", "minimum": 1}, "b": {}}
FLAG: JsonObject = {"a": {}, "n": {"type": "integer", "minimum": True}}
SEVERAL_WORDS = (
    "it lacks parameters.properties.a; it adds parameters.properties.b; "
    "its parameters.properties.n.type is 'string', but 'integer' was reviewed"
)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (offer(name="u"), "it offers 'u', but the spec is for 't'"),
        (offer(description="Do more."), "its description is 'Do more.', but 'Do it.' was reviewed"),
        (
            offer({**PARAMETERS, "additionalProperties": True}),
            "its parameters.additionalProperties is True, but False was reviewed",
        ),
        (offer({**PARAMETERS, "properties": LACKING}), SEVERAL_WORDS),
        (offer({**PARAMETERS, "properties": FLAG}), "its parameters.properties.n.minimum is True, but 1 was reviewed"),
        (offer({**PARAMETERS, "required": ["a"]}), "its parameters.required is ['a'], but ['a', 'n'] was reviewed"),
    ],
)
def test_differences_from_the_review_are_described(found: Offer, words: str) -> None:
    assert difference(REVIEWED, found) == words


def test_a_response_becomes_a_result() -> None:
    value = {"content": texts("a", "b"), "error": False, "details": {"n": 2}}
    assert read(answered(value)) == ToolResult(content=(Text("ab"),), details={"tool": {"n": 2}})


def test_an_error_response_becomes_an_error_for_the_model() -> None:
    result = read(answered({"content": texts("Error: something went wrong"), "error": True}, stderr=b"at line 3\n"))
    assert result == ToolResult(
        content=(Text("Error: something went wrong"),),
        error=ToolFailure("execution", "Error: something went wrong"),
        details={"stderr": "at line 3\n"},
    )


def test_an_error_without_text_has_a_default_message() -> None:
    result = read(answered({"content": [], "error": True}))
    assert result.text == "the plugin reported an error without a message"


@pytest.mark.parametrize(
    ("form", "text", "kind"),
    [("json", '{"a": 1}', None), ("json", "{", "serialization"), ("image", "a", "serialization"), ("none", "a", None)],
)
def test_the_format_of_the_spec_is_enforced(form: ResultFormat, text: str, kind: str | None) -> None:
    result = read(answered({"content": texts(text)}), form)
    assert (result.error and result.error.kind) == kind
    assert result.data == ({"a": 1} if form == "json" and kind is None else None)


@pytest.mark.parametrize(
    ("ending", "kind", "message"),
    [
        ("exited", "execution", "the plugin's process ended with exit status 3 before it answered"),
        ("signaled", "execution", "the plugin's process was killed by SIGQUIT before it answered"),
        ("broken", "serialization", "the plugin violated the protocol: before it answered"),
        ("refused", "denied", "before it answered"),
        ("not_started", "not_found", "before it answered"),
    ],
)
def test_an_ending_without_a_response_is_an_error(ending: Ending, kind: str, message: str) -> None:
    result = read(Outcome(ending=ending, status=3, reason="before it answered", stderr=captured(b"boom\n")))
    assert result.error is not None
    assert (result.error.kind, result.error.message) == (kind, message)
    assert result.text == (f"boom\n[{message}]" if kind == "execution" else message)
    assert result.details == ({"stderr": "boom\n"} if kind == "serialization" else {})


def test_the_log_of_an_invalid_response_is_not_shown_to_the_model() -> None:
    result = read(Outcome(ending="answered", reply=captured(b"[]"), stderr=captured(b"boom\n")))
    assert result.error is not None
    assert (result.text, result.details) == (result.error.message, {"stderr": "boom\n"})


def test_a_truncated_response_is_an_output_limit_error() -> None:
    result = read(Outcome(ending="answered", reply=Capture(b'{"content"', b"", 5_000_000), stderr=captured(b"boom\n")))
    assert result.error is not None
    assert (result.error.kind, result.text) == ("output_limit", result.error.message)
    assert result.details == {"stderr": "boom\n"}
