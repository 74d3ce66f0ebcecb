"""The plugins of ``specs/plugins``, each in the language of its folder, built and called in sandboxes."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engines.image_cases import usable
from project import paths

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.spec.code_backends import PluginBackend
from toolc.model.spec.tool import ToolSpec
from toolc.reporters.text import render
from toolc.sandbox.docker import sdk
from toolc.sandbox.docker.api_client import find_socket
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.docker.image_builder import BUILD_LABEL, build_tag
from toolc.sandbox.docker.sdk import BASE_LABEL
from toolc.sandbox.images.stored import base_tag

FOLDER = paths.SPECS / "plugins"
SPECS = {path.parent.name: path for path in sorted(FOLDER.glob("*/*.yaml"))}

# One test waits for all the compilers.
pytestmark = pytest.mark.timeout(900)


def tool_of(language: str) -> ToolSpec:
    (tool,) = compile_specs([SPECS[language]]).tools
    return tool


def make_image(language: str) -> None:
    """Build a plugin's image as a call does, but with the host's network: the daemon on CI has no other."""
    build = tool_of(language).sandbox.build
    if build is None:
        return
    tag, client = build_tag(build), connect(find_socket(os.environ)).client
    if not sdk.has_image(client, tag):
        progress: list[str] = []
        labels = {BUILD_LABEL: tag, BASE_LABEL: base_tag()}
        folder = FOLDER / language / build.folder
        sdk.build_folder(client, folder=folder, tag=tag, base=base_tag(), labels=labels, on_progress=progress.append)


@pytest.fixture(scope="module")
def images() -> None:
    """Build all images concurrently."""
    usable("docker")
    with ThreadPoolExecutor(len(SPECS)) as pool:
        list(pool.map(make_image, SPECS))


def test_examples_exist_in_six_languages() -> None:
    assert {language: tool_of(language).name for language in SPECS} == {
        "bash": "sys_info",
        "go": "bash_plugin",
        "python": "stats",
        "ruby": "template",
        "rust": "file_info",
        "typescript": "json_query",
    }


@pytest.mark.parametrize("language", SPECS)
def test_examples_have_no_findings_and_explain_how_to_run_them(language: str) -> None:
    assert render(compile_specs([SPECS[language]]).diagnostics, color=False) == ""
    assert f"toolc test specs/plugins/{language}/{SPECS[language].name}\n" in (
        FOLDER / language / "README.md"
    ).read_text(encoding="utf-8")


def run_its_tests(engine: str, *languages: str) -> str:
    argv = [sys.executable, "-m", "toolc", "test", "--engine", engine, *(str(SPECS[each]) for each in languages)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.usefixtures("images")
def test_calls_give_the_results_of_the_specs_tests() -> None:
    expected = sum(len(tool_of(language).tests) for language in SPECS)
    assert run_its_tests("docker", *SPECS) == f"{expected} passed, 0 failed"


@pytest.mark.integrations
@pytest.mark.usefixtures("images")
def test_without_a_daemon_the_unpacked_image_does_the_same() -> None:
    usable("oci")
    expected = sum(len(tool_of(language).tests) for language in ("go", "python"))
    assert run_its_tests("oci", "go", "python") == f"{expected} passed, 0 failed"


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("language", SPECS)
def test_one_process_answers_call_after_call(language: str, tmp_path: Path) -> None:
    tool = tool_of(language)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.rs").write_text("fn main() {}\n", encoding="utf-8")
    with Executor(Registry.load(SPECS[language]), workspace=tmp_path, engine="docker") as executor:
        results = [executor.run(tool.name, tool.examples[0]) for _ in range(3)]
    assert [(each.error, each.details["session"]) for each in results] == [
        (None, {"call": number}) for number in (1, 2, 3)
    ]


DESCRIBE = '{"type":"describe"}'
HALF_A_PAIR = json.dumps({"type": "call", "params": {"template": "\ud800", "values": {}, "json": "\ud800", "path": ""}})
NO_REQUESTS = ("Loading...", "[]", "null", '{"type":"dance"}', "{}", '{"type":', "[" * 100_000, HALF_A_PAIR)


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("language", SPECS)
def test_an_invalid_line_gets_an_error_response(language: str, tmp_path: Path) -> None:
    tool = tool_of(language)
    assert isinstance(tool.backend, PluginBackend)
    folder = tmp_path / language
    shutil.copytree(FOLDER / language, folder)
    build = {"build": tool.sandbox.build.folder} if tool.sandbox.build else {}
    piped = {
        "toolc": 1,
        "name": "piped",
        "description": "Send lines to the plugin, with nothing of toolc between.",
        "parameters": {"lines": {"type": "string"}},
        "backend": {"shell": {"argv": [*tool.backend.command], "stdin": "{{ lines }}"}},
        "sandbox": {"workspace": "ro", **build},
    }
    (folder / "piped.yaml").write_text(json.dumps(piped), encoding="utf-8")
    lines = "\n".join((DESCRIBE, "", *NO_REQUESTS, " \t", DESCRIBE))
    with Executor(Registry.load(folder / "piped.yaml"), workspace=folder, engine="docker") as executor:
        result = executor.run("piped", {"lines": lines})
    assert result.error is None, result
    described, *answers, again = [json.loads(line) for line in result.text.splitlines()]
    assert described == again == {
        "name": tool.name, "description": tool.description, "parameters": described["parameters"]
    }  # fmt: skip
    assert [answer["error"] for answer in answers] == [True] * len(NO_REQUESTS)
    assert all(answer["content"][0]["text"].startswith("Error: ") for answer in answers)
