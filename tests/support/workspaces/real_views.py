"""Tools that are functions of the test, in a real view of a transaction: a copy, or an overlay of the kernel."""

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from toolc.model.plan import Mount, Plan, Profile
from toolc.model.result import Outcome, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.workspace.mount import mount
from toolc.runtime.workspace.transaction.transaction import Transaction
from toolc.sandbox.host.kernel import overlay_options, prepare_overlay
from toolc.sandbox.interface import Capabilities
from toolc.testing.fake_engine import FakeEngine, FakeSandbox
from workspaces.transaction_cases import DONE, doing

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_DETACH: Final = 2

Act = Callable[[Path], object]


class OverlayMounts(FakeEngine):
    """An engine whose tool runs ``act`` in an overlay that is mounted in this process. It needs root."""

    def __init__(self, act: Act) -> None:
        super().__init__(lambda plan: _in_overlay(plan, act))

    def capabilities(self) -> tuple[Capabilities, ...]:
        return (Capabilities(overlay_obstacle=""),)

    def start(self, profile: Profile, arguments: Sequence[str]) -> FakeSandbox:
        assert profile.workspace is not None
        prepare_overlay(profile.workspace, os.geteuid(), os.getegid())
        return super().start(profile, arguments)


def _in_overlay(plan: Plan, act: Act) -> Outcome:
    assert plan.profile.workspace is not None
    with _mounted(plan.profile.workspace) as seen:
        act(seen)
    return DONE


@contextlib.contextmanager
def _mounted(place: Mount) -> Iterator[Path]:
    seen = Path(place.scratch) / "seen"
    seen.mkdir()
    options = ",".join(overlay_options(place, place.source)).encode()
    if _LIBC.mount(b"overlay", os.fsencode(seen), b"overlay", 0, options) != 0:
        raise OSError(ctypes.get_errno(), "cannot mount an overlay")
    try:
        yield seen
    finally:
        _LIBC.umount2(os.fsencode(seen), _DETACH)


def can_mount_overlays() -> bool:
    """Return whether this process may mount a view."""
    return os.geteuid() == 0


Engines = Callable[[Act], FakeEngine]

VIEWS: Final = pytest.mark.parametrize(
    "engine",
    [
        pytest.param(doing, id="copy"),
        pytest.param(
            OverlayMounts, id="overlay", marks=pytest.mark.skipif(not can_mount_overlays(), reason="needs root")
        ),
    ],
)
"""Parametrizes ``engine`` with a function that makes an engine for an act: a copy, and an overlay."""


class View:
    """The open view of a transaction, whose tool acts in ``folder`` until ``finish``."""

    def __init__(self, spec: ToolSpec, workspace: Path, *, copy: bool) -> None:
        self._stack = contextlib.ExitStack()
        place = mount(workspace, "overlay")
        self._transaction = self._stack.enter_context(Transaction(spec, "c", place))
        engine = doing(lambda _: None) if copy else OverlayMounts(lambda _: None)
        sandbox, profile = self._transaction.start(engine, Profile(workspace=place), ())
        sandbox.close()
        assert profile.workspace is not None
        self.folder = Path(profile.workspace.source)
        self._mounted = contextlib.ExitStack()
        if not copy:
            self.folder = self._mounted.enter_context(_mounted(profile.workspace))

    def finish(self) -> ToolResult:
        """Commit what the tool did, if that is allowed."""
        self._mounted.close()
        with self._stack:
            return self._transaction.finish(ToolResult(content=()), "exited", None)

    def close(self) -> None:
        """Discard what the tool did."""
        self._mounted.close()
        self._stack.close()
