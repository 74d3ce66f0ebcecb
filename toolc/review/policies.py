"""Policies in a review: RSK12 where they allow more than before, who must approve a change, what a tool breaks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from toolc.model.diagnostics import Diagnostics
from toolc.model.source import Position, Span
from toolc.model.spec.tool import ToolSpec
from toolc.policy.comparison import Relaxation, relaxations
from toolc.policy.policy import Policy
from toolc.review.change import Change
from toolc.review.pairing import Pair
from toolc.review.state import State

RULE: Final = "RSK12"


def changes(old: State, new: State, pairs: Sequence[Pair]) -> Iterator[Change]:
    """Each bound that held for a tool and is gone or wider: once, whatever tools it held for.

    What held for a tool is what held for it by any name, and what held in the folder where it is now.
    """
    if not any(project.policies for project in old.projects):
        return
    told: set[tuple[str, str]] = set()
    compared: set[tuple[tuple[Policy, ...], tuple[Policy, ...]]] = set()
    for pair in pairs:
        if pair.new is None or pair.new.located is None:
            continue
        now = _policies(new, pair.new.located.policies)
        of_tool = pair.old.located.policies if pair.old and pair.old.located else ()
        folder = os.path.relpath(Path(pair.new.located.path).parent.resolve(), new.top.resolve())
        of_folder = old.project_at(folder)
        held = _policies(old, of_tool), _policies(old, of_folder.policies if of_folder else ())
        for was in held:
            if (was, now) in compared:
                continue
            compared.add((was, now))
            for each in relaxations(was, now):
                if (each.key, each.path) not in told:
                    told.add((each.key, each.path))
                    yield _change(each)


def _policies(state: State, policies: Sequence[Policy]) -> tuple[Policy, ...]:
    """Those with their files as both sides call them."""
    top = state.top.resolve()
    return tuple(replace(each, path=os.path.relpath(Path(each.path).resolve(), top)) for each in policies)


def _change(each: Relaxation) -> Change:
    return Change(
        kind="risk",
        rule=RULE,
        grade="high",
        message=f"the policy of {each.path} allows more by '{each.key}'",
        path=("policy", each.path, each.key),
        before=each.before,
        after=each.after,
        # Both states call the file what the repository does.
        old=each.old._replace(path=each.path),
        new=(each.new or Span("", Position(1, 1), Position(1, 2)))._replace(path=each.path),
    )


def approvers(change: Change, path: str, tool: ToolSpec | None, policies: Sequence[Policy]) -> tuple[str, ...]:
    """Who must approve a change of a tool in the file ``path``, each once; a ``tool`` of None is what all share."""
    found = [
        name
        for policy in policies
        for approval in policy.approvals
        if approval.asks(change.rule, change.grade, path, tool.tags if tool else ())
        for name in approval.by
    ]
    return tuple(dict.fromkeys(found))


def against(state: State, policy: Policy) -> Diagnostics:
    """All that a central policy has against the tools of a state, as findings about their specs."""
    from toolc.compiler.pipeline.compile_file import CODES  # start-up time: only where somebody names a policy
    from toolc.policy.rules import violations  # as above

    diagnostics = Diagnostics()
    for name, tool in sorted(state.tools.items()):
        if tool.source:
            diagnostics.add_source(tool.source)
        for each in violations(tool.spec, state.by_name, (policy,)):
            span = tool.span(*each.route) or Span(state.label, Position(1, 1), Position(1, 2))
            diagnostics.add(CODES[each.key], f"'{name}': {each.message}", span, each.hint)
    return diagnostics
