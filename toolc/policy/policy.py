"""What a policy says. Every key is a bound: what it does not name is as free as without a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias

from toolc.model.errors import ToolcError
from toolc.model.permissions import Limit
from toolc.model.source import Position, Span
from toolc.model.spec.sandbox import Destination, Expose, Lifetime, MinIsolation, WorkspaceMode

__all__ = [
    "Approval",
    "BackendKind",
    "Key",
    "Policy",
    "PolicyError",
    "Required",
]

Key: TypeAlias = Literal[
    "limits", "hosts", "images", "require", "backends", "expose", "workspace", "isolation", "lifetime",
]  # fmt: skip
"""What a rule is about, for its code."""

BackendKind: TypeAlias = Literal["shell", "python", "http", "plugin", "composite", "agent", "function"]
"""The kinds of a spec, and ``function``: one of the program that embeds toolc, which runs without a sandbox."""

Required: TypeAlias = Literal[
    "label", "owner", "version", "tags", "tests", "annotations.read_only", "annotations.destructive",
    "annotations.idempotent", "annotations.open_world",
]  # fmt: skip
"""What a policy may ask of every tool to say."""

ISOLATION: Final[tuple[MinIsolation, ...]] = ("namespace", "gvisor", "vm")
"""From the weakest to the strongest."""


class PolicyError(ToolcError):
    """A tool that a policy does not allow to be called; the message says which rule, and of which policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Who must approve which changes: information for a review, which toolc does not enforce.

    ``risks`` are rules (``RSK01``) or grades (``high``), ``paths`` patterns of the specs' files, ``tags`` those of
    tools; an empty one means any. ``by`` are people or teams, as the code host calls them.
    """

    by: tuple[str, ...]
    risks: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def asks(self, rule: str, grade: str, path: str, tags: tuple[str, ...]) -> bool:
        """Whether it means a change by this rule, of this grade, of a tool in the file ``path`` with ``tags``."""
        return (
            (not self.risks or rule in self.risks or grade in self.risks)
            and (not self.paths or any(path_matches(pattern, path) for pattern in self.paths))
            and (not self.tags or not set(tags).isdisjoint(self.tags))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One policy. ``path`` is what messages call its file; None is a key that the policy does not have.

    ``limits`` are the most that a call may use. ``hosts`` are all that a call may reach, ``images`` patterns of all
    images (``build: FOLDER`` is one that is built), ``backends``, ``expose``, ``workspace`` and ``lifetime`` all
    choices that a spec may make. ``min_isolation`` is the weakest that a spec may ask for. ``places`` are where the
    keys stand, and under the empty one where the policy does; they make no two policies different.
    """

    path: str = ""
    limits: tuple[Limit, ...] = ()
    hosts: tuple[Destination, ...] | None = None
    public_egress: bool = True
    images: tuple[str, ...] | None = None
    require: tuple[Required, ...] = ()
    backends: tuple[BackendKind, ...] | None = None
    expose: tuple[Expose, ...] | None = None
    workspace: tuple[WorkspaceMode, ...] | None = None
    lifetime: tuple[Lifetime, ...] | None = None
    run_as: Literal["nonroot"] | None = None
    min_isolation: MinIsolation = "namespace"
    approvals: tuple[Approval, ...] = ()
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)

    def span(self, key: str) -> Span:
        """Where the policy says ``key``; where it does not, its own place, or its file's beginning."""
        return self.places.get(key) or self.places.get("") or Span(self.path, Position(1, 1), Position(1, 2))


def path_matches(pattern: str, path: str) -> bool:
    """Whether a pattern means a path or an image: ``*`` is a part of one name, ``**`` any number of names."""
    return _match(pattern.split("/"), path.split("/"))


def _match(pattern: list[str], parts: list[str]) -> bool:
    ends = {0}  # how many parts the pattern so far may have taken
    for step in pattern:
        if not ends:
            return False
        if step == "**":
            ends = set(range(min(ends), len(parts) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], step)}
    return len(parts) in ends
