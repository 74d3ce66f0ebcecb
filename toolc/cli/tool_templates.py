"""Spec templates of ``toolc init --tool``, for tools that need the address of the user's server in ``vars``.

A template is a folder in ``specs/templates`` with the spec, its code and ``vars.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from toolc.data.paths import packaged_path
from toolc.dataclass import dataclass
from toolc.model.errors import UsageError

TOOLS: Final = ("embeddings", "postgres", "searxng", "tavily")
"""The names of the templates."""

_SHARED: Final[Mapping[str, tuple[str, ...]]] = {"embeddings": ("knowledge.py", "store.py")}
"""The files of built-in tools that each template uses."""

_CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "embeddings": (
        "remember --builtin all --arg 'text=Ada prefers tea.'",
        "specs/embeddings.yaml#semantic_search --arg 'query=favourite drink'",
    ),
    "postgres": ("specs/postgres.yaml#postgres_query --arg 'query=SELECT version()'",),
    "searxng": ("specs/searxng.yaml --arg query=python",),
    "tavily": ("specs/tavily.yaml --arg query=python",),
}
"""The calls to try for each template, as arguments of ``toolc run``."""

_VARIABLES: Final = "vars.yaml"
"""The file of a template with the variables. It is not a project file, because that would apply to the template."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTemplate:
    """One template, with its ``files`` by path in the repository and the lines of its ``variables`` by name."""

    name: str
    files: Mapping[str, str]
    variables: Mapping[str, str]

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets that the spec needs, sorted."""
        spec = self.files[f"specs/{self.name}.yaml"]
        return tuple(sorted(set(re.findall(r"\b([A-Z][A-Z0-9_]*): \{hosts:", spec))))

    @property
    def calls(self) -> tuple[str, ...]:
        """Calls to try, as arguments of ``toolc run`` in the repository."""
        return _CALLS[self.name]

    def project_text(self) -> str:
        """Return the project file for a repository without one."""
        return "".join(["vars:\n", *self.variables.values()])


def tool_template(name: str, modeline: str) -> ToolTemplate:
    """Return the template ``name``. ``modeline`` becomes the first line of its spec."""
    folder = packaged_path("specs") / "templates" / name
    shared = [packaged_path("specs") / each for each in _SHARED.get(name, ())]
    texts = {each.name: each.read_text(encoding="utf-8") for each in (*folder.iterdir(), *shared) if each.is_file()}
    lines = texts.pop(_VARIABLES).splitlines(keepends=True)
    texts[f"{name}.yaml"] = modeline + texts[f"{name}.yaml"]
    return ToolTemplate(
        name=name,
        files={f"specs/{path}": text for path, text in sorted(texts.items())},
        variables={line.strip().partition(":")[0]: line for line in lines[1:]},
    )


def missing_variables(template: ToolTemplate, path: Path) -> tuple[str, ...]:
    """Return the lines of the variables that a project file lacks. Raises ``UsageError`` if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return tuple(line for name, line in template.variables.items() if not re.search(rf"\b{name}\b", text))
