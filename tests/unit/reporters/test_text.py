"""Findings as people read them: exact renderings."""

import pytest

from toolc.model.diagnostics import Code, Diagnostics, Severity
from toolc.model.source import Position, SourceText, Span
from toolc.reporters.text import WIDTH, printable, render

BAD = Code("TC101", Severity.ERROR, "a key that has no meaning here")
POOR = Code("TC204", Severity.WARNING, "a description that is too short")


def span(line: int, column: int, end: int, end_line: int | None = None) -> Span:
    return Span("specs/a.yaml", Position(line, column), Position(end_line or line, end))


def findings(text: str) -> Diagnostics:
    diagnostics = Diagnostics()
    diagnostics.add_source(SourceText("specs/a.yaml", text))
    return diagnostics


def rendered(text: str, where: Span) -> list[str]:
    """The source line and the caret line under it."""
    diagnostics = findings(text)
    diagnostics.add(BAD, "message", where)
    return render(diagnostics, color=False).split("\n")[1:3]


def test_a_finding_has_position_message_and_help() -> None:
    diagnostics = findings("toolc: 1\nname: hello\ndescripton: Say hello\n")
    diagnostics.add(BAD, "unknown key 'descripton'", span(3, 1, 11), "did you mean 'description'?")
    assert render(diagnostics, color=False) == (
        "specs/a.yaml:3:1: error TC101: unknown key 'descripton'\n"
        "  3 | descripton: Say hello\n"
        "    | ^^^^^^^^^^\n"
        "    = help: did you mean 'description'?\n"
        "\n"
        "1 error\n"
    )


def test_findings_are_sorted_and_counted() -> None:
    diagnostics = findings("".join(f"line{n}\n" for n in range(1, 13)))
    diagnostics.add(BAD, "third", span(12, 5, 7), "first line\nsecond line")
    diagnostics.add(POOR, "first", span(2, 1, 6))
    diagnostics.add(BAD, "second", span(2, 3, 4))
    assert render(diagnostics, color=False) == (
        "specs/a.yaml:2:1: warning TC204: first\n"
        "  2 | line2\n"
        "    | ^^^^^\n"
        "\n"
        "specs/a.yaml:2:3: error TC101: second\n"
        "  2 | line2\n"
        "    |   ^\n"
        "\n"
        "specs/a.yaml:12:5: error TC101: third\n"
        "  12 | line12\n"
        "     |     ^^\n"
        "     = help: first line\n"
        "             second line\n"
        "\n"
        "2 errors, 1 warning\n"
    )


def test_a_file_that_was_not_read_has_no_source_line() -> None:
    diagnostics = Diagnostics()
    diagnostics.add(BAD, "no such file", span(1, 1, 2), "create it")
    assert render(diagnostics, color=False) == (
        "specs/a.yaml:1:1: error TC101: no such file\n    = help: create it\n\n1 error\n"
    )


def test_colors_of_position_severity_and_carets() -> None:
    diagnostics = findings("ab\n")
    diagnostics.add(POOR, "short", span(1, 2, 3), "more")
    assert render(diagnostics, color=True) == (
        "\x1b[1mspecs/a.yaml:1:2\x1b[0m: \x1b[1;33mwarning TC204\x1b[0m: \x1b[1mshort\x1b[0m\n"
        "  \x1b[34m1 |\x1b[0m ab\n"
        "    \x1b[34m|\x1b[0m  \x1b[1;33m^\x1b[0m\n"
        "    \x1b[34m=\x1b[0m help: more\n"
        "\n"
        "1 warning\n"
    )


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("a\tb: x", span(1, 3, 4), ["  1 | a   b: x", "    |     ^"]),
        ("漢字: x", span(1, 5, 6), ["  1 | 漢字: x", "    |       ^"]),
        ("\uff21: x", span(1, 2, 3), ["  1 | \uff21: x", "    |   ^"]),
        ("e\u0301: x", span(1, 4, 5), ["  1 | e\u0301: x", "    |   ^"]),
        ("😀: x", span(1, 1, 2), ["  1 | 😀: x", "    | ^^"]),
        ("a: |\n  b\n", span(1, 4, 1, 3), ["  1 | a: |", "    |    ^"]),
        ("a:   \nb", span(1, 1, 2, 2), ["  1 | a:", "    | ^^"]),
        ("a:", span(1, 3, 3), ["  1 | a:", "    | ^"]),
        ("a:", span(1, 9, 12), ["  1 | a:", "    | ^"]),
        ("a:\n", span(7, 1, 2), ["  1 | a:", "    | ^"]),
        ("a: 1\r\nb: 2\r\n", span(1, 4, 5), ["  1 | a: 1", "    |    ^"]),
    ],
)
def test_carets_are_under_the_text(text: str, where: Span, expected: list[str]) -> None:
    assert rendered(text, where) == expected


def test_control_characters_are_shown_as_code_points() -> None:
    assert rendered("a\x1b[2Jb\u202ec\u00a0d: x", span(1, 6, 7)) == [
        "  1 | a<U+001B>[2Jb<U+202E>c<U+00A0>d: x",
        "    |             ^",
    ]


def test_messages_hints_and_paths_are_escaped() -> None:
    diagnostics = Diagnostics()
    where = Span("a\x1b.yaml", Position(1, 1), Position(1, 2))
    diagnostics.add(BAD, "unknown key '\x07'", where, "drop \u200b")
    assert render(diagnostics, color=False) == (
        "a<U+001B>.yaml:1:1: error TC101: unknown key '<U+0007>'\n    = help: drop <U+200B>\n\n1 error\n"
    )


@pytest.mark.parametrize("length", [300, 100_000])
def test_long_lines_are_cut_around_the_caret(length: int) -> None:
    code, carets = rendered("x" * length + "BAD" + "y" * length, span(1, length + 1, length + 4))
    assert code.startswith("  1 | …xxx")
    assert code.endswith("yyy…")
    assert len(code) == len("  1 | ") + WIDTH + 2
    assert [code[i] for i, mark in enumerate(carets) if mark == "^"] == ["B", "A", "D"]


def test_long_spans_are_cut_with_their_line() -> None:
    code, carets = rendered("k: " + "v" * 500, span(1, 4, 504))
    assert code == "  1 | k: " + "v" * (WIDTH - 3) + "…"
    assert carets == "    |    " + "^" * (WIDTH - 3)


def test_combining_characters_do_not_make_a_line_endless() -> None:
    assert len(rendered("e" + "\u0301" * 100_000, span(1, 1, 2))[0]) < 1000


def test_printable_keeps_visible_characters() -> None:
    assert printable("Grüße, 漢字 😀!") == "Grüße, 漢字 😀!"
