"""Every rule of a review, declared once. Numbers are never reused. The pages are in ``toolc/data/rules``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolc.model.names import PROVIDER_NAMES
from toolc.review.contract.movement import Aspect, Direction, SchemaChange, grade, rule
from toolc.review.model.change import Grade, Kind, Side, kind_of

_TOOL: Final[tuple[tuple[str, str, Grade, str], ...]] = (
    ("CON301", "tool-removed", "breaking", "tool removed"),
    ("CON302", "tool-renamed", "breaking", "tool probably renamed"),
    ("CON303", "alias-removed", "breaking", "alias removed"),
    ("CON304", "backend-changed", "breaking", "backend kind changed"),
    ("CON305", "result-format-changed", "breaking", "result format changed"),
    ("CON306", "error-kinds-changed", "breaking", "mapping of errors changed"),
    ("CON307", "timeout-reduced", "breaking", "timeout reduced"),
    ("CON308", "output-limit-reduced", "breaking", "output limit reduced"),
    ("CON309", "annotation-changed", "warning", "annotation changed"),
    ("CON310", "tool-deprecated", "warning", "tool deprecated"),
    ("CON311", "result-schema-changed", "breaking", "result schema added or removed"),
    ("CON312", "tool-added", "compatible", "tool added"),
    ("CON313", "toolset-changed", "warning", "tool joined or left a toolset"),
)
_RISKS: Final[tuple[tuple[str, str, Grade, str], ...]] = (
    ("RSK01", "new-destination", "critical", "new destination, or a connection without TLS"),
    ("RSK02", "workspace-access", "critical", "more access to the workspace"),
    ("RSK03", "image-changed", "high", "image changed"),
    ("RSK04", "isolation-reduced", "critical", "weaker isolation"),
    ("RSK05", "limit-increased", "high", "higher limit or more attempts"),
    ("RSK06", "secret-access", "critical", "access to a secret"),
    ("RSK07", "effect-changed", "high", "different program or effect"),
    ("RSK08", "request-changed", "high", "stronger request, or another host"),
    ("RSK09", "approval-weakened", "high", "more dangerous annotation, or approval no longer required"),
    ("RSK10", "model-text-changed", "critical", "text that a model reads changed"),
    ("RSK11", "data-flow", "high", "private data can leave together with other tools"),
    ("RSK12", "review-weakened", "critical", "packages or tags changed, or fewer findings reported"),
    ("RSK13", "open-or-shared-sandbox", "high", "any public address, or a shared sandbox"),
    ("RSK14", "acceptance-in-head", "critical", "change accepted only by the head"),
    ("RSK15", "spec-excluded", "breaking", "spec newly excluded"),
    ("RSK16", "review-opened", "critical", "later pull requests may accept their own changes"),
    ("RSK17", "first-adoption", "low", "settings of the head apply in a first adoption"),
    ("RSK18", "test-weakened", "medium", "test removed or weakened"),
    ("RSK19", "public-credential", "high", "credential that is declared public"),
    ("RSK20", "arguments-widened", "high", "new argument values or defaults reach a command, URL, request or code"),
    ("RSK21", "fork-server", "medium", "calls are processes of one fork server"),
)
_SURFACE: Final[tuple[tuple[str, str, Grade, str], ...]] = (
    ("SUR01", "definition-changed", "low", "definition that a model sees changed"),
    ("SUR02", "similar-tool", "medium", "copy of another tool, or now similar to one"),
)
_HARMLESS: Final = frozenset({Aspect.DEFAULT, Aspect.CONTENT})
"""Aspects that never refuse a value."""


@dataclass(frozen=True, slots=True)
class ReviewRule:
    """A rule of a review; ``slug`` is a short ``name``, ``severity`` the worst grade of a change."""

    number: str
    slug: str
    name: str
    severity: Grade

    @property
    def kind(self) -> Kind:
        """The kind of its changes."""
        return kind_of(self.number)


def rules() -> Iterator[ReviewRule]:
    """Yield all rules, by kind and number."""
    sides: tuple[tuple[Side, str], ...] = (("input", "parameter"), ("output", "result"))
    for side, subject in sides:
        for aspect in Aspect:
            words = re.sub("(?=[A-Z])", " ", aspect.value).lower().split()  # "multipleOf" has two words
            slug, name = "-".join([subject, *words]), f"{subject} schema changed ({aspect.value})"
            yield ReviewRule(rule(side, aspect), slug, name, _worst_grade(side, aspect))
    for number, slug, severity, name in (*_TOOL, *_RISKS, *_SURFACE):
        yield ReviewRule(number, slug, name, severity)
    for index, provider in enumerate(PROVIDER_NAMES, 1):
        slug, name = f"{provider.replace('_', '-')}-definition", f"{provider} represents less of the definition"
        yield ReviewRule(f"PRV{index:02}", slug, name, "warning")


def _worst_grade(side: Side, aspect: Aspect) -> Grade:
    """Return the worst grade of a change of ``aspect``, whichever direction it has."""
    if aspect in _HARMLESS:
        return grade(side, SchemaChange(aspect, Direction.OTHER, (), ""), refuses=False)
    return "breaking"
