import threading

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
    before = threading.active_count()
    sandbox = FakeEngine(lambda _: Outcome(ending="exited")).start(Profile(), ())
    assert threading.active_count() == before + 1
    sandbox.close()
    assert threading.active_count() == before
    assert (sandbox.read(), sandbox.write(b"xyz"), sandbox.fileno()) == (b"", 3, -1)
