"""``PUT /api/v1/workspace/PATH``: a client writes a file that its tools could also change."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolc.model.call import FileChange, ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.result import ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.execution.batch import new_call_id
from toolc.runtime.workspace.mount import mount
from toolc.runtime.workspace.transaction.allowed_changes import refusal_reason
from toolc.runtime.workspace.transaction.upload import ExistingFileError, write_upload
from toolc.serve.http.gate import BODY, UPLOADS, ServedUser, user_of
from toolc.serve.http.problems import problem

MAX_PATH: Final = 500
"""The maximum length of a path, in characters."""


def upload_route() -> Route:
    """Return the route below ``/api/v1``."""
    return Route(f"{UPLOADS}{{path:path}}", _upload, methods=["PUT"])


async def _upload(request: Request) -> Response:
    client, path = user_of(request).client, request.path_params["path"]
    if client.workspace is None:
        return problem(403, "this client has no workspace")
    if len(path) > MAX_PATH or not path.isprintable():
        return problem(400, f"a path may have at most {MAX_PATH} characters, and all of them must be visible")
    if reason := _refusal(client.executor.tools, path):
        return problem(403, f"{path!r:.200} cannot be written: {reason}")
    replaces = request.query_params.get("replace") == "true"
    try:
        write = partial(_write, user_of(request), path, request.scope[BODY], replaces=replaces)
        is_new = await anyio.to_thread.run_sync(write)
    except ExistingFileError:
        return problem(412, f"{path!r} exists; to replace it, add ?replace=true")
    except UsageError as error:
        return problem(409, str(error))
    return Response(status_code=201 if is_new else 204)


def _write(user: ServedUser, path: str, content: bytes, *, replaces: bool) -> bool:
    """Write a file, and record who wrote it. Return whether it is new."""
    client, digest = user.client, hashlib.sha256(content).hexdigest()
    file: JsonObject = {"path": path, "size_bytes": len(content), "sha256": digest}
    call = ToolCall(name="upload", arguments=file, call_id=new_call_id())
    assert client.workspace
    with client.executor.recording(call, user.caller.claims) as ended:
        is_new = write_upload(mount(client.workspace, "rw"), path, content, replaces=replaces)
        ended.result = ToolResult.success("", details={"upload": file})
    logging.getLogger("toolc").warning("the client %s wrote %r to its workspace", client.name, path)
    return is_new


def _refusal(tools: Iterable[ToolSpec], path: str) -> str:
    """Return the reason why no call may change a file without asking, or an empty string if a call may."""
    reasons = {refusal_reason(FileChange(path=path, action="added"), writes, None) for writes in _writes(tools)}
    if not reasons:
        return "no tool of this client may change the workspace without asking, so it is read-only"
    return "" if "" in reasons else min(reasons)


def _writes(tools: Iterable[ToolSpec]) -> Iterator[tuple[str, ...]]:
    """Yield the patterns of the files that each tool may change without asking. No pattern means all files."""
    for sandbox in (each.sandbox for each in tools if not each.confirm):
        if sandbox.workspace == "rw":
            yield ()
        elif sandbox.transaction and sandbox.transaction.commit in {"always", "success"}:
            yield sandbox.transaction.writes
