"""What ``docs/workspaces.md`` says is so: its spec works, and its list of protected paths is whole."""

from __future__ import annotations

import re
from pathlib import Path

from transaction_cases import call, doing, tree

from toolc.api import Registry
from toolc.result import Image, Resource
from toolc.runtime.result_files import MOST_FILES
from toolc.runtime.transaction_rules import PROTECTED
from toolc.runtime.transaction_view import MOST_ENTRIES
from toolc.spec import Limits

PAGE = (Path(__file__).parents[1] / "docs" / "workspaces.md").read_text(encoding="utf-8")


def test_the_pages_spec_compiles_without_a_finding_and_changes_what_it_lists(tmp_path: Path) -> None:
    found = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    (tmp_path / "fix.yaml").write_text(found)
    registry = Registry.load(tmp_path / "fix.yaml")
    assert registry.diagnostics.sorted() == ()
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    spec = registry.registered("fix_imports").spec
    assert not call(doing(lambda view: (view / "src" / "a.py").write_text("x\n")), spec, work).is_error
    assert call(doing(lambda view: (view / "b.py").write_text("x\n")), spec, work).is_error
    assert tree(work) == {"src": "folder", "src/a.py": "x\n"}


def test_the_second_spec_returns_the_files_that_it_names(tmp_path: Path) -> None:
    found = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[1]
    (tmp_path / "plot.yaml").write_text(found)
    registry = Registry.load(tmp_path / "plot.yaml")
    assert registry.diagnostics.sorted() == ()

    def plot(view: Path) -> None:
        (view / "plot.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        (view / "notes").mkdir()
        (view / "notes" / "a.md").write_text("# Up\n")

    work = tmp_path / "work"
    work.mkdir()
    spec = registry.registered("plot_column").spec
    result = call(doing(plot), spec, work, arguments={"table": "a.csv"})
    assert result.content == (
        Image(b"\x89PNG\r\n\x1a\n", "image/png"),
        Resource(b"# Up\n", "text/markdown", "notes/a.md"),
    )
    assert tree(work) == {}
    assert f"{Limits().output_bytes // 1024} KiB" in PAGE
    assert f"are {MOST_FILES} at most" in PAGE


def test_the_page_lists_exactly_what_is_protected() -> None:
    section = PAGE.partition("## Protected paths")[2].partition("A `Makefile`")[0]
    listed = re.findall(r"`([^`]+)`", section.partition("\n- ")[2])
    assert sorted(listed) == sorted(PROTECTED)


def test_the_page_names_the_bounds() -> None:
    assert f"1 GiB and {MOST_ENTRIES:,} files" in PAGE
