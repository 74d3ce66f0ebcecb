"""TC702: parameters that OpenAI's strict mode cannot say as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checked import findings, shell

from toolc.api import write_build
from toolc.compiler.checks import strict_mode
from toolc.compiler.compile import compile_specs

ARGV = '{argv: [a, {when: x, argv: ["{{ x }}"]}]}'


def spec(parameters: str, providers: str) -> str:
    return shell(parameters, ARGV, f"providers: {providers}\n")


def write(folder: Path, text: str) -> bytes:
    """The losses of a build of a spec."""
    (folder / "built.yaml").write_text(text, encoding="utf-8")
    write_build(compile_specs([folder / "built.yaml"]), folder / "build")
    return (folder / "build/loss.json").read_bytes()


def test_an_optional_parameter(tmp_path: Path) -> None:
    text = spec("{x: {type: string, optional: true}}", "{openai_chat: {strict: true}}")
    assert findings(tmp_path, strict_mode, text) == [
        "tool.yaml:4:14 'x' is optional, and strict mode requires every parameter"
    ]


def test_an_open_object(tmp_path: Path) -> None:
    text = spec("{x: {type: object, properties: {y: {type: string}}}}", "{openai_responses: {strict: true}}")
    assert findings(tmp_path, strict_mode, text) == [
        "tool.yaml:4:18 this object is open, and strict mode wants every object closed"
    ]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ("{x: {type: object}}", "4:14 OpenAI's strict mode cannot say an object with names of a call's own"),
        ("{x: {}}", "4:14 OpenAI's strict mode cannot say a value of which no type is said"),
        (
            "{x: {type: array, items: {anyOf: [{type: string}, {}]}}}",
            "4:63 OpenAI's strict mode cannot say a value of which no type is said",
        ),
        (
            "{type: object, properties: {x: {patternProperties: {a: {type: string}}}}, required: [x]}",
            "4:45 OpenAI's strict mode cannot say patternProperties",
        ),
    ],
)
def test_what_strict_mode_cannot_say_at_all_is_what_the_build_cannot_lower(
    tmp_path: Path, parameters: str, found: str
) -> None:
    text = spec(parameters, "{openai_chat: {strict: true}}")
    wanted = f"tool.yaml:{found}; the definition is not strict"
    assert findings(tmp_path, strict_mode, text) == [wanted]
    loss = json.loads(write(tmp_path, text))["openai_chat"]
    assert [each["message"] for each in loss if "strict" in each["message"]] == [wanted.partition(" ")[2]]


@pytest.mark.parametrize("providers", ["{}", "{openai_chat: {strict: false}}", "{anthropic: {strict: true}}"])
def test_only_where_it_is_asked_for(tmp_path: Path, providers: str) -> None:
    assert findings(tmp_path, strict_mode, spec("{x: {type: string, optional: true}}", providers)) == []


def test_what_strict_mode_can_say(tmp_path: Path) -> None:
    closed = "{x: {type: object, properties: {}, additionalProperties: false}}"
    assert findings(tmp_path, strict_mode, spec(closed, "{openai_chat: {strict: true}}")) == []
