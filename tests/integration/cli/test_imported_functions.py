"""``toolc import python``: a file of a framework becomes specs whose tools run in a sandbox, with one command."""

from pathlib import Path

import pytest
from cli.command_line import toolc
from cli.python_sources import SOURCES

from toolc.client.executor import Executor
from toolc.client.registry import Registry

pytestmark = pytest.mark.needs_engine


@pytest.mark.parametrize("name", SOURCES)
def test_tools_of_a_file_run_in_a_sandbox(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = SOURCES[name]
    for file, text in ({f"{name}.py": source.text} | source.others).items():
        Path(file).write_text(text, encoding="utf-8")
    imported = toolc("import", "python", f"{name}.py")
    assert (imported.exit_code, imported.stderr) == (0, "")
    checked = toolc("check", "specs")
    assert checked.exit_code == 0, checked.stderr
    assert toolc("build", "specs").exit_code == 0
    registry = Registry.load("specs")
    assert set(registry.names) == set(source.calls)
    with Executor(registry) as executor:
        for tool, (arguments, text) in source.calls.items():
            result = executor.run(tool, arguments)
            assert result.text == text, result
