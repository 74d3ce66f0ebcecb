"""The limits of the oci engine, which affect only their own sandbox."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import pytest
from oci_cases import SMALL, needs_oci, read_all, read_line, run, start

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.wire.call_loop import converse
from toolc.sandbox.oci import sandbox as oci_sandbox
from toolc.sandbox.oci.engine import OciEngine

pytestmark = needs_oci


@pytest.fixture(scope="module")
def engine() -> Iterator[OciEngine]:
    engine = OciEngine()
    yield engine
    engine.close()


def test_the_pids_limit_stops_a_fork_bomb(engine: OciEngine) -> None:
    program = """
import os
count = 1
try:
    for _ in range(10_000):
        if os.fork() == 0:
            os.read(os.pipe()[0], 1)
        count += 1
except BlockingIOError: print(count)
"""
    assert run(engine, program) == f"{SMALL.pids}\n"


CHILD_ALLOCATES = """
import os
pid = os.fork()
if pid == 0:
    open("/proc/self/oom_score_adj", "w").write("1000")
    hog = [bytearray(os.urandom(2**20)) for _ in range(10_000)]
print(os.WTERMSIG(os.waitpid(pid, 0)[1]), flush=True)
os.read(0, 1)
"""


def test_memory_cannot_be_swapped_and_only_the_child_dies(engine: OciEngine) -> None:
    sandbox = start(engine, CHILD_ALLOCATES)
    assert read_line(sandbox) == "9"
    assert sandbox.out_of_memory()
    sandbox.close()
    assert sandbox.out_of_memory()


def test_a_sandbox_killed_for_its_memory_reports_it(engine: OciEngine) -> None:
    sandbox = start(engine, "hog = [bytearray(2**20) for _ in range(10_000)]; print('never')")
    assert read_all(sandbox) == ""
    assert sandbox.out_of_memory()
    sandbox.close()
    assert sandbox.out_of_memory()


def test_files_in_temporary_folders_count_as_memory(engine: OciEngine) -> None:
    limits = dataclasses.replace(SMALL, tmp_bytes=4 * SMALL.memory_bytes)
    sandbox = start(engine, "open('/tmp/big', 'wb').write(bytes(2**20) * 200)", Profile(limits=limits))
    assert read_all(sandbox) == ""
    sandbox.close()
    assert sandbox.out_of_memory()


def test_a_normal_exit_is_not_out_of_memory(engine: OciEngine) -> None:
    sandbox = start(engine, "raise SystemExit(3)")
    assert read_all(sandbox) == ""
    assert not sandbox.out_of_memory()
    sandbox.close()
    assert not sandbox.out_of_memory()


def test_cpu_time_is_limited(engine: OciEngine) -> None:
    program = """
import time
end = time.monotonic() + 2
while time.monotonic() < end: pass
print(time.process_time())
"""
    limits = dataclasses.replace(SMALL, cpus=0.2)
    before = time.monotonic()
    used = float(run(engine, program, Profile(limits=limits)))
    assert used <= (time.monotonic() - before) * 0.2 * 1.5


def test_memory_and_swap_share_the_limit(engine: OciEngine) -> None:
    sandbox = start(engine, "print(open('/proc/swaps').read(), flush=True); input()")
    read_line(sandbox)
    assert sandbox._memory_events is not None
    group = sandbox._memory_events.parent
    memory, swap = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
    if (group / "memory.max").exists():
        assert (group / "memory.max").read_text(encoding="utf-8").strip() == str(SMALL.memory_bytes)
        assert (group / "memory.swap.max").read_text(encoding="utf-8").strip() == "0"
    else:
        assert (group / memory).read_text(encoding="utf-8").strip() == str(SMALL.memory_bytes)
        assert (group / swap).read_text(encoding="utf-8").strip() == str(SMALL.memory_bytes)
    sandbox.close()
    assert not group.exists()


def test_the_real_guest_responds_and_exits(engine: OciEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oci_sandbox, "CLOSE_SECONDS", 60.0)
    profile = Profile(limits=SMALL)
    plan = Plan(
        profile=profile,
        invocation=Exec(argv=("sh", "-c", "cat; setsid sh -c 'trap \"\" TERM; exec sleep 1000' & echo later >&2")),
        call_id="1",
        env=(EnvVar(name="PATH", value="/usr/bin:/bin"),),
        stdin=b"hello",
    )
    sandbox = engine.start(profile, BOOTSTRAP_ARGUMENTS)
    outcome = converse(sandbox, plan, timeout_ms=100_000, cancellation=None, on_progress=lambda *_: None)
    sandbox.close()
    assert not sandbox._killed, "its own kill was needed"
    assert (outcome.ending, outcome.status, outcome.stdout.text()) == ("exited", 0, "hello")
    assert not sandbox.out_of_memory()
