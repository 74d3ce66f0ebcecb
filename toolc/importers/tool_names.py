"""The names of imported tools, with a prefix or renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolc.dataclass import dataclass, field
from toolc.importers.plugin_spec import valid_names
from toolc.model.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolNames:
    """A ``prefix`` for tool names, and new names for some tools, which get no prefix."""

    prefix: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)

    def of(self, names: Sequence[str], sources: Sequence[str]) -> list[str]:
        """Return a valid and unique name for each tool. ``renamed`` has generated names, or names in ``sources``.

        Raises ``UsageError`` for an entry of ``renamed`` that is neither.
        """
        if unknown := sorted(self.renamed.keys() - {*names, *sources}):
            raise UsageError(f"there is no tool {unknown[0]!r} to rename; the tools are: {', '.join(names)}")
        return valid_names(
            [
                self.renamed.get(name) or self.renamed.get(source) or f"{self.prefix}{name}"
                for name, source in zip(names, sources, strict=True)
            ]
        )
