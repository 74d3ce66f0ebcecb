import subprocess
from pathlib import Path

from toolc.runtime.workspace import scratch_sweep


def create_scratches(owner: Path) -> None:
    """Create the scratch folders of a killed owner, with nested folders, some without permissions."""
    for number in range(20):
        scratch = owner / str(number)
        for name in ("bundle", "upper/a/b/c/d", "work/work"):
            (scratch / name).mkdir(parents=True)
            (scratch / name / "file").write_text("", encoding="ascii")
        (scratch / "work/work").chmod(0)


def test_two_concurrent_sweeps_remove_everything(tmp_path: Path) -> None:
    owner = tmp_path / "owner"
    create_scratches(owner)
    both = [subprocess.Popen(scratch_sweep.sweep_command(owner)) for _ in range(2)]
    for each in both:
        each.wait()
    assert not owner.exists() or not [*owner.iterdir()]


def test_folders_that_another_sweep_has_moved_up_are_not_overwritten(tmp_path: Path) -> None:
    create_scratches(tmp_path)
    for number in range(1, 4):
        (tmp_path / f"5.{number}" / "full").mkdir(parents=True)
    scratch_sweep.remove_tree(tmp_path / "5")
    assert not (tmp_path / "5").exists()
