"""The socket that toolc mounts into a container: which containers have one, and that it is removed."""

import os
import re
import resource
import select
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from engines.docker_cases import client, engine, own_containers, run
from engines.sandbox_output import TIMEOUT, output
from silent_daemon import SilentDaemon

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS
from toolc.guest.frames import LENGTH
from toolc.model.errors import InfrastructureError
from toolc.model.plan import Profile
from toolc.sandbox.docker import container, streams
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.daemon import Daemon
from toolc.sandbox.docker.docker_sandbox import DockerSandbox
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.docker.streams import AttachedStream, GuestListener, GuestSocketStream
from toolc.sandbox.host import owner
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder

DAEMON = Daemon(client=Client("/run/docker.sock", "/v1.41"), cpus=2, architecture="x86_64")

__all__ = ["client", "engine"]

KERNEL = os.uname().release
WHERE = b"""
import os, stat
folder = "/.toolc-wire"
print("a socket" if stat.S_ISSOCK(os.fstat(0).st_mode) else "the daemon's", os.listdir(folder)
      if os.path.exists(folder) else "nothing")
"""
WHAT = b"""
import os
folder = "/.toolc-wire"
print(os.statvfs(folder).f_flag & os.ST_RDONLY, len(os.listdir("/proc/self/fd")),
      *(line.split()[3] for line in open("/proc/self/mountinfo") if folder in line))
"""


def toolc(sandbox: DockerSandbox, program: bytes) -> str:
    """Return the output of a program that is sent instead of the guest's."""
    content = LENGTH.pack(len(program)) + program
    rest = LENGTH.pack(len(content)) + content
    while not (sent := sandbox.write(rest)):
        assert select.select([sandbox], [], [], TIMEOUT)[0]
        assert sandbox.read() is None
    assert sent == len(rest)
    return output(sandbox)


def sockets() -> list[Path]:
    return list(Owner.current().directory().glob("start-*/*/wire"))


@pytest.fixture
def behind(client: Client, tmp_path: Path) -> Iterator[tuple[SilentDaemon, DockerEngine]]:
    """The machine's daemon behind a proxy that changes some words, and an engine that uses it."""
    with (
        SilentDaemon(tmp_path / "daemon.sock", client.socket_path) as daemon,
        closing(DockerEngine(daemon.path)) as engine,
    ):
        yield daemon, engine


def test_a_guest_uses_a_hidden_socket(engine: DockerEngine) -> None:
    with closing(engine.start(Profile(), BOOTSTRAP_ARGUMENTS)) as sandbox:
        assert toolc(sandbox, WHERE) == "a socket []\n"
        assert sockets() == []


def test_the_folder_of_the_socket_is_removed_but_mounted(engine: DockerEngine) -> None:
    with closing(engine.start(Profile(), BOOTSTRAP_ARGUMENTS)) as sandbox:
        # Read-only; stdin, stdout, stderr and the listing's own.
        assert re.fullmatch(r"1 4 \S+/start-\d+/\d+//deleted\n", toolc(sandbox, WHAT))


def test_other_programs_use_the_daemons_stream(engine: DockerEngine) -> None:
    assert run(engine, Profile(), WHERE.decode()) == "the daemon's nothing\n"


def test_a_guest_without_the_module_for_sockets_uses_the_daemons_stream(engine: DockerEngine) -> None:
    with closing(before_it_comes(engine, "import sys; sys.modules['_socket'] = None")) as sandbox:
        assert toolc(sandbox, WHERE) == "the daemon's []\n"


def test_concurrent_starts_have_separate_sockets(engine: DockerEngine) -> None:
    def tell(number: int) -> str:
        with closing(engine.start(Profile(), BOOTSTRAP_ARGUMENTS)) as sandbox:
            return toolc(sandbox, b"print(%d)" % number)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(tell, range(12))] == [f"{number}\n" for number in range(12)]
    assert sockets() == []


def test_stderr_is_kept_when_the_guest_dies(engine: DockerEngine) -> None:
    sandbox = engine.start(Profile(), BOOTSTRAP_ARGUMENTS)
    assert toolc(sandbox, b"raise SystemExit('that is ' + 'why ' * 2000)") == ""
    sandbox.close()
    assert sandbox.error_output() == ("that is " + "why " * 2000)[:4096]


def before_it_comes(engine: DockerEngine, program: str) -> DockerSandbox:
    """Start a sandbox whose process 1 runs ``first`` before the guest."""
    *options, bootstrap = BOOTSTRAP_ARGUMENTS
    return engine.start(Profile(), (*options, f"{program}\n{bootstrap}"))


def test_a_guest_may_connect_late(engine: DockerEngine) -> None:
    with closing(before_it_comes(engine, "import time; time.sleep(0.5)")) as sandbox:
        assert toolc(sandbox, WHERE) == "a socket []\n"


@pytest.mark.timeout(120)
def test_a_guest_that_never_connects_does_not_block(engine: DockerEngine, client: Client) -> None:
    sandboxes = [before_it_comes(engine, "import time; time.sleep(1000)") for _ in range(8)]
    for each in sandboxes:
        assert each.read() is None
        each.close()
    assert own_containers(client) == []
    assert sockets() == []


def test_stderr_is_kept_when_the_guest_dies_before_it_connects(engine: DockerEngine) -> None:
    sandbox = before_it_comes(engine, "raise SystemExit('not today')")
    with closing(sandbox):
        assert output(sandbox) == ""
    assert sandbox.error_output() == "not today\n"


@pytest.mark.timeout(120)
def test_unread_stderr_does_not_block_close(engine: DockerEngine, client: Client) -> None:
    flood = """
import os
begun = os.pipe()
if os.fork() == 0:
    while os.write(2, b'F' * 65536):
        begun = begun and os.write(begun[1], b'.') and None
os.read(begun[0], 1)
"""
    with closing(before_it_comes(engine, flood)) as sandbox:
        assert toolc(sandbox, b"import time; time.sleep(0.3); os.close(0); os.close(1)") == ""
    assert own_containers(client) == []
    assert sandbox.error_output().startswith("FFFF")


@pytest.mark.parametrize("exists", [False, True], ids=["no such folder there", "another folder there"])
def test_a_daemon_with_other_files_uses_no_socket(behind: tuple[SilentDaemon, DockerEngine], exists: bool) -> None:
    daemon, engine = behind
    folders = []

    def elsewhere(request: bytes) -> bytes:
        found = re.search(rb'([^/"]+)/start-\d+/1(?=", ?"Target": ?"/.toolc-wire")', request)
        if found is None:
            return request
        reworded = request[: found.start()] + b"x" * len(found[1]) + request[found.end(1) :]
        folders.append(Path(os.fsdecode(reworded[: found.end()].rpartition(b'"')[2])))
        if exists:
            folders[-1].mkdir(parents=True)
        return reworded

    daemon.reword = elsewhere
    try:
        for _ in range(2):
            with closing(engine.start(Profile(), BOOTSTRAP_ARGUMENTS)) as sandbox:
                assert toolc(sandbox, WHERE) == ("the daemon's []\n" if exists else "the daemon's nothing\n")
    finally:
        if exists:
            shutil.rmtree(folders[0].parent.parent)
    # A path that was refused once for an image is not tried again.
    assert len(folders) == (2 if exists else 1)
    assert sockets() == []


@pytest.mark.parametrize("left", [0, 1])
def test_a_socket_that_cannot_be_created_leaves_nothing(left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    current, before = Owner.current(), descriptors()
    monkeypatch.setattr(Owner, "current", lambda: current)
    folder = StartFolder()
    with few_descriptors(left), pytest.raises(InfrastructureError, match="too many open files"):
        streams.listen(folder)
    folder.close()
    assert (folder.path.exists(), descriptors()) == (False, before)


def descriptors() -> list[int]:
    # The listing's own is no longer open when it is looked for.
    return [number for number in range(256) if Path(f"/proc/self/fd/{number}").exists()]


@contextmanager
def few_descriptors(left: int) -> Iterator[None]:
    """Allow at most ``left`` further open files in the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = sorted({*range(256)} - {*descriptors()})
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[left], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_start_that_fails_leaves_nothing(
    behind: tuple[SilentDaemon, DockerEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon, engine = behind
    monkeypatch.setattr(container, "START_SECONDS", 0.3)
    daemon.swallow = r"POST \S*/start"
    with pytest.raises(InfrastructureError, match="did not answer in time"):
        engine.start(Profile(), BOOTSTRAP_ARGUMENTS)
    # A daemon that does not answer does not get the request again without a socket.
    assert len(daemon.swallowed) == 1
    assert sockets() == []


@pytest.mark.usefixtures("engine")
def test_folders_of_dead_owners_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Apart from the machine's own owners, whose engines remove it as well.
    monkeypatch.setattr(owner, "_base", lambda: tmp_path)
    with subprocess.Popen(["true"]) as process:
        process.wait()
    dead = replace(Owner.current(), pid=process.pid).directory()
    (dead / "start-1").mkdir()
    (dead / "start-1" / "1").touch()
    alive = Owner.current().directory() / "start-x"
    alive.mkdir()
    with closing(DockerEngine()) as another:
        another.start(Profile(), BOOTSTRAP_ARGUMENTS).close()
    assert not dead.exists()
    assert alive.exists()


class Meeting:
    """A socket and a daemon's stream to which no guest has connected yet."""

    def __init__(self) -> None:
        self.start = StartFolder()
        self.listener = streams.listen(self.start)
        self.folder = self.listener.folder
        ours, self.daemon = socket.socketpair()
        self.attached = AttachedStream(ours)
        self.stream = GuestSocketStream(self.listener, self.attached)

    def close(self) -> None:
        for _ in range(2):
            self.stream.close()
        self.attached.close()
        self.daemon.close()
        assert self.stream.fileno() == -1
        assert not self.folder.exists()
        self.start.close()

    def come(self) -> socket.socket:
        with ExitStack() as undo:
            connection = undo.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(str(self.folder / "wire"))
            undo.pop_all()
        return connection

    def is_ready(self) -> bool:
        return select.select([self.stream], [], [], 0)[0] != []


@pytest.fixture
def meeting() -> Iterator[Meeting]:
    with closing(Meeting()) as meeting:
        yield meeting


def piece(output: int, data: bytes) -> bytes:
    return bytes([output, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


def test_nothing_is_sent_before_the_guest_connects(meeting: Meeting) -> None:
    assert not meeting.is_ready()
    assert (meeting.stream.write(b"x"), meeting.stream.read()) == (0, None)
    # What a runtime warns of is not an answer.
    meeting.daemon.sendall(piece(2, b"warning"))
    assert meeting.is_ready()
    assert (meeting.stream.write(b"x"), meeting.stream.read()) == (0, None)
    assert not meeting.is_ready()


def test_only_the_first_connection_is_accepted(meeting: Meeting) -> None:
    with meeting.come() as guest:
        assert meeting.is_ready()
        assert meeting.stream.read() is None
        assert not meeting.folder.exists()
        assert sockets() == []
        with pytest.raises(FileNotFoundError):
            meeting.come()
        assert not meeting.is_ready()
        guest.sendall(b"ready")
        assert meeting.is_ready()
        assert (meeting.stream.read(), meeting.stream.read()) == (b"ready", None)
        assert meeting.stream.write(b"call") == 4
        assert guest.recv(10) == b"call"
        # What comes from the daemon is no longer looked at.
        meeting.daemon.sendall(piece(1, b"other"))
        assert not meeting.is_ready()


def test_a_connection_without_free_descriptors(meeting: Meeting) -> None:
    with meeting.come():
        with (
            few_descriptors(0),
            pytest.raises(InfrastructureError, match="cannot accept the connection of a sandbox: Too many open"),
        ):
            meeting.stream.read()
        assert meeting.stream.read() is None
        assert not meeting.folder.exists()


def test_a_guest_that_cannot_connect_uses_the_attached_stream(meeting: Meeting) -> None:
    meeting.daemon.sendall(piece(1, b"-"))
    assert meeting.is_ready()
    assert meeting.stream.read() is None
    assert sockets() == []
    meeting.daemon.sendall(piece(1, b"ready"))
    assert (meeting.stream.read(), meeting.stream.read()) == (b"ready", None)
    assert meeting.stream.write(b"call") == 4
    assert meeting.daemon.recv(10) == b"call"


def test_output_after_the_failure_report_is_kept(meeting: Meeting) -> None:
    meeting.daemon.sendall(piece(1, b"-ready"))
    assert meeting.stream.read() == b"ready"


def test_output_before_the_connection_is_read(meeting: Meeting) -> None:
    meeting.daemon.sendall(piece(1, b"Welcome to Python"))
    assert meeting.stream.read() == b"Welcome to Python"


def test_a_dead_guest(meeting: Meeting) -> None:
    meeting.daemon.close()
    assert meeting.is_ready()
    assert meeting.stream.read() == b""


def test_no_connection_after_close(meeting: Meeting) -> None:
    meeting.stream.close()
    with pytest.raises(FileNotFoundError):
        meeting.come()


def test_no_descriptor_stays_open(meeting: Meeting) -> None:
    before = descriptors()
    for _ in range(3):
        with closing(Meeting()) as another, another.come():
            another.stream.read()
    assert descriptors() == before


def test_close_without_free_descriptors_removes_the_files(meeting: Meeting) -> None:
    with few_descriptors(0):
        meeting.stream.close()
    assert not meeting.folder.exists()


def test_only_processes_in_the_container_reach_the_socket(meeting: Meeting) -> None:
    assert meeting.folder.stat().st_mode & 0o777 == 0o755
    assert meeting.folder.parent.stat().st_mode & 0o007 == 0


def test_the_path_of_the_folder_may_have_any_length(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 200)
    with closing(GuestListener(folder)):
        assert (folder / "wire").is_socket()
    assert not folder.exists()
