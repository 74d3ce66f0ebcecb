import math
import socket
import threading
from time import monotonic

import httpx2
import pytest
from calls.scripted_server import Request, ScriptedServer, reply
from models.agent_tools import KEY

from toolc.model.json_schema import Schema
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import Scheme, Url
from toolc.model.spec.sandbox import Destination, SandboxSpec, SecretSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Placeholder, Template
from toolc.runtime.agents.broker_transport import EgressTransport
from toolc.runtime.agents.model import ModelError
from toolc.runtime.agents.turns import open_api
from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError
from toolc.runtime.egress import broker, egress_options
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.http import exchange
from toolc.runtime.secrets.redaction import CallSecrets, Redactor

SECRETS = CallSecrets(values={"KEY": KEY}, redactor=Redactor({"KEY": KEY}))


def entry(host: str, port: int) -> Destination:
    return Destination(kind="exact", host=host, port=port)


def send(
    allow: Destination, url: str, cancellation: Cancellation
) -> tuple[BaseException | None, list[ConnectionAttempt]]:
    """Return the cause of the failure of a request, if it fails, and the attempts that were reported."""
    attempts: list[ConnectionAttempt] = []
    transport = EgressTransport((allow,), Deadline(cancellation, math.inf), attempts.append, None, bytes)
    with httpx2.Client(transport=transport) as client:
        try:
            assert client.get(url).text == "ok"
        except httpx2.TransportError as error:
            return error.__cause__, attempts
    return None, attempts


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_listed_host_is_connected(host: str) -> None:
    with ScriptedServer({"/": reply(b"ok")}) as server, Cancellation() as cancellation:
        error, (attempt,) = send(entry(host, server.port), f"http://{host}:{server.port}/", cancellation)
    assert error is None
    assert (attempt.allowed, attempt.address, attempt.entry) == (True, "127.0.0.1", f"{host}:{server.port}")


def test_the_broker_refuses_an_unlisted_host() -> None:
    with Cancellation() as cancellation:
        error, (attempt,) = send(entry("127.0.0.1", 443), "https://api.example.com/v1", cancellation)
    assert isinstance(error, RefusedError)
    assert (error.kind, error.remedy) == ("denied", "api.example.com:443")
    assert (attempt.allowed, attempt.address, attempt.remedy) == (False, "", "api.example.com:443")


def test_a_model_may_think_for_longer_than_a_connection_of_a_tool_may_be_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    is_late, was_served = threading.Event(), threading.Event()

    def clock() -> float:
        if is_late.is_set():
            # The second time, the first check after the delay is over.
            was_served.set() if was_late.is_set() else was_late.set()
        return monotonic() + 2 * egress_options.IDLE_SECONDS * is_late.is_set()

    def think(_: Request, connection: socket.socket) -> None:
        is_late.set()
        assert was_served.wait(60)
        connection.sendall(reply(b"ok"))

    was_late = threading.Event()
    monkeypatch.setattr(broker, "monotonic", clock)
    monkeypatch.setattr(exchange, "EXPIRY_SECONDS", 0.01)
    with ScriptedServer({"/": think}) as server, Cancellation() as cancellation:
        error, _ = send(entry("127.0.0.1", server.port), f"{server.url}/", cancellation)
    assert error is None


def test_cancelling_the_call_ends_a_connection_attempt() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, Cancellation() as cancellation:
        host, port = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex((host, port))
        cancellation.cancel()
        error, _ = send(entry(host, port), f"http://{host}:{port}/", cancellation)
        assert isinstance(error, InterruptedWaitError)
        for each in waiting:
            each.close()


def tool(scheme: Scheme, host: str, hosts: tuple[str, ...]) -> ToolSpec:
    return ToolSpec(
        name="helper",
        description="d",
        parameters=Schema({"type": "object"}),
        backend=AgentBackend(
            provider="openai",
            model="m",
            instructions=Template(()),
            base_url=Url(scheme=scheme, host=host, port=443, path=Template(("/v1",))),
            api_key=Template((Placeholder("secrets", ("KEY",)),)),
        ),
        sandbox=SandboxSpec(secrets=(SecretSpec(name="KEY", hosts=hosts),)),
    )


@pytest.mark.parametrize(
    ("scheme", "host", "hosts", "why"),
    [
        ("https", "evil.example.com", ("api.example.com",),
         "the secret 'KEY' may be sent to api.example.com, not to evil.example.com"),
        ("https", "api.example.com", (), "the secret 'KEY' may be sent to no host, not to api.example.com"),
        ("http", "api.example.com", ("api.example.com",),
         "the secret 'KEY' is sent only over TLS; use https in the URL of api.example.com:443"),
    ],
)  # fmt: skip
def test_a_key_goes_to_its_hosts_and_over_tls(scheme: Scheme, host: str, hosts: tuple[str, ...], why: str) -> None:
    spec = tool(scheme, host, hosts)
    assert isinstance(spec.backend, AgentBackend)
    with Cancellation() as cancellation:
        api = open_api(spec.backend, spec, SECRETS, Deadline(cancellation, math.inf), lambda _: None)
        with pytest.raises(ModelError) as raised:
            api.__enter__()
    assert (raised.value.kind, str(raised.value)) == ("denied", why)
