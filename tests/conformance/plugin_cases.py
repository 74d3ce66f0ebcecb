"""Plugins, each called once: their responses, failures and protocol errors."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from conformance_case import Case, Expected, fails, limits

from toolc.model.json_schema import JsonObject, JsonValue

_PLUGIN: Final = """\
import base64, json, os, signal, sys, time
def send(value):
    print(json.dumps(value), flush=True)
def text(words, error=False):
    send({"content": [{"type": "text", "text": words}], "error": error})
def called(params, call_id):
BODY
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "describe":
        send(DESCRIPTION)
    else:
        called(request["params"], request["call_id"])
"""


def _case(
    name: str,
    body: str,
    expect: Expected,
    *,
    sandbox: Mapping[str, JsonValue] | None = None,
    args: Mapping[str, JsonValue] | None = None,
    other_description: bool = False,
) -> Case:
    case = Case(name, {}, expect, sandbox=sandbox or {}, args=args or {})
    description: JsonObject = {
        "name": case.tool,
        "description": "Do something else." if other_description else case.description,
        "parameters": {**case.parameters, "required": [*case.args]},
    }
    code = _PLUGIN.replace("BODY", "".join(f"    {line}\n" for line in body.splitlines()))
    command: JsonValue = ["python3", "-c", code.replace("DESCRIPTION", repr(description))]
    return replace(case, backend={"plugin": {"command": command}})


ANSWERED: Final[Expected] = {"outcome": "answered", "error": None}

CASES: Final = (
    _case(
        "a plugin receives the arguments and responds with text",
        "text('hello ' + params['name'] + ', this is ' + call_id)", {**ANSWERED, "text": "hello wörld, this is c1"},
        args={"name": "wörld"},
    ),
    _case(
        "an image of a plugin is an image",
        "data = base64.b64encode(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(10)).decode()\n"
        "send({'content': [{'type': 'image', 'mimeType': 'image/png', 'data': data}]})",
        {**ANSWERED, "text": "", "images": ["image/png 48f237fb4ca6"]},
    ),
    _case(
        "an error of a plugin is shown to the model", "text('Error: no such city', error=True)",
        fails("execution", "Error: no such city", outcome="answered"),
    ),
    _case(
        "a plugin that exits during a call is an error with its exit status and its stderr",
        "sys.stderr.write('boom\\n')\nsys.exit(3)",
        fails(
            "execution", "the plugin's process ended with exit status 3 before it answered",
            text="boom\n[the plugin's process ended with exit status 3 before it answered]",
        ),
    ),
    _case(
        "a plugin that is killed in a call is an error with the signal", "os.kill(os.getpid(), signal.SIGKILL)",
        fails("execution", "the plugin's process was killed by SIGKILL before it answered"),
    ),
    _case(
        "a plugin that logs to stdout breaks its protocol", "print('Loading model...', flush=True)\ntext('done')",
        fails("serialization", re.compile(r"the plugin broke its protocol: this line is not JSON .*'Loading model.*")),
    ),
    _case(
        "a plugin's line of 100 MB is read only up to the limit",
        "for _ in range(100): sys.stdout.write('x' * 1000000)\nprint(flush=True)",
        fails("output_limit", re.compile(r"the plugin's response is longer than [0-9]+ bytes, .*")),
    ),
    _case(
        "a plugin that hangs is stopped at its deadline with all its processes",
        "os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '1000')\ntime.sleep(1000)",
        fails("timeout", "the call did not finish within 1 s and was stopped; request less work per call"),
        sandbox=limits(timeout="1s"),
    ),
    _case(
        "a plugin that differs from the reviewed one is not called", "text('never')",
        fails("denied", re.compile(r"the plugin differs from the reviewed one and was not called: .*")),
        other_description=True,
    ),
)  # fmt: skip
