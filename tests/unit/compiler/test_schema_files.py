"""What editors need of the schemas: descriptions, drafts, the project file, and the files that name the schema."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from project.paths import ROOT

from toolc.compiler.editor_schema import as_text, project_schema, spec_schema
from toolc.compiler.project.files import PROJECT_FILES
from toolc.compiler.project.project import decode_project
from toolc.compiler.project.variables import IDENTITY
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings
from toolc.model.diagnostics import Diagnostics

SCHEMAS = {"spec": spec_schema(), "project": project_schema()}

PROJECT: dict[str, Any] = {
    "defaults": {"sandbox": {"limits": {"timeout": "5s"}}},
    "vars": {"base_url": "https://example.com", "n": 3, "x": 1.5, "on": True},
    "toolsets": {"reading": ["a", "b"]},
    "builtin": ["calculator"],
    "lint": {"select": ["TC2"], "ignore": ["TC204"], "severity": {"TC301": "off", "TC2": "warning"}},
    "exclude": ["vendor/**"],
    "out": "dist",
    "review": {"accept_from": "base"},
    "policy": {
        "limits": {"timeout": "1m", "tmp": "1GiB"}, "hosts": ["*.example.com:443"], "public_egress": False,
        "images": ["registry.example.com/**"], "require": ["label", "annotations.read_only"],
        "backends": ["shell", "composite"], "expose": ["broker"], "workspace": ["none", "ro"], "lifetime": ["call"],
        "run_as": "nonroot", "min_isolation": "gvisor",
        "approvals": [{"by": ["@example/security"], "risks": ["RSK01", "high"], "paths": ["**"], "tags": ["a"]}],
    },
}  # fmt: skip


def keys(schema: Any, root: Any) -> Iterator[tuple[str, Any]]:
    """Yield each key in a schema with its schema; references are followed one step."""
    if isinstance(schema, list):
        for inner in schema:
            yield from keys(inner, root)
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if schema.get("type") == "object" and isinstance(properties, dict):
        for name, inner in properties.items():
            target = inner["$ref"].removeprefix("#/$defs/") if "$ref" in inner else None
            yield name, {**(root["$defs"][target] if target else {}), **inner}
    for name, inner in schema.items():
        if name != "if":
            yield from keys(inner, root)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_is_described(name: str) -> None:
    schema = SCHEMAS[name]
    described = [*keys(schema, schema)]
    assert len(described) > 200
    for key, text in described:
        words = text.get("description", "")
        assert words.endswith((".", "]", "}")) or "e.g." in words, key
        assert words[0] in "':" or words[0].isupper() or words[0].isalpha(), key


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_valid_in_both_drafts(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    Draft7Validator.check_schema(SCHEMAS[name])
    assert as_text(SCHEMAS[name]).isascii()


def test_schema_and_decoder_accept_valid_project_files(tmp_path: Path) -> None:
    assert [each.message for each in Draft202012Validator(project_schema()).iter_errors(PROJECT)] == []
    assert decoded(PROJECT, tmp_path) == []


def decoded(value: object, folder: Path) -> list[str]:
    path = folder / "toolc.yaml"
    path.write_text(json.dumps(value), encoding="utf-8")
    diagnostics = Diagnostics()
    document = load_project(path, "toolc.yaml", diagnostics)
    assert document is not None
    decode_project(document, folder, Findings(document.source, diagnostics))
    return [each.message for each in diagnostics.sorted()]


@pytest.mark.parametrize(
    "change",
    [
        {"tools": []}, {"lint": {"sel": []}}, {"lint": {"select": "TC2"}}, {"lint": {"severity": {"TC301": "none"}}},
        {"lint": []}, {"vars": {"a": None}}, {"vars": {"a": []}}, {"vars": []}, {"toolsets": {"a": "b"}},
        {"builtin": "calculator"}, {"exclude": "x"}, {"out": 1}, {"defaults": []}, {"defaults": {"name": "a"}},
        {"toolc": 1}, {"policy": None}, {"policy": {"limits": {"time": "1m"}}},
        {"policy": {"limits": {"timeout": 60}}}, {"policy": {"host": []}}, {"policy": {"hosts": "a.example.com:443"}},
        {"policy": {"public_egress": "no"}}, {"policy": {"require": ["name"]}}, {"policy": {"backends": ["bash"]}},
        {"policy": {"run_as": "root"}}, {"policy": {"min_isolation": "none"}},
        {"policy": {"approvals": [{"by": []}]}}, {"policy": {"approvals": [{"risks": ["high"]}]}},
        {"policy": {"approvals": [{"by": ["a"], "risks": ["worst"]}]}},
    ],
)  # fmt: skip
def test_schema_and_decoder_reject_the_same_project_files(change: dict[str, object], tmp_path: Path) -> None:
    assert not Draft202012Validator(project_schema()).is_valid({**PROJECT, **change})
    assert decoded({**PROJECT, **change}, tmp_path)


def test_the_schema_has_the_keys_of_the_project_file(tmp_path: Path) -> None:
    schema: Any = project_schema()
    (message,) = decoded({**PROJECT, "zzz": 1}, tmp_path)
    assert message == "the project file has no key 'zzz'"
    assert set(PROJECT) | {"providers"} == set(schema["properties"])
    assert not set(IDENTITY) & set(schema["$defs"]["defaults"]["properties"])


def test_the_schema_file_of_this_repository_is_up_to_date(golden: bool) -> None:
    path = ROOT / ".toolc-schema.json"
    if golden:
        path.write_text(as_text(spec_schema()), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == as_text(spec_schema()), "write it anew: make golden"


SPECS = sorted(
    path
    for path in (ROOT / "specs").rglob("*.*ml")
    if path.name not in PROJECT_FILES and ROOT / "specs/templates" not in path.parents
)
"""Templates are copied into other repositories."""


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_each_spec_of_this_repository_names_the_schema(path: Path) -> None:
    lead = "#:schema " if path.suffix == ".toml" else "# yaml-language-server: $schema="
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith(lead)
    assert (path.parent / first.removeprefix(lead)).resolve() == ROOT / ".toolc-schema.json"
