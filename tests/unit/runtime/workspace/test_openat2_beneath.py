import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolc.runtime.workspace import dir_handle as module
from toolc.runtime.workspace.dir_handle import FOLDER, openat2_beneath

READ = os.O_RDONLY | os.O_CLOEXEC


@pytest.fixture(params=["openat2", "in steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Select one of the two implementations; the second is for kernels without openat2."""
    if request.param == "in steps":

        def unknown(*_: object) -> int:
            raise OSError(errno.ENOSYS, "Function not implemented")

        monkeypatch.setattr(module, "_openat2", unknown)
    return str(request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/file").write_text("mine", encoding="utf-8")
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (tmp_path / "in/link").symlink_to("../secret")
    (tmp_path / "in/there").symlink_to("deep")
    (tmp_path / "in/magic").symlink_to("/proc/self/root")
    descriptor = os.open(tmp_path / "in", FOLDER)
    yield descriptor
    os.close(descriptor)


def opened(folder: int, path: bytes, flags: int = READ) -> str:
    try:
        descriptor = openat2_beneath(folder, path, flags)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    with os.fdopen(descriptor, "rb") as file:
        return file.read().decode()


@pytest.mark.usefixtures("way")
def test_files_and_folders_are_opened(folder: int) -> None:
    assert opened(folder, b"deep/file") == "mine"
    assert opened(folder, b"deep/none") == "ENOENT"
    assert opened(folder, b"deep/file/x") == "ENOTDIR"
    descriptor = openat2_beneath(folder, b"deep", FOLDER)
    with os.scandir(descriptor) as entries:
        assert [entry.name for entry in entries] == ["file"]
    os.close(descriptor)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", [b"", b".", b"..", b"../secret", b"deep/../file", b"/etc/passwd", b"deep//file"])
def test_a_path_with_dots_or_empty_names_is_invalid(folder: int, path: bytes) -> None:
    assert opened(folder, path) == "EINVAL"


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", [b"link", b"there/file", b"magic/etc/passwd", b"magic"])
def test_links_are_not_followed_by_either_implementation(folder: int, path: bytes) -> None:
    assert opened(folder, path) in {"ELOOP", "ENOTDIR"}


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("path", [b"cwd/toolc", b"root/etc/passwd", b"exe", b"fd/0", b"ns/net"])
def test_magic_links_of_proc_are_not_followed(path: bytes) -> None:
    proc = os.open(f"/proc/{os.getpid()}", FOLDER)
    try:
        assert opened(proc, path) in {"ELOOP", "ENOTDIR", "EXDEV"}
    finally:
        os.close(proc)


@pytest.mark.usefixtures("way")
def test_descriptors_are_closed(folder: int) -> None:
    before = {*Path("/proc/self/fd").iterdir()}
    for path in (b"deep/file", b"deep/none", b"link", b"deep/none/x", b"there/file"):
        opened(folder, path)
    assert {*Path("/proc/self/fd").iterdir()} == before


MOUNTED = """
import errno, os, sys
from toolc.runtime.workspace import dir_handle as module
from toolc.runtime.workspace.dir_handle import DirHandle

if sys.argv[2] == "in steps":
    def unknown(*_): raise OSError(errno.ENOSYS, "")
    module._openat2 = unknown
with DirHandle.open(sys.argv[1]) as root:
    for path in (b"own", b"folder/file", b"file", b"proc/self/status", b"proc/self/root/etc/passwd", b"memory/x"):
        try:
            with root.file(path) as descriptor: print(os.read(descriptor, 9).decode())
        except OSError as error: print(errno.errorcode[error.errno])
"""


def with_mounts(mounts: str, program: str, folder: Path, way: str) -> str:
    """Return the output of a Python program that runs in a mount namespace with these mounts."""
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["sh", "-ec", f'{mounts}; exec "$@"', "sh", sys.executable, "-c", program, str(folder), way]
    done = subprocess.run(["unshare", "--mount", *own, *command], capture_output=True, text=True, check=True)
    return done.stdout


def test_mounts_in_the_folder_are_not_entered(tmp_path: Path, way: str) -> None:
    """Includes bind mounts of the same file system, which have the same device number."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("secret", encoding="utf-8")
    inside = tmp_path / "in"
    for name in ("folder", "proc", "memory"):
        (inside / name).mkdir(parents=True)
    (inside / "own").write_text("mine", encoding="utf-8")
    (inside / "file").write_text("mine", encoding="utf-8")
    mounts = (
        f"mount --bind {tmp_path}/outside {inside}/folder && mount --bind {tmp_path}/outside/file {inside}/file && "
        f"mount --bind /proc {inside}/proc && mount -t tmpfs none {inside}/memory && echo x > {inside}/memory/x"
    )
    assert with_mounts(mounts, MOUNTED, inside, way).split() == ["mine", "EXDEV", "EXDEV", "EXDEV", "EXDEV", "EXDEV"]


def test_files_of_an_overlay_are_opened(tmp_path: Path, way: str) -> None:
    """In an overlay, files and folders have different devices."""
    for name in ("lower/deep", "upper", "work", "merged"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lower/deep/file").write_text("mine", encoding="utf-8")
    script = (
        "import os, sys\n"
        + MOUNTED.partition("with DirHandle")[0]
        + "with DirHandle.open(sys.argv[1]) as root, root.file(b'deep/file') as found:\n"
        + "    print(os.read(found, 9).decode())\n"
    )
    mount = (
        f"mount -t overlay none -o lowerdir={tmp_path}/lower,upperdir={tmp_path}/upper,workdir={tmp_path}/work"
        f"{'' if os.geteuid() == 0 else ',userxattr'} {tmp_path}/merged"
    )
    assert with_mounts(mount, script, tmp_path / "merged", way) == "mine\n"
