"""The profile of a call's sandbox: what its spec wants, in the folder that the caller gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from toolc.model.call import Ask, Confirm
from toolc.model.errors import UsageError
from toolc.model.lock_file import Lock, LockError
from toolc.model.plan import LoopbackProxy, Mount, Profile, loopback
from toolc.model.spec.code_backends import PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.tool import ToolSpec
from toolc.policy.policy import Policy
from toolc.runtime.output.truncation import ResultStore
from toolc.runtime.secrets.redaction import Reveal, no_secrets
from toolc.runtime.sessions.pool import Sessions
from toolc.runtime.workspace.mount import mount
from toolc.sandbox.base import Engine
from toolc.sandbox.selection import EngineSelection

__all__ = [
    "CallOptions",
]

EngineSelector: TypeAlias = Callable[[Profile], EngineSelection]
"""Finds the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""


def _denies_nothing(_: ToolSpec) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What the caller, not the spec, decides: the folder to work in, the engine, a shorter deadline.

    ``accept_unenforced`` names limits that the user can do without. ``ask`` is asked where a spec says
    ``commit: ask``; without it such changes never become real. ``confirm`` is asked where a spec says
    ``confirm: true``; without it such a tool is not called. ``denied`` says why a tool may not be called at all.
    ``sessions`` are the sandboxes that live for several calls, ``shelf`` keeps long results where they are to be
    read on; who makes a setting closes both. With a ``lock`` only what it approves is called,
    and with a ``policy`` only what it allows.
    """

    choose: EngineSelector
    workspace: Path | None = None
    timeout_ms: int | None = None
    accept_unenforced: tuple[str, ...] = ()
    ask: Ask | None = None
    reveal: Reveal = no_secrets
    confirm: Confirm | None = None
    denied: Callable[[ToolSpec], str | None] = _denies_nothing
    sessions: Sessions = field(default_factory=Sessions)
    shelf: ResultStore | None = None
    lock: Lock | None = None
    policy: Policy | None = None


def limit_ms(tool: ToolSpec, setting: CallOptions) -> int:
    """How long one attempt of a call may take: what was reviewed, or less where the caller says so."""
    reviewed = tool.sandbox.limits.timeout_ms
    return reviewed if setting.timeout_ms is None else min(reviewed, setting.timeout_ms)


def profile_of(tool: ToolSpec, setting: CallOptions) -> Profile:
    """What a sandbox for ``tool`` is to be. Raises ``UsageError`` for a workspace that is missing or refused."""
    wanted = tool.sandbox
    return Profile(
        image=wanted.image,
        workspace=_mount(tool, setting.workspace),
        limits=wanted.limits,
        min_isolation=wanted.min_isolation,
        nonroot=wanted.run_as == "nonroot",
        accept_unenforced=setting.accept_unenforced,
        build=wanted.build,
        requirements=_requirements(tool, setting.lock),
        loopback=_loopback(tool),
    )


def _requirements(tool: ToolSpec, lock: Lock | None) -> tuple[str, ...]:
    """The packages that were approved, where there is a lock: with all that they need, and the digest of each."""
    wanted = tool.backend.requirements if isinstance(tool.backend, PythonBackend) else ()
    if not wanted or lock is None:
        return wanted
    approved = lock.tools[tool.name].requirements
    if not approved:
        raise LockError(f"{lock.path} approves no packages for {tool.name}, which has some; run: toolc lock")
    return approved


def approve_image(tool: ToolSpec, profile: Profile, engine: Engine, lock: Lock) -> None:
    """Raise ``LockError`` where the image of ``profile`` is not the one that was approved."""
    if profile.image is None:
        return
    approved, found = lock.tools[tool.name].image, engine.pins(profile).image
    names = (*found.names, found.digest) if found else ()
    if approved in names:
        return
    is_now = " or ".join(found.names or names) if found else "nothing"
    kind = f"{approved.partition(':')[0]}:" if approved else ""
    hint = _INCOMPARABLE.get(kind, "") if not any(name.startswith(kind) for name in names) else ""
    raise LockError(
        f"the image {profile.image} of {tool.name} is not the one that {lock.path} approves: it is {is_now}, "
        f"approved was {approved or 'none'}; {hint or 'review what changed, then run: toolc lock'}"
    )


_INCOMPARABLE: Final = {
    "manifest:": (
        "an image that was built or loaded here has no manifest to compare, so pull it from the registry that has "
        "it, or run toolc lock here"
    ),
    "config:": (
        "this engine knows images by their manifests alone, so nothing can be compared; push the image to a "
        "registry, pull it from there, and run: toolc lock"
    ),
}
"""What to do where an image is not called by what it is approved by: engines know images by different digests."""


def _loopback(tool: ToolSpec) -> LoopbackProxy:
    """What the tool's own programs connect to; without any it needs none."""
    has_programs = isinstance(tool.backend, ShellBackend | PythonBackend | PluginBackend)
    return loopback(tool.sandbox.network.allow) if has_programs else LoopbackProxy()


def _mount(tool: ToolSpec, workspace: Path | None) -> Mount | None:
    mode = tool.sandbox.workspace
    if mode == "none":
        return None
    if workspace is None:
        raise UsageError(
            f"tool {tool.name!r} works on a folder and has none; give it one: in a program with "
            'Executor(registry, workspace="DIR"), at a command line with --workspace DIR'
        )
    return mount(workspace, "overlay" if mode == "transaction" else mode)
