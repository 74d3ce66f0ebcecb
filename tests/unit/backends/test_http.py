"""The HTTP backend: the request for the arguments of a call, and its result."""

import json
from dataclasses import replace

import pytest
from calls.scripted_tools import captured

from toolc.backends.backend_protocol import PlanError
from toolc.backends.http import Http
from toolc.model.call import BoundCall
from toolc.model.http_plan import Base64, FormPart, HttpCall, MultipartForm, NamedValue, PlainBody, Slot
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome, Resource, Text, ToolFailure, ToolResult
from toolc.model.spec.http_backend import (
    ApiKeyAuth,
    BasicAuth,
    BearerAuth,
    Body,
    Field,
    FormBody,
    HttpBackend,
    HttpRetry,
    JsonBody,
    MultipartBody,
    MultipartPart,
    OAuth2Auth,
    TextBody,
    Url,
)
from toolc.model.spec.sandbox import Destination, NetworkSpec, SandboxSpec
from toolc.model.spec.tool import Annotations, ResultSpec, ToolSpec
from toolc.model.template import Filter, JsonConstant, JsonEntry, JsonList, JsonMap, Placeholder, Template

TOKEN = Template((Placeholder("secrets", ("TOKEN",)),))


def text(*parts: str | Placeholder) -> Template:
    return Template(parts)


def arg(name: str) -> Placeholder:
    return Placeholder(name)


def url(*path: str | Placeholder, query: str = "") -> Url:
    return Url(scheme="https", host="api.example.com", port=443, path=text(*path), query=query)


def spec(backend: HttpBackend) -> ToolSpec:
    return ToolSpec(name="t", description="d", parameters=Schema({"type": "object"}), backend=backend)


def plan_of(tool: ToolSpec, backend: HttpBackend, arguments: JsonObject) -> Plan:
    return Http().plan(backend, BoundCall(tool=tool, arguments=arguments, call_id="c"), Profile())


def plan(backend: HttpBackend, /, **arguments: JsonValue) -> Plan:
    return plan_of(spec(backend), backend, arguments)


def call(backend: HttpBackend, /, **arguments: JsonValue) -> HttpCall:
    invocation = plan(backend, **arguments).invocation
    assert isinstance(invocation, HttpCall)
    return invocation


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("plain", "/items/plain"),
        ("a/b", "/items/a%2Fb"),
        ("a b?c#d", "/items/a%20b%3Fc%23d"),
        ("100%", "/items/100%25"),
        ("%2e%2e", "/items/%252e%252e"),
        ("é", "/items/%C3%A9"),
        ("...", "/items/..."),
        ("a\r\nHost: b", "/items/a%0D%0AHost%3A%20b"),
        (7, "/items/7"),
        ({"a": 1}, "/items/%7B%22a%22%3A1%7D"),
    ],
)
def test_an_argument_in_the_path_is_one_encoded_segment(value: JsonValue, path: str) -> None:
    assert call(HttpBackend(url=url("/items/", arg("id"))), id=value).url == f"https://api.example.com:443{path}"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("..", "id: '..' would change the URL's path; use another value"),
        (".", "id: '.' would change the URL's path; use another value"),
        ("", "id: an empty segment in the URL's path; use another value"),
    ],
)
def test_an_argument_cannot_be_a_dot_segment(value: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        call(HttpBackend(url=url("/items/", arg("id"), "/x")), id=value)
    assert str(caught.value) == message


def test_only_the_argument_of_an_empty_segment_is_named() -> None:
    path = url("/", arg("a"), "/", arg("b"), arg("c"), "/", arg("d"))
    with pytest.raises(PlanError, match=r"^b, c: an empty segment"):
        call(HttpBackend(url=path), a="x", b="", c="", d="")


@pytest.mark.parametrize("written", ["/%2e", "/%2E", "/a/."])
def test_the_spec_and_an_argument_cannot_form_a_dot_segment(written: str) -> None:
    with pytest.raises(PlanError, match=r"a: '\.\.' would change"):
        call(HttpBackend(url=url(written, arg("a"), "/x")), a=".")
    with pytest.raises(PlanError, match=r"a, b: '\.\.' would change"):
        call(HttpBackend(url=url("/", arg("a"), arg("b"))), a=".", b=".")
    assert call(HttpBackend(url=url(written, arg("a"), "/x")), a="%2e").url.endswith("%252e/x")


def test_the_specs_path_is_kept() -> None:
    assert call(HttpBackend(url=url("/a%20b/;v=1/é", query="x=1&y=%20"))).url == (
        "https://api.example.com:443/a%20b/;v=1/%C3%A9?x=1&y=%20"
    )


def test_an_ipv6_address_is_in_brackets() -> None:
    backend = HttpBackend(url=Url(scheme="http", host="::1", port=8080, path=text("/")))
    assert call(backend).url == "http://[::1]:8080/"


def test_a_field_with_an_absent_argument_is_omitted() -> None:
    backend = HttpBackend(
        url=url("/"),
        query=(Field(name="a&b", value=text(arg("here"))), Field(name="gone", value=text(arg("gone")))),
        headers=(Field(name="X-Here", value=text("<", arg("here"), ">")), Field(name="X", value=text(arg("gone")))),
        method="POST",
        body=FormBody(fields=(Field(name="a", value=text(arg("here"))), Field(name="b", value=text(arg("gone"))))),
    )
    found = call(backend, here="1 & 2=3")
    assert found.query == (NamedValue("a%26b", ("1%20%26%202%3D3",)),)
    assert found.headers == (NamedValue("X-Here", ("<", "1 & 2=3", ">")),)
    assert found.body == PlainBody(content_type="application/x-www-form-urlencoded", pieces=("a=1+%26+2%3D3",))


@pytest.mark.parametrize(
    ("value", "query", "form"),
    [
        (["a", "b c"], "a&b=a&a&b=b%20c", "a&b=a&a&b=b+c"),
        ([1, True, None], "a&b=1&a&b=true&a&b=null", "a&b=1&a&b=true&a&b=null"), ([], "", ""), (None, "", ""),
        (False, "a&b=false", "a&b=false"), ({"k": [1]}, "a&b=%7B%22k%22%3A%5B1%5D%7D", "a&b=%7B%22k%22%3A%5B1%5D%7D"),
        ("", "a&b=", "a&b="),
    ],
)  # fmt: skip
def test_an_array_becomes_one_field_per_item_and_null_none(value: JsonValue, query: str, form: str) -> None:
    field = Field(name="a&b", value=text(arg("v")))
    backend = HttpBackend(url=url("/"), query=(field,), method="POST", body=FormBody(fields=(field,)))
    found = call(backend, v=value)
    name = "a%26b"
    assert found.query == tuple(NamedValue(name, (each,) if each else ()) for each in _values(query))
    assert isinstance(found.body, PlainBody)
    assert found.body.pieces == ((form.replace("a&b", name),) if form else ())


def _values(query: str) -> list[str]:
    return query.removeprefix("a&b=").split("&a&b=") if query else []


def test_arrays_in_text_and_filtered_arrays_are_text() -> None:
    fields = (
        Field(name="a", value=text("<", arg("v"), ">")),
        Field(name="b", value=text(Placeholder("v", filters=(Filter("join", ","),)))),
        Field(name="c", value=text(Placeholder("v", filters=(Filter("json"),)))),
    )
    found = call(HttpBackend(url=url("/"), query=fields), v=["x", "y"]).query
    assert [each.value for each in found] == [
        ("%3C", "%5B%22x%22%2C%22y%22%5D", "%3E"), ("x%2Cy",), ("%5B%22x%22%2C%22y%22%5D",),
    ]  # fmt: skip


def test_several_files_are_several_parts() -> None:
    parts = (MultipartPart(name="f", value=text(arg("v")), is_file=True), MultipartPart(name="t", value=text(arg("v"))))
    backend = HttpBackend(
        url=url("/"), method="POST", headers=(Field(name="X", value=text(arg("n"))),), body=MultipartBody(parts=parts)
    )
    found = call(backend, v=["a", "b"], n=None)
    assert found.headers == ()
    files = (FormPart(name="f", path="a"), FormPart(name="f", path="b"))
    texts = (FormPart(name="t", value=("a",)), FormPart(name="t", value=("b",)))
    assert found.body == MultipartForm(parts=files + texts)
    with pytest.raises(PlanError, match="is not a path in the workspace"):
        call(backend, v=["a", "../b"])


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\nb", "a\0b", "a\x1bb", "\x7f"])
def test_a_header_rejects_control_characters(value: str) -> None:
    with pytest.raises(PlanError) as caught:
        call(HttpBackend(url=url("/"), headers=(Field(name="X", value=text(arg("v"))),)), v=value)
    assert str(caught.value) == "v: the header 'X' cannot contain line ends or control characters"


def test_a_json_body_keeps_types_and_escapes_text() -> None:
    value = JsonMap(
        entries=(
            JsonEntry(key="all", value=JsonList(items=(text(arg("n")), JsonConstant(value=None), text(arg("o"))))),
            JsonEntry(key="gone", value=text(arg("gone"))),
            JsonEntry(key='k"', value=text("say ", arg("word"))),
            JsonEntry(key="secret", value=TOKEN),
        )
    )
    backend = HttpBackend(url=url("/"), method="POST", body=JsonBody(value=value))
    found = call(backend, n=1.5, o={"a": [True]}, word='"hi"\n{{ secrets.TOKEN }}')
    assert found.body == PlainBody(
        content_type="application/json",
        pieces=(
            '{"all":[1.5,null,{"a":[true]}],"k\\"":"say \\"hi\\"\\n{{ secrets.TOKEN }}","secret":"',
            Slot("TOKEN", "json"),
            '"}',
        ),
    )


def test_a_multipart_body_has_files_and_fields() -> None:
    body = MultipartBody(
        parts=(
            MultipartPart(name="file", value=text("out/", arg("path")), is_file=True, content_type="text/csv"),
            MultipartPart(name="gone", value=text(arg("gone"))),
            MultipartPart(name="note", value=text(arg("note"))),
        )
    )
    found = call(HttpBackend(url=url("/"), method="POST", body=body), path="a.csv", note="hi")
    assert found.body == MultipartForm(
        parts=(FormPart(name="file", path="out/a.csv", content_type="text/csv"), FormPart(name="note", value=("hi",)))
    )


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../b", "", "a\0"])
def test_a_file_of_a_body_must_be_in_the_workspace(path: str) -> None:
    body = MultipartBody(parts=(MultipartPart(name="f", value=text(arg("path")), is_file=True),))
    with pytest.raises(PlanError, match=r"path: .* is not a path in the workspace"):
        call(HttpBackend(url=url("/"), method="POST", body=body), path=path)


def body_of(body: Body, /, **arguments: JsonValue) -> object:
    return call(HttpBackend(url=url("/"), method="POST", body=body), **arguments).body


def test_a_text_body_is_sent_unchanged() -> None:
    found = body_of(TextBody(text=text("a=", arg("v"))), v="x\n&y")
    assert found == PlainBody(content_type="text/plain; charset=utf-8", pieces=("a=", "x\n&y"))


def test_an_argument_cannot_refer_to_a_secret() -> None:
    field = Field(name="q", value=text(arg("v")))
    found = call(HttpBackend(url=url("/"), query=(field,), headers=(field,)), v="{{ secrets.TOKEN }}")
    assert found.query == (NamedValue("q", ("%7B%7B%20secrets.TOKEN%20%7D%7D",)),)
    assert found.headers == (NamedValue("q", ("{{ secrets.TOKEN }}",)),)


def test_all_kinds_of_authentication() -> None:
    bearer = call(HttpBackend(url=url("/"), auth=BearerAuth(token=TOKEN)))
    assert bearer.headers == (NamedValue("Authorization", ("Bearer ", Slot("TOKEN"))),)
    basic = call(HttpBackend(url=url("/"), auth=BasicAuth(username=text("me"), password=TOKEN)))
    assert basic.headers == (NamedValue("Authorization", ("Basic ", Base64(("me", ":", Slot("TOKEN"))))),)
    header = call(HttpBackend(url=url("/"), auth=ApiKeyAuth(place="header", name="X-Key", value=TOKEN)))
    assert header.headers == (NamedValue("X-Key", (Slot("TOKEN"),)),)
    query = call(HttpBackend(url=url("/"), auth=ApiKeyAuth(place="query", name="key", value=TOKEN)))
    assert query.query == (NamedValue("key", (Slot("TOKEN", "query"),)),)


def test_authentication_replaces_a_header_of_the_same_name() -> None:
    headers = (Field(name="authorization", value=text("mine")),)
    found = call(HttpBackend(url=url("/"), headers=headers, auth=BearerAuth(token=TOKEN)))
    assert found.headers == (NamedValue("Authorization", ("Bearer ", Slot("TOKEN"))),)


def test_a_token_has_a_separate_request_and_its_host_is_allowed() -> None:
    auth = OAuth2Auth(
        token_url=Url(scheme="https", host="login.example.com", port=443, path=text("/token")),
        client_id=text("me"),
        client_secret=TOKEN,
        scopes=("a", "b/c"),
        audience="x y",
    )
    backend = HttpBackend(url=url("/"), auth=auth)
    token = call(backend).token
    assert token is not None
    assert token.url == "https://login.example.com:443/token"
    assert token.form == (
        NamedValue("grant_type", ("client_credentials",)),
        NamedValue("scope", ("a+b%2Fc",)),
        NamedValue("audience", ("x+y",)),
    )
    assert token.slots == {"TOKEN"}
    assert [each.host for each in plan(backend).allow] == ["api.example.com", "login.example.com"]


def test_a_refresh_token_is_a_secret_of_the_token_request() -> None:
    login = Url(scheme="https", host="login.example.com", port=443, path=text("/token"))
    auth = OAuth2Auth(token_url=login, client_id=text("me"), client_secret=text("public"), refresh_token=TOKEN)
    token = call(HttpBackend(url=url("/"), auth=auth)).token
    assert token is not None
    assert token.form == (
        NamedValue("grant_type", ("refresh_token",)),
        NamedValue("refresh_token", (Slot("TOKEN", "form"),)),
    )
    assert token.slots == {"TOKEN"}


def test_the_allowed_destinations_are_the_list_and_the_url() -> None:
    listed = Destination(kind="wildcard", host="example.org", port=443)
    backend = HttpBackend(url=url("/"))
    tool = replace(spec(backend), sandbox=SandboxSpec(network=NetworkSpec(allow=(listed,))))
    own = Destination(kind="exact", host="api.example.com", port=443)
    assert plan_of(tool, backend, {}).allow == (own, listed)


@pytest.mark.parametrize(
    ("method", "idempotent", "repeated"),
    [
        ("GET", None, True), ("HEAD", None, True), ("OPTIONS", None, True), ("PUT", None, True), ("DELETE", None, True),
        ("POST", None, False), ("POST", True, True), ("PATCH", False, False),
    ],
)  # fmt: skip
def test_only_idempotent_requests_are_retried(method: str, idempotent: bool | None, repeated: bool) -> None:
    backend = HttpBackend(url=url("/"), method=method, retry=HttpRetry())  # type: ignore[arg-type]
    annotations, result = Annotations(idempotent=idempotent), ResultSpec(template="x")
    found = plan_of(replace(spec(backend), annotations=annotations, result=result), backend, {"a": 1}).invocation
    assert isinstance(found, HttpCall)
    assert (found.reading.retry is not None) is repeated
    assert found.reading.arguments == {"a": 1}


def test_a_url_from_the_caller_is_not_allowed_automatically() -> None:
    found = plan(HttpBackend(url=text(arg("url"))), url="https://elsewhere.example/a b".replace(" ", "%20"))
    assert found.allow == ()
    assert isinstance(found.invocation, HttpCall)
    assert found.invocation.url == "https://elsewhere.example/a%20b"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("/etc/passwd", "url: '/etc/passwd' is not an HTTP URL; use one such as https://example.com/page"),
        (
            "file:///etc/passwd",
            "url: 'file:///etc/passwd' is not an HTTP URL; use one such as https://example.com/page",
        ),
        ("https://a b/", "url: a URL cannot contain spaces, control characters or '\\'; percent-encode them"),
        ("https://a/\r\nX: y", "url: a URL cannot contain spaces, control characters or '\\'; percent-encode them"),
        (f"https://a/{'x' * 9000}", "the URL has 9010 characters; the maximum is 8000"),
    ],
)
def test_an_invalid_url_from_the_caller_is_rejected(value: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(HttpBackend(url=text(arg("url"))), url=value)
    assert str(caught.value) == message


def read(reply: JsonObject) -> ToolResult:
    data = json.dumps(reply).encode()
    outcome = Outcome(ending="exited", reply=captured(data))
    return Http().read(HttpBackend(url=url("/")), ResultSpec(), outcome)


def test_the_state_of_the_response_is_in_the_details() -> None:
    content: JsonValue = [{"type": "text", "text": "hi"}]
    about: JsonObject = {"status": 200, "content_type": "text/plain", "truncated": True}
    found = read({"content": content, "structured": None, "details": about})
    assert found == ToolResult(
        content=(Text("hi"),), details={"http": {"status": 200, "content_type": "text/plain"}, "truncated": True}
    )


def test_a_file_is_a_resource_and_its_type_must_be_one() -> None:
    block: JsonObject = {"type": "resource", "name": "a", "mime_type": "application/pdf", "data": "JVBERg=="}
    assert read({"content": [block], "structured": None}).content == (Resource(b"%PDF", "application/pdf", "a"),)
    wrongs: list[JsonObject] = [{"mime_type": "a b"}, {"mime_type": "text/html\r\n"}, {"data": "!"}, {"name": None}]
    for wrong in wrongs:
        found = read({"content": [block | wrong], "structured": None})
        assert found.error is not None
        assert found.error.kind == "execution"


def test_an_error_of_the_guests_has_its_kind() -> None:
    found = read({"error": {"kind": "rate_limit", "message": "slow"}})
    assert found.error == ToolFailure("rate_limit", "slow")
