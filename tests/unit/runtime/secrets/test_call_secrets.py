import json
from collections.abc import Callable
from pathlib import Path

import pytest
from calls.scripted_tools import captured

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan, PythonCall
from toolc.model.result import Image, Outcome, Resource, Text, ToolFailure, ToolResult
from toolc.runtime.secrets.redaction import Redactor, redact_result
from toolc.testing.fake_engine import FakeEngine

KEY = "correct-horse"
SHAPED: JsonObject = {
    "toolc": 1,
    "name": "spill",
    "description": "Return a secret. Use it in tests and nowhere else at all.",
    "backend": {"python": {"code": "def spill(): ..."}},
    "result": {"select": "a"},
    "sandbox": {"secrets": {"KEY": {"expose": "env"}}},
}


def spilled(folder: Path, spec: JsonObject, script: Callable[[Plan], Outcome]) -> ToolResult:
    (folder / "spill.yaml").write_text(json.dumps(spec))
    store = SecretStore({"KEY": LiteralSource(KEY)}, {})
    with Executor(Registry.load(folder / "spill.yaml"), engine=FakeEngine(script), secrets=store) as executor:
        return executor.run("spill", {})


def test_a_secret_is_redacted_in_every_part_of_a_result() -> None:
    result = ToolResult(
        content=(
            Text(f"<{KEY}>"),
            Image(b"GIF89a" + KEY.encode(), "image/gif"),
            Resource(KEY.encode(), "text/plain", f"{KEY}.txt"),
        ),
        structured=({KEY: KEY},),
        error=ToolFailure("execution", f"no {KEY}"),
        details={"tool": {KEY: 1}, "stderr": KEY},
    )
    assert redact_result(result, Redactor({"KEY": KEY})) == ToolResult(
        content=(
            Text("<[secret KEY]>"),
            Image(b"GIF89a[secret KEY]", "image/gif"),
            Resource(b"[secret KEY]", "text/plain", "[secret KEY].txt"),
        ),
        structured=({"[secret KEY]": "[secret KEY]"},),
        error=ToolFailure("execution", "no [secret KEY]"),
        details={"tool": {"[secret KEY]": 1}, "stderr": "[secret KEY]"},
    )


def test_a_mime_type_with_a_secret_is_replaced() -> None:
    result = ToolResult(content=(Resource(b"x", "application/correct-horse", "x"),))
    assert redact_result(result, Redactor({"KEY": "correct-horse"})).content == (
        Resource(b"x", "application/octet-stream", "x"),
    )


@pytest.mark.parametrize("value", ["truncated", "duration_ms", "timing_ms"])
def test_fixed_keys_are_not_redacted(value: str) -> None:
    result = ToolResult(content=(), details={value: False, "timing_ms": {value: 1}})
    assert redact_result(result, Redactor({"KEY": value})) == result


def test_a_result_is_redacted_before_another_sandbox_shapes_it(tmp_path: Path) -> None:
    arguments: list[JsonObject] = []

    def script(plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, PythonCall)
        arguments.append(plan.invocation.arguments)
        assert any(each.name == "KEY" for each in plan.env) == (len(arguments) == 1)
        reply = json.dumps({"content": [{"type": "text", "text": KEY}], "structured": [{"a": KEY}]}).encode()
        return Outcome(ending="exited", reply=captured(reply))

    result = spilled(tmp_path, SHAPED, script)
    assert (arguments[1]["text"], arguments[1]["data"]) == ("[secret KEY]", [{"a": "[secret KEY]"}])
    assert KEY not in str(result)


@pytest.mark.parametrize("expose", ["env", "file"])
def test_an_exposed_secret_reaches_the_tool_and_not_its_result(expose: str, tmp_path: Path) -> None:
    def script(plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, PythonCall)
        values = [each.value for each in plan.env if each.name == "KEY"]
        values += [each.text or "" for each in plan.invocation.files if each.path.endswith("/KEY")]
        assert values == [KEY]
        content: JsonObject = {"content": [{"type": "text", "text": f"<{values[0]}>"}]}
        return Outcome(ending="exited", reply=captured(json.dumps(content).encode()))

    spec = SHAPED | {"result": {}, "sandbox": {"secrets": {"KEY": {"expose": expose}}}}
    assert spilled(tmp_path, spec, script).text == "<[secret KEY]>"
