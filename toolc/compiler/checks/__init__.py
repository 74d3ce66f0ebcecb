"""Checks of decoded tools. Each module registers its checks, and its first line names their codes.

To add a check, write a function with the decorator ``tool_check`` or ``tool_set_check`` in the module of its
subject, declare its code in ``toolc.model.codes``, and write its page in ``toolc/data/rules``. Findings that prevent
decoding are reported in ``toolc.compiler.decode``, not here.

- ``call_graph``: unknown tools in steps and agents, recursion, depth of calls. Public: ``tool_references``.
- ``caller_code``: arguments that run as code; arguments without quotes in scripts.
- ``check_registry``: the decorators and the tables of registered checks. Start reading here.
- ``code_injection``: arguments that become SQL or JSON text.
- ``composite_steps``: arguments and conditions of the steps of a composite.
- ``credentials``: literal values in places for credentials. Public: ``host_of``,
  ``image_credentials``, ``literal_credentials``, ``public_values``.
- ``descriptions``: length and similarity of descriptions; parameters without a description.
- ``helpers``: the parameters and subschemas of a tool; a quick text search in its file.
- ``http_checks``: doubly encoded URLs, unencrypted requests, statuses without an error mapping.
- ``mcp_parameters``: parameters that accept more than the MCP server.
- ``metadata``: ``label``, ``tests``, ``deprecated``, contradictory ``annotations``.
- ``model_text``: hidden characters, instructions, markup and URLs in text that a model reads. Public:
  ``first_invisible``, ``first_markup``.
- ``name_checks``: duplicate and similar names of tools.
- ``network_checks``: destinations that are too broad, or any address.
- ``parameters``: enums in prose, missing bounds, free-form objects, unused parameters.
- ``placeholders``: placeholders in a form that is not replaced.
- ``providers``: what Gemini, strict modes and others reject or lose.
- ``sandbox_checks``: image tags, root, missing or unneeded workspaces.
- ``script_arguments``: unknown and absent arguments in scripts. Public: ``assigned_variables``.
- ``scripts``: no checks, but the shell script of a tool, its positions and edits. Public: ``shell_script``.
- ``secrets``: literal secrets, exposed and undeclared secrets, variables that are not expanded.
- ``shell_checks``: scripts with one command, arguments that a program reads as options.
- ``step_types``: no checks, but the types of the values that steps receive and return. Public: ``StepArguments``.

May import: ``compiler.located_tool``, ``project``, ``schema``, ``templates`` and ``text_analysis``; ``providers``,
``document``, ``validation`` and ``model``.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from toolc.compiler.checks import (
    call_graph,
    caller_code,
    code_injection,
    composite_steps,
    credentials,
    descriptions,
    http_checks,
    mcp_parameters,
    metadata,
    model_text,
    name_checks,
    network_checks,
    parameters,
    placeholders,
    providers,
    sandbox_checks,
    script_arguments,
    secrets,
    shell_checks,
)
from toolc.compiler.checks.check_registry import TOOL_CHECKS, TOOL_SET_CHECKS, ToolCheck
from toolc.compiler.located_tool import LocatedTool
from toolc.compiler.project.work_limits import unfinished_work
from toolc.model import codes
from toolc.model.diagnostics import Diagnostic, step_budget
from toolc.model.source import Span

MODULES: Final = (
    call_graph, caller_code, code_injection, composite_steps, credentials, descriptions, http_checks, mcp_parameters,
    metadata, model_text, name_checks, network_checks, parameters, placeholders, providers, sandbox_checks,
    script_arguments, secrets, shell_checks,
)  # fmt: skip
"""The modules with checks. Importing a module registers its checks."""

_MISSPELLED: Final = frozenset({codes.MISSPELLED_PLACEHOLDER, codes.UNKNOWN_PARAMETER})
_RUNS_ARGUMENT: Final = frozenset({codes.SHELL_TEMPLATE, codes.CALLER_CODE})
_EXPLAINED: Final = {
    codes.UNUSED_PARAMETER: _MISSPELLED,
    codes.ONE_COMMAND: _MISSPELLED | _RUNS_ARGUMENT,
    codes.UNQUOTED_ARGUMENT: _RUNS_ARGUMENT,
}
"""Findings that are omitted if another finding about the same tool explains them.

A parameter whose placeholder is misspelled is probably not unused, and advice about a command does not apply to a
command with an error.
"""


def check_all_tools(tools: Sequence[LocatedTool]) -> list[Diagnostic]:
    """Return the findings of all checks on all tools."""
    own = [tool for tool in tools if not tool.comes_with_toolc]
    with step_budget() as budget:
        found = [
            each for every in TOOL_SET_CHECKS for each in every.check(tools if every.includes_builtin_tools else own)
        ]
    return [*found, *(unfinished_work(budget, tool.span("name")) for tool in own[:1] if budget.unfinished)]


def check_each(tools: Sequence[LocatedTool], checks: Sequence[ToolCheck] = TOOL_CHECKS) -> Iterator[Diagnostic]:
    """Yield the findings of ``checks`` on each tool, without those that another finding explains."""
    for tool in tools:
        found = [*_check_tool(tool, checks)]
        present = {each.code for each in found}
        yield from (each for each in found if present.isdisjoint(_EXPLAINED.get(each.code, ())))


def _check_tool(tool: LocatedTool, checks: Sequence[ToolCheck]) -> Iterator[Diagnostic]:
    damaged = tool.damaged
    for each in checks:
        if not damaged or each.needs.isdisjoint(damaged):
            try:
                yield from each.check(tool)
            except Exception as error:  # noqa: BLE001  a bug in one check must not hide the other findings
                yield internal_error(tool.span("name"), error)


def internal_error(span: Span, error: Exception) -> Diagnostic:
    """Return the finding about an internal error at ``span``."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    message = f"internal error in toolc: {type(error).__name__}: {error!s:.200} ({place})"
    hint = "this is a bug in toolc; report it and attach this file"
    return Diagnostic(codes.INTERNAL_ERROR, message, span, hint)
