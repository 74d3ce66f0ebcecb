"""Syntax errors of YAML: the messages of the common mistakes, and the positions of all."""

from functools import partial
from typing import Final

import pytest
from compiling.places import marked, syntax_finding, unmarked

from toolc.document.yaml.yaml_parser import parse_yaml
from toolc.model.source import SourceText

finding = partial(syntax_finding, parse_yaml, "a.yaml")


@pytest.mark.usefixtures("both_parsers")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b\n«\t»c: d", "YAML does not allow tabs for indentation"),
        ("-«\t»a", "YAML does not allow a tab here"),
        ('a: «"»x\nb: 1\n', "this quote is never closed"),
        ('a: «"»b\nc: "d"', "this quote is not closed before line 2"),
        ("a: 'it'«s'»", "unexpected text after the value"),
        ("a: «[»1,\n", "this '[' is never closed"),
        ("a: «{»\n  b: 1\nc: 2", "this '{' is never closed"),
        ("a: [b: c«:» d]", "expected ',' or ']' for the '[' of line 1"),
        ("a: b\n«}»", "this '}' has no opening bracket"),
        ("«a b»\nc: d", "a key without a ':'"),
        ("a: b\n«key and value»  # why\n", "a key without a ':'"),
        ("a«:»b\nc: d", "a space is missing after this ':'"),
        ("a: b«:» c", "unexpected ':' in a value"),
        ("key: value\n «key2»: value", "unexpected key, because this line continues the value of the line above"),
        ("- a: 1\n «b»: 2", "this line does not belong to the list that starts on line 1"),
        ("  a: 1\n«b»: 2", "this line does not belong to the document above it"),
        ("a: [b, «,» c]", "expected a value, found ','"),
        ("a: «@x»", "a value without quotes cannot start with '@'"),
        ("a: «-» b", "a list cannot start on the line of its key"),
        ("a: {«%» if %}", "a value without quotes cannot start with '%'"),
        ("a: «'»{{ x }}\nb: 1", "this quote is never closed"),
        ("a: 1 # {{ x }}\n«-» b", "this line does not belong to the map that starts on line 1"),
        ("a: > «b»", "unexpected text after '|' or '>'"),
        ('a: "«\\q»"', "invalid escape sequence \\q in double quotes"),
        ("a:«\xa0»b\nc: d\n", "the character U+00A0 looks like a space but is not one"),
        ("a: «*»\tc", "an unquoted '*' starts a YAML alias, and this is not a valid one"),
        ("a: «*» c", "an unquoted '*' starts a YAML alias, and this is not a valid one"),
        ("a: «&.x»", "an unquoted '&' starts a YAML anchor, and this is not a valid one"),
        ("a: «!<x»\nb: 1", "an unquoted '!' starts a YAML tag, and this tag is not valid"),
    ],
)
def test_common_mistakes_have_a_message_and_a_position(text: str, message: str) -> None:
    found = finding(unmarked(text))
    assert (marked(unmarked(text), found.span), found.message) == (text, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'a: "«\\ud83d\\ude00»"',
            "\\ud83d\\ude00 is the JSON escape sequence for one character, which is not valid in YAML",
        ),
        ('a: "«\\ud83d»"', "\\ud83d does not represent a character"),
        ("a: «*b» c", "there is no anchor with this name above the alias"),
        ("«%FOO»\n---\na: 1", "a line that starts with '%' must be a valid YAML directive"),
    ],
)
def test_mistakes_that_only_libyaml_reports_like_this(text: str, message: str) -> None:
    found = finding(unmarked(text))
    assert (marked(unmarked(text), found.span), found.message) == (text, message)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: [1,\n", "end it with ']'"),
        ("a: 'x", "close the string with '"),
        ('a: "\\ud83d\\ude00"', "write the character itself, or \\U0001F600"),
        ("a: - b", "start it on the next line, or put the value in quotes if it is text that starts with '-'"),
        ("a:\n\n   \n\tb: 1", "indent with spaces"),
        ('a: "b\nc: "d"', "close the quote where the text ends"),
        ("a b\nc: d", "write 'key: value'; indent the line if it continues the value above"),
        ("a: b: c", "put the value in quotes if this ':' is part of it"),
        ("a: 'it's'", "put the whole value in quotes; write '' for a quote inside '...', and \\\" inside \"...\""),
        ("- a: 1\n b: 2", "check the indentation"),
    ],
)
def test_hints_say_what_to_write(text: str, hint: str) -> None:
    assert finding(text).hint == hint


PLACES: Final = {
    "TC001": (
        "a: 1\nbackend: «[»\n", "backend: «[»", "backend: «{»", "a: «[»[1],\n", "a: [«{»b: 1\n", 'a: "«\\x»4"',
        'a: "«\\U00110000»"', "«...»", "a: 1\n...\n«b»: 2", "«%YAML» 2.0\n---\na",
        "%YAML 1.1\n«%YAML» 1.1\n---\na", "«%» x\na: 1", "«%YAML» x\n---", "«%YAML» 1.1.1\n---\n",
        "«%TAG»\n---\n", "«%TAG» ! x y\n---\n", "%TAG ! a:\n«%TAG» ! b:\n---\n", "%YAML 1.2\n«a»: 1",
        "a: &a «*b»", "a: &a «&b» c", "a: !x «!y» z", "a: |«0»\n x", "a: |1«0»\n x", "a: |2«x»\n",
        "a: |-«+»\n x", "a: |\n\n\n   \n  «x»\n", "a: |\n    x\n  «y»\n z", 'a: «"»x\n---\ny"',
        "a: «'»x\n...\n", 'a: «"»x', "a: «`x`»", "a: «%x»", "«%x»: 1", "- a\n  - b\n«c»: d", "a: b\n«-» c",
        "a:\n - b\n «c»: d", "a: «?» b", "a: «}»", "a: «]»", "a: [b«}»}", "a: {b«]»}", "a: {b: [c«}»",
        "a: {b: c d«:» e}", 'a: {b: "c" «d»}', "a: [«,»]", "a: {«,»}", "a: [b] «c»", "a: {b: c} «d»",
        'a: "b" «c»', 'a: "b"«:» c', '"a" «b»: c', "a: b\n c\nd: e\n «f»: g", "a:\n  b: 1\n   «c»: 2",
        "a:\n    b: 1\n  «c»: 2", 'a: "x«\\»', "a: «[»b # c", "# c\n«@»", "a: x«:» ", "a: |\n x\n«y»",
        "a: «[»\n1,\n2\nb: 3", 'a: «"»b\n c', "a: x #y\n  «z»", '"a"«:»b', "a: '\\n' «b»", "«[»1, 2",
        "«{»a: 1", "a: «[»\n  b\nc: 2\n", "x: {«%» if a %}", "a: \u2018x«:» y\u2019", "a:\n  - b: 1\n   «c»: 2\n",
        'a: "b" # c\nd«:»"e"\n', "name: foo\ndescription: Note«:» bar\n", "- - a\n «-b»\n", "a: >-«x»\n  b",
        "[a]«]»", "{a: b}«}»", "- a\n«]»", "a: 'x' «'y'»",
    ),
    "TC005": (
        "«*a» : 1", "a: «*b»\nb: &b 1",
    ),
    "TC006": (
        "a: «!a!b» 1", "a: «!x»{y} 1", "a: «!<>» 1", "a: «!%z»",
    ),
    "TC009": (
        "- a\n-«\t»- b", "a: x\n«\t»y\nb: 1", "a: |\n«\t»x", "a: |\n  x\n«\t»y\n",
    ),
    "TC110": (
        "a: «&»", "a: «&a&b» 1", "a: «*»",
    ),
}  # fmt: skip
"""Texts with an error, by the code of its finding; the span of the finding is in angle quotes."""


@pytest.mark.parametrize(("number", "text"), [(number, text) for number, texts in PLACES.items() for text in texts])
def test_every_error_has_a_position(number: str, text: str) -> None:
    found = finding(unmarked(text))
    assert (found.code.number, marked(unmarked(text), found.span)) == (number, text)
    assert found.hint


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("a: Note: b # c\n", 'a: "Note: b" # c\n'),
        ('- a: b: "c"\n', "- a: 'b: \"c\"'\n"),
        ("a:\n\tb:\n\t\tc: |\n\t\t\td\n", "a:\n  b:\n    c: |\n      d\n"),
        ("a:\n  b: 1\n \tc: 2\n", "a:\n  b: 1\n   c: 2\n"),
        ('a: "\\ud83d\\ude00!"', 'a: "\\U0001F600!"'),
    ],
)
def test_unambiguous_problems_have_a_fix(text: str, fixed: str) -> None:
    fix = finding(text).fix
    assert fix is not None
    assert not fix.safe
    source = SourceText("a.yaml", text)
    for edit in sorted(fix.edits, key=lambda edit: edit.span.start, reverse=True):
        start, end = source.offset(edit.span.start), source.offset(edit.span.end)
        text = text[:start] + edit.text + text[end:]
    assert text == fixed
