"""How many calls a second eight callers complete: with an empty and a full pool, a fork server, and the engine alone.

The engine alone creates and starts a sandbox, waits for READY, runs the call, and removes the sandbox, without an
executor. No test fails because of a time.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from interleaved import SUSTAINED_CALLERS, Subject, rates
from peers import MissingError, docker_run
from recording import record
from toolc_calls import bare, cold, engines, forked, warm

from toolc.model.names import ENGINES


def named(subject: Subject, name: str) -> Subject:
    return replace(subject, name=name)


@pytest.mark.timeout(3600)
def test_sustained_calls(calls: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = []
    for engine in (each for each in ENGINES if each in engines()):
        with ExitStack() as stack:
            alone = stack.enter_context(bare(tmp_path, engine))
            empty = named(stack.enter_context(cold(tmp_path, engine, "echo")), f"toolc {engine}, pool empty")
            waiting = stack.enter_context(warm(tmp_path, engine, "echo", SUSTAINED_CALLERS))
            subjects = [alone, empty, named(waiting, f"toolc {engine}, pool full")]
            if engine == "oci":
                subjects.append(named(stack.enter_context(forked(tmp_path, "echo")), "toolc oci, lifetime: fork"))
            if engine == "docker":
                try:
                    call = stack.enter_context(docker_run(tmp_path, SUSTAINED_CALLERS))
                    subjects.append(Subject(name="docker run --rm", call=call))
                except MissingError:
                    pass
            figures += rates(subjects, alone.name, calls)
    with capsys.disabled():
        record("sustained", calls, figures)
