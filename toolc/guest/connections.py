"""Remember the last host that the tool's code connected to.

Without a network, a connection fails with an error that does not name the host.
"""

from __future__ import annotations

import errno
import sys

_LAST: list[str] = []


def watch() -> None:
    """Start recording the hosts of connections. Call it once per process: audit hooks (PEP 578) cannot be removed."""
    sys.addaudithook(_remember)


def _remember(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host, port = arguments[0], arguments[1]
    elif event == "socket.connect" and isinstance(arguments[1], tuple) and len(arguments[1]) >= 2:
        host, port = arguments[1][:2]
        if _LAST and _LAST[1] == str(port):
            return  # the address of the host that was just looked up
    else:
        return
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if isinstance(host, str) and isinstance(port, (int, str)):
        _LAST[:] = [host, str(port)]


def note(error: BaseException) -> str:
    """Return a note about the last host if ``error`` is, or was caused by, a failed connection, otherwise ``""``."""
    seen = 0
    cause: BaseException | None = error
    while cause is not None and seen < 20:
        if _is_network_error(cause):
            return " [connecting to %s port %s]" % (_LAST[0], _LAST[1]) if _LAST and _LAST[1].isdigit() else ""
        reason = getattr(cause, "__dict__", {}).get("reason")  # of URLError; a property could run any code
        cause = reason if isinstance(reason, BaseException) else cause.__cause__ or cause.__context__
        seen += 1
    return ""


def _is_network_error(error: BaseException) -> bool:
    if type(error).__name__ == "gaierror":
        return True
    return isinstance(error, OSError) and error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)
