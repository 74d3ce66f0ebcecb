"""Each code is declared once and listed."""

import re

from toolc.model import codes
from toolc.model.diagnostics import Code


def test_all_contains_every_code() -> None:
    declared = [value for name, value in vars(codes).items() if isinstance(value, Code) and name.isupper()]
    assert list(codes.ALL) == declared
    assert codes.SYNTAX in codes.ALL


def test_numbers_have_the_same_format() -> None:
    assert [code.number for code in codes.ALL if not re.fullmatch(r"TC[0-9]\d\d", code.number)] == []


def test_codes_are_declared_in_order() -> None:
    numbers = [code.number for code in codes.ALL]
    assert numbers == sorted(numbers)


def test_codes_that_are_reported_only_if_selected() -> None:
    assert [f"{code.number} {code.slug}" for code in codes.ALL if not code.enabled] == [
        "TC204 long-description", "TC208 missing-label", "TC214 url-in-model-text",
        "TC301 missing-parameter-description", "TC301 parameter-description-repeats-name",
        "TC305 required-with-default", "TC308 unbounded-parameter", "TC410 unmapped-http-errors",
        "TC503 open-world-without-network", "TC506 may-run-as-root", "TC701 unsupported-by-gemini",
        "TC705 lossy-schema", "TC801 untested-tool", "TC805 missing-annotation",
    ]  # fmt: skip
