"""The tools of ``specs/`` that use the network, called with a server that imitates the real ones."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias
from urllib.parse import parse_qs

import pytest
from calls.http_tools import failed, server
from calls.scripted_server import ScriptedServer, json_reply, reply
from engines.configurations import configured
from project.paths import SPECS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.sandbox.interface import Engine
from toolc.sandbox.oci.engine import OciEngine

__all__ = ["server"]

Call: TypeAlias = Callable[..., ToolResult]
"""See the fixture ``call``."""


def write_spec(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.yaml").write_text(text)
    for code in ("http_client.py", "web_page.py"):
        (folder / code).write_text((SPECS / code).read_text())


BOTH = pytest.mark.parametrize("chosen", ["oci root", "docker"], indirect=True)
"""The engines of the tests of services and of errors. What a page becomes does not depend on the engine."""


@pytest.fixture
def chosen(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Yield the engine that the test's parameter names; without one, runc as root."""
    engine = configured(getattr(request, "param", "oci root"))
    yield engine
    engine.close()


@pytest.fixture
def call(chosen: Engine, server: ScriptedServer, tmp_path: Path) -> Call:
    """Call ``name`` of a spec whose host is replaced by the server."""

    def call(spec: str, host: str, name: str, arguments: JsonObject, **secrets: str) -> ToolResult:
        text = (SPECS / f"{spec}.yaml").read_text()
        assert host in text
        here = f"127.0.0.1:{server.port}"
        text = text.replace(f"https://{host}", f"http://{here}").replace("public:443", here).replace(host, "127.0.0.1")
        write_spec(tmp_path, spec, text)
        store = SecretStore({key: LiteralSource(value) for key, value in secrets.items()}, {})
        with Executor(Registry.load(tmp_path / f"{spec}.yaml"), engine=chosen, secrets=store) as executor:
            return executor.run(name, arguments)

    return call


@BOTH
def test_web_search_returns_results(call: Call, server: ScriptedServer) -> None:
    found: JsonObject = {
        "type": "search",
        "web": {"results": [{"title": "One", "url": "https://one.example/", "description": "First", "age": "1d"}]},
    }
    server.answers["/res/v1/web/search"] = json_reply(found)
    result = call("web_search", "api.search.brave.com", "web_search", {"query": "a&b"}, BRAVE_API_KEY="brave-key-1")
    assert result.structured == (
        {"results": [{"title": "One", "url": "https://one.example/", "description": "First"}]},
    )
    assert result.text == "1. One\n   https://one.example/\n   First\n"
    (request,) = server.received
    assert parse_qs(request.path.partition("?")[2]) == {
        "q": ["a&b"], "count": ["5"], "search_lang": ["en"], "text_decorations": ["false"],
    }  # fmt: skip
    assert request.headers["x-subscription-token"] == "brave-key-1"


@pytest.mark.parametrize("answer", [{"type": "search"}, {"web": {"results": []}}])
def test_a_search_without_results_is_reported(call: Call, server: ScriptedServer, answer: JsonObject) -> None:
    server.answers["/res/v1/web/search"] = json_reply(answer)
    result = call("web_search", "api.search.brave.com", "web_search", {"query": "x"}, BRAVE_API_KEY="brave-key-1")
    assert (result.structured, result.text) == (({"results": []},), "Nothing was found for: x\n")


@BOTH
def test_an_invalid_search_key_is_reported(call: Call, server: ScriptedServer) -> None:
    answer: JsonObject = {"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "status": 422}}
    server.answers["/res/v1/web/search"] = json_reply(answer, status=422)
    search = ("web_search", "api.search.brave.com", "web_search", {"query": "x"})
    assert failed(call(*search, BRAVE_API_KEY="brave-key-1"))[0] == "authentication"
    server.answers["/res/v1/web/search"] = json_reply({"error": {"detail": "no such language"}}, status=422)
    assert failed(call(*search, BRAVE_API_KEY="brave-key-1"))[0] == "invalid_args"


@BOTH
def test_a_search_over_the_monthly_quota_is_not_retried(call: Call, server: ScriptedServer) -> None:
    server.answers["/res/v1/web/search"] = reply(
        b"enough", status=429, X_RateLimit_Remaining="1, 0", X_RateLimit_Reset="1, 1419704"
    )
    search = ("web_search", "api.search.brave.com", "web_search", {"query": "x"})
    found = failed(call(*search, BRAVE_API_KEY="brave-key-1"))
    assert found == ("rate_limit", "HTTP 429 Status: enough (try again in 1419704 seconds)")
    assert len(server.received) == 1


@BOTH
def test_get_weather_returns_the_forecast(call: Call, server: ScriptedServer) -> None:
    current: JsonObject = {
        "time": "2026-11-22T07:00", "temperature_2m": 3.4, "relative_humidity_2m": 81, "wind_speed_10m": 11.2,
        "weather_code": 3,
    }  # fmt: skip
    answer: JsonObject = {"latitude": 52.52, "current_units": {"temperature_2m": "°C"}, "current": current}
    server.answers["/v1/forecast"] = json_reply(answer)
    result = call("get_weather", "api.open-meteo.com", "get_weather", {"latitude": 52.52, "longitude": 13})
    assert result.structured == (
        {
            "time": "2026-11-22T07:00", "temperature": 3.4, "unit": "°C", "humidity": 81, "wind_speed": 11.2,
            "weather_code": 3,
        },
    )  # fmt: skip
    (request,) = server.received
    assert request.path.startswith("/v1/forecast?current=temperature_2m%2C")
    assert request.path.endswith("&latitude=52.52&longitude=13&temperature_unit=celsius")
    server.answers["/v1/forecast"] = json_reply({"error": True, "reason": "no such place"}, status=400)
    kind, message = failed(call("get_weather", "api.open-meteo.com", "get_weather", {"latitude": 1, "longitude": 1}))
    assert (kind, "no such place" in message) == ("invalid_args", True)
    busy: JsonObject = {"error": True, "reason": "try again in one minute"}
    server.answers["/v1/forecast"] = json_reply(busy, status=429, Retry_After="60")
    kind, _ = failed(call("get_weather", "api.open-meteo.com", "get_weather", {"latitude": 1, "longitude": 1}))
    assert kind == "rate_limit"


@BOTH
def test_github_issue_returns_the_issue(call: Call, server: ScriptedServer) -> None:
    made: JsonObject = {
        "number": 7,
        "html_url": "https://github.com/o/r/issues/7",
        "state": "open",
        "title": "T",
        "user": {},
    }
    server.answers["/repos/o/r/issues"] = json_reply(made, status=201)
    arguments: JsonObject = {"owner": "o", "repo": "r", "title": "T", "labels": ["bug"]}
    result = call("github_issue", "api.github.com", "github_issue", arguments, GITHUB_TOKEN="ghp-token-1")
    assert result.text == "Opened issue #7: https://github.com/o/r/issues/7"
    assert result.structured == (
        {"number": 7, "url": "https://github.com/o/r/issues/7", "state": "open", "title": "T"},
    )
    (request,) = server.received
    assert json.loads(request.body) == {"title": "T", "labels": ["bug"]}
    assert request.headers["authorization"] == "Bearer ghp-token-1"
    for status, kind in ((401, "authentication"), (404, "not_found"), (410, "denied"), (422, "invalid_args")):
        server.answers["/repos/o/r/issues"] = json_reply({"message": "Validation Failed"}, status=status)
        found = failed(call("github_issue", "api.github.com", "github_issue", arguments, GITHUB_TOKEN="ghp-token-1"))
        assert found == (kind, f'HTTP {status} Status: {{"message": "Validation Failed"}}')


@BOTH
def test_an_issue_over_the_rate_limit(call: Call, server: ScriptedServer) -> None:
    answer: JsonObject = {"message": "API rate limit exceeded"}
    server.answers["/repos/o/r/issues"] = json_reply(answer, status=403, X_RateLimit_Remaining="0", Retry_After="9")
    arguments: JsonObject = {"owner": "o", "repo": "r", "title": "T"}
    found = failed(call("github_issue", "api.github.com", "github_issue", arguments, GITHUB_TOKEN="ghp-token-1"))
    assert found == (
        "rate_limit", 'HTTP 403 Status: {"message": "API rate limit exceeded"} (try again in 9 seconds)'
    )  # fmt: skip


@BOTH
def test_an_issue_in_a_renamed_repository_is_found(call: Call, server: ScriptedServer) -> None:
    server.answers["/repos/o/r/issues"] = reply(status=307, Location="/repositories/1/issues")
    server.answers["/repositories/1/issues"] = json_reply({"number": 8, "html_url": "u"}, status=201)
    arguments: JsonObject = {"owner": "o", "repo": "r", "title": "T"}
    result = call("github_issue", "api.github.com", "github_issue", arguments, GITHUB_TOKEN="ghp-token-1")
    assert result.structured == ({"number": 8, "url": "u", "state": None, "title": None},)
    assert [each.headers["authorization"] for each in server.received] == ["Bearer ghp-token-1"] * 2


PAGE = b"""<!doctype html><html><head><title>A &amp; B</title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><h1>Words</h1><p>One <b>bold</b>
word.</p><script>no()</script><ul><li>first<li>second</ul><pre>a  b
  c</pre><p>caf\xc3\xa9</p></body></html>"""


def fetched(call: Call, server: ScriptedServer, answer: bytes, **arguments: int) -> ToolResult:
    server.answers["/page"] = answer
    return call("http", "public:443", "http_fetch", {"url": f"{server.url}/page", **arguments})


def test_a_page_becomes_text(call: Call, server: ScriptedServer) -> None:
    answer = reply(gzip.compress(PAGE), kind="text/html; charset=utf-8", Content_Encoding="gzip")
    result = fetched(call, server, answer)
    words = "Home\n\nWords\n\nOne bold word.\n\n- first\n- second\n\na  b\n  c\n\ncaf\u00e9"
    assert result.text == f"# A & B\n\n{words}"
    assert result.structured == (
        {
            "url": f"{server.url}/page",
            "status": 200,
            "title": "A & B",
            "content_type": "text/html",
            "body": words,
            "truncated": False,
        },
    )


RICH = """<!doctype html><html><head><title>W</title><script>var a = "<p>no</p>"</script></head><body>
<ul><li>one<ul><li><p>inner</p></li></ul></li><li></li><li>two</li></ul>
<ol><li>first</li><li>second</li></ol>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Bolt<td>$1</table>
<pre>a  b

  c</pre><p hidden>no</p><p>seen<div style="DISPLAY : none">no<div>no</div>no</div>
<img src="a.png" alt="a diagram">
<dl><dt>term</dt><dd>what it is</dd></dl><p>a<br>b &lt; c &eacute;</p>
<svg><title>no</title></svg><noscript>no</noscript><select><option>no</select><template><p>no</p></template>
</body></html>"""

WORDS = """- one
  - inner
- two

1. first
2. second

Item | Price
Bolt | $1

a  b

  c

seen

[a diagram]

term
what it is

a
b < c é"""


def test_a_page_keeps_lists_tables_and_code(call: Call, server: ScriptedServer) -> None:
    result = fetched(call, server, reply(RICH.encode(), kind="text/html"))
    assert result.text == f"# W\n\n{WORDS}"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (reply("<meta charset=Shift_JIS><p>日本".encode("cp932"), kind="text/html"), "日本"),
        (reply('<meta content="text/html; charset=x-sjis"><p>日本'.encode("cp932"), kind="text/html"), "日本"),
        (reply("<p>“a”".encode("cp1252"), kind="text/html; charset=iso-8859-1"), "“a”"),
        (reply("<p>café".encode("cp1252"), kind="text/html"), "café"),
        (reply("<p>café".encode("utf-16"), kind="text/html"), "café"),
        (reply(b"\xef\xbb\xbf<p>caf\xc3\xa9", kind="text/html"), "café"),
        (reply(b"<p>caf\xc3\xa9", kind="text/html; charset=idna"), "café"),
        (reply(b"<!DOCTYPE html><p>a", kind=""), "a"),
        (reply(b'<?xml version="1.0"?><a/>', kind="application/rss+xml"), '<?xml version="1.0"?><a/>'),
        (reply(b'{"a": 1}', kind="application/json"), '{"a": 1}'),
        (reply(gzip.compress(b"one ") + gzip.compress(b"two"), Content_Encoding="gzip"), "one two"),
        (reply(b"toolc: a page may begin so"), "toolc: a page may begin so"),
        (
            reply(b"<div id=root></div><script>x</script>", kind="text/html"),
            "[the page has no text; scripts may create it in a browser]",
        ),
    ],
)
def test_a_page_is_decoded(call: Call, server: ScriptedServer, answer: bytes, words: str) -> None:
    assert fetched(call, server, answer).text == words


@BOTH
@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (reply(b"%PDF-1.4 \xe2\xe3", kind="application/pdf"), "serialization", "the page is application/pdf, which.*"),
        (reply(b"PK\3\4\xff", kind="application/octet-stream"), "serialization", "the page is application/octet.*"),
        (reply(b"\x89PNG\0", kind="text/html"), "serialization", "the page is text/html, which is not text"),
        (reply(b"x", Content_Encoding="br"), "network", "a broken response from .*: the body is encoded as br.*"),
        (
            reply(gzip.compress(b"words" * 99)[:-9], Content_Encoding="gzip"), "network",
            "a broken response from .*: the compressed body ends too early",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", "network",
            "a broken response from .*: the connection ended 7 bytes before the end of the body",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nab", "network",
            ".* closed the connection in the middle of its response",
        ),
        (
            reply(b"<style>a{}</style>wait", status=429, kind="text/html", Retry_After="30"), "rate_limit",
            r"HTTP 429 Status: wait \(try again in 30 seconds\)",
        ),
    ],
)  # fmt: skip
def test_an_unreadable_page_is_reported(
    call: Call, server: ScriptedServer, answer: bytes, kind: str, message: str
) -> None:
    found = failed(fetched(call, server, answer))
    assert (found[0], re.fullmatch(message, found[1]) is not None) == (kind, True), found


def test_a_long_page_is_cut(call: Call, server: ScriptedServer) -> None:
    result = fetched(call, server, reply(b"x" * 500), max_characters=100)
    assert result.text == "x" * 100 + "\n[the rest is cut]"
    assert result.structured is not None
    assert result.structured[0]["truncated"] is True  # type: ignore[index, call-overload]


@BOTH
def test_responses_that_are_not_pages(call: Call, server: ScriptedServer) -> None:
    kind, message = failed(fetched(call, server, reply(b"<p>gone</p>", status=404)))
    assert (kind, message) == ("not_found", "HTTP 404 Status: gone")
    assert failed(fetched(call, server, reply(b"\0\1", kind="application/zip")))[0] == "serialization"
    image = failed(fetched(call, server, reply(b"GIF89a", kind="image/gif")))
    assert image == ("serialization", "the page is image/gif, which is not text")
    unreachable = failed(call("http", "public:443", "http_fetch", {"url": "http://127.0.0.1:9/"}))
    assert unreachable[0] == "network"
    loop = failed(fetched(call, server, reply(status=302, Location="/page")))
    assert loop[0] == "network"


@BOTH
def test_a_request_returns_status_headers_and_body(call: Call, server: ScriptedServer) -> None:
    server.answers["/x"] = reply(b'{"no": 1}', status=418, kind="application/json", X_Tea="yes")
    arguments: JsonObject = {
        "url": f"{server.url}/x?a=1",
        "method": "PATCH",
        "headers": {"X-A": "b"},
        "body": '{"k": "v"}',
    }
    result = call("http", "public:443", "http_request", arguments)
    assert result.structured == (
        {
            "status": 418,
            "headers": {
                "content-type": "application/json",
                "content-length": "9",
                "connection": "close",
                "x-tea": "yes",
            },
            "body": '{"no": 1}',
            "truncated": False,
        },
    )
    (request,) = server.received
    assert (request.method, request.path, request.body) == ("PATCH", "/x?a=1", b'{"k": "v"}')
    assert (request.headers["x-a"], request.headers["content-type"]) == ("b", "application/json")


def test_a_url_is_escaped_as_in_browsers(call: Call, server: ScriptedServer) -> None:
    server.answers["/caf%C3%A9"] = reply(b"", Set_Cookie="a=1\r\nSet-Cookie: b=2")
    arguments: JsonObject = {"url": f" {server.url}/café?q=a b%20c#top", "headers": {"X-A": "日本"}}
    result = call("http", "public:443", "http_request", arguments)
    assert result.structured is not None
    assert result.structured[0]["headers"]["set-cookie"] == "a=1, b=2"  # type: ignore[index, call-overload]
    (request,) = server.received
    assert (request.path, request.headers["x-a"]) == ("/caf%C3%A9?q=a%20b%20c", "日本")


@pytest.mark.parametrize(
    ("status", "method", "followed"),
    [
        (301, "HEAD", "HEAD"), (301, "POST", "GET"), (302, "DELETE", "DELETE"), (302, "PUT", "PUT"),
        (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PATCH", "PATCH"),
    ],
)  # fmt: skip
def test_a_redirect_keeps_or_changes_the_method(
    call: Call, server: ScriptedServer, status: int, method: str, followed: str
) -> None:
    server.answers["/x"] = reply(status=status, Location="/y")
    server.answers["/y"] = lambda request, connection: connection.sendall(
        reply(b"" if request.method == "HEAD" else b"there")
    )
    arguments: JsonObject = {"url": f"{server.url}/x", "method": method, "headers": {"Authorization": "Bearer x"}}
    if method not in {"HEAD", "DELETE"}:
        arguments["body"] = "words"
    assert call("http", "public:443", "http_request", arguments).error is None
    request = server.received[-1]
    sent = b"words" if followed == method and "body" in arguments else b""
    assert (request.method, request.path, request.body) == (followed, "/y", sent)
    assert request.headers["authorization"] == "Bearer x"


@BOTH
def test_a_redirect_is_not_followed_to_other_schemes_or_forever(call: Call, server: ScriptedServer) -> None:
    server.answers["/x"] = reply(status=302, Location="ftp://127.0.0.1/")
    found = failed(call("http", "public:443", "http_request", {"url": f"{server.url}/x"}))
    assert found == ("network", "a redirect to ftp://127.0.0.1/ is not followed: it is not a URL of http or https")
    server.answers["/x"] = reply(status=302, Location="/x")
    found = failed(call("http", "public:443", "http_request", {"url": f"{server.url}/x"}))
    assert found == ("network", f"a redirect to {server.url}/x is not followed: there are too many redirects")


def test_credentials_are_not_sent_to_another_host(engine: OciEngine, server: ScriptedServer, tmp_path: Path) -> None:
    with ScriptedServer({"/y": reply(b"there")}) as other:
        server.answers["/x"] = reply(status=302, Location=f"{other.url}/y")
        text = (SPECS / "http.yaml").read_text()
        allowed = f'"127.0.0.1:{server.port}", "127.0.0.1:{other.port}"'
        write_spec(tmp_path, "http", text.replace('"public:443"', allowed))
        headers: JsonObject = {"Authorization": "Bearer x", "Cookie": "a=b", "X-A": "c"}
        with Executor(Registry.load(tmp_path / "http.yaml"), engine=engine) as executor:
            result = executor.run("http_request", {"url": f"{server.url}/x", "headers": headers})
        assert result.error is None, result
        (request,) = other.received
        assert (request.headers["x-a"], set(headers) & {name.title() for name in request.headers}) == ("c", {"X-A"})


def test_a_binary_body_is_described(call: Call, server: ScriptedServer) -> None:
    server.answers["/x"] = reply(b"\x89PNG\0", kind="image/png")
    result = call("http", "public:443", "http_request", {"url": f"{server.url}/x"})
    assert result.structured is not None
    assert result.structured[0]["body"] == "[5 bytes of image/png, which is not text]"  # type: ignore[index, call-overload]


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Host"])
def test_a_model_cannot_set_framing_headers(engine: OciEngine, name: str) -> None:
    with Executor(Registry.load(SPECS / "http.yaml"), engine=engine) as executor:
        arguments: JsonObject = {"url": "https://example.com/", "headers": {name: "5"}}
        found = failed(executor.run("http_request", arguments))
    assert found == ("invalid_args", f"the header '{name}' is set by this tool; leave it out")


@BOTH
@pytest.mark.parametrize("name", ["http_fetch", "http_request"])
def test_a_refusal_names_the_host_and_the_reason(call: Call, server: ScriptedServer, chosen: Engine, name: str) -> None:
    allowed = "(only public addresses may be reached, by https on port 443)"
    with Executor(Registry.load(SPECS / "http.yaml"), engine=chosen) as executor:
        for url, message in (
            (
                "https://a.example:8443/b?c@d",
                f"a.example:8443: no entry of network.allow covers a.example:8443 {allowed}",
            ),
            ("http://a.example/", f"a.example: no entry of network.allow covers a.example:80 {allowed}"),
        ):
            assert failed(executor.run(name, {"url": url})) == ("denied", f"no connection to {message}")
    server.answers["/moved"] = reply(status=302, Location="https://b.example:8443/")
    moved = failed(call("http", "public:443", name, {"url": f"{server.url}/moved"}))
    message = "no connection to b.example:8443: no entry of network.allow covers b.example:8443"
    assert moved == ("denied", f"{message} {allowed}")


@pytest.mark.parametrize(
    "url", ["https://[a", "https://", "nothing", "https://user:pw@a.example/", "https://a b.example/"]
)
def test_an_invalid_url_is_refused(engine: OciEngine, url: str) -> None:
    with Executor(Registry.load(SPECS / "http.yaml"), engine=engine) as executor:
        kind, message = failed(executor.run("http_request", {"url": url}))
    assert (kind, repr(url) in message) == ("invalid_args", True)
