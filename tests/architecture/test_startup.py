"""Starting toolc imports no slow package, and a plain call imports nothing of other kinds of calls."""

import json
import subprocess
import sys

import pytest

SLOW = {"docker", "jsonschema", "jinja2", "yaml", "tomli", "mcp", "anthropic", "openai", "httpx2", "asyncio"}

PLAIN_CALL = (
    "toolc.cli.main", "toolc.cli.commands.run", "toolc.compiler.cache.cached_registry", "toolc.client.executor",
    "toolc.backends.shell",
)  # fmt: skip
"""The modules from which ``toolc run`` of an unchanged shell tool starts."""

OTHER_CALLS = (
    "toolc.adapters", "toolc.backends.http", "toolc.backends.plugin", "toolc.backends.python",
    "toolc.client.definitions", "toolc.client.messages", "toolc.client.sandbox", "toolc.client.typed",
    "toolc.compiler.checks", "toolc.compiler.decode", "toolc.compiler.fixes", "toolc.compiler.pipeline.compile",
    "toolc.compiler.schema", "toolc.compiler.templates", "toolc.compiler.text_analysis", "toolc.config.files",
    "toolc.doctor", "toolc.document", "toolc.functions", "toolc.importers", "toolc.policy.rules", "toolc.providers",
    "toolc.review", "toolc.runtime.agents", "toolc.runtime.composite", "toolc.runtime.execution.open_sandbox",
    "toolc.runtime.http.broker", "toolc.runtime.http.request", "toolc.runtime.http.transport",
    "toolc.runtime.output.result_store", "toolc.runtime.sandboxed.failure_hints",
    "toolc.runtime.sandboxed.http_call", "toolc.runtime.sandboxed.result_files", "toolc.runtime.sessions.forks",
    "toolc.runtime.sessions.sandbox", "toolc.runtime.sessions.sandbox_server", "toolc.runtime.workspace.transaction",
    "toolc.serve", "toolc.testing",
)  # fmt: skip
"""What other calls and commands need. Import it in the function that uses it."""


def loaded(program: str) -> list[str]:
    """Return the modules that a program loads."""
    check = f"import json, sys; {program}; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    names = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(names, list)
    return names


@pytest.mark.parametrize(
    "program",
    [
        "import toolc",
        "from toolc.cli.main import cli; cli.main(['--version'], standalone_mode=False)",
        f"import {', '.join(PLAIN_CALL)}",
    ],
)
def test_slow_packages_are_not_imported(program: str) -> None:
    assert {each.partition(".")[0] for each in loaded(program)} & SLOW == set()


@pytest.mark.parametrize("engine", ["docker", "oci"])
def test_a_plain_call_imports_nothing_of_other_calls(engine: str) -> None:
    names = loaded(f"import {', '.join(PLAIN_CALL)}, toolc.sandbox.{engine}.engine")
    assert [each for each in names if f"{each}.".startswith(tuple(f"{other}." for other in OTHER_CALLS))] == []
