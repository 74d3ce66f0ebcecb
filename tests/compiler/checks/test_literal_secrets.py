"""TC601: a secret in a spec or in a file of a tool."""

from __future__ import annotations

from pathlib import Path

from checked import HEAD, findings, shell

from toolc.compiler.checks import literal_secrets

KEY = "AKIA" + "Q3EGRZ7PXYB2MNKL"
"""In two parts, so that nobody who looks for secrets finds one here."""


def test_in_a_value_and_in_a_comment(tmp_path: Path) -> None:
    text = shell("{}", "{argv: [a]}", f"sandbox: {{env: {{V: '{KEY}'}}}} # was {KEY}\n")
    assert findings(tmp_path, literal_secrets, text) == [
        "tool.yaml:7:21 this looks like an AWS access key",
        "tool.yaml:7:51 this looks like an AWS access key",
    ]


def test_in_a_file_of_a_script(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(f"export ID={KEY}\n", encoding="utf-8")
    assert findings(tmp_path, literal_secrets, shell("{}", "{file: run.sh}")) == [
        "run.sh:1:11 this looks like an AWS access key"
    ]


def test_in_a_python_file_and_the_files_it_takes_along(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"def hello():\n    return '{KEY}'\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text(KEY, encoding="utf-8")
    text = f"{HEAD}backend: {{python: {{file: a.py, files: ['*.txt']}}}}\n"
    assert findings(tmp_path, literal_secrets, text) == [
        "a.py:2:13 this looks like an AWS access key",
        "b.txt:1:1 this looks like an AWS access key",
    ]


def test_inline_code_is_reported_where_it_stands(tmp_path: Path) -> None:
    text = f"{HEAD}backend:\n  python:\n    code: |\n      def hello():\n          return '{KEY}'\n"
    assert findings(tmp_path, literal_secrets, text) == ["tool.yaml:8:19 this looks like an AWS access key"]
