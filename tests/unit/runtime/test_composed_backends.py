"""The import of what a sub-agent needs, which takes seconds on a busy machine: before the time of the call."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from calls.scripted_tools import cancelled_after, error_kind
from models.agent_tools import SAY, agent_tool, composite_tool, converse, executor_of, registry_of
from models.scripted_model import OpenAISpeech, ScriptedModel

from toolc.model.call import ToolCall
from toolc.runtime.composed_backends import MODEL_APIS

MODULE = MODEL_APIS["openai"][0]
COMPOSITE = composite_tool("outer", {"id": "ask", "tool": "helper", "args": {"question": "why?"}})


class SlowImport(MetaPathFinder):
    """Delays the import of the module with the SDK until ``released``."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.released = threading.Event()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == MODULE:
            self.begun.set()
            assert self.released.wait(60)
        return None


@contextmanager
def slow_import() -> Iterator[SlowImport]:
    finder = SlowImport()
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, MODULE, raising=False)
        patch.setattr(sys, "meta_path", [finder, *sys.meta_path])
        yield finder
        finder.released.set()
        while any(thread.name == "toolc import" for thread in threading.enumerate()):
            time.sleep(0.01)


@pytest.fixture
def slow() -> Iterator[SlowImport]:
    with slow_import() as finder:
        yield finder


@contextmanager
def released_after(slow: SlowImport, seconds: float) -> Iterator[None]:
    """Let the import end this many seconds after it has begun."""

    def release() -> None:
        slow.begun.wait(60)
        time.sleep(seconds)
        slow.released.set()

    thread = threading.Thread(target=release)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize("tool", ["helper", "outer"])
def test_the_import_does_not_count_towards_the_time_limit_of_the_call(tool: str, tmp_path: Path) -> None:
    texts: list[str] = []
    for seconds in (1, 10, 40):  # a machine that stalls may take longer for the rest of the call
        limited = COMPOSITE | {"sandbox": {"limits": {"timeout": f"{seconds}s"}}}
        with slow_import() as slow, ScriptedModel(script=[OpenAISpeech().text("Because.")]) as model:
            registry = registry_of(tmp_path, agent_tool(model), SAY, limited)
            with executor_of(registry, timeout=seconds) as executor, released_after(slow, 1.2 * seconds):
                texts.append(executor.run(tool, {"question": "why?"} if tool == "helper" else {}).text)
        if "Because." in texts[-1]:
            break
    assert "Because." in texts[-1], texts


def test_a_batch_ends_at_its_deadline_while_the_import_continues(slow: SlowImport, tmp_path: Path) -> None:
    call = ToolCall(name="helper", arguments={"question": "why?"})
    with ScriptedModel(speech=OpenAISpeech(), script=[OpenAISpeech().text("Because.")]) as model:
        registry = registry_of(tmp_path, agent_tool(model), SAY)
        with executor_of(registry) as executor:
            (late,) = executor.run_batch([call], timeout=0.2)
            assert not slow.released.is_set()
            slow.released.set()
            (result,) = executor.run_batch([call])
    assert (error_kind(late), result.text) == ("timeout", "Because.")


def test_a_cancelled_call_does_not_wait_for_the_import(slow: SlowImport, tmp_path: Path) -> None:
    with cancelled_after(slow.begun) as cancellation:
        result, _ = converse(tmp_path, cancellation=cancellation)
    assert not slow.released.is_set()
    assert error_kind(result) == "cancelled"
