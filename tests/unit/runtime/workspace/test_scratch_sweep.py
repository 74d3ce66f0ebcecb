import subprocess
import sys
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
    program = "import sys; from toolc.runtime.workspace.scratch_sweep import sweep_owner; sweep_owner(sys.argv[1])"
    both = [subprocess.Popen([sys.executable, "-c", program, str(owner)]) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert not owner.exists() or not [*owner.iterdir()]


def test_folders_that_another_sweep_has_moved_up_are_not_overwritten(tmp_path: Path) -> None:
    create_scratches(tmp_path)
    for number in range(1, 4):
        (tmp_path / f"5.{number}" / "full").mkdir(parents=True)
    scratch_sweep.remove_tree(tmp_path / "5")
    assert not (tmp_path / "5").exists()


def copy_in(scratch: Path, folder: Path) -> None:
    """Create a scratch folder that records a copy in ``folder``, with a subfolder that cannot be entered."""
    scratch.mkdir(parents=True)
    (scratch / "copy").symlink_to(folder)
    (folder / "workspace/sub").mkdir(parents=True)
    (folder / "workspace/sub/file").write_text("", encoding="ascii")
    (folder / "workspace/sub").chmod(0)


def test_a_copy_of_the_workspace_is_removed_with_its_scratch_folder(tmp_path: Path) -> None:
    copy_in(tmp_path / "owner/1", tmp_path / "copy")
    (tmp_path / "owner/2").mkdir()
    (tmp_path / "owner/2/copy").symlink_to(tmp_path / "never-created")
    assert scratch_sweep.sweep(tmp_path / "owner").removed
    assert not [*tmp_path.iterdir()]


def test_a_link_that_a_tool_made_is_not_followed(tmp_path: Path) -> None:
    """A folder with another name was moved up from what a tool wrote."""
    (tmp_path / "other/sub").mkdir(parents=True)
    (tmp_path / "owner/1.99.3").mkdir(parents=True)
    (tmp_path / "owner/1.99.3/copy").symlink_to(tmp_path / "other")
    scratch_sweep.sweep(tmp_path / "owner")
    assert [each.name for each in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other/sub").is_dir()
