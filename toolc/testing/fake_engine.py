"""An engine for the tests of programs that embed toolc. A Python function returns the outcome of each call.

The engine does not run the code of specs. Its sandboxes are threads that use the real wire protocol, so the runtime
works as it does with a real engine.
"""

import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias, cast

from toolc.guest import frames
from toolc.guest.frames import Frame, FrameReader, encode
from toolc.guest.job import Job
from toolc.guest.launch_args import boot_id
from toolc.guest.programs.process import Request
from toolc.guest.session import CallLine
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, Profile, PythonCall
from toolc.model.result import Outcome
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar
from toolc.sandbox.interface import Capabilities, ContentDigests, EngineStatus, ImageUsed, Leftover
from toolc.testing.fake_programs import FakePrograms

Script: TypeAlias = Callable[[Plan], Outcome]
"""Returns the outcome of a call. If it raises an exception, the sandbox dies.

For a plugin, it is called once per line. The line is the plan's stdin, and the response is the outcome's stdout. The
plugin keeps running while outcomes are ``answered``.
"""

READ_SIZE = 256 * 1024

JOIN_SECONDS = 1.0
"""The maximum time that ``close`` waits for a running script, in seconds. Its thread may end later.

A script that hangs must not block a test.
"""


class FakeEngine:
    """An engine whose calls have the outcomes of ``script``. ``profiles`` lists the started sandboxes in order.

    It does not implement ``PoolEngine``, so each call starts a sandbox.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self.profiles: list[Profile] = []

    @property
    def name(self) -> str:
        """The name ``fake``."""
        return "fake"

    def probe(self) -> EngineStatus:
        """Return an available status."""
        return EngineStatus(available=True, version="0")

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Return all capabilities except overlays. In a transaction, the script gets a copy of the workspace."""
        return (Capabilities(overlay_obstacle="the fake engine mounts no folders"),)

    def unsupported_reason(self, profile: Profile) -> str | None:
        """Return None, because every profile is supported."""
        return None

    def content_digests(self, profile: Profile) -> ContentDigests:
        """Return the digest of the image's name as the digest of the image."""
        if profile.image is None:
            return ContentDigests()
        digest = f"sha256:{hashlib.sha256(profile.image.encode()).hexdigest()}"
        return ContentDigests(ImageUsed(profile.image, digest, (f"config:{digest}",)))

    def start(self, profile: Profile, arguments: Sequence[str]) -> "FakeSandbox":
        """Start a sandbox that waits for a call."""
        self.profiles.append(profile)
        kind = FakeForkServer if profile.has_fork_server else FakeSandbox
        return kind(profile, self._script)

    def leftovers(self) -> tuple[Leftover, ...]:
        """Return nothing, because sandboxes are threads."""
        return ()

    def close(self) -> None:
        """Do nothing. The engine has no resources, and the owners of its sandboxes close them."""


class FakeSandbox:
    """A thread that is connected by a socket pair."""

    def __init__(self, profile: Profile, script: Script, *, is_forked: bool = False) -> None:
        self._socket, guest_end = socket.socketpair()
        self._socket.settimeout(0)
        self.created = perf_counter()
        self._guest = _Guest(guest_end, profile, script, is_forked=is_forked)
        self._thread = threading.Thread(target=self._guest.run, daemon=True, name="fake sandbox")
        self._thread.start()

    @property
    def user(self) -> str:
        """The name of a user that does not exist."""
        return "fake"

    @property
    def image(self) -> None:
        """None, because there is no image."""

    def fileno(self) -> int:
        """Return the descriptor of the host's end of the socket pair."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """Return the received data, ``b""`` at the end, or None if no data has arrived yet."""
        try:
            return self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        """Send as much as possible without blocking, and return the number of bytes."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)

    def out_of_memory(self) -> bool:
        """Return whether the script's outcome was ``out_of_memory``."""
        return self._guest.out_of_memory

    def memory_kills(self) -> int:
        """Return 1 if ``out_of_memory``, else 0."""
        return int(self.out_of_memory())

    def error_output(self) -> str:
        """Return the exception that the script raised, or an empty string."""
        return self._guest.error_output

    def close(self) -> None:
        """Close the stream and wait up to ``JOIN_SECONDS`` for the thread."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(JOIN_SECONDS)


class FakeForkServer(FakeSandbox):
    """A sandbox with a fork server, in which each call gets its own thread."""

    setup = b""
    has_ended = False

    def __init__(self, profile: Profile, script: Script) -> None:
        super().__init__(profile, script)
        self._profile = profile
        self._script = script

    def fork(self) -> FakeSandbox:
        """Start a sandbox that already has its guest and waits for a call."""
        return FakeSandbox(self._profile, self._script, is_forked=True)


class _Guest:
    """The guest side of the protocol, on a blocking socket."""

    def __init__(self, wire: socket.socket, profile: Profile, script: Script, *, is_forked: bool) -> None:
        self.out_of_memory = False
        self.error_output = ""
        self._wire = wire
        self._profile = profile
        self._script = script
        self._is_forked = is_forked
        self._incoming = self._frames()
        self._windows = dict.fromkeys(range(frames.STDOUT, frames.YIELDED + 1), frames.WINDOW_BYTES)

    def run(self) -> None:
        with self._wire:
            try:
                self._serve()
            except _HostGoneError:
                return
            except OSError as error:
                self.error_output = str(error)
            except Exception as error:  # noqa: BLE001  any error of the script is the death of this sandbox
                self.error_output = f"{type(error).__name__}: {error}"

    def _serve(self) -> None:
        if not self._is_forked:
            (size,) = frames.LENGTH.unpack(self._receive(frames.LENGTH.size))
            self._receive(size)
        self._report_ready()
        while (frame := self._next())[0] == frames.READY:
            self._report_ready()
        kind, _, payload = frame
        assert kind == frames.CALL
        job = Job(payload)
        if job.session:
            outcome = self._serve_session(job)
        else:
            outcome = self._run_script(replace(_plan(job, self._profile), stdin=b"".join(self._stdin())))
        outputs = {frames.STDOUT: outcome.stdout, frames.STDERR: outcome.stderr, frames.REPLY: outcome.reply}
        for stream, output in outputs.items():
            if output is not None:
                self._send(stream, output.data())
                self._wire.sendall(encode(frames.END, stream))
        self._wire.sendall(encode(frames.EXIT, 0, json.dumps(_exit(outcome)).encode()))
        self._next()

    def _report_ready(self) -> None:
        mount = self._profile.workspace
        folder = mount and {"kernel": boot_id(), "device": mount.device, "inode": mount.inode}
        ready = {"python": "fake", "workspace": folder}
        self._wire.sendall(encode(frames.READY, 0, json.dumps(ready).encode()))

    def _run_script(self, plan: Plan) -> Outcome:
        outcome = self._script(plan)
        if outcome.ending == "cancelled":
            raise ValueError("a sandbox cannot end as 'cancelled'; cancel the call instead")
        self.out_of_memory = outcome.ending == "out_of_memory"
        return outcome

    def _serve_session(self, job: Job) -> Outcome:
        """Respond to each line until an outcome ends the process."""
        if job.argv is None and job.python is None:
            self._serve_programs(job)
        for line in self._lines():
            if job.argv is not None:
                outcome = self._run_script(replace(_plan(job, self._profile), stdin=line))
                if outcome.ending != "answered":
                    return outcome
                self._send(frames.STDERR, outcome.stderr.data())
                self._send(frames.STDOUT, outcome.stdout.data())
                continue
            call = CallLine(line)
            assert job.python is not None
            job.call_id, job.python.arguments = call.call_id, call.arguments
            outcome = self._run_script(_plan(job, self._profile))
            if outcome.ending in {"signaled", "out_of_memory"}:
                return outcome
            self._respond(call, outcome)
        raise _HostGoneError

    def _serve_programs(self, job: Job) -> None:
        def run(request: Request, stdin: bytes) -> Outcome:
            plan = _plan(job, self._profile)
            environment = job.environment | request.environment
            return self._run_script(
                replace(
                    plan,
                    call_id=environment.get("TOOLC_CALL_ID", job.call_id),
                    invocation=Exec(argv=tuple(request.argv), files=plan.invocation.files),
                    env=_variables(environment),
                    stdin=stdin,
                )
            )

        programs = FakePrograms(run, lambda data: self._send(frames.REPLY, data))
        for piece in self._stdin():
            programs.receive(piece)

    def _respond(self, call: CallLine, outcome: Outcome) -> None:
        reply = outcome.reply.data() if outcome.reply else b""
        mark = b"\0%b\0" % call.mark.encode()
        self._send(frames.STDOUT, outcome.stdout.data() + mark)
        self._send(frames.STDERR, outcome.stderr.data() + mark)
        self._send(frames.YIELDED, mark)
        self._send(frames.REPLY, b"%b %b\n" % (call.mark.encode(), reply))

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in self._stdin():
            *lines, rest = (rest + piece).split(b"\n")
            yield from (line + b"\n" for line in lines)

    def _stdin(self) -> Iterator[bytes]:
        while (frame := self._next())[0] != frames.END:
            if frame[0] == frames.DATA:
                self._wire.sendall(encode(frames.WINDOW, frames.STDIN, b"%d" % len(frame[2])))
                yield frame[2]
            else:
                self._windows[frame[1]] += int(frame[2])

    def _send(self, stream: int, rest: bytes) -> None:
        while rest:
            while not self._windows[stream]:
                kind, widened, payload = self._next()
                assert kind == frames.WINDOW
                self._windows[widened] += int(payload)
            size = min(frames.MAX_PAYLOAD, self._windows[stream])
            self._wire.sendall(encode(frames.DATA, stream, rest[:size]))
            self._windows[stream] -= len(rest[:size])
            rest = rest[size:]

    def _next(self) -> Frame:
        frame = next(self._incoming, None)
        if frame is None:
            raise _HostGoneError
        return frame

    def _frames(self) -> Iterator[Frame]:
        reader = FrameReader()
        while data := self._wire.recv(READ_SIZE):
            yield from reader.feed(data)

    def _receive(self, size: int) -> bytes:
        data = self._wire.recv(size)  # MSG_WAITALL would return less after a signal, such as SIGCONT
        if not data:
            raise _HostGoneError
        return data if len(data) == size else data + self._receive(size - len(data))


class _HostGoneError(Exception):
    """The host has closed the stream, which ends the sandbox."""


def _plan(job: Job, profile: Profile) -> Plan:
    files = tuple(File(path=file["path"], text=file.get("text"), base64=file.get("base64")) for file in job.files)
    invocation: Exec | PythonCall
    if job.python is None:
        invocation = Exec(argv=tuple(job.argv or ()), files=files)
    else:
        arguments = cast("JsonObject", job.python.arguments)
        invocation = PythonCall(entry=job.python.entry, function=job.python.function, arguments=arguments, files=files)
    return Plan(profile=profile, invocation=invocation, call_id=job.call_id, env=_variables(job.environment))


def _variables(environment: dict[str, str]) -> tuple[EnvVar, ...]:
    return tuple(EnvVar(name=name, value=value) for name, value in environment.items())


def _exit(outcome: Outcome) -> dict[str, object]:
    out_of_memory = outcome.ending == "out_of_memory"
    return {
        "ending": "signaled" if out_of_memory else outcome.ending,
        "status": outcome.status,
        "reason": outcome.reason,
        "oom_kills": int(out_of_memory),
        "cpu_ms": outcome.usage.cpu_ms,
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
        "processes_ended": True,
    }
