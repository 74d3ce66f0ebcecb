import re
from pathlib import Path

import pytest
from pages import DOCS, ROOT

MARKDOWN = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_and_headings_exist(page: Path) -> None:
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in _anchors(target), link


def test_readme_links_to_the_parts_of_the_documentation() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for part in ("tutorial", "guides", "reference", "explanation"):
        assert f"(docs/{part}/" in readme
    assert "(docs/index.md)" in readme


def test_commands_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in MARKDOWN:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"(?:`|^(?=make [a-z-]+ +#))make ([a-z-]+)", text, re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"


def test_paths_of_the_repository_exist() -> None:
    """Paths in code spans, such as ``toolc/model/plan.py``, exist. ``NAME`` is a placeholder."""
    missing = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in MARKDOWN
        if page.name != "changelog.md"
        for path in re.findall(
            r"`((?:toolc|tests|specs|docs|sandbox-images)/[\w./-]+)`", page.read_text(encoding="utf-8")
        )
        if not re.search(r"NAME|NUMBER", path) and not (ROOT / path).exists()
    ]
    assert missing == []


def _anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as Python-Markdown creates them."""
    text = _CODE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[`*]|\]\([^)]*\)|\[", "", title) for title in titles)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in plain}
