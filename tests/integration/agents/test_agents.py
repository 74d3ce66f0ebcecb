"""Sub-agents with tools in real sandboxes: requests to the model, planted secrets, and leftovers."""

import base64
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from calls.scripted_server import Request, json_reply
from calls.scripted_tools import error_kind
from models.agent_tools import KEY, SAY, agent_details, agent_tool, ask_helper, registry_of
from models.scripted_model import SPEECHES, OpenAISpeech, ScriptedModel, Speech, messages, objects

from toolc.client.executor import Executor
from toolc.client.serialization import event_to_json, result_to_json
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.model.events import Event, ToolUpdate
from toolc.model.json_schema import JsonObject
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.secrets.encodings import secret_encodings
from toolc.sandbox.selection import load

pytestmark = pytest.mark.skipif(not load("oci").probe().available, reason="needs the engine that needs no daemon")

both_formats = pytest.mark.parametrize("speech", SPEECHES, ids=lambda speech: str(speech.provider))

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DRAW: JsonObject = {
    "name": "draw",
    "description": "Draw one red point. Use it where a picture of a point is wanted.",
    "backend": {"python": {"code": f"import base64\ndef draw():\n    return base64.b64decode('{PIXEL}')\n"}},
}


@both_formats
def test_tools_run_in_sandboxes_and_their_output_is_sent_back(speech: Speech, tmp_path: Path) -> None:
    calls = speech.calls(("say", {"words": "one"}), ("say", {"words": "two"}), ("draw", {}))
    with ScriptedModel(speech=speech, script=[calls, speech.text("done")]) as model:
        result = ask_helper(model, tmp_path, agent={"tools": ["say", "draw"]}, tools=(SAY, DRAW), engine="oci")
    assert result.text == "done"
    assert [call["error"] for call in objects(agent_details(result)["calls"])] == [None, None, None]
    request = json.dumps(model.requests[1])
    assert '"one"' in request
    assert '"two"' in request
    assert PIXEL in request


def test_images_have_the_format_of_the_provider(tmp_path: Path) -> None:
    last: dict[str, list[JsonObject]] = {}
    for speech in SPEECHES:
        with ScriptedModel(speech=speech, script=[speech.calls(("draw", {})), speech.text("a dot")]) as model:
            ask_helper(model, tmp_path, agent={"tools": ["draw"]}, tools=(DRAW,), engine="oci")
        message = messages(model.requests[1])[-1]
        last[speech.provider] = objects(message.get("content", message.get("output")))

    assert last["openai"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert last["openai_responses"] == [
        {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}
    ]
    assert objects(last["anthropic"][0]["content"]) == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    ]


def test_cancelling_the_agent_ends_the_tool_that_runs(tmp_path: Path) -> None:
    speech = OpenAISpeech()
    slow: JsonObject = {
        "name": "slow",
        "description": "Wait for a very long time. Use it to wait, and for nothing else.",
        "backend": {"shell": {"script": "echo begun; exec sleep 1000"}},
        "sandbox": {"limits": {"timeout": "20m"}},
    }
    with Cancellation() as cancellation:

        def cancel_once_begun(event: Event) -> None:
            if isinstance(event, ToolUpdate) and event.text == "begun\n":
                threading.Timer(0.1, cancellation.cancel).start()

        calls = speech.calls(*[("slow", {})] * 3)
        with ScriptedModel(script=[calls]) as model:
            result = ask_helper(
                model,
                tmp_path,
                agent={"tools": ["slow"]},
                tools=(slow,),
                engine="oci",
                on_event=cancel_once_begun,
                cancellation=cancellation,
            )
    assert error_kind(result) == "cancelled"
    assert [call["error"] for call in objects(agent_details(result)["calls"])] == ["cancelled"] * 3
    assert len(model.requests) == 1


def test_a_planted_key_is_in_nothing_that_leaves_the_call(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Events, results, logs of the SDKs, errors and the conversation are searched."""
    caplog.set_level(logging.DEBUG)
    found: list[str] = []
    for speech in SPEECHES:
        for status in (200, 401):

            def echo(
                request: Request, connection: socket.socket, speech: Speech = speech, status: int = status
            ) -> None:
                spilt = f"{request.headers} {base64.b64encode(KEY.encode()).decode()} {KEY.encode().hex()}"
                body: JsonObject = speech.text(spilt) if status == 200 else {"error": {"message": spilt}}
                connection.sendall(json_reply(body, status=status))

            events: list[Event] = []
            with ScriptedModel(speech=speech, script=[echo]) as model:
                result = ask_helper(model, tmp_path, on_event=events.append)
            assert KEY in str(model.received[0].headers)
            found += [json.dumps(event_to_json(each)) for each in events]
            found.append(json.dumps(result_to_json(result)))
    everything = "\n".join([*found, caplog.text]).encode()
    assert b"[secret KEY]" in everything
    assert not [form for form in secret_encodings(KEY) if form in everything]


@both_formats
def test_the_command_line_shows_the_answer_and_never_the_key(speech: Speech, tmp_path: Path) -> None:
    with ScriptedModel(speech=speech, script=[speech.calls(("say", {"words": "hi"})), speech.text("hi!")]) as model:
        registry_of(tmp_path, agent_tool(model), SAY)
        environment = os.environ | {"TOOLC_SECRET_KEY": KEY, "OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug"}
        done = subprocess.run(
            [sys.executable, "-m", "toolc", "run", "tools.yaml#helper", "--arg", "question=why?", "--engine", "oci"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (0, "hi!\n"), done.stderr
    assert KEY not in done.stderr


def test_an_interrupt_ends_a_request_that_is_under_way(tmp_path: Path) -> None:
    requested = threading.Event()

    def stall(_: Request, connection: socket.socket) -> None:
        requested.set()
        with suppress(OSError):
            connection.recv(1)

    with ScriptedModel(script=[stall]) as model:
        registry_of(tmp_path, agent_tool(model), SAY)
        running = subprocess.Popen(
            [sys.executable, "-m", "toolc", "run", "tools.yaml#helper", "--arg", "question=why?"],
            cwd=tmp_path,
            env=os.environ | {"TOOLC_SECRET_KEY": KEY},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert requested.wait(60)
        running.send_signal(signal.SIGINT)
        _, stderr = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "Traceback" not in stderr


def test_data_is_selected_and_rendered(tmp_path: Path) -> None:
    """The schema applies to the selected value; the model only returns data."""
    result_spec: JsonObject = {
        "select": "items[0]",
        "template": "first: {{ result.name }}",
        "schema": {"type": "object", "required": ["name"]},
    }
    answers = [OpenAISpeech().text("not data"), OpenAISpeech().text('{"items": [{"name": "a"}, {"name": "b"}]}')]
    with ScriptedModel(script=[*answers]) as model:
        result = ask_helper(model, tmp_path, result=result_spec, engine="oci")
    assert (result.text, result.structured) == ("first: a", ({"name": "a"},))
    assert "JSON Schema" not in OpenAISpeech().system(model.requests[0])
    assert agent_details(result)["turns"] == 2


@both_formats
def test_a_model_can_read_a_truncated_stored_result(speech: Speech, tmp_path: Path) -> None:
    """It uses the built-in tool ``read_result``, which reads only results of the session."""

    def read_on(request: Request, connection: socket.socket) -> None:
        ((_, result_text),) = speech.results(json.loads(request.body))
        given = result_text.partition("call read_result with ")[2].partition("]")[0]
        connection.sendall(json_reply(speech.calls(("read_result", json.loads(given)))))

    long: JsonObject = {"words": "a" * 1000 + "b" * 1000}
    small = SAY | {"sandbox": {"limits": {"output": "1KiB"}}}
    with ScriptedModel(speech=speech, script=[speech.calls(("say", long)), read_on, speech.text("all b")]) as model:
        registry = registry_of(tmp_path, agent_tool(model), small)
        secrets = SecretStore({"KEY": LiteralSource(KEY)}, {})
        with Executor(registry, engine="oci", secrets=secrets, keep_results=True) as executor:
            result = executor.run("helper", {"question": "why?"})

    assert result.text == "all b"
    assert speech.tools(model.requests[0]) == ["say", "read_result"]
    assert "a" * 488 + "b" * 1000 in speech.results(model.requests[2])[0][1]
