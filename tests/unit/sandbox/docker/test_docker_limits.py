"""What a Docker daemon enforces, by its description."""

from dataclasses import replace

import pytest

from toolc.model.plan import Profile
from toolc.sandbox.docker import enforced_limits
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.daemon import Daemon, Runtime
from toolc.sandbox.docker.enforced_limits import REMEDY, capabilities
from toolc.sandbox.interface import Enforcement, unenforced_reason

DAEMON = Daemon(client=Client("/run/docker.sock"), cpus=2, architecture="x86_64")
RUNC, RUNSC, KATA = Runtime("runc"), Runtime("runsc", "gvisor"), Runtime("kata", "vm")


@pytest.mark.parametrize(
    ("runtimes", "kinds"),
    [
        ((RUNC,), ["namespace"]),
        ((RUNC, KATA, RUNSC), ["namespace", "gvisor", "vm"]),
        ((RUNSC, RUNC), ["gvisor"]),
        ((KATA, RUNC, RUNSC), ["vm"]),
    ],
    ids=["plain", "all", "gvisor by default", "kata by default"],
)
def test_runtimes_have_a_kind_of_isolation(runtimes: tuple[Runtime, ...], kinds: list[str]) -> None:
    assert [found.isolation for found in capabilities(replace(DAEMON, runtimes=runtimes))] == kinds


def test_only_dockers_own_daemon_mounts_overlays() -> None:
    (found,) = capabilities(DAEMON)
    assert found.overlay_obstacle == ""
    for daemon in (replace(DAEMON, rootless=True), replace(DAEMON, podman=True)):
        (found,) = capabilities(daemon)
        assert found.overlay_obstacle == "toolc uses overlays only with Docker's own daemon, run by root"
    _, found = capabilities(replace(DAEMON, runtimes=(RUNC, RUNSC)))
    assert found.overlay_obstacle == "a sandbox with min_isolation: gvisor cannot use an overlay"


def test_a_full_daemon_enforces_every_limit() -> None:
    (found,) = capabilities(DAEMON)
    assert found.weak == {}
    assert found.users == ("owner", "nobody", "root")
    assert found.notes == ()


def test_a_rootless_daemon_without_a_delegated_cpu_controller() -> None:
    (found,) = capabilities(replace(DAEMON, rootless=True, limits_cpu=False))
    reason = "This Docker daemon cannot limit cpus."
    assert found.weak == {"cpus": Enforcement(level="not", reason=reason, instead="nothing", remedy=REMEDY)}
    assert found.users == ("owner", "nobody")


@pytest.mark.parametrize("swaps", [True, False])
def test_swap_matters_only_if_the_host_swaps(monkeypatch: pytest.MonkeyPatch, swaps: bool) -> None:
    monkeypatch.setattr(enforced_limits, "_host_swaps", lambda: swaps)
    (found,) = capabilities(replace(DAEMON, limits_swap=False))
    assert (found.limit("memory").level == "approximate") == swaps


def test_gvisor_limits_processes_without_a_controller() -> None:
    namespace, gvisor = capabilities(replace(DAEMON, limits_pids=False, runtimes=(RUNC, RUNSC)))
    assert namespace.limit("pids").level == "approximate"
    assert gvisor.limit("pids").level == "enforced"
    assert gvisor.notes == ("Running out of memory ends the whole sandbox, not only the process that requested more.",)


def test_an_architecture_without_a_filter() -> None:
    (found,) = capabilities(replace(DAEMON, architecture="s390x"))
    assert found.notes == ("System calls are filtered with the daemon's list instead of toolc's.",)


def test_podman_limits_only_the_size_of_tmp() -> None:
    (found,) = capabilities(replace(DAEMON, podman=True))
    assert found.notes == ("Podman limits the size of /tmp, but not the number of files in it.",)


def test_remapped_users_cannot_use_a_workspace() -> None:
    (found,) = capabilities(replace(DAEMON, remaps_users=True))
    assert (found.users, found.workspaces) == (("nobody",), ("none",))


def test_the_message_names_unenforced_limits_and_how_to_accept_them() -> None:
    (found,) = capabilities(replace(DAEMON, limits_cpu=False, limits_pids=False))
    assert unenforced_reason(found, Profile()) == (
        "it cannot enforce limits.cpus and limits.pids here. This Docker daemon cannot limit cpus. "
        f"This Docker daemon cannot limit pids. {REMEDY} "
        "To run without full enforcement (limited instead: cpus: nothing; pids: the processes of the tool's user), "
        "add this to ~/.config/toolc/config.yaml: accept_unenforced: [cpus, pids]"
    )
