"""Open the sandbox of a tool, or a sandbox with a profile of the embedding program, for ``toolc.Sandbox``.

The sandbox of a tool needs the same permissions as a call: lock file, policy, deny-list, image, and confirmation if the
spec has ``confirm: true``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from toolc.backends.backend_protocol import environment
from toolc.dataclass import dataclass, replace
from toolc.model.call import Allow, BoundCall
from toolc.model.errors import UsageError, raise_shortage
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.lock_file import LockError
from toolc.model.plan import Plan, Programs
from toolc.model.registry import RegisteredTool
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.policy import Policy
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import ToolSpec
from toolc.policy.rules import enforce_policies
from toolc.runtime.call_details import Timing, identity
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.execution.admission import check_admission, policies_of
from toolc.runtime.execution.batch import new_call_id
from toolc.runtime.sandboxed.options import (
    CallOptions,
    build_guest_arguments,
    growth_limit,
    lease_sandbox,
    limit_ms,
    profile_of,
    select_approved,
)
from toolc.runtime.secrets.redaction import Redactor, expose_secrets, secrets_of
from toolc.runtime.sessions.sandbox_session import SandboxSession
from toolc.runtime.workspace.busy import require_free

PROFILE_NAME: Final = "sandbox"
"""The tool name that messages about a profile use."""


@dataclass(frozen=True, slots=True)
class OpenSandbox:
    """An open sandbox with its limits. ``timeout_ms`` is the longest time of a program."""

    session: SandboxSession
    limits: Limits
    timeout_ms: int
    redactor: Redactor
    details: JsonObject


def open_tool(
    tool: RegisteredTool, find: Callable[[str], RegisteredTool], options: CallOptions, call_id: str
) -> OpenSandbox:
    """Open the sandbox of ``tool``. Raises ``UsageError``, ``LockError``, ``PolicyError``, ``InfrastructureError``."""
    spec = tool.spec
    check_admission(tool, find, options.lock, options.policy)
    _enforce_policies(spec, policies_of(tool, options.policy))
    _refuse_denied(spec, options)
    _check_kind(spec)
    if spec.confirm:
        _confirm(spec, options)
        _refuse_denied(spec, options)
    return _open(spec, options, identity(tool, call_id) | {"reviewed": not tool.is_host_defined})


def open_profile(profile: SandboxSpec, options: CallOptions) -> OpenSandbox:
    """Open a sandbox that was not reviewed. Raises as ``open_tool`` does, and ``LockError`` if there is a lock."""
    if options.lock is not None:
        raise LockError(
            f"{options.lock.path} approves tools only, not a sandbox with a profile of this program; open the sandbox "
            "of an approved tool, or run without a lock file"
        )
    # It runs nothing itself. The backend is only for the policy, in which 'backends' must allow programs.
    backend = ShellBackend(command=Argv(elements=()))
    spec = ToolSpec(
        name=PROFILE_NAME, description="", parameters=Schema({"type": "object"}), backend=backend, sandbox=profile
    )
    _enforce_policies(spec, (options.policy,) if options.policy else ())
    _check_kind(spec)
    return _open(spec, options, {"reviewed": False})


def _enforce_policies(spec: ToolSpec, policies: Sequence[Policy]) -> None:
    """Raise ``PolicyError`` if a policy forbids the sandbox, which counts as a session."""
    session = replace(spec, sandbox=replace(spec.sandbox, lifetime="session"))
    enforce_policies(session, dict[str, ToolSpec](), policies)


def _check_kind(spec: ToolSpec) -> None:
    if not spec.backend.runs_programs:
        raise UsageError(
            f"tool {spec.name!r} has no sandbox for programs, because its backend is {spec.backend.tag!r}; "
            "name a tool with the backend shell, python or plugin"
        )
    if spec.sandbox.transaction is not None:
        raise UsageError(
            f"the sandbox of {spec.name!r} cannot stay open, because its workspace is a transaction, which ends with a "
            "call; name a tool with workspace: rw or ro"
        )


def _refuse_denied(spec: ToolSpec, options: CallOptions) -> None:
    if reason := options.denied(spec):
        raise UsageError(reason)


def _confirm(spec: ToolSpec, options: CallOptions) -> None:
    """Ask for confirmation, as before a call without arguments. Raises ``UsageError`` if it is denied."""
    if options.confirm is None:
        raise UsageError(
            f"the sandbox of {spec.name!r} was not opened, because it needs confirmation and there is no way to ask; "
            "use a terminal or --yes, or Executor(confirm=...) in a program"
        )
    decision = options.confirm(BoundCall(tool=spec, arguments={}, call_id=new_call_id()))
    if not isinstance(decision, Allow):
        reason = getattr(decision, "reason", "")
        raise UsageError(f"opening the sandbox of {spec.name!r} was denied" + (f": {reason}" if reason else ""))


def _open(spec: ToolSpec, options: CallOptions, details: JsonObject) -> OpenSandbox:
    try:
        return _started(spec, options, details)
    except (OSError, ImportError) as error:
        raise_shortage(error)
        raise


def _started(spec: ToolSpec, options: CallOptions, details: JsonObject) -> OpenSandbox:
    timing = Timing()
    profile = profile_of(spec, options)
    if profile.workspace is not None:
        require_free(profile.workspace)
    secrets = secrets_of(spec, options.reveal)
    plan = Plan(
        profile=profile,
        invocation=Programs(files=spec.backend.programs),
        call_id=new_call_id(),
        env=environment(spec.sandbox, ""),
        allow=spec.sandbox.network.allow,
        growth_bytes=growth_limit(profile, options),
    )
    plan = expose_secrets(plan, spec, secrets)
    timing.lap("plan")
    selection = select_approved(spec, profile, options)
    timing.lap("choose")
    with secrets.redactor.errors():
        guest_arguments = build_guest_arguments(has_network=bool(plan.allow))
        start = partial(lease_sandbox, spec, selection.engine, options, guest_arguments)
        session = SandboxSession(plan, start, Egress(redactor=secrets.redactor), timing)
    details |= {"engine": selection.engine.name}
    if selection.unenforced:
        details["unenforced"] = [*selection.unenforced]
    details["timing_ms"] = timing.to_json()
    return OpenSandbox(session, profile.limits, limit_ms(spec, options), secrets.redactor, details)
