"""Attempts to do things that a tool must not be able to do, each in a separate process.

An attempt that raises ``OSError`` was refused, as it must be. An attempt that returns has succeeded. This module
runs inside the sandbox, so it uses only the standard library and supports Python 3.9 and later.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable, Iterable
from typing import NoReturn, TypedDict

LIBC = ctypes.CDLL(None, use_errno=True)

NUMBERS = {
    "x86_64": {
        "unshare": 272, "setns": 308, "clone3": 435, "mount": 165, "umount2": 166, "pivot_root": 155,
        "open_tree": 428, "fsopen": 430, "ptrace": 101,
        "process_vm_readv": 310, "pidfd_open": 434, "pidfd_getfd": 438, "keyctl": 250,
        "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425,
        "finit_module": 313, "kexec_load": 246, "swapon": 167, "syslog": 103,
        "open_by_handle_at": 304, "clock_settime": 227, "capset": 126,
    },
    "aarch64": {
        "unshare": 97, "setns": 268, "clone3": 435, "mount": 40, "umount2": 39, "pivot_root": 41,
        "open_tree": 428, "fsopen": 430, "ptrace": 117,
        "process_vm_readv": 270, "pidfd_open": 434, "pidfd_getfd": 438, "keyctl": 219,
        "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425,
        "finit_module": 273, "kexec_load": 104, "swapon": 224, "syslog": 116,
        "open_by_handle_at": 265, "clock_settime": 112, "capset": 91,
    },
}  # fmt: skip
"""System call numbers by machine. The C library has no functions for most of them."""

CALLS: dict[str, int] = NUMBERS.get(os.uname().machine, {})

REFUSALS = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP)
"""The errors with which the kernel denies access. Any other error comes from code that an attempt must not reach."""

PROGRAM = "/tmp/program"


class Host(TypedDict):
    """Objects of the host to look for: a file, a word in its environment, an abstract socket, a port."""

    secret: str
    word: str
    socket: str
    port: int


def refused() -> NoReturn:
    """Report that an attempt failed, although the system raised no error."""
    raise OSError(0, "refused")


def call(name: str, *arguments: object) -> object:
    """Run a system call. Raises ``OSError`` if it is not allowed."""
    if name not in CALLS:
        refused()
    found: int = LIBC.syscall(CALLS[name], *arguments)
    if found < 0 and ctypes.get_errno() in REFUSALS:
        raise OSError(ctypes.get_errno(), name)
    return found if found >= 0 else "let through: %s" % errno.errorcode[ctypes.get_errno()]


def write(path: str, data: bytes | None = None) -> int:
    """Write to a file of the kernel, by default its current contents, so that a success does no harm."""
    if data is None:
        data = read(path)
    return os.write(os.open(path, os.O_WRONLY), data)


def read(path: str) -> bytes:
    """Return the first bytes of a file. An empty file counts as refused."""
    return os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100) or refused()


def status(name: str) -> str:
    """Return a field of proc_pid_status(5), or ``0`` if it is missing, because gVisor omits some."""
    with open("/proc/self/status") as lines:
        return next((line.split()[1] for line in lines if line.startswith(name + ":")), "0")


def prove(harmful: object) -> object:
    """Return ``harmful``, a property that the sandbox must not have. If it is false, report a refusal."""
    return harmful or refused()


def memory_of_process_1() -> object:
    """Read memory of process 1."""
    buffer = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(buffer), 8)
    return call("process_vm_readv", 1, vector, 1, vector, 1, 0)


def own_set_user_id() -> object:
    """Create a set-user-ID program and check whether it keeps the bit."""
    with open(PROGRAM, "w"):
        pass
    os.chmod(PROGRAM, 0o4755)
    return prove(os.stat(PROGRAM).st_mode & 0o4000)


def give_away() -> bool:
    """Create a file that belongs to another user."""
    with open("/tmp/given", "w"):
        pass
    os.chown("/tmp/given", 12345, 12345)
    return True


def disk() -> object:
    """Create a device file for one of the machine's first disks, and read it."""
    for major, minor in ((8, 0), (253, 0), (254, 0), (259, 0), (252, 0), (202, 0)):
        os.mknod("/tmp/disk%d" % major, 0o60600, os.makedev(major, minor))
        read("/tmp/disk%d" % major)
        return True
    return refused()


def other_interfaces() -> object:
    """Return the network interfaces other than loopback."""
    return prove([name for _, name in socket.if_nameindex() if name != "lo"])


def connect(host: str, port: int) -> bool:
    """Connect to an IP address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(3)
        client.connect((host, port))
        return True


def connect_abstract(name: str) -> bool:
    """Connect to a Unix socket in the abstract namespace."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + name)
        return True


def connect_any(paths: Iterable[str]) -> str:
    """Connect to the first Unix socket that accepts."""
    for path in paths:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                return path
        except OSError:
            continue
    return refused()


def processes() -> list[str]:
    """Return the ids of all visible processes."""
    return [name for name in os.listdir("/proc") if name.isdigit()]


def own_memory_limit() -> object:
    """Write the memory limit of the sandbox's cgroup, version 1 or 2."""
    for path in ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"):
        try:
            return write(path)
        except OSError:
            continue
    return refused()


def in_environment(word: str) -> str:
    """Look for a word in every readable environment."""
    for process in processes():
        try:
            with open("/proc/%s/environ" % process, "rb") as text:
                if word.encode() in text.read():
                    return process
        except OSError:
            continue
    return refused()


def writable_system_files() -> object:
    """Return files below /usr and /etc that can be opened for writing."""
    return prove(
        [
            os.path.join(folder, name)
            for top in ("/usr", "/etc")
            for folder, _, names in os.walk(top)
            for name in names
            # A symbolic link may have a target elsewhere, such as /dev/null.
            if not os.path.islink(os.path.join(folder, name)) and os.access(os.path.join(folder, name), os.W_OK)
        ]
    )


def other_devices() -> object:
    """Return devices other than the usual ones."""
    usual = {"core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout"}
    usual |= {"tty", "urandom", "zero", "console"}
    return prove(sorted(set(os.listdir("/dev")) - usual))


def raise_limit(which: int) -> bool:
    """Set a hard limit to more than its current value."""
    hard = resource.getrlimit(which)[1]
    if hard == resource.RLIM_INFINITY:
        refused()
    try:
        resource.setrlimit(which, (hard + 1, hard + 1))
    except ValueError:
        refused()
    return True


SYSTEM_CALLS: dict[str, Callable[[], object]] = {
    "capabilities": lambda: prove(any(int(status("Cap" + name), 16) for name in ("Prm", "Eff", "Bnd", "Amb"))),
    "no-new-privileges": lambda: prove(LIBC.prctl(39, 0, 0, 0, 0) != 1),
    "system-call-filter": lambda: prove(status("Seccomp") != "2"),
    "take-a-capability": lambda: call("capset", struct.pack("II", 0x20080522, 0), b"\xff" * 24),
    "set-user-id-file": own_set_user_id,
    "give-a-file-away": give_away,
    "higher-limit-of-processes": lambda: raise_limit(resource.RLIMIT_NPROC),
    "higher-limit-of-files": lambda: raise_limit(resource.RLIMIT_NOFILE),
    "user-namespace": lambda: call("unshare", 0x10000000),
    "mount-namespace": lambda: call("unshare", 0x20000),
    "network-namespace": lambda: call("unshare", 0x40000000),
    "clone3-user-namespace": lambda: call("clone3", struct.pack("11Q", 0x10000000, *[0] * 10), 88),
    "enter-a-namespace": lambda: call("setns", os.open("/proc/1/ns/net", 0), 0),
    "trace-process-1": lambda: call("ptrace", 16, 1, 0, 0),
    "memory-of-process-1": memory_of_process_1,
    "descriptor-of-process-1": lambda: call("pidfd_getfd", call("pidfd_open", 1, 0), 0, 0),
    "keys": lambda: call("keyctl", 0, -3, 1),
    "bpf": lambda: call("bpf", 0, bytes(128), 128),
    "perf-events": lambda: call("perf_event_open", bytes(128), 0, -1, -1, 0),
    "page-faults": lambda: call("userfaultfd", 0),
    "io-uring": lambda: call("io_uring_setup", 1, ctypes.create_string_buffer(120)),
    "kernel-module": lambda: call("finit_module", os.open("/dev/null", 0), b"", 0),
    "another-kernel": lambda: call("kexec_load", 0, 0, 0, 0),
    "swap": lambda: call("swapon", b"/tmp/x", 0),
    "kernel-log": lambda: call("syslog", 3, ctypes.create_string_buffer(100), 100),
    # The number of nanoseconds is invalid: the call can be refused, but never sets the clock.
    "clock": lambda: call("clock_settime", 0, struct.pack("qq", 1, 2 * 10**9)),
    "crypto-socket": lambda: socket.socket(38, 5, 0),
    "vm-socket": lambda: socket.socket(40, 1, 0),
    "mount-tmpfs": lambda: call("mount", b"none", b"/tmp", b"tmpfs", 0, 0),
    "mount-proc": lambda: call("mount", b"proc", b"/tmp", b"proc", 0, 0),
    "mount-control-groups": lambda: call("mount", b"none", b"/tmp", b"cgroup", 0, b"memory"),
    "bind-mount": lambda: call("mount", b"/usr", b"/tmp", 0, 4096, 0),
    "remount-root": lambda: call("mount", 0, b"/", 0, 32, 0),
    "remount-proc-sys": lambda: call("mount", 0, b"/proc/sys", 0, 32 | 4096, 0),
    "unmount-a-mask": lambda: call("umount2", b"/proc/kcore", 2),
    "pivot-root": lambda: call("pivot_root", b"/tmp", b"/tmp"),
    "change-root": lambda: os.chroot("/tmp"),
    "new-mount-interface": lambda: call("fsopen", b"tmpfs", 0),
    "clone-a-mount": lambda: call("open_tree", -100, b"/", 1),
    "file-by-handle": lambda: call("open_by_handle_at", -100, struct.pack("II", 8, 1) + bytes(8), 0),
}  # fmt: skip
"""Attempts to gain privileges, or to use system calls that no tool needs."""

FILES: dict[str, Callable[[], object]] = {
    "disk": disk,
    "memory-device": lambda: read("/dev/mem"),
    "kernel-log-device": lambda: read("/dev/kmsg"),
    "virtual-machines": lambda: os.open("/dev/kvm", os.O_RDWR),
    "file-systems-in-user-space": lambda: os.open("/dev/fuse", os.O_RDWR),
    "tunnel": lambda: os.open("/dev/net/tun", os.O_RDWR),
    "other-devices": other_devices,
    "core-pattern": lambda: write("/proc/sys/kernel/core_pattern"),
    "module-loader": lambda: write("/proc/sys/kernel/modprobe"),
    "binary-formats": lambda: write("/proc/sys/fs/binfmt_misc/register", b"?"),
    "magic-keys": lambda: write("/proc/sysrq-trigger", b"h"),
    "hotplug-helper": lambda: write("/sys/kernel/uevent_helper"),
    "release-agent": lambda: write("/sys/fs/cgroup/memory/release_agent"),
    "own-memory-limit": own_memory_limit,
    "user-mapping": lambda: write("/proc/self/uid_map", b"0 0 1"),
    "write-memory-of-process-1": lambda: write("/proc/1/mem", b"0"),
    "kernel-memory": lambda: read("/proc/kcore"),
    "kernel-keys": lambda: read("/proc/keys"),
    "timers": lambda: read("/proc/timer_list"),
    "firmware": lambda: prove(os.listdir("/sys/firmware")),
    "password-hashes": lambda: read("/etc/shadow"),
    "write-system-files": writable_system_files,
    "new-system-file": lambda: os.open("/etc/toolc-probe", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
}  # fmt: skip
"""Attempts to use devices, files of the kernel and files of the system."""

NETWORK: dict[str, Callable[[], object]] = {
    "interfaces": other_interfaces,
    "cloud-metadata": lambda: connect("169.254.169.254", 80),
    "internet": lambda: connect("1.1.1.1", 443),
    "internet-v6": lambda: connect("2606:4700:4700::1111", 443),
    "resolver": lambda: socket.getaddrinfo("example.com", 443),
    "raw-socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "packet-socket": lambda: socket.socket(17, socket.SOCK_RAW, 0),
    "firewall-socket": lambda: socket.socket(16, socket.SOCK_RAW, 12),
    "processes-of-the-host": lambda: prove([name for name in processes() if int(name) > 200]),
}  # fmt: skip
"""Attempts to reach other machines and processes."""


def attempts(host: Host) -> dict[str, Callable[[], object]]:
    """Return all attempts by name. ``host`` has the objects of the host that they look for."""
    sockets = ("docker.sock", "containerd/containerd.sock", "podman/podman.sock", "crio/crio.sock")
    return {
        **SYSTEM_CALLS,
        **FILES,
        "file-of-the-host": lambda: read(host["secret"]),
        "home-folders": lambda: prove(os.listdir("/root") + os.listdir("/home")),
        "environment-of-the-host": lambda: in_environment(host["word"]),
        "engine-socket": lambda: connect_any([top + name for top in ("/var/run/", "/run/") for name in sockets]),
        "abstract-socket": lambda: connect_abstract(host["socket"]),
        "port-of-the-host": lambda: connect("127.0.0.1", host["port"]),
        **NETWORK,
    }  # fmt: skip


def attempt(function: Callable[[], object]) -> str:
    """Return the result of one attempt: ``refused``, or a description of its success."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(here)
        signal.alarm(60)  # reading all files can take long on a busy machine
        try:
            said = "done: %s" % str(function())[:200]
        except OSError:
            said = "refused"
        except BaseException as error:
            said = "broken: %r" % error
        os.write(there, said.encode())
        os._exit(0)
    os.close(there)
    said = os.read(here, 1000).decode()
    os.close(here)
    ended = os.waitpid(pid, 0)[1]
    # The system call filter may end the process with a signal.
    if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGSYS:
        return "refused"
    return said or "ended by signal %d" % os.WTERMSIG(ended)


def run(secret: str, word: str, socket_name: str, port: int) -> dict[str, str]:
    """Run all attempts, and return their results by name."""
    host: Host = {"secret": secret, "word": word, "socket": socket_name, "port": port}
    return {name: attempt(function) for name, function in attempts(host).items()}
