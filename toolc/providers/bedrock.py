"""Amazon Bedrock Converse: ``{"toolSpec": {...}}`` per tool, ``toolResult`` per result.

The shapes are those of ``bedrock-runtime`` in botocore. Images and documents are ``bytes``, which boto3 encodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from toolc.model.call import ToolCall
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.result import Content, Image, Resource
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re
from toolc.providers.anthropic import STRICT as ANTHROPIC_STRICT
from toolc.providers.calls import members, named_call, object_arguments
from toolc.providers.content import IMAGE_FORMATS, blocks, describe_block, is_image, is_pdf, shown_data
from toolc.providers.json_schema.lowering import CHOICES, LossLog, description, lower_plain
from toolc.providers.provider import CallMessage, Lowering, Provider, lower_each, lower_strict
from toolc.providers.provider_limits import StrictTools

STRICT: Final = replace(ANTHROPIC_STRICT, name="Bedrock's strict mode")
"""The subset of strict mode, which is the same as Claude's."""

_CUT_OFF: Final = (None, "max_tokens", "model_context_window_exceeded", "malformed_tool_use")
"""The stop reasons of a response that is cut off. The reason is null if a stream ended early."""

MAX_FILE_NAME: Final = 100
"""The maximum number of characters of the file name in the name of a document.

The name of a document has at most 200 characters. The others are for the id of the call.
"""

_NOT_IN_DOCUMENT_NAMES: Final = lazy_re(r"[^A-Za-z0-9()\[\]-]+")


def _lower(tools: Sequence[ToolSpec]) -> Lowering:
    """Return the ``tools`` of the ``toolConfig`` argument of ``client.converse``."""
    strict_tools = StrictTools("bedrock")

    def declare(tool: ToolSpec, losses: LossLog) -> JsonObject:
        losses.add_unsupported(tool, "label", "annotations", "examples", "result_schema")
        strict = lower_strict(tool, "bedrock", STRICT, losses, strict_tools.add)
        # The Claude models, the most used on Bedrock, reject choices at the root.
        schema = strict or lower_plain(tool, CHOICES, losses)
        spec: JsonObject = {"name": tool.name, "description": description(tool), "inputSchema": {"json": schema}}
        return {"toolSpec": spec | ({"strict": True} if strict else {})}

    return lower_each(tools, declare)


def _calls(response: JsonObject) -> tuple[ToolCall, ...]:
    """Return the ``toolUse`` blocks of a ``converse`` response, or of its message."""
    content = members(response, "content") or members(response, "output", "message", "content")
    cut_off = content[-1] if content and response.get("stopReason", "tool_use") in _CUT_OFF else None
    uses = ((block is cut_off, block.get("toolUse")) for block in content)
    return tuple(
        named_call(use, object_arguments(use.get("input"), cut_off=is_cut_off), use.get("toolUseId"))
        for is_cut_off, use in uses
        if isinstance(use, dict) and use.get("type") != "server_tool_use"
    )


def _messages(results: Sequence[CallMessage]) -> list[JsonValue]:
    """Return one message of role ``user`` with all results. The API requires it directly after the calls.

    Amazon documents images in results for Claude and Nova. Many other models refuse them, but some of these models also
    refuse other content in the same message and two messages of the same role. Images therefore stay in their results.
    """
    content: list[JsonValue] = [{"toolResult": _tool_result(each)} for each in results]
    return [{"role": "user", "content": content}] if content else []


def _tool_result(message: CallMessage) -> JsonObject:
    """Return a result. If the data is an object, it is sent as JSON, unless the content has a different text."""
    result, call_id = message.result, message.call.call_id
    shown = blocks(result)
    content: list[JsonValue] = [_block(block, f"{call_id} {number}") for number, block in enumerate(shown, 1)]
    if isinstance(data := shown_data(result, "\n".join(map(describe_block, shown))), dict):
        content = [{"json": data}]
    status = "error" if result.is_error else "success"
    return {"toolUseId": call_id, "content": content or [{"text": "(no output)"}], "status": status}


def _block(block: Content, suffix: str) -> JsonObject:
    """Return a block of a result. A document's name ends with ``suffix``, so that it is unique in a conversation."""
    if is_image(block):
        return {"image": {"format": IMAGE_FORMATS[block.mime_type], "source": _source(block)}}
    if is_pdf(block):
        name = _NOT_IN_DOCUMENT_NAMES.sub(" ", f"{block.name[:MAX_FILE_NAME]} {suffix}").strip()
        return {"document": {"format": "pdf", "name": name, "source": _source(block)}}
    return {"text": describe_block(block)}


def _source(block: Image | Resource) -> JsonObject:
    source: dict[str, Any] = {"bytes": block.data}  # not JSON: boto3 encodes it in base64
    return source


BEDROCK: Final = Provider(name="bedrock", lower=_lower, calls=_calls, messages=_messages, limits_strict=True)
