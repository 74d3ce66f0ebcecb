"""Findings of policies are updated after each change, although answers are stored."""

from pathlib import Path

import pytest

from toolc.compiler.cache.answers import check_specs
from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.policy import read_policy
from toolc.compiler.project.settings import NO_SETTINGS, Settings

TOOL = """\
toolc: 1
name: {name}
description: Count the {name} of one text and say how many there are.
backend: {{shell: {{argv: [wc, -w]}}}}
sandbox: {{limits: {{timeout: {timeout}}}}}
"""
CALLER = """\
toolc: 1
name: both
description: Do what the others do, one after the other, and give back the last.
backend: {composite: {strategy: sequential, steps: [{id: first, tool: words}]}}
sandbox: {limits: {timeout: 1s}}
"""
FILES = {
    "toolc.yaml": "policy: {limits: {timeout: 10s, pids: 128}}\n",
    "specs/toolc.yaml": "vars: {a: 1}\n",
    "specs/words.yaml": TOOL.format(name="words", timeout="5s"),
    "specs/lines.yaml": TOOL.format(name="lines", timeout="5s"),
    "specs/both.yaml": CALLER,
}


def write(files: dict[str, str]) -> None:
    for path, text in files.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "r")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write(FILES)


def found(settings: Settings = NO_SETTINGS) -> list[str]:
    cached = [str(each) for each in check_specs([Path("specs")], settings).diagnostics.sorted()]
    assert cached == [str(each) for each in compile_specs([Path("specs")], settings).diagnostics.sorted()]
    return cached


@pytest.mark.parametrize(
    ("edit", "count"),
    [
        ({"specs/lines.yaml": TOOL.format(name="lines", timeout="20s")}, 1),
        ({"specs/words.yaml": TOOL.format(name="words", timeout="5s").replace("5s", "5s, pids: 500")}, 2),
        ({"toolc.yaml": "policy: {limits: {timeout: 2s}}\n"}, 2),
        ({"specs/toolc.yaml": "policy: {limits: {timeout: 3s}}\n"}, 2),
        ({"specs/both.yaml": CALLER.replace("1s", "1m")}, 1),
    ],
)
def test_each_edit_and_its_reversal_are_detected(edit: dict[str, str], count: int) -> None:
    for _ in range(2):
        assert found() == []
        write(edit)
        for _ in range(2):
            assert len(found()) == count
        write({path: FILES[path] for path in edit})
    assert found() == []


def test_a_changed_central_policy_invalidates_the_cache() -> None:
    for limit, count in (("1m", 0), ("4s", 2), ("1m", 0), ("900ms", 3)):
        write({"../central": f"policy: {{limits: {{timeout: {limit}}}}}\n"})
        assert len(found(Settings(policies=(read_policy("../central"),)))) == count
    assert found() == []
