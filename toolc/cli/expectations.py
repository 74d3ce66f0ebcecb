"""Whether a call came out as a spec's test expects, and the difference where it did not."""

from __future__ import annotations

import base64
import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from toolc.digest import canonical
from toolc.errors import UsageError
from toolc.result import ToolResult
from toolc.schema import JsonObject, JsonValue
from toolc.spec import Destination, Expect, File

MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""The largest file that a test compares."""


def place(files: tuple[File, ...], workspace: Path) -> None:
    """Write a test's files into its workspace. Raises ``UsageError`` for a path that leads out of it."""
    for file in files:
        path = workspace / _inside(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_data(file))


def compare(expect: Expect, result: ToolResult, workspace: Path) -> Iterator[str]:
    """What is not as expected, one text (of several lines, perhaps) each; nothing where all is."""
    kind = result.error.kind if result.error else None
    if kind != expect.error:
        yield f"expected {_ending(expect.error)}, got {_ending(kind)}" + (f":\n{result.text}" if kind else "")
    if expect.text is not None and result.text != expect.text:
        yield "the text differs:\n" + _diff(expect.text, result.text)
    if expect.matches is not None and not re.search(expect.matches, result.text):
        yield f"the text does not match {expect.matches!r}:\n{result.text}"
    if expect.json is not None:
        yield from _compare_json(expect.json[0], result)
    for file in expect.files:
        yield from _compare_file(file, workspace)
    if expect.network is not None:
        yield from _compare_network(expect.network, result)


def _compare_network(listed: tuple[Destination, ...], result: ToolResult) -> Iterator[str]:
    """What the call reached, and the test does not list."""
    attempts = result.details.get("network")
    for each in attempts if isinstance(attempts, list) else ():
        if isinstance(each, dict) and each["allowed"] and not any(_is(entry, each) for entry in listed):
            yield f"reached {each['host']}:{each['port']}, which expect.network does not list"


def _is(entry: Destination, attempt: JsonObject) -> bool:
    host = str(attempt["host"])
    if entry.port != attempt["port"]:
        return False
    if entry.kind == "wildcard":
        return host.endswith(f".{entry.host}")
    return entry.kind == "public" or host == entry.host


def _ending(kind: str | None) -> str:
    return f"the error {kind}" if kind else "no error"


def _compare_json(wanted: JsonValue, result: ToolResult) -> Iterator[str]:
    if result.structured is not None:
        got = result.structured[0]
    else:
        try:
            got = json.loads(result.text)
        except ValueError:
            yield "expected JSON, got " + (f"the text:\n{result.text}" if result.text else "nothing")
            return
    if _same(wanted, got):
        return
    yield "the JSON differs:\n" + _diff(_pretty(wanted) + "\n", _pretty(got) + "\n")


def _same(wanted: JsonValue, got: JsonValue) -> bool:
    """Equal as JSON: 1 and 1.0 are one number, 1 and true are not the same."""
    try:
        return canonical(wanted) == canonical(got)
    except ValueError:
        return _pretty(wanted) == _pretty(got)


def _compare_file(file: File, workspace: Path) -> Iterator[str]:
    path = workspace
    for part in _inside(file).parts:
        path /= part
        # A link could lead out of the workspace, and what it leads to into our output.
        if path.is_symlink():
            yield f"{file.path}: expected a file, and {path.relative_to(workspace)} is a symbolic link"
            return
    if not path.is_file():
        yield f"{file.path}: expected a file, and there is none"
    elif path.stat().st_size > MAX_FILE_BYTES:
        yield f"{file.path}: has {path.stat().st_size} bytes, more than a test compares"
    elif (got := path.read_bytes()) != (wanted := _data(file)):
        yield f"{file.path} differs:\n" + _diff(wanted.decode("utf-8", "replace"), got.decode("utf-8", "replace"))


def _inside(file: File) -> Path:
    path = Path(file.path)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UsageError(f"a test's file {file.path!r} is outside its workspace; use a path inside it")
    return path


def _data(file: File) -> bytes:
    return base64.b64decode(file.base64) if file.base64 is not None else (file.text or "").encode()


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


def _diff(wanted: str, got: str) -> str:
    lines = difflib.unified_diff(_lines(wanted), _lines(got), "expected", "got", lineterm="")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    """Lines for a difference, in which a missing last line feed can be seen, as ``diff`` and Git show it."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n\\ no line feed at the end"]
