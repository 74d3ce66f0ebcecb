"""Every complaint of tomli in our words, at the token to mend."""

from __future__ import annotations

import pytest

from toolc.compiler.load_toml import parse_toml
from toolc.diagnostics import Diagnostic, Diagnostics
from toolc.source import SourceText


def complaint(text: str) -> Diagnostic:
    diagnostics = Diagnostics()
    source = SourceText("a.toml", text)
    diagnostics.add_source(source)
    assert parse_toml(source, diagnostics) is None
    [found] = diagnostics.sorted()
    return found


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ('a = «"»x\nb = 1\n', "this quote is never closed"),
        ("a = «'»x\nb = 1\n", "this quote is never closed"),
        ('a = «"""»x\n\n', "this quote is never closed"),
        ('a = «"»x', "this quote is never closed"),
        ("a = «'''»x\n", "this quote is never closed"),
        ('a = ["x", «"»y]\n', "this quote is never closed"),
        ("[a.b]\nc=1\n[a]\n«b.d» = 2", "the keys of 'a.b' stand below its header on line 1"),
        ("[a]\nb.c=1\n«[a.b]»", "'a.b' is already a table on line 2"),
        ("a = 1\n«a.b» = 2", "'a' has its whole value on line 1, and nothing can be added to it"),
        ("a = {}\n«[a.b]»", "'a' has its whole value on line 1, and nothing can be added to it"),
        ("a = {}\n«a.b»=1", "'a' has its whole value on line 1, and nothing can be added to it"),
        ("a = []\n«[[a]]»", "the table 'a' is already on line 1"),
        ("[[a]]\nb=1\n«b»=2", "the key 'b' is already on line 2"),
        ("[[a]]\nb=1\n[[a]]\nb=2\n«b»=3", "the key 'b' is already on line 4"),
        ("a = {b = 1, «b» = 2}", "the key 'b' is already on line 1"),
        ("a = {b = 1,\n «b.c» = 2}", "'b' has its whole value on line 1, and nothing can be added to it"),
        ("[a]\n[b]\n«[ a ]»", "the table 'a' is already on line 1"),
        ("[[t]]\n«[t]»", "'t' is already a list of tables on line 1"),
        ("a = {b = [1], «b.c» = 1}", "'b' has its whole value on line 1, and nothing can be added to it"),
        ("a = «foo»\n", "foo is no value in TOML"),
        ("a = «True»", "True is no value in TOML"),
        ("a = «null»", "null is no value in TOML"),
        ("«a» =\nb = 1", "a key without a value"),
        ("«a» = # c", "a key without a value"),
        ("a = [1,«,»2]", "a value is missing before this ','"),
        ("a = [«,»1]", "a value is missing before this ','"),
        ("a = [1 «2»]", "expected ',' or ']' for the '[' of line 1"),
        ("a = «[»1\nb = 2\n", "this '[' is never closed"),
        ("a = «[»1\n[foo]\n", "this '[' is never closed"),
        ("a = [\n  [1]\n  «[»2]\n]", "expected ',' or ']' for the '[' of line 1"),
        ("a = «[»1,\n", "this '[' is never closed"),
        ("a = «{»b = 1", "this '{' is never closed"),
        ("a = {b = 1 «c» = 2}", "expected ',' or '}' for the '{' of line 1"),
        ("a = {b = 1,«,» c = 2}", "a name is missing before this ','"),
        ("a = {b = 1\n«c» = 2\n", "expected ',' or '}' for the '{' of line 1"),
        ("a = «30s»", "30s is no value in TOML"),
        ("a = «1.2.3»", "1.2.3 is no value in TOML"),
        ("a = «012»", "012 is no value in TOML"),
        ("a = [«10s», 2]", "10s is no value in TOML"),
        ("a = «5.»", "5. is no value in TOML"),
        ("a = «truely»", "truely is no value in TOML"),
        ("a = «2026-13-45»", "2026-13-45 is no value in TOML"),
        ("a = «2026-01-01x»", "2026-01-01x is no value in TOML"),
        ("a = 'it'«s»'", "the text before this has already ended"),
        ('a = "say "«h»i""', "the text before this has already ended"),
        ("a = 1 «b» = 2", "nothing but a comment can follow here"),
        ('a = "x" «y»', "the text before this has already ended"),
        ("«=» 1", "a line cannot start with '='"),
        ("«}»", "this '}' closes nothing"),
        ("«{»a = 1}", "a line cannot start with '{'"),
        ("a«:» 1", "TOML has '=' between key and value, not ':'"),
        ("«a»", "a key without a value"),
        ("a «b» = 1", "expected '=' after the key a"),
        ("«é» = 1", "'é' cannot stand in a key without quotes"),
        ("na«ï»ve = 1", "'ï' cannot stand in a key without quotes"),
        ("a. «=» 1", "a name is missing before this '='"),
        ("[«]»", "a name is missing before this ']'"),
        ("«[a»", "this header is never closed"),
        ("[a «b»]", "expected ']' after the table's name"),
        ("[[a«]»", "expected ']]' after the table's name"),
        ("[[a«]» ]", "expected ']]' after the table's name"),
        ("[a.«]»", "a name is missing before this ']'"),
        ("[a]«]»", "this ']' closes nothing"),
        ("[a] «b» = 1", "nothing but a comment can follow here"),
        ("a = {«1»}", "a key without a value"),
        ("a = {«,» b = 1}", "a name is missing before this ','"),
        ("a = {«b»}", "a key without a value"),
        ('a = "«\\q»"', "\\q is no escape that TOML has"),
        ('a = "«\\u»12"', "\\u is followed by 4 hexadecimal digits"),
        ('a = "«\\ud83d\\ude00»"', "\\ud83d\\ude00 is one character as JSON escapes it, which TOML does not know"),
        ('a = "«\\ud83d»"', "\\ud83d stands for no character"),
        ('a = """«\\»  x"""', "\\ is no escape that TOML has"),
        ('«"»x = 1', "this quote is never closed"),
        ("«a.b.c»", "a key without a value"),
        ("[«é»]", "'é' cannot stand in a key without quotes"),
        ("a = «25:00:00»", "25:00:00 is no value in TOML"),
        ("a = «9e»", "9e is no value in TOML"),
        ("«-»", "a key without a value"),
        ("- «a»\n- b", "expected '=' after the key -"),
        ("a = «!x»", "!x is no value in TOML"),
        ("a = «@»", "@ is no value in TOML"),
        ("a = [1, 2]«]»", "this ']' closes nothing"),
        ("«a» = }", "a key without a value"),
        ("a = «)»", ") is no value in TOML"),
        ("a = «“x”»", "“x” is no value in TOML"),
        ("a = 5 «MiB»", "nothing but a comment can follow here"),
        ("a = [1\n «2»]\n", "expected ',' or ']' for the '[' of line 1"),
        ("a = {b = «[»1\n", "this '[' is never closed"),
        ('a = "x" «"»y"', "the text before this has already ended"),
        ("a = [{b = 1}, {b = 1, «b» = 2}]", "the key 'b' is already on line 1"),
        ("t.a = 1\n«[t]»", "'t' is already a table on line 1"),
        ('a = 1\r\nb = «"»x\r\nc = 2', "this quote is never closed"),
        ("[[a]]\n[a.b]\n[[a]]\n[a.b]\n«[a.b]»", "the table 'a.b' is already on line 4"),
    ],
)
def test_a_complaint_is_about_the_token_to_mend(marked: str, message: str) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")

    found = complaint(text)

    assert found.message == message
    assert found.span == SourceText("a.toml", text).span(start, end)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a = True", "write true, in lower case"),
        ("a = off", "write false, in lower case"),
        ("a = None", "TOML has no null: leave the key out"),
        ("a = “x”", "quotes are straight in TOML: \" or '"),
        ("a = 30s", 'put it in quotes if it is text: "30s"'),
        ("a = 0755", "a number does not begin with 0; put it in quotes if it is text"),
        ('a = "x\n', 'end it on its line; text of several lines stands in """'),
        ("a = '''x", "end it with '''"),
        ("[[t]]\n[t]", "write [[t]]"),
        ('a = "\\ud83d\\ude00"', "write the character itself, or \\U0001F600"),
    ],
)
def test_a_complaint_says_what_to_write(text: str, hint: str) -> None:
    assert complaint(text).hint == hint


def test_a_pair_of_escapes_as_json_writes_them_has_a_fix() -> None:
    fix = complaint('a = "\\ud83d\\ude00!"').fix

    assert fix is not None
    assert [edit.text for edit in fix.edits] == ["\\U0001F600"]
    assert not fix.safe
