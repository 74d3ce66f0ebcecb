"""The spec of each operation: its arguments, its request on the wire, its result and its permissions."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from toolc.backends.http import Http
from toolc.compiler.pipeline.compile import compile_specs
from toolc.importers.openapi.generate import Generated, Options, generate
from toolc.importers.openapi.operations import Choice
from toolc.importers.openapi.servers import Server
from toolc.importers.openapi.source import Document
from toolc.model.call import BoundCall
from toolc.model.errors import UsageError
from toolc.model.http_plan import FormPart, HttpCall, MultipartForm, PlainBody, WorkspaceFile
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Profile
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.http.request import fill, fill_query

PET: JsonObject = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer", "format": "int64", "readOnly": True},
        "name": {"type": "string", "nullable": True, "description": "The name.\n"},
        "code": {"type": "string", "writeOnly": True},
        "parent": {"$ref": "#/components/schemas/Pet"},
    },
}
OK: JsonObject = {"200": {"description": "ok"}}


def document(own: JsonObject, method: str = "get", path: str = "/x", **more: JsonValue) -> JsonObject:
    operation: JsonObject = {"operationId": "doIt", "description": "Do it.", "responses": OK, **own}
    root: JsonObject = {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://pets.example/v1/"}],
        "paths": {path: {method: operation}},
        "components": {"schemas": {"Pet": PET}},
    }
    return root | more


def refuse(place: str) -> bytes:
    raise UsageError(f"{place} is not allowed")


def generated(root: JsonObject, server: Server = Server()) -> Generated:  # noqa: B008  it is frozen
    source = Document.of(json.dumps(root).encode(), "pets.json", refuse)
    return generate(source, Options(name="pets", choice=Choice(), server=server, renamed={}), {})


def tool(folder: Path, root: JsonObject, server: Server = Server()) -> ToolSpec:  # noqa: B008  it is frozen
    """Return the only tool of a document, whose spec has no errors."""
    result = generated(root, server)
    assert [each.reason for each in result.left_out] == []
    [text] = result.files.values()
    (folder / "spec.yaml").write_text(text, encoding="utf-8")
    compilation = compile_specs([folder / "spec.yaml"])
    assert [each.message for each in compilation.diagnostics.sorted() if each.is_error] == [], text
    return compilation.tools[0]


def call(spec: ToolSpec, **arguments: JsonValue) -> HttpCall:
    assert isinstance(spec.backend, HttpBackend)
    invocation = Http().plan(spec.backend, BoundCall(tool=spec, arguments=arguments, call_id="c"), Profile()).invocation
    assert isinstance(invocation, HttpCall)
    return invocation


def parameter(name: str, place: str, schema: JsonObject, **more: JsonValue) -> JsonObject:
    declared: JsonObject = {"name": name, "in": place, "required": place == "path", "schema": schema}
    return {"parameters": [declared | more]}


ARRAY: JsonObject = {"type": "array", "items": {"type": "string"}}
OBJECT: JsonObject = {"type": "object", "properties": {"R": {"type": "integer"}, "G": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "more", "value", "query"),
    [
        ({"type": "string"}, {}, "a b&c", "color=a%20b%26c"),
        ({"type": "string"}, {"allowReserved": True}, "a/b&c", "color=a/b%26c"),
        (ARRAY, {}, ["blue", "black"], "color=blue&color=black"),
        (ARRAY, {"explode": False}, ["blue", "black"], "color=blue,black"),
        (ARRAY, {"style": "spaceDelimited", "explode": False}, ["blue", "black"], "color=blue%20black"),
        (ARRAY, {"style": "pipeDelimited"}, ["blue", "black"], "color=blue%7Cblack"),
        (OBJECT, {}, {"R": 1, "G": 2}, "R=1&G=2"),
        (OBJECT, {"explode": False}, {"R": 1, "G": 2}, "color=R,1,G,2"),
        (OBJECT, {"style": "deepObject"}, {"R": 1, "G": 2}, "color%5BR%5D=1&color%5BG%5D=2"),
        ({"oneOf": [{"type": "string"}, OBJECT]}, {}, {"R": 1}, "R=1"),
    ],
)
def test_a_query_has_the_style_of_the_parameter(
    tmp_path: Path, schema: JsonObject, more: JsonObject, value: JsonValue, query: str
) -> None:
    spec = tool(tmp_path, document(parameter("color", "query", schema, **more)))
    assert fill_query(call(spec, color=value).query, {}) == query
    assert call(spec).query == ()


@pytest.mark.parametrize(
    ("schema", "more", "value", "path"),
    [
        ({"type": "string"}, {}, "a/b", "a%2Fb"),
        (ARRAY, {}, ["blue", "black"], "blue,black"),
        (OBJECT, {"explode": True}, {"R": 1, "G": 2}, "R=1,G=2"),
        (ARRAY, {"style": "label", "explode": True}, ["blue", "black"], ".blue.black"),
        (ARRAY, {"style": "matrix", "explode": True}, ["blue", "black"], ";color=blue;color=black"),
        ({"type": "integer"}, {"style": "matrix"}, 7, ";color=7"),
    ],
)
def test_a_path_has_the_style_of_the_parameter(
    tmp_path: Path, schema: JsonObject, more: JsonObject, value: JsonValue, path: str
) -> None:
    spec = tool(tmp_path, document(parameter("color", "path", schema, **more), path="/x/{color}/y"))
    assert call(spec, color=value).url == f"https://pets.example:443/v1/x/{path}/y"
    assert spec.parameters.required == {"color"}


def test_headers_cookies_and_values_that_are_json(tmp_path: Path) -> None:
    json_value: JsonObject = {"name": "q", "in": "query", "content": {"application/json": {"schema": OBJECT}}}
    fields: list[JsonValue] = [
        {"name": "X-Ids", "in": "header", "schema": ARRAY},
        {"name": "c", "in": "cookie", "schema": {"type": "string"}},
        {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
        json_value,
    ]
    request = call(tool(tmp_path, document({"parameters": fields})), X_Ids=["a", "b"], c="d;e", q={"R": 1})
    assert [(each.name, fill(each.value, {})) for each in request.headers] == [
        ("X-Ids", b"a,b"),
        ("Cookie", b"c=d%3Be"),
    ]
    assert fill_query(request.query, {}) == "q=%7B%22R%22%3A1%7D"


def test_arguments_have_unique_names_that_a_spec_may_use(tmp_path: Path) -> None:
    fields: list[JsonValue] = [
        {"name": "id", "in": "query", "schema": {"type": "string"}},
        {"name": "id", "in": "header", "schema": {"type": "string"}},
        {"name": "filter[a]", "in": "query", "schema": {"type": "string"}},
        {"name": "$top", "in": "query", "schema": {"type": "integer"}},
        {"name": "args", "in": "query", "schema": {"type": "string"}},
    ]
    spec = tool(tmp_path, document({"parameters": fields}))
    assert {*spec.parameters.properties} == {"id", "header_id", "filter_a", "top", "query_args"}
    assert fill_query(call(spec, top=1, filter_a="b").query, {}) == "%24top=1&filter%5Ba%5D=b"


def body(media_type: str, schema: JsonValue, **more: JsonValue) -> JsonObject:
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema} | more}}}


def test_the_properties_of_a_json_body_are_arguments_without_those_of_responses(tmp_path: Path) -> None:
    pet: JsonObject = {"$ref": "#/components/schemas/Pet"}
    spec = tool(tmp_path, document(body("application/json", pet), "post"))
    assert {*spec.parameters.properties} == {"name", "code", "parent"}
    assert spec.parameters.required == {"name"}
    assert spec.parameters.properties["name"] == {"type": ["string", "null"], "description": "The name."}
    inner = spec.parameters.value["$defs"]
    assert isinstance(inner, dict)
    assert inner["Pet"]["properties"].keys() == {"name", "code", "parent"}  # type: ignore[index, union-attr, call-overload]
    sent = call(spec, name=None, parent={"name": "p"}).body
    assert sent == PlainBody(content_type="application/json", pieces=('{"name":null,"parent":{"name":"p"}}',))


@pytest.mark.parametrize(
    "schema", [ARRAY, {"type": "object", "additionalProperties": {"type": "string"}}, {"oneOf": [OBJECT, ARRAY]}, {}]
)
def test_another_json_body_is_one_argument(tmp_path: Path, schema: JsonObject) -> None:
    spec = tool(tmp_path, document(body("application/merge-patch+json", schema), "patch"))
    request = call(spec, body={"a": [1]})
    assert request.body == PlainBody(content_type="application/json", pieces=('{"a":[1]}',))
    assert [(each.name, fill(each.value, {})) for each in request.headers] == [
        ("Content-Type", b"application/merge-patch+json")
    ]


def test_all_of_is_one_object(tmp_path: Path) -> None:
    parts: JsonObject = {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"age": {"type": "integer"}}}]}
    spec = tool(tmp_path, document(body("application/json", parts), "post"))
    assert {*spec.parameters.properties} == {"name", "code", "parent", "age"}


def test_forms(tmp_path: Path) -> None:
    fields: JsonObject = {"type": "object", "properties": {"a": {"type": "string"}, "b": ARRAY}, "required": ["a"]}
    encoding: JsonObject = {"b": {"style": "pipeDelimited", "explode": False}}
    form = body("application/x-www-form-urlencoded", fields, encoding=encoding)
    assert call(tool(tmp_path, document(form, "post")), a="x y", b=["1", "2"]).body == PlainBody(
        content_type="application/x-www-form-urlencoded", pieces=("a=x+y&b=1%7C2",)
    )


def test_multipart_bodies_send_files_of_the_workspace(tmp_path: Path) -> None:
    binary: JsonObject = {"type": "string", "format": "binary"}
    fields: JsonObject = {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "photo": binary,
            "more": {"type": "array", "items": binary},
            "about": OBJECT,
        },
    }
    form = body("multipart/form-data", fields, encoding={"photo": {"contentType": "image/png, image/gif"}})
    spec = tool(tmp_path, document(form, "post"))
    assert spec.sandbox.workspace == "ro"
    sent = call(spec, title="t", photo="a.png", more=["b", "c"], about={"R": 1}).body
    assert sent == MultipartForm(
        parts=(
            FormPart(name="about", value=('{"R":1}',), content_type="application/json"),
            FormPart(name="more", path="b"),
            FormPart(name="more", path="c"),
            FormPart(name="photo", path="a.png", content_type="image/png"),
            FormPart(name="title", value=("t",)),
        )
    )


def test_text_and_binary_bodies(tmp_path: Path) -> None:
    spec = tool(tmp_path, document(body("application/xml", {"type": "object"}), "post"))
    assert call(spec, body="<a/>").body == PlainBody(content_type="text/plain; charset=utf-8", pieces=("<a/>",))
    assert [each.value for each in call(spec, body="<a/>").headers] == [("application/xml",)]
    spec = tool(tmp_path, document(body("image/png", {"type": "string", "format": "binary"}), "put"))
    assert call(spec, file="a.png").body == WorkspaceFile(path="a.png", content_type="image/png")
    assert spec.sandbox.workspace == "ro"


SECURITY: JsonObject = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {"type": "http", "scheme": "basic"},
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "q": {"type": "apiKey", "in": "query", "name": "k"},
    "session": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "client": {
        "type": "oauth2",
        "flows": {"clientCredentials": {"tokenUrl": "https://login.example/token", "scopes": {}}},
    },
    "digest": {"type": "http", "scheme": "digest"},
}


@pytest.mark.parametrize(
    ("required", "tag", "secrets"),
    [
        ([{"bearer": []}], "bearer", {"PETS_BEARER": "pets.example"}),
        ([{"basic": []}], "basic", {"PETS_BASIC_USERNAME": "pets.example", "PETS_BASIC_PASSWORD": "pets.example"}),
        ([{"key": []}], "api_key", {"PETS_KEY": "pets.example"}),
        ([{"digest": []}, {"q": []}], "api_key", {"PETS_Q": "pets.example"}),
        ([{"session": []}], None, {"PETS_SESSION": "pets.example"}),
        ([{"bearer": [], "key": []}], "bearer", {"PETS_BEARER": "pets.example", "PETS_KEY": "pets.example"}),
        (
            [{"client": ["read"]}],
            "oauth2",
            {"PETS_CLIENT_CLIENT_ID": "login.example", "PETS_CLIENT_CLIENT_SECRET": "login.example"},
        ),
        (
            [{"client": ["read"], "key": []}],
            "oauth2",
            {
                "PETS_CLIENT_CLIENT_ID": "login.example",
                "PETS_CLIENT_CLIENT_SECRET": "login.example",
                "PETS_KEY": "pets.example",
            },
        ),
        ([{}, {"bearer": []}], None, {}),
    ],
)
def test_security_becomes_auth_and_secrets_for_the_host(
    tmp_path: Path, required: list[JsonValue], tag: str | None, secrets: dict[str, str]
) -> None:
    spec = tool(tmp_path, document({}, security=required, components={"securitySchemes": SECURITY}))
    assert isinstance(spec.backend, HttpBackend)
    assert (spec.backend.auth.tag if spec.backend.auth else None) == tag
    assert {each.name: each.hosts for each in spec.sandbox.secrets} == {name: (host,) for name, host in secrets.items()}
    assert spec.sandbox.workspace == "none"
    assert spec.sandbox.network.allow == ()


def test_responses_say_how_the_result_is_read(tmp_path: Path) -> None:
    pets: JsonObject = {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}}
    link: JsonObject = {"Link": {"schema": {"type": "string"}}}
    responses: JsonObject = {
        "200": {"description": "ok", "headers": link, "content": {"application/json": {"schema": pets}}},
        "409": {"description": "no"},
        "429": {"description": "busy", "headers": {"Retry-After": {}}},
    }
    spec = tool(tmp_path, document({"responses": responses}))
    assert isinstance(spec.backend, HttpBackend)
    assert (spec.backend.pagination, spec.backend.retry, spec.backend.errors) != (None, None, ())
    assert spec.result.format == "json"
    assert spec.result_schema is not None
    shown = json.dumps(spec.result_schema.value)
    assert '"id"' in shown
    assert '"code"' not in shown


def test_pages_with_a_cursor(tmp_path: Path) -> None:
    page: JsonObject = {"type": "object", "properties": {"items": ARRAY, "next_cursor": {"type": "string"}}}
    responses: JsonObject = {"200": {"description": "ok", "content": {"application/json": {"schema": page}}}}
    operation = parameter("cursor", "query", {"type": "string"}) | {"responses": responses}
    spec = tool(tmp_path, document(operation))
    assert isinstance(spec.backend, HttpBackend)
    assert spec.backend.pagination is not None
    assert spec.backend.pagination.items == "items"
    assert spec.result_schema is not None
    assert spec.result_schema.value == ARRAY


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "format": "unknown", "pattern": "(?i)a", "title": "T", "xml": {}}, {"type": "string"}),
        ({"type": "integer", "maximum": 2**63}, {"type": "integer"}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": True}, {"type": "number", "exclusiveMinimum": 0}),
        (
            {"type": "string", "enum": ["a", 1, "a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "integer", "default": 3, "description": "How many."},
            {"type": "integer", "description": "How many. Default: 3."},
        ),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "array", "items": [{"type": "string"}]}, {"type": "array", "prefixItems": [{"type": "string"}]}),
    ],
)
def test_schemas_keep_what_toolc_accepts(tmp_path: Path, schema: JsonObject, expected: JsonObject) -> None:
    spec = tool(tmp_path, document(parameter("a", "query", schema)))
    assert spec.parameters.properties["a"] == expected


def test_a_discriminator_names_the_values_of_each_alternative(tmp_path: Path) -> None:
    kinds: JsonObject = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": {"c": "#/components/schemas/Cat"}},
    }
    animal: JsonObject = {"type": "object", "properties": {"kind": {"type": "string"}}}
    schemas: JsonObject = {"schemas": {"Cat": animal, "Dog": animal}}
    spec = tool(tmp_path, document(body("application/json", kinds), "post", components=schemas))
    assert [each["allOf"][1]["properties"]["kind"]["enum"] for each in spec.parameters.properties["body"]["oneOf"]] == [  # type: ignore[index, union-attr, call-overload]
        ["c"],
        ["Dog"],
    ]


def test_a_document_in_yaml_can_start_with_a_brace() -> None:
    text = "{openapi: 3.0.3, info: {title: Pets}, servers: [{url: 'https://a.example'}], paths: {/x: {get: {}}}}"
    source = Document.of(text.encode(), "pets.yaml", refuse)
    options = Options(name="pets", choice=Choice(), server=Server(), renamed={})
    assert [*generate(source, options, {}).files] == ["get_x.yaml"]
    with pytest.raises(UsageError, match=r"pets.json is neither JSON nor YAML: .* line 1, column 8"):
        Document.of(b'{"a": }}', "pets.json", refuse)


def test_a_reference_with_texts_beside_it_stays_a_reference(tmp_path: Path) -> None:
    name = "#/components/schemas/Rule"
    both: JsonObject = {"allOf": [{"$ref": name}, {"description": "No\u200bt this\ufe0f <br>."}]}
    rule: JsonObject = {"type": "object", "properties": {"not": both, "key": {"type": "string"}}}
    spec = tool(tmp_path, document(body("application/json", both), "post", components={"schemas": {"Rule": rule}}))
    assert spec.parameters.properties["body_not"] == {"$ref": "#/$defs/Rule", "description": "Not this <br>."}


def test_a_huge_schema_is_cut_at_a_depth_that_fits(tmp_path: Path) -> None:
    schemas: JsonObject = {}
    for level in range(8):
        properties: JsonObject = {f"p{each}": {"$ref": f"#/components/schemas/S{level + 1}"} for each in range(5)}
        properties |= {f"q{each}": {"type": "string"} for each in range(200)}
        schemas[f"S{level}"] = {"type": "object", "properties": properties}
    schemas["S8"] = {"type": "string"}
    root = document(
        body("application/json", {"$ref": "#/components/schemas/S0"}), "post", components={"schemas": schemas}
    )
    text = "".join(generated(root).files.values())
    assert "S3:" in text
    assert "S5:" not in text


@pytest.mark.parametrize(
    ("root", "reason"),
    [
        (document({}, "trace"), "the method TRACE is not supported"),
        (document({}, path="/{a}"), "the segment {a} of its path is not declared"),
        (document({}, servers=[]), "its server '' is not an absolute URL; pass --server URL"),
        (
            document(parameter("a", "query", {"$ref": "https://evil.example/x.json"})),
            "https://evil.example/x.json is not allowed",
        ),
        (document({"parameters": [{"$ref": "#/components/parameters/None"}]}), "None' does not exist"),
        (
            document({}, security=[{"d": []}], components={"securitySchemes": {"d": {"type": "mutualTLS"}}}),
            "'mutualTLS'",
        ),
        (document({}, security=[{"d": []}]), "the security scheme 'd' is not declared"),
        (
            document(
                {},
                security=[{"a": [], "b": []}],
                components={
                    "securitySchemes": {
                        "a": {"type": "http", "scheme": "basic"},
                        "b": {"type": "apiKey", "in": "header", "name": "Authorization"},
                    }
                },
            ),
            "it needs two kinds of authentication at once",
        ),
        (document({}, security=["d"]), "'d' in its 'security' is not a map of schemes"),
        (document(body("multipart/mixed", {}), "post"), "a body of the type multipart/mixed is not supported"),
        (
            document(
                body("multipart/form-data", {"properties": {"a": OBJECT}}, encoding={"a": {"explode": True}}),
                "post",
                openapi="3.1.0",
            ),
            "the style 'form' of an object in a multipart form is not supported",
        ),
    ],
)
def test_what_cannot_be_expressed_is_left_out_with_a_reason(root: JsonObject, reason: str) -> None:
    [left_out] = generated(root).left_out
    assert reason in left_out.reason
    assert generated(root).files == {}


def test_servers_have_variables_and_can_be_replaced(tmp_path: Path) -> None:
    servers: list[JsonValue] = [
        {"url": "http://pets.example"},
        {
            "url": "https://{region}.pets.example/{v}",
            "variables": {"region": {"default": "eu"}, "v": {"default": "v2"}},
        },
    ]
    assert call(tool(tmp_path, document({}, servers=servers))).url == "https://eu.pets.example:443/v2/x"
    assert (
        call(tool(tmp_path, document({}, servers=servers), Server("https://b.example/"))).url
        == "https://b.example:443/x"
    )


def test_swagger_2_says_the_same(tmp_path: Path) -> None:
    root: JsonObject = {
        "swagger": "2.0",
        "info": {"title": "P", "version": "1"},
        "host": "pets.example",
        "basePath": "/v1",
        "definitions": {"Pet": PET},
        "paths": {
            "/x": {
                "post": {
                    "operationId": "add",
                    "description": "Add.",
                    "parameters": [
                        {
                            "name": "ids",
                            "in": "query",
                            "type": "array",
                            "items": {"type": "string"},
                            "collectionFormat": "pipes",
                        },
                        {
                            "name": "pet",
                            "in": "body",
                            "required": True,
                            "schema": {"type": "object", "properties": {"a": {"type": "string"}}},
                        },
                    ],
                    "responses": OK,
                }
            }
        },
    }
    request = call(tool(tmp_path, root), ids=["a", "b"], a="c")
    assert request.url == "https://pets.example:443/v1/x"
    assert fill_query(request.query, {}) == "ids=a%7Cb"
    assert request.body == PlainBody(content_type="application/json", pieces=('{"a":"c"}',))


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ({"openapi": "4.0.0", "paths": {}}, "pets.json is OpenAPI 4.0.0"),
        ({"asyncapi": "3.0.0"}, "pets.json is an AsyncAPI document"),
        ({"info": {}, "item": []}, "pets.json is a Postman collection"),
        ({}, "pets.json is not an OpenAPI document"),
    ],
)
def test_other_documents_are_refused(root: JsonObject, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generated(root)


def test_a_text_of_the_document_cannot_become_anything_else(tmp_path: Path) -> None:
    evil = 'a"\nbackend: {shell: {script: "id"}}\n# {{ secrets.X }}'
    spec = tool(tmp_path, document({"description": evil, "summary": evil}))
    assert isinstance(spec.backend, HttpBackend)


@pytest.mark.parametrize("wrong", [None, 1, "x", [], {}, [None], {"a": [[]]}, {"$ref": "#/components"}, {"$ref": 5}])
def test_a_malformed_document_is_imported_as_far_as_it_goes(wrong: JsonValue) -> None:
    operation = parameter("color", "path", OBJECT) | body("application/json", {"allOf": [PET]})
    root = document(operation, "post", "/x/{color}", security=[{"k": []}], components={"securitySchemes": SECURITY})
    for route in [*routes(root)][1:]:
        changed = json.loads(json.dumps(root))
        place = changed
        for key in route[:-1]:
            place = place[key]
        place[route[-1]] = wrong
        with suppress(UsageError):
            generated(changed)


def routes(value: JsonValue, route: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield route
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield from routes(each, (*route, key))


VARIABLES: JsonValue = [
    {
        "url": "https://{shop}.example/{version}",
        "variables": {"shop": {}, "version": {"default": "v1", "enum": ["v1", "v2"]}},
    }
]


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"shop": "cats"}, "https://cats.example:443/v1/x"),
        ({"shop": "cats", "version": "v2"}, "https://cats.example:443/v2/x"),
    ],
)
def test_variables_of_a_server_have_values_or_defaults(tmp_path: Path, variables: dict[str, str], url: str) -> None:
    root = document({}, servers=VARIABLES)
    assert call(tool(tmp_path, root, Server(variables=variables))).url == url


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"shop": "cats", "version": "v3"}, "the variable 'version' of the servers can be v1, v2, not 'v3'"),
        ({"port": "80"}, "no server has a variable 'port'; the variables are: shop, version"),
    ],
)
def test_variables_that_no_server_has_are_errors(variables: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generated(document({}, servers=VARIABLES), Server(variables=variables))


def test_a_variable_without_a_value_leaves_an_operation_out_with_the_way_to_give_one() -> None:
    [left_out] = generated(document({}, servers=VARIABLES)).left_out
    assert left_out.reason == (
        "its server 'https://{shop}.example/v1' is not an absolute URL; pass --server URL, or with "
        "--server-variable NAME=VALUE"
    )


def test_a_parameter_that_is_the_key_of_the_authentication_does_not_become_an_argument(tmp_path: Path) -> None:
    schemes: JsonObject = {"k": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    own = parameter("x-key", "header", {"type": "string"}) | {"security": [{"k": []}]}
    spec = tool(tmp_path, document(own, components={"securitySchemes": schemes}))
    assert spec.parameters.properties == {}
    assert [each.name for each in call(spec).headers] == ["X-Key"]


def test_two_schemes_of_one_token_are_one_secret(tmp_path: Path) -> None:
    schemes: JsonObject = {"a": {"type": "oauth2", "flows": {}}, "b": {"type": "http", "scheme": "bearer"}}
    spec = tool(tmp_path, document({"security": [{"a": [], "b": []}]}, components={"securitySchemes": schemes}))
    assert [each.name for each in spec.sandbox.secrets] == ["PETS_A"]
