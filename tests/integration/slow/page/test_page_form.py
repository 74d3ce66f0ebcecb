"""The form of the page in Chromium: every schema of the test data, hostile texts in each place, and problems at fields.

A page with the headers of the server runs ``form_checks.js`` and leaves its results in the document.
"""

import ast
import base64
import http.server
import json
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from project.paths import ROOT

from toolc.client.registry import Registry
from toolc.serve.http.page import HEADERS
from toolc.serve.page.catalog_file import page_files

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.integrations, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]

HOSTILE = "</textarea></script><img src=x onerror=hacked=1><script>hacked=1</script>\"'>&lt;"
HOSTILE_SCHEMA = {
    "type": "object", "title": HOSTILE, "description": HOSTILE, "additionalProperties": {"description": HOSTILE},
    "properties": {
        HOSTILE: {"type": "string", "title": HOSTILE, "description": HOSTILE, "pattern": HOSTILE, "format": HOSTILE},
        "enum": {"enum": [HOSTILE, 1]}, "const": {"const": HOSTILE}, "default": {"type": "string", "default": HOSTILE},
        "example": {"type": "string", "examples": [HOSTILE]}, "type": {"type": HOSTILE}, "ref": {"$ref": HOSTILE},
        "union": {"anyOf": [{"title": HOSTILE, "type": "string"}, {"const": HOSTILE}], "description": HOSTILE},
        "list": {"type": "array", "items": {"description": HOSTILE, "type": "string"}, "minItems": HOSTILE},
        "__proto__": {"type": "string"}, "constructor": {"type": "object", "properties": {"a": {}}},
    },
    "required": [HOSTILE],
}  # fmt: skip
RECURSIVE = {
    "type": "object", "properties": {"child": {"$ref": "#"}, "loop": {"$ref": "#/properties/loop"}},
    "anyOf": [{"$ref": "#"}, {"required": ["child"]}], "allOf": [{"$ref": "#"}], "required": ["child"],
}  # fmt: skip
NESTED = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "a.b": {"type": "integer"},
        "filters": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        "more": {"type": "object", "properties": {"x": {"type": "number"}}},
    },
    "required": ["name", "a.b", "filters"],
}
ARGUMENTS: dict[str, Any] = {
    "it's": ['"', "\\", "$(id)", "`", "\n\t\x7f\u2028\ufeff", "é😀", None, True, False, -1.5, [], {}]
}


def specs() -> Iterator[Path]:
    yield ROOT / "specs"
    yield from sorted((ROOT / "tests/corpus").glob("*.yaml"))
    yield from sorted((ROOT / "tests/data/specs/positive").glob("*.yaml"))


def schemas() -> list[dict[str, Any]]:
    """Return the schemas of the test data, each with values."""
    suite = json.loads((ROOT / "tests/data/json-schema-test-suite.json").read_text(encoding="utf-8"))
    return [
        *({"name": f"{path.name}#{tool.name}", "schema": tool.parameters.value, "values": [*tool.examples]}
          for path in specs() for tool in Registry.load(path)),
        *({"name": each["description"], "schema": each["schema"], "values": [test["data"] for test in each["tests"]]}
          for each in suite),
        {"name": "hostile", "schema": HOSTILE_SCHEMA, "values": [{HOSTILE: HOSTILE, "list": [HOSTILE], "x": HOSTILE}]},
        {"name": "alternatives", "schema": ALTERNATIVES, "values": [{"a": "1"}, {"b": 1}]},
        {"name": "recursive", "schema": RECURSIVE, "values": [{"child": {"child": {"child": 1}}}]},
    ]  # fmt: skip


BY_KIND = {
    "properties": {"kind": {"enum": ["card", "bank"]}, "name": {"type": "string"}}, "required": ["kind"],
}  # fmt: skip
IS_CARD = {"properties": {"kind": {"const": "card"}}, "required": ["kind"]}
NUMBER = {"properties": {"number": {"type": "string"}}, "required": ["number"]}
CONDITIONS: list[dict[str, Any]] = [
    BY_KIND | {"if": IS_CARD, "then": NUMBER, "else": {"required": ["name"]}},
    BY_KIND | {"allOf": [{"if": IS_CARD, "then": NUMBER}, {"if": {"not": IS_CARD}, "then": {"required": ["name"]}}]},
    BY_KIND | {"if": {"$ref": "#/$defs/card"}, "then": {"if": IS_CARD, "then": NUMBER}, "$defs": {"card": IS_CARD},
               "dependentRequired": {"number": ["name"]}},
    BY_KIND | {"dependentSchemas": {"kind": NUMBER}},
]  # fmt: skip
ALIKE = {"properties": {"version": {"enum": ["2.1", 2.1]}}, "required": ["version"]}
TYPED = [
    {"schema": {"properties": {"page": {"type": "string", "format": "html"}}, "required": ["page"]}, "text": "a\nb"},
    {"schema": {"properties": {"q": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}}, "text": "a"},
]
TEXTS = {"anyOf": [{"type": "string"}, {"type": "string", "pattern": "x"}]}
ALTERNATIVES = {"properties": {"a": TEXTS, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
PROBLEMS = [
    {
        "schema": NESTED,
        "value": {"name": "x", "a.b": 1, "filters": [{"n": 1}, {"n": "y"}]},
        "message": "wrong arguments for t:\n- filters.1.n: expected an integer, got the string 'y'\n- a.b: too small\n"
        "- more: not now\n- other: no such parameter",
    }
]
REQUESTS = [
    {"tool": "counted", "args": ARGUMENTS, "source": "it's", "result": {
        "error": None, "content": [{"type": "text", "text": "\x80a"}],
    }},
    {"tool": "a", "args": {}, "source": None, "result": {"error": {"kind": "denied"}, "content": []}},
]  # fmt: skip


@contextmanager
def serving(files: dict[str, tuple[str, bytes]]) -> Iterator[str]:
    """Serve files with the headers of the page, and return the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            media_type, content = files.get(self.path, ("text/plain", b""))
            self.send_response(200 if self.path in files else 404)
            for name, value in (HEADERS | {"Content-Type": media_type}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@cache
def results() -> dict[str, Any]:
    """Return what ``form_checks.js`` found."""
    values = {"schemas": schemas(), "problems": PROBLEMS, "requests": REQUESTS, "conditions": CONDITIONS}
    cases = json.dumps({**values, "alike": ALIKE, "entries": TYPED}).replace("<", "\\u003c")
    document = (
        f'<!doctype html><body><main id="place"></main><script type="application/json" id="cases">{cases}</script>'
        '<script type="module" src="form_checks.js"></script>'
    )
    files = {f"/{name}": ("text/javascript", each) for name, each in page_files().items() if name.endswith(".js")}
    files["/form_checks.js"] = ("text/javascript", Path(__file__).with_name("form_checks.js").read_bytes())
    files["/"] = ("text/html; charset=utf-8", document.encode())
    assert CHROMIUM
    with serving(files) as address:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r'<pre id="results">([^<]*)</pre>', done.stdout)
    assert found, done.stdout[-2000:]
    value: dict[str, Any] = json.loads(base64.b64decode(found[1]))
    return value


def test_every_schema_becomes_a_form_with_named_controls_and_no_active_element() -> None:
    found = results()["schemas"]
    assert len(found) > 500
    assert [each for each in found if "error" in each] == []
    assert [each["name"] for each in found if each["unnamed"] or each["active"]] == []
    assert sum(each["fields"] for each in found) > 1000
    assert results()["isHacked"] is False


def test_a_form_returns_the_values_that_were_written_into_it() -> None:
    changed = {each["name"]: each["changed"] for each in results()["schemas"] if each["changed"]}
    # The last one lacks a required key with one possible value, which the form adds.
    assert changed.keys() <= {"allOf with base schema"}


def test_fields_appear_when_their_condition_holds_and_the_focus_stays() -> None:
    nothing, card, bank = "Choose…", "card", "bank"
    assert results()["conditions"] == [
        [[nothing, True, ["kind", "name"]], [card, True, ["kind", "name optional", "number"]],
         [bank, True, ["kind", "name"]]],
        [[nothing, True, ["kind", "name"]], [card, True, ["kind", "name optional", "number"]],
         [bank, True, ["kind", "name"]]],
        [[nothing, True, ["kind", "name optional"]], [card, True, ["kind", "name optional", "number"]],
         [bank, True, ["kind", "name optional"]]],
        [[nothing, True, ["kind", "name optional"]], [card, True, ["kind", "name optional", "number"]],
         [bank, True, ["kind", "name optional", "number"]]],
    ]  # fmt: skip


def test_values_that_look_alike_differ_in_the_list() -> None:
    assert [text for text, *_ in results()["alike"]] == ["Choose…", '"2.1"', "2.1"]


def test_no_two_alternatives_have_one_name() -> None:
    assert [each["name"] for each in results()["schemas"] if each["same"]] == []


def test_a_typed_text_is_the_argument_with_its_lines_even_if_the_default_is_null() -> None:
    assert results()["typed"] == [{"page": "a\nb"}, {"q": "a"}]


def test_each_problem_is_at_its_field_in_the_words_of_the_model() -> None:
    assert results()["problems"] == [
        [["a.b", "too small"], ["n", "expected an integer, got the string 'y'"], ["more optional", "not now"]]
    ]
    assert results()["unknown"] is None


def test_requests_to_copy_contain_the_arguments_whatever_they_are() -> None:
    first, builtin = results()["texts"]
    curl = shlex.split(first["curl"])
    assert json.loads(curl[curl.index("-d") + 1]) == ARGUMENTS
    assert shlex.split(first["run"])[:3] == ["toolc", "run", "it's#counted"]
    assert json.loads(shlex.split(first["run"])[-1]) == ARGUMENTS
    assert builtin["run"] == "toolc run --builtin all a \\\n  --args '{}'"
    assert 'with Executor(Registry.builtin(), workspace=".") as executor:' in builtin["python"]
    (call,) = [
        node for node in ast.walk(ast.parse(first["python"])) if isinstance(node, ast.Call) and len(node.args) == 2
    ]
    assert ast.literal_eval(call.args[1]) == ARGUMENTS


def test_a_call_is_copied_as_a_test_of_the_spec() -> None:
    first, second = (yaml.safe_load(each["test"])["tests"] for each in results()["texts"])
    assert first == [{"args": ARGUMENTS, "expect": {"text": "\x80a"}}]
    assert second == [{"args": {}, "expect": {"error": "denied"}}]
