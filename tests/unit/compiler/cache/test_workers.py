"""Work in several processes has the results of one process, even if workers fail."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from toolc.compiler.cache.parallel import chunked, parallel_map, worth_forking

T = TypeVar("T")

HERE = os.getpid()
NUMBERS = [*range(40)]


@pytest.fixture(autouse=True)
def processors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three processors on every machine. Threads that earlier tests have left do not count."""
    count, left = threading.active_count, threading.active_count() - 1
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2})
    monkeypatch.setattr(threading, "active_count", lambda: count() - left)


def run(work: Callable[[int], T], items: Sequence[int]) -> list[T]:
    """Call ``parallel_map`` without packing."""
    return parallel_map(work, items, lambda result: result, lambda _, result: result)


def slow_square(number: int) -> int:
    time.sleep(0.002)
    return number * number


def meet(folder: Path, count: int) -> None:
    """Wait until ``count`` processes are working, so that each has some of the work."""
    (folder / str(os.getpid())).touch()
    deadline = time.monotonic() + 60
    while len([*folder.iterdir()]) < count:
        assert time.monotonic() < deadline, "other processes did not start"
        time.sleep(0.001)


def test_results_of_several_processes_are_in_order(tmp_path: Path) -> None:
    def work(number: int) -> tuple[int, int]:
        meet(tmp_path, 3)
        return slow_square(number), os.getpid()

    found = run(work, NUMBERS)
    assert [square for square, _ in found] == [number * number for number in NUMBERS]
    assert len({pid for _, pid in found}) == 3


def test_results_of_workers_are_packed_and_unpacked(tmp_path: Path) -> None:
    def work(number: int) -> str:
        meet(tmp_path, 3)
        return str(slow_square(number))

    def unpack(number: int, packed: str) -> str:
        assert os.getpid() == HERE
        return f"{number} {packed}"

    def pack(square: str) -> str:
        assert os.getpid() != HERE
        return f"packed {square}"

    found = parallel_map(work, NUMBERS, pack, unpack)
    assert {each for each in found if " " not in each} <= {str(number * number) for number in NUMBERS}
    assert f"39 packed {39 * 39}" in found or "1521" in found
    assert any("packed" in each for each in found)


def children() -> set[str]:
    """Return the child processes, including those of other tests."""
    return {pid for each in Path("/proc/self/task").glob("*/children") for pid in each.read_text().split()}


def raises(number: int) -> int:
    raise ValueError(number)


def dies(_number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def exits(_number: int) -> int:
    sys.exit(3)


def cannot_be_sent(number: int) -> object:
    return lambda: number


@pytest.mark.parametrize("fails", [raises, dies, exits, cannot_be_sent])
def test_failed_workers_are_replaced_by_this_process(fails: object, capfd: pytest.CaptureFixture[str]) -> None:
    def work(number: int) -> object:
        if os.getpid() != HERE:
            assert callable(fails)
            return fails(number)
        return slow_square(number)

    assert run(work, NUMBERS) == [number * number for number in NUMBERS]
    assert capfd.readouterr() == ("", "")


def test_error_is_raised_and_workers_end() -> None:
    before = children()
    with pytest.raises(ValueError, match="0"):
        run(raises, NUMBERS)
    assert children() == before


def test_a_failed_fork_is_handled(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    assert run(lambda _: os.getpid(), NUMBERS) == [HERE] * 40


def test_workers_are_not_used_with_other_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert run(lambda _: os.getpid(), NUMBERS) == [HERE] * 40
    finally:
        done.set()
        thread.join()


def test_workers_are_not_used_for_one_item_or_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(lambda _: os.getpid(), [1]) == [HERE]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    assert run(lambda _: os.getpid(), NUMBERS) == [HERE] * 40


def test_number_of_chunks() -> None:
    assert chunked(range(200)) == [range(200)]
    assert worth_forking(range(201))
    several = chunked(range(201))
    assert [each for chunk in several for each in chunk] == [*range(201)]
    assert len(several) == 11
    assert len(chunked(range(100_000))) <= 255


SLEEPER = """
import os, time
from toolc.compiler.cache.parallel import parallel_map
os.sched_getaffinity = lambda _pid: {0, 1, 2}
def work(number):
    os.write(1, f"{os.getpid()}\\n".encode())
    while True:
        time.sleep(0.05)  # not one long sleep: a signal that arrives just before it does not end it
parallel_map(work, range(3), lambda result: result, lambda _, result: result)
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_their_parent(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pids = [int(process.stdout.readline()) for _ in range(3)]
        assert process.pid in pids
        process.send_signal(number)
        process.wait()
        deadline = time.monotonic() + 60
        while any(map(is_running, pids)):
            assert time.monotonic() < deadline, "a worker is still running"
            time.sleep(0.01)
