"""Writing a build: all of it or nothing, and nothing of anyone else's."""

from __future__ import annotations

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
    """Every file of a build by its path, without the list of them."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if name != MANIFEST}


def test_a_build_is_written_where_nothing_was(tmp_path: Path) -> None:
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


def test_the_next_build_replaces_the_whole_folder(tmp_path: Path) -> None:
    write_files(tmp_path / "build", FIRST)
    write_files(tmp_path / "build", SECOND)

    assert contents(tmp_path / "build") == SECOND
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_an_empty_folder_may_be_taken(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()

    write_files(tmp_path / "build", FIRST)

    assert contents(tmp_path / "build") == FIRST


@pytest.mark.parametrize("foreign", ["notes.txt", "providers/mine.json", "empty/", ".git/config"])
def test_a_folder_with_foreign_files_is_left_alone(tmp_path: Path, foreign: str) -> None:
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
        f"{out} holds files that toolc did not write ({foreign.rstrip('/')}), "
        "and a build replaces the whole folder; "
        "move them away, or name another folder with --out"
    )
    assert contents(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_a_registry_that_no_build_listed_is_foreign(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_bytes(b"{}")
    (tmp_path / MANIFEST).write_text("registry.json\n", encoding="utf-8")

    with pytest.raises(UsageError, match="holds files that toolc did not write"):
        write_files(tmp_path, FIRST)


def test_a_folder_below_a_file_is_no_place_for_a_build(tmp_path: Path) -> None:
    (tmp_path / "build").write_bytes(b"mine")

    with pytest.raises(UsageError, match="a file stands where a folder above it would be; name another with --out"):
        write_files(tmp_path / "build" / "x", FIRST)


def test_a_file_is_no_place_for_a_build(tmp_path: Path) -> None:
    (tmp_path / "build").write_bytes(b"mine")

    with pytest.raises(UsageError, match="it is not a folder"):
        write_files(tmp_path / "build", FIRST)
    with pytest.raises(UsageError, match="cannot write"):
        write_files(tmp_path / "build" / "inner", FIRST)
    assert (tmp_path / "build").read_bytes() == b"mine"


def test_a_link_is_followed_and_stays(tmp_path: Path) -> None:
    write_files(tmp_path / "real", FIRST)
    (tmp_path / "build").symlink_to("real")

    write_files(tmp_path / "build", SECOND)

    assert (tmp_path / "build").is_symlink()
    assert contents(tmp_path / "real") == SECOND


def test_what_was_there_stays_whole_when_writing_fails(tmp_path: Path) -> None:
    write_files(tmp_path / "build", FIRST)

    with pytest.raises(UsageError, match="cannot write"):
        write_files(tmp_path / "build", {**SECOND, "registry.json/inner": b""})

    assert contents(tmp_path / "build") == FIRST
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_without_an_exchange_of_folders_two_renames_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build_output, "_exchange", lambda _one, _other: False)
    write_files(tmp_path / "build", FIRST)
    write_files(tmp_path / "build", SECOND)

    assert contents(tmp_path / "build") == SECOND
    assert [path.name for path in tmp_path.iterdir()] == ["build"]


def test_what_a_killed_build_left_aside_goes(tmp_path: Path) -> None:
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
def test_two_builds_at_once_do_not_mix(tmp_path: Path) -> None:
    out = tmp_path / "build"
    write_files(out, {"a.json": b"a", "providers/a.json": b"a"})
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, out, name]) for name in ("a", "b")]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        # Opened once, a folder stays the same one whatever takes its place.
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
