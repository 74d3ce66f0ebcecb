"""Regular expressions in a spec: TC309, TC310, and the time of validation."""

from pathlib import Path

import pytest
from compiled import ECHO, HEAD, compile_text, found_in

PYTHON = "backend: {python: {code: 'def hello(a): return a'}}\n"


def with_schema(schema: str, more: str = "") -> str:
    return f"{HEAD}{PYTHON}parameters: {{a: {schema}}}\n{more}"


def test_slow_pattern_is_an_error_at_its_position(tmp_path: Path) -> None:
    assert found_in(tmp_path, with_schema("{type: string, pattern: '^(a+)+$'}")) == [
        "5:41 TC309 this pattern can take too long: a loop in it can match the same text in several ways"
    ]


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        (r"^\p{L}+$", r"Python, which validates values, does not support \p{...}: list the characters, e.g. [A-Za-z]"),
        (r"\P{L}", r"Python, which validates values, does not support \P{...}: list the characters, e.g. [^A-Za-z]"),
        (r"\u{1F600}", r"Python, which validates values, does not support \u{...}: write the character itself"),
        ("(?<year>[0-9]+)", "Python, which validates values, does not support (?<name>...): use a plain group"),
        ("(", ""),
    ],
)
def test_hints_translate_javascript_syntax(tmp_path: Path, pattern: str, hint: str) -> None:
    (found,) = compile_text(tmp_path, with_schema(f"{{type: string, pattern: '{pattern}'}}")).diagnostics.sorted()
    assert (found.code.number, found.hint) == ("TC310", hint)


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
    assert found == ["5:28 TC309 'matches' can take too long: a loop in it can match the same text in several ways"]


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


@pytest.mark.parametrize(
    ("pattern", "part", "column"),
    [
        ("(?P<y>[0-9]+)-(?P=y)", "(?P<", 42),
        ("(?i)abc", "(?i)", 42),
        ("a(?i:b)", "(?i:", 43),
        (r"\Aabc\Z", r"\A", 42),
        ("a(?#why)", "(?#", 43),
        ("(a)?(?(1)b|c)", "(?(", 46),
        ("(?>a)b", "(?>", 42),
        ("a++b", "++", 43),
        ("a{,3}", "{,3}", 43),
    ],
)
def test_python_specific_pattern_syntax_is_reported(tmp_path: Path, pattern: str, part: str, column: int) -> None:
    message = "exists only in Python: other languages reject it or interpret it differently"
    assert found_in(tmp_path, with_schema(f"{{type: string, pattern: '{pattern}'}}")) == [
        f"5:{column} TC310 '{part}' {message}"
    ]


@pytest.mark.parametrize(
    "pattern", ["(?:a|b)", "(?=a)(?!b)(?<=c)(?<!d)e", r"\\A", "[(?P<x]", r"a{0,3}", r"\(?P<", "[]+*]+x", "a+?b*?"]
)
def test_portable_pattern_syntax_is_accepted(tmp_path: Path, pattern: str) -> None:
    assert found_in(tmp_path, with_schema(f"{{type: string, pattern: '{pattern}'}}")) == []
