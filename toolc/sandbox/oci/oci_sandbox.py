"""One live sandbox of the oci engine: a runtime in the foreground and the stream to its process 1.

The runtime is never killed first, because it removes its state and control groups when process 1 has ended, and process
1 ends when the stream does. To close a sandbox, end the stream, wait half a second, and kill process 1. Only if all of
that fails, kill the runtime, and remove what it leaves with ``toolc.sandbox.oci.sweep``.
"""

import contextlib
import fcntl
import os
import re
import select
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolc.dataclass import dataclass
from toolc.guest.bundle import prepare_bundle
from toolc.model.errors import InfrastructureError, NoPythonError, raise_shortage
from toolc.sandbox.host import cgroups
from toolc.sandbox.host.janitor_process import remove_tree
from toolc.sandbox.host.kernel import KILLED_FROM_OUTSIDE, kernel_kills, oom_kill_possible
from toolc.sandbox.host.mounts import in_own_mount_namespace
from toolc.sandbox.interface import NO_PYTHON, ImageUsed, SocketStream
from toolc.sandbox.oci.sweep import sweep, sweep_until_gone

STREAM: Final = 3
"""The first descriptor that a runtime can pass on."""

RUN_OPTIONS: Final = ("--preserve-fds", "1")
"""The options that make the runtime pass on this descriptor."""

STARTED: Final = b"."
"""The first byte on the stream, which means that process 1 runs."""

_SET_STREAM: Final = f"import os\nos.dup2(3, 0)\nos.dup2(3, 1)\nos.close(3)\nos.write(1, {STARTED!r})\n"

START_SECONDS: Final = 30.0
"""How long the runtime may take to start process 1, in seconds."""

CLOSE_SECONDS: Final = 0.5
"""How long process 1 and the runtime may run after their stream has ended, in seconds. Then they are killed.

A working guest ends within milliseconds.
"""

KILL_SECONDS: Final = 2.0
"""How long each further step (killing process 1, its control groups, then the runtime) may take, in seconds.

The kernel ends a killed process within milliseconds, unless the process hangs.
"""

GIVE_UP_SECONDS: Final = 10.0
"""How long killed processes may take to end and release their control groups, in seconds.

A process that hangs longer may hang forever, and the caller must know.
"""

POLL_MS: Final = 2
"""How long to wait between checks for the runtime's file, or for its end without a descriptor, in milliseconds.

A shorter wait would take processor time from the runtime.
"""

ERROR_BYTES: Final = 4096
"""How many bytes of the error output are kept. A traceback of the guest fits."""

KILLED: Final = 128 + signal.SIGKILL


def with_stream_setup(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return Python's ``arguments`` with a program (after ``-c``) that first makes the stream its stdin and stdout.

    The program then reports that it has started.
    """
    program = arguments.index("-c") + 1
    # The original program is run by exec, because some statements must be the first ones of a program.
    wrapped = f"{_SET_STREAM}exec({arguments[program]!r})"
    return (*arguments[:program], wrapped, *arguments[program + 1 :])


class RuntimeProcess:
    """A child process in a new session. ``returncode`` is as in ``subprocess``, and None until ``wait``."""

    def __init__(self, command: Sequence[str], stream: int, errors: int) -> None:
        """Start ``command`` with an empty environment. Raises ``OSError``.

        In its new session, it does not get the signals that a terminal or supervisor sends to this process group.
        """
        self.returncode: int | None = None
        with contextlib.ExitStack() as opened:

            def opening(descriptor: int) -> int:
                opened.callback(os.close, descriptor)
                return descriptor

            # Move them away from the descriptor numbers that are assigned below.
            stream, errors = (
                opening(fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, STREAM + 1)) for each in (stream, errors)
            )
            null = opening(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
            places = ((null, 0), (null, 1), (errors, 2), (stream, STREAM))
            actions = [(os.POSIX_SPAWN_DUP2, each, number) for each, number in places]
            self.pid = os.posix_spawn(
                command[0],
                [*command],
                {},
                file_actions=[*((os.POSIX_SPAWN_CLOSE, each) for each in _inheritable()), *actions],
                setsid=True,
                setsigdef=(signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ),
            )

    def wait(self, options: int = 0) -> bool:
        """Wait until the process ends, or do not wait with ``os.WNOHANG``. Return whether it has ended."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                # The embedding program ignores SIGCHLD, or waits for every child. Like ``subprocess``, assume 0.
                pid, status = self.pid, 0
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode is not None


@dataclass(frozen=True, slots=True)
class SandboxPaths:
    """The name of one sandbox, and the paths of its files.

    ``mount_point`` is for a workspace that is mounted only for this sandbox. ``memory_events`` is the kernel's file
    with its memory counters, or None if its memory is not limited. ``fork_setup`` is the first message to a fork server
    and empty for other sandboxes. ``process_events`` is the file that counts its refused processes, or None if their
    number is not limited.
    """

    name: str
    runtime: str
    state: Path
    bundle: Path
    pid_file: Path
    mount_point: Path
    memory_events: Path | None
    image: ImageUsed | None = None
    fork_setup: bytes = b""
    process_events: Path | None = None

    def command(self) -> list[str]:
        """Return the command that runs the sandbox until it ends."""
        options = ["--bundle", str(self.bundle), "--pid-file", str(self.pid_file), *RUN_OPTIONS]
        return [self.runtime, "--root", str(self.state), "run", *options, self.name]


def _inheritable() -> Iterator[int]:
    """Yield the open descriptors that a child would inherit. Those that Python opens are not inheritable (PEP 446)."""
    for name in (each.name for each in Path("/proc/self/fd").iterdir()):
        # The descriptor that listed the folder is closed by now.
        with suppress(OSError):
            if int(name) > STREAM and os.get_inheritable(int(name)):
                yield int(name)


class OciSandbox(SocketStream):
    """An ``EngineSandbox`` (see ``toolc.sandbox.interface``) that is run by runc."""

    def __init__(self, paths: SandboxPaths, user: str, tree: int | None = None) -> None:
        """Start the sandbox and wait until process 1 runs. Raises ``InfrastructureError``, and leaves nothing behind.

        ``tree`` is a detached mount of the workspace that the runtime finds at ``paths.mount_point``.
        """
        self.user = user
        self.image = paths.image
        self._paths = paths
        self._lock = threading.Lock()
        self._closed = self._ended = False
        self._killed = False
        self._out_of_memory = False
        self._memory_events = paths.memory_events
        self._kernel_kills = kernel_kills()
        self._runtime_fd = self._init_fd = -1
        self.created = time.perf_counter()
        try:
            self._launch(tree)
            prepare_bundle()
            self._await_start()
        except OSError as error:
            raise_shortage(error)
            raise InfrastructureError(f"the oci engine cannot start {paths.runtime}: {error}") from error

    def _launch(self, tree: int | None) -> None:
        """Start the runtime. Raises ``OSError``, and leaves nothing behind."""
        with contextlib.ExitStack() as undo, contextlib.ExitStack() as theirs:
            ours, stream = socket.socketpair()
            theirs.callback(stream.close)
            super().__init__(ours)
            undo.callback(super().close)
            read, write = os.pipe()
            theirs.callback(os.close, write)
            self._errors = _BoundedPipe(read)
            undo.callback(self._errors.close)

            def spawn() -> RuntimeProcess:
                return RuntimeProcess(self._paths.command(), stream.fileno(), write)

            target = self._paths.mount_point
            self._runtime = spawn() if tree is None else in_own_mount_namespace(tree, target, spawn)
            undo.pop_all()

    @property
    def process(self) -> int:
        """A descriptor of process 1 (pidfd_open(2)), or -1 before ``await_process`` or after the end of the process."""
        return self._init_fd

    def await_process(self) -> int:
        """Wait until the runtime has written the id of process 1, and return ``process``.

        Process 1 may report that it runs before the runtime has written the id.
        """
        deadline = time.monotonic() + START_SECONDS
        while self._init_fd < 0 and time.monotonic() < deadline:
            self._open_init()
            if self._init_fd < 0 and self._wait_for_exit(POLL_MS / 1000):
                break
        return self._init_fd

    def out_of_memory(self) -> bool:
        """Return whether the kernel killed a process in the sandbox because memory ran out."""
        with self._lock:
            return self._out_of_memory if self._closed else self._ran_out_of_memory()

    def memory_kills(self) -> int:
        """Return how many processes of the sandbox the kernel has killed for lack of memory. After its end, 0 or 1."""
        if self._memory_events is not None and (kills := cgroups.oom_kills(self._memory_events)) is not None:
            return kills
        return int(self.out_of_memory())

    def error_output(self) -> str:
        """Return the runtime's own error if there was one, otherwise the guest's error output."""
        self._errors.drain()
        output = _first_error(self._errors.text())
        if self._killed_unexpectedly() and not self.out_of_memory():
            output = f"{output}\n{KILLED_FROM_OUTSIDE}".lstrip()
        return output

    def close(self) -> None:
        """Stop the sandbox and wait until it has exited. Raises ``InfrastructureError`` if it cannot be stopped.

        A repeated call tries again.
        """
        with self._lock:
            if self._ended:
                return
            is_first, self._closed = not self._closed, True
            try:
                if is_first:
                    self._out_of_memory = self._ran_out_of_memory()
            finally:
                super().close()
                self._end()
                self._ended = True

    def stop(self) -> None:
        """Stop the sandbox as ``close`` does, but leave the descriptors open, because its owner may use them.

        The owner sees the end of its stream, and must still call ``close``. Raises ``InfrastructureError``.
        """
        with self._lock:
            if not self._closed:
                self.shut_down()
                if not self._wait_for_exit(CLOSE_SECONDS):
                    self._kill()

    def _await_start(self) -> None:
        """Wait until process 1 runs. Raises ``InfrastructureError`` or ``OSError``, and leaves nothing behind."""
        try:
            self._runtime_fd = os.pidfd_open(self._runtime.pid)
            if self._has_started():
                self._open_init()
                return
        except OSError:
            self.close()
            raise
        late = self._runtime.returncode is None
        self.close()
        if not late and re.search(NO_PYTHON, self.error_output()):
            raise NoPythonError("the image has no python3 that can be started")
        reason = f"nothing happened for {START_SECONDS:.0f} s" if late else self.error_output() or "it gave no reason"
        raise InfrastructureError(f"the oci engine could not start a sandbox: {reason}")

    def _has_started(self) -> bool:
        """Wait for the first byte of process 1. Return False if the runtime ends first, or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        poller = select.poll()
        for fd in (self.fileno(), self._runtime_fd, self._errors.fd):
            poller.register(fd, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            ready = dict(poller.poll(left * 1000))
            if self._errors.fd in ready and not self._errors.drain():
                poller.unregister(self._errors.fd)
            if self.fileno() in ready:
                if self._socket.recv(len(STARTED)):
                    return True
                poller.unregister(self.fileno())
            if self._runtime_fd in ready and self._runtime.wait(os.WNOHANG):
                self._errors.drain()
                return False
        return False

    def _open_init(self) -> None:
        """Get a descriptor of process 1, if the runtime has written its id."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            self._init_fd = os.pidfd_open(int(self._paths.pid_file.read_text(encoding="utf-8")))

    def _ran_out_of_memory(self) -> bool:
        if self._memory_events is not None:
            kills = cgroups.oom_kills(self._memory_events)
            if kills is not None:
                return kills > 0
            # Its group was removed, so the runtime is about to exit.
            self._wait_for_exit(CLOSE_SECONDS)
        return self._killed_unexpectedly() and oom_kill_possible(self._kernel_kills)

    def _killed_unexpectedly(self) -> bool:
        # Process 1 can only be killed from outside.
        return self._runtime.returncode == KILLED and not self._killed

    def _end(self) -> None:
        if not self._wait_for_exit(CLOSE_SECONDS):
            self._kill()
        # Normally the runtime has removed both, but not if another process killed it.
        groups = self._memory_events.parent if self._memory_events else None
        if (self._paths.state / self._paths.name).exists() or (groups and groups.exists()):
            self._sweep()
        for each in (self._runtime_fd, self._init_fd):
            if each >= 0:
                os.close(each)
        self._errors.close()
        self._paths.pid_file.unlink(missing_ok=True)

    def _kill(self) -> None:
        self._killed = True
        if self._init_fd < 0:
            self._open_init()
        if self._init_fd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init_fd, signal.SIGKILL)
            if self._wait_for_exit(KILL_SECONDS):
                return
        sweep(self._paths.name)
        if not self._wait_for_exit(KILL_SECONDS):
            os.killpg(self._runtime.pid, signal.SIGKILL)
            self._wait_for_exit(KILL_SECONDS)
        self._sweep()

    def _sweep(self) -> None:
        if not sweep_until_gone(self._paths.name, GIVE_UP_SECONDS):
            raise InfrastructureError("the processes of a sandbox cannot be killed, because they hang in the kernel")
        remove_tree(self._paths.state / self._paths.name)

    def _wait_for_exit(self, seconds: float) -> bool:
        """Return whether the runtime exits within this time. Read its error stream, so that it does not block."""
        deadline = time.monotonic() + seconds
        poller = select.poll()
        if self._runtime_fd >= 0:
            poller.register(self._runtime_fd, select.POLLIN)
        poller.register(self._errors.fd, select.POLLIN)
        while True:
            left_ms = max(deadline - time.monotonic(), 0) * 1000
            # The process may have no free descriptor to wait for the runtime.
            ready = dict(poller.poll(left_ms if self._runtime_fd >= 0 else min(left_ms, POLL_MS)))
            if self._errors.fd in ready and not self._errors.drain():
                poller.unregister(self._errors.fd)
            if (self._runtime_fd in ready or self._runtime_fd < 0) and self._runtime.wait(os.WNOHANG):
                self._errors.drain()
                return True
            if time.monotonic() >= deadline:
                return False


class _BoundedPipe:
    """The reading end of an error stream. It keeps the beginning, and reads and drops the rest."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self._kept = b""

    def drain(self) -> bool:
        """Read the available data. Return False once the stream has ended."""
        if self.fd < 0:
            return False
        with contextlib.suppress(BlockingIOError):
            # Read at most one pipe buffer per call, so that a process that never stops writing does not block this one.
            data = os.read(self.fd, 64 * 1024)
            self._kept = (self._kept + data)[:ERROR_BYTES]
            return data != b""
        return True

    def text(self) -> str:
        """Return the beginning of the stream, at most 4 KiB."""
        return self._kept.decode("utf-8", "replace").strip()

    def close(self) -> None:
        os.close(self.fd)
        self.fd = -1


def _first_error(text: str) -> str:
    """Return the first error in the runtime's log lines, without the log format, or else the text unchanged."""
    # The first error is the cause, and later ones are its consequences.
    found = re.search(r'level=(?:error|fatal) msg="((?:[^"\\]|\\.)*)"', text)
    return found[1].replace('\\"', '"').replace("\\\\", "\\") if found else text
