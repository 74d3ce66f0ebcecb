"""What programs do with their connections, through the broker on every engine, beside reaching a server at all."""

from __future__ import annotations

import socket
from typing import Final

import pytest
from egress_calls import CA, Call, everywhere, said, text
from local_servers import tcp

pytestmark = pytest.mark.timeout(300)  # whoever comes first waits until the image of the clients is built


@everywhere
def test_localhost_is_reached_by_its_name_and_by_its_address(name: str, call: Call) -> None:
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


SAYS_ALL_FIRST: Final = """\
import select, socket
with socket.create_connection(("127.0.0.1", {port})) as connection:
    connection.sendall(bytes(100_000))
    connection.shutdown(socket.SHUT_WR)
    select.select([connection], [], [])
    print(connection.recv(100))
"""


@everywhere
def test_a_program_that_ends_its_side_and_waits_by_select_hears_the_answer(name: str, call: Call) -> None:
    def count(connection: socket.socket) -> None:
        total = 0
        while data := connection.recv(65536):
            total += len(data)
        connection.sendall(b"%d bytes" % total)

    with tcp(count) as port:
        code = SAYS_ALL_FIRST.format(port=port)
        result = call(name, f"cat >/tmp/t.py <<'END'\n{code}END\npython3 /tmp/t.py\n", f"127.0.0.1:{port}")
    assert text(result) == "b'100000 bytes'\n"


@everywhere
def test_large_uploads_arrive_whole_straight_and_through_the_proxy(name: str, call: Call) -> None:
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
def test_the_text_of_a_tool_that_failed_ends_with_why_it_was_not_connected(name: str, call: Call) -> None:
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
    assert said(result).endswith(
        f"403\n[exit status 56]\n[not connected: api.toolc.test at 127.0.0.1, port {port}: connection refused; "
        "no entry of network.allow covers other.toolc.test:443]"
    )
