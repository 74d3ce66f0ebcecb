"""Writing the results of failed tests into their specs."""

from pathlib import Path
from typing import Any

import pytest

from toolc.client.registry import Registry
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.result import Text, ToolResult, failure
from toolc.testing import cases
from toolc.testing.updates import update
from toolc.testing.workspace import Changes

SPEC = """\
toolc: 1
name: t
description: Writes a word into a file. Use it for the tests of tests, and for nothing else.
backend: {shell: {argv: [echo]}}
sandbox: {workspace: rw, network: {allow: ["a.example:443"]}}
tests:
"""
CONNECTED = ToolResult(content=(), details={"network": [
    {"host": "a.example", "port": 443, "allowed": True}, {"host": "b.example", "port": 80, "allowed": False},
]})  # fmt: skip


def updated(path: Path, expect: str, result: ToolResult, **more: Any) -> tuple[str, list[str], int]:
    """Return the expectation after the update, what was reported, and how many tests still fail."""
    spec = path / "t.yaml"
    spec.write_text(f"{SPEC}  - expect: {expect}\n", encoding="utf-8")
    compilation = compile_specs([spec])
    (located,) = compilation.located
    tool, registry = located.spec, Registry.compiled(compilation)
    case = cases.Case(registry=registry, tool=tool, number=1, test=tool.tests[0], located=located)
    tested = cases.Tested(case=case, verdict="failed", duration_ms=1, problems=("it differs",), result=result, **more)
    reports: list[str] = []
    left = update([tested], reports.append)
    written = spec.read_text(encoding="utf-8").removeprefix(f"{SPEC}  - expect: ").rstrip("\n")
    return written, [line.replace(str(path), "") for line in reports], len(left)


@pytest.mark.parametrize(
    ("expect", "result", "written", "keys"),
    [
        ("{text: a}", ToolResult(content=(Text("b"),)), '{text: "b"}', "text"),
        ("{json: {a: 1}}", ToolResult(content=(Text('{"a": 2, "b": 3}'),)), "{json: {a: 2}}", "json"),
        ("{structured: [1]}", ToolResult(content=(), structured=([2],)), "{structured: [2]}", "structured"),
        ("{error: timeout}", failure("denied", "no"), '{error: "denied"}', "error"),
        ("{error: timeout, text: a}", ToolResult(content=(Text("a"),)), "{text: a}", "error"),
        ("{network: []}", CONNECTED, '{network: ["a.example:443"]}', "network"),
        ("{network: {allowed: [], refused: []}}", CONNECTED,
         '{network: {allowed: ["a.example:443"], refused: ["b.example:80"]}}', "network.allowed, network.refused"),
    ],
)  # fmt: skip
def test_the_result_is_written(tmp_path: Path, expect: str, result: ToolResult, written: str, keys: str) -> None:
    assert updated(tmp_path, expect, result) == (written, [f"updated t[1]: {keys}"], 0)


def test_the_workspace_replaces_the_expected_files(tmp_path: Path) -> None:
    changes, files = Changes(added=("a.txt",)), {"a.txt": "new", "b.txt": None, "c.txt": "same"}
    expect = "{changes: {deleted: [d.txt]}, files: {a.txt: old, b.txt: old, c.txt: same}}"
    written, reports, left = updated(tmp_path, expect, ToolResult(content=()), changes=changes, files=files)
    assert written == '{changes: {added: ["a.txt"]}, files: {a.txt: "new", b.txt: null, c.txt: same}}'
    assert (reports, left) == (["updated t[1]: changes, files.a.txt, files.b.txt"], 0)


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ("{matches: nothing}", "its pattern does not match the text; change it by hand"),
        ("{json: 1}", "it expects JSON, but the result is not JSON"),
        ("{structured: 1}", "it expects structured data, but the result has none"),
        ("{files: {a.txt: b}}", "it expects the text of a.txt, which is no longer a text file"),
    ],
)
def test_an_expectation_that_cannot_be_replaced_is_kept_and_reported(tmp_path: Path, expect: str, reason: str) -> None:
    report = f"t[1] (/t.yaml:7:5) still fails: {reason}"
    assert updated(tmp_path, expect, ToolResult(content=(Text("words"),))) == (expect, [report], 1)
