"""The janitor removes what its process has left, however this process ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from engines.waiting_sandboxes import until

from toolc.sandbox.host import janitor_process
from toolc.sandbox.host.janitor_process import KINDS, read_removals, remove_tree, sweep

OWNER = """\
import os, sys
from pathlib import Path
from toolc.sandbox.host import janitor
from toolc.sandbox.host.owner import Owner
owner, store = Owner.current(), Path(sys.argv[1])
for _ in range(2):
    janitor.register("store", str(store), owner.label())
(owner.directory() / "left").mkdir(exist_ok=True)
(store / f"{owner.label()}-1" / "made").mkdir(parents=True)
(store / f"{owner.label()}0-1").mkdir()
"""
# It waits in short steps: a signal that arrives just before a wait begins does not end that wait.
WAIT = """\
import contextlib, select
with contextlib.suppress(KeyboardInterrupt):
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        pass
"""


def start_owner(store: Path, then: str) -> subprocess.Popen[str]:
    """Start a process that leaves two folders, and in ``store`` a folder of another owner."""
    argv = [sys.executable, "-c", f"{OWNER}\nprint(owner.directory(), flush=True)\n{then}", str(store)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def is_removed(store: Path, directory: Path) -> bool:
    """Return whether only the folder of the other owner is left."""
    return not directory.exists() and [each.name for each in store.iterdir()] == [f"{directory.name}0-1"]


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda process: process.kill(), id="kill -9"),
        pytest.param(lambda process: process.send_signal(signal.SIGINT), id="ctrl-c"),
        pytest.param(lambda process: process.stdin.close(), id="normal exit"),
    ],
)
def test_what_a_process_leaves_is_removed(tmp_path: Path, end: Callable[[subprocess.Popen[str]], None]) -> None:
    with start_owner(tmp_path, WAIT) as process:
        directory = Path(first_line(process))
        assert ((directory / "left").is_dir(), len([*tmp_path.iterdir()])) == (True, 2)
        end(process)
        process.wait()
        until(lambda: is_removed(tmp_path, directory))


def test_a_forked_child_does_not_delay_it(tmp_path: Path) -> None:
    with start_owner(tmp_path, "if os.fork() == 0: sys.stdin.read()") as process:
        directory = Path(first_line(process))
        assert process.wait() == 0
        until(lambda: is_removed(tmp_path, directory))
        assert process.stdin is not None
        process.stdin.close()


KILLED = """\
pid = janitor._STATE.pid
os.kill(pid, 9)
while not janitor._is_broken(janitor._STATE.pipe):
    pass
"""


@pytest.mark.parametrize("folder", ["store", "store / 'other'"], ids=["the same", "another"])
def test_a_killed_janitor_is_replaced_by_the_next_start(tmp_path: Path, folder: str) -> None:
    again = f'janitor.register("store", str({folder}), owner.label())\nprint(janitor._STATE.pid != pid)'
    with start_owner(tmp_path, KILLED + again) as process:
        directory = Path(first_line(process))
        assert first_line(process) == "True"
        assert process.wait() == 0
        until(lambda: is_removed(tmp_path, directory))


def test_sandboxes_are_removed_before_the_folders_that_they_use(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[tuple[str, ...]] = []

    def record(kind: str, *arguments: str) -> bool:
        removed.append((kind, *arguments))
        return False

    monkeypatch.setattr(janitor_process, "_remove", record)
    lines = b'["scratch", "/a"]\n["control group", "x"]\n["store", "/b"]\n["container", "1", "2"]\n["sto'
    for remove in read_removals(lines):
        remove()
    assert removed == [("container", "1", "2"), ("control group", "x"), ("store", "/b"), ("scratch", "/a")]
    assert [each for each, *_ in removed] == [*KINDS]


def saying(sign: Path, *, until: int) -> Callable[[], bool]:
    """Return a removal that writes a dot, and finds something until so many are written."""

    def remove() -> bool:
        with sign.open("a") as file:
            file.write(".")
        return sign.stat().st_size <= until

    return remove


@pytest.mark.parametrize("found", [0, 3])
def test_removals_repeat_until_they_have_found_nothing_twice(found: int, tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    assert sweep([saying(sign, until=found)], time.monotonic() + 60)
    assert sign.read_text(encoding="utf-8") == "." * (found + 2)


def test_a_hanging_removal_does_not_block_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(janitor_process, "DEADLINE_SECONDS", 0.1)
    sign = tmp_path / "sign"

    def hang() -> bool:
        time.sleep(0 if sign.exists() else 1000)
        return False

    # On a machine that stalls the other may be given up too; then it has the next round.
    assert sweep([hang, saying(sign, until=0)], time.monotonic() + 60)


def busy(sign: Path, seconds: float) -> Callable[[], bool]:
    """Return a removal that uses the processor so long, and then creates ``sign``."""

    def remove() -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pass
        sign.touch()
        return False

    return remove


@pytest.mark.slow
def test_a_busy_removal_may_continue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For example one that rolls back a large commit: it takes longer than a deadline, but does not hang."""
    monkeypatch.setattr(janitor_process, "DEADLINE_SECONDS", 1.0)
    sign = tmp_path / "done"
    # Where the machine stalls, work looks like a hang: then the next round has to do.
    assert sweep([busy(sign, 2)], time.monotonic() + 60)
    assert sign.exists()


def test_a_busy_removal_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(janitor_process, "DEADLINE_SECONDS", 0.5)
    monkeypatch.setattr(janitor_process, "MAX_SECONDS", 0.6)
    sign = tmp_path / "done"
    assert not sweep([busy(sign, 1000)], time.monotonic() + 0.1)
    assert not sign.exists()


def test_removals_that_always_find_something_or_fail_are_stopped() -> None:
    def fail() -> bool:
        raise OSError("no such daemon")

    for remove in (lambda: True, fail):
        assert not sweep([remove], time.monotonic() + 0.2)


def test_remove_tree_keeps_mounts_and_targets_of_links(tmp_path: Path) -> None:
    assert not remove_tree(Path("/proc"))
    assert not remove_tree(Path("relative"))
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to("/etc")
    assert remove_tree(tmp_path / "a")
    assert Path("/etc/passwd").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("name", ["janitor_process.remove_tree", "store_sweep.remove"])
def test_bind_mounts_in_a_removed_folder_are_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / "our s" / "point").mkdir(parents=True)
    program = (
        "import sys; from pathlib import Path; from toolc.sandbox.host import janitor_process, store_sweep;"
        f"sys.exit({name}(Path(sys.argv[1])))"
    )
    script = 'mount --bind "$1/precious" "$1/our s/point" && exec "$2" -c "$3" "$1/our s"'
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path), sys.executable, program]
    subprocess.run(argv, check=True)
    assert (tmp_path / "precious" / "file").exists()
