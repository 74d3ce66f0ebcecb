"""A workspace that is mounted in a waiting sandbox at the call looks like one that was mounted at the start."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from engines.waiting_sandboxes import until, waiting

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.json_schema import JsonObject
from toolc.model.names import ENGINES
from toolc.model.plan import Profile
from toolc.model.result import ToolResult
from toolc.runtime.pool.pool import Pool
from toolc.runtime.wire.readiness import confirm_ready, make_ready
from toolc.runtime.workspace.mount import mount
from toolc.sandbox.docker.docker_sandbox import DockerSandbox
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.interface import EngineSandbox
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.oci.oci_sandbox import OciSandbox
from toolc.sandbox.selection import close_unused, in_use, load, probe

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a workspace later")

LOOK = """\
import os

def look():
    mounts = [line.split() for line in open("/proc/self/mountinfo").read().splitlines()]
    inside = [fields for fields in mounts if fields[4].startswith("/workspace")]
    files = os.statvfs("/workspace")
    status = os.stat("/workspace")
    try:
        open("/workspace/new", "x").close()
        written = os.stat("/workspace/new")
        change = [written.st_uid, written.st_gid, written.st_mode]
    except OSError as error:
        change = error.strerror
    return {
        "mounts": sorted(fields[3:] for fields in inside),
        "all": sorted(fields[4] for fields in mounts),
        "files": [files.f_flag, files.f_bsize, files.f_blocks, files.f_fsid, files.f_namemax],
        "status": [status.st_dev, status.st_ino, status.st_uid, status.st_gid, status.st_mode],
        "entries": {name: os.stat("/workspace/" + name).st_uid for name in sorted(os.listdir("/workspace"))},
        "change": change,
        "user": [os.getuid(), os.getgid(), sorted(os.getgroups())],
        "folder": os.getcwd(),
        "descriptors": sorted(os.listdir("/proc/self/fd")),
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
    }
"""

MODES = ("ro", "rw")


@pytest.fixture(params=ENGINES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    if not probe(found).available:
        pytest.skip(probe(found).reason)
    return found


@pytest.fixture
def specs(tmp_path: Path) -> Registry:
    folder = tmp_path / "specs"
    folder.mkdir()
    backends = {
        "look": {"python": {"code": LOOK, "function": "look"}},
        "list": {"shell": {"argv": ["ls", "/workspace"]}},
    }
    for mode in MODES:
        for tool, backend in backends.items():
            spec = {
                "toolc": 1,
                "name": f"{tool}_{mode}",
                "description": f"Show with {tool} what the workspace in the mode {mode} is. Use it in this test only.",
                "backend": backend,
                "sandbox": {"workspace": mode},
            }
            (folder / f"{tool}_{mode}.yaml").write_text(json.dumps(spec), encoding="utf-8")
    return Registry.load(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return made(tmp_path / "workspace", 0)


def made(folder: Path, owner: int) -> Path:
    """Return a new folder with a file and a folder of ``owner``."""
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("text", encoding="utf-8")
    for each in (folder, folder / "sub", folder / "file"):
        os.chown(each, owner, owner)
    return folder


def was_leased(result: ToolResult) -> bool:
    assert not result.is_error, result
    return "lease" in json.dumps(result.details["timing_ms"])


def engine_of(name: str) -> DockerEngine | OciEngine:
    engine = load(name)
    assert isinstance(engine, DockerEngine | OciEngine)
    return engine


@pytest.fixture
def executor(specs: Registry, name: str, workspace: Path) -> Iterator[Executor]:
    with Executor(specs, engine=name, pool=Pool(), workspace=workspace) as opened:
        yield opened
    assert not engine_of(name)._live.mount_helper.has_failed


def seen(executor: Executor, tool: str, *, warm: bool) -> JsonObject:
    result = executor.run(tool, {})
    assert was_leased(result) is warm
    assert result.structured is not None
    (found,) = result.structured
    assert isinstance(found, dict)
    return found


def seen_cold_and_warm(executor: Executor, workspace: Path, mode: str) -> tuple[JsonObject, JsonObject]:
    """Return what a tool sees in a new sandbox, and in one that waited."""
    cold = seen(executor, f"look_{mode}", warm=False)
    (workspace / "new").unlink(missing_ok=True)
    until(waiting)
    return cold, seen(executor, f"look_{mode}", warm=True)


@pytest.mark.parametrize("owner", [0, 1234])
@pytest.mark.parametrize("mode", MODES)
def test_a_tool_sees_the_same_as_in_a_new_sandbox(
    specs: Registry, name: str, tmp_path: Path, mode: Literal["ro", "rw"], owner: int
) -> None:
    folder = made(tmp_path / "workspace", owner)
    with Executor(specs, engine=name, pool=Pool(), workspace=folder) as executor:
        cold, warm = seen_cold_and_warm(executor, folder, mode)
    assert warm == cold
    assert warm["change"] == ("Read-only file system" if mode == "ro" else warm["change"])
    if mode == "rw":
        assert ((folder / "new").stat().st_uid, (folder / "new").stat().st_gid) == (owner, owner)
    assert isinstance(warm["mounts"], list)
    assert len(warm["mounts"]) == 1


def test_a_waiting_sandbox_serves_another_folder_than_that_of_the_call_before(
    executor: Executor, workspace: Path
) -> None:
    assert not was_leased(executor.run("list_rw", {}))
    until(waiting)
    other = made(workspace.with_name("other"), 0)
    (other / "another").touch()
    result = executor.run("list_rw", {}, workspace=other)
    assert was_leased(result)
    assert result.text.split() == ["another", "file", "sub"]


def test_a_folder_of_another_owner_gets_another_sandbox(executor: Executor, workspace: Path) -> None:
    assert not was_leased(executor.run("list_rw", {}))
    until(waiting)
    os.chown(workspace, 1234, 1234)
    assert not was_leased(executor.run("list_rw", {}))
    assert not was_leased(executor.run("list_ro", {}))


def test_a_waiting_sandbox_has_no_workspace(executor: Executor, workspace: Path) -> None:
    executor.run("list_rw", {})
    until(waiting)
    (sandbox,) = waiting()
    for process in processes(sandbox):
        assert [*(process / "root/workspace").iterdir()] == []
        assert str(workspace) not in (process / "mountinfo").read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", MODES)
def test_mounts_below_the_workspace_are_there_like_in_a_new_sandbox(
    executor: Executor, workspace: Path, mode: str
) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "below", workspace / "sub"], check=True)
    try:
        cold, warm = seen_cold_and_warm(executor, workspace, mode)
        assert warm == cold
    finally:
        subprocess.run(["umount", workspace / "sub"], check=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_file_system_with_other_flags_looks_like_in_a_new_sandbox(
    specs: Registry, name: str, workspace: Path, mode: str
) -> None:
    options = "mode=755,nosuid,nodev,noexec,noatime"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "other", workspace], check=True)
    try:
        with Executor(specs, engine=name, pool=Pool(), workspace=workspace) as executor:
            cold, warm = seen_cold_and_warm(executor, workspace, mode)
        assert warm == cold
    finally:
        subprocess.run(["umount", workspace], check=True)


def test_the_helper_leaves_nothing_in_the_sandbox_and_is_outside(name: str, workspace: Path) -> None:
    engine, profile = engine_of(name), Profile(workspace=mount(workspace, "rw"))
    with in_use():
        sandbox = engine.start(engine.profile_ahead(profile), BOOTSTRAP_ARGUMENTS)
        try:
            make_ready(sandbox, engine.profile_ahead(profile))
            # The worker closes what it does not need after the supervisor is ready.
            until(lambda: is_settled(sandbox))
            before = descriptors(sandbox)
            engine.mount_workspace(profile, sandbox)
            confirm_ready(sandbox, profile)
            assert added(before, descriptors(sandbox)) == []
            helper = engine._live.mount_helper._pid
            assert helper not in before
            for namespace in ("pid", "mnt"):
                assert link(f"/proc/{helper}/ns/{namespace}") == link(f"/proc/self/ns/{namespace}")
        finally:
            sandbox.close()
    close_unused()


def test_a_sandbox_in_which_nothing_can_be_mounted_is_not_used(
    executor: Executor, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor.run("list_rw", {})
    until(waiting)
    (sandbox,) = waiting()
    helper = engine_of(name)._live.mount_helper
    # Instead of the mount it only enters the sandbox, which then has an empty folder.
    monkeypatch.setattr(helper, "mount", lambda process, *_, **__: helper.prepare(process))
    result = executor.run("list_rw", {})
    assert not was_leased(result)
    assert result.text.split() == ["file", "sub"]
    until(lambda: sandbox.fileno() == -1)


def test_a_killed_helper_does_not_fail_a_call(executor: Executor, name: str) -> None:
    executor.run("list_rw", {})
    until(waiting)
    os.kill(engine_of(name)._live.mount_helper._pid, signal.SIGKILL)
    assert not executor.run("list_rw", {}).is_error


def link(path: Path | str) -> str:
    return str(Path(path).readlink())


def processes(sandbox: EngineSandbox) -> list[Path]:
    """Return the folders in /proc of the processes of a sandbox."""
    assert isinstance(sandbox, DockerSandbox | OciSandbox)
    (first,) = (
        line.split()[1]
        for line in Path(f"/proc/self/fdinfo/{sandbox.process}").read_text(encoding="utf-8").splitlines()
        if line.startswith("Pid:")
    )
    namespace, found = link(f"/proc/{first}/ns/pid"), []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if link(each / "ns/pid") == namespace:
                found.append(each)
    return found


def added(before: dict[int, list[str]], after: dict[int, list[str]]) -> list[str]:
    """Return what is open only afterwards. A process may have closed more of what it does not need."""
    return [each for pid, opened in after.items() for each in (Counter(opened) - Counter(before[pid])).elements()]


def is_settled(sandbox: EngineSandbox) -> bool:
    before = descriptors(sandbox)
    time.sleep(0.2)
    return descriptors(sandbox) == before


def descriptors(sandbox: EngineSandbox) -> dict[int, list[str]]:
    """Return what each process of a sandbox has open, by its process id."""
    found: dict[int, list[str]] = {}
    for process in processes(sandbox):
        opened = found.setdefault(int(process.name), [])
        for each in (process / "fd").iterdir():
            with suppress(OSError):
                opened.append(link(each))
    return {pid: sorted(opened) for pid, opened in found.items()}
