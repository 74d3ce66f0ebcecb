"""The output of ``toolc test``: text, JSON, or JUnit XML, which most CI servers can show."""

import json
import textwrap
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.reporters.text import escape_for_terminal
from toolc.testing.cases import Case, Tested, Verdict

Format: TypeAlias = Literal["text", "json", "junit"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)

_SIGNS: Final[dict[Verdict, str]] = {"passed": "ok  ", "failed": "FAIL", "error": "ERR "}


def as_line(tested: Tested) -> str:
    """Return a line about one test, followed by its problems."""
    location = f" {tested.case.location}" if tested.problems and tested.case.location else ""
    lines = [f"{_SIGNS[tested.verdict]} {tested.case.name} ({tested.duration_ms:.0f} ms){location}"]
    lines += [textwrap.indent(problem.rstrip(), "     ") for problem in tested.problems]
    return escape_for_terminal("\n".join(lines))


def as_summary(tested: Sequence[Tested], untested: Sequence[str]) -> str:
    """Return the number of tests by verdict, and the tools without tests."""
    counts = _counts(tested)
    summary = f"{counts['passed']} passed, {counts['failed']} failed"
    summary += f", {counts['error']} could not run" if counts["error"] else ""
    return summary + (f"\nwithout tests: {', '.join(untested)}" if untested else "")


def as_json(tested: Sequence[Tested], untested: Sequence[str]) -> str:
    """Return all tests as JSON, in order."""
    value: JsonObject = {
        "tests": [
            {
                "name": each.case.name,
                "tool": each.case.tool.name,
                "number": each.case.number,
                "place": each.case.location or None,
                "outcome": each.verdict,
                "duration_ms": round(each.duration_ms, 3),
                "problems": [*each.problems],
                "digests": _digests(each.case),
            }
            for each in tested
        ],
        **dict[str, JsonValue](_counts(tested)),
        "untested": [*untested],
    }
    return json.dumps(value, indent=2, ensure_ascii=False)


def _digests(case: Case) -> JsonObject:
    """Return the digests of the tested tool, by which a reader knows whether a result is about another version."""
    tool = case.registry.registered(case.tool.name)
    return {"surface": tool.surface_digest, "effect": tool.effect_digest}


def as_junit(tested: Sequence[Tested], untested: Sequence[str]) -> str:
    """Return JUnit XML with one suite per file and one case per test. A tool without tests is a skipped case."""
    total = {"tests": str(len(tested) + len(untested)), "skipped": str(len(untested))}
    root = Element("testsuites", _attributes("toolc test", tested) | total)
    for path in dict.fromkeys(each.case.path for each in tested):
        _suite(root, path or "registry", [each for each in tested if each.case.path == path])
    if untested:
        suite = SubElement(root, "testsuite", name="without tests", tests=str(len(untested)))
        for name in untested:
            case = SubElement(suite, "testcase", name=name, classname="without tests")
            SubElement(case, "skipped", message="this tool has no tests")
    indent(root)
    # ASCII with character references is valid in any output encoding.
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root).decode("ascii")}'


def _suite(root: Element, name: str, tested: Sequence[Tested]) -> None:
    # XML cannot represent most control characters, so texts are escaped as for a terminal.
    name = escape_for_terminal(name)
    seconds = f"{sum(each.duration_ms for each in tested) / 1000:.3f}"
    suite = SubElement(root, "testsuite", _attributes(name, tested) | {"tests": str(len(tested)), "time": seconds})
    for each in tested:
        time = f"{each.duration_ms / 1000:.3f}"
        case = SubElement(suite, "testcase", name=each.case.name, classname=name, time=time)
        if each.problems:
            message = escape_for_terminal(each.problems[0].splitlines()[0])
            problem = SubElement(case, "failure" if each.verdict == "failed" else "error", message=message)
            problem.text = escape_for_terminal("\n".join((each.case.location, *each.problems)).strip())


def _attributes(name: str, tested: Sequence[Tested]) -> dict[str, str]:
    counts = _counts(tested)
    return {"name": name, "failures": str(counts["failed"]), "errors": str(counts["error"])}


def _counts(tested: Sequence[Tested]) -> dict[str, int]:
    return {verdict: sum(each.verdict == verdict for each in tested) for verdict in get_args(Verdict)}
