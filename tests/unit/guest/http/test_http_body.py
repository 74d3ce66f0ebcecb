"""Response bodies as data and text, in various charsets and media types."""

import pytest
from http_responses import response

from toolc.guest.context import ToolError
from toolc.guest.http.body import is_json, is_text, needed_json, text_of

WORD = "caf\u00e9"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (WORD.encode(), "text/plain"),
        (b"\xef\xbb\xbf" + WORD.encode(), "text/plain; charset=latin-1"),
        (WORD.encode("utf-16"), "text/plain"),
        (b"\xfe\xff" + WORD.encode("utf-16-be"), "text/plain; charset=utf-8"),
        (WORD.encode("latin-1"), "text/plain; charset=ISO-8859-1"),
        (WORD.encode("latin-1"), 'text/plain; Charset="windows-1252"'),
        (WORD.encode("utf-16-le"), "text/plain; charset=utf-16le"),
    ],
)
def test_text_is_decoded_by_its_mark_or_its_type(body: bytes, kind: str) -> None:
    assert text_of(response(body, content_type=kind)) == WORD


@pytest.mark.parametrize("charset", ["idna", "punycode", "undefined", "hex", "rot13", "nonsense", "\u00e9", "."])
def test_an_unknown_charset_is_read_as_utf_8(charset: str) -> None:
    assert text_of(response(b"a\xff" * 40, content_type=f"text/plain; charset={charset}")) == "a\ufffd" * 40


def test_punycode_is_not_used_as_a_charset() -> None:
    assert text_of(response(b"caf-dma", content_type="text/plain; charset=punycode")) == "caf-dma"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (f'{{"a": "{WORD}"}}'.encode(), "application/json; charset=latin-1"),
        (b'\xef\xbb\xbf{"a": "caf\\u00e9"}', "application/json"),
        (f'{{"a": "{WORD}"}}'.encode("utf-16"), "application/json"),
        (f'{{"a": "{WORD}"}}'.encode("utf-16-be"), ""),
        (f'{{"a": "{WORD}"}}'.encode("latin-1"), "application/json; charset=iso-8859-1"),
    ],
)
def test_json_is_utf_8_except_from_old_servers(body: bytes, kind: str) -> None:
    assert needed_json(response(body, content_type=kind)) == {"a": WORD}


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        (b" \n", "application/json", "it is empty"),
        (b"<p>", "text/html", "line 1 column 1: Expecting value. It begins with: <p>"),
        (b"\x89PNG\xff", "image/png", "byte 0 is not UTF-8"),
        (b'"\xff"', "application/json", 'byte 1 is not UTF-8. It begins with: "\ufffd"'),
    ],
)
def test_a_body_that_is_not_json_is_described(body: bytes, kind: str, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        needed_json(response(body, content_type=kind))
    assert (caught.value.kind, str(caught.value)) == ("serialization", f"the response is not JSON: {message}")


@pytest.mark.parametrize(
    ("kind", "one", "text"),
    [
        ("application/json; charset=utf-8", True, True), ("text/json", True, True),
        ("application/vnd.api+json", True, True), ("application/problem+json", True, True),
        ("application/x-ndjson", False, True), ("application/jsonl", False, True), ("application/pdf", False, False),
        ("nonsense", False, True), ("", False, True),
    ],
)  # fmt: skip
def test_json_and_text_types_are_detected(kind: str, one: bool, text: bool) -> None:
    found = response(b"words", content_type=kind)
    assert (is_json(found), is_text(found)) == (one, text)
