"""The tables of keys are those that the declarations give; ``--golden`` writes them. Each key has a valid example."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from key_tables import class_named, maps_in, with_tables
from project.paths import ROOT

from toolc.compiler.editor_schema import project_schema, spec_schema
from toolc.model.spec.declared import keys_of, keyword_texts, texts_of
from toolc.model.spec.schema_keywords import KEYWORDS

PAGES = [ROOT / "docs/reference/spec-format.md", ROOT / "docs/reference/project-file.md"]
DEFINITIONS: Any = {**spec_schema()["$defs"], **project_schema()["$defs"]}  # type: ignore[dict-item]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_match_the_declarations(page: Any, golden: bool) -> None:
    text = page.read_text(encoding="utf-8")
    if golden:
        page.write_text(with_tables(text), encoding="utf-8")
    assert golden or text == with_tables(text), "write it anew: make golden"


def classes(*names: str) -> Iterator[type]:
    """Yield the classes with these names, and those of all maps in them."""
    for cls in map(class_named, names):
        yield cls
        for key in keys_of(cls):
            yield from classes(*(inner.__name__ for _, inner in maps_in(key.kind)))


ALL = {*classes("SpecFile", "ToolSpec", "ProjectKeys", "ProviderChoice")}


def test_every_map_has_a_table() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = {*re.findall(r"<!-- keys: (\w+) -->", shown)} - {"KEYWORDS"}
    covered = {*classes(*named)}
    assert {each.__name__ for each in ALL - covered} == set()


@pytest.mark.parametrize("cls", sorted(ALL, key=repr), ids=str)
def test_each_key_has_a_sentence_and_an_example(cls: type) -> None:
    for key in keys_of(cls):
        text = texts_of(cls)[key.field]
        assert text.sentences.endswith((".", ")")), key.name
        assert text.example or key.kind.form == "boolean" or key.name == "providers", key.name


def test_each_keyword_has_a_sentence_and_an_example() -> None:
    assert keyword_texts().keys() == KEYWORDS.keys()
    assert all(text.sentences.endswith(".") and text.example for text in keyword_texts().values())


def described(schema: Any, text: str) -> Iterator[Any]:
    """Yield each schema with a description."""
    if isinstance(schema, dict) and schema.get("description") == text:
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from described(inner, text)


@pytest.mark.parametrize("cls", sorted(ALL, key=repr), ids=str)
def test_examples_are_valid_for_the_schema(cls: type) -> None:
    for key in keys_of(cls):
        text = texts_of(cls)[key.field]
        found = [*described([spec_schema(), project_schema()], text.sentences.replace("``", "'"))]
        assert found, key.name
        if text.example:
            value = yaml.safe_load(text.example)
            validators = [Draft202012Validator({**each, "$defs": DEFINITIONS}) for each in found]
            assert any(validator.is_valid(value) for validator in validators), f"{key.name}: {text.example}"
