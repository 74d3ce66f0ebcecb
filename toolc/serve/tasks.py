"""Run long calls as tasks, with the extension ``io.modelcontextprotocol/tasks`` (SEP-2663) of revision 2026-07-28.

If a tool may run for a long time, a client that declares the extension receives a task instead of a result. It can poll
the task, answer its questions and cancel it. Tasks belong to the client and end with the server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from secrets import token_urlsafe
from time import monotonic
from typing import Any, Final

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup, TaskStatus
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp.types import INVALID_PARAMS, CallToolResult, ClientCapabilities, ElicitRequest, ElicitResult, RequestParams
from mcp_types.jsonrpc import HEADER_MISMATCH, MISSING_REQUIRED_CLIENT_CAPABILITY
from pydantic import Field, ValidationError

from toolc.client.executor import Executor
from toolc.model.call import Allow, BoundCall, Confirm, Deny
from toolc.model.events import Event
from toolc.model.json_schema import JsonObject, map_under
from toolc.serve.confirmations import Confirmations
from toolc.serve.mcp_call import Context, answer_of
from toolc.serve.mcp_interaction import (
    ENDS_WITH_QUESTION,
    ClientConfirmation,
    InputRequiredError,
    decision_of,
    form_of,
    progress_report,
)
from toolc.serve.mcp_options import McpOptions
from toolc.serve.served_client import QuotaError, RunningCall, ServedClient

EXTENSION: Final = "io.modelcontextprotocol/tasks"

KEEP_SECONDS: Final = 600.0
"""How long the result of a task is kept after its end, in seconds."""

MAX_OPEN: Final = 32
"""The maximum number of tasks of a client that run or wait, because each keeps its arguments, of up to 4 MiB."""

MAX_KEPT: Final = 100
"""The maximum number of finished tasks of a client that are kept. The oldest are dropped."""

MAX_KEPT_BYTES: Final = 32 * 2**20
"""The maximum size of the results of a client that are kept, in bytes. The oldest are dropped."""

POLL_MS: Final = 1000
"""How often a client should ask for the state of a task, in milliseconds."""


class TaskRequiredError(MCPError):
    """The call can only run as a task, and the client does not support tasks."""

    def __init__(self, subject: str) -> None:
        message = f"{subject} needs the extension {EXTENSION}, which the client has not declared"
        needed: JsonObject = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        super().__init__(MISSING_REQUIRED_CLIENT_CAPABILITY, message, needed)


class TaskParams(RequestParams):
    """The parameters of ``tasks/get`` and ``tasks/cancel``."""

    task_id: str = Field(alias="taskId")


class UpdateParams(TaskParams):
    """The parameters of ``tasks/update``."""

    input_responses: dict[str, Any] = Field(alias="inputResponses")


class Task:
    """A call of a client that runs in the background. Use it on the thread of the event loop."""

    def __init__(self, call: RunningCall) -> None:
        self.task_id = token_urlsafe(16)
        self.client = call.owner.key
        self.scope = anyio.CancelScope()
        self.questions = Confirmations(call.owner.calls.running)
        self.message = ""
        self.ended: float | None = None
        self.size = 0
        self._outcome: JsonObject = {"status": "working"}
        self._created = self._updated = datetime.now(UTC)

    def to_json(self) -> JsonObject:
        """Return the fields of the task that do not depend on its status."""
        lived_seconds = (self._updated - self._created).total_seconds()
        kept_ms = None if self.ended is None else int((lived_seconds + KEEP_SECONDS) * 1000)
        task: JsonObject = {
            "taskId": self.task_id, "status": "working", "createdAt": _iso(self._created),
            "lastUpdatedAt": _iso(self._updated), "ttlMs": kept_ms, "pollIntervalMs": POLL_MS,
        }  # fmt: skip
        return task | ({"statusMessage": self.message} if self.message else {})

    def detailed(self) -> JsonObject:
        """Return the task with its result, its error or its questions."""
        waiting = self.questions.waiting("") if self.ended is None else []
        if not waiting:
            return self.to_json() | self._outcome
        requests: JsonObject = {
            each.identifier: ElicitRequest(params=form_of(each.call)).model_dump(by_alias=True, exclude_none=True)
            for each in waiting
        }
        return self.to_json() | {"status": "input_required", "inputRequests": requests}

    def report(self, message: str) -> None:
        """Set the status message of the task."""
        self.message, self._updated = message, datetime.now(UTC)

    def end(self, outcome: JsonObject, message: str) -> None:
        """Set the result or the error, or mark the task as cancelled."""
        self._outcome, self.ended = outcome, monotonic()
        self.size = len(json.dumps(outcome))
        self.report(message)


class Tasks:
    """The tasks of all clients of a server. A call becomes a task if the tool's time limit is above the threshold."""

    def __init__(self, options: McpOptions) -> None:
        self._options = options
        self._tasks: dict[str, Task] = {}
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def lifespan(self, _: Server[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
        """Run tasks until the server ends, then cancel them."""
        async with anyio.create_task_group() as self._group:
            yield {}
            self._group.cancel_scope.cancel()

    def register(self, server: Server[dict[str, Any]], client_of: Callable[[Context], ServedClient]) -> None:
        """Register the methods of the extension with a server."""

        async def get(context: Context, params: TaskParams) -> JsonObject:
            return self._find(context, client_of(context), params.task_id).detailed()

        async def update(context: Context, params: UpdateParams) -> JsonObject:
            task = self._find(context, client_of(context), params.task_id)
            waiting = {each.identifier: each.call for each in task.questions.waiting("")}
            try:
                for key in waiting.keys() & params.input_responses.keys():
                    answer = ElicitResult.model_validate(params.input_responses[key])
                    task.questions.answer(key, "", decision_of(answer, waiting[key]))
            except ValidationError:
                raise MCPError(INVALID_PARAMS, "a response is not the result of elicitation/create") from None
            return {}

        async def cancel(context: Context, params: TaskParams) -> JsonObject:
            self._find(context, client_of(context), params.task_id).scope.cancel()
            return {}

        server.extensions[EXTENSION] = {}
        server.add_request_handler("tasks/get", TaskParams, get)
        server.add_request_handler("tasks/update", UpdateParams, update)
        server.add_request_handler("tasks/cancel", TaskParams, cancel)

    def accepts(self, context: Context, executor: Executor, tool: str) -> bool:
        """Return whether a call of this tool becomes a task. Raises ``TaskRequiredError``."""
        registry = executor.registry
        seconds = registry.registered(tool).spec.sandbox.limits.timeout_ms / 1000 if tool in registry else 0
        is_able = context.protocol_version >= ENDS_WITH_QUESTION and _has_declared(context)
        limit = self._options.only_task_seconds
        if not is_able and limit is not None and seconds > limit:
            raise TaskRequiredError(f"a call of {tool!r}, which may take {seconds:g} seconds,")
        return is_able and seconds > self._options.task_seconds

    async def start(
        self,
        client: ServedClient,
        opening: AbstractContextManager[RunningCall],
        arguments: JsonObject,
        confirmation_of: Callable[[str], ClientConfirmation],
    ) -> JsonObject:
        """Start a call as a task, and return the task. Raises ``QuotaError``.

        ``confirmation_of`` takes the id of the call and returns its confirmation, with the answer about the call
        itself.
        """
        assert self._group is not None
        if sum(task.client == client.key and task.ended is None for task in self._tasks.values()) >= MAX_OPEN:
            raise QuotaError(f"{MAX_OPEN} tasks of this client are running, which is the maximum", 1)
        task: Task = await self._group.start(self._run, opening, arguments, confirmation_of)
        return task.to_json() | {"resultType": "task"}

    async def _run(
        self,
        opening: AbstractContextManager[RunningCall],
        arguments: JsonObject,
        confirmation_of: Callable[[str], ClientConfirmation],
        *,
        task_status: TaskStatus[Task],
    ) -> None:
        with opening as call:
            task, answered = Task(call), confirmation_of(call.call_id)
            ask = task.questions.confirm_for(task.task_id)
            confirm = partial(_confirm, answered, ask) if answered.is_supported else None
            self._tasks[task.task_id] = task
            task_status.started(task)
            attempt = partial(_attempt, call, arguments, _progress_of(task), confirm)
            outcome: JsonObject = {"status": "cancelled"}
            with task.scope:
                outcome = await call.on_thread(attempt)
            is_closing = call.owner.calls.is_closing and outcome["status"] == "cancelled"
            reason = "the server is shutting down" if is_closing else map_under(outcome, "error").get("message", "")
            task.end(outcome, str(reason))
        self._forget(task.client)

    def _find(self, context: Context, client: ServedClient, task_id: str) -> Task:
        """Return a task of this client. Raises ``MCPError``."""
        if not _has_declared(context):
            raise TaskRequiredError("this method")
        header = context.request.headers.get(MCP_NAME_HEADER) if context.request else None
        if context.request and decode_header_value(header) != task_id:
            raise MCPError(HEADER_MISMATCH, f"the header {MCP_NAME_HEADER} must have the value of taskId")
        self._forget(client.key)
        task = self._tasks.get(task_id)
        if task is None or task.client != client.key:
            reasons = "Either its result is no longer kept, or the server was restarted, which ends all tasks"
            raise MCPError(INVALID_PARAMS, f"there is no such task. {reasons}")
        return task

    def _forget(self, client: object) -> None:
        """Drop old results, and the oldest results of this client if there are too many or they are too large."""
        limit = monotonic() - KEEP_SECONDS
        self._tasks = {key: task for key, task in self._tasks.items() if task.ended is None or task.ended > limit}
        ended = [(task.ended, task) for task in self._tasks.values() if task.client == client and task.ended]
        newest_first = [task for _, task in sorted(ended, key=lambda each: -each[0])]
        size = 0
        for position, task in enumerate(newest_first):
            size += task.size
            if position and (position >= MAX_KEPT or size > MAX_KEPT_BYTES):
                del self._tasks[task.task_id]


def _has_declared(context: Context) -> bool:
    return context.session.check_client_capability(ClientCapabilities(extensions={EXTENSION: {}}))


def _confirm(answered: ClientConfirmation, ask: Confirm, call: BoundCall) -> Allow | Deny:
    """Return the answer that the client sent with this call. For a call that is part of it, ask."""
    if call.call_id != answered.call_id:
        return ask(call)
    try:
        return answered.confirm(call)
    except InputRequiredError:
        return Deny("the client answered a different question")


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _progress_of(task: Task) -> Callable[[Event], None]:
    loop = anyio.lowlevel.current_token()

    def on_event(event: Event) -> None:
        if (update := progress_report(event)) is not None:
            percent = "" if update.percent is None else f"{update.percent:g} %"
            message = " ".join(filter(None, (percent, update.message)))
            anyio.from_thread.run_sync(task.report, message, token=loop)

    return on_event


def _attempt(
    call: RunningCall, arguments: JsonObject, on_event: Callable[[Event], None], confirm: Confirm | None
) -> JsonObject:
    result = answer_of(call, call.run(arguments, on_event, confirm))
    is_success = isinstance(result, CallToolResult) and not result.is_error
    if call.cancellation.is_cancelled and not is_success:
        return {"status": "cancelled"}
    if isinstance(result, CallToolResult):
        return {"status": "completed", "result": result.model_dump(mode="json", by_alias=True, exclude_none=True)}
    return {"status": "failed", "error": result.error.model_dump(mode="json", by_alias=True, exclude_none=True)}
