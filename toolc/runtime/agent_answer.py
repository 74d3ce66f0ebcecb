"""What a sub-agent is asked, and what is made of its final answer."""

from __future__ import annotations

import re
from typing import Final

from toolc.backends.content import parse_json
from toolc.model.call import BoundCall
from toolc.model.result import Text, ToolResult, failure
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import as_text
from toolc.runtime.oversized import sized
from toolc.runtime.result_schema import as_promised

NO_TASK: Final = "Begin."
"""What a model is asked by a call without arguments: the APIs want something."""

_FENCED: Final = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n```\s*", re.DOTALL)


def task(call: BoundCall) -> str:
    """The call's arguments, for the model: the text of the one that is all there is, or all as a JSON object."""
    arguments = call.arguments
    if not arguments:
        return NO_TASK
    if len(call.tool.parameters.properties) == 1 and len(arguments) == 1:
        return as_text(next(iter(arguments.values())))
    return as_text(arguments)


def is_json(tool: ToolSpec) -> bool:
    """Whether the final answer is to be data."""
    return tool.result_schema is not None or tool.result.select is not None or tool.result.format == "json"


def schema_words(tool: ToolSpec) -> str:
    """What a model is told about the data that its answer must be."""
    words = "Your final answer is one JSON value and nothing else: no words around it, no code fence."
    if tool.result_schema is None or tool.result.select is not None:
        return words
    return f"{words} It must satisfy this JSON Schema:\n{as_text(tool.result_schema.value)}"


def final(text: str, tool: ToolSpec) -> ToolResult:
    """The result of a final answer. One that is not the promised data is an error of kind ``serialization``."""
    if not is_json(tool):
        return ToolResult(content=() if tool.result.format == "none" else (Text(text),))
    data = _unfenced(text).encode("utf-8", "replace")
    try:
        value = parse_json(data)
    except ValueError as error:
        return failure("serialization", f"the model's answer is not JSON ({error})")
    answer = ToolResult(content=(Text(as_text(value)),), structured=(value,))
    answer = sized(answer, tool.sandbox.limits.output_bytes)
    # The schema is about what is selected, which is not the model's business.
    return answer if tool.result.select is not None else as_promised(answer, tool)


def _unfenced(text: str) -> str:
    """``text`` without the code fence around it that models like to write in spite of all."""
    match = _FENCED.fullmatch(text)
    return match[1] if match else text
