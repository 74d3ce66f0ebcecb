"""Read a map of a document key by key, and collect all findings.

A wrong value is reported at its position and read as None or as the default, so that reading continues and finds
further problems. ``Findings.errors`` is the number of errors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection
from functools import update_wrapper
from typing import Concatenate, Final, ParamSpec, TypeAlias, TypeVar

from toolc.dataclass import dataclass, field
from toolc.document import suggestions
from toolc.document.edits import fix, quote_plain, rename
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence
from toolc.document.suggestions import quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostics, Fix, Severity
from toolc.model.names import close_match
from toolc.model.source import Position, SourceText, Span
from toolc.model.spec.declared import Declared, keys_of
from toolc.model.text import lazy_re, shorten

T = TypeVar("T")
P = ParamSpec("P")

_MAX_UNKNOWN: Final = 1000
"""The maximum number of unknown keys of one map that are reported one by one. Finding suggestions is slow."""

_MAX_COMPARED: Final = 100  # each key is compared with all others, and a larger map is not a typo


_TAG: Final = lazy_re(r"(?:^|[\s,\[{])(![^\s,\[\]{}]*)[ \t]+(?:&\S+[ \t]+)?$")
_MARKS_OF_TEXT: Final = ("'", '"', "|", ">")


@dataclass(slots=True)
class Findings:
    """Collects the findings about one spec. ``errors`` is the number of errors among them.

    ``reading`` is the value that is read now, and the reader of its map. Values can come from the project file, so the
    text at a span is read from the file that the span names.
    """

    source: SourceText
    diagnostics: Diagnostics
    errors: int = 0
    reading: tuple[Node, Reader] | None = None
    _muted: list[Span] = field(default_factory=list)

    def add(self, code: Code, message: str, span: Span, hint: str = "", fix: Fix | None = None) -> None:
        """Add one finding, unless it is within a span that was muted."""
        self.errors += code.severity is Severity.ERROR
        # The spans do not contain each other, so the last one that starts before this span ends last.
        index = bisect_right(self._muted, (span.path, span.start), key=lambda each: (each.path, each.start))
        if not index or not self._muted[index - 1].covers(span):
            self.diagnostics.add(code, message, span, hint, fix)

    def mute(self, span: Span) -> None:
        """Stop reporting within ``span``, because the problem there was already reported."""
        index = bisect_right(self._muted, (span.path, span.start), key=lambda each: (each.path, each.start))
        if index and self._muted[index - 1].covers(span):
            return
        end = index
        while end < len(self._muted) and span.covers(self._muted[end]):
            end += 1
        start = index - 1 if index and span.covers(self._muted[index - 1]) else index
        self._muted[start:end] = [span]

    def source_of(self, span: Span) -> SourceText:
        """Return the text of the file that contains ``span``."""
        if span.path == self.source.path:
            return self.source
        return self.diagnostics.source(span.path) or SourceText(span.path, "")

    def text_at(self, span: Span) -> str:
        """Return the first line of the text at ``span``, as written in the file."""
        line = self.source_of(span).line(span.start.line)
        end = span.end.column - 1 if span.end.line == span.start.line else len(line)
        return line[span.start.column - 1 : end]

    def locate(self, span: Span, text: str, occurrence: int = 0) -> Span:
        """Return the span of ``text`` within ``span``, or ``span`` if it is not written there literally."""
        return self.source_of(span).locate(span, text, occurrence)

    def rename_fix(self, span: Span, name: str, known: Collection[str]) -> Fix | None:
        """Return a fix that replaces ``name`` at ``span`` with the most similar known name, if there is one."""
        near = close_match(name, known)
        return fix(f"write '{near}'", rename(self.source, span, name, near)) if near else None

    def rename_key_fix(self, entry: MappingEntry, node: Mapping, known: Collection[str]) -> Fix | None:
        """Like ``rename_fix``, for a key of ``node``. None if another key already has that name or a similar one."""
        if len(node.entries) > _MAX_COMPARED:
            return None
        others = (other.key for other in node.entries if other is not entry)
        near = close_match(entry.key, known)
        is_taken = any(near == (other if other in known else close_match(other, known)) for other in others)
        return None if is_taken else self.rename_fix(entry.key_span, entry.key, known)

    def code_line(self, span: Span, text: str) -> int:
        """Return the number of the line with the first line of ``text``, a string written at ``span``."""
        first = text.split("\n", 1)[0].strip()
        starts_below = self.source_of(span).line(span.start.line + 1).strip() == first
        return span.start.line + starts_below


Parse: TypeAlias = Callable[[Node, str, Findings], T | None]
"""Reads one node. The string is its name for messages. If the value is wrong, reports a finding and returns None."""


class Reader:
    """Reads one map. At the end, ``close`` reports the keys that were not read."""

    # A tool has about seventy keys, and most of them are absent, so reading an absent key must be fast.

    __slots__ = ("_by_key", "_known", "cls", "damaged", "findings", "node", "what")

    def __init__(self, node: Mapping, what: str, findings: Findings) -> None:
        self.node = node
        self.what = what
        self.findings = findings
        self._by_key = node.by_key
        self._known: set[str] = set()
        self.damaged: set[str] = set()
        self.cls: type | None = None  # that declares the keys of this map

    def get(self, key: str) -> Node | None:
        """Return the value of ``key`` as a node, or None."""
        self._known.add(key)
        return self.node.get(key)

    def ignore(self, *keys: str) -> None:
        """Mark ``keys`` as known. The caller reads them elsewhere."""
        self._known.update(keys)

    def optional(self, key: str, parse: Parse[T]) -> T | None:
        """Return the value of ``key``, or None if it is absent or invalid."""
        self._known.add(key)
        entry = self._by_key.get(key)
        return None if entry is None else self.read(entry, parse)

    def read(self, entry: MappingEntry, parse: Parse[T]) -> T | None:
        """Return the value of an entry, or None if it is invalid. A key with an error is added to ``damaged``."""
        errors = self.findings.errors
        self.findings.reading = (entry.value, self)
        value = parse(entry.value, f"'{entry.key}'", self.findings)
        if self.findings.errors > errors:
            self.damaged.add(entry.key)
        return value

    def default(self, key: str, parse: Parse[T], default: T) -> T:
        """Return the value of ``key``, or ``default`` if it is absent or invalid."""
        value = self.optional(key, parse)
        return default if value is None else value

    def required(self, key: str, parse: Parse[T]) -> T | None:
        """Return the value of ``key``, or None if it is invalid or absent. An absent key is reported."""
        if key not in self._by_key:
            self._known.add(key)
            self.damaged.add(key)
            if key == "backend" and suggestions.replaced_keys(self.node, self.cls):  # ``close`` reports the key
                return None
            place, hint = first_line(self.node.span), suggestions.missing_key(key, self.node, self.declared(key))
            self.findings.add(codes.MISSING_KEY, f"{self.what} has no '{key}'", place, hint)
            return None
        return self.optional(key, parse)

    def one_of(self, *keys: str) -> str | None:
        """Return the one of ``keys`` that is present. If none or several are, report a finding and return None."""
        self._known.update(keys)
        named = [entry for entry in self.node.entries if entry.key in keys]
        if len(named) == 1:
            return named[0].key
        expected = f"exactly one of {quote_names(keys)}"
        if named:
            message = f"{self.what} has both '{named[0].key}' and '{named[1].key}'; it must have {expected}"
            self.findings.add(codes.BAD_VALUE, message, named[1].key_span, f"remove all but one of {quote_names(keys)}")
        elif not suggestions.replaced_keys(self.node, self.cls):  # ``close`` reports a key written instead
            self.findings.add(
                codes.MISSING_KEY, f"{self.what} has none of {quote_names(keys)}", first_line(self.node.span),
                f"add {expected}",
            )  # fmt: skip
        return None

    def close(self) -> None:
        """Report every key that was not read."""
        if self._by_key.keys() <= self._known:
            return
        unknown = [entry for entry in self.node.entries if entry.key not in self._known]
        if cause := suggestions.explanation(unknown, self.cls):
            unknown = [cause]
        reported: set[str] = set()
        for entry in unknown[:_MAX_UNKNOWN]:
            message = f"{self.what} has no key '{entry.key:.100}'"
            meant = suggestions.unknown_key(entry.key, self.cls, self._known, entry.key_span.path, entry.value)
            if meant and meant in reported:  # several keys that one other key replaces
                continue
            reported.add(meant)
            hint = meant or suggestion(entry.key, self._known, self._listed_as, "no key is allowed here")
            correction = None if meant else self.findings.rename_key_fix(entry, self.node, self._known)
            self.findings.add(codes.UNKNOWN_KEY, message, entry.key_span, hint, correction)
        if more := unknown[_MAX_UNKNOWN:]:
            message = f"{self.what} has {len(more)} more unknown keys, starting with '{more[0].key:.100}'"
            self.findings.add(codes.UNKNOWN_KEY, message, more[0].key_span, self._keys())

    def declared(self, key: str) -> Declared | None:
        """Return what is declared about ``key``, if that is known."""
        return next((each for each in (keys_of(self.cls) if self.cls else ()) if each.name == key), None)

    @property
    def _listed_as(self) -> str:
        return "the only key is" if len(self._known) == 1 else "the keys are"

    def _keys(self) -> str:
        return f"{self._listed_as} {quote_names(sorted(self._known))}" if self._known else "no key is allowed here"


def unsupported(feature: str, span: Span, findings: Findings) -> None:
    """Report a part of the format that this version of toolc does not support."""
    findings.add(
        codes.UNSUPPORTED, f"this version of toolc does not run '{feature}' yet", span,
        "remove it, or use a version of toolc that runs it",
    )  # fmt: skip


def first_line(span: Span) -> Span:
    """Return the position for a missing part: ``span`` if it is on one line, otherwise its first character."""
    if span.end.line == span.start.line:
        return span
    return Span(span.path, span.start, Position(span.start.line, span.start.column + 1))


def describe(node: Node) -> str:
    """Return a description of a node for messages."""
    match node:
        case Mapping():
            return "a map"
        case Sequence():
            return "a list"
        case Scalar(value=None):
            return "empty"
        case Scalar(value=bool() as value):
            return "true" if value else "false"
        case Scalar(value=str() as text):
            return f"the text {shorten(text, 41)!r}"
        case Scalar(value=value):
            return f"the number {value}"


def mismatch(
    node: Node, what: str, expected: str, findings: Findings, hint: str = "", correction: Fix | None = None
) -> None:
    """Add a finding that ``what`` must be ``expected``, with a description of ``node``."""
    span = node.span if isinstance(node, Scalar) else first_line(node.span)
    declared = None
    if findings.reading and findings.reading[0] is node:
        declared = findings.reading[1].declared(what.strip("'"))
    hint = hint or suggestions.value_hint(node, declared, expected)
    findings.add(codes.BAD_VALUE, f"{what} must be {expected}, but is {describe(node)}", span, hint, correction)


def string(node: Node, what: str, findings: Findings) -> str | None:
    """Return the value of a string. For any other node, report a finding and return None.

    For a number, the finding suggests quotes.
    """
    if isinstance(node, Scalar) and isinstance(node.value, str):
        return node.value
    if isinstance(node, Scalar) and node.text is not None:
        return node.text
    hint = quoting_hint(node, findings)
    correction = quote_plain(findings.source, node.span) if hint else None
    if hint and isinstance(node, Scalar) and isinstance(node.value, float) and not _tag(node, findings):
        written = findings.text_at(node.span)
        message = f"{what} must be a string, but {written} without quotes is the number {node.value:.15g}"
        findings.add(codes.DECIMAL, message, node.span, hint, correction)
    else:
        mismatch(node, what, "a string", findings, hint, correction)
    return None


def quoting_hint(node: Node, findings: Findings) -> str:
    """Return a hint for writing a number or boolean of the file as text, or an empty string for other nodes."""
    if not isinstance(node, Scalar) or node.value is None or isinstance(node.value, str):
        return ""
    written = findings.text_at(node.span)
    if tag := _tag(node, findings):
        return (
            f"remove the tag {tag}" if written[:1] in _MARKS_OF_TEXT else f'remove the tag {tag} and write "{written}"'
        )
    return f'put it in quotes: "{written}"'


def _tag(node: Scalar, findings: Findings) -> str:
    """Return the tag before a YAML scalar, such as ``!!float``, or an empty string."""
    before = findings.source_of(node.span).before(node.span.start)
    match = _TAG.search(before)
    return match[1] if match else ""


def text(node: Node, what: str, findings: Findings) -> str | None:
    """Return a string that is not empty and has no NUL character. For other nodes, report a finding and return None."""
    value = string(node, what, findings)
    if value is not None and (not value.strip() or "\0" in value):
        wrong = "contain a NUL character" if "\0" in value else "be empty"
        findings.add(codes.BAD_VALUE, f"{what} must not {wrong}", node.span)
        return None
    return value


def boolean(node: Node, what: str, findings: Findings) -> bool | None:
    """Return the value of a boolean. For any other node, report a finding and return None."""
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    mismatch(node, what, "true or false", findings)
    return None


def integer(low: int, high: int) -> Parse[int]:
    """Return a parser for whole numbers from ``low`` to ``high``, inclusive."""

    def parse(node: Node, what: str, findings: Findings) -> int | None:
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        mismatch(node, what, f"a whole number from {low} to {high}", findings)
        return None

    return parse


def choice(options: tuple[T, ...]) -> Parse[T]:
    """Return a parser for strings that are one of ``options``."""

    def parse(node: Node, what: str, findings: Findings) -> T | None:
        value = node.value if isinstance(node, Scalar) else None
        for option in options:
            if value == option:
                return option
        names = [str(option) for option in options]
        hint = suggestion(value, names) if isinstance(value, str) else ""
        if isinstance(value, str) and value.upper() in names:
            hint = f"write {value.upper()}"
        mismatch(node, what, f"one of {quote_names(names)}", findings, hint)
        return None

    return parse


def mapping(node: Node, what: str, findings: Findings) -> Mapping | None:
    """Return ``node`` if it is a map. For any other node, report a finding and return None."""
    if isinstance(node, Mapping):
        return node
    mismatch(node, what, "a map", findings)
    return None


def sequence(node: Node, what: str, findings: Findings) -> Sequence | None:
    """Return ``node`` if it is a list. For any other node, report a finding and return None."""
    if isinstance(node, Sequence):
        return node
    mismatch(node, what, "a list", findings)
    return None


def list_of(parse: Parse[T]) -> Parse[tuple[T, ...]]:
    """Return a parser for lists. Wrong items are reported and omitted."""

    def parse_list(node: Node, what: str, findings: Findings) -> tuple[T, ...] | None:
        list_node = sequence(node, what, findings)
        if list_node is None:
            return None
        values = [parse(item, f"{what}[{index}]", findings) for index, item in enumerate(list_node.items)]
        return tuple([value for value in values if value is not None])

    return parse_list


def map_of(parse: Parse[T]) -> Parse[dict[str, T]]:
    """Return a parser for maps with any keys. Wrong values are reported and omitted."""

    def parse_map(node: Node, what: str, findings: Findings) -> dict[str, T] | None:
        map_node = mapping(node, what, findings)
        if map_node is None:
            return None
        name = what.strip("'")
        found = {each.key: parse(each.value, f"{name}.{each.key:.100}", findings) for each in map_node.entries}
        return {key: value for key, value in found.items() if value is not None}

    return parse_map


def map_parser(
    name: str = "",
) -> Callable[[Callable[Concatenate[Reader, P], T]], Callable[Concatenate[Node, str, Findings, P], T | None]]:
    """Return a decorator that turns a function of a ``Reader`` into a parser of a map. See ``Parse``.

    The parser reports any other kind of node, and the keys that the function did not read. ``name`` is the name of the
    map in findings. If it is empty, the name that the parser receives is used.
    """

    def decorate(
        decode: Callable[Concatenate[Reader, P], T],
    ) -> Callable[Concatenate[Node, str, Findings, P], T | None]:
        def parse(node: Node, what: str, findings: Findings, /, *args: P.args, **kwargs: P.kwargs) -> T | None:
            map_node = mapping(node, what, findings)
            if map_node is None:
                return None
            reader = Reader(map_node, name or what, findings)
            value = decode(reader, *args, **kwargs)
            reader.close()
            return value

        update_wrapper(parse, decode)
        return parse

    return decorate
