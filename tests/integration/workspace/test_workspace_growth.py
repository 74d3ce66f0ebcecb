"""A call that fills the disk through its workspace is stopped, on every engine and in every kind of view."""

import os
import subprocess
from pathlib import Path

import pytest
from cli.cli_engines import engines

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.errors import NoEngineError
from toolc.model.result import ToolResult
from toolc.model.spec.sandbox import MIB
from toolc.runtime.workspace import growth, scratch

TOOL = """
toolc: 1
name: fill
description: Run a program that writes to the workspace. Use it to fill the disk.
parameters: {}
backend: {shell: {script: "SCRIPT"}}
sandbox: {workspace: MODE, limits: {LIMITS}}
"""

FILL = "dd if=/dev/zero of=large bs=1M count=200; sleep 100"
FILL_DELETED = "exec 5>large; rm large; dd if=/dev/zero bs=1M count=200 >&5; sleep 100"
FILL_SOON = "dd if=/dev/zero of=large bs=1M count=20"
TRANSACTION = "{mode: transaction, commit: always}"
WRITE = "dd if=/dev/zero of=small bs=1M count=3"


@pytest.fixture(autouse=True)
def _time_to_inspect_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an inspection take long: after one that was stopped, what other programs write on the disk counts too."""
    for name in ("SCAN_SECONDS", "REPORT_SECONDS"):
        monkeypatch.setattr(growth, name, 100.0)


def run(
    folder: Path, engine: str, script: str, *, mode: str = "rw", limits: str = "", accepted: tuple[str, ...] = ()
) -> ToolResult:
    """Run the script with a limit of 32 MiB in the user's configuration."""
    text = TOOL.replace("SCRIPT", script).replace("MODE", mode).replace("LIMITS", limits)
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    (folder / "workspace").mkdir(exist_ok=True)
    configuration = Configuration(workspace_growth_bytes=32 * MIB, accept_unenforced=accepted)
    registry = Registry.load(folder / "tool.yaml")
    with Executor(registry, workspace=folder / "workspace", engine=engine, configuration=configuration) as executor:
        return executor.run("fill", {})


def growth_of(result: ToolResult) -> float:
    bytes_ = result.details["workspace_growth_bytes"]
    assert isinstance(bytes_, int)
    return bytes_ / MIB


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize(("mode", "script"), [("rw", FILL), ("rw", FILL_DELETED), ("transaction", FILL)])
def test_a_call_that_fills_the_disk_is_stopped(engine: str, mode: str, script: str, tmp_path: Path) -> None:
    result = run(tmp_path, engine, script, mode=TRANSACTION if mode == "transaction" else mode)
    assert result.error is not None
    assert (result.error.kind, result.details["outcome"]) == ("output_limit", "workspace_limit")
    assert (
        result.error.message == "the call wrote more than 32MiB to the workspace and was stopped; write less per call"
    )
    assert growth_of(result) >= 32
    if mode == "transaction":
        assert not (tmp_path / "workspace" / "large").exists()


@pytest.mark.parametrize("engine", engines())
def test_the_details_say_what_a_call_has_added(engine: str, tmp_path: Path) -> None:
    for mode in ("rw", TRANSACTION):
        assert 3 <= growth_of(run(tmp_path, engine, WRITE, mode=mode)) < 4
        (tmp_path / "workspace" / "small").unlink()
    assert "workspace_growth_bytes" not in run(tmp_path, engine, "true", mode="ro").details


@pytest.mark.parametrize("engine", engines())
def test_a_limit_in_the_spec_is_refused_or_accepted_as_unenforced(engine: str, tmp_path: Path) -> None:
    with pytest.raises(NoEngineError, match=r"it cannot enforce limits\.workspace here"):
        run(tmp_path, engine, WRITE, limits="workspace: 1MiB")
    assert not (tmp_path / "workspace" / "small").exists()
    result = run(tmp_path, engine, f"{WRITE}; sleep 100", limits="workspace: 1MiB", accepted=("workspace",))
    assert result.error is not None
    assert result.error.message.startswith("the call wrote more than 1MiB to the workspace")
    assert result.details["unenforced"] == ["workspace"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
@pytest.mark.parametrize("engine", engines())
def test_a_file_system_of_that_size_enforces_the_limit_in_the_spec(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode, place in (("rw", "workspace"), (TRANSACTION, "state")):
        (disk := tmp_path / place).mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], check=True)
        try:
            monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
            result = run(tmp_path, engine, f"{FILL_SOON} 2>&1 || true", mode=mode, limits="workspace: 8MiB")
            assert "No space left on device" in result.text
            assert "unenforced" not in result.details
            with pytest.raises(NoEngineError, match=r"limits\.workspace"):
                run(tmp_path, engine, "true", mode=mode, limits="workspace: 7MiB")
        finally:
            scratch._stale_folders.cache_clear()
            subprocess.run(["umount", "--lazy", str(disk)], check=True)
