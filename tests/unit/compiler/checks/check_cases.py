"""Helpers that return the findings of one check about one spec, regardless of settings."""

import contextlib
from pathlib import Path

from toolc.compiler.pipeline.compile import compile_specs
from toolc.compiler.project.settings import Settings
from toolc.model.diagnostics import Severity

HEAD = "toolc: 1\nname: hello\ndescription: Say hello to the whole world.\n"


def findings(folder: Path, number: str, text: str, name: str = "tool.yaml") -> list[str]:
    """Return the findings with ``number`` of a spec with this text: position, message; also if they are off."""
    (folder / name).write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        compilation = compile_specs([Path(name)], Settings(severity={number: Severity.WARNING}))
    found = compilation.diagnostics.sorted()
    others = [str(each) for each in found if each.is_error and each.code.number != number]
    assert others == [], "the spec of a test is wrong in another way"
    return [f"{each.span} {each.message}" for each in found if each.code.number == number]


def shell(parameters: str, command: str, more: str = "") -> str:
    """Return a spec with these parameters, this shell command and more top-level lines."""
    return f"{HEAD}parameters: {parameters}\nbackend:\n  shell: {command}\n{more}"


def messages(folder: Path, number: str, text: str) -> list[str]:
    """Return only the messages of the findings."""
    return [each.split(" ", 1)[1] for each in findings(folder, number, text)]


def numbers(folder: Path, parameters: str, command: str) -> list[str]:
    """Return the numbers of the findings about a tool with these parameters and this shell command."""
    text = f"{HEAD}parameters: {parameters}\nbackend: {{shell: {command}}}\n"
    (folder / "tool.yaml").write_text(text, encoding="utf-8")
    return [each.code.number for each in compile_specs([folder / "tool.yaml"]).diagnostics.sorted()]
