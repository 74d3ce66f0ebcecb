"""``result.select`` and ``result.template`` of shell and Python tools."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from calls.http_tools import call_http, failed
from engines.configurations import CONFIGURATIONS, available

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Image, Text, ToolResult
from toolc.sandbox.interface import Engine
from toolc.sandbox.oci.engine import OciEngine

PNG = "\\x89PNG\\r\\n\\x1a\\n"


def spec(backend: JsonObject, result: JsonObject, sandbox: JsonObject | None = None) -> str:
    found: JsonObject = {
        "toolc": 1,
        "name": "ask",
        "description": "Print what a test expects. Use it there and nowhere else at all.",
        "parameters": {"n": {"type": "integer", "description": "A number"}},
        "backend": backend,
        "result": result,
        "sandbox": sandbox or {},
    }
    return json.dumps(found)


Call: TypeAlias = Callable[..., ToolResult]
"""See the fixture ``call``."""


@pytest.fixture
def call(engine: OciEngine, tmp_path: Path) -> Call:
    """Call a tool with this backend and result, with the argument ``n``: 3."""

    def call(
        backend: JsonObject, result: JsonObject, sandbox: JsonObject | None = None, timeout: float = 30
    ) -> ToolResult:
        text = spec(backend, result, sandbox)
        return call_http(engine, tmp_path, text, {"n": 3}, {"KEY": "correct-horse"}, timeout=timeout)

    return call


def shell(script: str, **more: str) -> JsonObject:
    return {"shell": {"script": script, **more}}


def python(code: str) -> JsonObject:
    return {"python": {"code": code, "function": "run"}}


ROWS = shell("""echo "{\\"rows\\": [1, 2, $ARG_n]}" """)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_engine_applies_select_and_template(name: str) -> None:
    configuration = available(name)
    template = "{{ result | join('+') }} of {{ args.n }}"
    text = spec(ROWS, {"format": "json", "select": "rows[1:]", "template": template}, configuration.sandbox)

    def work(engine: Engine) -> JsonValue:
        with tempfile.TemporaryDirectory() as folder:
            found = call_http(engine, Path(folder), text, {"n": 3})
            assert found.structured is not None, found
            return [found.text, found.structured[0]]

    assert configuration.run(work) == ["2+3 of 3", [2, 3]]


def test_a_template_replaces_the_output(call: Call) -> None:
    assert call(shell("echo noise"), {"format": "none", "template": "Did {{ args.n }}."}).text == "Did 3."


def test_the_schema_applies_to_the_selected_value(call: Call) -> None:
    result: JsonObject = {"format": "json", "select": "rows[2]", "schema": {"type": "integer"}}
    assert call(ROWS, result).structured == (3,)


def test_an_image_follows_the_text_of_the_template(call: Call) -> None:
    code = f'def run(n, ctx):\n    return ctx.result(["words", b"{PNG}"], structured={{"n": n}})\n'
    found = call(python(code), {"template": "{{ text }}: {{ result.n }}"})
    assert found.content[0] == Text("words: 3")
    assert isinstance(found.content[1], Image)
    assert found.structured == ({"n": 3},)


def test_an_error_is_unchanged(call: Call) -> None:
    result = call(shell("echo no; exit 4"), {"template": "all is well"})
    assert failed(result) == ("exit_status", "the command ended with exit status 4")
    assert result.text == "no\n[exit status 4]"


def test_an_accepted_exit_status_is_unchanged(call: Call) -> None:
    result = call(shell("echo no; exit 4", success_exit_codes="any"), {"select": "a"})
    assert (result.is_error, result.text) == (False, "no\n[exit status 4]")


def test_a_template_error_has_no_traceback(call: Call) -> None:
    result = call(shell("echo no"), {"template": "{{ result.a.b }}"})
    reason = "result.template cannot be applied to the data: 'str object' has no attribute 'a'"
    assert (failed(result), result.text) == (("serialization", reason), reason)
    assert "traceback" not in result.details


def test_a_template_is_stopped_by_the_timeout(call: Call) -> None:
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    result = call(shell("echo"), {"template": endless}, timeout=1.5)
    assert failed(result)[0] == "timeout"


def test_a_template_receives_no_secret(call: Call) -> None:
    sandbox: JsonObject = {"secrets": {"KEY": {"expose": "env"}}}
    result = call(shell("echo $KEY"), {"template": "{{ text | reverse }}"}, sandbox)
    assert result.text == "[secret KEY]\n"[::-1]
