"""Compare the result of a call with the expectations of a test, and describe the differences."""

import difflib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from toolc.model.destinations import format_destination
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.registry_io import canonical
from toolc.model.result import ToolResult
from toolc.model.spec.code_backends import File
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import Expect, ExpectedChanges, ExpectedNetwork
from toolc.testing.workspace import Changes, comparison_obstacle, file_bytes, workspace_path
from toolc.validation.pattern_speed import compile_python


def compare(expect: Expect, result: ToolResult, workspace: Path, changed: Changes | None = None) -> Iterator[str]:
    """Yield a description of each difference from the expectations, possibly with several lines."""
    kind = result.error.kind if result.error else None
    if kind != expect.error:
        yield f"expected {_ending(expect.error)}, got {_ending(kind)}{_place(result)}" + (
            f":\n{result.text}" if kind else ""
        )
    if expect.text is not None and result.text != expect.text:
        yield "the text differs:\n" + _diff(expect.text, result.text)
    if expect.matches is not None and not compile_python(expect.matches).search(result.text):
        yield f"the text does not match {expect.matches!r}:\n{result.text}"
    if expect.json is not None:
        data = json_of(result)
        restricted = None if data is None else (restrict_keys(expect.json[0], data[0]),)
        yield from _compare_data("JSON", expect.json[0], restricted, result)
    if expect.structured is not None:
        yield from _compare_data("structured data", expect.structured[0], result.structured, result)
    for file in expect.files:
        yield from _compare_file(file, workspace)
    for path in expect.absent:
        if os.path.lexists(workspace / workspace_path(path)):
            yield f"{path}: expected not to exist, but it exists"
    if expect.changes is not None and changed is not None:
        yield from compare_changes(expect.changes, changed)
    if expect.network is not None:
        yield from compare_network(expect.network, result)
    if expect.connections is not None:
        yield from compare_connections(expect.connections, result)


def json_of(result: ToolResult) -> tuple[JsonValue] | None:
    """Return the data of a result, or its text parsed as JSON, as a tuple of one value. None if it has neither."""
    if result.structured is not None:
        return result.structured
    try:
        return (json.loads(result.text),)
    except (ValueError, RecursionError):
        return None


def reached(result: ToolResult, *, allowed: bool) -> tuple[str, ...]:
    """Return the destinations that a call reached or was refused, sorted, in the notation of specs."""
    destinations = {
        format_destination(Destination(kind="exact", host=str(each["host"]), port=int(str(each["port"]))))
        for each in _attempts(result)
        if each["allowed"] is allowed and each["host"]
    }
    return tuple(sorted(destinations))


def _attempts(result: ToolResult) -> list[JsonObject]:
    attempts = result.details.get("network")
    return [each for each in attempts if isinstance(each, dict)] if isinstance(attempts, list) else []


def compare_network(listed: tuple[Destination, ...], result: ToolResult) -> Iterator[str]:
    """Yield the destinations that the call reached but the test does not list."""
    for each in _attempts(result):
        if each["allowed"] and not any(_is(entry, each) for entry in listed):
            yield f"the call reached {each['host']}:{each['port']}, which expect.network does not list"


def compare_connections(expected: ExpectedNetwork, result: ToolResult) -> Iterator[str]:
    """Yield the differences between the connections of a call and the lists of a test."""
    for key, was, was_not, entries, is_allowed in (
        ("allowed", "reached", "did not reach", expected.allowed, True),
        ("refused", "was refused", "was not refused", expected.refused, False),
    ):
        if entries is None:
            continue
        attempts = [each for each in _attempts(result) if each["allowed"] is is_allowed]
        for each in attempts:
            if not any(_is(entry, each) for entry in entries):
                yield f"the call {was} {each['host']}:{each['port']}, which expect.network.{key} does not list"
        for entry in entries:
            if not any(_is(entry, each) for each in attempts):
                yield f"the call {was_not} {format_destination(entry)}, which expect.network.{key} lists"


def compare_changes(expected: ExpectedChanges, got: Changes) -> Iterator[str]:
    """Yield the difference between the expected and the actual changes to files."""
    listed = [f"{sign} {path}" for sign, paths in _signed(expected) for path in paths]
    changed = [f"{sign} {path}" for sign, paths in _signed(got) for path in paths]
    if listed != changed:
        yield "the changes differ:\n" + _diff("\n".join([*listed, ""]), "\n".join([*changed, ""]))


def _signed(changes: ExpectedChanges | Changes) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("added", changes.added), ("changed", changes.changed), ("deleted", changes.deleted)


def _is(entry: Destination, attempt: JsonObject) -> bool:
    host = str(attempt["host"])
    if entry.port != attempt["port"]:
        return False
    if entry.kind == "wildcard":
        return host.endswith(f".{entry.host}")
    return entry.kind == "public" or host == entry.host


def _ending(kind: str | None) -> str:
    return f"the error {kind}" if kind else "no error"


def _place(result: ToolResult) -> str:
    """Return the line at which a Python function failed, or an empty string."""
    file, line = result.details.get("file"), result.details.get("line")
    return f" at {file}, line {line}" if result.error and file and line else ""


def _compare_data(what: str, expected: JsonValue, got: tuple[JsonValue] | None, result: ToolResult) -> Iterator[str]:
    if got is None:
        yield f"expected {what}, got " + (f"the text:\n{result.text}" if result.text else "nothing")
    elif not json_equal(expected, got[0]):
        yield f"the {what} differs:\n" + _diff(_pretty(expected) + "\n", _pretty(got[0]) + "\n")


def restrict_keys(expected: JsonValue, got: JsonValue) -> JsonValue:
    """Return ``got`` without the keys of objects that ``expected`` does not contain."""
    match expected, got:
        case dict(), dict():
            return {key: restrict_keys(expected[key], value) for key, value in got.items() if key in expected}
        case list(), list() if len(expected) == len(got):
            return [restrict_keys(one, other) for one, other in zip(expected, got, strict=True)]
        case _:
            return got


def json_equal(expected: JsonValue, got: JsonValue) -> bool:
    """Return whether two values are equal as JSON. For example, 1 equals 1.0, but 1 does not equal true."""
    try:
        return canonical(expected) == canonical(got)
    except ValueError:
        return _pretty(expected) == _pretty(got)


def _compare_file(file: File, workspace: Path) -> Iterator[str]:
    if reason := comparison_obstacle(file.path, workspace):
        yield f"{file.path}: {reason}"
    elif (got := (workspace / file.path).read_bytes()) != (expected := file_bytes(file)):
        yield f"{file.path} differs:\n" + _diff(expected.decode("utf-8", "replace"), got.decode("utf-8", "replace"))


def _pretty(value: JsonValue) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)


def _diff(expected: str, got: str) -> str:
    lines = difflib.unified_diff(_lines(expected), _lines(got), "expected", "got", lineterm="")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    """Return the lines of a text. A missing last line feed is marked as ``diff`` and Git do."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], lines[-1] + "\n\\ No newline at end of file"]
