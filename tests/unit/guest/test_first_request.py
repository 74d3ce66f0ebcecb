"""The first request of an HTTP tool's call: the host starts it before the worker is ready, which gets the response.

Loopback is down in these namespaces, so the worker cannot get the response in another way.
"""

import json
import marshal
import struct
from collections.abc import Callable, Iterator
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
NO_TIMEOUT = ("0xffffffff", "0xffffffffffffffff", "0x0")
FIRST = frames.FIRST_CONNECTION

CALL: JsonObject = json.loads(json.dumps(warmup.CALL)) | {"timeout_ms": 20_000}
NOT_BEGUN_HTTP: JsonObject = json.loads(json.dumps(warmup.HTTP)) | {"is_begun": False}
NOT_BEGUN: JsonObject = CALL | {"http": NOT_BEGUN_HTTP}
"""The same call without a request that the host has started."""


class Host:
    """The host's side of one call. ``last`` has the types of the frames that arrived together last."""

    def __init__(self, sandbox: NamespaceSandbox) -> None:
        self._sandbox = sandbox
        self._reader = frames.FrameReader()
        self.frames: list[tuple[int, int, bytes]] = []
        self.last: list[int] = []
        sandbox.socket.settimeout(SECONDS)
        sandbox.socket.sendall(bundle())
        self.until(frames.READY)

    def call(self, call: JsonObject) -> None:
        self._sandbox.socket.sendall(frames.encode(frames.CALL, 0, marshal.dumps(call)))

    def send(self, *parts: bytes) -> None:
        self._sandbox.socket.sendall(b"".join(parts))

    def until(self, kind: int) -> bytes:
        """Receive until a frame of this kind has arrived, and return its payload."""
        end = monotonic() + SECONDS
        while not (found := [each for each in self.frames if each[0] == kind]):
            assert monotonic() < end, self.frames
            data = self._sandbox.socket.recv(65536)
            assert data, self._sandbox.error_output()
            received = [*self._reader.feed(data)]
            self.frames += received
            self.last = [kind for kind, _, _ in received]
        return found[0][2]

    def reply(self) -> JsonObject:
        """Return the call's reply."""
        data = b"".join(each[2] for each in self.frames if each[:2] == (frames.DATA, frames.REPLY))
        reply: JsonObject = json.loads(data)
        return reply

    def kinds(self) -> list[int]:
        return [kind for kind, _, _ in self.frames]


@pytest.fixture
def sandbox() -> Iterator[NamespaceSandbox]:
    with closing(NamespaceSandbox(words=(NETWORK_ARGUMENT,))) as found:
        yield found


@pytest.fixture
def host(sandbox: NamespaceSandbox) -> Host:
    return Host(sandbox)


def wait_until_warmed_up(sandbox: NamespaceSandbox) -> None:
    """Wait until the worker reads its call and the supervisor polls without a timeout."""
    (supervisor,) = children(sandbox.process.pid)
    (worker,) = children(supervisor)
    end = monotonic() + SECONDS
    while True:
        polling, reading = waits_in(supervisor), waits_in(worker)
        # The third argument of poll(2) is its timeout, of ppoll(2) a pointer to one; see proc(5), ``syscall``.
        if len(polling) > 3 and polling[3] in NO_TIMEOUT and len(reading) > 3 and reading[0] != polling[0]:
            return
        assert monotonic() < end, (polling, reading)
        sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def waits_in(pid: int) -> list[str]:
    """Return the number and the arguments of the system call of a waiting process; fewer values while it runs."""
    return Path(f"/proc/{pid}/syscall").read_text().split()


def descriptors(pid: int) -> set[str]:
    return {each.name for each in Path(f"/proc/{pid}/fd").iterdir()}


def respond(host: Host) -> None:
    # The line before the response is written by the supervisor.
    response = MESSAGES.partition(b"\n")[2]
    host.send(
        frames.encode(frames.OPENED, FIRST),
        frames.encode(frames.DATA, FIRST, response),
        frames.encode(frames.END, FIRST),
    )


def refuse(host: Host) -> None:
    host.send(frames.encode(frames.CLOSE, FIRST, b'{"reason": "not allowed", "kind": "denied"}'))


def break_off(host: Host) -> None:
    head = struct.pack(">I", 100) + b"HTTP/1.1 200 OK\r\n"
    host.send(
        frames.encode(frames.OPENED, FIRST),
        frames.encode(frames.DATA, FIRST, head),
        frames.encode(frames.CLOSE, FIRST, b'{"reason": "no more", "kind": "network"}'),
    )


def test_the_worker_gets_the_response_of_the_first_request(host: Host) -> None:
    host.call(CALL)
    respond(host)
    report = json.loads(host.until(frames.EXIT))
    assert (report["ending"], report["status"]) == ("exited", 0)
    assert report["cpu_ms"] > 0
    assert report["peak_memory_bytes"] > 1 << 20
    assert host.reply()["structured"] == [{"a": 1}]
    # Written together, so that the host is woken once for both.
    assert {frames.DATA, frames.EXIT} <= {*host.last}
    assert frames.REQUEST not in host.kinds()


def test_the_worker_stays_until_the_sandbox_ends(sandbox: NamespaceSandbox, host: Host) -> None:
    host.call(CALL)
    respond(host)
    host.until(frames.EXIT)
    (supervisor,) = children(sandbox.process.pid)
    end = monotonic() + SECONDS
    # In poll(2) without a timeout: see ``wait_until_warmed_up``.
    while len(waiting := waits_in(worker := children(supervisor)[0])) < 4 or waiting[3] not in NO_TIMEOUT:
        assert monotonic() < end, waiting
        sleep(0.01)
    sandbox.close()
    assert not Path(f"/proc/{worker}").exists()


def test_a_warmed_up_sandbox_serves_its_call(sandbox: NamespaceSandbox, host: Host) -> None:
    wait_until_warmed_up(sandbox)
    (supervisor,) = children(sandbox.process.pid)
    (worker,) = children(supervisor)
    # Each has three standard descriptors and one end of seven pipes and a pair, of which the worker has moved three.
    # The supervisor also has two for the connection to the host, and two for the exit of children.
    assert {pid: len(descriptors(pid)) for pid in (supervisor, worker)} == {supervisor: 15, worker: 8}
    assert host.kinds() == [frames.READY]
    host.call(CALL)
    respond(host)
    assert json.loads(host.until(frames.EXIT))["ending"] == "exited"
    assert frames.REQUEST not in host.kinds()
    assert host.reply()["structured"] == [{"a": 1}]


@pytest.mark.parametrize(
    ("answer", "kind", "message"), [(refuse, "denied", "not allowed"), (break_off, "network", "the connection broke")]
)
def test_a_failed_request_is_an_error(host: Host, answer: Callable[[Host], None], kind: str, message: str) -> None:
    host.call(CALL)
    answer(host)
    host.until(frames.EXIT)
    error = host.reply()["error"]
    assert isinstance(error, dict)
    assert (error["kind"], str(error["message"])[: len(message)]) == (kind, message)


def test_a_call_that_cannot_start_sends_no_request(host: Host) -> None:
    # A file that cannot be written, as in a full /tool.
    host.call({**NOT_BEGUN, "files": [{"path": "/proc/none/lib.py", "text": ""}]})
    report = json.loads(host.until(frames.EXIT))
    assert report["ending"] == "failed"
    assert frames.REQUEST not in host.kinds()


def test_an_access_token_is_requested_by_the_worker(host: Host) -> None:
    host.call(NOT_BEGUN | {"http": NOT_BEGUN_HTTP | {"needs_token": True}})
    host.until(frames.EXIT)
    # It cannot connect in these namespaces, so there is no request.
    assert frames.REQUEST not in host.kinds()


def test_a_function_does_not_have_the_connection(host: Host) -> None:
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
    host.call({name: value for name, value in CALL.items() if name != "http"} | function)
    host.until(frames.EXIT)
    assert host.reply()["structured"] == [[]]
