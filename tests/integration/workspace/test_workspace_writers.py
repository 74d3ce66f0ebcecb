"""Two calls in one workspace at the same time, on real engines and in every configuration."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from engines.configurations import USER, Configuration
from test_workspace_views import BEFORE, configuration, give, workspace
from workspaces.transaction_cases import call, changes_of, tool, tree

from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonValue
from toolc.model.result import ToolResult
from toolc.sandbox.interface import Engine

__all__ = ["configuration", "workspace"]


class Reading:
    """A call that reads the workspace in another thread, and has printed something."""

    def __init__(self, engine: Engine, configuration: Configuration, script: str, folder: Path) -> None:
        spec = tool(script, min_isolation=configuration.min_isolation)
        limits = replace(spec.sandbox.limits, timeout_ms=1_000_000)
        spec = replace(spec, sandbox=replace(spec.sandbox, workspace="ro", transaction=None, limits=limits))
        started = threading.Event()

        def on_event(event: Event) -> None:
            if isinstance(event, ToolUpdate):
                started.set()

        def run() -> None:
            self._results.append(call(engine, spec, folder, on_event=on_event))

        self._results: list[ToolResult] = []
        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert started.wait(60)

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def result(self) -> ToolResult:
        self._thread.join(100)
        return self._results[0]


def write(engine: Engine, configuration: Configuration, script: str, folder: Path) -> ToolResult:
    return call(engine, tool(script, min_isolation=configuration.min_isolation), folder)


@pytest.mark.parametrize(
    ("script", "conflicts"),
    [
        ("echo late > a; echo late > c", ["a"]),
        ("echo late > c; chmod 700 d", ["d"]),
        ("rm -r d/sub; echo late > c", ["d/sub"]),
        ("touch a d; cat a d/x > c; rm b; mv moved moved2", None),
    ],
)
def test_of_two_calls_the_later_conflicts_only_if_it_changes_the_same_path(
    configuration: Configuration, workspace: Path, script: str, conflicts: list[str] | None
) -> None:
    give(workspace, USER)

    def work(engine: Engine) -> JsonValue:
        def on_event(event: Event) -> None:
            if isinstance(event, ToolUpdate) and not first:
                first.append(write(engine, configuration, "echo first > a; chmod 750 d; echo > d/sub/new", workspace))

        first: list[ToolResult] = []
        spec = tool(f"echo ready; {script}", min_isolation=configuration.min_isolation)
        later = call(engine, spec, workspace, on_event=on_event)
        return [first[0].is_error, later.error.kind if later.error else None, changes_of(later).get("conflicts")]

    assert configuration.run(work) == [False, conflicts and "conflict", conflicts]
    found = tree(workspace)
    assert (found["a"], found["d/sub/new"]) == ("first\n", "\n")
    assert (workspace / "d").stat().st_mode & 0o777 == 0o750
    assert ("c" in found, "moved2" in found) == (conflicts is None, conflicts is None)


def test_no_tool_sees_the_staging_folder(configuration: Configuration, workspace: Path) -> None:
    give(workspace, USER)
    watch = "ls -A; echo ready; while [ ! -e stop ]; do ls -A; done | sort -u"

    def work(engine: Engine) -> JsonValue:
        watching = Reading(engine, configuration, watch, workspace)
        for number in range(5):
            result = write(engine, configuration, f"seq {number} 3000 > a; rm -f b; mkdir -p e/f; date > n", workspace)
            assert not result.is_error, result.text
        (workspace / "stop").touch()
        return [*watching.result().text.split()]

    seen = configuration.run(work)
    assert isinstance(seen, list)
    assert {*seen} - {*BEFORE, "ready", "stop", "e", "n"} == set()
    assert "d" in seen


def test_a_tool_that_locks_the_folder_does_not_delay_a_commit(configuration: Configuration, workspace: Path) -> None:
    give(workspace, USER)

    def work(engine: Engine) -> JsonValue:
        script = "exec 9< /workspace; flock --nonblock 9; echo ready; while [ ! -e stop ]; do sleep 0.1; done"
        locking = Reading(engine, configuration, script, workspace)
        result = write(engine, configuration, "echo new > a", workspace)
        was_locked = not locking.has_ended
        (workspace / "stop").touch()
        assert not locking.result().is_error
        return [result.is_error, was_locked]

    assert configuration.run(work) == [False, True]
    assert (workspace / "a").read_text() == "new\n"
