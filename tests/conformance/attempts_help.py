"""Helpers of the attempts in ``attempts_beyond``, which extend ``toolc/data/probes/attempts.py``.

The code after the imports runs inside the sandbox, in one file with that module: it uses only the standard library
and Python 3.9.
"""

import ctypes
import fcntl
import mmap
import os
import socket
import stat
import struct
from functools import partial

from toolc.data.probes.attempts import CALLS, LIBC, Host, attempt, attempts, prove, refused

# Inside the sandbox from here on, where the names above exist already.
BUFFER = ctypes.create_string_buffer(8)
IOVEC = struct.pack("QQ", ctypes.addressof(BUFFER), 8)

OWN_FILES = ("/dev/null", "/dev/urandom", "/tool/", "/tmp/", "/proc/")
OWN_MOUNTS = ("/proc/", "/sys/", "/dev/pts", "/dev/mqueue", "/etc/")
QUEUES = 16
"""A tenth of what proc_sys_fs(5) allows each user: 819200 bytes of messages, in queues of 80 KiB."""


def prctl(*arguments: int) -> bool:
    if LIBC.prctl(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "prctl")
    return True


def raw(number: int) -> bool:
    if LIBC.syscall(number) < 0:
        raise OSError(ctypes.get_errno(), "syscall")
    return True


def mapped(address: int, size: int, flags: int) -> bool:
    LIBC.mmap.restype = ctypes.c_void_p
    found = LIBC.mmap(ctypes.c_void_p(address), ctypes.c_size_t(size), 3, flags, -1, ctypes.c_long(0))
    if found == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return True


def int80() -> int:
    """Call getpid as a 32-bit program."""
    if os.uname().machine != "x86_64":
        refused()
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(bytes.fromhex("b814000000cd80c3"))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())


def text(path: str) -> str:
    with open(path) as lines:
        return lines.read()


def last(path: str) -> str:
    return (text(path).splitlines() or refused())[-1]


def lines_but(path: str, *usual: str) -> object:
    """Return the lines of a file that do not start with one of ``usual``."""
    return prove([line for line in text(path).splitlines() if line and not line.startswith(usual)])


def secrets() -> object:
    ends = ("_TOKEN", "_KEY", "_SECRET", "_PASSWORD")
    begins = ("AWS_", "AZURE_", "DOCKER_", "GOOGLE_", "KUBERNETES_")
    return prove([name for name in os.environ if name.endswith(ends) or name.startswith(begins)])


def reopened(path: str) -> int:
    return os.open("/proc/self/fd/%d" % os.open(path, os.O_RDONLY), os.O_RDWR)


def device(kind: int, major: int, minor: int) -> int:
    os.mknod("/tmp/device", kind | 0o666, os.makedev(major, minor))
    return os.open("/tmp/device", os.O_RDWR)


def attribute(name: str, value: bytes) -> bool:
    with open("/tmp/attribute", "w"):
        pass
    os.setxattr("/tmp/attribute", name, value)
    return True


def flag_immutable() -> object:
    """FS_IOC_SETFLAGS with FS_IMMUTABLE_FL."""
    return fcntl.ioctl(os.open("/tmp/immutable", os.O_CREAT | os.O_RDWR), 0x40086602, struct.pack("L", 0x10))


def broadcast() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        return out.sendto(b"x", ("255.255.255.255", 9))


def abstract_sockets() -> object:
    return prove([line.split()[7] for line in text("/proc/net/unix").splitlines() if " @" in line])


def foreign_descriptors() -> object:
    """Find open files that do not belong to the sandbox: folders, and files outside its root."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            mode, path = os.fstat(int(name)).st_mode, os.readlink("/proc/self/fd/" + name)
        except OSError:
            continue
        outside = not path.startswith(("/", "pipe:", "socket:", "anon_inode:", "host:"))
        if outside or (stat.S_ISDIR(mode) and not path.startswith(OWN_FILES)):
            found.append(path)
    return prove(found)


def outside() -> object:
    os.chdir("/")
    for _ in range(20):
        os.chdir("..")
    return prove(not os.path.samestat(os.stat("."), os.stat("/")))


def writable(*tops: str) -> object:
    return prove(
        [
            os.path.join(folder, name)
            for top in tops
            for folder, _, names in os.walk(top)
            for name in names
            if os.access(os.path.join(folder, name), os.W_OK)
        ]
    )


def loose_mounts() -> object:
    """Find mounts that allow set-user-id or devices, except the root, single files and devices, and removed folders.

    Nothing can be created in a folder that was removed, such as that of a Docker guest's socket.
    """
    found = []
    for line in text("/proc/self/mountinfo").splitlines():
        point, options = line.split()[4:6]
        own = point in ("/", "/dev") or point.startswith(OWN_MOUNTS)
        if own or not os.path.isdir(point) or os.stat(point).st_nlink == 0:
            continue
        if not {"nosuid", "nodev"} <= set(options.split(",")):
            found.append(point)
    return prove(found)


def queues() -> object:
    """Create more POSIX message queues than one user may have."""
    attributes = struct.pack("8q", 0, 10, 8192, 0, 0, 0, 0, 0)
    made = 0
    while made <= QUEUES and LIBC.mq_open(b"/toolc-%d" % made, os.O_CREAT | os.O_RDWR, 0o600, attributes) >= 0:
        made += 1
    return prove(made > QUEUES)


def all_attempts(beyond: dict[str, str], numbers: dict[str, tuple[int, int]], listener: str) -> dict[str, str]:
    """Return the result of every attempt by name: those of toolc, and those in ``beyond``."""
    machine = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
    if machine is not None:
        CALLS.update({name: each[machine] for name, each in numbers.items() if each[machine] >= 0})
    host: Host = {"secret": "/toolc-secret", "word": "toolc-word=", "socket": listener, "port": 9}
    tried = attempts(host) | {name: partial(eval, code, globals()) for name, code in beyond.items()}
    results = {name: attempt(function) for name, function in tried.items()}
    # For readers of the output of the test.
    print({name: each for name, each in results.items() if each != "refused"})
    return {name: each.partition(":")[0] for name, each in results.items()}
