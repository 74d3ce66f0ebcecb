"""One live sandbox of the oci engine: a runtime in the foreground, and the stream to what it runs.

The runtime is never killed first: it removes its state and control groups when its process 1 has ended, and
that ends when the stream does. So closing is: end the stream, wait half a second, kill process 1, and
only if all of that failed the runtime too, with ``oci_sweep`` doing its work.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from toolc.model.errors import InfrastructureError, NoPythonError
from toolc.sandbox.base import NO_PYTHON, ImageUsed, SocketStream
from toolc.sandbox.host import cgroups
from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE, kernel_kills, oom_kill_possible
from toolc.sandbox.oci.sweep import sweep, sweep_until_gone

STREAM: Final = 3
"""The first descriptor that a runtime can be told to pass on."""

RUN_OPTIONS: Final = ("--preserve-fds", "1")
"""What tells it to."""

_TAKE_STREAM: Final = "import os\nos.dup2(3, 0)\nos.dup2(3, 1)\nos.close(3)\n"


def taking_stream(arguments: Sequence[str]) -> tuple[str, ...]:
    """Python's ``arguments``, whose program (after ``-c``) first makes the stream its stdin and stdout."""
    program = arguments.index("-c") + 1
    # As a program of its own: its first statements may have to be the first.
    taken = f"{_TAKE_STREAM}exec({arguments[program]!r})"
    return (*arguments[:program], taken, *arguments[program + 1 :])


class RuntimeProcess:
    """A child process in a session of its own. ``returncode`` is as ``subprocess`` has it, None until ``wait``."""

    def __init__(self, command: Sequence[str], stream: int, errors: int) -> None:
        """Start ``command`` with an empty environment. Raises ``OSError``.

        What a terminal or a supervisor sends to our group must not reach it: hence the session.
        """
        self.returncode: int | None = None
        # Out of the way of the numbers that they are about to get.
        stream, errors = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, STREAM + 1) for each in (stream, errors))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        places = ((null, 0), (null, 1), (errors, 2), (stream, STREAM))
        actions = [(os.POSIX_SPAWN_DUP2, each, number) for each, number in places]
        try:
            self.pid = os.posix_spawn(
                command[0],
                [*command],
                {},
                file_actions=[*((os.POSIX_SPAWN_CLOSE, each) for each in _inheritable()), *actions],
                setsid=True,
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
            )
        finally:
            for each in (stream, errors, null):
                os.close(each)

    def wait(self) -> None:
        """Wait for its end."""
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _inheritable() -> Iterator[int]:
    """The descriptors that a child would get beside those it is given; Python's own are none of them (PEP 446)."""
    for name in (each.name for each in Path("/proc/self/fd").iterdir()):
        # The one that lists them is gone by now.
        with suppress(OSError):
            if int(name) > STREAM and os.get_inheritable(int(name)):
                yield int(name)


START_SECONDS: Final = 30.0
"""How long the runtime may take until process 1 runs."""

CLOSE_SECONDS: Final = 0.5
"""How long process 1 and the runtime may take to end by themselves, once their stream has."""

KILL_SECONDS: Final = 2.0
"""How long each of what follows may take: to kill process 1, then all its control groups, then the runtime."""

GIVE_UP_SECONDS: Final = 10.0
"""How long processes that were killed may take to die, and their control groups to become removable."""

POLL_MS: Final = 2

COMPLAINT_BYTES: Final = 4096
KILLED: Final = 128 + signal.SIGKILL


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPaths:
    """What one sandbox is called, and where the runtime keeps what about it.

    ``memory_events`` is the kernel's file of counters for it, None where its memory is not limited.
    """

    name: str
    runtime: str
    state: Path
    bundle: Path
    pid_file: Path
    memory_events: Path | None
    image: ImageUsed | None = None

    def command(self) -> list[str]:
        """The command that runs the sandbox until it is over."""
        options = ["--bundle", str(self.bundle), "--pid-file", str(self.pid_file), *RUN_OPTIONS]
        return [self.runtime, "--root", str(self.state), "run", *options, self.name]


Launch: TypeAlias = Callable[[Callable[[], RuntimeProcess]], RuntimeProcess]
"""Calls what it is given, in this mount namespace or in another."""


class OciSandbox(SocketStream):
    """A sandbox as ``toolc.sandbox.base.EngineSandbox`` has it."""

    def __init__(self, place: SandboxPaths, user: str, launch: Launch) -> None:
        """Start it and wait until its process 1 runs. Raises ``InfrastructureError``; then nothing is left."""
        self._place = place
        self._user = user
        self._lock = threading.Lock()
        self._closed = False
        self._killed = False
        self._out_of_memory = False
        self._memory_events = place.memory_events
        self._kernel_kills = kernel_kills()
        self._created = time.perf_counter()
        ours, theirs = socket.socketpair()
        super().__init__(ours)
        read, write = os.pipe()
        self._errors = _BoundedPipe(read)
        try:
            self._runtime = launch(lambda: RuntimeProcess(place.command(), theirs.fileno(), write))
        except OSError as error:
            super().close()
            self._errors.close()
            raise InfrastructureError(f"the oci engine cannot start {place.runtime}: {error}") from error
        finally:
            theirs.close()
            os.close(write)
        self._runtime_fd = os.pidfd_open(self._runtime.pid)
        self._init_fd = -1
        self._await_start()

    @property
    def user(self) -> str:
        """The tool's uid and gid inside."""
        return self._user

    @property
    def image(self) -> ImageUsed | None:
        """The image that its root is, None where it is the host's own programs."""
        return self._place.image

    @property
    def created(self) -> float:
        """When all was ready for the runtime, which makes the rest and starts it in one step."""
        return self._created

    def out_of_memory(self) -> bool:
        """Whether the kernel killed anything in here for want of memory."""
        with self._lock:
            return self._out_of_memory if self._closed else self._ran_out_of_memory()

    def complaint(self) -> str:
        """The runtime's own error if it had one, else what the guest said on its error stream."""
        self._errors.drain()
        said = _message(self._errors.text())
        if self._killed_by_nobody() and not self.out_of_memory():
            said = f"{said}\n{KILLED_FROM_OUTSIDE}".lstrip()
        return said

    def close(self) -> None:
        """End the sandbox and wait until it is gone. Raises ``InfrastructureError`` if it cannot be ended."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._out_of_memory = self._ran_out_of_memory()
            super().close()
            self._end()

    def _await_start(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._place.pid_file.exists() and time.monotonic() < deadline:
            if self._wait_for_exit(POLL_MS / 1000):
                break
        if self._place.pid_file.exists():
            with contextlib.suppress(ProcessLookupError):
                self._init_fd = os.pidfd_open(int(self._place.pid_file.read_text(encoding="utf-8")))
            return
        late = self._runtime.returncode is None
        self.close()
        if not late and re.search(NO_PYTHON, self.complaint()):
            raise NoPythonError("the image has no python3 that starts")
        reason = f"nothing happened for {START_SECONDS:.0f} s" if late else self.complaint() or "no reason given"
        raise InfrastructureError(f"the oci engine could not start a sandbox: {reason}")

    def _ran_out_of_memory(self) -> bool:
        if self._memory_events is not None:
            kills = cgroups.oom_kills(self._memory_events)
            if kills is not None:
                return kills > 0
            # Its group is gone, so the runtime is about to exit.
            self._wait_for_exit(CLOSE_SECONDS)
        return self._killed_by_nobody() and oom_kill_possible(self._kernel_kills)

    def _killed_by_nobody(self) -> bool:
        # Only from outside can process 1 be killed.
        return self._runtime.returncode == KILLED and not self._killed

    def _end(self) -> None:
        if not self._wait_for_exit(CLOSE_SECONDS):
            self._kill()
        # Normally the runtime has removed both; one that was killed by somebody else has not.
        groups = self._memory_events.parent if self._memory_events else None
        if (self._place.state / self._place.name).exists() or (groups and groups.exists()):
            self._sweep()
        os.close(self._runtime_fd)
        if self._init_fd >= 0:
            os.close(self._init_fd)
        self._errors.close()
        self._place.pid_file.unlink(missing_ok=True)

    def _kill(self) -> None:
        self._killed = True
        if self._init_fd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)
            if self._wait_for_exit(KILL_SECONDS):
                return
        sweep(self._place.name)
        if not self._wait_for_exit(KILL_SECONDS):
            os.killpg(self._runtime.pid, signal.SIGKILL)
            self._wait_for_exit(KILL_SECONDS)
        self._sweep()

    def _sweep(self) -> None:
        if not sweep_until_gone(self._place.name, GIVE_UP_SECONDS):
            raise InfrastructureError("a sandbox's processes cannot be killed: they hang in the kernel")
        remove_tree(self._place.state / self._place.name)

    def _wait_for_exit(self, seconds: float) -> bool:
        """Whether the runtime exited within this time; meanwhile nothing blocks on its error stream."""
        deadline = time.monotonic() + seconds
        poller = select.poll()
        poller.register(self._runtime_fd, select.POLLIN)
        poller.register(self._errors.fd, select.POLLIN)
        while True:
            ready = dict(poller.poll(max(deadline - time.monotonic(), 0) * 1000))
            if self._errors.fd in ready and not self._errors.drain():
                poller.unregister(self._errors.fd)
            if self._runtime_fd in ready:
                self._runtime.wait()
                self._errors.drain()
                return True
            if time.monotonic() >= deadline:
                return False


class _BoundedPipe:
    """The reading end of an error stream: what came first is kept, the rest is read and dropped."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._kept = b""

    def drain(self) -> bool:
        """Read what is there; False once the stream has ended."""
        if self.fd < 0:
            return False
        with contextlib.suppress(BlockingIOError):
            # One pipe's worth at a time: who never stops writing must not keep us here.
            data = os.read(self.fd, 64 * 1024)
            self._kept = (self._kept + data)[:COMPLAINT_BYTES]
            return data != b""
        return True

    def text(self) -> str:
        """What was kept, at most 4 KiB."""
        return self._kept.decode("utf-8", "replace").strip()

    def close(self) -> None:
        os.close(self.fd)
        self.fd = -1


def _message(text: str) -> str:
    """The first error in the runtime's own log lines, without their frame; else the text as it is."""
    # The first is the cause, what follows is what failed because of it.
    found = re.search(r'level=(?:error|fatal) msg="((?:[^"\\]|\\.)*)"', text)
    return found[1].replace('\\"', '"').replace("\\\\", "\\") if found else text
