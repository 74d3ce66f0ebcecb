"""Merge changes of a source into files that people have edited, key by key. Nothing else in the files changes.

Lists of named maps, such as ``tools``, are merged by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from typing import Any, Final, TypeAlias

from toolc.compiler.fixes.apply import apply_fix
from toolc.dataclass import dataclass
from toolc.document.edits import remove_entry
from toolc.document.nodes import Mapping, Node, Sequence, child, to_json
from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.importers.yaml_text import yaml_flow, yaml_lines
from toolc.model.diagnostics import Diagnostics, Edit, Fix
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.source import SourceText, Span
from toolc.model.text import shorten


@dataclass(frozen=True, slots=True)
class _Absent:
    """The placeholder for the value of a missing key."""


_ABSENT: Final = _Absent()
_Value: TypeAlias = "JsonValue | _Absent"
_Route: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A key that both the source and the user changed. The values are YAML text."""

    route: _Route
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.route))}: the file has {self.ours}, the source has {self.theirs}"


@dataclass(frozen=True, slots=True)
class Merged:
    """The text of a file after a merge, and the keys that kept the user's value."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


class UnreadableError(ValueError):
    """Raised for a file that is not a YAML map."""


def merge(base: str, ours: str, theirs: str, *, is_forced: bool = False) -> Merged:
    """Apply the changes from ``base`` to ``theirs`` to ``ours``. If ``is_forced``, the source wins conflicts.

    Raises ``UnreadableError`` if ``ours`` is not a YAML map.
    """
    if ours in {base, theirs}:
        return Merged(theirs)
    text, conflicts = ours, []
    for route, value, conflict in _changes(_value(base), _value(ours), _value(theirs)):
        if conflict and not is_forced:
            conflicts.append(conflict)
            continue
        changed = edited(text, route, value)
        if changed is None:
            conflicts.append(conflict or Conflict(route, "another form", _shown(value)))
        else:
            text = changed
    return Merged(text, tuple(conflicts))


def edited(text: str, route: _Route, value: _Value) -> str | None:
    """Return a YAML text with a new value at ``route``, or without the key.

    Return None if this is impossible in place.
    """
    source = SourceText("spec.yaml", text)
    parent: Node | None = _parsed(source)
    for key in route[:-1]:
        parent = child(parent, key) if parent is not None else None
    key, edit = route[-1], None
    if isinstance(parent, Mapping) and isinstance(key, str):
        edit = _edit(source, parent, key, value)
    elif isinstance(parent, Sequence) and isinstance(key, int):
        edit = _edit_item(source, parent, key, value)
    if edit is None:
        return None
    changed = apply_fix(text.encode(), source.path, Fix("merge", (edit,))).decode()
    try:
        return changed if _value(changed) == _with(_value(text), route, value) else None
    except UnreadableError:
        return None


def _edit(source: SourceText, parent: Mapping, key: str, value: _Value) -> Edit | None:
    entry = parent.entry(key)
    if isinstance(value, _Absent):
        return remove_entry(source, entry) if entry else None
    is_flow = source.between(parent.span).startswith("{")
    if is_flow:
        if entry:
            return Edit(entry.value.span, yaml_flow(value))
        if not parent.entries:
            return Edit(parent.span, yaml_flow({key: value}))
        end = parent.entries[-1].value.span.end
        return Edit(Span(source.path, end, end), f", {yaml_flow({key: value})[1:-1]}")
    if not parent.entries:
        return None
    indent = " " * (parent.entries[0].key_span.start.column - 1)
    lines = f"\n{indent}".join(yaml_lines({key: value}))
    if entry:
        return Edit(Span(source.path, entry.key_span.start, entry.value.span.end), lines)
    end = parent.entries[-1].value.span.end
    rest = source.line(end.line)[end.column - 1 :]
    if rest.strip():  # a comment behind the last value stays there
        end = end._replace(column=len(source.line(end.line)) + 1)
    return Edit(Span(source.path, end, end), f"\n{indent}{lines}")


def _edit_item(source: SourceText, parent: Sequence, index: int, value: _Value) -> Edit | None:
    """Return the edit that removes an item of a list in block style, or adds one at its end."""
    if source.between(parent.span).startswith("["):
        return None
    start = parent.items[min(index, len(parent.items) - 1)].span
    dash = source.line(start.start.line)[: start.start.column - 1]
    if dash.strip() != "-":
        return None
    if isinstance(value, _Absent):
        first, last = start.start._replace(column=1), start.end._replace(line=start.end.line + 1, column=1)
        return Edit(Span(source.path, first, last), "")
    if index < len(parent.items) or not isinstance(value, dict):
        return None
    end = start.end._replace(column=len(source.line(start.end.line)) + 1)
    lines = f"\n{' ' * len(dash)}".join(yaml_lines(value))
    return Edit(Span(source.path, end, end), f"\n{dash}{lines}")


def _changes(
    base: _Value, ours: _Value, theirs: _Value, route: _Route = ()
) -> Iterator[tuple[_Route, _Value, Conflict | None]]:
    """Yield each key to change with its new value, and the conflict if the user has also changed the key."""
    if _same(base, theirs) or _same(ours, theirs):
        return
    mine, new = _named(ours), _named(theirs)
    if mine and new:
        yield from _items(_named(base), mine, new, route)
    elif isinstance(base, dict) and isinstance(ours, dict) and isinstance(theirs, dict):
        for key in dict.fromkeys([*theirs, *ours]):  # the smallest change keeps comments
            one, two, three = (each.get(key, _ABSENT) for each in (base, ours, theirs))
            yield from _changes(one, two, three, (*route, key))
    else:
        yield route, theirs, None if _same(ours, base) else Conflict(route, _shown(ours), _shown(theirs))


def _named(value: _Value) -> dict[str, JsonObject]:
    """Return the items of a list by name, or an empty dict unless every item is a map with a unique name."""
    items = value if isinstance(value, list) else []
    found = {str(each["name"]): each for each in items if isinstance(each, dict) and "name" in each}
    return found if len(found) == len(items) else {}


def _items(
    base: AnyMapping[str, JsonObject],
    ours: AnyMapping[str, JsonObject],
    theirs: AnyMapping[str, JsonObject],
    route: _Route,
) -> Iterator[tuple[_Route, _Value, Conflict | None]]:
    for index, (name, value) in enumerate(ours.items()):
        if name in theirs:
            yield from _changes(base.get(name, _ABSENT), value, theirs[name], (*route, index))
    for name, value in theirs.items():
        is_deleted = name in base  # by a person
        if name not in ours and not (is_deleted and _same(base[name], value)):
            conflict = Conflict((*route, name), "been deleted", "changes") if is_deleted else None
            yield (*route, len(ours) + len(theirs)), value, conflict
    for index, (name, value) in reversed([*enumerate(ours.items())]):
        if name in base and name not in theirs:
            conflict = None if _same(base[name], value) else Conflict((*route, name), "changes", "been deleted")
            yield (*route, index), _ABSENT, conflict


def _same(one: _Value, other: _Value) -> bool:
    return type(one) is type(other) and one == other


def _with(root: JsonObject, route: _Route, new: _Value) -> JsonObject:
    """Set the value at ``route`` in ``root``, and return ``root``."""
    parent: Any = root
    for key in route[:-1]:
        parent = parent[key]
    if isinstance(new, _Absent):
        del parent[route[-1]]
    elif isinstance(parent, list):  # an item is only added
        parent.append(new)
    else:
        parent[route[-1]] = new
    return root


def _value(text: str) -> JsonObject:
    value = to_json(_parsed(SourceText("spec.yaml", text)))
    assert isinstance(value, dict)
    return value


def _parsed(source: SourceText) -> Mapping:
    problems = Diagnostics()
    node = parse_yaml(source, problems)
    if problems.has_errors or not isinstance(node, Mapping):
        raise UnreadableError("it is not a YAML map; correct it, or take the text of the source with --force")
    return node


def _shown(value: _Value) -> str:
    return "no such key" if isinstance(value, _Absent) else shorten(yaml_flow(value), 200)
