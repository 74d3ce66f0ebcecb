"""Shared by the tests of transactions: a tool with a transaction, and a call of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from calls.scripted_tools import execute, registered

from toolc.model.call import ApproveChanges, ToolCall
from toolc.model.events import Listener
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.plan import Plan
from toolc.model.result import Capture, Outcome, ToolResult
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.sandbox import MIB, Commit, Limits, MinIsolation, SandboxSpec, TransactionSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.workspace.mount import WorkspaceFolder
from toolc.sandbox.interface import Engine
from toolc.sandbox.selection import EngineSelection
from toolc.testing.fake_engine import FakeEngine

DONE = Outcome(ending="exited", stdout=Capture(head=b"done\n", total_bytes=5))
FAILED = Outcome(ending="exited", status=1)


def tool(
    script: str = "",
    commit: Commit = "success",
    writes: tuple[str, ...] = (),
    *,
    min_isolation: MinIsolation = "namespace",
    image: str | None = None,
) -> ToolSpec:
    """Return a tool that runs ``script`` with ``/bin/sh -e`` in a transaction."""
    words = (Template(("/bin/sh",)), Template(("-ec",)), Template((script,)))
    return ToolSpec(
        name="edit",
        description="d",
        parameters=Schema({"type": "object", "properties": {}}),
        backend=ShellBackend(command=Argv(elements=words)),
        sandbox=SandboxSpec(
            workspace="transaction",
            image=image,
            transaction=TransactionSpec(commit=commit, writes=writes),
            limits=Limits(memory_bytes=128 * MIB),
            min_isolation=min_isolation,
        ),
    )


def call(
    engine: Engine,
    spec: ToolSpec,
    workspace: Path,
    approve_changes: ApproveChanges | None = None,
    arguments: JsonObject | None = None,
    on_event: Listener | None = None,
    cancellation: Cancellation | None = None,
    *,
    host_programs: bool = False,
) -> ToolResult:
    options = CallOptions(
        select_engine=lambda _: EngineSelection(engine), workspace=WorkspaceFolder.of(workspace),
        approve_changes=approve_changes, host_programs=host_programs,
    )  # fmt: skip
    asked = ToolCall(name=spec.name, arguments=arguments or {}, call_id="c")
    return execute(registered(spec), asked, options, on_event=on_event, cancellation=cancellation)


def doing(act: Callable[[Path], object], outcome: Outcome = DONE) -> FakeEngine:
    """Return an engine whose tool runs ``act`` in its workspace."""

    def script(plan: Plan) -> Outcome:
        assert plan.profile.workspace is not None
        act(Path(plan.profile.workspace.source))
        return outcome

    return FakeEngine(script)


def changes_of(result: ToolResult) -> JsonObject:
    changes = result.details["changes"]
    assert isinstance(changes, dict)
    return changes


def paths(result: ToolResult) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for action in ("added", "changed", "deleted"):
        listed = changes_of(result)[action]
        assert isinstance(listed, list)
        found[action] = [str(each["path"]) for each in listed if isinstance(each, dict)]
    return found


def tree(folder: Path) -> dict[str, str]:
    """Return every path in a folder, with its text, link target or kind."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder)).encode(errors="surrogateescape").decode(errors="backslashreplace")
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = path.read_text() if path.is_file() else "special"
    return found
