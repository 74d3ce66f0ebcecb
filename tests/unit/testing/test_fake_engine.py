import fcntl
import select
import signal
import sys
import termios
import threading

from engines.waiting_sandboxes import until

from toolc.guest import frames
from toolc.guest.bundle import bundle
from toolc.model.plan import Profile
from toolc.model.result import Outcome
from toolc.sandbox.interface import Engine, EngineSandbox
from toolc.testing.fake_engine import FakeEngine


def test_the_fake_engine_accepts_every_profile() -> None:
    fake = FakeEngine(lambda _: Outcome(ending="exited"))
    engine: Engine = fake
    assert engine.name == "fake"
    assert engine.probe().available
    assert engine.unsupported_reason(Profile(nonroot=True)) is None
    sandbox: EngineSandbox = engine.start(Profile(nonroot=True), ())
    sandbox.close()
    sandbox.close()
    assert fake.profiles == [Profile(nonroot=True)]
    engine.close()


def test_closing_a_sandbox_ends_its_thread() -> None:
    before = {*threading.enumerate()}
    sandbox = FakeEngine(lambda _: Outcome(ending="exited")).start(Profile(), ())
    (thread,) = {*threading.enumerate()} - before
    sandbox.close()
    thread.join(60)
    assert not thread.is_alive()
    assert (sandbox.read(), sandbox.write(b"xyz"), sandbox.fileno()) == (b"", 3, -1)


def test_a_signal_while_the_guest_is_received_does_not_end_the_sandbox() -> None:
    """For example SIGCONT, when a stopped program continues."""

    def has_received(sandbox: EngineSandbox) -> bool:
        return int.from_bytes(fcntl.ioctl(sandbox, termios.TIOCOUTQ, bytes(4)), sys.byteorder) == 0

    before, former = {*threading.enumerate()}, signal.signal(signal.SIGUSR1, lambda *_: None)
    sandbox = FakeEngine(lambda _: Outcome(ending="exited")).start(Profile(), ())
    (thread,) = {*threading.enumerate()} - before
    try:
        for piece in (bundle()[:1000], bundle()[1000:2000]):
            assert sandbox.write(piece) == 1000
            until(lambda: has_received(sandbox))
            signal.pthread_kill(thread.ident or 0, signal.SIGUSR1)
        rest = memoryview(bundle())[2000:]
        while rest:
            rest = rest[sandbox.write(rest) :]
        # The thread answers only after it has handled its signals.
        assert select.select([sandbox], [], [], 60)[0]
        assert (sandbox.read() or b"")[4:5] == bytes([frames.READY])
    finally:
        signal.signal(signal.SIGUSR1, former)
        sandbox.close()
