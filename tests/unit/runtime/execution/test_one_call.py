"""May a call run, is it allowed, and how often is it tried: deny-lists, confirmation and retries."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from scripted_tools import Scripted, exited, registered, tool

from toolc.model.call import Allow, BoundCall, Confirm, Deny, ToolCall
from toolc.model.errors import InfrastructureError
from toolc.model.events import ToolDenied, ToolEnd, ToolRetry
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.model.result import Outcome, ToolFailure
from toolc.model.spec.tool import Annotations, Retry
from toolc.runtime.caller import CallContext
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.execution.admission import DenyList
from toolc.runtime.execution.executor import CallPipeline, execute
from toolc.runtime.execution.retry import MAX_WAIT_MS, wait_ms
from toolc.runtime.sandboxed.options import CallOptions

WORD: JsonObject = {"word": "a"}
ECHO = tool("echo", tags=("talk", "loud"))
WIPE = tool("wipe", confirm=True)
NOBODY = (
    "the tool 'wipe' was not called: each call of it must be confirmed, and there is no way to ask; "
    "use toolc run on a terminal or with --yes, toolc serve with a client that supports elicitation, or "
    "Executor(confirm=...) in a program"
)


class TestDenied:
    """A tool on a deny-list."""

    @pytest.mark.parametrize(
        ("names", "tags", "reason"),
        [
            (["echo"], [], "the tool 'echo' is denied here; continue without it"),
            (["echo_too"], [], "the tool 'echo' is denied here; continue without it"),
            ([], ["loud"], "the tool 'echo' is denied here, like all tools with the tag 'loud'; continue without it"),
        ],
    )
    def test_nothing_of_it_starts_and_the_event_and_the_result_say_why(
        self, names: list[str], tags: list[str], reason: str
    ) -> None:
        scripted, denials = Scripted(), DenyList()
        denials.deny(names, tags)
        result = scripted.run(ECHO, WORD, replace(scripted.options(), denied=denials.reason))
        assert (result.error, result.text) == (ToolFailure("denied", reason), reason)
        assert scripted.engine.profiles == []
        assert scripted.events == [
            ToolDenied(name="echo", call_id="c", reason=reason),
            ToolEnd(name="echo", call_id="c", result=result),
        ]

    def test_it_is_denied_before_its_arguments_are_looked_at(self) -> None:
        scripted, denials = Scripted(), DenyList()
        denials.deny(["echo"], [])
        result = scripted.run(ECHO, {"wrong": 1}, replace(scripted.options(), denied=denials.reason))
        assert result.error is not None
        assert result.error.kind == "denied"

    def test_what_is_taken_off_the_list_runs_again_unless_a_tag_is_left(self) -> None:
        denials = DenyList()
        denials.deny(["echo"], ["loud"])
        denials.allow(["echo"], [])
        assert denials.reason(ECHO)
        denials.allow(["never", "echo"], ["loud"])
        assert denials.reason(ECHO) is None

    def test_a_list_that_changes_on_many_threads_loses_nothing(self) -> None:
        denials = DenyList()
        threads = [threading.Thread(target=denials.deny, args=([f"t{n}"], [])) for n in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(denials.reason(tool(f"t{n}")) for n in range(50))


class TestConfirmed:
    """A tool whose spec says ``confirm: true``."""

    @staticmethod
    def options(scripted: Scripted, confirm: Confirm) -> CallOptions:
        return replace(scripted.options(), confirm=confirm)

    def test_the_hook_is_given_the_validated_call_and_may_allow_it(self) -> None:
        asked: list[BoundCall] = []
        scripted = Scripted()

        def confirm(call: BoundCall) -> Allow:
            asked.append(call)
            return Allow()

        assert scripted.run(WIPE, WORD, self.options(scripted, confirm)).text == "wipe -- a"
        assert asked == [BoundCall(tool=WIPE, arguments=WORD, call_id="c")]

    def test_without_a_hook_it_is_denied_with_the_remedy(self) -> None:
        scripted = Scripted()
        result = scripted.run(WIPE, WORD)
        assert result.error == ToolFailure("denied", NOBODY)
        assert (scripted.told, scripted.engine.profiles) == (["ToolDenied", "ToolEnd"], [])

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            (Deny("it is friday"), "this call of 'wipe' was denied: it is friday"),
            (Deny(), "this call of 'wipe' was denied"),
            (True, "this call of 'wipe' was denied"),
            (None, "this call of 'wipe' was denied"),
        ],
    )
    def test_whatever_is_not_allow_denies_it(self, answer: object, told: str) -> None:
        scripted = Scripted()
        result = scripted.run(WIPE, WORD, self.options(scripted, lambda _: answer))  # type: ignore[arg-type,return-value]
        assert result.error == ToolFailure("denied", told)
        assert scripted.engine.profiles == []

    def test_changed_arguments_are_what_runs(self) -> None:
        scripted = Scripted()
        scripted.run(WIPE, WORD, self.options(scripted, lambda _: Allow({"word": "b"})))
        assert scripted.words == [("wipe", "--", "b")]

    def test_changed_arguments_are_validated_anew(self) -> None:
        scripted = Scripted()
        result = scripted.run(WIPE, WORD, self.options(scripted, lambda _: Allow({"word": 3})))
        assert result.text == "wrong arguments for wipe:\n- word: expected a string, got the number 3"
        assert scripted.engine.profiles == []

    def test_wrong_arguments_and_a_host_without_an_engine_ask_nobody(self) -> None:
        def confirm(_: BoundCall) -> Allow:
            raise AssertionError("nobody is to be asked")

        def no_engine(_: Profile) -> object:
            raise InfrastructureError("no engine")

        scripted = Scripted()
        options = self.options(scripted, confirm)
        assert scripted.run(WIPE, {}, options).is_error
        with pytest.raises(InfrastructureError, match="no engine"):
            scripted.run(WIPE, WORD, replace(options, select_engine=no_engine))  # type: ignore[arg-type]

    def test_a_call_that_was_cancelled_or_denied_while_a_person_thought_does_not_start(self) -> None:
        scripted, denials = Scripted(), DenyList()
        call = ToolCall(name="wipe", arguments=WORD, call_id="c")
        with Cancellation() as cancellation:

            def cancel(_: BoundCall) -> Allow:
                cancellation.cancel()
                return Allow()

            options = self.options(scripted, cancel)
            cancelled = execute(registered(WIPE), call, options, cancellation=cancellation)

        def deny(_: BoundCall) -> Allow:
            denials.deny(["wipe"], [])
            return Allow()

        denied = scripted.run(WIPE, WORD, replace(self.options(scripted, deny), denied=denials.reason))
        assert [each.error and each.error.kind for each in (cancelled, denied)] == ["cancelled", "denied"]
        assert scripted.engine.profiles == []

    def test_what_the_hook_raises_reaches_the_caller(self) -> None:
        def confirm(_: BoundCall) -> Allow:
            raise RuntimeError("the window was closed")

        scripted = Scripted()
        with pytest.raises(RuntimeError, match="the window was closed"):
            scripted.run(WIPE, WORD, self.options(scripted, confirm))
        assert scripted.engine.profiles == []


class TestTriedAgain:
    """A tool whose spec says ``retry``."""

    AGAIN = Retry(kinds=("exit_status",), attempts=3, backoff_ms=1)

    @staticmethod
    def failing(*statuses: int) -> Scripted:
        left = list(statuses)
        return Scripted(lambda _: exited(left.pop(0), b"said"))

    def test_until_it_succeeds_and_each_attempt_is_told(self) -> None:
        scripted = self.failing(1, 2, 0)
        result = scripted.run(tool("t", retry=self.AGAIN), WORD)
        assert (result.is_error, result.text) == (False, "said")
        assert scripted.told == [
            "ToolStart", "ToolUpdate", "ToolRetry", "ToolUpdate", "ToolRetry", "ToolUpdate", "ToolEnd",
        ]  # fmt: skip
        assert [each for each in scripted.events if isinstance(each, ToolRetry)] == [
            ToolRetry(name="t", call_id="c", attempt=number, error=error, wait_ms=number)
            for number, error in enumerate(
                (
                    ToolFailure("exit_status", "the command ended with exit status 1"),
                    ToolFailure("exit_status", "the command ended with exit status 2"),
                ),
                1,
            )
        ]
        attempts = result.details["attempts"]
        assert isinstance(attempts, list)
        assert [isinstance(each, dict) and (each["error"], each["wait_ms"]) for each in attempts] == [
            ({"kind": "exit_status", "message": "the command ended with exit status 1"}, 1),
            ({"kind": "exit_status", "message": "the command ended with exit status 2"}, 2),
            (None, 0),
        ]
        assert len(scripted.engine.profiles) == 3

    def test_so_often_and_no_more(self) -> None:
        scripted = self.failing(1, 1, 1, 0)
        result = scripted.run(tool("t", retry=self.AGAIN), WORD)
        assert (result.is_error, len(scripted.words)) == (True, 3)

    def test_not_after_an_error_of_another_kind(self) -> None:
        scripted = Scripted(lambda _: Outcome(ending="out_of_memory"))
        assert scripted.run(tool("t", retry=self.AGAIN), WORD).is_error
        assert len(scripted.words) == 1

    def test_never_where_nothing_says_that_the_tool_is_idempotent(self) -> None:
        scripted = self.failing(1, 0)
        spec = replace(tool("t", retry=self.AGAIN), annotations=Annotations())
        assert scripted.run(spec, WORD).is_error
        assert len(scripted.words) == 1

    def test_a_sandbox_that_died_is_our_failure_and_is_not_tried_again(self) -> None:
        def die(_: tuple[str, ...]) -> Outcome:
            raise RuntimeError

        scripted = Scripted(die)
        with pytest.raises(InfrastructureError):
            scripted.run(tool("t", retry=self.AGAIN), WORD)
        assert len(scripted.words) == 1

    def test_a_person_is_asked_once(self) -> None:
        asked: list[BoundCall] = []

        def confirm(call: BoundCall) -> Allow:
            asked.append(call)
            return Allow({"word": "b"})

        scripted = self.failing(1, 0)
        options = replace(scripted.options(), confirm=confirm)
        assert scripted.run(tool("t", retry=self.AGAIN, confirm=True), WORD, options).text == "said"
        assert (len(asked), scripted.words) == (1, [("t", "--", "b")] * 2)

    def test_a_cancellation_ends_the_wait(self) -> None:
        scripted = self.failing(1)
        call = ToolCall(name="t", arguments=WORD, call_id="c")
        spec = tool("t", retry=replace(self.AGAIN, backoff_ms=MAX_WAIT_MS))
        with Cancellation() as cancellation:

            def cancel(event: object) -> None:
                if isinstance(event, ToolRetry):
                    threading.Timer(0.01, cancellation.cancel).start()

            result = execute(registered(spec), call, scripted.options(), on_event=cancel, cancellation=cancellation)
        assert result.error == ToolFailure("cancelled", "the call was cancelled before it finished")
        assert len(scripted.words) == 1

    def test_a_tool_that_is_denied_meanwhile_is_not_tried_again(self) -> None:
        denials = DenyList()

        def fail(_: tuple[str, ...]) -> Outcome:
            denials.deny(["t"], [])
            return exited(1)

        scripted = Scripted(fail)
        result = scripted.run(tool("t", retry=self.AGAIN), WORD, replace(scripted.options(), denied=denials.reason))
        assert result.error is not None
        assert (result.error.kind, len(scripted.words)) == ("denied", 1)

    def test_a_wait_that_would_outlast_the_deadline_is_not_begun(self) -> None:
        scripted = self.failing(1, 0)
        spec = tool("t", retry=replace(self.AGAIN, backoff_ms=50_000))
        result = scripted.run(spec, WORD, replace(scripted.options(), timeout_ms=20_000))
        assert (result.error and result.error.kind, len(scripted.words)) == ("exit_status", 1)

    @pytest.mark.parametrize(
        ("asked_for_ms", "waits_ms"), [(None, 1000), (400, 1000), (7000, 7000), (MAX_WAIT_MS + 1, None)]
    )
    def test_a_server_that_says_when_is_heeded_within_reason(
        self, asked_for_ms: int | None, waits_ms: int | None
    ) -> None:
        scripted = self.failing(1)
        result = scripted.run(tool("t"), WORD)
        result = replace(result, details={"http": {"status": 429, "retry_after_ms": asked_for_ms}})
        assert wait_ms(replace(self.AGAIN, backoff_ms=1000), result, 1) == waits_ms

    def test_the_wait_doubles(self) -> None:
        scripted = self.failing(1)
        result = scripted.run(tool("t"), WORD)
        retry = replace(self.AGAIN, backoff_ms=100, attempts=5)
        assert [wait_ms(retry, result, attempt) for attempt in range(1, 6)] == [100, 200, 400, 800, None]


def test_a_call_whose_time_is_up_before_it_begins_starts_nothing() -> None:
    scripted = Scripted()
    with Cancellation() as cancellation:
        context = CallContext(call_id="c", on_event=scripted.events.append, cancellation=cancellation, deadline=0)
        call = ToolCall(name="echo", arguments=WORD, call_id="c")
        result = CallPipeline(scripted.options()).run(registered(ECHO), call, context)
    assert result.error == ToolFailure(
        "timeout", "the call was not started: the time limit of the whole operation was reached"
    )
    assert (scripted.told, scripted.engine.profiles) == (["ToolEnd"], [])
