"""Tar files in memory."""

import io
import tarfile
from collections.abc import Mapping


def packed(*entries: tuple[tarfile.TarInfo, bytes], pax_headers: dict[str, str] | None = None) -> bytes:
    """Return a tar file with these entries."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT, pax_headers=pax_headers or {}) as tar:
        for info, content in entries:
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


def packed_files(files: Mapping[str, bytes]) -> bytes:
    """Return a tar file with these files, by name."""
    entries = []
    for name, content in files.items():
        info = tarfile.TarInfo(name)
        info.size = len(content)
        entries.append((info, content))
    return packed(*entries)
