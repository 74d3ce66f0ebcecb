"""A pytest plugin that runs tests with mutants of functions, each in a fork of one process that has imported all.

Much faster than a new process for each mutant, but only for mutants that change nothing at import. Reads the mutants
and the IDs of their tests as JSON from the file ``MUTANTS_JOBS``, and adds the number of each mutant that is killed to
the file ``MUTANTS_KILLED``.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Final, NoReturn, TextIO, TypedDict

import hypothesis
import pytest
from _pytest.runner import runtestprotocol

MAX_MEMORY_BYTES: Final = 4 * 1024**3
"""A mutant that never stops may allocate without end."""

hypothesis.settings.register_profile(
    "mutants",
    deadline=None,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],  # which example fails does not matter
    suppress_health_check=[*hypothesis.HealthCheck],
)


class Job(TypedDict):
    """A mutant, the IDs of the tests to run, and the seconds of processor time that they may take."""

    number: str
    path: str
    source: str
    mutated: str
    tests: list[str]
    seconds: int


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    jobs: list[Job] = json.loads(Path(os.environ["MUTANTS_JOBS"]).read_text(encoding="utf-8"))
    for path in sorted({job["path"] for job in jobs}):  # some are imported when they are first needed
        import_module(path.removesuffix(".py").replace("/", "."))
    needed = {test for job in jobs for test in job["tests"]}
    items = {item.nodeid: item for item in session.items if item.nodeid in needed}
    for name in _failing(list(items.values())):
        print(f"{name} fails in a fork without a mutant: it only runs in a new process")
        del items[name]
    with Path(os.environ["MUTANTS_KILLED"]).open("a", encoding="utf-8") as killed:
        for job in jobs:
            child = os.fork()
            if not child:
                _run(job, [items[each] for each in job["tests"] if each in items])
            if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
                print(job["number"], file=killed, flush=True)
    return True


def _failing(items: list[pytest.Item]) -> list[str]:
    """Return the IDs of the tests that fail in a fork without a mutant, or end it, e.g. because they need threads."""
    failing: list[str] = []
    while items:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as ran:
            child = os.fork()
            if not child:
                _write_reports(items, ran)
            is_complete = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            ran.seek(0)
            reports = [line.split(" ", 1) for line in ran.read().splitlines()]
        failing += [name for outcome, name in reports if outcome == "failed"]
        started = sum(outcome == "started" for outcome, _ in reports)
        if not is_complete:
            failing.append(items[max(started, 1) - 1].nodeid)
        items = [] if is_complete else items[max(started, 1) :]
    return sorted(set(failing))


def _write_reports(items: list[pytest.Item], file: TextIO) -> NoReturn:
    """Run the tests, write which start and which fail, and end this process."""
    status = 1
    try:
        for item, following in zip(items, [*items[1:], None], strict=True):
            print("started", item.nodeid, file=file, flush=True)
            if _fails(item, following):
                print("failed", item.nodeid, file=file, flush=True)
        status = 0
    finally:
        os._exit(status)


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    return any(report.failed for report in runtestprotocol(item, nextitem=following, log=False))


def _run(job: Job, items: list[pytest.Item]) -> NoReturn:
    """Run the tests with a mutant, and end this process with status 1 if one of them fails."""
    status = 0
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CPU, (job["seconds"], job["seconds"]))
        if _replace_functions(job["path"], job["source"], job["mutated"]):
            status = 1
            status = int(any(map(_fails, items, [*items[1:], None])))
    finally:
        os._exit(status)


def _replace_functions(path: str, source: str, mutated: str) -> bool:
    """Give every function of the module whose code differs its new code, and return whether there is one."""
    before, after = (compile(text, path, "exec", dont_inherit=True) for text in (source, mutated))
    changed = {(old.co_qualname, old.co_firstlineno): new for old, new in _changed(before, after)}
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.endswith(path):
            key = (each.__code__.co_qualname, each.__code__.co_firstlineno)
            each.__code__ = changed.get(key, each.__code__)
    return bool(changed)


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield the parts of two codes that differ, outermost first."""
    parts = ([part for part in code.co_consts if isinstance(part, CodeType)] for code in (before, after))
    for old, new in zip(*parts, strict=False):
        if old != new:
            yield old, new
            yield from _changed(old, new)
