"""Inspect's own checks of a sandbox provider, on each engine, and an evaluation with the provider ``toolc``."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from engines.configurations import available
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import SandboxEnvironment, SandboxEnvironmentSpec, sandbox
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv
from inspect_ai.util._sandbox.self_check import *  # noqa: F403  the checks

from toolc import UsageError
from toolc.adapters.inspect_ai import SandboxConfig, ToolcSandbox

KNOWN: Final = "test_exec_as_user"
"""The check that fails: it creates users, which needs capabilities that no tool gets."""

SPEC = """\
toolc: 1
name: words
description: Count words, for the tests of the provider and for nothing else.
backend: {shell: {argv: [wc, -w]}}
sandbox: {env: {COLOR: red}}
"""

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["oci root", "docker"])
def engine(request: pytest.FixtureRequest) -> str:
    available(request.param)
    return str(request.param).partition(" ")[0]


@pytest.fixture
async def sandbox_env(request: pytest.FixtureRequest, engine: str) -> AsyncIterator[SandboxEnvironment]:
    if request.node.originalname == KNOWN:
        request.node.add_marker(pytest.mark.xfail(reason="a tool never gets a capability", strict=True))
    config = SandboxConfig(engine=engine)
    environments = await ToolcSandbox.sample_init("check", config, {})
    yield environments["default"]
    await ToolcSandbox.sample_cleanup("check", config, environments, interrupted=False)


async def test_exec_timeout(sandbox_env: SandboxEnvironment) -> None:
    """In place of Inspect's check, whose command may end before a busy machine sees its limit."""
    with pytest.raises(TimeoutError):
        await sandbox_env.exec(["sleep", "250"], timeout=2)


@solver
def counting() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await sandbox().write_file("note", "one two three")
        state.output.completion = (await sandbox().exec(["sh", "-c", "wc -w < note; echo $COLOR"])).stdout
        return state

    return solve


# Inspect does not close a stream of its own.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_evaluation_uses_the_sandbox_of_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.yaml").write_text(SPEC, encoding="utf-8")
    task = Task(
        dataset=[Sample(input="How many words?", target="3\nred")],
        solver=counting(),
        scorer=includes(),
        sandbox=("toolc", "words.yaml"),
    )
    (log,) = evaluate(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == 1


def test_the_entry_point_registers_the_provider() -> None:
    assert registry_find_sandboxenv("toolc") is ToolcSandbox


def test_a_configuration_survives_the_log() -> None:
    config = SandboxConfig(profile={"image": "debian:bookworm"}, engine="docker")
    assert ToolcSandbox.config_deserialize(config.model_dump()) == config
    assert SandboxEnvironmentSpec("toolc", config).config == config


async def test_a_tool_and_a_profile_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="remove one"):
        await ToolcSandbox.sample_init("task", SandboxConfig(tool="words.yaml", profile={}), {})
