"""A sandbox whose process serves several calls of a plugin, a Python function, or a program.

A plugin is called with lines: describe, compare, call, answer. Its answer may omit the call id. For that reason, a
plugin that writes while no call is open is stopped, and a call soon after an answer without an id first waits briefly
for another line. A line that arrives even later, after the next call was sent, cannot be distinguished from that call's
answer. Answers with a call id are not ambiguous and need no wait. A plugin that sends the id once must always send it.
"""

from collections.abc import Callable, Hashable
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic
from typing import Final, TypeAlias, TypeVar

from toolc.backends.plugin import difference
from toolc.backends.plugin_protocol import (
    DESCRIBE,
    LineError,
    Offer,
    PluginResponse,
    ProgressUpdate,
    call_line,
    encode_line,
    quote_line,
    read_message,
    read_offer,
)
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, McpCall, Plan, PluginCall, Profile, PythonCall
from toolc.model.result import Capture, Outcome
from toolc.model.spec.sandbox import EnvVar
from toolc.runtime.call_details import Timing, sandbox_details
from toolc.runtime.egress.egress_options import Egress
from toolc.runtime.output.progress import ProgressLines
from toolc.runtime.pool.pool import Lease
from toolc.runtime.sessions.programs import ProgramRequest, ProgramTable
from toolc.runtime.wire.session import EndedError, SessionCall, SessionWire
from toolc.sandbox.selection import in_use

T = TypeVar("T")

QUIET_SECONDS: Final = 0.005
"""How long to wait for unexpected output after an answer, in seconds. Two consecutive flushes take less time."""

_LOST: Final = "this call was not sent, and the state of the process is lost; call again to start a new process"

Start: TypeAlias = Callable[[Profile], Lease]
"""Returns a sandbox that no call has used. Raises ``InfrastructureError``."""

_CALL_ID: Final = "TOOLC_CALL_ID"
_ARGUMENT: Final = "ARG_"
"""The variable, and the prefix of the variables, that belong to a single call."""


def call_function(wire: SessionWire, plan: Plan, call: PythonCall) -> Outcome:
    """Call the function in the sandbox of ``wire``. Raises ``EndedError`` if the process ends."""
    answer = _request(wire, {"mark": wire.delimiter, "call_id": plan.call_id, "arguments": call.arguments})
    return replace(wire.outcome("answered"), reply=Capture(answer, b"", len(answer)))


def _request(wire: SessionWire, message: JsonObject) -> bytes:
    wire.send(encode_line(message))
    delimiter, _, answer = wire.read_line().partition(b" ")
    if delimiter.decode("ascii", "replace") != wire.delimiter:
        raise wire.broken("it answered a call that was not made")
    wire.await_delimiters()
    wire.deliver()
    return answer


class ProgramCalls:
    """Runs programs one after another in one sandbox."""

    def __init__(self, wire: SessionWire) -> None:
        self._wire = wire
        self._table = ProgramTable(wire.send, wire.redactor)
        wire.serve_programs(self._table.receive)

    def call(self, plan: Plan, call: Exec) -> Outcome:
        """Run one program. Raises ``EndedError`` if it times out or its sandbox ends first."""
        wire = self._wire
        program = self._table.start(
            ProgramRequest(
                argv=call.argv,
                environment=tuple((variable.name, variable.value) for variable in plan.env),
                output_bytes=plan.stream_bytes,
            ),
            lambda: None,
            on_output=wire.show,
            progress=ProgressLines(wire.report) if call.progress else None,
        )
        self._table.write(program, plan.stdin, is_last=True)
        try:
            wire.wait(lambda: program.end is not None)
        except EndedError as error:
            stdout, stderr = program.captures()
            raise EndedError(replace(error.outcome, stdout=stdout, stderr=stderr)) from None
        end = program.end
        assert end is not None
        wire.deliver()
        is_killed = end.out_of_memory and end.ending != "not_started"
        outcome = wire.outcome("out_of_memory" if is_killed else end.ending)
        usage = replace(outcome.usage, cpu_ms=end.cpu_ms)
        return replace(outcome, status=end.status, reason=end.reason, usage=usage, stdout=end.stdout, stderr=end.stderr)


class PluginCalls:
    """Makes calls to one plugin process, one after another."""

    def __init__(self) -> None:
        self._offer: Offer | None = None  # its description, requested only at its start
        self._answered = 0.0  # when it last answered, of monotonic
        self._last_id: str | None = None  # the call id in the last answer, if it had one

    def call(self, wire: SessionWire, call: PluginCall, call_id: str) -> Outcome:
        """Send one call and return its outcome. Raises ``EndedError`` if the process must not be used again."""
        offer = self._offer
        if offer is None:
            offer = self._offer = self.describe(wire)
        else:
            # An id may repeat, for example when a call is retried.
            is_unambiguous = self._last_id is not None and self._last_id != call_id
            quiet_until = 0.0 if is_unambiguous else self._answered + QUIET_SECONDS
            _expect_no_output(wire, quiet_until, f"after its last answer; {_LOST}")
        if reason := difference(call, offer):
            message = f"the plugin differs from the reviewed one and was not called: {reason}"
            raise EndedError(replace(wire.outcome("refused"), reason=message))
        wire.send(call_line(call_id, call.arguments, call.tool if offer.has_several else None))
        line, answer = _read_answer(wire, call_id)
        self._check_call_id(wire, call_id, answer.call_id)
        if trailing_data := wire.trailing_data:
            raise wire.broken(f"it answered more than once: {quote_line(trailing_data)}")
        wire.deliver()
        self._answered = monotonic()
        return replace(wire.outcome("answered"), reply=Capture(line, b"", len(line)))

    def _check_call_id(self, wire: SessionWire, call_id: str, answered_id: str | None) -> None:
        """Raise ``EndedError`` if an answer belongs to another call, or lacks the id that earlier answers had."""
        if answered_id is None and self._last_id is not None:
            raise wire.broken("its answer has no 'call_id', but an earlier answer had one")
        if answered_id is not None and answered_id != call_id:
            other_id = wire.redactor.text(answered_id)
            raise wire.broken(f"it answered the call {other_id!r:.80}, but {call_id!r:.80} was open")
        self._last_id = answered_id

    def describe(self, wire: SessionWire) -> Offer:
        """Request the plugin's description, which completes the start of the plugin. Raises ``EndedError``."""
        wire.send(DESCRIBE)
        line = wire.redactor.data(_with_reason(wire.read_line, "before its description"))
        try:
            offer = read_offer(line)
        except LineError as error:
            raise wire.broken(str(error)) from None
        _expect_no_output(wire, 0.0, "after its description")
        return offer


def _read_answer(wire: SessionWire, call_id: str) -> tuple[bytes, PluginResponse]:
    """Return the answer to the open call, both as a line and parsed. Updates before it are passed on."""
    updates = wire.updates()
    while True:
        line = _with_reason(wire.read_line, "before it answered")
        try:
            message = _read(wire, line)
        except LineError as error:
            raise wire.broken(str(error)) from None
        if isinstance(message, PluginResponse):
            updates.finish()
            return line, message
        if message.call_id not in {None, call_id}:
            other_id = wire.redactor.text(message.call_id or "")
            raise wire.broken(f"its update is for the call {other_id!r:.80}, but {call_id!r:.80} was open")
        updates.report(message.percent, message.message, message.content)
        wire.enforce_deadline()


def _read(wire: SessionWire, line: bytes) -> PluginResponse | ProgressUpdate:
    """Return a plugin's message, parsed but not redacted. Raises ``LineError``, whose message contains no secret."""
    try:
        return read_message(line)
    except LineError:
        read_message(wire.redactor.data(line))
        raise


def _expect_no_output(wire: SessionWire, until: float, when: str) -> None:
    """Raise ``EndedError`` if the process writes or ends before ``until``, a time of the monotonic clock."""
    _with_reason(lambda: wire.listen(until), when)
    if trailing_data := wire.trailing_data:
        raise wire.broken(f"it wrote unexpected output, {quote_line(trailing_data)}; {_LOST}")


def _with_reason(wait: Callable[[], T], when: str) -> T:
    """Return the result of ``wait``. If it raises ``EndedError``, add ``when`` to the reason."""
    try:
        return wait()
    except EndedError as error:
        outcome = error.outcome
        if outcome.ending in {"exited", "signaled", "broken"}:
            outcome = replace(outcome, reason=f"{outcome.reason} {when}".lstrip())
        raise EndedError(outcome) from None


class SandboxServer:
    """A sandbox with a process that serves several calls, until ``close``."""

    def __init__(self, plan: Plan, start: Start, egress: Egress, timing: Timing) -> None:
        self.calls = 0
        self._cleanup = ExitStack()
        self._cleanup.enter_context(in_use())
        with self._cleanup:
            lease = start(plan.profile)
            self.sandbox = lease.sandbox
            self._cleanup.callback(lease.close)
            lease.record_start(timing)
            request = replace(start_request(plan), profile=lease.profile)
            self._wire = SessionWire(self.sandbox, request, egress, lease.ready)
            self._cleanup.callback(self._wire.close)
            self._plugin = PluginCalls()
            self._programs = ProgramCalls(self._wire) if isinstance(plan.invocation, Exec) else None
            self._cleanup = self._cleanup.pop_all()

    @property
    def has_ended(self) -> bool:
        """Always False. If the process has ended, the next call detects it and reports an error."""
        return False

    def call(self, plan: Plan, call: SessionCall) -> Outcome:
        """Run one call. Raises ``EndedError`` if no further call can follow."""
        self.calls += 1
        self._wire.begin(call)
        outcome = self._dispatch(plan)
        # The state of a process is unknown once a child was killed.
        if outcome.ending == "out_of_memory" or self.sandbox.out_of_memory():
            raise EndedError(replace(outcome, ending="out_of_memory"))
        return outcome

    def _dispatch(self, plan: Plan) -> Outcome:
        match plan.invocation:
            case PluginCall():
                return self._plugin.call(self._wire, plan.invocation, plan.call_id)
            case PythonCall():
                return call_function(self._wire, plan, plan.invocation)
            case Exec():
                assert self._programs is not None
                return self._programs.call(plan, plan.invocation)
            case _:
                raise TypeError(f"{plan.invocation.tag!r} calls cannot have a session")

    def details(self) -> JsonObject:
        """Return the sandbox's ``details``. ``session.call`` counts from 1 for each new sandbox."""
        return sandbox_details(self.sandbox.user, self.sandbox.image) | {"session": {"call": self.calls}}

    def close(self) -> None:
        """Stop the process and close its sandbox."""
        self._cleanup.close()


def idle_state(plan: Plan) -> Hashable:
    """Return the part of a plan that belongs to the process rather than to a single call."""
    invocation: Hashable
    match plan.invocation:
        case PluginCall(argv=argv, files=files):
            invocation = argv, files
        case McpCall(argv=argv, files=files, endpoint=endpoint, secrets=secrets):
            invocation = argv, files, repr(endpoint), secrets  # it has no hash
        case PythonCall(entry=entry, function=function, files=files):
            invocation = entry, function, files
        case Exec(files=files, progress=progress):
            invocation = files, progress
        case _:
            invocation = None
    return plan.invocation.tag, plan.profile, invocation, _process_env(plan), plan.allow, plan.secret_files


def start_request(plan: Plan) -> Plan:
    """Return the plan that starts the process. It is the first call's plan without the data of that call."""
    return replace(plan, env=_process_env(plan), stdin=b"")


def _process_env(plan: Plan) -> tuple[EnvVar, ...]:
    return tuple(each for each in plan.env if each.name != _CALL_ID and not each.name.startswith(_ARGUMENT))
