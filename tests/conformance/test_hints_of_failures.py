"""A call that lacks a module or the network says what to write in the spec, on every engine."""

from pathlib import Path

import pytest
from egress_calls import everywhere, output, run
from engines.configurations import available

CLOSED = "[not connected: the tool has no network; add {} to sandbox.network.allow]"


@everywhere
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "import urllib.request; urllib.request.urlopen('https://api.toolc.test/x')",
            CLOSED.format("api.toolc.test:443"),
        ),
        ("import socket; socket.create_connection(('192.0.2.1', 8080), 2)", CLOSED.format("192.0.2.1:8080")),
        (
            "import http.client; http.client.HTTPConnection('api.toolc.test', 81).request('GET', '/')",
            CLOSED.format("api.toolc.test:81"),
        ),
        (
            "import importlib; importlib.import_module('skimage')",
            "'skimage' is not in the sandbox; add requirements: [scikit-image",
        ),
    ],
)
def test_a_function_that_fails_names_what_to_add(name: str, body: str, expected: str, tmp_path: Path) -> None:
    code = f"def work():\n    {body}\n"
    result = run(available(name), {"python": {"code": code, "function": "work"}}, {}, tmp_path)
    assert result["is_error"]
    assert expected in output(result)


@everywhere
def test_a_script_that_fails_names_what_to_add(name: str, tmp_path: Path) -> None:
    script = "python3 -c \"import urllib.request as u; u.urlopen('http://api.toolc.test:8080/x')\""
    result = run(available(name), {"shell": {"script": script}}, {}, tmp_path)
    assert CLOSED.format("api.toolc.test:8080") in output(result)
