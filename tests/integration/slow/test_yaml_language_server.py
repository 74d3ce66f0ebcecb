"""An editor with yaml-language-server validates and completes specs with the modeline of `toolc init`.

`.ci/with-language-server` installs the server and sets TOOLC_YAML_LANGUAGE_SERVER to the path of its program.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from language_server import LanguageServer

from toolc.compiler.editor_schema import as_text, spec_schema

SERVER = os.environ.get("TOOLC_YAML_LANGUAGE_SERVER") or shutil.which("yaml-language-server")
SHELL = {
    "argv", "script", "file", "interpreter", "stdin", "success_exit_codes", "errors", "allow_dash", "progress",
    "runs_caller_code",
}  # fmt: skip
SPEC = """\
# yaml-language-server: $schema=../.toolc-schema.json
toolc: 1
name: word_count
description: Count the words of one text file in the workspace.
descripton: Count them.
backend:
  shell:
    argv: [wc, -w]
    std
sandbox:
  limits: {timeout: 30}
"""

pytestmark = pytest.mark.skipif(SERVER is None, reason="yaml-language-server is not installed")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a spec with mistakes, in a repository with the schema of the format."""
    (tmp_path / ".toolc-schema.json").write_text(as_text(spec_schema()), encoding="utf-8")
    path = tmp_path / "specs" / "word_count.yaml"
    path.parent.mkdir()
    path.write_text(SPEC, encoding="utf-8")
    return path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LanguageServer]:
    with LanguageServer([str(SERVER), "--stdio"], tmp_path) as server:
        yield server


def test_an_editor_marks_mistakes_completes_keys_and_explains_them(server: LanguageServer, spec: Path) -> None:
    assert {(each["range"]["start"]["line"] + 1, each["message"]) for each in server.open(spec)} == {
        (5, "Property descripton is not allowed."),
        (9, "Implicit map keys need to be followed by map values"),
        (11, 'Incorrect type. Expected "string".'),
    }
    items = {each["label"]: each for each in server.at("textDocument/completion", spec, "    std")["items"]}
    assert items.keys() == SHELL - {"argv"}
    assert items["script"]["documentation"].startswith("A script. It is not a template: parameters are")
    hover = server.at("textDocument/hover", spec, "  limits: {time")["contents"]["value"]
    assert "The duration of a call" in hover
