"""Parse templates and their placeholders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolc.compiler.templates.parse import parse
from toolc.model.template import Filter, Placeholder


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("plain", ("plain",)),
        ("{{ path }}", (Placeholder("path"),)),
        ("{{path}}", (Placeholder("path"),)),
        ("a {{ x }} b{{ y }}\r\n", ("a ", Placeholder("x"), " b", Placeholder("y"), "\r\n")),
        ("{{ a.b['c d'].e }}", (Placeholder("a", ("b", "c d", "e")),)),
        ("{{ a | join(', ') | upper }}", (Placeholder("a", (), (Filter("join", ", "), Filter("upper"))),)),
        ("{{ a | join('}}') }}", (Placeholder("a", (), (Filter("join", "}}"),)),)),
        ('{{ a["}}"] }}', (Placeholder("a", ("}}",)),)),
        ("{{ '{{' }}.Names{{ '}}' }}", ("{{.Names}}",)),
        ("{% if x %}{# no #}{%- raw -%}", ("{% if x %}{# no #}{%- raw -%}",)),
        ("}} { { $x ${y} {z}", ("}} { { $x ${y} {z}",)),
        ("{{ x\n | upper }}\n", (Placeholder("x", (), (Filter("upper"),)), "\n")),
    ],
)
def test_text_becomes_parts(text: str, parts: tuple[str | Placeholder, ...]) -> None:
    parsed = parse(text)

    assert parsed.problems == ()
    assert parsed.template.parts == parts


@pytest.mark.parametrize(
    "expression",
    [
        "a + b", "'a' * n", "-a", "a ~ b", "a()", "a.items()", "a if b", "a is defined", "not a", "a == b",
        "a[0]", "a.0", "a[b]", "a[1:2]", "[a]", "{'a': 1} ", "(a, b)", "1", "true", "none", "a b", "", " ", "a |",
        "a | attr('x')", "a | upper('x')", "a | join(1)", "a | join('x', 'y')", "a | join(sep='x')", "'a' | upper",
        "(a | upper).b", "a | join(*b)", "a -", "- a -", "(" * 3000 + "a" + ")" * 3000, ".Names",
    ],
)  # fmt: skip
def test_other_expressions_are_rejected(expression: str) -> None:
    text = f"before {{{{{expression}}}}} after"

    problems = parse(text).problems

    assert [(problem.start, problem.end) for problem in problems] == [(7, len(text) - 6)]


@pytest.mark.parametrize(
    ("expressions", "kind"),
    [
        ("a + b; a - b; a * b; a / b; a // b; a % b; a ** b; -a; +a", "arithmetic"), ("a(); a.b()", "a call"),
        ("a if b; a and b; a or b; not a", "a condition"), ("1; true; none; 1.5", "a number or other constant"),
        ("a is defined", "a test"), ("[a]; (a, b)", "a list"), ("{'a': 1} ", "a map"),
        ("a == b; a < b", "a comparison"),
        ("a ~ b", "joining with '~'"),
    ],
)  # fmt: skip
def test_the_message_names_what_is_not_allowed(expressions: str, kind: str) -> None:
    found = [each.message for text in expressions.split(";") for each in parse(f"{{{{ {text} }}}}").problems]
    assert found == [f"{kind} is not allowed in a placeholder"] * len(expressions.split(";"))


def test_every_problem_is_found() -> None:
    parsed = parse("{{ a + 1 }}{{ b }}{{ c() }}{{")

    assert [problem.message for problem in parsed.problems] == [
        "arithmetic is not allowed in a placeholder",
        "a call is not allowed in a placeholder",
        "'{{' has no '}}'",
    ]
    assert [piece.placeholder.name for piece in parsed.pieces] == ["b"]


@given(st.text().filter(lambda text: "{{" not in text))
def test_text_without_placeholders_is_unchanged(text: str) -> None:
    assert parse(text).template.render({}) == text


@given(st.text(alphabet="{}'\"\\ ax|.([])\r\n-+%#", max_size=60))
def test_any_text_parses_or_has_a_problem(text: str) -> None:
    parsed = parse(text)

    assert all(text[problem.start : problem.end].startswith("{{") for problem in parsed.problems)
    assert all(text[piece.start : piece.end].endswith("}}") for piece in parsed.pieces)


@given(st.text(), st.text(), st.text())
def test_arguments_are_never_parsed_as_templates(before: str, value: str, after: str) -> None:
    before, after = before.replace("{", ""), after.replace("{", "")

    assert parse(f"{before}{{{{ x }}}}{after}").template.render({"x": value}) == before + value + after
