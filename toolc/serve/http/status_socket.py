"""Answer ``toolc serve --status`` with the state of this server, and ``toolc token link`` with a link to sign in."""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from typing import Final

import anyio
from anyio.abc import ByteStream, TaskStatus

from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.serve.http.host import HttpHost
from toolc.serve.http.settings import HttpSettings
from toolc.serve.http.sign_in import SignIn
from toolc.serve.status import status_folder

_SECONDS: Final = 5.0


class StatusSocket:
    """A local socket that answers one request per connection."""

    def __init__(self, host: HttpHost, settings: HttpSettings, sign_in: SignIn) -> None:
        self._host = host
        self._settings = settings
        self._sign_in = sign_in

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Answer requests until cancelled. If the socket cannot be opened, log the reason. The server works without it.

        ``task_status`` is started once the socket accepts connections.
        """
        try:
            path = status_folder() / f"serve-{os.getpid()}.sock"
            # Renamed once it accepts connections, because clients remove sockets that refuse them.
            new = path.with_name(f"new-{path.name}")
            listener = await anyio.create_unix_listener(new, mode=0o600)
            new.rename(path)
        except (OSError, UsageError) as error:
            logging.getLogger("toolc").warning("toolc serve --status cannot find this server: %s", error)
            task_status.started()
            return
        task_status.started()
        try:
            async with listener:
                await listener.serve(self._answer)
        finally:
            path.unlink(missing_ok=True)

    async def _answer(self, stream: ByteStream) -> None:
        with anyio.move_on_after(_SECONDS):
            async with stream:
                with suppress(ValueError, AttributeError, anyio.EndOfStream, anyio.BrokenResourceError):
                    request = json.loads(await stream.receive())
                    client = request.get("link")
                    answer = self._state(request.get("cancel")) if client is None else self._link(str(client))
                    await stream.send(json.dumps(answer).encode())

    def _link(self, client: str) -> JsonObject:
        try:
            return {"link": self._sign_in.new_link(client, self._settings)}
        except UsageError as error:
            return {"problem": str(error)}

    def _state(self, cancel: object) -> JsonObject:
        host, running = self._host, self._host.calls.running
        call = running.get(str(cancel))
        if call:
            call.cancellation.cancel()
        return {
            "pid": os.getpid(),
            "url": self._settings.url,
            "generation": host.generation,
            "tools": len(host.tools),
            "problem": host.problem,
            "clients": {name: client.reserved for name, client in host.clients.items()},
            "calls": [
                {"id": each.call_id, "client": each.owner.name, "tool": each.tool, "started": each.started}
                for each in running.values()
            ],
            "cancelled": call is not None,
        }
