"""The cost of compiling 2,000 specs of 1.2 KB, compared with libyaml composing the same files.

Run with `make bench`. Rounds are interleaved, so that a slow machine affects all subjects; only the ratios are
comparable. No test fails because of a time.
"""

import hashlib
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import pytest
import yaml
from generated_specs import write_specs
from targets import judged

from toolc.client.build import write_build
from toolc.compiler.build_output import write_output
from toolc.compiler.cache.answers import Inputs, check_specs
from toolc.compiler.cache.cached_build import store_build, unchanged_build
from toolc.compiler.checks.check_registry import TOOL_CHECKS, TOOL_SET_CHECKS
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.pipeline.parallel_build import compile_and_render
from toolc.compiler.project.settings import NO_SETTINGS

COUNT = 2_000
ROUNDS = 3
NO_TARGETS: Mapping[str, float] = {}
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of specs in a separate repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path("specs")


def compose(paths: list[Path]) -> None:
    for path in paths:
        yaml.compose(path.read_bytes(), Loader=yaml.CSafeLoader)


def read_and_hash(paths: list[Path]) -> None:
    for path in paths:
        hashlib.sha256(path.read_bytes()).hexdigest()


def check_fresh(specs: Path) -> None:
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    check_specs([specs], NO_SETTINGS)


def build(specs: Path) -> None:
    write_build(compile_specs([specs]), specs.parent / "build")


def build_beside(specs: Path) -> None:
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    rebuild(specs)


def rebuild(specs: Path) -> None:
    inputs = Inputs.read(["build", None], [specs], NO_SETTINGS)
    if not unchanged_build(inputs):
        compilation, rendered = compile_and_render([specs], NO_SETTINGS, inputs.contents or {})
        names = [tool.name for tool in compilation.tools]
        built = write_output(rendered, names, compilation.toolsets, "build")
        store_build(inputs, compilation, "build", built.losses)


def best(subjects: dict[str, Callable[[], object]], clock: Callable[[], float]) -> dict[str, float]:
    """Return the time of each subject in milliseconds: the minimum of several interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for _ in range(ROUNDS):
        for name, run in subjects.items():
            start = clock()
            run()
            times[name].append((clock() - start) * 1000)
    return {name: min(each) for name, each in times.items()}


def show(
    capsys: pytest.CaptureFixture[str], found: Mapping[str, float], targets: Mapping[str, float] = NO_TARGETS
) -> None:
    """Print times and their ratios to the first one, with the targets that are met."""
    base = next(iter(found.values()))
    with capsys.disabled():
        print()
        for name, milliseconds in found.items():
            verdict = judged(milliseconds / base, targets[name]) if name in targets else ""
            print(f"  {name:52} {milliseconds:9.1f} ms {milliseconds / base:7.2f} x{verdict}")


@pytest.mark.timeout(600)
def test_check_and_build_compared_with_libyaml(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_specs(specs, COUNT)
    subjects: dict[str, Callable[[], object]] = {
        "libyaml composes": partial(compose, paths),
        "check, in one process": partial(compile_specs, [specs]),
        "build, in one process": partial(build, specs),
    }
    show(capsys, best(subjects, process_time))


@pytest.mark.timeout(600)
def test_check_and_build_on_all_processors_compared_with_libyaml(
    specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Measure wall-clock time of the command line; the machine should be otherwise idle."""
    paths = write_specs(specs, COUNT)
    subjects: dict[str, Callable[[], object]] = {
        "libyaml composes": partial(compose, paths),
        "check": partial(check_fresh, specs),
        "build": partial(build_beside, specs),
    }
    show(capsys, best(subjects, perf_counter), {"check": 3, "build": 6})


@pytest.mark.timeout(600)
def test_nothing_changed(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = write_specs(specs, COUNT)
    commands: dict[str, Callable[[], object]] = {
        "check": partial(check_specs, [specs], NO_SETTINGS),
        "build": partial(rebuild, specs),
    }
    read: dict[str, Callable[[], object]] = {"read and hash": partial(read_and_hash, paths)}
    for name, run in commands.items():
        run()
        unchanged: dict[str, Callable[[], object]] = {f"{name}, nothing changed": run}
        show(capsys, best(read | unchanged, perf_counter), {f"{name}, nothing changed": 1.5})


@pytest.mark.timeout(600)
def test_twenty_thousand_tools_cost_ten_times_two_thousand(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few, many = specs / "few", specs / "many"
    write_specs(few, COUNT)
    write_specs(many, 10 * COUNT)
    found = {}
    for name, folder in {"check 2,000": few, "check 20,000": many}.items():
        start = process_time()
        compile_specs([folder])
        found[name] = (process_time() - start) * 1000
    show(capsys, found, {"check 20,000": 11})


@pytest.mark.timeout(600)
def test_memory_of_a_check_and_a_build(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_specs(specs, COUNT)
    with capsys.disabled():
        print()
        for command in ("check", "build"):
            run = [sys.executable, "-c", PEAK, sys.executable, "-m", "toolc", command, "specs"]
            done = subprocess.run(run, capture_output=True, text=True, check=True)
            megabytes = int(done.stdout)
            holds = "holds" if megabytes <= 150 else "MISSED"
            print(f"  peak memory of {command:39} {megabytes:9} MB   to be 150 MB: {holds}")


@pytest.mark.timeout(600)
def test_each_check_has_a_share_of_the_time(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_specs(specs, COUNT)
    start = process_time()
    located = compile_specs([specs]).located
    found = {"the whole compilation": (process_time() - start) * 1000}
    shares: dict[str, float] = {}
    for each in TOOL_CHECKS:
        start = process_time()
        for tool in located:
            list(each.check(tool))
        shares[each.number] = (process_time() - start) * 1000
    for every in TOOL_SET_CHECKS:
        start = process_time()
        list(every.check(located))
        shares[every.number] = (process_time() - start) * 1000
    names = sorted(shares, key=lambda name: -shares[name])
    show(capsys, found | {name: shares[name] for name in names})


def test_start_time_of_the_command_line(
    specs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measure an installed toolc, whose modules are already compiled to bytecode."""
    (spec,) = write_specs(specs, 1)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(specs.parent / "bytecode"))

    def run(*arguments: str) -> Callable[[], object]:
        return partial(subprocess.run, [sys.executable, *arguments], capture_output=True, check=True)

    def check_one() -> None:
        shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
        run("-m", "toolc", "check", str(spec))()

    subjects = {
        "python -c 'import click'": run("-c", "import click"),
        "toolc --version": run("-m", "toolc", "--version"),
        "toolc check one.yaml": check_one,
    }
    best(subjects, _time_of_children)
    show(capsys, best(subjects, _time_of_children), {"toolc --version": 2, "toolc check one.yaml": 4})


def _time_of_children() -> float:
    """Return the processor time in seconds of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
