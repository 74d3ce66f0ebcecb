"""``toolc run`` as a whole process, next to ``docker run --rm`` of the same command, and what its imports take.

The spec is unchanged, so its registry comes from the cache. toolc is installed from a wheel, as users have it, because
a checkout looks for changes of its own files. No test fails because of a time.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from figures import Latency, Single
from interleaved import Subject, latencies
from peers import WORDS, program, run
from recording import record
from toolc_calls import engines

from toolc.sandbox.images.stored import base_tag

SPEC = """\
toolc: 1
name: greet
description: Print a greeting. Use it to measure how long a call takes. Do not use it for anything else.
backend: {shell: {argv: [echo, hello]}}
"""

ROOT = Path(__file__).parents[2]

PEER = "python -c 'import yaml, jinja2'"

LIST_MODULES = """\
import sys
from toolc.cli.main import main
try:
    main()
finally:
    names = [each for each in sys.modules if each.startswith("toolc.")]
    print(*names, sep=", ", file=sys.stderr)
"""


def loaded(spec: Path, engine: str) -> str:
    """Return the modules of toolc that a run loads, separated by commas."""
    command = [sys.executable, "-c", LIST_MODULES, "run", str(spec), "--engine", engine]
    subprocess.run(command, capture_output=True, check=True)  # compiles the spec
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return done.stderr.splitlines()[-1]


def install(folder: Path) -> None:
    """Install toolc without its dependencies in ``folder``, which then belongs on ``PYTHONPATH``."""
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--target", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(ROOT)], check=True)


def figure(name: str, found: Latency, peer: Latency) -> Single:
    details = f"p50 {found.p50:.0f} ms, {peer.subject} {peer.p50:.0f} ms"
    return Single(name=name, value=found.p50 / peer.p50, details=details)


@pytest.mark.timeout(3600)
def test_a_run_compared_with_docker_run(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Without compiled modules, each process would compile the sources.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    install(tmp_path / "installed")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))
    spec = tmp_path / "greet.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    subjects = [
        Subject(name="docker run --rm", call=run(program("docker"), "run", "--rm", base_tag(), *WORDS)),
        Subject(name=PEER, call=run(sys.executable, "-c", "import yaml, jinja2")),
    ]
    for engine in engines():
        toolc = run(sys.executable, "-m", "toolc", "run", str(spec), "--engine", engine)
        imports = run(sys.executable, "-c", f"import {loaded(spec, engine)}")
        subjects += [Subject(name=f"run {engine}", call=toolc), Subject(name=f"imports {engine}", call=imports)]
    docker, python, *others = latencies(subjects, 1, min(calls, 40))
    with capsys.disabled():
        ratios = [
            figure(each.subject, each, python if each.subject.startswith("imports") else docker) for each in others
        ]
        record("run", calls, ratios)
