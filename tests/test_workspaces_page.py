"""What ``docs/workspaces.md`` says is so: its spec works, and its list of protected paths is whole."""

from __future__ import annotations

import re
from pathlib import Path

from transaction_cases import call, doing, tree

from toolc.api import Registry
from toolc.runtime.transaction_rules import PROTECTED
from toolc.runtime.transaction_view import MOST_ENTRIES

PAGE = (Path(__file__).parents[1] / "docs" / "workspaces.md").read_text(encoding="utf-8")


def test_the_pages_spec_compiles_without_a_finding_and_changes_what_it_lists(tmp_path: Path) -> None:
    (found,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "fix.yaml").write_text(found)
    registry = Registry.load(tmp_path / "fix.yaml")
    assert registry.diagnostics.sorted() == ()
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    spec = registry.registered("fix_imports").spec
    assert not call(doing(lambda view: (view / "src" / "a.py").write_text("x\n")), spec, work).is_error
    assert call(doing(lambda view: (view / "b.py").write_text("x\n")), spec, work).is_error
    assert tree(work) == {"src": "folder", "src/a.py": "x\n"}


def test_the_page_lists_exactly_what_is_protected() -> None:
    section = PAGE.partition("## Protected paths")[2].partition("A `Makefile`")[0]
    listed = re.findall(r"`([^`]+)`", section.partition("\n- ")[2])
    assert sorted(listed) == sorted(PROTECTED)


def test_the_page_names_the_bounds() -> None:
    assert f"1 GiB and {MOST_ENTRIES:,} files" in PAGE
