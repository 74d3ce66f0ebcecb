"""Prepare an HTTP call: the handler of its requests, and the workspace files that it uploads."""

import os
from dataclasses import replace
from functools import partial
from secrets import token_hex

from toolc.backends.backend_protocol import PlanError
from toolc.model.errors import raise_shortage
from toolc.model.http_plan import HttpCall
from toolc.model.plan import Mount, Plan
from toolc.model.spec.sandbox import SecretSpec
from toolc.model.text import render_size
from toolc.runtime.egress.egress_options import RequestHandler
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.http.broker import HttpBroker
from toolc.runtime.http.message import libraries
from toolc.runtime.http.request import MAX_REQUEST_BODY
from toolc.runtime.secrets.redaction import CallSecrets
from toolc.runtime.workspace.dir_handle import DirHandle


def prepare_http_call(
    plan: Plan, secrets: CallSecrets, declared: tuple[SecretSpec, ...]
) -> tuple[Plan, RequestHandler | None]:
    """Add the guest's libraries to the ``plan`` of an HTTP call. Return it with the handler of the guest's requests.

    Any other plan is returned unchanged, with None. Raises ``PlanError`` if the caller's URL is invalid.
    """
    call = plan.invocation
    if not isinstance(call, HttpCall):
        return plan, None
    try:
        broker = HttpBroker(
            call,
            values=secrets.values,
            declared=declared,
            redactor=secrets.redactor,
            read_file=partial(_read_upload, plan.profile.workspace),
        )
    except RefusedError as error:
        raise PlanError(str(error)) from None
    redactor = secrets.redactor
    has_secrets = bool(redactor) or call.token is not None
    redactor.cut_mark = token_hex() if has_secrets else ""
    call = replace(call, files=libraries(call.reading), needs_token=broker.needs_token, cut_mark=redactor.cut_mark)
    return replace(plan, invocation=call), broker.connection_request


def _read_upload(workspace: Mount | None, path: str) -> bytes:
    if workspace is None:
        raise RefusedError(f"the file {path[:200]!r} cannot be sent, because the tool has no workspace")
    try:
        with DirHandle.open(workspace.pinned or workspace.source) as root, root.file(os.fsencode(path)) as descriptor:
            if os.fstat(descriptor).st_size > MAX_REQUEST_BODY:
                raise RefusedError(f"the file {path[:200]!r} has more than {render_size(MAX_REQUEST_BODY)}")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                return file.read(MAX_REQUEST_BODY)
    except OSError as error:
        raise_shortage(error)
        raise RefusedError(f"the file {path[:200]!r} cannot be sent: {error.strerror}") from None
