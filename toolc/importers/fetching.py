"""Fetch a document from a URL, with the same address checks as for the connections of tools."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from threading import Timer
from typing import Final
from urllib.parse import urljoin

from toolc.model.errors import UsageError
from toolc.model.spec.sandbox import Destination
from toolc.runtime.egress.egress_policy import LOOPBACK, Decision, admit, decide
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.http.request import Target, parse_url

TOTAL_S: Final = 300.0
"""How long a response may take in all, in seconds. Large documents have some megabytes."""

_TIMEOUT_S: Final = 30.0
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


def destination_of(url: str) -> Destination:
    """Return the host and port of a URL. Raises ``UsageError``."""
    target = _target(url)
    return Destination(kind="exact", host=target.host, port=target.port)


def fetch(
    url: str, allow: Sequence[Destination], max_bytes: int, *, seconds: float = TOTAL_S, how: str = "pass --allow-ref"
) -> bytes:
    """Return the content of a URL. Raises ``UsageError`` unless every host on the way is allowed and public.

    Each response must arrive within ``seconds``. ``how`` is the part of messages that says how to allow another
    destination.
    """
    for _ in range(_MAX_REDIRECTS + 1):
        target = _target(url)
        addresses = _addresses(target, allow, how)
        status, location, data = _request(target, addresses, url, max_bytes, seconds)
        if status == 200:
            return data
        if status not in _REDIRECTS or not location:
            raise UsageError(f"{url} responded with status {status}")
        url = urljoin(url, location)
    raise UsageError(f"{url} redirects too often")


def _target(url: str) -> Target:
    try:
        return parse_url(url)
    except RefusedError as error:
        raise UsageError(str(error)) from None


def _addresses(target: Target, allow: Sequence[Destination], how: str) -> tuple[str, ...]:
    decision = decide(allow, target.host, target.port)
    if decision.entry is None:
        raise UsageError(f"{target.authority} is another host; to read from it, {how} {target.authority}")
    try:
        admission = admit(decision, allow, _resolved(decision))
    except OSError as error:
        raise UsageError(f"{target.host} cannot be resolved: {error.strerror or error}") from None
    if not admission.addresses:
        reason = admission.reason.partition("; only an entry")[0]
        raise UsageError(f"{reason}; to read from it, {how} {admission.remedy}")
    return admission.addresses


def _resolved(decision: Decision) -> list[str]:
    if decision.is_local:
        return [decision.host] if decision.is_literal else [*LOOPBACK]
    found = socket.getaddrinfo(decision.host, decision.port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


def _request(
    target: Target, addresses: Sequence[str], url: str, max_bytes: int, seconds: float
) -> tuple[int, str, bytes]:
    problem = ""
    for address in addresses:
        try:
            stream = socket.create_connection((address, target.port), min(seconds, _TIMEOUT_S))
            with stream, _ending(stream, seconds):
                return _exchange(target, stream, url, max_bytes)
        except (OSError, HTTPException) as error:
            problem = str(error)
    raise UsageError(f"{url} cannot be read: {problem[:200]}")


@contextmanager
def _ending(stream: socket.socket, seconds: float) -> Iterator[None]:
    """Close a connection after some time, because a server that sends single bytes never exceeds a read timeout."""
    same = stream.dup()  # TLS takes the descriptor of the original
    timer = Timer(seconds, same.shutdown, [socket.SHUT_RDWR])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        same.close()


def _exchange(target: Target, stream: socket.socket, url: str, max_bytes: int) -> tuple[int, str, bytes]:
    connection = HTTPConnection(target.host, target.port, timeout=_TIMEOUT_S)
    if target.scheme == "https":
        stream = ssl.create_default_context().wrap_socket(stream, server_hostname=target.host)
    connection.sock = stream
    headers = {"Host": target.authority, "Accept": "application/json, application/yaml, */*", "User-Agent": "toolc"}
    connection.request("GET", target.path, headers=headers)
    response = connection.getresponse()
    data = response.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UsageError(f"{url} is larger than the limit of {max_bytes >> 20} MiB")
    return response.status, response.getheader("Location", ""), data
