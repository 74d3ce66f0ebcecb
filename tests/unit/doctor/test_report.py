"""Reports about engines and hosts, also recorded ones."""

from pathlib import Path

import pytest

from toolc.doctor import components
from toolc.doctor.advisories import Advisory, AdvisoryMatch, Component
from toolc.doctor.host_report import (
    EngineReport,
    Recommendation,
    describe,
    describe_cgroup,
    report_engines,
    report_host,
    restrictions,
    strongest,
)
from toolc.model.json_schema import JsonObject
from toolc.model.names import ENGINES
from toolc.model.plan import Profile
from toolc.model.result import Outcome
from toolc.sandbox.interface import Capabilities, Enforcement, EngineStatus
from toolc.sandbox.oci import probe as oci_probe
from toolc.testing.fake_engine import FakeEngine

DEBIAN: JsonObject = {
    "Version": "20.10.24+dfsg1",
    "Components": [
        {"Name": "Engine", "Version": "20.10.24+dfsg1", "Details": {"GitCommit": "5d6db84"}},
        {"Name": "containerd", "Version": "1.6.20~ds1", "Details": {"GitCommit": "1.6.20~ds1-1+deb12u3"}},
        {"Name": "runc", "Version": "1.1.5+ds1", "Details": {"GitCommit": "1.1.5+ds1-1+deb12u1"}},
        {"Name": "docker-init", "Version": "0.19.0", "Details": {"GitCommit": ""}},
    ],
}
DESKTOP: JsonObject = {
    "Platform": {"Name": "Docker Desktop 4.43.1 (198352)"},
    "Components": [
        {"Name": "Engine", "Version": "28.3.0", "Details": {"GitCommit": "265f709"}},
        {"Name": "containerd", "Version": "1.7.27", "Details": {"GitCommit": "05044ec0a9a7"}},
        {"Name": "runc", "Version": "1.2.5", "Details": {"GitCommit": "v1.2.5-0-g59923ef"}},
    ],
}  # fmt: skip
PODMAN: JsonObject = {
    "Platform": {"Name": "linux/amd64/debian-12"},
    "Components": [
        {"Name": "Podman Engine", "Version": "4.3.1", "Details": {"GitCommit": ""}},
        {"Name": "Conmon", "Version": "conmon version 2.1.6, commit: unknown", "Details": {"Package": "conmon"}},
        {"Name": "OCI Runtime (crun)", "Version": "crun version 1.8.1\ncommit: f8a096be", "Details": {}},
    ],
}


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (DEBIAN, ["docker 20.10.24+dfsg1", "containerd 1.6.20~ds1-1+deb12u3", "runc 1.1.5+ds1-1+deb12u1"]),
        (DESKTOP, ["docker desktop 4.43.1", "docker 28.3.0", "containerd 1.7.27", "runc 1.2.5"]),
        (PODMAN, ["podman 4.3.1"]),
        ({"Version": "28.0.0"}, []),
    ],
    ids=["debian", "desktop", "podman", "silent"],
)
def test_the_components_of_a_daemon_are_reported(version: JsonObject, expected: list[str]) -> None:
    assert [f"{each.name} {each.version}" for each in components.parse_docker_version(version)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1+deb12u1\nspec: 1.0.2-dev\n", "1.1.5+ds1-1+deb12u1"),
        ("runc version 1.3.3\ncommit: v1.3.3-0-gd842d771\nspec: 1.2.1\n", "1.3.3"),
    ],
)
def test_the_version_of_runc_is_reported(text: str, expected: str) -> None:
    assert components.parse_runc_version(text) == (Component(name="runc", version=expected, package="runc"),)


def test_the_version_of_another_program_is_ignored() -> None:
    assert components.parse_runc_version("crun version 1.8.1\n") == ()


def test_runc_gets_no_environment_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = tmp_path / oci_probe.RUNTIME
    runtime.write_text(f"#!/bin/sh\nenv >>{tmp_path}/environment\necho runc version 1.2.3\n")
    runtime.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("TOOLC_SECRET_KEY", "correct-horse")
    assert components.oci_components()[0].version == "1.2.3"
    assert oci_probe.probe().version in {"", "1.2.3"}
    variables = (tmp_path / "environment").read_text()
    assert "PWD=" in variables
    assert "correct-horse" not in variables


def test_the_kernel_version_of_debian_is_reported() -> None:
    assert components.kernel_version("6.1.0-18-amd64", "#1 SMP Debian 6.1.76-1 (2024-02-01)") == "6.1.76-1"
    assert components.kernel_version("6.18.44", "#1 SMP PREEMPT_DYNAMIC") == "6.18.44"


@pytest.mark.parametrize(
    ("mountinfo", "expected"),
    [
        ("30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "v2"),
        ("30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "v1"),
        (
            (
                "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
            ),
            "v1 and v2 (hybrid)",
        ),
        ("23 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "none"),
    ],
)
def test_the_cgroup_version_is_reported(mountinfo: str, expected: str) -> None:
    assert describe_cgroup(mountinfo) == expected


PLAIN = {"/sys/module/apparmor/parameters/enabled": "Y", "/proc/self/status": "Seccomp:\t0"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        (
            {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"},
            [
                (
                    "Ordinary users cannot create user namespaces (kernel.apparmor_restrict_unprivileged_userns is "
                    "1). To allow it: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
                )
            ],
        ),
        (
            {"/sys/module/apparmor/parameters/enabled": ""},
            ["Neither AppArmor nor SELinux is on, so only namespaces and the system call filter isolate tools."],
        ),
        (
            {"/sys/module/apparmor/parameters/enabled": "", "/sys/fs/selinux/enforce": "0"},
            ["SELinux only logs (permissive). To enforce its policy, run: setenforce 1"],
        ),
        ({"/sys/module/apparmor/parameters/enabled": "", "/sys/fs/selinux/enforce": "1"}, []),
        (
            {"/proc/self/status": "Name:\tpython3"},
            ["This kernel has no system call filter (CONFIG_SECCOMP_FILTER), which sandboxes need."],
        ),
    ],
)
def test_kernel_restrictions_are_reported(files: dict[str, str], expected: list[str]) -> None:
    assert restrictions(lambda path: {**PLAIN, **files}.get(path, "")) == expected


class Engine(FakeEngine):
    """A fake with given capabilities that supports no more isolation."""

    def __init__(self, *offered: Capabilities) -> None:
        super().__init__(lambda _: Outcome(ending="exited"))
        self._offered = offered

    def capabilities(self) -> tuple[Capabilities, ...]:
        return self._offered

    def unsupported_reason(self, profile: Profile) -> str | None:
        return f"it has no {profile.min_isolation}; install it, then restart"


WEAK = Enforcement(level="approximate", reason="No control group.", instead="each process", remedy="Run it as root.")
AVAILABLE = EngineStatus(available=True, version="1")


def test_an_unavailable_engine_has_a_remedy() -> None:
    probe = EngineStatus(available=False, reason="It is not installed.", remedy="Install it.")
    found = describe(Engine(), probe, (), ())
    assert found.remedies == (Recommendation(lacks="It is not installed.", remedy="Install it."),)
    assert found.capabilities == ()


def test_limits_with_one_cause_share_a_remedy() -> None:
    found = describe(Engine(Capabilities(weak={"memory": WEAK, "pids": WEAK})), AVAILABLE, (), ())
    assert found.remedies == (
        Recommendation(lacks="limits.memory, limits.pids: No control group.", remedy="Run it as root."),
        Recommendation(lacks="min_isolation: gvisor is not available.", remedy="Install it, then restart."),
    )


def test_an_engine_without_remedies() -> None:
    assert describe(Engine(Capabilities(isolation="vm")), AVAILABLE, (), ()).remedies == ()


def test_only_open_exploitable_advisories_recommend_an_update() -> None:
    def flaw(number: int, exposed: str) -> Advisory:
        return Advisory(
            id=f"CVE-2024-000{number}", component="runc", since="0", fixed=("9.9.9",), allows="all",
            exposed=exposed, because="so", remedy="Update it.",  # type: ignore[arg-type]
        )  # fmt: skip

    part = Component(name="runc", version="1")
    concerns = (
        AdvisoryMatch(advisory=flaw(1, "yes"), component=part, status="open"),
        AdvisoryMatch(advisory=flaw(2, "no"), component=part, status="open"),
        AdvisoryMatch(advisory=flaw(3, "yes"), component=part, status="patched"),
    )
    found = describe(Engine(Capabilities(isolation="vm")), AVAILABLE, (part,), concerns)
    assert found.remedies == (Recommendation(lacks="CVE-2024-0001 (runc) is open.", remedy="Update it."),)


def test_the_strongest_engine() -> None:
    first, second = (EngineReport(name=name, status=AVAILABLE) for name in ("first", "second"))
    whole, weak = Capabilities(), Capabilities(weak={"memory": WEAK})
    weak_gvisor = Capabilities(isolation="gvisor", weak={"memory": WEAK})
    assert strongest([(first, whole), (second, weak_gvisor)]) == (second, weak_gvisor)
    assert strongest([(first, weak), (second, whole)]) == (second, whole)
    assert strongest([(first, whole), (second, whole)]) == (first, whole)
    assert strongest([]) is None


def test_this_host_has_a_report_of_every_engine() -> None:
    reports = report_engines()
    assert [report.name for report in reports] == list(ENGINES)
    for report in reports:
        assert report.status.available == bool(report.capabilities) == bool(report.components)
    assert report_host().cgroup.startswith("v")
