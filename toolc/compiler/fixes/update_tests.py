"""Write the results of tests into their specs (``toolc test --update``). All other text stays unchanged.

After the edits of each test, the file is parsed again. If its meaning is not as expected, the edits are undone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Final, TypeAlias

from toolc.compiler.fixes.apply import apply_fix, rewrite
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.pipeline.compile_file import FileCompiler
from toolc.compiler.project.discovery import Projects, SpecFile
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.dataclass import dataclass
from toolc.document import nodes
from toolc.document.edits import is_toml, remove_entry
from toolc.model.diagnostics import Diagnostics, Edit, Fix
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import SourceText
from toolc.model.text import lazy_re

_PLAIN_KEY: Final = lazy_re(r"[A-Za-z_][A-Za-z0-9_-]*")
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_UNPRINTABLE: Final = lazy_re("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that must be escaped in YAML and TOML, but not in JSON."""

Route: TypeAlias = tuple[str, ...]
"""Keys below ``expect``, such as ``("files", "a.txt")``."""


class UnwritableError(ValueError):
    """Raised for a value that the language cannot represent. ``str(error)`` names the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationUpdate:
    """The new expectations of test ``index`` (from 0) of a tool, as ``values`` to set and routes to remove."""

    tool: LocatedTool
    index: int
    values: Mapping[Route, JsonValue]
    removed: frozenset[Route] = frozenset()


@dataclass(frozen=True, slots=True)
class Updated:
    """The updates that were made, and the reasons why the others were not."""

    applied: tuple[ExpectationUpdate, ...]
    rejected: tuple[tuple[ExpectationUpdate, str], ...]


def update_tests(updates: Sequence[ExpectationUpdate]) -> Updated:
    """Write ``updates`` into their files. Raises ``UsageError`` if a file cannot be written."""
    applied: list[ExpectationUpdate] = []
    rejected: list[tuple[ExpectationUpdate, str]] = []
    for path in dict.fromkeys(each.tool.path for each in updates):
        file = _File.read(path)
        # From the end of the file, so that an edit does not move the others.
        for each in sorted((each for each in updates if each.tool.path == path), key=_position, reverse=True):
            if reason := file.apply(each):
                rejected.append((each, reason))
            else:
                applied.append(each)
        file.write()
    rejected.sort(key=lambda each: _position(each[0]))
    return Updated(tuple(sorted(applied, key=_position)), tuple(rejected))


def _inline(value: JsonValue, *, toml: bool) -> str:
    """Return a value as one line of YAML or TOML. Raises ``UnwritableError``."""
    match value:
        case None if toml:
            raise UnwritableError("TOML has no null")
        case dict():
            return "{" + ", ".join(_pairs(value, toml=toml)) + "}"
        case list():
            return "[" + ", ".join(_inline(each, toml=toml) for each in value) + "]"
        case _:
            return _scalar(value)


def _pairs(values: Mapping[str, JsonValue], *, toml: bool) -> Iterator[str]:
    """Yield keys with their values. A key is quoted if a parser could read it as another type."""
    for key, value in values.items():
        is_plain = _PLAIN_KEY.fullmatch(key) and (toml or key.lower() not in _WORDS)
        yield f"{key if is_plain else _scalar(key)}{' =' if toml else ':'} {_inline(value, toml=toml)}"


def _yaml_block(text: str, indent: int) -> str | None:
    """Return a text as a YAML literal block indented by ``indent`` spaces, or None if that is not possible."""
    lines = text.removesuffix("\n").split("\n")
    is_odd = any(not line.isprintable() or line != line.rstrip() for line in lines)
    if not text.strip() or is_odd or lines[0].startswith(" ") or not lines[-1]:
        return None
    end = "" if text.endswith("\n") else "-"
    return f"|{end}\n" + "\n".join(f"{' ' * indent}{line}" if line else "" for line in lines)


def _scalar(value: JsonValue) -> str:
    """Return the text of a value that is the same in JSON, YAML and TOML."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError as error:
        raise UnwritableError("it contains a lone surrogate, or a number that is not finite") from error
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _position(update: ExpectationUpdate) -> tuple[str, int, int]:
    start = update.tool.span("tests", update.index).start
    return update.tool.path, start.line, start.column


class _File:
    """One spec file that is being edited."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._before = self._data = data

    @classmethod
    def read(cls, path: str) -> _File:
        try:
            return cls(path, Path(path).read_bytes())
        except OSError as error:
            raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error

    def apply(self, update: ExpectationUpdate) -> str:
        """Make one update. Return the reason if it cannot be made, or an empty string."""
        try:
            edits = tuple(_edits(update))
        except UnwritableError as error:
            return str(error)
        changed = apply_fix(self._data, self._path, Fix("update", edits))
        expected = self._meaning(self._data)
        if expected is None or not _apply(expected, update) or _dump(expected) != _dump(self._meaning(changed)):
            return "its text cannot be edited safely; change it by hand"
        self._data = changed
        return ""

    def write(self) -> None:
        if self._data != self._before:
            rewrite(Path(self._path), self._before, self._data)

    def _meaning(self, data: bytes) -> JsonObject | None:
        """Return the decoded tools of the file by name, or None if it has an error."""
        diagnostics = Diagnostics()
        compiler = FileCompiler(Projects(Diagnostics()), NO_SETTINGS)
        file = SpecFile(path=Path(self._path), display_path=self._path, folder=None)
        compiler.projects.of_file(file.path)
        piece = compiler.compile_bytes(file, data, diagnostics)[1]
        if piece.diagnostics.has_errors:
            return None
        return {tool.spec.name: nodes.to_json(tool.node) for tool in piece.tools}


def _dump(value: JsonValue) -> str:
    return json.dumps(value, sort_keys=True)


def _apply(meaning: JsonObject, update: ExpectationUpdate) -> bool:
    """Apply an update to the decoded tools. Return False if the test does not exist."""
    tool = meaning.get(update.tool.spec.name)
    tests = tool.get("tests") if isinstance(tool, dict) else None
    if not isinstance(tests, list) or not isinstance(test := tests[update.index], dict):
        return False
    for route in (*update.values, *update.removed):
        at: JsonValue = test
        for key in ("expect", *route[:-1]):
            at = at.setdefault(key, {}) if isinstance(at, dict) else None
        if not isinstance(at, dict):
            return False
        if route in update.removed:
            at.pop(route[-1], None)
        else:
            at[route[-1]] = deepcopy(update.values[route])
    return True


def _edits(update: ExpectationUpdate) -> Iterator[Edit]:
    """Yield the edits of an update. Raises ``UnwritableError``."""
    new: dict[str, JsonValue] = {}
    for route in sorted(update.removed):
        entry = _entry(update, route)
        yield _required(entry and remove_entry(update.tool.source, entry))
    for route, value in update.values.items():
        entry = _entry(update, route)
        if entry is not None:
            yield _required(_replaced(update.tool.source, entry, value))
        elif len(route) > 1:
            raise UnwritableError(f"expect.{route[0]} has no {route[-1]!r}; add it by hand")
        else:
            new[route[0]] = value
    if new:
        yield _inserted(update.tool, update.index, new)


def _entry(update: ExpectationUpdate, route: Route) -> nodes.MappingEntry | None:
    holder = update.tool.node_at("tests", update.index, "expect", *route[:-1])
    return holder.entry(route[-1]) if isinstance(holder, nodes.Mapping) else None


def _required(edit: Edit | None) -> Edit:
    if edit is None:
        raise UnwritableError("it is in a place that cannot be edited; change it by hand")
    return edit


def _replaced(source: SourceText, entry: nodes.MappingEntry, value: JsonValue) -> Edit | None:
    span = entry.value.span
    if span.path != source.path or (isinstance(entry.value, nodes.Scalar) and entry.value.vars):
        return None
    return Edit(span, _format(source, value, entry))


def _format(source: SourceText, value: JsonValue, entry: nodes.MappingEntry) -> str:
    """Return a value in the language of the file. A text in a block stays a block if possible."""
    if is_toml(source):
        is_block = source.between(entry.value.span)[:3] in {'"""', "'''"}
        if not (isinstance(value, str) and is_block):
            return _inline(value, toml=True)
        return '"""\n' + "\n".join(_scalar(line)[1:-1] for line in value.split("\n")) + '"""'
    if isinstance(value, str) and source.between(entry.value.span)[:1] in {"|", ">"}:
        line = source.line(entry.value.span.start.line + 1)
        indent = len(line) - len(line.lstrip(" "))
        block = _yaml_block(value, indent or entry.key_span.start.column + 1)
        if block is not None:
            return block
    return _inline(value, toml=False)


def _inserted(tool: LocatedTool, index: int, new: dict[str, JsonValue]) -> Edit:
    """Return an edit that adds keys to ``expect``, or adds ``expect`` to a test that lacks it."""
    source = tool.source
    expect = tool.node_at("tests", index, "expect")
    if isinstance(expect, nodes.Mapping) and expect.entries:
        return _before_first(source, expect, new)
    if expect is not None:
        return Edit(expect.span, _inline(new, toml=is_toml(source)))
    test = tool.node_at("tests", index)
    if isinstance(test, nodes.Mapping) and test.span.path == source.path:
        if test.entries:
            return _before_first(source, test, {"expect": new})
        if not is_toml(source):
            return Edit(test.span, _inline({"expect": new}, toml=False))
    raise UnwritableError("'expect' cannot be added to the test; add it by hand")


def _before_first(source: SourceText, mapping: nodes.Mapping, new: Mapping[str, JsonValue]) -> Edit:
    first = mapping.entries[0].key_span
    start = source.offset(first.start)
    span = source.span(start, start)
    pairs = _pairs(new, toml=is_toml(source))
    if source.between(mapping.span).startswith("{"):
        return Edit(span, "".join(f"{pair}, " for pair in pairs))
    indent = " " * (first.start.column - 1)
    return Edit(span, "".join(f"{pair}\n{indent}" for pair in pairs))
