import os
from dataclasses import replace
from pathlib import Path

import pytest

from toolc.guest.launch_args import boot_id
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Mount
from toolc.runtime.wire.call_loop import verify_workspace_mount
from toolc.runtime.workspace.mount import mount


@pytest.fixture
def folder(tmp_path: Path) -> Mount:
    return mount(tmp_path, "rw")


def seen(about: Mount, **changed: object) -> JsonObject:
    """Return the report of a guest that sees this folder on this kernel, except ``changed``."""
    return {
        "workspace": {
            "kernel": boot_id(),
            "device": about.device,
            "inode": about.inode,
            "changed_ns": Path(about.source).stat().st_mtime_ns,
            "lower": None,
            **changed,  # type: ignore[dict-item]
        }
    }


def test_the_same_kernel_device_and_inode_are_the_same_folder(folder: Mount) -> None:
    verify_workspace_mount(folder, seen(folder))
    verify_workspace_mount(folder, seen(folder, changed_ns=1))


@pytest.mark.parametrize("changed", [{"inode": 2}, {"device": 2}, {"inode": None}, {"inode": "2"}])
def test_on_the_same_kernel_another_inode_is_another_folder(folder: Mount, changed: JsonObject) -> None:
    with pytest.raises(InfrastructureError) as raised:
        verify_workspace_mount(folder, seen(folder, **changed))
    assert str(raised.value) == (
        f"the sandbox has a different folder than {folder.source}, because it was replaced, or because the daemon "
        "runs in another container, where another folder has this path; call again, or use a folder that the "
        "daemon also sees"
    )


@pytest.mark.parametrize("other", ["another kernel", ""])
def test_on_another_kernel_the_time_of_the_last_change_decides(folder: Mount, other: str) -> None:
    own = Path(folder.source).stat().st_mtime_ns
    for changed_ns in (own, own // 1000 * 1000, own // 1_000_000_000 * 1_000_000_000):
        verify_workspace_mount(folder, seen(folder, kernel=other, inode=7, changed_ns=changed_ns))
    for wrong in (own + 5000, own + 1_000_000_000, None, "now"):
        with pytest.raises(InfrastructureError, match="or because the daemon runs on another machine"):
            verify_workspace_mount(folder, seen(folder, kernel=other, changed_ns=wrong))


def test_a_folder_that_other_calls_change_may_have_any_time_since_it_was_mounted(folder: Mount) -> None:
    before = Path(folder.source).stat().st_mtime_ns
    os.utime(folder.source, ns=(before + 3_000_000, before + 3_000_000))
    for changed_ns in (before, before + 1_000_000, before + 3_000_000):
        verify_workspace_mount(folder, seen(folder, kernel="another kernel", changed_ns=changed_ns))
    for wrong in (before - 1_000_000, before + 4_000_000):
        with pytest.raises(InfrastructureError, match="a different folder than"):
            verify_workspace_mount(folder, seen(folder, kernel="another kernel", changed_ns=wrong))


def test_a_replaced_folder_is_not_compared(folder: Mount) -> None:
    here = Path(folder.source)
    here.rename(here.with_name("moved"))
    here.mkdir()
    with pytest.raises(InfrastructureError, match="it was replaced"):
        verify_workspace_mount(folder, seen(folder, kernel="another kernel"))


def test_an_overlay_is_verified_by_its_lower_folder(folder: Mount) -> None:
    overlay = replace(folder, mode="overlay")
    verify_workspace_mount(overlay, seen(folder, inode=7))
    below = seen(folder)["workspace"]
    verify_workspace_mount(overlay, seen(folder, inode=7, lower=below))
    assert isinstance(below, dict)
    with pytest.raises(InfrastructureError, match="a different folder than"):
        verify_workspace_mount(overlay, seen(folder, lower={**below, "inode": 7}))


@pytest.mark.parametrize("ready", [{}, {"workspace": None}, {"workspace": 1}])
def test_a_sandbox_without_the_folder_is_an_error(folder: Mount, ready: JsonObject) -> None:
    with pytest.raises(InfrastructureError, match="was mounted, but the sandbox has no workspace"):
        verify_workspace_mount(folder, ready)
    verify_workspace_mount(None, ready)
