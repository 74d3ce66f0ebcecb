"""The sandbox of a fork server: its configuration, what it sends to the server, and the compiled filter."""

import ctypes
import errno
import marshal
import platform
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from toolc.model.plan import LoopbackProxy, Mount, Profile
from toolc.model.spec.sandbox import Build
from toolc.sandbox import seccomp
from toolc.sandbox.docker import container_config
from toolc.sandbox.oci.config import config, fork_setup, resources
from toolc.sandbox.oci.engine import OciEngine
from toolc.sandbox.oci.filter_program import compile_filter, library
from toolc.sandbox.oci.root import Interpreter, RootSpec
from toolc.sandbox.oci.user_namespace import sandbox_user

FORK: Final = Profile(has_fork_server=True)

needs_library = pytest.mark.skipif(
    library() is None or platform.machine() != "x86_64", reason="this test needs libseccomp on x86_64"
)


def configured(profile: Profile) -> Any:
    return config(
        profile,
        sandbox_user(None, euid=0, egid=0),
        root=Path("/root"),
        workspace="",
        root_spec=RootSpec().on_host(Interpreter(path="/usr/bin/python3", prefix=None)),
        arguments=("-c", "pass"),
        resources=resources(profile.limits, swap={}),
    )


def test_only_a_fork_server_has_capabilities_and_may_mount() -> None:
    usual, server = configured(Profile()), configured(FORK)
    assert {str(each) for each in usual["process"]["capabilities"].values()} == {"[]"}
    expected = "['CAP_SETPCAP', 'CAP_SYS_ADMIN']"
    assert {str(each) for each in server["process"]["capabilities"].values()} == {expected}
    assert (usual["linux"]["seccomp"], server["linux"]["seccomp"]) == (seccomp.profile(), seccomp.fork_server_profile())
    assert {key for key in usual["linux"] if usual["linux"][key] != server["linux"][key]} == {"seccomp"}
    for each in (usual, server):
        assert each["process"]["noNewPrivileges"] is True
        assert {"type": "user"} in each["linux"]["namespaces"]
    different = {key for key in usual if usual[key] != server[key]}
    assert different == {"process", "linux"}


def test_the_filter_of_the_server_adds_only_mounts_and_the_namespaces_of_calls() -> None:
    def rules(profile: Any) -> list[str]:
        return [str(each) for each in profile["syscalls"]]

    usual, server = rules(seccomp.profile()), rules(seccomp.fork_server_profile())
    added = [each for each in server if each not in usual]
    assert [each for each in usual if each not in server] == [rule for rule in usual if "['clone']" in rule]
    # CLONE_NEWUSER, CLONE_NEWUTS and CLONE_NEWCGROUP stay forbidden.
    mask = 0x1000_0000 | 0x0400_0000 | 0x0200_0000
    condition = {"index": 0, "value": mask, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    assert added == [
        str({"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [condition]}),
        str({"names": ["mount"], "action": "SCMP_ACT_ALLOW", "args": []}),
        str({"names": ["umount2"], "action": "SCMP_ACT_ALLOW", "args": []}),
    ]


@needs_library
def test_each_call_gets_its_own_of_all_that_a_tool_can_write() -> None:
    setup = marshal.loads(fork_setup(configured(FORK), FORK))
    assert [each[:2] for each in setup["mounts"]] == [
        ["/dev/pts", "devpts"], ["/dev/shm", "tmpfs"], ["/tmp", "tmpfs"], ["/tool", "tmpfs"],
    ]  # fmt: skip
    usual = {each["destination"]: each["options"] for each in configured(Profile())["mounts"]}
    for path, kind, options in setup["mounts"]:
        assert options == usual[path] + (["uid=0", "gid=0"] if kind == "tmpfs" else [])
    linux = configured(Profile())["linux"]
    assert (setup["masked"], setup["read_only"]) == (linux["maskedPaths"], linux["readonlyPaths"])
    assert setup["filter"] == compile_filter(seccomp.profile())


@needs_library
@pytest.mark.parametrize(
    ("requirements", "is_locked"),
    [((), False), (("numpy==2.0",), False), (("numpy==2.0@sha256:0",), True), (("a==1@sha256:0", "b==1"), False)],
)
def test_only_packages_with_digests_are_imported_in_the_server(
    requirements: tuple[str, ...], *, is_locked: bool
) -> None:
    profile = replace(FORK, requirements=requirements)
    assert marshal.loads(fork_setup(configured(profile), profile))["is_locked"] is is_locked


@needs_library
@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (replace(FORK, image="debian"), "must not come from the image of a tool"),
        (replace(FORK, build=Build(folder="image", files=())), "must not come from the image of a tool"),
        (replace(FORK, loopback=LoopbackProxy(proxy="127.0.1.1")), "calls have no network"),
        (
            replace(FORK, workspace=Mount(source="/srv", mode="overlay", owner=0, group=0)),
            "a workspace cannot be a transaction",
        ),
    ],
)
def test_what_cannot_be_isolated_is_refused(profile: Profile, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = OciEngine()
    monkeypatch.setattr("toolc.sandbox.oci.engine.unenforced_reason", lambda *_: None)
    assert reason in str(engine.unsupported_reason(profile))


def test_docker_refuses_a_fork_server() -> None:
    reason = container_config.unsupported_reason(FORK, None)  # type: ignore[arg-type]
    assert reason is not None
    assert reason.startswith("lifetime: fork needs a user namespace for each sandbox, which Docker and gVisor do not")


# The filter, run by an interpreter of the instructions that libseccomp writes.

_ALLOWED: Final = 0x7FFF_0000
_ERRNO: Final = 0x0005_0000
_KILLED: Final = 0x8000_0000
X86_64: Final = 0xC000_003E
I386: Final = 0x4000_0003


def answer(program: bytes, number: int, arguments: tuple[int, ...] = (), architecture: int = X86_64) -> int:
    data = struct.pack("=IIQ6Q", number, architecture, 0, *(*arguments, *[0] * 6)[:6])
    instructions = [*struct.iter_unpack("=HBBI", program)]
    accumulator = at = 0
    while True:
        code, if_true, if_false, value = instructions[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x05:
                at += value
            case 0x15 | 0x25 | 0x35:
                holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value}[code]
                at += if_true if holds else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


def number_of(name: str) -> int:
    found = library()
    assert found is not None
    return int(found.seccomp_syscall_resolve_name(ctypes.c_char_p(name.encode())))


@needs_library
def test_the_compiled_filter_answers_as_the_profile_says() -> None:
    program, profile = compile_filter(seccomp.profile()), seccomp.profile()
    rules: Any = profile["syscalls"]
    for name in rules[0]["names"]:
        if (number := number_of(name)) >= 0:
            assert answer(program, number) == _ALLOWED, name
    dangerous = "mount umount2 move_mount open_tree fsopen pivot_root chroot unshare setns bpf ptrace keyctl"
    for name in dangerous.split():
        assert answer(program, number_of(name)) == _ERRNO | errno.EPERM, name
    for name in ("clone3", "openat2"):
        assert answer(program, number_of(name)) == _ERRNO | errno.ENOSYS
    assert answer(program, 100_000) == _ERRNO | errno.ENOSYS
    assert answer(program, number_of("read"), architecture=I386) == _KILLED


@needs_library
@pytest.mark.parametrize(
    ("name", "arguments", "is_allowed"),
    [
        ("clone", (17,), True),
        *(("clone", (17 | 1 << bit,), False) for bit in (17, 25, 26, 27, 28, 29, 30)),
        ("chmod", (0, 0o1777), True),
        ("chmod", (0, 0o4755), False),
        ("openat", (3, 0, 0o100, 0o644), True),
        ("openat", (3, 0, 0o100, 0o4755), False),
        ("socket", (1, 1, 0), True),
        ("socket", (2, 1, 6), True),
        ("socket", (2, 1, 132), False),
        ("socket", (16, 3, 0), True),
        ("socket", (16, 3, 12), False),
        ("socket", (40, 1, 0), False),
        ("personality", (0xFFFF_FFFF,), True),
        ("personality", (8,), False),
        ("prlimit64", (1,), False),
        ("setpriority", (0, 0), True),
        ("setpriority", (0, 1), False),
        # The upper half of an argument counts too.
        ("setpriority", (0, 1 << 32), False),
    ],
)
def test_the_compiled_filter_checks_arguments(name: str, arguments: tuple[int, ...], *, is_allowed: bool) -> None:
    found = answer(compile_filter(seccomp.profile()), number_of(name), arguments)
    assert found == (_ALLOWED if is_allowed else _ERRNO | errno.EPERM)
