"""A process that may open no more files, with each number of free descriptors: no call is lost, and nothing leaks."""

import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cli.cli_engines import engines
from engines.waiting_sandboxes import is_busy

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.errors import InfrastructureError
from toolc.sandbox.selection import load

TOOLS = """
toolc: 1
tools:
  - name: plain
    description: Say hello. Use it to find out what a call does with few descriptors.
    parameters: {}
    backend: {shell: {argv: [echo, hello]}}
  - name: writing
    description: Say hello. Use it to find out what a call does with few descriptors.
    parameters: {}
    backend: {shell: {script: "echo hello | tee out"}}
    sandbox: {workspace: rw}
  - name: transaction
    description: Say hello. Use it to find out what a call does with few descriptors.
    parameters: {}
    backend: {shell: {script: "echo hello | tee out"}}
    sandbox: {workspace: {mode: transaction, commit: always}}
  - name: session
    description: Say hello. Use it to find out what a call does with few descriptors.
    parameters: {}
    backend: {python: {code: "def session():\\n    return 'hello\\\\n'\\n"}}
    sandbox: {lifetime: session}
"""

ENOUGH = 20
"""More descriptors than a call needs on any engine."""


def open_files() -> dict[str, str]:
    """Return the target of each descriptor. The one that lists them is closed by now."""
    until = time.monotonic() + 60
    while is_busy() and time.monotonic() < until:
        time.sleep(0.02)  # sandboxes are removed in the background
    return {each.name: str(each.readlink()) for each in [*Path("/proc/self/fd").iterdir()] if each.is_symlink()}


@contextmanager
def free_descriptors(count: int) -> Iterator[None]:
    """Let this process open only ``count`` more files in the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, open_files())) + ENOUGH + 2, hard))
    fillers: list[int] = []
    try:
        with suppress(OSError):
            while True:
                fillers.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(count):
            os.close(fillers.pop())
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for each in fillers:
            os.close(each)


def say_hello(executor: Executor, tool: str) -> str:
    return executor.run(tool, {}).text


@pytest.mark.slow
@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize(
    "tool",
    ["plain", *(pytest.param(each, marks=pytest.mark.integrations) for each in ("writing", "transaction", "session"))],
)
def test_a_call_works_or_raises_infrastructure_error_and_leaves_nothing(
    engine: str, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (workspace := tmp_path / "workspace").mkdir()
    registry, said = Registry.load(tmp_path / "tools.yaml"), []
    for count in range(ENOUGH):
        # A pool would use descriptors at other times too.
        with Executor(registry, workspace=workspace, engine=engine, pool=None) as executor:
            assert say_hello(executor, "plain") == "hello\n"
            before = open_files()
            with free_descriptors(count):
                try:
                    said.append(say_hello(executor, tool))
                except InfrastructureError as error:
                    said.append(str(error))
            assert said[-1] == "hello\n" or "open files" in said[-1], (count, said)
            assert say_hello(executor, tool) == "hello\n"
        assert open_files().keys() - before.keys() == set(), (count, open_files())
        if said[-1] == "hello\n":
            break
    assert "open files" in said[0]
    assert said[-1] == "hello\n"
    assert [*temporary.iterdir()] == []
    assert [each.name for each in load(engine).leftovers() if str(os.getpid()) in each.owner.split(".")] == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", engines())
def test_an_open_sandbox_works_or_raises_infrastructure_error_and_leaves_nothing(engine: str, tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(TOOLS)
    said = []
    with Executor(Registry.load(tmp_path / "tools.yaml"), engine=engine, pool=None) as executor:
        with executor.sandbox("plain") as sandbox:
            before = open_files()
            with free_descriptors(0), pytest.raises(InfrastructureError, match="open files"):
                sandbox.exec(["echo", "hello"])
            assert sandbox.exec(["echo", "hello"]).stdout == b"hello\n"
            assert open_files() == before
        before = open_files()
        for count in range(0, ENOUGH, 3):
            with free_descriptors(count):
                try:
                    with executor.sandbox("plain") as sandbox:
                        said.append(sandbox.exec(["echo", "hello"]).stdout.decode())
                except InfrastructureError as error:
                    said.append(str(error))
            assert said[-1] == "hello\n" or "open files" in said[-1], (count, said)
            assert open_files().keys() - before.keys() == set(), (count, open_files())
    assert "open files" in said[0]
    assert said[-1] == "hello\n"
