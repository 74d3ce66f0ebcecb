"""Arguments of a call on the command line."""

import io
from pathlib import Path

import pytest

from toolc.cli.inputs import MAX_ARGS, read_arguments
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, Schema

KEY = "k" * 100
OBJECT = """'{"path": "README.md"}'"""
NONE = Schema({"type": "object"})


def schema(**properties: JsonValue) -> Schema:
    return Schema({"type": "object", "properties": dict(properties)})


def test_arguments_are_optional() -> None:
    assert read_arguments(None, (), NONE) == {}


def test_arguments_are_json() -> None:
    assert read_arguments('{"a": [1, "x", null]}', (), NONE) == {"a": [1, "x", None]}


def test_json_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "args.json"
    file.write_text('{"a": "ä"}', encoding="utf-8")
    assert read_arguments(f"@{file}", (), NONE) == {"a": "ä"}


def test_json_comes_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"a": 1}')))
    assert read_arguments("-", (), NONE) == {"a": 1}


@pytest.mark.parametrize(
    ("args", "output"),
    [
        ("", f"--args is not JSON: line 1 column 1: Expecting value; write an object such as {OBJECT}"),
        ("{", ("--args is not JSON: line 1 column 2: Expecting property name enclosed in double quotes; "
               f"write an object such as {OBJECT}")),
        ("[1]", f"--args must be a JSON object such as {OBJECT}, not [1]"),
        ('{"a": NaN}', "--args is not JSON: NaN is not a JSON number"),
        ('{"a": 1, "a": 2}', "--args is not JSON: the key 'a' occurs twice in an object"),
        ("[" * 100_000, "--args is nested too deeply"),
        ("@/dev/zero", "--args @/dev/zero is larger than 16MiB; pass large data in a workspace file"),
        (f'{{"{KEY}": 1, "{KEY}": 2}}', f"--args is not JSON: the key '{KEY[:59]}…' occurs twice in an object"),
        ("@/nope/a.json", "--args @/nope/a.json cannot be read: No such file or directory"),
    ],
)  # fmt: skip
def test_arguments_must_be_an_object(args: str, output: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_arguments(args, (), NONE)
    assert str(raised.value) == output


def test_arguments_file_is_not_utf8(tmp_path: Path) -> None:
    file = tmp_path / "args.json"
    file.write_bytes(b'{"a": "\xe4"}')
    with pytest.raises(UsageError, match=rf"^--args @{file} is not UTF-8: invalid byte at offset 7$"):
        read_arguments(f"@{file}", (), NONE)


@pytest.mark.parametrize(
    ("declared", "typed", "value"),
    [
        ({"type": "string"}, "5", "5"), ({"type": "string"}, "a=b ", "a=b "), ({"type": "string"}, "", ""),
        ({"type": ["null", "string"]}, "null", "null"), ({"enum": ["1", "2"]}, "1", "1"),
        ({"enum": ["1", 2]}, "2", 2), ({"type": "integer"}, "5", 5), ({"type": "boolean"}, "true", True),
        ({"type": "array"}, '["a", 1]', ["a", 1]), ({}, "5", 5), ({}, "hello there", "hello there"), (True, "x", "x"),
        (None, "x", "x"),
    ],
)  # fmt: skip
def test_argument_is_parsed_by_its_type(declared: JsonValue, typed: str, value: JsonValue) -> None:
    assert read_arguments(None, (f"x={typed}",), schema(x=declared)) == {"x": value}


@pytest.mark.parametrize(
    ("pair", "output"),
    [
        ("x", "--arg 'x' is not an assignment; write --arg NAME=VALUE"),
        ("=5", "--arg '=5' is not an assignment; write --arg NAME=VALUE"),
        ("x=five", "--arg x: expected integer or null as JSON, got 'five'"),
        ("x=NaN", "--arg x: expected integer or null as JSON, got 'NaN'"),
    ],
)
def test_invalid_arguments_are_reported(pair: str, output: str) -> None:
    with pytest.raises(UsageError) as raised:
        read_arguments(None, (pair,), schema(x={"type": ["integer", "null"]}))
    assert str(raised.value) == output


def test_arg_overrides_args() -> None:
    declared = schema(a={"type": "integer"})
    expected: JsonObject = {"a": 2, "b": 1}
    assert read_arguments('{"a": 1, "b": 1}', ("a=2",), declared) == expected
    with pytest.raises(UsageError, match="--arg a appears twice"):
        read_arguments(None, ("a=1", "a=2"), declared)


def test_largest_arguments_are_read(tmp_path: Path) -> None:
    file = tmp_path / "args.json"
    file.write_bytes(b'{"a": 1}'.ljust(MAX_ARGS))
    assert read_arguments(f"@{file}", (), NONE) == {"a": 1}
    file.write_bytes(b'{"a": 1}'.ljust(MAX_ARGS + 1))
    with pytest.raises(UsageError, match="is larger than 16MiB"):
        read_arguments(f"@{file}", (), NONE)


@pytest.mark.parametrize("pairs", [("n" * 9999,), ("n" * 9999 + "=1",) * 2, ("n" * 9999 + "=x",)])
def test_long_name_is_cut_in_a_message(pairs: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as raised:
        read_arguments(None, pairs, Schema({"type": "object", "properties": {"n" * 9999: {"type": "integer"}}}))
    assert len(str(raised.value)) < 250
