"""Every example in docs/coming-from.md prints what the page says, and the tools that it names are there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pages import ROOT, Page, check_program, run

from toolc.api import Registry

PAGE = Page.of("coming-from")
PARTS = {part.partition("\n")[0]: part for part in PAGE.text.split("\n## ")[1:]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page, and the plugin that it calls."""
    shutil.copytree(ROOT / "specs" / "plugins" / "python", tmp_path / "specs" / "plugins" / "python")
    return PAGE.place(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("title", PARTS)
def test_the_programs_of_a_part_print_what_it_says(title: str, folder: Path) -> None:
    (program,) = Page(PARTS[title]).programs()
    check_program(folder, program)


@pytest.mark.slow
def test_commands_print_what_the_page_says(folder: Path) -> None:
    for block in PAGE.blocks("console"):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = step.partition("\n")
            assert run(folder, "bash", "-c", command).rstrip("\n") == expected.rstrip("\n")


@pytest.mark.slow
def test_its_specs_have_no_findings_and_pass_their_tests(folder: Path) -> None:
    specs = sorted(str(path.relative_to(folder)) for path in (folder / "specs").glob("*.yaml"))
    assert run(folder, "toolc", "check", "--strict", *specs) == "7 tools: no errors\n"
    assert run(folder, "toolc", "test", "specs/city_weather.yaml").endswith("2 passed, 0 failed\n")


def test_the_built_in_tools_that_it_names_are_there() -> None:
    rows = re.findall(r"^\| .* \| (`.*) \|$", PARTS["A Go tool interface"], re.MULTILINE)
    rows += re.findall(r"^\| .*\) \| (`.*) \|$", PARTS["A tool API with a manager and composites"], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z]+_[a-z]+|bash|calculator)`", row)}
    named -= {"psql_query", "is_error", "run_batch"}
    named |= {"knowledge_search", "remember", "web_search", "file_read", "file_write", "file_list", "http_fetch"}
    named |= {f"schedule_{verb}" for verb in ("create", "list", "update", "delete")}
    assert named >= {"bash", "calculator", "database_query", "database_execute", "http_request"}
    assert named - set(Registry.builtin().names) == set()


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)]+)\)", PAGE.text))))
def test_its_links_lead_somewhere(link: str) -> None:
    path, _, anchor = link.partition("#")
    target = ROOT / "docs" / (path or "coming-from.md")
    assert target.exists()
    if anchor:
        titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
