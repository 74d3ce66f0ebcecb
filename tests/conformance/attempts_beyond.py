"""Attempts in addition to those of toolc: from escape kits and the tests of other sandboxes, one line each.

Each is a Python expression in the namespace of ``toolc/data/probes/attempts.py`` that raises ``OSError`` if it is
refused. Sources, in addition to our own: CDK (evaluate, exploit), deepce,
linPEAS (container part), amicontained's list of system calls, and the tests of gVisor, bubblewrap and nsjail.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attempts_help

from toolc.data.probes import attempts

LISTENER: Final = f"toolc-conformance-{os.getpid()}"
"""The name of an abstract socket that this process listens on while the attempts are made."""

NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "clone": (56, 220), "move_mount": (429, 429), "fspick": (433, 433), "fsconfig": (431, 431),
    "fsmount": (432, 432), "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "statmount": (457, 457),
    "listmount": (458, 458), "process_vm_writev": (311, 271), "kcmp": (312, 272), "add_key": (248, 217),
    "request_key": (249, 218), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "init_module": (175, 105), "delete_module": (176, 106), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "lookup_dcookie": (212, 18), "vhangup": (153, 58), "personality": (135, 92), "move_pages": (279, 239),
    "migrate_pages": (256, 238), "mbind": (237, 235), "set_mempolicy": (238, 237), "get_mempolicy": (239, 236),
    "set_mempolicy_home_node": (450, 450), "memfd_secret": (447, 447), "ioprio_set": (251, 30),
    "name_to_handle_at": (303, 264), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "lsm_set_self_attr": (460, 460), "vmsplice": (278, 75), "nfsservctl": (180, 42), "io_setup": (206, 0),
    "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1), "sysfs": (139, -1), "_sysctl": (156, -1),
    "uselib": (134, -1), "ustat": (136, -1), "create_module": (174, -1), "get_kernel_syms": (177, -1),
    "query_module": (178, -1), "vserver": (236, -1),
}  # fmt: skip
"""The numbers of system calls on x86-64 and AArch64; -1 if there is none."""

_NAMESPACES: Final = {
    f"a new {name} namespace": f"call('unshare', {flag:#x})"
    for name, flag in {"pid": 0x20000000, "cgroup": 0x2000000, "ipc": 0x8000000, "uts": 0x4000000, "time": 0x80}.items()
}

_CALLS: Final = {
    "clone with a user namespace": "call('clone', 0x10000000 | 17, 0, 0, 0, 0)",
    "clone with a mount namespace": "call('clone', 0x20000 | 17, 0, 0, 0, 0)",
    "setns to a namespace of its own": "call('setns', os.open('/proc/self/ns/net', 0), 0)",
    "the parent of the user namespace": "fcntl.ioctl(os.open('/proc/self/ns/user', 0), 0xb702)",
    "the parent of the pid namespace": "fcntl.ioctl(os.open('/proc/self/ns/pid', 0), 0xb702)",
    "remount of the workspace for writing": "call('mount', 0, b'/workspace', 0, 32 | 4096, 0)",
    "mount of the control group of devices": "call('mount', b'x', b'/tmp', b'cgroup', 0, b'devices')",
    "mount of a unified tree of control groups": "call('mount', b'x', b'/tmp', b'cgroup2', 0, 0)",
    "mount of sysfs": "call('mount', b'x', b'/tmp', b'sysfs', 0, 0)",
    "mount of an overlay": "call('mount', b'x', b'/tmp', b'overlay', 0, b'lowerdir=/etc:/usr')",
    "mount of a disk": "call('mount', b'/dev/sda1', b'/tmp', b'ext4', 0, 0)",
    "mount of the formats of programs": "call('mount', b'x', b'/tmp', b'binfmt_misc', 0, 0)",
    "mount of debugfs": "call('mount', b'x', b'/tmp', b'debugfs', 0, 0)",
    "making the root shared": "call('mount', 0, b'/', 0, 1 << 20, 0)",
    "unmount of /tmp": "call('umount2', b'/tmp', 2)",
    "move_mount": "call('move_mount', -100, b'/usr', -100, b'/tmp', 0)", "fspick": "call('fspick', -100, b'/', 0)",
    "fsconfig": "call('fsconfig', 0, 6, 0, 0, 0)", "fsmount": "call('fsmount', 0, 0, 0)",
    "mount_setattr": "call('mount_setattr', -100, b'/', 0, bytes(32), 32)",
    "open_tree_attr": "call('open_tree_attr', -100, b'/', 1, bytes(32), 32)",
    "statmount": "call('statmount', bytes(32), ctypes.create_string_buffer(512), 512, 0)",
    "listmount": "call('listmount', bytes(32), ctypes.create_string_buffer(512), 64, 0)",
    "ptrace of a child": "call('ptrace', 0, 0, 0, 0)",
    "writing the memory of process 1": "call('process_vm_writev', 1, IOVEC, 1, IOVEC, 1, 0)",
    "advice on the memory of process 1": "call('process_madvise', call('pidfd_open', 1, 0), IOVEC, 1, 21, 0)",
    "taking the memory of process 1": "call('process_mrelease', call('pidfd_open', 1, 0), 0)",
    "kcmp": "call('kcmp', 1, os.getpid(), 0, 0, 0)", "add_key": "call('add_key', b'user', b'x', b'y', 1, -3)",
    "request_key": "call('request_key', b'user', b'x', 0, -3)",
    "io_uring_enter": "call('io_uring_enter', 0, 0, 0, 0, 0, 0)",
    "io_uring_register": "call('io_uring_register', 0, 0, 0, 0)",
    "asynchronous I/O of the kernel's": "call('io_setup', 1, BUFFER)",
    "init_module": "call('init_module', bytes(64), 64, b'')", "delete_module": "call('delete_module', b'loop', 0)",
    "create_module": "call('create_module', b'x', 4096)", "query_module": "call('query_module', 0, 1, 0, 0, 0)",
    "get_kernel_syms": "call('get_kernel_syms', 0)", "kexec_file_load": "call('kexec_file_load', 0, -1, 0, 0, 4)",
    "reboot": "call('reboot', 0xfee1dead, 672274793, 0x89abcdef, 0)", "swapoff": "call('swapoff', b'/tmp/x')",
    "acct": "call('acct', b'/tmp/x')", "quotactl": "call('quotactl', 0x800001 << 8, 0, 0, 0)",
    "quotactl_fd": "call('quotactl_fd', 0, 0x800001 << 8, 0, 0)", "nfsservctl": "call('nfsservctl', 0, 0, 0)",
    "sethostname": "call('sethostname', b'x', 1)", "setdomainname": "call('setdomainname', b'x', 1)",
    "settimeofday": "call('settimeofday', bytes(16), 0)",
    "adjusting the clock": "call('adjtimex', struct.pack('I', 1) + bytes(300))",
    "adjusting another clock": "call('clock_adjtime', 0, struct.pack('I', 1) + bytes(300))",
    "iopl": "call('iopl', 3)", "ioperm": "call('ioperm', 0x70, 1, 1)",
    "a handle of a file": "call('name_to_handle_at', -100, b'/', ctypes.create_string_buffer(200), bytes(4), 0)",
    "fanotify_init": "call('fanotify_init', 0x200, 0)", "fanotify_mark": "call('fanotify_mark', 0, 1, 2, -100, b'/')",
    "lookup_dcookie": "call('lookup_dcookie', 1, ctypes.create_string_buffer(100), 100)",
    "modify_ldt": "call('modify_ldt', 1, bytes(16), 16)", "vhangup": "call('vhangup')",
    "uselib": "call('uselib', b'/lib/x')", "ustat": "call('ustat', 0, ctypes.create_string_buffer(100))",
    "sysfs": "call('sysfs', 3)", "_sysctl": "call('_sysctl', bytes(100))", "vserver": "call('vserver', 0, 0, 0)",
    "another personality": "call('personality', 0x8)",
    "a personality that maps page zero": "call('personality', 0x0100000)",
    "moving pages between nodes": "call('move_pages', 0, 1, 0, 0, 0, 0)",
    "moving all pages between nodes": "call('migrate_pages', 0, 64, bytes(8), bytes(8))",
    "a policy of memory": "call('set_mempolicy', 0, 0, 0)",
    "a policy of some memory": "call('mbind', 0, 4096, 0, 0, 0, 0)",
    "asking for the policy of memory": "call('get_mempolicy', 0, 0, 0, 0, 0)",
    "a home node for memory": "call('set_mempolicy_home_node', 0, 4096, 0, 0)",
    "memfd_secret": "call('memfd_secret', 0)",
    "giving pages to a pipe": "call('vmsplice', os.pipe()[1], IOVEC, 1, 8)",
    "an attribute of a security module": "call('lsm_set_self_attr', 100, bytes(32), 32, 0)",
    "memory at address zero": "mapped(0, 4096, 0x32)", "memory of huge pages": "mapped(0, 1 << 21, 0x40022)",
    "taking back no_new_privs": "prctl(38, 0, 0, 0, 0)", "setting its own memory map": "prctl(35, 1, 4096, 0, 0)",
    "other bits of security": "prctl(28, 1, 0, 0, 0)", "an ambient capability": "prctl(47, 2, 21, 0, 0)",
    "another user": "os.setresuid(12345, 12345, 12345)", "another group": "os.setresgid(12345, 12345, 12345)",
    "other groups": "os.setgroups([12345])",
    "a real-time scheduler": "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    "a round-robin scheduler": "os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))",
    "a better priority": "os.nice(-1)", "a real-time priority for its disk": "call('ioprio_set', 1, 0, 1 << 13)",
    "x32 system calls": "raw(0x40000000 + 39)", "x86 system calls": "int80()",
}  # fmt: skip

_SOCKETS: Final = {
    **{
        f"a socket of the family {name}": f"socket.socket({number}, {kind}, {protocol})"
        for name, number, kind, protocol in (
            ("AF_AX25", 3, 5, 0), ("AF_IPX", 4, 2, 0), ("AF_APPLETALK", 5, 2, 0), ("AF_NETROM", 6, 5, 0),
            ("AF_X25", 9, 5, 0), ("AF_ROSE", 11, 5, 0), ("AF_DECnet", 12, 5, 0), ("AF_KEY", 15, 3, 2),
            ("AF_PACKET for datagrams", 17, 2, 0), ("AF_RDS", 21, 5, 0), ("AF_PPPOX", 24, 2, 0), ("AF_LLC", 26,
            2, 0),
            ("AF_CAN", 29, 3, 1), ("AF_TIPC", 30, 5, 0), ("AF_BLUETOOTH", 31, 3, 1), ("AF_IUCV", 32, 1, 0),
            ("AF_RXRPC", 33, 2, 2), ("AF_ISDN", 34, 3, 0), ("AF_PHONET", 35, 2, 0), ("AF_IEEE802154", 36, 3, 0),
            ("AF_CAIF", 37, 5, 0), ("AF_NFC", 39, 3, 0), ("AF_KCM", 41, 2, 0), ("AF_QIPCRTR", 42, 2, 0),
            ("AF_SMC", 43, 1, 0), ("AF_XDP", 44, 3, 0), ("AF_MCTP", 45, 2, 0),
        )
    },
    **{
        f"a socket for {name}": f"socket.socket({family}, {kind}, {protocol})"
        for name, family, kind, protocol in (
            ("SCTP", 2, 1, 132), ("SCTP over IPv6", 10, 5, 132), ("DCCP", 2, 6, 33), ("L2TP", 2, 2, 115),
            ("UDP-Lite", 2, 2, 136), ("Multipath TCP", 2, 1, 262),
        )
    },
    **{
        f"a netlink socket for {name}": f"socket.socket(16, 3, {number})"
        for name, number in {"audit": 9, "xfrm": 6, "uevents": 15, "generic": 16, "diagnosis": 4, "connector": 11,
                             "crypto": 21, "rdma": 20, "selinux": 7, "iscsi": 8}.items()
    },
    "a raw socket of any protocol": "socket.socket(2, 3, 255)",
    "a raw socket of IPv6": "socket.socket(10, 3, 58)",
    "a pair of TIPC sockets": "socket.socketpair(30, 5)",
    "an abstract socket with a listener": "abstract_sockets()",
    "an address for loopback": "fcntl.ioctl(socket.socket(), 0x8916, b'lo' + bytes(38))",
    "other flags for loopback": "fcntl.ioctl(socket.socket(), 0x8914, b'lo' + bytes(38))",
    "a route": "fcntl.ioctl(socket.socket(), 0x890b, bytes(120))",
    "a bridge": "fcntl.ioctl(socket.socket(), 0x89a0, b'br0' + bytes(13))",
    "another table of the firewall": "socket.socket().setsockopt(0, 64, bytes(128))",
    "a mark for packets": "socket.socket().setsockopt(1, 36, 1)",
    "a buffer beyond the limit": "socket.socket().setsockopt(1, 33, 1 << 30)",
    "addresses of others": "socket.socket().setsockopt(0, 19, 1)",
    **{
        f"a connection to {name}": f"connect({address!r}, {port})"
        for name, address, port in (
            ("the credentials of containers at Amazon", "169.254.170.2", 80),
            ("the metadata of Alibaba", "100.100.100.200", 80),
            ("the metadata of Azure", "168.63.129.16", 80),
            ("the metadata of Amazon by IPv6", "fd00:ec2::254", 80),
            ("the engine's interface on the usual bridge", "172.17.0.1", 2375),
            ("the host of a desktop's virtual machine", "192.168.65.254", 2375),
            ("the host of a user-mode network", "10.0.2.2", 22),
            ("the API of Kubernetes", "10.96.0.1", 443),
            ("a neighbour by IPv6", "fe80::1", 22),
        )
    },
    "a packet to a resolver": "socket.socket(2, 2).sendto(b'x', ('8.8.8.8', 53))",
    "a packet to everybody": "broadcast()",
    **{
        f"the socket {path}": f"socket.socket(socket.AF_UNIX).connect({path!r})"
        for path in (
            "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify",
            "/run/systemd/journal/socket",
            "/run/snapd.socket", "/run/buildkit/buildkitd.sock", "/var/run/dockershim.sock",
            "/run/docker/plugins.sock",
            "/var/lib/lxd/unix.socket", "/var/lib/incus/unix.socket", "/run/nscd/socket", "/run/udev/control",
            "/run/user/0/bus", "/run/libvirt/libvirt-sock", "/run/acpid.socket", "/tmp/.X11-unix/X0",
        )
    },
}  # fmt: skip

_WRITES: Final = {
    f"writing to {path}": f"write({path!r}, b'0')"
    for path in (
        "/proc/sys/kernel/hostname", "/proc/sys/kernel/shmmax", "/proc/sys/kernel/kptr_restrict",
        "/proc/sys/kernel/randomize_va_space", "/proc/sys/kernel/yama/ptrace_scope", "/proc/sys/kernel/ns_last_pid",
        "/proc/sys/kernel/usermodehelper/bset", "/proc/sys/kernel/poweroff_cmd", "/proc/sys/kernel/sysrq",
        "/proc/sys/kernel/unprivileged_bpf_disabled", "/proc/sys/kernel/perf_event_paranoid",
        "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/panic_on_oom", "/proc/sys/vm/mmap_min_addr",
        "/proc/sys/vm/drop_caches", "/proc/sys/fs/suid_dumpable", "/proc/sys/fs/protected_symlinks",
        "/proc/sys/fs/mqueue/queues_max", "/proc/sys/user/max_user_namespaces",
        "/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/conf/all/route_localnet",
        "/proc/sys/net/ipv4/ping_group_range", "/proc/sys/net/ipv4/ip_unprivileged_port_start",
        "/proc/self/gid_map", "/proc/self/projid_map", "/proc/self/setgroups", "/proc/self/timens_offsets",
        "/proc/self/exe", "/proc/self/attr/current", "/proc/1/oom_score_adj",
        "/proc/1/exe", "/proc/1/comm", "/proc/1/attr/exec", "/proc/1/timerslack_ns", "/proc/1/clear_refs",
        "/proc/1/sched", "/proc/1/task/1/mem", "/proc/1/coredump_filter", "/proc/mtrr",
        "/proc/scsi/scsi", "/proc/acpi/wakeup", "/proc/irq/default_smp_affinity", "/proc/bus/pci/00/00.0",
        "/proc/fs/nfsd/threads", "/proc/driver/rtc",
        "/sys/fs/cgroup/rdma/release_agent", "/sys/fs/cgroup/devices/devices.allow",
        "/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/memory/notify_on_release",
        "/sys/fs/cgroup/freezer/freezer.state", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
        "/sys/fs/cgroup/pids/pids.max",
        "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/cgroup.kill", "/sys/fs/cgroup/cgroup.subtree_control",
        "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/ksm/run",
        "/sys/module/kernel/parameters/panic", "/sys/bus/pci/rescan", "/sys/devices/system/cpu/cpu1/online",
        "/sys/class/net/lo/mtu", "/sys/firmware/efi/efivars/x", "/sys/fs/selinux/enforce",
        "/sys/kernel/security/apparmor/.load", "/etc/passwd", "/etc/ld.so.preload", "/etc/hosts",
        "/etc/resolv.conf", "/etc/hostname", "/usr/bin/python3", "/dev/console", "/dev/mqueue/x", "/dev/x",
    )
}  # fmt: skip

_READS: Final = {
    f"reading {path}": f"read({path!r})"
    for path in (
        "/proc/kmsg", "/proc/sched_debug", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/pagetypeinfo",
        "/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup", "/proc/interrupts", "/proc/key-users",
        "/proc/config.gz", "/proc/bootconfig", "/proc/latency_stats", "/proc/mtrr",
        "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/auxv", "/proc/1/stack", "/proc/1/syscall",
        "/proc/1/io", "/proc/1/smaps", "/proc/1/numa_maps", "/proc/1/pagemap", "/proc/1/personality",
        "/proc/1/timers", "/proc/1/task/1/environ", "/proc/1/fd/0", "/proc/1/fd/3",
        "/proc/1/root/etc/passwd", "/proc/1/cwd/etc/passwd", "/sys/kernel/vmcoreinfo",
        "/sys/kernel/notes", "/sys/firmware/acpi/tables/DSDT", "/sys/firmware/dmi/tables/DMI",
        "/var/run/secrets/kubernetes.io/serviceaccount/token", "/etc/kubernetes/admin.conf",
        "/var/lib/kubelet/config.yaml", "/var/lib/cloud/instance/user-data.txt", "/etc/machine-id.host",
        "/run/secrets/toolc", "/root/.ssh/id_rsa", "/root/.docker/config.json", "/root/.aws/credentials",
    )
} | {
    f"listing {path}": f"prove(os.listdir({path!r}))"
    for path in (
        "/proc/1/fd", "/proc/1/fdinfo", "/proc/1/map_files", "/proc/1/root", "/proc/acpi", "/proc/scsi",
        "/proc/asound",
        "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf",
        "/sys/devices/virtual/powercap", "/var/run/docker", "/run/containerd", "/run/toolc", "/run/secrets",
        "/var/lib/docker", "/var/lib/lxcfs", "/var/lib/toolc", "/var/log/pods", "/etc/kubernetes", "/dev/mqueue",
    )
}  # fmt: skip

_DEVICES: Final = {
    f"a device of its own for {name}": f"device({kind:#o}, {major}, {minor})"
    for name, kind, major, minor in (
        ("memory", 0o20000, 1, 1), ("ports", 0o20000, 1, 4), ("the kernel's log", 0o20000, 1, 11),
        ("the first terminal", 0o20000, 4, 1), ("the console", 0o20000, 5, 1), ("tunnels", 0o20000, 10, 200),
        ("file systems", 0o20000, 10, 229), ("virtual machines", 0o20000, 10, 232), ("loops", 0o60000, 7, 0),
        ("a disk", 0o60000, 8, 0), ("a partition", 0o60000, 8, 1), ("a virtual disk", 0o60000, 254, 0),
    )
} | {
    f"opening {path}": f"os.open({path!r}, os.O_RDWR)"
    for path in (
        "/dev/loop-control", "/dev/loop0", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/dm-0",
        "/dev/mapper/control",
        "/dev/nbd0", "/dev/ublk-control", "/dev/userfaultfd", "/dev/cpu/0/msr", "/dev/port", "/dev/kmem",
        "/dev/btrfs-control", "/dev/cuse", "/dev/autofs", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/vsock",
        "/dev/vfio/vfio", "/dev/uinput", "/dev/uhid", "/dev/input/event0", "/dev/rfkill", "/dev/dri/card0",
        "/dev/nvidiactl", "/dev/snd/control", "/dev/watchdog", "/dev/rtc0", "/dev/hpet", "/dev/tpm0", "/dev/tty1",
        "/dev/vcs", "/dev/binder", "/dev/udmabuf", "/dev/hwrng",
    )
}  # fmt: skip

_FILES: Final = {
    "a character device": "os.mknod('/tmp/null', 0o20666, os.makedev(1, 3))",
    "a block device": "os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))",
    "a file capability": "attribute('security.capability', bytes.fromhex('01000002' + '02000000' + '00' * 12))",
    "a measure of integrity": "attribute('security.ima', b'x')",
    "a trusted attribute": "attribute('trusted.x', b'y')",
    "a file that cannot be changed": "flag_immutable()",
    "freezing the file system": "fcntl.ioctl(os.open('/tmp', os.O_RDONLY), 0xc0045877, bytes(4))",
    "trimming the file system": "fcntl.ioctl(os.open('/tmp', os.O_RDONLY), 0xc0185879, bytes(24))",
    "where a file lies on its disk": "fcntl.ioctl(os.open('/etc/passwd', os.O_RDONLY), 1, bytes(4))",
    "a link to a file of the image": "os.link('/etc/passwd', '/tmp/passwd')",
    "opening anew, for writing, what is read-only": "reopened('/etc/passwd')",
    "a descriptor that leads out": "foreign_descriptors()",
    "a folder outside the root by ..": "outside()",
    "a score that protects from the lack of memory": "write('/proc/self/oom_score_adj', b'-1000')",
    "the old score that protects": "write('/proc/self/oom_adj', b'-17')",
    "a group below its own": "os.mkdir('/sys/fs/cgroup/memory/x')",
    "a group of its own in a unified tree": "os.mkdir('/sys/fs/cgroup/x')",
    "addresses of the kernel": "int(last('/proc/kallsyms').split()[0], 16) or refused()",
    "addresses of modules": "int(last('/proc/modules').split()[-1], 16) or refused()",
    "addresses of memory": "int(last('/proc/iomem').split('-')[1].split()[0], 16) or refused()",
    "how this machine was started": "prove('console=' in text('/proc/cmdline'))",
    "the disks of this machine": "prove(text('/proc/partitions').splitlines()[2:])",
    "a resolver": "lines_but('/etc/resolv.conf', 'nameserver 127.0.0.1', 'options', '#')",
    "names of this machine's network": "lines_but('/etc/hosts', '127.', '::1', 'fe00', 'ff0', '#')",
    "secrets in its environment": "secrets()",
    "a file under /sys or /proc/sys that can be written": "writable('/sys', '/proc/sys')",
    "a mount that allows set-user-id or devices": "loose_mounts()",
    "injecting into a terminal": "fcntl.ioctl(0, 0x5412, b'x')",
    "pasting into a console": "fcntl.ioctl(0, 0x541c, b'\\x03')",
    "another user's terminal": "os.open('/dev/tty', os.O_RDWR)",
    "more queues of messages than are its share": "queues()",
}  # fmt: skip

CHAPTERS: Final[Mapping[str, Mapping[str, str]]] = {
    "Namespaces, mounts and kernel features": _NAMESPACES | _CALLS,
    "Sockets and networks": _SOCKETS,
    "Writing files": _WRITES,
    "Reading files and folders": _READS,
    "Devices": _DEVICES,
    "File attributes, escapes and information leaks": _FILES,
}

BEYOND: Final = {name: code for chapter in CHAPTERS.values() for name, code in chapter.items()}
"""The code of each attempt by name."""

HOST: Final[attempts.Host] = {"secret": "", "word": "", "socket": "", "port": 0}

NAMES: Final = (*attempts.attempts(HOST), *BEYOND)
"""The names of all attempts: those of toolc, and these."""

_HELP: Final = Path(attempts_help.__file__).read_text(encoding="utf-8").partition("# Inside the sandbox")[2]

TOOL: Final = "\n".join(
    (
        Path(attempts.__file__).read_text(encoding="utf-8"),
        f"import ctypes, fcntl, mmap, os, socket, stat, struct\nfrom functools import partial\n#{_HELP}",
        f"def run(): return all_attempts({BEYOND!r}, {NUMBERS!r}, {LISTENER!r})",
    )
)
"""The code of a Python tool: ``run`` makes every attempt and returns ``refused`` or ``done`` for each."""
