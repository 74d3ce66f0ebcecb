"""The table of what providers and clients refuse in an MCP definition, which clients pass on as it is.

One refused definition ends the whole session of a user. The table has only what is refused, not what is ignored. It is
for requests without a strict mode. The sources are in the decision record 70.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from toolc.model.text import lazy_re
from toolc.validation.pattern_speed import compile_python

Rule: TypeAlias = Literal[
    "choice_at_root", "value_at_root", "no_properties", "no_items", "pattern", "property_name", "ref_property",
    "undeclared", "reference_siblings", "reference", "recursion", "empty_text", "enum_value", "boolean", "false_items",
    "closed", "identity", "dangling", "name", "first_character", "repeated_name", "description", "root_type", "invalid",
]  # fmt: skip
"""A row of the table."""

_COLUMNS: Final = (
    "Anthropic", "Bedrock", "OpenAI", "Copilot", "Gemini", "VS Code", "google-genai", "ADK", "Agents SDK",
)  # fmt: skip

PROVIDERS: Final = frozenset(_COLUMNS[:6])
"""The providers, and VS Code, which refuses a definition before it sends it. The other columns are SDKs."""

_REFUSES: Final = "X"
ROWS: Final[dict[Rule, tuple[str, str, str]]] = {
    # rule               A B O C G V g a s   refused part, and what to write instead
    "choice_at_root":     ("X X X X . . . . .", "a choice at the root of the parameters",
                           "make two tools, or add a parameter with an enum that selects the other parameters"),
    "value_at_root":      (". . X X . . . . .", "const, enum or not at the root of the parameters", "remove it"),
    "no_properties":      (". . X X . . . . .", "parameters without properties", "add properties: {}"),
    "no_items":           (". . X . X X . . .", "an array without items", "add items: {}"),
    "pattern":            (". . X . . . . . .", "a pattern that Python's re cannot compile, or with look-around",
                           "write a simpler pattern, and the rest into the description"),
    "property_name":      ("X X . . . . . . .", "a parameter with this name", "use 1 to 64 of A-Z a-z 0-9 _ . -"),
    "ref_property":       (". . . . . . . X .", "a property with the name $ref", "use another name"),
    "undeclared":         (". . . . X . . . .", "a required property that is not declared", "add it to properties"),
    "reference_siblings": (". . . . X . . . X", "keywords next to $ref",
                           "write anyOf: [{$ref: ...}] next to these keywords"),
    "reference":          (". . . . . . X . X", "a reference that is not #/$defs/NAME", "move its schema to $defs"),
    "recursion":          (". . . . X . . . .", "a recursive reference that is not below an optional property",
                           "make a property between the two optional"),
    "empty_text":         (". . . . X . . . .", "an empty text in enum", "leave it out, or make the value optional"),
    "enum_value":         (". . . . . . . X .", "an enum with values that are not text",
                           "say in the description which values are allowed, or make them texts"),
    "boolean":            (". . . . . . X . X", "true or false as a schema", "write {} or {not: {}}"),
    "false_items":        (". . . . . X X . X", "items: false", "write items: {not: {}}"),
    "closed":             (". . . . . . X . .", "a boolean additionalProperties", "leave it out, or write {} for true"),
    "identity":           (". . X . . . . . X", "an $id that is nested or not a URI", "remove it"),
    "dangling":           (". . . . X . X . .", "a reference that leads to no schema", "correct it"),
    "name":               ("X X X X . . . . .", "a tool with this name", "use 1 to 64 of A-Z a-z 0-9 _ -"),
    "first_character":    (". . . . X . . . .", "a name that starts with this character", "start with a letter or _"),
    "repeated_name":      ("X . . . X . . . .", "two tools with the same name", "rename one"),
    "description":        (". X . . . . . . .", "an empty description", "say what the tool does, and when to use it"),
    "root_type":          ("X X X X X . . . .", "parameters that are not an object", "add type: object"),
    "invalid":            ("X X X . . . . . .", "a schema that is not JSON Schema 2020-12", "correct it"),
}  # fmt: skip
"""Who refuses a part (``X`` in the columns), the part, and what to write instead."""

_LOOK_AROUND: Final = lazy_re(r"\(\?<?[=!]")
_NAMES: Final = lazy_re(r"[a-zA-Z0-9_.-]{1,64}")
_URI: Final = lazy_re(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")


class Refusal(NamedTuple):
    """A part of a definition that a client refuses, with its JSON Pointer.

    ``done`` says what the portable definition has instead. It is empty if that has the same meaning. ``action`` is that
    of a ``Loss``. ``is_consequence``: another part had to change because of the refused one.
    """

    rule: Rule
    pointer: str
    done: str = ""
    action: str = ""
    is_consequence: bool = False

    @property
    def message(self) -> str:
        """The clients that refuse the part, and the part."""
        names = clients(self.rule)
        listed = f"{', '.join(names[:-1])} and {names[-1]} refuse" if len(names) > 1 else f"{names[0]} refuses"
        return f"{listed} {ROWS[self.rule][1]}"

    @property
    def hint(self) -> str:
        """What to write instead."""
        return ROWS[self.rule][2]


def clients(rule: Rule) -> list[str]:
    """Return the providers and clients that refuse a part, in the order of the columns."""
    marks = ROWS[rule][0].split()
    return [name for name, mark in zip(_COLUMNS, marks, strict=True) if mark == _REFUSES]


def is_refused_pattern(pattern: object) -> bool:
    """Return whether OpenAI refuses a regular expression."""
    if not isinstance(pattern, str) or _LOOK_AROUND.search(pattern):
        return isinstance(pattern, str)
    try:
        compile_python(pattern)
    except (re.error, OverflowError, RecursionError):
        return True
    return False


def refused_name(name: str, *, is_root: bool) -> Rule | None:
    """Return the rule that the name of a property breaks."""
    if is_root and not _NAMES.fullmatch(name):
        return "property_name"
    return "ref_property" if name == "$ref" else None


def is_refused_id(value: object, *, is_root: bool) -> bool:
    """Return whether ``value`` is an ``$id`` that is refused."""
    return isinstance(value, str) and not (is_root and _URI.fullmatch(value))
