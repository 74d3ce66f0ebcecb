"""PyYAML's nodes to ours: values by YAML 1.2's core schema, and everything that a spec must not say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import yaml

from toolc.compiler import codes
from toolc.compiler.document import Entry, Mapping, Node, Scalar, Sequence
from toolc.compiler.edits import fix, quote, quote_plain, replace
from toolc.compiler.load_values import refusal
from toolc.compiler.unquoted import Unquoted, quoted
from toolc.compiler.yaml_compose import MAX_DEPTH, PLAIN
from toolc.compiler.yaml_scalars import Meaning, Value, in_words, meaning
from toolc.diagnostics import Diagnostics
from toolc.source import Position, SourceText, Span

MAX_ALIASED: Final = 10_000
"""How many nodes the aliases of one file may add."""

_CORE: Final = "tag:yaml.org,2002:"


class _Built(NamedTuple):
    """A node, how many nodes it holds with itself, and how many levels."""

    node: Node
    size: int = 1
    height: int = 1


@dataclass(slots=True)
class Builder:
    """Turns PyYAML's nodes into ours. A node that aliases share is built, and complained about, once."""

    source: SourceText
    diagnostics: Diagnostics
    built: dict[int, _Built] = field(default_factory=dict)
    unfinished: set[int] = field(default_factory=set)
    aliased: int = 0

    def build(self, root: yaml.Node) -> Node:
        """Our node for the root of a document."""
        return self._build(root, 1).node

    def _build(self, node: yaml.Node, depth: int) -> _Built:
        if isinstance(node, yaml.ScalarNode):
            return _Built(self._scalar(node))
        known = self.built.get(id(node))
        trouble = self._trouble(node, known, depth)
        if trouble is not None:
            return trouble
        if known is not None:
            return known
        self.unfinished.add(id(node))
        built = self._mapping(node, depth) if isinstance(node, yaml.MappingNode) else self._sequence(node, depth)
        self.unfinished.discard(id(node))
        self.built[id(node)] = built
        return built

    def _trouble(self, node: yaml.Node, known: _Built | None, depth: int) -> _Built | None:
        """What stands in for a collection that cannot be built (again): aliases without end, or too deep."""
        if id(node) in self.unfinished:
            code, message = codes.ALIAS, "this contains an alias to itself"
        elif depth + (known.height if known else 1) - 1 > MAX_DEPTH:
            code, message = codes.TOO_BIG, f"lists and maps nested deeper than {MAX_DEPTH} levels"
        elif known is not None and self.aliased + known.size > MAX_ALIASED:
            code = codes.ALIAS
            message = f"the file's aliases expand to more than {MAX_ALIASED} values, this among them"
        else:
            self.aliased += known.size if known else 0
            return None
        span = self._span(node)
        self.diagnostics.add(code, message, span)
        return _Built(Scalar(None, span))

    def _sequence(self, node: yaml.Node, depth: int) -> _Built:
        self._check_tag(node, "seq")
        items = [self._build(item, depth + 1) for item in node.value]
        span = self._span(node, items[-1].node.span if items else None)
        return _collect(Sequence(tuple(item.node for item in items), span), items)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> _Built:
        if self._reported_placeholder(node):
            return _Built(Scalar("", self._span(node)))
        self._check_tag(node, "map")
        entries: dict[str, Entry] = {}
        values: list[_Built] = []
        for key_node, value_node in node.value:
            key_span = self._span(key_node)
            key = self._key(key_node, key_span)
            value = self._build(value_node, depth + 1)
            if key is None:
                continue
            if key in entries:
                self._duplicate(entries[key], key_span)
                continue
            values.append(value)
            entries[key] = Entry(key, key_span, value.node)
        span = self._span(node, values[-1].node.span if values else None)
        return _collect(Mapping(tuple(entries.values()), span), values)

    def _duplicate(self, first: Entry, span: Span) -> None:
        self.diagnostics.add(
            codes.DUPLICATE_KEY,
            f"the key '{first.key}' is already on line {first.key_span.start.line}",
            span,
            "keep one of the two",
        )

    def _key(self, node: yaml.Node, span: Span) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            if not self._reported_placeholder(node):
                self.diagnostics.add(codes.NON_STRING_KEY, "a key must be text, not a list or a map", span)
            return None
        if node.tag == PLAIN and node.value == "<<":
            self.diagnostics.add(
                codes.ALIAS,
                "merge keys are not part of YAML 1.2",
                span,
                "put what several tools share under 'defaults:', or write it out",
            )
            return None
        self._check_tag(node, "str")
        plain = meaning(node.value) if node.tag == PLAIN else Meaning(node.value)
        value = plain.value
        if isinstance(value, str):
            # PyYAML takes y and n for booleans nowhere, and they are what coordinates and counts are called.
            if plain.elsewhere and value.lower() not in {"y", "n"}:
                self._disagreement(value, value, plain.elsewhere, span)
            return value
        kind = "null" if value is None else "a boolean" if isinstance(value, bool) else "a number"
        shown = f"the key {node.value}" if node.value else "an empty key"
        self.diagnostics.add(
            codes.NON_STRING_KEY, f"{shown} is {kind}, and keys are text", span, f'write "{node.value}"',
            quote_plain(self.source, span),
        )  # fmt: skip
        return None

    def _scalar(self, node: yaml.ScalarNode) -> Scalar:
        span = self._span(node)
        if node.tag == "" or node.tag == _CORE + "str":
            return Scalar(node.value, span)
        plain = meaning(node.value)
        if node.tag != PLAIN:
            return Scalar(self._tagged(node, plain.value), span)
        if refused := refusal(plain.value, node.value):
            self.diagnostics.add(refused.code, refused.message, span, refused.hint)
        elif plain.elsewhere:
            self._disagreement(node.value, plain.value, plain.elsewhere, span)
        return Scalar(plain.value, span, plain=True)

    def _disagreement(self, text: str, value: Value, elsewhere: str, span: Span) -> None:
        hint = (
            f'put it in quotes, "{text}", so that every reader sees the text'
            if isinstance(value, str)
            else "write it so that all readers agree, or put it in quotes if you mean text"
        )
        self.diagnostics.add(
            codes.YAML_DISAGREEMENT,
            f"{text} is {in_words(value)} here (YAML 1.2), and {elsewhere} to readers of YAML 1.1",
            span,
            hint,
            # A number that was meant as text is for its writer to mend.
            fix("put it in quotes", replace(self.source, span, text, quoted(text)), safe=True)
            if isinstance(value, str)
            else None,
        )

    def _tagged(self, node: yaml.ScalarNode, value: Value) -> Value:
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}.get(node.tag.removeprefix(_CORE))
        if wanted is float and type(value) is int:
            value = float(value)
        if wanted is None:
            self._refuse_tag(node)
        elif type(value) is not wanted:
            self.diagnostics.add(
                codes.BAD_VALUE, f"'{node.value}' is no {_short(node.tag)}", self._span(node), "drop the tag"
            )
        elif refused := refusal(value, node.value):
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
            "drop it, or put the value in quotes if it is text that starts with '!'",
        )

    def _reported_placeholder(self, node: yaml.Node) -> bool:
        """Whether a map is in truth a placeholder without quotes; then it is reported."""
        if not (isinstance(node, yaml.MappingNode) and node.flow_style):
            return False
        span = self._span(node)
        line = self.source.line(span.start.line)
        first = span.start.column - 1
        if not line.startswith("{{", first):
            return False
        last = span.end.column - 1 if span.end.line == span.start.line else len(line)
        found = Unquoted(line[first:last], first)
        self.diagnostics.add(
            codes.UNQUOTED_PLACEHOLDER, found.message, span, found.hint, quote(self.source, span, found)
        )
        return True

    def _span(self, node: yaml.Node, last: Span | None = None) -> Span:
        """Where a node stands; a block ends with its ``last`` part, not where the next thing begins."""
        first, after = node.start_mark, node.end_mark
        assert first is not None
        assert after is not None
        start, end = Position(first.line + 1, first.column + 1), Position(after.line + 1, after.column + 1)
        if start.line > len(self.source.lines):  # libyaml counts a line too many after a last '---'
            return self.source.span(len(self.source.text), len(self.source.text))
        if last is not None and isinstance(node, yaml.CollectionNode) and not node.flow_style:
            end = max(start, last.end)
        if end.column == 1:
            end = self._before_blank(start, end)
        return Span(self.source.path, start, end)

    def _before_blank(self, start: Position, end: Position) -> Position:
        line = end.line
        if line <= start.line:
            return end
        while line > start.line + 1 and not self.source.line(line - 1).strip():
            line -= 1
        return Position(line - 1, len(self.source.line(line - 1)) + 1)


def _collect(node: Node, parts: list[_Built]) -> _Built:
    size, height = 1, 0
    for _, part_size, part_height in parts:
        size += part_size
        height = max(height, part_height)
    return _Built(node, size, height + 1)


def _short(tag: str) -> str:
    return tag.replace(_CORE, "!!", 1)
