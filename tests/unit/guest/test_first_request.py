"""The first request of an HTTP tool's call: the host begins it before the worker is awake, who gets the response.

In these namespaces loopback is down: nothing can be connected to, so what the worker reads came by no other way.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import pytest
from namespace_sandbox import NamespaceSandbox

from toolc.guest import frames, warmup
from toolc.guest.bundle import bundle
from toolc.guest.launch_args import NETWORK_ARGUMENT
from toolc.guest.warmup import MESSAGES
from toolc.model.json_schema import JsonObject

SECONDS = 60.0
FOR_EVER = ("0xffffffff", "0xffffffffffffffff", "0x0")
FIRST = frames.FIRST_CONNECTION

CALL: JsonObject = json.loads(json.dumps(warmup.CALL)) | {"timeout_ms": 20_000}
BY_ITSELF_HTTP: JsonObject = json.loads(json.dumps(warmup.HTTP)) | {"is_begun": False}
BY_ITSELF: JsonObject = CALL | {"http": BY_ITSELF_HTTP}
"""The same, with nothing that the host has begun."""


class Host:
    """The host's side of one call, by hand. ``last`` are the types of the frames that came together at last."""

    def __init__(self, sandbox: NamespaceSandbox) -> None:
        self._sandbox = sandbox
        self._reader = frames.FrameReader()
        self.said: list[tuple[int, int, bytes]] = []
        self.last: list[int] = []
        sandbox.socket.settimeout(SECONDS)
        sandbox.socket.sendall(bundle())
        self.until(frames.READY)

    def call(self, call: JsonObject) -> None:
        self._sandbox.socket.sendall(frames.encode_control(frames.CALL, json.dumps(call).encode()))

    def say(self, *said: bytes) -> None:
        self._sandbox.socket.sendall(b"".join(said))

    def until(self, kind: int) -> bytes:
        """Listen until a frame of this kind has come; its payload."""
        end = monotonic() + SECONDS
        while not (found := [each for each in self.said if each[0] == kind]):
            assert monotonic() < end, self.said
            data = self._sandbox.socket.recv(65536)
            assert data, self._sandbox.error_output()
            heard = [*self._reader.feed(data)]
            self.said += heard
            self.last = [kind for kind, _, _ in heard]
        return found[0][2]

    def reply(self) -> JsonObject:
        """The call's answer."""
        data = b"".join(each[2] for each in self.said if each[:2] == (frames.DATA, frames.REPLY))
        answer = json.loads(data)
        assert isinstance(answer, dict)
        return answer


def wait_until_rehearsed(sandbox: NamespaceSandbox) -> None:
    """Nobody says so, and the kernel knows: the worker is reading its call then, the supervisor polls for ever."""
    (supervisor,) = children(sandbox.process.pid)
    (worker,) = children(supervisor)
    end = monotonic() + SECONDS
    while True:
        polling, reading = waits_in(supervisor), waits_in(worker)
        # The third argument of poll(2) is its timeout, of ppoll(2) a pointer to one; see proc(5), ``syscall``.
        if len(polling) > 3 and polling[3] in FOR_EVER and len(reading) > 3 and reading[0] != polling[0]:
            return
        assert monotonic() < end, (polling, reading)
        sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def waits_in(pid: int) -> list[str]:
    """The number and the arguments of the system call that a process waits in; less while it runs."""
    return Path(f"/proc/{pid}/syscall").read_text().split()


def descriptors(pid: int) -> set[str]:
    return {each.name for each in Path(f"/proc/{pid}/fd").iterdir()}


def respond(host: Host) -> None:
    # The line before the response is the supervisor's own.
    response = MESSAGES.partition(b"\n")[2]
    host.say(
        frames.encode(frames.OPENED, FIRST),
        frames.encode(frames.DATA, FIRST, response),
        frames.encode(frames.END, FIRST),
    )


def refuse(host: Host) -> None:
    host.say(frames.encode(frames.CLOSE, FIRST, b'{"reason": "nobody may", "kind": "denied"}'))


def break_off(host: Host) -> None:
    head = struct.pack(">I", 100) + b"HTTP/1.1 200 OK\r\n"
    host.say(
        frames.encode(frames.OPENED, FIRST),
        frames.encode(frames.DATA, FIRST, head),
        frames.encode(frames.CLOSE, FIRST, b'{"reason": "no more", "kind": "network"}'),
    )


def test_the_worker_gets_the_response_of_the_first_request() -> None:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        host.call(CALL)
        respond(host)
        verdict = json.loads(host.until(frames.EXIT))
        assert (verdict["ending"], verdict["status"]) == ("exited", 0)
        assert verdict["cpu_ms"] > 0
        assert verdict["peak_memory_bytes"] > 1 << 20
        assert host.reply()["structured"] == [{"a": 1}]
        # Written at once: the host is woken once for both.
        assert {frames.DATA, frames.EXIT} <= {*host.last}
        assert frames.REQUEST not in [kind for kind, _, _ in host.said]


def test_the_worker_stays_until_the_sandbox_ends() -> None:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        host.call(CALL)
        respond(host)
        host.until(frames.EXIT)
        (supervisor,) = children(sandbox.process.pid)
        end = monotonic() + SECONDS
        # In poll(2) without an end: see ``wait_until_rehearsed``.
        while len(waiting := waits_in(worker := children(supervisor)[0])) < 4 or waiting[3] not in FOR_EVER:
            assert monotonic() < end, waiting
            sleep(0.01)
    assert not Path(f"/proc/{worker}").exists()


def test_a_warmed_up_sandbox_serves_its_call() -> None:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        wait_until_rehearsed(sandbox)
        (supervisor,) = children(sandbox.process.pid)
        (worker,) = children(supervisor)
        # Nothing is left open: each has three, one end of seven pipes and a pair, of which the worker has made
        # three its own; the supervisor has two of the wire, and two for the end of children.
        assert {pid: len(descriptors(pid)) for pid in (supervisor, worker)} == {supervisor: 15, worker: 8}
        # It has said nothing of it to the host, who next hears of the call.
        assert [kind for kind, _, _ in host.said] == [frames.READY]
        host.call(CALL)
        respond(host)
        assert json.loads(host.until(frames.EXIT))["ending"] == "exited"
        assert frames.REQUEST not in [kind for kind, _, _ in host.said]
        assert host.reply()["structured"] == [{"a": 1}]


@pytest.mark.parametrize(
    ("answer", "kind", "message"), [(refuse, "denied", "nobody may"), (break_off, "network", "the connection broke")]
)
def test_a_failed_request_is_an_error(answer: Callable[[Host], None], kind: str, message: str) -> None:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        host.call(CALL)
        answer(host)
        host.until(frames.EXIT)
        error = host.reply()["error"]
        assert isinstance(error, dict)
        assert (error["kind"], str(error["message"])[: len(message)]) == (kind, message)


def test_a_call_that_cannot_start_sends_no_request() -> None:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        # A library that has no room, as in a full /tool.
        host.call({**BY_ITSELF, "files": [{"path": "/proc/none/lib.py", "text": ""}]})
        verdict = json.loads(host.until(frames.EXIT))
        assert verdict["ending"] == "failed"
        assert frames.REQUEST not in [kind for kind, _, _ in host.said]


def test_an_access_token_is_requested_by_the_worker() -> None:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        host.call(BY_ITSELF | {"http": BY_ITSELF_HTTP | {"needs_token": True}})
        host.until(frames.EXIT)
        # It cannot connect here, so it asks for nothing, and nobody else does so for it.
        assert frames.REQUEST not in [kind for kind, _, _ in host.said]


def test_a_function_does_not_have_the_connection() -> None:
    code = (
        "import os\n"
        "def run():\n"
        "    held = []\n"
        "    for fd in range(40):\n"
        "        try: held.append(os.readlink('/proc/self/fd/%d' % fd))\n"
        "        except OSError: pass\n"
        "    return [each for each in held if each.startswith('socket:')]\n"
    )
    function: JsonObject = {
        "files": [{"path": "tool.py", "text": code}],
        "python": {"entry": "tool.py", "function": "run", "arguments": {}},
    }
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as sandbox:
        host = Host(sandbox)
        host.call({name: value for name, value in CALL.items() if name != "http"} | function)
        host.until(frames.EXIT)
        assert host.reply()["structured"] == [[]]
