"""Set and remove one entry in the configuration file of another program. All other text stays byte for byte.

The entry is a member of an object at the top of the file, such as ``mcpServers`` in JSON (comments and trailing commas
are accepted), a table such as ``[mcp_servers.NAME]`` in TOML, or a key of a block map in YAML. The new text must parse
to the old data with this one change. If it does not, the edit is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple, TypeAlias

import tomli
import yaml

from toolc.dataclass import dataclass
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import BOM

Format: TypeAlias = Literal["json", "toml", "yaml"]

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"'
_COMMENTS: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMAS: Final = re.compile(rf"{_STRING}|,(?=\s*[\]}}])")


@dataclass(frozen=True, slots=True)
class EntryPlace:
    """Where an entry is: the format of the file, the key of the object at its top, and the name of the entry."""

    format: Format
    key: str
    name: str

    def entries(self, text: str) -> JsonObject:
        """Return all entries of the object. Raises ``UsageError``."""
        found = self._data(text).get(self.key, {})
        if not isinstance(found, dict) and (found is not None or self.format != "yaml"):
            raise UsageError(f"{self.key} is not an object")
        return found or {}

    def edited(self, text: str, entry: JsonObject | None) -> str:
        """Return the text in which the entry is ``entry``, or without it if that is None. Raises ``UsageError``."""
        known = self.entries(text)
        if known.get(self.name) == entry:
            return text
        others = {name: each for name, each in known.items() if name != self.name}
        bare = text.removeprefix(BOM)
        edited = text[: len(text) - len(bare)] + _EDITS[self.format](bare, self, entry)
        with suppress(UsageError):
            entries = others if entry is None else {**others, self.name: entry}
            if {**self._data(text), self.key: entries} == {self.key: {}, **self._data(edited)}:
                return edited
        raise UsageError(f"{self.key} is written in a way that toolc cannot edit")

    def _data(self, text: str) -> JsonObject:
        """Return the data of the file. An empty file has none. Raises ``UsageError``."""
        text = text.removeprefix(BOM)
        try:
            if self.format == "toml":
                data: JsonValue = tomli.loads(text)
            elif self.format == "yaml":
                data = yaml.safe_load(text)
            else:
                data = json.loads(plain_json(text).strip() or "{}")
        except (ValueError, yaml.YAMLError, RecursionError) as error:
            raise UsageError(f"it is not valid {self.format.upper()}: {' '.join(str(error).split())}") from None
        if not isinstance(data, dict | None):
            raise UsageError("it is not an object")
        return data or {}


class _Member(NamedTuple):
    """The offsets of a member of a JSON object: its key, its value and its end."""

    key: int
    value: int
    end: int


def _edit_json(text: str, place: EntryPlace, entry: JsonObject | None) -> str:
    plain = plain_json(text)
    opened = plain.find("{")
    if opened < 0:
        return text + json.dumps({place.key: {place.name: entry}}, indent=2, ensure_ascii=False) + "\n"
    top = _members(plain, opened)
    unit = (_indentation(text, min(top.values()).key) if top else "") or "  "
    if place.key not in top:
        return _inserted(text, opened, place.key, {place.name: entry}, unit)
    opened = top[place.key].value
    entries = _members(plain, opened)
    if place.name not in entries:
        return _inserted(text, opened, place.name, entry, unit)
    member = entries[place.name]
    if entry is None:
        return _removed(text, entries, member)
    return text[: member.value] + _json(entry, text, unit, _indentation(text, member.key)) + text[member.end :]


def plain_json(text: str) -> str:
    """Return the text as plain JSON of the same length, in which comments and trailing commas are spaces."""
    return _TRAILING_COMMAS.sub(_blank, _COMMENTS.sub(_blank, text))


def _blank(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])


def _members(plain: str, opened: int) -> Mapping[str, _Member]:
    """Return the members of the object whose brace is at ``opened``."""
    decode = json.JSONDecoder().raw_decode
    found: dict[str, _Member] = {}
    at = _skip(plain, opened + 1)
    while plain[at] != "}":
        key, end = decode(plain, at)
        value = _skip(plain, _skip(plain, end) + 1)
        found[key] = _Member(at, value, decode(plain, value)[1])
        at = _skip(plain, found[key].end)
        at = _skip(plain, at + 1) if plain[at] == "," else at
    return found


def _skip(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(" \t\r\n"))


def _indentation(text: str, at: int) -> str:
    """Return the white space at the start of the line of an offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _json(value: JsonValue, text: str, unit: str, indent: str) -> str:
    """Return a value on several lines that are indented like ``text``."""
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", _line_end(text) + indent)


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _inserted(text: str, opened: int, key: str, value: JsonValue, unit: str) -> str:
    """Return the text with a member at the end of the object whose brace is at ``opened``."""
    plain = plain_json(text)
    members = _members(plain, opened)
    end = max((member.end for member in members.values()), default=opened + 1)
    closed = _skip(plain, end)
    indent = _indentation(text, min(members.values()).key) if members else ""
    indent = indent or _indentation(text, opened) + unit
    line = f"{_line_end(text)}{indent}{json.dumps(key)}: {_json(value, text, unit, indent)}"
    has_comma = "," in _COMMENTS.sub(_blank, text)[end:closed]
    comma = "," if members and not has_comma else ""
    last = max(end, len(text[:closed].rstrip()))  # after the comments behind the last member
    brace = "" if "\n" in text[last:closed] else _line_end(text) + _indentation(text, opened)
    return text[:end] + comma + text[end:last] + line + ("," if has_comma else "") + brace + text[last:]


def _removed(text: str, members: Mapping[str, _Member], member: _Member) -> str:
    """Return the text without a member, the white space before it, and one comma."""
    uncommented = _COMMENTS.sub(_blank, text)
    start, end = len(text[: member.key].rstrip()), _skip(uncommented, member.end)
    before = [each.end for each in members.values() if each.end < member.key]
    if uncommented[end] == "," or not before:
        return text[:start] + text[end + 1 if uncommented[end] == "," else member.end :]
    comma = uncommented.index(",", max(before))
    return text[:comma] + text[comma + 1 : start] + text[member.end :]


def _edit_toml(text: str, place: EntryPlace, entry: JsonObject | None) -> str:
    lines = _lines(text, entry)
    header = re.compile(rf"""[ \t]*\[[ \t]*{place.key}[ \t]*\.[ \t]*(["']?){re.escape(place.name)}\1[ \t]*[.\]]""")
    start = next((number for number, line in enumerate(lines) if header.match(line)), len(lines))
    others = (number for number in range(start, len(lines)) if re.match(r"[ \t]*\[", lines[number]))
    end = _end_of_block(lines, start, next((each for each in others if not header.match(lines[each])), len(lines)))
    if entry is None:
        while end == len(lines) and start and not lines[start - 1].strip():
            start -= 1
        return _replaced(text, lines, start, end, [])
    gap = [""] if lines and start == len(lines) else []
    table = [f"[{place.key}.{place.name}]", *(f"{key} = {_toml(value)}" for key, value in entry.items())]
    return _replaced(text, lines, start, end, [*gap, *table])


def _toml(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False, default=str)


def _edit_yaml(text: str, place: EntryPlace, entry: JsonObject | None) -> str:
    lines = _lines(text, entry)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    top = {key.value: (key.start_mark.line, value) for key, value in root.value} if root else {}
    if place.key not in top:
        return _replaced(text, lines, len(lines), len(lines), [f"{place.key}:", *_yaml(place.name, entry, "  ")])
    at, node = top[place.key]
    if not node.value or node.tag.endswith(":null"):
        lines[at] = re.sub(r":[ \t]*(?:\{[ \t]*\}|null|~)?", ":", lines[at], count=1)
        return _replaced(text, lines, at + 1, at + 1, _yaml(place.name, entry, "  "))
    known = {key.value: key.start_mark for key, _ in node.value}
    column = min(mark.column for mark in known.values())
    start = end = at + 1
    if place.name in known:
        start = known[place.name].line
        later = [*(mark.line for mark in known.values()), *(line for line, _ in top.values())]
        end = _end_of_block(lines, start, min((line for line in later if line > start), default=len(lines)))
    if entry is None and len(known) == 1:
        lines[at] = lines[at].replace(":", ": {}", 1)  # without a value it would be null
    return _replaced(text, lines, start, end, _yaml(place.name, entry, " " * column))


def _yaml(name: str, entry: JsonObject | None, indent: str) -> list[str]:
    if entry is None:
        return []
    values = (f"{indent}  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items())
    return [f"{indent}{name}:", *values]


def _lines(text: str, entry: JsonObject | None) -> list[str]:
    """Return the lines with their ends. An entry that is added must not continue an unfinished last line."""
    return re.findall(r"[^\n]*\n|[^\n]+", f"{text}{_line_end(text)}" if entry and text[-1:] not in {"", "\n"} else text)


def _end_of_block(lines: Sequence[str], start: int, end: int) -> int:
    """Return the end of a block without the blank lines and comments behind it, which belong to what follows."""
    while end > start and re.match(r"\s*(#|$)", lines[end - 1]):
        end -= 1
    return end


def _replaced(text: str, lines: Sequence[str], start: int, end: int, new: Sequence[str]) -> str:
    """Return the text in which the lines from ``start`` to ``end`` are the lines ``new``."""
    return "".join([*lines[:start], *(line + _line_end(text) for line in new), *lines[end:]])


_EDITS: Final[Mapping[Format, Callable[[str, EntryPlace, JsonObject | None], str]]] = {
    "json": _edit_json, "toml": _edit_toml, "yaml": _edit_yaml,
}  # fmt: skip
