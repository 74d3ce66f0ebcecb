"""``toolc schema``, and its use in the files of ``toolc init``."""

import json
from pathlib import Path

import pytest
from cli.command_line import toolc
from jsonschema import Draft202012Validator


@pytest.mark.parametrize(
    ("options", "part"), [((), '"title": "toolc spec, format 1"'), (("--project",), '"toolsets": {')]
)
def test_it_prints_the_schema_of_specs_or_of_the_project_file(options: tuple[str, ...], part: str) -> None:
    printed = toolc("schema", *options)
    Draft202012Validator.check_schema(json.loads(printed.stdout))
    assert (printed.exit_code, part in printed.stdout) == (0, True)


def test_init_writes_the_schema_of_its_specs(tmp_path: Path) -> None:
    assert toolc("init", str(tmp_path / "t")).exit_code == 0
    printed = toolc("schema").stdout
    for spec in sorted((tmp_path / "t" / "specs").glob("*.yaml")):
        lead, _, name = spec.read_text(encoding="utf-8").splitlines()[0].partition("=")
        assert lead == "# yaml-language-server: $schema"
        assert (spec.parent / name).read_text(encoding="utf-8") == printed
