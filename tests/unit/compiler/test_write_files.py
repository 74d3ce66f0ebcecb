"""Writing a build: completely or not at all, and never over foreign files."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from toolc.compiler import build_output
from toolc.compiler.build_output import MANIFEST, write_files
from toolc.model.errors import UsageError

FIRST = {"registry.json": b"{}", "providers/a.json": b"[1]", "loss.json": b"[]"}
SECOND = {"registry.json": b"{2}", "providers/b.json": b"[2]"}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a build by path, without the manifest."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != MANIFEST}


def test_a_new_folder_is_created(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write_files(tmp_path / "new" / "build", FIRST)
    finally:
        os.umask(old)
    out = tmp_path / "new" / "build"
    assert contents(out) == FIRST
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE((out / "providers").stat().st_mode) == 0o755
    assert stat.S_IMODE((out / "registry.json").stat().st_mode) == 0o644
    assert (out / MANIFEST).read_text(encoding="utf-8").splitlines()[1:] == sorted(FIRST)


def test_next_build_replaces_the_folder(tmp_path: Path) -> None:
    write_files(tmp_path / "build", FIRST)
    write_files(tmp_path / "build", SECOND)
    assert contents(tmp_path / "build") == SECOND
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    write_files(tmp_path / "build", FIRST)
    assert contents(tmp_path / "build") == FIRST


@pytest.mark.parametrize("foreign", ["notes.txt", "providers/mine.json", "empty/", ".git/config"])
def test_folder_with_foreign_files_is_not_changed(tmp_path: Path, foreign: str) -> None:
    out = tmp_path / "build"
    write_files(out, FIRST)
    path = out / foreign
    path.parent.mkdir(exist_ok=True)
    if foreign.endswith("/"):
        path.mkdir()
    else:
        path.write_bytes(b"mine")
    before = contents(out)
    with pytest.raises(UsageError) as error:
        write_files(out, SECOND)
    assert str(error.value) == (
        f"{out} contains files that toolc did not write ({foreign.rstrip('/')}), and a build replaces the whole "
        "folder; move them, or choose another folder with --out"
    )
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_manifest_without_header_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_bytes(b"{}")
    (tmp_path / MANIFEST).write_text("registry.json\n", encoding="utf-8")
    with pytest.raises(UsageError, match="contains files that toolc did not write"):
        write_files(tmp_path, FIRST)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("build", "it is not a folder"),
        ("build/x", "a parent folder has the name of an existing file; choose another folder with --out"),
    ],
)
def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "build").write_bytes(b"mine")
    with pytest.raises(UsageError, match=f"cannot write .*: {message}"):
        write_files(tmp_path / path, FIRST)
    assert (tmp_path / "build").read_bytes() == b"mine"


def test_link_is_followed_and_kept(tmp_path: Path) -> None:
    write_files(tmp_path / "real", FIRST)
    (tmp_path / "build").symlink_to("real")
    write_files(tmp_path / "build", SECOND)
    assert (tmp_path / "build").is_symlink()
    assert contents(tmp_path / "real") == SECOND


def test_failed_build_changes_nothing(tmp_path: Path) -> None:
    write_files(tmp_path / "build", FIRST)
    with pytest.raises(UsageError, match="cannot write"):
        write_files(tmp_path / "build", {**SECOND, "registry.json/inner": b""})
    assert contents(tmp_path / "build") == FIRST
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_folders_are_replaced_without_atomic_exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_output, "_exchange", lambda _one, _other: False)
    write_files(tmp_path / "build", FIRST)
    write_files(tmp_path / "build", SECOND)
    assert contents(tmp_path / "build") == SECOND
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_temporary_folder_of_a_killed_build_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".build.toolc-build-x1y2").mkdir()
    (tmp_path / ".build.other").mkdir()
    write_files(tmp_path / "build", FIRST)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".build.other", "build"]


WRITER = """
import sys
from pathlib import Path
from toolc.compiler.build_output import write_files as write
name = sys.argv[2]
for number in range(40):
    write(Path(sys.argv[1]), {f"{name}.json": name.encode(), f"providers/{name}.json": name.encode()})
"""


@pytest.mark.slow
def test_concurrent_builds_do_not_mix(tmp_path: Path) -> None:
    out = tmp_path / "build"
    write_files(out, {"a.json": b"a", "providers/a.json": b"a"})
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, out, name]) for name in ("a", "b")]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        # An open descriptor stays at the same folder if the path is replaced.
        descriptor = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
        try:
            names = {name for name in os.listdir(descriptor) if name.endswith(".json")}  # noqa: PTH208
        finally:
            os.close(descriptor)
        assert names in ({"a.json"}, {"b.json"}, set())  # a folder that has been replaced is being removed
        seen += bool(names)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen
    assert set(contents(out)) in ({"a.json", "providers/a.json"}, {"b.json", "providers/b.json"})
    assert [path.name for path in tmp_path.iterdir()] == ["build"]
