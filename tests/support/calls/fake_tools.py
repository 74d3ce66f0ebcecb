"""An executor over the fake engine, for servers under test; run as a program it serves over stdio."""

import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.call import Confirm
from toolc.model.json_schema import JsonObject, JsonValue, Schema
from toolc.model.plan import Plan, PythonCall
from toolc.model.registry import RegisteredTool, RegistryFile
from toolc.model.registry_io import digests
from toolc.model.result import Capture, Outcome
from toolc.model.spec.code_backends import File, PythonBackend
from toolc.model.spec.sandbox import SandboxSpec, WorkspaceMode
from toolc.model.spec.tool import ToolSpec
from toolc.telemetry.observation import Observer
from toolc.testing.fake_engine import FakeEngine

Answer = Callable[[JsonObject], JsonObject]
"""From a call's arguments to the reply of the guest."""


def tool(name: str, *, workspace: WorkspaceMode = "none", **properties: JsonValue) -> ToolSpec:
    schema: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return ToolSpec(
        name=name,
        label=name.title(),
        description=f"The tool {name}.",
        parameters=Schema(schema),
        backend=PythonBackend(entry="t.py", function=name, files=(File(path="t.py", text=""),)),
        sandbox=SandboxSpec(workspace=workspace),
    )


def registry(*tools: ToolSpec) -> Registry:
    by_name = {each.name: each for each in tools}
    found = [(each, digests(each, by_name)) for _, each in sorted(by_name.items())]
    return Registry(
        RegistryFile(
            tuple(
                RegisteredTool(spec=each, surface_digest=digest.surface, effect_digest=digest.effect)
                for each, digest in found
            )
        )
    )


def executor(
    answers: Mapping[str, Answer],
    *tools: ToolSpec,
    keep_results: bool = False,
    confirm: Confirm | None = None,
    max_result_chars: int | None = None,
    client: str = "",
    observers: Sequence[Observer] = (),
) -> Executor:
    """Return an executor; the functions in ``answers`` answer the calls of each tool."""

    def run(plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, PythonCall)
        reply = json.dumps(answers[plan.invocation.function](plan.invocation.arguments)).encode()
        return Outcome(ending="exited", reply=Capture(reply, total_bytes=len(reply)))

    return Executor(
        registry(*tools), engine=FakeEngine(run), keep_results=keep_results, confirm=confirm,
        max_result_chars=max_result_chars, client=client, observers=observers,
    )  # fmt: skip


def text(words: str) -> JsonObject:
    return {"content": [{"type": "text", "text": words}], "structured": None, "details": {}}


def main() -> None:
    """Serve ``echo``, and ``wait``, which creates the given file when it starts and never ends."""
    from toolc.serve.mcp import make_server
    from toolc.serve.mcp_stdio import serve_stdio

    def wait(arguments: JsonObject) -> JsonObject:
        Path(str(arguments["started"])).touch()
        threading.Event().wait()
        return text("")

    def echo(arguments: JsonObject) -> JsonObject:
        sys.stdout.write("a stray print\n")
        sys.stdout.flush()
        return text(str(arguments["words"]))

    tools = (tool("echo", words={"type": "string"}), tool("wait", started={"type": "string"}))
    with executor({"echo": echo, "wait": wait}, *tools) as each:
        serve_stdio(make_server(each, version="1"))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
