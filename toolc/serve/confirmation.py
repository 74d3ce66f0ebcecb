"""Asks the person behind an MCP client whether a tool that says ``confirm: true`` may be called (elicitation).

Up to protocol 2025-11-25 the server asks while the call waits, one question at a time: a person can read no more,
and an answer must never be taken for that to another. Later versions have no request from server to
client: the call ends with a question, nothing of it having started, and comes again with the answer.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.types import (
    CallToolRequestParams,
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from toolc.model.call import Allow, BoundCall, Deny

ANSWERS_LATER: Final = "2026-07-28"
"""The first protocol version in which a question ends the call."""

MOST_SHOWN: Final = 4000
"""How much of a call's arguments is shown, in characters."""

_FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""Nothing is to be filled in: the answer is to accept or to decline."""


class UnansweredError(Exception):
    """The call needs an answer first; ``result`` asks for it."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("the call waits for an answer")
        self.result = result


class Person:
    """Whoever sits at the client that made one request. ``gone`` is set when the request is no more.

    ``asking`` is held by whoever asks this client.
    """

    def __init__(
        self,
        context: ServerRequestContext[dict[str, Any]],
        params: CallToolRequestParams,
        call_id: str,
        asking: anyio.Lock,
    ) -> None:
        self.gone = anyio.Event()
        self._asking = asking
        self._context = context
        self._answers = params.input_responses or {}
        self._loop = anyio.lowlevel.current_token()
        self.call_id = call_id

    @property
    def can_be_asked(self) -> bool:
        """Whether the client offers to ask."""
        wanted = ClientCapabilities(elicitation=ElicitationCapability())
        return self._context.session.check_client_capability(wanted)

    def confirm(self, call: BoundCall) -> Allow | Deny:
        """The answer for ``call``, on its thread. Raises ``UnansweredError``."""
        if self._context.protocol_version < ANSWERS_LATER:
            return _read(anyio.from_thread.run(self._ask, _question(call), token=self._loop))
        if call.call_id != self.call_id:
            return Deny("it is a part of another call, and this client can be asked before a call begins only")
        key = _key(call)
        if key in self._answers:
            return _read(self._answers[key])
        form = ElicitRequestFormParams(message=_question(call), requested_schema=_FORM)
        raise UnansweredError(InputRequiredResult(input_requests={key: ElicitRequest(params=form)}))

    async def _ask(self, message: str) -> object:
        """The client's answer; None where there is none."""
        answers: list[ElicitResult] = []
        session = self._context.session

        async def ask() -> None:
            async with self._asking:
                with suppress(MCPError):  # a client that cannot ask after all
                    answers.append(await session.elicit_form(message, _FORM, self._context.request_id))
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self.gone.wait()
            tasks.cancel_scope.cancel()
        return answers[0] if answers else None


def _key(call: BoundCall) -> str:
    """What a question is known by: the answer to one is none to another, should the arguments change."""
    asked = json.dumps([call.tool.name, call.arguments], sort_keys=True)
    return f"confirm {hashlib.sha256(asked.encode()).hexdigest()}"


def _question(call: BoundCall) -> str:
    shown = json.dumps(call.arguments, indent=2, ensure_ascii=False)
    cut = f"\n[{len(shown) - MOST_SHOWN} characters more]" if len(shown) > MOST_SHOWN else ""
    return f"Run the tool {call.tool.name} with these arguments?\n{shown[:MOST_SHOWN]}{cut}"


def _read(answer: object) -> Allow | Deny:
    """Whatever is not a plain yes is a no."""
    if isinstance(answer, ElicitResult) and answer.action == "accept":
        return Allow()
    return Deny()
