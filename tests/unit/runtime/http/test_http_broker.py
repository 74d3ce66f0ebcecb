import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from engines.bypass_attempts import ALLOW, URLS

from toolc.backends.backend_protocol import PlanError
from toolc.backends.http_templates import render_url
from toolc.guest.frames import ProtocolError
from toolc.model.destinations import parse_destination
from toolc.model.http_plan import (
    FormPart,
    HttpCall,
    MultipartForm,
    NamedValue,
    Pieces,
    PlainBody,
    ResponseHandling,
    Slot,
    TokenRequest,
)
from toolc.model.json_schema import JsonValue
from toolc.model.spec.http_backend import CursorPages, Pagination
from toolc.model.spec.sandbox import Destination, SecretSpec
from toolc.model.template import Placeholder, Template
from toolc.runtime.egress.egress_policy import decide
from toolc.runtime.egress.transport import ConnectionRequest, RefusedError
from toolc.runtime.http.broker import HttpBroker
from toolc.runtime.http.request import Target, parse_url
from toolc.runtime.secrets.redaction import Redactor

VALUES = {"KEY": 'correct "horse" & co'}
DECLARED = (SecretSpec(name="KEY", hosts=("api.example.com",)),)
CALL = HttpCall(method="GET", url="https://api.example.com:443/v1/items")


def broker(
    call: HttpCall, values: Mapping[str, str] = VALUES, declared: tuple[SecretSpec, ...] = DECLARED
) -> HttpBroker:
    def read_file(path: str) -> bytes:
        return f"<{path}>".encode()

    return HttpBroker(call, values=values, declared=declared, redactor=Redactor(values), read_file=read_file)


def requested(call: HttpCall, **request: JsonValue) -> ConnectionRequest:
    return broker(call).connection_request(json.dumps(request).encode())


def refusal(call: HttpCall, **request: JsonValue) -> str:
    with pytest.raises(RefusedError) as caught:
        requested(call, **request)
    return str(caught.value)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://API.example.com.", Target(scheme="https", host="api.example.com", port=443, path="/")),
        (
            "HTTP://a.example:8080/x y".replace(" ", "%20"),
            Target(scheme="http", host="a.example", port=8080, path="/x%20y"),
        ),
        ("https://a.example?x=1#y", Target(scheme="https", host="a.example", port=443, path="/?x=1")),
        ("https://[::1]:8/é", Target(scheme="https", host="::1", port=8, path="/%C3%A9")),
    ],
)
def test_a_url_is_parsed(url: str, target: Target) -> None:
    assert parse_url(url) == target


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1", "api.example.com"])
def test_an_allowed_host_is_connected_to(host: str) -> None:
    connection = requested(replace(CALL, url=f"https://{host}:443/"))
    allowed = Destination(kind="exact", host=host.strip("[]"), port=443)
    assert decide((allowed,), connection.host, connection.port).entry == allowed


@pytest.mark.parametrize(
    "url",
    [
        "", "/path", "//a.example/", "file:///etc/passwd", "gopher://a.example/", "https:/a.example/",
        "https:\\\\a.example", "https://a.example\\@b.example/", "https://b.example@a.example/",
        "https://a.example:0/", "https://a.example:99999/", "https://a.example:x/", "https://127.1/",
        "https://0x7f.0.0.1/", "https://2130706433/", "https://a.example/ HTTP/1.1", "https://a.example/\r\nX: y",
        "https://a.example\0.b.example/", "https://a%2eexample/", "https://\uff41.example/",
        "http\u017f://a.example/", "http\u017f://a.example:443/", f"https://a.example/{'x' * 9000}",
    ],
)  # fmt: skip
def test_an_invalid_or_ambiguous_url_is_refused(url: str) -> None:
    with pytest.raises(RefusedError):
        parse_url(url)


@pytest.mark.parametrize("url", [url for url, _ in URLS], ids=[what for _, what in URLS])
def test_no_url_bypasses_the_list(url: str) -> None:
    allow = tuple(parse_destination(each) for each in ALLOW)

    def as_redirect() -> ConnectionRequest:
        return requested(CALL, url=url)

    def as_argument() -> ConnectionRequest:
        return requested(replace(CALL, url=render_url(Template((Placeholder("url"),)), {"url": url})))

    for way in (as_redirect, as_argument):
        try:
            connection = way()
        except (RefusedError, PlanError):
            continue
        assert decide(allow, connection.host, connection.port).entry is None, way.__name__


def test_a_request_is_built_from_the_plan() -> None:
    call = replace(
        CALL,
        url="https://api.example.com:443/v1/items?a=1",
        query=(NamedValue("k", (Slot("KEY", "query"),)),),
        headers=(NamedValue("X-Key", ("<", Slot("KEY"), ">")), NamedValue("Accept", ("text/csv",))),
    )
    connection = requested(call)
    assert (connection.host, connection.port, connection.is_opaque) == ("api.example.com", 443, False)
    assert connection.head == (
        b"GET /v1/items?a=1&k=correct%20%22horse%22%20%26%20co HTTP/1.1\r\nHost: api.example.com\r\n"
        b'X-Key: <correct "horse" & co>\r\nAccept: text/csv\r\n'
        b"Accept-Encoding: gzip, deflate\r\nUser-Agent: toolc\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("pieces", "sent"),
    [
        (('{"k":"', Slot("KEY", "json"), '"}'), b'{"k":"correct \\"horse\\" & co"}'),
        (("k=", Slot("KEY", "form")), b"k=correct+%22horse%22+%26+co"),
    ],
)
def test_a_secret_is_escaped_for_its_position(pieces: Pieces, sent: bytes) -> None:
    head = requested(replace(CALL, method="POST", body=PlainBody(content_type="x/y", pieces=pieces))).head
    assert head.endswith(b"Content-Type: x/y\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(sent) + sent)


def test_the_parts_of_a_form_are_separated_by_a_boundary() -> None:
    form = MultipartForm(parts=(FormPart(name='a"\r\n', path="x/é.txt"), FormPart(name="b", value=("--toolc-",))))
    head = requested(replace(CALL, method="POST", body=form)).head
    boundary = head.partition(b"boundary=")[2].partition(b"\r\n")[0]
    first = '\r\nContent-Disposition: form-data; name="a%22%0D%0A"; filename="é.txt"\r\n'
    first += "Content-Type: application/octet-stream\r\n\r\n<x/é.txt>\r\n"
    parts = head.partition(b"\r\n\r\n")[2].split(b"--" + boundary)
    assert parts == [
        b"",
        first.encode(),
        b'\r\nContent-Disposition: form-data; name="b"\r\n\r\n--toolc-\r\n',
        b"--\r\n",
    ]


def test_a_secret_with_a_line_break_is_not_sent_in_a_header() -> None:
    call = replace(CALL, headers=(NamedValue("X", (Slot("KEY"),)),))
    with pytest.raises(RefusedError) as caught:
        broker(call, {"KEY": "one\r\nX-Other: two"}).connection_request(b"{}")
    assert str(caught.value) == "the secret in the header 'X' contains a line break, which is invalid in a header"


def test_a_secret_is_sent_only_to_its_hosts_and_over_tls() -> None:
    call = replace(CALL, headers=(NamedValue("X", (Slot("KEY"),)),))
    assert (
        refusal(replace(call, url="https://other.example.com/"))
        == "the secret 'KEY' may be sent to api.example.com, not to other.example.com"
    )
    assert refusal(replace(call, url="http://api.example.com/")) == (
        "the secret 'KEY' is sent only over TLS; use https in the URL of api.example.com"
    )
    declared = (SecretSpec(name="KEY", hosts=("127.0.0.1",)),)
    assert broker(replace(call, url="http://127.0.0.1:8080/"), declared=declared).connection_request(b"{}").port == 8080


def test_a_redirect_to_another_origin_gets_no_secret() -> None:
    call = replace(
        CALL,
        headers=(NamedValue("X-Key", (Slot("KEY"),)), NamedValue("Cookie", ("a=b",)), NamedValue("X-Plain", ("p",))),
        query=(NamedValue("q", ("1",)),),
    )
    same = requested(call, url="https://api.example.com/other", method="GET").head
    assert same.startswith(b'GET /other HTTP/1.1\r\nHost: api.example.com\r\nX-Key: correct "horse" & co\r\n')
    for url in ("https://other.example.com/", "http://api.example.com/", "https://api.example.com:8443/"):
        head = requested(call, url=url, method="GET").head
        assert b"horse" not in head
        assert b"Cookie" not in head
        assert b"X-Plain: p\r\n" in head


def test_a_redirect_cannot_leak_a_secret() -> None:
    call = replace(CALL, headers=(NamedValue("X-Key", (Slot("KEY"),)),))
    encodings = (
        "correct%20%22horse%22%20%26%20co",
        "%63orrect%20%22horse%22%20%26%20co",
        "correct%2520%2522horse%2522%2520%2526%2520co",
    )
    for value in encodings:
        assert refusal(call, url=f"https://evil.example/?k={value}", method="GET") == (
            "the server redirected to another host, with a secret in the URL"
        )
    post = replace(CALL, method="POST", body=PlainBody(content_type="x", pieces=(Slot("KEY"),)))
    assert refusal(post, url="https://evil.example/", method="POST") == (
        "the server redirected a body with a secret to another host, evil.example"
    )
    assert b"horse" not in requested(post, url="https://evil.example/", method="GET").head


def test_a_page_replaces_one_field_of_the_query() -> None:
    pages = Pagination(style=CursorPages(parameter="page&", next="next"))
    call = replace(
        CALL,
        url="https://api.example.com:443/?page%26=1&z=1",
        query=(NamedValue("page%26", ("2",)), NamedValue("q", ("x",))),
        reading=ResponseHandling(pagination=pages),
    )
    assert requested(call, query={"page&": "a/b&c"}).head.startswith(b"GET /?z=1&q=x&page%26=a%2Fb%26c HTTP/1.1\r\n")


def test_a_page_replaces_one_value_of_the_body() -> None:
    pages = Pagination(style=CursorPages(pointer="/variables/after", next="next"))
    call = replace(
        CALL,
        method="POST",
        body=PlainBody(content_type="application/json", pieces=('{"key":"', Slot("KEY", "json"), '"}')),
        reading=ResponseHandling(pagination=pages),
    )
    first = b'{"key":"correct \\"horse\\" & co"}'
    assert requested(call).head.endswith(b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(first) + first)
    after = first[:-1] + b',"variables":{"after":["x",1]}}'
    assert requested(call, cursor=["x", 1]).head.endswith(
        b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(after) + after
    )
    redirected = requested(call, url="https://api.example.com/b", method="POST", cursor=["x", 1])
    assert redirected.head.startswith(b"POST /b ")
    assert redirected.head.endswith(after)
    with pytest.raises(ProtocolError):
        broker(call).connection_request(b'{"query": {"variables": "x"}}')


def test_a_cursor_is_sent_to_another_origin_only_without_a_secret() -> None:
    pages = Pagination(style=CursorPages(pointer="/after", next="next"))
    body = PlainBody(content_type="application/json", pieces=("{}",))
    call = replace(CALL, method="POST", body=body, reading=ResponseHandling(pagination=pages))
    redirected = requested(call, url="https://evil.example/", method="POST", cursor={"a": "x"})
    assert redirected.head.endswith(b'{"after":{"a":"x"}}')
    for value in ('correct "horse" & co', "correct%20%22horse%22%20%26%20co"):
        assert refusal(call, url="https://evil.example/", method="POST", cursor={"a": ["x", value]}) == (
            "the server redirected to another host, with a secret in the cursor of a page"
        )
    # A request by GET has no body.
    assert b"horse" not in requested(call, url="https://api.example.com/", method="GET", cursor="horse").head


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"[]", b"nonsense", b'{"headers": {"X": "y"}}', b'{"body": "x"}', b'{"method": "POST"}',
        b'{"method": "DELETE", "url": "https://api.example.com/"}', b'{"url": 1}', b'{"method": []}',
        b'{"method": {}}', b'{"query": []}', b'{"cursor": 1}', b'{"query": 1}',
        b'{"url": "https://api.example.com/", "url": 1}', b"[" * 60_000, b'{"query": {"q": "x"}}',
        b'{"url": "https://api.example.com/", "query": {"q": "x"}}',
        b'{"url": "https://api.example.com/", "cursor": 1}', b'{"token": true}',
    ],
)  # fmt: skip
def test_other_requests_of_the_guest_are_invalid(payload: bytes) -> None:
    with pytest.raises(ProtocolError):
        broker(CALL).connection_request(payload)


@pytest.mark.parametrize(
    "start", ["ftp://evil.test/", "//evil.test/", "https://u@evil.test/", "https://a b/", "https://"]
)
def test_the_message_about_a_redirect_contains_no_part_of_a_secret(start: str) -> None:
    secret = "0123456789" * 15
    call = replace(CALL, query=(NamedValue("k", (Slot("KEY", "query"),)),))
    with pytest.raises(RefusedError) as caught:
        broker(call, {"KEY": secret}).connection_request(json.dumps({"url": f"{start}?{secret}"}).encode())
    assert str(caught.value) == "the server redirected to an invalid URL that contains a secret"


def test_the_number_of_token_requests_is_limited() -> None:
    token = TokenRequest(url="https://api.example.com/token", form=(), client_id=("me",), client_secret=(Slot("KEY"),))
    http = broker(replace(CALL, token=token))
    with pytest.raises(RefusedError, match="there is no access token for this request"):
        http.connection_request(b"{}")
    for _ in range(4):
        assert http.connection_request(b'{"token": true}').head.startswith(b"POST /token HTTP/1.1\r\n")
    with pytest.raises(ProtocolError):
        http.connection_request(b'{"token": true}')
