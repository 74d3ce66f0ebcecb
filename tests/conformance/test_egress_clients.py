"""Programs as they are, unchanged, through the broker: on every engine what is allowed, and nothing else."""

from __future__ import annotations

import json
import socket
from typing import Final

import pytest
from egress_calls import CA, Call, available, everywhere, network, run, text
from local_servers import tcp

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.client.serialization import result_to_json
from toolc.config.user_config import Configuration as UserConfiguration
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.runtime.cancellation import Cancellation
from toolc.sandbox.base import Engine

pytestmark = pytest.mark.timeout(300)  # whoever comes first waits until the image of the clients is built


@everywhere
def test_curl_and_git_reach_exact_names_as_they_would_outside(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}curl -sS http://api.toolc.test:{there.http}/hello\n"
        f"curl -sS --cacert /tmp/ca.pem https://api.toolc.test:{there.https}/hello\n"
        f"curl -sS http://127.0.0.1:{there.http}/hello\n"
        f"GIT_SSL_CAINFO=/tmp/ca.pem git clone -q https://git.toolc.test:{there.https}/repo.git /tmp/repo\n"
        "git -C /tmp/repo log --format=%s\n",
        f"api.toolc.test:{there.http}",
        f"api.toolc.test:{there.https}",
        f"git.toolc.test:{there.https}",
    )
    assert text(result) == "hello from the server\n" * 3 + "first of all\n"
    assert all(each["allowed"] for each in network(result))
    assert {each["entry"] for each in network(result)} == {
        f"api.toolc.test:{there.http}",
        f"api.toolc.test:{there.https}",
        f"127.0.0.1:{there.http}",
        f"git.toolc.test:{there.https}",
    }


@everywhere
def test_wildcards_and_what_is_not_listed_go_through_the_proxy(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}curl -sS --cacert /tmp/ca.pem https://a.wild.toolc.test:{there.https}/hello\n"
        f"curl -sS http://b.wild.toolc.test:{there.http}/hello\n"
        f"curl -sS http://other.toolc.test:{there.http}/hello\n"
        f"curl -sS https://other.toolc.test:{there.https}/hello 2>&1 || echo $?\n",
        f"*.wild.toolc.test:{there.https}",
        f"*.wild.toolc.test:{there.http}",
    )
    found = text(result)
    assert found.startswith("hello from the server\n" * 2)
    assert f"toolc: no entry of network.allow covers other.toolc.test:{there.http}\n" in found
    assert "403" in found
    assert [each["allowed"] for each in network(result)] == [True, True, False, False]
    assert network(result)[3]["would_allow"] == f"other.toolc.test:{there.https}"


PYTHON: Final = """\
import http.client, json, os, socket, ssl, sys, urllib.request
context = ssl.create_default_context(cadata=os.environ["CA"])
print(urllib.request.urlopen("https://api.toolc.test:{https}/hello", context=context).read())
print(urllib.request.urlopen("https://p.wild.toolc.test:{https}/hello", context=context).read())
with socket.create_connection(("ssh.toolc.test", {banner})) as connection:
    print(connection.recv(100))
"""


@everywhere
def test_python_reaches_names_and_wildcards_and_hears_a_server_that_speaks_first(name: str, call: Call) -> None:
    there = call.there
    code = PYTHON.format(https=there.https, banner=there.banner)
    result = call(
        name,
        f"cat >/tmp/t.py <<'END'\n{code}END\npython3 /tmp/t.py\n",
        f"api.toolc.test:{there.https}",
        f"*.wild.toolc.test:{there.https}",
        f"ssh.toolc.test:{there.banner}",
    )
    assert text(result) == "b'hello from the server\\n'\n" * 2 + "b'SSH-2.0-toolc_test\\r\\n'\n"


@everywhere
def test_nodes_fetch_reaches_exact_names(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}NODE_EXTRA_CA_CERTS=/tmp/ca.pem node -e "
        f"'fetch(\"https://api.toolc.test:{there.https}/hello\").then(r => r.text()).then(t => console.log(t))'\n",
        f"api.toolc.test:{there.https}",
    )
    assert text(result) == "hello from the server\n\n"


@everywhere
def test_pip_reaches_an_index(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        f"{CA}/usr/bin/python3 -m pip -q download --no-deps --cert /tmp/ca.pem --dest /tmp/packages "
        f"--index-url https://index.toolc.test:{there.https}/simple toolc-greets\n"
        "echo /tmp/packages/*\n",  # gVisor of 2022 refuses `ls FOLDER`
        f"index.toolc.test:{there.https}",
    )
    assert text(result) == "/tmp/packages/toolc_greets-1.0-py3-none-any.whl\n"


@everywhere
def test_psql_reaches_a_database_by_its_name(name: str, call: Call) -> None:
    there = call.there
    script = f"psql -h db.toolc.test -p {there.database} -U anybody -At -c 'select 1' anything\n"
    assert text(call(name, script, f"db.toolc.test:{there.database}")) == "hello from the database\n"


@everywhere
def test_ssh_hears_the_banner_of_a_server_by_its_name(name: str, call: Call) -> None:
    there = call.there
    script = f"ssh -v -o BatchMode=yes -p {there.banner} ssh.toolc.test 2>&1 | grep -o 'software version toolc_test'\n"
    assert text(call(name, script, f"ssh.toolc.test:{there.banner}")) == "software version toolc_test\n"


HTTPX: Final = (
    "httpx==0.28.1", "httpcore==1.0.9", "h11==0.16.0", "anyio==4.16.0", "idna==3.20", "certifi==2026.10.18",
    "typing_extensions==4.16.0",
)  # fmt: skip

ASK: Final = """\
import os, ssl, httpx
def client():
    context = ssl.create_default_context(cadata=os.environ["CA"])
    with httpx.Client(verify=context) as asking:
        names = ("https://api.toolc.test:{https}/hello", "https://x.wild.toolc.test:{https}/hello",
                 "http://api.toolc.test:{http}/hello", "http://other.toolc.test:{http}/hello")
        return "".join(asking.get(name).text for name in names)
"""


@everywhere
def test_httpx_reaches_names_and_wildcards(name: str, call: Call) -> None:
    there, configuration = call.there, available(name)
    allow: list[JsonValue] = [
        f"api.toolc.test:{there.https}",
        f"*.wild.toolc.test:{there.https}",
        f"api.toolc.test:{there.http}",
        f"127.0.0.1:{there.https}",
        f"127.0.0.1:{there.http}",
    ]
    spec: JsonObject = {
        "toolc": 1,
        "name": "client",
        "description": "Reach a server, to show how. Use it in the conformance suite and nowhere else.",
        "parameters": {},
        "backend": {"python": {"code": ASK.format(https=there.https, http=there.http), "requirements": [*HTTPX]}},
        "sandbox": {"network": {"allow": allow}, "env": {"CA": there.authority}, **configuration.sandbox},
    }
    assert text(run(configuration, spec, call.folder)) == (
        "hello from the server\n" * 3 + f"toolc: no entry of network.allow covers other.toolc.test:{there.http}\n"
    )


@everywhere
def test_an_empty_list_and_no_list_leave_no_way_out(name: str, call: Call) -> None:
    there = call.there
    configuration = available(name)
    empty: JsonObject = {"network": {"allow": []}}
    none: JsonObject = {}
    for network_key in (empty, none):
        sandbox: JsonObject = {**configuration.sandbox, **network_key}
        spec: JsonObject = {
            "toolc": 1,
            "name": "client",
            "description": "Reach a server, to show how. Use it in the conformance suite and nowhere else.",
            "parameters": {},
            "backend": {"python": {"code": LOOK.format(port=there.http), "function": "run"}},
            "sandbox": sandbox,
        }
        result = run(configuration, spec, call.folder)
        assert text(result) == "refused, no name, nobody listens, []"
        assert network(result) == []


LOOK: Final = """\
import os, socket
def run():
    try:
        socket.create_connection(("127.0.0.1", {port}), 5)
        one = "connected"
    except ConnectionRefusedError:
        one = "refused"
    try:
        socket.getaddrinfo("api.toolc.test", 443)
        two = "a name"
    except OSError:
        two = "no name"
    listening = open("/proc/net/tcp").read().count(" 0A ")
    proxies = [name for name in os.environ if "proxy" in name.lower()]
    return f"{{one}}, {{two}}, {{listening or 'nobody'}} listens, {{proxies}}"
"""


@everywhere
def test_a_client_that_names_another_server_in_tls_is_cut_off(name: str, call: Call) -> None:
    there = call.there
    as_another = "curl -sSk --noproxy '*'"
    result = call(
        name,
        f"{as_another} --connect-to evil.test:443:api.toolc.test:{there.https} https://evil.test/hello || echo $?\n"
        f"{as_another} --resolve evil.test:{there.https}:127.0.1.1 https://evil.test:{there.https}/ || echo $?\n",
        f"api.toolc.test:{there.https}",
    )
    assert "hello" not in text(result)
    assert [each["reason"] for each in network(result)] == [
        "the client's TLS names evil.test, and the connection is to api.toolc.test"
    ] * 2
    assert not any(each["bytes_out"] for each in network(result))
    assert not any(each["allowed"] for each in network(result))


@everywhere
def test_a_name_that_leads_to_this_machine_is_refused_unless_the_address_is_named(name: str, call: Call) -> None:
    # At a port that needs a privilege elsewhere: the guest, which has none, must listen there.
    result = call(name, "curl -sS http://api.toolc.test/hello || echo $?\n", "api.toolc.test:80", literals=False)
    assert "hello" not in text(result)
    (attempt,) = network(result)
    assert attempt["reason"] == (
        "api.toolc.test leads to 127.0.0.1, which is the machine that toolc runs on; "
        "only an entry 127.0.0.1:80 would allow that"
    )


@everywhere
def test_the_loopback_of_ipv6_is_listened_on_too(name: str, call: Call) -> None:
    with tcp(lambda each: each.sendall(b"six"), "::1") as port:
        script = f"python3 -c 'import socket; print(socket.create_connection((\"::1\", {port})).recv(10))'\n"
        assert text(call(name, script, f"[::1]:{port}")) == "b'six'\n"


MANY: Final = """\
import socket
there = ("127.0.0.1", {port})
connections = [socket.create_connection(there) for _ in range(200)]
for number, connection in enumerate(connections):
    connection.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")
whole = 0
for connection in connections:
    answer = b""
    while data := connection.recv(65536):
        answer += data
    whole += answer.endswith(b"hello from the server\\n")
print(whole)
"""


@everywhere
def test_two_hundred_connections_at_once_are_served(name: str, call: Call) -> None:
    code = MANY.format(port=call.there.http)
    result = call(name, f"cat >/tmp/t.py <<'END'\n{code}END\npython3 /tmp/t.py\n")
    assert text(result) == "200\n"


@everywhere
def test_what_a_tool_sent_before_it_ended_arrives(name: str, call: Call) -> None:
    there = call.there
    result = call(
        name,
        "python3 -c 'import socket, os\n"
        f's = socket.create_connection(("127.0.0.1", {there.http}))\n'
        's.sendall(b"GET /hello HTTP/1.0\\r\\n\\r\\n")\nos._exit(0)\'\n',
    )
    (attempt,) = network(result)
    assert attempt["bytes_out"] == 23


FLOOD: Final = """\
import socket, sys, time
def client():
    connections = [socket.create_connection(("127.0.0.1", {port})) for _ in range(20)]
    for connection in connections:
        connection.sendall(b"x")
    print("begun", flush=True)
    time.sleep(1000)
"""


@everywhere
def test_a_cancellation_is_not_kept_waiting_by_what_nobody_reads(name: str, call: Call) -> None:
    def endless(connection: socket.socket) -> None:
        while True:
            connection.sendall(bytes(65536))

    configuration = available(name)
    with tcp(endless) as port:
        spec: JsonObject = {
            "toolc": 1,
            "name": "client",
            "description": "Reach a server, to show how. Use it in the conformance suite and nowhere else.",
            "parameters": {},
            "backend": {"python": {"code": FLOOD.format(port=port)}},
            "sandbox": {
                "network": {"allow": [f"127.0.0.1:{port}"]},
                "limits": {"timeout": "60s"},
                **configuration.sandbox,
            },
        }
        path = call.folder / "spec.yaml"
        path.write_text(json.dumps(spec), encoding="utf-8")
        registry = Registry.load(path)

        def work(engine: Engine) -> JsonValue:
            executor = Executor(registry, engine=engine, configuration=UserConfiguration())
            with Cancellation() as cancellation:

                def hear(event: Event) -> None:
                    if isinstance(event, ToolUpdate) and "begun" in event.text:
                        cancellation.cancel()

                return result_to_json(executor.run("client", {}, on_event=hear, cancellation=cancellation))

        result = configuration.run(work)
    assert isinstance(result, dict)
    details = result["details"]
    assert isinstance(details, dict)
    assert details["outcome"] == "cancelled"
    assert len(network(result)) == 20
