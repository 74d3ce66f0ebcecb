"""The contents of a policy. Each key is a restriction, and an absent key restricts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from toolc.model.errors import ToolcError
from toolc.model.source import Span, start_of_file
from toolc.model.spec.sandbox import Destination, Expose, Lifetime, MinIsolation, WorkspaceMode

if TYPE_CHECKING:
    from toolc.model.permissions import Limit

PolicyKey: TypeAlias = Literal[
    "limits", "hosts", "images", "require", "backends", "expose", "workspace", "isolation", "lifetime",
]  # fmt: skip
"""The subject of a rule, which determines the code of its finding."""

BackendKind: TypeAlias = Literal["shell", "python", "http", "plugin", "composite", "agent", "function"]
"""The backends of specs, and ``function`` for a function of the embedding program, which runs without a sandbox."""

RequiredField: TypeAlias = Literal[
    "label", "owner", "version", "tags", "tests", "annotations.read_only", "annotations.destructive",
    "annotations.idempotent", "annotations.open_world",
]  # fmt: skip
"""The declarations that a policy can require of every tool."""

ISOLATION: Final[tuple[MinIsolation, ...]] = ("namespace", "gvisor", "vm")
"""The levels of isolation, from weakest to strongest."""


class PolicyError(ToolcError):
    """A policy does not allow a call of a tool. The message names the rule and the policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Who must approve which changes. This is information for a review that toolc does not enforce.

    ``risks`` are rules (``RSK01``) or levels (``high``), ``paths`` are patterns for the files of specs, and ``tags``
    are tags of tools. An empty field matches all changes. ``by`` are users or teams, by their names on the code host.
    """

    by: tuple[str, ...]
    risks: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def applies_to(self, rule: str, grade: str, path: str, tags: tuple[str, ...]) -> bool:
        """Return whether this applies to a change that ``rule`` reports with ``grade``, in the file ``path``."""
        return (
            (not self.risks or rule in self.risks or grade in self.risks)
            and (not self.paths or any(path_matches(pattern, path) for pattern in self.paths))
            and (not self.tags or not set(tags).isdisjoint(self.tags))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. ``path`` is the name of its file in messages. None means that the policy does not have the key.

    ``limits`` are the maximum values for a call. ``hosts`` are all destinations that a call may reach, and ``images``
    are patterns for all allowed images (``build: FOLDER`` for images that are built). ``backends``, ``expose``,
    ``workspace`` and ``lifetime`` are all values that a spec may use. ``min_isolation`` is the weakest isolation that a
    spec may require. ``places`` (not compared) are the positions of the keys; the empty key has that of the policy.
    """

    path: str = ""
    limits: tuple[Limit, ...] = ()
    hosts: tuple[Destination, ...] | None = None
    public_egress: bool = True
    images: tuple[str, ...] | None = None
    require: tuple[RequiredField, ...] = ()
    backends: tuple[BackendKind, ...] | None = None
    expose: tuple[Expose, ...] | None = None
    workspace: tuple[WorkspaceMode, ...] | None = None
    lifetime: tuple[Lifetime, ...] | None = None
    run_as: Literal["nonroot"] | None = None
    min_isolation: MinIsolation = "namespace"
    approvals: tuple[Approval, ...] = ()
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)

    def span(self, key: str) -> Span:
        """Return the position of ``key``, otherwise that of the policy, otherwise the start of its file."""
        return self.places.get(key) or self.places.get("") or start_of_file(self.path)


def path_matches(pattern: str, path: str) -> bool:
    """Return whether ``pattern`` matches a path or an image. ``*`` is a part of a name, ``**`` any number of names."""
    return _match(pattern.split("/"), path.split("/"))


def _match(pattern: list[str], parts: list[str]) -> bool:
    ends = {0}  # the numbers of parts that the pattern so far can match
    for step in pattern:
        if not ends:
            return False
        if step == "**":
            ends = set(range(min(ends), len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], step)}
    return len(parts) in ends
