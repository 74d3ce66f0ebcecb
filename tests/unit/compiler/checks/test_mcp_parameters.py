"""TC417: parameters of a tool of an MCP server accept nothing that the pinned definition refuses."""

import json
from pathlib import Path

import pytest
from check_cases import findings

from toolc.model.json_schema import JsonObject


def spec(parameters: str, schema: str) -> str:
    definition = f"{{name: find, inputSchema: {schema}}}"
    return f"""\
toolc: 1
servers: {{notes: {{command: [notes]}}}}
tools:
- name: find_note
  description: Find the notes that contain a word. Use it before you write a new note.
  parameters: {parameters}
  backend: {{mcp: {{server: notes, tool: find, definition: {definition}}}}}
"""


WORD = "{type: object, properties: {word: {type: string, maxLength: 9}}, required: [word]}"


@pytest.mark.parametrize(
    ("parameters", "schema", "place", "example", "reason"),
    [
        ("{word: {type: integer}}", WORD, "6:16", {"word": 0}, "0 is not of type 'string'"),
        ("{word: {type: string, maxLength: 10}}", WORD, "6:16", {"word": 10 * "a"}, "'aaaaaaaaaa' is too long"),
        ("{word: {type: string, maxLength: 9, optional: true}}", WORD, "6:15", {}, "'word' is missing"),
        ("{word: {enum: [a, b]}}", "{properties: {word: {const: a}}}", "6:16", {"word": "b"}, "'a' was expected"),
        (
            "{type: object, properties: {word: {type: [string, 'null']}}}",
            "{type: object, properties: {word: {$ref: '#/$defs/word'}}, $defs: {word: {type: string}}}",
            "6:43", {"word": None}, "None is not of type 'string'",
        ),
        (
            "{word: {enum: [a]}, more: {type: boolean, optional: true}}", WORD[:-1] + ", additionalProperties: false}",
            "6:15", {"word": "a", "more": True}, "Additional properties are not allowed ('more' was unexpected)",
        ),
    ],
)  # fmt: skip
def test_an_example_shows_what_the_server_refuses(
    tmp_path: Path, parameters: str, schema: str, place: str, example: JsonObject, reason: str
) -> None:
    message = f"the arguments {json.dumps(example)} are valid here, but not for the MCP server: {reason}"
    assert findings(tmp_path, "TC417", spec(parameters, schema)) == [f"tool.yaml:{place} {message}"]


@pytest.mark.parametrize(
    ("parameters", "schema"),
    [
        ("{word: {type: string, maxLength: 9}}", WORD),
        ("{word: {type: string, enum: [cat, dog]}}", WORD),
        ("{}", "{type: object}"),
        ("{word: {type: string}, more: {type: string}}", "{type: object, properties: {word: {type: string}}}"),
        ("{word: {type: integer}}", "{properties: {word: {minimum: 1, exclusiveMinimum: true}}}"),
        ("{word: {type: integer}}", "{properties: {word: {$ref: 'https://example.com/word.json'}}}"),
    ],
    ids=["same", "narrower", "no parameters", "an open object", "another dialect", "a schema elsewhere"],
)
def test_what_the_server_accepts_is_not_reported(tmp_path: Path, parameters: str, schema: str) -> None:
    assert findings(tmp_path, "TC417", spec(parameters, schema)) == []


def test_a_value_of_the_caller_must_be_one_that_the_server_accepts(tmp_path: Path) -> None:
    parameters = "{word: {type: string, maxLength: 9}, who: {type: string, from: caller.sub}}"
    schema = WORD.replace("properties: {", "properties: {who: {type: integer}, ")
    (reported,) = findings(tmp_path, "TC417", spec(parameters, schema))
    example, _ = json.JSONDecoder().raw_decode(reported, reported.index("{"))
    assert isinstance(example["who"], str)
