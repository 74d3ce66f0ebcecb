"""The difference between two states: every changed tool with all its changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Final

from toolc.dataclass import dataclass, replace
from toolc.document.nodes import to_json
from toolc.model.errors import RegistryError
from toolc.model.spec.policy import Policy
from toolc.review import project_changes
from toolc.review.argument_changes import argument_changes
from toolc.review.concealed import Hidden, conceal_change, credential_parts
from toolc.review.contract import changes as contract
from toolc.review.model import text_diff
from toolc.review.model.change import GRADES, Grade, ToolChange
from toolc.review.model.links import Links
from toolc.review.model.pairing import ToolPair, pairs
from toolc.review.model.state import Reviewed, State
from toolc.review.risk import code, data_access, network_risks, sandbox_risks, text_risks
from toolc.review.risk.risk_rule import RISK_RULES, Sides
from toolc.review.weakened_tests import weakened_tests
from toolc.validation.validate import is_valid_schema

RISK_MODULES: Final = (code, data_access, network_risks, sandbox_risks, text_risks)
"""The modules with risk rules. Importing a module registers its rules."""


@dataclass(frozen=True, slots=True)
class ToolDifference:
    """One tool that was changed, added, removed or probably renamed."""

    pair: ToolPair
    changes: tuple[ToolChange, ...]

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.pair.name

    @property
    def grade(self) -> Grade:
        """The most severe grade of its changes."""
        return min((change.grade for change in self.changes), key=GRADES.index, default="compatible")


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two states: changed ``tools``, sorted by name, and ``shared`` changes such as settings."""

    old: State
    new: State
    tools: tuple[ToolDifference, ...]
    shared: tuple[ToolChange, ...] = ()

    @property
    def changes(self) -> Iterator[tuple[str, ToolChange]]:
        """Yield every change with the name of its tool. The name is empty for changes that concern all specs."""
        yield from (("", change) for change in self.shared)
        yield from ((tool.name, change) for tool in self.tools for change in tool.changes)


def compare(old: State, new: State, central: Sequence[Policy] = ()) -> Difference:
    """Return the difference between two states. The policies in ``central`` can name further approvers.

    Raises ``RegistryError`` if a changed tool comes from a registry file and has an invalid schema.
    """
    both = pairs(old, new)
    links = Links(old, new, {each.name: each.old for each in both if each.status == "renamed" and each.old})
    parts_in = cache(credential_parts)
    found = [ToolDifference(pair, tuple(_changes(pair, links, central, parts_in))) for pair in both]
    policies = [*central, *(policy for state in (old, new) for each in state.projects for policy in each.policies)]
    shared = [
        replace(each, approvers=project_changes.approvers(each, each.new.path if each.new else "", None, policies))
        for each in (
            *project_changes.relaxation_changes(old, new, both),
            *project_changes.policy_changes(old, new, both),
            *project_changes.twin_changes(old, new),
        )
    ]
    return Difference(old, new, tuple(each for each in found if each.changes), tuple(shared))


def _changes(
    pair: ToolPair, links: Links, central: Sequence[Policy], parts_in: Callable[[str], frozenset[str]]
) -> Iterator[ToolChange]:
    """Yield the changes of one tool, each with the file that caused it and its required approvers."""
    # A change that removes an approval rule still needs its approval, so the approvers of both states count.
    tools = [side for side in (pair.old, pair.new) if side]
    policies = [*central, *(policy for each in tools if each.located for policy in each.located.policies)]
    found = [*_all_changes(pair, links)]
    hidden = Hidden.of(tools if found else (), parts_in)  # an old state may have credentials in a spec
    for each in found:
        change = _at_own_place(pair, conceal_change(each, hidden))
        cause = change.cause or _cause(pair, change)
        # As above: if a change moves the file or removes a tag, the old policies still name its approvers.
        named = (name for tool in tools for name in project_changes.approvers(change, tool.path, tool.spec, policies))
        names = tuple(dict.fromkeys(named)) if policies else ()
        yield replace(change, cause=cause, approvers=names) if cause or names else change


def _at_own_place(pair: ToolPair, change: ToolChange) -> ToolChange:
    """If the place of a change is a project default that is the same in both states, return it at the tool's backend.

    For example, a step of a composite can add access to the composite, whose ``sandbox`` comes from the defaults.
    """
    old, new = pair.old, pair.new
    if change.kind != "risk" or not (old and new and old.located and new.located and change.old and change.new):
        return change
    if change.old.path == old.path or change.new.path == new.path:
        return change
    nodes = [each.node_at(*change.path) for each in (old.located, new.located)]
    before, after = (None if node is None else to_json(node) for node in nodes)
    if before != after:
        return change
    route = ("backend", new.spec.backend.tag)
    return replace(change, old=old.span(*route), new=new.span(*route))


def _all_changes(pair: ToolPair, links: Links) -> Iterator[ToolChange]:
    old, new = links.old, links.new
    sides = Sides(pair.old, pair.new, old, new) if pair.new else None
    yield from contract.toolset_changes(pair, old, new)
    if sides:
        if new.toolsets:
            yield from network_risks.toolset_data_flows(sides)
            yield from network_risks.toolset_access(sides)
        yield from text_risks.check_tags(sides)
    yield from weakened_tests(pair, old, new)
    if pair.status == "kept" and old.digests(pair.name) == new.digests(pair.name):  # most of thousands of tools
        return
    _require_valid_schemas(pair.old, old)
    _require_valid_schemas(pair.new, new)
    contracts = [*contract.contract_changes(pair)]
    found = [*_without_repeats(contracts), *(_risks(sides, contracts) if sides else ())]
    yield from found
    yield from links.changes(pair)
    if pair.old and pair.new:
        yield from text_diff.remaining_surface_changes(pair.old, pair.new, found)
        yield from project_changes.provider_changes(pair.old, pair.new)


def _without_repeats(contracts: Sequence[ToolChange]) -> list[ToolChange]:
    """Return each change once. A new pattern both refuses and allows values, and only its own change shows this."""
    listed: dict[object, ToolChange] = {}
    for change in contracts:
        key = change.rule, change.path, change.message
        if key not in listed or (change.grade == "breaking" and listed[key].grade != "breaking"):
            listed[key] = change
    return [*listed.values()]


def _risks(sides: Sides, contracts: Sequence[ToolChange]) -> Iterator[ToolChange]:
    """Yield the new permissions of a call of the tool. ``contracts`` are the tool's contract changes."""
    reported = [change for number in sorted(RISK_RULES) for change in RISK_RULES[number](sides)]
    yield from reported
    yield from argument_changes(sides, contracts)
    yield from code.remaining_effects(sides, reported)


def _require_valid_schemas(tool: Reviewed | None, state: State) -> None:
    """Raise ``RegistryError`` for schemas that the compiler would not write. A registry file may contain anything."""
    if tool is None or tool.located is not None:
        return
    for schema in (tool.spec.parameters, tool.spec.result_schema):
        if schema is not None and not is_valid_schema(schema.value):
            raise RegistryError(
                f"{state.label}: a schema of the tool {tool.spec.name} is not a JSON Schema; build the registry again"
            )


def _cause(pair: ToolPair, change: ToolChange) -> str:
    """Return the file that caused a change, or ``""`` if it is the tool's own file."""
    for span, tool in ((change.new, pair.new), (change.old, pair.old)):
        if span and tool and span.path != tool.path:
            return span.path
    return ""
