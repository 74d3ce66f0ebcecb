"""``toolc init``: create a small folder of specs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import click

from toolc.model.errors import UsageError

_SCHEMA: Final = ".toolc-schema.json"

_MODELINE: Final = f"# yaml-language-server: $schema=../{_SCHEMA}\n"

_HELLO: Final = """\
toolc: 1
name: hello
label: Say hello
description: >-
  Greet one person by name. Use it to see that tools work here.
  Do not use it to send anything to anyone: it only returns the greeting.
parameters:
  name: {type: string, description: "Whom to greet, e.g. 'Ada'"}
backend:
  shell:
    argv: [echo, "Hello, {{ name }}!"]
tests:
  - args: {name: Ada}
    expect: {text: "Hello, Ada!\\n"}
"""

_COUNT: Final = """\
toolc: 1
name: count_lines
label: Count lines
description: >-
  Count the lines and words of one text file in the workspace. Use it for questions about
  the length of a text. Do not use it for binary files.
parameters:
  path: {type: string, description: "File, relative to the workspace, e.g. 'src/main.py'"}
backend:
  python:
    file: count_lines.py
    function: count_lines
sandbox:
  workspace: ro
tests:
  - args: {path: notes.txt}
    files: {notes.txt: "one line\\nand another\\n"}
    expect: {json: {lines: 2, words: 4}}
  - args: {path: missing.txt}
    expect: {error: not_found}
"""

_COUNT_CODE: Final = '''\
"""Count what is in a text file. Runs in the sandbox; the workspace is the current directory."""

from pathlib import Path


def count_lines(path: str) -> dict[str, int]:
    text = Path(path).read_text(encoding="utf-8")
    return {"lines": len(text.splitlines()), "words": len(text.split())}
'''

_README: Final = """\
# Tools

Each YAML file in `specs/` declares a tool for LLMs. toolc compiles them for every provider, and runs
every call in a disposable sandbox.

    toolc test specs                                # run the tests that the specs hold
    toolc run specs/hello.yaml --arg name=Ada       # try one by hand
    toolc build specs                               # build/registry.json and every provider's definitions
    toolc schema > .toolc-schema.json               # what editors check specs with; again after an upgrade
"""


_PRE_COMMIT: Final = """\
# pre-commit (https://pre-commit.com) with the toolc that is installed.
repos:
  - repo: local
    hooks:
      - id: toolc-check
        name: toolc check
        entry: toolc check specs
        language: system
        pass_filenames: false
      - id: toolc-lock
        name: toolc lock --check
        entry: toolc lock --check specs
        language: system
        pass_filenames: false
"""


def ci_files(host: str) -> dict[str, str]:
    """Return the files that ``--ci`` adds for ``github`` or ``gitlab``, by path. Raises ``UsageError``."""
    from toolc.data.paths import packaged_path  # start-up time

    templates = packaged_path("docs/guides/ci")
    if host == "gitlab":
        return {".gitlab-ci.yml": _text(templates / "gitlab.yml"), ".pre-commit-config.yaml": _PRE_COMMIT}
    return {
        ".github/workflows/tools.yml": _text(templates / "github.yml"),
        ".github/actions/toolc/action.yml": _text(packaged_path(".github/actions/toolc") / "action.yml"),
        ".pre-commit-config.yaml": _PRE_COMMIT,
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def files() -> dict[str, str]:
    """Return the files to create, by path."""
    from toolc.compiler.spec_schema.schema import as_text, spec_schema  # start-up time

    return {
        "specs/hello.yaml": _MODELINE + _HELLO,
        "specs/count_lines.yaml": _MODELINE + _COUNT,
        "specs/count_lines.py": _COUNT_CODE,
        "README.md": _README,
        ".gitignore": "build/\n",
        _SCHEMA: as_text(spec_schema()),
    }


@click.command("init")
@click.argument("directory", metavar="DIR")
@click.option("--ci", "host", type=click.Choice(["github", "gitlab"]), help="Add the configuration for CI.")
def command(directory: str, host: str | None) -> None:
    """Create a small folder of specs that builds and runs. Existing files are not changed."""
    folder = Path(directory)
    texts = files() | (ci_files(host) if host else {})
    there = [path for path in texts if (folder / path).exists() or (folder / path).is_symlink()]
    if there:
        raise UsageError(f"{directory} already has {', '.join(there)}; choose another folder, or move these files")
    written: list[Path] = []
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            # Exclusive creation: a file that appeared since the check is not overwritten.
            with target.open("x", encoding="utf-8", newline="\n") as file:
                written.append(target)
                file.write(text)
    except OSError as error:
        # A partial result would block the next attempt.
        for target in written:
            target.unlink(missing_ok=True)
        raise UsageError(f"{error.filename or directory} cannot be written: {error.strerror}") from None
    print(f"created {', '.join(texts)} in {directory}")
    change = f"cd {shlex.quote(directory)} && " if directory != "." else ""
    print(f"try: {change}toolc run specs/hello.yaml --arg name=Ada")
    if host:
        print("then, before the first review: toolc lock specs")
