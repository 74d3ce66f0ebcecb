"""``auth: oauth2``: the host requests and caches the token, and renews it once if the server refuses it."""

import base64
import socket
import struct
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from calls.http_tools import call_http, failed, http_spec
from calls.scripted_server import Answer, Request, ScriptedServer, json_reply, reply

from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.sandbox.oci.engine import OciEngine

SECRET = "s3cret/with+signs"


class Login(ScriptedServer):
    """A token server that returns ``tokens`` in order."""

    def __init__(self, *tokens: str, expires_in: float | None = 3600, in_form: bool = False) -> None:
        super().__init__({"/token": self.token})
        self.grant = "client_credentials"
        self.tokens = list(tokens)
        self.expires_in = expires_in
        self.in_form = in_form

    def token(self, request: Request, connection: socket.socket) -> None:
        form = parse_qs(request.body.decode())
        pair = base64.b64encode(f"me:{SECRET.replace('/', '%2F').replace('+', '%2B')}".encode()).decode()
        by_form = (form.get("client_id"), form.get("client_secret")) == (["me"], [SECRET])
        by_header = request.headers.get("authorization") == f"Basic {pair}"
        if not (by_form if self.in_form else by_header) or form["grant_type"] != [self.grant]:
            connection.sendall(json_reply({"error": "invalid_client", "hint": SECRET}, status=401))
            return
        answer = {"access_token": self.tokens.pop(0), "token_type": "Bearer", "scope": form.get("scope", [""])[0]}
        connection.sendall(json_reply(answer | ({"expires_in": self.expires_in} if self.expires_in else {})))


def api(*good: str) -> ScriptedServer:
    """Return a server that accepts these tokens and returns the one that it received."""

    def answer(request: Request, connection: socket.socket) -> None:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        connection.sendall(reply(token.encode(), status=200 if token in good else 401))

    return ScriptedServer({"/": answer})


def call(engine: OciEngine, folder: Path, login: ScriptedServer, server: ScriptedServer) -> ToolResult:
    oauth2: JsonObject = {
        "token_url": f"{login.url}/token",
        "client_id": "me",
        "client_secret": "{{ secrets.SECRET }}",
        "scopes": ["a", "b"],
    }
    spec = http_spec(
        {"url": f"{server.url}/", "auth": {"oauth2": oauth2}}, sandbox={"secrets": {"SECRET": {"hosts": ["127.0.0.1"]}}}
    )
    return call_http(engine, folder, spec, secrets={"SECRET": SECRET})


def test_a_token_is_requested_once_and_redacted(engine: OciEngine, tmp_path: Path) -> None:
    with Login("first-token") as login, api("first-token") as server:
        for _ in range(2):
            found = call(engine, tmp_path, login, server)
            assert (found.is_error, found.text) == (False, "[secret access_token]")
        assert len(login.received) == 1
        assert parse_qs(login.received[0].body.decode()) == {"grant_type": ["client_credentials"], "scope": ["a b"]}
        assert [each.headers["authorization"] for each in server.received] == ["Bearer first-token"] * 2


def test_a_refresh_token_is_exchanged_for_an_access_token(engine: OciEngine, tmp_path: Path) -> None:
    with Login("first-token") as login, api("first-token") as server:
        login.grant = "refresh_token"
        oauth2: JsonObject = {
            "token_url": f"{login.url}/token",
            "client_id": "me",
            "client_secret": "{{ secrets.SECRET }}",
            "refresh_token": "{{ secrets.REFRESH }}",
        }
        hosts: JsonObject = {"hosts": ["127.0.0.1"]}
        backend: JsonObject = {"url": f"{server.url}/", "auth": {"oauth2": oauth2}}
        spec = http_spec(backend, sandbox={"secrets": {"SECRET": hosts, "REFRESH": hosts}})
        secrets = {"SECRET": SECRET, "REFRESH": "refresh+token/of=me"}
        found = call_http(engine, tmp_path, spec, secrets=secrets)
        assert (found.is_error, found.text) == (False, "[secret access_token]")
        form = parse_qs(login.received[0].body.decode())
        assert form == {"grant_type": ["refresh_token"], "refresh_token": ["refresh+token/of=me"]}


def test_a_refused_token_is_renewed_once(engine: OciEngine, tmp_path: Path) -> None:
    with Login("first-token", "second-token", "third-token") as login, api("first-token") as server:
        assert not call(engine, tmp_path, login, server).is_error
        server.answers["/"] = api("second-token").answers["/"]
        assert not call(engine, tmp_path, login, server).is_error
        server.answers["/"] = api("no-such-token").answers["/"]
        kind, message = failed(call(engine, tmp_path, login, server))
        assert (kind, message) == ("authentication", "HTTP 401 Status: [secret access_token]")
        assert len(login.received) == 3


def test_an_expired_token_is_not_used(engine: OciEngine, tmp_path: Path) -> None:
    with Login("first-token", "second-token", expires_in=0.001) as login, api("first-token", "second-token") as server:
        for _ in range(2):
            assert not call(engine, tmp_path, login, server).is_error
        assert [each.headers["authorization"] for each in server.received] == [
            "Bearer first-token",
            "Bearer second-token",
        ]


def test_the_client_is_sent_in_the_form_if_the_header_is_refused(engine: OciEngine, tmp_path: Path) -> None:
    with Login("first-token", in_form=True) as login, api("first-token") as server:
        assert not call(engine, tmp_path, login, server).is_error
        assert len(login.received) == 2


def dropping(_: Request, connection: socket.socket) -> None:
    """Begin a response and reset the connection."""
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (reply(b"oops", status=500), ("network", "the token server returned no access token (HTTP 500)")),
        (
            json_reply({"error": "invalid_client", "hint": SECRET}, status=401),
            ("authentication", "the token server returned no access token (HTTP 401): invalid_client"),
        ),
        (
            json_reply({"access_token": "short"}),
            ("network", "the token server sent a response without an access_token"),
        ),
        (dropping, ("network", "the connection to the token server broke: connection reset by peer")),
    ],
)
def test_a_missing_token_is_an_error(
    engine: OciEngine, tmp_path: Path, answer: Answer | bytes, expected: tuple[str, str]
) -> None:
    with ScriptedServer({"/token": answer}) as login, api() as server:
        assert failed(call(engine, tmp_path, login, server)) == expected
        assert server.received == []
