"""``/api/v1`` does what its document says, whatever is sent: tested by schemathesis against a server of fake tools."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from project.paths import ROOT, SUPPORT


@pytest.mark.timeout(600)
@pytest.mark.skipif(find_spec("schemathesis") is None, reason="schemathesis is not installed")
def test_every_response_matches_the_document(tmp_path: Path) -> None:
    command = [sys.executable, str(SUPPORT / "calls/fake_http.py"), "5", "echo", "wipe"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{SUPPORT}"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout
            api = f"{server.stdout.readline().strip()}/api/v1"
            run = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]
            # A call that fails has status 422 even if its arguments are valid.
            limits = ["--max-examples", "25", "--phases", "examples,coverage,fuzzing", "--request-timeout", "120"]
            limits += ["--exclude-checks", "positive_data_acceptance", "--generation-deterministic"]
            done = subprocess.run(
                [*run, f"{api}/openapi.json", "--url", api, *limits],
                capture_output=True, text=True, timeout=500, check=False, cwd=tmp_path,
            )  # fmt: skip
        finally:
            server.terminate()
    assert done.returncode == 0, done.stdout[-6000:]
