"""Process 1 and hostile tools. Each call runs in separate namespaces."""

from contextlib import closing
from pathlib import Path

import pytest
from namespace_sandbox import USER, NamespaceSandbox
from real_guest import PATH, Guest, stopped

from toolc.guest import frames
from toolc.guest.bundle import bundle
from toolc.model.events import Stream
from toolc.model.plan import Exec, Plan, Profile
from toolc.model.spec.sandbox import Limits
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.wire.call_loop import converse, ignore_progress
from toolc.runtime.wire.protocol import call_message


def test_output_streams_and_the_exit_status_are_the_programs(guest: Guest) -> None:
    outcome = guest.shell("echo out; echo err >&2; exit 3")
    assert (outcome.ending, outcome.status) == ("exited", 3)
    assert (outcome.stdout.data(), outcome.stderr.data(), outcome.reply) == (b"out\n", b"err\n", None)


def test_the_resource_usage_is_reported(guest: Guest) -> None:
    usage = guest.program("x = bytearray(50_000_000)\nfor _ in range(3_000_000): pass").usage
    assert usage.peak_memory_bytes is not None
    assert usage.peak_memory_bytes > 50_000_000
    assert usage.cpu_ms is not None
    assert 10 < usage.cpu_ms < 10_000
    assert usage.duration_ms >= usage.cpu_ms / 2


def test_a_function_cannot_report_its_own_usage(guest: Guest) -> None:
    outcome = guest.function(
        "import inspect, json, os\n"
        "def run():\n"
        "    held = [each.frame.f_locals.get('pipes') for each in inspect.stack()]\n"
        "    control = next(each.control[1] for each in held if each)\n"
        "    os.write(control, json.dumps({'done': {'cpu_ms': -1.0}}).encode() + b'\\n')\n"
        "    os.close(control)\n"
        "    return 'the answer'\n"
    )
    assert outcome.usage.cpu_ms is not None
    assert outcome.usage.cpu_ms > 0
    assert outcome.reply is not None
    assert b"the answer" in outcome.reply.data()


@pytest.mark.parametrize(
    ("script", "ending", "status"),
    [
        ("kill -TERM $$", "signaled", 15), ("exit 127", "exited", 127),
        ("exec >&- 2>&-; sleep 0.1; exit 4", "exited", 4),
    ],
    ids=["a signal is not a status", "127 is an ordinary exit", "closing its output does not end a call"],
)  # fmt: skip
def test_the_ending_of_a_program(guest: Guest, script: str, ending: str, status: int) -> None:
    outcome = guest.shell(script)
    assert (outcome.ending, outcome.status) == (ending, status)


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_000])
def test_stdin_of_any_length_arrives_and_ends(guest: Guest, size: int) -> None:
    assert guest.shell("wc -c", stdin=b"x" * size).stdout.text().strip() == str(size)


@pytest.mark.parametrize("script", ["echo done", "exec <&-; sleep 0.1; echo done"], ids=["unread", "closed early"])
def test_stdin_that_is_not_read_does_not_block(guest: Guest, script: str) -> None:
    assert guest.shell(script, stdin=b"x" * 5_000_000).stdout.data() == b"done\n"


@pytest.mark.slow
def test_large_output_keeps_its_start_and_end(guest: Guest) -> None:
    outcome = guest.shell("echo first; head -c 200000000 /dev/zero; echo last")
    assert outcome.ending == "exited"
    assert outcome.stdout.total_bytes == 200_000_011
    assert outcome.stdout.head.startswith(b"first\n\0")
    assert outcome.stdout.tail.endswith(b"\0last\n")
    assert len(outcome.stdout.data()) == Limits().output_bytes


@pytest.mark.slow
def test_endless_output_ends_at_the_deadline(guest: Guest) -> None:
    outcome = stopped(lambda timeout_ms: guest.shell("yes", timeout_ms=timeout_ms))
    assert outcome.ending == "timed_out"
    assert outcome.usage.peak_memory_bytes is not None
    assert outcome.usage.duration_ms >= 500


HOSTILE = {
    "sleep": "sleep 1000",
    "ignores SIGTERM": "trap '' TERM HUP INT QUIT; while :; do :; done",
    "stops itself": "kill -STOP $$; sleep 1000",
    "stops its child": "sleep 1000 & kill -STOP $!; wait",
    "double forks": "(setsid sh -c 'trap \"\" TERM; sleep 1000' &) ; sleep 1000",
    "signals process 1": "for s in HUP INT QUIT USR1 USR2 TERM STOP KILL CHLD; do kill -$s 1; done; sleep 1000",
}


@pytest.mark.slow
@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_deadline_ends_any_program(guest: Guest, script: str) -> None:
    outcome = stopped(lambda timeout_ms: guest.shell(f"echo started; {script}", timeout_ms=timeout_ms))
    assert outcome.ending == "timed_out"
    assert outcome.stdout.data().startswith(b"started\n")
    # The guest reported the end itself: the host did not have to wait for its grace period.
    assert outcome.usage.peak_memory_bytes is not None
    assert outcome.usage.duration_ms >= 500


FORK_BOMB = """
import os, signal
print("started", flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        pass
"""


@pytest.mark.slow
def test_the_deadline_ends_a_fork_bomb(guest: Guest) -> None:
    outcome = stopped(lambda timeout_ms: guest.program(FORK_BOMB, timeout_ms=timeout_ms))
    assert (outcome.ending, outcome.stdout.data()) == ("timed_out", b"started\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "import re; re.match('(a+)+$', 'a' * 40 + 'b')",
        "import os, signal; os.kill(1, 9); signal.pause()",
    ],
    ids=["loop", "catastrophic regex", "kills process 1 and waits"],
)
def test_the_deadline_ends_a_function_that_never_returns(guest: Guest, body: str) -> None:
    code = f"def run():\n    print('started')\n    {body}"
    outcome = stopped(lambda timeout_ms: guest.function(code, timeout_ms=timeout_ms))
    assert outcome.ending == "timed_out"
    assert outcome.stdout.data() == b"started\n"
    assert outcome.usage.peak_memory_bytes is not None


@pytest.mark.parametrize(
    "script",
    [
        "sleep 1000 & echo done",
        "setsid sleep 1000 & echo done",
        "(setsid sh -c 'trap \"\" TERM; while :; do :; done' &); echo done",
        "for i in $(seq 100); do sleep 1000 & done; echo done",
    ],
    ids=["background", "own session", "double fork", "a hundred"],
)
def test_a_call_ends_with_its_program_even_if_others_hold_its_stdout(guest: Guest, script: str) -> None:
    outcome = guest.shell(script)
    assert (outcome.ending, outcome.status, outcome.stdout.data()) == ("exited", 0, b"done\n")


def test_output_of_a_killed_background_process_is_kept(guest: Guest) -> None:
    script = "mkfifo said; (echo from below; echo >said; sleep 1000) & read -r word <said"
    assert guest.shell(script).stdout.data() == b"from below\n"


@pytest.mark.slow
def test_orphans_are_reaped_while_the_call_runs(guest: Guest) -> None:
    # 600 orphans one after the other, under a limit of 200 processes.
    some = "for i in $(seq 100); do (true &) ; done"
    reaped = "while set -- /proc/[0-9]*; [ $# -ge 20 ]; do sleep 0.05; done"
    outcome = guest.shell(f"for n in 1 2 3 4 5 6; do {some}; {reaped}; done; echo done")
    assert (outcome.ending, outcome.stdout.data(), outcome.stderr.data()) == ("exited", b"done\n", b"")


SUPERVISOR_FILES = ("fd", "fd/3", "mem", "environ", "maps", "cwd")


def test_the_tool_cannot_inspect_the_supervisor(guest: Guest) -> None:
    outcome = guest.program(
        "import os\n"
        f"for name in {SUPERVISOR_FILES!r}:\n"
        "    for flags in os.O_RDONLY, os.O_WRONLY:\n"
        "        try: os.open('/proc/1/' + name, flags)\n"
        "        except OSError as e: print(type(e).__name__)\n"
    )
    assert set(outcome.stdout.text().split()) <= {"PermissionError", "FileNotFoundError", "IsADirectoryError"}
    assert len(outcome.stdout.text().split()) == 2 * len(SUPERVISOR_FILES)


def test_the_supervisor_cannot_be_inspected_when_it_is_ready() -> None:
    with closing(NamespaceSandbox()) as sandbox:
        start(sandbox)
        (supervisor,) = _children(sandbox.process.pid)
        # These files belong to root if the process is not dumpable: prctl(2).
        assert Path(f"/proc/{supervisor}/environ").stat().st_uid == 0
        (worker,) = _children(supervisor)
        assert Path(f"/proc/{worker}/environ").stat().st_uid == int(USER)


def start(sandbox: NamespaceSandbox) -> None:
    sandbox.socket.settimeout(60)
    sandbox.socket.sendall(bundle())
    assert sandbox.socket.recv(1000)[4] == frames.READY


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    return [int(each) for each in found.split()]


def test_the_tool_has_only_three_descriptors(guest: Guest) -> None:
    outcome = guest.program("import os; print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))")
    assert outcome.stdout.text() in ("[0, 1, 2, 3]\n", "[0, 1, 2]\n")  # 3 is that of the listing


ENDLESS = "echo go; trap '' TERM; (setsid sleep 1000 &); while :; do :; done"


@pytest.mark.parametrize("when", ["before ready", "ready", "in the call"])
def test_closing_the_stream_ends_all_processes(guest: Guest, when: str) -> None:
    with closing(NamespaceSandbox()) as sandbox:
        if when == "before ready":
            sandbox.socket.sendall(bundle()[:1000])
        else:
            start(sandbox)
        if when == "in the call":
            plan = Plan(profile=Profile(), invocation=Exec(argv=("/bin/sh", "-c", ENDLESS)), call_id="c")
            sandbox.socket.sendall(frames.encode(frames.CALL, 0, call_message(plan, 60_000)))
            assert sandbox.socket.recv(1000).endswith(b"go\n")
    assert sandbox.error_output() == ""


def test_a_protocol_error_of_the_host_ends_the_guest(guest: Guest) -> None:
    with closing(NamespaceSandbox()) as sandbox:
        start(sandbox)
        sandbox.socket.sendall(frames.encode(frames.EXIT))
        while sandbox.socket.recv(1000):
            pass
    assert "frame of type 8 on stream 0" in sandbox.error_output()


def test_a_waiting_guest_reports_again_that_it_is_ready(guest: Guest) -> None:
    with closing(NamespaceSandbox()) as sandbox:
        start(sandbox)
        for _ in range(2):
            sandbox.socket.sendall(frames.encode(frames.READY))
            assert sandbox.socket.recv(1000)[4] == frames.READY


@pytest.mark.slow
def test_stdin_of_boundary_sizes_is_forwarded(guest: Guest) -> None:
    for size in (1, 4095, 65_535, 65_536, 65_537, 300_000):
        text = "x" * (size // 3)
        outcome = guest.run(Exec(argv=("/bin/cat",)), stdin=text.encode(), limits=Limits(output_bytes=1_000_000))
        assert outcome.stdout.data() == text.encode()


@pytest.mark.parametrize("script", ["true", "(setsid sleep 1000 &); exit 3", "kill -9 $$"])
def test_the_end_of_all_processes_is_reported(guest: Guest, script: str) -> None:
    assert guest.shell(script).processes_ended


def test_it_is_also_reported_after_a_timeout(guest: Guest) -> None:
    assert guest.shell("trap '' TERM; (setsid sleep 1000 &); sleep 1000", timeout_ms=200).processes_ended


@pytest.mark.parametrize(
    "script",
    [
        "trap '' TERM; (setsid sleep 1000 &); echo go; sleep 1000",
        "echo go; yes",
        "echo go; for i in $(seq 50); do yes | cat & done; wait",
    ],
    ids=["it ignores signals", "endless output", "many processes"],
)
def test_a_call_that_the_host_stops_ends_with_all_its_processes(guest: Guest, script: str) -> None:
    plan = Plan(profile=Profile(), invocation=Exec(argv=("/bin/sh", "-c", script)), call_id="c", env=(PATH,))
    received: list[object] = []
    with closing(NamespaceSandbox()) as sandbox, Cancellation() as cancellation:

        def listen(_: Stream, text: object) -> None:
            received.append(text)
            cancellation.cancel()

        outcome = converse(
            sandbox, plan, timeout_ms=100_000, cancellation=cancellation, on_progress=ignore_progress,
            on_output=listen, stops=True,
        )  # fmt: skip
        (supervisor,) = _children(sandbox.process.pid)
        assert _children(supervisor) == []
    assert (outcome.ending, outcome.processes_ended) == ("cancelled", True)
    assert outcome.stdout.data().startswith(b"go\n")
    assert len(received) == 1
    assert sandbox.error_output() == ""
