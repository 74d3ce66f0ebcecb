"""A file of calls in JSON Lines: ``{"id", "tool", "arguments", "workspace"?, "session"?, "timeout"?, "caller"?}``.

The file is read twice. The first pass checks every line before any call starts, and computes the digest that tells a
later run that the file has not changed. Apart from eight bytes per line, memory use does not depend on the number of
lines.
"""

from __future__ import annotations

import hashlib
from array import array
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final

from toolc.dataclass import dataclass, field
from toolc.model.call import Claims
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue, parse_json
from toolc.model.names import close_match
from toolc.model.text import render_size, shorten
from toolc.runtime import argument_checks

MAX_LINE_BYTES: Final = 16 * 2**20
"""The maximum size of a line, as for ``toolc run --args``. Larger data belongs in a file of the workspace."""

MAX_OPEN_SESSIONS: Final = 100
"""The maximum number of sessions that are open at the same time, because each of them keeps a sandbox."""

_ID_GROUPS: Final = 256
"""The number of groups in which ids are sorted, because one sorted list needs several times their memory."""

_KEYS: Final[Mapping[str, tuple[type, ...]]] = {
    "id": (str,),
    "tool": (str,),
    "arguments": (dict,),
    "workspace": (str,),
    "session": (str,),
    "timeout": (int, float),
    "caller": (dict,),
}
_SPELLINGS: Final = {"args": "arguments", "input": "arguments", "name": "tool", "call_id": "id"}
"""The keys of calls in other formats."""

_REQUIRED: Final = ("id", "tool")
_TYPES: Final[Mapping[tuple[type, ...], str]] = {
    (str,): "a text",
    (dict,): "an object",
    (int, float): "a number of seconds above 0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLine:
    """One line: a call with unvalidated arguments. ``timeout`` is in seconds.

    ``line`` counts from 1. All calls without a session share the empty one.
    """

    line: int
    call_id: str
    tool: str
    arguments: JsonObject
    workspace: Path | None = None
    session: str = ""
    timeout: float | None = None
    caller: Claims = field(default_factory=dict)


class CallsFile:
    """A file of calls whose lines have been checked. Iterating yields its calls in order.

    ``check_tool`` receives the name of each tool once, and ``on_line`` the number of each line that was checked. Raises
    ``UsageError`` with the position of the first line that cannot be used.
    """

    def __init__(
        self, path: Path, check_tool: Callable[[str], object], on_line: Callable[[int], object] = lambda _: None
    ) -> None:
        self.path = path
        self.count = 0
        self.last_lines: dict[str, int] = {}
        """The last line of each session."""
        self._check(check_tool, on_line)

    def __iter__(self) -> Iterator[CallLine]:
        with self._opened() as file:
            for line, data in _lines(self.path, file):
                yield _call(self.path, line, data)

    def _check(self, check_tool: Callable[[str], object], on_line: Callable[[int], object]) -> None:
        digest, tools = hashlib.sha256(), set[str]()
        ids = [array("Q") for _ in range(_ID_GROUPS)]
        first_lines: dict[str, int] = {}
        with self._opened() as file:
            for line, data in _lines(self.path, file):
                digest.update(b"%d:%b" % (line, data))  # the journal identifies a call by the number of its line
                call = _call(self.path, line, data)
                if call.tool not in tools:
                    try:
                        check_tool(call.tool)
                    except UsageError as error:
                        raise UsageError(f"{self.path}:{line}: {error}") from None
                    tools.add(call.tool)
                if call.session:
                    first_lines.setdefault(call.session, line)
                    self.last_lines[call.session] = line
                short = _short_digest(call.call_id)
                ids[short % _ID_GROUPS].append(short)
                self.count += 1
                on_line(line)
        self.digest = digest.hexdigest()
        self._refuse_repeated(ids)
        _refuse_many_sessions(self.path, first_lines, self.last_lines)

    def _refuse_repeated(self, ids: Sequence[array[int]]) -> None:
        """Raise ``UsageError`` if an id appears twice, because results are looked up by id."""
        repeated = {each for group in ids for each, following in pairwise(sorted(group)) if each == following}
        seen: dict[str, int] = {}
        for call in self if repeated else ():
            if _short_digest(call.call_id) not in repeated:
                continue
            if call.call_id in seen:
                raise UsageError(
                    f"{self.path}:{call.line}: line {seen[call.call_id]} already has the id "
                    f"{shorten(call.call_id, 80)!r}; each call needs its own id"
                )
            seen[call.call_id] = call.line

    def _opened(self) -> BinaryIO:
        try:
            if self.path.exists() and not (self.path.is_file() or self.path.is_dir()):
                raise UsageError(
                    f"{self.path} is not a regular file; calls are read twice, so write them to a file first"
                )
            return self.path.open("rb")
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read: {error.strerror}") from None


def _lines(path: Path, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield each non-empty line with its number."""
    line = 0
    while data := file.readline(MAX_LINE_BYTES + 1):
        line += 1
        if len(data) > MAX_LINE_BYTES:
            raise UsageError(f"{path}:{line}: the line is larger than {render_size(MAX_LINE_BYTES)}")
        if line == 1:
            data = data.removeprefix(BOM_UTF8)  # Windows programs write one
        if data.strip():
            yield line, data


def _call(path: Path, line: int, data: bytes) -> CallLine:
    try:
        return _parsed(line, parse_json(data.rstrip()))
    except (ValueError, UsageError) as error:
        raise UsageError(f"{path}:{line}: {str(error).removeprefix('line 1 ')}") from None


def _parsed(line: int, value: JsonValue) -> CallLine:
    """Return the call of a line. Raises ``ValueError`` and ``UsageError``."""
    if not isinstance(value, dict):
        raise ValueError('a line must be an object such as {"id": "1", "tool": "count_words", "arguments": {}}')
    for key, given in value.items():
        types = _KEYS.get(key)
        if types is None:
            similar = _SPELLINGS.get(key) or close_match(key, [*_KEYS])
            suggestion = f"write {similar!r}" if similar else f"the keys are: {', '.join(_KEYS)}"
            raise ValueError(f"unknown key {shorten(key, 80)!r}; {suggestion}")
        if not isinstance(given, types) or isinstance(given, bool):
            raise ValueError(f"{key!r} must be {_TYPES[types]}")
    if missing := [key for key in _REQUIRED if not value.get(key)]:
        raise ValueError(f"{missing[0]!r} is missing")
    if not (str(value["id"]).isprintable() and len(str(value["id"])) <= argument_checks.MAX_CALL_ID):
        raise ValueError(f"'id' must have at most {argument_checks.MAX_CALL_ID} characters, all printable")
    arguments, workspace, timeout = value.get("arguments", {}), value.get("workspace"), value.get("timeout")
    assert isinstance(arguments, dict)
    return CallLine(
        line=line,
        call_id=str(value["id"]),
        tool=str(value["tool"]),
        arguments=arguments,
        workspace=None if workspace is None else argument_checks.path("'workspace'", workspace),
        session=str(value.get("session", "")),
        timeout=None if timeout is None else argument_checks.seconds("'timeout'", timeout),
        caller=argument_checks.claims(value.get("caller")),
    )


def _short_digest(call_id: str) -> int:
    """Return 64 bits of the digest of an id, so that a million of them need 8 MB."""
    return int.from_bytes(hashlib.blake2b(call_id.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def _refuse_many_sessions(path: Path, first_lines: Mapping[str, int], last_lines: Mapping[str, int]) -> None:
    """Raise ``UsageError`` if more than ``MAX_OPEN_SESSIONS`` sessions would be open at the same time."""
    changes = [*((line, 1) for line in first_lines.values()), *((line + 1, -1) for line in last_lines.values())]
    is_open = 0
    for line, change in sorted(changes):
        is_open += change
        if is_open > MAX_OPEN_SESSIONS:
            raise UsageError(
                f"{path}:{line}: more than {MAX_OPEN_SESSIONS} sessions would be open; put the lines of each session "
                "next to each other"
            )
