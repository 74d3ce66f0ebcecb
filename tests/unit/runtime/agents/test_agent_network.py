import math
import socket
from contextlib import suppress

import pytest
from agent_tools import KEY

from toolc.model.json_schema import Schema
from toolc.model.result import ConnectionAttempt
from toolc.model.spec.composed_backends import AgentBackend
from toolc.model.spec.http_backend import Scheme, Url
from toolc.model.spec.sandbox import Destination, SandboxSpec, SecretSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Placeholder, Template
from toolc.runtime.agents.model import ModelError
from toolc.runtime.agents.network import EgressNetwork
from toolc.runtime.agents.turns import open_api
from toolc.runtime.cancellation import Cancellation, Deadline, InterruptedWaitError
from toolc.runtime.egress import polling
from toolc.runtime.egress.polling import ResolvedHost
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.secrets.redaction import CallSecrets, Redactor

SECRETS = CallSecrets(values={"KEY": KEY}, redactor=Redactor({"KEY": KEY}))


def entry(host: str, port: int) -> Destination:
    return Destination(kind="exact", host=host, port=port)


def connect(allow: Destination, host: str, port: int) -> tuple[str, list[ConnectionAttempt]]:
    attempts: list[ConnectionAttempt] = []
    with Cancellation() as cancellation:
        network = EgressNetwork((allow,), Deadline(cancellation, math.inf), attempts.append)
        with suppress(RefusedError):
            network.connect_tcp(host, port).close()
        reasons = [each.reason for each in network.attempts()]
    return reasons[0], attempts


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_listed_host_is_connected(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        reason, (attempt,) = connect(entry(host, port), host, port)
    assert reason == ""
    assert (attempt.allowed, attempt.address, attempt.entry) == (True, "127.0.0.1", f"{host}:{port}")


def test_an_address_of_ipv6_is_connected_to() -> None:
    try:
        listening = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6")
    with listening:
        port = listening.getsockname()[1]
        # httpcore passes it without brackets.
        reason, (attempt,) = connect(entry("::1", port), "::1", port)
    assert (reason, attempt.address, attempt.entry) == ("", "::1", f"[::1]:{port}")


def test_an_unlisted_host_is_not_resolved(port: int) -> None:
    reason, (attempt,) = connect(entry("127.0.0.1", port), "api.example.com", 443)
    assert reason == "no entry of network.allow covers api.example.com:443"
    assert (attempt.allowed, attempt.address, attempt.remedy) == (False, "", "api.example.com:443")


def test_a_name_that_resolves_to_loopback_needs_an_entry(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, ("127.0.0.1",)))
    reason, (attempt,) = connect(entry("models.example.com", port), "models.example.com", port)
    assert reason == (
        "models.example.com resolves to 127.0.0.1, which is the machine that toolc runs on; "
        f"only an entry 127.0.0.1:{port} would allow that"
    )
    assert (attempt.allowed, attempt.remedy) == (False, f"127.0.0.1:{port}")


def test_an_unknown_host_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "look_up", lambda host: ResolvedHost(host, reason=f"{host} cannot be resolved"))
    reason, _ = connect(entry("models.example.com", 443), "models.example.com", 443)
    assert reason.startswith("models.example.com cannot be resolved")


def test_cancelling_the_call_ends_a_connection_attempt() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, Cancellation() as cancellation:
        place = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(place)
        cancellation.cancel()
        network = EgressNetwork((entry(*place),), Deadline(cancellation, math.inf), lambda _: None)
        with pytest.raises(InterruptedWaitError):
            network.connect_tcp(*place)
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
         "the secret 'KEY' is sent only over TLS; use https in the URL of api.example.com"),
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
