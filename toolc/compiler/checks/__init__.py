"""What can be wrong with a tool that decoded well: one file per check, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from toolc.compiler.checks import (
    built_text,
    call_depth,
    compositions,
    contradictions,
    descriptions,
    env_expansion,
    foreign_urls,
    free_form_objects,
    gemini_keywords,
    hidden_text,
    image_latest,
    image_tag,
    labels,
    leading_dash,
    literal_secrets,
    lossy_schemas,
    markup,
    may_be_root,
    misplaced_secrets,
    names,
    no_replacement,
    no_workspace,
    one_command,
    open_network,
    parameter_descriptions,
    plain_http,
    prose_enums,
    read_only_writes,
    root_choice,
    secret_names,
    shell_code,
    similar_descriptions,
    step_arguments,
    step_conditions,
    strict_mode,
    suspicious_words,
    unbounded_parameters,
    unmapped_statuses,
    untested,
    unused_parameters,
    url_parts,
    wide_egress,
)
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic


class ToolCheck(Protocol):
    """A module that checks one tool.

    ``NEEDS`` are the top-level keys it looks at: a tool in which one of them could not be read is passed over.
    ``NUMBER`` is the number of its findings.
    """

    @property
    def NUMBER(self) -> str:  # noqa: N802  a module's constant
        """The number of its findings."""

    @property
    def NEEDS(self) -> frozenset[str]:  # noqa: N802  a module's constant
        """The top-level keys that the check looks at."""

    def check(self, tool: LocatedTool, /) -> Iterator[Diagnostic]:
        """What is wrong with ``tool``."""


class SetCheck(Protocol):
    """A module that checks all tools of a compilation together; ``NUMBER`` is the number of its findings."""

    @property
    def NUMBER(self) -> str:  # noqa: N802  a module's constant
        """The number of its findings."""

    def check(self, tools: Sequence[LocatedTool], /) -> Iterator[Diagnostic]:
        """What is wrong with ``tools``, of which some may be damaged."""


TOOL_CHECKS: Final[tuple[ToolCheck, ...]] = (
    built_text,
    contradictions,
    descriptions,
    env_expansion,
    foreign_urls,
    free_form_objects,
    gemini_keywords,
    hidden_text,
    image_latest,
    image_tag,
    labels,
    leading_dash,
    literal_secrets,
    lossy_schemas,
    markup,
    may_be_root,
    misplaced_secrets,
    no_replacement,
    no_workspace,
    one_command,
    open_network,
    parameter_descriptions,
    plain_http,
    prose_enums,
    read_only_writes,
    root_choice,
    secret_names,
    shell_code,
    step_conditions,
    strict_mode,
    suspicious_words,
    unbounded_parameters,
    unmapped_statuses,
    untested,
    unused_parameters,
    url_parts,
    wide_egress,
)
"""The checks of one tool. A new one is a file here and a name in this line."""

_COMPARING: Final = frozenset({names.NUMBER, similar_descriptions.NUMBER})
"""Those that compare tools, which does not concern the ones that come with toolc."""

SET_CHECKS: Final[tuple[SetCheck, ...]] = (call_depth, compositions, names, similar_descriptions, step_arguments)
"""The checks of all tools together. A new one is a file here and a name in this line."""


def check_together(tools: Sequence[LocatedTool]) -> Iterator[Diagnostic]:
    """Every finding about all tools together."""
    own = [tool for tool in tools if not tool.comes_with_toolc]
    for every in SET_CHECKS:
        yield from every.check(own if every.NUMBER in _COMPARING else tools)


def check_each(tools: Sequence[LocatedTool], checks: Sequence[ToolCheck] = TOOL_CHECKS) -> Iterator[Diagnostic]:
    """Every finding of some checks about each tool by itself."""
    for tool in tools:
        damaged = tool.damaged
        for each in checks:
            if not damaged or each.NEEDS.isdisjoint(damaged):
                yield from each.check(tool)
