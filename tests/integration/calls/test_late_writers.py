"""A tool that forks, sleeps, ignores signals and writes to its workspace: nothing is written after its result.

``make soak`` makes 10,000 calls.
"""

from pathlib import Path

import pytest
from workspaces.late_writers import WAYS, LateWriters, write_specs

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.names import ENGINES
from toolc.sandbox.selection import probe

CALLS = 100


@pytest.mark.parametrize("name", ENGINES)
def test_nothing_is_written_after_a_result(name: str, tmp_path: Path) -> None:
    if not probe(name).available:
        pytest.skip(probe(name).reason)
    specs, workspace = tmp_path / "specs", tmp_path / "workspace"
    specs.mkdir()
    workspace.mkdir()
    write_specs(specs)
    with Executor(Registry.load(specs), engine=name, workspace=workspace) as executor:
        writers = LateWriters(executor=executor, workspace=workspace)
        writers.calls(CALLS, 3)
        writers.check()
    assert writers.wrong == []
    assert writers.written >= CALLS // 2
    assert {each.partition("-")[2] for each in writers._seen} == {*WAYS, "script"}
