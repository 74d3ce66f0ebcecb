"""TC412: a step of a composite whose arguments its tool would refuse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.calls import by_name
from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic


def check(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Each argument that is missing, unknown, or of a type that the called tool does not take."""
    if not any(tool.spec.backend.tag == "composite" for tool in tools):
        return
    from toolc.compiler.step_findings import StepArguments  # start-up time: few specs have steps

    known = by_name(tool.spec for tool in tools if "parameters" not in tool.damaged)
    giving = by_name(tool.spec for tool in tools if tool.damaged.isdisjoint({"backend", "result"}))
    for tool in tools:
        backend = tool.spec.backend
        if backend.tag == "composite" and "parameters" not in tool.damaged:
            for index, step in enumerate(backend.steps):
                if step.tool and step.tool in known:
                    yield from StepArguments(tool, backend, index, known, giving).findings()


RULE: Final = Rule(
    codes=(codes.STEP_ARGUMENTS,),
    explanation="""\
A step of a composite is a call of another tool, which refuses arguments that its parameters do not
allow. What a step passes on is known before anything runs: constants, the composite's own
parameters, and what the steps before give. So a missing argument, one that the tool does not have,
and one of a type that it can never take are found here and not in the middle of a call.

A placeholder that stands alone keeps its type: `"{{ limit }}"` is the number that was given, and
`"{{ limit }} rows"` is a text. In a pipeline the parameter that is required and not among `args`
becomes what the step before gave, so exactly one has to be left.
""",
    bad="""\
toolc: 1
tools:
  - name: list_files
    description: List the files of a folder, one a line, no more than a number of them.
    parameters:
      folder: {type: string, maxLength: 200, description: "A folder, e.g. 'src'"}
      limit: {type: integer, minimum: 1, maximum: 500, description: How many at most.}
    backend: {shell: {script: ls -- "$ARG_folder" | head -n "$ARG_limit"}}
    sandbox: {workspace: ro}
  - name: list_sources
    description: List the first files of the folder with the sources.
    parameters: {limit: {type: integer, minimum: 1, maximum: 500, description: How many at most.}}
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: sources, tool: list_files, args: {folder: src, limit: "{{ limit }} files"}}
""",
    good="""\
toolc: 1
tools:
  - name: list_files
    description: List the files of a folder, one a line, no more than a number of them.
    parameters:
      folder: {type: string, maxLength: 200, description: "A folder, e.g. 'src'"}
      limit: {type: integer, minimum: 1, maximum: 500, description: How many at most.}
    backend: {shell: {script: ls -- "$ARG_folder" | head -n "$ARG_limit"}}
    sandbox: {workspace: ro}
  - name: list_sources
    description: List the first files of the folder with the sources.
    parameters: {limit: {type: integer, minimum: 1, maximum: 500, description: How many at most.}}
    backend:
      composite:
        strategy: sequential
        steps:
          - {id: sources, tool: list_files, args: {folder: src, limit: "{{ limit }}"}}
""",
)
