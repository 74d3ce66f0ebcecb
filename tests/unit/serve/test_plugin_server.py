"""Tools served over the plugin protocol: the exact lines, and the responses to invalid lines."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls.fake_tools import executor, text, tool
from calls.scripted_tools import captured

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Plan
from toolc.model.result import Outcome
from toolc.serve.plugin_server import PluginServer
from toolc.testing.fake_engine import FakeEngine

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE: JsonObject = {
    "content": [
        {"type": "image", "mime_type": "image/png", "data": base64.b64encode(PNG).decode()},
        {"type": "resource", "mime_type": "application/zip", "data": "UEs=", "name": "a.zip"},
    ],
    "structured": None,
    "details": {},
}
ERROR: JsonObject = {"error": {"kind": "not_found", "message": "no such word", "traceback": ""}}
ECHO = tool("echo", words={"type": "string"})
DRAW = tool("draw")


@contextmanager
def serving(*names: str) -> Iterator[PluginServer]:
    def echo(arguments: JsonObject) -> JsonObject:
        return ERROR if arguments["words"] == "fail" else text(str(arguments["words"]))

    with executor({"echo": echo, "draw": lambda _: IMAGE}, ECHO, DRAW) as made:
        yield PluginServer(made, [each for each in (ECHO, DRAW) if each.name in names])


def call(**more: object) -> bytes:
    return json.dumps({"type": "call", "call_id": "c1", **more}).encode() + b"\n"


def test_one_tool_is_described_and_called_by_the_protocol() -> None:
    with serving("echo") as server:
        assert server.respond(b'{"type":"describe"}\n') == (
            b'{"name":"echo","description":"The tool echo.","parameters":{"type":"object",'
            b'"properties":{"words":{"type":"string"}},"required":["words"],"additionalProperties":false}}\n'
        )
        assert server.respond(b'{"type":"call","call_id":"call_abc123","params":{"words":"hello"}}\n') == (
            b'{"content":[{"type":"text","text":"hello"}],"error":false}\n'
        )
        assert server.respond(call(params={"words": "fail"})) == (
            b'{"content":[{"type":"text","text":"no such word"}],"error":true}\n'
        )


def test_invalid_arguments_are_an_error_response() -> None:
    with serving("echo") as server:
        response = json.loads(server.respond(call(params={})))
    message = "wrong arguments for echo:\n- words: required but missing; expected a string"
    assert response == {"content": [{"type": "text", "text": message}], "error": True}


def test_images_are_sent_and_other_files_are_described() -> None:
    with serving("draw") as server:
        assert json.loads(server.respond(call())) == {
            "content": [
                {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PNG).decode()},
                {"type": "text", "text": "[application/zip, 2 bytes, which this protocol does not support]"},
            ],
            "error": False,
        }


def test_several_tools_are_listed_and_called_by_name() -> None:
    with serving("echo", "draw") as server:
        listed = json.loads(server.respond(b'{"type":"describe"}'))
        assert [each["name"] for each in listed["tools"]] == ["echo", "draw"]
        assert json.loads(server.respond(call(tool="echo", params={"words": "x"})))["content"][0]["text"] == "x"


RULE = "a message is one JSON object on one line, and logs belong on stderr"
UNREADABLE = "Error: the request cannot be read: "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense\n", f"this line is not JSON (line 1 column 1: Expecting value): 'nonsense'; {RULE}"),
        (b"\xff\n", f"this line is not JSON (byte 0 is not UTF-8): '\ufffd'; {RULE}"),
        (b'{"type":"ping"}', "its type is 'ping'; use 'describe' or 'call'"),
        (call(params=[]), "its 'params' are not an object"),
        (call(call_id=3), "its 'call_id' is not a string"),
        (call(), "its 'tool' is None, but this plugin has: echo, draw"),
        (call(tool="sleep"), "its 'tool' is 'sleep', but this plugin has: echo, draw"),
    ],
    ids=["words", "latin1", "type", "params", "call_id", "no tool", "another tool"],
)  # fmt: skip
def test_the_response_to_an_invalid_line_is_an_error(line: bytes, message: str) -> None:
    with serving("echo", "draw") as server:
        assert json.loads(server.respond(line)) == {
            "content": [{"type": "text", "text": UNREADABLE + message}],
            "error": True,
        }


def test_a_surrogate_is_refused_and_names_the_argument() -> None:
    with serving("echo") as server:
        response = json.loads(server.respond(call(params={"words": "a\ud800"})))
    message = "wrong arguments for echo:\n- words: contains an unpaired surrogate, which is not valid Unicode"
    assert response == {"content": [{"type": "text", "text": message}], "error": True}


def test_a_bug_is_an_error_response() -> None:
    with serving("echo") as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Executor, "run", lambda *_, **__: 1 // 0)
        response = json.loads(server.respond(call()))
    assert response["error"] is True
    assert "this is a bug in toolc: ZeroDivisionError" in response["content"][0]["text"]


def test_a_usage_error_is_an_error_response(tmp_path: Path) -> None:
    found = Registry.load(_spec(tmp_path, "c", {"shell": {"argv": ["true"]}}, {"workspace": "ro"}))
    with Executor(found, engine=FakeEngine(lambda _: Outcome(ending="exited"))) as made:
        response = json.loads(PluginServer(made, [*found]).respond(call()))
    assert response["error"] is True
    assert response["content"][0]["text"].startswith("Error: tool 'c' needs a workspace folder")


def test_the_plugin_backend_can_call_the_server(tmp_path: Path) -> None:
    with serving("echo") as server:

        def script(plan: Plan) -> Outcome:
            response = server.respond(plan.stdin)
            return Outcome(ending="answered", stdout=captured(response))

        spec = _spec(tmp_path, "echo", {"plugin": {"command": ["toolc"]}}, {"lifetime": "session"})
        with Executor(Registry.load(spec), engine=FakeEngine(script)) as made:
            results = [made.run("echo", {"words": word}) for word in ("one", "fail", "two")]
    assert [each.text for each in results] == ["one", "no such word", "two"]
    assert [each.is_error for each in results] == [False, True, False]
    assert [each.details["session"] for each in results] == [{"call": 1}, {"call": 2}, {"call": 3}]


def _spec(folder: Path, name: str, backend: JsonObject, sandbox: JsonObject) -> Path:
    path = folder / "spec.yaml"
    parameters: JsonObject = {"words": {"type": "string"}} if name == "echo" else {}
    spec: JsonObject = {"toolc": 1, "name": name, "description": f"The tool {name}.", "parameters": parameters}
    path.write_text(json.dumps(spec | {"backend": backend, "sandbox": sandbox}), encoding="utf-8")
    return path
