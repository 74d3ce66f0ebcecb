"""The janitor runs the registered commands after its process has ended, however it ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from oci_cases import until

from toolc.sandbox.host import janitor_process
from toolc.sandbox.host.janitor_process import remove_tree, sweep

OWNER = """\
import os, sys
from toolc.sandbox.host import janitor
from toolc.sandbox.host.owner import Owner
janitor.register([sys.executable, "-c", sys.argv[1], sys.argv[2]])
janitor.register([sys.executable, "-c", sys.argv[1], sys.argv[2]])
directory = Owner.current().directory()
(directory / "left").mkdir(exist_ok=True)
"""
# It waits in short steps: a signal that arrives just before a wait begins does not end that wait.
WAIT = """\
import contextlib, select
with contextlib.suppress(KeyboardInterrupt):
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        pass
"""
SAY = "import sys; open(sys.argv[1], 'a').write('swept\\n')"


def start_owner(sign: Path, then: str, command: str = SAY) -> subprocess.Popen[str]:
    program = f"{OWNER}\nprint(directory, flush=True)\n{then}"
    argv = [sys.executable, "-c", program, command, str(sign)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda process: process.kill(), id="kill -9"),
        pytest.param(lambda process: process.send_signal(signal.SIGINT), id="ctrl-c"),
        pytest.param(lambda process: process.stdin.close(), id="normal exit"),
    ],
)
def test_the_command_is_run_twice_and_the_directory_removed(
    tmp_path: Path, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    sign = tmp_path / "sign"
    with start_owner(sign, WAIT) as process:
        directory = Path(first_line(process))
        assert (directory / "left").is_dir()
        assert not sign.exists()
        end(process)
        process.wait()
        # The next start of anybody's removes a dead owner's folder too, and may be first.
        assert until(lambda: not directory.exists() and sign.exists() and len(sign.read_text().split()) == 2)
    assert sign.read_text(encoding="utf-8") == "swept\n" * 2


def test_commands_repeat_until_nothing_is_left(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    thrice = "import sys; f = open(sys.argv[1], 'a+'); f.write('.'); f.seek(0); sys.exit(len(f.read()) <= 3)"
    with start_owner(sign, "", thrice) as process:
        directory = Path(first_line(process))
        # Others remove a dead owner's folder too, and may be first.
        assert until(lambda: not directory.exists() and sign.exists() and len(sign.read_text()) == 5)
    assert sign.read_text(encoding="utf-8") == "....."


def test_a_forked_child_does_not_delay_it(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    with start_owner(sign, "if os.fork() == 0: sys.stdin.read()") as process:
        directory = Path(first_line(process))
        assert process.wait() == 0
        assert until(lambda: sign.exists() and not directory.exists())
        assert process.stdin is not None
        process.stdin.close()


KILLED = """\
pid = janitor._STATE.pid
os.kill(pid, 9)
while not janitor._is_broken(janitor._STATE.pipe):
    pass
"""


@pytest.mark.parametrize(
    ("next_command", "expected"),
    [("sys.argv[1]", "swept\n"), ("sys.argv[1].replace('swept', 'other')", "swept\nother\n")],
)
def test_a_killed_janitor_is_replaced_by_the_next_start(tmp_path: Path, next_command: str, expected: str) -> None:
    sign = tmp_path / "sign"
    again = f'janitor.register([sys.executable, "-c", {next_command}, sys.argv[2]])\nprint(janitor._STATE.pid != pid)'
    with start_owner(sign, KILLED + again) as process:
        directory = Path(first_line(process))
        assert first_line(process) == "True"
        assert process.wait() == 0
        assert until(lambda: not directory.exists() and sign.exists() and sign.read_text() == expected * 2)


def test_folders_are_removed_after_the_sandboxes_that_use_them(tmp_path: Path) -> None:
    sign = tmp_path / "sign"
    folders_first = """\
janitor.register_folders([sys.executable, "-c", sys.argv[1].replace("swept", "folders"), sys.argv[2]])
janitor.register([sys.executable, "-c", sys.argv[1].replace("swept", "sandboxes"), sys.argv[2]])
"""
    with start_owner(sign, folders_first) as process:
        directory = Path(first_line(process))
        assert until(lambda: not directory.exists() and sign.exists() and len(sign.read_text().split()) == 6)
    assert sign.read_text(encoding="utf-8") == "swept\nsandboxes\nfolders\n" * 2


def test_a_hanging_command_does_not_block_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(janitor_process, "DEADLINE_SECONDS", 0.1)
    sign = tmp_path / "sign"
    hangs = ["sh", "-c", 'test -e "$1" || exec sleep 1000', "sh", str(sign)]
    # On a machine that stalls the other may be given up too; then it has the next round.
    assert sweep([hangs, ["touch", str(sign)]], time.monotonic() + 60)


BUSY = """
import pathlib, sys, time
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
pathlib.Path(sys.argv[1]).touch()
"""


def busy(sign: Path, seconds: float) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", BUSY, str(sign), str(seconds)]


@pytest.mark.slow
def test_a_busy_command_may_continue(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For example one that rolls back a large commit: it takes longer than a deadline, but does not hang."""
    monkeypatch.setattr(janitor_process, "DEADLINE_SECONDS", 1.0)
    sign = tmp_path / "done"
    # Where the machine stalls, work looks like a hang: then the next round has to do.
    assert sweep([busy(sign, 2)], time.monotonic() + 60)
    assert sign.exists()


def test_a_busy_command_has_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(janitor_process, "DEADLINE_SECONDS", 0.5)
    monkeypatch.setattr(janitor_process, "MAX_SECONDS", 0.6)
    sign = tmp_path / "done"
    assert not sweep([busy(sign, 1000)], time.monotonic() + 0.1)
    assert not sign.exists()


def test_commands_that_always_fail_are_stopped() -> None:
    assert not sweep([["false"]], time.monotonic() + 0.2)


def test_a_command_that_cannot_be_run() -> None:
    assert not sweep([["/no/such/command"]], time.monotonic() + 0.2)


def test_remove_tree_keeps_mounts_and_targets_of_links(tmp_path: Path) -> None:
    assert not remove_tree(Path("/proc"))
    assert not remove_tree(Path("relative"))
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "link").symlink_to("/etc")
    assert remove_tree(tmp_path / "a")
    assert Path("/etc/passwd").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_remove_tree_keeps_bind_mounts(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / "our s" / "point").mkdir(parents=True)
    program = (
        "import sys; from pathlib import Path; from toolc.sandbox.host.janitor_process import remove_tree;"
        "sys.exit(remove_tree(Path(sys.argv[1])))"
    )
    script = 'mount --bind "$1/precious" "$1/our s/point" && exec "$2" -c "$3" "$1/our s"'
    argv = ["unshare", "--mount", "sh", "-c", script, "sh", str(tmp_path), sys.executable, program]
    subprocess.run(argv, check=True)
    assert (tmp_path / "precious" / "file").exists()
