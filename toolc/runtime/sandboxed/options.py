"""The options of a caller, and the sandbox profile that follows from them and the spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from toolc.dataclass import dataclass, field, replace
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.guest.launch_args import FORK_ARGUMENT, NETWORK_ARGUMENT, preload_argument
from toolc.model.call import ApproveChanges, Confirm
from toolc.model.errors import UsageError
from toolc.model.lock_file import Lock, LockError
from toolc.model.plan import NO_LIMIT, LoopbackProxy, Mount, Profile, loopback_proxy
from toolc.model.spec.code_backends import PythonBackend
from toolc.model.spec.policy import Policy
from toolc.model.spec.sandbox import Limits, SandboxSpec
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.pool.pool import ExecutorPool, Lease
from toolc.runtime.secrets.redaction import Reveal, no_secrets
from toolc.runtime.sessions.pool import Sessions
from toolc.runtime.workspace.growth import is_bounded
from toolc.runtime.workspace.mount import WorkspaceFolder, copies_location, mount, scratch_location
from toolc.sandbox.interface import Engine
from toolc.sandbox.selection import EngineSelection
from toolc.telemetry.observation import Observer

if TYPE_CHECKING:
    from toolc.runtime.output.result_store import ResultStore

EngineSelector: TypeAlias = Callable[[Profile], EngineSelection]
"""Returns the engine for a profile. Raises ``NoEngineError`` or ``UsageError``."""

_INCOMPARABLE: Final = {
    "manifest:": (
        "an image that was built or loaded here has no manifest to compare; pull it from its registry, or run toolc "
        "lock on this machine"
    ),
    "config:": (
        "this engine identifies images by their manifests only, so the digests cannot be compared; push the image to a "
        "registry, pull it from there, and run: toolc lock"
    ),
}
"""The hint if the approved digest is of a kind that the engine does not know for this image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """Options chosen by the caller rather than by the tool spec, such as the workspace, engine and timeout.

    ``accept_unenforced`` names the limits that the user is willing to run without. ``workspace_growth_bytes`` limits
    how much a call may add to its workspace. ``base_image`` and ``host_programs`` say in what a tool without an image
    runs (see ``Profile``). ``approve_changes`` decides for specs with ``commit: ask``. Without it, such changes are
    discarded. ``confirm`` decides for specs with ``confirm: true``. Without it, such tools are not called. ``denied``
    returns why a tool may not be called. ``sessions`` holds the sandboxes that live for several calls, ``pool`` the
    sandboxes that wait for a call, and ``result_store`` the long results. The creator of the options closes these
    three. ``session`` is the name of the session whose sandboxes the call uses. A ``lock`` restricts calls to approved
    tools, and a ``policy`` to tools that it allows. ``served_chars`` is the maximum length of a result for the client
    of a server, in characters, unless the spec has its own. ``observers`` record calls, which ``client`` makes.
    """

    select_engine: EngineSelector
    workspace: WorkspaceFolder | None = None
    timeout_ms: int | None = None
    accept_unenforced: tuple[str, ...] = ()
    workspace_growth_bytes: int = NO_LIMIT
    base_image: str | None = None
    host_programs: bool = False
    approve_changes: ApproveChanges | None = None
    reveal: Reveal = no_secrets
    confirm: Confirm | None = None
    denied: Callable[[ToolSpec], str | None] = lambda _: None
    sessions: Sessions = field(default_factory=Sessions)
    session: str = ""
    result_store: ResultStore | None = None
    pool: ExecutorPool | None = None
    lock: Lock | None = None
    policy: Policy | None = None
    served_chars: int | None = None
    client: str = ""
    observers: tuple[Observer, ...] = ()


def limit_ms(tool: ToolSpec, options: CallOptions) -> int:
    """Return the time limit of one attempt in milliseconds: the reviewed limit, or the caller's if it is lower."""
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
    return Profile(
        image=sandbox.image,
        base_image=options.base_image,
        host_programs=options.host_programs,
        workspace=workspace,
        limits=_unbounded_limits(sandbox, workspace),
        min_isolation=sandbox.min_isolation,
        nonroot=sandbox.run_as == "nonroot",
        accept_unenforced=options.accept_unenforced,
        build=sandbox.build,
        requirements=_requirements(tool, options.lock),
        loopback=loopback_proxy(sandbox.network.allow) if tool.backend.runs_programs else LoopbackProxy(),
    )


def build_guest_arguments(
    *, has_network: bool, preload: tuple[str, ...] | None = None, has_fork_server: bool = False
) -> tuple[str, ...]:
    """Return the command-line arguments of Python in a sandbox.

    ``preload`` lists the modules of a Python tool. For other tools, it is None.
    """
    network = (NETWORK_ARGUMENT,) if has_network else ()
    fork = (FORK_ARGUMENT,) if has_fork_server else ()
    return (*BOOTSTRAP_ARGUMENTS, *network, *fork, *(() if preload is None else (preload_argument(preload),)))


def preload_of(tool: ToolSpec) -> tuple[str, ...] | None:
    """Return the modules to import before a call of ``tool``, or None if it is not a Python tool."""
    return tool.backend.preload if isinstance(tool.backend, PythonBackend) else None


def select_approved(tool: ToolSpec, profile: Profile, options: CallOptions) -> EngineSelection:
    """Return the engine for ``profile``. Raises ``LockError`` if the lock does not approve the engine's image."""
    selection = options.select_engine(profile)
    if options.lock is not None:
        approve_image(tool, profile, selection.engine, options.lock)
    return selection


def growth_limit(profile: Profile, options: CallOptions) -> int:
    """Return how much a call may add to its workspace: the user's limit, or the reviewed limit if it is lower."""
    reviewed = profile.limits.workspace_bytes
    return options.workspace_growth_bytes if reviewed is None else min(options.workspace_growth_bytes, reviewed)


def lease_sandbox(
    tool: ToolSpec,
    engine: Engine,
    options: CallOptions,
    guest_arguments: tuple[str, ...],
    profile: Profile,
    cancellation: Cancellation | None = None,
) -> Lease:
    """Return a sandbox with the arguments ``guest_arguments``, either a waiting one from the pool or a new one."""
    if options.pool is None:
        return Lease(engine.start(profile, guest_arguments), profile)
    return options.pool.lease(tool.name, engine, profile, guest_arguments, cancellation)


def _unbounded_limits(sandbox: SandboxSpec, workspace: Mount | None) -> Limits:
    """Return the limits that an engine must enforce. If its file system is small enough, the workspace needs none."""
    limit = sandbox.limits.workspace_bytes
    if workspace is None or limit is None:
        return sandbox.limits
    # A transaction writes to the folder of its view, which the first transaction creates, or to a copy.
    folders = (Path(workspace.source),) if workspace.mode == "rw" else (scratch_location(), copies_location())
    existing = [next(each for each in (folder, *folder.parents) if each.exists()) for folder in folders]
    is_enforced = all(is_bounded(str(each), limit) for each in existing)
    return replace(sandbox.limits, workspace_bytes=None) if is_enforced else sandbox.limits


def _requirements(tool: ToolSpec, lock: Lock | None) -> tuple[str, ...]:
    """Return the required packages. With a lock, they are the approved ones, with all dependencies and digests."""
    requirements = tool.backend.packages
    if not requirements or lock is None:
        return requirements
    approved = lock.tools[tool.name].requirements
    if not approved:
        raise LockError(
            f"{lock.path} approves no packages for {tool.name}, but its spec requires some; run: toolc lock"
        )
    return approved


def approve_image(tool: ToolSpec, profile: Profile, engine: Engine, lock: Lock) -> None:
    """Raise ``LockError`` if the image of ``profile``, or its base image, is not the approved one."""
    if profile.image is None:
        if profile.build is None and not lock.allows_any_base:
            _approve_base(tool, profile, engine, lock)
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
        f"approved {approved or 'none'}; {hint or 'review the changes, then run: toolc lock'}"
    )


def _approve_base(tool: ToolSpec, profile: Profile, engine: Engine, lock: Lock) -> None:
    found = engine.content_digests(profile).image
    if found is not None and found.tree == lock.base:
        return
    if profile.host_programs:
        raise LockError(
            f"{lock.path} approves a base image, in which {tool.name} must run, but your configuration says "
            "host_programs: true; remove that line"
        )
    is_now = f"{found.name} with the tree {found.tree or 'unknown'}" if found else "none"
    name = profile.base_image
    raise LockError(
        f"the base image, in which {tool.name} runs, is not the one that {lock.path} approves: found {is_now}, "
        f"approved the tree {lock.base}; get the approved one from a machine that has it: there, run toolc image "
        f"export {name or 'base'} --output base.tar; here, toolc image import base.tar{f' {name}' if name else ''}; or "
        "approve the one found: toolc lock --pin-base-image"
    )
