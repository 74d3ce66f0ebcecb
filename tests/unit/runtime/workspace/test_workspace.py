"""Which folders may be a workspace, and how a refusal is explained."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from toolc.model.errors import UsageError
from toolc.model.plan import Mount
from toolc.runtime.workspace.mount import mount


def test_a_folder_of_ones_own_is_mounted_absolute_and_without_links(tmp_path: Path) -> None:
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


def test_a_relative_path_is_taken_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert mount(Path(), "ro").source == str(tmp_path.resolve())


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/", "the root of the file system"),
        ("/tmp", "a folder that everyone on this machine shares"),
        ("/tmp/../tmp/.", "a folder that everyone on this machine shares"),
        ("/var/tmp", "a folder that everyone on this machine shares"),
        ("/opt", "a folder that everyone on this machine shares"),
        ("/etc", "a system directory"),
        ("/etc/ssl", "a system directory"),
        ("/usr", "a system directory"),
        ("/usr/lib", "a system directory"),
        ("/bin", "a system directory"),
        ("/lib", "a system directory"),
        ("/var", "a system directory"),
        ("/var/lib", "a system directory"),
        ("/dev/shm", "a system directory"),
        ("/proc/self", "a system directory"),
        ("/sys", "a system directory"),
        ("/run", "a system directory"),
        ("/root", "a home directory"),
    ],
)
def test_folders_that_are_not_ones_own_are_refused(path: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nonexistent/home")
    with pytest.raises(UsageError) as raised:
        mount(Path(path), "ro")
    assert f" is {why}, which a tool must not see whole; give the folder of one project" in str(raised.value)


def test_a_home_and_what_holds_it_are_refused_but_not_what_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "homes" / "ada"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    with pytest.raises(UsageError, match="is a home directory"):
        mount(home, "ro")
    with pytest.raises(UsageError, match=f"is a folder that holds the home directory {home.resolve()}"):
        mount(tmp_path, "ro")
    assert mount(home / "project", "ro").source == str((home / "project").resolve())


def test_a_link_to_a_refused_folder_is_refused_and_both_are_named(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(UsageError, match=rf"the workspace {tmp_path}/link \(/etc\) is a system directory"):
        mount(tmp_path / "link", "ro")


def test_a_home_in_a_system_folder_opens_what_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/usr/share")
    with pytest.raises(UsageError, match="is a home directory"):
        mount(Path("/usr/share"), "ro")
    assert mount(Path("/usr/share/doc"), "ro").source == "/usr/share/doc"


@pytest.mark.parametrize("home", ["/", "/usr", "", "relative"])
def test_a_home_that_is_no_home_opens_nothing(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    with pytest.raises(UsageError, match="a system directory"):
        mount(Path("/usr/share"), "ro")


def test_what_is_not_there_or_no_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match=r"missing' cannot be used: No such file or directory; give the folder"):
        mount(tmp_path / "missing", "ro")
    with pytest.raises(UsageError, match="file' is not a folder"):
        mount(tmp_path / "file", "ro")
    with pytest.raises(UsageError, match="cannot be used"):
        mount(tmp_path / "a\0b", "ro")


def test_a_loop_of_links_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError, match="cannot be used"):
        mount(tmp_path / "a", "ro")


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    odd.mkdir()
    with pytest.raises(UsageError, match="not UTF-8; rename it"):
        mount(odd, "ro")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_tool_cannot_do_as_the_owner_what_its_caller_may_not() -> None:
    # Not tmp_path: nobody but root may look into that.
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder)
        theirs.chmod(0o755)
        os.seteuid(12345)
        try:
            assert mount(theirs, "ro").mode == "ro"
            with pytest.raises(UsageError, match=r"you may not write in the workspace"):
                mount(theirs, "rw")
        finally:
            os.seteuid(0)
