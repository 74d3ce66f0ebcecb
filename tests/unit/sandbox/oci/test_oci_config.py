"""The configuration of a profile: ids, mounts, limits, the system call filter, and recorded control groups."""

import socket
from dataclasses import replace
from os import O_CREAT, O_TMPFILE
from pathlib import Path
from typing import Any

import pytest

from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox import seccomp
from toolc.sandbox.common_config import MASKED_PATHS, READONLY_PATHS
from toolc.sandbox.host import cgroups
from toolc.sandbox.images.metadata import Unpacked
from toolc.sandbox.interface import SocketStream
from toolc.sandbox.oci import root as oci_root
from toolc.sandbox.oci.config import ENVIRONMENT, config, resources
from toolc.sandbox.oci.root import Interpreter, RootSpec
from toolc.sandbox.oci.user_namespace import UNUSED, IdMapping, SandboxUser, sandbox_user

SYSTEM = Interpreter(path="/usr/bin/python3.11", prefix=None)
HOST_ROOT = RootSpec().on_host(SYSTEM)
ROOT, TOOL = IdMapping(0, UNUSED + 1000), IdMapping(1000, UNUSED + 1000)


def workspace(owner: int, group: int = 0) -> Mount:
    return Mount(source="/srv/work", mode="rw", owner=owner, group=group)


@pytest.mark.parametrize(
    ("mount", "euid", "expected"),
    [
        (None, 0, SandboxUser(uid=65534, gid=65534, uids=(IdMapping(0, UNUSED), IdMapping(65534, UNUSED + 65534)),
                           gids=(IdMapping(0, UNUSED), IdMapping(65534, UNUSED + 65534)))),
        (workspace(1234, 100), 0, SandboxUser(uid=1234, gid=100, uids=(IdMapping(0, UNUSED), IdMapping(1234, 1234)),
                                           gids=(IdMapping(0, UNUSED), IdMapping(100, 100)))),
        (workspace(1234, 0), 0, SandboxUser(uid=1234, gid=1234, uids=(IdMapping(0, UNUSED), IdMapping(1234, 1234)),
                                         gids=(IdMapping(0, UNUSED), IdMapping(1234, 1234)))),
        (workspace(0, 0), 0, SandboxUser(uid=1000, gid=1000, uids=(IdMapping(0, UNUSED), TOOL),
            gids=(IdMapping(0, UNUSED), TOOL), workspace_uid=ROOT, workspace_gid=ROOT)),
        (workspace(0, 0), 1234, SandboxUser(uid=0, gid=0, uids=(IdMapping(0, 1234),), gids=(IdMapping(0, 100),))),
    ],
    ids=["no workspace", "a user's", "a user's of root's group", "root's", "rootless"],
)  # fmt: skip
def test_a_tool_has_the_expected_user(mount: Mount | None, euid: int, expected: SandboxUser) -> None:
    found = sandbox_user(mount, euid=euid, egid=0 if euid == 0 else 100)
    assert found == expected
    if euid == 0:
        assert 0 not in {pair.outside for pair in (*found.uids, *found.gids)}


def configured(profile: Profile, root_spec: RootSpec = HOST_ROOT, *, source: str = "") -> Any:
    return config(
        profile, sandbox_user(profile.workspace, euid=0, egid=0), root=Path("/root-folder"),
        workspace=source or (profile.workspace.source if profile.workspace else ""), root_spec=root_spec,
        arguments=["-c", "pass"], resources=resources(profile.limits, swap={"swap": profile.limits.memory_bytes}),
    )  # fmt: skip


def test_the_configuration_is_complete() -> None:
    limits = Limits(memory_bytes=64 * MIB, pids=7, cpus=0.25, tmp_bytes=1 * MIB)
    image = Unpacked("debian", "sha256:abc", Path("/root-folder"), "/opt/bin:/bin", ("/data",))
    whole = configured(Profile(limits=limits), RootSpec(image=image, command=("python3",)))
    mounts = whole.pop("mounts")
    assert {each["destination"]: (each["type"], ",".join(each["options"])) for each in mounts} == {
        "/proc": ("proc", "nosuid,nodev,noexec"),
        "/dev": ("tmpfs", "nosuid,noexec,ro,mode=755,size=65536"),
        "/dev/pts": ("devpts", "nosuid,noexec,newinstance,ptmxmode=0666,mode=0620,max=64"),
        "/dev/shm": ("tmpfs", "nosuid,nodev,noexec,mode=1777,size=16777216,nr_inodes=4096"),
        "/tmp": ("tmpfs", "nosuid,nodev,mode=1777,size=1048576,nr_inodes=1024"),
        "/tool": ("tmpfs", "nosuid,nodev,mode=1777,size=16777216,nr_inodes=4096"),
        "/data": ("tmpfs", "nosuid,nodev,noexec,mode=1777,size=16777216"),
    }
    ids = [{"containerID": inside, "hostID": UNUSED + inside, "size": 1} for inside in (0, 65534)]
    assert whole == {
        "ociVersion": "1.0.2", "root": {"path": "/root-folder", "readonly": True}, "hostname": "sandbox",
        "process": {
            "terminal": False, "user": {"uid": 65534, "gid": 65534, "umask": 0o022}, "cwd": "/",
            "args": ["python3", "-c", "pass"], "env": [*ENVIRONMENT, "PATH=/opt/bin:/bin"],
            "capabilities": {key: [] for key in ("bounding", "effective", "inheritable", "permitted", "ambient")},
            "noNewPrivileges": True, "rlimits": [{"type": "RLIMIT_CORE", "soft": 1, "hard": 1}],
        },
        "linux": {
            "namespaces": [{"type": name} for name in ("pid", "ipc", "uts", "mount", "user", "network", "cgroup")],
            "uidMappings": ids, "gidMappings": ids, "resources": {
                "devices": [{"allow": False, "access": "rwm"}], "memory": {"limit": 64 * MIB, "swap": 64 * MIB},
                "pids": {"limit": 7}, "cpu": {"quota": 25_000, "period": 100_000},
            },
            "seccomp": seccomp.profile(), "maskedPaths": [*MASKED_PATHS], "readonlyPaths": [*READONLY_PATHS],
        },
    }  # fmt: skip


def test_paths_that_docker_protects_are_protected() -> None:
    masked = "acpi asound interrupts kcore keys latency_stats sched_debug scsi timer_list timer_stats"
    assert {f"/proc/{name}" for name in masked.split()} <= {*MASKED_PATHS}
    assert {f"/proc/{name}" for name in ("bus", "fs", "irq", "sys", "sysrq-trigger")} == {*READONLY_PATHS}


@pytest.mark.parametrize("source", ["/srv/work", "/proc/self/fd/7"], ids=["by path", "held open"])
def test_an_overlay_is_mounted_over_the_read_only_folder(source: str) -> None:
    mount = replace(workspace(1234), mode="overlay", scratch="/scratch")
    *_, below, last = configured(Profile(workspace=mount), RootSpec(), source=source)["mounts"]
    lower = "/root-folder/dev/.workspace" if source == mount.source else source
    assert last["options"][:3] == ["nosuid", "nodev", f"lowerdir={lower}"]
    assert (below["destination"] == "/dev/.workspace" and "rro" in below["options"]) is (lower != source)


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_the_workspace_is_mounted_last(mode: str) -> None:
    mount = Mount(source="/srv/a b", mode="rw" if mode == "rw" else "ro", owner=1234, group=1234)
    options = ["rbind", "rro" if mode == "ro" else "rw", "rnosuid", "rnodev", "rprivate"]
    bind = {"destination": "/workspace", "type": "bind", "source": "/srv/a b", "options": options}
    assert configured(Profile(workspace=mount))["mounts"][-1] == bind


def test_a_python_outside_of_usr_is_bound_read_only() -> None:
    whole = configured(Profile(), RootSpec().on_host(Interpreter(path="/opt/py/bin/python3.11", prefix="/opt/py")))
    assert whole["process"]["args"] == ["/opt/py/bin/python3.11", "-c", "pass"]
    options = ["rbind", "rro", "rnosuid", "rnodev", "rprivate"]
    assert {"destination": "/opt/py", "type": "bind", "source": "/opt/py", "options": options} in whole["mounts"]


def test_the_filter_denies_by_default() -> None:
    found: Any = seccomp.profile("x86_64")
    assert (found["defaultAction"], found["architectures"]) == ("SCMP_ACT_ERRNO", ["SCMP_ARCH_X86_64"])
    names = found["syscalls"][0]["names"]
    assert len(names) == len(set(names))
    dangerous = (
        "mount umount2 move_mount open_tree mount_setattr fsopen pivot_root chroot unshare setns clone clone3 "
        "io_uring_setup io_uring_enter io_uring_register bpf perf_event_open ptrace process_vm_readv pidfd_getfd "
        "process_vm_writev kcmp keyctl add_key request_key userfaultfd kexec_load init_module finit_module "
        "delete_module clock_settime settimeofday clock_adjtime adjtimex open_by_handle_at socket personality "
        "quotactl swapon reboot syslog acct iopl ioperm modify_ldt vmsplice fanotify_init nfsservctl"
    )
    assert not set(dangerous.split()) & set(names)


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("clone", [(17,)], [(17 | 1 << bit,) for bit in (17, 25, 26, 27, 28, 29, 30)]),
        *((name, [(0, 0o1777)], [(0, 0o4755), (0, 0o2755)]) for name in ("chmod", "creat", "fchmod", "mknod")),
        *((name, [(3, 0, 0o1777)], [(3, 0, 0o4755), (3, 0, 0o2755)]) for name in ("fchmodat", "fchmodat2", "mknodat")),
        ("open", [(0, 0, 0o4755), (0, O_CREAT, 0o644)], [(0, O_CREAT, 0o4755), (0, O_TMPFILE, 0o2755)]),
        ("openat", [(3, 0, 0, 0o4755), (3, 0, O_CREAT, 0o644)], [(3, 0, O_CREAT, 0o4755), (3, 0, O_TMPFILE, 0o2755)]),
        # UNIX, TCP, UDP, ICMP and NETLINK_ROUTE; not SCTP, Multipath TCP, DCCP, netfilter, packets and vsock.
        ("socket", [(1, 1, 0), (2, 1, 6), (10, 2, 17), (2, 2, 1), (16, 3, 0)],
         [(2, 1, 132), (10, 1, 262), (2, 6, 33), (16, 3, 12), (17, 3, 0), (40, 1, 0)]),
        ("socketpair", [(1, 1, 0)], [(2, 1, 0)]),
        ("personality", [(0,), (0x4_0000,), (0xFFFF_FFFF,)], [(8,), (0x40_0000,)]),
        # With no processor time left, process 1 would be killed by the kernel, as if memory had run out.
        ("prlimit64", [(0,)], [(1,)]),
        # With the lowest priority, process 1 would get no processor time to end the call at its deadline.
        *((name, [(0,)], [(1,)]) for name in ("sched_setattr", "sched_setparam", "sched_setscheduler")),
        ("setpriority", [(0, 0)], [(0, 1), (1, 0), (2, 0)]),
        *((name, [], [()]) for name in ("clone3", "openat2")),
    ],
)  # fmt: skip
def test_the_filter_checks_arguments(name: str, allowed: list[tuple[int, ...]], refused: list[tuple[int, ...]]) -> None:
    rules: Any = seccomp.profile("x86_64")["syscalls"]
    allows = [rule.get("args", []) for rule in rules if name in rule["names"] and rule["action"] == "SCMP_ACT_ALLOW"]

    def holds(rule: dict[str, Any], value: int) -> bool:
        equal, masked = value == rule["value"], value & rule["value"] == rule.get("valueTwo")
        return bool({"SCMP_CMP_EQ": equal, "SCMP_CMP_MASKED_EQ": masked}[rule["op"]])

    def is_allowed(arguments: tuple[int, ...]) -> bool:
        return any(all(holds(each, arguments[each["index"]]) for each in conditions) for conditions in allows)

    assert [each for each in (*allowed, *refused) if is_allowed(each)] == allowed


def test_the_filter_of_gvisor() -> None:
    usual: Any = seccomp.profile("x86_64")["syscalls"]
    gvisors: Any = seccomp.gvisor_profile("x86_64")["syscalls"]
    process_1 = {"index": 0, "value": 0xFFFF_FFFF, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}
    assert gvisors[0] == {"names": [*seccomp.SIGNALS], "action": "SCMP_ACT_ERRNO", "args": [process_1]}
    names = [rule["names"] for rule in gvisors[1:5]]
    assert names == [["fcntl"], ["pidfd_send_signal"], ["clone3"], ["pselect"]]
    assert gvisors[5:] == usual[:-1]


def test_the_root_skeleton_is_complete(tmp_path: Path) -> None:
    root = tmp_path / "root"
    oci_root.build_skeleton(root, sandbox_user(workspace(1234, 100), euid=0, egid=0), SYSTEM)
    for path in oci_root.python_binds(SYSTEM):
        assert (root / path.lstrip("/")).is_dir(), path
    users = "root:x:0:0::/tmp:/bin/sh\ntool:x:1234:100::/tmp:/bin/sh\nnobody:x:65534:65534::/tmp:/bin/sh\n"
    assert (root / "etc/passwd").read_text(encoding="utf-8") == users
    assert (root / "etc/group").read_text(encoding="utf-8") == "root:x:0:\ntool:x:100:\nnogroup:x:65534:\n"
    assert not (root / "etc/shadow").exists()
    assert not list((root / "home").iterdir())
    for name in ("tmp", "tool"):
        assert (root / name).stat().st_mode & 0o7777 == 0o1777


# Recorded: systemd's session of an ordinary user on a version 2 host, and a container on a version 1 host.
V2_MOUNTS = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V2_GROUP = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope\n"
V1_MOUNTS = (
    "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro,relatime - cgroup cgroup rw,memory\n"
    "36 31 0:33 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,relatime - cgroup cgroup rw,cpu,cpuacct\n"
    "37 31 0:34 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
V1_GROUP = "9:memory:/docker/abc/inner\n3:cpu,cpuacct:/docker/abc\n0::/\n"


def test_cgroup_v2_sandboxes_are_siblings() -> None:
    found = cgroups.groups(V2_MOUNTS, V2_GROUP)
    slice_ = Path("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice")
    expected = cgroups.Group(version=2, folder=slice_ / "run-1.scope", parent=slice_)
    assert found == dict.fromkeys(("memory", "pids", "cpu"), expected)


def test_cgroup_v2_at_the_mount_point() -> None:
    top = Path("/sys/fs/cgroup")
    assert cgroups.groups(V2_MOUNTS, "0::/\n")["memory"] == cgroups.Group(version=2, folder=top, parent=top)


def test_cgroup_v1_in_a_container() -> None:
    found = cgroups.groups(V1_MOUNTS, V1_GROUP)
    memory, cpu = Path("/sys/fs/cgroup/memory/inner"), Path("/sys/fs/cgroup/cpu,cpuacct")
    assert found["memory"] == cgroups.Group(version=1, folder=memory, parent=memory)
    assert found["cpu"] == cgroups.Group(version=1, folder=cpu, parent=cpu)
    # Hybrid: the version 2 tree is mounted but does not have it.
    assert found["pids"].version == 2


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 0\n", 3),
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", 0),
        ("nonsense", None),
        (None, None),
    ],
    ids=["version 2", "version 1", "unreadable", "gone"],
)
def test_oom_counters_of_both_versions(tmp_path: Path, text: str | None, kills: int | None) -> None:
    events = tmp_path / "events"
    if text is not None:
        events.write_text(text, encoding="utf-8")
    assert cgroups.oom_kills(events) == kills


def test_a_stream_with_a_closed_peer() -> None:
    ours, theirs = socket.socketpair()
    stream = SocketStream(ours)
    assert stream.read() is None
    theirs.sendall(b"last")
    theirs.close()
    assert (stream.read(), stream.read(), stream.write(b"late")) == (b"last", b"", 4)
    stream.close()
    stream.close()
    assert (stream.read(), stream.write(b"later"), stream.fileno()) == (b"", 5, -1)


def test_a_full_stream_accepts_nothing() -> None:
    ours, theirs = socket.socketpair()
    stream = SocketStream(ours)
    while stream.write(bytes(65536)):
        pass
    assert stream.write(b"x") == 0
    stream.close()
    theirs.close()
