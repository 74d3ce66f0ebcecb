"""The TOML test suite for TOML 1.1, except for values that JSON cannot represent."""

import base64
import json
from pathlib import Path
from typing import Any, Final

import pytest
from project.paths import DATA

from toolc.document.loader import load_data
from toolc.document.nodes import to_json
from toolc.document.toml.toml_parser import parse_toml
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText

CASES: Final[list[dict[str, Any]]] = json.loads((DATA / "toml-test.json").read_text(encoding="utf-8"))
INVALID: Final = [case for case in CASES if case["name"].startswith("invalid/")]
VALID: Final = [case for case in CASES if case["name"].startswith("valid/")]
"""Dates, times and infinity; integers beyond 2^53."""

# Messages of the parser that must not reach a user.
PARSER_MESSAGES: Final = ("expected newline", "illegal character", "immutable", "namespace", "scalar value")


def ids(cases: list[dict[str, Any]]) -> list[str]:
    return [case["name"] for case in cases]


@pytest.mark.parametrize("case", INVALID, ids=ids(INVALID))
def test_invalid_toml_is_rejected(case: dict[str, Any]) -> None:
    diagnostics = Diagnostics()
    data = case["toml"].encode() if "toml" in case else base64.b64decode(case["base64"])
    load_data(data, Path("a.toml"), "a.toml", diagnostics)
    source = diagnostics.source("a.toml")
    assert source is not None
    errors = [each for each in diagnostics.sorted() if each.is_error]
    assert errors
    for each in errors:
        start = source.offset(each.span.start)
        assert source.span(start, start).start == each.span.start, "a finding stands in the file"
        assert not any(word in each.message.lower() for word in PARSER_MESSAGES)


@pytest.mark.parametrize("case", VALID, ids=ids(VALID))
def test_valid_toml_has_the_expected_value(case: dict[str, Any]) -> None:
    diagnostics = Diagnostics()
    expected, codes = value_of(case["json"])
    root = parse_toml(SourceText("a.toml", case["toml"].removeprefix("\ufeff")), diagnostics)
    assert {each.code.number for each in diagnostics.sorted()} == codes
    assert root is not None
    assert json.dumps(to_json(root), sort_keys=True) == json.dumps(expected, sort_keys=True)


def value_of(tagged: Any) -> tuple[Any, set[str]]:
    """Return the value of a typed value of the suite (None for a date), and the codes for values not in JSON."""
    match tagged:
        case list():
            found = [value_of(item) for item in tagged]
            return [value for value, _ in found], set().union(*(codes for _, codes in found))
        case {"type": str() as kind, "value": str() as text} if len(tagged) == 2:
            return leaf(kind, text)
        case _:
            parts = {key: value_of(value) for key, value in tagged.items()}
            codes = set().union(*(codes for _, codes in parts.values()))
            return {key: value for key, (value, _) in parts.items()}, codes


def leaf(kind: str, text: str) -> tuple[Any, set[str]]:
    match kind:
        case "string":
            return text, set()
        case "bool":
            return text == "true", set()
        case "integer":
            number = int(text)
            return number, {"TC011"} if abs(number) > 2**53 - 1 else set()
        case "float":
            return float(text), {"TC010"} if text.lstrip("+-") in {"inf", "nan"} else set()
        case _:
            return None, {"TC010"}
