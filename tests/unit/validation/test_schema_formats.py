"""Formats are asserted at every place where a value is validated, as the JSON Schema test suite's cases say."""

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from models.provider_cases import tool as tool_spec
from project.paths import DATA

from toolc.model.json_schema import JsonValue, Schema
from toolc.model.result import ToolResult
from toolc.runtime.argument_binding import bind
from toolc.runtime.argument_values import BindError
from toolc.runtime.result_validation import validate_result
from toolc.validation.formats import EXAMPLES, KNOWN_FORMATS, describe_format, matches_format
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import validation_errors

CASES: Final[list[dict[str, Any]]] = json.loads((DATA / "json-schema-formats.json").read_text(encoding="utf-8"))
ASSERTED: Final = frozenset(EXAMPLES)


@pytest.mark.parametrize("name", sorted({case["format"] for case in CASES}))
def test_values_are_valid_as_in_the_suite(name: str) -> None:
    wrong = {
        (name, case["data"])
        for case in CASES
        if case["format"] == name and (not validation_errors({"format": name}, case["data"])) != case["valid"]
    }
    assert wrong == set()


def test_all_formats_of_json_schema_are_asserted() -> None:
    assert {case["format"] for case in CASES} - ASSERTED == {"unknown"}


@pytest.mark.parametrize("name", sorted(ASSERTED))
def test_both_validators_accept_the_example(name: str) -> None:
    assert plainly_satisfies(EXAMPLES[name], {"type": "string", "format": name})
    assert not validation_errors({"type": "string", "format": name}, EXAMPLES[name])
    assert EXAMPLES[name] in describe_format(name)


@pytest.mark.parametrize("name", sorted(KNOWN_FORMATS - ASSERTED))
def test_other_known_formats_are_annotations(name: str) -> None:
    assert not validation_errors({"format": name}, "%")


@pytest.mark.parametrize("name", sorted(ASSERTED))
@pytest.mark.parametrize("value", [None, True, 5, 5.5, [], {}, ["%"]])
def test_a_format_applies_to_strings_only(name: str, value: JsonValue) -> None:
    assert not validation_errors({"format": name}, value)


_WRITTEN_ALIKE = [
    ("date", "2026-01-31\n"), ("date", " 2026-01-31"), ("date", "\uff12026-01-31"), ("date", "2026-1-31"),
    ("date", "2100-02-29"), ("date", "2026-00-10"), ("date", "2026-01-00"),
    ("time", "09:30:00Z\n"), ("time", "\u06609:30:00Z"),
    ("date-time", "2026-01-31 09:30:00Z"), ("date-time", "2026-01-31T09:30:00"), ("date-time", "2026-02-30T09:30:00Z"),
    ("duration", "P1D\n"), ("duration", "P\u0661D"), ("duration", "P"), ("duration", "P1DT"), ("duration", "p1d"),
    ("email", "ann@example.com\n"), ("email", "ann"), ("email", "@example.com"), ("email", "ann@"),
    ("email", "ann@exa mple.com"), ("email", "ann@bücher.example"), ("email", "Ann <ann@example.com>"),
    ("hostname", "example.com\n"), ("hostname", "example.com."), ("hostname", "exa_mple.com"),
    ("hostname", "bücher.example"),
    ("hostname", "a" * 64), ("hostname", "xn--a"), ("hostname", ".".join(["a" * 60] * 5)), ("idn-hostname", "a" * 300),
    ("ipv4", "192.0.2.1\n"), ("ipv4", "192.0.2.01"), ("ipv4", "192.0.2.\u0663"), ("ipv6", "::1\n"),
    ("ipv6", "fe80::1%eth0"),
    ("ipv6", ":"), ("ipv6", ""), ("ipv6", "1:2:3:4:5:6:7::8"), ("ipv6", "::192.0.2.1:1"), ("ipv6", "192.0.2.1"),
    ("uri", "https://example.com/a\n"), ("uri", "example.com"), ("uri", "https://example.com/a b"), ("uri", "https://[::g]/"),
    ("uri", "https://exämple.com/"), ("uri", "http://a:b/"), ("uri", "1http://a"), ("uri", "https://example.com/%zz"),
    ("uri", "https://[::1"), ("uri-reference", "a b"), ("uri-reference", "1:a"), ("uri-reference", ":"),
    ("iri", "https://example.com/\u202e"), ("iri", "bücher"), ("uri-template", "/users/{id"),
    ("uri-template", "/{a-b}"),
    ("uri-template", "/{}"), ("uri-template", "/{a:0}"), ("uuid", "2eb8aa08-aa98-41ea-b4aa-73b441d16380\n"),
    ("uuid", "{2eb8aa08-aa98-41ea-b4aa-73b441d16380}"), ("uuid", "2eb8aa08aa9841eab4aa73b441d16380"),
    ("json-pointer", "a"), ("json-pointer", "/~"), ("relative-json-pointer", "01"), ("relative-json-pointer", "0##"),
    ("regex", "("), ("regex", "[a"), ("regex", "a**"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), _WRITTEN_ALIKE)
def test_texts_that_only_look_alike_are_refused(name: str, text: str) -> None:
    assert not matches_format(text, name)
    assert not plainly_satisfies(text, {"format": name})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "0000-02-29"), ("date", "2000-02-29"), ("time", "09:30:00.5+05:30"), ("duration", "PT1H5S"),
        ("duration", "P1Y5D"), ("email", '"a b"@example.com'), ("email", "a+b@localhost"), ("email", "a@[IPv6:::1]"),
        ("hostname", "r3---sn-4g5e6nsz.example.com"), ("hostname", "xn--bcher-kva.example"), ("hostname", "127.0.0.1"),
        ("ipv6", "1:2:3:4:5:6:7::"), ("ipv6", "::ffff:192.0.2.1"), ("ipv6", "FE80::"), ("uri", "urn:isbn:0451450523"),
        ("uri", "file:///etc/hosts"), ("uri", "http://[2001:db8::1]:8080/a?b#c"), ("uri", "mailto:ann@example.com"),
        ("uri", "a:"), ("uri-reference", ""), ("uri-reference", "?a=1"), ("uri-reference", "../a:b"),
        ("uri-template", "/a{?b,c*}{&d:3}{#e.f}"), ("json-pointer", ""), ("json-pointer", "/a\nb"),
        ("relative-json-pointer", "0-1#"), ("idn-email", "실례@실례.테스트"), ("iri", "https://bücher.example/ö?\ue000"),
    ],
)  # fmt: skip
def test_unusual_texts_are_accepted(name: str, text: str) -> None:
    assert matches_format(text, name)


_PIECES: Final = (
    "a", "1", "\u0663", ".", "-", "@", ":", "::", "/", "%", "%41", "~", "~0", '"', "\\", "[", "]", "{", "}", "{a,", "?",
    "#", "+", "\n", "\x00", "é", "\u200d", "\u0300", "\ud800", "😀", "xn--", "a.", "1Y", "P", "T", "0",
)  # fmt: skip


@given(st.sampled_from(sorted(ASSERTED)), st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_no_text_crashes_a_format(name: str, text: str) -> None:
    assert matches_format(text, name) in (True, False)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        ("email", "idn-email"), ("hostname", "idn-hostname"), ("uri", "uri-reference"), ("uri", "iri"),
        ("uri-reference", "iri-reference"), ("iri", "iri-reference"),
    ],
)  # fmt: skip
@given(st.lists(st.sampled_from((*_PIECES, "a@b", "http://a", "xn--a")), max_size=6).map("".join))
def test_a_wider_format_accepts_what_a_narrower_one_does(narrow: str, wide: str, text: str) -> None:
    if matches_format(text, narrow):
        assert matches_format(text, wide)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ASSERTED - {"regex"}))
def test_a_long_text_of_any_piece_is_decided(name: str) -> None:
    # Quadratic work would take hours for a megabyte, and minutes for this.
    for piece in _PIECES:
        for start, end in (("", ""), ("a@", ""), ("http://", "\x00"), ('"', "@"), (EXAMPLES[name], "\ud800")):
            matches_format(start + piece * (200_000 // len(piece)) + end, name)


def test_a_refused_call_names_the_expected_form() -> None:
    tool = tool_spec(
        parameters={
            "type": "object",
            "properties": {"day": {"type": "string", "format": "date"}, "to": {"format": "email"}},
        }
    )
    bind(tool, {"day": "2026-01-31", "to": "ann@example.com"}, "1")
    with pytest.raises(BindError) as refused:
        bind(tool, {"day": "31.1.2026", "to": "ann"}, "1")
    assert refused.value.problems == (
        "day: expected a date such as 2026-01-31, got the string '31.1.2026'",
        "to: expected an e-mail address such as ann@example.com, got the string 'ann'",
    )


def test_the_data_of_a_result_has_its_formats() -> None:
    schema = Schema({"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}})
    wrong = validate_result(ToolResult(content=(), structured=({"at": "now"},)), schema, "look")
    right = validate_result(ToolResult(content=(), structured=({"at": "2026-01-31T09:30:00Z"},)), schema, "look")
    assert not right.is_error
    assert "at: expected a date and time with an offset such as 2026-01-31T09:30:00Z" in str(wrong.error)
