from dataclasses import replace

import pytest
from calls.scripted_tools import execute, registered

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
    reason = "this version of toolc can compile 'sandbox.lifetime: session' of 'backend.http', but cannot run it yet"
    assert unsupported_features(HTTP_SESSION) == f"tool 'ls': {reason}"


PUBLIC = NetworkSpec(allow=(Destination(kind="public", host="", port=443),))
SECRETS = (SecretSpec(name="A", hosts=("example.com",)), SecretSpec(name="B", expose="env"))
VARIABLE = SandboxSpec(secret_env=(SecretEnvVar(name="A", value=Template(())),))
PACKAGES = PythonBackend(entry="a.py", function="a", files=(), requirements=("a==1",))


@pytest.mark.parametrize(
    "spec",
    [
        TOOL,
        replace(TOOL, retry=Retry(), confirm=True),
        replace(TOOL, result=ResultSpec(select="a", template="b", files=(Template(("a",)),))),
        replace(TOOL, result_schema=Schema({})),
        replace(TOOL, backend=HTTP, result=ResultSpec(select="a", template="b")),
        replace(TOOL, backend=PACKAGES),
        replace(TOOL, backend=PluginBackend(command=("x",)), sandbox=VARIABLE),
        in_sandbox(SandboxSpec(workspace="rw", image="debian:bookworm")),
        in_sandbox(SandboxSpec(network=PUBLIC)),
        in_sandbox(SandboxSpec(build=Build(folder="a", files=(File(path="a/Dockerfile", text=""),)))),
        in_sandbox(SandboxSpec(secrets=SECRETS)),
        in_sandbox(SandboxSpec(lifetime="session")),
        in_sandbox(SandboxSpec(workspace="transaction", transaction=TransactionSpec())),
    ],
)
def test_all_other_features_are_supported(spec: ToolSpec) -> None:
    assert unsupported_features(spec) is None


def test_a_call_is_refused_before_an_engine_is_chosen() -> None:
    def select_engine(_: object) -> object:
        raise AssertionError("nothing may start")

    options = CallOptions(select_engine=select_engine)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cannot run it yet"):
        execute(registered(HTTP_SESSION), ToolCall(name="ls", arguments={}, call_id="c"), options)
