"""A policy: the rules of a project or an organization for all tools. A key that is absent restricts nothing."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, TypeAlias, get_args

from toolc.dataclass import dataclass, field
from toolc.model.source import Span, start_of_file
from toolc.model.spec import keys, sandbox
from toolc.model.spec.tool import Backends

PolicyKey: TypeAlias = Literal[
    "limits", "hosts", "images", "require", "backends", "expose", "workspace", "isolation", "lifetime",
]  # fmt: skip
"""The subject of a rule, which determines its code."""

BACKEND_KINDS: Final = (*Backends.one_of, "function")
"""The backends of specs, and ``function``: a function of the embedding program, which runs without a sandbox."""

RequiredField: TypeAlias = Literal[
    "label", "owner", "version", "tags", "tests", "annotations.read_only", "annotations.destructive",
    "annotations.idempotent", "annotations.open_world",
]  # fmt: skip
"""The declarations that a policy can require of every tool."""

ISOLATION: Final[tuple[sandbox.MinIsolation, ...]] = get_args(sandbox.MinIsolation)
"""The levels of isolation, from weakest to strongest."""

GRADES: Final = ("critical", "high", "breaking", "medium", "warning", "low", "compatible")
"""The grades of changes in ``toolc diff``."""

RISK: Final = "[A-Z]{3}[0-9]{2,3}"
"""The form of the identifier of a ``toolc diff`` rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Changes, and the people or teams who must approve them.

    This is information for a review that toolc does not enforce. An empty field matches all changes.
    """

    by: tuple[str, ...] = field(metadata=keys.key(keys.list_of(keys.TEXT, least=1)))
    """People or teams, by their names on the code host.

    Example: ["@example/security"]
    """
    risks: tuple[str, ...] = field(
        default=(), metadata=keys.key(keys.list_of(keys.matching(f"^({RISK}|{'|'.join(GRADES)})$")))
    )
    """The changes: rules of ``toolc diff``, or grades. Without it: all changes.

    Example: [RSK01, high]
    """
    paths: tuple[str, ...] = ()
    """Specs in these files: patterns of paths.

    Example: ["specs/prod/**"]
    """
    tags: tuple[str, ...] = ()
    """Tools with one of these tags.

    Example: [payments]
    """

    def applies_to(self, rule: str, grade: str, path: str, tags: tuple[str, ...]) -> bool:
        """Return whether this applies to a change that ``rule`` reports with ``grade``, in the file ``path``."""
        return (
            (not self.risks or rule in self.risks or grade in self.risks)
            and (not self.paths or any(path_matches(pattern, path) for pattern in self.paths))
            and (not self.tags or not set(tags).isdisjoint(self.tags))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRules:
    """How the arguments of calls are read."""

    json_text: bool = True
    """Whether an argument may be the JSON text of its value, where the schema allows no string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The keys of a policy. An absent key restricts nothing.

    ``path`` is the name of its file in messages. ``places`` (not compared) has the position of each key. The empty key
    has the position of the policy. ``build: FOLDER`` is in ``images`` for images that are built.
    """

    path: str = field(default="", metadata=keys.NO_KEY)
    limits: tuple[sandbox.Limit, ...] = field(default=(), metadata=keys.key(keys.map_with(sandbox.Limits)))
    """The maximum resource limits of a call.

    Example: {timeout: 1m}
    """
    hosts: tuple[sandbox.Destination, ...] | None = field(default=None, metadata=keys.key(sandbox.ALLOW_LIST))
    """All destinations that a call may reach.

    Example: ["*.example.com:443"]
    """
    public_egress: bool = True
    """Whether a tool may reach every public address."""
    images: tuple[str, ...] | None = None
    """The allowed images: patterns.

    Example: ["registry.example.com/tools/**"]
    """
    require: tuple[RequiredField, ...] = ()
    """The keys that every tool must have.

    Example: [owner, tests]
    """
    backends: tuple[str, ...] | None = field(default=None, metadata=keys.key(keys.list_of(keys.choice(*BACKEND_KINDS))))
    """The allowed kinds of backends.

    Example: [python, http]
    """
    expose: tuple[sandbox.Expose, ...] | None = None
    """The allowed ways to expose secrets.

    Example: [broker]
    """
    workspace: tuple[sandbox.WorkspaceMode, ...] | None = None
    """The allowed modes of the workspace.

    Example: [none, ro]
    """
    lifetime: tuple[sandbox.Lifetime, ...] | None = None
    """The allowed lifetimes of a sandbox.

    Example: [call]
    """
    run_as: Literal["nonroot"] | None = None
    """``nonroot`` requires every tool to have the same value.

    Example: nonroot
    """
    min_isolation: sandbox.MinIsolation = "namespace"
    """The weakest isolation that a spec may require.

    Example: gvisor
    """
    arguments: ArgumentRules = field(default_factory=ArgumentRules)
    """How the arguments of calls are read.

    Example: {json_text: false}
    """
    approvals: tuple[Approval, ...] = field(
        default=(), metadata=keys.key(keys.list_of(keys.map_with(Approval, required=True)))
    )
    """Who must approve which changes. ``toolc diff`` shows this.

    Example: [{by: ["@example/security"], risks: [high]}]
    """
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, metadata=keys.NO_KEY)

    def span(self, key: str) -> Span:
        """Return the position of ``key``, or that of the policy if the key is absent, or the start of its file."""
        return self.places.get(key) or self.places.get("") or start_of_file(self.path)


def path_matches(pattern: str, path: str) -> bool:
    """Return whether ``pattern`` matches a path or an image: ``*`` within one name, ``**`` any number of names."""
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
