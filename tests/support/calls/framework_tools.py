"""Tools for the tests of adapters, and calls that a scripted model makes with them."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calls.scripted_tools import captured
from toolc import Executor, Registry, SandboxDiedError
from toolc.model.json_schema import JsonObject
from toolc.model.plan import Exec, Plan, PythonCall
from toolc.model.result import Outcome
from toolc.sandbox.interface import Engine
from toolc.testing.fake_engine import FakeEngine

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

NODE: JsonObject = {
    "type": "object",
    "properties": {"value": {"type": "integer", "minimum": 1}, "next": {"$ref": "#/$defs/node"}},
    "required": ["value"],
    "additionalProperties": False,
}

SIZE: JsonObject = {"anyOf": [{"type": "integer", "maximum": 9}, {"enum": ["small", "large"]}]}

NESTED: JsonObject = {
    "type": "object",
    "properties": {
        "list": {"$ref": "#/$defs/node", "description": "The first node"},
        "size": SIZE,
        "config": {"type": "string", "pattern": "^[a-z]+$"},
        "run_manager": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["list", "size"],
    "additionalProperties": False,
    "$defs": {"node": NODE},
}
"""Parameters with a recursive reference, a union, constraints, and names that LangChain reserves for functions."""

TOOLS: list[JsonObject] = [
    {
        "name": "count_words",
        "description": "Count the words of one text file in the workspace. Do not use it for binary files.",
        "parameters": {"path": {"type": "string", "maxLength": 200, "description": "File, e.g. 'notes.md'"}},
        "backend": {"shell": {"argv": ["wc", "-w", "--", "{{ path }}"]}},
        "sandbox": {"workspace": "ro"},
    },
    {
        "name": "delete_all",
        "description": "Delete everything, after the user has agreed. Use it only if the user asks for it.",
        "parameters": {"reason": {"type": "string", "description": "Why"}},
        "backend": {"shell": {"argv": ["printf", "--", "deleted: %s", "{{ reason }}"]}},
        "confirm": True,
    },
    {
        "name": "draw",
        "description": "Draw a picture of one pixel. Use it if the user wants to see a picture.",
        "parameters": {},
        "backend": {"python": {"code": f"def draw():\n    return {PNG!r}\n", "function": "draw"}},
    },
    {
        "name": "nested",
        "description": "Repeat the arguments. Use it to see how nested arguments arrive in a tool.",
        "parameters": NESTED,
        "backend": {"python": {"code": "def nested(**arguments):\n    return arguments\n", "function": "nested"}},
    },
]

COUNT: JsonObject = {
    "name": "count",
    "description": "Count all files of the workspace. Use it if the user asks how many there are.",
    "backend": {"python": {"code": "def count():\n    return {'files': 0}\n", "function": "count"}},
    "result": {"schema": {"type": "object", "properties": {"files": {"type": "integer"}}, "required": ["files"]}},
}
COUNT_DESCRIPTION = f"{COUNT['description']} Returns JSON: {{files: integer}}"
"""A tool with a result schema, and the description with this schema in short."""

WAIT: JsonObject = {
    "name": "wait",
    "description": "Wait for some seconds. Use it only if the user asks for it.",
    "parameters": {"seconds": {"type": "string", "description": "How many seconds"}},
    "backend": {"shell": {"argv": ["sleep", "--", "{{ seconds }}"]}},
    "sandbox": {"limits": {"timeout": "10m"}},
}

STRICT: JsonObject = {
    "name": "book",
    "description": "Book a room for guests. Use it only after you know which room is free.",
    "parameters": {
        "room": {"type": "string", "description": "Which room"},
        "guests": {"type": "integer", "optional": True, "description": "How many guests"},
    },
    "backend": {"python": {"code": "def book(**arguments):\n    return arguments\n", "function": "book"}},
    "providers": {"openai_responses": {"strict": True}},
}


def executor_of(
    folder: Path, *, tools: Sequence[JsonObject] = TOOLS, engine: Engine | str | None = None, **options: Any
) -> Executor:
    """Return an executor of ``tools`` with a workspace that has ``notes.md``, a file of two words."""
    (folder / "tools.yaml").write_text(json.dumps({"toolc": 1, "tools": [*tools]}))
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "notes.md").write_text("two words\n")
    return Executor(Registry.load(folder / "tools.yaml"), workspace=workspace, engine=engine, **options)


def echoing() -> FakeEngine:
    """Return an engine whose tools return their arguments, or the words of their command line."""

    def run(plan: Plan) -> Outcome:
        if isinstance(plan.invocation, PythonCall):
            reply = {"content": [], "structured": [plan.invocation.arguments], "details": {}}
            return Outcome(ending="exited", reply=captured(json.dumps(reply).encode()))
        assert isinstance(plan.invocation, Exec)
        return Outcome(ending="exited", stdout=captured(" ".join(plan.invocation.argv).encode()))

    return FakeEngine(run)


def failing() -> FakeEngine:
    """Return an engine whose sandboxes exit before the end of a call."""

    def run(_: Plan) -> Outcome:
        raise SandboxDiedError("the sandbox exited")

    return FakeEngine(run)
