"""Check that a tool's parameters are valid JSON Schema 2020-12, and report keywords that do not work as intended.

``jsonschema`` validates the schema. Each finding has the position of the node that causes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from toolc.compiler.schema.dialects import as_current, check_dialects, check_references, check_remote, schemas_in
from toolc.compiler.schema.patterns import check_schema_pattern, is_flawless_pattern
from toolc.compiler.schema.type_names import TYPE_ALIASES, TYPE_WORDS, TYPES, similar_type, type_form
from toolc.document.edits import fix, quote_plain, remove_entry, rename, set_text
from toolc.document.map_reader import Findings, first_line, quoting_hint
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence, innermost, to_json
from toolc.document.suggestions import REQUIRED, quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Code, Fix, spend, steps_left
from toolc.model.json_schema import (
    LISTS_OF_SCHEMAS,
    MAPS_OF_SCHEMAS,
    SCHEMAS,
    JsonObject,
    JsonValue,
    Schema,
    direct_subschemas,
)
from toolc.model.source import Span
from toolc.model.spec.declared import keyword_texts
from toolc.model.spec.schema_keywords import KEYWORDS
from toolc.model.text import lazy_re, shorten
from toolc.validation.formats import KNOWN_FORMATS, describe_format
from toolc.validation.plain_schema import is_plain_schema, plainly_satisfies
from toolc.validation.validate import (
    SchemaValidator,
    UnresolvableError,
    ValidationBudget,
    metaschema_errors,
    validation_error,
)

if TYPE_CHECKING:
    from jsonschema import ValidationError


_ENDS_IN_ZERO: Final = lazy_re(r"[-+]?[0-9]+\.[0-9]*0")

_KEYWORDS_TO_CHECK: Final = frozenset({"$schema", "const", "default", "definitions", "enum", "format", "pattern"})
_HOLDS_SCHEMAS: Final = MAPS_OF_SCHEMAS | LISTS_OF_SCHEMAS | SCHEMAS

_STEPS_PER_ERROR: Final = 5
"""The cost in steps of reporting an error of a value. Describing it takes about as long as five keywords."""

_LONGEST: Final = 300
"""The maximum number of characters of a message. Values and names in it can be long."""

_UNQUOTED: Final = {
    "boolean": lazy_re("[Tt]rue|[Ff]alse"),
    "integer": lazy_re(r"-?(?:0|[1-9][0-9]*)"),
    "number": lazy_re(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"),
}
"""Matches strings that would be a value of another type without quotes."""


def check_decimals(schema: Mapping, findings: Findings) -> None:
    """Report each unquoted decimal number in ``enum``, ``const`` or ``default`` that was probably meant as text."""
    kind = schema.get("type")
    expected = kind.value if isinstance(kind, Scalar) else None
    # With several types, text or a number is valid; a numeric type shows that a number is intended.
    if kind is not None and expected != "string":
        return
    for choice in _choices(schema):
        written = findings.text_at(choice.span)
        if expected == "string":
            message = f"{written} without quotes is a number, but this schema requires text"
        elif _ENDS_IN_ZERO.fullmatch(written):
            message = f"{written} without quotes is the number {choice.value:.15g}"
        else:
            continue
        correction = quote_plain(findings.source, choice.span)
        findings.add(codes.DECIMAL_CHOICE, message, choice.span, quoting_hint(choice, findings), correction)


def _choices(schema: Mapping) -> Iterator[Scalar]:
    enum = schema.get("enum")
    for node in (*(enum.items if isinstance(enum, Sequence) else ()), schema.get("const")):
        if isinstance(node, Scalar) and isinstance(node.value, float):
            yield node


def is_flawless(schema: JsonObject) -> bool:
    """Return whether ``schema`` and all schemas in it are certainly valid and in this dialect, without findings."""
    return is_plain_schema(schema) and _has_no_finding(schema)


def _has_no_finding(schema: JsonObject) -> bool:
    """Return whether a schema with only known keywords and no reference is certainly valid, without findings."""
    if schema.get("type") == "array" and "items" not in schema:
        return False
    if not _KEYWORDS_TO_CHECK.isdisjoint(schema) and not _is_unambiguous(schema):
        return False
    return _HOLDS_SCHEMAS.isdisjoint(schema) or all(map(_has_no_finding, direct_subschemas(schema)))


def _is_unambiguous(schema: JsonObject) -> bool:
    if "$schema" in schema or "definitions" in schema or isinstance(schema.get("const"), float):
        return False
    if "format" in schema and schema["format"] not in KNOWN_FORMATS:
        return False
    pattern, enum = schema.get("pattern"), schema.get("enum")
    if isinstance(pattern, str) and not is_flawless_pattern(pattern):
        return False
    if enum == []:
        return False
    if isinstance(enum, list) and any(isinstance(each, float) for each in enum):
        return False
    return "default" not in schema or plainly_satisfies(schema["default"], schema)


def describe_error(error: ValidationError) -> str:
    """Return a message about the error, as the rest of a line that starts with the name of the value."""
    expected, value = error.validator_value, error.instance
    match error.validator:
        case "type":
            types = expected if isinstance(expected, list) else [expected]
            return f"{_describe(value)} is not {' or '.join(TYPE_WORDS.get(str(each), str(each)) for each in types)}"
        case "enum" if isinstance(expected, list):
            return f"{_describe(value)} is not one of {', '.join(map(_quote, expected))}"[:_LONGEST]
        case "const":
            return f"{_describe(value)} is not {_quote(expected)}"[:_LONGEST]
        case "format" if isinstance(expected, str):
            return f"{_describe(value)} is not {describe_format(expected)}"
        case _:
            return error.message[:_LONGEST]


def no_such_key(key: str, declared: list[str]) -> str:
    """Return a message that a closed map does not allow ``key``. ``declared`` are the allowed keys."""
    return f"'{key[:60]}' is not allowed" + (f"; the keys are {quote_names(declared)}"[:_LONGEST] if declared else "")


def _describe(value: object) -> str:
    match value:
        case str():
            return f"the text {_quote(value)}"
        case list():
            return "a list"
        case dict():
            return "a map"
        case _:
            return _quote(value)


def _quote(value: object) -> str:
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return shorten(text, 61)


def check_schema(root: Mapping, findings: Findings) -> Schema | None:
    """Return the schema in ``root``, or None after reporting that it is not JSON Schema 2020-12."""
    value = to_json(root)
    assert isinstance(value, dict)
    return Schema(value) if is_flawless(value) else _check_fully(root, value, findings)


def _check_fully(root: Mapping, value: JsonObject, findings: Findings) -> Schema | None:
    """Like ``check_schema``, for a schema that may have findings."""
    before = findings.errors
    nodes = [*schemas_in(root)]
    for each in nodes:
        _check_keywords(each, findings)
        _check_identity(each, root, findings)
    is_current = not any(each.entry("$schema") or each.entry("definitions") for each in nodes)
    if not is_current:
        check_dialects(root, findings)
    _check_metaschema(root, value, findings)
    if findings.errors > before:
        return None
    check_references(nodes, value, findings)
    if findings.errors > before:
        return None
    schema = Schema(value)
    validator = SchemaValidator(value)
    null_defaults = [each for each in nodes if _is_invalid_default(each, validator, findings)]
    if findings.errors > before:
        return None
    if null_defaults:
        schema = Schema(_without_defaults(root, null_defaults))
    return schema if is_current else Schema(as_current(schema.value))


def check_instance(node: Node, validator: SchemaValidator, what: str, code: Code, findings: Findings) -> None:
    """Report where the value of ``node`` does not satisfy the schema of ``validator``. ``what`` names the value."""
    value = to_json(node)
    if not plainly_satisfies(value, validator.root):
        _report(node, _errors(validator, value), what, code, findings)


def _errors(validator: SchemaValidator, value: JsonValue, at: JsonObject | None = None) -> list[ValidationError]:
    """Return the errors of ``value``, counting the steps of the file. If none are left, return no errors."""
    budget = ValidationBudget.of(value)
    allowed = budget.left = steps_left(budget.left)
    try:
        errors = validator.errors(value, at=at, budget=budget) if allowed else []
    except UnresolvableError:
        return [validation_error("this value cannot be validated, because references are nested too deeply")]
    spend(1 + allowed - budget.left + _STEPS_PER_ERROR * len(errors), "the validation of defaults, examples and tests")
    return errors


def _report(
    node: Node, errors: list[ValidationError], what: str, code: Code, findings: Findings, *, fallback: str = ""
) -> None:
    """Report ``errors`` of the value of ``node``. ``fallback`` is the hint for errors without a better one."""
    renamed = _renamed(errors)
    for error in errors:
        if error.validator == "required" and tuple(error.absolute_path) in renamed:
            continue
        route = list(error.absolute_path)
        name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in route)
        span, words = _span_at(node, route), describe_error(error)
        unquoted = error.validator_value == "string" and isinstance(error.instance, bool | int | float)
        hint = f'put it in quotes: "{findings.text_at(span)}"' if unquoted else _unquoting(error)
        if error.validator == "enum" and isinstance(error.instance, str) and isinstance(error.validator_value, list):
            hint = suggestion(error.instance, [each for each in error.validator_value if isinstance(each, str)])
        if error.validator == "additionalProperties":
            declared = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
            if extra := _extra_key(innermost(node, route), declared, error):
                names = sorted(declared)
                span, words, hint = extra.key_span, no_such_key(extra.key, names), suggestion(extra.key, names)
                if missing := renamed.get(tuple(route)):
                    hint = f"write '{missing}', which is missing"
        findings.add(code, f"{what}{name}: {words}", span, hint or fallback)


def _renamed(errors: list[ValidationError]) -> dict[tuple[str | int, ...], str]:
    """Return each place where a misspelled name causes one missing and one unknown name, with the missing name."""
    found: dict[tuple[str | int, ...], str] = {}
    closed = {tuple(each.absolute_path) for each in errors if each.validator == "additionalProperties"}
    for error in errors:
        place, names, value = tuple(error.absolute_path), error.validator_value, error.instance
        if error.validator != "required" or place not in closed or not isinstance(error.schema, dict):
            continue
        properties = error.schema.get("properties")
        if isinstance(names, list) and isinstance(value, dict) and isinstance(properties, dict):
            missing = [each for each in names if isinstance(each, str) and each not in value]
            if len(missing) == len(value.keys() - properties.keys()) == 1:
                found[place] = missing[0]
    return found


def _unquoting(error: ValidationError) -> str:
    """Return the hint to remove the quotes of a number or a boolean, or an empty string."""
    pattern = _UNQUOTED.get(error.validator_value) if isinstance(error.validator_value, str) else None
    written = error.instance if isinstance(error.instance, str) else ""
    if not pattern or not pattern.fullmatch(written):
        return ""
    return f"write {written.lower()}, without quotes"


def _check_keywords(node: Mapping, findings: Findings) -> None:
    values = _values_of_enum(node)
    for entry in node.entries:
        if entry.key not in KEYWORDS and not entry.key.startswith("x-") and entry is not values:
            hint = suggestion(entry.key, KEYWORDS) or "an extension's name starts with 'x-'"
            hint = _replacement(entry.key) or hint
            message = f"JSON Schema 2020-12 has no keyword '{entry.key:.100}'"
            correction = _keyword_fix(entry, node, findings)
            if isinstance(entry.value, Scalar) and entry.value.value is None and " " in entry.key:
                hint, correction = "if the ',' before it is part of a text, put the whole text in quotes", None
            findings.add(codes.UNKNOWN_KEY, message, entry.key_span, hint, correction)
    type_node = node.get("type")
    for each in type_node.items if isinstance(type_node, Sequence) else (type_node,):
        if isinstance(each, Scalar) and each.value not in TYPES:
            _report_type(each, values, findings)
    if isinstance(type_node, Scalar) and type_node.value == "array" and not _says_items(node):
        findings.add(
            codes.ARRAY_ITEMS, "this array does not declare its items", type_node.span,
            "add items, e.g. items: {type: string}",
        )  # fmt: skip
    pattern = node.entry("pattern")
    if pattern and isinstance(pattern.value, Scalar) and isinstance(pattern.value.value, str):
        check_schema_pattern(pattern.value.value, pattern.value.span, findings, of_keys=False)
    patterns = node.get("patternProperties")
    for entry in patterns.entries if isinstance(patterns, Mapping) else ():
        check_schema_pattern(entry.key, entry.key_span, findings, of_keys=True)
    enum = node.entry("enum")
    if enum and isinstance(enum.value, Sequence) and not enum.value.items:
        message, hint = "'enum' is empty, so no value is valid", "list the allowed values, or remove 'enum'"
        findings.add(codes.SCHEMA_TYPE, message, first_line(enum.value.span), hint)
    _check_format(node, findings)
    check_decimals(node, findings)
    check_remote(node, findings)


def _replacement(name: str) -> str:
    """Return what to write instead of a keyword of another dialect, or an empty string."""
    return next((hints[name] for _, _, hints in keyword_texts().values() if name in hints), "")


def _keyword_fix(entry: MappingEntry, node: Mapping, findings: Findings) -> Fix | None:
    """Return a fix that writes the keyword that the author of ``entry`` probably meant."""
    meant = re.fullmatch(r"write (\w+)(: \[...\])?", _replacement(entry.key))
    if not meant:
        return findings.rename_key_fix(entry, node, KEYWORDS)
    if node.entry(meant[1]) or (meant[2] and not isinstance(entry.value, Sequence)):
        return None
    return fix(f"write '{meant[1]}'", rename(findings.source, entry.key_span, entry.key, meant[1]))


def _check_format(node: Mapping, findings: Findings) -> None:
    """Report a format that neither JSON Schema nor OpenAPI defines, because values are not checked against it."""
    entry = node.entry("format")
    name = entry.value.value if entry and isinstance(entry.value, Scalar) else None
    if entry and isinstance(name, str) and name not in KNOWN_FORMATS:
        meant = keyword_texts()["format"].instead_of.get(f"={name.lower()}", "")
        hint = f"did you mean '{meant}'?" if meant else suggestion(name, KNOWN_FORMATS)
        message = f"'{name:.100}' is not a JSON Schema format, so values are not checked against it"
        hint = hint or "describe the format in the description, or write a pattern, which is checked"
        findings.add(codes.UNKNOWN_FORMAT, message, entry.value.span, hint)


def _says_items(node: Mapping) -> bool:
    return any(node.entry(key) for key in ("items", "prefixItems", "$ref", "enum", "const", "anyOf", "allOf", "oneOf"))


def _values_of_enum(node: Mapping) -> MappingEntry | None:
    """Return the list next to ``type: enum`` under a key other than ``enum``, or None."""
    kind = node.get("type")
    if not isinstance(kind, Scalar) or str(kind.value).lower() != "enum" or node.entry("enum"):
        return None
    named = (each for each in node.entries if _replacement(each.key) == "write enum: [...]")
    return next((each for each in named if isinstance(each.value, Sequence)), None)


def _report_type(node: Scalar, values: MappingEntry | None, findings: Findings) -> None:
    """Report that ``node`` is not a type. ``values`` is the list next to ``type: enum``."""
    written, source = str(node.value), findings.source
    meant = similar_type(written)
    hint = type_form(written) or (f"did you mean '{meant}'?" if meant else f"the types are {quote_names(TYPES)}")
    edits = [set_text(source, node.span, written, meant)] if meant else []
    if values and isinstance(values.value, Sequence):
        items = [each.value for each in values.value.items if isinstance(each, Scalar)]
        are_texts = len(items) == len(values.value.items) and all(isinstance(each, str) for each in items)
        hint = f"write {'type: string, and ' if are_texts else ''}enum instead of {values.key}: enum: [...]"
        hint += "" if are_texts else "; remove the type"
        edits = [set_text(source, node.span, written, "string"), rename(source, values.key_span, values.key, "enum")]
        edits = edits if are_texts else []
    correction = fix(hint if values else f"write '{meant}'", *edits) if edits else None
    findings.add(codes.SCHEMA_TYPE, f"'{written:.100}' is not a type of JSON Schema", node.span, hint, correction)


def _check_identity(node: Mapping, root: Mapping, findings: Findings) -> None:
    identity = node.entry("$id")
    if identity and node is not root:
        message = "a schema inside another cannot have an '$id'"
        findings.add(codes.REMOTE_REF, message, identity.key_span, "use '$defs' and {$ref: '#/$defs/name'}")


def _check_metaschema(root: Mapping, value: JsonObject, findings: Findings) -> None:
    if is_plain_schema(value):
        return
    for error in metaschema_errors(value):
        route = list(error.absolute_path)
        if error.validator == "anyOf" and _names_types(error.instance):
            continue  # _check_keywords has reported it
        if route[-1:] == ["items"] and isinstance(error.instance, list):
            _report_tuple(root, route, findings)
            continue
        where = f"'{route[-1]}'" if route else "the schema"
        hint = _instead_of(route[-1], error.instance) if route else ""
        findings.add(codes.SCHEMA_TYPE, f"{where}: {describe_error(error)}", _span_at(root, route), hint)


def _instead_of(keyword: str | int, value: object) -> str:
    """Return a hint for the name of a type, or for a boolean that draft 4 and OpenAPI 3.0 allow."""
    if isinstance(value, str) and (kind := TYPE_ALIASES.get(value.lower(), value)) in TYPES:
        return f"write {{type: {kind}}}" if isinstance(keyword, int) else f"write {keyword}: {{type: {kind}}}"
    match keyword:
        case "required" if isinstance(value, bool):
            return REQUIRED
        case "enum" | "required" | "examples" if isinstance(value, str):
            separator = "[,|/]" if keyword == "enum" else "[, ]+"
            return f"write {keyword}: [{', '.join(each.strip() for each in re.split(separator, value)):.200}]"
        case "exclusiveMinimum" | "exclusiveMaximum" if isinstance(value, bool):
            inclusive = keyword.replace("exclusiveM", "m")
            return (
                f"for true, write the number of '{inclusive}' here and remove '{inclusive}'; for false, remove this key"
            )
        case _:
            return ""


def _report_tuple(root: Mapping, route: list[str | int], findings: Findings) -> None:
    schema = innermost(root, route[:-1])
    entry = schema.entry("items") if isinstance(schema, Mapping) else None
    span = entry.key_span if entry else root.span
    message = "'items' is one schema, for every item; a list of them is 'prefixItems' in 2020-12"
    findings.add(codes.SCHEMA_TYPE, message, first_line(span), "write prefixItems, or one schema that fits all")


def _names_types(value: object) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(not isinstance(each, list | dict) and each not in TYPES for each in items)


def _is_invalid_default(node: Mapping, validator: SchemaValidator, findings: Findings) -> bool:
    """Report a default that its schema does not accept. Return whether it is an invalid null, which is ignored."""
    entry, at = node.entry("default"), to_json(node)
    if entry is None or not isinstance(at, dict):
        return False
    value = to_json(entry.value)
    if plainly_satisfies(value, at):
        return False
    errors = _errors(validator, value, at)
    if errors and value is None:
        removal = fix("remove the default", remove_entry(findings.source, entry))
        report_null_default(entry, removal, findings)
        return True
    fallback = "write a default that the schema accepts, or remove it"
    _report(entry.value, errors, "default", codes.DEFAULT, findings, fallback=fallback)
    return False


def report_null_default(entry: MappingEntry, correction: Fix | None, findings: Findings) -> None:
    """Report an invalid ``default: null``. Generators write it for a parameter without a default."""
    message = "this schema does not allow null, so 'default: null' is ignored"
    hint = "remove it, or allow null, e.g. type: [string, 'null']"
    if correction:
        hint = f"{correction.description}, or allow null, e.g. type: [string, 'null']"
    findings.add(codes.NULL_DEFAULT, message, first_line(entry.key_span), hint, correction)


def _without_defaults(node: Mapping, schemas: list[Mapping]) -> JsonObject:
    """Return the value of ``node`` without the defaults of ``schemas``, which are maps inside ``node``."""
    ignored = {id(each) for each in schemas}

    def copy(part: Node) -> JsonValue:
        if isinstance(part, Mapping):
            entries = (each for each in part.entries if not (each.key == "default" and id(part) in ignored))
            return {each.key: copy(each.value) for each in entries}
        return [copy(item) for item in part.items] if isinstance(part, Sequence) else part.value

    return {key: copy(value) for key, _, value in node.entries}


def _span_at(node: Node, route: list[str | int]) -> Span:
    target = innermost(node, route)
    return target.span if isinstance(target, Scalar) else first_line(target.span)


def _extra_key(node: Node, declared: Collection[str], error: ValidationError) -> MappingEntry | None:
    """Return the first key of ``node`` that is not allowed, because the library names it only in its message."""
    entries = node.entries if isinstance(node, Mapping) else ()
    others = (entry for entry in entries if entry.key not in declared)
    return next((entry for entry in others if repr(entry.key) in error.message), None)
