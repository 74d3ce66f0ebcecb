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

_BREAKS: Final = b"\r\n\t "
"""What stands between lines of Base64 (of 64 characters in RFC 7468, of 76 in RFC 2045), which may be indented."""


class Redactor:
    """Knows secrets by name, and replaces each by ``[secret NAME]``: text that can stand in JSON as it is.

    ``cut_mark`` stands in a text where the guest has cut it (``toolc.guest.cut``); empty where it marks nothing.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._marks: dict[bytes, bytes] = {}
        self._in_lines: dict[bytes, bytes] = {}
        self.cut_mark = ""
        for name, value in (secrets or {}).items():
            self.add(name, value)

    def __bool__(self) -> bool:
        return bool(self._marks or self.cut_mark)

    def add(self, name: str, value: str) -> None:
        """Learn one more secret."""
        mark = f"[secret {name}]".encode()
        for form in forms(value):
            self._marks.setdefault(form, mark)
        for form in _base64(value.encode()):
            self._in_lines.setdefault(form, mark)

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
        return data if not self._marks else self._taken_out(data, len(data))[0]

    def text(self, text: str) -> str:
        """``text`` without secrets."""
        if self.cut_mark and self.cut_mark in text:
            return "".join(self._at_cuts(text.split(self.cut_mark)))
        if not self._marks:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _at_cuts(self, pieces: list[str]) -> Iterator[str]:
        """The pieces of a text that was cut between them, without what may be a part of a secret there."""
        for index, piece in enumerate(pieces):
            data = piece.encode("utf-8", "surrogatepass")
            if index:
                data = data[max((_ended(data, form) for form in self._marks), default=0) :]
            if index < len(pieces) - 1:
                data = self.settled(data)[0]
            yield self.data(data).decode("utf-8", "ignore")

    def json(self, value: JsonValue) -> JsonValue:
        """``value`` without secrets in any text of it, keys too."""
        if not self:
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
        if not self._marks:
            return data, b""
        return self._taken_out(data, len(data) - self._pending(data))

    def _taken_out(self, data: bytes, limit: int) -> tuple[bytes, bytes]:
        """``data`` without the secrets that begin before ``limit``, and what stands behind these and it."""
        pieces: list[bytes] = []
        at = 0
        for start, end, mark in self._found(data):
            # From there on a longer form may be coming, of which this is only the beginning.
            if start >= limit:
                break
            if start >= at:
                pieces += (data[at:start], mark)
            at = max(at, end)
        pieces.append(data[at:limit])
        return b"".join(pieces), data[max(at, limit) :]

    def _found(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """Where secrets stand, in order, and their marks; the longest first of those that begin together."""
        # One form after the other: ten times as fast as one expression of them all.
        found = [(at, at + len(form), mark) for form, mark in self._marks.items() for at in _places(data, form)]
        if b"\n" in data:
            found += _across_lines(data, self._in_lines)
        return sorted(found, key=lambda each: (each[0], -each[1]))

    def _pending(self, data: bytes) -> int:
        """How many bytes at the end of ``data`` may be the beginning of a secret."""
        longest = max((_begun(data, form) for form in self._marks), default=0)
        joined = data.translate(None, _BREAKS)
        begun = max((_begun(joined, form) for form in self._in_lines), default=0)
        return max(longest, len(data) - _start_of_last(data, begun))


def _places(data: bytes, form: bytes) -> Iterator[int]:
    at = data.find(form)
    while at >= 0:
        yield at
        at = data.find(form, at + len(form))


def _across_lines(data: bytes, wanted: Mapping[bytes, bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Where Base64 stands in lines."""
    joined = data.translate(None, _BREAKS)
    places: list[int] = []
    for form, mark in wanted.items():
        for at in _places(joined, form):
            places = places or [place for place, byte in enumerate(data) if byte not in _BREAKS]
            yield places[at], places[at + len(form) - 1] + 1, mark


def _begun(data: bytes, form: bytes) -> int:
    """How many bytes at the end of ``data`` ``form`` begins with, but not all of it."""
    start = max(0, len(data) - len(form) + 1)
    while (start := data.find(form[:1], start)) >= 0:
        # A glance first: the rest of a long form is long too.
        if form.startswith(data[start : start + 32]) and form.startswith(data[start:]):
            return len(data) - start
        start += 1
    return 0


def _ended(data: bytes, form: bytes) -> int:
    """How many bytes at the beginning of ``data`` ``form`` ends with, but not all of it."""
    sizes = range(min(len(form) - 1, len(data)), 0, -1)
    return next((size for size in sizes if data.startswith(form[-size:])), 0)


def _start_of_last(data: bytes, count: int) -> int:
    """Where the last ``count`` bytes begin that are no breaks of lines."""
    at = len(data)
    while count:
        at -= 1
        count -= data[at] not in _BREAKS
    return at


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
