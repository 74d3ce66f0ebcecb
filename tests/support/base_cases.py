"""A small base image for tests, and a program in place of mmdebstrap that creates it."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from toolc.sandbox.host import store

NO_DAEMON = "unix:///nonexistent/docker.sock"

PROGRAM = """\
#!/bin/sh
echo started >> "{folder}/started"
{before}
for last; do :; done
echo "I: extracting archives..." >&2
cp "{folder}/layer.tar" "$last"
"""


def layer(**files: str) -> bytes:
    """Return a layer with these files, by path (a double underscore is a slash)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def fake_mmdebstrap(folder: Path, content: bytes, before: str = "") -> Path:
    """Write a program called mmdebstrap that notes each start in ``started``; return its folder, for PATH."""
    folder.mkdir()
    (folder / "layer.tar").write_bytes(content)
    program = folder / "mmdebstrap"
    program.write_text(PROGRAM.format(folder=folder, before=before), encoding="utf-8")
    program.chmod(0o755)
    return folder


def starts(folder: Path) -> int:
    """Return how often the program was started."""
    file = folder / "started"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


def use(monkeypatch: pytest.MonkeyPatch, programs: Path, own_store: Path) -> None:
    """Use this store, these programs first, and no daemon."""
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_HOST", NO_DAEMON)
    monkeypatch.setenv(store.VARIABLE, str(own_store))
