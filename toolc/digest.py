"""Canonical JSON (RFC 8785) and the two digests of a tool.

The one place that writes bytes which are stored or hashed. Both digests are over the canonical
bytes of ``{"toolc": 1, "surface" | "effect": {...}}`` and do not depend on toolc's version. Where a tool calls
others, those of its effect have a key ``calls`` too: what each is that it may call, directly or not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import rfc8785

from toolc.calls import NO_TOOLS, Tools, called, reachable
from toolc.registry import REGISTRY_FORMAT, RegisteredTool, RegistryFile, tool_to_json, toolsets_to_json
from toolc.schema import JsonObject, JsonValue
from toolc.spec import EFFECT, FORMAT, SURFACE, ToolSpec

_EXACT: Final = 1 << 53
"""Every whole number below it is a double."""


@dataclass(frozen=True, slots=True)
class Digests:
    """A tool's two digests, each ``sha256:`` and 64 hex digits."""

    surface: str
    effect: str


def canonical(value: JsonValue) -> bytes:
    """The RFC 8785 bytes of a JSON value. Raises ``ValueError`` for what JSON cannot hold exactly."""
    try:
        text = _PLAIN.encode(value)
    except (ValueError, TypeError):  # rfc8785 has the words
        return rfc8785.dumps(value)
    if (text.isascii() and not _PERHAPS_ODD.search(text)) or _is_simple(value):
        try:
            return text.encode()
        except UnicodeEncodeError:
            pass  # half of a surrogate pair; as above
    return rfc8785.dumps(value)


_PLAIN: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
"""Ten times as fast as ``rfc8785``, and writes the same but for odd keys and numbers."""

_PERHAPS_ODD: Final = re.compile(r"[0-9](?:\.0|e|[0-9]{15})")
"""A number that RFC 8785 may write otherwise (``1.0``, ``1e16``, 16 digits), or text that looks like one."""


def _is_simple(value: JsonValue) -> bool:
    """Whether ``json`` writes what RFC 8785 says.

    Keys are sorted by UTF-16 there and by code point here, which is the same for ASCII.
    """
    if isinstance(value, dict):
        return all(map(str.isascii, value)) and all(map(_is_simple, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_simple, value))
    if isinstance(value, float):
        return 1e-4 <= abs(value) < 1e15 and not value.is_integer()
    return not isinstance(value, int) or -_EXACT < value < _EXACT


def parse(data: bytes | str) -> JsonValue:
    """Read what ``canonical`` wrote, so that it canonicalises to the same bytes again.

    RFC 8785 writes the float 1e16 as ``10000000000000000``; an integer that a double cannot hold exactly
    was a float then. Raises ``ValueError`` for what is not JSON, and where a key stands twice in an object.
    """
    value: JsonValue = json.loads(data, parse_int=_number, object_pairs_hook=_object_of)
    return value


def _object_of(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r:.60} stands twice in one object")
    return found


def _number(digits: str) -> int | float:
    number = int(digits) if len(digits) < 18 else 1 << 60
    return number if abs(number) < _EXACT else float(digits)


def digests(tool: ToolSpec, tools: Tools = NO_TOOLS) -> Digests:
    """What a model sees of a tool, and what a call of it does, as one digest each.

    ``tools`` has those that it calls: what it does is what they do. One that is missing there counts as none.
    """
    return _digests(_fields(tool), _calls(tool, tools))


def register(tool: ToolSpec, tools: Tools = NO_TOOLS) -> RegisteredTool:
    """A tool with its digests, ready to be stored; ``tools`` has those that it calls."""
    fields = _fields(tool)
    found = _digests(fields, _calls(tool, tools))
    fields["digests"] = b'"digests":{"effect":"%b","surface":"%b"}' % (
        found.effect.encode(),
        found.surface.encode(),
    )
    stored = _object(fields, sorted(fields))
    return RegisteredTool(spec=tool, surface_digest=found.surface, effect_digest=found.effect, stored=stored)


def registry_bytes(registry: RegistryFile) -> bytes:
    """The canonical bytes of a registry file."""
    entries = b",".join([tool.stored or canonical(tool.to_json()) for tool in registry.tools])
    start, end = registry_frame(registry.toolsets)
    return start + entries + end


def registry_frame(toolsets: Mapping[str, Iterable[str]]) -> tuple[bytes, bytes]:
    """The canonical bytes of a registry file before its list of tools, and after it."""
    named = b',"toolsets":' + canonical(toolsets_to_json(toolsets)) if toolsets else b""
    return b'{"registry":%d,"tools":[' % REGISTRY_FORMAT, b"]" + named + b"}"


def _fields(tool: ToolSpec) -> dict[str, bytes]:
    """The canonical bytes of each field with its key: the digests and the registry are made of the same ones."""
    return {
        name: b'"%b":%b' % (name.encode(), b"null" if value is None else b"[]" if value == [] else canonical(value))
        for name, value in tool_to_json(tool).items()
    }


def _calls(tool: ToolSpec, tools: Tools) -> bytes:
    """What a tool may call, with what each is by itself; empty for a tool that calls none."""
    if not called(tool):
        return b""
    found: JsonObject = {}
    for name, each in reachable(tool, tools).items():
        by_itself = _digests(_fields(each), b"") if each else None
        found[name] = {"effect": by_itself.effect, "surface": by_itself.surface} if by_itself else None
    return b'"calls":%b,' % canonical(found)


def _digests(fields: Mapping[str, bytes], calls: bytes) -> Digests:
    return Digests(_digest(b"surface", fields, _SURFACE), _digest(b"effect", fields, _EFFECT, calls))


def _digest(kind: bytes, fields: Mapping[str, bytes], names: Iterable[str], calls: bytes = b"") -> str:
    value = b'{%b"%b":%b,"toolc":%d}' % (calls, kind, _object(fields, names), FORMAT)
    return "sha256:" + hashlib.sha256(value).hexdigest()


def _object(fields: Mapping[str, bytes], names: Iterable[str]) -> bytes:
    return b"{" + b",".join([fields[name] for name in names]) + b"}"


_SURFACE: Final = sorted(SURFACE)
_EFFECT: Final = sorted(EFFECT)
