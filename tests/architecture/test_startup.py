"""Starting toolc imports no slow package."""

import json
import subprocess
import sys

import pytest

SLOW = {"docker", "jsonschema", "jinja2", "yaml", "tomli", "mcp", "anthropic", "openai", "httpx2", "asyncio"}


@pytest.mark.parametrize(
    "program", ["import toolc", "from toolc.cli.main import cli; cli.main(['--version'], standalone_mode=False)"]
)
def test_slow_packages_are_not_imported(program: str) -> None:
    check = f"import json, sys; {program}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    loaded = {each.partition(".")[0] for each in json.loads(done.stdout.splitlines()[-1])}
    assert loaded & SLOW == set()
