"""``toolc run --explain-network``: the line of a spec that allows or would allow a connection."""

import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls.scripted_server import ScriptedServer, reply
from cli.cli_engines import engines

SPEC = """\
toolc: 1
name: fetch
description: A tool that exists for the tests of the command line and for nothing else.
backend:
  python:
    code: |
      import socket, urllib.error, urllib.request
      def fetch():
          socket.create_connection(("127.0.0.1", {port})).close()
          for url in ("http://other.example.com/", "https://127.0.0.2:{port}/"):
              try:
                  urllib.request.urlopen(url)
              except urllib.error.URLError:
                  pass
          return "done"
sandbox:
  network:
    allow:
      - API.example.com:443
      - "127.0.0.1:{port}"
"""


def run(folder: Path, engine: str, *options: str, target: str = "fetch.yaml") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolc", "run", target, "--engine", engine, "--explain-network", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        check=False,
    )


@pytest.fixture
def port() -> Iterator[int]:
    """Yield a port without a listener, which no other program can use."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.mark.parametrize("engine", engines())
def test_connections_are_printed_with_their_lines(engine: str, port: int, tmp_path: Path) -> None:
    (tmp_path / "fetch.yaml").write_text(SPEC.format(port=port), encoding="utf-8")
    done = run(tmp_path, engine)
    assert done.stdout == "done\n"
    expected = [line for line in done.stderr.splitlines() if line.startswith("toolc: ")]
    failed = f"127.0.0.1:{port}: 127.0.0.1, port {port}: connection refused"
    add = "to allow it, add {0} to sandbox.network.allow (fetch.yaml:18:5)"
    name, address = "other.example.com:80", f"127.0.0.2:{port}"
    assert expected[-3:] == [
        f"toolc: failed {failed}; allowed by 127.0.0.1:{port} (fetch.yaml:20:9)",
        f"toolc: refused {name}: no entry of network.allow covers {name}; {add.format(name)}",
        f"toolc: refused {address}: no entry of network.allow covers {address}; {add.format(address)}",
    ]


@pytest.mark.parametrize("engine", engines()[-1:])
def test_connection_reset_at_the_end_is_not_a_failure(engine: str, tmp_path: Path) -> None:
    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        connection.sendall(b"hello")
        connection.recv(1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    code = (
        "import socket\ndef fetch():\n"
        "    with socket.create_connection(('127.0.0.1', {port})) as connection:\n"
        "        connection.recv(5)\n        connection.sendall(b'x')\n"
        "        try:\n            connection.recv(1)\n"
        "        except ConnectionResetError:\n            return 'reset'\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(60)
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        port = listener.getsockname()[1]
        spec = {
            "toolc": 1,
            "name": "fetch",
            "description": "A tool that exists for the tests of the command line and for nothing else.",
            "backend": {"python": {"code": code.format(port=port)}},
            "sandbox": {"network": {"allow": [f"127.0.0.1:{port}"]}},
        }
        (tmp_path / "fetch.yaml").write_text(json.dumps(spec), encoding="utf-8")
        done = run(tmp_path, engine)
        thread.join()
    assert done.stdout == "reset\n"
    expected = re.sub(r"[0-9.]+ ms", "N ms", done.stderr.splitlines()[-1])
    here = f"127.0.0.1:{port}"
    assert re.sub(r"\(fetch.yaml:1:[0-9]+\)", "(PLACE)", expected) == (
        f"toolc: connected to {here}, allowed by {here} (PLACE); 1 bytes sent, 5 received, N ms; "
        "at the end the connection to 127.0.0.1 failed: Connection reset by peer"
    )


@pytest.mark.parametrize("engine", engines()[-1:])
def test_connections_of_a_registry_have_no_lines(engine: str, port: int, tmp_path: Path) -> None:
    (tmp_path / "fetch.yaml").write_text(SPEC.format(port=port), encoding="utf-8")
    build = [sys.executable, "-m", "toolc", "build", "fetch.yaml", "--out", "build"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    done = run(tmp_path, engine, "--registry", "build/registry.json", target="fetch")
    assert f"; allowed by 127.0.0.1:{port}\n" in done.stderr
    assert "; to allow it, add other.example.com:80 to sandbox.network.allow\n" in done.stderr


@pytest.mark.parametrize("engine", engines()[-1:])
def test_tool_without_network_access(engine: str, tmp_path: Path) -> None:
    spec = {
        "toolc": 1,
        "name": "fetch",
        "description": "A tool that exists for the tests of the command line and for nothing else.",
        "backend": {"shell": {"script": "echo done"}},
    }
    (tmp_path / "fetch.yaml").write_text(json.dumps(spec), encoding="utf-8")
    assert "toolc: the tool has no network access\n" in run(tmp_path, engine).stderr
    spec["sandbox"] = {"network": {"allow": ["api.example.com:443"]}}
    (tmp_path / "fetch.yaml").write_text(json.dumps(spec), encoding="utf-8")
    assert "toolc: the tool opened no connection; " in run(tmp_path, engine).stderr


@pytest.mark.parametrize("engine", engines()[:1])
def test_a_redirect_to_an_invalid_url_is_reported(engine: str, tmp_path: Path) -> None:
    with ScriptedServer({"/": reply(status=302, Location="gopher://x")}) as server:
        spec = {
            "toolc": 1,
            "name": "fetch",
            "description": "A tool that exists for the tests of the command line and for nothing else.",
            "backend": {"http": {"url": f"{server.url}/"}},
        }
        (tmp_path / "fetch.yaml").write_text(json.dumps(spec))
        ran = run(tmp_path, engine)

    reason = "'gopher://x' is not an http or https URL"
    assert ran.stderr.splitlines()[-1] == f"toolc: refused a request: {reason}"
    assert ran.stdout == f"the server redirected to gopher://x: {reason}\n"


@pytest.mark.parametrize("engine", engines()[:1])
def test_urls_of_an_http_tool_have_lines(engine: str, tmp_path: Path) -> None:
    token = reply(b'{"access_token": "a-token-of-a-test", "token_type": "Bearer"}', Content_Type="application/json")
    with ScriptedServer({"/token": token}) as tokens, ScriptedServer({"/": reply(b"fine")}) as server:
        (tmp_path / "fetch.yaml").write_text(OWN_URLS.format(url=server.url, tokens=tokens.url), encoding="utf-8")
        (tmp_path / "secrets.yaml").write_text("CLIENT_SECRET: correct horse\n", encoding="utf-8")
        ran = run(tmp_path, engine, "--secrets", "secrets.yaml")
        assert ran.stdout == "fine\n"
        expected = [line.partition(";")[0] for line in ran.stderr.splitlines() if "connected to" in line]
        assert expected == [
            f"toolc: connected to {each}, allowed by {each} (fetch.yaml:{place})"
            for each, place in ((f"127.0.0.1:{tokens.port}", "9:20"), (f"127.0.0.1:{server.port}", "6:10"))
        ]


OWN_URLS = """\
toolc: 1
name: fetch
description: A tool that exists for the tests of the command line and for nothing else.
backend:
  http:
    url: {url}/
    auth:
      oauth2:
        token_url: {tokens}/token
        client_id: me
        client_secret: "{{{{ secrets.CLIENT_SECRET }}}}"
sandbox:
  secrets: {{CLIENT_SECRET: {{hosts: [127.0.0.1]}}}}
"""
