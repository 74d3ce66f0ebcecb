"""The host's side of the wire protocol, as a state machine without I/O.

The guest is not trusted. If it sends anything that the plan does not allow, ``ProtocolError`` is raised.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Iterator, Mapping
from typing import Final, Literal, Protocol, TypeAlias, TypeGuard, get_args

from toolc.dataclass import dataclass, field
from toolc.guest import frames
from toolc.guest.bundle import MARSHAL_VERSION, bundle
from toolc.guest.flow_control import max_reports
from toolc.guest.frames import ProtocolError
from toolc.model.destinations import format_host
from toolc.model.events import Stream
from toolc.model.http_plan import HttpCall
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.plan import PROXY_PORT, Exec, LoopbackProxy, McpCall, Plan, PluginCall, Programs, PythonCall
from toolc.model.result import Capture, Content, Ending, Outcome, Usage
from toolc.model.spec.code_backends import File
from toolc.model.text import printable
from toolc.runtime.http.message import ADDRESS, http_message, interim_details
from toolc.runtime.output.guest_streams import DelimitedOutput, Input, LineOutput, Output, call_outputs, session_outputs
from toolc.runtime.output.progress import MAX_MESSAGE, LiveTextStream, OutputSink, UpdateSink
from toolc.runtime.secrets.redaction import Redactor

MAX_CONTROL: Final = 64 * 1024
"""The maximum size of a control message from a guest, in bytes. The longest one is a progress report."""

MAX_CALL: Final = frames.MAX_CONTROL // 2
"""The maximum size of a CALL message, in bytes.

The files of a tool have at most 16 MiB, and base64 makes them a third longer. Arguments are far smaller.
"""

STDIN_AHEAD: Final = 256 * 1024
"""How much of stdin is put into the outgoing buffer at a time, in bytes.

With less, the host would wake up for each frame. With more, the copy would only use memory.
"""

_LIVE_STREAMS: Final[Mapping[int, Stream]] = {
    frames.STDOUT: "stdout",
    frames.STDERR: "stderr",
    frames.YIELDED: "content",
}
"""The streams whose text is passed on as it arrives."""

GuestEnding: TypeAlias = Literal["exited", "signaled", "timed_out", "not_started", "failed"]
"""How a call ended, as reported by the guest. ``failed`` means that the sandbox could not start it."""


class CallTooLargeError(Exception):
    """A call exceeds the limits of the protocol. ``str(error)`` is a message for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitReport:
    """The guest's EXIT frame. ``oom_kills`` is None if the guest has no counter.

    ``processes_ended`` is set if every process of the call has ended. ``about`` is the guest's report about an HTTP
    call that may have been interrupted.
    """

    ending: GuestEnding
    status: int
    reason: str
    oom_kills: int | None
    cpu_ms: float | None
    peak_memory_bytes: int | None
    about: JsonObject = field(default_factory=dict)
    processes_ended: bool = False


class Connections(Protocol):
    """Handles the frames of connections."""

    def handle_frame(self, kind: int, stream: int, payload: bytes) -> None:
        """Handle one frame. Raises ``ProtocolError``."""


class Conversation:
    """One call over one wire, from the bundle to EXIT. A ``session`` makes several calls before EXIT.

    Bytes to send collect in ``outgoing``. Pass received bytes to ``receive``. ``exit_report`` is set at the end.
    ``ready`` is the report of a guest that already has its bundle and waits for the call.
    """

    def __init__(
        self,
        plan: Plan,
        timeout_ms: int,
        on_progress: UpdateSink,
        on_output: OutputSink | None = None,
        redactor: Redactor | None = None,
        *,
        session: bool = False,
        ready: JsonObject | None = None,
    ) -> None:
        self.outgoing = bytearray(bundle() if ready is None else b"")
        self.is_ready = ready is not None
        self.ready: JsonObject = ready or {}
        self.exit_report: ExitReport | None = None
        self.connections: Connections | None = None
        self._plan = plan
        self._timeout_ms = timeout_ms
        self._session = session
        self._on_progress = on_progress
        self._reader = frames.FrameReader(MAX_CONTROL)
        self._redactor = redactor or Redactor()
        self._outputs: dict[int, Output] = {}
        if not session:
            self._outputs = call_outputs(plan, self._redactor, self.report, self._show_text)
        limit = plan.profile.limits.output_bytes
        self._live = LiveTextStream(_LIVE_STREAMS.values(), limit, on_output) if on_output else None
        self.is_called = False
        self._is_stopped = False
        self._call = b""
        self._stdin = Input(frames.STDIN, plan.stdin, is_complete=not session)
        self._reports = 0
        self._max_reports = 0 if isinstance(plan.invocation, Exec) else max_reports(timeout_ms / 1000)

    def prepare(self) -> None:
        """Create the message of the call while the guest starts. Raises ``CallTooLargeError``."""
        message = call_message(self._plan, self._timeout_ms, session=self._session)
        if len(message) > MAX_CALL:
            raise CallTooLargeError(
                f"the call's arguments and files have {len(message)} bytes, but the limit is {MAX_CALL}; "
                "pass large data through the workspace"
            )
        self._call = frames.encode(frames.CALL, 0, message)

    def call(self) -> None:
        """Send the call and its stdin. The guest must be ready. Raises ``CallTooLargeError``."""
        if not self._call:
            self.prepare()
        self.is_called = True
        self.outgoing += self._call
        self._call = b""
        self.refill()

    def stop(self) -> None:
        """Make the guest kill the processes of the call. From now on, all frames except EXIT are ignored."""
        self._is_stopped, self._live = True, None
        self.outgoing += frames.encode(frames.STOP)

    def begin(self, delimiter: bytes, timeout_ms: int, on_progress: UpdateSink, on_output: OutputSink | None) -> None:
        """Begin the next call of a session. For a function, ``delimiter`` ends the call's part of each stream."""
        self._on_progress = on_progress
        limit = self._plan.profile.limits.output_bytes
        self._live = LiveTextStream(_LIVE_STREAMS.values(), limit, on_output) if on_output else None
        self._reports = 0
        self._max_reports = max_reports(timeout_ms / 1000) if isinstance(self._plan.invocation, PythonCall) else 0
        if isinstance(self._plan.invocation, Exec):
            return  # each program has its own outputs
        previous = self._outputs
        self._outputs = session_outputs(self._plan, delimiter, self._redactor, self.report, self._show_text)
        for stream, old in previous.items():
            if isinstance(old, LineOutput):
                self._outputs[stream] = old
                continue
            output = self._outputs[stream]
            output.window, output.ended = old.window, old.ended
            if isinstance(old, DelimitedOutput):
                data = output.add(old.rest)
                if self._live and stream in _LIVE_STREAMS:
                    self._live.add(_LIVE_STREAMS[stream], data)

    def begin_streams(self, outputs: dict[int, Output]) -> None:
        """Begin to serve a process that has no calls for the guest. ``outputs`` are its streams."""
        self._outputs = outputs

    def send(self, data: bytes) -> None:
        """Add data to the stdin of a session. ``refill`` sends it."""
        self._stdin.add(data)

    @property
    def unsent_bytes(self) -> int:
        """The size of the data for stdin that waits, in bytes."""
        return self._stdin.unsent_bytes

    @property
    def sends_request_first(self) -> bool:
        """Whether the host sends the call's request without waiting for the guest."""
        return isinstance(self._plan.invocation, HttpCall) and self._plan.invocation.can_send_early

    @property
    def responses(self) -> LineOutput:
        """The lines in which the process of a session answers."""
        return next(each for each in self._outputs.values() if isinstance(each, LineOutput))

    @property
    def is_delimited(self) -> bool:
        """Whether every stream of a session has reached its delimiter."""
        return all(each.is_done for each in self._outputs.values() if isinstance(each, DelimitedOutput))

    def refill(self) -> None:
        """Move more of stdin to ``outgoing``, within the guest's window and ``STDIN_AHEAD``."""
        while self.is_called and len(self.outgoing) < STDIN_AHEAD and (frame := self._stdin.next_frame()):
            self.outgoing += frame

    def receive(self, data: bytes) -> None:
        """Process received bytes up to EXIT. Later bytes are ignored. Raises ``ProtocolError``."""
        try:
            for kind, stream, payload in self._received(data):
                if not self.is_ready and (kind, stream) == (frames.READY, 0):
                    self.is_ready = True
                    self.ready = json_object(payload, "the READY message")
                elif not (self.is_ready and self.is_called):
                    raise ProtocolError(f"it sent data before {'the call' if self.is_ready else 'READY'}")
                elif stream >= frames.FIRST_CONNECTION and self.connections is not None:
                    self.connections.handle_frame(kind, stream, payload)
                elif kind in (frames.DATA, frames.END):
                    self._receive_output(kind, stream, payload)
                elif (kind, stream) == (frames.WINDOW, frames.STDIN):
                    self._stdin.widen(payload)
                    self.refill()
                elif (kind, stream) == (frames.PROGRESS, 0) and self._max_reports:
                    self._receive_progress(payload)
                elif (kind, stream) == (frames.EXIT, 0):
                    self.exit_report = read_report(json_object(payload, "the exit report"), self._redactor)
                else:
                    raise ProtocolError(f"it sent a frame of type {kind} on stream {stream}, which it must not send")
                if self.exit_report is not None:
                    break
        except frames.FrameError as error:
            raise ProtocolError(f"it sent an invalid frame ({error})") from None
        if self._live:
            self._live.flush()

    def _received(self, data: bytes) -> Iterator[frames.Frame]:
        """Yield the frames in ``data``, or only EXIT if the call was stopped."""
        for frame in self._reader.feed(data):
            if frame[0] == frames.EXIT or not self._is_stopped:
                yield frame

    def capture(self, stream: int) -> Capture | None:
        """Return the captured part of an output stream, or None if the plan has no such stream."""
        output = self._outputs.get(stream)
        if output is None:
            return None
        output.finish()
        return output.capture()

    def report(self, percent: float | None, message: str, content: tuple[Content, ...] = ()) -> None:
        """Report the progress of the tool, with content to show."""
        # Output that the tool wrote before the report comes first.
        if self._live:
            self._live.flush()
        self._on_progress(percent, self._redactor.head(message, MAX_MESSAGE), content)

    def outcome(self, ending: Ending, duration_ms: float = 0.0) -> Outcome:
        """Return the outcome of the call, with the captured output and the guest's reports."""
        report, call = self.exit_report, self._plan.invocation
        usage = Usage(
            duration_ms=duration_ms,
            cpu_ms=report.cpu_ms if report else None,
            peak_memory_bytes=report.peak_memory_bytes if report else None,
        )
        return Outcome(
            ending=ending,
            status=report.status if report else 0,
            stdout=self.capture(frames.STDOUT) or Capture(),
            stderr=self.capture(frames.STDERR) or Capture(),
            reply=self.capture(frames.REPLY),
            reason=report.reason if report else "",
            usage=usage,
            about=interim_details(call, report.about if report else {}) if isinstance(call, HttpCall) else {},
            processes_ended=report.processes_ended if report else None,
        )

    def _receive_output(self, kind: int, stream: int, payload: bytes) -> None:
        output = self._outputs.get(stream)
        if output is None or output.ended:
            raise ProtocolError(f"it sent output on stream {stream}, which is not open")
        if kind == frames.END:
            output.ended = True
            data = output.finish()
        elif not payload:
            raise ProtocolError(f"it sent an empty frame on stream {stream}")
        else:
            data = output.receive(stream, payload)
        self.outgoing += output.grant(stream)
        if self._live and stream in _LIVE_STREAMS:
            self._live.add(_LIVE_STREAMS[stream], data)
            if output.ended:
                self._live.end(_LIVE_STREAMS[stream])

    def show(self, stream: Stream, data: bytes) -> None:
        """Pass on the next bytes of a stream to the listener of the call."""
        if self._live:
            self._live.add(stream, data)

    def _show_text(self, data: bytes) -> None:
        self.show("content", data)

    def _receive_progress(self, payload: bytes) -> None:
        self._reports += 1
        if self._reports > self._max_reports:
            raise ProtocolError(f"it reported progress more than {self._max_reports} times")
        report = json_object(payload, "a progress report")
        percent, message = report.get("percent"), report.get("message")
        if not isinstance(message, str) or len(message) > MAX_MESSAGE:
            raise ProtocolError("the message of a progress report is missing or too long")
        if percent is not None and not (_is_number(percent) and 0 <= percent <= 100):
            raise ProtocolError("the percentage of a progress report is invalid")
        self.report(percent, message)


def call_message(plan: Plan, timeout_ms: int, *, session: bool = False) -> bytes:
    """Return the content of the CALL frame (see ``toolc.guest.job``) for a plan and a timeout in milliseconds.

    For a ``session``, the CALL starts the process that serves the calls, and the calls follow on stdin.
    """
    invocation = plan.invocation
    call: JsonObject = {
        "call_id": plan.call_id,
        "timeout_ms": timeout_ms,
        "directory": plan.working_directory,
        "environment": {variable.name: variable.value for variable in plan.env},
        "files": [_file(file, executable=isinstance(invocation, PluginCall)) for file in invocation.files]
        + [{"path": file.path, "text": file.text, "secret": True} for file in plan.secret_files],
        "open_files": plan.profile.limits.files,
        "file_size_bytes": plan.profile.limits.file_size_bytes,
    }
    listening = plan.profile.loopback
    if listening != LoopbackProxy():
        call["network"] = {
            "forwards": [[each.address, each.port, format_host(each.host)] for each in listening.forwards],
            "proxy": [listening.proxy, PROXY_PORT] if listening.proxy else None,
        }
    if isinstance(invocation, HttpCall):
        call["network"] = {"requests": [*ADDRESS]}
        call["http"] = http_message(invocation, plan.stream_bytes)
    elif isinstance(invocation, PluginCall | McpCall) or (isinstance(invocation, Exec) and not session):
        call["argv"] = list(invocation.argv)
    elif isinstance(invocation, PythonCall):
        call["python"] = {
            "entry": invocation.entry,
            "function": invocation.function,
            "arguments": {} if session else invocation.arguments,
        }
    if session:
        call["session"] = True
    if isinstance(invocation, Programs):
        call["supervised"] = True
    # To JSON and back, because marshal refuses or misreads values of subclasses, such as enums and NumPy numbers.
    return marshal.dumps(json.loads(json.dumps(call)), MARSHAL_VERSION)


def _file(file: File, *, executable: bool) -> JsonValue:
    content = {"base64": file.base64} if file.base64 is not None else {"text": file.text or ""}
    return {"path": file.path, **content} | ({"executable": True} if executable else {})


def read_report(message: JsonObject, redactor: Redactor) -> ExitReport:
    """Parse a report about the end of a call or of a program. Raises ``ProtocolError``."""
    ending, status, reason = message.get("ending"), message.get("status"), message.get("reason")
    known: GuestEnding | None = next((each for each in get_args(GuestEnding) if each == ending), None)
    if known is None or not _is_count(status) or status > 255 or not isinstance(reason, str):
        raise ProtocolError("its report about the end is invalid")
    oom_kills, cpu, peak = message.get("oom_kills"), message.get("cpu_ms"), message.get("peak_memory_bytes")
    about = message.get("about")
    return ExitReport(
        ending=known,
        status=status,
        reason=printable(redactor.head(reason, MAX_MESSAGE)),
        oom_kills=oom_kills if _is_count(oom_kills) else None,
        cpu_ms=cpu if _is_number(cpu) and 0 <= cpu < 1e15 else None,  # a guest can send infinity
        peak_memory_bytes=peak if _is_count(peak) else None,
        about=about if isinstance(about, dict) else {},
        processes_ended=message.get("processes_ended") is True,
    )


def json_object(payload: bytes, name: str) -> JsonObject:
    """Parse a control message. ``name`` describes it in the message of a ``ProtocolError``."""
    try:
        value = parse_json(payload)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ProtocolError(f"{name} is not a JSON object")
    return value


def _is_number(value: JsonValue) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: JsonValue) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
