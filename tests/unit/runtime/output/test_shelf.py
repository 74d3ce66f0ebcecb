"""Where long results wait to be read on: private, bounded, in whole characters, and gone with the session."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolc.runtime.output import truncation as shelf_module
from toolc.runtime.output.truncation import ResultPage, ResultStore

OWNER = """
import sys, time
from toolc.runtime.output.truncation import ResultStore
shelf = ResultStore()
assert shelf.keep("kept")
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "toolc" / "scratch"


def kept_files(state: Path) -> list[Path]:
    return sorted(state.glob("*/*/result_*"))


def test_a_text_is_read_in_pages_of_whole_characters() -> None:
    shelf = ResultStore()
    name = shelf.keep("aäöü")
    assert name is not None
    first = shelf.read(name, 0, 4)
    assert first == ResultPage("aä", 0, 3, 7)
    assert shelf.read(name, 3, 256) == ResultPage("öü", 3, 7, 7)
    # Offsets that nobody was told: within a character, and beyond the end.
    assert shelf.read(name, 2, 3) == ResultPage("ö", 3, 5, 7)
    assert shelf.read(name, 99, 9) == ResultPage("", 99, 99, 7)
    shelf.close()


def test_all_pages_together_are_the_text() -> None:
    text = "".join(chr(0x20 + number * 37 % 0x3000) for number in range(5000))
    shelf = ResultStore()
    name = shelf.keep(text)
    assert name is not None
    pieces, at = list[str](), 0
    while (page := shelf.read(name, at, 257)) and page.text:
        pieces.append(page.text)
        at = page.next_offset
    assert "".join(pieces) == text
    shelf.close()


def test_only_its_own_session_can_read_it() -> None:
    one, other = ResultStore(), ResultStore()
    name = one.keep("secret")
    assert name is not None
    other.keep("something")
    assert other.read(name, 0, 9) is None
    assert one.read("../" + name, 0, 9) is None
    one.close()
    other.close()


def test_nobody_else_may_look_into_the_folder_and_it_goes_with_the_session(state: Path) -> None:
    shelf = ResultStore()
    name = shelf.keep("x")
    assert name is not None
    (file,) = kept_files(state)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    shelf.close()
    assert not file.parent.exists()
    assert shelf.read(name, 0, 9) is None
    assert shelf.keep("y") is None
    shelf.close()


def test_a_fork_that_ends_takes_nothing_away() -> None:
    shelf = ResultStore()
    name = shelf.keep("x")
    assert name is not None
    child = os.fork()
    if child == 0:
        shelf.close()
        os._exit(0)
    assert os.waitpid(child, 0) == (child, 0)
    assert shelf.read(name, 0, 9) == ResultPage("x", 0, 1, 1)
    shelf.close()


def test_nothing_is_made_before_there_is_something_to_keep(state: Path) -> None:
    ResultStore().close()
    assert not state.exists()


def test_the_oldest_goes_first(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shelf_module, "MAX_TEXTS", 2)
    monkeypatch.setattr(shelf_module, "MAX_BYTES", 10)
    shelf = ResultStore()
    first, second, third = (shelf.keep(each) or "" for each in ("one", "two", "three"))
    assert shelf.read(first, 0, 9) is None
    assert shelf.read(second, 0, 9) == ResultPage("two", 0, 3, 3)
    large = shelf.keep("0123456") or ""
    assert [shelf.read(each, 0, 9) for each in (second, third)] == [None, None]
    assert len(kept_files(state)) == 1
    assert shelf.keep("0123456789ab") is None
    assert shelf.read(large, 0, 3) == ResultPage("012", 0, 3, 7)
    shelf.close()


def test_a_disk_that_says_no_costs_the_rest_and_not_the_call(state: Path) -> None:
    state.parent.mkdir(parents=True)
    state.write_text("in the way", encoding="utf-8")
    assert ResultStore().keep("x") is None


def test_a_session_that_is_killed_leaves_nothing(state: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, env=dict(os.environ))
    assert owner.stdout is not None
    with owner.stdout:
        assert owner.stdout.readline() == b"ready\n"
    assert len(kept_files(state)) == 1
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    until = time.monotonic() + 60
    while kept_files(state) and time.monotonic() < until:
        time.sleep(0.02)
    assert kept_files(state) == []
