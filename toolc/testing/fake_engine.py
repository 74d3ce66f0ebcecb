"""An engine for the tests of programs that embed toolc: a Python callable answers each call.

It never runs a spec's code. Its sandboxes speak the real wire protocol, from a thread of this process,
so that all of the runtime works as it does with a real engine.
"""

from __future__ import annotations

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
from toolc.guest.launch_args import kernel
from toolc.guest.session import Call
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, Profile, PythonCall
from toolc.model.result import Capture, Outcome
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import EnvVar
from toolc.sandbox.base import Capabilities, ContentDigests, EngineStatus, ImageUsed, Leftover

Script: TypeAlias = Callable[[Plan], Outcome]
"""What a call comes to. An exception that it raises is a sandbox that died.

Of a plugin it is asked once for each line, which is the plan's stdin, and what it wants written is the outcome's
stdout; as long as an outcome is ``answered``, the plugin lives.
"""

READ_SIZE = 256 * 1024

JOIN_SECONDS = 1.0
"""How long ``close`` waits for a script that is still running; its thread then ends on its own."""


class FakeEngine:
    """An engine whose every call ends as ``script`` says. ``profiles`` lists what was started, in order."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.profiles: list[Profile] = []

    @property
    def name(self) -> str:
        """``fake``."""
        return "fake"

    def probe(self) -> EngineStatus:
        """Always available."""
        return EngineStatus(available=True, version="0")

    def capabilities(self) -> tuple[Capabilities, ...]:
        """Everything, as far as nothing can exceed a limit."""
        return (Capabilities(),)

    def unsupported_reason(self, profile: Profile) -> str | None:  # it can keep anything, for it does nothing
        """Never refuses."""
        return None

    def overlay_obstacle(self, profile: Profile) -> str | None:  # it mounts nothing
        """Never an overlay: a script finds a copy of the workspace at ``plan.profile.workspace.source``."""
        return "the fake engine mounts nothing"

    def content_digests(self, profile: Profile) -> ContentDigests:
        """An image whose digest is made of its name."""
        if profile.image is None:
            return ContentDigests()
        digest = f"sha256:{hashlib.sha256(profile.image.encode()).hexdigest()}"
        return ContentDigests(ImageUsed(profile.image, digest, (f"config:{digest}",)))

    def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:  # there is no program
        """A sandbox that waits for one call."""
        self.profiles.append(profile)
        return FakeSandbox(profile, self._script)

    def leftovers(self) -> tuple[Leftover, ...]:
        """None: all that it makes is a thread."""
        return ()

    def close(self) -> None:
        """Nothing is held."""


class FakeSandbox:
    """A thread at the other end of a socket pair."""

    def __init__(self, profile: Profile, script: Script) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(0)
        self.created = perf_counter()
        self._guest = _Guest(theirs, profile, script)
        self._thread = threading.Thread(target=self._guest.run, daemon=True, name="fake sandbox")
        self._thread.start()

    @property
    def user(self) -> str:
        """A user that does not exist."""
        return "fake"

    @property
    def image(self) -> None:
        """There is none."""

    def fileno(self) -> int:
        """The host's end of the socket pair."""
        return self._socket.fileno()

    def read(self) -> bytes | None:
        """What has arrived, ``b""`` at the end, None when nothing has yet."""
        try:
            return self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        """Send what fits now."""
        try:
            return self._socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)

    def out_of_memory(self) -> bool:
        """Whether the script's outcome said so."""
        return self._guest.out_of_memory

    def error_output(self) -> str:
        """The exception that the script raised, if it did."""
        return self._guest.error_output

    def close(self) -> None:
        """End the stream and wait for the thread, though not for ever."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(JOIN_SECONDS)


class _Guest:
    """The guest's part of the protocol, on a blocking socket."""

    def __init__(self, wire: socket.socket, profile: Profile, script: Script) -> None:
        self.out_of_memory = False
        self.error_output = ""
        self._wire = wire
        self._profile = profile
        self._script = script
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
            except Exception as error:  # noqa: BLE001  the script is anybody's; its error is this sandbox's death
                self.error_output = f"{type(error).__name__}: {error}"

    def _serve(self) -> None:
        (size,) = frames.LENGTH.unpack(self._take(frames.LENGTH.size))
        self._take(size)
        self._wire.sendall(encode(frames.READY, 0, self._ready()))
        kind, _, payload = self._next()
        assert kind == frames.CALL
        job = Job(payload)
        outcome = self._served(job) if job.session else self._ended(self._script(self._with_stdin(job)))
        self._send_end(frames.STDOUT, outcome.stdout)
        self._send_end(frames.STDERR, outcome.stderr)
        if outcome.reply is not None:
            self._send_end(frames.REPLY, outcome.reply)
        self._wire.sendall(encode(frames.EXIT, 0, json.dumps(_exit(outcome)).encode()))
        self._next()

    def _ended(self, outcome: Outcome) -> Outcome:
        if outcome.ending == "cancelled":
            raise ValueError("a sandbox cannot end as 'cancelled': cancel the call instead")
        self.out_of_memory = outcome.ending == "out_of_memory"
        return outcome

    def _served(self, job: Job) -> Outcome:
        """Answer line after line, until an outcome is the process's own end."""
        for line in self._lines():
            if job.argv is not None:
                outcome = self._ended(self._script(replace(_plan(job, self._profile), stdin=line)))
                if outcome.ending != "answered":
                    return outcome
                self._send(frames.STDERR, outcome.stderr.data())
                self._send(frames.STDOUT, outcome.stdout.data())
                continue
            call = Call(line)
            outcome = self._ended(self._script(_session_plan(job, call, self._profile)))
            if outcome.ending in {"signaled", "out_of_memory"} and job.python is not None:
                return outcome
            self._answer(call, outcome, is_function=job.python is not None)
        raise _HostGoneError

    def _answer(self, call: Call, outcome: Outcome, *, is_function: bool) -> None:
        reply = outcome.reply.data() if outcome.reply else b""
        mark = b"\0%b\0" % call.mark.encode()
        self._send(frames.STDOUT, outcome.stdout.data() + mark)
        self._send(frames.STDERR, outcome.stderr.data() + mark)
        if is_function:
            self._send(frames.YIELDED, mark)
        else:
            reply = json.dumps(_exit(outcome)).encode()
        self._send(frames.REPLY, b"%b %b\n" % (call.mark.encode(), reply))

    def _ready(self) -> bytes:
        mount = self._profile.workspace
        folder = mount and {"kernel": kernel(), "device": mount.device, "inode": mount.inode}
        return json.dumps({"python": "fake", "workspace": folder}).encode()

    def _with_stdin(self, job: Job) -> Plan:
        return replace(_plan(job, self._profile), stdin=b"".join(self._stdin()))

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

    def _send_end(self, stream: int, output: Capture) -> None:
        self._send(stream, output.data())
        self._wire.sendall(encode(frames.END, stream))

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

    def _take(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._wire.recv(size - len(data))
            if not piece:
                raise _HostGoneError
            data += piece
        return data


class _HostGoneError(Exception):
    """The host has closed the stream, which ends a sandbox."""


def _plan(job: Job, profile: Profile) -> Plan:
    files = tuple(File(path=file["path"], text=file.get("text"), base64=file.get("base64")) for file in job.files)
    invocation: Exec | PythonCall
    if job.python is None:
        invocation = Exec(argv=tuple(job.argv or ()), files=files)
    else:
        arguments = cast("JsonObject", job.python.arguments)
        invocation = PythonCall(entry=job.python.entry, function=job.python.function, arguments=arguments, files=files)
    env = tuple(EnvVar(name=name, value=value) for name, value in job.environment.items())
    return Plan(profile=profile, invocation=invocation, call_id=job.call_id, env=env)


def _session_plan(job: Job, call: Call, profile: Profile) -> Plan:
    """The plan of one call of a session's function or program."""
    job.call_id, job.environment = call.call_id, call.environment or job.environment
    if job.python is not None:
        job.python.arguments = call.arguments
    plan = _plan(job, profile)
    if isinstance(plan.invocation, Exec):
        return replace(plan, invocation=replace(plan.invocation, argv=tuple(call.argv)), stdin=call.stdin)
    return plan


def _exit(outcome: Outcome) -> dict[str, object]:
    out_of_memory = outcome.ending == "out_of_memory"
    return {
        "ending": "signaled" if out_of_memory else outcome.ending,
        "status": outcome.status,
        "reason": outcome.reason,
        "oom_kills": int(out_of_memory),
        "cpu_ms": outcome.usage.cpu_ms,
        "peak_memory_bytes": outcome.usage.peak_memory_bytes,
    }
