"""Decision records: at most seventy, numbered and listed by subject, each with what is not supported."""

import re

import pytest
from pages import DOCS, Page

FOLDER = DOCS / "explanation" / "decisions"
NAMES = sorted(each.name for each in FOLDER.glob("[0-9]*.md"))
MAX_RECORDS = 70


def record(name: str) -> str:
    return Page.read(f"explanation/decisions/{name.removesuffix('.md')}").text


def test_there_are_at_most_seventy_records_without_gaps() -> None:
    assert len(NAMES) <= MAX_RECORDS
    assert [name[:4] for name in NAMES] == [f"{number:04}" for number in range(1, len(NAMES) + 1)]


def test_the_index_lists_each_record_once_with_its_title() -> None:
    listed = re.findall(r"^\| (\d{4}) \| \[(.+)\]\((\S+\.md)\) \| \S", record("index.md"), re.MULTILINE)
    titles = {name: record(name).partition("\n")[0] for name in NAMES}
    assert sorted((name, f"# {number}. {title}") for number, title, name in listed) == sorted(titles.items())


@pytest.mark.parametrize("name", NAMES)
def test_a_record_has_the_same_sections_and_ends_with_what_is_not_supported(name: str) -> None:
    first, *others = re.findall(r"^## (.+)$", record(name), re.MULTILINE)
    assert (first, others[0], others[-1]) == ("Context", "Decision", "Not supported")
    assert others[1:-1] in ([], ["Consequences"])
    *_, last = record(name).partition("## Not supported\n")
    assert re.findall(r"^- \*\*", last, re.MULTILINE), "list what was left out on purpose, each with how it fails"


@pytest.mark.parametrize("name", NAMES)
def test_a_record_describes_the_present_and_not_another_record(name: str) -> None:
    text = record(name)
    assert not re.search(
        r"^(Amend|Replace|Extend)|\b(amends|amended by|replaces) \[", text, re.MULTILINE | re.IGNORECASE
    )
    assert not re.search(r"^Date: ", text, re.MULTILINE)
