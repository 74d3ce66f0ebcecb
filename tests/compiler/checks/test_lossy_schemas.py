"""TC705: a part of a schema that a provider takes, and reads in another way."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked import findings, shell

from toolc.compiler import codes
from toolc.compiler.checks import lossy_schemas
from toolc.providers.gemini_schema import lower_schema
from toolc.providers.lowering import LossLog
from toolc.schema import JsonObject

ARGV = '{argv: [a, --, "{{ x }}"]}'


def test_where_they_stand(tmp_path: Path) -> None:
    text = shell("{x: {oneOf: [{type: string, format: date}, {type: integer}]}}", ARGV)
    assert findings(tmp_path, lossy_schemas, text) == [
        "tool.yaml:4:18 Gemini reads 'oneOf' as 'anyOf': a value that fits several of them passes there",
        "tool.yaml:4:41 Gemini takes 'format' of numbers only: its models read this one as words",
    ]


@pytest.mark.parametrize("schema", ["{anyOf: [{type: string}, {type: integer}]}", "{type: integer, format: int32}"])
def test_what_is_read_alike(tmp_path: Path, schema: str) -> None:
    assert findings(tmp_path, lossy_schemas, shell(f"{{x: {schema}}}", ARGV)) == []


@pytest.mark.parametrize(
    "schema", [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string", "format": "date"}]
)
def test_the_provider_says_so_too(schema: JsonObject) -> None:
    log = LossLog("tool")
    lower_schema({"type": "object", "properties": {"x": schema}}, log)
    assert log.found


def test_it_is_off() -> None:
    assert not codes.LOSSY.enabled
