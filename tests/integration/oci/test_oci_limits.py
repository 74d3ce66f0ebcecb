"""The limits of the oci engine, which affect only their own sandbox."""

import dataclasses
import time
from contextlib import closing

import pytest
from engines.oci_cases import SMALL, needs_oci, run, start
from engines.sandbox_output import line, output

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.wire.call_loop import converse
from toolc.sandbox.oci import oci_sandbox
from toolc.sandbox.oci.engine import OciEngine

pytestmark = needs_oci


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
    with closing(start(engine, CHILD_ALLOCATES)) as sandbox:
        assert line(sandbox) == "9"
        assert sandbox.out_of_memory()
    assert sandbox.out_of_memory()


@pytest.mark.parametrize(
    ("program", "is_oom"),
    [
        ("hog = [bytearray(2**20) for _ in range(10_000)]; print('never')", True),
        ("open('/tmp/big', 'wb').write(bytes(2**20) * 200)", True),  # files in temporary folders count as memory
        ("raise SystemExit(3)", False),
    ],
)
def test_out_of_memory_is_reported(engine: OciEngine, program: str, is_oom: bool) -> None:
    limits = dataclasses.replace(SMALL, tmp_bytes=4 * SMALL.memory_bytes)
    with closing(start(engine, program, Profile(limits=limits))) as sandbox:
        assert output(sandbox) == ""
        assert sandbox.out_of_memory() == is_oom
    assert sandbox.out_of_memory() == is_oom


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
    line(sandbox)
    assert sandbox._memory_events is not None
    group = sandbox._memory_events.parent
    expected = {"memory.limit_in_bytes": SMALL.memory_bytes, "memory.memsw.limit_in_bytes": SMALL.memory_bytes}
    if (group / "memory.max").exists():
        expected = {"memory.max": SMALL.memory_bytes, "memory.swap.max": 0}
    assert {name: int((group / name).read_text(encoding="utf-8")) for name in expected} == expected
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
