"""The pages of the built-in tools are those that their specs give; ``--golden`` writes them."""

import re

import pytest
from pages import Page
from project.paths import DOCS
from tool_pages import FOLDER, pages

from toolc.client.registry import Registry

MAPPING = f"{FOLDER}/of-frameworks"


@pytest.mark.slow
def test_pages_match_the_specs(golden: bool) -> None:
    folder = DOCS / FOLDER
    written = pages()
    if golden:
        for path in folder.glob("*.md"):
            if path.name != "of-frameworks.md":
                path.unlink()
        for name, text in written.items():
            (DOCS / name).write_text(text, encoding="utf-8")
    found = {f"{FOLDER}/{path.name}": path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    found.pop(f"{MAPPING}.md")
    assert found == written


@pytest.mark.slow
def test_tools_of_frameworks_are_mapped_to_existing_tools() -> None:
    text = Page.read(MAPPING).text
    linked = set(re.findall(r"\[`(\w+)`\]\((\w+)\.md\)", text))
    assert all(shown == page for shown, page in linked)
    assert {name for name, _ in linked} <= set(Registry.builtin().names)
    assert len(linked) >= 18
