"""The report of tests as JUnit XML."""

from calls import fake_tools

from toolc.client.registry import Registry
from toolc.model.spec.tool import Test
from toolc.testing import cases
from toolc.testing.reports import as_junit


def done(number: int, verdict: cases.Verdict, *problems: str) -> cases.Tested:
    case = cases.Case(registry=Registry(), tool=fake_tools.tool("t"), number=number, test=Test())
    return cases.Tested(case=case, verdict=verdict, duration_ms=1500, problems=problems)


def test_junit_has_failures_errors_and_skipped_tools() -> None:
    tested = [done(1, "passed"), done(2, "failed", "the text\x1b differs:\n-a", "more"), done(3, "error", "no engine")]
    assert (
        as_junit(tested, ["u"])
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="toolc test" failures="1" errors="1" tests="4" skipped="1">
  <testsuite name="registry" failures="1" errors="1" tests="3" time="4.500">
    <testcase name="t[1]" classname="registry" time="1.500" />
    <testcase name="t[2]" classname="registry" time="1.500">
      <failure message="the text\\x1b differs:">the text\\x1b differs:
-a
more</failure>
    </testcase>
    <testcase name="t[3]" classname="registry" time="1.500">
      <error message="no engine">no engine</error>
    </testcase>
  </testsuite>
  <testsuite name="without tests" tests="1">
    <testcase name="u" classname="without tests">
      <skipped message="this tool has no tests" />
    </testcase>
  </testsuite>
</testsuites>"""
    )
    assert "without tests" not in as_junit(tested, [])
