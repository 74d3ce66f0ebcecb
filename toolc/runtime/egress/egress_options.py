"""How the connections of a call are made, without the code that makes them, which few calls need."""

from collections.abc import Callable
from typing import Final, TypeAlias

from toolc.dataclass import dataclass, field
from toolc.model.result import ConnectionAttempt
from toolc.runtime.egress.transport import ConnectionRequest
from toolc.runtime.secrets.redaction import Redactor

IDLE_SECONDS: Final = 300.0
"""How long a connection of a tool may be idle in both directions, in seconds. Proxies often have the same limit.

The timeout of most calls is shorter.
"""

EXPIRY_SECONDS: Final = 1.0
"""The interval between checks for connections that have waited too long, in seconds.

The limits themselves are at least 5 seconds.
"""

Listener: TypeAlias = Callable[[ConnectionAttempt], None]
"""Called with every connection that was made, was refused, or failed."""

RequestHandler: TypeAlias = Callable[[bytes], ConnectionRequest]
"""Creates the connection for the payload of a REQUEST frame. Raises ``RefusedError`` or ``ProtocolError``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Egress:
    """The listener for connections, the handler of REQUEST frames, and the redactor of secrets.

    ``idle_seconds`` is how long a connection may be idle in both directions.
    """

    on_attempt: Listener = lambda _: None
    requests: RequestHandler | None = None
    redactor: Redactor = field(default_factory=Redactor)
    idle_seconds: float = IDLE_SECONDS
