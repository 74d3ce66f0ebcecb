"""Reports about specs are made by toolc itself, in a process of its own."""

from pathlib import Path

import pytest

from toolc.model.errors import UsageError
from toolc.serve.page.reports import Sources

SPEC = """\
toolc: 1
name: greet
description: Print a greeting. Use it to greet somebody. Do not use it for anything else.
backend: {shell: {argv: [echo, hello]}}
"""


def test_modules_of_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "toolc").mkdir()
    (tmp_path / "toolc" / "__main__.py").write_text("raise SystemExit(7)\n")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "greet.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="none of the 1 tools has tests"):
        Sources(Path("specs")).run_tests("greet")


def test_without_specs_nothing_can_be_reviewed() -> None:
    with pytest.raises(UsageError, match="serve a folder of specs"):
        Sources().review("")
