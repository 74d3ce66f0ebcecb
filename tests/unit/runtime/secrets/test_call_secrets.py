"""What leaves a call is without its secrets, and still says what it said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan, PythonCall
from toolc.model.result import Capture, Image, Outcome, Resource, Text, ToolFailure, ToolResult
from toolc.runtime.secrets.redaction import Redactor, redacted
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


def test_a_secret_is_taken_out_of_every_part_of_a_result() -> None:
    value = "correct-horse"
    result = ToolResult(
        content=(
            Text(f"<{value}>"),
            Image(b"GIF89a" + value.encode(), "image/gif"),
            Resource(value.encode(), "text/plain", f"{value}.txt"),
        ),
        structured=({value: value},),
        error=ToolFailure("execution", f"no {value}"),
        details={"tool": {value: 1}, "stderr": value},
    )
    assert redacted(result, Redactor({"KEY": value})) == ToolResult(
        content=(
            Text("<[secret KEY]>"),
            Image(b"GIF89a[secret KEY]", "image/gif"),
            Resource(b"[secret KEY]", "text/plain", "[secret KEY].txt"),
        ),
        structured=({"[secret KEY]": "[secret KEY]"},),
        error=ToolFailure("execution", "no [secret KEY]"),
        details={"tool": {"[secret KEY]": 1}, "stderr": "[secret KEY]"},
    )


def test_a_type_with_a_secret_in_it_is_none() -> None:
    result = ToolResult(content=(Resource(b"x", "application/correct-horse", "x"),))
    assert redacted(result, Redactor({"KEY": "correct-horse"})).content == (
        Resource(b"x", "application/octet-stream", "x"),
    )


@pytest.mark.parametrize("value", ["truncated", "duration_ms", "timing_ms"])
def test_a_secret_that_is_a_word_of_ours_leaves_it_to_those_who_look_for_it(value: str) -> None:
    result = ToolResult(content=(), details={value: False, "timing_ms": {value: 1}})
    assert redacted(result, Redactor({"KEY": value})) == result


def test_a_result_is_without_secrets_before_another_sandbox_puts_it_into_words(tmp_path: Path) -> None:
    told: list[JsonObject] = []

    def script(plan: Plan) -> Outcome:
        assert isinstance(plan.invocation, PythonCall)
        told.append(plan.invocation.arguments)
        assert any(each.name == "KEY" for each in plan.env) == (len(told) == 1)
        reply = json.dumps({"content": [{"type": "text", "text": KEY}], "structured": [{"a": KEY}]}).encode()
        return Outcome(ending="exited", reply=Capture(head=reply, total_bytes=len(reply)))

    path = tmp_path / "spill.yaml"
    path.write_text(json.dumps(SHAPED))
    store = SecretStore({"KEY": LiteralSource(KEY)}, {})
    with Executor(Registry.load(path), engine=FakeEngine(script), secrets=store) as executor:
        result = executor.run("spill", {})
    assert (told[1]["text"], told[1]["data"]) == ("[secret KEY]", [{"a": "[secret KEY]"}])
    assert KEY not in str(result)
