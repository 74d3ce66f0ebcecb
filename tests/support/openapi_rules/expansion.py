"""Expand one value of a request as RFC 6570, 3.2, and the OpenAPI Specification, 4.8.12 (style values), say."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import quote

from toolc.model.json_schema import JsonObject, JsonValue

RESERVED: Final = ":/?#[]@!$&'()*+,;="


class Operator(NamedTuple):
    """A row of the table in RFC 6570, appendix A."""

    first: str
    separator: str
    is_named: bool
    if_empty: str


OPERATORS: Final[Mapping[str, Operator]] = {
    "simple": Operator("", ",", False, ""),
    "label": Operator(".", ".", False, ""),
    "matrix": Operator(";", ";", True, ""),
    "form": Operator("", "&", True, "="),
}
DELIMITERS: Final = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}


def text_of(value: JsonValue) -> str:
    """Return the text of a scalar. OpenAPI leaves it open; this is the one of JSON, which all tools send."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def expand(name: str, value: JsonValue, style: str, *, explode: bool, safe: str = "") -> str:
    """Return the text of a value, without a ``?`` before it. An undefined value is empty."""
    if value is None or value in ([], {}):
        return ""
    if style in DELIMITERS and not explode:
        words = [word for pair in _pairs(value) for word in pair if word is not None]
        return f"{quote(name, safe='')}={DELIMITERS[style].join(quote(each, safe=safe) for each in words)}"
    if style == "deepObject":
        assert isinstance(value, dict)
        pairs = ((quote(f"{name}[{key}]", safe=""), text_of(each)) for key, each in value.items())
        return "&".join(f"{key}={quote(text, safe=safe)}" for key, text in pairs)
    operator = OPERATORS["form" if style in DELIMITERS else style]
    if explode and isinstance(value, dict | list):
        items = [
            _named(key if key is not None else name, text, operator, safe)
            if operator.is_named
            else f"{quote(key, safe='')}={quote(text, safe=safe)}"
            if key is not None
            else quote(text, safe=safe)
            for key, text in _pairs(value)
        ]
        return operator.first + operator.separator.join(items)
    joined = ",".join(quote(word, safe=safe) for pair in _pairs(value) for word in pair if word is not None)
    if not operator.is_named:
        return operator.first + joined
    return operator.first + quote(name, safe="") + (f"={joined}" if joined else operator.if_empty)


def _named(name: str, text: str, operator: Operator, safe: str) -> str:
    return quote(name, safe="") + (f"={quote(text, safe=safe)}" if text else operator.if_empty)


def _pairs(value: JsonValue) -> list[tuple[str | None, str]]:
    if isinstance(value, dict):
        return [(key, text_of(each)) for key, each in value.items()]
    return [(None, text_of(each)) for each in (value if isinstance(value, list) else [value])]


def example(kind: str, *, is_hard: bool) -> JsonValue:
    """Return the value that the specification uses in its examples of styles, or one with characters to escape."""
    colors: JsonObject = {"R": 100, "G": 200, "B": 150}
    easy: dict[str, JsonValue] = {
        "string": "blue", "array": ["blue", "black", "brown"], "object": colors, "integer": 7, "number": 1.5,
        "boolean": True,
    }  # fmt: skip
    hard: dict[str, JsonValue] = {
        "string": "a b/ü&=?+%,;|", "array": ["a,b", "c d|e", "&=%"], "object": {"x y": "1&2", "z": "ü,/"},
    }  # fmt: skip
    kind = kind if kind in easy else "string"
    return hard.get(kind, easy[kind]) if is_hard else easy[kind]
