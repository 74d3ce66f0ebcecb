"""The cost of a disposable sandbox: one cold call through the library, compared with alternatives without toolc.

Run with `make bench`. Each figure is a median over interleaved rounds, so that a slow machine affects all subjects;
only the ratios are comparable. No test fails because of a time.
"""

import shutil
import statistics
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest

from toolc import Executor, Registry
from toolc.sandbox.docker import image_builder

ROUNDS = 15
SPEC = """
toolc: 1
tools:
  - name: echo
    description: Print one word, to see what a call costs.
    backend: {shell: {argv: [echo, hello]}}
  - name: word
    description: Return one word, to see what a call costs.
    backend: {python: {code: "def word():\\n    return 'hello'\\n"}}
"""


def medians(subjects: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the milliseconds per call of each subject, after one warm-up round."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    for turn in range(ROUNDS + 1):
        for name, run in subjects.items():
            start = perf_counter()
            run()
            if turn:
                times[name].append((perf_counter() - start) * 1000)
    return {name: statistics.median(each) for name, each in times.items()}


def peer(*command: str) -> Callable[[], object]:
    return lambda: subprocess.run(command, capture_output=True, check=True)


@pytest.mark.timeout(300)
def test_a_cold_call_compared_with_alternatives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "bench.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    registry = Registry.load(spec)
    subjects = {
        "host: subprocess.run(echo)": peer("/bin/echo", "hello"),
        "host: python3 -c pass": peer("python3", "-c", ""),
    }
    if shutil.which("docker"):
        image = image_builder.base_tag()
        subjects["docker run --rm"] = peer("docker", "run", "--rm", "--network", "none", image, "echo", "hello")
    for engine in ("docker", "oci"):
        executor = Executor(registry, engine=engine)
        for tool in ("echo", "word"):
            subjects[f"toolc {engine}: {tool}"] = partial(executor.run, tool, {})
    found = medians(subjects)
    base = found["docker run --rm"] if "docker run --rm" in found else found["host: python3 -c pass"]
    with capsys.disabled():
        print()
        for name, milliseconds in found.items():
            print(f"  {name:28} {milliseconds:8.1f} ms   {milliseconds / base:5.2f} x the peer")
