"""Every complaint of libyaml in our words, at the token to mend."""

from __future__ import annotations

import pytest

from toolc.compiler.load_yaml import parse_yaml
from toolc.diagnostics import Diagnostic, Diagnostics
from toolc.source import SourceText


def complaint(text: str) -> Diagnostic:
    diagnostics = Diagnostics()
    source = SourceText("a.yaml", text)
    diagnostics.add_source(source)
    assert parse_yaml(source, diagnostics) is None
    [found] = diagnostics.sorted()
    return found


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("a: 1\nbackend: «[»\n", "this '[' is never closed"),
        ("backend: «[»", "this '[' is never closed"),
        ("backend: «{»", "this '{' is never closed"),
        ("a: «[»1,\n", "this '[' is never closed"),
        ("a: «[»[1],\n", "this '[' is never closed"),
        ("a: [«{»b: 1\n", "this '{' is never closed"),
        ("a: b\n«\t»c: d", "a tab cannot indent in YAML"),
        ("-«\t»a", "a tab cannot stand here in YAML"),
        ("- a\n-«\t»- b", "a tab cannot stand here in YAML"),
        ("a: x\n«\t»y\nb: 1", "a tab cannot indent in YAML"),
        ("a: |\n«\t»x", "a tab cannot indent in YAML"),
        ("a: |\n  x\n«\t»y\n", "a tab cannot indent in YAML"),
        ('a: "«\\ud83d\\ude00»"', "\\ud83d\\ude00 is one character as JSON escapes it, which YAML does not know"),
        ('a: "«\\ud83d»"', "\\ud83d stands for no character"),
        ('a: "«\\x»4"', "\\x is followed by 2 hexadecimal digits"),
        ('a: "«\\U00110000»"', "\\U00110000 stands for no character"),
        ("«...»", "'...' ends a document, and none has begun"),
        ("a: 1\n...\n«b»: 2", "a document ends at '...', and this stands after it"),
        (
            "«%YAML» 2.0\n---\na",
            "a line that starts with '%' is a directive, and this is none that a spec can have",
        ),
        (
            "%YAML 1.1\n«%YAML» 1.1\n---\na",
            "a line that starts with '%' is a directive, and this is none that a spec can have",
        ),
        ("«%FOO»\n---\na: 1", "a line that starts with '%' is a directive, and this is none that a spec can have"),
        ("«%» x\na: 1", "a line that starts with '%' is a directive, and this is none that a spec can have"),
        ("«%YAML» x\n---", "a line that starts with '%' is a directive, and this is none that a spec can have"),
        (
            "«%YAML» 1.1.1\n---\n",
            "a line that starts with '%' is a directive, and this is none that a spec can have",
        ),
        ("«%TAG»\n---\n", "a line that starts with '%' is a directive, and this is none that a spec can have"),
        (
            "«%TAG» ! x y\n---\n",
            "a line that starts with '%' is a directive, and this is none that a spec can have",
        ),
        (
            "%TAG ! a:\n«%TAG» ! b:\n---\n",
            "a line that starts with '%' is a directive, and this is none that a spec can have",
        ),
        ("%YAML 1.2\n«a»: 1", "a line '---' stands between lines with '%' and the document"),
        ("a: «!<x»\nb: 1", "a tag that has no meaning in a spec"),
        ("a: «!a!b» 1", "a tag that has no meaning in a spec"),
        ("a: «!x»{y} 1", "a tag that has no meaning in a spec"),
        ("a: «!<>» 1", "a tag that has no meaning in a spec"),
        ("a: «!%z»", "a tag that has no meaning in a spec"),
        ("a: «&»", "an unquoted '&' starts an anchor in YAML, and this is none"),
        ("a: «&a&b» 1", "an unquoted '&' starts an anchor in YAML, and this is none"),
        ("a: &a «*b»", "a value has one anchor and one tag at most, and an alias has neither"),
        ("a: &a «&b» c", "a value has one anchor and one tag at most, and an alias has neither"),
        ("a: !x «!y» z", "a value has one anchor and one tag at most, and an alias has neither"),
        ("a: «*»", "an unquoted '*' starts an alias in YAML, and this is none"),
        ("a: «*b» c", "an alias to an anchor that does not exist"),
        ("«*a» : 1", "an alias to an anchor that does not exist"),
        ("a: «*b»\nb: &b 1", "an alias to an anchor that does not exist"),
        ("a: |«0»\n x", "'0' is one sign too many, or a wrong one, for a block of text"),
        ("a: |1«0»\n x", "'0' is one sign too many, or a wrong one, for a block of text"),
        ("a: |2«x»\n", "text cannot stand beside the '|' or '>' that announces it"),
        ("a: |-«+»\n x", "'+' is one sign too many, or a wrong one, for a block of text"),
        ("a: > «b»", "text cannot stand beside the '|' or '>' that announces it"),
        ("a: |\n\n\n   \n  «x»\n", "the blank line 4 is indented deeper than this first line of the text"),
        ("a: |\n    x\n  «y»\n z", "this does not belong to the map that starts on line 1"),
        ('a: «"»x\n---\ny"', "this quote is never closed"),
        ("a: «'»x\n...\n", "this quote is never closed"),
        ('a: «"»x', "this quote is never closed"),
        ('a: «"»x\nb: 1\n', "this quote is never closed"),
        ("a: «@»x", "an unquoted value cannot start with '@'"),
        ("a: «`»x`", "an unquoted value cannot start with '`'"),
        ("a: «%»x", "an unquoted value cannot start with '%'"),
        ("«%x»: 1", "a line that starts with '%' is a directive, and this is none that a spec can have"),
        ("a: «-» b", "a list cannot start on the line of its key"),
        ("- a: 1\n «b»: 2", "this does not belong to the list that starts on line 1"),
        ("- a\n  - b\n«c»: d", "this does not belong to the list that starts on line 1"),
        ("a: b\n«-» c", "this does not belong to the map that starts on line 1"),
        ("a:\n - b\n «c»: d", "this does not belong to the list that starts on line 2"),
        ("a: b«:» c", "a ':' where no key can stand"),
        ("«a b»\nc: d", "a key without a ':'"),
        ("a: «?» b", "an unquoted value cannot start with '?'"),
        ("a: «}»", "this '}' closes nothing"),
        ("a: «]»", "this ']' closes nothing"),
        ("a: [b«}»}", "this '}' does not close the '[' of line 1"),
        ("a: {b«]»}", "this ']' does not close the '{' of line 1"),
        ("a: {b: [c«}»", "this '}' does not close the '[' of line 1"),
        ("a: [b: c«:» d]", "expected ',' or ']' for the '[' of line 1"),
        ("a: {b: c d«:» e}", "expected ',' or '}' for the '{' of line 1"),
        ('a: {b: "c" «d»}', "expected ',' or '}' for the '{' of line 1"),
        ("a: [b, «,» c]", "a value is missing before this ','"),
        ("a: [«,»]", "a value is missing before this ','"),
        ("a: {«,»}", "a value is missing before this ','"),
        ("a: [b] «c»", "the value before this has already ended"),
        ("a: {b: c} «d»", "the value before this has already ended"),
        ('a: "b" «c»', "the value before this has already ended"),
        ('a: "b"«:» c', "a ':' where no key can stand"),
        ('"a" «b»: c', "the value before this has already ended"),
        ("a: b\n c\nd: e\n «f»: g", "a key cannot stand here: this line goes on with the value above"),
        ("a:\n  b: 1\n   «c»: 2", "a key cannot stand here: this line goes on with the value above"),
        ("a:\n    b: 1\n  «c»: 2", "this does not belong to the map that starts on line 1"),
        ("  a: 1\n«b»: 2", "this is indented less than the first line of the document"),
        ('a: "x«\\»', "\\ is no escape that YAML has"),
        ("a: «[»b # c", "this '[' is never closed"),
        ("# c\n«@»", "an unquoted value cannot start with '@'"),
        ("a: x«:» ", "a ':' where no key can stand"),
        ("key: value\n «key2»: value", "a key cannot stand here: this line goes on with the value above"),
        ("a: |\n x\n«y»", "a key without a ':'"),
        ("a«:»b\nc: d", "a space is missing after this ':'"),
        ("a: «[»\n1,\n2\nb: 3", "this '[' is never closed"),
        ('a: «"»b\n c', "this quote is never closed"),
        ("a: 'it'«s»'", "the value before this has already ended"),
        ("a: x #y\n  «z»", "this does not belong to the map that starts on line 1"),
        ('"a"«:»b', "a space is missing after this ':'"),
        ("a: '\\n' «b»", "the value before this has already ended"),
        ("«[»1, 2", "this '[' is never closed"),
        ("«{»a: 1", "this '{' is never closed"),
        ("a: «{»\n  b: 1\nc: 2", "this '{' is never closed"),
        ("a: «[»\n  b\nc: 2\n", "this '[' is never closed"),
        ("x: {«%» if a %}", "an unquoted value cannot start with '%'"),
        ("a: \u2018x«:» y\u2019", "a ':' where no key can stand"),
        ("a:\n  - b: 1\n   «c»: 2\n", "this does not belong to the list that starts on line 2"),
        ('a: "b" # c\nd«:»"e"\n', "a space is missing after this ':'"),
        ("name: foo\ndescription: Note«:» bar\n", "a ':' where no key can stand"),
        ("a:«\u00a0»b\nc: d\n", "U+00A0 looks like a space, and is none to YAML"),
        ("- - a\n «-b»\n", "this does not belong to the list that starts on line 1"),
        ("a: >-«x»\n  b", "text cannot stand beside the '|' or '>' that announces it"),
        ("[a]«]»", "this ']' closes nothing"),
        ("{a: b}«}»", "this '}' closes nothing"),
        ("a: b\n«}»", "this '}' closes nothing"),
        ("- a\n«]»", "this ']' closes nothing"),
        ("a: 'x' «'»y'", "the value before this has already ended"),
    ],
)
def test_a_complaint_is_about_the_token_to_mend(marked: str, message: str) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")

    found = complaint(text)

    assert found.message == message
    assert found.span == SourceText("a.yaml", text).span(start, end)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: [1,\n", "end it with ']'"),
        ("a: 'x", "end the text with '"),
        ('a: "\\ud83d\\ude00"', "write the character itself, or \\U0001F600"),
        ("a: - b", "start it on the next line, or put the value in quotes if it is text that starts with '-'"),
        ("a:\n\n   \n\tb: 1", "indent with spaces"),
        ('a: "b\nc: "d"', "end the text before line 2, if something else begins there"),
    ],
)
def test_a_complaint_says_what_to_write(text: str, hint: str) -> None:
    assert complaint(text).hint == hint


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("a: Note: b # c\n", 'a: "Note: b" # c\n'),
        ('- a: b: "c"\n', "- a: 'b: \"c\"'\n"),
        ("a:\n\tb:\n\t\tc: |\n\t\t\td\n", "a:\n  b:\n    c: |\n      d\n"),
        ("a:\n  b: 1\n \tc: 2\n", "a:\n  b: 1\n   c: 2\n"),
        ('a: "\\ud83d\\ude00!"', 'a: "\\U0001F600!"'),
    ],
)
def test_what_can_be_mended_by_rote_has_a_fix(text: str, mended: str) -> None:
    fix = complaint(text).fix
    assert fix is not None
    assert not fix.safe

    source = SourceText("a.yaml", text)
    for edit in sorted(fix.edits, key=lambda edit: edit.span.start, reverse=True):
        start, end = source.offset(edit.span.start), source.offset(edit.span.end)
        text = text[:start] + edit.text + text[end:]

    assert text == mended
