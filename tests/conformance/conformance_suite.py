"""All cases, in the order of the chapters of ``docs/reference/engine-behavior.md``.

Those of most chapters are in ``tests/data/conformance``. An entry has the fields of a ``Case``; instead of ``backend``
it may have ``script`` or ``argv`` (of a ``shell`` backend), ``python`` (code with a function ``run``) or ``plugin``
(what the plugin does when it is called).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import probe_cases
from conformance_case import Case, Difference, plugin, python
from project.data_files import load_yaml


def _load(chapter: str) -> tuple[Case, ...]:
    return tuple(_case(**entry) for entry in load_yaml(f"conformance/{chapter}")["cases"])


def _case(**fields: Any) -> Case:
    if "script" in fields:
        runs_code = fields.pop("runs_caller_code", False)
        fields["backend"] = {"shell": {"script": fields.pop("script"), "runs_caller_code": runs_code}}
    elif "argv" in fields:
        fields["backend"] = {"shell": {"argv": fields.pop("argv")}}
    elif "python" in fields:
        fields["backend"] = python(fields.pop("python"))
    elif "plugin" in fields:
        body, description = fields.pop("plugin"), fields.pop("plugin_description", None)
        case = _case(backend={}, **fields)
        return replace(case, backend=plugin(case, body, description or case.description))
    fields["files"] = {name: text.encode() for name, text in fields.get("files", {}).items()}
    fields["differs"] = {name: Difference(**each) for name, each in fields.get("differs", {}).items()}
    return Case(**fields)


CHAPTERS: Final[Mapping[str, tuple[Case, ...]]] = {
    "Programs": _load("programs"), "Output": _load("output"), "Python tools": _load("python-tools"),
    "Plugins": _load("plugins"), "Streaming": _load("streaming"), "Users and files": _load("files"),
    "Limits and endings": _load("limits"), "Attempts on the host": probe_cases.CASES,
    "Hostile tools": _load("hostile-tools"),
}  # fmt: skip


def cases_of(*chapters: str) -> dict[str, Case]:
    """Return the cases of these chapters by name."""
    return {case.name: case for chapter in chapters for case in CHAPTERS[chapter]}


BY_NAME: Final = cases_of(*CHAPTERS)
