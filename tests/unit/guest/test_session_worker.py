"""The worker of a session in a real sandbox: functions in one interpreter, and programs."""

import json
import os
from collections.abc import Iterator, Sequence

import pytest
from namespace_sandbox import NamespaceSandbox
from real_guest import stopped

from toolc.model.events import Stream
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, Profile, PythonCall
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.call_details import Timing
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sessions.sandbox_server import SandboxServer
from toolc.runtime.wire.session import EndedError, SessionCall

pytestmark = pytest.mark.slow

PATH = EnvVar(name="PATH", value="/usr/bin:/bin")
CODE = """
NAMES = {"loaded": 0}
NAMES["loaded"] += 1

def run(code, ctx):
    print("begun", ctx.call_id, flush=True)
    ctx.progress(50, "half")
    exec(code, NAMES)
    yield "said "
    yield str(NAMES.get("_"))
"""


TOO_LONG = "the arguments and environment are too long for a program; use stdin"


def new_sandbox(profile: Profile) -> Lease:
    return Lease(NamespaceSandbox(), profile)


class Session:
    """A sandbox, and the output and progress of its last call."""

    def __init__(self) -> None:
        self.output: list[tuple[Stream, str]] = []
        self.progress: list[str] = []
        self._server: SandboxServer | None = None
        self._calls = 0

    def call(self, plan: Plan, timeout_ms: int = 100_000) -> Outcome:
        if self._server is None:
            self._server = SandboxServer(plan, new_sandbox, Egress(), Timing())
        self.output, self.progress = [], []
        call = SessionCall(
            timeout_ms=timeout_ms,
            on_progress=lambda _, message, __: self.progress.append(message),
            on_output=lambda stream, text: self.output.append((stream, text)),
        )
        return self._server.call(plan, call)

    def run(self, *argv: str, stdin: bytes = b"", env: Sequence[EnvVar] = ()) -> Outcome:
        return self.call(
            Plan(profile=Profile(), invocation=Exec(argv=argv), call_id="c", env=(PATH, *env), stdin=stdin)
        )

    def last(self, script: str, timeout_ms: int = 100_000) -> Outcome:
        """Return the outcome of a script that ends the session. The next call starts another one."""
        plan = Plan(profile=Profile(), invocation=Exec(argv=("/bin/sh", "-c", script)), call_id="c", env=(PATH,))
        with pytest.raises(EndedError) as raised:
            self.call(plan, timeout_ms)
        self.close()
        return raised.value.outcome

    def sh(self, script: str, stdin: bytes = b"") -> Outcome:
        return self.run("/bin/sh", "-c", script, stdin=stdin)

    def function(self, code: str, file: str = CODE) -> JsonObject:
        self._calls += 1
        call = PythonCall(
            entry="tool.py", function="run", arguments={"code": code}, files=(File(path="tool.py", text=file),)
        )
        plan = Plan(profile=Profile(), invocation=call, call_id=f"c{self._calls}", env=(PATH,))
        outcome = self.call(plan)
        assert outcome.ending == "answered"
        assert outcome.reply is not None
        answer: JsonObject = json.loads(outcome.reply.data())
        return answer

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


@pytest.fixture
def session() -> Iterator[Session]:
    if os.geteuid() != 0:
        pytest.skip("these tests create namespaces, which requires root")
    made = Session()
    yield made
    made.close()


def text_of(answer: JsonObject) -> str:
    content = answer["content"]
    assert isinstance(content, list)
    return "".join(str(each["text"]) for each in content if isinstance(each, dict))


def test_a_module_is_loaded_once_and_its_names_are_kept(session: Session) -> None:
    assert text_of(session.function("_ = loaded; x = 1")) == "said 1"
    assert text_of(session.function("loaded += 1; _ = x + 1")) == "said 2"
    assert text_of(session.function("_ = loaded")) == "said 2"


def test_the_output_of_a_function_belongs_to_its_call(session: Session) -> None:
    for number in (1, 2):
        session.function("_ = 'it'")
        stdout = "".join(text for stream, text in session.output if stream == "stdout")
        content = "".join(text for stream, text in session.output if stream == "content")
        assert (stdout, content, session.progress) == (f"begun c{number}\n", "said it", ["half"])


def test_a_function_can_be_called_again_after_an_error(session: Session) -> None:
    error = session.function("x = 1; raise KeyError('no')")["error"]
    assert isinstance(error, dict)
    assert (error["kind"], error["message"]) == ("execution", "KeyError: 'no'")
    assert text_of(session.function("_ = x")) == "said 1"


def test_a_function_cannot_read_the_calls_on_stdin(session: Session) -> None:
    assert text_of(session.function("import sys; _ = repr(sys.stdin.read())")) == "said ''"
    assert text_of(session.function("_ = 1")) == "said 1"


def test_a_forked_process_that_returns_does_not_respond(session: Session) -> None:
    assert text_of(session.function("import os; _ = os.fork() and 'parent'")) == "said parent"
    assert text_of(session.function("_ = 'next'")) == "said next"


def test_a_function_that_ends_its_process_ends_the_session(session: Session) -> None:
    with pytest.raises(EndedError) as raised:
        session.function("import os; os._exit(3)")
    assert (raised.value.outcome.ending, raised.value.outcome.status) == ("exited", 3)
    assert raised.value.outcome.stdout.text() == "begun c1\n"


WRITE_TO_ALL = """
import contextlib, os
for fd in range(3, 30):
    with contextlib.suppress(OSError):
        os.write(fd, b"x y\\n")
"""


def test_an_unexpected_response_ends_the_session(session: Session) -> None:
    with pytest.raises(EndedError) as raised:
        session.function(WRITE_TO_ALL)
    assert raised.value.outcome.ending == "broken"
    assert raised.value.outcome.reason == "it answered a call that was not made"


def test_programs_share_only_files_and_processes(session: Session) -> None:
    first = session.sh("echo kept > /tmp/f; sleep 1000 > /dev/null & echo $!; cat >&2; x=1; cd /", b"input")
    assert (first.ending, first.status, first.stderr.text()) == ("exited", 0, "input")
    second = session.sh(f"cat /tmp/f; kill -0 {first.stdout.text().strip()}; echo $x; pwd; exit 7")
    assert (second.ending, second.status, second.stdout.text()) == ("exited", 7, "kept\n\n/tmp\n")


def test_each_program_has_its_own_environment(session: Session) -> None:
    texts = [session.run("/bin/sh", "-c", "echo $A", env=[EnvVar(name="A", value=word)]) for word in ("one", "two")]
    assert [each.stdout.text() for each in texts] == ["one\n", "two\n"]


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        (("nosuch",), "command not found: nosuch"),
        (("/tmp",), "/tmp: Permission denied"),
        (("/bin/sh", "-c", "x" * 200_000), TOO_LONG),
    ],
)  # fmt: skip
def test_a_program_that_cannot_start_does_not_end_the_session(
    session: Session, argv: tuple[str, ...], reason: str
) -> None:
    session.sh("echo kept > /tmp/f")
    outcome = session.run(*argv)
    assert (outcome.ending, outcome.reason) == ("not_started", reason)
    assert session.sh("cat /tmp/f").stdout.text() == "kept\n"


def test_a_killed_program_does_not_end_the_session(session: Session) -> None:
    outcome = session.sh("kill -QUIT $$")
    assert (outcome.ending, outcome.status) == ("signaled", 3)
    assert session.sh("echo on").stdout.text() == "on\n"


def test_a_late_program_ends_the_session_with_its_output_so_far(session: Session) -> None:
    def late(timeout_ms: int) -> Outcome:
        session.sh("true")
        return session.last("echo so >&2; echo begun; sleep 1000", timeout_ms)

    outcome = stopped(late)
    assert (outcome.ending, outcome.stdout.text(), outcome.stderr.text()) == ("timed_out", "begun\n", "so\n")


def test_a_program_that_kills_all_processes_ends_the_session(session: Session) -> None:
    outcome = session.last("echo begun; sleep 0.2; kill -9 -1")
    assert (outcome.ending, outcome.status, outcome.stdout.text()) == ("signaled", 9, "begun\n")


def test_large_output_belongs_to_its_call(session: Session) -> None:
    large = session.sh("head -c 5000000 /dev/zero; head -c 3000000 /dev/zero >&2")
    assert (large.stdout.total_bytes, large.stderr.total_bytes) == (5_000_000, 3_000_000)
    small = session.sh("echo small")
    assert (small.stdout.text(), small.stderr.text()) == ("small\n", "")


def test_large_input_arrives(session: Session) -> None:
    assert session.sh("wc -c", bytes(3_000_000)).stdout.text().strip() == "3000000"
    assert session.sh("exit 0", bytes(3_000_000)).ending == "exited"


def test_output_of_a_background_process_after_its_call_is_discarded(session: Session) -> None:
    script = "(sleep 0.2; head -c 5000000 /dev/zero; echo late; touch /tmp/written; sleep 1000) & echo now"
    assert session.sh(script).stdout.text() == "now\n"
    waits = "while [ ! -e /tmp/written ]; do sleep 0.05; done; until pgrep sleep > /dev/null; do :; done; echo then"
    assert session.sh(waits).stdout.text() == "then\n"


def test_progress_and_output_are_passed_on_while_a_program_runs(session: Session) -> None:
    session.sh("true")
    plan = Plan(
        profile=Profile(),
        invocation=Exec(argv=("/bin/sh", "-c", "echo a; echo ::progress 40 half >&2; echo b >&2"), progress=True),
        call_id="c",
        env=(PATH,),
    )
    outcome = session.call(plan)
    assert (outcome.stdout.text(), outcome.stderr.text(), session.progress) == ("a\n", "b\n", ["half"])
    assert sorted(session.output) == [("stderr", "b\n"), ("stdout", "a\n")]
