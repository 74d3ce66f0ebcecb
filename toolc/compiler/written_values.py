"""Values as they are written into a spec: in YAML or TOML, on one line, or as a block of lines."""

from __future__ import annotations

import json
import re
from typing import Final

from toolc.model.json_schema import JsonValue

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What YAML and TOML want escaped, and JSON does not."""


class UnwritableError(ValueError):
    """A value that the language has no word for; ``str(error)`` says which."""


def in_yaml(value: JsonValue) -> str:
    """A value on one line of YAML. Raises ``UnwritableError``."""
    match value:
        case dict():
            return "{" + ", ".join(f"{yaml_key(key)}: {in_yaml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(in_yaml, value)) + "]"
        case _:
            return _scalar(value)


def in_toml(value: JsonValue) -> str:
    """A value on one line of TOML, which has no null. Raises ``UnwritableError``."""
    match value:
        case None:
            raise UnwritableError("TOML has no null")
        case dict():
            return "{" + ", ".join(f"{toml_key(key)} = {in_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(in_toml, value)) + "]"
        case _:
            return _scalar(value)


def yaml_key(key: str) -> str:
    """A key of a map in YAML, in quotes where another reader could take it for something else."""
    return key if _PLAIN_KEY.fullmatch(key) and key.lower() not in _WORDS else _scalar(key)


def toml_key(key: str) -> str:
    """A key of a table in TOML, in quotes where it needs them."""
    return key if _PLAIN_KEY.fullmatch(key) else _scalar(key)


def yaml_block(text: str, indent: int) -> str | None:
    """A text as a literal block whose lines are indented by so many spaces; None where it cannot stand so."""
    lines = text.removesuffix("\n").split("\n")
    is_odd = any(not line.isprintable() or line != line.rstrip() for line in lines)
    if not text.strip() or is_odd or lines[0].startswith(" ") or not lines[-1]:
        return None
    end = "" if text.endswith("\n") else "-"
    return f"|{end}\n" + "\n".join(f"{' ' * indent}{line}" if line else "" for line in lines)


def toml_block(text: str) -> str:
    """A text as a string of several lines. Raises ``UnwritableError``."""
    return '"""\n' + "\n".join(_scalar(line)[1:-1] for line in text.split("\n")) + '"""'


def _scalar(value: JsonValue) -> str:
    """What JSON, YAML and TOML write alike."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError as error:
        raise UnwritableError("it holds half a character, or a number that is none") from error
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
