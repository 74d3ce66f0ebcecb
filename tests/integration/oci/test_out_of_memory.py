"""A sandbox that was killed from outside did not run out of memory."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from engines.oci_cases import needs_oci
from workspaces.transaction_cases import call, tool

from toolc.model.errors import InfrastructureError
from toolc.sandbox.host import kernel
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE, kernel_kills, oom_kill_possible
from toolc.sandbox.oci import oci_sandbox
from toolc.sandbox.oci.engine import OciEngine


def test_an_unknown_oom_counter_means_possible(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert oom_kill_possible(None)
    monkeypatch.setattr(kernel, "Path", lambda _: tmp_path / "none")
    assert kernel_kills() is None
    assert oom_kill_possible(1)
    (tmp_path / "none").write_text("nr_free_pages 1\n")
    assert kernel_kills() is None
    (tmp_path / "none").write_text("nr_free_pages 1\noom_kill 7\n")
    assert kernel_kills() == 7
    assert not oom_kill_possible(7)
    assert oom_kill_possible(6)


@needs_oci
def test_process_1_that_is_killed_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (oci_sandbox, kernel):
        # As on a machine where no other process runs out of memory.
        monkeypatch.setattr(module, "kernel_kills", lambda: 7)
    os.chown(tmp_path, 1234, 1234)
    engine = OciEngine()
    mark = f"sleep 600.{os.getpid()}"
    threading.Thread(target=lambda: kill_process_1_of(mark)).start()
    with pytest.raises(InfrastructureError) as raised:
        call(engine, tool(mark), tmp_path)
    assert str(raised.value).endswith(
        f"the sandbox ended before its call did; its error output:\n{KILLED_FROM_OUTSIDE}"
    )
    assert not call(engine, tool("true"), tmp_path).is_error
    engine.close()


def kill_process_1_of(mark: str) -> None:
    """Kill process 1 of the sandbox in which a command with these words runs."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
                if words == mark.encode().split() and (pid := process_1_above(int(process.name))):
                    os.kill(pid, signal.SIGKILL)
                    return
            except OSError:
                continue
        time.sleep(0.05)


def process_1_above(pid: int) -> int:
    """Return its ancestor that is process 1 of a nested pid namespace; 0 if there is none."""
    while pid:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
        status = dict(line.split(":", 1) for line in lines)
        ids = status["NSpid"].split()
        if len(ids) > 1 and ids[-1] == "1":
            return pid
        pid = int(status["PPid"])
    return 0
