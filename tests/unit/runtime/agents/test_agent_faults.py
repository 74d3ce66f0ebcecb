from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from calls.scripted_server import Request, certificate, json_reply, reply
from calls.scripted_tools import cancelled_after, error_kind
from models.agent_tools import KEY, SAY, agent_details, agent_tool, ask_helper, converse, executor_of, registry_of
from models.scripted_model import SPEECHES, Answer, OpenAISpeech, ScriptedModel, Speech

from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.errors import MissingExtraError, UsageError
from toolc.model.events import Event, ToolConnect
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolFailure, ToolResult
from toolc.model.spec.code_backends import ErrorKind
from toolc.runtime.agents import turns
from toolc.runtime.agents.broker_transport import MAX_RESPONSE
from toolc.runtime.agents.model import MAX_QUOTED
from toolc.runtime.agents.turns import ATTEMPTS, MAX_ANSWERED
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.composed_backends import MODEL_APIS

OPENAI = OpenAISpeech()
both_formats = pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: str(speech.provider))


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less before a retry."""
    monkeypatch.setattr(turns, "BACKOFF_SECONDS", 0.01)


def refusal(status: int, message: str = "No.", **headers: str) -> bytes:
    return json_reply({"error": {"type": "some_error", "message": message}}, status=status, **headers)


def failure_of(result: ToolResult) -> tuple[str, str]:
    assert result.error is not None, result
    return result.error.kind, result.error.message


def failed(folder: Path, *answers: Answer, speech: Speech = OPENAI) -> tuple[str, str]:
    """Return the kind and the message of the error of a call whose model gives ``answers``."""
    result, _ = converse(folder, *answers, speech=speech)
    return failure_of(result)


@both_formats
@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (302, "network", "302 Found: No.; redirects are not followed, so set 'base_url' to the API's own URL"),
        (400, "execution", "400 Bad Request: No."),
        (401, "authentication", "401 Unauthorized: No.; check the secret of 'api_key'"),
        (403, "authentication", "403 Forbidden: No.; check the secret of 'api_key'"),
        (404, "not_found", "404 Not Found: No.; check 'model' and 'base_url'"),
    ],
)
def test_status_codes_have_error_kinds(
    speech: Speech, status: int, kind: ErrorKind, message: str, tmp_path: Path
) -> None:
    elsewhere = {"Location": "http://127.0.0.1:1/"}
    result, model = converse(tmp_path, refusal(status, **elsewhere), speech=speech)
    assert failure_of(result) == (kind, f"the model's API answered {message}")
    assert len(model.requests) == 1


@both_formats
@pytest.mark.parametrize(
    ("status", "kind", "message"),
    [
        (429, "rate_limit", "429 Too Many Requests: No."),
        (500, "network", "500 Internal Server Error: No."),
        (529, "network", "529: No."),
    ],
)
def test_a_busy_api_is_retried_a_few_times(
    speech: Speech, status: int, kind: ErrorKind, message: str, tmp_path: Path
) -> None:
    busy = refusal(status, Retry_After="0")
    assert failed(tmp_path, *[busy] * ATTEMPTS, speech=speech) == (kind, f"the model's API answered {message}")
    result, _ = converse(tmp_path, busy, speech.text("Because."), speech=speech)
    assert (result.text, agent_details(result)["turns"]) == ("Because.", 1)


@pytest.mark.parametrize("seconds", ["61", "59"])
def test_a_retry_after_beyond_the_limit_ends_the_call(seconds: str, tmp_path: Path) -> None:
    """The limit is a minute, or the deadline of the call."""
    result, model = converse(tmp_path, refusal(429, Retry_After=seconds), timeout=58.0)
    assert (error_kind(result), len(model.requests)) == ("rate_limit", 1)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<html>busy</html>", "it is not JSON (line 1 column 1: Expecting value): <html>busy</html>"),
        (b"", "it is not JSON (line 1 column 1: Expecting value): nothing"),
        (b"x" * 9999, f"it is not JSON (line 1 column 1: Expecting value): {'x' * (MAX_QUOTED - 1)}…"),
        (b"[1]", "it is not a JSON object: [1]"),
        (b"[" * 99_999, "it is not JSON (it is nested too deeply): " + "[" * (MAX_QUOTED - 1) + "…"),
        (b"{}", "it has no {what}"),
        (b'{"choices": [], "content": "x"}', "it has no {what}"),
        (b'{"choices": [{"message": "x"}], "content": null}', "it has no {what}"),
    ],
)
@both_formats
def test_a_response_outside_the_api_is_an_error(speech: Speech, body: bytes, why: str, tmp_path: Path) -> None:
    kind, message = failed(tmp_path, reply(body, kind="application/json"), speech=speech)
    what = {"openai": "choices[0].message", "anthropic": "list 'content'", "openai_responses": "list 'output'"}[
        speech.provider
    ]
    assert (kind, message) == (
        "serialization",
        "the model's API sent an invalid response: " + why.replace("{what}", what),
    )


def test_a_message_without_text_is_invalid(tmp_path: Path) -> None:
    answer: JsonObject = {"choices": [{"message": {"content": {"a": 1}}}]}
    assert failed(tmp_path, answer)[0] == "serialization"


def test_invalid_usage_counts_as_zero(tmp_path: Path) -> None:
    answer = OPENAI.text("ok") | {"usage": {"prompt_tokens": "many", "completion_tokens": -5}}
    result, _ = converse(tmp_path, answer, OPENAI.text("ok") | {"usage": [1]})
    assert (agent_details(result)["tokens_in"], agent_details(result)["tokens_out"]) == (0, 0)


def drop(request: Request, connection: socket.socket) -> None:
    """Send nothing and close the connection."""


def cut(request: Request, connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")


def junk(request: Request, connection: socket.socket) -> None:
    connection.sendall(b"220 mail.example.com ESMTP\r\n\r\n")


@both_formats
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (drop, "the server ended the connection without a response"),
        (cut, "the connection ended 999 bytes before the end of the body"),
        (junk, r"the server's response is not HTTP: '220 mail.example.com ESMTP\r\n'"),
    ],
)
@pytest.mark.usefixtures("quick_retries")
def test_a_broken_connection_is_an_error(speech: Speech, answer: Answer, why: str, tmp_path: Path) -> None:
    result, model = converse(tmp_path, *[answer] * ATTEMPTS, speech=speech)
    assert failure_of(result) == ("network", f"no response from the model's API: {why}")
    assert len(model.requests) == ATTEMPTS


def test_a_broken_connection_is_retried(tmp_path: Path) -> None:
    result, _ = converse(tmp_path, drop, OPENAI.text("Because."))
    assert result.text == "Because."


def test_a_refused_connection_is_an_error(tmp_path: Path) -> None:
    with ScriptedModel() as model:
        pass
    assert failure_of(ask_helper(model, tmp_path)) == (
        "network",
        f"no response from the model's API: 127.0.0.1, port {model.port}: connection refused",
    )


def test_endless_answers_end_at_the_limit(tmp_path: Path) -> None:
    def endless(request: Request, connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"10000\r\n" + b" " * 65536 + b"\r\n"
        with suppress(OSError):
            while True:
                connection.sendall(piece)

    assert failed(tmp_path, endless) == (
        "network",
        f"no response from the model's API: the response has more than {MAX_RESPONSE >> 20}MiB",
    )


def test_a_compressed_response_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(OPENAI.text("ok")).encode())
    assert failed(tmp_path, reply(packed, kind="application/json", Content_Encoding="gzip")) == (
        "network",
        "no response from the model's API: the response is compressed, which the request did not allow",
    )


def stalling(started: threading.Event, beginning: bytes) -> Callable[[Request, socket.socket], None]:
    """Return a server that sends the beginning of a response, and then waits until the client closes the connection."""

    def answer(request: Request, connection: socket.socket) -> None:
        connection.sendall(beginning)
        started.set()
        with suppress(OSError):
            assert connection.recv(1) == b""

    return answer


@both_formats
@pytest.mark.parametrize("beginning", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"], ids=["nothing", "half"])
def test_a_request_in_flight_ends_with_the_call(speech: Speech, beginning: bytes, tmp_path: Path) -> None:
    started = threading.Event()
    with cancelled_after(started) as cancellation:
        result, _ = converse(tmp_path, stalling(started, beginning), speech=speech, cancellation=cancellation)
    assert result.error == ToolFailure("cancelled", "the call was cancelled before it finished")
    assert agent_details(result)["turns"] == 0


@pytest.mark.slow
@both_formats
def test_a_stalled_server_ends_at_the_deadline(speech: Speech, tmp_path: Path) -> None:
    result, _ = converse(tmp_path, stalling(threading.Event(), b""), speech=speech, timeout=1.0)
    assert error_kind(result) == "timeout"


def test_waiting_for_the_next_attempt_ends_with_the_call(tmp_path: Path) -> None:
    with Cancellation() as cancellation:

        def busy(request: Request, connection: socket.socket) -> None:
            connection.sendall(refusal(429, Retry_After="20"))
            cancellation.cancel()

        with ScriptedModel(script=[busy]) as model:
            result = ask_helper(model, tmp_path, cancellation=cancellation)
    assert error_kind(result) == "cancelled"


def test_too_many_calls_are_an_error(tmp_path: Path) -> None:
    calls = OPENAI.calls(*[("nothing", "{}")] * (MAX_ANSWERED + 1))
    assert failed(tmp_path, calls) == (
        "output_limit",
        f"the model made {MAX_ANSWERED + 1} calls in one answer, but the limit is {MAX_ANSWERED}",
    )


def test_arguments_of_megabytes_are_an_error_for_the_model(tmp_path: Path) -> None:
    calls = OPENAI.calls(("say", {"words": "x" * (4 << 20)}))
    with ScriptedModel(script=[calls, OPENAI.text("too long")]) as model:
        assert ask_helper(model, tmp_path, engine=None).text == "too long"
    ((_, text),) = OPENAI.results(model.requests[1])
    assert text.startswith("ERROR (invalid_args): ")


@both_formats
@pytest.mark.usefixtures("quick_retries")
def test_tls_verifies_the_name_and_the_authority(
    speech: Speech, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, authority = certificate(tmp_path)
    with ScriptedModel(speech=speech, script=[speech.text("Because.")], tls=tls) as model:
        kind, message = failure_of(ask_helper(model, tmp_path))
        assert kind == "network"
        assert "the certificate of 127.0.0.1 is not trusted: self-signed certificate" in message
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        assert ask_helper(model, tmp_path).text == "Because."
        assert KEY in str(model.received[0].headers)


@pytest.mark.usefixtures("quick_retries")
def test_the_key_is_not_sent_with_an_untrusted_certificate(tmp_path: Path) -> None:
    tls, _ = certificate(tmp_path, "DNS:elsewhere.example.com")
    with ScriptedModel(tls=tls) as model:
        assert failure_of(ask_helper(model, tmp_path))[0] == "network"
        assert model.received == []


def test_refused_connections_emit_events(tmp_path: Path) -> None:
    """The name of this machine resolves to an address that needs a separate entry."""
    events: list[Event] = []
    with ScriptedModel() as model:
        url = f"http://{socket.gethostname()}:{model.port}/v1"
        result = ask_helper(
            model, tmp_path, agent={"base_url": url, "api_key": None}, on_event=events.append, sandbox={}
        )
        assert model.received == []
    (attempt,) = [each.attempt for each in events if isinstance(each, ToolConnect)]
    assert result.error is not None
    if result.error.kind == "denied":
        assert not attempt.allowed
        assert f"add {attempt.remedy} to sandbox.network.allow" in result.error.message
    else:
        assert result.error.message.startswith("no response from the model's API: ")


def test_a_key_that_is_invalid_in_a_header_is_a_usage_error(tmp_path: Path) -> None:
    with ScriptedModel() as model:
        registry = registry_of(tmp_path, agent_tool(model), SAY)
        secrets = SecretStore({"KEY": LiteralSource(f"{KEY}\nX-Other: 1")}, {})
        with executor_of(registry, secrets=secrets) as executor, pytest.raises(UsageError) as raised:
            executor.run("helper", {"question": "why?"})
    message = "tool 'helper': the secret 'KEY' contains characters that are not allowed in a header"
    assert str(raised.value).startswith(message)


@both_formats
def test_nothing_of_the_environment_is_sent(speech: Speech, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "of-the-environment")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "Authorization: of-the-environment\nHost: of-the-environment\nX-Own: 1")
    for name in ("HTTP_PROXY", "ALL_PROXY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with ScriptedModel(speech=speech, script=[speech.text("ok")]) as model:
        assert ask_helper(model, tmp_path, agent={"api_key": None}, sandbox={}).text == "ok"
    (request,) = model.received
    assert "of-the-environment" not in str(request)
    assert request.headers.keys() - {"anthropic-version"} == {
        "host", "accept", "content-type", "content-length", "user-agent", "accept-encoding", "connection",
    }  # fmt: skip


@both_formats
def test_a_missing_sdk_is_reported_with_the_package_to_install(
    speech: Speech, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk = speech.provider.partition("_")[0]
    for name in (sdk, *(module for module, _ in MODEL_APIS.values())):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, sdk, None)
    with ScriptedModel(speech=speech) as model, pytest.raises(MissingExtraError) as raised:
        ask_helper(model, tmp_path)
    assert str(raised.value) == (
        "tool 'helper', a sub-agent, needs packages that are not installed; "
        "install them with: pip install 'toolc[agent]'"
    )
