"""What an import writes, it writes completely or not at all."""

import resource
from pathlib import Path

import pytest

from toolc.importers.changes import FileChange, write
from toolc.importers.record import Record
from toolc.model.errors import UsageError

RECORD = Record(kind="json", source="tools.json", digest="sha256:1")


def test_no_file_is_left_half_written(tmp_path: Path) -> None:
    old = FileChange(path=tmp_path / "old.yaml", before="short\n", after="long\n" * 1000)
    old.path.write_text("short\n", encoding="utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UsageError, match="cannot be written: File too large"):
            write(tmp_path, [old], "tools", RECORD)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert old.path.read_text(encoding="utf-8") == "short\n"
    write(tmp_path, [old], "tools", RECORD)
    assert old.path.read_text(encoding="utf-8") == "long\n" * 1000
    assert sorted(each.name for each in tmp_path.iterdir()) == [".toolc-import", "old.yaml"]
