"""``result.template`` is parsed at build and never rendered."""

from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD, found_in, tool_of


def with_template(template: str) -> str:
    return f"{HEAD}{ECHO}result:\n  template: |\n    " + template.replace("\n", "\n    ") + "\n"


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10 ** 10 }}{{ 'a' | center(10 ** 10) }}{{ range(10 ** 12) | list }}",
        "{% for each in result recursive %}{{ loop.index }}{{ each.name | upper }}{% endfor %}",
        "{% macro row(x, y=1) %}{{ x }}{{ y }}{{ varargs }}{% endmacro %}{{ row(result) }}",
        "{% set total = namespace(n=0) %}{% set total.n = 1 %}{{ total.n }}{% with a = 1 %}{{ a }}{% endwith %}",
        "{{ text if result is none else result | tojson }}",
    ],
)
def test_full_jinja_is_kept_unchanged(tmp_path: Path, template: str) -> None:
    assert tool_of(tmp_path, with_template(template)).result.template == template + "\n"


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{{ result", "7:5 TC114 'template' cannot be read: unexpected end of template"),
        ("ok\n  {% if %}", "8:7 TC114 'template' cannot be read: Expected an expression"),
        ("{{ results }}", "7:8 TC114 a result template has no variable 'results'"),
        ("ok\n{{ result is nune }}", "8:18 TC114 Jinja2 has no test 'nune'"),
        ("{{ args.who }}", "7:8 TC406 there is no parameter 'who'"),
        ("{% extends 'a' %}", "7:5 TC114 a result template cannot load another template"),
        ("{{ (" * 2000, "6:13 TC114 'template' is nested too deeply"),
    ],
)  # fmt: skip
def test_errors_are_reported_on_their_line(tmp_path: Path, template: str, found: str) -> None:
    assert found_in(tmp_path, with_template(template))[0].startswith(found)
