"""A disk that is full: the call is refused with the cause and the remedy, and works once there is room."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from oci_cases import needs_oci, run
from transaction_cases import call, tool

from toolc.engines import owner
from toolc.engines.oci import OciEngine
from toolc.errors import InfrastructureError

pytestmark = needs_oci


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A disk of its own, where the user that sets a sandbox up can pass through."""
    with tempfile.TemporaryDirectory(prefix="toolc-test-disk-") as folder:
        disk = Path(folder, "disk")
        disk.mkdir()
        disk.parent.chmod(0o711)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=711", "tmpfs", str(disk)], check=True)
        yield disk
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the room there is."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return filler


def test_runtime_files(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_base", lambda: small_disk)
    filler = fill(small_disk)
    engine = OciEngine()
    with pytest.raises(InfrastructureError, match="No space left on device"):
        run(engine, "print('fine')")
    filler.unlink()
    assert run(engine, "print('fine')") == "fine\n"
    engine.close()


def test_a_transactions_view(small_disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    os.chown(workspace, 1234, 1234)
    monkeypatch.setenv("XDG_STATE_HOME", str(small_disk))
    (small_disk / "toolc" / "scratch").mkdir(parents=True)
    filler = fill(small_disk)
    engine = OciEngine()
    with pytest.raises(InfrastructureError, match="No space left on device"):
        call(engine, tool("echo new > a"), workspace)
    filler.unlink()
    assert not call(engine, tool("echo new > a"), workspace).is_error
    assert (workspace / "a").read_text(encoding="ascii") == "new\n"
    engine.close()
