"""A tool's parameters as a JSON Schema 2020-12: is it one, and does it say what it seems to say?

``jsonschema`` judges; every finding is placed on the node that it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from toolc.compiler import codes
from toolc.compiler.decimals import check_decimals
from toolc.compiler.document import Mapping as MappingNode
from toolc.compiler.document import Node, Scalar, Sequence, to_json
from toolc.compiler.patterns import check_schema_pattern
from toolc.compiler.plain_schema import is_plain_schema, plainly_satisfies
from toolc.compiler.reader import Findings, first_line, listed, suggestion
from toolc.compiler.validation import errors
from toolc.diagnostics import Code
from toolc.schema import JsonObject, JsonValue, Schema
from toolc.source import Span

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_SCHEMA_MAPS: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMAS: Final = (
    "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
_IN_PLACE: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_REF_HINT: Final = "'#/$defs/name' leads to what stands under the schema's '$defs'"
_REFERENCES: Final = ("$ref", "$dynamicRef")
_OTHER: Final = (
    "$anchor", "$comment", "$dynamicAnchor", "$dynamicRef", "$id", "$ref", "$schema", "$vocabulary", "const",
    "contentEncoding", "contentMediaType", "default", "dependentRequired", "deprecated", "description", "enum",
    "examples", "exclusiveMaximum", "exclusiveMinimum", "format", "maxContains", "maxItems", "maxLength",
    "maxProperties", "maximum", "minContains", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
    "pattern", "readOnly", "required", "title", "type", "uniqueItems", "writeOnly",
)  # fmt: skip
_KEYWORDS: Final = frozenset(_SCHEMA_MAPS + _SCHEMA_LISTS + _SCHEMAS + _OTHER)


@dataclass(frozen=True, slots=True)
class _Subschema:
    node: MappingNode
    is_root: bool


def check_schema(root: MappingNode, findings: Findings) -> Schema | None:
    """The schema that ``root`` writes out; None, and findings, where it is not JSON Schema 2020-12."""
    before = findings.errors
    for each in _walk(root, is_root=True):
        _check_keywords(each, findings)
    value = to_json(root)
    assert isinstance(value, dict)
    _check_metaschema(root, value, findings)
    if findings.errors > before:
        return None
    _check_references(root, value, findings)
    if findings.errors > before:
        return None
    schema = Schema(value)
    for each in _walk(root, is_root=True):
        _check_default(each.node, schema, findings)
    return schema if findings.errors == before else None


def check_instance(node: Node, schema: Schema, what: str, code: Code, findings: Findings) -> None:
    """Report where the value of ``node`` does not satisfy ``schema``; ``what`` names the value."""
    value = to_json(node)
    if not plainly_satisfies(value, schema.value):
        _report(node, errors(schema.value, value), what, code, findings)


def _report(node: Node, errors: Iterator[ValidationError], what: str, code: Code, findings: Findings) -> None:
    for error in errors:
        route = list(error.absolute_path)
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in route)
        span = _span_at(node, route)
        if error.validator == "additionalProperties" and isinstance(error.instance, dict):
            span = _extra_key(node, route, error) or span
        unquoted = error.validator_value == "string" and isinstance(error.instance, bool | int | float)
        hint = f'put it in quotes: "{findings.written(span)}"' if unquoted else ""
        findings.add(code, f"{what}{name}: {error.message[:300]}", span, hint)


@cache
def _metaschema() -> Draft202012Validator:
    # jsonschema takes a tenth of a second to import; commands that compile nothing do without it.
    from jsonschema import Draft202012Validator

    return Draft202012Validator(Draft202012Validator.META_SCHEMA)


def _walk(node: Node, *, is_root: bool = False) -> Iterator[_Subschema]:
    if not isinstance(node, MappingNode):
        return
    yield _Subschema(node, is_root)
    for entry in node.entries:
        if entry.key in _SCHEMA_MAPS and isinstance(entry.value, MappingNode):
            for inner in entry.value.entries:
                yield from _walk(inner.value)
        elif entry.key in _SCHEMA_LISTS and isinstance(entry.value, Sequence):
            for item in entry.value.items:
                yield from _walk(item)
        elif entry.key in _SCHEMAS:
            yield from _walk(entry.value)


def _check_keywords(subschema: _Subschema, findings: Findings) -> None:
    node = subschema.node
    for entry in node.entries:
        if entry.key not in _KEYWORDS and not entry.key.startswith("x-"):
            hint = suggestion(entry.key, _KEYWORDS) or "an extension's name starts with 'x-'"
            message = f"JSON Schema 2020-12 has no keyword '{entry.key}'"
            mended = findings.respelled(entry, node, _KEYWORDS)
            findings.add(codes.UNKNOWN_KEY, message, entry.key_span, hint, mended)
    type_node = node.get("type")
    for each in type_node.items if isinstance(type_node, Sequence) else (type_node,):
        if isinstance(each, Scalar) and each.value not in _TYPES:
            _report_type(each, findings)
    if isinstance(type_node, Scalar) and type_node.value == "array" and not _says_items(node):
        findings.add(
            codes.ARRAY_ITEMS, "this array does not say what its items are", type_node.span,
            "add items, e.g. items: {type: string}",
        )  # fmt: skip
    pattern = node.entry("pattern")
    if pattern and isinstance(pattern.value, Scalar) and isinstance(pattern.value.value, str):
        check_schema_pattern(pattern.value.value, pattern.value.span, findings, of_keys=False)
    patterns = node.get("patternProperties")
    for entry in patterns.entries if isinstance(patterns, MappingNode) else ():
        check_schema_pattern(entry.key, entry.key_span, findings, of_keys=True)
    check_decimals(node, findings)
    _check_identity(subschema, findings)


def _says_items(node: MappingNode) -> bool:
    return any(
        node.entry(key) for key in ("items", "prefixItems", "$ref", "enum", "const", "anyOf", "allOf", "oneOf")
    )


def _report_type(node: Scalar, findings: Findings) -> None:
    near = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
    near |= {"dict": "object", "map": "object", "text": "string", "any": "", "None": "null"}
    written = str(node.value)
    likely = near.get(written, "")
    hint = (
        f"did you mean '{likely}'?" if likely else suggestion(written, _TYPES) or f"the types are {listed(_TYPES)}"
    )
    findings.add(codes.SCHEMA_TYPE, f"'{written}' is not a type of JSON Schema", node.span, hint)


def _check_identity(subschema: _Subschema, findings: Findings) -> None:
    dialect = subschema.node.get("$schema")
    if isinstance(dialect, Scalar) and dialect.value not in {DIALECT, DIALECT + "#"}:
        message = "parameters are JSON Schema 2020-12, and this is another dialect"
        findings.add(codes.SCHEMA_TYPE, message, dialect.span, f"write {DIALECT}, or leave $schema out")
    identity = subschema.node.entry("$id")
    if identity and not subschema.is_root:
        message = "a schema inside another cannot have an '$id'"
        findings.add(codes.REMOTE_REF, message, identity.key_span, "use '$defs' and {$ref: '#/$defs/name'}")
    for keyword in _REFERENCES:
        reference = subschema.node.get(keyword)
        if (
            isinstance(reference, Scalar)
            and isinstance(reference.value, str)
            and not reference.value.startswith("#")
        ):
            message = f"'{reference.value[:100]}' points outside this schema; toolc fetches nothing"
            hint = "copy what it means under '$defs' and write {$ref: '#/$defs/name'}"
            findings.add(codes.REMOTE_REF, message, reference.span, hint)


def _check_metaschema(root: MappingNode, value: JsonObject, findings: Findings) -> None:
    if is_plain_schema(value):
        return
    for error in _metaschema().iter_errors(value):
        route = list(error.absolute_path)
        if error.validator == "anyOf" and _names_types(error.instance):
            continue  # _check_keywords has named the one that is wrong
        where = f"'{route[-1]}'" if route else "the schema"
        findings.add(codes.SCHEMA_TYPE, f"{where}: {error.message[:300]}", _span_at(root, route))


def _names_types(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(not isinstance(each, list | dict) and each not in _TYPES for each in items)


def _check_references(root: MappingNode, value: JsonObject, findings: Findings) -> None:
    found = [
        (reference.value, reference.span)
        for each in _walk(root)
        for keyword in _REFERENCES
        if isinstance(reference := each.node.get(keyword), Scalar) and isinstance(reference.value, str)
    ]
    if not found:
        return
    import referencing.exceptions  # with jsonschema, and as late
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(value))
    leads_to: dict[str, frozenset[str]] = {}
    for name, span in found:
        try:
            leads_to[name] = frozenset(_references_in_place(resolver.lookup(name).contents))
        except (referencing.exceptions.Unresolvable, ValueError, LookupError):
            findings.add(codes.DANGLING, f"'{name[:100]}' leads to nothing in this schema", span, _REF_HINT)
    for name, span in found:
        if name in _reachable(name, leads_to):
            message = f"'{name[:100]}' leads back to itself: no value could be checked against it"
            findings.add(codes.REMOTE_REF, message, span, "break the circle")


def _references_in_place(schema: JsonValue) -> Iterator[str]:
    """The references under which the same value is checked again, not a part of it."""
    if not isinstance(schema, dict):
        return
    yield from (name for keyword in _REFERENCES if isinstance(name := schema.get(keyword), str))
    for keyword in _IN_PLACE:
        inner = schema.get(keyword)
        for each in inner if isinstance(inner, list) else [inner]:
            yield from _references_in_place(each)
    dependent = schema.get("dependentSchemas")
    for each in dependent.values() if isinstance(dependent, dict) else ():
        yield from _references_in_place(each)


def _reachable(name: str, leads_to: Mapping[str, frozenset[str]]) -> frozenset[str]:
    seen: set[str] = set()
    waiting = list(leads_to.get(name, ()))
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            waiting += leads_to.get(each, ())
    return frozenset(seen)


def _check_default(node: MappingNode, schema: Schema, findings: Findings) -> None:
    default = node.get("default")
    if default is None:
        return
    at, value = to_json(node), to_json(default)
    if isinstance(at, dict) and not plainly_satisfies(value, at):
        _report(default, errors(schema.value, value, at=at), "default", codes.DEFAULT, findings)


def _span_at(node: Node, route: list[str | int]) -> Span:
    for step in route:
        inner: Node | None = None
        if isinstance(node, MappingNode) and isinstance(step, str):
            inner = node.get(step)
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            inner = node.items[step]
        if inner is None:
            break
        node = inner
    return node.span if isinstance(node, Scalar) else first_line(node.span)


def _extra_key(node: Node, route: list[str | int], error: ValidationError) -> Span | None:
    for step in route:
        inner = node.get(str(step)) if isinstance(node, MappingNode) else None
        if isinstance(node, Sequence) and isinstance(step, int):
            inner = node.items[step]
        if inner is None:
            return None
        node = inner
    declared = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
    extra = (
        (entry for entry in node.entries if entry.key not in declared)
        if isinstance(node, MappingNode)
        else iter(())
    )
    return next((entry.key_span for entry in extra), None)
