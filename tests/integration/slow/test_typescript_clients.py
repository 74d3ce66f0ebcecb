"""TypeScript clients: accepted by ``tsc``, and called with the MCP SDK for TypeScript against ``toolc serve``.

`.ci/with-node-packages` installs the compiler and the SDK and sets TOOLC_NODE_MODULES to their folder.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calls import typed_tools
from project.paths import ROOT

from toolc.client.typed.generate import ClientFile, client_text, write_clients
from toolc.compiler.pipeline.compile import compile_specs

MODULES = os.environ.get("TOOLC_NODE_MODULES")
pytestmark = pytest.mark.skipif(
    MODULES is None or shutil.which("node") is None, reason="Node.js or TOOLC_NODE_MODULES is missing"
)
SPECS = """\
toolc: 1
tools:
  - name: divide
    description: Divide one whole number by another. Use it for remainders too.
    parameters: {a: {type: integer, description: The dividend.}, b: {type: integer, description: The divisor.}}
    backend:
      python: {code: "def divide(a, b):\\n    return [a // b, a % b]\\n"}
    result: {schema: {type: array, prefixItems: [{type: integer}, {type: integer}], items: false, minItems: 2}}
  - name: "constructor"
    description: Return the text that was given, or a greeting.
    parameters: {text: {type: string, maxLength: 99, description: The text., default: hello}}
    backend:
      python: {code: "def constructor(text):\\n    return {'text': text}\\n"}
    result:
      schema: {type: object, properties: {text: {type: string}}, required: [text]}
  - name: fail-now
    description: Fail with the given text.
    parameters: {text: {type: string, maxLength: 99, description: The text.}}
    backend:
      shell: {script: 'echo "$ARG_text"; exit 3'}
"""
USE = """\
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { mcpTools, ToolCallError } from "./client.js";

const [command, ...args] = JSON.parse(process.env["SERVER"]!) as [string, ...Array<string>];
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env as Record<string, string> }));
const warnings: Array<string> = [];
const tools = mcpTools(client, (message) => warnings.push(message));
const [quotient, remainder]: [number, number] = await tools.divide({ a: 7, b: 2 });
const greeting: string = (await tools.constructor()).text;
const failure = await tools["fail-now"]({ text: "no" }).catch((error: unknown) => error);
console.log(JSON.stringify({
  quotient, remainder, greeting, warnings: warnings.length,
  failed: failure instanceof ToolCallError ? [failure.tool, failure.message] : String(failure),
}));
await client.close();
"""
OPTIONS = {
    "target": "es2022", "module": "nodenext", "strict": True, "skipLibCheck": True, "outDir": "out", "types": ["node"],
    "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True, "noPropertyAccessFromIndexSignature": True,
    "noUnusedLocals": True, "noUnusedParameters": True, "isolatedModules": True, "erasableSyntaxOnly": True,
}  # fmt: skip


def tsc(folder: Path, *names: str, **options: object) -> list[str]:
    """Compile modules in ``folder`` and return the file, line and code of each error."""
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    config = {"compilerOptions": {**OPTIONS, **options}, "files": names}
    (folder / "tsconfig.json").write_text(json.dumps(config), encoding="utf-8")
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(str(MODULES))
    command = [str(folder / "node_modules" / ".bin" / "tsc"), "--pretty", "false"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [line.partition(": error ")[0] for line in done.stdout.splitlines() if ": error " in line]


def test_tsc_accepts_clients_with_any_names_texts_and_schemas(tmp_path: Path) -> None:
    tools = [*typed_tools.hostile(), *typed_tools.constructs(), *typed_tools.random_tools(150)]
    (tmp_path / "client.ts").write_text(client_text(typed_tools.registered(tools), "typescript"), encoding="utf-8")
    assert tsc(tmp_path, "client.ts", types=[]) == []


def test_tsc_refuses_wrong_arguments(tmp_path: Path) -> None:
    text = client_text(typed_tools.registered(typed_tools.constructs()), "typescript")
    (tmp_path / "client.ts").write_text(text, encoding="utf-8")
    lines = (
        'import { createTools } from "./client.js";',
        "const tools = createTools(async () => ({ content: [] }));",
        'export const right = tools.pair({ needed: ["a", 1], optional: ["a"] });',
        'export const tree = tools.tree({ needed: { name: "a", next: { name: "b" } } });',
        "export const missing = tools.pair({});",
        "export const wrong = tools.pair({ needed: 1 });",
        'export const other = tools.texts({ needed: "c" });',
        'export const unknown = tools.constant({ needed: "only", more: 1 });',
        "export const data: Promise<number> = tools.constant({ needed: 'only' });",
    )
    (tmp_path / "use.ts").write_text("\n".join(lines), encoding="utf-8")
    assert [each.partition(",")[0] for each in tsc(tmp_path, "use.ts", types=[])] == [
        "use.ts(5", "use.ts(6", "use.ts(7", "use.ts(8", "use.ts(9",
    ]  # fmt: skip


@pytest.mark.needs_engine
@pytest.mark.parametrize("warnings", [0, 1])
def test_calls_with_the_mcp_sdk(warnings: int, tmp_path: Path) -> None:
    (tmp_path / "specs.yaml").write_text(SPECS, encoding="utf-8")
    write_clients(
        [ClientFile("typescript", tmp_path / "client.ts")],
        compile_specs([tmp_path / "specs.yaml"]).registry().tools,
        tmp_path / "build",
    )
    (tmp_path / "use.ts").write_text(USE, encoding="utf-8")
    assert tsc(tmp_path, "use.ts") == []
    if warnings:
        (tmp_path / "specs.yaml").write_text(SPECS.replace("a greeting", "hello"), encoding="utf-8")
    server = [sys.executable, "-m", "toolc", "serve", str(tmp_path / "specs.yaml")]
    done = subprocess.run(
        ["node", "out/use.js"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "SERVER": json.dumps(server), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "quotient": 3, "remainder": 1, "greeting": "hello", "warnings": warnings,
        "failed": ["fail-now", "fail-now: no\n[exit status 3]"],
    }  # fmt: skip
