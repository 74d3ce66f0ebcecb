"""What a conformance case is: one behaviour, as a tool, a call of it, and the envelope that must come of it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Final, TypeAlias

from toolc.model.json_schema import JsonObject, JsonValue

Expected: TypeAlias = "Mapping[str, JsonValue | re.Pattern[str]]"
"""Keys of an envelope (see ``conformance_batch.envelope``) and their values; a pattern must match all of a text."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What an engine does otherwise: the reason, for ``docs/reference/engine-behaviour.md``, and the envelope."""

    why: str
    expect: Expected


@dataclass(frozen=True, slots=True)
class Case:
    """One behaviour. ``name`` says it as a sentence; ``differs`` has the configurations where it is another.

    ``files`` are the workspace's before the call. ``cancel_after`` is when the caller gives up, in seconds;
    ``cancel_at`` is the output at which they do. ``hurry`` is all the time that the call is given, in seconds;
    where a machine that stalls leaves no time to say anything, it is given more.
    ``owner`` is whose workspace it is, where the caller is root; else it is the caller's.
    ``varies`` are the keys of the envelope that differ from call to call, on one engine too.
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
    varies: tuple[str, ...] = ()
    differs: Mapping[str, Difference] = field(default_factory=dict)

    @property
    def tool(self) -> str:
        """The tool's name: the behaviour in the letters that a name may have."""
        return re.sub(r"\W+", "_", self.name)[:63].strip("_")

    def spec(self, sandbox: JsonObject) -> str:
        """The tool's spec as a file, with ``sandbox`` added to its own."""
        return json.dumps(
            {
                "toolc": 1,
                "name": self.tool,
                "description": f"Show that {self.name}. Use it in the conformance suite and nowhere else.",
                "parameters": {
                    name: {"type": _TYPES[type(value)], "description": "As the case has it."}
                    for name, value in self.args.items()
                },
                "backend": self.backend,
                "result": {**self.result},
                "sandbox": {**self.sandbox, **sandbox},
            },
            ensure_ascii=False,
        )

    def expected(self, configuration: str) -> Expected:
        """What the envelope must hold there."""
        difference = self.differs.get(configuration)
        return difference.expect if difference else self.expect


_TYPES: Final[Mapping[type, str]] = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object"}


def shell(script: str, **more: JsonValue) -> JsonObject:
    """A backend that runs ``script``."""
    return {"shell": {"script": script, **more}}


def command(*argv: str, **more: JsonValue) -> JsonObject:
    """A backend that runs a program."""
    return {"shell": {"argv": [*argv], **more}}


def python(code: str) -> JsonObject:
    """A backend that calls the function ``run`` of ``code``."""
    return {"python": {"code": code, "function": "run"}}


def limits(**values: JsonValue) -> JsonObject:
    """A ``sandbox`` with these limits."""
    return {"limits": values}


OK: Final[Expected] = {"outcome": "exited", "error": None}


def says(text: str) -> Expected:
    """A success with this text."""
    return {**OK, "text": text}


def fails(kind: str, message: str | re.Pattern[str], **more: JsonValue | re.Pattern[str]) -> Expected:
    """A failure of this kind with this message."""
    return {"error": kind, "message": message, **more}


def mismatches(found: JsonObject, expected: Expected) -> list[str]:
    """What in ``found`` is not as ``expected``, a line each."""
    wrong = []
    for key, wanted in expected.items():
        value = found.get(key)
        if isinstance(wanted, re.Pattern):
            if not (isinstance(value, str) and wanted.fullmatch(value)):
                wrong.append(f"{key}: expected a match of {wanted.pattern!r}, found {_shown(value)}")
        elif isinstance(wanted, dict) and isinstance(value, dict):
            # One line for each key that is not as it should be: these may be hundreds.
            keys = [each for each in {**wanted, **value} if value.get(each) != wanted.get(each)]
            wrong += [
                f"{key}[{each!r}]: expected {_shown(wanted.get(each))}, found {_shown(value.get(each))}"
                for each in keys
            ]
        elif value != wanted:
            wrong.append(f"{key}: expected {_shown(wanted)}, found {_shown(value)}")
    return wrong


def _shown(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) < 2000 else f"{text[:1000]} ... {text[-1000:]}"
