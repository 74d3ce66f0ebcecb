"""The grade of a change of a parameter schema follows from a proof or a witness, whatever keywords express it."""

from typing import Final

import pytest
import yaml

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.review.contract.verdicts import Verdict, verdicts
from toolc.validation.validate import validation_errors


def schemas(text: str) -> tuple[JsonObject, JsonObject]:
    """Return the two schemas of ``OLD -> NEW``; after ``a:``, of the property ``a`` of a closed object."""
    prefix, separator, rest = text.partition("a: ")
    old, new = (yaml.safe_load(each) for each in (rest if separator and not prefix else text).split(" -> "))
    if not separator or prefix:
        return old, new
    return _with_a(old), _with_a(new)


def _with_a(schema: JsonValue) -> JsonObject:
    return {"type": "object", "properties": {"a": schema}, "additionalProperties": False}


def grades(found: tuple[Verdict, ...]) -> set[str]:
    """Return the grades of all changes."""
    return {each.grade for each in found}


BREAKING: Final = """
{type: object, properties: {a: {type: string}}, additionalProperties: {type: integer}} -> \
{type: object, properties: {a: {type: string}, total: {type: string}}, additionalProperties: {type: integer}}
{type: object, additionalProperties: true, unevaluatedProperties: false} -> \
{type: object, unevaluatedProperties: false}
{type: array, items: true, unevaluatedItems: false} -> {type: array, unevaluatedItems: false}
{type: array, prefixItems: [true], unevaluatedItems: false} -> {type: array, unevaluatedItems: false}
{type: object, if: {properties: {a: true}}, unevaluatedProperties: false} -> \
{type: object, unevaluatedProperties: false}
a: {type: string} -> {oneOf: [{type: string}, {type: string, maxLength: 3}]}
a: {type: object} -> {type: object, if: {required: [x]}, then: {required: [y]}}
a: {type: object} -> {type: object, if: {required: [x]}, else: {required: [y]}}
a: {type: string} -> {type: string, not: {const: x}}
a: {type: object, patternProperties: {'': {type: string}}} -> {type: object, patternProperties: {'^b': {type: integer}}}
a: {type: string} -> {type: string, minLength: 1}
a: {type: integer} -> {type: integer, maximum: 10}
a: {type: object, maxProperties: 1, required: [b], properties: {b: {type: string}}} -> \
{type: object, maxProperties: 1, required: [b], properties: {b: {type: string, maxLength: 3}}}
a: {contains: {type: string}, type: array, minContains: 0} -> {type: array, contains: {type: string}}
a: {oneOf: [{type: string}]} -> {oneOf: [{type: string}, {type: string, minLength: 3}]}
a: {type: array, items: {type: string}} -> {type: array, prefixItems: [{type: integer}], items: {type: string}}
a: {type: array, prefixItems: [{}, {type: string}]} -> {type: array, prefixItems: [{}, {type: integer}]}
a: {type: object, patternProperties: {'^x-': {type: string}}} -> \
{type: object, patternProperties: {'^x-': {type: string, maxLength: 3}}}
a: {type: object, propertyNames: {pattern: '^[A-Z]+$'}} -> {type: object, propertyNames: {pattern: '^[A-Z]{1,3}$'}}
a: {type: object, properties: {b: {}, c: {}}} -> {type: object, properties: {b: {}, c: {}}, dependentRequired: {b: [c]}}
a: {type: array, contains: {type: integer}} -> {type: array, contains: {type: integer}, maxContains: 2}
a: {type: array, contains: {type: integer}, maxContains: 3} -> {type: array, contains: {type: integer}, maxContains: 2}
a: {type: array} -> {type: array, uniqueItems: true}
a: {type: number, multipleOf: 0.01} -> {type: number, multipleOf: 0.02}
a: {type: string, format: date} -> {type: string, format: date-time}
a: {type: string, pattern: '^[a-z]{2,8}$'} -> {type: string, pattern: '^[a-z]{2,7}$'}
a: {anyOf: [{type: string}, {type: integer}]} -> {anyOf: [{type: string}, {type: integer, minimum: 1}]}
{properties: {a: {$ref: '#/$defs/x'}}, $defs: {x: {type: string}}} -> {properties: {a: {type: integer}}}
{type: object, properties: {a: {$ref: '#/$defs/t'}}, $defs: {t: {type: object, properties: {v: {type: string}, \
c: {type: array, items: {$ref: '#/$defs/t'}}}}}} -> {type: object, properties: {a: {$ref: '#/$defs/t'}}, \
$defs: {t: {type: object, properties: {v: {type: string}, c: {type: array, maxItems: 2, items: {$ref: '#/$defs/t'}}}}}}
{type: object, allOf: [{$ref: '#/$defs/x'}], properties: {a: {type: string}}, unevaluatedProperties: false, \
$defs: {x: {properties: {id: {type: integer}}, required: [id]}}} -> {type: object, \
allOf: [{$ref: '#/$defs/x'}], properties: {a: {type: string, maxLength: 3}}, unevaluatedProperties: false, \
$defs: {x: {properties: {id: {type: integer}}, required: [id]}}}
"""
"""Changes that refuse a call: each has a witness."""

COMPATIBLE: Final = """
a: {type: string, pattern: '^foo\\b'} -> {type: string, pattern: '^foo'}
a: {type: string, pattern: '\\bfoo\\B'} -> {type: string, pattern: foo}
a: {const: x} -> {enum: [x, y]}
a: {const: x} -> {enum: [x]}
a: {type: string} -> {type: string, minItems: 2, items: {type: integer}, contains: {type: integer}}
{type: object, properties: {a: true}, unevaluatedProperties: false} -> \
{type: object, allOf: [{properties: {a: true}}], unevaluatedProperties: false}
a: {type: string} -> {type: string, allOf: [true]}
a: {type: string} -> {type: string, allOf: [{}]}
a: {type: string} -> {allOf: [{type: string}]}
a: {allOf: [{type: string, maxLength: 3}]} -> {type: string, maxLength: 3}
a: {type: string, maxLength: 5} -> {type: string, allOf: [{maxLength: 5}, {minLength: 0}]}
{type: object, properties: {a: {}}, additionalProperties: false} -> \
{type: object, properties: {a: {}}, additionalProperties: false, unevaluatedProperties: false}
{type: object, properties: {a: {}}, additionalProperties: false} -> \
{type: object, properties: {a: {}}, additionalProperties: false, propertyNames: {maxLength: 1}}
{type: object, properties: {a: {}}, additionalProperties: false} -> \
{type: object, properties: {a: {}}, additionalProperties: false, dependentSchemas: {z: {required: [a]}}}
{type: object, properties: {a: {}}, additionalProperties: false} -> \
{type: object, properties: {a: {}}, additionalProperties: false, dependentRequired: {z: [a]}}
a: {type: integer} -> {type: integer, maxLength: 3, pattern: ^a, minItems: 4, required: [x]}
a: {type: string} -> {type: string, minimum: 3, properties: {x: {type: integer}}, items: false}
a: {type: string} -> {type: string, contentEncoding: base64}
a: {type: string} -> {type: string, contentMediaType: application/json, contentSchema: {type: object}}
a: {type: string, minLength: 0} -> {type: string}
a: {type: array} -> {type: array, minItems: 0, uniqueItems: false}
a: {anyOf: [{type: string}, {type: integer}]} -> {anyOf: [{type: integer}, {type: string}]}
a: {oneOf: [{type: string}, {type: integer}]} -> {oneOf: [{type: integer, description: One.}, {type: string, title: T}]}
a: {anyOf: [{type: string}]} -> {anyOf: [{type: string}, {type: string}]}
{type: object, unevaluatedProperties: false} -> {type: object}
{type: array, unevaluatedItems: {type: string}} -> {type: array}
a: {type: string} -> {anyOf: [{type: string}, {type: 'null'}]}
a: {type: string, maxLength: 3} -> {anyOf: [{type: string, maxLength: 3}, {type: 'null'}]}
a: {anyOf: [{type: string}, {type: 'null'}]} -> {type: [string, 'null']}
a: {type: string} -> {type: string, pattern: '.*'}
a: {type: string} -> {type: string, pattern: ''}
a: {type: string, pattern: '^[a-z]{2,3}$'} -> {type: string, pattern: '^[a-z]*$', maxLength: 3}
{type: object, properties: {a: {}}, additionalProperties: false} -> \
{type: object, properties: {a: {}}, patternProperties: {'^x-': {type: string}}, additionalProperties: false}
a: {type: integer, exclusiveMaximum: 10} -> {type: integer, maximum: 9}
a: {type: integer, minimum: 1, maximum: 3} -> {enum: [1, 2, 3]}
a: {type: boolean} -> {enum: [true, false]}
a: {type: array, contains: {type: integer}, maxContains: 2} -> {type: array, contains: {type: integer}, maxContains: 3}
a: {type: array, items: {type: string}} -> {type: array, prefixItems: [{type: string}], items: {type: string}}
a: {type: number, multipleOf: 0.02} -> {type: number, multipleOf: 0.01}
a: {not: {not: {type: string}}} -> {type: string}
a: {oneOf: [{type: string}, {type: integer}]} -> {anyOf: [{type: string}, {type: integer}]}
a: {if: {type: string}, then: {maxLength: 3}, else: true} -> {if: {type: string}, then: {maxLength: 4}}
a: {type: string, format: uri} -> {type: string, format: uri-reference}
a: {type: object, minProperties: 1, required: [x]} -> {type: object, required: [x]}
{properties: {a: {$ref: '#/$defs/x'}}, $defs: {x: {type: string}}} -> {properties: {a: {type: string}}}
{properties: {a: {$ref: '#/$defs/x'}}, $defs: {x: {type: string}}} -> \
{properties: {a: {$ref: '#/$defs/y'}}, $defs: {y: {type: string, description: D.}}}
{type: object, properties: {a: {}, b: {type: string}}, required: [a, b]} -> \
{allOf: [{$ref: '#/$defs/x'}], properties: {b: {type: string}}, required: [b], \
$defs: {x: {type: object, properties: {a: {}}, required: [a]}}}
{type: object, properties: {a: {type: string}, b: {type: string}}} -> \
{type: object, properties: {a: {type: string}}, anyOf: [{properties: {b: {type: string}}}, {required: [a]}]}
{type: object, properties: {a: {type: string}}, required: [a]} -> \
{type: object, properties: {a: {type: string, default: x}}}
a: {type: string} -> {anyOf: [{type: string}, {type: 'null'}], default: null}
a: {type: object, properties: {x: {}}} -> {not: {not: {type: object, properties: {x: {}}}}}
a: {type: object, properties: {x: {}}} -> {if: true, then: {type: object, properties: {x: {}}}}
a: {type: object, properties: {x: {}}} -> {if: false, else: {type: object, properties: {x: {}}}}
a: {type: string, default: x} -> {anyOf: [{type: string, default: x}, false]}
a: {type: string, default: x} -> {anyOf: [{type: string, default: x}, {type: string, default: x}]}
a: {enum: [x, y]} -> {oneOf: [{const: x, title: X}, {const: y, title: Y}]}
"""
"""Changes that refuse nothing: none of them is breaking or a warning."""


def cases(table: str) -> list[str]:
    return [line for line in table.splitlines() if line]


@pytest.mark.parametrize("text", cases(BREAKING))
def test_a_change_that_refuses_a_call_is_breaking_and_has_a_witness(text: str) -> None:
    old, new = schemas(text)
    witnesses = [each.witness for each in verdicts(old, new, "input") if each.grade == "breaking"]
    assert witnesses
    for witness in witnesses:
        assert witness is not None
        assert not validation_errors(old, witness.value)
        assert validation_errors(new, witness.value)
    reverse = [each.witness for each in verdicts(new, old, "output") if each.grade == "breaking"]
    assert reverse
    assert all(reverse)


PROVED: Final = """
a: {type: string, format: uuid, pattern: '[^a]'} -> {type: string, format: uuid, pattern: '^[a-c]{1,2}$'}
a: {type: string, format: date, pattern: '^X'} -> {type: string, pattern: '^Y'}
a: {type: string, format: date-time} -> {type: string, pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}'}
a: {type: string, format: time} -> {type: string, pattern: '^[0-9]{2}:'}
a: {type: string, format: email} -> {type: string, pattern: '@'}
a: {type: string, format: uri} -> {type: string, pattern: '^[A-Za-z].*:'}
a: {type: string, format: hostname} -> {type: string, minLength: 1}
a: {type: string, format: ipv6} -> {type: string, pattern: ':'}
a: {type: string, format: duration} -> {type: string, minLength: 2}
a: {type: string, format: json-pointer} -> {type: string, not: {pattern: '^[a-z]'}}
"""
"""Changes that refuse nothing because of the shape that each text of a format has, on one side at least."""


@pytest.mark.parametrize("text", cases(PROVED))
def test_the_shape_of_a_format_proves_that_nothing_is_refused(text: str) -> None:
    old, new = schemas(text)
    found = [each for side in ("input", "output") for each in verdicts(old, new, side) if each.grade == "breaking"]
    assert all(each.witness for each in found)


def test_a_change_of_anyof_to_oneof_is_named() -> None:
    old, new = schemas("a: {anyOf: [{type: string}, {maxLength: 3}]} -> {oneOf: [{type: string}, {maxLength: 3}]}")
    (found,) = verdicts(old, new, "input")
    message = "'a' must now match exactly one of several schemas (oneOf instead of anyOf)"
    assert (found.grade, found.change.message) == ("breaking", message)
    (found,) = verdicts(new, old, "input")
    message = "'a' may now match more than one of several schemas (anyOf instead of oneOf)"
    assert (found.grade, found.change.message) == ("compatible", message)


def test_keywords_of_a_type_that_one_schema_does_not_allow_are_not_changes() -> None:
    old, new = schemas("a: {type: string, maxLength: 3} -> {type: array, items: {type: string}}")
    found = [each.change.message for each in verdicts(old, new, "input")]
    assert found == ["'a' no longer allows string", "'a' now allows array"]


@pytest.mark.parametrize("text", cases(COMPATIBLE))
def test_a_change_that_refuses_nothing_is_compatible(text: str) -> None:
    old, new = schemas(text)
    assert grades(verdicts(old, new, "input")) <= {"compatible"}
    assert grades(verdicts(new, old, "output")) <= {"compatible"}


ELEMENTS: Final = {
    "a: {type: array, items: {type: string}} -> {type: array, items: {type: string, maxLength: 9}}":
        "each item of 'a' now has the maxLength 9",
    "a: {type: object, additionalProperties: {type: string}} -> {type: object, additionalProperties: {type: integer}}":
        "each additional property of 'a' no longer allows string",
    "a: {type: object, patternProperties: {^x: {type: string}}} -> {type: object, patternProperties: {^x: {const: k}}}":
        "each property of 'a' that matches \"^x\" allows only \"k\"",
    "a: {type: array, prefixItems: [{}, {type: string}]} -> {type: array, prefixItems: [{}, {type: integer}]}":
        "item 2 of 'a' no longer allows string",
    "a: {type: object, propertyNames: {maxLength: 5}} -> {type: object, propertyNames: {maxLength: 3}}":
        "each name in 'a': maxLength changed from 5 to 3",
    "a: {type: array, items: {type: object, properties: {b: {}}}} -> "
    "{type: array, items: {type: object, properties: {b: {type: string}}}}":
        "'b' of each item of 'a' no longer allows any other type",
    "a: {type: string} -> {anyOf: [{type: string, maxLength: 3}, {type: 'null'}]}": "'a' now has the maxLength 3",
    "a: {type: number, maximum: 10} -> {type: number, exclusiveMaximum: 10}":
        "'a': maximum 10 changed to exclusiveMaximum 10",
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), ELEMENTS.items())
def test_the_message_names_the_element_that_changed(text: str, message: str) -> None:
    found = verdicts(*schemas(text), "input")
    assert message in [each.change.message for each in found if each.grade == "breaking"]


def test_a_witness_is_one_of_its_own_change() -> None:
    """Each of several changes has a value that this change alone refuses."""

    def schema(length: int, most: int) -> JsonObject:
        return {
            "type": "object", "additionalProperties": False,
            "properties": {"a": {"type": "string", "maxLength": length}, "b": {"type": "integer", "maximum": most}},
        }  # fmt: skip

    old, new = schema(5, 10), schema(4, 9)
    found = {each.change.message: each.witness for each in verdicts(old, new, "input")}
    values = {message: witness.value for message, witness in found.items() if witness}
    assert values == {
        "'a': maxLength changed from 5 to 4": {"a": "aaaaa"},
        "'b': maximum changed from 10 to 9": {"b": 10},
    }
    refusals = [witness.refusal for witness in found.values() if witness]
    assert refusals == ["'aaaaa' is too long", "10 is greater than the maximum of 9"]


def test_changes_that_refuse_a_call_only_together_are_one_more_change() -> None:
    old: JsonObject = {"type": "integer", "anyOf": [{"maximum": 5}, {"minimum": 5}]}
    new: JsonObject = {"type": "integer", "anyOf": [{"maximum": 4}, {"minimum": 6}]}
    found = verdicts(old, new, "input")
    assert [each.change.message for each in found if each.grade == "breaking"] == [
        "the changes of this schema together refuse values that were accepted"
    ]
    (together,) = (each.witness for each in found if each.witness)
    assert together.value == 5


def test_a_proof_that_is_too_long_is_not_a_proof() -> None:
    pattern: JsonValue = "^(?=zq{3}x[0-9]{7}$)"
    old: JsonObject = {"type": "string", "pattern": pattern}
    assert grades(verdicts(old, old | {"pattern": "^(?=zq{3}x[0-9]+$)"}, "input")) == {"breaking", "compatible"}


def union(longest: int, count: int = 20) -> JsonObject:
    """Return the schema of an object that is one of many kinds, of which one has a text of limited length."""
    kinds: list[JsonValue] = [
        {
            "type": "object",
            "properties": {
                "kind": {"const": f"k{each}"},
                "v": {"type": "string", "maxLength": longest if each == 3 else 9},
            },
            "required": ["kind"],
        }
        for each in range(count)
    ]
    return {"oneOf": kinds}


def test_many_alternatives_are_decided() -> None:
    assert grades(verdicts(union(5), union(6), "input")) == {"compatible"}
    found = verdicts(union(6), union(5), "input")
    assert [each.grade for each in found] == ["breaking"]
    assert found[0].witness is not None


def test_a_schema_that_is_nested_too_deeply_is_breaking() -> None:
    def nested(inner: JsonObject) -> JsonObject:
        for _ in range(500):
            inner = {"type": "object", "properties": {"a": inner}}
        return inner

    (found,) = verdicts(nested({"type": "string"}), nested({"type": "integer"}), "input")
    assert (found.grade, found.witness, bool(found.no_witness)) == ("breaking", None, True)


def test_many_values_are_compared_in_little_time() -> None:
    old: JsonObject = {"oneOf": [{"const": f"v{number}"} for number in range(700)]}
    found = verdicts(old, {"enum": [f"v{number}" for number in range(1, 700)]}, "input")
    assert [each.witness.value for each in found if each.witness] == ["v0"]


def test_deeply_nested_alternatives_are_decided() -> None:
    def nested(schema: JsonObject) -> JsonObject:
        for _ in range(24):
            schema = {"anyOf": [schema, {"type": "null"}]}
        return schema

    found = verdicts(nested({"type": "string"}), nested({"type": "string", "maxLength": 3}), "input")
    assert [(each.grade, each.witness is not None) for each in found] == [("breaking", True)]


@pytest.mark.parametrize("place", ["anyOf", pytest.param("then", marks=pytest.mark.integrations), "else"])
def test_very_many_alternatives_are_not_evaluated(place: str) -> None:
    choices: list[JsonValue] = [
        {"anyOf": [{"properties": {f"a{n}": True}}, {"properties": {f"b{n}": True}}]} for n in range(20)
    ]
    many: JsonObject = {"anyOf": [{"allOf": choices}]} if place == "anyOf" else {"if": True, place: {"allOf": choices}}
    old: JsonObject = {"type": "object", "unevaluatedProperties": False, **many}
    assert grades(verdicts(old, old | {"maxProperties": 0}, "input")) == {"breaking"}
