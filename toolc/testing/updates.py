"""``toolc test --update``: write the results of failed tests into their specs, as the new expectations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from toolc.compiler.fixes.update_tests import ExpectationUpdate, Route, update_tests
from toolc.reporters.text import escape_for_terminal
from toolc.testing.expectations import (
    compare_changes,
    compare_connections,
    compare_network,
    json_equal,
    json_of,
    reached,
    restrict_keys,
)
from toolc.validation.pattern_speed import compile_python

if TYPE_CHECKING:
    from toolc.model.json_schema import JsonValue
    from toolc.model.result import ToolResult
    from toolc.model.spec.tool import Expect
    from toolc.testing.cases import Tested


def update(tested: Sequence[Tested], report: Callable[[str], None]) -> list[Tested]:
    """Write the results of failed tests into their specs. Return the tests that still fail.

    ``report`` receives one line per change, and per test that could not be changed. Tests that could not run are not
    changed. Patterns are not changed either, because several patterns can match the new result.
    """
    failed = [each for each in tested if each.verdict == "failed"]
    done = update_tests([new for each in failed if (new := _update_of(each))])
    for each in done.applied:
        routes = sorted({*each.values, *each.removed})
        report(f"updated {_test_name(each)}: {', '.join('.'.join(route) for route in routes)}")
    for each, reason in done.rejected:
        report(
            escape_for_terminal(f"{_test_name(each)} ({each.tool.span('tests', each.index)}) was not updated: {reason}")
        )
    updated = {_test_name(each) for each in done.applied}
    left: list[Tested] = []
    for still in (each for each in tested if each.problems):
        reasons = [*_unwritable(still)] if still.result else []
        for reason in reasons:
            report(escape_for_terminal(f"{still.case.name} ({still.case.location}) still fails: {reason}"))
        if reasons or still.case.name not in updated:
            left.append(still)
    return left


def _test_name(update: ExpectationUpdate) -> str:
    return f"{update.tool.spec.name}[{update.index + 1}]"


def _unwritable(tested: Tested) -> Iterator[str]:
    """Yield the reasons why expectations of a test cannot be replaced by its result."""
    expect, result = tested.case.test.expect, tested.result
    assert result is not None
    if expect.matches is not None and not compile_python(expect.matches).search(result.text):
        yield "its pattern does not match the text; change it by hand"
    if expect.json is not None and json_of(result) is None:
        yield "it expects JSON, but the result is not JSON"
    if expect.structured is not None and result.structured is None:
        yield "it expects structured data, but the result has none"
    for file in expect.files:
        if file.path not in tested.files:
            yield f"it expects the text of {file.path}, which is no longer a text file"


def _update_of(tested: Tested) -> ExpectationUpdate | None:
    """Return the expectations that the test should have, or None if none of them can be written."""
    case, result = tested.case, tested.result
    if case.located is None or result is None:
        return None
    expect = case.test.expect
    values: dict[Route, JsonValue] = {
        **dict(_texts(expect, result)),
        **dict(_data(expect, result)),
        **dict(_connections(expect, result)),
        **dict(_workspace(tested)),
    }
    removed = frozenset[Route]([("error",)] if expect.error and result.error is None else [])
    if not (values or removed):
        return None
    return ExpectationUpdate(tool=case.located, index=case.number - 1, values=values, removed=removed)


def _texts(expect: Expect, result: ToolResult) -> Iterator[tuple[Route, JsonValue]]:
    if result.error is not None and result.error.kind != expect.error:
        yield ("error",), result.error.kind
    if expect.text is not None and expect.text != result.text:
        yield ("text",), result.text


def _data(expect: Expect, result: ToolResult) -> Iterator[tuple[Route, JsonValue]]:
    data = json_of(result)
    if expect.json is not None and data is not None:
        restricted = restrict_keys(expect.json[0], data[0])
        if not json_equal(expect.json[0], restricted):
            yield ("json",), restricted
    if expect.structured and result.structured and not json_equal(expect.structured[0], result.structured[0]):
        yield ("structured",), result.structured[0]


def _connections(expect: Expect, result: ToolResult) -> Iterator[tuple[Route, JsonValue]]:
    allowed, refused = reached(result, allowed=True), reached(result, allowed=False)
    if expect.network is not None and any(compare_network(expect.network, result)):
        yield ("network",), [*allowed]
    expected = expect.connections
    if expected is not None and expected.allowed is not None and any(compare_connections(expected, result)):
        yield ("network", "allowed"), [*allowed]
    if expected is not None and expected.refused is not None and any(compare_connections(expected, result)):
        yield ("network", "refused"), [*refused]


def _workspace(tested: Tested) -> Iterator[tuple[Route, JsonValue]]:
    expect, changes = tested.case.test.expect, tested.changes
    if expect.changes is not None and changes is not None and any(compare_changes(expect.changes, changes)):
        lists = {"added": changes.added, "changed": changes.changed, "deleted": changes.deleted}
        yield ("changes",), {action: [*paths] for action, paths in lists.items() if paths}
    was = {file.path: file.text for file in expect.files}
    for path in sorted({*was, *expect.absent}):
        if path in tested.files and tested.files[path] != was.get(path):
            yield ("files", path), tested.files[path]
