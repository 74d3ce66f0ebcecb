"""Suggestions for common mistakes: keys of other formats, keys in the wrong place, values in the wrong form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from collections.abc import Mapping as Map
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.model.diagnostics import spend
from toolc.model.names import SIMILAR_NAMES, close_match
from toolc.model.text import lazy_re

_PATH: Final = Path(__file__).parent.parent / "data" / "key_hints.toml"

_TOOL: Final = (
    "aliases", "annotations", "backend", "confirm", "deprecated", "description", "examples", "label", "name",
    "owner", "parameters", "providers", "result", "retry", "sandbox", "tags", "tests", "version",
)  # fmt: skip
_KINDS: Final = ("shell", "python", "http", "plugin", "composite", "agent")
REQUIRED: Final = "a parameter is required unless it has a 'default' or 'optional: true'"
"""The hint for ``required`` in the shorthand of a parameter, which does not have this key."""

_KIND_KEY: Final = "the kind is a key: "
"""How the hints for a key such as ``type`` start, which explain the other unknown keys."""

OPENAI: Final = (
    "this is a function definition for OpenAI: write 'toolc: 1', then name, description and parameters at the top, "
    "and add a backend"
)
"""The hint for a definition in the form of OpenAI's API."""
_ITEM_KEYS: Final = frozenset({"args", "expect", "files", *_TOOL})
_MAX_LISTED: Final = 100
"""The maximum number of names that a message lists. A longer list would hide the message."""
_ITEMS: Final = lazy_re(r"[\w./-]+(?:[ ]+(?:[\w./-]+|\"[^\"]*\"))*")
_ITEM: Final = lazy_re(r"\"[^\"]*\"|[^ ]+")
_STRANGE_SPACE: Final = lazy_re(r"[^\S \t]")


@cache
def _tables() -> Map[str, Map[str, str]]:
    import tomli  # lazy: +8 ms; only mistakes need it

    tables = tomli.loads(_PATH.read_text(encoding="utf-8"))
    tables |= tables.pop("in")
    return {
        name: {mistake: hint for mistakes, hint in table.items() for mistake in mistakes.split()}
        for name, table in tables.items()
    }


def _hints(table: str) -> Map[str, str]:
    """Return what to write instead of each mistake of a table in ``key_hints.toml``; empty if it has no such table."""
    return _tables().get(table, {})


def missing_key(key: str, node: Mapping) -> str:
    """Return a hint for a map that lacks ``key``."""
    if key == "toolc":
        return foreign_format(node) or "a spec starts with 'toolc: 1'"
    return _hints("forms").get(f"'{key}'") or f"add '{key}'"


def replaced_keys(node: Mapping, what: str) -> list[str]:
    """Return what to write instead of each key of the map ``what`` that is a common mistake there."""
    meant = _meant_in(what)
    return [meant[entry.key] for entry in node.entries if entry.key in meant]


def _meant_in(what: str) -> Map[str, str]:
    """Return what to write instead of keys of the map ``what``, such as ``'tests'[0]`` or ``secrets.TOKEN``."""
    return _hints("secrets" if what.startswith("secrets.") else what.partition("[")[0])


def explanation(unknown: list[MappingEntry], what: str) -> MappingEntry | None:
    """Return the unknown key of a map that explains the other ones, such as ``type`` for a kind, or None."""
    meant = _meant_in(what)
    return next((each for each in unknown if meant.get(each.key, "").startswith(_KIND_KEY)), None)


def unknown_key(key: str, what: str, known: Collection[str], path: str, value: Node | None = None) -> str:
    """Return a hint for the unknown key ``key`` of the map ``what`` in the file at ``path``, or an empty string.

    ``value`` is the value of the key.
    """
    if space := _STRANGE_SPACE.search(key):
        return f"U+{ord(space[0]):04X} in it looks like a space but is not one"
    if meant := _meant_in(what).get(key):
        kind = str(value.value).lower() if isinstance(value, Scalar) else ""
        form = _hints("kinds").get(kind) if meant.startswith(_KIND_KEY) else None
        return f"{_KIND_KEY}write {form}" if form else meant
    if close_match(key, known, 0.8):
        return ""
    if (meant := _hints("anywhere").get(key)) and _names(meant, known):
        return meant
    if parent := _hints("parents").get(key):
        return f"in a tool, '{key}' belongs under {parent}"
    if key in _TOOL and PurePosixPath(path).stem != "toolc":
        where = "above the first [table]" if path.lower().endswith(".toml") else "indented like its 'name'"
        return f"'{key}' is a key of the tool: write it {where}"
    return ""


def is_key_of(key: str, parent: str) -> bool:
    """Return whether a key belongs to the map ``parent`` of a tool, such as ``backend.shell``."""
    return _hints("parents").get(key) == parent or (key == "file" and parent in {"backend.shell", "backend.python"})


def has_misspelled_key(node: Mapping, key: str) -> bool:
    """Return whether ``node`` lacks ``key`` but has a similar key, which was probably meant."""
    if node.entry(key):
        return False
    others = [entry.key for entry in node.entries if entry.key not in _TOOL]
    return bool(close_match(key, others)) or any(_hints("anywhere").get(name) == f"write '{key}'" for name in others)


def _names(hint: str, known: Collection[str]) -> bool:
    """Return whether a hint to write a key names one that is allowed here."""
    named = re.match(r"write '?(\w+)", hint)
    return not named or named[1] in known


def value_hint(node: Node, what: str, expected: str) -> str:
    """Return how to write ``what``, which must be ``expected`` but is not, or an empty string if that is obvious."""
    return _scalar_hint(node, what, expected) if isinstance(node, Scalar) else _structure_hint(node, what, expected)


def _scalar_hint(node: Scalar, what: str, expected: str) -> str:
    match node.value:
        case value if what == "'workspace'":
            meant = _hints("workspace").get(re.sub(r"[^a-z]", "", str(value).lower()))
            return f"write {meant}" if meant else "write ro to let a call read the files, rw to let it change them"
        case None if expected == "a map":
            empty = "; write parameters: {} for a tool without parameters" if what == "'parameters'" else ""
            return f"indent the lines below it further if they are its keys{empty}"
        case None:
            return "give it a value, or remove the key"
        case value if expected == "true or false":
            meant = _hints("truth").get(str(value).lower())
            return f"write {meant}" if meant else ""
        case str() as text if expected == "a list" and _ITEMS.fullmatch(text):
            items = ", ".join(_ITEM.findall(text))
            return f"write a list: [{items}]"
        case str() as text if what == "'python'":
            return "write python: {code: ...}" if "\n" in text or "def " in text else _hints("forms")[what]
        case _ if expected == "a list":
            return "write a list: [one, two], or a line '- one' for each"
        case _:
            return _hints("forms").get(what, "") if expected == "a map" else ""


def _structure_hint(node: Mapping | Sequence, what: str, expected: str) -> str:
    match node:
        case Sequence() if what == "'script'":
            return "write argv: [...] for one program, or script: |- with one command per line"
        case Mapping(entries=[first, *_] as all_entries) if expected == "a list" and _names_items(all_entries):
            key = {"'tools'": f"name: {first.key:.80}", "'steps'": f"id: {first.key:.80}"}.get(what, "")
            return f"write '- {key}' instead of '{first.key:.80}:', for each item"
        case Mapping() if expected == "a list":
            return "write '- ' before the first key of each item"
        case Sequence(items=()) if expected == "a map":
            return "write {}, or remove the key"
        case Sequence(items=[Mapping(by_key={"name": entry}), *_]) if what == "'parameters'":
            shown = entry.value.value if isinstance(entry.value, Scalar) else "path"
            return f'write one key for each: {{{shown!s:.80}: {{type: string, description: "..."}}}}'
        case Sequence(items=[Scalar(value=str() as text), *_]) if what == "'env'" and "=" in text:
            name, _, value = text.partition("=")
            return f"write env: {{{name:.80}: {value:.80}}}"
        case _:
            return _hints("forms").get(what, "") if expected == "a map" else ""


def _names_items(entries: Iterable[MappingEntry]) -> bool:
    """Return whether each key of a map is the name of an item, and not a key of one item."""
    return all(isinstance(each.value, Mapping) and each.key not in _ITEM_KEYS for each in entries)


def foreign_format(node: Mapping) -> str:
    """Return a message if a map is a document of another program, or an empty string."""
    keys = {entry.key for entry in node.entries}
    if keys & {"openapi", "swagger"}:
        return "this is an OpenAPI document, not a spec; a spec starts with 'toolc: 1' and declares tools"
    if keys & {"jsonrpc", "mcpServers", "inputSchema"} or _lists(node, "inputSchema"):
        return (
            "this is an MCP file, not a spec; a spec starts with 'toolc: 1' and has parameters instead of inputSchema"
        )
    if {"type", "function"} <= keys or _lists(node, "type", "function"):
        return OPENAI
    if {"services"} <= keys and keys & {"version", "networks", "volumes"}:
        return "this is a Compose file, not a spec; a spec starts with 'toolc: 1' and declares tools"
    if {"on", "jobs"} <= keys or {"runs", "inputs"} <= keys:
        return "this is a workflow or action of GitHub, not a spec; a spec starts with 'toolc: 1' and declares tools"
    if {"apiVersion", "kind"} <= keys:
        return "a spec starts with 'toolc: 1' instead of apiVersion and kind"
    return ""


def looks_like_spec(root: Node | None) -> bool:
    """Return whether a file without the key ``toolc`` is probably a spec: it declares a tool, alone or in a list."""
    if not isinstance(root, Mapping) or root.entry("toolc"):
        return False
    tools = root.get("tools")
    has_tools = any(map(_declares_tool, [root, *(tools.items if isinstance(tools, Sequence) else ())]))
    return has_tools or root.by_key.keys() >= {"type", "function"} or _is_mcp_tool(root)


def _declares_tool(node: Node) -> bool:
    if not isinstance(node, Mapping):
        return False
    backend = node.get("backend")
    if isinstance(backend, Mapping) and any(kind in backend.by_key for kind in _KINDS):
        return True
    return node.by_key.keys() >= {"name", "description", "parameters"} and isinstance(node.get("parameters"), Mapping)


def _is_mcp_tool(node: Mapping) -> bool:
    keys = node.by_key.keys()
    return keys >= {"name", "description"} and not keys.isdisjoint({"inputSchema", "input_schema"})


def _lists(node: Mapping, *keys: str) -> bool:
    """Return whether a tool in the list ``tools`` has all of these keys."""
    tools = node.get("tools")
    items = tools.items if isinstance(tools, Sequence) else ()
    return any(isinstance(item, Mapping) and item.by_key.keys() >= {*keys} for item in items)


def suggestion(name: str, known: Collection[str], listed_as: str = "", otherwise: str = "") -> str:
    """Return ``did you mean 'x'?`` with the known name most similar to ``name``, or an empty string.

    If none is similar, return the known names after ``listed_as``, such as "the steps are". If no name is known,
    return ``otherwise``.
    """
    if not known:
        return otherwise
    near = close_match(name, known)
    if near:
        return f"did you mean '{near}'?"
    if not listed_as or not spend(len(known) // 20, SIMILAR_NAMES):  # sorting 20 names takes about a step
        return ""
    return f"{listed_as} {quote_names(known if isinstance(known, list | tuple) else sorted(known))}"


def quote_names(names: Iterable[str]) -> str:
    """Return names in quotes, separated by commas: the first ones if there are very many."""
    listed = [f"'{name}'" for name in names]
    more = [f"and {len(listed) - _MAX_LISTED} more"] if len(listed) > _MAX_LISTED else []
    return ", ".join([*listed[:_MAX_LISTED], *more])
