"""A killed call of a transaction leaves no view, mount or volume, and an unchanged workspace."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from engines.configurations import available
from engines.waiting_sandboxes import until
from project.paths import SUPPORT
from test_workspace_views import BEFORE, give, workspace
from workspaces.transaction_cases import call, doing, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.runtime.workspace import scratch
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host.owner import Owner

__all__ = ["workspace"]

CALL = """
import sys
from pathlib import Path
sys.path.insert(0, {helpers!r})
from engines.configurations import CONFIGURATIONS
from workspaces.transaction_cases import call, tool
engine = CONFIGURATIONS[{name!r}].make()
call(engine, tool("echo new > a; mkdir -p deep/er; sleep 60"), Path({workspace!r}))
"""


@pytest.mark.parametrize("name", ["docker", "oci root"])
@pytest.mark.parametrize("seconds", [0.25, 0.35, 0.45, 0.6, 1.2])
def test_a_killed_call_leaves_nothing(workspace: Path, name: str, seconds: float) -> None:
    available(name)
    give(workspace, 1234)
    program = CALL.format(helpers=str(SUPPORT), name=name, workspace=str(workspace))
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        time.sleep(seconds)  # at any time during the call
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    until(lambda: leftovers_of(process.pid) == [])
    assert tree(workspace) == BEFORE


def leftovers_of(pid: int) -> list[str]:
    """Return the scratch folders, volumes and mounts with the label of a process."""
    word = f".{pid}."
    found = [folder.name for folder in scratch._base().iterdir() if word in folder.name]
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    found += [line for line in mounts if f"scratch/{Owner.current().machine}" in line and word in line]
    engine = DockerEngine()
    if engine.probe().available:
        volumes = engine._connect().client.call("GET", "/volumes", timeout=60)
        assert isinstance(volumes, dict)
        listed = volumes.get("Volumes")
        found += [json.dumps(each) for each in listed or [] if word in json.dumps(each)]  # type: ignore[union-attr]
    return found


def test_the_next_call_removes_the_views_of_stale_owners(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workspace: Path
) -> None:
    """For example after a power cut. They are removed only after the engine has ended the sandboxes."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with subprocess.Popen(["sleep", "60"]) as process:
        process.kill()
    current = Owner.current()
    dead = Owner(machine=current.machine, boot=current.boot, pidns=current.pidns, pid=process.pid, start=1)
    foreign = Owner(machine="0" * 16, boot="0" * 16, pidns=1, pid=1, start=1)
    for owner in (dead, foreign):
        (scratch._base() / owner.label() / "1" / "upper" / "deep").mkdir(parents=True)

    def found() -> set[str]:
        return {folder.name for folder in scratch._base().iterdir()} - {current.label()}

    during: set[str] = set()
    assert not call(doing(lambda _: during.update(found())), tool(), workspace).is_error
    assert during == {dead.label(), foreign.label()}
    assert found() == {foreign.label()}


def test_a_state_folder_that_other_users_can_write_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "toolc" / "scratch").mkdir(parents=True)
    (tmp_path / "toolc" / "scratch").chmod(0o777)
    with pytest.raises(InfrastructureError, match="must be a folder that only this user can write to"):
        scratch.make_scratch("")
