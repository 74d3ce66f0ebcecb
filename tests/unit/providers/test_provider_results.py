"""What a model receives as results, for each provider and each kind of content.

``tests/golden/model_results`` has all messages; the SDK of each provider accepts them.
"""

import base64
import json
import re
from typing import Any, Final

import pytest
from models.sdk_objects import check_messages
from project import paths

from toolc import Audio, Image, Resource, Text, ToolCall, ToolResult, tool_messages
from toolc.model.names import PROVIDER_NAMES
from toolc.providers import content
from toolc.providers.provider_limits import limits_of

GOLDEN: Final = paths.GOLDEN / "model_results"

PNG = Image(b"\x89PNG\r\n\x1a\n", "image/png")
GIF = Image(b"GIF89a", "image/gif")
BMP = Image(b"BM", "image/bmp")
MP3 = Audio(b"ID3", "audio/mpeg")
OGG = Audio(b"OggS", "audio/ogg")
PDF = Resource(b"%PDF-1.7", "application/pdf", "a.pdf")
CSV = Resource(b"a,b\n", "text/csv", "t.csv")
ZIP = Resource(b"PK", "application/zip", "z.zip")
FAILED = ToolResult.failure("no such moon", kind="not_found")
RESULTS: Final = {
    "every_block": ToolResult(content=(Text("seen"), PNG, GIF, BMP, MP3, OGG, PDF, CSV, ZIP, Text(""))),
    "object": ToolResult.success({"n": 1}),
    "object_with_other_words": ToolResult.success({"n": 1}, message="one moon"),
    "object_without_content": ToolResult(content=(), structured=({"n": 1},)),
    "list": ToolResult.success([1, 2]),
    "nothing": ToolResult(content=(Text(""),)),
    "failure": FAILED,
    "failure_with_image": ToolResult(content=(Text("broken"), PNG), error=FAILED.error),
    "failure_without_content": ToolResult(content=(), error=FAILED.error),
}
CALLS: Final = tuple(ToolCall(name="look", arguments={}, call_id=name) for name in RESULTS)


def encoded(value: bytes) -> dict[str, str]:
    return {"bytes": base64.b64encode(value).decode("ascii")}


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_the_messages_of_all_results_are_those_of_the_golden_file(provider: str, golden: bool) -> None:
    messages = tool_messages(provider, CALLS, [*RESULTS.values()])
    text = json.dumps(messages, indent=2, ensure_ascii=False, default=encoded) + "\n"
    path = GOLDEN / f"{provider}.json"
    if golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
def test_the_sdk_accepts_the_messages_and_keeps_all_of_them(provider: str) -> None:
    check_messages(provider, tool_messages(provider, CALLS, [*RESULTS.values()]))


@pytest.mark.parametrize("provider", sorted({*PROVIDER_NAMES} - {"mcp"}))
def test_no_call_has_no_message(provider: str) -> None:
    assert tool_messages(provider, (), []) == []


def one(provider: str, result: ToolResult) -> list[Any]:
    return tool_messages(provider, [ToolCall(name="look", arguments={}, call_id="c1")], [result])


@pytest.mark.parametrize(
    ("provider", "words"),
    [
        ("openai_chat", "ERROR (not_found): no such moon"), ("openai_responses", "ERROR (not_found): no such moon"),
        ("anthropic", '"is_error": true'), ("gemini", '{"error": "no such moon"}'), ("mcp", '"isError": true'),
        ("bedrock", '"status": "error"'), ("mistral", "ERROR (not_found): no such moon"),
        ("cohere", '{"error": "no such moon"}'), ("ollama", "ERROR (not_found): no such moon"),
    ],
)  # fmt: skip
def test_an_error_is_marked_as_error(provider: str, words: str) -> None:
    assert words in json.dumps(one(provider, FAILED))


@pytest.mark.parametrize("provider", sorted({*PROVIDER_NAMES} - {"mcp"}))
def test_results_of_parallel_calls_have_the_order_and_the_ids_of_the_calls(provider: str) -> None:
    names = ("b", "a", "c")
    calls = [ToolCall(name=each, arguments={}, call_id=f"id_{each}") for each in names]
    text = json.dumps(tool_messages(provider, calls, [ToolResult.success(f"of {each}") for each in names]))
    for marks in (["id_b", "id_a", "id_c"], ["of b", "of a", "of c"]):
        assert sorted(marks, key=text.index) == marks


@pytest.mark.parametrize("provider", ["openai_chat", "openai_responses"])
def test_a_text_is_not_longer_than_the_api_accepts(provider: str) -> None:
    limit = limits_of(provider)["result_text"].value
    text = "a" * limit + "end"
    (message,) = one(provider, ToolResult.success(text))
    sent = message["content" if provider == "openai_chat" else "output"]
    assert len(sent) == limit
    assert sent.endswith("aend")
    assert "or more characters cut: the provider accepts at most 10485760]" in sent
    (message, *_) = one(provider, ToolResult(content=(Text(text), PNG)))
    sent = message["content"] if provider == "openai_chat" else message["output"][0]["text"]
    assert len(sent) == limit


@pytest.mark.parametrize("limit", [100, 101, 998, 999])
def test_a_shortened_text_has_exactly_the_length_of_the_limit(limit: int) -> None:
    text = "".join(chr(0x100 + at) for at in range(1000))
    short = content.shorten(text, limit)
    assert len(short) == limit
    begin, _, end = short.partition("\n[")
    assert text.startswith(begin)
    assert text.endswith(end.rpartition("]\n")[2])
    assert content.shorten(text, 1000) == text


def test_names_of_documents_are_unique_and_have_only_characters_that_bedrock_allows() -> None:
    """The API rejects a conversation in which two documents have the same name."""
    report = Resource(b"%PDF", "application/pdf", f"../ä  report_1 _b.pdf{'f' * 300}")
    calls = [ToolCall(name="look", arguments={}, call_id=f"tooluse_{each}") for each in "ab"]
    (message,) = tool_messages("bedrock", calls, [ToolResult(content=(report, report)), ToolResult(content=(report,))])
    names = [block["document"]["name"] for result in message["content"] for block in result["toolResult"]["content"]]
    assert len(set(names)) == 3
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9()\[\]-]+( [A-Za-z0-9()\[\]-]+)*", name)
        assert len(name) <= 200
