"""The system calls that a tool may make: a default-deny list in the format of the OCI runtime specification.

Only the machine's own architecture is listed, so the architecture check kills calls of the kernel's other
personalities (x86 and x32 on x86-64). The runtime ignores names that the machine does not have.

Left out on purpose are namespaces and mounts, io_uring, bpf, perf, ptrace and related calls, keyrings, userfaultfd,
modules and kexec, setting clocks, and calls that need a capability anyway. Compiling the filter takes a large part of
a sandbox's start time. It is faster with fewer rules that check arguments.
"""

import errno
import platform
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue

ARCHITECTURES: Final = {
    "x86_64": "SCMP_ARCH_X86_64",
    "aarch64": "SCMP_ARCH_AARCH64",
    "riscv64": "SCMP_ARCH_RISCV64",
    "ppc64le": "SCMP_ARCH_PPC64LE",
}
"""Maps ``uname -m`` to the specification's name. On these machines the flags are the first argument of ``clone``."""

FILES: Final = """
access chdir chown close close_range copy_file_range dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
fchdir fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync
ftruncate futimesat getcwd getdents getdents64 getxattr ioctl lchown lgetxattr link linkat listxattr
llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat newfstatat pipe pipe2 pread64 preadv preadv2
pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename renameat renameat2
rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate
umask unlink unlinkat utime utimensat utimes write writev
"""
EVENTS: Final = """
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd
eventfd2 inotify_add_watch inotify_init inotify_init1 inotify_rm_watch poll ppoll pselect6 select signalfd
signalfd4 timerfd_create timerfd_gettime timerfd_settime
"""
MEMORY: Final = """
brk cachestat get_robust_list madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall
mmap mprotect mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect
remap_file_pages
"""
PROCESSES: Final = """
alarm arch_prctl capget capset clock_getres clock_gettime clock_nanosleep execve execveat exit exit_group fork
futex futex_requeue futex_time64 futex_wait futex_waitv futex_wake getcpu getegid geteuid getgid getgroups
getitimer getpgid getpgrp getpid getppid getpriority getrandom getresgid getresuid getrlimit getrusage getsid
gettid gettimeofday getuid ioprio_get ioprio_set kill landlock_add_rule landlock_create_ruleset
landlock_restrict_self nanosleep pause pidfd_open pidfd_send_signal prctl restart_syscall riscv_flush_icache
riscv_hwprobe rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity
sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_yield seccomp
set_robust_list set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid setregid setresgid
setresuid setreuid setrlimit setsid setuid sigaltstack sysinfo tgkill time timer_create timer_delete
timer_getoverrun timer_gettime timer_settime times tkill uname vfork wait4 waitid waitpid
"""
SOCKETS_AND_IPC: Final = """
accept accept4 bind connect getpeername getsockname getsockopt listen mq_getsetattr mq_notify mq_open
mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd recvfrom recvmmsg recvmsg semctl semget
semop semtimedop sendmmsg sendmsg sendto setsockopt shmat shmctl shmdt shmget shutdown
"""

SETS_MODE: Final = {"chmod": 1, "creat": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknod": 1, "mknodat": 2}
"""The calls that set the mode of a file, with the index of the mode argument."""

OPENS: Final = {"open": 1, "openat": 2}
"""The calls whose mode counts only if a file is created, with the index of the flags argument."""

SET_ID_BITS: Final = 0o6000
"""S_ISUID and S_ISGID. A file that a tool leaves in the workspace belongs to a user of the host, perhaps root. If it
had the set-user-id bit, every user of the host could run it with the rights of its owner."""

CREATES: Final = 0o20000100
"""O_CREAT, and the bit of O_TMPFILE that no other flag has. Both are the same on all listed architectures."""

NEW_NAMESPACES: Final = 0x7E02_0000
"""The namespace flags of clone(2). Only clone3 and unshare accept CLONE_NEWTIME."""

AF_UNIX: Final = 1
"""From ``linux/socket.h``."""

INTERNET: Final = (2, 10)
"""AF_INET and AF_INET6."""

RARE_PROTOCOLS: Final = 0xFFFF_FFE0
"""The bits that are zero in ICMP, TCP and UDP. For other protocols (DCCP, L2TP, SCTP, Multipath TCP) the kernel may
load a module, which no tool needs and which a tool could attack."""

AF_NETLINK: Final = 16
NETLINK_ROUTE: Final = 0
"""The only netlink protocol allowed. It lists interfaces and addresses."""

CALL_NAMESPACES: Final = 0x6802_0000
"""The flags of clone(2) for the mount, IPC, PID and network namespaces that a fork server creates for each call."""

SIGNALS: Final = ("kill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "tgkill", "tkill")
"""The calls that send a signal. The first argument is the process, and the second is the signal."""

PRIO_PROCESS: Final = 0
"""The first argument of setpriority(2) if the second one is a process, where 0 is the caller."""

F_SETSIG: Final = 10
"""The command of fcntl(2) that sets the signal for a ready descriptor, which can go to any process."""

PERSONALITIES: Final = (0x0, 0x4_0000, 0xFFFF_FFFF)
"""PER_LINUX, PER_LINUX without address randomization (which affects only the caller), and the value for a query."""


def profile(machine: str | None = None) -> JsonObject:
    """Return the ``linux.seccomp`` object for ``machine`` (as in ``uname -m``), by default this machine.

    Raises ``KeyError`` for a machine that is not in ``ARCHITECTURES``.
    """
    names = sorted(f"{FILES} {EVENTS} {MEMORY} {PROCESSES} {SOCKETS_AND_IPC}".split())
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "architectures": [ARCHITECTURES[machine or platform.machine()]],
        "syscalls": [
            {"names": [*names], "action": "SCMP_ACT_ALLOW"},
            _allow("clone", _without(0, NEW_NAMESPACES)),
            *(_allow(name, _without(mode, SET_ID_BITS)) for name, mode in SETS_MODE.items()),
            *(_allow(name, _without(flags + 1, SET_ID_BITS)) for name, flags in OPENS.items()),
            *(_allow(name, _without(flags, CREATES)) for name, flags in OPENS.items()),
            # A process may limit only itself. If a tool left process 1 no time or memory, it would end as if
            # memory had run out.
            _allow("prlimit64", _equal(0, 0)),
            # With a low priority, process 1 would get no CPU time beside busy processes, not even to be killed.
            *(_allow(name, _equal(0, 0)) for name in ("sched_setattr", "sched_setparam", "sched_setscheduler")),
            _allow("setpriority", _equal(0, PRIO_PROCESS), _equal(1, 0)),
            _allow("socketpair", _equal(0, AF_UNIX)),
            _allow("socket", _equal(0, AF_UNIX)),
            *(_allow("socket", _equal(0, family), _without(2, RARE_PROTOCOLS)) for family in INTERNET),
            _allow("socket", _equal(0, AF_NETLINK), _equal(2, NETLINK_ROUTE)),
            *(_allow("personality", _equal(0, value)) for value in PERSONALITIES),
            # Their flags are behind a pointer, which a filter cannot read. Programs fall back to the older calls.
            {"names": ["clone3", "openat2"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
        ],
    }


def fork_server_profile() -> JsonObject:
    """Return the ``linux.seccomp`` object for a fork server, which creates the namespaces and mounts of each call.

    The server runs no code of a tool. The process of a call installs ``profile()`` before it reads the call.
    """
    found = profile()
    calls = found["syscalls"]
    assert isinstance(calls, list)
    more = [_allow("clone", _without(0, NEW_NAMESPACES & ~CALL_NAMESPACES)), _allow("mount"), _allow("umount2")]
    return {**found, "syscalls": [*more, *(each for each in calls if not _is_rule_of(each, "clone"))]}


def gvisor_profile(machine: str) -> JsonObject:
    """Return the ``linux.seccomp`` object for gVisor, whose own kernel separates a tool from the host's kernel.

    gVisor's filter can fail calls only with EPERM. If clone3 failed with it, no thread could start. The first matching
    entry counts. Linux ignores signals to process 1 from inside the sandbox, but gVisor lets them kill it. Older
    versions of gVisor know pselect6 as pselect, without which select(2) fails.
    """
    found = profile(machine)
    calls = found["syscalls"]
    assert isinstance(calls, list)
    refused: list[JsonValue] = [
        {"names": [*SIGNALS], "action": "SCMP_ACT_ERRNO", "args": [_low_half(0, 1)]},
        {"names": ["fcntl"], "action": "SCMP_ACT_ERRNO", "args": [_low_half(1, F_SETSIG)]},
        {"names": ["pidfd_send_signal"], "action": "SCMP_ACT_ERRNO"},
    ]
    # The last entry refuses clone3.
    return {**found, "syscalls": [*refused, _allow("clone3"), _allow("pselect"), *calls[:-1]]}


def _is_rule_of(rule: JsonValue, name: str) -> bool:
    return isinstance(rule, dict) and rule["names"] == [name]


def _allow(name: str, *conditions: JsonValue) -> JsonObject:
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": [*conditions]}


def _equal(index: int, value: int) -> JsonObject:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def _low_half(index: int, value: int) -> JsonObject:
    """Match if the low 32 bits of the argument are ``value``, for calls whose argument is 32 bits wide."""
    return {"index": index, "value": 0xFFFF_FFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _without(index: int, mask: int) -> JsonObject:
    """Match if the argument has no bit of ``mask``."""
    return {"index": index, "value": mask, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
