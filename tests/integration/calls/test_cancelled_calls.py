import threading

import pytest

from toolc.backends.backend_protocol import BASE
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.model.events import Stream
from toolc.model.names import ENGINES
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.wire.call_loop import converse
from toolc.sandbox.selection import load

ENV = tuple(EnvVar(name=name, value=value) for name, value in BASE.items())
GIGABYTE = bytes(1_000_000_000)
CASES: dict[str, tuple[str, bytes]] = {
    "nothing": ("exec sleep 1000", b""),
    "stdin that is never read": ("exec sleep 1000", GIGABYTE),
    "stdin that is read": ("cat > /dev/null; exec sleep 1000", GIGABYTE),
    "stdin that comes back": ("exec cat", GIGABYTE),
    "two floods": ("yes & yes >&2 & trap '' TERM; wait", b""),
    "a tree that will not listen": ("(trap '' TERM; setsid yes & setsid yes >&2 & setsid sleep 999 &); yes", GIGABYTE),
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_a_cancelled_call_ends_immediately(name: str, case: str) -> None:
    engine = load(name)
    if not engine.probe().available:
        pytest.skip(engine.probe().reason)
    script, stdin = CASES[case]
    invocation = Exec(argv=("/bin/sh", "-c", f"echo begun; {script}"))
    plan = Plan(profile=Profile(), invocation=invocation, call_id="c", env=ENV, stdin=stdin)

    def cancel_soon(_: Stream, text: str) -> None:
        if text.startswith("begun"):
            threading.Timer(0.2, cancellation.cancel).start()

    sandbox = engine.start(plan.profile, BOOTSTRAP_ARGUMENTS)
    try:
        with Cancellation() as cancellation:
            outcome = converse(
                sandbox,
                plan,
                timeout_ms=1_000_000,
                cancellation=cancellation,
                on_progress=lambda *_: None,
                on_output=cancel_soon,
            )
    finally:
        sandbox.close()
    assert outcome.ending == "cancelled"
    # What was queued is not waited for.
    assert outcome.stdout.total_bytes < len(GIGABYTE)
