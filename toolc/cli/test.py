"""``toolc test``: the tests that specs hold, each call in a sandbox and a workspace of its own."""

from __future__ import annotations

import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolc.cli.common import (
    FINDINGS,
    compile_or_exit,
    engine_option,
    named,
    printable,
    secret_store,
    secrets_option,
    user_configuration,
)
from toolc.errors import UsageError

if TYPE_CHECKING:
    from toolc.api import Executor, Registry
    from toolc.changes import Proposal
    from toolc.spec import Test, ToolSpec


@click.command("test")
@click.argument("targets", nargs=-1, required=True, callback=named, metavar="TARGETS...")
@engine_option
@secrets_option
def command(targets: tuple[str, ...], engine: str | None, secrets: str | None) -> None:
    """Run the tests that tools hold, each call in a sandbox and a workspace of its own.

    TARGETS are spec files, folders of them, or a build's registry.json; SPEC#NAME takes one tool.
    """
    from toolc.api import Executor  # start-up time

    registries = _registries(targets)
    cases = [
        (registry, tool, number, test)
        for registry in registries
        for tool in registry
        for number, test in enumerate(tool.tests, 1)
    ]
    if not cases:
        count = sum(map(len, registries))
        raise UsageError(f"there is nothing to test: none of {count} tools has `tests:`")
    configuration = user_configuration()
    store = secret_store(secrets, configuration, only_given=True)
    make = partial(Executor, engine=engine, configuration=configuration, ask=_yes, secrets=store)
    failed = sum(not _passes(partial(make, registry), tool, number, test) for registry, tool, number, test in cases)
    print(f"{len(cases) - failed} passed, {failed} failed")
    if failed:
        raise click.exceptions.Exit(FINDINGS)


def _yes(_: Proposal) -> bool:
    """The workspace is the test's own."""
    return True


def _registries(targets: tuple[str, ...]) -> list[Registry]:
    """The tools of ``targets``; specs without ``#NAME`` are compiled together, so that a name is one tool's."""
    from toolc.api import Registry, split_target  # start-up time

    @cache
    def compiled(*sources: str) -> Registry:
        return Registry.compiled(compile_or_exit(sources, to=sys.stderr, code=FINDINGS))

    found: list[Registry] = []
    whole: list[str] = []
    for target in targets:
        source, name = split_target(target)
        if source.suffix == ".json":
            found.append(Registry.load(target))
        elif name is None:
            whole.append(target)
        else:
            found.append(compiled(str(source)).only(name))
    return [*([compiled(*whole)] if whole else []), *found]


def _passes(make: Callable[..., Executor], tool: ToolSpec, number: int, test: Test) -> bool:
    from toolc.cli.expectations import compare, place

    with tempfile.TemporaryDirectory(prefix="toolc-test-", ignore_cleanup_errors=True) as folder:
        workspace = Path(folder).resolve()
        place(test.files, workspace)
        started = time.monotonic()
        with make(workspace=workspace) as executor:
            result = executor.run(tool.name, test.args)
        milliseconds = (time.monotonic() - started) * 1000
        problems = list(compare(test.expect, result, workspace))
    print(f"{'FAIL' if problems else 'ok  '} {tool.name}[{number}] ({milliseconds:.0f} ms)", flush=True)
    for problem in problems:
        print(textwrap.indent(printable(problem.rstrip()), "     "))
    return not problems
