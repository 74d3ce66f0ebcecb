"""Make each mistake of the sample in a copy of the source, and run the tests of its package: ``make mutants``.

Prints each mutant that survives and exits with status 1 if fewer than 95 % are killed, or if a survivor is not
explained in ``survivors.txt`` (its number, a colon, the reason).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Final

from coverage import CoverageData
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

ELSEWHERE: Final = {
    "toolc/model/codes.py": "tests/unit/data/test_rule_pages.py",
    "toolc/review/rules.py": "tests/unit/data/test_rule_pages.py",
}
"""Modules of constants whose values a test of another package states: each code and slug is on the page of its rule."""

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


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of the source in a temporary folder, with the coverage of each package by its own tests."""

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
        return cls(folder)

    def run(self, arguments: Sequence[str], timeout: float, **environment: str) -> str:
        """Run pytest with these arguments, and return its summary if a test fails, or after ``timeout`` seconds."""
        variables = {**os.environ, "PYTHONPATH": f"{self.folder}:{self.folder / 'tests/mutants'}", **environment}
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
            return f"no result after {timeout} seconds"
        return done.stdout.decode()[-3000:] if done.returncode else ""

    def is_killed(self, mutant: Mutant, groups: Sequence[Sequence[str]]) -> bool:
        """Return whether a test fails with the mutant; the groups of tests run in this order."""
        file = self.folder / mutant.path
        source = file.read_bytes()
        file.write_bytes(mutant.apply(source))
        try:
            return any(self.run(tests, 1200) for tests in groups if tests)
        finally:
            file.write_bytes(source)


def covering(tree: Tree, packages: Sequence[str], workers: int) -> Mapping[str, CoverageData]:
    """Run the tests of each package, and return which test runs which line."""

    def measure(package: str) -> CoverageData:
        data = tree.folder / f"{package}.coverage"
        options = ["-p", "measuring", "--timeout=1200", "-m", "not slow", f"tests/unit/{package}"]
        failed = tree.run(options, 1800, MUTANTS_COVERAGE=str(data), PYTHONDONTWRITEBYTECODE="1")
        if failed:
            raise SystemExit(f"{failed}\nthe tests of {package} fail without any mutant")
        measured = CoverageData(str(data))
        measured.read()
        return measured

    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(packages, pool.map(measure, packages), strict=True))


def tests_of(mutant: Mutant, tree: Tree, coverage: CoverageData) -> list[list[str]]:
    """Return the tests that can kill a mutant, in groups: those that run the line, the tests of its folder, the rest.

    A line that runs at import, or in another process, has no test: then the tests that run any line of the module are
    first. The whole package runs for these lines only.
    """
    of_lines = coverage.contexts_by_lineno(str(tree.folder / mutant.path))
    statement = max((line for line in of_lines if line <= mutant.line), default=0)
    running = {each for each in of_lines.get(statement, []) if each}
    of_module = {each for contexts in of_lines.values() for each in contexts if each}
    _, *folders, module = mutant.path.removesuffix(".py").split("/")
    folder, package = "/".join(["tests/unit", *folders]), f"tests/unit/{folders[0]}"
    mirrored = f"{folder}/test_{module}.py::"
    tests = sorted(
        running or of_module, key=lambda each: (not each.startswith(mirrored), not each.startswith(f"{folder}/"), each)
    )
    groups = [tests[:MAX_TESTS], tests[MAX_TESTS:]]
    if mutant.path in ELSEWHERE:
        groups.append([ELSEWHERE[mutant.path]])
    if folder != package and (tree.folder / folder).is_dir():
        groups.append([folder])
    if not running:
        groups.append([package])
    return groups


def killed_in_forks(tree: Tree, package: str, chosen: Sequence[Mutant], coverage: CoverageData) -> set[str]:
    """Return the numbers of the mutants that tests in forks kill: those within functions, and most of them."""

    def job(mutant: Mutant, number: str, mutated: str) -> dict[str, object]:
        tests = [test for group in tests_of(mutant, tree, coverage) for test in group if "::" in test]
        source = (tree.folder / mutant.path).read_text(encoding="utf-8")
        return {"number": number, "path": mutant.path, "source": source, "mutated": mutated or source, "tests": tests}

    jobs, killed = tree.folder / f"{package}.jobs", tree.folder / f"{package}.killed"
    unchanged = [job(each, "unchanged", "") for each in chosen[:1]]
    mutated = [job(each, each.number, each.apply((tree.folder / each.path).read_bytes()).decode()) for each in chosen]
    jobs.write_text(json.dumps([*unchanged, *mutated]), encoding="utf-8")
    killed.touch()
    options = ["-s", "--timeout=60", "-p", "forked", "-m", "not slow", f"tests/unit/{package}"]
    failed = tree.run(options, 7200, MUTANTS_JOBS=str(jobs), MUTANTS_KILLED=str(killed))
    numbers = {*killed.read_text(encoding="utf-8").split()}
    if failed or "unchanged" in numbers:
        raise SystemExit(f"{failed}\nthe tests of {package} fail in forks without any mutant")
    return numbers


def main() -> int:
    """Run the sample, print the survivors, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="Only mutants whose path or number contains one of these."
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    chosen = [each for each in sample(ROOT, PACKAGES, options.count) if any(text in str(each) for text in options.only)]
    explained = {line.split(":")[0] for line in EXPLAINED.read_text(encoding="utf-8").splitlines() if ":" in line}
    with tempfile.TemporaryDirectory(prefix="toolc-mutants-") as name:
        trees: Queue[Tree] = Queue()
        copies = [Tree.copy(Path(name, str(index))) for index in range(options.workers)]
        for tree in copies:
            trees.put(tree)
        used = sorted({each.path.split("/")[1] for each in chosen})
        coverage = covering(copies[0], used, options.workers)

        def run_forks(package: str) -> set[str]:
            mutants = [each for each in chosen if each.path.split("/")[1] == package]
            return killed_in_forks(copies[0], package, mutants, coverage[package])

        with ThreadPoolExecutor(options.workers) as pool:
            killed_at_first = set[str]().union(*pool.map(run_forks, used))
        print(f"{len(killed_at_first)} of {len(chosen)} mutants killed by the tests that run the function", flush=True)

        def survives(mutant: Mutant) -> bool:
            if mutant.number in killed_at_first:
                return False
            tree = trees.get()
            try:
                killed = tree.is_killed(mutant, tests_of(mutant, copies[0], coverage[mutant.path.split("/")[1]]))
            finally:
                trees.put(tree)
            if not killed:
                print(f"{'explained' if mutant.number in explained else 'SURVIVED '} {mutant}", flush=True)
            return not killed

        with ThreadPoolExecutor(options.workers) as pool:
            survivors = [mutant for mutant, alive in zip(chosen, pool.map(survives, chosen), strict=True) if alive]
    rate = 1 - len(survivors) / len(chosen)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed ({rate:.1%})")
    return int(rate < REQUIRED or any(each.number not in explained for each in survivors))


if __name__ == "__main__":
    sys.exit(main())
