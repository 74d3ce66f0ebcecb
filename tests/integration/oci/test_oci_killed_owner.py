"""No part of a sandbox is left on the host if any of its processes is killed at any time."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from engines.oci_cases import needs_oci, traces
from engines.waiting_sandboxes import until
from project.paths import SUPPORT

from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.oci import bundles, sweep

pytestmark = needs_oci

OWNER = """\
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from engines.oci_cases import HOSTILE, SMALL, start
from engines.sandbox_output import line, workspace
from pathlib import Path
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.host.owner import Owner
from toolc.model.plan import Profile
print(Owner.current().label(), flush=True)
engine = OciEngine()
profile = Profile(workspace=workspace(Path(sys.argv[2])), limits=SMALL)
def one():
    sandbox = start(engine, HOSTILE, profile)
    assert line(sandbox) == "ready"
    return sandbox
"""
STARTING = "kept = [one(), one()]\nsys.stdin.read()\n"
READY = "kept = [one(), one()]\nprint('ready', flush=True)\nsys.stdin.read()\n"
LOAD = """
def again():
    while True: one().close()
for _ in range(3): threading.Thread(target=again, daemon=True).start()
one().close()
print('ready', flush=True)
sys.stdin.read()
"""
TESTING_LIMITS = """
from toolc.sandbox.host.cgroups import unenforceable
unenforceable()
print('ready', flush=True)
while True: unenforceable()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@contextmanager
def started_owner(then: str, workspace: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process that runs ``OWNER`` and ``then``, and its label; nothing of it may be left in the end."""
    argv = [sys.executable, "-c", OWNER + then, str(SUPPORT), str(workspace)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        label = process.stdout.readline().strip()
        if "'ready'" in then:
            assert process.stdout.readline() == "ready\n"
        yield process, label
    until(lambda: not traces(label))
    assert traces(label) == []


def processes(word: str, label: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if word in words and label in words:
            found.append(int(entry.name))
    return found


def kill_together(*pids: int) -> None:
    """Kill processes of which none can respond to the end of another, because all are stopped first."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in reversed(pids):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("delay_ms", [0, 5, 15, 30, 60])
def test_an_owner_killed_during_a_start(workspace: Path, delay_ms: int) -> None:
    with started_owner(STARTING, workspace) as (process, label):
        until(lambda: bool(processes("--pid-file", label)))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=delay_ms / 1000)
        process.kill()


@pytest.mark.parametrize("delay_ms", range(12))
def test_an_owner_killed_while_it_tests_limits(workspace: Path, delay_ms: int) -> None:
    with started_owner(TESTING_LIMITS, workspace) as (process, _):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=delay_ms / 1000)
        process.kill()


@pytest.mark.parametrize("then", [READY, LOAD], ids=["while sandboxes run", "under load"])
def test_an_owner_that_is_killed(workspace: Path, then: str) -> None:
    with started_owner(then, workspace) as (process, label):
        assert then == LOAD or traces(label)
        process.kill()


def test_an_owner_that_ends_without_closing_sandboxes(workspace: Path) -> None:
    with started_owner("one()\n", workspace) as (process, _):
        assert process.wait() == 0


def test_owner_and_runtimes_killed_together(workspace: Path) -> None:
    with started_owner(READY, workspace) as (process, label):
        runtimes = processes("--pid-file", label)
        assert len(runtimes) == 2
        kill_together(process.pid, *runtimes)


def test_owner_runtimes_and_janitor_killed_together(workspace: Path) -> None:
    with started_owner(READY, workspace) as (process, label):
        kill_together(process.pid, *processes("--pid-file", label), *processes("janitor_process", label))
        process.wait()
        remove_tree(bundles.BundleDirectory.create().directory)
        assert traces(label) == []


def test_the_sweep_keeps_sandboxes_of_other_owners(workspace: Path) -> None:
    with started_owner(READY, workspace) as (process, label):
        before = [trace for trace in traces(label) if trace.startswith("folder")]
        assert not sweep.sweep(f"toolc-{label[:-1]}")
        remove_tree(bundles.BundleDirectory.create().directory)
        assert [trace for trace in traces(label) if trace.startswith("folder")] == before
        process.kill()
