"""docs/lifecycle.md says the deadlines that the code has."""

from __future__ import annotations

from pathlib import Path

from toolc.engines import (
    docker_container,
    docker_daemon,
    docker_events,
    docker_sandbox,
    docker_sweep,
    janitor_process,
    oci_home,
    oci_probe,
    oci_sandbox,
    store,
)
from toolc.runtime import transaction_journal, wire

PAGE = Path(__file__).parent.parent / "docs" / "lifecycle.md"

DEADLINES = {
    "ask a daemon what it is": docker_daemon.ASK_SECONDS,
    "open its stream of events": docker_events.OPEN_SECONDS,
    "create a container": docker_container.CREATE_SECONDS,
    "join its streams": docker_container.ATTACH_SECONDS,
    "start it": docker_container.START_SECONDS,
    "remove it": docker_container.REMOVE_SECONDS,
    "ask for an image": docker_container.INSPECT_SECONDS,
    "each request of a sweep": docker_sweep.SECONDS,
    "the runtime's version": oci_probe.VERSION_SECONDS,
    "the runtime starts process 1": oci_sandbox.START_SECONDS,
    "process 1 ends with its stream": oci_sandbox.CLOSE_SECONDS,
    "kill process 1, its groups, the runtime (each)": oci_sandbox.KILL_SECONDS,
    "give up killed processes": oci_sandbox.GIVE_UP_SECONDS,
    "remove what one dead owner left": oci_home.SWEEP_SECONDS,
    "the janitor, and each of its commands": janitor_process.DEADLINE_SECONDS,
    "a guest gets ready": wire.START_SECONDS,
    "another process makes the same image, or installs the same packages": store.LOCK_SECONDS,
    "another process rolls back the same commit": transaction_journal.LOCK_SECONDS,
}


def test_the_table_of_deadlines_is_the_codes_own() -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## Deadlines")
    rows = [line.strip("| \n").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    assert {what: float(seconds) for what, seconds in rows} == DEADLINES


def test_both_engines_give_a_guest_the_same_time_to_end() -> None:
    assert docker_sandbox._GRACE == oci_sandbox.CLOSE_SECONDS
