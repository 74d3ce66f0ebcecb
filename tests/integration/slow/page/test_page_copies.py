"""What the page copies works where it is pasted: a request in a shell, a program in Python, a test in a spec."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from browsers.chromium import Browser
from calls.real_http import RealServer, environment, prepare, real_server, toolc

WORDS = 'it\'s "$HOME" `id` \\ \u2028 é😀'
SPECS = """\
toolc: 1
tools:
  - name: say_words
    description: Return the words that are passed. Use it to repeat a text.
    parameters:
      words: {type: string, maxLength: 200, description: The words}
      times: {type: integer, minimum: 1, maximum: 9, default: 1, description: How often}
    backend: {python: {code: "def say_words(ctx, words, times):\\n    return words * times"}}
  - name: count_words
    description: Count the words of a text. Use it for lengths.
    parameters: {words: {type: string, maxLength: 200, description: The words}}
    result: {schema: {type: object, properties: {count: {type: integer}}, required: [count]}}
    backend: {python: {code: "def count_words(ctx, words):\\n    return {'count': len(words.split())}"}}
  - name: list_lines
    description: Print the lines of a file in the workspace. Use it to read a file.
    parameters: {path: {type: string, maxLength: 200, description: "The file, e.g. 'a.txt'"}}
    backend: {shell: {argv: [cat, --, "{{ path }}"]}}
    sandbox: {workspace: ro}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copies")
    prepare(folder)
    (folder / "specs" / "tools.yaml").write_text(SPECS)
    (folder / "a.txt").write_text("first\nsecond\n")
    return folder


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RealServer]:
    with real_server(folder, "--workspace", ".") as started:
        yield started


def call(page: Browser, server: RealServer, tool: str, text: str) -> None:
    """Call a tool whose first parameter is a text, and wait for its result."""
    page.open(f"{server.url}/#/try/{tool}", ".trial")
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.run(
        "const area = document.querySelector('.form textarea'); area.value = arguments[0];"
        "area.dispatchEvent(new Event('input', {bubbles: true}))",
        text,
    )
    page.wait(".trial button.primary").click()
    page.wait(".result .badge")


def copied(page: Browser, label: str) -> str:
    """Return what a button copies."""
    page.run(
        "window.copied = null;"
        "[...document.querySelectorAll('button')].find((each) => each.textContent === arguments[0]).click()",
        label,
    )
    text: str = page.run("return window.copied")
    return text


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_in_shell(folder: Path, command: str) -> str:
    return run(folder, "sh", "-c", f'toolc() {{ {sys.executable} -m toolc "$@"; }}\n{command}')


def outputs(page: Browser, folder: Path) -> list[str]:
    """Return what the three copied requests print: the texts of their results."""
    page.wait(".trial > div > details:last-of-type > summary").click()
    page.wait(".requests pre")
    answer: Any = json.loads(run_in_shell(folder, copied(page, "Copy for curl")))
    (block,) = answer["content"]
    command = run_in_shell(folder, copied(page, "Copy for toolc run"))
    return [block["text"], command, run(folder, sys.executable, "-c", copied(page, "Copy for Python"))]


def test_copied_requests_do_the_same_call(folder: Path, server: RealServer, chromium: Browser) -> None:
    call(chromium, server, "say_words", WORDS)
    assert [each.rstrip("\n") for each in outputs(chromium, folder)] == [WORDS] * 3


def test_copied_requests_read_the_workspace(folder: Path, server: RealServer, chromium: Browser) -> None:
    call(chromium, server, "list_lines", "a.txt")
    assert [each.rstrip("\n") for each in outputs(chromium, folder)] == ["first\nsecond"] * 3


def test_copied_requests_have_the_arguments_that_the_form_has_now(server: RealServer, chromium: Browser) -> None:
    call(chromium, server, "say_words", "old")
    chromium.wait(".trial > div > details:last-of-type > summary").click()
    chromium.wait(".requests pre")
    chromium.wait(".form textarea").send_keys("er")
    assert all("older" in each for each in chromium.texts(".requests pre"))
    assert '"older"' in copied(chromium, "Copy for curl")


def test_a_copied_test_passes_in_the_spec(folder: Path, server: RealServer, chromium: Browser) -> None:
    spec = yaml.safe_load(SPECS)
    calls = (("say_words", WORDS), ("say_words", "x" * 201), ("count_words", "one two"), ("list_lines", "missing"))
    for tool, text in calls:
        call(chromium, server, tool, text)
        (test,) = yaml.safe_load(copied(chromium, "Copy as test"))["tests"]
        (target,) = [each for each in spec["tools"] if each["name"] == tool]
        target.setdefault("tests", []).append(test)
    assert [list(test["expect"]) for each in spec["tools"] for test in each["tests"]] == [
        ["text"], ["error"], ["structured"], ["error"],
    ]  # fmt: skip
    (folder / "copied.yaml").write_text(yaml.safe_dump(spec, allow_unicode=True))
    assert "4 passed, 0 failed" in toolc(folder, "test", "copied.yaml")
