"""``toolc init``: create a small folder of specs."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

import click

from toolc.model.errors import UsageError

_SCHEMA: Final = ".toolc-schema.json"

_MODELINE: Final = f"# yaml-language-server: $schema=../{_SCHEMA}\n"

_COUNT_CODE: Final = '''\
"""Count what is in a text file. Runs in the sandbox; the workspace is the current directory."""

from pathlib import Path


def count_lines(path: str) -> dict[str, int]:
    text = Path(path).read_text(encoding="utf-8")
    return {"lines": len(text.splitlines()), "words": len(text.split())}
'''


def _template(name: str) -> str:
    from importlib.resources import files as data_files  # start-up time

    return (data_files("toolc.data") / "init" / name).read_text(encoding="utf-8")


def ci_files(host: str) -> dict[str, str]:
    """Return the files that ``--ci`` adds for ``github`` or ``gitlab``, by path. Raises ``UsageError``."""
    from toolc.data.paths import packaged_path  # start-up time

    templates = packaged_path("docs/guides/ci")
    if host == "gitlab":
        return {
            ".gitlab-ci.yml": _text(templates / "gitlab.yml"),
            ".pre-commit-config.yaml": _template("pre-commit.yaml"),
        }
    return {
        ".github/workflows/tools.yml": _text(templates / "github.yml"),
        ".github/actions/toolc/action.yml": _text(packaged_path(".github/actions/toolc") / "action.yml"),
        ".pre-commit-config.yaml": _template("pre-commit.yaml"),
    }


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def files() -> dict[str, str]:
    """Return the files to create, by path."""
    from toolc.compiler.editor_schema import as_text, spec_schema  # start-up time

    return {
        "specs/hello.yaml": _MODELINE + _template("hello.yaml"),
        "specs/count_lines.yaml": _MODELINE + _template("count_lines.yaml"),
        "specs/count_lines.py": _COUNT_CODE,
        "README.md": _template("README.md"),
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
