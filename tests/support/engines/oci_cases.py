"""Shared by the tests of the OCI engine: a sandbox that runs one program, and leftovers of a dead owner."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.sandbox_output import output
from toolc.model.plan import Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox.host import store
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.oci.oci_sandbox import OciSandbox

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


def start(engine: OciEngine, program: str, profile: Profile | None = None) -> OciSandbox:
    return engine.start(profile or Profile(limits=SMALL), ["-I", "-S", "-c", program])


def run(engine: OciEngine, program: str, profile: Profile | None = None) -> str:
    sandbox = start(engine, program, profile)
    try:
        return output(sandbox)
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
