"""Syntax errors of TOML: the messages of the common mistakes, and the positions of all."""

from functools import partial
from typing import Final

import pytest
from compiling.places import marked, syntax_finding, unmarked

from toolc.document.toml.toml_parser import parse_toml

finding = partial(syntax_finding, parse_toml, "a.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a = «"»x\nb = 1\n', "this quote is never closed"),
        ("a = «'''»x\n", "this quote is never closed"),
        ("a = «[»1\nb = 2\n", "this '[' is never closed"),
        ("a = [1 «2»]", "expected ',' or ']' for the '[' of line 1, found '2'"),
        ("«a» =\nb = 1", "this line is incomplete: expected a value"),
        ("«a»", "this line is incomplete: expected '=' after the key"),
        ("a«:» 1", "expected '=' after the key, found ':'"),
        ("a = «foo»\n", "foo is not a TOML value"),
        ("a = [«10s», 2]", "10s is not a TOML value"),
        ("a = 1 «b» = 2", "expected the end of the line, found 'b'"),
        ("a = 'it'«s»'", "expected the end of the line, found 's'"),
        ("[a]«]»", "expected the end of the line, found ']'"),
        ("[a «b»]", "expected ']' after the name of the table, found 'b'"),
        ("«=» 1", "expected a key, a [table] or a # comment, found '='"),
        ("a. «=» 1", "expected a key, found '='"),
        ("a = 1\n«a» = 2", "the key 'a' is already defined, or is in a table that cannot be extended"),
        ("[a]\n[b]\n«[ a ]»", "the table 'a' is already defined"),
        ('a = "«\\q»"', "invalid escape sequence \\q in double quotes"),
        (
            'a = "«\\ud83d\\ude00»"',
            "\\ud83d\\ude00 is the JSON escape sequence for one character, which is not valid in TOML",
        ),
        ('a = "«\\ud83d»"', "\\ud83d does not represent a character"),
        ("a =«\xa0»1", "the character U+00A0 looks like a space but is not one"),
        ('a = "x«\x00»"', "TOML does not allow the character U+0000 here"),
    ],
)
def test_common_mistakes_have_a_message_and_a_position(text: str, message: str) -> None:
    found = finding(unmarked(text))
    assert (marked(unmarked(text), found.span), found.message) == (text, message)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('a = "x\n', 'close the string with " on the same line; use """ for several lines'),
        ("a = '''x", "close the string with '''"),
        ("a = True", 'a value is "text" in quotes, a number, true or false; TOML has no null'),
        ("a = [1 2]", "put a comma between two values"),
        ("a: 1", "write key = value; put a key in quotes if it has characters other than letters, digits, - and _"),
        ("a = 1\na = 2", "keep one of the two"),
        ("[[t]]\n[t]", "keep one of the two; for a list of tables, write [[name]] each time"),
        ('a = "\\ud83d\\ude00"', "write the character itself, or \\U0001F600"),
        ("a = 1 b = 2", 'write one key = value per line; put text in quotes, and \\" for a quote inside "..."'),
    ],
)
def test_hints_say_what_to_write(text: str, hint: str) -> None:
    assert finding(text).hint == hint


PLACES: Final = {
    "TC001": (
        "a = «'»x\nb = 1\n", 'a = «"""»x\n\n', 'a = «"»x', 'a = ["x", «"»y]\n', "a = «True»", "a = «null»",
        "«a» = # c", "a = [1,«,»2]", "a = [«,»1]", "a = «[»1\n[foo]\n", "a = [\n  [1]\n  «[»2]\n]",
        "a = «[»1,\n", "a = «{»b = 1", "a = {b = 1 «c» = 2}", "a = {b = 1,«,» c = 2}", "a = {b = 1\n«c» = 2\n",
        "a = «30s»", "a = «1.2.3»", "a = «012»", "a = «5.»", "a = «truely»", "a = «2026-13-45»",
        "a = «2026-01-01x»", 'a = "say "«hi»""', 'a = "x" «y»', "«}»", "«{»a = 1}", "a «b» = 1", "«é» = 1",
        "na«ïve» = 1", "[«]»", "«[»a", "[[a«]»", "[[a«]» ]", "[a.«]»", "[a] «b» = 1", "a = {1«}»",
        "a = {«,» b = 1}", "a = {b«}»", 'a = "«\\u»12"', 'a = """«\\»  x"""', '«"»x = 1', "«a.b.c»", "[«é»]",
        "a = «25:00:00»", "a = «9e»", "«-»", "- «a»\n- b", "a = «!x»", "a = «@»", "a = [1, 2]«]»", "a = «}»",
        "a = «)»", "a = «“x”»", "a = 5 «MiB»", "a = [1\n «2»]\n", "a = {b = «[»1\n", 'a = "x" «"»y"',
        'a = 1\r\nb = «"»x\r\nc = 2',
    ),
    "TC002": (
        "[a.b]\nc=1\n[a]\n«b.d» = 2", "[a]\nb.c=1\n«[a.b]»", "a = 1\n«a.b» = 2", "a = {}\n«[a.b]»",
        "a = {}\n«a.b»=1", "a = []\n«[[a]]»", "[[a]]\nb=1\n«b»=2", "[[a]]\nb=1\n[[a]]\nb=2\n«b»=3",
        "a = {b = 1, «b» = 2}", "a = {b = 1,\n «b.c» = 2}", "[[t]]\n«[t]»", "a = {b = [1], «b.c» = 1}",
        "a = [{b = 1}, {b = 1, «b» = 2}]", "t.a = 1\n«[t]»", "[[a]]\n[a.b]\n[[a]]\n[a.b]\n«[a.b]»",
    ),
}  # fmt: skip
"""Texts with an error, by the code of its finding; the span of the finding is in angle quotes."""


@pytest.mark.parametrize(("number", "text"), [(number, text) for number, texts in PLACES.items() for text in texts])
def test_every_error_has_a_position(number: str, text: str) -> None:
    found = finding(unmarked(text))
    assert (found.code.number, marked(unmarked(text), found.span)) == (number, text)
    assert found.hint


def test_a_json_escape_of_a_character_beyond_u_ffff_has_a_fix() -> None:
    fix = finding('a = "\\ud83d\\ude00!"').fix
    assert fix is not None
    assert [edit.text for edit in fix.edits] == ["\\U0001F600"]
    assert not fix.safe
