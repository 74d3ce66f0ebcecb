"""Convert PyYAML's nodes to nodes of ``toolc.document``, with values by the core schema of YAML 1.2.

Everything that a spec cannot contain is reported: custom tags, merge keys, duplicate keys, and values that JSON lacks.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

import yaml
from yaml import CollectionNode, MappingNode, ScalarNode

from toolc.dataclass import dataclass, field
from toolc.document.edits import Unquoted, fix, quote, quote_plain, quoted, replace
from toolc.document.nodes import (
    Mapping,
    MappingEntry,
    Marks,
    Node,
    Scalar,
    Sequence,
    UnsupportedValue,
    span_at,
    unsupported_value,
    value_span,
)
from toolc.document.syntax_errors import MAX_DEPTH, TooDeepError
from toolc.document.yaml.compose import PLAIN
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics
from toolc.model.source import SourceText, Span
from toolc.model.text import lazy_re

Value: TypeAlias = bool | int | float | str | None

_WORDS: Final[dict[str, Value]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((sign + word for sign in ("", "+") for word in (".inf", ".Inf", ".INF")), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_WORDS_1_1: Final[dict[str, Value]] = {
    form(word): value
    for words, value in ((("yes", "on", "y"), True), (("no", "off", "n"), False))
    for word in words
    for form in (str.lower, str.capitalize, str.upper)
}
_INTEGER: Final = lazy_re(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = lazy_re(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SAME_IN_BOTH: Final = lazy_re(r"[-+]?(0|[1-9][0-9]*)|[-+]?[0-9]+\.[0-9]+")
_BEYOND: Final = 2**64
"""Represents all larger integers. None of them is valid, because JSON readers do not represent them exactly."""

_LONGEST_NUMBER: Final = 200  # PyYAML needs quadratic time for "1:2:3", a number with the base 60
NUMBERS: Final = "+-.0123456789"
"""The characters that a number can start with."""

WORDS: Final = frozenset((*_WORDS, *_WORDS_1_1, "<<"))
"""Plain scalars, other than numbers, that some YAML parser does not read as a string."""

MAX_ALIASED: Final = 10_000
"""The maximum number of nodes that the aliases of one file may add.

A few aliases of aliases can represent billions of nodes.
"""

_CORE: Final = "tag:yaml.org,2002:"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The value of a plain scalar. ``in_yaml_1_1`` describes its value in YAML 1.1, or is empty if it is the same.

    ``refused`` is the reason why a spec cannot contain the value, or None if it can.
    """

    value: Value
    in_yaml_1_1: str = ""
    refused: UnsupportedValue | None = None


@lru_cache(maxsize=4096)
def meaning(text: str) -> Meaning:
    """Return the meaning of the plain (unquoted) scalar ``text``."""
    if text in _WORDS:
        return Meaning(_WORDS[text], refused=unsupported_value(_WORDS[text], text))
    if text in _WORDS_1_1:
        return Meaning(text, describe_value(_WORDS_1_1[text]))
    if text[0] not in NUMBERS:
        return Meaning(text)
    value = _number(text)
    in_yaml_1_1 = "" if _SAME_IN_BOTH.fullmatch(text) else _in_yaml_1_1(text, value)
    return Meaning(value, in_yaml_1_1, unsupported_value(value, text))


def describe_value(value: object) -> str:
    """Return a value as messages describe it, such as ``true``, ``the number 10`` or ``the text "x"``."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() if abs(value) > _BEYOND:
            return "a number with many digits"
        case int() | float():
            return f"the number {value}"
        case str():
            return f'the text "{value}"'
        case _:
            return f"the date {value}"


def _number(text: str) -> Value:
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _integer(text: str) -> int:
    if len(text.lstrip("+-0")) > 40:  # Python refuses to parse thousands of digits, and JSON readers do too
        return _BEYOND
    if text[:2] in {"0o", "0x"}:
        return int(text, 0)
    digits = int(text.lstrip("+-0") or "0")  # without leading zeros, of which there may be thousands
    return -digits if text.startswith("-") else digits


def _in_yaml_1_1(text: str, value: Value) -> str:
    tags = yaml.SafeLoader.yaml_implicit_resolvers[text[0]]
    tag = next((tag for tag, pattern in tags if pattern.match(text)), "tag:yaml.org,2002:str")
    if len(text) > _LONGEST_NUMBER and tag.endswith((":int", ":float")):
        return "a number with many digits"
    loader = yaml.SafeLoader("")
    try:
        old = loader.construct_object(yaml.ScalarNode(tag, text))
    except ValueError:
        return "an invalid date"
    finally:
        loader.dispose()
    return "" if type(old) is type(value) and old == value else describe_value(old)


_new: Final = tuple.__new__
"""Creates a named tuple from all its values, in half the time that calling its class takes."""


class _Extent(NamedTuple):
    """The number of nodes in a node, including itself, and the number of levels."""

    size: int
    height: int


_SCALAR_EXTENT: Final = _Extent(1, 1)


@dataclass(slots=True)
class Builder:
    """Converts PyYAML's nodes. A node that several aliases share is converted and reported once.

    ``built`` has the converted collections by the ``id`` of PyYAML's node. The value is None while the parts of the
    collection are converted.
    """

    source: SourceText
    diagnostics: Diagnostics
    built: dict[int, Node | None] = field(default_factory=dict)
    extents: dict[int, _Extent] = field(default_factory=dict)
    aliased: int = 0

    # This runs for about a hundred nodes per file, so the path for valid nodes must be short.

    def build(self, root: yaml.Node) -> Node:
        """Return the node for the root of a document."""
        return self._build(root, 1)

    def _build(self, node: yaml.Node, depth: int) -> Node:
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        number = id(node)
        if number in self.built or depth > MAX_DEPTH:
            return self._again(node, depth)
        self.built[number] = None
        assert isinstance(node, CollectionNode)
        built = self._mapping(node, depth) if isinstance(node, MappingNode) else self._sequence(node, depth)
        self.built[number] = built
        return built

    def _again(self, node: yaml.Node, depth: int) -> Node:
        """Return the collection of an alias. If it contains itself or is too deep, report it and return null."""
        known = self.built.get(id(node))
        extent = _SCALAR_EXTENT if known is None else self._extent(known)
        if known is None and id(node) in self.built:
            code, message = codes.ALIAS, "this contains an alias to itself"
        elif depth + extent.height - 1 > MAX_DEPTH:
            code, message = codes.TOO_BIG, str(TooDeepError())
        elif known is not None and self.aliased + extent.size <= MAX_ALIASED:
            self.aliased += extent.size
            return known
        else:
            code = codes.ALIAS
            message = f"the file's aliases expand to more than {MAX_ALIASED} values, including this one"
        span = self._span(node)
        self.diagnostics.add(code, message, span)
        return Scalar(None, span)

    def _extent(self, node: Node) -> _Extent:
        """Return the size and height of a node. Only aliases need this, and shared nodes are measured once."""
        if isinstance(node, Scalar):
            return _SCALAR_EXTENT
        if id(node) not in self.extents:
            parts = node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries]
            inner = [self._extent(part) for part in parts]
            size = 1 + sum(each.size for each in inner)
            self.extents[id(node)] = _Extent(size, 1 + max((each.height for each in inner), default=0))
        return self.extents[id(node)]

    def _sequence(self, node: CollectionNode, depth: int) -> Sequence:
        if node.tag:
            self._check_tag(node, "seq")
        items = tuple([self._build(item, depth + 1) for item in node.value])
        return Sequence(items, self._place_of(node, items))

    def _mapping(self, node: MappingNode, depth: int) -> Node:
        if node.flow_style and self._reported_placeholder(node):
            return Scalar("", self._place(node))
        if node.tag:
            self._check_tag(node, "map")
        source = self.source
        entries: dict[str, MappingEntry] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if key_node.tag != PLAIN or key in WORDS or key[0] in NUMBERS:
                key = self._odd_key(key_node)
            is_scalar = type(value_node) is ScalarNode
            value = self._scalar(value_node) if is_scalar else self._build(value_node, depth + 1)
            if key is None:
                continue
            if key in entries:
                self._duplicate(entries[key], value_span(self._place(key_node)))
                continue
            start, end = key_node.start_mark, key_node.end_mark
            place = (source, start.line, start.column, end.line, end.column)
            entries[key] = _new(MappingEntry, (key, place, value))
        return Mapping(entries, self._place_of(node, entries))

    def _duplicate(self, first: MappingEntry, span: Span) -> None:
        self.diagnostics.add(
            codes.DUPLICATE_KEY,
            f"the key '{first.key}' is already on line {first.key_span.start.line}",
            span,
            "keep one of the two",
        )

    def _odd_key(self, node: yaml.Node) -> str | None:
        """Return the text of a key that YAML may not read as text, or None after reporting that it cannot be a key."""
        if not isinstance(node, ScalarNode):
            if not (isinstance(node, MappingNode) and self._reported_placeholder(node)):
                message = "a key must be text, not a list or a map"
                self.diagnostics.add(codes.NON_STRING_KEY, message, value_span(self._place(node)))
            return None
        if node.tag == PLAIN and node.value == "<<":
            self.diagnostics.add(
                codes.ALIAS,
                "merge keys are not part of YAML 1.2",
                value_span(self._place(node)),
                "put keys that several tools share under 'defaults:', or repeat them",
            )
            return None
        self._check_tag(node, "str")
        plain = meaning(node.value) if node.tag == PLAIN else Meaning(node.value)
        value = plain.value
        if isinstance(value, str):
            # PyYAML never reads y and n as booleans, and they are common names for coordinates and counts.
            if plain.in_yaml_1_1 and value.lower() not in {"y", "n"}:
                self._disagreement(value, value, plain.in_yaml_1_1, value_span(self._place(node)))
            return value
        span = value_span(self._place(node)) if node.value else self._span(node)
        kind = "null" if value is None else "a boolean" if isinstance(value, bool) else "a number"
        key = f"the key {node.value}" if node.value else "an empty key"
        self.diagnostics.add(
            codes.NON_STRING_KEY, f"{key} is {kind}, but keys must be strings", span, f'write "{node.value}"',
            quote_plain(self.source, span),
        )  # fmt: skip
        return None

    def _scalar(self, node: ScalarNode) -> Scalar:
        start, end, text, tag = node.start_mark, node.end_mark, node.value, node.tag
        assert start is not None
        assert end is not None
        place = (self.source, start.line, start.column, end.line, end.column)
        if tag == PLAIN:
            if text not in WORDS and text[0] not in NUMBERS:
                return _new(Scalar, (text, place, True, None, ()))
        elif tag == "" or tag == _CORE + "str":
            return _new(Scalar, (text, place, False, None, ()))
        plain = meaning(text)
        if tag != PLAIN:
            return Scalar(self._tagged(node, plain.value), place)
        if plain.refused:
            self.diagnostics.add(plain.refused.code, plain.refused.message, value_span(place), plain.refused.hint)
        elif plain.in_yaml_1_1:
            self._disagreement(text, plain.value, plain.in_yaml_1_1, value_span(place))
        return _new(Scalar, (plain.value, place, True, None, ()))

    def _disagreement(self, text: str, value: Value, in_yaml_1_1: str, span: Span) -> None:
        hint = (
            f'put it in quotes, "{text}", so that every reader sees the text'
            if isinstance(value, str)
            else "write it so that all readers agree, or put it in quotes if you mean text"
        )
        if in_yaml_1_1 in {"true", "false"}:
            hint += f"; write {in_yaml_1_1} if you mean that"
        self.diagnostics.add(
            codes.YAML_DISAGREEMENT,
            f"{text} is {describe_value(value)} in YAML 1.2, but {in_yaml_1_1} in YAML 1.1",
            span,
            hint,
            # Only the author knows whether a number was meant as text.
            fix("put it in quotes", replace(self.source, span, text, quoted(text)), safe=True)
            if isinstance(value, str)
            else None,
        )

    def _tagged(self, node: yaml.ScalarNode, value: Value) -> Value:
        expected = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(node.tag.removeprefix(_CORE))
        if expected is float and type(value) is int:
            value = float(value)
        if expected is None:
            self._refuse_tag(node)
        elif type(value) is not expected:
            self.diagnostics.add(
                codes.BAD_VALUE, f"'{node.value}' is not a valid {_short(node.tag)}", self._span(node), "remove the tag"
            )
        elif refused := unsupported_value(value, node.value):
            self.diagnostics.add(refused.code, refused.message, self._span(node), refused.hint)
        return value

    def _check_tag(self, node: yaml.Node, own: str) -> None:
        if node.tag not in {"", PLAIN, _CORE + own}:
            self._refuse_tag(node)

    def _refuse_tag(self, node: yaml.Node) -> None:
        self.diagnostics.add(
            codes.CUSTOM_TAG,
            f"the tag {_short(node.tag)} has no meaning in a spec",
            self._span(node),
            "remove it, or put the value in quotes if it is text that starts with '!'",
        )

    def _reported_placeholder(self, node: MappingNode) -> bool:
        """Return whether a map is actually a placeholder without quotes, and report it."""
        if not (node.flow_style and node.value and isinstance(node.value[0][0], MappingNode)):
            return False  # the braces of a placeholder are a map whose first key is a map
        span = value_span(self._place(node))
        line = self.source.line(span.start.line)
        first = span.start.column - 1
        if not line.startswith("{{", first):
            return False
        last = span.end.column - 1 if span.end.line == span.start.line else len(line)
        value = Unquoted(line[first:last], first)
        correction = quote(self.source, span, value)
        self.diagnostics.add(codes.UNQUOTED_PLACEHOLDER, value.message, span, value.hint, correction)
        return True

    def _span(self, node: yaml.Node) -> Span:
        return span_at(self._place(node))

    def _place(self, node: yaml.Node) -> Marks:
        start, end = node.start_mark, node.end_mark
        assert start is not None
        assert end is not None
        return (self.source, start.line, start.column, end.line, end.column)

    def _place_of(self, node: CollectionNode, parts: Collection[object]) -> Marks:
        """Return the marks of a collection. Those of a block end at its start, because its parts determine its end."""
        source, line, column, *_ = place = self._place(node)
        return (source, line, column, line, column) if parts and not node.flow_style else place


def _short(tag: str) -> str:
    return tag.replace(_CORE, "!!", 1)
