"""Start the guest of a new sandbox, wait until it is ready for a call, and check later that it still is."""

import select
from time import monotonic
from typing import Final

from toolc.guest import frames
from toolc.guest.bundle import bundle
from toolc.guest.frames import FrameError, FrameReader
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Profile
from toolc.runtime.cancellation import poll_ms
from toolc.runtime.wire.call_loop import START_SECONDS, sandbox_died, verify_workspace_mount
from toolc.runtime.wire.protocol import MAX_CONTROL, json_object
from toolc.sandbox.interface import EngineSandbox

CONFIRM_SECONDS: Final = 0.5
"""How long a waiting guest may take to answer, in seconds. Starting a new sandbox takes less."""


def make_ready(sandbox: EngineSandbox, profile: Profile) -> JsonObject:
    """Send the guest to a new sandbox of ``profile``, and wait for it as ``await_ready`` does."""
    return await_ready(sandbox, profile, bundle())


def await_ready(sandbox: EngineSandbox, profile: Profile, request: bytes = b"") -> JsonObject:
    """Send ``request``, and return the guest's report when it is ready for a call.

    Raises ``InfrastructureError``. The caller must close the sandbox.
    """
    return _ask(sandbox, profile, request, START_SECONDS)


def confirm_ready(sandbox: EngineSandbox, profile: Profile) -> JsonObject:
    """Return a new report of a guest that waits for a call. It shows that the guest is alive and has its workspace.

    Raises ``InfrastructureError``. The caller must close the sandbox.
    """
    return _ask(sandbox, profile, frames.encode(frames.READY), CONFIRM_SECONDS)


def _ask(sandbox: EngineSandbox, profile: Profile, request: bytes, seconds: float) -> JsonObject:
    deadline, outgoing = monotonic() + seconds, memoryview(request)
    reader, received = FrameReader(MAX_CONTROL), list[frames.Frame]()
    try:
        while not received:
            outgoing = outgoing[sandbox.write(outgoing) :] if outgoing else outgoing
            data = sandbox.read()
            if data == b"":
                raise sandbox_died(sandbox, "the sandbox ended before it was ready")
            if data is not None:
                received += reader.feed(data)
            elif (left := deadline - monotonic()) > 0:
                poll = select.poll()
                poll.register(sandbox.fileno(), select.POLLIN | (select.POLLOUT if outgoing else 0))
                poll.poll(poll_ms(left))
            else:
                raise sandbox_died(sandbox, f"the sandbox was not ready after {seconds:g} seconds")
        if [each[:2] for each in received] != [(frames.READY, 0)]:
            raise frames.ProtocolError("it sent data before the call")
        ready = json_object(received[0][2], "the READY message")
    except (FrameError, frames.ProtocolError) as error:
        raise sandbox_died(sandbox, f"the sandbox violated the wire protocol: {error}") from None
    verify_workspace_mount(profile.workspace, ready)
    return ready
