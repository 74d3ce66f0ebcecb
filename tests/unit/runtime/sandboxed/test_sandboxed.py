from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from calls.scripted_tools import cancelled_after, captured, execute

from toolc.model.call import ToolCall
from toolc.model.errors import InfrastructureError, SandboxDiedError, UsageError
from toolc.model.events import Event, Listener, ToolEnd, ToolStart, ToolUpdate
from toolc.model.json_schema import JsonObject, Schema
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.registry import RegisteredTool
from toolc.model.result import Capture, Outcome, Text, ToolFailure, ToolResult, Usage
from toolc.model.spec.code_backends import Argv, ShellBackend
from toolc.model.spec.sandbox import MIB, Limits, SandboxSpec, WorkspaceMode
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Placeholder, Template
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.workspace.mount import WorkspaceFolder
from toolc.sandbox.selection import EngineSelection
from toolc.testing.fake_engine import FakeEngine, FakeSandbox

ECHO = ToolSpec(
    name="echo",
    description="d",
    parameters=Schema(
        {"type": "object", "properties": {"word": {"type": "string", "default": "hi"}}, "additionalProperties": False}
    ),
    backend=ShellBackend(command=Argv(elements=(Template(("echo",)), Template((Placeholder("word"),))))),
    sandbox=SandboxSpec(limits=Limits(timeout_ms=100_000, memory_bytes=64 * MIB)),
)


class WatchedSandbox(FakeSandbox):
    def __init__(self, profile: Profile, engine: WatchedEngine) -> None:
        super().__init__(profile, engine.answer)
        self._engine = engine

    def close(self) -> None:
        self._engine.closed += 1
        super().close()


class WatchedEngine(FakeEngine):
    """A fake engine that records its profiles and the number of closed sandboxes."""

    def __init__(self, outcome: Outcome | Exception) -> None:
        super().__init__(self.answer)
        self._outcome = outcome
        self.plans: list[Plan] = []
        self.closed = 0

    def answer(self, plan: Plan) -> Outcome:
        self.plans.append(plan)
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
        assert arguments[-2] == "-c"
        self.profiles.append(profile)
        return WatchedSandbox(profile, self)


def run(
    engine: FakeEngine,
    arguments: JsonObject | None = None,
    *,
    tool: ToolSpec = ECHO,
    notes: tuple[str, ...] = (),
    workspace: Path | None = None,
    timeout_ms: int | None = None,
    on_event: Listener | None = None,
    cancellation: Cancellation | None = None,
) -> ToolResult:
    registered = RegisteredTool(spec=tool, surface_digest="sha256:aa", effect_digest="sha256:bb")
    call = ToolCall(name=tool.name, arguments=arguments or {}, call_id="call_1")
    options = CallOptions(
        select_engine=lambda _: EngineSelection(engine, notes),
        workspace=WorkspaceFolder.of(workspace) if workspace else None,
        timeout_ms=timeout_ms,
    )
    return execute(registered, call, options, on_event=on_event, cancellation=cancellation)


def test_calls_go_through_all_steps() -> None:
    engine = WatchedEngine(
        Outcome(
            ending="exited",
            stdout=captured(b"hi\n"),
            stderr=captured(b"note\n"),
            usage=Usage(cpu_ms=1.23456, peak_memory_bytes=7 * MIB),
        )
    )
    result = run(engine)
    assert engine.plans[0].invocation == Exec(argv=("echo", "hi"))
    assert engine.closed
    assert result.content == (Text("hi\n"),)
    duration_ms = result.details.pop("duration_ms")
    assert isinstance(duration_ms, float)
    assert duration_ms > 0
    timing_ms = result.details.pop("timing_ms")
    assert isinstance(timing_ms, dict)
    assert list(timing_ms) == ["bind", "plan", "choose", "create", "start", "ready", "run", "frames", "close", "read"]
    assert float(str(timing_ms["run"])) + float(str(timing_ms["frames"])) == pytest.approx(duration_ms, abs=0.002)
    assert all(isinstance(each, float) and each >= 0 for each in timing_ms.values())
    assert result.details == {
        "call_id": "call_1",
        "digests": {"surface": "sha256:aa", "effect": "sha256:bb"},
        "outcome": "exited",
        "exit_status": 0,
        "cpu_ms": 1.235,
        "peak_memory_bytes": 7 * MIB,
        "truncated": False,
        "stderr": "note\n",
        "engine": "fake",
        "user": "fake",
    }


def test_a_failure_has_stderr_in_its_content() -> None:
    result = run(WatchedEngine(Outcome(ending="exited", status=2, stderr=captured(b"no\n"))))
    assert result.error == ToolFailure("exit_status", "the command ended with exit status 2")
    assert (result.details["exit_status"], "stderr" in result.details) == (2, False)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"word": 3}, "wrong arguments for echo:\n- word: expected a string, got the number 3"),
        (
            {"word": "-n"},
            "word: '-n' starts with '-', so the command would read it as an option; for a file, use './-n'",
        ),
    ],
)
def test_invalid_arguments_start_nothing_and_emit_the_end(arguments: JsonObject, expected: str) -> None:
    engine = WatchedEngine(Outcome(ending="exited"))
    events: list[Event] = []
    result = run(engine, arguments, on_event=events.append)
    assert result == ToolResult(
        content=(Text(expected),),
        error=ToolFailure("invalid_args", expected),
        details={"call_id": "call_1", "digests": {"surface": "sha256:aa", "effect": "sha256:bb"}},
    )
    assert engine.profiles == []
    assert events == [ToolEnd(name="echo", call_id="call_1", result=result)]


def test_events_begin_with_the_start_and_end_with_the_result() -> None:
    events: list[Event] = []
    result = run(WatchedEngine(Outcome(ending="exited", stdout=captured(b"x"))), on_event=events.append)
    assert events == [
        ToolStart(name="echo", call_id="call_1"),
        ToolUpdate(name="echo", call_id="call_1", stream="stdout", text="x"),
        ToolEnd(name="echo", call_id="call_1", result=result),
    ]


def test_progress_reports_are_events_and_not_in_stderr() -> None:
    backend = replace(ECHO.backend, progress=True) if isinstance(ECHO.backend, ShellBackend) else ECHO.backend
    engine = WatchedEngine(Outcome(ending="exited", stderr=captured(b"a\n::progress 40 text\n")))
    events: list[Event] = []
    result = run(engine, tool=replace(ECHO, backend=backend), on_event=events.append)
    assert [event for event in events if isinstance(event, ToolUpdate)] == [
        ToolUpdate(name="echo", call_id="call_1", percent=40.0, message="text"),
        ToolUpdate(name="echo", call_id="call_1", stream="stderr", text="a\n"),
    ]
    assert result.details["stderr"] == "a\n"


def test_the_profile_has_the_spec_and_the_callers_folder(tmp_path: Path) -> None:
    sandbox = SandboxSpec(image="app:1", workspace="ro", min_isolation="gvisor", run_as="nonroot")
    engine = WatchedEngine(Outcome(ending="exited"))
    run(engine, tool=replace(ECHO, sandbox=sandbox), workspace=tmp_path)
    (profile,) = engine.profiles
    assert profile.workspace is not None
    assert (profile.workspace.source, profile.workspace.mode) == (str(tmp_path.resolve()), "ro")
    assert replace(profile, workspace=None) == Profile(image="app:1", min_isolation="gvisor", nonroot=True)


def test_a_tool_without_a_workspace_receives_none(tmp_path: Path) -> None:
    engine = WatchedEngine(Outcome(ending="exited"))
    run(engine, workspace=tmp_path)
    assert engine.profiles[0].workspace is None


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_a_tool_with_a_workspace_and_no_folder_is_a_usage_error(mode: WorkspaceMode) -> None:
    with pytest.raises(UsageError, match=r'Executor\(registry, workspace="DIR"\) in .* --workspace DIR '):
        run(WatchedEngine(Outcome(ending="exited")), tool=replace(ECHO, sandbox=SandboxSpec(workspace=mode)))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            Outcome(ending="timed_out", stdout=captured(b"one\n"), stderr=captured(b"two\n")),
            ToolFailure("timeout", "the call did not finish within 100 s and was stopped; request less work per call"),
        ),
        (
            Outcome(ending="out_of_memory", stdout=captured(b"one\n"), stderr=captured(b"two\n")),
            ToolFailure(
                "out_of_memory",
                "the call exceeded its memory limit of 64MiB and was stopped; request less data per call",
            ),
        ),
    ],
)
def test_a_call_ended_by_a_limit_is_an_error_with_its_output(outcome: Outcome, expected: ToolFailure) -> None:
    result = run(WatchedEngine(outcome))
    assert result.error == expected
    assert result.text == f"{expected.message}\n[stdout so far]\none\n[stderr so far]\ntwo"
    assert (result.details["outcome"], result.details["exit_status"]) == (outcome.ending, None)


def test_truncated_output_is_marked_in_the_details() -> None:
    cut = Capture(head=b"a" * MIB, total_bytes=MIB)
    assert run(WatchedEngine(Outcome(ending="exited", stdout=cut))).details["truncated"] is True


class StuckEngine(WatchedEngine):
    """An engine whose calls end only when their sandbox is closed."""

    def __init__(self) -> None:
        super().__init__(Outcome(ending="exited"))
        self.running = threading.Event()

    def answer(self, plan: Plan) -> Outcome:
        self.running.set()
        while not self.closed:
            time.sleep(0.002)
        return super().answer(plan)


def test_a_timeout_lowers_the_limit_of_the_spec_only() -> None:
    short = replace(ECHO, sandbox=SandboxSpec(limits=Limits(timeout_ms=50)))
    for tool, timeout_ms in ((ECHO, 50), (short, 60_000)):
        engine = StuckEngine()
        result = run(engine, tool=tool, timeout_ms=timeout_ms)
        assert result.text == "the call did not finish within 0.05 s and was stopped; request less work per call"
        assert engine.closed


def test_a_cancelled_call_is_an_error_and_its_sandbox_is_closed() -> None:
    engine = StuckEngine()
    with cancelled_after(engine.running) as cancellation:
        result = run(engine, cancellation=cancellation)
    assert result.error == ToolFailure("cancelled", "the call was cancelled before it finished")
    assert engine.closed


def test_a_dead_sandbox_raises_without_an_end_event() -> None:
    engine = WatchedEngine(RuntimeError("the guest fell over"))
    events: list[Event] = []
    with pytest.raises(SandboxDiedError, match="the guest fell over"):
        run(engine, on_event=events.append)
    assert engine.closed
    assert events == [ToolStart(name="echo", call_id="call_1")]


def test_an_engine_that_cannot_start_is_raised() -> None:
    class Broken(WatchedEngine):
        def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
            raise InfrastructureError(f"no space left for {arguments[0]} in {profile.image}")

    with pytest.raises(InfrastructureError, match="no space left"):
        run(Broken(Outcome(ending="exited")))


def test_an_interrupt_closes_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr("toolc.runtime.sandboxed.call.converse", interrupted)
    engine = WatchedEngine(Outcome(ending="exited"))
    with pytest.raises(KeyboardInterrupt):
        run(engine)
    assert engine.closed


def test_details_say_why_another_engine_was_not_used() -> None:
    result = run(WatchedEngine(Outcome(ending="exited")), notes=("first: is not there.",))
    assert result.details["engine_notes"] == ["first: is not there."]


def test_calls_in_several_threads_are_independent() -> None:
    def shout(plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, Exec)
        return Outcome(ending="exited", stdout=captured(plan.invocation.argv[1].upper().encode()))

    engine = FakeEngine(shout)
    with ThreadPoolExecutor(8) as pool:
        texts = [*pool.map(lambda number: run(engine, {"word": f"w{number}"}).text, range(8))]
    assert texts == [f"W{number}" for number in range(8)]
