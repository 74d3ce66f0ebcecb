"""Read and write registry files in canonical JSON (RFC 8785), and compute the two digests of a tool.

All bytes that are stored or hashed are written here. Both digests are over the canonical bytes of ``{"toolc": 1,
"surface" | "effect": {...}}`` and do not depend on toolc's version. If a tool calls other tools, the object for the
effect also has a key ``calls`` with the digests of all tools that it may call, directly or indirectly.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import rfc8785

from toolc.dataclass import dataclass
from toolc.model.call_graph import NO_TOOLS, ToolLookup, called_tools, reachable_tools, tools_by_name
from toolc.model.errors import RegistryError, UsageError
from toolc.model.json_schema import JsonObject, JsonValue, unique_object
from toolc.model.registry import (
    REGISTRY_FORMAT,
    RegisteredTool,
    RegistryFile,
    registry_from_json,
    tool_to_json,
    toolsets_to_json,
)
from toolc.model.spec.sandbox import MIB
from toolc.model.spec.tool import EFFECT, FORMAT, SURFACE, ToolSpec
from toolc.model.text import lazy_re, render_size

_EXACT: Final = 1 << 53
"""The bound below which a double can represent every whole number."""

_PLAIN: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
)
"""An encoder that is ten times as fast as ``rfc8785``. The output is the same except for unusual keys and numbers."""

_PERHAPS_ODD: Final = lazy_re(r"[0-9](?:\.0|e|[0-9]{15})")
"""Matches a number that RFC 8785 may write differently (``1.0``, ``1e16``, 16 digits), or text like such a number."""

_SURFACE: Final = sorted(SURFACE)
_EFFECT: Final = sorted(EFFECT)

MAX_REGISTRY_BYTES: Final = 256 * MIB
"""The maximum size of a registry file, in bytes. 16,000 tools as large as the built-in tools fit.

A registry is held in memory.
"""


@dataclass(frozen=True, slots=True)
class Digests:
    """The two digests of a tool, each ``sha256:`` and 64 hex digits."""

    surface: str
    effect: str


def canonical(value: JsonValue) -> bytes:
    """Return the RFC 8785 bytes of a JSON value. Raises ``ValueError`` if JSON cannot hold it exactly."""
    try:
        text = _PLAIN.encode(value)
    except (ValueError, TypeError):  # rfc8785 raises the error, with a better message.
        return rfc8785.dumps(value)
    if (text.isascii() and not _PERHAPS_ODD.search(text)) or _is_simple(value):
        try:
            return text.encode()
        except UnicodeEncodeError:
            pass  # This is half of a surrogate pair, for which rfc8785 raises the error below.
    return rfc8785.dumps(value)


def _is_simple(value: JsonValue) -> bool:
    """Return whether ``json`` writes ``value`` exactly as RFC 8785 requires.

    RFC 8785 sorts keys by UTF-16 code units and ``json`` by code points, which is the same for ASCII.
    """
    if isinstance(value, dict):
        return all(map(str.isascii, value)) and all(map(_is_simple, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_simple, value))
    if isinstance(value, float):
        # Between these bounds, neither Python nor JavaScript writes an exponent.
        return 1e-4 <= abs(value) < 1e15 and not value.is_integer()
    return not isinstance(value, int) or -_EXACT < value < _EXACT


def parse(data: bytes | str) -> JsonValue:
    """Parse canonical JSON, so that it can be serialized to the same bytes again.

    RFC 8785 writes the float 1e16 as ``10000000000000000``, so an integer that a double cannot hold exactly is read
    as a float. Raises ``ValueError`` for text that is not JSON, and for a duplicate key in an object.
    """
    value: JsonValue = json.loads(data, parse_int=_number, object_pairs_hook=unique_object)
    return value


def _number(digits: str) -> int | float:
    # More digits are beyond ``_EXACT`` in any case, and converting thousands of them is slow.
    number = int(digits) if len(digits) < 18 else 1 << 60
    return number if abs(number) < _EXACT else float(digits)


def digests(tool: ToolSpec, tools: ToolLookup = NO_TOOLS) -> Digests:
    """Return the digests of the parts of a tool that a model sees (surface) and that decide what a call does (effect).

    ``tools`` contains the tools that it calls, because its effect includes theirs. A missing tool is recorded as null.
    """
    return _digests(_fields(tool), _calls(tool, tools))


def surfaces_digest(surfaces: Mapping[str, str]) -> str:
    """Return the digest of all that models and clients see. ``surfaces`` has the tools' surface digests by name."""
    value = canonical({"surfaces": {name: surfaces[name] for name in sorted(surfaces)}, "toolc": FORMAT})
    return "sha256:" + hashlib.sha256(value).hexdigest()


def register(tool: ToolSpec, tools: ToolLookup = NO_TOOLS) -> RegisteredTool:
    """Return a tool with its digests, ready to be stored. ``tools`` contains the tools that it calls."""
    fields = _fields(tool)
    both = _digests(fields, _calls(tool, tools))
    fields["digests"] = b'"digests":{"effect":"%b","surface":"%b"}' % (both.effect.encode(), both.surface.encode())
    stored = _object(fields, sorted(fields))
    return RegisteredTool(spec=tool, surface_digest=both.surface, effect_digest=both.effect, stored=stored)


def registry_of(tools: Sequence[ToolSpec], toolsets: Mapping[str, tuple[str, ...]]) -> RegistryFile:
    """Return a registry of tools that call only each other."""
    others = tools_by_name(tools)
    return RegistryFile(tuple(register(tool, others) for tool in tools), toolsets)


def registry_bytes(registry: RegistryFile) -> bytes:
    """Return the canonical bytes of a registry file."""
    entries = b",".join([tool.stored or canonical(tool.to_json()) for tool in registry.tools])
    start, end = registry_frame(registry.toolsets)
    return start + entries + end


def registry_frame(toolsets: Mapping[str, Iterable[str]]) -> tuple[bytes, bytes]:
    """Return the canonical bytes of a registry file before and after its list of tools."""
    named = b',"toolsets":' + canonical(toolsets_to_json(toolsets)) if toolsets else b""
    return b'{"registry":%d,"tools":[' % REGISTRY_FORMAT, b"]" + named + b"}"


def _fields(tool: ToolSpec) -> dict[str, bytes]:
    """Return the canonical bytes of each field with its key, which the digests and the registry share."""
    return {
        name: b'"%b":%b' % (name.encode(), b"null" if value is None else b"[]" if value == [] else canonical(value))
        for name, value in tool_to_json(tool).items()
    }


def _calls(tool: ToolSpec, tools: ToolLookup) -> bytes:
    """Return the key ``calls`` with the digests of all tools that ``tool`` may call, or empty bytes.

    The digests of a called tool do not include the tools that it calls in turn, because those are in the same object.
    """
    if not called_tools(tool):
        return b""
    entries: JsonObject = {}
    for name, each in reachable_tools(tool, tools).items():
        by_itself = _digests(_fields(each), b"") if each else None
        entries[name] = {"effect": by_itself.effect, "surface": by_itself.surface} if by_itself else None
    return b'"calls":%b,' % canonical(entries)


def _digests(fields: Mapping[str, bytes], calls: bytes) -> Digests:
    return Digests(_digest(b"surface", fields, _SURFACE), _digest(b"effect", fields, _EFFECT, calls))


def _digest(kind: bytes, fields: Mapping[str, bytes], names: Iterable[str], calls: bytes = b"") -> str:
    value = b'{%b"%b":%b,"toolc":%d}' % (calls, kind, _object(fields, names), FORMAT)
    return "sha256:" + hashlib.sha256(value).hexdigest()


def _object(fields: Mapping[str, bytes], names: Iterable[str]) -> bytes:
    return b"{" + b",".join([fields[name] for name in names if name in fields]) + b"}"


def read_registry(path: Path) -> RegistryFile:
    """Read the registry at ``path``. Raises ``UsageError`` if it cannot be read, ``RegistryError`` if it is damaged."""
    try:
        # Reading a device or a pipe might never end.
        if path.exists() and not path.is_file():
            raise UsageError(f"the registry {str(path)!r} is not a file; create one with: toolc build")
        if path.stat().st_size > MAX_REGISTRY_BYTES:
            raise UsageError(
                f"the registry {str(path)!r} is larger than the maximum of {render_size(MAX_REGISTRY_BYTES)}; "
                "build its tools into several registries"
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no registry {str(path)!r}; create it with: toolc build") from None
    except OSError as error:
        raise UsageError(f"the registry {str(path)!r} cannot be read: {error.strerror}") from None
    return parse_registry(data, path)


def parse_registry(data: bytes, path: Path) -> RegistryFile:
    """Return the registry with these bytes, and verify its digests. Raises ``RegistryError``, which names ``path``."""
    try:
        file = registry_from_json(parse(data))
    except (ValueError, RecursionError) as error:
        raise RegistryError(f"{path} is not JSON ({error}); build it again") from None
    except RegistryError as error:
        raise RegistryError(f"{path}: {error}") from None
    names = [tool.spec.name for tool in file.tools]
    if names != sorted(set(names)):
        raise RegistryError(f"{path}: its tools are not sorted by name, or a name occurs twice; build it again")
    others = tools_by_name(tool.spec for tool in file.tools)
    for tool in file.tools:
        _check_digests(path, tool, others)
    return file


def _check_digests(path: Path, tool: RegisteredTool, others: ToolLookup) -> None:
    computed = digests(tool.spec, others)
    for kind, recorded, actual in (
        ("surface", tool.surface_digest, computed.surface),
        ("effect", tool.effect_digest, computed.effect),
    ):
        if recorded != actual:
            raise RegistryError(
                f"{path}: tool {tool.spec.name!r} does not match its {kind} digest: recorded {recorded}, "
                f"found {actual}; the file was changed after it was built, so build it again and review it"
            )
