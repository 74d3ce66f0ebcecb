from __future__ import annotations

import socket
import sys
from dataclasses import replace

import pytest

from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.tool import STRICT, ProviderChoice, ToolSpec
from toolc.providers import load_provider
from toolc.runtime.argument_binding import bind
from toolc.runtime.argument_values import MAX_PROBLEMS, BindError


def tool(properties: JsonObject, required: tuple[str, ...] = (), rest: JsonObject | None = None) -> ToolSpec:
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(
        name="t",
        description="d",
        parameters=Schema(schema | (rest or {})),
        backend=ShellBackend(command=Argv(elements=())),
    )


def problems(spec: ToolSpec, arguments: JsonValue) -> tuple[str, ...]:
    with pytest.raises(BindError) as raised:
        bind(spec, arguments, "call_1")
    return raised.value.problems


def problem(schema: JsonObject, value: JsonValue) -> str:
    (only,) = problems(tool({"x": schema}, ("x",)), {"x": value})
    return only


def test_valid_arguments_are_bound_unchanged() -> None:
    spec = tool({"path": {"type": "string"}}, ("path",))
    bound = bind(spec, {"path": "a"}, "call_1")
    assert (bound.tool, bound.arguments, bound.call_id) == (spec, {"path": "a"}, "call_1")


def test_an_integer_written_as_a_float_becomes_an_integer() -> None:
    spec = tool({"n": {"type": "integer", "default": 3.0}, "rows": {"items": {"type": "integer", "minimum": 1}}})
    given: JsonObject = {"rows": [2.0]}
    assert repr(bind(spec, given, "c").arguments) == "{'rows': [2], 'n': 3}"
    assert repr(given) == "{'rows': [2.0]}"


def test_defaults_are_added_at_every_level_of_a_copy() -> None:
    spec = tool(
        {
            "limit": {"type": "integer", "default": 10},
            "options": {"type": "object", "default": {}, "properties": {"deep": {"default": [1]}}},
            "rows": {"type": "array", "items": {"properties": {"width": {"default": 80}}}},
        }
    )
    given: JsonObject = {"rows": [{}, {"width": 1}]}
    assert bind(spec, given, "c").arguments == {
        "rows": [{"width": 80}, {"width": 1}],
        "limit": 10,
        "options": {"deep": [1]},
    }
    assert given == {"rows": [{}, {"width": 1}]}


def test_changing_a_default_does_not_change_the_schema() -> None:
    spec = tool({"tags": {"default": []}})
    tags = bind(spec, {}, "c").arguments["tags"]
    assert isinstance(tags, list)
    tags.append("x")
    assert bind(spec, {}, "c").arguments == {"tags": []}


def test_all_problems_are_reported_together() -> None:
    spec = tool(
        {
            "path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "filters": {"type": "array", "items": {"properties": {"name": {"type": "string"}}}},
        },
        ("path",),
    )
    with pytest.raises(BindError) as raised:
        bind(spec, {"pth": "a", "limit": "five", "filters": [{"name": 1}]}, "c")
    assert str(raised.value) == (
        "wrong arguments for t:\n"
        "- pth: no such parameter; did you mean 'path'?\n"
        "- path: required but missing; expected a string\n"
        "- filters.0.name: expected a string, got the number 1\n"
        "- limit: expected an integer, got the string 'five'"
    )


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (None, "null"), (True, "true"), (1.5, "the number 1.5"), ("five", "the string 'five'"),
        ("a" * 100, "the string '" + "a" * 58 + "…"), ([1, 2], "an array of 2"), ({}, "an empty object"),
        ({"a": 1, "b": 2}, "an object with the keys a, b"),
    ],
)  # fmt: skip
def test_messages_show_the_received_value_with_its_type(value: JsonValue, got: str) -> None:
    assert problem({"type": "integer"}, value) == f"x: expected an integer, got {got}"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": ["string", "null"]}, 1, "x: expected a string or null, got the number 1"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, "x: expected a string or null, got the number 1"),
        ({"enum": ["ab", "xy"]}, "abc", "x: expected one of 'ab', 'xy'; got the string 'abc'; did you mean 'ab'?"),
        ({"enum": ["fast", 1]}, True, "x: expected one of 'fast', 1; got true"),
        ({"const": 3}, 4, "x: expected exactly 3, got the number 4"),
        ({"minimum": 1}, 0, "x: expected at least 1, got the number 0"),
        ({"maximum": 1}, 2, "x: expected at most 1, got the number 2"),
        ({"exclusiveMinimum": 0}, 0, "x: expected more than 0, got the number 0"),
        ({"exclusiveMaximum": 0}, 0, "x: expected less than 0, got the number 0"),
        ({"multipleOf": 5}, 7, "x: expected a multiple of 5, got the number 7"),
        ({"minLength": 1}, "", "x: expected at least 1 character, got the string ''"),
        ({"maxLength": 2}, "abc", "x: expected at most 2 characters, got the string 'abc'"),
        ({"pattern": "^[a-z]+$"}, "A", "x: expected a string that matches the pattern ^[a-z]+$, got the string 'A'"),
        ({"minItems": 2}, [1], "x: expected at least 2 items, got an array of 1"),
        ({"maxItems": 0}, [1], "x: expected at most 0 items, got an array of 1"),
        ({"uniqueItems": True}, [1, 1], "x: expected unique items, got an array of 2"),
        ({"not": {"const": 1}}, 1, "x: 1 should not be valid under {'const': 1}"),
        ({"additionalProperties": False}, {"k": 1}, "x.k: no such parameter; there are none"),
        ({"patternProperties": {"^a": {}}, "additionalProperties": False}, {"a1": 1, "b": 1},
         "x.b: no such parameter; there are none"),
        ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, 1, (
            "x: matches none of 2 allowed forms; got the number 1 "
            "(x: expected a string, got the number 1; x: expected at least 5, got the number 1)"
        )),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1,
         "x: matches more than one of 2 forms, but must match exactly one; got the number 1"),
    ],
)  # fmt: skip
def test_each_keyword_has_its_own_message(schema: JsonObject, value: JsonValue, message: str) -> None:
    assert problem(schema, value) == message


def test_each_missing_parameter_is_reported_once() -> None:
    spec = tool({"a": {"type": "string"}, "b": {}, "c": {"type": ["integer", "null"]}}, ("a", "b", "c"))
    assert problems(spec, {"b": 1}) == (
        "a: required but missing; expected a string",
        "c: required but missing; expected an integer or null",
    )


@pytest.mark.parametrize("value", [[1], "x", None, 3])
def test_arguments_must_be_an_object(value: JsonValue) -> None:
    (only,) = problems(tool({}), value)
    assert only.startswith("arguments: expected an object, got ")


def test_values_that_are_not_json_are_refused_first() -> None:
    deep: JsonValue = []
    for _ in range(5000):
        deep = [deep]
    spec = tool({"x": {}})
    assert problems(spec, {"x": float("nan")}) == ("x: nan is not a JSON number",)
    assert problems(spec, {"x": ["\ud800"]}) == ("x.0: contains an unpaired surrogate, which is not valid Unicode",)
    (only,) = problems(spec, {"x": deep})
    assert only.endswith("nested deeper than 64 levels")


def test_a_reference_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        spec = tool({"x": {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}})
        with pytest.raises(RegistryError, match=r"tool 't' refer to a schema that cannot be resolved"):
            bind(spec, {"x": 1}, "c")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_schema_with_an_endless_reference_raises() -> None:
    with pytest.raises(RegistryError):
        bind(tool({"x": {"$ref": "#/properties/x"}}), {"x": 1}, "c")


def test_a_local_reference_is_followed() -> None:
    spec = tool({"x": {"$ref": "#/$defs/n"}}, (), {"$defs": {"n": {"type": "integer"}}})
    assert problems(spec, {"x": "a"}) == ("x: expected an integer, got the string 'a'",)


def test_arguments_that_are_nested_too_deeply_for_their_references_are_refused_as_such() -> None:
    chain: JsonObject = {f"d{level}": {"$ref": f"#/$defs/d{level + 1}"} for level in range(30)}
    node: JsonObject = {"d30": {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "minProperties": 1}}
    spec = tool({"x": {"$ref": "#/$defs/d0"}}, (), {"$defs": {**chain, **node}})
    value: JsonValue = {"y": 1}
    for _ in range(50):
        value = {"x": value}
    (message,) = problems(spec, {"x": value})
    assert message.startswith("arguments: nested too deeply to be checked")


@pytest.mark.slow
def test_a_hostile_schema_cannot_hang_a_call() -> None:
    doubled: JsonObject = {
        f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(30)
    }
    spec = tool({"x": {"$ref": "#/$defs/d0"}}, (), {"$defs": {**doubled, "d30": {"type": "string"}}})
    message = "arguments: too many steps to check; simplify the value or its schema"
    assert problems(spec, {"x": 1}) == (message,)


def test_a_hostile_pattern_cannot_hang_a_call() -> None:
    assert problem({"pattern": "^(a+)+$"}, "a" * 50 + "!") == (
        f"x: expected a string that matches the pattern ^(a+)+$, got the string '{'a' * 50}!'"
    )


@pytest.mark.slow
def test_hostile_arguments_cannot_hang_a_call() -> None:
    spec = tool({f"parameter_{index}": {} for index in range(500)})
    message = problems(spec, {f"parametr_{index}": None for index in range(20_000)})
    assert len(message) == MAX_PROBLEMS
    assert message[0] == "parametr_0: no such parameter; did you mean 'parameter_0'?"
    (only,) = problems(spec, {"p" * 1_000_000: 1})
    assert only.startswith(f"{'p' * 59}…: no such parameter; the parameters are: parameter_0, parameter_1, ")


def test_long_keys_are_cut_at_every_level_of_a_path() -> None:
    inner: JsonObject = {"type": "object", "additionalProperties": {"type": "integer"}}
    message = problem({"type": "object", "additionalProperties": inner}, {"p" * 100_000: {"q" * 100_000: "x"}})
    assert message == f"x.{'p' * 59}….{'q' * 59}…: expected an integer, got the string 'x'"


def test_a_large_value_without_a_match_has_a_short_message() -> None:
    forms: list[JsonValue] = [{"type": "object", "required": [f"key_{index}"]} for index in range(100)]
    message = problem({"anyOf": forms}, {f"other_{index}": 1 for index in range(10_000)})
    assert len(message) < 1000
    assert message.startswith("x: matches none of 100 allowed forms; got an object with the keys other_0, other_1, ")


def test_null_means_that_an_optional_parameter_that_cannot_be_null_is_absent() -> None:
    spec = tool(
        {
            "owner": {"type": "string", "enum": ["ann", "bob"]},
            "state": {"type": "string", "enum": ["open", "closed"]},
            "since": {"type": "string", "format": "date"},
            "per_page": {"type": "integer", "default": 20},
            "note": {"type": ["string", "null"]},
        },
        ("owner",),
    )
    nulls: JsonObject = {"state": None, "since": None, "per_page": None, "note": None}
    assert bind(spec, nulls | {"owner": "ann"}, "c").arguments == {"owner": "ann", "per_page": 20, "note": None}
    assert problems(spec, nulls | {"owner": None}) == ("owner: expected one of 'ann', 'bob'; got null",)


def test_json_text_is_parsed_where_the_schema_allows_no_string() -> None:
    spec = tool(
        {
            "first": {"type": "integer"},
            "headers": {"type": "object", "properties": {"a": {"type": "string"}}},
            "text": {"type": "string"},
        },
        ("first",),
    )
    arguments: JsonObject = {"first": "4.0", "headers": '{"a": null}', "text": "[1]"}
    bound = bind(spec, arguments, "c")
    assert bound.arguments == {"first": 4, "headers": {}, "text": "[1]"}
    assert bound.coerced == ({"pointer": "/first", "from": "4.0"}, {"pointer": "/headers", "from": '{"a": null}'})
    assert bind(spec, '{"first": 4}', "c").coerced == ({"pointer": "", "from": '{"first": 4}'},)
    assert bind(spec, {"first": 4, "text": "[1]"}, "c").coerced == ()
    with pytest.raises(BindError) as raised:
        bind(spec, arguments, "c", json_text=False)
    assert raised.value.problems == (
        "first: expected an integer, got the string '4.0'; it must be the number itself, not its JSON text in a string",
        (
            "headers: expected an object, got the string '{\"a\": null}'; "
            "it must be the object itself, not its JSON text in a string"
        ),
    )


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        ("object", '{"a": 1, "a": 2}', "'{\"a\": 1, \"a\": 2}' (the key 'a' occurs twice in an object)"),
        ("array", "['a']", "\"['a']\" (line 1 column 2: Expecting value)"),
        ("integer", "4.5", "'4.5'"),
        ("integer", "four", "'four'"),
    ],
)
def test_text_that_cannot_be_parsed_is_explained(schema: str, text: str, message: str) -> None:
    expected = problem({"type": schema}, "")
    assert problem({"type": schema}, text) == expected.replace("''", message)


def test_parsed_text_is_checked_like_other_arguments() -> None:
    assert problem({"type": "object"}, '{"a": ' * 100 + "1" + "}" * 100).endswith("nested deeper than 64 levels")
    assert problem({"type": "array", "items": {"maxLength": 1}}, '["ab"]') == (
        "x.0: expected at most 1 character, got the string 'ab'"
    )


@pytest.mark.parametrize("empty", ["", [], {}])
def test_an_empty_value_of_an_optional_parameter_can_be_left_out(empty: JsonValue) -> None:
    spec = tool({"a": {"type": "string", "minLength": 1}, "b": {"type": "string", "minLength": 1}}, ("b",))
    optional, required = problems(spec, {"a": empty, "b": empty})
    assert optional == f"{required.replace('b:', 'a:')}; leave it out if it is not needed"
    assert "leave" not in problems(spec, {"a": 0, "b": "x"})[0]


def test_an_integer_up_to_the_largest_float_is_accepted() -> None:
    largest = int(sys.float_info.max)
    spec = tool({"x": {"type": "number", "multipleOf": 0.1}})
    assert bind(spec, {"x": largest}, "c").arguments == {"x": largest}
    assert problem({}, -largest - 1) == "x: an integer of 1024 bits is too large for JSON readers"


def test_a_huge_integer_is_refused_first() -> None:
    schemas: tuple[JsonObject, ...] = ({"multipleOf": 0.1}, {"type": "string"}, {})
    for schema in schemas:
        assert problem(schema, -(10**5000)) == "x: an integer of 16610 bits is too large for JSON readers"
    assert problem({"type": "string"}, 10**300).startswith("x: expected a string, got the number 1000")


NO_JSON = "a string that is not JSON (line 1 column"
CUT_OFF = "it may have been cut off at the maximum length of a response, so write a shorter call"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("{name: 1}", f"{NO_JSON} 2: Expecting property name enclosed in double quotes): '{{name: 1}}'"),
        ('{"name": ', f"{NO_JSON} 10: Expecting value): '{{\"name\": '; {CUT_OFF}"),
        ("", f"{NO_JSON} 1: Expecting value): ''; {CUT_OFF}"),
        ('["a"]', "the string '[\"a\"]'"),
        (
            '{"a": 1, "a": 2}',
            "a string that is not JSON (the key 'a' occurs twice in an object): '{\"a\": 1, \"a\": 2}'",
        ),
        ('{"name": 1}', "a string that contains a JSON object instead of the object: '{\"name\": 1}'"),
    ],
)
def test_arguments_as_a_string_are_explained(arguments: str, message: str) -> None:
    with pytest.raises(BindError) as error:
        bind(tool({"name": {}}), arguments, "c", json_text=False)
    assert error.value.problems == (f"arguments: expected an object, got {message}",)


@pytest.mark.parametrize("provider", STRICT)
def test_arguments_are_validated_against_the_schema_of_the_spec_for_every_strict_mode(provider: str) -> None:
    """Strict modes cannot express ``minLength`` and ``maxItems``; OpenAI's writes null for an absent value."""
    properties: JsonObject = {
        "name": {"type": "string", "minLength": 2},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
        "note": {"type": ["string", "null"]},
    }
    spec = tool(properties, ("name",), {"additionalProperties": False})
    strict = replace(spec, providers=(ProviderChoice(provider=provider, strict=True),))
    lowering = load_provider(provider).lower([strict])
    lost = {loss.pointer for loss in lowering.losses if loss.action == "folded"}
    assert "/parameters/properties/name/minLength" in lost
    assert bind(strict, {"name": "ab", "tags": None, "note": None}, "c").arguments == {"name": "ab", "note": None}
    with pytest.raises(BindError, match="name"):
        bind(strict, {"name": "a", "tags": None, "note": None}, "c")
    with pytest.raises(BindError, match="tags"):
        bind(strict, {"name": "ab", "tags": ["a", "b"], "note": None}, "c")
