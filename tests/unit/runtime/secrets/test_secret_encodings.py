import base64
import html
import json
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus

import pytest

from toolc.runtime.secrets.encodings import MIN_FORM, base64_encodings, secret_encodings

VALUES: Final = {
    "a word": "correct-horse-battery", "eight characters": "h8k2x9q1", "everything": "pa's/s+w0rd \"é&\\<1>=%`~ü\n2😀",
    "spaces around": "  lead  and tail \t", "lines": "first\nsecond\nthird",
    "Base64 itself": "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "a URL": "postgres://me:p%40ss!(w)*rd@db.example/x?y=1",
}  # fmt: skip


def _units(value: str, digits: str) -> str:
    """Return JSON with every UTF-16 unit escaped."""
    data = value.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(data[at : at + 2]):{digits}}" for at in range(0, len(data), 2))


def _json_of(value: str, escaped: str, digits: str, *, ascii_only: bool) -> str:
    """Return JSON with these characters escaped by their numbers."""
    return "".join(
        _units(each, digits)
        if each in escaped or (ascii_only and not each.isascii())
        else json.dumps(each, ensure_ascii=False)[1:-1]
        for each in value
    )


WRITERS: Final[dict[str, Callable[[str], str]]] = {
    "cat": str, "echo $VALUE": lambda value: " ".join(value.split()), "strip": str.strip,
    "unix2dos": lambda value: value.replace("\n", "\r\n"), "a host name": str.lower, "tr a-z A-Z": str.upper,
    "JSON of Python": lambda value: json.dumps(value)[1:-1],
    "JSON of JavaScript": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON of PHP": lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
    "JSON of Go": lambda value: _json_of(value, "<>&", "04x", ascii_only=False),
    "JSON of Gson": lambda value: _json_of(value, "<>&='", "04x", ascii_only=False),
    "JSON of .NET": lambda value: _json_of(value, "<>&'+`\"", "04X", ascii_only=True),
    "JSON, every character escaped": lambda value: _units(value, "04x"),
    "JSON, every character escaped, upper case": lambda value: _units(value, "04X"),
    "JSON in JSON": lambda value: json.dumps(json.dumps(value))[3:-3], "HTML of Python": html.escape,
    "HTML of Jinja2": lambda value: html.escape(value).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
    "HTML of PHP": lambda value: html.escape(value).replace("&#x27;", "&#039;"),
    "HTML without quotation marks": lambda value: html.escape(value, quote=False),
    "XML": lambda value: html.escape(value).replace("&#x27;", "&apos;"),
    "a Python exception": lambda value: repr(value)[1:-1], "Python bytes": lambda value: repr(value.encode())[2:-1],
    "set -x": lambda value: value.replace("'", "'\\''"), "shlex.quote": lambda value: value.replace("'", "'\"'\"'"),
    "printf %q": lambda value: "".join(c if c.isalnum() or c in "_@%+=:,./-" else f"\\{c}" for c in value),
    "declare -p": lambda value: "".join(f"\\{each}" if each in '"$`\\' else each for each in value),
    "curl --data-urlencode": lambda value: quote(value, safe=""), "the path of a URL": quote, "a form": quote_plus,
    "encodeURIComponent": lambda value: quote(value, safe="!'()*"),
    "encodeURI": lambda value: quote(value, safe=";,/?:@&=+$#!'()*"),
    "URLEncoder of Java": lambda value: quote_plus(value, safe="*").replace("~", "%7E"),
    "every byte encoded": lambda value: "".join(f"%{byte:02X}" for byte in value.encode()),
    "every byte encoded, lower case": lambda value: "".join(f"%{byte:02x}" for byte in value.encode()),
    "encoded twice": lambda value: quote(quote(value, safe=""), safe=""),
    "a form, encoded again": lambda value: quote(quote_plus(value), safe=""),
    "xxd -p": lambda value: value.encode().hex(), "xxd -p -u": lambda value: value.encode().hex().upper(),
}  # fmt: skip
"""How programs write a value, by program."""


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("writer", WRITERS)
def test_the_output_of_programs_is_a_known_encoding(writer: str, value: str) -> None:
    written = WRITERS[writer](value).encode()
    assert any(form in written for form in secret_encodings(value))
    # Only spaces and line ends around it may remain.
    assert max((form for form in secret_encodings(value) if form in written), key=len).strip() == written.strip()


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_a_known_encoding(encoding: str, value: str) -> None:
    assert value.encode(encoding) in secret_encodings(value)


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("before", range(3))
@pytest.mark.parametrize(
    "inner",
    [
        str,
        lambda value: json.dumps(value)[1:-1],
        lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
        lambda value: quote(value, safe=""),
    ],
    ids=["as it is", "in JSON", "in JSON, not ASCII", "in a URL"],
)
@pytest.mark.parametrize(
    "encode",
    [base64.b64encode, base64.urlsafe_b64encode, lambda data: quote(base64.b64encode(data), safe="").encode()],
    ids=["Base64", "base64url", "in a URL"],
)
def test_base64_of_text_contains_a_known_encoding(
    encode: Callable[[bytes], bytes], inner: Callable[[str], str], before: int, value: str
) -> None:
    written = encode(b"x" * before + inner(value).encode() + b"yz")
    longest = max((len(form) for form in base64_encodings(value) if form in written), default=0)
    assert longest >= len(inner(value).encode()) * 8 // 6 - 1


@pytest.mark.parametrize("value", [*VALUES.values(), "a\n\n\n\nb c d", "-" * 8])
def test_encodings_have_a_minimum_length(value: str) -> None:
    assert min(map(len, secret_encodings(value))) >= MIN_FORM
