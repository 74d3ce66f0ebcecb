import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.forked_child import in_child

from toolc.runtime.output import result_store
from toolc.runtime.output.result_store import ResultPage, ResultStore

OWNER = """
import time
from toolc.runtime.output.result_store import ResultStore
store = ResultStore()
assert store.add("stored")
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "toolc" / "scratch"


@pytest.fixture
def store() -> Iterator[ResultStore]:
    store = ResultStore()
    yield store
    store.close()


def stored_files(state: Path) -> list[Path]:
    return sorted(state.glob("*/*/result_*"))


def test_a_text_is_read_in_pages_of_whole_characters(store: ResultStore) -> None:
    name = store.add("aäöü") or ""
    assert store.read(name, 0, 4) == ResultPage("aä", 0, 3, 7)
    assert store.read(name, 3, 256) == ResultPage("öü", 3, 7, 7)
    # Offsets that no page returned: within a character, and beyond the end.
    assert store.read(name, 2, 3) == ResultPage("ö", 3, 5, 7)
    assert store.read(name, 99, 9) == ResultPage("", 99, 99, 7)


def test_all_pages_together_are_the_text(store: ResultStore) -> None:
    text = "".join(chr(0x20 + number * 37 % 0x3000) for number in range(5000))
    name = store.add(text) or ""
    pieces, at = list[str](), 0
    while (page := store.read(name, at, 257)) and page.text:
        pieces.append(page.text)
        at = page.next_offset
    assert "".join(pieces) == text


def test_only_the_session_that_stored_a_text_can_read_it(store: ResultStore) -> None:
    other = ResultStore()
    name = store.add("secret") or ""
    other.add("something")
    assert other.read(name, 0, 9) is None
    assert store.read("../" + name, 0, 9) is None
    other.close()


def test_the_folder_is_private_and_is_removed_with_the_session(state: Path, store: ResultStore) -> None:
    name = store.add("x") or ""
    (file,) = stored_files(state)
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    store.close()
    assert not file.parent.exists()
    assert store.read(name, 0, 9) is None
    assert store.add("y") is None


def test_a_forked_child_does_not_remove_the_texts(store: ResultStore) -> None:
    name = store.add("x") or ""
    assert in_child(lambda: store.close() is None)  # type: ignore[func-returns-value]
    assert store.read(name, 0, 9) == ResultPage("x", 0, 1, 1)


def test_the_folder_is_not_created_before_the_first_text(state: Path) -> None:
    ResultStore().close()
    assert not state.exists()


def test_the_oldest_texts_are_removed_first(state: Path, store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_store, "MAX_TEXTS", 2)
    monkeypatch.setattr(result_store, "MAX_BYTES", 10)
    first, second, third = (store.add(each) or "" for each in ("one", "two", "six"))
    assert store.read(first, 0, 9) is None
    assert store.read(second, 0, 9) == ResultPage("two", 0, 3, 3)
    large = store.add("01234567") or ""
    assert [store.read(each, 0, 9) for each in (second, third)] == [None, None]
    assert len(stored_files(state)) == 1
    assert store.add("0123456789ab") is None
    assert store.read(large, 0, 3) == ResultPage("012", 0, 3, 8)


def test_a_text_is_not_stored_if_writing_fails(state: Path) -> None:
    state.parent.mkdir(parents=True)
    state.write_text("not a folder", encoding="utf-8")
    assert ResultStore().add("x") is None


def test_the_texts_of_a_killed_session_are_removed(state: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, env=dict(os.environ)) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        assert len(stored_files(state)) == 1
        owner.send_signal(signal.SIGKILL)
    until = time.monotonic() + 60
    while any(state.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)  # a deeper search could fail while a folder is removed
    assert stored_files(state) == []
