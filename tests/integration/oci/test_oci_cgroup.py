"""What ordinary users can limit with cgroup v2, on trees as systemd and container runtimes create them."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from engines.configurations import USER, as_user

from toolc.model.json_schema import JsonValue
from toolc.sandbox.host import cgroups
from toolc.sandbox.host.cgroups import CONTROLLERS, can_limit

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give folders to a user")

SESSION = "user.slice/user-1234.slice/user@1234.service"

# Recorded: which controllers each group has, which it gives on, and whose it is.
UBUNTU_24: dict[str, tuple[str, str, int]] = {
    "": ("cpuset cpu io memory hugetlb pids rdma misc", "cpuset cpu io memory pids", 0),
    "user.slice": ("cpuset cpu io memory pids", "cpuset cpu io memory pids", 0),
    "user.slice/user-1234.slice": ("cpuset cpu io memory pids", "cpu memory pids", 0),
    SESSION: ("cpu memory pids", "cpu memory pids", USER),
    f"{SESSION}/app.slice": ("cpu memory pids", "cpu memory pids", USER),
    f"{SESSION}/app.slice/run-1.scope": ("cpu memory pids", "", USER),
    "user.slice/user-1234.slice/session-2.scope": ("cpu memory pids", "", 0),
}
DEBIAN_11 = UBUNTU_24 | {
    "user.slice/user-1234.slice": ("cpuset cpu io memory pids", "memory pids", 0),
    SESSION: ("memory pids", "memory pids", USER),
    f"{SESSION}/app.slice": ("memory pids", "memory pids", USER),
    f"{SESSION}/app.slice/run-1.scope": ("memory pids", "", USER),
}
"""Before systemd 252 the cpu controller is not delegated to users."""

NOT_GIVEN_ON = UBUNTU_24 | {f"{SESSION}/app.slice": ("cpu memory pids", "", USER)}
"""``app.slice`` has the controllers and enables none for its children yet."""


@pytest.fixture
def recorded() -> Iterator[Path]:
    """Return a folder that the user can reach, unlike ``tmp_path``."""
    with tempfile.TemporaryDirectory(prefix="toolc-cgroup-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def record(top: Path, tree: dict[str, tuple[str, str, int]]) -> None:
    """Make ``top`` look like the mount point of ``tree``."""
    for name, (controllers, passed_on, owner) in tree.items():
        folder = top / name
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.controllers").write_text(f"{controllers}\n", encoding="ascii")
        (folder / "cgroup.subtree_control").write_text(f"{passed_on}\n", encoding="ascii")
        (folder / "cgroup.procs").write_text("", encoding="ascii")
        for path in (folder, folder / "cgroup.procs", folder / "cgroup.subtree_control"):
            os.chown(path, owner, owner)


def limitable(top: Path, group: str) -> JsonValue:
    """Return the controllers that the user can limit a child with, from a process in ``group``."""
    mounts = f"30 23 0:26 / {top} rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

    def work() -> JsonValue:
        found = cgroups.groups(mounts, f"0::/{group}\n")
        return [name for name in CONTROLLERS if can_limit(name, found[name])]

    return as_user(work, groups=False)


@pytest.mark.parametrize(
    ("tree", "group", "controllers"),
    [
        (UBUNTU_24, f"{SESSION}/app.slice/run-1.scope", ["memory", "pids", "cpu"]),
        (DEBIAN_11, f"{SESSION}/app.slice/run-1.scope", ["memory", "pids"]),
        (NOT_GIVEN_ON, f"{SESSION}/app.slice/run-1.scope", ["memory", "pids", "cpu"]),
        (UBUNTU_24, "user.slice/user-1234.slice/session-2.scope", []),
        (UBUNTU_24, "", []),
    ],
    ids=["a user's scope", "before systemd 252", "not passed on yet", "a plain login", "at the top"],
)
def test_a_systemd_session(
    recorded: Path, tree: dict[str, tuple[str, str, int]], group: str, controllers: list[str]
) -> None:
    record(recorded, tree)
    assert limitable(recorded, group) == controllers


def test_a_group_needs_the_right_to_move_processes(recorded: Path) -> None:
    record(recorded, UBUNTU_24)
    os.chown(recorded / SESSION / "app.slice/cgroup.procs", 0, 0)
    assert limitable(recorded, f"{SESSION}/app.slice/run-1.scope") == []


def test_controllers_must_be_enabled_or_writable(recorded: Path) -> None:
    record(recorded, NOT_GIVEN_ON)
    os.chown(recorded / SESSION / "app.slice/cgroup.subtree_control", 0, 0)
    assert limitable(recorded, f"{SESSION}/app.slice/run-1.scope") == []


def test_a_probe_leaves_nothing(recorded: Path) -> None:
    record(recorded, UBUNTU_24)
    limitable(recorded, f"{SESSION}/app.slice/run-1.scope")
    slice_ = recorded / SESSION / "app.slice"
    files = {"cgroup.controllers", "cgroup.subtree_control", "cgroup.procs"}
    assert {path.name for path in slice_.iterdir()} == files | {"run-1.scope"}


def test_read_only_control_groups_of_a_container(tmp_path: Path) -> None:
    group = cgroups.Group(version=2, folder=tmp_path / "gone", parent=tmp_path / "gone")
    assert not can_limit("memory", group)
    assert not can_limit("memory", replace(group, version=1))
