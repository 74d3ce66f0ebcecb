"""Decode ``parameters:``, in shorthand form or as full JSON Schema, into one checked schema."""

from __future__ import annotations

from typing import Final

from toolc.compiler.schema.check_schema import check_schema, report_null_default
from toolc.compiler.schema.type_names import TYPE_ALIASES, TYPES, similar_type
from toolc.document.edits import fix, remove_entry
from toolc.document.map_reader import Findings, boolean, first_line, mapping, mismatch
from toolc.document.nodes import Mapping, MappingEntry, Node, Scalar, Sequence, to_json
from toolc.document.suggestions import REQUIRED, quote_names, suggestion
from toolc.model import codes
from toolc.model.diagnostics import Diagnostics, Edit
from toolc.model.json_schema import Schema, map_under
from toolc.model.names import IDENTIFIER, valid_name
from toolc.model.source import Span
from toolc.model.text import lazy_re
from toolc.validation.coercion import allows_null
from toolc.validation.validate import SchemaValidator

RESERVED: Final = frozenset({"vars", "secrets", "args", "steps", "ctx"})
"""Names that have a different meaning in templates or Python functions."""

FROM: Final = "from"
"""The key of a parameter that the host fills in."""

NO_PARAMETERS: Final = Schema({"type": "object", "properties": {}, "required": [], "additionalProperties": False})
"""The schema of a tool without parameters."""

_NULL_DEFAULT: Final = lazy_re(r"""(["']?)default\1[ \t]*:[ \t]*(?:null|Null|NULL|~)""")
WITHOUT_PROPERTIES: Final = frozenset(
    {"$comment", "$defs", "$id", "$schema", "definitions", "description", "required", "title", "type"}
)
"""The keys of a full JSON Schema that does not declare ``properties``."""

_CHOICES: Final = ("allOf", "anyOf", "oneOf")
_ANYTHING: Final = SchemaValidator({})
_NAME_RULE: Final = "a parameter's name has 1 to 64 of the characters A-Z a-z 0-9 _ and does not start with a digit"


def decode_parameters(node: Node, what: str, findings: Findings, *, reserved: frozenset[str]) -> Schema | None:
    """Return the schema in ``parameters:``. Its root is closed unless it says otherwise.

    ``reserved`` are names that no parameter can have.
    """
    map_node = mapping(node, what, findings)
    if map_node is None:
        return None
    errors = findings.errors
    map_node = _with_object_type(map_node, findings)
    if _lacks_type(map_node):
        place = map_node.entries[0].key_span
        message = "these parameters are a JSON Schema without 'type: object'"
        is_unlisted = map_node.entry("required") is None and isinstance(map_node.get("properties"), Mapping)
        listed = ", and list the names that each call must have under 'required'" if is_unlisted else ""
        findings.add(codes.BAD_VALUE, message, place, f"write 'type: object' next to 'properties'{listed}")
        return None
    if (kind := map_node.get("type")) and _lacks_properties(map_node):
        message = "these parameters are a JSON Schema without a map 'properties'"
        hint = "add 'properties' with the parameters, or {} if there are none"
        findings.add(codes.BAD_VALUE, message, kind.span, hint)
        return None
    root = _close(_with_properties(map_node)) if is_full_schema(map_node) else _expand(map_node, findings)
    root = _without_from(root)
    _check_names(root, findings, reserved)
    _check_required(root, findings)
    schema = check_schema(root, findings)
    return schema if findings.errors == errors else None


def declared_parameters(node: Node | None, findings: Findings) -> Schema | None:
    """Return a partial schema of invalid ``parameters:`` with names, keys and required names, or None.

    It is sufficient to check the templates and the function of the tool, but not to validate values. If a schema has
    neither ``required`` nor ``type: object``, all parameters are required, as in the short form.
    """
    if not isinstance(node, Mapping) or _lacks_properties(node):
        return None
    if _lacks_type(node) and not isinstance(node.get("properties"), Mapping):
        return None
    ignored = Findings(findings.source, Diagnostics())
    node = _with_object_type(node, ignored)
    root = to_json(node if is_full_schema(node) or _lacks_type(node) else _expand(node, ignored))
    assert isinstance(root, dict)
    required = root.get("required", [*map_under(root, "properties")] if _lacks_type(node) else [])
    return Schema({**root, "required": required if isinstance(required, list) else []})


def is_full_schema(node: Mapping) -> bool:
    """Return whether ``parameters:`` is a full JSON Schema: ``type`` is ``object`` and ``properties`` is a map.

    Without ``properties``, it is the schema of a tool without parameters, unless another key could declare some.
    """
    if not _is_object(node):
        return False
    if node.entry("properties"):
        return isinstance(node.get("properties"), Mapping)
    return WITHOUT_PROPERTIES.issuperset(node.by_key)


def parameter_entries(node: Node | None) -> tuple[MappingEntry, ...]:
    """Return the entries of the parameters in ``parameters:``, whose keys are their names."""
    if isinstance(node, Mapping) and is_full_schema(node):
        node = node.get("properties")
    return node.entries if isinstance(node, Mapping) else ()


def _is_object(node: Mapping) -> bool:
    kind = node.get("type")
    return isinstance(kind, Scalar) and kind.value == "object"


def _with_object_type(node: Mapping, findings: Findings) -> Mapping:
    """Return ``node`` with ``type: object`` after reporting that it is a full JSON Schema with another type.

    If ``type`` is a text or a list, it is not a parameter with this name, because that would have a schema. A map
    ``properties`` next to it is therefore the keyword of JSON Schema.
    """
    entry = node.entry("type")
    if entry is None or isinstance(entry.value, Mapping) or _is_object(node):
        return node
    written = entry.value.value if isinstance(entry.value, Scalar) else None
    is_alone = WITHOUT_PROPERTIES.issuperset(node.by_key) and TYPE_ALIASES.get(str(written).lower()) == "object"
    if not isinstance(node.get("properties"), Mapping) and not is_alone:
        return node
    message = "'type' of the parameters must be 'object'" + (f", but is '{written:.100}'" if written else "")
    findings.add(codes.SCHEMA_TYPE, message, first_line(entry.value.span), "write type: object")
    corrected = MappingEntry("type", entry.key_place, Scalar("object", entry.value.span))
    return Mapping.of((corrected if each is entry else each for each in node.entries), node)


def _lacks_properties(node: Mapping) -> bool:
    """Return whether ``parameters:`` is meant as a JSON Schema but cannot declare parameters."""
    return _is_object(node) and not is_full_schema(node)


def _lacks_type(node: Mapping) -> bool:
    """Return whether ``parameters:`` can only be a JSON Schema, because ``properties`` contains schemas."""
    properties = node.get("properties")
    if node.entry("type"):
        return False
    if isinstance(node.get("$schema"), Scalar) or any(isinstance(node.get(key), Sequence) for key in _CHOICES):
        return True
    if not isinstance(properties, Mapping) or not properties.entries:
        return False
    return all(isinstance(entry.value, Mapping) and entry.value.entry("type") for entry in properties.entries)


def _with_properties(node: Mapping) -> Mapping:
    if node.entry("properties"):
        return node
    return Mapping.of((*node.entries, MappingEntry("properties", node, Mapping({}, node))), node)


def _close(node: Mapping) -> Mapping:
    if node.entry("additionalProperties") or node.entry("unevaluatedProperties"):
        return node
    return Mapping.of((*node.entries, MappingEntry("additionalProperties", node, Scalar(False, node))), node)


def _without_from(root: Mapping) -> Mapping:
    """Return the schema without the key ``from`` of its parameters, which ``caller_parameters`` reads."""
    properties = root.get("properties")
    if not isinstance(properties, Mapping) or not any(map(has_from, properties.entries)):
        return root
    plain = [each._replace(value=_without(FROM, each.value)) if has_from(each) else each for each in properties.entries]
    entry = root.by_key["properties"]._replace(value=Mapping.of(plain, properties))
    return Mapping({**root.by_key, "properties": entry}, root)


def has_from(parameter: MappingEntry) -> bool:
    """Return whether the host fills in a parameter."""
    return isinstance(parameter.value, Mapping) and parameter.value.entry(FROM) is not None


def _without(key: str, node: Node) -> Node:
    assert isinstance(node, Mapping)
    return Mapping.of((each for each in node.entries if each.key != key), node)


def _expand(node: Mapping, findings: Findings) -> Mapping:
    properties: dict[str, MappingEntry] = {}
    required: list[str] = []
    for entry in node.entries:
        if not isinstance(entry.value, Mapping):
            is_list = entry.key == "required" and isinstance(entry.value, Sequence)
            hint = f"remove it: {REQUIRED}" if is_list else _schema_hint(entry)
            mismatch(entry.value, f"the schema of parameter '{entry.key}'", "a map", findings, hint)
            properties[entry.key] = MappingEntry(entry.key, entry.key_place, Mapping({}, entry.value.span))
            required.append(entry.key)
            continue
        optional, schema = _split_optional(entry.value, findings)
        schema, has_null_default = _split_null_default(schema, entry.value, findings)
        optional = True if optional is None and has_null_default else optional
        properties[entry.key] = MappingEntry(entry.key, entry.key_place, schema)
        if optional is False or (optional is None and schema.entry("default") is None):
            required.append(entry.key)
    names = tuple([Scalar(name, node) for name in sorted(required)])
    root: dict[str, Node] = {
        "type": Scalar("object", node),
        "properties": Mapping(properties, node),
        "required": Sequence(names, node),
        "additionalProperties": Scalar(False, node),
    }
    return Mapping({key: MappingEntry(key, node, value) for key, value in root.items()}, node)


def _schema_hint(entry: MappingEntry) -> str:
    """Return a hint for the schema of a parameter that is only the name of a type, or not a schema at all."""
    written = entry.value.value if isinstance(entry.value, Scalar) else None
    name = written if isinstance(written, str) else ""
    return f"write {entry.key}: {{type: {name if name in TYPES else similar_type(name) or 'string'}}}"


def _split_optional(schema: Mapping, findings: Findings) -> tuple[bool | None, Mapping]:
    node = schema.get("optional")
    if node is None:
        return None, schema
    rest = (entry for entry in schema.entries if entry.key != "optional")
    return boolean(node, "'optional'", findings), Mapping.of(rest, schema)


def _split_null_default(schema: Mapping, written: Mapping, findings: Findings) -> tuple[Mapping, bool]:
    """Return ``schema`` without an invalid ``default: null``, and whether it had one. ``written`` is the whole map."""
    default, value = schema.entry("default"), to_json(schema)
    if default is None or to_json(default.value) is not None:
        return schema, False
    if "$ref" in schema.by_key or allows_null(_ANYTHING, value):
        return schema, False
    if written.entry("optional"):
        correction = fix("remove the default", remove_entry(findings.source, default))
    else:
        correction = fix("write optional: true", _optional_instead(default, findings))
    report_null_default(default, correction, findings)
    return Mapping.of((entry for entry in schema.entries if entry is not default), schema), True


def _optional_instead(default: MappingEntry, findings: Findings) -> Edit | None:
    """Return the edit that writes ``optional: true`` instead of ``default: null``."""
    source, start, end = findings.source, default.key_span.start, default.value.span.end
    if default.key_span.path != source.path or start.line != end.line:
        return None
    span = Span(source.path, start, end)
    written = _NULL_DEFAULT.fullmatch(source.between(span))
    return Edit(span, f"{written[1]}optional{written[1]}: true") if written else None


def _check_names(root: Mapping, findings: Findings, reserved: frozenset[str]) -> None:
    properties = root.get("properties")
    assert isinstance(properties, Mapping)
    for entry in properties.entries:
        if entry.key in reserved:
            message = f"'{entry.key}' cannot be a parameter's name, because it is reserved"
            findings.add(codes.NAME, message, entry.key_span, f"the reserved names are {quote_names(sorted(RESERVED))}")
        elif not IDENTIFIER.fullmatch(entry.key):
            similar = valid_name(entry.key, IDENTIFIER)
            hint = f"write {similar}; {_NAME_RULE}" if similar else _NAME_RULE
            findings.add(codes.NAME, f"'{entry.key[:100]}' cannot be a parameter's name", entry.key_span, hint)


def _check_required(root: Mapping, findings: Findings) -> None:
    properties, required = root.get("properties"), root.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return
    for item in required.items:
        name = item.value if isinstance(item, Scalar) else None
        if not isinstance(name, str):
            continue
        schema = properties.get(name)
        if schema is None:
            hint = suggestion(name, properties.by_key) or "declare it under 'properties'"
            findings.add(codes.REQUIRED_UNKNOWN, f"'{name}' is required but not declared", item.span, hint)
        elif isinstance(schema, Mapping) and (default := schema.entry("default")):
            message = f"'{name}' is required but has a default; a model always passes it, and other calls may omit it"
            hint = f"remove the default, or remove '{name}' from 'required'"
            removal = fix("remove the default", remove_entry(findings.source, default))
            findings.add(codes.REQUIRED_DEFAULT, message, first_line(default.key_span), hint, removal)
