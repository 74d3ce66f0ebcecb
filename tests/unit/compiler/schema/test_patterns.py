"""Regular expressions in a spec: TC309, TC310, and the time of validation."""

import warnings
from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, compile_text, found_in

from toolc.model import codes

PYTHON = "backend: {python: {code: 'def hello(a): return a'}}\n"


def with_schema(schema: str, more: str = "") -> str:
    return f"{HEAD}{PYTHON}parameters: {{a: {schema}}}\n{more}"


def test_slow_pattern_is_an_error_at_its_position(tmp_path: Path) -> None:
    assert found_in(tmp_path, with_schema("{type: string, pattern: '^(a+)+$'}")) == [
        "5:41 TC309 this pattern can take too long, because a loop in it can match the same text in several ways"
    ]


@pytest.mark.parametrize(
    "schema",
    [
        "{type: array, items: {type: string, pattern: '^(a+)+$'}}",
        "{type: object, patternProperties: {'^(a+)+$': {}}}",
        "{type: object, patternProperties: {'(.*a.*b.*c.*d)': {}}}",
        "{type: string, pattern: '^(a+)+$', default: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!}",
    ],
)
def test_slow_patterns_are_reported_anywhere(tmp_path: Path, schema: str) -> None:
    assert [each.split()[1] for each in found_in(tmp_path, with_schema(schema))] == ["TC309"]


def test_patterns_in_tests_are_matched_in_bounded_time(tmp_path: Path) -> None:
    found = found_in(tmp_path, f"{HEAD}{ECHO}tests: [{{expect: {{matches: '^(a+)+$'}}}}]\n")
    assert found == [
        "5:28 TC309 'matches' can take too long, because a loop in it can match the same text in several ways"
    ]


def test_long_values_are_compared_in_linear_time(tmp_path: Path) -> None:
    blank = " " * 30_000
    text = with_schema(r"{type: string, pattern: '^.*\S.*$'}", f"examples: [{{a: '{blank}'}}, {{a: '{blank}x'}}]\n")
    (found,) = found_in(tmp_path, text)
    assert found.startswith("6:16 TC802 ")


def test_values_that_cannot_be_compared_are_reported(tmp_path: Path) -> None:
    value = "a" * 3000
    found = found_in(
        tmp_path, with_schema(r"{type: string, pattern: '^(?=.*a)(?=.*b).*c.*$'}", f"examples: [{{a: {value}}}]")
    )
    assert found == ["6:16 TC802 'examples'[0].a: 3000 characters are too many to compare with '^(?=.*a)(?=.*b).*c.*$'"]


def test_a_long_key_is_not_compared_with_patterns_of_keys(tmp_path: Path) -> None:
    schema = "{type: object, patternProperties: {'^x-': {type: string}}}"
    found = found_in(tmp_path, with_schema(schema, f'examples: [{{a: {{"{"k" * 300}": 1}}}}]\n'))
    assert found == ["6:12 TC802 'examples'[0]: a key of 300 characters is too long to compare with patternProperties"]


def test_a_named_dialect_uses_the_bounded_matcher(tmp_path: Path) -> None:
    dialect = "https://json-schema.org/draft/2020-12/schema"
    schema = rf"{{$schema: '{dialect}', type: string, pattern: '^(?=.*a)(?=.*b).*c.*$', default: {'a' * 3000}}}"
    (found,) = found_in(tmp_path, with_schema(schema))
    assert "TC304 default: 3000 characters are too many to compare with" in found


INVALID = "this pattern is not valid in ECMA-262: "
UNSUPPORTED = "this pattern is not supported: "


@pytest.mark.parametrize(
    ("pattern", "place", "message"),
    [
        ("ab[c", "44-45", INVALID + "this character class is not closed, at position 2"),
        ("a(b", "43-44", INVALID + "this group is not closed, at position 1"),
        ("a)", "43-44", INVALID + "unmatched ')', at position 1"),
        (r"a\h", "43-45", INVALID + r"'\h' is not an escape sequence of ECMA-262, at position 1"),
        (r"\1", "42-44", INVALID + "there is no group 1, at position 0"),
        (r"\k<n>", "42-47", INVALID + "there is no group 'n', at position 0"),
        ("a++", "44-45", INVALID + "'+' follows another quantifier, at position 2"),
        ("(?i)a", "42-46", INVALID + "'(?i)' does not start a group in ECMA-262, at position 0"),
        ("(?>a)", "42-45", INVALID + "'(?>' does not start a group in ECMA-262, at position 0"),
        ("(a)?(?(1)b|c)", "46-49", INVALID + "'(?(' does not start a group in ECMA-262, at position 4"),
        ("[b-a]", "43-46", INVALID + "the range 'b-a' is reversed, at position 1"),
        ("a{2,1}", "43-48", INVALID + "the minimum of '{2,1}' is larger than the maximum, at position 1"),
        ("(?=a)*", "47-48", INVALID + "'*' cannot repeat an assertion, at position 5"),
        ("*", "42-43", INVALID + "nothing to repeat before '*', at position 0"),
        ("[[:alpha:]]", "43-52", INVALID + "'[:alpha:]' is not a class of ECMA-262, at position 1"),
        ("[]a]", "45-46", INVALID + "unmatched ']', because the ']' right after the '[' ended the class"),
        (r"\u{110000}", "42-52", INVALID + r"'\u{110000}' is not a character, at position 0"),
        ("(?<n>a)(?<n>b)", "49-54", INVALID + "the group name 'n' is used twice, at position 7"),
        ("(?<=a*b+)c", "42-51", UNSUPPORTED + "a lookbehind cannot match texts of unlimited"),
        (r"(?:(a)|b)*\1", "52-54", UNSUPPORTED + "a back-reference cannot refer to a group that some repetitions"),
        (r"(?<=(a)\1)b", "49-51", UNSUPPORTED + "a back-reference cannot be combined with a lookbehind"),
        (r"\p{Script=Han}", "42-56", UNSUPPORTED + r"\p{Script=Han} is not a property that toolc knows, at position 0"),
        ("(" * 51 + ")" * 51, "92-93", UNSUPPORTED + "groups are nested too deeply, at position 50"),
    ],
)  # fmt: skip
def test_invalid_patterns_are_errors_at_their_position(tmp_path: Path, pattern: str, place: str, message: str) -> None:
    schema = f"{{type: string, pattern: '{pattern}'}}"
    (found,) = compile_text(tmp_path, with_schema(schema)).diagnostics.sorted()
    assert found.code is codes.BAD_PATTERN
    assert found.message.startswith(message)
    assert found.span.start.line == 5
    assert f"{found.span.start.column}-{found.span.end.column}" == place


@pytest.mark.parametrize(
    ("pattern", "column", "part", "fixed"),
    [
        ("(?P<y>[0-9]+)-(?P=y)", 42, "(?P<y>", r"(?<y>[0-9]+)-\k<y>"),
        (r"\Aabc\Z", 42, r"\A", "^abc$"),
        (r"abc\z", 45, r"\z", "abc$"),
        ("a(?#why)", 43, "(?#why)", "a"),
        ("a{,3}", 43, "{,3}", "a{0,3}"),
        (r"\x{41}", 42, r"\x{41}", r"\u{41}"),
        (r"\U0001f600", 42, r"\U0001f600", r"\u{1F600}"),
        (r"[\a\e]", 43, r"\a", r"[\x07\x1b]"),
        (r"\pL\-", 42, r"\pL", r"\p{L}-"),
    ],
)
def test_python_syntax_is_an_error_with_a_fix(tmp_path: Path, pattern: str, column: int, part: str, fixed: str) -> None:
    (found,) = compile_text(tmp_path, with_schema(f"{{type: string, pattern: '{pattern}'}}")).diagnostics.sorted()
    assert (found.code, found.span.start.column) == (codes.BAD_PATTERN, column)
    assert found.message.startswith(f"'{part}' is not valid in ECMA-262, at position {column - 42}")
    assert found.fix
    assert [edit.text for edit in found.fix.edits] == [f"'{fixed}'"]


@pytest.mark.parametrize(
    ("pattern", "column", "part", "fixed"),
    [
        (r"^[a-z\-]+\_$", 51, r"\_", r"^[a-z\-]+_$"),
        (r"a\-b\@c", 43, r"\-", "a-b@c"),
        ("{a}", 42, "{", r"\{a\}"),
        ("a]", 43, "]", r"a\]"),
        (r"[\w-.]", 45, "-", r"[\w\-.]"),
        ('it\\"s', 44, '\\"', 'it"s'),
    ],
)
def test_syntax_that_only_the_u_flag_forbids_is_a_warning_with_a_fix(
    tmp_path: Path, pattern: str, column: int, part: str, fixed: str
) -> None:
    (found,) = compile_text(tmp_path, with_schema(f"{{type: string, pattern: '{pattern}'}}")).diagnostics.sorted()
    assert (found.code, found.span.start.column) == (codes.PYTHON_PATTERN, column)
    assert found.message.startswith(f"'{part}' is an error in ECMA-262 with the 'u' flag, at position {column - 42}")
    assert found.fix
    assert [edit.text for edit in found.fix.edits] == [f"'{fixed}'"]


@pytest.mark.parametrize(
    ("written", "column", "fixed"),
    [
        (r"a\-b", 2, "'a-b'"),
        (r'"a\\-b\\\\"', 3, r'"a-b\\\\"'),
        (r"'it''s\-'", 7, "'it''s-'"),
        (r"""'"\-'""", 3, """'"-'"""),
        (r'"\x61\\-"', 1, None),
    ],
)
def test_positions_and_fixes_follow_the_quotes(tmp_path: Path, written: str, column: int, fixed: str | None) -> None:
    text = with_schema(f"{{type: string, pattern: {written}}}")
    (found,) = compile_text(tmp_path, text).diagnostics.sorted()
    start = len("parameters: {a: {type: string, pattern: ")
    assert found.span.start.column == start + column
    assert (found.fix.edits[0].text if found.fix else None) == fixed


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:a|b)", "(?=a)(?!b)(?<=c)(?<!d)e", r"\\A", "[(?P<x]", "a{0,3}", r"\(?P<", r"[\]+*]+x", "a+?b*?", "[^]",
        r"\p{L}\P{Lu}\p{gc=Nd}", r"\u{1F600}\ud83d\ude00\cA\0", "(?<year>[0-9]+)", r"\/\$\.", r"[\-\b]", "(?<=a|bc?)d",
        r"\k<n>(?<n>a)", "", "[[a]", "[a&&b]", "[!--b]",
    ],
)  # fmt: skip
def test_patterns_of_ecma_262_are_accepted(tmp_path: Path, pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found_in(tmp_path, with_schema(f"{{type: string, pattern: '{pattern}'}}")) == []


def test_matches_is_a_pattern_of_python(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found_in(tmp_path, f"{HEAD}{ECHO}tests: [{{expect: {{matches: '(?s)[[a].\\Z'}}}}]\n") == []


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        ("{type: string, pattern: '^[a-z]+$'}", r'"cup\n"'),
        ("{type: string, pattern: '^\\d$'}", "'\u0663'"),
        ("{type: string, pattern: '^\\w+$'}", "\u00e9t\u00e9"),
        ("{type: object, patternProperties: {'^a$': {}}, additionalProperties: false}", r'{"a\n": 1}'),
        ("{type: object, patternProperties: {'^\\d$': {}}, unevaluatedProperties: false}", "{'\u0663': 1}"),
        ("{type: object, propertyNames: {pattern: '^a$'}}", r'{"a\n": 1}'),
    ],
)
def test_defaults_and_examples_are_compared_as_in_ecma_262(tmp_path: Path, schema: str, example: str) -> None:
    (found,) = found_in(tmp_path, with_schema(schema, f"examples: [{{a: {example}}}]\n"))
    assert " TC802 " in found
    (found,) = found_in(tmp_path, with_schema(f"{schema[:-1]}, default: {example}}}"))
    assert " TC304 " in found
