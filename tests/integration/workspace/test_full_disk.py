"""A full disk: the call fails with the cause and the remedy, and works once there is space."""

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.docker_cases import run as run_in_docker
from engines.image_cases import archive
from engines.oci_cases import needs_oci, run
from engines.own_daemon import missing, own_daemon
from workspaces.transaction_cases import call, tool, tree

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host import owner
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.oci.images import import_image

pytestmark = needs_oci


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """Mount a small disk that the user who sets up a sandbox can enter."""
    with tempfile.TemporaryDirectory(prefix="toolc-test-disk-") as folder:
        disk = Path(folder, "disk")
        disk.mkdir()
        disk.parent.chmod(0o711)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=711", "tmpfs", str(disk)], check=True)
        yield disk
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> Path:
    """Create a file that takes all the space."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return filler


def test_a_full_disk_of_runtime_files_is_reported(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "_base", lambda: small_disk)
    filler = fill(small_disk)
    engine = OciEngine()
    with pytest.raises(InfrastructureError, match="No space left on device"):
        run(engine, "print('fine')")
    filler.unlink()
    assert run(engine, "print('fine')") == "fine\n"
    engine.close()


def test_a_full_disk_of_views_is_reported(small_disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


def test_a_full_disk_of_images_is_reported(small_disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLC_STORE", str(small_disk))
    archived = archive(tmp_path / "image.tar", "toolc-test/full:1", one_file(200_000))
    filler = fill(small_disk)
    with pytest.raises(InfrastructureError, match="No space left on device; free disk space"):
        import_image(archived, "toolc-test/full:1", None)
    filler.unlink()
    exported = import_image(archived, "toolc-test/full:1", None)
    assert (exported.root / "file").stat().st_size == 200_000


def one_file(size: int) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        info = tarfile.TarInfo("file")
        info.size = size
        tar.addfile(info, io.BytesIO(bytes(size)))
    return data.getvalue()


def test_a_full_disk_of_the_workspace_is_reported(small_disk: Path) -> None:
    """The view is on another disk; there is no space for the commit."""
    workspace = small_disk / "work"
    workspace.mkdir()
    (workspace / "a").write_text("a\n", encoding="ascii")
    for path in (workspace, workspace / "a"):
        os.chown(path, 1234, 1234)
    filler = fill(small_disk)
    engine = OciEngine()
    result = call(engine, tool("head -c 20000 /dev/zero > a; echo b > b"), workspace)
    assert result.is_error
    assert "the changes cannot be written: No space left on device" in result.text
    assert tree(workspace) == {"a": "a\n"}
    filler.unlink()
    assert not call(engine, tool("echo new > a; echo b > b"), workspace).is_error
    assert tree(workspace) == {"a": "new\n", "b": "b\n"}
    engine.close()


@pytest.mark.integrations
@pytest.mark.skipif(missing() != "", reason=missing())
def test_a_full_disk_of_the_daemon_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with own_daemon(megabytes=600) as daemon:
        engine = DockerEngine(daemon.socket)
        filler = fill(daemon.data)
        with pytest.raises(InfrastructureError, match="no space left on device"):
            engine.start(Profile(), ["-c", "pass"])
        filler.unlink()
        assert run_in_docker(engine, Profile(), "print('fine')") == "fine\n"
        engine.close()
