"""Untrusted tar files: damaged ones, and headers that would fill the memory."""

import bz2
import gzip
import lzma
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from engines.tar_files import packed

from toolc.sandbox.images import archive
from toolc.sandbox.images.archive import open_tar


def members(*infos: tarfile.TarInfo, pax_headers: dict[str, str] | None = None) -> bytes:
    return packed(*((info, bytes(info.size)) for info in infos), pax_headers=pax_headers)


def one(name: str = "a", size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_compressed_tar_files_are_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "x").write_bytes(pack(members(one("a", 5), one("b"))))
    with open_tar(tmp_path / "x") as tar:
        assert tar.getnames() == ["a", "b"]
        content = tar.extractfile("a")
        assert content is not None
        assert content.read() == bytes(5)


@pytest.mark.parametrize("data", [b"", b"no tar", bytes(100), gzip.compress(b"no tar", mtime=0)])
def test_files_that_are_not_tar_are_rejected(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ValueError, match=r"^it is not a tar file$"), open_tar(tmp_path / "x"):
        pass


def long_name(size: int) -> bytes:
    """Return a header for a name of ``size`` bytes, and the name."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(size) + members(one())


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", members(one("first"))[:512]])
def test_a_huge_header_is_not_read(tmp_path: Path, first: bytes) -> None:
    (tmp_path / "x").write_bytes(gzip.compress(first + long_name(64 * 1024 * 1024)))
    tracemalloc.start()
    try:
        with pytest.raises((tarfile.ReadError, ValueError)), open_tar(tmp_path / "x"):
            pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * 1024 * 1024


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (members(one("n" * 5000)), "a header that is too long"),
        (members(one("a"), one("n" * 5000)), "a header that is too long"),
        (members(one(), pax_headers={f"key{number}": "x" for number in range(2000)}), "a header that is too long"),
        (members(one("a"), one("b"), one("c")), "it contains more than 2 files"),
    ],
    ids=["the first name", "a later name", "records of a global header", "files"],
)
def test_names_records_and_files_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, reason: str
) -> None:
    monkeypatch.setattr(archive, "MAX_FILES", 2)
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(tarfile.ReadError, match=reason), open_tar(tmp_path / "x"):
        pass
