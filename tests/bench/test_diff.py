"""The cost of a diff: two states of 2,000 tools of which one changed, compared with a check."""

import subprocess
import sys
from pathlib import Path
from time import perf_counter

import pytest
from generated_specs import write_specs
from test_compiler import PEAK, show

COUNT = 2_000
STEPS = (1_000, 2_000, 4_000)
ROUNDS = 5
CHECK = "check"
DIFF = "diff, one changed"
TARGETS = {DIFF: 2.0}
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")


def commit() -> None:
    """Create a repository with one commit from the specs of this folder."""
    for words in (("init", "--quiet"), ("add", "specs"), ("commit", "--quiet", "--message", "all")):
        subprocess.run((*GIT, *words), check=True)


@pytest.mark.timeout(600)
def test_a_diff_compared_with_a_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    first, *_ = write_specs(Path("specs"), COUNT)
    commit()
    first.write_text(first.read_text(encoding="utf-8").replace("label: ", "label: New "), encoding="utf-8")
    subjects = {CHECK: ("check", "specs"), DIFF: ("diff", "HEAD", "--path", "specs", "--summary")}
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(ROUNDS + 1):
        for name, words in subjects.items():
            begun = perf_counter()
            subprocess.run((sys.executable, "-m", "toolc", *words), capture_output=True, check=True)
            times[name].append(perf_counter() - begun)
    show(capsys, {name: min(each[1:]) * 1000 for name, each in times.items()}, TARGETS)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", STEPS)
def test_memory_of_a_diff_of_all_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    paths = write_specs(Path("specs"), count)
    commit()
    for path in paths:
        path.write_text(path.read_text(encoding="utf-8").replace("label: ", "label: New "), encoding="utf-8")
    diff = ("diff", "HEAD", "--path", "specs", "--summary")
    run = (sys.executable, "-c", PEAK, sys.executable, "-m", "toolc", *diff)
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    megabytes = int(done.stdout)
    each = megabytes / count * 1024
    with capsys.disabled():
        print(f"\n  peak memory of diff, all of {count:5} changed {megabytes:9} MB {each:8.1f} KB a tool")
