"""The YAML community's test suite: valid cases have the expected values, invalid cases are rejected.

toolc supports a subset of YAML: the valid cases that it rejects are listed here.
"""

import json
from typing import Any, Final

import pytest
from project.paths import DATA

from toolc.document.nodes import to_json
from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.model.diagnostics import Diagnostic, Diagnostics
from toolc.model.source import SourceText

CASES: Final[list[dict[str, Any]]] = json.loads((DATA / "yaml-test-suite.json").read_text(encoding="utf-8"))

# Valid YAML that is refused, by the code of the finding: rules of toolc, and under TC001 and TC009 what libyaml
# does not read (keys without text, ':' and '?' that begin text in brackets, tabs after '-', unknown directives).
REFUSED: Final = {
    "TC001": (
        "2JQS 2LFX 2SXE 4ABK 4MUZ-0 4MUZ-1 4MUZ-2 58MP 5MUD 5T43 652Z 6LVF 6M2F 7Z25 9SA2 BEC7 CFD4 DBG4 "
        "DK3J FP8R FRK4 HM87-0 HM87-1 HWV9 K3WX M2N8-0 M7A3 MUS6-5 MUS6-6 NHX8 NJ66 NKF9 QT73 S3PD SM9W-1 "
        "UKK6-0 UT92 VJP3-1 W4TN Y2GN "
    ),
    "TC005": "3GZX PW8X",
    "TC006": (
        "2XXW 52DL 565N 5TYM 6CK3 6WLZ 7FWL 8MK2 9WXW C4HZ CC74 CUP7 FH7J J7PZ M5C3 P76L S4JQ UGM3 UKK6-2 Z67P Z9M4 "
    ),
    "TC007": "4FJ6 6BFJ 6PBE 9MMW DFF7 KK5P LX3P M2N8-1 M5DY Q9WF RZP5 SBG9 V9D5 X38W XW4D",
    "TC008": "35KP 6XDY 6ZKB 9DXL 9KAX JHB9 KSS4 L383 PUW8 RZT7 U9NS",
    "TC009": "6BCT 6CA3 96NN-0 96NN-1 A2M4 DK95-0 DK95-3 DK95-4 Q5MG R4YG Y79Y-1 Y79Y-10",
    "TC110": "8XYN W5VH",
}
WHY: Final = {case: code for code, cases in REFUSED.items() for case in cases.split()}


def ids(cases: list[dict[str, Any]]) -> list[str]:
    return [f"{case['id']} {case['name']}" for case in cases]


INVALID: Final = [case for case in CASES if case.get("fail")]
TAKEN: Final = [case for case in CASES if not case.get("fail") and case["id"] not in WHY]
NOT_TAKEN: Final = [case for case in CASES if case["id"] in WHY]


def parse(text: str) -> tuple[object, list[Diagnostic]]:
    diagnostics = Diagnostics()
    source = SourceText("a.yaml", text)
    diagnostics.add_source(source)
    root = parse_yaml(source, diagnostics)
    errors = [each for each in diagnostics.sorted() if each.is_error]
    for each in errors:
        start = source.offset(each.span.start)
        assert source.span(start, start).start == each.span.start, "a finding stands in the file"
    return None if root is None else to_json(root), errors


@pytest.mark.parametrize("case", INVALID, ids=ids(INVALID))
def test_invalid_yaml_is_rejected(case: dict[str, Any]) -> None:
    assert parse(case["yaml"])[1] != []


@pytest.mark.parametrize("case", TAKEN, ids=ids(TAKEN))
def test_valid_yaml_has_the_expected_value(case: dict[str, Any]) -> None:
    value, errors = parse(case["yaml"])
    assert errors == []
    if "json" in case:
        assert json.dumps(value, sort_keys=True) == json.dumps(json.loads(case["json"] or "null"), sort_keys=True)


@pytest.mark.parametrize("case", NOT_TAKEN, ids=ids(NOT_TAKEN))
def test_unsupported_yaml_is_rejected_with_a_reason(case: dict[str, Any]) -> None:
    _, errors = parse(case["yaml"])
    assert WHY[case["id"]] in {each.code.number for each in errors}
    assert not any(word in each.message for each in errors for word in ("while ", "did not find", "token"))


def test_the_suite_is_complete() -> None:
    assert (len(INVALID), len(TAKEN), len(NOT_TAKEN)) == (94, 205, 103)
