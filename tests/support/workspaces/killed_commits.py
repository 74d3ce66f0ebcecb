"""Commits that are killed at every step: ``killed_commits.py FOLDER WAY``, a JSON object on stdout for each.

Each commit runs in a forked child that sends itself SIGKILL before a line that changes anything, of the modules
that commit and roll back. ``WAY``: ``commit`` recovers at once, ``recovery`` kills the recovery at its steps
too, ``steps`` is a file system that knows no exchange. With ``writer`` another process changes files after the kill.
"""

import inspect
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from toolc.runtime.workspace import dir_handle, scratch, scratch_sweep
from toolc.runtime.workspace.transaction import commit, journal, recovery, transaction
from toolc.sandbox.host import janitor
from workspaces.edited_workspace import edit
from workspaces.transaction_cases import call, doing, tool, tree

WATCHED = (dir_handle, scratch_sweep, commit, journal, recovery)
CHANGES = re.compile(r"rename\(|mkdir\(|unlink\(|rmdir\(|chmod\(|open\(|symlink\(|write|sync\(|call\(")
STEPS = {
    (module.__file__, number)
    for module in WATCHED
    for number, line in enumerate(inspect.getsource(module).splitlines(), 1)
    if CHANGES.search(line)
}
FILES = {module.__file__ for module in WATCHED}


def make(folder: Path) -> None:
    (folder / "d" / "sub").mkdir(parents=True)
    (folder / "swap").mkdir()
    for name in ("a", "b", "kind", "swap/in", "d/x", "d/sub/y"):
        (folder / name).write_text(f"{name}\n")


def act(view: Path) -> None:
    """Make changes of every kind in a folder."""
    edit(view)
    (view / "kind").unlink()
    (view / "kind").mkdir()
    (view / "kind" / "in").write_text("in\n")
    shutil.rmtree(view / "swap")
    (view / "swap").write_text("file\n")
    (view / "d").chmod(0o500)
    (view / "e" / "closed").mkdir()
    (view / "e" / "closed" / "z").write_text("z\n")
    (view / "e" / "closed").chmod(0)


def write_to(folder: Path) -> dict[str, list[object]]:
    """Change files as another process, one of them with the same size and time; return what must be kept."""
    status = (folder / "a").stat()
    (folder / "a").write_bytes(b"t" * status.st_size)
    os.utime(folder / "a", ns=(status.st_atime_ns, status.st_mtime_ns))
    (folder / "d").chmod(0o711)
    (folder / "theirs").write_text("theirs\n")
    written = state(folder)
    return {name: written[name] for name in ("a", "d", "theirs")}


def state(folder: Path) -> dict[str, list[object]]:
    return {name: [text, oct((folder / name).lstat().st_mode)] for name, text in tree(folder).items()}


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Run ``work`` in a child that is killed before step ``step``; return False if it has fewer steps."""
    child = os.fork()
    if child == 0:
        left = step

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename not in FILES:
                return None
            left -= event == "line" and (frame.f_code.co_filename, frame.f_lineno) in STEPS
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        for module, name in ((transaction, "commit"), (transaction, "discard"), (scratch_sweep, "sweep")):
            vars(module)[name] = _traced(vars(module)[name], trace)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def _traced(function: Callable[..., object], trace: Callable[..., Any]) -> Callable[..., object]:
    # Not all the time: a trace makes everything slow.
    def traced(*arguments: object) -> object:
        sys.settrace(trace)
        try:
            return function(*arguments)
        finally:
            sys.settrace(None)

    return traced


def owners() -> list[Path]:
    return sorted(scratch._base().iterdir())


def recover() -> None:
    for owner in owners():
        scratch_sweep.sweep(owner)


def main() -> None:
    top, way = Path(sys.argv[1]), sys.argv[2]
    os.environ["XDG_STATE_HOME"] = str(top / "state")
    vars(janitor)["register"] = lambda *_: None  # recovery is to be ours alone
    if way == "steps":
        for module in (commit, recovery):
            vars(module)["rename"] = dir_handle._rename_in_steps
    step, inner, folder = 0, 0, top / "work"
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        make(folder)
        before = state(folder)
        was_killed = killed_at(step, lambda: call(doing(act), tool(), folder))
        middle = state(folder)
        kept = write_to(folder) if way == "writer" else {}
        again = way == "recovery" and was_killed and killed_at(inner, recover)
        recover()
        report = {
            "step": step,
            "inner": inner,
            "before": before,
            "middle": middle,
            "after": state(folder),
            "kept": kept,
        }
        for staged in scratch._base().glob(f"*/*/{journal.STAGED}"):
            # The user has restored what is needed.
            report["old"] = sorted(path.read_text() for path in staged.iterdir() if path.is_file())
            shutil.rmtree(staged)
            recover()
        sys.stdout.write(json.dumps(report | {"left": [str(each) for each in owners()]}) + "\n")
        if not was_killed:
            return
        inner, step = (inner + 5, step) if again else (0, step + (17 if way == "recovery" else 1))


if __name__ == "__main__":
    main()
