"""Join the chunks of a streamed Gemini response, including calls whose arguments arrive in parts.

If ``streamFunctionCallArguments`` is on, Vertex AI sends arguments in parts. Each part has a JSON Path (RFC 9535) of
names and indexes, such as ``$.guests[0].name``, and a value or a piece of a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.text import lazy_re
from toolc.providers.calls import INVALID_JSON, members

_STEP: Final = lazy_re(r"""\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "nullValue")


def join_gemini(chunks: Iterable[JsonObject]) -> JsonObject:
    """Join chunks into one ``GenerateContentResponse``. Only the first candidate is read.

    A part with a signature is not joined with other texts, because the signature belongs to that part.
    """
    parts: list[JsonObject] = []
    candidate: JsonObject = {}
    partial: JsonObject | None = None
    for chunk in chunks:
        for given in members(chunk, "candidates")[:1]:
            candidate |= {key: value for key, value in given.items() if key != "content" and value is not None}
            for part in members(given, "content", "parts"):
                call = part.get("functionCall")
                if isinstance(call, dict) and partial is not None:
                    partial = _add_arguments(partial, call)
                elif isinstance(call, dict) and (call.get("willContinue") or "partialArgs" in call):
                    begun: JsonObject = {key: value for key, value in call.items() if key in {"id", "name"}}
                    parts.append({**part, "functionCall": begun})
                    partial = _add_arguments(begun, call)
                elif parts and _are_texts(parts[-1], part):
                    parts[-1]["text"] = f"{parts[-1]['text']}{part['text']}"
                elif part.get("text") != "" or "thoughtSignature" in part:  # the API rejects empty texts
                    parts.append({**part})
    if partial is not None:
        partial["args"] = {INVALID_JSON: "the arguments are not complete"}
    return {"candidates": [{**candidate, "content": {"role": "model", "parts": [*parts]}}]}


def _are_texts(first: JsonObject, second: JsonObject) -> bool:
    """Return whether both parts are texts of the same kind, without a signature."""
    are_texts = all(
        isinstance(each.get("text"), str) and each.keys() <= {"text", "thought"} for each in (first, second)
    )
    return are_texts and first.get("thought") == second.get("thought")


def _add_arguments(call: JsonObject, part: JsonObject) -> JsonObject | None:
    """Add the arguments of a part to a call, and return the call if it continues."""
    arguments: JsonValue = call.setdefault("args", {})
    if isinstance(whole := part.get("args"), dict) and isinstance(arguments, dict):
        arguments |= whole
    for each in members(part, "partialArgs"):
        key = next((key for key in _VALUES if key in each), None)
        if key:
            value = None if key == "nullValue" else each[key]
            call["args"] = arguments = _with_value(arguments, _steps(str(each.get("jsonPath"))), value)
    return call if part.get("willContinue") else None


def _steps(path: str) -> list[str | int]:
    """Return the names and indexes of a JSON Path."""
    found = (match.groups() for match in _STEP.finditer(path))
    return [int(index) if index else _unescaped(name or single or double) for name, index, single, double in found]


def _unescaped(name: str | None) -> str:
    return re.sub(r"\\(.)", r"\1", name or "")


def _with_value(old: JsonValue, steps: list[str | int], value: JsonValue) -> JsonValue:
    """Return ``old`` with the value at ``steps``. A piece of a text is appended to the existing text."""
    if not steps:
        return old + value if isinstance(old, str) and isinstance(value, str) else value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        items = [*old] if isinstance(old, list) else []
        if step < len(items):
            return [*items[:step], _with_value(items[step], rest, value), *items[step + 1 :]]
        return [*items, _with_value(None, rest, value)]
    fields = {**old} if isinstance(old, dict) else {}
    return fields | {step: _with_value(fields.get(step), rest, value)}
