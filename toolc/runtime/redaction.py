"""Takes the values of secrets out of whatever leaves a call, in every form in which a program might write them."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import quote, quote_from_bytes, quote_plus

from toolc.errors import ToolcError
from toolc.schema import JsonObject, JsonValue

MIN_LINE: Final = 16
"""A line of a secret of several lines is one itself if it has so many characters."""


LINE_WIDTHS: Final = (64, 76)
"""How long programs make lines of Base64 (RFC 7468 and RFC 2045), in characters."""


class Redactor:
    """Knows secrets by name, and replaces each by ``[secret NAME]``: text that can stand in JSON as it is."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._marks: dict[bytes, bytes] = {}
        self._pattern: re.Pattern[bytes] | None = None
        for name, value in (secrets or {}).items():
            self.add(name, value)

    def __bool__(self) -> bool:
        return self._pattern is not None

    def add(self, name: str, value: str) -> None:
        """Learn one more secret."""
        for form in forms(value):
            self._marks.setdefault(form, f"[secret {name}]".encode())
        # The longest first, for one form can begin with another.
        ordered = sorted(self._marks, key=lambda form: (-len(form), form))
        self._pattern = re.compile(b"|".join(map(re.escape, ordered)))

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Takes secrets out of the words of toolc's own errors that are raised within."""
        try:
            yield
        except ToolcError as error:
            error.args = tuple(self.text(each) if isinstance(each, str) else each for each in error.args)
            raise

    def data(self, data: bytes) -> bytes:
        """``data`` without secrets."""
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda match: self._marks[match[0]], data)

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        if self._pattern is None:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def json(self, value: JsonValue) -> JsonValue:
        """``value`` without secrets in any text of it, keys too."""
        if self._pattern is None:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(item) for item in value]
            case dict():
                return self.object(value)
            case _:
                return value

    def object(self, value: JsonObject) -> JsonObject:
        """``json`` of an object."""
        return {self.text(key): self.json(item) for key, item in value.items()}

    def settled(self, data: bytes) -> tuple[bytes, bytes]:
        """``data`` without secrets as far as they are whole, and the rest, which may be the beginning of one."""
        if self._pattern is None:
            return data, b""
        limit, at = len(data) - self._pending(data), 0
        pieces: list[bytes] = []
        for match in self._pattern.finditer(data):
            # From there on a longer form may be coming, of which this is only the beginning.
            if match.start() >= limit:
                break
            pieces += (data[at : match.start()], self._marks[match[0]])
            at = match.end()
        pieces.append(data[at:limit])
        return b"".join(pieces), data[max(at, limit) :]

    def _pending(self, data: bytes) -> int:
        """How many bytes at the end of ``data`` may be the beginning of a secret."""
        longest = 0
        for form in self._marks:
            start = max(0, len(data) - len(form) + 1)
            while (start := data.find(form[:1], start)) >= 0:
                if len(data) - start <= longest:
                    break
                if form.startswith(data[start:]):
                    longest = len(data) - start
                    break
                start += 1
        return longest


class RedactedStream:
    """One stream without secrets, also where a secret comes in pieces."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be told after ``data`` has come; the rest waits until it is clear what it is."""
        if not self._redactor and not self._held:
            return data
        told, self._held = self._redactor.settled(self._held + data)
        return told

    def finish(self) -> bytes:
        """What was held back, now that nothing more will come."""
        held, self._held = self._held, b""
        return self._redactor.data(held)


def forms(value: str) -> Iterator[bytes]:
    """``value`` as it is, and as programs encode it: Base64, URL, JSON, HTML and hexadecimal."""
    yield from _forms_of_text(value)
    data = value.encode()
    yield from _base64(data)
    for width in LINE_WIDTHS:
        yield from _in_lines(base64.b64encode(data), width)
    for digits in (data.hex(), data.hex().upper()):
        yield digits.encode()
    for line in value.splitlines():
        # Keys are written in lines, which all begin and end alike.
        if line != value and len(line) >= MIN_LINE and not line.startswith("-----"):
            yield from _forms_of_text(line)


def _forms_of_text(value: str) -> Iterator[bytes]:
    data = value.encode()
    yield data
    # As it stands in the name of a host.
    yield value.lower().encode()
    all_encoded = "".join(f"%{byte:02X}" for byte in data)
    for encoded in (
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        quote_from_bytes(data, "~"),
        all_encoded,
    ):
        yield encoded.encode()
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), encoded).encode()
    for escaped in (json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        yield escaped.encode()
        yield escaped.replace("/", "\\/").encode()
        # JSON in JSON, as a log in a result is.
        yield json.dumps(escaped, ensure_ascii=False)[1:-1].encode()
    yield html.escape(value).encode()


def _in_lines(encoded: bytes, width: int) -> Iterator[bytes]:
    """Base64 in lines, as programs write it, where there is more than one; without the end, as ``_base64``."""
    if len(encoded) > width:
        kept = encoded[: len(encoded.rstrip(b"=")) - 1]
        lines = [kept[at : at + width] for at in range(0, len(kept), width)]
        yield b"\n".join(lines)
        yield b"\r\n".join(lines)


def _base64(data: bytes) -> Iterator[bytes]:
    """What is always the same in the Base64 of any text that holds ``data``, for each of three alignments."""
    for before in range(3):
        padded = b"\0" * before + data
        encoded = base64.b64encode(padded)
        # The first characters hold bits of what stands before, the last of what comes after.
        start = (before * 8 + 5) // 6
        end = len(padded) * 8 // 6
        kept = encoded[start:end]
        yield kept
        yield kept.translate(bytes.maketrans(b"+/", b"-_"))
