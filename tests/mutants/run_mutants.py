"""Make each mistake of the sample in a copy of the source, and run the tests of its package: ``make mutants``.

Prints each mutant that survives and exits with status 1 if fewer than 95 % are killed, or if a survivor is not
explained in ``survivors.txt`` (its number, a colon, the reason). Takes several times as long as ``make test``; ``--only
toolc/policy/`` runs one package.

The tests of a package run once to measure which test runs which statement, and once in a fork without a mutant. Then
the tests that run the statement of a mutant run in a fork, fast ones first. Mutants of statements that run at import,
and mutants that survive in a fork, run in a new process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Final

from source_mutants import Mutant, sample

ROOT: Final = Path(__file__).parents[2]
EXPLAINED: Final = Path(__file__).with_name("survivors.txt")
PACKAGES: Final = (
    "backends",
    "compiler",
    "document",
    "model",
    "policy",
    "providers",
    "reporters",
    "review",
    "validation",
)
"""The packages without side effects on the host."""

COUNT: Final = 300
REQUIRED: Final = 0.95
MAX_TESTS: Final = 100
"""Tests that are tried first, closest to the module first."""

TEMPORARY: Final = "tmp"
BASELINE_SECONDS: Final = 3600
"""How long the tests of a package may take without a mutant, on a busy machine."""

FORK_SECONDS: Final = 30
"""The processor time that the tests of a mutant may take in a fork, in addition to three times what they take."""

ALSO: Final = {
    "compiler": ("tests/unit/policy/test_p*.py",),
    "review": ("tests/unit/cli/commands/test_diff*.py", "tests/unit/cli/commands/test_lock*.py"),
    "validation": ("tests/unit/review/contract/test_*.py",),
}
"""Tests in other folders: of policies, which the compiler reads, of the commands that review, and of contracts, which
need witnesses."""

ELSEWHERE: Final = {
    "toolc/model/codes.py": "tests/unit/data/test_rule_pages.py",
    "toolc/model/spec/mcp_backend.py": "tests/unit/compiler/decode/test_servers.py",
    "toolc/model/spec/sandbox.py": "tests/unit/compiler/test_schema_files.py",
}
"""Modules of constants whose values a test of another package states, such as the page of each rule."""

_PYTEST: Final = (
    sys.executable,
    "-m",
    "pytest",
    "-q",
    "-n0",
    "-x",
    "--tb=no",
    "-p",
    "no:cacheprovider",
    "--hypothesis-seed=0",
)
_stopped: Final = threading.Event()
_FAST: Final = ("-m", "not slow and not integrations")


@dataclass(frozen=True, slots=True)
class Measured:
    """What a test runs: the numbers of mutants, and the paths of modules; and how many seconds it takes."""

    name: str
    seconds: float
    runs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of the source in a temporary folder, with a folder for the temporary files of its tests."""

    folder: Path

    @classmethod
    def copy(cls, folder: Path) -> Tree:
        """Copy the files that Git does not ignore."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        (folder / TEMPORARY).mkdir()
        return cls(folder)

    def run(self, arguments: Sequence[str], timeout: float, **environment: str) -> str:
        """Run pytest with these arguments, and return its output if a test fails, or after ``timeout`` seconds."""
        variables = {
            **os.environ,
            "PYTHONPATH": f"{self.folder}:{self.folder / 'tests/mutants'}",
            "TMPDIR": str(self.folder / TEMPORARY),
            **environment,
        }
        variables.pop("CI", None)
        try:
            done = subprocess.run(
                [*_PYTEST, *arguments],
                cwd=self.folder,
                env=variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no result after {timeout:.0f} seconds"
        return done.stdout.decode()[-3000:] or "no output" if done.returncode else ""

    def is_killed(self, mutant: Mutant, groups: Sequence[Sequence[str]], timeout: float) -> bool:
        """Return whether a test fails with the mutant; the groups of tests run in this order."""
        file = self.folder / mutant.path
        source = file.read_bytes()
        file.write_bytes(mutant.apply(source))
        try:
            return any(self.run(tests, timeout) for tests in groups if tests)
        finally:
            file.write_bytes(source)
            shutil.rmtree(file.parent / "__pycache__", ignore_errors=True)  # the next mutant may have this second


def measure(tree: Tree, package: str, chosen: Sequence[Mutant]) -> list[Measured]:
    """Run the tests of a package without a mutant, and return what each of them runs.

    Raises:
        SystemExit: A test fails.
    """
    starts, measured = tree.folder / f"{package}.chosen", tree.folder / f"{package}.measured"
    paths = sorted({each.path for each in chosen})
    by_path = {path: {each.number: each.start for each in chosen if each.path == path} for path in paths}
    starts.write_text(json.dumps(by_path), encoding="utf-8")
    failed = tree.run(
        ["-p", "measuring", "--timeout=1200", *_FAST, *tests_of_package(package)],
        BASELINE_SECONDS,
        MUTANTS_CHOSEN=str(starts),
        MUTANTS_COVERAGE=str(measured),
        PYTHONDONTWRITEBYTECODE="1",
    )
    if failed:
        raise SystemExit(f"{failed}\ntests/unit/{package} fails without any mutant: correct this first")
    tests = json.loads(measured.read_text(encoding="utf-8")).items()
    return [Measured(name, seconds, frozenset(runs)) for name, (seconds, runs) in tests]


def tests_of_package(package: str) -> list[str]:
    """Return the test folder of a package, and the files elsewhere that test it."""
    others = (file for pattern in ALSO.get(package, ()) for file in sorted(ROOT.glob(pattern)))
    return [f"tests/unit/{package}", *(file.relative_to(ROOT).as_posix() for file in others)]


def mirrored_file(mutant: Mutant) -> str:
    """Return the path that the tests of the mutant's module have by the names of both."""
    _, *folders, module = mutant.path.split("/")
    return "/".join(["tests/unit", *folders, f"test_{module}"])


def tests_of(mutant: Mutant, measured: Sequence[Measured]) -> list[Measured]:
    """Return the tests that run the statement, those of the mirrored test file first, fast tests first.

    A line that runs at import, or in another process, has none: then these are the tests that run the module.
    """
    mirrored = f"{mirrored_file(mutant)}::"
    running = [each for each in measured if mutant.number in each.runs]
    of_module = [each for each in measured if mutant.path in each.runs]
    return sorted(running or of_module, key=lambda each: (not each.name.startswith(mirrored), each.seconds, each.name))


def groups_of(mutant: Mutant, measured: Sequence[Measured]) -> list[list[str]]:
    """Return the tests that can kill a mutant in a new process, in the order in which to run them.

    Slow tests run if they are in the mirrored test file, or if no other test runs the statement: it runs at import, or
    in another process.
    """
    tests = [each.name for each in tests_of(mutant, measured)]
    groups = [tests[:MAX_TESTS]]
    if mutant.path in ELSEWHERE:
        groups.append([ELSEWHERE[mutant.path]])
    if any(mutant.number in each.runs for each in measured):
        mirrored = mirrored_file(mutant)
        groups += [tests[MAX_TESTS:], [mirrored] if (ROOT / mirrored).is_file() else []]
    else:
        groups.append(tests_of_package(mutant.path.split("/")[1]))
    return groups


def killed_in_forks(tree: Tree, package: str, chosen: Sequence[Mutant], measured: Sequence[Measured]) -> set[str]:
    """Return the numbers of the mutants that tests in forks kill: those within functions, and most of them.

    Raises:
        SystemExit: The process that makes the forks ends early.
    """
    sources = {each.path: (tree.folder / each.path).read_bytes() for each in chosen}
    jobs, killed = tree.folder / f"{package}.jobs", tree.folder / f"{package}.killed"
    found = []
    for each in chosen:
        tests, source = tests_of(each, measured), sources[each.path]
        found.append(
            {
                "number": each.number,
                "path": each.path,
                "source": source.decode(),
                "mutated": each.apply(source).decode(),
                "tests": [test.name for test in tests],
                "seconds": round(FORK_SECONDS + 3 * sum(test.seconds for test in tests)),
            }
        )
    jobs.write_text(json.dumps(found), encoding="utf-8")
    killed.touch()
    options = ["-s", "--timeout=300", "--hypothesis-profile=mutants", "-p", "forked", *_FAST]
    failed = tree.run(
        [*options, *tests_of_package(package)], 4 * BASELINE_SECONDS, MUTANTS_JOBS=str(jobs), MUTANTS_KILLED=str(killed)
    )
    if failed:
        raise SystemExit(f"{failed}\nthe forks of tests/unit/{package} ended early")
    return {*killed.read_text(encoding="utf-8").split()}


def survivors_of(trees: Queue[Tree], package: str, chosen: Sequence[Mutant], explained: Container[str]) -> list[Mutant]:
    """Return the mutants of a package that no test kills, and print each."""
    tree = trees.get()
    try:
        measured = measure(tree, package, chosen)
        killed = killed_in_forks(tree, package, chosen, measured)
        print(f"{package}: {len(killed)} of {len(chosen)} mutants killed in forks, the others follow", flush=True)
        survivors = []
        timeout = BASELINE_SECONDS + 3 * sum(each.seconds for each in measured)
        for mutant in chosen:
            if _stopped.is_set():
                break
            if mutant.number in killed or tree.is_killed(mutant, groups_of(mutant, measured), timeout):
                continue
            survivors.append(mutant)
            print(f"{'explained' if mutant.number in explained else 'SURVIVED '} {mutant}", flush=True)
    finally:
        trees.put(tree)
    if not _stopped.is_set():
        print(f"{package}: {len(chosen) - len(survivors)} of {len(chosen)} mutants killed", flush=True)
    return survivors


def main() -> int:
    """Run the sample, print the survivors, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT, help="The number of mutants (%(default)s).")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="Only mutants whose path or number contains one of these."
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="Packages that are tested at the same time."
    )
    options = parser.parse_args()
    chosen = [each for each in sample(ROOT, PACKAGES, options.count) if any(text in str(each) for text in options.only)]
    if not chosen:
        parser.error("no mutant of the sample contains this text")
    explained = {line.split(":")[0] for line in EXPLAINED.read_text(encoding="utf-8").splitlines() if ":" in line}
    by_package = {name: [each for each in chosen if each.path.split("/")[1] == name] for name in PACKAGES}
    packages = sorted(filter(by_package.get, PACKAGES), key=lambda name: -len(by_package[name]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # removes the temporary folder
    with tempfile.TemporaryDirectory(prefix="toolc-mutants-") as name, ThreadPoolExecutor(options.workers) as pool:
        trees: Queue[Tree] = Queue()
        for index in range(options.workers):
            trees.put(Tree.copy(Path(name, str(index))))
        found = pool.map(lambda package: survivors_of(trees, package, by_package[package], explained), packages)
        try:
            survivors = [each for of_package in found for each in of_package]
        finally:
            _stopped.set()
    rate = 1 - len(survivors) / len(chosen)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed ({rate:.1%})")
    unexplained = [each.number for each in survivors if each.number not in explained]
    if unexplained:
        print(f"not explained in {EXPLAINED.relative_to(ROOT)}: {' '.join(unexplained)}")
    return int(rate < REQUIRED or bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
