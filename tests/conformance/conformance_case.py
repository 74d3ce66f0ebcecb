"""A conformance case: one behaviour, as a tool, a call of it, and the expected envelope."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, TypeAlias

from toolc.model.json_schema import JsonObject, JsonValue

Expected: TypeAlias = "Mapping[str, JsonValue | re.Pattern[str]]"
"""Keys of an envelope (see ``conformance_batch.envelope``) and their values. A pattern must match the whole text."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of an engine: the reason, for ``docs/reference/engine-behavior.md``, and the expected envelope."""

    why: str
    expect: Expected


@dataclass(frozen=True, slots=True)
class Case:
    """One behaviour. ``name`` describes it; ``differs`` has the configurations that behave differently.

    ``files`` are in the workspace before the call, which belongs to ``owner`` if the caller is root. The call is
    cancelled after ``cancel_after`` seconds, or when its output contains ``cancel_at``. ``hurry`` is the timeout in
    seconds; if there is no output because the machine is slow, the call is repeated with a longer one. ``varies``
    are the keys of the envelope that differ between calls on the same engine. ``forks`` is False if the tool needs what
    the calls of a fork server do not have.
    """

    name: str
    backend: JsonObject
    expect: Expected
    _: KW_ONLY
    sandbox: Mapping[str, JsonValue] = field(default_factory=dict)
    result: Mapping[str, JsonValue] = field(default_factory=dict)
    args: Mapping[str, JsonValue] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    owner: int = 1234
    cancel_after: float | None = None
    cancel_at: str = ""
    hurry: float | None = None
    varies: Sequence[str] = ()
    forks: bool = True
    differs: Mapping[str, Difference] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The name of the tool: the behaviour, in valid characters."""
        return re.sub(r"\W+", "_", self.name)[:63].strip("_")

    @property
    def description(self) -> str:
        """The description of the tool."""
        return f"Show that {self.name}. Use it in the conformance suite and nowhere else."

    @property
    def parameters(self) -> JsonObject:
        """The schema of the parameters, without ``required``."""
        types = {name: _TYPES[type(value)] for name, value in self.args.items()}
        properties: JsonObject = {name: {"type": kind, "description": f"The {name}."} for name, kind in types.items()}
        return {"type": "object", "properties": properties}

    def spec(self, sandbox: JsonObject) -> str:
        """Return the spec of the tool, with ``sandbox`` added to its own, if the tool can have it."""
        if sandbox.get("lifetime") == "fork" and not self._may_fork:
            sandbox = {}
        return json.dumps(
            {
                "toolc": 1,
                "name": self.tool,
                "description": self.description,
                "parameters": self.parameters["properties"],
                "backend": self.backend,
                "result": {**self.result},
                "sandbox": {**self.sandbox, **sandbox},
            },
            ensure_ascii=False,
        )

    @property
    def _may_fork(self) -> bool:
        """Whether calls of the tool can be processes of a fork server."""
        has_kind = "shell" in self.backend or "python" in self.backend
        others = ("network", "image", "build", "lifetime", "min_isolation")
        has_others = "transaction" in str(self.sandbox) or any(key in self.sandbox for key in others)
        return self.forks and has_kind and not has_others

    def expected(self, configuration: str) -> Expected:
        """Return the expected envelope in this configuration."""
        difference = self.differs.get(configuration)
        return difference.expect if difference else self.expect


_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}


def python(code: str) -> JsonObject:
    """Return a backend that calls the function ``run`` of ``code``."""
    return {"python": {"code": code, "function": "run"}}


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


def plugin(case: Case, body: str, description: str) -> JsonObject:
    """Return a backend with a plugin that offers the tool of ``case`` and runs ``body`` when it is called."""
    parameters: JsonObject = {**case.parameters, "required": [*case.args]}
    offered: JsonObject = {"name": case.tool, "description": description, "parameters": parameters}
    code = _PLUGIN.replace("BODY", textwrap.indent(body, "    ")).replace("DESCRIPTION", repr(offered))
    return {"plugin": {"command": ["python3", "-c", code]}}


def mismatches(found: JsonObject, expected: Expected) -> list[str]:
    """Return a line for each difference of ``found`` from ``expected``."""
    wrong = []
    for key, value_expected in expected.items():
        value = found.get(key)
        if isinstance(value_expected, re.Pattern):
            if not (isinstance(value, str) and value_expected.fullmatch(value)):
                wrong.append(f"{key}: expected a match of {value_expected.pattern!r}, found {shortened(value)}")
        elif isinstance(value_expected, dict) and isinstance(value, dict):
            # One line per key, because there may be hundreds.
            keys = [each for each in {**value_expected, **value} if value.get(each) != value_expected.get(each)]
            wrong += [
                f"{key}[{each!r}]: expected {shortened(value_expected.get(each))}, found {shortened(value.get(each))}"
                for each in keys
            ]
        elif value != value_expected:
            wrong.append(f"{key}: expected {shortened(value_expected)}, found {shortened(value)}")
    return wrong


def shortened(value: JsonValue) -> str:
    """Return a value for a message: its beginning and its end, which has the error of a traceback."""
    text = repr(value)
    return text if len(text) < 2000 else f"{text[:1000]} ... {text[-1000:]}"
