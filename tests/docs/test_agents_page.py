"""``docs/agents.md``: its spec compiles, its commands and its program print what they say, its figures are so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_model import OpenAISpeech, ScriptedModel
from test_readme import environment

from toolc.api import Executor, Registry
from toolc.engines.select import load
from toolc.runtime.agent_calls import MAX_AT_ONCE, MAX_CALLS
from toolc.runtime.agent_network import MAX_RESPONSE
from toolc.runtime.agent_turns import ATTEMPTS, MAX_WAIT_SECONDS
from toolc.schema import JsonObject

PAGE = (Path(__file__).parents[1] / "docs" / "agents.md").read_text(encoding="utf-8")
KEY = "correct-horse-battery"

needs_sandbox = pytest.mark.skipif(not load("oci").probe().available, reason="needs an engine")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def placed(folder: Path, port: int = 8765) -> Path:
    """The page's spec, in its file."""
    name, _, text = block("yaml").partition("\n")
    path = folder / name.removeprefix("# ")
    path.parent.mkdir()
    path.write_text(text.replace("8765", str(port)))
    return path


def script() -> list[JsonObject]:
    speech = OpenAISpeech()
    return [
        speech.calls(("compound_interest", {"amount": 10000, "percent": 7, "years": 10})),
        speech.text("They become 19,671.51 dollars."),
    ]


def test_the_pages_spec_has_no_finding(tmp_path: Path) -> None:
    assert Registry.load(placed(tmp_path)).diagnostics.sorted() == ()


@needs_sandbox
def test_the_commands_print_what_the_page_says(tmp_path: Path) -> None:
    export, run = re.split(r"^\$ ", block("console"), flags=re.MULTILINE)[1:]
    command, _, expected = run.partition("\n")
    with ScriptedModel(script=[*script()]) as model:
        placed(tmp_path, model.port)
        done = subprocess.run(
            ["bash", "-c", f"{export}{command}"],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.rstrip() == expected.rstrip(), done.stderr
    assert OpenAISpeech().results(model.requests[1]) == [("id_1", '{"amount":19671.51}')]
    assert model.asked[0].headers["authorization"] == f"Bearer {KEY}"


@needs_sandbox
def test_the_program_prints_what_the_page_says(tmp_path: Path) -> None:
    with ScriptedModel(script=[*script()]) as model:
        placed(tmp_path, model.port)
        done = subprocess.run(
            [sys.executable, "-c", block("python")],
            cwd=tmp_path,
            env=environment() | {"TOOLC_SECRET_MODEL_KEY": KEY},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.stdout == block("text"), done.stderr


@needs_sandbox
def test_the_pages_tests_pass(tmp_path: Path) -> None:
    with Executor(Registry.load(placed(tmp_path)), engine="oci") as executor:
        result = executor.run("compound_interest", {"amount": 10000, "percent": 7, "years": 10})
    assert result.structured == ({"amount": 19671.51},)


def test_the_pages_figures_are_so() -> None:
    words = {3: "three", 8: "eight"}
    assert f"tried {words[ATTEMPTS]} times" in PAGE
    assert f"{words[MAX_AT_ONCE]} at a\ntime" in PAGE
    assert f"the first {MAX_CALLS} are made" in PAGE
    assert f"more than {MAX_RESPONSE >> 20} MiB" in PAGE
    assert MAX_WAIT_SECONDS == 60
