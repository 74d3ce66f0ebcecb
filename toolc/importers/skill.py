"""Generate specs for the scripts of an Agent Skill, a folder with ``SKILL.md`` and ``scripts``."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

import yaml

from toolc.dataclass import dataclass, field
from toolc.importers.python.modules import LeftOutError, Modules
from toolc.importers.python.needs import Versions, code_needs
from toolc.importers.script_options import ScriptOption, python_options, shell_options
from toolc.importers.tool_names import ToolNames
from toolc.importers.yaml_text import yaml_flow, yaml_text
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.text import shorten

RUNNER: Final = "run_script.py"
"""The file with a function for each script."""

_PROGRAMS: Final[Mapping[str, str]] = {".py": "sys.executable", ".sh": '"bash"', ".bash": '"bash"'}
_MAX_NAME: Final = 44
_START: Final = '''\
# Runs the scripts of this skill, by toolc import skill.
import os
import subprocess
import sys
from pathlib import Path


def _run(ctx, program, script, args):
    """Return what a script prints, or raise an error with what it says."""
    command = [program, str(Path(__file__).parent / script), *args]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise ctx.error("execution", f"exit status {done.returncode}\\n{done.stdout}{done.stderr}")
    return done.stdout


def _words(flag, value):
    """Return the words of an argument on the command line, none of which can be another option."""
    if isinstance(value, list):
        return [word for each in value for word in _words(flag, each)]
    if value is None or isinstance(value, bool):
        return [flag] if value else []
    return [f"{flag}={value}"] if len(flag) > 2 else [f"{flag}{value}"] if value != "" or not flag else [flag, ""]
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillSpecs:
    """The text of each file by name, and the reason for each script that is left out."""

    files: dict[str, str] = field(default_factory=dict)
    scripts: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


def skill_header(text: str) -> Mapping[str, Any]:
    """Return the front matter of ``SKILL.md``. Raises ``UsageError``."""
    match = re.match(r"(?s)\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|$)", text.replace("\r\n", "\n"))
    try:
        value = yaml.safe_load(match[1]) if match else None
    except yaml.YAMLError as error:
        raise UsageError(f"the header of SKILL.md is not YAML: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) for key in ("name", "description")):
        raise UsageError("SKILL.md must start with a header between lines of ---, with a name and a description")
    return value


def skill_specs(
    text: str, scripts: Mapping[str, str], modules: Modules, patterns: list[str], versions: Versions, names: ToolNames
) -> SkillSpecs:
    """Return the specs of a skill.

    ``scripts`` has the text of each file in ``scripts``. ``modules`` reads the same files.

    ``patterns`` selects the files that the scripts may read. Raises ``UsageError`` if ``text`` is not a valid
    ``SKILL.md``.
    """
    header = skill_header(text)
    result = SkillSpecs()
    stems = [f"{header['name']}_{PurePosixPath(each).stem}".replace("-", "_") for each in scripts]
    functions = []
    chosen = names.of([each[:_MAX_NAME] for each in stems], [*scripts])
    for (script, code), name in zip(scripts.items(), chosen, strict=True):
        is_shell = re.match(r"#!.*\b(?:ba)?sh\b", code)
        program = _PROGRAMS.get(PurePosixPath(script).suffix, '"bash"' if is_shell else "")
        if not program:
            result.left_out[script] = "the base image runs only .py and shell scripts; write a spec with sandbox.image"
            continue
        if program == "sys.executable" and "__main__" not in code and _is_imported(script, scripts):
            result.left_out[script] = "other scripts import it, and it runs nothing itself"
            continue
        try:
            needs = code_needs(modules, script, code if script.endswith(".py") else "", versions, ast.Module([], []))
        except LeftOutError as error:
            result.left_out[script] = str(error)
            continue
        result.versions.update(needs.packages)
        is_python = program == "sys.executable"
        options, is_plain = python_options(modules.module(script).tree) if is_python else shell_options(code)
        python: JsonObject = {"file": RUNNER, "files": [*patterns]}
        python |= {"requirements": [*needs.pinned]} if needs.packages else {}
        spec: JsonObject = {
            "toolc": 1, "name": name, "description": _description(script, code, header, modules),
            "parameters": _parameters(options) if is_plain else _command_line(script, text, options),
            "backend": {"python": python}, "sandbox": {"workspace": "ro"},
        }  # fmt: skip
        result.files[f"{name}.yaml"] = f"# scripts/{script} of {header['name']}\n" + yaml_text(spec)
        result.scripts[f"{name}.yaml"] = script
        functions.append(_function(name, program, script, options if is_plain else []))
    if functions:
        result.files[RUNNER] = "\n\n".join([_START, *functions])
    return result


def _function(name: str, program: str, script: str, options: list[ScriptOption]) -> str:
    """Return the code of the function of a script. Positional arguments come last."""
    start = f'    return _run(ctx, {program}, "scripts/{script}", '
    if not options:
        return f"def {name}(ctx, command_line=()):\n{start}command_line)\n"
    names = ", ".join(f"{each.name}=None" for each in options)
    words = [each.words for each in options if each.flag]
    words += ['"--"', *(each.words for each in options if not each.flag)]
    lines = "".join(f"        {each},\n" for each in words)
    return f"def {name}(ctx, {names}):\n{start}[\n{lines}    ])\n"


def _is_imported(script: str, scripts: Mapping[str, str]) -> bool:
    name = re.escape(PurePosixPath(script).stem)
    pattern = re.compile(rf"(?m)^\s*(?:import|from)\s+(?:\.|scripts\.)?{name}\b")
    return any(pattern.search(code) for other, code in scripts.items() if other != script)


def _description(script: str, code: str, header: Mapping[str, Any], modules: Modules) -> str:
    """Return the first paragraph of the script's docstring or comment, and the description of the skill."""
    own = ""
    if script.endswith(".py"):
        own = ast.get_docstring(modules.module(script).tree) or ""
    elif match := re.match(r"(?:#!.*\n)?((?:#.*\n)+)", code):
        own = re.sub(r"(?m)^#+ ?", "", match[1])
    first = " ".join(own.strip().partition("\n\n")[0].split())
    skill = f"Part of the skill {header['name']}: {' '.join(header['description'].split())}"
    return shorten(f"{first.rstrip('.')}. {skill}" if first else skill, 1000)


def _parameters(options: list[ScriptOption]) -> JsonObject:
    required: list[JsonValue] = [each.name for each in options if each.is_required]
    return {"type": "object", "properties": {each.name: each.schema for each in options}, "required": required}


def _command_line(script: str, text: str, options: list[ScriptOption]) -> JsonObject:
    """Return the schema of a single argument for the whole command line, with the first example in the instructions."""
    match = re.search(rf"(?m)scripts/{re.escape(script)}[ \t]+([^\n`|>&;]+)", text)
    try:
        words: list[JsonValue] = [*shlex.split(match[1])] if match else []
    except ValueError:
        words = []
    description = f"The arguments of the program, e.g. {words}" if words else "The arguments of the program."
    if declared := [f"{each.flag or each.name} ({yaml_flow(each.schema)[1:-1]})" for each in options]:
        description = shorten(f"{description.rstrip('.')}. It takes: {'; '.join(declared)}", 800)
    line: JsonObject = {"type": "array", "items": {"type": "string"}, "default": [], "description": description}
    return {"command_line": line}
