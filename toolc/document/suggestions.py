"""Suggestions for common mistakes: keys of other formats, keys in the wrong place, values in the wrong form."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from collections.abc import Mapping as Map
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.model.diagnostics import spend
from toolc.model.names import SIMILAR_NAMES, close_match
from toolc.model.spec.declared import Declared, Text, keys_of, keys_under, texts_of
from toolc.model.spec.tool import Backends, Test, ToolSpec
from toolc.model.text import lazy_re

REQUIRED: Final = "a parameter is required unless it has a 'default' or 'optional: true'"
"""The hint for ``required`` in the shorthand of a parameter, which does not have this key."""

_KIND_KEY: Final = "the kind is a key: "
"""How the hints for a key such as ``type`` start, which explain the other unknown keys."""

OPENAI: Final = (
    "this is a function definition for OpenAI: write 'toolc: 1', then name, description and parameters at the top, "
    "and add a backend"
)
"""The hint for a definition in the form of OpenAI's API."""
_MAX_LISTED: Final = 100
"""The maximum number of names that a message lists. A longer list would hide the message."""
_ITEMS: Final = lazy_re(r"[\w./-]+(?:[ ]+(?:[\w./-]+|\"[^\"]*\"))*")
_ITEM: Final = lazy_re(r"\"[^\"]*\"|[^ ]+")
_STRANGE_SPACE: Final = lazy_re(r"[^\S \t]")
_TRUTH: Final = {
    **dict.fromkeys(("yes", "y", "on", "1", "true"), "write true"),
    **dict.fromkeys(("no", "n", "off", "0", "false"), "write false"),
}


@cache
def _replacements(cls: type | None) -> Map[str, str]:
    """Return the replacements for keys of other formats in the map that ``cls`` declares."""
    return texts_of(cls)[""].instead_of if cls else {}


@cache
def _foreign_names(cls: type | None) -> Map[str, str]:
    """Return the replacements for other names of the keys of ``cls``."""
    texts = texts_of(cls) if cls else {}
    return {
        name: hint or f"write '{each.name}'"
        for each in (keys_of(cls) if cls else ())
        for name, hint in texts[each.field].instead_of.items()
    }


@cache
def _places() -> Map[str, str]:
    """Return where each key of a tool belongs, unless it belongs to several places that are not in each other."""
    found: dict[str, list[str]] = {}

    def add(keys: Iterable[Declared], place: str) -> None:
        for each in keys:
            found.setdefault(each.name, []).append(place)
            add(keys_under(each.kind), f"{place}.{each.name}".lstrip("."))

    add(keys_of(ToolSpec), "")
    outer = {name: min(places, key=len) for name, places in found.items()}
    return {name: place for name, place in outer.items() if all(each.startswith(place) for each in found[name])}


def missing_key(key: str, node: Mapping, declared: Declared | None) -> str:
    """Return a hint for a map that lacks ``key``."""
    if key == "toolc":
        return foreign_format(node) or "a spec starts with 'toolc: 1'"
    if declared and declared.kind.form in {"map", "choice"}:
        return f"write e.g. {key}: {texts_of(declared.of)[declared.field].example}"
    return f"add '{key}'"


def replaced_keys(node: Mapping, cls: type | None) -> list[str]:
    """Return the replacement for each key that is a common mistake in the map ``cls``."""
    meant = _replacements(cls)
    return [meant[entry.key] for entry in node.entries if entry.key in meant]


def explanation(unknown: list[MappingEntry], cls: type | None) -> MappingEntry | None:
    """Return the unknown key of a map that explains the other ones, such as ``type`` for a kind, or None."""
    meant = _replacements(cls)
    return next((each for each in unknown if meant.get(each.key, "").startswith(_KIND_KEY)), None)


def unknown_key(key: str, cls: type | None, known: Collection[str], path: str, value: Node | None = None) -> str:
    """Return a hint for the unknown key ``key`` of the map ``cls`` in the file at ``path``, or an empty string.

    ``value`` is the value of the key.
    """
    if space := _STRANGE_SPACE.search(key):
        return f"U+{ord(space[0]):04X} in it looks like a space but is not one"
    foreign = _foreign_names(cls)
    if meant := _replacements(cls).get(key):
        kind = str(value.value).lower() if isinstance(value, Scalar) else ""
        form = foreign.get(f"type={kind}") if meant.startswith(_KIND_KEY) else None
        return f"{_KIND_KEY}{form}" if form else meant
    if close_match(key, known, 0.8):
        return ""
    if meant := foreign.get(key):
        return meant
    if place := _places().get(key):
        return f"in a tool, '{key}' belongs under {place}"
    if key in _places() and PurePosixPath(path).stem != "toolc":
        where = "above the first [table]" if path.lower().endswith(".toml") else "indented like its 'name'"
        return f"'{key}' is a key of the tool: write it {where}"
    return ""


def has_misspelled_key(node: Mapping, key: str) -> bool:
    """Return whether a tool lacks ``key`` but has a similar key, which was probably meant."""
    if node.entry(key):
        return False
    known = {each.name for each in keys_of(ToolSpec)}
    others = [entry.key for entry in node.entries if entry.key not in known]
    return bool(close_match(key, others)) or any(
        _foreign_names(ToolSpec).get(name) == f"write '{key}'" for name in others
    )


def value_hint(node: Node, declared: Declared | None, expected: str) -> str:
    """Return how to write a key that must be ``expected`` but is not, or an empty string if that is obvious."""
    name = declared.name if declared else ""
    text = texts_of(declared.of)[declared.field] if declared else Text()
    if isinstance(node, Scalar):
        hint = _scalar_hint(node, name, text, expected)
    else:
        hint = _structure_hint(node, name, expected)
    has_form = (expected == "a map" and text.example[:1] == "{") or bool(declared and declared.kind.name == expected)
    return hint or (f"write e.g. {name}: {text.example}" if has_form else "")


def _scalar_hint(node: Scalar, name: str, text: Text, expected: str) -> str:
    meant = text.instead_of
    match node.value:
        case value if hint := meant.get("=" + re.sub(r"[^a-z]", "", str(value).lower()), meant.get("=*")):
            return hint
        case None if expected == "a map":
            empty = "; write parameters: {} for a tool without parameters" if name == "parameters" else ""
            return f"indent the lines below it further if they are its keys{empty}"
        case None:
            return "give it a value, or remove the key"
        case value if expected == "true or false":
            return _TRUTH.get(str(value).lower(), "")
        case str() as written if expected == "a list" and _ITEMS.fullmatch(written):
            return f"write a list: [{', '.join(_ITEM.findall(written))}]"
        case str() as written if name == "python" and ("\n" in written or "def " in written):
            return "write python: {code: ...}"
        case _ if expected == "a list":
            return "write a list: [one, two], or a line '- one' for each"
        case _:
            return ""


def _structure_hint(node: Mapping | Sequence, name: str, expected: str) -> str:
    match node:
        case Sequence() if name == "script":
            return "write argv: [...] for one program, or script: |- with one command per line"
        case Mapping(entries=[first, *_] as all_entries) if expected == "a list" and _names_items(all_entries):
            key = {"tools": f"name: {first.key:.80}", "steps": f"id: {first.key:.80}"}.get(name, "")
            return f"write '- {key}' instead of '{first.key:.80}:', for each item"
        case Mapping() if expected == "a list":
            return "write '- ' before the first key of each item"
        case Sequence(items=()) if expected == "a map":
            return "write {}, or remove the key"
        case Sequence(items=[Mapping(by_key={"name": entry}), *_]) if name == "parameters":
            shown = entry.value.value if isinstance(entry.value, Scalar) else "path"
            return f'write one key for each: {{{shown!s:.80}: {{type: string, description: "..."}}}}'
        case Sequence(items=[Scalar(value=str() as text), *_]) if name == "env" and "=" in text:
            variable, _, value = text.partition("=")
            return f"write env: {{{variable:.80}: {value:.80}}}"
        case _:
            return ""


def _names_items(entries: Iterable[MappingEntry]) -> bool:
    """Return whether each key of a map is the name of an item, and not a key of one item."""
    known = {each.name for cls in (ToolSpec, Test) for each in keys_of(cls)}
    return all(isinstance(each.value, Mapping) and each.key not in known for each in entries)


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
    if isinstance(backend, Mapping) and any(kind in backend.by_key for kind in Backends.one_of):
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
