import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from calls.scripted_tools import Scripted, execute, exited, registered, tool

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
from toolc.runtime.execution.call_pipeline import CallPipeline
from toolc.runtime.execution.retry import MAX_WAIT_MS, wait_ms
from toolc.runtime.sandboxed.options import CallOptions

WORD: JsonObject = {"word": "a"}
ECHO = tool("echo", tags=("talk", "loud"))
WIPE = tool("wipe", confirm=True)
NOBODY = (
    "the tool 'wipe' was not called: each call must be confirmed, and there is no way to ask; "
    "use toolc run on a terminal or with --yes, toolc serve with a client that supports elicitation, or "
    "Executor(confirm=...) in a program"
)


class TestDenied:
    @pytest.mark.parametrize(
        ("names", "tags", "reason"),
        [
            (["echo"], [], "the tool 'echo' is denied here; continue without it"),
            (["echo_too"], [], "the tool 'echo' is denied here; continue without it"),
            ([], ["loud"], "the tool 'echo' is denied here, as are all tools with the tag 'loud'; continue without it"),
        ],
    )
    def test_a_denied_call_is_not_validated_does_not_start_and_has_a_reason(
        self, names: list[str], tags: list[str], reason: str
    ) -> None:
        scripted, denials = Scripted(), DenyList()
        denials.deny(names, tags)
        result = scripted.run(ECHO, {"wrong": 1}, replace(scripted.options(), denied=denials.reason))
        assert (result.error, result.text) == (ToolFailure("denied", reason), reason)
        assert scripted.engine.profiles == []
        assert scripted.events == [
            ToolDenied(name="echo", call_id="c", reason=reason),
            ToolEnd(name="echo", call_id="c", result=result),
        ]

    def test_an_allowed_tool_runs_unless_a_tag_is_denied(self) -> None:
        denials = DenyList()
        denials.deny(["echo"], ["loud"])
        denials.allow(["echo"], [])
        assert denials.reason(ECHO)
        denials.allow(["never", "echo"], ["loud"])
        assert denials.reason(ECHO) is None

    def test_a_deny_list_can_be_changed_from_many_threads(self) -> None:
        denials = DenyList()
        with ThreadPoolExecutor(50) as pool:
            list(pool.map(lambda n: denials.deny([f"t{n}"], []), range(50)))
        assert all(denials.reason(tool(f"t{n}")) for n in range(50))


class TestConfirmed:
    @staticmethod
    def options(scripted: Scripted, confirm: Confirm) -> CallOptions:
        return replace(scripted.options(), confirm=confirm)

    def test_confirm_receives_the_validated_call(self) -> None:
        confirmed: list[BoundCall] = []
        scripted = Scripted()

        def confirm(call: BoundCall) -> Allow:
            confirmed.append(call)
            return Allow()

        assert scripted.run(WIPE, WORD, self.options(scripted, confirm)).text == "wipe -- a"
        assert confirmed == [BoundCall(tool=WIPE, arguments=WORD, call_id="c")]

    def test_without_confirm_the_call_is_denied_with_a_hint(self) -> None:
        scripted = Scripted()
        result = scripted.run(WIPE, WORD)
        assert result.error == ToolFailure("denied", NOBODY)
        assert (scripted.event_names, scripted.engine.profiles) == (["ToolDenied", "ToolEnd"], [])

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (Deny("it is friday"), "this call of 'wipe' was denied: it is friday"),
            (Deny(), "this call of 'wipe' was denied"),
            (True, "this call of 'wipe' was denied"),
            (None, "this call of 'wipe' was denied"),
        ],
    )
    def test_any_answer_but_allow_denies_the_call(self, answer: object, message: str) -> None:
        scripted = Scripted()
        result = scripted.run(WIPE, WORD, self.options(scripted, lambda _: answer))  # type: ignore[arg-type,return-value]
        assert result.error == ToolFailure("denied", message)
        assert scripted.engine.profiles == []

    def test_changed_arguments_are_used(self) -> None:
        scripted = Scripted()
        scripted.run(WIPE, WORD, self.options(scripted, lambda _: Allow({"word": "b"})))
        assert scripted.words == [("wipe", "--", "b")]

    def test_changed_arguments_are_validated_again(self) -> None:
        scripted = Scripted()
        result = scripted.run(WIPE, WORD, self.options(scripted, lambda _: Allow({"word": 3})))
        assert result.text == "wrong arguments for wipe:\n- word: expected a string, got the number 3"
        assert scripted.engine.profiles == []

    def test_invalid_calls_are_not_confirmed(self) -> None:
        def confirm(_: BoundCall) -> Allow:
            raise AssertionError("nobody is to be asked")

        def no_engine(_: Profile) -> object:
            raise InfrastructureError("no engine")

        scripted = Scripted()
        options = self.options(scripted, confirm)
        assert scripted.run(WIPE, {}, options).is_error
        with pytest.raises(InfrastructureError, match="no engine"):
            scripted.run(WIPE, WORD, replace(options, select_engine=no_engine))  # type: ignore[arg-type]

    @pytest.mark.parametrize("answer", [Allow(), Allow({"word": "b"}), Deny()])
    def test_a_call_cancelled_or_denied_during_confirmation_does_not_start(self, answer: Allow | Deny) -> None:
        scripted, denials = Scripted(), DenyList()
        call = ToolCall(name="wipe", arguments=WORD, call_id="c")
        with Cancellation() as cancellation:

            def cancel(_: BoundCall) -> Allow | Deny:
                cancellation.cancel()
                return answer

            options = self.options(scripted, cancel)
            cancelled = execute(registered(WIPE), call, options, cancellation=cancellation)

        def deny(_: BoundCall) -> Allow:
            denials.deny(["wipe"], [])
            return Allow()

        denied = scripted.run(WIPE, WORD, replace(self.options(scripted, deny), denied=denials.reason))
        assert [each.error and each.error.kind for each in (cancelled, denied)] == ["cancelled", "denied"]
        assert scripted.engine.profiles == []

    def test_an_exception_of_confirm_is_propagated(self) -> None:
        def confirm(_: BoundCall) -> Allow:
            raise RuntimeError("the window was closed")

        scripted = Scripted()
        with pytest.raises(RuntimeError, match="the window was closed"):
            scripted.run(WIPE, WORD, self.options(scripted, confirm))
        assert scripted.engine.profiles == []


class TestTriedAgain:
    AGAIN = Retry(kinds=("exit_status",), attempts=3, backoff_ms=1)

    @staticmethod
    def failing(*statuses: int) -> Scripted:
        left = list(statuses)
        return Scripted(lambda _: exited(left.pop(0), b"said"))

    def test_a_call_is_retried_until_it_succeeds_and_reported(self) -> None:
        scripted = self.failing(1, 2, 0)
        result = scripted.run(tool("t", retry=self.AGAIN), WORD)
        assert (result.is_error, result.text) == (False, "said")
        assert scripted.event_names == [
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

    def test_the_number_of_attempts_is_limited(self) -> None:
        scripted = self.failing(1, 1, 1, 0)
        result = scripted.run(tool("t", retry=self.AGAIN), WORD)
        assert (result.is_error, len(scripted.words)) == (True, 3)

    def test_errors_of_other_kinds_are_not_retried(self) -> None:
        scripted = Scripted(lambda _: Outcome(ending="out_of_memory"))
        assert scripted.run(tool("t", retry=self.AGAIN), WORD).is_error
        assert len(scripted.words) == 1

    def test_a_tool_that_is_not_idempotent_is_not_retried(self) -> None:
        scripted = self.failing(1, 0)
        spec = replace(tool("t", retry=self.AGAIN), annotations=Annotations())
        assert scripted.run(spec, WORD).is_error
        assert len(scripted.words) == 1

    def test_a_dead_sandbox_raises_and_is_not_retried(self) -> None:
        def die(_: tuple[str, ...]) -> Outcome:
            raise RuntimeError

        scripted = Scripted(die)
        with pytest.raises(InfrastructureError):
            scripted.run(tool("t", retry=self.AGAIN), WORD)
        assert len(scripted.words) == 1

    def test_confirmation_is_requested_once(self) -> None:
        confirmed: list[BoundCall] = []

        def confirm(call: BoundCall) -> Allow:
            confirmed.append(call)
            return Allow({"word": "b"})

        scripted = self.failing(1, 0)
        options = replace(scripted.options(), confirm=confirm)
        assert scripted.run(tool("t", retry=self.AGAIN, confirm=True), WORD, options).text == "said"
        assert (len(confirmed), scripted.words) == (1, [("t", "--", "b")] * 2)

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

    def test_a_tool_denied_during_a_retry_is_not_called_again(self) -> None:
        denials = DenyList()

        def fail(_: tuple[str, ...]) -> Outcome:
            denials.deny(["t"], [])
            return exited(1)

        scripted = Scripted(fail)
        result = scripted.run(tool("t", retry=self.AGAIN), WORD, replace(scripted.options(), denied=denials.reason))
        assert result.error is not None
        assert (result.error.kind, len(scripted.words)) == ("denied", 1)

    def test_a_wait_beyond_the_deadline_does_not_start(self) -> None:
        scripted = self.failing(1, 0)
        spec = tool("t", retry=replace(self.AGAIN, backoff_ms=50_000))
        result = scripted.run(spec, WORD, replace(scripted.options(), timeout_ms=20_000))
        assert (result.error and result.error.kind, len(scripted.words)) == ("exit_status", 1)

    @pytest.mark.parametrize(
        ("asked_for_ms", "waits_ms"), [(None, 1000), (400, 1000), (7000, 7000), (MAX_WAIT_MS + 1, None)]
    )
    def test_a_retry_after_header_is_respected_up_to_a_limit(
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


def test_a_call_without_remaining_time_starts_nothing() -> None:
    scripted = Scripted()
    with Cancellation() as cancellation:
        context = CallContext(call_id="c", on_event=scripted.events.append, cancellation=cancellation, deadline=0)
        call = ToolCall(name="echo", arguments=WORD, call_id="c")
        result = CallPipeline(scripted.options()).run(registered(ECHO), call, context)
    assert result.error == ToolFailure(
        "timeout", "the call was not started, because the time limit of the whole operation was reached"
    )
    assert (scripted.event_names, scripted.engine.profiles) == (["ToolEnd"], [])
