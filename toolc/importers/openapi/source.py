"""Read an OpenAPI document, resolve its references, and find the line of a place in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urldefrag, urljoin

import yaml

from toolc.dataclass import dataclass
from toolc.document.nodes import Mapping, Sequence, child
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, decode_json, list_index
from toolc.model.source import SourceText
from toolc.model.text import render_size

MAX_DOCUMENT: Final = 64 * 1024 * 1024
"""The maximum size of a document, in bytes."""

MAX_WITH_POSITIONS: Final = 4 * 1024 * 1024
"""The maximum size of a document whose lines are reported. Finding them takes seconds in a larger one."""

_MAX_REFERENCES: Final = 50
"""The maximum number of references that lead from one to the next."""

Fetch = Callable[[str], bytes]
"""Returns the document at a URL or path to which a document refers. Raises ``UsageError`` if that is not allowed."""


class LeftOutError(Exception):
    """An operation cannot be expressed as a spec. ``tokens`` is the path of the cause, if it is in the document."""

    def __init__(self, reason: str, *tokens: str | int) -> None:
        super().__init__(reason)
        self.tokens = tokens


class Target(NamedTuple):
    """The target of a reference: the value, the document that contains it, and an identity of the place."""

    value: JsonValue
    base: str
    identity: str


class _Loader(yaml.CSafeLoader):
    """Reads YAML with the core schema of YAML 1.2. Keys are always text."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  declared by the base class

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        self.flatten_mapping(node)
        return {
            str(key.value) if isinstance(key, yaml.ScalarNode) else "": self.construct_object(value, deep=deep)
            for key, value in node.value
        }


for _tag, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", "[-+]?[0-9]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", "~|null|Null|NULL|", "~nN\0"),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), [*_first, ""])
yaml.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value, 16 if "x" in node.value else 10), _Loader)
yaml.add_constructor("tag:yaml.org,2002:timestamp", lambda _, node: str(node.value), _Loader)


def _json_or_yaml(data: bytes) -> JsonValue:
    if data.lstrip()[:1] == b"{":
        with suppress(ValueError):  # YAML can start with '{' too
            return decode_json(data)
    value: JsonValue = yaml.load(data.decode("utf-8-sig"), Loader=_Loader)  # noqa: S506  it is a CSafeLoader
    return value


def parse(data: bytes, name: str) -> JsonObject:
    """Parse ``data`` as JSON or YAML. Raises ``UsageError``."""
    if len(data) > MAX_DOCUMENT:
        raise UsageError(f"{name} is larger than {render_size(MAX_DOCUMENT)}")
    try:
        value = _json_or_yaml(data)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(f"{name} is neither JSON nor YAML: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{name} is not an OpenAPI document; convert it first, or write the tools by hand")
    return value


@dataclass(frozen=True, slots=True)
class Document:
    """The document ``root`` at ``base``, a URL or path, and the documents that it refers to, by URL or path."""

    root: JsonObject
    base: str
    data: bytes
    fetch: Fetch
    others: dict[str, JsonObject]

    @classmethod
    def of(cls, data: bytes, base: str, fetch: Fetch) -> Document:
        """Parse ``data`` as a document. Raises ``UsageError``."""
        return cls(parse(data, base), base, data, fetch, {})

    def resolve(self, value: JsonValue, base: str) -> Target:
        """Return ``value``, or the object that it refers to. Raises ``LeftOutError``."""
        identity = ""
        for _ in range(_MAX_REFERENCES):
            reference = value.get("$ref") if isinstance(value, dict) else None
            if not isinstance(reference, str):
                return Target(value, base, identity)
            value, base, identity = self.target(reference, base)
        raise LeftOutError("its references are circular")

    def target(self, reference: str, base: str) -> Target:
        """Return the target of a reference in the document ``base``. Raises ``LeftOutError``."""
        try:
            place, fragment = urldefrag(base + reference if reference.startswith("#") else urljoin(base, reference))
        except ValueError:
            raise LeftOutError(f"the reference {reference[:200]!r} is not a URL") from None
        if place != self.base and place not in self.others:
            try:
                self.others[place] = parse(self.fetch(place), place)
            except UsageError as error:
                raise LeftOutError(f"the reference {reference[:200]!r}: {error}") from None
        value: JsonValue = self.root if place == self.base else self.others[place]
        for token in [each.replace("~1", "/").replace("~0", "~") for each in unquote(fragment).split("/")[1:]]:
            index = list_index(token)
            if isinstance(value, dict) and token in value:
                value = value[token]
            elif isinstance(value, list) and index is not None and index < len(value):
                value = value[index]
            else:
                raise LeftOutError(f"the target of the reference {reference[:200]!r} does not exist")
        if fragment and not fragment.startswith("/"):
            raise LeftOutError(f"the reference {reference[:200]!r} is not a JSON Pointer")
        return Target(value, place, f"{place}#{fragment}")

    def object_at(self, value: JsonValue, base: str) -> tuple[JsonObject, str]:
        """Return the map ``value``, or the map that it refers to, with its document. Raises ``LeftOutError``."""
        target = self.resolve(value, base)
        return (target.value if isinstance(target.value, dict) else {}), target.base


class Positions:
    """The lines of places in a document. A document that is small enough is parsed once for them."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def describe(self, tokens: tuple[str | int, ...]) -> str:
        """Return ``FILE#POINTER``, or ``FILE:LINE:COLUMN: #POINTER``, of a place in the document."""
        pointer = child_pointer("#", *tokens)
        node, place = self._root, None
        for token in tokens:
            entry = node.entry(token) if isinstance(node, Mapping) and isinstance(token, str) else None
            inner = child(node, token) if node is not None else None
            if inner is None:
                break
            place = entry.key_span if entry else inner.span
            node = inner if isinstance(inner, Mapping | Sequence) else None
        base = self._document.base
        return f"{base}:{place.start.line}:{place.start.column}: {pointer}" if place else f"{base}{pointer}"

    @cached_property
    def _root(self) -> Mapping | Sequence | None:
        if len(self._document.data) > MAX_WITH_POSITIONS:
            return None
        from toolc.document.yaml.yaml_parser import parse_yaml  # lazy: only if something is left out

        text = self._document.data.decode("utf-8-sig")
        node = parse_yaml(SourceText(self._document.base, text), Diagnostics())
        return node if isinstance(node, Mapping | Sequence) else None
