"""Where in data one of many forms stands, and whether data ends with the beginning of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_HEAD: Final = 8
"""By how many of its first bytes a form is known, in bytes."""

_MANY: Final = 500
"""From so many forms on, looking at each place once is faster than looking for each form once.

So it is in data that has fewer bytes than there are forms.
"""


class Forms:
    """A set of forms, which are not empty."""

    def __init__(self) -> None:
        self._all: dict[bytes, None] = {}
        self._by_head: dict[bytes, list[bytes]] = {}
        self._short: list[bytes] = []
        self._beginnings: set[bytes] = set()
        self._longest = 0

    def add(self, form: bytes) -> None:
        """Look for one more; twice is the same as once."""
        if form in self._all:
            return
        self._all[form] = None
        if len(form) < _HEAD:
            self._short.append(form)
        else:
            self._by_head.setdefault(form[:_HEAD], []).append(form)
        self._beginnings.update(form[:size] for size in range(1, min(_HEAD, len(form))))
        self._longest = max(self._longest, len(form))

    def places(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Where forms stand, in no order."""
        are_many = len(self._all) >= min(_MANY, len(data))
        # One form after the other: ten times as fast as one expression of them all.
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

    def begun(self, data: bytes) -> int:
        """How many bytes at the end of ``data`` are the beginning of a form, but not all of it; 0 for none."""
        size = len(data)
        for at in range(max(0, size - self._longest + 1), size - _HEAD + 1):
            for form in self._by_head.get(data[at : at + _HEAD], ()):
                if len(form) > size - at and form.startswith(data[at:]):
                    return size - at
        return next((count for count in range(min(_HEAD - 1, size), 0, -1) if data[-count:] in self._beginnings), 0)
