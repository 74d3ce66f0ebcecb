"""One cold call by the runtime alone: what ``runc run`` takes for the guest, the profile and the call of toolc."""

import os
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toolc.guest import frames
from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS, bundle
from toolc.model.plan import Exec, Plan, Profile
from toolc.runtime.wire.protocol import call_message
from toolc.sandbox.oci import probe
from toolc.sandbox.oci.engine import OciEngine, _user_of
from toolc.sandbox.oci.oci_sandbox import STARTED, RuntimeProcess, with_stream_setup

PROFILE = Profile()


@contextmanager
def bare_runc(*argv: str) -> Iterator[Callable[[], None]]:
    """Yield a function that runs a program in a new sandbox of the standard profile, and waits for its end."""
    engine = OciEngine()
    engine.start(PROFILE, BOOTSTRAP_ARGUMENTS).close()
    directory, root, user = engine._live.kept, engine._root_spec(PROFILE), _user_of(PROFILE)
    call = call_message(Plan(profile=PROFILE, invocation=Exec(argv=argv), call_id="bench"), 30_000)
    runtime = probe.runtime()
    assert runtime is not None
    assert directory is not None
    command = with_stream_setup(BOOTSTRAP_ARGUMENTS)

    def run() -> None:
        paths = directory.new_sandbox(PROFILE, user, command, runtime, root)
        ours, theirs = socket.socketpair()
        with ours, Path(os.devnull).open("w") as errors:
            process = RuntimeProcess(paths.command(), theirs.fileno(), errors.fileno())
            theirs.close()
            ours.sendall(bundle())
            assert ours.recv(len(STARTED)) == STARTED
            _receive(ours, frames.READY)
            ours.sendall(frames.encode(frames.CALL, 0, call) + frames.encode(frames.END, frames.STDIN))
            _receive(ours, frames.EXIT)
            ours.shutdown(socket.SHUT_RDWR)
            process.wait()
        paths.pid_file.unlink()

    try:
        yield run
    finally:
        engine.close()


def _receive(stream: socket.socket, kind: int) -> None:
    """Receive frames up to one of this kind."""
    reader = frames.FrameReader()
    while True:
        select.select([stream], [], [])
        data = stream.recv(1 << 18)
        assert data
        if any(found == kind for found, _, __ in reader.feed(data)):
            return
