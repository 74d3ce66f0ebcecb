"""Make each mistake of the sample in a copy of the source, and run the tests of its package: ``make mutants``.

Prints each mutant that survives and exits with status 1 if fewer than 95 % are killed, or if a survivor is not
explained in ``survivors.txt`` (its number, a colon, the reason).
"""

from __future__ import annotations

import argparse
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
MAX_TESTS: Final = 150
"""Tests that run the mutated line and are tried first. If all of them pass, every test of the package runs."""

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

    def run(self, arguments: Sequence[str], timeout: float, **environment: str) -> int:
        """Run pytest with these arguments and return its exit status; 1 if it takes longer than ``timeout`` seconds."""
        variables = {**os.environ, "PYTHONPATH": f"{self.folder}:{self.folder / 'tests/mutants'}", **environment}
        variables.pop("CI", None)
        try:
            done = subprocess.run(
                [*_PYTEST, *arguments],
                cwd=self.folder,
                env=variables,
                capture_output=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 1
        return done.returncode

    def is_killed(self, mutant: Mutant, tests: Sequence[str]) -> bool:
        """Return whether a test fails with the mutant: first of ``tests``, which run the line, then of all."""
        file = self.folder / mutant.path
        source = file.read_bytes()
        file.write_bytes(mutant.apply(source))
        try:
            if tests and self.run(tests, 180):
                return True
            return bool(self.run([f"tests/unit/{mutant.path.split('/')[1]}"], 1200))
        finally:
            file.write_bytes(source)


def covering(tree: Tree, packages: Sequence[str], workers: int) -> Mapping[str, CoverageData]:
    """Run the tests of each package, and return which test runs which line."""

    def measure(package: str) -> CoverageData:
        data = tree.folder / f"{package}.coverage"
        options = ["-p", "measuring", "-m", "not slow", f"tests/unit/{package}"]
        if tree.run(options, 1800, MUTANTS_COVERAGE=str(data), PYTHONDONTWRITEBYTECODE="1"):
            raise SystemExit(f"the tests of {package} fail without any mutant")
        measured = CoverageData(str(data))
        measured.read()
        return measured

    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(packages, pool.map(measure, packages), strict=True))


def tests_of(mutant: Mutant, tree: Tree, coverage: CoverageData) -> list[str]:
    """Return the tests that run the line of a mutant, at most ``MAX_TESTS``."""
    contexts = coverage.contexts_by_lineno(str(tree.folder / mutant.path)).get(mutant.line, [])
    return sorted(each for each in contexts if each)[:MAX_TESTS]


def main() -> int:
    """Run the sample, print the survivors, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--only", default="", help="Only mutants whose path or number contains this text.")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    chosen = [each for each in sample(ROOT, PACKAGES, options.count) if options.only in str(each)]
    explained = {line.split(":")[0] for line in EXPLAINED.read_text(encoding="utf-8").splitlines() if ":" in line}
    with tempfile.TemporaryDirectory(prefix="toolc-mutants-") as name:
        trees: Queue[Tree] = Queue()
        copies = [Tree.copy(Path(name, str(index))) for index in range(options.workers)]
        for tree in copies:
            trees.put(tree)
        used = sorted({each.path.split("/")[1] for each in chosen})
        coverage = covering(copies[0], used, options.workers)

        def survives(mutant: Mutant) -> bool:
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
