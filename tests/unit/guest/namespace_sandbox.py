"""A sandbox for the tests of the guest: namespaces, a separate root, and a user without capabilities.

There is no engine, seccomp or cgroup: the guest must work without them and with any signal state.
"""

import marshal
import os
import socket
import subprocess
import tempfile
from contextlib import suppress

from toolc.guest.bundle import BOOTSTRAP_ARGUMENTS, bundle
from toolc.guest.frames import LENGTH

USER = "65534"

ROOT = """
set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
cd /mnt
mkdir -p usr etc proc dev tmp tool workspace empty
mount --rbind /usr usr
for name in bin lib lib64 sbin; do ln -s usr/$name $name; done
mount -t proc proc proc
mount --bind /dev dev
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
for name in tmp tool workspace; do mount -t tmpfs -o mode=1777,size=16m tmpfs $name; done
mkdir -p opt/toolc/site
mount --bind "$1" opt/toolc/site
shift
exec chroot . /usr/bin/setpriv --reuid {user} --regid {user} --clear-groups --inh-caps=-all --bounding-set=-all \
  --no-new-privs /usr/bin/prlimit --nproc=200:200 /usr/bin/env -i \
  --block-signal=USR1 --ignore-signal=USR2 "$@"
"""


class NamespaceSandbox:
    """Implements ``toolc.sandbox.interface.EngineSandbox``."""

    user = USER
    image = None
    created = 0.0

    def __init__(self, python: str = "/usr/bin/python3", words: tuple[str, ...] = (), site: str = "/mnt/empty") -> None:
        """Start it. ``words`` are arguments of the guest, and ``site`` is a folder of packages."""
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(0)
        self._errors = ""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  close closes it
        with theirs:
            self.process = subprocess.Popen(
                [
                    *("unshare", "--pid", "--fork", "--mount", "--net", "--ipc", "--kill-child"),
                    *("/bin/sh", "-c", ROOT.format(user=USER), "sh", site, python, *BOOTSTRAP_ARGUMENTS, *words),
                ],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._stderr,
                start_new_session=True,
            )

    def fileno(self) -> int:
        return self.socket.fileno()

    def read(self) -> bytes | None:
        try:
            return self.socket.recv(256 * 1024)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def write(self, data: bytes | memoryview) -> int:
        try:
            return self.socket.send(data)
        except BlockingIOError:
            return 0
        except OSError:
            return len(data)

    def out_of_memory(self) -> bool:
        return False

    def memory_kills(self) -> int:
        return 0

    def error_output(self) -> str:
        if self._stderr.closed:
            return self._errors
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), size, 0).decode()

    def close(self) -> None:
        """Close the stream and wait. The test fails if the guest does not exit."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self._errors = self.error_output()
            self._stderr.close()


def changed_bundle(old: str, new: str) -> bytes:
    """Return the bundle with a change in the sources."""
    (size,) = LENGTH.unpack(bundle()[4:8])
    _, modules = marshal.loads(bundle()[8 + size :])
    assert any(old in source for source, _ in modules.values())
    changed = {name: (source.replace(old, new), b"") for name, (source, _) in modules.items()}
    content = bundle()[4 : 8 + size] + marshal.dumps((b"", changed), 4)
    return LENGTH.pack(len(content)) + content
