"""``/api/v1``: tools, calls and confirmations for programs that do not speak MCP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from toolc.client.executor import Executor
from toolc.client.serialization import result_to_json
from toolc.model.call import Allow, Deny
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import ToolResult, failure
from toolc.model.spec.tool import ToolSpec
from toolc.providers.mcp import hints
from toolc.providers.openapi import document
from toolc.serve.confirmations import Confirmations
from toolc.serve.http.api_calls import ApiCall, ApiCalls
from toolc.serve.http.gate import BODY, reviewer_of, user_of
from toolc.serve.http.problems import problem
from toolc.serve.http.settings import HttpSettings
from toolc.serve.served_client import QuotaError

PREFIX: Final = "/api/v1"

# The names of its operations start with an underscore, unlike those of tools.
_DOCUMENT: Final = Path(__file__).with_suffix(".json")
_PARTS: Final = "#/components"


class Api:
    """The routes of the API. ``source`` is the served spec, folder or registry, or None for built-in tools.

    ``tasks`` runs calls that outlive their requests.
    """

    def __init__(self, settings: HttpSettings, confirmations: Confirmations, source: Path | None) -> None:
        self._base = f"{settings.base_path}{PREFIX}"
        self._confirmations = confirmations
        self._source = None if source is None else str(source)
        self._calls = ApiCalls()
        self.tasks: TaskGroup | None = None

    def routes(self) -> list[Route]:
        """Return the routes below ``PREFIX``."""
        return [
            Route("/openapi.json", self._document),
            Route("/tools", self._tools),
            # One route for each path, so that an Allow header lists all of its methods.
            Route("/tools/{name}", self._tool, methods=["GET", "POST"]),
            Route("/providers/{name}", self._definitions),
            Route("/calls", self._running),
            Route("/calls/{id}", self._state, methods=["GET", "DELETE"]),
            Route("/calls/{id}/events", self._events),
            Route("/confirmations", self._questions),
            Route("/confirmations/{id}", self._answer, methods=["POST"]),
        ]

    async def _document(self, request: Request) -> Response:
        return JSONResponse(api_document(user_of(request).client.executor.tools, self._base))

    async def _tools(self, request: Request) -> Response:
        return JSONResponse({"tools": [_summary(tool) for tool in user_of(request).client.executor.tools]})

    async def _tool(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._call(request)
        tool = _find(user_of(request).client.executor, request.path_params["name"])
        return _no_tool(request) if tool is None else JSONResponse(_description(tool) | {"source": self._source})

    async def _definitions(self, request: Request) -> Response:
        executor, name = user_of(request).client.executor, request.path_params["name"]
        return JSONResponse({"tools": executor.definitions(name), "options": executor.request_options(name)})

    async def _call(self, request: Request) -> Response:
        user, client = user_of(request), user_of(request).client
        name, arguments = request.path_params["name"], _arguments(request.scope[BODY])
        refused = partial(client.record_refusal, name, arguments, claims=user.caller.claims)
        tool = _find(client.executor, name)
        if tool is None:
            await refused("not_found")
            return _no_tool(request)
        if isinstance(arguments, str):
            await refused("invalid_args")
            return _answered(failure("invalid_args", arguments))
        try:
            reservation = client.reserve()
        except QuotaError:
            await refused("quota")
            raise
        if "respond-async" in request.headers.get("prefer", "").replace(",", " ").split():
            assert self.tasks is not None
            call: ApiCall = await self.tasks.start(self._calls.start, user, tool.name, arguments, reservation)
            location = f"{self._base}/calls/{call.running.call_id}"
            return JSONResponse(
                call.to_json(), 202, headers={"Location": location, "Preference-Applied": "respond-async"}
            )
        ended = await _unless_disconnected(request, partial(self._calls.run, user, tool.name, arguments, reservation))
        return Response(status_code=499) if ended is None else _answered(ended.outcome)

    async def _running(self, request: Request) -> Response:
        client = user_of(request).client
        calls = [each for each in client.calls.running.values() if each.owner.key == client.key]
        listed: list[JsonValue] = [{"id": each.call_id, "tool": each.tool, "started": each.started} for each in calls]
        return JSONResponse({"calls": listed})

    async def _state(self, request: Request) -> Response:
        if request.method == "DELETE":
            return await self._cancel(request)
        call = self._calls.find(user_of(request).client, request.path_params["id"])
        return _no_call() if call is None else JSONResponse(call.to_json())

    async def _cancel(self, request: Request) -> Response:
        client, call_id = user_of(request).client, request.path_params["id"]
        running = client.calls.running.get(call_id)
        if running is None or running.owner.key != client.key:
            return _no_call() if self._calls.find(client, call_id) is None else Response(status_code=204)
        running.cancellation.cancel()
        return Response(status_code=204)

    async def _events(self, request: Request) -> Response:
        call = self._calls.find(user_of(request).client, request.path_params["id"])
        after = request.headers.get("last-event-id", "0")
        if call is None:
            return _no_call()

        async def stream() -> AsyncIterator[str]:
            async for number, event in call.events(int(after) if after.isdecimal() and len(after) < 10 else 0):
                yield f"id: {number}\nevent: {event['event']}\ndata: {json.dumps(event)}\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    async def _questions(self, request: Request) -> Response:
        waiting = self._confirmations.waiting(reviewer_of(request))
        return JSONResponse({"confirmations": [each.to_json() for each in waiting]})

    async def _answer(self, request: Request) -> Response:
        reviewer, given = reviewer_of(request), _arguments(request.scope[BODY])
        changed = None if isinstance(given, str) else given.get("arguments")
        if isinstance(given, str) or not isinstance(given.get("allow"), bool) or not isinstance(changed, dict | None):
            forms = '{"allow": true}, {"allow": true, "arguments": {…}} or {"allow": false, "reason": "…"}'
            return _answered(failure("invalid_args", f"send {forms}"))
        decision = Allow(changed) if given["allow"] else Deny(str(given.get("reason") or ""))
        if not self._confirmations.answer(request.path_params["id"], reviewer, decision):
            return problem(404, "no call of another client waits for this confirmation; it may have been answered")
        return Response(status_code=204)


def api_document(tools: Sequence[ToolSpec], base: str) -> JsonObject:
    """Return the OpenAPI document for a client that may use these tools. ``api.json`` has the other operations."""
    fixed = json.loads(_DOCUMENT.read_bytes())
    result: dict[str, Any] = document(tools)
    describe = fixed["paths"]["/tools/{name}"]["get"]
    outcomes = {"202": "started", "422": "failed", "default": "problem"}
    for tool, item in zip(tools, result["paths"].values(), strict=True):
        item["post"]["parameters"] = [{"$ref": f"{_PARTS}/parameters/prefer"}]
        item["post"]["responses"] |= {each: {"$ref": f"{_PARTS}/responses/{name}"} for each, name in outcomes.items()}
        item["get"] = {**describe, "operationId": f"_describe.{tool.name}", "parameters": []}
    fixed["components"]["schemas"] |= result["components"]["schemas"]
    # A token is not needed on a loopback address.
    return {
        **result,
        "components": fixed["components"],
        "paths": result["paths"] | fixed["paths"],
        "servers": [{"url": base}],
        "security": [{"token": []}, {}],
    }


async def _unless_disconnected(request: Request, run: Any) -> ApiCall | None:
    """Run a call. If the client disconnects, cancel it and return None."""
    ended: list[ApiCall] = []

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        ended.append(await run())
        tasks.cancel_scope.cancel()
    return ended[0] if ended else None


def _find(executor: Executor, name: str) -> ToolSpec | None:
    return next((tool for tool in executor.tools if name in (tool.name, *tool.aliases)), None)


def _arguments(body: bytes) -> JsonObject | str:
    """Return the JSON object in a body, or an error message."""
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError) as error:
        return f"the body of the request is not JSON: {str(error)[:200]}"
    return value if isinstance(value, dict) else "the body of the request must be a JSON object with the arguments"


def _answered(outcome: ToolResult | tuple[int, str] | None) -> Response:
    match outcome:
        case ToolResult() as result:
            return JSONResponse(result_to_json(result), 422 if result.is_error else 200)
        case status, message:
            return problem(status, message)
        case None:
            return problem(500, "this is a bug in toolc: the call has no outcome")


def _summary(tool: ToolSpec) -> JsonObject:
    tags: list[JsonValue] = [*tool.tags]
    return {
        "name": tool.name,
        "title": tool.label or tool.name,
        "description": tool.description,
        "tags": tags,
        "annotations": hints(tool),
        "confirm": tool.confirm,
        "workspace": tool.sandbox.workspace,
        "deprecated": tool.deprecated is not None,
    }


def _description(tool: ToolSpec) -> JsonObject:
    result = tool.result_schema.value if tool.result_schema else None
    examples: list[JsonValue] = [*tool.examples]
    return _summary(tool) | {"parameters": tool.parameters.value, "result": result, "examples": examples}


def _no_tool(request: Request) -> Response:
    return problem(404, f"there is no tool {request.path_params['name']!r:.80} for this client; see {PREFIX}/tools")


def _no_call() -> Response:
    return problem(404, "this client has no such call; finished calls are kept for a limited time")
