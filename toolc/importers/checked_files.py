"""Compile the generated files before an import writes them, because its source is untrusted."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from toolc.compiler.pipeline.compile import compile_specs
from toolc.importers.yaml_text import yaml_text
from toolc.model.json_schema import JsonObject
from toolc.model.text import printable

_MODEL_TEXT: Final = frozenset({"TC210", "TC211", "TC213", "TC214"})
"""The checks of texts for models, which may contain injected instructions."""

_ANY: Final[JsonObject] = {"shell": {"argv": ["true"]}}


class Invalid(NamedTuple):
    """The error of each removed spec, by file, and the findings about texts for models in the other specs."""

    removed: dict[str, str]
    findings: list[str]


def remove_invalid(files: dict[str, str], beside: Path | None = None) -> Invalid:
    """Compile generated files in a temporary folder, and remove each spec that has an error, together with its code.

    The subfolders of ``beside``, whose files specs may use, are copied there.
    """
    result = Invalid({}, [])
    if not files:
        return result
    with TemporaryDirectory() as temporary:
        top = Path(temporary).resolve()
        if beside is not None:
            for folder in (each for each in beside.iterdir() if each.is_dir() and not each.name.startswith(".")):
                copytree(folder, top / folder.name, symlinks=True)
        for name, text in files.items():
            place = top / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="\n")
        for each in compile_specs([top]).diagnostics.sorted():
            place = Path(each.span.path).resolve()
            if not place.is_relative_to(top):
                continue
            file = str(place.relative_to(top))
            message = f"{each.code.number}: {printable(each.message)}"
            spec = str(Path(file).with_suffix(".yaml"))  # an error in code concerns the spec with its name
            if each.is_error and files.pop(spec, None) is not None:
                files.pop(str(Path(file).with_suffix(".py")), None)
                result.removed[spec] = f"its spec would have an error, {message}"
            elif each.code.number in _MODEL_TEXT and file in files:
                result.findings.append(f"{file}:{each.span.start.line}: {message}")
    return result


def check_text(name: str, text: str) -> list[str]:
    """Check instructions that do not become part of specs, and return the findings."""
    spec: JsonObject = {"toolc": 1, "name": "text", "description": text, "parameters": {}, "backend": _ANY}
    with TemporaryDirectory() as temporary:
        place = Path(temporary, "text.yaml")
        place.write_text(yaml_text(spec), encoding="utf-8")
        found = compile_specs([place]).diagnostics.sorted()
    return [
        f"{name}: {each.code.number}: {printable(each.message)}" for each in found if each.code.number in _MODEL_TEXT
    ]
