"""Checks of decoded tools. Each module registers the checks of one subject; ``base`` explains the registration.

To add a check, write a function with the decorator ``tool_check`` or ``tool_set_check`` in the module of its
subject, declare its code in ``toolc.model.codes``, and write its page in ``toolc/data/rules``. The first line of
each module names its codes. Findings that prevent decoding are reported in ``toolc.compiler.decode``, not here.

May import: ``toolc.compiler.located_tool``, ``project``, ``schema``, ``templates`` and ``text``;
``toolc.providers``, ``toolc.document``, ``toolc.validation`` and ``toolc.model``.

Public names: ``ToolCheck``, ``TOOL_CHECKS``, ``TOOL_SET_CHECKS`` (``base``); ``tool_references`` (``call_graph``);
``COMPARED_KEYS`` (``descriptions``); ``first_instruction``, ``first_invisible`` (``model_text``);
``check_text_for_secrets`` (``secrets``); ``StepArguments`` (``step_types``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolc.compiler.checks import (
    call_graph,
    composite_steps,
    descriptions,
    http,
    injection,
    metadata,
    model_text,
    names,
    network,
    parameters,
    providers,
    sandbox,
    secrets,
    shell,
)
from toolc.compiler.checks.base import TOOL_CHECKS, TOOL_SET_CHECKS, ToolCheck
from toolc.compiler.located_tool import LocatedTool
from toolc.model.diagnostics import Diagnostic

__all__ = ["check_each"]

MODULES: Final = (
    call_graph, composite_steps, descriptions, http, injection, metadata, model_text, names, network, parameters,
    providers, sandbox, secrets, shell,
)  # fmt: skip
"""The modules with checks. Importing a module registers its checks."""


def check_all_tools(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Yield every finding of the checks of all tools."""
    own = [tool for tool in tools if not tool.comes_with_toolc]
    for every in TOOL_SET_CHECKS:
        yield from every.check(tools if every.includes_builtin_tools else own)


def check_each(tools: Sequence[LocatedTool], checks: Sequence[ToolCheck] = TOOL_CHECKS) -> Iterator[Diagnostic]:
    """Yield every finding of ``checks`` on each tool."""
    for tool in tools:
        damaged = tool.damaged
        for each in checks:
            if not damaged or each.needs.isdisjoint(damaged):
                yield from each.check(tool)
