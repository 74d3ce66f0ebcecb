"""How a batch runs: which calls start, in which order, and what a later run repeats."""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from calls.scripted_tools import captured

from toolc.batch.calls_file import CallsFile
from toolc.batch.journal import Journal
from toolc.batch.runner import MAX_FAILURES, Runner
from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.plan import Exec, Plan
from toolc.model.result import Outcome
from toolc.testing.fake_engine import FakeEngine, Script

SPEC = """\
toolc: 1
name: echo
description: Say one word again, for tests of toolc itself and for nothing else.
parameters: {word: {type: string, description: A word}}
backend: {shell: {argv: [echo, --, "{{ word }}"]}}
"""


def word(plan: Plan) -> str:
    assert isinstance(plan.invocation, Exec)
    return plan.invocation.argv[-1]


def say(plan: Plan) -> Outcome:
    return Outcome(ending="exited", stdout=captured(word(plan).encode()))


class Batch:
    """A batch of calls of ``echo`` in a folder, which can run several times."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "echo.yaml").write_text(SPEC)
        self.load()

    def load(self) -> None:
        self._registry = Registry.load(self.folder / "echo.yaml")

    def write(self, *calls: Mapping[str, object]) -> None:
        lines = (json.dumps({"id": str(number), "tool": "echo", **call}) for number, call in enumerate(calls))
        (self.folder / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))

    def words(self, *words: str) -> None:
        self.write(*({"arguments": {"word": each}} for each in words))

    def run(
        self, script: Script = say, *, concurrency: int = 4, repeats: bool = False,
        stop_after: Callable[[Runner], None] = lambda _: None, engine: type[FakeEngine] = FakeEngine,
    ) -> Runner:  # fmt: skip
        calls = CallsFile(self.folder / "calls.jsonl", self._registry.registered)
        with (
            Executor(self._registry, engine=engine(script)) as executor,
            Journal(self.folder / "out.jsonl", {}, lambda each: each.status != "unknown" or not repeats, _ignore) as to,
        ):
            runner = Runner(calls, to, executor, concurrency)
            stop_after(runner)
            runner.run(lambda _: repeats)
        return runner

    @property
    def started(self) -> list[str]:
        """The lines of the calls that are in the journal."""
        return (self.folder / "out.jsonl.journal").read_text().splitlines()[1:]

    @property
    def results(self) -> dict[str, str]:
        """The text or the status of each result by the id of its call."""
        lines = [json.loads(line) for line in (self.folder / "out.jsonl").read_text().splitlines()]
        return {each["id"]: each["result"]["content"][0]["text"] if "result" in each else "?" for each in lines}


def _ignore(_: object) -> None:
    pass


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path)


def test_every_call_has_a_result(batch: Batch) -> None:
    batch.words(*map(str, range(30)))
    batch.run()
    assert batch.results == {str(number): str(number) for number in range(30)}


def test_a_call_that_cannot_be_made_has_a_result_too(batch: Batch) -> None:
    batch.write({"arguments": {"wrod": "hi"}}, {"arguments": {"word": "hi"}, "workspace": "/nowhere"})
    batch.run()
    assert "word" in batch.results["0"]
    assert batch.results["1"] == "hi", "the tool has no workspace"


def test_a_call_has_the_caller_of_its_line(batch: Batch) -> None:
    (batch.folder / "echo.yaml").write_text(SPEC.replace("description: A word", "from: caller.sub"))
    batch.load()
    caller = {"caller": {"sub": "user-1"}}
    batch.write(caller, {"caller": {"sub": "user-2"}}, {}, {"arguments": {"word": "user-2"}, **caller})
    batch.run()
    assert (batch.results["0"], batch.results["1"]) == ("user-1", "user-2")
    assert "needs to know 'sub' of its caller" in batch.results["2"]
    assert "'word' is set by the host" in batch.results["3"]


def test_a_call_is_in_the_journal_before_it_starts(batch: Batch) -> None:
    seen: list[list[str]] = []

    def look(plan: Plan) -> Outcome:
        seen.append(batch.started)
        return say(plan)

    batch.words(*"abcdef")
    batch.run(look, concurrency=1)
    assert [str(number) in each for number, each in enumerate(seen, 1)] == [True] * 6


def test_at_most_as_many_calls_are_recorded_ahead_as_run(batch: Batch) -> None:
    seen, both = list[int](), threading.Barrier(2)

    def hold(plan: Plan) -> Outcome:
        seen.append(len(batch.started))
        both.wait(60)
        return say(plan)

    batch.words(*"abcdefgh")
    batch.run(hold, concurrency=2)
    assert seen[:2] == [4, 4]
    assert max(seen) == 8


def test_at_most_so_many_calls_run_at_the_same_time(batch: Batch) -> None:
    meeting = threading.Barrier(3)
    batch.words(*"abcdef")

    def meet(plan: Plan) -> Outcome:
        meeting.wait(60)
        return say(plan)

    batch.run(meet, concurrency=3)
    assert len(batch.results) == 6


def test_the_calls_of_a_session_run_one_after_the_other(batch: Batch) -> None:
    running, order = threading.Lock(), list[str]()

    def alone(plan: Plan) -> Outcome:
        assert running.acquire(blocking=False)
        order.append(word(plan))
        running.release()
        return say(plan)

    batch.write(*({"arguments": {"word": each}, "session": "s"} for each in "abcdef"))
    batch.run(alone)
    assert order == [*"abcdef"]


def test_after_a_stop_no_call_starts_and_the_next_run_goes_on(batch: Batch) -> None:
    batch.words(*"abcdef")
    runners: list[Runner] = []

    def last(plan: Plan) -> Outcome:
        runners[0].stop()
        return say(plan)

    batch.run(last, concurrency=1, stop_after=runners.append)
    assert batch.results == {"0": "a"}
    assert batch.started == ["1", "2", "-2"], "the second call waited for a thread"
    assert runners[0].failure is None
    batch.run()
    assert batch.results == {str(number): word for number, word in enumerate("abcdef")}


def test_a_call_of_unknown_outcome_does_not_run_again_unless_it_may(batch: Batch) -> None:
    batch.words("a", "b")

    def die(plan: Plan) -> Outcome:
        if word(plan) == "b":
            raise RuntimeError("the sandbox fell over")
        return say(plan)

    batch.run(die)
    assert batch.results == {"0": "a", "1": "?"}
    batch.run()
    assert batch.results == {"0": "a", "1": "?"}
    batch.run(repeats=True)
    assert batch.results == {"0": "a", "1": "b"}


def test_if_no_sandbox_works_the_rest_is_not_tried(batch: Batch) -> None:
    batch.words(*map(str, range(100)))

    def die(_: Plan) -> Outcome:
        raise RuntimeError("the sandbox fell over")

    runner = batch.run(die, concurrency=1)
    count = len(batch.results)
    assert MAX_FAILURES + 1 <= count <= MAX_FAILURES + 3, "others may run until the last failure is recorded"
    assert "the sandbox failed, and the call may have run" in str(runner.failure)
    batch.run()
    assert list(batch.results.values()).count("?") >= count


def test_the_calls_of_one_node_of_a_cluster_that_fail_together_do_not_end_the_batch(batch: Batch) -> None:
    batch.words(*map(str, range(100)))
    together = threading.Barrier(MAX_FAILURES + 10)

    def die_first(plan: Plan) -> Outcome:
        if int(word(plan)) < MAX_FAILURES + 10:
            together.wait()
            raise RuntimeError("the node died")
        return say(plan)

    runner = batch.run(die_first, concurrency=MAX_FAILURES + 10)
    assert (runner.failure, len(batch.results)) == (None, 100)


def test_a_call_without_an_engine_has_not_run_and_a_later_run_starts_it(batch: Batch) -> None:
    class Lacking(FakeEngine):
        def unsupported_reason(self, profile: object) -> str:
            return "it has no sandboxes"

    batch.words("a", "b")
    runner = batch.run(engine=Lacking)
    assert batch.results == {}
    assert str(runner.failure) == "some calls could not start: it has no sandboxes"
    batch.run()
    assert batch.results == {"0": "a", "1": "b"}


def test_a_missing_workspace_is_an_error_of_the_call(batch: Batch) -> None:
    batch.write({"arguments": {"word": "a"}, "workspace": "/nowhere"})
    (batch.folder / "echo.yaml").write_text(SPEC + "sandbox: {workspace: rw}\n")
    batch.load()
    batch.run()
    assert "the workspace '/nowhere' cannot be used" in batch.results["0"]
