"""The OpenAPI document of ``/api/v1``: an operation for each tool of a client, and the fixed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.providers.openapi import document

_TEXT: Final[JsonObject] = {"type": "string"}


def _parameter(name: str, place: str, description: str = "", *, required: bool = False) -> JsonObject:
    found: JsonObject = {"name": name, "in": place, "required": required or place == "path", "schema": _TEXT}
    return found | ({"description": description} if description else {})


_ID, _NAME = _parameter("id", "path"), _parameter("name", "path")
_PREFER = _parameter("Prefer", "header", "With respond-async, the call is followed by its id.")
_PROVIDER = _parameter("provider", "query", "Whose definitions are counted in tokens.")
_BASE = _parameter("base", "query", "A commit to compare with. Default: HEAD.")
_LAST = _parameter("Last-Event-ID", "header")
_LINK = _parameter("toolc-link", "header", required=True)
_PATH = _parameter("path", "path", "A path in the workspace, whose folder exists. It may contain slashes.")
_REPLACE = _parameter("replace", "query", "With true, a file that exists is replaced. Otherwise, the status is 412.")
_PROBLEM: Final[JsonObject] = {
    "description": "The request was refused, or the server failed (RFC 9457).",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/problem"}}},
}
_FAILED: Final[JsonObject] = {
    "description": "The call failed, or its arguments are not valid.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/error"}}},
}
_STARTED: Final[JsonObject] = {
    "description": "The call has started. Location has its URL.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/call"}}},
}
_NOTHING: Final[JsonObject] = {"description": "Done."}

_SCHEMAS: Final[JsonObject] = {
    "problem": {
        "type": "object",
        "properties": {
            "type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT,
        },
        "required": ["type", "title", "status", "detail"],
    },
    "call": {
        "type": "object",
        "properties": {
            "id": _TEXT, "tool": _TEXT, "started": {"type": "number"},
            "status": {"enum": ["running", "ended", "failed"]}, "result": {"type": "object"}, "problem": _TEXT,
        },
        "required": ["id", "tool", "started"],
    },
    "confirmation": {
        "type": "object",
        "properties": {
            "id": _TEXT, "client": _TEXT, "tool": _TEXT, "question": _TEXT, "arguments": {"type": "object"},
            "asked": {"type": "number"},
        },
        "required": ["id", "client", "tool", "question", "arguments", "asked"],
    },
    "caller": {
        "type": "object",
        "properties": {
            "client": _TEXT, "role": {"enum": ["caller", "reviewer"]}, "is_session": {"type": "boolean"},
        },
        "required": ["client", "role", "is_session"],
    },
    "session": {
        "type": "object",
        "properties": {"client": _TEXT, "key": _TEXT},
        "required": ["client", "key"],
    },
    "answer": {
        "type": "object",
        "properties": {"allow": {"type": "boolean"}, "reason": _TEXT, "arguments": {"type": "object"}},
        "required": ["allow"],
    },
}  # fmt: skip


def api_document(tools: Sequence[ToolSpec], base: str) -> JsonObject:
    """Return the document for a client that may use these tools."""
    result = document(tools)
    components, paths = result["components"], result["paths"]
    assert isinstance(components, dict)
    assert isinstance(components["schemas"], dict)
    assert isinstance(paths, dict)
    components["schemas"] |= _SCHEMAS
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for tool, item in zip(tools, paths.values(), strict=True):
        assert isinstance(item, dict)
        assert isinstance(item["post"], dict)
        item["post"] |= {"parameters": [_PREFER]}
        assert isinstance(item["post"]["responses"], dict)
        item["post"]["responses"] |= {"202": _STARTED, "422": _FAILED, "default": _PROBLEM}
        item["get"] = _get(f"describe.{tool.name}", "Describe this tool", {"type": "object"})
    arguments: JsonObject = {"content": {"application/json": {"schema": {"type": "object"}}}, "required": True}
    answers: JsonObject = {"200": _json("The result.", {"type": "object"}), "202": _STARTED, "422": _FAILED}
    fixed: JsonObject = {
        "/tools": {"get": _get("listTools", "List the tools", _object("tools", {"type": "object"}))},
        "/tools/{name}": {
            "get": _get("describeTool", "Describe a tool", {"type": "object"}, _NAME),
            "post": _operation("callTool", "Call a tool", answers, _NAME, _PREFER) | {"requestBody": arguments},
        },
        "/providers/{name}": {
            "get": _get("providerDefinitions", "Return the tools for a provider's SDK", {"type": "object"}, _NAME)
        },
        "/calls": {"get": _get("listCalls", "List the running calls of this client", _object("calls", _ref("call")))},
        "/calls/{id}": {
            "get": _get("callState", "Return the state of a call", _ref("call"), _ID),
            "delete": _operation("cancelCall", "Cancel a call", {"204": _NOTHING}, _ID),
        },
        "/calls/{id}/events": {
            "get": _operation(
                "callEvents", "Follow a call", {"200": _content("Its events.", "text/event-stream", _TEXT)}, _ID, _LAST
            )
        },
        "/confirmations": {
            "get": _get("listConfirmations", "List calls that wait for a reviewer",
                        _object("confirmations", _ref("confirmation")))
        },
        "/confirmations/{id}": {
            "post": _operation("answerConfirmation", "Confirm or deny a call", {"204": _NOTHING, "422": _FAILED}, _ID)
            | {"requestBody": {"required": True, "content": {"application/json": {"schema": _ref("answer")}}}}
        },
        "/session": {
            "get": _get("session", "Return the client and its role", _ref("caller")),
            "post": _operation("signIn", "Start a session with the secret of a link",
                               {"200": _json("The session.", _ref("session"))}, _LINK),
            "delete": _operation("signOut", "End the session", {"204": _NOTHING}),
        },
        "/catalog": {"get": _get("listCatalog", "List the tools with permissions, tokens, lock states and results "
                                 "of tests", _object("tools", {"type": "object"}), _PROVIDER)},
        "/catalog/{name}": {"get": _get("catalogEntry", "Describe a tool as providers and reviewers see it",
                                        {"type": "object"}, _NAME)},
        "/catalog/{name}/tests": {"post": _operation("runTests", "Run the tests of a tool", {
            "200": _json("Their results.", _object("tests", {"type": "object"}))}, _NAME)},
        "/review": {"get": _get("review", "Return what changed since the lock file and a commit, for a reviewer",
                                {"type": "object"}, _BASE)},
        "/workspace/{path}": {"put": _operation("uploadFile", "Write a file to the workspace of this client",
                                                {"201": _NOTHING, "204": _NOTHING}, _PATH, _REPLACE)
                              | {"requestBody": {"required": True, "content": {"*/*": {}}}}},
        "/openapi.json": {"get": _get("openapi", "Return this document", {"type": "object"})},
    }  # fmt: skip
    paths |= fixed
    # A token is not needed on a loopback address.
    return {**result, "servers": [{"url": base}], "security": [{"token": []}, {}]}


def _ref(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(key: str, items: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {key: {"type": "array", "items": items}}, "required": [key]}


def _content(description: str, media_type: str, schema: JsonObject) -> JsonObject:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _json(description: str, schema: JsonObject) -> JsonObject:
    return _content(description, "application/json", schema)


def _get(name: str, summary: str, schema: JsonObject, *parameters: JsonValue) -> JsonObject:
    return _operation(name, summary, {"200": _json(f"{summary}.", schema)}, *parameters)


def _operation(name: str, summary: str, responses: JsonObject, *parameters: JsonValue) -> JsonObject:
    return {
        "operationId": f"_{name}",  # a tool cannot have a name with this start
        "summary": summary,
        "parameters": [*parameters],
        "responses": responses | {"default": _PROBLEM},
    }
