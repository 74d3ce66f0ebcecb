"""A small base image for tests, and a program in place of mmdebstrap that creates it."""

import os
from pathlib import Path

import pytest

from engines.tar_files import packed_files
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
    return packed_files({name.replace("__", "/"): text.encode() for name, text in files.items()})


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
