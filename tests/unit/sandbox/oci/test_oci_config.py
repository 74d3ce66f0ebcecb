"""The configuration of a profile: ids, mounts, limits, the system call filter, and recorded control groups."""

import socket
from pathlib import Path
from typing import Any

import pytest

from toolc.model.plan import Mount, Profile
from toolc.model.spec.sandbox import MIB, Limits
from toolc.sandbox import seccomp
from toolc.sandbox.base import SocketStream
from toolc.sandbox.common_config import tmpfs_bounds
from toolc.sandbox.host import cgroups
from toolc.sandbox.oci import root as oci_root
from toolc.sandbox.oci.config import config, resources
from toolc.sandbox.oci.root import Interpreter, RootSpec
from toolc.sandbox.oci.user_namespace import UNUSED, IdMapping, SandboxUser, sandbox_user

SYSTEM = Interpreter(path="/usr/bin/python3.11", prefix=None)


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
        (workspace(0, 0), 0, SandboxUser(uid=1000, gid=1000, uids=(IdMapping(0, UNUSED), IdMapping(1000, UNUSED +
        1000)),
                                      gids=(IdMapping(0, UNUSED), IdMapping(1000, UNUSED + 1000)),
                                      workspace_uid=IdMapping(0, UNUSED + 1000), workspace_gid=IdMapping(0, UNUSED +
                                      1000))),
        (workspace(0, 0), 1234, SandboxUser(uid=0, gid=0, uids=(IdMapping(0, 1234),), gids=(IdMapping(0, 100),))),
    ],
    ids=["no workspace", "a user's", "a user's of root's group", "root's", "rootless"],
)  # fmt: skip
def test_a_tool_has_the_expected_user(mount: Mount | None, euid: int, expected: SandboxUser) -> None:
    found = sandbox_user(mount, euid=euid, egid=0 if euid == 0 else 100)
    assert found == expected
    if euid == 0:
        assert 0 not in {pair.outside for pair in (*found.uids, *found.gids)}


def configured(profile: Profile, python: Interpreter = SYSTEM) -> Any:
    return config(
        profile, sandbox_user(profile.workspace, euid=0, egid=0), root=Path("/root-folder"),
        workspace=profile.workspace.source if profile.workspace else None, root_spec=RootSpec().on_host(python),
        arguments=["-c", "pass"], resources=resources(profile.limits, swap={"swap": profile.limits.memory_bytes}),
    )  # fmt: skip


def test_limits_become_resources() -> None:
    limits = Limits(memory_bytes=64 * MIB, pids=7, cpus=0.25)
    assert configured(Profile(limits=limits))["linux"]["resources"] == {
        "devices": [{"allow": False, "access": "rwm"}],
        "memory": {"limit": 64 * MIB, "swap": 64 * MIB},
        "pids": {"limit": 7},
        "cpu": {"quota": 25_000, "period": 100_000},
    }


def test_a_sandbox_has_every_namespace_and_no_capability() -> None:
    whole = configured(Profile())
    assert whole["linux"]["namespaces"] == [
        {"type": name} for name in ("pid", "ipc", "uts", "mount", "user", "network", "cgroup")
    ]
    assert set(map(str, whole["process"]["capabilities"].values())) == {"[]"}
    assert whole["process"]["noNewPrivileges"] is True
    assert whole["root"] == {"path": "/root-folder", "readonly": True}


@pytest.mark.parametrize("mode", ["ro", "rw"])
def test_the_workspace_is_mounted_last(mode: str) -> None:
    mount = Mount(source="/srv/a b", mode="rw" if mode == "rw" else "ro", owner=1234, group=1234)
    assert configured(Profile(workspace=mount))["mounts"][-1] == {
        "destination": "/workspace",
        "type": "bind",
        "source": "/srv/a b",
        "options": ["rbind", "rro" if mode == "ro" else "rw", "rnosuid", "rnodev", "rprivate"],
    }


def test_a_python_outside_of_usr_is_bound_read_only() -> None:
    whole = configured(Profile(), Interpreter(path="/opt/py/bin/python3.11", prefix="/opt/py"))
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


def test_prlimit_is_allowed_only_for_the_process_itself() -> None:
    rules: Any = seccomp.profile("x86_64")["syscalls"]
    # With no processor time left, process 1 would be killed by the kernel, as if memory had run out.
    own = {"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}
    assert [rule for rule in rules if "prlimit64" in rule["names"]] == [
        {"names": ["prlimit64"], "action": "SCMP_ACT_ALLOW", "args": [own]}
    ]


def test_the_filter_of_gvisor() -> None:
    usual: Any = seccomp.profile("x86_64")["syscalls"]
    gvisors: Any = seccomp.gvisor_profile("x86_64")["syscalls"]
    process_1 = {"index": 0, "value": 0xFFFF_FFFF, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}
    assert gvisors[0] == {"names": [*seccomp.SIGNALS], "action": "SCMP_ACT_ERRNO", "args": [process_1]}
    names = [rule["names"] for rule in gvisors[1:5]]
    assert names == [["fcntl"], ["pidfd_send_signal"], ["clone3"], ["pselect"]]
    assert gvisors[5:] == usual[:-1]


@pytest.mark.parametrize(("size", "files"), [(64 * MIB, 16_384), (1 * MIB, 1024)])
def test_the_inodes_of_a_tmpfs(size: int, files: int) -> None:
    assert tmpfs_bounds(size) == (f"size={size}", f"nr_inodes={files}")


def test_the_root_skeleton_is_complete(tmp_path: Path) -> None:
    root = tmp_path / "root"
    oci_root.build_skeleton(root, sandbox_user(workspace(1234, 100), euid=0, egid=0), SYSTEM)
    for path in oci_root.python_binds(SYSTEM):
        assert (root / path.lstrip("/")).is_dir(), path
    assert (root / "etc/passwd").read_text(encoding="utf-8").splitlines() == [
        "root:x:0:0::/tmp:/bin/sh",
        "tool:x:1234:100::/tmp:/bin/sh",
        "nobody:x:65534:65534::/tmp:/bin/sh",
    ]
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
