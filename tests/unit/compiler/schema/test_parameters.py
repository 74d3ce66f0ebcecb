"""``parameters:`` in both forms, and the resulting JSON Schema."""

import json
from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, found_in, tool_of

from toolc.compiler.fixes.apply import apply_fixes
from toolc.compiler.project.settings import NO_SETTINGS
from toolc.model.json_schema import JsonValue

PYTHON = "backend: {python: {code: 'def hello(**arguments): ...'}}\n"


def schema_of(folder: Path, parameters: str) -> JsonValue:
    return tool_of(folder, f"{HEAD}{PYTHON}parameters: {parameters}\n").parameters.value


def test_shorthand_parameters_are_closed_and_required_without_a_default(tmp_path: Path) -> None:
    assert schema_of(
        tmp_path, "{b: {type: string}, a: {}, c: {type: string, default: x}, d: {type: string, optional: true}}"
    ) == {
        "type": "object",
        "properties": {
            "b": {"type": "string"},
            "a": {},
            "c": {"type": "string", "default": "x"},
            "d": {"type": "string"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_parameters_may_be_called_type_and_properties(tmp_path: Path) -> None:
    value = schema_of(tmp_path, "{type: {type: string}, properties: {type: integer}}")

    assert isinstance(value, dict)
    assert value["properties"] == {"type": {"type": "string"}, "properties": {"type": "integer"}}


@pytest.mark.parametrize("closing", ["additionalProperties", "unevaluatedProperties"])
def test_full_schema_is_closed_by_default(tmp_path: Path, closing: str) -> None:
    full = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}

    assert schema_of(tmp_path, json.dumps(full)) == {**full, "additionalProperties": False}
    assert schema_of(tmp_path, json.dumps({**full, closing: {"type": "string"}})) == {
        **full,
        closing: {"type": "string"},
    }


@pytest.mark.parametrize(
    ("parameters", "written"),
    [
        ("{type: dict, properties: {a: {type: float}}, required: [a]}", "'dict'"),
        ("{type: array, properties: {a: {type: float}}}", "'array'"),
        ("{type: null, properties: {a: {type: float}}}", ""),
        ("{type: [object, 'null'], properties: {a: {type: float}}}", ""),
    ],
)
def test_full_schema_with_another_type_than_object_has_one_error_for_it(
    tmp_path: Path, parameters: str, written: str
) -> None:
    found = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {parameters}\n").diagnostics.sorted()

    assert [(each.code.number, each.message, each.hint) for each in found] == [
        (
            "TC704",
            "'type' of the parameters must be 'object'" + (f", but is {written}" if written else ""),
            "write type: object",
        ),
        ("TC704", "'float' is not a type of JSON Schema", "did you mean 'number'?"),
    ]


def test_type_dict_alone_is_meant_as_object(tmp_path: Path) -> None:
    found = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {{type: dict}}\n").diagnostics.sorted()

    assert [each.hint for each in found] == ["write type: object"]


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ("{type: any}", "remove 'type', because a schema without it accepts any value"),
        ("{type: HashMap}", "did you mean 'object'?"),
        ("{type: String}", "did you mean 'string'?"),
        ("{type: tuple}", "did you mean 'array'?"),
        (
            "{type: object, properties: {b: {type: string, optional: true}}}",
            "remove it, because a parameter that is not listed under 'required' is optional",
        ),
    ],
)
def test_hint_for_types_and_keywords_of_other_languages(tmp_path: Path, schema: str, hint: str) -> None:
    found = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {{a: {schema}}}\n").diagnostics.sorted()

    assert [each.hint for each in found if each.is_error] == [hint]


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ("{type: boolean, default: 'True'}", "write true, without quotes"),
        ("{type: number, default: '10.50'}", "write 10.50, without quotes"),
        ("{type: array, items: {}, default: ''}", "write a default that the schema accepts, or remove it"),
        ("{enum: [left, right], default: rigth}", "did you mean 'right'?"),
        ("{enum: [left, right], default: ''}", "write a default that the schema accepts, or remove it"),
        ("{type: integer, maximum: 3, default: 5}", "write a default that the schema accepts, or remove it"),
    ],
)
def test_an_invalid_default_has_a_hint(tmp_path: Path, schema: str, hint: str) -> None:
    found = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {{a: {schema}}}\n").diagnostics.sorted()

    assert [(each.code.number, each.hint) for each in found if each.is_error] == [("TC304", hint)]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        *(
            (f"{{type: object, {key}}}", "TC108 these parameters are a JSON Schema without a map 'properties'")
            for key in (
                "additionalProperties: true",
                "patternProperties: {}",
                "$ref: '#/$defs/a'",
                "properties: null",
                "path: {type: string}",
            )
        ),
        ("[a]", "TC108 'parameters' must be a map, but is a list"),
        ("{a: {optional: sometimes}}", "TC108 'optional' must be true or false, but is the text 'sometimes'"),
        ("{1a: {}}", "TC201 '1a' cannot be a parameter's name"),
        ("{a: {type: object, properties: {b: {type: strng}}}}", "TC704 'strng' is not a type of JSON Schema"),
        ("{a: {type: [string, strng]}}", "TC704 'strng' is not a type of JSON Schema"),
        ("{a: {type: 3}}", "TC704 '3' is not a type of JSON Schema"),
        ("{a: {type: []}}", "TC704 'type': [] is not valid under any of the given schemas"),
        ("{a: {enum: x}}", "TC704 'enum': the text 'x' is not a list"),
        ("{a: {anyOf: []}}", "TC704 'anyOf': [] should be non-empty"),
        ("{a: {items: [string]}}", "TC704 'items' is one schema, for every item"),
        ("{a: {$schema: 'http://json-schema.org/draft-04/schema#'}}", "TC704 parameters are JSON Schema 2020-12"),
        ("{a: {$id: 'b'}}", "TC316 a schema inside another cannot have an '$id'"),
        ("{a: {$ref: 'b'}}", "TC316 'b' points outside this schema; toolc fetches nothing"),
        ("{a: {$ref: '#nowhere'}}", "TC105 '#nowhere' does not exist in this schema"),
        ("{a: {$ref: '#/properties/a'}}", "TC316 '#/properties/a' refers to itself"),
        ("{a: {patternProperties: {'(': {}}}}", "TC310 this pattern is not valid in ECMA-262"),
        ("{a: {type: string, default: 3}}", "TC304 default: 3 is not a string"),
        ("{a: {type: string, enum: []}}", "TC704 'enum' is empty, so no value is valid"),
        ("{a: {anyOf: [{type: string}, {enum: []}]}}", "TC704 'enum' is empty, so no value is valid"),
        (
            "{a: {type: object, properties: {b: {type: string, default: 3}}, optional: true}}",
            "TC304 default: 3 is not a string",
        ),
    ],
)
def test_invalid_parameters_are_reported(tmp_path: Path, parameters: str, found: str) -> None:
    assert f"{found}" in "\n".join(found_in(tmp_path, f"{HEAD}{PYTHON}parameters: {parameters}\n"))


@pytest.mark.parametrize(
    "parameters",
    [
        "{type: object, additionalProperties: true}",
        "{$schema: 'http://json-schema.org/draft-07/schema#', allOf: [{type: object}], type: object}",
        "{type: object, properties: [path], required: [path]}",
    ],
)
def test_a_full_schema_without_properties_has_one_finding(tmp_path: Path, parameters: str) -> None:
    """The hint must not suggest its keywords as parameters."""
    (found,) = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {parameters}\n").diagnostics.sorted()
    assert found.message == "these parameters are a JSON Schema without a map 'properties'"
    assert found.hint == "add 'properties' with the parameters, or {} if there are none"
    assert parameters[found.span.start.column - len("parameters: {") :].startswith("object")


@pytest.mark.parametrize(
    "parameters",
    [
        "{allOf: [{type: object, properties: {a: {type: string}}}, {type: object}]}",
        "{$schema: 'http://json-schema.org/draft-07/schema#', properties: {}}",
    ],
)
def test_a_full_schema_without_a_type_has_one_finding(tmp_path: Path, parameters: str) -> None:
    (found,) = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {parameters}\n").diagnostics.sorted()
    assert found.message == "these parameters are a JSON Schema without 'type: object'"
    assert found.hint.startswith("write 'type: object' next to 'properties'")


def test_templates_are_checked_even_if_a_parameter_is_invalid(tmp_path: Path) -> None:
    shell = '{argv: [a, "{{ x }}", {when: z, argv: ["{{ z }}"]}]}'
    spec = f"{HEAD}parameters: {{x: {{type: strng}}}}\nbackend: {{shell: {shell}}}\n"
    assert [each.split()[1] for each in found_in(tmp_path, spec)] == ["TC704", "TC406", "TC406"]


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        (
            "{type: integer, minimum: 0, exclusiveMinimum: true}",
            "for true, write the number of 'minimum' here and remove 'minimum'; for false, remove this key",
        ),
        (
            "{type: integer, exclusiveMaximum: false}",
            "for true, write the number of 'maximum' here and remove 'maximum'; for false, remove this key",
        ),
        (
            "{oneOf: [{type: object}], discriminator: {propertyName: kind}}",
            "remove it, because 'oneOf' chooses by the 'const' for the property in each of its schemas",
        ),
    ],
)
def test_findings_about_generated_schemas_have_hints(tmp_path: Path, schema: str, hint: str) -> None:
    """zod-to-json-schema and OpenAPI 3.0 use booleans of draft 4; pydantic uses keywords of OpenAPI."""
    (found,) = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {{a: {schema}}}\n").diagnostics.sorted()
    assert found.hint == hint


def test_a_required_parameter_may_have_a_default(tmp_path: Path) -> None:
    written = "{a: {default: 3, optional: false}}"
    assert schema_of(tmp_path, written) == {
        "type": "object",
        "properties": {"a": {"default": 3}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_recursive_schemas_are_accepted(tmp_path: Path) -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}, "default": {"left": {}}}
    full = {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}

    assert schema_of(tmp_path, json.dumps(full)) == {**full, "additionalProperties": False}


def test_many_mutual_references_are_checked_fast(tmp_path: Path) -> None:
    def both(number: int) -> dict[str, JsonValue]:
        return {"anyOf": [{"$ref": f"#/$defs/d{number + 1}"}, {"$ref": f"#/$defs/d{number + 1}"}]}

    definitions = {f"d{number}": both(number) for number in range(60)} | {"d60": {"type": "string"}}
    full = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}

    assert schema_of(tmp_path, json.dumps(full)) is not None


NULL_DEFAULTS = [
    ("{a: {type: string, default: null}}", "{a: {type: string, optional: true}}"),
    ('{"a": {"type": "string", "default": null}}', '{"a": {"type": "string", "optional": true}}'),
    ("{a: {default: ~, optional: true, type: string}}", "{a: {optional: true, type: string}}"),
    (
        "{type: object, properties: {a: {type: string, default: null}}}",
        "{type: object, properties: {a: {type: string}}}",
    ),
    (
        "{type: object, properties: {a: {$ref: '#/$defs/t', default: null}}, $defs: {t: {type: string}}}",
        "{type: object, properties: {a: {$ref: '#/$defs/t'}}, $defs: {t: {type: string}}}",
    ),
    (
        "{a: {type: object, optional: true, properties: {b: {type: string, default: null}}}}",
        "{a: {type: object, optional: true, properties: {b: {type: string}}}}",
    ),
]


@pytest.mark.parametrize(("written", "meant"), NULL_DEFAULTS)
def test_default_null_that_the_schema_does_not_allow_means_no_default(tmp_path: Path, written: str, meant: str) -> None:
    compilation = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {written}\n")

    (finding,) = compilation.diagnostics.sorted()
    assert (finding.code.number, finding.is_error) == ("TC304", False)
    assert finding.message == "this schema does not allow null, so 'default: null' is ignored"
    assert compilation.tools[0].parameters.value == schema_of(tmp_path, meant)


@pytest.mark.parametrize(("written", "meant"), NULL_DEFAULTS)
def test_fix_of_a_null_default_writes_what_is_meant(tmp_path: Path, written: str, meant: str) -> None:
    path = tmp_path / "tool.yaml"
    path.write_text(f"{HEAD}{PYTHON}parameters: {written}\n", encoding="utf-8")

    for file in apply_fixes([path], NO_SETTINGS, unsafe=True):
        file.write()

    assert path.read_text(encoding="utf-8") == f"{HEAD}{PYTHON}parameters: {meant}\n"


def test_default_null_is_kept_where_null_is_valid(tmp_path: Path) -> None:
    written = (
        '{a: {type: [string, "null"], default: null}, b: {anyOf: [{type: "null"}, {type: string}], default: null}}'
    )

    assert found_in(tmp_path, f"{HEAD}{PYTHON}parameters: {written}\n") == []
    schema = schema_of(tmp_path, written)
    assert isinstance(schema, dict)
    assert isinstance(schema["properties"], dict)
    assert [each["default"] for each in schema["properties"].values() if isinstance(each, dict)] == [None, None]


@pytest.mark.parametrize(
    "written",
    [
        "{type: object}",
        "{type: object, description: Nothing., required: []}",
        "{type: object, title: Nothing, $comment: a, $id: 'https://a.example/b', $defs: {}, definitions: {}}",
    ],
)
def test_full_schema_without_properties_has_no_parameters(tmp_path: Path, written: str) -> None:
    schema = schema_of(tmp_path, written)

    assert isinstance(schema, dict)
    assert (schema["type"], schema["properties"], schema["additionalProperties"]) == ("object", {}, False)


@pytest.mark.parametrize(
    ("parameters", "hint"),
    [
        ("{a: {type: array, items: string}}", "write items: {type: string}"),
        ("{a: {type: array, items: str}}", "write items: {type: string}"),
        ("{a: {anyOf: [int, {type: string}]}}", "write {type: integer}"),
        ("{type: object, properties: {a: string}}", "write a: {type: string}"),
        ("{a: string}", "write a: {type: string}"),
        ("{a: {type: array, items: [string]}}", "write prefixItems, or one schema that fits all"),
    ],
)
def test_type_without_a_schema_around_it_gets_a_hint(tmp_path: Path, parameters: str, hint: str) -> None:
    found = compile_text(tmp_path, f"{HEAD}{PYTHON}parameters: {parameters}\n").diagnostics.sorted()
    assert [each.hint for each in found if each.is_error] == [hint]
