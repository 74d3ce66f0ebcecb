"""The encodings in which programs commonly write a value. Redaction searches for all of them."""

import base64
import json
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Final
from urllib.parse import quote, quote_plus

from toolc.model.text import lazy_re

MIN_FORM: Final = 8
"""The minimum length of a form in characters. A shorter form could not be distinguished from ordinary words."""

MIN_LINE: Final = 16
"""The minimum length of a line of a multi-line value that is searched for separately, in characters.

A shorter line, such as the last one of a key, could occur in ordinary text.
"""

_NOT_ENCODED: Final = ("", "/", "!'()*", ";,/?:@&=+$#!'()*")
"""The characters besides letters and digits that stay unescaped in URLs: in most programs, paths, and JavaScript."""

_JSON_OF_GO: Final = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&"})
_JSON_OF_GSON: Final = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&='"})
_JSON_OF_DOTNET: Final = str.maketrans({each: f"\\u{ord(each):04X}" for each in "<>&'+`"})

_HTML_QUOTES: Final = (('"', "&quot;", "&#34;"), ("'", "&#x27;", "&#39;", "&#039;", "&apos;"))

_ESCAPED_BY_SHELLS: Final = lazy_re(r"[^\w@%+=:,./-]")
_ESCAPED_IN_QUOTES: Final = lazy_re(r'["$`\\]')

_UPPER: Final = lazy_re(r"%[0-9A-F]{2}")
_LOWER_UNIT: Final = lazy_re(r"\\u[0-9a-f]{4}")

_HEAD: Final = 8
"""The number of leading bytes by which a form is indexed. It is the minimum length of a form."""

_MANY: Final = 500
"""With at least this many forms, one pass over the data is faster than one search per form.

The same is true if the data has fewer bytes than there are forms.
"""


@lru_cache(maxsize=32)
def secret_encodings(value: str) -> tuple[bytes, ...]:
    """Return ``value`` and its common encodings. Cached, because each call of a tool needs them."""
    return tuple(dict.fromkeys(_forms(value)))


@lru_cache(maxsize=32)
def base64_encodings(value: str) -> tuple[bytes, ...]:
    """Return the constant part of the Base64 of any text that contains ``value``, plain or escaped."""
    return tuple(dict.fromkeys(_base64_forms(value)))


class EncodingMatcher:
    """A set of non-empty forms."""

    def __init__(self) -> None:
        self._all: dict[bytes, None] = {}
        self._by_head: dict[bytes, list[bytes]] = {}
        self._short: list[bytes] = []
        self._beginnings: set[bytes] = set()
        self._longest = 0

    def add(self, form: bytes) -> None:
        """Add a form. Adding it again has no effect."""
        if form in self._all:
            return
        self._all[form] = None
        if len(form) < _HEAD:
            self._short.append(form)
        else:
            self._by_head.setdefault(form[:_HEAD], []).append(form)
        self._beginnings.update(form[:size] for size in range(1, min(_HEAD, len(form))))
        self._longest = max(self._longest, len(form))

    def matches(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the position of each occurrence of a form, and the form, in no order."""
        are_many = len(self._all) >= min(_MANY, len(data))
        # One search per form is ten times as fast as one regular expression for all forms.
        for form in self._short if are_many else self._all:
            at = data.find(form)
            while at >= 0:
                yield at, form
                at = data.find(form, at + len(form))
        if not are_many:
            return
        for at in range(len(data) - _HEAD + 1):
            for form in self._by_head.get(data[at : at + _HEAD], ()):
                if data.startswith(form, at):
                    yield at, form

    def partial_match(self, data: bytes) -> int:
        """Return how many bytes at the end of ``data`` are the incomplete beginning of a form, or 0."""
        size = len(data)
        for at in range(max(0, size - self._longest + 1), size - _HEAD + 1):
            for form in self._by_head.get(data[at : at + _HEAD], ()):
                if len(form) > size - at and form.startswith(data[at:]):
                    return size - at
        return next((count for count in range(min(_HEAD - 1, size), 0, -1) if data[-count:] in self._beginnings), 0)


def _forms(value: str) -> Iterator[bytes]:
    for text in _spellings(value):
        yield from _texts(text)
        yield from _base64_forms(text)
        yield text.encode().hex().encode()
        yield text.encode().hex().upper().encode()
        yield text.encode("utf-16-le")
        yield text.encode("utf-16-be")
    for line in value.splitlines():
        # Keys are written in lines, which all begin and end alike.
        if line != value and len(line) >= MIN_LINE and not line.startswith("-----"):
            yield from _texts(line)


def _base64_forms(value: str) -> Iterator[bytes]:
    in_json = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    for text in dict.fromkeys((value, *in_json, quote(value, safe=""))):
        for constant in _base64(text.encode()):
            yield constant
            yield constant.translate(bytes.maketrans(b"+/", b"-_"))
            yield quote(constant, safe="").encode()


def _spellings(value: str) -> Iterator[str]:
    """Yield ``value``, and its variants in programs that ignore spaces and line ends."""
    yield value
    for other in (value.strip(), " ".join(value.split()), "\r\n".join(value.split("\n"))):
        if other != value and len(other) >= MIN_FORM:
            yield other


def _texts(value: str) -> Iterator[bytes]:
    for cased in (value, value.lower(), value.upper()):
        # Lower case as in host names, upper case as in variable names.
        yield cased.encode()
    for escaped in (*_in_urls(value), *_in_json(value), *_in_html(value), *_in_code(value)):
        yield escaped.encode()


def _in_urls(value: str) -> Iterator[str]:
    once = [quote(value, safe=each) for each in _NOT_ENCODED]
    once += [quote_plus(value), quote_plus(value, safe="*")]
    once += [each.replace("~", "%7E") for each in once]
    twice = [quote(once[0], safe=""), quote(quote_plus(value), safe="")]
    for encoded in dict.fromkeys([*once, *twice, "".join(f"%{byte:02X}" for byte in value.encode())]):
        yield encoded
        yield _UPPER.sub(lambda match: match[0].lower(), encoded)


def _in_json(value: str) -> Iterator[str]:
    ascii_only, plain = json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]
    for escaped in dict.fromkeys((ascii_only, plain)):
        yield escaped
        yield escaped.replace("/", "\\/")
        # JSON inside JSON, such as a log in a result.
        yield json.dumps(escaped, ensure_ascii=False)[1:-1]
    yield plain.translate(_JSON_OF_GO)
    yield plain.translate(_JSON_OF_GSON)
    capital = _LOWER_UNIT.sub(lambda match: "\\u" + match[0][2:].upper(), ascii_only)
    yield capital.replace('\\"', "\\u0022").translate(_JSON_OF_DOTNET)
    units = value.encode("utf-16-be").hex()
    each_escaped = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    yield each_escaped
    yield "\\u" + each_escaped[2:].upper().replace("\\U", "\\u")


def _in_html(value: str) -> Iterator[str]:
    escaped = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")  # importing html is slow
    for double, single in product(*_HTML_QUOTES):
        yield escaped.replace('"', double).replace("'", single)


def _in_code(value: str) -> Iterator[str]:
    """Yield the value as Python's exceptions and a shell's trace show it."""
    yield repr(value)[1:-1]
    yield repr(value.encode())[2:-1]
    yield value.replace("'", "'\\''")
    yield value.replace("'", "'\"'\"'")
    yield _ESCAPED_BY_SHELLS.sub(r"\\\g<0>", value)
    yield _ESCAPED_IN_QUOTES.sub(r"\\\g<0>", value)


def _base64(data: bytes) -> Iterator[bytes]:
    """Yield the constant part of the Base64 of ``data`` for each of three alignments."""
    for before in range(3):
        padded = b"\0" * before + data
        encoded = base64.b64encode(padded)
        # The first characters contain bits of the data before it, and the last characters bits of the data after it.
        start = (before * 8 + 5) // 6
        end = len(padded) * 8 // 6
        yield encoded[start:end]
