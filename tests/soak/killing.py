"""Kills owners, and measures how long it takes until nothing of theirs is left."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from remains import Owned, seconds_until_clean

from toolc.engines.docker_daemon import connect
from toolc.engines.docker_host import NoHostError, find_socket
from toolc.engines.docker_http import Client

PROGRAM: Final = Path(__file__).with_name("dying_owner.py")
PATIENCE_SECONDS: Final = 30.0
"""A janitor gives up after ten; a loaded machine is slow."""

REACH_SECONDS: Final = 60.0
"""How long six callers may take to reach a step a few times."""

ENGINES: Final = ("docker", "oci")


@contextmanager
def owner(engine: str, step: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process with six callers at work in folders of its own."""
    with tempfile.TemporaryDirectory(prefix="toolc-soak-", ignore_cleanup_errors=True) as name:
        top = Path(name)
        top.chmod(0o711)
        for folder in ("tmp", "state", "store", "workspace"):
            (top / folder).mkdir(mode=0o755)
        (top / "workspace" / "a").write_text("old\n", encoding="ascii")
        for path in (top / "workspace", top / "workspace" / "a"):
            os.chown(path, 1234, 1234)
        places = {"TMPDIR": "tmp", "XDG_STATE_HOME": "state", "TOOLC_STORE": "store"}
        environment = os.environ | {variable: str(top / folder) for variable, folder in places.items()}
        argv = [sys.executable, str(PROGRAM), engine, step, str(top / "workspace")]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                yield process, top
            finally:
                process.kill()


def seconds_after_death(engine: str, step: str, *, kill_after: float | None = None) -> float:
    """Let an owner die at a step, or after some seconds; how long until nothing was left of it."""
    with owner(engine, step) as (process, top):
        assert process.stdout is not None
        label = process.stdout.readline().strip()
        try:
            process.wait(REACH_SECONDS if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            assert kill_after is not None, f"{engine}: {step} was not reached"
            process.kill()
        containers = tuple(process.stdout.read().split())
        assert process.wait() == -signal.SIGKILL
        owned = Owned(
            label=label,
            containers=containers,
            folders=tuple(top / name for name in ("tmp", "state", "store")),
            client=client() if engine == "docker" else None,
        )
        seconds = seconds_until_clean(owned, PATIENCE_SECONDS)
        found = sorted(str(path.relative_to(top / "workspace")) for path in (top / "workspace").rglob("*"))
        assert found in (["a"], ["a", "deep"], ["a", "deep", "deep/b"]), found
        return seconds


def client() -> Client:
    """The daemon's socket, asked directly."""
    return connect(find_socket(os.environ)).client


def lacks(engine: str) -> str:
    """Why these tests cannot be run with this engine; empty if they can."""
    if os.geteuid() != 0:
        return "needs root"
    if engine == "docker":
        try:
            client()
        except NoHostError as error:
            return str(error)
    return ""


def table(found: Mapping[tuple[str, str], Sequence[float]]) -> str:
    """How long it took until nothing was left, by engine and step, in milliseconds."""
    lines = [f"{'engine':8}{'step':20}{'kills':>6}{'median':>9}{'max':>9}   (ms until clean)"]
    for (engine, step), seconds in found.items():
        median, most = statistics.median(seconds) * 1000, max(seconds) * 1000
        lines.append(f"{engine:8}{step:20}{len(seconds):6}{median:9.0f}{most:9.0f}")
    return "\n".join(lines)
