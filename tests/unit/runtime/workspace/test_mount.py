import os
import tempfile
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.plan import Mount
from toolc.runtime.workspace.mount import WorkspaceFolder, mount, scratch_location


def test_the_source_is_absolute_and_without_links(tmp_path: Path) -> None:
    real = tmp_path / "with space"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    status = real.stat()
    assert mount(tmp_path / "link", "rw") == Mount(
        source=str(real.resolve()),
        mode="rw",
        owner=status.st_uid,
        group=status.st_gid,
        device=status.st_dev,
        inode=status.st_ino,
    )


def test_a_relative_path_is_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mount(Path(), "ro").source == str(tmp_path.resolve())


SYSTEM = (
    "/etc", "/etc/ssl", "/usr", "/usr/lib", "/bin", "/lib", "/var", "/var/lib", "/dev/shm", "/proc/self", "/sys",
    "/run",
)  # fmt: skip


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "the root of the file system"),
        ("/root", "a home directory"),
        *(
            (path, "a folder shared by all users of this machine")
            for path in ("/tmp", "/tmp/../tmp/.", "/var/tmp", "/opt")
        ),
        *((path, "a system directory") for path in SYSTEM),
    ],
)
def test_system_and_shared_folders_are_refused(path: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent/home")
    with pytest.raises(UsageError) as raised:
        mount(Path(path), "ro")
    assert f" is {kind}, which a tool may not access; use the folder of one project" in str(raised.value)


def test_a_home_directory_is_refused_and_its_subfolders_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "homes" / "ada"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(UsageError, match="is a home directory"):
        mount(home, "ro")
    with pytest.raises(UsageError, match=f"is a folder that contains the home directory {home.resolve()}"):
        mount(tmp_path, "ro")
    assert mount(home / "project", "ro").source == str((home / "project").resolve())


def test_a_link_to_a_system_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(UsageError, match=rf"the workspace {tmp_path}/link \(/etc\) is a system directory"):
        mount(tmp_path / "link", "ro")


def test_subfolders_of_a_home_in_a_system_folder_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/usr/share")
    with pytest.raises(UsageError, match="is a home directory"):
        mount(Path("/usr/share"), "ro")
    assert mount(Path("/usr/share/doc"), "ro").source == "/usr/share/doc"


@pytest.mark.parametrize("home", ["/", "/usr", "", "relative"])
def test_an_invalid_home_allows_no_folder(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    with pytest.raises(UsageError, match="a system directory"):
        mount(Path("/usr/share"), "ro")


def test_a_missing_folder_a_file_or_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match=r"missing' cannot be used: No such file or directory; use the folder"):
        mount(tmp_path / "missing", "ro")
    with pytest.raises(UsageError, match="file' is not a folder"):
        mount(tmp_path / "file", "ro")
    for name in ("a\0b", "a"):
        with pytest.raises(UsageError, match="cannot be used"):
            mount(tmp_path / name, "ro")


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    odd.mkdir()
    with pytest.raises(UsageError, match="not UTF-8; rename it"):
        mount(odd, "ro")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_caller_needs_access_to_the_workspace() -> None:
    # Not tmp_path, which only root may enter.
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder)
        theirs.chmod(0o755)
        os.seteuid(12345)
        try:
            assert mount(theirs, "ro").mode == "ro"
            with pytest.raises(UsageError, match=r"you have no permission to write to the workspace"):
                mount(theirs, "rw")
        finally:
            os.seteuid(0)


def test_a_user_without_a_home_directory_has_workspaces_but_no_place_for_transactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An arbitrary uid in a container."""
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("getuid", "geteuid"):
        monkeypatch.setattr(os, name, lambda: 54321)
    assert mount(tmp_path, "ro").source == str(tmp_path)
    with pytest.raises(InfrastructureError, match="this user has no home directory; set XDG_STATE_HOME"):
        scratch_location()


def test_the_folder_of_an_executor_is_resolved_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for each in (first, second):
        each.mkdir()
    (tmp_path / "link").symlink_to(first)
    folder = WorkspaceFolder.of(tmp_path / "link")
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(second)
    assert mount(folder, "rw").source == str(first)


@pytest.mark.parametrize("with_link", [True, False])
def test_a_folder_that_was_replaced_is_refused(tmp_path: Path, *, with_link: bool) -> None:
    work, private = tmp_path / "work", tmp_path / "private"
    for each in (work, private):
        each.mkdir()
    folder = WorkspaceFolder.of(work)
    assert mount(folder, "ro").source == str(work)
    work.rename(tmp_path / "moved")
    if with_link:
        work.symlink_to(private)
    else:
        work.mkdir()
    with pytest.raises(UsageError, match=r"work' was replaced since its executor was created.* create a new executor"):
        mount(folder, "ro")


def test_a_folder_above_that_became_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "repo/sub").mkdir(parents=True)
    (tmp_path / "private/sub").mkdir(parents=True)
    folder = WorkspaceFolder.of(tmp_path / "repo/sub")
    (tmp_path / "repo").rename(tmp_path / "old")
    (tmp_path / "repo").symlink_to(tmp_path / "private")
    with pytest.raises(UsageError, match="was replaced"):
        mount(folder, "ro")


def test_a_folder_that_is_created_later_must_not_be_a_link(tmp_path: Path) -> None:
    late, private = WorkspaceFolder.of(tmp_path / "late"), tmp_path / "private"
    with pytest.raises(UsageError, match="No such file or directory"):
        mount(late, "ro")
    private.mkdir()
    (tmp_path / "late").symlink_to(private)
    with pytest.raises(UsageError, match="was replaced"):
        mount(late, "ro")
    (tmp_path / "late").unlink()
    (tmp_path / "late").mkdir()
    assert mount(late, "ro").source == str(tmp_path / "late")
