"""Decode ``backend.http``. Its findings are in ``tests/data/specs/negative``."""

from pathlib import Path

import pytest
from compiling.compiled import compile_text, found_in, tool_of
from compiling.places import marked, unmarked

from toolc.model.spec.http_backend import (
    ApiKeyAuth,
    CursorPages,
    Field,
    FormBody,
    HttpBackend,
    HttpErrorRule,
    JsonBody,
    LinkPages,
    MultipartBody,
    MultipartPart,
    Pagination,
    TextBody,
    Url,
)
from toolc.model.spec.sandbox import SecretSpec
from toolc.model.template import JsonConstant, JsonEntry, JsonList, JsonMap, Placeholder, Template

HEAD = "toolc: 1\nname: call_api\ndescription: Call the service and return what it answers.\n"
PARAMETERS = "parameters: {id: {type: string}, note: {type: string, optional: true}}\n"
ID, NOTE = Placeholder("id"), Placeholder("note")


def http(folder: Path, body: str, more: str = "") -> HttpBackend:
    backend = tool_of(folder, f"{HEAD}{PARAMETERS}backend: {{http: {body}}}\n{more}").backend
    assert isinstance(backend, HttpBackend)
    return backend


def problems(folder: Path, body: str, more: str = "") -> list[str]:
    found = found_in(folder, f"{HEAD}{PARAMETERS}backend: {{http: {body}}}\n{more}")
    return [each.split(" ", 1)[1] for each in found]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTPS://API.Example.com.", Url(scheme="https", host="api.example.com", port=443, path=Template(("/",)))),
        ("https://a.example:8443/x", Url(scheme="https", host="a.example", port=8443, path=Template(("/x",)))),
        ("https://[::1]:80/x?a=b&c", Url(scheme="https", host="::1", port=80, path=Template(("/x",)), query="a=b&c")),
        (
            "https://a.example/v1/{{ id }}/x?fields=all",
            Url(scheme="https", host="a.example", port=443, path=Template(("/v1/", ID, "/x")), query="fields=all"),
        ),
    ],
)
def test_url_is_parsed(tmp_path: Path, text: str, url: Url) -> None:
    backend = http(tmp_path, f'{{url: "{text}", query: {{id: "{{{{ id }}}}", note: "{{{{ note }}}}"}}}}')

    assert backend.url == url
    assert backend.method == "GET"


def test_fields_are_sorted_and_numbers_are_text(tmp_path: Path) -> None:
    backend = http(
        tmp_path, '{url: "https://a.example/", query: {size: 50, note: "{{ note }}", all: true, id: "{{ id }}"}}'
    )

    assert backend.query == (
        Field(name="all", value=Template(("true",))),
        Field(name="id", value=Template((ID,))),
        Field(name="note", value=Template((NOTE,))),
        Field(name="size", value=Template(("50",))),
    )


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            '{json: {id: "{{ id }}", deep: [1, {note: "{{ note }}"}, null]}}',
            JsonBody(
                value=JsonMap(
                    entries=(
                        JsonEntry(
                            key="deep",
                            value=JsonList(
                                items=(
                                    JsonConstant(value=1),
                                    JsonMap(entries=(JsonEntry(key="note", value=Template((NOTE,))),)),
                                    JsonConstant(value=None),
                                )
                            ),
                        ),
                        JsonEntry(key="id", value=Template((ID,))),
                    )
                )
            ),
        ),
        ('{form: {id: "{{ id }}{{ note }}"}}', FormBody(fields=(Field(name="id", value=Template((ID, NOTE))),))),
        (
            '{multipart: {f: {file: "{{ id }}", content_type: text/csv}, note: "{{ note }}"}}',
            MultipartBody(
                parts=(
                    MultipartPart(name="f", value=Template((ID,)), is_file=True, content_type="text/csv"),
                    MultipartPart(name="note", value=Template((NOTE,))),
                )
            ),
        ),
    ],
)
def test_request_bodies_are_decoded(tmp_path: Path, body: str, found: object) -> None:
    url = "https://a.example/{{ id }}/x"
    backend = http(
        tmp_path,
        f'{{method: POST, url: "{url}", headers: {{X-Note: "{{{{ note }}}}"}}, body: {body}}}',
        "sandbox: {workspace: ro}\n",
    )

    assert backend.body == found


def test_absent_arguments_are_rejected_in_texts_and_lists(tmp_path: Path) -> None:
    absent = "TC406 the parameter 'note' may be absent here"
    url = 'method: POST, url: "https://a.example/{{ id }}"'

    assert problems(tmp_path, f'{{{url}, body: {{text: "{{{{ note }}}}"}}}}') == [absent]
    assert problems(tmp_path, f'{{{url}, body: {{json: ["{{{{ note }}}}"]}}}}') == [absent]
    assert isinstance(
        http(tmp_path, f'{{{url}, headers: {{X-Note: "{{{{ note }}}}"}}, body: {{text: "{{{{ id }}}}"}}}}').body,
        TextBody,
    )


def test_secrets_in_auth_are_not_parameters(tmp_path: Path) -> None:
    text = f"""{HEAD}
backend:
  http:
    url: https://a.example/
    auth: {{api_key: {{header: X-Key, value: "{{{{ secrets.KEY }}}}"}}}}
    pagination: {{link: true, max_items: 9}}
    errors: {{5xx: network, 503: timeout, 404: not_found}}
sandbox: {{secrets: {{KEY: {{hosts: [A.example.]}}}}}}
"""
    tool = tool_of(tmp_path, text.replace("5xx", '"5xx"').replace(" 503", ' "503"').replace(" 404", ' "404"'))
    assert isinstance(tool.backend, HttpBackend)

    value = Template((Placeholder("secrets", ("KEY",)),))
    assert tool.backend.auth == ApiKeyAuth(place="header", name="X-Key", value=value)
    assert not value.names
    assert value.secrets == {"KEY"}
    assert tool.sandbox.secrets == (SecretSpec(name="KEY", hosts=("a.example",)),)
    assert tool.backend.pagination == Pagination(style=LinkPages(), max_items=9)
    assert tool.backend.errors == (
        HttpErrorRule(kind="not_found", status="404"),
        HttpErrorRule(kind="timeout", status="503"),
        HttpErrorRule(kind="network", status="5xx"),
    )


def test_a_secret_goes_only_to_its_hosts(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        f"""{HEAD}backend:
  http: {{url: "https://a.example/", auth: {{bearer: "{{{{ secrets.KEY }}}}"}}}}
sandbox:
  secrets:
    KEY: {{hosts: [b.example]}}
""",
    )
    assert found == ["8:18 TC108 this tool sends 'KEY' to a.example, which is not one of its hosts"]


@pytest.mark.parametrize(
    ("body", "more", "found"),
    [
        (
            '{url: "http://a.example/", headers: {X: "{{ secrets.KEY }}"}}',
            "sandbox: {secrets: {KEY: {hosts: [a.example]}}}\n",
            ["TC108 the secret 'KEY' is sent over TLS only, but this URL is http", "TC408"],
        ),
        (
            '{url: "http://127.0.0.1:1/", headers: {X: "{{ secrets.KEY }}"}}',
            "sandbox: {secrets: {KEY: {hosts: [127.0.0.1]}}}\n",
            [],
        ),
        ('{url: "https://a.example/", headers: {Accept-Encoding: "gzip;q=1, br"}}', "", ["br"]),
        ('{url: "https://a.example/", headers: {accept-encoding: "identity, *;q=0"}}', "", ["*"]),
        ('{url: "https://a.example/", headers: {Accept-Encoding: identity}}', "", []),
        (
            '{method: POST, url: "https://a.example/", headers: {content-type: a/b}, body: {multipart: {a: b}}}',
            "",
            ["would replace the one that defines the boundary"],
        ),
        ('{method: POST, url: "https://a.example/", headers: {content-type: text/csv}, body: {text: a}}', "", []),
        ('{method: HEAD, url: "https://a.example/", pagination: {link: true}}', "", ["a HEAD request has no body"]),
        (
            '{method: HEAD, url: "https://a.example/"}',
            "result: {format: json, schema: {type: object, properties: {a: {type: string}}}}\n",
            ["a HEAD request has no body"],
        ),
        ('{url: "https://a.example/", pagination: {link: true}}', "result: {format: image}\n", ["cannot be 'image'"]),
        ('{url: "https://a.example/", pagination: {link: true}}', "result: {format: json}\n", []),
        (
            '{method: POST, url: "https://a.example/", body: {multipart: {f: {file: "{{ secrets.KEY }}"}}}}',
            "sandbox: {workspace: ro, secrets: {KEY: {hosts: [a.example]}}}\n",
            ["the secret 'KEY' is not allowed here"],
        ),
    ],
)
def test_contradictions_are_rejected(tmp_path: Path, body: str, more: str, found: list[str]) -> None:
    messages = found_in(tmp_path, f"{HEAD}backend:\n  http: {body}\n{more}")
    assert len(messages) == len(found), messages
    assert all(each in line for each, line in zip(found, messages, strict=True)), messages


@pytest.mark.parametrize(
    ("body", "cursor", "found"),
    [
        ("{json: {a: {}}}", "pointer: /a/b/c", ""),
        ("{json: {a: [1, {}]}}", "pointer: /a/1/b", ""),
        ('{json: {a: "{{ how }}"}}', "pointer: /a/b", ""),
        ('{json: "{{ how }}"}', "pointer: /a", ""),
        ('{json: {a: "{{ some }}"}}', "pointer: /a/1/b", ""),
        ("{json: {a: null}}", "pointer: /a/b", ""),
        ('{json: {a: "{{ note }}"}}', "pointer: /a", ""),
        ('{json: {a: "{{ note }}"}}', "pointer: /a/b", "the body cannot contain a cursor at /a/b"),
        ("{json: {a~/b: x}}", "pointer: /a~0~1b", ""),
        ("{json: {a: x}}", "pointer: /a/b", "the body cannot contain a cursor at /a/b"),
        ('{json: {a: "x {{ note }}"}}', "pointer: /a/b", "the body cannot contain a cursor at /a/b"),
        ('{json: {a: "{{ secrets.KEY }}"}}', "pointer: /a/b", "the body cannot contain a cursor at /a/b"),
        ("{json: {a: 1}}", "pointer: /a/b", "the body cannot contain a cursor at /a/b"),
        ("{json: [1]}", "pointer: /1", "the body cannot contain a cursor at /1"),
        ("{json: [1]}", "pointer: /a", "the body cannot contain a cursor at /a"),
        ("{json: [1]}", "pointer: /00", "the body cannot contain a cursor at /00"),
        ("{json: [1, 2]}", "pointer: /\u0661", "the body cannot contain a cursor at /\u0661"),
        pytest.param("{json: [1]}", f"pointer: /{'9' * 5000}", "the body cannot contain a cursor", id="a long number"),
        ("{form: {a: x}}", "pointer: /a", "this cursor is in a JSON body, but the request has none"),
        ("", "pointer: /a", "this cursor is in a JSON body, but the request has none"),
        ("{json: {}}", "pointer: a", "a JSON Pointer"),
        ("{json: {}}", "pointer: /a~2", "a JSON Pointer"),
        ("{json: {}}", "pointer: ''", "a JSON Pointer"),
        ("{json: {}}", "pointer: /a, parameter: b", "'cursor' has both 'pointer' and 'parameter'; it must have"),
        ("{json: {}}", "", "'cursor' has none of 'parameter', 'pointer'"),
    ],
)
def test_a_cursor_in_the_body_needs_a_position(tmp_path: Path, body: str, cursor: str, found: str) -> None:
    pages = f"pagination: {{cursor: {{{cursor}{', ' if cursor else ''}next: more}}}}"
    http = f"{{method: POST, url: 'https://a.example/', {pages}{', body: ' if body else ''}{body}}}"
    more = "how: {type: object, optional: true}, some: {type: [array, 'null'], items: {type: object}, optional: true}"
    parameters = PARAMETERS.replace("}}", f"}}, {more}}}")
    secrets = "sandbox: {secrets: {KEY: {hosts: [a.example]}}}\n"
    messages = found_in(tmp_path, f"{HEAD}{parameters}backend:\n  http: {http}\n{secrets}")
    messages = [each for each in messages if "cursor" in each or "JSON Pointer" in each]
    assert len(messages) == bool(found), messages
    assert all(found in each for each in messages), messages


@pytest.mark.parametrize(
    ("link", "style"), [("true", LinkPages()), ("'\"@odata.nextLink\"'", LinkPages(next='"@odata.nextLink"'))]
)
def test_a_link_is_in_the_header_or_the_body(tmp_path: Path, link: str, style: LinkPages) -> None:
    text = f"{HEAD}backend: {{http: {{url: 'https://a.example/', pagination: {{link: {link}}}}}}}\n"
    backend = tool_of(tmp_path, text).backend
    assert isinstance(backend, HttpBackend)
    assert backend.pagination == Pagination(style=style)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("false", "'link' must be true, or an expression for the next page's URL in the body"),
        ("'a['", "is not JMESPath"),
    ],
)
def test_links_without_a_target_are_rejected(tmp_path: Path, link: str, message: str) -> None:
    text = f"{HEAD}backend: {{http: {{url: 'https://a.example/', pagination: {{link: {link}}}}}}}\n"
    (found,) = found_in(tmp_path, text)
    assert message in found


@pytest.mark.parametrize(
    ("method", "annotations", "refused"),
    [
        ("GET", "", False), ("DELETE", "", False), ("POST", "", True),
        ("POST", "annotations: {idempotent: true}\n", False), ("GET", "annotations: {idempotent: false}\n", True),
    ],
)  # fmt: skip
def test_only_idempotent_requests_can_have_retries(
    tmp_path: Path, method: str, annotations: str, refused: bool
) -> None:
    found = found_in(
        tmp_path,
        f"{HEAD}{annotations}backend: {{http: {{method: {method}, url: 'https://a.example/', retry: {{}}}}}}\n",
    )
    assert any("may do the work twice" in each for each in found) is refused


def test_a_cookie_has_one_style(tmp_path: Path) -> None:
    cookies = "cookies: {a: {value: b, style: simple}}"
    (found,) = found_in(tmp_path, f"{HEAD}backend: {{http: {{url: 'https://a.example/', {cookies}}}}}\n")
    assert "a cookie has no style 'simple'" in found


def test_a_cursor_is_a_parameter_of_the_query_or_a_place_in_the_body(tmp_path: Path) -> None:
    pages = "pagination: {cursor: {parameter: after, next: meta.next}}"
    backend = tool_of(tmp_path, f"{HEAD}backend: {{http: {{url: 'https://a.example/', {pages}}}}}\n").backend
    assert isinstance(backend, HttpBackend)
    assert backend.pagination == Pagination(style=CursorPages(parameter="after", pointer=None, next="meta.next"))


@pytest.mark.parametrize(
    "http",
    [
        "method: HEAD\n    «pagination»: {link: true}",
        "method: POST\n    pagination: {cursor: {pointer: «/a», next: b}}",
        'auth: {oauth2: {token_url: «"http://b.example/t"», client_id: a, client_secret: "{{ secrets.KEY }}"}}',
    ],
)
def test_contradictions_are_reported_where_they_are(tmp_path: Path, http: str) -> None:
    secrets = "sandbox: {secrets: {KEY: {hosts: [a.example, b.example]}}}\n" if "KEY" in http else ""
    text = f"{HEAD}backend:\n  http:\n    url: https://a.example/\n    {http}\n{secrets}"
    compilation = compile_text(tmp_path, unmarked(text))
    found = [each for each in compilation.diagnostics.sorted() if each.code.number == "TC108"]
    assert [marked(unmarked(text), each.span) for each in found] == [text]
