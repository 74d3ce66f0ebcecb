"""A request to the host and its response."""

import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import toolc

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from toolc.guest.http import tool as http_tool
from toolc.guest.http.body import parse_json
from toolc.guest.http.round_trip import Requests
before = set(sys.modules)
print(parse_json(Requests(("127.0.0.1", int(sys.argv[2]))).send({}, "GET")))
print(sorted(set(sys.modules) - before))
"""


def test_an_ordinary_request_imports_no_further_modules() -> None:
    response = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n\xef\xbb\xbf{"a": 1}'
    framed = b"{}\n" + struct.pack(">I", len(response)) + response + struct.pack(">I", 0) + b"{}"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(framed)

        host = threading.Thread(target=answer)
        host.start()
        folder = Path(toolc.__file__).parents[1]
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(folder), str(listener.getsockname()[1])]
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        host.join()
    assert (found.stdout, found.stderr) == ("{'a': 1}\n[]\n", "")
