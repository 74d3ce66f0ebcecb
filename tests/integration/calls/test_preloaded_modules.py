"""Modules that are imported before a Python tool is called, in new and in warm sandboxes of real engines.

The package is a wheel of this test with a hash in the spec, and is installed without a network.
"""

import hashlib
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.names import ENGINES
from toolc.model.result import ToolResult
from toolc.runtime.pool.pool import Pool
from toolc.sandbox.selection import probe

SECRET = "a value of the call"

MODULE = """\
import os
def seen():
    return {"files": os.listdir("/tool"), "word": os.environ.get("WORD"), "process": os.getpid()}
AT_IMPORT = seen()
CALLS = []
"""

CODE = """\
import sys
BEFORE = sorted({"decimal", "preloaded"} & {*sys.modules})
import preloaded
def tell():
    preloaded.CALLS.append(1)
    return {
        "before": BEFORE, "at_import": preloaded.AT_IMPORT, "now": preloaded.seen(), "calls": len(preloaded.CALLS),
        "from": preloaded.__file__,
    }
"""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not probe(name).available:
        pytest.skip(probe(name).reason)
    return name


@pytest.fixture
def requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the requirement of a wheel in a folder that is the only package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    path = folder / "preloaded-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {
            "preloaded/__init__.py": MODULE,
            "preloaded/broken.py": "raise ValueError('there is no licence')\n",
            "preloaded-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: preloaded\nVersion: 1.0\n",
            "preloaded-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "preloaded-1.0.dist-info/RECORD": "",
        }.items():
            wheel.writestr(zipfile.ZipInfo(name), text)  # without the time of day, so that it has one digest
    return f"preloaded==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@pytest.fixture
def call(engine: str, requirement: str, tmp_path: Path) -> Callable[[list[str], bool], ToolResult]:
    """Return a function that calls the tool with these modules in ``preload``, in a warm sandbox or in a new one."""

    def run(preload: list[str], warm: bool) -> ToolResult:
        spec: JsonObject = {
            "toolc": 1,
            "name": "tell",
            "description": "Tell what was imported before the call. Use it in this test only.",
            "parameters": {},
            "backend": {"python": {"code": CODE, "requirements": [requirement], "preload": [*preload]}},
            "sandbox": {"env": {"WORD": SECRET}},
        }
        (tmp_path / "tell.yaml").write_text(json.dumps(spec), encoding="utf-8")
        settings = Configuration(warm={"tell": 1} if warm else {})
        with Executor(
            Registry.load(tmp_path / "tell.yaml"), engine=engine, configuration=settings, pool=Pool() if warm else None
        ) as executor:
            pool = executor._options.pool
            while warm and pool is not None and pool.counts() != (1, 0):
                time.sleep(0.005)
            result = executor.run("tell", {})
        timing = result.details["timing_ms"]
        assert isinstance(timing, dict)
        assert ("lease" in timing) is warm
        return result

    return run


@pytest.fixture(params=[False, True], ids=["cold", "warm"])
def warm(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def value_of(result: ToolResult) -> dict[str, JsonValue]:
    assert not result.is_error, result.text
    assert isinstance(result.structured, tuple)
    (value,) = result.structured
    assert isinstance(value, dict)
    return value


def test_a_package_is_imported_before_the_call_and_in_its_process(
    call: Callable[[list[str], bool], ToolResult], warm: bool
) -> None:
    found = value_of(call(["preloaded", "decimal"], warm))
    assert found["before"] == ["decimal", "preloaded"]
    assert found["from"] == "/opt/toolc/site/preloaded/__init__.py"
    at_import, now = found["at_import"], found["now"]
    assert isinstance(at_import, dict)
    assert isinstance(now, dict)
    # Nothing of the call was there yet, but the process was that of the call, and not process 1.
    assert (at_import["files"], at_import["word"]) == ([], None)
    assert (now["files"], now["word"]) == (["tell.py"], SECRET)
    assert at_import["process"] == now["process"]
    assert now["process"] != 1
    assert found["calls"] == 1


def test_a_required_package_is_not_imported_unless_it_is_listed(
    call: Callable[[list[str], bool], ToolResult], warm: bool
) -> None:
    found = value_of(call(["decimal"], warm))
    assert found["before"] == ["decimal"]
    assert found["at_import"] == found["now"]


def test_the_call_fails_if_a_module_cannot_be_imported(
    call: Callable[[list[str], bool], ToolResult], warm: bool
) -> None:
    result = call(["preloaded.broken"], warm)
    assert result.is_error
    assert "the module 'preloaded.broken' in preload cannot be imported: ValueError: there is no licence" in result.text
