"""Tools of MCP servers at a URL: sessions, streams, authentication, and servers that attack toolc or its user."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.hostile_mcp import OTHER, TOOL
from calls.hostile_url import PATH, HostileUrl
from calls.http_tools import failed
from calls.scripted_server import ScriptedServer, certificate

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation

KEY = "a-very-secret-key"


def spec(url: str, sandbox: JsonObject | None = None, **server: object) -> JsonObject:
    """Return a file with the two tools of the hostile server, as they were reviewed."""
    tools = [
        {
            "name": f"my_{each['name']}",
            "description": each["description"],
            "parameters": each["inputSchema"],
            "backend": {"mcp": {"server": "hostile", "tool": each["name"], "definition": each}},
        }
        for each in (TOOL, OTHER)
    ]
    entry = {"url": url, "sandbox": {"lifetime": "session", **(sandbox or {})}, **server}
    value: JsonObject = json.loads(json.dumps({"toolc": 1, "servers": {"hostile": entry}, "tools": tools}))
    return value


def registry(folder: Path, url: str, sandbox: JsonObject | None = None, **server: object) -> Registry:
    path = folder / "hostile.yaml"
    path.write_text(json.dumps(spec(url, sandbox, **server)), encoding="utf-8")
    return Registry.load(path)


@pytest.fixture
def hostile() -> Iterator[HostileUrl]:
    made = HostileUrl()
    with made.server:
        yield made


@pytest.fixture
def executor(hostile: HostileUrl, tmp_path: Path) -> Iterator[Executor]:
    with Executor(registry(tmp_path, hostile.server.url + PATH)) as made:
        yield made


def act(executor: Executor, how: str) -> ToolResult:
    return executor.run("my_act", {"how": how})


def test_the_calls_of_a_session_share_the_session_of_the_server(
    executor: Executor, hostile: HostileUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a machine that stalls, a second may be too short for the end of the session.
    monkeypatch.setattr("toolc.runtime.sessions.mcp_http.CLOSE_SECONDS", 60.0)
    first = act(executor, "hello")
    assert (first.text, first.details["engine"], first.details["session"]) == ("hello", "none", {"call": 1})
    assert executor.run("my_other", {"how": "hello"}).details["session"] == {"call": 2}
    executor.close()
    assert hostile.methods == [
        "initialize", "notifications/initialized", *["tools/list", "tools/call"] * 2, "DELETE",
    ]  # fmt: skip
    for each in hostile.server.received[1:]:
        assert each.headers["mcp-session-id"] == "s-11"
        assert each.headers["mcp-protocol-version"] == "2025-11-25"


def test_without_a_session_each_call_connects_again(hostile: HostileUrl, tmp_path: Path) -> None:
    with Executor(registry(tmp_path, hostile.server.url + PATH, {"lifetime": "call"})) as made:
        assert [act(made, "hello").text for _ in range(2)] == ["hello", "hello"]
    assert hostile.sessions == 2


def test_a_server_of_revision_2026_has_no_session(executor: Executor, hostile: HostileUrl) -> None:
    hostile.revision = "2026-07-28"
    assert act(executor, "hello").text == "hello"
    assert hostile.methods == ["initialize", "server/discover", "tools/list", "tools/call"]
    headers = hostile.server.received[-1].headers
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "act")
    assert "mcp-session-id" not in headers


def test_a_session_that_the_server_forgets_is_opened_again(executor: Executor, hostile: HostileUrl) -> None:
    assert act(executor, "hello").text == "hello"
    hostile.forgets = True
    again = act(executor, "again")
    assert (again.text, again.details["session"], hostile.sessions) == ("again", {"call": 1}, 2)


def test_a_stream_that_ends_early_is_resumed(executor: Executor, hostile: HostileUrl) -> None:
    assert act(executor, "resume").text == "resumed"
    assert "GET" in hostile.methods


def test_a_server_may_make_a_string_of_each_id(executor: Executor, hostile: HostileUrl) -> None:
    hostile.makes_strings = True
    assert [act(executor, how).text for how in ("hello", "resume", "hello")] == ["hello", "resumed", "hello"]
    assert hostile.sessions == 1


def test_questions_of_the_server_are_refused_while_a_call_runs(executor: Executor) -> None:
    assert "List roots not supported" in act(executor, "ask").text


@pytest.mark.parametrize(
    ("how", "kind", "message"),
    [
        ("unauthorized", "authentication", "no answer from the MCP server 'hostile': it answered HTTP 401: go away"),
        ("forbidden", "authentication", ".*HTTP 403: go away"),
        ("busy", "rate_limit", ".*HTTP 429: go away"),
        ("broken", "network", ".*HTTP 500: go away"),
        (
            "redirect",
            "network",
            ".*it redirects to http://169.254.169.254/latest; if that is the server, write this URL",
        ),
        ("no-http", "network", ".*the server's response is not HTTP: 'SSH-2.0.*"),
        ("cut", "network", ".*the connection ended 5 bytes before the end of the body"),
        ("accepted", "serialization", ".*it ended its response without an answer"),
        ("ends", "serialization", ".*it ended its response without an answer"),
        ("resume-forever", "serialization", ".*it ended its response without an answer"),
        ("wrong-id", "serialization", ".*it ended its response without an answer"),
        ("batch", "serialization", ".*it ended its response without an answer"),
        ("html", "serialization", ".*its response has the content type 'text/html'"),
        ("gzip", "serialization", ".*its response is compressed, which the request did not allow"),
        ("deep", "serialization", ".*it sent a message that is nested more than 100 levels deep"),
        ("huge", "serialization", ".*it sent a message of more than 8MiB"),
        ("huge-event", "serialization", ".*it sent a message of more than 8MiB"),
        ("flood", "serialization", ".*it sent too many or too large messages too fast"),
    ],
)
def test_a_failure_is_an_error_and_the_next_call_connects_again(
    executor: Executor, hostile: HostileUrl, how: str, kind: str, message: str
) -> None:
    found = failed(act(executor, how))
    assert found[0] == kind, found
    assert re.fullmatch(message, found[1]), found
    assert act(executor, "hello").text == "hello"
    assert hostile.sessions == 2


def test_an_error_of_the_server_is_one_of_the_tool_and_keeps_the_session(
    executor: Executor, hostile: HostileUrl
) -> None:
    assert failed(act(executor, "error")) == ("execution", "error -32602: not like this")
    assert (act(executor, "hello").text, hostile.sessions) == ("hello", 1)


def test_a_definition_that_has_changed_is_not_called(executor: Executor, hostile: HostileUrl) -> None:
    assert act(executor, "hello").text == "hello"
    hostile.tools = [{**TOOL, "description": "Act as the caller says!"}, OTHER]
    kind, message = failed(act(executor, "hello"))
    assert (kind, message.startswith("the tool was not called: ")) == ("denied", True)
    assert executor.run("my_other", {"how": "hello"}).text == "hello"


def test_a_server_that_never_answers_ends_at_the_deadline_or_by_a_cancellation(executor: Executor) -> None:
    for how in ("silence", "trickle"):
        (result,) = executor.run_batch([ToolCall(name="my_act", arguments={"how": how})], timeout=1.5)
        assert failed(result)[0] == "timeout"
    with Cancellation() as cancellation:
        timer = threading.Timer(0.5, cancellation.cancel)
        timer.start()
        assert failed(executor.run("my_act", {"how": "silence"}, cancellation=cancellation))[0] == "cancelled"
    assert act(executor, "hello").text == "hello"


def test_a_server_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with Executor(registry(tmp_path, f"http://127.0.0.1:{taken.getsockname()[1]}{PATH}")) as made:
            kind, message = failed(act(made, "hello"))
    assert (kind, "connection refused" in message) == ("network", True)


def test_a_private_address_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("10.0.0.1", 0))])
    with Executor(registry(tmp_path, "https://mcp.example.com/mcp")) as made:
        result = act(made, "hello")
    assert failed(result)[0] == "denied"
    assert "mcp.example.com resolves to 10.0.0.1, which is an address of a private network" in result.text


def test_a_secret_is_sent_in_a_header_and_never_shown(
    hostile: HostileUrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLC_SECRET_KEY", KEY)
    secrets: JsonObject = {"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}}
    headers = {"X-Tenant": "{{ secrets.KEY }}", "Accept": "text/plain"}
    auth = {"bearer": "{{ secrets.KEY }}"}
    with Executor(registry(tmp_path, hostile.server.url + PATH, secrets, headers=headers, auth=auth)) as made:
        shown = json.loads(act(made, "headers").text)
    assert {each.headers["authorization"] for each in hostile.server.received} == {f"Bearer {KEY}"}
    assert hostile.server.received[-1].headers["x-tenant"] == KEY
    assert KEY not in json.dumps(shown)
    assert shown["accept"] == "application/json, text/event-stream"


def test_an_access_token_is_requested_and_renewed(
    hostile: HostileUrl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLC_SECRET_KEY", KEY)
    hostile.token = "expired-before-it-began"
    secrets: JsonObject = {"secrets": {"KEY": {"hosts": ["127.0.0.1"]}}}
    auth = {
        "oauth2": {"token_url": f"{hostile.server.url}/token", "client_id": "me", "client_secret": "{{ secrets.KEY }}"}
    }
    with Executor(registry(tmp_path, hostile.server.url + PATH, secrets, auth=auth)) as made:
        assert "access-token-1" not in act(made, "headers").text
        hostile.token = "revoked-by-the-server"
        assert act(made, "hello").text == "hello"
        assert hostile.tokens == 2
        hostile.server.answers["/token"] = b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"
        hostile.token = "revoked-by-the-server"
        kind, message = failed(act(made, "hello"))
    assert (kind, message) == (
        "authentication",
        "no answer from the MCP server 'hostile': the token server returned no access token (HTTP 403)",
    )


def test_the_certificate_of_the_server_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, authority = certificate(tmp_path)
    hostile = HostileUrl(server=ScriptedServer(tls=context))
    with hostile.server:
        with Executor(registry(tmp_path, hostile.server.url + PATH)) as made:
            kind, message = failed(act(made, "hello"))
            assert (kind, "is not trusted" in message) == ("network", True)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        with Executor(registry(tmp_path, hostile.server.url + PATH)) as made:
            assert act(made, "hello").text == "hello"


def test_two_calls_at_once_wait_for_each_other(executor: Executor) -> None:
    calls = [ToolCall(name="my_act", arguments={"how": str(number)}) for number in range(8)]
    assert [each.text for each in executor.run_batch(calls)] == [str(number) for number in range(8)]
