"""Programs and files in a real guest, without an engine: what ``toolc.Sandbox`` is built on."""

import gc
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from engines.waiting_sandboxes import until
from namespace_sandbox import NamespaceSandbox, changed_bundle

from toolc.guest import frames
from toolc.model.errors import InfrastructureError, SandboxDiedError, UsageError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount, Plan, Profile, Programs
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar, Limits
from toolc.runtime.call_details import Timing
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sessions import sandbox_session
from toolc.runtime.sessions.programs import ProgramEnd, ProgramRequest, TerminalSize
from toolc.runtime.sessions.sandbox_session import Program, SandboxSession
from toolc.runtime.wire import protocol
from toolc.runtime.workspace import busy

PLAN = Plan(
    profile=Profile(),
    invocation=Programs(files=(File(path="note", text="from the tool"),)),
    call_id="c-1",
    env=(EnvVar(name="PATH", value="/usr/bin:/bin"), EnvVar(name="COLOR", value="red")),
)
LIMIT = 1_000_000


@pytest.fixture
def session(guest: object) -> Iterator[SandboxSession]:
    opened = SandboxSession(PLAN, lambda profile: Lease(NamespaceSandbox(), profile), Egress(), Timing())
    yield opened
    opened.close()


def shell(script: str) -> ProgramRequest:
    return ProgramRequest(argv=("/bin/sh", "-c", script), timeout_ms=100_000, output_bytes=LIMIT)


def run(session: SandboxSession, request: ProgramRequest | str, stdin: bytes = b"") -> ProgramEnd:
    program = session.start(shell(request) if isinstance(request, str) else request)
    program.write(stdin, is_last=True)
    return program.wait()


def access(session: SandboxSession, operation: JsonObject, stdin: bytes = b"") -> ProgramEnd:
    return run(session, ProgramRequest(file=operation, timeout_ms=100_000, output_bytes=LIMIT), stdin)


def processes(session: SandboxSession) -> list[str]:
    """Return the command lines of all programs in the sandbox, without the server and this query."""
    script = "for each in /proc/[0-9]*; do tr '\\0\\n' '  ' < $each/cmdline 2>/dev/null; echo; done"
    lines = run(session, script).stdout.text().splitlines()
    return [line for line in lines if line and "python3" not in line and "cmdline" not in line and " tr " not in line]


def test_programs_share_the_sandbox_and_the_environment_of_the_tool(session: SandboxSession) -> None:
    assert run(session, "echo one > /tmp/a; echo $COLOR; pwd; cat /tool/note").stdout.text() == (
        "red\n/tmp\nfrom the tool"
    )
    changed = replace(shell("cat; echo $COLOR; pwd >&2"), environment=(("COLOR", "blue"),), directory="/usr")
    end = run(session, changed, b"\0\xff")
    assert (end.stdout.data(), end.stderr.text()) == (b"\0\xffblue\n", "/usr\n")
    assert run(session, "cat a").stdout.text() == "one\n"


def test_exit_codes_are_those_of_a_shell(session: SandboxSession) -> None:
    def code(*argv: str) -> tuple[int, str]:
        end = run(session, ProgramRequest(argv=argv, timeout_ms=100_000, output_bytes=LIMIT))
        return end.exit_code, end.reason

    assert code("/bin/sh", "-c", "exit 7") == (7, "")
    assert code("/bin/sh", "-c", "kill -TERM $$") == (143, "")
    assert code("missing") == (127, "command not found: missing")
    assert code("/etc") == (126, "/etc: Permission denied")
    # A whole script instead of its words is a likely mistake of a model.
    assert code("é" * 30_000)[0] == 126
    assert code("x/" * 30_000)[0] == 126
    assert code("/bin/sh", "-c", "exit 7") == (7, "")


def test_programs_run_at_the_same_time(session: SandboxSession) -> None:
    run(session, "mkfifo to")
    with ThreadPoolExecutor() as threads:
        reader = threads.submit(run, session, "cat to")  # ends only if the next program runs meanwhile
        writer = threads.submit(run, session, "echo met > to")
        assert (writer.result().exit_code, reader.result().stdout.text()) == (0, "met\n")


def test_many_programs_at_once_keep_their_streams_apart(session: SandboxSession) -> None:
    data = {number: bytes([number]) * 300_000 for number in range(20)}
    with ThreadPoolExecutor(20) as threads:
        ends = {number: threads.submit(run, session, "cat; cat /dev/null", each) for number, each in data.items()}
        assert {number: end.result().stdout.data() for number, end in ends.items()} == data


def test_a_program_that_does_not_read_does_not_delay_others(session: SandboxSession) -> None:
    blocked = session.start(shell("sleep 100"))
    blocked.write(b"x" * 10_000_000)
    assert run(session, "cat", b"y" * 3_000_000).stdout.total_bytes == 3_000_000
    blocked.kill()
    assert blocked.wait().exit_code == 137


def test_huge_output_is_cut_in_the_middle(session: SandboxSession) -> None:
    end = run(session, "echo begin; head -c 30000000 /dev/zero; echo end")
    assert end.stdout.total_bytes == 30_000_010
    assert (end.stdout.head[:6], end.stdout.tail[-4:], len(end.stdout.data())) == (b"begin\n", b"end\n", LIMIT)


def test_all_output_is_passed_on_while_the_program_runs(session: SandboxSession) -> None:
    program = session.start(
        shell("echo first; read line; head -c 5000000 /dev/zero; echo $line >&2"), buffers_output=True
    )
    received = {"stdout": b"", "stderr": b""}

    def on_output(stream: str, data: bytes) -> None:
        if not received["stdout"]:
            program.write(b"second\n", is_last=True)
        received[stream] += data

    assert program.wait(on_output).exit_code == 0
    assert (received["stdout"], received["stderr"]) == (b"first\n" + bytes(5_000_000), b"second\n")


def test_a_slow_listener_stops_the_program(session: SandboxSession) -> None:
    program = session.start(shell("head -c 50000000 /dev/zero; echo done > /tmp/done"), buffers_output=True)
    sizes: list[int] = []

    def on_output(_: str, data: bytes) -> None:
        if not sizes:
            time.sleep(0.3)
            assert run(session, "test -e done").exit_code == 1
            assert sum(len(each) for _, each in program.state.unread) <= frames.WINDOW_BYTES
        sizes.append(len(data))

    program.wait(on_output)
    assert sum(sizes) == 50_000_000


def test_an_exception_of_the_listener_kills_the_program(session: SandboxSession) -> None:
    def on_output(*_: object) -> None:
        raise ZeroDivisionError

    program = session.start(shell("echo; sleep 1000"), buffers_output=True)
    with pytest.raises(ZeroDivisionError):
        program.wait(on_output)
    assert processes(session) == []


def test_the_time_limit_kills_all_descendants(session: SandboxSession) -> None:
    script = "setsid sh -c 'setsid sleep 1001 & sleep 1002' & (sleep 1003 &); trap '' TERM; echo begun; sleep 1004"
    ends = (run(session, replace(shell(script), timeout_ms=limit)) for limit in (500, 10_000, 60_000))
    end = next(each for each in ends if each.stdout.text())  # a machine that stalls may leave no time to begin
    assert (end.timed_out, end.exit_code, end.stdout.text()) == (True, 137, "begun\n")
    assert processes(session) == []


def test_a_program_that_ends_near_its_time_limit_has_ended_in_time_or_was_killed(session: SandboxSession) -> None:
    for number in range(12):
        script = f"sleep 1000 & sleep 0.{190 + number * 2}; echo ended"
        end = run(session, replace(shell(script), timeout_ms=200))
        left = [each for each in processes(session) if "sleep 1000" in each]
        assert end.timed_out == (not left), end
        # The shell may be killed between its last command and its end.
        assert end.exit_code == 0 or (end.timed_out and end.exit_code == 137)
        run(session, "kill $(pidof sleep); true")


def test_what_a_process_in_the_background_writes_after_the_end_is_not_waited_for(session: SandboxSession) -> None:
    code = (
        "import os, fcntl, time; fcntl.fcntl(1, 1031, 1 << 20)\n"
        "if os.fork() == 0:\n  while True: os.write(1, b'x' * 65536)\n"
        "time.sleep(0.05)"
    )
    end = run(session, ProgramRequest(argv=("/usr/bin/python3", "-c", code), timeout_ms=100_000, output_bytes=LIMIT))
    assert (end.exit_code, end.timed_out) == (0, False)
    # What was sent before the end, and what the pipe can hold: usually about 20 MB.
    assert end.stdout.total_bytes < 2**31


def test_a_program_that_stops_its_supervising_process_can_be_killed(
    session: SandboxSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox_session, "GRACE_SECONDS", 0.3)
    program = session.start(shell("kill -STOP $PPID; echo stopped; sleep 1000"), buffers_output=True)
    with pytest.raises(SandboxDiedError, match="did not end a program that was killed"):
        program.wait(lambda *_: program.kill())


def test_a_killed_program_whose_output_is_read_later_ends_as_usual(
    session: SandboxSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = session.start(shell("yes"), buffers_output=True)
    until(lambda: sum(len(data) for _, data in program.state.unread) >= frames.WINDOW_BYTES)
    monkeypatch.setattr(sandbox_session, "GRACE_SECONDS", 30.0)
    program.kill()
    monkeypatch.setattr(sandbox_session, "monotonic", lambda: time.monotonic() + 40)
    assert program.wait(lambda *_: None).exit_code == 137


def test_the_end_of_one_program_does_not_affect_others(session: SandboxSession) -> None:
    other = session.start(shell("sleep 1001 & wait"))
    until(lambda: "sleep 1001 " in processes(session))
    assert run(session, replace(shell("sleep 1002"), timeout_ms=300)).timed_out
    assert processes(session) == ["/bin/sh -c sleep 1001 & wait ", "sleep 1001 "]
    other.kill()
    other.wait()


def test_a_cancellation_kills_the_program(session: SandboxSession) -> None:
    with Cancellation() as cancellation:
        threading.Timer(0.2, cancellation.cancel).start()
        program = session.start(shell("sleep 1000"))
        assert program.wait(None, cancellation).exit_code == 137
    assert processes(session) == []


def test_a_process_left_in_the_background_keeps_running(session: SandboxSession) -> None:
    started = time.monotonic()
    assert run(session, "sleep 1000 & echo started").stdout.text() == "started\n"
    assert time.monotonic() - started < 60
    until(lambda: processes(session) == ["sleep 1000 "])


def run_in_terminal(
    session: SandboxSession, script: str, on_ready: Callable[[Program], None]
) -> tuple[ProgramEnd, bytes]:
    """Run a script in a terminal, call ``on_ready`` when it prints ``ready``, and return its end and its output."""
    program = session.start(replace(shell(script), terminal=TerminalSize(40, 100)), buffers_output=True)
    printed = b""

    def on_output(_: str, data: bytes) -> None:
        nonlocal printed
        printed += data
        if printed.endswith(b"ready\r\n"):
            on_ready(program)

    end = program.wait(on_output)
    return end, printed


def test_a_terminal_has_a_size_and_sends_ctrl_c(session: SandboxSession) -> None:
    script = "trap 'echo interrupted; exit 5' INT; stty size; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo ready; read x"
    end, printed = run_in_terminal(session, script, lambda program: program.write(b"\x03"))
    assert end.exit_code == 5
    assert printed.replace(b"^C", b"") == b"40 100\r\nready\r\ninterrupted\r\n"


def test_the_size_of_a_terminal_can_change(session: SandboxSession) -> None:
    script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.01; done"
    _, printed = run_in_terminal(session, script, lambda program: program.resize(TerminalSize(20, 50)))
    assert printed == b"ready\r\n20 50\r\n"


def test_files_are_written_read_listed_and_removed(session: SandboxSession) -> None:
    name = "odd \udcff\n'name"
    assert access(session, {"operation": "write", "path": f"new/folder/{name}"}, b"\0\xff").exit_code == 0
    assert access(session, {"operation": "read", "path": f"new/folder/{name}", "limit": 2}).stdout.data() == b"\0\xff"
    run(session, "ln -s /tool/note new/folder/link; mkfifo new/folder/pipe; mkdir new/folder/below")
    listed = json.loads(access(session, {"operation": "list", "path": "new/folder"}).stdout.data())
    assert [each[:2] for each in listed] == [["below", "folder"], ["link", "link"], [name, "file"], ["pipe", "other"]]
    assert access(session, {"operation": "remove", "path": "new/folder/link", "recursive": False}).exit_code == 0
    assert access(session, {"operation": "remove", "path": "new", "recursive": True}).exit_code == 0
    assert run(session, "ls; ls /tool").stdout.text() == "note\n"


def test_folders_that_are_nested_too_deeply_are_an_error(session: SandboxSession) -> None:
    deep = "d/" * 1500
    assert access(session, {"operation": "write", "path": f"{deep}file"}).reason == "The folders are nested too deeply"
    run(session, f"mkdir -p {deep}")
    end = access(session, {"operation": "remove", "path": "d", "recursive": True})
    assert end.reason in {"", "The folders are nested too deeply"}  # Python 3.13 does not use the stack


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"operation": "read", "path": "missing", "limit": 1}, "No such file or directory"),
        ({"operation": "read", "path": "/usr", "limit": 1}, "Is a directory"),
        ({"operation": "read", "path": "big", "limit": 10}, "File too large"),
        ({"operation": "read", "path": "pipe", "limit": 10}, "Not a regular file"),
        ({"operation": "write", "path": "/usr/x"}, "Permission denied"),
        ({"operation": "write", "path": "/tmp"}, "Is a directory"),
        ({"operation": "write", "path": "big/x"}, "Not a directory"),
        ({"operation": "list", "path": "big"}, "Not a directory"),
        ({"operation": "remove", "path": "full", "recursive": False}, "Directory not empty"),
    ],
)
def test_an_operation_on_a_file_fails_with_its_error(
    session: SandboxSession, operation: JsonObject, reason: str
) -> None:
    run(session, "printf 12345678901 > big; mkfifo pipe; mkdir full; touch full/x")
    end = access(session, operation)
    assert (end.reason.replace("File exists", "Not a directory"), end.errno is None) == (reason, False)


def test_a_missing_folder_is_an_error_of_the_caller(session: SandboxSession) -> None:
    end = run(session, replace(shell("true"), directory="missing"))
    assert (end.ending, end.errno, end.reason) == ("not_started", 2, "No such file or directory")


def test_a_program_that_kills_all_processes_ends_the_sandbox(session: SandboxSession) -> None:
    with pytest.raises(SandboxDiedError, match="a program killed"):
        run(session, "kill -9 -1; sleep 1000")
    with pytest.raises(SandboxDiedError):
        run(session, "true")


def test_a_signal_to_all_processes_ends_only_programs(session: SandboxSession) -> None:
    assert run(session, "trap '' TERM; kill -TERM -1; echo left").stdout.text() == "left\n"
    assert run(session, "echo alive").stdout.text() == "alive\n"


def first_output_or_end(program: Program) -> ProgramEnd | None:
    """Return the end of a program; None if it has written something."""
    while not program.state.unread and program.state.end is None:
        time.sleep(0.001)
    return program.state.end


def test_the_limit_of_open_files_applies_to_each_program_and_not_to_all_together(guest: object) -> None:
    plan = replace(PLAN, profile=Profile(limits=Limits(files=32)))
    session = SandboxSession(plan, lambda profile: Lease(NamespaceSandbox(), profile), Egress(), Timing())
    try:
        ends = [run(session, "ulimit -n; ulimit -Hn; sleep 1000 &") for _ in range(30)]
        assert {(end.reason, end.stdout.text()) for end in ends} == {("", "32\n32\n")}
    finally:
        session.close()


def test_a_program_for_which_no_process_is_left_is_not_started(session: SandboxSession) -> None:
    started = []
    while (
        end := first_output_or_end(program := session.start(shell("echo; exec sleep 999"), buffers_output=True))
    ) is None:
        started.append(program)
    assert (end.exit_code, end.reason) == (126, "Resource temporarily unavailable")
    for each in started[:10]:
        each.kill()
        each.wait()
    assert run(session, "echo alive").stdout.text() == "alive\n"


def test_a_kernel_that_cannot_hand_over_orphans_is_reported(guest: object, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = changed_bundle("PR_SET_CHILD_SUBREAPER = 36", "PR_SET_CHILD_SUBREAPER = 9999")
    monkeypatch.setattr(protocol, "bundle", lambda: changed)
    opened = SandboxSession(PLAN, lambda profile: Lease(NamespaceSandbox(), profile), Egress(), Timing())
    try:
        with pytest.raises(
            SandboxDiedError, match=r"^this sandbox cannot run programs: its kernel does not support PR_"
        ):
            run(opened, "true")
    finally:
        opened.close()


def test_a_new_program_is_not_served_with_what_was_ready_before_it(
    guest: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A new program may get the descriptors of one that was ready, and its report would then be read too early.
    waited = "ready = self._wait()"
    changed = changed_bundle(
        waited, f"{waited} | (set() if self._programs else {{*range(3, 100)}} - {{self._wire_in}})"
    )
    monkeypatch.setattr(protocol, "bundle", lambda: changed)
    opened = SandboxSession(PLAN, lambda profile: Lease(NamespaceSandbox(), profile), Egress(), Timing())
    try:
        program = opened.start(replace(shell("read line; echo $line"), timeout_ms=100_000))
        time.sleep(0.3)
        program.write(b"later\n")
        end = program.wait()
    finally:
        opened.close()
    assert (end.exit_code, end.stdout.text()) == (0, "later\n")


def test_a_process_that_hangs_in_the_kernel_is_reported_before_the_sandbox_is_closed(
    guest: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    known = '"processes_ended": self._children.all_exited or self._has_replied'
    changed = changed_bundle(known, '"processes_ended": False')
    monkeypatch.setattr(protocol, "bundle", lambda: changed)
    workspace = Mount(source=str(tmp_path), mode="rw", owner=0, group=0)
    plan = replace(PLAN, profile=Profile(workspace=workspace))
    opened = SandboxSession(plan, lambda profile: Lease(NamespaceSandbox(), profile), Egress(), Timing())
    try:
        with pytest.raises(InfrastructureError, match=r"^a process of the call was killed but has not ended"):
            run(opened, "kill -9 -1")
        assert opened._sandbox.fileno() >= 0, "it is closed only with the session"
        assert [each.workspace for each in busy._MARKS.removals] == [workspace]
    finally:
        opened.close()
    assert busy._MARKS.removals == []


def test_waiting_again_returns_the_same_end_and_closes_nothing(session: SandboxSession) -> None:
    program = session.start(shell("exit 7"))
    end = program.wait()
    reader, writer = os.pipe()
    try:
        assert program.wait() == end
        os.write(writer, b"still open")
        assert os.read(reader, 100) == b"still open"
    finally:
        os.close(reader)
        os.close(writer)


def test_a_program_that_no_thread_waits_for_leaves_no_descriptor(session: SandboxSession) -> None:
    gc.collect()
    before = len([*Path("/proc/self/fd").iterdir()])
    program = session.start(shell("true"))
    while program.state.end is None:
        time.sleep(0.01)
    del program
    gc.collect()
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_closed_sandbox_runs_nothing(session: SandboxSession) -> None:
    program = session.start(shell("sleep 1000"))
    threading.Timer(0.2, session.close).start()
    with pytest.raises(SandboxDiedError, match="closed while a program was running"):
        program.wait()
    with pytest.raises(UsageError, match="the sandbox is closed"):
        session.start(shell("true"))
