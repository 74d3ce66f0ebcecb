from dataclasses import replace

import pytest
from scripted_tools import execute, registered

from toolc.model.call import ToolCall
from toolc.model.errors import UsageError
from toolc.model.json_schema import Schema
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
from toolc.runtime.execution.admission import unsupported_features
from toolc.runtime.sandboxed.options import CallOptions

TOOL = ToolSpec(
    name="ls",
    description="List the files.",
    parameters=Schema({"type": "object", "properties": {}}),
    backend=ShellBackend(command=Argv(elements=(Template(("ls",)),))),
)
HTTP = HttpBackend(url=Template(("https://example.com/",)))
HTTP_SESSION = replace(TOOL, backend=HTTP, sandbox=SandboxSpec(lifetime="session"))


def in_sandbox(sandbox: SandboxSpec) -> ToolSpec:
    return replace(TOOL, sandbox=sandbox)


def test_an_unsupported_feature_is_named() -> None:
    reason = "this version of toolc compiles 'sandbox.lifetime: session' of 'backend.http' but does not run it yet"
    assert unsupported_features(HTTP_SESSION) == f"tool 'ls': {reason}"


def test_all_other_features_are_supported() -> None:
    assert unsupported_features(TOOL) is None
    assert unsupported_features(replace(TOOL, retry=Retry(), confirm=True)) is None
    assert (
        unsupported_features(replace(TOOL, result=ResultSpec(select="a", template="b", files=(Template(("a",)),))))
        is None
    )
    assert unsupported_features(in_sandbox(SandboxSpec(workspace="rw", image="debian:bookworm"))) is None
    public = Destination(kind="public", host="", port=443)
    assert unsupported_features(in_sandbox(SandboxSpec(network=NetworkSpec(allow=(public,))))) is None
    assert (
        unsupported_features(
            in_sandbox(SandboxSpec(build=Build(folder="a", files=(File(path="a/Dockerfile", text=""),))))
        )
        is None
    )
    secret = SecretSpec(name="A", hosts=("example.com",))
    assert unsupported_features(in_sandbox(SandboxSpec(secrets=(secret, SecretSpec(name="B", expose="env"))))) is None
    assert unsupported_features(replace(TOOL, result_schema=Schema({}))) is None
    assert unsupported_features(replace(TOOL, result=ResultSpec(files=(Template(("a",)),)))) is None
    assert unsupported_features(replace(TOOL, backend=HTTP, result=ResultSpec(select="a", template="b"))) is None
    packages = PythonBackend(entry="a.py", function="a", files=(), requirements=("a==1",))
    assert unsupported_features(replace(TOOL, backend=packages)) is None
    assert unsupported_features(in_sandbox(SandboxSpec(lifetime="session"))) is None
    variable = SecretEnvVar(name="A", value=Template(()))
    plugin = PluginBackend(command=("x",))
    assert unsupported_features(replace(TOOL, backend=plugin, sandbox=SandboxSpec(secret_env=(variable,)))) is None
    assert unsupported_features(in_sandbox(SandboxSpec(workspace="transaction", transaction=TransactionSpec()))) is None


def test_a_call_is_refused_before_an_engine_is_chosen() -> None:
    tool = replace(TOOL, backend=HTTP, sandbox=SandboxSpec(lifetime="session"))

    def select_engine(_: object) -> object:
        raise AssertionError("nothing may start")

    options = CallOptions(select_engine=select_engine)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="does not run it yet"):
        execute(registered(tool), ToolCall(name="ls", arguments={}, call_id="c"), options)
