"""A program's environment, folder, files, limits and signals, and the reasons that it cannot start."""

import base64

import pytest
from real_guest import Guest

from toolc.model.errors import SandboxDiedError
from toolc.model.plan import Exec, PythonCall
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar, Limits


def test_the_environment_is_exactly_that_of_the_plan(guest: Guest) -> None:
    env = (EnvVar(name="B", value="two words"), EnvVar(name="A", value="ümlaut\n"))
    outcome = guest.run(Exec(argv=("/usr/bin/env", "-0")), env=env)
    assert sorted(outcome.stdout.data().split(b"\0")) == [b"", "A=ümlaut\n".encode(), b"B=two words"]


def test_arguments_are_passed_unchanged(guest: Guest) -> None:
    words = ("", " ", "$(id)", "a\nb", "ü", "\udcff", "-n")
    outcome = guest.run(Exec(argv=("/usr/bin/printf", "%s\\0", *words)))
    assert outcome.stdout.data() == b"\0".join(word.encode("utf-8", "surrogateescape") for word in words) + b"\0"


def test_files_are_written_before_the_program_starts(guest: Guest) -> None:
    files = (
        File(path="script", text='cat /tool/a/b/data; cat "$0"\n'),
        File(path="a/b/data", base64=base64.b64encode(b"\x00\xff\n").decode()),
    )
    outcome = guest.run(Exec(argv=("/bin/sh", "/tool/script"), files=files))
    assert outcome.stdout.data() == b'\x00\xff\ncat /tool/a/b/data; cat "$0"\n'


def test_a_call_larger_than_a_pipe_arrives(guest: Guest) -> None:
    text = "0123456789abcdef" * 200_000
    outcome = guest.run(Exec(argv=("/usr/bin/wc", "-c", "/tool/big"), files=(File(path="big", text=text),)))
    assert outcome.stdout.text() == f"{len(text)} /tool/big\n"


def test_limits_cannot_be_raised(guest: Guest) -> None:
    code = (
        "import resource as r\n"
        "for which in r.RLIMIT_NOFILE, r.RLIMIT_FSIZE, r.RLIMIT_CORE: print(*r.getrlimit(which))\n"
        "try: r.setrlimit(r.RLIMIT_NOFILE, (65, 65))\n"
        "except ValueError as error: print(error)\n"
    )
    outcome = guest.program(code, limits=Limits(files=64, file_size_bytes=1000))
    assert outcome.stdout.text() == "64 64\n1000 1000\n1 1\nnot allowed to raise maximum limit\n"


def test_writing_a_file_that_is_too_large_fails(guest: Guest) -> None:
    outcome = guest.run(
        Exec(argv=("/bin/sh", "-c", "head -c 2000 /dev/zero > /tmp/x; wc -c < /tmp/x")),
        limits=Limits(file_size_bytes=1000),
    )
    assert outcome.stdout.text() == "1000\n"
    assert "File too large" in outcome.stderr.text()


def test_signals_have_their_defaults(guest: Guest) -> None:
    outcome = guest.run(Exec(argv=("/bin/cat", "/proc/self/status")))
    only_sigxfsz = 1 << (25 - 1)
    # 32 and 33 belong to the C library: a program cannot set them and inherits them.
    settable = ~(0b11 << (32 - 1))
    status = dict(line.split(":\t") for line in outcome.stdout.text().splitlines())
    found = [int(status[name], 16) & settable for name in ("SigBlk", "SigIgn", "SigCgt")]
    assert found == [0, only_sigxfsz, 0]


def test_the_program_has_a_lower_priority_and_its_own_session(guest: Guest) -> None:
    outcome = guest.shell("cat /proc/self/oom_score_adj; cut -d' ' -f1,6,19 /proc/$$/stat; cut -d' ' -f19 /proc/1/stat")
    adj, pid, session, nice, supervisor_nice = outcome.stdout.text().split()
    assert (adj, int(nice) - int(supervisor_nice)) == ("1000", min(10, 19 - int(supervisor_nice)))
    assert pid == session


NOT_STARTED = {
    "no such command": (("nosuch",), "command not found: nosuch"),
    "no such path": (("/no/such",), "command not found: /no/such"),
    "below a file": (("/usr/bin/env/x",), "command not found: /usr/bin/env/x"),
    "a folder": (("/usr",), "/usr: Permission denied"),
    "not executable": (("/tool/plain",), "/tool/plain: Permission denied"),
    "too much": (
        ("/bin/echo", *["x" * 100_000] * 40),
        "the arguments and environment are too long for a program; use stdin",
    ),
    "a NUL": (("/bin/echo", "a\0b"), "/bin/echo: embedded null byte"),
}


def not_started(outcome: Outcome) -> str:
    assert (outcome.ending, outcome.stdout.data(), outcome.stderr.data()) == ("not_started", b"", b"")
    return outcome.reason


@pytest.mark.parametrize(("argv", "reason"), NOT_STARTED.values(), ids=NOT_STARTED.keys())
def test_the_reason_that_a_program_cannot_start_is_reported(guest: Guest, argv: tuple[str, ...], reason: str) -> None:
    files = (File(path="plain", text="not executable"),)
    assert not_started(guest.run(Exec(argv=argv, files=files))) == reason


def test_without_a_path_the_default_folders_are_searched(guest: Guest) -> None:
    assert guest.run(Exec(argv=("echo", "hi")), env=()).stdout.data() == b"hi\n"


def test_only_the_path_of_the_plan_is_searched(guest: Guest) -> None:
    outcome = guest.run(Exec(argv=("echo", "hi")), env=(EnvVar(name="PATH", value="/tmp:/tool"),))
    assert not_started(outcome) == "command not found: echo"


PYTHON = PythonCall(entry="tool.py", function="run", arguments={}, files=())

NEVER_BEGAN = {
    "a file that cannot be written": (
        Exec(argv=("true",), files=(File(path="/proc/x", text=""),)),
        "/proc/x: No such file or directory",
    ),
    "files larger than the sandbox holds": (
        Exec(argv=("true",), files=(File(path="big", text="x" * (20 * 1024 * 1024)),)),
        "/tool: No space left on device",
    ),
    "no entry": (PYTHON, "/tool/tool.py: No such file or directory"),
    "a worker with a fault": (
        Exec(argv=("true",), files=(File(path="x", base64="!"), File(path="x", base64="A"))),
        "Error: Invalid base64-encoded string: number of data characters (1) cannot be 1 more than a multiple of 4",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("invocation", "reason"), NEVER_BEGAN.values(), ids=NEVER_BEGAN.keys())
def test_an_error_before_the_call_is_not_a_result_of_the_tool(
    guest: Guest, invocation: Exec | PythonCall, reason: str
) -> None:
    with pytest.raises(SandboxDiedError) as raised:
        guest.run(invocation)
    assert str(raised.value) == f"the sandbox could not start the call: {reason}"


@pytest.mark.slow
def test_a_call_beyond_the_limit_of_the_protocol_is_not_started(guest: Guest) -> None:
    outcome = guest.run(Exec(argv=("true",), files=(File(path="big", text="x" * (65 * 1024 * 1024)),)))
    assert not_started(outcome).startswith("the call's arguments and files have 68")
