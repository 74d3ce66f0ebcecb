"""The smallest engine that someone else can write: the eight members of ``Engine``, and nothing else."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from calls.scripted_tools import exited

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome
from toolc.runtime.pool.pool import Pool
from toolc.sandbox.interface import (
    Capabilities,
    ContentDigests,
    Engine,
    EngineSandbox,
    EngineStatus,
    Leftover,
    PoolEngine,
)
from toolc.testing.fake_engine import FakeSandbox

SPEC = """\
toolc: 1
name: write
label: Write
description: Write a line to the file a. Use it to see that an engine runs calls, and for nothing else.
parameters: {}
backend: {shell: {argv: [sh, -c, "echo new > a; echo hello"]}}
sandbox: {workspace: {mode: transaction, commit: always}}
"""

MEMBERS = {
    "name", "probe", "capabilities", "unsupported_reason", "content_digests", "start", "leftovers", "close",
}  # fmt: skip


class MinimalEngine:
    """An engine whose sandboxes write one line, and change the workspace if there is one."""

    name = "minimal"

    def probe(self) -> EngineStatus:
        return EngineStatus(available=True, version="1")

    def capabilities(self) -> tuple[Capabilities, ...]:
        return (Capabilities(),)

    def unsupported_reason(self, profile: Profile) -> str | None:
        return "it has no images" if profile.image else None

    def content_digests(self, profile: Profile) -> ContentDigests:
        return ContentDigests()

    def start(self, profile: Profile, arguments: Sequence[str]) -> EngineSandbox:
        return FakeSandbox(profile, _written)

    def leftovers(self) -> tuple[Leftover, ...]:
        return ()

    def close(self) -> None:
        pass


def _written(plan: Plan) -> Outcome:
    if plan.profile.workspace:
        Path(plan.profile.workspace.source, "a").write_text("new\n", encoding="utf-8")
    return exited(stdout=b"hello\n")


def members(of: type) -> set[str]:
    return {name for name in vars(of) if not name.startswith("_")}


def test_it_has_the_members_of_the_protocol() -> None:
    assert members(MinimalEngine) == members(Engine) == MEMBERS
    assert not isinstance(MinimalEngine(), PoolEngine)
    assert members(PoolEngine) == {"closings", "profile_ahead", "mount_workspace", "is_current"}


@pytest.mark.parametrize("pool", [None, Pool()], ids=["no pool", "a pool that it does not support"])
def test_it_runs_calls(pool: Pool | None, tmp_path: Path) -> None:
    specs, workspace = tmp_path / "specs.yaml", tmp_path / "workspace"
    specs.write_text(SPEC, encoding="utf-8")
    workspace.mkdir()
    (workspace / "a").write_text("old\n", encoding="utf-8")
    with Executor(Registry.load(specs), engine=MinimalEngine(), pool=pool, workspace=workspace) as executor:
        results = [executor.run("write", {}) for _ in range(2)]
    assert [(each.error, each.text) for each in results] == [(None, "hello\n")] * 2
    assert (workspace / "a").read_text(encoding="utf-8") == "new\n"
