"""Checks of text from a model that becomes part of a statement or of data: TC407 (SQL and JSON)."""

from pathlib import Path

import pytest
from check_cases import HEAD, findings, messages, shell

PARAMETERS = "{x: {type: string}, n: {type: integer}, e: {enum: [a, b]}, o: {type: object}}"
SQL = ["a value of 'x' is inserted into this SQL statement and can change its meaning"]
JSON = ["a value of 'x' is inserted into this JSON and can change its meaning"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("{argv: [psql, -c, \"SELECT * FROM t WHERE a = '{{ x }}'\"]}", SQL),
        ('{argv: [psql, -c, "select a from t limit {{ x | trim }}"]}', SQL),
        ('{argv: [psql], stdin: "INSERT INTO t VALUES ({{ x | json }})"}', SQL),
        ('{argv: [psql], stdin: "update t set a = {{ x }}"}', SQL),
        ('{argv: [psql], stdin: "DELETE FROM t WHERE a = {{ x }}"}', SQL),
        ("{script: 'psql -c \"SELECT a FROM t WHERE b = ''$ARG_x''\" | cat'}", SQL),
        ("{script: 'psql -c \"DELETE FROM t WHERE b = ${ARG_x}\" | cat'}", SQL),
        ('{argv: [curl, -d, \'{"a": "{{ x }}"}\']}', JSON),
        ("{argv: [curl], stdin: '[{\"a\": {{ x }}}]'}", JSON),
        ('{argv: [psql, -c, "SELECT * FROM t LIMIT {{ n }}"]}', []),
        ('{argv: [psql, -c, "SELECT * FROM t ORDER BY {{ e }}"]}', []),
        ('{argv: [psql, -v, "a={{ x }}", -c, "SELECT * FROM t WHERE a = :\'a\'"]}', []),
        ('{argv: [psql, -c, "{{ x }}"]}', []),
        ('{argv: [echo, "Select one from these: {{ x }}"]}', []),
        ('{argv: [echo, "Selected {{ x }} from all"]}', []),
        ('{argv: [curl, -d, \'{"a": {{ x | json }}, "n": {{ n }}}\']}', []),
        ("{argv: [jq, '{a: .b}', \"{{ x }}\"]}", []),
        ('{script: \'psql -v "a=$ARG_x" -c "SELECT a FROM t" | cat\'}', []),
        ("{script: 'psql -c \"SELECT a FROM t LIMIT $ARG_n\" | cat'}", []),
    ],
)
def test_placeholders_inside_code_are_reported(tmp_path: Path, command: str, expected: list[str]) -> None:
    assert messages(tmp_path, "TC407", shell(PARAMETERS, command)) == expected


def test_finding_is_at_the_placeholder(tmp_path: Path) -> None:
    text = shell(
        "{x: {type: string}}",
        "\n    argv:\n      - psql\n      - >-\n        select a\n        from t where b = {{ x }}",
    )
    assert [each.split()[0] for each in findings(tmp_path, "TC407", text)] == ["tool.yaml:11:26"]


def test_python_code_is_not_checked(tmp_path: Path) -> None:
    code = "def hello(x):\n        return 'select a from b where c = ' + x\n"
    text = f"{HEAD}parameters: {{x: {{type: string}}}}\nbackend:\n  python:\n    code: |\n      {code}"
    assert findings(tmp_path, "TC407", text) == []
