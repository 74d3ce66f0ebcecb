"""A client for the conformance runner of MCP: imports the server at a URL with toolc, and calls each of its tools."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.call import Allow, BoundCall, Deny
from toolc.model.json_schema import JsonObject
from toolc.model.spec.mcp_backend import McpBackend

VALUES: JsonObject = {"string": "hello", "integer": 1, "number": 5, "boolean": True, "array": []}


def answer(call: BoundCall) -> Allow | Deny:
    """Answer a question with the default values of its form."""
    return Allow(call.arguments)


def call_all(place: Path) -> None:
    """Call each tool with all its required arguments."""
    registry = Registry.load(place)
    with Executor(registry, confirm=answer) as executor:
        shown = next(
            each.backend.definition["inputSchema"] for each in registry if isinstance(each.backend, McpBackend)
        )
        values = VALUES | {"object": shown}  # a scenario wants to see the schema of its first tool again
        for tool in registry:
            kinds = {each: tool.parameters.properties[each].get("type") for each in sorted(tool.parameters.required)}
            result = executor.run(tool.name, {each: values[str(kind)] for each, kind in kinds.items()})
            sys.stderr.write(f"{tool.name}: {result.text}\n")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        spec = Path(folder) / "server.yaml"
        command = [sys.executable, "-m", "toolc", "import", "mcp", "--url", sys.argv[1], "--out", str(spec)]
        subprocess.run(command, check=False)
        if spec.exists():  # some scenarios have no tool that can be called
            call_all(spec)
