"""HTTP over a Unix socket: valid and invalid responses of a daemon."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolc.sandbox.docker import api_client
from toolc.sandbox.docker.api_client import ApiError, Client

NOT_HTTP = "the server at this socket does not speak HTTP"
NOT_JSON = "the daemon's response is not JSON"
INCOMPLETE = "the daemon closed the connection during its response; it may have been stopped or killed"
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def daemon(path: Path, *pieces: bytes) -> Iterator[Client]:
    """Yield a client of a daemon that responds to one request with these pieces and closes the connection."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        received: list[bytes] = []

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                received.append(connection.recv(65536))
                for piece in pieces:
                    connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield Client(str(path), "/v1.41")
        finally:
            thread.join()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


def test_requests_and_responses_are_json(path: Path) -> None:
    with daemon(path, b'HTTP/1.1 201 Created\r\nContent-Length: 13\r\n\r\n{"Id": ', b'"abc"}rest') as client:
        assert client.call("POST", "/containers/create", {"a": 1}, timeout=60) == {"Id": "abc"}


def test_chunked_responses_are_read(path: Path) -> None:
    with daemon(path, OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2;x=y\r\n2]\r\n0\r\n\r\n") as client:
        assert client.call("GET", "/x", timeout=60) == [1, 2]


def test_a_response_without_a_length_ends_with_the_connection(path: Path) -> None:
    with daemon(path, b"HTTP/1.0 200 OK\r\n\r\n[1", b", 2]") as client:
        assert client.call("GET", "/x", timeout=60) == [1, 2]


def test_no_content_is_none(path: Path) -> None:
    with daemon(path, b"HTTP/1.1 204 No Content\r\n\r\n") as client:
        assert client.call("DELETE", "/x", timeout=60) is None


@pytest.mark.parametrize(
    ("answer", "message", "status"),
    [
        (b'HTTP/1.1 409 Conflict\r\nContent-Length: 21\r\n\r\n{"message": "in use"}', "in use", 409),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops", "oops", 500),
        (b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "HTTP status 500", 500),
        (b"SSH-2.0-OpenSSH\r\n", NOT_HTTP, 0),
        (b"HTTP/1.1 many\r\n\r\n", NOT_HTTP, 0),
        (b"", INCOMPLETE, 0),
        (OK + b"Content-Length: 9\r\n\r\n[", INCOMPLETE, 0),
        (OK + b"Content-Length: 1\r\n\r\n[", f"{NOT_JSON}: Expecting value: line 1 column 2 (char 1)", 0),
        (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", NOT_HTTP, 0),
        (OK + b"Content-Length: -5\r\n\r\n[1, 2]", NOT_HTTP, 0),
        (b"x" * 70_000, NOT_HTTP, 0),
        (OK + b"\r\n" + b"[" * 100_000, f"{NOT_JSON}: it is nested too deeply", 0),
        (b"HTTP/1.1 500 Oops\r\n\r\n" + b"[" * 100_000, "[" * 1000, 500),
        (b'HTTP/1.1 500 Oops\r\n\r\n{"message": "a\\u001b[2J\\nb"}', "a [2J b", 500),
    ],
)
def test_failures_raise_api_error(path: Path, answer: bytes, message: str, status: int) -> None:
    with daemon(path, answer) as client, pytest.raises(ApiError) as caught:
        client.call("GET", "/x", timeout=60)
    assert (str(caught.value), caught.value.status) == (message, status)


def test_the_length_of_a_response_is_limited(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "MAX_RESPONSE_BYTES", 10)
    with daemon(path, OK + b"Content-Length: 99\r\n\r\n[" + b" " * 10) as client, pytest.raises(ApiError) as caught:
        client.call("GET", "/x", timeout=60)
    assert str(caught.value) == "the daemon's response is longer than 10 bytes"


def test_a_silent_daemon_times_out(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        with pytest.raises(ApiError, match="the daemon did not answer in time"):
            Client(str(path)).call("GET", "/x", timeout=0.05)


def test_a_missing_server_is_an_error(path: Path) -> None:
    with pytest.raises(
        ApiError,
        match=rf"the daemon at {path} cannot be reached \(no such file or directory\): it was stopped or killed",
    ):
        Client(str(path)).call("GET", "/x", timeout=60)


def test_an_upgrade_returns_a_raw_stream(path: Path) -> None:
    with daemon(path, b"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\n\r\nearly") as client:
        stream, early = client.upgrade("/attach", timeout=60)
        with stream:
            assert (early, stream.recv(10)) == (b"early", b"")


def test_lines_may_be_split_anywhere(path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with daemon(path, head, b'4\r\n{"a"\r\n', b'8\r\n: 1}\n\n{"\r\n', b'7\r\nb": 2}\n\r\n') as client:
        assert list(client.follow("/events", timeout=60)) == [{"a": 1}, {"b": 2}]
