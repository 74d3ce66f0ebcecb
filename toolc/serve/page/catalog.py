"""The catalog describes each tool to people, as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, TypeAlias

from toolc.dataclass import dataclass
from toolc.model.call_graph import ToolLookup
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.lock_file import Lock
from toolc.model.names import PROVIDER_NAMES
from toolc.model.permissions import Permissions, format_permissions, permissions_of
from toolc.model.registry import RegisteredTool, tool_to_json
from toolc.model.registry_io import canonical
from toolc.providers import load_provider
from toolc.providers.json_schema.lowering import Loss
from toolc.providers.mcp import hints
from toolc.providers.token_estimate import estimate_tokens

Results: TypeAlias = Mapping[str, Sequence[JsonObject]]
"""Results of tests by tool, as ``read_results`` returns them."""

_LISTED: Final = ("hosts", "secrets", "workspaces", "tools")
"""The permissions that the list of tools shows. A tool has the others in its own entry."""


class TokenEstimates:
    """Estimates the tokens of definitions. Estimates are cached for each version of a tool, because they are slow."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], int] = {}

    def of(self, tool: RegisteredTool, provider: str) -> int:
        """Return the tokens that the definition of a tool adds to a request."""
        if (tool.surface_digest, provider) not in self._known:
            self.definition(tool, provider)
        return self._known[tool.surface_digest, provider]

    def definition(self, tool: RegisteredTool, provider: str) -> JsonObject:
        """Return the definition for a provider, its losses, and the tokens that it adds to a request."""
        lowering = load_provider(provider).lower([tool.spec])
        definition = lowering.definitions[0]
        tokens = self._known[tool.surface_digest, provider] = estimate_tokens(canonical(definition).decode())
        return {"definition": definition, "losses": [*map(_loss, lowering.losses)], "tokens": tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The tools that a client may see, sorted by name.

    ``others`` has the tools that they call. ``toolsets`` and ``denied`` have names of tools. The tools are compared
    with the lock file ``lock``.
    """

    tools: Sequence[RegisteredTool]
    others: ToolLookup
    toolsets: Mapping[str, Collection[str]]
    denied: Collection[str] = ()
    lock: Lock | None = None
    results: Results | None = None

    def to_json(self, tokens: TokenEstimates, provider: str) -> JsonObject:
        """Return the list of tools, with the tokens of their definitions for a provider."""
        tools: list[JsonValue] = [self._summary(tool) | {"tokens": tokens.of(tool, provider)} for tool in self.tools]
        providers: list[JsonValue] = [*PROVIDER_NAMES]
        return {
            "tools": tools,
            "toolsets": [*self.toolsets],
            "providers": providers,
            "provider": provider,
            "lock": self.lock.path if self.lock else None,
            "has_results": self.results is not None,
        }

    def entry(self, tokens: TokenEstimates, name: str) -> JsonObject:
        """Return the details of the tool with this name or alias. Raises ``UsageError``."""
        tool = next((each for each in self.tools if name in (each.spec.name, *each.spec.aliases)), None)
        if tool is None:
            raise UsageError(f"there is no tool {name!r:.80} that this client may use; the catalog lists them")
        spec = tool.spec
        stored = tool_to_json(spec)
        programs: list[JsonValue] = [{"path": each.path, "text": each.text} for each in spec.backend.programs]
        return self._summary(tool) | {
            "parameters": spec.parameters.value,
            "result": spec.result_schema.value if spec.result_schema else None,
            "examples": stored["examples"],
            "aliases": stored["aliases"],
            "backend": stored["backend"],
            "sandbox": stored["sandbox"],
            "programs": programs,
            "permissions": permissions_of(spec, self.others).to_json(),
            "providers": {each: tokens.definition(tool, each) for each in PROVIDER_NAMES},
            "tests": stored["tests"],
            "results": [*(self.results or {}).get(spec.name, ())],
            "digests": _digests(tool),
            "lock_file": self.lock.path if self.lock else None,
        }

    def _summary(self, tool: RegisteredTool) -> JsonObject:
        spec = tool.spec
        granted = permissions_of(spec, self.others)
        return {
            "name": spec.name,
            "title": spec.label,
            "description": spec.description,
            "kind": spec.backend.tag,
            "tags": [*spec.tags],
            "toolsets": [each for each, names in self.toolsets.items() if spec.name in names],
            "annotations": hints(spec),
            "confirm": spec.confirm,
            "deprecated": spec.deprecated,
            "denied": spec.name in self.denied,
            "grants": {each: _values(granted, each) for each in _LISTED},
            "lock": self._lock_state(tool),
            "outcomes": self._outcomes(tool),
        }

    def _lock_state(self, tool: RegisteredTool) -> JsonValue:
        """Return ``approved``, ``changed`` or ``new``, or None without a lock file."""
        if self.lock is None:
            return None
        locked = self.lock.tools.get(tool.spec.name)
        if locked is None:
            return "new"
        is_same = (locked.surface, locked.effect) == (tool.surface_digest, tool.effect_digest)
        return "approved" if is_same else "changed"

    def _outcomes(self, tool: RegisteredTool) -> list[JsonValue]:
        """Return the outcome of the last run of each test, ``outdated`` or ``unknown``."""
        last = {each["number"]: each for each in (self.results or {}).get(tool.spec.name, ())}
        found = [last.get(number) for number in range(1, len(tool.spec.tests) + 1)]
        return ["unknown" if each is None else _outcome(each, tool) for each in found]


def changes_of(tool: str, changes: Sequence[JsonValue]) -> list[JsonValue]:
    """Return the differences from a lock file that concern a tool."""
    return [each for each in changes if isinstance(each, dict) and each["tool"] == tool]


def _outcome(result: JsonObject, tool: RegisteredTool) -> JsonValue:
    return result["outcome"] if result["digests"] == _digests(tool) else "outdated"


def _digests(tool: RegisteredTool) -> JsonObject:
    return {"surface": tool.surface_digest, "effect": tool.effect_digest}


def _values(granted: Permissions, part: str) -> list[JsonValue]:
    return [format_permissions(each.value) for each in granted.displayed(part)]


def _loss(loss: Loss) -> JsonValue:
    return {"pointer": loss.pointer, "action": loss.action, "message": loss.message, "sdk": loss.sdk}
