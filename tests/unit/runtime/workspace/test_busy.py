"""Workspaces that a killed process may still change."""

import threading
import time
from pathlib import Path

import pytest

from toolc.model.errors import InfrastructureError
from toolc.model.plan import Mount
from toolc.runtime.workspace import busy
from toolc.runtime.workspace.busy import Removal, require_free


def mount(path: Path) -> Mount:
    return Mount(source=str(path), mode="rw", owner=0, group=0)


def test_a_call_does_not_wait_for_a_removal_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy, "RETRY_SECONDS", 0.01)
    may_end = threading.Event()

    def close() -> None:
        may_end.wait()

    removal = Removal(mount(tmp_path), close)
    removal.mark()
    try:
        for _ in range(2):
            with pytest.raises(InfrastructureError, match=r"is busy, .*its sandbox is still being removed"):
                require_free(mount(tmp_path))
    finally:
        may_end.set()
    deadline = time.monotonic() + 60
    while busy._MARKS.removals and time.monotonic() < deadline:
        time.sleep(0.01)
    require_free(mount(tmp_path))


def test_a_workspace_that_is_marked_twice_is_free_after_one_removal(tmp_path: Path) -> None:
    removal = Removal(mount(tmp_path), lambda: None)
    removal.mark()
    removal.mark()
    removal.run()
    assert removal not in busy._MARKS.removals


def test_the_last_failure_of_a_removal_is_shown_while_it_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(busy, "RETRY_SECONDS", 60.0)
    ends: list[Exception | None] = [OSError("the cause"), None]

    def close() -> None:
        if end := ends.pop(0):
            raise end

    removal = Removal(mount(tmp_path), close)
    removal.mark()
    with pytest.raises(InfrastructureError, match=r"is busy, .*the cause"):
        require_free(mount(tmp_path))
    require_free(mount(tmp_path))
