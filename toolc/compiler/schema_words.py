"""What ``jsonschema`` finds wrong with a value, in the words of the other findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolc.document.map_reader import listed

if TYPE_CHECKING:
    from jsonschema import ValidationError

_LONGEST: Final = 300
_TYPES: Final = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a map",
    "string": "a string",
}


def in_words(error: ValidationError) -> str:
    """What is wrong, as the rest of a line that names the value."""
    wanted, value = error.validator_value, error.instance
    match error.validator:
        case "type":
            types = wanted if isinstance(wanted, list) else [wanted]
            return f"{_shown(value)} is not {' or '.join(_TYPES.get(str(each), str(each)) for each in types)}"
        case "required" if isinstance(wanted, list) and isinstance(value, dict):
            missing = [str(name) for name in wanted if name not in value]
            # One error tells of one name: its message is the only place that says of which.
            return next((f"'{name}' is missing" for name in missing if error.message.startswith(f"{name!r} ")), "")
        case "enum" if isinstance(wanted, list):
            return f"{_shown(value)} is not one of {', '.join(map(_written, wanted))}"[:_LONGEST]
        case "const":
            return f"{_shown(value)} is not {_written(wanted)}"[:_LONGEST]
        case _:
            return error.message[:_LONGEST]


def no_such_key(key: str, declared: list[str]) -> str:
    """That a closed map takes no ``key``; ``declared`` are the keys that it takes."""
    return f"there is no '{key[:60]}'" + (f", only {listed(declared)}"[:_LONGEST] if declared else "")


def _shown(value: object) -> str:
    match value:
        case str():
            return f"the text {_written(value)}"
        case list():
            return "a list"
        case dict():
            return "a map"
        case _:
            return _written(value)


def _written(value: object) -> str:
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}…"
