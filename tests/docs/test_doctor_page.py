"""docs/doctor.md shows what ``toolc doctor`` prints."""

from __future__ import annotations

import re
from pathlib import Path

from toolc.cli.probes import load_probes

PAGE = (Path(__file__).parent.parent / "docs" / "doctor.md").read_text(encoding="utf-8")


def test_the_page_counts_the_probes() -> None:
    assert set(re.findall(r"(\d+) of (\d+) probes held", PAGE)) == {(str(len(load_probes())),) * 2}


def test_the_probes_on_the_page_are_the_first_of_the_table() -> None:
    shown = re.findall(r"^  (\w.*?)  +ok +ok$", PAGE, re.MULTILINE)
    assert shown == [probe.tries for probe in load_probes()[: len(shown)]]
    assert len(shown) == 2


def test_the_files_that_the_page_links_to_are_there() -> None:
    links = re.findall(r"\]\((\.\./[^)]+|\w+\.md)\)", PAGE)
    assert len(links) >= 3
    for link in links:
        assert (Path(__file__).parent.parent / "docs" / link).exists(), link
