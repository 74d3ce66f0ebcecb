"""The runtime's process, which inherits only the stream."""

import ast
import os
import signal
import socket
import sys
from pathlib import Path

import pytest

from toolc.sandbox.oci.oci_sandbox import STREAM, RuntimeProcess, with_stream_setup

LOOK = f"""
import os
os.write({STREAM}, b"here")
found = [fd for fd in range(1000) if os.path.exists("/proc/self/fd/%d" % fd)]
os.write(2, repr([found, os.read(0, 9), dict(os.environ)]).encode())
os._exit(3)
"""


def descriptors() -> list[str]:
    """Return the descriptors of this process."""
    return sorted(each.name for each in Path("/proc/self/fd").iterdir())


def test_the_child_inherits_only_the_stream_and_stderr() -> None:
    read, write = os.pipe()
    ours, theirs = socket.socketpair()
    with ours, theirs, os.fdopen(read) as errors, socket.socket() as inheritable:
        inheritable.set_inheritable(True)
        process = RuntimeProcess([sys.executable, "-I", "-S", "-c", LOOK], theirs.fileno(), write)
        os.close(write)
        assert os.getsid(process.pid) == process.pid
        process.wait()
        process.wait()
        assert process.returncode == 3
        assert ours.recv(100) == b"here"
        found, received, environment = ast.literal_eval(errors.read())
    assert (found, received) == ([0, 1, 2, STREAM], b"")
    # Python's own, where it finds no locale.
    assert set(environment) <= {"LC_CTYPE"}


def test_a_killed_child_has_a_negative_return_code() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = RuntimeProcess(["/bin/sleep", "60"], theirs.fileno(), theirs.fileno())
        assert process.returncode is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == -signal.SIGKILL


def test_a_program_that_ignores_the_end_of_its_children_sees_the_end_of_the_runtime() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = RuntimeProcess(["/bin/sleep", "60"], theirs.fileno(), theirs.fileno())
            assert not process.wait(os.WNOHANG)
            os.kill(process.pid, signal.SIGKILL)
            assert process.wait()
        assert process.returncode == 0
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_missing_runtime_leaks_no_descriptor() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        before = descriptors()
        with pytest.raises(FileNotFoundError):
            RuntimeProcess(["/no/such/runtime"], theirs.fileno(), theirs.fileno())
        assert descriptors() == before


def test_the_program_first_sets_up_the_stream() -> None:
    *options, program, word = with_stream_setup(("-I", "-S", "-c", "print('said')", "network"))
    assert (options, word) == (["-I", "-S", "-c"], "network")
    assert program.index("os.dup2") < program.index("os.write(1, b'.')") < program.index("print('said')")
    compile(program, "<program>", "exec")
