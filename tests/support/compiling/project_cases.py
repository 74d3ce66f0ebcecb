"""Folders of specs with a project file, written from text and compiled."""

from pathlib import Path

from project.paths import GOLDEN

from toolc.compiler.pipeline.compile import Compilation, compile_specs
from toolc.compiler.project.settings import NO_SETTINGS, Settings
from toolc.reporters.text import render

TOOL = """\
toolc: 1
name: hello
description: Say hello to the whole world.
backend: {shell: {argv: [echo, hello]}}
"""


def write(**files: str) -> None:
    """Write files in the current folder; ``__`` in a name is ``/``, and the suffix is .yaml."""
    for name, text in files.items():
        path = Path(name.replace("__", "/")).with_suffix(".yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def compiled(project: str, tool: str = TOOL, settings: Settings = NO_SETTINGS) -> Compilation:
    write(toolc=project, specs__hello=tool)
    return compile_specs([Path("specs")], settings)


def report(compilation: Compilation) -> str:
    """Return all findings as ``toolc check`` prints them."""
    return render(compilation.diagnostics, color=False)


def lines(compilation: Compilation) -> list[str]:
    return [
        f"{found.span} {found.code.severity} {found.code.number} {found.message}"
        for found in compilation.diagnostics.sorted()
    ]


def expected(name: str, found: str, *, golden: bool) -> str:
    """Return the contents of ``golden/NAME.txt``; with ``golden`` it is written first."""
    path = GOLDEN / f"{name}.txt"
    if golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    return path.read_text(encoding="utf-8")
