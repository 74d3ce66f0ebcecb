"""``Executor.sandbox`` on each engine: processes, files and their limits in a real sandbox."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from traceback import walk_tb

import pytest
from calls.tcp_server import tcp
from engines.configurations import configured
from engines.waiting_sandboxes import until

from toolc import ExecResult, Executor, Registry, Sandbox, SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.sandbox.interface import Engine

PROFILE: JsonObject = {"workspace": "rw", "limits": {"timeout": "60s"}}

OWNER = """
import sys, time
from toolc import Executor, Registry
executor = Executor(Registry(), engine=sys.argv[1], pool=None)
sandbox = executor.sandbox({})
sandbox.start(["/bin/sh", "-c", "setsid sleep 98765 & sleep 98765"])
while sandbox.exec(["/bin/sh", "-c", "grep -lx sleep /proc/[0-9]*/comm | wc -l"]).stdout != b"2\\n":
    time.sleep(0.05)
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.fixture(scope="module", params=["oci root", "docker"])
def any_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    engine = configured(request.param)
    yield engine
    engine.close()


@pytest.fixture
def sandbox(any_engine: Engine, tmp_path: Path) -> Iterator[Sandbox]:
    with Executor(Registry(), engine=any_engine, workspace=tmp_path) as executor, executor.sandbox(PROFILE) as opened:
        yield opened


def shell(sandbox: Sandbox, script: str, **options: object) -> ExecResult:
    return sandbox.exec(["/bin/sh", "-c", script], **options)  # type: ignore[arg-type]


def test_commands_run_in_parallel_in_one_workspace(sandbox: Sandbox, tmp_path: Path) -> None:
    shell(sandbox, "mkfifo /tmp/pipe")
    with ThreadPoolExecutor(17) as threads:
        reader = threads.submit(shell, sandbox, "cat /tmp/pipe")
        others = [threads.submit(shell, sandbox, f"echo {number} > file{number}") for number in range(15)]
        assert [other.result().exit_code for other in others] == [0] * 15
        assert shell(sandbox, "echo met > /tmp/pipe").exit_code == 0
        assert reader.result().stdout == b"met\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(f"file{number}" for number in range(15))


def test_stdin_and_stdout_are_binary(sandbox: Sandbox) -> None:
    data = os.urandom(200_000)
    result = shell(sandbox, "cat; head -c 3 /dev/zero >&2", stdin=data)
    assert (result.stdout, result.stderr) == (data, b"\0\0\0")


def test_huge_output_is_limited_and_passed_on(sandbox: Sandbox) -> None:
    sizes: list[int] = []
    script = "echo begin; head -c 50000000 /dev/zero; echo end"
    result = shell(sandbox, script, on_output=lambda _, data: sizes.append(len(data)))
    assert (sum(sizes), len(result.stdout), result.truncated) == (50_000_010, 256 * 1024, True)
    assert (result.stdout[:6], result.stdout[-4:]) == (b"begin\n", b"end\n")


def test_the_time_limit_kills_all_descendants(sandbox: Sandbox) -> None:
    script = "trap '' TERM; setsid sh -c 'setsid sleep 4321 & sleep 4321' & (sleep 4321 &) ; echo begun; sleep 4321"
    seconds = 1
    while not (result := shell(sandbox, script, timeout=seconds)).stdout:
        seconds *= 10  # a machine that stalls may leave no time to begin
    assert (result.timed_out, result.stdout) == (True, b"begun\n")
    found = shell(sandbox, "grep -l '^sleep$' /proc/[0-9]*/comm")
    assert (found.stdout, shell(sandbox, "echo alive").stdout) == (b"", b"alive\n")


def test_files_have_any_name_and_content(sandbox: Sandbox, tmp_path: Path) -> None:
    name = "new/with space\n'\"$(x)\udcff"
    sandbox.write_file(name, b"\0\xff\r\n")
    assert sandbox.read_file(name) == b"\0\xff\r\n"
    assert (tmp_path / name).read_bytes() == b"\0\xff\r\n"
    assert [(each.name, each.type, each.size) for each in sandbox.list("new")] == [(name[4:], "file", 4)]
    sandbox.remove("new", recursive=True)
    assert not (tmp_path / "new").exists()


def test_a_folder_with_many_nested_folders_is_removed(sandbox: Sandbox, tmp_path: Path) -> None:
    sandbox.write_file(f"deep/{'d/' * 300}file", b"text")
    assert shell(sandbox, f"test -s deep/{'d/' * 300}file").exit_code == 0
    sandbox.remove("deep", recursive=True)
    assert not (tmp_path / "deep").exists()


def test_a_link_out_of_the_workspace_ends_in_the_sandbox(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path.parent / "secret-of-the-host"
    secret.write_text("secret", encoding="utf-8")
    (tmp_path / "absolute").symlink_to(secret)
    (tmp_path / "relative").symlink_to("../secret-of-the-host")
    (tmp_path / "passwd").symlink_to("/etc/passwd")
    for name in ("absolute", "relative"):
        with pytest.raises(FileNotFoundError):
            sandbox.read_file(name)
        with pytest.raises(OSError, match=r"Permission denied|Read-only|No such file"):
            sandbox.write_file(name, "changed")
    assert secret.read_text(encoding="utf-8") == "secret"
    assert sandbox.read_file("passwd") == sandbox.read_file("/etc/passwd") != Path("/etc/passwd").read_bytes()


def test_a_terminal_is_available(sandbox: Sandbox) -> None:
    from toolc.runtime.sessions.programs import TerminalSize

    program = sandbox.start(["/bin/sh", "-c", "stty size; test -t 0 && exit 3"], terminal=TerminalSize(40, 100))
    printed = b""

    def on_output(_: str, data: bytes) -> None:
        nonlocal printed
        printed += data

    assert (program.wait(on_output).exit_code, printed) == (3, b"40 100\r\n")


def test_no_capability_and_no_new_privileges(sandbox: Sandbox) -> None:
    status = sandbox.exec(["cat", "/proc/self/status"]).stdout
    assert b"CapEff:\t0000000000000000\n" in status
    assert b"NoNewPrivs:\t1\n" in status


def test_memory_and_processes_are_limited(any_engine: Engine) -> None:
    profile: JsonObject = {"limits": {"memory": "64MiB", "tmp": "16MiB", "pids": 32}}
    with Executor(Registry(), engine=any_engine) as executor, executor.sandbox(profile) as sandbox:
        grown = sandbox.exec(["python3", "-c", "x = bytearray(200_000_000)"])
        assert (grown.out_of_memory, grown.exit_code) == (True, 137)
        killed = sandbox.exec(["sh", "-c", "kill -9 $$"])
        assert (killed.out_of_memory, killed.exit_code) == (False, 137)
        assert shell(sandbox, "for i in $(seq 100); do sleep 100 & done").exit_code != 0
        assert sandbox.exec(["true"]).exit_code in {0, 126}


def test_only_allowed_destinations_are_reached(any_engine: Engine) -> None:
    with (
        tcp(lambda connection: connection.sendall(b"hello")) as port,
        Executor(Registry(), engine=any_engine) as executor,
    ):
        allowed: JsonObject = {"network": {"allow": [f"localhost:{port}"]}}
        script = f"import socket; print(socket.create_connection(('localhost', {port})).recv(5))"
        with executor.sandbox(allowed) as sandbox:
            assert sandbox.exec(["python3", "-c", script]).stdout == b"b'hello'\n"
            assert isinstance(sandbox.details["network"], list)
        with executor.sandbox({}) as sandbox:
            assert b"Error" in sandbox.exec(["python3", "-c", script]).stderr


def test_a_killed_owner_leaves_nothing(any_engine: Engine) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, any_engine.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        try:
            assert owner.stdout.readline() == b"ready\n"
            assert _sleeping()
        finally:
            owner.kill()
    until(lambda: not _sleeping())


def _sleeping() -> bool:
    """Return whether a process of ``OWNER``'s sandbox exists on this host."""
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if process.read_bytes() == b"sleep\x0098765\0":
                return True
        except OSError:
            continue
    return False


def test_a_program_that_kills_everything_ends_only_its_sandbox(any_engine: Engine) -> None:
    with Executor(Registry(), engine=any_engine) as executor, executor.sandbox({}) as other:
        with executor.sandbox({}) as sandbox, pytest.raises(SandboxDiedError):
            shell(sandbox, "kill -9 -1; sleep 100")
        assert shell(other, "echo alive").stdout == b"alive\n"


def test_each_call_of_a_dead_sandbox_has_its_own_error(any_engine: Engine) -> None:
    with Executor(Registry(), engine=any_engine) as executor, executor.sandbox({}) as sandbox:
        errors = []
        for _ in range(4):
            with pytest.raises(SandboxDiedError) as raised:
                shell(sandbox, "kill -9 -1; sleep 100")
            errors.append(raised.value)
    assert len({*map(id, errors)}) == 4
    # Frames that an earlier raise added would keep the data of its call in memory.
    assert len({len([*walk_tb(error.__traceback__)]) for error in errors[1:]}) == 1
