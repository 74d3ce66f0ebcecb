"""The passes that targets share. Each changes one subschema, a ``Node``, and records what it loses.

A target lists its passes in order. The passes before ``lower_subschemas`` see a subschema as it is in the spec, and
the passes after it see its own subschemas lowered. ``describe_folded`` follows all passes that fold keywords.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue, child_pointer, list_under, map_under, types_of
from toolc.providers.json_schema.lowering import IGNORED, add_to_description
from toolc.providers.json_schema.references import LocatedSchema, merge, new_definition_name, without_all_of
from toolc.providers.json_schema.target import Node
from toolc.providers.json_schema.values import allowed_values, by_type, has_values, type_names, type_of_values
from toolc.validation.coercion import allows_null

_TEXTS: Final = frozenset({"description", "title"})

_ARRAY: Final = frozenset({"array"})
_OBJECT: Final = frozenset({"object"})
_NUMBERS: Final = frozenset({"integer", "number"})
_OF_TYPES: Final = {
    **dict.fromkeys(("items", "maxItems", "minItems", "prefixItems"), _ARRAY),
    **dict.fromkeys(("additionalProperties", "properties", "required"), _OBJECT),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"), _NUMBERS),
    **dict.fromkeys(("format", "pattern"), frozenset({"string"})),
}
"""The types to whose values each keyword applies. The table has only keywords that a target can keep."""

_WITH_SCHEMAS: Final = frozenset({"additionalProperties", "anyOf", "items", "prefixItems", "properties"})
_MENTIONS_PROPERTIES: Final = frozenset({"anyOf", "dependentRequired", "dependentSchemas", "else", "oneOf", "then"})


def merge_parts(node: Node) -> None:
    """Merge ``allOf`` into its schema, if one schema can express it."""
    if "allOf" in node.schema:
        merged = without_all_of(node.located, node.lowering.references)
        node.schema, node.origins = merged.schema, merged.origins


def inline_references(node: Node) -> None:
    """Replace a reference with its schema. If that schema refers to itself, the inner reference is cut off."""
    references = node.lowering.references
    while isinstance(reference := node.schema.get("$ref"), str):
        target, place = references.target(reference), node.place
        if not isinstance(target, dict) or reference in place.inlined:
            _cut_reference(node, reference, target)
            return
        merged = without_all_of(LocatedSchema(dict(target), references.pointer(reference)), references)
        if rest := {key: value for key, value in node.schema.items() if key != "$ref"}:
            together = merge(LocatedSchema(rest, place.pointer, node.origins), [merged])
            if together is None:
                _cut_reference(node, reference, target)
                return
            merged = together
        node.place = replace(place, pointer=merged.pointer, inlined=place.inlined | {reference})
        node.schema, node.origins = merged.schema, merged.origins


def _cut_reference(node: Node, reference: str, target: JsonValue) -> None:
    """Keep only the type and the texts of a referenced schema."""
    del node.schema["$ref"]
    source = target if isinstance(target, dict) else {}
    for key in ("type", "title", "description"):
        if key in source:
            node.schema.setdefault(key, source[key])
    node.report(f"cannot contain the schema {reference} here; only its type is kept", "$ref", action="dropped")


def cut_required_recursion(node: Node) -> None:
    """Remove a recursive reference that is not below an optional property."""
    reference, lowering = node.schema.get("$ref"), node.lowering
    if not isinstance(reference, str) or node.place.optional or lowering.references.target(reference) is None:
        return
    if lowering.recursion.leads_back(reference, node.place.scope):
        del node.schema["$ref"]
        node.folded["like"] = reference
        message = "supports a recursive reference only below an optional property; dropped"
        node.report(message, "$ref", action="dropped")


def refuse_recursion(node: Node) -> None:
    """Raise ``NotStrictError`` for a recursive reference."""
    reference = node.schema.get("$ref")
    if isinstance(reference, str) and node.lowering.references.is_recursive(reference):
        raise node.refuse("a recursive reference", "$ref")


def name_references(node: Node) -> None:
    """Change a reference to lead to ``$defs`` at the root. If there are other keywords next to it, use ``anyOf``."""
    schema, reference = node.schema, node.schema.get("$ref")
    if not isinstance(reference, str):
        return
    if others := schema.keys() - _TEXTS - {"$ref"} if node.lowering.target.is_strict else ():
        raise node.refuse(f"a reference together with {min(others)}", "$ref")
    del schema["$ref"]
    if node.lowering.references.target(reference) is None:
        if node.lowering.target.is_strict:
            raise node.refuse(f"a reference to {reference}, which is not in these parameters", "$ref")
        node.report(f"finds no schema at {reference} in these parameters; any value is allowed", "$ref")
    elif "anyOf" in schema:
        node.report("does not support a reference together with anyOf; dropped", "$ref", action="dropped")
    else:
        target: JsonObject = {"$ref": child_pointer("#/$defs", _new_name(node, reference))}
        node.schema = {**schema, "anyOf": [target]} if schema else target


def _new_name(node: Node, reference: str) -> str:
    names = node.lowering.names
    if reference not in names:
        names[reference] = new_definition_name(reference, set(names.values()))
    return names[reference]


def one_of_to_any_of(node: Node) -> None:
    """Write ``oneOf`` as ``anyOf``, which also allows values that match several of the schemas."""
    schema = node.schema
    if isinstance(schema.get("oneOf"), list) and "anyOf" not in schema:
        node.rename("oneOf", "anyOf")
        node.report("treats oneOf as anyOf", "oneOf")


def refuse_keywords(node: Node) -> None:
    """Raise ``NotStrictError`` for a keyword without which the schema would not allow all valid values."""
    for key in node.schema:
        if node.lowering.target.rules.get(key) == "refuse":
            raise node.refuse(key, key)


def fold_choices_of_root(node: Node) -> None:
    """Fold the keywords that combine or list values at the root, which must be a plain object."""
    if node.is_root:
        _fold_all(node, "anyOf", "const", "enum", "oneOf")


def keep_one_structure(node: Node) -> None:
    """Keep the first of ``$ref``, ``enum`` or ``const``, ``type``, and ``anyOf`` or ``oneOf``, and fold the others.

    Strict modes allow no combination of them. They also forbid a schema with none of them, because it allows any value.
    """
    schema = node.schema
    if "$ref" in schema:
        return
    if has_values(schema):
        _fold_all(node, "anyOf", "oneOf")
        for key in _WITH_SCHEMAS | {"required"}:  # for arrays and objects, which cannot be listed
            schema.pop(key, None)
    elif types_of(schema):
        _fold_all(node, "anyOf", "oneOf")
    elif {"anyOf", "oneOf"}.isdisjoint(schema):
        raise node.refuse("a value without a type")
    else:
        _fold_all(node, "additionalProperties", "items", "properties", "required")


def _fold_all(node: Node, *keywords: str) -> None:
    for key in keywords:
        if key in node.schema:
            node.fold(key)


def open_patterned_objects(node: Node) -> None:
    """Fold ``additionalProperties`` next to ``patternProperties``. Alone, it would refuse names that match patterns."""
    if "patternProperties" in node.schema and node.schema.get("additionalProperties", True) is not True:
        node.fold("additionalProperties")


def open_tuples(node: Node) -> None:
    """Fold ``items`` next to ``prefixItems``. Alone, it would apply to the first items as well."""
    if "prefixItems" in node.schema and node.schema.get("items", True) is not True:
        node.fold("items")


def refuse_untyped_arrays(node: Node) -> None:
    """Raise ``NotStrictError`` for an array without ``items``."""
    if "array" in types_of(node.schema) and "items" not in node.schema and not has_values(node.schema):
        raise node.refuse("an array without items")


def refuse_structured_values(node: Node) -> None:
    """Raise ``NotStrictError`` if ``enum`` or ``const`` has arrays or objects, or no value that the type allows."""
    if not has_values(node.schema):
        return
    keyword = "enum" if "enum" in node.schema else "const"
    values = allowed_values(node.schema)
    if not values:
        raise node.refuse(f"{keyword} without a value that the type allows", keyword)
    if any(isinstance(each, list | dict) for each in values):
        raise node.refuse(f"{keyword} of arrays or objects", keyword)


def refuse_all_optional(node: Node) -> None:
    """Raise ``NotStrictError`` if there are parameters and none is required."""
    if node.is_root and not list_under(node.schema, "required"):
        raise node.refuse("parameters that are all optional")


def drop_inapplicable(node: Node) -> None:
    """Remove the keywords that apply to none of the schema's types, because no value depends on them."""
    if _OF_TYPES.keys().isdisjoint(node.schema):
        return
    types = types_of(node.schema)
    # Formats of numbers, such as int32, are common, although they restrict nothing.
    for key in (_OF_TYPES.keys() & node.schema.keys()) - {"format"} if types else ():
        if _OF_TYPES[key].isdisjoint(types):
            del node.schema[key]


def const_to_enum(node: Node) -> None:
    """Write ``const`` as an ``enum`` with one value."""
    if "const" in node.schema:
        values = allowed_values(node.schema)
        if values:
            if "enum" in node.schema:
                del node.schema["const"]
            else:
                node.rename("const", "enum")
            node.schema["enum"] = values


def name_value_types(node: Node) -> None:
    """Remove the values of ``enum`` and ``const`` that the type forbids, and the types that no value has."""
    if has_values(node.schema) and (values := _keep_values(node)) and not isinstance(node.schema.get("type"), str):
        types = type_names(values)
        node.schema["type"] = types[0] if len(types) == 1 else [*types]


def remove_value_types(node: Node) -> None:
    """Remove the values of ``enum`` and ``const`` that the type forbids, and the type, which the others imply."""
    if has_values(node.schema):
        _keep_values(node)
        node.schema.pop("type", None)


def _keep_values(node: Node) -> list[JsonValue]:
    """Write the allowed values to ``enum``, or to ``const`` if there is no ``enum``, and return them."""
    values = allowed_values(node.schema)
    if "enum" in node.schema and values:
        node.schema.pop("const", None)
        node.schema["enum"] = [*values]
    return values


def lower_subschemas(node: Node) -> None:
    """Lower the subschemas of the keywords that the target keeps."""
    schema, rules = node.schema, node.lowering.target.rules
    if _WITH_SCHEMAS.isdisjoint(schema):
        return
    node.source = dict(schema)
    # Sorted, so that neither losses nor new names depend on the order of the spec's keys.
    for key in sorted(_WITH_SCHEMAS & schema.keys()):
        value = schema[key]
        if rules[key] != "keep":
            continue
        if key == "properties" and isinstance(value, dict):
            required = list_under(schema, "required")
            schema[key] = {
                name: node.lower_child(each, key, name, optional=name not in required)
                for name, each in sorted(value.items())
            }
        elif isinstance(value, list):
            schema[key] = [node.lower_child(each, key, index) for index, each in enumerate(value)]
        elif isinstance(value, dict) or (key == "items" and (value is True or node.lowering.target.is_strict)):
            schema[key] = node.lower_child(value, key)
        elif key == "items":
            node.fold(key)


def declare_required(node: Node) -> None:
    """Declare each property that is required but not declared, with the schema of other properties."""
    declared = map_under(node.schema, "properties")
    others = node.schema.get("additionalProperties", True)
    missing = [name for name in list_under(node.schema, "required") if isinstance(name, str) and name not in declared]
    if missing:
        key = "additionalProperties" if "additionalProperties" in node.schema else "required"
        schema = others if isinstance(others, dict) else node.lower_child(others, key)
        node.schema["properties"] = declared | {name: {**schema} for name in missing}


def drop_empty_texts(node: Node) -> None:
    """Remove an empty text from ``enum``, which the API of Gemini refuses ("enum[0]: cannot be empty")."""
    schema = node.schema
    values = allowed_values(schema) if has_values(schema) else []
    if "" not in values:
        return
    keyword = "enum" if "enum" in schema else "const"
    node.folded[keyword] = node.source.get(keyword, schema[keyword])
    node.report("does not accept an empty text in enum; the description has all values", keyword, action="folded")
    schema.pop("const", None)
    schema["enum"] = [each for each in values if each != ""]
    if not schema["enum"]:
        del schema["enum"]
        schema["type"] = "string"


def split_values(node: Node) -> None:
    """Write values of several types as one ``anyOf``, with an ``enum`` for each type that the target can list."""
    schema = node.schema
    if not has_values(schema):
        return
    values = allowed_values(schema)
    variants: list[JsonObject] = []
    is_exact = bool(values)
    for kind, group in by_type(values).items():
        variant: JsonObject = {"type": type_of_values(group)}
        if kind in node.lowering.target.listed_types:
            variant["enum"] = group
        elif kind != "null" and not (kind == "boolean" and True in group and False in group):
            is_exact = False
        variants.append(variant)
    if _cannot_split(node, variants):
        _fold_all(node, "const", "enum", "type")
        return
    if not is_exact:
        _fold_all(node, "const", "enum")
    variants = variants or [{"type": each} for each in types_of(schema)[:1]]
    for key in ("const", "enum", "type"):
        schema.pop(key, None)
    _write_variants(node, variants)


def split_types(node: Node) -> None:
    """Write several types as one ``anyOf``. The keywords for a type move to its schema."""
    declared = node.schema.get("type")
    if not isinstance(declared, list):
        return
    types = types_of(node.schema)
    variants: list[JsonObject] = [{"type": each} for each in types if each != "integer" or "number" not in types]
    if _cannot_split(node, variants):
        node.fold("type")
        return
    del node.schema["type"]
    _write_variants(node, variants)


def _cannot_split(node: Node, variants: list[JsonObject]) -> bool:
    return len(variants) > 1 and not {"$ref", "anyOf"}.isdisjoint(node.schema)


def _write_variants(node: Node, variants: list[JsonObject]) -> None:
    schema = node.schema
    if len(variants) == 1:
        schema |= variants[0]
    elif variants:
        of_type = {key: schema.pop(key) for key in _OF_TYPES.keys() & schema.keys()}
        for each in variants:
            each |= {key: of_type[key] for key in sorted(of_type) if str(each["type"]) in _OF_TYPES[key]}
        schema["anyOf"] = [*variants]


def merge_null(node: Node) -> None:
    """Write an ``anyOf`` of null and a schema with one type as that schema with two types."""
    schema, choices = node.schema, node.schema.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices or "type" in schema:
        return
    others = [each for each in choices if each != {"type": "null"}]
    other = others[0] if len(others) == 1 else None
    if not isinstance(other, dict) or not isinstance(other.get("type"), str) or other.keys() & schema.keys() - _TEXTS:
        return
    del schema["anyOf"]
    texts = [str(each["description"]) for each in (schema, other) if each.get("description")]
    schema |= {**other, "type": [other["type"], "null"]}
    if len(texts) > 1:
        schema["description"] = " ".join(texts)
    if "enum" in schema:
        schema["enum"] = [*list_under(schema, "enum"), None]


def add_items(node: Node) -> None:
    """Add ``items: {}``, which does not change the meaning, to an array without ``items``."""
    for each in (node.schema, *list_under(node.schema, "anyOf")):
        if isinstance(each, dict) and each.get("type") == "array" and {"items", "prefixItems"}.isdisjoint(each):
            each["items"] = {}


def refuse_other_properties(node: Node) -> None:
    """Raise ``NotStrictError`` if a keyword next to ``properties`` needs a property that a closed object cannot have.

    Strict modes close each object. Keywords such as ``then`` or ``minProperties`` might then be impossible to satisfy.
    """
    schema = node.schema
    if "$ref" not in schema and "object" in types_of(schema):
        if "additionalProperties" in schema:
            return  # it already refuses these properties, or ``close_objects`` refuses the schema
        declared = {*map_under(schema, "properties"), *list_under(schema, "required")}
        minimum = schema.get("minProperties", 0)
        if isinstance(minimum, int | float) and minimum > len(declared):
            what = f"at least {minimum} properties in an object that declares {len(declared)}"
            raise node.refuse(what, "minProperties")
        for key in sorted(_MENTIONS_PROPERTIES & schema.keys()):
            _refuse_missing(node, key, _mentioned(node, {key: schema[key]}) - declared)
    elif needed := {*map_under(schema, "properties"), *list_under(schema, "required")}:
        key = "properties" if "properties" in schema else "required"
        choices = [{"$ref": schema["$ref"]}] if "$ref" in schema else [*list_under(schema, "anyOf")]
        for each in choices or list_under(schema, "oneOf"):
            if isinstance(each, dict) and ("$ref" in each or "object" in types_of(each)):
                _refuse_missing(node, key, needed - _mentioned(node, each))


def _refuse_missing(node: Node, keyword: str, names: set[JsonValue]) -> None:
    if names:
        raise node.refuse(f"the property {min(map(str, names))}, which only {keyword} mentions", keyword)


def _mentioned(node: Node, schema: JsonObject) -> set[JsonValue]:
    """Return the names of all properties in a schema and in those that it applies to the same value."""
    names: set[JsonValue] = set()
    seen: set[str] = set()
    pending: list[JsonValue] = [schema]
    while pending:
        current = pending.pop()
        if not isinstance(current, dict):
            continue
        names.update(map_under(current, "properties"), list_under(current, "required"))
        names.update(*(each for each in map_under(current, "dependentRequired").values() if isinstance(each, list)))
        pending += [current.get("then"), current.get("else"), *map_under(current, "dependentSchemas").values()]
        pending += [each for key in ("allOf", "anyOf", "oneOf") for each in list_under(current, key)]
        if isinstance(reference := current.get("$ref"), str) and reference not in seen:
            seen.add(reference)
            pending.append(node.lowering.references.target(reference))
    return names


def close_objects(node: Node) -> None:
    """Add ``additionalProperties: false``. Raise ``NotStrictError`` if the object must have other properties."""
    schema = node.schema
    if "object" not in types_of(schema):
        return
    others, properties = schema.get("additionalProperties"), map_under(schema, "properties")
    if others not in (None, False) or (others is None and not properties):
        raise node.refuse("an object with arbitrary properties")
    if any(name not in properties for name in list_under(schema, "required")):
        raise node.refuse("a required property that is not declared", "required")
    if others is None:
        node.report("allows only the declared properties of this object", kind="closed")
    schema |= {"properties": properties, "additionalProperties": False}
    schema.setdefault("required", [])


def require_all(node: Node) -> None:
    """Require every property. An optional property becomes "a value or null"."""
    properties = node.schema.get("properties")
    if not isinstance(properties, dict):
        return
    required = list_under(node.schema, "required")
    for name, each in properties.items():
        if name not in required and isinstance(each, dict):
            properties[name] = _or_null(node, each, name)
    node.schema["required"] = [*properties]


def _or_null(node: Node, schema: JsonObject, name: str) -> JsonObject:
    source = map_under(node.source, "properties")[name]
    if allows_null(node.lowering.validator, source):
        node.report("requires this property: null replaces an absent value", "properties", name)
        return schema
    if "null" in types_of(schema) and not has_values(schema):
        return schema
    if isinstance(kind := schema.get("type"), str | list) and not has_values(schema):
        return {**schema, "type": [*(kind if isinstance(kind, list) else [kind]), "null"]}
    texts: JsonObject = {key: value for key, value in schema.items() if key in _TEXTS}
    rest: JsonObject = {key: value for key, value in schema.items() if key not in _TEXTS}
    choices = rest["anyOf"] if rest.keys() == {"anyOf"} else [rest]
    assert isinstance(choices, list)
    return {**texts, "anyOf": [*choices, {"type": "null"}]}


def fold_keywords(node: Node) -> None:
    """Fold or drop every keyword that the table does not keep."""
    schema, target = node.schema, node.lowering.target
    types = types_of(schema)
    for key in sorted(key for key in schema if target.is_strict or target.rules.get(key) != "keep"):
        rule = target.rules.get(key, "drop")
        if key in IGNORED:
            del schema[key]
        elif rule == "drop":
            node.drop(key)
        elif rule == "fold" or (callable(rule) and not rule(schema[key], types)) or _lacks_type(node, key, types):
            node.fold(key)


def _lacks_type(node: Node, keyword: str, types: list[str]) -> bool:
    """Return whether a keyword lacks the ``type`` that a strict mode requires next to it."""
    return node.lowering.target.is_strict and keyword in _OF_TYPES and _OF_TYPES[keyword].isdisjoint(types)


def describe_folded(node: Node) -> None:
    """Write the folded keywords into the description."""
    if node.folded:
        node.schema = add_to_description(node.schema, node.folded)
