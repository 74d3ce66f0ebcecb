"""Every rule of a review, with its subject. Names are stable: the name of a removed rule is not used again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from toolc.provider_names import PROVIDER_NAMES
from toolc.review.change import Kind
from toolc.review.contract.grades import Side, rule
from toolc.review.contract.movement import Aspect

_TOOL: Final = (
    ("CON301", "the tool was removed"),
    ("CON302", "the tool was probably renamed"),
    ("CON303", "an alias was removed"),
    ("CON304", "calls use another backend"),
    ("CON305", "results have another format"),
    ("CON306", "failures are reported with other error kinds"),
    ("CON307", "a call may take less time"),
    ("CON308", "a call may return less output"),
    ("CON309", "an annotation changed"),
    ("CON310", "the tool is deprecated"),
    ("CON311", "the result's schema was added or removed"),
    ("CON312", "the tool is new"),
    ("CON313", "the tool joined or left a toolset"),
)
_RISKS: Final = (
    ("RSK01", "a call may reach more, or without TLS"),
    ("RSK02", "a call may read or change more of the workspace"),
    ("RSK03", "a call runs in another image"),
    ("RSK04", "a call is isolated less: its user, its level of isolation"),
    ("RSK05", "a call may use more, or be made more often"),
    ("RSK06", "a call has another secret, or a secret goes to another place"),
    ("RSK07", "what runs is another program, or does something else"),
    ("RSK08", "a request can change more, or goes to another place"),
    ("RSK09", "clients see less of a call's danger, or the user confirms fewer calls"),
    ("RSK10", "a model reads another text"),
    ("RSK11", "together, tools may read private data and send it away"),
    ("RSK12", "other packages or tags; settings, comments, acceptances or a policy ignore more"),
    ("RSK13", "any public address, or calls that share a sandbox"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, the kind of its changes, and its subject as text."""

    name: str
    kind: Kind
    about: str


def rules() -> Iterator[Rule]:
    """Yield all rules, by kind and number."""
    sides: tuple[tuple[Side, str], ...] = (("input", "parameters"), ("output", "result"))
    for side, words in sides:
        yield from (Rule(rule(side, aspect), "contract", f"{words}: {aspect.value}") for aspect in Aspect)
    yield from (Rule(name, "contract", about) for name, about in _TOOL)
    yield from (Rule(name, "surface" if name == "RSK10" else "risk", about) for name, about in _RISKS)
    yield Rule("SUR01", "surface", "a model sees another definition, in a way that no other rule reports")
    yield from (
        Rule(f"PRV{number:02}", "provider", f"{name} can express less of the definition")
        for number, name in enumerate(PROVIDER_NAMES, 1)
    )
