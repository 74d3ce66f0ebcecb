"""``toolc test``: the tests that specs hold, each call in a sandbox and a workspace of its own."""

from __future__ import annotations

import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import FINDINGS, compile_or_exit, engine_option, printable
from toolc.errors import UsageError

if TYPE_CHECKING:
    from toolc.api import Registry
    from toolc.spec import Test, ToolSpec


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="PATHS...")
@engine_option
def command(paths: tuple[str, ...], engine: str) -> None:
    """Run the tests that spec files, and folders of them, hold."""
    from toolc.api import Registry  # start-up time

    registry = Registry.compiled(compile_or_exit(paths, to=sys.stderr, code=FINDINGS))
    cases = [(tool, number, test) for tool in registry for number, test in enumerate(tool.tests, 1)]
    if not cases:
        raise UsageError(f"there is nothing to test: none of {len(registry)} tools has `tests:`")
    failed = sum(not _passes(registry, tool, number, test, engine) for tool, number, test in cases)
    print(f"{len(cases) - failed} passed, {failed} failed")
    if failed:
        raise click.exceptions.Exit(FINDINGS)


def _passes(registry: Registry, tool: ToolSpec, number: int, test: Test, engine: str) -> bool:
    from toolc.api import Executor  # start-up time
    from toolc.cli.expectations import compare, place

    with tempfile.TemporaryDirectory(prefix="toolc-test-", ignore_cleanup_errors=True) as folder:
        workspace = Path(folder).resolve()
        place(test.files, workspace)
        started = time.monotonic()
        with Executor(registry, workspace=workspace, engine=engine) as executor:
            result = executor.run(tool.name, test.args)
        milliseconds = (time.monotonic() - started) * 1000
        problems = list(compare(test.expect, result, workspace))
    print(f"{'FAIL' if problems else 'ok  '} {tool.name}[{number}] ({milliseconds:.0f} ms)", flush=True)
    for problem in problems:
        print(textwrap.indent(printable(problem.rstrip()), "     "))
    return not problems
