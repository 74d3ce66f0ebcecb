"""The documentation site builds without warnings, and makes no request to another host."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pages import DOCS, ROOT

pytestmark = pytest.mark.slow

LOADED = {"img": "src", "script": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
"""Elements that a browser loads, with the attribute of their URL."""


class _Loads(HTMLParser):
    """Collect the URLs that a browser loads with a page, and the elements that load more by script."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "link" and values.get("rel") not in {"next", "prev", "canonical"}:
            self.urls.append(values.get("href", ""))
        if tag in LOADED:
            self.urls.append(values.get(LOADED[tag], ""))
        # Material loads these from a content delivery network and from the API of a code host.
        if "mermaid" in values.get("class", "").split():
            self.urls.append("https://mermaid")
        if values.get("data-md-component") == "source":
            self.urls.append("https://source")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as ``make docs`` does, and return its folder."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", ".mkdocs.yml"]
    done = subprocess.run(
        [*command, "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.integrations
def test_the_site_has_every_page(site: Path) -> None:
    built = {str(path.relative_to(site).with_suffix("")) for path in site.rglob("*.html")}
    assert built - {"404"} == {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}


def test_every_page_is_in_the_navigation() -> None:
    config = (ROOT / ".mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ +- .*: (\S+\.md)$", config, re.MULTILINE))
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    # Lists of pages: of decision records, and of built-in tools.
    lists = ("explanation/decisions/", "reference/tools/")
    assert {page for page in pages - listed if not page.startswith(lists)} == set()


@pytest.mark.integrations
def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    for path in site.rglob("*.html"):
        parser = _Loads()
        parser.feed(path.read_text(encoding="utf-8"))
        external = [url for url in parser.urls if re.match(r"(\w+:)?//", url)]
        assert external == [], path.relative_to(site)


def test_styles_load_nothing_from_other_hosts(site: Path) -> None:
    for path in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(\w+:)?//", path.read_text(encoding="utf-8")), path.name
