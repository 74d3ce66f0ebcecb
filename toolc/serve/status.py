"""Query the running servers of this user over local sockets, for ``toolc serve --status`` and ``toolc token link``."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject

_SECONDS: Final = 5.0
_MAX_BYTES: Final = 16 * 2**20


def status_folder() -> Path:
    """Return the folder of the sockets, which only this user can access. Raises ``UsageError``."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    # In /tmp, other users can neither replace the folder nor, after the check below, have created it.
    folder = Path(runtime) / "toolc" if runtime else Path(f"/tmp/toolc-{os.geteuid()}")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise UsageError(f"other users can access {folder}; run: chmod 700 {folder}")
    return folder


def ask_servers(request: JsonObject) -> Iterator[JsonObject]:
    """Yield the answer of each server, and remove the sockets of servers that have ended.

    The answer to ``{"link": CLIENT}`` has a ``link`` that signs in, or a ``problem``. For ``{"cancel": CALL}``, a
    server cancels the call if it runs there, and answers with its state.
    """
    for path in sorted(status_folder().glob("serve-*.sock")):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_SECONDS)
            try:
                connection.connect(str(path))
            except ConnectionRefusedError:
                path.unlink(missing_ok=True)
                continue
            with suppress(OSError, ValueError):
                connection.sendall(json.dumps(request).encode() + b"\n")
                with connection.makefile("rb") as answer:
                    state = json.loads(answer.read(_MAX_BYTES))
                    if isinstance(state, dict):
                        yield state
