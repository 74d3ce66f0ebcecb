"""Scratch folders are removed whatever is in them, and whoever else is removing them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from toolc.runtime.workspace import scratch_sweep


def left(owner: Path) -> None:
    """What a killed owner's calls leave: folders in folders, some that nobody may enter."""
    for number in range(20):
        scratch = owner / str(number)
        for name in ("bundle", "upper/a/b/c/d", "work/work"):
            (scratch / name).mkdir(parents=True)
            (scratch / name / "file").write_text("", encoding="ascii")
        (scratch / "work/work").chmod(0)


def test_two_at_once_leave_nothing(tmp_path: Path) -> None:
    owner = tmp_path / "owner"
    left(owner)
    both = [subprocess.Popen(scratch_sweep.command(owner)) for _ in range(2)]
    for each in both:
        each.wait()
    assert not owner.exists() or not [*owner.iterdir()]


def test_what_another_has_moved_up_meanwhile_is_not_in_the_way(tmp_path: Path) -> None:
    left(tmp_path)
    for number in range(1, 4):
        (tmp_path / f"5.{number}" / "full").mkdir(parents=True)
    scratch_sweep.remove_tree(tmp_path / "5")
    assert not (tmp_path / "5").exists()
