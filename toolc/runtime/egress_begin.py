"""How a connection begins: what the guest asks for, and the first step towards an address."""

from __future__ import annotations

import errno
import os
import socket

from toolc.backends.content import parse_json
from toolc.guest.frames import ProtocolError
from toolc.runtime.egress_policy import Decision
from toolc.runtime.egress_transport import Kind, Opening, RefusedError


def asked_for(payload: bytes) -> Opening:
    """What an OPEN frame asks for. Raises ``ProtocolError``."""
    try:
        message = parse_json(payload)
    except ValueError:
        message = None
    host, port = (message.get("host"), message.get("port")) if isinstance(message, dict) else (None, None)
    # Five digits can be written for a port; of thousands, each would be listed.
    if not isinstance(host, str) or not isinstance(port, int) or isinstance(port, bool) or not -1 < port < 10**5:
        raise ProtocolError("it opened a connection to nothing that is a host and a port")
    return Opening(host=host, port=port)


def begin(address: str, port: int) -> socket.socket:
    """A socket that is being connected: writable once it is, or cannot be. Raises ``OSError``."""
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    code = made.connect_ex((address, port))
    if code not in {0, errno.EINPROGRESS}:
        made.close()
        raise OSError(code, os.strerror(code))
    return made


def unreachable(decision: Decision, address: str, failure: OSError) -> RefusedError:
    """Why a server cannot be reached, ``failure`` being what came of ``address``, the last that was tried."""
    kind: Kind = "timeout" if isinstance(failure, TimeoutError) else "network"
    at = f" at {address}" if address not in {"", decision.host} else ""
    reason = f"{decision.host}{at}, port {decision.port}: {(failure.strerror or str(failure)).lower()}"
    return RefusedError(reason if decision.is_local else reason + about_proxies(), kind)


def about_proxies() -> str:
    """What to add where a connection failed, and this machine may reach others through a proxy only."""
    names = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
    name = next((each for each in names if os.environ.get(each)), None)
    return f" ({name} is set, and toolc connects directly: it uses no proxy)" if name else ""
