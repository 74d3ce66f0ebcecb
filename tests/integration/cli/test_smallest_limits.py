"""The smallest limits that a spec may set are enough to run on every engine that works here."""

from pathlib import Path

import pytest
from cli.cli_engines import engines
from cli.command_line import run

from toolc.model.spec.declared import keys_of
from toolc.model.spec.sandbox import Limits

LEAST = {each.name: each.kind.low for each in keys_of(Limits)}

PIPE = "shell: {script: printf fine | cat}"
FUNCTION = """python: {function: fine, code: "def fine(): return 'fine'"}"""


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("backend", [PIPE, FUNCTION])
def test_a_tool_runs_within_the_smallest_limits(
    backend: str, engine: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    spec = tmp_path / "small.yaml"
    spec.write_text(
        "toolc: 1\nname: small\ndescription: A tool that exists for the tests of its limits and for nothing else.\n"
        f"backend: {{{backend}}}\n"
        f"sandbox: {{limits: {{pids: {LEAST['pids']}, files: {LEAST['files']}, memory: 17MiB, tmp: 1KiB, "
        "output: 1KiB}}\n",
        encoding="utf-8",
    )
    code = run("run", str(spec), "--engine", engine)
    assert capfdbinary.readouterr() == (b"fine\n", b"")
    assert code == 0
