"""Running the tests of tools: an interrupt cancels every call."""

import threading
import time
from pathlib import Path

import pytest

from toolc import Executor, Registry, tool
from toolc.model.spec.tool import Test
from toolc.runtime.host_function import FunctionContext
from toolc.testing.cases import Case
from toolc.testing.runner import run_cases


def test_ctrl_c_while_a_thread_starts_cancels_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    began, over = threading.Event(), list[str]()
    running = list[str]()
    registry = Registry()

    @tool(timeout=600)
    def nap(ctx: FunctionContext) -> str:
        """Sleep until the call is cancelled. Use it only to test interrupts."""
        running.append(ctx.call_id)
        began.set()
        while not ctx.cancelled:
            time.sleep(0.01)
        over.append(ctx.call_id)
        return "over"

    registry.add(nap)
    found = registry.get("nap")
    assert found

    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            if self.name == "toolc test_1":
                assert began.wait(60)
                raise KeyboardInterrupt

    def make(case: Case, workspace: Path) -> Executor:
        return Executor(case.registry, workspace=workspace)

    monkeypatch.setattr(threading, "Thread", Interrupted)
    case = Case(registry=registry, tool=found, number=1, test=Test())
    with pytest.raises(KeyboardInterrupt):
        list(run_cases([case, case], make, 2))
    deadline = time.monotonic() + 60
    while len(over) < len(running) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(over) == sorted(running) != []
