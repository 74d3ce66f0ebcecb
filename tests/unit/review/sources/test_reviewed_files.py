"""Which files the author of a change controls."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from toolc.review.sources.repository import Commit
from toolc.review.sources.reviewed_files import ReviewedFiles


@pytest.mark.parametrize("base", ["a commit", "a folder"])
@pytest.mark.parametrize("head", ["a commit", "a folder", "the working tree"])
def test_files_of_the_repository_and_of_the_head_are_not_outside(tmp_path: Path, base: str, head: str) -> None:
    for name in ("repository", "old", "new", "elsewhere"):
        (tmp_path / name).mkdir()
    commit = Mock(Commit)
    new = {"a commit": commit, "a folder": tmp_path / "new", "the working tree": None}[head]
    old = commit if base == "a commit" else tmp_path / "old"
    files = ReviewedFiles(old, new, Mock(top=tmp_path / "repository"), tmp_path)
    assert files.is_outside(tmp_path / "elsewhere" / "policy.yaml")
    assert files.is_outside(tmp_path / "repository" / "policy.yaml") == (base == head == "a folder")
    assert files.is_outside(tmp_path / "new" / "policy.yaml") == (head != "a folder")
