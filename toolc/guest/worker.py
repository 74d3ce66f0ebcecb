"""The worker process, which replaces itself with the call's program or runs the call in its interpreter.

It is forked before the call is known, so that the start of a call does not have to wait for a fork.
"""

from __future__ import annotations

import os
import select

from toolc.guest.job import Job, PreparationError, prepare
from toolc.guest.json_text import encode_json
from toolc.guest.launch_args import may_connect, preloaded_modules
from toolc.guest.processes import NOT_STARTED_STATUS, NotStartedError, Pipes, execute

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from toolc.guest.preload import FailedImport
else:
    import _signal as signal  # the module signal takes long to import

IDLE_MS = 30
"""How long a worker waits for a call, in milliseconds, before it imports modules that a request may need."""

NICENESS = 10
"""The niceness of a call relative to the supervisor, see nice(2). It has no effect outside the sandbox.

With this difference, process 1 gets nine times as much processor time as a busy process of the tool.
"""


def fork(pipes: Pipes, wire: tuple[int, ...]) -> int:
    """Fork the worker and return its process id. The child never returns, and closes ``wire``."""
    worker = os.fork()
    if worker:
        for fd in pipes.worker_ends():
            os.close(fd)
        for fd in pipes.supervisor_ends():
            os.set_blocking(fd, False)
        return worker
    status = NOT_STARTED_STATUS
    try:
        _set_up_process(pipes, wire)
        failed = _load(pipes)
        _open_streams(pipes)
        status = _serve(pipes, failed)
    except NotStartedError as error:
        _report(pipes, "not_started", str(error))
    except PreparationError as error:
        _report(pipes, "failed", str(error))
    except Exception as error:  # noqa: BLE001  a forked child must never return into its parent's frames
        _report(pipes, "failed", "%s: %s" % (type(error).__name__, error))
    finally:
        os._exit(status)


def _report(pipes: Pipes, what: str, reason: str) -> None:
    os.write(pipes.control[1], encode_json({what: reason}) + b"\n")


def _set_up_process(pipes: Pipes, wire: tuple[int, ...]) -> None:
    for fd in (*wire, *pipes.supervisor_ends()):
        os.close(fd)
    os.setsid()
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    # Exceeding the file size limit then fails the write (EFBIG), which a tool can report.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _lower_priority()


def _lower_priority() -> None:
    """Give the supervisor priority, so that it can end a call that uses all resources."""
    try:
        # If memory runs out, the kernel must kill the tool rather than the supervisor.
        with open("/proc/self/oom_score_adj", "w", encoding="utf-8") as file:
            file.write("1000")
    except OSError:
        pass  # not all kernels allow it; the host then reports why the sandbox has exited
    # Otherwise a fork bomb under a processor limit would leave the supervisor about 1% of the time.
    os.nice(NICENESS)


def _load(pipes: Pipes) -> FailedImport | None:
    """Import the modules for a Python function before the sandbox is ready. Return the one that failed, or None."""
    names = preloaded_modules()
    if names is None:
        return None
    # The modules have no streams, because their output belongs to no call.
    os.dup2(1, 2)
    import toolc.guest.python_function  # noqa: F401  lazy: programs do not need it
    from toolc.guest.preload import import_modules

    return import_modules(names, pipes.control[1])


def _open_streams(pipes: Pipes) -> None:
    for target, fd in enumerate((pipes.stdin[0], pipes.stdout[1], pipes.stderr[1])):
        os.dup2(fd, target)
        os.close(fd)


def _serve(pipes: Pipes, failed: FailedImport | None) -> int:
    job = Job(_receive(pipes.call[0]))
    prepare(job)
    if not job.is_begun:
        for fd in pipes.request[:1]:
            os.close(fd)
    if job.python is not None and job.session:
        from toolc.guest import session

        return session.serve(job, job.python, pipes, failed)
    if job.python is not None:
        from toolc.guest.python_function import run

        return run(job, job.python, pipes, failed)
    if job.http is not None:
        from toolc.guest.http import http_tool

        return http_tool.run(job, job.http, pipes)
    if job.argv is None:
        from toolc.guest.programs import program_server

        return program_server.serve(job, pipes)
    execute(job.argv, job.environment)
    return NOT_STARTED_STATUS


def _receive(fd: int) -> bytes:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if may_connect() and not poll.poll(IDLE_MS):
        from toolc.guest import warmup

        warmup.process_response()
    pieces = []
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
    os.close(fd)
    if not pieces:
        os._exit(1)
    return b"".join(pieces)
