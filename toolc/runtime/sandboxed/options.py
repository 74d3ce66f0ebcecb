"""Options that the caller of a tool chooses, and the sandbox profile derived from them and the spec."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from toolc.model.call import ApproveChanges, Confirm
from toolc.model.errors import UsageError
from toolc.model.lock_file import Lock, LockError
from toolc.model.plan import LoopbackProxy, Profile, loopback_proxy
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.tool import ToolSpec
from toolc.policy.policy import Policy
from toolc.runtime.output.result_store import ResultStore
from toolc.runtime.secrets.redaction import Reveal, no_secrets
from toolc.runtime.sessions.pool import Sessions
from toolc.runtime.workspace.mount import mount
from toolc.sandbox.base import Engine
from toolc.sandbox.selection import EngineSelection

__all__ = ["CallOptions"]

EngineSelector: TypeAlias = Callable[[Profile], EngineSelection]
"""Returns the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""

_INCOMPARABLE: Final = {
    "manifest:": (
        "an image that was built or loaded here has no manifest to compare; pull it from its registry, or run toolc "
        "lock here"
    ),
    "config:": (
        "this engine identifies images by their manifests only, so the digests cannot be compared; push the image to a "
        "registry, pull it from there, and run: toolc lock"
    ),
}
"""What to do if the approved digest is of a kind that the engine does not know for this image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Options chosen by the caller rather than by the tool spec, such as the workspace, engine and timeout.

    ``accept_unenforced`` names limits that the user accepts to run without. ``approve_changes`` decides for specs
    with ``commit: ask``; without it such changes are discarded. ``confirm`` decides for specs with ``confirm: true``;
    without it such tools are not called. ``denied`` returns why a tool may not be called. ``sessions`` holds the
    sandboxes that live for several calls, and ``result_store`` the long results; the creator of the options closes
    both. A ``lock`` restricts calls to approved tools, and a ``policy`` to those it allows.
    """

    select_engine: EngineSelector
    workspace: Path | None = None
    timeout_ms: int | None = None
    accept_unenforced: tuple[str, ...] = ()
    approve_changes: ApproveChanges | None = None
    reveal: Reveal = no_secrets
    confirm: Confirm | None = None
    denied: Callable[[ToolSpec], str | None] = lambda _: None
    sessions: Sessions = field(default_factory=Sessions)
    result_store: ResultStore | None = None
    lock: Lock | None = None
    policy: Policy | None = None


def limit_ms(tool: ToolSpec, options: CallOptions) -> int:
    """Return the time limit of one attempt in milliseconds: the reviewed one, or less if the caller wants it."""
    reviewed = tool.sandbox.limits.timeout_ms
    return reviewed if options.timeout_ms is None else min(reviewed, options.timeout_ms)


def profile_of(tool: ToolSpec, options: CallOptions) -> Profile:
    """Return the sandbox profile for ``tool``. Raises ``UsageError`` if a workspace is missing or refused."""
    sandbox, workspace = tool.sandbox, None
    if sandbox.workspace != "none":
        if options.workspace is None:
            raise UsageError(
                f"tool {tool.name!r} needs a workspace folder; pass "
                'Executor(registry, workspace="DIR") in a program, or --workspace DIR on the command line'
            )
        workspace = mount(options.workspace, "overlay" if sandbox.workspace == "transaction" else sandbox.workspace)
    # Backends without programs of the tool need no addresses to connect to.
    has_programs = isinstance(tool.backend, ShellBackend | PythonBackend | PluginBackend)
    return Profile(
        image=sandbox.image,
        workspace=workspace,
        limits=sandbox.limits,
        min_isolation=sandbox.min_isolation,
        nonroot=sandbox.run_as == "nonroot",
        accept_unenforced=options.accept_unenforced,
        build=sandbox.build,
        requirements=_requirements(tool, options.lock),
        loopback=loopback_proxy(sandbox.network.allow) if has_programs else LoopbackProxy(),
    )


def _requirements(tool: ToolSpec, lock: Lock | None) -> tuple[str, ...]:
    """Return the required packages: with a lock, the approved ones with all dependencies and digests."""
    requirements = tool.backend.requirements if isinstance(tool.backend, PythonBackend) else ()
    if not requirements or lock is None:
        return requirements
    approved = lock.tools[tool.name].requirements
    if not approved:
        raise LockError(
            f"{lock.path} approves no packages for {tool.name}, but its spec requires some; run: toolc lock"
        )
    return approved


def approve_image(tool: ToolSpec, profile: Profile, engine: Engine, lock: Lock) -> None:
    """Raise ``LockError`` if the image of ``profile`` is not the approved one."""
    if profile.image is None:
        return
    approved, found = lock.tools[tool.name].image, engine.content_digests(profile).image
    names = (*found.names, found.digest) if found else ()
    if approved in names:
        return
    is_now = " or ".join(found.names or names) if found else "nothing"
    kind = f"{approved.partition(':')[0]}:" if approved else ""
    hint = _INCOMPARABLE.get(kind, "") if not any(name.startswith(kind) for name in names) else ""
    raise LockError(
        f"the image {profile.image} of {tool.name} is not the one that {lock.path} approves: found {is_now}, "
        f"approved {approved or 'none'}; {hint or 'review what changed, then run: toolc lock'}"
    )
