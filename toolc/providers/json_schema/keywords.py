"""The table of the keywords that each target keeps, folds into the description, drops or refuses.

A target is the subset of JSON Schema that one or more providers accept. Plain definitions of OpenAI, Anthropic,
Bedrock, Mistral, Cohere and MCP accept every keyword except at the root (``lower_plain``), and are not in the table.

A keyword is folded or dropped only if the schema allows more values without it. The validation of a call's arguments
refuses these values. A keyword is refused if the schema would forbid some valid values without it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from toolc.model.json_schema import JsonValue
from toolc.model.text import lazy_re

Subset: TypeAlias = Literal["openai", "anthropic", "cohere", "gemini", "ollama"]
"""A column of the table. The strict modes of Anthropic, Bedrock and Mistral share ``anthropic``."""

Keeps: TypeAlias = Callable[[JsonValue, list[str]], bool]
Rule: TypeAlias = Literal["keep", "fold", "drop", "refuse"] | Keeps
"""What to do with a keyword. A function decides by its value and the schema's types whether to keep or to fold it."""

_LOOK_AROUND: Final = lazy_re(r"\(\?<?[=!]")
_ANCHOR_OR_LOOK_AROUND: Final = lazy_re(r"[\^$]|\?<?[=!]")

_FORMATS: Final = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"})


def _has_no_look_around(value: JsonValue, _types: list[str]) -> bool:
    return not _LOOK_AROUND.search(str(value))


def _has_no_anchor(value: JsonValue, _types: list[str]) -> bool:
    return not _ANCHOR_OR_LOOK_AROUND.search(str(value))


def _is_zero_or_one(value: JsonValue, _types: list[str]) -> bool:
    return value in (0, 1)


def _is_boolean(value: JsonValue, _types: list[str]) -> bool:
    return isinstance(value, bool)


def _is_of_number(_value: JsonValue, types: list[str]) -> bool:
    return bool(types) and {"integer", "number"}.issuperset(types)


def _one_of(formats: frozenset[str]) -> Keeps:
    return lambda value, _types: value in formats


_ROWS: Final[dict[str, tuple[Rule, Rule, Rule, Rule, Rule]]] = {
    # keyword               openai   anthropic  cohere   gemini   ollama
    "$ref":                 ("keep", "keep", "keep", "keep", "fold"),
    "type":                 ("keep", "keep", "keep", "keep", "keep"),
    "title":                ("keep", "keep", "keep", "keep", "keep"),
    "description":          ("keep", "keep", "keep", "keep", "keep"),
    "enum":                 ("keep", "keep", "keep", "keep", "keep"),
    "const":                ("keep", "keep", "keep", "keep", "fold"),
    "anyOf":                ("keep", "keep", "keep", "keep", "keep"),
    "oneOf":                ("fold", "fold", "fold", "fold", "fold"),
    "allOf":                ("refuse", "refuse", "refuse", "fold", "fold"),
    "properties":           ("keep", "keep", "keep", "keep", "keep"),
    "required":             ("keep", "keep", "keep", "keep", "keep"),
    "additionalProperties": ("keep", "keep", "keep", "keep", _is_boolean),
    "patternProperties":    ("refuse", "refuse", "refuse", "fold", "fold"),
    "items":                ("keep", "keep", "keep", "keep", "keep"),
    "prefixItems":          ("refuse", "refuse", "refuse", "keep", "fold"),
    "minItems":             ("keep", _is_zero_or_one, "fold", "keep", "fold"),
    "maxItems":             ("keep", "fold", "fold", "keep", "fold"),
    "minimum":              ("keep", "fold", "fold", "keep", "fold"),
    "maximum":              ("keep", "fold", "fold", "keep", "fold"),
    "exclusiveMinimum":     ("keep", "fold", "fold", "fold", "fold"),
    "exclusiveMaximum":     ("keep", "fold", "fold", "fold", "fold"),
    "multipleOf":           ("keep", "fold", "fold", "fold", "fold"),
    "pattern":              (_has_no_look_around, "fold", _has_no_anchor, "fold", "fold"),
    "format":               (_one_of(_FORMATS), _one_of(_FORMATS | {"uri"}),
                             _one_of(frozenset({"date", "date-time", "time", "uuid"})), _is_of_number, "fold"),
    "$dynamicRef":          ("refuse", "refuse", "refuse", "drop", "drop"),
}  # fmt: skip

_FOLDED: Final = frozenset(
    {
        "contains", "contentEncoding", "contentMediaType", "contentSchema", "default", "dependentRequired",
        "dependentSchemas", "deprecated", "else", "examples", "if", "maxContains", "maxLength", "maxProperties",
        "minContains", "minLength", "minProperties", "not", "propertyNames", "readOnly", "then", "unevaluatedItems",
        "unevaluatedProperties", "uniqueItems", "writeOnly",
    }
)  # fmt: skip
"""The keywords that every target folds. Keywords that are also not in the table are unknown, and are dropped."""

_COLUMNS: Final = ("openai", "anthropic", "cohere", "gemini", "ollama")


def rules_of(subset: Subset) -> dict[str, Rule]:
    """Return the rule of each known keyword for a target."""
    column = _COLUMNS.index(subset)
    return {**dict.fromkeys(_FOLDED, "fold"), **{keyword: row[column] for keyword, row in _ROWS.items()}}
