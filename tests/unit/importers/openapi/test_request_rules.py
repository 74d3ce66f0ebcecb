"""Every style, place and media type of a document is sent as the OpenAPI Specification and RFC 6570 say.

The expected requests come from ``openapi_rules``, which reads the document itself. Its own text is compared with the
tables of the specifications first.
"""

import json
from itertools import product

import pytest
from openapi_rules.comparison import plan_differences, specs_of
from openapi_rules.expansion import expand

from toolc.importers.openapi.generate import Options, generate
from toolc.importers.openapi.operations import Choice
from toolc.importers.openapi.servers import Server
from toolc.importers.openapi.source import Document
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue

SERVER = "https://api.example.com/v1"
COLORS: JsonValue = ["blue", "black", "brown"]
RGB: JsonValue = {"R": 100, "G": 200, "B": 150}


@pytest.mark.parametrize(
    ("style", "explode", "empty", "text", "array", "rgb"),
    [  # OpenAPI 3.1.1, 4.8.12.6, without the '?' before a query
        ("matrix", False, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
        ("matrix", True, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"),
        ("label", False, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
        ("label", True, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
        ("simple", False, "", "blue", "blue,black,brown", "R,100,G,200,B,150"),
        ("simple", True, "", "blue", "blue,black,brown", "R=100,G=200,B=150"),
        ("form", False, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
        ("form", True, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"),
        ("spaceDelimited", False, None, None, "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"),
        ("pipeDelimited", False, None, None, "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"),
        ("deepObject", True, None, None, None, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ],
)
def test_the_expected_text_is_that_of_the_specification(
    style: str, explode: bool, empty: str | None, text: str | None, array: str | None, rgb: str
) -> None:
    for value, expected in (("", empty), ("blue", text), (COLORS, array), (RGB, rgb)):
        assert expected is None or expand("color", value, style, explode=explode) == expected


def test_the_expected_text_has_the_escapes_of_the_rfc() -> None:
    assert expand("v", "50%", "form", explode=False) == "v=50%25"  # RFC 6570, 3.2.2 and 3.2.8
    assert expand("v", "/foo/bar", "simple", explode=False) == "%2Ffoo%2Fbar"
    assert expand("keys", {"semi": ";", "dot": ".", "comma": ","}, "matrix", explode=True) == (
        ";semi=%3B;dot=.;comma=%2C"  # 3.2.7
    )
    assert expand("list", [], "form", explode=True) == ""


def differences(root: JsonObject) -> list[str]:
    """Return the differences of all plans of a document, of which no operation is left out."""
    root = {"info": {"title": "Colors"}, **root}
    document = Document.of(json.dumps(root).encode(), "colors.json", refuse)
    generated = generate(document, Options(name="c", choice=Choice(is_all=True), server=Server(SERVER), renamed={}), {})
    assert [each.reason for each in generated.left_out] == []
    specs = [*specs_of(generated)]
    assert len(specs) == len(generated.files)
    return [f"{key}: {each}" for key, spec in specs for each in plan_differences(root, key, spec, SERVER)]


def refuse(place: str) -> bytes:
    raise UsageError(f"{place} is not allowed")


SCHEMAS: dict[str, JsonObject] = {
    "string": {"type": "string"},
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "array": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object", "additionalProperties": {"type": "string"}},
    "any": {},
    "choice": {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]},
    "optional": {"type": ["string", "null"]},
}
STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
OK: JsonObject = {"200": {"description": "ok"}}


def operation(path: str, parameter: JsonObject) -> JsonObject:
    declared: JsonObject = {"required": parameter["in"] == "path", **parameter}
    return {path: {"get": {"summary": "Get the color of a thing", "parameters": [declared], "responses": OK}}}


@pytest.mark.parametrize("place", STYLES)
def test_parameters_are_sent_in_each_style(place: str) -> None:
    paths: JsonObject = {}
    for style, explode, kind, reserved in product(STYLES[place], (None, False, True), SCHEMAS, (False, True)):
        if style == "deepObject" and explode is False:
            continue  # which the specification does not define
        path = f"/{style}/{explode}/{kind}/{reserved}" + ("/{color}/x" if place == "path" else "")
        parameter: JsonObject = {"name": "color", "in": place, "style": style, "schema": SCHEMAS[kind]}
        parameter |= {"explode": explode} if explode is not None else {}
        parameter |= {"allowReserved": True} if reserved else {}
        paths |= operation(path, parameter)
    for kind, schema in SCHEMAS.items():
        content: JsonObject = {"application/json": {"schema": schema}}
        path = f"/content/{kind}" + ("/{color}" if place == "path" else "")
        paths |= operation(path, {"name": "color", "in": place, "content": content})
    assert differences({"openapi": "3.1.0", "paths": paths}) == []


@pytest.mark.parametrize("place", ["query", "header", "path", "formData"])
@pytest.mark.parametrize("consumes", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_lists_of_swagger_2_are_sent_in_their_collection_format(place: str, consumes: str) -> None:
    paths: JsonObject = {}
    for collection in ("csv", "ssv", "pipes", "multi", None):
        if place in {"path", "header"} and collection not in {"csv", None}:
            continue  # other formats have no style there
        path = f"/{collection}" + ("/{color}" if place == "path" else "")
        parameter: JsonObject = {"name": "color", "in": place, "type": "array", "items": {"type": "string"}}
        parameter |= {"required": True} | ({"collectionFormat": collection} if collection else {})
        paths[path] = {
            "post": {"summary": "Set the colors", "consumes": [consumes], "parameters": [parameter], "responses": OK}
        }
    assert differences({"swagger": "2.0", "host": "api.example.com", "paths": paths}) == []


def test_bodies_are_sent_in_their_media_types() -> None:
    thing: JsonObject = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "id": {"type": "integer", "readOnly": True},
            "tags": SCHEMAS["array"],
            "size": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "number"}}},
        },
    }
    styled: JsonObject = {"tags": {"style": "spaceDelimited", "explode": False}, "size": {"style": "deepObject"}}
    photo: JsonObject = {"type": "string", "format": "binary"}
    photos: JsonObject = {
        "type": "object",
        "properties": {
            "photo": photo,
            "all": {"type": "array", "items": photo},
            "of": thing,
            "note": {},
            "untyped": {"properties": {"x": {"type": "integer"}}},
            "things": {"items": {"additionalProperties": {"type": "string"}}},
        },
    }
    contents: dict[str, JsonObject] = {
        "json": {"application/json": {"schema": thing}},
        "list": {"application/json": {"schema": {"type": "array", "items": thing}}},
        "old": {"text/json": {"schema": thing}},
        "all": {"application/merge-patch+json": {"schema": {"allOf": [thing, {"properties": {"more": {}}}]}}},
        "form": {"application/x-www-form-urlencoded": {"schema": thing}},
        "styled": {"application/x-www-form-urlencoded": {"schema": thing, "encoding": styled}},
        "parts": {"multipart/form-data": {"schema": photos, "encoding": {"photo": {"contentType": "image/png"}}}},
        "text": {"text/plain": {"schema": {"type": "string"}}},
        "xml": {"application/xml": {"schema": thing}},
        "file": {"image/png": {"schema": photo}},
        "any": {"*/*": {"schema": thing}},
    }
    paths: JsonObject = {
        f"/{name}": {"put": {"summary": "Set a thing", "requestBody": {"content": content}, "responses": OK}}
        for name, content in contents.items()
    }
    assert differences({"openapi": "3.0.3", "paths": paths}) == []


@pytest.mark.parametrize("version", ["3.0.3", "3.1.0"])
def test_lists_in_parts_of_forms_have_the_styles_of_version_3_1_only(version: str) -> None:
    fields: JsonObject = {"tags": SCHEMAS["array"], "size": SCHEMAS["integer"], "as": SCHEMAS["object"]}
    paths: JsonObject = {}
    for style, explode in product(("form", "spaceDelimited", "pipeDelimited"), (False, True)):
        encoding: JsonObject = {"style": style, "explode": explode, "contentType": "text/csv"}
        media: JsonObject = {"schema": {"properties": fields}, "encoding": {"tags": encoding, "size": encoding}}
        content: JsonObject = {"multipart/form-data": media}
        paths[f"/{style}/{explode}"] = {
            "post": {"summary": "Set the tags", "requestBody": {"content": content}, "responses": OK}
        }
    assert differences({"openapi": version, "paths": paths}) == []


def test_keys_and_tokens_are_sent_as_each_scheme_says() -> None:
    schemes: JsonObject = {
        "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "query": {"type": "apiKey", "in": "query", "name": "api key"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "session"},
        "basic": {"type": "http", "scheme": "basic"},
        "token": {"type": "http", "scheme": "Bearer"},
        "oauth": {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "https://a.example", "scopes": {}}}},
    }
    alternatives: list[list[JsonObject]] = [[{name: []}] for name in schemes]
    alternatives += [[{"header": [], "query": []}], [{"header": [], "token": []}], [{"token": [], "oauth": []}]]
    alternatives += [[{"cookie": [], "basic": []}], [{"header": []}, {"token": []}], [{"header": []}, {}]]
    named: JsonObject = {"name": "x-key", "in": "header", "schema": {"type": "string"}}
    paths: JsonObject = {
        f"/{index}": {
            "get": {
                "summary": "Get a thing",
                "security": [*each],
                "parameters": [named, {"name": "q", "in": "query", "schema": {"type": "string"}}],
                "responses": OK,
            }
        }
        for index, each in enumerate(alternatives)
    }
    assert differences({"openapi": "3.0.3", "paths": paths, "components": {"securitySchemes": schemes}}) == []


def test_paths_have_only_characters_of_urls() -> None:
    paths = operation("/a b/ü/{color}:sum#part?x", {"name": "color", "in": "path", "schema": SCHEMAS["string"]})
    paths |= operation("/q?kind=x", {"name": "size", "in": "query", "schema": SCHEMAS["string"]})
    assert differences({"openapi": "3.0.3", "paths": paths}) == []


@pytest.mark.parametrize("place", ["path", "query"])
def test_parameters_in_the_query_of_a_path_are_sent_in_the_query(place: str) -> None:
    # OpenAPI has no query in paths (3.1, 4.8.8.1), and documents of public services have it all the same.
    name = "color" if place == "query" else "c"
    parameter: JsonObject = {"name": name, "in": place, "schema": SCHEMAS["array"]}
    paths = operation(f"/q?color={{{name}}}", parameter) | operation(f"/r?kind=x&color={{{name}}}&v=1", parameter)
    assert differences({"openapi": "3.0.3", "paths": paths}) == []
