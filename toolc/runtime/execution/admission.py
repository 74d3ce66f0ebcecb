"""Decide whether a tool may be called: deny-list, lock file, policy, reviewed callees, and supported features."""

import threading
from collections.abc import Callable, Iterable

from toolc.backends import BACKEND_KINDS
from toolc.model.call_graph import called_tools, find_cycle
from toolc.model.errors import RegistryError, UsageError
from toolc.model.lock_file import Lock
from toolc.model.registry import RegisteredTool
from toolc.model.registry_io import digests
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.policy import Policy
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.composed_backends import COMPOSED


class DenyList:
    """The denied names and tags of tools. Can be changed at any time and from any thread.

    The list is checked before a call starts. Running calls are not affected.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Replaced, never modified, so reading needs no lock.
        self._names: frozenset[str] = frozenset()
        self._tags: frozenset[str] = frozenset()

    @property
    def entries(self) -> tuple[frozenset[str], frozenset[str]]:
        """The denied names and tags."""
        return self._names, self._tags

    def deny(self, names: Iterable[str], tags: Iterable[str]) -> None:
        """Deny the tools with these names, and all tools with one of these tags.

        If ``tags`` is not a list of strings, nothing changes. Raises ``UsageError``.
        """
        with self._lock:
            names, tags = frozenset(names), _tags(tags)
            self._names |= names
            self._tags |= tags

    def allow(self, names: Iterable[str], tags: Iterable[str]) -> None:
        """Remove names and tags from the list. Unknown ones are ignored. Raises ``UsageError`` as ``deny`` does."""
        with self._lock:
            names, tags = frozenset(names), _tags(tags)
            self._names -= names
            self._tags -= tags

    def reason(self, tool: ToolSpec) -> str | None:
        """Return a message that tells the model why ``tool`` is denied, or None if it is not."""
        if not self._names.isdisjoint((tool.name, *tool.aliases)):
            return f"the tool {tool.name!r} is denied here; continue without it"
        tag = next((tag for tag in tool.tags if tag in self._tags), None)
        if tag is None:
            return None
        return f"the tool {tool.name!r} is denied here, as are all tools with the tag {tag!r}; continue without it"


def policies_of(tool: RegisteredTool, policy: Policy | None) -> tuple[Policy, ...]:
    """Return all policies of the calls of ``tool``: those of its project files, and the one of the caller."""
    return tool.policies if policy is None else (*tool.policies, policy)


def check_admission(
    tool: RegisteredTool, find: Callable[[str], RegisteredTool], lock: Lock | None, policy: Policy | None
) -> None:
    """Raise ``LockError``, ``PolicyError`` or ``RegistryError`` if calls of ``tool`` are not permitted."""
    if lock is not None:
        lock.check(tool)
    if policies := policies_of(tool, policy):
        from toolc.policy.rules import enforce_policies  # lazy: +10 ms; few callers have a policy

        enforce_policies(tool.spec, ReviewedTools(find), policies)
    if called_tools(tool.spec):
        check_calls(tool, find)


def check_calls(tool: RegisteredTool, find: Callable[[str], RegisteredTool]) -> None:
    """Raise ``RegistryError`` if ``tool`` would call itself, or tools that it was not registered with.

    ``find`` returns a tool by name and raises ``UsageError`` if there is none.
    """
    found = ReviewedTools(find)
    if names := find_cycle(tool.spec, found):
        raise RegistryError(f"tool {tool.spec.name!r} would call itself: {' -> '.join(names)}; break the cycle")
    if not tool.is_host_defined and digests(tool.spec, found).effect != tool.effect_digest:
        others = ", ".join(sorted(name for name, spec in found.specs.items() if spec)) or "none"
        if missing := ", ".join(sorted(name for name, spec in found.specs.items() if not spec)):
            others += f"; missing, or functions of this program: {missing}"
        raise RegistryError(
            f"tool {tool.spec.name!r} calls other tools than it was reviewed with "
            f"(in this registry: {others}); build them together, or remove the others from the registry"
        )


class ReviewedTools:
    """Finds tools for ``toolc.model.call_graph`` and caches them in ``specs``, where a missing tool is None.

    ``find`` raises ``UsageError`` for an unknown name.
    """

    def __init__(self, find: Callable[[str], RegisteredTool]) -> None:
        self._find = find
        self.specs: dict[str, ToolSpec | None] = {}

    def get(self, name: str, /) -> ToolSpec | None:
        """Return the tool with this name or alias. None for a function of the host process, which is not reviewed."""
        if name not in self.specs:
            try:
                spec = self._find(name).spec
                self.specs[name] = None if isinstance(spec.backend, HostFunction) else spec
            except UsageError:
                self.specs[name] = None
        return self.specs[name]


def unsupported_features(tool: ToolSpec) -> str | None:
    """Return a message that says why this version cannot call ``tool``, or None if it can."""
    tag = tool.backend.tag
    features = [] if tag in BACKEND_KINDS or tag in COMPOSED else [f"'backend.{tag}'"]
    lifetime = tool.sandbox.lifetime
    if lifetime not in tool.backend.lifetimes:
        features.append(f"'sandbox.lifetime: {lifetime}' of 'backend.{tag}'")
    if lifetime == "fork" and tool.sandbox.network.allow:
        features.append("'sandbox.lifetime: fork' with a network")
    if not features:
        return None
    return f"tool {tool.name!r}: this version of toolc can compile {', '.join(features)}, but cannot run it yet"


def _tags(given: object) -> frozenset[str]:
    """Return the tags as a set. Raises ``UsageError`` for a single string, whose letters would become tags."""
    tags = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(isinstance(tag, str) for tag in tags):
        raise UsageError(f"tags must be a list of strings, not {given!r:.60}; for example tags=['danger']")
    return frozenset(tags)
