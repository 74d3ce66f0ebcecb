"""Ten concurrent ``toolc run``: independent processes of one user, with one daemon."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.configurations import CONFIGURATIONS, as_user, available
from engines.gvisor_daemon import gvisor_socket

from toolc.model.json_schema import JsonValue

SPEC = """\
toolc: 1
name: say
description: Says back a word after a moment. Use it where several calls are to be under way at once.
parameters: {{word: {{type: string}}}}
backend:
  shell: {{argv: [sh, -c, 'echo "$1"; sleep 0.5', sh, "{{{{ word }}}}"]}}
sandbox: {{min_isolation: {}}}
"""

COUNT = 10


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: an ordinary user may not look into that.
    with tempfile.TemporaryDirectory(prefix="toolc-many-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_ten_runs_are_independent(folder: Path, name: str) -> None:
    configuration = available(name)
    (folder / "say.yaml").write_text(SPEC.format(configuration.min_isolation), encoding="utf-8")
    engine = "oci" if name.startswith("oci") else "docker"
    socket = {"DOCKER_HOST": f"unix://{gvisor_socket()}"} if name == "docker+gvisor" else {}

    def work() -> JsonValue:
        return run_all(str(folder / "say.yaml"), engine, socket)

    for number, row in enumerate(as_user(work) if configuration.uid else work()):  # type: ignore[arg-type]
        assert row == [0, f"word {number}\n", ""]


def run_all(spec: str, engine: str, more: dict[str, str]) -> JsonValue:
    """Return the results of each process: its exit code, its stdout, and its stderr."""
    argv = [sys.executable, "-m", "toolc", "run", spec, "--engine", engine]
    running = [
        subprocess.Popen(
            [*argv, "--args", json.dumps({"word": f"word {number}"})],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | more,
        )
        for number in range(COUNT)
    ]
    found: list[JsonValue] = []
    for process in running:
        with process:
            stdout, stderr = process.communicate(timeout=100)
        found.append([process.returncode, stdout, stderr])
    return found
