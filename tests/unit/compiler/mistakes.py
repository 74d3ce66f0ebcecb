"""Common mistakes: a good spec with one change, or a file that is not a spec."""

import json
from typing import Final

from project.data_files import load_yaml

_DATA: Final = load_yaml("mistakes")
GOOD: Final[str] = _DATA["good"]
"""A spec without findings."""

_MCP_TOOLS: Final = {"tools": [{"name": "x", "description": "y", "inputSchema": {"type": "object"}}]}
_TOML: Final = """\
toolc = 1
name = "word_count"
description = "Count the words of one text file in the workspace."

[backend.shell]
argv = ["wc", "--", "README.md"]
"""

OTHER: Final[dict[str, str | bytes]] = {
    "good.yaml": GOOD,
    "bracket-not-closed-at-the-end.yaml": GOOD[: GOOD.index("backend:")] + "backend: [",
    "fence.yaml": f"```yaml\n{GOOD}```\n",
    "Helm.yaml": "{{- if .Values.x }}\n" + GOOD + "{{- end }}\n",
    "two-documents.yaml": GOOD + "---\n" + GOOD.replace("word_count", "line_count"),
    "tests-as-map.yaml": GOOD[: GOOD.index("  - args")] + "  args: {path: README.md}\n",
    "good.toml": _TOML,
    "windows.yaml": GOOD.replace("\n", "\r\n"),
    "json.yaml": json.dumps({"toolc": 1, "name": "x", "inputSchema": {"type": "object"}}, indent=2),
    "openapi.yaml": "openapi: 3.1.0\ninfo: {title: Pets, version: 1.0.0}\npaths: {}\n",
    "mcp.yaml": json.dumps(_MCP_TOOLS, indent=1),
    "mcp.json": json.dumps(_MCP_TOOLS),
    "list.yaml": "- toolc: 1\n  name: x\n",
    "yaml.toml": GOOD,
    "toml.yaml": _TOML,
    "toml-without-tables.yaml": _TOML[: _TOML.index("[")],
    "binary.yaml": bytes(range(256)),
    "utf-16.yaml": b"\xff\xfe" + GOOD.encode("utf-16-le"),
    "latin-1.yaml": GOOD.replace("Count words", "Wörter").encode("latin-1"),
    "mark.yaml": b"\xef\xbb\xbf" + GOOD.encode(),
    "unquoted.toml": _TOML.replace('"word_count"', "word_count"),
    "unclosed.toml": _TOML.replace('word_count"', "word_count"),
    "key-below-table.toml": f'{_TOML}version = "1"\n',
    "table-twice.toml": f'{_TOML}[backend.shell]\nstdin = "x"\n',
    "table-and-list.toml": f"{_TOML}[tests]\nargs = {{}}\n[[tests]]\nargs = {{}}\n",
    "mistake-below-text.toml": f'label = """\n```\n=======\n{{{{- if x }}}}\n"""\nowner = me\n{_TOML}',
    "date.toml": f"version = 2026-01-01\n{_TOML}",
    "long.toml": f"{'k' * 500} = 1\nx = 1e{'9' * 500}\n{_TOML}",
    "long-key.toml": f"{'k' * 500} = 1\n{_TOML}",
    "open-map.toml": _TOML.replace("[backend.shell]\n", "backend = { shell = {\n"),
}
"""Complete files by name."""


def files() -> dict[str, bytes]:
    """Return every mistake as a file."""
    texts: dict[str, str | bytes] = {}
    for name, (was, text) in _DATA["changes"].items():
        assert was in GOOD, name
        texts[f"{name.replace(' ', '-')}.yaml"] = GOOD.replace(was, text, 1)
    return {name: text.encode() if isinstance(text, str) else text for name, text in sorted((texts | OTHER).items())}
