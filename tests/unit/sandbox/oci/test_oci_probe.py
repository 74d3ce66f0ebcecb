"""Which program is the runtime, and how often it is asked for its version."""

import subprocess
import sys
from pathlib import Path

import pytest
from engines.oci_cases import needs_oci

from toolc.sandbox.oci.probe import RUNTIME

pytestmark = needs_oci


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that comes first in ``PATH``, with an empty store."""
    (folder := tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.setenv("TOOLC_STORE", str(tmp_path / "store"))
    return folder / RUNTIME


def install(runtime: Path, prints: str) -> None:
    runtime.write_text(f"#!/bin/sh\necho run >> {runtime}.runs\necho {prints}\n", encoding="utf-8")
    runtime.chmod(0o755)


def found(runtime: Path) -> tuple[str, str, int]:
    """Return the version and the reason that a new process prints, and the number of runs until now."""
    code = "from toolc.sandbox.oci.probe import probe; print(probe().version, probe().reason, sep=chr(10))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, reason = done.stdout.split("\n")[:2]
    return version, reason, len(Path(f"{runtime}.runs").read_text().splitlines())


def test_the_version_is_asked_once_for_each_installation(runtime: Path) -> None:
    install(runtime, "runc version 1.2.3")
    assert found(runtime) == ("1.2.3", "", 1)
    assert found(runtime) == ("1.2.3", "", 1)
    install(runtime, "runc version 1.2.4")
    assert found(runtime) == ("1.2.4", "", 2)


def test_another_program_is_refused_each_time(runtime: Path) -> None:
    install(runtime, "crun version 1.8")
    for runs in (1, 2):
        version, reason, count = found(runtime)
        assert (version, count) == ("", runs)
        assert "is not runc: it prints 'crun version 1.8'" in reason


def test_a_store_that_cannot_be_written_changes_nothing(
    runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(runtime, "runc version 1.2.3")
    (file := tmp_path / "file").touch()
    monkeypatch.setenv("TOOLC_STORE", str(file))
    assert [found(runtime)[2] for _ in range(2)] == [1, 2]
