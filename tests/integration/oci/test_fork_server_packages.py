"""Packages of tools with ``lifetime: fork`` on the oci engine: those without an approved digest belong to one call.

The package is a wheel of this test, and is installed without a network.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.configurations import configured
from test_fork_server import call_number, registry, run

from toolc.client.executor import Executor
from toolc.sandbox.interface import Engine

MODULE = """\
import threading, time
time.sleep(1)
thread = threading.Thread(target=print)
thread.start()
thread.join()
"""

USES_ALL_PROCESSES = """
import os, time
number, until = 0, None
while until is None or time.monotonic() < until:
    try:
        if os.fork() == 0: time.sleep(1000)
        number += 1
    except OSError:
        until = until or time.monotonic() + 3
        time.sleep(0.01)
answer = number
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    engine = configured("oci root")
    yield engine
    engine.close()


@pytest.fixture
def requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the requirement of a package that starts a thread while it is imported."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    with zipfile.ZipFile(folder / "threaded-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in {
            "threaded.py": MODULE,
            "threaded-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: threaded\nVersion: 1.0\n",
            "threaded-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "threaded-1.0.dist-info/RECORD": "",
        }.items():
            wheel.writestr(zipfile.ZipInfo(name), text)
    return "threaded==1.0"


@pytest.mark.integrations
def test_a_call_that_uses_all_processes_does_not_disturb_the_imports_of_the_next_one(
    engine: Engine, requirement: str, tmp_path: Path
) -> None:
    tool = registry(
        tmp_path,
        {"lifetime": "fork", "limits": {"timeout": "100s", "pids": 30}},
        requirements=[requirement],
        preload=["threaded"],
    )
    with Executor(tool, engine=engine) as executor:
        # From the second call on, the process of the next one is made, and imports its modules, while a call runs.
        for number in (1, 2, 4):
            result = executor.run("run", {"code": "import sys\nanswer = 'threaded' in sys.modules"})
            assert (result.structured, call_number(result)) == ((True,), number), result.text
            if number > 1:
                assert int(str(run(executor, USES_ALL_PROCESSES))) >= 28
