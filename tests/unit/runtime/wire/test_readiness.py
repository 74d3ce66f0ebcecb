import json
import socket
from contextlib import closing

import pytest

from toolc.guest import frames
from toolc.guest.bundle import bundle
from toolc.guest.frames import encode
from toolc.model.errors import InfrastructureError, SandboxDiedError
from toolc.model.plan import Mount, Profile
from toolc.model.result import Outcome
from toolc.runtime.wire import readiness
from toolc.runtime.wire.readiness import confirm_ready, make_ready
from toolc.sandbox.interface import SocketStream
from toolc.testing.fake_engine import FakeEngine

READY = encode(frames.READY, 0, b'{"python": "3.11.2"}')


class Scripted(SocketStream):
    """A sandbox whose guest has sent ``data``."""

    user = "scripted"
    image = None
    created = 0.0

    def __init__(self, data: bytes, *, is_alive: bool = True) -> None:
        ours, self.guest = socket.socketpair()
        super().__init__(ours)
        self.guest.sendall(data)
        if not is_alive:
            self.guest.shutdown(socket.SHUT_WR)

    def out_of_memory(self) -> bool:
        return False

    def memory_kills(self) -> int:
        return int(self.out_of_memory())

    def error_output(self) -> str:
        return "its last words"

    def close(self) -> None:
        super().close()
        self.guest.close()


def test_a_new_guest_gets_its_source_and_reports() -> None:
    with closing(Scripted(READY)) as sandbox:
        assert make_ready(sandbox, Profile()) == {"python": "3.11.2"}
        assert sandbox.guest.recv(1 << 20, socket.MSG_WAITALL | socket.MSG_DONTWAIT)[:100] == bundle()[:100]


def test_a_waiting_guest_is_asked_again() -> None:
    with closing(Scripted(READY)) as sandbox:
        assert confirm_ready(sandbox, Profile()) == {"python": "3.11.2"}
        assert sandbox.guest.recv(1000) == encode(frames.READY)


def test_both_steps_work_with_a_real_conversation() -> None:
    with closing(FakeEngine(lambda _: Outcome(ending="exited")).start(Profile(), ())) as sandbox:
        assert make_ready(sandbox, Profile()) == confirm_ready(sandbox, Profile())


def test_a_sandbox_that_ended_is_an_error() -> None:
    with closing(Scripted(b"", is_alive=False)) as sandbox, pytest.raises(SandboxDiedError, match="its last words"):
        confirm_ready(sandbox, Profile())


def test_a_guest_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "CONFIRM_SECONDS", 0.01)
    with closing(Scripted(READY[:-1])) as sandbox, pytest.raises(SandboxDiedError, match=r"not ready after 0\.01"):
        confirm_ready(sandbox, Profile())


@pytest.mark.parametrize(
    "data",
    [encode(frames.EXIT, 0, b"{}"), READY + READY, encode(frames.READY, 0, b"["), b"\xff" * 100],
    ids=["another frame", "two answers", "no JSON", "no frame"],
)
def test_any_other_answer_is_an_error(data: bytes) -> None:
    with closing(Scripted(data)) as sandbox, pytest.raises(SandboxDiedError, match="violated the wire protocol"):
        confirm_ready(sandbox, Profile())


def test_the_workspace_must_still_be_the_right_one() -> None:
    mount = Mount(source="/w", mode="ro", owner=1, group=1, device=5, inode=6)
    seen = encode(frames.READY, 0, json.dumps({"workspace": None}).encode())
    with closing(Scripted(seen)) as sandbox, pytest.raises(InfrastructureError, match="the sandbox has no workspace"):
        confirm_ready(sandbox, Profile(workspace=mount))
