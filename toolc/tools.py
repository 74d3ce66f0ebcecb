"""Some tools by name and alias, each name once, in a fixed order."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from toolc.model import call_graph
from toolc.model.errors import UsageError
from toolc.model.registry import RegisteredTool


@dataclass(frozen=True, slots=True)
class Tools:
    """One state of a registry, which never changes. ``by_name`` is sorted."""

    by_name: Mapping[str, RegisteredTool] = field(default_factory=dict)
    by_alias: Mapping[str, RegisteredTool] = field(default_factory=dict)

    def added(self, tools: Iterable[RegisteredTool]) -> Tools:
        """With these too. Raises ``UsageError`` where a name or an alias is taken."""
        names, aliases = dict(self.by_name), dict(self.by_alias)
        for tool in tools:
            for name in (tool.spec.name, *tool.spec.aliases):
                if taken := names.get(name) or aliases.get(name):
                    raise UsageError(_taken(name, tool, taken))
            names[tool.spec.name] = tool
            aliases |= dict.fromkeys(tool.spec.aliases, tool)
        return Tools({name: names[name] for name in sorted(names)}, aliases)

    def without(self, name: str) -> Tools:
        """Without the tool of this name or alias. Raises ``UsageError`` where there is none."""
        gone = self.find(name)
        return Tools(
            {each: tool for each, tool in self.by_name.items() if tool is not gone},
            {each: tool for each, tool in self.by_alias.items() if tool is not gone},
        )

    def joined(self, others: Tools) -> Tools:
        """With those of ``others`` whose names are not taken."""
        names = {**others.by_name, **self.by_name}
        aliases = {**others.by_alias, **self.by_alias}
        return Tools({name: names[name] for name in sorted(names)}, aliases)

    def parts(self, callers: Iterable[RegisteredTool]) -> Tools:
        """Those among these that ``callers`` may call, directly or not."""
        specs = call_graph.by_name(tool.spec for tool in self.by_name.values())
        found = {name for caller in callers for name in call_graph.reachable(caller.spec, specs)}
        return Tools().added(tool for name, tool in self.by_name.items() if name in found)

    def get(self, name: object) -> RegisteredTool | None:
        """The tool of this name or alias, or None."""
        return self.by_name.get(str(name)) or self.by_alias.get(str(name))

    def find(self, name: str) -> RegisteredTool:
        """The tool of this name or alias. Raises ``UsageError`` that names a close one, or all."""
        found = self.get(name)
        if found is None:
            close = difflib.get_close_matches(str(name), self.by_name, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(self.by_name) or 'none'}"
            raise UsageError(f"there is no tool {name!r}; {hint}")
        return found


def _taken(name: str, tool: RegisteredTool, taken: RegisteredTool) -> str:
    what = "name" if name == tool.spec.name else f"alias {name!r}"
    return (
        f"the tool {tool.spec.name!r} cannot be added: its {what} is taken by the tool {taken.spec.name!r}; "
        "remove that one first, or give this one another"
    )
