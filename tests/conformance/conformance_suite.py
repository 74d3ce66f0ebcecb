"""All cases, in the order of the chapters of ``docs/reference/engine-behaviour.md``."""

from collections.abc import Mapping
from typing import Final

import function_cases
import hostile_cases
import invocation_cases
import limit_cases
import output_cases
import plugin_cases
import probe_cases
import streaming_cases
import workspace_cases
from conformance_case import Case

CHAPTERS: Final[Mapping[str, tuple[Case, ...]]] = {
    "Programs": invocation_cases.CASES, "Output": output_cases.CASES, "Python tools": function_cases.CASES,
    "Plugins": plugin_cases.CASES, "Streaming": streaming_cases.CASES, "Users and files": workspace_cases.CASES,
    "Limits and endings": limit_cases.CASES, "Attempts on the host": probe_cases.CASES,
    "Hostile tools": hostile_cases.CASES,
}  # fmt: skip


def cases_of(*chapters: str) -> dict[str, Case]:
    """Return the cases of these chapters by name."""
    return {case.name: case for chapter in chapters for case in CHAPTERS[chapter]}


BY_NAME: Final = cases_of(*CHAPTERS)
