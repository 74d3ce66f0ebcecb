"""The MCP clients that ``toolc connect`` knows, and their entries for ``toolc serve``.

``toolc/data/mcp_clients.toml`` has one table per client, with the sources and the date of its format.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from string import Template
from typing import Final

from toolc.dataclass import dataclass
from toolc.document.config_entries import EntryPlace, Format
from toolc.model.errors import UsageError
from toolc.model.json_schema import JsonObject, JsonValue

PATH: Final = Path(__file__).parent.parent / "data" / "mcp_clients.toml"

_FOLDERS: Final = {"XDG_CONFIG_HOME": "~/.config", "CODEX_HOME": "~/.codex"}
"""The folders in the table that a variable of the environment can change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """A client. The fields are the keys of its table, which ``mcp_clients.toml`` describes."""

    name: str
    title: str
    format: Format
    key: str
    path: Mapping[str, str]
    stdio: JsonObject
    http: JsonObject | None = None
    token: JsonObject | None = None
    initial: JsonObject = field(default_factory=dict)
    reload: str
    sources: tuple[str, ...]
    date: datetime.date

    def file(self, project: Path) -> Path:
        """Return the path of the file, which may be in the folder ``project``. Raises ``UsageError``."""
        if sys.platform not in self.path:
            raise UsageError(f"the file of {self.title} on {sys.platform} is not known; pass --file FILE")
        path = Template(self.path[sys.platform]).substitute({**_FOLDERS, **{k: v for k, v in os.environ.items() if v}})
        return project / Path(path).expanduser()

    def place(self, name: str) -> EntryPlace:
        """Return the place of the entry for the server ``name`` in the file."""
        return EntryPlace(self.format, self.key, name)

    def stdio_entry(self, name: str, command: str, arguments: list[str]) -> JsonObject:
        """Return the entry for a server that the client starts. Raises ``UsageError``."""
        if any("$" in each for each in (command, *arguments)):
            raise UsageError("the client may replace the $ in the command; use paths and values without $")
        return _filled(self.stdio, name=name, command=command, args=[*arguments])

    def http_entry(self, name: str, url: str, variable: str | None) -> JsonObject:
        """Return the entry for a running server. The token is in an environment variable. Raises ``UsageError``."""
        if self.http is None:
            raise UsageError(f"{self.title} cannot use a running server from this file; leave out --http")
        if variable is not None and self.token is None:
            raise UsageError(
                f"{self.title} cannot read a token from an environment variable; leave out --http, or serve on a "
                "loopback address without --require-token"
            )
        token = self.token if variable is not None and self.token else {}
        return _filled({**self.http, **token}, name=name, url=url, variable=variable)

    def merged(self, known: JsonValue, entry: JsonObject) -> JsonObject:
        """Return ``entry``, plus the keys that the user has added to it in the file."""
        own = {*self.stdio, *(self.http or {}), *(self.token or {})}
        added = {key: value for key, value in known.items() if key not in own} if isinstance(known, dict) else {}
        return {**entry, **self.initial, **added}


@cache
def mcp_clients() -> Mapping[str, McpClient]:
    """Return the clients by name."""
    tables = tomllib.loads(PATH.read_text(encoding="utf-8"))
    return {
        name: McpClient(**{**table, "name": name, "sources": tuple(table["sources"])}) for name, table in tables.items()
    }


def _filled(shape: JsonObject, **values: JsonValue) -> JsonObject:
    """Return an entry of the table in which values replace the names in braces."""
    text = json.dumps(shape)
    for name, value in values.items():
        written = json.dumps(value)
        text = text.replace(f'"{{{name}}}"', written).replace(f"{{{name}}}", written[1:-1])
    filled: JsonObject = json.loads(text)
    return filled
