"""``toolc schema``, and its use in the files of ``toolc init``."""

import json
from pathlib import Path

import pytest
from command_line import run
from jsonschema import Draft202012Validator


def test_it_prints_the_schema_of_specs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("schema") == 0
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == "toolc spec, format 1"


def test_it_prints_the_schema_of_the_project_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("schema", "--project") == 0
    schema = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert "toolsets" in schema["properties"]


def test_init_writes_the_schema_of_its_specs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "t")) == 0
    capsys.readouterr()
    assert run("schema") == 0
    printed = capsys.readouterr().out
    for spec in sorted((tmp_path / "t" / "specs").glob("*.yaml")):
        lead, _, name = spec.read_text(encoding="utf-8").splitlines()[0].partition("=")
        assert lead == "# yaml-language-server: $schema"
        assert (spec.parent / name).read_text(encoding="utf-8") == printed
