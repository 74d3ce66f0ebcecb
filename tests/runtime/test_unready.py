"""What compiles and cannot be called yet is refused before anything starts, by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import Schema
from toolc.model.registry import RegisteredTool
from toolc.model.registry_file import digests
from toolc.model.spec.code_backends import Argv, File, PluginBackend, PythonBackend, ShellBackend
from toolc.model.spec.http_backend import HttpBackend
from toolc.model.spec.sandbox import (
    Build,
    Destination,
    NetworkSpec,
    SandboxSpec,
    SecretEnvVar,
    SecretSpec,
    TransactionSpec,
)
from toolc.model.spec.tool import ResultSpec, Retry, ToolSpec
from toolc.model.template import Template
from toolc.runtime.executor import execute
from toolc.runtime.setting import Setting
from toolc.runtime.unready import unready

TOOL = ToolSpec(
    name="ls",
    description="List the files.",
    parameters=Schema({"type": "object", "properties": {}}),
    backend=ShellBackend(command=Argv(elements=(Template(("ls",)),))),
)
HTTP = HttpBackend(url=Template(("https://example.com/",)))


def in_sandbox(sandbox: SandboxSpec) -> ToolSpec:
    return replace(TOOL, sandbox=sandbox)


@pytest.mark.parametrize(
    ("tool", "feature"),
    [
        (
            replace(TOOL, backend=HTTP, sandbox=SandboxSpec(lifetime="session")),
            "'sandbox.lifetime: session' of 'backend.http'",
        ),
    ],
)
def test_a_feature_of_the_format_that_is_not_run_yet_is_named(tool: ToolSpec, feature: str) -> None:
    assert unready(tool) == f"tool 'ls': this version of toolc compiles {feature} but does not run it yet"


def test_everything_else_is_ready() -> None:
    assert unready(TOOL) is None
    assert unready(replace(TOOL, retry=Retry(), confirm=True)) is None
    assert unready(replace(TOOL, result=ResultSpec(select="a", template="b", files=(Template(("a",)),)))) is None
    assert unready(in_sandbox(SandboxSpec(workspace="rw", image="debian:bookworm"))) is None
    public = Destination(kind="public", host="", port=443)
    assert unready(in_sandbox(SandboxSpec(network=NetworkSpec(allow=(public,))))) is None
    assert (
        unready(in_sandbox(SandboxSpec(build=Build(folder="a", files=(File(path="a/Dockerfile", text=""),)))))
        is None
    )
    secret = SecretSpec(name="A", hosts=("example.com",))
    assert unready(in_sandbox(SandboxSpec(secrets=(secret, SecretSpec(name="B", expose="env"))))) is None
    assert unready(replace(TOOL, result_schema=Schema({}))) is None
    assert unready(replace(TOOL, result=ResultSpec(files=(Template(("a",)),)))) is None
    assert unready(replace(TOOL, backend=HTTP, result=ResultSpec(select="a", template="b"))) is None
    packages = PythonBackend(entry="a.py", function="a", files=(), requirements=("a==1",))
    assert unready(replace(TOOL, backend=packages)) is None
    assert unready(in_sandbox(SandboxSpec(lifetime="session"))) is None
    variable = SecretEnvVar(name="A", value=Template(()))
    plugin = PluginBackend(command=("x",))
    assert unready(replace(TOOL, backend=plugin, sandbox=SandboxSpec(secret_env=(variable,)))) is None
    assert unready(in_sandbox(SandboxSpec(workspace="transaction", transaction=TransactionSpec()))) is None


def test_a_call_is_refused_before_an_engine_is_chosen() -> None:
    tool = replace(TOOL, backend=HTTP, sandbox=SandboxSpec(lifetime="session"))
    found = digests(tool)
    registered = RegisteredTool(spec=tool, surface_digest=found.surface, effect_digest=found.effect)

    def choose(_: object) -> object:
        raise AssertionError("nothing may start")

    with pytest.raises(UsageError, match="does not run it yet"):
        execute(registered, ToolCall(name="ls", arguments={}, call_id="c"), Setting(choose=choose))  # type: ignore[arg-type]
