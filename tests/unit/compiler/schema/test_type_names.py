"""The names of types in other languages, and what to write for them."""

import pytest

from toolc.compiler.schema.type_names import TYPES, similar_type, type_form


def test_the_types_are_those_of_json_schema() -> None:
    assert set(TYPES) == {"array", "boolean", "integer", "null", "number", "object", "string"}


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        ("str text char file path String strin", "string"), ("int long INTEGER intger", "integer"),
        ("float double Number", "number"), ("bool Bool", "boolean"), ("none nil", "null"),
        ("list tuple set arraylist arr4y", "array"), ("dict map hashmap objekt", "object"), ("date xyz any", ""),
    ],
)  # fmt: skip
def test_a_similar_type_is_suggested(names: str, meant: str) -> None:
    assert {name: similar_type(name) for name in names.split()} == dict.fromkeys(names.split(), meant)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "write type: string, and format: date-time") for name in ("datetime", "date-time", "Timestamp")),
        *((name, "write type: string, and format: uri") for name in ("uri", "url", "URL")),
        *((name, f"write type: string, and format: {name}") for name in ("date", "time", "email", "uuid")),
        *(
            (name, "remove 'type', because a schema without it accepts any value")
            for name in ("any", "mixed", "unknown")
        ),
        ("enum", "write type: string, and list the values under enum"),
        ("str[]", "write type: array, and items: {type: string}"),
        ("List[int]", "write type: array, and items: {type: integer}"),
        ("string?", "write type: string, and optional: true"),
        ("Optional[float]", "write type: number, and optional: true"),
        ("int | None", "write type: [integer, 'null']"), ("null|bool", "write type: [boolean, 'null']"),
        ("string", ""), ("widget", ""),
    ],
)  # fmt: skip
def test_a_name_that_means_more_than_a_type(name: str, form: str) -> None:
    assert type_form(name) == form
