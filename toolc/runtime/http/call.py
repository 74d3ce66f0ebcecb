"""Prepare an HTTP call: the secrets stay on the host, the libraries go to the guest."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from secrets import token_hex

from toolc.backends.base import PlanError
from toolc.model.http_plan import HttpCall
from toolc.model.plan import Mount, Plan
from toolc.model.spec.sandbox import SecretSpec
from toolc.runtime.egress.broker import RequestHandler
from toolc.runtime.egress.transport import RefusedError
from toolc.runtime.http.broker import HttpBroker
from toolc.runtime.http.message import libraries
from toolc.runtime.http.request import MAX_BODY
from toolc.runtime.secrets.redaction import CallSecrets
from toolc.runtime.workspace.dir_handle import DirHandle


def prepare_http_call(
    plan: Plan, secrets: CallSecrets, declared: tuple[SecretSpec, ...]
) -> tuple[Plan, RequestHandler | None]:
    """Return ``plan`` with what the guest needs, and the handler of its requests; None for other kinds of calls.

    Raise ``PlanError`` if the caller's URL is invalid.
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
            read_file=partial(_read_file, plan.profile.workspace),
        )
    except RefusedError as error:
        raise PlanError(str(error)) from None
    redactor = secrets.redactor
    has_secrets = bool(redactor) or call.token is not None
    redactor.cut_mark = token_hex() if has_secrets else ""
    call = replace(call, files=libraries(call.reading), needs_token=broker.needs_token, cut_mark=redactor.cut_mark)
    return replace(plan, invocation=call), broker.connection_request


def _read_file(workspace: Mount | None, path: str) -> bytes:
    if workspace is None:
        raise RefusedError(f"the file {path[:200]!r} cannot be sent: the tool has no workspace")
    try:
        with DirHandle.open(workspace.pinned or workspace.source) as root, root.file(os.fsencode(path)) as descriptor:
            if os.fstat(descriptor).st_size > MAX_BODY:
                raise RefusedError(f"the file {path[:200]!r} has more than {MAX_BODY >> 20} MiB")
            with os.fdopen(os.dup(descriptor), "rb") as file:
                return file.read(MAX_BODY)
    except OSError as error:
        raise RefusedError(f"the file {path[:200]!r} cannot be sent: {error.strerror}") from None
