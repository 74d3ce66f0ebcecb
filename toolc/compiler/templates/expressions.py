"""Parse JMESPath expressions, with the library that the runtime uses, and JSON values that contain templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from toolc.compiler.templates.credential import is_public, read_public
from toolc.compiler.templates.parse import Scope, read_template
from toolc.compiler.text_analysis.credentials import credential_name
from toolc.document.map_reader import Findings, mapping, text
from toolc.document.nodes import Mapping as MappingNode
from toolc.document.nodes import MappingEntry, Node, Scalar, Sequence
from toolc.document.suggestions import suggestion
from toolc.model import codes
from toolc.model.source import Position, Span
from toolc.model.template import JsonConstant, JsonEntry, JsonList, JsonMap, JsonTemplate, Template

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST: Final = 1000
"""The maximum number of characters of an expression.

Real expressions have a tenth of it. A limit is needed because the parser of JMESPath is recursive.
"""

_HINT: Final = "see jmespath.org; write a constant in backquotes, as in ok == `false`"


def read_json_template(node: Node, what: str, findings: Findings, scope: Scope) -> JsonTemplate | None:
    """Parse a JSON value with templates. Invalid parts are reported and left out."""
    match node:
        case MappingNode():
            return read_json_map(node, what, findings, scope)
        case Sequence():
            items = (
                read_json_template(item, f"{what}[{index}]", findings, scope) for index, item in enumerate(node.items)
            )
            return JsonList(items=tuple(item for item in items if item is not None))
        case Scalar(value=str()):
            return read_template(node, what, findings, scope)
        case Scalar(value=value):
            return JsonConstant(value=value)


def read_json_map(node: Node, what: str, findings: Findings, scope: Scope) -> JsonMap | None:
    """Parse a map of templates. Invalid entries are reported and left out. A call omits keys with absent arguments."""
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    entries = (_entry(entry, f"{what}.{entry.key}", findings, scope) for entry in map_node.entries)
    kept = (entry for entry in entries if entry is not None)
    return JsonMap(entries=tuple(sorted(kept, key=lambda entry: entry.key)))


def _entry(entry: MappingEntry, what: str, findings: Findings, scope: Scope) -> JsonEntry | None:
    within = scope.omitting() if isinstance(entry.value, Scalar) else scope
    errors = findings.errors
    if is_public(entry.value) and credential_name(entry.key):
        public = read_public(entry.value, what, findings)
        return JsonEntry(key=entry.key, value=public) if public is not None else None
    value = read_json_template(entry.value, what, findings, within)
    return JsonEntry(key=entry.key, value=value) if value is not None and findings.errors == errors else None


def templates_in(value: object) -> list[Template]:
    """Return every template in a part of a spec, in no particular order."""
    found: list[Template] = []
    waiting: list[Any] = [value]  # Any: the fields of any class
    while waiting:
        each = waiting.pop()
        if isinstance(each, Template):
            found.append(each)
        else:
            cls: type = type(each)
            waiting += each if isinstance(each, tuple) else [getattr(each, name) for name in _field_names(cls)]
    return found


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cls)) if is_dataclass(cls) else ()


def argument_names(value: object) -> frozenset[str]:
    """Return the names of the arguments that the templates in a part of a spec use."""
    return frozenset().union(*(each.names for each in templates_in(value)))


@cache
def _jmespath() -> ModuleType:
    """Return the package ``jmespath``."""
    import jmespath  # lazy: +2 ms; few specs select anything

    return jmespath


def parse_expression(text: str) -> Mapping[str, object]:
    """Return the syntax tree of a JMESPath expression. Raises ``JMESPathError``."""
    tree: Mapping[str, object] = _jmespath().compile(text).parsed
    return tree


def expression(node: Node, what: str, findings: Findings) -> str | None:
    """Check a JMESPath expression and return its text."""
    value = text(node, what, findings)
    if value is None:
        return None
    if len(value) > _LONGEST:
        findings.add(codes.BAD_VALUE, f"{what} is longer than {_LONGEST} characters", node.span)
        return None
    jmespath = _jmespath()
    known = jmespath.functions.Functions.FUNCTION_TABLE
    try:
        unknown = [name for name in _functions(parse_expression(value)) if name not in known]
    except (jmespath.exceptions.JMESPathError, RecursionError) as error:
        at = error.lex_position if isinstance(error, jmespath.exceptions.ParseError) else None
        span = _one_character(findings, node.span, value, at)
        findings.add(codes.TEMPLATE, f"{what} is not JMESPath: {_reason(error)}", span, _HINT)
        return None
    for name in unknown:
        hint = suggestion(name, known)
        span = findings.locate(node.span, f"{name}(")
        findings.add(codes.TEMPLATE, f"JMESPath has no function '{name}'", span, hint or _HINT)
    return None if unknown else value


def _functions(parsed: Mapping[str, object]) -> Iterator[str]:
    if parsed.get("type") == "function_expression":
        yield str(parsed.get("value"))
    children = parsed.get("children")
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict):
            yield from _functions(child)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    first = str(error).splitlines()[0].strip().rstrip(":")
    for prefix in ("Invalid jmespath expression: ", "Bad jmespath expression: "):
        first = first.removeprefix(prefix)
    return first[:1].lower() + first[1:200]


def _one_character(findings: Findings, span: Span, text: str, at: int | None) -> Span:
    """Return the span of the character at ``at``, or ``span`` if escapes make the source differ from the text."""
    start, end = (written := findings.locate(span, text)).start, written.end
    if at is None or start.line != end.line or end.column - start.column != len(text):
        return span
    at = min(at, len(text) - 1)
    return Span(span.path, Position(start.line, start.column + at), Position(start.line, start.column + at + 1))
