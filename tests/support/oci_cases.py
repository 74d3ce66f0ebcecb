"""Shared by the tests of the OCI engine: a sandbox that runs one program, and leftovers of a dead owner."""

import os
import select
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox.host import store
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.oci.sandbox import OciSandbox

needs_oci = pytest.mark.skipif(
    not OciEngine().probe().available or os.geteuid() != 0,
    reason=f"needs root and the oci engine: {OciEngine().probe().reason}",
)


@pytest.fixture
def own_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a temporary store that the users of sandboxes can enter, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        monkeypatch.setenv(store.VARIABLE, folder)
        yield


SMALL = Limits(memory_bytes=64 * MIB, pids=32, tmp_bytes=4 * MIB, cpus=0.5)

HOSTILE = """
import os, signal
for number in set(range(1, 65)) - {9, 19, 32, 33}: signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    for _ in range(3): os.fork()
print("ready", flush=True)
while True: pass
"""


def mount(folder: Path, mode: str = "rw") -> Mount:
    found = folder.stat()
    assert mode in {"ro", "rw"}
    return Mount(source=str(folder), mode="rw" if mode == "rw" else "ro", owner=found.st_uid, group=found.st_gid)


def start(engine: OciEngine, program: str, profile: Profile | None = None) -> OciSandbox:
    return engine.start(profile or Profile(limits=SMALL), ["-I", "-S", "-c", program])


def read_all(sandbox: OciSandbox, seconds: float = 60.0) -> str:
    got = b""
    for data in chunks(sandbox, seconds):
        got += data
    return got.decode()


def read_line(sandbox: OciSandbox, seconds: float = 60.0) -> str:
    got = b""
    for data in chunks(sandbox, seconds):
        got += data
        if b"\n" in got:
            break
    return got.decode().partition("\n")[0]


def chunks(sandbox: OciSandbox, seconds: float) -> Iterator[bytes]:
    poller = select.poll()
    poller.register(sandbox.fileno(), select.POLLIN)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        poller.poll(1000)
        data = sandbox.read()
        if data == b"":
            return
        if data is not None:
            yield data
    raise AssertionError(f"the sandbox wrote nothing for {seconds} s")


def run(engine: OciEngine, program: str, profile: Profile | None = None) -> str:
    sandbox = start(engine, program, profile)
    try:
        return read_all(sandbox)
    finally:
        sandbox.close()


def traces(label: str) -> list[str]:
    """Return everything on this host with an owner's label: processes, folders, control groups, mounts."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if label.encode() in (process / "cmdline").read_bytes():
                found.append(f"process {process.name}")
            if label in (process / "mountinfo").read_text(encoding="utf-8"):
                found.append(f"mounts of process {process.name}")
        except OSError:
            continue
    for top in ("/run/toolc", "/sys/fs/cgroup"):
        found += [f"folder {folder}/{name}" for folder, names, _ in os.walk(top) for name in names if label in name]
    return found
