"""The worker: forked before its call is known, it becomes the call, so that nothing forks on the way.

It replaces itself with the program, or runs the function in its own interpreter.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal

from toolc.guest.job import Job, PreparationError, prepare
from toolc.guest.told import may_connect

NOT_STARTED_STATUS = 127
"""The worker's exit status where the call could not start; the reason is in a note."""


class NotStartedError(Exception):
    """The program cannot be found or run, which is the tool's failure; ``str(error)`` is the reason."""


IDLE_MS = 30
"""Who waits for longer was made ahead, and has time to load what a call may need."""

NICENESS = 10
"""How far a call stands behind the supervisor, as nice(2) counts; it weighs nothing outside the sandbox."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs are looked for if the call's environment has no ``PATH``."""


class Pipes:
    """All pipes between supervisor and worker, as (read end, write end).

    ``request`` is a pair of sockets, the first one the worker's: the connection of an HTTP call's first request.
    Only a sandbox that may connect has one.
    """

    def __init__(self) -> None:
        self.call = os.pipe()
        self.stdin = os.pipe()
        self.stdout = os.pipe()
        self.stderr = os.pipe()
        self.reply = os.pipe()
        self.yielded = os.pipe()
        self.notes = os.pipe()
        self.request = _sockets() if may_connect() else ()

    def worker_ends(self) -> tuple[int, ...]:
        """The worker's descriptors."""
        return (
            self.call[0], self.stdin[0], self.stdout[1], self.stderr[1], self.reply[1], self.yielded[1],
            self.notes[1], *self.request[:1],
        )  # fmt: skip

    def supervisor_ends(self) -> tuple[int, ...]:
        """The supervisor's descriptors."""
        return (
            self.call[1], self.stdin[1], self.stdout[0], self.stderr[0], self.reply[0], self.yielded[0],
            self.notes[0], *self.request[1:],
        )  # fmt: skip


def _sockets() -> tuple[int, ...]:
    import socket  # slow to load, and few calls connect

    return tuple(each.detach() for each in socket.socketpair())


def fork(pipes: Pipes, wire: tuple[int, ...]) -> int:
    """Fork the worker and return its process id; the child never returns. ``wire`` is closed in the child."""
    worker = os.fork()
    if worker:
        for fd in pipes.worker_ends():
            os.close(fd)
        for fd in pipes.supervisor_ends():
            os.set_blocking(fd, False)
        return worker
    status = NOT_STARTED_STATUS
    try:
        _settle(pipes, wire)
        status = _serve(pipes)
    except NotStartedError as error:
        _note(pipes, "not_started", str(error))
    except PreparationError as error:
        _note(pipes, "failed", str(error))
    except Exception as error:  # noqa: BLE001  a child of fork must never return into its parent's frames
        _note(pipes, "failed", "%s: %s" % (type(error).__name__, error))
    finally:
        os._exit(status)


def _note(pipes: Pipes, what: str, reason: str) -> None:
    os.write(pipes.notes[1], json.dumps({what: reason}).encode() + b"\n")


def _settle(pipes: Pipes, wire: tuple[int, ...]) -> None:
    for fd in (*wire, *pipes.supervisor_ends()):
        os.close(fd)
    for target, fd in enumerate((pipes.stdin[0], pipes.stdout[1], pipes.stderr[1])):
        os.dup2(fd, target)
        os.close(fd)
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    # A file beyond the size limit is then an error of the write (EFBIG), which a tool can report.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _stand_back()


def _stand_back() -> None:
    """Let the supervisor go first, so that it can still end a call that takes all there is.

    Neither needs a privilege, nor can the tool take back the second.
    """
    try:
        # What runs out of memory must be the tool and not the supervisor.
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass  # some kernels refuse it; the host then sees the sandbox die, and why
    # Under a processor limit a fork bomb would else leave the supervisor one slice in a hundred.
    os.nice(NICENESS)


def _serve(pipes: Pipes) -> int:
    job = Job(_receive(pipes.call[0]))
    prepare(job)
    if not job.is_begun:
        for fd in pipes.request[:1]:
            os.close(fd)
    if job.session and job.argv is None:
        from toolc.guest import session  # most calls are alone in their sandbox

        return session.serve(job, pipes)
    if job.python is not None:
        from toolc.guest.python_tool import run  # loaded while idle, or not at all

        return run(job, job.python, pipes)
    if job.http is not None:
        from toolc.guest import http_tool  # as above

        return http_tool.run(job, job.http, pipes)
    assert job.argv is not None
    execute(job.argv, job.environment)
    return NOT_STARTED_STATUS


def _receive(fd: int) -> bytes:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if not poll.poll(IDLE_MS):
        import toolc.guest.python_tool  # noqa: F401  see IDLE_MS

        if may_connect():
            from toolc.guest import rehearsal  # as above

            rehearsal.read_response()
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    os.close(fd)
    if not pieces:
        os._exit(1)
    return b"".join(pieces)


def execute(argv: list[str], environment: dict[str, str]) -> None:
    """Become this program. Raises ``NotStartedError``."""
    command = argv[0]
    reason = "command not found: %s" % command
    for path in _candidates(command, environment.get("PATH") or DEFAULT_PATH):
        try:
            os.execve(path, argv, environment)  # noqa: S606  no shell is the point
        except FileNotFoundError:
            if os.path.exists(path):
                reason = "%s: the interpreter that its first line names does not exist" % command
        except NotADirectoryError:
            continue
        except OSError as error:
            # A later folder may still hold a program of that name, as execvp(3) has it.
            reason = _words(command, error)
        except ValueError as error:
            raise NotStartedError("%s: %s" % (command, error)) from error
    raise NotStartedError(reason)


def write_all(fd: int, data: bytes) -> None:
    """Write all of ``data``, however long that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _candidates(command: str, search_path: str) -> list[str]:
    if "/" in command:
        return [command]
    return [os.path.join(folder, command) for folder in search_path.split(":") if folder]


def _words(command: str, error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return "the arguments and environment are longer than a program may be given; use stdin"
    if error.errno == errno.ENOEXEC:
        return "%s is not a program for this machine, nor a script whose first line names one" % command
    return "%s: %s" % (command, error.strerror)
