"""Process 1 of a sandbox. It uses only non-blocking I/O, and exits when the stream from the host ends.

The EXIT frame's JSON::

    {"ending": "exited" | "signaled" | "timed_out" | "not_started" | "failed", "status": 0, "reason": "",
     "oom_kills": 0 | null, "cpu_ms": 1.5, "peak_memory_bytes": 9000000, "about": {} | null,
     "processes_ended": true}

``not_started`` means that the tool's program cannot be found or run, and ``failed`` that the sandbox could not start
the call. ``reason`` says why, or which module the worker was importing if it ended before it could read the call.
``about`` is the state of an HTTP call, in the format of its answer (``toolc.guest.http.exchange``).
``processes_ended`` means that every process of the call has ended, so that none can change anything any more.

When process 1 exits, the kernel kills every other process of the sandbox.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
from time import monotonic

from toolc.guest import frames, launch_args
from toolc.guest.frames import FrameError, FrameReader, encode
from toolc.guest.job import Job
from toolc.guest.json_text import decode_json, encode_json
from toolc.guest.launch_args import may_connect, preloaded_modules, require_separate_kernel
from toolc.guest.processes import (
    KILL_INTERVAL,
    Children,
    KillTimer,
    Pipes,
    claim,
    cpu_ms,
    drain,
    forbid_inspection,
    kill_all,
    oom_kills,
    peak_memory_bytes,
    wakeup_on_exit,
    write_available,
)
from toolc.guest.streams import ControlPipe, InputPipe, OutputPipe, ProcessStreams
from toolc.guest.worker import IDLE_MS, fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from types import ModuleType

    from toolc.guest.frames import Payload
    from toolc.guest.network.listener import GuestNetwork
else:
    import _signal as signal  # the module signal takes long to import

MAX_OUT = 256 * 1024
"""The size of unsent output, in bytes, at which the tool's pipes are not read until the host has caught up.

It is the size of one DATA frame, so that the next frame is always ready for the host.
"""

READ_SIZE = 256 * 1024
READ_BUFFER = memoryview(bytearray(READ_SIZE))
"""The read buffer. It is created once, because processes of a fork server share the pages they do not write to."""

MAX_READS = 16
"""The maximum number of consecutive reads from the host. They also end at a read of less than ``LARGE_READ`` bytes.

With more reads, the tool's output would wait while the host sends a long stdin.
"""
LARGE_READ = 16 * 1024
"""A size in bytes. A read that returns less has emptied the socket."""

F_SETPIPE_SZ, PIPE_BYTES = 1031, 1024 * 1024
"""From ``linux/fcntl.h``, and the pipe size that any user may request by default."""

LONGEST_MS = 2_000_000_000
"""About the longest timeout that poll(2) accepts, 23 days."""

DRAIN_SECONDS = 1.0
"""How long the tool's data may take to be forwarded after the end of its processes, in seconds.

The host waits equally long, see ``call_loop.DELIVERY_SECONDS``.
"""

LOAD_SECONDS = 30.0
"""How long READY waits for the worker's imports, in seconds. Longer imports use up part of the call's time."""


class Supervisor:
    """Handles one call: reports READY, starts the call, serves its streams and ends it. ``run`` is the main loop."""

    def __init__(self, wire_in: int, wire_out: int, pipes: Pipes, children: Children) -> None:
        self._wire_in = wire_in
        self._wire_out = wire_out
        self._reader = FrameReader()
        self._read_buffer = READ_BUFFER
        self._out = bytearray()
        self._call_fd = pipes.call[1]
        self._call = b""
        ends = ((frames.STDOUT, pipes.stdout), (frames.STDERR, pipes.stderr), (frames.REPLY, pipes.reply))
        outputs = [OutputPipe(stream, pipe[0]) for stream, pipe in (*ends, (frames.YIELDED, pipes.yielded))]
        self._streams = ProcessStreams(InputPipe(frames.STDIN, pipes.stdin[1]), outputs)
        self._identity = launch_args.process_identity()
        self._control = ControlPipe(pipes.control[0], is_loaded=preloaded_modules() is None)
        self._load_deadline: float | None = monotonic() + LOAD_SECONDS
        self._request = pipes.request[1:]
        self._network: GuestNetwork | None = None
        self._drained_by: float | None = None
        self._children = children
        self._wakeup = wakeup_on_exit()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._cpu_ms = cpu_ms()
        self._oom_kills = oom_kills()
        self._deadline: float | None = None
        self._timed_out = False
        self._stopped = False
        self._kill_timer: KillTimer | None = None
        self._exited = False
        self._is_idle = False
        self._is_http = False

    def run(self) -> None:
        """Serve until the host closes the stream. Raises ``FrameError`` if the host violates the protocol."""
        self._children.reap()
        self._check_loaded()
        write_available(self._wire_out, self._out)
        while True:
            events = self._wait()
            if self._wire_in in events and not self._receive():
                return
            if self._wakeup in events:
                drain(self._wakeup)
                self._children.reap()
            self._pump(events)
            self._check_loaded()
            self._check_end()
            write_available(self._wire_out, self._out)

    def _check_loaded(self) -> None:
        """Report READY when the worker waits for the call, has ended, or takes too long."""
        if self._load_deadline is not None and (
            self._control.is_loaded or self._children.worker_status is not None or monotonic() >= self._load_deadline
        ):
            self._load_deadline = None
            self._report_ready()

    def _report_ready(self) -> None:
        self._out += ready_frame(self._identity)

    def _wait(self) -> set[int]:
        poll = select.poll()
        poll.register(self._wire_in, select.POLLIN)
        poll.register(self._wakeup, select.POLLIN)
        if self._out:
            poll.register(self._wire_out, select.POLLOUT)
        if self._call:
            poll.register(self._call_fd, select.POLLOUT)
        # Output before the call belongs to it too.
        self._streams.register(
            poll, has_room=len(self._out) < MAX_OUT and not self._stopped and self._deadline is not None
        )
        if len(self._out) < MAX_OUT and not self._stopped:
            if self._control.is_open:
                poll.register(self._control.fd, select.POLLIN)
            if self._network is not None:
                poll.register(self._network.fileno(), select.POLLIN)
        ready = {fd for fd, _ in poll.poll(self._timeout_ms())}
        if not ready and self._deadline is None and self._load_deadline is None:
            self._warm_up()
            self._is_idle = True
        return ready

    def _warm_up(self) -> None:
        if may_connect():
            from toolc.guest import warmup  # lazy: +4 ms for the listener; few calls have a network

            warmup.forward_request()
            self._exit_report()

    def _timeout_ms(self) -> float | None:
        if self._load_deadline is not None:
            return max(0.0, (self._load_deadline - monotonic()) * 1000)
        if self._deadline is None and not self._is_idle:
            return IDLE_MS
        if self._deadline is None or self._exited:
            return None
        if self._kill_timer is None:
            return min(max(0.0, (self._deadline - monotonic()) * 1000), LONGEST_MS)
        return KILL_INTERVAL * 1000 if self._drained_by or not self._children.all_exited else None

    def _receive(self) -> bool:
        """Process the frames that have arrived, and keep reading while much data arrives. Return False at the end."""
        size = LARGE_READ
        for _ in range(MAX_READS):
            if size < LARGE_READ:
                break
            try:
                size = os.readv(self._wire_in, [self._read_buffer])
            except BlockingIOError:
                return True
            except OSError:
                return False
            for kind, stream, payload in self._reader.feed(self._read_buffer[:size]):
                self._handle_frame(kind, stream, payload)
        return size > 0

    def _handle_frame(self, kind: int, stream: int, payload: Payload) -> None:
        if kind == frames.CALL and self._deadline is None:
            job = Job(bytes(payload))
            self._deadline = monotonic() + job.timeout_ms / 1000
            self._call = bytes(payload)
            self._is_http = job.http is not None
            if job.network is not None:
                self._connect(job.network, is_begun=job.is_begun)
            for unused in _unused_streams(job):
                os.close(self._streams.outputs.pop(unused).fd)
        elif kind == frames.READY and self._deadline is None:
            self._report_ready()
        elif kind == frames.STOP and self._deadline is not None:
            self._stopped, self._deadline = True, 0.0
        elif stream >= frames.FIRST_CONNECTION and self._network is not None:
            self._network.receive(kind, stream, payload, self._out)
        elif not self._streams.receive(kind, stream, payload):
            raise FrameError("unexpected frame of type %d on stream %d" % (kind, stream))

    def _connect(self, setting: dict[str, list[list[object]]], *, is_begun: bool) -> None:
        """Start the network listeners before the call can connect. If that fails, the call is not started.

        If the host has already started the request, pass the call to the worker first. This is safe: only the
        response can lead to another request, and it passes through this process.
        """
        listener = _listener()
        network = self._network = listener.GuestNetwork()
        for fd in self._request:
            if is_begun:
                network.adopt(fd)
                self._pass_call()
            else:
                os.close(fd)
        try:
            network.listen(setting)
        except listener.NetworkError as error:
            self._control.failed = str(error)
            if self._call:
                self._call = b""
                os.close(self._call_fd)
        _enlarge_pipe(self._wire_in)
        _enlarge_pipe(self._wire_out)

    def _pump(self, ready: set[int]) -> None:
        if self._stopped:
            return
        if self._call:
            self._pass_call()
        self._streams.pump(ready, self._out, MAX_OUT)
        if self._control.is_open and self._control.fd in ready:
            # A preloaded module may report progress before there is a call.
            self._control.pump(self._out if self._deadline is not None else bytearray())
        if self._network is not None and self._network.fileno() in ready and not self._exited:
            self._network.serve(self._out, MAX_OUT)

    def _pass_call(self) -> None:
        try:
            sent = os.write(self._call_fd, self._call)
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = len(self._call)
        self._call = self._call[sent:]
        if not self._call:
            os.close(self._call_fd)

    def _check_end(self) -> None:
        """When the call has ended or its deadline has passed, kill all processes, and send EXIT after all output."""
        children = self._children
        worker_exited = children.worker_status is not None
        if self._deadline is None:
            if worker_exited and self._control.is_loaded:
                raise RuntimeError("the worker ended before its call")
            return
        if self._exited:
            return
        if self._has_replied and not self._stopped:
            # The worker sends no further output, and exits when the sandbox ends.
            self._finish()
            return
        if self._kill_timer is None:
            self._timed_out = not worker_exited and monotonic() >= self._deadline
            if not worker_exited and not self._timed_out:
                return
            self._kill_timer = KillTimer(monotonic())
            kill_all(children.worker)
            children.reap()
        elif not children.all_exited:
            kill_all(children.worker)
            children.reap()
        if children.all_exited or self._kill_timer.has_expired(monotonic(), children.exited):
            self._finish()

    @property
    def _has_replied(self) -> bool:
        """Whether the worker of an HTTP call has sent its reply. It runs no tool code, so its exit does not matter."""
        done = self._control.done if self._is_http else None
        return done is not None and self._streams.outputs[frames.REPLY].sent == done.get("reply_bytes")

    def _finish(self) -> None:
        """Send the rest of the pipes' data, then EXIT. All writers have exited."""
        if not (self._stopped or self._is_forwarded()):
            return
        self._streams.stdin.close()
        self._out += encode(frames.EXIT, 0, encode_json(self._exit_report()))
        self._exited = True

    def _is_forwarded(self) -> bool:
        """Send the remaining data of the pipes and connections. Return whether all of it was sent."""
        while self._control.is_open and self._control.pump(self._out):
            pass
        for output in self._streams.outputs.values():
            while output.may_send and len(self._out) < MAX_OUT:
                if not output.pump(self._out):
                    output.end(self._out)
        return not self._streams.are_open and self._is_drained()

    def _is_drained(self) -> bool:
        """Return whether all data that the tool sent on its connections was forwarded."""
        if self._network is None or self._has_replied:
            return True
        if self._drained_by is None:
            self._drained_by = monotonic() + DRAIN_SECONDS
        return self._network.drain(self._out, MAX_OUT) or monotonic() >= self._drained_by

    def _exit_report(self) -> dict[str, object]:
        # A worker that has replied may have been killed afterwards, which is not an error.
        status = 0 if self._has_replied else self._children.worker_status or 0
        kills = oom_kills()
        ending, number = "exited", os.WEXITSTATUS(status)
        if self._timed_out:
            ending, number = "timed_out", 0
        elif self._control.failed is not None:
            ending = "failed"
        elif self._control.not_started is not None:
            ending = "not_started"
        elif os.WIFSIGNALED(status):
            ending, number = "signaled", os.WTERMSIG(status)
        used = self._control.done if self._has_replied else None
        return {
            "ending": ending,
            "status": number,
            "reason": self._control.failed or self._control.not_started or self._loading(),
            "oom_kills": None if kills is None or self._oom_kills is None else kills - self._oom_kills,
            "cpu_ms": used.get("cpu_ms") if used else cpu_ms() - self._cpu_ms,
            "peak_memory_bytes": used.get("peak_memory_bytes") if used else peak_memory_bytes(),
            "about": self._control.about,
            "processes_ended": self._children.all_exited or self._has_replied,
        }

    def _loading(self) -> str:
        """Return which module the worker is importing instead of handling the call, or ``""`` if it has finished."""
        control = self._control
        return "" if control.is_loaded else "while it imported the module %r in preload" % control.loading


def main() -> None:
    """Run as process 1. Does not return."""
    run_process(lambda: run_call(*claim(0, 1)))


def ready_frame(process: dict[str, object] | None) -> bytes:
    """Return the READY frame of a process with this identity (``launch_args.process_identity``)."""
    python = "%d.%d.%d" % sys.version_info[:3]
    report = {"python": python, "workspace": launch_args.workspace_identity(process)}
    return encode(frames.READY, 0, encode_json(report))


def run_process(work: Callable[[], None]) -> None:
    """Do the work of process 1 and exit. Errors go to stderr, which the host reads."""
    status = 1
    try:
        require_separate_kernel()
        work()
        status = 0
    except BrokenPipeError:
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        raise
    finally:
        os._exit(status)


def run_call(wire_in: int, wire_out: int) -> None:
    """Run one call as process 1 of a PID namespace, until the host closes the stream."""
    for fd in (wire_in, wire_out):
        os.set_blocking(fd, False)
    # Before the fork, so that the worker shares their memory.
    if may_connect():
        _listener()
    if preloaded_modules() is not None:
        decode_json(b"null")  # imports json
    pipes = Pipes()
    worker = fork(pipes, (wire_in, wire_out))
    # Only after the fork: the worker must stay dumpable to write its own /proc files.
    forbid_inspection()
    Supervisor(wire_in, wire_out, pipes, Children(worker)).run()


def _listener() -> ModuleType:
    """Import and return ``guest.network.listener``."""
    from toolc.guest.network import listener  # lazy: +4 ms; few calls have a network

    return listener


def _unused_streams(job: Job) -> tuple[int, ...]:
    """Return the streams that this kind of call does not use."""
    if job.argv is not None:
        return frames.REPLY, frames.YIELDED
    return (frames.YIELDED,) if job.python is None and job.http is None else ()


def _enlarge_pipe(fd: int) -> None:
    """Enlarge a pipe (see fcntl(2)), so that its writer does not wake this process for every 64 KiB."""
    try:  # noqa: SIM105  contextlib takes long to import
        fcntl.fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        pass  # not a pipe, or the user's limit for pipe sizes is reached
