"""The wall-clock limit per file of a command, as a last resort."""

import re
import signal
import threading
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest
from compiling.compiled import ECHO, HEAD
from compiling.long_runs import compiled

from toolc.cli.main import main
from toolc.compiler.project.work_limits import limited_time, time_limit
from toolc.model.errors import UsageError

LONG = f"{HEAD}tags:\n".encode() + b"  - tag\n" * 150_000 + ECHO.encode()
"""A spec that takes more than a tenth of a second."""


@pytest.mark.parametrize("command", [["check"], ["check", "--fix", "--diff"], ["build", "--out", "out"], ["list"]])
def test_a_command_ends_when_a_file_takes_too_long(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("slow.yaml").write_bytes(LONG)
    with pytest.raises(SystemExit) as raised:
        main([*command, "slow.yaml"], seconds_per_file=0.05)
    assert raised.value.code == 2
    message = "slow.yaml: compiling this file takes longer than 0.05 seconds; split it, or report it as a bug"
    assert capsys.readouterr().err == f"toolc: {message}\n"


def test_the_former_handler_and_timer_are_restored() -> None:
    def former(*_: object) -> None:
        pass

    handler = signal.signal(signal.SIGALRM, former)
    timer = signal.setitimer(signal.ITIMER_REAL, 1000)
    try:
        with limited_time(0.05), pytest.raises(UsageError, match=r"a\.yaml"), time_limit("a.yaml"):
            _ignore_exceptions()
        assert signal.getsignal(signal.SIGALRM) is former
        assert 900 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def _ignore_exceptions() -> None:
    """Run until an exception is raised that is not an ``Exception``, like a check that reports its own failures."""
    while True:
        with suppress(Exception):
            time.sleep(1)


def test_a_signal_in_an_exit_is_left_to_the_next_one() -> None:
    """The exit may be that of the limit itself, which a busy machine may reach only when the next signal arrives."""

    class Signalled(AbstractContextManager[None]):
        def __exit__(self, *_: object) -> None:
            signal.raise_signal(signal.SIGALRM)
            exits.append("done")

    exits: list[str] = []
    with limited_time(1000), time_limit("a.yaml"), Signalled():
        pass
    assert exits == ["done"]


def test_a_match_of_a_pattern_is_interrupted() -> None:
    with limited_time(0.05), pytest.raises(UsageError), time_limit("a.yaml"):
        re.search(r"(a+)+$", "a" * 200 + "b")


def test_the_library_has_no_limit() -> None:
    handler = signal.getsignal(signal.SIGALRM)
    with time_limit("a.yaml"):
        assert signal.getsignal(signal.SIGALRM) is handler
    assert compiled("slow.yaml", LONG).document


def test_other_threads_have_no_limit() -> None:
    handlers = [signal.getsignal(signal.SIGALRM)]

    def work() -> None:
        with limited_time(0.05), time_limit("a.yaml"):
            handlers.append(signal.getsignal(signal.SIGALRM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers[0] is handlers[1]
