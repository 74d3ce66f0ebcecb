"""Nothing of a sandbox is left on the host, whatever process is killed at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from oci_cases import needs_oci, traces, until
from paths import SUPPORT

from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.oci import bundles, sweep

pytestmark = needs_oci

OWNER = """\
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from oci_cases import HOSTILE, SMALL, mount, read_line, start
from pathlib import Path
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.host.owner import Owner
from toolc.model.plan import Profile
print(Owner.current().label(), flush=True)
engine = OciEngine()
profile = Profile(workspace=mount(Path(sys.argv[2])), limits=SMALL)
def one():
    sandbox = start(engine, HOSTILE, profile)
    assert read_line(sandbox) == "ready"
    return sandbox
"""
READY = "kept = [one(), one()]\nprint('ready', flush=True)\nsys.stdin.read()\n"
LOAD = """
def again():
    while True: one().close()
for _ in range(3): threading.Thread(target=again, daemon=True).start()
one().close()
print('ready', flush=True)
sys.stdin.read()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def start_owner(then: str, workspace: Path) -> tuple[subprocess.Popen[str], str]:
    argv = [sys.executable, "-c", OWNER + then, str(SUPPORT), str(workspace)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def wait_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"


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


def assert_nothing_of(label: str) -> None:
    until(lambda: not traces(label))
    assert traces(label) == []


@pytest.mark.parametrize("delay_ms", [0, 5, 15, 30, 60])
def test_an_owner_killed_during_a_start(workspace: Path, delay_ms: int) -> None:
    process, label = start_owner(READY, workspace)
    with process:
        assert until(lambda: bool(processes("--pid-file", label)))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=delay_ms / 1000)
        process.kill()
    assert_nothing_of(label)


def test_an_owner_killed_while_sandboxes_run(workspace: Path) -> None:
    process, label = start_owner(READY, workspace)
    with process:
        wait_ready(process)
        assert traces(label)
        process.kill()
    assert_nothing_of(label)


def test_an_owner_killed_under_load(workspace: Path) -> None:
    process, label = start_owner(LOAD, workspace)
    with process:
        wait_ready(process)
        process.kill()
    assert_nothing_of(label)


def test_an_owner_that_ends_without_closing_sandboxes(workspace: Path) -> None:
    process, label = start_owner("one()\n", workspace)
    with process:
        assert process.wait() == 0
    assert_nothing_of(label)


def test_owner_and_runtimes_killed_together(workspace: Path) -> None:
    process, label = start_owner(READY, workspace)
    with process:
        wait_ready(process)
        runtimes = processes("--pid-file", label)
        assert len(runtimes) == 2
        for pid in (process.pid, *runtimes):
            os.kill(pid, signal.SIGKILL)
    assert_nothing_of(label)


def test_owner_runtimes_and_janitor_killed_together(workspace: Path) -> None:
    process, label = start_owner(READY, workspace)
    with process:
        wait_ready(process)
        for pid in (process.pid, *processes("--pid-file", label), *processes("janitor_process", label)):
            os.kill(pid, signal.SIGKILL)
    remove_tree(bundles.BundleDirectory.create().directory)
    assert traces(label) == []


def test_the_sweep_keeps_sandboxes_of_other_owners(workspace: Path) -> None:
    process, label = start_owner(READY, workspace)
    with process:
        wait_ready(process)
        before = [trace for trace in traces(label) if trace.startswith("folder")]
        assert not sweep.sweep(f"toolc-{label[:-1]}")
        remove_tree(bundles.BundleDirectory.create().directory)
        assert [trace for trace in traces(label) if trace.startswith("folder")] == before
        process.kill()
    assert_nothing_of(label)
