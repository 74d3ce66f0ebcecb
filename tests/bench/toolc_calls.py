"""Calls of two small tools by toolc, as subjects of the benchmarks: cold, and in a sandbox that waits for a call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bare_runc import bare_runc
from engines.waiting_sandboxes import is_busy
from interleaved import Subject

from toolc.backends.shell import Shell
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.call import BoundCall
from toolc.model.names import ENGINES
from toolc.model.plan import Plan, Profile
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import ShellBackend
from toolc.runtime.pool.pool import Pool
from toolc.runtime.sandboxed.options import build_guest_arguments
from toolc.runtime.wire.call_loop import converse, ignore_progress
from toolc.sandbox.interface import EngineSandbox
from toolc.sandbox.selection import load, probe

SPEC: Final = """
toolc: 1
tools:
  - name: echo
    description: Print one word, to see what a call costs.
    backend: {shell: {argv: [echo, hello]}}
  - name: word
    description: Return one word, to see what a call costs.
    backend: {python: {code: "def word():\\n    return 'hello'\\n"}}
"""

REST_SECONDS: Final = 0.1
"""How long a sandbox waits at least before its call: its guest imports more while it waits."""

WAIT_SECONDS: Final = 300.0


def engines() -> list[str]:
    """Return the engines that work here."""
    return [each for each in ENGINES if probe(each).available]


def registry(folder: Path) -> Registry:
    """Return the tools ``echo`` and ``word``."""
    (folder / "bench.yaml").write_text(SPEC, encoding="utf-8")
    return Registry.load(folder / "bench.yaml")


@dataclass(slots=True)
class Waiting:
    """Waits until so many sandboxes of an executor wait for calls."""

    executor: Executor
    number: int

    def rest(self) -> None:
        """Return at once if nothing was started since the last time."""
        pool = self.executor._options.pool
        assert pool is not None
        has_waited, until = False, time.monotonic() + WAIT_SECONDS
        while (counts := pool.counts())[0] < self.number or counts[1]:
            assert time.monotonic() < until, f"{counts} of {self.number} sandboxes were started"
            has_waited = True
            time.sleep(0.005)
        if has_waited:
            time.sleep(REST_SECONDS)


def caller(executor: Executor, tool: str, stages: list[dict[str, float]]) -> Callable[[], object]:
    """Return a function that calls a tool, checks its result, and records the durations of its stages."""

    def call() -> object:
        result = executor.run(tool, {})
        assert "hello" in result.text, result
        timing = result.details["timing_ms"]
        assert isinstance(timing, dict)
        stages.append({name: float(str(value)) for name, value in timing.items()})
        return result

    return call


@contextmanager
def warm(folder: Path, engine: str, tool: str, number: int) -> Iterator[Subject]:
    """Yield a tool of which ``number`` sandboxes wait for calls."""
    pool = Pool(idle=1e6, sandboxes=1000, memory_bytes=8 << 30)
    settings = Configuration(warm={tool: number, **({"word": 0} if tool == "echo" else {"echo": 0})})
    with Executor(registry(folder), engine=engine, pool=pool, configuration=settings) as executor:
        waiting, stages = Waiting(executor, number), list[dict[str, float]]()
        yield Subject(
            name=name_of(engine, tool, "warm"), call=caller(executor, tool, stages), rest=waiting.rest, stages=stages
        )


def until_removed() -> None:
    """Wait until the sandboxes of earlier calls are removed, so that this disturbs no other subject."""
    until = time.monotonic() + WAIT_SECONDS
    while is_busy():
        assert time.monotonic() < until, "the sandboxes of earlier calls were not removed"
        time.sleep(0.005)


@contextmanager
def cold(folder: Path, engine: str, tool: str) -> Iterator[Subject]:
    """Yield a tool each of whose calls starts its own sandbox."""
    with Executor(registry(folder), engine=engine, pool=None) as executor:
        name, stages = name_of(engine, tool, "cold"), list[dict[str, float]]()
        yield Subject(name=name, call=caller(executor, tool, stages), rest=until_removed, stages=stages)


@contextmanager
def forked(folder: Path, tool: str) -> Iterator[Subject]:
    """Yield a tool whose calls are processes of a fork server, which only oci offers."""
    text = SPEC.replace("toolc: 1\n", "toolc: 1\ndefaults: {sandbox: {lifetime: fork}}\n")
    (folder / "forked.yaml").write_text(text, encoding="utf-8")
    with Executor(Registry.load(folder / "forked.yaml"), engine="oci") as executor:
        stages = list[dict[str, float]]()
        yield Subject(name=name_of("oci", tool, "fork"), call=caller(executor, tool, stages), stages=stages)


@contextmanager
def bare(folder: Path, engine_name: str) -> Iterator[Subject]:
    """Yield the engine alone: create and start a sandbox, wait for READY, run the call, and remove the sandbox."""
    plan, engine, arguments = shell_plan(folder), load(engine_name), build_guest_arguments(has_network=False)

    def call() -> object:
        return converse_and_close(engine.start(plan.profile, arguments), plan)

    yield Subject(name=f"{engine_name} engine alone", call=call)


@contextmanager
def bare_runtime() -> Iterator[Subject]:
    """Yield ``runc run`` with the same guest and profile as a cold call of oci, and the same call."""
    with bare_runc("echo", "hello") as call:
        yield Subject(name="runc run, the guest", call=call)


def shell_plan(folder: Path) -> Plan:
    """Return the plan of a call of the tool ``echo``."""
    tool = registry(folder).registered("echo").spec
    assert isinstance(tool.backend, ShellBackend)
    return Shell().plan(tool.backend, BoundCall(tool=tool, arguments={}, call_id="c"), Profile())


def converse_and_close(sandbox: EngineSandbox, plan: Plan) -> Outcome:
    """Run the call of ``plan`` in a new sandbox and close it."""
    try:
        outcome = converse(sandbox, plan, timeout_ms=30_000, cancellation=None, on_progress=ignore_progress)
    finally:
        sandbox.close()
    assert outcome.stdout.text() == "hello\n", outcome
    return outcome


def name_of(engine: str, tool: str, how: str) -> str:
    """Return the name of a subject."""
    kind = {"echo": "shell", "word": "Python"}[tool]
    return f"toolc {engine}, {how}, {kind}"


def stages_in_words(stages: dict[str, float], least: float = 0.005) -> str:
    """Return the stages of a call that take the most time, with their shares of the sum of the medians."""
    longest: Sequence[tuple[str, float]] = sorted(stages.items(), key=lambda each: -each[1])
    total = sum(stages.values())
    return ", ".join(f"{name} {value / total:.0%}" for name, value in longest if value >= least * total)
