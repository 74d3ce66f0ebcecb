import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys
from pathlib import Path
from toolc.runtime.workspace.dir_handle import DirHandle
from toolc.runtime.workspace.transaction.view import copy_tree
from toolc.runtime.workspace.transaction.diff import find_differences

real, made = map(Path, sys.argv[1:])
with DirHandle.open(str(real)) as source, DirHandle.open(str(made)) as target:
    view = copy_tree(source, target, 1000)
    print(sorted(str(path.relative_to(made)) for path in made.rglob("*")))
    (made / "folder").mkdir()
    (made / "folder/new").write_text("new")
    (made / "own/new").write_text("new")
    for change in find_differences(source, view, ()).changes: print(change.path, change.action, change.refused)
"""


def test_mounts_in_the_workspace_are_not_copied_or_written(tmp_path: Path) -> None:
    """Includes bind mounts of the same file system, which have the same device number."""
    real, made, outside = (tmp_path / name for name in ("real", "made", "outside"))
    for folder in (real / "own", real / "folder", made, outside):
        folder.mkdir(parents=True)
    for file in (real / "own/file", real / "file", outside / "file"):
        file.write_text("text", encoding="utf-8")
    mounts = f"mount --bind {outside} {real}/folder && mount --bind {outside}/file {real}/file"
    namespace = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    done = subprocess.run(
        [*namespace, "sh", "-ec", f'{mounts}; exec "$@"', "sh", sys.executable, "-c", PROGRAM, str(real), str(made)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "['own', 'own/file']",
        "folder changed another file system, which the tool did not see, is mounted there",
        "folder/new changed another file system, which the tool did not see, is mounted there",
        "own/new added ",
    ]
