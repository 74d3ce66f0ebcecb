import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import pytest
from calls.scripted_tools import captured

from toolc import (
    Allow,
    BatchError,
    Cancellation,
    Event,
    Executor,
    Registry,
    SandboxDiedError,
    ToolCall,
    ToolDenied,
    ToolEnd,
    ToolResult,
    ToolStart,
    ToolUpdate,
    UsageError,
)
from toolc.model.events import BatchEnd, BatchEvent, CallEvent
from toolc.model.plan import Exec, Plan
from toolc.model.result import Outcome, Text
from toolc.testing.fake_engine import FakeEngine

TOOLS = """\
toolc: 1
tools:
  - name: echo
    description: Say one word again, for tests of toolc itself and for nothing else.
    aliases: [say]
    tags: [talk]
    parameters: {word: {type: string, description: A word}}
    backend: {shell: {argv: [echo, --, "{{ word }}"]}}
  - name: wipe
    description: Wipe one thing away, for tests of toolc itself and for nothing else.
    parameters: {word: {type: string, description: A word}}
    confirm: true
    backend: {shell: {argv: [wipe, --, "{{ word }}"]}}
"""


class Words:
    """Prints the words of each command line. ``die`` kills its sandbox, ``hang`` waits until it is closed."""

    def __init__(self) -> None:
        self.engine = FakeEngine(self._run)
        self.hanging = threading.Event()
        self.over = threading.Event()

    def _run(self, plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, Exec)
        program, _, word = plan.invocation.argv
        if word == "die":
            raise RuntimeError("the sandbox fell over")
        if word == "hang":
            self.hanging.set()
            self.over.wait(60)
        if word == "id":
            word = next(each.value for each in plan.env if each.name == "TOOLC_CALL_ID")
        data = f"{program} {word}".encode()
        return Outcome(ending="exited", stdout=captured(data))


@pytest.fixture
def words() -> Iterator[Words]:
    found = Words()
    yield found
    found.over.set()


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "tools.yaml").write_text(TOOLS)
    return Registry.load(tmp_path / "tools.yaml")


@pytest.fixture
def executor(registry: Registry, words: Words) -> Executor:
    return Executor(registry, engine=words.engine)


@pytest.fixture
def threads_before() -> list[threading.Thread]:
    return threading.enumerate()


def new_threads(before: list[threading.Thread]) -> list[threading.Thread]:
    """Return the threads of toolc that were started since."""
    return [each for each in threading.enumerate() if each not in before and each.name.startswith("toolc")]


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """Check that the test leaves no threads and descriptors. Those of an earlier test may end during this one."""
    threads, descriptors = {*threading.enumerate()}, len([*Path("/proc/self/fd").iterdir()])
    yield
    for each in {*threading.enumerate()} - threads:
        each.join(60)
        assert not each.is_alive()
    assert len([*Path("/proc/self/fd").iterdir()]) <= descriptors


def echo(*values: str) -> list[ToolCall]:
    return [ToolCall(name="echo", arguments={"word": word}, call_id=f"c{n}") for n, word in enumerate(values)]


def kinds(results: list[ToolResult]) -> list[str | None]:
    return [each.error.kind if each.error else None for each in results]


class TestBatches:
    def test_results_are_in_call_order_and_failures_are_independent(self, executor: Executor) -> None:
        calls = [
            *echo("a"),
            ToolCall(name="nope", arguments={}),
            ToolCall(name="say", arguments={"wrong": 1}),
            ToolCall(name="echo", arguments="not an object"),
            ToolCall(name="wipe", arguments={"word": "b"}),
            ToolCall(name="say", arguments={"word": "c"}),
        ]
        results = executor.run_batch(calls)
        assert kinds(results) == [None, "not_found", "invalid_args", "invalid_args", "denied", None]
        assert [results[0].text, results[5].text] == ["echo a", "echo c"]
        assert "there is no tool 'nope'" in results[1].text

    def test_a_dead_sandbox_is_raised_with_all_other_results(self, executor: Executor) -> None:
        with pytest.raises(BatchError, match=r"1 of 3 calls could not be made:\n- c1 \(echo\): ") as caught:
            executor.run_batch(echo("a", "die", "b"))
        first, died, last = caught.value.outcomes
        assert isinstance(died, SandboxDiedError)
        assert [each.text for each in (first, last) if isinstance(each, ToolResult)] == ["echo a", "echo b"]

    def test_a_closed_cancellation_is_refused_unless_cancelled(self, executor: Executor) -> None:
        with Cancellation() as closed:
            pass
        message = "cancellation is closed and cannot cancel a call; make the call inside its with block"
        with pytest.raises(UsageError, match=message):
            executor.run("echo", {"word": "a"}, cancellation=closed)
        with pytest.raises(UsageError, match=message):
            executor.run_batch(echo("a"), cancellation=closed)
        closed.cancel()
        assert kinds([executor.run("echo", {"word": "a"}, cancellation=closed)]) == ["cancelled"]

    @pytest.mark.slow
    def test_a_cancellation_ends_running_and_pending_calls(self, executor: Executor, words: Words) -> None:
        with Cancellation() as cancellation:

            def cancel() -> None:
                words.hanging.wait(60)
                cancellation.cancel()

            threading.Thread(target=cancel).start()
            results = executor.run_batch(echo("a", "hang", *"bcdef"), mode="sequential", cancellation=cancellation)
        assert kinds(results) == [None] + ["cancelled"] * 6

    @pytest.mark.slow
    def test_a_timeout_ends_running_and_pending_calls(self, executor: Executor) -> None:
        results = executor.run_batch(echo("hang", "b"), mode="sequential", timeout=1)
        assert kinds(results) == ["timeout", "timeout"]

    def test_steer_skips_the_remaining_calls(self, executor: Executor) -> None:
        events: list[Event] = []
        results = executor.run_batch(
            echo("a", "b", "c"),
            mode="sequential",
            steer=lambda done: "the user wrote: stop" if len(done) == 2 else None,
            on_event=events.append,
        )
        assert [each.text for each in results] == [
            "echo a", "echo b", "the call was skipped: the user wrote: stop",
        ]  # fmt: skip
        assert kinds(results) == [None, None, "cancelled"]
        assert [type(each) for each in events if each.call_id == "c2"] == [ToolEnd]

    def test_events_of_parallel_calls_arrive_one_at_a_time(self, executor: Executor) -> None:
        lock = threading.Lock()
        events: list[Event] = []

        def listen(event: Event) -> None:
            assert lock.acquire(blocking=False)
            time.sleep(0.001)
            events.append(event)
            lock.release()

        executor.run_batch(echo(*"abcdefgh"), on_event=listen, size=8)
        assert len(events) == 8 * 3
        assert {each.call_id for each in events} == {f"c{n}" for n in range(8)}

    def test_duplicate_call_ids_get_a_suffix(self, executor: Executor) -> None:
        calls = [ToolCall(name="echo", arguments={"word": "id"}, call_id="same") for _ in range(2)]
        assert [each.text for each in executor.run_batch(calls)] == ["echo same", "echo same~2"]

    @pytest.mark.parametrize("options", [{"mode": "batched"}, {"size": 0}, {"timeout": 0}, {"mode": "none"}], ids=str)
    def test_invalid_options_are_refused_before_any_call(
        self, executor: Executor, words: Words, options: dict[str, object]
    ) -> None:
        with pytest.raises(UsageError):
            executor.run_batch(echo("a"), **options)  # type: ignore[arg-type]
        assert words.engine.profiles == []

    @pytest.mark.slow
    @pytest.mark.usefixtures("no_leaks")
    def test_calls_cancelled_at_random_leave_nothing(self, executor: Executor) -> None:
        chance = random.Random(11)
        for _ in range(10):
            after = chance.randrange(1, 150)
            with Cancellation() as cancellation:
                message = iter(range(10**6))

                def listen(_: Event, *, message: Iterator[int] = message, after: int = after) -> None:
                    if next(message) == after:
                        cancellation.cancel()

                results = executor.run_batch(
                    echo(*map(str, range(100))), size=8, on_event=listen, cancellation=cancellation
                )
            done = [n for n, each in enumerate(results) if not each.is_error]
            assert [results[n].text for n in done] == [f"echo {n}" for n in done]
            assert set(kinds(results)) <= {None, "cancelled"}
            assert "cancelled" in kinds(results)

    def test_arun_batch_calls_the_listener_on_the_loops_thread(self, executor: Executor) -> None:
        listener_threads: list[threading.Thread] = []

        async def main() -> list[ToolResult]:
            return await executor.arun_batch(
                echo("a", "b"),
                mode="sequential",
                on_event=lambda _: listener_threads.append(threading.current_thread()),
            )

        assert [each.text for each in asyncio.run(main())] == ["echo a", "echo b"]
        assert set(listener_threads) == {threading.main_thread()}

    @pytest.mark.slow
    def test_cancelling_the_task_ends_all_calls(
        self, threads_before: list[threading.Thread], executor: Executor, words: Words
    ) -> None:
        async def main() -> None:
            task = asyncio.create_task(executor.arun_batch(echo("hang", "hang", "hang"), size=3))
            await asyncio.to_thread(words.hanging.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert new_threads(threads_before) == []


class TestStreamedBatches:
    def test_events_have_call_ids_and_the_results_come_last(self, executor: Executor) -> None:
        calls = [*echo("a", "b"), ToolCall(name="nope", arguments={}, call_id="c2")]
        *events, end = executor.stream_batch(calls)
        assert isinstance(end, BatchEnd)
        assert [each.text for each in end.results[:2]] == ["echo a", "echo b"]
        assert kinds([*end.results]) == [None, None, "not_found"]
        by_call = {
            call_id: [type(each) for each in events if isinstance(each, CallEvent) and each.call_id == call_id]
            for call_id in ("c0", "c1", "c2")
        }
        whole = [ToolStart, ToolUpdate, ToolEnd]
        assert by_call == {"c0": whole, "c1": whole, "c2": [ToolEnd]}
        ends = {each.call_id: each.result for each in events if isinstance(each, ToolEnd)}
        assert [ends["c0"], ends["c1"], ends["c2"]] == [*end.results]

    def test_events_arrive_while_other_calls_run(self, executor: Executor, words: Words) -> None:
        with closing(executor.stream_batch(echo("hang", "a"), size=2)) as stream:
            for event in stream:
                if isinstance(event, ToolEnd):
                    assert event.call_id == ("c0" if words.over.is_set() else "c1")
                    words.over.set()
        assert isinstance(event, BatchEnd)
        assert [each.text for each in event.results] == ["echo hang", "echo a"]

    @pytest.mark.slow
    def test_closing_ends_running_calls_and_starts_no_other(
        self, threads_before: list[threading.Thread], executor: Executor, words: Words
    ) -> None:
        with closing(executor.stream_batch(echo("hang", *"abcdef"), mode="sequential")) as stream:
            assert isinstance(next(stream), ToolStart)
            assert words.hanging.wait(60)
        assert len(words.engine.profiles) == 1
        assert new_threads(threads_before) == []

    def test_a_batch_error_is_raised_after_the_last_event(self, executor: Executor) -> None:
        events = []
        with pytest.raises(BatchError) as caught:  # noqa: PT012  the events before it count
            for event in executor.stream_batch(echo("a", "die", "b")):
                events.append(event)
        assert len(caught.value.outcomes) == 3
        assert [each.call_id for each in events if isinstance(each, ToolEnd)] in (["c0", "c2"], ["c2", "c0"])

    @pytest.mark.parametrize("options", [{"mode": "batched"}, {"timeout": 0}, {"steer": len}], ids=str)
    def test_invalid_options_are_refused_immediately(self, executor: Executor, options: dict[str, object]) -> None:
        with pytest.raises(UsageError):
            executor.stream_batch(echo("a"), **options)  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            executor.astream_batch(echo("a"), **options)  # type: ignore[arg-type]

    def test_astream_batch_yields_the_same_events(self, executor: Executor) -> None:
        async def main() -> list[BatchEvent]:
            return [event async for event in executor.astream_batch(echo("a", "b"), mode="sequential")]

        events = asyncio.run(main())
        assert [type(each) for each in events] == [*[ToolStart, ToolUpdate, ToolEnd] * 2, BatchEnd]
        assert isinstance(events[-1], BatchEnd)
        assert [each.text for each in events[-1].results] == ["echo a", "echo b"]

    @pytest.mark.slow
    def test_closing_astream_batch_ends_all_calls(
        self, threads_before: list[threading.Thread], executor: Executor, words: Words
    ) -> None:
        async def main() -> None:
            async with aclosing(executor.astream_batch(echo("hang", "hang", "hang"), size=3)) as stream:
                assert isinstance(await anext(stream), ToolStart)
                await asyncio.to_thread(words.hanging.wait, 60)

        asyncio.run(main())
        assert new_threads(threads_before) == []

    @pytest.mark.slow
    @pytest.mark.usefixtures("no_leaks")
    def test_streams_closed_at_random_leave_nothing(self, executor: Executor) -> None:
        chance = random.Random(7)
        for _ in range(20):
            with closing(executor.stream_batch(echo(*map(str, range(30))), size=8)) as stream:
                for _ in range(chance.randrange(1, 90)):
                    assert isinstance(next(stream), CallEvent)


class TestAsync:
    def test_arun_and_astream_give_the_same_result_and_events(self, executor: Executor) -> None:
        async def main() -> tuple[ToolResult, list[Event]]:
            result = await executor.arun("echo", {"word": "a"}, call_id="c")
            return result, [event async for event in executor.astream("echo", {"word": "a"}, call_id="c")]

        result, events = asyncio.run(main())
        assert result.text == "echo a"
        assert [type(each) for each in events] == [ToolStart, ToolUpdate, ToolEnd]
        assert [type(each) for each in executor.stream("echo", {"word": "a"})] == [ToolStart, ToolUpdate, ToolEnd]
        assert isinstance(events[1], ToolUpdate)
        assert events[1].content == (Text("echo a"),)

    def test_an_unknown_tool_is_refused_immediately(self, executor: Executor) -> None:
        with pytest.raises(UsageError, match="there is no tool 'nope'"):
            executor.astream("nope", {})

    def test_many_calls_of_one_loop_run_concurrently(self, executor: Executor) -> None:
        async def main() -> list[ToolResult]:
            return await asyncio.gather(*(executor.arun("echo", {"word": str(n)}) for n in range(20)))

        assert [each.text for each in asyncio.run(main())] == [f"echo {n}" for n in range(20)]

    @pytest.mark.slow
    def test_closing_the_iterator_ends_the_call(self, executor: Executor, words: Words) -> None:
        async def main() -> None:
            async with aclosing(executor.astream("echo", {"word": "hang"})) as events:
                assert isinstance(await anext(events), ToolStart)
                await asyncio.to_thread(words.hanging.wait, 60)

        asyncio.run(main())
        assert not [each for each in threading.enumerate() if each.name == "toolc call"]

    def test_confirm_runs_on_another_thread_than_the_loop(self, registry: Registry, words: Words) -> None:
        threads: list[threading.Thread] = []

        def confirm(_: object) -> Allow:
            threads.append(threading.current_thread())
            return Allow()

        executor = Executor(registry, engine=words.engine, confirm=confirm)
        assert asyncio.run(executor.arun("wipe", {"word": "a"})).text == "wipe a"
        assert threads[0] is not threading.main_thread()


class TestHooks:
    def test_a_coroutine_function_is_refused(self, executor: Executor, registry: Registry, words: Words) -> None:
        async def hook(_: object) -> Allow:
            return Allow()

        message = r"cannot be a coroutine function, .* call asyncio\.run_coroutine_threadsafe\(decide\("
        with pytest.raises(UsageError, match=f"confirm .*{message}"):
            Executor(registry, engine=words.engine, confirm=hook)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=f"confirm .*{message}"):
            executor.run("wipe", {"word": "a"}, confirm=hook)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=f"steer .*{message}"):
            executor.run_batch(echo("a"), mode="sequential", steer=hook)  # type: ignore[arg-type]

    def test_a_function_can_wait_for_the_loop(self, registry: Registry, words: Words) -> None:
        async def ask() -> Allow:
            await asyncio.sleep(0)
            return Allow()

        async def main() -> ToolResult:
            loop = asyncio.get_running_loop()

            def confirm(_: object) -> Allow:
                return asyncio.run_coroutine_threadsafe(ask(), loop).result()

            return await Executor(registry, engine=words.engine, confirm=confirm).arun("wipe", {"word": "a"})

        assert asyncio.run(main()).text == "wipe a"


class TestDenied:
    @pytest.mark.parametrize(("names", "tags"), [(["echo"], []), (["say"], []), ([], ["talk"])])
    def test_a_denied_tool_is_not_offered_or_called_until_allowed(
        self, executor: Executor, words: Words, names: list[str], tags: list[str]
    ) -> None:
        executor.deny(*names, tags=tags)
        assert [each["name"] for each in executor.definitions("anthropic") if isinstance(each, dict)] == ["wipe"]
        events = list(executor.stream("echo", {"word": "a"}))
        assert [type(each) for each in events] == [ToolDenied, ToolEnd]
        assert words.engine.profiles == []
        executor.allow(*names, tags=tags)
        assert executor.definitions("anthropic") == executor.registry.definitions("anthropic")
        assert executor.run("echo", {"word": "a"}).text == "echo a"

    @pytest.mark.parametrize("tags", ["talk", 3, [3], b"talk"])
    def test_tags_must_be_a_list_of_strings(self, executor: Executor, tags: Any) -> None:
        message = f"tags must be a list of strings, not {tags!r}; for example tags=['danger']"
        for change in (executor.deny, executor.allow):
            with pytest.raises(UsageError) as raised:
                change("echo", tags=tags)
            assert str(raised.value) == message
        assert not executor.run("echo", {"word": "a"}).is_error

    @pytest.mark.parametrize(
        ("name", "hint"), [("ecoh", r"'ecoh'; did you mean 'echo'\?"), (3, "3; the tools are: echo, wipe$")]
    )
    def test_an_unknown_name_is_refused(self, executor: Executor, name: Any, hint: str) -> None:
        with pytest.raises(UsageError, match=f"^there is no tool {hint}"):
            executor.deny(name)

    def test_each_executor_has_its_own_deny_list(self, executor: Executor, registry: Registry, words: Words) -> None:
        executor.deny("echo")
        assert Executor(registry, engine=words.engine).run("echo", {"word": "a"}).text == "echo a"


class TestIds:
    def test_a_tool_gets_its_call_id(self, executor: Executor) -> None:
        assert executor.run("echo", {"word": "id"}, call_id="call_7").text == "echo call_7"

    @pytest.mark.parametrize("call_id", [7, "a\0b", "a\nb", "x" * 4097])
    def test_an_invalid_id_is_refused(self, executor: Executor, call_id: Any) -> None:
        with pytest.raises(UsageError, match="a call id must be a string of at most 4096 printable characters"):
            executor.run("echo", {"word": "a"}, call_id=call_id)
        with pytest.raises(UsageError, match="a call id"):
            executor.run_batch([ToolCall(name="echo", arguments={"word": "a"}, call_id=call_id)])
