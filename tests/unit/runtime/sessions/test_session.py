import base64
import gc
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from calls.scripted_tools import captured, error_kind
from engines.forked_child import in_child

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.call import ToolCall
from toolc.model.errors import InfrastructureError, SandboxDiedError
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.plan import Exec, Plan, PluginCall, Profile, PythonCall, SecretFile
from toolc.model.result import Ending, Image, Outcome, ToolFailure
from toolc.model.spec.sandbox import Destination, EnvVar
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sessions.sandbox_server import idle_state
from toolc.testing.fake_engine import FakeEngine, FakeSandbox

NOTES: JsonObject = {
    "toolc": 1,
    "defaults": {
        "backend": {"plugin": {"command": ["notes"]}},
        "sandbox": {"lifetime": "session", "limits": {"timeout": "100s"}},
        "parameters": {"how": {"type": "string", "default": "ok"}},
    },
    "tools": [
        {"name": "add", "description": "Add a note to all the others."},
        {"name": "show", "description": "Show all the notes that there are."},
    ],
}
OPTIONAL: JsonObject = {"how": {"type": "string", "default": "ok"}}
PARAMETERS: JsonObject = {"type": "object", "properties": OPTIONAL}


def line(value: JsonObject) -> Outcome:
    return Outcome(ending="answered", stdout=captured(json.dumps(value).encode() + b"\n"))


def text(words: str) -> JsonObject:
    return {"content": [{"type": "text", "text": words}], "error": False}


@dataclass
class Notes:
    """A plugin with two tools, as a script of the fake engine; ``lines`` are the received lines."""

    lines: list[JsonObject] = field(default_factory=list)
    busy: threading.Lock = field(default_factory=threading.Lock)
    hold: threading.Event = field(default_factory=threading.Event)
    began: threading.Event = field(default_factory=threading.Event)

    def __call__(self, plan: Plan) -> Outcome:
        request = json.loads(plan.stdin)
        self.lines.append(request)
        if request["type"] == "describe":
            names = (("add", "Add a note to all the others."), ("show", "Show all the notes that there are."))
            tools: list[JsonObject] = [
                {"name": name, "description": words, "parameters": PARAMETERS} for name, words in names
            ]
            return line({"tools": [*tools]})
        assert self.busy.acquire(blocking=False)
        try:
            return self._called(request["params"]["how"])
        finally:
            self.busy.release()

    def _called(self, how: str) -> Outcome:
        endings: dict[str, Ending] = {"exit": "exited", "kill": "signaled"}
        if how in endings:
            return Outcome(ending=endings[how], status=9, stderr=captured(b"so be it\n"))
        if how == "late":
            return Outcome(ending="timed_out", stderr=captured(b"so be it\n"))
        if how == "wait":
            self.began.set()
            self.hold.wait(60)
        if how == "die":
            raise OSError("the disk is gone")
        return line(text(f"{len([each for each in self.lines if each['type'] == 'call'])}"))


@contextmanager
def executor(
    folder: Path,
    script: Callable[[Plan], Outcome],
    spec: JsonObject = NOTES,
    *,
    timeout: float | None = None,
    session_idle: float = 1000,
    **secrets: str,
) -> Iterator[Executor]:
    path = folder / "spec.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    engine = FakeEngine(script)
    store = SecretStore({name: LiteralSource(value) for name, value in secrets.items()}, {})
    with Executor(
        Registry.load(path), engine=engine, timeout=timeout, session_idle=session_idle, secrets=store
    ) as made:
        made_engine[made] = engine
        yield made


made_engine: dict[Executor, FakeEngine] = {}


def started(made: Executor) -> int:
    return len(made_engine[made].profiles)


def living() -> set[threading.Thread]:
    """Return the running fake sandboxes; each is a thread."""
    return {each for each in threading.enumerate() if each.name == "fake sandbox"}


def assert_ends(sandboxes: set[threading.Thread]) -> None:
    for each in sandboxes:
        each.join(60)
    assert not any(each.is_alive() for each in sandboxes)


def test_tools_of_one_plugin_share_a_process(tmp_path: Path) -> None:
    notes = Notes()
    with executor(tmp_path, notes) as made:
        results = [made.run(name, {}, call_id=f"c{number}") for number, name in enumerate(("add", "show", "add"))]
        assert started(made) == 1
    assert [each.text for each in results] == ["1", "2", "3"]
    assert [each.details["session"] for each in results] == [{"call": 1}, {"call": 2}, {"call": 3}]
    assert notes.lines[0]["type"] == "describe"
    assert notes.lines[1:] == [
        {"type": "call", "call_id": "c0", "tool": "add", "params": {"how": "ok"}},
        {"type": "call", "call_id": "c1", "tool": "show", "params": {"how": "ok"}},
        {"type": "call", "call_id": "c2", "tool": "add", "params": {"how": "ok"}},
    ]


def test_without_a_session_each_call_has_its_own_process(tmp_path: Path) -> None:
    spec = json.loads(json.dumps(NOTES))
    del spec["defaults"]["sandbox"]["lifetime"]
    notes = Notes()
    with executor(tmp_path, notes, spec) as made:
        results = [made.run("add", {}) for _ in range(2)]
        assert started(made) == 2
    assert [each["type"] for each in notes.lines] == ["describe", "call"] * 2
    assert all("session" not in each.details for each in results)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("exit", "the plugin's process ended with exit status 9 before it answered"),
        ("kill", "the plugin's process was killed by SIGKILL before it answered"),
    ],
)
def test_an_exited_process_is_an_error_and_is_replaced(tmp_path: Path, how: str, message: str) -> None:
    with executor(tmp_path, Notes()) as made:
        failed = made.run("add", {"how": how})
        after = made.run("add", {})
        assert started(made) == 2
    assert failed.error == ToolFailure("execution", message)
    assert "so be it" in failed.text
    assert after.details["session"] == {"call": 1}


def test_the_log_of_a_late_plugin_is_not_shown_to_the_model(tmp_path: Path) -> None:
    with executor(tmp_path, Notes(), timeout=50) as made:
        failed = made.run("add", {"how": "late"})
    assert failed.text == "the call did not finish within 50 s and was stopped; request less work per call"
    assert failed.details["stderr"] == "so be it\n"


def test_a_dead_sandbox_raises_and_is_replaced(tmp_path: Path) -> None:
    with executor(tmp_path, Notes()) as made:
        with pytest.raises(SandboxDiedError, match="the disk is gone"):
            made.run("add", {"how": "die"})
        assert made.run("add", {}).details["session"] == {"call": 1}


def test_calls_of_many_threads_run_one_at_a_time(tmp_path: Path) -> None:
    with executor(tmp_path, Notes()) as made, ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda name: made.run(name, {}).text, ["add", "show"] * 20)]
        assert started(made) == 1
    assert sorted(map(int, found)) == [*range(1, 41)]


def test_a_queued_call_can_be_cancelled_without_ending_the_session(tmp_path: Path) -> None:
    notes = Notes()
    with executor(tmp_path, notes) as made, ThreadPoolExecutor(2) as pool, Cancellation() as cancellation:
        first = pool.submit(made.run, "add", {"how": "wait"})
        assert notes.began.wait(60)
        second = pool.submit(made.run, "show", {}, cancellation=cancellation)
        cancellation.cancel()
        waited = second.result(60)
        notes.hold.set()
        assert first.result(60).text == "1"
        assert made.run("add", {}).details["session"] == {"call": 2}
    assert error_kind(waited) == "cancelled"


def test_time_in_the_queue_counts_towards_the_call(tmp_path: Path) -> None:
    notes = Notes()
    with executor(tmp_path, notes) as made, ThreadPoolExecutor(1) as pool:
        first = pool.submit(made.run, "add", {"how": "wait"})
        assert notes.began.wait(60)
        (late,) = made.run_batch([ToolCall(name="add", arguments={})], timeout=0.3)
        notes.hold.set()
        assert first.result(60).text == "1"
        assert made.run("add", {}).details["session"] == {"call": 2}
    assert error_kind(late) == "timeout"


@pytest.mark.slow
def test_a_late_call_ends_the_session(tmp_path: Path) -> None:
    for seconds in (0.2, 5, 30):  # a machine that stalls may leave no time to begin
        before, notes = living(), Notes()
        with executor(tmp_path, notes) as made:
            (late,) = made.run_batch([ToolCall(name="add", arguments={"how": "wait"})], timeout=seconds)
            notes.hold.set()
            assert error_kind(late) == "timeout"
            if notes.began.is_set():
                # The plugin of the ended session shares its notes with the next one's: let it leave.
                assert_ends(living() - before)
                assert made.run("add", {}).details["session"] == {"call": 1}
                return
    pytest.fail("no call began")


def test_an_idle_session_ends(tmp_path: Path) -> None:
    before = living()
    with executor(tmp_path, Notes(), session_idle=0.05) as made:
        made.run("add", {})
        assert_ends(living() - before)
        assert made.run("add", {}).details["session"] == {"call": 1}


def test_closing_ends_idle_sessions_immediately(tmp_path: Path) -> None:
    before = living()
    with executor(tmp_path, Notes()) as made:
        made.run("add", {})
        sandboxes = living() - before
        assert len(sandboxes) == 1
        made.close()
        assert_ends(sandboxes)


TWO_PLUGINS: JsonObject = NOTES | {
    "tools": [
        {"name": "add", "description": "Add a note to all the others."},
        {
            "name": "show",
            "description": "Show all the notes that there are.",
            "backend": {"plugin": {"command": ["other"]}},
        },
    ]
}


def test_closing_ends_all_sessions_although_one_cannot_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = living()
    with executor(tmp_path, Notes(), TWO_PLUGINS) as made:
        made.run("add", {})
        made.run("show", {})
        sandboxes = living() - before
        assert len(sandboxes) == 2
        monkeypatch.setattr(FakeSandbox, "close", failing_close)
        with pytest.raises(InfrastructureError, match="it cannot be stopped"):
            made._options.sessions.close()
        assert_ends(sandboxes)


def test_an_idle_session_that_cannot_be_closed_does_not_keep_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = living()
    with executor(tmp_path, Notes(), session_idle=0.05) as made:
        monkeypatch.setattr(FakeSandbox, "close", failing_close)
        for _ in range(2):
            made.run("add", {})
            assert_ends(living() - before)
    assert "an idle session could not be closed: it cannot be stopped" in caplog.text


def failing_close(sandbox: FakeSandbox) -> None:
    close_sandbox(sandbox)
    raise InfrastructureError("it cannot be stopped")


close_sandbox = FakeSandbox.close


def test_the_last_waiting_call_ends_a_closed_session(tmp_path: Path) -> None:
    before, notes = living(), Notes()
    with executor(tmp_path, notes) as made, ThreadPoolExecutor(2) as pool, Cancellation() as cancellation:
        busy = pool.submit(made.run, "add", {"how": "wait"})
        assert notes.began.wait(60)
        waiting = pool.submit(made.run, "show", {}, cancellation=cancellation)
        (session,) = made._options.sessions._sessions.values()
        while session.lock.waiting < 2:
            time.sleep(0.001)
        made.close()
        notes.hold.set()
        assert busy.result(60).text == "1"
        cancellation.cancel()
        waiting.result(60)
        assert_ends(living() - before)


@pytest.mark.slow
def test_dropping_an_executor_closes_its_sessions(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(json.dumps(NOTES), encoding="utf-8")
    before = living()
    made = Executor(Registry.load(path), engine=FakeEngine(Notes()))
    made.run("add", {})
    sandboxes = living() - before
    assert len(sandboxes) == 1
    del made
    gc.collect()
    assert_ends(sandboxes)


def test_a_forked_child_has_separate_sessions(tmp_path: Path) -> None:
    with executor(tmp_path, Notes()) as made:
        made.run("add", {})

        def has_own_session() -> bool:
            with made:
                return made.run("add", {}).details["session"] == {"call": 1}

        assert in_child(has_own_session)
        assert made.run("add", {}).details["session"] == {"call": 2}


def test_closing_ends_sessions_and_later_calls_start_new_ones(tmp_path: Path) -> None:
    notes = Notes()
    with executor(tmp_path, notes) as made, ThreadPoolExecutor(1) as pool:
        busy = pool.submit(made.run, "add", {"how": "wait"})
        assert notes.began.wait(60)
        made.close()
        notes.hold.set()
        assert busy.result(60).text == "1"
        assert made.run("add", {}).details["session"] == {"call": 1}
        assert started(made) == 2


def one_tool(name: str, parameter: JsonObject, backend: JsonObject, **sandbox: JsonValue) -> JsonObject:
    return {
        "toolc": 1,
        "name": name,
        "description": "Add a note to all the others.",
        "parameters": parameter,
        "backend": backend,
        "sandbox": {"lifetime": "session", **sandbox},
    }


KEYED = one_tool("add", OPTIONAL, {"plugin": {"command": ["notes"]}}, secrets={"KEY": {"expose": "env"}})
ADD: JsonObject = {"name": "add", "description": "Add a note to all the others.", "parameters": PARAMETERS}


def test_secrets_in_a_plugins_environment_are_redacted(tmp_path: Path) -> None:
    secrets: JsonObject = {"KEY": {"expose": "env"}}
    spec = KEYED | {"sandbox": {"env": {"URL": "https://x/?key={{ secrets.KEY }}"}, "secrets": secrets}}
    seen: list[dict[str, str]] = []

    def script(plan: Plan) -> Outcome:
        seen.append({variable.name: variable.value for variable in plan.env})
        if b"describe" in plan.stdin:
            return line(ADD)
        return Outcome(
            ending="answered",
            stdout=captured(json.dumps(text("https://x/?key=first-key")).encode() + b"\n"),
            stderr=captured(b"first-key\n"),
        )

    with executor(tmp_path, script, spec, KEY="first-key") as made:
        results = [made.run("add", {}), made.run("add", {})]
    assert {(each["URL"], each["KEY"]) for each in seen} == {("https://x/?key=first-key", "first-key")}
    assert all("TOOLC_CALL_ID" not in each for each in seen)
    assert [each.text for each in results] == ["https://x/?key=[secret KEY]"] * 2
    assert results[0].details["stderr"] == "[secret KEY]\n"


KEY = "correct-horse-battery-staple"
JUNK = b"x" * 190 + KEY.encode()
ANSWER = json.dumps(text("ok")).encode() + b"\n"


@pytest.mark.parametrize(
    ("described", "answered", "expected"),
    [
        (JUNK + b"\n", b"", "x" * 190 + "[secret K"),
        (b"", JUNK + b"\n", "x" * 190 + "[secret K"),
        (b"", ANSWER + JUNK + b"\n", "x" * 190 + "[secret K"),
        (b"", ANSWER + b"more: " + KEY[:20].encode(), "'more: '"),
        (b"", ANSWER + KEY[:20].encode(), "'...'"),
        (b"", json.dumps(text("ok") | {"call_id": "x" * 70 + KEY}).encode() + b"\n", "x" * 70 + "[secret K"),
        (b"", json.dumps({"type": "update", "call_id": "x" * 70 + KEY}).encode() + b"\n", "x" * 70 + "[secret K"),
    ],
    ids=["description", "answer", "after an answer", "part", "only part", "id of an answer", "id of an update"],
)
def test_a_truncated_line_of_a_plugin_has_no_part_of_a_secret(
    tmp_path: Path, described: bytes, answered: bytes, expected: str
) -> None:
    def script(plan: Plan) -> Outcome:
        if b"describe" in plan.stdin:
            return Outcome(ending="answered", stdout=captured(described or json.dumps(ADD).encode() + b"\n"))
        return Outcome(ending="answered", stdout=captured(answered))

    with executor(tmp_path, script, KEYED, KEY=KEY) as made:
        result = made.run("add", {})
    assert expected in result.text
    assert KEY[:8] not in result.text


def test_an_image_and_a_number_of_a_plugin_can_contain_secrets(tmp_path: Path) -> None:
    picture = base64.b64encode(b"GIF89a" + KEY.encode()).decode()
    answer: JsonObject = {"content": [{"type": "image", "data": picture}], "details": {"pin": 48151623, KEY: 1}}
    spec = KEYED | {"sandbox": {"secrets": {"KEY": {"expose": "env"}, "PIN": {"expose": "env"}}}}
    with executor(
        tmp_path, lambda plan: line(ADD if b"describe" in plan.stdin else answer), spec, KEY=KEY, PIN="48151623"
    ) as made:
        result = made.run("add", {})
    assert result.content == (Image(b"GIF89a[secret KEY]", "image/gif"),)
    assert result.details["tool"] == {"pin": "[secret PIN]", "[secret KEY]": 1}


def test_a_session_is_identified_by_the_start_of_its_process() -> None:
    call = PluginCall(argv=("a",), tool="t", description="d", parameters={}, arguments={})
    plan = Plan(profile=Profile(), invocation=call, call_id="c", env=(EnvVar(name="A", value="1"),))
    assert idle_state(plan) == idle_state(
        replace(
            plan,
            call_id="d",
            env=(EnvVar(name="TOOLC_CALL_ID", value="d"), *plan.env),
            invocation=replace(call, tool="u", description="e", arguments={"n": 1}),
        )
    )
    others = [
        replace(plan, env=(EnvVar(name="A", value="2"),)),
        replace(plan, secret_files=(SecretFile(path="secrets/A", text="x"),)),
        replace(plan, allow=(Destination(kind="public", host="", port=443),)),
        replace(plan, profile=Profile(image="debian:bookworm")),
        replace(plan, invocation=replace(call, argv=("b",))),
    ]
    assert len({idle_state(each) for each in (plan, *others)}) == 1 + len(others)


CODE: JsonObject = {"code": {"type": "string"}}
SHELL: JsonObject = {"argv": ["sh", "-c", "{{ code }}"], "stdin": "{{ code }}"}
PROGRAM = one_tool("sh", CODE, {"shell": SHELL | {"allow_dash": ["code"], "runs_caller_code": True}})


def test_a_session_runs_each_program_with_its_own_arguments(tmp_path: Path) -> None:
    plans: list[Plan] = []

    def script(plan: Plan) -> Outcome:
        plans.append(plan)
        return Outcome(ending="exited", status=len(plans) - 1, stdout=captured(plan.stdin), stderr=captured(b"e"))

    events: list[Event] = []
    with executor(tmp_path, script, PROGRAM) as made:
        results = [made.run("sh", {"code": code}, call_id=code, on_event=events.append) for code in ("one", "two")]
        assert started(made) == 1
    assert [plan.invocation for plan in plans] == [Exec(argv=("sh", "-c", code)) for code in ("one", "two")]
    assert [next(each.value for each in plan.env if each.name == "TOOLC_CALL_ID") for plan in plans] == ["one", "two"]
    assert [each.text for each in results] == ["one", "two\n[stderr]\ne\n[exit status 1]"]
    updates = [(each.call_id, each.stream, each.text) for each in events if isinstance(each, ToolUpdate)]
    assert updates == [
        ("one", "stdout", "one"),
        ("one", "stderr", "e"),
        ("two", "stdout", "two"),
        ("two", "stderr", "e"),
    ]


def test_a_session_of_a_function_calls_it_in_one_interpreter(tmp_path: Path) -> None:
    spec = one_tool("py", CODE, {"python": {"code": "def py(code):\n    return code\n"}})
    calls: list[PythonCall] = []

    def script(plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, PythonCall)
        calls.append(plan.invocation)
        reply: JsonObject = {"content": [{"type": "text", "text": str(len(calls))}], "structured": None, "details": {}}
        return Outcome(ending="exited", reply=captured(json.dumps(reply).encode()))

    with executor(tmp_path, script, spec) as made:
        results = [made.run("py", {"code": code}) for code in ("a", "b")]
        assert started(made) == 1
    assert [each.arguments for each in calls] == [{"code": "a"}, {"code": "b"}]
    assert [(each.text, each.details["outcome"]) for each in results] == [("1", "answered"), ("2", "answered")]
