"""Connections of programs through the broker, on every engine: half-closed, large, many, refused or cancelled."""

import socket
from typing import Final

import pytest
from calls.tcp_server import tcp
from egress_calls import CA, Call, everywhere, network, output, run, text
from engines.configurations import available

from toolc.model.json_schema import JsonObject

pytestmark = pytest.mark.timeout(300)  # the first test builds the image of the clients


@everywhere
def test_localhost_by_name_and_address(name: str, call: Call) -> None:
    # Node 18 tries the first address of a name alone; curl names no address in TLS.
    there = call.there
    result = call(
        name,
        f"{CA}curl -sS --cacert /tmp/ca.pem https://localhost:{there.https}/hello\n"
        f"curl -sS --cacert /tmp/ca.pem https://127.0.0.1:{there.https}/hello\n"
        f"node -e 'fetch(\"http://localhost:{there.http}/hello\").then(r => r.text()).then(t => console.log(t))'\n",
        f"localhost:{there.https}",
        f"localhost:{there.http}",
        literals=False,
    )
    assert text(result) == "hello from the server\n" * 3 + "\n"


HALF_CLOSE: Final = """\
import select, socket
with socket.create_connection(("127.0.0.1", {port})) as connection:
    connection.sendall(bytes(100_000))
    connection.shutdown(socket.SHUT_WR)
    select.select([connection], [], [])
    print(connection.recv(100))
"""


@everywhere
def test_response_after_a_half_close(name: str, call: Call) -> None:
    def count(connection: socket.socket) -> None:
        total = 0
        while data := connection.recv(65536):
            total += len(data)
        connection.sendall(b"%d bytes" % total)

    with tcp(count) as port:
        code = HALF_CLOSE.format(port=port)
        result = call(name, f"cat >/tmp/t.py <<'END'\n{code}END\npython3 /tmp/t.py\n", f"127.0.0.1:{port}")
    assert text(result) == "b'100000 bytes'\n"


@everywhere
def test_large_uploads_direct_and_through_the_proxy(name: str, call: Call) -> None:
    received: list[int] = []

    def swallow(connection: socket.socket) -> None:
        stream = connection.makefile("rwb")
        length = 0
        while line := stream.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        received.append(len(stream.read(length)))
        stream.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstored")
        stream.flush()

    with tcp(swallow) as port:
        upload = "head -c 20000000 /dev/zero | curl -sS -H Expect: --data-binary @-"
        result = call(
            name,
            f"{upload} http://api.toolc.test:{port}/\n{upload} http://up.wild.toolc.test:{port}/\n",
            f"api.toolc.test:{port}",
            f"*.wild.toolc.test:{port}",
            f"127.0.0.1:{port}",
        )
    assert text(result) == "storedstored"
    assert received == [20_000_000, 20_000_000]


@everywhere
def test_error_text_explains_refused_connections(name: str, call: Call) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        result = call(
            name,
            f"curl -sS http://api.toolc.test:{port}/ || true\ncurl -sS https://other.toolc.test/\n",
            f"api.toolc.test:{port}",
            f"127.0.0.1:{port}",
        )
    assert result["is_error"]
    assert output(result).endswith(
        f"403\n[exit status 56]\n[not connected: api.toolc.test at 127.0.0.1, port {port}: connection refused; "
        "no entry of network.allow covers other.toolc.test:443]"
    )


@everywhere
def test_ipv6_loopback_is_listened_on(name: str, call: Call) -> None:
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
def test_two_hundred_concurrent_connections(name: str, call: Call) -> None:
    code = MANY.format(port=call.there.http)
    result = call(name, f"cat >/tmp/t.py <<'END'\n{code}END\npython3 /tmp/t.py\n")
    assert text(result) == "200\n"


@everywhere
def test_data_sent_before_the_tool_exits_arrives(name: str, call: Call) -> None:
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
def run():
    connections = [socket.create_connection(("127.0.0.1", {port})) for _ in range(20)]
    for connection in connections:
        connection.sendall(b"x")
    print("begun", flush=True)
    time.sleep(1000)
"""


@everywhere
def test_cancellation_does_not_wait_for_unread_data(name: str, call: Call) -> None:
    def endless(connection: socket.socket) -> None:
        while True:
            connection.sendall(bytes(65536))

    with tcp(endless) as port:
        backend: JsonObject = {"python": {"code": FLOOD.format(port=port), "function": "run"}}
        sandbox: JsonObject = {"network": {"allow": [f"127.0.0.1:{port}"]}, "limits": {"timeout": "60s"}}
        result = run(available(name), backend, sandbox, call.folder, cancel_at="begun")
    details = result["details"]
    assert isinstance(details, dict)
    assert details["outcome"] == "cancelled"
    assert len(network(result)) == 20
