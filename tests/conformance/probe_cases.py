"""What a tool must not be able to do to the kernel and the host: one attempt each, in a process of its own.

All attempts of a configuration are made in one call, once as nobody and once in a workspace of root's.
"""

from __future__ import annotations

import re
from typing import Final

from conformance_case import Case, Difference, limits, python

from toolc.schema import JsonObject

LISTENER: Final = "\0toolc-conformance"
"""An abstract socket that the host listens on while the attempts are made."""

_NAMESPACES: Final = {
    f"a new {name} namespace": f"call(272, {flag:#x})"
    for name, flag in {
        "user": 0x10000000,
        "mount": 0x20000,
        "pid": 0x20000000,
        "network": 0x40000000,
        "cgroup": 0x2000000,
        "ipc": 0x8000000,
        "uts": 0x4000000,
        "time": 0x80,
    }.items()
}

_CALLS: Final = {
    "clone with a user namespace": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "clone3 with a user namespace": "call(435, struct.pack('11Q', 0x10000000, *[0] * 10), 88)",
    "setns to a namespace of its own": "call(308, os.open('/proc/self/ns/net', 0), 0)",
    "mount of a tmpfs": "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "mount of proc": "call(165, b'proc', b'/tmp', b'proc', 0, 0)",
    "mount of a cgroup tree": "call(165, b'none', b'/tmp', b'cgroup', 0, b'memory')",
    "bind mount": "call(165, b'/usr', b'/tmp', 0, 4096, 0)",
    "remount of the root for writing": "call(165, 0, b'/', 0, 32, 0)",
    "remount of the workspace for writing": "call(165, 0, b'/workspace', 0, 32 | 4096, 0)",
    "remount of /proc/sys for writing": "call(165, 0, b'/proc/sys', 0, 32 | 4096, 0)",
    "unmount of /tmp": "call(166, b'/tmp', 2)",
    "unmount of what masks /proc/kcore": "call(166, b'/proc/kcore', 2)",
    "pivot_root": "call(155, b'/tmp', b'/tmp')",
    "chroot": "os.chroot('/tmp')",
    "open_tree": "call(428, -100, b'/', 1)",
    "move_mount": "call(429, -100, b'/usr', -100, b'/tmp', 0)",
    "fsopen": "call(430, b'tmpfs', 0)",
    "fspick": "call(433, -100, b'/', 0)",
    "mount_setattr": "call(442, -100, b'/', 0, bytes(32), 32)",
    "ptrace of process 1": "call(101, 16, 1, 0, 0)",
    "ptrace of a child": "call(101, 0, 0, 0, 0)",
    "reading the memory of process 1": "call(310, 1, IOVEC, 1, IOVEC, 1, 0)",
    "writing the memory of process 1": "call(311, 1, IOVEC, 1, IOVEC, 1, 0)",
    "a descriptor of process 1": "call(438, call(434, 1, 0), 0, 0)",
    "kcmp": "call(312, 1, os.getpid(), 0, 0, 0)",
    "keyctl": "call(250, 0, -3, 1)",
    "add_key": "call(248, b'user', b'x', b'y', 1, -3)",
    "request_key": "call(249, b'user', b'x', 0, -3)",
    "bpf": "call(321, 0, bytes(128), 128)",
    "perf_event_open": "call(298, bytes(128), 0, -1, -1, 0)",
    "userfaultfd": "call(323, 0)",
    "io_uring_setup": "call(425, 1, ctypes.create_string_buffer(120))",
    "io_uring_enter": "call(426, 0, 0, 0, 0, 0, 0)",
    "io_uring_register": "call(427, 0, 0, 0, 0)",
    "init_module": "call(175, bytes(64), 64, b'')",
    "finit_module": "call(313, 0, b'', 0)",
    "delete_module": "call(176, b'loop', 0)",
    "kexec_load": "call(246, 0, 0, 0, 0)",
    "reboot": "call(169, 0xfee1dead, 672274793, 0x89abcdef, 0)",
    "swapon": "call(167, b'/tmp/x', 0)",
    "swapoff": "call(168, b'/tmp/x')",
    "acct": "call(163, b'/tmp/x')",
    "quotactl": "call(179, 0x800001 << 8, 0, 0, 0)",
    "the kernel's log": "call(103, 3, ctypes.create_string_buffer(100), 100)",
    "sethostname": "call(170, b'x', 1)",
    "setdomainname": "call(171, b'x', 1)",
    "setting the clock": "call(227, 0, bytes(16))",
    "settimeofday": "call(164, bytes(16), 0)",
    "adjusting the clock": "call(159, struct.pack('I', 1) + bytes(300))",
    "iopl": "call(172, 3)",
    "ioperm": "call(173, 0x70, 1, 1)",
    "open_by_handle_at": "call(304, -100, struct.pack('II', 8, 1) + bytes(8), 0)",
    "fanotify_init": "call(300, 0x200, 0)",
    "lookup_dcookie": "call(212, 1, ctypes.create_string_buffer(100), 100)",
    "modify_ldt": "call(154, 1, bytes(16), 16)",
    "vhangup": "call(153)",
    "another personality": "call(135, 0x8)",
    "a personality that maps page zero": "call(135, 0x0100000)",
    "moving pages between nodes": "call(279, 0, 1, 0, 0, 0, 0)",
    "memfd_secret": "call(447, 0)",
    "taking back no_new_privs": "libc_prctl(38, 0, 0, 0, 0)",
    "setting its own memory map": "libc_prctl(35, 1, 4096, 0, 0)",
    "a real-time scheduler": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    "a better priority": "os.nice(-1)",
    "a real-time priority for its disk": "call(251, 1, 0, 1 << 13)",
    "a higher hard limit of processes": "raise_limit(resource.RLIMIT_NPROC)",
    "a higher hard limit of open files": "raise_limit(resource.RLIMIT_NOFILE)",
    "x32 system calls": "call(0x40000000 + 39)",
    "x86 system calls": "int80()",
}

_SOCKETS: Final = {
    **{
        f"a socket of the family {name}": f"socket.socket({number}, {kind}, {protocol})"
        for name, number, kind, protocol in (
            ("AF_PACKET", 17, 3, 0), ("AF_VSOCK", 40, 1, 0), ("AF_ALG", 38, 5, 0), ("AF_KEY", 15, 3, 2),
            ("AF_BLUETOOTH", 31, 3, 1), ("AF_XDP", 44, 3, 0), ("AF_CAN", 29, 3, 1), ("AF_TIPC", 30, 5, 0),
            ("AF_RDS", 21, 5, 0), ("AF_AX25", 3, 5, 0), ("AF_APPLETALK", 5, 2, 0), ("AF_PPPOX", 24, 2, 0),
            ("AF_NFC", 39, 3, 0), ("AF_SMC", 43, 1, 0), ("AF_QIPCRTR", 42, 2, 0),
        )
    },
    **{
        f"a netlink socket for {name}": f"socket.socket(16, 3, {number})"
        for name, number in {"netfilter": 12, "audit": 9, "xfrm": 6, "uevents": 15, "generic": 16, "diagnosis": 4,
                             "connector": 11, "crypto": 21}.items()
    },
    "a raw socket": "socket.socket(2, 3, 255)",
    "a raw socket for pings": "socket.socket(2, 3, 1)",
    "a pair of TIPC sockets": "socket.socketpair(30, 5)",
    "an abstract socket of the host": f"socket.socket(socket.AF_UNIX).connect({LISTENER!r})",
    "the engine's own socket": "socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')",
    "an address for loopback": "fcntl.ioctl(socket.socket(), 0x8916, b'lo' + bytes(38))",
    "a tunnel device": "open('/dev/net/tun', 'r+b')",
}  # fmt: skip

_WRITES: Final = {
    f"writing to {path}": f"write({path!r})"
    for path in (
        "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/shmmax", "/proc/sys/vm/overcommit_memory", "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/net/ipv4/ip_forward", "/proc/sysrq-trigger", "/proc/self/uid_map", "/proc/self/gid_map",
        "/proc/self/setgroups", "/proc/1/oom_score_adj", "/proc/1/mem",
        "/proc/1/exe", "/proc/1/comm",
        "/proc/1/attr/exec", "/proc/1/timerslack_ns", "/proc/1/clear_refs", "/proc/1/sched", "/proc/1/task/1/mem",
        "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/rdma/release_agent",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/cgroup.procs",
        "/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cgroup.procs",
        "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled", "/etc/passwd", "/etc/ld.so.preload",
        "/usr/bin/python3", "/dev/mem", "/dev/kmsg", "/dev/console", "/dev/kvm", "/dev/fuse", "/dev/loop-control",
        "/dev/sda", "/dev/vda", "/dev/userfaultfd", "/dev/cpu/0/msr", "/dev/port", "/dev/btrfs-control",
    )
}  # fmt: skip

_READS: Final = {
    f"reading {path}": f"read({path!r}) or refused()"
    for path in (
        "/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/slabinfo",
        "/proc/vmallocinfo", "/proc/pagetypeinfo", "/proc/kpagecount", "/proc/kpageflags", "/proc/interrupts",
        "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/auxv", "/proc/1/stack", "/proc/1/syscall",
        "/proc/1/io", "/proc/1/smaps", "/proc/1/pagemap", "/proc/1/personality", "/proc/1/fd/0", "/proc/1/fd/3",
        "/proc/1/root/etc/passwd", "/proc/1/cwd/etc/passwd", "/dev/mem", "/dev/kmsg",
        "/dev/sda", "/dev/vda", "/etc/shadow", "/sys/kernel/vmcoreinfo", "/sys/firmware/acpi/tables/DSDT",
    )
} | {
    f"listing {path}": f"os.listdir({path!r}) or refused()"
    for path in (
        "/proc/1/fd", "/proc/1/map_files", "/proc/1/root", "/proc/acpi", "/proc/scsi", "/proc/asound",
        "/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf",
        "/sys/devices/virtual/powercap", "/var/run/docker", "/run/containerd", "/run/toolc",
    )
}  # fmt: skip

_FILES: Final = {
    "a character device": "os.mknod('/tmp/null', 0o20666, os.makedev(1, 3))",
    "a block device": "os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))",
    "a set-user-id file": "open('/tmp/suid', 'w').close(); os.chmod('/tmp/suid', 0o4755)",
    "a file capability": "open('/tmp/cap', 'w').close(); os.setxattr('/tmp/cap', 'security.capability', "
    "bytes.fromhex('0100000202000000000000000000000000000000'))",
    "a trusted attribute": "open('/tmp/t', 'w').close(); os.setxattr('/tmp/t', 'trusted.x', b'y')",
    "a score that protects from the lack of memory": "write('/proc/self/oom_score_adj', b'-1000')",
    "a group below its own": "os.mkdir('/sys/fs/cgroup/memory/x')",
    "a group of its own in a unified tree": "os.mkdir('/sys/fs/cgroup/x')",
    "addresses of the kernel": "int(open('/proc/kallsyms').readline().split()[0], 16) or refused()",
    "addresses of modules": "int(open('/proc/modules').readline().split()[-1], 16) or refused()",
    "addresses of memory": "int(open('/proc/iomem').readlines()[-1].split('-')[1].split()[0], 16) or refused()",
    "a file under /sys or /proc/sys that can be written": "writable('/sys', '/proc/sys') or refused()",
    "a mount that allows set-user-id or devices": "loose_mounts() or refused()",
    "a device that is more than the usual ones": "other_devices() or refused()",
    "injecting into a terminal": "fcntl.ioctl(0, 0x5412, b'x')",
}

PROBES: Final = {**_NAMESPACES, **_CALLS, **_SOCKETS, **_WRITES, **_READS, **_FILES}
"""What is attempted, and how: Python that raises ``OSError`` where it is refused."""

_TOOL: Final = f"""
import ctypes, fcntl, mmap, os, resource, select, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
BUFFER = ctypes.create_string_buffer(8)
IOVEC = struct.pack("QQ", ctypes.addressof(BUFFER), 8)

class Refused(Exception): pass

def refused(): raise Refused

def call(number, *arguments):
    if os.uname().machine != "x86_64": refused()
    found = libc.syscall(number, *arguments)
    if found < 0: raise OSError(ctypes.get_errno(), "")
    return found

def libc_prctl(*arguments):
    if libc.prctl(*arguments) < 0: raise OSError(ctypes.get_errno(), "")

def raise_limit(which):
    hard = resource.getrlimit(which)[1]
    if hard == resource.RLIM_INFINITY: refused()
    try: resource.setrlimit(which, (hard + 1, hard + 1))
    except ValueError: refused()

def int80():
    code = mmap.mmap(-1, 4096, prot=7)
    code.write(bytes.fromhex("b814000000cd80c3"))
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()

def write(path, data=b"0"):
    fd = os.open(path, os.O_WRONLY)
    try: os.write(fd, data)
    finally: os.close(fd)

def read(path):
    try: return os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 100)
    except BlockingIOError: return "open"

def writable(*tops):
    return [
        os.path.join(folder, name)
        for top in tops for folder, _, names in os.walk(top) for name in names
        if os.access(os.path.join(folder, name), os.W_OK)
    ]

def loose_mounts():
    # The root and single files and devices of the sandbox's own are bound one by one.
    found = []
    for line in open("/proc/self/mountinfo"):
        point, options = line.split()[4:6]
        own = point in ("/", "/dev") or point.startswith(("/proc/", "/sys/", "/dev/pts"))
        if os.path.isdir(point) and not own:
            if not {{"nosuid", "nodev"}} <= set(options.split(",")): found.append(point)
    return found

def other_devices():
    usual = {{"core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
             "tty", "urandom", "zero"}}
    return sorted(set(os.listdir("/dev")) - usual)

def attempt(name, code):
    read, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        signal.alarm(10)
        try:
            exec("found = (lambda: (" + code + "))()" if ";" not in code else code, globals())
            said = "done"
            print(name, globals().get("found"))
        except (OSError, Refused) as error:
            said = "refused"
        except BaseException as error:
            said = "broken: %r" % error
        os.write(write_end, said.encode())
        os._exit(0)
    os.close(write_end)
    said = os.read(read, 1000).decode()
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSYS: return "refused"
    return said or "killed by %d" % status

def run():
    return {{name: attempt(name, code) for name, code in PROBES.items()}}

PROBES = {PROBES!r}
"""


def _refused_but(why: str, *done: str) -> Difference:
    assert set(done) <= set(PROBES)
    found: JsonObject = {name: "done" if name in done else "refused" for name in PROBES}
    return Difference(why, {"outcome": "exited", "structured": found})


_OWN_PROCESS_1: Final = ("listing /proc/1/fd", "writing to /proc/1/oom_score_adj", "writing to /proc/1/sched")
_ROOTLESS: Final = (
    "an ordinary user's tool is user 0 of its user namespace, as process 1 is: it sees how many files that has "
    "open, and can make it the first to go when memory runs out"
)
_GVISOR: Final = (
    "gVisor's own kernel answers, not the host's: it hides less of process 1, and devices, priorities and scores "
    "that a tool makes there are its own"
)
_GVISORS: Final = (
    "a better priority", "a block device", "a character device", "a device that is more than the usual ones",
    "a mount that allows set-user-id or devices", "a score that protects from the lack of memory",
    "listing /proc/1/fd", "reading /proc/1/auxv", "reading /proc/1/environ",
    "reading /proc/1/fd/3", "reading /proc/1/maps", "reading /proc/1/smaps", "x86 system calls",
)  # fmt: skip
_ROOTS: Final = (
    "the owner of root's workspace is root without capabilities: he sees how many files process 1 has open, can "
    "make it the first to go when memory runs out, and reads what the image lets only root read; the workspace "
    "is mounted as it is on the host"
)

_WIRE: Final = (
    "import os\n"
    "FRAME = bytes.fromhex('000000020800000000') + b'{}'\n"
    "def run():\n"
    "    found = set()\n"
    "    for fd in range(20):\n"
    "        for path in ('/proc/1/fd/%d' % fd, '/proc/1/task/1/fd/%d' % fd):\n"
    "            try: os.write(os.open(path, os.O_WRONLY | os.O_NONBLOCK), FRAME)\n"
    "            except OSError: found.add('refused')\n"
    "            else: found.add('written')\n"
    "    return sorted(found)\n"
)

CASES: Final = (
    Case(
        name="the wire to the host is not a tool's to write on",
        backend=python(_WIRE),
        expect={"outcome": "exited", "structured": ["refused"]},
        differs={
            "docker+gvisor": Difference(
                "gVisor does not hide the descriptors of process 1: what is written there breaks the call, no more",
                {"infrastructure": re.compile(r"(?s)the sandbox broke the wire protocol: .*")},
            )
        },
    ),
    Case(
        name="nobody is refused every attempt on the kernel and the host",
        backend=python(_TOOL),
        sandbox=limits(timeout="60s", output="1MiB"),
        varies=("stdout",),
        expect=_refused_but("").expect,
        differs={
            "docker+gvisor": _refused_but(_GVISOR, *_GVISORS),
            "oci user": _refused_but(_ROOTLESS, *_OWN_PROCESS_1),
        },
    ),
    Case(
        name="who works on files of root's is refused every attempt too",
        backend=python(_TOOL),
        sandbox={"workspace": "ro", **limits(timeout="60s", output="1MiB")},
        owner=0,
        varies=("stdout", "user"),
        expect=_refused_but("").expect,
        differs={
            "docker": _refused_but(
                _ROOTS,
                *_OWN_PROCESS_1,
                "reading /etc/shadow",
                "a mount that allows set-user-id or devices",
            ),
            "docker+gvisor": _refused_but(
                f"{_GVISOR}; {_ROOTS}",
                *_GVISORS,
                "a file under /sys or /proc/sys that can be written",
                "reading /etc/shadow",
                "reading /proc/1/io",
                "writing to /proc/1/oom_score_adj",
            ),
            "oci user": _refused_but(_ROOTLESS, *_OWN_PROCESS_1),
        },
    ),
)
