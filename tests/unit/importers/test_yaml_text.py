"""Generated YAML: every reader gets the same value."""

from pathlib import Path
from typing import cast

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from toolc.document.loader import load_data
from toolc.document.nodes import to_json
from toolc.importers.yaml_text import yaml_text
from toolc.model.diagnostics import Diagnostics
from toolc.model.json_schema import JsonObject, JsonValue

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
TRAPS = st.sampled_from(
    ["yes", "No", "on", "null", "~", "1e3", "0o17", "0x1f", "1.0", "12:30:00", "2020-01-01", "", " a", "a ", "a: b",
     "a #b", "- a", "[", "{{ a }}", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "\t", "a\nb", "\x85", "\u2028",
     "\ufeff", "\x7f", "\U0001f600", "<<", "="]
)  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(1 - 2**53, 2**53 - 1) | st.floats(-1e9, 1e9) | TEXT | TRAPS
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | TRAPS, inner, max_size=4), max_leaves=20
)


def read(text: str) -> JsonValue:
    found = Diagnostics()
    document = load_data(text.encode(), Path("a.yaml"), "a.yaml", found)
    assert document is not None, [each.message for each in found.sorted()]
    assert not found.has_errors, [each.message for each in found.sorted()]
    return to_json(document.root)


@pytest.mark.slow
@given(VALUES)
def test_a_spec_is_read_as_it_was_written(value: JsonValue) -> None:
    whole: JsonObject = {"toolc": 1, "value": value}
    assert read(yaml_text(whole)) == whole


@given(TEXT | TRAPS)
def test_a_yaml_1_1_reader_gets_the_same_text(text: str) -> None:
    whole = cast("JsonObject", {"value": [text, {text: text}]})
    assert yaml.safe_load(yaml_text(whole)) == whole


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "plain words", "b": "two: parts"}, 'a: plain words\nb: "two: parts"\n'),
        ({"a": {"type": "object"}, "l": [1, "x"]}, "a: {type: object}\nl: [1, x]\n"),
        ({"a": {}, "b": []}, "a: {}\nb: []\n"),
        (
            {"tools": [{"name": "a", "description": "word " * 20}, {"name": "b"}]},
            f'tools:\n  - name: a\n    description: "{"word " * 20}"\n  - {{name: b}}\n',
        ),
        ({"$ref": "file.py", "yes": None}, '"$ref": file.py\n"yes": null\n'),
    ],
)
def test_short_values_are_on_one_line_and_quoted_only_if_needed(value: JsonObject, text: str) -> None:
    assert yaml_text(value) == text
