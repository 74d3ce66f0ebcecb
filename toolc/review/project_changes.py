"""Changes of settings that specs share (RSK12): policies, lint settings, exclusions, comments that ignore findings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from collections.abc import Sequence as SequenceABC
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolc.compiler.pipeline.compile_file import CODES
from toolc.compiler.project.baseline import LEVELS
from toolc.compiler.project.project import NO_PROJECT, Project
from toolc.compiler.project.settings import severity_of
from toolc.compiler.project.suppressions import Suppression
from toolc.compiler.text_analysis.credentials import conceal
from toolc.dataclass import dataclass, replace
from toolc.document.nodes import Mapping, Node, Scalar, Sequence
from toolc.model import codes
from toolc.model.diagnostics import Code, Diagnostics, Severity
from toolc.model.names import PROVIDER_NAMES
from toolc.model.source import Span, start_of_file
from toolc.model.spec.policy import Policy
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import count_noun
from toolc.policy.comparison import Relaxation, relaxations
from toolc.policy.rules import violations
from toolc.providers import load_provider
from toolc.review.model.change import Grade, Route, ToolChange
from toolc.review.model.comments import comments_of
from toolc.review.model.pairing import ToolPair
from toolc.review.model.state import Reviewed, State, inside, placed

if TYPE_CHECKING:
    from toolc.providers.provider import Provider

RULE: Final = "RSK12"

_SEVERE: Final = ("TC21", "TC4", "TC5", "TC6", "TC9")
"""Findings about instructions to a model, the code that runs, its access, secrets, and policies."""

_DECEIVING: Final = ("TC210", "TC211", "TC213")
"""Findings about text that deceives or commands a model. As a change of the text (RSK10), it is critical as well."""

_NAMES: Final = {None: "off", Severity.WARNING: "warning", Severity.ERROR: "error"}

_FIELDS: Final = ("parameters", "result_schema", "providers", "examples", "annotations")
"""The fields of a tool that a provider may be unable to express."""

_ALWAYS_LOST: Final = frozenset({"/label", "/annotations", "/result/schema"})


def policy_changes(old: State, new: State, pairs: SequenceABC[ToolPair]) -> Iterator[ToolChange]:
    """Yield each policy rule that was removed or relaxed. One change covers all the tools that it applied to."""
    if not any(project.policies for project in old.projects_by_place.values()):
        return
    seen: set[tuple[str, str]] = set()
    for before, after in dict.fromkeys(_policies_of_both(old, new, pairs)):
        for each in relaxations(before, after):
            if (each.key, each.path) not in seen:
                seen.add((each.key, each.path))
                yield _change(each)


def _policies_of_both(
    old: State, new: State, pairs: SequenceABC[ToolPair]
) -> Iterator[tuple[tuple[Policy, ...], tuple[Policy, ...]]]:
    """Yield the policies before and after for each tool, and for each project file without a tool.

    The old policies of a tool are those for any of its names, and those for the folder where it is now.
    """
    for pair in pairs:
        if pair.new is None or pair.new.located is None:
            continue
        folder = new.place_of(pair.new.located)
        now, of_folder = new.project_at(folder), old.project_at(folder)
        after = _policies(new, now.policies if now else ())
        of_tool = pair.old.located.policies if pair.old and pair.old.located else ()
        yield _policies(old, of_tool), after
        yield _policies(old, of_folder.policies if of_folder else ()), after
    for place, project in old.unused_by_place.items():
        now = new.project_at(place)
        yield _policies(old, project.policies), _policies(new, now.policies if now else ())


def central_policy_changes(old: Policy, new: Policy | None) -> Iterator[ToolChange]:
    """Yield each rule of a ``--policy`` file that the head removes or relaxes. None means that it deletes the file."""
    for each in relaxations((old,), (new,) if new else ()):
        yield _change(each)


def _policies(state: State, policies: SequenceABC[Policy]) -> tuple[Policy, ...]:
    """Return the policies with file names that both states use."""
    top = state.top.resolve()
    return tuple(replace(each, path=os.path.relpath(Path(each.path).resolve(), top)) for each in policies)


def _change(each: Relaxation) -> ToolChange:
    return ToolChange(
        rule=RULE,
        grade="critical",
        message=f"the policy in {each.path} allows more: '{each.key}'",
        path=("policy", each.path, each.key),
        before=each.before,
        after=each.after,
        # Both states name the file by its path in the repository.
        old=each.old._replace(path=each.path),
        new=(each.new or start_of_file(""))._replace(path=each.path),
    )


def approvers(change: ToolChange, path: str, tool: ToolSpec | None, policies: SequenceABC[Policy]) -> tuple[str, ...]:
    """Return who must approve a change of a tool in ``path``, or of all specs if ``tool`` is None."""
    found = [
        name
        for policy in policies
        for approval in policy.approvals
        if approval.applies_to(change.rule, change.grade, path, tool.tags if tool else ())
        for name in approval.by
    ]
    return tuple(dict.fromkeys(found))


def policy_violations(state: State, policy: Policy) -> Diagnostics:
    """Return the violations of a central policy by the tools of a state, as findings about their specs."""
    diagnostics = Diagnostics()
    for name, tool in sorted(state.tools.items()):
        if tool.source:
            diagnostics.add_source(tool.source)
        for each in violations(tool.spec, state.by_name, (policy,)):
            span = tool.span(*each.route) or start_of_file(state.label)
            diagnostics.add(CODES[each.key], f"'{name}': {each.message}", span, each.hint)
    return conceal(diagnostics)


def relaxation_changes(old: State, new: State, pairs: SequenceABC[ToolPair]) -> Iterator[ToolChange]:
    """Yield each finding that is reported less severely than before, and each file that is no longer checked."""
    seen: set[tuple[str, str]] = set()
    for former, place in dict.fromkeys(_places(old, new, pairs)):
        before, after = old.project_at(former) or NO_PROJECT, new.project_at(place) or NO_PROJECT
        both = before.vars.where, after.vars.where
        if both not in seen:
            seen.add(both)
            source = _SettingSource(new, after) if after is not NO_PROJECT else _SettingSource(old, before)
            yield from _of_project(before, after, source, place, (old, new), is_moved=former != place)
    yield from _comments(old, new)


def twin_changes(old: State, new: State) -> Iterator[ToolChange]:
    """Yield each file whose name now differs from another one only in letter case or Unicode form."""
    before = {each.message for each in old.diagnostics.sorted() if each.code == codes.LETTER_CASE}
    for each in new.diagnostics.sorted():
        if each.code == codes.LETTER_CASE and each.message not in before:
            message = f"{each.message}; on macOS and Windows, one replaces the other"
            yield _relaxation_change("high", message, ("files", each.span.path), None, each.span.path, each.span)


def _places(old: State, new: State, pairs: SequenceABC[ToolPair]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of folders whose settings are compared: all folders, and both folders of moved tools."""
    if old.tools and new.tools:
        yield from ((each, each) for each in (*sorted(new.projects_by_place), *new.folders))
    yield from ((each, each) for each in sorted(old.unused_by_place))
    for pair in pairs:
        if pair.old and pair.new and pair.old.located and pair.new.located:
            yield old.place_of(pair.old.located), new.place_of(pair.new.located)


@dataclass(frozen=True, slots=True)
class _SettingSource:
    """The positions of the settings in a project file."""

    state: State
    project: Project

    def at(self, *route: str) -> Span:
        """Return the position of the key or item at ``route``, or of its nearest existing parent."""
        node: Node | None = self.project.root
        span = start_of_file(self.project.vars.where)
        for step in route:
            if isinstance(node, Mapping) and (entry := node.entry(step)):
                span, node = entry.key_span, entry.value
            elif isinstance(node, Sequence):
                node = next((each for each in node.items if isinstance(each, Scalar) and each.value == step), None)
                span = node.span if node else span
            else:
                break
        return Span(inside(span.path, self.state.prefix), span.start, span.end)

    def span_of(self, code: Code) -> Span:
        """Return the position of the setting for a finding: its entry in ``ignore`` or ``severity``, or ``select``."""
        lint = self.project.lint
        routes = [("lint", "ignore", each) for each in lint.ignore]
        routes += [("lint", "severity", each) for each in lint.severity]
        named = [route for route in routes if code.number.startswith(route[2])]
        return self.at(*max(named, key=lambda route: len(route[2]), default=("lint", "select")))


def _of_project(
    old: Project, new: Project, source: _SettingSource, place: str, states: tuple[State, State], *, is_moved: bool
) -> Iterator[ToolChange]:
    """Yield the relaxed settings of a folder. ``old`` is the project of another folder if ``is_moved``."""
    route: Route
    scope = "all specs" if place == "." else f"the specs in {place}"
    yield from _lowered(old, new, source, place, scope)
    for host in sorted(set(new.lint.hosts) - set(old.lint.hosts)):
        message = f"descriptions may now name the host {host}"
        yield _relaxation_change(
            "critical", message, ("lint", "hosts", host), None, host, source.at("lint", "hosts", host), place
        )
    for pattern in () if is_moved else sorted(set(new.exclude) - set(old.exclude)):
        message = f"files are no longer checked: {pattern}"
        route = ("exclude", pattern)
        grade: Grade = "high" if any(_hides(pattern, place, state) for state in states) else "low"
        yield _relaxation_change(grade, message, route, None, pattern, source.at(*route), place)


def _hides(pattern: str, place: str, state: State) -> bool:
    """Return whether a pattern of ``exclude`` in the project file of a folder matches the file of a tool."""
    folder = (state.top / place).resolve()
    files = [Path(tool.located.path).resolve() for tool in state.tools.values() if tool.located]
    project = Project(folder=folder, exclude=(pattern,))
    return any(project.excludes(each) for each in files if each.is_relative_to(folder))


def _lowered(old: Project, new: Project, source: _SettingSource, place: str, scope: str) -> Iterator[ToolChange]:
    """Yield a change for each setting that makes findings less severe. One setting may concern many findings."""
    by_setting: dict[Span, list[tuple[str, str, str]]] = {}
    for code in codes.ALL:
        before, after = severity_of(code, [old.lint]), severity_of(code, [new.lint])
        if LEVELS[after] < LEVELS[before]:
            found = code.number, _NAMES[before], _NAMES[after]
            lowered = by_setting.setdefault(source.span_of(code), [])
            if found not in lowered:
                lowered.append(found)
    for span, lowered in by_setting.items():
        number, was, now = lowered[0]
        message = f"the severity of {number} changed from {was} to {now} for {scope}"
        if len(lowered) > 1:
            number = " ".join(each for each, _, _ in lowered)
            was, now = (", ".join(f"{each[0]}: {each[side]}" for each in lowered) for side in (1, 2))
            message = f"{len(lowered)} findings are less severe for {scope}: {number.replace(' ', ', ')}"
        yield _relaxation_change("critical", message, ("lint", number), was, now, span, place)


def _comments(old: State, new: State) -> Iterator[ToolChange]:
    """Yield each suppression comment that the old state does not have at the same place in a tool."""
    in_files = Counter((placed(comment.span, old.prefix).path, place) for comment, place in comments_of(old))
    remaining = []
    for comment, place in comments_of(new):
        key = (placed(comment.span, new.prefix).path, place)
        if in_files[key]:
            in_files[key] -= 1
        else:
            remaining.append((comment, place))
    before = Counter(place for _, place in in_files.elements())
    added = []
    for comment, place in remaining:  # perhaps moved from another file
        if before[place]:
            before[place] -= 1
        else:
            added.append((comment, place))
    renamed = Counter(replace(each, tool="") for each in before.elements() if each.tool not in new.tools)
    for comment, place in added:
        moved = replace(place, tool="")
        if renamed[moved] and place.tool not in old.tools:  # with its tool
            renamed[moved] -= 1
            continue
        span = placed(comment.span, new.prefix)
        message = f"a comment ignores the finding {place.number}"
        text = comment.comment.source.line(span.start.line).strip()
        folder = os.path.relpath(Path(comment.span.path).parent.resolve(), new.top.resolve())
        grade = _grade(comment, old.project_at(folder) or NO_PROJECT)
        yield _relaxation_change(grade, message, ("ignore", span.path, place.number), None, text, span)


def _grade(comment: Suppression, project: Project) -> Grade:
    """Return the grade of a comment, which depends on the findings that it can hide with the settings of the base."""
    number = comment.number
    is_error = any(severity_of(code, [project.lint]) is Severity.ERROR for code in comment.warnings)
    if is_error or number.startswith(_DECEIVING):
        return "critical"
    return "high" if number.startswith(_SEVERE) else "medium"


def _relaxation_change(
    grade: Grade, message: str, route: Route, before: str | None, after: str | None, span: Span, subject: str = ""
) -> ToolChange:
    return ToolChange(
        rule=RULE, grade=grade, message=message, path=route, before=before, after=after, new=span,
        subject=subject,
    )  # fmt: skip


def provider_changes(old: Reviewed, new: Reviewed) -> Iterator[ToolChange]:
    """Yield a change for each provider that now loses more of the tool's definition."""
    if all(getattr(old.spec, field) == getattr(new.spec, field) for field in _FIELDS):
        return
    for number, name in enumerate(PROVIDER_NAMES, 1):
        provider = load_provider(name)
        before, after = _losses(provider, old.spec), _losses(provider, new.spec)
        lost = {message: pointer for message, pointer in after.items() if message not in before}
        if lost:
            yield ToolChange(
                rule=f"PRV{number:02}", grade="warning",
                message=f"{name} cannot represent {count_noun(len(lost), 'more detail')}: {next(iter(lost))}",
                path=("parameters",), before="\n".join(before) or None, after="\n".join(after),
                subject=" ".join(lost.values()), old=old.span("parameters"), new=new.span("parameters"),
            )  # fmt: skip


def _losses(provider: Provider, tool: ToolSpec) -> dict[str, str]:
    """Return the losses as text, each with its JSON Pointer, except those that the provider has for every tool."""
    return {
        f"{loss.message} ({loss.pointer or 'the root'})": loss.pointer
        for loss in provider.lower([tool]).losses
        if loss.pointer not in _ALWAYS_LOST and not loss.is_inherent
    }
