"""What sandboxes of runc and of Docker have in common."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from engines import set_id_cases
from engines.configurations import configured
from engines.sandbox_output import output, workspace

from toolc.model.plan import Profile
from toolc.sandbox.interface import Engine, EngineSandbox


@pytest.fixture(scope="module", params=["docker", "oci root"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with closing(configured(request.param)) as engine:
        yield engine


def start(engine: Engine, program: str, profile: Profile | None = None) -> EngineSandbox:
    return engine.start(profile or Profile(), ["-I", "-S", "-c", program])


def run(engine: Engine, program: str, profile: Profile | None = None) -> str:
    with closing(start(engine, program, profile)) as sandbox:
        return output(sandbox)


@pytest.mark.parametrize("owner", [0, 1234])
def test_set_user_id_files_cannot_be_created(engine: Engine, tmp_path: Path, owner: int) -> None:
    os.chown(tmp_path, owner, owner)
    set_id_cases.check(run(engine, set_id_cases.PROGRAM, Profile(workspace=workspace(tmp_path))))


def test_concurrent_starts(engine: Engine, tmp_path: Path) -> None:
    profile = Profile(workspace=workspace(tmp_path))
    with closing(type(engine)()) as other, ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda number: run((engine, other)[number % 2], f"print({number})", profile), range(8))
    assert [*found] == [f"{number}\n" for number in range(8)]


def test_system_calls_that_are_not_listed_fail(engine: Engine) -> None:
    program = """
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *arguments):
    libc.syscall(number, *arguments)
    print(name, errno.errorcode.get(ctypes.get_errno()))
    ctypes.set_errno(0)
call("unshare", 272, 0x10000000)
call("mount", 165, b"none", b"/tmp", b"tmpfs", 0, 0)
call("ptrace", 101, 0, 0, 0, 0)
call("keyctl", 250, 0, 0, 0, 0, 0)
call("bpf", 321, 0, 0, 0)
call("perf_event_open", 298, 0, 0, 0, 0, 0)
call("userfaultfd", 323, 0)
call("io_uring_setup", 425, 1, 0)
call("clone newuser", 56, 0x10000000 | 17, 0, 0, 0, 0)
call("clone3", 435, 0, 0)
call("setns", 308, 0, 0)
call("clock_settime", 227, 0, 0)
call("process_vm_readv", 310, 1, 0, 0, 0, 0, 0)
for family in (16, 17, 38, 40):
    try: socket.socket(family, socket.SOCK_RAW, 16)
    except OSError as error: print(family, errno.errorcode[error.errno])
for family in (2, 30, 40):
    try: socket.socketpair(family)
    except OSError as error: print(family, errno.errorcode[error.errno])
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86-64")
    lines = run(engine, program).splitlines()
    assert [line for line in lines if not line.endswith(" EPERM")] == ["clone3 ENOSYS"]
    assert len(lines) == 20


def test_the_stream_carries_any_bytes_in_both_directions(engine: Engine) -> None:
    program = "import os\nwhile data := os.read(0, 65536): os.write(1, data)"
    sandbox = start(engine, program)
    sent = bytes(range(256)) * 4096
    left, got = memoryview(sent), b""
    deadline = time.monotonic() + 60
    while len(got) < len(sent) and time.monotonic() < deadline:
        left = left[sandbox.write(left) :]
        got += sandbox.read() or b""
    sandbox.close()
    assert got == sent
    assert (sandbox.read(), sandbox.write(b"late")) == (b"", 4)


def test_stderr_is_kept_up_to_4_kib(engine: Engine) -> None:
    sandbox = start(engine, "import os; os.write(2, b'why' + b'!' * 10_000)")
    assert output(sandbox) == ""
    assert sandbox.error_output() == "why" + "!" * 4093
    sandbox.close()
